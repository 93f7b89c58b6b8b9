# The logical blocks of an array with BLOCK=4096 whose disks have smaller ones. It has them from its
# start, before anybody reads, so that their size never changes under what is on it. md takes the
# largest blocks among the devices that an array is started with, and keeps them until it is stopped
# (rdev_for_each() in raid1_run() and raid1_set_limits(), linux drivers/md/raid1.c). So an
# empty device of zram is beside the disks, with the superblock of a spare, and is taken out before
# md may write.
# shellcheck shell=bash

need config/conf core/act core/log core/paths world/disk world/md world/md-blocks
need world/ramdisk-zram world/superblock world/superblock-clone

# blocks_begin NAME NODE…: before these disks are assembled: sets BLOCKS_SPARE to the spare; to
# nothing when none is needed, or none can be had, which is said.
blocks_begin() {
	local name=$1
	shift
	BLOCKS_SPARE=''
	blocks_are_smaller_ "$@" && [[ -z $DRY_RUN ]] || return 0
	blocks_tidy "$name"
	if ! blocks_make_ "$name" "$@"; then
		blocks_tidy "$name"
		BLOCKS_SPARE=''
		log_warning "$name: could not be given blocks of 4096 bytes (BLOCK=4096); \
in this run it has those of its disks, and no RAM leg of zram"
	fi
}

blocks_are_smaller_() { # NODE…
	local node
	[[ ${CONF[BLOCK]-auto} == 4096 && ${CONF[LAYOUT]} == mirror ]] || return 1
	for node; do (($(disk_block "$node") < 4096)) || return 1; done
}

# blocks_make_ NAME NODE…: the spare, with a superblock made from that of the disk with the most
# events. Sets BLOCKS_SPARE.
blocks_make_() {
	local name=$1 why bytes NUMBER words=()
	shift
	blocks_newest_ "$@"
	why=$(superblock_clone_why_not words)
	[[ -n $why ]] || blocks_number_ || why='all device numbers are in use'
	[[ -z $why ]] || {
		log_notice "$name: no spare can be made from the superblocks of its disks: $why"
		return 1
	}
	# As large as a leg, or mdadm takes it for none (load_super1() in its super1.c); it is
	# empty.
	bytes=$(((16#${words[33]}${words[32]} + 16#${words[21]}${words[20]}) * 512))
	bytes=$((bytes + (4096 - bytes % 4096) % 4096))
	ramdisk_zram_spare "$name" "$bytes" || return 1
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

# blocks_end NAME NODE: after the assembly, NODE is one of the disks. The spare leaves.
blocks_end() {
	local md
	[[ -n $BLOCKS_SPARE ]] || return 0
	md_blocks_unhold || :
	blocks_tidy "$1"
	BLOCKS_SPARE=''
	! md=$(md_of_leg "$2") || (($(disk_block "$md") >= 4096)) ||
		log_warning "$1: md has given it blocks of $(disk_block "$md") bytes in spite of \
BLOCK=4096: no RAM leg of zram in this run"
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
