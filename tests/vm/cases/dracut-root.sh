# The root file system on the array, with an initramfs made by dracut: adopted while it is /, a
# clean reboot, a power cut, a missing disk; for any host (rd.auto=1), and for this one alone
# (rd.md.uuid= in the image); and back to a plain RAID1.
checked_on trixie
long
image dracut
from installed
memory 3G
cpus 2
append rd.auto=1 systemd.default_timeout_start_sec=600 systemd.default_device_timeout_sec=600
# dracut takes minutes of processor time in the guest.
BOOT_SECONDS=1200 EXEC_SECONDS=1800 STOP_SECONDS=1200
disk A 1200M
disk B 1200M
# shellcheck source=tests/vm/rooted.sh disable=SC2154
source "$here/rooted.sh"

steps() {
	rooted_system 'dracut --quiet --force'
	boot
	check 'adopted, while it is /' "$rooted"'
		# An initramfs without the claim gives the array any name; from the next boot on it
		# has the one of the claim.
		ls -l /dev/md; device=$(findmnt -n -o SOURCE /); write before
		ramraid adopt --yes system $device; ramraid status system
		[ -e /dev/md/system ] || ln -s ../$(basename $device) /dev/md/system
		grep -x ROOT=yes /etc/ramraid/system.conf; joined UUU; right
		mkdir /root/unpacked; cd /root/unpacked
		lsinitrd --unpack /boot/initrd.img-$(uname -r)
		find . -name "*ramraid*"; cat etc/ramraid.roots
		cmp usr/lib/ramraid/start /usr/lib/dracut/modules.d/90ramraid/start
		ls var/lib/dracut/hooks/initqueue/settled/50-start-root.sh ||
			ls lib/dracut/hooks/initqueue/settled/50-start-root.sh
		for folder in etc/mdadm.conf.d etc/mdadm/mdadm.conf.d; do
			cmp $folder/ramraid-system.conf /etc/mdadm/mdadm.conf.d/ramraid-system.conf
		done
		cd /; rm -r /root/unpacked
		write adopted; ramraid check system >/root/out || :; cat /root/out
		fails grep problem /root/out
		for i in $(seq 300); do
			systemctl -q is-active ramraid@system && break; sleep 0.2
		done'
	rooted_reboot
	rooted_write_and_cut
	boot
	rooted_after_the_cut
	check 'an initramfs for this host alone' "$rooted"'
		sed -i "s/^hostonly=no/hostonly=yes/" /etc/dracut.conf.d/bench.conf
		rm -f /etc/mdadm/mdadm.conf.d/ramraid-system.conf; ramraid claim
		uuid=$(sed -n "s/^ARRAY .*UUID=//p" /etc/mdadm/mdadm.conf.d/ramraid-system.conf)
		mkdir /root/unpacked; cd /root/unpacked
		lsinitrd --unpack /boot/initrd.img-$(uname -r) "etc/*"
		cat etc/cmdline.d/*; grep -r "rd.md.uuid=$uuid" etc/cmdline.d; cat etc/ramraid.roots
		cd /; rm -r /root/unpacked
		write alone'
	append "${VM_APPEND/rd.auto=1/}"
	rooted_write_and_cut
	boot
	rooted_after_the_cut
	rooted_disk_missing
	rooted_release
}
