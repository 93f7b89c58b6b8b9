#!/usr/bin/env bats
# action_choose and action_gate: from facts to one action. Each line of a test is one row of the
# table:
#   decides 'ACTION ARGUMENT…' BASE [CHANGE…]     BASE: a file in tests/fixtures/decide
# A change is KEY=VALUE, or a short form: I:absent, I:foreign, I:corrupt, I:unreadable, I:spare,
# I:held, I:rebuilt, I:returned (in a running array: present but outside), witness=EVENTS:LEGS where
# LEGS are letters, leg 0 being "a".

setup() {
	load helper
	world
	libraries
	ME=11111111-2222-3333-4444-555555555555
}

facts() { # BASE CHANGE…
	local change
	facts_read <"$FIXTURES/decide/$1.facts"
	facts_unnumbered
	shift
	for change; do change_fact "$change"; done
	facts_numbered
}

change_fact() {
	local i=${1%%:*}
	case $1 in
	[0-9]:absent)
		change_leg "$i" node= in= state= slot= writemostly= sb= uuid= role= view= events=0 \
			recovery= device_uuid=
		;;
	[0-9]:foreign) F[leg.$i.uuid]=99999999-2222-3333-4444-555555555555 ;;
	[0-9]:corrupt | [0-9]:unreadable | [0-9]:none)
		change_leg "$i" sb="${1#*:}" uuid= role= view= events=0 recovery= device_uuid=
		;;
	[0-9]:spare | [0-9]:faulty) F[leg.$i.role]=${1#*:} ;;
	[0-9]:held)
		change_leg "$i" in=other sb= uuid= role= view= events=0 recovery= device_uuid=
		;;
	[0-9]:rebuilt) F[leg.$i.recovery]=2048 ;;
	[0-9]:returned)
		change_leg "$i" in= state= slot= sb=ok uuid="$ME" role=$((i + 1)) view=AAA events=90
		;;
	witness=*) change_witness "${1#*=}" ;;
	*) F[${1%%=*}]=${1#*=} ;;
	esac
}

change_leg() {
	local i=$1 fact
	shift
	for fact; do F[leg.$i.${fact%%=*}]=${fact#*=}; done
}

change_witness() { # EVENTS:LEGS
	local legs=${1#*:}
	F[witness.events]=${1%:*} F[witness.ram_slot]=0 F[witness.why]='' F[witness.legs]=''
	while [[ -n $legs ]]; do
		case ${legs:0:1} in
		a) F[witness.legs]+=' aaaaaaaa-0000-0000-0000-000000000001' ;;
		b) F[witness.legs]+=' aaaaaaaa-0000-0000-0000-000000000002' ;;
		c) F[witness.legs]+=' aaaaaaaa-0000-0000-0000-000000000003' ;;
		esac
		legs=${legs:1}
	done
	F[witness.legs]=${F[witness.legs]# }
}

decides() { # 'ACTION ARGUMENT…' BASE CHANGE…
	local expected=$1 got
	shift
	facts "$@"
	action_choose
	got="$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}"
	[[ $got == "$expected" ]] && return
	fail "facts:    $*
expected: $expected
got:      $got ($WHY)"
}

because() { # PATTERN
	[[ $WHY == *$1* ]] || fail "expected a reason with \"$1\", got: $WHY"
}

gates() { # GATE ACTION BASE CHANGE…
	local expected=$1
	shift
	decides "$@"
	action_gate
	[[ $GATE == "$expected" ]] ||
		fail "facts: $*; expected gate $expected, got $GATE ($GATE_WHY)"
}

@test "start: all legs present and equal are assembled" {
	decides 'assemble sda' stopped-1
	decides 'assemble sda sdb' stopped-2
	because '2 of 2'
	decides 'assemble sda sdb sdc' stopped-3
}

@test "start: after a power cut, equal legs that still call the RAM leg active are assembled without a witness" {
	decides 'assemble sda' stopped-1 leg.0.view=AA leg.0.dirty=yes
	decides 'assemble sda sdb' stopped-2 leg.0.view=AAA leg.1.view=AAA
}

# md takes one that lags by one event for equal; a re-add that a crash cut off leaves the same.
@test "start: a leg that lags, even by one event, is left out" {
	decides 'assemble sdb' stopped-2 leg.0.events=99 witness=100:ab
	decides 'assemble sda' stopped-2 leg.1.events=99 witness=100:ab
	decides 'assemble sdb' stopped-2 leg.0.events=98
	decides 'assemble sda' stopped-2 leg.1.events=98
	decides 'assemble sdb sdc' stopped-3 leg.0.events=7
	because '2 of 3'
	# Then it is put back by its bitmap.
	decides 'readd 0' whole-2 0:returned leg.0.events=99
	decides 'readd 0' whole-2 0:returned leg.0.events=7
}

# B was put back, and a crash came when only A had the new superblock: A calls B active, B's own
# superblock is the old one.
@test "start: a leg whose re-add a crash interrupted is not started as an equal one" {
	decides 'assemble sda' stopped-2 leg.1.events=99 witness=100:a
	decides 'assemble sda' stopped-2 witness=99:a
	decides 'assemble sdb' stopped-2 witness=99:b
	# Without a witness nothing tells it from md's own half step: the newest alone, the other is
	# put back by bitmap.
	decides 'assemble sda' stopped-2 leg.1.events=99
	decides 'assemble sdb sdc' stopped-3 leg.0.events=99
}

@test "start: a leg that the witness vouches for is preferred to one with more events, or the start is refused" {
	decides 'assemble sda' stopped-2 leg.1.events=101 witness=100:a
	decides 'assemble sdb' stopped-2 leg.0.events=101 witness=100:b
	decides 'assemble sda' stopped-2 leg.0.events=101 witness=100:ab
	# Two ahead is no half step: it ran without the other.
	decides refuse stopped-2 leg.1.events=102 witness=100:a
	because 'have been used without each other'
	because 'When the array last ran, /dev/disk/by-id/ata-A was in sync, and /dev/disk/by-id/ata-B was not.'
	decides refuse stopped-2 leg.0.events=102 witness=100:b
	because 'start --force-leg=/dev/disk/by-id/ata-B data, or: ramraid start --force-leg=/dev/disk/by-id/ata-A data'
	# The other one's superblock calls it missing, and it shows itself that it ran on beyond the
	# record. Has the other one come into sync beside it, or was its re-add cut off by a crash,
	# and it was used elsewhere since? Nothing tells.
	decides refuse stopped-2 leg.0.events=101 leg.1.events=102 leg.1.view=..A witness=100:a
	because 'which was, has gone on since (events 101): the former may have been written to elsewhere'
	decides refuse stopped-2 leg.0.events=103 leg.1.events=120 leg.1.view=..A witness=100:a conf.start_degraded=always
	because 'has gone on since'
	# A person has decided for it.
	decides 'assemble sdb' stopped-2 leg.0.events=101 leg.1.events=102 leg.1.view=..A witness=100:a forced=1
	decides refuse stopped-2 leg.1.events=102 leg.1.view=..A witness=100:a
	because 'ata-B (events 102) was not in sync when the array last ran, and /dev/disk/by-id/ata-A, which was, is as it was then'
}

# B left, the RAM leg kept the array going, A came back and was rebuilt from it: then the power
# failed. B is whole, and old.
@test "start: a leg that had left while the array rebuilt another one is refused" {
	local mode
	for mode in witness always; do
		decides refuse stopped-2 0:rebuilt leg.0.view=AA. leg.0.events=101 witness=100:ab conf.start_degraded=$mode
		because 'ata-B had left the array'
		because 'start --force-leg=/dev/disk/by-id/ata-B'
		# Being put back as well when the crash came: A calls B active, but counted on
		# without it.
		decides refuse stopped-2 0:rebuilt leg.0.events=102 witness=100:ab conf.start_degraded=$mode
		because 'ata-B had left the array'
		# The leg that A was rebuilt from may still come.
		decides wait-members stopped-3 0:rebuilt leg.0.view=.A.A leg.0.events=103 2:absent witness=100:abc conf.start_degraded=$mode
	done
	decides 'assemble sdb' stopped-2 0:rebuilt leg.0.view=AA. leg.0.events=99 witness=100:b
	decides 'assemble sdb' stopped-2 0:rebuilt leg.0.events=101 witness=100:b
	# The RAM leg may be gone for good, or the leg that it was rebuilt from be away.
	decides refuse stopped-3 0:rebuilt leg.0.view=.A.A leg.0.events=103 2:absent witness=100:abc waited=99
	because 'Bring back the leg that it was rebuilt from (missing: /dev/disk/by-id/ata-C)'
	# C was being rebuilt from B, and A had left.
	decides 'assemble sdb' stopped-3 2:rebuilt leg.2.view=..AA leg.2.events=101
}

@test "start: without a witness, the one slot that no readable disk leg has is the RAM leg's" {
	decides 'assemble sdb' stopped-2 0:rebuilt leg.0.view=AAA leg.1.view=AAA
	decides refuse stopped-2 0:corrupt leg.1.view=AAA
}

@test "start: a leg that the newest calls missing stays outside" {
	decides 'assemble sda' stopped-2 leg.0.view=.A. leg.1.events=99
	decides 'assemble sdb' stopped-2 leg.1.view=..A leg.0.events=99
	decides 'assemble sda' stopped-2 leg.0.view=.A. leg.1.events=40
	decides 'assemble sda sdc' stopped-3 leg.0.view=.A.A leg.2.view=.A.A leg.1.events=40
}

@test "start: a leg is never started together with one that calls it missing, whatever the order of the MEMBER lines" {
	local first second
	for first in 99 100 101; do
		facts stopped-2 leg.0.view=.A. leg.0.events=$first leg.1.view=.AA leg.1.events=100
		action_choose
		[[ $ACTION == refuse || $ACTION == assemble && ${ARGUMENTS[*]} != 'sda sdb' ]] ||
			fail "A (events $first) calls B (events 100) missing: \
$ACTION ${ARGUMENTS[*]}"
		facts stopped-2 leg.1.view=..A leg.1.events=$first leg.0.view=.AA leg.0.events=100
		action_choose
		[[ $ACTION == refuse || $ACTION == assemble && ${ARGUMENTS[*]} != 'sda sdb' ]] ||
			fail "B (events $first) calls A (events 100) missing: \
$ACTION ${ARGUMENTS[*]}"
	done
}

@test "start: if only a disk is left that was given up, the message says how to start from it, not how to wipe it" {
	local one=aaaaaaaa-0000-0000-0000-000000000001 row
	row=(stopped-2 1:absent waited=40 witness=180:b "witness.given=$one" "leg.0.device_uuid=$one")
	decides refuse "${row[@]}"
	because 'ata-A has been given up by a start without it; missing: /dev/disk/by-id/ata-B'
	because 'If /dev/disk/by-id/ata-B is gone for good, to go on with what /dev/disk/by-id/ata-A has: ramraid start --force-leg=/dev/disk/by-id/ata-A data'
	[[ $WHY != *zero-superblock* ]] || fail "$WHY"
	# And that does start it.
	decides 'assemble sda' "${row[@]}" forced=0
	# The other one is there, and good for nothing.
	decides refuse stopped-2 1:corrupt waited=40 witness=180:b "witness.given=$one" "leg.0.device_uuid=$one"
	because '. To go on with what /dev/disk/by-id/ata-A has: ramraid start --force-leg='
	# Nothing can be started from one that is incomplete.
	decides refuse "${row[@]}" 0:rebuilt
	[[ $WHY != *force-leg* && $WHY != *zero-superblock* ]] || fail "$WHY"
	# Beside a good one it may be wiped.
	decides refuse stopped-3 2:absent waited=40 "witness.given=$one" "leg.0.device_uuid=$one"
	because 'ata-A has been given up by a start without it; make it blank (mdadm --zero-superblock)'
	# Once the good one runs, which this start refuses.
	because ' and add it again, once the array runs without it)'
}

@test "start: legs with separate histories are refused" {
	decides refuse stopped-2 leg.0.view=.A. leg.1.view=..A
	because 'have been used without each other'
	because ata-A
	because ata-B
	[[ $WHY != *'When the array last ran'* ]] || fail "$WHY"
	decides refuse stopped-2 leg.0.view=AA. leg.1.view=A.A leg.1.events=7
	decides refuse stopped-2 leg.0.view=AA. leg.1.view=A.A leg.0.events=7
	decides refuse stopped-3 leg.0.view=.AA. leg.2.view=..AA
	# B went on alone after A had left it, whatever A says.
	decides refuse stopped-2 leg.0.view=.A. leg.1.view=.AA leg.1.events=102
	decides refuse stopped-2 leg.1.view=..A leg.0.view=.AA leg.0.events=102
	decides refuse stopped-2 leg.0.view=.A. leg.1.view=..A conf.start_degraded=always
}

@test "start: two legs in one slot are refused" {
	decides refuse stopped-2 leg.1.role=1
	decides refuse stopped-3 leg.2.role=1 leg.2.events=3
}

@test "start: if all legs are absent, they are waited for, and then the start is refused" {
	decides wait-members stopped-2 0:absent 1:absent
	because 'waiting for 2 of 2'
	decides wait-members stopped-2 0:absent 1:absent waited=29
	decides refuse stopped-2 0:absent 1:absent waited=30
	because 'missing: /dev/disk/by-id/ata-A /dev/disk/by-id/ata-B'
	decides refuse stopped-2 0:absent 1:absent waited=30 conf.start_degraded=always
	decides wait-members stopped-1 0:absent waited=99999 conf.member_timeout=infinity
	decides refuse stopped-1 0:absent conf.member_timeout=0
}

@test "start: a disk leg that does not answer is waited for like an absent one, and the message says why" {
	decides wait-members stopped-2 1:unreadable leg.1.silent=yes witness=100:ab
	because '/dev/disk/by-id/ata-B (/dev/sdb does not answer)'
	decides refuse stopped-2 1:unreadable leg.1.silent=yes waited=30 conf.start_degraded=never
	because '/dev/disk/by-id/ata-B (/dev/sdb does not answer)'
}

@test "start: a disk leg that can't be read is waited for like an absent one; for DRBD the message says who can read" {
	local drbd=leg.0.dev=/dev/drbd/by-res/data/0
	decides wait-members stopped-2 1:unreadable witness=100:ab
	because "/dev/disk/by-id/ata-B (/dev/sdb can't be read)"
	decides wait-members stopped-1 0:unreadable "$drbd" leg.0.node=drbd0
	decides refuse stopped-1 0:unreadable "$drbd" leg.0.node=drbd0 waited=30
	because "missing: /dev/drbd/by-res/data/0 (/dev/drbd0 can't be read here: DRBD lets only \
the primary read it; see: drbdadm role data)"
	decides refuse stopped-1 0:absent "$drbd" waited=30
	because 'missing: /dev/drbd/by-res/data/0'
	decides 'assemble drbd0' stopped-1 "$drbd" leg.0.node=drbd0
}

@test "start: an absent leg is waited for until MEMBER_TIMEOUT, whatever START_DEGRADED says" {
	local mode
	for mode in witness always never; do
		decides wait-members stopped-2 1:absent waited=29 conf.start_degraded=$mode witness=100:ab
		because 'waiting for 1 of 2 disk legs: /dev/disk/by-id/ata-B'
		decides wait-members stopped-3 0:absent 2:absent conf.start_degraded=$mode
		decides wait-members stopped-2 1:absent waited=9999 conf.member_timeout=infinity conf.start_degraded=$mode
	done
}

@test "start: after MEMBER_TIMEOUT with a leg absent, START_DEGRADED=always starts without it" {
	decides 'assemble sda' stopped-2 1:absent waited=30 conf.start_degraded=always
	decides 'assemble sdb sdc' stopped-3 0:absent waited=30 conf.start_degraded=always
}

@test "start: after MEMBER_TIMEOUT with a leg absent, START_DEGRADED=never refuses" {
	decides refuse stopped-2 1:absent waited=30 conf.start_degraded=never witness=100:ab
	because START_DEGRADED=never
	because ata-B
}

@test "start: after MEMBER_TIMEOUT with a leg absent, one that the witness vouches for is started" {
	decides 'assemble sda' stopped-2 1:absent waited=30 witness=100:ab
	decides 'assemble sdb' stopped-2 0:absent waited=30 witness=100:ab
	decides 'assemble sdb' stopped-2 0:absent waited=30 witness=101:b
	decides 'assemble sda' stopped-2 1:absent waited=30 witness=90:a
	decides 'assemble sda sdb' stopped-3 2:absent waited=30 witness=100:abc
}

@test "start: after MEMBER_TIMEOUT with a leg absent, one that no witness vouches for is refused" {
	decides refuse stopped-2 1:absent waited=30
	because 'there is no record of the last start'
	because START_DEGRADED=always
	decides refuse stopped-2 1:absent waited=30 witness=100:b
	because 'not in sync when the array last ran'
	decides refuse stopped-3 1:absent 2:absent waited=30 witness=100:bc
}

@test "start: legs older than the witness are refused" {
	local mode
	decides 'assemble sda sdb' stopped-2 witness=101:ab
	decides refuse stopped-2 witness=102:ab
	because 'is at 100 events'
	because 102
	decides refuse stopped-1 witness=1000:a
	for mode in witness always never; do
		decides refuse stopped-2 witness=102:ab conf.start_degraded=$mode
		decides refuse stopped-2 1:absent waited=30 witness=102:ab conf.start_degraded=$mode
		because ata-B
	done
	decides refuse stopped-2 1:absent waited=30 witness=102:ab
	because 'is at 100 events'
}

@test "start: if the leg that the witness vouches for can't be used, the other one is refused" {
	local state
	for state in held corrupt rebuilt; do
		decides refuse stopped-2 1:$state witness=200:b
		decides refuse stopped-2 1:$state witness=200:ab
		# Equal counts happen by themselves: A was started alone once, the array then ran on
		# B alone.
		decides refuse stopped-2 1:$state leg.0.view=.A. witness=100:b
		decides 'assemble sda' stopped-2 1:$state leg.0.view=.A. witness=100:b waited=30 conf.start_degraded=always
	done
}

@test "start: if the leg that the witness vouches for was restored to an older state, the start is refused" {
	decides refuse stopped-2 leg.0.events=90 leg.1.view=..A witness=100:a
	because 'restored to an older state'
	decides refuse stopped-2 leg.0.events=90 leg.1.view=..A leg.1.events=103 witness=100:a
	decides 'assemble sdb' stopped-2 leg.0.events=90 leg.1.view=..A witness=100:ab
	# It left just now, and the other one had been made equal before: written down.
	decides 'assemble sdb' stopped-2 leg.0.events=102 leg.1.events=103 leg.1.view=..A witness=102:ab
	decides 'assemble sdb' stopped-2 leg.0.events=102 leg.1.events=103 leg.1.view=..A witness=103:b
}

@test "start: a stale leg that appears first waits for the newer one until MEMBER_TIMEOUT" {
	decides wait-members stopped-2 1:absent waited=2 witness=200:b
}

@test "start: a leg that the newest one knows to have left is not waited for" {
	decides 'assemble sda' stopped-2 1:absent leg.0.view=.A.
	decides 'assemble sda' stopped-2 1:absent leg.0.view=.A. witness=100:a
	decides 'assemble sda' stopped-2 1:absent leg.0.view=AA. witness=100:a
	decides 'assemble sda sdc' stopped-3 1:absent leg.0.view=.A.A leg.2.view=.A.A
	# Without a record of the RAM leg's slot, an active slot may be the absent disk's.
	decides wait-members stopped-2 1:absent leg.0.view=AA.
}

@test "start: an absent leg that alone was in sync by the witness is waited for, even if the newest calls it missing" {
	# B was once started alone; the last run was A's, without B. Equal counts happen by
	# themselves.
	decides wait-members stopped-2 0:absent leg.1.view=..A witness=100:a
	decides refuse stopped-2 0:absent leg.1.view=..A witness=100:a waited=30
	decides 'assemble sdb' stopped-2 0:absent leg.1.view=..A witness=100:a waited=30 conf.start_degraded=always
}

@test "start: the message names legs that can't be used, with the reason" {
	decides refuse stopped-1 0:foreign
	because 'ata-A belongs to another array (99999999-2222-3333-4444-555555555555)'
	decides refuse stopped-1 0:corrupt
	because 'ata-A has no md superblock that can be read (corrupt)'
	decides refuse stopped-1 0:none
	decides wait-members stopped-1 0:unreadable
	decides refuse stopped-1 0:unreadable waited=30
	because 'missing: /dev/disk/by-id/ata-A'
	decides refuse stopped-1 0:spare
	because 'holds no slot of the array (it is spare)'
	decides refuse stopped-1 0:faulty
	decides refuse stopped-1 0:rebuilt
	because 'was still being rebuilt (complete up to sector 2048)'
	decides refuse stopped-1 0:held
	because 'is in use by other'
	decides refuse stopped-1 0:held leg.0.holder=dm-3
	because 'ata-A is in use by dm-3'
	# With nothing to say of any leg but that it is missing.
	decides refuse stopped-2 0:absent 1:absent waited=30
	because 'no disk leg to start from: missing: /dev/disk/by-id/ata-A /dev/disk/by-id/ata-B'
	decides refuse stopped-2 0:corrupt 1:absent waited=30
	because corrupt
	because 'missing: /dev/disk/by-id/ata-B'
	decides wait-members stopped-2 0:corrupt 1:absent
}

@test "start: a good leg is started without the legs that can't be used" {
	decides 'assemble sdb' stopped-2 0:rebuilt
	decides 'assemble sdb' stopped-2 0:spare leg.1.view=..A
	decides 'assemble sdb' stopped-2 0:corrupt leg.1.view=..A
	decides 'assemble sdb' stopped-2 0:held leg.1.view=..A
	decides 'assemble sdb' stopped-2 0:foreign leg.1.view=..A
	# "A" is the slot of the leg that is being rebuilt; its count does not make it the newest.
	decides 'assemble sdb' stopped-2 0:rebuilt leg.0.events=101
}

@test "start: if mdadm refuses to assemble, the start is refused" {
	decides refuse stopped-2 'failed.assemble=no such luck'
	because 'no such luck'
}

@test "an array that something else has half assembled is stopped, unless a stranger is in it" {
	decides stop-inactive whole-2 array.state=inactive ram.state=none
	decides refuse whole-2 array.state=inactive array.strangers=sdx
	because 'holds sdx'
}

@test "a half-assembled array that can't be stopped is refused, not tried again for ever" {
	decides refuse whole-2 array.state=inactive failed.stop-inactive=busy
	because busy
}

@test "a broken array is refused, with what to type" {
	decides refuse whole-2 array.state=broken
	because 'mdadm --stop /dev/md127'
	because 'then: ramraid start data'
	decides refuse whole-2 array.state=broken leg.0.state=faulty leg.1.state=faulty
	because 'Do not stop it: reboot'
	not because 'do NOT reboot'
	decides refuse whole-2 array.state=broken leg.0.state=faulty leg.1.state=faulty \
		'rescue.tight=/var has room for 1 GiB'
	because 'if it fits: /var has room for 1 GiB'
	decides refuse whole-2 array.state=broken leg.0.state=faulty leg.1.state=faulty \
		rescue.why_not=RESCUE=none
	because "do NOT reboot: a shutdown can't save what the RAM leg has (RESCUE=none). Copy"
	because 'systemctl daemon-reload; ramraid status data'
}

@test "running: nothing is done to a whole array, or for a leg that is absent or faulty" {
	decides 'done' whole-2
	[[ $WHY == whole ]]
	decides 'done' whole-2 1:absent
	because 'not the disk leg /dev/disk/by-id/ata-B'
	decides 'done' whole-2 leg.0.state=faulty
	because ata-A
}

@test "running: an array in read-auto state is made writable before anything else" {
	decides make-writable whole-2 array.readauto=yes
	decides make-writable whole-2 array.readauto=yes array.pending=yes array.backlog=9 leg.0.writemostly=no ram.state=none
	decides 'done' whole-2 array.readauto=yes failed.make-writable=refused
}

@test "running: write-behind is set as configured, even during a resync, before disks become write-mostly" {
	decides 'set-backlog 0' whole-2 array.backlog=256
	decides 'set-backlog 0' whole-2 array.backlog=256 leg.0.writemostly=no array.sync=resync
	decides 'set-backlog 256' whole-2 array.backlog=0 conf.write_behind=256
	decides 'done' whole-2 array.backlog=256 conf.write_behind=256
}

@test "running: a failure to set write-behind does not stop the rest" {
	decides 'done' whole-2 array.backlog=256 failed.set-backlog=refused
	decides make-ram whole-2 array.backlog=256 failed.set-backlog=refused ram.state=none
}

@test "running: disk legs are made write-mostly before anything joins" {
	decides 'write-mostly 1' whole-2 leg.1.writemostly=no
	decides 'write-mostly 0' whole-2 leg.0.writemostly=no leg.1.writemostly=no ram.state=none array.sync=resync
	decides 'done' whole-2 1:absent leg.1.writemostly=no
}

@test "running: a leg that can't be made write-mostly does not stop the rest" {
	decides 'done' whole-2 leg.1.writemostly=no failed.write-mostly.1=refused
	decides 'write-mostly 0' whole-2 leg.0.writemostly=no leg.1.writemostly=no failed.write-mostly.1=refused
}

@test "running: a resync after an unclean stop ends before anything joins" {
	decides wait-sync whole-2 array.sync=resync ram.state=none
	because 'unclean stop'
	decides wait-sync whole-2 array.sync=resync ram.state=attached 1:returned
	decides wait-sync whole-2 array.pending=yes ram.state=none
	decides 'done' whole-2 array.pending=yes ram.state=none 'failed.rebuild=md does not begin'
	because 'md does not begin'
}

@test "running: disk legs are put back before the RAM leg joins" {
	decides wait-sync whole-2 leg.1.state=recovering array.sync=recover ram.state=none
	because 'ata-B is being rebuilt'
	decides wait-sync whole-2 leg.1.state=recovering array.sync=recover ram.state=attached
	decides 'readd 1' whole-2 1:returned ram.state=none
	decides 'readd 1' whole-2 1:returned ram.state=attached
	decides 'readd 1' whole-2 1:returned
	decides 'readd 0' whole-2 0:returned
}

@test "running: a leg that sysfs shows without a slot for a moment is no error under set -u" {
	(set -u && decides 'done' whole-2 1:returned leg.0.slot=none) || fail "exit code $?"
}

@test "running: a returned disk leg waits until the RAM leg is rebuilt" {
	decides wait-sync whole-2 1:returned ram.state=recovering array.sync=recover array.degraded=2
	because 'then /dev/disk/by-id/ata-B is put back'
}

@test "running: a disk leg with a history of its own is not put back" {
	# It calls slot 1, in sync here, missing.
	decides 'done' whole-2 1:returned leg.1.view=A.A
	decides make-ram whole-2 1:returned leg.1.view=..A ram.state=none
}

@test "running: a returned disk is rebuilt in full if there is no bitmap, or if md refuses the re-add" {
	decides 'add-leg 1' whole-2 1:returned array.bitmap=none
	because 'has no internal bitmap, so all of it is rebuilt'
	decides 'add-leg 1' whole-2 1:returned array.bitmap=file
	decides 'add-leg 1' whole-2 1:returned failed.readd.1=refused
	because 'md does not take it back by the bitmap'
	# Not what hot-plug leaves alone, nor what has a history of its own.
	decides 'done' whole-2 1:returned veto.readd.1=bounces veto.add-leg.1=bounces
	decides 'done' whole-2 1:returned leg.1.view=A.A failed.readd.1=refused
	decides 'done' whole-2 1:returned leg.1.view=A.A array.bitmap=none
	# Beside the RAM leg alone, a stale disk is better than one that is half rebuilt.
	decides 'done' whole-2 0:absent 1:returned waited=30 leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002 failed.readd.1=refused
	# What has been tried has not been used elsewhere.
	decides 'done' whole-2 1:returned failed.readd.1=refused failed.add-leg.1=refused
	leg_classify 1
	[[ $LEG == returned ]]
}

@test "running: a disk leg with more events than the array is never put back" {
	local row=(whole-2 waited=99 mend=yes leg.0.number=1 ram.number=0 leg.1.number=2
		"leg.1.roles=0:0 1:1 2:2" array.events=60)
	decides 'readd 1' "${row[@]}" 1:returned leg.1.events=59
	# md's own half step.
	decides 'readd 1' "${row[@]}" 1:returned leg.1.events=61
	decides 'done' "${row[@]}" 1:returned leg.1.events=62
	because 'ata-B has more events than the array, and is not put back'
	decides 'done' "${row[@]}" 1:returned leg.1.events=181
	# It has left this very run, or so the notes say.
	decides 'readd 1' "${row[@]}" 1:returned leg.1.events=61 leg.1.joined=yes
	decides 'done' "${row[@]}" 1:returned leg.1.events=62 leg.1.joined=yes
	# Asked for by a person.
	decides 'done' "${row[@]}" 1:returned leg.1.events=62 retry=yes
	# As a whole, because of the bits, it is not rebuilt either.
	decides 'add-leg 1' "${row[@]}" 1:returned leg.1.events=61 witness.filled=170
	decides 'done' "${row[@]}" 1:returned leg.1.events=181 witness.filled=190
	# Nobody knows how far the array is.
	decides 'done' "${row[@]}" 1:returned leg.1.events=59 array.events=0
	# With only the RAM leg in sync.
	decides 'readd 1' "${row[@]}" 1:returned 0:absent leg.1.events=61 leg.1.device_uuid=b witness.legs= witness.left=b
	decides 'done' "${row[@]}" 1:returned 0:absent leg.1.events=62 leg.1.device_uuid=b witness.legs= witness.left=b
}

@test "running: while only the RAM leg is in sync, a disk that was used alone is not put back" {
	local alone='0:absent 1:returned waited=30'
	decides 'readd 1' whole-2 $alone leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002
	# It was in sync until then, whatever it says of the others that had left before.
	decides 'readd 1' whole-2 $alone leg.1.view=A.A witness=100:b leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002
	decides 'readd 1' whole-2 waited=30 $alone leg.1.view=.AA witness=100:a leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002
	# It was used alone.
	decides 'done' whole-2 $alone leg.1.view=..A witness=100:a leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002
	decides 'done' whole-2 $alone leg.1.view=A.A witness=100:a leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002
}

@test "running: no disk is put back that is foreign, spare, faulty, damaged or in use" {
	decides 'done' whole-2 1:returned 1:foreign
	decides 'done' whole-2 1:returned 1:spare
	decides 'done' whole-2 1:returned 1:faulty
	decides 'done' whole-2 1:returned 1:corrupt
	decides 'done' whole-2 1:returned 1:held
	decides 'done' whole-2 1:returned leg.1.in=md5
	decides 'done' whole-2 1:returned failed.readd.1=refused failed.add-leg.1=refused
	decides 'done' whole-2 1:absent
	decides 'done' whole-2 leg.1.state=faulty
}

@test "running: the RAM leg is made, added, awaited, and removed if it fails" {
	decides make-ram whole-2 ram.state=none ram.node= ram.slot=
	decides add-ram whole-2 ram.state=attached ram.slot=
	decides wait-sync whole-2 ram.state=recovering array.sync=recover
	because 'RAM leg is being rebuilt'
	decides 'done' whole-2 ram.state=in_sync
	decides drop-ram whole-2 ram.state=faulty
}

# The copy, wherever nothing speaks against it; md's own rebuild is always there to fall back to.
@test "the copy fills the RAM leg unless something speaks against it, and then md's recovery does" {
	local ready='ram.state=attached ram.slot= conf.rebuild=auto copy.state=none' why
	decides copy-ram whole-2 $ready
	decides copy-ram whole-2 $ready conf.rebuild=copy
	decides wait-copy whole-2 $ready copy.state=running array.sync=copy
	decides readd-ram whole-2 $ready copy.state=done
	decides add-ram whole-2 $ready conf.rebuild=kernel
	because 'REBUILD=kernel'
	for why in copy.state=failed 'copy.why_not=too new' 'failed.copy-ram=no bitmap' \
		'failed.readd-ram=refused'; do
		decides add-ram whole-2 $ready "$why" copy.why='it was ended'
	done
	# A disk that comes back goes first, also in the middle of it.
	decides 'readd 1' whole-2 $ready copy.state=running 1:returned
	decides wait-sync whole-2 $ready copy.state=running leg.1.state=recovering array.sync=recover
	# Before the disks are equal nothing is copied from them.
	decides wait-sync whole-2 $ready array.sync=resync
	decides wait-sync whole-2 $ready array.pending=yes
	decides 'done' whole-2 $ready copy.state=failed copy.why=x failed.add-ram=refused
}

@test "running: a step of the RAM leg that failed ends the start, with the reason" {
	local step
	for step in make-ram add-ram rebuild; do
		decides 'done' whole-2 ram.state=none "failed.$step=no memory"
		because 'no memory'
	done
	decides 'done' whole-2 ram.state=attached 'failed.add-ram=refused'
	decides 'done' whole-2 ram.state=recovering 'failed.rebuild=md does not rebuild it' array.sync=frozen
	because 'md does not rebuild it'
}

@test "running: a RAM leg that md does not rebuild is taken out before anything joins" {
	local unbuilt=(ram.state=recovering ram.slot=none array.degraded=2 'failed.rebuild=md does not rebuild it')
	decides drop-ram whole-2 "${unbuilt[@]}"
	because 'md does not rebuild it'
	decides drop-ram whole-2 "${unbuilt[@]}" 1:returned
	decides drop-ram whole-2 "${unbuilt[@]}" 1:none mend=yes conf.auto_replace=yes
	decides drop-ram whole-2 "${unbuilt[@]}" array.pending=yes
	# While it can't be taken out, nothing joins.
	decides 'done' whole-2 "${unbuilt[@]}" 1:returned failed.drop-ram=busy
	because 'busy'
	because 'md does not rebuild it'
	decides 'done' whole-2 "${unbuilt[@]}" 1:none mend=yes conf.auto_replace=yes failed.drop-ram=busy
	# It is out.
	decides 'readd 1' whole-2 1:returned ram.state=none ram.node= ram.slot= array.degraded=2 failed.make-ram=no
	decides 'done' whole-2 ram.state=none ram.node= ram.slot= 'failed.make-ram=md does not rebuild it'
	because 'there is no RAM leg: md does not rebuild it'
}

@test "running: a disk leg that md does not rebuild, and that has no slot, is taken out before anything joins" {
	local unbuilt=(leg.1.state=recovering leg.1.slot=none 'failed.rebuild=md does not rebuild it')
	decides 'remove-leg 1' whole-2 "${unbuilt[@]}"
	decides 'remove-leg 1' whole-2 "${unbuilt[@]}" ram.state=none
	decides 'remove-leg 1' whole-2 "${unbuilt[@]}" 0:returned
	decides drop-ram whole-2 "${unbuilt[@]}" ram.state=recovering
	decides 'done' whole-2 "${unbuilt[@]}" 0:returned failed.remove-leg.1=busy
	because busy
	# md may still be about to begin, or is at work on something else.
	decides wait-sync whole-2 leg.1.state=recovering leg.1.slot=none
	decides wait-sync whole-2 leg.1.state=recovering leg.1.slot=none 0:returned
	decides 'done' whole-2 "${unbuilt[@]}" array.sync=frozen
}

@test "running: a faulty ramdisk that can't be taken out ends the start" {
	decides 'done' whole-2 ram.state=faulty failed.drop-ram=busy
	because busy
}

@test "running: a rebuild that md never begins is not waited for again" {
	facts whole-2 ram.state=none leg.1.state=recovering 'failed.rebuild=md does not rebuild it'
	action_choose
	[[ $ACTION != wait-* ]] || fail "disk leg: $ACTION, for ever ($WHY)"
	facts whole-2 ram.state=recovering 1:returned 'failed.rebuild=md does not rebuild it'
	action_choose
	[[ $ACTION != wait-* ]] || fail "RAM leg, with a returned disk: $ACTION, for ever ($WHY)"
}

@test "start: a leg that can't be started from but ran on without the other still counts, and refuses that one" {
	local unusable
	# Without a record, the leg is as good as away, and nobody knows whether the other is older.
	for unusable in leg.0.level=5 leg.0.level=0 'leg.0.data_size=409600 leg.0.sectors=400000'; do
		# shellcheck disable=SC2086 # two facts
		decides refuse stopped-2 leg.0.view=.A. leg.0.events=200 $unusable
		because 'nothing shows that /dev/disk/by-id/ata-B is up to date'
		decides refuse stopped-2 leg.0.view=.A. leg.0.events=200 $unusable witness=100:ab
		because 'the array ran on with /dev/disk/by-id/ata-A (events 200) and without'
		because 'To give up what was written since: ramraid start --force-leg='
		decides refuse stopped-2 leg.0.view=.A. leg.0.events=200 $unusable witness=100:ab \
			conf.start_degraded=always
		# One that has merely been left behind keeps nothing from being started.
		decides 'assemble sdb' stopped-2 leg.0.events=50 leg.1.view=..A $unusable witness=100:b
	done
	decides refuse stopped-2 0:spare leg.0.view=.A. leg.0.events=200 witness=100:ab
	because 'holds no slot of the array'
	# What may be anybody's does not count, nor what has been given up.
	decides 'assemble sdb' stopped-2 leg.0.view=.A. leg.0.events=200 leg.0.level=5 leg.0.alien=usb \
		witness=100:b
	decides 'assemble sdb' stopped-2 leg.0.view=.A. leg.0.events=200 leg.0.level=5 witness=100:b \
		witness.given=aaaaaaaa-0000-0000-0000-000000000001
}

@test "a refusal says what is wrong with a leg that can't be used" {
	decides refuse stopped-2 leg.0.level=5 leg.0.events=200 witness=200:a
	because 'used: /dev/disk/by-id/ata-A belongs to an array of RAID level 5'
	because 'which is not a mirror. To give that up'
	decides refuse stopped-2 leg.0.alien=usb leg.0.moved='it was on ata, and is on usb' witness=200:a
	because 'may be a copy: it was on ata, and is on usb'
	decides refuse stopped-2 0:held witness=200:a
	because 'is in use by other. To give that up'
}

@test "running: an array that something else started from stale or unreadable legs, or as two arrays, is refused" {
	decides 'done' whole-2 array.known=yes
	decides refuse whole-2 array.known=no
	because 'from legs that were not in sync when it last ran'
	decides refuse whole-2 array.known=unread
	because 'no disk leg in it can be read'
	decides refuse whole-2 array.twin=md126
	because 'started as two arrays, md127 and md126'
}

@test "running: no ramdisk is made where there is no slot for one" {
	decides make-ram whole-2 ram.state=none ram.node= array.level=raid1 array.degraded=1
	decides 'done' whole-2 ram.state=none ram.node= array.level=raid1 array.degraded=0
	because 'has no free slot'
	decides 'done' whole-2 ram.state=none ram.node= array.level=raid10 array.degraded=1
	decides refuse stopped-1 leg.0.level=5
	because 'of RAID level 5'
}

@test "a far2 takes legs of RAID level 10, and does not make them write-mostly" {
	decides 'assemble sda sdb' stopped-2 conf.layout=far2 conf.ram=none leg.0.level=10 leg.1.level=10
	decides refuse stopped-2 leg.0.level=10 leg.1.level=10
	because 'of RAID level 10, which is not a mirror'
	decides refuse stopped-2 conf.layout=far2 conf.ram=none
	because 'of RAID level 1, which is not a far2'
	decides 'done' whole-2 conf.layout=far2 conf.ram=none ram.state=none ram.node= array.level=raid10 leg.0.writemostly= leg.1.writemostly=
	gates open 'done' whole-2 conf.layout=far2 conf.ram=none ram.state=none ram.node= array.level=raid10 leg.0.writemostly= leg.1.writemostly=
}

@test "a far2 rebuilds a returned disk in full, never by the bitmap" {
	local far2="conf.layout=far2 conf.ram=none ram.state=none ram.node= array.level=raid10 \
leg.0.writemostly="
	local away="leg.1.in= leg.1.state= leg.1.slot= leg.1.sb=ok \
leg.1.uuid=f466ed25-8432-1158-57bd-1f9420cc8bc7 leg.1.role=2 leg.1.view=AAA leg.1.writemostly="
	decides 'readd 1' whole-2 $away uuid=f466ed25-8432-1158-57bd-1f9420cc8bc7
	decides 'add-leg 1' whole-2 $away uuid=f466ed25-8432-1158-57bd-1f9420cc8bc7 $far2
	because 'all of it is rebuilt'
	decides 'done' whole-2 $away uuid=f466ed25-8432-1158-57bd-1f9420cc8bc7 $far2 failed.add-leg.1=no
}

@test "gate: open once the array runs, with RAM=none" {
	gates open wait-sync whole-2 conf.ram=none ram.state=none array.sync=resync
	gates open wait-sync whole-2 conf.ram=none ram.state=none leg.1.state=recovering array.sync=recover conf.on_timeout=fail waited=9999
	gates hold 'write-mostly 0' whole-2 conf.ram=none ram.state=none leg.0.writemostly=no
	gates fail refuse stopped-2 conf.ram=none 1:absent waited=9999 conf.start_degraded=never
}

@test "running: with RAM=none no RAM leg is made, and disk legs are put back" {
	decides 'done' whole-2 conf.ram=none ram.state=none
	because RAM=none
	decides 'readd 1' whole-2 conf.ram=none ram.state=none 1:returned
}

@test "gate: failed after a refusal, and open when nothing is left to do" {
	gates fail refuse stopped-1 0:corrupt
	gates fail refuse whole-2 array.state=broken
	gates fail refuse stopped-2 1:absent waited=9999 conf.wait=no conf.start_degraded=never
	gates open 'done' whole-2
	gates open 'done' whole-2 ram.state=none failed.make-ram=no
}

@test "gate: shut while the array does not run, however long that takes" {
	gates hold 'assemble sda sdb' stopped-2 waited=99999 conf.wait=no
	gates hold wait-members stopped-2 1:absent conf.member_timeout=infinity waited=99999 conf.wait=no
	gates hold stop-inactive whole-2 array.state=inactive waited=99999
}

@test "gate: shut until md may write, write-behind is off and the disks are write-mostly" {
	gates hold make-writable whole-2 array.readauto=yes waited=99999 conf.wait=no
	gates hold 'set-backlog 0' whole-2 array.backlog=1 waited=99999 conf.wait=no
	gates hold 'write-mostly 0' whole-2 leg.0.writemostly=no waited=99999 conf.wait=no
}

@test "gate: held, opened or failed as WAIT, WAIT_TIMEOUT and ON_TIMEOUT say" {
	local recovering='ram.state=recovering array.sync=recover'
	gates hold wait-sync whole-2 $recovering
	gates hold wait-sync whole-2 $recovering waited=1799
	gates open wait-sync whole-2 $recovering waited=1800
	[[ $GATE_WHY == *WAIT_TIMEOUT* ]]
	gates fail wait-sync whole-2 $recovering waited=1800 conf.on_timeout=fail
	gates hold wait-sync whole-2 $recovering waited=1799 conf.on_timeout=fail
	gates hold wait-sync whole-2 $recovering waited=999999 conf.wait_timeout=infinity
	gates hold wait-sync whole-2 $recovering waited=999999 conf.wait_timeout=infinity conf.on_timeout=fail
	gates open wait-sync whole-2 $recovering conf.wait=no
	gates open make-ram whole-2 ram.state=none conf.wait=no
	gates open wait-sync whole-2 array.sync=resync waited=1800
}

# Every combination of two legs, witness, START_DEGRADED and time.
@test "exhaustive: each state gives a known action; no bad leg is started, nor a pair that disown each other" {
	exhaustive
}

exhaustive() {
	local a b w mode time states=0 modes times \
		kinds=(absent older good disowns disowned rebuilt spare foreign corrupt held)
	local -A assembled=()
	for a in "${kinds[@]}"; do
		for b in "${kinds[@]}"; do
			for w in none both a b newer; do
				modes=(witness always never) times=(0 30)
				# With every disk there these take turns: it halves the time.
				[[ "$a $b" == *absent* ]] ||
					modes=("${modes[states % 3]}") \
						times=("${times[states % 2]}")
				for mode in "${modes[@]}"; do
					for time in "${times[@]}"; do
						exhaustive_state
						exhaustive_check
						states=$((states + 1))
					done
				done
			done
		done
	done
	echo "# $states states, ${#assembled[@]} of them start" >&3
	((states == 975))
}

exhaustive_leg() { # I KIND OWN-SLOT OTHER-SLOT
	case $2 in
	older) F[leg.$1.events]=50 ;;
	disowns) F[leg.$1.view]=${F[leg.$1.view]:0:$4}.${F[leg.$1.view]:$4+1} ;;
	good | disowned) ;;
	*) change_fact "$1:$2" ;;
	esac
}

exhaustive_state() {
	F=()
	# Read once: 3000 times would cost seconds.
	[[ -v BASE[@] ]] || { facts stopped-2 && declare -gA BASE && exhaustive_copy F BASE; }
	exhaustive_copy BASE F
	unset -v 'F[leg.0.roles]' 'F[leg.1.roles]'
	exhaustive_leg 0 "$a" 1 2
	exhaustive_leg 1 "$b" 2 1
	# disowned: the other one calls it missing, and it has the higher count nevertheless.
	[[ $a != disowned ]] || F[leg.0.events]=101
	[[ $b != disowned ]] || F[leg.1.events]=101
	case $w in
	both) change_witness 100:ab ;;
	newer) change_witness 200:ab ;;
	a | b) change_witness "100:$w" ;;
	esac
	F[conf.start_degraded]=$mode F[waited]=$time
	facts_numbered
}

exhaustive_copy() { # FROM TO
	local -n from=$1 to=$2
	local key
	for key in "${!from[@]}"; do to[$key]=${from[$key]}; done
}

exhaustive_check() {
	local here node kind
	action_choose
	here="A $a, B $b, witness $w, START_DEGRADED=$mode, $time s: $ACTION ${ARGUMENTS[*]} ($WHY)"
	[[ $ACTION == @(assemble|wait-members|refuse) ]] || fail "$here"
	[[ -n $WHY ]] || fail "no reason: $here"
	[[ $ACTION != wait-members || $time == 0 ]] || fail "waits although time is up: $here"
	[[ $ACTION == assemble ]] || return 0
	assembled["$a $b $w $mode $time"]=1
	((${#ARGUMENTS[@]} > 0)) || fail "$here"
	for node in "${ARGUMENTS[@]}"; do
		kind=$a
		[[ $node == sda ]] || kind=$b
		[[ $kind == @(good|older|disowns|disowned) ]] || fail "starts $node: $here"
	done
	[[ ${#ARGUMENTS[@]} == 1 || "$a $b" != *disowns* ]] || fail "starts both: $here"
	[[ "$a $b" != 'disowns disowns' ]] || fail "separate histories: $here"
	[[ $w != newer ]] || fail "the witness knows better: $here"
}

@test "start: if the RAM leg was the only good copy, the disks are refused, even with START_DEGRADED=always" {
	local policy
	for policy in witness always never; do
		decides refuse stopped-2 witness=101: conf.start_degraded=$policy
		because 'the RAM leg was the only good copy'
		because 'start --force-leg='
		decides refuse stopped-2 witness=101: conf.start_degraded=$policy 1:absent waited=99
	done
	# Somebody has started it since, knowingly: the record is older than the disk.
	decides refuse stopped-2 witness=99: leg.0.events=103 leg.1.events=103
	# It calls the RAM leg active. Had it been made equal to that one, or has it been used with
	# another one elsewhere, of the same number and slot? Nothing tells.
	decides refuse stopped-2 witness=99: leg.0.view=AA. leg.1.view=AA. leg.0.events=103
	because 'ramraid start --force-leg=/dev/disk/by-id/ata-A'
	decides 'assemble sda' stopped-2 witness=103:a leg.0.view=AA. leg.1.view=AA. leg.0.events=103
}

@test "running: if the disks were started beside a RAM leg that is the only good copy, the message says how to go back" {
	decides refuse whole-2 array.known=no ram.state=attached witness=101:
	because 'mdadm --stop /dev/md127 && mdadm --assemble --run /dev/md/data /dev/rd0 && ramraid start data'
	[[ $WHY != *'rm '* ]] || fail "$WHY"
}

@test "start: while there is a rescue image, the start is refused until it is restored or given up" {
	decides refuse stopped-2 rescue.image=/var/lib/ramraid/data/rescue
	because 'ramraid restore'
	decides refuse whole-2 rescue.image=/var/lib/ramraid/data/rescue array.known=no
	because 'ramraid restore'
	decides 'assemble sdb' stopped-2 rescue.image=/var/lib/ramraid/data/rescue forced=1
}

@test "start: --force-leg starts that leg alone, whatever the others say, unless the leg itself can't be used" {
	decides 'assemble sdb' stopped-2 forced=1
	decides 'assemble sda' stopped-2 leg.0.view=.A. leg.1.view=..A forced=0
	decides 'assemble sdb' stopped-2 leg.0.view=.A. leg.1.view=..A forced=1
	decides 'assemble sdb' stopped-2 0:absent witness=500:a forced=1
	decides 'assemble sdb' stopped-2 witness=500: forced=1
	decides refuse stopped-2 1:rebuilt forced=1
	because 'still being rebuilt'
	decides refuse stopped-2 1:foreign forced=1
	decides refuse stopped-2 1:absent forced=1
	decides refuse stopped-2 forced=1 failed.assemble=no
}

@test "running: a leg that md has given up is tried again only on request" {
	decides 'done' whole-2 leg.1.state=faulty
	decides 'remove-leg 1' whole-2 leg.1.state=faulty retry=yes
	decides 'done' whole-2 leg.1.state=faulty retry=yes failed.remove-leg.1=no
}

@test "running: with no disk leg in sync, a disk that ran without the RAM leg is not put back" {
	decides 'readd 1' whole-2 waited=30 0:absent 1:returned
	decides 'done' whole-2 0:absent 1:returned leg.1.view=..A witness=90:
	decides 'readd 1' whole-2 0:absent 1:returned leg.1.view=A.A witness=90: leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002 witness.left=aaaaaaaa-0000-0000-0000-000000000002
	decides 'done' whole-2 0:absent 1:returned leg.1.device_uuid=aaaaaaaa-0000-0000-0000-000000000002 witness.given=aaaaaaaa-0000-0000-0000-000000000002
}

@test "on a kernel that may read from a leg being rebuilt, the gate opens only when that ends or the leg is dropped" {
	local flaw='kernel.flaw=Linux 6.10.3'
	gates hold wait-sync whole-2 ram.state=recovering array.sync=recover "$flaw" conf.wait=no
	gates hold drop-ram whole-2 ram.state=recovering array.sync=recover "$flaw" conf.wait_timeout=60 waited=61
	because 'Linux 6.10.3'
	gates open 'done' whole-2 ram.state=none "$flaw" 'failed.make-ram=the RAM leg was not in sync'
	gates fail wait-sync whole-2 ram.state=recovering array.sync=recover "$flaw" conf.wait_timeout=60 waited=61 conf.on_timeout=fail
	# The root file system is in use before anything of ours runs.
	gates open 'done' whole-2 ram.state=none ram.node= "$flaw" conf.wait=no conf.root=yes
	because 'the root file system is in use'
	gates hold make-ram whole-2 ram.state=none ram.node= "$flaw"
	# Not without a bound, whatever it is that takes so long.
	gates hold wait-sync whole-2 leg.1.state=recovering array.sync=recover "$flaw" conf.wait_timeout=60 waited=59
	gates fail wait-sync whole-2 leg.1.state=recovering array.sync=recover "$flaw" conf.wait_timeout=60 waited=61
	gates fail wait-sync whole-2 leg.1.state=recovering array.sync=recover "$flaw" conf.wait_timeout=60 waited=61 conf.ram=none ram.state=none ram.node=
	gates open wait-sync whole-2 array.sync=resync ram.state=none ram.node= "$flaw" conf.wait_timeout=60 waited=61
	gates open 'done' whole-2 ram.state=none ram.node= "$flaw" conf.wait_timeout=60 waited=61
	because 'have passed, and on this kernel'
	gates open wait-sync whole-2 ram.state=recovering array.sync=recover conf.wait=no
}

@test "start: a leg smaller than its superblock says is refused, and the others start without it" {
	decides refuse stopped-1 leg.0.sectors=1000 leg.0.data_offset=100 leg.0.data_size=901
	because 'has 1000 sectors, but its superblock expects 1001'
	decides 'assemble sda' stopped-1 leg.0.sectors=1001 leg.0.data_offset=100 leg.0.data_size=901
	decides 'assemble sda' stopped-2 leg.1.sectors=1000 leg.1.data_offset=100 leg.1.data_size=901 witness=100:ab waited=99
}

@test "start: a leg that was given up stays out, and does not stop the others from starting" {
	local a=aaaaaaaa-0000-0000-0000-000000000001 b=aaaaaaaa-0000-0000-0000-000000000002
	# Two histories: the administrator has chosen A.
	decides 'assemble sda' stopped-2 leg.0.view=.A. leg.1.view=..A witness=100:a witness.given=$b
	decides refuse stopped-2 leg.0.view=.A. leg.1.view=..A witness=100:a 0:absent waited=99 witness.given=$b
	because 'has been given up'
	decides refuse stopped-2 witness=100:a 0:absent waited=99 witness.given=$b conf.start_degraded=always
	decides 'done' whole-2 1:returned leg.1.device_uuid=$b witness.given=$b
	# It was being rebuilt from what was given up with it.
	decides 'assemble sda' stopped-2 leg.0.view=.A. 1:rebuilt leg.1.events=110 witness=100:a witness.given=$b
	decides refuse stopped-2 leg.0.view=.A. 1:rebuilt leg.1.events=110 witness=100:a
	# Choosing the other one after all.
	decides 'assemble sdb' stopped-2 leg.0.view=.A. leg.1.view=..A witness=100:a witness.given=$b forced=1
	[[ $GIVING_UP == yes ]]
	decides 'assemble sda' stopped-2 leg.0.view=.A. witness=100:a
	[[ -z $GIVING_UP ]]
	decides 'assemble sda' stopped-2 1:absent waited=99 witness.events= witness.legs= conf.start_degraded=always
	[[ $GIVING_UP == yes ]]
}

@test "start: a leg that was merely left behind does not make the others count as separate histories" {
	# B was away, then C; A was with both.
	decides 'assemble sda' stopped-3 leg.0.view=.A.. leg.1.view=.AA. leg.2.view=.A.A leg.0.events=120 leg.1.events=110 leg.2.events=100
	decides refuse stopped-3 leg.0.view=.A.. leg.1.view=..A. leg.2.view=.A.A leg.0.events=120 leg.1.events=110 leg.2.events=100
	# A crash right after B had been put back: A has counted only one event since C left.
	decides 'assemble sda' stopped-3 leg.0.view=.AA. leg.1.view=.AA. leg.2.view=.A.A leg.0.events=101 leg.1.events=102 leg.2.events=100 witness=101:a
}

@test "start: what the superblock of a leg that was left behind says does not count" {
	# B was away and came back, C left, A left; C still calls B missing, which alone has all
	# writes.
	decides 'assemble sdb' stopped-3 leg.0.view=.AA. leg.1.view=..A. leg.2.view=.A.A leg.0.events=102 leg.1.events=103 leg.2.events=100 witness=101:ab
	decides 'assemble sdb' stopped-3 leg.0.view=.AA. leg.1.view=..A. leg.2.view=.A.A leg.0.events=102 leg.1.events=113 leg.2.events=100
	# A was away when B left; then A ran alone, and a crash cut off the re-add of C. B still
	# calls A missing.
	decides 'assemble sda' stopped-3 leg.0.view=.A.A leg.1.view=..AA leg.2.view=AA.A leg.0.events=110 leg.1.events=100 leg.2.events=105
}

@test "start: if each leg is called missing by another, none is started" {
	decides refuse stopped-3 leg.0.view=.AA. leg.1.view=..AA leg.2.view=.A.A
	because 'called missing by another'
	because '--force-leg='
}

@test "start: one event less than the witness is accepted only from a leg that the witness vouches for" {
	decides refuse stopped-2 0:absent waited=99 witness=101:a conf.start_degraded=always
	because 'at 100 events'
	decides 'assemble sdb' stopped-2 0:absent waited=99 witness=101:b
	decides refuse stopped-2 0:absent waited=99 witness=102:b
}

@test "running: a disk leg that left during this run is put back, even if others were put back meanwhile" {
	# A left, B left, A was put back from the RAM leg: B calls A missing.
	decides 'readd 1' whole-2 1:returned leg.1.view=A.A leg.1.joined=yes
	decides 'readd 1' whole-2 0:absent 1:returned leg.1.view=A.A leg.1.joined=yes witness=99:
	# It was in another run, or nobody knows.
	decides 'done' whole-2 1:returned leg.1.view=A.A leg.1.joined=
	decides 'done' whole-2 1:returned leg.1.view=A.A
	# It has been used since: without the RAM leg, or with another one.
	decides 'done' whole-2 1:returned leg.1.view=..A leg.1.joined=yes
	decides 'done' whole-2 1:returned leg.1.view=A.A leg.1.joined=yes leg.1.elsewhere=yes
	decides 'done' whole-2 1:returned leg.1.view=AAA leg.1.joined=yes leg.1.elsewhere=yes
	# There is no RAM leg that has seen all of it.
	decides 'make-ram' whole-2 1:returned ram.state=none ram.slot= leg.1.view=A.A leg.1.joined=yes
	decides 'wait-sync' whole-2 1:returned ram.state=recovering leg.1.view=A.A leg.1.joined=yes
	because 'the RAM leg is being rebuilt'
	# A person has started without it, or has taken it out.
	local b=aaaaaaaa-0000-0000-0000-000000000002
	decides 'done' whole-2 1:returned leg.1.view=A.A leg.1.joined=yes leg.1.device_uuid=$b witness.given=$b
	decides 'done' whole-2 1:returned leg.1.view=A.A leg.1.joined=yes leg.1.removed=yes
}

@test "running: a disk leg whose bits md may have cleared is rebuilt in full, not by the bitmap" {
	# One event is md's own half step.
	decides 'readd 1' whole-2 1:returned witness.filled=91
	decides 'add-leg 1' whole-2 1:returned witness.filled=92
	because 'all of it is rebuilt'
	decides 'add-leg 1' whole-2 0:absent 1:returned leg.1.view=A.A leg.1.joined=yes witness=99: witness.filled=92
	# Not known when that was last so.
	decides 'add-leg 1' whole-2 1:returned witness.filled=
	# Fewer slots than legs: the others have filled them at any time.
	decides 'add-leg 1' whole-2 1:returned array.slots=2
	decides 'add-leg 1' whole-2 1:returned array.slots=0
	decides 'readd 1' whole-2 1:returned array.slots=2 conf.ram=none ram.state=none ram.slot= ram.node=
	# Never one that has, or may have, a history of its own.
	decides 'done' whole-2 1:returned leg.1.view=A.A witness.filled=92
	decides 'done' whole-2 1:returned leg.1.device_uuid=bb witness.given=bb witness.filled=92
	decides 'done' whole-2 1:returned witness.filled=92 failed.add-leg.1=no
	decides wait-sync whole-2 1:returned witness.filled=92 ram.state=recovering array.degraded=2
}

@test "running: a disk leg without a free slot stays out, and the message says how to give it one" {
	decides 'done' whole-2 1:returned array.degraded=0 array.slots=2
	because 'no free slot for it: ramraid apply data'
	decides 'done' whole-2 1:returned array.degraded=0 array.slots=2 array.unconfigured=sdx
	because 'a disk that no MEMBER names has its slot: ramraid check data'
	# The free one is that of a leg that is being rebuilt.
	decides wait-sync whole-2 1:returned array.degraded=1 ram.state=recovering
	decides wait-sync whole-2 1:returned array.degraded=1 leg.0.state=recovering
	decides 'readd 1' whole-2 1:returned array.degraded=2 leg.0.state=recovering failed.rebuild=no waited=99
	# It has a history of its own: no slot is of any use to it.
	decides 'done' whole-2 1:returned array.degraded=0 leg.1.view=A.A
	[[ $WHY != *'free slot'* ]]
}

@test "running: while only the RAM leg is good, the disk leg that left last is put back first" {
	local a=aaaaaaaa-0000-0000-0000-000000000001 b=aaaaaaaa-0000-0000-0000-000000000002
	decides 'readd 1' whole-2 0:returned 1:returned leg.0.device_uuid=$a leg.1.device_uuid=$b leg.0.view=AAA leg.1.view=A.A witness=99: witness.left=$b
	decides 'readd 0' whole-2 0:returned 1:returned leg.0.device_uuid=$a leg.1.device_uuid=$b leg.0.view=AAA leg.1.view=A.A witness=99: witness.left=$b failed.readd.1=no
	# The one that left last is given time to come.
	decides wait-members whole-2 0:returned 1:absent leg.0.device_uuid=$a leg.0.view=AAA witness=99: witness.left=$b waited=29
	decides 'readd 0' whole-2 0:returned 1:absent leg.0.device_uuid=$a leg.0.view=AAA witness=99: witness.left=$b waited=30
	# Noted together: which was the last?
	decides wait-members whole-2 0:returned 1:absent leg.0.device_uuid=$a leg.0.view=AAA witness=99: "witness.left=$a $b" waited=0
	decides 'readd 1' whole-2 0:returned 1:returned leg.0.device_uuid=$a leg.1.device_uuid=$b leg.1.view=A.A leg.1.events=95 witness=99: "witness.left=$a $b" waited=0
	decides 'readd 0' whole-2 0:returned 1:returned leg.0.device_uuid=$a leg.1.device_uuid=$b leg.0.view=AA. leg.0.events=95 witness=99: "witness.left=$a $b" waited=0
	decides 'readd 0' whole-2 0:returned 1:absent leg.0.device_uuid=$a leg.0.view=AAA witness=99: witness.left=$a waited=0
	decides wait-members whole-2 0:returned 1:returned 1:unreadable leg.0.device_uuid=$a leg.0.view=AAA witness=99: witness.left=$b waited=0
	decides 'done' whole-2 0:returned 1:absent leg.0.device_uuid=$a leg.0.view=A.. witness=99: witness.left=$b waited=0
}

# A slot is no device: roles=NUMBER:SLOT… is what a superblock says of the devices. A has number 0,
# B 1; the RAM leg, made again, has 3.
slots_a=aaaaaaaa-0000-0000-0000-000000000001 slots_b=aaaaaaaa-0000-0000-0000-000000000002 \
	slots_c=aaaaaaaa-0000-0000-0000-000000000003
# slots_adopted SLOT-OF-THE-RAM-LEG NUMBER CHANGE…: A ran alone with the RAM leg; B was used
# elsewhere, further.
slots_adopted() {
	local slot=$1 number=$2
	shift 2
	facts stopped-2 leg.0.number=0 leg.0.role=0 "leg.0.roles=0:0 $number:$slot" \
		leg.0.events=150 leg.0.dirty=yes \
		leg.1.number=1 leg.1.role=1 leg.1.roles=1:1 leg.1.events=300 \
		witness.events=140 "witness.legs=$slots_a" "witness.ram_slot=$slot" \
		"witness.ram_number=$number" witness.why= "$@"
	action_choose
}

@test "start: the RAM leg in the slot of an absent disk does not vouch for that disk" {
	local slot
	for slot in 1 2; do
		slots_adopted "$slot" 3
		[[ $ACTION == refuse && $WHY == *'used without each other'* ]] ||
			fail "slot $slot: $ACTION ${ARGUMENTS[*]}: $WHY"
	done
}

@test "start: the RAM leg with the number and slot of a replaced, absent disk does not vouch for that disk" {
	slots_adopted 1 3 leg.1.number=3 leg.1.roles=3:1
	[[ $ACTION == refuse && $WHY == *'used without each other'* ]] ||
		fail "$ACTION ${ARGUMENTS[*]}: $WHY"
	# Without a record nobody knows whose number that was.
	slots_adopted 1 3 leg.1.number=3 leg.1.roles=3:1 witness.events= witness.legs= \
		witness.ram_slot= witness.ram_number=
	[[ $ACTION == refuse && $WHY == *'used without each other'* ]] ||
		fail "$ACTION ${ARGUMENTS[*]}: $WHY"
	# A disk that knows the other one as well was there.
	slots_adopted 1 4 leg.1.number=3 'leg.1.roles=0:0 3:1' 'leg.0.roles=0:0 3:1' \
		leg.0.events=300 witness.events= witness.legs= witness.ram_slot= witness.ram_number=
	[[ $ACTION == assemble && ${ARGUMENTS[*]} == 'sda sdb' ]] ||
		fail "$ACTION ${ARGUMENTS[*]}: $WHY"
}

# A was used alone elsewhere, and a ramdisk got the number and the slot of B there, which is away.
@test "start: what a disk says about a number that md hands out again is believed only up to when it left" {
	local row=(stopped-2 leg.0.number=1 leg.0.role=0 'leg.0.roles=1:0 2:1' leg.0.raid_disks=2
		leg.0.events=150 leg.1.number=2 leg.1.role=1 leg.1.roles=2:1 leg.1.raid_disks=2
		leg.1.events=300 witness.events=140 witness.ram_slot=0 witness.ram_number=3
		witness.why=)
	# Both have changed since the record. One event is md's own half step.
	decides refuse "${row[@]}" "witness.legs=$slots_a $slots_b"
	because 'have been used without each other'
	decides refuse "${row[@]}" "witness.legs=$slots_a $slots_b" witness.events=148
	decides 'assemble sdb' "${row[@]}" "witness.legs=$slots_a $slots_b" witness.events=149
	# It also calls the RAM leg active.
	decides 'assemble sdb' "${row[@]}" "witness.legs=$slots_a $slots_b" \
		'leg.0.roles=1:0 2:1 3:2' witness.ram_slot=2
	# So it does if another leg, which left before, has that number and another slot.
	decides 'assemble sdb' stopped-3 leg.0.number=1 leg.0.role=0 \
		'leg.0.roles=1:0 2:1 3:2' leg.0.raid_disks=2 leg.0.events=150 leg.1.number=2 \
		leg.1.role=1 leg.1.roles=2:1 leg.1.raid_disks=2 leg.1.events=300 leg.2.number=3 \
		leg.2.role=3 'leg.2.roles=1:0 2:1 3:3' leg.2.events=90 witness.events=140 \
		witness.ram_slot=2 witness.ram_number=3 witness.why= \
		"witness.legs=$slots_a $slots_b"
	# A left before the record: with how many events?
	decides 'assemble sdb' "${row[@]}" "witness.legs=$slots_b" witness.events=290
	decides 'assemble sdb' "${row[@]}" "witness.legs=$slots_b" witness.events=290 \
		"witness.departed=$slots_c:1 $slots_a:150"
	decides refuse "${row[@]}" "witness.legs=$slots_b" witness.events=290 \
		"witness.departed=$slots_a:149"
	because 'have been used without each other'
	decides refuse "${row[@]}" "witness.legs=$slots_b" witness.events=290 \
		"witness.departed=$slots_a:149+"
	# md does not hand out that number again here, and it may have had more events.
	decides 'assemble sdb' "${row[@]}" "witness.legs=$slots_b" witness.events=290 \
		"witness.departed=$slots_a:149+" leg.0.raid_disks=3
}

@test "running: a disk that has more events than when it left is not put back for what it says about a number that md hands out again" {
	local row=(whole-2 leg.1.slot=1 leg.1.number=2 leg.0.in= leg.0.state= leg.0.slot= leg.0.sb=ok
		"leg.0.uuid=$ME" leg.0.number=1 leg.0.role=0 'leg.0.roles=1:0 2:1' leg.0.raid_disks=2
		leg.0.events=150 "leg.0.device_uuid=$slots_a" waited=99 array.events=302
		witness.events=300 "witness.legs=$slots_b" witness.filled=1 mend=yes ram.number=3)
	decides 'readd 0' "${row[@]}" "witness.departed=$slots_a:150"
	decides 'done' "${row[@]}" "witness.departed=$slots_a:149"
	decides 'readd 0' "${row[@]}" "witness.departed=$slots_a:149+" leg.0.raid_disks=3
	# It was being rebuilt when it left again: that is where its events are from.
	decides 'readd 0' "${row[@]}" "witness.departed=$slots_a:149" leg.0.recovery=2048
}

# Elsewhere, shrinking an array and adding a disk to it can give that disk any number.
@test "a disk that was surely used since it left is not believed about any number" {
	local row=(stopped-2 leg.0.number=0 leg.0.role=0 'leg.0.roles=0:0 1:1' leg.0.raid_disks=2
		leg.0.events=151 leg.1.number=1 leg.1.role=1 'leg.1.roles=1:1 2:2'
		leg.1.raid_disks=3 leg.1.events=300 witness.events=300 "witness.legs=$slots_b"
		witness.ram_slot=2 witness.ram_number=2 witness.why=)
	decides 'assemble sdb' "${row[@]}"
	decides 'assemble sdb' "${row[@]}" "witness.departed=$slots_a:151"
	# It may have had more events: the power was cut before that could be recorded.
	decides 'assemble sdb' "${row[@]}" "witness.departed=$slots_a:150+"
	decides refuse "${row[@]}" "witness.departed=$slots_a:150"
	because 'have been used without each other'
	# Where B knows A, they have been together.
	decides 'assemble sdb' "${row[@]}" "witness.departed=$slots_a:150" \
		'leg.1.roles=0:0 1:1 2:2'
	# In the running array.
	row=(whole-2 0:returned leg.0.number=0 leg.0.role=0 leg.0.raid_disks=2
		'leg.0.roles=0:0 1:1' leg.0.view=AA leg.0.events=151 "leg.0.device_uuid=$slots_a"
		leg.1.slot=1 leg.1.number=1 "leg.1.member_uuid=$slots_b" ram.number=2 ram.slot=2
		array.events=300 witness.events=300 "witness.legs=$slots_b" witness.ram_slot=2
		witness.ram_number=2 witness.filled=150 waited=99 mend=yes)
	decides 'readd 0' "${row[@]}" "witness.departed=$slots_a:151"
	decides 'readd 0' "${row[@]}" "witness.departed=$slots_a:150+"
	decides 'done' "${row[@]}" "witness.departed=$slots_a:150"
}

@test "running: with only the RAM leg in sync, a disk that was used since it left is not put back" {
	local row=(whole-2 0:returned 1:absent leg.0.number=0 leg.0.role=0 leg.0.raid_disks=3
		'leg.0.roles=0:0 1:1 2:2' leg.0.view=AAA leg.0.events=150
		"leg.0.device_uuid=$slots_a" waited=99 ram.number=3 ram.slot=0 array.degraded=2
		array.events=310 witness.events=300 witness.legs= witness.left= witness.ram_number=3
		witness.ram_slot=0 witness.filled=1)
	# The RAM leg had another number and slot when A left.
	decides 'readd 0' "${row[@]}" "witness.departed=$slots_a:150 $slots_b:140"
	decides 'done' "${row[@]}" "witness.departed=$slots_a:149 $slots_b:300"
	# It may have had more events then.
	decides 'readd 0' "${row[@]}" "witness.departed=$slots_a:149+ $slots_b:300"
}

# A (0:0) left while a copied RAM leg was 1:1; B (4:2) was built in before, instead of another disk.
@test "a RAM leg that had another number when a disk left is no reason to keep that disk out" {
	local record=(witness.events=300 "witness.legs=$slots_b" witness.ram_slot=0
		witness.ram_number=3 "witness.departed=$slots_c:100 $slots_a:150"
		"witness.seen=$slots_a $slots_c $slots_b" leg.0.number=0 leg.0.role=0
		'leg.0.roles=0:0 1:1 4:2' leg.0.raid_disks=3 leg.0.events=150
		"leg.0.device_uuid=$slots_a")
	decides 'assemble sdb' stopped-2 "${record[@]}" witness.why= leg.1.number=4 leg.1.role=2 \
		'leg.1.roles=3:0 4:2' leg.1.raid_disks=3 leg.1.events=300
	decides 'readd 0' whole-2 0:returned "${record[@]}" leg.0.view=AAA leg.1.slot=2 \
		leg.1.number=4 "leg.1.member_uuid=$slots_b" ram.number=3 ram.slot=0 waited=99 \
		array.events=302 witness.filled=1
}

@test "running: a disk with a history of its own is not put back, even if its slot looks right" {
	facts whole-2 leg.1.slot=1 leg.1.number=1 leg.0.in= leg.0.state= leg.0.slot= leg.0.sb=ok \
		"leg.0.uuid=$ME" leg.0.number=0 leg.0.role=0 'leg.0.roles=0:0 3:1' \
		leg.0.events=150 "leg.0.device_uuid=$slots_a" ram.state=none ram.node= ram.slot= \
		array.degraded=2 witness.events=302 "witness.legs=$slots_b" witness.ram_slot=1 \
		witness.why=
	action_choose
	[[ $ACTION != readd ]] || fail "$ACTION ${ARGUMENTS[*]}: $WHY"
}

@test "start: if a new disk has the slot of an absent one, the new pair is started and the old disk stays out" {
	# A has slot 1, the RAM leg had 0; B (number 2) was away when C (number 4) was built into
	# slot 2.
	local row=(stopped-3 leg.0.number=1 leg.0.role=1 'leg.0.roles=1:1 4:2' leg.0.events=200
		leg.1.number=2 leg.1.role=2 'leg.1.roles=1:1 2:2 3:0' leg.1.events=100
		leg.2.number=4 leg.2.role=2 'leg.2.roles=1:1 4:2' leg.2.events=200
		witness.events=200 "witness.legs=$slots_a $slots_c" witness.ram_slot=0
		witness.ram_number=3 witness.why=)
	decides 'assemble sda sdc' "${row[@]}"
	# With A still to come nobody knows yet which of the two has been left behind.
	decides wait-members "${row[@]}" 0:absent leg.0.number= leg.0.roles=
	# And where C runs, B is not put back for having its slot.
	facts whole-2 leg.1.slot=2 leg.1.number=4 leg.0.in= leg.0.state= leg.0.slot= leg.0.sb=ok \
		"leg.0.uuid=$ME" leg.0.number=2 leg.0.role=2 leg.0.roles=2:2 leg.0.events=300 \
		"leg.0.device_uuid=$slots_a" ram.state=none ram.node= ram.slot= array.degraded=2
	action_choose
	[[ $ACTION != readd ]] || fail "$ACTION ${ARGUMENTS[*]}: $WHY"
}

@test "start: an absent leg is waited for if the newest calls a device active that is not the RAM leg by its number" {
	# B came last, to the RAM leg's old slot; the RAM leg has number 3 and A's slot.
	local row=(stopped-2 0:absent leg.0.number= leg.0.roles= leg.1.number=2 leg.1.role=0
		'leg.1.roles=2:0 3:1' witness=100:b)
	decides 'assemble sdb' "${row[@]}" witness.ram_number=3 witness.ram_slot=1
	# Another one than the RAM leg is called active: it may be A.
	decides wait-members "${row[@]}" witness.ram_number=4 witness.ram_slot=1
	# A record of an earlier release knows the slot alone.
	decides 'assemble sdb' "${row[@]}" witness.ram_number= witness.ram_slot=1
	decides wait-members "${row[@]}" witness.ram_number= witness.ram_slot=2
}

@test "start: a disk that calls only its own slot active is not taken to have run on with the RAM leg" {
	# Only the RAM leg was good, in slot 1 with number 3; B (number 1, slot 1) has been used
	# alone since.
	local row=(stopped-2 0:absent leg.0.number= leg.0.roles= leg.1.number=1 leg.1.role=1
		leg.1.roles=1:1 leg.1.events=300 waited=30
		witness.events=200 witness.legs= "witness.left=$slots_b" witness.ram_slot=1
		witness.why=)
	decides refuse "${row[@]}"
	because 'the only good copy'
	decides refuse "${row[@]}" witness.ram_number=3
	because 'the only good copy'
}

@test "start: event counts of any size are compared correctly" {
	local events=$((1 << 33))
	# The square of this lag is nothing in 64 bits.
	decides 'assemble sdb' stopped-2 leg.0.events=$events leg.1.events=$((events + (1 << 32))) witness.events=$events "witness.legs=$slots_a $slots_b" witness.ram_slot=0
}

@test "start: two legs with one device UUID are refused, and called copies" {
	decides refuse stopped-2 leg.0.number=1 leg.1.number=1 leg.1.role=1 leg.1.roles=1:1 leg.1.events=120 "leg.1.device_uuid=$slots_a"
	because 'have the same device UUID'
}

@test "running: while a leg that may be a mirror of the copies is missing, no copy is to be erased" {
	local row=(whole-2 array.copy='sda sdx' 1:absent)
	decides refuse "${row[@]}"
	because 'Stop it (mdadm --stop /dev/md127). Take the copy out of the machine or make it blank (mdadm --zero-superblock); then'
	decides refuse "${row[@]}" leg.1.dev=/dev/md/below
	because 'Stop it (mdadm --stop /dev/md127). If one of them is the disk below /dev/md/below, leave it alone'
	[[ $WHY != *zero-superblock* && $WHY != *'Take the copy'* ]] || fail "$WHY"
}

@test "running: a copy of a member in sync is not put back under the name of a leg that left" {
	local \
		row=(whole-2 1:returned mend=yes leg.1.joined=yes leg.1.left_with= leg.1.number=2
			leg.1.role=2 leg.1.roles='0:0 1:1 2:2' ram.number=0 ram.slot=0
			leg.0.number=1 waited=99)
	decides 'readd 1' "${row[@]}" leg.1.device_uuid=x leg.0.member_uuid=y
	decides 'done' "${row[@]}" leg.1.device_uuid=x leg.0.member_uuid=x
}

@test "running: while only the RAM leg is good, a disk that was used alone elsewhere stays out" {
	local row=(whole-2 1:absent leg.1.number= leg.1.roles= leg.0.in= leg.0.state= leg.0.slot=
		leg.0.sb=ok "leg.0.uuid=$ME" leg.0.number=1 leg.0.role=1 leg.0.events=300
		"leg.0.device_uuid=$slots_a" leg.0.raid_disks=3 leg.0.joined=yes ram.slot=0
		ram.number=3 waited=99 witness.events=210 witness.legs= "witness.left=$slots_a"
		array.events=300
		witness.ram_slot=0 witness.ram_number=3 mend=yes)
	decides 'done' "${row[@]}" leg.0.roles=1:1
	decides 'done' "${row[@]}" leg.0.roles='1:1 4:0'
	decides 'done' "${row[@]}" leg.0.roles='1:1 3:0' leg.0.elsewhere=yes
	decides 'readd 0' "${row[@]}" leg.0.roles='1:1 3:0'
	# In an array of fewer slots, the RAM leg that it had elsewhere is where the other disk was.
	decides 'done' "${row[@]}" leg.0.raid_disks=2 leg.0.roles='1:1 2:0' "witness.legs=$slots_a" witness.left=
	# Of an array with a slot for one disk, it calls all disks active in any case.
	decides 'done' whole-2 members=1 leg.0.in= leg.0.state= leg.0.slot= leg.0.sb=ok "leg.0.uuid=$ME" leg.0.number=0 leg.0.role=0 leg.0.roles=0:0 leg.0.raid_disks=2 leg.0.events=300 \
		"leg.0.device_uuid=$slots_a" leg.0.joined=yes ram.slot=1 ram.number=2 \
		witness.events=210 "witness.legs=$slots_a" witness.ram_slot=1 witness.ram_number=2
}

@test "running: a disk that left during this run but calls another one missing, in sync then, is not put back" {
	local row=(whole-2 leg.1.number=2 "leg.1.member_uuid=$slots_b" leg.0.in= leg.0.state=
		leg.0.slot= leg.0.sb=ok "leg.0.uuid=$ME" leg.0.number=1 leg.0.role=1
		leg.0.raid_disks=3
		leg.0.events=90 "leg.0.device_uuid=$slots_a" leg.0.joined=yes ram.slot=0
		ram.number=3 leg.0.roles='1:1 3:0')
	decides 'readd 0' "${row[@]}" leg.0.left_with=
	decides 'done' "${row[@]}" "leg.0.left_with=$slots_b"
}
