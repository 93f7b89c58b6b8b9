# The pure ring's part for a device that RAM= names: it keeps what it held, so that it may be put back by bitmap, may be stale, and may even be the newest
# leg. Facts as in decide.sh, and no more than facts; what it is while it is in no array of ours stands in leg.ram.*.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly DECIDE_DEVICE_MOST=300 # seconds that it is waited for at most, also with MEMBER_TIMEOUT=infinity: the array does without

decide_device_time_is_up_() {
	local most=${F[conf.member_timeout]}
	[[ $most != infinity ]] || most=$DECIDE_DEVICE_MOST
	((${F[waited]} >= most))
}

# decide_device_ahead_ LEG…: may the device hold writes that these disk legs all lack? It can't if it calls one of them active and has not counted on
# beyond it: then it never ran without that one. (One event more is md's own half step.)
decide_device_ahead_() {
	local i
	for i; do
		decide_calls_missing_ ram "$i" || decide_counted_on_ ram "$i" || return 1
	done
}

# decide_device_first_ ABSENT GOOD…: before a start from the good disk legs, while ABSENT are not there: sets the action and returns 0 when the device
# has to be waited for, is the leg to start from, or keeps the disk legs from being started.
decide_device_first_() {
	local absent=$1 KIND
	shift
	decide_leg_kind_ ram
	if [[ $KIND == absent ]]; then
		decide_device_is_active_ "$NEWEST" && ! decide_device_time_is_up_ || return 1
		decide_is wait-members "waiting for ${F[leg.ram.dev]}: the disk legs call the RAM leg active, so it may hold what they lack"
		return
	fi
	[[ $KIND == good ]] && ! decide_is_given_up_ ram && decide_device_ahead_ "$@" || return 1
	decide_device_newest_ "$absent" "$@"
}

# decide_device_is_active_ LEG: does this disk leg call anybody active who is no disk leg that is here? Only after an unclean stop it does.
decide_device_is_active_() {
	local i view=${F[leg.$1.view]}
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ! ${F[leg.$i.role]-} =~ ^[0-9]+$ ]] || view=${view:0:${F[leg.$i.role]}}.${view:${F[leg.$i.role]}+1}
	done
	if [[ ${F[witness.ram_slot]} =~ ^[0-9]+$ ]]; then [[ ${view:${F[witness.ram_slot]}:1} == A ]]; else [[ $view == *A* ]]; fi
}

# decide_device_newest_ ABSENT GOOD…: the device is ahead. It is started from, alone, if the record of the last run says that it was the only good copy,
# and the disk legs are merely old; they are put back to it by bitmap. Else nothing is started.
decide_device_newest_() {
	local absent=$1 i why='' look='Look' ABSENT
	shift
	if [[ -z ${F[witness.events]} || -n ${F[witness.legs]} ]]; then
		why='the record of the last run does not say that it was the only good copy'
	elif [[ ${F[leg.ram.role]} != "${F[witness.ram_slot]}" ]] || ((${F[leg.ram.events]} + 1 < ${F[witness.events]})); then
		why="the array was at ${F[witness.events]} events when it last ran, with the RAM leg in slot ${F[witness.ram_slot]:-unknown}"
	fi
	for i; do
		decide_is_old_ ram "$i" || why="it and ${F[leg.$i.dev]} (events ${F[leg.$i.events]}) have been used without each other"
	done
	decide_absent_names_
	[[ -z $ABSENT ]] || look="Bring the missing disk back:$ABSENT. Or look"
	if [[ -n $why ]]; then
		decide_is refuse "${F[leg.ram.dev]}, the RAM leg (events ${F[leg.ram.events]}), may hold writes that the disk legs here lack, but $why. $look at all of them (mdadm --examine), choose one, and start from it alone: ramraid start --force-leg=${F[leg.ram.dev]} ${F[name]}, or: ramraid start --force-leg=${F[leg.$NEWEST.dev]} ${F[name]}"
	elif ((absent > 0)) && ! decide_time_is_up_ conf.member_timeout; then
		decide_is wait-members "waiting for $absent of ${F[members]} disk legs:$ABSENT"
	elif ((absent > 0)) && [[ ${F[conf.start_degraded]} == never ]]; then
		decide_is refuse "not all disk legs can be used (missing:$ABSENT), and START_DEGRADED=never"
	else
		decide_is assemble "${F[leg.ram.dev]}, the RAM leg, was the only good copy when the array last ran, and has kept it: starting from it, and putting the disk legs back to it" "${F[ram.node]}"
	fi
}

# decide_device_: sets DEVICE to what the device is good for while the array runs without it: absent used damaged foreign blank, or, of our array: back (md
# can put it back by bitmap), old (all that it holds the disk legs have; it is rebuilt as a whole), own (it may hold writes that they lack), unsettled (the next look tells).
decide_device_() {
	DEVICE=absent
	if decide_is_absent_ ram; then return; fi
	if [[ -n ${F[leg.ram.in]} ]]; then
		DEVICE=used
	elif [[ ${F[leg.ram.sb]} == none ]]; then
		DEVICE=blank
	elif [[ ${F[leg.ram.sb]} != ok ]]; then
		DEVICE=damaged
	elif [[ ${F[leg.ram.uuid]} != "${F[uuid]}" || ${F[leg.ram.level]:-1} != 1 ]]; then
		DEVICE=foreign
	elif [[ ! ${F[leg.ram.role]} =~ ^[0-9]+$ || -n ${F[leg.ram.recovery]} ]] || decide_is_given_up_ ram; then
		# It was never in sync, or not any more; or a person has decided against it.
		DEVICE=old
	else
		decide_device_history_
	fi
}

# By the slots of the disk legs in sync, whose superblocks a running array need not be asked for. It is put back by bitmap only if it calls all of them
# active, as decide_can_readd_ has it of a disk leg; and not if it would come back write-mostly, or its slot is another's.
decide_device_history_() {
	local i slot active=no all=yes
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || continue
		slot=${F[leg.$i.slot]}
		# "none", when it joined between two looks at sysfs: the next look tells.
		[[ $slot =~ ^[0-9]+$ ]] || {
			DEVICE=unsettled
			return
		}
		if [[ ${F[leg.ram.view]:slot:1} != A || $slot == "${F[leg.ram.role]}" ]]; then
			all=no
		else
			active=yes
		fi
	done
	if [[ $active == no ]] || ((${F[leg.ram.events]} > ${F[array.events]} + 1)); then
		DEVICE=own
	elif [[ $all == yes && ${F[leg.ram.writemostly]} != yes ]]; then
		DEVICE=back
	else
		DEVICE=old
	fi
}

# decide_no_device_: what to do about it.
decide_no_device_() {
	local dev=${F[leg.ram.dev]} DEVICE wiped
	wiped="mdadm --zero-superblock $dev; ramraid attach ${F[name]}"
	decide_device_
	[[ $DEVICE != back || -z ${F["failed.return-ram"]-} ]] || DEVICE=old
	case $DEVICE in
	absent)
		if [[ ${F[retry]-} != yes && ${F[mend]-} != yes ]] && ! decide_device_time_is_up_; then
			decide_is wait-members "waiting for $dev, the RAM leg"
		else
			decide_is 'done' "there is no RAM leg: $dev is not there, or can't be read; when it is: ramraid attach ${F[name]}"
		fi
		;;
	unsettled) decide_is wait-sync 'a disk leg is just joining' ;;
	blank) decide_is make-ram "$dev, the RAM leg, holds nothing of this array" ;;
	back) decide_is return-ram "$dev, the RAM leg, has kept its contents: md adds what was written since" ;;
	old) decide_is wipe-ram "$dev holds an older state of the array${F["failed.return-ram"]:+ (${F["failed.return-ram"]})}, so it is rebuilt as a whole" ;;
	used) decide_is 'done' "there is no RAM leg: $dev is in use by ${F[leg.ram.in]}" ;;
	damaged) decide_is 'done' "there is no RAM leg: the superblock of $dev is damaged; if nothing on it is needed: wipefs --all $dev; ramraid attach ${F[name]}" ;;
	foreign) decide_is 'done' "there is no RAM leg: $dev belongs to another array (${F[leg.ram.uuid]}); if nothing on it is needed: $wiped" ;;
	own) decide_is 'done' "there is no RAM leg: $dev (events ${F[leg.ram.events]}) may hold writes that the disk legs (events ${F[array.events]}) lack, so it is neither put back nor overwritten. Look at it (mdadm --examine $dev). To go on from it: ramraid stop ${F[name]}; ramraid start --force-leg=$dev ${F[name]}. To give up what it has: $wiped" ;;
	esac
}
