# md superblocks of version 1.2 and their write-intent bitmaps, byte by byte. Layout: linux include/uapi/linux/raid/md_p.h, struct mdp_superblock_1;
# drivers/md/md-bitmap.h, struct bitmap_super_s.
# shellcheck shell=bash

readonly SB_MAGIC=a92b4efc SB_FEATURE_BITMAP=1 SB_FEATURE_RECOVERY=2
readonly SB_BITMAP_MAGIC=6d746962 SB_BITMAP_HEAD=256 # bytes before the bits
readonly SB_ROLE_SPARE=65535 SB_ROLE_FAULTY=65534
# Device roles are u16 from byte 256 to the end of the 4 KiB block.
readonly SB_MAX_ROLES=1920

# sb_read FILE: prints the 4 KiB block at byte 4096 as 1024 little-endian hexadecimal words.
# O_DIRECT, because the page cache keeps an old superblock while md runs (shown by a test of the bench: stale pages after updates).
sb_read() {
	local flags=direct
	[[ -b $1 ]] || flags=fullblock # fixtures lie on file systems without O_DIRECT
	dd if="$1" bs=4096 skip=1 count=1 iflag="$flags" status=none | od -An -v -tx4 --endian=little -w4096
}

# sb_parse WORDS…: prints facts about a superblock as KEY=VALUE lines; the first is "sb=ok", or "sb=none" (not a superblock of ours)
# or "sb=corrupt" (magic, but wrong version, absurd counts, or a wrong checksum), and then nothing follows.
#   uuid device_uuid (hexadecimal, as md/uuid prints them) level raid_disks size data_offset data_size (sectors of 512) events
#   time (seconds since 1970, when md wrote it last)
#   role (slot number, spare, faulty) view (A or . for each slot) recovery (sectors, empty: complete) dirty (yes, no)
#   bitmap (yes, no) writemostly (yes, no)
# Without a process, because the boot calls it twice a second for each leg.
sb_parse() {
	[[ $# == 1024 && $1 == "$SB_MAGIC" ]] || {
		printf 'sb=none\n'
		return
	}
	local max_roles=$((16#${56})) raid_disks=$((16#${24})) number=$((16#${41}))
	((max_roles <= SB_MAX_ROLES)) || max_roles=0
	# No more of them than count: copying is what takes time.
	local -a w=("${@:1:64+(max_roles + 1)/2}")
	if ((16#${w[1]} != 1 || max_roles < 1 || raid_disks < 1 || raid_disks > max_roles || number >= max_roles)) || ! sb_counts_ok w ||
		! sb_checksum_ok w "$max_roles"; then
		printf 'sb=corrupt\n'
		return
	fi
	local features=$((16#${w[2]})) recovery='' dirty=no bitmap=no writemostly=no SB_UUID uuid SB_ROLE SB_VIEW
	((!(features & SB_FEATURE_BITMAP))) || bitmap=yes
	((!(features & SB_FEATURE_RECOVERY))) || printf -v recovery '%u' $((16#${w[39]}${w[38]}))
	# A clean array's resync_offset is the highest number there is.
	[[ ${w[53]}${w[52]} == ffffffffffffffff ]] || dirty=yes
	((!(16#${w[46]} & 1))) || writemostly=yes
	sb_uuid "${w[@]:4:4}"
	uuid=$SB_UUID
	sb_uuid "${w[@]:42:4}"
	sb_role w "$number" "$raid_disks"
	sb_view w "$raid_disks" "$max_roles"
	printf '%s=%s\n' sb ok uuid "$uuid" device_uuid "$SB_UUID" level $((16#${w[18]})) \
		raid_disks "$raid_disks" size $((16#${w[21]}${w[20]})) data_offset $((16#${w[33]}${w[32]})) data_size $((16#${w[35]}${w[34]})) \
		events $((16#${w[51]}${w[50]})) time $((16#${w[49]:6:2}${w[48]})) \
		role "$SB_ROLE" view "$SB_VIEW" recovery "$recovery" dirty "$dirty" bitmap "$bitmap" writemostly "$writemostly"
}

# sb_uuid WORD×4: SB_UUID = the 16 bytes in their order on disk, 8-4-4-4-12.
sb_uuid() {
	local word hex=''
	for word; do hex+=${word:6:2}${word:4:2}${word:2:2}${word:0:2}; done
	SB_UUID=${hex:0:8}-${hex:8:4}-${hex:12:4}-${hex:16:4}-${hex:20:12}
}

# sb_role_of WORDS NUMBER: dev_roles[NUMBER] of the superblock words in the array that WORDS names; result in ROLE.
sb_role_of() {
	local -n words_=$1
	ROLE=$(((16#${words_[64 + $2 / 2]} >> ($2 % 2 * 16)) & 0xffff))
}

# sb_role WORDS NUMBER RAID_DISKS: sets SB_ROLE. What is no slot of this array, md makes a spare (linux drivers/md/md.c, md_analyze_sbs).
sb_role() {
	local ROLE
	sb_role_of "$1" "$2"
	SB_ROLE=$ROLE
	((ROLE < $3)) || SB_ROLE=spare
	((ROLE != SB_ROLE_FAULTY)) || SB_ROLE=faulty
}

sb_view() { # WORDS RAID_DISKS MAX_ROLES: SB_VIEW = which slots this superblock calls active
	local -n words_=$1
	local word role count=0
	printf -v SB_VIEW '%*s' "$2" ''
	SB_VIEW=${SB_VIEW// /.}
	# Two in a word, the first in its lower half.
	for word in "${words_[@]:64:($3 + 1)/2}"; do
		count=$((count + 2))
		[[ $word != fff[ef]fff[ef] ]] || continue
		for role in $((16#${word:4})) $((count > $3 ? $2 : 16#${word:0:4})); do
			((role >= $2)) || SB_VIEW=${SB_VIEW:0:role}A${SB_VIEW:role+1}
		done
	done
}

# sb_counts_ok WORDS: are size, data_offset, data_size and events below 2^56? No array gets there, bash's numbers have a sign, and a leg that
# claims more would be newer than every honest one.
sb_counts_ok() {
	local -n words_=$1
	[[ ${words_[21]} == 00* && ${words_[33]} == 00* && ${words_[35]} == 00* && ${words_[51]} == 00* ]]
}

# sb_sum WORDS MAX_ROLES: sets SB_SUM as linux drivers/md/md.c, calc_sb_1_csum: the sum of all words up to the last role, without the
# checksum itself, its carries added back once.
sb_sum() {
	local -n words_=$1
	local sum count=$(((256 + 2 * $2) / 4))
	# One expression instead of a loop.
	printf -v sum '+16#%s' "${words_[@]:0:count}"
	sum=$((sum - 16#${words_[54]}))
	(($2 % 2 == 0)) || sum=$((sum + (16#${words_[count]} & 0xffff)))
	SB_SUM=$(((sum & 0xffffffff) + (sum >> 32) & 0xffffffff))
}

sb_checksum_ok() { # WORDS MAX_ROLES
	local -n sealed_=$1
	local SB_SUM
	sb_sum "$1" "$2"
	((SB_SUM == 16#${sealed_[54]}))
}

# sb_facts FILE: sb_parse of what the device holds; "sb=unreadable" when it can't be read.
sb_facts() {
	local words
	words=$(sb_read "$1" 2>/dev/null) || words=''
	# shellcheck disable=SC2086 # words of hexadecimal digits
	set -- $words
	# A disk that spins up has no size yet, and reads as if it ended there.
	if (($# < 1024)); then printf 'sb=unreadable\n'; else sb_parse "$@"; fi
}

# sb_dirty_bits FILE: prints the bits that are set in the leg's write-intent bitmap, as md takes them in sysfs ("3 17-20", Documentation/admin-guide/md.rst,
# bitmap_set_bits), in lines of less than a page; nothing when there is none. Returns 1 when it has no bitmap that can be read.
sb_dirty_bits() {
	local words sector bits at value bit number first='' last='' line=''
	# shellcheck disable=SC2207 # hexadecimal digits
	words=($(sb_read "$1")) && [[ ${words[0]} == "$SB_MAGIC" ]] || return
	# Where it begins counts from the superblock, in sectors; before it, if negative.
	sector=$((8 + (16#${words[24]} ^ 0x80000000) - 0x80000000))
	((sector > 0)) || return
	# shellcheck disable=SC2207
	words=($(sb_sectors_ "$1" "$sector" 1 | od -An -v -tx4 --endian=little -w512)) && [[ ${words[0]} == "$SB_BITMAP_MAGIC" ]] || return
	((16#${words[13]} >= 512)) || return
	bits=$((16#${words[11]}${words[10]} / (16#${words[13]} / 512)))
	((bits * (16#${words[13]} / 512) == 16#${words[11]}${words[10]})) || bits=$((bits + 1))
	while read -r at value _; do
		for ((bit = 0; bit < 8; bit++)); do
			number=$(((at - 1) * 8 + bit))
			((8#$value >> bit & 1 && number < bits)) || continue
			if [[ -n $first ]] && ((number == last + 1)); then
				last=$number
				continue
			fi
			sb_print_bits_
			first=$number last=$number
		done
	done < <(sb_sectors_ "$1" "$sector" $(((SB_BITMAP_HEAD + (bits + 7) / 8 + 511) / 512)) | tail -c "+$((SB_BITMAP_HEAD + 1))" | cmp -l -- - /dev/zero 2>/dev/null)
	sb_print_bits_
	[[ -z $line ]] || printf '%s\n' "$line"
}

sb_print_bits_() { # adds the caller's first to last to its line
	[[ -n $first ]] || return 0
	line+=${line:+ }$first
	((last == first)) || line+=-$last
	((${#line} < 4000)) || {
		printf '%s\n' "$line"
		line=''
	}
}

# sb_sectors_ FILE SECTOR COUNT: these sectors of 512 bytes, read in blocks that a disk with blocks of 4 KiB takes as well.
sb_sectors_() {
	local flags=direct before=$(($2 % 8))
	[[ -b $1 ]] || flags=fullblock
	dd if="$1" bs=4096 skip=$(($2 / 8)) count=$(((before + $3 + 7) / 8)) iflag="$flags" status=none | tail -c "+$((before * 512 + 1))" | head -c $(($3 * 512))
}
