# What is noted about a start that was refused, until the array has started.
# shellcheck shell=bash
#
#   RUN/NAME.refused    what the refusal depends on, a line
#   RUN/NAME.restarts   the same at each start by hot-plug since, a line each
#   RUN/NAME.unstarted  why the array was not started, as it was reported

need core/act core/paths

# refusal_note NAME STATE: notes what the refusal depends on. refusal_is_noted NAME: is that so?
refusal_note() { act_put "$RUN/$1.refused" "$2"; }
refusal_is_noted() { [[ -e $RUN/$1.refused ]]; }

# refusal_is_past NAME STATE MOST: is a refusal noted, with fewer than MOST starts by hot-plug after
# it, and was the state another one each time?
refusal_is_past() {
	local refused='' restarts=() line
	{ IFS= read -r refused <"$RUN/$1.refused"; } 2>/dev/null || return 1
	! [[ -e $RUN/$1.restarts ]] || mapfile -t restarts <"$RUN/$1.restarts"
	((${#restarts[@]} < $3)) || return 1
	for line in "$refused" "${restarts[@]}"; do [[ $line != "$2" ]] || return 1; done
}

# refusal_retried NAME STATE: notes that hot-plug starts the array in this state.
refusal_retried() {
	act_put_more "$RUN/$1.restarts" "$2"
	refusal_tried "$1"
}

# refusal_tried NAME: the array is started now, so an earlier refusal is over. refusal_started NAME:
# it has started. refusal_forget NAME: it is stopped, and nothing starts it again.
refusal_tried() { rm -f "$RUN/$1.refused"; }
refusal_started() { rm -f "$RUN/$1".{restarts,unstarted}; }
refusal_forget() { rm -f "$RUN/$1".{refused,unstarted,restarts}; }

# refusal_report NAME WHY: notes that a refusal for this reason is reported. Returns 1 when that
# can't be written. refusal_report_again NAME: the next one is reported in any case.
refusal_report() { act_put "$RUN/$1.unstarted" "$2"; }
refusal_report_again() { rm -f "$RUN/$1.unstarted"; }

# refusal_is_reported NAME WHY: was a start refused for this very reason already, and was that
# reported, since the array last ran and since a person last asked for a start? A mount that is made
# at each access (x-systemd.automount) asks for a start each time.
refusal_is_reported() { [[ -e $RUN/$1.unstarted && $(<"$RUN/$1.unstarted") == "$2" ]]; }
