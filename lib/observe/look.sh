# The looks at an array that many verbs take: the first one, and another one after a wait.
# shellcheck shell=bash

need config/conf config/conf-need core/log observe/before-look observe/facts

declare -gA F # the facts: decide/facts.list

# look_at_running NAME: takes the first look at an array that has to run; ends the program when it
# does not. After conf_load.
look_at_running() {
	before_look_configured "$1"
	facts_observe
	[[ ${F[array.state]} == active ]] ||
		die "$1: is not running; type: ramraid start $1" "$EX_INACTIVE"
}

# look_again NAME: looks again at an array: at md, at its record, and at its configuration,
# from which somebody else may have taken a disk meanwhile (replace, apply, a person). With the old
# members, a disk that was replaced would count as lost.
look_again() {
	local try
	for try in 1 2 3; do
		before_look_witness
		facts_observe
		look_has_other_members_ "$1" || return 0
		conf_need_started "$1"
		before_look_configured "$1"
	done
	facts_observe
}

# Does the configuration name members other than those in the facts? The answer is no if it can't be
# read.
look_has_other_members_() { # NAME
	local i before=''
	local -A CONF=()
	local -a MEMBERS=() REQUIRED_BY=() CONF_ERRORS=() CONF_WARNINGS=() CONF_NOTES=()
	for ((i = 0; i < ${F[members]}; i++)); do before+=" ${F[leg.$i.dev]}"; done
	conf_load "$1" && [[ " ${MEMBERS[*]}" != "$before" ]]
}
