# A look at the record of a running array that no event has asked for. systemd's watches on an array
# may be missing for good, when no inotify instance was left, or for the moment of a daemon-reload;
# nobody sees a leg that leaves then. Hot-plug's look, which a timer starts as well, finds that.
# shellcheck shell=bash

need act/array-lock act/transitions act/witness-update config/conf config/conf-need core/act
need core/log core/paths decide/health notes/legs-seen notes/watched observe/before-look
need observe/complete-legs observe/facts world/systemd

declare -gA F # the facts: decide/facts.list

# witness_look NAME: writes the record, and reports what has changed, if the members, the record, or
# whether it vouches for anything, have changed since the last such look. Starts a watch that is
# gone again. While nothing has changed, it reads no disk. Does nothing for a run that no start of
# ours has judged. Returns 1 when the record could not be written.
witness_look() {
	local noted='' WITNESS_LOOK code=0
	# Other programs report what is wrong with its configuration; this one would repeat that
	# every quarter of an hour.
	conf_load "$1" || conf_need_started "$1"
	before_look_configured "$1"
	[[ -z ${F[record.why]} ]] || return 0
	facts_observe
	[[ ${F[array.state]} == active ]] && watched_is "${F[array.md]}" || return 0
	witness_look_monitor_
	! health_only_copy || systemd_hold "$1"
	witness_look_print_
	{ IFS= read -r noted <"$RUN/$1.looked"; } 2>/dev/null || :
	[[ $noted != "$WITNESS_LOOK" ]] || return 0
	witness_update || code=1
	before_look_witness
	witness_look_print_
	((code != 0)) || act_put "$RUN/$1.looked" "$WITNESS_LOOK"
	# This takes long while another program reports, so it comes last.
	transitions_tell "$1"
	return "$code"
}

# Sets the caller's WITNESS_LOOK to the record that counts, and to the members of the array: for
# each one in sync its node, and the number by which the kernel tells it from a later disk at that
# node; and to those that are vouched for, if not all are.
witness_look_print_() {
	local node NODES COMPLETE NUMBER
	complete_legs_find
	WITNESS_LOOK="${F[witness.generation]} ${F[witness.events]:+vouches} ${F[array.md]} \
ram=${F[ram.node]}:${F[ram.state]}:${F[ram.slot]}"
	for node in "${NODES[@]}"; do
		legs_seen_number "$node"
		WITNESS_LOOK+=" ${NUMBER:-$node}"
	done
	((${#COMPLETE[@]} == ${#NODES[@]})) || WITNESS_LOOK+=" of which ${COMPLETE[*]}"
}

# Starts a watch that is gone again. Nobody else sees that systemd could not watch the array, or has
# given that up: the program that starts the watch does not wait for it. Does nothing while another
# program is at work on the array, which may be about to stop it.
witness_look_monitor_() {
	local MONITOR
	systemd_is_running && array_lock_is_free "${F[name]}" || return 0
	systemd_monitor "${F[array.md]}"
	[[ $MONITOR == @(inactive|failed) ]] || return 0
	log_warning "${F[name]}: nothing watches ${F[array.md]}: \
ramraid-monitor@${F[array.md]}.path is $MONITOR, and is started again; if that fails, \
see: ramraid check ${F[name]}"
	systemd_start_monitor "${F[array.md]}" ||
		log_warning "${F[name]}: its monitor did not start"
}
