# "adopt" takes a ramdisk out of the array that somebody has made by hand (observe/hand-made.sh), and
# gives its memory back. NAME, ADOPT_MD, ADOPT_UUID, HAND_MADE: as in cmd/adopt.sh.
# shellcheck shell=bash

need core/act core/clock core/log observe/hand-made world/md world/md-state world/ramdisk

declare -gA F # the facts: decide/facts.list

# hand_made_drop: it leaves, or has left in an earlier run.
hand_made_drop() {
	local node=$HAND_MADE HAND_MADE_LEFT
	[[ -z $node ]] || md_drop "$ADOPT_MD" "$node" ||
		die "$NAME: /dev/$node stays: the disks lack what it has, or md does not let it go" "$EX_REFUSED"
	if [[ -z $DRY_RUN ]]; then
		hand_made_find_left "$NAME" "$ADOPT_UUID"
		node=$HAND_MADE_LEFT
	fi
	case $node in
	'') ;;
	rd*)
		ramdisk_drop_node "$node" || log_warning "$NAME: the memory of /dev/$node is not\
 given back; when nobody uses it: rapiddisk --detach $node"
		;;
	*) log_notice "$NAME: /dev/$node $(hand_made_drop_fate "$node")" ;;
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
		((NOW < end)) || die "$NAME: write-behind was on, and the array never rests, so the disks may lack what /dev/$HAND_MADE has. Stop what writes for a moment" "$EX_REFUSED"
		sleep 0.2
	done
}
