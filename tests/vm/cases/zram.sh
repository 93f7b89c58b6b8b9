# zram as the RAM leg: an array of 512-byte disks has blocks of 4096 bytes from its first start on,
# through reboots and power cuts, with its RAM leg and without; swap on zram beside it is not
# touched.
long
checked_on trixie
from installed
disk A 96M
disk B 96M
memory 1G

readonly tools='
	block() { cat /sys/block/$(md data)/queue/logical_block_size; }
	says() {
		journalctl -b -o cat -u ramraid@data | grep -F -e "$1" || {
			journalctl -b -o cat -u ramraid@data; return 1
		}
	}
	sums() { (cd /srv/data; sha256sum --quiet -c /root/sums); }
	swap_is_there() { grep "^/dev/$1 " /proc/swaps; }
	'

steps() {
	boot
	check 'swap on zram, as zram-generator has it' '
		findmnt /boot || mount /boot
		modprobe zram; echo 64M >/sys/block/zram0/disksize; mkswap -q /dev/zram0
		swapon /dev/zram0; grep zram0 /proc/swaps'
	check 'create: blocks of 4096 bytes on disks of 512, an end that is whole, and the leg in zram' "$tools"'
		test "$(cat /sys/block/$(basename $(node A))/queue/logical_block_size)" = 512
		ramraid create --yes --ram=zram data $(leg A) $(leg B)
		grep -x BLOCK=4096 /etc/ramraid/data.conf; cat /run/ramraid/data.ram
		test "$(slots data)" = UUU; test "$(block)" = 4096
		test "$(blockdev --getss /dev/md/data)" = 4096
		test $(($(cat /sys/block/$(md data)/md/component_size) % 4)) = 0
		test "$(ram data)" = /dev/zram1; swap_is_there zram0; test ! -e /sys/block/zram2
		test ! -e /run/ramraid/data.block
		says "--assemble --run /dev/md/data"; says "were copied from the disk legs"
		test "$(compare data)" = 0'
	check 'ext4, and files that are known' "$tools"'
		make_ext4 /dev/md/data; mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount
		cp /usr/bin/[a-c]* /srv/data/; head -c 4M /dev/urandom >/srv/data/random; sync
		(cd /srv/data; sha256sum * >/root/sums 2>/dev/null || :; sed -i /lost/d /root/sums)
		sums; cat /sys/block/zram1/mm_stat'
	check 'a limit: what is in the leg, what that takes, and what it may take' "$tools"'
		ramraid detach data; test ! -e /sys/block/zram1
		echo RAM_LIMIT=40M >>/etc/ramraid/data.conf; ramraid attach data
		test "$(slots data)" = UUU
		ramraid status data
		ramraid status data |
			grep "RAM leg /dev/zram1, .* of memory (zstd, .*x), limit 40MiB"
		ramraid metrics | grep "^ramraid_ram_leg_limit_bytes{array=\"data\"} 41943040"'
	check 'what estimate says of the array is what the leg takes, within its own bound and a tenth' "$tools"'
		ramraid estimate --json --ram=zram data >/root/out || test $? = 1; jq -c . /root/out
		read -r _ _ used _ </sys/block/zram1/mm_stat
		used=$((used + 24 * $(cat /sys/block/zram1/size) / 8))
		takes=$(jq ".kinds[0].takes_bytes" /root/out)
		margin=$(jq ".kinds[0].margin_bytes" /root/out)
		echo "takes $takes +- $margin, really $used"
		test "$takes" -le $((used + used / 10 + margin))
		test "$takes" -ge $((used - used / 10 - margin)); test $margin -lt $((used / 3))'
	check 'it is reached by writes, under a writer: the leg goes, no write fails, and nothing is lost' "$tools"'
		setsid sh -c "i=0; while [ ! -e /root/halt ]; do
			i=\$((i + 1))
			dd if=/dev/zero of=/srv/data/w bs=4k count=20 conv=fsync 2>/dev/null ||
				echo \$i >>/root/errors
		done; : >/root/halted" </dev/null >/dev/null 2>&1 &
		head -c 45M /dev/urandom >/root/big
		dd if=/root/big of=/srv/data/big bs=1M oflag=direct conv=fsync status=none
		for i in $(seq 600); do [ -e /sys/block/zram1 ] || break; sleep 0.2; done
		: >/root/halt
		for i in $(seq 100); do [ ! -e /root/halted ] || break; sleep 0.2; done
		test ! -e /root/errors
		test ! -e /sys/block/zram1; test "$(slots data)" = _UU; cmp /root/big /srv/data/big
		sums; swap_is_there zram0
		cat /run/ramraid/data.detached; ramraid status data >/root/out || test $? = 1
		cat /root/out; tr -s " \n" " " </root/out | grep "compressed only to [0-9]* %"
		ramraid check data >/root/out || :; grep no-ram-leg /root/out'
	check 'ramraid does not make it again by itself; on request, the copy reaches the limit, and ends with the same message' "$tools"'
		sleep 10; systemctl start ramraid-hotplug.service; test ! -e /sys/block/zram1
		code=0; ramraid attach data >/root/out 2>&1 || code=$?; cat /root/out
		test $code != 0; grep "its data was compressed only to [0-9]* %" /root/out
		test $(grep -c hot_add /root/out) = 1
		test ! -e /sys/block/zram1; test "$(slots data)" = _UU
		test "$(head -n 1 /run/ramraid/data.detached)" = full'
	check 'so does md, with its own recovery' "$tools"'
		echo REBUILD=kernel >>/etc/ramraid/data.conf
		code=0; ramraid attach data >/root/out 2>&1 || code=$?; cat /root/out
		test $code != 0; grep "its data was compressed only to [0-9]* %" /root/out
		test $(grep -c hot_add /root/out) = 1
		test ! -e /sys/block/zram1; test "$(slots data)" = _UU
		sed -i /REBUILD/d /etc/ramraid/data.conf; sums'
	check 'with more memory it fits' "$tools"'
		sed -i s/RAM_LIMIT=.*/RAM_LIMIT=20%/ /etc/ramraid/data.conf; ramraid attach data
		test "$(slots data)" = UUU; test "$(compare data)" = 0
		cmp /root/big /srv/data/big; sums; ramraid check data || :'
	reboot
	check 'after a reboot: the same, before anything was mounted' "$tools"'
		test "$(slots data)" = UUU; test "$(block)" = 4096; findmnt /srv/data; sums
		cat /run/ramraid/data.ram
		test "$(compare data)" = 0'
	check 'detach: the blocks stay, the memory is released; attach rebuilds the leg' "$tools"'
		ramraid detach data; test "$(block)" = 4096; test ! -e /sys/block/zram1; sums
		ramraid attach data; test "$(slots data)" = UUU; sums; test "$(compare data)" = 0'
	check 'under a writer' "$tools"'
		setsid sh -c "i=0; while :; do
			i=\$((i + 1))
			dd if=/dev/urandom of=/srv/data/w.\$((i % 5)) bs=64k count=20 conv=fsync \
				2>/dev/null
		done" </dev/null >/dev/null 2>&1 &
		sleep 3'
	kill_power
	boot
	check 'after a power cut: the same, and nothing is lost' "$tools"'
		ramraid wait --timeout=3min data
		test "$(slots data)" = UUU; test "$(block)" = 4096; findmnt /srv/data; sums
		test "$(compare data)" = 0'
	check 'stop: nothing of it stays; without the module it is not started with smaller blocks, unless BLOCK=auto' "$tools"'
		umount /srv/data; ramraid stop data; settle; ls -d /sys/block/zram*
		test "$(ls -d /sys/block/zram* | wc -l)" = 1
		rmmod zram; echo "install zram /bin/false" >/etc/modprobe.d/no-zram.conf
		code=0; ramraid start data || code=$?; test $code != 0; test ! -e /dev/md/data
		says "it needs blocks of 4096 bytes (BLOCK=4096), but can"
		sed -i s/BLOCK=.*/BLOCK=auto/ /etc/ramraid/data.conf
		ramraid start data || test $? = 1; test "$(slots data)" = _UU; test "$(block)" = 512
		mount /srv/data; sums; umount /srv/data
		sed -i s/BLOCK=.*/BLOCK=4096/ /etc/ramraid/data.conf
		rm /etc/modprobe.d/no-zram.conf; ramraid attach data || :; ramraid status data || :
		test "$(slots data)" = _UU
		ramraid stop data; ramraid start data; test "$(slots data)" = UUU
		test "$(block)" = 4096; mount /srv/data; sums'
	check 'removing the package gives it back' "$tools"'
		umount /srv/data
		DEBIAN_FRONTEND=noninteractive apt-get remove -y ramraid >/root/out 2>&1 || {
			cat /root/out; false
		}
		test ! -e /sys/block/zram1; test "$(slots data)" = _UU; test "$(block)" = 4096
		mount /srv/data; sums'
}
