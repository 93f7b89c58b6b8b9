# Can ramraid adopt a running array? "ramraid adopt" checks this before it changes anything. The
# array is ADOPT_MD (md127), and its UUID is ADOPT_UUID. ADOPT_BEGUN=yes means that an earlier run
# has already written its configuration. Sets HAND_MADE (observe/hand-made.sh), and ADOPT_KEPT to
# the member that is the RAM leg and not a ramdisk, or to nothing.
# shellcheck shell=bash

need config/conf config/conf-whose core/cli core/log core/paths core/quantity core/text
need notes/memory-floor observe/adoptable-wrong observe/adoptable-zram observe/facts
need observe/hand-made observe/lasting-names world/disk world/disk-find world/initramfs
need world/md world/md-state world/ramdisk world/ramdisk-note world/stable-name

declare -gA F # the facts: decide/facts.list

# adoptable_check: reports everything that is wrong, not just the first thing, and ends the program
# with 4 if there was anything. The configuration (as it is, or as it will be) and its facts must
# have been loaded before.
adoptable_check() {
	ADOPT_WRONG=''
	hand_made_find "$NAME" "$ADOPT_MD"
	adoptable_name
	# The array is ours already, and the advice of the later checks would be wrong for it.
	[[ $ADOPT_WRONG != ours ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
	adoptable_kind_
	adoptable_members_
	adoptable_work_
	adoptable_use_
	adoptable_memory_
	[[ -z $ADOPT_WRONG ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
}

# Reports another array of that name, and this array under another name.
adoptable_name() {
	local link other what="/dev/$ADOPT_MD"
	[[ -n $ADOPT_MD ]] || what="array $ADOPT_UUID"
	link=$(readlink -e "$DEV/md/$NAME") || link=''
	[[ ${link##*/} == @(|"$ADOPT_MD") ]] ||
		adoptable_wrong "/dev/md/$NAME is another array (${link##*/}); choose another name"
	while IFS= read -r other; do
		adoptable_wrong "$what is configured already, as $other ($ETC/$other.conf); see: \
ramraid status $other"
		ADOPT_WRONG=ours
	done < <(conf_same "$NAME" "$ADOPT_UUID")
}

# adoptable_is_ FILE PATTERN WHAT ELSE: reports WHAT and ELSE if md's value in FILE does not match
# PATTERN.
adoptable_is_() {
	local VALUE
	md_state_read "$ADOPT_MD" "$1"
	# shellcheck disable=SC2053 # a pattern
	[[ $VALUE == $2 ]] || adoptable_wrong "/dev/$ADOPT_MD: $3, found ${VALUE:-nothing}; $4"
}

adoptable_kind_() {
	local VALUE name why \
		copy="to move what it holds, make a mirror on other disks (ramraid create), \
and copy it there"
	md_state_read "$ADOPT_MD" level
	if [[ $VALUE == raid10 ]]; then
		name=$(stable_name_of "/dev/$ADOPT_MD") || name=/dev/$ADOPT_MD
		adoptable_wrong "/dev/$ADOPT_MD: expected RAID level raid1, found raid10; $copy." \
			"If nothing is on it, it can be the disk leg of a mirror: \
ramraid create $NAME $name"
	else
		adoptable_is_ level raid1 'expected RAID level raid1' \
			"only a mirror can have a leg in RAM; $copy"
	fi
	why=$(adoptable_wrong_metadata "$ADOPT_MD")
	[[ -z $why ]] || adoptable_wrong "/dev/$ADOPT_MD: $why; $copy"
	adoptable_is_ array_state '@(clean|active|active-idle|write-pending|read-auto)' \
		'expected a running array that can be written' \
		"see: mdadm --detail $ADOPT_COMMAND"
	case $(md_bitmap "$ADOPT_MD") in
	file)
		adoptable_wrong "/dev/$ADOPT_MD: its bitmap is a file, \
which has to be named at every start;" \
			"take it away first: mdadm --grow $ADOPT_COMMAND --bitmap=none"
		;;
	clustered)
		adoptable_wrong "/dev/$ADOPT_MD: is shared by a cluster; a leg in one machine's \
RAM can't be shared"
		;;
	esac
}

# Every member must be a disk in sync with a stable name, or the one that is, or was, the RAM leg.
# No slot may be free, except one that an earlier run has made, or that belonged to a ramdisk which
# was lost at the last reboot. In the latter case all members are write-mostly, as disks beside a
# ramdisk are.
adoptable_members_() {
	local line LEGS leg state slot writemostly count=0 slots over=$ADOPT_BEGUN all=yes flaw=''
	ADOPT_KEPT=''
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		text_into "$line" leg state slot writemostly
		if facts_is_ram "$leg"; then
			over=yes
			if ramdisk_note_is_node "$leg"; then
				adoptable_hand_made_ "$leg" "$state"
			else
				ADOPT_KEPT=$leg
			fi
			continue
		fi
		count=$((count + 1))
		[[ $writemostly == yes ]] || all=no
		adoptable_member_ "$leg" "$state" "$slot"
		adoptable_named "$leg"
	done
	[[ -z $ADOPT_KEPT || -n $ADOPT_BEGUN ]] || adoptable_kept_
	[[ $HAND_MADE != *' '* ]] ||
		adoptable_wrong "/dev/$ADOPT_MD: has more than one ramdisk ($HAND_MADE)," \
			"but can have only one leg in RAM; take the others out first"
	((count > 0)) || adoptable_wrong "/dev/$ADOPT_MD: has no member that is a disk"
	slots=$(md_slots "$ADOPT_MD")
	((slots != count)) || return 0
	[[ -z $over && $all == no ]] || ((slots != count + 1)) || return 0
	[[ -z ${F[kernel.slots]} ]] || flaw=". But not on this kernel: ${F[kernel.slots]}"
	adoptable_wrong "/dev/$ADOPT_MD: expected as many members as slots, \
found $count in $slots slots. Bring the missing one back;" \
		"or, if its slot is not needed any more: mdadm --grow --force \
$ADOPT_COMMAND --raid-devices=$count$flaw"
}

# adoptable_is_fast LEG: is it the fast member, from which md reads or should read? It must be in
# sync and not write-mostly, and each of the others must be write-mostly, or rotational while LEG is
# not.
adoptable_is_fast() {
	local line LEGS leg state writemostly others=0 ok=''
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		text_into "$line" leg state _ writemostly
		if [[ $leg == "$1" ]]; then
			[[ "$state $writemostly" == 'in_sync no' ]] || return 1
			ok=yes
			continue
		fi
		others=$((others + 1))
		[[ $writemostly == yes ]] || { disk_is_rotational "$leg" &&
			! disk_is_rotational "$1"; } || return 1
	done
	[[ -n $ok ]] && ((others > 0))
}

# Checks the device that is to stay as the RAM leg. From then on it does not count as a copy, so it
# must not be a disk like the others.
adoptable_kept_() {
	! adoptable_is_fast "$ADOPT_KEPT" || return 0
	adoptable_wrong "/dev/$ADOPT_KEPT: a member can stay as the RAM leg if \
it is in sync and not" \
		"write-mostly, and the others are write-mostly or, unlike it, hard disks; \
else" "$(adoptable_out_ "$ADOPT_KEPT")"
}

# adoptable_out_ LEG [THEN]: prints how to take LEG out of the array, and what to do THEN. Returns
# 1, and prints what to do first, if it has to stay: if nothing else in the array, apart from
# ramdisks, is in sync, or these lack blocks that LEG has.
adoptable_out_() {
	local line LEGS leg state others=()
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		text_into "$line" leg state
		[[ $leg != "$1" && $state == in_sync ]] || continue
		ramdisk_note_is_node "$leg" || others+=("$leg")
	done
	if md_state_is_covered "$ADOPT_MD" "$1" "${others[@]}"; then
		printf 'take it out first: mdadm %s --fail /dev/%s --remove /dev/%s%s\n' \
			"$ADOPT_COMMAND" "$1" "$1" "${2-}"
		return
	fi
	line='wait until another disk in the array is in sync'
	((${#others[@]} == 0)) || line="copy what is on the array elsewhere first: no other disk \
has all that is on it"
	printf '%s; do not take it out before that\n' "$line"
	return 1
}

# Checks a ramdisk that was made by hand, which leaves the array later. It is faulty if an earlier
# run has already failed it.
adoptable_hand_made_() { # LEG STATE
	local users
	[[ " $HAND_MADE " == *" $1 "* ]] || return 0
	[[ $2 != recovering ]] ||
		adoptable_wrong "/dev/$1: is a ramdisk that md is just filling, or a spare;" \
			"wait until it is filled (mdadm --wait $ADOPT_COMMAND), or take it out" \
			"first: mdadm $ADOPT_COMMAND --fail /dev/$1 --remove /dev/$1"
	users=$(disk_users "$1")
	[[ $users == "$ADOPT_MD" ]] ||
		adoptable_wrong "/dev/$1: is a ramdisk that others use as well (${users//$'\n'/, })"
	[[ $1 == ram* ]] || return 0
	case ${CONF[RAM]} in
	none | rapiddisk | /*) return ;;
	auto) ! ramdisk_has_rapiddisk || return 0 ;;
	esac
	adoptable_wrong "/dev/$1: is a ramdisk of brd, and ramraid uses no brd that somebody" \
		"else has loaded; $(adoptable_out_ "$1" '; rmmod brd')"
}

adoptable_member_() { # LEG STATE SLOT
	local disk way
	disk=$(stable_name_of "/dev/$1") || {
		disk=/dev/$1
		adoptable_wrong "$disk: has no stable name below /dev/disk (no serial number?), \
so a configuration can't name it"
	}
	if [[ $1 == *!* ]]; then
		adoptable_wrong "$disk: expected a device without a slash in its name, \
found /dev/${1//!//}"
	elif [[ $2 == faulty ]]; then
		adoptable_wrong "$disk: expected in sync, found faulty: md has given it up. \
Replace it first"
	elif [[ $3 == none ]]; then
		adoptable_wrong "$disk: is a spare, which md would put where the RAM leg belongs;" \
			"take it out first: mdadm $ADOPT_COMMAND --remove $disk"
	elif [[ $2 != in_sync ]]; then
		adoptable_wrong "$disk: expected in sync, found $2; wait until it is rebuilt: \
mdadm --wait $ADOPT_COMMAND"
	elif md_has_bad_blocks "$ADOPT_MD" "$1"; then
		way=$(adoptable_out_ "$1") && way='replace that disk first'
		adoptable_wrong "$disk: has bad blocks, and md accepts no new member while it has; \
$way"
	fi
}

# adoptable_named LEG: is LEG, a disk of the array, in the configuration that an earlier run has
# written? If not, reports it: somebody may have deleted its line since, and the RAM leg would get
# its slot.
adoptable_named() {
	local disk NODE
	[[ -n $ADOPT_BEGUN ]] || return 0
	for disk in "${MEMBERS[@]}"; do
		! disk_find "$disk" || [[ $NODE != "$1" ]] || return 0
	done
	! disk=$(stable_name_of "/dev/$1") || adoptable_unnamed "$disk"
}

adoptable_unnamed() { # DISK, by a name that lasts
	adoptable_wrong "$ETC/$NAME.conf no longer names $1, a disk of the array that an earlier \
run has begun to adopt. Add MEMBER=$1 there again, and type the same again;" \
		"to take that disk out of the array, delete the line after that, then: ramraid \
apply $NAME"
}

# md accepts neither a bitmap nor a slot while it is working on the array.
adoptable_work_() {
	local SYNC DONE TOTAL RATE folder=/sys/block/$ADOPT_MD/md
	[[ -z $ADOPT_BEGUN || -n $HAND_MADE || $(md_bitmap "$ADOPT_MD") == none ]] ||
		(($(md_slots "$ADOPT_MD") == ${#MEMBERS[@]})) || return 0
	md_state_sync "$ADOPT_MD"
	if [[ $SYNC == frozen ]]; then
		# A "mdadm --grow" that was killed leaves it like this (freeze() in mdadm's Grow.c).
		adoptable_wrong "/dev/$ADOPT_MD: its sync_action is frozen; if nothing else is \
working on it: echo idle >$folder/sync_action"
	elif [[ $SYNC != idle ]]; then
		adoptable_wrong "/dev/$ADOPT_MD: md is at work on it ($SYNC, \
$(quantity_show_progress "$DONE" "$TOTAL" "$RATE"));" \
			"wait until that has ended: mdadm --wait $ADOPT_COMMAND"
	elif md_state_is_pending "$ADOPT_MD"; then
		adoptable_wrong "/dev/$ADOPT_MD: its disks are not known to be equal, a resync is \
due; let it finish first"
	fi
}

# Reports what would not survive the next boot, and what must not read from the array before the RAM
# leg is in sync.
adoptable_use_() {
	adoptable_root_
	adoptable_numbered
	[[ -z ${F[kernel.slots]} ]] || (($(md_slots "$ADOPT_MD") > ${#MEMBERS[@]})) ||
		adoptable_wrong "/dev/$ADOPT_MD: ${F[kernel.slots]}"
	[[ -z ${F[kernel.flaw]} ]] || disk_is_unused "$ADOPT_MD" ||
		adoptable_wrong "/dev/$ADOPT_MD: is in use, and on this kernel a RAM leg must not \
be rebuilt while it is: ${F[kernel.flaw]}." \
			'Unmount it first'
}

# Reports names in fstab and crypttab that do not last. What an array holds can't be seen unless it
# runs.
adoptable_numbered() {
	local line file number source new \
		what='a name that it will not have after the next boot; write'
	lasting_names_find "$NAME" "$ADOPT_MD"
	[[ -z ${OPT[fix_fstab]-} || -z $ADOPT_STOPPED ]] || return 0
	for line in "${LASTING_NOT[@]}"; do
		new=/dev/md/$NAME
		[[ -z $ADOPT_STOPPED ]] || line=${line%% (*} new+=' there, or add --fix-fstab'
		adoptable_wrong "$line, $what $new"
	done
	[[ -z ${OPT[fix_fstab]-} ]] || return 0
	while read -r file number source new; do
		adoptable_wrong "$file:$number: $source, $what $new there, or add --fix-fstab"
	done < <(((${#LASTING[@]} == 0)) || printf '%s\n' "${LASTING[@]}")
}

# The initramfs starts the array of the root file system, before the units run. It mounts a separate
# /usr as well, but nothing in it starts an array for that.
adoptable_root_() {
	case $(disk_carries "$ADOPT_MD" / /usr) in
	'') ;;
	/usr)
		adoptable_wrong "/dev/$ADOPT_MD: carries /usr, which the initramfs needs, but not \
the root file system; that is not supported yet"
		;;
	*)
		[[ -n $(initramfs_generator) ]] ||
			adoptable_wrong "/dev/$ADOPT_MD: carries /, and neither initramfs-tools \
nor dracut makes the initramfs that has to start it; that is not supported yet"
		[[ ${CONF[ROOT]} == yes ]] ||
			adoptable_wrong "/dev/$ADOPT_MD: carries /; \
write ROOT=yes in $ETC/$NAME.conf"
		;;
	esac
}

adoptable_memory_() {
	local line LEGS bytes HAND_MADE_LEFT
	[[ ${CONF[RAM]} != none ]] || return 0
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		line=${line%% *}
		! facts_is_ram "$line" || [[ " $HAND_MADE " == *" $line "* ]] || return 0
	done
	bytes=$(md_state_leg_bytes "$ADOPT_MD") || {
		adoptable_wrong "/dev/$ADOPT_MD: md does not say how large a member is"
		return
	}
	if [[ ${CONF[RAM]} == /* ]]; then
		adoptable_device "$bytes" "$(disk_block "$ADOPT_MD")"
		return
	fi
	[[ ${CONF[RAM]} != zram* ]] || adoptable_zram "$bytes" "${LEGS[@]%% *}"
	hand_made_find_left "$NAME" "$ADOPT_UUID"
	adoptable_room "$bytes" "$(hand_made_freed "${HAND_MADE:-$HAND_MADE_LEFT}")"
}

# adoptable_room BYTES FREED: reports if there is no memory for a ramdisk of BYTES, after one of
# FREED bytes has been given back. Sets ADOPT_TAKES to how much memory the ramdisk takes.
adoptable_room() {
	local why MEMORY_RESERVE MEMORY_RESERVE_BY
	memory_floor_reserve
	ADOPT_TAKES=$(ramdisk_need "${CONF[RAM]}" "$1" "${CONF[RAM_LIMIT]}")
	why=$(ramdisk_why_not "$ADOPT_TAKES" "$MEMORY_RESERVE" "$2") || why=$TEXT_UNKNOWN
	[[ -z $why ]] ||
		adoptable_wrong "$why. Free memory, or lower RAM_RESERVE in $ETC/ramraid.conf"
}

# An earlier run may have got so far that it has taken the device, which then holds the superblock
# of this array. In that case the start judges it.
adoptable_device() { # BYTES BLOCK
	local why NODE
	stable_name_is_fast "${CONF[RAM]}" ||
		adoptable_wrong "${CONF[RAM]}: has no stable name below /dev/disk (no serial \
number?), so a configuration can't name it"
	[[ -z $ADOPT_BEGUN ]] || return 0
	why=$(ramdisk_device_why_not "${CONF[RAM]}" "$1" "$2") || why=$TEXT_UNKNOWN
	[[ -z $why ]] || adoptable_wrong "${CONF[RAM]}: ${why//$'\n'/; }"
	disk_find "${CONF[RAM]}" || return 0
	why=$(conf_whose "$NODE" "$NAME") || why=$TEXT_UNKNOWN
	[[ -z $why ]] || adoptable_wrong "${CONF[RAM]}: ${why/$'\n'/. }"
}
