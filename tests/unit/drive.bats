#!/usr/bin/env bats
# The loop: what it does with the decisions. Observation and actions are replaced; F is what a test says.

setup() {
	load helper
	world
	libs paths log units disk conf superblock witness rescue md ram systemd facts decide safestart contents drive guard
	declare -gA CONF=([WAIT_TIMEOUT]=30min [MEMBER_TIMEOUT]=30s)
	replace
	set +T
}

# After the libraries, whose functions these replace. A test says with "observe" what the world has become.
replace() {
	facts_configured() { facts_read <"$FIXTURES/decide/$BASE.facts"; }
	facts_times() { :; }
	facts_observe() { observe; }
	observe() { :; }
	sleep() { :; }
	eval "real_$(declare -f drive_witness_)"
	drive_witness_() { called witness; }
	drive_speed_() { :; }
	drive_end_() { called end "$WHY"; }
	systemd_ready() { called ready; }
	systemd_status() { :; }
}

action() { # NAME CODE: replaces an action
	eval "drive_$1() { called $1 \"\$@\"; return $2; }"
}
actions() {
	local name
	for name in assemble stop_inactive make_writable set_backlog write_mostly remove_leg readd drop_ram make_ram add_ram; do action "$name" "$1"; done
}

drives() { # CODE
	local code=0
	drive data 2>"$BATS_TEST_TMPDIR/log" || code=$?
	((code == $1)) || fail "expected $1, got $code: $(<"$BATS_TEST_TMPDIR/log")"
}

@test "a whole array: nothing to do" {
	BASE=whole-2
	drives 0
	[[ $(calls) == $'witness\nend whole' ]] || fail "$(calls)"
}

@test "from stopped to whole" {
	BASE=stopped-2
	actions 0
	observe() {
		case $(calls | tail -n 1) in
		assemble*) facts_read <"$FIXTURES/decide/whole-2.facts" && F[ram.state]=none ;;
		make_ram*) F[ram.state]=attached ;;
		add_ram*) F[ram.state]=recovering F[array.sync]=recover && called waits ;;
		waits*) F[ram.state]=in_sync F[array.sync]=idle ;;
		esac
	}
	drives 0
	[[ $(calls) == $'assemble sda sdb\nmake_ram\nadd_ram\nwaits\nwitness\nend whole' ]] || fail "$(calls)"
}

# Whatever fails: said, not tried again, and the start ends.
@test "an action that fails is tried once, and the loop ends" {
	local change action
	actions 1
	for change in 'array.readauto=yes make_writable' 'array.backlog=9 set_backlog 0' 'leg.0.writemostly=no write_mostly 0' 'ram.state=faulty drop_ram' 'ram.state=none make_ram' 'ram.state=attached add_ram'; do
		rm -f "$BATS_TEST_TMPDIR/calls"
		BASE=whole-2 action=${change#* } change=${change%% *}
		observe() { F[${change%%=*}]=${change#*=}; }
		drives 0
		[[ $(calls | grep -c "^$action\$") == 1 && $(calls) == *end* ]] || fail "$action: $(calls)"
		grep -q 'failed with exit code 1' "$BATS_TEST_TMPDIR/log"
	done
}

@test "a start that fails is refused with 4" {
	actions 1
	BASE=stopped-2
	drives 4
	[[ $(calls) == 'assemble sda sdb' ]] || fail "$(calls)"
}

@test "half assembled, and it can't be stopped: refused with 4" {
	actions 1
	BASE=whole-2
	observe() { F[array.state]=inactive; }
	drives 4
	[[ $(calls) == stop_inactive ]] || fail "$(calls)"
}

@test "a returned leg that md does not take is left alone, and the RAM leg is made" {
	BASE=whole-2
	actions 1
	observe() {
		F[ram.state]=none F[leg.1.in]='' F[leg.1.state]='' F[leg.1.sb]=ok F[leg.1.uuid]=${F[uuid]} F[leg.1.role]=2 F[leg.1.view]=AAA
	}
	drives 0
	[[ $(calls) == $'readd 1\nmake_ram\n'*end* ]] || fail "$(calls)"
}

@test "a loop that does not converge ends with an error" {
	BASE=whole-2
	actions 0
	observe() { F[ram.state]=none; }
	run drive data
	assert_failure 1
	assert_output -p 'gave up after 61 steps'
}

@test "WAIT=no: dependents start at once, the rebuild goes on" {
	BASE=whole-2
	local looks=0
	observe() {
		F[conf.wait]=no F[array.sync]=recover F[ram.state]=recovering looks=$((looks + 1))
		((looks < 4)) || F[ram.state]=in_sync F[array.sync]=idle
	}
	drives 0
	[[ $(calls) == $'witness\nready\nwitness\nend whole' ]] || fail "$(calls)"
}

@test "time is up: open or shut as ON_TIMEOUT says" {
	BASE=whole-2
	local looks=0 closed=degraded
	observe() {
		F[conf.wait_timeout]=5 F[conf.on_timeout]=$closed F[waited]=5 F[array.sync]=recover F[ram.state]=recovering looks=$((looks + 1))
		((looks < 4)) || F[ram.state]=in_sync F[array.sync]=idle
	}
	drives 0
	[[ $(calls) == $'witness\nready\nwitness\nend whole' ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	closed=fail looks=0
	drives 1
	[[ -z $(calls) ]] || fail "$(calls)"
}

@test "a rebuild that md does not begin is given up, whichever leg it is" {
	local leg
	BASE=whole-2
	observe() {
		F[$leg]=recovering looks=$((looks + 1)) SECONDS=$((SECONDS + 5))
		((looks < 100)) || { called 'never ends' && F[$leg]=in_sync; }
	}
	for leg in ram.state leg.1.state; do
		local looks=0
		drives 0
		[[ $(calls) != *never* ]] || fail "$leg: waits for ever"
		rm "$BATS_TEST_TMPDIR/calls"
	done
}

@test "release: the RAM leg stays while it is the only good copy and nothing is being rebuilt" {
	BASE=whole-2
	facts_configured data
	observe() { F[leg.0.state]='' F[leg.0.in]='' F[leg.0.node]='' F[leg.1.state]='' F[leg.1.in]='' F[leg.1.node]=''; }
	md_drop() { called drop "$@"; }
	ram_drop() { called ram_drop "$@"; }
	local code=0
	guard_release data 2>"$BATS_TEST_TMPDIR/log" || code=$?
	((code == 4)) && [[ -z $(calls) ]] && grep -q 'only good copy' "$BATS_TEST_TMPDIR/log"
}

@test "release: waits until a disk leg is rebuilt from the RAM leg, then lets it go" {
	BASE=whole-2
	facts_configured data
	local looks=0
	observe() {
		F[leg.0.state]='' F[leg.0.in]='' F[leg.0.node]='' F[leg.1.state]=recovering F[array.sync]=recover looks=$((looks + 1))
		((looks < 3)) || F[leg.1.state]=in_sync F[array.sync]=idle
	}
	md_drop() { called drop "$@"; }
	ram_drop() { called ram_drop "$@"; }
	guard_release data 2>/dev/null
	((looks == 3)) && [[ $(calls) == $'witness\ndrop md127 rd0\nram_drop data' ]] || fail "$(calls)"
}

@test "release: an array without a RAM leg" {
	BASE=whole-2
	facts_configured data
	observe() { F[ram.state]=none F[ram.node]=''; }
	ram_drop() { called ram_drop "$@"; }
	guard_release data
	[[ $(calls) == 'ram_drop data' ]]
}

# only_ram: the world in which the RAM leg is the only good copy; leg 0 is away, leg 1 has been given up by md.
only_ram() {
	BASE=whole-2
	facts_configured data
	F[leg.0.state]='' F[leg.0.in]='' F[leg.0.node]='' F[leg.1.state]=faulty
	md_drop() { called drop "$@"; }
	ram_drop() { called ram_drop "$@"; }
	log_alert() { called alert; }
	declare -gA CONF=([RESCUE]=/rescue)
}

@test "release: a disk leg that md has given up is tried again, and the RAM leg goes when it is in sync" {
	only_ram
	actions 0
	observe() {
		case $(calls | tail -n 1) in
		remove_leg*) F[leg.1.state]='' F[leg.1.in]='' F[leg.1.sb]=ok F[leg.1.uuid]=${F[uuid]} F[leg.1.role]=2 F[leg.1.view]=AAA ;;
		readd*) F[leg.1.state]=recovering F[leg.1.in]=md127 F[array.sync]=recover && called waits ;;
		waits) F[leg.1.state]=in_sync F[array.sync]=idle ;;
		esac
	}
	guard_release data 2>/dev/null
	[[ $(calls) == $'alert\nremove_leg 1\nreadd 1\nwaits\nwitness\ndrop md127 rd0\nram_drop data' ]] || fail "$(calls)"
}

@test "release: a returned disk that ran without the RAM leg is not put back over it" {
	only_ram
	actions 0
	F[witness.legs]='' F[witness.events]=50
	observe() { F[leg.1.state]='' F[leg.1.in]='' F[leg.1.sb]=ok F[leg.1.uuid]=${F[uuid]} F[leg.1.role]=2 F[leg.1.view]=..A; }
	local code=0
	guard_release data 2>/dev/null || code=$?
	((code == 4)) && [[ $(calls) == alert ]] || fail "$(calls)"
}

@test "release, the machine going down: MEMBER_TIMEOUT for the disks, then the rescue image, and no leg is ever failed" {
	only_ram
	actions 1
	facts_times() { F[conf.member_timeout]=0; }
	rescue_why_not() { :; }
	drive_ram_events_() { echo 77; }
	rescue_write() { called rescue "$@"; }
	guard_release data going-down 2>/dev/null
	[[ $(calls) == $'alert\nremove_leg 1\nalert\nrescue data '"${F[uuid]}"$' md127 77 /rescue\nalert' && $GUARD_RESCUED == yes ]] || fail "$(calls)"
}

@test "release, the machine going down: a disk that md gives up again and again is not waited for for ever" {
	only_ram
	actions 0
	observe() {
		case $(calls | tail -n 1) in
		remove_leg*) F[leg.1.state]='' F[leg.1.in]='' F[leg.1.sb]=ok F[leg.1.uuid]=${F[uuid]} F[leg.1.role]=2 F[leg.1.view]=AAA ;;
		readd*) F[leg.1.state]=faulty F[leg.1.in]=md127 ;;
		esac
	}
	facts_times() { F[conf.member_timeout]=0; }
	rescue_why_not() { :; }
	drive_ram_events_() { echo 77; }
	rescue_write() { called rescue; }
	guard_release data going-down 2>/dev/null
	[[ $(calls | grep -c readd) == 2 && $(calls | grep -c rescue) == 1 && $GUARD_RESCUED == yes ]] || fail "$(calls)"
}

@test "release, the machine going down: an image that does not fit is tried once, and the guard waits on for a disk" {
	only_ram
	actions 1
	local looks=0
	observe() { looks=$((looks + 1)) && ((looks < 6)) || F[leg.1.state]=in_sync; }
	facts_times() { F[conf.member_timeout]=0; }
	rescue_why_not() { :; }
	drive_ram_events_() { echo 77; }
	rescue_write() { called rescue && return 1; }
	guard_release data going-down 2>/dev/null
	[[ $(calls | grep -c rescue) == 1 && $(calls | tail -n 3) == $'witness\ndrop md127 rd0\nram_drop data' && -z $GUARD_RESCUED ]] || fail "$(calls)"
}

@test "release: write-behind is switched off, and what is under way is waited for" {
	BASE=whole-2
	facts_configured data
	F[array.backlog]=128
	md_set_backlog() { called backlog "$2"; }
	md_is_quiet() { called quiet && (($(calls | grep -c quiet) == 3)); }
	md_drop() { called drop "$@"; }
	ram_drop() { called ram_drop "$@"; }
	guard_release data
	[[ $(calls) == $'backlog 0\nquiet\nquiet\nquiet\nwitness\ndrop md127 rd0\nram_drop data' ]] || fail "$(calls)"
}

@test "first look: what something else has started is known only if a leg of it was in sync when it last ran" {
	BASE=whole-2
	sb_facts() { printf 'sb=ok\ndevice_uuid=aaaaaaaa-0000-0000-0000-00000000000%s\n' "$([[ $1 == */sda ]] && echo 1 || echo 2)"; }
	known() { # YES-OR-NO LEGS EVENTS [FACT]
		facts_configured data
		F[leg.0.node]=sda F[leg.1.node]=sdb F[witness.legs]=$2 F[witness.events]=$3
		[[ -z ${4-} ]] || F[${4%%=*}]=${4#*=}
		drive_first_look_
		[[ ${F[array.known]} == "$1" ]] || fail "$*"
	}
	known yes '' ''
	known yes aaaaaaaa-0000-0000-0000-000000000001 90
	known yes aaaaaaaa-0000-0000-0000-000000000002 90
	known no aaaaaaaa-0000-0000-0000-000000000003 90
	known no aaaaaaaa-0000-0000-0000-000000000002 90 leg.1.state=recovering
	known yes '' 90
	known no '' 90 ram.state=none
}

@test "the witness is not overwritten with what something else has started from old legs" {
	BASE=whole-2
	sb_facts() { printf 'sb=ok\nevents=50\ndevice_uuid=aaaaaaaa-0000-0000-0000-00000000000%s\n' "$([[ $1 == */sda ]] && echo 1 || echo 2)"; }
	witness_write() { called write "${@:3}"; }
	mkdir -p "$R/sys/block/md127" "$R/run/ramraid"
	echo 7 >"$R/sys/block/md127/diskseq"
	facts_configured data
	F[witness.legs]=aaaaaaaa-0000-0000-0000-000000000003 F[witness.events]=90
	real_drive_witness_ 2>"$BATS_TEST_TMPDIR/log"
	[[ -z $(calls) ]] && grep -q 'something else has started md127' "$BATS_TEST_TMPDIR/log"
	# The same legs, in an array that a start of ours has judged: it is a change of members.
	F[array.known]=''
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	real_drive_witness_
	[[ $(calls) == 'write 50 0 aaaaaaaa-0000-0000-0000-000000000001 aaaaaaaa-0000-0000-0000-000000000002' ]] || fail "$(calls)"
	# Another array of that name, later in this boot.
	F[array.known]='' && rm "$BATS_TEST_TMPDIR/calls"
	echo 8 >"$R/sys/block/md127/diskseq"
	real_drive_witness_ 2>/dev/null
	[[ -z $(calls) ]]
}
