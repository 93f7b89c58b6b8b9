#!/usr/bin/env bats
# scrub: when md is asked to compare the legs, when that is ended, and what is reported of it.

setup() {
	load helper
	world
	libraries
	conf_need() { declare -gA CONF=([NOTIFY]=none); }
	before_look_configured() { :; }
	facts_observe() {
		facts_read <"$FIXTURES/decide/whole-2.facts"
		F[array.sync]=${SYNC_NOW-idle}
		local fact
		for fact in ${FACTS-}; do F[${fact%%=*}]=${fact#*=}; done
	}
	notify_others() { called told "$1" "$2"; }
	M=$R/sys/block/md127/md
	mkdir -p "$M" "$R/run/ramraid"
	echo 8192 >"$R/sys/block/md127/size"
	echo idle >"$M/sync_action"
	echo max >"$M/sync_max"
	echo 0 >"$M/mismatch_cnt"
}
# md is at work for as many looks, then it is done: it takes the bounds away.
looks() { # LOOKS MISMATCHES
	LEFT=$1 FOUND=$2
	sleep() {
		LEFT=$((LEFT - 1))
		echo '4096 / 8192' >"$M/sync_completed"
		((LEFT <= 0)) || return 0
		echo "$FOUND" >"$M/mismatch_cnt"
		echo idle >"$M/sync_action"
		echo max >"$M/sync_max"
	}
}
asleep() {
	[[ $(<"$M/sync_action") == idle && $(<"$M/sync_min") == 0 && $(<"$M/sync_max") == max ]]
}

@test "equal legs: that is said, nobody is notified, and md's bounds are as before" {
	looks 3 0
	run cmd_scrub data
	assert_success
	assert_output -p 'data: md has compared all legs, and they are equal'
	[[ -z $(calls) ]]
	asleep
}

@test "legs that differ are reported, with what to do, and with exit code 1" {
	looks 1 128
	run cmd_scrub data
	assert_failure 1
	assert_output -p 'data: 128 sectors differ between the legs.'
	assert_output -p 'ramraid detach data; ramraid attach data'
	[[ $(calls) == 'told warning mismatch' ]]
}

@test "scrub is refused while md or another ramraid is at work, or the array does not run; nothing is written" {
	local sync
	for sync in check recover resync copy; do
		SYNC_NOW=$sync run cmd_scrub data
		assert_failure 75
		assert_output -p "md is at work on it ($sync)"
	done
	FACTS='array.state=inactive' run cmd_scrub data
	assert_failure 3
	FACTS='ram.state=none leg.1.state=faulty' run cmd_scrub data
	assert_failure 1
	assert_output -p 'only one leg is in sync'
	paths_run
	exec {held}>"$R/run/ramraid/.locks/work.data"
	flock "$held"
	run cmd_scrub data
	assert_failure 75
	assert_output -p 'another ramraid is working on it'
	[[ ! -e $M/sync_min ]]
}

@test "a check that a killed run has left is ended, and the legs are compared" {
	eval "$(declare -f facts_observe | sed '1s/facts_observe/observe/')"
	facts_observe() { observe && F[array.sync]=$(<"$M/sync_action"); }
	paths_run
	: >"$R/run/ramraid/.locks/check.md127"
	echo check >"$M/sync_action"
	echo 100 >"$M/sync_max"
	looks 3 0
	run cmd_scrub data
	assert_success
	assert_output -p 'data: md has compared all legs, and they are equal'
	asleep
}

@test "scrub gives way to who wants to work on the array, not to who tries its lock for a moment" {
	looks 1000 0
	eval "$(declare -f sleep | sed '1s/sleep/md_works/')"
	paths_run
	exec {held}>"$R/run/ramraid/.locks/work.data"
	sleep() {
		md_works && { ((LEFT != 998)) || flock "$held"; } &&
			{ ((LEFT != 996)) || flock -u "$held"; } &&
			{ ((LEFT != 990)) || flock "$held"; }
	}
	run cmd_scrub data
	assert_failure 75
	assert_output -p 'data: not compared to the end: another ramraid is working on the array'
	asleep
}

@test "a check that somebody stops is not taken for equal, and what it has found is reported" {
	sleep() { echo idle >"$M/sync_action"; }
	run cmd_scrub data
	assert_failure 75
	assert_output -p 'not compared to the end: md was told to stop'
	asleep
	sleep() { echo idle >"$M/sync_action" && echo 8 >"$M/mismatch_cnt"; }
	run cmd_scrub data
	assert_failure 1
	[[ $(calls) == 'told warning mismatch' ]]
}

@test "an interrupted scrub stops md's comparing" {
	looks 1000 0
	eval "$(declare -f sleep | sed '1s/sleep/md_works/')"
	sleep() { md_works && { ((LEFT != 997)) || kill -TERM "$BASHPID"; }; }
	run cmd_scrub data
	assert_failure 75
	assert_output -p 'interrupted; md has stopped comparing'
	asleep
}
