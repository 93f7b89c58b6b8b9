#!/usr/bin/env bats
# "metrics": the form, by a strict reader of it, and what is in it; for every state of
# tests/fixtures/status.

setup() {
	load helper
	world
	libraries
	STATES=$FIXTURES/status
}

# metrics_of STATE: sets SHOWN.
metrics_of() {
	local i last
	METRIC=()
	metrics_sample ramraid_build_info 1 version 0.1.0
	last=$(grep -c ^name= "$STATES/$1.facts") || :
	for ((i = 1; i <= last; i++)); do
		facts_read < <(awk -v n="$i" 'BEGIN { i = 1 } $0 == "---" { i++; next } i == n' \
			"$STATES/$1.facts")
		F[ram.bytes]='' F[ram.taken]=''
		summary_word
		metrics_add "$STATUS_WORD"
	done
	metrics_text
}
parsed() { perl "$BATS_TEST_DIRNAME/metrics.pl" <<<"${SHOWN%$'\n'}"; }

@test "every state: a strict reader accepts the metrics, and so does promtool, if it is installed" {
	local file state samples
	for file in "$STATES"/*.facts; do
		state=$(basename "$file" .facts)
		metrics_of "$state"
		samples=$(parsed) || fail "$state: $samples"
		! command -v promtool >/dev/null || promtool check metrics <<<"$SHOWN" ||
			fail "$state: promtool"
		# Of each array's states, and of each leg's, one holds.
		[[ $(grep -c '^ramraid_array_state.* 1$' <<<"$samples") == \
			$(grep -c ^name= "$file") ]] ||
			fail "$state: states"
		[[ $(grep -c '^ramraid_leg_state.* 1$' <<<"$samples") == \
			$(awk '/^ramraid_legs\{/ { n += $2 } END { print n + 0 }' \
				<<<"$samples") ]] ||
			fail "$state: legs"
		grep -q "^ramraid_only_good_copy_in_ram{array=\"data\"} $([[ $state == only-good* ]] && echo 1 || echo 0)\$" <<<"$samples" ||
			[[ $state == misconfigured || $state == no-arrays ]] ||
			fail "$state: the only good copy"
	done
}

@test "the time since when an array is whole is shown, but not one from before it was degraded" {
	metrics_of whole
	grep -q '^ramraid_whole_since_timestamp_seconds{array="data"} 1795169472$' <<<"$SHOWN" ||
		fail "$SHOWN"
	mkdir "$R/states"
	sed 's/1795169472 0/1795169472 1795169500/' "$STATES/whole.facts" >"$R/states/whole.facts"
	STATES=$R/states
	metrics_of whole
	[[ $SHOWN != *ramraid_whole_since* ]] || fail "$SHOWN"
}

@test "the strict reader of these tests finds what is wrong" {
	local change
	metrics_of whole
	parsed >/dev/null
	local good=$SHOWN
	for change in 's/gauge/gage/' '/# TYPE ramraid_legs /d' '/# HELP ramraid_legs /d' \
		's/,state="whole"} 1/,state="stopped"} 1/' 's/ 61440$/ x/' 's/ 61440$/ -1/' \
		's/_reads_total/_reads/' \
		's/array="data"/array=data/' 's/array="data"/array="da"ta"/' \
		's/array="data"/array="da\\ta"/' 's/array="data"/array="data",array="data"/' \
		'5s/^/\n/' 's/^ramraid_legs{/ramraid_legs_{/' \
		'/^ramraid_legs{/d' '1s/^/x y z\n/' $'s/array="data"/array="\xff"/' '$s/}/,}/'; do
		SHOWN=$(sed "$change" <<<"${good%$'\n'}")$'\n'
		[[ $SHOWN != "$good" ]] || fail "nothing is changed by $change"
		! parsed >/dev/null || fail "not found: $change"
	done
}

@test "the samples of an array that is being rebuilt, and none for what is not counted" {
	local line
	metrics_of rebuilding-copy
	parsed >"$BATS_TEST_TMPDIR/samples"
	for line in 'ramraid_array_state{array="data",state="rebuilding"} 1' \
		'ramraid_leg_state{array="data",leg="ram",role="ram",state="attached"} 1' \
		'ramraid_legs{array="data"} 3' \
		'ramraid_legs_in_sync{array="data"} 2' 'ramraid_sync_active{array="data"} 1' \
		'ramraid_sync_progress_ratio{action="copy",array="data"} 0.3446' \
		'ramraid_sync_bytes_per_second{action="copy",array="data"} 57671680' \
		'ramraid_last_rebuild_seconds{array="data",engine="copy"} 39' \
		'ramraid_array_reads_total{array="data"} 61440' \
		'ramraid_array_info{array="data",device="md127",uuid="11111111-2222-3333-4444-555555555555"} 1' \
		'ramraid_leg_writes_total{array="data",leg="/dev/disk/by-id/ata-ST4000VN008-2DR166_ZDH1BBBB-part2",role="disk"} 21100'; do
		grep -qxF -- "$line" "$BATS_TEST_TMPDIR/samples" || fail "missing: $line"
	done
	# What nobody counts, and what is not so.
	! grep -E 'ramraid_leg_reads_total.*ram"|whole_since' "$BATS_TEST_TMPDIR/samples" || fail
}

@test "labels: quotes, backslashes and newlines are escaped, and what is not UTF-8 is replaced" {
	metrics_sample ramraid_x_total 1 a 'a"b\c' b $'x\ny' c 'µ' d $'\xff.'
	[[ ${METRIC[ramraid_x_total]} == \
		'ramraid_x_total{a="a\"b\\c",b="x\ny",c="µ",d="?."} 1'$'\n' ]] ||
		fail "${METRIC[ramraid_x_total]}"
	metrics_sample ramraid_y '' a b
	[[ -z ${METRIC[ramraid_y]-} ]]
}

@test "the program writes to stdout, or to a file in one piece; wrong file names are refused" {
	local file=/var/lib/prometheus/node-exporter/ramraid.prom
	ramraid() { "$PROJECT/bin/ramraid" metrics "$@"; }
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' \
		>"$R/etc/ramraid/data.conf"
	echo nonsense >"$R/etc/ramraid/bad.conf"
	: >"$R/etc/ramraid/"$'\xff "x.conf'
	SHOWN=$(ramraid)$'\n'
	parsed >"$BATS_TEST_TMPDIR/samples"
	grep -qx 'ramraid_array_state{array="data",state="stopped"} 1' "$BATS_TEST_TMPDIR/samples"
	grep -qx 'ramraid_array_state{array="bad",state="misconfigured"} 1' \
		"$BATS_TEST_TMPDIR/samples"
	ramraid --output=$file 2>/dev/null
	[[ $(<"$R$file")$'\n' == "$SHOWN" && $(stat -c %a "$R$file") == 644 &&
		$(ls "$R${file%/*}") == ramraid.prom ]]
	for file in '' x x/y / /x/; do
		run ramraid --output="$file"
		assert_failure 2
	done
	run ramraid data
	assert_failure 2
	run ramraid --output=/etc/ramraid/data.conf/x
	assert_failure 1
	assert_output -p 'could not be written'
}

@test "the only good copy is reported even if the configuration has errors, but only if that is certain" {
	local md=$R/sys/block/md127/md
	mkdir -p "$md/dev-rd0" "$md/dev-sda1" "$R/dev/md" "$R/run/ramraid" "$R/sys/class/block" \
		"$R/sys/block/rd0"
	ln -s ../../block/md127 "$R/sys/class/block/md127"
	: >"$R/dev/md127"
	ln -s ../md127 "$R/dev/md/bad"
	echo active >"$md/array_state"
	echo in_sync >"$md/dev-rd0/state"
	echo faulty >"$md/dev-sda1/state"
	echo rapiddisk rd0 102400 - used >"$R/run/ramraid/bad.ram"
	echo nonsense >"$R/etc/ramraid/bad.conf"
	says() { SHOWN=$("$PROJECT/bin/ramraid" metrics)$'\n' && parsed | grep -F only_good_copy; }
	[[ $(says) == 'ramraid_only_good_copy_in_ram{array="bad"} 1' ]] || fail "$(says)"
	# And a person is told; by what the array was started with, whether a shutdown saves it.
	run "$PROJECT/bin/ramraid" status bad
	assert_failure 1
	assert_line 'bad: misconfigured (/dev/md127)'
	assert_line '  THE RAM LEG IS THE ONLY GOOD COPY: do not cut the power'
	assert_line -p '  action: fix that, then: '
	[[ $("$PROJECT/bin/ramraid" status --json bad |
		jq -c '.arrays[0].only_good_copy_in_ram') == true ]]
	printf '%s\n' "UUID=11111111-2222-3333-4444-555555555555" MEMBER=/dev/disk/by-id/ata-A RESCUE=none >"$R/run/ramraid/bad.started"
	run "$PROJECT/bin/ramraid" status bad
	assert_line '  THE RAM LEG IS THE ONLY GOOD COPY: do not cut the power, and do NOT reboot'
	assert_line -p '(RESCUE=none)'
	run "$PROJECT/bin/ramraid" check bad
	assert_line -p 'problem configuration: '
	assert_line -p 'problem only-copy: '
	assert_line -p 'do NOT reboot before that'
	rm "$R/run/ramraid/bad.started"
	echo broken >"$md/array_state"
	run "$PROJECT/bin/ramraid" status bad
	assert_line '  THE RAM LEG IS THE ONLY GOOD COPY: do not cut the power'
	[[ $(says) == 'ramraid_only_good_copy_in_ram{array="bad"} 1' ]]
	# Otherwise it is not known: a disk in sync may lack blocks.
	echo in_sync,write_mostly >"$md/dev-sda1/state"
	[[ -z $(says) ]]
	echo faulty >"$md/dev-sda1/state"
	echo faulty >"$md/dev-rd0/state"
	[[ -z $(says) ]]
	echo in_sync >"$md/dev-rd0/state"
	rm "$R/run/ramraid/bad.ram"
	[[ -z $(says) ]]
}
