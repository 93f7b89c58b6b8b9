# The self-test of the copy runs beside a mirror of ours and a user's own array, loop device and
# ramdisk, and touches none of them. Planted defects make it fail. Killed at any step, it leaves
# nothing that the next one does not remove. REBUILD=auto uses what it has found.
long
checked_on trixie
from installed
disk A 40M
disk B 40M
disk C 40M
disk D 40M

readonly tools='
	release=$(uname -r); record=/etc/ramraid/state/selftest
	lib=/usr/lib/ramraid
	# A ramdisk that is none of ours, with known bytes.
	own_ramdisk() {
		if [ -e /sys/kernel/rapiddisk/mgmt ]; then
			own=rd7; echo "rapiddisk attach 7 8388608" >/sys/kernel/rapiddisk/mgmt
		else
			own=zram0; modprobe zram; echo 8M >/sys/block/zram0/disksize
		fi
		settle; dd if=/root/loopfile of=/dev/$own bs=1M oflag=direct status=none
		echo $own >/root/own
	}
	# What must be as it was, whatever the self-test does.
	beside() {
		settle
		# Hot-plug looks at every array that comes or goes, and then takes its flag away.
		for i in $(seq 100); do [ -e /run/ramraid/event ] || break; sleep 0.2; done
		sed -n "/^md/{N;p}" /proc/mdstat | grep -v "^ *$" | sed "s/ (auto-read-only)//"
		losetup --list --noheadings --output NAME,BACK-FILE | sort
		ls -d /sys/block/rd* /sys/block/zram* 2>/dev/null || :
		mdadm --detail /dev/md/own | grep -E "UUID|State :|Raid Devices" |
			sed "s/State . active/State : clean/"; ls /dev/md; cat /run/ramraid/data.ram
		find /etc/ramraid /etc/mdadm | grep -v -e state/selftest$ -e "data\." | sort
		sha256sum </dev/$(cat /root/own); sha256sum </root/loopfile; (cd /srv/own; sha256sum *.bin)
		(cd /srv/data; sha256sum *.bin)
		ls -a /run/ramraid | grep -v -e "^data\." -e "^event$" -e "^\.\.*$" | sort
	}
	same() {
		beside >/root/now
		diff /root/beside /root/now || {
			echo "the self-test has left something, or taken it"; pgrep -a dd; return 1
		}
		test "$(slots data)" = UUU; test "$(slots own)" = UU
	}
	selftest() {
		local code=0
		ramraid selftest "$@" >/root/selftest.log 2>&1 || code=$?
		tail -n 3 /root/selftest.log; return $code
	}
	# copying: waits until a self-test is in the middle of its copy.
	copying() {
		for i in $(seq 600); do
			[ -s /run/ramraid/_selftest.copy/pid ] && return
			sleep 0.1
		done
		return 1
	}
	main_process() { pgrep -f "ramraid selftest" | head -n 1; }
	says() { grep -e "$1" /root/selftest.log || { cat /root/selftest.log; return 1; }; }
	events() { journalctl -b -o cat -u "ramraid@*" -u "ramraid-monitor@*" | grep -c . || :; }
	'

steps() {
	boot
	check 'a mirror of ours, and an array, a loop device and a ramdisk that are none of ours' \
		"$tools"'
		mkdir -p /srv/data /srv/own
		mdadm --create /dev/md/own --run --metadata=1.2 --level=1 --raid-devices=2 \
			--bitmap=internal $(leg C) $(leg D)
		# Its name after a boot; create makes the initramfs that has it.
		named /dev/md/own; mdadm --detail --brief /dev/md/own >>/etc/mdadm/mdadm.conf
		make_ext4 /dev/md/own; mount /dev/md/own /srv/own
		ramraid create --yes data $(leg A) $(leg B); make_ext4 /dev/md/data
		mount /dev/md/data /srv/data
		for i in $(seq 300); do
			[ "$(cat /sys/block/$(md own)/md/sync_action)" = idle ] && break; sleep 0.2
		done
		head -c 4M /dev/urandom >/srv/own/a.bin; head -c 4M /dev/urandom >/srv/data/a.bin
		sync
		head -c 8M /dev/urandom >/root/loopfile; losetup --find --show /root/loopfile
		own_ramdisk; beside | tee /root/beside; df -h /run; free -m'
	check 'it passes, and says so; the result is kept' "$tools"'
		before=$(events); time selftest --rounds=3
		says "The self-test has passed on Linux $release: 3 rounds"
		cat $record; grep -x "kernel=$release" $record; grep -x result=passed $record
		grep -x rounds=3 $record; grep "^modules=..........*" $record
		grep -c -- "--re-add /dev/r" /root/selftest.log
		test "$(grep -c -- "--add /dev/r" /root/selftest.log)" = 1
		grep -- "--re-add /dev/loop" /root/selftest.log
		grep -c blkdiscard /root/selftest.log || :
		test "$(events)" = "$before"; fails ls /etc/ramraid/state/_selftest*; same'
	check 'once is enough; another one waits; wrong words' "$tools"'
		selftest --once; says "has passed on Linux"
		grep -c round /root/selftest.log && false
		code=0; selftest --rounds=0 || code=$?; test $code = 2
		code=0; selftest data || code=$?; test $code = 2
		ramraid selftest --rounds=1 >/root/other.log 2>&1 & other=$!
		for i in $(seq 300); do
			[ -e /run/ramraid/.selftest -o -e /etc/ramraid/state/.selftest ] && break
			sleep 0.1
		done
		code=0; selftest || code=$?; test $code = 75; says "another self-test runs"
		code=0; selftest --clean || code=$?; test $code = 75
		ramraid adopt --find >/root/find; cat /root/find
		grep own <(ramraid adopt --find; ls -l /dev/md) ; fails grep loop /root/find
		wait $other; same'
	check 'where mdadm would send mail about its array, it is refused; nothing has been made' \
		"$tools"'
		printf "#!/bin/sh\ncat >>/root/mail\n" >/usr/sbin/sendmail
		chmod 755 /usr/sbin/sendmail
		echo "MAILADDR root" >/etc/mdadm/mdadm.conf.d/mail.conf
		code=0; selftest || code=$?; cat /root/selftest.log; test $code = 4
		says "mdmonitor.service would send mail to root"
		rm /usr/sbin/sendmail /etc/mdadm/mdadm.conf.d/mail.conf; fails ls /root/mail; same'

	planted 'the copy leaves a part out' copy-workers \
		's/^copy_workers_piece_() {$/&\n(($4 < 12582912)) || return 0/' \
		'sectors that differ between the legs\|is not what was written'
	# The leg joins through sysfs, as one that is in sync.
	planted 'md does not go by its bitmap' ../world/md 's/^md_readd() {$/&\n\
		[[ $2 == loop* ]] || { md_join_ "$@"; return; }/
		$a md_join_() {\n\
		local md=$SYS\/block\/$1\/md\n\
		echo frozen >$md\/sync_action; cat $SYS\/block\/$2\/dev >$md\/new_dev\n\
		echo none >$md\/dev-$2\/recovery_start; echo 0 >$md\/dev-$2\/slot\n\
		echo idle >$md\/sync_action\n}' \
		'sectors that differ between the legs\|is not what was written'
	planted 'the superblock has too new a count of events' ../world/superblock-clone \
		's/^\tsuperblock_sum leg_ .*/\tprintf -v "leg_[50]" %08x $((16#${leg_[50]} + 1000))\n&/' \
		'whose superblock is older than what the bitmap remembers'
	check 'a failed test is loud, and no list overrides it' "$tools"'
		code=0; ramraid check data >/root/out || code=$?; cat /root/out; test $code = 1
		grep "problem kernel-selftest-failed" /root/out
		umount /srv/data; ramraid detach data; ramraid attach data >/root/out 2>&1
		cat /root/out
		why="the self-test of the copy has failed on this kernel"
		grep "md rebuilds the RAM leg from one disk: $why" /root/out
		grep -- "--add /dev/r" /root/out
		echo REBUILD=copy >>/etc/ramraid/data.conf; ramraid detach data
		ramraid attach data >/root/out 2>&1; grep -- "--add /dev/r" /root/out
		sed -i /REBUILD/d /etc/ramraid/data.conf
		mount /dev/md/data /srv/data; beside >/root/beside'
	check 'a kernel that no list has: md rebuilds, check says what to type; and after a pass it is copied' "$tools"'
		rm $record
		sed -i "s/^readonly KERNELS_COPY=.*/readonly KERNELS_COPY=5.4/" $lib/world/kernels.sh
		ramraid check data >/root/out || :; cat /root/out
		grep "note kernel-untried" /root/out; grep "ramraid selftest$" /root/out
		ramraid detach data; ramraid attach data >/root/out 2>&1
		grep -- "--add /dev/r" /root/out
		grep "to test it here: ramraid selftest" /root/out
		selftest --rounds=1; ramraid detach data; ramraid attach data >/root/out 2>&1
		cat /root/out; grep -- "--re-add /dev/r" /root/out
		fails grep -- "--add /dev/r" /root/out
		ramraid check data >/root/out || :; fails grep kernel-untried /root/out
		sed -i "s/^modules=.*/modules=other/" $record; ramraid check data >/root/out || :
		grep "note kernel-untried" /root/out; beside >/root/beside'
	reboot
	check 'after a boot, what was not started is as it was; a start goes by the result, too' \
		"$tools"'
		findmnt /srv/own || mount /dev/md/own /srv/own; mount /dev/md/data /srv/data
		journalctl -b -o cat -u ramraid@data | grep -- "--add /dev/r"
		selftest --rounds=1; umount /srv/data; ramraid stop data
		modprobe -r raid1 2>/dev/null || :; ramraid start data
		journalctl -b -o cat -u ramraid@data | grep -- "--re-add /dev/r"
		mount /dev/md/data /srv/data
		losetup --find --show /root/loopfile
		own_ramdisk; beside | tee /root/beside'

	killed 'before there is an array' '[ -e $folder/A ]'
	killed 'when there is a loop device' \
		'losetup --list --noheadings --output BACK-FILE | grep -q selftest'
	killed 'while mdadm makes the array' 'pgrep -f "mdadm --create"'
	check 'mdadm is killed as well, at ten moments while it makes the array: nothing is left' "$tools"'
		for i in $(seq 10); do
			setsid ramraid selftest >/root/killed.log 2>&1 </dev/null &
			timeout 60 sh -c "until pgrep -f \"[m]dadm --create\" >/dev/null; do sleep 0.02; done"
			sleep "0.$((i * 3 + 10))"
			pkill -KILL -f "[r]amraid selftest" || :; pkill -KILL -f "[m]dadm --create" || :
			sleep 0.3; echo "$i: members: $(cd /run/ramraid/.selftest
				for loop in $(losetup --list --noheadings --output NAME,BACK-FILE |
					sed -n "s|^/dev/\(loop[0-9]*\) .*selftest.*|\1|p"); do
					ls /sys/block/$loop/holders; done)" $(grep selftest /run/mdadm/map || :)
			selftest --clean || { cat /root/selftest.log; cat /proc/mdstat; losetup -a; false; }
			same
		done'
	killed 'while it is filled' '[ -e $folder/model ]'
	killed 'when a ramdisk is due' '[ -e $folder/ramdisk ]'
	killed 'in the middle of the copy' '[ -s /run/ramraid/_selftest.copy/pid ]'
	killed 'when md adds the rest' 'grep -q -- "--re-add /dev/r" /root/killed.log'
	killed 'with all its programs' '[ -s /run/ramraid/_selftest.copy/pid ]' group
	check 'ended with Ctrl-C in the middle of the copy, it removes all by itself' "$tools"'
		setsid bash -c "trap - INT; exec ramraid selftest" >/root/killed.log 2>&1 & main=$!
		copying; kill -TERM $(main_process)
		code=0; wait $main || code=$?; test $code = 130; same'
	check 'the unit: off; once, at idle priority; killed or stopped, nothing of it is left' "$tools"'
		test "$(systemctl is-enabled ramraid-selftest.service)" = disabled
		mkdir -p /run/systemd/system/ramraid-selftest.service.d
		printf "%s\n" "[Service]" ExecStart= \
			"ExecStart=/usr/sbin/ramraid selftest --once --rounds=1" \
			>/run/systemd/system/ramraid-selftest.service.d/test.conf
		systemctl daemon-reload
		rm $record; systemctl start ramraid-selftest.service
		pid=$(systemctl show -p MainPID --value ramraid-selftest.service); chrt -p $pid
		chrt -p $pid | grep SCHED_IDLE; ionice -p $pid; ionice -p $pid | grep idle
		copying; systemctl kill --signal=KILL ramraid-selftest.service
		ended() {
			for i in $(seq 2000); do
				case $(systemctl show -p ActiveState --value ramraid-selftest.service) in
				inactive | failed) return ;;
				esac
				sleep 0.2
			done
			return 1
		}
		ended; test "$(systemctl is-failed ramraid-selftest.service)" = failed
		for i in $(seq 120); do
			[ "$(systemctl show -p ExecMainStatus --value ramraid-selftest-clean.service)" = 0 ] &&
				[ ! -d /etc/ramraid/state/.selftest ] &&
				[ ! -d /run/ramraid/.selftest ] && break
			sleep 1
		done
		journalctl -b -o cat -u "ramraid-selftest*.service" | tail -n 30; test ! -e $record
		journalctl -b -o cat -u ramraid-selftest-clean.service | grep "Finished"
		systemctl reset-failed ramraid-selftest.service; same
		systemctl start ramraid-selftest.service; copying
		systemctl stop ramraid-selftest.service
		test "$(systemctl is-failed ramraid-selftest.service)" = inactive
		test ! -e $record; same
		systemctl start ramraid-selftest.service
		ended
		systemctl status --no-pager ramraid-selftest.service || :
		grep -x result=passed $record; same
		systemctl start ramraid-selftest.service; sleep 3
		journalctl -b -o cat -u ramraid-selftest.service |
			grep "has passed on Linux $release already"; same'
	check 'where /run is too small, the files are in the state folder' "$tools"'
		mount -o remount,size=40M /run; selftest --rounds=1 & main=$!
		for i in $(seq 300); do
			[ -e /etc/ramraid/state/.selftest/model ] && break; sleep 0.1
		done
		test -e /etc/ramraid/state/.selftest/model
		test "$(stat -c %a /etc/ramraid/state/.selftest)" = 700
		wait $main; mount -o remount,size=400M /run; same
		mount -o remount,size=40M /run
		setsid ramraid selftest >/root/killed.log 2>&1 </dev/null &
		copying; sync'
	kill_power
	boot
	check 'after a power cut check names what is left, and it is removed' "$tools"'
		ramraid wait --timeout=3min data; test "$(slots data)" = UUU
		ls -d /etc/ramraid/state/.selftest /etc/mdadm/mdadm.conf.d/*selftest*
		ramraid check >/root/out || :; grep selftest-left /root/out
		ramraid claim; selftest --clean; fails ls -d /etc/ramraid/state/.selftest
		fails ls /etc/mdadm/mdadm.conf.d/*selftest*; ramraid check >/root/out || :
		fails grep selftest /root/out
		findmnt /srv/own || mount /dev/md/own /srv/own; test "$(slots own)" = UU
		(cd /srv/own; sha256sum a.bin); grep "$(cd /srv/own; sha256sum a.bin)" /root/beside'
	check 'removing the package takes all of it along' "$tools"'
		rm -f $record
		setsid ramraid selftest >/root/killed.log 2>&1 </dev/null &
		copying; kill -KILL $(main_process)
		DEBIAN_FRONTEND=noninteractive apt-get remove -y ramraid >/root/out 2>&1 ||
			{ cat /root/out; false; }
		fails ls /etc/mdadm/mdadm.conf.d/*selftest*
		fails ls -d /run/ramraid/.selftest /etc/ramraid/state/.selftest
		fails grep selftest <(losetup --list); ls /dev/md; fails ls /dev/md/ramraid-selftest
		test "$(slots own)" = UU'
}

# planted TEXT FILE SED MESSAGE: plants a mistake in the installed engine, below lib/act.
planted() {
	check "$1: it fails, says why, and leaves nothing" "$tools"'
		file=$lib/act/'"$2"'.sh; cp $file /root/sound; sed -i '"'$3'"' $file
		fails cmp /root/sound $file; bash -n $file
		code=0; selftest --rounds=1 || code=$?; cp /root/sound $file
		test $code = 1 || { cat /root/selftest.log; false; }
		says "THE SELF-TEST HAS FAILED on Linux $release"; says '"'$4'"'
		grep -x result=failed $record; grep "^why=" $record; same'
}

# killed TEXT CONDITION [group]: kills the self-test as soon as the condition holds, alone or with
# all that it has started. The next one finds what is left.
killed() {
	check "killed $1: the next one removes what is left" "$tools"'
		setsid ramraid selftest >/root/killed.log 2>&1 </dev/null & sleep 0.2
		for i in $(seq 3000); do
			main=$(main_process) || :; folder=/run/ramraid/.selftest
			[ -e $folder ] || folder=/etc/ramraid/state/.selftest
			'"$2"' && break
			sleep 0.02
		done
		if [ "'"${3-}"'" = group ]; then
			kill -KILL -- -$(ps -o pgid= $main | tr -d " ") \
				$(pgrep -g $(cat /run/ramraid/_selftest.copy/pid))
		else
			kill -KILL $main
		fi
		cat /root/killed.log | tail -n 3
		ls -d $folder /run/ramraid/_selftest* 2>/dev/null || :
		ramraid check >/root/out || :; grep selftest-left /root/out || :
		selftest --clean || { cat /root/selftest.log; cat /proc/mdstat; losetup -a; false; }
		same'
}
