# Loop devices: the only file that makes one or takes one away.
# shellcheck shell=bash

need core/act core/clock core/log core/paths

# loop_device_can_be_had: has this kernel any?
loop_device_can_be_had() { modprobe -q loop || [[ -e $SYS/module/loop || -e $SYS/block/loop0 ]]; }

# loop_device_make FILE BLOCK: a device with logical blocks of BLOCK bytes that has FILE's contents.
# Sets LOOP_NODE to its node. Returns 1 when there is none.
loop_device_make() {
	local path
	LOOP_NODE=''
	log_info "+ losetup --find --show --sector-size $2 $1"
	path=$(losetup --find --show --sector-size "$2" -- "$1") || return 1
	LOOP_NODE=${path##*/}
	[[ $LOOP_NODE == loop+([0-9]) ]]
}

# loop_device_of FOLDER: sets LOOP_NODES to the devices whose files are, or were, in FOLDER, which
# is root's alone: so whoever made them is who made the folder. By the path; and by the file itself,
# because the kernel writes the path as seen from the mount namespace of who made the device
# (d_path() in linux fs/d_path.c; case "selftest"): each run of a unit has one of its own.
loop_device_of() {
	local file backing node number inode files=' '
	LOOP_NODES=()
	for file in "$SYS"/block/loop*/loop/backing_file; do
		backing=''
		{ read -r backing <"$file"; } 2>/dev/null || continue
		file=${file%/loop/backing_file}
		[[ $backing != "$1"/* ]] || LOOP_NODES+=("${file##*/}")
	done
	for file in "$1"/*; do
		[[ ! -f $file || -L $file ]] || files+="$(stat -c '%Hd:%Ld:%i' -- "$file") "
	done
	[[ $files != ' ' ]] || return 0
	while read -r node number inode; do
		node=${node##*/}
		[[ $files != *" $number:$inode "* || " ${LOOP_NODES[*]} " == *" $node "* ]] ||
			LOOP_NODES+=("$node")
	done < <(losetup --list --noheadings --raw --output NAME,BACK-MAJ:MIN,BACK-INO 2>/dev/null)
}

# loop_device_drop NODE FOLDER: detaches it, if it is still one of FOLDER's. The kernel does so
# when nobody has it open any more, as udev has now and then. Returns 1 when it is still there after
# that.
loop_device_drop() {
	clock_until 15 0.3 loop_device_is_gone_ "$1" "$2"
}
loop_device_is_gone_() { # NODE FOLDER
	local LOOP_NODES
	loop_device_of "$2"
	[[ " ${LOOP_NODES[*]} " == *" $1 "* ]] || return 0
	act losetup --detach "/dev/$1" || :
	loop_device_of "$2"
	[[ " ${LOOP_NODES[*]} " != *" $1 "* ]]
}
