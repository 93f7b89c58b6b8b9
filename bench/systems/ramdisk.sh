# The bare ramdisk: what the mirrors below can reach at most.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='' measures='fill randread randwrite'
up() {
	ramdisk 7 "$MB"
	target=$rd
}
down() { no_ramdisk 7; }
