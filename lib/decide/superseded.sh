# Whether the array ran on without the newest disk leg that it could be started from. It is asked
# before a start.
# shellcheck shell=bash

need decide/choice decide/give-up decide/histories decide/leg decide/leg-alone

declare -gA F # the facts: decide/facts.list

# superseded_refuse NEWEST: sets the refusal and returns 0 if the array ran on without the newest
# leg, with a leg that is here but can't be started from.
superseded_refuse() { superseded_unusable_ "$1" || superseded_rebuilt_ "$1"; }

# superseded_unusable_ NEWEST: that leg has shrunk, has another level, or has lost its slot, but
# what its superblock says about the others still holds.
superseded_unusable_() {
	local i LEG KIND
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_alone "$i"
		[[ $LEG == @(level|shrunk|slotless) && -z ${F[leg.$i.alien]} ]] || continue
		if give_up_is_given "$i" || ! histories_calls_missing "$i" "$1" ||
			! histories_has_later_events "$i" "$1"; then continue; fi
		leg_kind "$i"
		choice_is refuse "the array ran on with ${F[leg.$i.dev]} (events \
${F[leg.$i.events]}) and without ${F[leg.$1.dev]} (events ${F[leg.$1.events]}), which lacks what \
was written since; but ${F[leg.$i.dev]} $KIND. Fix that, then: ramraid start ${F[name]}. To give \
up what was written since: ramraid start --force-leg=${F[leg.$1.dev]} ${F[name]}"
		return 0
	done
	return 1
}

# superseded_rebuilt_ NEWEST: the array had begun to rebuild that leg, from a leg that is absent or
# not good now, or from the RAM leg, which is gone.
superseded_rebuilt_() {
	local SUCCESSOR ABSENT \
		back="It was rebuilt from the RAM leg, which is gone, or from a leg that is no \
longer good. To"
	histories_find_successor "$1" || return 1
	leg_absent_names
	[[ -z $ABSENT ]] ||
		back="Bring back the leg that it was rebuilt from (missing:$ABSENT); or, \
if that was the RAM leg, or is gone for good,"
	choice_is refuse "${F[leg.$1.dev]} had left the array (it is at ${F[leg.$1.events]} \
events) when ${F[leg.$SUCCESSOR.dev]} (events ${F[leg.$SUCCESSOR.events]}) was being rebuilt: the \
former lacks what was written since, and the latter is incomplete. $back go on with \
${F[leg.$1.dev]} as it was: ramraid start --force-leg=${F[leg.$1.dev]} ${F[name]}"
}
