#!/usr/bin/env bats
# ramraid create, on fake disks and with every program that it would call replaced: what is called,
# in which order, and how it is undone.

setup() {
	load helper
	world
	fake_disk sda $((100 << 20)) disk/by-id/ata-A
	fake_disk sdb $((200 << 20)) disk/by-id/ata-B
	mkdir -p "$R/proc/sys/kernel/random"
	echo 01234567-89ab-4cde-8f01-23456789abcd >"$R/proc/sys/kernel/random/uuid"
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     524288 kB\n" >"$R/proc/meminfo"
	export R BATS_TEST_TMPDIR SIGNATURES='' FAILS='' KILLED=''
}

# The programs: written down; those whose words begin with $FAILS fail, and with $KILLED are the
# last that happens. The array appears and goes as with the real ones.
fake() {
	called "$@"
	[[ -z $KILLED || "$*" != "$KILLED"* ]] || kill -KILL $$
	[[ -z $FAILS || "$*" != "$FAILS"* ]]
}
wipefs() { [[ $1 == --all ]] && { fake wipefs "$@" || return; } || printf '%s' "$SIGNATURES"; }
lsblk() { :; }
modprobe() { :; }
update-initramfs() { fake update-initramfs "$@"; }
systemctl() { fake systemctl "$@"; }
mdadm() {
	fake mdadm "$@" || return
	case $1 in
	--create)
		mkdir -p "$R"/sys/class/block/sd{a,b}/holders/md127 "$R/dev/md"
		: >"$R/dev/md127"
		ln -s ../md127 "$R/dev/md/data"
		;;
	--stop) rm -r "$R"/sys/class/block/sd{a,b}/holders/md127 "$R/dev/md" "$R/dev/md127" ;;
	esac
}

# program: prints the file that is ramraid with those replacements. They are written into it,
# because a shell between may not pass exported functions on.
program() {
	declare -f called fake mdadm wipefs lsblk modprobe rmmod systemctl systemd-notify \
		update-initramfs >"$BATS_TEST_TMPDIR/program"
	printf '%s\n' 'set -Eeuo pipefail' 'shopt -s inherit_errexit' \
		"source $PROJECT/bin/ramraid" 'main "$@"' >>"$BATS_TEST_TMPDIR/program"
	printf '%s\n' "$BATS_TEST_TMPDIR/program"
}

# create ARG…: sets status and output as "run" does, but as a program of its own: "run" switches
# errexit off, on which the verb relies.
create() {
	status=0
	output=$(bash "$(program)" create "$@" 2>&1 </dev/null) || status=$?
	mapfile -t lines <<<"$output"
}

# answered ANSWER ARG…: typed at a terminal of its own.
answered() {
	local answer=$1
	shift
	status=0
	output=$(
		set -o pipefail
		script -qec "bash $(program) create $*" /dev/null <<<"$answer" | tr -d '\r'
	) || status=$?
}

# steps: the calls, without the initramfs, which is made only where there is a program for it.
steps() { calls | grep -v '^update-initramfs' || :; }

nothing_done() {
	[[ -z $(calls) ]] || fail "called: $(calls)"
	[[ ! -e $R/etc/ramraid/data.conf && ! -e $R/etc/mdadm ]] || fail 'files were written'
}

refused() { # CODE PATTERN ARG…
	local code=$1 pattern=$2
	shift 2
	create "$@"
	assert_failure "$code"
	assert_output -p "$pattern"
	nothing_done
}

@test "--dry-run prints what create would do, in order, and does nothing" {
	create --dry-run data /dev/sda /dev/disk/by-id/ata-B
	assert_success
	nothing_done
	# Without the message about the initramfs, which depends on the machine.
	run grep -vE 'initramfs' <<<"$output"
	assert_output \
		"A mirror \"data\" of 100MiB, one leg in RAM. The RAM leg is a new ramdisk (brd), which takes 100MiB of memory. Everything on these disks is lost:
  /dev/disk/by-id/ata-A (sda)
  /dev/disk/by-id/ata-B (sdb)
mdadm --create /dev/md/data --run --metadata=1.2 --name=data --uuid=0123456789ab4cde8f0123456789abcd --level=1 --raid-devices=3 --bitmap=internal --bitmap-chunk=1024K missing --write-mostly /dev/sda /dev/sdb
systemctl --quiet enable ramraid@data.service
cat > $R/etc/ramraid/data.conf <<'EOT'
# Mirror with one leg in RAM, made by \"ramraid create\". Every key: ramraid.conf(5).
UUID=01234567-89ab-4cde-8f01-23456789abcd
MEMBER=/dev/disk/by-id/ata-A
MEMBER=/dev/disk/by-id/ata-B
EOT
cat > $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf <<'EOT'
# Written by ramraid, which starts this array itself; taken away by removing the package.
ARRAY <ignore> UUID=01234567:89ab4cde:8f012345:6789abcd
EOT
systemctl daemon-reload
systemctl start --no-block ramraid@data.service
data: nothing was changed (--dry-run)"
}

@test "--dry-run together with --yes and --force still does nothing" {
	SIGNATURES=ext4
	create --dry-run --yes --force --ram=none data /dev/sda
	assert_success
	assert_line 'wipefs --all --quiet -- /dev/sda'
	assert_line RAM=none
	nothing_done
}

@test "without a terminal, create wants --yes" {
	refused 2 'add --yes' data /dev/sda
}

@test "at a terminal, create names the disks and asks, and only y goes on" {
	local no
	for no in n '' nay; do
		answered "$no" --no-wait data /dev/sda /dev/sdb
		assert_failure 1
		assert_output -p '/dev/disk/by-id/ata-A (sda)'
		assert_output -p 'Go on? [y/N]'
		assert_output -p 'data: nothing was changed'
		nothing_done
	done
	answered y --no-wait data /dev/sda /dev/sdb
	assert_success
	assert_output -p 'data: made. Next: mkfs'
	[[ $(calls) == *'mdadm --create /dev/md/data'* && -e $R/etc/ramraid/data.conf ]] ||
		fail "$(calls)"
}

@test "create makes the array, the configuration and the claim, and starts the unit" {
	create --yes --no-wait data /dev/sda /dev/sdb
	assert_success
	run steps
	assert_output 'mdadm --create /dev/md/data --run --metadata=1.2 --name=data --uuid=0123456789ab4cde8f0123456789abcd --level=1 --raid-devices=3 --bitmap=internal --bitmap-chunk=1024K missing --write-mostly /dev/sda /dev/sdb
systemctl --quiet enable ramraid@data.service
systemctl daemon-reload
systemctl start --no-block ramraid@data.service'
	[[ $(<"$R/etc/ramraid/data.conf") == \
		*$'\nMEMBER=/dev/disk/by-id/ata-A\nMEMBER=/dev/disk/by-id/ata-B' ]]
	[[ $(<"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf") == \
		*'ARRAY <ignore> UUID=01234567:89ab4cde:8f012345:6789abcd' ]]
	libraries
	conf_load data || fail "${CONF_ERRORS[*]}"
}

# zram NUMBER…: the kernel's module is there.
zram() { mkdir -p "$R/sys/class/zram-control" && : >"$R/sys/class/zram-control/hot_add"; }

@test "for zram, create stops the array again, so that its unit starts it with blocks of 4096 bytes" {
	zram
	mkdir -p "$R/sys/block/md127/md"
	echo 101376 >"$R/sys/block/md127/md/component_size"
	create --yes --no-wait --ram=zram:lz4 data /dev/sda /dev/sdb
	assert_success
	[[ $(steps | tail -n +2) == 'systemctl --quiet enable ramraid@data.service
mdadm --stop /dev/md127
systemctl daemon-reload
systemctl start --no-block ramraid@data.service' ]] || fail "$(steps)"
	[[ $(<"$R/etc/ramraid/data.conf") == *$'\nRAM=zram:lz4\nBLOCK=4096' ]]
	[[ -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ]]
}

@test "RAM=zram in the defaults counts as well, and --dry-run shows the stop" {
	zram
	echo RAM=zram >"$R/etc/ramraid/ramraid.conf"
	create --dry-run data /dev/sda /dev/sdb
	assert_success
	assert_line BLOCK=4096
	assert_line 'mdadm --stop /dev/md/data'
	nothing_done
}

@test "with disks of 512 and of 4096 bytes a block, the array keeps 4096 even without the latter" {
	mkdir -p "$R/sys/class/block/sdb/queue"
	create --dry-run data /dev/sda /dev/sdb
	assert_success
	refute_line BLOCK=4096
	echo 4096 >"$R/sys/class/block/sdb/queue/logical_block_size"
	create --dry-run data /dev/sda /dev/sdb
	assert_success
	assert_line BLOCK=4096
	create --dry-run data /dev/sdb
	assert_success
	refute_line BLOCK=4096
}

@test "for zram, create refuses without the module, and undoes everything if the array can't be stopped" {
	refused 4 'the kernel module zram is not available' --yes --ram=zram data /dev/sda
	zram
	mkdir -p "$R/sys/block/md127/md"
	echo 101376 >"$R/sys/block/md127/md/component_size"
	FAILS='mdadm --stop'
	create --yes --no-wait --ram=zram data /dev/sda /dev/sdb
	assert_failure
	assert_output -p 'could not be stopped, and only a new start gives it blocks of 4096 bytes'
	[[ ! -e $R/etc/ramraid/data.conf && ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ]]
}

@test "if mdadm fails, create leaves the disks without a superblock" {
	FAILS='mdadm --create'
	create --yes --no-wait data /dev/sda /dev/sdb
	assert_failure
	assert_output -p 'undoing'
	[[ $(steps | tail -n +2) == \
		$'mdadm --zero-superblock /dev/sda\nmdadm --zero-superblock /dev/sdb' ]] ||
		fail "$(steps)"
	[[ ! -e $R/etc/ramraid/data.conf && ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ]]
}

@test "if a late step fails, create undoes everything, newest first" {
	FAILS='systemctl daemon-reload'
	create --yes --no-wait data /dev/sda /dev/sdb
	assert_failure
	[[ ! -e $R/etc/ramraid/data.conf && ! -e $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf ]]
	[[ $(steps | tail -n +4) == 'systemctl daemon-reload
systemctl --quiet disable ramraid@data.service
mdadm --stop /dev/md127
mdadm --zero-superblock /dev/sda
mdadm --zero-superblock /dev/sdb' ]] || fail "$(steps)"
	# The claim goes before the configuration, that before the link, and the array last.
	[[ $output == *'rm -f'*ramraid-data.conf*daemon-reload*'rm -f'*/data.conf*disable*--stop*--zero-superblock* ]] ||
		fail "$output"
}

# What is left at each moment: enabled before configured, configured before claimed.
@test "create killed at any step leaves no configuration that is not enabled, and no claim without one" {
	local conf=$R/etc/ramraid/data.conf claim=$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf \
		left=''
	for KILLED in 'mdadm --create' 'systemctl --quiet enable' 'systemctl daemon-reload' \
		'systemctl start'; do
		rm -rf "$BATS_TEST_TMPDIR/calls" "$conf" "$claim" "$R"/{dev/md,dev/md127} \
			"$R"/sys/class/block/sd{a,b}/holders/md127
		create --yes --no-wait data /dev/sda /dev/sdb
		assert_failure 137
		[[ ! -e $conf || $(calls) == *'--quiet enable'* ]] ||
			fail "$KILLED: configured, but not enabled"
		[[ ! -e $claim || -e $conf ]] || fail "$KILLED: claimed, but not configured"
		[[ ! -e $conf ]] || left+=c
		[[ ! -e $claim ]] || left+=l
	done
	# They do appear, and the last call before the configuration is the one that enables.
	[[ $left == clcl ]] || fail "$left"
}

@test "if the unit does not start, create undoes everything" {
	FAILS='systemctl start'
	create --yes --no-wait data /dev/sda /dev/sdb
	assert_failure
	[[ $(steps) == *'systemctl stop ramraid@data.service'*disable*'mdadm --stop'* &&
		! -e $R/etc/ramraid/data.conf ]] ||
		fail "$(steps)"
}

@test "disks that hold something are refused without --force, and wiped with it" {
	SIGNATURES=$'ext4\ngpt'
	refused 4 '/dev/sda: signature: it holds ext4, gpt' --yes data /dev/sda
	assert_output -p 'add --force'
	create --yes --force --no-wait data /dev/sda /dev/sdb
	assert_success
	[[ $(steps) == 'wipefs --all --quiet -- /dev/sda
wipefs --all --quiet -- /dev/sdb
mdadm --create'* ]] || fail "$(steps)"
}

# db KEY=VALUE…: an array with that name is configured, and stopped.
db() {
	printf '%s\n' UUID=99999999-89ab-4cde-8f01-23456789abcd "$@" >"$R/etc/ramraid/db.conf"
	cp -a "$R/etc" "$R/etc.before"
}

@test "a disk with the superblock of another configured array is refused even with --force, whatever names it" {
	local array=d25ee28f-56fe-4319-a24c-f6c3580c71d0
	db MEMBER=/dev/disk/by-id/ata-OLD-NAME
	sed -i "s/^UUID=.*/UUID=$array/" "$R/etc/ramraid/db.conf"
	cp -a "$R/etc/." "$R/etc.before"
	dd if="$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" of="$R/dev/sda" conv=notrunc status=none
	SIGNATURES=linux_raid_member
	refused 4 "/dev/sda: has the superblock of the array db, whose configuration has UUID=$array. \
If nothing of db is needed any more: ramraid destroy db; if db goes on without this device: \
mdadm --zero-superblock /dev/sda" --yes --force data /dev/sda
	# A partition on the disk that is typed is as good.
	SIGNATURES=''
	fake_disk sdc $((100 << 20)) disk/by-id/ata-C
	mkdir -p "$R/sys/class/block/sdc/sda"
	echo 1 >"$R/sys/class/block/sdc/sda/partition"
	refused 4 "/dev/sdc: has the superblock of the array db" --yes --force data /dev/sdc
	refute_output -p 'add --force'
	untouched
	# A superblock of no configured array is overwritten with --force.
	rm "$R/etc/ramraid/db.conf"
	create --yes --force --no-wait data /dev/sda
	assert_success
}

@test "a disk that another array is configured with is refused even with --force, whatever name is typed" {
	fake_disk sdc $((100 << 20)) disk/by-id/ata-C
	ln -s ../../sda "$R/dev/disk/by-id/wwn-A"
	db MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-gone RAM=/dev/disk/by-id/ata-C
	for SIGNATURES in linux_raid_member ''; do
		for name in /dev/sda /dev/disk/by-id/ata-A /dev/disk/by-id/wwn-A; do
			refused 4 "$name: is a disk leg of the array db, whose configuration has \
MEMBER=/dev/disk/by-id/ata-A. If nothing of db is needed any more: ramraid destroy db; if db goes on \
without this device: delete that line of db" --yes --force data "$name"
			refused 4 'is a disk leg of the array db' --dry-run data "$name"
			refute_output -p 'add --force'
		done
		refused 4 "/dev/sdc: is the RAM leg of the array db" --yes --force data /dev/sdc
		refused 4 "/dev/sda: is a disk leg of the array db" --yes --force --ram=/dev/sda \
			data /dev/sdb
		untouched
	done
	# Also one whose name ends in "=".
	ln -s ../../sda "$R/dev/disk/by-id/x="
	db MEMBER=/dev/disk/by-id/x=
	refused 4 "/dev/sda: is a disk leg of the array db" --yes --force data /dev/sda
	# Also of one with errors.
	db MEMBER=/dev/disk/by-id/ata-A UUID=x
	refused 4 "/dev/sda: is a disk leg of the array db" --yes --force data /dev/sda
	db MEMBER=/dev/disk/by-id/ata-gone
	create --yes --force --no-wait data /dev/sda
	assert_success
}

@test "a disk with a partition that another array is configured with is refused, and so is the partition of such a disk" {
	fake_disk sda1 $((50 << 20)) disk/by-id/ata-A-part1
	mkdir "$R/sys/class/block/sda/sda1"
	db MEMBER=/dev/disk/by-id/ata-A-part1
	refused 4 '/dev/sda: is a disk leg of the array db' --yes --force data /dev/sda
	db MEMBER=/dev/disk/by-id/ata-A
	refused 4 '/dev/sda1: is a disk leg of the array db' --yes --force data /dev/sda1
}

@test "a disk in use is refused even with --force" {
	mkdir "$R/sys/class/block/sda/holders/dm-0"
	refused 4 '/dev/sda: in use: dm-0' --yes --force data /dev/sda
}

@test "create names everything that is wrong with the disks at once" {
	fake_disk sdc $((1 << 20)) disk/by-id/ata-C
	fake_disk sdd $((100 << 20))
	refused 4 'nothing was changed' --yes data /dev/sdx /dev/sdc /dev/sdd /dev/sda \
		/dev/disk/by-id/ata-A
	assert_output -p '/dev/sdx: missing'
	assert_output -p '/dev/sdc: is smaller than 16MiB'
	assert_output -p '/dev/sdd: has no stable name'
	assert_output -p 'ata-A: is named twice'
}

@test "create refuses impossible names and options, and names that are taken" {
	local name
	for name in ramraid ../x 1data a/b aaaaaaaaaabbbbbbbbbbccccccccccdd x.conf; do
		refused 2 "can't be an array's name" --yes "$name" /dev/sda
	done
	refused 2 "can't be an array's name" --yes -- -x /dev/sda
	refused 2 '--ram=tape' --yes --ram=tape data /dev/sda
	mkdir -p "$R/dev/md"
	: >"$R/dev/md/there"
	refused 4 'already' --yes there /dev/sda
	echo x >"$R/etc/ramraid/old.conf"
	refused 4 'exists already' --yes old /dev/sda
}

@test "create refuses drop-ins that set an array's own keys or have errors, and names those that will apply" {
	local line file=$R/etc/ramraid/data.conf.d/x.conf
	mkdir "${file%/*}"
	for line in MEMBER=/dev/disk/by-id/ata-Z UUID=01234567-89ab-4cde-8f01-23456789abcd \
		LAYOUT=far2 RAM=/dev/disk/by-id/nvme-X WAIT=perhaps; do
		echo "$line" >"$file"
		refused 4 "belong to another array: $file. Remove them first" --yes data \
			/dev/sda
	done
	echo WRITE_BEHIND=256 >"$file"
	refused 4 "data: $file:1: WRITE_BEHIND=256 lets fsync return" --yes data /dev/sda /dev/sdb
	echo WRITE_BEHIND=256 >"$R/etc/ramraid/ramraid.conf"
	rm "$file"
	refused 4 "data: $R/etc/ramraid/ramraid.conf: WRITE_BEHIND=256 lets fsync return" --yes \
		data /dev/sda /dev/sdb
	rm "$R/etc/ramraid/ramraid.conf"
	printf 'WRITE_BEHIND=256\nACCEPT_DATA_LOSS=yes\n' >"$file"
	create --yes --no-wait data /dev/sda /dev/sdb
	assert_output -p "data: these drop-ins apply to it as well: $file"
}

@test "create refuses a drop-in that overrides the RAM= or BLOCK= that it is about to write" {
	local file=$R/etc/ramraid/data.conf.d/x.conf inner=$R/etc/ramraid/data-far2.conf.d/x.conf
	mkdir "${file%/*}" "${inner%/*}"
	echo RAM=brd >"$file"
	refused 4 "data: $file:1: RAM=brd would override the RAM=none that \
$R/etc/ramraid/data.conf gets. Delete that line, or give --ram=brd; nothing was changed" \
		--yes --ram=none data /dev/sda /dev/sdb
	create --dry-run --ram=brd data /dev/sda /dev/sdb
	assert_success
	create --dry-run data /dev/sda /dev/sdb
	assert_success
	refute_line -e ^RAM=
	# The disk leg of a nested mirror has no RAM leg.
	echo RAM=brd >"$inner"
	refused 4 "data-far2: $inner:1: RAM=brd would override the RAM=none that \
$R/etc/ramraid/data-far2.conf gets. Delete that line; nothing was changed" \
		--yes --layout=far2 data /dev/sda /dev/sdb
	echo RAM=none >"$inner"
	create --dry-run --layout=far2 data /dev/sda /dev/sdb
	assert_success
	echo BLOCK=auto >"$file"
	create --dry-run data /dev/sda /dev/sdb
	assert_success
	mkdir -p "$R/sys/class/block/sda/queue"
	echo 4096 >"$R/sys/class/block/sda/queue/logical_block_size"
	refused 4 "data: $file:1: BLOCK=auto would override the BLOCK=4096 that" --yes data \
		/dev/sda /dev/sdb
}

@test "create judges memory by the drop-ins that are there before the array" {
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     204800 kB\n" >"$R/proc/meminfo"
	mkdir "$R/etc/ramraid/data.conf.d"
	echo RAM=none >"$R/etc/ramraid/data.conf.d/x.conf"
	create --dry-run data /dev/sda /dev/sdb
	assert_success
	refute_output -p 'RAM leg is'
}

@test "create starts an array again that a drop-in gives larger blocks before anything is on it" {
	mkdir "$R/etc/ramraid/data.conf.d"
	echo BLOCK=4096 >"$R/etc/ramraid/data.conf.d/x.conf"
	create --dry-run data /dev/sda /dev/sdb
	assert_success
	assert_line 'mdadm --stop /dev/md/data'
}

@test "create refuses when memory is short, but not with --ram=none" {
	printf "MemTotal:        1048576 kB\nMemFree:          1 kB\n\
MemAvailable:     204800 kB\n" >"$R/proc/meminfo"
	# 100 MiB and 10 % of 1 GiB are 202.4 MiB.
	refused 4 'RAM_RESERVE keeps' --yes data /dev/sda /dev/sdb
	create --yes --ram=none --dry-run data /dev/sda /dev/sdb
	assert_success
}

@test "the bitmap's chunks: 4 MiB, less for small arrays, more for huge ones" {
	local size chunk
	libraries
	for size in 40:1024 256:1024 257:2048 512:2048 514:4096 1024:4096 100000:4096 262144:4096 \
		262148:8192 4000000:65536; do
		chunk=${size#*:} size=${size%:*}
		fake_disk sdx $((size * 1048576))
		[[ $(md_bitmap_chunk /dev/sdx) == "$chunk" ]] ||
			fail "$size MiB: $(md_bitmap_chunk /dev/sdx) KiB"
	done
	fake_disk sdy $((300 * 1048576))
	[[ $(md_bitmap_chunk /dev/sdx /dev/sdy) == 2048 ]]
}

@test "--ram=DEVICE is written by a stable name, and needs no memory" {
	fake_disk nvme0n1 $((100 << 20)) disk/by-path/pci-1-nvme-1
	printf 'MemTotal:        1048576 kB\nMemFree:          1 kB\nMemAvailable:     1024 kB\n' \
		>"$R/proc/meminfo"
	create --yes --no-wait --ram=/dev/nvme0n1 data /dev/sda /dev/sdb
	assert_success
	[[ $(<"$R/etc/ramraid/data.conf") == \
		*$'\nMEMBER=/dev/disk/by-id/ata-B\nRAM=/dev/disk/by-path/pci-1-nvme-1' ]]
	# The unit adds it.
	[[ $(calls) != *nvme* ]] || fail "$(calls)"
}

@test "--ram=DEVICE that is missing, too small, in use, a leg, or has no stable name is refused" {
	fake_disk nvme0n1 $((100 << 20)) disk/by-id/nvme-X
	fake_disk nvme1n1 $((99 << 20)) disk/by-id/nvme-Y
	fake_disk nvme2n1 $((100 << 20))
	refused 4 'missing: there is no block device /dev/disk/by-id/none' --yes \
		--ram=/dev/disk/by-id/none data /dev/sda
	refused 4 'too small: it has 103809024 bytes, and a leg needs 104857600' --yes \
		--ram=/dev/nvme1n1 data /dev/sda
	refused 4 'has no stable name' --yes --ram=/dev/nvme2n1 data /dev/sda
	refused 4 'is one of the disks' --yes --ram=/dev/disk/by-id/ata-A data /dev/sda
	mkdir -p "$R/sys/class/block/nvme0n1/holders/dm-1"
	refused 4 'in use: dm-1' --yes --ram=/dev/nvme0n1 data /dev/sda
	rmdir "$R/sys/class/block/nvme0n1/holders/dm-1"
	mkdir -p "$R/sys/class/block/nvme0n1/queue"
	echo 4096 >"$R/sys/class/block/nvme0n1/queue/logical_block_size"
	refused 4 'its blocks of 4096 bytes are larger' --yes --ram=/dev/nvme0n1 data /dev/sda
	refused 2 'write auto, rapiddisk, brd, zram, zram:ALGORITHM, none, or a device path' --yes \
		--ram=tape data /dev/sda
}

@test "--ram=DEVICE that holds something is refused without --force, and wiped with it" {
	fake_disk nvme0n1 $((100 << 20)) disk/by-id/nvme-X
	wipefs() {
		[[ $1 == --all ]] && { fake wipefs "$@" || return; } || {
			[[ ${*: -1} != */nvme0n1 ]] || printf ext4
		}
	}
	refused 4 'if nothing on it is needed any more, add --force' --yes --ram=/dev/nvme0n1 data \
		/dev/sda
	create --yes --no-wait --force --ram=/dev/nvme0n1 data /dev/sda /dev/sdb
	assert_success
	steps | grep -x 'wipefs --all --quiet -- /dev/nvme0n1'
}

@test "--ram=DEVICE of persistent memory is written by its UUID, or else by its kernel name" {
	fake_disk pmem0 $((100 << 20)) disk/by-path/platform-e820_pmem
	create --dry-run --ram=/dev/pmem0 data /dev/sda
	assert_success
	assert_line RAM=/dev/pmem0
	fake_disk pmem1 $((100 << 20)) disk/by-id/pmem-0815
	create --dry-run --ram=/dev/pmem1 data /dev/sda
	assert_line RAM=/dev/disk/by-id/pmem-0815
	create --dry-run --ram=/dev/disk/by-path/platform-e820_pmem data /dev/sda
	assert_line RAM=/dev/disk/by-path/platform-e820_pmem
}

@test "--layout=far2 plans two arrays, one on the other, each with its configuration and claim" {
	create --dry-run --layout=far2 data /dev/sda /dev/sdb
	assert_success
	nothing_done
	run grep -vE 'initramfs|^(ARRAY|#|UUID=|EOT|A mirror|  /dev)' <<<"$output"
	assert_output "mdadm --create /dev/md/data-far2 --run --metadata=1.2 --name=data-far2 --uuid=0123456789ab4cde8f0123456789abcd --level=10 --layout=f2 --raid-devices=2 --bitmap=internal --bitmap-chunk=1024K /dev/sda /dev/sdb
systemctl --quiet enable ramraid@data-far2.service
cat > $R/etc/ramraid/data-far2.conf <<'EOT'
LAYOUT=far2
RAM=none
MEMBER=/dev/disk/by-id/ata-A
MEMBER=/dev/disk/by-id/ata-B
cat > $R/etc/mdadm/mdadm.conf.d/ramraid-data-far2.conf <<'EOT'
wipefs --all --quiet -- /dev/md/data-far2
mdadm --create /dev/md/data --run --metadata=1.2 --name=data --uuid=0123456789ab4cde8f0123456789abcd --level=1 --raid-devices=2 --bitmap=internal --bitmap-chunk=1024K missing --write-mostly /dev/md/data-far2
systemctl --quiet enable ramraid@data.service
cat > $R/etc/ramraid/data.conf <<'EOT'
MEMBER=/dev/md/data-far2
cat > $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf <<'EOT'
systemctl daemon-reload
systemctl start --no-block ramraid@data-far2.service
systemctl start --no-block ramraid@data.service
data: nothing was changed (--dry-run)"
}

@test "--layout refuses wrong values, old options, too few disks, and names that are too long or taken" {
	refused 2 '--layout=near2: write mirror or far2' --yes --layout=near2 data /dev/sda /dev/sdb
	refused 2 'unknown option --nested=far2; since 0.2.0 it is --layout' --yes --nested=far2 \
		data /dev/sda /dev/sdb
	refused 2 'unknown option --nested; since 0.2.0 it is --layout' --nested far2 data \
		/dev/sda /dev/sdb
	refused 2 'takes two disks, not 1' --yes --layout=far2 data /dev/sda
	refused 2 "can't be an array's name" --yes --layout=far2 aaaaaaaaaabbbbbbbbbbccccccccccd \
		/dev/sda /dev/sdb
	echo x >"$R/etc/ramraid/data-far2.conf"
	refused 4 'data-far2.conf exists already' --yes --layout=far2 data /dev/sda /dev/sdb
}

# The second array comes on top of the first.
@test "--layout=far2 makes two arrays, and undoes both if a late step fails" {
	mdadm() {
		fake mdadm "$@" || return
		case "$1 $2" in
		'--create /dev/md/data-far2')
			mkdir -p "$R"/sys/class/block/sd{a,b}/holders/md126 \
				"$R/sys/class/block/md126/holders" "$R/dev/md"
			echo 204800 >"$R/sys/class/block/md126/size"
			: >"$R/dev/md126"
			ln -s ../md126 "$R/dev/md/data-far2"
			;;
		'--create /dev/md/data')
			mkdir -p "$R/sys/class/block/md126/holders/md127"
			: >"$R/dev/md127"
			ln -s ../md127 "$R/dev/md/data"
			;;
		'--stop /dev/md127')
			rm -r "$R/sys/class/block/md126/holders/md127" "$R/dev/md/data" \
				"$R/dev/md127"
			;;
		'--stop /dev/md126')
			rm -r "$R"/sys/class/block/sd{a,b}/holders/md126 \
				"$R/sys/class/block/md126" "$R/dev/md/data-far2" "$R/dev/md126"
			;;
		esac
	}
	FAILS='systemctl daemon-reload'
	create --yes --no-wait --layout=far2 data /dev/sda /dev/sdb
	assert_failure
	run find "$R/etc/ramraid" "$R/etc/mdadm/mdadm.conf.d" -name '*data*'
	assert_output ''
	[[ $(steps) == *'disable ramraid@data.service
mdadm --stop /dev/md127
mdadm --zero-superblock /dev/md126
'*'disable ramraid@data-far2.service
mdadm --stop /dev/md126
mdadm --zero-superblock /dev/sda
mdadm --zero-superblock /dev/sdb' ]] || fail "$(steps)"
	rm "$BATS_TEST_TMPDIR/calls"
	FAILS=''
	create --yes --no-wait --layout=far2 data /dev/sda /dev/sdb
	assert_success
	libraries
	# The world has one UUID for all arrays.
	sed -i '/^UUID=/s/[0-9a-f]/9/' "$R/etc/ramraid/data-far2.conf"
	conf_load data-far2 && conf_load data || fail "${CONF_ERRORS[*]}"
	[[ ${MEMBERS[*]} == /dev/md/data-far2 ]]
}

@test "each step that create undoes at its end has its own status" {
	undone() { rm -f "$1" && return; }
	touch "$BATS_TEST_TMPDIR/made"
	run bash -c "$(declare -f undone); lib=$PROJECT/lib; source \"\$lib/core/load.sh\"
need cmd/create; NAME=data; act_undo_push undone '$BATS_TEST_TMPDIR/made'
trap 'create_end \$?' EXIT; exit 3"
	[[ $status == 3 && ! -e $BATS_TEST_TMPDIR/made ]]
	refute_output -p 'could not undo'
}

@test "what undoes a create leaves alone what another run has made on the same disks" {
	libraries
	md_of_leg() { called of "$1" && echo md127; }
	md_stop() { called stop "$1"; }
	md_zero() { called zero "$1"; }
	superblock_facts() {
		case $1 in
		*/sda) printf 'sb=ok\nuuid=theirs\nevents=1\n' ;;
		*/sdb) printf 'sb=ok\nuuid=ours\nevents=1\n' ;;
		*) printf 'sb=none\n' ;;
		esac
	}
	create_dismantle ours sda
	[[ -z $(calls) ]] || fail "$(calls)"
	# What may be half written is wiped.
	create_dismantle ours sda sdb sdc
	[[ $(calls) == $'of sdb\nstop md127\nzero sdb\nzero sdc' ]] || fail "$(calls)"
}
