# One action of the loop (act/loop.sh), and of those that act as it does: how it is done, counted,
# and remembered when it has failed.
# shellcheck shell=bash

need core/log

declare -gA F # the facts: decide/facts.list

# actions in all, and for each leg: far more than any array needs. The loop must end even if it does
# not converge.
readonly LOOP_MAX_ACTIONS=60 LOOP_LEG_ACTIONS=6
readonly LOOP_ACT_CHANGES=5 # after that it is a failure like any other

# loop_act_count NAME: counts one more action, in the caller's actions. Ends the program when there
# have been more than any array with so many legs needs.
loop_act_count() {
	actions=$((actions + 1))
	((actions <= LOOP_MAX_ACTIONS + LOOP_LEG_ACTIONS * F[members])) ||
		die "$1: gave up after $actions steps; \
the last one was $ACTION (please report this with the journal)"
}

# loop_act: does ACTION, with ARGUMENTS. The actions on the RAM leg are in act/ram-leg.sh, all
# others in act/disk-legs.sh; each function is named after its action. Who calls this has loaded
# both, by act/loop. Returns what the function returns, with LOOP_ERROR.
loop_act() {
	case $ACTION in
	*-ram) "ram_leg_${ACTION%-ram}" "${ARGUMENTS[@]}" ;;
	*) "disk_legs_${ACTION//-/_}" "${ARGUMENTS[@]}" ;;
	esac
}

# loop_act_failed CODE: a failed action becomes a fact, so that the next decision takes it into
# account and does not try it again; unless the disks have changed since the decision: then the next
# look sees what is there now.
LOOP_ACT_CHANGED=0 # how often they had, in this run
loop_act_failed() {
	local key=failed.$ACTION
	(($1 != SAME_LEG_NOT || LOOP_ACT_CHANGED >= LOOP_ACT_CHANGES)) || {
		LOOP_ACT_CHANGED=$((LOOP_ACT_CHANGED + 1))
		log_notice "${F[name]}: $LOOP_ERROR; looking again"
		LOOP_ERROR=''
		sleep 1
		return
	}
	[[ $ACTION != readd && $ACTION != write-mostly && $ACTION != remove-leg &&
		$ACTION != remove-gone && $ACTION != add-leg ]] || key+=.${ARGUMENTS[0]}
	F[$key]=${LOOP_ERROR:-$ACTION failed with exit code $1}
	[[ $ACTION != make-ram ]] || LOOP_NO_RAM=${F[$key]}
	log_warning "${F[name]}: ${F[$key]}"
	LOOP_ERROR=''
}
