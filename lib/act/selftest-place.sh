# The place of the self-test: a folder with the files of two loop devices, an array on these that
# nothing else takes up, and a ramdisk. All of it can be told from what belongs to others, so the
# next test finds what an earlier one has left, however that ended, and takes it away:
#   uuid      the array's UUID, made for this test and written down before there is an array
#   A B       the files of its two disk legs
#   model     what the array should have
#   pool      what the writer takes its data from
#   ramdisk   before one is made: how large it will be, and which there are (selftest_place_expect)
# $LOCKS/selftest.alive is held by the test and by all that it has started: free means that none of
# them is left.
# shellcheck shell=bash

need act/copy config/conf core/act core/clock core/log core/paths core/quantity core/text
need notes/claim notes/selftest-record world/disk world/loop-device world/md world/md-state
need world/ramdisk world/ramdisk-brd world/superblock

# bytes of a disk leg, and some pages that differ from test to test, so that it is no size that
# anybody would choose; what the folder has to have room for; seconds for what an ended test has
# started to end
readonly SELFTEST_LEG=$((32 << 20)) SELFTEST_FILES=$((128 << 20)) SELFTEST_END=60

# selftest_place_hurry COMMAND…: at the priority of everybody else, and no more at idle priority,
# as the unit runs: a start may wait for the lock that is held meanwhile (world/ramdisk.sh, or that
# of mdadm's map), and on a busy machine the idle wait long.
selftest_place_hurry() {
	local code=0 idle=''
	[[ $(chrt --pid "$$" 2>/dev/null) != *SCHED_IDLE* ]] || idle=yes
	[[ -z $idle ]] || selftest_place_pace_ --other 2
	"$@" || code=$?
	[[ -z $idle ]] || selftest_place_pace_ --idle 3
	return "$code"
}
selftest_place_pace_() { # POLICY IO-CLASS
	{ chrt "$1" --pid 0 "$$" && ionice --class "$2" --pid "$$"; } >/dev/null 2>&1 ||
		log_notice "ramraid: the priority of the self-test can't be changed"
}

# selftest_place_make RESERVE: makes the folder, in memory if there is room, and sets
# SELFTEST_FOLDER. RESERVE is the memory that has to stay free, as RAM_RESERVE. Returns 1, or 75
# where memory is short, having said why.
selftest_place_make() {
	local why need=$SELFTEST_LEG
	SELFTEST_FOLDER=${SELFTEST_FOLDERS[0]}
	why=$(ramdisk_why_not $((need + SELFTEST_FILES)) "$1") || why=$TEXT_UNKNOWN
	if [[ -n $why ]] || (($(selftest_place_room_ "$RUN") < SELFTEST_FILES)); then
		why=$(ramdisk_why_not "$need" "$1") || why=$TEXT_UNKNOWN
		[[ -z $why ]] || {
			log_error "ramraid: $why"
			return "$EX_TRY_AGAIN"
		}
		SELFTEST_FOLDER=${SELFTEST_FOLDERS[1]}
		act_put_folder "$STATE" || return 1
		(($(selftest_place_room_ "$STATE") >= SELFTEST_FILES)) || {
			log_error "ramraid: the self-test needs \
$(quantity_show_bytes "$SELFTEST_FILES") for its files, and neither $RUN nor $STATE has that"
			return 1
		}
	fi
	mkdir -m 700 -- "$SELFTEST_FOLDER" && act_put "$SELFTEST_FOLDER/uuid" \
		"$(<"$PROC/sys/kernel/random/uuid")"
}

# Bytes that are free there.
selftest_place_room_() { # FOLDER
	local blocks size
	read -r blocks size < <(stat --file-system --format='%a %S' -- "$1")
	printf '%s\n' $((blocks * size))
}

# selftest_place_array BLOCK: the two loop devices, with blocks of so many bytes, and the array on
# them, without a RAM leg. Sets MEMBERS to the devices. Returns 1 when it could not be made.
selftest_place_array() {
	local file LOOP_NODE MD_HOMEHOST=selftest SELFTEST_UUID \
		bytes=$((SELFTEST_LEG + (1 + RANDOM % 255) * 4096))
	MEMBERS=()
	selftest_record_uuid
	[[ -n $SELFTEST_UUID ]] || return 1
	for file in A B; do
		truncate --size="$bytes" -- "$SELFTEST_FOLDER/$file" || return 1
		loop_device_make "$SELFTEST_FOLDER/$file" "$1" || return 1
		MEMBERS+=("/dev/$LOOP_NODE")
	done
	# Before there is a superblock that mdadm could find.
	claim_text "$SELFTEST_UUID" | act_file "$(claim_file "$SELFTEST_NAME")" || return 1
	md_create "$SELFTEST_MD" "$SELFTEST_UUID" mirror "$(md_bitmap_chunk "${MEMBERS[@]}")" \
		"${MEMBERS[@]}"
}

# selftest_place_expect BYTES: a ramdisk of so many is about to be made. rapiddisk has made it
# before it can be noted whose it is; the number of bytes is this test's alone.
selftest_place_expect() {
	local node all=()
	for node in "$SYS"/block/rd*; do
		[[ ! -e $node ]] || all+=("${node##*/}:$(cat "$node/diskseq" 2>/dev/null)")
	done
	[[ ! -e $RUN/brd && ! -d $SYS/module/brd ]] || all+=(brd)
	act_put "$SELFTEST_FOLDER/ramdisk" "$1 ${all[*]}"
}

# selftest_place_clean: takes away what a test has made, this one's or that of one that was killed.
# Returns 1 when something stays, which has been said. With the lock of SELFTEST_NAME held.
selftest_place_clean() {
	local COPY_WHY='' folder code=0
	[[ -z ${SELFTEST_ALIVE-} ]] || exec {SELFTEST_ALIVE}>&-
	SELFTEST_ALIVE=''
	copy_stop "$SELFTEST_NAME" || log_warning "ramraid: self-test: $COPY_WHY"
	[[ ! -e $LOCKS/selftest.alive ]] ||
		flock --timeout "$SELFTEST_END" "$LOCKS/selftest.alive" true || {
		log_error "ramraid: a program of an earlier self-test does not end; see: \
fuser $LOCKS/selftest.alive"
		return 1
	}
	for folder in "${SELFTEST_FOLDERS[@]}"; do
		[[ ! -d $folder || -L $folder ]] || selftest_place_clear_ "$folder" || code=1
	done
	((code == 0)) || return 1
	# Of one that the power was cut under, there may be nothing else.
	ramdisk_drop "$SELFTEST_NAME" || {
		log_error 'ramraid: the ramdisk of the self-test is still in use'
		return 1
	}
	[[ ! -e $(claim_file "$SELFTEST_NAME") ]] || act rm -f -- "$(claim_file "$SELFTEST_NAME")"
	rm -rf -- "$RUN/.$SELFTEST_NAME".* "$RUN/$SELFTEST_NAME".* "$LOCKS/selftest.alive"
}

# In this order: the array, what it is made of, the folder that tells whose they are.
selftest_place_clear_() { # FOLDER
	local node LOOP_NODES
	loop_device_of "$1"
	for node in "${LOOP_NODES[@]}"; do selftest_place_stop_ "$node" "$1" || return; done
	selftest_place_stop_empty_ "$1" || return
	{ ramdisk_drop "$SELFTEST_NAME" && selftest_place_strays_ "$1"; } || {
		log_error 'ramraid: the ramdisk of the self-test is still in use'
		return 1
	}
	for node in "${LOOP_NODES[@]}"; do
		loop_device_drop "$node" "$1" || {
			log_error "ramraid: /dev/$node of the self-test is still in use"
			return 1
		}
	done
	rm -rf -- "$1"
}

# selftest_place_stop_ NODE FOLDER: stops the array that the loop device is in, if that is the
# test's: its superblock says so.
selftest_place_stop_() {
	local md uuid='' key value
	md=$(md_of_leg "$1") || return 0
	while IFS='=' read -r key value; do
		[[ $key != uuid ]] || uuid=$value
	done < <(superblock_facts "$DEV/$1")
	if [[ -z $uuid || $uuid != "$(cat "$2/uuid" 2>/dev/null)" ]]; then
		log_error "ramraid: $md has /dev/$1 of the self-test, and is another array: \
it is left alone"
		return 1
	fi
	clock_until "$MD_BOUND" 0.3 selftest_place_is_stopped_ "$md" "$1" && {
		# Else the next array of that name would have its check ended (md_check_left).
		rm -f -- "$LOCKS/check.$md"
		return
	}
	log_error "ramraid: the array of the self-test, $md, could not be stopped; see: \
fuser -v /dev/$md"
	return 1
}
selftest_place_is_stopped_() { # MD NODE
	[[ -e $SYS/class/block/$2/holders/$1 ]] || return 0
	md_stop "$1" || :
	[[ ! -e $SYS/class/block/$2/holders/$1 ]]
}

# selftest_place_stop_empty_ FOLDER: stops an array of the test's that has no member: mdadm was
# killed after it had set the array up, and before it had added the first device. mdadm's map has
# had the array's UUID and name since before that (Create() in mdadm's Create.c), the UUID as words
# of this machine's byte order (map_write() in its mapfile.c).
selftest_place_stop_empty_() {
	local md uuid path mine swapped=''
	mine=$(cat "$1/uuid" 2>/dev/null) mine=${mine//-/}
	[[ $mine =~ ^(..)(..)(..)(..)(..)(..)(..)(..)(..)(..)(..)(..)(..)(..)(..)(..)$ ]] || return 0
	set -- "${BASH_REMATCH[@]:1}"
	while (($# > 0)); do
		swapped+=$4$3$2$1
		shift 4
	done
	[[ -r $ROOT/run/mdadm/map ]] || return 0
	while read -r md _ uuid path; do
		[[ ${uuid//:/} == @("$mine"|"$swapped") && $path == "/dev/md/$SELFTEST_MD" ]] ||
			continue
		clock_until "$MD_BOUND" 0.3 selftest_place_is_gone_ "$md" || {
			log_error "ramraid: the empty array of the self-test, $md, could not be \
stopped; see: fuser -v /dev/$md"
			return 1
		}
	done <"$ROOT/run/mdadm/map"
}
selftest_place_is_gone_() { # MD
	local LEGS
	[[ -d $SYS/block/$1/md ]] || return 0
	md_state_members "$1"
	((${#LEGS[@]} == 0)) || return 0
	md_stop "$1" || :
	[[ ! -d $SYS/block/$1/md ]]
}

# selftest_place_strays_ FOLDER: a ramdisk of rapiddisk that was made for the test, and not noted
# before that was killed: it was not there before, has just as many bytes as were to be made, no
# other array has it noted, and nobody uses it. And a brd that it has loaded.
selftest_place_strays_() {
	local bytes='' before='' node
	{ read -r bytes before <"$1/ramdisk"; } 2>/dev/null || return 0
	text_number_or bytes 0
	((bytes > 0)) || return 0
	bytes=$(((bytes + RAM_PAGE - 1) / RAM_PAGE * RAM_PAGE))
	for node in "$SYS"/block/rd*; do
		node=${node##*/}
		[[ -e $SYS/block/$node ]] || continue
		(($(disk_bytes "$node") == bytes)) || continue
		[[ " $before " != *" $node:$(cat "$SYS/block/$node/diskseq" 2>/dev/null) "* ]] ||
			continue
		! grep -qs "^rapiddisk $node " "$RUN"/*.ram || continue
		ramdisk_drop_node "$node" || return
	done
	[[ " $before " == *' brd '* ]] || selftest_place_brd_
}

# There was no brd before the test, and no array has noted one of its devices; which is asked with
# the lock, as a start may be about to note one. A test that was killed while it loaded brd has not
# noted that; then its size says whose it is.
selftest_place_brd_() {
	[[ -e $RUN/brd || -d $SYS/module/brd ]] || return 0
	ramdisk_lock || return
	if grep -qs '^brd ' "$RUN"/*.ram; then
		:
	elif [[ -e $RUN/brd ]]; then
		ramdisk_brd_drop '' "$SELFTEST_NAME" || :
	elif ramdisk_brd_is_as_made; then
		act rmmod brd || :
	fi
	ramdisk_unlock
}
