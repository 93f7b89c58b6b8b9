# Whether a start of ours has judged the run of an array that goes on now: $RUN/NAME.watched, a file
# of one line. It is a file of its own because "status" asks this of every array.
# shellcheck shell=bash

need core/act core/paths world/md-state

declare -gA F # the facts: decide/facts.list

# watched_note: notes that a start of ours has judged this run of the array (array.judged), and that
# its monitor writes down every change from now on. Without array.judged, removes the note.
watched_note() {
	if [[ -n ${F[array.judged]-} ]]; then
		act_put "$RUN/${F[name]}.watched" "${F[array.judged]}"
	else
		rm -f "$RUN/${F[name]}.watched"
	fi
}

# watched_is MD: has a start of ours judged this run of the array (watched_note)?
watched_is() {
	local watched='' MD_RUN
	md_state_run "$1"
	{
		read -r watched <"$RUN/${F[name]}.watched"
	} 2>/dev/null && [[ $watched == "${MD_RUN:-none}" ]]
}
