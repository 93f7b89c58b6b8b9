#!/usr/bin/env bats
# tests/vm/figures.sh: what the makers of the pages with figures share.

setup() { load helper; }

stolen() { bash -c 'source "$1"; stolen "$2" "$3"' - "$BATS_TEST_DIRNAME/../vm/figures.sh" "$@"; }

@test "the part that the host took is that of steal in the time between, without what the kernel counts twice" {
	run stolen 'cpu 100 0 50 800 10 0 0 40 7 7' 'cpu 160 0 60 880 10 0 0 90 500 500'
	assert_success
	assert_output '25 %'
}

@test "no time between two readings is no part" {
	run stolen 'cpu 100 0 50 800 10 0 0 40 0 0' 'cpu 100 0 50 800 10 0 0 40 0 0'
	assert_output '0 %'
}
