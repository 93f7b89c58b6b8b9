# "adopt" takes a ramdisk out of the array that somebody has made by hand (observe/hand-made.sh),
# and gives its memory back, or "release" does. NAME, ADOPT_MD, ADOPT_UUID, HAND_MADE: as in
# cmd/adopt.sh.
# shellcheck shell=bash

need core/act core/clock core/log observe/hand-made world/md world/md-state world/ramdisk

declare -gA F # the facts: decide/facts.list

# hand_made_drop: it leaves, or has left in an earlier run.
hand_made_drop() {
	[[ -z $HAND_MADE ]] || md_drop "$ADOPT_MD" "$HAND_MADE" ||
		die "$NAME: /dev/$HAND_MADE stays: the disks lack what it has, \
or md does not let it go" "$EX_REFUSED"
	hand_made_drop_left "$NAME" "$ADOPT_UUID" "$HAND_MADE"
}

# hand_made_drop_left NAME UUID NODE: the memory of the ramdisk in ADOPTED comes back, if it has
# left the array UUID and is nobody's; or it is said what it keeps. NODE: it would have left
# (DRY_RUN).
hand_made_drop_left() {
	local node=$3 HAND_MADE_LEFT
	if [[ -z $DRY_RUN || -z $node ]]; then
		hand_made_find_left "$1" "$2"
		node=$HAND_MADE_LEFT
	fi
	case $node in
	'') ;;
	rd*)
		ramdisk_drop_node "$node" || log_warning "$1: the memory of /dev/$node is not\
 given back; when nobody uses it: rapiddisk --detach $node"
		;;
	*) log_notice "$1: /dev/$node $(hand_made_drop_fate "$node")" ;;
	esac
}

# hand_made_drop_fate NODE: what becomes of it, in words.
hand_made_drop_fate() {
	case $1 in
	rd*) printf 'its memory is given back\n' ;;
	zram*) printf 'keeps its memory until it is reset (zramctl --reset /dev/%s)\n' "$1" ;;
	*) printf 'keeps its memory until brd is unloaded (rmmod brd)\n' ;;
	esac
}

# hand_made_drop_backlog: switches write-behind off. md takes this only while a member is
# write-mostly (backlog_store() in linux drivers/md/md-bitmap.c). A ramdisk that is to leave may
# hold what the disks lack until all writes that had been under way have reached them.
hand_made_drop_backlog() {
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
			die "$NAME: write-behind was on, and the array never rests, \
so the disks may lack what /dev/$HAND_MADE has. Stop what writes for a moment" "$EX_REFUSED"
		sleep 0.2
	done
}
