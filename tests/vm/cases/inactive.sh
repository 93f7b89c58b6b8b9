# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# adopt on arrays with a ramdisk made by hand, as a reboot or a power cut leaves them: inactive,
# with the ramdisk gone. They are named by the array and by the disks; with a disk missing, nothing
# is changed; ramraid is killed and run again. Also an array that somebody has started without its
# ramdisk.
needs rapiddisk
checked_on trixie
long
from installed
disk A 64M
disk B 64M
disk C 64M
disk D 64M
memory 1536M
# shellcheck source=tests/vm/adopted.sh disable=SC2154
source "$here/adopted.sh"

# by_hand NAME MD RAMDISK DISK…: makes an array as the articles do, and mounts it. inactive N: that
# many arrays are inactive.
readonly helpers=$adopted'
OPTIONS=nofail,x-systemd.device-timeout=5s
by_hand() {
	local name=$1 md=$2 ram=$3; shift 3
	attached $ram
	mdadm --create /dev/$md --run --level=1 --raid-devices=$(($# + 1)) /dev/$ram \
		--write-mostly "$@"
	resynced
	mounted $name $md
}
inactive() { cat /proc/mdstat; test "$(grep -c "^md.* : inactive" /proc/mdstat)" = "$1"; }
of() { basename /sys/class/block/$(basename $(node $1))/holders/md*; }
none() { test -z "$(find /etc/ramraid -name "$1*")"; }
'
steps() {
	local name
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'arrays made by hand: a ramdisk and two disks, and twice a ramdisk and one' \
		"$helpers"'
		by_hand data md0 rd0 $(leg A) $(leg B); by_hand solo md1 rd1 $(leg C)
		by_hand run md2 rd2 $(leg D); cat /proc/mdstat'
	reboot
	check 'after a reboot all of them are inactive' "$helpers"'inactive 3'
	check 'with a disk left out, nothing is changed' "$helpers"'
		code=0; ramraid adopt --yes data $(leg A) >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4
		grep "found 1 disks for 3 slots" /root/out; none data'
	check 'nor with a disk that is missing' "$helpers"'
		gone B; cat /proc/mdstat
		code=0; ramraid adopt --yes data /dev/$(of A) >/root/out 2>&1 || code=$?
		cat /root/out; test $code = 4; none data
		grep "is no longer there" /root/out; back B
		$(grep -o "mdadm --stop /dev/md[0-9]*" /root/out)'
	check 'the dry run, by its disks' "$helpers"'
		ramraid adopt --dry-run data $(leg A) $(leg B) | tee /root/out
		grep "systemctl start --no-block ramraid@data.service" /root/out
		none data'
	check 'by its disks; killed while the initramfs is made, and typed again; beside a blank ramdisk made anew' "$helpers"'
		modprobe rapiddisk
		echo "rapiddisk attach 0 $((64 << 20))" >/sys/kernel/rapiddisk/mgmt
		ramraid adopt --yes data $(leg A) $(leg B) >/root/out 2>&1 </dev/null & pid=$!
		for i in $(seq 200); do
			grep -q "^+ update-initramfs" /root/out && break; sleep 0.1
		done
		kill -KILL $pid; pkill -f /usr/sbin/update-initramfs || :; cat /root/out
		flock --timeout 240 /run/ramraid/.locks/work.data true
		ramraid adopt --yes data $(leg A) $(leg B)
		ramraid status data; test "$(slots data)" = UUU
		cat /sys/block/$(md data)/md/bitmap/location
		fails grep none /sys/block/$(md data)/md/bitmap/location
		test -e /sys/block/rd0; grep " rd1 " /run/ramraid/data.ram'
	kill_power
	boot
	check 'after a power cut it is whole, and the others are inactive' "$helpers"'
		inactive 2; test "$(slots data)" = UUU; mount /srv/data || :; mountpoint /srv/data'
	check 'one by its inactive array' "$helpers"'
		ramraid adopt --yes solo /dev/$(of C); ramraid status solo
		test "$(slots solo)" = UU
		fails grep none /sys/block/$(md solo)/md/bitmap/location'
	check 'one that somebody has started without its ramdisk, and mounted, with a writer' \
		"$helpers"'
		mdadm --run /dev/$(of D); systemctl reset-failed srv-run.mount || :
		systemctl start srv-run.mount; test "$(members $(of D))" = _U; writer run 1
		ramraid adopt --yes run /dev/$(of D); unharmed run; ramraid status run
		test "$(members $(of D))" = UU
		fails grep none /sys/block/$(of D)/md/bitmap/location; written run'
	check 'all is there' "$helpers"'
		mount -a; sums; test "$(compare data)" = 0; test "$(compare solo)" = 0
		# A short time-out in fstab would end the mount before the array is whole.
		sed -i s/,x-systemd.device-timeout=5s// /etc/fstab'
	reboot
	check 'after a reboot all are whole, and all is there' "$helpers"'
		test "$(slots data)" = UUU; test "$(slots solo)" = UU; test "$(slots run)" = UU
		sums; ramraid status; clean data solo run'
	for name in data solo run; do
		check "release of $name" \
			"$helpers"'ramraid release --yes '"$name"'; sums; cat /proc/mdstat' ||
			return
	done
	check 'no ramdisk is left' 'test -z "$(ls /sys/block | grep ^rd)"'
	reboot
	check 'and after a reboot all is there' "$helpers"'sums; cat /proc/mdstat'
}
