# Disks: their size, what is on them, and whether they are free.
# shellcheck shell=bash

need core/bounded core/clock core/log core/mounts core/paths core/text world/disk-find

# disk_block NODE: prints the smallest unit that the device reads and writes, in bytes; a partition
# has that of its disk.
disk_block() {
	local bytes=512
	{
		read -r bytes <"$SYS/class/block/$1/queue/logical_block_size" ||
			read -r bytes <"$SYS/class/block/$1/../queue/logical_block_size"
	} 2>/dev/null || :
	printf '%s\n' "${bytes:-512}"
}

# disk_is_rotational NODE: does the device call itself rotational? A partition is as its disk is.
disk_is_rotational() {
	local file=$SYS/class/block/$1 value=''
	[[ -e $file/queue ]] || file=$file/..
	{ read -r value <"$file/queue/rotational"; } 2>/dev/null || :
	[[ $value == 1 ]]
}

# disk_bytes NODE
disk_bytes() {
	local sectors
	read -r sectors <"$SYS/class/block/$1/size"
	printf '%s\n' $((sectors * 512))
}

# disk_holders NODE: prints what the kernel shows on top of a device or of one of its partitions
# (md127, dm-3 …), one per line.
disk_holders() {
	local holder
	for holder in "$SYS/class/block/$1"/holders/* "$SYS/class/block/$1/$1"*/holders/*; do
		[[ ! -e $holder ]] || printf '%s\n' "${holder##*/}"
	done
}

# disk_users NODE: prints what uses a device or one of its partitions: mount points, holders, swap,
# one per line. Returns 1 when that can't be found out.
disk_users() {
	local target name lines=() nodes=() mounts
	disk_holders "$1"
	disk_parts "$1"
	mounts=$(disk_mounted_ "${nodes[@]}") || return
	IFS=$'\n' text_split lines "$mounts"
	for target in "${lines[@]}"; do
		text_unmangle target "$target"
		printf '%s\n' "$target"
	done
	mapfile -t lines <"$PROC/swaps"
	for name in "${lines[@]%%[[:blank:]]*}"; do
		name=${name##*/}
		[[ -z $name || ($name != "$1" && ! -e $SYS/class/block/$1/$name) ]] ||
			printf 'swap on /dev/%s\n' "$name"
	done
}

# disk_is_unused NODE: does nothing use the device? Returns 1 also when that can't be found out.
disk_is_unused() {
	local users
	users=$(disk_users "$1") && [[ -z $users ]]
}

# disk_parts NODE: sets the caller's nodes to the device and its partitions.
disk_parts() {
	local path
	nodes=("$1")
	for path in "$SYS/class/block/$1/$1"*; do [[ ! -e $path ]] || nodes+=("${path##*/}"); done
}

# disk_mounted_ NODE…: prints the mount points of file systems on exactly these devices, one per
# line, as mountinfo writes them (a blank is \040). A file system that does not have its device's
# number is found by its source if the kernel sets that: btrfs, and bcachefs, which names all its
# devices. For others, the source is a text chosen by whoever mounts them; with FUSE, that is any
# user. Returns 1 when the mounts can't be read to the end.
disk_mounted_() {
	local number target rest MOUNTS these numbers seen=0
	disk_numbers "$@"
	mounts_read || return 1
	((${#MOUNTS[@]} > 0)) || return 0
	while read -r _ _ number _ target rest; do
		seen=$((seen + 1))
		! disk_is_mount "$number" "$rest" || printf '%s\n' "$target"
	done < <(printf '%s\n' "${MOUNTS[@]}")
	((seen == ${#MOUNTS[@]}))
}

# disk_below PATH: sets NODE to the block device of the file system that PATH is in, whether or not
# PATH itself exists. Returns 1 when that file system has no block device.
disk_below() {
	local line MOUNTS target source best='' path
	path=$(readlink -m -- "$ROOT$1") NODE=''
	mounts_read || return 1
	for line in "${MOUNTS[@]}"; do
		text_into "$line" _ _ _ _ target
		text_unmangle target "$target"
		[[ ${path#"$ROOT"}/ == "${target%/}"/* && ${#target} -ge ${#best} ]] || continue
		best=$target
		text_into "${line#* - }" _ source
	done
	[[ ${source-} == /* ]] && disk_find "$source"
}

# disk_numbers NODE…: sets the caller's variables these (the names) and numbers (the device
# numbers), with blanks around each entry.
disk_numbers() {
	local node number
	these=" $* " numbers=' '
	for node; do
		{ read -r number <"$SYS/class/block/$node/dev"; } 2>/dev/null || continue
		numbers+="$number "
	done
}

# disk_is_mount NUMBER REST: is a line of a mount table a mount of one of the devices in the
# caller's these and numbers? NUMBER is its device number, REST the line from the sixth field on.
disk_is_mount() {
	if [[ $1 != 0:* ]]; then
		[[ $numbers == *" $1 "* ]]
	else
		disk_sources_ "${2#* - }"
	fi
}

# disk_sources_ "TYPE SOURCE OPTIONS": is this file system on one of the devices in the caller's
# these?
disk_sources_() {
	local type source path node NODE BESIDE
	text_into "$1" type source
	[[ $type == @(btrfs|bcachefs) ]] || return 1
	while [[ -n $source ]]; do
		path=${source%%:/dev/*} source=${source#"$path"} source=${source#:}
		[[ $path == /dev/* ]] || return 1
		disk_find "$path" || continue
		disk_beside_ "$NODE"
		for node in "$NODE" "${BESIDE[@]}"; do
			[[ $these != *" $node "* ]] || return 0
		done
	done
	return 1
}

# disk_beside_ NODE: sets the caller's BESIDE to all devices of the mounted btrfs that NODE belongs
# to, if there is one. A table of mounts names only one of them (linux fs/btrfs/super.c,
# btrfs_show_devname()).
disk_beside_() {
	local folder entry
	BESIDE=()
	for folder in "$SYS"/fs/btrfs/*/devices; do
		[[ -e $folder/$1 ]] || continue
		for entry in "$folder"/*; do BESIDE+=("${entry##*/}"); done
	done
}

# disk_is_idle NODE: is the device used by device-mapper devices alone, with nobody using the
# topmost of them? That is so when the volumes on it have been unmounted.
disk_is_idle() {
	local stack node open users
	users=$(disk_mounts "$1") && [[ -z $users ]] || return 1
	mapfile -t stack < <(disk_stack "$1")
	((${#stack[@]} > 1)) || return 1
	for node in "${stack[@]:1}"; do
		[[ $node == dm-* && -r $SYS/class/block/$node/dev ]] || return 1
		users=$(disk_holders "$node") || return 1
		[[ -z $users ]] || continue
		open=$(dmsetup info --columns --noheadings --options open \
			--major "$(cut -d: -f1 "$SYS/class/block/$node/dev")" \
			--minor "$(cut -d: -f2 "$SYS/class/block/$node/dev")") || return 1
		[[ ${open// /} == 0 ]] || return 1
	done
}

# disk_stack NODE: prints the device, its partitions, and everything that is stacked on them, one
# per line; some perhaps twice.
disk_stack() {
	local above
	printf '%s\n' "$1"
	for above in "$SYS/class/block/$1/$1"* "$SYS/class/block/$1"/holders/*; do
		[[ ! -e $above ]] || disk_stack "${above##*/}"
	done
}

# disk_mounts NODE: prints every mount point of a file system that is on the device or on what is
# stacked on it, as disk_mounted_ does.
disk_mounts() {
	local stack
	mapfile -t stack < <(disk_stack "$1")
	((${#stack[@]} > 0)) && disk_mounted_ "${stack[@]}"
}

# disk_carries NODE TARGET…: prints those of the mount points TARGET that disk_mounts finds for
# NODE.
disk_carries() {
	local mount
	while IFS= read -r mount; do
		[[ " ${*:2} " != *" $mount "* ]] || printf '%s\n' "$mount"
	done < <(disk_mounts "$1")
}

# disk_beneath NODE: sets BENEATH to the devices directly below it: a partition's disk, or what a
# volume or an array is made of. sysfs shows no slaves for a partition, whatever its disk is made of
# (linux block/partitions/core.c, add_partition(): holders alone).
disk_beneath() {
	local entry
	BENEATH=()
	if [[ -e $SYS/class/block/$1/partition ]]; then
		entry=$(readlink -e "$SYS/class/block/$1/..") && BENEATH=("${entry##*/}")
		return 0
	fi
	for entry in "$SYS/class/block/$1"/slaves/*; do
		[[ ! -e $entry ]] || BENEATH+=("${entry##*/}")
	done
}

# disk_physical NODE: prints the disks that a device is on, one per line; some perhaps twice.
disk_physical() {
	local below BENEATH=()
	disk_beneath "$1"
	((${#BENEATH[@]} > 0)) || printf '%s\n' "$1"
	for below in "${BENEATH[@]}"; do disk_physical "$below"; done
}

# disk_is_on NODE OTHER: is NODE the device OTHER, a partition of it, or stacked on it?
disk_is_on() {
	local below BENEATH=()
	[[ $1 != "$2" ]] || return 0
	disk_beneath "$1"
	for below in "${BENEATH[@]}"; do ! disk_is_on "$below" "$2" || return 0; done
	return 1
}

# disk_is_partly_on NODE OTHER: is the file system on NODE, with any of its devices, on OTHER?
disk_is_partly_on() {
	local node BESIDE
	disk_beside_ "$1"
	for node in "$1" "${BESIDE[@]}"; do ! disk_is_on "$node" "$2" || return 0; done
	return 1
}

# disk_containers NODE: prints the names of the dm-crypt devices (LUKS or plain) that NODE is, or is
# in, one per line.
disk_containers() {
	local below uuid='' name BENEATH=()
	{
		read -r uuid <"$SYS/class/block/$1/dm/uuid" &&
			read -r name <"$SYS/class/block/$1/dm/name"
	} 2>/dev/null || :
	[[ $uuid != CRYPT-* ]] || printf '%s\n' "$name"
	disk_beneath "$1"
	for below in "${BENEATH[@]}"; do disk_containers "$below"; done
}

# disk_is_remote NODE: is one of its physical disks reached over the network? That is NVMe over
# fabrics (nvme's "transport"), iSCSI (its device is below a "session"), a network block device, or
# Ceph; and DRBD, whose other half is on another machine.
disk_is_remote() {
	local disk file transport path
	[[ $1 != drbd[0-9]* ]] || return 0
	while IFS= read -r disk; do
		[[ $disk != @(nbd|rbd|rnbd)[0-9]* ]] || return 0
		# With several paths to a disk, its controllers are below its subsystem.
		for file in "$SYS/class/block/$disk"/device/{,nvme*/}transport; do
			[[ -r $file ]] || continue
			read -r transport <"$file" || :
			[[ $transport != @(tcp|rdma|fc) ]] || return 0
		done
		path=$(readlink -f "$SYS/class/block/$disk/device") || continue
		[[ ! $path =~ /session[0-9]+/ ]] || return 0
	done < <(disk_physical "$1")
	return 1
}

# disk_why_not_free PATH: prints why a disk must not be used, one reason per line; nothing if it is
# free. The caller may overrule "signature" reasons.
disk_why_not_free() {
	local path=$1 node users signatures readonly_ kinds='' line lines type usage
	node=$(disk_find_node "$path") || {
		printf 'missing: there is no block device %s\n' "$path"
		return
	}
	[[ $node != *!* ]] || {
		printf 'unfit: its name has a slash (/dev/%s)\n' "${node//!//}"
		return
	}
	users=$(disk_users "$node") || users=$TEXT_SOMEBODY
	[[ -z $users ]] || printf 'in use: %s\n' "${users//$'\n'/, }"
	{ read -r readonly_ <"$SYS/class/block/$node/ro"; } 2>/dev/null || readonly_=0
	[[ $readonly_ == 0 ]] || printf 'read-only: the kernel says it is read-only\n'
	signatures=$(bounded "$DEV/$node" wipefs --noheadings --output TYPE,USAGE -- \
		"$ROOT/dev/$node") || {
		if (($? == BOUNDED_SILENT)); then
			printf 'unreadable: it does not answer\n'
		else
			printf 'unreadable: wipefs could not read it\n'
		fi
		return
	}
	IFS=$'\n' text_split lines "$signatures"
	for line in "${lines[@]}"; do
		text_into "$line" type usage
		[[ $usage != partition-table ]] || type="a partition table ($type)"
		kinds+=${type:+, $type}
	done
	[[ -z $kinds ]] || printf 'signature: it holds %s\n' "${kinds#, }"
}

disk_has_node_() { [[ -b $DEV/$1 && -e $SYS/block/$1/size ]]; }

disk_wait_node() { # NODE
	clock_until 10 0.1 disk_has_node_ "$1" || {
		echo "/dev/$1 did not appear" >&2
		return 1
	}
}
