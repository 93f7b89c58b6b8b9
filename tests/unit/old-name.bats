#!/usr/bin/env bats
# A configuration that is renamed: what was written down about its array is found by the UUID.

setup() {
	load helper
	world
	libraries
	replace
	ID=11111111-2222-3333-4444-555555555555 OTHER=99999999-2222-3333-4444-555555555555
	A=aaaaaaaa-0000-0000-0000-000000000001 B=aaaaaaaa-0000-0000-0000-000000000002
	S=$R/etc/ramraid/state
	mkdir -p "$R/run/ramraid" "$R/proc/sys/kernel" "$S"
	echo 6.12.1-amd64 >"$R/proc/sys/kernel/osrelease"
	fake_disk sda 104857600 disk/by-id/ata-A
	fake_disk sdb 104857600 disk/by-id/ata-B
	conf fast "$ID"
	LOG=$BATS_TEST_TMPDIR/log
	set +T
}

# After the libraries, whose functions these replace.
replace() {
	superblock_facts() {
		local n=1
		[[ $1 == */sd[ab] ]] || { echo sb=none && return; }
		[[ $1 == */sda ]] || n=2
		printf '%s\n' sb=ok "uuid=$ID" "device_uuid=aaaaaaaa-0000-0000-0000-00000000000$n" \
			level=1 raid_disks=3 size=1 data_offset=8 data_size=8 events=90 time=1 \
			"number=$n" "role=$n" "roles=1:1 2:2" view=.AA recovery= dirty=no
	}
	quantity_seconds() { printf '0\n0\n'; }
}

conf() { # NAME UUID
	printf '%s\n' "UUID=$2" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B \
		>"$R/etc/ramraid/$1.conf"
	chmod 644 "$R/etc/ramraid/$1.conf"
}
only_copy() { # NAME [UUID [EVENTS]]: a record that only the RAM leg was good
	printf '%s\n' "uuid=${2-$ID}" legs= "events=${3-100}" ram_slot=0 generation=5 "left=$A $B" \
		"given=$B" >"$S/$1.witness"
}
good() { # NAME [EVENTS]
	printf '%s\n' "uuid=$ID" "legs=$A $B" "events=${2-90}" ram_slot=0 generation=5 \
		>"$S/$1.witness"
}
image() { # NAME
	printf '%s\n' "uuid=$ID" "image=/var/lib/ramraid/$1/rescue-100" bytes=104857600 \
		"sha256=$(printf '%064d' 0)" events=100 >"$S/$1.rescue"
}
looks() { # NAME: as a start does
	conf_load "$1" || fail "${CONF_ERRORS[*]}"
	before_look_configured "$1"
	before_look_times
	facts_observe
	action_choose
}
refuses() { # PATTERN
	looks "${2-fast}"
	[[ $ACTION == refuse && $WHY == *$1* ]] || fail "$ACTION: $WHY"
}

@test "with no record, or all of them under this name, a start goes on as ever" {
	looks fast
	[[ $ACTION == assemble && -z ${F[record.from]}${F[record.why]} ]] || fail "$WHY"
	good fast
	only_copy old "$OTHER"
	looks fast
	[[ $ACTION == assemble && -z ${F[record.from]}${F[record.why]} ]] || fail "$WHY"
	old_name_take
	[[ -e $S/old.witness ]]
}

@test "the record that only the RAM leg was good moves to the new name, and still refuses the start" {
	only_copy data
	printf 'UUID=abc\n' >"$S/data.contents"
	echo "$ID 0" >"$S/data.lately"
	refuses 'the RAM leg was the only good copy'
	[[ ${F[record.from]} == data && ${F[witness.given]} == "$B" && -e $S/data.witness ]]
	old_name_take 2>"$LOG"
	grep -q 'fast: .*under the name data are taken over' "$LOG"
	[[ -z ${F[record.from]} &&
		$(cd "$S" && echo *) == 'fast.contents fast.lately fast.witness' ]] ||
		fail "$(ls "$S")"
	refuses 'the RAM leg was the only good copy'
	[[ -z ${F[record.from]} ]]
	# And back.
	mv "$R/etc/ramraid/fast.conf" "$R/etc/ramraid/data.conf"
	refuses 'the RAM leg was the only good copy' data
}

@test "a rescue image under the old name refuses a start, even after its move was cut off halfway" {
	only_copy data
	image data
	refuses 'ramraid restore fast'
	mv "$S/data.rescue" "$S/fast.rescue"
	refuses 'ramraid restore fast'
	[[ ${F[record.from]} == data ]]
	old_name_take 2>"$LOG"
	[[ $(cd "$S" && echo *) == 'fast.rescue fast.witness' ]] || fail "$(ls "$S")"
	grep -qx legs= "$S/fast.witness"
}

@test "a start takes over the record of the old name, even if it is refused; --dry-run moves nothing" {
	only_copy data
	looks fast
	(start_plan fast) >"$BATS_TEST_TMPDIR/plan" 2>"$LOG"
	grep -q '^action: refuse' "$BATS_TEST_TMPDIR/plan"
	[[ -e $S/data.witness ]]
	systemd_is_running() { return 1; }
	run loop_run fast
	[[ $status == 4 && -e $S/fast.witness && ! -e $S/data.witness ]] || fail "$status $output"
}

@test "a forced start takes the record over before it starts the array; --dry-run moves nothing" {
	for name in systemd_settle systemd_is_running start_ask_forced array_lock_try; do
		eval "$name() { return 0; }"
	done
	# What is there when the array is started.
	disk_legs_assemble() { called "$@" && called "$(cd "$S" && echo *)" && return 1; }
	only_copy data
	looks fast
	NAME=fast OPT=([yes]=yes [force_leg]=/dev/disk/by-id/ata-A)
	DRY_RUN=yes run start_forced fast
	[[ $(calls) == $'sda\ndata.witness' ]] || fail "$(calls)" "$output"
	rm "$BATS_TEST_TMPDIR/calls"
	run start_forced fast
	[[ $(calls) == $'sda\nfast.witness' ]] || fail "$(calls)" "$output"
	# What can't be moved is not left behind.
	mv "$S/fast.witness" "$S/data.witness"
	rm "$BATS_TEST_TMPDIR/calls"
	act() { return 1; }
	run start_forced fast
	assert_output -p 'under the name data could not be moved'
	[[ -z $(calls) ]] || fail "$(calls)"
}

@test "if the old name is configured as well, it starts; the new one is refused, and nothing is moved" {
	good data
	conf data "$ID"
	refuses "$R/etc/ramraid/data.conf is about the same array"
	F[forced]=0
	action_choose
	[[ $ACTION == refuse ]]
	old_name_take
	[[ -e $S/data.witness && ! -e $S/fast.witness ]]
	looks data
	[[ $ACTION == assemble && -z ${F[record.why]} ]] || fail "$WHY"
	# A file with errors may be about it.
	printf '%s\n' nonsense >"$R/etc/ramraid/data.conf"
	refuses "data.conf is about the same array"
	# Another array has that name now.
	conf data "$OTHER"
	looks fast
	[[ $ACTION == assemble && ${F[record.from]} == data ]]
}

@test "if records under two names differ, the start is refused, and both are named" {
	good data
	only_copy older "$ID" 90
	refuses "exist under more than one name, and differ: $S/data.witness, $S/older.witness"
	rm "$S/older.witness"
	good fast
	looks fast
	[[ $ACTION == assemble && -z ${F[record.from]}${F[record.why]} ]] || fail "$WHY"
	good data 91
	refuses "$S/fast.witness, $S/data.witness"
	good data 90
	image data
	refuses "$S/fast.witness, $S/data.rescue"
	# Nothing is written then, and nothing begun by hot-plug.
	F[array.state]=active F[array.known]=yes
	witness_update
	grep -qx events=90 "$S/fast.witness"
	action_choose
	[[ $ACTION == refuse ]]
}

# As a backup of /etc brings an old record back, under the name that the array had then.
@test "of records of one life under two names, the later generation counts, whatever its events are" {
	local life=life=cccccccc-0000-0000-0000-000000000001
	good fast 90
	echo "$life" >>"$S/fast.witness"
	# A start was forced with B, which had fewer events, under the name data.
	printf '%s\n' "uuid=$ID" "legs=$B" events=60 ram_slot=0 generation=9 "given=$A" "$life" \
		"seen=$A $B" doubted= >"$S/data.witness"
	refuses "$S/fast.witness, $S/data.witness"
	# And if both names are configured.
	conf data "$ID"
	refuses "$R/etc/ramraid/data.conf is about the same array"
	rm "$R/etc/ramraid/data.conf"
	# A void one.
	printf '%s\n' "uuid=$ID" void=1 generation=9 "was=$A $B" "$life" "seen=$A $B" doubted= \
		>"$S/data.witness"
	refuses "$S/fast.witness, $S/data.witness"
	# An earlier one is left alone, even with more events.
	sed -i s/generation=9/generation=4/ "$S/data.witness"
	looks fast
	[[ $ACTION == assemble && -z ${F[record.from]}${F[record.why]} ]] || fail "$WHY"
	good data 200
	sed -i s/generation=5/generation=4/ "$S/data.witness"
	echo "$life" >>"$S/data.witness"
	looks fast
	[[ $ACTION == assemble && -z ${F[record.from]}${F[record.why]} ]] || fail "$WHY"
	# Nothing can be said of two lives.
	sed -i s/^life=c/life=d/ "$S/data.witness"
	refuses "$S/fast.witness, $S/data.witness"
}

@test "an array renamed while it runs is refused until it is stopped by its old name; then its records move" {
	mkdir -p "$R/sys/block/md127/md/dev-sda" "$R/sys/class/block/sda/holders/md127"
	echo clean >"$R/sys/block/md127/md/array_state"
	echo "$ID" >"$R/sys/block/md127/md/uuid"
	echo 7 >"$R/sys/block/md127/diskseq"
	good data
	looks fast
	md_state_run md127
	echo "$MD_RUN" >"$R/run/ramraid/data.watched"
	echo "UUID=$ID" >"$R/run/ramraid/data.started"
	refuses 'ramraid stop data; ramraid start fast'
	(cmd_witness_one fast)
	[[ ! -e $S/fast.witness ]]
	# Stopped: what this boot knows of it goes along.
	rm -r "$R/sys/block/md127" "$R/sys/class/block/sda/holders/md127"
	echo 'rapiddisk rd0 104857600 7 used' >"$R/run/ramraid/data.ram"
	looks fast
	old_name_take 2>"$LOG"
	[[ -e $R/run/ramraid/fast.ram && ! -e $R/run/ramraid/data.started ]] ||
		fail "$(ls "$R/run/ramraid")"
}

@test "two configurations that swap their names both keep their records" {
	only_copy data
	printf '%s\n' "uuid=$OTHER" "legs=$A" events=7 ram_slot=0 generation=5 >"$S/fast.witness"
	conf data "$OTHER"
	looks fast
	[[ ${F[record.from]} == data ]]
	old_name_take 2>"$LOG"
	grep -qx "uuid=$ID" "$S/fast.witness"
	looks data
	[[ ${F[witness.events]} == 7 ]] || fail "${F[record.from]} $(ls "$S")"
	old_name_take 2>"$LOG"
	grep -qx "uuid=$OTHER" "$S/data.witness"
	[[ $(cd "$S" && echo *) == 'data.witness fast.witness' ]] || fail "$(ls "$S")"
}

@test "the record of an array that no configuration names is kept, and counts once one does again" {
	only_copy fast "$OTHER"
	looks fast
	old_name_take 2>"$LOG"
	[[ $(cd "$S" && echo *) == 'fast~99999999.witness' ]] || fail "$(ls "$S")"
	conf fast "$OTHER"
	looks fast
	[[ ${F[witness.events]} == 100 && ${F[record.from]} == 'fast~99999999' ]] ||
		fail "${F[witness.events]} ${F[record.from]}"
}

@test "links, folders and FIFOs are no records; while a record can't be moved, no new one is written" {
	mkdir "$S/x.witness"
	ln -s nowhere "$S/y.witness"
	mkfifo "$S/z.rescue"
	looks fast
	[[ $ACTION == assemble ]]
	only_copy data
	looks fast
	act() { return 1; }
	not old_name_take 2>"$LOG"
	[[ ${F[record.from]} == data ]]
	F[array.state]=active F[array.known]=yes
	not witness_update 2>"$LOG"
	grep -q 'could not be taken over' "$LOG"
	[[ ! -e $S/fast.witness ]]
}

@test "what is on an array is known before its first start under the new name" {
	good data
	echo UUID=abc >"$S/data.contents"
	dependents_aliases fast "$ID" | grep -qx UUID=abc
	conf data "$OTHER"
	not grep -qx UUID=abc <(dependents_aliases fast "$ID")
}

@test "check says that it is not clear which records count, and what to do" {
	good data
	only_copy older "$ID" 90
	looks fast
	CHECK_ARRAY=fast
	check_record
	[[ ${FINDING[0.code]} == record-elsewhere &&
		${FINDING[0.action]} == 'Look at them'*'ramraid start fast' ]] ||
		fail "${FINDING[0.action]}"
}
