# md superblocks of version 1.2 and their write-intent bitmaps, byte by byte. Layout: linux
# include/uapi/linux/raid/md_p.h, struct mdp_superblock_1; drivers/md/md-bitmap.h, struct
# bitmap_super_s.
# shellcheck shell=bash

need core/bounded core/clock core/paths

readonly SUPERBLOCK_MAGIC=a92b4efc SUPERBLOCK_FEATURE_BITMAP=1 SUPERBLOCK_FEATURE_RECOVERY=2
readonly SUPERBLOCK_FEATURE_BAD_BLOCKS=8
readonly SUPERBLOCK_BITMAP_MAGIC=6d746962 SUPERBLOCK_BITMAP_HEAD=256 # bytes before the bits
readonly SUPERBLOCK_ROLE_SPARE=65535 SUPERBLOCK_ROLE_FAULTY=65534
# Device roles are u16 from byte 256 to the end of the 4 KiB block.
readonly SUPERBLOCK_MAX_ROLES=1920

# superblock_read FILE: prints the 4 KiB block at byte 4096 as 1024 little-endian hexadecimal words.
# Returns BOUNDED_SILENT when the device does not answer. O_DIRECT, because the page cache keeps an
# old superblock while md runs (shown by a test of the bench: stale pages after updates).
superblock_read() {
	local flags=direct INTO=(od -An -v -tx4 --endian=little -w4096)
	[[ -b $1 ]] || flags=fullblock # fixtures are on file systems without O_DIRECT
	bounded "$1" dd if="$1" bs=4096 skip=1 count=1 iflag="$flags" status=none
}

# superblock_is_new FILE: has it something where kernels before Linux 6.19 insist on zeros? Those
# then take no leg of the array (super_1_load() in linux drivers/md/md.c: pad3); 6.19 keeps the size
# of the array's logical blocks there (md_p.h: logical_block_size).
superblock_is_new() {
	local words
	read -ra words < <(superblock_read "$1" 2>/dev/null) || :
	[[ ${words[0]-} == "$SUPERBLOCK_MAGIC" && ${words[*]:56:8} == *[!0\ ]* ]]
}

# superblock_lacks_bad_block_list FILE: has this leg no room for md's list of bad blocks? (linux
# include/uapi/linux/raid/md_p.h: bblog_offset; mdadm has made room for it since 3.3)
superblock_lacks_bad_block_list() {
	local words
	read -ra words < <(superblock_read "$1" 2>/dev/null) || :
	[[ ${words[0]-} == "$SUPERBLOCK_MAGIC" && ${words[47]-} == 00000000 ]]
}

# superblock_has_bad_blocks FILE: does md keep a list of blocks that this leg lacks?
# (super_1_sync() in linux drivers/md/md.c: the feature is there while the list has entries) Returns
# 2 when that can't be read.
superblock_has_bad_blocks() {
	local words
	read -ra words < <(superblock_read "$1" 2>/dev/null) || :
	[[ ${words[0]-} == "$SUPERBLOCK_MAGIC" ]] || return 2
	((16#${words[2]} & SUPERBLOCK_FEATURE_BAD_BLOCKS))
}

# superblock_bad_ranges FILE: prints the blocks that the leg's own list says it lacks, "FROM END" in
# sectors of the array, one a line, in order (super_1_load() in linux drivers/md/md.c). Returns 1
# when the list can't be read.
superblock_bad_ranges() {
	local words word sector size shift offset from
	read -ra words < <(superblock_read "$1" 2>/dev/null) || :
	[[ ${words[0]-} == "$SUPERBLOCK_MAGIC" ]] || return 1
	((16#${words[2]} & SUPERBLOCK_FEATURE_BAD_BLOCKS)) || return 0
	shift=$((16#${words[46]} >> 8 & 0xff)) size=$((16#${words[46]} >> 16))
	sector=$((8 + (16#${words[47]} ^ 0x80000000) - 0x80000000))
	offset=$((16#${words[33]}${words[32]}))
	((shift < 10 && sector > 0 && size > 0 && size <= 8)) || return 1
	mapfile -t words < <(superblock_sectors_ "$1" "$sector" "$size" |
		od -An -v -tx8 --endian=little -w8)
	((${#words[@]} == size * 64)) || return 1
	for word in "${words[@]// /}"; do
		[[ $word != ffffffffffffffff ]] || break
		from=$(((16#$word >> 10 & (1 << 54) - 1) << shift))
		printf '%s %s\n' $((from - offset)) \
			$((from - offset + ((16#$word & 0x3ff) << shift)))
	done | sort -n
}

# superblock_parse WORDS…: prints facts about a superblock as KEY=VALUE lines; the first is
# "sb=ok", or "sb=none" (not a superblock of ours) or "sb=corrupt" (magic, but wrong version, absurd
# counts, or a wrong checksum), and then nothing follows.
#   uuid device_uuid (hexadecimal, as md/uuid prints them) level raid_disks size data_offset
#   data_size (sectors of 512) events
#   time (seconds since 1970, when md wrote it last)
#   number (the device number) role (slot number, spare, faulty) roles (NUMBER:SLOT of every device
#   that it calls active, with blanks between) view (A or . for each slot, for people) recovery
#   (sectors, empty: complete) dirty (yes, no)
#   bitmap (yes, no) writemostly (yes, no)
# Without a process, because the boot calls it twice a second for each leg.
superblock_parse() {
	[[ $# == 1024 && $1 == "$SUPERBLOCK_MAGIC" ]] || {
		printf 'sb=none\n'
		return
	}
	local max_roles=$((16#${56})) raid_disks=$((16#${24})) number=$((16#${41}))
	((max_roles <= SUPERBLOCK_MAX_ROLES)) || max_roles=0
	# No more of them than count: copying is what takes time.
	local -a w=("${@:1:64+(max_roles + 1)/2}")
	if ((16#${w[1]} != 1 || max_roles < 1 || raid_disks < 1 || raid_disks > max_roles || \
		number >= max_roles)) || ! superblock_counts_ok w ||
			! superblock_checksum_ok w "$max_roles"; then
		printf 'sb=corrupt\n'
		return
	fi
	local features=$((16#${w[2]})) recovery='' dirty=no bitmap=no writemostly=no \
		SUPERBLOCK_UUID uuid SUPERBLOCK_ROLE SUPERBLOCK_VIEW SUPERBLOCK_ROLES
	((!(features & SUPERBLOCK_FEATURE_BITMAP))) || bitmap=yes
	((!(features & SUPERBLOCK_FEATURE_RECOVERY))) ||
		printf -v recovery '%u' $((16#${w[39]}${w[38]}))
	# A clean array's resync_offset is the highest number there is.
	[[ ${w[53]}${w[52]} == ffffffffffffffff ]] || dirty=yes
	((!(16#${w[46]} & 1))) || writemostly=yes
	superblock_uuid "${w[@]:4:4}"
	uuid=$SUPERBLOCK_UUID
	superblock_uuid "${w[@]:42:4}"
	superblock_role w "$number" "$raid_disks"
	superblock_view w "$raid_disks" "$max_roles"
	printf '%s=%s\n' sb ok uuid "$uuid" device_uuid "$SUPERBLOCK_UUID" level $((16#${w[18]})) \
		raid_disks "$raid_disks" size $((16#${w[21]}${w[20]})) data_offset \
		$((16#${w[33]}${w[32]})) data_size $((16#${w[35]}${w[34]})) \
		events $((16#${w[51]}${w[50]})) time $((16#${w[49]:6:2}${w[48]})) \
		number "$number" role "$SUPERBLOCK_ROLE" roles "$SUPERBLOCK_ROLES" view \
		"$SUPERBLOCK_VIEW" recovery "$recovery" dirty "$dirty" bitmap "$bitmap" \
		writemostly "$writemostly"
}

# superblock_uuid WORD×4: SUPERBLOCK_UUID = the 16 bytes in their order on disk, 8-4-4-4-12.
superblock_uuid() {
	local word hex=''
	for word; do hex+=${word:6:2}${word:4:2}${word:2:2}${word:0:2}; done
	SUPERBLOCK_UUID=${hex:0:8}-${hex:8:4}-${hex:12:4}-${hex:16:4}-${hex:20:12}
}

# superblock_role_of WORDS NUMBER: dev_roles[NUMBER] of the superblock words in the array that WORDS
# names; result in ROLE.
superblock_role_of() {
	local -n words_=$1
	ROLE=$(((16#${words_[64 + $2 / 2]} >> ($2 % 2 * 16)) & 0xffff))
}

# superblock_role WORDS NUMBER RAID_DISKS: sets SUPERBLOCK_ROLE. What is no slot of this array, md
# makes a spare (linux drivers/md/md.c, md_analyze_sbs).
superblock_role() {
	local ROLE
	superblock_role_of "$1" "$2"
	SUPERBLOCK_ROLE=$ROLE
	((ROLE < $3)) || SUPERBLOCK_ROLE=spare
	((ROLE != SUPERBLOCK_ROLE_FAULTY)) || SUPERBLOCK_ROLE=faulty
}

# superblock_view WORDS RAID_DISKS MAX_ROLES: sets SUPERBLOCK_ROLES to "NUMBER:SLOT" of the devices
# that this superblock calls active, and SUPERBLOCK_VIEW to which slots those are. Slots are no
# devices: md gives a new member the lowest free slot (raid1_add_disk() in linux
# drivers/md/raid1.c), and moves members into lower slots when it reshapes (raid1_reshape()).
superblock_view() {
	local -n words_=$1
	local word role number=-1
	SUPERBLOCK_ROLES=''
	printf -v SUPERBLOCK_VIEW '%*s' "$2" ''
	SUPERBLOCK_VIEW=${SUPERBLOCK_VIEW// /.}
	# Two in a word, the first in its lower half.
	for word in "${words_[@]:64:($3 + 1)/2}"; do
		number=$((number + 2))
		[[ $word != fff[ef]fff[ef] ]] || continue
		for role in $((16#${word:4})) $((number < $3 ? 16#${word:0:4} : $2)); do
			if ((role < $2)); then
				SUPERBLOCK_VIEW=${SUPERBLOCK_VIEW:0:role}A${SUPERBLOCK_VIEW:role+1}
				SUPERBLOCK_ROLES+="${SUPERBLOCK_ROLES:+ }$((number - 1)):$role"
			fi
			number=$((number + 1))
		done
		number=$((number - 2))
	done
}

# superblock_counts_ok WORDS: are size, data_offset, data_size and events below 2^56? No array gets
# there, bash's numbers have a sign, and a leg that claims more would be newer than every honest
# one.
superblock_counts_ok() {
	local -n words_=$1
	[[ ${words_[21]} == 00* && ${words_[33]} == 00* && ${words_[35]} == 00* &&
		${words_[51]} == 00* ]]
}

# superblock_sum WORDS MAX_ROLES: sets SUPERBLOCK_SUM as linux drivers/md/md.c, calc_sb_1_csum: the
# sum of all words up to the last role, without the checksum itself, its carries added back once.
superblock_sum() {
	local -n words_=$1
	local sum count=$(((256 + 2 * $2) / 4))
	# One expression instead of a loop.
	printf -v sum '+16#%s' "${words_[@]:0:count}"
	sum=$((sum - 16#${words_[54]}))
	(($2 % 2 == 0)) || sum=$((sum + (16#${words_[count]} & 0xffff)))
	SUPERBLOCK_SUM=$(((sum & 0xffffffff) + (sum >> 32) & 0xffffffff))
}

superblock_checksum_ok() { # WORDS MAX_ROLES
	local -n sealed_=$1
	local SUPERBLOCK_SUM
	superblock_sum "$1" "$2"
	((SUPERBLOCK_SUM == 16#${sealed_[54]}))
}

# superblock_facts FILE: superblock_parse of what the device holds; "sb=unreadable" when it can't be
# read, and then "silent=yes" when that is because it does not answer, "unseen=yes" when that is no
# fault of the device: no program could be run, or it was killed.
superblock_facts() {
	local words code=0
	words=$(superblock_read "$1") || code=$?
	((code == 0)) || words=''
	# shellcheck disable=SC2086 # words of hexadecimal digits
	set -- $words
	# A disk that spins up has no size yet, and reads as if it ended there.
	if (($# == 1024)); then
		superblock_parse "$@"
	else
		printf 'sb=unreadable\n'
		((code != BOUNDED_SILENT)) || printf 'silent=yes\n'
		((code == BOUNDED_SILENT || code < 125)) || printf 'unseen=yes\n'
	fi
}

# From lines with a byte each, in decimal, makes the words of superblock_dirty_bits. It ends with 1
# when there are not as many as BYTES: what is missing would be taken for bits that are not set. In
# awk: bash takes half a minute for as many as SUPERBLOCK_BITS_MOST.
# shellcheck disable=SC2016 # for awk
readonly SUPERBLOCK_BITS_OF='
	function add() {
		if (first == "") return
		line = line (line == "" ? "" : " ") first (last > first ? "-" last : "")
		if (length(line) >= 4000) { print line; line = "" }
	}
	$1 > 0 {
		value = $1
		for (bit = 0; bit < 8; bit++) {
			number = (NR - 1) * 8 + bit
			is_set = value % 2; value = int(value / 2)
			if (!is_set || number >= bits) continue
			if (first != "" && number == last + 1) { last = number; continue }
			add()
			first = last = number
		}
	}
	END { add(); if (line != "") print line; exit NR != bytes }'

# superblock_dirty_bits FILE: prints the bits that are set in the leg's write-intent bitmap, as md
# takes them in sysfs ("3 17-20", Documentation/admin-guide/md.rst, bitmap_set_bits), in lines of
# less than a page; nothing when there is none; "all", without a look at them, when there would be
# more than SUPERBLOCK_BITS_MOST in it: who wrote the disk must not say how long this takes. Returns
# 1 when it has no bitmap that can be read to its end, or one whose head is not of this array.
readonly SUPERBLOCK_BITS_MOST=1048576 # mdadm makes 64 MiB of an array one bit: 64 TiB
superblock_dirty_bits() {
	local words sector bits bytes uuid size room
	# shellcheck disable=SC2207 # hexadecimal digits
	words=($(superblock_read "$1")) && [[ ${words[0]} == "$SUPERBLOCK_MAGIC" ]] || return
	# Where it begins counts from the superblock, in sectors; before it, if negative.
	sector=$((8 + (16#${words[24]} ^ 0x80000000) - 0x80000000))
	((sector > 0)) || return
	uuid=${words[*]:4:4} size=$((16#${words[21]}${words[20]})) \
		room=$((16#${words[33]}${words[32]}))
	# Before the data, if it is there.
	((room > sector)) && room=$((room - sector)) || room=$size
	# shellcheck disable=SC2207
	words=($(superblock_sectors_ "$1" "$sector" 1 | od -An -v -tx4 --endian=little -w512)) &&
		[[ ${words[0]} == "$SUPERBLOCK_BITMAP_MAGIC" ]] || return
	superblock_bitmap_is_sound_ || return
	bits=$((16#${words[11]}${words[10]} / (16#${words[13]} / 512)))
	((bits * (16#${words[13]} / 512) == 16#${words[11]}${words[10]})) || bits=$((bits + 1))
	bytes=$((((SUPERBLOCK_BITMAP_HEAD + (bits + 7) / 8 + 511) / 512) * 512))
	((bytes / 512 <= room)) || return
	((bits <= SUPERBLOCK_BITS_MOST)) || {
		printf 'all\n'
		return
	}
	superblock_sectors_ "$1" "$sector" $((bytes / 512)) |
		tail -c "+$((SUPERBLOCK_BITMAP_HEAD + 1))" | od -An -v -tu1 -w1 |
		awk -v bits="$bits" -v bytes=$((bytes - SUPERBLOCK_BITMAP_HEAD)) \
			"$SUPERBLOCK_BITS_OF"
}

# Is the head of a bitmap, the caller's words, sound and of the array that has uuid and size
# (sectors)? (linux drivers/md/md-bitmap.c, md_bitmap_read_sb)
superblock_bitmap_is_sound_() {
	local chunk=$((16#${words[13]}))
	[[ ${words[*]:2:4} == "$uuid" && ${words[1]} == 0000000[345] && ${words[11]} == 00* ]] ||
		return
	((chunk >= 512 && (chunk & (chunk - 1)) == 0 && 16#${words[11]}${words[10]} <= size))
}

# superblock_sectors_ FILE SECTOR COUNT: these sectors of 512 bytes, read in blocks that a disk with
# blocks of 4 KiB takes as well.
superblock_sectors_() {
	local flags=direct before=$(($2 % 8))
	[[ -b $1 ]] || flags=fullblock
	bounded "$1" dd if="$1" bs=4096 skip=$(($2 / 8)) count=$(((before + $3 + 7) / 8)) \
		iflag="$flags" status=none |
		tail -c "+$((before * 512 + 1))" | {
		# To its end, or who writes it is ended by SIGPIPE, and that would be a failure.
		head -c $(($3 * 512))
		cat >/dev/null
	}
}

# how often a superblock is read that can't be, and seconds between
readonly SUPERBLOCK_TRIES=3 SUPERBLOCK_AGAIN=0.5
readonly SUPERBLOCK_PATIENCE=5 # seconds after which it is not read again

# superblock_facts_patiently NODE: prints what superblock_facts does. Asked again when there is no
# answer, or half a superblock: md may just be writing it, the disk may answer a moment later, and
# so may a machine without memory for one more process. One that has not answered within its bound
# is not asked again.
superblock_facts_patiently() {
	local try facts NOW begin
	clock
	begin=$NOW
	for ((try = 1; try <= SUPERBLOCK_TRIES; try++)); do
		facts=$(superblock_facts "$DEV/$1") || facts=''
		[[ $facts != sb=@(ok|none)* && $facts != *silent=yes* ]] || break
		clock
		((try < SUPERBLOCK_TRIES && NOW - begin < SUPERBLOCK_PATIENCE)) || break
		sleep "$SUPERBLOCK_AGAIN"
	done
	printf '%s\n' "$facts"
}

# superblock_says NODE KEY: prints that of the device's superblock, as superblock_parse names it.
superblock_says() {
	local key value
	while IFS='=' read -r key value; do
		[[ $key != "$2" ]] || printf '%s\n' "$value"
	done < <(superblock_facts_patiently "$1")
}
