# The bare ramdisk: the most that a mirror could reach.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='' measures='fill randread randwrite'
up() {
	ramdisk 7 "$MB"
	target=$rd
}
down() { no_ramdisk 7; }
