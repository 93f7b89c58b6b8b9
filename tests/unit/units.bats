#!/usr/bin/env bats
# Quantities, as written and as shown.

setup() {
	load helper
	world
	libraries
}

@test "quantity_bytes understands bytes, K, M, G, T and percentages" {
	[[ $(quantity_bytes 512 0) == 512 && $(quantity_bytes 1K 0) == 1024 &&
		$(quantity_bytes 512M 0) == 536870912 ]]
	[[ $(quantity_bytes 2G 0) == 2147483648 && $(quantity_bytes 1T 0) == 1099511627776 &&
		$(quantity_bytes 0 5) == 0 ]]
	[[ $(quantity_bytes 10% 8589934592) == 858993459 && $(quantity_bytes 0% 100) == 0 &&
		$(quantity_bytes 100% 7) == 7 && $(quantity_bytes 08% 100) == 8 ]]
}

@test "absurd sizes stay larger than anything, and do not become negative" {
	local size bytes
	for size in 8388608T 9999999T 999999999999T 999999999999G 999999%; do
		bytes=$(quantity_bytes "$size" 17592186044416)
		((bytes > 17592186044416 && bytes + 999999999999999999 > 0)) ||
			fail "$size"
	done
}

@test "time spans whose microseconds do not fit are infinity" {
	[[ $(quantity_seconds 300000y 500000y 30000y) == $'infinity\ninfinity\n946728000000' ]] ||
		fail "$(quantity_seconds 300000y 500000y 30000y)"
}

@test "RE_SIZE takes what quantity_bytes understands, and nothing else" {
	local text
	for text in 0 1 512M 2G 1T 4K 10% 100% 999999999999; do
		[[ $text =~ $RE_SIZE ]] || fail "$text"
	done
	for text in '' % M -1 +1 1.5G 1g 1GB 1Gi ' 1' '1 ' '1 G' 10%% '10 %' 1e9 0x10 \
		9999999999999 1P $'1\n2'; do
		[[ ! $text =~ $RE_SIZE ]] || fail "$text"
	done
}

@test "RE_TIME takes time spans, and no other characters" {
	local text
	for text in 0 30 90s 10min 1h '1h 30min' 1h30min 1.5h infinity '2 weeks' 100ms; do
		[[ $text =~ $RE_TIME ]] || fail "$text"
	done
	for text in '' s -1 infinite infinitys '1;' '1 min!' 10MIN $'1s\n-x' '--help' 1h-2s; do
		[[ ! $text =~ $RE_TIME ]] || fail "$text"
	done
}

@test "quantity_seconds rounds up, knows infinity, and refuses what is no time span" {
	[[ $(quantity_seconds 30 90s 10min '1h 30min' 1500ms infinity 0) == \
		$'30\n90\n600\n5400\n2\ninfinity\n0' ]]
	run quantity_seconds 12parsecs
	assert_failure
}

@test "quantity_seconds works for a caller with a UTF-8 locale" {
	LC_ALL=C.UTF-8 run quantity_seconds 90s infinity
	assert_output $'90\ninfinity'
}

@test "quantity_show_seconds and quantity_show_bytes show readable units" {
	[[ $(quantity_show_seconds 0) == 0s && $(quantity_show_seconds 59) == 59s &&
		$(quantity_show_seconds 60) == '1min 0s' &&
		$(quantity_show_seconds 3599) == '59min 59s' ]]
	[[ $(quantity_show_seconds 3600) == '1h 0min' &&
		$(quantity_show_seconds 90061) == '25h 1min' ]]
	[[ $(quantity_show_bytes 1610612736) == 1.5GiB && $(quantity_show_bytes 512) == 512B ]]
}

@test "quantity_show_progress shows percentage, rate and time left, without overflow" {
	[[ $(quantity_show_progress 0 0 0) == starting ]]
	[[ $(quantity_show_progress 345 1000 0) == '34.5% done, 0 MiB/s' ]]
	[[ $(quantity_show_progress 345 1000 700) == '34.5% done, 700 KiB/s, 0s left' ]]
	# 2 GiB to do at 100 MiB/s.
	[[ $(quantity_show_progress 0 4194304 102400) == '0.0% done, 100 MiB/s, 20s left' ]]
	[[ $(quantity_show_progress 4194304 4194304 102400) == '100.0% done, 100 MiB/s, 0s left' ]]
	# 16 TiB: no overflow.
	[[ $(quantity_show_progress 17179869184 34359738368 1) == 50.0%* ]]
}

@test "quantity_show_bar always has 30 cells" {
	local text
	local -i done
	for done in 0 1 49 50 99 100; do
		text=$(quantity_show_bar "$done" 100)
		((${#text} == 32)) || fail "$text"
	done
	[[ $(quantity_show_bar 50 100) == '[===============               ]' &&
		$(quantity_show_bar 0 0) == '[                              ]' ]]
}

@test "clock_until ends when the command succeeds, or when the time is up" {
	local tries=0
	sleep() { SECONDS=$((SECONDS + 1)); }
	third() { tries=$((tries + 1)) && ((tries >= $1)); }
	clock_until 5 1 third 3
	((tries == 3))
	tries=0
	not clock_until 5 1 third 100
	((tries == 6)) || fail "$tries"
	mkdir -p "$R/sys/block/rd0" "$R/dev/md"
	: >"$R/sys/block/rd0/size"
	run disk_wait_node rd0
	assert_failure
	assert_output '/dev/rd0 did not appear'
	: >"$R/dev/md127"
	not md_wait_link md127 data
	ln -s ../md127 "$R/dev/md/data"
	md_wait_link md127 data
}
