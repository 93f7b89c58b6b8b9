#!/usr/bin/env bats
# Notes in the state folder and in /run that something has damaged: every reader takes what it can
# and returns. A fatal error of bash (an empty subscript, a variable that is not set, text where a
# number belongs) would end the program, and with it a start, or the status of all arrays.

setup() {
	load helper
	world
	libraries
	NOTES=$R/run/ramraid RECORDS=$R/etc/ramraid/state
	mkdir -p "$NOTES" "$RECORDS" "$R/proc/sys/kernel/random" "$R/sys/block/md127/md"
	echo 7 >"$R/sys/block/md127/diskseq"
	echo '100.0 1' >"$R/proc/uptime"
	UUID=5aa18f2e-7b1c-4c1b-9f45-4d3e1b0c9a77
	declare -gA CONF=([UUID]=$UUID [HOTPLUG]=yes [RAM]=auto [AUTO_REPLACE]=no [RESCUE]=none
		[LAYOUT]=mirror)
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[name]=data
	MEMBERS=(/dev/disk/by-id/a /dev/disk/by-id/b) REQUIRED_BY=()
	DAMAGE=('' ' ' '   ' '@' '*' 'x' 'a  b c' '=' 'uuid=' 'member=' 'for=x' $'member=\nfor=x'
		"uuid=$UUID"$'\nmember=\nfor=x' "uuid=$UUID"$'\nmember=' $'x @\nx *'
		'a b c d e f g h i j k l' '-1 -1 -1' '09 08' $'\x01\xff' ']'
		"\$(touch $BATS_TEST_TMPDIR/ran)" "a[\$(touch $BATS_TEST_TMPDIR/ran)]" $'5 @\n6 *'
		'md127 7')
}

# bears FILE COMMAND…: COMMAND, which reads FILE, meets no fatal error of bash, whatever is in it.
bears() {
	local text said file=$1
	shift
	for text in "${DAMAGE[@]}"; do
		printf '%s\n' "$text" >"$file"
		said=$( (set -Eeuo pipefail && "$@") 2>&1) || :
		[[ $said != *@('unbound variable'|'bad array'|'syntax error'|'command not found'|operand|'too great')* ]] ||
			fail "$* with ${text@Q} in ${file##*/}: $said"
		rm -f "$file"
	done
	[[ ! -e $BATS_TEST_TMPDIR/ran ]] || fail "$*: a command in ${file##*/} was run"
}

@test "no damage to what is written down about the legs ends a program" {
	hardware_of() { HARDWARE='loop - -'; }
	hardware() { hardware_compare aa-bb sda && hardware_new sda && hardware_is_made_up sda; }
	removals() {
		removals_read data "$UUID" && removals_settle "${MEMBERS[@]}"
		removals_has /x
	}
	joined() {
		F[leg.0.device_uuid]=aa
		legs_seen_joined 0
		legs_seen_left
		legs_seen_note_in_sync 5 aa
	}
	bears "$RECORDS/data.hardware" hardware
	bears "$RECORDS/data.leaving" removals
	bears "$NOTES/data.returns" legs_seen_look
	bears "$NOTES/data.members" legs_seen_look
	bears "$NOTES/data.joined" joined
	bears "$NOTES/data.names" legs_seen_had_name sda /x
}

@test "no damage to what is written down about the RAM leg and the watch ends a program" {
	zram() { ramdisk_zram_tidy data && ramdisk_zram_spare_find data; }
	look_again() { :; }
	array_lock_is_free() { :; }
	notify() { :; }
	transitions_write_() { :; }
	bears "$NOTES/data.failures" ramdisk_may_try data
	bears "$NOTES/data.ram" ramdisk_note_read data
	bears "$NOTES/data.ram" zram
	bears "$NOTES/data.block" zram
	bears "$NOTES/data.watched" watched_is md127
	bears "$NOTES/data.watched" contents_now data
	bears "$NOTES/data.detached" ram_out_facts
	bears "$NOTES/data.told" transitions_look_ data
}

@test "no damage to the records of a start, an adoption, an image or a self-test ends a program" {
	declare -A ADOPTED
	rescue_record() { rescue_record_read data "$UUID" && before_look_remembered; }
	history() {
		local now=5 life changed=''
		facts_served && read_share_history && whole_since_life_ && whole_since_note_ ''
	}
	contents_of() { echo UUID=x; }
	bears "$NOTES/data.refused" refusal_is_past data x 5
	bears "$NOTES/data.tried" hotplug_was_tried data
	bears "$NOTES/data.started" conf_need_kept data
	bears "$RECORDS/data.adopted" adopted_read data
	bears "$RECORDS/data.releasing" adopted_releasing_read data
	bears "$RECORDS/data.rescue" rescue_record
	bears "$RECORDS/data.lately" history
	bears "$RECORDS/selftest" selftest_record_word 6.1.0
	bears "$RECORDS/data.witness" before_look_remembered
	bears "$RECORDS/other.witness" before_look_remembered
	bears "$RECORDS/data.contents" contents_remember data md127
}

@test "a damaged note of one array leaves status and metrics of the others alone" {
	local n verb
	for n in 1 2; do
		printf '%s\n' "UUID=${UUID%?}$n" "MEMBER=/dev/disk/by-id/ata-$n" \
			>"$R/etc/ramraid/array$n.conf"
	done
	printf '%s\n' "uuid=${UUID%?}1" member= >"$RECORDS/array1.leaving"
	for verb in status metrics; do
		ramraid_with '' "$verb"
		[[ $output == *array1*array2* && $output != *'bad array'* ]] || fail "$output"
	done
}
