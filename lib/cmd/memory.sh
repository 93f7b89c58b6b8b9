# ramraid memory: gives the RAM leg up while memory is short, and has it made anew when there is room.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly MEMORY_USAGE='usage: ramraid memory NAME

Looks at the available memory every two seconds as long as the array runs. When less than MEMORY_FLOOR stays available, takes the RAM leg out and
gives its memory back; when there has been room for a while, has it made anew. Done by ramraid-memory@NAME.service, if MEMORY_FLOOR is set.'

cmd_memory() {
	cli_parse "$MEMORY_USAGE" '' "$@"
	cli_one_name "$MEMORY_USAGE"
	need_work
	conf_need "$NAME"
	cli_root
	paths_run
	if memory_is_off "${CONF[MEMORY_FLOOR]}" || [[ ${CONF[RAM]} == @(none|/*) ]]; then
		log_notice "$NAME: nothing to look at: MEMORY_FLOOR=${CONF[MEMORY_FLOOR]}, RAM=${CONF[RAM]}"
		return
	fi
	facts_configured "$NAME"
	facts_observe
	[[ ${F[array.state]} == active ]] || die "$NAME: is not running; type: ramraid start $NAME" "$EX_INACTIVE"
	MEMORY_MD=${F[array.md]} MEMORY_FLOOR=$(size_bytes "${CONF[MEMORY_FLOOR]}" "$(ram_total)")
	# A pipe that nobody writes to, to wait for without a process, which might be refused just then.
	exec {MEMORY_FD}<> <(:)
	memory_begin
	while memory_runs "$NAME"; do
		memory_look "$NAME"
		[[ -z $MEMORY_ACT ]] || "memory_${MEMORY_ACT}_" "$NAME"
		read -rt "$MEMORY_LOOK" -u "$MEMORY_FD" || :
	done
}

# memory_runs NAME: is it still the array that it was, and ours?
memory_runs() { [[ -e $SYS/block/$MEMORY_MD/md && -e $RUN/$1.started ]]; }

# memory_look NAME: sets MEMORY_ACT. Without a process while all is well.
memory_look() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES RAM_AVAILABLE state=none answer=no
	ram_of "$1"
	ram_available
	if [[ -n $RAM_NODE ]]; then
		! ram_gives_back "$1" || state=leg
		((RAM_AVAILABLE >= MEMORY_FLOOR)) || answer=yes
	elif memory_has_given_up "$1"; then
		state=given
		! memory_has_room_ || answer=yes
	fi
	memory_count "$state" "$answer"
}

# So much more than the floor that it does not have to go again at once.
memory_has_room_() {
	local bytes MEMORY_RESERVE
	memory_reserve
	((MEMORY_RESERVE >= MEMORY_FLOOR * 5 / 4)) || MEMORY_RESERVE=$((MEMORY_FLOOR * 5 / 4))
	bytes=$(md_leg_bytes "$MEMORY_MD") && [[ -z $(ram_why_not "$bytes" "$MEMORY_RESERVE") ]]
}

memory_give_() { # NAME
	# In a process of its own, which the lock ends with.
	if (memory_give_up "$1"); then memory_given; else memory_kept; fi
}

# memory_give_up NAME: as "detach". Returns not 0 when it stays, having said why.
memory_give_up() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES RAM_AVAILABLE
	cli_lock_first "$1" 5
	conf_load "$1" || return
	facts_configured "$1"
	facts_observe
	# Whoever had the lock may have taken it out, or freed memory.
	ram_of "$1"
	ram_available
	[[ ${F[array.state]} == active && -n $RAM_NODE && ! -e $RUN/$1.detached ]] && ram_gives_back "$1" && ((RAM_AVAILABLE < MEMORY_FLOOR)) || return
	guard_only_copy && {
		log_warning "$1: memory is short, but the RAM leg is the only good copy: keeping it"
		return 1
	}
	log_notice "$1: less than MEMORY_FLOOR=${CONF[MEMORY_FLOOR]} ($(human_bytes "$MEMORY_FLOOR")) of memory is available: giving the RAM leg up"
	# Before: or hot-plug would make a new one.
	memory_note_given_up "$1" || return
	guard_release "$1" || {
		rm -f "$RUN/$1.detached"
		return 1
	}
	facts_observe
	record_witness
	lately_note
	exec {CLI_LOCK}>&-
	changes_tell "$1"
	mend_ask
}

# Made by the worker of hot-plug, in its own unit: a rebuild takes long, and memory may become short meanwhile. If that does not make it, it is tried again, later.
memory_take_() { # NAME
	memory_taken
	# A person is at work on it, or has been.
	cli_is_free "$1" && memory_has_given_up "$1" || return 0
	log_notice "$1: there is room for the RAM leg again: making it anew"
	memory_note_room "$1"
	systemd_start_mend "$1" || memory_note_given_up "$1"
}
