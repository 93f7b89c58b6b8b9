# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# Arrays that have been in use with blocks of 512 bytes, and are to have a RAM leg of zram. They are
# adopted if everything on them works with blocks of 4096, and refused with the reason if not. After
# the next start all of it is there with blocks of 4096, after a power cut as well, and with 512
# again in a rescue system.
long
image stacks
checked_on trixie
from installed
memory 2G
disk A 800M
disk B 800M
disk C 400M
disk D 400M
disk E 64M
disk F 64M
# xfsprogs of Debian 14 starts it for each XFS, and it fails where it can't heal: on any device.
may_fail xfs_healer@srv-xfs.service

# tries CODE TEXT: "adopt --dry-run --ram=zram" of the array data ends with CODE and says TEXT.
# fresh: clears what is on the array.
readonly tools='
	readonly mounts="/srv/ext4 /srv/xfs /srv/tree /srv/secret /srv/data"
	block() { blockdev --getss /dev/md/$1; }
	tries() {
		local code=0; settle
		ramraid adopt --dry-run --ram=zram data /dev/md/data >/root/out 2>&1 </dev/null ||
			code=$?
		cat /root/out; test $code = $1; grep -F -e "$2" /root/out
		test ! -e /etc/ramraid/data.conf
	}
	bears="What is on it can work with that"
	# udev gives what has a superblock to an array again.
	unheld() {
		settle
		for h in /sys/block/$(md data)/holders/md*; do
			[ ! -e $h ] || mdadm --stop /dev/${h##*/}
		done
	}
	fresh() {
		settle; wipefs -aq /dev/md/data
		dd if=/dev/zero of=/dev/md/data bs=1M count=24 oflag=direct status=none; settle
	}
	encrypt() {
		cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$@" /root/key
	}
	in_use() {
		for m in $mounts; do
			findmnt $m >/dev/null || { echo "$m is not mounted"; return 1; }
		done
		grep "^/dev/dm-" /proc/swaps
	}
	sums() { sha256sum --quiet -c /root/sums; }
	plain() {
		mdadm --create /dev/md/$1 --run --level=1 --raid-devices=2 --metadata=1.2 \
			--bitmap=none $(leg $2) $(leg $3)
		named /dev/md/$1; while grep -q resync /proc/mdstat; do sleep 0.5; done
	}
	'

# in_use NAME: adopts an array that is in use.
in_use() {
	check "$1 is adopted in use, and runs on its disk legs, with blocks of 512; status and check say what to type" "$tools
		a=$1"'
		ramraid adopt --yes --ram=zram $a /dev/md/$a >/root/out 2>&1 || {
			cat /root/out; false
		}
		cat /root/out
		grep "the RAM leg joins at its next start, when its blocks have 4096 bytes: \
ramraid stop $a; ramraid start $a" /root/out
		grep -x BLOCK=4096 /etc/ramraid/$a.conf
		test "$(slots $a)" = UU_ || test "$(slots $a)" = _UU; test "$(block $a)" = 512
		test ! -e /run/ramraid/$a.ram
		ramraid status $a >/root/out || test $? = 1; cat /root/out
		grep "action: ramraid stop $a; ramraid start $a" /root/out
		ramraid check $a >/root/out || test $? = 1; cat /root/out
		grep -A 1 "no-ram-leg.*blocks of 4096" /root/out |
			grep "ramraid stop $a; ramraid start $a"'
}

steps() {
	boot
	check 'two plain mirrors of disks with blocks of 512 bytes' "$tools"'
		findmnt /boot || mount /boot
		modprobe raid1; plain pool A B; plain data C D; test "$(block data)" = 512
		head -c 32 /dev/urandom >/root/key; chmod 600 /root/key'
	check 'nothing on it, swap, ext4, XFS, btrfs and LUKS with blocks of 4096: they would be adopted' "$tools"'
		tries 0 "$bears"
		mkswap -q /dev/md/data; tries 0 "$bears"; fresh
		mkfs.ext4 -q -b 4096 /dev/md/data; tries 0 "ext4 (4096)"; fresh
		mkfs.xfs -q -s size=4096 /dev/md/data; tries 0 "XFS (4096)"; fresh
		mkfs.btrfs -q /dev/md/data; tries 0 "btrfs (4096)"; fresh
		encrypt --sector-size 4096 /dev/md/data; tries 0 "a LUKS container (4096)"; fresh'
	check 'ext4 with 1024, XFS as it is made on such disks, LUKS with 512, LUKS1, tables, bcache, data, a leg of an array, two signatures: refused' "$tools"'
		mkfs.ext4 -q -b 1024 /dev/md/data; tries 4 "ext4 with blocks of 1024 bytes"; fresh
		mkfs.xfs -q /dev/md/data; tries 4 "XFS with sectors of 512 bytes"; fresh
		encrypt --sector-size 512 /dev/md/data
		tries 4 "a LUKS container with sectors of 512 bytes"; fresh
		encrypt --type luks1 /dev/md/data; tries 4 "a container of LUKS1"; fresh
		for table in gpt dos; do
			printf "label: $table\n,,\n" | sfdisk -q /dev/md/data
			tries 4 "a partition table ($table)"; fresh
		done
		make-bcache -B /dev/md/data; settle; tries 4 "bcache"
		for b in /sys/block/bcache*/bcache/stop; do [ ! -e $b ] || echo 1 >$b; done; sleep 1
		fresh
		head -c 1M /dev/urandom |
			dd of=/dev/md/data bs=1M oflag=direct iflag=fullblock status=none
		tries 4 "data without a known signature"; fresh
		mdadm --create /dev/md/inner --run --level=1 --raid-devices=2 --metadata=1.0 \
			/dev/md/data missing
		tries 4 "a disk leg of another array"
		unheld; mdadm --zero-superblock /dev/md/data; fresh
		# mkfs itself clears the end of a device, where that superblock is.
		mkfs.ext4 -q -b 4096 /dev/md/data; settle
		mdadm --create /dev/md/inner --run --level=1 --raid-devices=2 --metadata=1.0 \
			/dev/md/data missing
		unheld
		tries 4 "signatures that do not go together"; unheld
		mdadm --zero-superblock /dev/md/data; tries 0 "ext4 (4096)"; fresh'
	check 'LVM: a volume that is inactive, or can not take blocks of 4096, has the array refused' "$tools"'
		pvcreate -q /dev/md/data; tries 0 "LVM"; vgcreate -q v /dev/md/data; tries 0 "LVM"
		lvcreate -q -Wy --yes -L 64M -n one v; mkfs.ext4 -q -b 4096 /dev/v/one
		tries 0 "LVM, ext4 (4096)"
		lvchange -an v/one; tries 4 "v/one: a logical volume that is not active"
		lvchange -ay v/one
		mkfs.ext4 -q -F -b 1024 /dev/v/one; tries 4 "ext4 with blocks of 1024 bytes"
		vgremove -q -f v; pvremove -q /dev/md/data; fresh'
	check 'a volume group with ext4, XFS, btrfs, swap and a LUKS container; and ext4' "$tools"'
		pvcreate -q /dev/md/pool; vgcreate -q vol /dev/md/pool; mkdir -p $mounts
		lvcreate -q -Wy --yes -L 96M -n ext4 vol; lvcreate -q -Wy --yes -L 320M -n xfs vol
		lvcreate -q -Wy --yes -L 160M -n tree vol
		lvcreate -q -Wy --yes -L 64M -n locked vol; lvcreate -q -Wy --yes -L 32M -n swap vol
		settle; mkfs.ext4 -q -b 4096 /dev/vol/ext4; mkfs.xfs -q -s size=4096 /dev/vol/xfs
		mkfs.btrfs -q /dev/vol/tree; mkswap -q /dev/vol/swap
		encrypt --sector-size 4096 /dev/vol/locked
		cryptsetup open --key-file /root/key /dev/vol/locked open
		make_ext4 /dev/mapper/open; make_ext4 /dev/md/data -b 4096
		udevadm trigger --settle /dev/vol/*
		cat >>/etc/fstab <<EOT
/dev/vol/ext4 /srv/ext4 ext4 defaults 0 2
/dev/vol/xfs /srv/xfs xfs defaults 0 0
/dev/vol/tree /srv/tree btrfs defaults 0 0
/dev/vol/swap none swap sw 0 0
/dev/mapper/open /srv/secret ext4 defaults 0 2
UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2
EOT
		echo "open /dev/vol/locked /root/key luks" >>/etc/crypttab
		systemctl daemon-reload; mount -a; swapon -a; in_use
		for m in $mounts; do
			cp /usr/bin/[a-c]* $m/ || :; head -c 3M /dev/urandom >$m/random
			find $m -type f -exec sha256sum {} +
		done >/root/sums
		sync; sums'
	in_use pool
	in_use data
	check 'both are in use all the time, and hot-plug makes no RAM leg' "$tools"'
		in_use; sums; systemctl start ramraid-hotplug.service; sleep 5; in_use
		test ! -e /run/ramraid/data.ram'
	check 'stop and start: blocks of 4096 bytes, the RAM leg in zram, every file as it was' \
		"$tools"'
		umount /srv/data; ramraid stop data; ramraid start data; test "$(block data)" = 4096
		test "$(slots data)" = UUU; ram data | grep zram
		mount /srv/data; sums; test "$(compare data)" = 0
		ramraid check data >/root/out || :; cat /root/out
		fails grep -e no-ram-leg -e larger-blocks /root/out
		dd if=/dev/zero of=/srv/data/direct bs=4096 count=1 oflag=direct status=none
		fails dd if=/dev/zero of=/srv/data/direct bs=512 count=1 oflag=direct status=none
		rm /srv/data/direct'
	reboot
	check 'a reboot: all that is in the volume group is in use, with blocks of 4096 bytes' \
		"$tools"'
		for a in pool data; do
			ramraid wait --timeout=3min $a; test "$(slots $a)" = UUU
			test "$(block $a)" = 4096
		done
		in_use; sums
		for v in ext4 xfs tree swap locked; do
			test "$(blockdev --getss /dev/vol/$v)" = 4096
		done
		xfs_info /srv/xfs | grep sectsz=4096; test "$(compare pool)" = 0
		for m in $mounts; do
			head -c 2M /dev/urandom >$m/later; sha256sum $m/later >>/root/sums
		done
		sync; sums'
	kill_power
	boot
	check 'a power cut: the same' "$tools"'
		for a in pool data; do
			ramraid wait --timeout=3min $a; test "$(slots $a)" = UUU
			test "$(block $a)" = 4096
		done
		in_use; sums; test "$(compare pool)" = 0'
	check 'in a rescue system, with 512 again, all of it can be used' "$tools"'
		umount $mounts; swapoff -a; cryptsetup close open; vgchange -q -an vol
		ramraid stop pool; ramraid stop data
		mdadm --assemble --run /dev/md/pool $(leg A) $(leg B)
		mdadm --assemble --run /dev/md/data $(leg C) $(leg D); named /dev/md/pool
		named /dev/md/data; settle
		test "$(block pool)" = 512; vgchange -q -ay vol; settle
		cryptsetup open --key-file /root/key /dev/vol/locked open
		mount -o ro /dev/vol/ext4 /srv/ext4; mount -o ro /dev/vol/xfs /srv/xfs
		mount -o ro /dev/vol/tree /srv/tree; mount -o ro /dev/mapper/open /srv/secret
		mount -o ro /dev/md/data /srv/data; sums
		umount $mounts; cryptsetup close open; vgchange -q -an vol
		mdadm --stop /dev/md/pool; mdadm --stop /dev/md/data'
	check 'an array of ours that gets RAM=zram: check says what to write, or why not; then it has it' "$tools"'
		ramraid create --yes own $(leg E) $(leg F); test "$(slots own)" = UUU
		test "$(block own)" = 512; settle
		says() {
			ramraid check own >/root/out || test $? = 1; cat /root/out
			grep -A 1 larger-blocks /root/out | grep -F -e "$1"
		}
		echo RAM=zram >>/etc/ramraid/own.conf; mkfs.ext4 -q -b 1024 /dev/md/own
		says "ext4 with blocks of 1024 bytes"; says "take another kind"
		wipefs -aq /dev/md/own; make_ext4 /dev/md/own -b 4096
		says "write BLOCK=4096 in /etc/ramraid/own.conf; \
then: ramraid stop own; ramraid start own"
		echo BLOCK=4096 >>/etc/ramraid/own.conf; ramraid check own >/root/out || :
		cat /root/out; fails grep larger-blocks /root/out
		mkdir /srv/own; mount /dev/md/own /srv/own; head -c 8M /dev/urandom >/srv/own/file
		sha256sum /srv/own/file >/root/own; umount /srv/own
		ramraid stop own; ramraid start own; test "$(slots own)" = UUU
		test "$(block own)" = 4096; ram own | grep zram
		mount /dev/md/own /srv/own; sha256sum --quiet -c /root/own
		test "$(compare own)" = 0'
}
