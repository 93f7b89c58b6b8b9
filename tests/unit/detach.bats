#!/usr/bin/env bats
# ramraid detach: what it says, and what --dry-run leaves as it is.

setup() {
	load helper
	load change
	change_world
}

# everything: what every file below /etc and /run holds
everything() { (cd "$R" && find etc run -type f ! -path '*/.locks/*' -exec sha256sum {} + | sort); }

@test "detach --dry-run prints the steps, and changes no file, even if a disk would be put back first" {
	local before
	before=$(everything)
	verb detach --dry-run data
	assert_success
	assert_output -p 'mdadm --manage /dev/md127 --remove /dev/rd0'
	refute_output -p 'redirect'
	[[ $(everything) == "$before" ]]
	# Only the RAM leg is good, and a disk that has left is here again.
	leaves sdb
	put dev-sda/state faulty,write_mostly degraded 2
	printf '%s events=100 with=\n' "$(uuid_of b)" >"$R/run/ramraid/data.joined"
	printf '%s\n' "uuid=$ID" legs= events=40 filled=40 ram_slot=0 generation=2 \
		"left=$(uuid_of a) $(uuid_of b)" "seen=$(uuid_of a) $(uuid_of b)" \
		>"$R/etc/ramraid/state/data.witness"
	before=$(everything)
	verb detach --dry-run data
	[[ $(everything) == "$before" ]] || fail "$output"
}

@test "detach takes the RAM leg out, and notes that nothing shall put it back" {
	verb detach data
	assert_success
	[[ -e $R/run/ramraid/data.detached && ! -e $R/run/ramraid/data.ram ]]
	[[ $(steps) == *'--fail /dev/rd0'*'--remove /dev/rd0'*'rapiddisk detach'* ]] ||
		fail "$(steps)"
}
