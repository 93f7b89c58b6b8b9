# The copy engine: fills a blank ramdisk from all disk legs at once. Each gives other parts, without
# the zeros. Then md takes it back by bitmap. docs/dev/rebuild.md says why that is right.
# shellcheck shell=bash
#
# While the copy runs, its state is in /run/ramraid/NAME.copy/:
#   pid began   the coordinator, leader of a process group of its own; when that process began
#               (bounded_process_began)
#   plan        MD RAM-NODE SLOT SOURCE EVENTS-CLEARED
#   superblock  what the ramdisk gets as its superblock at the end (4 KiB)
#   superblock.bitmap  likewise its bitmap: SOURCE's at that time
#   size begin  bytes to copy; when it began (clock)
#   rest        what no worker has taken yet: "START END HOW" (bytes; HOW: sparse leaves zeros out,
#               dense does not)
#   done.N      bytes that worker N has copied
#   gave.N      what it has copied: "START END LEG"
#   bad.LEG     this leg could not be read, or has bad blocks now, so it is not read again; the text
#               says what happened
#   rate        bytes a second that all workers together may copy; 0: no limit
#   result      at the end: "ok", or why not
# Every process of the copy holds the lock copy.NAME in $LOCKS, where only root can take it. When
# the lock is free, none of them is left.

need act/copy-workers core/act core/bounded core/clock core/log core/paths core/text world/disk
need world/md world/md-state world/ramdisk world/ramdisk-note world/superblock
need world/superblock-clone

readonly COPY_END=20 # seconds for a copy to end; only a disk that does not answer takes longer

# copy_start NAME MD RAM-NODE BYTES SLOT RATE LEG…: begins to copy the disk legs' data to the
# ramdisk of BYTES, in the background. Call it while the array runs without a member in SLOT and no
# resync is due, so that md's bitmap remembers what is written from now on. SLOT is empty when it is
# not known. RATE is as in copy_rate. Returns 1 with COPY_WHY when it can't be done.
copy_start() {
	local name=$1 md=$2 node=$3 bytes=$4 slot=$5 rate=$6 folder=$RUN/$1.copy COPY_SOURCE='' \
		sparse=sparse COPY_OFFSETS=() COPY_NUMBERS=() COPY_SLOTS=() COPY_LEGS=() \
		COPY_SIZE=0 COPY_SLOT
	local -a COPY_WORDS=()
	shift 6
	COPY_WHY=''
	copy_stop "$name" || return 1
	# The ramdisk was free when it was made, but anything may use it by now. The workers' dd
	# would not check.
	COPY_WHY=$(disk_users "$node") || COPY_WHY=$TEXT_UNKNOWN
	[[ -z $COPY_WHY ]] || {
		COPY_WHY="$node is in use by something else (${COPY_WHY//$'\n'/, })"
		return 1
	}
	# A write that began while the RAM leg was still a member is in no bitmap, so all such
	# writes have to end first. This comes before any question about a leg: a leg may fail to
	# take such a write, and must not be read from then.
	md_drain "$md" || {
		COPY_WHY="$md could not be made idle for a moment"
		return 1
	}
	copy_survey_ "$md" "$@" || return 1
	copy_has_room_ "$md" || return 1
	copy_slot_ "$slot" || return 1
	ramdisk_is_blank "$name" || sparse=dense
	paths_run
	mkdir -p "$folder"
	act_put "$folder/plan" "$md $node $COPY_SLOT $COPY_SOURCE $SUPERBLOCK_CLONE_CLEARED"
	superblock_clone_leg COPY_WORDS "$COPY_SLOT" \
		"$(superblock_clone_number COPY_WORDS "$COPY_SLOT" "${COPY_NUMBERS[@]}")" \
		"$(<"$PROC/sys/kernel/random/uuid")" $((bytes / 512))
	{ superblock_clone_bytes COPY_WORDS >"$folder/superblock"; } 2>/dev/null || {
		COPY_WHY="$folder can't be written"
		return 1
	}
	act_put "$folder/size" "$COPY_SIZE"
	clock
	act_put "$folder/begin" "$NOW"
	act_put "$folder/rest" "0 $COPY_SIZE $sparse"
	act_put "$folder/rate" "$rate"
	ramdisk_used "$name" || {
		COPY_WHY="could not record in $RUN that $node is in use"
		return 1
	}
	copy_background_ "$folder" "$md" "$node" \
		"$((16#${COPY_WORDS[33]}${COPY_WORDS[32]} * 512))" "${COPY_LEGS[@]}"
}

# copy_survey_ MD LEG…: reads the superblocks of the legs. Call it after the array has begun to run
# without its RAM leg: from the event count in them on, the bitmap then forgets nothing. Sets
# COPY_SOURCE (the leg with the most events), COPY_WORDS (its superblock), COPY_LEGS (the legs to
# read from), their COPY_OFFSETS (bytes), COPY_NUMBERS and COPY_SLOTS (of all legs), and COPY_SIZE
# (bytes). Returns 1 with COPY_WHY.
copy_survey_() {
	local array=$1 leg events most=-1 SUPERBLOCK_ROLE
	local -a words=()
	shift
	for leg; do
		read -ra words < <(superblock_read "$DEV/$leg" 2>/dev/null) || :
		COPY_WHY=$(superblock_clone_why_not words) || COPY_WHY=$TEXT_UNKNOWN
		[[ -n $COPY_WHY ]] || superblock_checksum_ok words $((16#${words[55]})) ||
			COPY_WHY="the superblock of $leg has a wrong checksum"
		[[ -n $COPY_WHY ]] || [[ -z $COPY_SOURCE ||
			${words[*]:4:4} == "${COPY_WORDS[*]:4:4}" ]] ||
			COPY_WHY="$leg belongs to another array"
		[[ -z $COPY_WHY ]] || return 1
		COPY_NUMBERS+=($((16#${words[40]})))
		superblock_role words $((16#${words[40]})) $((16#${words[23]}))
		COPY_SLOTS+=("$SUPERBLOCK_ROLE")
		# What this leg lacks is in its list of bad blocks, and in no bitmap
		# (raid1_write_request() in linux drivers/md/raid1.c).
		if ((16#${words[2]} & SUPERBLOCK_CLONE_BAD_BLOCKS)) ||
			md_has_bad_blocks "$array" "$leg"; then
			log_notice "disk leg $leg has bad blocks in md's list; \
the RAM leg is copied from the others"
			continue
		fi
		COPY_LEGS+=("$leg") COPY_OFFSETS+=($((16#${words[33]}${words[32]} * 512)))
		events=$((16#${words[51]}${words[50]}))
		((events > most)) || continue
		most=$events COPY_SOURCE=$leg COPY_WORDS=("${words[@]}") \
		COPY_SIZE=$((16#${words[21]}${words[20]} * 512))
	done
	[[ -n $COPY_SOURCE ]] || {
		COPY_WHY='no disk leg is in sync and without bad blocks'
		return 1
	}
	superblock_clone_bitmap "$DEV/$COPY_SOURCE" COPY_WORDS || {
		COPY_WHY=$SUPERBLOCK_CLONE_WHY
		return 1
	}
	((SUPERBLOCK_CLONE_CLEARED <= most)) || {
		COPY_WHY="the bitmap was cleared at $SUPERBLOCK_CLONE_CLEARED events, \
the superblock of $COPY_SOURCE is at $most"
		return 1
	}
}

# copy_has_room_ MD: is a slot free? While none is, md clears bits, also when it has rebuilt the
# member that has the slot. Returns 1 with COPY_WHY.
copy_has_room_() {
	local FREE FAULTY
	md_state_slots_free "$1"
	((FREE == 0)) || return 0
	COPY_WHY='another member has taken the slot of the RAM leg'
	return 1
}

# copy_slot_ SLOT: sets COPY_SLOT to the RAM leg's slot: SLOT if it is known, else the only one that
# no disk leg has. Returns 1 with COPY_WHY when there is no such slot.
copy_slot_() {
	local i slots=$((16#${COPY_WORDS[23]}))
	COPY_SLOT=''
	for ((i = 0; i < slots; i++)); do
		[[ " ${COPY_SLOTS[*]} " != *" $i "* && ${1:-$i} == "$i" ]] || continue
		[[ -z $COPY_SLOT ]] ||
			COPY_WHY="more than one slot is empty, and it is not known which of them \
is the RAM leg's"
		COPY_SLOT=$i
	done
	[[ -n $COPY_SLOT ]] || COPY_WHY="slot ${1:-of the RAM leg} is not empty"
	[[ -z $COPY_WHY ]]
}

# copy_background_ FOLDER MD RAM-NODE SEEK LEG…: starts the coordinator, in a process group of its
# own so that it can be ended with all its workers. Only these processes hold the lock. If this
# program held it too, it could not end them when a signal comes.
copy_background_() {
	local folder=$1 i BEGAN COPY_LOCK
	copy_lock_of_ "$folder"
	set -m
	(
		# Nor may they hold the array's lock: whoever ends this program must be able to
		# start another one.
		[[ -z ${ARRAY_LOCK-} ]] || exec {ARRAY_LOCK}>&-
		trap - EXIT TERM INT HUP
		trap '' TTOU # a message on a terminal that stops background groups
		bounded_process_began "$BASHPID" && act_put "$folder/began" "$BEGAN"
		act_put "$folder/pid.new" "$BASHPID" && mv "$folder/pid.new" "$folder/pid"
		{ exec {LOCK}>"$COPY_LOCK"; } 2>/dev/null && flock --nonblock "$LOCK" &&
			copy_workers_coordinate "$$" "$@"
	) </dev/null &
	set +m
	for ((i = 0; i < 100; i++)); do
		[[ ! -s $folder/pid ]] || return 0
		sleep 0.05
	done
	COPY_WHY='the copy did not begin'
	return 1
}

# copy_rate NAME BYTES: from now on all workers together may copy BYTES a second; 0: no limit.
copy_rate() {
	local now=''
	{ read -r now <"$RUN/$1.copy/rate"; } 2>/dev/null || return 0
	[[ $now == "$2" ]] || {
		act_put "$RUN/$1.copy/rate.new" "$2" &&
			mv "$RUN/$1.copy/rate.new" "$RUN/$1.copy/rate"
	}
}

# copy_finish NAME: call it after the last byte. Writes to the ramdisk the bitmap and the superblock
# that make md take it back. Returns 1 with COPY_WHY when that fails, or must not be tried because
# of what has happened to the array meanwhile.
copy_finish() {
	local folder=$RUN/$1.copy md node slot source cleared why SUPERBLOCK_CLONE_CLEARED \
		COPY_ERROR
	local -a words now
	local RAM_PROVIDER RAM_NODE RAM_BYTES
	read -r md node slot source cleared <"$folder/plan"
	text_number_or cleared -1 # equal to none
	ramdisk_note_read "$1"
	read -ra words < <(od -An -v -tx4 --endian=little -w4096 "$folder/superblock")
	read -ra now < <(superblock_read "$DEV/$source" 2>/dev/null) || :
	why=$(superblock_clone_why_not now) || why=$TEXT_UNKNOWN
	if [[ $RAM_NODE != "$node" ]]; then
		COPY_WHY="the ramdisk $node is not ours any more"
	elif ! copy_has_room_ "$md"; then
		: # it has said why
	elif [[ -n $why ]]; then
		COPY_WHY="the superblock of $source has changed: $why"
	elif ! superblock_clone_bitmap "$DEV/$source" now; then
		COPY_WHY=$SUPERBLOCK_CLONE_WHY
	elif ! copy_is_ours_ words now "$slot"; then
		COPY_WHY="the superblock that was made for $node is damaged, or belongs to another \
array or slot"
	elif [[ -n $(copy_workers_doubtful "$folder" "$md") ]]; then
		COPY_WHY="a leg that was copied from can't be trusted any more: \
$(copy_workers_doubtful "$folder" "$md")"
	elif ! copy_workers_is_free "$node"; then
		COPY_WHY=$COPY_ERROR
	elif ((SUPERBLOCK_CLONE_CLEARED != cleared)); then
		# Somebody has made the array whole in between: md has cleared bits, and the bitmap
		# no longer remembers what was written then.
		COPY_WHY="the bitmap has been cleared meanwhile (at $SUPERBLOCK_CLONE_CLEARED \
events, $cleared before)"
	else
		COPY_WHY=''
		copy_head_ "$node" "$source" words "$folder/superblock" && return
		COPY_WHY=${COPY_WHY:-"the superblock could not be written to $node"}
	fi
	return 1
}

# copy_is_ours_ WORDS NOW SLOT: is WORDS a sound superblock, of the same array as NOW, for SLOT? md
# judges whether it is too old.
copy_is_ours_() {
	local -n made_=$1 of_=$2
	local facts
	facts=$(superblock_parse "${made_[@]}")
	[[ $facts == sb=ok$'\n'* && $facts == *$'\n'"role=$3"$'\n'* &&
		${made_[*]:4:4} == "${of_[*]:4:4}" ]]
}

# copy_head_ RAM-NODE SOURCE WORDS FILE: writes what is before the data. The bitmap goes first:
# without a valid bitmap beside it, mdadm treats the superblock as damaged. A device keeps what it
# holds, even across a power cut in the middle, so everything else must be on it before the
# superblock says so. SOURCE may have stopped answering. Then the dd that reads it is left behind,
# and must not write to the RAM leg: by the time the disk answers, the ramdisk may be another
# array's.
copy_head_() {
	local -n head_=$3
	local sync=''
	[[ $RAM_PROVIDER != device ]] || sync=,fsync
	local at=$((4096 + 512 * 16#${head_[24]})) \
		bytes=$(((SUPERBLOCK_CLONE_BITMAP_BYTES + 4095) / 4096 * 4096))
	{
		bounded "$DEV/$2" dd if="$DEV/$2" bs=4096 skip="$at" count="$bytes" \
			iflag="${COPY_DIRECT-direct,}fullblock,skip_bytes,count_bytes" \
			status=none >"$4.bitmap"
	} 2>/dev/null || {
		COPY_WHY="the bitmap of $2 could not be read"
		return 1
	}
	act dd if="$4.bitmap" of="$DEV/$1" bs=4096 seek="$at" iflag=fullblock \
		oflag="${COPY_DIRECT-direct,}seek_bytes" conv="notrunc,nocreat$sync" status=none &&
		act dd if="$4" of="$DEV/$1" bs=4096 seek=4096 iflag=fullblock \
			oflag="${COPY_DIRECT-direct,}seek_bytes" conv="notrunc,nocreat$sync" \
			status=none
}

# copy_lock_of_ FOLDER: sets COPY_LOCK to the file of the lock. A copy that an older version of
# ramraid began has it in its folder.
copy_lock_of_() {
	COPY_LOCK=${1##*/} COPY_LOCK=$LOCKS/copy.${COPY_LOCK%.copy}
	[[ ! -e $1/lock ]] || COPY_LOCK=$1/lock
}

# copy_signal_ FOLDER: asks the processes of a copy to end, while they hold its lock. Does nothing
# if the leader's number belongs to another process by now. If it belongs to none, the group is
# still ours, because the kernel does not reuse a number as long as a process group has it.
copy_signal_() {
	local pid='' began='' BEGAN
	{ read -r pid <"$1/pid"; } 2>/dev/null || :
	{ read -r began <"$1/began"; } 2>/dev/null || :
	text_number_or pid 0
	((pid > 1)) || return 0
	! bounded_process_began "$pid" || [[ $BEGAN == "${began:-$BEGAN}" ]] || return 0
	kill -TERM -- "-$pid" 2>/dev/null || : # it has just ended by itself
}

# copy_end_ FOLDER LOCK: asks them to end until the descriptor LOCK gets their lock. Asks again each
# second, because a worker that has just been forked, and is not set up yet, may miss the signal.
# Returns 1 after COPY_END seconds.
copy_end_() {
	local i
	for ((i = 0; i < COPY_END; i++)); do
		copy_signal_ "$1"
		! flock --timeout 1 "$2" || return 0
	done
	return 1
}

# copy_stop NAME: ends a copy that runs, and forgets it. Returns 1 with COPY_WHY when it does not
# end.
copy_stop() {
	local folder=$RUN/$1.copy LOCK COPY_LOCK
	[[ -d $folder ]] || return 0
	paths_run
	copy_lock_of_ "$folder"
	{ exec {LOCK}>"$COPY_LOCK"; } 2>/dev/null || {
		COPY_WHY="$COPY_LOCK can't be opened"
		return 1
	}
	if ! flock --nonblock "$LOCK"; then
		copy_end_ "$folder" "$LOCK" || {
			COPY_WHY='an earlier copy does not end'
			exec {LOCK}>&-
			return 1
		}
	fi
	exec {LOCK}>&-
	rm -rf -- "$folder"
}
