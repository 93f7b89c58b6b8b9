# Cleans up after a comparison of the legs that was killed, such as a start with VERIFY=. md's check
# then stays paused at sync_max, and blocks all other work on the array. Each verb that works on a
# running array ends such a check at its first look; the loop does so by itself.
# shellcheck shell=bash

need core/act core/paths observe/facts world/md-check

declare -gA F # the facts: decide/facts.list

# left_check_end: after facts_observe. One that goes on is left alone, and so is one of somebody
# else (md_check_left). With the lock on the array or without it.
left_check_end() {
	[[ -z $DRY_RUN && -n ${F[array.md]} && -e $LOCKS/check.${F[array.md]} ]] || return 0
	md_check_left "${F[array.md]}"
	facts_observe
}
