# The acting ring and the loop around it: observe → decide → act, until nothing is left to do. A crash at any step enters the loop again.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly DRIVE_MAX_ACTIONS=60 # far more than any array needs: a loop that does not converge has to end
readonly DRIVE_STALL=20       # seconds in which md has to begin a rebuild that is due
readonly DRIVE_COPY_STALL=300 # seconds in which a copy has to get on
readonly DRIVE_LOOK=0.5       # seconds between two looks
DRIVE_FAST=''                 # yes: md's speed limits are raised; a start may be interrupted before drive()

# drive NAME [no|yes|mend]: brings the array up as far as it goes. yes: also tries members again that md has given up; mend: goes by what mend.sh
# knows, as after a disk has come or gone. With a notify socket, tells systemd when the gate opens, and goes on rebuilding.
# After conf_need and with the lock held. Returns 0 when the gate opened, 1 or 4 when it must stay shut.
drive() {
	local actions=0 code=0 NOW
	clock
	DRIVE_GATE=hold DRIVE_FAST='' DRIVE_SAID='' DRIVE_IDLE_SINCE='' DRIVE_WATCHED='' DRIVE_REBUILT='' DRIVE_ENGINE='' DRIVE_NO_RAM='' DRIVE_FILLING=$NOW DRIVE_STARTED=$NOW
	conf_keep "$1"
	facts_configured "$1"
	# Only a disk that does not answer keeps one from ending: then the array does without a RAM leg.
	copy_stop "$1" || F["failed.make-ram"]=$COPY_WHY F["failed.add-ram"]=$COPY_WHY
	F[retry]=${2:-no}
	[[ ${2-} != mend ]] || {
		facts_observe
		mend_facts
	}
	facts_times || die "$1: WAIT_TIMEOUT=${CONF[WAIT_TIMEOUT]} or MEMBER_TIMEOUT=${CONF[MEMBER_TIMEOUT]} is not a time span; see systemd.time(7)" "$EX_USAGE"
	[[ -z ${F[kernel.flaw]} || ${F[conf.wait]} != no ]] || log_warning "$1: WAIT=no is not followed: ${F[kernel.flaw]}"
	while :; do
		clock
		F[waited]=$((NOW - DRIVE_STARTED))
		facts_observe
		[[ ${F[mend]-} != yes ]] || mend_look
		[[ -n ${F[array.known]-} ]] || drive_first_look_
		decide_action
		decide_gate
		drive_gate_ || return
		drive_say_
		[[ $ACTION != 'done' ]] || break
		if [[ $ACTION == refuse ]]; then
			log_error "$1: $WHY"
			return "$EX_REFUSED"
		fi
		[[ $ACTION != wait-* ]] || {
			drive_wait_
			continue
		}
		actions=$((actions + 1))
		((actions <= DRIVE_MAX_ACTIONS)) || die "$1: gave up after $actions steps; the last one was $ACTION (please report this with the journal)"
		lately_note # until now it was what it was: by the end it may be whole again
		code=0 DRIVE_IDLE_SINCE=''
		"drive_${ACTION//-/_}" "${ARGUMENTS[@]}" || code=$?
		((code == 0)) || drive_failed_ "$code"
	done
	drive_end_
}

drive_first_look_() {
	record_first_look
	[[ -z ${F[array.md]-} ]] || md_check_left "${F[array.md]}"
}

# From now on every change of the array is written down by its monitor, which stays as long as the array does. After "ready", because it
# costs a moment; what changes in that moment is in the witness that the end of the start writes.
drive_watch_() {
	[[ -z $DRIVE_WATCHED && ${F[array.state]} == active && ${F[array.known]-yes} == yes ]] || return 0
	DRIVE_WATCHED=yes
	record_watched
	mend_arm
	changes_begin "${F[name]}"
	! systemd_is_unit || systemd_start_monitor "${F[array.md]}" || log_warning "${F[name]}: its monitor did not start"
	! systemd_is_unit || memory_arm "${F[name]}"
}

# An action that failed is a fact: the next decision takes it into account and does not try it again.
drive_failed_() {
	local key=failed.$ACTION
	[[ $ACTION != readd && $ACTION != write-mostly && $ACTION != remove-leg && $ACTION != remove-gone && $ACTION != add-leg ]] || key+=.${ARGUMENTS[0]}
	F[$key]=${DRIVE_ERROR:-$ACTION failed with exit code $1}
	[[ $ACTION != make-ram ]] || DRIVE_NO_RAM=${F[$key]}
	log_warning "${F[name]}: ${F[$key]}"
	DRIVE_ERROR=''
}

# Opens or shuts the gate when the decision says so. Returns not 0 to end a start that must not go on.
drive_gate_() {
	local keeps='what depends on it stays down'
	[[ $GATE != "$DRIVE_GATE" && $DRIVE_GATE != open ]] || return 0
	DRIVE_GATE=$GATE
	case $GATE in
	open)
		# What is written from here on is on these legs; one may have left since md was allowed to write.
		record_if_changed
		drive_speed_ system
		[[ $ACTION != 'done' ]] || return 0
		! systemd_is_unit || log_warning "${F[name]}: what depends on it starts now, on the disk legs: $GATE_WHY"
		systemd_ready "$GATE_WHY"
		drive_watch_
		# Nothing was watched until now.
		facts_observe
		record_witness
		;;
	fail)
		mend_arm # a disk that is missing may come
		drive_speed_ system
		[[ $ACTION == refuse ]] || drive_watch_
		drive_hand_over_ || log_warning "${F[name]}: $DRIVE_ERROR"
		systemd_status "not started: $GATE_WHY"
		log_error "${F[name]}: $GATE_WHY"
		[[ $ACTION == refuse ]] && return "$EX_REFUSED"
		[[ ${F[conf.on_timeout]} != fail ]] || keeps='ON_TIMEOUT=fail keeps what depends on it down'
		log_error "${F[name]}: $keeps. The array itself runs; to go on: systemctl restart ramraid@${F[name]}"
		return "$EX_FAILED"
		;;
	esac
}

# This program ends, and a copy with it: md is given the RAM leg, and goes on by itself.
drive_hand_over_() {
	if [[ $ACTION == make-ram ]]; then
		drive_make_ram || return
		facts_observe
	fi
	[[ $ACTION != return-ram ]] || drive_return_ram || return
	[[ $ACTION != @(make-ram|copy-ram|wait-copy|readd-ram) ]] || drive_add_ram
}

# The unit's status line at every look; the journal only when something new happens.
drive_say_() {
	local text=$WHY
	[[ ${F[array.sync]} == idle ]] || text+=" ($(progress_text "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}"))"
	[[ $ACTION != wait-members || ${F[conf.member_timeout]} == infinity ]] || text+=" ($((${F[conf.member_timeout]} - ${F[waited]})) s left)"
	# A step that is done at once is gone before anybody has read it; telling it costs a process.
	[[ $ACTION != wait-* ]] || systemd_status "$text"
	[[ $WHY == "$DRIVE_SAID" || $ACTION == 'done' ]] || log_info "${F[name]}: $WHY"
	DRIVE_SAID=$WHY
}

# Nothing to do but wait. While only we use the array md may take the disks' whole speed. A rebuild that is due but does not run is
# an error, not something to wait for.
drive_wait_() {
	if [[ $ACTION == wait-sync ]]; then
		[[ $DRIVE_GATE == open ]] || drive_speed_ fast
		drive_watch_sync
	fi
	[[ $ACTION != wait-copy ]] || drive_watch_copy_
	sleep "$DRIVE_LOOK"
}

# drive_watch_sync: at each look while md should be rebuilding, or making equal: makes it a fact when it does not begin. With the lock held. DRIVE_IDLE_SINCE
# is the caller's, empty at the beginning.
drive_watch_sync() {
	clock
	if [[ ${F[array.sync]} != @(idle|copy|frozen) ]]; then
		DRIVE_IDLE_SINCE=''
	elif ((NOW - ${DRIVE_IDLE_SINCE:=$NOW} <= DRIVE_STALL)); then
		:
	elif [[ ${F[array.sync]} == frozen ]]; then
		# A run that was killed has left it so.
		log_warning "${F[name]}: md has been told to begin no work; taking that back"
		md_thaw "${F[array.md]}" || F[failed.rebuild]='md has been told to begin no work'
		DRIVE_IDLE_SINCE=''
	else
		ACTION=rebuild DRIVE_ERROR="md does not rebuild it; see the kernel's messages: journalctl -k -g md" drive_failed_ 1
	fi
}

drive_speed_() { # fast|system
	[[ $DRIVE_FAST != yes || $1 != fast ]] && [[ -n $DRIVE_FAST || $1 != system ]] || return 0
	[[ $1 == fast ]] && DRIVE_FAST=yes || DRIVE_FAST=''
	[[ ! -d $SYS/block/${F[array.md]}/md || -z ${F[array.md]} ]] || md_speed "${F[array.md]}" "$1" || log_warning "${F[name]}: could not set md's speed limits"
}

# The end of the loop: whole, or as whole as it gets.
drive_end_() {
	drive_speed_ system
	if [[ $WHY == whole ]]; then
		clock
		log_info "${F[name]}: whole after $(human_seconds $((NOW - DRIVE_STARTED)))"
		systemd_ready "whole: $(drive_legs_)"
	elif [[ ${F[ram.state]} == in_sync ]]; then
		log_error "${F[name]}: reads come from memory, but the mirror is not whole: $WHY; see: ramraid status ${F[name]}"
		systemd_ready "degraded: $WHY"
	elif [[ ${F[conf.ram]} == none ]]; then
		log_info "${F[name]}: $WHY"
		systemd_ready "$WHY: $(drive_legs_)"
	else
		log_error "${F[name]}: runs on its disk legs only, reads are as slow as they are: $WHY"
		systemd_ready "on its disk legs only: $WHY"
	fi
	# After "ready", because nobody has to wait for it: legs that joined during this start may be called absent by the witness for a moment.
	drive_watch_
	# Looked at again: of what has happened since the last look nobody was told, and nobody will be.
	facts_observe
	record_witness
	lately_note
	drive_warn_rescue_
	contents_remember "${F[name]}" "${F[array.md]}" || log_warning "${F[name]}: could not remember what lies on it in $STATE"
}

# Not found out in the emergency. The worker of hot-plug may not write there, and so can't tell.
drive_warn_rescue_() {
	local why
	[[ ${F[ram.state]} == in_sync && ${CONF[RESCUE]-none} != none && ${F[mend]-} != yes ]] || return 0
	why=$(rescue_why_not "${CONF[RESCUE]}" "${F[array.md]}")
	[[ -z $why ]] || log_warning "${F[name]}: if all disks failed, a shutdown could not save the RAM leg: $why (RESCUE in ramraid.conf(5))"
}

drive_legs_() {
	local i good=0
	for ((i = 0; i < ${F[members]}; i++)); do [[ ${F[leg.$i.state]} != in_sync ]] || good=$((good + 1)); done
	[[ ${F[ram.state]} != in_sync ]] || printf 'RAM leg %s and ' "${F[ram.node]}"
	printf '%d of %d disk legs in sync\n' "$good" "${F[members]}"
}

# --- one function an action: its name is the action's with "_" for "-". DRIVE_ERROR says why it failed, in words for a person.

drive_assemble() { # NODE…
	local BITS=()
	drive_keep_bits_ "$@"
	md_assemble "${F[name]}" "${F[conf.layout]}" "$@" || {
		DRIVE_ERROR='mdadm refused; its words stand above'
		return 1
	}
	drive_set_bits_ "$1"
	[[ -z $GIVING_UP ]] || record_give_up "$@"
	md_wait_link "$(md_of_leg "$1")" "${F[name]}" || log_warning "${F[name]}: /dev/md/${F[name]} has not appeared within $MD_BOUND s"
}

# drive_keep_bits_ NODE…: sets BITS to where disk legs that are absent, or still being rebuilt, may differ from these. md forgets that after a power cut, when
# no more than one leg is complete: raid1_run() of linux drivers/md/raid1.c calls the array clean, and md_bitmap_load() then keeps only what was written
# while a leg was missing. What was being written when the power went would stay different on the disk that comes back (case "source").
drive_keep_bits_() {
	local i node lines complete=0 dirty=''
	for ((i = 0; i < F[members]; i++)); do
		[[ " $* " == *" ${F[leg.$i.node]:-none} "* ]] || continue
		[[ ${F[leg.$i.dirty]-} != yes ]] || dirty=yes
		[[ -n ${F[leg.$i.recovery]-} ]] || complete=$((complete + 1))
	done
	[[ -n $dirty ]] && ((complete < F[members])) || return 0
	for node; do
		lines=$(sb_dirty_bits "$DEV/$node") || log_warning "${F[name]}: the write-intent bitmap of $node can't be read"
		# Not "<<<": beyond 64 KiB bash makes a file of that, and in its unit no folder can be written.
		[[ -z $lines ]] || mapfile -t -O "${#BITS[@]}" BITS < <(printf '%s\n' "$lines")
	done
}

drive_set_bits_() { # NODE: of the array that it is in now
	local line md
	((${#BITS[@]} == 0)) || md=$(md_of_leg "$1") || return 0
	for line in "${BITS[@]}"; do
		md_set_bits "$md" "$line" || log_warning "${F[name]}: could not tell md where the absent disk legs may differ"
	done
}

# drive_is_of_ NODE: is the array that was observed the one that disk leg NODE has been started in, and the only one?
drive_is_of_() { [[ -z ${F[array.twin]} && -n ${F[array.md]} && -e $SYS/class/block/$1/holders/${F[array.md]} ]]; }

drive_stop_inactive() { md_stop "${F[array.md]}" || {
	DRIVE_ERROR='mdadm --stop failed'
	return 1
}; }

# Before md may write for the first time: who is in the array now.
drive_make_writable() {
	record_witness
	md_make_writable "${F[array.md]}" || {
		DRIVE_ERROR='mdadm --readwrite failed'
		return 1
	}
}

drive_set_backlog() { # N
	(($1 > 0)) || log_warning "${F[name]}: write-behind was on, so fsync returned before a disk had the data; switching it off. To keep it: WRITE_BEHIND and ACCEPT_DATA_LOSS in ramraid.conf(5)"
	md_set_backlog "${F[array.md]}" "$1"
}

drive_write_mostly() { md_set_writemostly "${F[array.md]}" "${F[leg.$1.node]}"; } # I

drive_readd() { # I
	mend_note_return "$1"
	md_readd "${F[array.md]}" "${F[leg.$1.node]}" || {
		DRIVE_ERROR="md did not take ${F[leg.$1.dev]} back$(drive_number_taken_ "${F[leg.$1.node]}")"
		return 1
	}
	record_rejoins "${F[leg.$1.device_uuid]}"
}

# drive_number_taken_ NODE: what to type when md has given the device number of an absent disk to the RAM leg, as it may when it fills that itself
# (forge_number); md refuses a number that is in use.
drive_number_taken_() {
	local mine theirs
	[[ -n ${F[ram.slot]} && -n ${F[ram.node]} ]] || return 0
	read -ra mine < <(sb_read "$DEV/$1" 2>/dev/null) && read -ra theirs < <(sb_read "$DEV/${F[ram.node]}" 2>/dev/null) || return 0
	[[ ${mine[40]-} != "${theirs[40]-}" || -z ${mine[40]-} ]] ||
		printf ': the RAM leg has its device number (%d). To have both: ramraid detach %s; ramraid attach %s\n' $((16#${mine[40]})) "${F[name]}" "${F[name]}"
}

drive_remove_leg() { # I
	md_remove "${F[array.md]}" "${F[leg.$1.node]}" || {
		DRIVE_ERROR="md does not let go of ${F[leg.$1.dev]}"
		return 1
	}
}

drive_remove_gone() { # NODE
	# A ramdisk that is gone counts as one that failed: it is not made anew without end.
	! ram_is_node "$1" || drive_count_ram_
	md_remove_gone "${F[array.md]}" "$1" || {
		DRIVE_ERROR="md does not let go of $1, whose device is gone"
		return 1
	}
}

# Looked at once more: between the decision and this somebody may have written to it.
drive_add_leg() { # I
	local why node=${F[leg.$1.node]}
	if [[ ${F[leg.$1.sb]} == ok ]]; then
		md_zero "$node" || return
	else
		why=$(disk_why_not_free "${F[leg.$1.dev]}")
		[[ -z $why ]] || {
			DRIVE_ERROR="${F[leg.$1.dev]} is not taken: ${why//$'\n'/; }"
			return 1
		}
	fi
	why=$(md_why_no_leg "${F[array.md]}" "$node")
	[[ -z $why ]] || {
		DRIVE_ERROR="${F[leg.$1.dev]} is not taken: ${why//$'\n'/; }"
		return 1
	}
	mend_note_return "$1"
	record_free_slot || ! decide_disk_in_sync || {
		DRIVE_ERROR="who is in sync can't be written down in $STATE; ${F[leg.$1.dev]} is not built before that"
		return 1
	}
	md_add "${F[array.md]}" "$node" || {
		DRIVE_ERROR="md did not take ${F[leg.$1.dev]}$(drive_bad_blocks_)"
		return 1
	}
}
