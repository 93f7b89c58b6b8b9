# The package: an upgrade touches nothing that runs; removing leaves a plain md array, mounted all
# the time; then it is installed again, and purged.
checked_on trixie
from small
disk A 40M
disk B 40M

steps() {
	boot
	check 'an upgrade restarts nothing' '
		id=$(systemctl show -p InvocationID --value ramraid@data); test -n "$id"
		stat=$(stat -c %Z /run/ramraid/data.ram)
		dpkg -i /root/ramraid.deb
		test "$(systemctl show -p InvocationID --value ramraid@data)" = "$id"
		test "$(systemctl is-active ramraid@data)" = active
		test "$(stat -c %Z /run/ramraid/data.ram)" = "$stat"
		test "$(slots data)" = UUU; findmnt /srv/data'
	check 'removing takes the RAM leg and the claim away, and the file system stays mounted' '
		mkdir -p /var/lib/prometheus/node-exporter
		systemctl --quiet enable --now ramraid-metrics.timer ramraid-scrub@data.timer
		systemctl start ramraid-metrics.service
		test -s /var/lib/prometheus/node-exporter/ramraid.prom
		exec 3>/srv/data/open; echo before >&3
		# systemd calls it ramraid-db.mount
		mkdir -p /ramraid/db; mount -t tmpfs none /ramraid/db
		# The removal meets a run of the metrics, and a unit that has failed.
		mkdir /run/systemd/system/ramraid-metrics.timer.d /run/systemd/system/ramraid-metrics.service.d
		printf "[Timer]\nOnCalendar=*:*:*\nAccuracySec=1us\n" \
			>/run/systemd/system/ramraid-metrics.timer.d/often.conf
		printf "[Service]\nExecStartPre=/usr/bin/sleep 10\n" \
			>/run/systemd/system/ramraid-metrics.service.d/slow.conf
		systemctl daemon-reload; systemctl restart ramraid-metrics.timer
		systemd-run --quiet --unit=ramraid-notify-old false
		for i in $(seq 100); do
			! systemctl --quiet is-failed ramraid-notify-old || break; sleep 0.1
		done
		systemctl is-failed ramraid-notify-old
		DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 remove -y ramraid
		fails journalctl --quiet --unit=ramraid-metrics.service --grep="Failed"
		echo after >&3; exec 3>&-; sync
		findmnt /srv/data; test "$(cat /srv/data/open | wc -l)" = 2
		test "$(slots data)" = _UU; no_ramdisk
		test -z "$(ls /etc/mdadm/mdadm.conf.d)"
		findmnt /ramraid/db; umount /ramraid/db; rm -r /ramraid
		test -z "$(systemctl list-units --plain --no-legend --state=active "ramraid*")"
		test -z "$(find /run/systemd/generator* -name "*ramraid*")"
		test -e /etc/ramraid/data.conf; test ! -e /var/lib/prometheus/node-exporter/ramraid.prom
		# The timer of the metrics has ticked once more by then, if it still runs.
		sleep 3
		test -z "$(systemctl list-units --plain --no-legend --state=active,failed "ramraid*")"
		rm -r /run/systemd/system/ramraid-metrics.*.d'
	short || {
		reboot
		check 'the next boot starts it as a plain md array, without us' '
			test "$(slots data)" = _UU; cd /srv/data; sha256sum --quiet -c /root/sums
			test ! -e /usr/sbin/ramraid'
	}
	check 'installed again, the array is claimed, and enabled as it was' '
		dpkg -i /root/ramraid.deb
		grep "ARRAY <ignore> UUID=" /etc/mdadm/mdadm.conf.d/ramraid-data.conf
		systemctl is-enabled ramraid@data'
	reboot
	check 'and whole at the next boot' '
		test "$(slots data)" = UUU; cd /srv/data; sha256sum --quiet -c /root/sums
		ramraid status data'
	short || check 'stopped, with its unit enabled, it does not keep the package from being removed' '
		ramraid stop data; test ! -e /dev/md/data
		DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 remove -y ramraid 2>/root/out; cat /root/out
		test "$(dpkg-query -W -f "\${db:Status-Abbrev}" ramraid)" = "rc "
		test -z "$(ls /etc/mdadm/mdadm.conf.d)"
		systemctl list-units --all --plain --no-legend "ramraid@*"
		dpkg -i /root/ramraid.deb; ramraid start data; systemctl start srv-data.mount
		test "$(slots data)" = UUU; cd /srv/data; sha256sum --quiet -c /root/sums'
	short || check 'nor does it keep its RAM leg when its configuration has been deleted meanwhile' '
		mv /etc/ramraid/data.conf /root/
		DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 remove -y ramraid
		test "$(slots data)" = _UU; no_ramdisk
		test -z "$(ls /etc/mdadm/mdadm.conf.d)"; findmnt /srv/data
		mv /root/data.conf /etc/ramraid/; dpkg -i /root/ramraid.deb; ramraid attach data
		ramraid wait --timeout=5min data; test "$(slots data)" = UUU; cd /srv/data
		sha256sum --quiet -c /root/sums'
	check 'purging removes state and configuration' '
		DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 purge -y ramraid
		test ! -e /etc/ramraid
		test -z "$(find / -xdev -path /proc -prune -o -name "*ramraid*" -print |
			grep -v -e ^/root -e ^/var/log -e ^/var/lib/dpkg -e ^/var/cache -e ^/run \
				-e ^/tmp -e ^/sys)"'
	kill_power
	boot
	check 'and the array is a plain one after a power cut too' '
		test "$(slots data)" = _UU; cd /srv/data; sha256sum --quiet -c /root/sums'
	check 'what docs/uninstall.md says of leaving makes it a whole array of two' '
		mdadm --grow --force /dev/md/data --raid-devices=2
		echo -writemostly | tee /sys/block/$(md data)/md/dev-*/state
		test "$(slots data)" = UU
		fails grep -q write_mostly /sys/block/$(md data)/md/dev-*/state
		cd /srv/data; sha256sum --quiet -c /root/sums'
}
