# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# adopt and a RAID10 in the far layout, as in an article. With a file system on it, it is refused;
# empty, it becomes the disk leg of a mirror. Beside a ramdisk made by hand it is a disk leg
# already, and that mirror is adopted, mounted, with a writer. Then a reboot, a release, a reboot.
checked_on trixie
long
from installed
disk R1 64M
disk R2 64M
memory 1536M
# shellcheck source=tests/vm/adopted.sh disable=SC2154
source "$here/adopted.sh"

steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'a RAID10 in the far layout, mounted' "$adopted"'
		modprobe -a raid1 raid10
		mdadm --create /dev/md3 --run --level=10 --layout=f2 --raid-devices=2 $(leg R1) \
			$(leg R2)
		resynced; mounted far md3'
	check 'a RAID10 that is in use: refused, with the way' "$adopted"'
		code=0; ramraid adopt --yes far /dev/md3 >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4; grep "found raid10; to move what it holds" /root/out
		findmnt /srv/far; sums; test -z "$(find /etc/ramraid -name "far*")"'
	check 'one that holds nothing: the disk leg of a mirror, by the command in the message' \
		"$adopted"'
		umount /srv/far; wipefs -aq /dev/md3; settle; sed -i /srv.far/d /etc/fstab
		rm /root/sums.far; systemctl daemon-reload
		command=$(grep -o "ramraid create far /dev/[^ ]*" /root/out); echo "$command --yes"
		$command --yes; ramraid status far; test "$(slots far)" = UU
		systemctl stop ramraid@far; ramraid destroy --yes far'
	check 'a ramdisk beside a RAID10, made by hand' "$adopted"'
		attached rd7; wipefs -aq /dev/md3
		mdadm --create /dev/md4 --run --level=1 --raid-devices=2 /dev/rd7 --write-mostly \
			/dev/md3
		resynced; mounted far md4; writer far 1
		ramraid adopt --yes far /dev/md4; unharmed far; ramraid status far
		test "$(members md4)" = UU; written far; writer far 2; cat /etc/ramraid/far.conf'
	reboot
	check 'after a reboot it is whole, and all is there' "$adopted"'
		cat /proc/mdstat; test "$(slots far)" = UU; sums; ramraid status; written far
		clean far'
	check 'release' "$adopted"'
		writer far 3; ramraid release --yes far; unharmed far; written far; cat /proc/mdstat
		test -z "$(ls /sys/block | grep ^rd)"'
	reboot
	check 'and after a reboot all is there' "$adopted"'sums; cat /proc/mdstat'
}
