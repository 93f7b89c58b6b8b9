# ramraid stop: leaves superblocks behind that tell the truth, so that the next start, ours or a rescue system's, is immediate.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly STOP_USAGE='usage: ramraid stop [--dry-run] NAME

Takes the RAM leg out of the array while a disk leg is in sync, stops the array, and gives the memory back. What is mounted from it
is unmounted first if systemd knows that it depends on the array; otherwise the array stays as it is and the users are named.'

cmd_stop() {
	cli_parse "$STOP_USAGE" 'dry-run' "$@"
	cli_one_name "$STOP_USAGE"
	need_work
	[[ ! -e $RUN/$NAME.released ]] || stop_released "$NAME"
	conf_need_started "$NAME"
	cli_root
	[[ -n $DRY_RUN ]] || rm -f "$RUN/$NAME.refused" # or it would be started again when a disk comes
	if [[ -n $DRY_RUN ]] || systemd_is_unit || ! systemd_is_running; then
		stop_here "$NAME"
	else
		stop_by_systemd "$NAME"
	fi
}

# "ramraid release" makes the array nobody's while it is in use, and then has systemd stop our unit: that must not touch the array. The
# lock is held by that.
stop_released() { # NAME
	systemd_is_unit || die "$1: a release of it has begun; to finish that: ramraid release $1" "$EX_REFUSED"
	log_notice "$1: released; the array stays as it is"
	exit "$EX_OK"
}

stop_by_systemd() { # NAME
	local users code=$EX_FAILED again='systemctl start local-fs.target mounts it again'
	if systemd_unit_is_up "$1"; then
		systemd_stop "$1" || log_error "$1: systemd could not stop it; see: systemctl status $(systemd_unit "$1")"
	else
		stop_here "$1" # started by something else, or its unit has failed
		systemd_reset "$1"
	fi
	facts_configured "$1"
	facts_observe
	[[ ${F[array.state]} != absent ]] || return 0
	# The unit is what lets go of the RAM leg at shutdown: a running array must not be without it.
	users=$(stop_users)
	if [[ -n $users ]]; then
		log_error "$1: is still running, in use by: $users. What systemd had mounted from it is unmounted ($again)"
	elif guard_only_copy; then
		guard_keeps "$1"
		log_error "$1: what systemd had mounted from it is unmounted ($again)"
		code=$EX_REFUSED
	else
		log_error "$1: is still running, though nobody uses it any more; type again: ramraid stop $1"
	fi
	systemd_reset "$1"
	systemd_start "$1"
	return "$code"
}

stop_here() {                                                                                   # NAME
	[[ -z ${MAINPID-} || $MAINPID == 0 || -n $DRY_RUN ]] || kill -TERM "$MAINPID" 2>/dev/null || : # it has just ended by itself
	cli_lock "$1" 60
	conf_need_started "$1" # who had the lock may have changed the disks
	facts_configured "$1"
	facts_observe
	if [[ ${F[array.state]} == absent ]]; then
		[[ -n $DRY_RUN ]] || copy_stop "$1" || die "$1: $COPY_WHY; its ramdisk stays" "$EX_TRY_AGAIN"
		record_first_look
		stop_is_last_copy_ "$1" || ram_drop "$1"
		return
	fi
	[[ ${F[array.state]} != active ]] || contents_remember "$1" "${F[array.md]}" || log_warning "$1: could not remember what lies on it"
	stop_check_users "$1"
	guard_release "$1" "$(stop_going_down)" || stop_refused_ $? "$1"
	facts_observe
	record_witness
	lately_note ended
	systemd_stop_monitor "${F[array.md]}" || log_notice "$1: its monitor could not be stopped; it sees nothing any more"
	md_stop "${F[array.md]}" || die "$1: ${F[array.md]} could not be stopped; it is in use by: $(stop_users)"
	[[ -n $DRY_RUN ]] || rm -f "$RUN/$1.watched"
	[[ -z $GUARD_RESCUED ]] || ram_drop "$1"
}

# stop_is_last_copy_ NAME: has somebody else stopped the array while the RAM leg was the only good copy, and is that ramdisk still there?
stop_is_last_copy_() {
	[[ -n ${F[witness.events]} && -z ${F[witness.legs]} && -z ${F[rescue.image]} && ${F[ram.state]} == attached ]] || return 1
	log_alert "$1: the ramdisk ${F[ram.node]} stays: no disk has what was written last. Do not cut the power; to go on with it: mdadm --assemble --run /dev/md/$1 /dev/${F[ram.node]}; ramraid start $1"
}

# stop_going_down: prints "going-down" when the machine does. A unit that systemd stops without a word whether the machine goes down is taken for one that goes
# with it: what is done more then costs time, what is done less could cost the only copy. What a person has typed is not.
stop_going_down() {
	local code=0
	systemd_is_running || return 0
	systemd_is_stopping || code=$?
	[[ $code == 0 ]] || { [[ $code == 2 ]] && systemd_is_unit; } || return 0
	printf 'going-down\n'
}

# systemd takes a unit whose stop has failed for failed, and would not stop it again at shutdown: it is started again, which changes nothing.
stop_refused_() { # CODE NAME
	if systemd_is_unit && [[ -z $(stop_going_down) ]]; then systemd_start "$2"; fi
	exit "$1"
}

# Before anything is changed: an array in use stays whole. At shutdown the RAM leg goes nevertheless, because its contents end anyway
# and the superblocks had better say so; systemd stops the array itself after the last file system is gone.
stop_check_users() { # NAME
	local users
	users=$(stop_users)
	[[ -n $users ]] || return 0
	if [[ -n $(stop_going_down) ]]; then
		[[ -z $DRY_RUN ]] || return 0
		! guard_only_copy || stop_wait_for_users_ "$1" || return 0
		log_warning "$1: still in use by $users; taking the RAM leg out and leaving the array to systemd-shutdown"
		guard_release "$1" going-down
		facts_observe
		record_witness
		lately_note
		exit "$EX_OK"
	fi
	if [[ -n $DRY_RUN ]] && systemd_is_running && systemd_unit_is_up "$1"; then
		log_notice "$1: in use by $users. What systemd knows to lie on it is unmounted first; if it is in use after that, it stays as it is"
		return
	fi
	log_error "$1: is in use by $users. Unmount or stop that, then: ramraid stop $1"
	stop_refused_ "$EX_FAILED" "$1"
}

# An image of an array that is being written is torn. What systemd does not know to lie on the array is unmounted beside us: it is waited for. Volumes
# that nobody uses write nothing, and go with the machine. Returns 1 when nobody uses the array any more.
stop_wait_for_users_() { # NAME
	local NOW end
	clock
	end=$((NOW + 90))
	while ((NOW < end)); do
		[[ -n $(stop_users) ]] || return 1
		! disk_is_idle "${F[array.md]}" || return 0
		systemd_status "the RAM leg is the only good copy; waiting for those who use the array: $(stop_users)"
		sleep 1
		clock
	done
	log_alert "$1: still in use by $(stop_users): what they write from now on is lost"
}

stop_users() {
	local users
	users=$(disk_users "${F[array.md]}")
	printf '%s\n' "${users//$'\n'/, }"
}
