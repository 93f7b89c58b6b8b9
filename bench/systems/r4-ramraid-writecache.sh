# A ramdisk beside one disk leg: a hard disk with a dm-writecache on an SSD, made by LVM and
# ramraid.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1 SSD' measures='fill randread randwrite'
up() {
	quietly vgcreate bench "$HDD1" "$SSD"
	quietly lvcreate --yes --wipesignatures y --name leg --size $((MB + 16))M bench "$HDD1"
	quietly lvcreate --yes --name fast --size $((MB + 16))M bench "$SSD"
	quietly lvchange --activate n bench/fast
	quietly lvconvert --yes --type writecache --cachevol fast bench/leg
	udevadm settle
	ramraid_up /dev/mapper/bench-leg
}
down() {
	ramraid_down /dev/mapper/bench-leg
	quietly vgremove --yes --force bench
	quietly pvremove --yes "$HDD1" "$SSD"
}
