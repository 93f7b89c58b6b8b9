# The root file system on the array: the initramfs starts it from its disks, the RAM leg joins while
# the system runs, a shutdown leaves it clean; after a power cut nothing waits for the RAM leg that
# is not there; a disk that is missing; and back to a plain RAID1.
checked_on trixie
long
from installed
memory 3G
cpus 2
disk A 1200M
disk B 1200M

# What was written and synced, with its sums; array: where sysfs has it.
readonly helpers='
array=/sys/block/$(md system)/md
write() {
	head -c 8M /dev/urandom >/home/$1; sync /home/$1; (cd /home && sha256sum $1 >>/home/sums)
	sync /home/sums
}
right() { cd /home && sha256sum --quiet -c sums; }
joined() {
	for i in $(seq 600); do [ "$(slots system | tr -d _)" = $1 ] && return; sleep 1; done
	cat /proc/mdstat; return 1
}
'

steps() {
	local uuid
	boot
	check 'a system on a RAID1 of two disks, as an installer makes it' '
		mdadm -q --create /dev/md/system --run --level=1 --raid-devices=2 \
			--bitmap=internal --assume-clean $(leg A) $(leg B)
		for i in $(seq 300); do [ -b /dev/md/system ] && break; sleep 0.2; done
		mkfs.ext4 -q -E lazy_itable_init=0 /dev/md/system; mkdir /mnt/system
		mount /dev/md/system /mnt/system
		echo \
			"ARRAY /dev/md/system metadata=1.2 UUID=$(mdadm --detail /dev/md/system |
				sed -n "s/.*UUID : //p")" \
			>>/etc/mdadm/mdadm.conf
		update-initramfs -u
		tar -C / --one-file-system --exclude=./usr/src --exclude=./var/lib/dkms \
			--exclude=./usr/lib/gcc --exclude=./var/cache --exclude=./usr/share/man \
			-cf - . |
			tar -C /mnt/system -xpf -
		sed -i "s/^LABEL=root/UUID=$(blkid -o value -s UUID /dev/md/system)/" \
			/mnt/system/etc/fstab
		cat /mnt/system/etc/fstab; df /mnt/system; umount /mnt/system'
	uuid=$(guest 'blkid -o value -s UUID /dev/md/system')
	power_off
	append "root=UUID=$uuid"
	boot
	check 'adopted, while it is /' "$helpers"'
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
		# Which has it started again. A unit that is not up yet when the machine goes down
		# does not let go of the RAM leg.
		for i in $(seq 300); do
			systemctl -q is-active ramraid@system && break; sleep 0.2
		done'
	reboot
	check 'rebooted: started from its disks at once, since they know of no RAM leg; which joins by itself' "$helpers"'
		dmesg | grep -E "md/raid1|EXT4-fs.*mounted|ramraid:|sd[ab]\] Attached"
		dmesg >/root/out; fails grep "ramraid: starting" /root/out
		journalctl -b -k -g "raid1:$(md system): active with 2 out of 3 mirrors"
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); test -b /dev/md/system
		joined UUU; systemctl is-active ramraid@system; ramraid status system; right
		write rebooted'
	guest "$helpers"'
		(
			i=0
			while :; do
				i=$((i + 1)); head -c 64k /dev/urandom >/home/w$((i % 20))
				sync /home/w$((i % 20))
			done
		) >/dev/null 2>&1 &
		write cut; sleep 3'
	kill_power
	boot
	check 'after a power cut: the initramfs sees that only the RAM leg is missing, and does not wait for it' "$helpers"'
		dmesg | grep -E "md/raid1|EXT4-fs.*mounted|ramraid:|sd[ab]\] Attached"
		dmesg | grep "ramraid: starting /dev/md/system from /dev/sd. /dev/sd."
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); joined UUU
		ramraid status system; right; test "$(compare system)" = 0'
	power_off
	VM_DISKS=(A)
	boot
	check 'a disk missing: mdadm itself starts it, after its own time; and it is said' \
		"$helpers"'
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); joined UU
		ramraid status system >/root/out || test $? = 1; cat /root/out
		grep "missing .*$(leg B)" /root/out
		right; write degraded'
	power_off
	VM_DISKS=(A B)
	boot
	check 'and back: it is put back, with what it has missed' "$helpers"'
		joined UUU; ramraid status system; right; test "$(compare system)" = 0'
	check 'released, while it is /' "$helpers"'
		ramraid release --yes system; test "$(slots system)" = UU; right
		test ! -e /etc/mdadm/mdadm.conf.d/ramraid-system.conf
		grep "^ARRAY /dev/md/system" /etc/mdadm/mdadm.conf'
	reboot
	check 'and a plain RAID1 after a boot' "$helpers"'
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); test "$(slots system)" = UU
		right'
}
