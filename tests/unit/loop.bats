#!/usr/bin/env bats
# The loop: what it does with the decisions. Observation and actions are replaced; F is what a test
# says.

setup() {
	load helper
	world
	libraries
	declare -gA CONF=([WAIT_TIMEOUT]=30min [MEMBER_TIMEOUT]=30s)
	replace
	BASE=whole-2 LOOKS=0
	set +T
}

# After the libraries, whose functions these replace. BASE is the world that it begins with; a test
# says with "observe" what that has become, at the look number LOOKS.
replace() {
	before_look_configured() { facts_read <"$FIXTURES/decide/$BASE.facts"; }
	before_look_times() { :; }
	facts_observe() { LOOKS=$((LOOKS + 1)) && observe; }
	observe() { :; }
	sleep() { :; }
	md_format_why() { :; }
	witness_update_or_go_on() { called witness; }
	# Whatever is in sync was so when the array last ran.
	superblock_facts() { printf 'sb=ok\ndevice_uuid=%s\nevents=100\n' "${F[witness.legs]%% *}"; }
	eval "real_$(declare -f loop_speed)"
	loop_speed() { :; }
	eval "real_$(declare -f loop_end_)"
	loop_end_() { called end "$WHY"; }
	systemd_ready() { called ready; }
	systemd_status() { :; }
	md_drop() { called drop "$@"; }
	ramdisk_drop() { called ramdisk_drop "$@"; }
}

action() { # NAME CODE: replaces an action
	local name=disk_legs_$1
	[[ $1 != *_ram ]] || name=ram_leg_${1%_ram}
	eval "$name() { called $1 \"\$@\"; return $2; }"
}
actions() {
	local name
	for name in assemble stop_inactive make_writable set_backlog write_mostly remove_leg readd \
		drop_ram make_ram add_ram; do
		action "$name" "$1"
	done
}

# What a leg is at a look. away I. back I [VIEW]: as it was, calling active what VIEW says.
away() { F[leg.$1.state]='' F[leg.$1.in]='' F[leg.$1.node]=''; }
back() {
	F[leg.$1.state]='' F[leg.$1.in]='' F[leg.$1.sb]=ok F[leg.$1.uuid]=${F[uuid]} \
		F[leg.$1.role]=$(($1 + 1)) F[leg.$1.view]=${2:-AAA}
	facts_unnumbered
	facts_numbered
}

# ends CODE COMMAND…: it does, with its messages in the log. 0 with a bare call, because any "||"
# after it would switch off errexit within.
ends() {
	local want=$1 code=0
	shift
	if ((want == 0)); then
		"$@" 2>"$BATS_TEST_TMPDIR/log"
	else
		"$@" 2>"$BATS_TEST_TMPDIR/log" || code=$?
		((code == want)) || fail "expected $want, got $code: $(<"$BATS_TEST_TMPDIR/log")"
	fi
}
drives() { ends "$1" loop_run data; }                    # CODE
releases() { ends "$1" detach_ram data "${@:2}"; } # CODE [going-down]
did() { [[ $(calls) == "$1" ]] || fail "$(calls)"; }  # CALLS

@test "a whole array: nothing is done" {
	drives 0
	did $'witness\nend whole'
}

@test "a disk that comes into sync before the gate opens is recorded before anything else is done" {
	actions 0
	witness_update_or_go_on() {
		local NODES
		members_in_sync
		called witness "${NODES[*]}"
		witness_update_members_now_
		WITNESS_UPDATE_WRITTEN=$WITNESS_UPDATE_NOW
	}
	disk_legs_make_writable() { called make_writable && witness_update_or_go_on; }
	observe() {
		case $(calls | grep -v witness | tail -n 1) in
		'') F[ram.state]=none F[array.readauto]=yes && back 1 ;;
		make_writable*) F[array.readauto]=no ;;
		readd*)
			F[leg.1.state]=recovering F[leg.1.in]=md127 F[array.sync]=recover &&
				called waits
			;;
		waits*) F[leg.1.state]=in_sync F[array.sync]=idle ;;
		make_ram*) F[ram.state]=attached ;;
		add_ram*) F[ram.state]=in_sync ;;
		esac
	}
	drives 0
	did $'make_writable\nwitness sda\nreadd 1\nwaits\nwitness sda sdb\nmake_ram\nadd_ram\nend whole'
}

@test "a leg that has left is noted before it is judged" {
	actions 0
	witness_update_or_go_on() { called witness && F[leg.1.noted]=yes F[leg.1.elsewhere]=yes; }
	observe() { [[ ${F[leg.1.noted]-} == yes ]] || { back 1 && F[leg.1.joined]=yes; }; }
	drives 0
	did $'witness\nwitness\nend the RAM leg is in sync, but not the disk leg /dev/disk/by-id/ata-B'
}

@test "a start takes an array from stopped to whole, step by step" {
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
	did $'assemble sda sdb\nmake_ram\nadd_ram\nwaits\nwitness\nend whole'
}

# Whatever fails: said, not tried again, and the start ends.
@test "an action that fails is tried once, and the loop ends" {
	local change action
	actions 1
	for change in 'array.readauto=yes make_writable' 'array.backlog=9 set_backlog 0' \
		'leg.0.writemostly=no write_mostly 0' 'ram.state=faulty drop_ram' \
		'ram.state=none make_ram' 'ram.state=attached add_ram'; do
		rm -f "$BATS_TEST_TMPDIR/calls"
		action=${change#* } change=${change%% *}
		observe() { F[${change%%=*}]=${change#*=}; }
		drives 0
		[[ $(calls | grep -c "^$action\$") == 1 && $(calls) == *end* ]] ||
			fail "$action: $(calls)"
		grep -q 'failed with exit code 1' "$BATS_TEST_TMPDIR/log"
	done
}

@test "sync work that a killed run has left frozen is released after a while, with the bits of a resize set first" {
	actions 0
	sleep() { SECONDS=$((SECONDS + 5)); }
	md_thaw() { called thaw "$@"; }
	md_bits_set() { called bits "$@"; }
	# That run was a resize, and had not set the bits of the new part.
	mkdir -p "$R/sys/block/md127/md/bitmap"
	echo 200000 >"$R/sys/block/md127/md/resync_start"
	echo 203776 >"$R/sys/block/md127/md/component_size"
	echo 1048576 >"$R/sys/block/md127/md/bitmap/chunksize"
	BASE=whole-2
	observe() {
		case $(calls | tail -n 1) in
		thaw*) F[ram.state]=in_sync F[array.sync]=idle ;;
		*) F[ram.state]=recovering F[array.sync]=frozen ;;
		esac
	}
	drives 0
	[[ $(calls) == $'bits md127 97-198\nthaw md127\n'*end\ whole ]] || fail "$(calls)"
	((SECONDS > LOOP_STALL))
}

@test "a start that can't assemble the array is refused with 4" {
	actions 1
	BASE=stopped-2
	drives 4
	did 'assemble sda sdb'
}

# assembles NODE…: with the bitmaps that these legs would have; NONE has none that can be read.
assembles() {
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	mkdir -p "$R/sys/class/block/sda/holders/md127"
	superblock_dirty_bits() {
		[[ ${1##*/} != "${NONE-}" ]] && case $1 in */sda) printf '3 17-20\n90\n' ;; esac
	}
	md_assemble() { called assemble "${@:2}"; }
	md_modules() { :; }
	md_wait_link() { :; }
	md_bits_set() { called bits "$@"; }
	disk_legs_are_same_() { :; } # tests/unit/exchanged.bats
	GIVING_UP='' F[leg.0.dirty]=yes
	eval "${changed:-:}"
	ends 0 disk_legs_assemble "$@"
}

@test "with a disk missing, md is told the bits of the bitmap, which it forgets when it starts one leg alone" {
	assembles sda
	did $'assemble sda\nbits md127 3 17-20\nbits md127 90'
}

@test "with a disk still being rebuilt, md is told the bits of the bitmap as well" {
	changed='F[leg.1.recovery]=4096' assembles sda sdb
	did $'assemble sda sdb\nbits md127 3 17-20\nbits md127 90'
}

@test "with one disk leg, md is told the bits only if a device that is the RAM leg is to come back" {
	changed='F[members]=1 F[leg.ram.dev]=/dev/disk/by-id/nvme-X' assembles sda
	changed='F[members]=1' assembles sda
	did $'assemble sda\nbits md127 3 17-20\nbits md127 90\nassemble sda'
}

@test "a start that is interrupted, or whose mdadm is killed, still tells md the bits" {
	local code=0
	changed='md_assemble() { called assemble "${@:2}"; kill -TERM "$BASHPID"; }'
	(
		trap 'called ended; exit 3' TERM
		assembles sda
	) || code=$?
	did $'assemble sda\nbits md127 3 17-20\nbits md127 90\nended'
	((code == 3))
	rm "$BATS_TEST_TMPDIR/calls"
	changed='md_assemble() { called assemble "${@:2}"; return 143; }'
	not assembles sda
	did $'assemble sda\nbits md127 3 17-20\nbits md127 90'
}

@test "md starts arrays read-only until it has the bits, and start_ro is afterwards as it was before" {
	local first start_ro=$R/sys/module/md_mod/parameters/start_ro
	mkdir -p "${start_ro%/*}"
	changed='md_assemble() { called assemble "$(<"$MD_HOLD_START_RO")"; }'
	for was in 0 1; do
		echo "$was" >"$start_ro"
		assembles sda sdb
		[[ $(<"$start_ro") == "$was" ]]
	done
	did $'assemble 1\nassemble 1'
	# Two at the same time: the last one to end takes it back.
	echo 0 >"$start_ro"
	md_hold_begin
	first=$MD_HOLD
	md_hold_begin
	md_hold_end
	[[ $(<"$start_ro") == 1 ]]
	MD_HOLD=$first
	md_hold_end
	[[ $(<"$start_ro") == 0 && ! -e $R/run/ramraid/start_ro && -z $MD_HOLD ]]
	changed='md_assemble() { called assemble "$(<"$MD_HOLD_START_RO")"; return 1; }'
	echo 0 >"$start_ro"
	eval "$changed"
	not disk_legs_assemble sda sdb 2>/dev/null
	[[ $(<"$start_ro") == 0 ]]
}

@test "with all disks present md is told no bits: it keeps the bitmap by itself" {
	assembles sda sdb
	did 'assemble sda sdb'
}

@test "after a clean stop md is told no bits: it keeps the bitmap by itself" {
	changed='F[leg.0.dirty]=no' assembles sda
	did 'assemble sda'
}

@test "a bitmap that can't be read: the absent disk is taken to differ everywhere" {
	mkdir -p "$R/sys/block/md127/md/bitmap"
	echo 102400 >"$R/sys/block/md127/md/component_size"
	echo 1048576 >"$R/sys/block/md127/md/bitmap/chunksize"
	NONE=sda assembles sda
	did $'assemble sda\nbits md127 0-99'
	grep -q "the write-intent bitmap of sda can't be read" "$BATS_TEST_TMPDIR/log"
}

# 15,000 of them are some 90 KB. No file may be written, as in the sandbox of the unit, where /tmp
# is read-only.
@test "any number of bits is kept without writing a file" {
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[leg.0.dirty]=yes
	superblock_dirty_bits() { seq 0 2 30000 | paste -sd ' ' | fold -s -w 3900; }
	bits() {
		local BITS=()
		trap '' XFSZ
		ulimit -f 0
		bits_keep sda
		printf '%s\n' "${BITS[@]}"
	}
	[[ $(bits | wc -w) == 15001 ]]
}

@test "a bitmap that is too large to be read: absent legs are taken to differ everywhere" {
	local BITS=()
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[leg.0.dirty]=yes F[leg.1.recovery]=4096
	superblock_dirty_bits() {
		case $1 in */sda) echo 3 ;; *) echo all ;; esac
	}
	bits_keep sda sdb 2>"$R/said"
	[[ ${BITS[*]} == all && $(<"$R/said") == *'the write-intent bitmap of sdb is too large'* ]]
}

# A rescue system that starts one of two disks after a power cut drops what both bitmaps had.
@test "after an unclean stop md is told the bits of a returned leg's own bitmap before it takes the leg back" {
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[leg.1.node]=sdb F[leg.1.dirty]=yes F[leg.ram.dirty]=yes
	superblock_dirty_bits() {
		[[ ${1##*/} != "${NONE-}" ]] && case $1 in */sdb) printf '7 9-11\n' ;; *) echo 4 ;; esac
	}
	md_bits_set() { called bits "$@" && return "${FAILS-0}"; }
	md_readd() { called readd "$@"; }
	same_leg() { :; } # tests/unit/exchanged.bats
	ends 0 disk_legs_readd 1
	ends 0 ram_leg_return
	did $'bits md127 7 9-11\nreadd md127 sdb\nbits md127 4\nreadd md127 rd0'
	rm "$BATS_TEST_TMPDIR/calls"
	md_bits_set_all() { called all "$@"; }
	NONE=sdb ends 0 disk_legs_readd 1
	did $'all md127\nreadd md127 sdb'
	rm "$BATS_TEST_TMPDIR/calls"
	FAILS=1 ends 1 disk_legs_readd 1
	did 'bits md127 7 9-11'
	[[ $LOOP_ERROR == *'could not tell md all'* ]]
	rm "$BATS_TEST_TMPDIR/calls"
	F[leg.1.dirty]=no
	ends 0 disk_legs_readd 1
	did 'readd md127 sdb'
}

@test "a half-assembled array that can't be stopped is refused with 4" {
	actions 1
	observe() { F[array.state]=inactive; }
	drives 4
	did stop_inactive
}

@test "a returned leg that md does not take is left alone, and the RAM leg is made" {
	actions 1
	observe() { F[ram.state]=none && back 1; }
	drives 0
	[[ $(calls) == $'witness\nreadd 1\nmake_ram\n'*end* ]] || fail "$(calls)"
}

@test "an outage that is over before anything else has looked is recorded" {
	local id file=$R/etc/ramraid/state/data.lately
	actions 0
	mkdir -p "${file%/*}" "$R/proc/sys/kernel/random" "$R/sys/block/md127"
	echo b0b0b0b0-0000-4000-8000-000000000001 >"$R/proc/sys/kernel/random/boot_id"
	echo 12 >"$R/sys/block/md127/diskseq"
	before_look_configured
	id=${F[uuid]}
	echo "$id b0b0b0b0-0000-4000-8000-000000000001 md127 12 none 1000 0 0 0 0 0 0" >"$file"
	observe() { case $(calls) in *readd*) before_look_configured ;; *) back 1 ;; esac }
	drives 0
	did $'witness\nreadd 1\nwitness\nend whole'
	[[ $(<"$file") =~ ^"$id b0b0b0b0-0000-4000-8000-000000000001 md127 12 none \
1000 "[1-9][0-9]+" 0 0 0 0 0"$ ]] ||
		fail "$(<"$file")"
}

@test "a loop that does not converge ends with an error" {
	actions 0
	observe() { F[ram.state]=none; }
	run loop_run data
	assert_failure 1
	assert_output -p 'gave up after 73 steps'
}

@test "WAIT=no: dependents start at once, and the rebuild goes on" {
	observe() {
		F[conf.wait]=no F[array.sync]=recover F[ram.state]=recovering
		((LOOKS < 4)) || F[ram.state]=in_sync F[array.sync]=idle
	}
	drives 0
	did $'witness\nready\nwitness\nend whole'
}

@test "when the time is up, the gate opens or stays shut as ON_TIMEOUT says" {
	local closed=degraded
	observe() {
		F[conf.wait_timeout]=5 F[conf.on_timeout]=$closed F[waited]=5 \
			F[array.sync]=recover F[ram.state]=recovering
		((LOOKS < 4)) || F[ram.state]=in_sync F[array.sync]=idle
	}
	drives 0
	did $'witness\nready\nwitness\nend whole'
	rm "$BATS_TEST_TMPDIR/calls"
	closed=fail LOOKS=0
	drives 1
	did ''
}

@test "a start stops waiting for a rebuild that md does not begin, whichever leg it is" {
	local leg
	observe() {
		F[$leg]=recovering SECONDS=$((SECONDS + 5))
		[[ $(calls) != *drop* ]] || F[ram.state]=none
		((LOOKS < 100)) || { called 'never ends' && F[$leg]=in_sync; }
	}
	action make_ram 1
	echo '5000.12 9000.00' >"$R/proc/uptime"
	mkdir -p "$R/run/ramraid"
	for leg in ram.state leg.1.state; do
		LOOKS=0
		drives 0
		[[ $(calls) != *never* ]] || fail "$leg: waits for ever"
		rm "$BATS_TEST_TMPDIR/calls"
	done
}

# gives_up MODE: a run of the loop in which md gives up each rebuild of the RAM leg. BEGINS is how
# the RAM leg is found; with B=returned, disk B comes back.
gives_up() {
	local word
	fake_clock
	echo '5000.12 9000.00' >"$R/proc/uptime"
	mkdir -p "$R/run/ramraid"
	declare -gA CONF=([WAIT_TIMEOUT]=30min [MEMBER_TIMEOUT]=30s [HOTPLUG]=yes [AUTO_REPLACE]=no)
	action make_ram 0
	ram_leg_add() { called add_ram && LOOP_REBUILT=yes; }
	disk_legs_readd() { called readd "$@"; }
	sleep() { SECONDS=$((SECONDS + 5)); }
	observe() {
		word=$(calls | grep -v -e witness -e '^drop' | tail -n 1)
		F[array.sync]=idle F[array.degraded]=1 F[leg.1.state]=in_sync F[leg.1.in]=md127
		[[ ${B-} != returned || $(calls) == *readd* ]] || {
			back 1
			F[array.degraded]=2
		}
		F[ram.node]=rd0 F[ram.slot]=none F[ram.state]=recovering
		case $word in
		'') F[ram.state]=${BEGINS-recovering} ;;
		make_ram*) F[ram.state]=attached ;;
		add_ram*) ;;
		*) F[ram.state]=none F[ram.slot]='' F[ram.node]='' ;;
		esac
	}
	loop_run data "$@" 2>"$BATS_TEST_TMPDIR/log"
}

@test "a RAM leg whose rebuild md gives up is taken out, counts as failed, and is not made again by the same start" {
	BEGINS=attached
	gives_up no
	did $'add_ram\ndrop md127 rd0\nramdisk_drop data\nwitness\nend there is no RAM leg: md does not rebuild it; see the kernel\'s messages: journalctl -k -g md'
	[[ $LOOP_NO_RAM == 'md does not rebuild it'* ]] || fail "$LOOP_NO_RAM"
	[[ $(wc -l <"$R/run/ramraid/data.failures") == 1 ]]
}

@test "a RAM leg whose rebuild md gave up earlier is taken out, then a returned disk is put back, then it is tried once more" {
	B=returned
	gives_up mend
	did $'witness\ndrop md127 rd0\nramdisk_drop data\nreadd 1\nmake_ram\nadd_ram\ndrop md127 rd0\nramdisk_drop data\nwitness\nend there is no RAM leg: md does not rebuild it; see the kernel\'s messages: journalctl -k -g md'
	[[ $(wc -l <"$R/run/ramraid/data.failures") == 2 ]]
}

@test "release: the RAM leg stays while it is the only good copy and nothing is being rebuilt" {
	before_look_configured data
	observe() { away 0 && away 1; }
	releases 4
	did ''
	grep -q 'only good copy' "$BATS_TEST_TMPDIR/log"
}

@test "release: waits until a disk leg is rebuilt from the RAM leg, then drops the RAM leg" {
	before_look_configured data
	observe() {
		away 0
		F[leg.1.state]=recovering F[array.sync]=recover
		((LOOKS < 3)) || F[leg.1.state]=in_sync F[array.sync]=idle
	}
	releases 0
	((LOOKS == 3)) && [[ $(calls) == $'witness\ndrop md127 rd0\nramdisk_drop data' ]] ||
		fail "$(calls)"
}

@test "release: of an array without a RAM leg only a ramdisk is dropped" {
	before_look_configured data
	observe() { F[ram.state]=none F[ram.node]=''; }
	releases 0
	did 'ramdisk_drop data'
}

# only_ram: the world in which the RAM leg is the only good copy; leg 0 is away, leg 1 has been
# given up by md.
only_ram() {
	before_look_configured data
	away 0
	F[leg.1.state]=faulty
	log_alert() { called alert; }
	before_look_times() { F[conf.member_timeout]=0; }
	rescue_why_not() { :; }
	superblock_says() { echo 77; }
	declare -gA CONF=([RESCUE]=/rescue)
}

# rebuilt_after ACTION: disk leg 1 is back once it has been taken out, and md rebuilds it after
# ACTION.
rebuilt_after() {
	REBUILT_AFTER=$1
	observe() {
		case $(calls | tail -n 1) in
		remove_leg*) back 1 ;;
		"$REBUILT_AFTER"*)
			F[leg.1.state]=recovering F[leg.1.in]=md127 F[array.sync]=recover &&
				called waits
			;;
		waits) F[leg.1.state]=in_sync F[array.sync]=idle ;;
		esac
	}
}

@test "release: a disk leg that md has given up is tried again, and once it is in sync the RAM leg leaves" {
	only_ram
	actions 0
	rebuilt_after readd
	releases 0
	did $'alert\nremove_leg 1\nreadd 1\nwaits\nwitness\ndrop md127 rd0\nramdisk_drop data'
}

@test "release: write-behind stays off while a disk leg is rebuilt, whatever is configured" {
	only_ram
	actions 0
	F[conf.write_behind]=9 F[array.backlog]=9
	md_set_backlog() { called backlog "$2" && F[array.backlog]=$2; }
	disk_legs_set_backlog() { md_set_backlog md127 "$1"; }
	md_is_quiet() { :; }
	observe() {
		case $(calls | tail -n 1) in
		remove_leg*) back 1 ;;
		readd*)
			F[leg.1.state]=recovering F[leg.1.in]=md127 F[array.sync]=recover &&
				called waits
			;;
		waits) F[leg.1.state]=in_sync F[array.sync]=idle ;;
		esac
	}
	releases 0
	did $'backlog 0\nalert\nremove_leg 1\nreadd 1\nwaits\nwitness\ndrop md127 rd0\nramdisk_drop data'
}

@test "a stall is counted by looks, so a machine that was suspended has not stalled" {
	local since='' seconds=0
	SECONDS=100
	not clock_stalls since 20
	for seconds in 5 100000 4; do
		SECONDS=$((SECONDS + seconds))
		not clock_stalls since 20
	done
	SECONDS=$((SECONDS + 2))
	clock_stalls since 20
	since=''
	not clock_stalls since 20
}

@test "a start that is refused for the same reason as before says just that, and does not repeat the reason" {
	BASE=stopped-2
	observe() { away 0 && away 1 && F[waited]=99; }
	mkdir -p "$R/run/ramraid"
	drives 4
	grep -q 'no disk leg to start from' "$BATS_TEST_TMPDIR/log"
	printf '%s\n' "$WHY" >"$R/run/ramraid/data.unstarted"
	drives 4
	not grep -q 'no disk leg to start from' "$BATS_TEST_TMPDIR/log"
	grep -q 'for the same reason as before' "$BATS_TEST_TMPDIR/log"
	# A person types "ramraid start".
	systemd_settle() { :; }
	systemctl() { :; }
	systemd_start() { called unit && return 1; }
	not start_by_systemd data
	did unit
	drives 4
	grep -q 'no disk leg to start from' "$BATS_TEST_TMPDIR/log"
}

@test "release: a disk that was pulled out and is back replaces the member whose device is gone" {
	only_ram
	actions 0
	action remove_gone 0
	F[array.gone]=sdx
	observe() {
		case $(calls | tail -n 1) in
		remove_gone*) F[array.gone]='' F[leg.1.in]='' && back 1 ;;
		readd*)
			F[leg.1.state]=recovering F[leg.1.in]=md127 F[array.sync]=recover &&
				called waits
			;;
		waits) F[leg.1.state]=in_sync F[array.sync]=idle ;;
		esac
	}
	releases 0
	did $'alert\nremove_gone sdx\nreadd 1\nwaits\nwitness\ndrop md127 rd0\nramdisk_drop data'
}

@test "release: a returned disk that ran without the RAM leg is not put back" {
	only_ram
	actions 0
	F[witness.legs]='' F[witness.events]=50
	observe() { back 1 ..A; }
	releases 4
	did alert
}

@test "release at shutdown: waits for the disks, then saves the rescue image, and never fails a leg" {
	only_ram
	actions 1
	rescue_write() { called rescue "$@"; }
	releases 0 going-down
	[[ $(calls) == $'alert\nremove_leg 1\nalert\nrescue data '"${F[uuid]}"$' md127 77 /rescue\nalert' &&
		$DETACH_RAM_RESCUED == yes ]] ||
		fail "$(calls)"
}

@test "release at shutdown: a disk that md gives up again and again is put back twice, then the image is saved" {
	only_ram
	actions 0
	observe() {
		case $(calls | tail -n 1) in
		remove_leg*) back 1 ;;
		readd*) F[leg.1.state]=faulty F[leg.1.in]=md127 ;;
		esac
	}
	rescue_write() { called rescue; }
	releases 0 going-down
	[[ $(calls | grep -c readd) == 2 && $(calls | grep -c rescue) == 1 &&
		$DETACH_RAM_RESCUED == yes ]] ||
		fail "$(calls)"
}

@test "release: a disk whose bitmap no longer tells where it differs is rebuilt in full, as by a start" {
	only_ram
	actions 0
	action add_leg 0
	F[witness.filled]=60
	rebuilt_after add_leg
	releases 0
	did $'alert\nremove_leg 1\nadd_leg 1\nwaits\nwitness\ndrop md127 rd0\nramdisk_drop data'
}

@test "release at shutdown: an image that does not fit is tried once, and the guard goes on waiting for a disk" {
	only_ram
	actions 1
	observe() { ((LOOKS < 6)) || F[leg.1.state]=in_sync; }
	rescue_write() { called rescue && return 1; }
	releases 0 going-down
	[[ $(calls | grep -c rescue) == 1 &&
		$(calls | tail -n 3) == $'witness\ndrop md127 rd0\nramdisk_drop data' &&
		-z $DETACH_RAM_RESCUED ]] ||
		fail "$(calls)"
}

@test "release at shutdown: an image that failed is tried again when there is more room, or after ten minutes" {
	local free=2000
	only_ram
	actions 1
	rescue_place_room() { echo "$free"; }
	log_alert() { :; }
	rescue_write() { called "rescue $free" && ((free > 9000)); }
	sleep() { SECONDS=$((SECONDS + 5)); }
	observe() {
		((LOOKS != 100)) || free=2900 # too little more to try
		((LOOKS != 300)) || free=9001
	}
	releases 0 going-down
	[[ $(calls | grep rescue) == $'rescue 2000\nrescue 2900\nrescue 2900\nrescue 9001' &&
		$DETACH_RAM_RESCUED == yes ]] || fail "$(calls)"
}

@test "release at shutdown: an image that fails after a long time leaves time to look for disks" {
	only_ram
	actions 1
	rescue_place_room() { echo 2000; }
	log_alert() { :; }
	rescue_write() {
		called "rescue $SECONDS"
		SECONDS=$((SECONDS + 700))
		(($(calls | grep -c rescue) == 3))
	}
	sleep() { SECONDS=$((SECONDS + 5)); }
	releases 0 going-down
	calls | awk '/rescue/ { if (n++ && $2 - before < 1300) exit 1; before = $2 } END { exit n != 3 }' ||
		fail "$(calls)"
}

@test "release at shutdown: where md has stopped writing, no disk is waited for, nor asked for" {
	local begin=$SECONDS
	local text naps=0
	only_ram
	observe() { F[array.state]=broken; }
	observe
	log_alert() { called alert "$1"; }
	rescue_write() { called rescue "$((SECONDS - begin))"; }
	releases 0 going-down
	text=$(calls)
	[[ $DETACH_RAM_RESCUED == yes && $text == *$'\nrescue '[01]* &&
		$text == *'saves it to a file'* && ${text,,} != *bring* ]] || fail "$text"
	rm "$BATS_TEST_TMPDIR/calls"
	CONF[RESCUE]=none
	rescue_why_not() { echo RESCUE=none; }
	DETACH_RAM_RESCUED=''
	sleep() { ((++naps < 3)) || exit 7; }
	run detach_ram data going-down
	text=$(calls)
	[[ $text == *"a shutdown can't save it (RESCUE=none): copy what is on /dev/md127"* &&
		$text == *"LOST when this machine goes down; copy what is on /dev/md127"* &&
		${text,,} != *bring* ]] || fail "$text"
}

@test "release at shutdown: a place for images that has stopped answering does not keep the guard from the disks" {
	only_ram
	actions 1
	log_alert() { called "alert $1"; }
	observe() { ((LOOKS < 6)) || F[leg.1.state]=in_sync; }
	rescue_write() { called rescue && return "$BOUNDED_SILENT"; }
	releases 0 going-down
	[[ $(calls | grep -c rescue$) == 1 && -z $DETACH_RAM_RESCUED &&
		$(calls) == *"can't be saved to a file (/rescue does not answer any more)"*'ramdisk_drop data' ]] ||
		fail "$(calls)"
	# From the beginning: that may be a disk that spins up.
	rm "$BATS_TEST_TMPDIR/calls"
	only_ram
	log_alert() { called "alert $1"; }
	rescue_why_not() { return "$BOUNDED_SILENT"; }
	F[array.md]=md127
	detach_ram_wait_for_disk_ data -59 0
	[[ -z $(calls) ]] || fail "$(calls)"
	not detach_ram_wait_for_disk_ data -60 0
	[[ $(calls) == *"can't be saved to a file (/rescue does not answer)"* ]] || fail "$(calls)"
}

@test "release at shutdown: nothing is saved while another array is being saved to the same place" {
	local other=''
	only_ram
	actions 1
	CONF[RESCUE]=$R/var
	mkdir -p "$R/var" "$R/run/ramraid/.locks"
	exec {other}>"$R/run/ramraid/.locks/rescue.$(stat -c %d "$R/var")"
	flock "$other"
	systemd_status() { [[ $1 != *'while another array is saved'* ]] || called waits; }
	rescue_write() { called rescue; }
	observe() { [[ $(calls | grep -c waits) != 3 || -z $other ]] || { exec {other}>&- && other=''; }; }
	releases 0 going-down
	[[ $(calls | grep 'waits\|rescue') == $'waits\nwaits\nwaits\nrescue' ]] || fail "$(calls)"
	# The turn is given back.
	flock --nonblock "$R/run/ramraid/.locks/rescue.$(stat -c %d "$R/var")" true
}

# Every disk is there, and md has noted blocks that none of them took: nobody can come.
@test "release at shutdown: blocks that no disk leg has are saved at once; if they can't be, nothing waits" {
	local begin=$SECONDS
	BASE=whole-2
	before_look_configured
	observe() { F[disks.lack]=yes F[leg.0.lacks]=yes F[leg.1.lacks]=yes; }
	observe
	log_alert() { called alert "$1"; }
	rescue_why_not() { :; }
	superblock_says() { echo 77; }
	rescue_write() { called rescue; }
	sleep() { SECONDS=$((SECONDS + 5)); }
	CONF[RESCUE]=/rescue
	releases 0 going-down
	[[ $DETACH_RAM_RESCUED == yes && $(calls | grep -cx rescue) == 1 ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	# An image without a record is one: the machine may go down, and what to type is said, and
	# what could not be read.
	rescue_write() {
		RESCUE_FOLDER=/rescue/data/rescue-77.X RESCUE_LOST='4.0KiB could not be read'
		return 2
	}
	releases 0 going-down
	[[ $DETACH_RAM_RESCUED == yes && $(calls) == *"alert data: saved to /rescue/data/rescue-77.X"*"type: \
cp /rescue/data/rescue-77.X/record $R/etc/ramraid/state/data.rescue && ramraid restore data"*"alert data: 4.0KiB could not be read"* ]] ||
		fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	rescue_write() { return 1; }
	releases 4 going-down
	[[ $(calls) == *'The blocks that md could not write to the disk legs are LOST'* &&
		$(calls) != *drop* ]] ||
		fail "$(calls)"
	((SECONDS - begin < 60)) || fail "$((SECONDS - begin)) s"
}

@test "release at shutdown: that md does not rebuild a disk is said once, also while another one is away" {
	only_ram
	actions 0
	sleep() { SECONDS=$((SECONDS + 5)); }
	observe() {
		away 0
		F[leg.1.state]=recovering F[array.sync]=idle
	}
	rescue_write() { called rescue; }
	log_alert() { :; }
	releases 0 going-down
	[[ $(grep -c 'md does not rebuild it' "$BATS_TEST_TMPDIR/log") == 1 ]] ||
		fail "$(<"$BATS_TEST_TMPDIR/log")"
}

# yields CODE going|stays [CHANGE]: of an array that runs, with these facts changed.
yields() {
	local code=0
	rm -f "$BATS_TEST_TMPDIR/calls"
	BASE=whole-2 GOING=$2 CHANGE=${3:-:}
	(
		before_look_configured() {
			facts_read <"$FIXTURES/decide/$BASE.facts" && eval "$CHANGE"
		}
		conf_load() { :; }
		conf_need_started() { :; }
		systemd_is_running() { :; }
		systemd_is_stopping() { [[ $GOING == going ]]; }
		whole_since_update() { :; }
		log_alert() { called alert; }
		cmd_yield data
	) 2>"$BATS_TEST_TMPDIR/log" || code=$?
	((code == $1)) || fail "expected $1, got $code: $(<"$BATS_TEST_TMPDIR/log")"
}

@test "yield: drops the RAM leg before something else stops the array at a shutdown, but never the only good copy" {
	yields 0 going
	did $'witness\ndrop md127 rd0\nramdisk_drop data\nwitness'
	yields 0 stays
	did ''
	yields 4 going 'F[disks.lack]=yes'
	did alert
	yields 4 stays 'F[leg.0.state]=faulty F[leg.1.state]=faulty'
	did alert
	yields 0 going 'F[array.state]=absent'
	did ''
	# Somebody is at work on it, a start that fills the RAM leg perhaps: not waited for.
	mkdir -p "$R/run/ramraid/.locks"
	exec {lock}>"$R/run/ramraid/.locks/work.data"
	flock "$lock"
	yields 0 going 'F[ram.state]=recovering'
	did ''
	exec {lock}>&-
	run cmd_yield
	assert_failure 2
}

# Of a start there is the same; here nobody would ever see it.
@test "release at shutdown: frozen sync work is released; if md still rebuilds nothing, the image is saved" {
	only_ram
	actions 0
	sleep() { SECONDS=$((SECONDS + 5)); }
	md_thaw() { called thaw "$@"; }
	observe() {
		F[leg.1.state]=recovering F[array.sync]=frozen
		[[ $(calls) != *thaw* ]] || F[array.sync]=idle
	}
	rescue_write() { called rescue; }
	log_alert() { :; }
	releases 0 going-down
	did $'thaw md127\nrescue'
	[[ $DETACH_RAM_RESCUED == yes ]]
}

@test "release at shutdown: systemd is asked for more time as long as the guard waits" {
	local before
	only_ram
	actions 1
	systemd_go_on() { called go_on; }
	rescue_write() { return 1; }
	observe() { ((LOOKS < 6)) || F[leg.1.state]=in_sync; }
	releases 0 going-down
	before=$(calls | sed '/^alert$/d')
	[[ $(grep -c go_on <<<"$before") -ge 4 ]] || fail "$before"
}

@test "setting the wall clock does not change how long a start waits for a disk" {
	local at=100 step
	# shellcheck source=/dev/null
	source <(sed "/^readonly /d" "$PROJECT/lib/core/clock.sh")
	BASE=stopped-2
	observe() { away 0 && away 1; } # of a MEMBER_TIMEOUT of 30 s
	for step in -7200 7200; do
		rm -f "$BATS_TEST_TMPDIR/calls"
		echo "$at.00 1.00" >"$R/proc/uptime"
		sleep() {
			called sleep && SECONDS=$((SECONDS + step)) at=$((at + 5)) &&
				echo "$at.00 1.00" >"$R/proc/uptime"
		}
		drives 4
		[[ $(calls | grep -c sleep) == 6 ]] || fail "$(calls)"
	done
}

@test "md's speed limits are set once when that is wanted, and put back once" {
	loop_speed() { real_loop_speed "$@"; }
	md_speed() { called speed "$@"; }
	F[array.md]=md127 LOOP_FAST=''
	mkdir -p "$R/sys/block/md127/md"
	loop_speed system
	loop_speed fast
	loop_speed fast
	loop_speed system
	loop_speed system
	did $'speed md127 fast\nspeed md127 system'
	# An array that is gone has none.
	F[array.md]=md9
	loop_speed fast
	loop_speed system
	did $'speed md127 fast\nspeed md127 system'
	F[array.md]=md127
	md_speed() { return 1; }
	loop_speed fast 2>"$BATS_TEST_TMPDIR/log"
	grep "could not set md's speed limits" "$BATS_TEST_TMPDIR/log"
}

@test "a leg that fails while the end of a start is reported is not recorded as good" {
	before_look_configured data
	WHY=whole LOOP_STARTED=0 NOW=0
	loop_speed() { :; }
	loop_watch_() { :; }
	whole_since_update() { :; }
	rescue_warn() { :; }
	contents_remember() { :; }
	systemd_ready() { observe() { F[leg.1.state]=faulty; }; }
	witness_update_or_go_on() { called witness "${F[leg.1.state]}"; }
	real_loop_end_ 2>/dev/null
	did 'witness faulty'
}

@test "the start checks the place of the rescue image; hot-plug's worker, which may not write there, does not" {
	before_look_configured data
	declare -gA CONF=([RESCUE]=/nowhere)
	rescue_why_not() { echo 'no room'; }
	run rescue_warn md127
	assert_output -p 'a shutdown could not save the RAM leg: no room'
	F[mend]=yes
	run rescue_warn md127
	assert_output ''
}

@test "a returned disk whose device number the RAM leg now has: the error says what to type" {
	before_look_configured data
	md_readd() { return 1; }
	legs_seen_note_again() { :; }
	same_leg() { :; } # tests/unit/exchanged.bats
	superblock_read() {
		printf '00000000 %.0s' {1..40} && if [[ $1 == */sda ]]; then
			echo 00000003
		else
			echo "$RAM_NUMBER"
		fi
	}
	F[leg.0.node]=sda RAM_NUMBER=00000000
	not disk_legs_readd 0
	[[ $LOOP_ERROR == *' back' ]] || fail "$LOOP_ERROR"
	RAM_NUMBER=00000003
	not disk_legs_readd 0
	[[ $LOOP_ERROR == *' back: the RAM leg has its device number (3). To have both: ramraid detach data; ramraid attach data' ]] ||
		fail "$LOOP_ERROR"
}

@test "release: write-behind is switched off, and writes under way are waited for" {
	before_look_configured data
	F[array.backlog]=128
	md_set_backlog() { called backlog "$2"; }
	md_is_quiet() { called quiet && (($(calls | grep -c quiet) == 3)); }
	releases 0
	did $'backlog 0\nquiet\nquiet\nquiet\nwitness\ndrop md127 rd0\nramdisk_drop data'
}

# What waits stays down and the program ends, so the RAM leg must be md's business by then, however
# far we were.
@test "ON_TIMEOUT=fail: a start that is out of time still gives md the RAM leg" {
	local state
	BASE=whole-2
	actions 0
	for state in none attached; do
		rm -f "$BATS_TEST_TMPDIR/calls"
		observe() {
			F[conf.wait_timeout]=0 F[conf.on_timeout]=fail F[conf.rebuild]=auto \
				F[copy.state]=none F[ram.slot]=''
			F[ram.state]=$state
		}
		drives 1
		[[ $(calls) == *add_ram* ]] || fail "$state: $(calls)"
		[[ $state == attached || $(calls) == *make_ram*add_ram* ]] || fail "$(calls)"
	done
}

@test "after something else has stopped the array, stop keeps a ramdisk with the only good copy, and says what to type" {
	declare -g NAME=data
	array_lock() { :; }
	stop_lock_() { :; }
	conf_need_started() { :; }
	copy_stop() { :; }
	before_look_configured() {
		facts_read <"$FIXTURES/decide/stopped-2.facts" &&
			F[witness.events]=90 F[witness.legs]="${LEGS-}" \
				F[ram.state]="${STATE_OF-attached}" F[ram.node]=rd0 \
				F[rescue.image]=${IMAGE-}
	}
	md_modules() { :; }
	md_assemble() { called assemble "$@" && return 1; }
	run stop_here data
	assert_failure 4
	assert_output -p 'mdadm --assemble --run /dev/md/data /dev/rd0 && ramraid start data'
	[[ $(calls) == 'assemble data rd0' ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	LEGS=aaaaaaaa-0000-0000-0000-000000000001 ends 0 stop_here data
	IMAGE=/image ends 0 stop_here data
	STATE_OF=none ends 0 stop_here data
	did $'ramdisk_drop data\nramdisk_drop data\nramdisk_drop data'
}

@test "an array that runs on after systemd stopped its unit: stop names who uses it, and its unit is up again" {
	declare -g NAME=data
	systemd_unit_is_up() { :; }
	systemd_stop() { called stop; }
	systemd_start() { called start; }
	systemd_reset() { :; }
	array_users() { printf '%s\n' "$USERS"; }
	USERS=/srv/data ends 1 stop_by_systemd data
	grep 'is still running, in use by: /srv/data. ' "$BATS_TEST_TMPDIR/log"
	USERS='' ends 1 stop_by_systemd data
	grep 'though nobody uses it any more; type again: ramraid stop data' "$BATS_TEST_TMPDIR/log"
	did $'stop\nstart\nstop\nstart'
	# In use, its unit has not even tried to find a disk leg for what the RAM leg alone has.
	observe() { F[leg.0.state]=faulty F[leg.1.state]=faulty; }
	USERS=/srv/data ends 1 stop_by_systemd data
	not grep 'no disk leg can be rebuilt from it' "$BATS_TEST_TMPDIR/log"
	USERS='' ends 4 stop_by_systemd data
	grep 'the RAM leg rd0 is the only good copy, and no disk leg can be rebuilt from it: keeping it' \
		"$BATS_TEST_TMPDIR/log"
	grep 'what systemd had mounted from it is unmounted (systemctl start local-fs.target' \
		"$BATS_TEST_TMPDIR/log"
	not grep 'in use by' "$BATS_TEST_TMPDIR/log"
}

# The disk A, in sync last at 100 events, is still to come. B had left at 60. While the start waits
# for A, somebody types: mdadm --assemble --run /dev/md127 /dev/sdb
waits_for_a() {
	A=aaaaaaaa-0000-0000-0000-000000000001 B=aaaaaaaa-0000-0000-0000-000000000002
	BASE=stopped-2 FROM=3
	mkdir -p "$R/sys/block/md127"
	echo 7 >"$R/sys/block/md127/diskseq"
	observe() {
		F[witness.legs]=$A F[witness.events]=100 F[witness.generation]=3 F[witness.ram_slot]=0
		away 0
		F[leg.0.sb]='' F[leg.0.uuid]='' F[leg.0.device_uuid]='' F[leg.1.events]=60
		((LOOKS >= FROM)) || return 0
		F[array.md]=md127 F[array.state]=active F[array.slots]=3 F[array.degraded]=2
		F[leg.1.in]=md127 F[leg.1.state]=in_sync F[leg.1.slot]=2 F[leg.1.sb]='' F[leg.1.writemostly]=yes
	}
	superblock_facts() { printf 'sb=ok\nuuid=%s\ndevice_uuid=%s\nevents=60\n' "${F[uuid]}" "$B"; }
}

@test "an array that something else starts from an old leg while a start waits for the newest is refused" {
	actions 0
	waits_for_a
	# In a process of its own: with these stubs a loop that goes on does not end well.
	CODE=0
	(loop_run data) >/dev/null 2>"$BATS_TEST_TMPDIR/log" || CODE=$?
	[[ $CODE == 4 && -z $(calls) ]] || fail "$CODE $(calls) $(<"$BATS_TEST_TMPDIR/log")"
	grep -q 'something else has started md127, from legs that were not in sync' "$BATS_TEST_TMPDIR/log"
}

@test "a start says when the second copy of the record counts, and only then" {
	COUNTS=copy
	before_look_configured() {
		facts_read <"$FIXTURES/decide/$BASE.facts"
		F[witness.counts]=$COUNTS F[witness.copy]=/boot/ramraid/data.witness
	}
	loop_begin_ data 2>"$BATS_TEST_TMPDIR/log"
	grep 'is older than its second copy, /boot/ramraid/data.witness' "$BATS_TEST_TMPDIR/log"
	COUNTS=own
	loop_begin_ data 2>"$BATS_TEST_TMPDIR/log"
	not grep 'second copy' "$BATS_TEST_TMPDIR/log"
}

@test "an array that something else starts from the newest leg is taken over; our own start is not judged again" {
	actions 0
	waits_for_a
	superblock_facts() { printf 'sb=ok\nuuid=%s\ndevice_uuid=%s\nevents=100\n' "${F[uuid]}" "$A"; }
	loop_begin_ data
	loop_look_
	loop_look_
	[[ $ACTION == wait-members && ${F[array.judged]} == '' ]] || fail "$ACTION"
	loop_look_
	[[ ${F[array.known]} == yes && ${F[array.judged]} == 'md127 7' ]] || fail "${F[array.known]}"
	witness_update_foreign_start() { called judged; }
	loop_look_
	[[ -z $(calls) ]]
	echo 8 >"$R/sys/block/md127/diskseq"
	loop_look_
	did judged
	# As disk_legs_assemble does.
	F[array.judged]='md127 8'
	loop_look_
	did judged
}

@test "an array that a person stops while hot-plug's worker rebuilds its RAM leg stays stopped" {
	actions 0
	BASE=whole-2
	observe() {
		F[ram.state]=recovering F[array.degraded]=1 F[array.sync]=recover
		((LOOKS >= 4)) || return 0
		local i
		F[array.md]='' F[array.state]=absent F[ram.state]=attached F[array.sync]=idle
		for i in 0 1; do
			F[leg.$i.in]='' F[leg.$i.state]='' F[leg.$i.slot]='' F[leg.$i.sb]=ok \
				F[leg.$i.uuid]=${F[uuid]} F[leg.$i.role]=$((i + 1)) F[leg.$i.level]=1 \
				F[leg.$i.view]=.AA F[leg.$i.events]=120 F[leg.$i.raid_disks]=3 \
				F[leg.$i.device_uuid]=aaaaaaaa-0000-0000-0000-00000000000$((i + 1))
		done
		facts_unnumbered
		facts_numbered
	}
	hotplug_facts() { F[mend]=yes F[retry]=no; }
	hotplug_look() { :; }
	drives_in_use() { loop_run data "$@" in-use; }
	ends 0 drives_in_use mend
	grep -q 'somebody has stopped it meanwhile, so it stays stopped' "$BATS_TEST_TMPDIR/log"
	LOOKS=0
	hotplug_facts() { :; }
	ends 1 drives_in_use yes
	not grep -q assemble <(calls) || fail "$(calls | sort | uniq -c) $(head -5 "$BATS_TEST_TMPDIR/log")"
}

# used FLAW: a start of an array that somebody has mounted after its RAM leg was taken out.
used() {
	actions 0
	mkdir -p "$R/sys/class/block/md127" "$R/sys/block/md127/md"
	echo 9:127 >"$R/sys/class/block/md127/dev"
	FLAW=$1
	loop_speed() { called speed "$1"; }
	observe() {
		F[kernel.flaw]=$FLAW F[conf.wait_timeout]=1800 F[conf.root]=$ROOT_IS
		case $(calls | grep -v 'witness\|speed\|ready\|end' | tail -n 1) in
		'') F[ram.state]=none F[array.degraded]=1 ;;
		make_ram*) F[ram.state]=attached ;;
		add_ram*) F[ram.state]=recovering F[array.sync]=recover && called waits ;;
		waits*) F[ram.state]=in_sync F[array.sync]=idle F[array.degraded]=0 ;;
		esac
	}
	rm -f "$BATS_TEST_TMPDIR/calls"
	drives 0
}

@test "a start of an array that is in use leaves the disks to its users, and on a flawed kernel makes no RAM leg" {
	local ROOT_IS=no FLAW
	: >"$R/proc/1/mountinfo"
	used ''
	[[ $(calls) == *add_ram*'speed fast'* ]] || fail "$(calls)"
	used CVE-2024-45023
	[[ $(calls) == *add_ram*'speed fast'* ]] || fail "$(calls)"
	echo '36 25 9:127 / /srv/data rw - ext4 /dev/md127 rw' >"$R/proc/1/mountinfo"
	used ''
	[[ $(calls) == *add_ram* && $(calls) != *'speed fast'* ]] || fail "$(calls)"
	used CVE-2024-45023
	[[ $(calls) != *make_ram* ]] || fail "$(calls)"
	[[ $(calls) == *'it is in use, and on this kernel a RAM leg must not be rebuilt while'* ]] ||
		fail "$(calls)"
	# The boot waits for the array that it is on.
	ROOT_IS=yes
	used ''
	[[ $(calls) == *add_ram*'speed fast'* ]] || fail "$(calls)"
}

# on_disk LINE…: the record that the monitor has written since.
on_disk() {
	mkdir -p "$R/etc/ramraid/state"
	printf '%s\n' "uuid=11111111-2222-3333-4444-555555555555" "$@" >"$R/etc/ramraid/state/data.witness"
}
A=aaaaaaaa-0000-0000-0000-000000000001 B=aaaaaaaa-0000-0000-0000-000000000002

@test "a waiting worker sees the monitor's newer record: a disk that it rules out is not put back by the bitmap" {
	actions 0
	action add_leg 0
	md_readd() { :; }
	hotplug_facts() { F[mend]=yes F[retry]=no; }
	hotplug_look() { :; }
	watched_note() { :; }
	# B has left at 90. The RAM leg is being rebuilt for the first 5 looks.
	observe() {
		F[witness.filled]=${F[witness.filled]/#0/85}
		away 1
		F[array.degraded]=1 F[array.events]=200
		((LOOKS > 5)) || F[ram.state]=recovering F[array.sync]=recover F[array.degraded]=2
		((LOOKS != 3)) || on_disk "legs=$A" events=150 filled=150 ram_slot=0 generation=9 "seen=$A $B" doubted=
		((LOOKS > 5)) || return 0
		F[ram.state]=in_sync F[array.sync]=idle
		# B is back.
		F[leg.1.node]=sdb F[leg.1.device_uuid]=$B F[leg.1.events]=90 F[leg.1.raid_disks]=3 \
			F[leg.1.number]='' F[leg.1.roles]=''
		back 1
	}
	witness_update_if_changed() { :; } # who is in sync is as before
	(loop_run data mend in-use) >/dev/null 2>"$BATS_TEST_TMPDIR/log" || :
	grep -q '^filled=150' "$R/etc/ramraid/state/data.witness" || fail 'no such record'
	not grep -q '^readd' <(calls) || fail "$(calls | sort | uniq -c; cat "$BATS_TEST_TMPDIR/log")"
}

@test "a waiting worker sees the monitor's newer record: disks that it rules out are not started" {
	actions 0
	hotplug_facts() { F[mend]=yes F[retry]=no; }
	hotplug_look() { :; }
	watched_note() { :; }
	observe() {
		F[array.degraded]=1 F[array.sync]=resync
		((LOOKS >= 4)) || return 0
		# The RAM leg alone was good, and so it is written down.
		on_disk legs= events=300 filled=100 ram_slot=0 generation=9 "left=$A $B" "seen=$A $B" doubted=
		local i
		F[array.md]='' F[array.state]=absent F[ram.state]=attached F[array.sync]=idle
		for i in 0 1; do
			F[leg.$i.in]='' F[leg.$i.state]='' F[leg.$i.slot]='' F[leg.$i.sb]=ok \
				F[leg.$i.uuid]=${F[uuid]} F[leg.$i.role]=$((i + 1)) F[leg.$i.level]=1 \
				F[leg.$i.view]=AAA F[leg.$i.events]=120 F[leg.$i.raid_disks]=3 \
				F[leg.$i.device_uuid]=aaaaaaaa-0000-0000-0000-00000000000$((i + 1))
		done
		facts_unnumbered
		facts_numbered
	}
	witness_update_if_changed() { :; }
	(loop_run data mend in-use) >/dev/null 2>"$BATS_TEST_TMPDIR/log" || :
	not grep -q assemble <(calls) || fail "$(calls | sort | uniq -c; head -5 "$BATS_TEST_TMPDIR/log")"
}

@test "a record that stays under an earlier name counts as changed only when it has changed" {
	F[name]=data F[uuid]=11111111-2222-3333-4444-555555555555 F[record.from]=old
	mkdir -p "$R/etc/ramraid/state"
	printf '%s\n' "uuid=${F[uuid]}" "legs=$A" events=90 filled=90 ram_slot=0 generation=3 doubted= \
		>"$R/etc/ramraid/state/old.witness"
	chmod 600 "$R/etc/ramraid/state/old.witness"
	before_look_witness
	[[ ${F[witness.generation]} == 3 ]]
	first_look_record_is_same
	sed -i s/=3$/=4/ "$R/etc/ramraid/state/old.witness"
	not first_look_record_is_same
	first_look_record_is_same
}

@test "going down with the only good copy: a failed look at the place of the image is repeated, but not for ever" {
	local seconds
	F[array.md]=md127 F[members]=0 F[ram.node]=rd0 F[name]=data
	CONF[RESCUE]=/var/lib/ramraid
	DETACH_RAM_RESCUED=''
	# What make_child() in bash's jobs.c does in a subshell whose fork() has failed.
	rescue_why_not() { [[ -e $BATS_TEST_TMPDIR/again ]] || { touch "$BATS_TEST_TMPDIR/again" && exit 254; }; }
	rescue_write() { called image; }
	log_alert() { :; }
	detach_ram_all_there_() { return 1; }
	superblock_says() { echo 5; }
	systemd_go_on() { :; }
	detach_ram_wait_for_disk_ data 0 0
	[[ -z $(calls) && -z $DETACH_RAM_RESCUED ]]
	detach_ram_wait_for_disk_ data -1 0
	did image
	[[ $DETACH_RAM_RESCUED == yes ]]
	# Not for ever.
	rescue_why_not() { exit 254; }
	detach_ram_wait_for_disk_ data -59 0
	not detach_ram_wait_for_disk_ data -60 0
}

@test "the only good copy is started again if mdadm says nothing of it, but not if mdadm names another array" {
	F[uuid]=11111111-2222-3333-4444-555555555555 F[ram.node]=rd0 F[name]=data F[conf.layout]=mirror
	md_modules() { :; }
	md_assemble() { called assemble "$@" && F[array.state]=active; }
	facts_observe() { :; }
	log_alert() { :; }
	md_format_why() { echo 'mdadm does not say' && return 1; }
	detach_ram_revive data
	did 'assemble data rd0'
	md_format_why() { echo 'mdadm reads /dev/rd0 as a member of another array'; }
	not detach_ram_revive data
	did 'assemble data rd0'
}
