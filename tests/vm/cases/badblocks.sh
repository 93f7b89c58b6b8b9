# A disk leg that md could not write some blocks to, and keeps in sync: these blocks are on no disk,
# only on the RAM leg. ramraid reports that, keeps the RAM leg, saves it at the shutdown, and
# restores it. Then the RAM leg lacks a block that only the disk has: a restore leaves that alone.
# Also a disk that comes back after a boot without it, and whose device number is beyond the number
# of slots.
checked_on trixie
long
image stacks
from installed
disk W 64M
disk A 64M
disk B 64M
disk C 64M
may_fail ramraid@data.service

readonly tools='
	# The disk, with so many sectors (from, number) that take no write; without any, a good one.
	weak() {
		sectors=$(blockdev --getsz $(node W))
		if [ $# = 0 ]; then echo "0 $sectors linear $(node W) 0"; return; fi
		echo "0 $1 linear $(node W) 0"
		echo "$1 $2 flakey $(node W) $1 0 3600 1 error_writes"
		echo "$(($1 + $2)) $((sectors - $1 - $2)) linear $(node W) $(($1 + $2))"
	}
	bad() { cat /sys/block/$(md data)/md/dev-dm-*/bad_blocks; }
	data() { dd if=/dev/md/data bs=64k skip=512 count=1 iflag=direct status=none | sha256sum; }
	# Is what the image lacked still on the disk, and in the list of bad blocks that is there?
	kept() {
		local at=$(($(cat /root/offset) + 512 * 128))
		mdadm --examine-badblocks /dev/mapper/weak >/root/list; cat /root/list
		grep "^ *$at for 128 sectors" /root/list
		dd if=/dev/mapper/weak bs=512 skip=$at count=128 iflag=direct status=none |
			sha256sum | cmp - /root/sum
	}
	unreadable() {
		fails dd if=/dev/md/data of=/dev/null bs=64k skip=512 count=1 iflag=direct status=none
	}
	'

steps() {
	boot
	check 'a write that the disk does not take is acknowledged, the leg stays in sync, and the mirror is not whole any more' "$tools"'
		modprobe dm-flakey; weak | dmsetup create weak; settle
		ramraid create --yes data /dev/disk/by-id/dm-name-weak
		echo MEMBER_TIMEOUT=1s >>/etc/ramraid/data.conf; ramraid remember
		test "$(slots data)" = UU; test -z "$(bad)"
		offset=$(cat /sys/block/$(md data)/md/dev-dm-*/offset)
		weak $((offset + 512 * 128)) 128 >/root/table; cat /root/table; dmsetup suspend weak
		dmsetup load weak /root/table; dmsetup resume weak
		dd if=/dev/urandom of=/root/block bs=64k count=1 status=none
		dd if=/root/block of=/dev/md/data bs=64k seek=512 oflag=direct conv=fsync \
			status=none
		sha256sum </root/block >/root/sum; data | cmp - /root/sum; sync
		bad; test -n "$(bad)"; test "$(slots data)" = UU
		ramraid status data >/root/out || test $? = 1; cat /root/out
		grep "^data: degraded" /root/out; grep "ONLY GOOD COPY" /root/out
		ramraid check data >/root/out 2>&1 || :; cat /root/out
		grep "md could not write some blocks: only the RAM leg has them" /root/out'
	check 'detach and stop keep the RAM leg, and say why' "$tools"'
		for verb in detach stop; do
			code=0; ramraid $verb data >/root/out 2>&1 || code=$?; cat /root/out
			test $code = 4
			grep "is the only good copy, and no disk leg can be rebuilt from it: \
keeping it. md could not write some blocks of the disk legs" /root/out
			test "$(slots data)" = UU; data | cmp - /root/sum
		done
		for i in $(seq 100); do
			[ "$(systemctl is-active ramraid@data)" = active ] && break; sleep 0.2
		done
		systemctl is-active ramraid@data'
	reboot
	check 'the shutdown has saved it, and the disk, good again, takes it from there' "$tools"'
		ls -l /var/lib/ramraid/data/rescue-*; weak | dmsetup create weak; settle
		fails ramraid start data
		ramraid restore --yes data; ramraid wait --timeout=2min data
		test "$(slots data)" = UU; test -z "$(bad)"; data | cmp - /root/sum
		test "$(compare data)" = 0'
	check 'its disk leaves; it alone has a block that the RAM leg could not take' "$tools"'
		cat /sys/block/$(md data)/md/dev-dm-*/offset >/root/offset
		disk=$(readlink -f /dev/mapper/weak); mdadm /dev/md/data --fail $disk
		for i in $(seq 50); do
			mdadm /dev/md/data --remove $disk && break; sleep 0.1
		done
		dmsetup remove --retry weak; leg=/sys/block/$(md data)/md/dev-$(basename $(ram data))
		echo "$(($(cat $leg/offset) + 512 * 128)) 128" >$leg/bad_blocks; cat $leg/bad_blocks
		unreadable
		dd if=/dev/urandom of=/root/later bs=64k count=1 status=none
		dd if=/root/later of=/dev/md/data bs=64k seek=513 oflag=direct conv=fsync status=none
		rests; cat /proc/mdstat; systemctl is-active ramraid@data; sync'
	reboot
	check 'restored: the disk keeps what the image lacks, as a bad block that outlives a stop' "$tools"'
		cat /etc/ramraid/state/data.rescue
		grep -x "lost=33554432:65536" /etc/ramraid/state/data.rescue
		weak | dmsetup create weak; settle
		ramraid restore --yes data >/root/out 2>&1 || :; cat /root/out; cat /proc/mdstat
		grep "md lists them as bad blocks of dm-" /root/out
		test ! -e /etc/ramraid/state/data.rescue; kept; unreadable
		ramraid stop data; fails grep "^md.*dm-" /proc/mdstat; kept
		ramraid start data || :; cat /proc/mdstat; test -b /dev/md/data; kept; unreadable
		dd if=/dev/md/data bs=64k skip=513 count=1 iflag=direct status=none |
			cmp - /root/later'
	check 'what the disk has there, written to the array, makes the mirror whole again' "$tools"'
		dd if=/dev/mapper/weak of=/root/kept bs=512 skip=$(($(cat /root/offset) + 512 * 128)) \
			count=128 iflag=direct status=none
		dd if=/root/kept of=/dev/md/data bs=512 seek=65536 oflag=direct conv=notrunc status=none
		test -z "$(bad)"; data | cmp - /root/sum
		ramraid attach data; ramraid wait --timeout=2min data
		test "$(slots data)" = UU; data | cmp - /root/sum; test "$(compare data)" = 0
		ramraid stop data; systemctl disable ramraid@data'
	check 'a mirror of disks of which one was replaced by mdadm, and has a number beyond the slots' '
		mdadm --create /dev/md/old --run --level=1 --raid-devices=2 --bitmap=internal \
			--write-zeroes $(leg A) $(leg B) ||
			mdadm --create /dev/md/old --run --level=1 --raid-devices=2 \
				--bitmap=internal $(leg A) $(leg B)
		mdadm --wait /dev/md/old || :; mdadm /dev/md/old --add $(leg C)
		mdadm /dev/md/old --fail $(leg B) --remove $(leg B) || {
			sleep 1; mdadm /dev/md/old --remove $(leg B)
		}
		mdadm --wait /dev/md/old || :; mdadm --zero-superblock $(leg B)
		ramraid adopt --yes old /dev/md/old; test "$(slots old)" = UUU; cat /proc/mdstat
		grep "sd[a-z]*\[2\]" /proc/mdstat
		echo MEMBER_TIMEOUT=2s >>/etc/ramraid/old.conf; sync'
	power_off
	VM_DISKS=(A)
	boot
	check 'a boot without it' '
		ramraid wait --timeout=1min old || :; cat /proc/mdstat
		test "$(cat /sys/block/$(md old)/md/degraded)" = 1
		dd if=/dev/urandom of=/dev/md/old bs=1M count=1 seek=20 oflag=direct status=none
		sync'
	vm_plug C
	check 'it comes, and is put back' '
		for i in $(seq 600); do [ "$(slots old)" = UUU ] && break; sleep 0.2; done
		cat /proc/mdstat; test "$(slots old)" = UUU; test "$(compare old)" = 0
		journalctl -b -o cat | grep -- "--re-add /dev/$(basename $(node C))"'
	check 'more bad blocks than sysfs shows, and then one on both disks: the leg does not count as good' '
		d=/sys/block/$(md old)/md; ramraid status old
		a=$d/dev-$(basename $(node A)) c=$d/dev-$(basename $(node C))
		block() { echo "$(($(cat $1/offset) + 100000 + $2 * 40)) 8" >$1/bad_blocks; }
		for i in $(seq 0 499); do block $c $i; done
		test $(wc -c <$c/bad_blocks) = 4095; tail -n 1 $c/bad_blocks
		fails grep "^$(($(cat $c/offset) + 100000 + 490 * 40)) 8$" $c/bad_blocks
		code=0; ramraid status old >/root/out || code=$?; cat /root/out; test $code = 1
		grep "^old: degraded" /root/out; fails grep "ONLY GOOD COPY" /root/out
		block $a 490
		ramraid status old >/root/out || :; cat /root/out; grep "ONLY GOOD COPY" /root/out
		code=0; ramraid detach old || code=$?; test $code = 4; test "$(slots old)" = UUU'
}
