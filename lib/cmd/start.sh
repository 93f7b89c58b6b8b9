# ramraid start: the boot's way to a whole array, and the administrator's.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly START_USAGE='usage: ramraid start [--dry-run] NAME

Starts the array from the disk legs that are safe to start from, makes the RAM leg, adds it, and waits until it is in sync.
Within ramraid@NAME.service it does so itself; typed by a person, it starts that unit and shows its progress.
--dry-run prints the decision and the reason, and changes nothing.'

cmd_start() {
	cli_parse "$START_USAGE" 'dry-run' "$@"
	cli_one_name "$START_USAGE"
	need conf disk superblock witness md ram facts decide safestart systemd contents drive
	conf_need "$NAME"
	cli_root
	mkdir -p "$RUN"
	if [[ -n $DRY_RUN ]]; then
		start_plan "$NAME"
	elif systemd_is_unit || ! systemd_is_running; then
		start_here "$NAME"
	else
		start_by_systemd "$NAME"
	fi
}

start_plan() { # NAME
	facts_configured "$1"
	facts_times
	facts_observe
	decide_action
	decide_gate
	printf 'action: %s\nwhy:    %s\ngate:   %s\n' "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" "$WHY" "$GATE"
}

start_here() { # NAME
	local code=0
	cli_lock "$1" 60
	# "ramraid stop" ends a start that is still rebuilding with SIGTERM: nothing is half done, only the speed limits are put back.
	trap 'start_interrupted' TERM INT
	drive "$1" || code=$?
	exit "$code"
}

start_interrupted() {
	trap '' TERM INT
	drive_speed_ system
	# systemd runs no ExecStop= for a unit that never became active.
	if [[ -z ${SYSTEMD_READY-} ]] && systemd_is_unit; then
		log_notice "${F[name]}: interrupted before anything could depend on it; stopping it"
		exec {CLI_LOCK}>&-
		exec "$0" stop -- "${F[name]}"
	fi
	log_notice "${F[name]}: interrupted; the array goes on as it is"
	exit "$EX_OK"
}

start_by_systemd() { # NAME
	need cmd/wait
	systemd_reset "$1"
	systemd_start "$1"
	wait_whole "$1" infinity
}
