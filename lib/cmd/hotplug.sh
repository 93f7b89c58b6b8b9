# ramraid hotplug: looks at every running array after a disk has come or gone, and starts the worker of those that need it.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly HOTPLUG_USAGE='usage: ramraid hotplug

Looks at every array without HOTPLUG=no: tells what has become of its legs, and starts ramraid-mend@NAME where one can be put back. Done by
ramraid-hotplug.path whenever a disk comes or goes, and when a start or a repair has ended.'

cmd_hotplug() {
	local name code=0
	cli_parse "$HOTPLUG_USAGE" '' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$HOTPLUG_USAGE" 'takes no operands'
	need_work
	cli_root
	paths_run
	# Before the look: what happens from here on raises it again.
	rm -f "$RUN/event"
	while IFS= read -r name; do
		# One array's trouble must not keep the others from being looked at.
		(hotplug_one "$name") || code=$EX_FAILED
	done < <(conf_names)
	return "$code"
}

hotplug_one() { # NAME
	# What is wrong with it is said by the start, and by "status".
	conf_load "$1" || return 0
	[[ ${CONF[HOTPLUG]} == yes ]] || return 0
	# Whoever holds the lock looks for itself, and asks for another look when it ends.
	cli_is_free "$1" || return 0
	facts_configured "$1"
	facts_observe
	case ${F[array.state]} in
	absent) hotplug_start_ "$1" ;;
	active)
		mend_facts
		changes_tell "$1"
		# One that a person has started, while its unit is stopped, is that person's.
		mend_is_released "$1" || ! mend_is_due "$1" || ! systemd_unit_is_up "$1" || systemd_start_mend "$1"
		;;
	esac
}

# A start that was refused, one of the disks that were missing then is there now, and with it the start is safe. Nothing else is begun again: a person
# may have stopped it, or be at work on the disks.
hotplug_start_() { # NAME
	mend_has_come "$1" && [[ $(systemd_unit_state "$1") == failed ]] && facts_times || return 0
	decide_action
	[[ $ACTION == assemble ]] || return 0
	rm -f "$RUN/$1.refused"
	log_notice "$1: it could not be started before; now it can: $WHY"
	systemd_reset "$1"
	systemd_start "$1"
}
