# ramraid memory: gives the RAM leg up while memory is short, and has it made again when there is
# room.
# shellcheck shell=bash

need act/array-lock act/detach-ram act/transitions act/whole-since config/conf config/conf-need
need core/cli core/log core/paths core/quantity decide/health notes/memory-floor notes/ram-out
need observe/before-look observe/facts observe/look world/md-state world/ramdisk
need world/ramdisk-memory world/ramdisk-note world/systemd

declare -gA F # the facts: decide/facts.list

readonly MEMORY_USAGE='usage: ramraid memory NAME

Look at the available memory every two seconds as long as the array runs. When less than
MEMORY_FLOOR stays available, ramraid takes the RAM leg out and gives its memory back; when there
has been room for a while, it has the leg rebuilt. ramraid-memory@NAME.service runs this, if
MEMORY_FLOOR is set.'

cmd_memory() {
	cli_parse "$MEMORY_USAGE" '' "$@"
	cli_one_name "$MEMORY_USAGE"
	conf_need_started "$NAME"
	cli_root
	paths_run
	if memory_floor_is_off "${CONF[MEMORY_FLOOR]}" || [[ ${CONF[RAM]} == @(none|/*) ]]; then
		log_notice "$NAME: nothing to watch: MEMORY_FLOOR=${CONF[MEMORY_FLOOR]}, \
RAM=${CONF[RAM]}"
		return
	fi
	look_at_running "$NAME"
	MEMORY_MD=${F[array.md]} \
		MEMORY_FLOOR=$(quantity_bytes "${CONF[MEMORY_FLOOR]}" "$(ramdisk_memory_total)")
	# A pipe that nobody writes to: reading from it waits without a process, which might not
	# start when memory is short.
	exec {MEMORY_FD}<> <(:)
	memory_floor_begin
	while cmd_memory_runs "$NAME"; do
		cmd_memory_look "$NAME"
		[[ -z $MEMORY_ACT ]] || "cmd_memory_${MEMORY_ACT}_" "$NAME"
		read -rt "$MEMORY_LOOK" -u "$MEMORY_FD" || :
	done
}

# cmd_memory_runs NAME: is it still the same array, and ours?
cmd_memory_runs() { [[ -e $SYS/block/$MEMORY_MD/md && -e $RUN/$1.started ]]; }

# cmd_memory_look NAME: sets MEMORY_ACT. Starts no process while all is well.
cmd_memory_look() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES RAM_AVAILABLE state=none answer=no
	ramdisk_note_read "$1"
	ramdisk_memory_available
	if [[ -n $RAM_NODE ]]; then
		! ramdisk_note_gives_back "$1" || state=leg
		((RAM_AVAILABLE >= MEMORY_FLOOR)) || answer=yes
	elif ram_out_is_short "$1"; then
		state=given
		! cmd_memory_has_room_ || answer=yes
	fi
	memory_floor_count "$state" "$answer"
}

# There must be so much more room than the floor that the leg does not have to go again at once.
cmd_memory_has_room_() {
	local bytes why MEMORY_RESERVE
	memory_floor_reserve
	((MEMORY_RESERVE >= MEMORY_FLOOR * 5 / 4)) || MEMORY_RESERVE=$((MEMORY_FLOOR * 5 / 4))
	bytes=$(md_state_leg_bytes "$MEMORY_MD") || return
	bytes=$(ramdisk_need "${CONF[RAM]}" "$bytes" "${CONF[RAM_LIMIT]}")
	why=$(ramdisk_why_not "$bytes" "$MEMORY_RESERVE") && [[ -z $why ]]
}

cmd_memory_give_() { # NAME
	# In a subshell, so that the lock is released at its end.
	if (cmd_memory_give_up "$1"); then memory_floor_given; else memory_floor_kept; fi
}

# cmd_memory_give_up NAME: takes the RAM leg out as "detach" does. Returns nonzero when the leg
# stays, and says why; says nothing if the look with the lock held finds that it no longer has to
# go. A configuration that somebody is editing does not keep it: what it was started with counts.
cmd_memory_give_up() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES RAM_AVAILABLE RAM_OUT RAM_OUT_WHY
	local floor=${CONF[MEMORY_FLOOR]}
	array_lock_first "$1" 5
	conf_need_started "$1"
	before_look_configured "$1"
	facts_observe
	# Whoever had the lock may have taken the RAM leg out, or freed memory. If an earlier run
	# was ended between the note and giving the memory back, this one finishes it.
	ramdisk_note_read "$1"
	ramdisk_memory_available
	ram_out_read "$1"
	[[ ${F[array.state]} == active && -n $RAM_NODE && $RAM_OUT == @(|memory|room) ]] &&
		ramdisk_note_gives_back "$1" && ((RAM_AVAILABLE < MEMORY_FLOOR)) || return
	{ health_only_copy || detach_ram_is_beside; } && {
		log_warning "$1: memory is short, but the RAM leg is the only good copy: keeping it"
		return 1
	}
	log_notice "$1: less than MEMORY_FLOOR=$floor \
($(quantity_show_bytes "$MEMORY_FLOOR")) of memory is available: giving the RAM leg up"
	# This comes first; otherwise hot-plug would make a new one.
	ram_out_note "$1" memory || return
	detach_ram "$1" || {
		ram_out_forget "$1"
		return 1
	}
	whole_since_look
	transitions_end "$1"
}

# The worker of hot-plug makes the RAM leg, in its own unit: a rebuild takes long, and memory may
# become short meanwhile. If the worker does not make it, this is tried again later.
cmd_memory_take_() { # NAME
	memory_floor_taken
	# Otherwise a person is at work on the array, or has been.
	array_lock_is_free "$1" && ram_out_is_short "$1" || return 0
	log_notice "$1: there is room for the RAM leg again: rebuilding it"
	ram_out_note "$1" room
	systemd_start_mend "$1" || ram_out_note "$1" memory
}
