# The pure ring: may an action be tried? One that failed earlier in this start is not tried again
# (failed.…, loop_failed), and whoever decides may forbid one beforehand (veto.…,
# act/hotplug.sh).
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list

# barred ACTION[.ARGUMENT]: sets BARRED to why it is not to be tried. Returns 1 when it may be.
barred() {
	BARRED=''
	if [[ -v F["failed.$1"] ]]; then
		BARRED=${F["failed.$1"]}
	elif [[ -v F["veto.$1"] ]]; then
		BARRED=${F["veto.$1"]}
	fi
	[[ -n $BARRED ]]
}
