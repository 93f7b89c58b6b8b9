#!/usr/bin/env bats
# ramraid stop: who uses the array is known before anything is changed, and is named; what a
# shutdown does when others are at work.

setup() {
	load helper
	world
	libraries
	declare -gA CONF=([RAM]=auto [MEMBER_TIMEOUT]=30s)
	declare -g NAME=data
	BASE=whole-2 GOING='' USERS=''
	before_look_configured() { facts_read <"$FIXTURES/decide/$BASE.facts"; }
	facts_observe() { :; }
	conf_need_started() { :; }
	contents_remember() { :; }
	copy_stop() { :; }
	witness_update_or_go_on() { called witness; }
	whole_since_update() { :; }
	systemd_stop_monitor() { :; }
	systemd_is_unit() { :; }
	systemd_start() { called start; }
	stop_going_down() { [[ -n $GOING ]]; }
	md_drop() { called drop "$@"; }
	ramdisk_drop() { called ramdisk_drop "$@"; }
	md_stop() { called md_stop "$@"; }
	sleep() { SECONDS=$((SECONDS + 1)); }
}

did() { [[ $(calls) == "$1" ]] || fail "$(calls)"; }
said() { grep -qF -- "$1" "$BATS_TEST_TMPDIR/log" || fail "$(<"$BATS_TEST_TMPDIR/log")"; }
# stops CODE: the unit's own stop ends so.
stops() {
	local code=0
	rm -f "$BATS_TEST_TMPDIR/calls"
	(set -Eeuo pipefail && stop_here data) 2>"$BATS_TEST_TMPDIR/log" || code=$?
	((code == $1)) || fail "expected $1, got $code: $(<"$BATS_TEST_TMPDIR/log")"
}

# can_save: there is a place for the rescue image.
can_save() {
	CONF[RESCUE]=/var
	rescue_why_not() { :; }
	rescue_write() { called rescue "$1" "$3"; }
	superblock_says() { echo 120; }
}

# md: an array of these legs as sysfs has it. OPEN=yes: somebody has it open, as md counts.
array() {
	mkdir -p "$R/sys/block/md127/md" "$R/sys/class/block/md127/holders" \
		"$R/sys/class/block/md127/md127p1"
	echo 9:127 >"$R/sys/class/block/md127/dev"
	mkdir -p "$R/sys/class/block/md127p1"
	echo 259:3 >"$R/sys/class/block/md127p1/dev"
	echo "${1:-clean}" >"$R/sys/block/md127/md/array_state"
	md_write_quietly_() {
		echo x >>"$BATS_TEST_TMPDIR/asked"
		[[ -z ${OPEN-} ]] && called write "${1##*/}" "$2"
	}
	md_make_writable() { called writable; }
}

@test "if nobody has the array open, md is asked, then the RAM leg leaves, then the array is stopped" {
	array
	stops 0
	did $'write array_state read-auto\nwritable\nwitness\ndrop md127 rd0\nramdisk_drop data\nwitness\nmd_stop md127'
}

@test "if what is on the array can't be recorded, that is said, and the stop goes on" {
	array
	contents_remember() { return 1; }
	stops 0
	said 'data: could not record what is on it'
	[[ $(calls) == *'md_stop md127' ]]
}

@test "going down, an array that something else stops meanwhile is not stopped a second time" {
	local looks=0
	array
	GOING=yes
	systemd_stop_monitor() { called stop_monitor "$@"; }
	facts_observe() {
		looks=$((looks + 1))
		((looks < 3)) || F[array.state]=absent F[array.md]='' F[ram.state]=attached
	}
	witness_update_foreign_start() { :; }
	stops 0
	did $'witness\ndrop md127 rd0\nramdisk_drop data\nstop_monitor md127\nramdisk_drop data'
	[[ ! -s $BATS_TEST_TMPDIR/log ]] || fail "$(<"$BATS_TEST_TMPDIR/log")"
}

# by_hand: "mdadm --stop" has stopped it, and the ramdisk has what no disk has.
by_hand() {
	BASE=stopped-2
	before_look_configured() {
		facts_read <"$FIXTURES/decide/$BASE.facts"
		F[ram.node]=rd0 F[ram.state]=attached F[witness.legs]='' F[witness.events]=120
	}
	witness_update_foreign_start() { :; }
	md_modules() { :; }
	md_format_why() { printf "%s" "${OTHER-}"; }
	systemd_stop_monitor() { :; }
	md_assemble() {
		called assemble "$@" && [[ -z ${FAILS-} ]] || return 1
		facts_read <"$FIXTURES/decide/whole-2.facts"
		F[ram.state]=in_sync F[leg.0.state]='' F[leg.1.state]=''
		F[leg.0.node]='' F[leg.1.node]='' F[leg.0.in]='' F[leg.1.in]=''
	}
	array
}

@test "going down after a stop by hand, the array is started from the only good copy in its ramdisk, and saved" {
	by_hand
	can_save
	md_stop() { called md_stop "$@"; }
	GOING=going-down stops 0
	did $'assemble data rd0\nwrite array_state read-auto\nwritable\nrescue data md127
witness\nmd_stop md127\nramdisk_drop data'
	said 'starting it from the ramdisk rd0. Do not cut the power'
	# md does not start it: it is not given back.
	FAILS=yes GOING=going-down stops 4
	did 'assemble data rd0'
	said 'it could not be started from the ramdisk rd0; try it by hand: mdadm --assemble --run'
	# Nor when mdadm would start something else from it.
	OTHER='mdadm reads /dev/rd0 as a member of another array' GOING=going-down stops 4
	did ''
	said 'mdadm reads /dev/rd0 as a member of another array'
	# Put on disk before: nothing is assembled, and its memory is given back.
	before_look_configured() { facts_read <"$FIXTURES/decide/$BASE.facts"; }
	GOING=going-down stops 0
	did 'ramdisk_drop data'
}

@test "after a stop by hand, a stop keeps the only good copy, ends with 4, and the unit is up" {
	by_hand
	stops 4
	did $'assemble data rd0\nwrite array_state read-auto\nwritable\nstart'
	said 'is the only good copy, and no disk leg can be rebuilt from it: keeping it'
	FAILS=yes stops 4
	did $'assemble data rd0\nstart'
	DRY_RUN=yes stops 4
	did ''
	said 'the ramdisk rd0 stays: no disk has what was written last'
}

# by_hand_from_disks STATE: after that, "mdadm --assemble" has started it, or only gathered them.
by_hand_from_disks() {
	by_hand
	HAND_STATE=$1
	before_look_configured() {
		facts_read <"$FIXTURES/decide/whole-2.facts"
		F[array.state]=$HAND_STATE F[array.known]=no
		F[ram.state]=attached F[witness.legs]='' F[witness.events]=120
	}
	md_stop() { called md_stop "$@" && F[array.state]=absent F[array.md]=''; }
}

@test "an array started from its disks beside the only good copy: its ramdisk stays, and is saved when going down" {
	by_hand_from_disks active
	stops 4
	did $'write array_state read-auto\nwritable\nstart'
	said 'the ramdisk rd0 stays: no disk has what was written last. Do not cut the power'
	said 'mdadm --stop /dev/md127 && mdadm --assemble --run /dev/md/data /dev/rd0 && ramraid start data'
	can_save
	GOING=going-down stops 0
	did $'md_stop md127\nassemble data rd0\nrescue data md127\nwitness\nmd_stop md127\nramdisk_drop data'
	# What is mounted by hand goes at the same time.
	stop_in_use_() { echo /srv; }
	stop_wait_for_users_() { called wait; }
	GOING=going-down stops 0
	[[ $(calls) == $'wait\nmd_stop md127\nassemble data rd0\nrescue data md127'* ]] || fail "$(calls)"
	stop_in_use_() { :; }
	# Something has it open still.
	md_stop() { called md_stop "$@" && return 1; }
	GOING=going-down stops 4
	did 'md_stop md127'
}

@test "disks gathered but not started beside the only good copy: a stop starts the array from the ramdisk" {
	by_hand_from_disks inactive
	stops 4
	did $'md_stop md127\nassemble data rd0\nwrite array_state read-auto\nwritable\nstart'
	said 'is the only good copy, and no disk leg can be rebuilt from it: keeping it'
	# md does not stop it: told, also while the machine goes down.
	md_stop() { called md_stop "$@" && return 1; }
	for GOING in '' going-down; do
		stops 4
		said 'the ramdisk rd0 stays: no disk has what was written last. Do not cut the power'
	done
}

@test "going down, the RAM leg is saved if the last disk leg fails while the record is written" {
	array
	can_save
	witness_update_or_go_on() {
		called witness
		[[ -n ${DEAD-} ]] || DEAD=yes
	}
	facts_observe() {
		[[ -z ${DEAD-} ]] ||
			F[leg.0.state]='' F[leg.1.state]='' F[leg.0.node]='' F[leg.1.node]=''
	}
	md_drop() { called drop "$@" && [[ -z ${DEAD-} ]]; }
	GOING=going-down stops 0
	did $'witness\ndrop md127 rd0\nrescue data md127\nwitness\nmd_stop md127\nramdisk_drop data'
}

@test "going down, an array that somebody starts from its disks is started from the ramdisk again, and saved" {
	local looks=0
	by_hand_from_disks active
	before_look_configured() {
		facts_read <"$FIXTURES/decide/whole-2.facts"
		F[leg.0.state]='' F[leg.1.state]='' F[leg.0.in]='' F[leg.1.in]=''
		F[leg.0.node]='' F[leg.1.node]='' F[witness.legs]='' F[witness.events]=120
	}
	facts_observe() {
		looks=$((looks + 1))
		((looks != 3)) || F[ram.state]=attached F[leg.0.state]=in_sync
	}
	can_save
	GOING=going-down stops 0
	[[ $(calls) == *$'md_stop md127\nassemble data rd0\nrescue data md127'* ]] || fail "$(calls)"
}

@test "going down, an array stopped while its RAM leg is the only good copy is started again, and saved" {
	local looks=0
	by_hand
	CONF[RESCUE]=/var
	BASE=whole-2
	before_look_configured() {
		facts_read <"$FIXTURES/decide/$BASE.facts"
		F[leg.0.state]='' F[leg.1.state]='' F[leg.0.in]='' F[leg.1.in]=''
		F[leg.0.node]='' F[leg.1.node]=''
	}
	facts_observe() {
		looks=$((looks + 1))
		((looks != 3)) || F[array.state]=absent F[array.md]='' F[ram.state]=attached
	}
	rescue_why_not() { :; }
	rescue_write() { called rescue "$1" "$3"; }
	superblock_says() { echo 120; }
	GOING=going-down stops 0
	[[ $(calls) == *$'assemble data rd0\nrescue data md127'* ]] || fail "$(calls)"
}

@test "if something unseen has the array open, nothing is changed, and its unit is up again" {
	array
	OPEN=yes stops 1
	did start
	said 'is in use by something that no table shows: ZFS, '
	# udev may look into it just then: as long as mdadm does.
	[[ $(wc -l <"$BATS_TEST_TMPDIR/asked") == 25 ]] ||
		fail "asked $(wc -l <"$BATS_TEST_TMPDIR/asked") times"
}

@test "who has the array open is named: a mount in another namespace, a descriptor, a loop device, an export" {
	array
	mkdir -p "$R"/proc/{71,72,80}/fd "$R/sys/block/loop3/loop" \
		"$R/sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1" \
		"$R/sys/kernel/config/target/core/iblock_0/disk"
	echo '30 1 8:1 / / rw - ext4 /dev/sda1 rw' |
		tee "$R/proc/1/mountinfo" >"$R/proc/72/mountinfo"
	printf '%s\n' '40 1 9:127 / /srv/a\040b rw - ext4 /dev/md127 rw' \
		'41 1 0:50 / /x rw - fuse.x /dev/md127 rw' \
		'42 1 0:51 / /tree rw - btrfs /dev/md127p1 rw' >"$R/proc/71/mountinfo"
	cp "$R/proc/71/mountinfo" "$R/proc/80/mountinfo" # the same namespace
	echo holder >"$R/proc/71/comm"
	echo 'a reader' >"$R/proc/72/comm"
	ln -s /dev/zero "$R/proc/72/fd/5" # 1:5
	: >"$R/dev/md127"
	: >"$R/dev/md127p1"
	echo "/chroot/dev/md127" >"$R/sys/block/loop3/loop/backing_file"
	losetup() { stat -c '%Hd:%Ld %i' "$R/dev/md127"; }
	echo "/dev/md127" >"$R/sys/kernel/config/target/core/iblock_0/disk/udev_path"
	echo "/dev/md127p1" >"$R/sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path"
	OPEN=yes stops 1
	did start
	said "is in use by /srv/a b in the mount namespace of holder (PID 71), /tree in the mount \
namespace of holder (PID 71), the loop device loop3, the NVMe export nqn.x, the SCSI export \
iblock_0/disk. Unmount"
	echo 1:5 >"$R/sys/class/block/md127/dev"
	[[ $(openers_of md127 | head -n 2) == *$'\na reader (PID 72)' ]] ||
		fail "$(openers_of md127)"
	# What the first process has mounted as well is no other's.
	cp "$R/proc/71/mountinfo" "$R/proc/1/mountinfo"
	[[ $(openers_of md127) != */tree* ]] || fail "$(openers_of md127)"
}

@test "who has the array open is named even beside a user's many descriptors and mounts" {
	array
	mkdir -p "$R"/proc/{70,71,72}/fd
	echo 1:5 >"$R/sys/class/block/md127/dev"
	echo 'a reader' >"$R/proc/72/comm"
	perl -e 'symlink "/home/user/dev/x", "$ARGV[0]/proc/70/fd/$_" for 1 .. 4000' "$R"
	ln -s /dev/zero "$R/proc/72/fd/5" # 1:5
	perl -e 'print "$_ 1 1:5 / /home/user/$_ rw - ext4 /dev/md127 rw\n" for 100 .. 9000' \
		>"$R/proc/70/mountinfo"
	# What only has the number as its source is none of them.
	perl -e 'print "$_ 1 0:9 / /home/user/$_ rw - tmpfs 1:5 rw\n" for 10100 .. 19000' \
		>"$R/proc/71/mountinfo"
	echo '40 1 1:5 / /srv rw - ext4 /dev/md127 rw' >>"$R/proc/71/mountinfo"
	# As many arguments as a kernel takes are fewer here: 128 KiB.
	(ulimit -s 256 && openers_of md127) >"$BATS_TEST_TMPDIR/out"
	grep -qxF 'a reader (PID 72)' "$BATS_TEST_TMPDIR/out" || fail "$(<"$BATS_TEST_TMPDIR/out")"
	grep -qxF '/srv in the mount namespace of a process (PID 71)' "$BATS_TEST_TMPDIR/out"
	[[ $(grep -c '(PID 70)$' "$BATS_TEST_TMPDIR/out") == 64 ]]
	not grep -q somebody "$BATS_TEST_TMPDIR/out"
}

# The record could not be written since the disks left, because the root is read-only, say: only the
# ramdisk's superblock could tell that it alone is good.
@test "a ramdisk that can't be looked at stays when the array does not run" {
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[array.state]=absent F[array.md]='' F[ram.state]=attached F[ram.node]=rd0 F[ram.slot]=
	F[witness.legs]='a b' F[witness.events]=100 F[uuid]=u
	CONF[WITNESS_COPY]=none
	superblock_facts() { printf '%s\n' "${SB[@]}"; }
	local SB=(sb=unreadable unseen=yes)
	run stop_absent_ data
	assert_failure 75
	assert_output -p "its ramdisk rd0 can't be looked at just now"
	did ''
	# It can be seen, and has no more than the record knows.
	SB=(sb=ok uuid=u role=0 view=AAA events=100 recovery=)
	run stop_absent_ data
	assert_success
	did 'ramdisk_drop data'
}

# As a FUSE server makes it that has taken the request and does not answer.
@test "a stat that can't be killed does not hold up the search for who has the array open" {
	local pids
	array
	mkdir -p "$R/bin" "$R/proc/70/fd"
	ln -s /home/user/mnt/dev/x "$R/proc/70/fd/5"
	# In a session of its own, so that no KILL of ours reaches it.
	printf '#!/bin/sh\ncase $* in *%%t:%%T*) ;; *) exec %s "$@" ;; esac\n' "$(type -P stat)" \
		>"$R/bin/stat"
	printf 'exec setsid sh -c "echo \\$\\$ >>%s/pids; exec sleep 60"\n' "$R" >>"$R/bin/stat"
	chmod 755 "$R/bin/stat"
	eval "$(declare -f openers_bounded_ | sed 's/2 \* OPENERS_BOUND + 2/3/')"
	eval "$(declare -f openers_programs_each_ | sed 's/"$OPENERS_BOUND"/1/g')"
	SECONDS=0
	PATH=$R/bin:$PATH openers_of md127 >"$BATS_TEST_TMPDIR/out"
	((SECONDS < 20)) || fail "$SECONDS s"
	grep -qxF 'something unknown (not all processes could be examined)' "$BATS_TEST_TMPDIR/out"
	mapfile -t pids <"$R/pids"
	builtin kill "${pids[@]}"
}

@test "of very many users and of a very long path, a part is named" {
	local pid path
	array
	mkdir -p "$R"/proc/{70,71,72,73}
	path=$(printf '%3000s' '' | tr ' ' x)
	for pid in 70 71 72 73; do
		perl -e 'print "$ARGV[0]$_ 1 9:127 / /$ARGV[1] rw - ext4 /dev/md127 rw\n" for 100 .. 160' \
			"$pid" "$path" >"$R/proc/$pid/mountinfo"
	done
	openers_of md127 >"$BATS_TEST_TMPDIR/out"
	(($(wc -l <"$BATS_TEST_TMPDIR/out") == 101)) || fail "$(wc -l <"$BATS_TEST_TMPDIR/out")"
	grep -qxF 'something unknown (not all processes could be examined)' "$BATS_TEST_TMPDIR/out"
	not grep -q '.\{300\}' "$BATS_TEST_TMPDIR/out"
	OPEN=yes stops 1
	said ', and 91 more. Unmount or stop that'
}

@test "a search of all processes that was cut off counts as something that has the array open" {
	local which ends OUT
	array
	mkdir -p "$R"/proc/72/fd
	timeout() {
		[[ " $* " != *" $which "* ]] || return "$ends"
		command timeout "$@"
	}
	# A process that ends meanwhile is no reason.
	for ends in 1 124 126 137; do
		for which in grep find xargs; do
			[[ $ends-$which != 1-xargs ]] || ends=123
			OUT=$(set -o pipefail && openers_of md127)
			if ((ends < 124)); then
				[[ -z $OUT ]] || fail "$which $ends: $OUT"
			else
				[[ $OUT == 'something unknown (not all processes could '* &&
					$OUT != *$'\n'* ]] || fail "$which $ends: $OUT"
			fi
		done
	done
	# So many file systems that do not give their device's number are not looked at.
	which=none
	perl -e 'print "$_ 1 0:9 / /x/$_ rw - btrfs /dev/sdz rw\n" for 100 .. 1200' \
		>"$R/proc/72/mountinfo"
	[[ $(openers_of md127) == 'something unknown'* ]]
	sed -i 1,200d "$R/proc/72/mountinfo"
	[[ -z $(openers_of md127) ]] || fail "$(openers_of md127)"
}

@test "a user's loop device whose file only has the array's name does not count as having it open" {
	local asked=$BATS_TEST_TMPDIR/asked BOUNDED=1 form
	array
	mkdir -p "$R"/sys/block/loop{7,8,9}/loop "$R/dev/md"
	: >"$R/dev/md127"
	: >"$R/mine"
	ln -s ../md127 "$R/dev/md/data"
	echo /dev/md/data | tee "$R"/sys/block/loop{7,8,9}/loop/backing_file >/dev/null
	# One is on a file system that does not answer: the others are seen all the same.
	losetup() {
		echo "$*" >>"$asked"
		[[ $* != */loop8 ]] || sleep 60
		[[ $* == */loop9 ]] || stat -c '%Hd:%Ld %i' "$R/mine"
		[[ $* != */loop9 ]] || stat -c "$form" "$R/dev/md127"
	}
	# As util-linux 2.41 and 2.38 print it.
	for form in '%Hd:%Ld %i' '\x20\x20%Hd:%Ld\x20 %i'; do
		[[ $(openers_of md127) == 'the loop device loop9' ]] ||
			fail "$form: $(openers_of md127)"
	done
	[[ $(<"$asked") == *'--output BACK-MAJ:MIN,BACK-INO /dev/loop7'* ]] || fail "$(<"$asked")"
}

@test "if somebody opens the array before its stop, that is said, and that the RAM leg is out; its unit starts again" {
	array
	md_stop() { return 1; }
	openers_of() { echo 'late (PID 9)'; }
	stops 1
	[[ $(calls) == *$'\ndrop md127 rd0\nramdisk_drop data\nwitness\nstart' ]] || fail "$(calls)"
	said "md127 could not be stopped; it is in use by: late (PID 9), since a moment ago. The \
RAM leg is out already, and the next start rebuilds it"
}

@test "going down, md is not asked, and an array that does not stop is left to systemd-shutdown" {
	array
	md_stop() { return 1; }
	openers_of() { :; }
	GOING=going-down OPEN=yes stops 0
	did $'witness\ndrop md127 rd0\nramdisk_drop data\nwitness'
	said 'Leaving it to systemd-shutdown'
}

@test "going down with the only good copy, an unseen writer is waited for before the image is made" {
	array
	rm -r "$R/sys/class/block/md127/md127p1"
	before_look_configured() {
		facts_read <"$FIXTURES/decide/$BASE.facts" &&
			F[leg.0.state]=faulty F[leg.1.state]=faulty
	}
	openers_of() {
		[[ -e $BATS_TEST_TMPDIR/ended ]] ||
			echo '/x in the mount namespace of writer (PID 9)'
	}
	sleep() {
		SECONDS=$((SECONDS + 1))
		((SECONDS < 40)) || : >"$BATS_TEST_TMPDIR/ended"
	}
	clock() { NOW=$SECONDS; }
	detach_ram() {
		called release "$([[ -e $BATS_TEST_TMPDIR/ended ]] || echo 'torn by a writer')"
		DETACH_RAM_RESCUED=''
	}
	GOING=going-down stops 0
	did $'write array_state read-auto\nwritable\nrelease \nwitness\nmd_stop md127'
}

# ZFS has no holder in sysfs, its mounts have no device, and it has no descriptor.
@test "so is a user that only md knows, such as ZFS" {
	array
	rm -r "$R/sys/class/block/md127/md127p1"
	before_look_configured() {
		facts_read <"$FIXTURES/decide/$BASE.facts" &&
			F[leg.0.state]=faulty F[leg.1.state]=faulty
	}
	openers_of() { :; }
	md_write_quietly_() { ((SECONDS >= 40)) && called write "${1##*/}" "$2"; }
	sleep() { [[ $1 == 0.2 ]] || SECONDS=$((SECONDS + 1)); } # the other is in a subshell
	clock() { NOW=$SECONDS; }
	detach_ram() {
		called release "after $SECONDS s"
		DETACH_RAM_RESCUED=''
	}
	SECONDS=0
	GOING=going-down stops 0
	[[ $(calls) == $'write array_state read-auto\nwritable\nrelease after 4'[01]* ]] ||
		fail "$(calls)"
	# After a minute and a half it goes on all the same.
	md_write_quietly_() { return 1; }
	SECONDS=0
	GOING=going-down stops 0
	said 'still in use by something that no table shows: ZFS'
	[[ $(calls) == 'release after 9'* ]] || fail "$(calls)"
}

@test "a person is told as well if only md knows the user, and not that nobody uses the array" {
	array
	OPEN=yes
	openers_of() { :; }
	systemd_unit_is_up() { :; }
	systemd_stop() { return 1; }
	systemd_reset() { :; }
	stop_in_unit() { stop_by_systemd data; }
	run stop_in_unit
	assert_failure 1
	assert_output -p 'is still running, in use by: something that no table shows: ZFS'
}

@test "md is not asked about an array that is read-only, or was never written" {
	local state
	for state in readonly read-auto; do
		array "$state"
		OPEN=yes stops 0
		[[ $(calls) == *md_stop* && $(calls) != *write* ]] || fail "$(calls)"
	done
}

# locked COMMAND: another process that holds the array's lock, in its own words; sets OTHER to it.
# It ends with the test. While it waits it forks nothing: a child that is not a program yet would
# hold the lock a moment longer than its parent.
locked() {
	mkdir -p "$R/run/ramraid/.locks"
	LOCKED=$R/run/ramraid/.locks/work.data
	mkfifo "$BATS_TEST_TMPDIR/silent"
	bash -c 'cd "$0"; lib=lib; source lib/core/load.sh; need core/lock; lock_take L "$1" --nonblock; '"$1"'; echo ready; while :; do read -rt 600 <>"$2"; done' "$PROJECT" "$LOCKED" "$BATS_TEST_TMPDIR/silent" >"$BATS_TEST_TMPDIR/ready" 3>&- 4>&- &
	OTHER=$!
	until grep -q ready "$BATS_TEST_TMPDIR/ready"; do command sleep 0.02; done
}
# Ends it, and waits until it is dead: it may be no child of this subshell.
dies() {
	kill -KILL "$OTHER" 2>/dev/null || :
	while bounded_process_began "$OTHER"; do command sleep 0.02; done
}
teardown() { [[ -z ${OTHER-} ]] || kill -KILL "$OTHER" 2>/dev/null || :; }
# Each look at the lock that fails takes the time that it says.
hasty() {
	flock() {
		[[ $1 != --timeout ]] || [[ $2 == 0 ]] || {
			SECONDS=$((SECONDS + $2)) && set -- --nonblock "${@:3}"
		}
		command flock "$@" 8>&-
	}
	log_alert() { log_error "console: $1"; }
}

@test "the lock is held as long as its process runs, and not by a program that it has left behind" {
	mkdir -p "$R/run/ramraid/.locks"
	local file=$R/run/ramraid/.locks/x L left
	lock_take L "$file" --nonblock
	not flock --nonblock "$file" true
	bash -c 'ls -l /proc/self/fd' >"$BATS_TEST_TMPDIR/fds"
	not grep "$file" "$BATS_TEST_TMPDIR/fds"
	exec {L}>&-
	flock --nonblock "$file" true
	bash -c 'cd "$0"; lib=lib; source lib/core/load.sh; need core/lock; lock_take L "$1"; sleep 60 & echo $!' "$PROJECT" "$file" >"$BATS_TEST_TMPDIR/left" 3>&- 4>&-
	left=$(<"$BATS_TEST_TMPDIR/left")
	# As long as it is a copy of bash it has what bash has.
	while [[ $(<"/proc/$left/comm") != sleep ]]; do sleep 0.05; done
	flock --nonblock "$file" true || fail 'a program that was left behind has it'
	kill "$(<"$BATS_TEST_TMPDIR/left")"
	run lock_take L "$R/nowhere/x"
	assert_failure 2
}

@test "the holder of the lock is known by its process number and start time" {
	local HOLDER HOLDER_WORK
	locked 'lock_sign "$1" replace'
	lock_holder "$LOCKED"
	[[ $HOLDER == "$OTHER" && $HOLDER_WORK == replace ]] || fail "$HOLDER $HOLDER_WORK"
	echo "$OTHER 1 replace" >"$LOCKED"
	lock_holder "$LOCKED"
	[[ -z $HOLDER ]] || fail 'a later process of that number'
	kill -KILL "$OTHER"
	wait "$OTHER" || :
	OTHER=''
	printf '%s\n' '77777777 5 replace' >"$LOCKED"
	lock_holder "$LOCKED"
	[[ -z $HOLDER ]]
	lock_sign "$LOCKED" stop
	lock_holder "$LOCKED"
	[[ -z $HOLDER ]] || fail 'itself'
}

@test "a stop that a person typed ends with 75 if another ramraid is at work, and says so" {
	array
	hasty
	systemd_is_unit() { return 1; }
	locked 'lock_sign "$1" replace'
	eval "hasty_$(declare -f flock)"
	flock() {
		[[ $1 != --timeout ]] || echo "$2" >>"$BATS_TEST_TMPDIR/waits"
		hasty_flock "$@"
	}
	stops 75
	did ''
	said 'ramraid replace (PID '
	(($(paste -sd + "$BATS_TEST_TMPDIR/waits") == 60)) || fail "$(<"$BATS_TEST_TMPDIR/waits")"
}

# Otherwise the unit stays failed, and systemd does not stop it at a shutdown.
@test "a stop of the unit that ends with 75 starts the unit again" {
	array
	hasty
	locked 'lock_sign "$1" replace'
	stops 75
	did start
	kill -KILL "$OTHER"
	wait "$OTHER" || :
	OTHER=''
	# Nor when there is no place for a lock.
	rm -r "$R/run/ramraid/.locks"
	: >"$R/run/ramraid/.locks"
	stops 1
	did start
}

@test "a start of the unit waits for another ramraid if the array runs, but not for long at a boot" {
	local RUNS=yes
	array
	hasty
	watched_is() { [[ -n $RUNS ]]; }
	systemd_status() { called status "$1"; }
	locked 'lock_sign "$1" apply'
	eval "hasty_$(declare -f flock)"
	flock() {
		[[ $1 != --timeout ]] || [[ $2 == 0 ]] || echo "$2" >>"$BATS_TEST_TMPDIR/waits"
		[[ ! -e $BATS_TEST_TMPDIR/waits || $(wc -l <"$BATS_TEST_TMPDIR/waits") != 4 ]] ||
			dies
		hasty_flock "$@"
	}
	RUNS='' run array_lock_of_unit data 60
	assert_failure 75
	did ''
	rm "$BATS_TEST_TMPDIR/waits"
	array_lock_of_unit data 60
	[[ -n $ARRAY_LOCK && $(calls) == *'another ramraid is at work on the running array'* &&
		$(wc -l <"$BATS_TEST_TMPDIR/waits") == 4 ]] || fail "$(calls)"
}

@test "a stop goes on if the lock gets free in the last moment" {
	array
	hasty
	locked 'lock_sign "$1" replace'
	eval "hasty_$(declare -f flock)"
	flock() {
		[[ $1 != --timeout || $2 != 0 || ! -d /proc/$OTHER ]] || {
			dies
		}
		hasty_flock "$@"
	}
	stops 0
	[[ $(calls) == *$'drop md127 rd0\nramdisk_drop data'* ]] || fail "$(calls)"
}

@test "going down, a ramraid at work is named on the console and asked to end, and the stop goes on" {
	array
	hasty
	locked 'lock_sign "$1" replace'
	GOING=going-down stops 0
	[[ $(calls) == *$'drop md127 rd0\nramdisk_drop data'* ]] || fail "$(calls)"
	said "console: data: going down, and ramraid replace (PID $OTHER) is still at work on it"
	not grep -q 'going on anyway' "$BATS_TEST_TMPDIR/log"
	not kill -0 "$OTHER"
}

@test "going down, a ramraid that does not end when asked is killed, and the stop goes on without its lock" {
	local L
	array
	hasty
	# The lock is this process's, which nobody kills; who has signed is another.
	mkdir -p "$R/run/ramraid/.locks"
	lock_take L "$R/run/ramraid/.locks/work.data"
	bash -c 'trap "" TERM; while :; do sleep 0.1; done' 3>&- 4>&- &
	OTHER=$!
	bounded_process_began "$OTHER"
	echo "$OTHER $BEGAN mend" >"$R/run/ramraid/.locks/work.data"
	GOING=going-down stops 0
	[[ $(calls) == *$'drop md127 rd0\nramdisk_drop data'* ]] || fail "$(calls)"
	said 'going on anyway'
	not kill -0 "$OTHER"
	exec {L}>&-
}

@test "going down, a lock whose holder can't be found is replaced by a new one, and the stop goes on" {
	local L
	array
	hasty
	mkdir -p "$R/run/ramraid/.locks"
	lock_take L "$R/run/ramraid/.locks/work.data"
	md_stop() {
		called md_stop
		! flock --nonblock "$R/run/ramraid/.locks/work.data" true || called free
	}
	GOING=going-down stops 0
	[[ $(calls) == *$'\nmd_stop' ]] || fail "$(calls)"
	said "console: data: going down, and a program that another ramraid has left behind does \
not release the array: going on anyway"
	exec {L}>&-
}

@test "MAINPID: only a program of our own unit is ended" {
	local -
	array
	command sleep 60 3>&- 4>&- &
	OTHER=$!
	kill() { called kill "$@"; }
	mkdir -p "$R/proc/$OTHER" "$R/proc/self"
	echo '0::/system.slice/ramraid@data.service' |
		tee "$R/proc/self/cgroup" >"$R/proc/$OTHER/cgroup"
	MAINPID=$OTHER stop_end_start_ TERM
	did "kill -s TERM $OTHER"
	rm "$BATS_TEST_TMPDIR/calls"
	MAINPID=$$ stop_end_start_ TERM
	MAINPID=1 stop_end_start_ TERM
	MAINPID=-1 stop_end_start_ TERM
	MAINPID='x[$(called evaluated)]' stop_end_start_ TERM
	echo '0::/user.slice' >"$R/proc/$OTHER/cgroup"
	MAINPID=$OTHER stop_end_start_ TERM
	cp "$R/proc/self/cgroup" "$R/proc/$OTHER/cgroup"
	systemd_is_unit() { return 1; }
	MAINPID=$OTHER stop_end_start_ TERM
	did ''
	unset -f kill
}

@test "a shutdown that begins while a stop is at work saves what the stop has refused" {
	local code=0
	BASE=whole-2
	before_look_configured() {
		facts_read <"$FIXTURES/decide/whole-2.facts"
		F[leg.0.state]='' F[leg.1.state]='' F[leg.0.in]='' F[leg.1.in]=''
		F[leg.0.node]='' F[leg.1.node]=''
	}
	stop_check_users() { :; }
	disk_users() { :; }
	openers_of() { :; }
	rescue_why_not() { :; }
	rescue_write() { called rescue; }
	superblock_says() { echo 120; }
	# Not at the first question; from the next one on.
	stop_going_down() {
		[[ -e $BATS_TEST_TMPDIR/down ]] || { touch "$BATS_TEST_TMPDIR/down" && return 1; }
	}
	systemd_status() { :; }
	CONF[RESCUE]=/var
	(set -Eeuo pipefail && stop_array data) 2>"$BATS_TEST_TMPDIR/log" || code=$?
	[[ $(calls) == *rescue* ]] || fail "$code: $(calls)" "$(<"$BATS_TEST_TMPDIR/log")"
}

# slow RATE: going down, a disk leg has come back, and md rebuilds it at RATE KiB a second. The
# image succeeds.
slow() {
	SPEED=$1
	facts_observe() {
		facts_read <"$FIXTURES/decide/whole-2.facts"
		F[disks.lack]=yes F[leg.0.lacks]=yes F[array.degraded]=1
		F[leg.1.state]=recovering F[leg.1.slot]=2 F[array.sync]=${SYNC:-recover}
		F[array.total]=600000000 F[array.done]=1000 F[array.rate]=$SPEED
		((SECONDS < 20000)) || exit 9
	}
	before_look_times() { F[conf.member_timeout]=30; }
	rescue_why_not() { :; }
	rescue_turn() { :; }
	rescue_turn_end() { :; }
	rescue_beside_state_on() { return 1; }
	rescue_write() { called rescue "after $SECONDS s"; }
	superblock_says() { echo 120; }
	transitions_remedy() { :; }
	systemd_go_on() { :; }
	systemd_status() { :; }
	md_check_end() { called end-check "$@" && SYNC=recover; }
	clock() { NOW=$SECONDS; }
	sleep() { SECONDS=$((SECONDS + 20)); }
}

@test "going down, a rebuild that would take too long for a shutdown is not waited for: an image is made" {
	declare -gA CONF=([RAM]=auto [MEMBER_TIMEOUT]=30s [RESCUE]=/var)
	local code=0
	slow 20000 # four hours
	facts_observe
	(SECONDS=0 && detach_ram data going-down) 2>"$BATS_TEST_TMPDIR/log" || code=$?
	((code == 0)) || fail "$code: $(<"$BATS_TEST_TMPDIR/log")"
	[[ $(calls) == 'rescue after 6'?' s' ]] || fail "$(calls)"
	said 'which is too long for a shutdown'
	# If that is not possible, it goes on waiting, and says so no more than now and then.
	rescue_why_not() { echo 'RESCUE=none'; }
	(SECONDS=19000 && detach_ram data going-down) 2>"$BATS_TEST_TMPDIR/log" || code=$?
	[[ $code == 9 && $(grep -c 'too long for a shutdown' "$BATS_TEST_TMPDIR/log") == 1 ]] ||
		fail "$code $(<"$BATS_TEST_TMPDIR/log")"
	code=0
	# A quick one is waited for.
	slow 200000
	facts_observe
	(SECONDS=18000 && detach_ram data going-down) 2>"$BATS_TEST_TMPDIR/log" || code=$?
	[[ $code == 9 && $(calls | wc -l) == 1 ]] || fail "$code $(calls)"
}

@test "a check that keeps a disk leg from being rebuilt, while only the RAM leg has all data, is ended" {
	declare -gA CONF=([RAM]=auto [MEMBER_TIMEOUT]=30s [RESCUE]=/var)
	SYNC=check
	slow 0
	facts_observe
	(SECONDS=19900 && detach_ram data going-down) 2>"$BATS_TEST_TMPDIR/log" || :
	did 'end-check md127'
	said "ending md's check of md127"
}
