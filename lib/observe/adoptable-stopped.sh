# Can ramraid adopt an array that is not running? It may be inactive, as an array with a ramdisk is
# after a reboot, or not even assembled. ADOPT_LEGS are its disks (sdb), ADOPT_SB is what their
# superblocks say, and ADOPT_MD is the inactive array, or nothing. Nothing is changed here.
# shellcheck shell=bash

need config/conf core/bounded core/log core/paths core/text notes/hardware notes/legs-seen
need notes/memory-floor observe/adoptable observe/adoptable-wrong observe/adoptable-zram
need observe/all-disks observe/facts observe/outside world/disk world/disk-find world/md-state
need world/ramdisk world/ramdisk-note world/stable-name world/superblock

declare -gA F # the facts: decide/facts.list

# adoptable_stopped_find: sets ADOPT_LEGS, unless the disks were named; ADOPT_SB ("LEG.KEY", as
# superblock_parse names the keys); and ADOPT_UUID. Ends the program when the disks are not those of
# one array.
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
		line="no superblock of md with metadata 1.2 (${ADOPT_SB[$leg.sb]-$TEXT_UNKNOWN})"
		# md lists a disk as a member of an inactive array until somebody stops the array,
		# even when the disk is gone.
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

# adoptable_stopped_check: does what adoptable_check does. Afterwards ACTION and ARGUMENTS are what
# a start would do, and ADOPT_SLOTS is how many slots the array has.
adoptable_stopped_check() {
	ADOPT_WRONG=''
	adoptable_name
	[[ $ADOPT_WRONG != ours ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
	adoptable_stopped_members_
	[[ -z $ADOPT_MD ]] || adoptable_numbered
	adoptable_stopped_blocks_
	adoptable_stopped_memory_
	[[ -z $ADOPT_WRONG ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
	adoptable_stopped_decide_
}

# There must be as many disks as slots, or one slot more. The extra slot is the ramdisk's if all
# disks are write-mostly, or if an earlier run has made it. The decision finds whatever else is
# wrong with a disk.
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
	((slots > count)) || [[ -z ${F[kernel.slots]} ]] || adoptable_wrong "${F[kernel.slots]}"
	((slots != count)) && {
		((slots != count + 1)) || [[ $all == no && -z $ADOPT_BEGUN ]]
	} || return 0
	adoptable_wrong "found $count disks for $slots slots; the slot without a disk is that of a \
ramdisk" \
		"only if the disks are write-mostly. Name all disks: ramraid adopt $NAME DISK…;" \
		"or start it without what is gone for good (mdadm --run), make it whole, and adopt \
it then"
}

# Each disk that an earlier run began with must still be in the configuration, even one that is
# absent now, or that was not named this time.
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

readonly ADOPTABLE_GPT=4546492050415254 # EFI PART

# Sets CONF[BLOCK] to 4096 if the array has a partition table that was made for such blocks, and its
# disks have smaller ones: before Linux 6.19, nothing else shows that it had them. That is known of
# a GPT, whose header is in the second block; a DOS table does not show it.
adoptable_stopped_blocks_() {
	local leg
	[[ -z $ADOPT_BEGUN && ${CONF[BLOCK]} == auto ]] || return 0
	for leg in "${ADOPT_LEGS[@]}"; do
		(($(disk_block "$leg") < 4096)) || return 0
	done
	for leg in "${ADOPT_LEGS[@]}"; do adoptable_stopped_gpt_ "$leg" || return 0; done
	CONF[BLOCK]=4096
	[[ -z ${ADOPTABLE_SAID-} ]] || return 0
	ADOPTABLE_SAID=yes
	log_notice "$NAME: the partition table on it counts in blocks of 4096 bytes, so it gets \
such blocks at every start (BLOCK=4096)"
}

# Does what is on the leg begin with a GPT for blocks of 4096 bytes, and has it none for smaller
# ones? The first block has the mark of such a table, and a partition of the type EE.
adoptable_stopped_gpt_() { # LEG
	local begin text INTO=(od -An -v -tx1)
	begin=${ADOPT_SB[$1.data_offset]-}
	text_number_or begin 0
	((begin > 0)) || return 1
	text=$(bounded "$DEV/$1" dd if="$DEV/$1" bs=512 skip="$begin" count=9 status=none) ||
		return 1
	text=${text//[[:space:]]/}
	[[ ${text:900:2} == ee && ${text:1020:4} == 55aa &&
		${text:1024:16} != "$ADOPTABLE_GPT" && ${text:8192:16} == "$ADOPTABLE_GPT" ]]
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

# Makes the decision of a start, as if it had stopped the inactive array, and as if no other disk
# were to appear.
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
