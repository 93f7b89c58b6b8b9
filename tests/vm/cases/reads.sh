# make bench-reads: measures what a read takes, in instructions of the processor, from a bare
# ramdisk and from a whole mirror. Neither the host nor its emulator influences that. Lines for the
# report: read WHAT INSTRUCTIONS-BARE INSTRUCTIONS-MIRROR.
needs rapiddisk
from mirror
disk A 96M
disk B 96M
counted

steps() {
	boot
	guest '
		echo "kernel: $(uname -r)"; echo "rapiddisk: $(cat /sys/module/rapiddisk/version)"
		fio --version | sed "s/^/fio: /"'
	# A ramdisk has no page for what was never written, and reads that faster. So both are
	# filled first.
	check 'a whole mirror and a bare ramdisk, full' '
		ramraid wait --timeout=5min data; systemctl stop srv-data.mount
		bytes=$(blockdev --getsize64 /dev/md/data)
		echo "rapiddisk attach 8 $bytes" >/sys/kernel/rapiddisk/mgmt; settle
		for to in /dev/md/data /dev/rd8; do
			dd if=/dev/urandom of=$to bs=1M iflag=fullblock,count_bytes count=$bytes \
				oflag=direct status=none
		done
		sleep 2; ramraid status data | grep whole'
	check 'the disk legs serve none of it' '
		reads() {
			cat /sys/class/block/$(basename $(node A))/stat \
				/sys/class/block/$(basename $(node B))/stat |
				awk "{ n += \$1 } END { print n }"
		}
		# each DEVICE SIZE ENGINE DEPTH: instructions a read. The processor has nothing else
		# to do, and does not wait.
		each() {
			fio --name=m --filename=$1 --size=80M --bs=$2 --ioengine=$3 --iodepth=$4 \
				--rw=randread --direct=1 --time_based --runtime=1 --randseed=1 \
				--output-format=json |
				jq -e ".jobs[0] | if .usr_cpu + .sys_cpu > 98
					then 1e9 / .read.iops | round else error(\"it waited\") end"
		}
		line() {
			printf "read\t%s\t%s\t%s\n" "$1" "$(each /dev/rd8 $2 $3 $4)" \
				"$(each /dev/md/data $2 $3 $4)"
		}
		before=$(reads)
		{
			line "4 KiB, 32 at a time" 4k libaio 32
			echo 0 >/sys/block/$(md data)/queue/iostats
			line "4 KiB, 32 at a time, md counts nothing for iostat" 4k libaio 32
			echo 1 >/sys/block/$(md data)/queue/iostats
			line "4 KiB, one at a time" 4k psync 1
			line "64 KiB, 32 at a time" 64k libaio 32
			line "128 KiB, 32 at a time" 128k libaio 32
		} >/root/figures
		test $(reads) = $before'
	guest 'cat /root/figures'
}
