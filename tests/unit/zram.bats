#!/usr/bin/env bats
# zram as the RAM leg: its devices, in a sysfs of files, where what the kernel does is done by the
# functions below.

setup() {
	load helper
	world
	libraries
	mkdir -p "$R/run/ramraid" "$R/sys/class/zram-control"
	echo 1 >"$R/sys/class/zram-control/hot_add"
	# Somebody else's, in use as swap; and the one that our hot_add is about to make.
	device 0 4
	device 1 7
	echo 2097152 >"$R/sys/block/zram0/size"
	printf 'MemTotal: 1000000 kB\nMemAvailable: 500000 kB\n' >"$R/proc/meminfo"
	modprobe() { :; }
	disk_wait_node() { :; }
	sleep() { SECONDS=$((SECONDS + 1)); }
	BUSY=''
	act_write() {
		called write "${1#"$R/sys/"}" "$2"
		case $1 in
		*/disksize) echo $(($2 / 512)) >"${1%disksize}size" ;;
		*/hot_remove) [[ -z $BUSY ]] && rm -r "$R/sys/block/zram$2" ;;
		esac
	}
}

device() { # NUMBER DISKSEQ
	mkdir -p "$R/sys/block/zram$1/holders"
	ln -sfn "$R/sys/block/zram$1" "$R/sys/class/block/zram$1"
	echo "$2" >"$R/sys/block/zram$1/diskseq"
	echo 0 >"$R/sys/block/zram$1/size"
	echo 'lzo-rle [lzo] lz4 zstd' >"$R/sys/block/zram$1/comp_algorithm"
	echo '0 0 0 0 0 0 0 0 0' >"$R/sys/block/zram$1/mm_stat"
}
did() { [[ $(calls) == "$1" ]] || fail "$(calls)"; }
refused() { # PATTERN ARG…
	run ramdisk_make data "${@:2}"
	assert_failure
	assert_output -p "$1"
	[[ ! -e $R/run/ramraid/data.ram ]]
}

@test "a device that the kernel has just made for us is noted and set up, and no other is touched" {
	ramdisk_make data 104857600 zram 10% 4096
	did 'write block/zram1/mem_limit 111411200
write block/zram1/comp_algorithm zstd
write block/zram1/disksize 104857600'
	[[ $(<"$R/run/ramraid/data.ram") == 'zram zram1 104857600 7 blank' ]]
	ramdisk_is_blank data
	ramdisk_note_read data
	[[ $RAM_PROVIDER == zram && $RAM_NODE == zram1 && $RAM_BYTES == 104857600 ]]
	ramdisk_drop data
	[[ $(calls) == *$'\nwrite class/zram-control/hot_remove 1' ]]
	[[ ! -e $R/run/ramraid/data.ram && -e $R/sys/block/zram0 ]]
}

@test "the algorithm is the one that is asked for, or an error; the default is set only where the kernel has it" {
	ramdisk_make data 104857600 zram:lz4 10% 4096
	[[ $(calls) == *'write block/zram1/comp_algorithm lz4'* ]]
	rm "$BATS_TEST_TMPDIR/calls"
	device 1 8
	rm "$R/run/ramraid/data.ram"
	refused 'does not compress with best; write RAM=zram, or one of: lzo-rle lzo lz4 zstd' \
		104857600 zram:best 10% 4096
	# Given back.
	did 'write block/zram1/mem_limit 111411200
write class/zram-control/hot_remove 1'
	device 1 9
	echo '[lzo] lz4' >"$R/sys/block/zram1/comp_algorithm"
	ramdisk_make data 104857600 zram 10% 4096
	[[ $(calls) != *comp_algorithm* && -e $R/run/ramraid/data.ram ]]
}

@test "no RAM leg with smaller blocks than those of zram, or with an end within one" {
	refused 'zram has blocks of 4096 bytes, and those of the array have 512' 104857600 zram \
		10% 512
	refused 'which is not a multiple of that' 104857088 zram 10% 4096
	refused 'zram has blocks of 4096 bytes' 104857600 zram 10%
	getconf() { echo 65536; }
	[[ $(ramdisk_zram_why_not 104857600 4096) == "zram can lose writes where pages of memory \
(65536 bytes) are larger than the blocks of the array (4096 bytes)" ]]
	unset -f getconf
	[[ -z $(ramdisk_zram_why_not 104857600 4096) ]]
	did ''
}

@test "without the module, memory or a device no RAM leg is made, and the reason is said" {
	refused 'the ramdisk needs 395MiB' $((600000 * 1024)) zram 10% 4096 391M
	echo nonsense >"$R/sys/class/zram-control/hot_add"
	refused 'the kernel refused to make another zram device' 104857600 zram 10% 4096
	modprobe() { return 1; }
	refused 'the kernel module zram is not available' 104857600 zram 10% 4096
	did ''
}

@test "a device that a killed run left without its size is no RAM leg, and is removed by the next make or drop" {
	echo 'zram zram1 104857600 7 blank' >"$R/run/ramraid/data.ram"
	ramdisk_note_read data
	[[ -z $RAM_NODE ]]
	ramdisk_drop data
	did 'write class/zram-control/hot_remove 1'
	[[ ! -e $R/run/ramraid/data.ram ]]
	device 1 8
	echo 'zram zram1 104857600 8 blank' >"$R/run/ramraid/data.ram"
	device 2 9
	echo 2 >"$R/sys/class/zram-control/hot_add"
	ramdisk_make data 104857600 zram 10% 4096
	[[ ! -e $R/sys/block/zram1 && $(<"$R/run/ramraid/data.ram") == 'zram zram2 '* ]]
	# Its number is another one's by now.
	echo 'zram zram0 104857600 3 blank' >"$R/run/ramraid/data.ram"
	echo 0 >"$R/sys/block/zram0/size"
	ramdisk_zram_tidy data
	[[ -e $R/sys/block/zram0 ]]
	# Nor is a device taken for it that another provider has made.
	device 0 3
	echo 'brd zram0 104857600 3 blank' >"$R/run/ramraid/data.ram"
	echo 0 >"$R/sys/block/zram0/size"
	ramdisk_zram_tidy data
	[[ -e $R/sys/block/zram0 ]]
}

@test "a device that is in use is not given back" {
	ramdisk_make data 104857600 zram 10% 4096
	mkdir "$R/sys/block/zram1/holders/md127"
	run ramdisk_drop data
	assert_failure 4
	rmdir "$R/sys/block/zram1/holders/md127"
	BUSY=yes
	run ramdisk_drop data
	assert_failure 1
	[[ -e $R/run/ramraid/data.ram ]]
}

@test "what a device takes is what the kernel counts, and what it may still take is not available" {
	local RAM_TAKEN
	ramdisk_make data 104857600 zram 10% 4096
	echo '52428800 20000000 20971520 0 20971520 0 0 0 0' >"$R/sys/block/zram1/mm_stat"
	ramdisk_memory_taken zram1
	[[ $RAM_TAKEN == 20971520 && $(ramdisk_memory_promised) == $((104857600 - 20971520)) ]]
}

@test "a written page of one value takes no memory, and does not count as data" {
	local ZRAM_DATA ZRAM_TAKEN ZRAM_LIMIT ZRAM_MOST page
	page=$(getconf PAGESIZE)
	ramdisk_make data 104857600 zram 10% 4096
	echo "$((1000 * page)) 700000 800000 0 900000 600 0 0 0" >"$R/sys/block/zram1/mm_stat"
	ramdisk_note_zram zram1
	[[ $ZRAM_DATA == $((400 * page)) && $ZRAM_TAKEN == 800000 && $ZRAM_MOST == 900000 ]]
	# Read between the two.
	echo "$((1000 * page)) 0 8192 0 8192 1001 0 0 0" >"$R/sys/block/zram1/mm_stat"
	ramdisk_note_zram zram1
	[[ $ZRAM_DATA == 0 ]]
}

@test "RAM=auto takes zram last, and only for an array with blocks as large as those of zram" {
	local had=''
	ramdisk_has_rapiddisk() { [[ $had == rapiddisk ]]; }
	modprobe() { [[ $* != *brd || $had == brd ]]; }
	had=rapiddisk
	[[ $(ramdisk_auto_ data 4096) == rapiddisk ]]
	had=brd
	[[ $(ramdisk_auto_ data 4096 2>/dev/null) == brd ]]
	had=''
	[[ $(ramdisk_auto_ data 4096 2>/dev/null) == zram &&
		$(ramdisk_auto_ data 512 2>/dev/null) == brd ]]
	# Somebody else's.
	had=brd
	mkdir -p "$R/sys/module/brd"
	[[ $(ramdisk_auto_ data 4096 2>/dev/null) == zram ]]
	: >"$R/run/ramraid/brd"
	[[ $(ramdisk_auto_ data 4096 2>/dev/null) == brd ]]
}

# limit BYTES LIMIT: what is written to the kernel.
limit() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES
	device 1 "$((++SEQUENCE))"
	rm -f "$BATS_TEST_TMPDIR/calls" "$R/run/ramraid/data.ram"
	ramdisk_make data "$1" zram 10% 4096 "$2" 2>/dev/null || return
	LIMIT=$(calls) LIMIT=${LIMIT#write block/zram1/mem_limit } LIMIT=${LIMIT%%$'\n'*}
}

# 1000000 kB in all, of which 100000 are kept free; 500000 are available.
@test "RAM_LIMIT caps the memory, but not above what could be needed; auto caps it at what is available" {
	SEQUENCE=20
	limit $((100 << 20)) 50M
	((LIMIT == 50 << 20))
	limit $((100 << 20)) 5%
	((LIMIT == 50000 * 1024))
	limit $((100 << 20)) 300M
	((LIMIT == (100 << 20) * 17 / 16))
	limit $((100 << 20)) auto
	((LIMIT == (100 << 20) * 17 / 16))
	# 2 GB: its table takes 12 MB.
	limit $((2000000 * 1024)) auto
	((LIMIT == (400000 - 2000000 * 6 / 1024 - 1) * 1024 / 4096 * 4096 + 4096)) || fail "$LIMIT"
	limit $((2000000 * 1024)) 300M
	((LIMIT == 300 << 20))
	not limit $((2000000 * 1024)) 390M
	# Without a limit not with less than a sixteenth.
	not limit $((8000000 * 1024)) auto
}

@test "what a device may still take depends on its limit, not on its size" {
	ramdisk_make data $((2000000 * 1024)) zram 10% 4096 300M 2>/dev/null
	echo "200000000 90000000 104857600 $((300 << 20)) 104857600 0 0 0 0" \
		>"$R/sys/block/zram1/mm_stat"
	[[ $(ramdisk_memory_promised) == $((200 << 20)) ]]
	local RAM_PROVIDER RAM_NODE RAM_BYTES
	ramdisk_note_read data
	[[ $(ramdisk_memory_weight) == $((300 << 20)) ]]
	[[ $(ramdisk_need rapiddisk 5 auto) == 5 ]]
}

@test "an array with smaller blocks gets no RAM leg of zram, and the reason is said" {
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[ram.state]=none F[conf.ram]=zram:lz4 F[array.block]=512
	action_choose
	[[ $ACTION == 'done' &&
		$WHY == 'there is no RAM leg: zram has blocks of 4096 bytes, and those of md127 have 512; '* ]]
	F[array.block]=4096
	action_choose
	[[ $ACTION == make-ram ]]
}

# looks_at KIND BYTES: what is on the array md127, and an adoption of it that runs.
looks_at() {
	eval "contents_blocks_look() { called look \$1; CONTENTS_BLOCKS=('/dev/md127 $1 $2'); }"
	NAME=data ADOPT_WRONG='' ADOPT_MD=md127 ADOPT_STOPPED='' ADOPT_BEGUN='' ADOPT_GROWS='' \
		SAID=''
	declare -gA CONF=([RAM]=zram [BLOCK]=auto [ROOT]=no)
	log_error() { SAID+="$*"$'\n'; }
}

@test "adopt: the blocks of the disks count, because those are the array's at its next start" {
	looks_at ext4 1024
	disk_block() { case $1 in sda) echo 512 ;; *) echo 4096 ;; esac }
	adoptable_zram 104857600 sda sdb zram1
	[[ -z $ADOPT_WRONG$(calls) && ${CONF[BLOCK]} == auto ]]
	adoptable_zram 104857600 sda zram1
	[[ $SAID == "data: RAM=zram: zram has blocks of 4096 bytes, and those of the array have 512; what is on it can't be used with larger ones: /dev/md127: ext4 with blocks of 1024 bytes; take another kind, such as RAM=auto
" && ${CONF[BLOCK]} == auto ]] || fail "$SAID"
}

@test "adopt: an array whose contents accept larger blocks gets them at the next start, unless it has them" {
	looks_at ext4 4096
	adoptable_zram 104857600 sda sdb
	[[ -z $ADOPT_WRONG && ${CONF[BLOCK]} == 4096 && $ADOPT_GROWS == 512 ]] || fail "$SAID"
	looks_at ext4 4096
	disk_block() { case $1 in md127) echo 4096 ;; *) echo 512 ;; esac }
	adoptable_zram 104857600 sda sdb
	[[ -z $ADOPT_WRONG && ${CONF[BLOCK]} == 4096 && -z $ADOPT_GROWS ]] || fail "$SAID"
}

@test "adopt: a run that goes on looks again; a root file system, no module, or an end within a block is refused" {
	looks_at xfs 512
	CONF[BLOCK]=4096 ADOPT_BEGUN=yes
	adoptable_zram 104857600 sda
	[[ $ADOPT_WRONG == yes && $SAID == *'XFS with sectors of 512 bytes'* ]] || fail "$SAID"
	looks_at ext4 4096
	CONF[ROOT]=yes
	adoptable_zram 104857600 sda
	[[ $ADOPT_WRONG == yes &&
		$SAID == *'the initramfs starts it, because the root file system is on it'* &&
		$(calls) == 'look md127' ]] ||
		fail "$SAID"
	looks_at ext4 4096
	modprobe() { return 1; }
	adoptable_zram 104857600 sda
	[[ $ADOPT_WRONG == yes && $SAID == *'needs the kernel module zram'*'not available'* &&
		-z $ADOPT_GROWS ]] ||
		fail "$SAID"
	looks_at ext4 4096
	modprobe() { :; }
	adoptable_zram 104857088 sda
	[[ $ADOPT_WRONG == yes && $SAID == *'which is not a multiple of that'* ]] || fail "$SAID"
}

@test "adopt: a stopped array is refused, because its contents can't be seen, unless an earlier run has looked" {
	looks_at ext4 4096
	ADOPT_STOPPED=yes ADOPT_MD=''
	adoptable_zram 104857600 sda
	[[ $ADOPT_WRONG == yes && $SAID == *'can be used with larger ones (adopt it with --ram=none'* &&
		-z $(calls) ]] ||
		fail "$SAID"
	looks_at ext4 4096
	ADOPT_STOPPED=yes ADOPT_BEGUN=yes CONF[BLOCK]=4096
	adoptable_zram 104857600 sda
	[[ -z $ADOPT_WRONG$ADOPT_GROWS ]] || fail "$SAID"
}

@test "check: a kernel without the module is a problem" {
	declare -gA CONF=([RAM]=zram)
	findings_problem() { called problem "$1" "$3"; }
	kernels_module() { echo "$HAS"; }
	HAS=builtin check_next_boot_modules 6.12
	HAS=module check_next_boot_modules 6.12
	did ''
	HAS=none check_next_boot_modules 6.12
	did 'problem no-ram-module none, so that there will be no RAM leg'
}

# checks KIND BYTES BLOCK RAM-STATE: check of an array with RAM=zram, blocks of 512 bytes, and that
# on it.
checks() {
	rm -f "$BATS_TEST_TMPDIR/calls"
	declare -gA CONF=([RAM]=zram)
	facts_read <"$FIXTURES/decide/whole-2.facts"
	CHECK_ARRAY=data CHECK_UNIT=active F[ram.state]=$4 F[conf.ram]=zram F[array.block]=512 \
		F[conf.block]=$3
	mkdir -p "$R/sys/block/md127/md/dev-sda"
	echo 2048 >"$R/sys/block/md127/md/dev-sda/offset"
	echo 100000 >"$R/sys/block/md127/md/component_size"
	findings_problem() { called "$1: $3 -> $4"; }
	findings_note() { called "note $1"; }
	findings_is_root() { :; }
	eval "contents_blocks_look() { CONTENTS_BLOCKS=('/dev/md127 $1 $2'); }"
	check_running_ram_leg
}

@test "check: says if what is on an array accepts larger blocks, and what to write, also beside another RAM leg" {
	local none='none, since zram has blocks of 4096 bytes, and those of the array have 512' \
		other='take another kind, such as RAM=auto'
	checks ext4 4096 auto none
	did "no-ram-leg: $none -> what is on it can be used with larger ones (ext4 (4096)): write BLOCK=4096 \
in $R/etc/ramraid/data.conf; then: ramraid stop data; ramraid start data"
	checks ext4 4096 auto in_sync
	[[ $(calls) == "larger-blocks: $none -> what is on it can be used"* ]] || fail "$(calls)"
	checks ext4 4096 4096 none
	did "no-ram-leg: $none -> ramraid stop data; ramraid start data; or a reboot"
	checks ext4 4096 4096 in_sync
	did ''
	checks xfs 512 auto none
	did "no-ram-leg: $none; what is on it can't be used with larger ones: /dev/md127: XFS with \
sectors of 512 bytes -> $other"
	checks xfs 512 4096 in_sync
	did "larger-blocks: $none; what is on it can't be used with larger ones: /dev/md127: XFS with \
sectors of 512 bytes -> before its next start remove BLOCK=4096 from $R/etc/ramraid/data.conf; \
$other"
}

@test "check: advice for an end within a block, the root file system, a user who is not root, and larger blocks" {
	local none='none, since zram has blocks of 4096 bytes, and those of the array have 512'
	checks swap 0 auto none
	echo 100001 >"$R/sys/block/md127/md/component_size"
	rm "$BATS_TEST_TMPDIR/calls"
	check_running_ram_leg
	[[ $(calls) == *'which is not a multiple of that -> take another kind'* ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	findings_is_root() { return 1; }
	check_running_ram_leg
	did "no-ram-leg: $none -> sudo ramraid check data, which sees whether what is on it can be \
used with larger ones"
	rm "$BATS_TEST_TMPDIR/calls"
	F[ram.state]=in_sync
	check_running_ram_leg
	did 'note unseen-contents'
	rm "$BATS_TEST_TMPDIR/calls"
	F[conf.root]=yes F[ram.state]=none
	check_running_ram_leg
	did "no-ram-leg: $none, and the initramfs, which starts it, gives it no larger ones -> \
take another kind, such as RAM=auto"
	rm "$BATS_TEST_TMPDIR/calls"
	F[array.block]=4096
	check_running_ram_leg
	did 'no-ram-leg: none -> ramraid attach data; if it is to have none, write RAM=none'
}

@test "status: RAM=zram waits for the next start, or for check to look at what is on the array" {
	local STATUS_WORD='' ADVICE_BLIND LEG
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[ram.state]=none F[ram.node]='' F[conf.ram]=zram F[array.block]=512 F[root]=yes \
		F[conf.block]=4096
	advice disks-only
	[[ $ADVICE_WHY == *'until its next start (BLOCK=4096)' &&
		$ADVICE_ACTION == 'ramraid stop data; ramraid start data; or a reboot' ]] ||
		fail "$ADVICE_WHY $ADVICE_ACTION"
	F[conf.block]=auto
	advice disks-only
	[[ $ADVICE_WHY == 'zram has blocks of 4096 bytes, and those of the array have 512' &&
		$ADVICE_ACTION == 'ramraid check data' ]] ||
		fail "$ADVICE_ACTION"
	F[array.block]=4096
	advice disks-only
	[[ $ADVICE_ACTION == 'ramraid attach data' ]] || fail "$ADVICE_ACTION"
}

# disks: two of an array, with blocks of 512 bytes and the superblock that mdadm has made; and what
# stands for the device of zram. mdadm puts a member into md127 and takes it out.
disks() {
	local node
	declare -gA CONF=([BLOCK]=4096 [LAYOUT]=mirror)
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	for node in sda sdb; do
		fake_disk "$node" $((100 << 20))
		dd if="$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" of="$R/dev/$node" conv=notrunc \
			status=none
	done
	: >"$R/dev/zram1"
	mkdir -p "$R/sys/module/md_mod/parameters" "$R/proc/sys/kernel/random"
	echo 0 >"$R/sys/module/md_mod/parameters/start_ro"
	echo 01234567-89ab-4cde-8f01-23456789abcd >"$R/proc/sys/kernel/random/uuid"
	BLOCK_SIZE_DIRECT='' GIVING_UP='' REFUSES=''
	md_modules() { :; }
	md_wait_link() { :; }
	md_free_name() { :; }
	mdadm() {
		[[ $1 == --examine ]] || called mdadm "$@"
		case $1 in
		--examine) printf 'Version : 1.2\nArray UUID : %s\n' "${F[uuid]//-/}" ;;
		--assemble)
			[[ -z $REFUSES || "$*" != *"$REFUSES"* ]] || return 1
			mkdir -p "$R/sys/block/md127/queue"
			ln -sfn "$R/sys/block/md127" "$R/sys/class/block/md127"
			echo 512 >"$R/sys/block/md127/queue/logical_block_size"
			for node in sda sdb; do
				mkdir -p "$R/sys/class/block/$node/holders/md127"
			done
			[[ "$*" != *zram1 ]] || {
				mkdir -p "$R/sys/block/zram1/holders/md127"
				echo 4096 >"$R/sys/block/md127/queue/logical_block_size"
			}
			;;
		--manage)
			rm -r "$R/sys/block/${*: -1:1}/holders/md127" 2>/dev/null ||
				rmdir "$R/sys/block/zram1/holders/md127"
			;;
		esac
	}
}
readonly MADE='write block/zram1/mem_limit 4M
write block/zram1/comp_algorithm zstd
write block/zram1/disksize 100663296
write module/md_mod/parameters/start_ro 1'
readonly AWAY='write module/md_mod/parameters/start_ro 0
mdadm --manage /dev/md127 --remove /dev/zram1
write class/zram-control/hot_remove 1'
# assembles COMMAND…: ends well, with its messages in the log.
assembles() {
	disk_legs_are_same_() { :; } # tests/unit/exchanged.bats
	disk_legs_assemble sda sdb 2>"$BATS_TEST_TMPDIR/log"
}

@test "BLOCK=4096: a spare of zram is beside the disks when they are started, and leaves before md may write" {
	disks
	assembles
	[[ $(calls) == "$MADE
mdadm --assemble --run /dev/md/data /dev/sda /dev/sdb /dev/zram1
$AWAY" ]] || fail "$(calls)"
	[[ ! -e $R/run/ramraid/data.block && ! -e $R/sys/block/zram1 && -e $R/sys/block/zram0 ]]
}

@test "the spare has a superblock of this array, a number that no member has, and the size of a leg" {
	local SIZE
	disks
	block_size_begin data sda sdb 2>/dev/null
	[[ $BLOCK_SIZE_SPARE == zram1 && $(<"$R/run/ramraid/data.block") == 'zram1 7' ]]
	superblock_facts "$R/dev/zram1" >"$BATS_TEST_TMPDIR/spare"
	superblock_facts "$R/dev/sda" >"$BATS_TEST_TMPDIR/disk"
	grep -qx role=spare "$BATS_TEST_TMPDIR/spare"
	grep -qx recovery= "$BATS_TEST_TMPDIR/spare"
	grep -qx number=127 "$BATS_TEST_TMPDIR/spare"
	for key in sb uuid events level raid_disks size data_offset; do
		[[ $(grep "^$key=" "$BATS_TEST_TMPDIR/spare") == \
			"$(grep "^$key=" "$BATS_TEST_TMPDIR/disk")" ]] ||
			fail "$key"
	done
	SIZE=$(<"$R/sys/block/zram1/size")
	((SIZE == 196608))
	grep -qx data_size=194560 "$BATS_TEST_TMPDIR/spare"
}

@test "no spare for disks that have such blocks, or without BLOCK=4096" {
	disks
	for node in sda sdb; do mkdir "$R/sys/class/block/$node/queue"; done
	echo 4096 >"$R/sys/class/block/sdb/queue/logical_block_size"
	echo 1 >"$R/sys/module/md_mod/parameters/start_ro"
	assembles
	did 'mdadm --assemble --run /dev/md/data /dev/sda /dev/sdb'
	rm "$BATS_TEST_TMPDIR/calls" "$R/sys/class/block/sdb/queue/logical_block_size"
	CONF[BLOCK]=auto
	assembles
	did 'mdadm --assemble --run /dev/md/data /dev/sda /dev/sdb'
}

# without_bitmap: the superblocks of the disks have none.
without_bitmap() {
	local words node
	for node in sda sdb; do
		read -ra words < <(superblock_read "$R/dev/$node")
		printf -v 'words[2]' '%08x' $((16#${words[2]} & ~SUPERBLOCK_FEATURE_BITMAP))
		words[24]=00000000
		superblock_sum words $((16#${words[55]}))
		printf -v 'words[54]' '%08x' "$SUPERBLOCK_SUM"
		superblock_clone_bytes words |
			dd of="$R/dev/$node" bs=4096 seek=1 conv=notrunc status=none
	done
}

@test "disks without a bitmap: the spare has none either, and the array is started with it" {
	disks
	without_bitmap
	assembles
	[[ $(calls) == *'mdadm --assemble --run /dev/md/data /dev/sda /dev/sdb /dev/zram1'* ]] ||
		fail "$(calls) $LOOP_ERROR"
}

@test "disks without a bitmap: the superblock of the spare is sound" {
	disks
	without_bitmap
	block_size_begin data sda sdb 2>/dev/null
	superblock_facts "$R/dev/zram1" >"$BATS_TEST_TMPDIR/spare"
	grep -qx bitmap=no "$BATS_TEST_TMPDIR/spare" && grep -qx sb=ok "$BATS_TEST_TMPDIR/spare"
	grep -qx role=spare "$BATS_TEST_TMPDIR/spare"
}

# refuses PATTERN: it is not started, for that reason, and it is said what to type.
refuses() {
	LOOP_ERROR=''
	! assembles || fail "started: $(calls)"
	[[ $LOOP_ERROR == "it needs blocks of 4096 bytes (BLOCK=4096), but can't get them: \
"*"$1"*'ramraid start data. '*'BLOCK=auto in '*'/data.conf'* ]] ||
		fail "$LOOP_ERROR"
	[[ ! -e $R/run/ramraid/data.block && ! -e $R/sys/class/block/sda/holders/md127 ]]
}

@test "if md can't be told to start arrays read-only, none is started with a spare, and the lock for that is free" {
	disks
	rm "$R/sys/module/md_mod/parameters/start_ro"
	refuses 'md would write to the spare'
	flock --nonblock "$R/run/ramraid/.locks/start_ro" true
}

@test "without zram, or if mdadm does not take the spare, the array is not started with smaller blocks" {
	disks
	modprobe() { return 1; }
	refuses 'the kernel module zram is not available for '
	did ''
	modprobe() { :; }
	REFUSES=zram1
	refuses 'mdadm did not start it with the spare'
	[[ $(calls) == *'/dev/sdb /dev/zram1'*'hot_remove 1' &&
		$(calls) != *hot_remove*assemble* ]] ||
		fail "$(calls)"
	loop_act_failed() { F[failed.assemble]=$LOOP_ERROR; }
	loop_act_failed
	action_choose
	[[ $ACTION == refuse && $WHY == "it could not be started: $LOOP_ERROR" ]] ||
		fail "$ACTION $WHY"
}

@test "if no spare can be made from the superblocks, the start is refused, and says what is wrong with them" {
	disks
	for node in sda sdb; do
		printf '\x10' |
			dd of="$R/dev/$node" bs=1 seek=$((4096 + 8)) conv=notrunc status=none
	done
	refuses "made from the superblocks of its disks: its superblock has features"
	did ''
}

@test "without memory for the table of a spare, the start is refused, and says how much it needs" {
	disks
	printf 'MemTotal: 1048576 kB\nMemAvailable: 500 kB\n' >"$R/proc/meminfo"
	refuses "a start needs 576KiB of memory for a moment (0.6% of the size of a leg), and \
500KiB are available"
	did ''
}

@test "an array that md gives smaller blocks all the same is stopped again, with the bits of absent disks set" {
	disks
	eval "mdadm_$(declare -f mdadm)"
	mdadm() {
		mdadm_mdadm "$@"
		case $1 in
		--assemble) echo 512 >"$R/sys/block/md127/queue/logical_block_size" ;;
		--stop) rm -r "$R"/sys/class/block/sd[ab]/holders/md127 ;;
		esac
	}
	bits_keep() { BITS=(all); }
	md_bits_set_all() { called bits "$1"; }
	refuses 'md has given it blocks of 512 bytes nevertheless'
	[[ $(calls) == *$'hot_remove 1\nbits md127\nmdadm --stop /dev/md127' ]] || fail "$(calls)"
}

@test "a spare that a killed start has left is taken out, even if md rebuilds it, but no other device of that name" {
	disks
	echo 'zram1 7' >"$R/run/ramraid/data.block"
	mkdir "$R/sys/block/zram1/holders/md127"
	eval "mdadm_$(declare -f mdadm)"
	mdadm() {
		if [[ $3 == --remove && $(calls) != *--fail* ]]; then
			called busy && return 1
		else
			mdadm_mdadm "$@"
		fi
	}
	clock_until() { shift 2 && "$@"; }
	block_size_tidy data 2>/dev/null
	[[ $(calls) == 'busy
mdadm --manage /dev/md127 --fail /dev/zram1'*'hot_remove 1' && ! \
		-e $R/run/ramraid/data.block ]] ||
		fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	device 1 8
	echo 'zram1 7' >"$R/run/ramraid/data.block"
	block_size_tidy data
	[[ -z $(calls) && -e $R/sys/block/zram1 && ! -e $R/run/ramraid/data.block ]]
}

@test "an array with BLOCK=4096 that runs with 512 gets no RAM leg, and what to type is said" {
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[ram.state]=none F[conf.ram]=zram F[array.block]=512 F[conf.block]=4096
	action_choose
	[[ $ACTION == 'done' && $WHY == *'ramraid stop data; ramraid start data' ]] || fail "$WHY"
}

@test "a new array ends with a whole block of 4096 bytes" {
	mkdir -p "$R/sys/block/md127/md"
	mdadm() { called mdadm "$@"; }
	echo 101376 >"$R/sys/block/md127/md/component_size"
	md_blocks_round md127
	did ''
	echo 101379 >"$R/sys/block/md127/md/component_size"
	md_blocks_round md127 2>/dev/null
	did 'write block/md127/md/sync_action frozen
mdadm --grow /dev/md127 --size=101376
write block/md127/md/sync_action idle'
}

# array STATE [DATA TAKEN LIMIT MOST]: an array whose RAM leg, of zram, is in that state.
array() {
	local md=$R/sys/block/md127/md
	declare -gA CONF=([RAM]=zram [RAM_LIMIT]=50M [HOTPLUG]=yes)
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[conf.ram]=zram F[ram.node]=zram1 F[ram.state]=$1 F[array.block]=4096
	[[ $1 != @(recovering|faulty|attached) ]] || F[array.degraded]=1
	mkdir -p "$md/dev-zram1" "$R/dev"
	: >"$md/dev-zram1/bad_blocks"
	echo 204800 >"$R/sys/block/zram1/size"
	echo "${*:2} 0 0 0 0" | sed 's/ / 0 /' >"$R/sys/block/zram1/mm_stat"
	local md=md127
	facts_zram_
}
readonly FULL="its data was compressed only to 90 % (55MiB take 50MiB of memory), and needs more \
than its limit of 50MiB (RAM_LIMIT); the whole leg would need up to 90MiB"

@test "a RAM leg that has come to its limit is given up in whatever state, with the ratio that was seen" {
	local state
	for state in attached recovering faulty; do
		array $state 57671680 52428800 52428800 52432896
		[[ ${F[ram.full]} == "$FULL" ]] || fail "${F[ram.full]}"
		action_choose
		[[ $ACTION == drop-ram && $WHY == "the RAM leg is given up: $FULL" ]] ||
			fail "$state: $ACTION $WHY"
		array $state 57671680 52424704 52428800 52424704
		[[ -z ${F[ram.full]} ]]
	done
	# Once it was at it, and has everything now; or lacks blocks, by md's list.
	array in_sync 57671680 52424704 52428800 52432896
	[[ -z ${F[ram.full]} ]]
	echo '8 8' >"$R/sys/block/md127/md/dev-zram1/bad_blocks"
	facts_zram_() { F[ram.full]=$FULL; }
	array in_sync 57671680 52424704 52428800 52432896
	action_choose
	[[ $ACTION == drop-ram ]]
	# Not while it has what the disks lack.
	F[leg.0.state]='' F[leg.1.state]=''
	action_choose
	[[ $ACTION != drop-ram ]]
}

@test "a RAM leg that was given up at its limit is made again only when a person asks for it" {
	local RAM_OUT RAM_OUT_WHY COPY_WHY='' LOOP_MADE=yes
	md_drop() { called drop "$@"; }
	ramdisk_drop() { called give back; }
	copy_stop() { :; }
	array faulty 57671680 52428800 52428800 52432896
	ram_leg_drop 2>/dev/null
	did $'drop md127 zram1\ngive back'
	F[ram.state]=none F[ram.node]='' F[ram.full]=''
	action_choose
	[[ $ACTION == 'done' && $WHY == "there is no RAM leg: $FULL" ]] || fail "$WHY"
	ram_out_read data
	[[ $RAM_OUT == full && $RAM_OUT_WHY == "$FULL" ]]
	unset -v 'F[failed.make-ram]'
	hotplug_look() { :; }
	hotplug_facts
	action_choose
	[[ $ACTION == 'done' && $WHY == "there is no RAM leg: $FULL" ]] || fail "$WHY"
	# Half filled, and not a member yet.
	rm "$BATS_TEST_TMPDIR/calls"
	array attached 57671680 52428800 52428800 52432896
	ram_leg_drop 2>/dev/null
	did 'give back'
	# A person asks: the one that was there before goes, and another one is made.
	array faulty 57671680 52428800 52428800 52432896
	F[retry]=yes LOOP_MADE=''
	ram_leg_drop 2>/dev/null
	F[ram.state]=none F[ram.full]=''
	action_choose
	[[ $ACTION == make-ram ]]
	# That one has been made for this person already.
	array faulty 57671680 52428800 52428800 52432896
	F[retry]=yes LOOP_MADE=yes
	ram_leg_drop 2>/dev/null
	F[ram.state]=none F[ram.full]=''
	action_choose
	[[ $ACTION == 'done' ]] || fail "$ACTION"
}

@test "status, check and notifications say why a RAM leg was given up at its limit, and what helps" {
	local STATUS_WORD='' old new LEG RAM_OUT RAM_OUT_WHY
	array none 0 0 0 0
	F[ram.node]='' F[root]=yes
	ram_out_note data full "$FULL"
	leg_ram
	[[ $LEG == lost ]]
	summary_word
	[[ $STATUS_WORD == disks-only ]]
	systemd_is_running() { return 1; }
	before_look_remembered() { :; }
	watched_is() { :; }
	legs_seen_look() { :; }
	summary_detail
	leg_ram
	[[ $LEG == full ]]
	advice disks-only
	[[ $ADVICE_WHY == "the RAM leg has been given up: $FULL" &&
		$ADVICE_ACTION == *'RAM_LIMIT'*'ramraid attach data' ]] ||
		fail "$ADVICE_WHY"
	findings_problem() { called problem "$1" "$3"; }
	CHECK_ARRAY=data CHECK_UNIT=active
	check_running_ram_leg
	did "problem no-ram-leg none: $FULL"
	notify() { called notify "$1" "$2"; }
	transitions_say_ram_ data full
	[[ $(calls) == *'notify warning ram-full' ]]
}
