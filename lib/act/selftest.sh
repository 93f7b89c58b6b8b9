# The self-test: does the copy to the RAM leg do what it must, with this kernel's md? It runs on a
# small mirror of its own (act/selftest-place.sh), with the same functions that a start calls, while
# a writer writes to the array (act/selftest-writer.sh).
# shellcheck shell=bash

need act/ram-leg act/selftest-place act/selftest-writer config/conf core/act core/clock core/log
need core/paths core/text notes/copy-state notes/selftest-record observe/facts world/md
need world/md-check world/md-state world/ramdisk world/ramdisk-brd world/ramdisk-zram
need world/superblock

declare -gA F # the facts: decide/facts.list

readonly SELFTEST_PATIENCE=300 # seconds for one step, on a machine that has other things to do
readonly SELFTEST_RATE=8M      # how fast the copy is in those rounds in which the array is in use

# selftest_run ROUNDS: sets SELFTEST_RESULT to passed, to failed, or to nothing when the test could
# not be done; in the last two cases SELFTEST_WHY says why. Called after selftest_place_make.
# Returns 0 when the test has passed.
selftest_run() {
	SELFTEST_RESULT='' SELFTEST_WHY='' SELFTEST_ROUND=0 SELFTEST_WRITES=0
	selftest_begin_ || return
	while ((SELFTEST_ROUND < $1)); do
		log_info "self-test: round $((SELFTEST_ROUND += 1)) of $1"
		selftest_round_ || return
	done
	log_info "self-test: a superblock that is too old"
	selftest_old_ || return
	SELFTEST_RESULT=passed
}

# selftest_fault_ TEXT: the copy or md is to blame. selftest_hindered_ TEXT: something else is, so
# the test shows nothing.
selftest_fault_() { # TEXT
	SELFTEST_RESULT=failed SELFTEST_WHY="round $SELFTEST_ROUND: $1"
	return 1
}
selftest_hindered_() { # TEXT
	SELFTEST_RESULT='' SELFTEST_WHY=$1
	return 1
}

# selftest_blame_ TEXT: blames the copy or md, if nothing else has failed. If a leg could not be
# written, as when the folder is full, what that leg lacks says nothing about them.
selftest_blame_() {
	local why
	why=$(selftest_disturbed_)
	if [[ -z $why ]]; then selftest_fault_ "$1"; else selftest_hindered_ "$1; but $why"; fi
}

# Prints what has happened to the test's array that neither the copy nor md is to blame for.
selftest_disturbed_() {
	local line LEGS md=${F[array.md]}
	facts_observe
	[[ -d $SYS/block/$md/md ]] || {
		echo 'its array is gone'
		return
	}
	[[ -n ${F[ram.node]} && -e $SYS/block/${F[ram.node]} ]] || {
		echo 'its ramdisk is gone'
		return
	}
	md_state_members "$md"
	for line in "${LEGS[@]}"; do
		if [[ $line == *' faulty '* ]]; then
			printf '%s of its array has failed\n' "${line%% *}"
		elif md_has_bad_blocks "$md" "${line%% *}"; then
			printf 'md has bad blocks of %s in its list\n' "${line%% *}"
		else
			continue
		fi
		return
	done
}

# Makes the array, and sets what the functions of a start use.
selftest_begin_() {
	local SELFTEST_UUID block=512 kind
	kind=$(selftest_kind_)
	[[ $kind != zram ]] || block=$RAMDISK_ZRAM_BLOCK
	selftest_place_hurry selftest_place_array "$block" || {
		selftest_hindered_ 'its array could not be made'
		return
	}
	selftest_record_uuid
	CONF[UUID]=$SELFTEST_UUID CONF[RAM]=$kind CONF[REBUILD]=copy CONF[LAYOUT]=mirror \
		CONF[ROOT]=no CONF[WAIT]=yes CONF[WRITE_BEHIND]=0 CONF[RAM_LIMIT]=auto \
		CONF[MEMORY_FLOOR]=0 CONF[COPY_RATE]=$SELFTEST_RATE
	facts_of_conf "$SELFTEST_NAME"
	facts_observe
	[[ ${F[array.state]} == active ]] || {
		selftest_hindered_ 'its array does not run'
		return
	}
	[[ ${F[array.readauto]} != yes ]] || md_make_writable "${F[array.md]}" || :
	md_speed "${F[array.md]}" fast || :
	md_set_bitmap_pace "${F[array.md]}" 1 || :
	{
		clock_until "$SELFTEST_PATIENCE" 0.2 selftest_is_equal_ &&
			SELFTEST_BYTES=$(md_bytes "${F[array.md]}") &&
			selftest_writer_begin "${F[array.md]}" "$SELFTEST_BYTES"
	} || {
		selftest_hindered_ 'its array could not be filled'
		return
	}
	selftest_first_
}

# md fills the first RAM leg: until there is one, every bit is set, and after a copy md would copy
# all of it once more.
selftest_first_() {
	selftest_make_ || return
	{ ram_leg_add && clock_until "$SELFTEST_PATIENCE" 0.2 selftest_is_whole_; } ||
		selftest_hindered_ "md has not filled its first RAM leg: $LOOP_ERROR"
}

selftest_make_() {
	LOOP_ERROR=''
	{
		selftest_place_expect "$(md_state_leg_bytes "${F[array.md]}")" &&
			selftest_place_hurry ram_leg_make
	} || {
		selftest_hindered_ "there is no ramdisk: ${LOOP_ERROR:-no room in $RUN}"
		return
	}
	facts_observe
}

# Has md cleared all bits? Then it copies again only what is written from now on.
selftest_is_clean_() {
	local bits
	bits=$(superblock_dirty_bits "$DEV/${MEMBERS[0]##*/}") && [[ -z $bits ]]
}
selftest_is_equal_() {
	facts_observe
	[[ ${F[array.sync]} == idle && ${F[array.pending]} != yes &&
		${F[leg.0.state]}${F[leg.1.state]} == in_syncin_sync ]]
}
selftest_is_whole_() {
	selftest_is_equal_ && [[ ${F[ram.state]} == in_sync ]]
}

# Prints which kind of ramdisk RAM=auto means on this kernel. For zram it does not matter here how
# large the blocks of the disks are, since the test chooses that.
selftest_kind_() {
	if ramdisk_has_rapiddisk; then
		echo rapiddisk
	elif ramdisk_brd_can_be_had; then
		echo brd
	else
		echo zram
	fi
}

# One round: takes the RAM leg out and fills a new one, while the writer writes; then compares the
# legs.
selftest_round_() {
	local code=0
	clock_until "$SELFTEST_PATIENCE" 0.5 selftest_is_clean_ || {
		selftest_hindered_ 'md does not clear the bits of its bitmap'
		return
	}
	selftest_writer_start "${F[array.md]}" "$SELFTEST_BYTES" $((SELFTEST_ROUND % 2))
	selftest_take_out_ && selftest_fill_ || code=$?
	selftest_writer_stop "${F[array.md]}" || {
		selftest_hindered_ "$SELFTEST_WHY"
		return
	}
	((code == 0)) || return "$code"
	selftest_compare_
}

selftest_take_out_() {
	facts_observe
	{
		md_drop "${F[array.md]}" "${F[ram.node]}" &&
			selftest_place_hurry ramdisk_drop "$SELFTEST_NAME"
	} || selftest_hindered_ 'its RAM leg could not be taken out'
}

# Fills the RAM leg as a start does: in every third round as fast as the disks can, in the others as
# while the array is in use. In another third of the rounds, a disk leg leaves meanwhile and comes
# back.
selftest_fill_() {
	local COPY_STATE COPY_WHY COPY_SECONDS DONE TOTAL RATE folder=$RUN/$SELFTEST_NAME.copy
	LOOP_GATE=open
	((SELFTEST_ROUND % 3 > 0)) || LOOP_GATE=hold
	selftest_make_ && selftest_spoil_ || return
	ram_leg_copy
	if [[ -v F["failed.copy-ram"] && -d $folder ]]; then
		# This says nothing about the superblocks: they are checked before there is a
		# folder.
		selftest_hindered_ "the copy could not be begun: ${F["failed.copy-ram"]}"
		return
	elif [[ -v F["failed.copy-ram"] ]]; then
		selftest_blame_ "the copy did not begin: ${F["failed.copy-ram"]}"
		return
	fi
	((SELFTEST_ROUND % 3 != 1)) || selftest_leave_ || return
	clock_until "$SELFTEST_PATIENCE" 0.2 selftest_has_copied_ || {
		selftest_hindered_ "the copy has not ended within $SELFTEST_PATIENCE s"
		return
	}
	# A leg could not be read, the ramdisk could not be written, or a worker was ended: a start
	# then has md rebuild the RAM leg.
	[[ $COPY_STATE == 'done' ]] || {
		selftest_hindered_ "the copy has failed: $COPY_WHY"
		return
	}
	# Only the bitmap knows of what is written now.
	{
		selftest_writer_await 4 "$SELFTEST_PATIENCE" &&
			cp -- "$folder/superblock" "$SELFTEST_FOLDER/old"
	} || {
		selftest_hindered_ 'nothing could be written meanwhile'
		return
	}
	ram_leg_readd || {
		selftest_blame_ "$LOOP_ERROR"
		return
	}
	selftest_await_whole_
}
# Overwrites the new ramdisk with bytes that the array does not have, unless it is blank. brd keeps
# what is on it while another array uses brd, so this ramdisk has what the last RAM leg had, and a
# copy that leaves a part out would seem to be right.
selftest_spoil_() {
	local bytes
	! ramdisk_is_blank "$SELFTEST_NAME" || return 0
	{
		bytes=$(md_state_leg_bytes "${F[array.md]}") &&
			head -c $((bytes / 4096 * 4096)) /dev/zero | tr '\0' '\245' |
			dd of="$DEV/${F[ram.node]}" ibs=1M obs=4096 iflag=fullblock \
				oflag="${COPY_DIRECT-direct,}seek_bytes" \
				conv=notrunc,nocreat,fsync status=none
	} || selftest_hindered_ 'its ramdisk could not be overwritten'
}

selftest_has_copied_() {
	copy_state "$SELFTEST_NAME"
	[[ $COPY_STATE != running ]]
}

selftest_await_whole_() {
	clock_until "$SELFTEST_PATIENCE" 0.2 selftest_is_whole_ && return
	if [[ ${F[leg.0.state]}${F[leg.1.state]} != in_syncin_sync ]]; then
		selftest_hindered_ 'a disk leg of its array has failed'
	elif [[ ${F[array.sync]} != idle ]]; then
		selftest_hindered_ "md has not filled the RAM leg within $SELFTEST_PATIENCE s"
	else
		selftest_blame_ "the RAM leg is ${F[ram.state]} after $SELFTEST_PATIENCE s"
	fi
}

# Takes the second disk leg out when a part of it has been copied, and puts it back.
selftest_leave_() {
	local leg=${MEMBERS[1]##*/}
	clock_until "$SELFTEST_PATIENCE" 0.1 selftest_copies_ || :
	{ md_drop "${F[array.md]}" "$leg" && selftest_writer_await 2 "$SELFTEST_PATIENCE"; } || {
		selftest_hindered_ 'a disk leg of its array could not be taken out'
		return
	}
	md_readd "${F[array.md]}" "$leg" || {
		selftest_blame_ "md did not take a disk leg back by its bitmap"
		return
	}
	clock_until "$SELFTEST_PATIENCE" 0.2 selftest_is_equal_ && return
	if [[ ${F[array.sync]} != idle ]]; then
		selftest_hindered_ "md has not filled a disk leg within $SELFTEST_PATIENCE s"
	else
		selftest_blame_ "a disk leg was not in sync again after $SELFTEST_PATIENCE s"
	fi
}
selftest_copies_() {
	copy_state "$SELFTEST_NAME"
	[[ $COPY_STATE != running ]] || ((DONE > 0))
}

# Compares the legs: by md's check, and each of them, block by block, with the model.
selftest_compare_() {
	local MISMATCHES=0 NUMBER leg
	text_number_in "$SELFTEST_FOLDER/writes" 0
	SELFTEST_WRITES=$((SELFTEST_WRITES + NUMBER))
	facts_observe
	md_check "${F[array.md]}" 0 $((SELFTEST_BYTES / 512)) || {
		selftest_hindered_ 'md did not compare the legs'
		return
	}
	((MISMATCHES == 0)) || {
		selftest_blame_ "md has found $MISMATCHES sectors that differ between the legs"
		return
	}
	for leg in "${F[ram.node]}" "${MEMBERS[@]##*/}"; do
		selftest_has_all_ "$leg" || return
	done
}
selftest_has_all_() { # LEG
	local VALUE SELFTEST_BLOCK code=0
	md_state_read "${F[array.md]}" "dev-$1/offset"
	selftest_writer_compare "$1" $((VALUE * 512)) "$SELFTEST_BYTES" || code=$?
	case $code in
	0) ;;
	1) selftest_blame_ "block $SELFTEST_BLOCK (of 4 KiB) of $1 is not what was written to the \
array" ;;
	*) selftest_hindered_ "$1 could not be read" ;;
	esac
}

# The superblock that the copy has made is from the time before the copy began. Since then the array
# was whole, and was written to, so md has cleared bits, and must refuse a leg with that superblock.
selftest_old_() {
	local md=${F[array.md]} ram=${F[ram.node]} bytes=$SELFTEST_FOLDER/old
	{
		selftest_writer_copy "$md" 0 1 && md_drop "$md" "$ram" &&
			selftest_writer_copy "$md" 1 1 &&
			dd if="$bytes" of="$DEV/$ram" bs=4096 seek=4096 iflag=fullblock \
				oflag="${COPY_DIRECT-direct,}seek_bytes" conv=notrunc,nocreat \
				status=none
	} || {
		selftest_hindered_ 'its RAM leg could not be set back to an older state'
		return
	}
	! md_readd "$md" "$ram" ||
		selftest_fault_ "md has taken a RAM leg back whose superblock \
is older than what the bitmap remembers"
}
