#!/usr/bin/env bats
# The copy engine on plain files instead of disks and ramdisks: who copies what, what happens when a
# leg can't be read, and what the superblock of the filled leg says. That md takes it is shown in
# virtual machines (cases "copy", "rebuild").

setup() {
	load helper
	world
	libraries
	mkdir -p "$R"/{run/ramraid,proc/sys/kernel/random} "$R"/sys/block/md127/md/dev-sd{0,1,2}
	for i in 0 1 2; do echo in_sync,write_mostly >"$R/sys/block/md127/md/dev-sd$i/state"; done
	echo 4 >"$R/sys/block/md127/md/raid_disks" # one is free, at least
	echo 01234567-89ab-cdef-0123-456789abcdef >"$R/proc/sys/kernel/random/uuid"
	COPY_DIRECT=''
	set -o pipefail
}
teardown() { copy_stop data || :; }

# legs MIB N: N disk legs with the same data, from the superblock of a leg that mdadm made, each
# with a data offset of its own; some of it zeros. RAM leg: rd0, blank.
legs() {
	local i words base="$FIXTURES/superblock/mdadm-4.4-disk-leg.bin"
	SIZE=$(($1 * 1048576))
	head -c "$SIZE" /dev/urandom >"$BATS_TEST_TMPDIR/data"
	for ((i = 0; i < $1; i += 3)); do
		dd if=/dev/zero of="$BATS_TEST_TMPDIR/data" bs=1M seek="$i" count=1 conv=notrunc \
			status=none
	done
	for ((i = 0; i < $2; i++)); do
		read -ra words < <(superblock_read "$base")
		# Slot 0 is the RAM leg's.
		printf -v 'words[23]' '%08x' $(($2 + 1))
		superblock_clone_leg words $((i + 1)) $((i + 1)) \
			"00000000-0000-0000-0000-00000000000$i" $((4096 + i * 2048 + SIZE / 512))
		superblock_clone_role_ words 0 65534
		words[2]=00000001 # a leg in sync, with a bitmap
		printf -v 'words[32]' '%08x' $((4096 + i * 2048))
		printf -v 'words[20]' '%08x' $((SIZE / 512))
		words[46]=${words[46]:0:6}01
		superblock_sum words $((16#${words[55]}))
		printf -v 'words[54]' '%08x' "$SUPERBLOCK_SUM"
		put_leg "sd$i" $((4096 + i * 2048))
	done
	truncate -s $((SIZE + (4096 + $2 * 2048) * 512)) "$R/dev/rd0"
	echo 'rapiddisk rd0 1 - blank' >"$R/run/ramraid/data.ram"
	mkdir -p "$R/sys/block/rd0"
}

put_leg() { # NODE OFFSET: superblock, bitmap, data
	{
		head -c 4096 /dev/zero
		superblock_clone_bytes words
		bitmap "${words[@]:4:4}"
	} >"$R/dev/$1"
	truncate -s $(($2 * 512)) "$R/dev/$1"
	cat "$BATS_TEST_TMPDIR/data" >>"$R/dev/$1"
}

bitmap() { # UUID-WORD×4: its header, as the bitmap offset of the fixture says where
	local -a head=(6d746962 00000004 "$@" 00000000 00000000 "${CLEARED:-00000001}" 00000000)
	printf -v 'head[10]' '%08x' $((SIZE / 512))
	head+=(00000000 "${MARKED:-00000000}" 00100000)
	local i
	for ((i = ${#head[@]}; i < 64; i++)); do head[i]=00000000; done
	superblock_clone_bytes head
}

copies() { # NODE…: starts, waits, leaves the state in COPY_STATE
	local code=0
	copy_start data md127 rd0 "$(stat -c %s "$R/dev/rd0")" '' 0 "$@" \
		2>"$BATS_TEST_TMPDIR/log" || return
	wait_for_copy
}
wait_for_copy() {
	local i
	for ((i = 0; i < 1200; i++)); do
		copy_state data
		[[ $COPY_STATE == running ]] || return 0
		sleep 0.05
	done
	fail 'the copy does not end'
}
same() {
	cmp <(tail -c "+$((4096 * 512 + 1))" "$R/dev/rd0" | head -c "$SIZE") \
		"$BATS_TEST_TMPDIR/data"
}

@test "from one, two or three legs with different data offsets, the RAM leg gets all data, and no blocks of zeros" {
	local n
	for n in 1 2 3; do
		legs 12 "$n"
		copies $(seq -f 'sd%g' 0 $((n - 1)))
		[[ $COPY_STATE == 'done' ]] ||
			fail "$n: $COPY_STATE $COPY_WHY $(<"$BATS_TEST_TMPDIR/log")"
		same || fail "$n legs"
		((DONE == SIZE / 512 && TOTAL == DONE))
		# 4 of 12 MiB are zeros.
		(($(stat -c %b "$R/dev/rd0") <= 8 * 2048 + 64)) ||
			fail "$(stat -c %b "$R/dev/rd0") blocks"
		copy_stop data
		rm -f "$R/dev/rd0"
	done
}

@test "onto a device the zeros are copied too, and all of it is synced before the superblock is written" {
	legs 6 2
	tr '\0' '\377' <"$R/dev/rd0" >"$R/dev/nvme0n1"
	mkdir -p "$R/sys/class/block/nvme0n1"
	rm "$R/dev/rd0"
	echo 'device nvme0n1 1 - used' >"$R/run/ramraid/data.ram"
	copy_start data md127 nvme0n1 "$(stat -c %s "$R/dev/nvme0n1")" '' 0 sd0 sd1 \
		2>"$BATS_TEST_TMPDIR/log" ||
		fail "$COPY_WHY $(<"$BATS_TEST_TMPDIR/log")"
	wait_for_copy
	cmp <(tail -c "+$((4096 * 512 + 1))" "$R/dev/nvme0n1" | head -c "$SIZE") \
		"$BATS_TEST_TMPDIR/data"
	copy_finish data 2>"$BATS_TEST_TMPDIR/log" || fail "$COPY_WHY"
	[[ $(grep -c 'nocreat.*fsync' "$BATS_TEST_TMPDIR/log") == 2 ]]
}

@test "the new superblock has the array's UUID and events, a new device UUID, and the free slot" {
	legs 4 2
	copies sd0 sd1
	copy_finish data || fail "$COPY_WHY"
	run superblock_facts "$R/dev/rd0"
	local facts=$output leg
	leg=$(superblock_facts "$R/dev/sd0")
	for key in uuid events raid_disks size level; do
		[[ $(grep "^$key=" <<<"$facts") == $(grep "^$key=" <<<"$leg") ]] ||
			fail "$key: $facts"
	done
	grep -qx 'sb=ok' <<<"$facts"
	grep -qx 'role=0' <<<"$facts"
	grep -qx 'view=AAA' <<<"$facts"
	grep -qx 'writemostly=no' <<<"$facts"
	grep -qx 'recovery=0' <<<"$facts"
	grep -qx 'device_uuid=01234567-89ab-cdef-0123-456789abcdef' <<<"$facts"
	# The bitmap beside it, too.
	cmp <(dd if="$R/dev/rd0" bs=512 skip=16 count=8 status=none) \
		<(dd if="$R/dev/sd0" bs=512 skip=16 count=8 status=none)
}

# A named pipe is what can't be read with a seek: dd says so.
@test "if a leg can't be read, the other one gives all of it, and a message says so" {
	legs 16 2
	BREAK=sd1 TRIED=$BATS_TEST_TMPDIR/tried
	# The other leg waits for this one's first try: it might have given all of it before.
	dd() {
		case $* in
		*"/sd0 "*seek_bytes*)
			timeout 20 bash -c 'until [[ -e $1 ]]; do sleep 0.05; done' - "$TRIED" ||
				return
			;;
		*"/$BREAK "*seek_bytes*)
			: >"$TRIED"
			printf '%s\n' "dd: error reading '/dev/$BREAK': Input/output error" \
				'0+0 records in' '0 bytes copied, 0 s' >&2
			return 1
			;;
		esac
		command dd "$@"
	}
	copies sd0 sd1
	[[ $COPY_STATE == 'done' ]] || fail "$COPY_STATE $COPY_WHY"
	same
	grep -q 'data: sd1 at byte .*Input/output error.*; that part has to come from another disk' \
		"$BATS_TEST_TMPDIR/log"
}

@test "if a leg ends early, the other one gives the rest; if both do, the copy fails" {
	legs 16 2
	truncate -s $(((4096 + 2048) * 512 + SIZE / 2)) "$R/dev/sd1"
	copies sd0 sd1
	[[ $COPY_STATE == 'done' ]] || fail "$COPY_STATE $COPY_WHY"
	same
	legs 16 2
	for i in 0 1; do truncate -s $(((4096 + i * 2048) * 512 + SIZE / 2)) "$R/dev/sd$i"; done
	copies sd0 sd1
	[[ $COPY_STATE == failed && $COPY_WHY == *'ended after'* ]] || fail "$COPY_STATE $COPY_WHY"
}

@test "pieces read from a leg that has left the array meanwhile do not count" {
	legs 16 2
	echo faulty,write_mostly >"$R/sys/block/md127/md/dev-sd1/state"
	copies sd0 sd1
	[[ $COPY_STATE == 'done' ]] || fail "$COPY_STATE $COPY_WHY"
	[[ ! -e $R/run/ramraid/data.copy/done.1 ]]
	same
	rm -r "$R/sys/block/md127/md/dev-sd0"
	copies sd0 sd1
	[[ $COPY_STATE == failed && $COPY_WHY == *'sd0 is no longer in sync in md127'* ]] ||
		fail "$COPY_STATE $COPY_WHY"
}

@test "a leg with bad blocks in its list is not read from" {
	legs 16 2
	read -ra words < <(superblock_read "$R/dev/sd1")
	words[2]=00000009
	superblock_sum words $((16#${words[55]}))
	printf -v 'words[54]' '%08x' "$SUPERBLOCK_SUM"
	superblock_clone_bytes words | dd of="$R/dev/sd1" bs=4096 seek=1 conv=notrunc status=none
	copies sd0 sd1
	[[ $COPY_STATE == 'done' && $(ls "$R"/run/ramraid/data.copy/done.*) == *done.0 ]] ||
		fail "$COPY_STATE $COPY_WHY"
	same
	# Its slot and number are taken all the same.
	[[ $(cut -d' ' -f3 "$R/run/ramraid/data.copy/plan") == 0 ]]
	copy_start data md127 rd0 $((16 * 1048576)) '' 0 sd1 && fail 'no leg without'
	[[ $COPY_WHY == 'no disk leg is in sync and without bad blocks' ]] || fail "$COPY_WHY"
}

# spoiled NODE: it lacks a block of a write that it did not take.
spoiled() {
	dd if=/dev/zero of="$R/dev/$1" bs=512 \
		seek=$((4096 + ${1#sd} * 2048 + SIZE / 512 / 2 - 8 + 8 * ${1#sd})) count=8 \
		conv=notrunc status=none
}
lists_bad() { echo '8192 8' >"$R/sys/block/md127/md/dev-$1/bad_blocks"; }

@test "the copy waits for writes in flight, and does not read from a leg that failed one of them" {
	legs 16 2
	spoiled sd1
	md_drain() { lists_bad sd1; }
	copies sd0 sd1
	[[ $COPY_STATE == 'done' && $(ls "$R"/run/ramraid/data.copy/done.*) == *done.0 ]] ||
		fail "$COPY_STATE $COPY_WHY"
	same
}

@test "a piece does not count if its leg gets a bad block while the piece is read" {
	legs 16 2
	spoiled sd1
	dd() {
		# On a busy machine sd0 would give all before sd1 has given a piece.
		[[ $* != *"/sd0 "*seek_bytes* ]] ||
			timeout 20 bash -c 'until [[ -e $1 ]]; do sleep 0.05; done' - \
				"$R/run/ramraid/data.copy/bad.sd1" || return
		command dd "$@" || return
		[[ $* != *"/sd1 "*seek_bytes* ]] || lists_bad sd1
	}
	copies sd0 sd1
	[[ $COPY_STATE == 'done' &&
		$(cat "$R"/run/ramraid/data.copy/bad.*) == \
			'sd1 at byte '*'is no longer without bad blocks'* ]] ||
		fail "$COPY_STATE $COPY_WHY"
	same
}

leaves() { rm -rf "$R/sys/block/md127/md/dev-$1"; } # NODE

# once_given COMMAND: when sd1 has given a piece, COMMAND happens to it, before sd0 is read on.
once_given() {
	THEN=$1
	dd() {
		case $* in
		*"/sd0 "*seek_bytes*)
			timeout 20 bash -c 'until [[ -s $1 || -e $2 ]]; do sleep 0.05; done' - \
				"$R/run/ramraid/data.copy/"{gave.1,bad.sd1} ||
				return
			"$THEN" sd1
			;;
		esac
		command dd "$@"
	}
}

@test "if a leg gets a bad block later, all its pieces come from another leg, or the copy fails" {
	legs 16 2
	spoiled sd1
	once_given lists_bad
	copies sd0 sd1
	[[ $COPY_STATE == 'done' && ! -e $R/run/ramraid/data.copy/done.1 &&
		-e $R/run/ramraid/data.copy/bad.sd1 ]] ||
		fail "$COPY_STATE $COPY_WHY"
	same
	# Or when nothing is left to do but to put it in.
	lists_bad sd0
	not copy_finish data
	[[ $COPY_WHY == *"can't be trusted any more: sd0 is no longer without bad blocks"* ]] ||
		fail "$COPY_WHY"
}

# Whether md has listed a bad block of it can't be read any more then (mdadm -If).
@test "so it is if a leg is taken out of the array after it has given pieces" {
	legs 16 2
	spoiled sd1
	once_given leaves
	copies sd0 sd1
	[[ $COPY_STATE == 'done' && ! -e $R/run/ramraid/data.copy/gave.1 ]] ||
		fail "$COPY_STATE $COPY_WHY"
	same
	leaves sd0
	not copy_finish data
	[[ $COPY_WHY == *"can't be trusted any more: sd0 is no longer in sync"* ]] ||
		fail "$COPY_WHY"
}

@test "a ramdisk that something else uses is not written to" {
	legs 4 2
	mkdir -p "$R/sys/class/block/rd0" "$R/proc/1"
	echo 1:7 >"$R/sys/class/block/rd0/dev"
	: >"$R/proc/swaps"
	echo '30 1 1:7 / /srv/scratch rw shared:1 - ext4 /dev/rd0 rw' >"$R/proc/1/mountinfo"
	copy_start data md127 rd0 "$(stat -c %s "$R/dev/rd0")" '' 0 sd0 sd1 && fail 'it began'
	[[ $COPY_WHY == 'rd0 is in use by something else (/srv/scratch)' ]] || fail "$COPY_WHY"
	[[ -z $(tr -d '\0' <"$R/dev/rd0") ]]
}

# joins: md has taken the ramdisk, by somebody's hand.
joins() {
	mkdir -p "$R/sys/class/block/rd0/holders/md127" "$R/sys/block/md127/md/dev-rd0"
	echo in_sync >"$R/sys/block/md127/md/dev-rd0/state"
	echo 0 >"$R/sys/block/md127/md/dev-rd0/slot"
}

@test "a ramdisk that has become a member of the array during the copy is not written to any more" {
	legs 64 1 # another worker may have looked just before
	dd() {
		if [[ $* == *"of=$R/dev/rd0 "*seek_bytes* ]]; then
			[[ ! -e $R/sys/class/block/rd0/holders/md127 ]] ||
				echo "$*" >>"$BATS_TEST_TMPDIR/late"
			command dd "$@" || return
			joins
		else
			command dd "$@"
		fi
	}
	copies sd0
	[[ ! -e $BATS_TEST_TMPDIR/late ]] || fail "$(<"$BATS_TEST_TMPDIR/late")"
	[[ $COPY_STATE == failed && $COPY_WHY == 'rd0 is in use by md127 now' ]] || fail "$COPY_WHY"
}

@test "a write to the array is not lost if the ramdisk becomes a member while a piece is on its way" {
	local where
	legs 64 1
	dd() {
		local skip seek count arg
		if [[ $* != *"of=$R/dev/rd0 "*seek_bytes* ]]; then
			command dd "$@"
			return
		elif [[ ! -e $R/sys/class/block/rd0/holders/md127 ]]; then
			command dd "$@" || return
			# md rebuilds it meanwhile, faster than a copy that COPY_RATE holds back.
			command dd if="$BATS_TEST_TMPDIR/data" of="$R/dev/rd0" bs=512 seek=4096 \
				conv=notrunc status=none
			joins
			return
		fi
		for arg; do
			case $arg in skip=*) skip=${arg#*=} ;; seek=*) seek=${arg#*=} ;;
			count=*) count=${arg#*=} ;; esac
		done
		[[ -n $skip ]] && command dd if="$R/dev/sd0" of="$BATS_TEST_TMPDIR/piece" bs=1M \
			skip="$skip" count="$count" iflag=skip_bytes,count_bytes status=none
		# A write to the array, which md sends to every member, and acknowledges.
		for where in "sd0 $skip" "rd0 $seek"; do
			printf ACKNOWLEDGED | command dd of="$R/dev/${where% *}" bs=4096 \
				seek="${where#* }" oflag=seek_bytes conv=notrunc status=none
		done
		command dd if="$BATS_TEST_TMPDIR/piece" of="$R/dev/rd0" bs=64K seek="$seek" \
			oflag=seek_bytes conv=notrunc status=none
		echo "$count bytes (x) copied" >&2
	}
	copies sd0
	# What the disk leg has, the RAM leg has.
	cmp <(tail -c "+$((4096 * 512 + 1))" "$R/dev/sd0" | head -c "$SIZE") \
		<(tail -c "+$((4096 * 512 + 1))" "$R/dev/rd0" | head -c "$SIZE") ||
		fail "the RAM leg lacks an acknowledged write ($COPY_STATE)"
}

@test "a ramdisk that has become a member gets no superblock" {
	legs 8 2
	copies sd0 sd1
	[[ $COPY_STATE == 'done' ]]
	joins
	not copy_finish data 2>/dev/null
	[[ $COPY_WHY == 'rd0 is in use by md127 now' ]] || fail "$COPY_WHY"
	[[ -z $(dd if="$R/dev/rd0" bs=4096 skip=1 count=1 status=none | tr -d '\0') ]] ||
		fail 'a superblock was written below md'
}

@test "writes in flight are waited for before anything is read" {
	legs 4 2
	md_drain() { called drain && [[ ! -e $R/run/ramraid/data.copy ]]; }
	copies sd0 sd1
	[[ $COPY_STATE == 'done' && $(calls) == drain ]]
	md_drain() { return 1; }
	copy_start data md127 rd0 "$(stat -c %s "$R/dev/rd0")" '' 0 sd0 sd1 &&
		fail 'began nevertheless'
	[[ $COPY_WHY == *'made idle'* ]]
}

@test "if no leg can be read, the copy fails, and says why" {
	legs 16 2
	dd() {
		[[ $* != *"seek_bytes"* ]] ||
			{
				local w=${1#if=} &&
					echo "dd: error reading '$w': Input/output error" >&2 &&
					return 1
			} &&
			command dd "$@"
	}
	copies sd0 sd1
	[[ $COPY_STATE == failed &&
		$COPY_WHY == \
			'no disk leg could be read to the end: sd0 at byte '*'; sd1 at byte '* ]] ||
		fail "$COPY_STATE $COPY_WHY"
}

@test "if the ramdisk can't be written, the copy fails, and says why" {
	legs 16 2
	dd() {
		[[ $* != *"seek_bytes"* ]] ||
			{
				echo "dd: error writing '/dev/rd0': Cannot allocate memory" >&2 &&
					return 1
			} &&
			command dd "$@"
	}
	copies sd0 sd1
	[[ $COPY_STATE == failed && $COPY_WHY == *'Cannot allocate memory' ]] ||
		fail "$COPY_STATE $COPY_WHY"
}

@test "a copy with a killed worker fails, since that worker's piece is missing" {
	legs 16 2
	TRIED=$BATS_TEST_TMPDIR/tried
	dd() {
		local me=$BASHPID worker
		worker=$(awk '{ print $4 }' "/proc/$me/stat")
		# The other one waits until this one has had its turn.
		[[ $* != *"/sd0 "*"seek_bytes"* ]] ||
			timeout 20 bash -c 'until [[ -e $1 ]]; do sleep 0.05; done' - "$TRIED" ||
			return
		# The worker, which waits for what dd says.
		[[ $* != *"/sd1 "*"seek_bytes"* ]] || { : >"$TRIED" && kill -KILL "$worker" "$me"; }
		command dd "$@"
	}
	copies sd0 sd1
	[[ $COPY_STATE == failed && $COPY_WHY == 'it was stopped after '* ]] ||
		fail "$COPY_STATE $COPY_WHY"
}

@test "a copy that is stopped midway leaves nothing behind, and the next one succeeds" {
	legs 16 2
	dd() {
		[[ $* != *"seek_bytes"* ]] || command sleep 30
		command dd "$@"
	}
	copy_start data md127 rd0 "$(stat -c %s "$R/dev/rd0")" '' 0 sd0 sd1
	copy_state data
	[[ $COPY_STATE == running ]]
	local begin=$SECONDS
	copy_stop data
	# The reader would have slept for 30.
	((SECONDS - begin < 20))
	copy_state data
	[[ $COPY_STATE == none && ! -e $R/run/ramraid/data.copy ]]
	unset -f dd
	copies sd0 sd1
	[[ $COPY_STATE == 'done' ]] || fail "$COPY_STATE $COPY_WHY"
	same
}

@test "a second copy onto the same ramdisk writes the zeros too" {
	legs 8 2
	copies sd0 sd1
	copy_stop data
	# Where there are zeros now, there was something before.
	head -c "$SIZE" /dev/zero >"$BATS_TEST_TMPDIR/data"
	for i in 0 1; do
		dd if=/dev/zero of="$R/dev/sd$i" bs=512 seek=$((4096 + i * 2048)) \
			count=$((SIZE / 512)) conv=notrunc status=none
	done
	copies sd0 sd1
	same
}

@test "superblocks that can't be copied are refused before anything is written, with the reason" {
	local change why
	while IFS='|' read -r change why; do
		legs 4 2
		read -ra words < <(superblock_read "$R/dev/sd1")
		eval "$change"
		superblock_sum words $((16#${words[55]}))
		printf -v 'words[54]' '%08x' $((SUPERBLOCK_SUM + ${SPOIL:-0}))
		put_leg sd1 6144
		cp "$R/dev/sd1" "$R/dev/sd0"
		copy_start data md127 rd0 "$(stat -c %s "$R/dev/rd0")" '' 0 sd0 sd1 &&
			fail "$change: not refused"
		[[ $COPY_WHY == *"$why"* ]] || fail "$change: $COPY_WHY"
		ramdisk_is_blank data
		unset MARKED CLEARED SPOIL
	done <<'EOT'
words[0]=00000000|no superblock
words[1]=00000000|no superblock
words[36]=00000000|not of version 1.2
words[18]=0000000a|not a RAID1
words[2]=00000000|no internal bitmap
words[24]=00000000|no internal bitmap
words[2]=00000005|features that are not known to be safe (0x5)
words[2]=00000101|features that are not known to be safe
words[57]=00000001|something where Linux up to 7.3 has zeros
words[63]=80000000|something where Linux up to 7.3 has zeros
MARKED=00000002|marked stale
CLEARED=7fffffff|cleared at 2147483647 events
SPOIL=1|wrong checksum
EOT
}

@test "the RAM leg gets the only empty slot, or the known one if several are empty" {
	legs 4 3
	copy_start data md127 rd0 $((8 * 1048576)) '' 0 sd0 sd2 && fail 'two empty slots'
	[[ $COPY_WHY == 'more than one slot is empty'* ]] || fail "$COPY_WHY"
	copy_start data md127 rd0 $((8 * 1048576)) 1 0 sd0 sd2 && fail 'a slot that is taken'
	copy_start data md127 rd0 $((8 * 1048576)) 0 0 sd0 sd2 || fail "$COPY_WHY"
	wait_for_copy
	[[ $(cut -d' ' -f3 "$R/run/ramraid/data.copy/plan") == 0 ]]
}

@test "if the bitmap was cleared during the copy, the RAM leg is not added" {
	legs 4 2
	copies sd0 sd1
	CLEARED=00000002
	read -ra words < <(superblock_read "$R/dev/sd0")
	put_leg sd0 4096
	read -ra words < <(superblock_read "$R/dev/sd1")
	put_leg sd1 6144
	not copy_finish data
	[[ $COPY_WHY == 'the bitmap has been cleared meanwhile (at 2 events, 1 before)' ]] ||
		fail "$COPY_WHY"
}

@test "a leg that stops answering after the copy costs one time limit, and its reader can't write to the RAM leg" {
	local began
	legs 4 2
	copies sd0 sd1
	BOUNDED=1
	# After the header of its bitmap has been read.
	dd() {
		[[ ! -e $R/silent || $* != if="$R"/dev/sd* ]] || {
			printf '%s\n' "$*" >>"$R/silent"
			sleep 12
			return 1
		}
		command dd "$@"
		[[ $* != if="$R"/dev/sd*count=4096* ]] || : >"$R/silent"
	}
	began=$SECONDS
	not copy_finish data 2>/dev/null
	((SECONDS - began < 8)) || fail "$((SECONDS - began)) s"
	[[ $COPY_WHY == 'the bitmap of sd'?' could not be read' ]] || fail "$COPY_WHY"
	# Who is left behind could write there when the disk answers.
	[[ $(<"$R/silent") == if=*/dev/sd* && $(<"$R/silent") != *rd0* &&
		-z $(head -c 8192 "$R/dev/rd0" | tr -d '\0') ]]
}

@test "the new leg gets the device number of its slot, or else one that no leg has" {
	local -a words
	read -ra words < <(superblock_read "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin")
	words[23]=00000003
	[[ $(superblock_clone_number words 0 1 2) == 0 ]]
	[[ $(superblock_clone_number words 0 0 1) == 3 ]]
	[[ $(superblock_clone_number words 0 0 3) == 4 ]]
	# A disk is absent, whose number nobody knows: one that mdadm has never given.
	[[ $(superblock_clone_number words 0 1) == 383 &&
		$(superblock_clone_number words 2 2) == 383 &&
		$(superblock_clone_number words 1 383) == 382 ]]
}

@test "superblocks of mdadm, taken apart and put together again, have the same bytes" {
	local file
	local -a words
	for file in "$FIXTURES"/superblock/*.bin; do
		read -ra words < <(superblock_read "$file")
		cmp <(superblock_clone_bytes words) \
			<(dd if="$file" bs=4096 skip=1 count=1 status=none)
		superblock_sum words $((16#${words[55]}))
		((SUPERBLOCK_SUM == 16#${words[54]}))
	done
}

@test "a superblock made for any slot names that slot and the new device UUID" {
	local -a words plain
	local slot number i seed=${RAMRAID_SEED:-$RANDOM}
	echo "# seed $seed" >&3
	RANDOM=$seed
	read -ra plain < <(superblock_read "$FIXTURES/superblock/mdadm-4.2-disk-leg.bin")
	for ((i = 0; i < 40; i++)); do
		words=("${plain[@]}")
		slot=$((RANDOM % 16#${plain[23]})) number=$((RANDOM % 300))
		superblock_clone_leg words "$slot" "$number" 00112233-4455-6677-8899-aabbccddeeff \
			$((1 << (20 + RANDOM % 30)))
		local facts
		facts=$(superblock_parse "${words[@]}")
		[[ $facts == sb=ok$'\n'* && $facts == *$'\n'"role=$slot"$'\n'* &&
			$facts == *device_uuid=00112233-4455-6677-8899-aabbccddeeff* ]] ||
			fail "slot $slot number $number: $facts"
		# Until md has taken it, whoever assembles the array must rebuild it.
		[[ $facts == *$'\n'recovery=0$'\n'* ]] || fail "slot $slot: $facts"
		copy_is_ours_ words plain "$slot"
		not copy_is_ours_ words plain "$((slot + 1))"
		words[0]=00000000
		not copy_is_ours_ words plain "$slot"
	done
}

@test "a superblock made for a slot calls no other number active in that slot" {
	local -a words
	local i roles=()
	read -ra words < <(superblock_read "$FIXTURES/superblock/mdadm-4.4-disk-leg.bin")
	superblock_clone_role_ words 0 0
	superblock_clone_role_ words 1 1
	superblock_clone_role_ words 2 2
	superblock_clone_leg words 0 383 00112233-4455-6677-8899-aabbccddeeff $((1 << 20))
	for i in 0 1 2 383; do
		superblock_role words "$i" 3
		roles+=("$SUPERBLOCK_ROLE")
	done
	[[ ${roles[*]} == 'spare 1 2 0' ]] || fail "${roles[*]}"
	superblock_sum words $((16#${words[55]}))
	((SUPERBLOCK_SUM == 16#${words[54]}))
}

@test "no copy begins, and none is put back, while another member has the last slot" {
	local md=$R/sys/block/md127/md
	legs 8 2
	echo 3 >"$md/raid_disks"
	rm -r "$md/dev-sd2"
	echo 1 >"$md/dev-sd0/slot"
	echo 2 >"$md/dev-sd1/slot"
	mkdir "$md/dev-sdx"
	echo spare >"$md/dev-sdx/state" # it is being rebuilt
	echo 0 >"$md/dev-sdx/slot"
	not copies sd0 sd1
	[[ $COPY_WHY == 'another member has taken the slot of the RAM leg' ]] || fail "$COPY_WHY"
	mv "$md/dev-sdx" "$R/sdx"
	copies sd0 sd1
	mv "$R/sdx" "$md/dev-sdx"
	not copy_finish data
	[[ $COPY_WHY == 'another member has taken the slot of the RAM leg' ]] || fail "$COPY_WHY"
	rm -r "$md/dev-sdx"
	copy_finish data
}

@test "COPY_RATE: a worker waits after each piece, but not if the rate is unlimited" {
	local rate
	mkdir -p "$BATS_TEST_TMPDIR/copy"
	: >"$R/dev/sd0"
	copy_workers_take_() { ((PIECES-- > 0)) && FROM=0 TO=4096 HOW=dense; }
	copy_workers_piece_() { :; }
	copy_workers_is_member_() { :; }
	copy_workers_pace_() { called pace "$2" "$3"; }
	for rate in 0 1000; do
		echo "$rate" >"$BATS_TEST_TMPDIR/copy/rate"
		PIECES=2
		copy_workers_work_ $$ "$BATS_TEST_TMPDIR/copy" 0 3 sd0 0 md127 rd0 0 || :
	done
	[[ $(calls) == $'pace 12288 1000\npace 12288 1000' ]] || fail "$(calls)"
}

@test "a device that gets the node of the RAM leg's device between two pieces is not written to" {
	local folder=$R/run/ramraid/data.copy
	legs 32 1
	mkdir -p "$folder" "$R/sys/class/block/nvme0n1"
	head -c "$SIZE" /dev/zero >"$R/dev/nvme0n1"
	echo 5 >"$R/sys/class/block/nvme0n1/diskseq"
	echo "device nvme0n1 $SIZE 5 used" >"$R/run/ramraid/data.ram"
	echo "0 $SIZE dense" >"$folder/rest"
	echo 1000000 >"$folder/rate"
	ionice() { shift 2 && "$@"; }
	sleep() {
		[[ ! -e $R/other ]] || return 0
		mv "$R/dev/nvme0n1" "$R/first"
		head -c "$SIZE" /dev/zero | tee "$R/other" >"$R/dev/nvme0n1"
		echo 6 >"$R/sys/class/block/nvme0n1/diskseq"
	}
	copy_workers_work_ $$ "$folder" 0 1 sd0 2097152 md127 nvme0n1 0
	cmp "$R/other" "$R/dev/nvme0n1"
	not cmp -s "$R/other" "$R/first" # the first piece was written
	[[ $(<"$folder/failed") == 'nvme0n1 is no longer noted as the RAM leg, or is another device now' ]] ||
		fail "$(<"$folder/failed")"
}

@test "COPY_RATE: a worker waits for as long as it was too fast" {
	sleep() { echo "$1" >"$BATS_TEST_TMPDIR/slept"; }
	fake_clock
	echo '1000.08 2000.00' >"$PROC/uptime"
	copy_workers_pace_ 99990 300000 1000000
	[[ $(<"$BATS_TEST_TMPDIR/slept") == 0.12 ]]
	copy_workers_pace_ 99990 3000000 1000000
	[[ $(<"$BATS_TEST_TMPDIR/slept") == 2.82 ]]
	rm "$BATS_TEST_TMPDIR/slept"
	copy_workers_pace_ 99500 300000 1000000
	copy_workers_pace_ 99978 300000 1000000
	[[ ! -e $BATS_TEST_TMPDIR/slept ]]
}

@test "the copy is used on the tested kernels, or with REBUILD=copy" {
	local release
	for release in '6.12.57+deb13-amd64 auto' '6.1.0-41-amd64 auto' \
		'7.3.4+deb13-amd64 auto' '6.13-rc1 copy'; do
		kernels_why_no_copy $release
		[[ -z $COPY_WHY_NOT ]] || fail "$release: $COPY_WHY_NOT"
	done
	for release in '6.13-rc1 auto' '6.10.3 auto' '6.120.1 auto'; do
		kernels_why_no_copy $release
		[[ $COPY_WHY_NOT == \
			*"tested on Linux 6.1, 6.12, 7.2 and 7.3, and this is ${release% *};"* ]] ||
			fail "$release: $COPY_WHY_NOT"
	done
	kernels_why_no_copy '' auto
	[[ -n $COPY_WHY_NOT ]]
}

@test "kernels whose arrays a copy may hang are recognised, and Debian's also by what they say of themselves" {
	local release KERNEL_FLAW_COPY
	for release in 5.10.250 6.1.102-1 6.1.90-amd64 6.6.43 6.7.12 6.8.12-9-pve 6.9.7+bpo-amd64 \
		6.10-rc2 6.10.2; do
		kernels_flaw_copy "$release"
		[[ $KERNEL_FLAW_COPY == *"$release"*CVE-2024-43855* ]] || fail "$release"
	done
	for release in 6.1.103 6.1.187-1 6.6.44 6.10.3-1-amd64 6.11.0 6.12.57+deb13-amd64 7.3.4 \
		6.1.0-22-amd64 6.8.0-45-generic '' nonsense; do
		kernels_flaw_copy "$release"
		[[ -z $KERNEL_FLAW_COPY ]] || fail "$release: $KERNEL_FLAW_COPY"
	done
	mkdir -p "$PROC/sys/kernel"
	echo 6.1.0-22-amd64 >"$PROC/sys/kernel/osrelease"
	echo '#1 SMP PREEMPT_DYNAMIC Debian 6.1.94-1 (2024-06-21)' >"$PROC/sys/kernel/version"
	kernels_flaw_copy 6.1.0-22-amd64
	[[ $KERNEL_FLAW_COPY == *6.1.0-22-amd64*CVE-2024-43855* ]]
	kernels_flaw_copy 6.1.0-21-amd64
	[[ -z $KERNEL_FLAW_COPY ]]
	echo '#1 SMP PREEMPT_DYNAMIC Debian 6.1.106-3 (2024-08-26)' >"$PROC/sys/kernel/version"
	kernels_flaw_copy 6.1.0-22-amd64
	[[ -z $KERNEL_FLAW_COPY ]]
}

@test "on a kernel whose array a copy may hang, REBUILD=auto does not copy, whatever the self-test says" {
	need observe/before-look
	local -A CONF=([REBUILD]=auto [ACCEPT_KERNEL_FLAW]=no)
	selftest_record_word() { SELFTEST_WORD=passed; }
	mkdir -p "$PROC/sys/kernel"
	echo 6.1.90-amd64 >"$PROC/sys/kernel/osrelease"
	before_look_kernel_
	[[ ${F[copy.why_not]} == *CVE-2024-43855* && -z ${F[kernel.selftest]}${F[kernel.flaw]} ]] ||
		fail "${F[copy.why_not]}"
	CONF[REBUILD]=copy
	before_look_kernel_
	[[ -z ${F[copy.why_not]} && ${F[kernel.selftest]} == passed ]]
	CONF=([REBUILD]=auto [ACCEPT_KERNEL_FLAW]=yes)
	before_look_kernel_
	[[ -z ${F[copy.why_not]} && ${F[kernel.selftest]} == passed ]]
	selftest_record_word() { SELFTEST_WORD=failed; }
	CONF[ACCEPT_KERNEL_FLAW]=no
	before_look_kernel_
	[[ ${F[kernel.selftest]} == failed ]]
}

@test "nobody but root can open what keeps copies apart, and no stranger's processes are ended" {
	local stranger
	mkdir -p "$R/run/ramraid/data.copy"
	set -m
	sleep 60 3>&- &
	stranger=$!
	set +m
	# What has been forked, and is not yet what it will be, may miss a signal.
	until [[ $(<"/proc/$stranger/comm") == sleep ]]; do command sleep 0.01; done
	echo "$stranger" >"$R/run/ramraid/data.copy/pid"
	echo 1 >"$R/run/ramraid/data.copy/began"
	copy_signal_ "$R/run/ramraid/data.copy"
	kill -0 "$stranger"
	bounded_process_began "$stranger"
	echo "$BEGAN" >"$R/run/ramraid/data.copy/began"
	copy_signal_ "$R/run/ramraid/data.copy"
	not wait "$stranger"
	paths_run
	copy_workers_turn_ "$R/run/ramraid/data.copy"
	copy_stop data
	[[ $(stat -c %a "$R/run/ramraid/.locks") == 700 && -e $R/run/ramraid/.locks/copy.data &&
		-e $R/run/ramraid/.locks/turn.data ]]
}

# member NODE STATE SLOT, slots N: as sysfs shows them
member() {
	mkdir -p "$R/sys/block/md127/md/dev-$1"
	echo "$2" >"$R/sys/block/md127/md/dev-$1/state"
	echo "$3" >"$R/sys/block/md127/md/dev-$1/slot"
}
slots() { echo "$1" >"$R/sys/block/md127/md/raid_disks"; }

@test "a slot is free without a member or with a faulty one; a replacement takes none" {
	local FREE
	slots 4
	member sd0 in_sync,write_mostly 1
	member sd1 write_mostly 2
	member sd2 faulty 3
	member sd3 spare none
	member sd4 spare,replacement 1
	md_state_slots_free md127
	((FREE == 2)) || fail "$FREE"
	slots '3 (4)'
	md_state_slots_free md127
	((FREE == 1)) || fail "$FREE"
}

@test "md_readd refuses if every slot is filled, even by a member that is being rebuilt" {
	act() { called "$@"; }
	slots 3
	member sd0 in_sync,write_mostly 1
	member sd1 in_sync,write_mostly 2
	member sd2 spare 0
	md_readd md127 rd0 2>"$BATS_TEST_TMPDIR/log" && fail "it was taken"
	grep -q 'every slot is taken' "$BATS_TEST_TMPDIR/log"
	[[ -z $(calls) ]] || fail "$(calls)"
}

@test "md_readd takes a leg out again if another member takes its slot a moment later" {
	slots 3
	member sd0 in_sync,write_mostly 1
	member sd1 in_sync,write_mostly 2
	rm -r "$R/sys/block/md127/md/dev-sd2"
	act() {
		called "$@"
		[[ $* != *--re-add* ]] || { member rd0 spare none && member other spare 0; }
	}
	echo recover >"$R/sys/block/md127/md/sync_action"
	md_readd md127 rd0 2>"$BATS_TEST_TMPDIR/log" && fail "it was taken"
	grep -q 'has taken the slot of rd0' "$BATS_TEST_TMPDIR/log"
	[[ $(calls) == *$'\n''mdadm --manage /dev/md127 --remove /dev/rd0' ]] || fail "$(calls)"
	# It is the leg itself that gets the slot, between two reads.
	rm -r "$R/sys/block/md127/md/dev-"{rd0,other}
	act() { called "$@" && member rd0 spare none; }
	eval "read_$(declare -f md_state_read)"
	md_state_read() {
		read_md_state_read "$@"
		[[ $2 != dev-rd0/slot ]] || member rd0 spare 0
	}
	echo idle >"$R/sys/block/md127/md/sync_action"
	md_readd md127 rd0
	unset -f md_state_read
	eval "$(declare -f read_md_state_read | sed 1s/read_//)"
	# It waits for its slot while md checks the legs.
	rm -r "$R/sys/block/md127/md/dev-rd0"
	echo check >"$R/sys/block/md127/md/sync_action"
	md_readd md127 rd0
	[[ $(calls) != *remove*remove* ]] || fail "$(calls)"
}
