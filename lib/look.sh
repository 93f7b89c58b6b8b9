# The observing ring, for those who only show: what an array is, and what its legs have done. Everybody's look is in facts.sh.
# shellcheck shell=bash
#
# Beside the facts that decide.sh lists, F then holds (what becomes of them: served.sh)
#   array.stat ram.stat leg.I.stat   what the device has served since it came (linux Documentation/block/stat.rst: the first word counts reads,
#                                    the third the sectors read, the fifth writes)
#   ram.errors leg.I.errors          read errors that md has counted (Documentation/admin-guide/md.rst)
#   boot lately                      which boot this is; what lately.sh has written down
#   conf.error.N conf.warning.N      what is wrong with the configuration; with an error nothing else is known, but for
#   array.link                       yes: something runs at /dev/md/NAME

declare -gA F # the facts: decide.sh lists the keys

# look_array NAME: fills F, sets STATUS_WORD. Returns 3 when there is no such array.
look_array() {
	local code=0 CONF_GLANCE=yes
	conf_load "$1" || code=$?
	((code != 3)) || return "$EX_INACTIVE"
	if ((code == 0)); then
		facts_of_conf "$1"
		facts_observe
		facts_served
		STATUS_WORD=whole
		decide_is_whole || STATUS_WORD=''
		# The whole check of the files is for when it may be the reason of what is wrong.
		[[ -z $STATUS_WORD || ${#CONF_WARNINGS[@]} -gt 0 ]] || return 0
	fi
	need further
	CONF_GLANCE='' conf_load "$1" || code=$?
	look_conf "$1" "$code"
	look_word
}

# facts_served: after facts_observe.
facts_served() {
	local i key md=$SYS/block/${F[array.md]:-none}
	{
		read -r 'F[boot]' <"$PROC/sys/kernel/random/boot_id" || F[boot]=''
		read -r 'F[lately]' <"$STATE/${F[name]}.lately" || F[lately]=''
		read -r 'F[array.stat]' <"$md/stat" || F[array.stat]=''
		for ((i = -1; i < F[members]; i++)); do
			if ((i < 0)); then key=ram; else key=leg.$i; fi
			read -r "F[$key.stat]" <"$SYS/class/block/${F[$key.node]}/stat" || F[$key.stat]=''
			read -r "F[$key.errors]" <"$md/$MD_LEG${F[$key.node]}/errors" || F[$key.errors]=''
		done
	} 2>/dev/null
}
