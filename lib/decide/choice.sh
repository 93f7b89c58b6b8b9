# How a decision is recorded, and what rules an action out. All code that decides about an array
# uses this.
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list

choice_is() { # ACTION WHY [ARGUMENT…]
	ACTION=$1 WHY=$2 OUTCOME=''
	shift 2
	ARGUMENTS=("$@")
}

# choice_refuse REASON REMEDY: refuses, for the REASON, and says what a person can do. Sets
# CHOICE_REASON and CHOICE_REMEDY for who shows the two apart; WHY has both.
choice_refuse() {
	CHOICE_REASON=$1 CHOICE_REMEDY=$2
	choice_is refuse "$1. $2"
}

# choice_barred ACTION[.ARGUMENT]: is an action ruled out? One that failed earlier in this start is
# not tried again (failed.…, loop_act_failed), and hot-plug may veto one beforehand (veto.…,
# act/hotplug.sh). Sets BARRED to the reason. Returns 1 when the action may be tried.
choice_barred() {
	BARRED=''
	if [[ -v F["failed.$1"] ]]; then
		BARRED=${F["failed.$1"]}
	elif [[ -v F["veto.$1"] ]]; then
		BARRED=${F["veto.$1"]}
	fi
	[[ -n $BARRED ]]
}

choice_time_is_up() { # KEY of a number of seconds or "infinity"
	[[ $1 != conf.member_timeout || $ACTION_EVENTUALLY != eventually ]] || return 0
	[[ ${F[$1]} != infinity ]] && ((${F[waited]} >= ${F[$1]}))
}
