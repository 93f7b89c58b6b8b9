#!/usr/bin/env bats
# tests/vm/stolen.sh: what a busy host takes away, as the pages with figures say it.

setup() { load helper; }

stolen() { bash -c 'source "$1"; stolen "$2" "$3"' - "$BATS_TEST_DIRNAME/../vm/stolen.sh" "$@"; }

@test "the share that the host took is the steal time, without guest time, which the kernel counts twice" {
	run stolen 'cpu 100 0 50 800 10 0 0 40 7 7' 'cpu 160 0 60 880 10 0 0 90 500 500'
	assert_success
	assert_output 25
}

@test "if no time has passed between two readings, the share is 0" {
	run stolen 'cpu 100 0 50 800 10 0 0 40 0 0' 'cpu 100 0 50 800 10 0 0 40 0 0'
	assert_output 0
}
