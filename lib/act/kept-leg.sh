# A member that "adopt" keeps in the array as the RAM leg, as a fast disk beside write-mostly ones.
# NAME, ADOPT_MD, ADOPT_UUID, ADOPT_KEPT: as in cmd/adopt.sh and observe/adoptable.sh.
# shellcheck shell=bash

need config/conf core/act core/log core/paths notes/adopted report/progress-line world/disk world/md
need world/md-check world/ramdisk-note world/superblock

# kept_leg_make_equal: an array that was made with --assume-clean may differ in what nobody has
# written, and reads come from this member. So md compares, and it stays only if the legs are equal.
# Else the disk legs count: it leaves, its superblock goes, so that no bitmap puts it back, and the
# start fills it whole. What stood in the way of that is noted, for who types "adopt" again. md has
# waited for all writes before it compares, write-behind included (raise_barrier() in linux
# drivers/md/raid1.c; close_write() there).
kept_leg_make_equal() {
	local NODE=''
	[[ -n $ADOPT_KEPT || -n ${ADOPTED[refill]-} ]] || return 0
	if [[ -n $DRY_RUN ]]; then
		kept_leg_print_
		return
	fi
	if [[ -z ${ADOPTED[refill]-} ]] && kept_leg_is_equal_; then
		log_notice "$NAME: md has compared the legs, and they are equal: \
/dev/$ADOPT_KEPT stays as it is"
		ramdisk_note_device "$NAME" "$ADOPT_KEPT"
		return
	fi
	[[ -n ${ADOPTED[refill]-} ]] || kept_leg_note_
	adopted_write "$NAME"
	[[ -z $ADOPT_KEPT ]] || md_drop "$ADOPT_MD" "$ADOPT_KEPT" ||
		die "$NAME: /dev/$ADOPT_KEPT stays: the disks lack what it has, \
or md does not let it go" "$EX_REFUSED"
	! disk_find "${CONF[RAM]}" || kept_leg_wipe_ "$NODE"
	ADOPTED[refill]=''
	adopted_write "$NAME"
}

# What would be done (DRY_RUN). One that an earlier run has taken out has only its superblock left.
kept_leg_print_() {
	if [[ -z ${ADOPTED[refill]-} ]]; then
		md_check_print "$ADOPT_MD"
		log_notice "$NAME: if the legs differ then:"
	fi
	[[ -z $ADOPT_KEPT ]] || md_drop "$ADOPT_MD" "$ADOPT_KEPT"
	NODE=$ADOPT_KEPT
	[[ -n $NODE ]] || disk_find "${CONF[RAM]}" || return 0
	kept_leg_clear_ "$NODE"
}

# What it is known by to a start that comes before this has ended (observe/static.sh).
kept_leg_note_() {
	ADOPTED[refill]=yes
	[[ ! $(superblock_facts "$DEV/$ADOPT_KEPT") =~ device_uuid=([0-9a-f-]+) ]] ||
		ADOPTED[refill]=${BASH_REMATCH[1]}
}

# Returns 1 when the legs differ.
kept_leg_is_equal_() {
	local MISMATCHES=0 bytes PROGRESS_SHOWN=''
	bytes=$(md_bytes "$ADOPT_MD") || die "$NAME: /dev/$ADOPT_MD has been stopped" "$EX_INACTIVE"
	log_info "having md compare the legs, within its own speed limits"
	md_check_left "$ADOPT_MD"
	md_check "$ADOPT_MD" 0 $((bytes / 512)) kept_leg_look_ ||
		die "$NAME: md has not compared the legs to the end, \
or is at work on something else; see: cat /proc/mdstat" "$EX_TRY_AGAIN"
	progress_line_end "$PROGRESS_SHOWN"
	((MISMATCHES > 0)) || return 0
	log_warning "$NAME: $MISMATCHES sectors differ between the legs. The disk legs count:\
 /dev/$ADOPT_KEPT leaves the array, and is filled from them"
	return 1
}
kept_leg_look_() { progress_line_md "$ADOPT_MD"; }

# Signatures that are older than the array would have the start refuse it; they go first, since the
# superblock is what it is known by.
kept_leg_wipe_() { # NODE
	[[ -z $(md_of_leg "$1") &&
	$(superblock_facts "$DEV/$1") == *$'\nuuid='"$ADOPT_UUID"$'\n'* ]] || return 0
	kept_leg_clear_ "$1"
}
kept_leg_clear_() { # NODE
	act wipefs --all --quiet --types nolinux_raid_member -- "/dev/$1"
	md_wipe "$1"
}
