# The root file system on the array: the initramfs starts it from its disks, the RAM leg joins while
# the system runs, and a shutdown leaves it clean. After a power cut nothing waits for the RAM leg,
# which is gone. Also a missing disk, and the way back to a plain RAID1.
checked_on trixie
long
from installed
memory 3G
cpus 2
disk A 1200M
disk B 1200M
# shellcheck source=tests/vm/rooted.sh disable=SC2154
source "$here/rooted.sh"

steps() {
	rooted_system 'update-initramfs -u'
	boot
	check 'adopted, while it is /' "$rooted"'
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); write before
		ramraid adopt --yes system /dev/md/system; ramraid status system
		grep -x ROOT=yes /etc/ramraid/system.conf; joined UUU; right
		unmkinitramfs /boot/initrd.img-$(uname -r) /root/unpacked
		cat $(find /root/unpacked -name ramraid.roots) \
			$(find /root/unpacked -path "*etc/mdadm/mdadm.conf")
		test "$(grep -h ^ARRAY $(find /root/unpacked -path "*etc/mdadm/mdadm.conf"))" = \
			"$(grep -h ^ARRAY /etc/mdadm/mdadm.conf.d/ramraid-system.conf)"
		rm -r /root/unpacked
		write adopted; ramraid check system >/root/out || :; cat /root/out
		fails grep problem /root/out; fails ramraid stop system
		# So it has been started again. A unit that is not up yet when the machine goes down
		# does not release the RAM leg.
		for i in $(seq 300); do
			systemctl -q is-active ramraid@system && break; sleep 0.2
		done'
	rooted_reboot
	rooted_write_and_cut
	boot
	rooted_after_the_cut
	rooted_disk_missing
	rooted_release
}
