#!/usr/bin/env bats
# When "wait" ends.

setup() {
	load helper
	world
	libraries
	LOOKS=0
	before_look_configured() { :; }
	look_again() { :; }
	systemd_unit_state() { echo active; }
	systemd_unit_works() { return 1; }
	systemd_mend_works() { return 1; }
	sleep() { :; }
	# looks: a disk is being replaced; it is whole from the look on that WHOLE_AT says.
	facts_observe() {
		LOOKS=$((LOOKS + 1))
		F=([name]=data [array.state]=active [array.sync]=idle)
	}
	health_is_whole() { ((LOOKS >= ${WHOLE_AT:-1000})); }
	set +T
}

@test "wait ends at once if the array is not whole and nobody is at work" {
	wait_whole data infinity 2>"$BATS_TEST_TMPDIR/log" && fail 'it is not whole'
	grep -q 'runs, but is not whole' "$BATS_TEST_TMPDIR/log"
	((LOOKS == 1)) || fail "$LOOKS"
}

@test "wait goes on while hot-plug or the unit is at work, even if md is idle between two of its steps" {
	local WHOLE_AT=3
	systemd_mend_works() { :; }
	wait_whole data infinity
	((LOOKS == 3)) || fail "$LOOKS"
	systemd_mend_works() { return 1; }
	systemd_unit_works() { :; }
	LOOKS=0
	wait_whole data infinity
	((LOOKS == 3)) || fail "$LOOKS"
}

@test "wait goes on while a command is at work, even if md is idle between two of its steps" {
	local WHOLE_AT=3
	mkdir -p "$R/run/ramraid/.locks"
	flock --no-fork "$R/run/ramraid/.locks/work.data" sleep 60 &
	until ! array_lock_is_free data; do command sleep 0.05; done
	wait_whole data infinity
	((LOOKS == 3)) || fail "$LOOKS"
	kill $!
	# Who is not root can't tell whether one is, and does not wait for ever.
	lock_is_free() { return 2; }
	WHOLE_AT=9 LOOKS=0
	run wait_whole data infinity
	assert_failure 1
	assert_output -p 'runs, but is not whole'
}

@test "wait says once who it waits for if that is no rebuild" {
	local WHOLE_AT=60
	array_lock_is_free() { return 1; }
	array_lock_who() { echo 'ramraid restore (PID 7)'; }
	clock() { NOW=$LOOKS; }
	wait_whole data infinity 2>"$BATS_TEST_TMPDIR/log"
	[[ $(grep -c 'waiting for ramraid restore (PID 7)' "$BATS_TEST_TMPDIR/log") == 1 ]] ||
		fail "$(<"$BATS_TEST_TMPDIR/log")"
}

@test "wait ends if a command that was killed has left md frozen, and says what to type" {
	facts_observe() {
		LOOKS=$((LOOKS + 1))
		((LOOKS < 9)) || fail 'it does not end'
		F=([name]=data [array.state]=active [array.sync]=frozen)
	}
	run wait_whole data infinity
	assert_failure 1
	assert_output -p 'its sync_action is frozen, so md rebuilds nothing: a replace, apply or'
}
