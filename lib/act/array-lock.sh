# One worker per array: only the holder of its lock acts on it. How locks work: core/lock.sh.
# shellcheck shell=bash

need core/lock core/log core/paths notes/watched observe/before-look observe/facts world/systemd

declare -gA F # the facts: decide/facts.list

# array_lock_is_free NAME: is no ramraid at work on it? Says yes to whoever is not root and so
# can't tell.
array_lock_is_free() {
	local code=0
	lock_is_free "$LOCKS/work.$1" || code=$?
	((code != 1))
}

# array_lock_who NAME: prints, in words, who holds it.
array_lock_who() {
	local HOLDER HOLDER_WORK
	lock_holder "$LOCKS/work.$1"
	if [[ -n $HOLDER ]]; then
		printf 'ramraid %s (PID %s)\n' "$HOLDER_WORK" "$HOLDER"
	else
		printf 'another ramraid\n'
	fi
}

# array_lock NAME SECONDS: takes the lock of the array. Ends the program with 75 when another worker
# still has it after SECONDS.
array_lock() {
	local code=0
	array_lock_try "$@" || code=$?
	((code != 2)) ||
		die "$1: $LOCKS/work.$1 can't be opened, so it is not known who else is working \
on it; is $RUN writable?"
	((code == 0)) ||
		die "$1: $(array_lock_who "$1") is working on it, or waits for an answer; when it \
has ended (ramraid wait $1), type this again" "$EX_TRY_AGAIN"
}

# array_lock_of_unit NAME SECONDS: as array_lock, for a start. If the unit starts once more while
# the array runs, it waits as long as the other worker takes, which may rebuild a disk: a unit that
# has failed gets no stop at a shutdown. A boot does not wait for longer than SECONDS.
array_lock_of_unit() {
	local code=0
	array_lock_try "$@" || code=$?
	while ((code == 1)) && systemd_is_unit && array_lock_runs_ "$1"; do
		systemd_status 'another ramraid is at work on the running array; waiting for it'
		code=0
		array_lock_try "$@" || code=$?
	done
	((code == 0)) || array_lock "$1" 0
}

# Does the array run, as a start of ours has judged it?
array_lock_runs_() { # NAME
	before_look_configured "$1"
	facts_observe
	[[ ${F[array.state]} == active ]] && watched_is "${F[array.md]}"
}

# array_lock_try NAME SECONDS: as array_lock, but returns 1 when another worker has the lock, and 2
# when there can be no lock. Writes into the lock who holds it.
array_lock_try() {
	paths_run || return 2
	lock_take ARRAY_LOCK "$LOCKS/work.$1" --timeout "$2" || return
	lock_sign "$LOCKS/work.$1" "${VERB-}" 2>/dev/null ||
		log_notice "$1: could not record in $LOCKS who is working on it"
}

# array_lock_first NAME SECONDS: as array_lock, for what takes precedence over hot-plug's worker.
# That worker may run for hours, so it is stopped first; what md does goes on without it.
array_lock_first() {
	! systemd_mend_works "$1" || systemd_stop_mend "$1"
	array_lock "$@"
}
