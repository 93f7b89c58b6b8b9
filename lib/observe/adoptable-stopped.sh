# Can an array be taken over that does not run: inactive, as an array with a ramdisk is after a
# reboot, or not even gathered? Its disks are ADOPT_LEGS (sdb), what their superblocks say is
# ADOPT_SB; ADOPT_MD is the inactive array, or nothing. Nothing is changed here.
# shellcheck shell=bash

need config/conf core/log core/paths notes/hardware notes/legs-seen notes/memory-floor
need observe/adoptable observe/adoptable-wrong observe/adoptable-zram observe/all-disks
need observe/facts observe/outside world/disk world/md-state world/ramdisk world/ramdisk-note
need world/stable-name world/superblock

declare -gA F # the facts: decide/facts.list

# adoptable_stopped_find: sets ADOPT_LEGS, unless the disks have been named, ADOPT_SB ("LEG.KEY",
# superblock_parse) and ADOPT_UUID. Ends the program when they are not those of one array.
adoptable_stopped_find() {
	local line leg key value LEGS uuids=() wrong=''
	if ((${#ADOPT_LEGS[@]} == 0)); then
		md_state_members "$ADOPT_MD"
		for line in "${LEGS[@]%% *}"; do
			ramdisk_note_is_node "$line" || ADOPT_LEGS+=("$line")
		done
	fi
	declare -gA ADOPT_SB=()
	ADOPT_UUID=''
	for leg in "${ADOPT_LEGS[@]}"; do
		while IFS='=' read -r key value; do
			ADOPT_SB[$leg.$key]=$value
		done < <(superblock_facts "$DEV/$leg")
		line="no superblock of md with metadata 1.2 (${ADOPT_SB[$leg.sb]})"
		# md lists a member of an inactive array as long as nobody stops that.
		[[ -z $ADOPT_MD || -e $SYS/class/block/$leg ]] ||
			line="is no longer there. Bring it back, then: \
mdadm --stop $ADOPT_COMMAND; ramraid adopt $NAME DISK…"
		uuids+=("/dev/$leg: ${ADOPT_SB[$leg.uuid]-$line}")
		[[ -n ${ADOPT_SB[$leg.uuid]-} ]] || wrong=yes
		[[ ${ADOPT_UUID:=${ADOPT_SB[$leg.uuid]-}} == "${ADOPT_SB[$leg.uuid]-}" ]] ||
			wrong=yes
	done
	[[ -n $wrong || -z $ADOPT_UUID ]] || return 0
	for line in "${uuids[@]}"; do log_error "$NAME: $line"; done
	die "$NAME: these are not the disks of one array; nothing was changed" "$EX_REFUSED"
}

# adoptable_stopped_check: as adoptable_check. After that ACTION and ARGUMENTS are what a start
# would do, and ADOPT_SLOTS is how many slots the array has.
adoptable_stopped_check() {
	ADOPT_WRONG=''
	adoptable_name
	[[ $ADOPT_WRONG != ours ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
	adoptable_stopped_members_
	[[ -z $ADOPT_MD ]] || adoptable_numbered
	adoptable_stopped_memory_
	[[ -z $ADOPT_WRONG ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
	adoptable_stopped_decide_
}

# As many disks as slots; or one slot more, which is the ramdisk's if all of them are write-mostly.
# What else is wrong with a disk the decision finds.
adoptable_stopped_members_() {
	local leg slots='' all=yes count=${#ADOPT_LEGS[@]}
	adoptable_stopped_noted_
	for leg in "${ADOPT_LEGS[@]}"; do
		[[ ${ADOPT_SB[$leg.level]} == 1 ]] ||
			adoptable_wrong "/dev/$leg: expected RAID level raid1," \
				"found ${ADOPT_SB[$leg.level]}; only a mirror can have a leg in RAM"
		stable_name_of "/dev/$leg" >/dev/null ||
			adoptable_wrong "/dev/$leg: has no stable name below \
/dev/disk (no serial number?)"
		[[ ${ADOPT_SB[$leg.writemostly]} == yes ]] || all=no
		((${ADOPT_SB[$leg.raid_disks]} <= ${slots:-0})) ||
			slots=${ADOPT_SB[$leg.raid_disks]}
	done
	ADOPT_SLOTS=$slots
	((slots != count)) && {
		((slots != count + 1)) || [[ $all == no && -z $ADOPT_BEGUN ]]
	} || return 0
	adoptable_wrong "found $count disks for $slots slots, \
and one slot more than disks is that of a ramdisk" \
		"only if the disks are write-mostly. Name all disks: ramraid adopt $NAME DISK…;" \
		"or start it without what is gone for good (mdadm --run), make it whole, \
and adopt it then"
}

# Of the disks that an earlier run has begun with each is one of the configuration: also one that
# is not there now, or has not been named.
adoptable_stopped_noted_() {
	local leg NODE
	for leg in "${ADOPTED_MEMBERS[@]}"; do
		if [[ " ${MEMBERS[*]} " == *" $leg "* ]]; then
			:
		elif disk_find "$leg"; then
			adoptable_named "$NODE"
		else
			adoptable_unnamed "$leg"
		fi
	done
}

adoptable_stopped_memory_() {
	local leg bytes=0 offset=0 size=0
	[[ ${CONF[RAM]} != none ]] || return 0
	for leg in "${ADOPT_LEGS[@]}"; do
		((${ADOPT_SB[$leg.data_offset]} <= offset)) || offset=${ADOPT_SB[$leg.data_offset]}
		size=${ADOPT_SB[$leg.size]}
	done
	bytes=$(((offset + size) * 512))
	if [[ ${CONF[RAM]} == /* ]]; then
		adoptable_device "$bytes" "$(disk_block "${ADOPT_LEGS[0]}")"
		return
	fi
	[[ ${CONF[RAM]} != zram* ]] || adoptable_zram "$bytes" "${ADOPT_LEGS[@]}"
	adoptable_room "$bytes" 0
}

# The start's own decision, as if it had stopped the inactive array, and as if no disk were to come
# any more.
adoptable_stopped_decide_() {
	local i
	facts_observe
	if [[ ${F[array.state]} == inactive && -z ${F[array.strangers]} ]]; then
		F[array.md]='' F[array.state]=absent
		for ((i = 0; i < ${F[members]}; i++)); do
			[[ -n ${F[leg.$i.node]} ]] || continue
			F[leg.$i.in]=''
			outside_leg_superblock "$i"
			legs_seen_joined "$i"
			hardware_judge "$i"
		done
	fi
	all_disks_decide eventually
	log_printable WHY
	[[ $ACTION == assemble ]] || die "$NAME: $WHY; nothing was changed" "$EX_REFUSED"
}
