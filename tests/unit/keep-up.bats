#!/usr/bin/env bats
# The unit of an array that runs, while its configuration can't be read: a stop that was refused
# starts it again, because its stop takes the RAM leg out at a shutdown.

setup() {
	load helper
	load change
	change_world
	printf '%s\n' "UUID=$ID" RAM=auto MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B \
		>"$R/run/ramraid/data.started"
}

# unit_starts: runs "ramraid start" as the unit does. Sets status and output; what systemd was told
# is among the calls.
unit_starts() {
	rm -f "$BATS_TEST_TMPDIR/calls"
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\necho "$@" >>%q\n' "$BATS_TEST_TMPDIR/calls" \
		>"$BATS_TEST_TMPDIR/bin/systemd-notify"
	chmod +x "$BATS_TEST_TMPDIR/bin/systemd-notify"
	run env PATH="$BATS_TEST_TMPDIR/bin:$PATH" NOTIFY_SOCKET=/nowhere RAMRAID_UNIT=data \
		bash -c 'source "$1"; set -Eeuo pipefail; SYSTEMD_EXEC_PID=$$ main start -- data' - \
		"$PROJECT/bin/ramraid"
}

@test "the unit of an array that runs comes up although its file was renamed, deleted or mistyped" {
	local damage
	for damage in 'mv data.conf other.conf' 'rm -f other.conf' 'echo MEMBR=/dev/sda >data.conf'; do
		(cd "$R/etc/ramraid" && eval "$damage")
		cp -a "$R/sys" "$BATS_TEST_TMPDIR/sys"
		unit_starts
		assert_success
		assert_output -p 'its configuration is broken or missing; using the one that it was'
		assert_output -p 'then: ramraid attach data'
		[[ $(calls) == '--ready --status=its configuration is broken or missing; the array '* &&
			$(calls | wc -l) == 1 ]] || fail "$(calls)"
		diff -r "$R/sys" "$BATS_TEST_TMPDIR/sys"
		rm -r "$BATS_TEST_TMPDIR/sys"
	done
}

@test "the unit of an array that has been started under another name since does not come up" {
	mv "$R/etc/ramraid/data.conf" "$R/etc/ramraid/other.conf"
	echo 'md127 6' >"$R/run/ramraid/data.watched"
	echo 'md127 7' >"$R/run/ramraid/other.watched"
	unit_starts
	assert_failure 3
	[[ -z $(calls) ]] || fail "$(calls)"
}

@test "an array that does not run is not started by what it was started with before" {
	echo MEMBR=/dev/sda >"$R/etc/ramraid/data.conf"
	put array_state clear
	unit_starts
	assert_failure 2
	assert_output -p 'nothing was done'
	[[ -z $(calls) ]] || fail "$(calls)"
	put array_state active
	rm "$R/run/ramraid/data.started"
	unit_starts
	assert_failure 2
	# A person is told as well: the unit is not asked to start anything.
	verb start data
	assert_failure 2
}
