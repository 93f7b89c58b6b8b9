# What waits, for how long, and what happens when the time is up. The disks are slow enough for the
# rebuild to be watched.
checked_on forky
from small
disk A 40M throttling.bps-total=1700000
disk B 40M throttling.bps-total=1700000
may_fail ramraid@data.service

set_conf() { # LINE…
	guest "mkdir -p /etc/ramraid/data.conf.d
		printf '%s\n' $* >/etc/ramraid/data.conf.d/test.conf"
}
readonly times='
	stamp() {
		journalctl -b -u ramraid@data -o json |
			jq -r "select(.MESSAGE | test(\"$1\")) | .__MONOTONIC_TIMESTAMP" | head -1
	}
	# When its turn has come; on disks as slow as these are, beside the copy, the check of the
	# file system and the mount then take most of the time that this takes.
	fsck=$(systemd-escape --path --template=systemd-fsck@.service \
		/dev/disk/by-uuid/$(blkid -o value -s UUID /dev/md/data))
	begun=$(systemctl show -p InactiveExitTimestampMonotonic --value "$fsck")
	whole=$(stamp "data: whole after")
	mounted=$(systemctl show -p ActiveEnterTimestampMonotonic --value srv-data.mount)
	echo "begun $begun, mounted $mounted, whole $whole"
	test "$begun" -gt 0
	'
readonly until_whole='ramraid wait --timeout=3min data; test "$(slots data)" = UUU
	cd /srv/data; sha256sum --quiet -c /root/sums'

steps() {
	boot
	# Copy even if the kernel is too new for the list of those on which ramraid copies.
	guest 'mkdir -p /etc/ramraid/ramraid.conf.d
		echo REBUILD=copy >/etc/ramraid/ramraid.conf.d/copy.conf'
	# util-linux 2.41 crashes on such a line.
	check 'a malformed line in fstab costs no mount its ordering' '
		(echo nonsense; cat /etc/fstab) >/root/fstab; cp /etc/fstab /root/fstab.good
		cp /root/fstab /etc/fstab
		systemctl daemon-reload
		systemctl show -p After --value srv-data.mount | grep -w ramraid@data.service
		cp /root/fstab.good /etc/fstab; systemctl daemon-reload
		systemctl show -p After --value srv-data.mount | grep -w ramraid@data.service'
	power_off
	boot_early
	check 'while it rebuilds, the unit says how far it is, and nothing that depends on it has started' '
		for i in $(seq 300); do
			text=$(systemctl show -p StatusText --value ramraid@data)
			[[ $text =~ being\ copied\ from\ the\ disk\ legs\ \([0-9]+\.[0-9]%\ done,\ [0-9]+\ MiB/s,\ .*s\ left\) ]] && break
			sleep 0.2
		done
		echo "$text"; systemctl list-jobs
		[[ $text =~ MiB/s ]]
		test "$(systemctl is-active ramraid@data)" = activating
		fails findmnt /srv/data
		ramraid status data | tee /root/status; grep "^data: rebuilding" /root/status
		grep "copy: \[" /root/status'
	check 'after the rebuild it is mounted, and the speed limits are those of the system again' '
		systemctl is-system-running --wait
		findmnt /srv/data
		grep -q "(system)" /sys/block/$(md data)/md/sync_speed_min
		grep -q "(system)" /sys/block/$(md data)/md/sync_speed_max'
	short || {
		set_conf WAIT=no
		reboot
		check 'WAIT=no: mounted on the disks, long before it is whole' "findmnt /srv/data; $until_whole; sleep 2; $times"'test "$begun" -lt $((whole - 5000000))'
	}
	set_conf WAIT_TIMEOUT=4s ON_TIMEOUT=degraded
	reboot
	check 'WAIT_TIMEOUT, degraded: mounted when the time is up, said, and whole later' \
		"findmnt /srv/data; $until_whole; sleep 2; $times"'
		test "$begun" -lt $((whole - 5000000))
		journalctl -b -u ramraid@data -p warning | grep -q "not in sync within 4 s"
		grep -q "(system)" /sys/block/$(md data)/md/sync_speed_max'
	set_conf WAIT_TIMEOUT=4s ON_TIMEOUT=fail
	guest 'sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab'
	reboot
	check 'WAIT_TIMEOUT, fail: what depends on it stays down, and the unit says why' '
		fails findmnt /srv/data
		systemctl is-failed ramraid@data
		systemctl show -p StatusText --value ramraid@data | grep "not in sync within 4 s"
		journalctl -b -u ramraid@data -p err | grep "ON_TIMEOUT=fail"
		rests # a look of hot-plug may still be at work
		test -z "$(systemctl list-jobs --no-legend | grep -v "\.device")"'
	check 'and its rebuild goes on, by md itself' '
		journalctl -b -u ramraid@data -o cat | grep -E -- "--add /dev/(rd|ram)"
		for i in $(seq 600); do [ "$(slots data)" = UUU ] && break; sleep 0.1; done
		test "$(slots data)" = UUU'
	! short || return 0
	set_conf WAIT_TIMEOUT=3min REBUILD=kernel
	check 'REBUILD=kernel: md rebuilds it, at full speed while nothing else uses it' '
		ramraid detach data; systemctl reset-failed ramraid@data
		systemctl --no-block restart ramraid@data
		for i in $(seq 300); do
			[ "$(cat /sys/block/$(md data)/md/sync_speed_min)" = "10000000 (local)" ] &&
				break
			sleep 0.1
		done
		test "$(cat /sys/block/$(md data)/md/sync_speed_min)" = "10000000 (local)"
		ramraid status data | grep "recover: \["'
	check 'the administrator can go on as the message says' "
		systemctl restart ramraid@data || systemctl restart ramraid@data || {
			sleep 30; systemctl restart ramraid@data; }
		systemctl start srv-data.mount; $until_whole"
}
