# A ramdisk beside one nested disk leg, RAID10 of two disks in the far layout, made by ramraid.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1 HDD2' measures='randread-beside randwrite read rebuild-copy rebuild-kernel'
up() { ramraid_up --layout=far2 "$HDD1" "$HDD2"; }
down() {
	local inner
	inner=$(readlink -f /dev/md/bench-far2)
	ramraid_down "$inner"
	quietly ramraid release --yes bench-far2
	no_mirror_at "$inner" "$HDD1" "$HDD2"
}
