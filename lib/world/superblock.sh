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
# Returns BOUNDED_SILENT when the device does not answer. It reads with O_DIRECT, because the page
# cache keeps an old superblock while md runs (a test of the bench found stale pages after updates).
superblock_read() {
	local flags=direct INTO=(od -An -v -tx4 --endian=little -w4096)
	[[ -b $1 ]] || flags=fullblock # fixtures are on file systems without O_DIRECT
	bounded "$1" dd if="$1" bs=4096 skip=1 count=1 iflag="$flags" status=none
}

# superblock_is_new FILE: does the superblock have something where kernels before Linux 6.19 insist
# on zeros? Those kernels accept no leg of the array (super_1_load() in linux drivers/md/md.c:
# pad3); 6.19 keeps the size of the array's logical blocks there (md_p.h: logical_block_size).
superblock_is_new() {
	local words
	read -ra words < <(superblock_read "$1" 2>/dev/null) || :
	[[ ${words[0]-} == "$SUPERBLOCK_MAGIC" && ${words[*]:56:8} == *[!0\ ]* ]]
}

# superblock_lacks_bad_block_list FILE: does this leg lack room for md's list of bad blocks? (linux
# include/uapi/linux/raid/md_p.h: bblog_offset; mdadm has reserved it since 3.3)
superblock_lacks_bad_block_list() {
	local words
	read -ra words < <(superblock_read "$1" 2>/dev/null) || :
	[[ ${words[0]-} == "$SUPERBLOCK_MAGIC" && ${words[47]-} == 00000000 ]]
}

# superblock_has_bad_blocks FILE: does md keep a list of blocks that this leg lacks? (super_1_sync()
# in linux drivers/md/md.c: the feature bit is set while the list has entries) Returns 2 when the
# superblock can't be read.
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

# superblock_parse WORDS…: prints facts about a superblock as KEY=VALUE lines. The first is "sb=ok";
# or it is "sb=none" (not a superblock of ours) or "sb=corrupt" (magic, but wrong version, absurd
# counts, or a wrong checksum), and no other line follows.
#   uuid device_uuid (hexadecimal, as md/uuid prints them) level raid_disks size data_offset
#   data_size (sectors of 512) events
#   time (seconds since 1970, when md wrote it last)
#   number (the device number) role (slot number, spare, faulty) roles (NUMBER:SLOT of every device
#   that it calls active, with blanks between) view (A or . for each slot, for people) recovery
#   (sectors, empty: complete) dirty (yes, no)
#   bitmap (yes, no) writemostly (yes, no)
# It starts no process, because the boot calls it twice a second for each leg.
superblock_parse() {
	[[ $# == 1024 && $1 == "$SUPERBLOCK_MAGIC" ]] || {
		printf 'sb=none\n'
		return
	}
	local max_roles=$((16#${56})) raid_disks=$((16#${24})) number=$((16#${41}))
	((max_roles <= SUPERBLOCK_MAX_ROLES)) || max_roles=0
	# Only the words that count are copied, because copying is what takes time.
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

# superblock_uuid WORD×4: sets SUPERBLOCK_UUID to the 16 bytes in their order on disk, as
# 8-4-4-4-12.
superblock_uuid() {
	local word hex=''
	for word; do hex+=${word:6:2}${word:4:2}${word:2:2}${word:0:2}; done
	SUPERBLOCK_UUID=${hex:0:8}-${hex:8:4}-${hex:12:4}-${hex:16:4}-${hex:20:12}
}

# superblock_role_of WORDS NUMBER: sets ROLE to dev_roles[NUMBER] of the superblock whose words are
# in the array that WORDS names.
superblock_role_of() {
	local -n words_=$1
	ROLE=$(((16#${words_[64 + $2 / 2]} >> ($2 % 2 * 16)) & 0xffff))
}

# superblock_role WORDS NUMBER RAID_DISKS: sets SUPERBLOCK_ROLE to a slot, "spare" or "faulty". md
# makes a spare of a device whose role is no slot of this array (linux drivers/md/md.c,
# md_analyze_sbs).
superblock_role() {
	local ROLE
	superblock_role_of "$1" "$2"
	SUPERBLOCK_ROLE=$ROLE
	((ROLE < $3)) || SUPERBLOCK_ROLE=spare
	((ROLE != SUPERBLOCK_ROLE_FAULTY)) || SUPERBLOCK_ROLE=faulty
}

# superblock_view WORDS RAID_DISKS MAX_ROLES: sets SUPERBLOCK_ROLES to "NUMBER:SLOT" for each device
# that this superblock calls active, and SUPERBLOCK_VIEW to which slots those are. A slot is not a
# device: md gives a new member the lowest free slot (raid1_add_disk() in linux drivers/md/raid1.c),
# and moves members into lower slots when it reshapes (raid1_reshape()).
superblock_view() {
	local -n words_=$1
	local word role number=-1
	SUPERBLOCK_ROLES=''
	printf -v SUPERBLOCK_VIEW '%*s' "$2" ''
	SUPERBLOCK_VIEW=${SUPERBLOCK_VIEW// /.}
	# A word holds two roles, the first in its lower half.
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

# superblock_counts_ok WORDS: are size, data_offset, data_size and events below 2^56? No real array
# gets there, bash's numbers are signed, and a leg that claims more would be newer than every honest
# one.
superblock_counts_ok() {
	local -n words_=$1
	[[ ${words_[21]} == 00* && ${words_[33]} == 00* && ${words_[35]} == 00* &&
		${words_[51]} == 00* ]]
}

# superblock_sum WORDS MAX_ROLES: sets SUPERBLOCK_SUM as calc_sb_1_csum in linux drivers/md/md.c
# does: the sum of all words up to the last role, without the checksum itself, with its carries
# added back once.
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

# superblock_facts FILE: prints what superblock_parse says of the superblock on the device; or
# "sb=unreadable" when it can't be read. Then "silent=yes" follows if the device does not answer,
# and "unseen=yes" if the device is not at fault: no program could be run, or it was killed.
superblock_facts() {
	local words code=0
	words=$(superblock_read "$1") || code=$?
	((code == 0)) || words=''
	# shellcheck disable=SC2086 # words of hexadecimal digits
	set -- $words
	# A disk that is spinning up has no size yet, and a read of it ends at once.
	if (($# == 1024)); then
		superblock_parse "$@"
	else
		printf 'sb=unreadable\n'
		((code != BOUNDED_SILENT)) || printf 'silent=yes\n'
		((code == BOUNDED_SILENT || code < 125)) || printf 'unseen=yes\n'
	fi
}

# Turns lines with a byte each, in decimal, into what superblock_dirty_bits prints. It exits with 1
# when the number of lines is not BYTES, because missing bytes would count as bits that are not set.
# It is in awk because bash takes half a minute for SUPERBLOCK_BITS_MOST bits.
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

# superblock_dirty_bits FILE [CHUNK]: prints the bits that are set in the leg's write-intent bitmap,
# as md takes them in sysfs ("3 17-20", Documentation/admin-guide/md.rst, bitmap_set_bits), in lines
# of less than a page; nothing when none is set. If the bitmap has more than SUPERBLOCK_BITS_MOST
# bits, it prints "all" without reading them: whoever wrote the disk must not decide how long this
# takes. It also prints "all" if a bit is not for CHUNK bytes, because the numbers then mean other
# places. Fails when the leg has no bitmap that can be read to its end, or when the bitmap's head is
# not of this array.
readonly SUPERBLOCK_BITS_MOST=1048576 # mdadm makes 64 MiB of an array one bit: 64 TiB
superblock_dirty_bits() {
	local words sector bits bytes uuid size room
	# shellcheck disable=SC2207 # hexadecimal digits
	words=($(superblock_read "$1")) && [[ ${words[0]} == "$SUPERBLOCK_MAGIC" ]] || return
	# The bitmap's start counts from the superblock, in sectors, and is negative if before it.
	sector=$((8 + (16#${words[24]} ^ 0x80000000) - 0x80000000))
	((sector > 0)) || return
	uuid=${words[*]:4:4} size=$((16#${words[21]}${words[20]})) \
		room=$((16#${words[33]}${words[32]}))
	# The bitmap must end before the data, if that comes after it.
	((room > sector)) && room=$((room - sector)) || room=$size
	# shellcheck disable=SC2207
	words=($(superblock_sectors_ "$1" "$sector" 1 | od -An -v -tx4 --endian=little -w512)) &&
		[[ ${words[0]} == "$SUPERBLOCK_BITMAP_MAGIC" ]] || return
	superblock_bitmap_is_sound_ || return
	bits=$((16#${words[11]}${words[10]} / (16#${words[13]} / 512)))
	((bits * (16#${words[13]} / 512) == 16#${words[11]}${words[10]})) || bits=$((bits + 1))
	bytes=$((((SUPERBLOCK_BITMAP_HEAD + (bits + 7) / 8 + 511) / 512) * 512))
	((bytes / 512 <= room)) || return
	((bits <= SUPERBLOCK_BITS_MOST && ${2-16#${words[13]}} == 16#${words[13]})) || {
		printf 'all\n'
		return
	}
	superblock_sectors_ "$1" "$sector" $((bytes / 512)) |
		tail -c "+$((SUPERBLOCK_BITMAP_HEAD + 1))" | od -An -v -tu1 -w1 |
		awk -v bits="$bits" -v bytes=$((bytes - SUPERBLOCK_BITMAP_HEAD)) \
			"$SUPERBLOCK_BITS_OF"
}

# Is the bitmap's head, in the caller's words, sound, and of the array with the caller's uuid and
# size (sectors)? (linux drivers/md/md-bitmap.c, md_bitmap_read_sb)
superblock_bitmap_is_sound_() {
	local chunk=$((16#${words[13]}))
	[[ ${words[*]:2:4} == "$uuid" && ${words[1]} == 0000000[345] && ${words[11]} == 00* ]] ||
		return
	((chunk >= 512 && (chunk & (chunk - 1)) == 0 && 16#${words[11]}${words[10]} <= size))
}

# superblock_sectors_ FILE SECTOR COUNT: prints COUNT sectors of 512 bytes from SECTOR on. It reads
# blocks of 4 KiB, so that it works on a disk with blocks of that size as well.
superblock_sectors_() {
	local flags=direct before=$(($2 % 8))
	[[ -b $1 ]] || flags=fullblock
	bounded "$1" dd if="$1" bs=4096 skip=$(($2 / 8)) count=$(((before + $3 + 7) / 8)) \
		iflag="$flags" status=none |
		tail -c "+$((before * 512 + 1))" | {
		# Read to the end: else SIGPIPE would kill the writer, and that would count as a
		# failure.
		head -c $(($3 * 512))
		cat >/dev/null
	}
}

# how often an unreadable superblock is tried, and the seconds between two tries
readonly SUPERBLOCK_TRIES=3 SUPERBLOCK_AGAIN=0.5
readonly SUPERBLOCK_PATIENCE=5 # seconds after which it is not read again

# superblock_facts_patiently NODE: prints what superblock_facts prints. It tries again when there is
# no answer, or only half a superblock: md may be writing it just now, the disk may answer a moment
# later, and there may be memory for one more process by then. A device that has not answered within
# its bound is not tried again.
superblock_facts_patiently() {
	local try facts NOW begin
	clock
	begin=$NOW
	for ((try = 1; try <= SUPERBLOCK_TRIES; try++)); do
		facts=$(superblock_facts "$DEV/$1") || facts=sb=unreadable
		[[ $facts != sb=@(ok|none)* && $facts != *silent=yes* ]] || break
		clock
		((try < SUPERBLOCK_TRIES && NOW - begin < SUPERBLOCK_PATIENCE)) || break
		sleep "$SUPERBLOCK_AGAIN"
	done
	printf '%s\n' "$facts"
}

# superblock_says NODE KEY: prints the value of KEY in the device's superblock, as superblock_parse
# names it.
superblock_says() {
	local key value
	while IFS='=' read -r key value; do
		[[ $key != "$2" ]] || printf '%s\n' "$value"
	done < <(superblock_facts_patiently "$1")
}
