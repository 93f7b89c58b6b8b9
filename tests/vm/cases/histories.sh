# Safe start: legs with histories of their own, the administrator's choice, legs that were still
# being rebuilt, and those that have shrunk.
checked_on trixie
long
# shellcheck source=tests/vm/safestart.sh disable=SC2154
source "$here/safestart.sh"

steps() {
	safestart_boot
	check 'two legs with histories of their own: refused, both named; stock mdadm merges the two without a word' "$tools"'
		down
		# As two boots would have left it, each with one disk and a RAM leg that nobody took
		# out.
		modprobe brd rd_nr=1 rd_size=131072
		for d in A B; do
			mdadm --assemble --run /dev/md/data $(node $d); named /dev/md/data
			mdadm --readwrite /dev/md/data
			mdadm /dev/md/data --add /dev/ram0
			for i in $(seq 200); do [[ $(slots data) = U*U* ]] && break; sleep 0.1; done
			printf "history of $d" >/root/$d; head -c 1M /dev/urandom >>/root/$d
			dd if=/root/$d of=/dev/md/data bs=1M seek=37 oflag=direct conv=fsync \
				status=none
			sleep 1; mdadm --stop /dev/md/data; mdadm --zero-superblock /dev/ram0
		done
		rmmod brd
		refused "$(leg A) (events [0-9]*) and $(leg B) (events [0-9]*) have been used \
without each other.*--force-leg=$(leg A) data, or: ramraid start --force-leg=$(leg B) data"
		mdadm --examine $(node A) | grep "Array State : AA\."
		mdadm --examine $(node B) | grep "Array State : A\.A"
		dd if=$(node A) of=$(node C) bs=1M oflag=direct status=none
		dd if=$(node B) of=$(node D) bs=1M oflag=direct status=none
		mdadm -I -c none $(node C); mdadm -I -c none $(node D)
		stock=$(basename $(ls -d /sys/block/$(basename $(node C))/holders/md*))
		mdadm --run /dev/$stock || :; cat /proc/mdstat
		echo "stock mdadm: $(grep -A1 "^$stock " /proc/mdstat | tail -1)"
		test "$(grep -c in_sync /sys/block/$stock/md/dev-$(basename $(node C))/state \
			/sys/block/$stock/md/dev-$(basename $(node D))/state |
			cut -d: -f2 | tr -d "\n")" = 11
		mdadm --readwrite /dev/$stock || :; echo check >/sys/block/$stock/md/sync_action
		while [ "$(cat /sys/block/$stock/md/sync_action)" != idle ]; do sleep 0.2; done
		echo "sectors that differ: $(cat /sys/block/$stock/md/mismatch_cnt)"
		test "$(cat /sys/block/$stock/md/mismatch_cnt)" -gt 1000
		mdadm --stop /dev/$stock; mdadm --zero-superblock $(node C) $(node D)'
	check '--force-leg starts from the chosen one alone, and the other stays out until it is made blank' "$tools"'
		fails ramraid start --force-leg=$(leg A) data </dev/null
		fails grep "^md" /proc/mdstat
		fails ramraid start --yes --force-leg=$(leg C) data
		fails ramraid start --yes --force-leg=/dev/nosuch data
		ramraid start --yes --force-leg=$(leg A) data 2>/root/out && exit 1 || test $? = 1
		cat /root/out; grep "whatever $(leg B) has that the chosen leg lacks" /root/out
		test "$(slots data)" = UU_
		cmp -n 1048576 /root/A \
			<(dd if=/dev/md/data bs=1M skip=37 count=1 iflag=direct status=none)
		ramraid attach data || test $? = 1; test "$(slots data)" = UU_
		grep "^given=." $witness; down; starts 1
		fails grep -q "waiting for [0-9]* of" /root/log; test "$(slots data)" = UU_; down
		gone A
		refused "$(leg B) has been given up by a start without it"; back A B C D; starts 1
		mdadm --zero-superblock $(node B); ramraid apply --yes data
		test "$(slots data)" = UUU; test "$(compare data)" = 0
		offset=$(mdadm --examine $(node B) | sed -n "s/.*Data Offset : \([0-9]*\) .*/\1/p")
		cmp -n 1048576 /root/A <(dd if=$(node B) bs=512 skip=$((offset + 75776)) \
			count=2048 iflag=direct status=none)
		down; starts; test "$(slots data)" = UUU'
	check 'only a leg that was still being rebuilt: refused, and said why' "$tools"'
		mdadm /dev/md/data --fail $(node B) --remove $(node B)
		mdadm --zero-superblock $(node B)
		echo 300 >/sys/block/$(md data)/md/sync_speed_max
		echo 300 >/sys/block/$(md data)/md/sync_speed_min
		mdadm /dev/md/data --add $(node B)
		for i in $(seq 100); do
			[ "$(cat /sys/block/$(md data)/md/sync_action)" = recover ] && break
			sleep 0.1
		done
		sleep 3; mdadm /dev/md/data --fail $(ram data); sleep 1
		mdadm --examine $(node B) | grep "Recovery Offset"
		ramraid stop data; mdadm --examine $(node B) | grep "Recovery Offset"; gone A
		refused "$(leg B) was still being rebuilt (complete up to sector"
		fails ramraid start --yes --force-leg=$(leg B) data
		back A B C D; starts; test "$(slots data)" = UUU; test "$(compare data)" = 0'
	power_off
	truncate -s 30M "$VM/disks/B.img"
	boot
	check 'a disk that has become smaller than its superblock says: refused, and the other starts' "$tools"'
		findmnt /srv/data || systemctl start srv-data.mount
		journalctl -b -u ramraid@data -o cat >/root/log; cat /root/log
		ramraid status data | grep "^data: degraded"
		test "$(slots data | tr -d _)" = UU; ls /sys/block/$(md data)/md | grep "^dev-rd"
		fails grep -q -- "--assemble.*$(readlink -f $(leg B))" /root/log
		down; gone A; refused "$(leg B) has [0-9]* sectors, but its superblock expects"'
}
