#!/usr/bin/env bats
# decide/leg.sh: from the facts of a leg to one word, and what those say who ask for it.

setup() {
	load helper
	world
	libraries
	ME=11111111-2222-3333-4444-555555555555
}

# is WORD BASE [KEY=VALUE…]: leg 1 of tests/fixtures/decide/BASE.facts, with these facts of it (or
# of all, with a dot in the key), is called WORD.
is() {
	local word=$1 base=$2 fact LEG
	shift 2
	facts_read <"$FIXTURES/decide/$base.facts"
	for fact; do
		if [[ ${fact%%=*} == *.* ]]; then
			F[${fact%%=*}]=${fact#*=}
		else
			F[leg.1.${fact%%=*}]=${fact#*=}
		fi
	done
	leg_classify 1
	[[ $LEG == "$word" ]] || fail "$base $*: $LEG, and not $word"
}
# outside WORD [KEY=VALUE…]
outside() {
	is "$1" whole-2 in= state= slot= sb=ok uuid="$ME" role=2 view=AAA roles='0:0 1:1 2:2' \
		number=2 events=90 device_uuid=b "${@:2}"
}

@test "one word for each state of a leg while the array is running" {
	# As md has it, whatever else is known.
	is in_sync whole-2
	is in_sync whole-2 removed=yes sb=corrupt
	is recovering whole-2 state=recovering
	is faulty whole-2 state=faulty
	# By itself.
	is missing whole-2 node= in= state=
	is used whole-2 in=other holder=dm-0 state= sb=
	outside unreadable sb=unreadable uuid=
	outside silent sb=unreadable silent=yes uuid=
	outside blank sb=none uuid=
	outside damaged sb=corrupt uuid=
	outside foreign uuid=99999999-2222-3333-4444-555555555555
	# Beside the running array.
	outside returned
	outside returned recovery=2048
	outside copy device_uuid=a leg.0.member_uuid=a
	outside given witness.given=b
	outside removed removed=yes
	outside ahead events=202
	outside returned events=201
	outside holding holds=yes
	outside bouncing returns=5
	outside begun role=spare witness.seen=b
	outside fresh role=spare
	outside fresh role=spare recovery=2048 witness.seen=c
	outside separate view=.AA roles='1:1 2:2' leg.0.slot=0 leg.0.number=0
	outside separate role=faulty
	# The first that holds.
	outside copy device_uuid=a leg.0.member_uuid=a witness.given=a removed=yes
	outside given witness.given=b removed=yes
	outside removed removed=yes returns=5
	outside given witness.given=b events=202
	outside ahead removed=yes returns=5 events=202 holds=yes
	outside holding removed=yes returns=5 holds=yes
	# What is incomplete is nothing to go on from; and of an array of which nobody knows how far
	# it is, it is not said.
	outside separate events=202 recovery=2048 witness.seen=b
	outside begun role=spare witness.seen=b events=202
	outside separate array.events=0
}

@test "one word for each state of a leg while the array is not running" {
	is good stopped-2
	is missing stopped-2 node=
	is used stopped-2 in=other
	is unreadable stopped-2 sb=unreadable
	is silent stopped-2 sb=unreadable silent=yes
	is blank stopped-2 sb=none
	is damaged stopped-2 sb=corrupt
	is foreign stopped-2 uuid=x
	is level stopped-2 level=10
	is shrunk stopped-2 sectors=1000 data_offset=2048 data_size=2048
	is slotless stopped-2 role=spare
	is partial stopped-2 recovery=2048
	is level stopped-2 level=10 role=spare recovery=2048
}

@test "health_leg has one word for each leg of the running array, also for the RAM leg" {
	local LEG
	facts_read <"$FIXTURES/decide/whole-2.facts"
	health_leg ram && [[ $LEG == in_sync ]]
	F[ram.state]=attached
	health_leg ram && [[ $LEG == attached ]]
	# A device in its place, that is in no array.
	F[ram.state]=none
	health_leg ram && [[ $LEG == missing ]]
	F[ram.node]=''
	health_leg ram && [[ $LEG == missing ]]
	F[leg.0.state]=''
	health_leg leg.0 && [[ $LEG == outside ]]
}

# ram_is WORD [KEY=VALUE…]: the RAM leg beside the running array is called WORD.
ram_is() {
	local word=$1 fact LEG
	facts_read <"$FIXTURES/decide/whole-2.facts"
	for fact in "${@:2}"; do F[${fact%%=*}]=${fact#*=}; done
	leg_ram
	[[ $LEG == "$word" ]] || fail "$*: $LEG, and not $word"
}

@test "one word for each state of the RAM leg beside the running array" {
	local out
	ram_is in_sync
	ram_is in_sync ram.out=person copy.state=running conf.ram=none
	ram_is recovering ram.state=recovering
	ram_is recovering ram.state=attached copy.state=running
	for out in none attached faulty; do
		ram_is lost ram.state=$out
		ram_is detached ram.state=$out ram.out=person
		ram_is detached ram.state=$out ram.out=release
		ram_is short ram.state=$out ram.out=memory
		ram_is short ram.state=$out ram.out=room
		ram_is none ram.state=$out conf.ram=none ram.out=memory
	done
	ram_is lost ram.state=attached copy.state=failed
}

@test "a running copy is shown as the sync that goes on, unless md itself is at work" {
	copy_state() { COPY_STATE=$COPIES COPY_WHY=why DONE=5 TOTAL=9 RATE=2; }
	goes_on() { # SYNC DONE, with COPIES, and md doing WAS
		F=([name]=data [array.sync]=$WAS [array.done]=0 [array.total]=0 [array.rate]=0)
		outside_copy
		[[ ${F[array.sync]} == "$1" && ${F[array.done]} == "$2" &&
			${F[copy.state]} == "$COPIES" ]] ||
			fail "$COPIES beside $WAS: ${F[array.sync]} ${F[array.done]}"
	}
	COPIES=running WAS=idle goes_on copy 5
	COPIES=running WAS=recover goes_on recover 0
	COPIES=failed WAS=idle goes_on idle 0
	COPIES=none WAS=check goes_on check 0
}

@test "the event count of the array is that of the first member in sync that can be read, even the RAM leg alone" {
	superblock_facts() {
		case ${1##*/} in
		rd0) echo events=77 ;;
		sdb) echo events=76 ;;
		esac
	}
	members_in_sync() { NODES=("${IN_SYNC[@]}"); }
	far() { # EVENTS RAM-STATE NODE…
		F=([array.state]=active [array.events]=0 [ram.node]=rd0 [ram.state]=$2)
		IN_SYNC=("${@:3}")
		outside_events
		[[ ${F[array.events]} == "$1" ]] || fail "$*: ${F[array.events]}"
	}
	far 77 in_sync
	far 76 in_sync sda sdb
	far 76 none sda sdb
	far 0 none sda
	far 0 recovering
}

# advises TEXT [KEY=VALUE…]: what "status" and "check" say of leg 1, which is outside.
advises() {
	local text=$1 ADVICE_ACTION='' ADVICE_BLIND=no
	outside "${WORD:?}" "${@:2}"
	F[conf.hotplug]=${HOTPLUG-yes}
	advice_lost_leg 1
	[[ $ADVICE_ACTION == *"$text"* ]] || fail "$WORD: $ADVICE_ACTION"
}

@test "what to type for a leg outside the array depends on its state" {
	WORD=silent advises 'does not answer' sb=unreadable silent=yes uuid=
	WORD=unreadable advises "can't be read" sb=unreadable uuid=
	WORD=returned advises \
		'ramraid attach data, if ramraid does not put it back within a minute' \
		array.degraded=1
	WORD=returned advises 'there is no free slot' array.degraded=0
	# Somebody has put another disk in, and "apply" would take that one out again.
	WORD=returned advises 'a disk that no MEMBER names has its slot: ramraid check data' \
		array.degraded=0 array.unconfigured=sdx
	WORD=removed advises 'taken out by hand, and the next start puts it back; to put it back now: ramraid attach data; to keep it out: delete its MEMBER line (ramraid config show data), then' \
		removed=yes array.degraded=1
	WORD=removed advises 'taken out by hand; a disk that no MEMBER names has its slot' \
		removed=yes array.degraded=0 array.unconfigured=sdx
	WORD=bouncing advises 'has come back 5 times within an hour, so ramraid no longer puts it back' \
		returns=5
	WORD=fresh advises 'to rebuild it: ramraid apply data' role=spare
	WORD=holding advises 'may have blocks that no member in sync has, since md could not write' \
		holds=yes
	WORD=ahead advises 'is at 202 events, and the array only at 200: it may hold writes' events=202
	WORD=ahead advises 'so it is neither put back nor overwritten' events=202
	WORD=ahead advises 'To go on from it: ramraid stop data && ramraid start --force-leg=/dev/' \
		events=202
	WORD=ahead advises 'To give up what it has: mdadm --zero-superblock' events=202
	WORD=separate advises "can't be put back as it is" role=faulty
	# Hot-plug rebuilds it: nobody need wipe it.
	WORD=begun advises 'nothing: ramraid rebuilds all of' role=spare witness.seen=b
	HOTPLUG=no WORD=begun advises 'if nothing on it is needed: mdadm --zero-superblock' \
		role=spare witness.seen=b
}

@test "nobody is told to wipe a disk whose superblock can't be read" {
	local word
	declare -gA CONF=([HOTPLUG]=yes [AUTO_REPLACE]=no)
	notify() { TOLD=$4; }
	for word in unreadable silent; do
		outside "$word" sb=unreadable uuid= silent="${word#unreadable}"
		F[leg.1.kind]=$word WRONG=() PLAN=()
		membership_wrong_disk 1 /dev/x 0
		[[ ${WRONG[0]} != *wipefs* ]] || fail "${WRONG[0]}"
		transitions_say_leg_ data 1 "$word"
		[[ $TOLD != *zero-superblock* ]] || fail "$TOLD"
	done
}

@test "a disk that is not put back is erased only if nothing on it is needed, whatever is reported" {
	local word
	declare -gA CONF=([HOTPLUG]=no [AUTO_REPLACE]=no)
	notify() { TOLD=$4; }
	outside returned
	F[leg.1.sb]=corrupt
	readd_is_copy() { ORIGINAL=/dev/sda; }
	for word in damaged given copy separate; do
		transitions_say_leg_ data 1 "$word"
		[[ $TOLD == *'othing on it is needed, to rebuild all of it: mdadm --zero-superblock '* ]] ||
			fail "$word: $TOLD"
	done
}

@test "--force-leg names the ramdisk that is still there among what is given up, and how to go on with it instead" {
	declare -gA OPT=([yes]=yes) CONF=([RAM]=auto)
	NAME=data
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[forced]=0 F[ram.state]=attached F[ram.node]=rd0 F[witness.events]=130 F[witness.legs]=
	action_choose
	[[ $ACTION == assemble ]] || fail "$ACTION $WHY" # the loop then fills the ramdisk anew
	run start_ask_forced data
	assert_success
	assert_output -p "  whatever the ramdisk /dev/rd0 has that the chosen leg lacks; it is filled \
again from that leg. When the array last ran, only the ramdisk was in sync: to go on with what it \
has, answer no, then: mdadm --assemble --run /dev/md/data /dev/rd0 && ramraid start data"
	# The record vouches for a disk as well, which may be away.
	F[witness.legs]=aaaaaaaa-0000-0000-0000-000000000001
	run start_ask_forced data
	assert_output -p 'whatever the ramdisk /dev/rd0 has that the chosen leg lacks'
	refute_output -p 'only the ramdisk was in sync'
	F[ram.state]=none
	run start_ask_forced data
	refute_output -p 'the ramdisk'
}
