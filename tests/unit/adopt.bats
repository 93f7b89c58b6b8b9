#!/usr/bin/env bats
# ramraid adopt and release, on a fake array: what is called, in which order, what is refused, and
# that a run that was killed anywhere is completed by the next.

setup() {
	load helper
	world
	fake_disk sda $((100 << 20)) disk/by-id/ata-A
	fake_disk sdb $((200 << 20)) disk/by-id/ata-B
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     524288 kB\n" >"$R/proc/meminfo"
	mkdir -p "$R/proc/sys/kernel"
	echo 6.12.57+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	echo 100.00 100.00 >"$R/proc/uptime"
	mkdir -p "$R/run/systemd/system"
	array
	KILL_AFTER=0 FAILS=''
	# Here, and not at the top: bats counts a test's time limit with "sleep", beginning before
	# setup.
	sleep() { SECONDS=$((SECONDS + 5)); }
}

# A mounted mirror of two disks, md127, as mdadm of Debian 13 makes a small one: without a bitmap.
array() {
	local leg
	MD=$R/sys/block/md127/md
	mkdir -p "$MD/bitmap" "$R/sys/block/md127/holders" "$R/dev/md" "$R/etc/mdadm" \
		"$R/sys/kernel/rapiddisk"
	ln -s ../../block/md127 "$R/sys/class/block/md127"
	echo 9:127 >"$R/sys/block/md127/dev"
	echo 7 >"$R/sys/block/md127/diskseq"
	: >"$R/dev/md127"
	ln -s ../md127 "$R/dev/md/data"
	put level raid1 metadata_version 1.2 array_state active raid_disks 2 degraded 0 \
		sync_action idle resync_start none \
		component_size 100000 uuid 01234567-89ab-4cde-8f01-23456789abcd bitmap/location \
		none bitmap/backlog 0
	for leg in sda:0 sdb:1; do
		mkdir "$MD/dev-${leg%:*}" "$R/sys/class/block/${leg%:*}/holders/md127"
		cp "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" "$R/dev/${leg%:*}"
		put "dev-${leg%:*}/slot" "${leg#*:}" "dev-${leg%:*}/state" in_sync \
			"dev-${leg%:*}/offset" 2048 "dev-${leg%:*}/bad_blocks" ''
	done
	echo '30 1 9:127 / /srv/data rw,relatime shared:1 - ext4 /dev/md127 rw' \
		>"$R/proc/1/mountinfo"
	printf "# mine\nDEVICE partitions\nARRAY /dev/md/data metadata=1.2\n\
   UUID=01234567:89ab4cde:8f012345:6789abcd\n\nMAILADDR root\n\n" \
		>"$R/etc/mdadm/mdadm.conf"
	cp -a "$R/etc" "$R/etc.before"
	program update-initramfs
}
program() { # NAME [TEXT]: it is installed
	mkdir -p "$R/usr/sbin"
	printf '#!/bin/sh\n%s\n' "${2-}" >"$R/usr/sbin/$1"
	chmod 755 "$R/usr/sbin/$1"
}
put() { # FILE VALUE …: of the array
	while (($# > 0)); do
		echo "$2" >"$MD/$1"
		shift 2
	done
}

# What changes the system is written down, does to the fake array what it does to a real one, and,
# as number $KILL_AFTER, is the last that happens. What begins with $FAILS fails.
step() {
	[[ -z $FAILS || "$*" != "$FAILS"* ]] || { called "$@" && return 1; }
	effect "$@"
	called "$@"
	((KILL_AFTER == 0 || $(calls | wc -l) != KILL_AFTER)) || kill -KILL $$ $BASHPID
}
effect() {
	local md=$R/sys/block/md127/md slots=${*: -1} members
	slots=${slots##*=} members=("$md"/dev-*)
	case $* in
	'mdadm --grow /dev/md127 --bitmap=internal'*) echo +8 >"$md/bitmap/location" ;;
	'mdadm --grow /dev/md127 --bitmap=none') echo none >"$md/bitmap/location" ;;
	'mdadm --grow --force /dev/md127 --raid-devices='*)
		[[ $slots == 3 ]] || grep -qs '^ram_slot=$' "$R/etc/ramraid/state/data.witness" ||
			called 'THE WITNESS NAMES A SLOT'
		echo "$slots" >"$md/raid_disks" && echo $((slots - ${#members[@]})) >"$md/degraded"
		;;
	'mdadm --readwrite'*) echo active >"$md/array_state" ;;
	'mdadm --manage /dev/md127 --fail /dev/rd0') echo faulty >"$md/dev-rd0/state" ;;
	'mdadm --manage /dev/md127 --fail /dev/nvme0n1') echo faulty >"$md/dev-nvme0n1/state" ;;
	'mdadm --manage /dev/md127 --remove /dev/nvme0n1')
		rm -r "$md/dev-nvme0n1" "$R/sys/class/block/nvme0n1/holders/md127"
		;;
	'mdadm --zero-superblock /dev/nvme0n1') printf '%8192s' '' >"$R/dev/nvme0n1" ;;
	'mdadm --manage /dev/md127 --remove /dev/rd0')
		rm -r "$md/dev-rd0" "$R/sys/class/block/rd0/holders/md127" && echo 1 >"$md/degraded"
		;;
	'echo writemostly '*) echo in_sync,write_mostly >"$R$3" ;;
	'echo -writemostly '*) echo in_sync >"$R$3" ;;
	'echo 0 /sys/block/md127/md/bitmap/backlog '*) echo 0 >"$md/bitmap/backlog" ;;
	'echo rapiddisk detach 0 '*) rm -r "$R/sys/block/rd0" "$R/sys/class/block/rd0" ;;
	'systemctl daemon-reload')
		[[ -e $R/etc/ramraid/data.conf ]] && : >"$R/required" || rm -f "$R/required"
		;;
	'systemctl --quiet enable'*) : >"$R/enabled" ;;
	'systemctl --quiet disable'*) rm -f "$R/enabled" ;;
	'systemctl start'*) start_unit ;;
	'systemctl stop ramraid-mend@data.service') rm "$R/mending" ;;
	'systemctl stop ramraid@'*)
		[[ ! -e $R/required ]] || called UNMOUNTED
		[[ ! -e $R/active || -e $R/run/ramraid/data.released ]] ||
			called 'STOPPED THE ARRAY'
		rm -f "$R/active"
		;;
	esac
}
# What ramraid@data.service does.
start_unit() {
	local md=$R/sys/block/md127/md
	[[ ! -e $R/refuses ]] || return 0
	[[ ! -e $R/saved ]] || running
	: >"$R/active"
	rm -f "$R"/run/ramraid/data.{released,taken}
	printf "uuid=01234567-89ab-4cde-8f01-23456789abcd\n\
legs=c7716335-dad1-f5e0-f063-7d9eb30e4225\nevents=40\nram_slot=2\n\
generation=1\n" >"$R/etc/ramraid/state/data.witness"
	: >"$R/run/ramraid/data.started"
	echo md127 7 >"$R/run/ramraid/data.watched"
	[[ $(<"$md/raid_disks") == 3 && $(cat "$md/dev-rd0/state" 2>/dev/null) != in_sync ]] ||
		return 0
	mkdir -p "$md/dev-rd0" "$R"/sys/{class/block,block}/rd0 \
		"$R/sys/class/block/rd0/holders/md127"
	echo 9 >"$R/sys/block/rd0/diskseq"
	echo in_sync >"$md/dev-rd0/state"
	echo 2 >"$md/dev-rd0/slot"
	echo 0 >"$md/degraded"
	echo rapiddisk rd0 102400 9 used >"$R/run/ramraid/data.ram"
}
# What a start makes of an array that was stopped.
running() {
	rm -rf "$R/sys/block/md127" && mv "$R/saved" "$R/sys/block/md127"
	mkdir -p "$R"/sys/class/block/sd{a,b}/holders/md127
	: >"$R/dev/md127"
}
mdadm() { step mdadm "$@"; }
update-initramfs() { step update-initramfs "$@"; }
lsblk() {
	[[ $* != *UUID* ]] || echo 'PATH="/dev/md127" UUID="0815" LABEL="" PARTUUID="" PARTLABEL=""'
}
# What the devices hold, by the names in $R/holds: "md127 UUID ext4 filesystem".
blkid() {
	local node uuid type usage
	while read -r node uuid type usage; do
		[[ ${*: -1} != */"$node" ]] ||
			printf 'DEVNAME=x\nUUID=%s\nTYPE=%s\nUSAGE=%s\n' "$uuid" "$type" "$usage"
	done 2>/dev/null <"$R/holds" || :
}
# holds NODE UUID TYPE USAGE: and udev has the link of it.
holds() {
	echo "$*" >>"$R/holds"
	mkdir -p "$R/dev/disk/by-uuid" "$R/sys/class/block/$1"
	[[ -e $R/dev/$1 ]] || : >"$R/dev/$1"
	ln -sf "../../$1" "$R/dev/disk/by-uuid/$2"
}
modprobe() { :; }
systemctl() {
	case $* in
	*ActiveState*ramraid-mend@data.service) [[ ! -e $R/mending ]] || echo activating ;;
	*ActiveState*) [[ -e $R/active ]] && echo active || echo inactive ;;
	*MainPID*) echo 0 ;;
	# Our own workers are part of it (PartOf=), which is no reason to leave it up.
	*RequiredBy*)
		echo ramraid-scrub@data.service && {
			[[ ! -e $R/required ]] || echo srv-data.mount
		}
		;;
	show* | reset-failed*) ;;
	*) step systemctl "$@" ;;
	esac
}
# After each library, since core/log.sh has its own: what is written into sysfs and into files is a
# step, too, and so is "rm" by act.
replace() {
	act_write() {
		[[ -z $DRY_RUN ]] || { printf 'echo %q > %q\n' "$2" "$1" && return; }
		step echo "$2" "${1#"$R"}" ''
	}
	declare -F act_text_ >/dev/null ||
		eval "$(declare -f act_text | sed '1s/act_text/act_text_/')"
	act_text() { act_text_ "$@" && { [[ -n $DRY_RUN ]] || step write "${1#"$R"}"; }; }
	md_check() { MISMATCHES=${DIFFERENT:-0}; }
	fake_clock
}

# verb ARG…: sets status and output; a program of its own, because "run" switches errexit off.
verb() {
	export R KILL_AFTER FAILS BATS_TEST_TMPDIR
	export -f called calls step effect start_unit running mdadm update-initramfs sleep lsblk \
		blkid modprobe systemctl replace fake_clock
	status=0
	output=$(bash -c 'set -Eeuo pipefail; shopt -s inherit_errexit; source "$1"; shift
		eval "$(declare -f need | sed "1s/need/need_/")"; need() { need_ "$@"; ! declare -F act_text >/dev/null || replace; }
		main "$@"' - "$PROJECT/bin/ramraid" "$@" 2>&1 </dev/null) || status=$?
	mapfile -t lines <<<"$output"
}
adopt() { verb adopt --yes data /dev/md127; }
# Without what depends on the machine.
steps() { calls | grep -v '^update-initramfs' || :; }
refused() { # CODE PATTERN ARG…
	local code=$1 pattern=$2
	shift 2
	verb adopt --yes "$@"
	assert_failure "$code"
	assert_output -p "$pattern"
	untouched
}
is_adopted() {
	local file
	[[ -e $R/enabled && -e $R/active && $(<"$MD/raid_disks") == 3 &&
		$(<"$MD/bitmap/location") == +8 ]] ||
		fail "not ours: $output"
	for file in sda sdb; do
		[[ $(<"$MD/dev-$file/state") == in_sync,write_mostly ]] || fail "$file"
	done
	[[ $(<"$R/etc/ramraid/data.conf") == *$'\nUUID=01234567-89ab-4cde-8f01-23456789abcd\nMEMBER=/dev/disk/by-id/ata-A\nMEMBER=/dev/disk/by-id/ata-B' ]]
	[[ $(<"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf") == \
		*'ARRAY <ignore> UUID=01234567:89ab4cde:8f012345:6789abcd' ]]
	[[ $(grep -c '^ARRAY\|^ *UUID' "$R/etc/mdadm/mdadm.conf") == 0 ]]
	grep -q '^done=yes$' "$R/etc/ramraid/state/data.adopted"
}
# Byte by byte, and as if we had never been there.
is_plain() {
	local file
	[[ $(calls) != *UNMOUNTED* && $(calls) != *'STOPPED THE ARRAY'* &&
		$(calls) != *'NAMES A SLOT'* ]] ||
		fail "$(calls)"
	[[ ! -e $R/enabled && ! -e $R/active && $(<"$MD/raid_disks") == 2 &&
		$(<"$MD/bitmap/location") == none && ! -e $MD/dev-rd0 ]] ||
		fail "$output"
	for file in sda sdb; do [[ $(<"$MD/dev-$file/state") == in_sync ]] || fail "$file"; done
	for file in mdadm/mdadm.conf.d ramraid/state; do
		[[ ! -e $R/etc/$file ]] || rmdir "$R/etc/$file"
	done
	diff -r "$R/etc" "$R/etc.before" || fail 'files are left'
	[[ -z $(find "$R/run/ramraid" -name 'data.*') ]]
}

@test "adopt performs its steps in order, and comments out the array's line in mdadm.conf" {
	adopt
	assert_success
	is_adopted
	[[ $(steps) == 'write /etc/ramraid/state/data.adopted
systemctl --quiet enable ramraid@data.service
write /etc/ramraid/data.conf
write /etc/ramraid/state/data.contents
mdadm --grow /dev/md127 --bitmap=internal --bitmap-chunk=1024K
mdadm --grow --force /dev/md127 --raid-devices=3
write /etc/mdadm/mdadm.conf.d/ramraid-data.conf
write /etc/mdadm/mdadm.conf
systemctl daemon-reload
echo writemostly /sys/block/md127/md/dev-sda/state 
echo writemostly /sys/block/md127/md/dev-sdb/state 
write /etc/ramraid/state/data.adopted
systemctl start --no-block ramraid@data.service' ]] || fail "$(steps)"
	[[ $(sed -n 3,4p "$R/etc/mdadm/mdadm.conf") == '# Not in force while ramraid starts this array; "ramraid release data" puts it back: ARRAY /dev/md/data metadata=1.2
# Not in force while ramraid starts this array; "ramraid release data" puts it back:    UUID=01234567:89ab4cde:8f012345:6789abcd' ]]
}

@test "adopt --dry-run prints the configuration and each command, and changes nothing" {
	verb adopt --dry-run --ram=brd data /dev/md/data
	assert_success
	untouched
	assert_line -p '  RAM leg: a new ramdisk (brd), which takes '
	assert_line 'mdadm --grow --force /dev/md127 --raid-devices=3'
	assert_line RAM=brd
	assert_line "echo writemostly > $R/sys/block/md127/md/dev-sda/state"
	assert_line 'systemctl start --no-block ramraid@data.service'
	# Of a file that is there only what changes.
	assert_line '+# Not in force while ramraid starts this array; "ramraid release data" puts it back: ARRAY /dev/md/data metadata=1.2'
}

@test "where the kernel does not show the array's UUID, adopt reads it from a member" {
	rm "$MD/uuid"
	verb adopt --dry-run data /dev/md127
	assert_success
	assert_line UUID=d25ee28f-56fe-4319-a24c-f6c3580c71d0
	rm "$R"/dev/sd?
	: >"$R/dev/sda" && : >"$R/dev/sdb"
	refused 4 'found no readable member that has it' data /dev/md127
}

@test "adopt leaves an existing bitmap and write-mostly mark alone, and release keeps them" {
	put bitmap/location +8 dev-sdb/state in_sync,write_mostly
	adopt
	assert_success
	is_adopted
	[[ $(steps) != *bitmap=* && $(steps) != *writemostly*sdb* ]] || fail "$(steps)"
	verb release --yes data
	assert_success
	[[ $(<"$MD/bitmap/location") == +8 && $(<"$MD/dev-sdb/state") == *write_mostly &&
		$(<"$MD/dev-sda/state") == in_sync ]]
}

@test "adopt makes an array that md has left in read-auto state writable first" {
	put array_state read-auto
	adopt
	assert_success
	is_adopted
	[[ $(steps) == *'mdadm --readwrite /dev/md127'*--grow* ]] || fail "$(steps)"
}

@test "release performs its steps in order, unmounts nothing, and leaves every file as it was before adopt" {
	adopt
	rm "$BATS_TEST_TMPDIR/calls"
	verb release --yes data
	assert_success
	[[ $(steps) == 'write /etc/ramraid/state/data.adopted
write /etc/ramraid/state/data.witness
write /etc/ramraid/state/data.hardware
mdadm --manage /dev/md127 --fail /dev/rd0
mdadm --manage /dev/md127 --remove /dev/rd0
echo rapiddisk detach 0 /sys/kernel/rapiddisk/mgmt 
write /etc/ramraid/state/data.witness
mdadm --grow --force /dev/md127 --raid-devices=2
echo -writemostly /sys/block/md127/md/dev-sda/state 
echo -writemostly /sys/block/md127/md/dev-sdb/state 
mdadm --grow /dev/md127 --bitmap=none
write /etc/mdadm/mdadm.conf
write /etc/ramraid/state/data.releasing
systemctl --quiet disable ramraid@data.service
systemctl daemon-reload
systemctl stop --no-block ramraid-monitor@md127.path
systemctl stop ramraid@data.service' ]] || fail "$(steps)"
	# The claim goes before the configuration.
	[[ $output == *'rm -f'*ramraid-data.conf*'rm -f'*/data.conf*daemon-reload* ]] ||
		fail "$output"
	is_plain
	# mdadm.conf has its name again.
	[[ $output == *'data: released: a plain RAID1, in use as before' ]] || fail "$output"
}

@test "release and leave refuse an array with larger blocks than its disks if it has a partition table" {
	local why='without ramraid, its next start gives it blocks of 512 bytes instead of 4096; but a partition table (dos) is on /dev/md127, which would then point to the wrong places, or could not be read'
	adopt
	mkdir -p "$R/sys/block/md127/queue" "$R"/sys/class/block/sd{a,b}/queue
	echo 4096 >"$R/sys/block/md127/queue/logical_block_size"
	echo 512 | tee "$R"/sys/class/block/sd{a,b}/queue/logical_block_size
	echo BLOCK=4096 >>"$R/etc/ramraid/data.conf"
	blkid() { [[ ${*: -1} != */md127 ]] || printf '%s\n' ${HOLDS-PTTYPE=dos}; }
	rm "$BATS_TEST_TMPDIR/calls"
	verb release --yes data
	assert_failure 4
	assert_line -p "data: $why. Copy what is on it to other disks; then: ramraid destroy data"
	assert_line -p 'nothing was changed'
	[[ -z $(calls) ]]
	# What the removal of the package asks.
	verb leave none -- data
	assert_failure 4
	assert_output -p "data: $why. Copy"
	# The superblocks of newer kernels keep it.
	put logical_block_size 4096
	verb release --dry-run data
	assert_success
	rm "$MD/logical_block_size"
	export HOLDS='TYPE=ext4 BLOCK_SIZE=4096'
	verb release --dry-run data
	assert_success
	unset HOLDS
	echo 4096 >"$R/sys/class/block/sdb/queue/logical_block_size"
	verb release --dry-run data
	assert_success
	verb leave data
	assert_success
	[[ -z $(calls) && -z $output ]]
	# Nobody can look at one that does not run.
	echo 512 >"$R/sys/class/block/sdb/queue/logical_block_size"
	rm -r "$R/sys/block/md127" "$R"/sys/class/block/*/holders/md127
	verb leave data
	assert_failure 4
	assert_output -p "it does not run, so ramraid can't see whether it has a partition table"
	sed -i /BLOCK/d "$R/etc/ramraid/data.conf"
	rm -f "$R/run/ramraid/data.started"
	verb leave data
	assert_success
	echo 'UUID=' >"$R/etc/ramraid/data.conf"
	verb leave data
	assert_success
}

@test "release ends a check that a killed scrub has left running, and does not wait for it" {
	adopt
	mkdir -p "$R/run/ramraid/.locks"
	: >"$R/run/ramraid/.locks/check.md127"
	put sync_action check sync_max 8192
	verb release --dry-run data
	assert_failure 4
	assert_output -p 'md is at work on it (check)'
	[[ $(<"$MD/sync_action") == check ]]
	verb release --yes data
	assert_success
	is_plain
	[[ $(<"$MD/sync_action") == idle && $(<"$MD/sync_max") == max ]]
}

@test "release warns if no line of mdadm.conf names the array" {
	adopt
	sed -i "/Not in force/d" "$R/etc/mdadm/mdadm.conf"
	verb release --yes data
	assert_success
	assert_line -p 'released: a plain RAID1, in use as before; no line of mdadm.conf names it,'
}

@test "release warns if the line that named the array goes while it works" {
	adopt
	eval "$(declare -f effect | sed '2a [[ $* != *--bitmap=none ]] || sed -i "/Not in force/d" "$R/etc/mdadm/mdadm.conf"')"
	verb release --yes data
	assert_success
	assert_line -p 'released: a plain RAID1, in use as before; no line of mdadm.conf names it,'
}

@test "release killed after the configuration is gone: a second run restores a line that is still a comment" {
	local n=10
	while n=$((n + 1)) && release_killed_after "$n" && [[ $status == 137 ]]; do
		[[ ! -e $R/etc/ramraid/data.conf ]] || continue
		break
	done
	assert_failure 137
	sed -i 's|^ARRAY|# Not in force while ramraid starts this array; "ramraid release data" puts it back: &|' \
		"$R/etc/mdadm/mdadm.conf"
	not is_plain
	verb release --yes data
	assert_success
	is_plain
}

@test "release refuses if fstab, crypttab or another array uses a name that only ramraid gives" {
	adopt
	printf '/dev/md/data /srv/data ext4 defaults 0 2\n' >"$R/etc/fstab"
	verb release --dry-run data
	assert_success
	# Its own line, which would come back, is there no more.
	sed -i "/Not in force/d" "$R/etc/mdadm/mdadm.conf"
	verb release --yes data
	assert_failure 4
	assert_output -p \
		'/etc/fstab calls it /dev/md/data, a name that it may not have after the next boot'
	printf "# /dev/md/data /srv/data ext4 defaults 0 2\n\
UUID=x /dev/md/data2 ext4 defaults 0 2\n" >"$R/etc/fstab"
	verb release --dry-run data
	assert_success
	printf 'x /dev/md/data none luks\n' >"$R/etc/crypttab"
	verb release --dry-run data
	assert_failure 4
	printf '/dev/md/data1 /srv/data ext4 defaults 0 2\n' >"$R/etc/fstab"
	rm "$R/etc/crypttab"
	verb release --dry-run data
	assert_failure 4
	assert_output -p '/etc/fstab calls it /dev/md/data1'
	rm "$R/etc/fstab"
	printf "UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/md/data\n\
MEMBER=/dev/disk/by-id/ata-X\n" >"$R/etc/ramraid/outer.conf"
	verb release --dry-run data
	assert_failure 4
	assert_output -p 'is a disk leg of outer, which would not find it at the next boot'
	printf '/dev/md/data1 /srv/data ext4 defaults 0 2\n' >"$R/etc/fstab"
	echo 'ARRAY /dev/md/data UUID=01234567:89ab4cde:8f012345:6789abcd' \
		>>"$R/etc/mdadm/mdadm.conf"
	verb release --dry-run data
	assert_success
}

@test "release --dry-run prints the commands, and changes nothing" {
	adopt
	rm "$BATS_TEST_TMPDIR/calls" && rm -r "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
	verb release --dry-run data
	assert_success
	untouched
	[[ -e $R/active && -e $MD/dev-rd0 && ! -e $R/run/ramraid/data.released ]]
	assert_line 'mdadm --manage /dev/md127 --fail /dev/rd0'
	assert_line 'mdadm --grow --force /dev/md127 --raid-devices=2'
	assert_line 'systemctl stop ramraid@data.service'
}

@test "adopt killed after any step: a second run completes it, and release restores the plain array" {
	local n=0 killed=0
	while n=$((n + 1)) && ((n < 40)); do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		KILL_AFTER=$n
		adopt
		KILL_AFTER=0
		[[ $status == 137 ]] || break
		killed=$((killed + 1))
		# A claim without a configuration is an array that nobody starts; a configuration
		# that is not enabled is one that no boot uses.
		[[ ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ||
			-e $R/etc/ramraid/data.conf ]] ||
			fail "after $n steps: claimed, not configured"
		[[ ! -e $R/etc/ramraid/data.conf || -e $R/enabled ]] ||
			fail "after $n steps: configured, not enabled"
		[[ $(<"$MD/raid_disks") == 2 || -e $R/etc/ramraid/data.conf ]] ||
			fail "after $n steps: a slot that nobody knows of"
		# Either way can be taken.
		cp -a "$R" "$R.killed"
		if ((n < 12)); then
			verb release --yes data
			assert_success
			is_plain
		fi
		rm -rf "$R" "$BATS_TEST_TMPDIR/calls"
		mv "$R.killed" "$R"
		adopt
		assert_success
		is_adopted
		verb release --yes data
		assert_success
		is_plain
	done
	((killed >= 13)) || fail "$killed"
}

# release_killed_after STEPS: in a world of its own, in which the array has been adopted.
release_killed_after() {
	rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
	setup
	adopt
	rm "$BATS_TEST_TMPDIR/calls"
	KILL_AFTER=$1
	verb release --yes data
	KILL_AFTER=0
}

@test "release killed after any step: a second run completes it, and deletes the second copy of the witness" {
	local n=0 killed=0 left=0 copy=$R/boot/ramraid/01234567-89ab-4cde-8f01-23456789abcd.witness
	eval "plain_$(declare -f array)"
	array() {
		plain_array &&
			echo '31 1 8:99 / /boot rw,relatime shared:2 - ext4 /dev/sdz1 rw' \
				>>"$R/proc/1/mountinfo"
	}
	while n=$((n + 1)) && ((n < 40)); do
		release_killed_after "$n"
		[[ $status == 137 ]] || break
		killed=$((killed + 1))
		[[ ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ||
			-e $R/etc/ramraid/data.conf ]] ||
			fail "after $n steps: claimed, not configured"
		[[ -e $R/etc/ramraid/data.conf || ! -e $R/etc/ramraid/state/data.releasing ]] || {
			left=$((left + 1))
			# The monitor has written it once more.
			mkdir -p "${copy%/*}"
			: >"$copy"
		}
		verb release --yes data
		assert_success
		is_plain
		[[ ! -e $copy ]] || fail "$n: $(<"$R/etc/ramraid/state/data.releasing")"
	done
	((killed >= 13 && left > 2)) || fail "$killed, $left"
}

@test "release stops hot-plug's worker first, and a resumed release makes no new RAM leg" {
	release_killed_after 6
	assert_failure 137
	[[ ! -e $R/sys/class/block/rd0 && -e $R/run/ramraid/data.detached ]]
	# Nor does the worker of hot-plug make one, if a look starts it.
	rm "$BATS_TEST_TMPDIR/calls"
	verb mend data
	assert_success
	assert_output -p 'data: is being released; to go on: ramraid release data'
	[[ -z $(steps) ]] || fail "$(steps)"
	mkdir -p "$R/run/systemd/system"
	: >"$R/mending"
	verb release --yes data
	assert_success
	[[ $(steps) == 'systemctl stop ramraid-mend@data.service'* ]] || fail "$(steps)"
	is_plain
}

@test "release killed after any step: adopt makes it a mirror with a RAM leg again" {
	local n=0 killed=0
	while n=$((n + 1)) && ((n < 40)); do
		release_killed_after "$n"
		[[ $status == 137 ]] || break
		killed=$((killed + 1))
		[[ ! -e $R/run/ramraid/data.detached || ! -e $R/etc/ramraid/data.conf ]] || {
			verb attach data
			assert_failure 4
			assert_output -p 'to keep the mirror: ramraid adopt data /dev/md127'
		}
		rm -f "$R/active" # as after a restart: then it is the unit that makes the RAM leg
		adopt
		assert_success
		is_adopted
		[[ ! -e $R/etc/ramraid/state/data.releasing &&
			! -e $R/run/ramraid/data.detached ]] || fail "$n"
		verb release --yes data
		assert_success
		is_plain
	done
	((killed >= 13)) || fail "$killed"
}

@test "after an interrupted release, hot-plug leaves the array alone until release or adopt is run again" {
	release_killed_after 9
	assert_failure 137
	rm "$BATS_TEST_TMPDIR/calls"
	verb hotplug
	assert_success
	not grep -q ramraid-mend "$BATS_TEST_TMPDIR/calls"
	verb mend data
	assert_success
	assert_output --partial \
		'to go on: ramraid release data; to keep it: ramraid adopt data /dev/md127'
	not grep -q write_mostly "$MD/dev-sda/state"
	# As adopt does, after which hot-plug is at work again.
	rm "$R/run/ramraid/data.detached"
	verb hotplug
	grep -q ramraid-mend "$BATS_TEST_TMPDIR/calls"
	verb mend data
	grep -q write_mostly "$MD/dev-sda/state"
}

@test "an interrupted adopt prints the command with its --ram, and refuses to continue with another --ram" {
	fake_disk nvme0n1 $((200 << 20)) disk/by-id/nvme-X
	FAILS='systemctl --quiet enable' verb adopt --yes --ram=/dev/nvme0n1 --fix-fstab data \
		/dev/md127
	assert_failure 1
	assert_output -p \
		'to go on: ramraid adopt --ram=/dev/disk/by-id/nvme-X --fix-fstab data /dev/md127;'
	FAILS=update-initramfs verb adopt --yes --ram=none data /dev/md127
	assert_failure 1
	rm "$BATS_TEST_TMPDIR/calls" && rm -r "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
	refused 4 'has begun with RAM=none, not --ram=zram' --ram=zram data \
		/dev/md127
	FAILS='' verb adopt --yes --dry-run --ram=none data /dev/md127
	assert_success
}

@test "adopt --ram refuses a device that another array is configured with" {
	fake_disk nvme0n1 $((200 << 20)) disk/by-id/nvme-X
	printf '%s\n' UUID=99999999-89ab-4cde-8f01-23456789abcd MEMBER=/dev/disk/by-id/ata-Y \
		RAM=/dev/disk/by-id/nvme-X >"$R/etc/ramraid/db.conf"
	rm -r "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
	refused 4 '/dev/disk/by-id/nvme-X: is the RAM leg of the array db' --yes \
		--ram=/dev/nvme0n1 data /dev/md127
}

# half_and_unnamed STEP ARG…: adopt ends at STEP; somebody deletes the line of disk B meanwhile.
half_and_unnamed() {
	FAILS=$1 verb adopt --yes data "${@:2}"
	assert_failure
	sed -i '/ata-B/d' "$R/etc/ramraid/data.conf"
	rm "$BATS_TEST_TMPDIR/calls" && rm -r "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
	FAILS=''
}

@test "a resumed adopt refuses, and names the disk, if the configuration no longer has one that it began with" {
	half_and_unnamed update-initramfs /dev/md127
	grep -qx member=/dev/disk/by-id/ata-B "$R/etc/ramraid/state/data.adopted"
	refused 4 "data.conf no longer names /dev/disk/by-id/ata-B, a disk of the array that an \
earlier run has begun to adopt. Add MEMBER=/dev/disk/by-id/ata-B there again, and type the same \
again; to take that disk out of the array, delete the line after that, then: ramraid apply \
data" data /dev/md127
	# By another of its names it is named.
	ln -s ../../sdb "$R/dev/disk/by-id/wwn-B"
	echo MEMBER=/dev/disk/by-id/wwn-B >>"$R/etc/ramraid/data.conf"
	adopt
	assert_success
}

@test "a resumed adopt of a stopped array names the disk that the configuration lacks, even if it is unplugged" {
	stopped
	half_and_unnamed 'systemctl daemon-reload' /dev/sda /dev/sdb
	refused 4 'no longer names /dev/disk/by-id/ata-B' data /dev/sda /dev/sdb
	rm -r "$R/dev/disk/by-id/ata-B" "$R/dev/sdb" "$R/sys/class/block/sdb"
	refused 4 'no longer names /dev/disk/by-id/ata-B' data /dev/sda
}

@test "release of a half-finished adopt whose configuration was deleted restores array, claim and mdadm.conf" {
	local step
	for step in 'mdadm --grow --force' write_claim update-initramfs \
		'echo writemostly /sys/block/md127/md/dev-sdb'; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		FAILS=${step/#write_claim/write /etc/mdadm/mdadm.conf} adopt
		assert_failure 1
		rm "$R/etc/ramraid/data.conf"
		FAILS=''
		verb release --yes data
		assert_success
		is_plain
	done
	# The array does not run: the claim goes, or nobody would start it.
	rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
	setup
	FAILS=update-initramfs adopt
	rm -r "$R/etc/ramraid/data.conf" "$R/sys/block/md127"
	FAILS=''
	verb release --yes data
	assert_success
	[[ ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf &&
		$(calls) == *update-initramfs*update-initramfs* ]]
	diff "$R/etc/mdadm/mdadm.conf" "$R/etc.before/mdadm/mdadm.conf"
}

@test "a release that can't remove the RAM leg does not record it as taken out" {
	adopt
	FAILS='mdadm --manage /dev/md127 --remove'
	verb release --yes data
	assert_failure 1
	[[ -e $MD/dev-rd0 && ! -e $R/run/ramraid/data.detached ]]
	grep -qx done=yes "$R/etc/ramraid/state/data.adopted"
	# Made by "create": there was no note.
	rm "$R/etc/ramraid/state/data.adopted"
	verb release --yes data
	assert_failure 1
	[[ ! -e $R/etc/ramraid/state/data.adopted ]]
}

@test "release killed, then a reboot: a second run completes it" {
	local n
	for n in 9 10 11 12 13; do
		release_killed_after "$n"
		assert_failure 137
		rm -rf "$R/run/ramraid" "$R/active" "$R/required"
		mkdir "$R/run/ramraid"
		# A mount that requires the unit pulls it in, as long as there is a configuration.
		[[ ! -e $R/etc/ramraid/data.conf ]] || : >"$R/required" && start_unit
		[[ -e $R/etc/ramraid/data.conf ]] ||
			rm -rf "$R/active" "$R"/run/ramraid/* "$R/etc/ramraid/state/data.witness"
		verb release --yes data
		assert_success
		is_plain
	done
}

@test "an adopt that fails at a step prints how to go on and how to go back, and going back works" {
	local step
	for step in 'mdadm --grow /dev/md127 --bitmap' 'mdadm --grow --force /dev/md127 --raid' \
		'systemctl daemon-reload' 'echo writemostly'; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		FAILS=$step
		adopt
		assert_failure 1
		assert_output -p \
			'to go on: ramraid adopt data /dev/md127; to go back: ramraid release data'
		FAILS=''
		verb release --yes data
		assert_success
		is_plain
	done
}

@test "adopt of an array that is adopted already changes nothing" {
	adopt
	rm "$BATS_TEST_TMPDIR/calls"
	: >"$R/etc/ramraid/state/data.rescue" # the start looks no further
	adopt
	[[ -z $(steps) ]] || fail "$(steps)"
	is_adopted
}

@test "without a terminal, adopt and release want --yes" {
	verb adopt data /dev/md127
	assert_failure 2
	assert_output -p 'add --yes'
	untouched
	adopt
	verb release data
	assert_failure 2
	is_adopted
}

@test "adopt names everything that is wrong with an array at once" {
	put level raid10 metadata_version 1.0 array_state readonly bitmap/backlog 64 dev-sda/state \
		in_sync dev-sdb/state faulty sync_action check
	refused 4 'expected RAID level raid1, found raid10' data /dev/md127
	assert_output -p 'expected metadata of version 1.2, found 1.0'
	assert_output -p 'expected a running array that can be written, found readonly'
	assert_output -p '/dev/disk/by-id/ata-B: expected in sync, found faulty'
	assert_output -p 'md is at work on it (check'
	assert_output -p 'nothing was changed'
}

@test "adopt refuses a spare, a leg being rebuilt, a missing leg, a ramdisk, bad blocks, and no stable name" {
	put dev-sdb/slot none dev-sdb/state spare
	refused 4 'ata-B: is a spare' data /dev/md127
	put dev-sdb/slot 1
	refused 4 'ata-B: expected in sync, found recovering' data /dev/md127
	put dev-sdb/state in_sync dev-sdb/bad_blocks '8 8'
	refused 4 'ata-B: has bad blocks' data /dev/md127
	put dev-sdb/bad_blocks '' raid_disks 3 degraded 1 dev-sda/state in_sync,write_mostly
	refused 4 'expected as many members as slots, found 2 in 3 slots' data /dev/md127
	refute_output -p 'But not on this kernel'
	echo 6.12.38+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	refused 4 '--raid-devices=2. But not on this kernel: once the number of slots has changed' \
		data /dev/md127
	echo 6.12.90+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	put raid_disks 2 degraded 0 dev-sda/state in_sync
	mv "$MD/dev-sdb" "$MD/dev-ram1"
	refused 4 '/dev/ram1: is a ramdisk' data /dev/md127
	mv "$MD/dev-ram1" "$MD/dev-sdb"
	rm "$R/dev/disk/by-id/ata-B"
	refused 4 '/dev/sdb: has no stable name' data /dev/md127
}

# larger_blocks MKFS…: the array is whole in blocks of 4096 bytes, and holds that; and the unit
# takes it over, without a RAM leg.
larger_blocks() {
	mkdir -p "$R/sys/class/zram-control"
	: >"$R/sys/class/zram-control/hot_add"
	truncate -s 64M "$R/dev/md127"
	"$@" "$R/dev/md127" >/dev/null
	blkid() { command blkid "$@"; }
	start_unit() {
		: >"$R/active"
		rm -f "$R"/run/ramraid/data.{released,taken}
		printf "uuid=01234567-89ab-4cde-8f01-23456789abcd\n\
legs=c7716335-dad1-f5e0-f063-7d9eb30e4225\nevents=40\nram_slot=2\n\
generation=1\n" >"$R/etc/ramraid/state/data.witness"
		: >"$R/run/ramraid/data.started"
		echo md127 7 >"$R/run/ramraid/data.watched"
	}
}

@test "adopt --ram=zram of 512-byte blocks: a file system that can work with 4096 gets them at the next start" {
	local again
	larger_blocks mkfs.ext4 -q -F -b 4096
	verb adopt --dry-run --ram=zram data /dev/md127
	assert_success
	assert_output -p "from its next start on, its blocks have 4096 bytes instead of 512. What \
is on it can work with that:"
	assert_output -p "until then (ramraid stop data; ramraid start data; or a reboot) it runs \
on its disk legs, without a RAM leg"
	assert_output -p 'with O_DIRECT'
	untouched
	for again in '' again; do
		verb adopt --yes --ram=zram data /dev/md127
		assert_success
		assert_output -p "the RAM leg joins at its next start, when its blocks have 4096 \
bytes: ramraid stop data; ramraid start data"
		[[ -e $R/enabled && -e $R/active && $(<"$MD/raid_disks") == 3 &&
			$(<"$MD/bitmap/location") == +8 &&
			$(<"$MD/dev-sda/state") == in_sync,write_mostly ]] ||
			fail "$output"
		[[ $(tail -n 2 "$R/etc/ramraid/data.conf") == $'RAM=zram\nBLOCK=4096' ]] ||
			fail "$(<"$R/etc/ramraid/data.conf")"
		[[ $(calls) != *zram* ]] || fail "$(calls)"
	done
	verb release --yes data
	assert_success
	is_plain
}

@test "adopt --ram=zram refuses an array with a file system that can't work with larger blocks" {
	larger_blocks mkfs.ext4 -q -F -b 1024
	refused 4 "what is on it can't be used with larger ones: /dev/md127: ext4 with blocks of 1024 \
bytes" --ram=zram data /dev/md127
}

@test "adopt refuses while md is at work on the array, or while a resync is due" {
	local work
	for work in resync recover check reshape; do
		put sync_action "$work"
		refused 4 "md is at work on it ($work" data /dev/md127
	done
	put sync_action frozen
	refused 4 'echo idle >/sys/block/md127/md/sync_action' data /dev/md127
	put sync_action idle resync_start 0
	refused 4 'a resync is due' data /dev/md127
}

@test "adopt refuses a bitmap in a file, and one that a cluster shares" {
	put bitmap/location file
	refused 4 'its bitmap is a file' data /dev/md127
	put bitmap/location +8 bitmap/metadata clustered
	refused 4 'is shared by a cluster' data /dev/md127
}

@test "adopt of the array with the root file system writes ROOT=yes and a claim by name; release undoes both" {
	local mount
	mkdir -p "$R/sys/block/md127/holders/dm-0" "$R/sys/class/block/dm-0/holders"
	echo 253:0 >"$R/sys/class/block/dm-0/dev"
	for mount in '30 1 9:127 / / rw - ext4 /dev/md127 rw' \
		'30 1 253:0 / / rw shared:1 - ext4 /dev/mapper/vg-root rw'; do
		printf '%s\n' "$mount" "31 30 ${mount#30 1 }" |
			sed '2s, / / , / /usr ,' >"$R/proc/1/mountinfo"
		adopt
		assert_success
		assert_output -p 'data: if a boot finds only a stale disk of it, nobody notices: the record of the last run is on that disk, and there is no second copy elsewhere (neither /boot nor the ESP is'
		grep -qx ROOT=yes "$R/etc/ramraid/data.conf"
		[[ $(grep ^ARRAY "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf") == \
			'ARRAY /dev/md/data UUID=01234567:89ab4cde:8f012345:6789abcd' ]]
		[[ $(grep -c '^ARRAY\|^ *UUID' "$R/etc/mdadm/mdadm.conf") == 0 ]]
		[[ $(<"$MD/raid_disks") == 3 && $(<"$MD/dev-sda/state") == in_sync,write_mostly ]]
		verb release --yes data
		assert_success
		is_plain
	done
}

@test "adopt refuses an array with /usr, and one with / if no initramfs could start it or ROOT=yes is missing" {
	echo '30 1 0:22 / /usr rw - btrfs /dev/md127 rw' >"$R/proc/1/mountinfo"
	refused 4 'carries /usr, which the initramfs needs' data /dev/md127
	# Also if it is a further device of that file system, which the table of mounts does not name.
	mkdir -p "$R"/sys/fs/btrfs/one/devices/{sdz,md127}
	: >"$R/dev/sdz"
	mkdir -p "$R/sys/class/block/sdz"
	echo '30 1 0:22 / /usr rw - btrfs /dev/sdz rw' >"$R/proc/1/mountinfo"
	refused 4 'carries /usr, which the initramfs needs' data /dev/md127
	rm -r "$R/sys/fs/btrfs" "$R/dev/sdz" "$R/sys/class/block/sdz"
	echo '30 1 9:127 / / rw - ext4 /dev/md127 rw' >"$R/proc/1/mountinfo"
	local neither='neither initramfs-tools nor dracut makes the initramfs that has to start it'
	rm "$R/usr/sbin/update-initramfs"
	refused 4 "$neither" data /dev/md127
	program mkinitcpio
	program dracut
	refused 4 "$neither" data /dev/md127
	rm "$R"/usr/sbin/{mkinitcpio,dracut}
	# As Debian 13 has dracut, and Debian 14.
	program dracut
	verb adopt --dry-run data /dev/md127
	assert_success
	program update-initramfs 'dracut --force "${initramfs}" "${version}"'
	verb adopt --dry-run data /dev/md127
	assert_success
	program update-initramfs
	KILL_AFTER=3 adopt
	sed -i /ROOT=/d "$R/etc/ramraid/data.conf"
	verb adopt --yes data /dev/md127
	assert_failure 4
	assert_output -p 'carries /; write ROOT=yes in'
	verb release --yes data
	is_plain
}

@test "adopt refuses names in fstab and crypttab that the next boot won't have, and says what to write" {
	printf '# mine\n/dev/md127 /srv/data ext4 defaults 0 2\n' >"$R/etc/fstab"
	cp "$R/etc/fstab" "$R/etc.before"
	refused 4 "/etc/fstab:2: /dev/md127 (it holds nothing that blkid knows, which can't be named by \
UUID there), a name that" data /dev/md127
	holds md127 0815-a ext4 filesystem
	refused 4 '/etc/fstab:2: /dev/md127, a name that it will not have after the next boot; write UUID=0815-a there, or add --fix-fstab' data /dev/md127
	printf '/dev/md/data /srv/data ext4 defaults 0 2\n' >"$R/etc/fstab"
	cp "$R/etc/fstab" "$R/etc.before"
	rm "$R/dev/md/data"
	ln -s ../md127 "$R/dev/md/other"
	printf 'x /dev/md/other none luks\n' >"$R/etc/crypttab"
	cp "$R/etc/crypttab" "$R/etc.before"
	refused 4 '/etc/crypttab:1: /dev/md/other (it holds ext4, ' data /dev/md127
	verb adopt --dry-run other /dev/md/other
	assert_success
}

# numbered_names: fstab and crypttab call the array, and partitions of it, by such names.
numbered_names() {
	printf '# /dev/md127 is a comment\nUUID=x / ext4 defaults 0 1\n\t/dev/md/old\t /srv/my\\040data  ext4\tdefaults 0 2 # mine' >"$R/etc/fstab"
	printf '\n/dev/md127p1 none swap sw 0 0\n\n/dev/md5 /srv/five ext4 defaults 0 2' \
		>>"$R/etc/fstab"
	printf '# name source\nsafe\t/dev/md127p2  none luks\n' >"$R/etc/crypttab"
	chmod 664 "$R/etc/fstab"
	chmod 600 "$R/etc/crypttab"
	cp -p "$R"/etc/{fstab,crypttab} "$BATS_TEST_TMPDIR"
	cp -p "$R"/etc/{fstab,crypttab} "$R/etc.before"
	ln -s ../md127 "$R/dev/md/old"
	holds md127 aaaa ext4 filesystem
	holds md127p1 bbbb swap other
	holds md127p2 cccc crypto_LUKS crypto
	holds md5 eeee ext4 filesystem
}
names_last() {
	[[ $(<"$R/etc/fstab") == $'# /dev/md127 is a comment\nUUID=x / ext4 defaults 0 1\n\tUUID=aaaa\t /srv/my\\040data  ext4\tdefaults 0 2 # mine\nUUID=bbbb none swap sw 0 0\n\n/dev/md5 /srv/five ext4 defaults 0 2' ]] ||
		fail "$(<"$R/etc/fstab")"
	[[ $(tail -c 1 "$R/etc/fstab") == 2 ]]
	[[ $(<"$R/etc/crypttab") == $'# name source\nsafe\tUUID=cccc  none luks' ]] ||
		fail "$(<"$R/etc/crypttab")"
	[[ $(stat -c %a "$R/etc/fstab" "$R/etc/fstab.ramraid-old" "$R/etc/crypttab" \
		"$R/etc/crypttab.ramraid-old" | tr '\n' ' ') == '664 664 600 600 ' ]]
	cmp "$BATS_TEST_TMPDIR/fstab" "$R/etc/fstab.ramraid-old"
	cmp "$BATS_TEST_TMPDIR/crypttab" "$R/etc/crypttab.ramraid-old"
	[[ $(cd "$R/etc" && printf '%s ' fstab* crypttab*) == \
		'fstab fstab.ramraid-old crypttab crypttab.ramraid-old ' ]]
}

@test "adopt --fix-fstab changes only those names to UUID=, keeps the old files, and --dry-run shows the change" {
	numbered_names
	verb adopt --dry-run --fix-fstab data /dev/md127
	assert_success
	untouched
	assert_line $'-\t/dev/md/old\t /srv/my\\040data  ext4\tdefaults 0 2 # mine'
	assert_line $'+\tUUID=aaaa\t /srv/my\\040data  ext4\tdefaults 0 2 # mine'
	assert_line "cp -p -- $R/etc/crypttab $R/etc/crypttab.ramraid-old"
	verb adopt --yes --fix-fstab data /dev/md127
	assert_success
	is_adopted
	names_last
	# Before anything else; and systemd knows.
	[[ $(steps) == 'write /etc/fstab.ramraid-old
write /etc/fstab
write /etc/crypttab.ramraid-old
write /etc/crypttab
systemctl daemon-reload
write /etc/ramraid/state/data.adopted'* ]] || fail "$(steps)"
	verb adopt --yes --fix-fstab data /dev/md127
	assert_success
	names_last
}

@test "adopt --fix-fstab killed after any step of it: a second run completes it" {
	local n
	for n in {1..6}; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		numbered_names
		KILL_AFTER=$n
		verb adopt --yes --fix-fstab data /dev/md127
		KILL_AFTER=0
		assert_failure 137
		verb adopt --yes --fix-fstab data /dev/md127
		assert_success
		is_adopted
		names_last
	done
}

@test "adopt --fix-fstab keeps older copies, follows a link, and refuses what it can't name by a UUID" {
	numbered_names
	echo older >"$R/etc/fstab.ramraid-old"
	mv "$R/etc/crypttab" "$R/etc/crypttab.real"
	ln -s crypttab.real "$R/etc/crypttab"
	verb adopt --yes --fix-fstab data /dev/md127
	assert_success
	[[ $(<"$R/etc/fstab.ramraid-old") == older && -L $R/etc/crypttab &&
		$(<"$R/etc/crypttab.real") == *UUID=cccc* ]]
	cmp "$BATS_TEST_TMPDIR/fstab" "$R/etc/fstab.ramraid-old.2"
	cmp "$BATS_TEST_TMPDIR/crypttab" "$R/etc/crypttab.ramraid-old"

	rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
	setup
	numbered_names
	sed -i s/crypto_LUKS/swap/ "$R/holds"
	refused 4 "/etc/crypttab:2: /dev/md127p2 (it holds swap, which can't be named by UUID there), \
a name that" --fix-fstab data /dev/md127
	sed -i 's/cccc swap/ crypto_LUKS/; s/^md127 aaaa/md127 /' "$R/holds"
	refused 4 '/etc/fstab:3: /dev/md/old (' --fix-fstab data /dev/md127
	sed -i 's/^md127 .*/md127 aaaa ext4 filesystem/; s/^md127p2.*/md127p2 cccc crypto_LUKS crypto/' "$R/holds"
	ln -sf ../../sda "$R/dev/disk/by-uuid/cccc"
	refused 4 '(its UUID cccc leads to another device, /dev/sda)' --fix-fstab data /dev/md127
	rm "$R/dev/disk/by-uuid/cccc"
	refused 4 '(udev has no link /dev/disk/by-uuid/cccc; try: udevadm trigger /dev/md127p2)' \
		--fix-fstab data /dev/md127
	ln -s ../../md127p2 "$R/dev/disk/by-uuid/cccc"
	printf '\0' | tee -a "$R/etc/fstab" >>"$R/etc.before/fstab"
	verb adopt --yes --fix-fstab data /dev/md127
	assert_failure 1
	assert_output -p '/etc/fstab could not be changed; it is as it was'
	assert_output -p 'to go on: ramraid adopt --fix-fstab data /dev/md127'
	untouched
}

@test "adopt --fix-fstab of a stopped array reads its UUID once it runs" {
	stopped inactive
	printf '/dev/md127 /srv/data ext4 defaults 0 2\n' |
		tee "$R/etc/fstab" >"$R/etc.before/fstab"
	refused 4 '/etc/fstab:1: /dev/md127, a name that it will not have after the next boot; write /dev/md/data there, or add --fix-fstab' data /dev/md127
	holds md127 aaaa ext4 filesystem
	verb adopt --yes --fix-fstab data /dev/md127
	assert_success
	is_adopted
	[[ $(<"$R/etc/fstab") == 'UUID=aaaa /srv/data ext4 defaults 0 2' &&
		$(<"$R/etc/fstab.ramraid-old") == /dev/md127* ]]
}

@test "adopt names the entries in fstab that lead to nothing now, except those of other arrays" {
	printf '/dev/md0 /srv/data ext4 nofail 0 2\n/dev/md/there /x ext4 nofail 0 2\n/dev/md/data /y ext4 nofail 0 2\n' >"$R/etc/fstab"
	: >"$R/etc/ramraid/there.conf"
	verb adopt --dry-run data /dev/md127
	assert_success
	assert_output -p "data: /etc/fstab:1: /dev/md0 leads to nothing now. If it was this array, \
write /dev/md/data there"
	[[ $(grep -c 'leads to nothing' <<<"$output") == 1 ]]
	holds md127 aaaa ext4 filesystem
	verb adopt --dry-run data /dev/md127
	assert_output -p 'If it was this array, write UUID=aaaa or /dev/md/data there'
}

@test "adopt refuses a name that has drop-ins of an earlier array" {
	mkdir -p "$R/etc/ramraid/data.conf.d" "$R/etc.before/ramraid/data.conf.d"
	echo MEMBER=/dev/disk/by-id/ata-Z |
		tee "$R/etc/ramraid/data.conf.d/x.conf" >"$R/etc.before/ramraid/data.conf.d/x.conf"
	refused 4 'belong to another array' data /dev/md127
}

# dropin LINE…: there before its array.
dropin() {
	mkdir -p "$R/etc/ramraid/data.conf.d"
	printf '%s\n' "$@" >"$R/etc/ramraid/data.conf.d/x.conf"
	rm -r "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
}

@test "adopt refuses --ram beside a drop-in with another RAM=, and names its line" {
	fast
	put dev-sdb/state in_sync,write_mostly
	dropin '# of an earlier array' RAM=brd
	refused 4 "data: $R/etc/ramraid/data.conf.d/x.conf:2: RAM=brd would override the \
RAM=/dev/disk/by-id/nvme-X that $R/etc/ramraid/data.conf gets. Delete that line, or give --ram=brd" \
		--ram=/dev/nvme0n1 data /dev/md127
	refused 4 'x.conf:2: RAM=brd would override the RAM=none' --ram=none data /dev/md127
	verb adopt --dry-run --ram=brd data /dev/md127
	assert_success
	# The last line counts.
	dropin RAM=brd RAM=auto
	refused 4 'x.conf:2: RAM=auto would override the RAM=brd' --ram=brd data /dev/md127
	# What is read before the array's own file overrides nothing.
	dropin WAIT=no
	echo RAM=brd >"$R/etc/ramraid/ramraid.conf"
	verb adopt --dry-run --ram=none data /dev/md127
	assert_success
	assert_line RAM=none
	[[ $(grep -c 'these drop-ins apply' <<<"$output") == 1 ]]
}

@test "adopt judges an array by the drop-ins that are there before it" {
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     204800 kB\n" >"$R/proc/meminfo"
	refused 4 'RAM_RESERVE keeps' data /dev/md127
	dropin RAM=none
	verb adopt --dry-run data /dev/md127
	assert_success
	refute_output -p 'RAM leg'
	refute_line -e ^RAM=
	dropin RAM_RESERVE=50%
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     524288 kB\n" >"$R/proc/meminfo"
	refused 4 'RAM_RESERVE keeps' data /dev/md127
}

@test "adopt refuses a drop-in that overrides ROOT=yes or BLOCK=4096 of an array that needs it" {
	dropin BLOCK=auto ROOT=no
	echo '30 1 9:127 / / rw,relatime shared:1 - ext4 /dev/md127 rw' >"$R/proc/1/mountinfo"
	refused 4 'x.conf:2: ROOT=no would override the ROOT=yes that' data /dev/md127
	refute_output -p 'or give'
	echo '30 1 9:127 / /srv/data rw,relatime shared:1 - ext4 /dev/md127 rw' \
		>"$R/proc/1/mountinfo"
	verb adopt --dry-run data /dev/md127
	assert_success
	mkdir -p "$R"/sys/class/block/sda/queue
	echo 4096 >"$R/sys/class/block/sda/queue/logical_block_size"
	refused 4 'x.conf:1: BLOCK=auto would override the BLOCK=4096 that' data /dev/md127
}

@test "adopt refuses an impossible name, one of another array, and an array that is configured already" {
	refused 2 "can't be an array's name" ../x /dev/md127
	refused 2 '--ram=tape' --ram=tape data /dev/md127
	refused 3 'there is no block device' data /dev/md5
	refused 3 'is no md array' data /dev/sda
	: >"$R/dev/md126"
	ln -s ../md126 "$R/dev/md/mine"
	refused 4 '/dev/md/mine is another array (md126)' mine /dev/md127
	printf 'UUID=01234567-89ab-4cde-8f01-23456789abcd\nMEMBER=/dev/disk/by-id/ata-A\n' |
		tee "$R/etc/ramraid/old.conf" >"$R/etc.before/ramraid/old.conf"
	refused 4 'is configured already, as old' data /dev/md127
	# Nothing else is said of it, such as what to take out first.
	not grep -q 'first:' <<<"$output"
	refused 4 'there is nothing to adopt' old /dev/md127
	sed -i s/01234567/11111111/ "$R/etc/ramraid/old.conf" "$R/etc.before/ramraid/old.conf"
	refused 4 'exists already, for the array 11111111' old /dev/md127
}

# by_hand: the array is one of the article's: a ramdisk beside two write-mostly disks, with no
# bitmap.
by_hand() {
	mkdir -p "$MD/dev-rd0" "$R"/sys/{class/block,block}/rd0 \
		"$R/sys/class/block/rd0/holders/md127" "$R/proc/sys/kernel/random"
	echo of-this-boot >"$R/proc/sys/kernel/random/boot_id"
	echo 5 >"$R/sys/block/rd0/diskseq"
	: >"$R/sys/kernel/rapiddisk/mgmt"
	echo 'rd0 104857600 0 99999744 0' >"$R/sys/kernel/rapiddisk/devices"
	put raid_disks 3 dev-rd0/slot 0 dev-rd0/state in_sync dev-rd0/offset 2048 \
		dev-rd0/bad_blocks '' \
		dev-sda/slot 1 dev-sdb/slot 2 dev-sda/state in_sync,write_mostly dev-sdb/state \
		in_sync,write_mostly
	superblock_of 0123456789ab4cde8f0123456789abcd 0 >"$R/dev/rd0"
}
# superblock_of UUID NUMBER [WRITE-MOSTLY]: a member of the array UUID that has this device number,
# and its slot.
superblock_of() {
	perl -0777 -pe 'BEGIN { ($uuid, $number, $flags) = splice @ARGV, 0, 3 } substr($_, 4112, 16) = pack "H*", $uuid; substr($_, 4312, 4) = pack "V", 0;
		substr($_, 4256, 4) = pack "V", $number; substr($_, 4264, 1) = pack "C", $number; substr($_, 4280, 1) = pack "C", $flags;
		my $sb = substr $_, 4096, 256 + 2 * unpack "V", substr $_, 4316, 4; my $sum = 0; $sum += $_ for unpack "V*", $sb . "\0\0" x (length($sb) / 2 % 2);
		substr($_, 4312, 4) = pack "V", ($sum & 0xffffffff) + ($sum >> 32)' "$1" \
		"$2" "${3-1}" "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin"
}
# stopped [inactive]: a ramdisk beside two disks, after a reboot.
stopped() {
	by_hand
	rm -r "$MD/dev-rd0" "$R"/sys/{block,class/block}/rd0 "$R/dev/rd0"
	put degraded 1
	mv "$R/sys/block/md127" "$R/saved"
	superblock_of 0123456789ab4cde8f0123456789abcd 1 >"$R/dev/sda"
	superblock_of 0123456789ab4cde8f0123456789abcd 2 >"$R/dev/sdb"
	: >"$R/proc/1/mountinfo"
	if [[ ${1-} == inactive ]]; then
		mkdir -p "$MD"/dev-sd{a,b}
		put array_state inactive uuid 00000000-0000-0000-0000-000000000000 dev-sda/state \
			spare dev-sdb/state spare dev-sda/slot none dev-sdb/slot none
	else
		rm -r "$R"/sys/class/block/sd{a,b}/holders/md127 "$R/dev/md127" "$R/dev/md/data"
	fi
}

@test "a ramdisk made by hand leaves only after the bitmap is added, and its memory is freed" {
	by_hand
	adopt
	assert_success
	is_adopted
	[[ $(steps) == 'write /etc/ramraid/state/data.adopted
systemctl --quiet enable ramraid@data.service
write /etc/ramraid/data.conf
write /etc/ramraid/state/data.contents
mdadm --grow /dev/md127 --bitmap=internal --bitmap-chunk=1024K
write /etc/mdadm/mdadm.conf.d/ramraid-data.conf
write /etc/mdadm/mdadm.conf
systemctl daemon-reload
mdadm --manage /dev/md127 --fail /dev/rd0
mdadm --manage /dev/md127 --remove /dev/rd0
echo rapiddisk detach 0 /sys/kernel/rapiddisk/mgmt 
write /etc/ramraid/state/data.adopted
systemctl start --no-block ramraid@data.service' ]] || fail "$(steps)"
	grep -qx 'ramdisk=rd0 5 of-this-boot' "$R/etc/ramraid/state/data.adopted"
	grep -qx writemostly=/dev/disk/by-id/ata-B "$R/etc/ramraid/state/data.adopted"
	not grep -q rd0 "$R/etc/ramraid/data.conf"
	# The one that is in the array now is ramraid's.
	rm "$BATS_TEST_TMPDIR/calls"
	adopt
	[[ $(calls) != *mdadm* && $(calls) != *detach* ]] || fail "$(calls)"
}

@test "adopt takes out a ramdisk made by hand beside one disk, and --dry-run prints each command" {
	by_hand
	rm -r "$MD/dev-sdb"
	put raid_disks 2
	verb adopt --dry-run data /dev/md127
	assert_success
	untouched
	assert_line 'mdadm --manage /dev/md127 --fail /dev/rd0'
	assert_line 'mdadm --manage /dev/md127 --remove /dev/rd0'
	assert_line "echo rapiddisk\\ detach\\ 0 > $R/sys/kernel/rapiddisk/mgmt"
	refute_line -p --raid-devices
	adopt
	[[ $(steps) == *'--remove /dev/rd0'*'detach 0'*'systemctl start'* &&
		$(<"$MD/raid_disks") == 2 ]] ||
		fail "$(steps)"
}

# by_hand_killed_after STEPS: an array with a ramdisk made by hand, all new, and adopt killed
# after so many.
by_hand_killed_after() {
	rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
	setup
	by_hand
	KILL_AFTER=$1
	adopt
	KILL_AFTER=0
}

@test "adopt with a ramdisk made by hand, killed after any step: a second run completes, and frees only that one" {
	local n=0 killed=0
	while n=$((n + 1)) && ((n < 40)); do
		by_hand_killed_after "$n"
		[[ $status == 137 ]] || break
		killed=$((killed + 1))
		[[ $(<"$MD/bitmap/location") == +8 || -e $MD/dev-rd0 ]] ||
			fail "after $n steps: out before there is a bitmap"
		adopt
		assert_success
		is_adopted
		[[ $(calls | grep -c 'rapiddisk detach 0') == 1 &&
			$(<"$R/sys/block/rd0/diskseq") == 9 ]] ||
			fail "after $n steps: $(calls)"
	done
	((killed >= 12)) || fail "$killed"
}

@test "release of a half-finished adopt frees the ramdisk made by hand, or leaves it in the array as before" {
	local n
	# The note, the configuration, the claim, failed, removed, given back.
	for n in 1 3 7 10 11 12; do
		by_hand_killed_after "$n"
		assert_failure 137
		verb release --yes data
		assert_success
		if [[ -e $MD/dev-rd0 ]]; then
			[[ $(calls) != *mdadm* && -e $R/sys/block/rd0 &&
				$(<"$MD/raid_disks") == 3 ]] ||
				fail "after $n steps: $(calls)"
		else
			[[ $(calls | grep -c 'rapiddisk detach 0') == 1 &&
				! -e $R/sys/block/rd0 ]] ||
				fail "after $n steps: $(calls)"
			[[ $(<"$MD/raid_disks") == 2 && $(<"$MD/bitmap/location") == none ]] ||
				fail "after $n steps: $(calls)"
		fi
		[[ ! -e $R/etc/ramraid/state/data.adopted && ! -e $R/etc/ramraid/data.conf ]]
	done
}

@test "before it asks, adopt names what else makes ramdisks on this machine" {
	by_hand
	printf '#!/bin/sh\nrapiddisk -a 1024\nmdadm --add /dev/md0 /dev/rd0\n' >"$R/etc/rc.local"
	chmod 755 "$R/etc/rc.local"
	mkdir "$R/proc/77"
	echo 77 >"$R/run/rapiddiskd.pid"
	echo rapiddiskd >"$R/proc/77/comm"
	verb adopt data /dev/md127
	assert_failure 2
	assert_output -p "found that /etc/rc.local makes a ramdisk in line 2: rapiddisk -a 1024. \
Do: take that line out of /etc/rc.local"
	assert_output -p 'found that rapiddiskd.service runs:'
	[[ $output == *'gives a ramdisk to an array in line 3'*'becomes the mirror'* ]] ||
		fail "$output"
	verb adopt --dry-run data /dev/md127
	assert_success
	assert_output -p 'Do: systemctl disable --now rapiddiskd.service'
}

# half_adopted: killed when the configuration had been written, and the ramdisk was still in the
# array.
half_adopted() {
	by_hand
	KILL_AFTER=${1-5}
	adopt
	KILL_AFTER=0
	assert_failure 137
	rm "$BATS_TEST_TMPDIR/calls"
}

@test "release of a half-finished adopt shows with --dry-run that it frees the ramdisk; a second run does so" {
	local n
	half_adopted
	verb release --dry-run data
	assert_success
	assert_line 'mdadm --manage /dev/md127 --remove /dev/rd0'
	assert_line "echo rapiddisk\\ detach\\ 0 > $R/sys/kernel/rapiddisk/mgmt"
	[[ -z $(calls) ]] || fail "$(calls)"
	for n in 1 4 5 6 8 10; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		half_adopted
		KILL_AFTER=$n
		verb release --yes data
		KILL_AFTER=0
		assert_failure 137
		verb release --yes data
		assert_success
		[[ $(calls | grep -c 'rapiddisk detach 0') == 1 && ! -e $R/sys/block/rd0 ]] ||
			fail "after $n steps: $(calls)"
	done
}

@test "release of a half-finished adopt says what to type for a ramdisk whose memory it can't free" {
	half_adopted
	FAILS='echo rapiddisk detach'
	verb release --yes data
	assert_success
	assert_output -p "data: the memory of /dev/rd0 was not given back; when nothing uses it \
any more: rapiddisk --detach rd0"
	rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
	FAILS=''
	setup
	half_adopted 11 # it has left
	mv "$R/sys/block/rd0" "$R/sys/block/ram0"
	mv "$R/sys/class/block/rd0" "$R/sys/class/block/ram0"
	mv "$R/dev/rd0" "$R/dev/ram0"
	sed -i 's/^ramdisk=rd0/ramdisk=ram0/' "$R/etc/ramraid/state/data.adopted"
	verb release --yes data
	assert_success
	assert_output -p 'data: /dev/ram0 keeps its memory until brd is unloaded (rmmod brd)'
	[[ $(calls) != *detach* && -e $R/sys/block/ram0 ]]
}

@test "a ramdisk that has left is freed only if it is still the recorded one, and nobody uses it" {
	local other
	for other in number boot user uuid ours; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		by_hand
		FAILS='echo rapiddisk detach'
		adopt
		assert_output -p "the memory of /dev/rd0 was not given back; when nothing uses it \
any more: rapiddisk --detach rd0"
		FAILS=''
		rm -rf "$MD/dev-rd0" "$R"/sys/class/block/rd0/holders/md127 "$R/active" \
			"$R"/run/ramraid/data.*
		echo 5 >"$R/sys/block/rd0/diskseq"
		sed -i s/^done=.*/done=no/ "$R/etc/ramraid/state/data.adopted"
		case $other in
		number) echo 6 >"$R/sys/block/rd0/diskseq" ;;
		boot) echo of-another-boot >"$R/proc/sys/kernel/random/boot_id" ;;
		user) mkdir "$R/sys/class/block/rd0/holders/dm-0" ;;
		uuid) superblock_of aaaabbbbccccddddeeeeffff00001111 0 >"$R/dev/rd0" ;;
		ours) echo rapiddisk rd0 102400 5 used >"$R/run/ramraid/data.ram" ;;
		esac
		rm "$BATS_TEST_TMPDIR/calls"
		adopt
		[[ $(calls) != *detach* ]] || fail "$other: $(calls)"
	done
	rm -r "$R/sys/block/rd0/diskseq" "$R/run/ramraid/data.ram" "$BATS_TEST_TMPDIR/calls"
	echo 5 >"$R/sys/block/rd0/diskseq"
	sed -i s/^done=.*/done=no/ "$R/etc/ramraid/state/data.adopted"
	rm -rf "$MD/dev-rd0" "$R"/sys/class/block/rd0/holders/md127 "$R/active"
	adopt
	[[ $(calls) == *'detach 0'* ]] || fail "$(calls)"
}

@test "adopt refuses a ramdisk made by hand that is not in sync or used elsewhere, and an array that lacks legs" {
	by_hand
	put dev-rd0/state spare
	refused 4 '/dev/rd0: is a ramdisk that md is just filling, or a spare' data /dev/md127
	put dev-rd0/state in_sync sync_action recover bitmap/location +8
	refused 4 'md is at work on it (recover' data /dev/md127
	put sync_action idle raid_disks 4
	refused 4 'expected as many members as slots, found 2 in 4 slots' data /dev/md127
	put raid_disks 3
	mkdir "$R/sys/class/block/rd0/holders/dm-0"
	refused 4 '/dev/rd0: is a ramdisk that others use as well (dm-0, md127)' data /dev/md127
	rmdir "$R/sys/class/block/rd0/holders/dm-0"
	put dev-sdb/bad_blocks '8 8'
	refused 4 'ata-B: has bad blocks' data /dev/md127
	put dev-sdb/bad_blocks ''
	mkdir -p "$MD/dev-rd1" "$R/sys/class/block/rd1/holders/md127"
	put dev-rd1/state in_sync dev-rd1/slot 3
	refused 4 '/dev/md127: has more than one ramdisk (rd0 rd1)' data /dev/md127
	rm -r "$MD"/dev-{rd1,sda,sdb}
	refused 4 '/dev/md127: has no member that is a disk' data /dev/md127
}

@test "adopt tells nobody to take out what alone has some blocks, be it a ramdisk or a disk" {
	by_hand
	mv "$MD/dev-rd0" "$MD/dev-ram3"
	mv "$R/sys/block/rd0" "$R/sys/block/ram3"
	mv "$R/sys/class/block/rd0" "$R/sys/class/block/ram3"
	mv "$R/dev/rd0" "$R/dev/ram3"
	# Together, the disks have everything, but none of them alone.
	put dev-sda/bad_blocks '3000 8' dev-sdb/bad_blocks '5000 8'
	refused 4 'ramraid uses no brd that somebody else has loaded' --ram=brd data /dev/md127
	assert_output -p -- '--fail /dev/ram3 --remove /dev/ram3; rmmod brd'
	assert_output -p 'ata-A: has bad blocks, and md accepts no new member while it has; copy what is'
	refute_output -p 'replace that disk first'
	# Only the ramdisk has some blocks.
	put dev-sdb/bad_blocks '3000 8'
	refused 4 'ramraid uses no brd that somebody else has loaded' --ram=brd data /dev/md127
	refute_output -p -- --fail
	assert_output -p 'copy what is on the array elsewhere first: no other disk has all that is on it; do not'
	put dev-sda/bad_blocks ''
	refused 4 'ramraid uses no brd that somebody else has loaded' --ram=brd data /dev/md127
	assert_output -p -- '--fail /dev/ram3 --remove /dev/ram3; rmmod brd'
	assert_output -p 'replace that disk first'
}

@test "adopt does not free a ramdisk of brd or zram made by hand, but says how; --ram=brd is refused beside it" {
	local node
	for node in ram3 zram0; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		by_hand
		mv "$MD/dev-rd0" "$MD/dev-$node"
		mv "$R/sys/block/rd0" "$R/sys/block/$node"
		mv "$R/sys/class/block/rd0" "$R/sys/class/block/$node"
		mv "$R/dev/rd0" "$R/dev/$node"
		[[ $node != ram3 ]] ||
			refused 4 'ramraid uses no brd that somebody else has loaded' --ram=brd \
				data /dev/md127
		verb adopt --dry-run --ram=rapiddisk data /dev/md127
		assert_success
		assert_line "mdadm --manage /dev/md127 --fail /dev/$node"
		refute_line -p detach
		assert_line -p "/dev/$node keeps its memory until"
	done
}

@test "the memory check counts what a rapiddisk ramdisk will free, unless its size is unknown" {
	by_hand
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     110592 kB\n" >"$R/proc/meminfo"
	verb adopt --dry-run data /dev/md127
	assert_success
	: >"$R/sys/kernel/rapiddisk/devices"
	refused 4 'RAM_RESERVE keeps' data /dev/md127
}

@test "if the legs differ, the member that becomes the RAM leg leaves first and loses its superblock" {
	local steps=0 kill
	export DIFFERENT=128 SIGNATURES='ext4 filesystem'
	for ((kill = 0; ; kill++)); do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		fast
		put dev-sdb/state in_sync,write_mostly uuid d25ee28f-56fe-4319-a24c-f6c3580c71d0
		KILL_AFTER=$kill
		verb adopt --yes --ram=/dev/nvme0n1 data /dev/md127
		if ((kill == 0)); then
			steps=$(calls | grep -n '^mdadm --zero-superblock' | cut -d: -f1)
			assert_output -p '128 sectors differ between the legs'
		else
			((status == 137)) || fail "$kill: $output"
			KILL_AFTER=0
			# A start before the next run knows the device that has left.
			[[ -e $MD/dev-nvme0n1 ]] ||
				grep -qE '^refill=[0-9a-f-]{36}$' \
					"$R/etc/ramraid/state/data.adopted" ||
				fail "$kill"
			# Whatever was begun, each command that is printed names its device.
			verb adopt --dry-run --ram=/dev/nvme0n1 data /dev/md127
			assert_success
			refute_line --regexp ' /dev/$'
			verb adopt --yes --ram=/dev/nvme0n1 data /dev/md127
		fi
		[[ $(steps) == *"--fail /dev/nvme0n1"*"--remove /dev/nvme0n1"*"zero-superblock /dev/nvme0n1"*"systemctl start"* ]] ||
			fail "$kill: $output$(steps)"
		[[ $(steps) == *'wipefs --all --quiet --types nolinux_raid_member -- /dev/nvme0n1'*zero-superblock* ]] ||
			fail "$(steps)"
		! grep -q refill "$R/etc/ramraid/state/data.adopted" || fail "$kill"
		((kill < steps)) || break
	done
	((steps > 5))
}

@test "a fast member can stay as the RAM leg beside hard disks, but not in an array of equal disks" {
	fast
	echo 1 | tee "$R"/sys/class/block/sd{a,b}/queue/rotational >/dev/null
	put dev-sda/state in_sync
	verb adopt --dry-run --ram=/dev/nvme0n1 data /dev/md127
	assert_success
	assert_line -p 'stays as the RAM leg'
	assert_line "echo writemostly > $R/sys/block/md127/md/dev-sda/state"
	echo 1 >"$R/sys/class/block/nvme0n1/queue/rotational"
	refused 4 'a member can stay as the RAM leg if it is in sync' --ram=/dev/nvme0n1 data \
		/dev/md127
	verb adopt --dry-run data /dev/md127
	refute_line -p 'the fast one'
}

@test "adopt refuses a RAID10, and prints how to move the data to a mirror" {
	put level raid10
	ln -s ../../md127 "$R/dev/disk/by-id/md-uuid-0815"
	refused 4 'found raid10; to move what it holds, make a mirror on other disks' data \
		/dev/md127
	assert_output -p 'ramraid create data /dev/disk/by-id/md-uuid-0815'
}

@test "adopt uses the free slot beside write-mostly disks for the RAM leg, and adds the bitmap after the start" {
	by_hand
	rm -r "$MD/dev-rd0" "$R/sys/block/rd0" "$R/sys/class/block/rd0"
	put degraded 1
	adopt
	assert_success
	is_adopted
	[[ $(steps) != *'--raid-devices'* && $(steps) == *'systemctl start'*--bitmap=internal* ]] ||
		fail "$(steps)"
	grep -qx bitmap=none "$R/etc/ramraid/state/data.adopted"
}

# fast: a disk that does not turn, beside one that is write-mostly and one that is not. md finds
# DIFFERENT sectors that differ.
fast() {
	fake_disk nvme0n1 $((200 << 20)) disk/by-id/nvme-X
	mkdir -p "$MD/dev-nvme0n1" "$R/sys/class/block/nvme0n1/holders/md127" \
		"$R"/sys/class/block/{nvme0n1,sda,sdb}/queue
	put raid_disks 3 dev-nvme0n1/slot 0 dev-nvme0n1/state in_sync dev-nvme0n1/bad_blocks '' \
		dev-nvme0n1/offset 2048 \
		dev-sda/slot 1 dev-sdb/slot 2 dev-sda/state in_sync,write_mostly
	cp "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" "$R/dev/nvme0n1"
	echo 0 | tee "$R"/sys/class/block/{nvme0n1,sda,sdb}/queue/rotational >/dev/null
	echo $((100 << 11)) >"$R/sys/block/md127/size"
	wipefs() { [[ $* == *--all* ]] && step wipefs "$@" || echo "${SIGNATURES-}"; }
	export -f wipefs
}

@test "a fast member that --ram names stays as the RAM leg if all other members are write-mostly" {
	fast
	refused 4 '/dev/nvme0n1: a member can stay as the RAM leg if' --ram=/dev/nvme0n1 data \
		/dev/md127
	assert_output -p 'else take it out first: mdadm /dev/md127 --fail /dev/nvme0n1 --remove /dev/nvme0n1'
	# Not if nothing else has all that is on the array.
	put dev-sda/state faulty dev-sdb/state spare
	refused 4 '/dev/nvme0n1: a member can stay as the RAM leg if' --ram=/dev/nvme0n1 data \
		/dev/md127
	assert_output -p 'else wait until another disk in the array is in sync; do not take it out before that'
	refute_output -p '--fail'
	put dev-sda/state in_sync,write_mostly
	put dev-sdb/state in_sync,write_mostly
	verb adopt --dry-run data /dev/md127
	assert_line -p "/dev/nvme0n1, the fast one, becomes a disk leg, which is a lasting copy, and the \
RAM leg takes"
	assert_line -p -- '--ram=/dev/nvme0n1'
	verb adopt --dry-run --ram=/dev/nvme0n1 data /dev/md127
	assert_line -p 'stays as the RAM leg, and does not count as a lasting copy'
	assert_line "echo check > $R/sys/block/md127/md/sync_action"
	assert_line 'mdadm --zero-superblock /dev/nvme0n1'
	verb adopt --yes --ram=/dev/nvme0n1 data /dev/md127
	assert_line -p 'they are equal: /dev/nvme0n1 stays'
	[[ $(steps) != *--fail* && $(steps) != *--raid-devices* ]] || fail "$(steps)"
	grep -qx RAM=/dev/disk/by-id/nvme-X "$R/etc/ramraid/data.conf"
	[[ $(grep -c ^MEMBER= "$R/etc/ramraid/data.conf") == 2 ]]
	[[ $(<"$R/run/ramraid/data.ram") == 'device nvme0n1 '* || -e $R/active ]]
	# Without --ram it is a disk leg.
	rm -rf "$BATS_TEST_TMPDIR/calls" "${R:?}/etc" && cp -a "$R/etc.before" "$R/etc"
	put dev-nvme0n1/state in_sync
	verb adopt --dry-run data /dev/md127
	assert_line MEMBER=/dev/disk/by-id/nvme-X
	assert_line 'mdadm --grow --force /dev/md127 --raid-devices=4'
}

@test "adopt switches write-behind off first, and takes a ramdisk out only when the array is idle after that" {
	put bitmap/backlog 64 dev-sdb/state in_sync,write_mostly
	adopt
	assert_success
	[[ $(steps) == *'data.contents
echo 0 /sys/block/md127/md/bitmap/backlog '* ]] || fail "$(steps)"
	rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
	setup
	by_hand
	put bitmap/backlog 64 bitmap/location +8
	adopt
	assert_failure 4
	assert_output -p 'write-behind was on, and the array is never idle'
	[[ $(steps) != *--fail* ]] || fail "$(steps)"
	put array_state clean
	adopt
	assert_success
	is_adopted
}

@test "adopt starts and adopts an array that does not run, named by its inactive device or its disks" {
	local operands
	for operands in /dev/md127 '/dev/sda /dev/disk/by-id/ata-B'; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		[[ $operands == /dev/md127 ]] && stopped inactive || stopped
		# shellcheck disable=SC2086 # words
		verb adopt --dry-run data $operands
		assert_success
		[[ -z $(calls) && -e $R/saved ]] || fail "$(calls)"
		assert_line 'systemctl start --no-block ramraid@data.service'
		# shellcheck disable=SC2086
		verb adopt --yes data $operands
		assert_success
		is_adopted
		[[ $(steps) == 'write /etc/ramraid/state/data.adopted
systemctl --quiet enable ramraid@data.service
write /etc/ramraid/data.conf
write /etc/mdadm/mdadm.conf.d/ramraid-data.conf
write /etc/mdadm/mdadm.conf
systemctl daemon-reload
systemctl start --no-block ramraid@data.service'*'mdadm --grow /dev/md127 --bitmap=internal --bitmap-chunk=1024K'* ]] ||
			fail "$(steps)"
		[[ $(grep -c writemostly= "$R/etc/ramraid/state/data.adopted") == 2 ]]
	done
}

@test "adopt --find lists the arrays that are not configured, with the command, and changes nothing" {
	stopped inactive
	verb adopt --find
	assert_success
	assert_line 'ARRAY        STATE                  MEMBERS                      TO ADOPT IT'
	assert_line '/dev/md127   inactive, 1 of 3 away  sda sdb                      ramraid adopt NAME /dev/md127'
	untouched
	verb adopt --yes data /dev/md127
	verb adopt --find
	assert_output 'there is no RAID1 array that is not configured; see: ramraid list'
	verb adopt --find data
	assert_failure 2
}

@test "adopt --find lists a running mirror with another metadata version, and why it can't be adopted" {
	local disk version
	for disk in sda sdb; do printf '%8192s' '' >"$R/dev/$disk"; done
	for version in 1.0 1.1 0.90 external:/md126/0; do
		put metadata_version "$version"
		verb adopt --find
		assert_success
		assert_line "/dev/md127   running                sda sdb                      \
can't be adopted: expected metadata of version 1.2, found $version; \
the place of the superblock can not be changed online"
		refute_output -p 'ramraid adopt NAME'
	done
	# adopt says the same, also when the kernel has no md/uuid.
	refused 4 'expected metadata of version 1.2, found external:/md126/0; the place of' data \
		/dev/md127
	rm "$MD/uuid"
	verb adopt --find
	assert_line -p 'found external:/md126/0'
	put level raid10
	verb adopt --find
	assert_output 'there is no RAID1 array that is not configured; see: ramraid list'
}

# gpt NODE BYTES: the array that the disk is a leg of begins with a GPT for blocks of so many bytes.
gpt() {
	{
		head -c 446 /dev/zero
		printf '\0\0\2\0\xee'
		head -c 59 /dev/zero
		printf '\x55\xaa'
	} | dd of="$R/dev/$1" bs=512 seek=2048 conv=notrunc status=none
	printf 'EFI PART' | dd of="$R/dev/$1" bs=512 seek=$((2048 + $2 / 512)) conv=notrunc \
		status=none
}

@test "adopt of a stopped array with a GPT for blocks of 4096 bytes writes BLOCK=4096" {
	stopped
	gpt sda 512
	verb adopt --dry-run data /dev/sda /dev/sdb
	assert_success
	refute_output -p BLOCK=
	# One of an earlier table is further on.
	gpt sda 4096
	verb adopt --dry-run data /dev/sda /dev/sdb
	refute_output -p BLOCK=
	rm -r "$R" && setup && stopped
	gpt sda 4096
	gpt sdb 4096
	verb adopt --dry-run data /dev/sda /dev/sdb
	assert_success
	assert_line BLOCK=4096
	assert_output -p 'data: the partition table on it counts in blocks of 4096 bytes'
	verb adopt --dry-run --ram=zram data /dev/sda /dev/sdb
	refute_output -p 'nothing shows whether what is on it can be used with larger ones'
	# The disks have such blocks themselves.
	mkdir -p "$R"/sys/class/block/sd{a,b}/queue
	echo 4096 | tee "$R"/sys/class/block/sd{a,b}/queue/logical_block_size
	verb adopt --dry-run data /dev/sda /dev/sdb
	refute_output -p BLOCK=
}

@test "a drop-in with BLOCK=4096 that is there before adopt holds for the array that it adopts" {
	stopped
	mkdir "$R/etc/ramraid/data.conf.d"
	echo BLOCK=4096 >"$R/etc/ramraid/data.conf.d/block.conf"
	verb adopt --yes data /dev/sda /dev/sdb
	assert_success
	assert_output -p 'these drop-ins apply to it as well'
	run "$PROJECT/bin/ramraid" config show data
	assert_line -e "^BLOCK=4096 .*/data.conf.d/block.conf:1\$"
}

@test "a drop-in with BLOCK=4096 counts when adopt judges whether a stopped array can have zram" {
	program modprobe
	stopped
	verb adopt --dry-run --ram=zram data /dev/sda /dev/sdb
	assert_output -p 'nothing shows whether what is on it can be used with larger ones'
	dropin BLOCK=4096
	verb adopt --dry-run --ram=zram data /dev/sda /dev/sdb
	refute_output -p 'nothing shows whether what is on it can be used with larger ones'
}

@test "adopt of a stopped array killed after any step: a second run completes it" {
	local n=0 killed=0
	while n=$((n + 1)) && ((n < 40)); do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		stopped
		KILL_AFTER=$n
		verb adopt --yes data /dev/sda /dev/sdb
		KILL_AFTER=0
		[[ $status == 137 ]] || break
		killed=$((killed + 1))
		[[ ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ||
			-e $R/etc/ramraid/data.conf ]] ||
			fail "after $n steps: claimed, not configured"
		verb adopt --yes data /dev/sda /dev/sdb
		assert_success
		is_adopted
	done
	((killed >= 9)) || fail "$killed"
}

@test "a resumed adopt of an array that was inactive finds it by its name if the given device no longer exists" {
	stopped inactive
	verb adopt --yes data /dev/md5
	assert_failure 3
	KILL_AFTER=8 verb adopt --yes data /dev/md127
	assert_failure 137
	[[ $(steps) == *'systemctl start --no-block ramraid@data.service' && ! -e $R/saved ]] ||
		fail "$(steps)"
	verb adopt --yes data /dev/md5
	assert_success
	is_adopted
}

@test "adopt starts no array from disks that are incomplete, not of one array, or copies of each other" {
	stopped
	refused 4 'found 1 disks for 3 slots' data /dev/sda
	superblock_of 0123456789ab4cde8f0123456789abcd 2 0 >"$R/dev/sdb"
	refused 4 "found 2 disks for 3 slots; the slot without a disk is that of a ramdisk only if \
the disks are write-mostly" data /dev/sda /dev/sdb
	superblock_of aaaabbbbccccddddeeeeffff00001111 2 >"$R/dev/sdb"
	refused 4 'these are not the disks of one array' data /dev/sda /dev/sdb
	assert_output -p '/dev/sda: 01234567-89ab-4cde-8f01-23456789abcd'
	assert_output -p '/dev/sdb: aaaabbbb-cccc-dddd-eeee-ffff00001111'
	printf '%8192s' '' >"$R/dev/sdb"
	refused 4 '/dev/sdb: no superblock of md' data /dev/sda /dev/sdb
	# The same number twice, and the same device: one is a copy of the other.
	cp "$R/dev/sda" "$R/dev/sdb"
	refused 4 '/dev/disk/by-id/ata-A' data /dev/sda /dev/sdb
	rm -r "$R" && setup && stopped inactive
	cp "$R/dev/sdb" "$R/sdb"
	printf '%8192s' '' >"$R/dev/sdb"
	refused 4 '/dev/sdb: no superblock of md' data /dev/md127
	mv "$R/sdb" "$R/dev/sdb"
	rm -r "$R/sys/class/block/sdb" "$R/dev/sdb"
	refused 4 '/dev/sdb: is no longer there. Bring it back, then: mdadm --stop /dev/md127' \
		data /dev/md127
	rm -r "$R" && setup && stopped inactive
	printf '/dev/md127 /srv/data ext4 defaults 0 2\n' |
		tee "$R/etc/fstab" >"$R/etc.before/fstab"
	refused 4 '/etc/fstab:1: /dev/md127, a name that it will not have' data /dev/md127
}

@test "adopt refuses when memory is short, but not with --ram=none" {
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     204800 kB\n" >"$R/proc/meminfo"
	refused 4 'RAM_RESERVE keeps' data /dev/md127
	verb adopt --dry-run --ram=none data /dev/md127
	assert_success
}

@test "adopt --ram=DEVICE writes a stable name, and refuses a device in use, too small, or a member" {
	fake_disk nvme0n1 $((200 << 20)) disk/by-id/nvme-X
	fake_disk nvme1n1 4096 disk/by-id/nvme-Y
	fake_disk nvme2n1 $((200 << 20))
	printf 'MemTotal:        1048576 kB\nMemFree:          1 kB\nMemAvailable:     1024 kB\n' \
		>"$R/proc/meminfo"
	wipefs() { :; }
	export -f wipefs
	verb adopt --dry-run --ram=/dev/nvme0n1 data /dev/md127
	assert_success
	assert_line RAM=/dev/disk/by-id/nvme-X
	refused 4 'too small' --ram=/dev/nvme1n1 data /dev/md127
	refused 4 'has no stable name' --ram=/dev/nvme2n1 data /dev/md127
	refused 4 "a member can stay as the RAM leg if it is in sync and not write-mostly, and the \
others are" --ram=/dev/sdb data /dev/md127
	wipefs() { echo ext4; }
	refused 4 'it holds ext4' --ram=/dev/nvme0n1 data /dev/md127
}

@test "on a kernel that may crash after a change of the slots, adopt and release refuse one, unless that is accepted" {
	echo 6.12.38+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	refused 4 'CVE-2025-38445' data /dev/md127
	verb adopt --dry-run data /dev/md127
	assert_failure 4
	: >"$R/proc/1/mountinfo"
	refused 4 'Boot an updated kernel first' data /dev/md127
	mkdir -p "$R/etc/ramraid"
	echo ACCEPT_KERNEL_FLAW=yes >"$R/etc/ramraid/ramraid.conf"
	adopt
	assert_success
	rm "$R/etc/ramraid/ramraid.conf"
	verb release --dry-run data
	assert_failure 4
	assert_output -p 'CVE-2025-38445'
	# An earlier run has come that far already.
	put raid_disks 2 degraded 0
	verb release --dry-run data
	refute_output -p 'CVE-2025-38445'
}

@test "on a kernel that may crash after a change of the slots, adopt starts no stopped array that needs one" {
	stopped
	echo 6.12.38+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	verb adopt --dry-run data /dev/sda /dev/sdb # the third slot was the ramdisk's
	refute_output -p 'CVE-2025-38445'
	fake_disk sdc $((100 << 20)) disk/by-id/ata-C
	superblock_of 0123456789ab4cde8f0123456789abcd 0 >"$R/dev/sdc"
	verb adopt --yes data /dev/sda /dev/sdb /dev/sdc
	assert_failure 4
	assert_output -p 'CVE-2025-38445'
}

@test "on a kernel that may read from a leg being rebuilt, adopt refuses an array in use" {
	echo 6.10.3-1-amd64 >"$R/proc/sys/kernel/osrelease"
	refused 4 'CVE-2024-45023' data /dev/md127
	: >"$R/proc/1/mountinfo"
	# This kernel must not change the number of slots either; nothing else is wrong.
	refused 4 'CVE-2025-38445' data /dev/md127
	refute_output -p 'CVE-2024-45023'
	[[ ${#lines[@]} == 2 ]] || fail "$output"
}

@test "release names everything that keeps an array from being released, and changes nothing" {
	verb release --yes data
	assert_failure 3
	adopt
	rm "$BATS_TEST_TMPDIR/calls" && rm -r "$R/etc.before" && cp -a "$R/etc" "$R/etc.before"
	put dev-sdb/state faulty sync_action check
	verb release --yes data
	assert_failure 4
	assert_output -p 'ata-B: expected in sync, found faulty'
	assert_output -p 'md is at work on it (check)'
	untouched
	sed -i /ata-B/d "$R/etc/ramraid/data.conf"
	verb release --yes data
	assert_failure 4
	assert_output -p '/dev/md127: has a member that the configuration does not name, /dev/sdb. Name it as MEMBER, or take it out: mdadm /dev/md127 --fail /dev/sdb --remove /dev/sdb'
	cp "$R/etc.before/ramraid/data.conf" "$R/etc/ramraid/data.conf"
	untouched
	# The other way of writing the UUID, and last in the file.
	sed 's/^UUID=.*/UUID=99999999-2222-3333-4444-555555555555/' "$R/etc/ramraid/data.conf" \
		>"$R/etc/ramraid/data-old.conf"
	sed -n 's/-//g; s/^UUID=\(........\)\(........\)\(........\)/UUID=\1:\2:\3:/p' \
		"$R/etc/ramraid/data.conf" >>"$R/etc/ramraid/data-old.conf"
	verb release --yes data
	assert_failure 4
	assert_output \
		-p 'data-old.conf is about this array as well. Delete the file that is not needed'
	rm "$R/etc/ramraid/data-old.conf"
	untouched
	put array_state inactive
	verb release --yes data
	assert_failure 3
	assert_output -p 'is not running'
	untouched
}

# While a release is at work, and when systemd stops the unit for it.
@test "stop leaves an array alone during release: with 0 in the unit, with a refusal if a person types it" {
	adopt
	rm "$BATS_TEST_TMPDIR/calls"
	: >"$R/run/ramraid/data.released"
	verb stop data
	assert_failure 4
	assert_output -p 'ramraid release data'
	export RAMRAID_UNIT=data
	output=$(bash -c 'source "$1"; set -eu; SYSTEMD_EXEC_PID=$$ main stop -- data' - \
		"$PROJECT/bin/ramraid" 2>&1)
	[[ $output == *'the array stays as it is'* && -z $(calls) ]] || fail "$output $(calls)"
}

@test "only the first start after adopt may find the array in use; any start deletes the note of a release" {
	libraries
	loop_run() { called "$2 ${3-}" && conf_need_keep "$1"; }
	verify_legs() { :; }
	conf_need() { :; } # CONF and MEMBERS are those above
	declare -gA CONF=([WAIT]=yes [UUID]=u [RAM]=auto [RESCUE]=none)
	MEMBERS=(/dev/disk/by-id/ata-A)
	mkdir -p "$R/run/ramraid"
	: >"$R/run/ramraid/data.taken"
	: >"$R/run/ramraid/data.released"
	# These notes are about the run before.
	for note in told members refused; do : >"$R/run/ramraid/data.$note"; done
	run start_here data
	run start_here data
	assert_success
	[[ $(calls) == $'no in-use\nno ' && ! -e $R/run/ramraid/data.released ]] || fail "$(calls)"
	for note in told members refused; do [[ ! -e $R/run/ramraid/data.$note ]]; done
}

@test "a refused start triggers one more look after it has released the lock" {
	libraries
	declare -g NAME=data
	loop_run() { return 4; }
	conf_need() { :; }
	hotplug_refused() { called refused; }
	transitions_of_start() { :; }
	hotplug_trigger() { array_lock_is_free data && called asks; }
	declare -gA CONF=([WAIT]=yes [UUID]=u [RAM]=auto [RESCUE]=none)
	mkdir -p "$R/run/ramraid"
	LOOP_NO_RAM='' run start_here data
	assert_failure 4
	[[ $(calls) == $'refused\nasks' ]] || fail "$(calls)"
}

# A shutdown may come while it waits for the lock, or a moment after it got it: the array may run,
# and nobody else would release its RAM leg.
@test "a start that is terminated before it holds the lock, or right after, stops the array" {
	libraries
	copy_stop() { called "copy_stop $1"; }
	systemd_is_unit() { :; }
	declare -g NAME=data
	printf '#!/bin/bash\nprintf "%%s\n" "$*"\n' >"$BATS_TEST_TMPDIR/ramraid"
	chmod +x "$BATS_TEST_TMPDIR/ramraid"
	BASH_ARGV0=$BATS_TEST_TMPDIR/ramraid
	conf_need() { kill -TERM "$BASHPID"; }
	set -u # as the program has it
	run start_here data
	assert_success
	assert_line 'stop -- data'
	array_lock() { kill -TERM "$BASHPID"; }
	run start_here data
	assert_success
	assert_line 'stop -- data'
	[[ $(calls) == $'copy_stop data\ncopy_stop data' ]] || fail "$(calls)"
}

# systemd takes a unit for up when it has read "ready", and a stop may come between the word and the
# reading; then it runs no ExecStop=.
@test "a start terminated right after it reported ready stops the array, unless systemd runs ExecStop=" {
	libraries
	copy_stop() { :; }
	systemd_is_unit() { :; }
	systemctl() {
		[[ $* == "show --property=SubState --value ramraid@data.service" ]] &&
			printf '%s\n' "$SUBSTATE"
	}
	declare -g NAME=data SYSTEMD_READY=yes
	printf '#!/bin/bash\nprintf "%%s\n" "$*"\n' >"$BATS_TEST_TMPDIR/ramraid"
	chmod +x "$BATS_TEST_TMPDIR/ramraid"
	BASH_ARGV0=$BATS_TEST_TMPDIR/ramraid
	SUBSTATE=stop-sigterm run start_interrupted data
	assert_line 'stop -- data'
	SUBSTATE=stop run start_interrupted data
	assert_success
	refute_line 'stop -- data'
	assert_line -p 'the array goes on as it is'
	unset SYSTEMD_READY
	SUBSTATE=stop run start_interrupted data
	assert_line 'stop -- data'
}

@test "an adopt of a stopped array whose start is refused says so, and does not report it as whole" {
	stopped inactive
	: >"$R/refuses"
	verb adopt --yes data /dev/md127
	assert_failure 4
	assert_output -p 'data: was not started; see: ramraid status data'
	assert_output -p 'to go on: ramraid adopt data /dev/md127'
	refute_output -p 'data: whole'
	[[ $(steps) != *--grow* ]] || fail "$(steps)"
	rm "$R/refuses"
	verb adopt --yes data /dev/md127
	assert_success
	is_adopted
}

@test "a resumed adopt does not take another array of that name for the one that was inactive" {
	stopped inactive
	KILL_AFTER=8 verb adopt --yes data /dev/md127
	assert_failure 137
	# One of several disks that is away is none, either.
	verb adopt --yes data /dev/sda /dev/nosuch
	assert_failure 3
	assert_output -p 'there is no block device /dev/nosuch'
	sed -i 's/^uuid=........-/uuid=99999999-/' "$R/etc/ramraid/state/data.adopted"
	verb adopt --yes data /dev/md5
	assert_failure 3
	assert_output -p 'there is no block device /dev/md5'
	# A second array has got its name.
	sed -i 's/^uuid=........-/uuid=01234567-/' "$R/etc/ramraid/state/data.adopted"
	fake_disk md9 $((100 << 20))
	mkdir -p "$R/sys/block/md9/md"
	echo active >"$R/sys/block/md9/md/array_state"
	echo 99999999-89ab-4cde-8f01-23456789abcd >"$R/sys/block/md9/md/uuid"
	ln -sfn ../md9 "$R/dev/md/data"
	verb adopt --yes data /dev/md5
	assert_failure 3
	assert_output -p 'there is no block device /dev/md5'
	ln -sfn ../md127 "$R/dev/md/data"
	verb adopt --yes data /dev/md5
	assert_success
	is_adopted
}

@test "before adopt starts a stopped array, it says that the RAM leg takes the free slot" {
	stopped inactive
	verb adopt data /dev/md127
	assert_failure 2
	assert_output -p "the RAM leg takes the free slot; if a disk is missing, bring it back \
first"
}
