#!/usr/bin/env bats
# VERIFY=: which places are compared, what is said, and how md is asked.

setup() {
	load helper
	world
	libraries
	declare -gA CONF=([VERIFY]=yes) F=([ram.state]=in_sync [array.md]=md127)
	LOOP_REBUILT=yes
	mkdir -p "$R/sys/block/md127/md"
	echo $((100 * 2048)) >"$R/sys/block/md127/size"
	T=$BATS_TEST_TMPDIR/log
}
looks() { # MISMATCHES…: what each look finds
	FOUND=("$@")
	md_check() { called check "${@:2:2}" && MISMATCHES=${FOUND[0]} && FOUND=("${FOUND[@]:1}"); }
}

@test "nothing is compared without VERIFY, without a rebuild, or without a RAM leg in sync" {
	looks 0
	CONF[VERIFY]=no
	verify_legs data
	CONF[VERIFY]=yes LOOP_REBUILT=''
	verify_legs data
	LOOP_REBUILT=yes F[ram.state]=attached
	verify_legs data
	[[ -z $(calls) ]]
}

@test "VERIFY=yes compares the whole array, once" {
	looks 0
	verify_legs data 2>"$T"
	[[ $(calls) == "check 0 $((100 * 2048))" ]] || fail "$(calls)"
	grep -q 'found no difference' "$T"
}

@test "VERIFY=sample compares 16 places within the array, or all of a small one" {
	CONF[VERIFY]=sample
	looks 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	verify_legs data 2>"$T"
	[[ $(calls | wc -l) == 16 ]]
	calls | while read -r _ from to; do
		((from >= 0 && to == from + 8192 && to <= 100 * 2048)) || fail "$from $to"
	done
	rm "$BATS_TEST_TMPDIR/calls"
	echo $((40 * 2048)) >"$R/sys/block/md127/size"
	looks 0
	verify_legs data 2>"$T"
	[[ $(calls) == "check 0 $((40 * 2048))" ]]
}

@test "a difference between the legs is an alert" {
	looks 128
	verify_legs data 2>"$T"
	grep -q '128 SECTORS DIFFER' "$T"
}

@test "if md is at work on something else, that is said, and nothing about the legs" {
	echo resync >"$R/sys/block/md127/md/sync_action"
	not md_check md127 0 100
	[[ $(<"$R/sys/block/md127/md/sync_action") == resync &&
		! -e $R/sys/block/md127/md/sync_max ]]
	md_check() { return 1; }
	verify_legs data 2>"$T"
	grep -q 'md has not compared the legs to the end.*ramraid scrub data' "$T"
	not grep -q 'DIFFER\|no difference' "$T"
	[[ -z $VERIFY_MD ]]
}

@test "a check up to a bound is ended there, and the bounds are removed" {
	local md=$R/sys/block/md127/md
	echo idle >"$md/sync_action"
	echo '4096 / 8192' >"$md/sync_completed"
	echo 256 >"$md/mismatch_cnt"
	sleep() { called sleep && echo '8192 / 8192' >"$md/sync_completed"; }
	md_check md127 4096 8192
	[[ $MISMATCHES == 256 && $(<"$md/sync_action") == idle && $(<"$md/sync_min") == 0 &&
		$(<"$md/sync_max") == max ]]
}

@test "a check left by a killed run is ended by whoever works on the array next; one that goes on is not" {
	local md=$R/sys/block/md127/md note
	paths_run
	echo check >"$md/sync_action"
	echo 0 >"$md/sync_min"
	echo 8192 >"$md/sync_max"
	exec {note}>"$R/run/ramraid/.locks/check.md127"
	flock "$note"
	md_check_left md127
	[[ $(<"$md/sync_action") == check && $(<"$md/sync_max") == 8192 ]]
	echo idle >"$md/sync_action"
	not md_check md127 0 100
	[[ $(<"$md/sync_action") == idle && $(<"$md/sync_max") == 8192 ]]
	echo check >"$md/sync_action"
	exec {note}>&-
	md_check_left md127
	[[ $(<"$md/sync_action") == idle && $(<"$md/sync_max") == max &&
		! -e $R/run/ramraid/.locks/check.md127 ]]
	# Somebody else's.
	echo check >"$md/sync_action"
	echo 8192 >"$md/sync_max"
	md_check_left md127
	[[ $(<"$md/sync_action") == check && $(<"$md/sync_max") == 8192 ]]
}

@test "a comparison gives way to another ramraid that works on the array" {
	local looks=0
	array_lock_is_free() { ((looks < 2 || looks == 4)); }
	md_check() {
		while ((looks < 20)); do
			looks=$((looks + 1))
			"${@:4}" || return 1
		done
		MISMATCHES=0
	}
	verify_legs data 2>"$T"
	grep -q 'ramraid scrub data' "$T"
	# One look is not enough: others hold the lock for a moment just to see whether it is free.
	((looks == 8)) || fail "$looks"
}
