# The state of md arrays, as each look needs it: what /sys/block/*/md says about an array, a leg and
# its bad blocks, and whether a disk can become a leg. This file changes nothing. world/md.sh makes
# the changes, and has the queries that only a change needs.
# shellcheck shell=bash
#
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

need core/paths core/text

# md_state_read MD FILE: sets VALUE to the first line of a file in the array's sysfs folder; empty
# when it can't be read.
md_state_read() {
	VALUE=''
	{ read -r VALUE <"$SYS/block/$1/md/$2"; } 2>/dev/null || :
}

# md_state_read_slots MD: sets SLOTS to how many slots the array has, free ones included (linux
# Documentation/admin-guide/md.rst, raid_disks); 0 when md does not say.
md_state_read_slots() {
	local VALUE
	md_state_read "$1" raid_disks
	SLOTS=${VALUE%% *} # "3 (2)" while it changes
	text_number_or SLOTS 0
}

# md_state_run MD: sets MD_RUN to what names this run of the array, from its assembly to its stop,
# and no other run in this boot: the array's kernel name, and the number that the kernel gives a
# device when it appears. Empty when the kernel gives none (Linux before 5.15).
md_state_run() {
	MD_RUN=''
	{ read -r MD_RUN <"$SYS/block/$1/diskseq"; } 2>/dev/null || :
	MD_RUN=${MD_RUN:+$1 $MD_RUN}
}

# Each member's folder is md/dev-LEG. Beside what is read here, it has the number of read errors
# that md has counted ("errors").
readonly MD_LEG=md/dev-

# md_state_every_leg: sets DISK_LIKELY to the members of all arrays, started or not.
md_state_every_leg() {
	DISK_LIKELY=("$SYS"/block/md*/md/dev-*)
	DISK_LIKELY=("${DISK_LIKELY[@]##*/dev-}")
}

# md_state MD: sets ARRAY_STATE to absent, inactive, active or broken (linux
# Documentation/admin-guide/md.rst, array_state), and READAUTO to yes or no: did md start the array
# read-only until the first write? Debian loads md_mod with start_ro=1. While that lasts, neither a
# resync nor the recovery of a re-added leg begins.
md_state() {
	local VALUE=''
	READAUTO=no
	[[ -z $1 ]] || md_state_read "$1" array_state
	case $VALUE in
	'' | clear) ARRAY_STATE=absent ;;
	inactive | broken) ARRAY_STATE=$VALUE ;;
	read-auto) ARRAY_STATE=active READAUTO=yes ;;
	*) ARRAY_STATE=active ;;
	esac
}

# md_state_members MD: sets LEGS to "LEG STATE SLOT WRITEMOSTLY" for each member; STATE is in_sync,
# recovering or faulty, SLOT a number or "none". A leg that is taken out during the look does not
# count: its files can no longer be read (ENODEV; rdev_attr_show() in linux drivers/md/md.c), while
# a member always has a word for its state.
md_state_members() {
	local folder state slot writemostly words
	LEGS=()
	for folder in "$SYS/block/$1"/md/dev-*; do
		[[ -d $folder ]] || continue
		slot='' words='' state=recovering writemostly=no
		{
			read -r slot <"$folder/slot"
			read -r words <"$folder/state"
		} 2>/dev/null || :
		[[ -n $words ]] || continue
		[[ ,$words, != *,in_sync,* ]] || state=in_sync
		[[ ,$words, != *,faulty,* ]] || state=faulty
		[[ ,$words, != *,write_mostly,* ]] || writemostly=yes
		LEGS+=("${folder##*/dev-} $state ${slot:-none} $writemostly")
	done
}

# md_state_slots_free MD: sets FREE to how many slots hold no member, or a faulty one, and FAULTY to
# the faulty members. While a slot is free, md clears no bit after a write, nor after the recovery
# of another member (still_degraded in raid1_sync_request(), linux drivers/md/raid1.c). So the
# bitmap has everything that an absent member lacks.
md_state_slots_free() {
	local LEGS SLOTS line node state slot filled=' '
	md_state_read_slots "$1"
	md_state_members "$1"
	FREE=$SLOTS FAULTY=()
	for line in "${LEGS[@]}"; do
		text_into "$line" node state slot _
		[[ $state != faulty ]] || FAULTY+=("$node")
		[[ $state != faulty && $slot != none && $filled != *" $slot "* ]] || continue
		# A replacement has the slot of the member that it replaces.
		filled+="$slot " FREE=$((FREE - 1))
	done
}

# md_state_bad_on_all_but MD OTHER LEG…: are there blocks that md has recorded as bad (they can't be
# read or written) on every one of these LEGs, and not on OTHER ("": no other)? A write that fails
# on a leg is acknowledged when another leg has taken it, and the leg stays in sync
# (narrow_write_error() in linux drivers/md/raid1.c). Where a rebuild could not read a block, md has
# recorded it on both legs. For mirrors only: in other layouts, a block is not at the same place on
# each leg.
md_state_bad_on_all_but() {
	local md=$1 other=$2 RANGES CUT none
	shift 2
	md_state_bad_on_all "$md" "$@" || return 1
	none=("${RANGES[@]}") RANGES=()
	[[ -z $other ]] || md_state_bad_ "$md" "$other" || :
	md_state_ranges_subtract "${none[@]}"
	((${#RANGES[@]} > 0))
}

# md_state_is_covered MD LEG OTHER…: do these other members, which are in sync, have everything that
# LEG has, so that it may leave? In a layout other than a mirror, it is not known which blocks
# belong together, so each of the others must be without bad blocks.
md_state_is_covered() {
	local md=$1 leg=$2 other VALUE
	shift 2
	(($# > 0)) || return 1
	md_state_leg_is_in_sync "$md" "$leg" || return 0
	md_state_read "$md" level
	[[ ${VALUE:-raid1} != raid1 ]] || {
		! md_state_bad_on_all_but "$md" "$leg" "$@"
		return
	}
	for other; do
		md_state_leg_is_in_sync "$md" "$other" || return 1
		md_state_read "$md" "dev-$other/bad_blocks"
		[[ -z $VALUE ]] || return 1
	done
}

# md_state_bad_on_all MD LEG…: sets RANGES to the blocks that md has recorded as bad on every one of
# these LEGs. Returns 1 when there are none.
md_state_bad_on_all() {
	local md=$1 leg CUT none=("0 $((1 << 62))")
	shift
	(($# > 0)) || return 1
	for leg; do
		# A leg that has been taken out meanwhile has no blocks to offer.
		md_state_bad_ "$md" "$leg" || continue
		[[ -z $CUT ]] || RANGES[-1]="$CUT $((1 << 62))"
		((${#RANGES[@]} > 0)) || return 1
		md_state_ranges_intersect_ "${none[@]}"
		none=("${RANGES[@]}")
	done
	RANGES=("${none[@]}")
	((${#RANGES[@]} > 0))
}

# Sets RANGES to the blocks that md has recorded as bad on a leg: "FROM END", in sectors of the
# array. Returns 1, with RANGES empty, when the leg is gone. The list may grow while it is read, and
# the kernel makes it anew for each read, so all of it is read at once. If it is longer than the
# page that sysfs gives (badblocks_show() in linux block/badblocks.c), its last line may end within
# a number. CUT is then where the last range begins: from there on, nothing is known. Otherwise CUT
# is empty.
md_state_bad_() { # MD LEG
	local VALUE lines=() line from='' before='' sorted=yes size=0
	RANGES=() CUT=''
	{ mapfile -t lines <"$SYS/block/$1/md/dev-$2/bad_blocks"; } 2>/dev/null || :
	md_state_read "$1" "dev-$2/offset"
	[[ -d $SYS/block/$1/md/dev-$2 && (-n $VALUE || ${#lines[@]} == 0) ]] || return 1
	for line in "${lines[@]}"; do
		size=$((size + ${#line} + 1))
		[[ $line =~ ^([0-9]+)\ ([0-9]+)$ ]] || continue
		from=$((10#${BASH_REMATCH[1]} - VALUE))
		RANGES+=("$from $((from + 10#${BASH_REMATCH[2]}))")
		((from >= ${before:-from})) || sorted=no
		before=$from
	done
	[[ $sorted == yes ]] || mapfile -t RANGES < <(printf '%s\n' "${RANGES[@]}" | sort -n)
	((size < 4095)) || ((size < $(getconf PAGESIZE) - 1)) || CUT=${RANGES[-1]% *}
}

# md_state_bitmap MD: sets BITMAP to where the array's bitmap is: none, internal, file or clustered
# (linux Documentation/admin-guide/md.rst, bitmap/location and bitmap/metadata).
md_state_bitmap() {
	local VALUE
	md_state_read "$1" bitmap/metadata
	[[ $VALUE == clustered ]] || md_state_read "$1" bitmap/location
	case $VALUE in
	'' | none) BITMAP=none ;;
	file* | clustered) BITMAP=${VALUE%%:*} ;;
	*) BITMAP=internal ;;
	esac
}

# md_state_sync MD: sets SYNC (idle, resync, recover, check …), DONE and TOTAL (sectors), RATE
# (KiB a second).
md_state_sync() {
	local VALUE
	SYNC=idle DONE=0 TOTAL=0 RATE=0
	md_state_read "$1" sync_action
	SYNC=${VALUE:-idle}
	[[ $SYNC != idle ]] || return 0
	md_state_read "$1" sync_completed
	[[ ! $VALUE =~ ^([0-9]+)\ /\ ([0-9]+)$ ]] ||
		DONE=${BASH_REMATCH[1]} TOTAL=${BASH_REMATCH[2]}
	md_state_read "$1" sync_speed
	[[ ! $VALUE =~ ^[0-9]+$ ]] || RATE=$VALUE
}

# md_state_is_pending MD: is a resync due, or under way? resync_start is "none" when the legs are
# equal.
md_state_is_pending() {
	local VALUE
	md_state_read "$1" resync_start
	[[ $VALUE == [0-9]* ]]
}

# md_state_leg_is_in_sync MD LEG
md_state_leg_is_in_sync() {
	local VALUE
	md_state_read "$1" "dev-$2/state"
	[[ ,$VALUE, == *,in_sync,* && ,$VALUE, != *,faulty,* ]]
}

# md_state_leg_bytes MD: prints how large a new member must be, in bytes: the largest data offset of
# the members plus the size of the data. Returns 1 when md does not say.
md_state_leg_bytes() {
	local VALUE folder offset=0
	for folder in "$SYS/block/$1"/md/dev-*; do
		md_state_read "$1" "${folder##*/}/offset"
		[[ ! $VALUE =~ ^[0-9]+$ ]] || ((VALUE <= offset)) || offset=$VALUE
	done
	md_state_read "$1" component_size # KiB
	[[ $VALUE =~ ^[0-9]+$ ]] || return 1
	printf '%s\n' $((VALUE * 1024 + offset * 512))
}

# md_state_leg_why_not MD NODE: prints why a disk can't become a leg of a running array, one reason
# per line; nothing if it can. A disk with larger blocks than the array's would make the array's
# blocks larger while the array is in use (raid1_add_disk() in linux drivers/md/raid1.c before
# 6.19), and no file system on it is prepared for that.
md_state_leg_why_not() {
	local bytes need block most
	need world/disk
	need=$(md_state_leg_bytes "$1") || {
		printf 'md does not say how large a leg of %s is\n' "$1"
		return 0
	}
	bytes=$(disk_bytes "$2") block=$(disk_block "$2") most=$(disk_block "$1")
	((bytes >= need)) ||
		printf 'it has %s bytes, and a leg of %s needs %s\n' "$bytes" "$1" "$need"
	((block <= most)) ||
		printf 'its blocks of %s bytes are larger than those of %s (%s)\n' "$block" "$1" \
			"$most"
}

# md_state_leg_room MD LEG: prints how much data a member has room for, in KiB: from its data offset
# to its end, since superblock and bitmap are before the data (metadata 1.1 and 1.2;
# super_1_rdev_size_change() in linux drivers/md/md.c). Returns 1 when md does not say.
md_state_leg_room() {
	local VALUE
	need world/disk
	md_state_read "$1" "dev-$2/offset"
	[[ $VALUE =~ ^[0-9]+$ ]] || return 1
	printf '%s\n' $((($(disk_bytes "$2") / 512 - VALUE) / 2))
}

# Ranges of numbers, such as lists of bad blocks. Each is "FROM END", without END itself. They are
# sorted by FROM, as the kernel keeps its lists. There may be hundreds, so each function goes
# through both lists only once.
# md_state_ranges_intersect_ RANGE…: sets RANGES to what it has in common with these ranges.
md_state_ranges_intersect_() {
	local range from end i=0 out=()
	for range; do
		from=${range% *} end=${range#* }
		# The last of RANGES that begins before end may reach into the next range, too.
		while ((i < ${#RANGES[@]})) && ((${RANGES[i]% *} < end)); do
			((${RANGES[i]#* } <= from)) ||
				out+=("$((${RANGES[i]% *} > from ? ${RANGES[i]% *} : from)) \
$((${RANGES[i]#* } < end ? ${RANGES[i]#* } : end))")
			((${RANGES[i]#* } <= end)) || break
			i=$((i + 1))
		done
	done
	RANGES=("${out[@]}")
}

# md_state_ranges_subtract RANGE…: sets RANGES to what these ranges cover and RANGES does not.
md_state_ranges_subtract() {
	local range from end i=0 out=()
	for range; do
		from=${range% *} end=${range#* }
		while ((i < ${#RANGES[@]})) && ((${RANGES[i]% *} < end)); do
			((${RANGES[i]% *} <= from)) || out+=("$from ${RANGES[i]% *}")
			((${RANGES[i]#* } <= from)) || from=${RANGES[i]#* }
			((from < end)) || break
			i=$((i + 1))
		done
		((from >= end)) || out+=("$from $end")
	done
	RANGES=("${out[@]}")
}
