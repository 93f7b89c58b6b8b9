# Disks: what a configured path means now, its size, what sits on it, and whether it is free.
# shellcheck shell=bash

need core/bounded core/clock core/log core/mounts core/paths core/text

# disk_find PATH: sets NODE to the kernel's name of the block device that PATH names ("sdb",
# "md127"); returns 1 when there is none. Without a process: the link and the node that the kernel's
# name has in /dev are the same file. The nodes in DISK_LIKELY, if there is one, are tried first,
# because there may be many others.
disk_find() {
	local entry
	NODE=''
	[[ -e $ROOT$1 ]] || return 1
	for entry in "${DISK_LIKELY[@]}"; do
		[[ ! $ROOT$1 -ef $DEV/${entry//!//} ]] || {
			NODE=$entry
			return 0
		}
	done
	for entry in "$SYS"/class/block/*; do
		entry=${entry##*/}
		[[ $ROOT$1 -ef $DEV/${entry//!//} ]] || continue
		NODE=$entry
		return 0
	done
	return 1
}

disk_node() { # PATH: prints it
	local NODE
	disk_find "$1" && printf '%s\n' "$NODE"
}

# disk_block NODE: the smallest piece that it reads and writes, in bytes; a partition's is its
# disk's.
disk_block() {
	local bytes=512
	{
		read -r bytes <"$SYS/class/block/$1/queue/logical_block_size" ||
			read -r bytes <"$SYS/class/block/$1/../queue/logical_block_size"
	} 2>/dev/null || :
	printf '%s\n' "${bytes:-512}"
}

# disk_is_rotational NODE: does it turn, by what it says of itself? A partition by its disk.
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

# disk_holders NODE: what the kernel says sits on a device or on one of its partitions (md127, dm-3
# …), one a line.
disk_holders() {
	local holder
	for holder in "$SYS/class/block/$1"/holders/* "$SYS/class/block/$1/$1"*/holders/*; do
		[[ ! -e $holder ]] || printf '%s\n' "${holder##*/}"
	done
}

# disk_users NODE: what uses a device or one of its partitions: mount points, holders, swap, one a
# line. Returns 1 when that could not be found out.
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

# disk_is_unused NODE: is there nothing of that, and could that be found out?
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

# disk_mounted_ NODE…: the mount points of file systems on these very devices, as mountinfo writes
# them (a blank is \040), one a line. A file system that has no device number of its own is known by
# its source where the kernel gives that: btrfs, and bcachefs, which names all its devices.
# Elsewhere the source is a text that whoever mounts chooses, with FUSE any user. Returns 1 when the
# look has failed.
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
# PATH itself is there. Returns 1 when that has none.
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

# disk_numbers NODE…: sets the caller's these and numbers to their names and device numbers, with
# blanks around each.
disk_numbers() {
	local node number
	these=" $* " numbers=' '
	for node; do
		{ read -r number <"$SYS/class/block/$node/dev"; } 2>/dev/null || continue
		numbers+="$number "
	done
}

# disk_is_mount NUMBER REST: is a line of a mount table, with this device number, and this from the
# sixth field on, of one of the caller's these?
disk_is_mount() {
	if [[ $1 != 0:* ]]; then
		[[ $numbers == *" $1 "* ]]
	else
		disk_sources_ "${2#* - }"
	fi
}

# disk_sources_ "TYPE SOURCE OPTIONS": is the file system on one of the caller's these?
disk_sources_() {
	local type source path NODE
	text_into "$1" type source
	[[ $type == @(btrfs|bcachefs) ]] || return 1
	while [[ -n $source ]]; do
		path=${source%%:/dev/*} source=${source#"$path"} source=${source#:}
		[[ $path == /dev/* ]] || return 1
		! disk_find "$path" || [[ $these != *" $NODE "* ]] || return 0
	done
	return 1
}

# disk_is_idle NODE: is it used by nothing but device-mapper devices, and the topmost of these by
# nobody? As volumes are that have been unmounted.
disk_is_idle() {
	local stack node open users
	users=$(disk_mounts "$1") && [[ -z $users ]] || return 1
	mapfile -t stack < <(disk_stack "$1")
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

# disk_stack NODE: the device, its partitions, and all that is stacked on them, one a line; some
# perhaps twice.
disk_stack() {
	local above
	printf '%s\n' "$1"
	for above in "$SYS/class/block/$1/$1"* "$SYS/class/block/$1"/holders/*; do
		[[ ! -e $above ]] || disk_stack "${above##*/}"
	done
}

# disk_mounts NODE: every mount point of a file system that is on the device or on what is stacked
# on it, as disk_mounted_ prints them.
disk_mounts() {
	local stack
	mapfile -t stack < <(disk_stack "$1")
	((${#stack[@]} > 0)) && disk_mounted_ "${stack[@]}"
}

# disk_carries NODE TARGET…: prints those of the mount points TARGET whose file system is there.
disk_carries() {
	local mount
	while IFS= read -r mount; do
		[[ " ${*:2} " != *" $mount "* ]] || printf '%s\n' "$mount"
	done < <(disk_mounts "$1")
}

# disk_beneath NODE: sets BENEATH to the devices that it is right on: a partition is on its disk, a
# volume or an array on what it is made of. A partition has no slaves in sysfs, whatever its disk is
# made of (linux block/partitions/core.c, add_partition(): holders alone).
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

# disk_physical NODE: the disks that a device is on, one a line; some perhaps twice.
disk_physical() {
	local below BENEATH=()
	disk_beneath "$1"
	((${#BENEATH[@]} > 0)) || printf '%s\n' "$1"
	for below in "${BENEATH[@]}"; do disk_physical "$below"; done
}

# disk_is_on NODE OTHER: is it that device, a partition of it, or stacked on it?
disk_is_on() {
	local below BENEATH=()
	[[ $1 != "$2" ]] || return 0
	disk_beneath "$1"
	for below in "${BENEATH[@]}"; do ! disk_is_on "$below" "$2" || return 0; done
	return 1
}

# disk_containers NODE: the names of the LUKS containers that it is, or is in, one a line.
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

# disk_is_remote NODE: is a physical disk of it reached over the network? NVMe over fabrics (nvme's
# "transport"), iSCSI (its device hangs below a "session"), network block devices, Ceph; and DRBD,
# whose other half is on another machine.
disk_is_remote() {
	local disk file transport path
	[[ $1 != drbd[0-9]* ]] || return 0
	while IFS= read -r disk; do
		[[ $disk != @(nbd|rbd|rnbd)[0-9]* ]] || return 0
		# With more than one path to it the controllers are below its subsystem.
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

# disk_why_not_free PATH: prints why a disk must not be taken (nothing: it is free). "signature"
# reasons can be overruled.
disk_why_not_free() {
	local path=$1 node users signatures readonly_ kinds='' line lines type usage
	node=$(disk_node "$path") || {
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
