# The pure ring's part that puts the disk legs of a running array back: which, in what order, and whether by bitmap. Facts as in decide.sh, and no more
# than facts.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# decide_disk_legs_: what they need first. Returns 1 when an action was decided.
decide_disk_legs_() {
	local i ORDER
	decide_gone_ || return 1
	# All of them before any is put back: the order matters then.
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == faulty && ${F[retry]-} == yes && -z ${F["failed.remove-leg.$i"]-} ]] || continue
		decide_is remove-leg "md has given up disk leg ${F[leg.$i.dev]}; trying it again" "$i"
		return 1
	done
	decide_order_
	for i in "${ORDER[@]}"; do
		if [[ ${F[leg.$i.state]} == recovering && -z ${F[failed.rebuild]-} ]]; then
			decide_is wait-sync "disk leg ${F[leg.$i.dev]} is being rebuilt"
			return 1
		fi
		decide_can_readd_ "$i" || continue
		# While the RAM leg recovers, a re-added disk would be rewritten whole: later.
		if [[ ${F[ram.state]} == recovering ]]; then
			[[ -z ${F[failed.rebuild]-} ]] || continue
			decide_is wait-sync "the RAM leg is being rebuilt, then ${F[leg.$i.dev]} is put back"
			return 1
		fi
		decide_last_is_to_come_ && ! decide_time_is_up_ conf.member_timeout && {
			decide_is wait-members "a disk leg that was in sync last is not there yet; one that left before it would, in its place, look as if both had been used without each other"
			return 1
		}
		decide_put_back_ "$i" || return
	done
	decide_new_legs_
}

# decide_put_back_ I: by bitmap; but md leaves out parts of a far layout then, and calls the leg in sync (Linux 6.12; case "nested"). Returns 1 when an
# action was decided.
decide_put_back_() {
	if [[ ${F[conf.layout]-mirror} != far2 ]]; then
		decide_is readd "disk leg ${F[leg.$1.dev]} is present but not in the array" "$1"
	elif [[ -z ${F["failed.add-leg.$1"]-} ]]; then
		decide_is add-leg "disk leg ${F[leg.$1.dev]} is present but not in the array; of a far2 all of it is rebuilt" "$1"
	else
		return 0
	fi
	return 1
}

# decide_gone_: a member without a device holds a slot that its successor needs. Never the last one in sync: md would stop writing. Returns 1 when
# an action was decided.
decide_gone_() {
	local node
	[[ ${F[retry]-} == yes || ${F[mend]-} == yes ]] || return 0
	decide_disk_in_sync || [[ ${F[ram.state]} == in_sync ]] || return 0
	for node in ${F[array.gone]-}; do
		[[ -z ${F["failed.remove-gone.$node"]-} ]] || continue
		decide_is remove-gone "the device of member $node is gone" "$node"
		return 1
	done
}

# decide_new_legs_: disk legs that only a rebuild as a whole can bring back. Returns 1 when an action was decided.
decide_new_legs_() {
	local i why
	[[ ${F[mend]-} == yes ]] && decide_has_room_ || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} && -z ${F["failed.add-leg.$i"]-} && -z ${F[leg.$i.removed]-} ]] || continue
		if [[ ${F[leg.$i.sb]} == none && ${F[conf.auto_replace]-no} == yes ]]; then
			why="a new disk stands at ${F[leg.$i.dev]} (AUTO_REPLACE=yes)"
		elif decide_is_begun_ "$i"; then
			why="disk leg ${F[leg.$i.dev]} was lost while it was being put back"
		else
			continue
		fi
		if [[ ${F[ram.state]} == recovering && -z ${F[failed.rebuild]-} ]]; then
			decide_is wait-sync "the RAM leg is being rebuilt; then: $why"
		else
			decide_is add-leg "$why" "$i"
		fi
		return 1
	done
}

# decide_has_room_: is there a slot beside the one that belongs to the RAM leg? A far2 has none for one.
decide_has_room_() {
	local taken=1
	[[ ${F[ram.state]} != @(in_sync|recovering) && ${F[conf.layout]-mirror} != far2 ]] || taken=0
	((${F[array.degraded]-0} > taken))
}

# decide_is_begun_ I: is it a leg of ours, that was in sync once, and calls itself a spare? md leaves that word on a disk that is pulled out while it
# is being put back, and takes it for no member from then on. All that it held beyond the others was given up when that began.
decide_is_begun_() {
	[[ ${F[leg.$1.sb]} == ok && ${F[leg.$1.uuid]} == "${F[uuid]}" && ${F[leg.$1.role]} == spare ]] || return 1
	! decide_is_given_up_ "$1" && [[ " ${F[witness.seen]-} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# decide_last_is_to_come_: is only the RAM leg good, and one of the disk legs that were in sync last not there? Which of several left last nobody knows
# who has not seen them all: the record may have noted them together, and only a superblock says who left before its own disk.
decide_last_is_to_come_() {
	local uuid j there=' '
	! decide_disk_in_sync || return 1
	for ((j = 0; j < ${F[members]}; j++)); do there+="${F[leg.$j.device_uuid]-} "; done
	for uuid in ${F[witness.legs]} ${F[witness.left]-}; do [[ $there == *" $uuid "* ]] || return 0; done
	return 1
}

# decide_order_: sets ORDER to the disk legs as they are configured; while only the RAM leg is good, those that left last come first, and of
# those the one with the most events. An earlier one in their place would, at the next start, look as if it and they had been used without each other.
decide_order_() {
	local i j last=() rest=() alone=''
	decide_disk_in_sync || alone=yes
	for ((i = 0; i < ${F[members]}; i++)); do
		if [[ -z $alone || " ${F[witness.legs]} ${F[witness.left]-} " != *" ${F[leg.$i.device_uuid]:-none} "* ]]; then
			rest+=("$i")
			continue
		fi
		for ((j = 0; j < ${#last[@]}; j++)); do ((${F[leg.$i.events]} <= ${F[leg.${last[j]}.events]})) || break; done
		last=("${last[@]:0:j}" "$i" "${last[@]:j}")
	done
	ORDER=("${last[@]}" "${rest[@]}")
}

# decide_can_readd_ I: may leg I be put back by bitmap? Only if it has no history of its own: md compares nothing but the event count with
# events_cleared (linux drivers/md/md.c, super_1_validate). It has none if it calls every disk leg in sync active; with no disk leg in sync it is the
# RAM leg that it must not have been without, and it was there when the disk left; or if it left this very run of the array.
decide_can_readd_() {
	local i=$1 j slot alone=yes
	[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} && ${F[leg.$i.sb]} == ok && ${F[leg.$i.uuid]} == "${F[uuid]}" ]] || return 1
	[[ ${F[leg.$i.role]} =~ ^[0-9]+$ && -z ${F[failed.readd.$i]-} && -z ${F[leg.$i.removed]-} ]] || return 1
	! decide_is_given_up_ "$i" && [[ ${F[leg.$i.elsewhere]-} != yes ]] || return 1
	! decide_left_this_run_ "$i" || return 0
	for ((j = 0; j < ${F[members]}; j++)); do
		slot=${F[leg.$j.slot]-}
		[[ ${F[leg.$j.state]} == in_sync ]] || continue
		# "none", when it joined between two looks at sysfs: the next look tells.
		[[ $slot =~ ^[0-9]+$ && ${F[leg.$i.view]:slot:1} == A ]] || return 1
		alone=no
	done
	[[ $alone == no ]] || decide_can_readd_to_ram_ "$i"
}

# decide_left_this_run_ I: was leg I in sync in this run of the array, and not used anywhere since? Then another disk leg may have been put back in the
# meantime that it calls missing: what it has, the RAM leg had, and gave to that one. Used by itself since, it would call the RAM leg missing.
decide_left_this_run_() {
	[[ ${F[leg.$1.joined]-} == yes && ${F[ram.state]} == in_sync && ${F[ram.slot]} =~ ^[0-9]+$ && ${F[leg.$1.view]:${F[ram.slot]}:1} == A ]]
}

# decide_is_given_up_ I: has the array been started without leg I, against all that spoke for it? Then it may hold writes that nobody else
# has, its superblock may not show it, and only a rebuild of the whole leg makes it equal.
decide_is_given_up_() { [[ " ${F[witness.given]-} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]; }

# Only the RAM leg is in sync, so that no disk leg's slot can be asked for: leg I must have been in sync until then, or call all disk legs active.
decide_can_readd_to_ram_() {
	local view=${F[leg.$1.view]} slot=${F[ram.slot]}
	[[ ! $slot =~ ^[0-9]+$ ]] || view=${view:0:slot}A${view:slot+1}
	[[ $view != *.* || " ${F[witness.legs]} ${F[witness.left]-} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]
}
