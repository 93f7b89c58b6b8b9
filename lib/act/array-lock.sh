# One worker an array: who has its lock acts on it. How locks are held: core/lock.sh.
# shellcheck shell=bash

need core/lock core/log core/paths world/systemd

# array_lock_is_free NAME: is no ramraid at work on it?
array_lock_is_free() {
	[[ -e $LOCKS/work.$1 ]] || return 0
	flock --shared --nonblock "$LOCKS/work.$1" true
}

# array_lock NAME SECONDS: one worker an array. Ends the program with 75 when another one still
# works after SECONDS.
array_lock() {
	local code=0
	array_lock_try "$@" || code=$?
	((code != 2)) ||
		die "$1: $LOCKS/work.$1 can't be opened, so it is not known who else is working \
on it; is $RUN writable?"
	((code == 0)) ||
		die "$1: another ramraid is working on it, hot-plug perhaps; \
when it has ended (ramraid wait $1), type this again" "$EX_TRY_AGAIN"
}

# array_lock_try NAME SECONDS: the same, and returns 1 then, or 2 when there can be no lock. Who has
# it is written into it.
array_lock_try() {
	paths_run || return 2
	lock_take ARRAY_LOCK "$LOCKS/work.$1" --timeout "$2" || return
	lock_sign "$LOCKS/work.$1" "${VERB-}" 2>/dev/null ||
		log_notice "$1: who is at work can't be written into $LOCKS"
}

# array_lock_first NAME SECONDS: as array_lock, for what a person wants otherwise than hot-plug's
# worker, which may be at it for hours: it gives way. What md does goes on without it.
array_lock_first() {
	! systemd_mend_works "$1" || systemd_stop_mend "$1"
	array_lock "$@"
}
