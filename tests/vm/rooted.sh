# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the guest expands; "here" is case.sh's
# For cases that have the root file system on an array, of the disks A and B.

# In the guest:
#   write NAME     some megabytes in /home, synced, with their sum in /home/sums
#   right          all of them are as they were written
#   joined SLOTS   waits until that many legs are in sync
#   array          where sysfs has it
readonly rooted='
array=/sys/block/$(md system)/md
write() {
	[ ! -e /home/sums ] || sed -i "/  $1\$/d" /home/sums
	head -c 8M /dev/urandom >/home/$1; sync /home/$1; (cd /home && sha256sum $1 >>/home/sums)
	sync /home/sums
}
right() { cd /home && sha256sum --quiet -c sums; }
joined() {
	for i in $(seq 600); do [ "$(slots system | tr -d _)" = $1 ] && return; sleep 1; done
	cat /proc/mdstat; return 1
}
'

# rooted_system INITRAMFS-COMMAND: copies the system to a RAID1 of two disks, as an installer would
# make it, and has the machine boot from there.
rooted_system() {
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
		'"$1"'
		tar -C / --one-file-system --exclude=./usr/src --exclude=./var/lib/dkms \
			--exclude=./usr/lib/gcc --exclude=./var/cache --exclude=./usr/share/man \
			-cf - . |
			tar -C /mnt/system -xpf -
		sed -i "s/^LABEL=root/UUID=$(blkid -o value -s UUID /dev/md/system)/" \
			/mnt/system/etc/fstab
		cat /mnt/system/etc/fstab; df /mnt/system; umount /mnt/system'
	uuid=$(guest 'blkid -o value -s UUID /dev/md/system')
	power_off
	append "$VM_APPEND root=UUID=$uuid"
}

rooted_reboot() {
	reboot
	check 'rebooted: started from its disks at once, since they know of no RAM leg; which joins by itself' "$rooted"'
		dmesg | grep -E "md/raid1|EXT4-fs.*mounted|ramraid:|sd[ab]\] Attached"
		dmesg >/root/out; fails grep "ramraid: starting" /root/out
		journalctl -b -k -g "raid1:$(md system): active with 2 out of 3 mirrors"
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); test -b /dev/md/system
		joined UUU; systemctl is-active ramraid@system; ramraid status system; right
		write rebooted'
}

# Starts a writer that never ends, and cuts the power. Before that it puts there what "equal" needs:
# the legs of / are compared while others write to it, and what is on its way to them may differ.
rooted_write_and_cut() {
	vm_send "$here/churn.pl" /root/churn.pl
	guest "$rooted"'
		sync /root/churn.pl
		(
			i=0
			while :; do
				i=$((i + 1)); head -c 64k /dev/urandom >/home/w$((i % 20))
				sync /home/w$((i % 20))
			done
		) >/dev/null 2>&1 &
		write cut; sleep 3'
	kill_power
}

rooted_after_the_cut() {
	check 'after a power cut: the initramfs sees that only the RAM leg is missing, and does not wait for it' "$rooted"'
		dmesg | grep -E "md/raid1|EXT4-fs.*mounted|ramraid:|sd[ab]\] Attached"
		dmesg | grep "ramraid: starting /dev/md/system from /dev/sd[ab]3\\? /dev/sd[ab]3\\?$"
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); joined UUU
		ramraid status system; right; equal system'
}

# Boots without B, and then with both.
rooted_disk_missing() {
	power_off
	VM_DISKS=(A)
	boot
	check 'a disk missing: the initramfs itself starts it, after its own time; and it is said' \
		"$rooted"'
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); joined UU
		ramraid status system >/root/out || test $? = 1; cat /root/out
		grep "missing .*$(leg B)" /root/out
		right; write degraded'
	power_off
	VM_DISKS=(A B)
	boot
	check 'and back: it is put back, with what it has missed' "$rooted"'
		joined UUU; ramraid status system; right; equal system'
}

rooted_release() {
	check 'released, while it is /' "$rooted"'
		ramraid release --yes system; test "$(slots system)" = UU; right
		test ! -e /etc/mdadm/mdadm.conf.d/ramraid-system.conf
		grep "^ARRAY /dev/md/system" /etc/mdadm/mdadm.conf'
	reboot
	check 'and a plain RAID1 after a boot' "$rooted"'
		test "$(findmnt -n -o SOURCE /)" = /dev/$(md system); test "$(slots system)" = UU
		right'
}
