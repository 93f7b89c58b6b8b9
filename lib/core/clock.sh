# The clock by which all bounds are counted, and the one that lasts as long as the boot. Not
# SECONDS: bash takes those from the wall clock (get_seconds() in its variables.c), which is set
# during a boot, just while we wait: a step back would make a bound of 30 s one of hours, a step
# forward none.
# shellcheck shell=bash

need core/paths

# clock_uptime: sets UPTIME to the whole seconds since the machine was started. Returns 1 when the
# kernel does not say.
clock_uptime() { { read -r UPTIME <"$PROC/uptime"; } 2>/dev/null && UPTIME=${UPTIME%%.*}; }

# clock_hundredths: sets HUNDREDTHS to the hundredths of a second since then; 0 when the kernel does
# not say.
clock_hundredths() {
	HUNDREDTHS=0
	! {
		read -r HUNDREDTHS _ <"$PROC/uptime"
	} 2>/dev/null || HUNDREDTHS=$((10#${HUNDREDTHS/./}))
}

# clock: sets NOW to seconds that only ever grow, within this program.
clock() {
	local UPTIME
	if clock_uptime; then NOW=$UPTIME; else NOW=$SECONDS; fi
}

# clock_until SECONDS PAUSE COMMAND…: calls COMMAND until it succeeds, with a pause in between.
# Returns 1 when it has not within SECONDS.
clock_until() {
	local NOW end=$1 pause=$2
	shift 2
	clock
	end=$((NOW + end))
	until "$@"; do
		clock
		((NOW < end)) || return 1
		sleep "$pause"
	done
}
