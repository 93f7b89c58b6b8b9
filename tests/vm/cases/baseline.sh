# What users have without this package: the array made by the published recipe never comes back, and
# the boot ends in the emergency shell. This documents the reason for the project; if a release ever
# fixes that, this case tells us.
needs rapiddisk
checked_on trixie
long
from base
disk A 96M
disk B 96M
may_fail srv-data.mount
steps() {
	boot
	check 'the recipe works until the reboot' '
		modprobe rapiddisk
		echo rapiddisk attach 0 104857600 >/sys/kernel/rapiddisk/mgmt
		mdadm --create /dev/md/data --run --level=1 --raid-devices=3 --bitmap=internal \
			/dev/rd0 --write-mostly $(leg A) $(leg B)
		make_ext4 /dev/md/data
		mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 \
defaults,x-systemd.device-timeout=20s 0 2" >>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount'
	vm_down reboot
	boot
	check 'after the reboot the array is inactive, for ever' '
		grep "^md127 : inactive" /proc/mdstat
		test ! -e /dev/md/data'
	check 'and the boot has ended in the emergency shell' '
		for i in $(seq 60); do
			systemctl is-active --quiet emergency.target && break; sleep 1
		done
		systemctl is-active emergency.target
		fails findmnt /srv/data'
}
