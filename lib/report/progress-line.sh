# The line that shows a person how far md is, written over itself.
# shellcheck shell=bash

need core/log core/progress world/systemd

# In less than 80 columns, and without a word that only some terminals understand. While nothing can
# be measured, a unit that is at work has the word.
progress_line() { # [NAME UNIT-STATE]
	local bar text=''
	bar=$(progress_bar "${F[array.done]}" "${F[array.total]}")
	[[ ${F[array.total]} != 0 || ${2-} != activating ]] || text=$(systemd_status_text "$1") || text=''
	[[ -n $text ]] || text=$(progress_text "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}")
	log_printable text
	printf '\r%-79.79s' "$bar $text" >&2
}
progress_line_end() { [[ -z $1 ]] || printf '\r%79s\r' '' >&2; }
