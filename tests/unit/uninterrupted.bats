#!/usr/bin/env bats
# What a lost reader of the messages ("2>&1 | tee log", and ^C ends tee), or a signal, does to a
# program in the middle of its work.

setup() {
	load helper
	world
	OUT=$BATS_TEST_TMPDIR/out
	export OUT PROJECT R
}

# unread SCRIPT: a program of its own, whose messages nobody reads from the beginning. Sets status.
unread() {
	printf '%s\n' 'set -Eeuo pipefail' 'shopt -s inherit_errexit' "source $PROJECT/bin/ramraid" \
		"did() { printf '%s\n' \"\$*\" >>\"\$OUT\"; }" "$1" >"$BATS_TEST_TMPDIR/program"
	: >"$OUT"
	status=0
	(
		trap - PIPE
		exec 3> >(:)
		wait $!
		exec bash "$BATS_TEST_TMPDIR/program" 2>&3
	) || status=$?
}

@test "a message that can't be written does not end a program that ignores SIGPIPE, as in a unit" {
	unread 'trap "" PIPE; need core/act; log_notice text; act true; did on'
	[[ $status == 0 && $(<"$OUT") == on ]] || fail "$status" "$(<"$OUT")"
	run bash -c 'set -Eeuo pipefail; source "$PROJECT/bin/ramraid"; need core/act
		log_info text 2>/dev/full; act true 2>/dev/full; echo on'
	[[ $status == 0 && $output == on ]] || fail "$status" "$output"
}

@test "nothing ends an uninterrupted section; after it, what was in force before is again" {
	unread 'need core/log core/uninterrupted
uninterrupted_begin
for signal in INT TERM HUP PIPE; do kill -s "$signal" "$BASHPID"; done
log_info text
did "within"
uninterrupted_end
log_info text
did "not reached"'
	[[ $status == 141 && $(<"$OUT") == within ]] || fail "$status" "$(<"$OUT")"
	unread 'need core/log core/uninterrupted
uninterrupted_begin; uninterrupted_end "did interrupted; exit 5"
kill -s TERM "$BASHPID"
did "not reached"'
	[[ $status == 5 && $(<"$OUT") == interrupted ]] || fail "$status" "$(<"$OUT")"
}

@test "start --force-leg records who is given up even if nobody reads its messages any more" {
	unread 'need cmd/start
declare -A OPT=([force_leg]=/dev/x)
NAME=data ARRAY_LOCK=""
before_look_configured() { F[array.state]=absent F[rescue.image]="" F[record.from]="" F[array.md]=md127; }
facts_observe() { :; }; systemd_settle() { :; }; conf_need() { :; }
start_lock_() { exec {ARRAY_LOCK}>/dev/null; }
start_find_forced() { F[forced]=0; }
action_choose() { ACTION=assemble ARGUMENTS=(sda); }
start_which() { echo x; }
start_is_still() { :; }; old_name_take() { :; }; start_ask_forced() { :; }
disk_legs_assemble() { act did assembled; }
disk_legs_is_of() { :; }
witness_update() { log_info "+ write data.witness"; did recorded; }
systemd_is_running() { return 1; }
start_here() { did "went on"; }
start_forced data'
	[[ $(<"$OUT") == $'assembled\nrecorded\nwent on' ]] || fail "$status" "$(<"$OUT")"
}

@test "an array that is being assembled gets its bits even if nobody reads the messages any more" {
	unread 'need act/disk-legs
disk_legs_assemble_() { log_info "+ mdadm --assemble"; did assembled; }
md_of_leg() { echo md127; }
bits_set() { log_info "+ bits"; did bits; }
disk_legs_uninterrupted_ disk_legs_assemble_keeping_ sda
log_info text
did "not reached"'
	[[ $status == 141 && $(<"$OUT") == $'assembled\nbits' ]] || fail "$status" "$(<"$OUT")"
}

@test "apply thaws the array even if nobody reads its messages any more" {
	unread 'need act/membership
F[array.md]=md127 F[leg.0.node]=sdc F[leg.0.kind]=blank
disk_legs_see() { SEEN=x; }; disk_legs_is_still() { :; }; membership_outside_() { :; }
membership_plan_may_build() { :; }; witness_update_free_slot() { :; }; ram_leg_bad_blocks() { :; }
for step in md_freeze md_add md_set_writemostly md_thaw; do
	eval "$step() { log_info +; did $step; }"
done
membership_build_ data 0
log_info text
did "not reached"'
	[[ $(<"$OUT") == $'md_freeze\nmd_add\nmd_set_writemostly\nmd_thaw' ]] ||
		fail "$status" "$(<"$OUT")"
}

@test "what takes back or ends a verb's work runs even if nobody reads its messages any more" {
	unread 'need cmd/create
NAME=data
act_undo_push did undone
trap '\''create_end $?'\'' EXIT
trap "exit 130" INT TERM HUP
log_info text
did "not reached"'
	[[ $(<"$OUT") == undone ]] || fail "$status" "$(<"$OUT")"
	unread 'need cmd/attach
NAME=data
loop_run() { log_info text; did "not reached"; }
attach_leave_() { log_info +; did left; }
attach_here yes'
	[[ $status == 130 && $(<"$OUT") == left ]] || fail "$status" "$(<"$OUT")"
	unread 'need cmd/restore
NAME=data ARGUMENTS=(sda) F[forced]=0 F[array.md]=md127
disk_legs_assemble() { :; }; disk_legs_is_of() { :; }; facts_observe() { :; }
rescue_put_back() { log_info text; did "not reached"; }
md_stop() { log_info +; did stopped; }
restore_write_'
	[[ $status == 130 && $(<"$OUT") == stopped ]] || fail "$status" "$(<"$OUT")"
}

@test "whoever ignores signals does so by core/uninterrupted, which knows all of them" {
	run grep -rnE "trap '' .*\\<(INT|TERM|HUP|PIPE)\\>" "$PROJECT/lib" --include=*.sh
	[[ ${#lines[@]} == 2 ]] && not grep -qv 'core/uninterrupted\.sh:' <<<"$output" ||
		fail "$output"
}
