# md superblocks of version 1.2, byte by byte. Layout: linux include/uapi/linux/raid/md_p.h, struct mdp_superblock_1.
# shellcheck shell=bash

readonly SB_MAGIC=a92b4efc SB_FEATURE_BITMAP=1 SB_FEATURE_RECOVERY=2
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
#   role (slot number, spare, faulty) view (A or . for each slot) recovery (sectors, empty: complete) dirty (yes, no)
#   bitmap (yes, no) writemostly (yes, no)
sb_parse() {
	local -a w=("$@")
	[[ ${#w[@]} == 1024 && ${w[0]} == "$SB_MAGIC" ]] || {
		printf 'sb=none\n'
		return
	}
	local max_roles=$((16#${w[55]})) raid_disks=$((16#${w[23]})) number=$((16#${w[40]}))
	if ((16#${w[1]} != 1 || max_roles < 1 || max_roles > SB_MAX_ROLES || raid_disks < 1 || raid_disks > max_roles || number >= max_roles)) ||
		! sb_checksum_ok w "$max_roles"; then
		printf 'sb=corrupt\n'
		return
	fi
	local features=$((16#${w[2]})) recovery='' dirty=no bitmap=no writemostly=no
	((!(features & SB_FEATURE_BITMAP))) || bitmap=yes
	((!(features & SB_FEATURE_RECOVERY))) || recovery=$((16#${w[39]}${w[38]}))
	# A clean array's resync_offset is the highest number there is.
	[[ ${w[53]}${w[52]} == ffffffffffffffff ]] || dirty=yes
	((!(16#${w[46]} & 1))) || writemostly=yes
	printf '%s=%s\n' sb ok uuid "$(sb_uuid "${w[@]:4:4}")" device_uuid "$(sb_uuid "${w[@]:42:4}")" level $((16#${w[18]})) \
		raid_disks "$raid_disks" size $((16#${w[21]}${w[20]})) data_offset $((16#${w[33]}${w[32]})) data_size $((16#${w[35]}${w[34]})) events $((16#${w[51]}${w[50]})) \
		role "$(sb_role w "$number")" view "$(sb_view w "$raid_disks" "$max_roles")" recovery "$recovery" dirty "$dirty" \
		bitmap "$bitmap" writemostly "$writemostly"
}

# sb_uuid WORD×4: the 16 bytes in their order on disk, 8-4-4-4-12.
sb_uuid() {
	local word hex=''
	for word; do hex+=${word:6:2}${word:4:2}${word:2:2}${word:0:2}; done
	printf '%s-%s-%s-%s-%s\n' "${hex:0:8}" "${hex:8:4}" "${hex:12:4}" "${hex:16:4}" "${hex:20:12}"
}

# sb_role_of NUMBER: dev_roles[NUMBER] of the superblock words in the array that SB_WORDS names; result in ROLE.
sb_role_of() {
	local -n words_=$1
	ROLE=$(((16#${words_[64 + $2 / 2]} >> ($2 % 2 * 16)) & 0xffff))
}

sb_role() { # WORDS NUMBER
	local ROLE
	sb_role_of "$1" "$2"
	case $ROLE in
	"$SB_ROLE_SPARE") printf 'spare\n' ;;
	"$SB_ROLE_FAULTY") printf 'faulty\n' ;;
	*) printf '%s\n' "$ROLE" ;;
	esac
}

sb_view() { # WORDS RAID_DISKS MAX_ROLES: which slots this superblock calls active
	local ROLE i view
	printf -v view '%*s' "$2" ''
	view=${view// /.}
	for ((i = 0; i < $3; i++)); do
		sb_role_of "$1" "$i"
		((ROLE >= $2)) || view=${view:0:ROLE}A${view:ROLE+1}
	done
	printf '%s\n' "$view"
}

# sb_checksum_ok WORDS MAX_ROLES: linux drivers/md/md.c, calc_sb_1_csum: the sum of all words up to the last role, without the
# checksum itself, its carries added back once.
sb_checksum_ok() {
	local -n words_=$1
	local i sum=0 count=$(((256 + 2 * $2) / 4))
	for ((i = 0; i < count; i++)); do ((sum += 16#${words_[i]})) || :; done
	(($2 % 2 == 0)) || sum=$((sum + (16#${words_[count]} & 0xffff)))
	sum=$((sum - 16#${words_[54]}))
	((((sum & 0xffffffff) + (sum >> 32) & 0xffffffff) == 16#${words_[54]}))
}

# sb_facts FILE: sb_parse of what the device holds; "sb=unreadable" when it can't be read.
sb_facts() {
	local words
	words=$(sb_read "$1" 2>/dev/null) || {
		printf 'sb=unreadable\n'
		return
	}
	# shellcheck disable=SC2086 # 1024 words of hexadecimal digits
	sb_parse $words
}
