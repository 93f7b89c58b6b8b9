# Ramdisks: the only file that makes or destroys one. Which one is whose: ramstate.sh.
# shellcheck shell=bash

readonly RAPIDDISK=$SYS/kernel/rapiddisk RAM_PAGE=4096

# ram_is_blank NAME: does its ramdisk hold nothing but zeros, without a page of memory? brd's devices never: they keep what they held, and anybody
# could have used one. ram_used NAME: from now on not; returns 1 when that can't be written down.
ram_is_blank() { grep -qs ' blank$' "$RUN/$1.ram"; }
ram_used() { ! ram_is_blank "$1" || sed -i 's/ blank$/ used/' "$RUN/$1.ram"; }

# One ramdisk is made or destroyed at a time: numbers, memory and brd are shared.
ram_lock() {
	paths_run
	exec {RAM_LOCK}>"$LOCKS/ramdisks"
	flock --timeout 60 "$RAM_LOCK" || {
		echo 'another ramraid has been at work on a ramdisk for 60 s and does not end; see: ps -C ramraid' >&2
		return 1
	}
}
ram_unlock() { exec {RAM_LOCK}>&-; }

# ram_failed NAME: notes that its ramdisk has failed. Returns 1, with the reason in RAM_FAILED, when that has come too often; ram_may_try NAME
# asks the same, and notes nothing. ram_forgive NAME: a person wants to try again.
readonly RAM_TRIES=3 RAM_WINDOW=3600 # so many failures within so many seconds
ram_failed() {
	uptime
	printf '%s\n' "$UPTIME" >>"$RUN/$1.failures"
	ram_may_try "$1"
}
ram_may_try() {
	local failures=() when count=0
	RAM_FAILED=''
	[[ -e $RUN/$1.failures ]] || return 0
	uptime
	mapfile -t failures <"$RUN/$1.failures"
	for when in "${failures[@]}"; do ((UPTIME - when >= RAM_WINDOW)) || count=$((count + 1)); done
	((count < RAM_TRIES)) && return
	RAM_FAILED="the ramdisk has failed $count times within an hour; see the kernel's messages (journalctl -k), then: ramraid attach $1"
	return 1
}
ram_forgive() { rm -f "$RUN/$1.failures"; }

# ram_available: sets RAM_AVAILABLE to the bytes of memory that could be taken without swapping, as the kernel estimates it.
ram_available() {
	local key value rest
	RAM_AVAILABLE=0
	while read -r key value rest; do
		[[ $key != MemAvailable: ]] || RAM_AVAILABLE=$((value * 1024))
	done <"$PROC/meminfo"
}
ram_total() {
	local key value rest
	read -r key value rest <"$PROC/meminfo"
	printf '%s\n' $((value * 1024))
}

# ram_promised: bytes that ramdisks already made will still take, because they are not filled yet.
ram_promised() {
	local file name line md sum=0 RAM_PROVIDER RAM_NODE RAM_BYTES LEGS SYNC DONE TOTAL RATE
	for file in "$RUN"/*.ram; do
		[[ -e $file ]] || continue
		name=${file##*/}
		ram_of "${name%.ram}"
		[[ $RAM_PROVIDER != device ]] || continue
		if ram_taken "$RAM_NODE"; then
			RAM_BYTES=$((RAM_BYTES > RAM_TAKEN ? RAM_BYTES - RAM_TAKEN : 0))
		elif md=$(md_of_leg "$RAM_NODE"); then
			md_members "$md"
			md_sync "$md"
			for line in "${LEGS[@]}"; do
				[[ $line != "$RAM_NODE in_sync "* ]] || RAM_BYTES=0
			done
			((RAM_BYTES == 0)) || RAM_BYTES=$((RAM_BYTES - DONE * 512))
		fi
		sum=$((sum + RAM_BYTES))
	done
	printf '%s\n' "$sum"
}

# ram_taken NODE: sets RAM_TAKEN to the bytes of memory that it occupies, which rapiddisk counts; returns 1 when nobody knows. A copied leg takes no more
# than what is not zero, and grows with what is written.
ram_taken() {
	local device rest
	while read -r device _ _ RAM_TAKEN rest; do
		[[ $device != "$1" || ! $RAM_TAKEN =~ ^[0-9]+$ ]] || return 0
	done 2>/dev/null <"$RAPIDDISK/devices" || :
	return 1
}

# ram_why_not BYTES RESERVE [FREED]: prints why a ramdisk of BYTES must not be made beside RESERVE (bytes or percent of all memory), after one of FREED
# bytes has been given back.
# Pages of a ramdisk can be neither swapped nor reclaimed: too large a one ends in the OOM killer, not in an error.
ram_why_not() {
	local available reserve total promised RAM_AVAILABLE
	ram_available
	total=$(ram_total) promised=$(ram_promised)
	reserve=$(size_bytes "$2" "$total")
	available=$((RAM_AVAILABLE + ${3:-0}))
	available=$((available > promised ? available - promised : 0))
	(($1 + reserve > available)) || return 0
	printf 'the ramdisk needs %s and %s keeps %s free, but only %s of memory are available\n' \
		"$(human_bytes "$1")" "${MEMORY_RESERVE_BY:-RAM_RESERVE}" "$(human_bytes "$reserve")" "$(human_bytes "$available")"
}

# ram_make NAME BYTES PROVIDER RESERVE [BLOCK]: makes the ramdisk if memory allows. PROVIDER is rapiddisk, brd, or auto: the first that this
# kernel has; or the path of a device, which is taken instead. Returns 1 after saying on stderr why there is none, 75 when that is the memory.
ram_make() {
	local name=$1 bytes=$2 provider=$3 node why code=0
	if [[ $provider == /* ]]; then
		ram_take_device_ "$@"
		return
	fi
	bytes=$(((bytes + RAM_PAGE - 1) / RAM_PAGE * RAM_PAGE))
	if [[ $provider == auto ]]; then
		provider=rapiddisk
		ram_has_rapiddisk || provider=brd
		[[ $provider == rapiddisk ]] || log_notice "$name: no rapiddisk module for this kernel ($(uname -r)); taking brd. To have rapiddisk: apt install rapiddisk-dkms and the kernel's headers"
	fi
	ram_lock || return 1
	why=$(ram_why_not "$bytes" "$4")
	if [[ -n $why ]]; then
		printf '%s\n' "$why" >&2
		code=$EX_TRY_AGAIN
	elif node=$("ram_make_$provider" "$bytes"); then
		printf '%s %s %s %s %s\n' "$provider" "$node" "$bytes" "$(cat "$SYS/block/$node/diskseq" 2>/dev/null || echo -)" \
			"$([[ $provider == rapiddisk ]] && echo blank || echo used)" >"$RUN/$name.ram"
	else
		code=1
	fi
	ram_unlock
	return "$code"
}

# ram_take_device_ NAME BYTES PATH: a device that holds nothing. Looked at once more: between the decision and this somebody may have written to it.
ram_take_device_() {
	local NODE why RAM_PROVIDER RAM_NODE RAM_BYTES
	why=$(ram_device_why_not "$3" "$2" "${5-}")
	[[ -z $why ]] || {
		printf '%s is not taken: %s\n' "$3" "${why//$'\n'/; }" >&2
		return 1
	}
	disk_find "$3" || return 1
	# Of an earlier configuration.
	ram_of "$1"
	[[ -z $RAM_NODE || $RAM_NODE == "$NODE" ]] || ram_drop "$1" || return 1
	ram_note_device "$1" "$NODE"
}

# ram_note_device NAME NODE: from now on it is known for the RAM leg, also to those who come when the configuration names another.
ram_note_device() {
	local number=-
	{ read -r number <"$SYS/class/block/$2/diskseq" || read -r number <"$SYS/class/block/$2/../diskseq"; } 2>/dev/null || :
	paths_run
	printf 'device %s %s %s used\n' "$2" "$(disk_bytes "$2")" "${number:--}" >"$RUN/$1.ram"
}

# ram_device_why_not PATH BYTES [BLOCK]: prints why a device can't be the RAM leg of an array whose legs have BYTES, in blocks of BLOCK bytes; a reason a
# line; nothing if it can: free, blank, large enough. With larger blocks it would make those of the running array larger, for which nobody on it is prepared.
ram_device_why_not() {
	local NODE why bytes
	why=$(disk_why_not_free "$1")
	[[ -z $why ]] || printf '%s\n' "${why/#signature:*/$why (if nothing on it is needed: wipefs --all $1)}"
	[[ $why != missing:* ]] && disk_find "$1" || return 0
	bytes=$(disk_bytes "$NODE")
	((bytes >= $2)) || printf 'too small: it has %s bytes, and a leg needs %s\n' "$bytes" "$2"
	[[ -z ${3-} ]] || (($(disk_block "$NODE") <= $3)) || printf 'its blocks of %s bytes are larger than those of the array (%s)\n' "$(disk_block "$NODE")" "$3"
}

ram_has_rapiddisk() { modprobe -q rapiddisk && [[ -e $RAPIDDISK/mgmt ]]; }

# The kernel interface itself: the command-line program exits 0 even when the kernel refuses. The size is read back from sysfs.
ram_make_rapiddisk() { # BYTES
	local bytes=$1 number=0 size
	ram_has_rapiddisk || {
		echo "the kernel module rapiddisk is not available for $(uname -r); apt install rapiddisk-dkms, or set RAM=brd" >&2
		return 1
	}
	while [[ -e $SYS/block/rd$number ]]; do number=$((number + 1)); done
	act_write "$RAPIDDISK/mgmt" "rapiddisk attach $number $bytes" || {
		echo "the kernel refused to attach rd$number with $bytes bytes" >&2
		return 1
	}
	ram_wait_node "rd$number" || return 1
	size=$(disk_bytes "rd$number")
	((size >= bytes)) || {
		act_write "$RAPIDDISK/mgmt" "rapiddisk detach $number"
		echo "rapiddisk made rd$number with $size instead of $bytes bytes" >&2
		return 1
	}
	printf 'rd%s\n' "$number"
}

# brd has one size for all its devices, fixed when the module is loaded. It takes pages only as they are written, so every device gets
# all of memory as its nominal size, and fits every array. A brd that somebody else has loaded is not ours to use.
ram_make_brd() { # BYTES
	local bytes=$1 names count total number=0 node
	if [[ ! -e $RUN/brd ]]; then
		[[ ! -d $SYS/module/brd ]] || {
			echo 'brd is loaded already, for something else, and its devices may hold data; unload it (rmmod brd) or use rapiddisk' >&2
			return 1
		}
		names=$(conf_names) total=$(ram_total)
		count=$(wc -w <<<"$names")
		act modprobe brd "rd_nr=$((count > 4 ? count : 4))" "rd_size=$((total / 1024))" max_part=0 || {
			echo 'the kernel module brd could not be loaded' >&2
			return 1
		}
		: >"$RUN/brd"
	fi
	for node in "$SYS"/block/ram*; do
		number=${node##*/ram}
		[[ -e $node ]] || continue
		[[ -z $(disk_holders "ram$number") ]] || continue
		! grep -qs "^brd ram$number " "$RUN"/*.ram || continue
		(($(disk_bytes "ram$number") >= bytes)) || continue
		ram_wait_node "ram$number" && printf 'ram%s\n' "$number"
		return
	done
	echo "no free brd device of $bytes bytes; all are in use" >&2
	return 1
}

ram_wait_node() { # NODE
	local NOW end
	clock
	end=$((NOW + 10))
	until [[ -b $DEV/$1 && -e $SYS/block/$1/size ]]; do
		clock
		((NOW < end)) || {
			echo "/dev/$1 did not appear" >&2
			return 1
		}
		sleep 0.1
	done
}

# ram_drop NAME: gives the memory back. rapiddisk would delete a device that md or a mount is using, so its users are asked first.
# Returns 4 when the ramdisk is still in use.
ram_drop() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES code=0
	ram_of "$1"
	if [[ -n $RAM_NODE ]]; then
		[[ -n $DRY_RUN || $RAM_PROVIDER == device || -z $(disk_users "$RAM_NODE") ]] || return "$EX_REFUSED"
		ram_lock || return 1
		ram_drop_"$RAM_PROVIDER" "$RAM_NODE" "$1" || code=$?
		ram_unlock
	fi
	[[ -n $DRY_RUN ]] || ((code != 0)) || rm -f "$RUN/$1.ram"
	return "$code"
}

ram_drop_device() { :; } # it stays as it is: nothing of it is in our memory

ram_drop_rapiddisk() { act_write "$RAPIDDISK/mgmt" "rapiddisk detach ${1#rd}"; } # NODE

# brd keeps its pages until it is unloaded, and it can't be unloaded while another array uses it.
ram_drop_brd() { # NODE NAME
	ram_gives_back "$2" || {
		log_notice "$2: brd is still in use by another array; its memory is given back when that one has stopped"
		return 0
	}
	act rmmod brd || return 1
	[[ -n $DRY_RUN ]] || rm -f "$RUN/brd"
}

# ram_gives_back NAME: does its memory come back when its ramdisk is dropped? Not of a device, and of brd only with the last array that uses it.
ram_gives_back() {
	local file RAM_PROVIDER RAM_NODE RAM_BYTES
	ram_of "$1"
	[[ $RAM_PROVIDER != device ]] || return 1
	[[ $RAM_PROVIDER == brd ]] || return 0
	for file in "$RUN"/*.ram; do [[ $file == "$RUN/$1.ram" ]] || ! grep -qs '^brd ' "$file" || return 1; done
}
