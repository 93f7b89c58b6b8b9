#!/usr/bin/env bats
# "ramraid config show": every key, what holds, and which line says so.

setup() {
	load helper
	world
	C=$R/etc/ramraid
	ID=11111111-2222-3333-4444-555555555555
	printf '# comment\nRAM=brd\nWAIT=no\n' >"$C/ramraid.conf"
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n\n  MEMBER = "/dev/disk/by-id/ata-B"\nREQUIRED_BY=/srv/my data\nWAIT=yes\n' "$ID" >"$C/data.conf"
	mkdir "$C/data.conf.d"
	printf 'REQUIRED_BY=x.service\nWAIT_TIMEOUT=1h 30min\n' >"$C/data.conf.d/local.conf"
}

show() { "$PROJECT/bin/ramraid" config show "$@"; }

# line KEY=VALUE ORIGIN: a line of the output, whatever its blanks.
line() { grep -qxE "$1 {2,}$2" <<<"$output" || fail "no line $1 $2 in:" "$output"; }

@test "config show prints every key once, lists line by line, each with file and line or built-in" {
	run show data
	assert_success
	line "UUID=$ID" "$C/data.conf:1"
	line MEMBER=/dev/disk/by-id/ata-A "$C/data.conf:2"
	line MEMBER=/dev/disk/by-id/ata-B "$C/data.conf:4"
	line 'REQUIRED_BY=/srv/my data' "$C/data.conf:5"
	line REQUIRED_BY=x.service "$C/data.conf.d/local.conf:1"
	line RAM=brd "$C/ramraid.conf:2"
	line WAIT=yes "$C/data.conf:6"
	line 'WAIT_TIMEOUT=1h 30min' "$C/data.conf.d/local.conf:2"
	line RAM_RESERVE=10% built-in
	local key
	libraries
	for key in "${!CONF_FORM[@]}"; do grep -q "^$key=" <<<"$output" || fail "no $key"; done
	[[ $(cut -d = -f 1 <<<"$output" | uniq -d) == $'MEMBER\nREQUIRED_BY' ]]
}

@test "config show prints an empty list, and a UUID with colons in the form with dashes" {
	rm "$C/data.conf"
	printf 'UUID=11111111:22223333:44445555:55555555\nMEMBER=/dev/disk/by-id/ata-A\n' \
		>"$C/plain.conf"
	run show plain
	assert_success
	line "UUID=$ID" "$C/plain.conf:1"
	line REQUIRED_BY= built-in
}

@test "config show prints a key by its present name if the file has that of 0.1, with a message" {
	sed -i 's/^REQUIRED_BY=/MOUNT=/' "$C/data.conf"
	output=$(show data 2>"$BATS_TEST_TMPDIR/said")
	line 'REQUIRED_BY=/srv/my data' "$C/data.conf:5"
	line REQUIRED_BY=x.service "$C/data.conf.d/local.conf:1"
	[[ $output != *MOUNT* ]]
	run cat "$BATS_TEST_TMPDIR/said"
	[[ ${#lines[@]} == 1 &&
		$output == "$C/data.conf:5: MOUNT has been called REQUIRED_BY since 0.2.0; write \
REQUIRED_BY=,"* ]] ||
		fail "$output"
}

@test "config show without a name prints what holds for an array that sets nothing" {
	run show
	assert_success
	line RAM=brd "$C/ramraid.conf:2"
	line REBUILD=auto built-in
	refute_output -p MEMBER=
	refute_output -p UUID=
	rm "$C/ramraid.conf"
	run show
	line RAM=auto built-in
}

@test "config show --json has the same, with nulls for what is built-in, and fits its schema" {
	run show --json data
	assert_success
	local query='[.name, .keys.UUID.value, .keys.MEMBER[1].value, .keys.MEMBER[1].line, (.keys.MEMBER[1].file | sub(".*/"; "")), .keys.REQUIRED_BY[0].value,
		(.keys.REQUIRED_BY | length), .keys.RAM_RESERVE.value, .keys.RAM_RESERVE.file, .keys.RAM_RESERVE.line, (.keys | length)]'
	[[ $(jq -c "$query" <<<"$output") == "[\"data\",\"$ID\",\"/dev/disk/by-id/ata-B\",4,\"data.conf\",\"/srv/my data\",2,\"10%\",null,null,26]" ]] ||
		fail "$(jq -c "$query" <<<"$output")"
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A\n' "${ID/1111/2222}" >"$C/plain.conf"
	run show --json plain
	[[ $(jq -c '[.keys.REQUIRED_BY, (.keys.MEMBER | length)]' <<<"$output") == '[[],1]' ]]
	run show --json
	[[ $(jq -c '[.name, .keys.RAM.value, .keys.RAM.line, .keys.MEMBER]' <<<"$output") == \
		'[null,"brd",2,null]' ]]
	fits() {
		jq "$1" <<<"$output" |
			perl "$BATS_TEST_DIRNAME/schema.pl" "$PROJECT/docs/config.schema.json"
	}
	fits . || fail "$output"
	run show --json data
	fits . || fail "$output"
	for change in 'del(.version)' '.keys.RAN = .keys.RAM' 'del(.keys.WAIT)' \
		'.keys.MEMBER = .keys.RAM' '.keys.RAM.line = 0' '.name = ""'; do
		not fits "$change" >/dev/null || fail "not found: $change"
	done
	# The schema has every key.
	[[ $(jq -r '.properties.keys.properties | keys[]' "$PROJECT/docs/config.schema.json") == \
		"$(jq -r '.keys | keys[]' <<<"$output")" ]]
}

@test "config show exits with 2 for an error or a wrong call, and with 3 for an unknown array" {
	echo NONSENSE=1 >>"$C/data.conf"
	run show data
	assert_failure 2
	assert_output -p "data.conf:7: unknown key"
	refute_output -p RAM=
	run show other
	assert_failure 3
	run show ../data
	assert_failure 2
	run show ''
	assert_failure 2
	for words in '' list 'show a b'; do
		run "$PROJECT/bin/ramraid" config $words
		assert_failure 2
		assert_line 'usage: ramraid config show [--json] [NAME]'
	done
}

@test "config show reports an error in the defaults, and shows the built-in value that holds instead" {
	printf 'MEMBER=/dev/disk/by-id/ata-X\nRAM=tape\nREQUIRED_BY=/x\n' >"$C/ramraid.conf"
	run show data
	assert_success
	assert_output -p "ramraid.conf:2: RAM=tape: write auto"
	line RAM=auto built-in
	# What has no place there moves no other line's origin.
	line MEMBER=/dev/disk/by-id/ata-A "$C/data.conf:2"
	line 'REQUIRED_BY=/srv/my data' "$C/data.conf:5"
	run show
	assert_failure 2
	line RAM=auto built-in
	printf 'ROOT=yes\nRAM=/dev/disk/by-id/nvme-X\n' >"$C/ramraid.conf"
	run show data
	assert_output -p "ramraid.conf:2: RAM=DEVICE belongs to one array"
	line RAM=auto built-in
	line ROOT=no built-in
}

@test "config show warns about drop-ins whose names do not end in .conf" {
	: >"$C/data.conf.d/20-ram"
	: >"$C/data.conf.d/local.conf~"
	mkdir "$C/ramraid.conf.d"
	: >"$C/ramraid.conf.d/all.cnf"
	run show data
	assert_success
	assert_line -p "$C/data.conf.d/20-ram is not read: its name does not end in .conf"
	assert_line -p "$C/ramraid.conf.d/all.cnf is not read: its name does not end in .conf"
	assert_line -p "$C/data.conf.d/local.conf~ is not read"
	refute_line -p 'local.conf is not read'
	show --json data 2>/dev/null | jq -e .version
	run show
	refute_output -p 20-ram
}

@test "conf_load does not record origins unless it is asked to" {
	libraries
	conf_origin_() { fail "asked for"; }
	conf_load data
	[[ ${CONF[RAM]} == brd ]]
}

@test "every built-in value has the form of its key" {
	local key
	libraries
	conf_keys_builtin
	for key in "${!CONF[@]}"; do
		[[ $key == UUID || ${CONF[$key]} =~ ${CONF_FORM[$key]} ]] ||
			fail "$key=${CONF[$key]}"
	done
}
