#!/usr/bin/env bats
# Disks that exchange the kernel's names between the decision and what is done: a hub or a dock is
# reset at boot, while a start waits for another start that reads all disks, or for mdadm --examine.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	systemd_is_running() { return 1; }
	superblock_facts() { if [[ -e $1.sb ]]; then numbered <"$1.sb"; else echo sb=none; fi; }
	a=aaaaaaaa-0000-0000-0000-000000000001 b=aaaaaaaa-0000-0000-0000-000000000002
	W=$R/etc/ramraid/state/data.witness
	mkdir -p "$R"/etc/ramraid/state "$R"/run/{ramraid,udev/data} "$R/proc/sys/kernel"
	echo 6.12.1-amd64 >"$R/proc/sys/kernel/osrelease"
	echo '100.00 1' >"$R/proc/uptime"
	printf '%s\n' "UUID=$ID" RAM=none MEMBER=/dev/disk/by-id/usb-A MEMBER=/dev/disk/by-id/usb-B \
		MEMBER_TIMEOUT=0 WITNESS_COPY=none RESCUE=none >"$R/etc/ramraid/data.conf"
	chmod 644 "$R/etc/ramraid/data.conf"
	# B left at 50 events; A ran on to 100.
	disk sda "$a" 100 1 A. 1
	disk sdb "$b" 50 2 AA 2
	named A sda
	named B sdb
	printf '%s\n' "uuid=$ID" "legs=$a" events=100 filled=10 ram_slot= generation=5 "seen=$a $b" \
		doubted= >"$W"
	quantity_seconds() { printf '0\n0\n'; }
	sleep() { :; }
	md_modules() { :; }
	md_hold_begin() { :; }
	md_hold_end() { :; }
	md_wait_link() { :; }
	md_set_writemostly() { :; }
	contents_remember() { :; }
	md_make_writable() { echo clean >"$R/sys/block/md127/md/array_state"; }
	md_assemble() {
		local leg role md=$R/sys/block/md127/md
		called assemble "${@:2}"
		mkdir -p "$md"
		echo read-auto >"$md/array_state"
		echo "$ID" >"$md/uuid"
		echo 1.2 >"$md/metadata_version"
		echo idle >"$md/sync_action"
		echo raid1 >"$md/level"
		echo 2 >"$md/raid_disks"
		echo 1 >"$md/degraded"
		echo 77 >"$R/sys/block/md127/diskseq"
		for leg in "${@:2}"; do
			role=$(sed -n 's/^role=//p' "$R/dev/$leg.sb")
			mkdir -p "$md/dev-$leg" "$R/sys/class/block/$leg/holders/md127"
			echo in_sync,write_mostly >"$md/dev-$leg/state"
			echo "$role" >"$md/dev-$leg/slot"
		done
	}
	md_stop() { called stop && rm -rf "$R/sys/block/md127" "$R"/sys/class/block/sd?/holders/*; }
}
mdadm() { called mdadm "$@"; }
disk() { # NODE UUID EVENTS SLOT VIEW DISKSEQ
	fake_disk "$1" 104857600
	echo "$6" >"$R/sys/class/block/$1/diskseq"
	printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$2" level=1 raid_disks=2 size=100 \
		data_offset=8 data_size=100 "events=$3" time=5 "role=$(($4 - 1))" "view=$5" recovery= \
		dirty=no bitmap=yes writemostly=yes >"$R/dev/$1.sb"
}
named() { mkdir -p "$R/dev/disk/by-id" && ln -sfn "$R/dev/$2" "$R/dev/disk/by-id/usb-$1"; }


# A is sdb now, and B is sda; with new numbers.
exchange() {
	disk sda "$b" 50 2 AA 11
	disk sdb "$a" 100 1 A. 12
	named A sdb
	named B sda
}

starts() {
	(conf_load data && loop_run data) 2>"$BATS_TEST_TMPDIR/log" || fail "$(<"$BATS_TEST_TMPDIR/log")"
	grep -qx "legs=$a" "$W" || fail "$(cat "$BATS_TEST_TMPDIR/log" "$W")"
}

@test "the newest disk is started" {
	md_format_why() { :; }
	starts
	[[ $(calls) == 'assemble sda' ]] || fail "$(calls)"
}

@test "disks that have exchanged their names before mdadm gets them are looked at again, and the newest is started" {
	md_format_why() { [[ -e $R/exchanged ]] || { : >"$R/exchanged" && exchange; }; }
	starts
	[[ $(calls) == 'assemble sdb' ]] || fail "$(calls)"
	grep -q '/dev/sda is no longer the disk that it was a moment ago; looking again' "$BATS_TEST_TMPDIR/log"
}

@test "disks that exchange their names while mdadm runs: the array is stopped before md may write" {
	md_format_why() { :; }
	exchange_once() { [[ -e $R/exchanged ]] || { : >"$R/exchanged" && exchange; }; }
	eval "real_$(declare -f md_assemble)"
	md_assemble() {
		exchange_once
		real_md_assemble "$@"
	}
	starts
	[[ $(calls) == $'assemble sda\nstop\nassemble sdb' ]] || fail "$(calls)"
	grep -q '/dev/sda is no longer the disk that it was a moment ago; looking again' "$BATS_TEST_TMPDIR/log"
}

@test "a disk that has taken the name of another since the decision is not put back by the bitmap" {
	local change code
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[leg.1.state]='' F[leg.1.in]='' F[leg.1.sb]=ok F[leg.1.uuid]=$ID F[leg.1.node]=sdb \
		F[leg.1.device_uuid]=$b F[leg.1.dev]=/dev/disk/by-id/usb-B F[leg.1.events]=50
	witness_return() { :; }
	bits_own() { :; }
	md_readd() { called readd "$@"; }
	ACTION=readd ARGUMENTS=(1)
	disk_legs_readd 1 2>/dev/null
	[[ $(calls) == 'readd md127 sdb' ]] || fail "$(calls)"
	for change in "device_uuid=$a" "uuid=$a" events=51 sb=none; do
		disk sdb "$b" 50 2 AA 2
		sed -i "s/^${change%%=*}=.*/$change/" "$R/dev/sdb.sb"
		rm "$BATS_TEST_TMPDIR/calls"
		code=0
		disk_legs_readd 1 2>/dev/null || code=$?
		[[ $code == 85 ]] || fail "$change: $code"
		called nothing
		[[ $(calls) == nothing ]] || fail "$change: $(calls)"
		# It is no failure: the next look sees what is there now.
		loop_act_failed 85 2>/dev/null
		[[ ! -v F[failed.readd.1] ]] || fail "$change"
	done
	# But not for ever.
	LOOP_ACT_CHANGED=5 LOOP_ERROR='it is no longer'
	loop_act_failed 85 2>/dev/null
	[[ ${F[failed.readd.1]} == 'it is no longer' ]]
}

@test "a device that has taken the name of that of RAM= is neither wiped nor put back" {
	local action
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[leg.ram.dev]=/dev/disk/by-id/usb-B F[leg.ram.sb]=ok F[leg.ram.uuid]=$ID \
		F[leg.ram.device_uuid]=$b F[ram.node]=sdb F[leg.ram.events]=50
	bits_own() { :; }
	md_readd() { called readd "$@"; }
	md_zero() { called zero "$@"; }
	ramdisk_note_device() { :; }
	for action in wipe return; do "ram_leg_$action"; done
	[[ $(calls) == $'zero sdb\nreadd md127 sdb' ]] || fail "$(calls)"
	disk sdb "$a" 50 2 AA 2
	for action in wipe return; do not "ram_leg_$action"; done
	# Nor is the array started from it, when it was the only good copy.
	not disk_legs_are_same_ before sdb
	[[ $(calls) == $'zero sdb\nreadd md127 sdb' ]] || fail "$(calls)"
	# A blank one is filled by its name.
	copy_stop() { :; }
	ramdisk_is_blank() { :; }
	ramdisk_used() { :; }
	md_add() { called add "$@"; }
	ram_leg_add 2>/dev/null
	[[ $(calls) == *$'\nadd md127 sdb' ]] || fail "$(calls)"
	named B sda
	not ram_leg_add
	[[ $LOOP_ERROR == '/dev/disk/by-id/usb-B is no longer the disk that it was a moment ago' &&
		$(calls | grep -c add.md127) == 2 ]] || fail "$LOOP_ERROR" "$(calls)"
}
