#!/usr/bin/env bats
# A device as the RAM leg: what is found of it, what is decided, and what is done. Each "decides" is
# one row of a table, as in decide.bats.

setup() {
	load helper
	world
	libraries
	ME=11111111-2222-3333-4444-555555555555 NVME=/dev/disk/by-id/nvme-X
	A=aaaaaaaa-0000-0000-0000-000000000001 B=aaaaaaaa-0000-0000-0000-000000000002
}

# facts BASE CHANGE…: as from tests/fixtures/decide, with a device in slot 0 that left an array of
# three in good order at 99 events. A change is KEY=VALUE, ram:KEY=VALUE of the device, or
# ram:absent, ram:none (blank), ram:unreadable, ram:corrupt.
facts() {
	local change
	facts_read <"$FIXTURES/decide/$1.facts"
	facts_unnumbered
	shift
	F[conf.ram]=$NVME F[leg.ram.dev]=$NVME F[ram.node]=nvme0n1 F[ram.state]=none \
		F[ram.slot]='' F[array.events]=100 F[array.degraded]=1 F[conf.rebuild]=auto
	facts_leg_blank ram nvme0n1
	change_ram sb=ok uuid="$ME" level=1 role=0 view=AAA events=99 device_uuid=rrrrrrrr \
		writemostly=no
	for change; do
		case $change in
		ram:absent) F[ram.node]='' && facts_leg_blank ram '' ;;
		ram:none | ram:unreadable | ram:corrupt)
			facts_leg_blank ram nvme0n1 && F[leg.ram.sb]=${change#*:}
			;;
		ram:*) change_ram "${change#*:}" ;;
		*) F[${change%%=*}]=${change#*=} ;;
		esac
	done
	facts_numbered
}
change_ram() {
	local fact
	for fact; do F[leg.ram.${fact%%=*}]=${fact#*=}; done
}
decides() { # 'ACTION ARGUMENT…' BASE CHANGE…
	local expected=$1 got
	shift
	facts "$@"
	action_choose
	got="$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}"
	[[ $got == "$expected" ]] || fail "facts: $*" "expected: $expected" "got: $got ($WHY)"
}
because() { [[ $WHY == *$1* ]] || fail "expected a reason with \"$1\", got: $WHY"; } # PATTERN
# Only the RAM leg was good when the array last ran, at 120 events; the disks left at 100 and
# before.
alone=(witness.events=120 witness.legs= witness.left="aaaaaaaa-0000-0000-0000-000000000001"
	witness.ram_slot=0 ram:view=A.. ram:events=120 leg.0.view=A.A leg.1.view=AAA leg.0.events=98
	leg.1.events=90)
crashed=(leg.0.view=AAA leg.1.view=AAA)

@test "start: a RAM leg device that is old, blank, damaged or foreign is ignored, and the disks are started" {
	decides 'assemble sda sdb' stopped-2
	decides 'assemble sda sdb' stopped-2 ram:absent
	decides 'assemble sda sdb' stopped-2 ram:none
	decides 'assemble sda sdb' stopped-2 ram:corrupt
	decides 'assemble sda sdb' stopped-2 ram:uuid=other ram:view=A.. ram:events=200
	decides 'assemble sda sdb' stopped-2 ram:in=md9 ram:sb= ram:view=A.. ram:events=200
	decides 'assemble sda sdb' stopped-2 ram:recovery=2048 ram:view=A.. ram:events=200
	decides 'assemble sda sdb' stopped-2 ram:role=spare ram:view=A.. ram:events=200
	# A person has decided against it.
	decides 'assemble sda sdb' stopped-2 ram:view=A.. ram:events=200 witness.given=rrrrrrrr
	# It left while B was away, which has been rebuilt since: A has all that it has.
	decides 'assemble sda sdb' stopped-2 ram:view=AA. ram:events=60
}

@test "start: after a crash the RAM leg device is waited for, within bounds, since it may hold what the disks lack" {
	decides 'assemble sda sdb' stopped-2 "${crashed[@]}" ram:events=100
	# md's own half step.
	decides 'assemble sda sdb' stopped-2 "${crashed[@]}" ram:events=101
	decides wait-members stopped-2 "${crashed[@]}" ram:absent
	because "waiting for $NVME: the disk legs call the RAM leg active"
	decides wait-members stopped-2 "${crashed[@]}" ram:unreadable
	decides wait-members stopped-2 "${crashed[@]}" ram:absent witness.ram_slot=
	decides 'assemble sda sdb' stopped-2 "${crashed[@]}" ram:absent waited=30
	decides wait-members stopped-2 "${crashed[@]}" ram:absent waited=299 \
		conf.member_timeout=infinity
	decides 'assemble sda sdb' stopped-2 "${crashed[@]}" ram:absent waited=300 \
		conf.member_timeout=infinity
	decides 'assemble sda sdb' stopped-2 "${crashed[@]}" ram:none
}

@test "start: if the RAM leg device may be ahead of every disk, the start is refused, with what to type" {
	local row
	for row in 'ram:view=A..' 'ram:events=102' 'ram:view=A.. ram:events=102 witness.events='; do
		decides refuse stopped-2 $row
		because "$NVME, the RAM leg (events"
		because "may hold writes that the disk legs here lack, but it and /dev/disk/by-id/ata-B (events 100) have been used without each other"
		because "ramraid start --force-leg=$NVME data, or: ramraid start --force-leg=/dev/disk/by-id/ata-A data"
	done
	# When the array last ran, the disks were in sync, and the device was not.
	decides refuse stopped-2 ram:view=A.. ram:events=102 witness.events=100 witness.legs="$A $B"
	because "ramraid start --force-leg=/dev/disk/by-id/ata-A data, or: ramraid start --force-leg=$NVME data"
	# A copy of a disk leg is called that.
	decides refuse stopped-2 ram:view=A.. ram:events=102 leg.ram.device_uuid=x \
		leg.1.device_uuid=x
	because "but it and /dev/disk/by-id/ata-B (events 100) have the same device UUID: one of them is a \
copy of the other"
	decides refuse stopped-2 ram:view=A.. ram:events=102 "${crashed[@]}"
	because 'lack, but the record of the last run does not say that it was the only good copy. Look at all'
	# The only disk that it had is away.
	decides refuse stopped-2 ram:view=AA. leg.0.node= leg.0.sb= leg.0.role= leg.0.uuid= \
		leg.0.device_uuid= waited=30 ram:events=200
	because 'Bring the missing disk back: /dev/disk/by-id/ata-A'
}

@test "start: a RAM leg device that was the only good copy, and has kept it, is started alone" {
	decides 'assemble nvme0n1' stopped-2 "${alone[@]}"
	because 'was the only good copy when the array last ran, and has kept it'
	[[ -z $GIVING_UP ]]
	# It hangs on another bus than it did.
	decides refuse stopped-2 "${alone[@]}" ram:alien=usb \
		ram:moved='it was on nvme, and is on usb'
	decides 'assemble nvme0n1' stopped-2 "${alone[@]}" ram:events=119
	decides 'assemble nvme0n1' stopped-2 "${alone[@]}" ram:events=150
	# Disks that are away could have come back to it after that was written down.
	decides wait-members stopped-2 "${alone[@]}" leg.1.node=
	decides 'assemble nvme0n1' stopped-2 "${alone[@]}" leg.1.node= waited=30
	decides refuse stopped-2 "${alone[@]}" leg.1.node= waited=30 conf.start_degraded=never
}

@test "start: a device that was the only good copy is started alone, even if the disks were being put back" {
	local both=(stopped-2 "${alone[@]}" leg.0.recovery=0 leg.1.recovery=4096 waited=99)
	decides 'assemble nvme0n1' "${both[@]}"
	because 'was the only good copy when the array last ran, and has kept it'
	decides wait-members "${both[@]}" leg.1.node= leg.1.sb= waited=0
	decides 'assemble nvme0n1' "${both[@]}" leg.1.node= leg.1.sb=
	decides refuse "${both[@]}" ram:absent
	decides refuse "${both[@]}" witness.given=rrrrrrrr
	decides refuse "${both[@]}" ram:alien=usb
	decides refuse "${both[@]}" witness.legs=aaaaaaaa-0000-0000-0000-000000000001
	# As verbs run.
	set -u
	decides refuse "${both[@]}" ram:events=118
	because 'no disk leg to start from'
	decides refuse "${both[@]}" witness.ram_slot=
	because '--force-leg=/dev/disk/by-id/nvme-X'
	decides 'assemble nvme0n1' "${both[@]}"
	set +u
	decides refuse "${both[@]}" failed.assemble=x
	decides refuse "${both[@]}" clones_known=no
	decides refuse "${both[@]}" clones=sdx:rrrrrrrr:300
	# What is no disk that was being put back may be newer.
	decides refuse "${both[@]}" 'leg.0.recovery=' leg.0.alien=usb leg.0.events=300
}

@test "start: a device that was the only good copy and is older, blank or absent is refused" {
	decides refuse stopped-2 "${alone[@]}" ram:events=118
	because 'the array was at 120 events when it last ran'
	decides refuse stopped-2 "${alone[@]}" ram:role=2 leg.1.role=0
	decides refuse stopped-2 "${alone[@]}" leg.0.view=.AA
	because 'have been used without each other'
	decides refuse stopped-2 "${alone[@]}" leg.0.events=130
	decides refuse stopped-2 "${alone[@]}" ram:none
	because 'and it is gone: every disk leg lacks'
	because '/dev/disk/by-id/nvme-X is not there, or has not kept it. To go on'
	decides wait-members stopped-2 "${alone[@]}" ram:absent
	decides refuse stopped-2 "${alone[@]}" ram:absent waited=30
	decides refuse stopped-2 "${alone[@]}" rescue.image=/var/lib/x
	because 'ramraid restore'
}

@test "start: without any disk leg the RAM leg device is started only with --force-leg" {
	decides refuse stopped-2 leg.0.node= leg.1.node= waited=30
	because "$NVME, the RAM leg, is at 99 events; to start from it alone: ramraid start --force-leg=$NVME data"
	decides refuse stopped-2 leg.0.node= leg.1.node= waited=30 ram:none
	[[ $WHY != *force-leg* ]]
	decides 'assemble nvme0n1' stopped-2 leg.0.node= leg.1.node= waited=30 forced=ram
	[[ $GIVING_UP == yes ]]
	decides refuse stopped-2 ram:none forced=ram
	decides 'assemble sda' stopped-2 ram:view=A.. forced=0
}

@test "running: the RAM leg device is put back by bitmap only if it matches every disk leg in sync; else it is wiped" {
	decides return-ram whole-2
	decides return-ram whole-2 ram:events=101
	decides wipe-ram whole-2 failed.return-ram='no'
	decides wipe-ram whole-2 failed.return-ram='md refused' ram:view=AA.
	[[ $WHY == *'an older state of the array (md refused), so'* ]] || fail "$WHY"
	decides wipe-ram whole-2 ram:view=AA.
	decides wipe-ram whole-2 ram:writemostly=yes
	decides wipe-ram whole-2 ram:role=spare
	decides wipe-ram whole-2 ram:recovery=2048
	decides wipe-ram whole-2 ram:view=A.. ram:events=200 witness.given=rrrrrrrr
	# Its slot is another's now.
	decides wipe-ram whole-2 ram:role=2
	# Only the disk legs in sync count.
	decides return-ram whole-2 ram:view=AA. leg.1.state=faulty
	# md may have cleared the bits that it needs.
	decides wipe-ram whole-2 witness.filled=102
	decides wipe-ram whole-2 witness.filled=
	decides wipe-ram whole-2 array.slots=2
	# "adopt" has found that it differs, and was cut off; but not what it may have alone.
	decides wipe-ram whole-2 ram.refill=rrrrrrrr
	decides return-ram whole-2 ram.refill=other
	decides 'done' whole-2 ram:view=A.. ram:events=200 ram.refill=rrrrrrrr
	# A disk leg that has joined between two looks.
	decides wait-sync whole-2 leg.1.slot=none
	decides 'done' whole-2 failed.wipe-ram='it could not be written'
	because 'it could not be written'
}

@test "a start knows from an interrupted adopt which RAM leg device differs from the disks" {
	mkdir -p "$R/etc/ramraid/state"
	declare -gA F=([name]=data [uuid]="$ME") ADOPTED=([uuid]=mine)
	printf 'uuid=%s\nbitmap=none\ndone=no\nrefill=%s\n' "$ME" "$A" \
		>"$R/etc/ramraid/state/data.adopted"
	before_look_witness
	[[ ${F[ram.refill]} == "$A" && ${ADOPTED[uuid]} == mine ]]
	sed -i s/^uuid=1/uuid=2/ "$R/etc/ramraid/state/data.adopted"
	before_look_witness
	[[ -z ${F[ram.refill]} ]]
}

@test "running: a RAM leg device that may hold writes that the disks lack is neither put back nor overwritten" {
	local row
	for row in ram:view=A.. ram:events=102; do
		decides 'done' whole-2 "$row"
		because 'so it is neither put back nor overwritten'
		because "ramraid stop data && ramraid start --force-leg=$NVME data. To give up what it has: mdadm --zero-superblock $NVME; ramraid attach data"
		decides 'done' whole-2 "$row" retry=yes
		decides 'done' whole-2 "$row" mend=yes
	done
}

@test "running: a RAM leg device that has blocks which md could not write to the disks is neither put back nor overwritten" {
	local row
	for row in ram:view=AAA ram:view=AA. ram:events=101 ram.refill=rrrrrrrr; do
		decides 'done' whole-2 ram:holds=yes "$row"
		because "$NVME may have blocks that no disk leg in sync has, since md could not write them there, so it is neither put back nor overwritten. To see which disks: ramraid check data"
		because "ramraid stop data && ramraid start --force-leg=$NVME data. To give up what it has: mdadm --zero-superblock $NVME; ramraid attach data"
		decides 'done' whole-2 ram:holds=yes "$row" retry=yes
		decides 'done' whole-2 ram:holds=yes "$row" mend=yes
	done
	# One that is ahead of the disks is called that; and a person may have decided against it.
	decides 'done' whole-2 ram:holds=yes ram:events=102
	because 'may hold writes that the disk legs'
	decides wipe-ram whole-2 ram:holds=yes witness.given=rrrrrrrr
}

@test "running: a blank RAM leg device is taken; one that is foreign, damaged or in use is left alone" {
	decides make-ram whole-2 ram:none
	decides 'done' whole-2 ram:none failed.make-ram='it holds ext4'
	because 'it holds ext4'
	decides 'done' whole-2 ram:uuid=other
	because "$NVME belongs to another array (other), and is left alone. Give data another RAM= \
(ramraid config show data says where it is), then: ramraid attach data; or, if nothing of that one is needed any more: mdadm \
--zero-superblock $NVME; ramraid attach data"
	decides 'done' whole-2 ram:corrupt
	because 'is damaged'
	for row in ram:uuid=other ram:corrupt; do
		decides 'done' whole-2 "$row" leg.ram.whose=$'is the RAM leg of the array db\nIf so'
		because "$NVME is the RAM leg of the array db. Give data another RAM="
		[[ $WHY != *@(zero-superblock|wipefs)* ]] || fail "$WHY"
	done
	decides 'done' whole-2 ram:in=dm-3
	because 'in use by dm-3'
	decides 'done' whole-2 ram:none array.degraded=0
}

@test "status and check give the reason for which a RAM leg device is left alone" {
	local ADVICE_BLIND=no ADVICE_WHY ADVICE_ACTION
	advised() { # PATTERN CHANGE…
		local pattern=$1
		shift
		facts whole-2 "$@"
		ADVICE_WHY='' ADVICE_ACTION=''
		advice_device_
		[[ $ADVICE_WHY == $pattern && -z ${F[retry]} ]] || fail "$*: $ADVICE_WHY"
	}
	advised '*belongs to another array*' ram:uuid=other
	[[ $ADVICE_ACTION == 'what the reason says' ]]
	advised '*is not there, or can*' ram:absent
	# The next look takes it.
	advised '' ram:none
	[[ -z $ADVICE_ACTION ]]
	# Whoever may not read it, or can't, does not say what it is.
	advised '' ram:unreadable
	ADVICE_BLIND=yes
	advised '' ram:uuid=other
}

@test "running: an absent RAM leg device is waited for, within bounds, and only by a start" {
	decides wait-members whole-2 ram:absent
	action_gate
	[[ $GATE == hold ]]
	decides wait-members whole-2 ram:absent conf.wait=no
	action_gate
	[[ $GATE == open ]]
	decides 'done' whole-2 ram:absent waited=30
	because "$NVME is not there"
	decides wait-members whole-2 ram:absent waited=299 conf.member_timeout=infinity
	decides 'done' whole-2 ram:absent waited=300 conf.member_timeout=infinity
	decides 'done' whole-2 ram:absent retry=yes
	decides 'done' whole-2 ram:absent mend=yes
	decides wait-members whole-2 ram:unreadable
}

@test "running: the RAM leg device is filled like a ramdisk; if md gives it up, it stays out until attach" {
	decides copy-ram whole-2 ram.state=attached ram:none
	decides add-ram whole-2 ram.state=attached ram:none conf.rebuild=kernel
	decides 'done' whole-2 ram.state=in_sync
	because whole
	decides 'done' whole-2 ram.state=faulty
	because 'md has given up /dev/disk/by-id/nvme-X'
	decides 'done' whole-2 ram.state=faulty mend=yes
	decides drop-ram whole-2 ram.state=faulty retry=yes
	decides 'done' whole-2 failed.make-ram='it was taken out'
}

# --- observing

array() { # a running array of two disks and one free slot, and the device beside it
	local leg
	M=$R/sys/block/md127/md
	mkdir -p "$M" "$R/run/ramraid"
	fake_disk sda 104857600 disk/by-id/ata-A
	fake_disk sdb 104857600 disk/by-id/ata-B
	fake_disk nvme0n1 104857600 disk/by-id/nvme-X
	printf '%s\n' "UUID=$ME" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B \
		"RAM=$NVME" >"$R/etc/ramraid/data.conf"
	echo clean >"$M/array_state"
	echo "$ME" >"$M/uuid"
	echo idle >"$M/sync_action"
	echo 51200 >"$M/component_size"
	for leg in sda:1 sdb:2; do member "${leg%:*}" in_sync,write_mostly "${leg#*:}"; done
	superblock_facts() {
		case $1 in
		*/nvme0n1) numbered <"$R/nvme.facts" ;;
		*)
			printf '%s\n' sb=ok "uuid=$ME" events=100 \
				"number=$([[ $1 == */sda ]] && echo 1 || echo 2)"
			;;
		esac
	}
	superblock
}
member() { # NODE STATE SLOT
	mkdir -p "$M/dev-$1" "$R/sys/class/block/$1/holders/md127"
	echo "$2" >"$M/dev-$1/state"
	echo "$3" >"$M/dev-$1/slot"
	echo 2048 >"$M/dev-$1/offset"
}
superblock() {
	printf '%s\n' sb=ok "uuid=$ME" device_uuid=rrrrrrrr level=1 events=99 role=0 view=AAA \
		recovery= writemostly=no >"$R/nvme.facts"
}
observe() {
	conf_load data || fail "${CONF_ERRORS[*]}"
	facts_of_conf data
	facts_observe
}
are() { # KEY=VALUE…
	local fact
	for fact; do
		[[ ${F[${fact%%=*}]-unset} == "${fact#*=}" ]] ||
			fail "expected $fact, got ${F[${fact%%=*}]-unset}"
	done
}

@test "facts: the RAM leg device outside, in the array, taken in this boot, in use, and absent" {
	array
	observe
	are ram.node=nvme0n1 ram.state=none leg.ram.dev=$NVME leg.ram.sb=ok leg.ram.view=AAA \
		leg.ram.events=99 leg.ram.in= array.events=100 array.strangers=
	member nvme0n1 in_sync 0
	observe
	are ram.node=nvme0n1 ram.state=in_sync ram.slot=0 leg.ram.sb= array.strangers= \
		array.events=0
	rm -r "$M/dev-nvme0n1" "$R/sys/class/block/nvme0n1/holders/md127"
	echo 'device nvme0n1 104857600 - used' >"$R/run/ramraid/data.ram"
	# It has been filled, or somebody has been at it: judged by its superblock.
	observe
	are ram.state=none leg.ram.sb=ok
	echo sb=none >"$R/nvme.facts"
	observe
	are ram.state=attached leg.ram.sb=none
	# Another one has its name now.
	echo 7 >"$R/sys/class/block/nvme0n1/diskseq"
	observe
	are ram.state=none
	mkdir "$R/sys/class/block/nvme0n1/holders/dm-1"
	observe
	are ram.state=none leg.ram.in=dm-1 leg.ram.sb=
	rm "$R/dev/disk/by-id/nvme-X"
	observe
	are ram.node= ram.state=none leg.ram.sb= leg.ram.in=
}

@test "facts: a RAM leg device outside may have blocks that md lists as bad on every disk leg in sync" {
	local OWN=''
	array
	superblock_bad_ranges() { printf '%s' "$OWN"; }
	observe
	are leg.ram.holds=
	echo '3000 8' >"$M/dev-sda/bad_blocks"
	echo '4000 8' >"$M/dev-sdb/bad_blocks"
	observe
	are leg.ram.holds=
	echo '3004 8' >"$M/dev-sdb/bad_blocks"
	observe
	are leg.ram.holds=yes
	OWN='956 960' observe
	are leg.ram.holds=
	# One that never was complete holds nothing of its own; one in the array is in disks.lack.
	sed -i s/recovery=/recovery=8/ "$R/nvme.facts"
	observe
	are leg.ram.holds=
	superblock
	member nvme0n1 in_sync 0
	observe
	are leg.ram.holds= disks.lack=yes
	rm -r "$M/dev-nvme0n1" "$R/sys/class/block/nvme0n1/holders/md127"
	observe
	are leg.ram.holds=yes
}

@test "facts: a RAM leg device that is also a disk leg counts as in use; without any disk it is still the array" {
	array
	ln -s "$R/dev/sdb" "$R/dev/disk/by-id/other"
	sed -i 's,^RAM=.*,RAM=/dev/disk/by-id/other,' "$R/etc/ramraid/data.conf"
	observe
	are ram.state=none leg.1.state=in_sync leg.ram.in=/dev/disk/by-id/ata-B
	sed -i "s,^RAM=.*,RAM=$NVME," "$R/etc/ramraid/data.conf"
	rm -r "$M"/dev-sd? "$R"/sys/class/block/sd?/holders/md127
	member nvme0n1 in_sync 0
	superblock_facts() { printf 'sb=ok\nuuid=%s\nevents=100\n' "$ME"; }
	observe
	are array.md=md127 ram.state=in_sync
	# Kernels that do not say whose it is.
	rm "$M/uuid"
	observe
	are array.md=md127 ram.state=in_sync
}

@test "facts: a device of an earlier configuration is the RAM leg only while it is in the array" {
	array
	sed -i 's,^RAM=.*,RAM=auto,' "$R/etc/ramraid/data.conf"
	ramdisk_note_device data nvme0n1
	[[ $(<"$R/run/ramraid/data.ram") == 'device nvme0n1 104857600 - used' ]]
	observe
	are ram.state=none
	member nvme0n1 in_sync 0
	observe
	are ram.state=in_sync ram.node=nvme0n1 array.strangers=
}

@test "a device that is the RAM leg is noted, so that its name may disappear" {
	array
	member nvme0n1 in_sync 0
	observe
	ram_leg_note
	[[ $(<"$R/run/ramraid/data.ram") == 'device nvme0n1 104857600 - used' ]]
	# What is noted stays; a ramdisk of an earlier configuration has its own note.
	rm "$R/run/ramraid/data.ram"
	F[ram.node]=rd0
	ram_leg_note
	F[ram.node]=nvme0n1 F[ram.state]=none
	ram_leg_note
	F[ram.state]=in_sync F[leg.ram.dev]=''
	ram_leg_note
	[[ ! -e $R/run/ramraid/data.ram ]]
}

@test "facts: without RAM=DEVICE no superblock of a device is read" {
	array
	sed -i 's,^RAM=.*,RAM=auto,' "$R/etc/ramraid/data.conf"
	superblock_facts() { called superblock_facts; }
	observe
	[[ -z $(calls) && -z ${F[leg.ram.dev]-} && ${F[array.events]} == 0 ]]
}

# --- taking it

@test "only a RAM leg device that is blank, free and large enough is taken" {
	local RAM_PROVIDER RAM_NODE RAM_BYTES SIGNATURE=''
	array
	wipefs() { printf '%s' "$SIGNATURE"; }
	ramdisk_make data 104857600 "$NVME" 10% 512
	[[ $(<"$R/run/ramraid/data.ram") == 'device nvme0n1 104857600 - used' ]]
	ramdisk_note_read data
	[[ $RAM_PROVIDER == device && $RAM_NODE == nvme0n1 ]]
	[[ $(ramdisk_memory_promised) == 0 ]]
	not ramdisk_is_blank data
	ramdisk_drop data
	[[ ! -e $R/run/ramraid/data.ram && -z $(calls) ]]
	SIGNATURE=ext4
	run ramdisk_make data 104857600 "$NVME" 10%
	assert_failure 1
	assert_output "$NVME is not used: signature: it holds ext4 (if nothing on it is needed: \
wipefs --all $NVME)"
	SIGNATURE=''
	run ramdisk_make data 104857601 "$NVME" 10%
	assert_output -p 'too small: it has 104857600 bytes, and a leg needs 104857601'
	mkdir "$R/sys/class/block/nvme0n1/queue"
	echo 4096 >"$R/sys/class/block/nvme0n1/queue/logical_block_size"
	run ramdisk_make data 104857600 "$NVME" 10% 512
	assert_output -p 'its blocks of 4096 bytes are larger than those of the array (512)'
	mkdir "$R/sys/class/block/nvme0n1/holders/dm-1"
	run ramdisk_make data 104857600 "$NVME" 10%
	assert_output -p 'in use: dm-1'
	rm "$R/dev/disk/by-id/nvme-X"
	run ramdisk_make data 104857600 "$NVME" 10%
	assert_output -p "missing: there is no block device $NVME"
	[[ ! -e $R/run/ramraid/data.ram ]]
}

@test "a RAM leg of brd never takes discards; if the kernel can't be stopped from sending them, none is made" {
	local RAM_PROVIDER RAM_NODE RAM_BYTES queue=$R/sys/block/ram0/queue
	array
	rm -f "$R/dev/ram0"
	modprobe() { mkdir -p "$queue" && echo 4294966784 >"$queue/discard_max_bytes"; }
	disk_wait_node() { :; }
	disk_bytes() { echo 209715200; }
	ramdisk_why_not() { :; }
	ramdisk_memory_total() { echo 209715200; }
	ramdisk_make data 104857600 brd 10%
	[[ $(<"$R/run/ramraid/data.ram") == 'brd ram0 '* &&
		$(<"$queue/discard_max_bytes") == 0 ]] ||
		fail "$(<"$queue/discard_max_bytes")"
	# Made by an earlier version.
	echo 4096 >"$queue/discard_max_bytes"
	ramdisk_settle data
	[[ $(<"$queue/discard_max_bytes") == 0 ]]
	# A kernel that has none to forbid is not told anything.
	rm "$queue/discard_max_bytes"
	ramdisk_settle data
	[[ ! -e $queue/discard_max_bytes ]]
	rm "$R/run/ramraid/data.ram"
	echo 4096 >"$queue/discard_max_bytes"
	act_write() { called write "$@"; }
	run ramdisk_make data 104857600 brd 10%
	assert_failure 1
	assert_output -p 'the kernel still sends discards to ram0'
	[[ ! -e $R/run/ramraid/data.ram ]]
}

@test "brd is unloaded again if ramraid can't note that it has loaded it" {
	ramdisk_why_not() { :; }
	ramdisk_memory_total() { echo 209715200; }
	modprobe() { called modprobe "$1"; }
	act() { called "$@" && [[ $1 != modprobe ]] || "$@"; }
	act_put() { return 1; }
	rm -rf "$R/sys/module/brd"
	run ramdisk_make data 104857600 brd 10%
	assert_failure 1
	[[ $(calls) == *$'\nrmmod brd' ]] || fail "$(calls)"
}

rapiddisk_world() { # a kernel with rapiddisk, which makes rd0
	modprobe() { :; }
	ramdisk_why_not() { :; }
	ramdisk_memory_total() { echo 209715200; }
	disk_wait_node() { :; }
	disk_bytes() { echo 104857600; }
	mkdir -p "${RAPIDDISK:=$R/sys/kernel/rapiddisk}"
	: >"$RAPIDDISK/mgmt"
	act_write() { called "$2"; }
}

@test "a ramdisk that can't be noted, or has the wrong size, is removed again" {
	rapiddisk_world
	ramdisk_make data 104857600 rapiddisk 10%
	[[ $(<"$R/run/ramraid/data.ram") == 'rapiddisk rd0 104857600 '* &&
		$(calls) == 'rapiddisk attach 0 104857600' ]] || fail "$(calls)"
	rm "$R/run/ramraid/data.ram" "$BATS_TEST_TMPDIR/calls"
	act_put() { return 1; }
	run ramdisk_make data 104857600 rapiddisk 10%
	assert_failure 1
	[[ $(calls) == 'rapiddisk attach 0 104857600
rapiddisk detach 0' && ! -e $R/run/ramraid/data.ram ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	disk_wait_node() { return 1; }
	run ramdisk_make data 104857600 rapiddisk 10%
	assert_failure 1
	assert_output -p 'rapiddisk made rd0 with 0 instead of 104857600 bytes'
	[[ $(calls) == *'rapiddisk detach 0' ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	disk_wait_node() { :; }
	disk_bytes() { echo 4096; }
	run ramdisk_make data 104857600 rapiddisk 10%
	assert_failure 1
	[[ $(calls) == *'rapiddisk detach 0' ]] || fail "$(calls)"
}

@test "detach and release erase the device's superblock, unless it may hold what the disks lack" {
	array
	mdadm() { called mdadm "$@"; }
	sleep() { :; }
	observe
	F[witness.given]=''
	detach_ram_give_back data
	[[ $(calls) == 'mdadm --zero-superblock /dev/nvme0n1' ]]
	rm "$BATS_TEST_TMPDIR/calls"
	superblock_bad_ranges() { :; }
	echo '3000 8' | tee "$M/dev-sda/bad_blocks" >"$M/dev-sdb/bad_blocks"
	detach_ram_give_back data
	[[ -z $(calls) ]]
	rm "$M"/dev-sd?/bad_blocks
	sed -i s/AAA/A../ "$R/nvme.facts"
	detach_ram_give_back data
	[[ -z $(calls) ]]
	sed -i 's,^RAM=.*,RAM=auto,' "$R/etc/ramraid/data.conf"
	observe
	detach_ram_give_back data
	[[ -z $(calls) ]]
}

@test "a start from one disk leg also gives up the RAM leg device, and a start from that gives up the disks" {
	facts stopped-2
	give_up_legs sda
	[[ " ${F[witness.give_up]} " == *" $B "* && " ${F[witness.give_up]} " == *' rrrrrrrr '* &&
		" ${F[witness.give_up]} " != *" $A "* ]]
	give_up_legs nvme0n1
	[[ " ${F[witness.give_up]} " == *" $B "* && " ${F[witness.give_up]} " == *" $A "* &&
		" ${F[witness.give_up]} " != *' rrrrrrrr '* ]]
	facts stopped-2 ram:uuid=other
	give_up_legs sda
	[[ ${F[witness.give_up]} != *rrrrrrrr* ]]
}

@test "the witness knows the RAM leg device, so that a start without it can give it up" {
	array
	member nvme0n1 in_sync 0
	superblock_facts() {
		printf 'sb=ok\nuuid=%s\ndevice_uuid=%s\nevents=100\n' "$ME" \
			"$(case $1 in *nvme*) echo cccccccc ;; *sda) echo $A ;; *) echo $B ;; esac)"
	}
	observe
	before_look_remembered
	F[array.known]=yes
	witness_update 2>/dev/null
	grep -qx "legs=$A $B" "$R/etc/ramraid/state/data.witness"
	grep -qx "seen=$A $B" "$R/etc/ramraid/state/data.witness"
	grep -qx 'doubted=cccccccc' "$R/etc/ramraid/state/data.witness"
	rm "$R/dev/disk/by-id/nvme-X"
	facts stopped-2 ram:absent "witness.seen=$A $B" witness.doubted=cccccccc
	give_up_legs sda
	[[ " ${F[witness.give_up]} " == *' cccccccc '* && " ${F[witness.give_up]} " != *" $A "* ]]
	NAME=data F[forced]=0 OPT=([yes]=yes)
	run start_ask_forced data
	assert_output -p "whatever $NVME, the RAM leg, has that the chosen leg lacks (absent)"
}

@test "--force-leg takes the RAM leg device, and says what is given up" {
	array
	OPT=([yes]=yes)
	facts stopped-2
	NAME=data
	start_find_forced "$NVME"
	[[ ${F[forced]} == ram ]]
	run start_ask_forced data
	assert_output -p "it will be started from $NVME alone, at 99 events (/dev/nvme0n1, nvme)"
	refute_output -p 'may be a copy'
	assert_output -p 'whatever /dev/disk/by-id/ata-A has that the chosen leg lacks (at 100 events)'
	assert_output -p 'whatever /dev/disk/by-id/ata-B has'
	facts stopped-2
	start_find_forced /dev/disk/by-id/ata-A
	[[ ${F[forced]} == 0 ]]
	run start_ask_forced data
	refute_output -p 'whatever /dev/disk/by-id/ata-A'
	assert_output -p "whatever $NVME, the RAM leg, has that the chosen leg lacks (at 99 events); it is \
rebuilt as a whole"
}

# Or the next look would take those that were given up for disks that have just left.
@test "--force-leg: what is given up is recorded even if the command is interrupted once the array runs" {
	before_look_configured() { facts stopped-2; }
	facts_observe() { :; }
	array_lock() { exec {ARRAY_LOCK}>/dev/null; }
	for name in systemd_settle conf_need start_ask_forced disk_legs_is_of rescue_record_forget \
		systemd_is_running; do
		eval "$name() { :; }"
	done
	disk_legs_assemble() { called assemble "$@" && kill -INT $BASHPID && kill -TERM $BASHPID; }
	witness_update() { called record "${F[witness.give_up]}"; }
	start_by_systemd() { called start; }
	array
	facts stopped-2
	NAME=data OPT=([yes]=yes [force_leg]=/dev/disk/by-id/ata-A)
	run start_forced data
	assert_success
	[[ $(calls) == $'assemble sda\nrecord \nstart' ]] || fail "$(calls)"
}

@test "--force-leg: a disk that has become another one while the command waited for an answer is not started" {
	local what
	before_look_configured() { facts stopped-2; }
	facts_observe() { :; }
	array_lock() { exec {ARRAY_LOCK}>/dev/null; }
	array_lock_try() { exec {ARRAY_LOCK}>/dev/null; }
	for name in systemd_settle conf_need disk_legs_is_of rescue_record_forget systemd_is_running; do
		eval "$name() { :; }"
	done
	disk_legs_assemble() { called assemble "$@"; }
	witness_update() { :; }
	start_by_systemd() { :; }
	array
	NAME=data OPT=([yes]=yes [force_leg]=/dev/disk/by-id/ata-A)
	for what in 'F[leg.0.device_uuid]=other' 'F[leg.0.sb]=none' \
		'echo 99 >"$R/sys/class/block/sda/diskseq"'; do
		echo 11 >"$R/sys/class/block/sda/diskseq"
		start_ask_forced() { eval "$what"; }
		run start_forced data
		assert_failure 4
		assert_output -p "/dev/disk/by-id/ata-A has changed since it was looked at"
		[[ -z $(calls) ]] || fail "$(calls)"
	done
	start_ask_forced() { :; }
	run start_forced data
	assert_success
	[[ $(calls) == 'assemble sda' ]]
}

@test "--force-leg --dry-run shows that it stops what is half assembled, and ends there" {
	before_look_configured() { facts whole-2 array.state=inactive ram.state=none; }
	facts_observe() { :; }
	array_lock_try() { exec {ARRAY_LOCK}>/dev/null; }
	array_lock() { array_lock_try; }
	conf_need() { :; }
	array
	before_look_configured
	NAME=data OPT=([force_leg]=/dev/disk/by-id/ata-A) DRY_RUN=yes
	run start_forced data
	assert_success
	assert_output -p "mdadm --stop /dev/md127
data: the rest depends on what is on the disks once /dev/md127 is stopped; nothing was changed \
(--dry-run)"
}

@test "--force-leg while a start waits without a limit: the message says how to end that" {
	array
	facts stopped-2
	declare -gA CONF=([MEMBER_TIMEOUT]=infinity)
	systemd_is_running() { :; }
	systemd_unit_state() { echo activating; }
	array_lock_try() { return 1; }
	run start_lock_ data
	assert_failure 75
	assert_output -p '(MEMBER_TIMEOUT=infinity). End that first: ramraid stop data'
	CONF[MEMBER_TIMEOUT]=30
	run start_lock_ data
	assert_failure 75
	assert_output -p 'ramraid wait data'
}

# --- the loop

loop() {
	declare -gA \
		CONF=([WAIT_TIMEOUT]=30min [MEMBER_TIMEOUT]=30s [COPY_RATE]=100M [RAM]=$NVME
			[RAM_RESERVE]=10% [RAM_LIMIT]=auto [VERIFY]=no)
	before_look_configured() { facts whole-2; }
	before_look_times() { :; }
	facts_observe() {
		F[ram.state]=$RAM F[copy.state]=none && [[ $RAM != recovering ]] || {
			F[array.sync]=recover && RAM=in_sync
		}
	}
	sleep() { :; }
	witness_update_or_go_on() { :; }
	superblock_facts() { printf 'sb=ok\ndevice_uuid=%s\nevents=100\n' "${F[witness.legs]%% *}"; }
	contents_remember() { :; }
	loop_speed() { :; }
	whole_since_update() { :; }
	copy_stop() { :; }
	disk_block() { echo 512; }
	md_state_leg_bytes() { echo 100663296; }
	ramdisk_make() { called make "$@" && RAM=attached; }
	md_zero() { called zero "$1" && F[leg.ram.sb]=none; }
	md_wipe() { md_zero "$1"; }
	md_readd() { called readd "$2" && RAM=recovering; }
	md_add() { called add "$2" && RAM=recovering; }
	ramdisk_note_device() { called note "$@"; }
	ram_leg_note() { :; } # it is noted
	same_leg() { :; }     # tests/unit/exchanged.bats
	same_leg_name() { :; }
	RAM=none
}

@test "loop: the RAM leg device is put back by bitmap" {
	loop
	loop_run data
	[[ $(calls) == $'readd nvme0n1\nnote data nvme0n1' && $LOOP_REBUILT == yes ]] ||
		fail "$(calls)"
}

@test "loop: a RAM leg device whose rebuild md gives up is taken out, and keeps no superblock" {
	loop
	fake_clock
	echo '5000.12 9000.00' >"$R/proc/uptime"
	mkdir -p "$R/run/ramraid"
	facts_observe() { F[ram.state]=$RAM F[ram.slot]=none F[copy.state]=none F[array.sync]=idle; }
	sleep() { SECONDS=$((SECONDS + 5)); }
	md_drop() { called drop "$@" && RAM=none; }
	loop_run data
	[[ $(calls) == $'readd nvme0n1\nnote data nvme0n1\ndrop md127 nvme0n1\nzero nvme0n1' ]] ||
		fail "$(calls)"
	[[ ${F["failed.make-ram"]} == 'md does not rebuild it'* ]]
}

@test "loop: if md refuses the re-add, the RAM leg device is wiped and rebuilt in full" {
	loop
	md_readd() { called readd "$2" && return 1; }
	F[copy.why_not]=no
	before_look_configured() { facts whole-2 conf.rebuild=kernel array.block=512; }
	loop_run data
	[[ $(calls) == $'readd nvme0n1\nzero nvme0n1\nmake data 100663296 '"$NVME"$'  512 auto\nzero nvme0n1\nadd nvme0n1' ]] ||
		fail "$(calls)"
}
