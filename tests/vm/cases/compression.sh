# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# make bench-zram: measures what data take as a RAM leg of zram, beside a ramdisk that does not
# compress, and what a read costs. Neither the host nor its emulator influences that: memory is
# counted in bytes, reads in instructions of the processor. Lines for the report: compress CORPUS
# BYTES NON-ZERO-BYTES ALGORITHM MEMORY-BYTES ESTIMATE ITS-BOUND, with the device's table; read KIND
# INSTRUCTIONS-BARE INSTRUCTIONS-MIRROR.
needs rapiddisk
long
from installed
memory 2G
disk A 200M
disk B 200M
counted
readonly corpora='database libraries source mail packed'
for corpus in $corpora; do disk "$corpus" 160000K; done

# zram ALGORITHM: makes a device as large as a corpus, sets Z; given_back: removes it. fill CORPUS
# DEVICE: copies the corpus to it.
readonly tools='
	bytes=$(blockdev --getsize64 $(node mail))
	zram() {
		N=$(cat /sys/class/zram-control/hot_add) Z=zram$N
		echo $1 >/sys/block/$Z/comp_algorithm; echo $bytes >/sys/block/$Z/disksize; settle
	}
	given_back() { settle; echo $N >/sys/class/zram-control/hot_remove; }
	fill() { dd if=$(node $1) of=$2 bs=1M oflag=direct iflag=direct status=none; }
	'

steps() {
	local name folder
	folder=$("$here/corpora.sh")
	for name in $corpora; do cp --sparse=always "$folder/$name.img" "$VM/disks/$name.img"; done
	boot
	guest '
		modprobe zram; modprobe rapiddisk; echo "kernel: $(uname -r)"
		echo "rapiddisk: $(cat /sys/module/rapiddisk/version)"
		fio --version | sed "s/^/fio: /"'
	for name in $corpora; do
		check "the corpus $name, compressed" "$tools"'
			zeros=$(perl -e "while (sysread STDIN, \$b, 4096) {
				\$n += length \$b if \$b !~ /[^\\0]/ } print \$n + 0" \
				<$(node '"$name"'))
			for how in lz4 zstd; do
				zram $how; fill '"$name"' /dev/$Z; sync
				read -r _ _ used _ </sys/block/$Z/mm_stat
				ramraid estimate --json --ram=zram:$how $(node '"$name"') \
					>/root/out ||
					test $? = 1
				printf "compress\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n" '"$name"' $bytes \
					$((bytes - zeros)) $how $((used + bytes / 4096 * 24)) \
					$(jq -r ".kinds[0].takes_bytes, .kinds[0].margin_bytes" \
						/root/out)
					given_back
			done >/root/figures'
		guest 'cat /root/figures'
	done
	# Data that compress well are read faster than others, so all hold the same.
	check 'a mirror with blocks of 4096 bytes, and bare devices, with the corpus libraries' \
		"$tools"'
		findmnt /boot || mount /boot
		ramraid create --yes --ram=rapiddisk data $(leg A) $(leg B)
		echo BLOCK=4096 >>/etc/ramraid/data.conf; ramraid stop data; ramraid start data
		test "$(blockdev --getss /dev/md/data)" = 4096; fill libraries /dev/md/data
		echo "rapiddisk attach 8 $bytes" >/sys/kernel/rapiddisk/mgmt; settle
		fill libraries /dev/rd8; rm -f /root/figures'
	leg rapiddisk /dev/rd8
	for name in lz4 zstd; do leg "zram:$name" "$name"; done
	guest 'cat /root/figures'
}

# Measures the reads of a RAM leg of that kind beside those of the bare device, or of one of zram
# that is made for this.
leg() { # KIND DEVICE|ALGORITHM
	check "a RAM leg of $1" "$tools"'
		sed -i "/^RAM=/d" /etc/ramraid/data.conf; echo RAM='"$1"' >>/etc/ramraid/data.conf
		ramraid detach data; ramraid attach data; test "$(slots data)" = UUU
		echo '"$2"' >/root/bare
		case '"$2"' in
		/dev/*) ;;
		*) zram '"$2"'; fill libraries /dev/$Z; echo /dev/$Z >/root/bare ;;
		esac'
	check "random reads of 4 KiB; the disk legs serve none of them" '
		served() {
			cat /sys/class/block/$(basename $(node A))/stat \
				/sys/class/block/$(basename $(node B))/stat |
				awk "{ n += \$1 } END { print n }"
		}
		# each DEVICE: instructions a read. That counts only while the processor has nothing
		# else to do, and does not wait.
		each() {
			for i in 1 2 3 4 5; do
				! fio --name=m --filename=$1 --size=140M --bs=4k --ioengine=libaio \
					--iodepth=32 --rw=randread --direct=1 --time_based --runtime=1 \
					--randseed=1 --output-format=json |
					jq -e ".jobs[0] | if .usr_cpu + .sys_cpu > 98
						then 1e9 / .read.iops | round else error(\"it waited\") end" ||
					return 0
			done
			return 1
		}
		# the first run also starts what the others find running
		sleep 2; before=$(served); each $(cat /root/bare) >/dev/null || :
		bare=$(each $(cat /root/bare)); mirror=$(each /dev/md/data)
		printf "read\t%s\t%s\t%s\n" '"$1"' $bare $mirror >>/root/figures
		test $(served) = $before'
	check "the bare device of zram is given back" "$tools"'
		z=$(cat /root/bare)
		case $z in
		/dev/zram*) settle; echo ${z#/dev/zram} >/sys/class/zram-control/hot_remove ;;
		esac'
}
