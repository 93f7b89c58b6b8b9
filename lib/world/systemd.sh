# systemd: the only file that talks to it.
# shellcheck shell=bash

need core/act core/log core/paths core/text

readonly SYSTEMD_APART=60 # seconds that a program which nobody waits for may run
readonly SYSTEMD_TRIES=5  # how often it is asked, a second apart, whether the machine goes down

systemd_unit() { printf 'ramraid@%s.service\n' "$1"; } # NAME

# Is this process the one that the array's unit started? Then it does the work itself. A command
# that a person typed asks systemd to do it.
systemd_is_unit() { [[ ${SYSTEMD_EXEC_PID-} == "$$" && -n ${RAMRAID_UNIT-} ]]; }

systemd_is_running() { [[ -d $ROOT/run/systemd/system ]]; }

# systemd_is_stopping: is the machine shutting down? It finds that out even before the boot has
# ended, when is-system-running still says "starting". Returns 1 when it is not, and 2 when systemd
# does not say although it was asked several times.
systemd_is_stopping() {
	local try job state
	for ((try = 1; try <= SYSTEMD_TRIES; try++)); do
		((try == 1)) || sleep 1
		job=$(systemctl show --property=Job --value shutdown.target) || continue
		[[ ${job:-0} == 0 ]] || return 0
		# Its exit code is 0 only for "running".
		state=$(systemctl is-system-running) || :
		[[ $state != @(|offline|unknown) ]] || continue
		[[ $state == stopping ]]
		return
	done
	log_warning 'systemd does not say whether the machine is shutting down'
	return 2
}

# systemd_status TEXT: sets the unit's status line; does nothing outside a unit. A service manager
# that does not listen for five seconds (sd_notify_barrier(3)) must not make a start or a stop fail:
# only a message is lost, and "ready" is sent again. A newline in TEXT would begin another
# assignment to systemd (sd_notify(3)).
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

# systemd_go_on: asks systemd to give a stop that is making progress five more minutes from now
# (sd_notify(3), EXTEND_TIMEOUT_USEC).
systemd_go_on() {
	[[ -z ${NOTIFY_SOCKET-} ]] || systemd-notify EXTEND_TIMEOUT_USEC=300000000 ||
		log_notice 'systemd did not take the request for more time'
}

# systemd_unit_state NAME: prints the ActiveState of the array's unit; systemd_state UNIT: of any.
systemd_unit_state() { systemd_state "$(systemd_unit "$1")"; }
systemd_state() { systemctl show --property=ActiveState --value "$1"; }

# systemd_status_text NAME: prints the last status line of the array's unit.
systemd_status_text() { systemctl show --property=StatusText --value "$(systemd_unit "$1")"; }
# systemd_unit_is_up NAME: is the array's unit active, or on its way to or from that?
# systemd_unit_works NAME: is its program running, or a job for it queued?
systemd_unit_is_up() {
	[[ $(systemd_unit_state "$1") == @(active|activating|reloading|deactivating) ]]
}
systemd_unit_works() {
	[[ $(systemctl show --property=MainPID,Job --value "$(systemd_unit "$1")") =~ [1-9] ]]
}
# systemd_unit_is_signalled NAME: is systemd ending the unit's program with SIGTERM, not with
# ExecStop= (systemctl(1), the substates of a service)?
systemd_unit_is_signalled() {
	[[ $(systemctl show --property=SubState --value "$(systemd_unit "$1")") == stop-sigterm ]]
}

# systemd_is_other_service: is this process the main one of a service, but not of the array's unit?
# The sandbox of such a service says nothing about what the unit may write to.
systemd_is_other_service() { [[ ${SYSTEMD_EXEC_PID-} == "$$" && -z ${RAMRAID_UNIT-} ]]; }

# systemd_may_write NAME PATH: may the programs of the array's unit write to PATH, by what systemd
# has loaded (ProtectSystem=strict and ReadWritePaths= of systemd.exec(5))? A path of
# ReadWritePaths= that does not exist when a program begins is left out then, if it has a "-". Yes
# where systemd does not run, or does not say.
systemd_may_write() {
	local line path wanted writable=() strict=''
	systemd_is_running || return 0
	while IFS= read -r line; do
		case $line in
		ProtectSystem=strict) strict=yes ;;
		ReadWritePaths=*) text_split writable "${line#*=}" ;;
		esac
	done < <(systemctl show --property=ProtectSystem,ReadWritePaths "$(systemd_unit "$1")")
	[[ -n $strict ]] && wanted=$(readlink -e -- "$2") || return 0
	for path in "${writable[@]}"; do
		while [[ $path == [-+]* ]]; do path=${path#?}; done
		path=$(readlink -e -- "$path") || continue
		[[ ${wanted%/}/ != "${path%/}"/* ]] || return 0
	done
	return 1
}

# systemd_unquote VARIABLE: removes the quoting from the unit names in VARIABLE. "systemctl show"
# puts names with a backslash in quotes, and doubles the backslash.
systemd_unquote() {
	local -n systemd_unquote_=$1
	systemd_unquote_=${systemd_unquote_//\"/}
	systemd_unquote_=${systemd_unquote_//\\\\/\\}
}

# systemd_dependents NAME: prints the units, apart from our own workers, that a stop of the array's
# unit would stop as well, separated by blanks (Requires=, BindsTo= and PartOf= pass a stop on:
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

# systemd_down NAME: prints those mounts and swaps that require the array's unit, are not up, and
# are not being started, one a line.
systemd_down() {
	local unit
	for unit in $(systemd_dependents "$1"); do
		[[ $unit == *.@(mount|swap) ]] || continue
		[[ $(systemctl show --property=ActiveState --value \
			"$unit") != @(inactive|failed) ]] || printf '%s\n' "$unit"
	done
}

# systemd_closed NAME: prints the units of those LUKS containers that the array's unit wants and
# that are not open, one a line.
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

# The monitor of the members of the array MD. It is restarted, because a monitor that has been
# watching a stopped array of the same name sees nothing of the new one.
systemd_start_monitor() { act systemctl restart --no-block "ramraid-monitor@$1.path"; }
# systemd_monitor MD: sets MONITOR to the state of that monitor ("active", "failed" …); to empty
# when systemd does not say.
systemd_monitor() {
	MONITOR=$(systemd_state "ramraid-monitor@$1.path") || MONITOR=''
}
systemd_stop_monitor() {
	! systemd_is_running || act systemctl stop --no-block "ramraid-monitor@$1.path"
}

# The worker that brings the running array NAME back to what is configured.
systemd_start_mend() { act systemctl start --no-block "ramraid-mend@$1.service"; }
systemd_stop_mend() { act systemctl stop "ramraid-mend@$1.service"; }
# systemd_mend_works NAME: is hot-plug at work on the array, or about to look at it? A unit that is
# "deactivating" has done its work.
systemd_mend_works() {
	local states
	systemd_is_running &&
		states=$(systemctl show --property=ActiveState --value ramraid-hotplug.service \
			"ramraid-mend@$1.service") &&
		[[ $'\n'$states$'\n' == *$'\n'activating$'\n'* ]]
}

# The service that gives up the RAM leg of NAME when memory is short. It is restarted, because its
# configuration may have changed.
systemd_start_memory() { act systemctl restart --no-block "ramraid-memory@$1.service"; }
systemd_stop_memory() { act systemctl stop --no-block "ramraid-memory@$1.service"; }

# systemd_run_apart UNIT TEXT [VARIABLE=VALUE|--property=…]… -- PROGRAM [ARG…]: has systemd run
# PROGRAM as a transient service that nobody waits for, and that is unloaded when it ends. It has no
# default dependencies, which would start half a boot from a rescue shell. At boot it waits for what
# the boot starts anyway. A shutdown stops it, and it does not start during one.
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
	# systemd expands "$" in a command line (systemd.service(5), COMMAND LINES).
	systemd-run --no-block --quiet --collect --unit="$unit" --description="$text" \
		--property=DefaultDependencies=no --property=Conflicts=shutdown.target \
		--property=Before=shutdown.target \
		--property='After=sysinit.target basic.target network-online.target' \
		--property=RuntimeMaxSec="$SYSTEMD_APART" --property=TimeoutStopSec=5 \
		"${variables[@]}" -- "${@//\$/\$\$}" >&2
}

# systemd_settle NAME: stops a unit that is up while its array is not, because somebody has stopped
# the array with mdadm. Otherwise systemd would consider the next start already done.
systemd_settle() {
	! systemd_is_running || ! systemd_unit_is_up "$1" || systemd_unit_works "$1" ||
		systemd_stop "$1"
}

# systemd_enablement NAME: prints whether the next boot starts the array's unit ("enabled",
# "disabled", "masked" …); nothing when that is not known. It looks at the unit files, so it also
# works where systemd is not running.
systemd_enablement() { systemctl is-enabled "$(systemd_unit "$1")" 2>/dev/null || :; }

# systemd_show PROPERTIES UNIT…: prints "PROPERTY=VALUE" lines for each unit, with an empty line
# after each unit. "systemctl show" stops at a word that can't be a unit's name. Then each unit is
# asked for by itself, and that word is left out. Returns 1 when systemd says nothing at all.
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

# systemd_journal NAME [TIME]: prints what the journal has about an array, since TIME, newest last:
# "KEY=value" lines, with an empty line after each record (journalctl(1), --output=export). These
# are what root's ramraid has logged with priority notice or higher (about any array), and the
# records that the array's unit was started or stopped, or has failed (systemd's sd-messages.h:
# SD_MESSAGE_UNIT_STARTED, _STOPPED, _FAILED, _FAILURE_RESULT).
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
# systemd_hold NAME: makes sure that the unit of a running array is up, because stopping the unit is
# what releases the RAM leg at shutdown.
systemd_hold() {
	systemd_is_running && ! systemd_unit_is_up "$1" && ! systemd_is_stopping || return 0
	systemd_reset "$1"
	systemd_start "$1"
}
systemd_reset() { # fails when there was no failure
	systemctl reset-failed "$(systemd_unit "$1")" 2>/dev/null || :
}

# systemd_escape OPTION… -- NAME…: prints unit names, one a line; nothing without a NAME.
# systemd-escape prints them on one line, separated by blanks, which no unit name contains. It stops
# at the first NAME that can't be a unit's ("/srv/../x"); here that one is reported and left out.
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

# systemd_escaped WORD OPTION… -- NAME…: prints what systemd_escape prints, as "WORD UNIT", one a
# line.
systemd_escaped() {
	local units
	units=$(systemd_escape "${@:2}")
	[[ -z $units ]] || printf '%s\n' "$1 ${units//$'\n'/$'\n'$1 }"
}
