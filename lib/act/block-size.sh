# Logical blocks of 4096 bytes (BLOCK=4096) for an array whose disks have smaller ones. The array
# has them from its start, before anything reads it, so that their size never changes under what is
# on the array. md uses the largest block size of the devices that an array is started with, and
# keeps it until the array is stopped (rdev_for_each() in raid1_run() and raid1_set_limits(), linux
# drivers/md/raid1.c). So ramraid starts the array with an empty zram device beside the disks, which
# has the superblock of a spare, and takes it out before md may write.
# shellcheck shell=bash

need config/conf config/conf-where core/act core/clock core/log core/paths core/text world/disk
need world/md world/md-blocks world/ramdisk-zram world/superblock world/superblock-clone

# block_size_begin NAME NODE…: call it before these disks are assembled. Sets BLOCK_SIZE_SPARE to
# the spare, or to nothing when none is needed. Returns 1, with BLOCK_SIZE_WHY, when one is needed
# and can't be made: then the array must not be started.
block_size_begin() {
	local name=$1
	shift
	BLOCK_SIZE_SPARE='' BLOCK_SIZE_WHY=''
	block_size_is_raised "$@" && [[ -z $DRY_RUN ]] || return 0
	block_size_tidy "$name"
	! block_size_make_ "$name" "$@" || return 0
	block_size_tidy "$name"
	BLOCK_SIZE_SPARE=''
	block_size_refuse "$name" "${BLOCK_SIZE_WHY:-zram made no spare for it (see above)}"
	return 1
}

# block_size_refuse NAME WHY: sets BLOCK_SIZE_WHY to why the array is not started, and what to type.
# With smaller blocks, a DOS partition table means other places: the kernel then shows partitions
# that begin inside others, and swap, or LUKS with its own key (crypttab(5)), would write there.
block_size_refuse() {
	BLOCK_SIZE_WHY="it needs blocks of 4096 bytes (BLOCK=4096), but can't get them: $2. It is \
not started with smaller ones, because a partition table on it would then point to the wrong \
places. When that is fixed: ramraid start $1. If it has no partition table, set BLOCK=auto in \
$(conf_where "$1" BLOCK), and it starts with the block size of its disks"
}

# block_size_is_mixed NODE…: do some of these disks have blocks of 4096 bytes, and others smaller
# ones? md gives an array of them 4096, but would give it smaller ones without the former.
block_size_is_mixed() {
	local node large='' small=''
	for node; do
		if (($(disk_block "$node") >= 4096)); then large=yes; else small=yes; fi
	done
	[[ -n $large && -n $small ]]
}

# block_size_is_raised NODE…: does BLOCK= give an array of these disks larger blocks than they have?
block_size_is_raised() {
	local node
	[[ ${CONF[BLOCK]-auto} == 4096 && ${CONF[LAYOUT]} == mirror ]] || return 1
	for node; do (($(disk_block "$node") < 4096)) || return 1; done
}

# block_size_make_ NAME NODE…: makes the spare, with a superblock made from that of the disk with
# the most events. Sets BLOCK_SIZE_SPARE; or returns 1, with BLOCK_SIZE_WHY where that is known.
block_size_make_() {
	local name=$1 why bytes NUMBER RAMDISK_ZRAM_WHY words=()
	shift
	block_size_newest_ "$@"
	[[ -n $why ]] || block_size_number_ || why='all device numbers are in use'
	[[ -z $why ]] || {
		BLOCK_SIZE_WHY="no spare can be made from the superblocks of its disks: $why"
		return 1
	}
	# It must be as large as a leg, or mdadm does not accept it as one (load_super1() in its
	# super1.c). It is empty.
	bytes=$(((16#${words[33]}${words[32]} + 16#${words[21]}${words[20]}) * 512))
	bytes=$((bytes + (4096 - bytes % 4096) % 4096))
	ramdisk_zram_spare "$name" "$bytes" || {
		BLOCK_SIZE_WHY=$RAMDISK_ZRAM_WHY
		return 1
	}
	superblock_clone_leg words "$SUPERBLOCK_ROLE_SPARE" "$NUMBER" \
		"$(<"$PROC/sys/kernel/random/uuid")" $((bytes / 512))
	superblock_clone_bytes words |
		act dd of="$DEV/$RAMDISK_ZRAM_SPARE" bs=4096 seek=4096 iflag=fullblock \
			oflag="${BLOCK_SIZE_DIRECT-direct,}seek_bytes" conv=notrunc,nocreat \
			status=none || return 1
	BLOCK_SIZE_SPARE=$RAMDISK_ZRAM_SPARE
}

# Sets the caller's words to the superblock with the most events, or why to why none can be used.
block_size_newest_() { # NODE…
	local node most=-1 now reason
	why=''
	for node; do
		read -ra now < <(superblock_read "$DEV/$node" 2>/dev/null) || :
		reason=$(superblock_clone_why_not now spare) || reason=$TEXT_UNKNOWN
		[[ -z $reason ]] || {
			why=${why:-$reason}
			continue
		}
		((16#${now[51]}${now[50]} > most)) || continue
		most=$((16#${now[51]}${now[50]})) words=("${now[@]}")
	done
	((most < 0)) || why=''
}

# Sets NUMBER to a device number that no leg has, absent or not.
block_size_number_() {
	local ROLE slots=$((16#${words[23]}))
	NUMBER=$((16#${words[55]} - 1))
	((NUMBER <= SUPERBLOCK_CLONE_LAST_NUMBER)) || NUMBER=$SUPERBLOCK_CLONE_LAST_NUMBER
	for (( ; NUMBER >= slots; NUMBER--)); do
		superblock_role_of words "$NUMBER"
		((ROLE < SUPERBLOCK_ROLE_FAULTY)) || return 0
	done
	return 1
}

# block_size_end NAME: call it after the assembly. Takes the spare out.
block_size_end() {
	[[ -n $BLOCK_SIZE_SPARE ]] || return 0
	block_size_tidy "$1"
	BLOCK_SIZE_SPARE=''
}

# block_size_check NAME NODE…: call it after that, before anything reads the array. Has md given the
# array the larger blocks? If not, stops it again, and returns 1 with BLOCK_SIZE_WHY.
block_size_check() {
	local name=$1 md
	shift
	block_size_is_raised "$@" && [[ -z $DRY_RUN ]] && md=$(md_of_leg "$1") || return 0
	(($(disk_block "$md") < 4096)) || return 0
	block_size_refuse "$name" "md has given it blocks of $(disk_block "$md") bytes nevertheless"
	clock_until 5 1 md_stop "$md" ||
		BLOCK_SIZE_WHY+="; and $md could not be stopped: mdadm --stop /dev/$md"
	return 1
}

# block_size_tidy NAME: takes the spare out of the array and drops it, even one that a killed start
# has left behind.
block_size_tidy() {
	local RAMDISK_ZRAM_SPARE md
	[[ -e $RUN/$1.block ]] || return 0
	ramdisk_zram_spare_find "$1"
	if [[ -n $RAMDISK_ZRAM_SPARE ]]; then
		! md=$(md_of_leg "$RAMDISK_ZRAM_SPARE") ||
			md_blocks_take_out "$md" "$RAMDISK_ZRAM_SPARE" ||
			log_warning "$1: the spare $RAMDISK_ZRAM_SPARE, which set the block size \
of $md, could not be taken out"
	fi
	ramdisk_zram_spare_drop "$1" ||
		log_warning "$1: the spare $RAMDISK_ZRAM_SPARE could not be removed"
}
