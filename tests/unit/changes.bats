#!/usr/bin/env bats
# What is reported of a running array: once, whoever looks, whether HOTPLUG is on or not, and never
# at a boot as it should be. What is said of disks that come and go with HOTPLUG=yes: hotplug.bats.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	A=aaaaaaaa-0000-0000-0000-000000000001 B=aaaaaaaa-0000-0000-0000-000000000002
	M=$R/sys/block/md127/md
	mkdir -p "$R/run/ramraid" "$R/proc/sys/kernel"
	echo 6.12.57 >"$R/proc/sys/kernel/osrelease"
	echo '5000.12 9000.00' >"$R/proc/uptime"
	LOG=$BATS_TEST_TMPDIR/log TOLD=$BATS_TEST_TMPDIR/told
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$([[ $1 == */sda ]] && echo 1 || echo 2)" \
			view=AAA events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" |
			numbered
	}
	notify_others() { printf '%s %s %s\n' "$1" "$2" "$3" >>"$TOLD"; }
	disks
}
# The array of two disks on a fake sysfs, as the kernel shows it.
disks() {
	local node
	printf '%s\n' "UUID=$ID" HOTPLUG=no MEMBER=/dev/disk/by-id/ata-A \
		MEMBER=/dev/disk/by-id/ata-B >"$R/etc/ramraid/data.conf"
	chmod 644 "$R/etc/ramraid/data.conf"
	mkdir -p "$M" "$R/sys/block/rd0"
	echo clean >"$M/array_state"
	echo "$ID" >"$M/uuid"
	echo idle >"$M/sync_action"
	echo none >"$M/resync_start"
	echo 51200 >"$M/component_size"
	echo 0 >"$M/degraded"
	fake_disk sda 104857600 disk/by-id/ata-A
	fake_disk sdb 104857600 disk/by-id/ata-B
	fake_disk rd0 104857600
	for node in sda sdb rd0; do
		echo 7 | tee "$R/sys/class/block/$node/diskseq" >"$R/sys/block/rd0/diskseq"
	done
	echo 'rapiddisk rd0 104857600 7 used' >"$R/run/ramraid/data.ram"
	member sda in_sync,write_mostly 1
	member sdb in_sync,write_mostly 2
	member rd0 in_sync 0
}
member() { # NODE STATE SLOT
	mkdir -p "$M/dev-$1" "$R/sys/class/block/$1/holders/md127"
	echo "$2" >"$M/dev-$1/state"
	echo "$3" >"$M/dev-$1/slot"
	echo 2048 >"$M/dev-$1/offset"
}
out() { rm -rf "${M:?}/dev-$1" "$R/sys/class/block/$1/holders/md127"; } # NODE: of the array
# pulled NODE
pulled() {
	rm -rf "${M:?}/dev-$1" "$R/sys/class/block/$1" "${R:?}/dev/$1"
	find "$R/dev/disk" -xtype l -delete
}
look() {
	: >"$TOLD"
	(cmd_witness_one data) 2>"$LOG" || fail "$(<"$LOG")"
}
says() { grep -qE -- "$1" "$LOG" || fail "not said: $1" "$(<"$LOG")"; }
told() { # LINE…
	[[ $(<"$TOLD") == "$(printf '%s\n' "$@")" ]] || fail 'told:' "$(<"$TOLD")" 'not:' "$@"
}
silent() { [[ ! -s $TOLD ]] || fail "$(<"$TOLD")"; }

@test "the first look reports nothing; later ones report each change once, also with HOTPLUG=no" {
	look
	silent
	pulled sdb
	look
	told 'warning disk-lost /dev/disk/by-id/ata-B'
	says 'ata-B is gone: .* When it is back, type: ramraid attach data'
	look
	silent
	fake_disk sdc 104857600 disk/by-id/ata-B
	look
	told 'warning disk-returned /dev/disk/by-id/ata-B'
	says 'ata-B is back; to put it back into the array: ramraid attach data'
	member sdc recovering,write_mostly 2
	look
	told 'notice disk-rebuilding /dev/disk/by-id/ata-B'
	member sdc in_sync,write_mostly 2
	look
	told 'notice disk-in-sync /dev/disk/by-id/ata-B'
}

@test "changes are reported from what the start found, and a second start while the array runs does not reset that" {
	conf_load data && before_look_configured data
	member rd0 recovering 0
	facts_observe
	transitions_begin data
	member rd0 in_sync 0
	member sdb faulty,write_mostly 2
	look
	told 'warning disk-failed /dev/disk/by-id/ata-B' 'notice ram-in-sync /dev/rd0'
	# It does not begin again while it runs.
	member sdb in_sync,write_mostly 2
	facts_observe
	transitions_begin data
	look
	told 'notice disk-in-sync /dev/disk/by-id/ata-B'
}

@test "the RAM leg is reported as lost, being rebuilt, in sync, and detached, which is no failure" {
	look
	out rd0
	rm "$R/run/ramraid/data.ram"
	look
	told 'warning ram-lost '
	says 'to rebuild it: ramraid attach data'
	echo 'rapiddisk rd0 104857600 7 used' >"$R/run/ramraid/data.ram"
	look
	silent
	member rd0 recovering 0
	look
	told 'notice ram-rebuilding /dev/rd0'
	member rd0 in_sync 0
	look
	told 'notice ram-in-sync /dev/rd0'
	out rd0
	rm "$R/run/ramraid/data.ram"
	: >"$R/run/ramraid/data.detached"
	look
	told 'notice ram-detached '
}

@test "with HOTPLUG=yes a failed RAM leg is rebuilt, but not after repeated failures" {
	echo HOTPLUG=yes >>"$R/etc/ramraid/data.conf"
	look
	member rd0 faulty 0
	look
	says 'it is rebuilt'
	member rd0 in_sync 0
	look
	printf '%s\n' 4990 4991 4992 >"$R/run/ramraid/data.failures"
	member rd0 faulty 0
	look
	says 'to rebuild it: ramraid attach data'
}

@test "if no disk leg has some blocks, the RAM leg is the only good copy, and its failure is reported as data loss" {
	look
	echo '3000 8' >"$M/dev-sda/bad_blocks"
	look
	silent
	echo '3000 8' >"$M/dev-sdb/bad_blocks"
	look
	told 'alert only-copy-in-ram '
	member rd0 faulty 0
	look
	told 'alert data-lost ' 'warning ram-lost '
	says 'only it had the blocks that md could not write to the disk legs: these are LOST'
	# Made again from the disks it lacks the same: what is lost is not reported again.
	member rd0 in_sync 0
	echo '3000 8' >"$M/dev-rd0/bad_blocks"
	look
	told 'notice only-copy-over ' 'notice ram-in-sync /dev/rd0'
}

@test "an alert says once that the RAM leg is the only good copy, also at the first look, and when that is over" {
	member sda faulty,write_mostly 1
	member sdb faulty,write_mostly 2
	look
	told 'alert only-copy-in-ram '
	says '^data: THE RAM LEG IS THE ONLY GOOD COPY'
	look
	silent
	member sdb in_sync,write_mostly 2
	look
	told 'notice only-copy-over ' 'notice disk-in-sync /dev/disk/by-id/ata-B'
}

@test "if the RAM leg is the only good copy, a unit that is not up is started, except during a shutdown" {
	mkdir -p "$R/run/systemd/system"
	systemctl() {
		case $* in
		*ActiveState*) echo "$UNIT" ;;
		*Job*shutdown.target) echo "$SHUTDOWN" ;;
		is-system-running) echo running ;;
		*) called systemctl "$@" ;;
		esac
	}
	UNIT=active SHUTDOWN=0
	member sda faulty,write_mostly 1
	member sdb faulty,write_mostly 2
	look
	[[ $(calls) != *'systemctl start'* ]] || fail "$(calls)"
	UNIT=failed SHUTDOWN=17
	look
	[[ $(calls) != *'systemctl start'* ]] || fail "$(calls)"
	SHUTDOWN=0
	look
	[[ $(calls) == *'systemctl reset-failed ramraid@data.service'*'systemctl start --no-block ramraid@data.service'* ]] ||
		fail "$(calls)"
}

@test "whether the machine is shutting down: a systemd that gives no answer is asked again" {
	stopping() { # CODE ANSWERED-AT JOB STATE CALLS
		local code=0
		rm -f "$BATS_TEST_TMPDIR/calls"
		AT=$2 JOB=$3 SYSTEM=$4
		systemd_is_stopping 2>"$BATS_TEST_TMPDIR/log" || code=$?
		[[ $code == "$1" && $(calls | wc -l) == "$5" ]] || fail "$*: $code, $(calls)"
	}
	systemctl() {
		[[ $1 == show ]] || {
			echo "$SYSTEM"
			[[ $SYSTEM == running ]]
			return
		}
		called look
		(($(calls | wc -l) >= AT)) && echo "$JOB"
	}
	sleep() { :; }
	stopping 1 1 '' running 1
	stopping 1 1 0 degraded 1
	stopping 0 1 17 starting 1
	stopping 0 1 0 stopping 1
	stopping 1 3 0 running 3
	stopping 0 5 17 running 5
	stopping 2 6 0 running 5
	grep -q 'does not say whether the machine is shutting down' "$BATS_TEST_TMPDIR/log"
	stopping 2 1 0 unknown 5
	stopping 2 1 0 '' 5
	# What that is taken for: a stop by systemd goes with the machine, one that a person has
	# typed does not.
	mkdir -p "$R/run/systemd/system"
	AT=9
	not stop_going_down 2>/dev/null
	SYSTEMD_EXEC_PID=$$ RAMRAID_UNIT=yes
	stop_going_down 2>/dev/null
	# Nor does an end that nobody has foreseen, such as for want of a process, say that it stays up.
	real=$(declare -f systemd_is_stopping)
	systemd_is_stopping() { return 254; }
	stop_going_down
	eval "$real"
	AT=1 JOB=0 SYSTEM=running
	not stop_going_down 2>/dev/null
}

@test "if the RAM leg fails while it is the only good copy, that is not reported as over" {
	member sda faulty,write_mostly 1
	member sdb faulty,write_mostly 2
	look
	member rd0 faulty 0
	look
	told 'warning ram-lost '
}

@test "while a verb holds the lock, only changes that can't be its work are reported" {
	look
	paths_run
	exec {held}>"$R/run/ramraid/.locks/work.data"
	flock "$held"
	out sda
	out rd0
	look
	silent
	pulled sdb
	look
	told 'warning disk-lost /dev/disk/by-id/ata-B'
	exec {held}>&-
	look
	told 'notice disk-removed /dev/disk/by-id/ata-A' 'warning ram-lost '
}

@test "if several look at the same moment, one of them reports" {
	look
	pulled sdb
	: >"$TOLD"
	local pids=() i
	for i in 1 2 3 4; do
		(cmd_witness_one data) 2>>"$LOG" &
		pids+=($!)
	done
	wait "${pids[@]}"
	told 'warning disk-lost /dev/disk/by-id/ata-B'
}

# replaced: another disk is in the array where ata-B was, and in the configuration.
replaced() { sed -i s/ata-B/ata-C/ "$R/etc/ramraid/data.conf"; }

@test "a look that began before a replacement ended reports no lost disk, and does not count the array as degraded" {
	mkdir -p "$R/etc/ramraid/state" "$R/proc/sys/kernel/random"
	echo b0b0b0b0-0000-4000-8000-000000000001 >"$R/proc/sys/kernel/random/boot_id"
	look
	pulled sdb
	look
	conf_load data && before_look_configured data && facts_observe
	fake_disk sdc 104857600 disk/by-id/ata-C
	member sdc in_sync,write_mostly 2
	replaced
	look
	told 'notice disk-in-sync /dev/disk/by-id/ata-C'
	: >"$TOLD"
	sort "$R/run/ramraid/data.told" >"$TOLD.before"
	cp "$R/etc/ramraid/state/data.lately" "$TOLD.lately"
	# It has the facts of before.
	transitions_tell data 2>"$LOG"
	silent
	sort "$R/run/ramraid/data.told" | cmp - "$TOLD.before"
	# It has read the configuration of before.
	sed -i s/ata-C/ata-B/ "$R/etc/ramraid/data.conf"
	witness_update() { replaced; }
	look
	silent
	sort "$R/run/ramraid/data.told" | cmp - "$TOLD.before"
	cmp "$R/etc/ramraid/state/data.lately" "$TOLD.lately"
}

@test "wait succeeds if a disk is replaced meanwhile and the array is whole without the old one" {
	pulled sdb
	fake_disk sdc 104857600 disk/by-id/ata-C
	member sdc in_sync,write_mostly 2
	conf_load data
	systemd_unit_state() {
		replaced
		echo active
	}
	systemd_unit_works() { false; }
	systemd_mend_works() { false; }
	wait_whole data infinity 2>"$LOG" || fail "$(<"$LOG")"
}

@test "if the configuration becomes unreadable during a look, the look uses the members that it knows" {
	look
	conf_load data && before_look_configured data && facts_observe
	pulled sdb
	: >"$TOLD"
	echo nonsense >>"$R/etc/ramraid/data.conf"
	transitions_tell data 2>"$LOG"
	told 'warning disk-lost /dev/disk/by-id/ata-B'
}

@test "a note of reported states in an older form counts as a first look" {
	printf 'in_sync\nin_sync\n' >"$R/run/ramraid/data.told"
	pulled sdb
	look
	silent
	fake_disk sdc 104857600 disk/by-id/ata-B
	look
	told 'warning disk-returned /dev/disk/by-id/ata-B'
}

@test "nothing is reported of an array that is stopped, or that has RAM=none" {
	echo RAM=none >>"$R/etc/ramraid/data.conf"
	look
	rm -rf "$R/sys/block/md127" "$R"/sys/class/block/*/holders/md127
	look
	silent
}

@test "if the note of reported states can't be written, a message says so, and the look does not fail" {
	look
	rm "$R/run/ramraid/data.told"
	mkdir -p "$R/run/ramraid/data.told.new"
	pulled sdb
	look
	says "can't be written, so it will be reported again"
}

@test "a refused start is reported once for each reason" {
	conf_load data && before_look_configured data && facts_observe
	: >"$TOLD"
	WHY=because
	transitions_of_start data 4
	transitions_of_start data 4
	told 'warning start-refused '
	: >"$TOLD"
	WHY='something else'
	transitions_of_start data 4
	transitions_of_start data 4
	told 'warning start-refused '
}

@test "a copy of a member under another leg's name is reported as a copy" {
	conf_load data && before_look_configured data && facts_observe
	F[leg.1.state]='' F[leg.1.in]='' F[leg.1.sb]=ok F[leg.1.uuid]=${F[uuid]} F[leg.1.role]=1 \
		F[leg.1.device_uuid]=x F[leg.1.number]=1 F[leg.0.member_uuid]=x
	transitions_leg 1
	[[ $LEG == copy ]] || fail "$LEG"
	: >"$TOLD"
	transitions_say_leg_ data 1 copy 2>"$LOG"
	told "warning disk-refused ${F[leg.1.dev]}"
	says "has the device UUID of ${F[leg.0.dev]}, which is in the array: one of the two is a \
copy of the other"
}

@test "the end of a start is reported as refused, failed, degraded, or without the RAM leg" {
	conf_load data && before_look_configured data && facts_observe
	: >"$TOLD"
	transitions_of_start data 0
	silent
	WHY=because GATE_WHY=because
	transitions_of_start data 4
	transitions_of_start data 1
	member rd0 faulty 0
	pulled sdb
	facts_observe
	transitions_of_start data 0
	told 'warning start-refused ' 'warning start-failed ' \
		'warning start-degraded /dev/disk/by-id/ata-B' 'warning start-without-ram '
}
