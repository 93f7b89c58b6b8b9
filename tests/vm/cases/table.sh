# Safe start, row by row: every state of the disk legs that a layout can produce. Disks vanish and come back on the running machine.
from mirror
disk A 96M
disk B 96M
disk C 96M
disk D 96M
may_fail ramraid@data.service srv-data.mount

# gone NAME…: the disks are pulled out. back: all that were are in again. down: the array is stopped, cleanly.
# refused TEXT: a start is refused with these words, and nothing runs. starts: it starts, and its journal is in /root/log.
readonly tools='
	gone() { for d; do echo 1 >/sys/block/$(basename $(node $d))/device/delete; done; for d; do while [ -e $(leg $d) ]; do sleep 0.1; done; done; }
	back() {
		for h in /sys/class/scsi_host/host*/scan; do echo "- - -" >$h; done
		for d in A B C D; do for i in $(seq 100); do [ -e $(leg $d) ] && break; sleep 0.1; done; done; settle
	}
	down() { systemctl stop srv-data.mount; ramraid stop data; fails grep -q "^md" /proc/mdstat; }
	log() { journalctl -u ramraid@data -o cat --after-cursor="$cursor" >/root/log; cat /root/log; }
	cursor() { cursor=$(journalctl -n 1 -o json | jq -r .__CURSOR); }
	refused() {
		cursor; fails ramraid start data; log
		grep -q -- "$1" /root/log; systemctl show -p StatusText --value ramraid@data | grep -q -- "not started: .*$1"
		fails grep "^md" /proc/mdstat
	}
	starts() { cursor; code=0; ramraid start data || code=$?; log; test "$code" = "${1:-0}"; }
	sums() { systemctl start srv-data.mount; cd /srv/data; sha256sum --quiet -c /root/sums; cd /; }
	new() { head -c 1M /dev/urandom >/srv/data/$1; sync; (cd /srv/data; sha256sum $1 >>/root/sums); }
	witness=/etc/ramraid/state/data.witness
	'

steps() {
	boot
	guest 'mkdir -p /etc/ramraid/data.conf.d; echo MEMBER_TIMEOUT=3s >/etc/ramraid/data.conf.d/test.conf; sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab; systemctl daemon-reload'
	check 'all present and equal: started at once' "$tools"'
		down; starts; fails grep -q "waiting for" /root/log; grep "2 of 2 disk legs are safe" /root/log; test "$(slots data)" = UUU; sums'
	check 'something else has started it from legs that were in sync: it is taken over as it is' "$tools"'
		down; mdadm --assemble --run /dev/md/data $(node A) $(node B); starts
		fails grep -q -- "--assemble" /root/log; test "$(slots data)" = UUU; sums'
	check 'one absent, still called active, and the witness agrees: started when MEMBER_TIMEOUT is over' "$tools"'
		down; gone B; starts 1
		grep "waiting for 1 of 2 disk legs: $(leg B)" /root/log; grep -- "--assemble --run /dev/md/data $(readlink -f $(leg A))$" /root/log
		sums; new withoutB'
	check 'one absent that the newest knows missing: started at once' "$tools"'
		down; starts 1; fails grep -q "waiting for" /root/log; sums'
	check 'the absent one back, older: the freshest starts, the older is put back by bitmap before the RAM leg' "$tools"'
		down; back; starts
		grep "1 of 2 disk legs are safe" /root/log
		grep -nE -- "--re-add|--add" /root/log >/root/order; head -1 /root/order | grep -- "--re-add $(readlink -f $(leg B))"; sed -n 2p /root/order | grep -- "--add /dev/rd0"
		test "$(slots data)" = UUU; sums; test "$(compare data)" = 0'
	check 'stale: the witness names another leg' "$tools"'
		down; gone B; starts 1; sums; new withoutB2; down; back; gone A
		refused "$(leg B) was not in sync when the array last ran"'
	check 'stale, and START_DEGRADED=always does not overrule what the witness knows' "$tools"'
		echo START_DEGRADED=always >>/etc/ramraid/data.conf.d/test.conf
		refused "but the array was at [0-9]* when it last ran"
		cp $witness /root/witness; events=$(mdadm --examine $(node B) | sed -n "s/ *Events : //p"); sed -i "s/^events=.*/events=$((events + 1))/" $witness
		refused "but the array was at $((events + 1)) when it last ran"; cp /root/witness $witness
		sed -i /START/d /etc/ramraid/data.conf.d/test.conf; back; starts; sums; test "$(compare data)" = 0'
	check 'started by something else from a stale leg: left untouched, and said' "$tools"'
		down; gone B; starts 1; sums; new withoutB3; down; back
		cp $witness /root/before
		mdadm --assemble --run /dev/md/data $(node B); cursor; fails ramraid start data; fails ramraid start data; ramraid witness; log
		grep "something else has started md" /root/log; test "$(slots data)" = __U; cmp $witness /root/before
		mdadm --stop /dev/md/data; starts; test "$(slots data)" = UUU; sums; test "$(compare data)" = 0'
	check 'a leg is absent and there is no witness, a damaged one, or one of another array: refused; allowed, it starts' "$tools"'
		down; gone B; cp $witness /root/witness
		rm $witness; refused "nothing shows that $(leg A) is up to date (there is no record"
		head -c 300 /dev/urandom >$witness; refused "nothing shows .*is damaged"
		sed "s/^uuid=........-/uuid=00000000-/" /root/witness >$witness; refused "nothing shows .*is about another array"
		cp /root/witness $witness; echo START_DEGRADED=never >>/etc/ramraid/data.conf.d/test.conf; refused "START_DEGRADED=never"
		rm $witness; sed -i s/never/always/ /etc/ramraid/data.conf.d/test.conf; starts 1; sums
		down; sed -i /START/d /etc/ramraid/data.conf.d/test.conf; back; starts; sums'
	check 'a configured leg that is blank, of another array, or a spare is refused, and the others start' "$tools"'
		echo "MEMBER=$(leg C)" >>/etc/ramraid/data.conf.d/test.conf
		down; starts 1; ramraid status data | grep "outside .*$(leg C)"; sums
		mdadm /dev/md/data --add $(node C); settle; systemctl stop srv-data.mount; mdadm --stop /dev/md/data
		mdadm --examine $(node C) | grep "Role : spare"; starts 1; fails grep -q -- "--assemble.* $(node C)" /root/log; sums
		down; mdadm --zero-superblock $(node C); mdadm --create /dev/md/other --run --level=1 --raid-devices=2 --bitmap=internal --metadata=1.2 $(node C) missing; mdadm --stop /dev/md/other
		starts 1; sums
		down; gone A B; refused "$(leg C) belongs to another array"
		back; mdadm --zero-superblock $(node C); gone A B; refused "$(leg C) has no md superblock that can be read (none)"
		back; sed -i /MEMBER=/d /etc/ramraid/data.conf.d/test.conf; starts; sums'
	check 'two legs with histories of their own: refused, both named; stock mdadm merges the two without a word' "$tools"'
		down
		for d in A B; do
			mdadm --assemble --run /dev/md/data $(node $d); mdadm --readwrite /dev/md/data
			printf "history of $d" >/root/$d; head -c 1M /dev/urandom >>/root/$d
			dd if=/root/$d of=/dev/md/data bs=1M seek=40 oflag=direct conv=fsync status=none; sleep 1; mdadm --stop /dev/md/data
		done
		refused "$(leg A) (events [0-9]*) and $(leg B) (events [0-9]*) have been used without each other.*--force-leg=$(leg A) data, or: ramraid start --force-leg=$(leg B) data"
		mdadm --examine $(node A) | grep "Array State : \.A\."; mdadm --examine $(node B) | grep "Array State : \.\.A"
		dd if=$(node A) of=$(node C) bs=1M oflag=direct status=none; dd if=$(node B) of=$(node D) bs=1M oflag=direct status=none
		mdadm -c none -I $(node C); mdadm -c none -I $(node D); stock=$(basename $(ls -d /sys/block/$(basename $(node C))/holders/md*))
		mdadm --run /dev/$stock || :; cat /proc/mdstat
		echo "stock mdadm: $(grep -A1 "^$stock " /proc/mdstat | tail -1)"
		test "$(grep -c in_sync /sys/block/$stock/md/dev-$(basename $(node C))/state /sys/block/$stock/md/dev-$(basename $(node D))/state | cut -d: -f2 | tr -d "\n")" = 11
		mdadm --readwrite /dev/$stock || :; echo check >/sys/block/$stock/md/sync_action; while [ "$(cat /sys/block/$stock/md/sync_action)" != idle ]; do sleep 0.2; done
		echo "sectors that differ: $(cat /sys/block/$stock/md/mismatch_cnt)"; test "$(cat /sys/block/$stock/md/mismatch_cnt)" -gt 1000
		mdadm --stop /dev/$stock; mdadm --zero-superblock $(node C) $(node D)'
	check '--force-leg starts from the chosen one alone, and the other stays out until it is made blank' "$tools"'
		fails ramraid start --force-leg=$(leg A) data </dev/null; fails grep "^md" /proc/mdstat
		fails ramraid start --yes --force-leg=$(leg C) data; fails ramraid start --yes --force-leg=/dev/nosuch data
		ramraid start --yes --force-leg=$(leg A) data 2>/root/out && exit 1 || test $? = 1; cat /root/out; grep "whatever $(leg B) has that it lacks" /root/out
		test "$(slots data)" = UU_; cmp -n 1048576 /root/A <(dd if=/dev/md/data bs=1M skip=40 count=1 iflag=direct status=none)
		ramraid attach data || test $? = 1; test "$(slots data)" = UU_
		grep "^given=." $witness; down; starts 1; fails grep -q "waiting for" /root/log; test "$(slots data)" = UU_; down; gone A
		refused "$(leg B) has been given up by a start without it"; back; starts 1
		mdadm --zero-superblock $(node B); mdadm /dev/md/data --add $(node B); ramraid attach data; test "$(slots data)" = UUU; test "$(compare data)" = 0
		offset=$(mdadm --examine $(node B) | sed -n "s/.*Data Offset : \([0-9]*\) .*/\1/p")
		cmp -n 1048576 /root/A <(dd if=$(node B) bs=512 skip=$((offset + 81920)) count=2048 iflag=direct status=none)
		down; starts; test "$(slots data)" = UUU'
	check 'only a leg that was still being rebuilt: refused, and said why' "$tools"'
		mdadm /dev/md/data --fail $(node B) --remove $(node B); mdadm --zero-superblock $(node B)
		echo 1000 >/sys/block/$(md data)/md/sync_speed_max; echo 1000 >/sys/block/$(md data)/md/sync_speed_min
		mdadm /dev/md/data --add $(node B); for i in $(seq 100); do [ "$(cat /sys/block/$(md data)/md/sync_action)" = recover ] && break; sleep 0.1; done
		sleep 3; mdadm /dev/md/data --fail /dev/rd0; sleep 1; mdadm --examine $(node B) | grep "Recovery Offset"
		ramraid stop data; mdadm --examine $(node B) | grep "Recovery Offset"; gone A
		refused "$(leg B) was still being rebuilt (complete up to sector"
		fails ramraid start --yes --force-leg=$(leg B) data
		back; starts; test "$(slots data)" = UUU; test "$(compare data)" = 0'
	power_off
	truncate -s 90M "$VM/disks/B.img"
	boot
	check 'a disk that has become smaller than its superblock says: refused, and the other starts' "$tools"'
		findmnt /srv/data || systemctl start srv-data.mount
		journalctl -b -u ramraid@data -o cat >/root/log; cat /root/log; ramraid status data | grep "^data: degraded"
		test "$(slots data)" = UU_; fails grep -q -- "--assemble.*$(readlink -f $(leg B))" /root/log
		down; gone A; refused "$(leg B) has [0-9]* sectors, but its superblock counts on"'
}
