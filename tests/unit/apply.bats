#!/usr/bin/env bats
# ramraid apply, and the decision that it shares with replace, row by row.

setup() {
	load helper
	load change
	change_world
}
by_id() { printf 'MEMBER=/dev/disk/by-id/ata-%s\n' "$@"; }

@test "apply adds one disk and removes another, writes its note first, and leaves the file as the user wrote it" {
	conf "UUID=$ID" '# mine' "$(by_id C A)"
	cp -p "$R/etc/ramraid/data.conf" "$R/wanted"
	verb apply --yes data
	assert_success
	is_whole A C
	cmp "$R/wanted" "$R/etc/ramraid/data.conf"
	[[ $(steps) == 'write /etc/ramraid/state/data.leaving
write /etc/ramraid/data.conf'*--add*sdc*--remove*sdb*'write /etc/ramraid/data.conf'*zero*sdb*--raid-devices=3* ]] ||
		fail "$(steps)"
}

@test "apply and replace refuse an array that something else has started, before they write anything" {
	local legs
	rm "$R/run/ramraid/data.watched"
	for legs in "$(uuid_of d)" ''; do
		printf '%s\n' "uuid=$ID" "legs=$legs" events=90 filled=40 ram_slot=0 ram_number=0 \
			generation=3 "seen=$(uuid_of a) $(uuid_of b) $(uuid_of d)" \
			>"$R/etc/ramraid/state/data.witness"
		conf "UUID=$ID" "$(by_id A C)"
		refused 4 'something else has started md127' apply --yes data
		refute_output -p 'not finished'
		conf "UUID=$ID" "$(by_id A B)"
		refused 4 'something else has started md127' replace --yes data \
			/dev/disk/by-id/ata-B /dev/disk/by-id/ata-C
		refute_output -p 'not finished'
		[[ $legs == '' ]] || { leaves rd0 && put degraded 1; }
	done
}

@test "apply adds a disk, then removes two, and then finds nothing to do" {
	conf "UUID=$ID" "$(by_id A B C)"
	verb apply --yes data
	assert_success
	refute_output -p 'it has no RAM leg now'
	is_whole A B C
	conf "UUID=$ID" "$(by_id C)"
	verb apply --yes data
	assert_success
	is_whole C
	rm "$BATS_TEST_TMPDIR/calls"
	verb apply data
	assert_success
	[[ -z $(steps) ]] || fail "$(steps)"
}

@test "apply ends a check that a killed scrub has left running, at its beginning and while it waits" {
	conf "UUID=$ID" "$(by_id A B C)"
	check_left
	verb apply --yes data
	assert_success
	is_whole A B C
	[[ $(<"$MD/sync_max") == max ]]
	conf "UUID=$ID" "$(by_id C)"
	check_left
	rm "$R/run/ramraid/.locks/check.md127"
	sleep() { SECONDS=$((SECONDS + 5)) && : >"$R/run/ramraid/.locks/check.md127"; }
	verb apply --yes data
	assert_success
	is_whole C
	[[ $(<"$MD/sync_max") == max ]]
}

@test "apply takes out a RAM leg whose rebuild md has given up before a disk joins, and goes on without it" {
	local joins
	echo "5000.12 9000.00" >"$R/proc/uptime"
	for joins in '--re-add /dev/sdb' '--add /dev/sdc'; do
		[[ $joins != *sdc ]] || conf "UUID=$ID" "$(by_id A C)"
		leaves sdb
		joins rd0 spare none
		joins sda in_sync,write_mostly 1
		put degraded 2
		echo rapiddisk rd0 102400 9 used >"$R/run/ramraid/data.ram"
		rm -f "$BATS_TEST_TMPDIR/calls"
		verb apply --yes data
		assert_success
		assert_output -p 'the RAM leg is taken out: md does not rebuild it'
		assert_output -p 'to add one: ramraid attach data'
		[[ $(steps) == *'--remove /dev/rd0'*"$joins"* && ! -e $MD/dev-rd0 ]] ||
			fail "$(steps)"
	done
	# It stays: nothing joins.
	leaves sdb
	leaves sdc
	joins rd0 spare none
	conf "UUID=$ID" "$(by_id A D)"
	rm "$BATS_TEST_TMPDIR/calls"
	FAILS='mdadm --manage /dev/md127 --remove'
	verb apply --yes data
	assert_failure 1
	assert_output -p 'could not remove it'
	[[ $(steps) != *'--add'* ]] || fail "$(steps)"
}

@test "apply replaces all disks, and the order of the MEMBER lines does not matter" {
	conf "UUID=$ID" "$(by_id D C)"
	verb apply --yes data
	assert_success
	is_whole C D
}

@test "apply puts back a disk that has returned" {
	leaves sdb
	put degraded 1
	verb apply --yes data
	assert_success
	is_whole A B
	[[ $(steps) == *'--re-add /dev/sdb'* ]] || fail "$(steps)"
}

@test "apply puts back a disk that has returned before it builds a later one, and before another leaves" {
	leaves sdb
	put degraded 1
	conf "UUID=$ID" "$(by_id B C)"
	verb apply --yes data
	assert_success
	is_whole B C
	[[ $(steps) == *'--re-add /dev/sdb'*'--add /dev/sdc'*'--fail /dev/sda'* ]] ||
		fail "$(steps)"
}

@test "apply --dry-run prints the plan, and apply refuses a change that would leave no good disk" {
	conf "UUID=$ID" "$(by_id A C)"
	rm -rf "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
	verb apply --dry-run data
	assert_success
	untouched
	assert_output 'build     /dev/disk/by-id/ata-C (/dev/sdc), write-mostly; whatever is on it is lost
take out  /dev/disk/by-id/ata-B (/dev/sdb), and make its superblock invalid, when the others are in sync
data: nothing was changed (--dry-run)'
	refused 2 'add --yes' apply data
	conf "UUID=$ID" "$(by_id X)"
	refused 4 'this would leave no disk in sync. Name one to keep' apply --yes data
	conf "UUID=$ID" "$(by_id A X)"
	refused 4 'ata-X: there is no such disk, and until it is in sync, no disk is taken' apply \
		--yes data
	echo 2048 >"$R/sys/class/block/sdc/size"
	conf "UUID=$ID" "$(by_id A C)"
	refused 4 'has 1048576 bytes' apply --yes data
	echo 409600 >"$R/sys/class/block/sdc/size"
	echo alone >"$R/dev/sdc"
	refused 4 'was used without the others' apply --yes data
	rm "$R/dev/disk/by-id/ata-B"
	conf "UUID=$ID" "$(by_id A)"
	refused 4 '/dev/sdb is in the array, is no MEMBER, and has no stable name' apply --yes data
}

# plugged NODE: it is on USB.
plugged() {
	mkdir -p "$R/sys/devices/usb1"
	mv "$R/sys/class/block/$1" "$R/sys/devices/usb1/"
	ln -s "$R/sys/devices/usb1/$1" "$R/sys/class/block/$1"
}

@test "a disk that anybody can plug in or make up is refused without --force if no leg was ever on such hardware" {
	local yours='who would get a copy of all that is on the array: no disk leg was ever on'
	# With a record, without one, and with that of a RAM leg alone: also by what is in the array.
	for line in "$(uuid_of a) ata - -" "ram=/dev/X usb - -" ''; do
		echo "$line" >"$R/etc/ramraid/state/data.hardware"
		fake_disk loop7p1 $((200 << 20))
		ln -sfn "$R/dev/loop7p1" "$R/dev/disk/by-id/ata-X"
		conf "UUID=$ID" "$(by_id A B X)"
		refused 4 "ata-X (/dev/loop7p1, loop): may be somebody else's, $yours loop. \
If it is yours: ramraid apply --force data (or \"replace\" with --force)" apply --yes data
		refused 4 "$yours loop" apply --dry-run data
	done
	rm "$R/etc/ramraid/state/data.hardware"
	fake_disk nbd0 $((200 << 20)) disk/by-id/ata-N
	conf "UUID=$ID" "$(by_id A B N)"
	refused 4 "ata-N (/dev/nbd0, network): may be somebody else's" apply --yes data
	plugged sdc
	conf "UUID=$ID" "$(by_id A B C)"
	refused 4 "ata-C (/dev/sdc, usb): may be somebody else's, $yours usb" apply --yes data
	# What is on it is not overwritten for that.
	echo ext4 >"$R/dev/sdc"
	refused 4 'signature: it holds ext4' apply --force --yes data
	: >"$R/dev/sdc"
	verb apply --force --dry-run data
	assert_success
	assert_line 'build     /dev/disk/by-id/ata-C (/dev/sdc, usb), write-mostly; whatever is on it is lost'
	verb apply --force --yes data
	assert_success
	is_whole A B C
	# Where a leg is, the next one needs no word.
	plugged sdd
	conf "UUID=$ID" "$(by_id A B C D)"
	verb apply --yes data
	assert_success
	is_whole A B C D
}

@test "a leg's name that another device has taken over: apply and replace name both devices, and do nothing" {
	local over="another device has taken over the name. Remove that device; or replace this name by \
another one" \
		links="$R/run/udev/links/disk\\x2fby-id\\x2fata-A" how
	rm "$R/dev/disk/by-id/ata-A"
	fake_disk loop7p1 $((200 << 20)) disk/by-id/ata-A
	ln -s "$R/dev/sda" "$R/dev/disk/by-id/wwn-A"
	# Known from an earlier look, or from what udev knows of the name.
	for how in note udev; do
		rm -rf "$R/run/ramraid/data.names" "$R/run/udev"
		if [[ $how == note ]]; then
			echo 11 >"$R/sys/class/block/sda/diskseq"
			echo 'sda:11 /dev/disk/by-id/ata-A' >"$R/run/ramraid/data.names"
		else
			mkdir -p "$links" "$R/sys/dev/block"
			: >"$links/b8:0"
			ln -s ../../class/block/sda "$R/sys/dev/block/8:0"
		fi
		for line in 'apply data' 'apply --force data' \
			'replace --force data /dev/disk/by-id/ata-B /dev/disk/by-id/ata-C'; do
			# shellcheck disable=SC2086 # words
			refused 4 "ata-A now leads to /dev/loop7p1 (loop), but the leg that had that \
name, /dev/sda, is in the array: $over of /dev/sda in $R/etc/ramraid/data.conf:3: \
MEMBER=/dev/disk/by-id/wwn-A" ${line/ / --yes }
		done
	done
	# That is the way out.
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/wwn-A "$(by_id B C)"
	verb apply --dry-run data
	assert_success
	assert_output -p 'build     /dev/disk/by-id/ata-C (/dev/sdc)'
	refute_output -p loop7p1
	# One that md has given up is no leg that anybody could lose.
	put dev-sda/state faulty,write_mostly degraded 1
	conf "UUID=$ID" "$(by_id A B)"
	verb apply --dry-run data
	refute_output -p 'taken over the name'
}

# Row by row: facts of two disks in the array, A and B, and one outside, C.
decides() { # 'ACTION ARGUMENT…' KEY=VALUE…
	local want=$1 fact
	shift
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[members]=3 F[array.slots]=3 F[array.gone]='' F[change.left]='' F[conf.member_timeout]=0
	for fact in node=sdc dev=/dev/disk/by-id/ata-C in= state= slot= writemostly= sb=none uuid= \
		role= view= device_uuid= recovery= events=0 kind=blank; do
		F[leg.2.${fact%%=*}]=${fact#*=}
	done
	for fact; do F[${fact%%=*}]=${fact#*=}; done
	facts_numbered
	membership_plan_next
	[[ "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" == "$want" ]] ||
		fail "expected $want, got $ACTION ${ARGUMENTS[*]-} ($WHY) with $*"
}
in_it=(leg.2.in=md127 leg.2.state=in_sync leg.2.slot=3 leg.2.writemostly=yes leg.2.kind=
	array.slots=4)

@test "decision: one row for each case" {
	local kind row forget='forget /dev/disk/by-id/ata-A' out=("${in_it[@]}" leg.0.leaving=yes leg.0.in=
		leg.0.state= leg.0.slot= leg.0.sb=ok leg.0.role=1 leg.0.view=.A. leg.0.events=99
		leg.0.device_uuid=x array.events=100)
	libraries
	decides 'slots 4'
	decides 'slots 4' leg.0.leaving=yes
	decides 'build 2' array.slots=4
	decides 'build 2' array.slots=4 leg.2.kind=fresh
	decides 'readd 2' array.slots=4 leg.2.kind=returned
	decides 'build 2' array.slots=4 leg.2.kind=given leg.2.force=yes
	decides 'done' array.slots=4 leg.2.kind=given
	decides 'done' array.slots=4 leg.2.why=small
	decides 'done' array.slots=4 leg.2.loose=usb
	decides 'done' array.slots=4 leg.2.loose=usb leg.2.kind=given leg.2.force=yes
	decides 'done' array.slots=4 leg.2.loose=usb leg.2.kind=fresh
	decides 'done' array.slots=4 leg.2.whose=db leg.2.kind=foreign leg.2.force=yes
	decides 'done' "${in_it[@]}"
	# A new one that is not write-mostly yet is made so before md may go on.
	decides 'write-mostly 2' "${in_it[@]}" leg.2.writemostly=no leg.2.state=recovering \
		array.sync=frozen
	decides thaw "${in_it[@]}" leg.2.state=recovering array.sync=frozen
	decides wait-sync "${in_it[@]}" leg.2.state=recovering array.sync=recover leg.0.leaving=yes
	decides wait-sync "${in_it[@]}" leg.2.state=recovering leg.0.leaving=yes
	# What md does not rebuild is out before anything joins.
	decides wait-sync array.slots=4 ram.state=recovering ram.slot=none
	decides wait-sync array.slots=4 leg.2.kind=returned ram.state=recovering ram.slot=none
	decides 'remove-leg 1' array.slots=4 leg.1.leaving=yes leg.1.state=recovering leg.1.slot=none
	decides wait-sync array.slots=4 leg.1.leaving=yes leg.1.state=recovering leg.1.slot=none array.sync=recover
	decides wait-sync "${in_it[@]}" array.sync=check leg.0.leaving=yes
	decides wait-sync "${in_it[@]}" array.pending=yes leg.0.leaving=yes
	# Nobody leaves before all are good.
	decides 'drop 0' "${in_it[@]}" leg.0.leaving=yes
	decides 'drop 0' "${in_it[@]}" leg.0.leaving=yes leg.1.leaving=yes
	decides refuse array.slots=4 leg.0.leaving=yes leg.2.kind=missing
	decides refuse "${in_it[@]}" leg.2.state=faulty leg.0.leaving=yes
	decides refuse "${in_it[@]}" leg.0.leaving=yes leg.1.leaving=yes leg.2.leaving=yes
	# Nor is a disk with blocks that md could not write taken for one without.
	decides refuse "${in_it[@]}" leg.0.leaving=yes leg.2.lacks=yes
	decides refuse "${in_it[@]}" leg.0.leaving=yes leg.1.lacks=yes
	decides 'drop 0' "${in_it[@]}" leg.0.leaving=yes leg.0.lacks=yes
	decides 'drop 0' "${in_it[@]}" leg.0.leaving=yes leg.0.lacks=yes leg.1.lacks=yes
	decides 'remove-leg 0' "${in_it[@]}" leg.0.leaving=yes leg.0.state=faulty
	decides 'remove-gone sdx' "${in_it[@]}" array.gone=sdx
	decides "forget $(facts_read <"$FIXTURES/decide/whole-2.facts" && echo "${F[leg.0.dev]}")" \
		"${in_it[@]}" leg.0.leaving=yes leg.0.in= leg.0.state=
	# Nor is a disk wiped that may hold what the array lacks, and has come back meanwhile.
	for kind in ahead holding copy separate; do
		decides refuse "${out[@]}" leg.0.kind=$kind
	done
	for kind in missing silent unreadable given returned removed bouncing begun fresh; do
		decides "$forget" "${out[@]}" leg.0.kind=$kind
	done
	for row in leg.0.view=.AA leg.0.recovery=8 leg.0.role=spare witness.departed='a:9+ x:99'; do
		decides "$forget" "${out[@]}" leg.0.kind=separate "$row"
	done
	for row in leg.0.elsewhere=yes leg.0.events=500; do
		decides refuse "${out[@]}" leg.0.kind=separate leg.0.view=.AA "$row"
	done
	decides refuse "${out[@]}" leg.0.kind=separate witness.departed='x:98+'
	decides 'forget gone' "${in_it[@]}" change.left=gone
	decides refuse rescue.image=/x
}

@test "a plan that never ends is given up, but not one that replaces 31 disks by 31 others" {
	libraries
	declare -gA CONF=([RAM]=auto)
	facts_read <"$FIXTURES/decide/whole-2.facts"
	facts_observe() { :; }
	membership_facts() { :; }
	membership_plan_next() { ACTION=readd WHY=again; }
	membership_act_() { called step; }
	run membership_all data
	assert_failure
	assert_output -p 'gave up after 73 steps'
	[[ $(calls | wc -l) == 72 ]] || fail "$(calls | wc -l)"
	# Three steps for each leg, of those that come and of those that leave.
	F[members]=62
	membership_plan_next() { ACTION='done' && (($(calls | wc -l) == 3 * 62)) || ACTION=build; }
	membership_done_() { called end; }
	: >"$BATS_TEST_TMPDIR/calls"
	run membership_all data
	assert_success
	[[ $(calls | tail -n 1) == end ]]
}

@test "a far2 array has two slots: a disk is built into a free one, and a third disk is refused" {
	local \
		far2=(conf.layout=far2 conf.ram=none array.slots=2 ram.state=none ram.node=
			ram.slot= leg.0.writemostly= leg.1.writemostly=)
	libraries
	decides 'build 2' "${far2[@]}" leg.0.leaving=yes leg.0.in= leg.0.state= leg.0.slot=
	decides 'build 2' "${far2[@]}" leg.0.leaving=yes leg.0.in= leg.0.state= leg.0.slot= \
		leg.2.kind=returned
	decides 'remove-leg 0' "${far2[@]}" leg.0.leaving=yes leg.0.state=faulty
	decides 'remove-gone sdx' "${far2[@]}" leg.0.leaving=yes leg.0.in= leg.0.state= \
		leg.0.node= array.gone=sdx
	decides 'done' "${far2[@]}" leg.2.in=md127 leg.2.state=in_sync leg.2.slot=0 leg.2.kind= \
		leg.2.writemostly= leg.0.in= leg.0.state= leg.0.slot= leg.0.kind=missing
	membership_plan
	[[ ${PLAN[*]} != *slots* ]]
	decides 'build 2' "${far2[@]}" leg.0.leaving=yes leg.0.kind= array.may_leave=sda
	membership_plan
	[[ ${WRONG[*]} == \
		*"a far2 has no slot for a third disk. Take ${F[leg.0.dev]} out first"* ]] ||
		fail "${WRONG[*]}"
}

memory() {
	printf '%s\n' 'MemTotal: 1048576 kB' 'MemFree: 1 kB' 'MemAvailable: 524288 kB' \
		>"$R/proc/meminfo"
}
# only_c: disk A has failed, and C, which somebody has added by hand, is the only one in sync.
only_c() {
	conf "UUID=$ID" "$(by_id A)"
	leaves sdb
	memory
	put raid_disks 3 dev-sda/state faulty,write_mostly dev-sda/slot none
	joins sdc in_sync,write_mostly 2
}
takes_out() { [[ $output == *"--fail /dev/sdc --remove /dev/sdc"* ]]; }

@test "nobody is told to take out the only disk in sync: neither by check nor by release nor by apply" {
	local verb
	only_c
	for verb in check 'release --yes' apply; do
		[[ $verb != apply ]] || rm "$R/dev/disk/by-id/ata-C"
		verb $verb data
		not takes_out || fail "$verb: $output"
		assert_output -p 'no other disk has all that is on the array'
		[[ $verb == apply ]] || assert_output -p MEMBER
	done
	# Beside another one, it may go.
	put dev-sda/state in_sync,write_mostly dev-sda/slot 1 dev-rd0/state faulty
	verb apply data
	takes_out || fail "$output"
	ln -s ../../sdc "$R/dev/disk/by-id/ata-C"
	for verb in check 'release --yes'; do
		verb $verb data
		takes_out || fail "$verb: $output"
		refute_output -p 'no other disk has all that is on the array'
	done
	# Unless that one lacks blocks.
	put dev-rd0/state in_sync dev-sda/bad_blocks '4096 8'
	verb check data
	not takes_out || fail "$output"
	assert_output -p 'no other disk has all that is on the array'
}

@test "release names neither a second ramdisk as MEMBER, nor what may be the disk below a missing leg" {
	mkdir -p "$R/sys/block/rd1"
	fake_disk rd1 $((104 << 20))
	joins rd1 in_sync 3
	verb release --yes data
	assert_failure 4
	assert_output -p 'does not name, /dev/rd1. What to do: ramraid check data'
	refute_output -p 'Name it as MEMBER'
	leaves rd1
	only_c
	conf "UUID=$ID" MEMBER=/dev/mapper/cached "$(by_id A)"
	verb release --yes data
	assert_failure 4
	assert_output -p 'does not name, /dev/sdc. What to do: ramraid check data'
	refute_output -p 'Name it as MEMBER'
	verb check data
	assert_output -p 'If it is another disk: write MEMBER=/dev/disk/by-id/ata-C'
}

@test "the only disk in sync is not taken out for its bad blocks, nor for a slot of a far2" {
	local far2=(conf.layout=far2 conf.ram=none array.slots=2 ram.state=none ram.node= ram.slot=
		leg.0.writemostly= leg.1.writemostly= leg.0.leaving=yes)
	libraries
	wrong() { # PATTERN ACTION KEY=VALUE…
		decides "${@:2}"
		membership_plan
		[[ ${WRONG[*]} == *$1* ]] || fail "expected $1, got ${WRONG[*]}"
	}
	wrong 'has. Take it out first, which leaves one copy fewer until the new one is rebuilt: mdadm /dev/md127 --fail /dev/disk/by-id/ata-A --remove' 'slots 4' leg.0.badblocks=yes array.may_leave=sda
	wrong 'Take /dev/disk/by-id/ata-A out first, which leaves one copy on disk' 'build 2' "${far2[@]}" array.may_leave=sda
	wrong 'But do not take it out: no other disk has all that is on the array' 'slots 4' leg.0.badblocks=yes \
		leg.1.in= leg.1.state= leg.1.slot= leg.1.node= leg.1.kind=missing
	[[ ${WRONG[*]} != *--fail* ]] || fail "${WRONG[*]}"
	wrong 'Do not take out /dev/disk/by-id/ata-A, which is in the array: no other disk has all that is on it' 'build 2' "${far2[@]}" \
		leg.1.in= leg.1.state= leg.1.slot= leg.1.node= leg.1.kind=missing
	[[ ${WRONG[*]} != *--fail* ]] || fail "${WRONG[*]}"
}

@test "nobody is told to take out a disk that alone holds some blocks, whether or not there is a RAM leg" {
	local ram
	memory
	fails_out() { [[ $output == *--fail*--remove* ]]; }
	for ram in with without; do
		[[ $ram == with ]] || { leaves rd0 && put degraded 1 level raid1; }
		# Each has what the other lacks.
		put dev-sda/bad_blocks '3000 8' dev-sdb/bad_blocks '5000 8'
		for disk in A B; do
			verb replace --yes data /dev/disk/by-id/ata-$disk /dev/disk/by-id/ata-C
			assert_failure 4
			assert_output -p 'But do not take it out: no other disk has all that is on the array'
			not fails_out || fail "$ram: $output"
		done
		verb check data
		assert_output -p 'do not take that disk out: no other disk has all that is on the array'
		refute_output -p 'replace that disk'
		# Both lack the same: with one of them out, md still takes no new disk.
		put dev-sda/bad_blocks '3000 8' dev-sdb/bad_blocks '3000 8'
		verb replace --yes data /dev/disk/by-id/ata-A /dev/disk/by-id/ata-C
		assert_failure 4
		not fails_out || fail "$ram: $output"
		# Only one lacks anything.
		put dev-sdb/bad_blocks ''
		verb replace --yes data /dev/disk/by-id/ata-A /dev/disk/by-id/ata-C
		assert_failure 4
		assert_output -p 'Take it out first, which leaves one copy fewer'
		assert_output -p -- '--fail /dev/disk/by-id/ata-A --remove /dev/disk/by-id/ata-A'
		verb check data
		assert_output -p 'replace that disk: ramraid replace data /dev/disk/by-id/ata-A NEW'
	done
}

@test "a disk that no MEMBER names is not to be taken out while it alone holds some blocks, with or without a RAM leg" {
	local ram verb
	memory
	for ram in with without; do
		[[ $ram == with ]] || leaves rd0
		put raid_disks 4 dev-sda/state faulty,write_mostly dev-sda/slot none \
			dev-sdb/bad_blocks '4096 8'
		joins sdc in_sync,write_mostly 3
		for verb in check 'release --yes'; do
			verb $verb data
			not takes_out || fail "$ram $verb: $output"
			assert_output -p 'no other disk has all that is on the array'
		done
		# What the others have together is enough.
		put dev-sda/state in_sync,write_mostly dev-sda/slot 1 dev-sda/bad_blocks '9000 8'
		for verb in check 'release --yes'; do
			verb $verb data
			takes_out || fail "$ram $verb: $output"
		done
	done
}

@test "of two disks that no MEMBER names, one is to stay when the rest lacks what both have" {
	memory
	put raid_disks 5 dev-sdb/bad_blocks '4096 8'
	put dev-sda/state faulty,write_mostly dev-sda/slot none
	joins sdc in_sync,write_mostly 3
	joins sdd in_sync,write_mostly 4
	verb check data
	takes_out || fail "$output"
	refute_output -p '--fail /dev/sdd'
	assert_output -p 'Do not take it out: no other disk has all that is on the array'
}

@test "a far2 keeps a disk while any block of the other one is bad, wherever that is" {
	libraries
	may() { # EXPECTED BAD-ON-A BAD-ON-B
		put level raid10 dev-sda/bad_blocks "$2" dev-sdb/bad_blocks "$3"
		facts_read <"$FIXTURES/decide/whole-2.facts"
		F[conf.layout]=far2 F[leg.0.leaving]=yes F[array.may_leave]=stale
		may_leave_look
		[[ ${F[array.may_leave]} == "$1" ]] || fail "$*: ${F[array.may_leave]}"
	}
	leaves rd0
	may sda '' ''
	may sda '3000 8' ''
	may sdb '' '5000 8'
	may '' '3000 8' '5000 8'
	not md_state_is_covered md127 sda sdb
	not md_drop md127 sda
	[[ -z $(steps) ]] || fail "$(steps)"
}

@test "a second ramdisk is not to be taken out while neither the RAM leg nor a disk has what it has" {
	memory
	mkdir -p "$R/sys/block/rd1"
	fake_disk rd1 $((104 << 20))
	joins rd1 in_sync 3
	put raid_disks 4
	verb check data
	assert_output -p -- '--fail /dev/rd1 --remove /dev/rd1'
	put dev-rd0/bad_blocks '3000 8' dev-sda/bad_blocks '3000 8' dev-sdb/bad_blocks '3000 8'
	verb check data
	refute_output -p -- '--fail /dev/rd1'
	assert_output -p 'do not take out either'
}

@test "the end of a change is reported, with a message if the array lacks something" {
	libraries
	witness_update_or_go_on() { :; }
	whole_since_update() { :; }
	removals_write() { called left "$@"; }
	conf_need_keep() { :; }
	notify_said() { called "$@"; }
	CONF=([UUID]="$ID" [RAM]=none)
	OUTCOME=over WHY='/dev/disk/by-id/ata-C is in sync'
	membership_done_ data 2>"$BATS_TEST_TMPDIR/log"
	[[ $(calls) == "left data $ID"$'\n''notice data: /dev/disk/by-id/ata-C is in sync' &&
		! -s $BATS_TEST_TMPDIR/log ]] || fail "$(calls)"
	CONF[RAM]=auto F[ram.state]=none
	membership_done_ data 2>"$BATS_TEST_TMPDIR/log"
	grep -q 'it has no RAM leg now' "$BATS_TEST_TMPDIR/log"
	OUTCOME=short
	run membership_done_ data
	assert_failure
	assert_output -p "data: $WHY; see: ramraid status data"
}

@test "an edit of the MEMBER lines changes no other line" {
	libraries
	conf '# MEMBER=no' "UUID=$ID" ' MEMBER = "/dev/disk/by-id/ata-A" ' 'MEMBERS=x' '' \
		"MEMBER='/dev/disk/by-id/ata-B'" '# end'
	ln -s data.conf "$R/etc/ramraid/link.conf"
	conf_edit_members link /dev/disk/by-id/ata-A /dev/disk/by-id/ata-C 2>/dev/null
	[[ -L $R/etc/ramraid/link.conf && $(<"$R/etc/ramraid/data.conf") == "# MEMBER=no
UUID=$ID
 MEMBER = \"/dev/disk/by-id/ata-A\" 
MEMBERS=x

MEMBER=/dev/disk/by-id/ata-C
# end" ]] || fail "$(<"$R/etc/ramraid/data.conf")"
	# Two fast ones: nothing to do, and one whose line is a drop-in's.
	DRY_RUN=yes
	[[ -z $(conf_edit_members link /dev/disk/by-id/ata-A /dev/disk/by-id/ata-C) ]]
	mkdir "$R/etc/ramraid/data.conf.d"
	echo MEMBER=/dev/disk/by-id/ata-D >"$R/etc/ramraid/data.conf.d/d.conf"
	[[ -z $(conf_edit_members data /dev/disk/by-id/ata-A /dev/disk/by-id/ata-C \
		/dev/disk/by-id/ata-D) ]]
}

@test "on a kernel that may read from a leg being rebuilt, apply adds a disk only while the array is not in use" {
	conf "UUID=$ID" "$(by_id A B C)"
	echo 6.10.3 >"$R/proc/sys/kernel/osrelease"
	put raid_disks 4 # this kernel must not change it either
	verb apply --dry-run data
	assert_success
	mkdir "$R/sys/block/md127/holders/dm-3"
	verb apply --dry-run data
	assert_failure 4
	assert_output -p 'it is in use (dm-3), and on this kernel'
	echo 6.12.57 >"$R/proc/sys/kernel/osrelease"
	verb apply --dry-run data
	assert_success
}

@test "on a kernel that may crash after a change of the slots, apply and replace refuse one, unless that is accepted" {
	echo 6.1.145-1-amd64 >"$R/proc/sys/kernel/osrelease"
	verb apply --dry-run data
	assert_success
	verb replace --dry-run data /dev/sdb /dev/sdc
	assert_failure 4
	assert_output -p CVE-2025-38445
	# A disk that md has given up goes first, and the new one gets its slot.
	put dev-sdb/state faulty,write_mostly degraded 1
	verb replace --dry-run data /dev/sdb /dev/sdc
	assert_success
	put dev-sdb/state in_sync,write_mostly degraded 0
	conf "UUID=$ID" "$(by_id A B C)"
	verb apply --dry-run data
	assert_failure 4
	assert_output -p CVE-2025-38445
	conf "UUID=$ID" "$(by_id A B C)" ACCEPT_KERNEL_FLAW=yes
	verb apply --dry-run data
	assert_success
	# Only a slot is too many.
	conf "UUID=$ID" "$(by_id A B)"
	put raid_disks 4
	verb apply --dry-run data
	assert_failure 4
	assert_output -p CVE-2025-38445
}

@test "attach and apply rebuild a returned disk in full if there is no bitmap or md refuses the re-add" {
	local line bitmap
	back() { # BITMAP: A alone is in sync
		leaves sdb
		put degraded 1 bitmap/location "$1"
		echo ours >"$R/dev/sdb"
		printf '%s\n' "uuid=$ID" "legs=$(uuid_of a)" events=50 filled=30 ram_slot=0 \
			ram_number=0 generation=2 "seen=$(uuid_of a) $(uuid_of b)" \
			>"$R/etc/ramraid/state/data.witness"
		rm -f "$BATS_TEST_TMPDIR/calls"
	}
	FAILS='mdadm --manage /dev/md127 --re-add'
	for line in 'attach data' 'apply --yes data'; do
		for bitmap in none +8; do
			back "$bitmap"
			# shellcheck disable=SC2086 # words
			verb $line
			assert_success
			[[ $(<"$MD/dev-sdb/state") == in_sync,write_mostly ]] ||
				fail "$line, $bitmap: $output"
			refute_output -p 'used without the others'
			[[ $line != attach* ]] || assert_output -p 'so all of it is rebuilt'
			[[ $(calls) == *--re-add* && $bitmap != none ]] ||
				[[ $(calls) != *--re-add* && $bitmap == none ]] || fail "$(calls)"
		done
	done
}

@test "the notes of leaving disks and of an adoption can hold a name that ends in an equals sign" {
	local disk=/dev/disk/by-id/usb-Stick_AbC=
	libraries
	removals_write data "$ID" "$disk"
	removals_read data "$ID"
	removals_has "$disk" || fail "${LEAVING[*]}"
	ADOPTED=([uuid]=$ID) ADOPTED_MEMBERS=("$disk")
	adopted_write data
	adopted_read data
	[[ ${ADOPTED_MEMBERS[*]} == "$disk" ]] || fail "${ADOPTED_MEMBERS[*]}"
}
