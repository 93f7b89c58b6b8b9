# Who is notified of what: the program of NOTIFY, without hot-plug; mail without one; what scrub
# finds. Nobody is notified of a boot in which all is well.
checked_on trixie
long
from mirror
disk A 96M
disk B 96M
may_fail ramraid-scrub@data.service

readonly words='
	told() {
		for i in $(seq 150); do grep -E -- "$1" /root/events && return; sleep 0.2; done
		echo "not told: $1"; cat /root/events
		journalctl -b -q -o cat -u "ramraid*" | tail -n 60; return 1
	}
	count() { grep -cE -- "$1" /root/events || :; }
	ours() { grep -lsE "^X-Ramraid-Event: $1" /root/mails/* || :; }
	# Whoever looks at the array has ended, and so have those who were started for it.
	quiet() {
		for i in $(seq 200); do
			[ -z "$(systemctl list-units --plain --no-legend \
				--state=active,activating,deactivating "ramraid-monitor@*.service" \
				"ramraid-notify-*" "ramraid-hotplug.service")" ] &&
				return
			sleep 0.2
		done
		systemctl list-units "ramraid*"; return 1
	}
	array=/sys/block/$(md data)/md
	slow() { echo 1000 >$array/sync_speed_max; echo 1000 >$array/sync_speed_min; }
	fast() { echo system >$array/sync_speed_max; echo system >$array/sync_speed_min; }
	idle() {
		for i in $(seq 50); do
			[ "$(cat $array/sync_action)" = idle ] && return; sleep 0.2
		done
		cat $array/sync_action; return 1
	}
	'

steps() {
	boot
	check 'a program is named, and a sendmail is there' '
		printf "%s\n" "#!/bin/sh" "[ ! -e /root/hang ] || sleep 300" "echo \
\"\$RAMRAID_SEVERITY \$* | \$RAMRAID_NAME | \$RAMRAID_MESSAGE\" >>/root/events" \
			>/usr/local/sbin/event
		printf "%s\n" "#!/bin/sh" "cat >\$(mktemp /root/mails/XXXXXX)" >/usr/sbin/sendmail
		chmod 755 /usr/local/sbin/event /usr/sbin/sendmail
		mkdir -p /root/mails /etc/ramraid/data.conf.d
		echo HOTPLUG=no >/etc/ramraid/data.conf.d/hotplug.conf
		echo NOTIFY=/usr/local/sbin/event >/etc/ramraid/data.conf.d/notify.conf
		: >/root/events; grep "^MAILADDR root" /etc/mdadm/mdadm.conf'
	check 'detach and attach are reported as done on purpose' "$words"'
		ramraid wait data; ramraid detach data
		told "^notice ram-detached /dev/md/data . data . data: the RAM leg has been taken \
out; to put it back: ramraid attach data$"
		ramraid attach data; told "^notice ram-in-sync /dev/md/data /dev/rd[0-9]* . data . "
		quiet; fails grep -v "^notice " /root/events; : >/root/events
		ramraid events data | tee /root/out
		grep "notice   the RAM leg has been taken out" /root/out
		grep "info .*Started ramraid@data.service" /root/out
		grep "notice   the RAM leg is in sync" /root/out'
	guest 'rm -f /root/mails/*; sync; systemctl is-active mdmonitor'
	reboot
	check 'a shutdown and a boot: nothing but information, and no mail, neither of ours nor of the watcher of mdadm, which runs' "$words"'
		ramraid wait data; quiet
		for i in $(seq 100); do systemctl -q is-active mdmonitor && break; sleep 0.2; done
		sleep 3
		cat /root/events; fails grep -v "^notice " /root/events; : >/root/events
		grep -hs "^Subject: " /root/mails/* || :; test -z "$(ls /root/mails)"
		systemctl is-active mdmonitor; ramraid check >/root/out || :
		fails grep boot-mail /root/out'
	guest 'printf "%s\n" WAIT=no COPY_RATE=4M >/etc/ramraid/data.conf.d/wait.conf; sync'
	reboot
	check 'that watcher sends mail about a boot that does not wait for the RAM leg, as check has said' "$words"'
		ramraid wait data; ramraid check >/root/out || :; grep "note boot-mail" /root/out
		for i in $(seq 100); do
			grep -ls "^Subject: DegradedArray" /root/mails/* && break; sleep 0.2
		done
		grep "^Subject: DegradedArray" /root/mails/*; rm /etc/ramraid/data.conf.d/wait.conf
		rm -f /root/mails/*; quiet; : >/root/events'
	check 'a disk is pulled out, and hot-plug is off: one warning, with what to do' "$words"'
		gone B; head -c 100000 /dev/urandom >/srv/data/meanwhile; sync
		told "^warning disk-lost /dev/md/data $(leg B) . data . data: disk leg $(leg B) is \
gone: .*ramraid attach data; if it is broken: ramraid replace data $(leg B) NEW$"
		ramraid events --since=-1h --json data |
			jq -e --arg b "$(leg B)" "[.events[] | select(.severity == \"warning\" and
				(.text | startswith(\"disk leg \" + \$b + \" is gone\")))] |
				length == 1"
		quiet; sleep 2; cat /root/events; test "$(count disk-lost)" = 1
		test "$(count "disk-failed")" -le 1
		fails grep -vE "^warning disk-(lost|failed) " /root/events
		journalctl -b -q -o cat -p warning -u "ramraid-monitor@*" |
			grep -c "$(leg B) is gone" | grep -x 1
		test -z "$(systemctl list-units --all --plain --no-legend "ramraid-notify-*")"
		test -z "$(systemctl --failed --plain --no-legend "ramraid*")"'
	check 'it is back, and put back: told' "$words"'
		: >/root/events; back B; ramraid attach data; test "$(slots data)" = UUU
		told "^notice disk-in-sync /dev/md/data $(leg B) "; quiet
		fails grep -vE "^(notice disk-|warning disk-returned )" /root/events'
	check 'the RAM leg fails: one warning; made anew: told' "$words"'
		: >/root/events
		mdadm -q /dev/md/data --fail /dev/$(cut -d" " -f2 /run/ramraid/data.ram)
		told "^warning ram-lost /dev/md/data . data . .*ramraid attach data$"; quiet
		test "$(count .)" = 1
		ramraid attach data; test "$(slots data)" = UUU; told "^notice ram-in-sync "; quiet
		test "$(count ram-lost)" = 1'
	check 'a program that hangs holds up nobody, and one that can not be run is reported' "$words"'
		: >/root/events; touch /root/hang; begin=$(date +%s); ramraid detach data
		test $(($(date +%s) - begin)) -lt 60
		systemctl list-units --plain --no-legend "ramraid-notify-data-*" |
			grep "running.*ram-detached"
		systemctl stop "ramraid-notify-*"; rm /root/hang
		chmod 644 /usr/local/sbin/event; ramraid attach data 2>/root/out; quiet
		# Said by whoever was first.
		journalctl -b -q -o cat -u "ramraid-monitor@*" >>/root/out
		grep "nobody was notified of ram-in-sync: NOTIFY=/usr/local/sbin/event does not \
exist, or is not executable" /root/out
		ramraid check data | grep "note notify:"; chmod 755 /usr/local/sbin/event; quiet
		test ! -s /root/events; test "$(slots data)" = UUU'
	check 'scrub: equal legs are equal, and nobody is told' "$words"'
		umount /srv/data; ramraid scrub data 2>/root/out; cat /root/out
		grep "they are equal" /root/out; quiet; test ! -s /root/events
		test "$(cat $array/sync_max)" = max'
	check 'scrub: a difference is found, told, and told no more when it is gone' "$words"'
		offset=$(mdadm --examine $(node A) | sed -n "s/.*Data Offset : \([0-9]*\) .*/\1/p")
		at=$(((offset + 130000) / 8))
		dd if=/dev/urandom of=$(node B) bs=4k count=1 seek=$at oflag=direct status=none
		code=0; ramraid scrub data || code=$?; test $code = 1
		told "^warning mismatch /dev/md/data . data . data: [0-9]* sectors differ between \
the legs"
		fails systemctl start ramraid-scrub@data.service; quiet
		test "$(count "^warning mismatch")" = 2
		systemctl reset-failed ramraid-scrub@data.service
		offset_b=$(mdadm --examine $(node B) |
			sed -n "s/.*Data Offset : \([0-9]*\) .*/\1/p")
		test $offset = $offset_b
		dd if=$(node A) of=$(node B) bs=4k count=1 skip=$at seek=$at iflag=direct \
			oflag=direct status=none
		systemctl start ramraid-scrub@data.service; quiet; test "$(count .)" = 2'
	check 'scrub leaves a check of others alone, leaves md idle when it is ended, and gives way' "$words"'
		slow; echo check >$array/sync_action; code=0
		ramraid scrub data 2>/root/out || code=$?; cat /root/out; test $code = 75
		grep "md is at work on it (check)" /root/out
		test "$(cat $array/sync_action)" = check; echo idle >$array/sync_action; idle
		systemctl start --no-block ramraid-scrub@data.service
		for i in $(seq 100); do
			[ "$(cat $array/sync_action)" = check ] && break; sleep 0.2
		done
		test "$(cat $array/sync_action)" = check; systemctl stop ramraid-scrub@data.service
		idle; fails systemctl is-failed ramraid-scrub@data.service
		(code=0; ramraid scrub data 2>/root/out || code=$?; echo $code >/root/code) &
		for i in $(seq 100); do
			[ "$(cat $array/sync_action)" = check ] && break; sleep 0.2
		done
		ramraid detach data; wait; cat /root/out /root/code; grep -x 75 /root/code; idle
		fast; ramraid attach data; test "$(slots data)" = UUU'
	check 'its timer is off, and comes once a month when it is on' '
		test "$(systemctl is-enabled ramraid-scrub@data.timer || :)" = disabled
		systemctl enable --now ramraid-scrub@data.timer
		systemctl list-timers --no-pager --no-legend | grep ramraid-scrub@data
		fails systemctl is-active ramraid-scrub@data.service
		systemctl disable --now ramraid-scrub@data.timer'
	check 'without a program: a mail for a warning, none for information' "$words"'
		rm /etc/ramraid/data.conf.d/notify.conf /root/mails/* 2>/dev/null || :
		mdadm -q /dev/md/data --fail $(node B)
		for i in $(seq 150); do
			[ -n "$(ours "disk-failed /dev/md/data $(leg B)")" ] && break; sleep 0.2
		done
		cat $(ours "disk-failed /dev/md/data $(leg B)") >/root/out; cat /root/out
		grep -x "To: root" /root/out
		grep "^Subject: WARNING on vm: data: disk leg $(leg B): md has given it up" \
			/root/out
		grep "^data: degraded" /root/out; grep "^md[0-9]* : active raid1" /root/out
		ramraid attach data; test "$(slots data)" = UUU; quiet; sleep 2
		test "$(ours . | wc -l)" = 1; test "$(compare data)" = 0'
}
