# bcache, write-through, on a ramdisk of the size of the data, without its limit for sequential reads.
needs='HDD1' measures='first warm randread randwrite'
up() {
	ramdisk 7 $((MB + 64))
	quietly make-bcache --wipe-bcache --writethrough -C "$rd" -B "$HDD1"
	for device in "$rd" "$(readlink -f "$HDD1")"; do echo "$device" >/sys/fs/bcache/register 2>/dev/null || :; done # udev may have been first
	udevadm settle
	until [[ -e /sys/block/bcache0/bcache/cache ]]; do sleep 0.2; done
	echo 0 >/sys/block/bcache0/bcache/sequential_cutoff
	echo 0 | tee /sys/fs/bcache/*-*/congested_{read,write}_threshold_us >/dev/null
	target=/dev/bcache0
}
down() {
	local set
	set=$(echo /sys/fs/bcache/*-*)
	echo 1 >/sys/block/bcache0/bcache/stop
	echo 1 >"$set/stop"
	while [[ -e /sys/block/bcache0 || -e $set ]]; do sleep 0.2; done
	no_ramdisk 7
	quietly wipefs -a "$HDD1"
}
