# What uses an array that is to be stopped, where no mount table shows it: stop finds it before it
# changes anything, and names it. Also a shutdown while a process that it can't end keeps the
# array's lock.
checked_on trixie
long
from mirror
disk A 96M
disk B 96M
may_fail ramraid@data.service

drop=$(ram_drop)
readonly drop tools='
	sums() { cd /srv/data; sha256sum --quiet -c /root/sums; cd /; }
	# refused NAME…: stop is refused, names these, and has changed nothing; the unit guards it
	# again
	refused() {
		cursor=$(journalctl -n 1 -o json | jq -r .__CURSOR)
		fails ramraid stop data 2>/root/out; cat /root/out
		journalctl -u ramraid@data -o cat --after-cursor="$cursor" >/root/log; cat /root/log
		for t; do grep -q -- "$t" /root/out || { echo "not said: $t"; return 1; }; done
		fails grep -q -e --fail -e --remove -e "'"$drop"'" /root/log
		test "$(slots data)" = UUU; test -e $(ram data); fails findmnt /srv/data
		for i in $(seq 100); do
			[ "$(systemctl is-active ramraid@data)" = active ] && break; sleep 0.2
		done
		systemctl is-active ramraid@data
		case $(cat /sys/block/$(md data)/md/array_state) in
		clean | active | active-idle) ;;
		*) cat /sys/block/$(md data)/md/array_state; return 1 ;;
		esac
	}
	'

steps() {
	boot
	check 'a mount in another mount namespace' "$tools"'
		ramraid wait --timeout=2min data; test "$(slots data)" = UUU
		unshare --mount --propagation private sleep 1000 </dev/null >/dev/null 2>&1 & pid=$!
		sleep 1
		refused "in use by: /srv/data in the mount namespace of sleep (PID $pid)"
		grep "/srv/data in the mount namespace of sleep (PID $pid)" /root/log
		kill $pid; systemctl start srv-data.mount; sums'
	check 'an open descriptor: the unit sees that there is a user, and the person who types stop sees who' "$tools"'
		exec 7</dev/md/data; sleep 1000 >/dev/null 2>&1 & pid=$!; exec 7<&-
		refused "in use by: .*sleep (PID $pid)"; grep "is in use by" /root/log; kill $pid
		systemctl start srv-data.mount; sums'
	check 'the same while the configuration is away: the unit guards the array all the same' \
		"$tools"'
		mv /etc/ramraid/data.conf /root
		exec 7</dev/md/data; sleep 1000 >/dev/null 2>&1 & pid=$!; exec 7<&-
		refused "in use by: .*sleep (PID $pid)"; kill $pid
		systemctl status ramraid@data | grep "Status: .*configuration is broken or missing"
		mv /root/data.conf /etc/ramraid; ramraid attach data; test "$(slots data)" = UUU
		systemctl start srv-data.mount; sums'
	check 'a loop device, which the kernel itself holds' "$tools"'
		modprobe loop; loop=$(losetup --find --show --read-only /dev/md/data)
		refused "in use by: .*the loop device ${loop#/dev/}"; losetup -d $loop
		systemctl start srv-data.mount; sums'
	check 'no user: stop asks md, then stops; the process that MAINPID names is left alone' \
		"$tools"'
		sleep 1000 >/dev/null 2>&1 & pid=$!
		cursor=$(journalctl -n 1 -o json | jq -r .__CURSOR)
		MAINPID=$pid ramraid stop data; kill $pid
		journalctl -u ramraid@data -o cat --after-cursor="$cursor" >/root/log
		cat /root/log
		grep "+ echo read-auto" /root/log; fails grep "^md" /proc/mdstat
		no_ramdisk
		mdadm --examine $(leg A) | grep "Array State : \.AA"
		ramraid start data; test "$(slots data)" = UUU; systemctl start srv-data.mount
		sums'
	check 'while md rebuilds the RAM leg: the same' "$tools"'
		systemctl stop srv-data.mount; ramraid detach data
		mkdir -p /etc/ramraid/data.conf.d
		echo REBUILD=kernel >/etc/ramraid/data.conf.d/test.conf
		echo 1000 >/proc/sys/dev/raid/speed_limit_min
		echo 1500 >/proc/sys/dev/raid/speed_limit_max
		ramraid attach data >/root/attach 2>&1 & pid=$!
		for i in $(seq 200); do
			[ "$(cat /sys/block/$(md data)/md/sync_action)" = recover ] && break
			sleep 0.2
		done
		kill -KILL $pid; wait || :
		test "$(cat /sys/block/$(md data)/md/sync_action)" = recover
		ramraid stop data; fails grep "^md" /proc/mdstat; no_ramdisk
		echo 200000 >/proc/sys/dev/raid/speed_limit_max; ramraid start data
		test "$(slots data)" = UUU; systemctl start srv-data.mount; sums
		test "$(compare data)" = 0'
	check 'the lock is kept by something that no shutdown ends' '
		systemd-run --quiet --unit=keeper --property=DefaultDependencies=no flock \
			/run/ramraid/.locks/work.data sleep infinity
		sleep 1; fails flock --nonblock /run/ramraid/.locks/work.data true'
	reboot
	check 'the shutdown has waited, said so, and then let the RAM leg go' "$tools"'
		journalctl -b -1 -u ramraid@data -o cat >/root/log; tail -n 30 /root/log
		grep "going down, and a program that another ramraid has left behind is still at \
work on it" /root/log
		grep "does not release the array: going on anyway" /root/log
		grep "+ mdadm --manage /dev/$(md data) --fail" /root/log
		grep "+ mdadm --stop" /root/log
		ramraid wait --timeout=2min data; test "$(slots data)" = UUU; sums
		test "$(compare data)" = 0'
	check 'on the console too' "
		grep -q 'going on anyway' <<'EOT'
$(tr -d '\r' <"$VM/serial.log" | grep 'data: going down' || echo 'nothing on the console')
EOT"
}
