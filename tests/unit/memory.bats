#!/usr/bin/env bats
# MEMORY_FLOOR: when the RAM leg is given up and made again, on counted looks, and on a fake array.

setup() {
	load helper
	load change
	change_world
	libraries
	fakes
	SUPERBLOCK_FACTS=''
	eval "act_write() { step echo \"\$2\" \"\${1#\"$R\"}\" ''; }"
	memory_floor_begin
}
# mem MIB AVAILABLE
mem() {
	printf 'MemTotal:  4194304 kB\nMemFree:  1 kB\nMemAvailable:  %s kB\n' $(($1 * 1024)) \
		>"$R/proc/meminfo"
}
counts() { # EXPECTED STATE ANSWER [TIMES]
	local i
	for ((i = 0; i < ${4:-1}; i++)); do memory_floor_count "$2" "$3"; done
	[[ $MEMORY_ACT == "$1" ]] || fail "$2 $3 x${4:-1}: \"$MEMORY_ACT\" instead of \"$1\""
}
watched() { # FLOOR: what cmd_memory does before its loop
	mem 600
	sed -i "\$aMEMORY_FLOOR=$1" "$R/etc/ramraid/data.conf"
	echo '100.00 1.00' >"$R/proc/uptime"
	conf_need data
	before_look_configured data
	facts_observe
	: >"$R/run/ramraid/data.started"
	MEMORY_MD=md127 MEMORY_FLOOR=$(quantity_bytes "$1" "$(ramdisk_memory_total)")
}

@test "the RAM leg is given up after three looks in a row that find memory short, not at a peak" {
	counts '' leg yes 2
	counts '' leg no
	counts '' leg yes 2
	counts give leg yes
}

@test "a RAM leg that could not be given up is left alone for a minute" {
	counts give leg yes 3
	memory_floor_kept
	counts '' leg yes 30
	counts give leg yes 3
	memory_floor_kept
	# Also when memory is short only now and then.
	counts '' leg no 30
	counts '' leg yes 2
}

@test "the RAM leg is made again after a whole minute with room, then after two, and at most after an hour" {
	local i
	counts '' given yes 29
	counts '' given no
	counts '' given yes 29
	counts take given yes
	memory_floor_taken
	counts '' given yes 59
	counts take given yes
	for i in 1 2 3 4 5 6 7 8; do memory_floor_taken; done
	counts '' given yes 1799
	counts take given yes
}

@test "nothing is counted when there is no RAM leg, or a person has taken it out" {
	counts '' none no 200
	counts '' none yes 200
}

@test "MEMORY_FLOOR=0 is off in every form, and no other value is" {
	for word in 0 00 0% 0K 0G; do memory_floor_is_off "$word" || fail "$word"; done
	for word in 1 10% 512M 01; do not memory_floor_is_off "$word" || fail "$word"; done
}

@test "a ramdisk leaves as much memory as RAM_RESERVE says, or MEMORY_FLOOR if that is more" {
	mem 600 # of 4096
	CONF[RAM_RESERVE]=10% CONF[MEMORY_FLOOR]=0
	memory_floor_reserve
	[[ $MEMORY_RESERVE == 429496729 && $MEMORY_RESERVE_BY == RAM_RESERVE ]]
	CONF[MEMORY_FLOOR]=512M
	memory_floor_reserve
	[[ $MEMORY_RESERVE == 536870912 && $MEMORY_RESERVE_BY == MEMORY_FLOOR ]]
}

@test "when memory is short the RAM leg leaves, and hot-plug does not make it again" {
	watched 512M
	mem 600
	for _ in 1 2 3 4; do cmd_memory_look data; done
	[[ -z $MEMORY_ACT ]]
	mem 500
	cmd_memory_look data
	cmd_memory_look data
	[[ -z $MEMORY_ACT ]]
	cmd_memory_look data
	[[ $MEMORY_ACT == give ]]
	transitions_begin data
	run cmd_memory_give_ data
	assert_output -p 'less than MEMORY_FLOOR=512M (512MiB) of memory is available'
	assert_output -p 'data: memory is short, so the RAM leg has been given up'
	[[ $(calls | grep -v -e state/ -e ^logger) == 'mdadm --manage /dev/md127 --fail /dev/rd0
mdadm --manage /dev/md127 --remove /dev/rd0
echo rapiddisk detach 0 /sys/kernel/rapiddisk/mgmt ' ]] || fail "$(calls)"
	ram_out_is_short data
	F[retry]=no
	facts_observe
	hotplug_facts
	[[ ${F[veto.make-ram]} == 'memory is short (MEMORY_FLOOR=512M)'* ]]
}

gives_up() { # once the configuration can't be used any more
	mem 500
	run cmd_memory_give_up data
	assert_success
	assert_output -p 'its configuration is broken or missing; using the one that it was started with'
	assert_output -p 'less than MEMORY_FLOOR=512M (512MiB) of memory is available'
	[[ $(calls) == *'mdadm --manage /dev/md127 --remove /dev/rd0'* ]] || fail "$(calls)"
}

@test "when memory is short the RAM leg leaves even if the configuration is broken" {
	watched 512M
	conf_need_keep data
	echo MEMBERS= >>"$R/etc/ramraid/data.conf"
	gives_up
}

@test "when memory is short the RAM leg leaves even if the configuration is gone" {
	watched 512M
	conf_need_keep data
	rm "$R/etc/ramraid/data.conf"
	gives_up
}

@test "a run killed after it noted that the RAM leg is given up is completed, with the leg in the array or out of it" {
	watched 512M
	mem 100
	cp "$R/run/ramraid/data.ram" "$BATS_TEST_TMPDIR/note"
	ram_out_note data memory
	for _ in 1 2 3; do cmd_memory_look data; done
	[[ $MEMORY_ACT == give ]]
	transitions_begin data
	cmd_memory_give_ data 2>/dev/null
	[[ $(calls) == *'--fail /dev/rd0'*'--remove /dev/rd0'*'rapiddisk detach 0'* ]] ||
		fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	leaves rd0
	put degraded 1
	cp "$BATS_TEST_TMPDIR/note" "$R/run/ramraid/data.ram"
	cmd_memory_give_ data 2>/dev/null
	[[ $(calls) == *'rapiddisk detach 0'* && ! -e $R/run/ramraid/data.ram ]] || fail "$(calls)"
	# A person has it out: their word counts.
	cp "$BATS_TEST_TMPDIR/note" "$R/run/ramraid/data.ram"
	: >"$R/run/ramraid/data.detached"
	rm "$BATS_TEST_TMPDIR/calls"
	cmd_memory_give_ data 2>/dev/null
	[[ $(calls) != *detach* ]] || fail "$(calls)"
}

@test "when there is room again, hot-plug's worker makes the RAM leg, unless a person has taken it out" {
	systemctl() { called systemctl "$@"; }
	watched 512M
	leaves rd0
	rm "$R/run/ramraid/data.ram"
	ram_out_note data memory
	mem 700 # the floor, a quarter more, and a leg of 99 MiB
	cmd_memory_look data
	[[ $MEMORY_HIGH == 0 ]]
	mem 760
	cmd_memory_look data
	[[ $MEMORY_HIGH == 1 ]]
	cmd_memory_take_ data
	[[ $(calls) == 'systemctl start --no-block ramraid-mend@data.service' ]] &&
		[[ $(<"$R/run/ramraid/data.detached") == room ]] || fail "$(calls)"
	# The worker may make it now; the note goes when it has.
	facts_observe
	hotplug_facts
	[[ -z ${F[veto.make-ram]-} ]]
	: >"$R/run/ramraid/data.detached"
	cmd_memory_take_ data
	[[ $(calls | wc -l) == 1 && -e $R/run/ramraid/data.detached ]] || fail "$(calls)"
}

@test "nothing is given up if the leg was taken out, or memory freed, before the lock was free" {
	watched 512M
	mem 500
	: >"$R/run/ramraid/data.detached"
	run cmd_memory_give_ data
	[[ -z $(calls) && ! -s $R/run/ramraid/data.detached ]] || fail "$(calls)"
	rm "$R/run/ramraid/data.detached"
	mem 600
	run cmd_memory_give_ data
	[[ -z $(calls) && ! -e $R/run/ramraid/data.detached ]] || fail "$(calls)"
}

@test "a RAM leg on brd is not given up while another array uses brd, because that frees no memory" {
	watched 512M
	mem 100
	echo brd ram0 102400 9 used >"$R/run/ramraid/data.ram"
	echo brd ram1 102400 9 used >"$R/run/ramraid/other.ram"
	mkdir -p "$R/sys/block/ram0" && echo 9 >"$R/sys/block/ram0/diskseq"
	for _ in 1 2 3 4; do cmd_memory_look data; done
	[[ -z $MEMORY_ACT ]]
	rm "$R/run/ramraid/other.ram"
	for _ in 1 2 3; do cmd_memory_look data; done
	[[ $MEMORY_ACT == give ]]
	# RAM=/dev/…
	memory_floor_begin
	fake_disk nvme0n1 $((104 << 20))
	echo "device nvme0n1 $((104 << 20)) - used" >"$R/run/ramraid/data.ram"
	ramdisk_note_read data
	[[ $RAM_NODE == nvme0n1 ]]
	for _ in 1 2 3 4; do cmd_memory_look data; done
	[[ -z $MEMORY_ACT ]]
}

@test "a start that finds no memory leaves the RAM leg to be made later; one that makes it removes that note" {
	watched 512M
	leaves rd0
	rm "$R/run/ramraid/data.ram"
	put degraded 1
	mem 500
	ramdisk_make() { called ramdisk_make "$@"; return "${MAKES:-75}"; }
	facts_observe
	run ram_leg_make
	assert_failure
	[[ $(calls) == "ramdisk_make data 103448576 auto 536870912 512 auto" ]] || fail "$(calls)"
	[[ $(<"$R/run/ramraid/data.detached") == memory ]]
	MAKES=0 ram_leg_make
	[[ ! -e $R/run/ramraid/data.detached ]]
	# It can't be made for another reason; or nobody looks at the memory.
	MAKES=1
	run ram_leg_make
	[[ ! -e $R/run/ramraid/data.detached ]]
	CONF[MEMORY_FLOOR]=0 MAKES=75
	run ram_leg_make
	[[ ! -e $R/run/ramraid/data.detached ]]
}

@test "an attach that fails after a detach leaves its reason, and the RAM leg stays taken out" {
	: >"$R/run/ramraid/data.detached"
	F[name]=data
	ram_out_facts
	[[ ${F[ram.out]} == person && -z ${F[ram.tried]} && -z ${F[ram.full]-} ]]
	ram_out_note data person 'no module'
	ram_out_facts
	[[ ${F[ram.out]} == person && ${F[ram.tried]} == 'no module' && -z ${F[ram.full]-} ]]
	ram_out_note data full 'too large'
	ram_out_facts
	[[ ${F[ram.out]} == full && -z ${F[ram.tried]} && ${F[ram.full]} == 'too large' ]]
	rm "$R/run/ramraid/data.detached"
	ram_out_facts
	[[ -z ${F[ram.out]} && -z ${F[ram.tried]} ]]
}

@test "memory_floor_arm restarts the watch of memory where it is wanted, and stops one that is not" {
	systemctl() { called systemctl "$@"; }
	CONF[RAM]=auto CONF[MEMORY_FLOOR]=0
	memory_floor_arm data
	[[ -z $(calls) ]]
	CONF[MEMORY_FLOOR]=5%
	memory_floor_arm data
	CONF[RAM]=none
	memory_floor_arm data
	memory_floor_arm data
	[[ $(calls) == 'systemctl restart --no-block ramraid-memory@data.service
systemctl stop --no-block ramraid-memory@data.service' ]] || fail "$(calls)"
}

@test "as much available memory as MEMORY_FLOOR is enough, and a kilobyte less is not" {
	watched 512M
	memory_floor_count() { called "$@"; }
	mem 512
	cmd_memory_look data
	printf 'MemTotal:  4194304 kB\nMemAvailable:  %s kB\n' $((512 * 1024 - 1)) >"$R/proc/meminfo"
	cmd_memory_look data
	# /proc/meminfo counts KiB, so here the floor is a byte higher.
	mem 512
	MEMORY_FLOOR=$((MEMORY_FLOOR + 1))
	cmd_memory_look data
	[[ $(calls) == $'leg no\nleg yes\nleg yes' ]] || fail "$(calls)"
}

@test "when memory is short the RAM leg stays if it is the only good copy" {
	watched 512M
	mem 100
	put dev-sda/state faulty,write_mostly dev-sdb/state faulty,write_mostly
	run cmd_memory_give_ data
	assert_output -p 'the RAM leg is the only good copy: keeping it'
	[[ -z $(calls) && ! -e $R/run/ramraid/data.detached ]]
}

@test "the only good copy stays, even beside an array that something else has started without it" {
	watched 512M
	mem 100
	# Another run than the one that a start has judged.
	rm -f "$R/run/ramraid/data.watched"
	eval "seen_$(declare -f facts_observe)"
	facts_observe() {
		seen_facts_observe
		F[ram.state]=attached F[witness.events]=120 F[witness.legs]=''
	}
	run cmd_memory_give_ data
	assert_output -p 'the RAM leg is the only good copy: keeping it'
	[[ -z $(calls) && ! -e $R/run/ramraid/data.detached ]]
}

@test "with MEMORY_FLOOR=0, or a device as RAM leg, there is nothing to watch" {
	verb memory data
	assert_success
	assert_output -p 'nothing to watch: MEMORY_FLOOR=0'
	printf 'MEMORY_FLOOR=5%%\nRAM=/dev/disk/by-id/nvme-F\n' >>"$R/etc/ramraid/data.conf"
	verb memory data
	assert_success
	assert_output -p 'nothing to watch'
}

@test "the watch of memory that begins anew while the configuration is broken goes by that of the start" {
	mem 600
	echo MEMORY_FLOOR=300M >>"$R/etc/ramraid/data.conf"
	conf_need data
	conf_need_keep data
	echo nonsense >>"$R/etc/ramraid/data.conf"
	memory_floor_begin() { echo "floor $MEMORY_FLOOR"; }
	cmd_memory_runs() { return 1; }
	run cmd_memory data
	assert_success
	assert_line "floor $((300 * 1024 * 1024))"
	# Nothing to go by: systemd does not run it again and again.
	rm "$R/run/ramraid/data.started"
	run cmd_memory data
	assert_failure 2
	grep -qx RestartPreventExitStatus=2 "$PROJECT/units/ramraid-memory@.service"
}

@test "the watch of memory ends with the array, or when ramraid no longer looks after that" {
	watched 512M
	cmd_memory_runs data
	rm "$R/run/ramraid/data.started"
	not cmd_memory_runs data
	: >"$R/run/ramraid/data.started"
	rm -r "$R/sys/block/md127"
	not cmd_memory_runs data
}

@test "no ramdisk is made if the check for memory itself fails" {
	local code=0
	mkdir -p "$RUN/.locks"
	ramdisk_rapiddisk_make() { called make && echo rd0; }
	ramdisk_note_write() { :; }
	for function in ramdisk_need ramdisk_why_not; do
		eval "real=\$(declare -f $function); $function() { exit 254; }"
		code=0
		ramdisk_make_locked_ data 1048576000 rapiddisk 10% auto 2>"$BATS_TEST_TMPDIR/log" ||
			code=$?
		[[ -z $(calls) && $code == "$EX_TRY_AGAIN" ]] || fail "$function: $code, $(calls)"
		grep -q 'the check itself failed' "$BATS_TEST_TMPDIR/log"
		eval "$real"
	done
}
