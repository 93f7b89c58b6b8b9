#!/usr/bin/env bats
# Which device is a leg? Arrays of disks that are not configured, disks whose names vanish while
# they run, copies that carry a leg's UUID, legs on other hardware.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	systemd_is_running() { return 1; }
	superblock_facts() { if [[ -e $1.sb ]]; then numbered <"$1.sb"; else echo sb=none; fi; }
	a=aaaaaaaa-0000-0000-0000-000000000001 b=aaaaaaaa-0000-0000-0000-000000000002 \
		x=aaaaaaaa-0000-0000-0000-000000000009
	W=$R/etc/ramraid/state/data.witness H=$R/etc/ramraid/state/data.hardware
	mkdir -p "$R"/etc/ramraid/state "$R"/run/{ramraid,udev/data} "$R/proc/sys/kernel"
	echo 6.12.1-amd64 >"$R/proc/sys/kernel/osrelease"
	echo '100.00 1' >"$R/proc/uptime"
	printf '%s\n' "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B \
		>"$R/etc/ramraid/data.conf"
	chmod 644 "$R/etc/ramraid/data.conf"
	disk sda "$a" 100 1 disk/by-id/ata-A disk/by-id/wwn-A
	disk sdb "$b" 100 2 disk/by-id/ata-B disk/by-id/wwn-B
	printf '%s\n' "uuid=$ID" "legs=$a $b" events=100 ram_slot=0 generation=5 >"$W"
}

mdadm() { called mdadm "$@"; }

# disk NODE DEVICE-UUID EVENTS SLOT [LINK…]: with a superblock of the array.
disk() {
	fake_disk "$1" 104857600 "${@:5}"
	echo "$1-7" >"$R/sys/class/block/$1/diskseq"
	printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$2" level=1 raid_disks=3 size=100 \
		data_offset=8 data_size=100 "events=$3" time=5 "role=$4" view=.AA recovery= \
		dirty=no bitmap=yes writemostly=yes >"$R/dev/$1.sb"
}

# array MD [RUN]: of that UUID. member MD NODE STATE SLOT. whole: the array with both disks and the
# RAM leg, judged by a start of ours.
array() {
	local md=$R/sys/block/$1/md
	mkdir -p "$md"
	echo clean >"$md/array_state"
	echo "$ID" >"$md/uuid"
	echo 1.2 >"$md/metadata_version"
	echo idle >"$md/sync_action"
	echo "${2-7}" >"$R/sys/block/$1/diskseq"
}
member() {
	mkdir -p "$R/sys/block/$1/md/dev-$2" "$R/sys/class/block/$2/holders/$1"
	echo "$3" >"$R/sys/block/$1/md/dev-$2/state"
	echo "$4" >"$R/sys/block/$1/md/dev-$2/slot"
	echo 8 >"$R/sys/block/$1/md/dev-$2/offset"
}
ramdisk() { # MD
	fake_disk rd0 104857600
	mkdir -p "$R/sys/block/rd0"
	echo 3 >"$R/sys/block/rd0/diskseq"
	printf 'rapiddisk rd0 104857600 3 used\n' >"$R/run/ramraid/data.ram"
	printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$x" events=100 role=0 view=AAA recovery= \
		>"$R/dev/rd0.sb"
	[[ -z ${1-} ]] || member "$1" rd0 in_sync 0
}
whole() {
	array md127
	member md127 sda in_sync,write_mostly 1
	member md127 sdb in_sync,write_mostly 2
	ramdisk md127
	echo 'md127 7' >"$R/run/ramraid/data.watched"
}

observe() {
	conf_load data || fail "${CONF_ERRORS[*]}"
	before_look_configured data
	before_look_times
	facts_observe
}
decided() { # ACTION [PATTERN…]
	local pattern
	F[clones]='' F[clones_known]=''
	F[waited]=999
	all_disks_decide 2>"$BATS_TEST_TMPDIR/log"
	[[ "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" == "$1" ]] ||
		fail "expected $1, got $ACTION ${ARGUMENTS[*]}: $WHY"
	for pattern in "${@:2}"; do
		[[ $WHY == *$pattern* ]] || fail "expected a reason with \"$pattern\", got: $WHY"
	done
}
are() { # KEY=VALUE…
	local fact
	for fact; do
		[[ ${F[${fact%%=*}]-unset} == "${fact#*=}" ]] ||
			fail "expected $fact, got ${F[${fact%%=*}]-unset}"
	done
}
# bus NODE PLACE: that is where the kernel sees it. udev NODE NUMBER KEY=VALUE…: what udev knows of
# it.
bus() {
	local before
	before=$(readlink -f "$R/sys/class/block/$1")
	mkdir -p "$R/sys/devices/$1/$2"
	[[ $before == "$R/sys/devices/$1/$2/$1" ]] || mv "$before" "$R/sys/devices/$1/$2/$1"
	[[ ! -L $R/sys/class/block/$1 ]] || rm "$R/sys/class/block/$1"
	ln -s "$R/sys/devices/$1/$2/$1" "$R/sys/class/block/$1"
	printf '%s\n' "$RANDOM$RANDOM" >"$R/sys/class/block/$1/diskseq"
}
udev() {
	echo "$2" >"$R/sys/class/block/$1/dev"
	printf 'E:%s\n' "${@:3}" >"$R/run/udev/data/b$2"
}
logged() { grep -q "$1" "$BATS_TEST_TMPDIR/log" || fail "$(<"$BATS_TEST_TMPDIR/log")"; }
# a_leg_on_usb EVENTS: sdx, on USB, says that it is A, and has A's name; the disk with A is away.
a_leg_on_usb() {
	printf '%s\n' "$a ata pci-1 SN1" "$b ata pci-2 SN2" >"$H"
	bus sda pci0/ata1/host0
	bus sdb pci0/ata2/host1
	disk sdx "$a" "$1" 1
	bus sdx pci0/usb1/host9
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	rm "$R/dev/sda.sb"
}

# on_top NAME: leg A is the device NAME, on top of sda, which shows the same superblock; NAME is down.
on_top() {
	printf '%s\n' "UUID=$ID" "MEMBER=$1" MEMBER=/dev/disk/by-id/ata-B >"$R/etc/ramraid/data.conf"
	observe
}
# spares NAME TEXT: does TEXT say to bring NAME up, and nothing by which the disk below it is erased,
# taken away or started from?
spares() {
	[[ $2 == *"the disk below $1, leave it alone"*"Bring $1 up first"* &&
		$2 != *@(zero-superblock|MEMBER=|as MEMBER|ake the copy out|take the other|out of the machine)* ]] ||
		fail "$1: $2"
}
readonly ON_TOP=(/dev/drbd/by-res/r0 /dev/drbd/by-res/r0/0 /dev/mapper/fast-cached
	/dev/disk/by-id/dm-name-fast-cached /dev/disk/by-id/dm-uuid-x /dev/md/below
	/dev/disk/by-id/md-uuid-1:2:3:4)

@test "the disk below a leg that is down is left alone, whatever is asked: a start, check, or another array of it" {
	local name
	CHECK_ARRAY=data
	findings_is_root() { return 0; }
	for name in "${ON_TOP[@]}"; do
		on_top "$name"
		decided refuse '/dev/sda (events 100) is no MEMBER' '; it was in sync' '--force-leg='
		spares "$name" "$WHY"
		spares "$name" "$(all_disks_tell_moved 2>&1)"
		FINDINGS=0
		check_running_copies
		[[ ${FINDING[0.code]} == copy ]]
		spares "$name" "${FINDING[0.action]}"
		[[ ${FINDING[0.action]} == 'if it is the disk below'* ]]
	done
	# The other leg, too, says nothing else of it.
	rm "$R/dev/sdb.sb"
	on_top "$name"
	spares "$name" "$(all_disks_tell_moved 2>&1)"
	# A mirror below has two such disks.
	disk sdx "$a" 100 1
	on_top "$name"
	spares "$name" "$(all_disks_tell_moved 2>&1)"
	# A disk is on top of nothing, and a leg that is there is not down.
	on_top /dev/disk/by-id/usb-GONE
	not below_absent it
	ln -s ../sda "$R/dev/fast" && mkdir -p "$R/dev/mapper" && mv "$R/dev/fast" "$R/dev/mapper/fast"
	on_top /dev/mapper/fast
	not below_absent it
}

@test "a leg that is the device of a configured array is brought up by ramraid, and any other array by mdadm" {
	local name
	printf '%s\n' '# mine' 'UUID = "01234567:89abcdef:01234567:89abcdef"' \
		>"$R/etc/ramraid/below.conf"
	cp "$R/etc/ramraid/below.conf" "$R/etc/ramraid/md9.conf"
	sed -i 's/0123/9123/' "$R/etc/ramraid/md9.conf"
	for name in /dev/md/{below,below1,md9,md9p2} /dev/disk/by-id/md-name-any:below-part3 \
		/dev/disk/by-id/md-uuid-{01234567:89abcdef:01234567:89abcdef,9123-4567:89abcdef:01234567:89abcdef-part1}; do
		on_top "$name"
		below_absent it || fail "$name"
		[[ $BELOW == *"Bring $name up first (ramraid start "@(below|md9)')' ]] ||
			fail "$name: $BELOW"
	done
	for name in /dev/md/other /dev/md/below.conf /dev/disk/by-id/md-name-below:x \
		/dev/disk/by-id/md-uuid-1:2:3:4; do
		on_top "$name"
		below_absent it || fail "$name"
		[[ $BELOW == *"Bring $name up first (mdadm --assemble)" ]] || fail "$name: $BELOW"
	done
	# Nobody asks about a leg that is there.
	conf_device_array() { fail "$1"; }
	mkdir -p "$R/dev/md" && ln -s ../sda "$R/dev/md/below"
	on_top /dev/md/below
	not below_absent it
}

@test "the disk below a leg that is down is left alone, though it is older than the other leg" {
	sed -i s/events=.*/events=60/ "$R/dev/sda.sb"
	printf '%s\n' "uuid=$ID" "legs=$b" events=100 ram_slot=0 generation=5 "given=$a" >"$W"
	on_top /dev/drbd/by-res/r0/0
	decided 'assemble sdb'
	spares /dev/drbd/by-res/r0/0 "$(<"$BATS_TEST_TMPDIR/log")"
}

@test "a member that may be the disk below a missing leg is not named as MEMBER before that is known" {
	local name=/dev/drbd/by-res/r0/0 one
	CHECK_ARRAY=data
	findings_is_root() { return 0; }
	whole
	on_top "$name"
	are array.md=md127 array.unconfigured=sda
	for one in "$name" /dev/disk/by-id/usb-GONE; do
		on_top "$one"
		FINDINGS=0
		check_running_legs
		[[ ${FINDING[0.code]} == member-name ]]
		SHOWN=''
		summary_array data
		summary_detail
		status_text "$STATUS_WORD"
		if [[ $one == "$name" ]]; then
			[[ ${FINDING[0.action]} == "if it is the disk below $name, leave it alone: "*"Bring $name up first ("*'), after: ramraid stop data; then: ramraid start data. If it is another disk: write MEMBER=/dev/disk/by-id/wwn-A in its place in '* ]] &&
				[[ $SHOWN == *$'member sda has no MEMBER line in the configuration; ramraid check data says what to do\n'* ]]
		else
			[[ ${FINDING[0.action]} == 'write MEMBER=/dev/disk/by-id/wwn-A in its place in '* ]] &&
				[[ $SHOWN == *'write this line: MEMBER=/dev/disk/by-id/wwn-A'* ]]
		fi || fail "${FINDING[0.action]} $SHOWN"
	done
}

@test "an array that something has started from the disk below a leg is stopped, and that disk left alone" {
	array md9
	member md9 sda in_sync 1
	on_top /dev/drbd/by-res/r0/0
	decided refuse 'md9 runs from sda' 'mdadm --stop /dev/md9' 'ramraid start data'
	spares /dev/drbd/by-res/r0/0 "$WHY"
}

@test "a leg that is there and can't be read may be without the disk below it, and that disk is left alone" {
	fake_disk drbd0 104857600 drbd/by-res/r0/0
	superblock_facts() {
		if [[ $1 == */drbd0 ]]; then echo sb=unreadable
		elif [[ -e $1.sb ]]; then numbered <"$1.sb"
		else echo sb=none; fi
	}
	on_top /dev/drbd/by-res/r0/0
	are leg.0.node=drbd0
	decided refuse '/dev/sda (events 100) is no MEMBER'
	spares /dev/drbd/by-res/r0/0 "$WHY"
}

@test "the disk below a RAM leg that is down is left alone" {
	printf '%s\n' "UUID=$ID" RAM=/dev/mapper/fast MEMBER=/dev/disk/by-id/ata-B >"$R/etc/ramraid/data.conf"
	observe
	decided refuse '/dev/sda (events 100) is no MEMBER'
	spares /dev/mapper/fast "$WHY"
}

@test "an array of unconfigured disks is not ours: no disk is put into it, and a start is refused" {
	disk sdx "$a" 90 1
	array md9
	member md9 sdx in_sync 1
	observe
	are array.md= array.state=absent array.foreign=md9=sdx leg.0.sb=ok
	decided refuse 'md9 runs from sdx' 'mdadm --stop /dev/md9; ramraid start data' \
		'name them as MEMBER'
	F[forced]=0
	decided refuse 'md9 runs from sdx'
	# Nor is it ever written down.
	witness_update
	grep -q "^legs=$a $b\$" "$W"
	# Ours, once a start has judged it: then it is the disks that have other names.
	echo 'md9 7' >"$R/run/ramraid/data.watched"
	observe
	are array.md=md9 array.state=active array.foreign= array.unconfigured=sdx
	# Another run of it is another array.
	echo 'md9 8' >"$R/run/ramraid/data.watched"
	observe
	are array.md= array.foreign=md9=sdx
	rm -r "$R/sys/block/md9" "$R/sys/class/block/sdx/holders/md9"
	rm "$R/dev/sdx.sb"
	observe
	decided 'assemble sda sdb'
}

@test "an array started by hand from a copy with a leg's name, beside the leg, gets no disk, and is not recorded" {
	disk sdx "$a" 300 1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	array md9
	member md9 sdx in_sync,write_mostly 1
	observe
	# Nor is it written down, though it has the UUID of a leg that was in sync.
	cmd_witness_one data 2>/dev/null
	grep -q "^legs=$a $b\$" "$W" && [[ ! -e $H ]] || fail "$(<"$W")"
	F[array.known]='' F[array.copy]='' F[array.copy_known]=''
	witness_update_foreign_start
	are array.md=md9 array.known=no leg.0.in=md9
	decided refuse "something else has started md9 from /dev/sdx, and /dev/sda carries the \
same device UUID" 'mdadm --stop /dev/md9'
	F[array.copy]='' F[array.copy_known]=''
	echo 'md9 7' >"$R/run/ramraid/data.watched"
	all_disks_decide
	are array.copy=
}

@test "an array of other metadata is not ours, whatever its UUID, and none of its members is a leg" {
	local version
	# 0.90 is at the end of a device, and mdadm reads the same bytes as another UUID; so it starts
	# it, past our claim, and the superblock of a leg may be where its data are.
	for version in 0.90 1.0 1.1 external:ddf; do
		disk loop7 "$a" 72057594037927935 1
		array md9
		echo "$version" >"$R/sys/block/md9/md/metadata_version"
		member md9 loop7 in_sync 0
		# Under no name that is ours, or of a leg that is away.
		observe
		are array.md= array.foreign=
		decided 'assemble sda sdb'
		ln -sfn "$R/dev/loop7" "$R/dev/disk/by-id/ata-A"
		mv "$R/dev/sda.sb" "$R/away"
		observe
		are array.md= leg.0.in=other
		decided 'assemble sdb'
		witness_update
		grep -q "^legs=$a $b\$" "$W"
		# Beside an array that runs: the RAM leg and the record stay that one's.
		mv "$R/away" "$R/dev/sda.sb"
		whole
		observe
		are array.md=md127 array.twin= ram.state=in_sync leg.0.in=other
		cmd_witness_one data 2>/dev/null
		grep -q '^events=100$' "$W" && grep -q "^legs=$b $a\$" "$W" || fail "$(<"$W")"
		echo faulty | tee "$R"/sys/block/md127/md/dev-sd{a,b}/state >/dev/null
		observe
		health_only_copy || fail "$version"
		rm -r "$R"/sys/block/{md9,md127,rd0} "$R"/sys/class/block/{rd0,sd{a,b}/holders/md127} \
			"$R/sys/class/block/loop7" "$R"/dev/loop7* "$R/run/ramraid/data."{ram,watched}
		ln -sfn "$R/dev/sda" "$R/dev/disk/by-id/ata-A"
		printf '%s\n' "uuid=$ID" "legs=$a $b" events=100 ram_slot=0 generation=5 >"$W"
	done
}

@test "of two arrays with legs by their names, ours is the one that a start has judged, for record and guard" {
	whole
	disk loop7 "$a" 72057594037927935 1
	ln -sfn "$R/dev/loop7" "$R/dev/disk/by-id/ata-A"
	array md9 8
	member md9 loop7 in_sync,write_mostly 1
	observe
	are array.md=md127 array.twin=md9 ram.state=in_sync
	cmd_witness_one data 2>/dev/null
	grep -q '^events=100$' "$W" || fail "$(<"$W")"
	not grep -q loop "$H"
	echo faulty | tee "$R"/sys/block/md127/md/dev-sd{a,b}/state >/dev/null
	observe
	health_only_copy
	# Where no start has judged either, both are in question.
	rm "$R/run/ramraid/data.watched"
	observe
	are array.md=md9 array.twin=md127
}

@test "an array started by hand from a copy with one leg's name and the other's device UUID gets no disk" {
	disk sdx "$b" 300 1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	rm "$R/dev/sda.sb"
	array md9
	member md9 sdx in_sync,write_mostly 1
	observe
	witness_update_foreign_start
	are array.md=md9 array.known=no leg.0.in=md9 leg.1.sb=ok
	decided refuse "something else has started md9 from /dev/sdx, and /dev/sdb carries the \
same device UUID"
	cmd_witness_one data 2>/dev/null
	grep -q "^legs=$a $b\$" "$W" && [[ ! -e $H ]] || fail "$(<"$W")"
}

@test "an array started by hand with a leg on other hardware is refused, as is a start from such a leg" {
	a_leg_on_usb 300
	array md9
	member md9 sdx in_sync,write_mostly 1
	judged() { # KNOWN
		observe
		F[array.known]='' F[array.copy_known]=''
		witness_update_foreign_start
		are array.md=md9 "array.known=$1"
	}
	judged no
	decided refuse "something else has started md9, with /dev/sdx, which may be a copy of a leg: it \
was on ata (pci-1), serial number SN1, and is on usb. Stop it (mdadm --stop /dev/md9)"
	cmd_witness_one data 2>"$BATS_TEST_TMPDIR/log"
	logged 'with /dev/sdx, which may be .*; that is not recorded'
	grep -q "^legs=$a $b\$" "$W" && not grep -q usb "$H"
	# Also beside a leg that is right: md reads from both.
	member md9 sdb in_sync,write_mostly 2
	judged no
	# One that nobody knows.
	sed -i "s/$a/$x/" "$R/dev/sdx.sb"
	judged no
	# The same disk in another port, and where a leg was ever on such a bus.
	sed -i "s/$x/$a/" "$R/dev/sdx.sb"
	bus sdx pci0/ata7/host9
	unset -v HARDWARE_OF; declare -gA HARDWARE_OF=()
	judged yes
	sed -i "s/^$a ata/$a usb/" "$H"
	bus sdx pci0/usb1/host9
	unset -v HARDWARE_OF; declare -gA HARDWARE_OF=()
	udev sdx 8:80 ID_SERIAL=SN1
	judged yes
	# Once a start has judged it, it is ours.
	rm "$H"
	printf '%s\n' "$a ata pci-1 SN1" "$b ata pci-2 SN2" >"$H"
	echo 'md9 7' >"$R/run/ramraid/data.watched"
	judged yes
}

@test "of two arrays of one UUID, ours is the one with the RAM leg, and none is touched until a start has judged it" {
	local first
	for first in md5 md200; do
		rm -f "$R"/dev/disk/by-id/ata-*
		disk sdx "$a" 90 1
		array md127
		ramdisk md127
		array "$first"
		member "$first" sdx in_sync 1
		observe
		are array.md=md127 ram.state=in_sync "array.twin=$first" "array.foreign=$first=sdx"
		decided refuse "md127 and $first"
		health_only_copy
		rm -r "$R/sys/block/$first" "$R/sys/class/block/sdx"
	done
	# Of what a start of ours has judged nobody doubts whose it is: a disk that comes back is
	# put back.
	disk sdx "$a" 90 1
	array md5
	member md5 sdx in_sync 1
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	observe
	are array.md=md127 array.twin= array.foreign=md5=sdx
}

@test "a RAM leg in another array than the disk legs: the start is refused, and both arrays are named" {
	array md127
	member md127 sda in_sync,write_mostly 1
	array md9
	ramdisk md9
	observe
	are array.md=md127 array.twin=md9 ram.state=attached
	decided refuse 'md127 and md9'
}

@test "disks whose stable names vanish while they run count as copies, and are recorded as such" {
	whole
	rm "$R"/dev/disk/by-id/ata-*
	observe
	are array.md=md127 leg.0.node= array.unconfigured='sda sdb' ram.state=in_sync
	not health_only_copy
	health_disk_in_sync
	cmd_witness_one data 2>"$BATS_TEST_TMPDIR/log"
	grep -q "^legs=$a $b\$" "$W" || fail "$(<"$W")"
	not grep -q 'ONLY GOOD COPY' "$BATS_TEST_TMPDIR/log"
	[[ $(stat -c %a "$W") == 600 ]]
	# One of them fails: the other one is what is written down.
	echo faulty >"$R/sys/block/md127/md/dev-sda/state"
	cmd_witness_one data 2>/dev/null
	grep -q "^legs=$b\$" "$W" || fail "$(<"$W")"
	# Blocks that md could not write to the last of them are the RAM leg's alone.
	echo '3000 8' >"$R/sys/block/md127/md/dev-sdb/bad_blocks"
	observe
	are disks.lack=yes
	health_only_copy
	rm "$R/sys/block/md127/md/dev-sdb/bad_blocks"
	# Not in sync is no copy.
	echo spare >"$R/sys/block/md127/md/dev-sdb/state"
	observe
	are array.unconfigured= array.strangers='sda sdb'
	health_only_copy
}

@test "the device that is the RAM leg does not become a disk leg when its name vanishes" {
	fake_disk nvme0n1 104857600 disk/by-id/nvme-R
	echo RAM=/dev/disk/by-id/nvme-R >>"$R/etc/ramraid/data.conf"
	array md127
	member md127 nvme0n1 in_sync 0
	rm "$R"/dev/disk/by-id/{ata-A,ata-B,nvme-R}
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	# Known from this boot, or told by what every disk leg is and it is not: write-mostly.
	observe
	are array.md=md127 array.unconfigured= array.strangers=nvme0n1
	echo 'device nvme0n1 104857600 - used' >"$R/run/ramraid/data.ram"
	observe
	are ram.node=nvme0n1 ram.state=in_sync array.unconfigured= array.strangers=
	health_only_copy
}

@test "the device that is the RAM leg stays the RAM leg when another device takes over its name" {
	local how fact
	rm "$R/etc/ramraid/data.conf"
	printf '%s\n' "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B \
		RAM=/dev/disk/by-partuuid/p-1 >"$R/etc/ramraid/data.conf"
	whole
	rm -r "$R/run/ramraid/data.ram" "$R/sys/block/md127/md/dev-rd0"
	fake_disk nvme0n1 104857600 disk/by-partuuid/p-1
	echo 5 >"$R/sys/class/block/nvme0n1/diskseq"
	printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$x" level=1 raid_disks=3 events=100 role=0 \
		view=AAA recovery= >"$R/dev/nvme0n1.sb"
	member md127 nvme0n1 in_sync 0
	echo 'device nvme0n1 104857600 5 used' >"$R/run/ramraid/data.ram"
	cmd_witness_one data 2>/dev/null
	# By a loop device of some user's, blank or a copy, while the disks are in sync …
	fake_disk loop7p1 104857600
	ln -sfn "$R/dev/loop7p1" "$R/dev/disk/by-partuuid/p-1"
	for how in blank copy; do
		[[ $how == blank ]] || cp "$R/dev/nvme0n1.sb" "$R/dev/loop7p1.sb"
		observe
		are ram.node=nvme0n1 ram.state=in_sync array.unconfigured= array.strangers= \
			leg.ram.node=nvme0n1 leg.ram.alien=
		facts_is_ram nvme0n1
		WITNESS_UPDATE_WRITTEN='' cmd_witness_one data 2>/dev/null
		grep -qx "legs=$a $b" "$W" || fail "$(<"$W")"
		grep -qx 'ram=/dev/disk/by-partuuid/p-1 nvme - -' "$H" || fail "$(<"$H")"
	done
	# … and when they fail, or are gone with their names.
	echo 2 >"$R/sys/block/md127/md/degraded"
	sed -i 's/events=100/events=120/; s/view=AAA/view=A../' "$R/dev/nvme0n1.sb"
	for fact in sda sdb; do
		echo faulty,write_mostly >"$R/sys/block/md127/md/dev-$fact/state"
	done
	for how in failed gone; do
		[[ $how == failed ]] || rm -r "$R"/sys/block/md127/md/dev-sd? \
			"$R"/sys/class/block/sd? "$R"/dev/disk/by-id/ata-?
		observe
		are array.md=md127 array.foreign= ram.node=nvme0n1 ram.state=in_sync \
			array.unconfigured= array.strangers=
		health_only_copy
		WITNESS_UPDATE_WRITTEN='' cmd_witness_one data 2>/dev/null
		grep -qx legs= "$W" || fail "$how: $(<"$W")"
	done
	# Also of an array that no start has judged.
	rm "$R/run/ramraid/data.watched"
	observe
	are array.md=md127 array.foreign= ram.state=in_sync
	# What has left the array is judged by its name again.
	rm -r "$R/sys/block/md127/md/dev-nvme0n1" "$R/sys/class/block/nvme0n1/holders/md127"
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	observe
	are ram.node=loop7p1 ram.state=none leg.ram.alien=loop
}

@test "apply does not take out a leg whose name is taken over while the array runs, nor build what has the name" {
	whole
	cmd_witness_one data 2>/dev/null
	[[ $(<"$R/run/ramraid/data.names") == "sda:sda-7 /dev/disk/by-id/ata-A
sdb:sdb-7 /dev/disk/by-id/ata-B" ]] || fail "$(<"$R/run/ramraid/data.names")"
	fake_disk loop7p1 104857600
	ln -sfn "$R/dev/loop7p1" "$R/dev/disk/by-id/ata-A"
	# Looked at meanwhile, the name is still known for the leg's.
	cmd_witness_one data 2>/dev/null
	LEAVING=()
	run membership_look data
	assert_failure 4
	assert_output -p "/dev/disk/by-id/ata-A now leads to /dev/loop7p1 (loop), but the leg that had \
that name, /dev/sda, is in the array"
	assert_output -p 'MEMBER=/dev/disk/by-id/wwn-A'
	[[ $(calls) != *mdadm* && ! -e $R/etc/ramraid/state/data.leaving ]]
}

@test "--force-leg says which device the name leads to, and what the leg was recorded on" {
	whole
	printf '%s\n' "$a ata pci-1 SN:1" "$b other - -" >"$H"
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/*/holders/md127
	fake_disk loop7 104857600
	cp "$R/dev/sda.sb" "$R/dev/loop7.sb"
	ln -sfn "$R/dev/loop7" "$R/dev/disk/by-id/ata-A"
	OPT=([yes]=yes)
	NAME=data
	observe
	start_find_forced /dev/disk/by-id/ata-A
	run start_ask_forced data
	assert_success
	assert_output -p 'started from /dev/disk/by-id/ata-A alone, at 100 events (/dev/loop7, loop). This'
	assert_output -p '/dev/loop7 may be a copy of the leg, or not the leg at all: it was on ata (pci-1), serial number SN:1, and is on loop'
	F[forced]=1
	run start_ask_forced data
	assert_output -p '(/dev/sdb, other)'
	refute_output -p 'may be a copy'
}

@test "status names the members that have no MEMBER line, with the line to write" {
	whole
	rm "$R"/dev/disk/by-id/ata-*
	SHOWN=''
	summary_array data
	summary_detail
	advice "$STATUS_WORD"
	status_text "$STATUS_WORD"
	[[ $SHOWN == *'member sda has no MEMBER line in the configuration; write this line: MEMBER=/dev/disk/by-id/wwn-A'* ]] ||
		fail "$SHOWN"
	[[ $SHOWN != *'ONLY GOOD COPY'* ]]
}

@test "another array that holds a leg, and shows its superblock, is named, with how to stop it" {
	disk md8 "$a" 100 1
	array md8
	echo 1.0 >"$R/sys/block/md8/md/metadata_version"
	echo 66666666-6666-6666-6666-666666666666 >"$R/sys/block/md8/md/uuid"
	member md8 sda in_sync 0
	observe
	decided refuse '/dev/disk/by-id/ata-A is in use by md8, which is not this array' \
		'stop that: mdadm --stop /dev/md8; then: ramraid start data'
}

@test "a stick that takes over a MEMBER name is refused, both are named, and a start works once it is gone" {
	# udev gave it the name of A, which is still there.
	disk sdx "$a" 300 1
	sed -i 's/view=.*/view=.A./' "$R/dev/sdx.sb"
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	observe
	decided refuse '/dev/sda (events 100) is no MEMBER' \
		'the device UUID of /dev/disk/by-id/ata-A (/dev/sdx, events 300)' 'zero-superblock'
	ln -sfn "$R/dev/sda" "$R/dev/disk/by-id/ata-A"
	# Beside them, with no name of theirs.
	observe
	decided refuse '/dev/sdx (events 300) is no MEMBER' \
		'the device UUID of /dev/disk/by-id/ata-A (/dev/sda, events 100)'
	are "clones=sdx:$a:300"
	# Plugged in as a new leg, with a UUID that nobody knows and more events; or as many.
	sed -i "s/device_uuid=.*/device_uuid=$x/" "$R/dev/sdx.sb"
	decided refuse 'it is no older than'
	sed -i s/events=.*/events=100/ "$R/dev/sdx.sb"
	decided refuse 'it is no older than'
	# The device that was the RAM leg, and that the configuration has no more: the disks were in
	# sync with it. It is none of theirs when it is ahead.
	echo "doubted=$x" >>"$W"
	observe
	decided 'assemble sda sdb'
	sed -i s/events=.*/events=102/ "$R/dev/sdx.sb"
	observe
	decided refuse 'it is no older than'
	sed -i s/events=.*/events=100/ "$R/dev/sdx.sb"
	sed -i /^doubted=/d "$W"
	observe
	F[forced]=1
	decided 'assemble sdb'
	F[forced]=''
	rm "$R/dev/sdx.sb"
	decided 'assemble sda sdb'
}

@test "a left-over superblock is only reported, unless the record says that its disk was in sync" {
	disk sdx "$x" 60 1
	observe
	decided 'assemble sda sdb'
	logged '/dev/sdx carries the array.*left alone.*mdadm --zero-superblock /dev/sdx'
	# While a start is refused, it may still be needed.
	sed -i s/events=100/events=70/ "$R/dev/sda.sb" "$R/dev/sdb.sb"
	observe
	decided refuse 'is at 70 events, but the array was at 100'
	logged '/dev/sdx carries the array.*left alone. Keep it until the array runs$'
	sed -i s/events=70/events=100/ "$R/dev/sda.sb" "$R/dev/sdb.sb"
	observe
	# Given up: with its old count it is nobody's.
	F[witness.given]=$x
	decided 'assemble sda sdb'
	# A leg of the last run under another name.
	F[witness.given]='' F[witness.legs]="$a $x"
	decided refuse 'it was in sync when the array last ran'
	F[witness.legs]="$a $b"
	# What something is stacked on, ramdisks, and another array's disk are no copies.
	mkdir "$R/sys/class/block/sdx/holders/dm-0"
	decided 'assemble sda sdb'
	not grep -q sdx "$BATS_TEST_TMPDIR/log"
	are clones=
	disk rd5 "$a" 300 1
	disk sdy "$a" 300 1
	sed -i 's/^uuid=.*/uuid=99999999-2222-3333-4444-555555555555/' "$R/dev/sdy.sb"
	decided 'assemble sda sdb'
}

@test "another path to a member's disk is no copy of it, unless it is on a bus that anybody can plug into" {
	disk sdx "$a" 100 1
	for i in sda sdx; do
		mkdir -p "$R/sys/class/block/$i/device"
		echo naa.5000 >"$R/sys/class/block/$i/device/wwid"
	done
	observe
	decided 'assemble sda sdb'
	echo 1 >"$R/sys/class/block/sdx/removable"
	HARDWARE_OF=()
	decided refuse '/dev/sdx'
}

@test "a second iSCSI target with a leg's world-wide name does not hide the leg; a second portal is a path to it" {
	whole
	bus sda platform/host1/session1/target1
	udev sda 8:0 ID_SERIAL=3600 ID_PATH=ip-10.0.0.1:3260-iscsi-iqn.good-lun-0
	cmd_witness_one data 2>/dev/null
	stopped
	disk sdx "$a" 300 1
	bus sdx platform/host2/session2/target2
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	for i in sda sdx; do
		mkdir -p "$R/sys/class/block/$i/device"
		echo naa.5000 >"$R/sys/class/block/$i/device/wwid"
	done
	udev sdx 8:16 ID_SERIAL=3600 ID_PATH=ip-10.6.6.6:3260-iscsi-iqn.evil-lun-0
	observe
	decided refuse '/dev/sda (events 100) is no MEMBER' 'one of the two is a copy'
	sed -i s/events=.*/events=100/ "$R/dev/sdx.sb"
	udev sdx 8:16 ID_SERIAL=3600 ID_PATH=ip-10.0.0.2:3260-iscsi-iqn.good-lun-0
	HARDWARE_OF=()
	observe
	[[ ${F[leg.0.moved]} == *10.0.0.2* ]] || fail "${F[leg.0.moved]}"
	decided 'assemble sdx sdb'
	# Nor are two ports of a controller two disks, whichever one the name leads to.
	sed -i "s/^$a .*/$a network pci-0000:01:00.0-fc-0x50-lun-0 3600/" "$H"
	udev sda 8:0 ID_SERIAL=3600 ID_PATH=pci-0000:01:00.0-fc-0x50-lun-0
	udev sdx 8:16 ID_SERIAL=3600 ID_PATH=pci-0000:01:00.1-fc-0x51-lun-0
	bus sda pci0/host1/rport-1:0-0/target1
	bus sdx pci0/host2/rport-2:0-0/target2
	observe
	[[ ${F[leg.0.moved]} == *fc-0x51* ]] || fail "${F[leg.0.moved]}"
	decided 'assemble sdx sdb'
}

# wide NAME NODE…: their world-wide name.
wide() {
	local node
	for node in "${@:2}"; do
		mkdir -p "$R/sys/class/block/$node/device"
		rm -f "$R/sys/class/block/$node/wwid"
		echo "$1" >"$R/sys/class/block/$node/device/wwid"
	done
}

@test "a world-wide name makes no second SATA, USB, virtio or FireWire disk a path to a leg, but a SAS disk" {
	local place
	printf '%s\n' "$a ata pci-1 SN1" "$b other - -" >"$H"
	disk sdx "$a" 100 1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	for place in ata%s/host0 usb%s/host0 virtio%s/host0 fw%s/host0; do
		# shellcheck disable=SC2059
		bus sda "pci0/$(printf "$place" 1)"
		# shellcheck disable=SC2059
		bus sdx "pci0/$(printf "$place" 2)"
		wide naa.5000 sda sdx
		observe
		decided refuse '/dev/sda (events 100) is no MEMBER'
		# The name of a leg that is where it was hides none either.
		rm "$H"
		observe
		decided refuse '/dev/sda (events 100) is no MEMBER'
		printf '%s\n' "$a ata pci-1 SN1" "$b other - -" >"$H"
	done
	# SAS; and the one on SAS, the other one not.
	bus sda pci0/host0/port-0:0/end_device-0:0
	bus sdx pci0/host1/port-1:0/end_device-1:0
	wide naa.5000 sda sdx
	observe
	decided 'assemble sdx sdb'
	bus sda pci0/ata1/host0
	wide naa.5000 sda
	observe
	decided refuse '/dev/sda (events 100) is no MEMBER'
}

@test "NVMe disks of one world-wide name are paths within one subsystem, and copies in two" {
	local base=$R/sys/class/nvme-subsystem
	printf '%s\n' "$a nvme pci-1 SN1" "$b other - -" >"$H"
	disk nvme0n1 "$a" 100 1
	disk nvme1n1 "$a" 100 1
	rm "$R/dev/sda.sb"
	ln -sfn "$R/dev/nvme1n1" "$R/dev/disk/by-id/ata-A"
	bus nvme0n1 pci0/0000:01:00.0/nvme/nvme0
	bus nvme1n1 pci0/0000:02:00.0/nvme/nvme1
	for i in 0 1; do
		echo eui.0025 >"$R/sys/class/block/nvme${i}n1/wwid"
		ln -s .. "$R/sys/class/block/nvme${i}n1/device"
	done
	mkdir -p "$base"/nvme-subsys{0,1}
	ln -s "$R/sys/devices/nvme0n1/pci0/0000:01:00.0/nvme/nvme0" "$base/nvme-subsys0/nvme0"
	ln -s "$R/sys/devices/nvme1n1/pci0/0000:02:00.0/nvme/nvme1" "$base/nvme-subsys1/nvme1"
	observe
	decided refuse '/dev/nvme0n1 (events 100) is no MEMBER'
	mv "$base/nvme-subsys1/nvme1" "$base/nvme-subsys0/nvme1"
	observe
	decided 'assemble nvme1n1 sdb'
}

@test "check finds devices that carry the array's UUID and are not its legs" {
	CHECK_ARRAY=data
	findings_is_root() { return 0; }
	disk sdx "$x" 60 1 disk/by-id/ata-X
	observe
	check_running_copies
	[[ $FINDINGS == 1 && ${FINDING[0.code]} == copy &&
		${FINDING[0.action]} == *'mdadm --zero-superblock /dev/sdx; if it is a leg: write MEMBER=/dev/disk/by-id/ata-X in'* ]] ||
		fail "$(declare -p FINDING)"
	findings_is_root() { return 1; }
	check_running_copies
	[[ $FINDINGS == 1 ]]
}

@test "a user's loop device does not block a start that the record vouches for; it is named, and never used" {
	local uuid
	printf '%s\n' "$a ata pci-1 SN1" "$b other - -" >"$H"
	for uuid in "$x" "$a"; do
		for events in 1 100 999999; do
			disk loop7 "$uuid" "$events" 1
			observe
			decided 'assemble sda sdb'
			are clones= "clones.loop=loop7:$uuid:$events"
			logged '/dev/loop7 carries the array.*losetup --list /dev/loop7'
		done
	done
	# A partition of an array on it, which has no slaves of its own, likewise.
	rm "$R/dev/loop7.sb"
	mkdir -p "$R"/sys/class/block/md9/slaves/loop7
	disk md9p1 "$a" 300 1
	mv "$R"/sys/class/block/{md9p1,md9}
	ln -s md9/md9p1 "$R/sys/class/block/md9p1"
	echo 1 >"$R/sys/class/block/md9p1/partition"
	observe
	decided 'assemble sda sdb'
	are clones= "clones.loop=md9p1:$a:300"
	rm "$R/dev/md9p1.sb"
	# An encrypted volume on it, and what a program makes up, too.
	disk dm-3 "$a" 300 1
	mkdir "$R/sys/class/block/dm-3/slaves"
	ln -s ../../loop7 "$R/sys/class/block/dm-3/slaves/loop7"
	disk ublkb0 "$x" 300 1
	observe
	decided 'assemble sda sdb'
	logged /dev/dm-3
	logged /dev/ublkb0
	rm "$R/dev/dm-3.sb" "$R/dev/ublkb0.sb"
	# A stick still does, also beside it; and so does the loop device where nothing vouches for
	# the legs, or a leg was on one.
	disk loop7 "$a" 300 1
	disk sdx "$a" 300 1
	observe
	decided refuse /dev/sdx
	rm "$R/dev/sdx.sb"
	printf '%s\n' "uuid=$ID" void=1 generation=6 "was=$a $b" >"$W"
	observe
	decided refuse '/dev/loop7 (events 300) is no MEMBER'
	printf '%s\n' "uuid=$ID" "legs=$a" events=100 ram_slot=0 generation=5 >"$W"
	observe
	decided 'assemble sda'
	printf '%s\n' "uuid=$ID" "legs=$x" events=100 ram_slot=0 generation=5 >"$W"
	observe
	decided refuse '/dev/loop7 (events 300) is no MEMBER'
	printf '%s\n' "uuid=$ID" "legs=$a $b" events=100 ram_slot=0 generation=5 >"$W"
	echo "$x loop - -" >>"$H"
	observe
	decided refuse '/dev/loop7 (events 300) is no MEMBER'
	rm "$H"
	observe
	decided refuse '/dev/loop7 (events 300) is no MEMBER'
}

@test "a user's loop device does not make a running array count as a copy; check names it, and offers no line" {
	printf '%s\n' "$a ata pci-1 SN1" "$b other - -" >"$H"
	array md9
	member md9 sda in_sync,write_mostly 1
	member md9 sdb in_sync,write_mostly 2
	disk loop7 "$a" 300 1
	observe
	all_disks_running
	are array.copy=
	CHECK_ARRAY=data
	findings_is_root() { return 0; }
	check_running_copies
	[[ $FINDINGS == 1 && ${FINDING[0.found]} == '/dev/loop7 (events 300)' ]] ||
		fail "$(declare -p FINDING)"
	rm "$R/dev/disk/by-id/ata-A"
	observe
	F[clones_known]=''
	all_disks_tell_moved 2>"$BATS_TEST_TMPDIR/log"
	not grep -q loop7 "$BATS_TEST_TMPDIR/log"
}

@test "of more lines of hardware than are kept the oldest is deleted, but never that of a leg of the record" {
	local i uuids=() old=cccccccc-0000-0000-0000-000000000001
	for ((i = 0; i < HARDWARE_MAX; i++)); do
		printf -v "uuids[i]" 'dddddddd-0000-0000-0000-%012d' $((HARDWARE_MAX - i))
	done
	((HARDWARE_MAX > WITNESS_SEEN))
	printf '%s ata - -\n' "$old" "$a" "${uuids[@]:2}" >"$H"
	printf '%s\n' "uuid=$ID" "legs=$old $b" events=100 ram_slot=0 generation=5 >"$W"
	observe
	hardware_note data "$b sdb" "$x sda"
	[[ $(wc -l <"$H") == "$HARDWARE_MAX" ]]
	grep -q "^$old " "$H" && grep -q "^$b other" "$H" && grep -q "^$x other" "$H"
	not grep -q "^$a " "$H"
	not grep -q "^${uuids[2]} " "$H"
	grep -q "^${uuids[3]} " "$H"
}

@test "two MEMBERs with one device UUID are refused, because one is a copy of the other" {
	disk sdb "$a" 100 1
	observe
	decided refuse 'have the same device UUID: one of them is a copy of the other' /dev/sda /dev/sdb
}

@test "each leg's hardware is recorded, a change is reported, and a loop or USB device is not taken for the leg" {
	whole
	bus sda pci0/ata1/host0
	echo 8:0 >"$R/sys/class/block/sda/dev"
	printf '%s\n' E:ID_BUS=ata E:ID_SERIAL=SN:1 E:ID_PATH=pci-0000:00:1f.2-ata-1 \
		>"$R/run/udev/data/b8:0"
	cmd_witness_one data 2>/dev/null
	[[ $(<"$H") == "$a ata pci-0000:00:1f.2-ata-1 SN:1"$'\n'"$b other - -" &&
		$(stat -c %a "$H") == 600 ]] ||
		fail "$(<"$H")"
	# Stopped; A comes from another place, B from where it was.
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/{sda,sdb,rd0}/holders/md127 \
		"$R/run/ramraid/data.ram"
	observe
	are leg.0.moved= leg.0.alien= leg.1.moved=
	decided 'assemble sda sdb'
	printf '%s\n' E:ID_SERIAL=SN:2 E:ID_PATH=pci-0000:00:1f.2-ata-2 >"$R/run/udev/data/b8:0"
	echo 9 >"$R/sys/class/block/sda/diskseq"
	observe
	are leg.0.moved="it was on ata (pci-0000:00:1f.2-ata-1), serial number SN:1, and is on ata \
(pci-0000:00:1f.2-ata-2), serial number SN:2" leg.0.alien=
	decided 'assemble sda sdb'
	logged 'ata-A: it was on ata'
	# In a USB box: the other one is enough, and it stays out.
	mv "$R/sys/devices/sda/pci0" "$R/sys/devices/sda/usb2"
	ln -sfn "$R/sys/devices/sda/usb2/ata1/host0/sda" "$R/sys/class/block/sda"
	echo 10 >"$R/sys/class/block/sda/diskseq"
	observe
	are leg.0.alien=usb
	decided 'assemble sdb'
	logged 'ata-A: it was on ata'
	F[array.state]=active F[array.md]=md127 F[leg.1.state]=in_sync F[leg.1.slot]=2
	not readd_may 0
	observe
	rm "$R/dev/disk/by-id/ata-B"
	observe
	decided refuse 'may be a copy: it was on ata' "rm $H; ramraid start data"
	F[forced]=0
	decided 'assemble sda'
	rm "$H"
	observe
	are leg.0.alien=
}

@test "on a bus that anybody can plug into, another serial number is another disk, but another port is not" {
	whole
	bus sda pci0/usb1
	udev sda 8:0 ID_SERIAL=Box_A ID_PATH=pci-0000:00:14.0-usb-0:1
	cmd_witness_one data 2>/dev/null
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/{sda,sdb,rd0}/holders/md127 \
		"$R/run/ramraid/data.ram"
	udev sda 8:0 ID_SERIAL=Box_A ID_PATH=pci-0000:00:14.0-usb-0:2
	bus sda pci0/usb1
	observe
	are leg.0.alien= leg.0.moved="it was on usb (pci-0000:00:14.0-usb-0:1), serial number \
Box_A, and is on usb (pci-0000:00:14.0-usb-0:2), serial number Box_A"
	udev sda 8:0 ID_SERIAL=Stick ID_PATH=pci-0000:00:14.0-usb-0:1
	bus sda pci0/usb1
	observe
	are leg.0.alien=usb
	decided 'assemble sdb'
}

@test "a disk behind a port that says that it is outside the machine is one that anybody can plug in" {
	whole
	bus sda pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0
	cmd_witness_one data 2>/dev/null
	[[ $(<"$H") == "$a other - -"* ]] || fail "$(<"$H")"
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/{sda,sdb,rd0}/holders/md127 \
		"$R/run/ramraid/data.ram"
	bus sda pci0000:00/0000:00:07.0/0000:2c:00.0/nvme/nvme0
	echo fixed >"$R/sys/devices/sda/pci0000:00/0000:00:07.0/removable"
	observe
	are leg.0.alien=
	echo removable >"$R/sys/devices/sda/pci0000:00/0000:00:07.0/removable"
	bus sda pci0000:00/0000:00:07.0/0000:2c:00.0/nvme/nvme0
	observe
	are leg.0.alien=removable leg.0.moved='it was on other, and is on removable'
	decided 'assemble sdb'
	# FireWire; and what comes over a network, when it did not before.
	bus sda pci0000:00/0000:00:05.0/fw1/fw1.0/host3
	observe
	are leg.0.alien=removable
	bus sda platform/host4/session2/target4
	observe
	are leg.0.alien=iscsi
	sed -i "s/^$a other/$a iscsi/" "$H"
	sed -i 's/ - -$/ - SN:1/' "$H"
	observe
	are leg.0.alien=
}

@test "NVMe with several paths is judged by all its controllers; FC, DRBD and rnbd count as network, ublk as loop" {
	local HARDWARE node one head=$R/sys/devices/virtual/nvme-subsystem/nvme-subsys1 i
	local port=$R/sys/devices/pci0000:00/0000:00
	mkdir -p "$head/nvme1n1"
	ln -s .. "$head/nvme1n1/device"
	ln -s "$head/nvme1n1" "$R/sys/class/block/nvme1n1"
	hardware_of nvme1n1
	[[ ${HARDWARE%% *} == removable ]] || fail "without a controller: $HARDWARE"
	for i in 1 2; do
		mkdir -p "$port:0$i.0/0000:0$i:00.0/nvme/nvme$i/nvme1c${i}n1"
		echo pcie >"$port:0$i.0/0000:0$i:00.0/nvme/nvme$i/transport"
		ln -s "$port:0$i.0/0000:0$i:00.0/nvme/nvme$i" "$head/nvme$i"
	done
	hardware_of nvme1n1
	[[ ${HARDWARE%% *} == nvme ]] || fail "$HARDWARE"
	echo removable >"$port:02.0/0000:02:00.0/removable"
	hardware_of nvme1n1
	[[ ${HARDWARE%% *} == removable ]] || fail "$HARDWARE"
	echo tcp >"$port:01.0/0000:01:00.0/nvme/nvme1/transport"
	echo fixed >"$port:02.0/0000:02:00.0/removable"
	hardware_of nvme1n1
	[[ ${HARDWARE%% *} == network ]] || fail "$HARDWARE"
	for one in sdz:pci0/host5/rport-5:0-0/target5:0:0/5:0:0:0/block/sdz:network \
		rnbd0:virtual/block/rnbd0:network drbd0:virtual/block/drbd0:network \
		ublkb0:virtual/block/ublkb0:loop \
		sdy:pci0/host6/port-6:0/end_device-6:0/sdy:other; do
		node=${one%%:*} i=${one#*:}
		mkdir -p "$R/sys/devices/${i%:*}"
		ln -s "$R/sys/devices/${i%:*}" "$R/sys/class/block/$node"
		hardware_of "$node"
		[[ ${HARDWARE%% *} == "${i##*:}" ]] || fail "$one: $HARDWARE"
	done
}

@test "a leg on DRBD is accepted where one was on DRBD before; elsewhere it counts as network" {
	disk drbd0 "$a" 100 1
	ln -sfn "$R/dev/drbd0" "$R/dev/disk/by-id/ata-A"
	rm "$R/dev/sda.sb"
	whole
	member md127 drbd0 in_sync,write_mostly 1
	rm -r "$R/sys/block/md127/md/dev-sda"
	cmd_witness_one data 2>/dev/null
	grep -qx "$a network - -" "$H" || fail "$(<"$H")"
	stopped
	rm -rf "$R/sys/class/block/drbd0/holders/md127"
	observe
	are leg.0.alien= leg.0.moved=
	decided 'assemble drbd0 sdb'
	sed -i "s/^$a .*/$a ata - -/" "$H"
	observe
	are leg.0.alien=network
}

@test "the bus of memory cards, soldered chips and network disks is recognised" {
	local node one HARDWARE
	for node in mmcblk0 mmcblk1 etherd!e0.0 msblk0 nbd0; do
		fake_disk "$node" 1048576
		mkdir -p "$R/sys/class/block/$node/device"
	done
	echo SD >"$R/sys/class/block/mmcblk0/device/type"
	echo MMC >"$R/sys/class/block/mmcblk1/device/type"
	for one in mmcblk0:removable mmcblk1:other 'etherd!e0.0:network' msblk0:removable \
		nbd0:network; do
		hardware_of "${one%:*}"
		[[ ${HARDWARE%% *} == "${one#*:}" ]] || fail "$one: $HARDWARE"
	done
}

@test "NVMe over fabrics counts as network, also with several paths; an older record of it as NVMe still matches" {
	local HARDWARE node
	for node in nvme0n1 nvme1n1 nvme2n1; do
		fake_disk "$node" 104857600
		mkdir -p "$R/sys/class/block/$node/device/nvme7"
	done
	echo pcie >"$R/sys/class/block/nvme0n1/device/transport"
	echo tcp >"$R/sys/class/block/nvme1n1/device/transport"
	echo rdma >"$R/sys/class/block/nvme2n1/device/nvme7/transport"
	for node in nvme0n1:nvme nvme1n1:network nvme2n1:network; do
		hardware_of "${node%:*}"
		[[ ${HARDWARE%% *} == "${node#*:}" ]] || fail "$node: $HARDWARE"
	done
	# In the place of a local disk it is a stranger.
	disk nvme1n1 "$a" 100 1
	ln -sfn "$R/dev/nvme1n1" "$R/dev/disk/by-id/ata-A"
	rm "$R/dev/sda.sb"
	udev nvme1n1 259:1 ID_SERIAL=Linux_77
	printf '%s\n' "$a nvme pci-0000:01:00.0-nvme-1 Disk_1" "$b other - -" >"$H"
	observe
	are leg.0.alien=network leg.0.moved="it was on nvme (pci-0000:01:00.0-nvme-1), serial number \
Disk_1, and is on network, serial number Linux_77"
	printf '%s\n' "$a nvme - Linux_77" "$b other - -" >"$H"
	observe
	are leg.0.alien= leg.0.moved=
	decided 'assemble nvme1n1 sdb'
	# A blank one gets no copy.
	rm "$R/dev/nvme1n1.sb"
	echo AUTO_REPLACE=yes >>"$R/etc/ramraid/data.conf"
	observe
	are leg.0.alien=network
}

@test "a blank stick under the name of a lost leg is not built in, even with AUTO_REPLACE; a disk like the others is" {
	whole
	echo AUTO_REPLACE=yes >>"$R/etc/ramraid/data.conf"
	cmd_witness_one data 2>/dev/null
	rm -r "$R/sys/block/md127/md/dev-sda" "$R/sys/class/block/sda/holders/md127" "$R/dev/sda.sb"
	echo 1 >"$R/sys/block/md127/md/degraded"
	conf_load data
	before_look_configured data
	before_look_times
	F[mend]=yes F[conf.auto_replace]=yes
	facts_observe
	are leg.0.alien= leg.0.sb=none
	F[ram.state]=in_sync F[array.degraded]=1
	decided 'add-leg 0' AUTO_REPLACE
	bus sda pci0/usb1
	facts_observe
	are leg.0.alien=usb leg.0.moved='no disk leg was ever on usb, and it is on usb'
	F[ram.state]=in_sync F[array.degraded]=1
	action_choose
	[[ $ACTION != add-leg ]] || fail "$WHY"
	# The array's disks are on USB.
	sed -i 's/ other / usb /' "$H"
	facts_observe
	are leg.0.alien=
	rm "$H"
	facts_observe
	are leg.0.alien=
}

# lost: A was in sync, and its disk is gone. stopped: so is the array.
lost() {
	whole
	cmd_witness_one data 2>/dev/null
	rm -r "$R/sys/block/md127/md/dev-sda" "$R/sys/class/block/sda" "$R"/dev/sda{,.sb} \
		"$R/dev/disk/by-id/ata-A"
	echo 1 >"$R/sys/block/md127/md/degraded"
	echo 3 >"$R/sys/block/md127/md/raid_disks"
}
stopped() {
	rm -rf "$R/sys/block/md127" "$R"/sys/class/block/*/holders/md127 "$R/run/ramraid/data.ram"
}

@test "a device UUID that nobody knows, on a bus that anybody can plug into, is not built in, put back or started from" {
	local new=bbbbbbbb-0000-0000-0000-000000000001 events
	lost
	for events in 1 5000; do
		disk loop3 "$new" "$events" 1
		ln -sfn "$R/dev/loop3" "$R/dev/disk/by-id/ata-A"
		observe
		F[mend]=yes
		are leg.0.alien=loop leg.0.moved='no disk leg was ever on loop, and it is on loop'
		decided 'done'
	done
	# Nor is the array started from it, when it is all that is there.
	stopped
	rm "$R/dev/disk/by-id/ata-B"
	observe
	decided refuse 'ata-A (/dev/loop3) may be a copy: no disk leg was ever on loop' \
		"rm $H; ramraid start data"
	F[forced]=0
	decided 'assemble loop3'
	# On a bus that nobody plugs something into, such a disk is one that a person has added; and
	# so it is where a leg is on a bus of that kind.
	disk sdx "$new" 200 1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	bus sdx pci0/ata1
	observe
	are leg.0.alien= leg.0.moved=
	bus sdx pci0/usb1
	observe
	are leg.0.alien=usb
	sed -i 's/ other / usb /' "$H"
	observe
	are leg.0.alien=
}

@test "a leg without a line of hardware is not doubted if the record knows it, it is rebuilt, or nothing was recorded" {
	local new=bbbbbbbb-0000-0000-0000-000000000001
	lost
	disk sdx "$a" 90 1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	bus sdx pci0/usb1
	observe
	are leg.0.alien=usb
	# The record knows it: as in sync when the array last ran, or long ago.
	sed -i "/^$a /d" "$H"
	observe
	are leg.0.alien= leg.0.moved=
	sed -i "s/ $a$//; s/=$a /=/; s/^seen=.*//" "$W"
	observe
	are leg.0.alien=usb
	# It is being rebuilt, by a person's word: written down with the record.
	disk sdx "$new" 90 1
	member md127 sdx spare 1
	echo recover >"$R/sys/block/md127/md/sync_action"
	cmd_witness_one data 2>/dev/null
	grep -qx "$new usb - -" "$H" || fail "$(<"$H")"
	rm -r "$R/sys/block/md127/md/dev-sdx" "$R/sys/class/block/sdx/holders/md127"
	observe
	are leg.0.alien= leg.0.moved=
	# An array that was never written down, as one that is about to be adopted.
	rm "$H"
	observe
	are leg.0.alien=
}

@test "a forged second copy makes no stick a leg, whether it has no life, another one, or that of the record" {
	local new=bbbbbbbb-0000-0000-0000-000000000001 own=cccccccc-0000-0000-0000-000000000001 life
	mkdir -p "$R/boot/ramraid"
	printf '%s\n' '22 1 8:1 / / rw - ext4 /dev/sda1 rw' \
		'23 22 8:2 / /boot rw - ext4 /dev/sdq1 rw' >"$R/proc/1/mountinfo"
	printf '%s\n' "$a ata pci-1 SN1" "$b ata pci-2 SN2" >"$H"
	echo "life=$own" >>"$W"
	disk sdx "$new" 900 1
	sed -i 's/view=.*/view=.A./' "$R/dev/sdx.sb"
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	bus sdx pci0/usb1
	for life in '' life=cccccccc-0000-0000-0000-00000000000f "life=$own"; do
		printf '%s\n' "uuid=$ID" "legs=$new" events=900 filled=1 ram_slot=0 generation=500 \
			"seen=$new" $life >"$R/boot/ramraid/$ID.witness"
		# A is there, and has lost its name.
		observe
		are leg.0.alien=usb
		decided refuse '/dev/sda (events 100) is no MEMBER'
		# A is away.
		mv "$R/dev/sda.sb" "$R/dev/sda.away"
		observe
		are leg.0.alien=usb
		F[clones]='' F[clones_known]='' F[waited]=999
		all_disks_decide 2>/dev/null
		[[ "$ACTION ${ARGUMENTS[*]}" != *sdx* ]] || fail "$life: $ACTION: $WHY"
		mv "$R/dev/sda.away" "$R/dev/sda.sb"
	done
}

@test "a stick that is no leg does not count as the one that is missing: a leg that nothing vouches for is refused" {
	disk sdb "$b" 60 2
	rm "$W" "$R/dev/sda.sb"
	printf '%s\n' "$a ata pci-1 SN1" "$b other - -" >"$H"
	rm "$R/dev/disk/by-id/ata-A"
	observe
	decided refuse 'nothing shows that /dev/disk/by-id/ata-B is up to date'
	disk sdx bbbbbbbb-0000-0000-0000-000000000001 50 1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	bus sdx pci0/usb1
	observe
	are leg.0.alien=usb
	decided refuse 'nothing shows that /dev/disk/by-id/ata-B is up to date'
}

@test "a stick with the device UUID of the device that is or was the RAM leg is no leg, even with an old record" {
	local was=aaaaaaaa-0000-0000-0000-000000000008 uuid node legacy
	whole
	rm "$R/run/ramraid/data.ram"
	rm -r "$R/sys/block/md127/md/dev-rd0"
	echo RAM=/dev/disk/by-id/nvme-X >>"$R/etc/ramraid/data.conf"
	fake_disk nvme0n1 104857600 disk/by-id/nvme-X
	echo 5 >"$R/sys/class/block/nvme0n1/diskseq"
	member md127 nvme0n1 in_sync 0
	for uuid in "$was" "$x"; do
		printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$uuid" events=100 role=0 view=AAA \
			recovery= >"$R/dev/nvme0n1.sb"
		WITNESS_UPDATE_WRITTEN='' cmd_witness_one data 2>/dev/null
	done
	rm -r "$R/sys/block/md127/md/dev-sda" "$R/sys/class/block/sda" "$R/dev/sda.sb"
	echo 1 >"$R/sys/block/md127/md/degraded"
	echo 3 >"$R/sys/block/md127/md/raid_disks"
	for legacy in no yes; do
		[[ $legacy == no ]] ||
			sed -i "/^doubted=/d; s/^seen=.*/seen=$was $a $b $x/" "$W"
		for uuid in "$was" "$x"; do
			disk sdx "$uuid" 100 1
			sed -i 's/view=.*/view=AAA/' "$R/dev/sdx.sb"
			ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
			bus sdx pci0/usb1
			observe
			F[mend]=yes
			are leg.0.alien=usb
			decided 'done'
			# As a spare, on a loop device, it is not rebuilt.
			disk loop7 "$uuid" 1 1
			sed -i 's/view=.*/view=AAA/; s/role=.*/role=spare/' "$R/dev/loop7.sb"
			ln -sfn "$R/dev/loop7" "$R/dev/disk/by-id/ata-A"
			observe
			F[mend]=yes
			are leg.0.alien=loop
			decided 'done'
			rm "$R/dev/loop7.sb"
		done
	done
}

@test "status and the report say why a leg on other hardware is left alone, not that it was used elsewhere" {
	lost
	disk loop3 bbbbbbbb-0000-0000-0000-000000000001 90 1
	ln -sfn "$R/dev/loop3" "$R/dev/disk/by-id/ata-A"
	observe
	legs_seen_look
	F[array.degraded]=1 ADVICE_BLIND=no
	advice_lost_leg 0
	[[ $ADVICE_ACTION == "/dev/disk/by-id/ata-A may be a copy: no disk leg was ever on loop, and \
it is on loop. If you have moved it there yourself: rm /etc/ramraid/state/data.hardware; ramraid \
attach data" ]] || fail "$ADVICE_ACTION"
	notify() { called "$@"; }
	transitions_say_refused_ data 0 separate
	[[ $(calls) == *'ata-A may be a copy: no disk leg was ever on loop'*"rm $H; ramraid attach data" ]] ||
		fail "$(calls)"
}

@test "if as many disk legs are in sync as there are MEMBERs, a disk with the name of one gets no free slot" {
	whole
	cmd_witness_one data 2>/dev/null
	rm -r "$R/sys/block/md127/md/dev-rd0" "$R/sys/class/block/rd0" "$R/run/ramraid/data.ram"
	echo 1 >"$R/sys/block/md127/md/degraded"
	echo 3 >"$R/sys/block/md127/md/raid_disks"
	disk sdx bbbbbbbb-0000-0000-0000-000000000001 100 0
	bus sdx pci0/ata1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	observe
	are leg.0.alien= array.unconfigured=sda
	F[mend]=yes
	decided make-ram
	# A blank one likewise, with a slot beside that of the RAM leg.
	echo 2 >"$R/sys/block/md127/md/degraded"
	echo AUTO_REPLACE=yes >>"$R/etc/ramraid/data.conf"
	rm "$R/dev/sdx.sb"
	observe
	F[mend]=yes F[conf.auto_replace]=yes F[ram.out]=person
	action_choose
	[[ $ACTION != add-leg ]] || fail "$WHY"
}

@test "ramraid restore: the image is written to a leg, and not to a stick that has taken over a leg's name" {
	whole
	cmd_witness_one data 2>/dev/null
	stopped
	printf '%s\n' "uuid=$ID" legs= events=110 ram_slot=0 generation=9 "left=$a $b" >"$W"
	printf '%s\n' "uuid=$ID" image=/var/lib/ramraid/data/rescue-110.x/image bytes=1048576 \
		"sha256=$(printf '%064d' 0)" events=110 >"$R/etc/ramraid/state/data.rescue"
	disk sdx "$a" 105 1
	bus sdx pci0/usb1
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/ata-A"
	NAME=data
	observe
	are leg.0.alien=usb
	restore_choose
	[[ "$ACTION ${ARGUMENTS[*]}" == 'assemble sdb' ]] || fail "$ACTION ${ARGUMENTS[*]}"
	# It is all that is there.
	rm "$R/dev/disk/by-id/ata-B"
	observe
	run restore_choose
	assert_failure 4
	assert_output -p "ata-A (/dev/sdx) may be a copy: it was on other, and is on usb. If it is \
not: rm $H; ramraid restore data"
	rm "$H"
	observe
	restore_choose
	[[ "$ACTION ${ARGUMENTS[*]}" == 'assemble sdx' ]] || fail "$ACTION ${ARGUMENTS[*]}"
}

@test "a stick under the name of the device that is the RAM leg is not made the RAM leg" {
	whole
	rm "$R/run/ramraid/data.ram"
	rm -r "$R/sys/block/md127/md/dev-rd0"
	echo RAM=/dev/disk/by-id/nvme-X >>"$R/etc/ramraid/data.conf"
	fake_disk nvme0n1 104857600 disk/by-id/nvme-X
	echo 5 >"$R/sys/class/block/nvme0n1/diskseq"
	printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$x" events=100 role=0 view=AAA recovery= \
		>"$R/dev/nvme0n1.sb"
	member md127 nvme0n1 in_sync 0
	WITNESS_UPDATE_WRITTEN='' cmd_witness_one data 2>/dev/null
	grep -qx 'ram=/dev/disk/by-id/nvme-X nvme - -' "$H" || fail "$(<"$H")"
	# Filled again it has another UUID, and one line still.
	sed -i "s/$x/aaaaaaaa-0000-0000-0000-000000000008/" "$R/dev/nvme0n1.sb"
	WITNESS_UPDATE_WRITTEN='' cmd_witness_one data 2>/dev/null
	[[ $(wc -l <"$H") == 3 ]] || fail "$(<"$H")"
	# It left; in its place, by its name, is a stick: blank, or with a superblock that could be
	# put back.
	rm -r "$R/sys/block/md127/md/dev-nvme0n1" "$R/sys/class/block/nvme0n1/holders/md127"
	echo 1 >"$R/sys/block/md127/md/degraded"
	observe
	are leg.ram.alien=
	rm "$R/dev/nvme0n1.sb"
	fake_disk sdx 104857600
	ln -sfn "$R/dev/sdx" "$R/dev/disk/by-id/nvme-X"
	bus sdx pci0/usb1
	observe
	are leg.ram.alien=usb ram.state=none
	decided 'done' "there is no RAM leg: /dev/disk/by-id/nvme-X (/dev/sdx) may be somebody \
else's: it was on nvme, and is on usb. If you have moved it there yourself: rm $H; ramraid attach \
data"
	printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$x" level=1 events=100 role=0 view=AAA \
		recovery= writemostly=no >"$R/dev/sdx.sb"
	observe
	are leg.ram.alien=usb
	decided 'done' "may be somebody else's"
	# Nor is the array started from it, whatever it says; --force-leg may.
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/{sda,sdb}/holders/md127
	printf '%s\n' "uuid=$ID" legs= events=120 ram_slot=0 generation=6 "left=$a $b" >"$W"
	sed -i 's/events=100/events=120/; s/view=AAA/view=A../' "$R/dev/sdx.sb"
	observe
	decided refuse 'the RAM leg was the only good copy'
	F[forced]=ram
	decided 'assemble sdx'
	# As its own it is judged.
	rm "$H"
	observe
	decided refuse '/dev/disk/by-id/nvme-X, the RAM leg (events 120), may hold writes'
}

@test "an array with a name of ours and another UUID is an impostor, but not one of another name or machine" {
	local other own
	# shellcheck source=lib/impostor
	source "$PROJECT/lib/impostor"
	echo vm >"$R/proc/sys/kernel/hostname"
	other=99999999:22223333:44445555:55555555
	own=11111111:22223333:44445555:55555555
	[[ $(impostor "$other" data any:data && echo taken) == taken ]]
	[[ $(impostor "$other" data vm:data && echo taken) == taken ]]
	[[ $(impostor "$other" data data && echo taken) == taken ]]
	# It came second: its own link has another name, which it keeps, and that by its full name
	# is still ours.
	[[ $(impostor "$other" data_0 vm:data && echo taken) == $'md/data_0\ntaken' ]]
	not impostor "$other" data_0 elsewhere:data
	not impostor "$other" elsewhere:data elsewhere:data
	not impostor "$other" music vm:music
	not impostor "$own" data any:data
	not impostor "$own" 127 vm:data
	not impostor '' data any:data
	not impostor "$other" '../data' 'any:x y'
	# A configuration that says nothing of it.
	sed -i 's/^UUID=.*/UUID=x/' "$R/etc/ramraid/data.conf"
	not impostor "$other" data any:data
}

@test "an array, or a partition, that would get the link of an array or a partition of ours is an impostor, too" {
	local other=99999999:22223333:44445555:55555555 own=11111111:22223333:44445555:55555555
	# shellcheck source=lib/impostor
	source "$PROJECT/lib/impostor"
	echo vm >"$R/proc/sys/kernel/hostname"
	# No partition was ever seen on ours: data1 is somebody's other array.
	not impostor "$other" data1 any:data1
	printf '%s\n' UUID=1234 PARTUUID=7a6f6e00-01 >"$R/etc/ramraid/state/data.contents"
	for name in data1 data12 datap1 data-part1; do
		impostor "$other" "$name" "any:$name" >/dev/null || fail "$name"
		[[ $(impostor "$other" x "vm:$name" && echo taken) == $'md/x\ntaken' ]] || fail "$name"
	done
	for name in data1p1 datax1 dat1 data-1 dataset data-partition; do
		not impostor "$other" "$name" "any:$name"
	done
	not impostor "$other" x elsewhere:data1
	not impostor "$own" data1 any:data1
	# The administrator's own, by mdadm.conf or by its configuration.
	mkdir -p "$R/etc/mdadm"
	echo "ARRAY /dev/md/data1 metadata=1.2 UUID=$other" >"$R/etc/mdadm/mdadm.conf"
	not impostor "$other" data1 any:data1
	impostor "$other" data2 any:data2
	rm -r "$R/etc/mdadm"
	sed s/^UUID=.*/UUID=99999999-2222-3333-4444-555555555555/ "$R/etc/ramraid/data.conf" \
		>"$R/etc/ramraid/data1.conf"
	chmod 644 "$R/etc/ramraid/data1.conf"
	not impostor "$other" data1 any:data1
	# Nor does a partition of one array of ours lose its names to another one.
	not impostor "$own" data any:data 1
	# Its partition has the link of ours.
	other=88888888:22223333:44445555:55555555
	mv "$R/etc/ramraid/data.conf" "$R/etc/ramraid/vault1p2.conf"
	impostor "$other" data any:data 1
	impostor "$other" vault1 any:vault1 2
	not impostor "$other" data any:data 2
	not impostor "$other" vault1 any:vault1 1
	not impostor "$other" data any:data
	not impostor "$other" data any:data x
}

@test "an impostor is known by the link that udev makes of its name" {
	local other=99999999:22223333:44445555:55555555 name
	# shellcheck source=lib/impostor
	source "$PROJECT/lib/impostor"
	mv "$R/etc/ramraid/data.conf" "$R/etc/ramraid/my_data.conf"
	for name in 'my$data' 'my;data' 'my data' ' my  data ' $'my\1data' $'my\xffdata'; do
		impostor "$other" "$name" "any:$name" >/dev/null || fail "$name"
		[[ $(impostor "$other" my_data_0 "any:$name" && echo taken) == $'md/my_data_0\ntaken' ]] ||
			fail "$name"
	done
	not impostor "$other" 'my  data1' 'any:my data1'
}

# detail LINE…: mdadm's answer about md127.
@test "when udev asks about an array, mdadm's first line of a key counts, and a judged array keeps its links" {
	local other=99999999:22223333:44445555:55555555
	# shellcheck source=lib/impostor
	source "$PROJECT/lib/impostor"
	detail() { SAYS=$(printf '%s\n' "MD_UUID=$other" "$@"); }
	timeout() { [[ $* == "20 mdadm --detail --no-devices --export $R/dev/md127" ]] &&
		printf '%s\n' "$SAYS"; }
	taken() { # LINKS
		run impostor_node "${2:-md127}"
		assert_success
		assert_output "$1"
	}
	mkdir -p "$R/sys/block/md127/md" "$R/sys/class/block/md127/md127p2"
	echo clean >"$R/sys/block/md127/md/array_state"
	echo 7 >"$R/sys/block/md127/diskseq"
	echo 2 >"$R/sys/class/block/md127/md127p2/partition"
	ln -s md127/md127p2 "$R/sys/class/block/md127p2"
	detail MD_DEVNAME=data MD_NAME=any:data
	taken "disk/by-id/md-uuid-$other "
	taken "disk/by-id/md-uuid-$other-part2 " md127p2
	detail MD_DEVNAME=data_0 MD_NAME=any:data
	taken "disk/by-id/md-uuid-$other md/data_0"
	# A later line of the same key is none of mdadm's; no name of a person's has such characters.
	detail MD_DEVNAME=music MD_NAME=any:data MD_NAME=any:music
	taken "disk/by-id/md-uuid-$other md/music"
	detail MD_DEVNAME=music $'MD_NAME=any:music\rMD_UUID=x'
	taken "disk/by-id/md-uuid-$other "
	detail MD_DEVNAME=music 'MD_NAME=any:x/../../../md/data'
	taken "disk/by-id/md-uuid-$other "
	# Another one: as long as it runs, its links are in use.
	detail MD_DEVNAME=music MD_NAME=any:music
	not impostor_node md127
	mv "$R/etc/ramraid/data.conf" "$R/etc/ramraid/music.conf"
	not impostor_node md127
	# Its owner writes another name on it.
	detail MD_DEVNAME=music MD_NAME=vm:music
	taken "disk/by-id/md-uuid-$other "
	detail MD_DEVNAME=music MD_NAME=any:music
	not impostor_node md127
	# In its next run it is judged again.
	echo 8 >"$R/sys/block/md127/diskseq"
	taken "disk/by-id/md-uuid-$other "
	# Nor is it judged when ramraid itself has started it, whatever its file says now.
	echo UUID=99999999-2222-3333-4444-555555555555 >"$R/run/ramraid/music.started"
	not impostor_node md127
	rm "$R/run/ramraid/music.started"
	taken "disk/by-id/md-uuid-$other "
	echo inactive >"$R/sys/block/md127/md/array_state"
	not impostor_node md127
	echo active >"$R/sys/block/md127/md/array_state"
	# Without mdadm's answer nothing is known, and nothing is taken away.
	SAYS=''
	not impostor_node md127
	# A kernel name with a blank.
	[[ -z $("$PROJECT/lib/impostor" md_x y) ]]
	"$PROJECT/lib/impostor" md_x y
}

@test "nothing of the environment that udev passes on from an impostor is run" {
	echo ': >"$BATS_TEST_TMPDIR/run"' >"$BATS_TEST_TMPDIR/env"
	env "BASH_ENV=$BATS_TEST_TMPDIR/env" 'BASH_FUNC_source%%=() { : >"$BATS_TEST_TMPDIR/run"; }' \
		'BASH_FUNC_need%%=() { : >"$BATS_TEST_TMPDIR/run"; }' LOADED=yes F=x CONF=y \
		"$PROJECT/lib/impostor" dm-3 md data
	[[ ! -e $BATS_TEST_TMPDIR/run ]]
}

@test "no program that root runs reads files that a BASH_SOURCE of the environment chooses" {
	local program evil=$BATS_TEST_TMPDIR/evil
	mkdir -p "$evil"/{core,lib/core,bin}
	echo ': >"$RAN"; exit 1' | tee "$evil"/core/{load,environment}.sh "$evil/lib/core/load.sh" \
		>"$evil/lib/core/environment.sh"
	export RAN=$BATS_TEST_TMPDIR/run
	for program in lib/impostor bin/ramraid units/ramraid-generator; do
		(
			unset RAMRAID_ROOT
			env "BASH_SOURCE=$evil/bin/x" "$PROJECT/$program" --help
			env "BASH_SOURCE=$evil/x" "$PROJECT/$program" --help
		) >/dev/null 2>&1 || :
		[[ ! -e $RAN ]] || fail "$program"
	done
	# It does what it does without the variable.
	env "BASH_SOURCE=$evil/x" "$PROJECT/lib/impostor" dm-3 md data
	not env "BASH_SOURCE=$evil/x" "$PROJECT/lib/impostor" dm-3 md music
	[[ $(env BASH_SOURCE=x "$PROJECT/bin/ramraid" --version) == "ramraid "* ]]
	# udev passes nothing on.
	[[ ! -e $PROJECT/udev ]] ||
		[[ $(grep -c '^PROGRAM=="/usr/bin/env -i /usr/lib/ramraid/impostor %k[" ]' \
			"$PROJECT/udev/65-ramraid.rules") == 2 &&
			$(grep -c 'PROGRAM\|IMPORT' "$PROJECT/udev/65-ramraid.rules") == 2 ]]
}

@test "an array is not left to md alone if md may start something else in its place" {
	local beside="is in the machine as well, with the UUID of the array, and the next boot may start \
the array from it instead"
	nothing() {
		observe
		run left_to_md_why_not
		assert_success
		assert_output ''
	}
	whole
	nothing
	# B has left, and was used alone since; a start has given it up.
	rm -r "$R/sys/block/md127/md/dev-sdb" "$R/sys/class/block/sdb/holders/md127"
	sed -i 's/events=100/events=300/; s/view=.AA/view=..A/' "$R/dev/sdb.sb"
	printf '%s\n' "uuid=$ID" "legs=$a" events=200 ram_slot=0 ram_number=0 generation=9 "given=$b" >"$W"
	observe
	[[ $(left_to_md_why_not) == "/dev/disk/by-id/ata-B (/dev/sdb) $beside. Take it out of the machine; or, if nothing on it is needed: mdadm --zero-superblock /dev/sdb" ]] ||
		fail "$(left_to_md_why_not)"
	# Nothing has given it up: it may have more than the array, and is not erased without a look.
	sed -i /^given=/d "$W"
	observe
	[[ $(left_to_md_why_not) == "/dev/disk/by-id/ata-B (/dev/sdb) $beside. /dev/disk/by-id/ata-B is at 300 events"*'Look at it (mdadm --examine'*'To give up what it has: mdadm'* ]] ||
		fail "$(left_to_md_why_not)"
	echo "given=$b" >>"$W"
	# One below a leg that is down.
	sed -i s,/dev/disk/by-id/ata-B,/dev/mapper/cached, "$R/etc/ramraid/data.conf"
	observe
	[[ $(left_to_md_why_not) == "/dev/sdb $beside. If it is the disk below /dev/mapper/cached, leave it alone"* ]] ||
		fail "$(left_to_md_why_not)"
	spares /dev/mapper/cached "$(left_to_md_why_not)"
	# One that no MEMBER names.
	sed -i /cached/d "$R/etc/ramraid/data.conf"
	observe
	[[ $(left_to_md_why_not) == "/dev/sdb $beside"* ]] || fail "$(left_to_md_why_not)"
	rm "$R/dev/sdb.sb"
	nothing
	# A disk that md runs with was given up.
	sed -i "s/given=.*/given=$a/" "$W"
	rm "$R/run/ramraid/data.watched"
	observe
	[[ $(left_to_md_why_not) == 'something else has started md127'* ]] || fail "$(left_to_md_why_not)"
	# A look that fails is none.
	all_disks_clones() { F[clones_known]=no; }
	not left_to_md_why_not
}

@test "a disk that mdadm reads otherwise than ramraid does is not given to mdadm" {
	local uuid=${ID//-/}
	mdadm() { [[ $*:${OF-} == "--examine $R/dev/sd"[ab]:* ]] && printf '%s\n' "$SAYS"; }
	refused() { # PATTERN
		run md_format_why data "$ID" sda sdb
		assert_output -p "$1"
	}
	SAYS="          Magic : a92b4efc
        Version : 1.2
     Array UUID : ${uuid:0:8}:${uuid:8:8}:${uuid:16:8}:${uuid:24:8}
   Raid Devices : 3"
	[[ -z $(md_format_why data "$ID" sda sdb) ]]
	# Killed, without a process, or too late.
	SAYS=''
	refused 'mdadm does not say what /dev/sda is'
	# The name of an array comes as it is in its superblock, in which anybody may have put a line
	# end.
	SAYS="        Version : 1.0
     Array UUID : 66666666:66666666:66666666:66666666
           Name : 
Version : 1.2
Array UUID : ${uuid:0:8}:${uuid:8:8}:${uuid:16:8}:${uuid:24:8}"
	refused '(metadata 1.0)'
	SAYS="        Version : 1.0
     Array UUID : ${uuid:0:8}:${uuid:8:8}:${uuid:16:8}:${uuid:24:8}"
	refused 'mdadm reads /dev/sda as a member of another array (metadata 1.0)'
	refused 'mdadm --zero-superblock --metadata=1.0 /dev/sda; ramraid start data'
	SAYS='        Version : 0.90.00
           UUID : 66666666:66666666:66666666:66666666 (local to host x)'
	refused '(metadata 0.90)'
	SAYS='        Version : 1.2
     Array UUID : 66666666:66666666:66666666:66666666'
	refused '(metadata 1.2); see: mdadm --examine /dev/sda'
	# That would delete the superblock of the leg itself.
	[[ $output != *--zero-superblock* ]]
}

@test "before a start, a link of the array's name that leads to another array is removed" {
	fake_disk md127 1048576
	mkdir -p "$R/dev/md"
	mdadm() { called "$* with $(ls "$R/dev/md")"; }
	md_modules() { :; }
	md_assemble data sda 2>"$BATS_TEST_TMPDIR/log"
	ln -s "$R/dev/md127" "$R/dev/md/data"
	ln -s "$R/dev/md127" "$R/dev/md/music"
	md_assemble data sda 2>"$BATS_TEST_TMPDIR/log"
	logged '/dev/md/data led to another array, /dev/md127'
	[[ $(calls) == $'--assemble --run /dev/md/data /dev/sda with \n--assemble --run /dev/md/data /dev/sda with music' ]] ||
		fail "$(calls)"
}

@test "a volume of a group called md that would get the link of an array of ours, or of a partition, is an impostor" {
	volume() { "$PROJECT/lib/impostor" dm-3 "$@"; }
	[[ -z $(volume md data) ]]
	volume md data
	not volume vg data
	not volume md music
	not volume md data1
	not volume md '../data'
	printf '%s\n' UUID=1234 PARTUUID=7a6f6e00-01 >"$R/etc/ramraid/state/data.contents"
	volume md data1
	volume md data-part1
	not volume md dataset
	not volume md
	not "$PROJECT/lib/impostor" sda md data
	# LVM makes no such name.
	volume md music x
}

@test "a volume that is an impostor keeps the links of its own names, and no other" {
	local rules=$PROJECT/udev/65-ramraid.rules
	[[ -e $rules ]] || skip 'of the tree'
	sed -n '/^KERNEL!="dm-/,/^LABEL="ramraid_volume/p' "$rules" >"$BATS_TEST_TMPDIR/rules"
	[[ $(grep -c 'GOTO="ramraid_volume"' "$BATS_TEST_TMPDIR/rules") == 7 ]]
	# The first takes all away that others have given it.
	[[ $(grep -o 'SYMLINK[+=]*"[^"]*"' "$BATS_TEST_TMPDIR/rules") == \
'SYMLINK="mapper/$env{DM_NAME}"
SYMLINK+="disk/by-id/dm-name-$env{DM_NAME}"
SYMLINK+="disk/by-id/dm-uuid-$env{DM_UUID}"
SYMLINK+="disk/by-uuid/$env{ID_FS_UUID_ENC}"' ]]
}

@test "before a start, a link of the array's name, or a partition's, that leads to a volume is removed" {
	fake_disk dm-3 1048576
	fake_disk md9 1048576
	mkdir -p "$R/dev/md"
	for link in data data1 data12 datap2 data-x data1x other1; do
		ln -s "$R/dev/dm-3" "$R/dev/md/$link"
	done
	# Somebody's own array beside it, one of ours, and a file.
	ln -s "$R/dev/md9" "$R/dev/md/data7"
	ln -s "$R/dev/dm-3" "$R/dev/md/data8"
	: >"$R/etc/ramraid/data8.conf"
	mdadm() { called "$(cd "$R/dev/md" && echo *)"; }
	md_modules() { :; }
	{ md_links_free_partitions data && md_assemble data sda; } 2>"$BATS_TEST_TMPDIR/log"
	[[ $(calls) == 'data-x data1x data7 data8 other1' ]] || fail "$(calls)"
	logged '/dev/md/data1 led to /dev/dm-3, which does not belong to the array'
	logged '/dev/md/data led to /dev/dm-3, which does not belong to the array'
}

@test "an array has its links only if none of a partition's name leads elsewhere" {
	fake_disk md127 1048576 md/data
	fake_disk dm-3 1048576
	md_has_link_ md127 data
	mkdir -p "$R/sys/class/block/md127/md127p1"
	: >"$R/dev/md127p1"
	# udev may still make it.
	md_has_link_ md127 data
	ln -s "$R/dev/dm-3" "$R/dev/md/data1"
	not md_has_link_ md127 data
	ln -sfn "$R/dev/md127p1" "$R/dev/md/data1"
	md_has_link_ md127 data
	ln -s "$R/dev/md127" "$R/dev/md/data9"
	md_has_link_ md127 data9
	ln -s "$R/dev/dm-3" "$R/dev/md/data9p1"
	not md_has_link_ md127 data9
}

@test "a device whose bus can't be found out is taken for one that anybody can plug in" {
	a_leg_on_usb 300
	observe
	are leg.0.alien=usb
	unset -v HARDWARE_OF
	declare -gA HARDWARE_OF=()
	sort() { return 137; } # or fork() fails in the subshell of "disk_physical | sort"
	observe
	are leg.0.alien=unknown
	[[ ${F[leg.0.moved]} == *'and is on an unknown bus'* ]] ||
		fail "${F[leg.0.moved]}"
	# It is looked up again, and never written down; what is known stays.
	((${#HARDWARE_OF[@]} == 0)) || fail "${!HARDWARE_OF[*]}"
	hardware_note data "$a sdb" "$x sdx"
	unset -f sort
	[[ $(sort "$H") == "$a ata pci-1 SN1"$'\n'"$b ata pci-2 SN2" ]] || fail "$(<"$H")"
}

@test "an array with a member on USB stays unknown even if that member answers md and not ramraid" {
	a_leg_on_usb 100
	array md9
	member md9 sdx in_sync,write_mostly 1
	member md9 sdb in_sync,write_mostly 2
	sleep() { :; }
	observe
	witness_update_foreign_start
	are array.known=no
	# The same stick, which answers nobody but md.
	printf '%s\n' sb=unreadable silent=yes >"$R/dev/sdx.sb"
	F[array.known]='' F[array.copy_known]=''
	observe
	witness_update_foreign_start
	are array.known=no
}
