# The actions of the loop on disk legs, a function for each, with the action's name and "_" for "-".
# If one fails, LOOP_ERROR says why, in words for a person.
# shellcheck shell=bash

need act/bits act/block-size act/ram-leg act/same-leg act/witness-update core/act core/log
need core/paths core/text core/uninterrupted decide/give-up decide/health decide/unbuilt
need notes/contents notes/legs-seen notes/witness world/disk world/disk-find world/md
need world/md-format world/md-hold world/md-links world/md-state world/ramdisk-note world/superblock

declare -gA F # the facts: decide/facts.list

disk_legs_assemble() { # NODE…
	local BITS=() BLOCK_SIZE_WHY MD_RUN
	bits_keep "$@"
	disk_legs_uninterrupted_ disk_legs_assemble_keeping_ "$@" || return
	# A run that this program has started counts as judged.
	md_state_run "$(md_of_leg "$1")"
	F[array.judged]=$MD_RUN
	block_size_check "${F[name]}" "$@" || {
		LOOP_ERROR=$BLOCK_SIZE_WHY
		return 1
	}
	[[ -z $GIVING_UP ]] || give_up_legs "$@"
	[[ -n $DRY_RUN ]] || md_wait_link "$(md_of_leg "$1")" "${F[name]}" ||
		log_warning "${F[name]}: /dev/md/${F[name]}, or the link of a partition, did not \
lead to the array within $MD_BOUND s; see: ls -l /dev/md"
}

# Assembles the array, and sets the bits, even if mdadm was killed while it waited for udev: the
# array runs then.
disk_legs_assemble_keeping_() { # NODE…
	local code=0 md
	disk_legs_assemble_ "$@" || code=$?
	! md=$(md_of_leg "$1") || bits_set "$md" || :
	return "$code"
}

# disk_legs_uninterrupted_ COMMAND…: runs COMMAND, and puts off signals that would end this program
# until it is done; SIGPIPE comes again with the next message. The array runs from the moment that
# mdadm has started it, and nobody else knows the bits.
disk_legs_uninterrupted_() {
	local signal='' traps code=0
	traps=$(trap -p INT TERM HUP PIPE)
	uninterrupted_put_off signal
	"$@" || code=$?
	trap - INT TERM HUP PIPE
	eval "$traps"
	[[ -z $signal ]] || kill -s "$signal" "$BASHPID"
	return "$code"
}

# Starts the array with the spare if it must have larger blocks, never without it then. md must not
# write before the bits are set and the record says which legs are in sync.
disk_legs_assemble_() { # NODE…
	local BLOCK_SIZE_SPARE code=0
	LOOP_ERROR=$(md_format_why "${F[name]}" "${F[uuid]}" "$@") ||
		LOOP_ERROR=${LOOP_ERROR:-$TEXT_UNKNOWN}
	[[ -z $LOOP_ERROR ]] || return 1
	block_size_begin "${F[name]}" "$@" || {
		LOOP_ERROR=$BLOCK_SIZE_WHY
		return 1
	}
	[[ -n $DRY_RUN ]] || md_modules "${F[conf.layout]}" || : # mdadm says what is missing
	md_hold_begin || {
		log_warning "${F[name]}: md can't be told to start it read-only until the first \
write ($MD_HOLD_START_RO)"
		code=1
	}
	((code == 0)) || [[ -z $BLOCK_SIZE_SPARE ]] || {
		block_size_refuse "${F[name]}" "md would write to the spare that sets \
its block size"
		LOOP_ERROR=$BLOCK_SIZE_WHY
		md_hold_end || :
		block_size_end "${F[name]}"
		return 1
	}
	code=0
	! grep -qs '^PARTUUID=' "$(contents_file "${F[name]}")" ||
		md_links_free_partitions "${F[name]}"
	disk_legs_assemble_same_ "$@" || code=$?
	md_hold_end || log_warning "${F[name]}: arrays are still started read-only until the first \
write ($MD_HOLD_START_RO)"
	((code == 0)) || {
		((code == SAME_LEG_NOT)) || LOOP_ERROR='mdadm refused; see its message above'
		[[ -z $BLOCK_SIZE_SPARE ]] || ((code == SAME_LEG_NOT)) || {
			block_size_refuse "${F[name]}" "mdadm did not start it with the spare that \
sets its block size; see its message above"
			LOOP_ERROR=$BLOCK_SIZE_WHY
		}
		block_size_end "${F[name]}"
		return "$code"
	}
	block_size_end "${F[name]}"
}

# disk_legs_assemble_same_ NODE…: starts the array, if these nodes are still the disks that the
# decision was about. They may have exchanged names since: a start waits for other starts, and for
# disks. Once md has them, their names stay, so it looks once more before md may write. Returns
# SAME_LEG_NOT, with the array stopped, when they are not.
disk_legs_assemble_same_() {
	disk_legs_are_same_ before "$@" || return "$SAME_LEG_NOT"
	md_assemble "${F[name]}" "$@" ${BLOCK_SIZE_SPARE:+"$BLOCK_SIZE_SPARE"} || return 1
	[[ -z $DRY_RUN ]] && ! disk_legs_are_same_ after "$@" || return 0
	md_stop "$(md_of_leg "$1")" || return 1
	return "$SAME_LEG_NOT"
}

# disk_legs_are_same_ before|after NODE…: is each of these nodes still the leg that the decision was
# about? One of them may be the device of RAM=, which kept what it held. Before md has them, the
# event count is the same, too. Returns 1 with LOOP_ERROR when not.
disk_legs_are_same_() {
	local node i key at events
	for node in "${@:2}"; do
		for ((i = -1; i < F[members]; i++)); do
			if ((i < 0)); then
				key=leg.ram at=${F[ram.node]}
			else
				key=leg.$i at=${F[leg.$i.node]}
			fi
			[[ $at == "$node" && ${F[$key.sb]} == ok ]] || continue
			events=${F[$key.events]}
			[[ $1 == before ]] || events=''
			same_leg "$key" "$node" "$events" || return 1
		done
	done
}

# disk_legs_is_of NODE: is the array that was observed the one that disk leg NODE was started in,
# and is there no second one?
disk_legs_is_of() {
	[[ -z ${F[array.twin]} && -n ${F[array.md]} &&
		-e $SYS/class/block/$1/holders/${F[array.md]} ]]
}

disk_legs_stop_inactive() { md_stop "${F[array.md]}" || {
	LOOP_ERROR='mdadm --stop failed'
	return 1
}; }

# Records which legs are in the array, before md may write for the first time.
disk_legs_make_writable() {
	witness_update_or_go_on
	md_make_writable "${F[array.md]}" || {
		LOOP_ERROR='mdadm --readwrite failed'
		return 1
	}
}

disk_legs_set_backlog() { # N
	(($1 > 0)) || log_warning "${F[name]}: write-behind was on, \
so fsync returned before a disk had the data; switching it off. To keep it: \
WRITE_BEHIND and ACCEPT_DATA_LOSS in ramraid.conf(5)"
	md_set_backlog "${F[array.md]}" "$1"
}

disk_legs_write_mostly() { md_set_writemostly "${F[array.md]}" "${F[leg.$1.node]}"; } # I

disk_legs_readd() { # I
	legs_seen_note_return "$1"
	bits_own "leg.$1" "${F[leg.$1.node]}" || {
		LOOP_ERROR="could not tell md all that ${F[leg.$1.dev]} lacks"
		return 1
	}
	same_leg "leg.$1" "${F[leg.$1.node]}" "${F[leg.$1.events]}" || return
	md_readd "${F[array.md]}" "${F[leg.$1.node]}" || {
		LOOP_ERROR="md did not take ${F[leg.$1.dev]} \
back$(disk_legs_number_taken_ "${F[leg.$1.node]}")"
		return 1
	}
	legs_seen_note_again "${F[leg.$1.device_uuid]}"
	disk_legs_returned_ "$1"
}

# disk_legs_returned_ I: writes down that md writes to leg I again. The monitor may not see that it
# was back, if it leaves again at once.
disk_legs_returned_() {
	[[ -n ${F[leg.$1.device_uuid]} ]] || return 0
	witness_return "${F[name]}" "${F[uuid]}" "${F[leg.$1.device_uuid]}" || {
		log_warning "${F[name]}: its record could not be written; if ${F[leg.$1.dev]} \
leaves again soon, it may not be put back automatically"
		return 0
	}
	# Another writer has added what only a look can tell.
	((WITNESS_GENERATION != ${F[witness.generation]:-0} + 1)) ||
		F[witness.generation]=$WITNESS_GENERATION F[witness.departed]=$WITNESS_DEPARTED
}

# disk_legs_number_taken_ NODE: prints what to type when md has given the RAM leg the device number
# of an absent disk, as it may when it fills the RAM leg itself (superblock_clone_number). md
# refuses a number that is in use.
disk_legs_number_taken_() {
	local mine theirs
	[[ -n ${F[ram.slot]} && -n ${F[ram.node]} ]] || return 0
	read -ra mine < <(superblock_read "$DEV/$1" 2>/dev/null) &&
		read -ra theirs < <(superblock_read "$DEV/${F[ram.node]}" 2>/dev/null) || return 0
	[[ ${mine[40]-} != "${theirs[40]-}" || -z ${mine[40]-} ]] ||
		printf ": the RAM leg has its device number (%d). \
To have both: ramraid detach %s; ramraid attach %s\n" \
			$((16#${mine[40]})) "${F[name]}" "${F[name]}"
}

# What md has not rebuilt in this run is not put back again in it: md would fail at the same block.
disk_legs_remove_leg() { # I
	md_remove "${F[array.md]}" "${F[leg.$1.node]}" || {
		LOOP_ERROR="md does not release ${F[leg.$1.dev]}"
		return 1
	}
	[[ ${F[leg.$1.state]} == recovering && -v F["failed.rebuild"] ]] || return 0
	F["failed.readd.$1"]=${F["failed.rebuild"]} F["failed.add-leg.$1"]=${F["failed.rebuild"]}
	unbuilt_is_out "leg.$1"
}

disk_legs_remove_gone() { # NODE
	# A ramdisk that is gone counts as failed, so that making new ones has a limit.
	! ramdisk_note_is_node "$1" || ram_leg_count
	md_remove_gone "${F[array.md]}" "$1" || {
		LOOP_ERROR="md does not release $1, whose device is gone"
		return 1
	}
}

# Looks at the disk once more: since the decision somebody may have written to it, or put another
# disk in its place.
disk_legs_add_leg() { # I
	local why='' node=${F[leg.$1.node]} dev=${F[leg.$1.dev]} SEEN
	disk_legs_see "$1"
	[[ ${F[leg.$1.sb]} == ok ]] || why=$(disk_why_not_free "$dev") || why=$TEXT_UNKNOWN
	[[ -n $why ]] || why=$(md_state_leg_why_not "${F[array.md]}" "$node") || why=$TEXT_UNKNOWN
	[[ -z $why ]] || {
		LOOP_ERROR="$dev is not added: ${why//$'\n'/; }"
		return 1
	}
	legs_seen_note_return "$1"
	witness_update_free_slot || ! health_disk_in_sync || {
		LOOP_ERROR="could not record in $STATE which disk legs are in sync; until that \
works, $dev is not rebuilt"
		return 1
	}
	disk_legs_is_still "$1" "$SEEN" || return # the record may have taken long
	[[ ${F[leg.$1.sb]} != ok ]] || md_zero "$node" || return
	md_add "${F[array.md]}" "$node" || {
		LOOP_ERROR="md did not take $dev$(ram_leg_bad_blocks)"
		return 1
	}
}

# disk_legs_see I: sets SEEN to what identifies the leg's disk now, for disk_legs_is_still.
disk_legs_see() {
	local NUMBER
	legs_seen_number "${F[leg.$1.node]}"
	SEEN=$NUMBER
}

# disk_legs_is_still I SEEN: does the leg's name still lead to the device that it led to at the last
# look, is that the disk SEEN (disk_legs_see), and does it still have the same superblock; or, if it
# had none, still nothing else? The kernel gives the name of a disk that is pulled out to the next
# one, and somebody may write to a blank disk. Returns 1 with LOOP_ERROR when not.
disk_legs_is_still() {
	local NODE SEEN why
	LOOP_ERROR="${F[leg.$1.dev]} is not added: it is no longer the disk that it was a moment \
ago"
	disk_find "${F[leg.$1.dev]}" && [[ $NODE == "${F[leg.$1.node]}" ]] || return 1
	disk_legs_see "$1"
	[[ $SEEN == "$2" ]] || return 1
	if [[ ${F[leg.$1.sb]} == ok ]]; then
		same_leg_superblock "leg.$1" "$NODE"
	elif [[ ${F[leg.$1.sb]} == none && -z ${F[leg.$1.force]-} ]]; then
		why=$(disk_why_not_free "${F[leg.$1.dev]}") || why=$TEXT_UNKNOWN
		LOOP_ERROR="${F[leg.$1.dev]} is not added: ${why//$'\n'/; }"
		[[ -z $why ]]
	fi
}
