# ramraid start: brings an array up until it is whole, at boot or for the administrator; then, with
# VERIFY=, has md compare the rebuilt RAM leg with the disk legs.
# shellcheck shell=bash

need act/array-lock act/copy act/disk-legs act/hotplug act/keep-up act/loop act/rescue
need act/transitions act/verify act/witness-update cmd/wait config/conf config/conf-need core/act
need core/cli core/log core/paths core/uninterrupted decide/action decide/health decide/leg-alone
need decide/rescue-way notes/hardware notes/legs-seen notes/memory-floor notes/old-name
need notes/ram-out notes/refusal notes/rescue-record observe/all-disks observe/before-look
need observe/facts observe/rescue-place world/disk-find world/md world/ramdisk world/systemd

declare -gA F # the facts: decide/facts.list

readonly START_USAGE='usage: ramraid start [--force-leg=DISK [--yes]] [--dry-run] NAME

Start the array from the disk legs that are safe to start from, make the RAM leg, add it, and wait
until it is in sync. If you type it, ramraid starts ramraid@NAME.service, which does the work, and
shows its progress.
  --force-leg=DISK  the way out of a refusal: start the array from that good disk leg alone, although
                    the start is refused. ramraid says what the start gives up, and asks
  -y, --yes         with --force-leg: do not ask
  -n, --dry-run     print the next step, the reason and what the gate does, change nothing'

cmd_start() {
	cli_parse "$START_USAGE" 'dry-run yes force-leg=' "$@"
	cli_one_name "$START_USAGE"
	keep_up "$NAME"
	cli_root
	paths_run
	if [[ -n ${OPT[force_leg]-} ]]; then
		start_forced "$NAME"
	elif [[ -n $DRY_RUN ]]; then
		start_plan "$NAME"
	elif systemd_is_unit || ! systemd_is_running; then
		start_here "$NAME"
	else
		start_by_systemd "$NAME"
	fi
}

start_plan() { # NAME
	before_look_configured "$1"
	before_look_times
	facts_observe
	witness_update_foreign_start
	all_disks_decide
	action_gate
	log_printable WHY GATE
	printf 'action: %s\nwhy:    %s\ngate:   %s\n' "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" \
		"$WHY" "$GATE"
	# Also show what a start would wait for, and what it would do after that.
	if [[ $ACTION == wait-members ]]; then
		all_disks_decide eventually
		log_printable WHY
		printf 'if no more disks come: %s\nwhy:    %s\n' \
			"$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" "$WHY"
	fi
	[[ $ACTION != refuse || ${F[array.state]} == active ]] || all_disks_tell_moved
}

# --force-leg: starts the array here from that leg, and notes that. The rest is a start like any
# other.
start_forced() { # NAME
	local which
	before_look_configured "$1"
	facts_observe
	[[ ${F[array.state]} == active || -n $DRY_RUN ]] || systemd_settle "$1"
	start_lock_ "$1"
	conf_need "$1" # who had the lock may have changed the disks
	before_look_configured "$1"
	facts_observe
	[[ ${F[array.state]} != active ]] ||
		die "$1: is running already; $(rescue_way_first first)" "$EX_REFUSED"
	start_find_forced "${OPT[force_leg]}"
	action_choose
	if [[ $ACTION == stop-inactive ]]; then
		disk_legs_stop_inactive || die "$1: $LOOP_ERROR"
		cli_stopped "$1" "${F[array.md]}"
		facts_observe
		action_choose
	fi
	[[ $ACTION == assemble ]] || die "$1: $WHY" "$EX_REFUSED"
	which=$(start_which)
	start_ask_forced "$1"
	facts_observe
	start_find_forced "${OPT[force_leg]}"
	start_is_still "$1" "$which"
	old_name_take || die "$1: the records of its array under the name ${F[record.from]} could \
not be moved in $STATE; nothing was started"
	# Once the array runs, it has to be noted which legs have been given up; otherwise they
	# would be put back as if they had only just left.
	uninterrupted_begin
	disk_legs_assemble "${ARGUMENTS[@]}" || die "$1: $LOOP_ERROR"
	[[ -z $DRY_RUN ]] || return 0
	facts_observe
	disk_legs_is_of "${ARGUMENTS[0]}" ||
		die "$1: something else has started an array of its legs at the same moment: \
${F[array.md]} ${F[array.twin]}; stop them (mdadm --stop), then try again" "$EX_REFUSED"
	F[array.known]=yes
	witness_update || {
		# Without it, nobody would know at the next start which legs have been given up.
		md_stop "${F[array.md]}"
		die "$1: not started, because it could not be recorded that the other legs are \
given up. Fix that (see above), then try again" "$EX_REFUSED"
	}
	start_give_up_image_ "$1"
	uninterrupted_end
	exec {ARRAY_LOCK}>&-
	if systemd_is_running; then start_by_systemd "$1"; else start_here "$1"; fi
}

start_give_up_image_() { # NAME
	[[ -z ${F[rescue.image]} ]] || rescue_note_given_up "${F[rescue.image]}" ||
		log_warning "$1: could not note beside ${F[rescue.image]} that it has been given \
up: delete it when you are sure that nothing in it is needed"
	rescue_record_forget "$1"
}

# A start that waits for disks without a limit does not end by itself.
start_lock_() { # NAME
	local code=0
	array_lock_try "$1" 5 || code=$?
	((code != 0)) || return 0
	((code != 1)) || [[ ${CONF[MEMBER_TIMEOUT]} != infinity ]] || ! systemd_is_running ||
		[[ $(systemd_unit_state "$1") != activating ]] ||
		die "$1: its start waits for disks without a limit (MEMBER_TIMEOUT=infinity). \
End that first: ramraid stop $1; then type this again" "$EX_TRY_AGAIN"
	array_lock "$1" 0
}

# start_which: prints which device the chosen leg is (F[forced]).
start_which() {
	local NUMBER leg=leg.${F[forced]}
	legs_seen_number "${F[$leg.node]}"
	printf '%s %s %s\n' "${F[$leg.node]}" "$NUMBER" "${F[$leg.device_uuid]}"
}

# start_is_still NAME WHICH: for after the answer and another look. Ends the program when the leg is
# another device now, or may not be started any more: meanwhile somebody may have pulled the disk,
# and another one may have got its name.
start_is_still() {
	action_choose
	[[ $ACTION == assemble && $(start_which) == "$2" ]] ||
		die "$1: ${F[leg.${F[forced]}.dev]} has changed since it was looked at: nothing \
was changed. Look again, then type this again" "$EX_REFUSED"
}

start_find_forced() { # DISK
	local i NODE
	rescue_place_look
	F[forced]=''
	disk_find "$1" || die "$NAME: there is no block device $1" "$EX_INACTIVE"
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.node]} != "$NODE" ]] || F[forced]=$i
	done
	[[ -z ${F[leg.ram.dev]-} || ${F[ram.node]} != "$NODE" ]] || F[forced]=ram
	[[ -n ${F[forced]-} ]] || die "$NAME: $1 is no MEMBER of it in $ETC/$NAME.conf" "$EX_USAGE"
}

# Shows what is known of the other legs, so that the user knows what is given up; and of the leg
# itself, whose name may lead to a copy.
start_ask_forced() { # NAME
	local i HARDWARE HALF forced=leg.${F[forced]}
	hardware_of "${F[$forced.node]}"
	log_notice "$1: it will be started from ${F[$forced.dev]} alone, \
at ${F[$forced.events]} events (/dev/${F[$forced.node]}, ${HARDWARE%% *}). This gives up:"
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ $i != "${F[forced]}" ]] || continue
		log_notice "  whatever ${F[leg.$i.dev]} has that the chosen leg lacks \
($(start_leg_state "$i")); it stays out until it is made blank (mdadm --zero-superblock) and added"
	done
	[[ -z ${F[leg.ram.dev]-} || ${F[forced]} == ram || (-n ${F[ram.node]} &&
		${F[leg.ram.uuid]} != "${F[uuid]}") ]] ||
		log_notice "  whatever ${F[leg.ram.dev]}, the RAM leg, has that the chosen leg \
lacks ($(start_leg_state ram)); it is rebuilt as a whole"
	start_ask_ramdisk_ "$1"
	[[ -z ${F[witness.events]} ]] ||
		((${F[witness.events]} <= ${F[leg.${F[forced]}.events]} + 1)) ||
		log_notice "  what was written up to ${F[witness.events]} events, \
where the array was when it last ran"
	[[ -z ${F[rescue.image]} ]] ||
		log_notice "  the record of the rescue image ${F[rescue.image]}; \
the file itself is kept"
	[[ -z ${F[$forced.moved]} ]] ||
		log_warning "$1: /dev/${F[$forced.node]} may be a copy of the leg, \
or not the leg at all: ${F[$forced.moved]}"
	health_half
	[[ -z $HALF ]] || log_notice "  ${HALF#. }"
	PLAN=()
	cli_confirm "$1" ''
}

# The ramdisk of an array that somebody else has stopped: once the array runs, it is filled anew.
start_ask_ramdisk_() { # NAME
	local instead=''
	[[ ${F[ram.state]} == attached && -z ${F[leg.ram.dev]} ]] || return 0
	! health_only_copy_beside || instead=" When the array last ran, only the ramdisk was in \
sync: to go on with what it has, answer no, then: mdadm --assemble --run /dev/md/$1 \
/dev/${F[ram.node]} && ramraid start $1"
	log_notice "  whatever the ramdisk /dev/${F[ram.node]} has that the chosen leg lacks; it \
is filled again from that leg.$instead"
}

start_leg_state() { # I
	local LEG
	leg_alone "$1"
	case $LEG in
	missing) printf 'absent\n' ;;
	foreign) printf 'of another array\n' ;;
	silent | unreadable | used | blank | damaged) printf 'no superblock that can be read\n' ;;
	*) printf 'at %s events\n' "${F[leg.$1.events]}" ;;
	esac
}

start_here() { # NAME
	local code=0 use=''
	# "ramraid stop" or a shutdown sends SIGTERM to a start that waits or is still rebuilding.
	# Nothing is left half done; only the speed limits have to be put back.
	trap 'start_interrupted "$NAME"' TERM INT PIPE
	array_lock_of_unit "$1" 60
	conf_need "$1" # who had the lock may have changed the disks
	rm -f "$RUN/$1".{told,members}
	refusal_tried "$1"
	hotplug_reset_backoff "$1"
	ram_out_is_short "$1" || ram_out_forget "$1"
	ramdisk_forgive "$1"
	# "adopt" has found the array in use.
	[[ ! -e $RUN/$1.taken ]] || { use=in-use && rm -f "$RUN/$1.taken"; }
	loop_run "$1" no "$use" || code=$?
	((code == EX_REFUSED)) || refusal_started "$1"
	((code != EX_REFUSED)) || {
		[[ ${F[array.state]} == active ]] || refusal_is_reported "$1" "$WHY" ||
			all_disks_tell_moved
		hotplug_refused "$1"
	}
	# Hot-plug need not try again what has just failed.
	[[ -z $LOOP_NO_RAM ]] || hotplug_tried "$1" "$LOOP_PRINT"
	transitions_of_start "$1" "$code"
	exec {ARRAY_LOCK}>&-
	# Reports what has happened since the loop's last messages.
	((code != 0)) || transitions_tell "$1"
	# Hot-plug looks even after a refusal: a disk may have come since the loop's last look.
	hotplug_trigger
	((code != 0)) || verify_legs "$1"
	exit "$code"
}

start_interrupted() { # NAME
	uninterrupted_begin
	act_apart start_leave_ "$1"
	# systemd runs no ExecStop= for a unit that never became active.
	if systemd_is_unit && start_was_never_up_ "$1"; then
		log_notice "$1: interrupted before anything could depend on it; stopping it"
		[[ -z ${ARRAY_LOCK-} ]] || exec {ARRAY_LOCK}>&-
		exec "$0" stop -- "$1"
	fi
	log_notice "$1: interrupted; the array goes on as it is"
	exit "$EX_OK"
}

start_leave_() { # NAME
	loop_speed system
	verify_stop
	copy_stop "$1" || log_warning "$1: $COPY_WHY"
}

# Returns 0 if systemd never saw the unit up. "ready" may have reached systemd after the stop, and
# then it does not count. systemd itself only sends a signal if it runs no ExecStop=, or after
# ExecStop= has stopped everything.
start_was_never_up_() { # NAME
	[[ -z ${SYSTEMD_READY-} ]] || systemd_unit_is_signalled "$1"
}

# start_by_systemd NAME: starts the array's unit, and waits until the array is whole. Returns 1 or
# another code of wait_whole when it is not, even if the caller's errexit is not in force.
start_by_systemd() {
	before_look_configured "$1"
	facts_observe
	[[ ${F[array.state]} == active ]] || systemd_settle "$1" || {
		# A stop that found the only good copy in the ramdisk has started the array from it.
		facts_observe
		[[ ${F[array.state]} == active ]] || return 1
	}
	systemd_reset "$1"
	# A person who types this is notified of a refusal again, even if it was reported before.
	refusal_report_again "$1"
	start_tell_closed_ "$1"
	systemd_start "$1" || return
	wait_whole "$1" infinity || return
	log_notice "$1: whole"
	start_tell_down_ "$1"
}

# systemd first opens closed containers of the disk legs, and may ask for a passphrase where nobody
# looks.
start_tell_closed_() { # NAME
	local closed
	closed=$(systemd_closed "$1")
	[[ -z $closed ]] ||
		log_notice "$1: disk legs are in containers that are opened first \
(${closed//$'\n'/, }). If a passphrase is wanted, type it in another terminal: \
systemd-tty-ask-password-agent"
}

# A stop has unmounted what is on the array; when a person starts it, nothing mounts that again.
start_tell_down_() { # NAME
	local down
	down=$(systemd_down "$1")
	[[ -z $down ]] ||
		log_notice "$1: not in use again yet: ${down//$'\n'/, }. To mount what fstab \
mounts at boot: systemctl start local-fs.target"
}
