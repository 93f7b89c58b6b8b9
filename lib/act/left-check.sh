# Cleans up after a comparison of the legs that was killed, such as a start with VERIFY=. md's check
# then stays paused at sync_max, and blocks all other work on the array. Each verb that works on a
# running array ends such a check at its first look; the loop does so by itself.
# shellcheck shell=bash

need core/act core/log core/paths observe/facts world/md-check

declare -gA F # the facts: decide/facts.list

# left_check_end: ends such a check. Call it after facts_observe, with the array's lock or without
# it. Leaves a check alone that still goes on, or that is somebody else's (md_check_left).
left_check_end() {
	[[ -z $DRY_RUN && -n ${F[array.md]} && -e $LOCKS/check.${F[array.md]} ]] || return 0
	md_check_left "${F[array.md]}"
	facts_observe
}
