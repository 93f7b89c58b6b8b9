#!/usr/bin/env bats
# tests/vm/stolen.sh: what a busy host takes away, as the pages with figures say it.

setup() { load helper; }

stolen() { bash -c 'source "$1"; stolen "$2" "$3"' - "$BATS_TEST_DIRNAME/../vm/stolen.sh" "$@"; }

@test "the part that the host took is that of steal in the time between, without what the kernel counts twice" {
	run stolen 'cpu 100 0 50 800 10 0 0 40 7 7' 'cpu 160 0 60 880 10 0 0 90 500 500'
	assert_success
	assert_output 25
}

@test "no time between two readings is no part" {
	run stolen 'cpu 100 0 50 800 10 0 0 40 0 0' 'cpu 100 0 50 800 10 0 0 40 0 0'
	assert_output 0
}
