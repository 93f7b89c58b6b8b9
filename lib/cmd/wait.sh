# ramraid wait: waits until an array is whole.
# shellcheck shell=bash

need act/array-lock config/conf-need core/cli core/clock core/log core/quantity decide/health
need observe/before-look observe/facts observe/look report/progress-line world/systemd
# Other files need these later, when an upgrade of the package may already have taken them away.
need config/conf-faults notes/legs-seen observe/outside

declare -gA F # the facts: decide/facts.list

readonly WAIT_USAGE='usage: ramraid wait [--timeout=TIMESPAN] NAME

Wait until the array is whole. On a terminal, wait shows the progress.
  --timeout=TIMESPAN  wait no longer than this, such as 90s or 10min (systemd.time(7))
Exit code 0: the array is whole; 1: it runs but will not become whole; 3: it does not run; 75: the
time is up.'

cmd_wait() {
	local bound=infinity
	cli_parse "$WAIT_USAGE" 'timeout=' "$@"
	cli_one_name "$WAIT_USAGE"
	conf_need "$NAME"
	[[ -z ${OPT[timeout]-} ]] || bound=$(quantity_seconds "${OPT[timeout]}") ||
		die "--timeout=${OPT[timeout]} is not a time span; see systemd.time(7)" "$EX_USAGE"
	wait_whole "$NAME" "$bound"
}

readonly WAIT_TELL=10 # seconds after which it says what it waits for, other than md

# wait_whole NAME SECONDS|infinity: waits until the array is whole. Returns what the usage says.
wait_whole() {
	local begin NOW state shown='' told=''
	clock
	begin=$NOW
	before_look_configured "$1"
	while :; do
		facts_observe
		state=$(systemd_unit_state "$1")
		! health_is_whole || {
			progress_line_end "$shown"
			wait_last_words_ "$1" "$state"
			return 0
		}
		wait_over_ "$1" "$state" && {
			# It may be whole with other disks, if somebody has replaced one meanwhile.
			look_again "$1"
			! health_is_whole || continue
			progress_line_end "$shown"
			wait_result_ "$1"
			return
		}
		clock
		[[ $2 == infinity ]] || ((NOW - begin < $2)) || {
			progress_line_end "$shown"
			log_error "$1: not whole after $2 s; see: ramraid status $1"
			return "$EX_TRY_AGAIN"
		}
		((NOW - begin < WAIT_TELL)) || wait_tell_ "$1" "$state"
		[[ ! -t 2 ]] || { shown=yes && progress_line "$1" "$state"; }
		sleep 0.5
	done
}

# A command may wait for an answer, or have been stopped by Ctrl-Z; then nothing else shows that.
wait_tell_() { # NAME UNIT-STATE
	[[ -z $told && ${F[array.sync]} == @(idle|frozen) && $2 != activating ]] &&
		! array_lock_is_free "$1" || return 0
	told=yes
	log_notice "$1: waiting for $(array_lock_who "$1"), which is at work on it, or waits for \
an answer"
}

# wait_disks NAME: waits until nothing goes on any more that could add a leg. Returns 0 if all disk
# legs are in sync then. For an array that gets its RAM leg at a later start.
wait_disks() {
	local state LOST LACKING
	before_look_configured "$1"
	while :; do
		facts_observe
		state=$(systemd_unit_state "$1")
		! wait_over_ "$1" "$state" || break
		sleep 0.5
	done
	look_again "$1"
	health_lost
	[[ ${F[array.state]} == active && -z $LOST$LACKING ]] || wait_result_ "$1"
}

# The process that made the array whole then notes since when it has been whole, for "status". This
# waits for that, but only for a few seconds: the process may go on comparing the legs for long.
wait_last_words_() { # NAME UNIT-STATE
	local looks
	[[ $2 == @(active|activating) ]] || return 0
	for ((looks = 0; looks < 6; looks++)); do
		systemd_unit_works "$1" || systemd_mend_works "$1" || return 0
		sleep 0.5
	done
}

# Returns 0 when nothing goes on that could still make the array whole: md is idle, and neither the
# unit, hot-plug nor a person's command ("replace", between two steps) is at work. Frozen counts as
# idle: a command that was killed may have left md so. The caller may hold the lock itself.
wait_over_() { # NAME UNIT-STATE
	[[ ${F[array.sync]} == @(idle|frozen) && $2 != activating ]] || return 1
	! systemd_unit_works "$1" && ! systemd_mend_works "$1" &&
		{ [[ -n ${ARRAY_LOCK-} ]] || array_lock_is_free "$1"; }
}

wait_result_() { # NAME
	local why
	if [[ ${F[array.state]} == active && ${F[array.sync]} == frozen ]]; then
		log_error "$1: runs, but is not whole, and its sync_action is frozen, so md \
rebuilds nothing: a replace, apply or resize was killed. Type that command again"
		return "$EX_FAILED"
	elif [[ ${F[array.state]} == active ]]; then
		log_error "$1: runs, but is not whole; see: ramraid status $1"
		return "$EX_FAILED"
	fi
	why=$(systemd_status_text "$1") || why=''
	[[ $why != 'not started: '* ]] || log_error "$1: $why"
	log_error "$1: is not running; see: ramraid status $1"
	return "$EX_INACTIVE"
}
