#!/usr/bin/env bats
# ramraid resize on a fake array: what is called, in which order, what is refused, and what is left
# when a step fails.

setup() {
	load helper
	load change
	change_world
	put metadata_version 1.2 bitmap/chunksize 1048576
	echo 200000 >"$R/sys/block/md127/size"
	printf 'MemTotal:  4194304 kB\nMemFree:  1 kB\nMemAvailable:  2097152 kB\n' \
		>"$R/proc/meminfo"
	echo '100.00 1.00' >"$R/proc/uptime"
	cp -a "$R/etc" "$R/etc.before"
}
detached() { : >"$R/run/ramraid/data.detached" && leaves rd0 && rm "$R/run/ramraid/data.ram"; }
# with_ramdisks: "make" makes a RAM leg as large as it is told to, which md has filled at once.
with_ramdisks() {
	eval "no_ramdisks_$(declare -f fakes)"
	fakes() {
		no_ramdisks_fakes
		! declare -F ramdisk_make >/dev/null || eval 'ramdisk_make() {
			step make "$2"
			mkdir -p "$R/sys/class/block/rd0" "$R/sys/block/rd0"
			echo $(($2 / 512)) >"$R/sys/class/block/rd0/size"
			echo 9 >"$R/sys/block/rd0/diskseq"
			echo rapiddisk rd0 "$2" 9 used >"$R/run/ramraid/data.ram"
		}'
		! declare -F ram_leg_add >/dev/null || eval 'ram_leg_add() {
			step add rd0 && joins rd0 in_sync 0 && put degraded 0
		}'
	}
	export -f no_ramdisks_fakes put
	sed -i '$aREBUILD=kernel' "$R/etc/ramraid/data.conf"
}
# Nothing was done to the array.
untouched_but_answered() { assert_success && untouched; }

@test "the RAM leg leaves first, then the array grows, then a new RAM leg is tried" {
	verb resize --yes data
	# The fake kernel has no ramdisks, so that the last step says why there is none.
	assert_failure 1
	assert_output -p 'data: has '
	assert_output -p 'ramraid attach data'
	[[ $(steps) == 'write /etc/ramraid/state/data.witness
write /etc/ramraid/state/data.hardware
mdadm --manage /dev/md127 --fail /dev/rd0
mdadm --manage /dev/md127 --remove /dev/rd0
echo rapiddisk detach 0 /sys/kernel/rapiddisk/mgmt 
echo frozen /sys/block/md127/md/sync_action 
mdadm --grow /dev/md127 --size=203776
echo 97-198 /sys/block/md127/md/bitmap_set_bits 
echo idle /sys/block/md127/md/sync_action ' ]] || fail "$(steps)"
}

@test "the new RAM leg is as large as the legs are then, and comes after the growth" {
	with_ramdisks
	verb resize --yes data
	assert_success
	# With the 1 MiB before the data.
	[[ $(steps) == *'--remove /dev/rd0'*--size=203776*bitmap_set_bits*'sync_action 
make 209715200
add rd0'* ]] || fail "$(steps)"
	[[ $(<"$MD/dev-rd0/state") == in_sync ]]
}

@test "an array without a RAM leg, or with one that a person has taken out, only grows" {
	detached
	verb resize --yes data
	assert_success
	[[ $(steps) == *'mdadm --grow /dev/md127 --size=203776'* && $(steps) != *rd0* ]] ||
		fail "$(steps)"
	rm "$BATS_TEST_TMPDIR/calls" "$R/run/ramraid/data.detached"
	sed -i '$aRAM=none' "$R/etc/ramraid/data.conf"
	put component_size 100000
	verb resize --yes data
	assert_success
	[[ $(steps) == *'mdadm --grow /dev/md127 --size=203776'* && $(steps) != *rd0* ]] ||
		fail "$(steps)"
}

@test "--dry-run prints the plan and does nothing" {
	verb resize --dry-run data
	untouched_but_answered
	assert_line -p "make the array 199MiB large, instead of 98MiB; /dev/disk/by-id/ata-A has \
no room for more"
	assert_line -p 'until it is in sync, reads come from the disk legs'
}

@test "nothing is done if a disk leg has no room for more" {
	echo $(((100000 + 1024 + 500) * 2)) >"$R/sys/class/block/sdb/size"
	verb resize --yes data
	untouched_but_answered
	assert_output -p "nothing to do: it has the 98MiB that its disk leg /dev/disk/by-id/ata-B \
has room for"
	cp "$R/sys/class/block/sdb/size" "$R/sys/class/block/sda/size"
	verb resize --yes data
	untouched_but_answered
	assert_output -p "nothing to do: it has the 98MiB that its disk leg /dev/disk/by-id/ata-A \
has room for"
}

@test "each reason against a resize is said, and nothing is changed" {
	refused 2 'add --yes' resize data
	refused 2 'expected one array name' resize --yes
	refused 3 'does not exist' resize --yes other
	put metadata_version 1.0
	refused 4 'superblocks (metadata 1.0) are at the end of the disks' resize --yes data
	put metadata_version 1.2 sync_action recover
	refused 4 'md is at work on it (recover); first: ramraid wait data' resize --yes data
	put sync_action idle resync_start 0
	refused 4 'md is at work on it' resize --yes data
	put resync_start none
	sed -i '$aRAM=none' "$R/etc/ramraid/data.conf" # the ramdisk is still in the array
	refused 4 'it has a RAM leg, in spite of RAM=none; first: ramraid detach data' resize \
		--yes data
	cp -a "$R/etc.before/ramraid/data.conf" "$R/etc/ramraid/data.conf"
	put dev-sdb/state faulty,write_mostly
	refused 4 'disk leg /dev/disk/by-id/ata-B is not in sync' resize --yes data
	put dev-sdb/state in_sync,write_mostly array_state inactive
	refused 3 'is not running' resize --yes data
}

# record LEGS: the record of the last run, at 90 events.
record() {
	printf '%s\n' "uuid=$ID" "legs=$1" events=90 filled=40 ram_slot=0 ram_number=0 \
		generation=3 "seen=$(uuid_of a) $(uuid_of b) $(uuid_of c)" \
		>"$R/etc/ramraid/state/data.witness"
}

@test "an array that something else has started from old legs, or without the ramdisk, is refused before anything is taken out" {
	record "$(uuid_of c)"
	rm "$R/run/ramraid/data.watched"
	refused 4 'something else has started md127, from legs that were not in sync' resize \
		--yes data
	leaves rd0
	put degraded 1
	record ''
	refused 4 'without the ramdisk rd0, which has what was written last' resize --yes data
	[[ $(<"$MD/component_size") == 100000 ]]
}

@test "a mirror with a rescue image is not made larger" {
	local image=$R/var/lib/ramraid/data/rescue-41.abcdefgh/image
	mkdir -p "${image%/*}"
	echo x >"$image"
	printf '%s\n' "uuid=$ID" "image=$image" bytes=102400000 "sha256=$(printf '%064d' 0)" \
		events=50 generation=1 "legs=$(uuid_of a):41" >"$R/etc/ramraid/state/data.rescue"
	refused 4 'to put it back: ramraid stop data && ramraid restore data' resize --yes data
	[[ $(<"$MD/component_size") == 100000 ]]
}

@test "what somebody has started while another ramraid had the lock is refused as well" {
	record "$(uuid_of c)"
	eval "unlocked_$(declare -f fakes)"
	fakes() {
		unlocked_fakes
		! declare -F array_lock >/dev/null ||
			eval 'array_lock() { rm "$R/run/ramraid/data.watched"; }'
	}
	export -f unlocked_fakes
	refused 4 'something else has started md127, from legs that were not in sync' resize \
		--yes data
}

@test "once the array is larger, the code does not say that nothing was changed" {
	eval "refusing_$(declare -f fakes)"
	fakes() {
		refusing_fakes
		! declare -F attach_here >/dev/null || eval 'attach_here() { return 4; }'
	}
	export -f refusing_fakes
	verb resize --yes data
	assert_failure 1
	assert_output -p 'data: it is larger, and runs on its disk legs'
	[[ $(<"$MD/component_size") == 203776 ]]
}

@test "if the new RAM leg would not fit into memory, that is refused before anything is taken out" {
	echo rapiddisk rd0 $((100 << 20)) 9 used >"$R/run/ramraid/data.ram"
	# So much that the one of today could be made again, and no larger one.
	sed -i 's/MemAvailable:.*/MemAvailable: 470000 kB/' "$R/proc/meminfo"
	refused 4 'no RAM leg of that size can be made: the ramdisk needs' resize --yes data
	assert_output -p 'To go on without one: ramraid detach data'
	sed -i 's/MemAvailable:.*/MemAvailable: 524288 kB/' "$R/proc/meminfo"
	verb resize --dry-run data
	assert_success
}

@test "a device that is the RAM leg must be large enough already" {
	fake_disk nvme1n1 $((104 << 20)) disk/by-id/nvme-F
	sed -i '$aRAM=/dev/disk/by-id/nvme-F' "$R/etc/ramraid/data.conf"
	refused 4 '/dev/disk/by-id/nvme-F has 104MiB, and the leg needs 200MiB' resize --yes data
}

@test "if md does not grow the array, that is said, and what the array runs on now" {
	FAILS='mdadm --grow /dev/md127 --size'
	verb resize --yes data
	assert_failure 1
	assert_output -p 'md did not make it larger'
	assert_output -p 'runs on its disk legs only'
	with_ramdisks
	joins rd0 in_sync 0
	put degraded 0
	echo rapiddisk rd0 102400 9 used >"$R/run/ramraid/data.ram"
	rm "$BATS_TEST_TMPDIR/calls"
	verb resize --yes data
	assert_failure 1
	assert_output -p 'md did not make it larger'
	refute_output -p 'runs on its disk legs only'
	[[ $(steps) == *'--remove /dev/rd0'*--size=203776*$'\nmake 103448576\nadd rd0'* ]] ||
		fail "$(steps)"
	[[ $(<"$MD/dev-rd0/state") == in_sync && $(<"$MD/component_size") == 100000 ]]
}

@test "if the array has grown but its bits can't be set, that is said, with how to go on" {
	detached
	FAILS='echo 97-198'
	verb resize --yes data
	assert_failure 1
	assert_output -p 'data: it is larger, but md does not make its legs equal there yet'
	assert_output -p 'ramraid resize data'
	not grep -q 'did not make it larger' <<<"$output"
}

@test "without a bitmap no bits are set" {
	detached
	rm "$MD/bitmap/chunksize"
	verb resize --yes data
	assert_success
	not grep bitmap_set_bits "$BATS_TEST_TMPDIR/calls"
}

@test "an mdadm that does nothing and reports no error counts as a failure" {
	detached
	STUCK=yes
	verb resize --yes data
	assert_failure 1
	assert_output -p 'md did not make it larger'
	[[ $(steps) == *'echo idle /sys/block/md127/md/sync_action ' ]] || fail "$(steps)"
}

@test "sync work that a killed run has left frozen is released" {
	detached
	put sync_action frozen
	verb resize --yes data
	assert_success
	[[ $(steps) == 'echo idle /sys/block/md127/md/sync_action '* ]] || fail "$(steps)"
	[[ $(<"$MD/sync_action") == idle ]]
	# Also when it had been killed after the growth.
	put sync_action frozen
	verb resize --yes data
	assert_success
	assert_output -p 'nothing to do'
	[[ $(<"$MD/sync_action") == idle ]]
}

# As md says it then: the new part is to be made equal, from sector 200000 on.
@test "bits that a killed run did not set are set by the next command, before md gets to work" {
	local bits='echo 97-198 /sys/block/md127/md/bitmap_set_bits 
echo idle /sys/block/md127/md/sync_action '
	detached
	put component_size 203776 sync_action frozen resync_start 200000
	verb resize --yes data
	assert_success
	assert_output -p 'nothing to do'
	[[ $(steps) == "$bits" ]] || fail "$(steps)"
	rm "$BATS_TEST_TMPDIR/calls"
	put sync_action frozen
	sleep() { SECONDS=$((SECONDS + 5)) && put resync_start none; }
	verb apply data
	assert_success
	[[ $(steps) == "$bits"* ]] || fail "$(steps)"
	# There is still more room; but first md makes equal what there is.
	put component_size 150000 sync_action frozen resync_start 200000
	rm "$BATS_TEST_TMPDIR/calls"
	verb resize --yes data
	assert_failure 75
	[[ $(steps) == 'echo 97-146 '*$'\necho idle /sys/block/md127/md/sync_action ' ]] || fail "$(steps)"
	# It is the end of the array.
	put sync_action frozen resync_start 300000
	rm "$BATS_TEST_TMPDIR/calls"
	verb resize --yes data
	[[ $(steps) == 'echo idle /sys/block/md127/md/sync_action ' ]] || fail "$(steps)"
}

@test "a check that a killed run has left is ended; one that goes on refuses the resize" {
	detached
	check_left
	verb resize --yes data
	assert_success
	[[ $(<"$MD/component_size") == 203776 && $(<"$MD/sync_max") == max ]] || fail "$output"
	put component_size 100000
	rm "$BATS_TEST_TMPDIR/calls"
	check_left
	verb resize --dry-run data
	assert_failure 4
	[[ $(<"$MD/sync_action") == check ]]
	rm "$R/run/ramraid/.locks/check.md127"
	refused 4 'md is at work on it (check); first: ramraid wait data' resize --yes data
}

@test "what to type for each kind of data on the array is said" {
	detached
	for type in ext4:'resize2fs /dev/md/data' xfs:'xfs_growfs MOUNTPOINT' \
		LVM2_member:'pvresize /dev/md/data' swap:; do
		put component_size 100000
		eval "lsblk() { echo ${type%%:*}; }"
		verb resize --yes data
		assert_success
		assert_output -p "has 98MiB now"
		[[ -z ${type#*:} ]] || assert_output -p "${type#*:}"
	done
}

@test "what to type to grow a file system can be pasted, whatever the disk calls its mount point" {
	detached
	put component_size 100000
	lsblk() { echo xfs; }
	mkdir -p "$R/sys/class/block/md127"
	echo 9:127 >"$R/sys/class/block/md127/dev"
	printf '%s\n' '36 1 9:127 / /media/u/a\040b;touch\040ran rw - xfs /dev/md127 rw' \
		>"$R/proc/1/mountinfo"
	verb resize --yes data
	assert_success
	assert_output -p 'xfs_growfs /media/u/a\ b\;touch\ ran'
}

# Of brd memory comes back only with its last array.
@test "memory of brd is not counted as freed while another array uses brd, too" {
	echo brd ram0 $((100 << 20)) 9 used >"$R/run/ramraid/data.ram"
	echo brd ram1 $((100 << 20)) 9 used >"$R/run/ramraid/other.ram"
	leaves rd0
	fake_disk ram0 $((1 << 30))
	joins ram0 in_sync 0
	mkdir -p "$R"/sys/block/ram{0,1} && echo 9 | tee "$R"/sys/block/ram{0,1}/diskseq
	sed -i 's/MemAvailable:.*/MemAvailable: 655360 kB/' "$R/proc/meminfo"
	refused 4 'no RAM leg of that size can be made' resize --yes data
	rm "$R/run/ramraid/other.ram"
	verb resize --dry-run data
	assert_success
}
