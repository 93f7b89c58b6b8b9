# The superblock of a new RAM leg, made from that of a disk leg. With it, md re-adds a filled
# ramdisk by its bitmap, instead of rebuilding all of it. docs/dev/rebuild.md says why that is safe.
# Layout: world/superblock.sh.
# shellcheck shell=bash

need core/bounded world/superblock

# Features that a superblock may have and still be copied from: a bitmap, and a list of bad blocks,
# which the copy does not inherit.
readonly SUPERBLOCK_CLONE_BAD_BLOCKS=0x8 SUPERBLOCK_CLONE_FEATURES=$((0x1 | 0x8))
# A recovery offset, and: the bitmap says what the leg lacks (MD_FEATURE_RECOVERY_OFFSET and
# MD_FEATURE_RECOVERY_BITMAP in include/uapi/linux/raid/md_p.h).
readonly SUPERBLOCK_CLONE_RECOVERING=$((0x2 | 0x80))
# Bitmaps of versions 3 and 4 hold one bit per chunk (linux drivers/md/md-bitmap.h); 5 is for
# clusters, and 6 is the lockless one.
readonly SUPERBLOCK_CLONE_BITMAP_MAGIC=6d746962 SUPERBLOCK_CLONE_BITMAP_VERSIONS='3 4'

# superblock_clone_why_not WORDS [spare]: prints why no RAM leg can be made from the superblock
# whose 1024 words are in the array WORDS; nothing if one can. A spare needs no bitmap.
superblock_clone_why_not() {
	local -n from_=$1
	local features
	[[ ${from_[0]-} == "$SUPERBLOCK_MAGIC" && ${from_[1]-} == 00000001 ]] || {
		echo 'a disk leg has no superblock of version 1'
		return
	}
	features=$((16#${from_[2]}))
	if ((16#${from_[36]} != 8 || 16#${from_[37]} != 0)); then
		echo 'its metadata is not of version 1.2'
	elif ((16#${from_[18]} != 1)); then
		echo 'it is not a RAID1'
	elif [[ ${2-} != spare ]] && { ! ((features & SUPERBLOCK_FEATURE_BITMAP)) ||
		((16#${from_[24]} == 0 || 16#${from_[24]} > 0x7fffffff)); }; then
		echo 'it has no internal bitmap'
	elif ((features & ~SUPERBLOCK_CLONE_FEATURES)); then
		printf 'its superblock has features that are not known to be safe (0x%x)\n' \
			"$features"
	elif [[ ${from_[*]:57:7} == *[!0\ ]* ]]; then
		# Linux 6.19 has turned the zeros before these into a field (logical_block_size in
		# struct mdp_superblock_1, include/uapi/linux/raid/md_p.h), without a feature bit
		# for it.
		echo 'its superblock has something where Linux up to 7.3 has zeros'
	fi
}

# superblock_clone_bitmap FILE WORDS: reads the header of the bitmap of the leg FILE. Sets
# SUPERBLOCK_CLONE_CLEARED (the event count at which bits were last cleared) and
# SUPERBLOCK_CLONE_BITMAP_BYTES (header and bits). Returns 1 and sets SUPERBLOCK_CLONE_WHY when it
# can't be used.
superblock_clone_bitmap() {
	local -n of_=$2
	local -a head
	local chunk sectors
	SUPERBLOCK_CLONE_WHY='' SUPERBLOCK_CLONE_CLEARED='' SUPERBLOCK_CLONE_BITMAP_BYTES=0
	read -ra head < <(superblock_clone_read_ "$1" $((4096 + 512 * 16#${of_[24]})) 256)
	if [[ ${head[0]-} != "$SUPERBLOCK_CLONE_BITMAP_MAGIC" || ${#head[@]} != 64 ]]; then
		SUPERBLOCK_CLONE_WHY='the bitmap has no header'
	elif [[ " $SUPERBLOCK_CLONE_BITMAP_VERSIONS " != *" $((16#${head[1]})) "* ]]; then
		SUPERBLOCK_CLONE_WHY="the bitmap is of version $((16#${head[1]})), \
which is left to md"
	elif [[ ${head[*]:2:4} != "${of_[*]:4:4}" ]]; then
		SUPERBLOCK_CLONE_WHY='the bitmap is that of another array'
	elif ((16#${head[12]} & 2)); then
		# every chunk would be copied again
		SUPERBLOCK_CLONE_WHY='the bitmap is marked stale'
	fi
	[[ -z $SUPERBLOCK_CLONE_WHY ]] || return 1
	SUPERBLOCK_CLONE_CLEARED=$((16#${head[9]}${head[8]})) chunk=$((16#${head[13]})) \
		sectors=$((16#${head[11]}${head[10]}))
	((chunk >= 512)) || {
		SUPERBLOCK_CLONE_WHY='the bitmap has no chunk size'
		return 1
	}
	SUPERBLOCK_CLONE_BITMAP_BYTES=$((256 + (sectors / (chunk / 512) + 8) / 8))
}

# superblock_clone_leg WORDS SLOT NUMBER UUID SECTORS: turns the array WORDS, the superblock of a
# disk leg, into that of another leg: for SLOT, with the device number NUMBER and the device UUID,
# on a device of SECTORS sectors of 512 bytes. The event count stays, because md judges by it.
superblock_clone_leg() {
	local -n leg_=$1
	local slot=$2 number=$3 uuid=${4//-/} sectors=$5 offset i features max_roles \
		SUPERBLOCK_SUM
	max_roles=$((16#${leg_[55]}))
	for (( ; max_roles <= number; max_roles++)); do
		superblock_clone_role_ leg_ "$max_roles" "$SUPERBLOCK_ROLE_SPARE"
	done
	printf -v 'leg_[55]' '%08x' "$max_roles"
	superblock_clone_vacate_ leg_ "$slot" "$max_roles"
	superblock_clone_role_ leg_ "$number" "$slot"
	printf -v 'leg_[40]' '%08x' "$number"
	for ((i = 0; i < 4; i++)); do
		leg_[42 + i]=${uuid:i*8+6:2}${uuid:i*8+4:2}${uuid:i*8+2:2}${uuid:i*8:2}
	done
	# As md itself would describe a leg that it has begun to rebuild by its bitmap
	# (super_1_sync() in linux drivers/md/md.c): it holds nothing for sure yet. Until md has
	# taken the leg, it lacks what is written meanwhile. So whoever assembles the array with it
	# after a power cut must rebuild it, and must not read from it. It has no bad blocks; the
	# place for a list of them stays reserved.
	features=$((16#${leg_[2]} & SUPERBLOCK_FEATURE_BITMAP))
	((slot == SUPERBLOCK_ROLE_SPARE)) || ((features |= SUPERBLOCK_CLONE_RECOVERING))
	printf -v 'leg_[2]' '%08x' "$features"
	leg_[38]=00000000 leg_[39]=00000000
	# All of the byte of flags is cleared: write-mostly, failfast. The three bytes beside it
	# describe the list of bad blocks.
	leg_[46]=${leg_[46]:0:6}00
	offset=$((16#${leg_[33]}${leg_[32]}))
	printf -v 'leg_[34]' '%08x' $(((sectors - offset) & 0xffffffff))
	printf -v 'leg_[35]' '%08x' $(((sectors - offset) >> 32))
	# md counts corrected read errors there; the new leg has none.
	leg_[41]=00000000
	superblock_sum leg_ "$max_roles"
	printf -v 'leg_[54]' '%08x' "$SUPERBLOCK_SUM"
}

# superblock_clone_vacate_ WORDS SLOT COUNT: of the first COUNT numbers, none has the slot any more.
# The leg that had it last may have had another number.
superblock_clone_vacate_() {
	local -n old_=$1
	local i word
	for ((i = 0; i < $3; i++)); do
		word=${old_[64 + i / 2]}
		((i % 2)) && word=${word:0:4} || word=${word:4}
		((16#$word != $2)) || superblock_clone_role_ old_ "$i" "$SUPERBLOCK_ROLE_SPARE"
	done
}

superblock_clone_role_() { # WORDS NUMBER ROLE
	local -n roles_=$1
	local word=$((64 + $2 / 2)) bits=$(($2 % 2 * 16))
	printf -v "roles_[word]" '%08x' $((16#${roles_[word]} & ~(0xffff << bits) | $3 << bits))
}

# mdadm numbers new members upwards from the number of slots. Its superblocks have room for numbers
# up to this one (super1.c, init_super1).
readonly SUPERBLOCK_CLONE_LAST_NUMBER=383

# superblock_clone_number WORDS SLOT USED…: prints the device number for SLOT; USED are the numbers
# of the members. md refuses a number that is in use (bind_rdev_to_array() in linux
# drivers/md/md.c). So while a disk is absent, the number is one that no disk ever had, or the
# absent disk could not come back. Otherwise it is that of the slot, as "mdadm --create" would have
# given it, unless another member has that: then it is the lowest that no member has, beyond those
# of the first members.
superblock_clone_number() {
	local -n of_=$1
	local number=$2 used slots
	used=" ${*:3} " slots=$((16#${of_[23]}))
	if (($# - 2 < slots - 1)); then
		for ((number = SUPERBLOCK_CLONE_LAST_NUMBER; ; number--)); do
			[[ $used == *" $number "* ]] || break
		done
		printf '%s\n' "$number"
		return
	fi
	[[ $used == *" $number "* ]] || {
		printf '%s\n' "$number"
		return
	}
	for ((number = slots; ; number++)); do [[ $used == *" $number "* ]] || break; done
	printf '%s\n' "$number"
}

# superblock_clone_bytes WORDS: prints the 4 KiB themselves.
superblock_clone_bytes() {
	local -n all_=$1
	local word text=''
	for word in "${all_[@]}"; do
		text+="\\x${word:6:2}\\x${word:4:2}\\x${word:2:2}\\x${word:0:2}"
	done
	# shellcheck disable=SC2059 # it is escapes throughout
	printf "$text"
}

# superblock_clone_read_ FILE OFFSET BYTES: prints BYTES from OFFSET on as words, on one line. BYTES
# is at most 4096.
superblock_clone_read_() {
	local flags=direct
	[[ -b $1 ]] || flags=fullblock
	bounded "$1" dd if="$1" bs=4096 count=4096 skip="$2" iflag="$flags",skip_bytes,count_bytes \
		status=none | od -An -v -tx4 --endian=little -w"$3" -N"$3"
}
