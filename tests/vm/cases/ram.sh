# The RAM leg: brd when there is no rapiddisk, none when memory is short; detach, attach, stop and
# start by hand.
needs rapiddisk
checked_on trixie
long
from mirror
disk A 96M
disk B 96M

steps() {
	boot
	check 'detach gives the memory back while the array stays in use' '
		# What is not zero takes memory.
		head -c 58M /dev/urandom >/srv/data/fill; sync
		free() { sed -n "s/^MemAvailable: *\([0-9]*\) kB/\1/p" /proc/meminfo; }
		# The kernel counts its pages now and then only.
		sleep 3; before=$(free)
		ramraid detach data
		for i in $(seq 20); do
			after=$(free); ((after - before > 30000)) && break; sleep 0.5
		done
		echo "$before kB, then $after kB"; test $((after - before)) -gt 30000
		test ! -e /sys/block/rd0; test "$(slots data)" = _UU; findmnt /srv/data
		ramraid status data | grep "^data: disks-only"; rm /srv/data/fill'
	check 'attach makes it whole again' '
		ramraid attach data; test "$(slots data)" = UUU; cd /srv/data
		sha256sum --quiet -c /root/sums; test "$(compare data)" = 0'
	check 'attach again changes nothing' 'ramraid attach data; test "$(slots data)" = UUU'
	check 'stop is refused while somebody unknown to systemd uses it, and nothing is changed' '
		mkdir -p /root/m; mount --bind /srv/data /root/m
		fails ramraid stop data
		mountpoint -q /root/m; test "$(slots data)" = UUU
		umount /root/m'
	check 'stop unmounts, stops, and gives the memory back' '
		ramraid stop data
		fails findmnt /srv/data; fails grep -q "^md" /proc/mdstat; test ! -e /sys/block/rd0
		mdadm --examine $(leg A) | grep "Array State : \.AA"
		ramraid status data | grep "^data: stopped"'
	check 'start makes it whole, and the mount can follow' '
		ramraid start data; test "$(slots data)" = UUU
		systemctl start srv-data.mount; cd /srv/data; sha256sum --quiet -c /root/sums'
	check 'the ramdisk is not taken from under the array, whoever asks' '
		lib=/usr/lib/ramraid; . $lib/core/load.sh; need world/ramdisk
		code=0; ramdisk_drop data || code=$?; test $code = 4; test -e /sys/block/rd0
		test "$(slots data)" = UUU'
	guest 'mv /lib/modules/$(uname -r)/updates/dkms/rapiddisk.ko* /root/; depmod'
	reboot
	check 'without rapiddisk for this kernel brd serves, and it is said' '
		test "$(slots data)" = UUU
		grep "^brd ram" /run/ramraid/data.ram
		journalctl -b -u ramraid@data | grep "no rapiddisk module for this kernel"
		cd /srv/data; sha256sum --quiet -c /root/sums; test "$(compare data)" = 0'
	check 'detach unloads brd' '
		ramraid detach data; test ! -e /sys/module/brd; ramraid attach data
		test "$(slots data)" = UUU'
	guest '
		mkdir -p /etc/ramraid/data.conf.d
		echo RAM=rapiddisk >/etc/ramraid/data.conf.d/test.conf'
	reboot
	check 'RAM=rapiddisk without the module: on its disks, mounted, and it is said' '
		test "$(slots data)" = _UU; findmnt /srv/data
		journalctl -b -u ramraid@data -p err | grep "rapiddisk is not available"
		systemctl is-active ramraid@data
		ramraid status data >/root/status || test $? = 1
		cat /root/status; grep "why:.*rapiddisk is not available" /root/status'
	guest '
		mv /root/rapiddisk.ko* /lib/modules/$(uname -r)/updates/dkms/; depmod
		echo RAM_RESERVE=90% >/etc/ramraid/data.conf.d/test.conf'
	reboot
	check 'too little memory: on its disks, mounted, and it is said' '
		test "$(slots data)" = _UU; findmnt /srv/data; test ! -e /sys/block/rd0
		journalctl -b -u ramraid@data -p err | grep "RAM_RESERVE keeps .* free, but only"
		ramraid status data >/root/status || test $? = 1
		grep "why:.*of memory are available" /root/status'
	guest 'echo RAM=none >/etc/ramraid/data.conf.d/test.conf'
	reboot
	check 'RAM=none: on its disks, and content with it' '
		test "$(slots data)" = _UU; findmnt /srv/data; ramraid status data
		test -z "$(journalctl -b -u ramraid@data -p warning -q)"'
}
