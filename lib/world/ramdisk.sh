# Ramdisks: makes and drops them, and takes the device that RAM=/dev/… names instead of one. Nothing
# outside world/ramdisk*.sh does so. world/ramdisk-note.sh knows which one belongs to which array.
# shellcheck shell=bash

need core/act core/clock core/lock core/log core/paths core/quantity core/text world/disk
need world/disk-find world/kernels world/ramdisk-brd world/ramdisk-memory world/ramdisk-note
need world/ramdisk-zram

readonly RAM_PAGE=4096

# ramdisk_is_blank NAME: does the array's ramdisk hold nothing but zeros, and take no page of
# memory? A device of brd never counts as blank: it keeps what it held, and anybody could have used
# it. ramdisk_used NAME: notes that it is no longer blank; returns 1 when the note can't be written.
ramdisk_is_blank() { grep -qs ' blank$' "$RUN/$1.ram"; }
ramdisk_used() { ! ramdisk_is_blank "$1" || sed -i 's/ blank$/ used/' "$RUN/$1.ram"; }

# Only one ramdisk is made or dropped at a time, because numbers, memory and brd are shared.
ramdisk_lock() {
	local code=0
	{ paths_run && lock_take RAM_LOCK "$LOCKS/ramdisks" --timeout 60; } || code=$?
	((code > 0)) || return 0
	if [[ -w $LOCKS ]]; then
		echo "another ramraid has been at work on a ramdisk for 60 s and does not end; \
see: ps -C ramraid" >&2
	else
		echo "$LOCKS/ramdisks can't be opened; is $RUN writable?" >&2
	fi
	return 1
}
ramdisk_unlock() { exec {RAM_LOCK}>&-; }

# ramdisk_failed NAME: notes that the array's ramdisk has failed. Returns 1, with the reason in
# RAM_FAILED, when that has happened too often. ramdisk_may_try NAME checks the same, and notes
# nothing. ramdisk_forgive NAME forgets the failures, because a person wants to try again.
readonly RAM_TRIES=3 RAM_WINDOW=3600 # so many failures within so many seconds
ramdisk_failed() {
	clock_uptime
	act_put_more "$RUN/$1.failures" "$UPTIME"
	ramdisk_may_try "$1"
}
ramdisk_may_try() {
	local failures=() when count=0
	RAM_FAILED=''
	[[ -e $RUN/$1.failures ]] || return 0
	clock_uptime
	mapfile -t failures <"$RUN/$1.failures"
	for when in "${failures[@]}"; do
		# A damaged entry counts as a failure just now: better not to try again than to try
		# for ever.
		text_number_or when "$UPTIME"
		((UPTIME - when >= RAM_WINDOW)) || count=$((count + 1))
	done
	((count < RAM_TRIES)) && return
	RAM_FAILED="the ramdisk has failed $count times within an hour; \
see the kernel's messages (journalctl -k), then: ramraid attach $1"
	return 1
}
ramdisk_forgive() { rm -f "$RUN/$1.failures"; }

# ramdisk_why_not BYTES RESERVE [FREED]: prints why a ramdisk that takes BYTES (ramdisk_need) must
# not be made beside RESERVE (bytes or percent of all memory), after one of FREED bytes has been
# given back. The kernel can neither swap out nor reclaim the pages of a ramdisk: one that is too
# large ends in the OOM killer, not in an error.
ramdisk_why_not() {
	local RAM_ROOM RAM_RESERVED
	ramdisk_memory_room "$2" "${3:-0}"
	(($1 + RAM_RESERVED > RAM_ROOM)) || return 0
	printf 'the ramdisk needs %s and %s keeps %s free, but only %s of memory are available\n' \
		"$(quantity_show_bytes "$1")" "${MEMORY_RESERVE_BY:-RAM_RESERVE}" \
		"$(quantity_show_bytes "$RAM_RESERVED")" "$(quantity_show_bytes "$RAM_ROOM")"
}

# ramdisk_need PROVIDER BYTES LIMIT: prints how many bytes of memory there must be for a leg of
# BYTES; LIMIT is the value of RAM_LIMIT=.
ramdisk_need() {
	if [[ $1 == zram* ]]; then ramdisk_zram_need "$2" "$3"; else printf '%s\n' "$2"; fi
}

# ramdisk_plan PROVIDER BYTES: prints what would be made, for the question that comes before it.
# BYTES is what ramdisk_need prints. Changes nothing: it looks for a module, and does not load it.
ramdisk_plan() {
	local kind=$1 how=takes
	[[ $kind != auto ]] || kind=rapiddisk
	[[ $1 != auto || $(kernels_module "$(kernels_running)" rapiddisk) != none ]] || kind=brd
	[[ $kind != zram* ]] || how='may take'
	printf 'a new ramdisk (%s), which %s %s of memory\n' "$kind" "$how" \
		"$(quantity_show_bytes "$2")"
}

# ramdisk_make NAME BYTES PROVIDER RESERVE [BLOCK [LIMIT]]: makes the ramdisk if memory allows.
# PROVIDER is rapiddisk, brd, zram, zram:ALGORITHM, or auto: the first of the three that this kernel
# has; or the path of a device, which is taken instead. BLOCK is the size of the array's logical
# blocks, LIMIT the value of RAM_LIMIT=. When it makes none, it says why on stderr, and returns 75
# if memory is short, else 1.
ramdisk_make() {
	local name=$1 bytes=$2 provider=$3 why='' code=0
	if [[ $provider == /* ]]; then
		ramdisk_device_take "$@"
		return
	fi
	[[ $provider != auto ]] || provider=$(ramdisk_auto_ "$name" "${5:-0}")
	[[ $provider != zram* ]] || why=$(ramdisk_zram_why_not "$bytes" "${5:-0}") ||
		why=$TEXT_UNKNOWN
	[[ -z $why ]] || {
		printf '%s\n' "$why" >&2
		return 1
	}
	bytes=$(((bytes + RAM_PAGE - 1) / RAM_PAGE * RAM_PAGE))
	ramdisk_lock || return 1
	ramdisk_make_locked_ "$name" "$bytes" "$provider" "$4" "${6:-auto}" || code=$?
	ramdisk_unlock
	return "$code"
}

ramdisk_make_locked_() { # NAME BYTES PROVIDER RESERVE LIMIT
	local kind=${3%%:*} node why used=used limit=''
	why=$(ramdisk_need "$3" "$2" "$5") && why=$(ramdisk_why_not "$why" "$4") ||
		why=$TEXT_UNKNOWN
	[[ -z $why ]] || {
		printf '%s\n' "$why" >&2
		return "$EX_TRY_AGAIN"
	}
	[[ $kind != zram ]] || limit=$(ramdisk_zram_limit "$2" "$5" "$4")
	node=$("ramdisk_${kind}_make" "$2" "$1" "$3" "$limit") || return 1
	[[ $kind == brd ]] || used=blank
	ramdisk_note_write "$1" "$kind" "$node" "$2" "$used" || {
		# Without the note, nobody would ever give its memory back.
		"ramdisk_${kind}_drop" "$node" "$1" && rm -f "$RUN/$1.ram"
		return 1
	}
}

# ramdisk_auto_ NAME BLOCK: prints what RAM=auto means on this kernel, for an array with blocks of
# BLOCK bytes.
ramdisk_auto_() {
	! ramdisk_has_rapiddisk || {
		printf 'rapiddisk\n'
		return
	}
	if (($2 >= RAMDISK_ZRAM_BLOCK)) && ! ramdisk_brd_can_be_had && ramdisk_zram_is_there; then
		log_notice "$1: this kernel ($(uname -r)) has neither rapiddisk nor brd; using zram"
		printf 'zram\n'
	else
		log_notice "$1: no rapiddisk module for this kernel ($(uname -r)); using brd. For \
rapiddisk: apt install rapiddisk-dkms and the kernel's headers"
		printf 'brd\n'
	fi
}

ramdisk_has_rapiddisk() { modprobe -q rapiddisk && [[ -e $RAPIDDISK/mgmt ]]; }

# Uses the kernel interface itself, because the rapiddisk program exits 0 even when the kernel
# refuses. The size is read back from sysfs.
ramdisk_rapiddisk_make() { # BYTES
	local bytes=$1 number=0 size=0
	ramdisk_has_rapiddisk || {
		echo "the kernel module rapiddisk is not available for $(uname -r); \
apt install rapiddisk-dkms, or set RAM=brd" >&2
		return 1
	}
	while [[ -e $SYS/block/rd$number ]]; do number=$((number + 1)); done
	act_write "$RAPIDDISK/mgmt" "rapiddisk attach $number $bytes" || {
		echo "the kernel refused to attach rd$number with $bytes bytes" >&2
		return 1
	}
	! disk_wait_node "rd$number" || size=$(disk_bytes "rd$number")
	((size >= bytes)) || {
		ramdisk_rapiddisk_drop "rd$number"
		echo "rapiddisk made rd$number with $size instead of $bytes bytes" >&2
		return 1
	}
	printf 'rd%s\n' "$number"
}

# ramdisk_settle NAME: forbids discards to a brd device that is already the RAM leg of NAME: an
# earlier version may have made it, or somebody may have allowed discards.
ramdisk_settle() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES
	ramdisk_note_read "$1"
	[[ $RAM_PROVIDER != brd ]] || ramdisk_brd_forbid_discards "$RAM_NODE" ||
		log_warning "$1: discards to its RAM leg $RAM_NODE could not be switched off"
}

# ramdisk_drop NAME: drops the array's ramdisk, and gives its memory back. rapiddisk would delete
# even a device that md or a mount is using, so this looks for users first. Returns 4 when the
# ramdisk is still in use.
ramdisk_drop() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES code=0
	ramdisk_note_read "$1"
	[[ -n $DRY_RUN$RAM_NODE ]] || ramdisk_zram_tidy "$1"
	if [[ -n $RAM_NODE ]]; then
		[[ -n $DRY_RUN || $RAM_PROVIDER == device ]] || disk_is_unused "$RAM_NODE" ||
			return "$EX_REFUSED"
		ramdisk_lock || return 1
		"ramdisk_${RAM_PROVIDER}_drop" "$RAM_NODE" "$1" || code=$?
		ramdisk_unlock
	fi
	[[ -n $DRY_RUN ]] || ((code != 0)) || rm -f "$RUN/$1.ram"
	return "$code"
}

ramdisk_rapiddisk_drop() { act_write "$RAPIDDISK/mgmt" "rapiddisk detach ${1#rd}"; } # NODE

# ramdisk_drop_node NODE: drops a rapiddisk device that a person has made. Returns 4 when it is in
# use.
ramdisk_drop_node() {
	local code=0
	[[ -n $DRY_RUN ]] || disk_is_unused "$1" || return "$EX_REFUSED"
	[[ -n $DRY_RUN ]] || ramdisk_lock || return 1
	ramdisk_rapiddisk_drop "$1" || code=$?
	[[ -n $DRY_RUN ]] || ramdisk_unlock
	return "$code"
}

# ramdisk_device_take NAME BYTES PATH [RESERVE [BLOCK]]: takes a device that holds nothing as the
# RAM leg. It checks the device once more, because somebody may have written to it since the
# decision.
ramdisk_device_take() {
	local NODE why RAM_PROVIDER RAM_NODE RAM_BYTES
	why=$(ramdisk_device_why_not "$3" "$2" "${5-}") || why=$TEXT_UNKNOWN
	[[ -z $why ]] || {
		printf '%s is not used: %s\n' "$3" "${why//$'\n'/; }" >&2
		return 1
	}
	disk_find "$3" || return 1
	# A ramdisk, or a device, of an earlier configuration.
	ramdisk_note_read "$1"
	[[ -z $RAM_NODE || $RAM_NODE == "$NODE" ]] || ramdisk_drop "$1" || return 1
	ramdisk_note_device "$1" "$NODE"
}

# ramdisk_device_why_not PATH BYTES [BLOCK]: prints why a device can't be the RAM leg of an array
# whose legs have BYTES, in blocks of BLOCK bytes, one reason a line; nothing if it can. It must be
# free, blank, and large enough. With larger blocks it would enlarge those of the running array, and
# nothing on that is prepared for it.
ramdisk_device_why_not() {
	local NODE why bytes
	why=$(disk_why_not_free "$1") || why=$TEXT_UNKNOWN
	[[ -z $why ]] ||
		printf '%s\n' \
			"${why/#signature:*/$why (if nothing on it is needed: wipefs --all $1)}"
	[[ $why != missing:* ]] && disk_find "$1" || return 0
	bytes=$(disk_bytes "$NODE")
	((bytes >= $2)) || printf 'too small: it has %s bytes, and a leg needs %s\n' "$bytes" "$2"
	[[ -z ${3-} ]] || (($(disk_block "$NODE") <= $3)) ||
		printf 'its blocks of %s bytes are larger than those of the array (%s)\n' \
			"$(disk_block "$NODE")" "$3"
}

ramdisk_device_drop() { :; } # it stays as it is: nothing of it is in our memory
