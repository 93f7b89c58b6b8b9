#!/usr/bin/env bats
# ramraid replace on a fake array: what is called, in which order, what is refused, and that a run
# that was killed anywhere is completed by the next.

setup() {
	load helper
	load change
	change_world
	A=/dev/disk/by-id/ata-A B=/dev/disk/by-id/ata-B C=/dev/disk/by-id/ata-C
}
given() {
	grep -q "^given=.*$(uuid_of "$1")" "$R/etc/ramraid/state/data.witness" ||
		fail "not given up: $(<"$R/etc/ramraid/state/data.witness")"
}

@test "replace: the steps are in order, and only one line of the configuration changes" {
	verb replace --yes data /dev/sdb /dev/sdc
	assert_success
	is_whole A C
	[[ $(steps) == 'write /etc/ramraid/data.conf
write /etc/ramraid/state/data.leaving
write /etc/ramraid/state/data.witness
write /etc/ramraid/state/data.hardware
mdadm --grow --force /dev/md127 --raid-devices=4
write /etc/ramraid/state/data.witness
echo frozen /sys/block/md127/md/sync_action 
mdadm --manage /dev/md127 --add /dev/sdc
echo writemostly /sys/block/md127/md/dev-sdc/state 
echo idle /sys/block/md127/md/sync_action 
write /etc/ramraid/state/data.witness
write /etc/ramraid/state/data.hardware
mdadm --manage /dev/md127 --fail /dev/sdb
mdadm --manage /dev/md127 --remove /dev/sdb
write /etc/ramraid/state/data.witness
write /etc/ramraid/data.conf
mdadm --zero-superblock /dev/sdb
write /etc/ramraid/state/data.witness
mdadm --grow --force /dev/md127 --raid-devices=3
write /etc/ramraid/state/data.witness' ]] || fail "$(steps)"
	given b
	[[ $(<"$R/etc/ramraid/data.conf") == "# mine
UUID=$ID
MEMBER=/dev/disk/by-id/ata-A

# the second
MEMBER=$C
WAIT=no" && $(stat -c %a "$R/etc/ramraid/data.conf") == 640 ]] ||
		fail "$(<"$R/etc/ramraid/data.conf")"
	# And once more: nothing is left to do.
	rm "$BATS_TEST_TMPDIR/calls"
	verb replace --yes data "$B" "$C"
	assert_success
	[[ -z $(steps) ]] || fail "$(steps)"
	assert_output -p "nothing to do: $C is a disk leg of it already"
}

@test "the new disk is reported as in sync before the old one is taken out" {
	printf '%s\n' 'in_sync ram' "in_sync leg /dev/disk/by-id/ata-A" "in_sync leg $B" 'no only' \
		>"$R/run/ramraid/data.told"
	verb replace --yes data /dev/sdb /dev/sdc
	assert_success
	run grep -o "disk leg $C is in sync\|--fail /dev/sdb" <<<"$output"
	assert_output "disk leg $C is in sync
--fail /dev/sdb"
}

@test "want_replacement of the disk that stays is cleared before the new disk is added" {
	put dev-sda/state in_sync,write_mostly,want_replacement
	verb replace --yes data "$B" "$C"
	assert_success
	[[ $(steps) == *'md127/md/dev-sda/state '$'\n''mdadm --manage /dev/md127 --add /dev/sdc'* &&
		$(steps) == *'echo -want_replacement /sys/block/md127/md/dev-sda/state'* ]] ||
		fail "$(steps)"
}

# Noted by md while it built the disk. The RAM leg has the blocks, but not for long.
@test "if the new disk has not taken all blocks, the old one stays" {
	REBUILD=weak
	verb replace --yes data "$B" "$C"
	assert_failure
	assert_output \
		-p "md could not write some blocks of a remaining disk, so $B stays as well"
	[[ -e $MD/dev-sdb && $(<"$R/dev/sdb") == ours && $(steps) != *--fail* ]] || fail "$(steps)"
}

@test "with the two disks in the wrong order, the right one is said, and nothing is changed" {
	cp -a "$R/etc" "$R/etc.before"
	verb replace --dry-run data "$C" "$B"
	assert_success
	assert_output -p "nothing to do: $B is a disk leg of it already, and $C is not. The order \
is: ramraid replace data OLD NEW"
	untouched
	put dev-sdb/state faulty,write_mostly
	refused 2 "$C is no disk leg of it, and $B is one that is not in sync. The order is: \
ramraid replace data OLD NEW" replace --yes data "$C" "$B"
}

@test "--dry-run prints the plan and does nothing" {
	cp -a "$R/etc" "$R/etc.before"
	verb replace --dry-run data "$B" "$C"
	assert_success
	untouched
	assert_output 'build     /dev/disk/by-id/ata-C (/dev/sdc), write-mostly; whatever is on it is lost
take out  /dev/disk/by-id/ata-B (/dev/sdb), and make its superblock invalid, when the others are in sync
data: nothing was changed (--dry-run)'
}

@test "each reason against a replace is said, and nothing is changed" {
	refused 2 'add --yes' replace data "$B" "$C"
	refused 2 'is no MEMBER of it' replace --yes data /dev/sdd "$C"
	refused 3 'there is no block device' replace --yes data "$B" /dev/nosuch
	refused 4 'is in the array already' replace --yes data "$B" /dev/sda
	refused 2 'the same disk' replace --yes data "$B" /dev/sdb
	refused 3 'does not exist' replace --yes other "$B" "$C"
	echo 2048 >"$R/sys/class/block/sdc/size"
	refused 4 'has 1048576 bytes, and a leg of md127 needs' replace --yes data "$B" "$C"
	echo 409600 >"$R/sys/class/block/sdc/size"
	mkdir -p "$R/sys/class/block/sdc/queue"
	echo 4096 >"$R/sys/class/block/sdc/queue/logical_block_size"
	refused 4 \
		'its blocks of 4096 bytes are larger than those of md127 (512); take another disk' \
		replace --yes data "$B" "$C"
	refused 4 'its blocks of 4096 bytes' replace --force --yes data "$B" "$C"
	echo 512 >"$R/sys/class/block/sdc/queue/logical_block_size"
	echo ext4 >"$R/dev/sdc"
	refused 4 'signature: it holds ext4. Take another disk; or, if nothing on it is needed any more: wipefs' replace \
		--yes data "$B" "$C"
	echo '31 1 8:32 / /mnt rw - ext4 /dev/sdc rw' >"$R/proc/1/mountinfo"
	echo 8:32 >"$R/sys/class/block/sdc/dev"
	refused 4 'in use: /mnt' replace --force --yes data "$B" "$C"
	: >"$R/proc/1/mountinfo"
	: >"$R/dev/sdc"
	mkdir -p "$R/sys/class/block/sdc/holders/dm-0"
	refused 4 'is in use by something else' replace --yes data "$B" "$C"
	rmdir "$R/sys/class/block/sdc/holders/dm-0"
	echo 8 8 >"$MD/dev-sdb/bad_blocks"
	refused 4 'bad blocks, and mdadm adds no new member while it has' replace --yes data "$B" "$C"
	echo >"$MD/dev-sdb/bad_blocks"
	mkdir "$R/etc/ramraid/data.conf.d"
	sed -i /ata-B/d "$R/etc/ramraid/data.conf"
	echo MEMBER=$B >"$R/etc/ramraid/data.conf.d/more.conf"
	refused 4 'which is yours to edit' replace --yes data "$B" "$C"
	put array_state clear
	refused 3 'is not running' replace --yes data "$B" "$C"
}

# What RAM= names: nothing that it holds need last, and beside it md would let the last disk go.
@test "the device in the RAM leg's place is refused as a disk leg, by whatever name" {
	local name
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=$B RAM=/dev/disk/by-id/ata-D
	ln -s ../../sdd "$R/dev/disk/by-id/other"
	leaves rd0
	joins sdd in_sync 0
	for name in /dev/sdd /dev/disk/by-id/ata-D /dev/disk/by-id/other; do
		refused 4 'is what RAM= names (/dev/disk/by-id/ata-D)' replace --yes data "$B" \
			"$name"
		refused 4 'is what RAM= names' replace --force --yes data "$B" "$name"
	done
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/other MEMBER=$B RAM=/dev/disk/by-id/ata-D
	refused 4 '/dev/disk/by-id/other: is what RAM= names' apply --yes data
}

@test "replacing a disk that is gone gives up that disk, and not the device that is the RAM leg" {
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=$B RAM=/dev/disk/by-id/ata-D
	printf '%s\n' "uuid=$ID" "legs=$(uuid_of a)" events=40 ram_slot=0 generation=1 \
		"seen=$(uuid_of a) $(uuid_of b) $(uuid_of d)" >"$R/etc/ramraid/state/data.witness"
	leaves rd0
	leaves sdb
	joins sdd in_sync 0
	put degraded 1
	rm -r "$R/sys/class/block/sdb" "$R/dev/sdb"
	verb replace --yes data "$B" "$C"
	assert_success
	given b
	not given d
	not given a
}

@test "--force overwrites what the disk holds" {
	echo ext4 >"$R/dev/sdc"
	verb replace --force --yes data "$B" "$C"
	assert_success
	is_whole A C
	[[ $(steps) == *'wipefs --all --quiet -- /dev/sdc'*--add* ]] || fail "$(steps)"
}

@test "a disk that anybody can plug in or make up needs --force where no leg was" {
	local node
	mkdir -p "$R/sys/devices/usb1"
	for node in sdc sdd; do
		mv "$R/sys/class/block/$node" "$R/sys/devices/usb1/"
		ln -s "$R/sys/devices/usb1/$node" "$R/sys/class/block/$node"
	done
	refused 4 "$C (/dev/sdc, usb): may be somebody else's" replace --yes data "$B" "$C"
	# What is said of the one disk is not said of another.
	sed -i '/ata-A/a MEMBER=/dev/disk/by-id/ata-D' "$R/etc/ramraid/data.conf"
	refused 4 "ata-D (/dev/sdd, usb): may be somebody else's" replace --force --yes data "$B" "$C"
	sed -i /ata-D/d "$R/etc/ramraid/data.conf"
	verb replace --force --yes data "$B" "$C"
	assert_success
	is_whole A C
}

@test "a disk that another array is configured with is refused even with --force" {
	local db=99999999-89ab-4cde-8f01-23456789abcd text
	for text in ext4 ''; do
		echo "$text" >"$R/dev/sdc"
		printf '%s\n' "UUID=$db" "MEMBER=$C" >"$R/etc/ramraid/db.conf"
		refused 4 "$C: is a disk leg of the array db, whose configuration has MEMBER=$C. \
Take another disk. If nothing of db is needed any more: ramraid destroy db" replace --force --yes data "$B" /dev/sdc
		conf "UUID=$ID" "MEMBER=$B" "MEMBER=/dev/disk/by-id/ata-A" "MEMBER=$C"
		refused 4 "$C: is a disk leg of the array db" apply --yes data
		conf "UUID=$ID" "MEMBER=$B" MEMBER=/dev/disk/by-id/ata-A
	done
	# A copy of the configuration is about the same array.
	printf '%s\n' "UUID=$ID" "MEMBER=$C" >"$R/etc/ramraid/db.conf"
	verb replace --force --yes data "$B" "$C"
	assert_success
	is_whole A C
}

@test "the new disk takes the slot of an old one that is gone" {
	leaves sdb
	put degraded 1
	rm -r "$R/sys/class/block/sdb" "$R/dev/sdb"
	verb replace --dry-run data "$B" "$C"
	assert_line "take out  /dev/disk/by-id/ata-B, which is not there, and give it up, when the \
others are in sync"
	verb replace --yes data "$B" "$C"
	assert_success
	is_whole A C
	given b
	[[ $(steps) != *--grow* && $(steps) != *zero-superblock* ]] || fail "$(steps)"
}

@test "an old disk that md has given up is replaced, and recorded as given up" {
	put dev-sdb/state faulty,write_mostly
	verb replace --yes data "$B" "$C"
	assert_success
	is_whole A C
	given b
	# It leaves first, so that the new one takes its slot.
	[[ $(steps) == *'--remove /dev/sdb'*'--add /dev/sdc'*'--zero-superblock /dev/sdb'* ]] ||
		fail "$(steps)"
	[[ $(steps) != *--raid-devices* ]] || fail "$(steps)"
}

@test "an old disk that may hold what the array lacks is refused, and replaced once it is given up" {
	local way="mdadm --zero-superblock $B, then type this again" word
	leaves sdb
	put degraded 1
	echo ahead >"$R/dev/sdb"
	for word in '' --force; do
		refused 4 "$B is at 60 events, and the array only at 41" replace $word --yes data "$B" "$C"
		assert_output -p "ramraid start --force-leg=$B data. To give up what it has: $way"
		echo alone >"$R/dev/sdb"
		refused 4 "$B: may have been used without the others" replace $word --yes data "$B" "$C"
		assert_output -p "$way"
		echo ahead >"$R/dev/sdb"
	done
	: >"$R/dev/sdb"
	verb replace --yes data "$B" "$C"
	assert_success
	is_whole A C
	[[ $(steps) != *'zero-superblock /dev/sdb'* ]] || fail "$(steps)"
}

@test "an old disk that knows no disk in sync, and that the record saw leaving, is replaced" {
	leaves sdb
	put degraded 1
	echo alone >"$R/dev/sdb"
	echo "departed=$(uuid_of b):40" >>"$R/etc/ramraid/state/data.witness"
	refused 4 "$B: may have been used without the others" replace --yes data "$B" "$C"
	sed -i 's/^departed=.*/&1/; s/:401/:41/' "$R/etc/ramraid/state/data.witness"
	verb replace --yes data "$B" "$C"
	assert_success
	is_whole A C
	given b
	[[ $(steps) == *'zero-superblock /dev/sdb'* ]] || fail "$(steps)"
}

@test "a change that has begun does not wipe an old disk that comes back with more than the array has" {
	begun MEMBER={"$A","$B","$C"}
	leaves sda
	echo ahead >"$R/dev/sda"
	refused 4 "$A is at 60 events, and the array only at 41" apply --yes data
	assert_output -p "mdadm --zero-superblock $A, then type this again"
	# Nor if its line is gone, and no run has got as far as to give it up.
	conf "UUID=$ID" MEMBER={"$B","$C"}
	verb apply --yes data
	assert_success
	assert_output -p "$A keeps its superblock, since it is not known whether the array has all that \
is on it. If nothing on it is needed any more: mdadm --zero-superblock $A"
	[[ $(steps) != *'zero-superblock'* && ! -e $R/etc/ramraid/state/data.leaving ]] ||
		fail "$(steps)"
}

@test "the only disk is replaced by one that is built from the RAM leg" {
	conf "UUID=$ID" MEMBER=$B
	leaves sda
	put dev-sdb/state faulty,write_mostly raid_disks 2 dev-sdb/slot 1 degraded 1
	verb replace --yes data "$B" "$C"
	assert_success
	is_whole C
}

# All disks have left; only the RAM leg has what was written since. A is gone, B is plugged in again.
only_ram() {
	leaves sda
	leaves sdb
	rm "$R/dev/disk/by-id/ata-A" "$R/dev/sda"
	put degraded 2
	printf '%s\n' "uuid=$ID" legs= events=41 "filled=${1:-40}" ram_slot=0 generation=1 \
		"left=$(uuid_of a) $(uuid_of b)" "seen=$(uuid_of a) $(uuid_of b)" \
		>"$R/etc/ramraid/state/data.witness"
	printf '%s\n' 'md127 7' "$(uuid_of b) events=41 with=" >"$R/run/ramraid/data.joined"
}

@test "while only the RAM leg is good, a disk that has returned is put back by its bitmap before the new one is built" {
	only_ram
	verb replace --dry-run data "$A" "$C"
	assert_output -p "put back  $B (/dev/sdb)"
	verb replace --yes data "$A" "$C"
	assert_success
	is_whole B C
	[[ $(steps) != *zero-superblock*/dev/sdb* ]] || fail "$(steps)"
	[[ $(steps) == *'--re-add /dev/sdb'*'--add /dev/sdc'* ]] || fail "$(steps)"
}

@test "if md may have forgotten what the returned disk lacks, it is built last" {
	only_ram 60
	verb replace --dry-run data "$A" "$C"
	assert_output -p "build     $B (/dev/sdb), as soon as another disk is in sync"
	verb replace --yes data "$A" "$C"
	assert_success
	is_whole B C
	[[ $(steps) == *'--add /dev/sdc'*'--zero-superblock /dev/sdb'*'--add /dev/sdb'* ]] ||
		fail "$(steps)"
}

@test "without a new disk, the returned one is not built while only the RAM leg is good" {
	only_ram 60
	conf "UUID=$ID" MEMBER=$B
	put raid_disks 2
	verb apply --yes data
	assert_failure 1
	[[ $(steps) != *zero-superblock* && $(steps) != *'--add'* ]] || fail "$(steps)"
}

@test "one of two disks that md has given up is replaced, and then the other" {
	put dev-sda/state faulty,write_mostly dev-sdb/state faulty,write_mostly dev-sda/slot none \
		dev-sdb/slot none degraded 2
	verb replace --dry-run data "$A" "$C"
	assert_output -p "leave     $B (/dev/sdb) as it is: md has given it up"
	verb replace --yes data "$A" "$C"
	[[ $(<"$MD/dev-sdc/state") == in_sync* && ! -e $MD/dev-sda ]] || fail "$(steps)"
	verb replace --yes data "$B" /dev/sdd
	assert_success
	is_whole C D
}

@test "a new disk that fails while the others are dead is not passed over" {
	put dev-sda/state faulty,write_mostly dev-sdb/state faulty,write_mostly dev-sda/slot none \
		dev-sdb/slot none degraded 2
	REBUILD=bad
	verb replace --yes data "$A" "$C"
	assert_failure 4
	assert_output -p "md has given up $C; nothing is taken out"
}

@test "if the new disk fails while it is built, the old one stays, and another new one can replace it" {
	REBUILD=bad
	verb replace --yes data "$B" "$C"
	assert_failure 4
	assert_output -p 'md has given up /dev/disk/by-id/ata-C; nothing is taken out'
	[[ $(<"$MD/dev-sdb/state") == in_sync,write_mostly ]]
	grep -q "member=$B" "$R/etc/ramraid/state/data.leaving"
	REBUILD=good
	verb replace --yes data "$C" /dev/sdd
	assert_success
	is_whole A D
}

@test "if md does not begin to rebuild, that is said, and the old disk stays" {
	REBUILD=never
	verb replace --yes data "$B" "$C"
	assert_failure 1
	assert_output -p 'md does not rebuild it'
	assert_output -p "To go on: ramraid replace data $B $C"
	[[ $(<"$MD/dev-sdb/state") == in_sync,write_mostly && $(<"$MD/sync_action") == idle ]]
	# The next disk that joins would have md try it again, without what was never copied.
	[[ ! -e $MD/dev-sdc ]]
	REBUILD=good
	verb replace --yes data "$B" "$C"
	assert_success
	is_whole A C
}

@test "a replace that has not ended can be reversed: the old disk stays, and the new one is given up" {
	REBUILD=never
	verb replace --yes data "$B" "$C"
	assert_failure 1
	REBUILD=good
	verb replace --yes data "$C" "$B"
	assert_success
	is_whole A B
	given c
}

@test "a new disk that md does not take is not left half added, and sync work is not left frozen" {
	FAILS='mdadm --manage /dev/md127 --add'
	verb replace --yes data "$B" "$C"
	assert_failure 1
	assert_output -p 'md did not take /dev/disk/by-id/ata-C'
	[[ $(<"$MD/sync_action") == idle ]]
	FAILS='echo writemostly'
	verb replace --yes data "$B" "$C"
	assert_failure 1
	[[ $(<"$MD/sync_action") == idle && ! -e $MD/dev-sdc ]] || fail "$(calls)"
	never
	FAILS=''
	verb replace --yes data "$B" "$C"
	assert_success
	is_whole A C
}

@test "with the configuration on a read-only file system nothing is begun" {
	FAILS='write /etc/ramraid/data.conf'
	verb replace --yes data "$B" "$C"
	assert_failure 1
	[[ $(steps) != *mdadm* ]] || fail "$(steps)"
}

# Killed after each step; at every one of them the array has all it had, and the configuration names
# every disk that is good.
@test "replace, killed after any step, is completed by the same command, or by apply" {
	local n=0 killed=0 name again
	while n=$((n + 1)) && ((n < 40)); do
		# Before the note is written, apply only knows of one disk more.
		again="replace --yes data $B $C"
		((n < 2 || n % 2)) || again='apply --yes data'
		rm -rf "$BATS_TEST_TMPDIR/calls" "$R"
		setup
		KILL_AFTER=$n
		verb replace --yes data "$B" "$C"
		KILL_AFTER=0
		[[ $status == 137 ]] || break
		killed=$((killed + 1))
		(($(grep -l in_sync "$MD"/dev-sd*/state | wc -l) >= 2)) ||
			fail "after $n: a copy less"
		for name in "$MD"/dev-sd*; do
			[[ $(<"$name/state") == in_sync* ]] || continue
			name=${name##*/dev-sd}
			grep -q "ata-${name^}" "$R/etc/ramraid/data.conf" ||
				fail "after $n: ${name^} is good and not configured"
		done
		# shellcheck disable=SC2086 # words
		verb $again
		assert_success
		is_whole A C
		[[ $(<"$R/dev/sdb") != ours ]] || fail "after $n: the old superblock is left"
	done
	((killed >= 15)) || fail "$killed"
}

@test "a replace that would make the array's blocks smaller at the next start is refused, with the reason" {
	wrongs() {
		verb replace --dry-run data /dev/disk/by-id/ata-B /dev/sdc
		if [[ -n $1 ]]; then
			[[ $status == 4 && $output == *"$1"* ]]
		else
			[[ $status == 0 ]]
		fi || fail "$status $output"
	}
	mkdir -p "$R"/sys/class/block/{sda,sdb,sdc}/queue "$R/sys/block/md127/queue"
	blocks() { # A B C ARRAY
		echo "$1" >"$R/sys/class/block/sda/queue/logical_block_size"
		echo "$2" >"$R/sys/class/block/sdb/queue/logical_block_size"
		echo "$3" >"$R/sys/class/block/sdc/queue/logical_block_size"
		echo "$4" >"$R/sys/block/md127/queue/logical_block_size"
	}
	blocks 512 4096 512 4096
	wrongs "its logical blocks have 4096 bytes now, and without /dev/disk/by-id/ata-B they \
would have 512 after the next start"
	blocks 512 4096 4096 4096
	wrongs ''
	blocks 4096 4096 512 4096
	wrongs ''
	blocks 512 512 512 512
	wrongs ''
	# Larger for another reason than the disk that leaves.
	blocks 512 512 512 4096
	wrongs ''
	# The superblocks keep it.
	blocks 512 4096 512 4096
	put logical_block_size 4096
	wrongs ''
}

# new_at_b: another disk, which is blank, has replaced the one at B, which is gone.
new_at_b() {
	leaves sdb
	put degraded 1
	fake_disk sde $((200 << 20))
	ln -sfn "$R/dev/sde" "$R/dev/disk/by-id/ata-B"
	rm -r "$R/sys/class/block/sdb" "$R/dev/sdb"
}

@test "one disk: a blank one at the name of a member that is gone is built in, and the configuration stays" {
	cp "$R/etc/ramraid/data.conf" "$BATS_TEST_TMPDIR/before.conf"
	new_at_b
	verb replace --dry-run data "$B"
	assert_success
	assert_line "build     $B (/dev/sde), write-mostly; whatever is on it is lost"
	[[ -z $(steps) ]] || fail "$(steps)"
	verb replace data "$B"
	assert_failure 2
	verb replace --yes data "$B"
	assert_success
	[[ -e $MD/dev-sde && $(<"$MD/dev-sde/state") == in_sync,write_mostly &&
		$(<"$MD/raid_disks") == 3 ]] ||
		fail "$(steps)"
	cmp "$R/etc/ramraid/data.conf" "$BATS_TEST_TMPDIR/before.conf"
	[[ $(steps) == *'mdadm --manage /dev/md127 --add /dev/sde'*'echo writemostly /sys/block/md127/md/dev-sde/state'* &&
		$(steps) != *--fail* && $(steps) != *zero-superblock* ]] ||
		fail "$(steps)"
	never
	# And once more, also by the kernel's name.
	rm "$BATS_TEST_TMPDIR/calls"
	verb replace --yes data /dev/sde
	assert_success
	assert_output -p "nothing to do: $B is in the array, and in sync"
	[[ -z $(steps) ]] || fail "$(steps)"
}

@test "one disk: each reason against it is said, and nothing is changed" {
	refused 2 "$C is no MEMBER of it" replace --yes data "$C"
	assert_output -p "ramraid replace data OLD $C"
	refused 2 'expected a name, a disk leg' replace --yes data
	new_at_b
	echo ext4 >"$R/dev/sde"
	refused 4 "$B: signature: it holds ext4" replace --yes data "$B"
	rm "$R/dev/disk/by-id/ata-B"
	refused 3 "there is no disk $B. Put the new one in its place" replace --yes data "$B"
	printf '%s\n' "uuid=$ID" "member=/dev/disk/by-id/ata-C" >"$R/etc/ramraid/state/data.leaving"
	refused 4 'ata-C has not left yet. First finish that: ramraid apply data' replace --yes data \
		"$B"
}

@test "one disk: the one that was there before is refused, and attach is named instead" {
	leaves sdb
	put degraded 1
	refused 4 "$B is the disk that was there before. To put it back: ramraid attach data" \
		replace --yes data "$B"
}

@test "one disk: --force overwrites what it holds" {
	new_at_b
	echo ext4 >"$R/dev/sde"
	verb replace --yes --force data "$B"
	assert_success
	[[ $(steps) == *'wipefs --all --quiet -- /dev/sde'*'mdadm --manage /dev/md127 --add /dev/sde'* &&
		$(<"$MD/dev-sde/state") == in_sync,write_mostly ]] ||
		fail "$(steps)"
}

@test "one disk, killed after any step, is completed by the same command" {
	local n all
	new_at_b
	cp -a "$R" "$BATS_TEST_TMPDIR/fresh"
	verb replace --yes data "$B"
	assert_success
	all=$(calls | wc -l)
	((all > 4)) || fail "$all"
	for ((n = 1; n <= all; n++)); do
		rm -rf "$R" "$BATS_TEST_TMPDIR/calls"
		cp -a "$BATS_TEST_TMPDIR/fresh" "$R"
		KILL_AFTER=$n
		verb replace --yes data "$B"
		KILL_AFTER=0
		verb replace --yes data "$B"
		((status == 0)) || fail "$n: $output" "$(calls)"
		[[ $(<"$MD/dev-sde/state") == in_sync,write_mostly &&
			$(<"$MD/sync_action") == idle ]] ||
			fail "$n: $(calls)"
		never
	done
}

# The state that an interrupted "replace A C" leaves.
begun() { # LINE …: the configuration
	conf "UUID=$ID" "$@"
	printf '%s\n' "uuid=$ID" "member=$A" "for=$C" >"$R/etc/ramraid/state/data.leaving"
	put raid_disks 4
	joins sdc in_sync,write_mostly 3
}

@test "a disk stays if the MEMBER line of the one that was to replace it is deleted" {
	begun MEMBER={"$A","$B"}
	verb apply --dry-run data
	assert_success
	assert_output -p "keep      $A: what was to replace it is no MEMBER any more"
	verb apply --yes data
	assert_success
	is_whole A B
	[[ ! -e $R/etc/ramraid/state/data.leaving && $(steps) != *'zero-superblock /dev/sda'* &&
		$(steps) == *'zero-superblock /dev/sdc'* ]] || fail "$(steps)"
	given c
}

@test "an interrupted replace goes on, also under another name of the new disk" {
	ln -s ../../sdc "$R/dev/disk/by-id/wwn-C"
	begun MEMBER={"$A","$B",/dev/disk/by-id/wwn-C}
	verb apply --yes data
	assert_success
	given a
	[[ $(<"$R/etc/ramraid/data.conf") == "UUID=$ID"$'\n'"MEMBER=$B"$'\n'MEMBER=*wwn-C ]] ||
		fail "$(<"$R/etc/ramraid/data.conf")"
}

@test "the only disk stays if the MEMBER line of the one that was to replace it is deleted" {
	begun "MEMBER=$A"
	leaves sdb
	: >"$R/dev/sdb"
	put raid_disks 3
	verb apply --yes data
	assert_success
	is_whole A
	given c
}

@test "if the new disk dies, another one can take its place, or the old one can stay" {
	begun MEMBER={"$A","$B","$C"}
	leaves sdc
	rm -r "$R/sys/class/block/sdc" "$R/dev/sdc" "$R/dev/disk/by-id/ata-C"
	verb apply --yes data
	assert_failure 4
	assert_output -p "$A leaves only when it is in sync. Connect it"
	assert_output -p "or take another disk: ramraid replace data $C NEW; or, to keep $A, delete \
the MEMBER line of $C"
	verb replace --yes data "$A" /dev/sdd
	assert_failure 4
	assert_output -p "$C already takes the place of $A"
	assert_output -p 'to take /dev/disk/by-id/ata-D in its place: ramraid replace data'
	verb replace --yes data "$C" /dev/sdd
	assert_success
	is_whole B D
	given a
}

@test "a disk that replaces the replacement is noted for both" {
	local n
	begun MEMBER={"$A","$B","$C"}
	KILL_AFTER=2 # the configuration and the note
	verb replace --yes data "$C" /dev/sdd
	KILL_AFTER=0
	n=$(grep -c '^for=/dev/disk/by-id/ata-D$' "$R/etc/ramraid/state/data.leaving")
	((n == 2)) || fail "$(<"$R/etc/ramraid/state/data.leaving")"
	verb apply --yes data
	assert_success
	is_whole B D
}
