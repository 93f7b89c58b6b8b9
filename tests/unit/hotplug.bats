#!/usr/bin/env bats
# Hot-plug: what the decision says when a disk has come or gone, what is reported of it, and when a
# worker is started.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	A=aaaaaaaa-0000-0000-0000-000000000001 B=aaaaaaaa-0000-0000-0000-000000000002
	M=$R/sys/block/md127/md
	mkdir -p "$R/run/ramraid"
	echo '5000.12 9000.00' >"$R/proc/uptime"
	LOG=$BATS_TEST_TMPDIR/log
	set +T
}

# slot_of DEVICE: as the fixture has them; a disk other than A and the ramdisk stands for B.
slot_of() {
	case $1 in
	*/rd0) echo 0 ;;
	*/sda) echo 1 ;;
	*) echo 2 ;;
	esac
}

# mending CHANGE…: the whole array of the fixture, changed, as the worker sees it. KEY=VALUE;
# I:gone, I:blank, I:spare, I:returned.
mending() {
	local change i degraded=0
	facts_read <"$FIXTURES/decide/whole-2.facts"
	facts_unnumbered
	F[mend]=yes F[retry]=no F[conf.auto_replace]=no F[array.gone]='' F[witness.seen]="$A $B"
	for change; do
		i=${change%%:*}
		case $change in
		[0-9]:gone)
			leg "$i" node= in= state= slot= writemostly= && degraded=$((degraded + 1))
			;;
		[0-9]:blank)
			leg "$i" in= state= slot= writemostly= sb=none && degraded=$((degraded + 1))
			;;
		[0-9]:spare)
			leg "$i" in= state= slot= writemostly= sb=ok role=spare uuid="$ID" \
				device_uuid="aaaaaaaa-0000-0000-0000-00000000000$((i + 1))" &&
				degraded=$((degraded + 1))
			;;
		[0-9]:returned)
			leg "$i" in= state= slot= writemostly= sb=ok role=$((i + 1)) view=AAA \
				events=90 uuid="$ID" &&
				degraded=$((degraded + 1))
			;;
		array.degraded=*) degraded=${change#*=} ;;
		*) F[${change%%=*}]=${change#*=} ;;
		esac
	done
	F[array.degraded]=$degraded
	facts_numbered
}
leg() {
	local i=$1 fact
	shift
	for fact; do F[leg.$i.${fact%%=*}]=${fact#*=}; done
}
decides() { # 'ACTION ARGUMENT…' CHANGE…
	local want=$1
	shift
	mending "$@"
	action_choose
	[[ "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" == "$want" ]] ||
		fail "expected $want, got $ACTION ${ARGUMENTS[*]-} ($WHY) with $*"
}

@test "a disk that has returned is put back, and one that is gone is not waited for" {
	decides 'readd 1' 1:returned
	decides 'done' 1:gone
	# md itself has given it up: a person has to look.
	decides 'done' leg.1.state=faulty array.degraded=1
}

@test "a blank disk is built in only with AUTO_REPLACE=yes, and never into the RAM leg's slot" {
	decides 'done' 1:blank
	decides 'add-leg 1' 1:blank conf.auto_replace=yes
	decides 'add-leg 0' 0:blank 1:blank conf.auto_replace=yes
	# By a bus that anybody can plug something into.
	decides 'done' 1:blank conf.auto_replace=yes leg.1.alien=usb
	decides 'done' 1:blank conf.auto_replace=yes array.degraded=0
	# A far2 has no slot for one.
	decides 'add-leg 1' 1:blank conf.auto_replace=yes conf.layout=far2 conf.ram=none \
		ram.state=none ram.node= ram.slot= array.level=raid10 leg.0.writemostly=
	# Without the RAM leg there are two free slots, one of them its own.
	decides 'add-leg 1' 1:blank conf.auto_replace=yes ram.state=none ram.node= ram.slot= \
		array.degraded=2
	decides 'make-ram' 1:blank conf.auto_replace=yes ram.state=none ram.node= ram.slot= \
		array.degraded=1
	decides 'make-ram' 1:blank conf.auto_replace=yes ram.state=none ram.node= ram.slot= \
		array.degraded=2 failed.add-leg.1=no
	# Not beside a RAM leg that is being rebuilt.
	decides 'wait-sync' 1:blank conf.auto_replace=yes ram.state=recovering array.degraded=2
	# A start by itself builds no disk.
	decides 'done' 1:blank conf.auto_replace=yes mend=no
}

@test "a spare that was lost while it was put back is rebuilt in full, if the witness knows it" {
	decides 'add-leg 1' 1:spare
	decides 'done' 1:spare "witness.seen=$A"
	decides 'done' 1:spare "witness.given=$B"
	decides 'done' 1:spare leg.1.uuid=99999999-2222-3333-4444-555555555555
}

@test "a member whose device is gone is removed by hot-plug or on request, but not the last good one" {
	decides 'remove-gone sdx' 1:gone array.gone=sdx
	decides 'remove-gone rd0' array.gone=rd0 ram.state=none ram.node= array.degraded=1
	decides 'remove-gone sdx' array.gone=sdx mend=no retry=yes
	decides 'done' 1:gone array.gone=sdx mend=no
	decides 'done' 1:gone array.gone=sdx failed.remove-gone.sdx=busy
	decides 'make-ram' 0:gone 1:gone array.gone=rd0 ram.state=none ram.node= array.degraded=3
}

@test "the RAM leg is rebuilt, unless a person has detached it, or it fails repeatedly" {
	declare -gA CONF=([AUTO_REPLACE]=no)
	mending ram.state=none ram.node= ram.slot= array.degraded=1 kernel.flaw=
	hotplug_facts
	action_choose
	[[ $ACTION == make-ram ]]
	: >"$R/run/ramraid/data.detached"
	hotplug_facts
	action_choose
	[[ $ACTION == 'done' && $WHY == *'taken out (ramraid detach)'* ]]
	rm "$R/run/ramraid/data.detached"
	ramdisk_failed data && ramdisk_failed data
	not ramdisk_failed data
	mending ram.state=none ram.node= ram.slot= array.degraded=1 kernel.flaw=
	hotplug_facts
	action_choose
	[[ $ACTION == 'done' && $WHY == *'failed 3 times within an hour'* ]] || fail "$ACTION $WHY"
	# An hour later, and after "attach".
	echo '8601.00 9000.00' >"$R/proc/uptime"
	ramdisk_may_try data
	ramdisk_failed data
	ramdisk_forgive data
	[[ ! -e $R/run/ramraid/data.failures ]]
	mending ram.state=none ram.node= ram.slot= array.degraded=1 'kernel.flaw=CVE'
	hotplug_facts
	action_choose
	[[ $ACTION == 'done' && $WHY == *CVE* ]]
}

@test "a ramdisk that fails repeatedly also ends the loop of a start" {
	declare -gA CONF=()
	md_drop() { :; }
	ramdisk_drop() { :; }
	mending ram.state=faulty
	ram_leg_drop && ram_leg_drop
	[[ -z ${F["failed.make-ram"]-} ]]
	ram_leg_drop
	[[ ${F["failed.make-ram"]} == *'3 times'* ]]
}

# The array of two disks on a fake sysfs, as the kernel shows it.
disks() {
	fake_disk sda 104857600 disk/by-id/ata-A
	fake_disk sdb 104857600 disk/by-id/ata-B
	echo 11 >"$R/sys/class/block/sda/diskseq"
	echo 12 >"$R/sys/class/block/sdb/diskseq"
	printf '%s\n' "UUID=$ID" HOTPLUG=yes MEMBER=/dev/disk/by-id/ata-A \
		MEMBER=/dev/disk/by-id/ata-B "$@" >"$R/etc/ramraid/data.conf"
	chmod 644 "$R/etc/ramraid/data.conf"
	mkdir -p "$M"
	echo clean >"$M/array_state"
	echo "$ID" >"$M/uuid"
	echo idle >"$M/sync_action"
	echo none >"$M/resync_start"
	echo 51200 >"$M/component_size"
	echo "${DEGRADED-0}" >"$M/degraded"
	member sda in_sync,write_mostly 1
	member sdb in_sync,write_mostly 2
	fake_disk rd0 104857600
	member rd0 in_sync 0
	mkdir -p "$R/sys/block/rd0"
	echo 7 >"$R/sys/block/rd0/diskseq"
	echo 'rapiddisk rd0 104857600 7 used' >"$R/run/ramraid/data.ram"
	mkdir -p "$R/proc/sys/kernel" && echo 6.12.57 >"$R/proc/sys/kernel/osrelease"
}
member() {
	mkdir -p "$M/dev-$1" "$R/sys/class/block/$1/holders/md127"
	echo "$2" >"$M/dev-$1/state"
	echo "$3" >"$M/dev-$1/slot"
	echo 2048 >"$M/dev-$1/offset"
}
pulled() { # NODE: by the kernel, and md has released it
	rm -rf "${M:?}/dev-$1" "$R/sys/class/block/$1" "${R:?}/dev/$1"
	find "$R/dev/disk" -xtype l -delete
	echo 1 >"$M/degraded"
}
look() { cmd_hotplug 2>"$LOG" || fail "$(<"$LOG")"; }
says() { grep -qE -- "$1" "$LOG" || fail "not said: $1" "$(<"$LOG")"; }
silent() { [[ ! -s $LOG ]] || fail "$(<"$LOG")"; }
started() { calls | grep -c 'start --no-block ramraid-mend@data.service' || :; }
systemctl() {
	called systemctl "$@"
	[[ $* != *ActiveState* ]] || echo "${STATE_NOW-active}"
}

@test "a look at a whole array lowers the flag, and says and does nothing" {
	disks
	: >"$R/run/ramraid/event"
	look
	[[ ! -e $R/run/ramraid/event && $(started) == 0 ]]
	silent
}

@test "a disk that is lost and returns under another name is reported each time, and starts a worker" {
	disks
	look
	pulled sdb
	look
	says 'disk leg /dev/disk/by-id/ata-B is gone'
	[[ $(started) == 0 ]]
	look
	silent
	fake_disk sdc 104857600 disk/by-id/ata-B
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=AAA events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" |
			numbered
	}
	look
	says 'ata-B is back'
	[[ $(started) == 1 ]]
	# The worker has tried, in vain: not again with the same disk, but with another one.
	conf_load data && before_look_configured data && facts_observe && hotplug_tried data
	look
	[[ $(started) == 1 ]]
	echo 99 >"$R/sys/class/block/sdc/diskseq"
	look
	[[ $(started) == 2 ]]
}

@test "a member without a slot while md is idle starts the worker, once for the same disks" {
	disks
	member rd0 spare none
	look
	[[ $(started) == 1 ]]
	conf_load data && before_look_configured data && facts_observe && hotplug_tried data
	look
	[[ $(started) == 1 ]]
	# It is being rebuilt.
	rm "$R/run/ramraid/data.tried"
	echo recover >"$M/sync_action"
	look
	[[ $(started) == 1 ]]
	echo idle >"$M/sync_action"
	member rd0 in_sync 0
	member sdb spare,write_mostly none
	look
	[[ $(started) == 2 ]]
}

@test "a RAM leg that has left is not said to be rebuilt if that has been tried in vain" {
	disks
	look
	rm -r "$M/dev-rd0" "$R/run/ramraid/data.ram"
	conf_load data && before_look_configured data && facts_observe && hotplug_tried data
	look
	says 'the RAM leg has failed, .*; to rebuild it: ramraid attach data'
	[[ $(started) == 0 ]]
}

@test "a disk that returns during the worker's last look counts as not tried" {
	disks
	look
	pulled sdb
	look
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=AAA events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" |
			numbered
	}
	array_lock() { exec {ARRAY_LOCK}>/dev/null; }
	disk_legs_readd() { called readd "$@"; }
	# The end of the loop looks again, for who asks since when it is whole.
	whole_since_look() {
		fake_disk sdc 104857600 disk/by-id/ata-B
		facts_observe
	}
	cmd_mend data 2>"$LOG" || fail "$(<"$LOG")"
	says 'ata-B is back'
	[[ $(calls) != *readd* ]]
	look
	[[ $(started) == 1 ]]
}

@test "mending an array that md has stopped writing to fails, and says what to do" {
	local code=0
	disks
	look
	echo broken >"$M/array_state"
	echo faulty,write_mostly >"$M/dev-sda/state"
	echo faulty,write_mostly >"$M/dev-sdb/state"
	superblock_facts() { echo sb=none; }
	array_lock() { exec {ARRAY_LOCK}>/dev/null; }
	cmd_mend data 2>"$LOG" || code=$?
	says 'md has stopped writing to md127'
	[[ $code == 4 ]] || fail "$code"
}

@test "a disk that was taken out by hand stays out until it is plugged in again" {
	disks
	look
	rm -rf "$M/dev-sdb" "$R/sys/class/block/sdb/holders/md127"
	echo 1 >"$M/degraded"
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=AAA events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" |
			numbered
	}
	look
	says 'has been taken out by hand; the next start puts it back. To put it back now: ramraid attach data'
	[[ $(started) == 0 ]]
	echo 13 >"$R/sys/class/block/sdb/diskseq"
	look
	says 'is back'
	[[ $(started) == 1 ]]
}

@test "a disk that can't be put back is reported, with what to type" {
	disks
	look
	pulled sdb
	look
	fake_disk sdc 104857600 disk/by-id/ata-B
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=A.A events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" |
			numbered
	}
	look
	says "used without the others.*mdadm --zero-superblock /dev/disk/by-id/ata-B; ramraid \
apply data"
	superblock_facts() {
		printf '%s\n' sb=ok uuid=99999999-2222-3333-4444-555555555555 \
			"role=$(slot_of "$1")" view=AAA events=90 |
			numbered
	}
	look
	says 'belongs to another array \(99999999'
	wipefs() { echo ext4; }
	superblock_facts() { echo sb=none; }
	look
	says 'not added: signature: it holds ext4'
	wipefs() { :; }
	look
	says 'a blank disk.*AUTO_REPLACE=no.*To add it: ramraid apply data'
	superblock_facts() {
		printf '%s\n' sb=ok uuid=99999999-2222-3333-4444-555555555555 \
			"role=$(slot_of "$1")" view=AAA events=90 |
			numbered
	}
	look
	superblock_facts() { echo sb=none; }
	mkdir -p "$R/sys/class/block/sdc/queue"
	echo 4096 >"$R/sys/class/block/sdc/queue/logical_block_size"
	look
	says "the disk at /dev/disk/by-id/ata-B is not added: its blocks of 4096 bytes are larger \
than those of md127 \(512\)"
	superblock_facts() { echo sb=corrupt; }
	look
	says 'its superblock is corrupt'
	[[ $(started) == 0 ]]
}

@test "an array that runs while its unit is stopped is left alone" {
	disks
	look
	pulled rd0
	STATE_NOW=inactive
	look
	[[ $(started) == 0 ]]
	STATE_NOW=active
	look
	[[ $(started) == 1 ]]
}

@test "a blank disk with AUTO_REPLACE=yes starts the worker" {
	disks AUTO_REPLACE=yes
	look
	pulled sdb
	look
	fake_disk sdc 104857600 disk/by-id/ata-B
	wipefs() { :; }
	superblock_facts() { echo sb=none; }
	look
	says 'there is a blank disk at'
	[[ $(started) == 1 ]]
}

@test "a blank disk on a bus that anybody can plug something into is not added, and a message says so" {
	disks AUTO_REPLACE=yes
	look
	mkdir -p "$R/etc/ramraid/state"
	echo 'aaaaaaaa-0000-0000-0000-000000000001 ata - -' >"$R/etc/ramraid/state/data.hardware"
	pulled sdb
	look
	fake_disk sdc 104857600 disk/by-id/ata-B
	mkdir -p "$R/sys/devices/usb1"
	mv "$R/sys/class/block/sdc" "$R/sys/devices/usb1/sdc"
	ln -s "$R/sys/devices/usb1/sdc" "$R/sys/class/block/sdc"
	wipefs() { :; }
	superblock_facts() { echo sb=none; }
	look
	says "it is not added automatically, since it may be somebody else.s: no disk leg was ever \
on usb, and it is on usb. To add it: ramraid apply --force data"
}

@test "no worker starts with HOTPLUG=no, while another verb has the lock, or with a broken configuration" {
	disks
	look
	pulled rd0
	sed -i s/HOTPLUG=yes/HOTPLUG=no/ "$R/etc/ramraid/data.conf"
	look
	[[ $(started) == 0 ]]
	sed -i s/HOTPLUG=no/HOTPLUG=yes/ "$R/etc/ramraid/data.conf"
	paths_run
	exec {held}>"$R/run/ramraid/.locks/work.data"
	flock "$held"
	look
	[[ $(started) == 0 ]]
	exec {held}>&-
	echo nonsense >>"$R/etc/ramraid/data.conf"
	look
	[[ $(started) == 0 ]]
	sed -i /nonsense/d "$R/etc/ramraid/data.conf"
	look
	[[ $(started) == 1 ]]
}

@test "a ramdisk that was destroyed is not the RAM leg, and its member is to be removed" {
	disks
	rm -rf "$R/sys/class/block/rd0" "$R/sys/block/rd0" "$R/dev/rd0"
	conf_load data && before_look_configured data && facts_observe
	[[ ${F[array.gone]} == rd0 && ${F[ram.state]} == none && -z ${F[array.strangers]} ]] ||
		fail "${F[array.gone]} ${F[ram.state]}"
	look
	[[ $(started) == 1 ]]
}

@test "a member whose device is gone is removed through sysfs" {
	disks
	DRY_RUN=yes
	run md_remove_gone md127 sdb
	[[ $output == *"echo faulty > $M/dev-sdb/state"* ]] || fail "$output"
	DRY_RUN=''
	# md releases it at the second try.
	act_write() {
		called "$2" "${1#"$M/"}"
		case $(calls | wc -l):$2 in
		1:faulty) echo faulty,write_mostly >"$1" ;;
		3:remove) rm -r "$M/dev-sdb" ;;
		*) return 1 ;;
		esac
	}
	sleep() { :; }
	md_remove_gone md127 sdb
	[[ $(calls) == $'faulty dev-sdb/state\nremove dev-sdb/state\nremove dev-sdb/state' ]] ||
		fail "$(calls)"
	# Of a member that has failed already, md only has to be told that it goes.
	rm "$BATS_TEST_TMPDIR/calls"
	member sdb faulty,write_mostly none
	act_write() { called "$2" "${1#"$M/"}" && rm -r "$M/dev-sdb"; }
	md_remove_gone md127 sdb
	[[ $(calls) == 'remove dev-sdb/state' ]] || fail "$(calls)"
}

@test "the disks of an array that is stopped, and was not refused, are not read" {
	reads() { # YES-OR-NO
		local read=no
		rm -f "$BATS_TEST_TMPDIR/calls"
		look
		[[ $(calls) != *'read '* ]] || read=yes
		[[ $read == "$1" ]] || fail "$(calls)"
	}
	disks
	superblock_facts() {
		called read "$1"
		echo sb=none
	}
	rm -r "$R/sys/block/md127/md/"dev-* "$R"/sys/class/block/*/holders/md127
	# Others run; of one the kernel does not say which it is.
	for uuid in '' 00000000-0000-0000-0000-000000000000; do
		echo "$uuid" >"$M/uuid"
		reads yes
	done
	echo 99999999-2222-3333-4444-555555555555 >"$M/uuid"
	reads no
	: >"$R/run/ramraid/data.refused"
	reads yes
}

@test "a refused start is tried again when a missing disk appears, and only then" {
	disks
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/*/holders/md127
	STATE_NOW=failed
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=.AA events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" dirty=no |
			numbered
	}
	# It failed, but not for want of a disk; or the one that was missing has not come.
	look
	refuse B
	come B
	rm "$R/run/ramraid/data.refused"
	look
	not grep -q 'start --no-block' "$BATS_TEST_TMPDIR/calls"
	refuse B
	look
	not grep -q 'start --no-block' "$BATS_TEST_TMPDIR/calls"
	come B
	: >"$R/run/ramraid/event"
	look
	says 'now it can'
	calls | grep -q 'start --no-block ramraid@data.service' || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	# Once: if that fails, it is for another reason.
	look
	refuse B
	come B
	look
	not grep -q 'start --no-block' "$BATS_TEST_TMPDIR/calls"
	# Another disk, or the same plugged in again.
	echo 77 >"$R/sys/class/block/sdb/diskseq"
	STATE_NOW=inactive
	look
	not grep -q 'start --no-block' "$BATS_TEST_TMPDIR/calls"
	STATE_NOW=failed
	look
	grep -q 'start --no-block' "$BATS_TEST_TMPDIR/calls"
}
# refuse LEG: the start is refused while it is away; come LEG: and it is there again.
refuse() {
	mv "$R/dev/disk/by-id/ata-$1" "$BATS_TEST_TMPDIR"
	looked
	hotplug_refused data
}
come() { mv "$BATS_TEST_TMPDIR/ata-$1" "$R/dev/disk/by-id"; }
looked() { conf_load data && before_look_configured data && facts_observe; }

@test "a refused start is not tried again for a disk that can't be read, but for one that now can" {
	disks
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/*/holders/md127
	STATE_NOW=failed
	local unreadable=yes i
	superblock_facts() {
		[[ $1 != */sdb || -z $unreadable ]] || { echo sb=unreadable && return; }
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=.A. events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" dirty=no |
			numbered
	}
	witness_write data "$ID" '' 90 0 '' '' '' "$A" 2>/dev/null
	looked
	action_choose
	[[ $ACTION == assemble ]] || fail "$ACTION $WHY"
	# mdadm fails: refused.
	hotplug_refused data
	for i in 1 2 3; do look; done
	not grep -q 'start --no-block' "$BATS_TEST_TMPDIR/calls"
	[[ ! -e $LOG ]] || not grep -q 'now it can' "$LOG" || fail "$(<"$LOG")"
	unreadable=''
	look
	grep -q 'start --no-block' "$BATS_TEST_TMPDIR/calls" || fail "$(calls)"
}

@test "hot-plug starts a refused array again only a limited number of times" {
	declare -gA F=([name]=data [members]=1 [leg.0.dev]=/dev/disk/by-id/ata-A [leg.0.node]='')
	local i
	hotplug_refused data
	for ((i = 0; i < HOTPLUG_RESTARTS; i++)); do
		F[leg.0.node]=sda F[leg.0.events]=$i
		hotplug_has_changed data || fail "$i"
		hotplug_note_restart data
		F[leg.0.node]=''
		hotplug_refused data
	done
	F[leg.0.node]=sda F[leg.0.events]=$i
	not hotplug_has_changed data
	# One that was refused with all disks there is a person's.
	rm "$R/run/ramraid/data.refused"
	F[leg.0.in]='' F[leg.0.sb]=ok
	hotplug_refused data
	[[ ! -e $R/run/ramraid/data.refused ]]
}

@test "a disk that keeps leaving and returning is left alone in the end, and that is reported" {
	local i
	disks
	look
	pulled sdb
	look
	fake_disk sdc 104857600 disk/by-id/ata-B
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=AAA events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" |
			numbered
	}
	echo '5000.11 1.0' >"$R/proc/uptime"
	for i in 100 1401 1500 4000 4800; do
		echo "$i /dev/disk/by-id/ata-B"
	done >"$R/run/ramraid/data.returns"
	look
	says 'ata-B is back$'
	[[ $(started) == 1 ]]
	conf_load data && before_look_configured data && facts_observe && hotplug_facts
	F[leg.1.node]=sdc
	legs_seen_note_return 1
	[[ $(tail -n 1 "$R/run/ramraid/data.returns") == '5000 /dev/disk/by-id/ata-B' ]]
	echo 99 >"$R/sys/class/block/sdc/diskseq"
	look
	says "ata-B has come back 5 times within an hour, so ramraid no longer puts it back.*ramraid \
attach data"
	[[ $(started) == 1 ]]
	hotplug_reset_backoff data
	look
	[[ $(started) == 2 ]]
}

@test "status says what events say of a disk that was taken out, or that keeps leaving" {
	local ADVICE_ACTION
	disks
	look
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$ID" "role=$(slot_of "$1")" view=AAA events=90 \
			"device_uuid=$([[ $1 == */sda ]] && echo "$A" || echo "$B")" |
			numbered
	}
	rm -rf "$M/dev-sdb" "$R/sys/class/block/sdb/holders/md127"
	status_says() {
		summary_array data
		summary_detail
		advice "$STATUS_WORD"
		[[ $STATUS_WORD == degraded && $ADVICE_ACTION == *"$1"* ]] ||
			fail "$STATUS_WORD: $ADVICE_ACTION"
	}
	echo 1 >"$M/degraded"
	status_says 'ata-B has been taken out by hand, and the next start puts it back'
	rm "$R/run/ramraid/data.members"
	status_says 'if ramraid does not put it back'
	for i in 4000 4100 4200 4300 4400; do
		echo "$i /dev/disk/by-id/ata-B"
	done >"$R/run/ramraid/data.returns"
	status_says 'ata-B has come back 5 times within an hour, so ramraid no longer puts it back'
	facts_observe
	hotplug_facts
	[[ ${F[veto.readd.1]} == *'5 times within an hour' ]]
	# But it is, while no disk has all.
	echo faulty,write_mostly >"$M/dev-sda/state"
	facts_observe
	hotplug_facts
	leg_classify 1
	[[ -z ${F[veto.readd.1]-} && -z ${F[veto.add-leg.1]-} && $LEG != bouncing ]] ||
		fail "$LEG ${F[veto.readd.1]-}"
}

@test "during a repair, a disk taken out by hand stays out, and a failure is forgotten when its disk goes" {
	disks
	look
	conf_load data && before_look_configured data && facts_observe && hotplug_facts
	F[failed.readd.1]=x F[failed.readd.0]=x F[failed.write-mostly.1]=x \
		F[failed.write-mostly.0]=x
	rm -rf "$M/dev-sdb" "$R/sys/class/block/sdb/holders/md127"
	facts_observe
	hotplug_look
	[[ ${F[leg.1.removed]} == yes && ${F[failed.readd.1]} == x ]]
	# It was just leaving when it was to be marked.
	[[ ! -v F[failed.write-mostly.1] && ${F[failed.write-mostly.0]} == x ]]
	pulled sdb
	facts_observe
	hotplug_look
	[[ -z ${F[leg.1.removed]} && ! -v F[failed.readd.1] && ${F[failed.readd.0]} == x ]]
}

@test "with AUTO_REPLACE=yes, a blank disk that another array is configured with is not taken" {
	disks
	look
	conf_load data && before_look_configured data && facts_observe
	CONF[AUTO_REPLACE]=yes CONF[HOTPLUG]=yes
	hotplug_facts
	F[leg.1.sb]=none F[leg.1.in]='' F[leg.1.state]=''
	hotplug_look
	[[ ! -v F[veto.add-leg.1] ]] || fail "${F[veto.add-leg.1]}"
	printf 'UUID=5555\nMEMBER=/dev/disk/by-id/ata-B\nRAM=auto\n' >"$R/etc/ramraid/db.conf"
	hotplug_look
	[[ ${F[veto.add-leg.1]} == *'ata-B is a disk leg of the array db, whose configuration has '* ]] ||
		fail "${F[veto.add-leg.1]-}"
	CONF[AUTO_REPLACE]=no
	hotplug_facts
	F[leg.1.sb]=none
	hotplug_look
	[[ ! -v F[veto.add-leg.1] ]]
}

@test "a blank disk is checked once more before it is added" {
	declare -gA CONF=()
	disks
	mending 1:blank
	F[leg.1.node]=sdb F[leg.1.dev]=/dev/disk/by-id/ata-B
	md_add() { called md_add "$@"; }
	md_zero() { called md_zero "$@"; }
	rm -r "$R/sys/class/block/sdb/holders/md127"
	wipefs() { echo ext4; }
	not disk_legs_add_leg 1
	[[ $LOOP_ERROR == *'is not added: signature: it holds ext4' ]] || fail "$LOOP_ERROR"
	wipefs() { :; }
	echo 2048 >"$R/sys/class/block/sdb/size"
	not disk_legs_add_leg 1
	[[ $LOOP_ERROR == *'has 1048576 bytes, and a leg of md127 needs 53477376' ]] ||
		fail "$LOOP_ERROR"
	echo 204800 >"$R/sys/class/block/sdb/size"
	# What make_child() in bash's jobs.c does in a subshell whose fork() has failed.
	real=$(declare -f disk_why_not_free)
	disk_why_not_free() { exit 254; }
	not disk_legs_add_leg 1
	[[ $LOOP_ERROR == *'is not added: the check itself failed' && -z $(calls) ]] ||
		fail "$LOOP_ERROR: $(calls)"
	eval "$real"
	# The free slot may be the RAM leg's, which is out: from then on it is not.
	witness_update() { called "record $*"; }
	F[ram.slot]=''
	disk_legs_add_leg 1
	[[ $(calls) == $'record no-ram-slot filling\nmd_add md127 sdb' ]] || fail "$(calls)"
	F[ram.slot]=0
	disk_legs_add_leg 1
	[[ $(calls) == *$'record  filling\nmd_add md127 sdb' ]] || fail "$(calls)"
}

# raid1_add_disk() would give it the slot of that member, and md then fails that.
@test "a disk that is built in does not become the replacement that md wants for another member" {
	local member
	declare -gA CONF=()
	disks
	mending 1:blank
	F[leg.1.node]=sdb F[leg.1.dev]=/dev/disk/by-id/ata-B F[leg.1.sb]=none
	rm -r "$R/sys/class/block/sdb/holders/md127"
	wipefs() { :; }
	witness_update() { :; }
	mdadm() { called mdadm "$@"; }
	act_write() { called write "${1##*/md/}" "$2"; }
	for member in sda rd0 sdx; do
		rm -rf "$M"/dev-{rd0,sdx} "$BATS_TEST_TMPDIR/calls"
		mkdir -p "$M/dev-$member"
		echo in_sync,want_replacement,write_mostly >"$M/dev-$member/state"
		disk_legs_add_leg 1
		[[ $(calls) == "write dev-$member/state -want_replacement
mdadm --manage /dev/md127 --add /dev/sdb" ]] || fail "$(calls)"
		echo in_sync,write_mostly >"$M/dev-$member/state"
	done
}

@test "only the disk that was looked at is built in, not another one that got its name" {
	declare -gA CONF=()
	disks
	mending 1:spare
	F[leg.1.node]=sdb F[leg.1.dev]=/dev/disk/by-id/ata-B
	md_add() { called md_add "$@"; }
	md_zero() { called md_zero "$@"; }
	witness_update() { called record; }
	holds() { printf '%s\n' sb=ok "uuid=$1" "device_uuid=$2" level=1; }
	rm -r "$R/sys/class/block/sdb/holders/md127"
	superblock_facts() { holds "$ID" "$B"; }
	disk_legs_add_leg 1
	[[ $(calls) == $'record\nmd_zero sdb\nmd_add md127 sdb' ]] || fail "$(calls)"
	for other in "$A $B" "$ID $A"; do
		rm "$BATS_TEST_TMPDIR/calls"
		# shellcheck disable=SC2086 # words
		superblock_facts() { holds $other; }
		not disk_legs_add_leg 1
		[[ $(calls) == record && $LOOP_ERROR == *'no longer the disk'* ]] ||
			fail "$(calls): $LOOP_ERROR"
	done
	# A blank one that came under another kernel name.
	rm "$BATS_TEST_TMPDIR/calls"
	F[leg.1.sb]=none
	disk_why_not_free() { :; }
	witness_update() { called record && ln -sf ../../sda "$R/dev/disk/by-id/ata-B"; }
	not disk_legs_add_leg 1
	[[ $(calls) == record ]] || fail "$(calls)"
}

@test "a blank disk is built in only if it is the same disk, and still blank, right before" {
	declare -gA CONF=()
	disks
	mending 1:blank
	F[leg.1.node]=sdb F[leg.1.dev]=/dev/disk/by-id/ata-B F[leg.1.sb]=none
	rm -r "$R/sys/class/block/sdb/holders/md127"
	md_add() { called md_add "$@"; }
	wipefs() { [[ ! -e $R/holds ]] || echo ext4 filesystem; }
	echo 30 >"$R/sys/class/block/sdb/diskseq"
	# While the record is written another one comes, and gets the kernel name as well; or somebody
	# makes a file system on it.
	witness_update() { called record && echo 31 >"$R/sys/class/block/sdb/diskseq"; }
	not disk_legs_add_leg 1
	[[ $(calls) == record && $LOOP_ERROR == *'no longer the disk'* ]] ||
		fail "$(calls): $LOOP_ERROR"
	witness_update() { called record && touch "$R/holds"; }
	not disk_legs_add_leg 1
	[[ $(calls) == $'record\nrecord' && $LOOP_ERROR == *'signature: it holds ext4' ]] ||
		fail "$(calls): $LOOP_ERROR"
	# With --force it is overwritten, but no other one is.
	disk_legs_see 1
	F[leg.1.force]=yes
	seen=$SEEN
	disk_legs_is_still 1 "$seen"
	echo 32 >"$R/sys/class/block/sdb/diskseq"
	not disk_legs_is_still 1 "$seen"
	rm "$R/holds"
	F[leg.1.force]=''
	witness_update() { called record; }
	disk_legs_add_leg 1
	[[ $(calls) == *'md_add md127 sdb' ]] || fail "$(calls)"
}

@test "the flag is raised only for an array with HOTPLUG=yes, or for a look at the records" {
	declare -gA CONF=([HOTPLUG]=no)
	hotplug_arm
	hotplug_trigger
	[[ ! -e $R/run/ramraid/event ]]
	# But for the look at the records.
	hotplug_raise
	[[ -e $R/run/ramraid/event ]]
	rm "$R/run/ramraid/event"
	CONF[HOTPLUG]=yes
	hotplug_arm
	hotplug_trigger
	[[ -e $R/run/ramraid/event ]]
}

# A start of ours has judged the array of "disks", and nobody has an event to tell.
# kept CONFIGURATION-LINE…
kept() {
	local file
	disks "$@"
	mkdir -p "$R/etc/ramraid/state" "$R/proc/sys/kernel/random" "$R/run/systemd/system"
	echo 00000000-0000-0000-0000-000000000000 >"$R/proc/sys/kernel/random/uuid"
	echo 3 >"$R/sys/block/md127/diskseq"
	echo 3 >"$M/raid_disks"
	echo 'md127 3' >"$R/run/ramraid/data.watched"
	printf '%s\n' "uuid=$ID" "legs=$A $B" events=50 filled=50 ram_slot=0 ram_number=0 \
		generation=1 "seen=$A $B" >"$R/etc/ramraid/state/data.witness"
	superblock_facts() {
		called reads "$1"
		case $1 in
		*/sda) printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$A" events=51 view=AAA number=1 ;;
		*/sdb) printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$B" events=51 view=AAA number=2 ;;
		*) printf '%s\n' sb=ok "uuid=$ID" device_uuid=0 events=51 view=AAA number=0 ;;
		esac
	}
	superblock_facts_patiently() { superblock_facts "$DEV/$1"; }
	all_disks_running() { :; }
	outside_leg_superblock() { F[leg.$1.sb]=none; }
	outside_numbers() { :; }
}
records() { sed -n 's/^legs=//p' "$R/etc/ramraid/state/data.witness"; }

@test "a leg that left while nothing watched is out of the witness after the next look, whatever HOTPLUG says" {
	local hotplug lock
	for hotplug in yes no; do
		rm -rf "$M" "$R/dev/disk" "$R/etc/ramraid/state" "$R"/run/ramraid/data.*
		kept HOTPLUG=$hotplug
		sed -i '0,/^HOTPLUG=yes$/{//d}' "$R/etc/ramraid/data.conf"
		look
		[[ $(records) == "$A $B" ]] || fail "$(records)"
		echo faulty,write_mostly >"$M/dev-sdb/state"
		look
		[[ $(records) == "$A" ]] || fail "HOTPLUG=$hotplug: $(records)" "$(<"$LOG")"
	done
	# As beside a rebuild of "replace", which may take hours.
	echo in_sync,write_mostly >"$M/dev-sdb/state"
	mkdir -p "$R/run/ramraid/.locks"
	exec {lock}<>"$R/run/ramraid/.locks/work.data"
	flock "$lock"
	look
	[[ $(records) == "$A $B" ]] || fail "$(records)"
	exec {lock}>&-
}

@test "a look reads no disk while nothing has changed, and rewrites a witness that is lost" {
	kept
	look
	rm "$BATS_TEST_TMPDIR/calls"
	look
	not grep reads "$BATS_TEST_TMPDIR/calls"
	rm "$R/etc/ramraid/state/data.witness"
	look
	[[ $(records) == "$A $B" ]] || fail "$(<"$LOG")"
	# What no start of ours has judged is not written down.
	rm "$R/etc/ramraid/state/data.witness" "$R/run/ramraid/data.looked"
	echo 'md127 2' >"$R/run/ramraid/data.watched"
	look
	[[ ! -e $R/etc/ramraid/state/data.witness ]]
}

@test "another disk of the same name, or a witness that could not be written, counts as a change" {
	kept
	look
	echo 99 >"$R/sys/class/block/sdb/diskseq"
	rm "$BATS_TEST_TMPDIR/calls"
	look
	grep -q reads "$BATS_TEST_TMPDIR/calls"
	echo faulty,write_mostly >"$M/dev-sdb/state"
	rm "$BATS_TEST_TMPDIR/calls"
	(
		witness_update() { called tries && return 1; }
		not cmd_hotplug
		not cmd_hotplug
	) 2>/dev/null
	[[ $(calls | grep -c tries) == 2 ]] || fail "$(calls)"
}

@test "a failed monitor is restarted by the next look, but not while another verb has the lock" {
	local lock
	kept
	look
	not grep ramraid-monitor@md127.path "$LOG"
	STATE_NOW=failed look
	says 'nothing watches md127: ramraid-monitor@md127.path is failed'
	calls | grep -qx 'systemctl restart --no-block ramraid-monitor@md127.path' || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	mkdir -p "$R/run/ramraid/.locks"
	exec {lock}<>"$R/run/ramraid/.locks/work.data"
	flock "$lock"
	STATE_NOW=failed look
	not grep restart "$BATS_TEST_TMPDIR/calls"
	exec {lock}>&-
}

@test "hot-plug is at work while its unit is activating, not while it is deactivating" {
	local hotplug mend works
	mkdir -p "$R/run/systemd/system"
	# One for each unit, with an empty line in between, as systemctl prints them.
	systemctl() { printf '%s\n\n%s\n' "$hotplug" "$mend"; }
	while read -r works hotplug mend; do
		$works systemd_mend_works data || fail "$hotplug, $mend: not $works"
	done <<-'EOT'
		not inactive inactive
		not inactive failed
		not deactivating inactive
		not inactive deactivating
		eval activating inactive
		eval inactive activating
		eval deactivating activating
	EOT
}
