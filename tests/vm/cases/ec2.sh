# Disks as a cloud's instance has them: a network disk, and beside it an ephemeral NVMe disk that
# keeps its contents over a reboot, and comes back blank, with another serial number, after the
# instance was stopped. The array begins as the recipes make it (--assume-clean, --write-behind),
# and becomes ours.
checked_on trixie
long
from installed
disk NET 64M nvme=10
disk NEAR 64M nvme=11

readonly names='
	net=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NET near=/dev/disk/by-path/pci-0000:00:11.0-nvme-1
	node_of() { basename $(readlink -f $1); }
	served() { set -- $(cat /sys/block/$(node_of $1)/stat); echo $1; }
	written() { set -- $(cat /sys/block/$(node_of $1)/stat); echo $7; }
	sums() { (cd /srv/data; sha256sum --quiet -c /root/sums); }
	says() {
		journalctl -b -o cat -u ramraid@data | grep -F -e "$1" || {
			journalctl -b -o cat -u ramraid@data; return 1
		}
	}
	# The worker of hot-plug, which looks at superblocks, may be at it.
	all_from_near() {
		local before i
		for i in $(seq 60); do
			test -n "$(systemctl list-jobs --no-legend)" || break; sleep 1
		done
		echo 3 >/proc/sys/vm/drop_caches; before=$(served $net); sums
		test "$(served $net)" = $before
	}
	'

steps() {
	boot
	check 'the mirror of the recipes, mounted' "$names"'
		for i in $(seq 300); do [ -b $near -a -b $net ] && break; sleep 0.2; done
		ls -l /dev/disk/by-path /dev/disk/by-id
		mdadm --create /dev/md/data --run --level=1 --raid-devices=2 --assume-clean \
			--bitmap=internal $near --write-mostly --write-behind=256 $net
		make_ext4 /dev/md/data; mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount
		cd /srv/data; for i in 1 2 3 4; do head -c 4M /dev/urandom >file$i; done; sync
		sha256sum file* >/root/sums; sync /root/sums'
	check 'it is adopted with the ephemeral disk as the RAM leg, by its place; in use all the time' "$names"'
		ramraid adopt --yes --ram=$near data /dev/md/data; ramraid wait data
		grep -x "RAM=$near" /etc/ramraid/data.conf
		member=$(sed -n s/^MEMBER=//p /etc/ramraid/data.conf); echo "$member"
		test "$(node_of "$member")" = "$(node_of $net)"
		test "$(slots data)" = UU; test "$(cat /sys/block/$(md data)/md/bitmap/backlog)" = 0
		test "$(compare data)" = 0; all_from_near'
	reboot
	check 'a reboot of the instance: put back by bitmap, all reads from it' "$names"'
		test "$(slots data)" = UU; findmnt /srv/data; says "has kept its contents"
		fails says "were copied"
		n=$(written $near); echo "$n sectors"; test $n -lt 16384; all_from_near
		test "$(compare data)" = 0
		head -c 4M /dev/urandom >/srv/data/file5; cd /srv/data; sync
		sha256sum file* >/root/sums; sync /root/sums'
	power_off
	rm "$VM/disks/NEAR.img"
	truncate -s 64M "$VM/disks/NEAR.img"
	VM_SERIALS[NEAR]=ELSE
	boot
	check 'the instance was stopped and started: another, blank disk at its place is rebuilt before the mount' "$names"'
		test -e /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_ELSE; test "$(slots data)" = UU
		findmnt /srv/data; says "were copied from the disk leg"
		all_from_near; test "$(compare data)" = 0; ramraid status data'
	power_off
	mkfs.ext4 -q -F "$VM/disks/NEAR.img"
	boot
	check 'a disk with something on it at its place is left alone: the network disk alone, mounted, and said' "$names"'
		test "$(slots data)" = _U -o "$(slots data)" = U_; findmnt /srv/data; sums
		says "it holds ext4"
		ramraid status data >/root/out || test $? = 1; cat /root/out
		grep "^data: disks-only" /root/out
		blkid -p -o value -s TYPE $near | grep -x ext4'
	kill_power
	rm "$VM/disks/NEAR.img"
	truncate -s 64M "$VM/disks/NEAR.img"
	boot
	check 'after a crash and a stop: rebuilt again, nothing lost' "$names"'
		test "$(slots data)" = UU; findmnt /srv/data; all_from_near
		test "$(compare data)" = 0'
}
