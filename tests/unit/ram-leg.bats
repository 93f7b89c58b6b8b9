#!/usr/bin/env bats
# Which way the RAM leg is filled, and what becomes of a way that fails. The loop is the real one;
# md, ramdisks and the copy are not.

setup() {
	load helper
	world
	libraries
	declare -gA \
		CONF=([WAIT_TIMEOUT]=30min [MEMBER_TIMEOUT]=30s [COPY_RATE]=100M [RAM]=auto
			[RAM_RESERVE]=10% [VERIFY]=no)
	# What the world is, as a look at it finds.
	RAM=none COPY=none WHY_NOT='' DEGRADED=1
	before_look_configured() {
		facts_read <"$FIXTURES/decide/whole-2.facts" &&
			F[conf.rebuild]=auto F[copy.why_not]=$WHY_NOT
	}
	before_look_times() { :; }
	facts_observe() {
		F[ram.state]=$RAM F[copy.state]=$COPY F[copy.why]='the disk is gone' \
			F[array.sync]=idle F[array.degraded]=$DEGRADED F[ram.node]=rd0
		[[ $RAM != recovering ]] || { F[array.sync]=recover && RAM=in_sync; }
		[[ $COPY != running ]] || COPY='done'
	}
	sleep() { :; }
	witness_update_or_go_on() { :; }
	superblock_facts() { printf 'sb=ok\ndevice_uuid=%s\nevents=100\n' "${F[witness.legs]%% *}"; }
	contents_remember() { :; }
	loop_speed() { :; }
	ramdisk_make() {
		called make && RAM=attached && blank blank && mkdir -p "$R/sys/block/rd0"
	}
	ramdisk_drop() { called drop && RAM=none; }
	md_state_leg_bytes() { echo 100663296; }
	md_wipe() { called zero "$1"; }
	md_state_slots_free() { FREE=1; }
	mdadm() { [[ $3 == --add ]] && called add "${4##*/}" && RAM=recovering; }
	md_readd() { called readd "$2" && RAM=recovering; }
	copy_start() { called copy "${@:2}" && COPY=running && blank used; }
	copy_finish() { called finish; }
	copy_stop() { [[ $COPY == none ]] || called stop; COPY=none; }
	copy_state() { COPY_STATE=$COPY COPY_WHY='' COPY_SECONDS=3 DONE=2048 TOTAL=2048 RATE=1; }
	LOG=$BATS_TEST_TMPDIR/log
	set +T
}
blank() {
	mkdir -p "$R/run/ramraid" &&
		echo "${PROVIDER:-rapiddisk} rd0 100663296 - $1" >"$R/run/ramraid/data.ram"
}
# drives CALLS: a start ends well, and did just this.
drives() {
	loop_run data 2>"$LOG"
	[[ $(calls) == "$1" ]] || fail "$(calls)" "$(<"$LOG")"
}

@test "the RAM leg is filled by a copy from all disk legs, and then put back into the array" {
	drives $'make\ncopy md127 rd0 100663296  0 sda sdb\nfinish\nreadd rd0\nstop'
	[[ $LOOP_REBUILT == yes ]]
	grep -q '1.0MiB were copied from the disk legs in 3s' "$LOG"
	# And that is noted, for people.
	[[ $(<"$R/etc/ramraid/state/data.lately") =~ \
		\ md127\ 0\ copy\ [1-9][0-9]+\ 0\ [1-9][0-9]+\ [0-9]+\ [0-9]+\ 0\ 0$ ]]
}

@test "only disk legs in sync are copied from; with two empty slots the witness says which is the RAM leg's" {
	eval "look_$(declare -f facts_observe)"
	facts_observe() {
		look_facts_observe &&
			F[leg.1.state]='' F[leg.1.in]='' F[leg.1.node]='' F[witness.ram_slot]=0
	}
	DEGRADED=2
	drives $'make\ncopy md127 rd0 100663296 0 0 sda\nfinish\nreadd rd0\nstop'
}

@test "with REBUILD=kernel, and on a kernel that is not trusted, md rebuilds the RAM leg, and the reason is said" {
	eval "trusted_$(declare -f before_look_configured)"
	before_look_configured() { trusted_before_look_configured && F[conf.rebuild]=kernel; }
	drives $'make\nadd rd0'
	grep -q 'md rebuilds the RAM leg from one disk: REBUILD=kernel' "$LOG"
	rm -r "$BATS_TEST_TMPDIR/calls" "$R/etc/ramraid/state/data.lately"
	RAM=none
	before_look_configured() { trusted_before_look_configured; }
	WHY_NOT='too new'
	drives $'make\nadd rd0'
	grep -q 'md rebuilds the RAM leg from one disk: too new' "$LOG"
	[[ $(<"$R/etc/ramraid/state/data.lately") == *' kernel '* ]]
}

# raid1_add_disk() would give it the slot of that disk leg, and md then fails the disk.
@test "want_replacement of a disk leg is cleared before the RAM leg is added" {
	mkdir -p "$R/sys/block/md127/md/dev-sda"
	echo in_sync,write_mostly,want_replacement >"$R/sys/block/md127/md/dev-sda/state"
	WHY_NOT='too new'
	act_write() { called write "${1##*/md/}" "$2"; }
	drives $'make\nwrite dev-sda/state -want_replacement\nadd rd0'
}

@test "if the copy can't begin, md rebuilds the RAM leg, and the reason is said" {
	copy_start() { COPY_WHY='it has no internal bitmap' && return 1; }
	drives $'make\nadd rd0'
	grep -q 'md rebuilds the RAM leg from one disk: it has no internal bitmap' "$LOG"
}

@test "if the copy fails, what it has left is wiped, and md rebuilds the RAM leg" {
	copy_start() { called copy && COPY=failed && blank used; }
	drives $'make\ncopy\nstop\nzero rd0\nadd rd0'
	grep -q 'from one disk: the disk is gone' "$LOG"
}

@test "if the bitmap was cleared, or md refuses the copied leg, it is wiped, and md rebuilds it" {
	copy_finish() {
		called finish && COPY_WHY='the bitmap has been cleared meanwhile' && return 1
	}
	drives $'make\ncopy md127 rd0 100663296  0 sda sdb\nfinish\nstop\nzero rd0\nadd rd0'
	grep -q 'from one disk: the bitmap has been cleared meanwhile' "$LOG"
	rm "$BATS_TEST_TMPDIR/calls"
	RAM=none
	copy_finish() { called finish; }
	md_readd() { called readd && return 1; }
	drives $'make\ncopy md127 rd0 100663296  0 sda sdb\nfinish\nreadd\nstop\nzero rd0\nadd rd0'
	grep -q 'from one disk: md did not take the copied RAM leg back' "$LOG"
}

@test "another member that takes the RAM leg's slot ends the copy, and md rebuilds the RAM leg" {
	md_state_slots_free() { FREE=0; }
	copy_start() { called copy && COPY=running && blank used; }
	drives $'make\ncopy\nstop\nzero rd0\nadd rd0'
	grep -q 'from one disk: another member has taken the slot of the RAM leg' "$LOG"
}

@test "a ramdisk that somebody adds to the array while it is copied to is taken out, and made again" {
	local joins
	md_drop() { called take "$2" && RAM=attached; }
	for joins in recovering in_sync faulty; do
		copy_start() {
			called copy && COPY=running RAM=$joins && blank used
			copy_start() { called copy && COPY='done'; }
		}
		drives $'make\ncopy\nstop\ntake rd0\nzero rd0\ndrop\nmake\ncopy\nfinish\nreadd rd0\nstop'
		grep -q 'rd0 has become a member of md127 while data was being copied to it' "$LOG"
		rm "$BATS_TEST_TMPDIR/calls"
		RAM=none
	done
}

@test "a ramdisk added while it is copied to that can't be taken out is reported, and the start goes on" {
	md_drop() { called take "$2" && return 4; }
	copy_start() { called copy && COPY='done' RAM=recovering && blank used; }
	drives $'make\ncopy\nstop\ntake rd0'
	grep -q 'rd0 may hold old blocks, and could not be taken out' "$LOG"
}

@test "a ramdisk that vanishes while it is copied to ends the copy, and another one is made" {
	copy_start() {
		called copy && COPY=running RAM=none && blank used
		copy_start() { called copy && COPY='done'; }
	}
	drives $'make\ncopy\nstop\nmake\ncopy\nfinish\nreadd rd0\nstop'
}

@test "what a refused copy has left is not added if it can't be wiped, because mdadm would put it back" {
	md_readd() { called readd && return 1; }
	md_wipe() { called zero "$1" && return 1; }
	drives $'make\ncopy md127 rd0 100663296  0 sda sdb\nfinish\nreadd\nstop\nzero rd0'
	grep -q 'the remains of a failed copy on rd0 could not be wiped' "$LOG"
}

@test "a ramdisk that an interrupted copy has left is made again, but one of brd is copied to as it is" {
	RAM=attached
	mkdir -p "$R/sys/block/rd0"
	blank used
	drives $'drop\nmake\ncopy md127 rd0 100663296  0 sda sdb\nfinish\nreadd rd0\nstop'
	rm "$BATS_TEST_TMPDIR/calls"
	RAM=attached PROVIDER=brd
	blank used
	drives $'copy md127 rd0 100663296  0 sda sdb\nfinish\nreadd rd0\nstop'
}

@test "the rate of the copy is limited only once others use the array" {
	LOOP_GATE=hold
	[[ $(ram_leg_copy_rate_) == 0 ]]
	LOOP_GATE=open
	[[ $(ram_leg_copy_rate_) == $((100 << 20)) ]]
}

@test "a copy goes on after the machine was suspended" {
	eval "look_$(declare -f facts_observe)"
	local looks=0
	copy_start() { called copy && COPY=slow && blank used; }
	facts_observe() {
		[[ $COPY != slow ]] || case $((looks += 1)) in
		2) SECONDS=$((SECONDS + 36000)) ;;
		5) COPY='done' ;;
		esac
		look_facts_observe
		[[ $COPY != slow ]] || F[copy.state]=running F[array.sync]=copy F[array.done]=7
	}
	drives $'make\ncopy\nfinish\nreadd rd0\nstop'
}

@test "a copy that makes no progress is given up; with write-behind or a flawed kernel there is none" {
	facts_observe_was=$(declare -f facts_observe)
	copy_start() { called copy && COPY=stuck && blank used; }
	eval "look_$facts_observe_was"
	facts_observe() {
		look_facts_observe && {
			[[ $COPY != stuck ]] || {
				F[copy.state]=running F[array.sync]=copy F[array.done]=7 &&
					SECONDS=$((SECONDS + 100))
			}
		}
	}
	drives $'make\ncopy\nstop\nzero rd0\nadd rd0'
	grep -q 'the copy has made no progress for 300 s' "$LOG"
	local change
	for change in array.backlog=9 array.behind=1 kernel.flaw=bad; do
		rm "$BATS_TEST_TMPDIR/calls"
		RAM=none COPY=none
		facts_observe() {
			look_facts_observe && F[${change%=*}]=${change#*=} F[conf.write_behind]=9
			[[ $change == array.backlog* ]] || F[conf.write_behind]=0
		}
		drives $'make\nadd rd0'
	done
}

@test "an interrupted attach ends the copy, drops a ramdisk that md does not have, and says how to go on" {
	declare -g NAME=data
	F[name]=data
	ends_so() { # CALLS
		run attach_interrupted
		assert_failure 130
		[[ $(calls) == "$1" ]] || fail "$(calls)"
		rm -f "$BATS_TEST_TMPDIR/calls"
	}
	RAM=attached COPY=running
	ends_so $'stop\ndrop'
	assert_output -p 'To go on: ramraid attach data'
	# md's own recovery goes on.
	RAM=recovering COPY=none
	ends_so ''
	# A worker that does not end still writes to it.
	copy_stop() { COPY_WHY='it does not end' && return 1; }
	RAM=attached COPY=running
	ends_so ''
	assert_output -p 'it does not end; the ramdisk stays'
}

@test "an interrupted attach leaves the RAM leg out if a person had taken it out" {
	local verb note=$R/run/ramraid/data.detached
	mkdir -p "$R/run/ramraid"
	for verb in conf_need cli_root paths_run array_lock attach_check_ ramdisk_forgive; do
		eval "$verb() { :; }"
	done
	# SIGTERM, because what a shell without job control runs in the background ignores SIGINT.
	loop_run() { kill -TERM "$BASHPID" && command sleep 5; }
	attaches() { # RAM-STATE
		F[name]=data RAM=$1 COPY=none
		run cmd_attach data
		assert_failure 130
	}
	: >"$note"
	attaches attached
	[[ -e $note ]] || fail 'hot-plug would make it'
	attaches none
	[[ -e $note ]] || fail 'hot-plug would make it'
	# md goes on with it.
	attaches recovering
	[[ ! -e $note ]] || fail 'it is there'
	# Nobody had taken it out.
	attaches attached
	[[ ! -e $note ]] || fail 'nobody had taken it out'
}

@test "if md took no new member, each disk leg in the array that has bad blocks is named" {
	local text
	facts_read <"$FIXTURES/decide/whole-2.facts"
	md_has_bad_blocks() { called look "$2" && [[ $2 == sdb ]]; }
	set -u # as the program has it
	text=$(ram_leg_bad_blocks)
	[[ $text == '; disk leg /dev/disk/by-id/ata-B has bad blocks, '* ]]
	[[ $(calls) == $'look sda\nlook sdb' ]] || fail "$(calls)"
	F[leg.1.state]=''
	[[ -z $(ram_leg_bad_blocks) ]]
}

# lacking DEVICE: md can't write some blocks of the RAM leg, whichever it is.
lacking() {
	eval "look_$(declare -f facts_observe)"
	RAM=in_sync WHY_NOT='too new' DEVICE=$1
	facts_observe() {
		look_facts_observe
		F[ram.lacks]='' F[leg.ram.dev]=$DEVICE F[leg.ram.sb]=none F[leg.ram.node]=${DEVICE:+rd0}
		[[ ${F[ram.state]} != in_sync ]] || F[ram.lacks]=yes
	}
	md_drop() { called out "$2" && RAM=none; }
	same_leg_name() { :; } # tests/unit/exchanged.bats
	transitions_tell() { :; }
	hotplug_is_due() { :; }
}

@test "a RAM leg that lacks blocks again and again is rebuilt twice, and then stays out" {
	lacking ''
	drives $'out rd0\ndrop\nmake\nadd rd0\nout rd0\ndrop\nmake\nadd rd0\nout rd0\ndrop'
	[[ $LOOP_GATE == open && ${F[ram.state]} == none ]]
	grep -q 'has failed 3 times within an hour' "$LOG"
}

@test "a device that lacks blocks stays until a person asks, is then rebuilt once without its superblock, and stays out" {
	lacking /dev/disk/by-id/ram
	drives ''
	[[ ${F[ram.state]} == in_sync ]] && grep -q 'could not write some blocks of the RAM leg' "$LOG"
	loop_run data yes 2>"$LOG"
	[[ $(calls) == $'out rd0\nzero rd0\ndrop\nmake\nadd rd0\nout rd0\nzero rd0\ndrop' ]] ||
		fail "$(calls)" "$(<"$LOG")"
	grep -q 'could not write some blocks of /dev/disk/by-id/ram again' "$LOG"
}

@test "a RAM leg that lacks blocks is not taken out where none can be made, and a new lack is something new to hot-plug" {
	local HOTPLUG_PRINT before key
	facts_read <"$FIXTURES/decide/whole-2.facts"
	hotplug_print
	before=$HOTPLUG_PRINT
	F[ram.lacks]=yes
	hotplug_print
	[[ $HOTPLUG_PRINT != "$before" ]]
	action_choose
	[[ $ACTION == drop-ram ]] || fail "$ACTION $WHY"
	for key in kernel.flaw veto.make-ram failed.drop-ram; do
		F[$key]=so
		action_choose
		[[ $ACTION == 'done' && -z $OUTCOME ]] || fail "$key: $ACTION $WHY"
		F[$key]=''
		[[ $key == kernel.flaw ]] || unset -v "F[$key]"
	done
	# What status and check say.
	facts_served() { :; }
	F[root]=yes
	summary_word
	advice "$STATUS_WORD"
	[[ $STATUS_WORD == degraded && $ADVICE_ACTION == 'ramraid check data' &&
		$ADVICE_IMPACT == *'some blocks of the RAM leg'* ]] || fail "$ADVICE_IMPACT"
	findings_problem() { called "$1" "$4"; }
	CONF[HOTPLUG]=yes CHECK_ARRAY=data
	check_legs_ram_lacks
	F[ram.lacks]=stays
	check_legs_ram_lacks
	[[ $(calls) == 'ram-bad-blocks ramraid rebuilds it'*$'\n''ram-bad-blocks replace the disk with bad blocks first'* ]] ||
		fail "$(calls)"
}
