# Safe start, row by row: every state of the disk legs that a layout can produce. Disks vanish and
# come back on the running machine.
checked_on trixie
# shellcheck source=tests/vm/safestart.sh disable=SC2154
source "$here/safestart.sh"

steps() {
	safestart_boot
	short || {
		check 'all present and equal: started at once' "$tools"'
			down; starts; fails grep -q "waiting for [0-9]* of" /root/log
			grep "2 of 2 disk legs are safe" /root/log; test "$(slots data)" = UUU
			sums'
		check 'something else has started it from legs that were in sync: it is taken over as it is' "$tools"'
			down; mdadm --assemble --run /dev/md/data $(node A) $(node B); starts
			fails grep -q -- "--assemble" /root/log; test "$(slots data)" = UUU; sums'
	}
	check 'something else has gathered a leg of it and not started it: taken over, and started from both' "$tools"'
		down; mdadm --incremental --config=none $(node A); grep inactive /proc/mdstat
		ramraid status data | grep "^data: half-assembled"; starts
		test "$(slots data)" = UUU; sums'
	short || {
		check 'one absent, still called active, and the witness agrees: started when MEMBER_TIMEOUT is over' "$tools"'
			down; gone B; starts 1
			grep "waiting for 1 of 2 disk legs: $(leg B)" /root/log
			grep -- "--assemble --run /dev/md/data $(readlink -f $(leg A))$" /root/log
			sums; new withoutB'
		check 'one absent that the newest knows missing: started at once' "$tools"'
			down; starts 1; fails grep -q "waiting for [0-9]* of" /root/log; sums'
		check 'the absent one back, older: the freshest starts, the older is put back by bitmap before the RAM leg' "$tools"'
			down; back A B C D; starts
			grep "1 of 2 disk legs are safe" /root/log
			grep -nE -- "--re-add|--add" /root/log >/root/order
			head -1 /root/order | grep -- "--re-add $(readlink -f $(leg B))"
			sed -n 2p /root/order | grep -- "--re-add $(ram data)"
			test "$(slots data)" = UUU; sums; test "$(compare data)" = 0'
	}
	check 'stale: the witness names another leg' "$tools"'
		down; gone B; starts 1; sums; new withoutB2; down; back A B C D; gone A
		refused "newest disk leg present, $(leg B), is at .*would lose what was written \
since. Bring the missing disk back: $(leg A)"'
	check 'stale, and START_DEGRADED=always does not overrule what the witness knows' "$tools"'
		echo START_DEGRADED=always >>/etc/ramraid/data.conf.d/test.conf
		refused "but the array was at [0-9]* when it last ran"
		cp $witness /root/witness
		events=$(mdadm --examine $(node B) | sed -n "s/ *Events : //p")
		sed -i "s/^events=.*/events=$((events + 1))/" $witness
		refused "but the array was at $((events + 1)) when it last ran"
		cp /root/witness $witness
		sed -i /START/d /etc/ramraid/data.conf.d/test.conf; back A B C D; starts; sums
		test "$(compare data)" = 0'
	short ||
		check 'started by something else from a stale leg: left untouched, and said' \
			"$tools"'
		down; gone B; starts 1; sums; new withoutB3; down; back A B C D
		cp $witness /root/before
		mdadm --assemble --run /dev/md/data $(node B); cursor; fails ramraid start data
		fails ramraid start data; ramraid witness; log
		grep "something else has started md" /root/log; test "$(slots data)" = __U
		cmp $witness /root/before
		mdadm --stop /dev/md/data; starts; test "$(slots data)" = UUU; sums
		test "$(compare data)" = 0'
	check 'a leg is absent and there is no witness on either file system, a damaged one, or one of another array: refused; allowed, it starts' "$tools"'
		down; gone B; cp $witness /root/witness; rm /boot/ramraid/*.witness
		rm $witness
		refused "nothing shows that $(leg A) is up to date (there is no record"
		head -c 300 /dev/urandom >$witness; refused "nothing shows .*is damaged"
		sed "s/^uuid=........-/uuid=00000000-/" /root/witness >$witness
		refused "nothing shows .*is about another array"
		cp /root/witness $witness
		echo START_DEGRADED=never >>/etc/ramraid/data.conf.d/test.conf
		refused "START_DEGRADED=never"
		rm $witness; sed -i s/never/always/ /etc/ramraid/data.conf.d/test.conf; starts 1
		sums
		# B may have been the newer one: nobody knew it when it was given up.
		down; sed -i /START/d /etc/ramraid/data.conf.d/test.conf; back A B C D; starts 1
		mdadm --zero-superblock $(node B); ramraid apply --yes data
		test "$(slots data)" = UUU; sums; down; starts; sums'
	short || check 'a configured leg that is blank, of another array, or a spare is refused, and the others start' "$tools"'
		echo "MEMBER=$(leg C)" >>/etc/ramraid/data.conf.d/test.conf
		down; starts 1; ramraid status data | grep "outside .*$(leg C)"; sums
		mdadm /dev/md/data --add $(node C); settle; systemctl stop srv-data.mount
		mdadm --stop /dev/md/data
		mdadm --examine $(node C) | grep "Role : spare"; starts 1
		fails grep -q -- "--assemble.* $(node C)" /root/log; sums
		down; mdadm --zero-superblock $(node C)
		mdadm --create /dev/md/other --run --level=1 --raid-devices=2 --bitmap=internal \
			--metadata=1.2 $(node C) missing
		named /dev/md/other; mdadm --stop /dev/md/other
		starts 1; sums
		down; gone A B; refused "$(leg C) belongs to another array"
		back A B C D; mdadm --zero-superblock $(node C); gone A B
		refused "$(leg C) has no md superblock that can be read (none)"
		back A B C D; sed -i /MEMBER=/d /etc/ramraid/data.conf.d/test.conf; starts; sums'
}
