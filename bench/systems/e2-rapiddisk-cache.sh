# rapiddisk's own write-through cache of the same size as the data.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1' measures='first warm randread randwrite'
up() {
	ramdisk 7 "$MB"
	modprobe rapiddisk-cache
	quietly rapiddisk -m rd7 -b "$(readlink -f "$HDD1")" -p wt
	udevadm settle
	target=$(echo /dev/mapper/rc-wt_*)
}
down() {
	quietly rapiddisk -u "${target##*/}"
	no_ramdisk 7
}
