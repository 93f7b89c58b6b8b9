#!/usr/bin/env bats
# The examples of the manual that change nothing and are for programs: run as they are printed. And
# how ramraid-diagnostics(7) is made.

setup() {
	load helper
	world
	printf "UUID=11111111-2222-3333-4444-555555555555\n\
MEMBER=/dev/disk/by-id/ata-DISK-A-part2\n" >"$R/etc/ramraid/data.conf"
}

ramraid() { "$PROJECT/bin/ramraid" "$@"; }

# example PAGE PATTERN: sets EXAMPLE to the one command in the page that begins so, without its
# prompt.
example() {
	EXAMPLE=$(sed -n '/^== EXAMPLES/,/^== /s/^[#$] //p' "$PROJECT/man/$1.8.adoc" |
		grep -e "^$2")
	[[ $(wc -l <<<"$EXAMPLE") == 1 ]] || fail "$1 has not one example of $2: $EXAMPLE"
}

@test "the example of status --json prints the arrays that are not whole" {
	example ramraid-status 'ramraid status --json'
	run eval "$EXAMPLE"
	assert_output 'data: stopped'
}

@test "the example of check --json prints what to type against each problem" {
	example ramraid-check 'ramraid check --json'
	run eval "$EXAMPLE"
	assert_line 'ramraid claim'
}

@test "the example of config show --json prints one value" {
	example ramraid-config 'ramraid config show --json'
	run eval "$EXAMPLE"
	assert_output auto
}

@test "the example of metrics prints whether the RAM leg is the only good copy" {
	example ramraid-metrics 'ramraid metrics |'
	run eval "$EXAMPLE"
	assert_output 'ramraid_only_good_copy_in_ram{array="data"} 0'
}

@test "the example of bench --json prints random reads, 32 at a time" {
	libraries
	example ramraid-bench 'ramraid bench --json'
	declare -A BENCH=()
	local test n=0
	BENCH_ROLE=(array) BENCH_DEVICE=(/dev/md127)
	for test in "${BENCH_TESTS[@]}"; do
		n=$((n + 1))
		BENCH["read 0 $test"]=$n BENCH["read 0 $test bytes"]=9 \
			BENCH["read 0 $test nanoseconds"]=9
	done
	json_open '' object
	bench_json read 1
	json_close
	ramraid() { printf '%s\n' "$JSON_TEXT"; }
	run eval "$EXAMPLE"
	assert_output 3
}

# page TEXT: what generate/diagnostics makes of a file that holds it.
page() {
	mkdir -p "$BATS_TEST_TMPDIR/tree/"{docs,generate}
	cp "$PROJECT"/generate/diagnostics* "$BATS_TEST_TMPDIR/tree/generate"
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/tree/docs/troubleshooting.md"
	"$BATS_TEST_TMPDIR/tree/generate/diagnostics"
}

@test "diagnostics: messages, code, lists and links are formatted, and what roff would interpret is escaped" {
	run page $'# Title\n\n## One\n\nSee [below](#two), `a -b \\c`.\n\n### Two\n\n> `it is … gone.…`\n\n.dot and `x(8)`:\n\n- one\n  and more\n\n```\n.TH -x\n```'
	assert_success
	assert_output - <<'END'
++++
.SH
ONE
.PP
See below (Two), \fBa \-b \(rsc\fP.
.SS
Two
.PP
\fB\(lqit is ... gone.\(rq\fP
.RS 4
.PP
\&.dot and \fBx\fP(8):
.IP "\(bu" 4
one and more
.PP
.RS 4
.nf
\&.TH \-x
.fi
.RE
.RE
++++
END
}

@test "diagnostics: unknown markup is an error that names its line" {
	local text
	for text in '> no message' 'a `b' 'see [x](#nowhere)'; do
		run page $'# Title\n\n'"$text"
		assert_failure
		assert_output --partial 'docs/troubleshooting.md:3: '
	done
}
