# A device that is there already, and that serves as the RAM leg (RAM=/dev/…).
# shellcheck shell=bash

need world/disk world/ramdisk world/ramdisk-note

# ramdisk_device_take NAME BYTES PATH: a device that holds nothing. Looked at once more: between
# the decision and this somebody may have written to it.
ramdisk_device_take() {
	local NODE why RAM_PROVIDER RAM_NODE RAM_BYTES
	why=$(ramdisk_device_why_not "$3" "$2" "${5-}")
	[[ -z $why ]] || {
		printf '%s is not taken: %s\n' "$3" "${why//$'\n'/; }" >&2
		return 1
	}
	disk_find "$3" || return 1
	# Of an earlier configuration.
	ramdisk_note_read "$1"
	[[ -z $RAM_NODE || $RAM_NODE == "$NODE" ]] || ramdisk_drop "$1" || return 1
	ramdisk_note_device "$1" "$NODE"
}

# ramdisk_device_why_not PATH BYTES [BLOCK]: prints why a device can't be the RAM leg of an array
# whose legs have BYTES, in blocks of BLOCK bytes; a reason a line; nothing if it can: free, blank,
# large enough. With larger blocks it would make those of the running array larger, for which nobody
# on it is prepared.
ramdisk_device_why_not() {
	local NODE why bytes
	why=$(disk_why_not_free "$1")
	[[ -z $why ]] ||
		printf '%s\n' "${why/#signature:*/$why (if nothing on it is needed: wipefs --all $1)}"
	[[ $why != missing:* ]] && disk_find "$1" || return 0
	bytes=$(disk_bytes "$NODE")
	((bytes >= $2)) || printf 'too small: it has %s bytes, and a leg needs %s\n' "$bytes" "$2"
	[[ -z ${3-} ]] || (($(disk_block "$NODE") <= $3)) ||
		printf 'its blocks of %s bytes are larger than those of the array (%s)\n' \
			"$(disk_block "$NODE")" "$3"
}

ramdisk_device_drop() { :; } # it stays as it is: nothing of it is in our memory
