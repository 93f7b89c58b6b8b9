#!/usr/bin/env bats
# ramraid check: a healthy mirror, on which nothing is found; and each fault planted on it, which
# alone is found.

readonly ID=01234567-89ab-4cde-8f01-23456789abcd NEW=6.12.57+deb13-amd64 OLD=6.1.0-40-amd64

setup() {
	load helper
	world
	fake_disk sda $((200 << 20))
	fake_disk sdb $((200 << 20))
	fake_disk sda1 $((100 << 20)) disk/by-id/ata-A-part1
	fake_disk sdb1 $((100 << 20)) disk/by-id/ata-B-part1
	fake_disk rd0 $((100 << 20))
	mkdir -p "$R/run/systemd/system" "$R/proc/sys/kernel" "$R/run/ramraid" \
		"$R/etc/ramraid/state"
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     524288 kB\n" >"$R/proc/meminfo"
	echo "$NEW" >"$R/proc/sys/kernel/osrelease"
	partitions
	array
	configured
	kernel "$NEW"
	kernel "$OLD"
	system
	export TMPDIR=$BATS_TEST_TMPDIR
}

# Their disks, as sysfs has it.
partitions() {
	local disk
	for disk in sda sdb; do
		mkdir -p "$R/sys/block/$disk"
		mv "$R/sys/class/block/${disk}1" "$R/sys/block/$disk/"
		ln -s "../../block/$disk/${disk}1" "$R/sys/class/block/${disk}1"
		echo 1 >"$R/sys/block/$disk/${disk}1/partition"
	done
}

# A whole mirror of two partitions and a ramdisk, mounted.
array() {
	local leg
	MD=$R/sys/block/md127/md
	mkdir -p "$MD/bitmap" "$R/sys/block/md127/holders" "$R/sys/block/rd0" "$R/dev/md" \
		"$R/dev/disk/by-uuid"
	ln -s ../../block/md127 "$R/sys/class/block/md127"
	echo 9:127 >"$R/sys/block/md127/dev"
	: >"$R/dev/md127"
	ln -s ../md127 "$R/dev/md/data"
	ln -s ../../md127 "$R/dev/disk/by-uuid/0815"
	put level raid1 metadata_version 1.2 array_state active raid_disks 3 degraded 0 \
		sync_action idle resync_start none component_size 100000 uuid "$ID" \
		bitmap/location +8 bitmap/metadata internal bitmap/backlog 0
	echo 200000 >"$R/sys/block/md127/size"
	for leg in sda1 sdb1; do echo '7 0 56 0 0 0 0 0 0 0 0' >"$R/sys/class/block/$leg/stat"; done
	for leg in rd0:0 sda1:1 sdb1:2; do member "${leg%:*}" in_sync,write_mostly "${leg#*:}"; done
	put dev-rd0/state in_sync
	echo rapiddisk rd0 102400 - used >"$R/run/ramraid/data.ram"
	echo 7 >"$R/sys/block/md127/diskseq"
	echo 'md127 7' >"$R/run/ramraid/data.watched"
	echo '30 1 9:127 / /srv/data rw,relatime shared:1 - ext4 /dev/md127 rw' \
		>"$R/proc/1/mountinfo"
}
put() { # FILE VALUE …: of the array
	while (($# > 0)); do
		echo "$2" >"$MD/$1"
		shift 2
	done
}
member() { # NODE STATE SLOT
	mkdir -p "$MD/dev-$1" "$R/sys/class/block/$1/holders/md127"
	put "dev-$1/state" "$2" "dev-$1/slot" "$3" "dev-$1/offset" 2048 "dev-$1/bad_blocks" ''
}
gone() { # NODE: out of the array
	rm -r "$MD/dev-$1" "$R/sys/class/block/$1/holders/md127"
}
# It does not run, and its legs are readable.
stopped() {
	rm -r "$R/sys/block/md127" "$R/dev/md127" "$R/dev/md/data"
	rm "$R/sys/class/block/md127" "$R/run/ramraid/data.ram"
	rmdir "$R"/sys/class/block/*/holders/md127
	: >"$R/proc/1/mountinfo"
	cp "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" "$R/dev/sda1"
	sed -i "s/^UUID=.*/UUID=d25ee28f-56fe-4319-a24c-f6c3580c71d0/" "$R/etc/ramraid/data.conf"
	sed -i '/sdb1/d; /ata-B/d' "$R/etc/ramraid/data.conf"
	sed -i 's/^uuid=.*/uuid=d25ee28f-56fe-4319-a24c-f6c3580c71d0/' \
		"$R/etc/ramraid/state/data.witness"
	find "$R" \( -name mdadm.conf -o -name ramraid-data.conf \) -exec sed \
		-i 's/UUID=.*/UUID=d25ee28f:56fe4319:a24cf6c3:580c71d0/' {} +
}

# As "create" leaves it.
configured() {
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/ata-A-part1\nMEMBER=/dev/disk/by-id/ata-B-part1\n' \
		"$ID" >"$R/etc/ramraid/data.conf"
	printf "uuid=%s\nlegs=c7716335-dad1-f5e0-f063-7d9eb30e4225\nevents=40\nram_slot=0\n\
generation=1\n" "$ID" >"$R/etc/ramraid/state/data.witness"
	echo UUID=0815 >"$R/etc/ramraid/state/data.contents"
	printf 'UUID=0815 /srv/data ext4 defaults 0 2\n' >"$R/etc/fstab"
	mkdir -p "$R/etc/mdadm/mdadm.conf.d"
	printf 'MAILADDR root\n' >"$R/etc/mdadm/mdadm.conf"
	claim_of_data >"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
}
claim_of_data() { (libraries && claim_text "$ID"); }

# A kernel with rapiddisk and brd, and an initramfs with the claim, beside the ARRAY line that
# mdadm's own hook adds.
kernel() { # RELEASE
	mkdir -p "$R/lib/modules/$1" "$R/boot/initrd.img-$1.d/main/etc/mdadm" \
		"$R/boot/initrd.img-$1.d/main/usr/sbin"
	printf '%s\n' 'updates/dkms/rapiddisk.ko.xz:' 'kernel/drivers/block/brd.ko.xz:' \
		>"$R/lib/modules/$1/modules.dep"
	: >"$R/lib/modules/$1/modules.builtin"
	: >"$R/boot/vmlinuz-$1"
	: >"$R/boot/initrd.img-$1"
	: >"$R/boot/initrd.img-$1.d/main/usr/sbin/mdadm"
	{
		printf 'ARRAY /dev/md/data  metadata=1.2 UUID=%s\n' "${ID//-/}" && claim_of_data
	} >"$R/boot/initrd.img-$1.d/main/etc/mdadm/mdadm.conf"
}

# What systemd says.
system() {
	mkdir -p "$R/units"
	echo enabled >"$R/enabled"
	echo active >"$R/active"
	sendmail
	program update-initramfs
	unit srv-data.mount 'ramraid@data.service -.mount' /run/systemd/generator/srv-data.mount
	unit 'systemd-fsck@dev-disk-by\x2duuid-0815.service' ramraid@data.service \
		/usr/lib/systemd/system/systemd-fsck@.service
}
sendmail() {
	mkdir -p "$R/usr/sbin"
	: >"$R/usr/sbin/sendmail"
	chmod 755 "$R/usr/sbin/sendmail"
}
program() { # NAME [TEXT]: it is installed
	printf '#!/bin/sh\n%s\n' "${2-}" >"$R/usr/sbin/$1"
	chmod 755 "$R/usr/sbin/$1"
}
# unit NAME AFTER FILE
unit() {
	printf 'Id=%s\nLoadState=loaded\nAfter=%s\nFragmentPath=%s\n' "$1" "$2" "${3-}" \
		>"$R/units/$1"
}

systemctl() {
	local unit
	case $* in
	is-enabled*) cat "$R/enabled" ;;
	*ReadWritePaths*) cat "$R/units/sandbox" 2>/dev/null ;;
	*mdmonitor.service) cat "$R/mdmonitor" 2>/dev/null ;;
	*ActiveState*ramraid-monitor@*) cat "$R/monitor" 2>/dev/null || cat "$R/active" ;;
	*ActiveState*hotplug.path) cat "$R/path" 2>/dev/null || cat "$R/active" ;;
	*ActiveState*hotplug.timer) cat "$R/timer" 2>/dev/null || cat "$R/active" ;;
	*ActiveState*) cat "$R/active" ;;
	'show --property=Id,LoadState,After,FragmentPath -- '*)
		shift 3
		[[ ! -e $R/mute ]] || return 1
		for unit; do
			cat "$R/units/$unit" 2>/dev/null ||
				printf 'Id=%s\nLoadState=not-found\nAfter=\nFragmentPath=\n' "$unit"
			echo
		done
		;;
	'show --property=Id,Requires,Requisite,BindsTo -- '*)
		shift 3
		for unit; do
			cat "$R/units/$unit.needs"
			echo
		done
		;;
	'show --property=LoadState -- hibernate.target')
		echo "LoadState=$(cat "$R/units/hibernate" 2>/dev/null || echo loaded)"
		;;
	*) called systemctl "$@" && return 99 ;;
	esac
}
lsblk() {
	cat "$R/lsblk" 2>/dev/null ||
		echo 'PATH="/dev/md127" UUID="0815" LABEL="" PARTUUID="" PARTLABEL=""'
}
unmkinitramfs() {
	called unmkinitramfs "$1"
	[[ -e $1.d/main || -e $1.d/etc ]] && cp -r "$1.d/." "$2"
}
# As dracut's: it unpacks where it is run, what the patterns take. With 3cpio, it wants an empty
# folder for each of them.
lsinitrd() {
	local pattern file
	called lsinitrd "$2"
	[[ $1 == --unpack && $PWD == */ramraid-check.* && $TMPDIR == "${PWD%/*/*}" && -d $2.d ]] ||
		return 1
	for pattern in "${@:3}"; do
		[[ -z $(ls -A) ]] || return 1
		while IFS= read -r file; do
			file=${file#"$2.d/"}
			[[ $file == $pattern ]] || continue
			mkdir -p "./${file%/*}" && cp "$2.d/$file" "$file"
		done < <(find "$2.d" -type f)
	done
}
smartctl() {
	called smartctl "${@: -1}" && [[ ! -e $R/failing || ${*: -1} != "$(<"$R/failing")" ]] ||
		return 8
}
timeout() {
	while [[ $1 == -* ]]; do shift; done
	shift && "$@"
}
# Of the array: SERVES is the disk that serves reads, if any does, "none" when no leg can.
dd() {
	[[ $* == *"if=$R/dev/md127 "* ]] || {
		builtin command dd "$@"
		return
	}
	[[ $* == *' bs=4096 '*' count=1 iflag=direct '* ]] || return 98
	echo "$*" >>"$BATS_TEST_TMPDIR/read"
	case ${SERVES-} in
	'') ;;
	none) return 1 ;;
	*)
		echo "$(($(cut -d' ' -f1 "$R/sys/class/block/$SERVES/stat") + 1)) 0 0" \
			>"$R/sys/class/block/$SERVES/stat"
		;;
	esac
}

# check ARG…: sets status and output; a program of its own, because "run" switches errexit off. What
# the machine that runs the tests has or may see is given: BLIND is a pattern of files that can't be
# read, NOBODY=yes is without root, HIDE are programs that are not there.
check() {
	export R BATS_TEST_TMPDIR
	export -f called dd systemctl lsblk unmkinitramfs lsinitrd smartctl timeout mdadm modprobe
	export -f rmmod wipefs
	status=0
	output=$(BLIND=${BLIND-} SERVES=${SERVES-} NOBODY=${NOBODY-} HIDE=${HIDE-} \
		bash -c 'set -Eeuo pipefail; shopt -s inherit_errexit; source "$1"; shift
		unset -f $HIDE
		# The machine that runs the tests may have them.
		command() { [[ $1 != -v || " $HIDE " != *" $2 "* ]] && builtin command "$@"; }
		eval "$(declare -f need | sed "1s/need/need_/")"
		need() {
			need_ "$@"
			findings_can_read() { [[ -z $BLIND || $1 != $BLIND ]]; }
			initramfs_can_read_() { findings_can_read "$1"; }
			ramdisk_makers_can_read_() { findings_can_read "$1"; }
			findings_is_root() { [[ -z $NOBODY ]]; }
		}
		main check "$@"' - "$PROJECT/bin/ramraid" "$@" 2>"$BATS_TEST_TMPDIR/said" </dev/null) || status=$?
	output+=$(<"$BATS_TEST_TMPDIR/said")
	mapfile -t lines <<<"$output"
}

# finds CODE…: exactly these, in any order, each with what to type, and the exit code that belongs
# to them. silent: none. ARGS are given to check.
ARGS=()
finds() {
	local codes code=0
	check "${ARGS[@]}"
	codes=$(sed -nE 's/^  (problem|note) ([a-z-]+): expected .*, found .*/\2/p' <<<"$output" |
		sort)
	[[ $codes == "$(printf '%s\n' "$@" | sort)" ]] || fail "expected: $*" "$output"
	[[ $(grep -c '^    action: .' <<<"$output") == "$#" ]] || fail "$output"
	[[ $output != *$'\n  problem '* ]] || code=1
	((status == code)) || fail "exit code $status" "$output"
}
silent() {
	check "${ARGS[@]}"
	[[ $status == 0 && $output == *'data: nothing to report' && ${#lines[@]} == 1 ]] ||
		fail "$status $output"
}
says() { [[ $output == *"$1"* ]] || fail "not said: $1" "$output"; }

@test "check of a healthy mirror finds nothing, exits with 0, changes nothing and leaves nothing behind" {
	find "$R" -type f -exec md5sum {} + | sort >"$BATS_TEST_TMPDIR/before"
	check
	[[ $status == 0 && $output == 'data: nothing to report' ]] || fail "$status $output"
	find "$R" -type f -exec md5sum {} + | sort | diff "$BATS_TEST_TMPDIR/before" -
	[[ -z $(find "$BATS_TEST_TMPDIR" -maxdepth 1 -name 'ramraid-check.*') ]]
	# Each initramfs once, each disk once, nothing else but some blocks of the array.
	[[ $(calls | sort) == "smartctl $R/dev/sda
smartctl $R/dev/sdb
unmkinitramfs $R/boot/initrd.img-$OLD
unmkinitramfs $R/boot/initrd.img-$NEW" ]] || fail "$(calls)"
	check --json data
	[[ $status == 0 &&
		$(jq -c . <<<"$output") == '{"version":2,"arrays":[{"name":"data","problems":0,"notes":0}],"findings":[]}' ]] ||
		fail "$output"
}

@test "check refuses impossible names, unknown arrays and unknown kernels, and takes a name twice as one" {
	check data data
	[[ $status == 0 && $output == 'data: nothing to report' ]] || fail "$output"
	check missing data
	[[ $status == 3 &&
		$output == *'data: nothing to report'*'there is no array "missing": '*'; configured: data' ]] ||
		fail "$output"
	for name in ../evil '' $'x\ny' ramraid; do
		check -- "$name"
		[[ $status == 2 && $output == *"can't be an array's name"* ]] || fail "$output"
	done
	check --kernel=9.9
	[[ $status == 2 && $output == *'there is no kernel 9.9'* ]] || fail "$output"
	for name in '' ../x $'a\nb'; do
		check --kernel="$name"
		[[ $status == 2 ]] || fail "$output"
	done
	rm "$R/etc/ramraid/data.conf" "$R"/etc/mdadm/mdadm.conf.d/*
	check
	[[ $status == 0 && $output == 'no arrays are configured in '* && ${#lines[@]} == 1 ]] ||
		fail "$output"
}

@test "the report says what was expected, what was found and what to do, with the system last" {
	echo disabled >"$R/enabled"
	: >"$R/etc/mdadm/mdadm.conf"
	check
	[[ $status == 1 && $output == 'data: 1 problem
  problem not-enabled: expected ramraid@data.service to be enabled, found it disabled
    action: systemctl enable ramraid@data.service
the system: 1 note
  note no-mail: expected NOTIFY, or MAILADDR or PROGRAM in mdadm.conf, so that somebody is notified of a failed disk, found none of them
    action: write NOTIFY=PROGRAM in '"$R"'/etc/ramraid/ramraid.conf; or "MAILADDR root" in /etc/mdadm/mdadm.conf' ]] ||
		fail "$output"
	check --json
	[[ $status == 1 ]]
	[[ $(jq -c '.findings[0] | [.array,.severity,.kernel,.action]' <<<"$output") == \
		'["data","problem",null,"systemctl enable ramraid@data.service"]' ]] ||
		fail "$output"
	[[ $(jq -c '.findings[1].array, .arrays[0]' <<<"$output") == \
		$'null\n{"name":"data","problems":1,"notes":0}' ]]
	fits() {
		jq "$1" <<<"$output" |
			perl "$BATS_TEST_DIRNAME/schema.pl" "$PROJECT/docs/check.schema.json"
	}
	fits . || fail "$output"
	for change in '.version = 1' 'del(.findings[0].action)' '.findings[0].severity = "bad"' \
		'.findings[0].code = "a b"' '.findings[0].do = "x"' '.arrays[0].notes = null'; do
		not fits "$change" >/dev/null || fail "not found: $change"
	done
	# Who asks about one array gets the findings of that, and of what concerns each array.
	ARGS=(data) && finds not-enabled no-mail
}

# ---- what the next boot depends on

@test "a unit that is disabled or masked, or of which systemd says nothing, is found" {
	echo masked >"$R/enabled"
	finds not-enabled
	says 'systemctl unmask ramraid@data.service'
	: >"$R/enabled"
	finds unseen-unit
}

@test "a copy of the configuration with the same UUID is found" {
	ARGS=(data)
	cp "$R/etc/ramraid/data.conf" "$R/etc/ramraid/data-old.conf"
	finds same-array
	says "found it in $R/etc/ramraid/data-old.conf as well"
	mv "$R/etc/ramraid/data-old.conf" "$R/etc/ramraid/data.conf.old"
	finds
}

@test "a missing claim in /etc/mdadm is found: no file, another text, another ARRAY line" {
	echo "ARRAY /dev/md0 UUID=${ID//-/}" >>"$R/etc/mdadm/mdadm.conf"
	finds not-claimed
	says 'found such a line'
	says 'action: ramraid claim'
	echo >>"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	echo x >>"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	finds not-claimed
	says 'found something else in it'
	rm "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	finds not-claimed
	says 'found no such file'
}

@test "a missing claim in the initramfs of one kernel is found, unless that initramfs has no mdadm" {
	local conf=$R/boot/initrd.img-$OLD.d/main/etc/mdadm/mdadm.conf
	echo "ARRAY /dev/md/data UUID=${ID//-/}" >"$conf"
	finds not-claimed-initramfs
	says "update-initramfs -u -k $OLD"
	check --json
	[[ $(jq -r '.findings[0].kernel' <<<"$output") == "$OLD" ]]
	# Somebody else's claim does not count.
	echo 'ARRAY <ignore> UUID=11111111:22222222:33333333:44444444' >"$conf"
	finds not-claimed-initramfs
	rm "$R/usr/sbin/update-initramfs"
	finds not-claimed-initramfs
	says 'see INITRAMFS in ramraid-concepts(7)'
	program dracut
	finds not-claimed-initramfs
	says "action: dracut --force --kver $OLD"
	program update-initramfs 'dracut --force "${initramfs}" "${version}"'
	finds not-claimed-initramfs
	says "update-initramfs -u -k $OLD"
	rm "$conf"
	finds not-claimed-initramfs
	rm "$R/boot/initrd.img-$OLD.d/main/usr/sbin/mdadm"
	silent
}

@test "the claim in the initramfs counts in each place and form that mdadm reads" {
	local folder=$R/boot/initrd.img-$NEW.d
	mv "$folder/main" "$folder.new" && rm -r "$folder" && mv "$folder.new" "$folder"
	silent
	mkdir "$folder/etc/mdadm/mdadm.conf.d"
	mv "$folder/etc/mdadm/mdadm.conf" "$folder/etc/mdadm/mdadm.conf.d/x.conf"
	silent
	echo "array \"<ignore>\" metadata=1.2 uuid=${ID//-/}" >"$folder/etc/mdadm.conf"
	rm "$folder/etc/mdadm/mdadm.conf.d/x.conf"
	silent
	echo "# ARRAY <ignore> UUID=${ID//-/}" >"$folder/etc/mdadm.conf"
	finds not-claimed-initramfs
}

@test "an initramfs that is missing, unreadable, or can't be unpacked is reported" {
	rm "$R/boot/initrd.img-$OLD"
	finds no-initramfs
	says "none in $R/boot, so that this kernel may not boot"
	says "action: update-initramfs -c -k $OLD"
	rm "$R/usr/sbin/update-initramfs"
	finds unseen-initramfs
	says "no initramfs for it in $R/boot"
	program dracut
	finds no-initramfs
	says "action: dracut --force --kver $OLD"
	program update-initramfs
	# /boot is not mounted, or the kernel comes from outside: nobody knows.
	echo "$OLD" >"$R/proc/sys/kernel/osrelease"
	mv "$R/boot/vmlinuz-$OLD" "$R/vmlinuz"
	finds unseen-initramfs
	mv "$R/vmlinuz" "$R/boot/vmlinuz-$OLD"
	: >"$R/boot/initrd.img-$OLD"
	BLIND='*initrd*' NOBODY=yes HIDE=smartctl finds unseen-reads unseen-initramfs \
		unseen-initramfs
	says "found no right to read $R/boot/initrd.img-$OLD"
	says 'action: sudo ramraid check data'
	HIDE='unmkinitramfs lsinitrd' finds unseen-initramfs unseen-initramfs
	says 'no unmkinitramfs and no lsinitrd here'
	rm -r "$R/boot/initrd.img-$OLD.d"
	finds unseen-initramfs
	says 'can not be unpacked'
}

@test "an initramfs that can't be unpacked is tried once, however many arrays ask" {
	libraries
	rm -r "$R/boot/initrd.img-$OLD.d"
	not initramfs_open "$OLD"
	[[ $INITRAMFS_WHY == *'can not be unpacked' ]]
	initramfs_open "$NEW"
	not initramfs_open "$OLD"
	[[ $INITRAMFS_WHY == *"initrd.img-$OLD can not be unpacked" ]]
	initramfs_open "$NEW"
	initramfs_close
	[[ $(calls | grep "initrd.img-$OLD") == "unmkinitramfs $R/boot/initrd.img-$OLD
lsinitrd $R/boot/initrd.img-$OLD" ]] || fail "$(calls)"
}

@test "an initramfs made by dracut is read with unmkinitramfs, or else with lsinitrd" {
	local folder=$R/boot/initrd.img-$NEW.d kernel
	for kernel in "$OLD" "$NEW"; do
		# Both folders that mdadm may read, and no mdadm.conf, unless for this host alone.
		folder=$R/boot/initrd.img-$kernel.d
		mkdir -p "$folder"/{usr/sbin,etc/mdadm.conf.d,etc/mdadm/mdadm.conf.d,big}
		rm -r "$folder/main"
		: >"$folder/usr/sbin/mdadm"
		claim_of_data | tee "$folder/etc/mdadm.conf.d/ramraid-data.conf" \
			>"$folder/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	done
	silent
	[[ $(calls | grep -c lsinitrd) == 0 ]]
	HIDE=unmkinitramfs silent
	[[ $(calls | grep lsinitrd | sort -u) == "lsinitrd $R/boot/initrd.img-$OLD
lsinitrd $R/boot/initrd.img-$NEW" ]] || fail "$(calls)"
	rm "$folder"/etc/mdadm.conf.d/*
	HIDE=unmkinitramfs silent
	rm "$folder"/etc/mdadm/mdadm.conf.d/*
	HIDE=unmkinitramfs finds not-claimed-initramfs
	says "Linux $NEW"
	: >"$folder/etc/mdadm.conf"
	HIDE=unmkinitramfs finds not-claimed-initramfs
	claim_of_data >"$folder/etc/mdadm.conf"
	HIDE=unmkinitramfs silent
	# One for this host alone, whose root file system is on no array, has no mdadm. It may be in
	# /usr/bin.
	: >"$folder/etc/mdadm.conf"
	mkdir "$folder/usr/bin" && mv "$folder/usr/sbin/mdadm" "$folder/usr/bin"
	HIDE=unmkinitramfs finds not-claimed-initramfs
	rm "$folder/usr/bin/mdadm"
	HIDE=unmkinitramfs silent
	# What there is in an image within the image nobody sees.
	: >"$folder/squashfs-root.img"
	HIDE=unmkinitramfs finds unseen-initramfs
	says 'can not be unpacked'
	[[ -z $(find "$BATS_TEST_TMPDIR" -maxdepth 1 -name 'ramraid-check.*') ]]
}

@test "lsinitrd has one time limit for all that it is asked of an image" {
	local limits=()
	libraries
	timeout() {
		echo "$2" >>"$BATS_TEST_TMPDIR/limits"
		sleep 1
	}
	mkdir "$BATS_TEST_TMPDIR/work"
	INITRAMFS_WORK=$BATS_TEST_TMPDIR/work
	initramfs_by_lsinitrd_ "$R/boot/initrd.img-$NEW" "$INITRAMFS_WORK"
	mapfile -t limits <"$BATS_TEST_TMPDIR/limits"
	((limits[0] <= 300 && limits[1] < limits[0] && limits[2] < limits[1])) ||
		fail "${limits[*]}"
}

@test "an initramfs that unmkinitramfs can't open is read with lsinitrd" {
	local folder=$R/boot/initrd.img-$NEW.d
	mkdir "$folder/usr" && mv "$folder/main/usr/sbin" "$folder/usr"
	mv "$folder/main/etc/mdadm" "$folder" && rm -r "$folder/main"
	finds not-claimed-initramfs
	[[ $(calls | grep "initrd.img-$NEW" | uniq) == "unmkinitramfs $R/boot/initrd.img-$NEW
lsinitrd $R/boot/initrd.img-$NEW" ]] || fail "$(calls)"
}

@test "an initramfs that a claim could not make is found, but not while one is being made" {
	: >"$R/etc/ramraid/state/initramfs-due"
	finds initramfs-due
	says 'action: ramraid claim'
	mkdir -p "$R/run/ramraid/.locks"
	flock --no-fork "$R/run/ramraid/.locks/initramfs" sleep 60 &
	until ! flock --nonblock "$R/run/ramraid/.locks/initramfs" true; do sleep 0.05; done
	silent
	kill $!
}

@test "a kernel without zram is found where the array gets larger blocks only with it, whatever the RAM leg is" {
	local ram
	for ram in auto none zram; do
		configured
		printf '%s\n' "RAM=$ram" BLOCK=4096 >>"$R/etc/ramraid/data.conf"
		ARGS=("--kernel=$OLD")
		check "${ARGS[@]}"
		says "problem no-block-module: expected Linux $OLD to have the module zram, since \
BLOCK=4096, found none, so that the array would not start"
		[[ $output != *no-ram-module* ]] || fail "$output"
	done
	# Disks that have such blocks need nothing.
	mkdir -p "$R"/sys/block/sd{a,b}/queue
	echo 4096 | tee "$R"/sys/block/sd{a,b}/queue/logical_block_size >/dev/null
	check "${ARGS[@]}"
	[[ $output != *no-block-module* ]] || fail "$output"
	says no-ram-module
	rm -r "$R"/sys/block/sd{a,b}/queue
	echo kernel/drivers/block/zram.ko.xz: >>"$R/lib/modules/$OLD/modules.dep"
	check "${ARGS[@]}"
	[[ $output != *-module:* ]] || fail "$output"
}

@test "a kernel without a module for the RAM leg that RAM= names is found" {
	local dep=$R/lib/modules/$OLD/modules.dep
	sed -i /rapiddisk/d "$dep"
	finds no-rapiddisk
	says "Linux $OLD"
	says 'none; brd will be used'
	says "linux-headers-$OLD"
	# Nothing on this machine has it, as on Debian 14.
	sed -i.had /rapiddisk/d "$R/lib/modules/$NEW/modules.dep"
	silent
	mv "$R/lib/modules/$NEW/modules.dep.had" "$R/lib/modules/$NEW/modules.dep"
	echo RAM=rapiddisk >>"$R/etc/ramraid/data.conf"
	finds no-ram-module
	says 'brd could be used'
	: >"$dep"
	finds no-ram-module
	says 'neither can be used'
	sed -i s/RAM=.*/RAM=auto/ "$R/etc/ramraid/data.conf"
	finds no-ram-module
	echo kernel/drivers/block/brd.ko >"$R/lib/modules/$OLD/modules.builtin"
	finds no-ram-module
	says 'a brd that is built in, which ramraid does not use'
	sed -i s/RAM=.*/RAM=brd/ "$R/etc/ramraid/data.conf"
	finds no-ram-module
	says 'write RAM=auto'
	rm "$dep"
	finds no-ram-module
	echo kernel/drivers/block/brd.ko.zst: >"$dep"
	silent
	: >"$dep"
	sed -i s/RAM=.*/RAM=none/ "$R/etc/ramraid/data.conf"
	silent
	# The cache's module alone is not it.
	echo updates/dkms/rapiddisk-cache.ko.xz: >"$dep"
	sed -i s/RAM=.*/RAM=auto/ "$R/etc/ramraid/data.conf"
	finds no-ram-module
}

@test "leftovers of a removed kernel count as no kernel; the running one counts without an image" {
	mkdir -p "$R/lib/modules/5.10.0-1-amd64"
	silent
	rm "$R/boot/vmlinuz-$NEW" "$R/lib/modules/$NEW/modules.dep"
	finds no-ram-module
	: >"$R/lib/modules/5.10.0-1-amd64/vmlinuz"
	finds no-ram-module no-ram-module unseen-initramfs kernel-untried
}

@test "kernels with a known flaw are found, unless that is accepted or the array has no RAM leg" {
	kernel 6.10.3-1-amd64
	finds kernel-flaw kernel-untried
	says CVE-2024-45023
	printf 'ACCEPT_KERNEL_FLAW=yes\nREBUILD=kernel\n' >>"$R/etc/ramraid/data.conf"
	silent
	echo 6.9.1 >"$R/proc/sys/kernel/osrelease"
	kernel 6.9.1
	rm "$R/boot/vmlinuz-6.9.1"
	sed -i /ACCEPT/d "$R/etc/ramraid/data.conf"
	finds kernel-flaw kernel-flaw
	gone rd0
	put raid_disks 2
	echo RAM=none >>"$R/etc/ramraid/data.conf"
	silent
}

@test "a kernel on which a copy may hang the array, or a change of the slots may crash it, is noted" {
	kernel 6.6.30-amd64
	finds kernel-flaw
	says 'note kernel-flaw: '
	says CVE-2024-43855
	says CVE-2025-38445
	echo REBUILD=kernel >>"$R/etc/ramraid/data.conf"
	finds kernel-flaw
	[[ $output != *CVE-2024-43855* ]]
	says CVE-2025-38445
	sed -i s/REBUILD=.*/ACCEPT_KERNEL_FLAW=yes/ "$R/etc/ramraid/data.conf"
	finds kernel-untried
}

@test "a leg without a bad block list is found on a kernel that then takes no more writes" {
	cp "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" "$R/dev/sda1"
	printf 'REBUILD=kernel\n' >>"$R/etc/ramraid/data.conf"
	echo 7.2.12+deb14-amd64 >"$R/proc/sys/kernel/osrelease"
	kernel 7.2.12+deb14-amd64
	silent
	# bblog_offset: the 32-bit word at byte 188 of the superblock, which begins at byte 4096.
	printf '\0\0\0\0' | dd of="$R/dev/sda1" bs=1 seek=$((4096 + 188)) conv=notrunc status=none
	finds no-bad-block-list
	says 'so that on Linux 7.2.12+deb14-amd64 one block'
	# Each step only if the one before has succeeded: an array in use stays as it is.
	says 'action: ramraid stop data && mdadm --assemble --update=bbl /dev/md/data '
	says 'ata-B-part1 && mdadm --stop /dev/md/data && ramraid start data'
	# mdadm would assemble whatever it finds, however old.
	put dev-sdb1/state faulty,write_mostly
	finds no-bad-block-list leg-faulty
	says 'action: ramraid check data says how to make room, once the array runs with all its'
	[[ $output != *--assemble* ]] || fail "$output"
	put dev-sda1/state faulty,write_mostly
	finds no-bad-block-list leg-faulty leg-faulty only-copy
	[[ $output != *--assemble* ]] || fail "$output"
	put dev-sda1/state in_sync,write_mostly dev-sdb1/state in_sync,write_mostly
	rm "$R"/boot/vmlinuz-7*
	echo 6.12.90+deb13-amd64 >"$R/proc/sys/kernel/osrelease"
	kernel 6.12.90+deb13-amd64
	silent
}

@test "an older kernel that can't read superblocks of a newer one is found" {
	cp "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" "$R/dev/sda1"
	silent
	# logical_block_size: the 32-bit word at byte 224 of the superblock, which begins at byte
	# 4096.
	printf '\0\2' | dd of="$R/dev/sda1" bs=1 seek=$((4096 + 224)) conv=notrunc status=none
	finds kernel-too-old
	says "that Linux $OLD $NEW can't: a newer kernel has written"
	says /dev/disk/by-id/ata-A-part1
	says "action: start the newer kernel only, and remove the other: apt remove \
linux-image-$OLD"
	rm "$R/boot/vmlinuz-$OLD" "$R/boot/vmlinuz-$NEW"
	echo 6.19.2-1-amd64 >"$R/proc/sys/kernel/osrelease"
	kernel 6.19.2-1-amd64
	printf 'REBUILD=kernel\n' >>"$R/etc/ramraid/data.conf"
	silent
	BLIND='*/dev/sda1' silent
}

@test "a kernel on which the copy is not tested is noted, unless REBUILD= says which way to use" {
	local choice
	kernel 6.18.1-amd64
	finds kernel-untried
	says 'Linux 6.1, 6.12, 7.2 or 7.3'
	says "action: nothing, if that is fast enough; else: start that kernel, then: ramraid \
selftest"
	# Another family, though its name begins like one that is known.
	mv "$R/lib/modules/6.18.1-amd64" "$R/lib/modules/6.120.1"
	: >"$R/boot/vmlinuz-6.120.1"
	finds kernel-untried no-initramfs
	rm -r "$R/lib/modules/6.120.1"
	kernel 6.18.1-amd64
	for choice in REBUILD=copy REBUILD=kernel; do
		echo "$choice" >>"$R/etc/ramraid/data.conf"
		silent
		sed -i /REBUILD/d "$R/etc/ramraid/data.conf"
	done
}

@test "a kernel for which DKMS has not built rapiddisk is found, with the reason" {
	local dkms=$R/var/lib/dkms/rapiddisk/9.2.0 dep=$R/lib/modules/$OLD/modules.dep
	mkdir -p "$dkms/build" "$R/usr/src"
	ln -s /usr/src/rapiddisk-9.2.0 "$dkms/source"
	silent
	sed -i /rapiddisk/d "$dep"
	finds no-rapiddisk dkms-failed
	says "expected DKMS to have built rapiddisk 9.2.0 for Linux $OLD, found no module: the \
headers of that kernel are not installed"
	mkdir -p "$R/lib/modules/$OLD/build"
	: >"$R/lib/modules/$OLD/build/Makefile"
	finds no-rapiddisk dkms-failed
	says 'found no module, and no log of an attempt'
	says "dkms install rapiddisk/9.2.0 -k $OLD"
	# A log of another kernel's build tells nothing of this one.
	echo "DKMS make.log for rapiddisk-9.2.0 for kernel $NEW (x86_64)" >"$dkms/build/make.log"
	finds no-rapiddisk dkms-failed
	says 'no log of an attempt'
	echo "DKMS make.log for rapiddisk-9.2.0 for kernel $OLD (x86_64)" >"$dkms/build/make.log"
	echo RAM=rapiddisk >>"$R/etc/ramraid/data.conf"
	finds no-ram-module dkms-failed
	says "the build has failed; its log is $dkms/build/make.log"
	says "action: dkms install rapiddisk/9.2.0 -k $OLD; or write RAM=auto"
	ARGS=(--kernel="$NEW")
	check "${ARGS[@]}"
	[[ $status == 0 && -z $output ]] || fail "$output"
	ARGS=()
	sed -i s/RAM=.*/RAM=brd/ "$R/etc/ramraid/data.conf"
	silent
}

@test "--kernel reports what concerns that kernel, for every array, and nothing else" {
	echo disabled >"$R/enabled"
	put bitmap/location none
	sed -i /rapiddisk/d "$R/lib/modules/$OLD/modules.dep"
	echo >"$R/boot/initrd.img-$OLD.d/main/etc/mdadm/mdadm.conf"
	check --kernel="$NEW"
	[[ $status == 0 && -z $output ]] || fail "$output"
	ARGS=("--kernel=$OLD") && finds not-claimed-initramfs no-rapiddisk
	rm -r "$R/run/systemd" "$R/sys" # a kernel may be installed where nothing runs
	ARGS=("--kernel=$OLD") && finds not-claimed-initramfs no-rapiddisk
}

@test "too little memory for the ramdisk and its reserve is found" {
	echo RAM_RESERVE=930M >>"$R/etc/ramraid/data.conf"
	finds memory
	says 'the ramdisk (99MiB)'
	says 'RAM_RESERVE=930M (930MiB)'
	echo MEMORY_FLOOR=940M >>"$R/etc/ramraid/data.conf"
	finds memory
	says 'MEMORY_FLOOR=940M (940MiB)'
	sed -i /MEMORY_FLOOR/d "$R/etc/ramraid/data.conf"
	says '1.0GiB in all'
	sed -i s/930M/900M/ "$R/etc/ramraid/data.conf"
	silent
	echo RAM=none >>"$R/etc/ramraid/data.conf"
	sed -i s/900M/1G/ "$R/etc/ramraid/data.conf"
	silent
}

@test "too little memory for the ramdisks of all arrays together is found" {
	local CHECK_RAM_SAID='' CHECK_RAM_BYTES=0 CHECK_RAM_RESERVE=0 CHECK_ARRAY=data \
		said=$BATS_TEST_TMPDIR/said
	libraries
	ramdisk_memory_total() { echo 1000; }
	md_state_leg_bytes() { echo "$BYTES"; }
	findings_problem() { printf '%s\n' "$1" >>"$said"; }
	CONF=([RAM]=auto [RAM_RESERVE]=10% [MEMORY_FLOOR]=0) F=([array.md]=md127)
	BYTES=500 check_next_boot_memory
	CONF[RAM_RESERVE]=5% BYTES=400
	check_next_boot_memory
	check_machine_memory_of_all
	[[ $CHECK_RAM_BYTES == 900 && $CHECK_RAM_RESERVE == 100 && ! -e $said ]]
	BYTES=1
	check_next_boot_memory
	check_machine_memory_of_all
	[[ $(<"$said") == memory ]]
	# Said already of the one that is too large alone.
	BYTES=960
	check_next_boot_memory
	check_machine_memory_of_all
	[[ $(<"$said") == $'memory\nmemory' ]]
}

@test "an unfinished adopt, apply, release or destroy is found, also of an array that is not configured" {
	printf 'uuid=%s\nbitmap=none\ndone=no\n' "$ID" >"$R/etc/ramraid/state/data.adopted"
	finds adopt-unfinished
	says 'expected an adoption to be complete, found an unfinished one'
	says 'action: ramraid adopt data /dev/md127; or back: ramraid release data'
	sed -i s/=no/=yes/ "$R/etc/ramraid/state/data.adopted"
	silent
	printf '%s\n' "uuid=$ID" member=/dev/a >"$R/etc/ramraid/state/data.leaving"
	finds apply-unfinished
	says "action: ramraid apply data; or, to keep /dev/a: rm $R/etc/ramraid/state/data.leaving"
	rm "$R/etc/ramraid/state/data.leaving"
	: >"$R/etc/ramraid/state/data.releasing"
	finds release-unfinished
	says "action: ramraid release data; or, to keep the mirror, if an old backup of /etc has \
brought the note back: rm $R/etc/ramraid/state/data.releasing"
	# As a release does it: first that what adopt has done is not done any more.
	printf 'uuid=%s\nbitmap=none\ndone=no\n' "$ID" >"$R/etc/ramraid/state/data.adopted"
	finds release-unfinished
	says 'action: ramraid release data; or, to keep the mirror: ramraid adopt data /dev/md127'
	echo '# "ramraid destroy" has begun' >"$R/etc/ramraid/state/data.releasing"
	finds release-unfinished
	says "expected a destroy to be complete"
	says "action: to keep the array, which runs: rm $R/etc/ramraid/state/data.releasing; else, \
and all on it is lost: ramraid destroy data"
	sed -i s/=no/=yes/ "$R/etc/ramraid/state/data.adopted"
	rm "$R"/etc/ramraid/state/data.*ing
	: >"$R/etc/ramraid/state/old.releasing"
	cp "$R/etc/ramraid/state/data.adopted" "$R/etc/ramraid/state/old.adopted"
	cp "$R/etc/ramraid/state/data.adopted" "$R/etc/ramraid/state/new.adopted"
	# It had ended, and somebody has deleted its configuration.
	finds adopt-unfinished release-unfinished
	says "action: ramraid adopt new ARRAY; or rm $R/etc/ramraid/state/new.adopted, if it is to \
stay a plain array"
	: >"$R/run/ramraid/new.started"
	finds adopt-unfinished release-unfinished
	says 'action: ramraid adopt new ARRAY; or back: ramraid release new'
	rm "$R/run/ramraid/new.started"
	sed -i s/=yes/=no/ "$R/etc/ramraid/state/new.adopted"
	finds adopt-unfinished release-unfinished
	says 'action: ramraid adopt new ARRAY; or back: ramraid release new'
	ARGS=(data) && silent
}

@test "a claim without a configuration and an error in the defaults are found" {
	claim_of_data >"$R/etc/mdadm/mdadm.conf.d/ramraid-old.conf"
	finds claim-left
	rm "$R/etc/mdadm/mdadm.conf.d/ramraid-old.conf"
	echo RAM_RESERVE=lots >"$R/etc/ramraid/ramraid.conf"
	finds configuration
	says 'the system: 1 problem'
	says "ramraid.conf:1: RAM_RESERVE=lots"
}

@test "MAILADDR or PROGRAM counts in any form and file that mdadm reads" {
	local line
	for line in 'MAILADDR root' 'mailaddr root@example.org' 'PROGRAM /usr/sbin/tell' 'prog /x' \
		$'MAIL\troot'; do
		printf '# x\n%s\n' "$line" >"$R/etc/mdadm/mdadm.conf"
		silent
	done
	for line in '#MAILADDR root' 'MAILADDR' 'MAILFROM x' 'POLICY x'; do
		printf '%s\n' "$line" >"$R/etc/mdadm/mdadm.conf"
		finds no-mail
	done
	# Asked about one array as well.
	check data
	says 'no-mail: expected NOTIFY'
	echo 'PROGRAM /x' >"$R/etc/mdadm/mdadm.conf.d/mine.conf"
	silent
	BLIND='*/mine.conf' finds unseen-claim unseen-mail
}

@test "an address without a program that sends mail is found; with PROGRAM none is needed" {
	rm "$R/usr/sbin/sendmail"
	finds no-mail
	says 'something that sends mail to root (MAILADDR'
	says 'found neither /usr/sbin/sendmail nor /usr/lib/sendmail'
	echo 'PROGRAM /x' >>"$R/etc/mdadm/mdadm.conf"
	silent
	sed -i /PROGRAM/d "$R/etc/mdadm/mdadm.conf"
	mkdir -p "$R/usr/lib"
	: >"$R/usr/lib/sendmail"
	chmod 755 "$R/usr/lib/sendmail"
	silent
}

@test "a NOTIFY program that is missing is found; with a good one mdadm needs no address" {
	rm "$R/etc/mdadm/mdadm.conf"
	echo "NOTIFY=$R/tell" >>"$R/etc/ramraid/data.conf"
	finds notify
	says "no program at $R/tell"
	: >"$R/tell"
	finds notify
	chmod 755 "$R/tell"
	silent
}

@test "if mdadm would send mail at every boot, that is found where the machine can send mail" {
	printf 'LoadState=loaded\nExecStart={ path=/sbin/mdadm ; argv[]=/sbin/mdadm --monitor --scan ; }\nAfter=system.slice ramraid@data2.service\n' >"$R/mdmonitor"
	rm "$R/usr/sbin/sendmail"
	finds no-mail
	sendmail
	finds boot-mail
	says 'mails DegradedArray to root before the RAM leg is there: systemd does not know yet'
	says 'action: systemctl daemon-reload'
	sed -i 's/^After=.*/After=ramraid@data2.service ramraid@data.service system.slice/' \
		"$R/mdmonitor"
	silent
	# The start is over before the mirror is whole, or has no end.
	for line in WAIT=no WAIT_TIMEOUT=infinity; do
		cp "$R/etc/ramraid/data.conf" "$R/data.conf"
		echo "$line" >>"$R/etc/ramraid/data.conf"
		finds boot-mail
		says 'action: systemctl mask --now mdmonitor.service'
		cp "$R/data.conf" "$R/etc/ramraid/data.conf"
	done
	echo WAIT=no >>"$R/etc/ramraid/data.conf"
	sed -i 's/--scan/\/dev\/md\/other/' "$R/mdmonitor"
	silent
	echo LoadState=masked >"$R/mdmonitor"
	silent
	rm "$R/mdmonitor"
	silent
}

# ---- the array as it is

@test "each configuration error is reported, also an unstable member name" {
	printf 'MEMBER=/dev/sdc\nNONSENSE=1\n' >>"$R/etc/ramraid/data.conf"
	finds configuration configuration
	says 'data.conf:4: MEMBER=/dev/sdc: this name can mean another disk after the next boot'
	says "edit $R/etc/ramraid/data.conf, then"
}

@test "for an array that does not run, check says whether a start would be refused, and why" {
	stopped
	finds not-running
	says 'a start would go on with: assemble ('
	sed -i 's/^events=.*/events=4000/' "$R/etc/ramraid/state/data.witness"
	finds refused
	says 'but the array was at 4000'
	# Unreadable for whoever asks.
	rm "$R/dev/sda1" && mkdir "$R/dev/sda1"
	NOBODY=yes HIDE=smartctl finds not-running unseen-superblocks
	# Root has seen that it can't be read: that is the answer.
	finds refused
}

@test "an array that is half assembled, broken, or split over two md devices is found" {
	put array_state inactive
	finds half-assembled
	put array_state broken
	finds broken
	says 'then: ramraid stop'
	put dev-sda1/state faulty dev-sdb1/state faulty
	finds broken
	says 'reboot, so that the shutdown saves what the RAM leg has'
	echo RESCUE=none >>"$R/etc/ramraid/data.conf"
	finds broken
	says "do NOT reboot: a shutdown can't save what the RAM leg has (RESCUE=none)"
	sed -i /RESCUE/d "$R/etc/ramraid/data.conf"
	put dev-sda1/state in_sync,write_mostly dev-sdb1/state in_sync,write_mostly
	put array_state active
	cp -r "$R/sys/block/md127" "$R/sys/block/md126"
	rmdir "$R/sys/class/block/sdb1/holders/md127"
	mkdir "$R/sys/class/block/sdb1/holders/md126"
	rm -r "$MD/dev-sdb1"
	finds two-arrays leg-outside
}

@test "disk legs that are missing, given up, outside, being rebuilt or not in sync are found" {
	rm "$R/dev/disk/by-id/ata-B-part1" && gone sdb1
	finds leg-missing
	says 'expected /dev/disk/by-id/ata-B-part1, found no such disk'
	ln -s "$R/dev/sdb1" "$R/dev/disk/by-id/ata-B-part1"
	finds leg-outside
	says 'ramraid apply data'
	mkdir "$R/sys/class/block/sdb1/holders/dm-3"
	finds leg-outside
	says 'found it in use by dm-3'
	rmdir "$R/sys/class/block/sdb1/holders/dm-3"
	member sdb1 faulty,write_mostly none
	finds leg-faulty
	put dev-sdb1/state spare,write_mostly sync_action recover
	finds rebuilding
	put dev-sdb1/state faulty,write_mostly dev-sda1/state faulty,write_mostly sync_action idle
	finds leg-faulty leg-faulty only-copy
	says 'do not cut the power'
}

@test "a MEMBER name that leads to nothing and a member that no MEMBER names are found" {
	ln -s "$R/dev/sdb1" "$R/dev/disk/by-id/ata-Z-part1"
	rm "$R/dev/disk/by-id/ata-B-part1"
	finds member-name
	says 'found no such disk, but a member that it does not name: /dev/disk/by-id/ata-Z-part1'
	says 'write MEMBER=/dev/disk/by-id/ata-Z-part1 in its place'
	sed -i s/ata-B/ata-Z/ "$R/etc/ramraid/data.conf"
	silent
	fake_disk sdc $((100 << 20)) disk/by-id/ata-C
	member sdc in_sync,write_mostly 3
	put raid_disks 4
	finds stranger
	says /dev/disk/by-id/ata-C
}

@test "a RAM leg that is missing, failed, being rebuilt or without a slot is found, unless RAM=none" {
	gone rd0
	rm "$R/run/ramraid/data.ram"
	finds no-ram-leg
	echo activating >"$R/active"
	finds rebuilding
	echo active >"$R/active"
	member rd0 spare 0
	put sync_action recover
	finds rebuilding
	put dev-rd0/state faulty sync_action idle
	finds no-ram-leg
	gone rd0
	put raid_disks 2
	finds no-ram-leg no-slot
	says 'action: ramraid apply data'
	echo RAM=none >>"$R/etc/ramraid/data.conf"
	silent
}

@test "a missing bitmap, write-behind, a missing write-mostly mark and bad blocks are found" {
	put bitmap/location none
	finds no-bitmap
	says 'action: mdadm --grow --bitmap=internal /dev/md127'
	put dev-sdb1/state faulty,write_mostly
	finds leg-faulty no-bitmap
	says 'action: bring the disk legs back first (/dev/disk/by-id/ata-B-part1), because this is safe only'
	put dev-sdb1/state in_sync,write_mostly dev-rd0/state spare sync_action recover
	finds rebuilding no-bitmap
	says 'action: have the RAM leg in sync first, because this is safe only while the array is whole; then: mdadm'
	put dev-rd0/state in_sync sync_action idle
	put bitmap/location 'file:/x'
	finds no-bitmap
	put bitmap/location +8 bitmap/backlog 256
	finds write-behind
	says 'fsync returns before a disk has the data'
	printf 'WRITE_BEHIND=256\nACCEPT_DATA_LOSS=yes\n' >>"$R/etc/ramraid/data.conf"
	silent
	put bitmap/backlog 0 dev-sda1/state in_sync
	finds not-write-mostly
	put dev-sda1/state in_sync,write_mostly dev-sdb1/bad_blocks '8 8'
	finds bad-blocks
}

@test "a RAM leg of brd that takes discards is found" {
	mkdir -p "$R/run/ramraid" "$R/sys/block/ram0/queue"
	echo 'brd ram0 104857600 - used' >"$R/run/ramraid/data.ram"
	echo 4294966784 >"$R/sys/block/ram0/queue/discard_max_bytes"
	finds brd-discards
	says 'ramraid detach data; ramraid attach data'
	echo 0 >"$R/sys/block/ram0/queue/discard_max_bytes"
	silent
	echo 4294966784 >"$R/sys/block/ram0/queue/discard_max_bytes"
	sed -i s/brd/rapiddisk/ "$R/run/ramraid/data.ram"
	silent
}

@test "an array with the root file system needs ROOT=yes, a claim by name, and an initramfs that can start it" {
	echo '31 1 9:127 / / rw,relatime shared:1 - ext4 /dev/md127 rw' >>"$R/proc/1/mountinfo"
	finds root-not-named
	# The second copy of the record, and what a shutdown can't do: root-array.bats.
	fake_disk sdz 1000000
	mkdir -p "$R/sys/dev/block/8:250"
	echo DEVNAME=sdz >"$R/sys/dev/block/8:250/uevent"
	echo '32 31 8:250 / /boot rw - ext4 /dev/sdz rw' >>"$R/proc/1/mountinfo"
	printf '%s\n' ROOT=yes RESCUE=none >>"$R/etc/ramraid/data.conf"
	finds not-claimed not-claimed-initramfs not-claimed-initramfs
	says "ARRAY /dev/md/data UUID=…"
	says 'to start the array'
	find "$R" \( -name mdadm.conf -o -name ramraid-data.conf \) -exec sed \
		-i "/^ARRAY .dev/d; s|ARRAY <ignore>|ARRAY /dev/md/data|" {} +
	sed -i 's/^# Written by ramraid.*/# Written by ramraid. The root file system is on this array, so the initramfs starts it./' "$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	silent
	# dracut has replaced initramfs-tools, on Debian 14 and on 13; and something else has.
	program dracut
	program update-initramfs 'dracut --force "${initramfs}" "${version}"'
	silent
	rm "$R/usr/sbin/update-initramfs"
	silent
	rm "$R/usr/sbin/dracut"
	finds root-initramfs
	says 'found something else, so that the next boot may not start the array'
	sed -i /ROOT=yes/d "$R/etc/ramraid/data.conf"
	program dracut
	check
	[[ $output != *root-initramfs* ]] || fail "$output"
}

@test "64 blocks from all over the array are read, and reads that the disk legs served are found" {
	silent
	[[ $(wc -l <"$BATS_TEST_TMPDIR/read") == 64 ]]
	# 25000 blocks: the last one read is among the last 64th.
	grep -q ' skip=0 ' "$BATS_TEST_TMPDIR/read"
	[[ $(tail -n 1 "$BATS_TEST_TMPDIR/read") =~ skip=([0-9]+) ]] &&
		((BASH_REMATCH[1] > 24600 && BASH_REMATCH[1] < 25000))
	SERVES=sdb1 finds disk-reads
	says 'served 64 of 64'
	SERVES=none finds read-error
	says 'the one at byte 0 is not'
	NOBODY=yes HIDE=smartctl finds unseen-reads
	# An array that is smaller than that; and one of which something has looked at a disk
	# meanwhile.
	echo 136 >"$R/sys/block/md127/size"
	rm "$BATS_TEST_TMPDIR/read"
	silent
	[[ $(wc -l <"$BATS_TEST_TMPDIR/read") == 17 ]]
	echo 120 >"$R/sys/block/md127/size"
	SERVES=sda1 silent
}

@test "the array is not read without a RAM leg in sync, during a check, or if a leg is not write-mostly" {
	SERVES=sda1
	put sync_action check
	silent
	put sync_action idle dev-sda1/state in_sync
	finds not-write-mostly
	put dev-sda1/state in_sync,write_mostly
	echo RAM=none >>"$R/etc/ramraid/data.conf"
	rm "$R/run/ramraid/data.ram"
	gone rd0
	put degraded 0 raid_disks 2
	check
	[[ $output != *disk-reads* && ! -e $BATS_TEST_TMPDIR/read ]] || fail "$output"
}

@test "a leg on a device that has become too small, and a disk too small to join, are found" {
	echo 202047 >"$R/sys/class/block/sda1/size"
	finds leg-too-small
	echo 202048 >"$R/sys/class/block/sda1/size"
	silent
	gone sdb1
	echo 199999 >"$R/sys/class/block/sdb1/size"
	finds leg-outside leg-too-small
}

@test "a missing witness, a rescue image, and a unit that is not up are found" {
	rm "$R/etc/ramraid/state/data.witness"
	finds no-witness
	: >"$R/etc/ramraid/state/data.witness"
	BLIND='*.witness' finds unseen-witness
	configured
	printf 'uuid=%s\nimage=/var/lib/ramraid/data/rescue-7\nbytes=8\nsha256=%064d\nevents=7\n' \
		"$ID" 0 >"$R/etc/ramraid/state/data.rescue"
	finds rescue-image
	rm "$R/etc/ramraid/state/data.rescue"
	echo failed >"$R/active"
	finds unit-inactive
	says 'it failed, so that nothing takes the RAM leg out at shutdown'
}

@test "hot-plug that is stopped or masked is found" {
	echo inactive >"$R/path"
	finds hotplug-inactive
	says 'expected ramraid-hotplug.path to be active, so that disks that come back are put back'
	says 'systemctl unmask ramraid-hotplug.path'
	echo failed >"$R/timer"
	finds hotplug-inactive hotplug-inactive
	echo HOTPLUG=no >>"$R/etc/ramraid/data.conf"
	finds hotplug-inactive
	says 'expected ramraid-hotplug.timer'
}

@test "a monitor that is not active is found" {
	echo failed >"$R/monitor"
	finds monitor-inactive
	says 'expected ramraid-monitor@md127.path to be active, so that a leg'
	says 'fs.inotify.max_user_instances'
	echo inactive >"$R/monitor"
	finds monitor-inactive
	# Its start is still at work, and starts it.
	echo activating >"$R/active"
	silent
	echo active >"$R/active"
	echo active >"$R/monitor"
	silent
}

@test "SMART is asked of the disk below a partition; without root that is reported, without smartctl it is not" {
	echo "$R/dev/sdb" >"$R/failing"
	finds smart-failing
	says 'expected the disk of /dev/disk/by-id/ata-B-part1 in good health'
	says 'smartctl -a /dev/sdb'
	NOBODY=yes finds unseen-smart unseen-reads
	HIDE=smartctl silent
	# A leg that is an array of disks.
	mkdir -p "$R/sys/class/block/md9/slaves/"{sda,sdb}
	libraries
	[[ $(disk_physical md9) == $'sda\nsdb' && $(disk_physical sda1) == sda &&
		$(disk_physical sdb) == sdb ]]
}

# ---- what is on it

@test "entries in fstab that systemd has not loaded yet are found" {
	echo 'UUID=0815 /new ext4 noauto 0 0' >>"$R/etc/fstab"
	echo 'UUID=0815 none swap defaults 0 0' >>"$R/etc/fstab"
	finds gate-not-loaded gate-not-loaded swap-in-memory
	says 'new.mount, from /etc/fstab, to wait for the array'
	says 'action: systemctl daemon-reload'
	configured
	unit srv-data.mount -.mount /run/systemd/generator/srv-data.mount
	finds gate-not-loaded
	says 'srv-data.mount to wait for the array'
}

@test "a remote leg whose initiator never gives up is found: iSCSI, NVMe with one or several paths, nbd" {
	local session=$R/sys/devices/platform/host3/session1 folder=$R/sys/class/block/sda1
	mkdir -p "$session/iscsi_session/session1" "$session/target3:0:0/3:0:0:0/block"
	ln -s "$session/target3:0:0/3:0:0:0" "$R/sys/block/sda/device"
	mkdir -p "$R/sys/class/block/sda" &&
		ln -sfn "$R/sys/block/sda/device" "$R/sys/class/block/sda/device"
	echo iqn.2026-01.org.example:a >"$session/iscsi_session/session1/targetname"
	libraries
	need world/initiator
	# forever NODE: what is said of it, "" when it ends.
	forever() { initiator_forever "$1" && printf '%s' "$FOREVER"; }
	for seconds in 120 0; do
		echo "$seconds" >"$session/iscsi_session/session1/recovery_tmo"
		[[ -z $(forever sda1) ]] || fail "$seconds"
	done
	for seconds in off -1; do
		echo "$seconds" >"$session/iscsi_session/session1/recovery_tmo"
		[[ $(forever sda1) == *"replacement_timeout is $seconds"* ]] || fail "$seconds"
	done
	finds leg-waits-forever not-netdev
	says 'action: iscsiadm -m node -T iqn.2026-01.org.example:a -o update'
	# It is pasted into a shell.
	echo 'iqn.x:a;touch${IFS}ran|sh $(x)' >"$session/iscsi_session/session1/targetname"
	initiator_forever sda1
	iscsiadm() { printf '%s\n' "$3" "$4" >"$R/words"; }
	eval "${FOREVER_DO%, and*}"
	[[ $(<"$R/words") == $'-T\niqn.x:a;touch${IFS}ran|sh $(x)' && ! -e ran ]]
	echo 120 >"$session/iscsi_session/session1/recovery_tmo"
	finds not-netdev
	# One controller, and a subsystem of two.
	mkdir -p "$R/sys/class/nvme/nvme1" "$R/sys/class/nvme/nvme2" \
		"$R/sys/class/nvme-subsystem/nvme-subsys0" "$R/sys/class/block/"{nvme1n1,nvme2n1}
	ln -s "$R/sys/class/nvme/nvme1" "$R/sys/class/block/nvme1n1/device"
	echo off >"$R/sys/class/nvme/nvme1/ctrl_loss_tmo"
	[[ $(forever nvme1n1) == *NVMe* ]]
	initiator_forever nvme1n1
	[[ $FOREVER_DO == 'echo 60 >/sys/class/nvme/nvme1/ctrl_loss_tmo;'* ]]
	echo 30 >"$R/sys/class/nvme/nvme1/fast_io_fail_tmo"
	[[ -z $(forever nvme1n1) ]]
	echo off >"$R/sys/class/nvme/nvme1/fast_io_fail_tmo"
	echo 600 >"$R/sys/class/nvme/nvme1/ctrl_loss_tmo"
	[[ -z $(forever nvme1n1) ]]
	ln -s "$R/sys/class/nvme-subsystem/nvme-subsys0" "$R/sys/class/block/nvme2n1/device"
	ln -s "$R/sys/class/nvme/nvme1" "$R/sys/class/nvme/nvme2" \
		"$R/sys/class/nvme-subsystem/nvme-subsys0/"
	echo 600 >"$R/sys/class/nvme/nvme2/ctrl_loss_tmo"
	[[ -z $(forever nvme2n1) ]]
	echo -1 >"$R/sys/class/nvme/nvme2/ctrl_loss_tmo"
	initiator_forever nvme2n1
	[[ $FOREVER_DO == *nvme2/ctrl_loss_tmo* ]] || fail "$FOREVER_DO"
	# Of nbd only debugfs tells.
	mkdir -p "$R/sys/class/block/nbd0" "$R/sys/kernel/debug/nbd/nbd0"
	[[ -z $(forever nbd0) ]]
	echo 7500 >"$R/sys/kernel/debug/nbd/nbd0/timeout"
	[[ -z $(forever nbd0) ]]
	echo 0 >"$R/sys/kernel/debug/nbd/nbd0/timeout"
	[[ $(forever nbd0) == *nbd* ]]
}

@test "a device timeout in fstab shorter than the last rebuild, or than a start may take, is found" {
	local lately=$R/etc/ramraid/state/data.lately
	sed -i 's/defaults/defaults,x-systemd.device-timeout=5min\\04030s/' "$R/etc/fstab"
	finds device-timeout
	says "note device-timeout: expected x-systemd.device-timeout= of /srv/data in /etc/fstab \
to be as long as a start may take, found 5min30s, and WAIT_TIMEOUT and MEMBER_TIMEOUT together are \
1830 s"
	printf '%s boot md127 1 copy 1770000000 0 1770000000 329 55000 0 0\n' "$ID" >"$lately"
	finds device-timeout
	says 'note device-timeout'
	sed -i 's/ 329 / 331 /' "$lately"
	finds device-timeout
	says "problem device-timeout: expected x-systemd.device-timeout= of /srv/data in \
/etc/fstab to be longer than a rebuild, for which it waits, found 5min30s, and the last rebuild \
took 331 s"
	says 'action: remove x-systemd.device-timeout= from that line, or lower WAIT_TIMEOUT='
	# The mount does not wait for the rebuild.
	echo WAIT=no >>"$R/etc/ramraid/data.conf"
	silent
	sed -i 's/5min.04030s/20s/' "$R/etc/fstab"
	finds device-timeout
	says 'MEMBER_TIMEOUT together are 30 s'
	sed -i 's/=20s/=0/' "$R/etc/fstab"
	silent
	sed -i 's/=0/=infinity/' "$R/etc/fstab"
	silent
}

@test "a disk leg in a LUKS container that opens too late for the array is found" {
	# sda1 is a volume on a partition of a container.
	mkdir -p "$R/sys/class/block/sda1/slaves/dm-9" "$R/sys/class/block/dm-9/dm"
	echo CRYPT-LUKS2-0123-late >"$R/sys/class/block/dm-9/dm/uuid"
	echo late >"$R/sys/class/block/dm-9/dm/name"
	rm "$R/sys/class/block/sda1/partition"
	HIDE=smartctl finds leg-opens-late
	says 'the container late, in which /dev/disk/by-id/ata-A-part1 is'
	says 'no line about it in /etc/crypttab'
	echo 'late /dev/disk/by-id/ata-C none luks,noauto' >"$R/etc/crypttab"
	echo 'below /dev/mapper/late' >>"$R/etc/ramraid/state/data.contents"
	unit ramraid@data.service systemd-cryptsetup@late.service /run/x
	HIDE=smartctl finds leg-opens-late
	says 'note leg-opens-late'
	says 'systemctl start systemd-cryptsetup@late.service'
	sed -i 's/,noauto//' "$R/etc/crypttab"
	HIDE=smartctl silent
	# Its key is on the array itself.
	sed -i 's| none | /srv/data/key |' "$R/etc/crypttab"
	HIDE=smartctl finds leg-opens-late
	says 'a line in /etc/crypttab that the array cannot wait for'
	says 'journalctl -b -t ramraid-generator'
}

# process PID CGROUP LINK TARGET: one that has TARGET as cwd, exe, root or a descriptor.
process() {
	mkdir -p "$R/proc/$1/fd"
	printf '%s\n' "$2" >"$R/proc/$1/cgroup"
	ln -s "$4" "$R/proc/$1/$3"
}
# needs UNIT REQUIRES BINDSTO
needs() {
	printf 'Id=%s\nRequires=%s\nRequisite=\nBindsTo=%s\n' "$1" "$2" "${3-}" >"$R/units/$1.needs"
}

@test "a service that uses a nofail mount without depending on it is found" {
	process 800 '0::/system.slice/nginx.service' fd/7 /srv/data/www/index.html
	process 801 '0::/system.slice/nginx.service' cwd /srv/data
	needs nginx.service 'system.slice sysinit.target -.mount'
	silent # the boot waits for that mount
	sed -i 's/defaults/defaults,nofail/' "$R/etc/fstab"
	finds service-ungated
	says "expected nginx.service to start after /srv/data, for which the boot does not wait \
(nofail), and not without it, found that it uses the mount without depending on it"
	says "action: systemctl edit nginx.service, and write there: [Unit] \
RequiresMountsFor=/srv/data"
	# Several, and the forms of what systemd and the kernel say.
	process 802 $'1:name=systemd:/system.slice/system-postgresql.slice/postgresql@15-main.service\n0::/' exe /srv/data/bin/x
	needs postgresql@15-main.service ''
	finds service-ungated service-ungated
	needs postgresql@15-main.service '"srv-data.mount" system.slice'
	needs nginx.service '' srv-data.mount
	silent
	# A person's, a machine's, one of ours; what only begins with the same name, and a mount
	# below that is another's.
	process 803 '0::/user.slice/user-0.slice/user@0.service/app.slice/x.service' fd/7 \
		/srv/data/x
	process 804 '0::/machine.slice/vm.scope' fd/7 /srv/data/x
	process 805 '0::/system.slice/ramraid-scrub@data.service' fd/7 /srv/data/x
	process 806 '0::/system.slice/other.service' fd/7 /srv/database/x
	process 807 '0::/system.slice/below.service' fd/7 '/srv/data/a b/x'
	printf '%s\n' '31 30 8:5 / /srv/data/a\040b rw - ext4 /dev/sda5 rw' >>"$R/proc/1/mountinfo"
	silent
	NOBODY=yes HIDE=smartctl finds unseen-reads unseen-services
	sed -i 's/nofail/nofail,x-systemd.automount/' "$R/etc/fstab"
	needs nginx.service ''
	silent
	sed -i 's/,x-systemd.automount//' "$R/etc/fstab"
	finds service-ungated
	: >"$R/proc/1/mountinfo" # it is not mounted, so what is there is elsewhere
	check
	[[ $output != *service-ungated* ]] || fail "$output"
}

@test "special characters in a mount point are not taken as a pattern" {
	local target='/srv/d[a]ta*?'
	libraries
	need world/openers
	process 800 '0::/system.slice/a.service' fd/7 "$target/x"
	process 801 '0::/system.slice/b.service' fd/7 /srv/data/x
	[[ $(openers_services "$target") == a.service ]] || fail "$(openers_services "$target")"
}

# etc FILE TEXT: one of the files of /etc that a boot runs. wanted UNIT: another unit wants it.
etc() {
	mkdir -p "$R/etc/$(dirname "$1")"
	printf "$2\n" >"$R/etc/$1"
	chmod 755 "$R/etc/$1"
}
wanted() {
	mkdir -p "$R/etc/systemd/system/multi-user.target.wants"
	ln -s "$2/$1" "$R/etc/systemd/system/multi-user.target.wants/$1"
}

@test "rapiddiskd is found if it is enabled or runs, but not if it is masked or gone" {
	wanted rapiddiskd.service /lib/systemd/system
	silent
	mkdir -p "$R/lib/systemd/system"
	: >"$R/lib/systemd/system/rapiddiskd.service"
	finds rapiddiskd
	says "that rapiddiskd.service is enabled: it makes and removes ramdisks for whoever \
reaches TCP port 9118"
	says 'action: systemctl disable --now rapiddiskd.service'
	ln -s /dev/null "$R/etc/systemd/system/rapiddiskd.service"
	silent
	mkdir "$R/proc/77"
	echo 77 >"$R/run/rapiddiskd.pid"
	echo sshd >"$R/proc/77/comm"
	silent
	echo rapiddiskd >"$R/proc/77/comm"
	finds rapiddiskd
	says 'that rapiddiskd.service runs:'
	rm "$R/etc/systemd/system/rapiddiskd.service"
	check
	says 'is enabled, and runs:'
	# Of one array, or of none, there is nothing to say.
	check data
	[[ $output != *rapiddiskd* ]] || fail "$output"
}

@test "whatever makes a ramdisk at boot, or adds one to an array, is found with file and line" {
	etc rc.local '#!/bin/sh\n# rapiddisk -a 1024\nrapiddisk -a 1024\nmdadm /dev/md0 \\\\\n  --add /dev/rd0\nrapiddisk --attach 5'
	finds ramdisk-maker ramdisk-maker
	says "note ramdisk-maker: expected nothing else that makes ramdisks at boot, found that \
/etc/rc.local makes a ramdisk in line 3: rapiddisk -a 1024"
	says "problem ramdisk-maker: expected nothing else that gives a ramdisk to an array, found \
that /etc/rc.local gives a ramdisk to an array in line 4: mdadm /dev/md0"
	says 'action: take that line out of /etc/rc.local'
	chmod 644 "$R/etc/rc.local"
	silent
	BLIND='*/rc.local' finds
	chmod 755 "$R/etc/rc.local"
	BLIND='*/rc.local' finds unseen-makers
	rm "$R/etc/rc.local"
	etc crontab '@daily root mdadm --add /dev/md0 /dev/rd0\n@reboot root echo "rapiddisk attach 0 1048576" >/sys/kernel/rapiddisk/mgmt'
	finds ramdisk-maker
	says '/etc/crontab makes a ramdisk in line 2'
	rm "$R/etc/crontab"
	etc cron.d/x '@reboot root /sbin/mdadm -Cv /dev/md0 -l1 -n2 /dev/ram0 /dev/sda2'
	finds ramdisk-maker
	rm "$R/etc/cron.d/x"
	etc udev/rules.d/99-x.rules \
		'KERNEL=="rd0", RUN+="/sbin/mdadm --manage /dev/md0 --add /dev/rd0"'
	finds ramdisk-maker
	rm "$R/etc/udev/rules.d/99-x.rules"
	etc systemd/system/ram.service '[Service]\nExecStart=/usr/sbin/rapiddisk --attach=1024\nExecStart=mdadm --add /dev/md0 /dev/rd0'
	silent
	wanted ram.service /etc/systemd/system
	finds ramdisk-maker ramdisk-maker
	says 'action: systemctl disable ram.service'
	rm "$R/etc/systemd/system/multi-user.target.wants/ram.service"
	etc systemd/system/ssh.service.d/x.conf '[Service]\nExecStartPre=rapiddisk -a 16'
	finds ramdisk-maker
}

@test "what makes no ramdisk, is no plain file, or is too large is not reported as a maker of ramdisks" {
	etc rc.local '#!/bin/sh\nrapiddisk -l\nrapiddisk -d rd0\nmdadm --fail /dev/md0 /dev/rd0\nmdadm --add /dev/md0 /dev/sdc\necho my-rapiddisk -a\nrapiddisk -l | grep -a x'
	silent
	etc real 'rapiddisk -a 1'
	ln -sf ../real "$R/etc/cron.d/x" 2>/dev/null || {
		mkdir "$R/etc/cron.d" && ln -s ../real "$R/etc/cron.d/x"
	}
	mkfifo "$R/etc/crontab"
	{ printf 'rapiddisk -a 1\n' && head -c 70000 /dev/zero | tr '\0' '#'; } >"$R/etc/rc.local"
	silent
	# Nothing of that is looked at where no array is configured.
	etc rc.local 'rapiddisk -a 1'
	rm "$R"/etc/ramraid/*.conf "$R"/etc/mdadm/mdadm.conf.d/*
	check
	[[ $output != *ramdisk-maker* ]] || fail "$output"
}

@test "the hook of rapiddisk-on-boot for a kernel is noted" {
	mkdir -p "$R/usr/share/initramfs-tools/hooks"
	: >"$R/usr/share/initramfs-tools/hooks/rapiddisk_hook"
	silent
	: >"$R/usr/share/initramfs-tools/hooks/rapiddisk_kernel_$NEW"
	finds ramdisk-maker
	says 'action: rapiddisk-on-boot --global-uninstall, unless / needs that cache'
}

@test "hibernation to swap on the array is found, unless it is masked or not possible" {
	mkdir -p "$R/sys/power"
	echo 'freeze mem disk' >"$R/sys/power/state"
	silent
	echo 'UUID=0815 none swap defaults 0 0' >>"$R/etc/fstab"
	unit 'dev-disk-by\x2duuid-0815.swap' ramraid@data.service
	finds swap-in-memory hibernation
	says 'systemctl mask hibernate.target'
	echo masked >"$R/units/hibernate"
	finds swap-in-memory
	rm "$R/units/hibernate"
	echo 'freeze mem' >"$R/sys/power/state"
	finds swap-in-memory
}

@test "a LUKS container below a disk leg for which systemd does not make the array wait is found" {
	echo 'a /dev/disk/by-id/ata-C none luks,noauto' >"$R/etc/crypttab"
	echo 'below /dev/mapper/a' >>"$R/etc/ramraid/state/data.contents"
	finds gate-not-loaded
	says 'the array to come after systemd-cryptsetup@a.service, in which a disk leg is'
	unit ramraid@data.service systemd-cryptsetup@a.service /run/x
	silent
}

@test "an entry in fstab that is not known to be on the array is found: not recorded, or by an unstable name" {
	echo UUID=other >"$R/etc/ramraid/state/data.contents"
	unit srv-data.mount -.mount /run/systemd/generator/srv-data.mount
	finds not-gated
	says 'srv-data.mount is not known to be on it'
	says 'action: ramraid remember; systemctl daemon-reload'
	configured
	echo '/dev/md127 /srv/data ext4 defaults 0 2' >"$R/etc/fstab"
	finds not-gated
	says '/dev/md127 in line 1, which may be another array after the next boot'
	echo '/dev/disk/by-path/x /srv/data ext4 defaults 0 2' >"$R/etc/fstab"
	finds not-gated
	says 'its line in /etc/fstab does not show that it is on the array'
}

@test "if a disk leg comes over the network, every mount on the array has to be _netdev" {
	local at
	mkdir -p "$R/sys/devices/host1/session2/0:0:0:0" "$R/sys/class/block/sdb"
	ln -s "$R/sys/devices/host1/session2/0:0:0:0" "$R/sys/class/block/sdb/device"
	finds not-netdev
	says 'found none, though /dev/disk/by-id/ata-B-part1 comes over the network'
	sed -i 's/defaults/defaults,_netdev/' "$R/etc/fstab"
	silent
	rm "$R/sys/class/block/sdb/device"
	# Nobody forbids it for a disk that is here; but it has to be all or nothing.
	silent
	echo 'UUID=0815 /new ext4 defaults 0 2' >>"$R/etc/fstab"
	unit new.mount ramraid@data.service /run/systemd/generator/new.mount
	finds not-netdev
	says 'on some of them only'
	libraries
	for at in sdb/device sdb/device/nvme1; do
		mkdir -p "$R/sys/class/block/$at"
		echo tcp >"$R/sys/class/block/$at/transport"
		disk_is_remote sdb1
		echo pcie >"$R/sys/class/block/$at/transport"
		not disk_is_remote sdb1
	done
	disk_is_remote nbd3
	mkdir -p "$R/sys/class/block/drbd0/slaves/sda1"
	disk_is_remote drbd0
	not disk_is_remote sda1
}

@test "a mount unit in /etc without REQUIRED_BY=, and a REQUIRED_BY= unit that does not exist, are found" {
	: >"$R/etc/fstab"
	unit srv-data.mount -.mount /etc/systemd/system/srv-data.mount
	finds not-gated
	says "write REQUIRED_BY=srv-data.mount in"
	echo REQUIRED_BY=/srv/data >>"$R/etc/ramraid/data.conf"
	finds gate-not-loaded
	unit srv-data.mount ramraid@data.service /etc/systemd/system/srv-data.mount
	silent
	echo REQUIRED_BY=nonsense.service >>"$R/etc/ramraid/data.conf"
	finds unknown-unit
}

@test "a key under the name that an earlier release had for it is found" {
	echo MOUNT=/srv/data >>"$R/etc/ramraid/data.conf"
	unit srv-data.mount ramraid@data.service
	finds key-renamed
	says 'MOUNT has been called REQUIRED_BY since 0.2.0' 'write REQUIRED_BY=,'
}

@test "START_DEGRADED=always, perhaps left from one start, is a note, also as the default of all arrays" {
	for file in data.conf ramraid.conf; do
		echo START_DEGRADED=always >>"$R/etc/ramraid/$file"
		finds starts-always
		says 'note starts-always: expected no start against the record of the last run' \
			'START_DEGRADED=always: a start gives up each disk leg that is missing' \
			'delete that line; "ramraid config data" says in which file it is'
		[[ $status == 0 ]]
		sed -i /START_DEGRADED/d "$R/etc/ramraid/$file"
	done
	echo START_DEGRADED=never >>"$R/etc/ramraid/data.conf"
	silent
}

@test "a mount, mapping or swap on the array without a unit that waits is found" {
	mkdir -p "$R/sys/block/dm-0/dm" "$R/sys/block/md127/holders/dm-0" "$R/dev/mapper"
	ln -s ../../block/dm-0 "$R/sys/class/block/dm-0"
	echo 253:0 >"$R/sys/block/dm-0/dev"
	echo CRYPT-LUKS2-x-secret >"$R/sys/block/dm-0/dm/uuid"
	echo secret >"$R/sys/block/dm-0/dm/name"
	: >"$R/dev/dm-0" && ln -s ../dm-0 "$R/dev/mapper/secret"
	finds used-ungated
	says 'found /dev/mapper/secret, which'
	printf '%s\n' '31 1 253:0 / /mnt/a\040b rw - ext4 /dev/mapper/secret rw' \
		$'33 1 253:0 / /mnt/\e[2J rw - ext4 /dev/mapper/secret rw' >>"$R/proc/1/mountinfo"
	printf 'Filename Type Size Used Priority\n/dev/dm-0 partition 8 0 -2\n' >"$R/proc/swaps"
	echo '32 1 9:127 /x /srv/data/x rw - ext4 /dev/md127 rw' >>"$R/proc/1/mountinfo"
	unit srv-data-x.mount srv-data.mount
	finds swap-in-memory used-ungated
	says "found dev-dm\x2d0.swap: what is swapped out to free memory takes memory in the RAM \
leg"
	says 'found /mnt/\x1b[2J, /mnt/a b, /dev/mapper/secret, swap on /dev/dm-0, which'
	# The same, known.
	echo '/dev/mapper/secret none swap sw 0 0' >>"$R/etc/fstab"
	echo 'secret UUID=0815' >"$R/etc/crypttab"
	unit systemd-cryptsetup@secret.service ramraid@data.service /run/systemd/generator/x
	unit dev-mapper-secret.swap ramraid@data.service /run/systemd/generator/x
	finds swap-in-memory used-ungated
	says 'found /mnt/\x1b[2J, /mnt/a b, which'
}

@test "if what waits for the array can't be seen, that is reported" {
	: >"$R/mute"
	finds unseen-gate
	rm -r "$R/mute" "$R/run/systemd"
	finds unseen-gate
	mkdir -p "$R/run/systemd/system"
	: >"$R/etc/crypttab"
	BLIND='*/crypttab' finds unseen-gate
}

@test "without root, check reports what it can't see, and finds what it can" {
	echo disabled >"$R/enabled"
	NOBODY=yes BLIND='@(*initrd*|*/mountinfo)' finds not-enabled unseen-smart unseen-reads \
		unseen-initramfs unseen-initramfs unseen-gate
	[[ $(grep -c 'action: sudo ramraid check data' <<<"$output") == 5 ]] || fail "$output"
	BLIND='*/boot' finds not-enabled unseen-kernels
	libraries
	CHECK_ARRAY=data CONF_ERRORS=("$R/etc/ramraid/data.conf: cannot be read")
	findings_can_read() { false; }
	findings_configuration
	[[ ${FINDING["0.code"]} == unseen-configuration &&
		${FINDING["0.action"]} == 'sudo ramraid check data' ]]
}

# ---- a kernel's installation

hook() { # ARG…: as run-parts calls it, with our program
	mkdir -p "$BATS_TEST_TMPDIR/sbin"
	printf '#!/bin/sh\nprintf "%%s\\n" "$*" >>%q\ncat %q\nexit 1\n' "$BATS_TEST_TMPDIR/asked" \
		"$BATS_TEST_TMPDIR/answer" >"$BATS_TEST_TMPDIR/sbin/ramraid"
	chmod +x "$BATS_TEST_TMPDIR/sbin/ramraid"
	sed "s|/usr/sbin/ramraid|$BATS_TEST_TMPDIR/sbin/ramraid|; s|/etc/ramraid|$R/etc/ramraid|" \
		"$PROJECT/etc/kernel/postinst.d/zz-ramraid" >"$BATS_TEST_TMPDIR/hook"
	run sh "$BATS_TEST_TMPDIR/hook" "$@"
}

@test "the kernel hook prints only findings about that kernel, never fails, and needs an array and ramraid" {
	: >"$BATS_TEST_TMPDIR/answer"
	hook "$NEW" "/boot/vmlinuz-$NEW"
	[[ $status == 0 && -z $output &&
		$(<"$BATS_TEST_TMPDIR/asked") == "check --kernel=$NEW" ]] ||
		fail "$status $output"
	echo 'data: 1 problem' >"$BATS_TEST_TMPDIR/answer"
	hook "$NEW"
	[[ $status == 0 && $output == *'data: 1 problem'*"ramraid check --kernel=$NEW"* ]] ||
		fail "$output"
	rm "$BATS_TEST_TMPDIR/asked"
	hook
	[[ $status == 0 && -z $output && ! -e $BATS_TEST_TMPDIR/asked ]]
	rm "$R/etc/ramraid/data.conf"
	: >"$R/etc/ramraid/ramraid.conf"
	hook "$NEW"
	[[ $status == 0 && -z $output && ! -e $BATS_TEST_TMPDIR/asked ]]
	configured
	sed 's|/usr/sbin/ramraid|/nonexistent|' "$PROJECT/etc/kernel/postinst.d/zz-ramraid" \
		>"$BATS_TEST_TMPDIR/hook"
	run sh "$BATS_TEST_TMPDIR/hook" "$NEW"
	[[ $status == 0 && -z $output ]]
	# After those that make modules and the initramfs.
	[[ $(printf '%s\n' dkms initramfs-tools zz-ramraid | sort -c 2>&1) == '' ]]
}

@test "drop-ins whose names keep them from being read are noted, but not those that an editor or dpkg left" {
	mkdir "$R/etc/ramraid/data.conf.d" "$R/etc/ramraid/ramraid.conf.d"
	for file in 10-a.conf b.conf~ .hidden b.conf.dpkg-old b.bak b.swp c.disabled; do
		: >"$R/etc/ramraid/data.conf.d/$file"
	done
	silent
	: >"$R/etc/ramraid/data.conf.d/20-ram"
	finds dropin-unread
	says "found $R/etc/ramraid/data.conf.d/20-ram"
	says "action: mv $R/etc/ramraid/data.conf.d/20-ram $R/etc/ramraid/data.conf.d/20-ram.conf"
	: >"$R/etc/ramraid/ramraid.conf.d/30-all.cnf"
	finds dropin-unread dropin-unread
}

@test "RESCUE: a folder that others may write to, and a plain one beside encrypted legs, are found" {
	mkdir -p "$R/var/lib/ramraid"
	finds
	chmod 1777 "$R/var/lib"
	finds rescue-folder
	says 'is writable by others than root (mode 1777)'
	chmod 755 "$R/var/lib"
	rm -f "$R/sys/class/block/sda1/partition"
	mkdir -p "$R/sys/class/block/sda1/slaves/dm-7" "$R/sys/class/block/dm-7/dm" \
		"$R/sys/class/block/sdz"
	echo CRYPT-LUKS2-x >"$R/sys/class/block/dm-7/dm/uuid"
	echo x >"$R/sys/class/block/dm-7/dm/name"
	: >"$R/dev/sdz"
	findmnt() { echo "$MOUNT_SOURCE"; }
	export -f findmnt
	export MOUNT_SOURCE=/dev/sdz
	finds leg-opens-late rescue-plain
	says 'is on /dev/sdz, which is not'
	mkdir -p "$R/sys/class/block/sdz/slaves/dm-7"
	finds leg-opens-late
	export MOUNT_SOURCE=tmpfs
	finds leg-opens-late rescue-folder
	says "found that /var/lib/ramraid is in memory (tmpfs)"
	echo RESCUE=none >>"$R/etc/ramraid/data.conf"
	rm -r "$R/sys/class/block/sdz/slaves"
	finds leg-opens-late
}

@test "a folder of RESCUE that a shutdown could not write to yet is a problem, with what to type" {
	printf '%s\n' ProtectSystem=strict ReadWritePaths=-/etc/ramraid >"$R/units/sandbox"
	echo "RESCUE=$R/var/keep" >>"$R/etc/ramraid/data.conf"
	finds rescue-folder
	says "found that $R/var/keep does not exist"
	says "action: mkdir -p $R/var/keep; systemctl daemon-reload"
	mkdir -p "$R/var/keep"
	finds rescue-folder
	says "found that systemd does not yet let the array's unit write to $R/var/keep"
	says 'action: systemctl daemon-reload'
	printf '%s\n' ProtectSystem=strict "ReadWritePaths=-/var/lib/ramraid -$R/var/keep" \
		>"$R/units/sandbox"
	silent
}

@test "RESCUE on a removable disk is noted, unless / is on it; one mounted for a user is reported" {
	local usb="$R/sys/devices/pci0000:00/usb2/2-1/host9/block/sdz"
	mkdir -p "$usb" "$R/sys/class/block" "$R/mnt/stick/rescue" "$R/run/mount"
	echo 8:240 >"$usb/dev"
	ln -s "$usb" "$R/sys/class/block/sdz"
	: >"$R/dev/sdz"
	echo RESCUE=/mnt/stick/rescue >>"$R/etc/ramraid/data.conf"
	finds
	printf '90 1 8:240 / /mnt/stick rw - ext4 /dev/sdz rw\n' >>"$R/proc/1/mountinfo"
	finds removable
	says 'RESCUE=/mnt/stick/rescue on a disk that nobody but root can replace'
	says '/dev/sdz (usb)'
	# The same folder on a disk that is built in.
	mkdir -p "$R/sys/devices/pci0000:00/ata3/host9/block"
	mv "$usb" "$R/sys/devices/pci0000:00/ata3/host9/block/"
	ln -sfn "$R/sys/devices/pci0000:00/ata3/host9/block/sdz" "$R/sys/class/block/sdz"
	finds
	mv "$R/sys/devices/pci0000:00/ata3/host9/block/sdz" "$usb"
	ln -sfn "$usb" "$R/sys/class/block/sdz"
	echo 'SRC=/dev/sdz TARGET=/mnt/stick ROOT=/ OPTS=uhelper=udisks2' >"$R/run/mount/utab"
	finds rescue-folder
	says 'name that disk in /etc/fstab'
	rm "$R/run/mount/utab"
	printf '1 0 8:240 / / rw - ext4 /dev/sdz rw\n' >>"$R/proc/1/mountinfo"
	finds
}

@test "a device that carries a leg's UUID but is no leg is a problem, or a note if it was replaced" {
	local uuid=aaaaaaaa-0000-0000-0000-000000000003
	libraries
	findings_is_root() { :; }
	all_disks_clones() { F[clones]="sdc:$uuid:90"; }
	F=([name]=data [members]=2 [leg.0.node]=sda1 [leg.1.node]=sdb1 [array.state]=active
		[witness.given]="x $uuid")
	with() {
		FINDINGS=0
		check_running_copies
		[[ $FINDINGS == 1 && ${FINDING[0.severity]} == "$1" &&
			${FINDING[0.code]} == "$2" ]] ||
			fail "$* ${FINDING[0.severity]} ${FINDING[0.code]}"
	}
	with note old-disk
	[[ ${FINDING[0.action]} == 'if nothing on it is needed: mdadm --zero-superblock /dev/sdc' ]]
	# It could be the leg that is missing, under another name.
	F[leg.1.node]=''
	with problem copy
	F[leg.1.node]=sdb1 F[array.state]=absent
	with problem copy
	F[array.state]=active F[witness.given]=x
	with problem copy
}

@test "a missing second copy of the witness is noted where the root file system may be rolled back" {
	libraries
	CHECK_ARRAY=data
	local FINDINGS=0
	declare -gA CONF=([WITNESS_COPY]=auto) F=()
	noted() {
		FINDINGS=0
		check_record_copy
		[[ $FINDINGS == "$1" ]] || fail "$FINDINGS: ${FINDING[0.found]-}"
	}
	echo '1 0 8:1 / / rw - ext4 /dev/sda1 rw' >"$R/proc/1/mountinfo"
	witness_copy_find x
	noted 0
	echo '1 0 0:20 / / rw - btrfs /dev/sda1 rw' >"$R/proc/1/mountinfo"
	witness_copy_find x
	noted 1
	[[ ${FINDING[0.severity]} == note && ${FINDING[0.code]} == witness-copy &&
		${FINDING[0.found]} == 'neither /boot nor the ESP'* ]]
	echo '2 1 8:2 / /boot rw - ext4 /dev/sda2 rw' >>"$R/proc/1/mountinfo"
	witness_copy_find x
	noted 0
	# One that somebody else may bring is none.
	mkdir -p "$R/sys/devices/usb1/sdz" "$R/sys/dev/block/8:2"
	ln -s "$R/sys/devices/usb1/sdz" "$R/sys/class/block/sdz"
	echo DEVNAME=sdz >"$R/sys/dev/block/8:2/uevent"
	witness_copy_find x
	noted 1
	[[ ${FINDING[0.found]} == '/boot is on usb (/dev/sdz), where'* ]]
	rm -r "$R/sys/dev/block/8:2"
	echo '1 0 8:1 / / rw - ext4 /dev/sda1 rw' >"$R/proc/1/mountinfo"
	CONF[WITNESS_COPY]=/srv
	witness_copy_find x
	noted 1
}

# selftest KERNEL MODULES RESULT: what "ramraid selftest" has found.
selftest() { printf "kernel=%s\nmodules=%s\nresult=%s\ntime=2026-11-26T22:00:00+0000\n\
why=round 2: 128 sectors\n" "$@" >>"$R/etc/ramraid/state/selftest"; }

@test "a passed self-test makes a kernel as good as a listed one; a failed one is a problem on any kernel" {
	local choice
	kernel 7.1.1-amd64
	finds kernel-untried
	selftest 7.1.1-amd64 x passed
	silent
	sed -i s/passed/failed/ "$R/etc/ramraid/state/selftest"
	finds kernel-selftest-failed
	says 'problem kernel-selftest-failed'
	says "that the self-test has failed on Linux 7.1.1-amd64 (round 2: 128 sectors, \
2026-11-26T22:00:00+0000)"
	says 'ramraid selftest'
	rm "$R/etc/ramraid/state/selftest"
	rm -r "$R/lib/modules/7.1.1-amd64" "$R/boot/vmlinuz-7.1.1-amd64"
	# The kernel that runs, of a listed family.
	mkdir -p "$R/sys/module/md_mod" "$R/sys/module/raid1"
	echo a >"$R/sys/module/md_mod/srcversion"
	echo b >"$R/sys/module/raid1/srcversion"
	selftest "$NEW" a-b failed
	for choice in REBUILD=auto REBUILD=copy; do
		echo "$choice" >>"$R/etc/ramraid/data.conf"
		finds kernel-selftest-failed
	done
	echo REBUILD=kernel >>"$R/etc/ramraid/data.conf"
	silent
	# Another build of md since.
	echo REBUILD=auto >>"$R/etc/ramraid/data.conf"
	echo c >"$R/sys/module/raid1/srcversion"
	silent
}

@test "leftovers of a killed self-test are found, but not while one runs" {
	mkdir -p "$R/run/ramraid/.selftest" "$R/run/ramraid/.locks"
	finds selftest-left
	says 'action: ramraid selftest --clean'
	exec 8>"$R/run/ramraid/.locks/work._selftest"
	flock 8
	silent
	exec 8>&-
	rmdir "$R/run/ramraid/.selftest"
	silent
	: >"$R/etc/mdadm/mdadm.conf.d/ramraid-_selftest.conf"
	finds selftest-left
}
