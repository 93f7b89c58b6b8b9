# The copy engine: right under a writer, with disks that can't be read, with wrong superblocks, and
# cut off at any moment.
checked_on forky
from installed
disk A 80M throttling.bps-total=20000000
disk B 80M throttling.bps-total=20000000
disk C 80M throttling.bps-total=20000000

steps() {
	boot
	# Copy even if the kernel is too new for the list of those on which ramraid copies.
	guest 'mkdir -p /etc/ramraid/ramraid.conf.d
		echo REBUILD=copy >/etc/ramraid/ramraid.conf.d/copy.conf'
	check 'a mirror of three disks; create copies' '
		ramraid create --yes data $(leg A) $(leg B) $(leg C)
		test "$(slots data)" = UUUU
		journalctl -b -u ramraid@data -o cat | tee /root/log
		grep "were copied from the disk legs" /root/log
		grep -- "--re-add $(ram data)" /root/log
		fails grep -- "--add $(ram data)" /root/log
		test "$(compare data)" = 0'
	check 'a file system, and files that are known' '
		mkfs.ext4 -q /dev/md/data; mkdir -p /srv/data; mount /dev/md/data /srv/data
		for i in 1 2 3 4; do head -c 3M /dev/urandom >/srv/data/file$i; done; sync
		cd /srv/data; sha256sum file* >/root/sums'
	check 'mdadm calls the new leg right' '
		mdadm --examine $(ram data) | tee /root/examine
		grep "Checksum : .* correct" /root/examine
		grep "Device Role : Active device 0" /root/examine
		mdadm --examine-bitmap $(ram data) | grep "Filename\|Magic"'
	check 'detach and attach while it is mounted' '
		ramraid detach data; test "$(slots data)" = _UUU
		time ramraid attach data; test "$(slots data)" = UUUU
		dmesg | tail -n 5
		test "$(compare data)" = 0; cd /srv/data; sha256sum --quiet -c /root/sums
		cat /sys/block/$(basename $(ram data))/size; grep MemAv /proc/meminfo'

	guest '
		mkdir -p /etc/ramraid/data.conf.d
		echo COPY_RATE=24M >/etc/ramraid/data.conf.d/test.conf'
	# Each is a way in which a mistake of ours could spoil the superblock that the new leg is
	# given.
	short || wrong 'stale events' 'words[50]=00000001' 'md did not take the copied RAM leg back'
	short || wrong 'the slot of a disk leg' 'superblock_clone_role_ words 0 65534
		superblock_clone_role_ words 9 1; words[40]=00000009' \
		'damaged, or belongs to another array or slot'
	short || wrong 'another array' 'words[4]=00000001' 'damaged, or belongs to another array or slot'
	short || wrong 'a wrong checksum' 'SPOIL=1' 'damaged, or belongs to another array or slot'
	short ||
		check 'somebody else made the array whole in between: what was written then is not forgotten' '
		rests; ramraid detach data 2>/dev/null; ramraid attach data >/root/attach.log 2>&1 &
		attach=$!
		for i in $(seq 400); do [ -s /run/ramraid/data.copy/pid ] && break; sleep 0.05; done
		sleep 1
		truncate -s 100M /run/other; other=$(losetup --find --show /run/other)
		mdadm -q /dev/md/data --add $other
		for i in $(seq 600); do [ "$(slots data)" = UUUU ] && break; sleep 0.1; done
		for i in 5 6 7 8; do head -c 2M /dev/urandom >/srv/data/file$i; done; sync; sleep 6
		mdadm -q /dev/md/data --fail $other
		for i in $(seq 50); do
			mdadm -q /dev/md/data --remove $other 2>/dev/null && break; sleep 0.1
		done
		wait $attach || :; cat /root/attach.log; attach data || :
		(cd /srv/data; sha256sum file* >/root/sums)
		losetup --detach $other; rm /run/other
		test "$(slots data)" = UUUU; test "$(compare data)" = 0
		echo 3 >/proc/sys/vm/drop_caches; cd /srv/data; sha256sum --quiet -c /root/sums'

	check 'a leg is not re-added while every slot is filled: md would go by bits that it has cleared' '
		for i in 0 1 2 3; do
			truncate -s 40M /var/tmp/leg$i
			leg[i]=$(losetup --find --show /var/tmp/leg$i)
		done
		mdadm --create /dev/md/trap --run --level=1 --raid-devices=3 --bitmap=internal \
			--assume-clean ${leg[0]} ${leg[1]} ${leg[2]}
		named /dev/md/trap; trap=$(md trap)
		idle() {
			for i in $(seq 900); do
				test "$(slots trap)" = UUU &&
					test "$(cat /sys/block/$trap/md/sync_action)" = idle &&
					return
				sleep 0.1
			done
			return 1
		}
		put_back() { # COMMAND…: one that has left, while another member has its slot
			mdadm -q /dev/md/trap --fail ${leg[2]}; sleep 1
			mdadm -q /dev/md/trap --remove ${leg[2]}
			dd if=/dev/urandom of=/dev/md/trap bs=1M count=8 oflag=direct status=none
			mdadm -q /dev/md/trap --add ${leg[3]}; sleep 1; idle
			"$@"
		}
		leave() { # then that one leaves
			mdadm -q /dev/md/trap --fail ${leg[3]}; sleep 1
			mdadm -q /dev/md/trap --remove ${leg[3]}
			mdadm --zero-superblock ${leg[3]}
		}
		ours() {
			fails bash -c "lib=/usr/lib/ramraid; . \$lib/core/load.sh
				need world/md; md_readd $trap ${leg[2]#/dev/}" 2>/root/log
			grep "every slot is taken" /root/log
			fails grep ${leg[2]#/dev/}\\[ /proc/mdstat
		}
		# What md does: with a device number of its own, or it would refuse that.
		put_back mdadm /dev/md/trap --re-add ${leg[2]}; leave; sleep 1; idle
		test "$(compare trap)" -gt 0
		mdadm -q /dev/md/trap --fail ${leg[2]}; sleep 1
		mdadm -q /dev/md/trap --remove ${leg[2]}; mdadm --zero-superblock ${leg[2]}
		mdadm -q /dev/md/trap --add ${leg[2]}; sleep 1; idle
		test "$(compare trap)" = 0
		put_back ours; leave
		mdadm --stop /dev/md/trap; losetup --detach-all; rm /var/tmp/leg?'

	check 'the copy is under way, and its programs take no more than 16 MiB' "$under_way"'
		pid=$(cat /run/ramraid/data.copy/pid); sum=0
		for p in $(pgrep -g $pid); do
			n=$(sed -n "s/^Pss: *\([0-9]*\) kB/\1/p" /proc/$p/smaps_rollup \
				2>/dev/null) || :
			sum=$((sum + ${n:-0}))
		done
		echo "$sum KiB in $(pgrep -g $pid | wc -l) processes"; test $sum -gt 0
		test $sum -le 16384'
	kill_power
	boot
	whole 'cut off in the middle of the copy'
	! short || return 0
	check 'the copy is at its end' "$under_way"'
		for i in $(seq 400); do
			grep -q -- "--re-add $(ram data)" /root/attach.log && break
			sleep 0.05
		done'
	kill_power
	boot
	whole 'cut off while md adds what was written meanwhile'

	bad=$(guest '
		offset=$(mdadm --examine $(node A) | sed -n "s/.*Data Offset : \([0-9]*\) .*/\1/p")
		echo $((offset + 130000))')
	check 'VERIFY=sample compares some of it, VERIFY=yes finds what is different' '
		said() {
			for i in $(seq 300); do
				journalctl -b -u ramraid@data -o cat | grep "$1" && return
				sleep 0.2
			done
			return 1
		}
		umount /srv/data; echo VERIFY=sample >/etc/ramraid/data.conf.d/test.conf
		ramraid stop data; ramraid start data; test "$(slots data)" = UUUU
		said "found no difference (VERIFY=sample)"
		test "$(cat /sys/block/$(md data)/md/sync_max)" = max
		test "$(cat /sys/block/$(md data)/md/sync_action)" = idle
		echo VERIFY=yes >/etc/ramraid/data.conf.d/test.conf; ramraid stop data
		dd if=/dev/urandom of=$(node B) bs=4k count=1 seek='"$((bad / 8))"' oflag=direct \
			status=none
		ramraid start data; said "SECTORS DIFFER"
		ramraid stop data
		dd if=$(node A) of=$(node B) bs=4k count=1 skip='"$((bad / 8))"' \
			seek='"$((bad / 8))"' iflag=direct oflag=direct status=none'
	power_off
	# So many that A hits one of them, whichever parts it has to read.
	VM_BAD=([A]=$(seq -s ' ' $((bad - 40 * 1024)) 1024 $((bad + 20 * 1024))))
	boot
	check 'some sectors of one disk leg cannot be read: the others give them, and it is said' '
		ramraid wait --timeout=2min data; test "$(slots data)" = UUUU
		fails dd if=$(node A) of=/dev/null bs=512 skip='"$bad"' count=8 iflag=direct
		journalctl -b -u ramraid@data -o cat | tee /root/log
		grep "at byte .* error reading .* that part has to come from another disk \
leg" /root/log
		grep -- "--re-add $(ram data)" /root/log
		fails grep -- "--add $(ram data)" /root/log
		mount /dev/md/data /srv/data; cd /srv/data; sha256sum --quiet -c /root/sums
		cmp <(dd if=$(ram data) bs=512 skip='"$bad"' count=8 iflag=direct status=none) \
			<(dd if=$(node B) bs=512 skip='"$bad"' count=8 iflag=direct status=none)'
	power_off
	VM_BAD=([A]=$bad [B]=$bad [C]=$bad)
	boot
	check 'that sector of no disk leg can be read: md tries, the array stays up, and it is said' '
		for i in $(seq 120); do
			systemctl show -p MainPID ramraid@data | grep -x MainPID=0 && break
			sleep 0.5
		done
		cat /proc/mdstat; ramraid status data || :
		journalctl -b -u ramraid@data -o cat | tee /root/log
		grep "no disk leg could be read to the end" /root/log
		grep -- "--add $(ram data)" /root/log
		systemctl is-active ramraid@data
		mount /dev/md/data /srv/data; cd /srv/data; sha256sum --quiet -c /root/sums'
	kill_power
	VM_BAD=()
	boot
	check 'and with disks that can be read, all is there' '
		ramraid status data || :; mount /dev/md/data /srv/data; cd /srv/data
		sha256sum --quiet -c /root/sums; cd /; umount /srv/data; fsck.ext4 -fn /dev/md/data'
}

# Begins a copy, under writes.
readonly under_way='
	test -d /srv/data/lost+found || mount /dev/md/data /srv/data
	rests; ramraid detach data 2>/dev/null
	setsid dd if=/dev/urandom of=/srv/data/other bs=64k count=4000 oflag=dsync >/dev/null 2>&1 \
		</dev/null &
	setsid ramraid attach data >/root/attach.log 2>&1 </dev/null &
	for i in $(seq 400); do [ -s /run/ramraid/data.copy/pid ] && break; sleep 0.05; done
	sleep 1
	test -s /run/ramraid/data.copy/pid'

whole() { # TEXT
	check "$1: the next boot makes it whole again, with every file" '
		ramraid wait --timeout=3min data; test "$(slots data)" = UUUU
		journalctl -b -u ramraid@data -o cat; test "$(compare data)" = 0
		fsck.ext4 -p /dev/md/data || test $? = 1; mount /dev/md/data /srv/data; cd /srv/data
		sha256sum --quiet -c /root/sums'
}

# wrong TEXT COMMANDS MESSAGE: COMMANDS change the superblock while the copy runs.
wrong() {
	check "$1: refused, md rebuilds it, and nothing is lost" '
		rests; ramraid detach data 2>/dev/null; ramraid attach data >/root/attach.log 2>&1 &
		attach=$!
		for i in $(seq 400); do [ -s /run/ramraid/data.copy/pid ] && break; sleep 0.05; done
		(
			lib=/usr/lib/ramraid; . $lib/core/load.sh; need world/superblock-clone
			cd /run/ramraid/data.copy; SPOIL=0
			read -ra words < <(od -An -v -tx4 --endian=little -w4096 superblock)
			'"$2"'
			superblock_sum words $((16#${words[55]}))
			printf -v "words[54]" "%08x" $((SUPERBLOCK_SUM + SPOIL))
			superblock_clone_bytes words >superblock.new; mv superblock.new superblock
			test ! -e result # it came in time
		)
		wait $attach; cat /root/attach.log; grep "'"$3"'" /root/attach.log
		grep -- "--add $(ram data)" /root/attach.log
		test "$(slots data)" = UUUU; test "$(compare data)" = 0
		echo 3 >/proc/sys/vm/drop_caches; cd /srv/data; sha256sum --quiet -c /root/sums'
}
