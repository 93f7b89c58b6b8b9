# Loop devices: the only file that makes one or takes one away.
# shellcheck shell=bash

need core/act core/bounded core/clock core/log core/mounts core/paths core/text

# loop_device_can_be_had: does this kernel have loop devices? Loads their module.
loop_device_can_be_had() { modprobe -q loop || [[ -e $SYS/module/loop || -e $SYS/block/loop0 ]]; }

# loop_device_make FILE BLOCK: makes a loop device that has FILE's contents and logical blocks of
# BLOCK bytes. Sets LOOP_DEVICE_NODE to its node. Returns 1 when it can't be made.
loop_device_make() {
	local path
	LOOP_DEVICE_NODE=''
	log_info "+ losetup --find --show --sector-size $2 $1"
	path=$(losetup --find --show --sector-size "$2" -- "$1") || return 1
	LOOP_DEVICE_NODE=${path##*/}
	[[ $LOOP_DEVICE_NODE == loop+([0-9]) ]]
}

# loop_device_of FOLDER: sets LOOP_DEVICE_NODES to the devices whose files are in FOLDER. Only root
# may write to FOLDER, so whoever made the folder made these devices, too.
loop_device_of() {
	local file files=()
	for file in "$1"/*; do [[ ! -f $file || -L $file ]] || files+=("$file"); done
	loop_device_behind "${files[@]}"
}

# loop_device_behind FILE…: sets LOOP_DEVICE_NODES to the devices that have one of these files, or
# device nodes, behind them. It compares inode and file system, and not the path that the kernel
# gives, which is a path in the mount namespace of whoever made the device (d_path() in linux
# fs/d_path.c; case "selftest"). Each run of a unit has a namespace of its own. Any user may have
# one too, and can give a file there any name.
loop_device_behind() {
	local node identity behind=' ' file
	LOOP_DEVICE_NODES=()
	for file; do
		behind+="$(stat -c '%Hd:%Ld:%i' -- "$file" 2>/dev/null) " || :
	done
	[[ $behind == *[0-9]* ]] || return 0
	while read -r node identity; do
		[[ -z $identity || $behind != *" $identity "* ]] || LOOP_DEVICE_NODES+=("$node")
	done < <(loop_device_each_ | sort -V)
}

# Prints "NODE MAJOR:MINOR:INODE" of each device that is set up. To report the inode, the kernel
# asks the file system of the file, which may not answer. So all devices are asked at the same time,
# each within a bound.
loop_device_each_() {
	local file
	for file in "$SYS"/block/loop*/loop/backing_file; do
		[[ -e $file ]] || continue
		file=${file%/loop/backing_file}
		loop_device_one_ "${file##*/}" &
	done
	wait
}
loop_device_one_() { # NODE
	local number='' inode=''
	read -r number inode < <(bounded "$DEV/$1" losetup --list --noheadings --raw \
		--output BACK-MAJ:MIN,BACK-INO "/dev/$1") || return 0
	# util-linux 2.38 (Debian 12) pads the number with blanks, and prints each of them as \x20.
	number=${number//\\x20/}
	[[ -z $inode ]] || printf '%s %s:%s\n' "$1" "$number" "$inode"
}

# loop_device_on NODE: sets LOOP_DEVICE_TYPE and LOOP_DEVICE_SOURCE to the type and the source of
# the file system that the file behind this device is on; to nothing when it is not in the table of
# mounts, as a subvolume of btrfs, whose number only its files have.
loop_device_on() {
	local node='' identity='' line number mounted MOUNTS
	LOOP_DEVICE_TYPE='' LOOP_DEVICE_SOURCE=''
	read -r node identity < <(loop_device_one_ "$1") && mounts_read || return 0
	for line in "${MOUNTS[@]}"; do
		text_into "$line" _ _ number _
		[[ $number == "${identity%:*}" ]] || continue
		text_into "${line#* - }" LOOP_DEVICE_TYPE mounted _
		text_unmangle LOOP_DEVICE_SOURCE "$mounted"
		return
	done
}

# loop_device_drop NODE FOLDER: detaches the device if it is still one of FOLDER's. The kernel
# detaches it once nobody has it open; udev opens it now and then. Returns 1 when the device is
# still there after 15 s.
loop_device_drop() {
	clock_until 15 0.3 loop_device_is_gone_ "$1" "$2"
}
loop_device_is_gone_() { # NODE FOLDER
	local LOOP_DEVICE_NODES
	loop_device_of "$2"
	[[ " ${LOOP_DEVICE_NODES[*]} " == *" $1 "* ]] || return 0
	act losetup --detach "/dev/$1" || :
	loop_device_of "$2"
	[[ " ${LOOP_DEVICE_NODES[*]} " != *" $1 "* ]]
}
