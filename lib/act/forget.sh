# An array stops being ours ("release", "destroy"): its unit, its configuration, and all that was
# written down about it go. Each step can be done again, or is left out when it is done.
# shellcheck shell=bash

need act/hotplug core/act core/log core/paths notes/adopted notes/witness-copy world/systemd

declare -gA F # the facts: decide/facts.list

# forget_unit NAME VERB UUID: the unit and the configuration. A stop of the unit stops the array,
# and first what is on it, which the generator has made to require the unit. So: from now on
# "ramraid stop" leaves the array alone; without a configuration the generator writes nothing, and
# after a reload, which runs it and builds the whole tree of dependencies again (systemctl(1),
# daemon-reload), nothing requires the unit; then it is stopped. If somebody else's file requires
# it, it is not.
forget_unit() {
	local name=$1 md needed
	{ read -r md _ <"$RUN/$name.watched"; } 2>/dev/null || md=${F[array.md]-}
	[[ -n $DRY_RUN ]] || { paths_run && act_put "$RUN/$name.released"; }
	forget_note_ "$@"
	systemd_disable "$name"
	act rm -f -- "$ETC/$name.conf"
	[[ -n $DRY_RUN ]] || sync "$ETC"
	[[ ! -e $ETC/$name.conf.d ]] || log_notice "$name: $ETC/$name.conf.d is kept"
	systemd_reload
	[[ -z $md ]] || systemd_stop_monitor "$md" ||
		log_notice "$name: its monitor could not be stopped; it sees nothing any more"
	needed=$(systemd_dependents "$name")
	if [[ -z $DRY_RUN && $needed == *[![:blank:]]* ]]; then
		log_warning "$name: its unit is required by ${needed% } still, \
which would be stopped with it; it stays active and does nothing any more"
		return
	fi
	systemd_stop "$name"
	systemd_reset "$name"
	[[ -n $DRY_RUN ]] || rm -f "$RUN/$name.released"
}

# forget_note_ NAME VERB UUID: that this has begun, and where the second copy of the witness is,
# which nobody knows any more once the configuration is gone.
forget_note_() {
	local copy
	copy=$(forget_copy_place_ "$1" "$3")
	act_text "$(adopted_releasing_file "$1")" \
		"# \"ramraid $2\" has begun to take the notes of this array away; type it again.
${copy:+copy=$copy
}"
}

# forget_copy_place_ NAME UUID: prints where that is: as noted, or as the configuration has it.
forget_copy_place_() {
	local line
	if [[ -e $ETC/$1.conf ]]; then
		witness_copy_find "$2"
		printf '%s\n' "$WITNESS_COPY"
	elif [[ -e $(adopted_releasing_file "$1") ]]; then
		while IFS= read -r line; do
			[[ $line != copy=/*.witness ]] || printf '%s\n' "${line#copy=}"
		done <"$(adopted_releasing_file "$1")"
	fi
}

# forget_copy NAME UUID: the second copy of the witness. After forget_unit: until then the monitor
# may write it.
forget_copy() {
	local copy
	copy=$(forget_copy_place_ "$1" "$2")
	[[ -z $copy || ! -e $copy ]] || act rm -f -- "$copy"
}

# forget_notes NAME: all that was written down about it; the note that this has begun goes last.
forget_notes() {
	act rm -f -- \
		"$RUN/$1".{started,watched,taken,joined,members,told,tried,refused,unstarted} \
		"$RUN/$1".{names,restarts,returns,detached,memory,failures,block,looked} \
		"$STATE/$1".{witness,hardware,contents,adopted,lately,leaving}
	act rm -f -- "$(adopted_releasing_file "$1")"
	hotplug_disarm
}
