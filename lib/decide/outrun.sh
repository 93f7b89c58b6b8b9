# The pure ring's part that finds, before a start, that the array ran on without the newest of the
# disk legs that it could be started from.
# shellcheck shell=bash

need decide/action decide/histories decide/leg

declare -gA F # the facts: decide/facts.list

# outrun_refuse NEWEST: sets the refusal and returns 0 if the array ran on without the newest
# leg and began to rebuild another one, which is here. From which leg? From one that is absent, or
# from the RAM leg, which is gone.
outrun_refuse() {
	local OUTRUNNER ABSENT \
		back="It was rebuilt from the RAM leg, which is gone, \
or from a leg that is not good now. To"
	histories_find_outrunner "$1" || return 1
	leg_absent_names
	[[ -z $ABSENT ]] ||
		back="Bring back the leg that it was rebuilt from (missing:$ABSENT); or, \
if that was the RAM leg, or is gone for good,"
	action_is refuse "${F[leg.$1.dev]} had left the array (it is at ${F[leg.$1.events]} \
events) when ${F[leg.$OUTRUNNER.dev]} (events ${F[leg.$OUTRUNNER.events]}) was being rebuilt: \
what was written since is missing from the one, and the other is incomplete. \
$back go on with ${F[leg.$1.dev]} as it was: ramraid start --force-leg=${F[leg.$1.dev]} ${F[name]}"
}
