# The logical blocks of an array with BLOCK=4096 whose disks have smaller ones. It has them from its
# start, before anybody reads, so that their size never changes under what is on it. md takes the
# largest blocks among the devices that an array is started with, and keeps them until it is stopped
# (rdev_for_each() in raid1_run() and raid1_set_limits(), linux drivers/md/raid1.c). So an
# empty device of zram is beside the disks, with the superblock of a spare, and is taken out before
# md may write.
# shellcheck shell=bash

need config/conf core/act core/clock core/log core/paths world/disk world/md world/ramdisk-zram
need world/superblock world/superblock-clone

# blocks_begin NAME NODE…: before these disks are assembled: sets BLOCKS_SPARE to the spare; to
# nothing when none is needed. Returns 1, with BLOCKS_WHY, when none can be had: then it must not be
# started.
blocks_begin() {
	local name=$1
	shift
	BLOCKS_SPARE='' BLOCKS_WHY=''
	blocks_are_smaller_ "$@" && [[ -z $DRY_RUN ]] || return 0
	blocks_tidy "$name"
	! blocks_make_ "$name" "$@" || return 0
	blocks_tidy "$name"
	BLOCKS_SPARE=''
	blocks_refuse "$name" "${BLOCKS_WHY:-zram makes no spare for it (see above)}"
	return 1
}

# blocks_refuse NAME WHY: sets BLOCKS_WHY to why it is not started, and what to type. With smaller
# blocks the kernel reads the numbers of a DOS partition table as other places: it then shows
# partitions that begin inside others, and swap or LUKS with a key of its own (crypttab(5)) would
# write there.
blocks_refuse() {
	BLOCKS_WHY="it is to have blocks of 4096 bytes (BLOCK=4096), and can't be given them: \
$2. It is not started with smaller ones, with which a partition table on it shows other places. \
When that is mended: ramraid start $1. If it has no partition table, BLOCK=auto in $ETC/$1.conf \
has it started with those of its disks"
}

blocks_are_smaller_() { # NODE…
	local node
	[[ ${CONF[BLOCK]-auto} == 4096 && ${CONF[LAYOUT]} == mirror ]] || return 1
	for node; do (($(disk_block "$node") < 4096)) || return 1; done
}

# blocks_make_ NAME NODE…: the spare, with a superblock made from that of the disk with the most
# events. Sets BLOCKS_SPARE; else BLOCKS_WHY, where that is known.
blocks_make_() {
	local name=$1 why bytes NUMBER RAMDISK_ZRAM_WHY words=()
	shift
	blocks_newest_ "$@"
	why=$(superblock_clone_why_not words)
	[[ -n $why ]] || blocks_number_ || why='all device numbers are in use'
	[[ -z $why ]] || {
		BLOCKS_WHY="no spare can be made from the superblocks of its disks: $why"
		return 1
	}
	# As large as a leg, or mdadm takes it for none (load_super1() in its super1.c); it is
	# empty.
	bytes=$(((16#${words[33]}${words[32]} + 16#${words[21]}${words[20]}) * 512))
	bytes=$((bytes + (4096 - bytes % 4096) % 4096))
	ramdisk_zram_spare "$name" "$bytes" || {
		BLOCKS_WHY=$RAMDISK_ZRAM_WHY
		return 1
	}
	superblock_clone_leg words "$SUPERBLOCK_ROLE_SPARE" "$NUMBER" \
		"$(<"$PROC/sys/kernel/random/uuid")" $((bytes / 512))
	superblock_clone_bytes words |
		act dd of="$DEV/$RAMDISK_ZRAM_SPARE" bs=4096 seek=4096 iflag=fullblock \
			oflag="${BLOCKS_DIRECT-direct,}seek_bytes" conv=notrunc,nocreat status=none ||
		return 1
	md_modules mirror
	md_blocks_hold && BLOCKS_SPARE=$RAMDISK_ZRAM_SPARE
}

# Sets the caller's words to the superblock with the most events.
blocks_newest_() { # NODE…
	local node most=-1 now
	for node; do
		read -ra now < <(superblock_read "$DEV/$node" 2>/dev/null) || :
		[[ -z $(superblock_clone_why_not now) ]] || continue
		((16#${now[51]}${now[50]} > most)) || continue
		most=$((16#${now[51]}${now[50]})) words=("${now[@]}")
	done
}

# Sets NUMBER to a device number that no leg has, absent or not.
blocks_number_() {
	local ROLE slots=$((16#${words[23]}))
	NUMBER=$((16#${words[55]} - 1))
	((NUMBER <= SUPERBLOCK_CLONE_LAST_NUMBER)) || NUMBER=$SUPERBLOCK_CLONE_LAST_NUMBER
	for (( ; NUMBER >= slots; NUMBER--)); do
		superblock_role_of words "$NUMBER"
		((ROLE < SUPERBLOCK_ROLE_FAULTY)) || return 0
	done
	return 1
}

# blocks_end NAME: after the assembly. The spare leaves.
blocks_end() {
	[[ -n $BLOCKS_SPARE ]] || return 0
	md_blocks_unhold || :
	blocks_tidy "$1"
	BLOCKS_SPARE=''
}

# blocks_check NAME NODE…: after that, before anybody reads: has md given them to the array? If not,
# it is stopped again; returns 1, with BLOCKS_WHY.
blocks_check() {
	local name=$1 md
	shift
	blocks_are_smaller_ "$@" && [[ -z $DRY_RUN ]] && md=$(md_of_leg "$1") || return 0
	(($(disk_block "$md") < 4096)) || return 0
	blocks_refuse "$name" "md has given it blocks of $(disk_block "$md") bytes all the same"
	clock_until 5 1 md_stop "$md" ||
		BLOCKS_WHY+="; and $md could not be stopped: mdadm --stop /dev/$md"
	return 1
}

# blocks_tidy NAME: takes the spare out and away, also one that a start has left which was killed.
blocks_tidy() {
	local RAMDISK_ZRAM_SPARE md
	[[ -e $RUN/$1.block ]] || return 0
	ramdisk_zram_spare_find "$1"
	if [[ -n $RAMDISK_ZRAM_SPARE ]]; then
		! md=$(md_of_leg "$RAMDISK_ZRAM_SPARE") ||
			md_blocks_take_out "$md" "$RAMDISK_ZRAM_SPARE" ||
			log_warning "$1: the spare $RAMDISK_ZRAM_SPARE, \
which has given $md its blocks, could not be taken out"
	fi
	ramdisk_zram_spare_drop "$1" ||
		log_warning "$1: the spare $RAMDISK_ZRAM_SPARE could not be given back"
}
