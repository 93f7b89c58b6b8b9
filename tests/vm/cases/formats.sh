# shellcheck shell=bash disable=SC2016 # the guest expands
# The data of the array reach to the end of its legs, where md's other formats have their
# superblocks. mdadm and udev believe the newest superblock, so a user may write a forged one into a
# file.
long
from small
disk A 40M
disk B 40M
may_fail ramraid@data.service

# forge UUID: writes what mdadm makes of a disk of that size, in metadata 1.0, to the end of the
# array.
readonly forge='
	forge() {
		local loop size=$(blockdev --getsize64 $(leg A))
		truncate -s $size /root/whole; loop=$(losetup -f --show /root/whole)
		mdadm --create /dev/md9 --run --force --metadata=1.0 --uuid=$1 --level=1 \
			--raid-devices=1 $loop
		mdadm --stop /dev/md9; losetup -d $loop; settle
		tail -c 64K /root/whole >/root/tail
		dd if=/root/tail of=/dev/md/data bs=64K oflag=direct conv=notrunc status=none \
			seek=$(($(blockdev --getsize64 /dev/md/data) / 65536 - 1))
		# Whose file that was does not matter here.
		cd /srv/data; echo 3 >/proc/sys/vm/drop_caches
		(sha256sum -c /root/sums 2>&1 || :) | sed -n "s/: FAILED.*//p" | xargs -r rm
		sha256sum file* >/root/sums; sync; cd /
		mdadm --examine $(leg A) | grep "Version : 1.0"
		mdadm --examine $(leg B) | grep "UUID : $(echo $1 | cut -c1-8)"
	}
	'

steps() {
	boot
	guest 'sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab; systemctl daemon-reload'
	check 'a file at the end holds a superblock of another format, with the UUID of the array' "$forge"'
		uuid=$(basename /dev/disk/by-id/md-uuid-*); uuid=${uuid#md-uuid-}; forge $uuid'
	reboot
	check 'a boot refuses the start, and gives no leg to mdadm' '
		cat /proc/mdstat; systemctl is-failed ramraid@data; fails findmnt /srv/data
		journalctl -b -o cat -u ramraid@data -p err | grep "(metadata 1.0), because of a \
superblock"
		fails grep "^md" /proc/mdstat; fails journalctl -b -g "mdadm --assemble" -u ramraid@data'
	check 'by what it says, of one leg after the other, the array starts, with every byte' '
		for i in 1 2; do
			ramraid start data >/root/said 2>&1 || :
			eval "$(grep -o "mdadm --zero-superblock --metadata=1.0 /dev/[a-z]*" /root/said |
				head -n 1)"
		done
		ramraid start data; ramraid wait --timeout=2min data; test "$(slots data)" = UUU
		mount /srv/data; (cd /srv/data; sha256sum -c /root/sums); test "$(compare data)" = 0'
	check 'one with another UUID' "$forge"'forge 66666666:66666666:66666666:66666666'
	reboot
	check 'with the other array that udev has started, or without: refused' '
		cat /proc/mdstat; systemctl is-failed ramraid@data; fails findmnt /srv/data
		journalctl -b -o cat -u ramraid@data -p err | grep -e "is in use by md" \
			-e "(metadata 1.0), because of a superblock"'
	check 'that is stopped, and its superblock deleted: the array starts' '
		for md in /sys/block/md*; do [ ! -e $md ] || mdadm --stop /dev/${md##*/}; done; settle
		for d in A B; do mdadm --zero-superblock --metadata=1.0 $(leg $d); done
		ramraid start data; ramraid wait --timeout=2min data; test "$(slots data)" = UUU
		mount /srv/data; cd /srv/data; sha256sum -c /root/sums; test "$(compare data)" = 0'
}
