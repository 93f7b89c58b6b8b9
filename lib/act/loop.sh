# The acting ring and the loop around it: observe → decide → act, until nothing is left to do. After
# a crash at any step, the loop starts from the beginning.
# shellcheck shell=bash

need act/block-size act/copy act/disk-legs act/first-look act/hotplug act/loop-act act/ram-leg
need act/rescue act/rescue-beside act/transitions act/whole-since act/witness-update config/conf
need config/conf-need core/clock core/log core/paths core/quantity decide/action decide/health
need notes/contents notes/legs-seen notes/memory-floor notes/old-name notes/refusal notes/watched
need notes/witness observe/all-disks observe/before-look observe/facts world/md world/ramdisk
need world/systemd
# Other files need these later. A start may go on for hours, and an upgrade of the package removes
# what it has not read by then.
need config/conf-faults observe/outside

declare -gA F # the facts: decide/facts.list

# seconds in which md has to begin a rebuild that is due, and a copy has to get on (clock_stalls)
readonly LOOP_STALL=20 LOOP_COPY_STALL=300
readonly LOOP_LOOK=0.5 # seconds between two looks

# What one run of the loop knows besides the facts; loop_begin_ resets most of it.
#   LOOP_GATE        hold, open or fail: the last decision on the gate; the copy uses it, too
#   LOOP_FAST        yes: md's speed limits are raised
#   LOOP_SAID        the last message; LOOP_STARTED: when this run began (clock)
#   LOOP_IDLE_SINCE  see clock_stalls: how long md has not begun what is due
#   LOOP_WATCHED     yes: the monitor has been started
#   LOOP_ERROR       why the last action has failed: set by the function of the action
#   LOOP_NO_RAM      why there could be no RAM leg; for the caller of loop_run
#   LOOP_PRINT       what the last decision depended on (hotplug_print); for the caller of loop_run,
#                    as loop_end_ looks again, and a disk may have come meanwhile
#   LOOP_COPY_AT, LOOP_COPY_SINCE  how far the copy was; how long it has been there (clock_stalls)
#   LOOP_FILLING     when the filling of the RAM leg began (clock); LOOP_ENGINE: by copy or kernel;
#                    for act/whole-since.sh
#   LOOP_REBUILT     yes: it was filled in this run; for cmd/start.sh
#   LOOP_MADE        yes: the ramdisk was made
#   LOOP_USED        yes: something used the array before this start opened the gate
LOOP_FAST='' # a start may be interrupted before loop_run

# loop_run NAME [no|yes|mend [in-use]]: brings the array up as far as it goes. yes: also tries
# members again that md has given up; mend: uses what act/hotplug.sh knows, as after a disk has come
# or gone. in-use: the array is in use already, so nobody waits for the RAM leg, and md's own speed
# limits hold. With a notify socket, tells systemd when the gate opens, and goes on rebuilding. Call
# it after conf_need with the lock held. Returns 0 if the gate opened, 1 or 4 if it must stay shut.
loop_run() {
	local actions=0 code=0 NOW HOTPLUG_PRINT
	loop_begin_ "$@"
	while :; do
		loop_look_
		if [[ -n $LOOP_IN_USE && ${F[array.state]} == absent ]]; then
			loop_leave_stopped_
			return
		fi
		! ram_leg_mind_copy || continue
		loop_gate_ || return
		loop_note_
		loop_say_
		[[ $ACTION != 'done' ]] || break
		if [[ $ACTION == refuse ]]; then
			log_error "$1: $WHY"
			return "$EX_REFUSED"
		fi
		[[ $ACTION != wait-* ]] || {
			loop_wait_
			continue
		}
		loop_act_count "$1"
		# The decisions for these two rest on the record.
		[[ $ACTION != @(readd|assemble) ]] || first_look_record_is_same || continue
		whole_since_update # until now it was what it was: by the end it may be whole again
		[[ $ACTION != assemble ]] || whole_since_tell_unclean
		code=0 LOOP_IDLE_SINCE=''
		loop_act || code=$?
		((code == 0)) || loop_act_failed "$code"
	done
	hotplug_print
	LOOP_PRINT=$HOTPLUG_PRINT
	loop_end_
}

# Somebody has stopped the array that was in use when this run began, so it stays stopped.
loop_leave_stopped_() {
	copy_stop "${F[name]}" || log_warning "${F[name]}: $COPY_WHY; the ramdisk stays"
	log_warning "${F[name]}: somebody has stopped it meanwhile, so it stays stopped; to start \
it: ramraid start ${F[name]}"
	[[ ${F[mend]-} == yes ]] || return "$EX_FAILED"
}

# Sets up what holds for the whole run.
loop_begin_() { # NAME [no|yes|mend [in-use]]
	clock
	LOOP_GATE=hold LOOP_IN_USE='' LOOP_USED='' LOOP_FAST='' LOOP_SAID='' LOOP_IDLE_SINCE='' \
		LOOP_WATCHED='' LOOP_REBUILT='' LOOP_MADE='' LOOP_ENGINE='' LOOP_NO_RAM='' \
		LOOP_PRINT='' LOOP_FILLING=$NOW LOOP_STARTED=$NOW
	conf_need_keep "$1"
	block_size_tidy "$1"
	# A selftest holds for one build of md, which is known once md is loaded.
	[[ ! -e $STATE/selftest ]] || md_modules mirror || :
	before_look_configured "$1"
	[[ ${3-} != in-use ]] || F[conf.wait]=no LOOP_IN_USE=yes
	old_name_take || log_warning "$1: could not move all records in $STATE that its array has \
under another name"
	# A start looks after the array again, even if its claim was taken away.
	[[ ${2-} == mend || -n ${F[witness.events]} ]] || witness_take_up "$1" "${F[uuid]}" || :
	[[ ${F[witness.counts]-own} == own ]] ||
		log_warning "$1: the record of its last run, $STATE/$1.witness, is older than its \
second copy, ${F[witness.copy]}, so the copy is used: the root file system has been restored to an \
older state, or could not be written"
	# Only a disk that does not answer keeps a copy from ending. Then the array does without a
	# RAM leg.
	copy_stop "$1" || F["failed.make-ram"]=$COPY_WHY F["failed.add-ram"]=$COPY_WHY
	F[retry]=${2:-no}
	[[ ${2-} != mend ]] || {
		facts_observe
		hotplug_facts
	}
	before_look_times || die "$1: WAIT_TIMEOUT=${CONF[WAIT_TIMEOUT]} or \
MEMBER_TIMEOUT=${CONF[MEMBER_TIMEOUT]} is not a time span; see systemd.time(7)" "$EX_USAGE"
	[[ -z ${F[kernel.flaw]} || ${F[conf.wait]} != no ]] ||
		log_warning "$1: WAIT=no is ignored: ${F[kernel.flaw]}"
}

# Looks and decides. Sets ACTION and GATE.
loop_look_() {
	clock
	F[waited]=$((NOW - LOOP_STARTED))
	facts_observe
	[[ ${F[mend]-} != yes ]] || hotplug_look
	first_look_is_done || {
		first_look
		[[ -n $LOOP_IN_USE ]] || ! first_look_is_used || loop_mind_users_
	}
	all_disks_decide
	action_gate
}

# A start finds the array in use: somebody has mounted it. The gate opens as in any start, but the
# rebuild leaves the disks to those who use them, and where it would be a danger, there is none.
loop_mind_users_() {
	local i
	LOOP_USED=yes
	[[ -n ${F[kernel.flaw]} ]] || return 0
	F["veto.make-ram"]="it is in use, and on this kernel a RAM leg must not be rebuilt while \
something reads the array: ${F[kernel.flaw]}. Unmount it first, then: ramraid attach ${F[name]}"
	for ((i = 0; i < ${F[members]}; i++)); do
		F["veto.add-leg.$i"]="it is in use, and on this kernel no leg is rebuilt then: \
${F[kernel.flaw]}"
	done
}

# From now on the monitor writes down every change of the array, for as long as the array runs. It
# starts after "ready", because that takes a moment; what changes in that moment is in the witness
# that the start writes at its end.
loop_watch_() {
	[[ -z $LOOP_WATCHED && ${F[array.state]} == active && ${F[array.known]-yes} == yes ]] ||
		return 0
	LOOP_WATCHED=yes
	watched_note || {
		log_error "${F[name]}: disks that leave it can't be recorded until this works: \
ramraid attach ${F[name]}"
		# At once, because not every path from here writes the record again.
		# shellcheck disable=SC2034 # witness_update's
		WITNESS_UPDATE_UNWATCHED=yes
		witness_update_or_go_on
	}
	ram_leg_note
	hotplug_arm
	transitions_begin "${F[name]}"
	! systemd_is_unit || systemd_start_monitor "${F[array.md]}" ||
		log_warning "${F[name]}: its monitor did not start"
	! systemd_is_unit || memory_floor_arm "${F[name]}"
}

# Opens or shuts the gate when the decision says so. Returns a code other than 0 to end a start that
# must not go on.
loop_gate_() {
	local keeps='what depends on it stays down'
	[[ $GATE != "$LOOP_GATE" && $LOOP_GATE != open ]] || return 0
	LOOP_GATE=$GATE
	case $GATE in
	open)
		# From here on, data is written to these legs only; one may have left since md was
		# allowed to write.
		witness_update_if_changed
		loop_speed system
		[[ $ACTION != 'done' ]] || return 0
		if [[ -n $LOOP_IN_USE ]]; then
			GATE_WHY="it is in use already, and its reads come from the disk legs \
until then"
		elif systemd_is_unit; then
			log_warning "${F[name]}: what depends on it starts now, on the disk legs: \
$GATE_WHY"
		fi
		systemd_ready "$GATE_WHY"
		loop_watch_
		# No monitor has watched until now.
		facts_observe
		witness_update_or_go_on
		;;
	fail)
		hotplug_arm # a disk that is missing may come
		loop_speed system
		[[ $ACTION == refuse ]] || loop_watch_
		ram_leg_hand_over || log_warning "${F[name]}: $LOOP_ERROR"
		systemd_status "not started: $GATE_WHY"
		if [[ $ACTION == refuse ]]; then
			! refusal_is_reported "${F[name]}" "$GATE_WHY" || {
				log_notice "${F[name]}: not started, \
for the same reason as before; see: ramraid status ${F[name]}"
				return "$EX_REFUSED"
			}
		fi
		log_error "${F[name]}: $GATE_WHY"
		[[ $ACTION == refuse ]] && return "$EX_REFUSED"
		[[ ${F[conf.on_timeout]} != fail ]] ||
			keeps='ON_TIMEOUT=fail keeps what depends on it down'
		log_error "${F[name]}: $keeps. The array itself runs; to go on: ramraid start \
${F[name]}"
		return "$EX_FAILED"
		;;
	esac
}

# Until the gate opens no monitor watches, so the loop itself writes down which legs come into sync
# or leave, when it sees that. A leg that nothing vouches for is not started again beside one that
# was in sync before it.
loop_note_() {
	[[ -z $WITNESS_UPDATE_WRITTEN || ${F[array.state]} != active ||
		${F[array.readauto]} == yes ]] || witness_update_if_changed
}

# Updates the unit's status line at every look while it waits, and the journal only when something
# new happens. "events" shows notices: which disk leg is put back, and when the array is whole.
loop_say_() {
	local text=$WHY
	[[ ${F[array.sync]} == idle ]] ||
		text+=" \
($(quantity_show_progress "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}"))"
	[[ $ACTION != wait-members || ${F[conf.member_timeout]} == infinity ]] ||
		text+=" ($((${F[conf.member_timeout]} - ${F[waited]})) s left)"
	# A step that takes no time is over before anybody has read its status, and a status costs a
	# process.
	[[ $ACTION != wait-* ]] || systemd_status "$text"
	case $ACTION in
	'done') ;;
	readd | add-leg) [[ $WHY == "$LOOP_SAID" ]] || log_notice "${F[name]}: $WHY" ;;
	*) [[ $WHY == "$LOOP_SAID" ]] || log_info "${F[name]}: $WHY" ;;
	esac
	LOOP_SAID=$WHY
}

# There is nothing to do but wait. While only ramraid uses the array, md may use the full speed of
# the disks. A rebuild that is due but does not run is an error, not something to wait for.
loop_wait_() {
	if [[ $ACTION == wait-sync ]]; then
		[[ $LOOP_GATE == open || -n $LOOP_USED ]] || loop_speed fast
		loop_watch_sync LOOP_IDLE_SINCE
	fi
	[[ $ACTION != wait-copy ]] || ram_leg_watch_copy
	sleep "$LOOP_LOOK"
}

# loop_watch_sync VARIABLE: call it with the lock held, at each look while md should be rebuilding
# or resyncing. If md does not begin, makes that a fact. VARIABLE is the caller's, empty at first.
loop_watch_sync() {
	local -n loop_idle_=$1
	if [[ ${F[array.sync]} != @(idle|copy|frozen) ]]; then
		loop_idle_=''
	elif ! clock_stalls "$1" "$LOOP_STALL"; then
		:
	elif [[ ${F[array.sync]} == frozen ]]; then
		# A run of ramraid that was killed has left it so.
		log_warning "${F[name]}: its sync_action is frozen, so md rebuilds nothing; \
setting it to idle"
		md_thaw_left "${F[array.md]}" || F[failed.rebuild]='its sync_action is frozen'
		loop_idle_=''
	else
		ACTION=rebuild LOOP_ERROR="md does not rebuild it; see the kernel's messages: \
journalctl -k -g md" loop_act_failed 1
	fi
}

loop_speed() { # fast|system
	[[ $LOOP_FAST != yes || $1 != fast ]] && [[ -n $LOOP_FAST || $1 != system ]] || return 0
	[[ $1 == fast ]] && LOOP_FAST=yes || LOOP_FAST=''
	[[ ! -d $SYS/block/${F[array.md]}/md || -z ${F[array.md]} ]] ||
		md_speed "${F[array.md]}" "$1" ||
		log_warning "${F[name]}: could not set md's speed limits"
}

# The end of the loop: whole, or as whole as it gets.
loop_end_() {
	loop_speed system
	if [[ $OUTCOME == whole ]]; then
		clock
		log_notice "${F[name]}: whole after \
$(quantity_show_seconds $((NOW - LOOP_STARTED)))"
		systemd_ready "whole: $(loop_legs_)"
	elif [[ ${F[ram.state]} == in_sync ]]; then
		log_error "${F[name]}: reads come from memory, but the mirror is not whole: $WHY; \
see: ramraid status ${F[name]}"
		systemd_ready "degraded: $WHY"
	elif [[ ${F[conf.ram]} == none ]]; then
		log_info "${F[name]}: $WHY"
		systemd_ready "$WHY: $(loop_legs_)"
	else
		log_error "${F[name]}: runs on its disk legs only, and reads are as slow as the \
disks: $WHY"
		systemd_ready "on its disk legs only: $WHY"
	fi
	# After "ready", because nobody has to wait for it. Until it is done, the witness may call
	# legs absent that joined during this start.
	loop_watch_
	# Looks again: what has happened since the last look was reported to nobody, and won't be.
	whole_since_look
	rescue_warn "${F[array.md]}"
	rescue_beside_warn
	contents_remember "${F[name]}" "${F[array.md]}" ||
		log_warning "${F[name]}: could not record in $STATE what is on it"
}

loop_legs_() {
	local IN_SYNC
	health_count
	[[ ${F[ram.state]} != in_sync ]] || printf 'RAM leg %s and ' "${F[ram.node]}"
	printf '%d of %d disk legs in sync\n' "$IN_SYNC" "${F[members]}"
}
