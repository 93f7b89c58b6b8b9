# The clock that all bounds are counted by, and one that counts from the boot. Neither uses SECONDS:
# bash takes that from the wall clock (get_seconds() in its variables.c), which is often set during
# a boot, while we wait. A step back would turn a bound of 30 s into one of hours, a step forward
# would end it at once.
# shellcheck shell=bash

need core/paths

readonly CLOCK_STEP=10 # seconds

# clock_uptime: sets UPTIME to the whole seconds since the machine was started. Returns 1 when the
# kernel does not say.
clock_uptime() { { read -r UPTIME <"$PROC/uptime"; } 2>/dev/null && UPTIME=${UPTIME%%.*}; }

# clock_hundredths: sets HUNDREDTHS to the hundredths of a second since then, or 0 when the kernel
# does not say.
clock_hundredths() {
	HUNDREDTHS=0
	! {
		read -r HUNDREDTHS _ <"$PROC/uptime"
	} 2>/dev/null || HUNDREDTHS=$((10#${HUNDREDTHS/./}))
}

# clock: sets NOW to seconds that only ever grow within this program.
clock() {
	local UPTIME
	if clock_uptime; then NOW=$UPTIME; else NOW=$SECONDS; fi
}

# clock_until SECONDS PAUSE COMMAND…: calls COMMAND until it succeeds, with a pause in between.
# Returns 1 when it has not succeeded within SECONDS.
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

# clock_stalls VARIABLE SECONDS: the caller calls this each time it finds that nothing was done
# since its last look. VARIABLE is the caller's: empty at the beginning, and emptied whenever
# something was done. Returns 0 when nothing has been done for more than SECONDS. The time between
# two looks counts for CLOCK_STEP at most: the clock of the boot goes on while a machine is
# suspended, and nothing can be done then.
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
