# Loop devices: the only file that makes one or takes one away.
# shellcheck shell=bash

need core/act core/bounded core/clock core/log core/paths

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

# loop_device_of FOLDER: sets LOOP_NODES to the devices whose files are in FOLDER, which is root's
# alone: so whoever made them is who made the folder.
loop_device_of() {
	local file files=()
	for file in "$1"/*; do [[ ! -f $file || -L $file ]] || files+=("$file"); done
	loop_device_behind "${files[@]}"
}

# loop_device_behind FILE…: sets LOOP_NODES to the devices that have one of these files, or device
# nodes, behind them, by inode and file system. Not by the path that the kernel gives: that is one
# of the mount namespace of whoever made the device (d_path() in linux fs/d_path.c; case
# "selftest"). A run of a unit has one of its own, and so may any user, who can call a file there as
# he likes.
loop_device_behind() {
	local node identity behind=' ' file
	LOOP_NODES=()
	for file; do
		behind+="$(stat -c '%Hd:%Ld:%i' -- "$file" 2>/dev/null) " || :
	done
	[[ $behind == *[0-9]* ]] || return 0
	while read -r node identity; do
		[[ -z $identity || $behind != *" $identity "* ]] || LOOP_NODES+=("$node")
	done < <(loop_device_each_ | sort -V)
}

# Prints "NODE MAJOR:MINOR:INODE" of each device that is set up. The kernel asks the file system of
# the file for its inode, and that may be one that does not answer: so all are asked side by side,
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
	# util-linux 2.38, of Debian 12, fills the number up with blanks, and writes these as \x20.
	number=${number//\\x20/}
	[[ -z $inode ]] || printf '%s %s:%s\n' "$1" "$number" "$inode"
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
