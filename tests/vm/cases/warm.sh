# Persistent memory as the RAM leg over a warm reboot, compared with a ramdisk: seconds from the
# unit's start to "whole", as systemd noted them, and what was read from the disk. The two figures
# in docs/persistent-leg.md are printed here.
checked_on trixie
long
from installed
warm
memory 2G
append 'memmap=512M!1024M'
readonly disk_rate=20000000
disk A 500M throttling.bps-read=$disk_rate

# Prints one line: what the start at the last boot took. LEG is what the line calls it.
took() { # LEG
	show '
		unit=ramraid@data.service
		at() { systemctl show -p $1 --value $unit; }
		ms=$((($(at ActiveEnterTimestampMonotonic) - $(at InactiveExitTimestampMonotonic)) / 1000))
		set -- $(cat /sys/block/$(basename $(node A))/stat)
		echo "'"$1"': whole after $((ms / 1000)).$((ms % 1000 / 100)) s, \
$(($3 * 512 / 1000000)) MB read from the disk since boot, \
$(sed "s/ .*//" /proc/uptime) s of uptime"
		echo $3 >/root/read.'"$1"
}

readonly whole='ramraid wait --timeout=5min data; test "$(slots data)" = UU
	test "$(sha256sum </dev/md/data)" = "$(cat /root/sum)"'

steps() {
	boot
	check 'an array full of data, on one disk of 20 MB/s and persistent memory' '
		for i in $(seq 100); do [ -b /dev/pmem0 ] && break; sleep 0.1; done
		ramraid create --yes --ram=/dev/pmem0 data $(leg A)
		echo MEMBER_TIMEOUT=3min >>/etc/ramraid/data.conf
		dd if=/dev/urandom of=/dev/md/data bs=1M oflag=direct status=none || :
		sync; sha256sum </dev/md/data >/root/sum'
	reboot
	guest 'ramraid wait --timeout=5min data' >/dev/null
	took pmem
	check 'a warm reboot: put back by bitmap' \
		"$whole"'; journalctl -b -u ramraid@data -o cat | grep "has kept its contents"'
	check 'a ramdisk in its place' '
		ramraid detach data; sed -i "/^RAM=/d" /etc/ramraid/data.conf; ramraid attach data
		test "$(slots data)" = UU'
	reboot
	guest 'ramraid wait --timeout=5min data' >/dev/null
	took ramdisk
	check 'the same reboot: rebuilt as a whole' "$whole"'; journalctl -b -u ramraid@data -o cat | grep "were copied from the disk leg"'
	# How long it took is printed, not judged: on a busy machine most of it is the wait for
	# udev.
	check 'with persistent memory not a twentieth is read from the disk' '
		test $(($(cat /root/read.pmem) * 20)) -le $(cat /root/read.ramdisk)'
}
