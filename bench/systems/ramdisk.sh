# The bare ramdisk: what the mirrors below can reach at most.
needs='' measures='randread randwrite'
up() {
	ramdisk 7 "$MB"
	target=$rd
}
down() { no_ramdisk 7; }
