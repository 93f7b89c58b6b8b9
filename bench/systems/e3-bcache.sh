# bcache, write-through, on a ramdisk of the size of the data, without its limit for sequential
# reads.
# shellcheck shell=bash disable=SC2034,SC2154 # bench/measure reads what is set here, and gives the rest
needs='HDD1' measures='first warm randread randwrite'
up() {
	modprobe bcache
	ramdisk 7 $((MB + 64))
	quietly make-bcache --wipe-bcache --writethrough -C "$rd" -B "$HDD1"
	# udev may have registered them already
	for device in "$rd" "$(readlink -f "$HDD1")"; do
		echo "$device" >/sys/fs/bcache/register 2>/dev/null || :
	done
	udevadm settle
	until_there /sys/block/bcache0/bcache/cache
	echo 0 >/sys/block/bcache0/bcache/sequential_cutoff
	echo 0 | tee /sys/fs/bcache/*-*/congested_{read,write}_threshold_us >/dev/null
	target=/dev/bcache0
}
down() {
	local set
	set=$(echo /sys/fs/bcache/*-*)
	echo 1 >/sys/block/bcache0/bcache/stop
	echo 1 >"$set/stop"
	until_gone /sys/block/bcache0
	until_gone "$set"
	no_ramdisk 7
	quietly wipefs -a "$HDD1"
}
