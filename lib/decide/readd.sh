# Which disk legs are put back into a running array, in what order, and whether by bitmap. It uses
# only the facts, as decide/action.sh does.
# shellcheck shell=bash

need decide/choice decide/give-up decide/health decide/histories

declare -gA F # the facts: decide/facts.list

# readd_disk_legs: decides what the disk legs need next. Returns 1 when an action was decided.
readd_disk_legs() {
	local i ORDER
	readd_gone_ || return 1
	# Take all of them out before any is put back, because the order matters then.
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == faulty && ${F[retry]} == yes ]] || continue
		! choice_barred "remove-leg.$i" || continue
		choice_is remove-leg "md has given up disk leg ${F[leg.$i.dev]}; trying it again" \
			"$i"
		return 1
	done
	readd_order_
	for i in "${ORDER[@]}"; do
		if [[ ${F[leg.$i.state]} == recovering ]] && ! choice_barred rebuild; then
			choice_is wait-sync "disk leg ${F[leg.$i.dev]} is being rebuilt"
			return 1
		fi
		readd_may "$i" || continue
		readd_slot_is_free || continue
		# While the RAM leg recovers, md would rewrite a re-added disk in full, so that has
		# to wait.
		if [[ ${F[ram.state]} == recovering ]]; then
			! choice_barred rebuild || continue
			choice_is wait-sync "the RAM leg is being rebuilt, \
then ${F[leg.$i.dev]} is put back"
			return 1
		fi
		readd_last_is_to_come_ && ! choice_time_is_up conf.member_timeout && {
			choice_is wait-members "a disk leg that was in sync last is still missing; \
if one that left earlier were put back now, the two would look as if they had been used without \
each other"
			return 1
		}
		readd_put_back_ "$i" || return
	done
	readd_new_legs_
}

# readd_put_back_ I: puts leg I back, by bitmap or else as a whole: it has nothing that the array
# lacks. Returns 1 when an action was decided.
readd_put_back_() {
	local why="md may have forgotten where it differs, so all of it is rebuilt"
	if readd_by_bitmap "$1" && ! choice_barred "readd.$1"; then
		choice_is readd "disk leg ${F[leg.$1.dev]} is present but not in the array" "$1"
	elif ! choice_barred "add-leg.$1"; then
		[[ ${F[array.bitmap]} == internal ]] ||
			why='the array has no internal bitmap, so all of it is rebuilt'
		[[ ! -v F["failed.readd.$1"] ]] ||
			why='md does not take it back by the bitmap, so all of it is rebuilt'
		[[ ${F[conf.layout]} != far2 ]] || why='in a far2, all of it is rebuilt'
		choice_is add-leg "disk leg ${F[leg.$1.dev]} is present but not in the array; \
$why" "$1"
	else
		return 0
	fi
	return 1
}

# readd_by_bitmap I: does the bitmap show everything that leg I lacks, if it has no history of its
# own? In a far layout md skips parts and still calls the leg in sync (Linux 6.12; case "nested").
# Without a bitmap md takes back no leg that has missed anything (super_1_validate() in linux
# drivers/md/md.c).
readd_by_bitmap() {
	[[ ${F[conf.layout]} != far2 && ${F[array.bitmap]} == internal ]] &&
		! readd_is_forgotten "$1"
}

# readd_is_open_ I: is there a way back for leg I, if it has no history of its own? When md has
# refused the re-add, for whatever reason, the way is a whole rebuild: everything on the leg is
# elsewhere too. Not while only the RAM leg is in sync: until the rebuild has finished, even a stale
# disk is better than none.
readd_is_open_() {
	! choice_barred "readd.$1" || {
		[[ -v F["failed.readd.$1"] ]] && health_disk_in_sync && ! choice_barred "add-leg.$1"
	}
}

# readd_is_forgotten I: may md have forgotten where leg I differs? While every slot is filled, md
# clears bits, including those that leg I needs. That happens if the array had fewer slots than
# legs, or if another member had this leg's slot, even one that was only being rebuilt there: md
# clears the bits as far as it gets, and does not set them again if that member leaves
# (still_degraded in raid1_sync_request() of linux drivers/md/raid1.c, md_bitmap_cond_end_sync() and
# md_bitmap_close_sync() in md-bitmap.c). That the next rebuild has to be a whole one md knows only
# until it has finished some work, or the array is stopped (conf->fullsync; case "halfbuilt"). md
# refuses a leg that is older than events_cleared, but only a write to an array that is not degraded
# moves that (md_bitmap_endwrite() in md-bitmap.c). So the leg must not be older than the event
# count at which every slot was last seen filled (witness.filled; if that is not known, the leg is
# older). One event less is allowed, for an update that md had half finished. While there are fewer
# slots than legs, that count may rise at any time.
readd_is_forgotten() {
	local LEGS_IN_ALL
	health_legs
	[[ -z ${F[witness.filled]} ]] ||
		((${F[array.slots]} < LEGS_IN_ALL || ${F[leg.$1.events]} + 1 < \
		${F[witness.filled]}))
}

# readd_slot_is_free: is there a slot for one more disk leg? A leg that is being rebuilt has one,
# although md still counts it as missing. Without a free slot md would keep the leg as a spare for
# ever, and write that on it.
readd_slot_is_free() {
	local i free=${F[array.degraded]}
	! readd_is_complete_ || return 1
	[[ ${F[ram.state]} != recovering ]] || free=$((free - 1))
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != recovering ]] || free=$((free - 1))
	done
	((free > 0))
}

# readd_is_complete_: are as many disk legs in sync as there should be, under whatever names? Then a
# disk outside with the name of one of them is another disk, and the free slot is the RAM leg's.
readd_is_complete_() {
	local node IN_SYNC
	health_count
	for node in ${F[array.unconfigured]}; do IN_SYNC=$((IN_SYNC + 1)); done
	((IN_SYNC >= ${F[members]}))
}

# readd_lacks_slot: is there a disk leg that could be put back, if there were a slot for it?
readd_lacks_slot() {
	local i
	! readd_slot_is_free || return 1
	for ((i = 0; i < ${F[members]}; i++)); do ! readd_may "$i" || return 0; done
	return 1
}

# readd_slot_todo: sets TODO to what a person has to do when there is no free slot. If a disk that
# the configuration does not name is in sync, somebody has put it in instead, and "apply" would undo
# that.
readd_slot_todo() {
	TODO="there is no free slot for it: ramraid apply ${F[name]}"
	[[ -z ${F[array.unconfigured]} ]] ||
		TODO="a disk that no MEMBER names has its slot: ramraid check ${F[name]}"
}

# readd_gone_: takes out a member whose device is gone, because it holds a slot that its successor
# needs. It never takes out the last one in sync, because md would stop writing. Returns 1 when an
# action was decided.
readd_gone_() {
	local node
	[[ ${F[retry]} == yes || ${F[mend]} == yes ]] || return 0
	health_disk_in_sync || [[ ${F[ram.state]} == in_sync ]] || return 0
	for node in ${F[array.gone]}; do
		! choice_barred "remove-gone.$node" || continue
		choice_is remove-gone "the device of member $node is gone" "$node"
		return 1
	done
}

# readd_new_legs_: adds disk legs that only a rebuild as a whole can bring back. Returns 1 when an
# action was decided.
readd_new_legs_() {
	local i why
	[[ ${F[mend]} == yes ]] && readd_has_room_ && ! readd_is_complete_ || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} && -z ${F[leg.$i.removed]} ]] ||
			continue
		! choice_barred "add-leg.$i" || continue
		if [[ ${F[leg.$i.sb]} == none && ${F[conf.auto_replace]} == yes &&
			-z ${F[leg.$i.alien]} ]]; then
			why="there is a new disk at ${F[leg.$i.dev]} (AUTO_REPLACE=yes)"
		elif readd_is_begun "$i"; then
			why="disk leg ${F[leg.$i.dev]} was lost while being put back"
		else
			continue
		fi
		if [[ ${F[ram.state]} == recovering ]] && ! choice_barred rebuild; then
			choice_is wait-sync "the RAM leg is being rebuilt; then: $why"
		else
			choice_is add-leg "$why" "$i"
		fi
		return 1
	done
}

# readd_has_room_: is there a free slot besides the RAM leg's? A far2 has no slot for a RAM leg.
readd_has_room_() {
	local taken=1
	[[ ${F[ram.state]} != @(in_sync|recovering) && ${F[conf.layout]} != far2 ]] || taken=0
	((${F[array.degraded]} > taken))
}

# readd_is_begun I: is it a leg of ours that was in sync once and now calls itself a spare? md
# writes that on a disk that is pulled out while it is being put back, and from then on does not
# treat it as a member. What it held that the others lack was given up when that re-add began.
readd_is_begun() {
	[[ ${F[leg.$1.sb]} == ok && ${F[leg.$1.uuid]} == "${F[uuid]}" &&
		${F[leg.$1.role]} == spare ]] || return 1
	! readd_is_copy "$1" && ! give_up_is_given "$1" && [[ -z ${F[leg.$1.alien]} &&
		" ${F[witness.seen]} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# readd_last_is_to_come_: is only the RAM leg good, and one of the disk legs that were in sync last
# not there? Which of several left last is not known until all of them are there: the record may
# have noted them together, and only a disk's superblock says which others left before it did.
readd_last_is_to_come_() {
	local uuid j there=' '
	! health_disk_in_sync || return 1
	for ((j = 0; j < ${F[members]}; j++)); do there+="${F[leg.$j.device_uuid]} "; done
	for uuid in ${F[witness.legs]} ${F[witness.left]}; do
		[[ $there == *" $uuid "* ]] || return 0
	done
	return 1
}

# readd_order_: sets ORDER to the disk legs as they are configured. While only the RAM leg is good,
# those that left last come first, and among them the one with the most events. If a leg that left
# earlier were put back in their place, it and they would look, at the next start, as if they had
# been used without each other.
readd_order_() {
	local i j last=() rest=() alone='' known=" ${F[witness.legs]} ${F[witness.left]} "
	health_disk_in_sync || alone=yes
	for ((i = 0; i < ${F[members]}; i++)); do
		if [[ -z $alone || $known != *" ${F[leg.$i.device_uuid]:-none} "* ]]; then
			rest+=("$i")
			continue
		fi
		for ((j = 0; j < ${#last[@]}; j++)); do
			((${F[leg.$i.events]} <= ${F[leg.${last[j]}.events]})) || break
		done
		last=("${last[@]:0:j}" "$i" "${last[@]:j}")
	done
	ORDER=("${last[@]}" "${rest[@]}")
}

# readd_may I [whatever]: may leg I be put back (with "whatever": no matter what has failed)? Only
# if it has no history of its own, because md compares nothing but the event count with
# events_cleared (linux drivers/md/md.c, super_1_validate). It has none if it calls every disk leg
# in sync active, by device number and slot; with no disk leg in sync, if it was not used without
# the RAM leg; or if it left this very run of the array. Leg I may not be ahead of the array,
# whatever it calls active. Nor may it have blocks that no member in sync has: md would record them
# as bad on it, too (raid1_sync_request() in linux drivers/md/raid1.c).
readd_may() {
	local i=$1 j alone=yes
	[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} && ${F[leg.$i.sb]} == ok &&
		${F[leg.$i.uuid]} == "${F[uuid]}" ]] || return 1
	[[ ${F[leg.$i.role]} =~ ^[0-9]+$ && -z ${F[leg.$i.removed]} ]] &&
		{ [[ ${2-} == whatever ]] || readd_is_open_ "$i"; } || return 1
	! readd_is_copy "$i" && ! give_up_is_given "$i" && [[ ${F[leg.$i.elsewhere]} != yes &&
		-z ${F[leg.$i.alien]} ]] || return 1
	[[ ${F[leg.$i.holds]} != yes ]] || return 1
	! readd_is_ahead "$i" && ! readd_is_unknown_ "$i" || return 1
	! readd_left_this_run_ "$i" || return 0
	for ((j = 0; j < ${F[members]}; j++)); do
		[[ ${F[leg.$j.state]} == in_sync ]] || continue
		# That leg's slot is "none" when it joined between two looks at sysfs: the next look
		# will tell.
		readd_has_been_with "$i" "leg.$j" || return 1
		alone=no
	done
	# The RAM leg is not alone beside a member that the configuration does not name; but that
	# member's slot is not known here.
	[[ $alone == no ]] || { [[ -z ${F[array.unconfigured]} ]] && readd_may_to_ram "$i"; }
}

# readd_is_ahead I: does leg I (a number, or "ram") have more events than the running array, or is
# the array's event count not known? Then the array may run from a leg that was put back to an older
# state: its bitmap does not show what it lacks of leg I, and md does not check for that. A leg that
# left the array has no more events than the array had then; one more may be an update that md had
# half finished.
readd_is_ahead() { ((${F[leg.$1.events]} > ${F[array.events]} + 1)); }

# readd_is_unknown_ I: has a start given up legs that no record named, and is leg I one that has not
# been seen in sync?
readd_is_unknown_() {
	[[ " ${F[witness.given]} " == *" $GIVE_UP_UNKNOWN "* &&
		" ${F[witness.seen]} " != *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# readd_has_been_with I MEMBER: does leg I, which is outside, call this member of the running array
# (leg.J, ram) active? It may mean a member that it got when it was used alone: elsewhere, and if md
# hands out that number again, here.
readd_has_been_with() {
	local SLOT
	[[ ${F[leg.$1.number]} != "${F[$2.number]}" ]] &&
		histories_slot_of "$1" "${F[$2.number]}" && [[ $SLOT == "${F[$2.slot]}" ]] ||
		return 1
	if ((${F[$2.number]} < ${F[leg.$1.raid_disks]:-0})); then
		! histories_used_since "$1" surely
	else
		! histories_used_since "$1"
	fi
}

# readd_left_this_run_ I: was leg I in sync in this run of the array, and not used anywhere since?
# Then it may call a disk leg missing that was put back in the meantime, and that does no harm: the
# RAM leg had everything that leg I has, and gave it to that disk leg. If leg I had been used by
# itself since, it would call the RAM leg missing, and also the disk legs that were in sync when it
# left. These are checked too, because elsewhere it may have had a RAM leg of the same number.
readd_left_this_run_() {
	local j
	[[ ${F[leg.$1.joined]} == yes && ${F[ram.state]} == in_sync ]] &&
		readd_has_been_with "$1" ram || return 1
	for ((j = 0; j < ${F[members]}; j++)); do
		[[ ${F[leg.$j.state]} == in_sync &&
			" ${F[leg.$1.left_with]} " == *" ${F[leg.$j.member_uuid]:-none} "* ]] ||
			continue
		readd_has_been_with "$1" "leg.$j" || return 1
	done
}

# readd_is_copy I: does leg I, which is outside, have the device UUID of a disk leg in sync? Sets
# ORIGINAL to the name of that one.
readd_is_copy() {
	local member
	ORIGINAL=''
	[[ ${F[leg.$1.sb]} == ok && -n ${F[leg.$1.device_uuid]} ]] || return 1
	for ((member = 0; member < F[members]; member++)); do
		[[ ${F[leg.$member.state]} != in_sync ||
			${F[leg.$member.member_uuid]} != "${F[leg.$1.device_uuid]}" ]] ||
			ORIGINAL=${F[leg.$member.dev]}
	done
	[[ -n $ORIGINAL ]]
}

# readd_may_to_ram I: only the RAM leg is in sync, so there is no disk leg to compare leg I with;
# may it be put back? It must have been in sync, together with the RAM leg, until only that was; or
# it must call all disk legs active, at least one besides itself. If it had run alone elsewhere, it
# would call them missing, and this RAM leg too; if with others, the record may show that.
readd_may_to_ram() {
	local i slot entry held=' ' others=''
	[[ " ${F[witness.legs]} ${F[witness.left]} " != *" ${F[leg.$1.device_uuid]:-none} "* ]] || {
		readd_has_been_with "$1" ram && return
	}
	! histories_used_since "$1" surely || return 1
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ $i == "$1" || ! ${F[leg.$i.role]} =~ ^[0-9]+$ ]] ||
			! histories_calls_missing "$1" "$i" || return 1
	done
	for entry in ${F[leg.$1.roles]}; do
		readd_is_disks_ "$1" "${entry%:*}" || continue
		held+="${entry#*:} "
		[[ ${entry%:*} == "${F[leg.$1.number]}" ]] || others=yes
	done
	[[ -n $others ]] || return 1
	for ((slot = 0; slot < ${F[leg.$1.raid_disks]:-0}; slot++)); do
		[[ $slot == "${F[ram.slot]}" || $held == *" $slot "* ]] || return 1
	done
}

# readd_is_disks_ I NUMBER: can the device that leg I calls active under that number only be a disk
# leg? Not when the RAM leg has or had that number, nor when md may have given it to a RAM leg, here
# or elsewhere: only the first members have numbers below the number of slots.
readd_is_disks_() {
	[[ $2 != "${F[ram.number]}" && $2 != "${F[witness.ram_number]}" ]] &&
		(($2 < ${F[leg.$1.raid_disks]:-0}))
}
