# shellcheck shell=bash disable=SC2016 # single quotes hold what the guest expands
# A disk leg that does not answer: B is under a device mapper target that queues everything and
# completes nothing, as a multipath device without paths does. It hangs at a boot, while another
# array loses a leg, and at a shutdown with the only good copy in RAM.
checked_on trixie
long
from installed
disk A 64M
disk B 64M
disk C 64M
disk D 64M
may_fail ramraid@data.service srv-data.mount

readonly tools='
	far=/dev/mapper/far-leg
	new() {
		head -c 1M /dev/urandom >/srv/data/$1; sync -f /srv/data
		(cd /srv/data; sha256sum $1 >>/root/sums; sync /root/sums)
	}
	sums() { (cd /srv/data; sha256sum --quiet -c /root/sums); }
	seconds() {
		begin=$(cut -d. -f1 /proc/uptime); "$@"
		echo $(($(cut -d. -f1 /proc/uptime) - begin)) >/root/seconds
	}
	'

# systemd-shutdown of Debian 12 asks each device of the device mapper to flush, and waits without
# end for one that is suspended (delete_dm() in its src/shutdown/umount.c), with ramraid or without.
# What counts is that the copy is saved before that, and that a power cut then does no harm.
shutdown_ends() {
	local systemd text='a shutdown with the only good copy in RAM and a leg that does not answer' \
		i
	systemd=$(guest 'systemctl --version | sed -n "1s/systemd \([0-9]*\).*/\1/p"')
	if ((systemd > 252)); then
		power_off || return
		echo "ok - $text completes"
		return
	fi
	vm_try 'systemctl --no-block poweroff' >/dev/null 2>&1 || :
	for ((i = 0; i < 200; i++)); do
		! grep -q 'data: saved' "$VM/serial.log" || break
		sleep 1
	done
	grep -q 'data: saved' "$VM/serial.log" || {
		echo "not ok - $text has saved the copy within 200 s"
		return 1
	}
	sleep 3
	kill_power
	echo "ok - $text has saved the copy, before the power is cut"
}

steps() {
	boot
	guest '
		cat >/usr/local/sbin/far-leg <<"EOT"
#!/bin/sh -eu
disk=/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_B
dmsetup create far-leg --table "0 $(blockdev --getsz $disk) linear $disk 0"
udevadm settle
[ ! -e /etc/far-leg-hangs ] || dmsetup suspend --noflush --nolockfs far-leg
EOT
		chmod 755 /usr/local/sbin/far-leg
		disk=dev-disk-by\\x2did-scsi\\x2d0QEMU_QEMU_HARDDISK_B.device
		printf "%s\n" "[Unit]" "DefaultDependencies=no" "BindsTo=$disk" "After=$disk" \
			"Before=ramraid@data.service" "[Service]" "Type=oneshot" \
			"RemainAfterExit=yes" "ExecStart=/usr/local/sbin/far-leg" "[Install]" \
			"WantedBy=sysinit.target" >/etc/systemd/system/far-leg.service
		systemctl daemon-reload; systemctl --quiet enable far-leg.service
		systemctl start far-leg.service; settle'
	check 'two arrays, one with a leg that can hang' "$tools"'
		ramraid create --yes data $(leg A) $far; ramraid create --yes logs $(leg C) $(leg D)
		printf "%s\n" START_DEGRADED=always MEMBER_TIMEOUT=10s >>/etc/ramraid/data.conf
		ramraid remember
		mkdir /srv/data; make_ext4 /dev/md/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 nofail 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; mount /srv/data; new one
		test "$(slots data)$(slots logs)" = UUUUUU; touch /etc/far-leg-hangs'
	reboot
	check 'a boot with a leg that does not answer: it counts as missing and is named, and the mount comes' "$tools"'
		findmnt /srv/data; sums; slots data; test "$(slots data | tr -d _)" = UU
		journalctl -b -u ramraid@data -o cat | grep "far-leg.* does not answer"
		ramraid status data >/root/out || :; cat /root/out
		grep "far-leg.*does not answer" /root/out
		test "$(slots logs)" = UUU; new two'
	check 'no look at the hanging disk keeps another array waiting: what that one loses is recorded at once' "$tools"'
		mdadm /dev/md/logs --fail $(node D)
		seconds timeout 60 sh -c "while grep -q \"^legs=.* .*\" \
			/etc/ramraid/state/logs.witness; do sleep 0.2; done"
		cat /etc/ramraid/state/logs.witness /root/seconds
		test "$(cat /root/seconds)" -le 15'
	check 'nor who asks: status of all arrays, check' "$tools"'
		seconds sh -c "ramraid status; ramraid check; true" >/root/out 2>&1
		cat /root/out /root/seconds; test "$(cat /root/seconds)" -le 60'
	guest "$tools"'mdadm /dev/md/data --fail $(node A); sleep 1
mdadm /dev/md/data --remove $(node A)
for i in $(seq 100); do grep -qx "legs=" /etc/ramraid/state/data.witness && break; sleep 0.1; done
grep -x "legs=" /etc/ramraid/state/data.witness
		new three; sed -i s/MEMBER_TIMEOUT=.*/MEMBER_TIMEOUT=3s/ /etc/ramraid/data.conf
		gone A; rm /etc/far-leg-hangs'
	shutdown_ends || return
	boot
	check 'it has saved the copy, and the disks are refused' '
		cat /etc/ramraid/state/data.rescue; fails findmnt /srv/data
		systemctl show -p StatusText --value ramraid@data | grep "ramraid restore data"'
	check 'restore puts every byte back, on the leg that hung as well' "$tools"'
		ramraid restore --yes data; test "$(slots data)" = UUU
		systemctl start srv-data.mount; sums; test "$(compare data)" = 0'
	check 'a leg stops answering while the RAM leg is filled: all completes when it answers again, and the legs are equal' "$tools"'
		umount /srv/data; ramraid detach data; dmsetup suspend --noflush --nolockfs far-leg
		ramraid attach data >/root/out 2>&1 & pid=$!; sleep 15; dmsetup resume far-leg
		wait $pid || :; cat /root/out
		for i in $(seq 300); do [ "$(slots data)" = UUU ] && break; sleep 0.2; done
		attach data; test "$(slots data)" = UUU
		mount /srv/data; sums; test "$(compare data)" = 0'
}
