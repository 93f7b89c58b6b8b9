# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# adopt on arrays that were made by the articles' own commands: a ramdisk of rapiddisk beside
# write-mostly disks, mounted, with a writer. ramraid is killed between its steps and run again;
# then a reboot, a release, a reboot. For such arrays as a reboot leaves them: case "inactive".
needs rapiddisk
checked_on trixie
long
from installed
disk A 64M
disk B 64M
disk C 64M
memory 1536M
# shellcheck source=tests/vm/killed.sh disable=SC2154
source "$here/killed.sh"

# shellcheck source=tests/vm/adopted.sh disable=SC2154
source "$here/adopted.sh"

# by_hand MD RAMDISK DISK…: makes an array as the articles do.
readonly helpers=$adopted'
by_hand() {
	local md=$1 ram=$2; shift 2
	attached $ram
	mdadm --create /dev/$md --run --level=1 --raid-devices=$(($# + 1)) /dev/$ram \
		--write-mostly "$@"
	resynced
	cat /sys/block/$md/md/bitmap/location
}
'
steps() {
	local at
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'the arrays of the articles: a ramdisk and two disks, a ramdisk and one, mounted, without a bitmap' "$killer$helpers"'
		by_hand md0 rd0 $(leg A) $(leg B); by_hand md1 rd1 $(leg C)
		mounted data md0; mounted solo md1
		test "$(members md0)" = UUU; test "$(members md1)" = UU; cat /proc/mdstat'
	check 'the dry run says each command, and changes nothing' "$helpers"'
		writer data 1
		ramraid adopt --dry-run data /dev/md0 | tee /root/out
		grep -x "mdadm --manage /dev/md0 --fail /dev/rd0" /root/out
		grep "detach.*0 > /sys/kernel/rapiddisk/mgmt" /root/out
		test -z "$(find /etc/ramraid -name "data*")"; test "$(members md0)" = UUU
		unharmed data'
	check 'found by --find; a name in fstab that does not last is refused, and shown as it would be; rapiddiskd is told' "$helpers"'
		ramraid adopt --find >/root/out 2>&1 || { cat /root/out; false; }
		cat /root/out; for md in md0 md1; do grep "ramraid adopt .*/dev/$md" /root/out; done
		sed -i "s,^UUID=[^ ]* /srv/solo ,/dev/md1 /srv/solo ," /etc/fstab
		grep "^/dev/md1 /srv/solo" /etc/fstab; cp /etc/fstab /root/fstab
		code=0; ramraid adopt --yes solo /dev/md1 >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4; grep "fstab.*/dev/md1.*--fix-fstab" /root/out
		test ! -e /etc/ramraid/solo.conf
		ramraid adopt --dry-run --fix-fstab solo /dev/md1 >/root/out 2>&1; cat /root/out
		grep "UUID=$(blkid -o value -s UUID /dev/md1) /srv/solo" /root/out
		cmp /etc/fstab /root/fstab
		systemctl unmask rapiddiskd.service; systemctl enable rapiddiskd.service
		ramraid adopt --dry-run --fix-fstab solo /dev/md1 >/root/out 2>&1; cat /root/out
		grep "systemctl disable --now rapiddiskd.service" /root/out
		systemctl disable rapiddiskd.service; systemctl mask rapiddiskd.service'
	check 'with a disk out of it: refused, and it stays as it is; brought back as the message says' "$helpers"'
		mdadm /dev/md0 --fail $(node B)
		for i in $(seq 50); do mdadm /dev/md0 --remove $(node B) && break; sleep 0.2; done
		code=0; ramraid adopt --yes data /dev/md0 >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4
		grep "found 1 in 3 slots. Bring the missing one back" /root/out
		test -z "$(find /etc/ramraid -name "data*")"
		test "$(members md0)" = UU_; unharmed data; mdadm /dev/md0 --add $(node B)
		mdadm --wait /dev/md0 || :
		for i in $(seq 300); do test "$(members md0)" = UUU && break; sleep 0.2; done
		test "$(members md0)" = UUU
		echo writemostly >/sys/block/md0/md/dev-$(basename $(node B))/state'
	for at in 'write /etc/ramraid/data.conf' 'mdadm --grow /dev/md0 --bitmap=internal' \
		'mdadm --manage /dev/md0 --fail'; do
		check "killed before \"$at\"" "$helpers"'killed data "'"$at"'" adopt --yes data /dev/md0; test "$(members md0)" = UUU' || return
	done
	for at in 'mdadm --manage /dev/md0 --remove' 'echo rapiddisk detach 0'; do
		check "killed before \"$at\"" "$helpers"'killed data "'"$at"'" adopt --yes data /dev/md0; test "$(members md0)" = _UU
			cat /etc/ramraid/state/data.adopted; cat /sys/kernel/rapiddisk/devices
			test -e /sys/block/rd0' || return
	done
	check 'and completed: whole, mounted all the time; one ramdisk, which is its own' \
		"$helpers"'
		ramraid adopt --yes data /dev/md0; unharmed data
		test "$(members md0)" = UUU; ramraid status data
		cat /sys/kernel/rapiddisk/devices
		test "$(cat /run/ramraid/data.ram | cut -d" " -f1,2)" = "rapiddisk rd0"
		test ! -e /sys/block/rd2
		test "$(cat /sys/block/md0/md/dev-sd*/state | grep -c write_mostly)" = 2
		written data; writer data 2'
	check 'the one beside one disk, too' "$helpers"'
		ramraid adopt --yes --fix-fstab solo /dev/md1; unharmed data
		grep "^UUID=$(blkid -o value -s UUID /dev/md1) /srv/solo" /etc/fstab
		cmp /etc/fstab.ramraid-old /root/fstab
		test "$(members md1)" = UU; ramraid status; clean data solo'
	reboot
	check 'after a reboot both are whole, and all is there' "$helpers"'
		test "$(slots data)" = UUU; test "$(slots solo)" = UU; findmnt /srv/data
		findmnt /srv/solo; sums; ramraid status; clean data solo
		written data'
	check 'release: plain arrays of their disks' "$helpers"'
		writer data 3
		ramraid release --yes data; unharmed data'
	check 'and the other one' "$helpers"'
		ramraid release --yes solo; unharmed data
		cat /proc/mdstat; test "$(slots data)" = UU; test "$(slots solo)" = U
		test "$(ls /sys/block | grep -c ^rd)" = 0; written data'
	reboot
	check 'and after a reboot as well' "$helpers"'
		findmnt /srv/data; findmnt /srv/solo; sums; cat /proc/mdstat'
}
