# Shows what report/advice.sh has to say about an array, as lines of "status".
# shellcheck shell=bash

need core/log core/quantity core/text

declare -gA F # the facts: decide/facts.list

# advice_show STATUS-WORD: adds to SHOWN; call "advice" first.
advice_show() {
	local i=0 kind
	if [[ $1 != @(whole|misconfigured) ]]; then
		advice_show_run_
		advice_show_line_ '  rescue image:' "${F[rescue.image]}"
		advice_show_line_ '  not saved:   ' "${F[rescue.lost]-}"
	fi
	[[ ${F[array.sync]-idle} == idle ]] ||
		SHOWN+="  ${F[array.sync]}: \
$(quantity_show_bar "${F[array.done]}" "${F[array.total]}") \
$(quantity_show_progress "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}")"$'\n'
	for kind in error warning; do
		for ((i = 0; ; i++)); do
			[[ -n ${F[conf.$kind.$i]-} ]] || break
			advice_show_line_ '  configuration:' "${F[conf.$kind.$i]}"
		done
	done
	advice_show_unfinished_
	advice_show_line_ ' ' "$ADVICE_ALARM"
	advice_show_line_ '  why:   ' "$ADVICE_WHY"
	advice_show_line_ '  impact:' "$ADVICE_IMPACT"
	advice_show_line_ '  action:' "$ADVICE_ACTION"
}

advice_show_unfinished_() {
	local UNFINISHED UNFINISHED_EXPECTED UNFINISHED_FOUND UNFINISHED_ACTION
	[[ -n ${F[unfinished]-} ]] || return 0
	need report/states
	states_unfinished
	advice_show_line_ '  unfinished:' "expected $UNFINISHED_EXPECTED, found $UNFINISHED_FOUND. \
Do: $UNFINISHED_ACTION"
}

advice_show_line_() { # HEAD TEXT
	local text=$2
	log_printable text
	[[ -z $text ]] || SHOWN+="$1 $text"$'\n'
}

# advice_show_whole: adds to SHOWN when the array was last whole. A run that a power cut ended has
# not noted its end, so the array may have been whole until then.
advice_show_whole() {
	local at=$HISTORY_UNTIL line
	((at > 0)) || at=$HISTORY_SINCE
	((at > 0)) || return 0
	printf -v line '  last whole: %(%F %T)T' "$at"
	((HISTORY_UNTIL > 0)) || line+=' or later'
	SHOWN+=$line$'\n'
}

# What the next start will use.
advice_show_run_() {
	local legs head='last run'
	# While the array runs, its record is about this run, not the last one.
	[[ ${F[array.state]} != active ]] || head=record
	text_split legs "${F[witness.legs]}"
	if [[ -z ${F[witness.events]} ]]; then
		SHOWN+="  $head: ${F[witness.why]}"$'\n'
	elif ((${#legs[@]} == 0)); then
		SHOWN+="  $head: only the RAM leg in sync, at event count ${F[witness.events]}"$'\n'
	else
		SHOWN+="  $head: ${#legs[@]} of ${F[members]} disk legs in sync, \
at event count ${F[witness.events]}"$'\n'
	fi
}
