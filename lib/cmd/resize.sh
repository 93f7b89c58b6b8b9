# ramraid resize: makes the array larger when all its disk legs have grown, while it is in use.
# shellcheck shell=bash

need act/array-lock act/detach-ram act/left-check act/notify act/transitions act/witness-update
need cmd/attach config/conf config/conf-need config/conf-where core/cli core/log core/paths
need core/quantity core/text core/uninterrupted decide/action notes/memory-floor notes/ram-out
need observe/before-look observe/facts observe/look world/disk world/disk-find world/md
need world/md-state world/ramdisk world/ramdisk-memory world/ramdisk-note

declare -gA F # the facts: decide/facts.list

readonly RESIZE_USAGE='usage: ramraid resize [--yes] [--dry-run] NAME

Use the room that the partitions or volumes of all disk legs have gained. ramraid takes the RAM
leg out, makes the array as large as the smallest disk leg allows, and makes a new RAM leg of that
size. The array stays in use; until the new RAM leg is in sync, reads come from the disk legs.
Afterwards, grow what is on the array with its own tool.
  -y, --yes      do not ask
  -n, --dry-run  print the plan, change nothing'

# A smaller gain is not worth a new RAM leg; mdadm rounds the size when it creates an array.
readonly RESIZE_LEAST=1024 # KiB

cmd_resize() {
	cli_parse "$RESIZE_USAGE" 'yes dry-run' "$@"
	cli_one_name "$RESIZE_USAGE"
	conf_need "$NAME"
	cli_root
	paths_run
	resize_look "$NAME"
	cli_ask "$NAME"
	((${#PLAN[@]} > 0)) || [[ ${F[array.sync]} == frozen ]] || return 0
	array_lock "$NAME" 5
	conf_need "$NAME" # who had the lock may have changed the disks
	resize_look "$NAME"
	cli_wrong "$NAME"
	[[ ${F[array.sync]} != frozen ]] || resize_thaw_ "$NAME"
	((${#PLAN[@]} == 0)) || resize_do "$NAME"
}

# Thaws what a killed run has left frozen: we hold the lock, so nobody is at work on it. If that run
# had made the array larger, md first makes the new part equal on all legs.
resize_thaw_() { # NAME
	md_thaw_left "${F[array.md]}"
	[[ ${F[array.pending]} == no ]] || ((${#PLAN[@]} == 0)) ||
		die "$1: md is finishing what an earlier run has begun; when that is done (ramraid \
wait $1), type this again" "$EX_TRY_AGAIN"
}

# resize_look NAME: sets the facts, WRONG to what speaks against a resize, and PLAN to what is to be
# done. If no disk leg has grown, it says so and leaves PLAN empty.
resize_look() {
	local VALUE
	look_at_running "$1"
	left_check_end
	before_look_times || F[conf.member_timeout]=30
	witness_update_foreign_start
	WRONG=() PLAN=() RESIZE_NEW='' RESIZE_BY=''
	resize_wrong_
	((${#WRONG[@]} == 0)) || return 0
	resize_room_
	((${#WRONG[@]} == 0)) || return 0
	md_state_read "${F[array.md]}" component_size
	RESIZE_OLD=$VALUE
	if ((RESIZE_NEW - RESIZE_OLD < RESIZE_LEAST)); then
		log_notice "$1: nothing to do: it has the \
$(quantity_show_bytes $((RESIZE_OLD * 1024))) that its disk leg $RESIZE_BY has room for"
		return 0
	fi
	PLAN+=("make the array $(quantity_show_bytes $((RESIZE_NEW * 1024))) large, instead of \
$(quantity_show_bytes $((RESIZE_OLD * 1024))); $RESIZE_BY has no room for more")
	resize_ram_ "$1"
}

# An array that is about to change should be in the best of states.
resize_wrong_() {
	local i VALUE ACTION ARGUMENTS WHY OUTCOME BELOW
	! action_running_refused || WRONG+=("$WHY")
	[[ ${F[conf.layout]} == mirror ]] ||
		WRONG+=("it is a ${F[conf.layout]}, which md does not make larger (reshaping it: \
mdadm(8), GROW MODE); make a new one, and copy")
	md_state_read "${F[array.md]}" metadata_version
	[[ $VALUE == 1.[12] ]] ||
		WRONG+=("its superblocks (metadata $VALUE) are at the end of the disks, where \
disks grow; see \"ramraid release\" and --grow in mdadm(8)")
	[[ -z ${F[array.gone]} ]] ||
		WRONG+=("it has a member whose device is gone (${F[array.gone]}); first: ramraid \
attach ${F[name]}")
	[[ -z ${F[array.strangers]} ]] ||
		WRONG+=("${F[array.strangers]}: is in the array and is no MEMBER. First correct \
that: ramraid apply --dry-run ${F[name]}")
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] ||
			WRONG+=("disk leg ${F[leg.$i.dev]} is not in sync; see: \
ramraid status ${F[name]}")
	done
	[[ ${F[array.sync]} == frozen || ${F[array.sync]}:${F[array.pending]} == idle:no ]] ||
		WRONG+=("md is at work on it (${F[array.sync]}); first: ramraid wait ${F[name]}")
	[[ ${F[conf.ram]} != none || ${F[ram.state]} == @(none|attached) ]] ||
		WRONG+=("it has a RAM leg, in spite of RAM=none; first: ramraid detach ${F[name]}")
	[[ -z ${F[kernel.flaw]} || ${F[conf.ram]} == none ]] || md_is_free "${F[array.md]}" ||
		WRONG+=("it is in use, and on this kernel a RAM leg must not be rebuilt while \
something reads the array: ${F[kernel.flaw]}. Unmount it first")
}

# Sets RESIZE_NEW to the size that all disk legs have room for, in KiB, and RESIZE_BY to the leg
# that has the least room.
resize_room_() {
	local i room
	for ((i = 0; i < F[members]; i++)); do
		room=$(md_state_leg_room "${F[array.md]}" "${F[leg.$i.node]}") || {
			WRONG+=("md does not say how large ${F[leg.$i.dev]} is")
			return 0
		}
		[[ -n $RESIZE_NEW ]] && ((RESIZE_NEW <= room)) ||
			RESIZE_NEW=$room RESIZE_BY=${F[leg.$i.dev]}
	done
	RESIZE_NEW=$((RESIZE_NEW / 4 * 4))
}

# Adds to PLAN what happens to the RAM leg. One that a person has taken out stays out.
resize_ram_() { # NAME
	local bytes why RAM_PROVIDER RAM_NODE RAM_BYTES MEMORY_RESERVE
	RESIZE_RAM=''
	[[ ${F[conf.ram]} != none ]] && ! ram_out_is_noted "$1" || return 0
	RESIZE_RAM=yes
	bytes=$(md_state_leg_bytes "${F[array.md]}")
	bytes=$((bytes + (RESIZE_NEW - RESIZE_OLD) * 1024))
	ramdisk_note_read "$1"
	if [[ ${F[conf.ram]} == /* ]]; then
		why=$(resize_device_ "$bytes")
	else
		memory_floor_reserve
		if ramdisk_note_gives_back "$1"; then
			RAM_BYTES=$(ramdisk_memory_weight)
		else
			RAM_BYTES=0
		fi
		why=$(ramdisk_need "${CONF[RAM]}" "$bytes" "${CONF[RAM_LIMIT]}")
		why=$(ramdisk_why_not "$why" "$MEMORY_RESERVE" "$RAM_BYTES") || why=$TEXT_UNKNOWN
	fi
	[[ -z $why ]] ||
		WRONG+=("no RAM leg of that size can be made: $why. To go on without one: ramraid \
detach $1, and RAM=none in $(conf_where "$1" RAM) to keep it so")
	PLAN+=("take the RAM leg out first, and make a new one of $(quantity_show_bytes "$bytes") \
afterwards: until it is in sync, reads come from the disk legs")
}

resize_device_() { # BYTES: prints why the device that is the RAM leg can't be one of BYTES
	local NODE has
	disk_find "${F[conf.ram]}" || {
		printf '%s is not there\n' "${F[conf.ram]}"
		return
	}
	has=$(disk_bytes "$NODE")
	((has >= $1)) ||
		printf '%s has %s, and the leg needs %s\n' "${F[conf.ram]}" \
			"$(quantity_show_bytes "$has")" "$(quantity_show_bytes "$1")"
}

# resize_do NAME: resizes the array. If it is killed at any moment, the array goes on running on all
# its disk legs, at the old size or at the new one.
resize_do() {
	local md=${F[array.md]} grown=''
	if [[ -n $RESIZE_RAM ]]; then
		detach_ram "$1"
		detach_ram_give_back "$1"
		facts_observe
		witness_update_or_go_on
	fi
	[[ ${F[array.readauto]} != yes ]] || md_make_writable "$md"
	uninterrupted_begin
	! md_grow "$md" "$RESIZE_OLD" "$RESIZE_NEW" || grown=yes
	uninterrupted_end
	# From here on, the code must not say that nothing was changed.
	[[ -z $RESIZE_RAM ]] || attach_here yes || :
	transitions_end "$1"
	[[ -n $grown ]] || resize_has_failed_ "$1" "$md"
	notify_said notice "$1: has $(quantity_show_bytes "$(md_bytes "$md")") \
now$(resize_next_ "$1" "$md")"
	[[ -z $RESIZE_RAM || ${F[ram.state]} == in_sync ]] ||
		die "$1: it is larger, and runs on its disk legs; to make its RAM leg: ramraid \
attach $1"
}

resize_has_failed_() { # NAME MD
	local VALUE
	md_state_read "$2" component_size
	[[ $VALUE == "$RESIZE_NEW" ]] ||
		die "$1: md did not make it larger; mdadm says why above"
	die "$1: it is larger, but md does not make its legs equal there yet; the lines above say \
why. When that is fixed: ramraid resize $1"
}

# Prints the command that makes use of the new room, for the file system or volume on the array.
resize_next_() { # NAME MD
	local type mount path=/dev/$2
	# An array that "adopt" has taken over has that name only from its next start on.
	[[ ! $DEV/md/$1 -ef $DEV/$2 ]] || path=/dev/md/$1
	type=$(lsblk --noheadings --nodeps --output FSTYPE "$DEV/$2")
	# A mount point may be named after the label of a disk, and people paste this into a shell.
	mount=$(disk_mounts "$2" | head -n 1)
	[[ -z $mount ]] || {
		text_unmangle mount "$mount"
		printf -v mount '%q' "$mount"
	}
	case $type in
	ext[234]) printf '; to grow the file system on it: resize2fs %s\n' "$path" ;;
	xfs)
		printf '; to grow the file system on it: xfs_growfs %s\n' \
			"${mount:-MOUNTPOINT}"
		;;
	btrfs)
		printf "; to grow the file system on it: btrfs filesystem resize max %s\n" \
			"${mount:-MOUNTPOINT}"
		;;
	LVM2_member) printf '; to grow the volume group: pvresize %s\n' "$path" ;;
	crypto_LUKS) printf '; to grow the container on it: cryptsetup resize NAME\n' ;;
	esac
}
