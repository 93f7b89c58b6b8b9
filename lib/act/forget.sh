# Removes what makes an array ours ("release", "destroy"): its unit, its configuration, and all that
# was written down about it. Each step can be repeated, or is skipped if it is already done.
# shellcheck shell=bash

need act/hotplug core/act core/log core/paths notes/adopted notes/witness-copy world/systemd

declare -gA F # the facts: decide/facts.list

# forget_unit NAME VERB UUID: removes the unit and the configuration. Stopping the unit would stop
# the array, and before that what is on it, because the generator has made that require the unit. So
# the file NAME.released first makes "ramraid stop" leave the array alone. Then the configuration
# goes, and without it the generator writes nothing. A reload runs the generator and rebuilds all
# dependencies (systemctl(1), daemon-reload), so that nothing requires the unit, which is stopped
# last. If somebody else's file still requires the unit, it is not stopped.
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
		log_notice "$name: its monitor could not be stopped, but has nothing left to watch"
	needed=$(systemd_dependents "$name")
	if [[ -z $DRY_RUN && $needed == *[![:blank:]]* ]]; then
		log_warning "$name: its unit is still required by ${needed% }, which would be \
stopped with it; so it stays active, and does nothing any more"
		return
	fi
	systemd_stop "$name"
	systemd_reset "$name"
	[[ -n $DRY_RUN ]] || rm -f "$RUN/$name.released"
}

# forget_note_ NAME VERB UUID: notes that this has begun, and where the second copy of the witness
# is, which nothing else says once the configuration is gone.
forget_note_() {
	local copy
	copy=$(forget_copy_place_ "$1" "$3")
	act_text "$(adopted_releasing_file "$1")" \
		"# \"ramraid $2\" has begun to delete the notes of this array; type it again.
${copy:+copy=$copy
}"
}

# forget_copy_place_ NAME UUID: prints where the second copy of the witness is, by the
# configuration, or by that note once the configuration is gone.
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

# forget_copy NAME UUID: removes the second copy of the witness. Call it after forget_unit: until
# then the monitor may write the copy.
forget_copy() {
	local copy
	copy=$(forget_copy_place_ "$1" "$2")
	[[ -z $copy || ! -e $copy ]] || act rm -f -- "$copy"
}

# forget_notes NAME: removes all that was written down about the array. The note that this has begun
# goes last.
forget_notes() {
	act rm -f -- \
		"$RUN/$1".{started,watched,taken,joined,members,told,tried,refused,unstarted} \
		"$RUN/$1".{names,restarts,returns,detached,memory,failures,block,looked} \
		"$STATE/$1".{witness,hardware,contents,adopted,lately,leaving}
	act rm -f -- "$(adopted_releasing_file "$1")"
	hotplug_disarm
}
