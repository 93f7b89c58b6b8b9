# Which devices a power-off empties: ramdisks, and what is stacked on ramdisks alone.
# shellcheck shell=bash

need core/text world/disk world/md-state world/ramdisk-note

# volatile_is NODE: is what the device holds on ramdisks alone? Of an array, only the members in
# sync count: a failed disk stays among its slaves until it is removed, and lacks what was written
# since it failed.
volatile_is() {
	local below BENEATH=() LEGS
	disk_beneath "$1"
	md_state_members "$1"
	((${#BENEATH[@]} + ${#LEGS[@]} > 0)) || {
		ramdisk_note_is_node "$1"
		return
	}
	((${#LEGS[@]} == 0)) || volatile_members_
	for below in "${BENEATH[@]}"; do volatile_is "$below" || return 1; done
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
