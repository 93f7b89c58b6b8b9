# systemd: the only file that talks to it.
# shellcheck shell=bash

need core/act core/log core/paths

readonly SYSTEMD_APART=60 # seconds that a program which nobody waits for may run
readonly SYSTEMD_TRIES=5  # how often it is asked, a second apart, whether the machine goes down

systemd_unit() { printf 'ramraid@%s.service\n' "$1"; } # NAME

# Is this very process the one that the array's unit started? Then it does the work; typed by a
# person it asks systemd to.
systemd_is_unit() { [[ ${SYSTEMD_EXEC_PID-} == "$$" && -n ${RAMRAID_UNIT-} ]]; }

systemd_is_running() { [[ -d $ROOT/run/systemd/system ]]; }

# systemd_is_stopping: does the machine go down? Also before its boot has ended, when
# is-system-running still says "starting". Returns 1 when it does not, and 2, after having asked
# several times, when systemd does not say.
systemd_is_stopping() {
	local try job state
	for ((try = 1; try <= SYSTEMD_TRIES; try++)); do
		((try == 1)) || sleep 1
		job=$(systemctl show --property=Job --value shutdown.target) || continue
		[[ ${job:-0} == 0 ]] || return 0
		# Its exit code is 0 for "running" alone.
		state=$(systemctl is-system-running) || :
		[[ $state != @(|offline|unknown) ]] || continue
		[[ $state == stopping ]]
		return
	done
	log_warning 'systemd does not say whether the machine goes down'
	return 2
}

# systemd_status TEXT: the unit's status line; nothing outside a unit. A service manager that does
# not listen for five seconds (sd_notify_barrier(3)) must not end a start or a stop: what is lost is
# a word, except for "ready", which is said again. A line end in it would begin another word to
# systemd (sd_notify(3)).
systemd_status() {
	local text=$1
	log_printable text
	[[ -z ${NOTIFY_SOCKET-} ]] || systemd-notify --status="$text" ||
		log_notice 'systemd did not take a status line in time'
}
systemd_ready() {
	local text=$1
	SYSTEMD_READY=yes
	[[ -n ${NOTIFY_SOCKET-} ]] || return 0
	log_printable text
	systemd-notify --ready --status="$text" || systemd-notify --ready --status="$text" ||
		log_warning 'systemd did not acknowledge "ready" in time'
}

# systemd_go_on: a stop that gets on is given five minutes more from now (sd_notify(3),
# EXTEND_TIMEOUT_USEC).
systemd_go_on() {
	[[ -z ${NOTIFY_SOCKET-} ]] || systemd-notify EXTEND_TIMEOUT_USEC=300000000 ||
		log_notice 'systemd did not take the request for more time'
}

systemd_unit_state() { systemctl show --property=ActiveState --value "$(systemd_unit "$1")"; }

# NAME: the unit's last word
systemd_status_text() { systemctl show --property=StatusText --value "$(systemd_unit "$1")"; }
# systemd_unit_is_up NAME: it is active, or on its way to or from that. systemd_unit_works NAME: its
# program runs, or will.
systemd_unit_is_up() {
	[[ $(systemd_unit_state "$1") == @(active|activating|reloading|deactivating) ]]
}
systemd_unit_works() {
	[[ $(systemctl show --property=MainPID,Job --value "$(systemd_unit "$1")") =~ [1-9] ]]
}
# systemd_unit_is_signalled NAME: systemd is ending its program with SIGTERM, not by ExecStop=
# (systemctl(1), the substates of a service).
systemd_unit_is_signalled() {
	[[ $(systemctl show --property=SubState --value "$(systemd_unit "$1")") == stop-sigterm ]]
}

# systemd_unquote VARIABLE: names of units, as "systemctl show" lists them: those with a backslash
# in quotes, and that doubled.
systemd_unquote() {
	local -n systemd_unquote_=$1
	systemd_unquote_=${systemd_unquote_//\"/}
	systemd_unquote_=${systemd_unquote_//\\\\/\\}
}

# systemd_dependents NAME: the units, but for our own workers, that a stop of the array's unit would
# stop as well, separated by blanks (Requires=, BindsTo= and PartOf= pass a stop on:
# systemd.unit(5)).
systemd_dependents() {
	local unit units
	units=$(systemctl show --property=RequiredBy,BoundBy,ConsistsOf --value \
		"$(systemd_unit "$1")") || return
	systemd_unquote units
	for unit in $units; do
		[[ $unit == ramraid-@(mend|memory|scrub)@"$1".service ]] || printf '%s ' "$unit"
	done
}

# systemd_down NAME: of the mounts and swaps that require the array's unit, those that are not up
# and that nothing is starting, one a line.
systemd_down() {
	local unit
	for unit in $(systemd_dependents "$1"); do
		[[ $unit == *.@(mount|swap) ]] || continue
		[[ $(systemctl show --property=ActiveState --value \
			"$unit") != @(inactive|failed) ]] || printf '%s\n' "$unit"
	done
}

# systemd_closed NAME: of the containers that the array's unit wants, those that are not open, one a
# line.
systemd_closed() {
	local unit units
	units=$(systemctl show --property=Wants --value "$(systemd_unit "$1")") || return
	systemd_unquote units
	for unit in $units; do
		[[ $unit == systemd-cryptsetup@*.service ]] || continue
		[[ $(systemctl show --property=ActiveState --value -- "$unit") == active ]] ||
			printf '%s\n' "$unit"
	done
}

# The watch on an array's members, MD. Anew, because a watch on an array of this name that has been
# stopped sees nothing any more.
systemd_start_monitor() { act systemctl restart --no-block "ramraid-monitor@$1.path"; }
# systemd_monitor MD: sets MONITOR to the state of that watch ("active", "failed" …), empty when
# systemd does not say.
systemd_monitor() {
	MONITOR=$(systemctl show --property=ActiveState --value "ramraid-monitor@$1.path") ||
		MONITOR=''
}
systemd_stop_monitor() {
	! systemd_is_running || act systemctl stop --no-block "ramraid-monitor@$1.path"
}

# The worker that brings a running array back to what is configured, NAME.
systemd_start_mend() { act systemctl start --no-block "ramraid-mend@$1.service"; }
systemd_stop_mend() { act systemctl stop "ramraid-mend@$1.service"; }
# Is hot-plug at work on it, or about to look? One that is "deactivating" has done its work. NAME
systemd_mend_works() {
	local states
	systemd_is_running &&
		states=$(systemctl show --property=ActiveState --value ramraid-hotplug.service \
			"ramraid-mend@$1.service") &&
		[[ $'\n'$states$'\n' == *$'\n'activating$'\n'* ]]
}

# What gives the RAM leg of NAME up while memory is short. Started again, because its configuration
# may be another.
systemd_start_memory() { act systemctl restart --no-block "ramraid-memory@$1.service"; }
systemd_stop_memory() { act systemctl stop --no-block "ramraid-memory@$1.service"; }

# systemd_run_apart UNIT TEXT [VARIABLE=VALUE|--property=…]… -- PROGRAM [ARG…]: has systemd
# run it, as a service of its own that nobody waits for, and that is gone when it ends. Without the
# usual dependencies, which would start half a boot in a rescue shell. At boot it waits for what the
# boot brings up anyway; a shutdown ends it, and none begins in one.
systemd_run_apart() {
	local unit=$1 text=$2 variables=()
	shift 2
	while [[ $1 != -- ]]; do
		if [[ $1 == --property=* ]]; then
			variables+=("$1")
		else variables+=("--setenv=$1"); fi
		shift
	done
	shift
	# systemd expands "$" to variables (systemd.service(5), COMMAND LINES).
	systemd-run --no-block --quiet --collect --unit="$unit" --description="$text" \
		--property=DefaultDependencies=no --property=Conflicts=shutdown.target \
		--property=Before=shutdown.target \
		--property='After=sysinit.target basic.target network-online.target' \
		--property=RuntimeMaxSec="$SYSTEMD_APART" --property=TimeoutStopSec=5 \
		"${variables[@]}" -- "${@//\$/\$\$}" >&2
}

# systemd_settle NAME: a unit that is up while its array is not (somebody has stopped it with mdadm)
# would take the next start for done.
systemd_settle() {
	! systemd_is_running || ! systemd_unit_is_up "$1" || systemd_unit_works "$1" ||
		systemd_stop "$1"
}

# systemd_enablement NAME: prints whether the next boot starts the array's unit ("enabled",
# "disabled", "masked" …); nothing when nobody knows. Asks the files, so that it also works where
# systemd does not run.
systemd_enablement() { systemctl is-enabled "$(systemd_unit "$1")" 2>/dev/null || :; }

# systemd_show PROPERTIES UNIT…: "PROPERTY=VALUE" lines of each unit, an empty line after each.
# What can be no unit's name ends "systemctl show"; then each is asked for by itself, and that one
# is left out. Returns 1 when systemd tells nothing at all.
systemd_show() {
	local properties=$1 unit text all=''
	shift
	(($# > 0)) || return 0
	text=$(systemctl show --property="$properties" -- "$@" 2>/dev/null) &&
		printf '%s\n\n' "$text" && return
	for unit; do
		! text=$(systemctl show --property="$properties" -- "$unit" 2>/dev/null) ||
			all+=$text$'\n\n'
	done
	printf '%s' "$all"
	[[ -n $all ]]
}

# systemd_time_ok TIME: is it a point in time (systemd.time(7), TIMESTAMPS)?
systemd_time_ok() { systemd-analyze timestamp -- "$1" >/dev/null 2>&1; }

# systemd_journal NAME [TIME]: what the journal has about an array, since TIME, the newest last:
# "KEY=value" lines, an empty line after each record (journalctl(1), --output=export). That is what
# root's ramraid has said with a level of notice or above (of any array), and that the array's unit
# has started, stopped or failed (systemd's sd-messages.h: SD_MESSAGE_UNIT_STARTED, _STOPPED,
# _FAILED, _FAILURE_RESULT).
systemd_journal() {
	journalctl --no-pager --output=export --output-fields=MESSAGE,PRIORITY,_PID \
		${2:+--since="$2"} \
		_UID=0 SYSLOG_IDENTIFIER=ramraid PRIORITY={0,1,2,3,4,5} + \
		_PID=1 UNIT="$(systemd_unit "$1")" \
		MESSAGE_ID={39f53479d3a045ac8e11786248231fbf,9d1aaa27d60140bd96365438aad20286} \
		MESSAGE_ID={be02cf6855d2428ba40df7e9d022f03d,d9b373ed55a64feb8242e02dbe79a49c}
}

systemd_reload() { act systemctl daemon-reload; }
systemd_enable() { act systemctl --quiet enable "$(systemd_unit "$1")"; }
systemd_disable() { act systemctl --quiet disable "$(systemd_unit "$1")"; }
systemd_start() { act systemctl start --no-block "$(systemd_unit "$1")"; }
systemd_stop() { act systemctl stop "$(systemd_unit "$1")"; }
# systemd_hold NAME: the unit of a running array is up, because its stop releases the RAM leg at
# shutdown.
systemd_hold() {
	systemd_is_running && ! systemd_unit_is_up "$1" && ! systemd_is_stopping || return 0
	systemd_reset "$1"
	systemd_start "$1"
}
systemd_reset() { # fails when there was no failure
	systemctl reset-failed "$(systemd_unit "$1")" 2>/dev/null || :
}

# systemd_escape OPTION… -- NAME…: unit names, one a line; nothing without a NAME.
# systemd-escape prints them in one line, with blanks, which no unit name holds. It ends at the
# first NAME that can be no unit's ("/srv/../x"); here that one is said and left out.
systemd_escape() {
	local options=() text name
	for text; do
		[[ $text != -- ]] || break
		options+=("$text")
	done
	shift $((${#options[@]} + 1))
	(($# > 0)) || return 0
	if text=$(systemd-escape "${options[@]}" -- "$@" 2>/dev/null); then
		printf '%s\n' "${text// /$'\n'}"
	else
		for name; do
			! text=$(systemd-escape "${options[@]}" -- "$name") || printf '%s\n' "$text"
		done
	fi
}

# systemd_escaped WORD OPTION… -- NAME…: what systemd_escape prints, "WORD UNIT" one a line.
systemd_escaped() {
	local units
	units=$(systemd_escape "${@:2}")
	[[ -z $units ]] || printf '%s\n' "$1 ${units//$'\n'/$'\n'$1 }"
}
