# A real boot by GRUB, from the firmware on, with the root file system and /boot on the array: by
# BIOS and by UEFI; with the RAM leg in the superblocks, after a power cut; what GRUB's own programs
# say while the RAM leg is a member; and a missing disk.
checked_on trixie
long
image grub
from installed
memory 3G
cpus 2
BOOT_SECONDS=900
disk A 1500M
disk B 1500M
# shellcheck source=tests/vm/rooted.sh disable=SC2154
source "$here/rooted.sh"

readonly words="$rooted"'
esp() { echo "$(leg $1)-part2"; }
by_grub() {
	grep BOOT_IMAGE /proc/cmdline; test "$(findmnt -n -o SOURCE /)" = /dev/$(md system)
	fails mountpoint -q /boot
}
# What an update of the kernel or of GRUB runs, by hand.
probe() {
	grub-probe --target=device / | grep -x /dev/$(md system)
	test "$(grub-probe --target=fs_uuid /)" = "$(blkid -o value -s UUID /dev/$(md system))"
	grub-probe --target=abstraction / | grep mdraid1x
	cp /boot/grub/grub.cfg /root/grub.cfg; update-grub 2>&1
	grep -v "^#" /boot/grub/grub.cfg >/root/new; grep -v "^#" /root/grub.cfg | diff - /root/new
	for disk in A B; do grub-install --target=i386-pc $(leg $disk) 2>&1; done
	for disk in A B; do
		mount $(esp $disk) /boot/efi
		grub-install --target=x86_64-efi --efi-directory=/boot/efi --removable \
			--no-nvram 2>&1
		umount /boot/efi
	done
}
'

steps() {
	local line
	boot
	line=$(vm_command_line)
	check 'a system on a RAID1 of two partitions, with GRUB on both disks' '
		for disk in A B; do
			printf "%s\n" "label: gpt" \
				"size=1M, type=21686148-6449-6E6F-744E-656564454649" \
				"size=64M, type=uefi" "type=raid" | sfdisk -q $(leg $disk)
		done
		settle; for disk in A B; do mkfs.vfat $(leg $disk)-part2 >/dev/null; done
		mdadm -q --create /dev/md/system --run --level=1 --raid-devices=2 \
			--bitmap=internal --assume-clean $(leg A)-part3 $(leg B)-part3
		named /dev/md/system
		mkfs.ext4 -q -E lazy_itable_init=0 /dev/md/system; mkdir /mnt/system
		mount /dev/md/system /mnt/system
		echo "ARRAY /dev/md/system metadata=1.2 UUID=$(mdadm --detail /dev/md/system |
			sed -n "s/.*UUID : //p")" >>/etc/mdadm/mdadm.conf
		update-initramfs -u
		tar -C / --one-file-system --exclude=./usr/src --exclude=./var/lib/dkms \
			--exclude=./usr/lib/gcc --exclude=./var/cache --exclude=./usr/share/man \
			-cf - . | tar -C /mnt/system -xpf -
		cp -a /boot/. /mnt/system/boot/; mkdir -p /mnt/system/boot/{efi,grub}
		sed -i "s/^LABEL=root/UUID=$(blkid -o value -s UUID /dev/md/system)/
			/LABEL=boot/d" \
			/mnt/system/etc/fstab
		printf "%s\n" GRUB_TIMEOUT=0 GRUB_TERMINAL=serial GRUB_DISABLE_OS_PROBER=true \
			GRUB_DISTRIBUTOR=Debian "GRUB_CMDLINE_LINUX=\"'"$line"'\"" \
			>/mnt/system/etc/default/grub
		for folder in dev proc sys run; do
			mount --rbind /$folder /mnt/system/$folder
			mount --make-rslave /mnt/system/$folder
		done
		chroot /mnt/system update-grub
		for disk in A B; do
			chroot /mnt/system grub-install --target=i386-pc $(leg $disk)
			mount $(leg $disk)-part2 /mnt/system/boot/efi
			chroot /mnt/system grub-install --target=x86_64-efi \
				--efi-directory=/boot/efi --removable --no-nvram
			umount /mnt/system/boot/efi
		done
		umount -R /mnt/system/dev /mnt/system/proc /mnt/system/sys /mnt/system/run
		umount /mnt/system'
	power_off
	firmware bios
	boot
	check 'GRUB has started it; adopted, while it is /' "$words"'
		by_grub; write before; ramraid adopt --yes system /dev/md/system; joined UUU
		ramraid status system; right; write adopted
		ramraid check system >/root/out || :; cat /root/out; fails grep problem /root/out
		for i in $(seq 300); do
			systemctl -q is-active ramraid@system && break; sleep 0.2
		done'
	check 'with the RAM leg: grub-probe, update-grub and grub-install say and write what they did' \
		"$words"'
		probe; write probed; sync'
	rooted_write_and_cut
	boot
	check 'by BIOS after a power cut, with the RAM leg in the superblocks' "$words"'by_grub'
	rooted_after_the_cut
	firmware uefi
	rooted_write_and_cut
	boot
	check 'by UEFI after a power cut, with the RAM leg in the superblocks' "$words"'
		by_grub; test -d /sys/firmware/efi'
	rooted_after_the_cut
	reboot
	check 'by UEFI after a clean reboot' "$words"'by_grub; joined UUU; right'
	power_off
	VM_DISKS=(B)
	boot
	check 'from the second disk alone' "$words"'
		by_grub; joined UU; right; write degraded
		ramraid status system >/root/out || test $? = 1
		grep "missing .*by-partuuid" /root/out'
	power_off
	VM_DISKS=(A B)
	firmware bios
	boot
	check 'and with both, by BIOS: the first is put back' "$words"'
		by_grub; joined UUU; right; equal system; probe'
	rooted_release
	check 'GRUB started that, too' "$words"'by_grub; probe'
}
