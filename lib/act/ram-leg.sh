# The RAM leg's actions of the loop in act/loop.sh: its ramdisk is made and dropped, filled by a
# copy or by md. Like those there, each is named after the action, and says in LOOP_ERROR why it
# failed.
# shellcheck shell=bash

need act/bits act/copy act/loop config/conf core/clock core/log core/paths core/quantity
need notes/copy-state notes/memory-floor observe/facts world/disk world/md world/md-state
need world/ramdisk world/ramdisk-note

declare -gA F # the facts: decide/facts.list

ram_leg_drop() {
	if [[ -n ${F[ram.full]} ]]; then
		ram_leg_is_full_ || return
	elif [[ ${F[ram.state]} == recovering ]]; then
		# Taken out on purpose, it is not made again in this start.
		F["failed.make-ram"]=$WHY
	elif [[ ${F[ram.state]} == faulty ]]; then
		ram_leg_count
	fi
	[[ ${F[ram.state]} == attached ]] || md_drop "${F[array.md]}" "${F[ram.node]}" || {
		LOOP_ERROR='mdadm could not remove it'
		return 1
	}
	ramdisk_drop "${F[name]}"
}

# It has come to its limit, and would again: nobody makes it again, not even hot-plug, before a
# person asks for it, who may have raised the limit since this one was made.
ram_leg_is_full_() {
	copy_stop "${F[name]}" || {
		LOOP_ERROR=$COPY_WHY
		return 1
	}
	log_warning "${F[name]}: ${F[ram.full]}"
	memory_floor_note_full "${F[name]}" "${F[ram.full]}"
	[[ ${F[retry]} == yes && -z $LOOP_MADE ]] || F["failed.make-ram"]=${F[ram.full]}
}

# A ramdisk that fails again and again is not made anew without end: memory that breaks, or somebody
# who destroys it.
ram_leg_count() { ramdisk_failed "${F[name]}" || F["failed.make-ram"]=$RAM_FAILED; }

ram_leg_make() {
	local bytes error code=0 MEMORY_RESERVE=''
	bytes=$(md_state_leg_bytes "${F[array.md]}") || {
		LOOP_ERROR="md does not say how large a member of ${F[array.md]} is"
		return 1
	}
	[[ ${CONF[RAM]} == /* ]] || memory_floor_reserve
	error=$(mktemp "$RUN/.${F[name]}.XXXXXX")
	ramdisk_make "${F[name]}" "$bytes" "${CONF[RAM]}" "$MEMORY_RESERVE" "${F[array.block]}" \
		"${CONF[RAM_LIMIT]}" 2> >(tee "$error" >&2) >/dev/null || code=$?
	((code == 0)) || {
		wait $! || :
		LOOP_ERROR=$(grep -v '+ ' "$error" | tail -n 1)
	}
	rm -f "$error"
	# In the first case nobody has it out any more; in the second it is made when there is room.
	case $code in
	0) LOOP_MADE=yes && rm -f "$RUN/${F[name]}.detached" ;;
	"$EX_TRY_AGAIN") memory_floor_is_off "${CONF[MEMORY_FLOOR]}" ||
		memory_floor_note_given_up "${F[name]}" ;;
	esac
	return "$code"
}

# A device that has kept what it held: md copies what the bitmap has.
ram_leg_return() {
	bits_own leg.ram "${F[ram.node]}" || {
		LOOP_ERROR="md was not told all that ${F[leg.ram.dev]} lacks"
		return 1
	}
	md_readd "${F[array.md]}" "${F[ram.node]}" || {
		LOOP_ERROR="md did not take ${F[leg.ram.dev]} back by its bitmap"
		return 1
	}
	ramdisk_note_device "${F[name]}" "${F[ram.node]}"
	clock
	LOOP_REBUILT=yes LOOP_FILLING=$NOW
}

# ram_leg_note: a device that the array was started with is known for the RAM leg from now on, as
# one that has joined it is, whatever its name leads to later.
ram_leg_note() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES
	[[ -n ${F[leg.ram.dev]-} && ${F[ram.state]} == @(in_sync|recovering) ]] || return 0
	ramdisk_note_read "${F[name]}"
	[[ -n $RAM_NODE ]] || ramdisk_note_is_node "${F[ram.node]}" ||
		ramdisk_note_device "${F[name]}" "${F[ram.node]}"
}

# Our own superblock, and only that: with it mdadm would try to put it back.
ram_leg_wipe() {
	md_zero "${F[ram.node]}" || {
		LOOP_ERROR="the superblock of ${F[leg.ram.dev]} could not be taken off"
		return 1
	}
}

# The RAM leg is filled beside md. Whatever stands in the way of that is no failure: md can do it
# too.
ram_leg_copy() {
	local i legs=() slot=${F[witness.ram_slot]} RAM_PROVIDER RAM_NODE RAM_BYTES
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || legs+=("${F[leg.$i.node]}")
	done
	for i in ${F[array.unconfigured]-}; do legs+=("$i"); done
	((${F[array.degraded]} > 1)) && [[ $slot =~ ^[0-9]+$ ]] || slot=''
	ramdisk_note_read "${F[name]}"
	# What an interrupted copy has left behind would shine through where this one finds zeros.
	if ! ramdisk_is_blank "${F[name]}" && [[ $RAM_PROVIDER == @(rapiddisk|zram) ]]; then
		ramdisk_drop "${F[name]}"
		return
	fi
	copy_start "${F[name]}" "${F[array.md]}" "$RAM_NODE" "$RAM_BYTES" "$slot" \
		"$(ram_leg_copy_rate_)" "${legs[@]}" || F["failed.copy-ram"]=$COPY_WHY
	clock
	LOOP_COPY_AT='' LOOP_COPY_SINCE='' LOOP_FILLING=$NOW
}

# From here on it is md's business; whatever it does not like, it says, and the leg is rebuilt
# whole.
ram_leg_readd() {
	local COPY_STATE COPY_WHY='' COPY_SECONDS DONE TOTAL RATE
	copy_state "${F[name]}"
	if ! copy_finish "${F[name]}" || ! md_readd "${F[array.md]}" "${F[ram.node]}"; then
		LOOP_ERROR=${COPY_WHY:-md did not take the copied RAM leg back}
		return 1
	fi
	LOOP_REBUILT=yes LOOP_ENGINE=copy
	log_info "${F[name]}: $(quantity_show_bytes $((TOTAL * 512))) were copied from the disk \
legs in $(quantity_show_seconds "$COPY_SECONDS")"
	copy_stop "${F[name]}"
}

ram_leg_add() {
	copy_stop "${F[name]}" || {
		LOOP_ERROR=$COPY_WHY
		return 1
	}
	# With a superblock on it mdadm would put it back by bitmap (attempt_re_add() in mdadm's
	# Manage.c), after md or a check of ours has refused that.
	ramdisk_is_blank "${F[name]}" || md_wipe "${F[ram.node]}" || {
		LOOP_ERROR="what an attempt to copy has left on ${F[ram.node]} could not be wiped"
		return 1
	}
	ramdisk_used "${F[name]}" || log_warning "${F[name]}: $RUN can't be written"
	md_add "${F[array.md]}" "${F[ram.node]}" && clock &&
		LOOP_REBUILT=yes LOOP_ENGINE=kernel LOOP_FILLING=$NOW && return
	LOOP_ERROR="mdadm could not add the ramdisk$(ram_leg_bad_blocks)"
	return 1
}

# What may be the reason that md took no new member.
ram_leg_bad_blocks() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -z ${F[leg.$i.state]} ]] ||
			! md_has_bad_blocks "${F[array.md]}" "${F[leg.$i.node]}" ||
			printf "; disk leg %s has bad blocks, with which md takes no new member: \
replace that disk" \
				"${F[leg.$i.dev]}"
	done
}

# While nobody else reads the disks, the copy may have all that they give: prints 0, or the bytes a
# second that it may have beside them.
ram_leg_copy_rate_() {
	if [[ $LOOP_GATE == open ]]; then quantity_bytes "${CONF[COPY_RATE]}" 0; else echo 0; fi
}

# A disk that does not answer, and does not fail either, must not keep the array without a RAM leg
# for ever, nor a boot waiting.
ram_leg_watch_copy() {
	local FREE FAULTY
	copy_rate "${F[name]}" "$(ram_leg_copy_rate_)"
	[[ ${F[array.done]} == "$LOOP_COPY_AT" ]] ||
		LOOP_COPY_AT=${F[array.done]} LOOP_COPY_SINCE=''
	! clock_stalls LOOP_COPY_SINCE "$LOOP_COPY_STALL" ||
		F["failed.copy-ram"]="the copy has not got on for $LOOP_COPY_STALL s"
	# What was written before this, the bitmap may not say any more.
	md_state_slots_free "${F[array.md]}"
	((FREE > 0)) || F["failed.copy-ram"]='another member has taken the slot of the RAM leg'
}

# ram_leg_mind_copy: after a look: while there is a copy, the ramdisk has become a member by
# somebody else's hand, or has gone. The copy ends. A member is taken out, and another one is made:
# a piece that was on its way when it joined is older than what md has written since. Returns 1 when
# nothing was done.
ram_leg_mind_copy() {
	local code=0
	[[ ${F[copy.state]} != none && ${F[ram.state]} != attached ]] || return 1
	copy_stop "${F[name]}" || {
		F["failed.make-ram"]=$COPY_WHY F["failed.add-ram"]=$COPY_WHY
		code=1
	}
	[[ ${F[ram.state]} != none ]] || return "$code"
	log_warning "${F[name]}: ${F[ram.node]} has become a member of ${F[array.md]} while it was \
copied to; it is taken out, because old blocks may have been written to it since"
	# Nor is it put back by the bitmap, which does not know of these.
	md_drop "${F[array.md]}" "${F[ram.node]}" && md_wipe "${F[ram.node]}" && return
	log_error "${F[name]}: ${F[ram.node]} may hold old blocks, and could not be taken out; \
do that as soon as a disk leg is in sync: ramraid detach ${F[name]}; ramraid attach ${F[name]}"
	return "$code"
}

# ram_leg_hand_over: this program ends, and a copy with it: md is given the RAM leg, and goes on by
# itself.
ram_leg_hand_over() {
	if [[ $ACTION == make-ram ]]; then
		ram_leg_make || return
		facts_observe
	fi
	[[ $ACTION != return-ram ]] || ram_leg_return || return
	[[ $ACTION != @(make-ram|copy-ram|wait-copy|readd-ram) ]] || ram_leg_add
}
