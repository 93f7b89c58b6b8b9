#!/usr/bin/env bats
# The small actions on disk legs: what is asked of md, in which order, and what is said when md
# refuses. Assembling is in loop.bats and zram.bats.

setup() {
	load helper
	world
	libraries
	facts_read <"$FIXTURES/decide/whole-2.facts"
	MD=$R/sys/block/md127/md
	mkdir -p "$MD/bitmap" "$R/run/ramraid"
	LOOP_ERROR='' LOG=$BATS_TEST_TMPDIR/log REFUSES=''
	sleep() { :; }
	mdadm() {
		called mdadm "$@"
		[[ -z $REFUSES ]]
	}
}

# refused MESSAGE COMMAND…: it fails, and that is why.
refused() {
	local message=$1 code=0
	shift
	LOOP_ERROR=''
	"$@" 2>"$LOG" || code=$?
	[[ $code == 1 && $LOOP_ERROR == "$message" ]] || fail "$code: $LOOP_ERROR"
}

@test "a disk leg is in the array only if it is a member of its md device, and no other has the UUID" {
	mkdir -p "$R/sys/class/block/sda/holders/md127"
	disk_legs_is_of sda
	not disk_legs_is_of sdb
	F[array.twin]=md126
	not disk_legs_is_of sda
	F[array.twin]='' F[array.md]=''
	not disk_legs_is_of sda
	F[array.md]=md126
	not disk_legs_is_of sda
}

@test "an array that was assembled but not started is stopped" {
	disk_legs_stop_inactive
	[[ $(calls) == 'mdadm --stop /dev/md127' ]] || fail "$(calls)"
	REFUSES=yes
	refused 'mdadm --stop failed' disk_legs_stop_inactive
}

@test "the witness is written before md may write to the array" {
	witness_update_or_go_on() { called record; }
	disk_legs_make_writable
	[[ $(calls) == $'record\nmdadm --readwrite /dev/md127' ]] || fail "$(calls)"
	REFUSES=yes
	refused 'mdadm --readwrite failed' disk_legs_make_writable
}

@test "write-behind is switched off with a warning, and on without one" {
	echo 256 >"$MD/bitmap/backlog"
	disk_legs_set_backlog 0 2>"$LOG"
	[[ $(<"$MD/bitmap/backlog") == 0 ]]
	grep -q 'write-behind was on' "$LOG"
	disk_legs_set_backlog 16 2>"$LOG"
	[[ $(<"$MD/bitmap/backlog") == 16 ]]
	not grep -q 'write-behind was on' "$LOG"
}

@test "a member whose device is gone is failed and removed; for the RAM leg that counts as a failure" {
	local written=''
	act_write() { written+="${1#"$MD"/} $2 "; }
	ram_leg_count() { called count; }
	mkdir -p "$MD/dev-sdb" "$MD/dev-rd0"
	echo in_sync,write_mostly >"$MD/dev-sdb/state"
	disk_legs_remove_gone sdb
	[[ $written == 'dev-sdb/state faulty dev-sdb/state remove ' && -z $(calls) ]] ||
		fail "$written $(calls)"
	written=''
	echo faulty >"$MD/dev-rd0/state"
	disk_legs_remove_gone rd0
	[[ $written == 'dev-rd0/state remove ' && $(calls) == count ]] ||
		fail "$written $(calls)"
	act_write() { return 1; }
	refused 'md does not release sdb, whose device is gone' disk_legs_remove_gone sdb
}

@test "a disk leg that md does not rebuild is taken out, and is not put back by the same run" {
	md_remove() { called remove "$@"; }
	F[leg.0.state]=faulty F[leg.0.slot]=none F[ram.state]=none
	F[failed.rebuild]='md does not rebuild it'
	disk_legs_remove_leg 0
	[[ ! -v F["failed.readd.0"] && ! -v F["failed.add-leg.0"] && -v F["failed.rebuild"] ]]
	F[leg.0.state]=recovering F[leg.1.state]=recovering F[leg.1.slot]=none
	disk_legs_remove_leg 0
	[[ ${F["failed.readd.0"]} == 'md does not'* && ${F["failed.add-leg.0"]} == 'md does not'* ]]
	# As long as there is another one, nothing else is waited for.
	[[ -v F["failed.rebuild"] ]]
	F[leg.0.state]=''
	disk_legs_remove_leg 1
	[[ -v F["failed.readd.1"] && ! -v F["failed.rebuild"] ]]
}

@test "a leg that md has taken back is no longer in the record with its event count when it left" {
	local one=aaaaaaaa-0000-0000-0000-000000000001 two=aaaaaaaa-0000-0000-0000-000000000002
	bits_own() { :; }
	legs_seen_note_return() { :; }
	md_readd() { [[ -z $REFUSES ]]; }
	same_leg() { :; } # tests/unit/exchanged.bats
	witness_write data "${F[uuid]}" '' 90 0:0 '' '' '' "$one" "$two" 2>/dev/null
	witness_write data "${F[uuid]}" '' 100 0:0 '' '' '' "$one" "$two:99" 2>/dev/null
	before_look_witness
	[[ ${F[witness.departed]} == "$two:99" ]]
	F[leg.1.device_uuid]=$two
	REFUSES=yes
	not disk_legs_readd 1 2>/dev/null
	[[ ${F[witness.departed]} == "$two:99" ]]
	REFUSES=''
	disk_legs_readd 1 2>/dev/null
	[[ -z ${F[witness.departed]} ]]
	first_look_record_is_same
	before_look_witness
	[[ -z ${F[witness.departed]} && ${F[witness.legs]} == "$one" ]]
	# Somebody else has written the record since it was read: what it says is to be read again.
	witness_write data "${F[uuid]}" '' 110 0:0 '' '' '' "$one" "$two:109" 2>/dev/null
	disk_legs_readd 1 2>/dev/null
	not first_look_record_is_same
	[[ -z ${F[witness.departed]} ]]
	# A void one has no counts; what the last record of another array had is not taken for its own.
	witness_void data "${F[uuid]}" 2>/dev/null
	before_look_witness
	WITNESS_GENERATION=$((${F[witness.generation]} + 1)) WITNESS_DEPARTED=$one:7
	disk_legs_readd 1 2>/dev/null
	first_look_record_is_same
	[[ -z ${F[witness.departed]} ]]
	# It can't be written.
	witness_return() { return 1; }
	run disk_legs_readd 1
	assert_success
	assert_output -p 'its record could not be written'
}
