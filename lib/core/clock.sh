# The clock by which all bounds are counted, and the one that lasts as long as the boot. Not
# SECONDS: bash takes those from the wall clock (get_seconds() in its variables.c), which is set
# during a boot, just while we wait: a step back would make a bound of 30 s one of hours, a step
# forward none.
# shellcheck shell=bash

need core/paths

readonly CLOCK_STEP=10 # seconds

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

# clock_stalls VARIABLE SECONDS: called at each look that finds nothing done since the last;
# VARIABLE is the caller's, empty at the beginning and whenever something has been done. Returns 0
# when that has gone on for longer. The time from one look to the next counts for no more than
# CLOCK_STEP: a machine that was suspended has not done anything, and the clock of the boot goes on
# meanwhile.
clock_stalls() {
	local -n clock_stalls_=$1
	local NOW sum step
	clock
	clock_stalls_=${clock_stalls_:-0 $NOW}
	sum=${clock_stalls_% *} step=$((NOW - ${clock_stalls_#* }))
	sum=$((sum + (step < CLOCK_STEP ? step : CLOCK_STEP)))
	clock_stalls_="$sum $NOW"
	((sum > $2))
}
