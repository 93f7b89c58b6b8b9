#!/usr/bin/env bats
# Observing: md arrays and ramdisks on a fake sysfs, and from there to the plan that "start
# --dry-run" prints.

setup() {
	load helper
	world
	libraries
	fake_disk sda 104857600 disk/by-id/ata-A
	fake_disk sdb 104857600 disk/by-id/ata-B
	M=$R/sys/block/md127/md
	ID=11111111-2222-3333-4444-555555555555
	printf '%s\n' "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B \
		>"$R/etc/ramraid/data.conf"
	chmod 644 "$R/etc/ramraid/data.conf"
}

mdadm() { called mdadm "$@"; }

# array STATE: md127 with the disks; member NODE STATE SLOT for each leg.
array() {
	mkdir -p "$M"
	echo "$1" >"$M/array_state"
	echo "$ID" >"$M/uuid"
	echo "${2-idle}" >"$M/sync_action"
	echo 51200 >"$M/component_size"
}
member() {
	mkdir -p "$M/dev-$1" "$R/sys/class/block/$1/holders/md127"
	echo "$2" >"$M/dev-$1/state"
	echo "$3" >"$M/dev-$1/slot"
	echo "${4-2048}" >"$M/dev-$1/offset"
}
whole() {
	array clean
	member sda in_sync,write_mostly 1
	member sdb in_sync,write_mostly 2
	fake_disk rd0 104857600
	member rd0 in_sync 0 4096
}

observe() {
	conf_load data || fail "${CONF_ERRORS[*]}"
	before_look_configured data
	facts_observe
}

are() { # KEY=VALUE…
	local fact
	for fact; do
		[[ ${F[${fact%%=*}]-unset} == "${fact#*=}" ]] ||
			fail "expected $fact, got ${F[${fact%%=*}]-unset}"
	done
}

@test "array_state is mapped to absent, inactive, broken or active" {
	local state
	md_state ''
	[[ $ARRAY_STATE == absent ]]
	md_state md9
	[[ $ARRAY_STATE == absent ]]
	for state in clear:absent inactive:inactive broken:broken clean:active active:active \
		write-pending:active active-idle:active readonly:active read-auto:active \
		suspended:active; do
		array "${state%:*}"
		md_state md127
		[[ $ARRAY_STATE == "${state#*:}" ]] || fail "$state"
	done
}

@test "each member has its state, slot and write-mostly mark, even while it is being removed" {
	array clean
	member rd0 in_sync 0
	member sda in_sync,write_mostly 1
	member sdb spare,write_mostly 2
	member sdc faulty,write_mostly none
	member sdd write_mostly,blocked,faulty 3
	member sde spare none
	md_state_members md127
	[[ $(printf '%s\n' "${LEGS[@]}") == 'rd0 in_sync 0 no
sda in_sync 1 yes
sdb recovering 2 yes
sdc faulty none yes
sdd faulty 3 yes
sde recovering none no' ]] || fail "${LEGS[*]}"
	md_state_members md9
	[[ ${#LEGS[@]} == 0 ]]
	mkdir -p "$R/sys/block/md9/md"
	md_state_members md9
	[[ ${#LEGS[@]} == 0 ]] || fail "${LEGS[*]}"
	# Taken out between two looks at it.
	: >"$M/dev-sde/slot"
	rm "$M/dev-sde/state"
	md_state_members md127
	[[ ${#LEGS[@]} == 5 ]] || fail "${LEGS[*]}"
	# Between its two files, which the kernel does not allow.
	echo spare >"$M/dev-sde/state"
	md_state_members md127
	[[ ${LEGS[5]} == 'sde recovering none no' ]] || fail "${LEGS[5]}"
}

@test "sync has the kind of work, its progress and its rate" {
	array clean recover
	echo '1024 / 4096' >"$M/sync_completed"
	echo 20480 >"$M/sync_speed"
	md_state_sync md127
	[[ "$SYNC $DONE $TOTAL $RATE" == 'recover 1024 4096 20480' ]]
	echo none >"$M/sync_completed"
	echo none >"$M/sync_speed"
	md_state_sync md127
	[[ "$SYNC $DONE $TOTAL $RATE" == 'recover 0 0 0' ]]
	md_state_sync md9
	[[ "$SYNC $DONE $TOTAL $RATE" == 'idle 0 0 0' ]]
}

@test "a new member has to hold the data and the largest offset" {
	whole
	[[ $(md_state_leg_bytes md127) == $((51200 * 1024 + 4096 * 512)) ]]
}

@test "a member is dropped only while another is in sync" {
	array clean
	member rd0 in_sync 0
	member sda faulty,write_mostly 1
	member sdb spare,write_mostly 2
	run md_drop md127 rd0
	assert_failure 4
	[[ -z $(calls) ]] || fail "$(calls)"
	member sdb in_sync,write_mostly 2
	md_drop md127 rd0 2>/dev/null
	[[ $(calls) == $'mdadm --manage /dev/md127 --fail /dev/rd0\nmdadm --manage /dev/md127 --remove /dev/rd0' ]] ||
		fail "$(calls)"
}

# What md could not write to a disk leg, the RAM leg has alone.
@test "bad blocks that a disk leg has and the RAM leg has not are found, whatever their data offsets" {
	local mine theirs want
	whole
	# The offsets of the disk legs are 2048, that of the RAM leg 4096.
	while IFS='|' read -r want mine theirs; do
		printf "$mine" >"$M/dev-sda/bad_blocks"
		printf "$theirs" >"$M/dev-rd0/bad_blocks"
		if md_state_bad_on_all_but md127 rd0 sda; then
			[[ $want == lacks ]] || fail "$mine|$theirs"
		else
			[[ $want == equal ]] || fail "$mine|$theirs"
		fi
	done <<'EOT'
equal||
equal|\n|\n
lacks|3000 8\n|
lacks|3000 8\n|3000 8\n
equal|3000 8\n|5048 8\n
equal|3000 8\n|5000 100\n
lacks|3000 8\n|5049 100\n
lacks|3000 8\n|5048 7\n
equal|3000 600\n|5048 512\n5560 88\n
lacks|3000 600\n4000 8\n|5048 512\n5560 88\n
equal|3000 600\n4000 8\n|5048 512\n5560 88\n6048 8\n
equal||5048 8\n
EOT
	echo '3000 8' >"$M/dev-sda/bad_blocks"
	rm "$M/dev-rd0/bad_blocks"
	md_state_bad_on_all_but md127 rd0 sda
	# What the kernel never writes, but a list that grows while it is read line by line can look
	# like.
	printf '0896 8\n3000 8\nx\n\n3\n' >"$M/dev-sda/bad_blocks"
	md_state_bad_on_all_but md127 rd0 sda
}

@test "a disk outside the array that may have blocks which no member has is kept for that" {
	whole
	rm -r "$M/dev-sdb" "$R/sys/class/block/sdb/holders/md127"
	superblock_facts() {
		printf '%s\n' sb=ok "uuid=$(<"$M/uuid")" device_uuid=b events=9 "role=${ROLE-2}" \
			view=.AA "recovery=${RECOVERY-}" | numbered
	}
	superblock_bad_ranges() { [[ -n $OWN ]] && printf '%s' "${OWN#none}"; }
	holds() { # yes|"" OWN-LIST: "none", or "" when it can't be read
		OWN=$2
		observe
		are "leg.1.holds=$1" leg.0.holds=
	}
	holds '' none
	echo '3000 8' >"$M/dev-sda/bad_blocks"
	holds '' none # the RAM leg has it
	echo '5048 16' >"$M/dev-rd0/bad_blocks"
	holds yes none
	holds yes ''
	holds yes '953 960'
	holds '' '952 960'
	holds '' '0 9000'
	member rd0 recovering 0 4096
	: >"$M/dev-rd0/bad_blocks"
	holds yes none
	# One that never was complete holds nothing of its own.
	RECOVERY=8 holds '' none
	ROLE=spare holds '' none
	# With the RAM leg alone, everything else that it has comes first.
	member rd0 in_sync 0 4096
	echo '5048 16' >"$M/dev-rd0/bad_blocks"
	rm -r "$M/dev-sda" "$R/sys/class/block/sda/holders/md127"
	holds '' none
}

@test "a list of bad blocks that fills its sysfs page counts as incomplete" {
	whole
	getconf() { echo 4096; }
	# Lines of 12 bytes; the kernel cuts them off before the page's last byte, here within the
	# number of line 342. The RAM leg lacks the same blocks.
	seq -f '%.0f 8' 100000000 100 100040000 | head -c 4095 >"$M/dev-sda/bad_blocks"
	seq -f '%.0f 8' 100002048 100 100042048 >"$M/dev-rd0/bad_blocks"
	[[ $(tail -n 1 "$M/dev-sda/bad_blocks") == 100 ]]
	md_state_bad_on_all_but md127 rd0 sda
	# But on another disk, of which all is known.
	not md_state_bad_on_all_but md127 rd0 sda sdb
	echo '100040008 8' >"$M/dev-sdb/bad_blocks"
	md_state_bad_on_all_but md127 rd0 sda sdb
	echo '100000108 1' >"$M/dev-sdb/bad_blocks"
	not md_state_bad_on_all_but md127 rd0 sda sdb
	# One that ends before is all there is; and so it is where pages are larger.
	seq -f '%.0f 8' 100000000 100 100034000 >"$M/dev-sda/bad_blocks"
	[[ $(wc -c <"$M/dev-sda/bad_blocks") == 4092 ]]
	not md_state_bad_on_all_but md127 rd0 sda
	getconf() { echo 65536; }
	seq -f '%.0f 8' 100000000 100 100040000 >"$M/dev-sda/bad_blocks"
	not md_state_bad_on_all_but md127 rd0 sda
}

@test "intersection and difference of bad block lists agree with a count block by block" {
	local n bad these want theirs
	RANDOM=7
	list() { # sets LIST: pieces within 70 blocks
		local at=0 length
		LIST=()
		while ((at < 50 && RANDOM % 6)); do
			at=$((at + RANDOM % 8)) length=$((1 + RANDOM % 6))
			LIST+=("$at $((at + length))")
			at=$((at + length))
		done
	}
	blocks() { # PIECE…: sets BLOCKS to "0" or "1" for each
		local piece i
		BLOCKS=$(printf '%070d' 0)
		for piece; do
			for ((i = ${piece% *}; i < ${piece#* }; i++)); do
				BLOCKS=${BLOCKS:0:i}1${BLOCKS:i+1}
			done
		done
	}
	for ((n = 0; n < 200; n++)); do
		list && bad=("${LIST[@]}") && list && these=("${LIST[@]}")
		blocks "${bad[@]}" && want=$BLOCKS && blocks "${these[@]}" && theirs=$BLOCKS
		RANGES=("${bad[@]}") && md_state_ranges_intersect_ "${these[@]}"
		is "$want" "$theirs" 11 "${RANGES[@]}"
		RANGES=("${bad[@]}") && md_state_ranges_subtract "${these[@]}"
		is "$want" "$theirs" 01 "${RANGES[@]}"
	done
}

# is A B PAIR PIECE…: do these pieces hold just the blocks where A has the first digit of PAIR, and
# B the second?
is() {
	local a=$1 b=$2 pair=$3 i want=''
	shift 3
	for ((i = 0; i < ${#a}; i++)); do
		[[ ${a:i:1}${b:i:1} == "$pair" ]] && want+="1" || want+="0"
	done
	blocks "$@"
	[[ $BLOCKS == "$want" ]] || fail "$a $b $pair: $*"
}

@test "a disk leg that leaves during the look does not count as having the blocks, and the RAM leg stays" {
	whole
	echo '3000 8' >"$M/dev-sdb/bad_blocks"
	not md_state_bad_on_all_but md127 rd0 sda sdb
	eval "still_$(declare -f md_state_members)"
	md_state_members() {
		still_md_state_members "$@"
		rm -rf "$M/dev-sda"
	}
	run md_drop md127 rd0
	assert_failure 4
	[[ -z $(calls) ]] || fail "$(calls)"
	rm -rf "$M/dev-sdb"
	md_state_bad_on_all_but md127 rd0 sda sdb
	# A list without the place where the data begins can't be compared.
	member sdb in_sync 2
	echo '3000 8' >"$M/dev-sdb/bad_blocks"
	rm "$M/dev-sdb/offset"
	md_state_bad_on_all_but md127 rd0 sdb
}

@test "a disk leg that lacks blocks is not whole, and a RAM leg that alone has them is not dropped" {
	local code=0
	whole
	echo '3000 8' >"$M/dev-sda/bad_blocks"
	observe
	are leg.0.lacks=yes leg.1.lacks=
	action_choose
	[[ $ACTION == 'done' &&
		$WHY == 'md could not write some blocks of the disk leg /dev/disk/by-id/ata-A' ]] ||
		fail "$WHY"
	not health_is_whole
	not health_only_copy
	# Each has what the other lacks.
	echo '9000 1' >"$M/dev-sdb/bad_blocks"
	observe
	are leg.0.lacks=yes leg.1.lacks=yes disks.lack=
	not health_only_copy
	run md_drop md127 rd0
	assert_success
	rm "$BATS_TEST_TMPDIR/calls"
	# But the disks alone are less than one of them and the RAM leg.
	run md_drop md127 sdb
	assert_success
	rm "$BATS_TEST_TMPDIR/calls"
	run md_drop md127 sdb rd0
	assert_failure 4
	[[ -z $(calls) ]] || fail "$(calls)"
	printf '2990 1\n3007 9\n' >"$M/dev-sdb/bad_blocks"
	observe
	are disks.lack=yes
	health_only_copy
	detach_ram data 2>"$BATS_TEST_TMPDIR/log" || code=$?
	((code == 4)) && grep -q 'is the only good copy.*ramraid check data' "$BATS_TEST_TMPDIR/log"
	run md_drop md127 rd0
	assert_failure 4
	[[ -z $(calls) ]] || fail "$(calls)"
	# One that has failed has nothing that could be lost with it.
	member rd0 faulty 0 4096
	md_drop md127 rd0 2>/dev/null
	[[ $(calls) == *'--remove /dev/rd0' ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	member rd0 in_sync 0 4096
	# The RAM leg was filled from them, and lacks the same.
	printf '5048 8\n5038 1\n5056 8\n' >"$M/dev-rd0/bad_blocks"
	observe
	are leg.0.lacks= leg.1.lacks= disks.lack=
	md_drop md127 rd0 2>/dev/null
	[[ $(calls) == *'--remove /dev/rd0' ]] || fail "$(calls)"
}

@test "a RAM leg that lacks blocks is not whole, and is rebuilt while the disks have everything" {
	whole
	echo '5048 8' >"$M/dev-rd0/bad_blocks"
	observe
	are ram.lacks=yes disks.lack=
	not health_is_whole
	action_choose
	[[ $ACTION == drop-ram ]] || fail "$ACTION $WHY"
	summary_word
	[[ $STATUS_WORD == degraded ]] || fail "$STATUS_WORD"
	# A disk has bad blocks, too: md may accept no other RAM leg.
	echo '9000 8' >"$M/dev-sda/bad_blocks"
	observe
	are ram.lacks=stays leg.0.lacks=yes disks.lack=
	action_choose
	[[ $ACTION == 'done' && -z $OUTCOME ]] || fail "$ACTION $WHY"
	# The RAM leg was filled from disks that lacked the same, and another one would lack it.
	echo '3000 8' | tee "$M/dev-sda/bad_blocks" >"$M/dev-sdb/bad_blocks"
	observe
	are ram.lacks= disks.lack=
	# While it has what no disk has, it stays.
	echo '9000 8' | tee "$M/dev-sda/bad_blocks" >"$M/dev-sdb/bad_blocks"
	observe
	are ram.lacks=stays disks.lack=yes
	action_choose
	[[ $ACTION != drop-ram ]] || fail "$WHY"
	rm "$M/dev-sda/bad_blocks" "$M/dev-sdb/bad_blocks" "$M/dev-rd0/bad_blocks"
	observe
	are ram.lacks=
}

@test "both speed limits are raised, and put back" {
	array clean
	md_speed md127 fast 2>/dev/null
	[[ $(<"$M/sync_speed_min") -gt 1000000 && $(<"$M/sync_speed_max") -gt 1000000 ]]
	md_speed md127 system 2>/dev/null
	[[ $(<"$M/sync_speed_min") == system && $(<"$M/sync_speed_max") == system ]]
}

@test "a whole array gives the facts of each leg, and the decision finds it whole" {
	whole
	observe
	are array.md=md127 array.state=active array.sync=idle array.backlog=0 array.behind=0 \
		array.strangers= \
		members=2 uuid=$ID name=data leg.0.node=sda leg.0.in=md127 leg.0.state=in_sync \
		leg.0.slot=1 leg.0.writemostly=yes leg.1.slot=2 ram.node=rd0 ram.state=in_sync \
		ram.slot=0 conf.ram=auto conf.write_behind=0 witness.events=
	action_choose
	[[ $ACTION == 'done' && $WHY == whole ]]
}

@test "a leg in an array that is not ramraid's counts as in use by something else" {
	whole
	echo 99999999-2222-3333-4444-555555555555 >"$M/uuid"
	observe
	are array.md= array.state=absent leg.0.in=other leg.1.in=other
}

@test "on kernels without md/uuid, the leg's superblock says whose array it is" {
	whole
	rm "$M/uuid"
	superblock_facts() { printf '%s\n' sb=ok "uuid=$SAYS"; }
	SAYS=99999999-2222-3333-4444-555555555555
	observe
	are array.md= leg.0.in=other
	MEMBERS_UUID=()
	SAYS=$ID
	observe
	are array.md=md127 leg.0.in=md127
}

@test "an array that was assembled but not started is found by the UUID of its legs" {
	whole
	echo inactive >"$M/array_state"
	echo 00000000-0000-0000-0000-000000000000 >"$M/uuid"
	superblock_facts() { printf '%s\n' sb=ok "uuid=$ID"; }
	observe
	are array.md=md127 array.state=inactive leg.0.in=md127 leg.1.in=md127
}

@test "an array that is stopped during a look is looked at again" {
	local looks=0
	whole
	eval "once_$(declare -f facts_look_)"
	facts_look_() {
		looks=$((looks + 1))
		once_facts_look_
		# Stopped behind the back of the first look.
		((looks > 1)) || rm -r "$M" "$R"/sys/class/block/*/holders/md127
	}
	observe
	are array.md= array.state=absent leg.0.in= leg.0.state=
	[[ $looks == 2 ]]
}

@test "legs that are absent, blank, in use or strangers are told apart, and write-behind is seen" {
	rm "$R/dev/disk/by-id/ata-B"
	observe
	are leg.1.node= leg.1.in= leg.1.events=0 leg.0.node=sda leg.0.in= leg.0.sb=none array.md= \
		array.state=absent ram.state=none
	mkdir "$R/sys/class/block/sda/holders/dm-0"
	observe
	are leg.0.in=other leg.0.sb=
	rmdir "$R/sys/class/block/sda/holders/dm-0"
	array inactive
	member sda spare 1
	member sdz spare 2
	mkdir "$M/bitmap"
	echo 256 >"$M/bitmap/backlog"
	echo 31 >"$M/bitmap/max_backlog_used"
	observe
	are leg.0.in=md127 array.state=inactive array.strangers=sdz array.backlog=256 \
		array.behind=31
	action_choose
	[[ $ACTION == refuse ]]
}

@test "the ramdisk that was made in this boot is the RAM leg, as long as it exists" {
	whole
	rm -r "$M/dev-rd0"
	echo 'rapiddisk rd0' >"$R/run/ramraid-x"
	mkdir -p "$R/run/ramraid" "$R/sys/block/rd0"
	echo 'rapiddisk rd0' >"$R/run/ramraid/data.ram"
	observe
	are ram.node=rd0 ram.state=attached ram.slot=
	rmdir "$R/sys/block/rd0"
	observe
	are ram.node= ram.state=none
}

@test "of two ramdisks in the array, the RAM leg is the one in sync, or that of this boot" {
	ram() { # OURS BY-HAND: their states
		echo "$1" >"$M/dev-rd0/state"
		echo "$2" >"$M/dev-zram0/state"
		observe
	}
	whole
	fake_disk zram0 104857600
	member zram0 spare none
	mkdir -p "$R/run/ramraid" "$R/sys/block/rd0"
	echo 3 >"$R/sys/block/rd0/diskseq"
	printf 'rapiddisk rd0 104857600 3 used\n' >"$R/run/ramraid/data.ram"
	rm -r "$M"/dev-sd{a,b}
	for state in spare faulty in_sync; do
		ram in_sync "$state"
		are ram.node=rd0 ram.state=in_sync array.strangers=zram0 array.unconfigured=
		health_only_copy
	done
	ram faulty in_sync
	are ram.node=zram0 ram.state=in_sync array.strangers=rd0
	health_only_copy
	ram faulty spare
	are ram.node=rd0 ram.state=faulty array.strangers=zram0
}

@test "degraded, slots, write-behind and block size are read from md, with defaults where it has none" {
	whole
	mkdir -p "$M/bitmap" "$R/sys/block/md127/queue"
	echo 2 >"$M/degraded"
	echo '4 (3)' >"$M/raid_disks"
	echo 256 >"$M/bitmap/backlog"
	echo 9 >"$M/bitmap/max_backlog_used"
	echo 4096 >"$R/sys/block/md127/queue/logical_block_size"
	observe
	are array.degraded=2 array.slots=4 array.backlog=256 array.behind=9 array.block=4096
	rm -r "$M/degraded" "$M/raid_disks" "$M/bitmap" "$R/sys/block/md127/queue"
	observe
	are array.degraded=1 array.slots=0 array.backlog=0 array.behind=0 array.block=512
}

@test "facts_read restores what facts_print wrote" {
	local text
	whole
	observe
	F[witness.why]='a = b'
	text=$(facts_print)
	F[leg.0.node]=other
	facts_read <<<"$text"
	[[ $(facts_print) == "$text" && ${F[witness.why]} == 'a = b' && ${F[leg.0.node]} == sda ]]
}

@test "configured numbers are facts, and times only on request" {
	printf 'WRITE_BEHIND=10\nACCEPT_DATA_LOSS=yes\nWAIT_TIMEOUT=1h\n' \
		>>"$R/etc/ramraid/data.conf"
	observe
	are conf.write_behind=10 conf.wait_timeout=infinity conf.member_timeout=infinity waited=0
	before_look_times
	are conf.wait_timeout=3600 conf.member_timeout=30 conf.root=no conf.wait=yes
	echo ROOT=yes >>"$R/etc/ramraid/data.conf"
	observe
	are conf.root=yes conf.wait=no
}

@test "no ramdisk is made that would leave less memory than the reserve" {
	printf "MemTotal:        1000000 kB\nMemFree:          1 kB\n\
MemAvailable:     500000 kB\n" >"$R/proc/meminfo"
	[[ -z $(ramdisk_why_not $((400000 * 1024)) 10%) ]]
	[[ $(ramdisk_why_not $((400001 * 1024)) 10%) == "the ramdisk needs 391MiB and RAM_RESERVE \
keeps 98MiB free, but only 489MiB of memory are available" ]]
	[[ -z $(ramdisk_why_not $((500000 * 1024)) 0) &&
		-n $(ramdisk_why_not $((500000 * 1024 + 1)) 0) && -n $(ramdisk_why_not 1 1T) ]]
	# A kernel that does not say what is available has nothing, whatever was there before.
	ramdisk_memory_available
	((RAM_AVAILABLE == 500000 * 1024))
	printf 'MemTotal:        1000000 kB\n' >"$R/proc/meminfo"
	ramdisk_memory_available
	((RAM_AVAILABLE == 0))
}

@test "a damaged note of the ramdisk counts as none, and bash does not evaluate it" {
	local text RAM_PROVIDER RAM_NODE RAM_BYTES
	cd "$BATS_TEST_TMPDIR"
	mkdir -p "$R/run/ramraid" "$R/sys/block/rd0"
	for text in 'rapiddisk rd0 a[$(touch${IFS}X)]' 'rapiddisk rd0 -1' \
		'rapiddisk rd0 99999999999999999999' 'rapiddisk rd0 08' 'rapiddisk ../rd0 1' \
		'rapiddisk . 1' 'x;touch${IFS}X rd0 1' 'rapiddisk' '' 'none rd0 1'; do
		printf '%s\n' "$text" >"$R/run/ramraid/data.ram"
		ramdisk_note_read data
		[[ -z $RAM_PROVIDER && -z $RAM_NODE && $RAM_BYTES == 0 ]] || fail "$text"
		run ramdisk_memory_promised
		assert_output 0
		[[ ! -e X ]] || fail "executed: $text"
	done
}

@test "a ramdisk in use is not dropped, and brd stays loaded while another array uses it" {
	local code=0
	mkdir -p "$R/run/ramraid" "$R"/sys/block/{ram0,ram1}
	echo 'brd ram0' >"$R/run/ramraid/data.ram"
	echo 'brd ram1' >"$R/run/ramraid/other.ram"
	fake_disk ram0 4096
	mkdir "$R/sys/class/block/ram0/holders/md127"
	ramdisk_drop data || code=$?
	((code == 4)) && [[ -e $R/run/ramraid/data.ram && -z $(calls) ]]
	rmdir "$R/sys/class/block/ram0/holders/md127"
	ramdisk_drop data 2>/dev/null
	[[ ! -e $R/run/ramraid/data.ram && -z $(calls) ]]
	rmmod() { called rmmod "$@"; }
	ramdisk_drop other 2>/dev/null
	[[ ! -e $R/run/ramraid/other.ram && $(calls) == 'rmmod brd' ]]
	# Something else has a device of it: the array can do without it all the same.
	echo 'brd ram1' >"$R/run/ramraid/other.ram"
	rmmod() { return 1; }
	: >"$R/run/ramraid/brd"
	run ramdisk_drop other
	assert_success
	assert_output -p 'brd is still in use by something else'
	[[ ! -e $R/run/ramraid/other.ram && -e $R/run/ramraid/brd ]]
}

@test "a device of brd that is mounted or used as swap is not taken" {
	local node
	mkdir -p "$R/run/ramraid"
	: >"$R/run/ramraid/brd"
	for node in ram0 ram1 ram2 ram3; do
		fake_disk "$node" $((200 << 20))
		mkdir -p "$R/sys/block/$node"
		echo "1:${node#ram}" >"$R/sys/class/block/$node/dev"
	done
	mkdir -p "$R/sys/module/brd"
	mkdir "$R/sys/class/block/ram0/holders/md127"
	echo '30 1 1:1 / /srv/scratch rw shared:1 - ext4 /dev/ram1 rw' >>"$R/proc/1/mountinfo"
	printf '%s\n' 'Filename Type Size Used Priority' '/dev/ram2 partition 204796 0 -2' \
		>"$R/proc/swaps"
	disk_wait_node() { :; }
	run ramdisk_brd_make $((100 << 20))
	assert_success
	assert_output ram3
	# A person has unloaded it since: it is loaded again.
	rm -r "$R/sys/module/brd"
	modprobe() { called modprobe "$@" && mkdir "$R/sys/module/brd"; }
	run ramdisk_brd_make $((100 << 20))
	assert_success
	[[ $(calls) == 'modprobe brd '* ]] || fail "$(calls)"
}

@test "rapiddisk makes a ramdisk under the next free number, and one of the wrong size is removed" {
	RAPIDDISK_MADE=104857600
	modprobe() { :; }
	mkdir -p "$R/sys/kernel/rapiddisk" "$R/sys/block/rd0"
	: >"$R/sys/kernel/rapiddisk/mgmt"
	disk_wait_node() { :; }
	disk_bytes() { echo "$RAPIDDISK_MADE"; }
	run ramdisk_rapiddisk_make 104857600
	assert_success
	assert_line rd1
	[[ $(<"$R/sys/kernel/rapiddisk/mgmt") == 'rapiddisk attach 1 104857600' ]]
	# Smaller than asked for: nothing that could become a leg.
	RAPIDDISK_MADE=104857599
	run ramdisk_rapiddisk_make 104857600
	assert_failure
	[[ $(<"$R/sys/kernel/rapiddisk/mgmt") == 'rapiddisk detach 1' ]]
	rm "$R/sys/kernel/rapiddisk/mgmt"
	run ramdisk_rapiddisk_make 104857600
	assert_failure
	assert_output -p 'the kernel module rapiddisk is not available'
}

@test "start --dry-run prints the plan and changes nothing" {
	need() { :; }
	whole
	echo spare >"$M/dev-rd0/state"
	echo recover >"$M/sync_action"
	echo 5 >"$R/run/before"
	run cmd_start --dry-run data
	assert_success
	assert_output "action: wait-sync
why:    the RAM leg is being rebuilt
gate:   hold"
	[[ -z $(calls) ]] || fail "$(calls)"
}

@test "start --dry-run with a disk missing also prints what follows if it stays away" {
	need() { :; }
	rm "$R/dev/disk/by-id/ata-B"
	run cmd_start --dry-run data
	assert_success
	assert_line 'action: wait-members'
	assert_line 'if no more disks come: refuse'
	[[ -z $(calls) ]] || fail "$(calls)"
}

@test "status has one word and one exit code for each state" {
	libraries
	need() { :; }
	whole
	run cmd_status data
	assert_success
	assert_line -p 'data: whole'
	rm "$M/dev-rd0" -r
	run cmd_status
	assert_failure 1
	assert_line -p 'data: disks-only'
	assert_output -p 'ramraid attach data'
	echo faulty >"$M/dev-sda/state"
	run cmd_status data
	assert_failure 1
	assert_line -p 'data: degraded'
	echo broken >"$M/array_state"
	run cmd_status data
	assert_failure 3
	assert_line -p 'data: broken'
	echo inactive >"$M/array_state"
	run cmd_status data
	assert_failure 3
	assert_line -p 'data: half-assembled'
	rm -r "$M" "$R"/sys/class/block/*/holders/md127
	run cmd_status data
	assert_failure 3
	assert_line -p 'data: stopped'
	assert_output -p 'ramraid start data'
}

# status_is CODE: what the program itself says, with nothing on stderr.
status_is() {
	run bash -c '"$1" status data 2>"$2"' - "$PROJECT/bin/ramraid" "$BATS_TEST_TMPDIR/stderr"
	[[ $status == "$1" && ! -s $BATS_TEST_TMPDIR/stderr ]] ||
		fail "$status $(<"$BATS_TEST_TMPDIR/stderr")"
}

@test "status, run as a program, loads all that it needs for a whole array and for others" {
	whole
	echo 1 >"$M/degraded"
	status_is 0
	assert_output "data: whole (/dev/md127)
                         reads writes errors
  slot 0    in_sync          -      -      -  RAM leg /dev/rd0
  slot 1    in_sync          -      -      -  /dev/disk/by-id/ata-A (sda)
  slot 2    in_sync          -      -      -  /dev/disk/by-id/ata-B (sdb)"
	# What the kernel has counted since.
	mkdir -p "$R/proc/sys/kernel/random" "$R/etc/ramraid/state"
	echo b0b0b0b0-0000-4000-8000-000000000001 >"$R/proc/sys/kernel/random/boot_id"
	echo \
		"$ID b0b0b0b0-0000-4000-8000-000000000001 md127 9 copy 1795169472 0 1795169472 39 \
56832 5000 2000" \
		>"$R/etc/ramraid/state/data.lately"
	echo '    1000    0   800000 0 500 0 4000 0 0 0 0' >"$R/sys/block/md127/stat"
	echo '    0    0   0 0 0 0 0 0 0 0 0' >"$R/sys/class/block/rd0/stat"
	echo '    1234    0   1500 200 500 0 50000 100 0 10 10' >"$R/sys/class/block/sda/stat"
	echo '    12345678    0   1500 200 5 0 50000 100 0 10 10' >"$R/sys/class/block/sdb/stat"
	echo 0 | tee "$M"/dev-{rd0,sda}/errors >"$M/dev-sdb/errors"
	TZ=UTC status_is 0
	assert_output "data: whole (/dev/md127)
                         reads writes errors
  slot 0    in_sync          -      -      0  RAM leg /dev/rd0
  slot 1    in_sync       1234    500      0  /dev/disk/by-id/ata-A (sda)
  slot 2    in_sync     12345K      5      0  /dev/disk/by-id/ata-B (sdb)
  reads served by RAM: 100 %
  whole since: 2026-11-20 10:11:12
  last rebuild: 2026-11-20 10:11:12, by copy, 39 s, 55 MiB/s"
	# It was degraded, and who made it whole has not written that down yet.
	sed -i 's/1795169472 0/1795169472 1795169500/' "$R/etc/ramraid/state/data.lately"
	TZ=UTC status_is 0
	[[ $output != *'whole since'* ]] || fail "$output"
	rm "$R/etc/ramraid/state/data.lately"
	echo RAM=nonsense >"$R/etc/ramraid/ramraid.conf"
	echo check >"$M/sync_action"
	status_is 0
	assert_line -p '  check: [ '
	assert_line -p "  configuration: $R/etc/ramraid/ramraid.conf:1: RAM=nonsense: write auto"
	printf '\e[31mRAM=brd\n' >"$R/etc/ramraid/ramraid.conf"
	status_is 0
	assert_output -p 'contains control characters'
	[[ $output != *$'\e'* ]] || fail 'control characters reach the terminal'
	rm -r "$M/dev-sdb" "$R/sys/class/block/sdb/holders/md127"
	status_is 1
	assert_line 'data: degraded (/dev/md127)'
	assert_line -p '  record: '
	assert_line '  slot -    outside     12345K      5      -  /dev/disk/by-id/ata-B (sdb)'
	assert_line '  action: /dev/disk/by-id/ata-B is blank; to build it in: ramraid apply data'
	echo MEMBER=/dev/sda >>"$R/etc/ramraid/data.conf"
	status_is 3
	assert_line 'data: misconfigured'
	assert_line -p 'write /dev/disk/by-id/ata-A'
}

@test "a ramdisk with another sequence number is not the noted one" {
	mkdir -p "$R/run/ramraid" "$R/sys/block/rd0"
	echo 7 >"$R/sys/block/rd0/diskseq"
	echo 'rapiddisk rd0 104857600 7' >"$R/run/ramraid/data.ram"
	ramdisk_note_read data
	[[ $RAM_NODE == rd0 && $RAM_BYTES == 104857600 ]]
	echo 9 >"$R/sys/block/rd0/diskseq"
	ramdisk_note_read data
	[[ -z $RAM_NODE ]]
}

@test "memory that existing ramdisks will still take does not count as available" {
	mkdir -p "$R/run/ramraid" "$R"/sys/block/rd{0,1} "$R"/sys/class/block/rd{0,1}/holders
	printf 'MemTotal: 1000000 kB\nMemAvailable: 500000 kB\n' >"$R/proc/meminfo"
	[[ $(ramdisk_memory_promised) == 0 && -z $(ramdisk_why_not $((300000 * 1024)) 0) ]]
	# rd0 is not in an array yet: all of it is still to be taken.
	echo "rapiddisk rd0 $((200000 * 1024)) " >"$R/run/ramraid/a.ram"
	[[ $(ramdisk_memory_promised) == $((200000 * 1024)) &&
		-n $(ramdisk_why_not $((300001 * 1024)) 0) ]]
	# Half rebuilt: half of it. In sync: nothing more.
	mkdir -p "$R/sys/class/block/rd0/holders/md127" "$R/sys/block/md127/md/dev-rd0"
	echo recover >"$R/sys/block/md127/md/sync_action"
	echo '200000 / 400000' >"$R/sys/block/md127/md/sync_completed"
	echo spare >"$R/sys/block/md127/md/dev-rd0/state"
	[[ $(ramdisk_memory_promised) == $((100000 * 1024)) ]]
	echo in_sync >"$R/sys/block/md127/md/dev-rd0/state"
	[[ $(ramdisk_memory_promised) == 0 ]]
	# rapiddisk counts pages: a copied leg in sync may still grow.
	mkdir -p "$R/sys/kernel/rapiddisk"
	printf 'Device\tSize\tErrors\tUsed\nrd1\t5\t0\t4096\nrd0\t%s\t0\t%s\n' $((200000 * 1024)) \
		$((50000 * 1024)) >"$R/sys/kernel/rapiddisk/devices"
	[[ $(ramdisk_memory_promised) == $((150000 * 1024)) ]]
}
