#!/usr/bin/env bats
# What is written down of a running array, when it must not be, and what becomes of those who find
# that it could not be.

setup() {
	load helper
	world
	libraries
	one=aaaaaaaa-0000-0000-0000-000000000001 two=aaaaaaaa-0000-0000-0000-000000000002 \
		three=aaaaaaaa-0000-0000-0000-000000000003
	W=$R/etc/ramraid/state/data.witness
	runs
	superblock_facts() {
		printf 'sb=ok\nevents=50\ndevice_uuid=%s\n' \
			"$([[ $1 == */sda ]] && echo "$one" || echo "$two")"
	}
	eval "real_$(declare -f witness_write)"
	# With DEPARTED, also which legs have left.
	witness_write() {
		local leg legs=()
		for leg in "${@:9}"; do
			[[ $leg == *:* && -z ${DEPARTED-} ]] || legs+=("$leg")
		done
		called write "$4" "$5" "${legs[@]}"
	}
	sleep() { called sleep; }
	facts_observe() { :; }
}

# runs [FACT…]: the whole array, then what a test says of it.
runs() {
	local fact
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[witness.events]=50
	for fact; do F[${fact%%=*}]=${fact#*=}; done
}

# not_writable: from here on no witness can be written; the last one names both legs.
not_writable() {
	mkdir -p "${W%/*}"
	echo old >"$W"
	witness_write() { called write "$1" && [[ $1 != data ]]; }
	witness_void() { return 1; }
}

@test "first look: an array that something else started is known only if a leg in it was in sync in the last run" {
	known() { # YES-OR-NO LEGS EVENTS [FACT…]
		runs "witness.legs=$2" "witness.events=$3" "${@:4}"
		witness_update_foreign_start
		[[ ${F[array.known]} == "$1" ]] || fail "$*"
	}
	known yes '' ''
	known yes "$one" 50
	known yes "$two" 50
	known no "$three" 50
	known no "$two" 50 leg.1.state=recovering
	known yes '' 50
	known no '' 50 ram.state=none
	known yes "$one" 50 leg.0.state= leg.1.state=
	known no "$one" 50 leg.0.state= leg.1.state= leg.ram.dev=/dev/pmem0
	known yes '' 50 leg.0.state= leg.1.state= leg.ram.dev=/dev/pmem0
}

@test "first look: an array with a leg in sync that was given up is not known" {
	runs "witness.legs=$one" witness.events=50 "witness.given=$two"
	witness_update_foreign_start
	[[ ${F[array.known]} == no && ${F[array.unfit]} == '/dev/sdb, which a start'* ]] ||
		fail "${F[array.known]} ${F[array.unfit]}"
	action_choose
	[[ $ACTION == refuse && $WHY == *'with /dev/sdb, which a start without it has given up.'* &&
		$WHY != *'rm '* ]] ||
		fail "$WHY"
	runs "witness.legs=$one" witness.events=50 "witness.given=$two" leg.1.state=
	witness_update_foreign_start
	[[ ${F[array.known]} == yes ]]
}

@test "first look: an array that something else started from a leg older than the record is not known" {
	known() { # YES-OR-NO LEGS EVENTS [FACT…]
		runs "witness.legs=$2" "witness.events=$3" leg.1.state= "${@:4}"
		witness_update_foreign_start
		[[ ${F[array.known]} == "$1" ]] || fail "$*"
	}
	# md's own half step.
	known yes "$one $two" 51
	known no "$one $two" 52
	known no "$one $two" 180
	# One of them is as far.
	superblock_facts() {
		[[ $1 == */sda ]] && printf 'sb=ok\ndevice_uuid=%s\nevents=50\n' "$one" ||
			printf 'sb=ok\ndevice_uuid=%s\nevents=180\n' "$two"
	}
	known no "$one $two" 180
	known yes "$one $two" 180 leg.1.state=in_sync
	known no "$one" 180 leg.1.state=in_sync
	# The RAM leg, a device that was put back to an older state.
	superblock_facts() { printf 'sb=ok\nevents=50\n'; }
	known no '' 180 leg.0.state= leg.ram.dev=/dev/pmem0
	# A void record has no count.
	superblock_facts() { printf 'sb=ok\ndevice_uuid=%s\nevents=50\n' "$one"; }
	known yes '' '' "witness.was=$one"
}

@test "an array that was stopped and started from its disks before the record said that only the RAM leg is good" {
	mkdir -p "${W%/*}" "$R/sys/block/rd0" "$R/run/ramraid"
	printf '%s\n' "uuid=${F[uuid]}" "legs=$one $two" events=50 ram_slot=0 generation=4 >"$W"
	echo 9 >"$R/sys/block/rd0/diskseq"
	echo rapiddisk rd0 102400 9 used >"$R/run/ramraid/data.ram"
	superblock_facts() {
		local view=AAA number=1 events=50
		[[ $1 != */rd0 ]] || view=$VIEW number=0 events=$EVENTS
		printf '%s\n' sb=ok "uuid=${F[uuid]}" "device_uuid=$one" level=1 "events=$events" \
			"number=$number" "role=$number" 'roles=0:0 1:1 2:2' "view=$view" recovery=
	}
	beside() {
		runs ram.state=attached ram.node=rd0 ram.slot= array.degraded=1
		before_look_witness
		witness_update_foreign_start 2>/dev/null
		action_choose
	}
	# It left the array before the record was written, or the disks were in it.
	VIEW=A.. EVENTS=40 beside
	[[ ${F[array.known]} == yes && $ACTION != refuse ]] || fail "${F[array.known]} $WHY"
	VIEW=AAA EVENTS=90 beside
	[[ ${F[array.known]} == yes && $ACTION != refuse ]] || fail "${F[array.known]} $WHY"
	VIEW=A.. EVENTS=90 beside
	[[ ${F[array.known]} == no && $ACTION == refuse && $WHY == *'Do not cut the power'* ]] ||
		fail "${F[array.known]} $ACTION $WHY"
}

@test "an array started from a leg that was put back to an older state: the record stays, and a start is refused" {
	mkdir -p "${W%/*}"
	printf '%s\n' "uuid=${F[uuid]}" "legs=$one $two" events=180 ram_slot=0 generation=4 >"$W"
	runs leg.1.state= leg.1.in= leg.1.node= array.degraded=2 ram.state=none ram.node= ram.slot=
	before_look_witness
	run witness_update
	assert_output -p 'or are older now; that is not recorded'
	[[ -z $(calls) ]] || fail "$(calls)"
	witness_update_foreign_start
	action_choose
	[[ $ACTION == refuse && $WHY == *'or are older now: writes may be missing'* ]] || fail "$WHY"
}

@test "first look: legs that can't be read are asked again, and if none answers the array is not known" {
	looks() { # KNOWN LOOKS [FACT…]: at leg 0, which can be read at the look that ANSWERS names
		local looks
		rm -f "$BATS_TEST_TMPDIR/calls"
		: >"$BATS_TEST_TMPDIR/looks"
		runs "witness.legs=$one" witness.events=90 "${@:3}"
		witness_update_foreign_start
		looks=$(wc -l <"$BATS_TEST_TMPDIR/looks")
		[[ ${F[array.known]} == "$1" && $looks == "$2" &&
			$(calls | grep -c sleep) == $(($2 > 1 ? $2 - 1 : 0)) ]] ||
			fail "$*: ${F[array.known]}, $looks looks"
	}
	superblock_facts() {
		[[ $1 == */sda ]] || return 0
		echo >>"$BATS_TEST_TMPDIR/looks"
		(($(wc -l <"$BATS_TEST_TMPDIR/looks") >= ANSWERS)) &&
			printf 'sb=ok\ndevice_uuid=%s\nevents=90\n' "$one" || echo sb=unreadable
	}
	ANSWERS=1 looks yes 1 leg.1.state=
	ANSWERS=3 looks yes 3 leg.1.state=
	ANSWERS=99 looks unread 3 leg.1.state=
	ANSWERS=1 looks no 1 leg.1.state= "witness.legs=$two"
	# Nothing is written down, but that a person has given it up.
	ANSWERS=1 looks no 1 leg.1.state= witness.events= witness.legs= "witness.given=$two $one"
	ANSWERS=1 looks yes 1 leg.1.state= witness.events= witness.legs= "witness.given=$two"
	ANSWERS=9 looks unread 3 leg.1.state= witness.events= witness.legs= "witness.given=$two"
	ANSWERS=9 looks yes 0 leg.1.state= witness.events= witness.legs= witness.given=
	# One that can't be read beside one that was not there: it may be the one that counts, but
	# nobody knows.
	superblock_facts() {
		[[ $1 == */sda ]] && echo sb=unreadable || printf 'sb=ok\ndevice_uuid=%s\n' "$three"
	}
	runs "witness.legs=$one" witness.events=90
	witness_update_foreign_start
	[[ ${F[array.known]} == no ]]
}

@test "if it is not known which legs an array was started from, the record vouches for none until it is" {
	mkdir -p "${W%/*}"
	printf '%s\n' "uuid=${F[uuid]}" "legs=$one $two" events=90 ram_slot=0 generation=4 >"$W"
	superblock_facts() { echo sb=unreadable; }
	runs "witness.legs=$one $two" witness.events=90 array.known=
	local code=0
	witness_update 2>"$BATS_TEST_TMPDIR/log" || code=$?
	((code == 1)) && [[ ${F[array.known]} == unread && $(calls | grep -v sleep) == '' ]]
	grep -x void=1 "$W"
	grep -q "vouches for no disk leg now" "$BATS_TEST_TMPDIR/log"
	# Another program, when the legs answer: it is not taken for what they were.
	superblock_facts() { printf 'sb=ok\nevents=50\ndevice_uuid=%s\n' "$three"; }
	runs array.known=
	before_look_witness
	[[ -z ${F[witness.events]}${F[witness.legs]} ]]
	witness_update 2>/dev/null
	[[ ${F[array.known]} == no && $(calls | grep -v sleep) == '' ]] ||
		fail "${F[array.known]}; $(calls)"
	F[array.known]=''
	superblock_facts() {
		printf 'sb=ok\nevents=50\ndevice_uuid=%s\n' \
			"$([[ $1 == */sda ]] && echo "$one" || echo "$two")"
	}
	witness_update
	[[ ${F[array.known]} == yes && $(calls | grep -v sleep) == "write 50 0: $one $two" ]] ||
		fail "$(calls)"
}

@test "a disk that does not answer for long is not asked again" {
	clock() { NOW=$((${NOW-0} + 6)); }
	superblock_facts() { called look; }
	runs array.known=yes leg.1.state=
	run witness_update
	assert_failure 1
	[[ $(calls) == look ]] || fail "$(calls)"
}

@test "if an array was stopped just after it lost its disks, the record says that the RAM leg is the only copy" {
	local view=A.. events=120 role=0 more=''
	superblock_facts() {
		[[ $1 == */rd0 ]] &&
			printf '%s\n' sb=ok "uuid=${F[uuid]}" "events=$events" "role=$role" \
				"view=$view" "recovery=$more" |
				numbered
	}
	stopped() { # LEGS-IN-THE-RECORD CALLS [FACT…]
		rm -f "$BATS_TEST_TMPDIR/calls"
		runs array.state=absent array.md= ram.state=attached ram.node=rd0 ram.slot= \
			"witness.legs=$one $two" witness.events=100 "${@:3}"
		witness_update_foreign_start
		[[ ${F[witness.legs]} == "$1" && $(calls) == "$2" ]] ||
			fail "${*:3}: ${F[witness.legs]}; $(calls)"
	}
	stopped '' 'write 120 0:0'
	[[ ${F[witness.left]} == "$one $two" && ${F[witness.events]} == 120 &&
		${F[witness.ram_slot]} == 0 ]]
	stopped '' 'write 120 0:0' witness.events=
	stopped "$one $two" '' witness.events=120
	stopped "$one $two" '' ram.state=none
	stopped "$one $two" '' ram.node=sdz
	stopped "$one $two" '' rescue.image=/x
	more=2048 stopped "$one $two" ''
	role=spare stopped "$one $two" ''
	view=A.A stopped "$one $two" ''
	view=..A role=2 stopped '' 'write 120 2:2'
	F[uuid]=other
	superblock_facts() {
		printf '%s\n' sb=ok uuid=another events=120 role=0 view=A.. recovery= | numbered
	}
	stopped "$one $two" ''
	# That it can't be written makes it no less true: by that the ramdisk is kept.
	not_writable
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=${F[uuid]}" events=120 role=0 view=A.. recovery= |
			numbered
	}
	stopped '' 'write data'
}

@test "if an array was stopped while its disks lacked blocks, the ramdisk that has them is the only good copy" {
	local view=AAA ram=120 leg=120 bad=''
	superblock_facts() {
		[[ $1 == */rd0 ]] &&
			printf '%s\n' sb=ok "uuid=${F[uuid]}" "events=$ram" role=0 "view=$view" recovery= |
			numbered
	}
	superblock_has_bad_blocks() { [[ " $bad " == *" ${1##*/} "* ]]; }
	last() { # yes|no [FACT…]
		local i fact=${2-} legs
		rm -f "$BATS_TEST_TMPDIR/calls"
		runs array.state=absent array.md= ram.state=attached ram.node=rd0 ram.slot= \
			"witness.legs=$one $two" witness.events=118
		for i in 0 1; do
			F[leg.$i.sb]=ok F[leg.$i.uuid]=${F[uuid]} F[leg.$i.role]=$((i + 1))
			F[leg.$i.events]=$leg F[leg.$i.in]='' F[leg.$i.state]=''
		done
		[[ -z $fact ]] || F[${fact%%=*}]=${fact#*=}
		witness_update_foreign_start 2>/dev/null
		legs=${F[witness.legs]}
		if [[ $1 == yes ]]; then
			[[ -z $legs && ${F[witness.left]} == "$one $two" &&
				$(calls) == "write $ram 0:0" ]]
		else
			[[ $legs == "$one $two" && -z $(calls) ]]
		fi || fail "$*: $legs; $(calls)"
	}
	last no
	# All that are there and as far as the RAM leg, and not the RAM leg itself.
	bad='sda sdb' last yes
	bad=sda last no
	bad=sda last yes leg.1.sb=
	bad=sda last yes leg.1.sb=unreadable
	bad=sda last yes leg.1.events=90
	bad='sda sdb rd0' last no
	bad='sda sdb' last no ram.state=none
	# The RAM leg had left before.
	ram=110 leg=118 bad='sda sdb' last no
	# It has been said.
	mkdir -p "$R/run/ramraid"
	printf '%s\n' 'in_sync ram' 'yes only' >"$R/run/ramraid/data.told"
	last yes
	ram=110 last no
	printf '%s\n' 'in_sync ram' 'no only' >"$R/run/ramraid/data.told"
	last no
	# A start refuses, and says how to go on with the ramdisk.
	bad='sda sdb' last yes
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[ram.node]=rd0 F[ram.state]=attached F[witness.legs]='' F[witness.events]=120 F[waited]=99
	action_choose
	[[ $ACTION == refuse && $WHY == *'mdadm --assemble --run /dev/md/data /dev/rd0'* ]] || fail "$WHY"
}

@test "a leg that comes into sync as another one leaves is known to be of this run" {
	local a=$one b=$two c=cccccccc-0000-0000-0000-000000000003
	mkdir -p "$R/sys/block/md127" "$R/run/ramraid"
	echo 7 >"$R/sys/block/md127/diskseq"
	legs_seen_note_in_sync 100 "$a" "$b"
	legs_seen_note_in_sync 110 "$b" "$c"
	legs_seen_is_of_run "$c" || fail "$(<"$R/run/ramraid/data.joined")"
	legs_seen_note_in_sync 120 "$b"
	F[leg.0.device_uuid]=$c F[leg.0.events]=125
	legs_seen_joined 0
	[[ ${F[leg.0.joined]}:${F[leg.0.noted]}:${F[leg.0.elsewhere]} == yes:yes:yes ]] ||
		fail "$(<"$R/run/ramraid/data.joined")"
}

@test "which disk legs were in sync in this run is known until it ends, and which were used since they left" {
	joined() { # WANTED UUID EVENTS
		F[leg.0.device_uuid]=$2 F[leg.0.events]=$3
		legs_seen_joined 0
		[[ "${F[leg.0.joined]}:${F[leg.0.elsewhere]}" == "$1" ]] ||
			fail "$2 $3: ${F[leg.0.joined]}:${F[leg.0.elsewhere]}; \
$(cat "$R"/run/ramraid/*)"
	}
	local now=50 # the events of the array, whenever it is asked
	mkdir -p "$R/sys/block/md127" "$R/run/ramraid"
	joined : "$one" "$now"
	echo 7 >"$R/sys/block/md127/diskseq"
	joined : "$one" "$now"
	F[leg.1.state]=recovering
	witness_update
	joined yes: "$one" $((now + 99))
	[[ -z ${F[leg.0.noted]} ]] || fail 'that it has left is noted, before that was'
	joined : "$two" "$now"
	joined : '' "$now"
	# It has left: what was written on it by then was written here.
	F[leg.1.state]=in_sync F[leg.0.state]=faulty
	witness_update
	joined yes: "$two" $((now + 99))
	joined yes: "$one" "$now"
	joined yes:yes "$one" $((now + 99))
	[[ ${F[leg.0.noted]} == yes ]] || fail 'it has left, and that is not noted'
	# What 0.1.0 noted is a time: it says nothing.
	sed -i "s/^$one .*/$one 1000/" "$R/run/ramraid/data.joined"
	joined yes: "$one" 1001
	# When it left is noted once.
	sed -i "s/^$one .*/$one events=1000 with=/" "$R/run/ramraid/data.joined"
	F[leg.1.state]=''
	witness_update
	joined yes: "$one" 1000
	joined yes:yes "$one" 1001
	joined yes: "$two" "$now"
	joined yes:yes "$two" $((now + 99))
	# It is being put back: md writes to it, and whenever it leaves, that was here.
	F[leg.0.state]=recovering
	witness_update
	joined yes: "$one" $((now + 99))
	joined yes:yes "$two" $((now + 99))
	F[leg.0.state]=faulty
	witness_update
	joined yes:yes "$one" $((now + 99))
	# What --dry-run shows is not what has happened.
	cp "$R/run/ramraid/data.joined" "$BATS_TEST_TMPDIR/joined"
	F[leg.0.state]=in_sync
	DRY_RUN=yes witness_update
	cmp "$R/run/ramraid/data.joined" "$BATS_TEST_TMPDIR/joined"
	F[leg.0.state]=faulty
	# It was put back, and left before anybody looked.
	legs_seen_note_again "$one"
	joined yes: "$one" "$now"
	legs_seen_note_again ''
	# Another run of it.
	echo 8 >"$R/sys/block/md127/diskseq"
	joined : "$one" 1000
	F[leg.1.state]=in_sync
	witness_update
	joined : "$one" 1000
	joined yes: "$two" "$now"
	# A kernel that does not number, and a damaged file.
	rm "$R/sys/block/md127/diskseq"
	joined : "$two" "$now"
	echo 8 >"$R/sys/block/md127/diskseq"
	: >"$R/run/ramraid/data.joined"
	joined : "$two" "$now"
}

@test "the record says when every slot was filled, or may have been" {
	local md=$R/sys/block/md127/md
	mkdir -p "$md"
	witness_write() { called "$4 $6" && WITNESS_FILLED=44; }
	members() { # STATE…: of the members in the slots 0, 1 …; "-": there is none
		local slot=0 state
		rm -rf "$md"/dev-*
		for state; do
			[[ $state == - ]] || {
				mkdir "$md/dev-sd$slot"
				echo "$slot" >"$md/dev-sd$slot/slot"
				echo "$state" >"$md/dev-sd$slot/state"
			}
			slot=$((slot + 1))
		done
	}
	filled() { # WANTED SLOTS MEMBERS [FACT…]
		rm -f "$BATS_TEST_TMPDIR/calls"
		echo "$2" >"$md/raid_disks"
		# shellcheck disable=SC2086 # words
		members $3
		runs array.known=yes "${@:4}"
		"${update[@]}"
		[[ $(calls) == "50 $1" ]] || fail "$*: $(calls)"
		[[ ${F[witness.filled]} == 44 ]]
	}
	update=(witness_update)
	filled yes 3 'in_sync in_sync in_sync'
	filled '' 3 'in_sync in_sync -'
	filled '' 3 'in_sync in_sync faulty'
	filled '' '3 (2)' 'in_sync in_sync -'
	# md clears bits as far as it has rebuilt a member, whatever becomes of that.
	filled yes 3 'in_sync in_sync spare'
	filled '' 4 'in_sync in_sync spare -'
	# A disk that somebody has added, and that has failed before anybody looked.
	filled yes 3 'in_sync in_sync faulty' array.strangers=sd2
	filled '' 3 'in_sync in_sync faulty' array.strangers=sd9
	# There are fewer slots than legs: the RAM leg may have been in place of a disk.
	filled yes 2 'in_sync -'
	filled yes '' 'in_sync -'
	filled '' 2 'in_sync -' conf.ram=none ram.state=none ram.node= ram.slot=
	filled yes 3 'in_sync in_sync in_sync' leg.1.state=
	# A new member is about to have the last slot, before anybody could look again.
	update=(witness_update_free_slot)
	filled yes 3 'in_sync in_sync -'
	filled yes 3 'in_sync in_sync -' ram.slot=
	filled '' 4 'in_sync in_sync - -'
	# The superblocks of an array that was started a moment ago say how it ended: another member
	# may have had the slot of one that is absent now, and have been built in it.
	superblock_facts() {
		printf 'sb=ok\nevents=50\ndevice_uuid=%s\nview=%s\n' "$one" "$view"
	}
	update=(witness_update) view=AAA
	filled yes 3 'in_sync in_sync -'
	view=A.A
	filled '' 3 'in_sync in_sync -'
	# One that they call active and that is no member was in sync at this count: if it comes
	# with less, it has been put back to an image, and the array may have been filled elsewhere.
	# Not after md's first write; the RAM leg is given up with each power cut.
	superblock_facts() {
		printf 'sb=ok\nevents=50\ndevice_uuid=%s\nview=A.A\n' "$one"
		case $1 in
		*/sda) printf 'number=0\nroles=%s\n' "$roles" ;;
		*/sdb) printf 'number=%s\n' "$b" ;;
		*) echo number=7 ;;
		esac
	}
	local roles b=1 away=(leg.1.state= ram.state=none ram.slot= ram.node= witness.ram_number=4)
	roles='0:1 1:2'
	# Not after an orderly stop, whose record has the count.
	filled '' 3 'in_sync - -' array.readauto=yes "${away[@]}" witness.events=48
	away+=(witness.events=47 witness.ram_slot=0)
	filled yes 3 'in_sync - -' array.readauto=yes "${away[@]}"
	filled yes 3 'in_sync - -' array.readauto=yes "${away[@]}" witness.events=
	# Here, and as far as md's half step; or a ramdisk's successor in its slot.
	local here=(leg.1.in= leg.1.sb=ok "leg.1.uuid=${F[uuid]}" leg.1.number=1 leg.1.role=2)
	filled '' 3 'in_sync - -' array.readauto=yes "${away[@]}" "${here[@]}" leg.1.events=49
	filled yes 3 'in_sync - -' array.readauto=yes "${away[@]}" "${here[@]}" leg.1.events=48
	filled yes 3 'in_sync - -' array.readauto=yes "${away[@]}" "${here[@]}" leg.1.events=49 \
		leg.1.number=3
	filled '' 3 'in_sync - -' array.readauto=no "${away[@]}"
	filled '' 3 'in_sync in_sync -' array.readauto=yes "${away[@]:1}"
	filled '' 3 'in_sync in_sync -' array.readauto=yes "${away[@]:1}" leg.1.state=recovering
	b=9
	filled yes 3 'in_sync in_sync -' array.readauto=yes "${away[@]:1}"
	roles='0:1 4:0'
	filled '' 3 'in_sync - -' array.readauto=yes "${away[@]}"
	filled yes 3 'in_sync - -' array.readauto=yes "${away[@]}" witness.ram_slot=2
	# A device keeps what it has, and can be put back to an image as well.
	filled yes 3 'in_sync - -' array.readauto=yes "${away[@]}" leg.ram.dev=/dev/pmem0 \
		leg.ram.sb=none
	filled '' 3 'in_sync - -' array.readauto=yes "${away[@]}" leg.ram.dev=/dev/pmem0 \
		leg.ram.sb=ok "leg.ram.uuid=${F[uuid]}" leg.ram.number=4 leg.ram.role=0 \
		leg.ram.events=49
	filled yes 3 'in_sync - -' array.readauto=yes "${away[@]}" witness.ram_number=
	roles='0:1 7:0'
	filled '' 3 'in_sync in_sync -' array.readauto=yes leg.1.state= ram.slot=0 witness.events=47
	# A leg that leaves while it is written down has the count that was read before, or one
	# more; never is it left behind by that.
	update=(witness_update)
	superblock_facts() {
		printf 'sb=ok\nevents=50\ndevice_uuid=%s\n' "$one"
		members in_sync in_sync faulty
	}
	filled '' 3 'in_sync in_sync in_sync'
}

@test "the witness is not overwritten for an array that something else has started from old legs" {
	mkdir -p "$R/sys/block/md127" "$R/run/ramraid"
	echo 7 >"$R/sys/block/md127/diskseq"
	runs "witness.legs=$three" witness.events=90
	witness_update 2>"$BATS_TEST_TMPDIR/log"
	[[ -z $(calls) ]] && grep -q 'something else has started md127' "$BATS_TEST_TMPDIR/log"
	# The same legs, in an array that a start of ours has judged: it is a change of members.
	F[array.known]=''
	watched_note
	witness_update
	[[ $(calls) == "write 50 0: $one $two" ]] || fail "$(calls)"
	# Another array of that name, later in this boot.
	F[array.known]='' && rm "$BATS_TEST_TMPDIR/calls"
	echo 8 >"$R/sys/block/md127/diskseq"
	witness_update 2>/dev/null
	[[ -z $(calls) ]]
}

@test "a run that was judged in another boot is not known in this one, even with the same number" {
	local boot=$R/proc/sys/kernel/random/boot_id
	# Something else has started it from a leg that had left before.
	old_leg() {
		runs "witness.legs=$one" witness.events=100 leg.0.state= leg.0.in= ram.state=none
		witness_update_foreign_start
	}
	mkdir -p "$R/sys/block/md127" "${boot%/*}"
	echo 7 >"$R/sys/block/md127/diskseq"
	echo 01234561-89ab-4cde-8f01-23456789abcd >"$boot"
	paths_run
	runs
	F[array.judged]='md127 7'
	watched_note
	old_leg
	[[ ${F[array.known]} == yes ]]
	echo 01234562-89ab-4cde-8f01-23456789abcd >"$boot"
	# A mounted /run is of this boot; a container may have another name for that.
	stat() { printf '%s\n' 1 2; }
	paths_run
	old_leg
	[[ ${F[array.known]} == yes ]]
	unset -f stat
	paths_run
	old_leg
	[[ ${F[array.known]} == no ]]
}

# As when /run is full: its monitor would pass over the array.
@test "the record of a run that can't be noted as judged vouches for no disk leg" {
	mkdir -p "$R/sys/block/md127" "$R/run/ramraid/data.watched"
	echo 7 >"$R/sys/block/md127/diskseq"
	witness_void() { called void "$1"; }
	ram_leg_note() { :; }
	hotplug_arm() { :; }
	transitions_begin() { :; }
	systemd_is_unit() { return 1; }
	runs
	witness_update
	[[ $(calls) == 'write '* ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	LOOP_WATCHED=''
	loop_watch_ 2>"$BATS_TEST_TMPDIR/log"
	grep -q 'disks that leave it can.t be recorded' "$BATS_TEST_TMPDIR/log"
	[[ $(calls) == 'void data' ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	run witness_update
	assert_failure 1
	assert_output -p 'vouches for no disk leg now'
	[[ $(calls) == 'void data' ]] || fail "$(calls)"
}

@test "a witness that can't be written is reported, the old one is deleted, and the exit code is 1" {
	not_writable
	run witness_update
	assert_failure 1
	assert_output -p "could not write $W"
	[[ ! -e $W ]]
	mkdir "$W"
	run witness_update
	assert_failure 1
	assert_output -p "can neither write nor delete $W"
}

# Bare calls, because any "||" after them would switch off errexit within.
@test "a witness that can't be written ends no start, and does not keep the RAM leg from leaving" {
	not_writable
	before_look_configured() { runs; }
	before_look_times() { :; }
	facts_observe() { :; }
	contents_remember() { :; }
	declare -gA CONF=([WAIT_TIMEOUT]=30min [MEMBER_TIMEOUT]=30s)
	loop_run data 2>"$BATS_TEST_TMPDIR/log"
	grep -q 'could not write' "$BATS_TEST_TMPDIR/log"
	md_drop() { called drop; }
	ramdisk_drop() { called ramdisk_drop; }
	rm "$BATS_TEST_TMPDIR/calls"
	detach_ram data 2>/dev/null
	[[ $(calls) == $'write data\ndrop\nramdisk_drop' ]] || fail "$(calls)"
}

@test "ramraid restore: for a disk that was used since the image was made, the name of the array must be typed" {
	NAME=data
	declare -gA RESCUE=([file]=$R/etc/ramraid/state/data.rescue
		[image]=/var/rescue [bytes]=8388608 [events]=500
		[legs]="$one:70,$two:60")
	cli_confirm() { called "${3:-yes}" && asked=$2; }
	stopped_at() { # EVENTS EVENTS
		F[forced]=0 F[witness.legs]=''
		F["leg.0.dev"]=/dev/disk/by-id/ata-A F["leg.0.events"]=$1 F["leg.0.node"]=sda
		F["leg.1.dev"]=/dev/disk/by-id/ata-B F["leg.1.events"]=$2
		for i in 0 1; do F["leg.$i.sb"]=ok F["leg.$i.uuid"]=${F[uuid]}; done
		F["leg.0.device_uuid"]=$one F["leg.1.device_uuid"]=$two
	}
	# An interrupted restore counts on a little.
	stopped_at 90 60
	restore_ask
	[[ $asked == *'what the disk legs hold, /dev/disk/by-id/ata-A (/dev/sda) first.' ]] ||
		fail "$asked"
	[[ ${#PLAN[@]} == 0 && $(calls) == yes ]] || fail "${PLAN[@]}"
	# Far below the image, and used since; and so of one that does not get the image.
	stopped_at 91 60
	restore_ask
	[[ ${PLAN[*]} == *'ata-A is at 91 events, and was at 70 when the image was made:'*"rm \
$R/etc/ramraid/state/data.rescue; ramraid start data" ]] ||
		fail "${PLAN[@]}"
	stopped_at 70 81
	restore_ask
	[[ ${PLAN[*]} == *'ata-B is at 81 events, and was at 60 '* ]] || fail "${PLAN[@]}"
	[[ $(calls) == $'yes\ntyped\ntyped' ]] || fail "$(calls)"
	OPT[yes]=yes
	run restore_ask
	assert_output -p 'what was written since then is lost'
	# One that the record does not know, or that is not to be calculated with.
	OPT=()
	for legs in '' "$one:070,$two:60" "$one:F,$two:60"; do
		stopped_at 70 60
		RESCUE[legs]=$legs
		restore_ask
		[[ ${PLAN[*]} == *'ata-A is at 70 events, and how many it had when '* ]] ||
			fail "${RESCUE[legs]}: ${PLAN[*]}"
	done
	# A blank one has nothing to lose.
	stopped_at 70 60
	RESCUE[legs]=$one:70 F["leg.1.sb"]=none
	restore_ask
	((${#PLAN[@]} == 0))
	# An earlier restore was interrupted: this one goes on with its disk, and says what else can
	# be done. Of another disk there is nothing to say.
	RESCUE[disk]=$one
	restore_ask
	[[ ${PLAN[*]} == *'ata-A is half overwritten by an earlier restore'*'take that one out'* ]] ||
		fail "${PLAN[*]}"
	RESCUE[disk]=$two
	restore_ask
	((${#PLAN[@]} == 0))
}

@test "ramraid restore: a later record that vouches for disks shows that they were used since" {
	NAME=data
	declare -gA RESCUE=([file]=$R/etc/ramraid/state/data.rescue
		[image]=/var/rescue [bytes]=8388608 [events]=5000 [generation]=18)
	cli_confirm() { called "${3:-yes}"; }
	F[forced]=1 F["leg.1.dev"]=/dev/disk/by-id/ata-B F["leg.1.events"]=190
	asks() { # WHAT LEGS GENERATION
		F[witness.legs]=$2 F[witness.generation]=$3
		rm -f "$BATS_TEST_TMPDIR/calls"
		restore_ask
		[[ $(calls) == "$1" ]] || fail "$*: $(calls)"
	}
	# As the shutdown has left it, or later: only the RAM leg was good.
	asks yes '' 18
	asks yes '' 19
	asks yes "$one $two" 18
	asks typed "$one $two" 19
	# By version 0.1.0.
	unset 'RESCUE[generation]'
	asks typed "$one $two" 19
}

@test "ramraid restore: a disk that left later than the one that gets the image is given up" {
	local recovery
	NAME=data ARGUMENTS=(sda) LOOP_ERROR=''
	declare -gA RESCUE=([image]=/var/rescue)
	lost() {
		F[rescue.image]=/var/rescue F[witness.events]=5000 F[witness.legs]='' F[witness.left]=$two \
			F[witness.seen]="$one $two"
	}
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	F[leg.1.node]='' F[leg.1.sb]='' F[leg.1.device_uuid]=''
	lost
	restore_choose
	disk_legs_assemble() {
		runs array.known= leg.1.state= leg.1.node= leg.1.in= ram.state=none
		lost
	}
	disk_legs_is_of() { :; }
	facts_observe() { :; }
	rescue_put_back() { :; }
	rescue_record_forget() { :; }
	witness_write() { called give_up "$8"; }
	(restore_here 2>/dev/null)
	[[ " $(calls) " == *"give_up"*" $two "* && $(calls) != *"$one"* ]] || fail "$(calls)"
	# Not one that the restored disk has outlived, whether it is here or away, and not one that
	# is here and was never used without the restored one.
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	lost
	restore_choose
	[[ -z $RESTORE_GIVE_UP ]] || fail "$RESTORE_GIVE_UP"
	facts_unnumbered
	F[leg.0.view]=AA. F[leg.0.events]=150
	facts_numbered
	F[witness.ram_slot]=0 F[witness.ram_number]=0
	restore_choose
	[[ ${F[forced]} == 0 && -z $RESTORE_GIVE_UP ]] || fail "${F[forced]}: $RESTORE_GIVE_UP"
	F[leg.1.node]='' F[leg.1.sb]='' F[leg.1.device_uuid]=''
	restore_choose
	[[ -z $RESTORE_GIVE_UP ]] || fail "$RESTORE_GIVE_UP"
	# It is back; whatever its events, and also if md was rebuilding it when it left.
	for recovery in '' 2048; do
		facts_read <"$FIXTURES/decide/stopped-2.facts"
		facts_unnumbered
		F[leg.0.view]=.A. F[leg.0.events]=115 F[leg.1.view]=A.A F[leg.1.events]=140 \
			F[leg.1.recovery]=$recovery F[witness.legs]=$one F[witness.events]=115 \
			F[witness.ram_slot]=0 F[witness.given]=$two
		facts_numbered
		action_choose
		[[ "$ACTION ${ARGUMENTS[*]}" == 'assemble sda' ]] || fail "$ACTION: $WHY"
	done
}

# two_records_one_stuck: the record and its second copy on /boot, with both legs. From then on the
# record can neither be made anew nor be changed in place.
two_records_one_stuck() {
	mkdir -p "$R/boot/ramraid" "${W%/*}"
	printf '%s\n' '1 0 8:1 / / rw - ext4 /dev/sdx1 rw' '2 1 8:2 / /boot rw - ext4 /dev/sdx2 rw' \
		>"$R/proc/1/mountinfo"
	declare -gA CONF=([WITNESS_COPY]=auto)
	witness_write() { real_witness_write "$@"; }
	witness_write data "$ID" '' 100 0:0 '' '' '' "$one" "$two" 2>/dev/null
	eval "real_$(declare -f act_text)"
	act_text() { [[ $1 != "$W" ]] && real_act_text "$@"; }
	dd() { [[ "$*" != *"of=$W"* ]] && command dd "$@"; }
}

@test "with the root read-only, the second copy says that a leg has left" {
	local C=$R/boot/ramraid/$ID.witness
	two_records_one_stuck
	[[ -e $C ]]
	rm() { [[ "$*" != *"$W"* ]] && command rm "$@"; } # EROFS
	runs leg.1.state=faulty witness.generation=1 array.known=yes "witness.legs=$one $two" \
		"uuid=$ID" name=data
	run witness_update
	assert_failure 1
	assert_output -p "its second copy $C vouches for no disk leg"
	not witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy && -n ${WITNESS[void]} && -e $W ]]
	# And again, as long as that is so.
	witness_read data "$ID" || F[witness.generation]=${WITNESS[generation]}
	run witness_update
	assert_failure 1
	not witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy ]]
}

@test "a record that can't be made durable: witness_update fails, and says so" {
	witness_write() { real_witness_write "$@"; }
	runs leg.1.state=faulty array.known=yes
	mkdir -p "${W%/*}"
	printf '%s\n' "uuid=${F[uuid]}" "legs=$one $two" events=40 ram_slot=0 generation=4 >"$W"
	before_look_witness
	sync() { return 1; }
	run witness_update
	assert_failure 1
	assert_output -p "data: can neither write nor delete $W: until that is fixed, do not start \
this array with a disk leg missing"
}

@test "only the RAM leg is good, and the root is full: the old record no longer vouches for disks" {
	local ID=11111111-2222-3333-4444-555555555555
	local C=$R/boot/ramraid/$ID.witness
	two_records_one_stuck # ENOSPC: a file can still be deleted
	complete_legs_find() { NODES=() COMPLETE=(); }
	runs leg.0.state=faulty leg.1.state=faulty witness.generation=1 array.known=yes \
		"witness.legs=$one $two" "uuid=$ID" name=data ram.number=0
	run witness_update
	assert_failure 1
	assert_output -p "the record $W vouches for no disk leg now"
	# The copy says it ...
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy && -z ${WITNESS[legs]} ]]
	# ... and while that can't be seen, nothing else says the contrary.
	: >"$R/proc/1/mountinfo"
	not witness_read data "$ID" || fail "the record vouches for: ${WITNESS[legs]}"
}

@test "ramraid restore: the record of the image is deleted only when the disk is recorded as having its contents" {
	NAME=data ARGUMENTS=(sda) LOOP_ERROR=''
	declare -gA RESCUE=([image]=/var/rescue)
	disk_legs_assemble() { runs rescue.image=/var/rescue; }
	disk_legs_is_of() { :; }
	facts_observe() { :; }
	rescue_put_back() { called put; }
	rescue_record_forget() { called forget; }
	mdadm() { called "$*"; }
	(restore_here 2>/dev/null)
	[[ $(calls) == put$'\n'"write 50 0: $one $two"$'\n'forget ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	not_writable
	run restore_here
	assert_failure 1
	assert_output -p 'the record of the image is kept'
	[[ $(calls) == $'put\nwrite data\n--stop /dev/md127' ]] || fail "$(calls)"
}

@test "ramraid witness: a record that can't be written gives exit code 1, and the others are written" {
	need() { :; }
	conf_names() { printf 'data\nother\n'; }
	conf_load() { :; }
	conf_need_started() { :; }
	before_look_configured() { runs "name=$1"; }
	facts_observe() { :; }
	before_look_witness() { :; }
	unset -f sleep
	run cmd_witness
	assert_success
	not_writable
	rm "$BATS_TEST_TMPDIR/calls"
	run cmd_witness
	assert_failure 1
	[[ $(calls | sort) == $'write data\nwrite other' ]] || fail "$(calls)"
}

@test "ramraid witness: an array that hangs does not delay the record of another, and its worker is killed" {
	local begin=$SECONDS
	hotplug_trigger() { called ask; }
	conf_names() { printf '%s\n' a b; }
	mkfifo "$BATS_TEST_TMPDIR/hangs"
	cmd_witness_one() {
		[[ $1 == b ]] || : <"$BATS_TEST_TMPDIR/hangs"
		called recorded "$1"
	}
	sleep() {
		if [[ $(calls) == *'recorded b'* ]]; then
			clock() { NOW=99999; }
		else
			command sleep 0.1
		fi
	}
	# Not "run", which would wait for the worker if it were left behind.
	not cmd_witness 2>"$BATS_TEST_TMPDIR/said"
	grep -q 'does not answer' "$BATS_TEST_TMPDIR/said"
	[[ $(calls) == $'recorded b\nask' ]] || fail "$(calls)"
	((SECONDS - begin < 20))
	# The runner has a job of its own.
	local tries=0
	while [[ $(jobs -rl) == *cmd_witness_one* ]]; do
		((tries += 1, tries < 100)) && command sleep 0.1
	done
}

@test "ramraid witness --twice: looks twice, the second look counts, and hot-plug is woken once" {
	local looks=0
	hotplug_raise() { called ask; }
	cmd_witness_all_() { called look && ((looks += 1)) && ((looks != fails)); }
	for fails in 1 2; do
		rm -f "$BATS_TEST_TMPDIR/calls"
		looks=0
		local code=0
		cmd_witness --twice || code=$?
		[[ $(calls) == $'look\nsleep\nlook\nask' ]] && ((code == fails - 1)) ||
			fail "$fails: $code, $(calls)"
	done
}

@test "ramraid witness MD: looks only at the array whose start has judged this run, and at none if none has" {
	local diskseq=$R/sys/block/md127/diskseq
	hotplug_trigger() { :; }
	conf_names() { printf '%s\n' a b; }
	cmd_witness_one() { called "look at $1"; }
	looks() { # ARGUMENTS… -- NAME…
		local arguments=()
		while [[ $1 != -- ]]; do
			arguments+=("$1")
			shift
		done
		shift
		rm -f "$BATS_TEST_TMPDIR/calls"
		cmd_witness "${arguments[@]}"
		[[ $(calls | grep look | sort) == "$(printf 'look at %s\n' "$@")" ]] ||
			fail "${arguments[*]}: $(calls)"
	}
	mkdir -p "${diskseq%/*}" "$R/run/ramraid"
	echo 7 >"$diskseq"
	echo 'md127 7' >"$R/run/ramraid/b.watched"
	: >"$R/run/ramraid/gone.started"
	looks -- a b gone
	looks md127 -- b
	# It has been stopped since: that is no reason to look at all others.
	rm "$BATS_TEST_TMPDIR/calls"
	for name in sda md/x; do
		run cmd_witness "$name"
		assert_failure 2
		assert_output -p "there is no array that the kernel calls $name"
	done
	cmd_witness md126
	[[ $(calls) != *look* ]] || fail "$(calls)"
	mv "${diskseq%/*}" "$R/stopped"
	looks md127 -- b
	mv "$R/stopped" "${diskseq%/*}"
	# Another array has that name now: a copy, perhaps, that somebody has started.
	echo 8 >"$diskseq"
	rm "$BATS_TEST_TMPDIR/calls"
	cmd_witness md127
	[[ $(calls) != *look* ]] || fail "$(calls)"
	# Linux before 5.15 does not number.
	rm "$diskseq" "$R/run/ramraid/b.watched"
	looks md127 -- a b gone
}

@test "ramraid witness: succeeds if the write of its last look does" {
	conf_load() { :; }
	conf_need_started() { :; }
	before_look_configured() { runs; }
	before_look_witness() { :; }
	# A leg leaves during the first look; then the file system has room again.
	local looks=0
	facts_observe() { looks=$((looks + 1)) && ((looks < 2)) || F[leg.1.state]=faulty; }
	witness_write() { called write "$4" "$5" "${@:9}" && ((looks > 1)); }
	cmd_witness_one data 2>/dev/null
	[[ $(calls) == "write 50 0: $one $two"$'\n'"write 50 0: $one $two:50" ]] || fail "$(calls)"
}

@test "ramraid witness: another run of the array than the one that it has looked at is not recorded" {
	conf_load() { :; }
	conf_need_started() { :; }
	before_look_configured() { runs; }
	before_look_witness() { :; }
	mkdir -p "$R/sys/block/md127"
	echo 7 >"$R/sys/block/md127/diskseq"
	facts_observe() { :; }
	# It is stopped while it is reported, and a copy is started under its name.
	transitions_tell() {
		echo 8 >"$R/sys/block/md127/diskseq"
		F[leg.1.state]=faulty
	}
	cmd_witness_one data 2>/dev/null
	[[ $(calls) == "write 50 0: $one $two" ]] || fail "$(calls)"
	# Nor is it known because the run before was.
	witness_update_foreign_start() { called judged && F[array.known]=no; }
	F[array.known]=yes
	witness_update_may_ 2>/dev/null && fail 'another run was taken for the one that was judged'
	[[ $(calls | tail -n 1) == judged ]] || fail "$(calls)"
}

@test "ramraid witness: a leg that leaves while changes are reported is in the record, too" {
	local told=0
	conf_load() { :; }
	conf_need_started() { :; }
	before_look_configured() { runs; }
	before_look_witness() { :; }
	facts_observe() { ((told == 0)) || F[leg.1.state]=faulty; }
	transitions_tell() { told=1; }
	cmd_witness_one data 2>/dev/null
	[[ $(calls) == "write 50 0: $one $two"$'\n'"write 50 0: $one" ]] || fail "$(calls)"
}

@test "disk legs in sync that can't be read are not recorded as absent, and what was given up is not forgotten" {
	runs array.known=yes
	mkdir -p "${W%/*}"
	printf '%s\n' "uuid=${F[uuid]}" "legs=$one $two" events=90 ram_slot=0 generation=4 \
		"given=$three" "seen=$one $two $three" >"$W"
	superblock_facts() { echo sb=unreadable; }
	run witness_update
	assert_failure 1
	assert_output -p 'no superblock of a leg in sync could be read'
	assert_output -p "$W vouches for no disk leg now"
	[[ $(calls | grep -v sleep) == '' ]] || fail "$(calls)"
	before_look_witness
	[[ -z ${F[witness.events]}${F[witness.legs]} && ${F[witness.given]} == "$three" &&
		${F[witness.seen]} == "$one $two $three" ]] ||
		fail "$(<"$W")"
	[[ ${F[witness.why]} == *'could not be recorded'* ]]
	# Only the RAM leg is in sync, and it can't be read either.
	runs array.known=yes leg.0.state=faulty leg.1.state= ram.state=in_sync
	run witness_update
	assert_failure 1
	[[ $(calls | grep -v sleep) == '' ]]
	# With another look it can.
	superblock_facts() {
		[[ -e $R/again ]] && printf 'sb=ok\nevents=50\ndevice_uuid=%s\n' "$one" ||
			: >"$R/again"
	}
	runs array.known=yes leg.1.state=
	rm -f "$BATS_TEST_TMPDIR/calls"
	witness_update
	[[ $(calls | grep -v sleep) == "write 50 0: $one" ]] || fail "$(calls)"
}

# The last disk legs leave between the look and the reading of their superblocks: the record is not
# void for that, or it would forget who left last, and how long ago every slot was filled.
@test "a disk leg that lacks blocks which another member has is not vouched for" {
	local DEPARTED=yes md=$R/sys/block/md127/md
	# lists SDA SDB RD0: the sectors that md could not write to each of them, or "".
	lists() {
		local node
		for node in sda sdb rd0; do
			mkdir -p "$md/dev-$node"
			echo 2048 >"$md/dev-$node/offset"
			printf '%s' "${1:+$1 8}" >"$md/dev-$node/bad_blocks"
			shift
		done
	}
	writes() { # LEG…
		rm -f "$BATS_TEST_TMPDIR/calls"
		F[disks.lack]=${LACK-}
		witness_update
		[[ $(calls) =~ ^write\ 50\ 0:0?(\ .*)?$ && ${BASH_REMATCH[1]} == "${*:+ $*}" ]] || fail "$(calls), and not $*"
	}
	superblock_facts() {
		printf 'sb=ok\nevents=50\nnumber=0\ndevice_uuid=%s\n' \
			"$([[ $1 == */sda ]] && echo "$one" || echo "$two")"
	}
	runs array.known=yes
	lists '' '' ''
	writes "$one" "$two"
	lists 3000 '' ''
	witness_update_members_now_
	[[ $WITNESS_UPDATE_NOW != "$WITNESS_UPDATE_WRITTEN" ]]
	writes "$two" "$one:"
	# Together they have all of it.
	lists 3000 4000 ''
	writes "$one" "$two"
	lists 3000 3000 3000
	writes "$one" "$two"
	# Only the RAM leg has it: none is good.
	lists 3000 3000 ''
	LACK=yes writes "$one:" "$two:"
	runs array.known=yes ram.state=none ram.node= ram.slot=
	lists 3000 '' ''
	writes "$two" "$one:"
	lists 3000 3000 ''
	LACK=yes writes "$one" "$two"
	# Each lacks something that the other has, and both lack something else.
	printf '3000 8\n5000 8\n' >"$md/dev-sda/bad_blocks"
	printf '3000 8\n6000 8\n' >"$md/dev-sdb/bad_blocks"
	LACK=yes writes "$one" "$two"
}

@test "a record has the most events that a leg can have had when it left" {
	local md=$R/sys/block/md127/md before="$one $two $three" DEPARTED=yes
	mkdir -p "$md"/dev-{sda,sdb,rd0}
	departs() { # LEG:[EVENTS]…
		rm -f "$BATS_TEST_TMPDIR/calls"
		witness_update
		[[ $(calls | grep -v sleep) == "write 50 0:"*" $one${*:+ $*}" ]] ||
			fail "$(calls), and not $*"
	}
	superblock_facts() {
		printf 'sb=ok\nevents=50\nnumber=1\nroles=%s\ndevice_uuid=%s\n' "$ROLES" \
			"$([[ $1 == */sda ]] && echo "$one" || echo "$two")"
	}
	ROLES=1:1
	runs array.known=yes leg.1.state= leg.1.in= leg.1.node= "witness.seen=$before" \
		"witness.legs=$one $two" witness.events=40
	departs "$two:50" "$three:50"
	# md writes to it.
	runs array.known=yes leg.1.state=recovering "witness.seen=$before" "witness.legs=$one" \
		witness.events=40
	departs "$two:" "$three:50"
	# The array has just been started. The other leg was in sync to the end, as this one says:
	# its last update may have been one more.
	runs array.known=yes leg.1.state= leg.1.in= leg.1.node= "witness.seen=$one $two" \
		"witness.legs=$one $two" witness.events=40 array.readauto=yes witness.ram_number=3 \
		ram.state=none ram.slot= ram.node=
	ROLES='1:1 2:2 3:0'
	departs "$two:51"
	# It had left, nobody knows when: it was there at the time of the record.
	ROLES='1:1 3:0'
	departs "$two:41+"
	# It was in sync in this very run: mdadm has made the array read-auto when it was pulled out.
	echo 7 >"$R/sys/block/md127/diskseq"
	mkdir -p "$R/run/ramraid"
	printf '%s\n' 'md127 7' "$one" "$two" >"$R/run/ramraid/data.joined"
	departs "$two:51"
	printf '%s\n' 'md127 6' "$one" "$two" >"$R/run/ramraid/data.joined"
	departs "$two:41+"
	# Its disk is here, and another one is called active.
	F[leg.1.device_uuid]=$two F[leg.1.number]=2 F[leg.1.role]=2 ROLES='1:1 5:0'
	departs "$two:41+"
	ROLES='1:1 2:2'
	departs "$two:51"
	# A record of 0.1.0 does not say who has been seen.
	F[witness.seen]=''
	departs "$two:51"
	# A member in sync that can't be read has not left.
	runs array.known=yes "witness.seen=$one $two $three" "witness.legs=$one $two"
	eval "spoken_$(declare -f superblock_facts)"
	superblock_facts() {
		[[ $1 == */sda ]] && spoken_superblock_facts "$1" || echo sb=unreadable
	}
	departs
}

@test "a disk leg in sync that is not vouched for has not left, and a block that goes bad meanwhile is recorded next" {
	local md=$R/sys/block/md127/md joined=$R/run/ramraid/data.joined DEPARTED=yes
	mkdir -p "$md"
	echo 5 >"$R/sys/block/md127/diskseq"
	mkdir -p "$md"/dev-{sda,sdb,rd0} "${joined%/*}"
	for node in sda sdb rd0; do
		echo 2048 >"$md/dev-$node/offset"
		: >"$md/dev-$node/bad_blocks"
	done
	runs array.known=yes
	witness_update
	echo '3000 8' >"$md/dev-sda/bad_blocks"
	witness_update
	[[ $(calls) == *" $two $one:" && $(<"$joined") != *"$one events"* ]] || fail "$(<"$joined")"
	# A block goes bad while the record is being written.
	: >"$md/dev-sda/bad_blocks"
	witness_write() { echo '3000 8' >"$md/dev-sda/bad_blocks"; }
	witness_update
	witness_update_members_now_
	[[ $WITNESS_UPDATE_NOW != "$WITNESS_UPDATE_WRITTEN" ]]
}

@test "the look without an event finds a disk leg that has begun to lack blocks, and one that no longer does" {
	local md=$R/sys/block/md127/md node
	mkdir -p "$R/run/ramraid"
	for node in sda sdb rd0; do
		mkdir -p "$md/dev-$node"
		echo 2048 >"$md/dev-$node/offset"
		: >"$md/dev-$node/bad_blocks"
	done
	conf_load() { :; }
	before_look_configured() { runs array.known=yes; }
	before_look_witness() { :; }
	watched_is() { :; }
	witness_look_monitor_() { :; }
	transitions_tell() { :; }
	witness_update() { called record; }
	witness_look data
	witness_look data
	[[ $(calls) == record ]] || fail "$(calls)"
	echo '3000 8' >"$md/dev-sda/bad_blocks"
	witness_look data
	witness_look data
	[[ $(calls | wc -l) == 2 ]] || fail "$(calls)"
	: >"$md/dev-sda/bad_blocks"
	witness_look data
	[[ $(calls | wc -l) == 3 ]] || fail "$(calls)"
}

@test "while the RAM leg is the only good copy, the look without an event keeps up the unit that saves it" {
	local node
	mkdir -p "$R/run/ramraid"
	for node in sda sdb rd0; do
		mkdir -p "$R/sys/block/md127/md/dev-$node"
	done
	conf_load() { :; }
	before_look_configured() { runs array.known=yes "$@"; }
	before_look_witness() { :; }
	watched_is() { :; }
	witness_look_monitor_() { :; }
	transitions_tell() { :; }
	witness_update() { :; }
	systemd_hold() { called hold "$@"; }
	health_only_copy() { return 1; }
	witness_look data
	[[ -z $(calls) ]] || fail "$(calls)"
	rm -f "$R/run/ramraid/data.looked"
	health_only_copy() { :; }
	witness_look data
	[[ $(calls) == 'hold data' ]] || fail "$(calls)"
	# Also if nothing has changed since the last look: the unit may have failed meanwhile.
	witness_look data
	[[ $(calls) == $'hold data\nhold data' ]] || fail "$(calls)"
}

@test "disk legs that left during a look are not taken for legs that can't be read" {
	runs array.known=yes
	mkdir -p "${W%/*}" "$R/sys/block/md127/md"
	echo 3 >"$R/sys/block/md127/md/raid_disks"
	echo 2 >"$R/sys/block/md127/md/degraded"
	printf '%s\n' "uuid=${F[uuid]}" "legs=$one $two" events=40 filled=40 ram_slot=0 \
		generation=4 "seen=$one $two" >"$W"
	before_look_witness
	eval "witness_write() $(declare -f real_witness_write | tail -n +2)"
	superblock_facts() {
		if [[ $1 == */rd0 ]]; then
			printf 'sb=ok\nevents=50\ndevice_uuid=%s\n' "$three"
		else
			echo sb=unreadable
		fi
	}
	facts_observe() {
		F[leg.0.state]='' F[leg.1.state]='' F[leg.0.in]='' F[leg.1.in]='' \
			F[array.degraded]=2
	}
	run witness_update
	assert_success
	refute_output -p 'could be read'
	for line in legs= events=50 filled=40 "left=$one $two"; do
		grep -qx -- "$line" "$W" || fail "$line: $(<"$W")"
	done
}

# Three legs: the array ran on the first alone, and a person starts it from the second. The third is
# absent, and named neither in legs nor in left.
@test "a forced start gives up a leg that was in sync long ago" {
	runs "witness.legs=$one" "witness.seen=$one $two $three" leg.0.node= "leg.1.node=sdb" \
		"leg.1.device_uuid=$two"
	give_up_legs sdb
	[[ " ${F[witness.give_up]} " == *" $one "* && " ${F[witness.give_up]} " == *" $three "* &&
		" ${F[witness.give_up]} " != *" $two "* ]] ||
		fail "${F[witness.give_up]}"
}

@test "a forced start without a record gives up all legs that are not known, so that no bitmap puts them back" {
	runs witness.legs= witness.events= leg.1.node= leg.0.uuid=11111111-2222-3333-4444-555555555555 \
		"leg.0.device_uuid=$one"
	give_up_legs sda
	[[ ${F[witness.give_up]// /} == 00000000-0000-0000-0000-000000000000 ]] ||
		fail "${F[witness.give_up]}"
	witness_write() { real_witness_write "$@"; }
	mkdir -p "${W%/*}"
	runs leg.1.state= leg.1.in= leg.1.slot= array.known=yes array.degraded=1 \
		"witness.give_up=${F[witness.give_up]}" witness.generation=0
	witness_update
	before_look_witness
	# It comes back, after the array has got further than it.
	F[leg.1.sb]=ok F[leg.1.uuid]=11111111-2222-3333-4444-555555555555 F[leg.1.role]=2
	F[leg.1.device_uuid]=$two F[leg.1.events]=90 F[leg.1.view]=AAA F[witness.filled]=0
	F[mend]=yes F[waited]=99
	facts_unnumbered
	facts_numbered
	action_choose
	[[ $ACTION == 'done' ]] || fail "$ACTION"
	# One that has been in sync since is known.
	F[witness.seen]+=" $two"
	action_choose
	[[ $ACTION == readd ]] || fail "$ACTION $WHY"
	# With a record that knows all of them, each is given up by its name.
	runs "witness.legs=$one" "witness.seen=$one $two" leg.1.node= "leg.0.device_uuid=$one"
	give_up_legs sda
	[[ " ${F[witness.give_up]} " != *" 00000000-"* ]] || fail "${F[witness.give_up]}"
}

@test "before the gate opens the record is written again only if the legs in sync, or the RAM leg's slot, change" {
	runs array.known=yes
	witness_update_if_changed
	[[ $(calls) == "write 50 0: $one $two" ]] || fail "$(calls)"
	witness_update_if_changed
	[[ $(calls | wc -l) == 1 ]] || fail "$(calls)"
	F[leg.1.state]=faulty
	witness_update_if_changed
	[[ $(calls | tail -n 1) == "write 50 0: $one" && $(calls | wc -l) == 2 ]] || fail "$(calls)"
	F[ram.slot]=3
	witness_update_if_changed
	[[ $(calls | wc -l) == 3 ]] || fail "$(calls)"
	# What could not be written is tried again.
	not_writable
	F[ram.slot]=0
	witness_update_if_changed 2>/dev/null
	# Also when the legs are again those that were written last: that record has been taken
	# back.
	F[ram.slot]=3
	witness_update_if_changed 2>/dev/null
	[[ $(calls | wc -l) == 5 ]] || fail "$(calls)"
}

@test "a leg that does not answer is asked only once" {
	superblock_facts() { called ask && printf 'sb=unreadable\nsilent=yes\n'; }
	[[ $(superblock_facts_patiently sda) == sb=unreadable* ]]
	[[ $(calls) == ask ]] || fail "$(calls)"
}

# other_writes LEG…: another program, which has seen more, writes the record.
other_writes() { (real_witness_write data "${F[uuid]}" '' 60 0 '' '' '' "$@"); }

@test "what another program has recorded since the look is not overwritten: everything is looked up again" {
	mkdir -p "${W%/*}"
	witness_write() { real_witness_write "$@"; }
	other_writes "$one" "$two"
	runs array.known=yes
	before_look_witness
	# The second leg leaves: the monitor sees that and writes it down before we come to write.
	other_writes "$one"
	facts_observe() { called look && F[leg.1.state]=faulty; }
	witness_update
	[[ $(calls) == look ]] || fail "$(calls)"
	grep -qx "legs=$one" "$W" || fail "$(<"$W")"
	# What we have written ourselves is ours.
	F[leg.1.state]=in_sync
	witness_update
	[[ $(calls) == look ]] || fail "$(calls)"
	grep -qx "legs=$one $two" "$W" || fail "$(<"$W")"
	# A record that is void is ours too, and so is none.
	rm "$W"
	before_look_witness
	witness_update
	[[ $(calls) == look ]] || fail "$(calls)"
}

@test "a record that another program writes again and again stays as it is, and that is said" {
	mkdir -p "${W%/*}"
	witness_write() {
		other_writes "$one" &&
			sed -i "s/^events=.*/events=$((others += 1))/; s/^generation=.*/generation=$others/" "$W" &&
			real_witness_write "$@"
	}
	local others=70
	runs array.known=yes
	before_look_witness
	facts_observe() { called look; }
	run witness_update
	assert_failure 1
	assert_output -p 'another program wrote its record at each of 10 tries'
	[[ $(calls | wc -l) == 10 ]] || fail "$(calls)"
	grep -qx "legs=$one" "$W" || fail "$(<"$W")"
}

@test "before members move, the record names no slot as the RAM leg's, however often it is looked up again" {
	mkdir -p "${W%/*}"
	witness_write() { real_witness_write "$@"; }
	runs array.known=yes
	before_look_witness
	other_writes "$one"
	facts_observe() { called look; }
	witness_update no-ram-slot
	[[ $(calls) == look && -z ${F[witness.ram_slot]} ]] || fail "$(calls)"
	grep -qx 'ram_slot=' "$W" || fail "$(<"$W")"
	witness_update
	grep -qx 'ram_slot=0' "$W" || fail "$(<"$W")"
}
