# The steps by which "adopt" makes an array ours. Each can be done again, or is left out when it is
# done. NAME, ADOPT_MD, ADOPT_UUID, ADOPT_STOPPED, ADOPT_LEGS, ADOPT_SB, HAND_MADE: as in
# cmd/adopt.sh and observe/adoptable-stopped.sh.
# shellcheck shell=bash

need act/hand-made-drop config/conf core/act core/cli core/text notes/adopted observe/facts
need observe/hand-made world/disk world/disk-name world/md world/md-state

# adoption_note: what the array was. What an earlier run has noted was before that run changed
# anything; but a ramdisk may have been made by hand since.
adoption_note() {
	local before=${ADOPTED[ramdisk]-}
	[[ -z $HAND_MADE ]] || ADOPTED[ramdisk]=$(hand_made_identity "$HAND_MADE")
	[[ -z ${ADOPTED[uuid]-} || ${ADOPTED[ramdisk]-} != "$before" ]] || return 0
	[[ -n ${ADOPTED[uuid]-} ]] || adoption_note_array_
	adopted_write "$NAME"
}

# Of an array that does not run the superblocks say it.
adoption_note_array_() {
	local line leg writemostly LEGS
	ADOPTED+=([uuid]=$ADOPT_UUID [bitmap]=none [done]=no)
	ADOPTED_MEMBERS=("${MEMBERS[@]}")
	if [[ -n $ADOPT_STOPPED ]]; then
		for leg in "${ADOPT_LEGS[@]}"; do
			[[ ${ADOPT_SB[$leg.bitmap]} != yes ]] || ADOPTED[bitmap]=internal
			[[ ${ADOPT_SB[$leg.writemostly]} != yes ]] ||
				ADOPTED_WRITEMOSTLY+=("$(disk_name_stable "/dev/$leg")")
		done
		return
	fi
	ADOPTED[bitmap]=$(md_bitmap "$ADOPT_MD")
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		text_into "$line" leg _ _ writemostly
		[[ $writemostly == no ]] || facts_is_ram "$leg" ||
			ADOPTED_WRITEMOSTLY+=("$(disk_name_stable "/dev/$leg")")
	done
}

# adoption_conf: prints the configuration.
adoption_conf() {
	printf '# Mirror with one leg in RAM, made by "ramraid adopt". Every key: ramraid.conf(5).\nUUID=%s\n' \
		"$ADOPT_UUID"
	printf 'MEMBER=%s\n' "${MEMBERS[@]}"
	[[ -z ${OPT[ram]-} ]] || printf 'RAM=%s\n' "${OPT[ram]}"
	[[ ${CONF[ROOT]} == no ]] || printf 'ROOT=yes\n'
	[[ ${CONF[BLOCK]} == auto ]] || printf 'BLOCK=%s\n' "${CONF[BLOCK]}"
}

# adoption_array: what a running array of ours has. The bitmap before the slot: mdadm makes it with
# all bits set, and in an array that lacks a member md would then rewrite every chunk
# (md_bitmap_load() in linux drivers/md/md-bitmap.c); in a whole one it clears them, in its own
# time. So one that lacks a member already gets it when it is whole.
adoption_array() {
	local ARRAY_STATE READAUTO
	md_state "$ADOPT_MD"
	[[ $READAUTO == no ]] || md_make_writable "$ADOPT_MD"
	hand_made_drop_backlog
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
		[[ -n $DRY_RUN ]] || hand_made_drop_backlog
	done
}
