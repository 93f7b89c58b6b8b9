#!/usr/bin/env bats
# ramraid detach: what it says, what --dry-run leaves as it is, and that hot-plug makes no RAM leg
# afterwards.

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
	[[ $(<"$R/run/ramraid/data.detached") == person && ! -e $R/run/ramraid/data.ram ]]
	[[ $(steps) == *'--fail /dev/rd0'*'--remove /dev/rd0'*'rapiddisk detach'* ]] ||
		fail "$(steps)"
}

@test "after detach, hot-plug makes no new RAM leg, neither by a look nor by its worker" {
	local looked='systemctl start --no-block ramraid-mend@data.service'
	eval "no_ramdisks_$(declare -f fakes)"
	fakes() {
		no_ramdisks_fakes
		! declare -F ramdisk_make >/dev/null || eval 'ramdisk_make() { step make && return 1; }'
	}
	systemctl() {
		[[ $* != *ActiveState*ramraid@data.service* ]] || echo active
		[[ $1 != start ]] || called systemctl "$@"
	}
	export -f no_ramdisks_fakes
	echo '5000.12 9000.00' >"$R/proc/uptime"
	sed -i '$aHOTPLUG=yes' "$R/etc/ramraid/data.conf"
	put degraded 1
	verb detach data
	assert_success
	rm "$BATS_TEST_TMPDIR/calls"
	verb hotplug
	assert_success
	verb mend data
	assert_success
	[[ -z $(steps) ]] || fail "$(steps)"
	# Without the note, both would.
	rm "$R"/run/ramraid/data.{detached,tried}
	verb hotplug
	[[ $(steps) == "$looked" ]] || fail "$(steps)" "$output"
	verb mend data
	[[ $(steps) == "$looked"$'\nmake' ]] || fail "$(steps)" "$output"
}
