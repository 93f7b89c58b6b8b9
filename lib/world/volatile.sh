# What a power-off empties: file systems in memory, ramdisks, and what is stacked on these alone.
# shellcheck shell=bash

need core/text world/disk world/disk-find world/loop-device world/md-state world/ramdisk-note

# volatile_is_type TYPE: is a file system of this type in memory?
volatile_is_type() { [[ $1 == @(tmpfs|ramfs|devtmpfs|rootfs) ]]; }

# volatile_is NODE: is what the device holds on ramdisks, or in files in memory, alone? Of an array,
# only the members in sync count: a failed disk stays among its slaves until it is removed, and
# lacks what was written since it failed.
volatile_is() {
	local below BENEATH=() LEGS
	disk_beneath "$1"
	md_state_members "$1"
	((${#BENEATH[@]} + ${#LEGS[@]} > 0)) || {
		ramdisk_note_is_node "$1" || volatile_loop_ "$1"
		return
	}
	((${#LEGS[@]} == 0)) || volatile_members_
	for below in "${BENEATH[@]}"; do volatile_is "$below" || return 1; done
}

# volatile_loop_ NODE: is it a loop device, with a file that a power-off empties?
volatile_loop_() {
	local LOOP_DEVICE_TYPE LOOP_DEVICE_SOURCE NODE
	[[ $1 == loop+([0-9]) ]] || return 1
	loop_device_on "$1"
	! volatile_is_type "$LOOP_DEVICE_TYPE" || return 0
	[[ $LOOP_DEVICE_SOURCE == /dev/* ]] && disk_find "$LOOP_DEVICE_SOURCE" &&
		volatile_is "$NODE"
}

# Sets the caller's BENEATH to those of its LEGS that are in sync.
volatile_members_() {
	local line node state
	BENEATH=()
	for line in "${LEGS[@]}"; do
		text_into "$line" node state _
		[[ $state != in_sync ]] || BENEATH+=("$node")
	done
}
