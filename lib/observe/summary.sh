# The observing ring, for those who only show: what an array is, and what its legs have done.
# Everybody's look is in observe/facts.sh.
# shellcheck shell=bash

need config/conf core/log decide/health observe/facts observe/unfinished

declare -gA F # the facts: decide/facts.list

# summary_array NAME: fills F, sets STATUS_WORD. Returns 3 when there is no such array.
summary_array() {
	local code=0
	conf_load "$1" || code=$?
	((code != 3)) || return "$EX_INACTIVE"
	if ((code == 0)); then
		facts_of_conf "$1"
		facts_observe
		facts_served
		unfinished_look "$1"
		STATUS_WORD=whole
		health_is_whole || STATUS_WORD=''
		[[ -z $STATUS_WORD || ${#CONF_WARNINGS[@]} -gt 0 ]] || return 0
	fi
	need observe/detail
	detail_conf "$1" "$code"
	((code == 0)) || unfinished_look "$1"
	detail_word
}
