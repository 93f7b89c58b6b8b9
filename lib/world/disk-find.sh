# Which block device a path means now.
# shellcheck shell=bash

need core/paths

# disk_find PATH: sets NODE to the kernel's name of the block device that PATH names ("sdb",
# "md127"); returns 1 when there is none. It starts no process: PATH and the node /dev/NODE are the
# same file. It tries the nodes in DISK_LIKELY first, if set, because there may be many others.
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

# disk_find_among PATH OTHER…: sets REPLY to the first OTHER that is the same path, or leads to the
# same block device now; returns 1 when none does.
disk_find_among() {
	local path=$1 NODE node=''
	disk_find "$path" && node=$NODE
	shift
	for REPLY in "$@"; do
		[[ $REPLY != "$path" ]] || return 0
		[[ -z $node ]] || ! disk_find "$REPLY" || [[ $NODE != "$node" ]] || return 0
	done
	return 1
}

disk_find_node() { # PATH: prints it
	local NODE
	disk_find "$1" && printf '%s\n' "$NODE"
}
