#!/usr/bin/env bats
# ramraid events: what it makes of the journal's records.

setup() {
	load helper
	world
	libraries
	export TZ=UTC
	echo UUID=x >"$R/etc/ramraid/data.conf"
	RECORDS=()
}

# record SECONDS PRIORITY PID TEXT: one more record of the journal, as "journalctl --output=export"
# prints it.
record() {
	RECORDS+=("__CURSOR=s=1" "__REALTIME_TIMESTAMP=${1}000123" "__MONOTONIC_TIMESTAMP=5"
		"_BOOT_ID=b" "PRIORITY=$2" "_PID=$3" "MESSAGE=$4" '')
}
journalctl() {
	called journalctl "$@"
	((${#RECORDS[@]} == 0)) || printf '%s\n' "${RECORDS[@]}"
	return "${CODE-0}"
}

@test "events prints records of this array and of its unit, without the name, and no others" {
	record 1763633560 4 700 'data: disk leg /dev/disk/by-id/ata-B is gone'
	record 1763633561 4 701 'data2: disk leg /dev/disk/by-id/ata-C is gone'
	record 1763633562 0 702 'data: THE RAM LEG IS THE ONLY GOOD COPY'
	record 1763633563 6 1 'Stopped ramraid@data.service - Mirror data.'
	record 1763633564 3 703 'ramraid: data: something else has started it'
	record 1763633565 5 704 'about data: nothing'
	record 1763633566 5 705 'data: the RAM leg is in sync'
	run cmd_events data
	assert_success
	assert_output "2025-11-20 10:12:40 warning  disk leg /dev/disk/by-id/ata-B is gone
2025-11-20 10:12:42 alert    THE RAM LEG IS THE ONLY GOOD COPY
2025-11-20 10:12:43 info     Stopped ramraid@data.service - Mirror data.
2025-11-20 10:12:44 error    something else has started it
2025-11-20 10:12:46 notice   the RAM leg is in sync"
}

@test "events asks the journal for root's records of ramraid and of the unit, since the given time" {
	record 1763633560 5 700 'a.b-c: x'
	cmd_events --since='2026-11-20 10:00' a.b-c
	[[ $(calls) == 'journalctl --no-pager --output=export --output-fields=MESSAGE,PRIORITY,_PID --since=2026-11-20 10:00 _UID=0 SYSLOG_IDENTIFIER=ramraid '*' + _PID=1 UNIT=ramraid@a.b-c.service MESSAGE_ID='* ]] ||
		fail "$(calls)"
	[[ $(calls) != *PRIORITY=6* ]]
}

@test "events --json prints one object, with times in UTC, that fits its schema" {
	record 1763633560 4 700 $'data: a "disk" \\x1b \xc3\xa4'
	record 1763633562 5 1 'Started it.'
	TZ=Asia/Tokyo run cmd_events --json data
	assert_success
	[[ $(jq -c . <<<"$output") == '{"version":2,"name":"data","events":[{"time":"2025-11-20T10:12:40Z","severity":"warning","text":"a \"disk\" \\x1b ä"},{"time":"2025-11-20T10:12:42Z","severity":"notice","text":"Started it."}]}' ]] ||
		fail "$output"
	fits() {
		jq "$1" <<<"$output" |
			perl "$BATS_TEST_DIRNAME/schema.pl" "$PROJECT/docs/events.schema.json"
	}
	fits . || fail "$output"
	for change in '.version = 1' '.events[0].severity = "bad"' 'del(.name)' \
		'.events[0].time = "now"'; do
		not fits "$change" >/dev/null || fail "not found: $change"
	done
	RECORDS=()
	run cmd_events --json data
	[[ $(jq -c .events <<<"${output%\}*}}") == '[]' ]] || fail "$output"
}

@test "records that are not text or have no time are left out, and control characters are escaped" {
	record 1763633560 4 700 'x'
	RECORDS+=('MESSAGE' $'\x05\x01binary' '' 'MESSAGE=data: no time' 'PRIORITY=4' ''
		'__REALTIME_TIMESTAMP=1a' 'MESSAGE=data: y' 'PRIORITY=4' '' '-- No entries --')
	record 1763633561 4 700 $'data: \e[2J'
	run cmd_events data
	assert_output '2025-11-20 10:12:41 warning  \x1b[2J'
}

@test "an empty journal is reported, with 3 if the array is not configured either" {
	run cmd_events data
	assert_success
	assert_output 'data: the journal has nothing about it'
	run cmd_events --since=yesterday data
	assert_output 'data: the journal has nothing about it since then'
	run cmd_events dtaa
	assert_failure 3
	assert_output -p 'did you mean "data"?'
	# One that was destroyed.
	record 1763633560 5 700 'gone: destroyed'
	run cmd_events gone
	assert_success
	assert_output -p 'destroyed'
}

@test "events refuses two names, impossible names and times, and reports a journal that can't be read" {
	local bad
	for bad in 'a b' '' '../x' 'ramraid'; do
		# shellcheck disable=SC2086
		run cmd_events $bad
		assert_failure 2
	done
	for bad in 'nonsense' '' '--until=now' '-1x'; do
		run cmd_events --since="$bad" data
		assert_failure 2
		assert_output -p 'write a point in time'
	done
	CODE=1 run cmd_events data
	assert_failure 1
	assert_output -p 'data: the journal could not be read'
}
