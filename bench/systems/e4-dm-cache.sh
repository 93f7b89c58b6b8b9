# dm-cache, write-through, with its data and metadata on ramdisks; what lvmcache sets up.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1' measures='first warm randread randwrite'
up() {
	ramdisk 7 "$MB"
	ramdisk 8 8
	quietly dmsetup create bench --table \
		"0 $((MB * 2048)) cache $rd2 $rd $(readlink -f "$HDD1") 64 1 writethrough smq 0"
	target=/dev/mapper/bench
}
down() {
	quietly dmsetup remove --retry bench
	no_ramdisk 7
	no_ramdisk 8
}
