# ramraid hotplug: looks at every running array after a disk has come or gone, and starts a worker
# for each array that needs one.
# shellcheck shell=bash

need act/array-lock config/conf core/cli core/paths notes/ram-out notes/refusal

declare -gA F # the facts: decide/facts.list

readonly HOTPLUG_USAGE='usage: ramraid hotplug

Look at every running array, and record who is in it if that has changed unseen. Then look at
every array without HOTPLUG=no: report what has happened to its legs, and start ramraid-mend@NAME
where a leg can be put back. ramraid-hotplug.path runs this whenever a disk comes or goes, and when
a start or a repair has ended; ramraid-hotplug.timer every 15 minutes.'

cmd_hotplug() {
	local name names=() code=0
	cli_parse "$HOTPLUG_USAGE" '' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$HOTPLUG_USAGE" 'takes no operands'
	cli_root
	paths_run
	# This comes before the look: whatever happens from here on makes a new event.
	rm -f "$RUN/event"
	cmd_hotplug_records_ || code=$EX_FAILED
	# Whoever holds the lock looks for itself, and asks for another look when it ends.
	while IFS= read -r name; do
		! array_lock_is_free "$name" || names+=("$name")
	done < <(conf_names)
	((${#names[@]} > 0)) || return "$code"
	# Not earlier: while an array starts, this program runs for every leg that changes.
	need act/hotplug act/transitions core/log observe/facts observe/all-disks
	need observe/before-look world/systemd
	for name in "${names[@]}"; do
		# Trouble with one array must not keep the others from being looked at.
		(cmd_hotplug_one "$name") || code=$EX_FAILED
	done
	return "$code"
}

# The records come first, because they must not be late. A program that works on an array for hours,
# such as a replace, relies on the monitor as well; but an array that is not judged yet is left to
# its start.
cmd_hotplug_records_() {
	local file name code=0
	for file in "$RUN"/*.watched; do
		[[ -e $file ]] || continue
		name=${file##*/} name=${name%.watched}
		need act/witness-look
		# An array that is being released at this moment has no configuration any more.
		(witness_look "$name") || [[ ! -e $ETC/$name.conf ]] || code=$EX_FAILED
	done
	return "$code"
}

cmd_hotplug_one() { # NAME
	# The start, and "status", report what is wrong with the configuration.
	conf_load "$1" || return 0
	[[ ${CONF[HOTPLUG]} == yes ]] || return 0
	# An array that is stopped, and was not refused, stays stopped: its disks need not be read.
	refusal_is_noted "$1" || ! hotplug_is_stopped "${CONF[UUID]}" || return 0
	before_look_configured "$1"
	[[ -z ${F[record.why]} ]] || return 0
	facts_observe
	case ${F[array.state]} in
	absent) cmd_hotplug_start_ "$1" ;;
	active)
		transitions_tell "$1"
		hotplug_facts
		# An array that a person has started while its unit is stopped is left to that
		# person.
		ram_out_is_released "$1" || ! hotplug_is_due "$1" || ! systemd_unit_is_up "$1" ||
			systemd_start_mend "$1"
		;;
	esac
}

# Starts an array again if its start was refused with a disk missing, its disks have changed since,
# and the start is safe now. It starts no other array: a person may have stopped it, or be at work
# on the disks.
cmd_hotplug_start_() { # NAME
	hotplug_has_changed "$1" && [[ $(systemd_unit_state "$1") == failed ]] &&
		before_look_times || return 0
	all_disks_decide
	[[ $ACTION == assemble ]] || return 0
	hotplug_note_restart "$1"
	log_notice "$1: it could not be started before; now it can: $WHY"
	systemd_reset "$1"
	systemd_start "$1"
}
