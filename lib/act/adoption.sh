# The steps by which "adopt" makes an array ours. They deal with its members and its bitmap; with a
# member that stays as the RAM leg, such as a fast disk beside write-mostly ones; with a ramdisk
# that somebody made by hand, which leaves the array ("release" uses that, too); and with names that
# do not last, which --fix-fstab replaces by UUIDs. Each step can be repeated, or is skipped if it
# is already done. For NAME, ADOPT_MD, ADOPT_UUID, ADOPT_KEPT, ADOPT_STOPPED, ADOPT_LEGS, ADOPT_SB
# and HAND_MADE, see cmd/adopt.sh, observe/adoptable.sh and observe/adoptable-stopped.sh.
# shellcheck shell=bash

need act/block-size config/conf core/act core/cli core/clock core/log core/paths core/text
need notes/adopted observe/facts observe/hand-made observe/lasting-names report/progress-line
need world/disk-find world/md world/md-check world/md-state world/ramdisk world/ramdisk-note
need world/stable-name world/superblock world/systemd

declare -gA F # the facts: decide/facts.list

# adoption_note: writes down what the array was. The note of an earlier run stays, because that run
# made it before it changed anything; but a ramdisk that was made by hand since is added.
adoption_note() {
	local before=${ADOPTED[ramdisk]-}
	[[ -z $HAND_MADE ]] || ADOPTED[ramdisk]=$(hand_made_identity "$HAND_MADE")
	[[ -z ${ADOPTED[uuid]-} || ${ADOPTED[ramdisk]-} != "$before" ]] || return 0
	[[ -n ${ADOPTED[uuid]-} ]] || adoption_note_array_
	adopted_write "$NAME"
}

# For an array that does not run, this comes from the superblocks.
adoption_note_array_() {
	local line leg writemostly LEGS
	ADOPTED+=([uuid]=$ADOPT_UUID [bitmap]=none [done]=no)
	ADOPTED_MEMBERS=("${MEMBERS[@]}")
	if [[ -n $ADOPT_STOPPED ]]; then
		for leg in "${ADOPT_LEGS[@]}"; do
			[[ ${ADOPT_SB[$leg.bitmap]} != yes ]] || ADOPTED[bitmap]=internal
			[[ ${ADOPT_SB[$leg.writemostly]} != yes ]] ||
				ADOPTED_WRITEMOSTLY+=("$(stable_name_of "/dev/$leg")")
		done
		return
	fi
	ADOPTED[bitmap]=$(md_bitmap "$ADOPT_MD")
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		text_into "$line" leg _ _ writemostly
		[[ $writemostly == no ]] || facts_is_ram "$leg" ||
			ADOPTED_WRITEMOSTLY+=("$(stable_name_of "/dev/$leg")")
	done
}

# adoption_is_4096: will the configuration have BLOCK=4096?
adoption_is_4096() {
	local disk nodes=()
	[[ ${CONF[BLOCK]} != 4096 ]] || return 0
	for disk in "${MEMBERS[@]}"; do nodes+=("$(disk_find_node "$disk")"); done
	block_size_is_mixed "${nodes[@]}"
}

# adoption_conf: prints the configuration.
adoption_conf() {
	printf '# Mirror with one leg in RAM, made by "ramraid adopt". %s\nUUID=%s\n' \
		'Every key: ramraid.conf(5).' "$ADOPT_UUID"
	printf 'MEMBER=%s\n' "${MEMBERS[@]}"
	[[ -z ${OPT[ram]-} ]] || printf 'RAM=%s\n' "${OPT[ram]}"
	[[ ${CONF[ROOT]} == no ]] || printf 'ROOT=yes\n'
	! adoption_is_4096 || printf 'BLOCK=4096\n'
}

# adoption_array: gives the running array what our arrays have. The bitmap comes before the slot:
# mdadm makes it with all bits set, and in an array that lacks a member md would then rewrite every
# chunk (md_bitmap_load() in linux drivers/md/md-bitmap.c). In a whole array md clears the bits, in
# its own time. So an array that already lacks a member gets its bitmap once it is whole.
adoption_array() {
	local ARRAY_STATE READAUTO
	md_state "$ADOPT_MD"
	[[ $READAUTO == no ]] || md_make_writable "$ADOPT_MD"
	adoption_hand_made_backlog
	adoption_bitmap
	(($(md_slots "$ADOPT_MD") > ${#MEMBERS[@]})) ||
		md_set_slots "$ADOPT_MD" $((${#MEMBERS[@]} + 1))
}

adoption_bitmap() {
	local line VALUE LEGS legs=()
	[[ $(md_bitmap "$ADOPT_MD") == none ]] || return 0
	md_state_read "$ADOPT_MD" degraded
	[[ $VALUE == 0 ]] || return 0
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do facts_is_ram "${line%% *}" || legs+=("${line%% *}"); done
	md_add_bitmap "$ADOPT_MD" "${legs[@]}"
}

adoption_writemostly() {
	local line leg writemostly LEGS
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		text_into "$line" leg _ _ writemostly
		if [[ $writemostly == yes ]] || facts_is_ram "$leg"; then continue; fi
		md_set_writemostly "$ADOPT_MD" "$leg"
		[[ -n $DRY_RUN ]] || adoption_hand_made_backlog
	done
}

# adoption_kept_make_equal: the legs of an array that was made with --assume-clean may differ where
# nobody has written, and reads come from this member. So md compares the legs, and the member stays
# only if they are equal. If not, the disk legs count: the member leaves, its superblock is wiped so
# that no bitmap puts it back, and the start fills it completely. Until it is wiped, ADOPTED[refill]
# is noted, so that "adopt" typed again finishes this. Before md compares, it waits for all writes,
# write-behind included (raise_barrier() and close_write() in linux drivers/md/raid1.c).
adoption_kept_make_equal() {
	local NODE=''
	[[ -n $ADOPT_KEPT || -n ${ADOPTED[refill]-} ]] || return 0
	if [[ -n $DRY_RUN ]]; then
		adoption_kept_print_
		return
	fi
	if [[ -z ${ADOPTED[refill]-} ]] && adoption_kept_is_equal_; then
		log_notice "$NAME: md has compared the legs, and they are equal: \
/dev/$ADOPT_KEPT stays as it is"
		ramdisk_note_device "$NAME" "$ADOPT_KEPT"
		return
	fi
	[[ -n ${ADOPTED[refill]-} ]] || adoption_kept_note_
	adopted_write "$NAME"
	[[ -z $ADOPT_KEPT ]] || md_drop "$ADOPT_MD" "$ADOPT_KEPT" ||
		die "$NAME: /dev/$ADOPT_KEPT could not be taken out: the disks lack what it has, \
or md does not release it" "$EX_REFUSED"
	! disk_find "${CONF[RAM]}" || adoption_kept_wipe_ "$NODE"
	ADOPTED[refill]=''
	adopted_write "$NAME"
}

# Prints what would be done (DRY_RUN). If an earlier run has taken the member out, only its
# superblock is left to wipe.
adoption_kept_print_() {
	if [[ -z ${ADOPTED[refill]-} ]]; then
		md_check_print "$ADOPT_MD"
		log_notice "$NAME: if the legs differ, then:"
	fi
	[[ -z $ADOPT_KEPT ]] || md_drop "$ADOPT_MD" "$ADOPT_KEPT"
	NODE=$ADOPT_KEPT
	[[ -n $NODE ]] || disk_find "${CONF[RAM]}" || return 0
	adoption_kept_clear_ "$NODE"
}

# Notes the device UUID, by which a start that comes before this is finished recognises the member
# (observe/before-look.sh).
adoption_kept_note_() {
	ADOPTED[refill]=yes
	[[ ! $(superblock_facts "$DEV/$ADOPT_KEPT") =~ device_uuid=([0-9a-f-]+) ]] ||
		ADOPTED[refill]=${BASH_REMATCH[1]}
}

# Returns 1 when the legs differ.
adoption_kept_is_equal_() {
	local MISMATCHES=0 bytes PROGRESS_SHOWN=''
	bytes=$(md_bytes "$ADOPT_MD") || die "$NAME: /dev/$ADOPT_MD has been stopped" "$EX_INACTIVE"
	log_info "having md compare the legs, within its own speed limits"
	md_check_left "$ADOPT_MD"
	md_check "$ADOPT_MD" 0 $((bytes / 512)) adoption_kept_look_ ||
		die "$NAME: md did not finish comparing the legs, or is busy with something else; \
see: cat /proc/mdstat" "$EX_TRY_AGAIN"
	progress_line_end "$PROGRESS_SHOWN"
	((MISMATCHES > 0)) || return 0
	log_warning "$NAME: $MISMATCHES sectors differ between the legs. The disk legs are taken \
as correct: /dev/$ADOPT_KEPT is taken out and rebuilt from them"
	return 1
}
adoption_kept_look_() { progress_line_md "$ADOPT_MD"; }

# The start would refuse the device if it had signatures that are older than the array. They go
# before the superblock, because that is what identifies the device.
adoption_kept_wipe_() { # NODE
	[[ -z $(md_of_leg "$1") &&
	$(superblock_facts "$DEV/$1") == *$'\nuuid='"$ADOPT_UUID"$'\n'* ]] || return 0
	adoption_kept_clear_ "$1"
}
adoption_kept_clear_() { # NODE
	act wipefs --all --quiet --types nolinux_raid_member -- "/dev/$1"
	md_wipe "$1"
}

# adoption_drop_hand_made: takes the ramdisk that was made by hand out of the array, unless an
# earlier run has, and gives its memory back. Ends the program with 4 when it has to stay.
adoption_drop_hand_made() {
	[[ -z $HAND_MADE ]] || md_drop "$ADOPT_MD" "$HAND_MADE" ||
		die "$NAME: /dev/$HAND_MADE could not be taken out: the disks lack what it has, or \
md does not release it" "$EX_REFUSED"
	adoption_hand_made_left "$NAME" "$ADOPT_UUID" "$HAND_MADE"
}

# adoption_hand_made_left NAME UUID NODE: gives back the memory of the ramdisk in ADOPTED, if it has
# left the array UUID and nobody uses it; or says what becomes of that memory. With DRY_RUN, NODE is
# the ramdisk that would have left.
adoption_hand_made_left() {
	local node=$3 HAND_MADE_LEFT
	if [[ -z $DRY_RUN || -z $node ]]; then
		hand_made_find_left "$1" "$2"
		node=$HAND_MADE_LEFT
	fi
	case $node in
	'') ;;
	rd*)
		ramdisk_drop_node "$node" || log_warning "$1: the memory of /dev/$node was not \
given back; when nothing uses it any more: rapiddisk --detach $node"
		;;
	*) log_notice "$1: /dev/$node $(adoption_hand_made_fate "$node")" ;;
	esac
}

# adoption_hand_made_fate NODE: prints what becomes of it, in words.
adoption_hand_made_fate() {
	case $1 in
	rd*) printf 'its memory is given back\n' ;;
	zram*) printf 'keeps its memory until it is reset (zramctl --reset /dev/%s)\n' "$1" ;;
	*) printf 'keeps its memory until brd is unloaded (rmmod brd)\n' ;;
	esac
}

# adoption_hand_made_backlog: switches write-behind off. md accepts that only while a member is
# write-mostly (backlog_store() in linux drivers/md/md-bitmap.c). A ramdisk that is to leave may
# hold what the disks lack until all writes under way have reached them, so this waits for these.
adoption_hand_made_backlog() {
	local VALUE NOW end LEGS
	md_state_members "$ADOPT_MD"
	md_state_read "$ADOPT_MD" bitmap/backlog
	((${VALUE:-0} > 0)) && [[ " ${LEGS[*]} " == *' yes '* ]] || return 0
	((${F[conf.write_behind]} == 0)) || [[ -n $HAND_MADE ]] || return 0
	md_set_backlog "$ADOPT_MD" 0
	[[ -z $DRY_RUN && -n $HAND_MADE ]] || return 0
	clock
	end=$((NOW + MD_BOUND))
	until md_is_quiet "$ADOPT_MD"; do
		clock
		((NOW < end)) ||
			die "$NAME: write-behind was on, and the array is never idle, so the disks \
may lack what /dev/$HAND_MADE has. Stop whatever writes to it, then type this again" "$EX_REFUSED"
		sleep 0.2
	done
}

# adoption_lasting_names: makes the replacements in LASTING. It keeps a copy of each file, and
# changes no other byte. If it is killed at any point, a file is the old one or the new one, and the
# copy is there before the new one.
adoption_lasting_names() {
	local file
	((${#LASTING[@]} > 0)) || return 0
	for file in /etc/fstab /etc/crypttab; do
		[[ " ${LASTING[*]}" == *" $file "* ]] || continue
		adoption_lasting_names_file_ "$file" ||
			die "$NAME: $file could not be changed; it is as it was"
	done
	systemd_reload
}

adoption_lasting_names_file_() { # FILE
	local LC_ALL=C line number target text lines=()
	target=$(readlink -e -- "$ROOT$1") || return
	mapfile lines <"$target"
	printf -v text '%s' "${lines[@]}"
	# bash can't hold a NUL byte.
	((${#text} == $(stat -c %s -- "$target"))) || return
	for line in "${LASTING[@]}"; do
		[[ $line == "$1 "* ]] || continue
		line=${line#"$1 "} number=${line%% *} line=${line#* }
		adoption_lasting_names_line_ "$1" $((number - 1)) "${line% *}" "${line##* }" ||
			return
	done
	adoption_lasting_names_copy_ "$1" "$target" "$text" || return
	printf -v text '%s' "${lines[@]}"
	adoption_lasting_names_text_ "$target" "$text" "$target"
}

# Replaces OLD by NEW in the caller's lines. Returns 1 if OLD is gone: somebody changed the file.
adoption_lasting_names_line_() { # FILE INDEX OLD NEW
	local line=${lines[$2]-} before rest
	before=${line%%"$3"*}
	[[ $before != "$line" ]] || return 1
	rest=${line#"$before$3"}
	case $1 in
	/etc/fstab) [[ $before =~ ^[[:blank:]]*$ ]] ;;
	*) [[ $before =~ ^[[:blank:]]*[^[:blank:]]+[[:blank:]]+$ ]] ;;
	esac && [[ $rest == @(|[[:space:]]*) ]] || return 1
	lines[$2]=$before$4$rest
}

# An earlier copy stays, and this one gets a number, unless one has the same contents already.
adoption_lasting_names_copy_() { # FILE TARGET TEXT
	local copy=$ROOT$1.ramraid-old number=1
	while [[ -e $copy || -L $copy ]]; do
		! cmp -s -- "$copy" "$2" || return 0
		number=$((number + 1))
		copy=$ROOT$1.ramraid-old.$number
	done
	if [[ -n $DRY_RUN ]]; then
		act cp -p -- "$2" "$copy"
	else adoption_lasting_names_text_ "$copy" "$3" "$2"; fi
}

# Writes TEXT to PATH, with the mode and the owner of LIKE.
adoption_lasting_names_text_() { # PATH TEXT LIKE
	local mode
	mode=$(stat -c '%a %u:%g' -- "$3") || return
	act_text "$1" "$2" "${mode% *}" "${mode#* }"
}
