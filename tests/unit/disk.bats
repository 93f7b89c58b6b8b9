#!/usr/bin/env bats
# Disks and their names, on a fake /dev and /sys.

setup() {
	load helper
	world
	libraries
	fake_disk sda 104857600 disk/by-id/wwn-0x5 disk/by-id/ata-DISK_1 disk/by-path/pci-0 \
		disk/by-partuuid/0f-01
}

lsblk() { called lsblk "$@" && printf '%s\n' "${MOUNTED-}"; }
wipefs() { called wipefs "$@" && printf '%s' "${SIGNATURES-}"; }

free() {
	[[ $(disk_why_not_free "$1") == "$2" ]] ||
		fail "expected: $2"$'\n'"got: $(disk_why_not_free "$1")"
}

@test "stable names are told from unstable ones" {
	local name
	for name in disk/by-id/ata-X disk/by-path/p disk/by-partuuid/x disk/by-partlabel/x \
		mapper/vg-lv md/far drbd/by-res/data drbd/by-res/data/0; do
		stable_name_is "/dev/$name" || fail "$name"
	done
	for name in /dev/sda /dev/md127 /dev/disk/by-uuid/x /dev/disk/by-label/x /dev/disk/by-id/ \
		/dev/disk/by-id/a/b /dev/dm-1 disk/by-id/x /dev/mapper/../sda /dev/mapper/.. \
		/dev/disk/by-id/. /dev/drbd0 /dev/drbd/by-disk/sda /dev/drbd/by-res/ \
		/dev/drbd/by-res/data/x /dev/drbd/by-res/../0 /dev/drbd/by-res/..; do
		not stable_name_is "$name" || fail "$name"
	done
}

@test "disk_find_node follows links to block devices only" {
	[[ $(disk_find_node /dev/sda) == sda && $(disk_find_node /dev/disk/by-id/wwn-0x5) == sda ]]
	: >"$R/dev/notablock"
	ln -s nowhere "$R/dev/disk/by-id/dangling"
	local path
	for path in /dev/notablock /dev/disk/by-id/dangling /dev/missing /dev/disk/by-id/..; do
		not disk_find_node "$path" || fail "$path"
	done
}

@test "of several stable names, the one that is least likely to move is chosen" {
	local name
	fake_disk nvme0n1 104857600 disk/by-id/nvme-MODEL_SERIAL disk/by-id/nvme-MODEL_SERIAL_1 \
		disk/by-id/nvme-eui.0025 disk/by-path/pci-9
	[[ $(stable_name_of /dev/nvme0n1) == /dev/disk/by-id/nvme-eui.0025 ]]
	rm "$R/dev/disk/by-id/nvme-eui.0025"
	# With the number of the namespace, of which a disk may have several.
	[[ $(stable_name_of /dev/nvme0n1) == /dev/disk/by-id/nvme-MODEL_SERIAL_1 ]]
	fake_disk nvme0n1p1 104857600 disk/by-id/nvme-MODEL_SERIAL-part1 \
		disk/by-id/nvme-MODEL_SERIAL_1-part1
	[[ $(stable_name_of /dev/nvme0n1p1) == /dev/disk/by-id/nvme-MODEL_SERIAL_1-part1 ]]
	for name in by-id/wwn-0x5 by-partuuid/0f-01 by-id/ata-DISK_1 by-path/pci-0; do
		[[ $(stable_name_of /dev/sda) == "/dev/disk/$name" ]] ||
			fail "$(stable_name_of /dev/sda)"
		[[ $(stable_name_of /dev/disk/by-path/pci-0) == /dev/disk/by-path/pci-0 ]]
		rm "$R/dev/disk/$name"
	done
	not stable_name_of /dev/sda
	not stable_name_of /dev/missing
	# Of DRBD the resource, with its volume or without.
	fake_disk drbd0 104857600 drbd/by-disk/sda drbd/by-res/data/0
	[[ $(stable_name_of /dev/drbd0) == /dev/drbd/by-res/data/0 ]]
	rm -r "$R/dev/drbd"
	not stable_name_of /dev/drbd0
	fake_disk drbd0 104857600 drbd/by-disk/sda drbd/by-res/data
	[[ $(stable_name_of /dev/drbd0) == /dev/drbd/by-res/data ]]
}

# claims NAME NODE…: udev has these devices down for /dev/disk/by-id/NAME.
claims() {
	local -A minor=([sda]=0 [sdb]=16 [dm-0]=99)
	local node folder="$R/run/udev/links/${OLD_UDEV-}disk\\x2fby-id\\x2f$1"
	mkdir -p "$folder" "$R/sys/dev/block"
	for node in "${@:2}"; do
		ln -sfn "../../class/block/$node" "$R/sys/dev/block/8:${minor[$node]}"
		ln -sfn 0:/dev/x "$folder/b8:${minor[$node]}"
	done
}

@test "a name that two devices claim is not used, and a message says so" {
	fake_disk sdb 104857600 disk/by-path/pci-1
	claims ata-DISK_1 sda
	claims wwn-0x5 sda sdb
	rm "$R/dev/disk/by-partuuid/0f-01"
	[[ $(stable_name_of /dev/sda) == /dev/disk/by-id/ata-DISK_1 ]] ||
		fail "$(stable_name_of /dev/sda)"
	run stable_name_tell_shared /dev/sda
	[[ $status == 0 &&
		$output == '/dev/sda: its name /dev/disk/by-id/wwn-0x5 is not used, because sdb has it'* ]] ||
		fail "$output"
	run stable_name_tell_shared /dev/disk/by-id/wwn-0x5
	[[ $status == 1 && $output == *'claimed by more than one device (/dev/sda, and sdb)'* ]] ||
		fail "$output"
	run stable_name_tell_shared /dev/disk/by-id/ata-DISK_1
	[[ $status == 0 ]]
	OLD_UDEV='\x2f' claims ata-DISK_1 sda sdb
	[[ $(stable_name_of /dev/sda) == /dev/disk/by-path/pci-0 ]] ||
		fail "$(stable_name_of /dev/sda)"
	rm "$R/dev/disk/by-path/pci-0"
	not stable_name_of /dev/sda
	# The paths of a multipath map claim its name, and are what it is made of.
	fake_disk dm-0 104857600 disk/by-id/scsi-36001
	claims scsi-36001 dm-0 sda
	mkdir -p "$R/sys/class/block/dm-0/slaves/sda"
	[[ $(stable_name_of /dev/dm-0) == /dev/disk/by-id/scsi-36001 ]]
}

@test "a multipath map goes by its own name, not by one that may mean a path" {
	fake_disk dm-0 104857600 disk/by-id/scsi-36001 disk/by-id/wwn-0x36001 \
		disk/by-id/dm-name-mpatha disk/by-id/dm-uuid-mpath-36001 mapper/mpatha
	[[ $(stable_name_of /dev/dm-0) == /dev/disk/by-id/dm-name-mpatha ]] ||
		fail "$(stable_name_of /dev/dm-0)"
}

@test "size and holders are found, holders of partitions included" {
	[[ $(disk_bytes sda) == 104857600 && -z $(disk_holders sda) ]]
	mkdir -p "$R"/sys/class/block/sda/holders/dm-0 "$R"/sys/class/block/sda/sda1/holders/md127
	[[ $(disk_holders sda) == $'dm-0\nmd127' ]]
}

@test "a device is traced to its physical disks and its LUKS containers" {
	mkdir -p "$R"/sys/class/block/{md9/{md9p1,slaves/{dm-0,sdb1}},dm-0/{dm,slaves/sda},sdb/sdb1,dm-1/slaves/md9p1}
	ln -s md9/md9p1 "$R/sys/class/block/md9p1"
	ln -s sdb/sdb1 "$R/sys/class/block/sdb1"
	echo 1 | tee "$R"/sys/class/block/{md9p1,sdb1}/partition >/dev/null
	echo CRYPT-LUKS2-0-x >"$R/sys/class/block/dm-0/dm/uuid"
	echo x >"$R/sys/class/block/dm-0/dm/name"
	[[ $(disk_physical sda) == sda && $(disk_physical sdb1) == sdb ]]
	[[ $(disk_physical md9p1) == $'sda\nsdb' && $(disk_physical dm-1) == $'sda\nsdb' ]]
	[[ $(disk_containers dm-1) == x && $(disk_containers dm-0) == x &&
		-z $(disk_containers sdb1) ]]
	disk_is_on dm-1 md9
	disk_is_on md9p1 sdb
	disk_is_on sda sda
	not disk_is_on sdb1 md9
}

@test "a device is idle if only mappings are on it, and the topmost is not open" {
	local -A opens=([253:1]=1 [253:2]=0)
	fake_disk md127 104857600
	fake_disk dm-1 104857600
	fake_disk dm-2 104857600
	echo 253:1 >"$R/sys/class/block/dm-1/dev"
	echo 253:2 >"$R/sys/class/block/dm-2/dev"
	dmsetup() { printf '%4s\n' "${opens[$7:$9]}"; }
	mkdir "$R"/sys/class/block/{md127/holders/dm-1,dm-1/holders/dm-2}
	# The one below is held by the one above.
	disk_is_idle md127
	opens[253:2]=1
	not disk_is_idle md127
	opens[253:2]=0
	echo '29 1 253:2 / /srv rw - ext4 /dev/dm-2 rw' >"$R/proc/1/mountinfo"
	not disk_is_idle md127
	: >"$R/proc/1/mountinfo"
	mkdir "$R/sys/class/block/dm-2/holders/md5"
	fake_disk md5 104857600
	not disk_is_idle md127
}

@test "a disk is free, or every reason why not is given" {
	free /dev/sda ''
	free /dev/sdx 'missing: there is no block device /dev/sdx'
	SIGNATURES=$'ext4 filesystem\ngpt partition-table\nswap other' free /dev/sda \
		'signature: it holds ext4, a partition table (gpt), swap'
	echo 8:0 >"$R/sys/class/block/sda/dev"
	mkdir -p "$R/sys/class/block/sda/sda1"
	ln -s sda/sda1 "$R/sys/class/block/sda1"
	echo 8:1 >"$R/sys/class/block/sda/sda1/dev"
	printf '%s\n' '22 1 8:16 / / rw - ext4 /dev/sdb rw' \
		'40 22 8:0 / /srv/my\040files rw - ext4 /dev/sda rw' \
		'41 22 8:1 / /home rw - ext4 /dev/sda1 rw' >"$R/proc/1/mountinfo"
	free /dev/sda 'in use: /srv/my files, /home'
	: >"$R/proc/1/mountinfo"
	printf '%s\n' 'Filename Type Size Used Priority' '/dev/sda1 partition 1 0 -2' \
		'/dev/sdab partition 1 0 -2' >"$R/proc/swaps"
	free /dev/sda 'in use: swap on /dev/sda1'
	# btrfs has a number of its own, and says what it is on.
	printf '40 22 0:44 / /srv/tree rw shared:1 - btrfs %s rw\n' /dev/sda >"$R/proc/1/mountinfo"
	[[ $(disk_users sda) == $'/srv/tree\nswap on /dev/sda1' ]] || fail "$(disk_users sda)"
	printf '40 22 0:44 / /srv/tree rw shared:1 - btrfs %s rw\n' /dev/sdb >"$R/proc/1/mountinfo"
	[[ $(disk_users sda) == 'swap on /dev/sda1' ]] || fail "$(disk_users sda)"
	# It names only one of its devices.
	mkdir -p "$R"/sys/fs/btrfs/one/devices/{sda,sdb} "$R/sys/class/block/sdb"
	: >"$R/dev/sdb"
	[[ $(disk_users sda) == $'/srv/tree\nswap on /dev/sda1' ]] || fail "$(disk_users sda)"
	[[ $(disk_carries sda / /srv/tree) == /srv/tree ]]
	disk_is_partly_on sdb sda
	not disk_is_on sdb sda
	rm -r "$R/sys/fs/btrfs"
	not disk_is_partly_on sdb sda
	# bcachefs says all devices.
	printf '40 22 0:44 / /srv/tree rw shared:1 - bcachefs %s rw\n' /dev/sdb:/dev/sda \
		>"$R/proc/1/mountinfo"
	[[ $(disk_users sda) == $'/srv/tree\nswap on /dev/sda1' ]] || fail "$(disk_users sda)"
	: >"$R/proc/1/mountinfo"
	# Another device whose name begins like its own.
	echo '/dev/sda1' >"$R/proc/swaps"
	mkdir -p "$R/sys/class/block/sd"
	[[ -z $(disk_users sd) ]] || fail "$(disk_users sd)"
	printf '%s\n' 'Filename Type Size Used Priority' '/dev/dm-10 partition 1 0 -2' \
		>"$R/proc/swaps"
	[[ -z $(disk_users dm-1) && $(disk_users dm-10) == 'swap on /dev/dm-10' ]] ||
		fail "$(disk_users dm-1)"
	printf '%s\n' 'Filename Type Size Used Priority' '/dev/sda1 partition 1 0 -2' \
		>"$R/proc/swaps"
	echo 1 >"$R/sys/class/block/sda/ro"
	mkdir "$R/sys/class/block/sda/holders/md5"
	SIGNATURES=xfs free /dev/disk/by-id/ata-DISK_1 'in use: md5, swap on /dev/sda1
read-only: the kernel says it is read-only
signature: it holds xfs'
	wipefs() { return 1; }
	[[ $(disk_why_not_free /dev/sda) == *'unreadable: wipefs could not read it' ]]
}

@test "a mount whose source merely names the device does not use it: FUSE, tmpfs, overlay" {
	local type
	for type in fuse fuse.sshfs fuse.btrfs tmpfs overlay nfs4; do
		printf "41 22 0:50 / /home/u/x rw,nosuid,nodev,user_id=1000 shared:9 - %s /dev/sda \
rw\n" "$type" >"$R/proc/1/mountinfo"
		[[ -z $(disk_users sda) ]] || fail "$type: $(disk_users sda)"
	done
	# Nor is one of another device.
	echo '41 22 7:0 / /home/u/x rw - ext4 /dev/sda rw' >"$R/proc/1/mountinfo"
	[[ -z $(disk_users sda) ]] || fail "$(disk_users sda)"
}

@test "SMART: the exit code of smartctl is judged, and a disk that does not answer costs one time limit" {
	local code began
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	for code in 0 2 8 16 24 4 127; do
		printf '#!/bin/sh\nexit %s\n' "$code" >"$BATS_TEST_TMPDIR/bin/smartctl"
		chmod +x "$BATS_TEST_TMPDIR/bin/smartctl"
		PATH=$BATS_TEST_TMPDIR/bin:$PATH smart_health sda
		case $code in
		8 | 16 | 24) [[ $SMART == failing ]] || fail "$code: $SMART" ;;
		*) [[ $SMART == unknown ]] || fail "$code: $SMART" ;;
		esac
	done
	# Who waits in the kernel can't be killed.
	printf '#!/bin/sh\ntrap "" TERM\nexec sleep 9\n' >"$BATS_TEST_TMPDIR/bin/smartctl"
	timeout() { command timeout "${@/#3[02]/2}"; }
	began=$SECONDS
	PATH=$BATS_TEST_TMPDIR/bin:$PATH smart_health sda
	PATH=$BATS_TEST_TMPDIR/bin:$PATH smart_health sda
	[[ $SMART == unknown ]] && ((SECONDS - began < 6)) || fail "$SMART $((SECONDS - began)) s"
	# Its superblock can be read meanwhile.
	bounded_is_silent smart-sda
	not bounded_is_silent "$DEV/sda"
}

@test "if a check of a disk can't run for lack of processes, the disk does not count as free" {
	local program
	fake_disk sdb 104857600 disk/by-id/ata-B
	mkdir -p "$R/proc/1"
	printf '%s\n' '36 35 98:0 / /srv rw - ext4 /dev/sdx rw' >"$R/proc/1/mountinfo"
	printf 'Filename Type Size Used Priority\n' >"$R/proc/swaps"
	wipefs() { :; }
	[[ -z $(disk_why_not_free /dev/disk/by-id/ata-B) ]] ||
		fail "$(disk_why_not_free /dev/disk/by-id/ata-B)"
	# What make_child() in bash's jobs.c does in a subshell whose fork() has failed.
	for program in disk_mounted_ disk_users wipefs; do
		eval "real=\$(declare -f $program)"
		eval "$program() { exit 254; }"
		[[ -n $(disk_why_not_free /dev/disk/by-id/ata-B) ]] || fail "$program: free"
		eval "$real"
	done
	# Half a table of mounts is none.
	printf() {
		case $2 in
		*/srv*) ;;
		*) builtin printf "$@" ;;
		esac
	}
	[[ $(disk_why_not_free /dev/disk/by-id/ata-B) == 'in use: something unknown' ]]
}

@test "a disk does not count as unused if the mounts can't be seen" {
	fake_disk sda 104857600
	echo 8:0 >"$R/sys/class/block/sda/dev"
	disk_is_unused sda
	rm "$R/proc/1/mountinfo"
	not disk_is_unused sda
	# Our own table, under hidepid=.
	mkdir "$R/proc/self"
	: >"$R/proc/self/mountinfo"
	disk_is_unused sda
	echo '30 1 8:0 / /srv rw - ext4 /dev/sda rw' >"$R/proc/self/mountinfo"
	not disk_is_unused sda
}
