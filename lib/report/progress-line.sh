# Shows a person how far md is, in a line that is written over itself.
# shellcheck shell=bash

need core/log core/quantity world/md-state world/systemd

# Fits in less than 80 columns, and needs no control sequence that only some terminals understand.
# While there is nothing to measure, a unit that is activating shows its own status text.
progress_line() { # [NAME UNIT-STATE]
	local bar text=''
	bar=$(quantity_show_bar "${F[array.done]}" "${F[array.total]}")
	[[ ${F[array.total]} != 0 || ${2-} != activating ]] || text=$(systemd_status_text "$1") ||
		text=''
	[[ -n $text ]] ||
		text=$(quantity_show_progress "${F[array.done]}" "${F[array.total]}" \
			"${F[array.rate]}")
	log_printable text
	printf '\r%-79.79s' "$bar $text" >&2
}

# progress_line_md MD: does the same for what md is at work on, if a person is there to see it. Sets
# PROGRESS_SHOWN=yes then, for progress_line_end.
progress_line_md() {
	local SYNC DONE TOTAL RATE
	[[ -t 2 ]] || return 0
	md_state_sync "$1"
	F[array.done]=$DONE F[array.total]=$TOTAL F[array.rate]=$RATE PROGRESS_SHOWN=yes
	progress_line ''
}

progress_line_end() { [[ -z $1 ]] || printf '\r%79s\r' '' >&2; }
