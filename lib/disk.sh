# Disks and their names: which names are stable, and what a configured path means now.
# shellcheck shell=bash

# Names that a disk keeps when others come and go. /dev/sdX is given out in the order of discovery.
disk_name_is_stable() {
	[[ $1 == /dev/@(disk/by-@(id|path|partuuid|partlabel)|mapper|md)/+([!/]) && $1 != */@(.|..) ]]
}

# Names that RAM= takes besides: a region of persistent memory. Its number is the region's, and regions are numbered in the order of their addresses, which
# the firmware or memmap= fixes. udev names one by its UUID, which only one with labels has; by path all that memmap= makes have the same name.
disk_name_is_fast() {
	disk_name_is_stable "$1" || [[ $1 == /dev/pmem+([0-9])?(.+([0-9]))?(s) ]]
}

# disk_find PATH: sets NODE to the kernel's name of the block device that PATH names ("sdb", "md127"); returns 1 when there is none.
# Without a process: the link and the node that the kernel's name has in /dev are the same file. The nodes in DISK_LIKELY, if there is one, are
# tried first, because there may be many others.
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
