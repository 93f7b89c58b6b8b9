# Where the self-test works: a folder with the files of two loop devices, an array on these that
# nothing else starts, and a ramdisk. Each can be told from what belongs to others, so the next test
# finds what an earlier one has left, however that ended, and removes it:
#   uuid      the array's UUID, made for this test and written down before there is an array
#   A B       the files of its two disk legs
#   model     what the array should have
#   pool      what the writer takes its data from
#   ramdisk   before one is made: how large it will be, and which there are (selftest_place_expect)
# The test and all that it has started hold the lock $LOCKS/selftest.alive: if it is free, none of
# them is left.
# shellcheck shell=bash

need act/copy config/conf core/act core/clock core/log core/paths core/quantity core/text
need notes/claim notes/selftest-record world/disk world/loop-device world/md world/md-state
need world/ramdisk world/ramdisk-brd world/superblock

# bytes of a disk leg, to which each test adds some pages, so that nobody else would choose its
# size; bytes that the folder must have room for; seconds that the programs of an ended test may
# take to end
readonly SELFTEST_LEG=$((32 << 20)) SELFTEST_FILES=$((128 << 20)) SELFTEST_END=60

# selftest_place_hurry COMMAND…: runs COMMAND at normal priority, not at the idle priority of the
# unit: a start may wait for a lock that COMMAND holds (that of world/ramdisk.sh, or of mdadm's
# map), and on a busy machine an idle process waits long. Returns as COMMAND does.
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
# SELFTEST_FOLDER. RESERVE is the memory that has to stay free, as in RAM_RESERVE=. Returns 1, or 75
# when memory is short, after saying why.
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
$(quantity_show_bytes "$SELFTEST_FILES") for its files, and neither $RUN nor $STATE has that much \
room"
			return 1
		}
	fi
	mkdir -m 700 -- "$SELFTEST_FOLDER" && act_put "$SELFTEST_FOLDER/uuid" \
		"$(<"$PROC/sys/kernel/random/uuid")"
}

# Prints how many bytes are free there.
selftest_place_room_() { # FOLDER
	local blocks size
	read -r blocks size < <(stat --file-system --format='%a %S' -- "$1")
	printf '%s\n' $((blocks * size))
}

# selftest_place_array BLOCK: makes the two loop devices, with blocks of BLOCK bytes, and the array
# on them, without a RAM leg. Sets MEMBERS to the devices. Returns 1 when it could not make them.
selftest_place_array() {
	local file LOOP_DEVICE_NODE MD_HOMEHOST=selftest SELFTEST_UUID \
		bytes=$((SELFTEST_LEG + (1 + RANDOM % 255) * 4096))
	MEMBERS=()
	selftest_record_uuid
	[[ -n $SELFTEST_UUID ]] || return 1
	for file in A B; do
		truncate --size="$bytes" -- "$SELFTEST_FOLDER/$file" || return 1
		loop_device_make "$SELFTEST_FOLDER/$file" "$1" || return 1
		MEMBERS+=("/dev/$LOOP_DEVICE_NODE")
	done
	# The claim comes before there is a superblock that mdadm could find.
	act_file "$(claim_file "$SELFTEST_NAME")" 644 claim_text "$SELFTEST_UUID" || return 1
	md_create "$SELFTEST_MD" "$SELFTEST_UUID" mirror "$(md_bitmap_chunk "${MEMBERS[@]}")" \
		"${MEMBERS[@]}"
}

# selftest_place_expect BYTES: notes that a ramdisk of BYTES is about to be made. rapiddisk makes it
# before anybody can note whose it is, but only this test uses that number of bytes.
selftest_place_expect() {
	local node all=()
	for node in "$SYS"/block/rd*; do
		[[ ! -e $node ]] || all+=("${node##*/}:$(cat "$node/diskseq" 2>/dev/null)")
	done
	[[ ! -e $RUN/brd && ! -d $SYS/module/brd ]] || all+=(brd)
	act_put "$SELFTEST_FOLDER/ramdisk" "$1 ${all[*]}"
}

# selftest_place_clean: removes what a test has made, this one or one that was killed. Returns 1
# when something stays, after saying so. The caller holds the lock of SELFTEST_NAME.
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
	# After a power cut, what follows may be all that is left of a test.
	ramdisk_drop "$SELFTEST_NAME" || {
		log_error 'ramraid: the ramdisk of the self-test is still in use'
		return 1
	}
	[[ ! -e $(claim_file "$SELFTEST_NAME") ]] || act rm -f -- "$(claim_file "$SELFTEST_NAME")"
	rm -rf -- "$RUN/.$SELFTEST_NAME".* "$RUN/$SELFTEST_NAME".* "$LOCKS/selftest.alive"
}

# Removes the array, then what it is made of, and last the folder, which tells whose they are.
selftest_place_clear_() { # FOLDER
	local node LOOP_DEVICE_NODES
	loop_device_of "$1"
	for node in "${LOOP_DEVICE_NODES[@]}"; do selftest_place_stop_ "$node" "$1" || return; done
	selftest_place_stop_empty_ "$1" || return
	{ ramdisk_drop "$SELFTEST_NAME" && selftest_place_strays_ "$1"; } || {
		log_error 'ramraid: the ramdisk of the self-test is still in use'
		return 1
	}
	for node in "${LOOP_DEVICE_NODES[@]}"; do
		loop_device_drop "$node" "$1" || {
			log_error "ramraid: /dev/$node of the self-test is still in use"
			return 1
		}
	done
	rm -rf -- "$1"
}

# selftest_place_stop_ NODE FOLDER: stops the array that the loop device is in, if the superblock
# says that this is the test's array.
selftest_place_stop_() {
	local md uuid='' key value
	md=$(md_of_leg "$1") || return 0
	while IFS='=' read -r key value; do
		[[ $key != uuid ]] || uuid=$value
	done < <(superblock_facts "$DEV/$1")
	if [[ -z $uuid || $uuid != "$(cat "$2/uuid" 2>/dev/null)" ]]; then
		log_error "ramraid: /dev/$1 of the self-test is in $md, which is another array: it \
is left alone"
		return 1
	fi
	clock_until "$MD_BOUND" 0.3 selftest_place_is_stopped_ "$md" "$1" && {
		# Otherwise md_check_left would end a check of the next array with this name.
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

# selftest_place_stop_empty_ FOLDER: stops an array of the test that has no member, because mdadm
# was killed after it had set the array up and before it had added the first device. By then mdadm's
# map has the array's UUID and name (Create() in mdadm's Create.c), the UUID as words in this
# machine's byte order (map_write() in its mapfile.c).
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

# selftest_place_strays_ FOLDER: drops a ramdisk of rapiddisk that a test made, and did not note
# before it was killed. Such a ramdisk was not there before, has exactly as many bytes as were to be
# made, is noted for no array, and is not in use. Unloads a brd that the test has loaded, too.
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

# Unloads brd, which was not there before the test, if no array has noted one of its devices. That
# is asked under the lock, because a start may be about to note one. A test that was killed while it
# loaded brd has not noted that; then the module's parameters show whose it is.
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
