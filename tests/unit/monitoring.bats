#!/usr/bin/env bats
# The examples of docs/monitoring/examples, with a curl and a sendmail that only write down what
# they are given. The rules and the dashboard: tests/monitoring.

setup() {
	load helper
	EXAMPLES=$PROJECT/docs/monitoring/examples
	export RAMRAID_NAME=data RAMRAID_SEVERITY=warning \
		RAMRAID_MESSAGE='data: "disk" lost\gone; 5 $left'
	mkdir "$BATS_TEST_TMPDIR/bin"
	CALLS=$BATS_TEST_TMPDIR/calls
	export CALLS
	printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"$CALLS"\n[ -z "${REFUSED-}" ] || exit 22\n' \
		>"$BATS_TEST_TMPDIR/bin/curl"
	printf '#!/bin/sh\necho "status of $3"\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/ramraid"
	printf '#!/bin/sh\necho "$*" >"$CALLS"; cat >>"$CALLS"\n' >"$BATS_TEST_TMPDIR/bin/sendmail"
	chmod +x "$BATS_TEST_TMPDIR"/bin/*
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
}
# The example, with its files in this test's folder.
example() {
	sed "s|/etc/ramraid/|$BATS_TEST_TMPDIR/|; s|/usr/sbin/sendmail|sendmail|" "$EXAMPLES/$1" \
		>"$BATS_TEST_TMPDIR/example"
	shift
	sh "$BATS_TEST_TMPDIR/example" "$@"
}
has() { grep -qxF -- "$1" "$CALLS" || fail "no \"$1\" in" "$(<"$CALLS")"; }

@test "no example passes a notice on" {
	local file
	for file in "$EXAMPLES"/*; do
		RAMRAID_SEVERITY=notice example "${file##*/}" started /dev/md/data || fail "$file"
	done
	[[ ! -e $CALLS ]]
}

@test "ntfy: title, priority and message are sent; a token, if there is one, is never an argument" {
	example notify-ntfy disk-lost /dev/md/data /dev/sdb
	has "Title: data on $(uname -n): disk-lost"
	has 'Priority: high'
	has "$RAMRAID_MESSAGE"
	[[ $(tail -n 1 "$CALLS") == https://ntfy.example.org/mirrors ]]
	not grep -q ntfy.header "$CALLS"
	echo 'Authorization: Bearer secret' >"$BATS_TEST_TMPDIR/ntfy.header"
	RAMRAID_SEVERITY=alert example notify-ntfy only-copy-in-ram /dev/md/data
	has 'Priority: urgent'
	has "@$BATS_TEST_TMPDIR/ntfy.header"
	not grep -q secret "$CALLS"
}

@test "matrix: the body is JSON for any message, and the room is encoded in the address" {
	example notify-matrix disk-lost /dev/md/data
	has PUT
	has "@$BATS_TEST_TMPDIR/matrix.header"
	[[ $(grep '^{' "$CALLS" | jq -r '.msgtype + " " + .body') == \
		"m.text warning on $(uname -n): $RAMRAID_MESSAGE" ]] ||
		fail "$(<"$CALLS")"
	tail -n 1 "$CALLS" |
		grep -qE '^https://matrix\.example\.org/_matrix/client/v3/rooms/%21abcdefghijk%3Aexample\.org/send/m\.room\.message/ramraid-[0-9]+-[0-9]+$' ||
		fail "$(<"$CALLS")"
}

@test "mail: goes to one address, and an alert to two, with the state of the array below the message" {
	example notify-mail disk-lost /dev/md/data
	has '-t -i'
	has 'To: root'
	has "Subject: warning: disk-lost on $(uname -n)"
	has "$RAMRAID_MESSAGE"
	has 'status of data'
	RAMRAID_SEVERITY=alert example notify-mail only-copy-in-ram /dev/md/data
	has 'To: root, oncall@example.org'
}

@test "ntfy and matrix fail if the server refuses a message, so that systemd reports it" {
	export REFUSED=yes
	run example notify-ntfy disk-lost /dev/md/data
	assert_failure 22
	run example notify-matrix disk-lost /dev/md/data
	assert_failure 22
}
