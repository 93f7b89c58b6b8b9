# The RAM leg's actions for the loop in act/loop.sh: they make and drop the ramdisk, and have a copy
# or md fill it. As in act/loop.sh, each function is named after its action, and says in LOOP_ERROR
# why it failed.
# shellcheck shell=bash

need act/bits act/copy act/loop act/same-leg config/conf core/clock core/log core/paths
need core/quantity decide/unbuilt notes/copy-state notes/memory-floor notes/ram-out observe/facts
need world/md world/md-state world/ramdisk world/ramdisk-note

declare -gA F # the facts: decide/facts.list

ram_leg_drop() {
	local unbuilt='' was=${F[ram.state]}
	if [[ -n ${F[ram.full]} ]]; then
		ram_leg_is_full_ || return
	elif [[ $was == recovering && -v F["failed.rebuild"] ]]; then
		unbuilt=${F["failed.rebuild"]}
	elif [[ ${F[ram.state]} == recovering ]]; then
		# It is taken out on purpose, so this start does not make it again.
		F["failed.make-ram"]=$WHY
	elif [[ ${F[ram.state]} == faulty || -n ${F[ram.lacks]} ]]; then
		ram_leg_count
	fi
	[[ ${F[ram.state]} == attached ]] || md_drop "${F[array.md]}" "${F[ram.node]}" || {
		LOOP_ERROR='mdadm could not remove it'
		return 1
	}
	[[ -z $unbuilt ]] || ram_leg_is_unbuilt_ "$unbuilt"
	[[ $was != recovering && -z ${F[ram.lacks]} ]] || ram_leg_forget_
	ramdisk_drop "${F[name]}"
}

# A leg that was only partly filled, or lacks blocks, is out. A device keeps what it holds: without
# a superblock, nobody can put it back by the bitmap, which does not have what was never copied. If
# a device that this run has filled lacks blocks again, it stays out.
ram_leg_forget_() {
	unbuilt_is_out ram
	[[ -z ${F[leg.ram.dev]} || -z ${F[ram.lacks]} || -z ${LOOP_MADE-} ]] ||
		F["failed.make-ram"]="md could not write some blocks of ${F[leg.ram.dev]} again"
	[[ -z ${F[leg.ram.dev]} ]] || md_wipe "${F[ram.node]}" ||
		log_warning "${F[name]}: the superblock of ${F[leg.ram.dev]}, which lacks some \
blocks, could not be removed; to do that: mdadm --zero-superblock ${F[leg.ram.dev]}"
}

# md has given up the rebuild of the RAM leg, or does not begin it (WHY). What this run has filled
# is not filled again, because md would fail at the same block. A run that only found it tries once
# more: a disk may have come back that has the block.
ram_leg_is_unbuilt_() { # WHY
	ram_leg_count
	[[ -z ${LOOP_REBUILT-} || -v F["failed.make-ram"] ]] || F["failed.make-ram"]=$1
	[[ ! -v F["failed.make-ram"] ]] || LOOP_NO_RAM=${F["failed.make-ram"]}
}

# The RAM leg has reached its limit (RAM_LIMIT=), and would reach it again. So nothing makes it
# again, not even hot-plug, until a person asks for it: that person may have raised the limit since
# this ramdisk was made.
ram_leg_is_full_() {
	copy_stop "${F[name]}" || {
		LOOP_ERROR=$COPY_WHY
		return 1
	}
	log_warning "${F[name]}: ${F[ram.full]}"
	ram_out_note "${F[name]}" full "${F[ram.full]}"
	[[ ${F[retry]} == yes && -z $LOOP_MADE ]] || F["failed.make-ram"]=${F[ram.full]}
}

# A ramdisk that fails again and again is not made again for ever: its memory may be bad, or
# somebody may be destroying it.
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
	# The ramdisk is made: the RAM leg no longer counts as taken out. Memory is short: it is
	# made once there is room.
	case $code in
	0) LOOP_MADE=yes && ram_out_forget "${F[name]}" ;;
	"$EX_TRY_AGAIN") memory_floor_is_off "${CONF[MEMORY_FLOOR]}" ||
		ram_out_note "${F[name]}" memory ;;
	esac
	return "$code"
}

# Puts back a device that has kept what it held: md copies only what the bitmap says.
ram_leg_return() {
	bits_own leg.ram "${F[ram.node]}" || {
		LOOP_ERROR="could not tell md all that ${F[leg.ram.dev]} lacks"
		return 1
	}
	same_leg leg.ram "${F[ram.node]}" "${F[leg.ram.events]}" || return
	md_readd "${F[array.md]}" "${F[ram.node]}" || {
		LOOP_ERROR="md did not take ${F[leg.ram.dev]} back by its bitmap"
		return 1
	}
	ramdisk_note_device "${F[name]}" "${F[ram.node]}"
	clock
	LOOP_REBUILT=yes LOOP_FILLING=$NOW
}

# ram_leg_note: notes the device that the array was started with as the one for the RAM leg, as is
# done with a device that joins the array later. It stays the one, whatever its name leads to later.
ram_leg_note() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES
	[[ -n ${F[leg.ram.dev]-} && ${F[ram.state]} == @(in_sync|recovering) ]] || return 0
	ramdisk_note_read "${F[name]}"
	[[ -n $RAM_NODE ]] || ramdisk_note_is_node "${F[ram.node]}" ||
		ramdisk_note_device "${F[name]}" "${F[ram.node]}"
}

# Wipes our own superblock and nothing else: with it, mdadm would try to put the device back.
ram_leg_wipe() {
	same_leg leg.ram "${F[ram.node]}" "${F[leg.ram.events]}" || return
	md_zero "${F[ram.node]}" || {
		LOOP_ERROR="the superblock of ${F[leg.ram.dev]} could not be removed"
		return 1
	}
}

# Begins to fill the RAM leg by a copy, beside md. If something stands in the way of the copy, that
# is no failure: md can fill the leg, too.
ram_leg_copy() {
	local i legs=() slot=${F[witness.ram_slot]} RAM_PROVIDER RAM_NODE RAM_BYTES
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || legs+=("${F[leg.$i.node]}")
	done
	for i in ${F[array.unconfigured]-}; do legs+=("$i"); done
	((${F[array.degraded]} > 1)) && [[ $slot =~ ^[0-9]+$ ]] || slot=''
	ramdisk_note_read "${F[name]}"
	# Where this copy finds zeros and writes nothing, what an interrupted copy has left would
	# remain.
	if ! ramdisk_is_blank "${F[name]}" && [[ $RAM_PROVIDER == @(rapiddisk|zram) ]]; then
		ramdisk_drop "${F[name]}"
		return
	fi
	copy_start "${F[name]}" "${F[array.md]}" "$RAM_NODE" "$RAM_BYTES" "$slot" \
		"$(ram_leg_copy_rate_)" "${legs[@]}" || F["failed.copy-ram"]=$COPY_WHY
	clock
	LOOP_COPY_AT='' LOOP_COPY_SINCE='' LOOP_FILLING=$NOW
}

# From here on the RAM leg is md's business. If md does not accept the copied leg, it says so, and
# rebuilds the whole leg.
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
	[[ -z ${F[leg.ram.dev]} ]] || same_leg_name "${F[leg.ram.dev]}" "${F[ram.node]}" || return
	# If it had a superblock, mdadm would put it back by the bitmap (attempt_re_add() in mdadm's
	# Manage.c), although md or a check of ours has refused that.
	ramdisk_is_blank "${F[name]}" || md_wipe "${F[ram.node]}" || {
		LOOP_ERROR="the remains of a failed copy on ${F[ram.node]} could not be wiped"
		return 1
	}
	ramdisk_used "${F[name]}" || log_warning "${F[name]}: $RUN can't be written"
	md_add "${F[array.md]}" "${F[ram.node]}" && clock &&
		LOOP_REBUILT=yes LOOP_ENGINE=kernel LOOP_FILLING=$NOW && return
	LOOP_ERROR="mdadm could not add the ramdisk$(ram_leg_bad_blocks)"
	return 1
}

# Prints what may have kept md from taking a new member.
ram_leg_bad_blocks() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -z ${F[leg.$i.state]} ]] ||
			! md_has_bad_blocks "${F[array.md]}" "${F[leg.$i.node]}" ||
			printf "; disk leg %s has bad blocks, and md accepts no new member while \
it has: replace that disk" \
				"${F[leg.$i.dev]}"
	done
}

# Prints the limit of the copy in bytes a second: COPY_RATE=, and until the gate is open 0, for
# none, because nobody else reads the disks yet, unless the array was in use before.
ram_leg_copy_rate_() {
	if [[ $LOOP_GATE == open || -n ${LOOP_USED-} ]]; then
		quantity_bytes "${CONF[COPY_RATE]}" 0
	else
		echo 0
	fi
}

# Gives up a copy that makes no progress: a disk that neither answers nor fails must not keep the
# array without a RAM leg for ever, nor keep a boot waiting.
ram_leg_watch_copy() {
	local FREE FAULTY
	copy_rate "${F[name]}" "$(ram_leg_copy_rate_)"
	[[ ${F[array.done]} == "$LOOP_COPY_AT" ]] ||
		LOOP_COPY_AT=${F[array.done]} LOOP_COPY_SINCE=''
	! clock_stalls LOOP_COPY_SINCE "$LOOP_COPY_STALL" ||
		F["failed.copy-ram"]="the copy has made no progress for $LOOP_COPY_STALL s"
	# Once the slot is taken, the bitmap may no longer say what was written before.
	md_state_slots_free "${F[array.md]}"
	((FREE > 0)) || F["failed.copy-ram"]='another member has taken the slot of the RAM leg'
}

# ram_leg_mind_copy: called after a look. If, during a copy, the ramdisk has gone, or somebody else
# has made it a member, ends the copy. A ramdisk that has become a member is taken out, and another
# one is made: a piece that was on its way when the ramdisk joined is older than what md has written
# since. Returns 1 when nothing was done, or the copy could not be stopped.
ram_leg_mind_copy() {
	local code=0
	[[ ${F[copy.state]} != none && ${F[ram.state]} != attached ]] || return 1
	copy_stop "${F[name]}" || {
		F["failed.make-ram"]=$COPY_WHY F["failed.add-ram"]=$COPY_WHY
		code=1
	}
	[[ ${F[ram.state]} != none ]] || return "$code"
	log_warning "${F[name]}: ${F[ram.node]} has become a member of ${F[array.md]} while data \
was being copied to it; it is taken out, because old blocks may have been written to it since"
	# Its superblock goes, too: the bitmap, by which md would put it back, does not know of
	# these blocks.
	md_drop "${F[array.md]}" "${F[ram.node]}" && md_wipe "${F[ram.node]}" && return
	log_error "${F[name]}: ${F[ram.node]} may hold old blocks, and could not be taken out; \
do that as soon as a disk leg is in sync: ramraid detach ${F[name]}; ramraid attach ${F[name]}"
	return "$code"
}

# ram_leg_hand_over: called before this program ends, and the copy with it: gives the RAM leg to md,
# which goes on by itself.
ram_leg_hand_over() {
	if [[ $ACTION == make-ram ]]; then
		ram_leg_make || return
		facts_observe
	fi
	[[ $ACTION != return-ram ]] || ram_leg_return || return
	[[ $ACTION != @(make-ram|copy-ram|wait-copy|readd-ram) ]] || ram_leg_add
}
