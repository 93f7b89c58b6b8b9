# A RAM leg of brd, and discards: on some kernels, brd frees live blocks beside those that were
# discarded. So the leg gets no discards, and a trim on the array harms nothing.
checked_on trixie
long
from installed
disk A 128M discard=unmap
disk B 128M discard=unmap

readonly tools='
	sums() {
		sync; echo 3 >/proc/sys/vm/drop_caches; cd /srv/data
		sha256sum --quiet -c /root/sums; cd /
	}
	'

steps() {
	boot
	check 'a RAM leg of brd takes no discards, whatever this kernel does' '
		ramraid create --yes --ram=brd data $(leg A) $(leg B); test "$(slots data)" = UUU
		cat /run/ramraid/data.ram
		ram=$(basename $(ram data))
		for f in /sys/block/ram*/queue/discard_max_bytes; do echo "$f: $(cat $f)"; done
		test "$(cat /sys/block/$ram/queue/discard_max_bytes)" = 0
		test "$(cat /sys/block/$(basename $(node A))/queue/discard_max_bytes)" != 0'
	check 'ext4 with blocks of 1 KiB, files of all sizes, every other one deleted, and trimmed: the others are whole, in memory' "$tools"'
		make_ext4 /dev/md/data -b 1024 -E nodiscard; mkdir -p /srv/data
		mount -o discard /dev/md/data /srv/data
		for i in $(seq 400); do
			head -c $((i * 331 % 40000 + 1)) /dev/urandom >/srv/data/f$i
		done
		sync
		for i in $(seq 1 2 400); do rm /srv/data/f$i; done; sync
		(cd /srv/data; sha256sum f* >/root/sums)
		fstrim -v /srv/data; ramraid status data | grep whole; test "$(slots data)" = UUU
		# md reads from the RAM leg alone.
		reads() {
			cat /sys/class/block/$(basename $(node A))/stat \
				/sys/class/block/$(basename $(node B))/stat |
				awk "{ n += \$3 } END { print n }"
		}
		before=$(reads); sums; echo "$(($(reads) - before)) sectors read from the disks"
		test $(($(reads) - before)) -lt 4096
		umount /srv/data; e2fsck -fn /dev/md/data; mount /dev/md/data /srv/data'
	check 'and on the disks' "$tools"'
		ramraid detach data; sums; umount /srv/data; e2fsck -fn /dev/md/data
		mount /dev/md/data /srv/data
		ramraid attach data; test "$(slots data)" = UUU
		test "$(cat /sys/block/$(basename $(ram data))/queue/discard_max_bytes)" = 0; sums'
	check 'one that takes them, of an earlier version, is a finding' '
		f=/sys/block/$(basename $(ram data))/queue; most=$(cat $f/discard_max_hw_bytes)
		if [ "$most" = 0 ]; then echo "brd of this kernel knows no discards"; exit 0; fi
		# Some kernels forget the granularity once they are off (blk_validate_limits()).
		if ! echo 1073741824 >$f/discard_max_bytes; then
			cat $f/discard_granularity
			echo "this kernel does not switch them on again"; exit 0
		fi
		ramraid check data >/root/check || :
		cat /root/check; grep "brd-discards" /root/check
		ramraid attach data; test "$(cat $f/discard_max_bytes)" = 0
		ramraid check data >/root/check || :; fails grep brd-discards /root/check'
}
