# What becomes of a device that RAM= names. It keeps its contents, so it may be put back by
# bitmap, may be stale, and may even be the newest leg. This file uses only the facts, as
# decide/action.sh does; leg.ram.* describe the device while it is in no array of ours.
# shellcheck shell=bash

need core/paths decide/choice decide/give-up decide/histories decide/leg decide/not-ours
need decide/readd decide/strangers

declare -gA F # the facts: decide/facts.list

# seconds to wait for it with MEMBER_TIMEOUT=infinity: the array can do without it
readonly RAM_DEVICE_MOST=300

ram_device_time_is_up_() {
	local most=${F[conf.member_timeout]}
	[[ $ACTION_EVENTUALLY != eventually ]] || return 0
	[[ $most != infinity ]] || most=$RAM_DEVICE_MOST
	((${F[waited]} >= most))
}

# ram_device_ahead_ LEG…: may the device hold writes that these disk legs all lack? It can't if it
# calls one of them active and is not ahead of it, because then it never ran without that leg. (One
# event more does not count: it may be an update that md had half finished.)
ram_device_ahead_() {
	local i
	for i; do
		histories_calls_missing ram "$i" || histories_has_later_events ram "$i" || return 1
	done
}

# ram_device_first ABSENT GOOD…: called before a start from the good disk legs, with ABSENT (a
# number) others missing. Sets the action and returns 0 when the start has to wait for the device,
# starts from it, or is refused because of it.
ram_device_first() {
	local absent=$1 KIND
	shift
	leg_kind ram
	[[ $KIND != good || -z ${F[leg.ram.alien]} ]] || strangers_alien ram
	if [[ $KIND == absent ]]; then
		ram_device_is_active_ "$NEWEST" && ! ram_device_time_is_up_ || return 1
		choice_is wait-members "waiting for ${F[leg.ram.dev]}: \
the disk legs call the RAM leg active, so it may hold what they lack"
		return
	fi
	[[ $KIND == good ]] && ! give_up_is_given ram && ram_device_ahead_ "$@" || return 1
	ram_device_newest "$absent" "$@"
}

# ram_device_is_active_ LEG: does this disk leg call the RAM leg active or, when the record does not
# know the RAM leg, anything that is not a disk leg that is here? It does only after an unclean
# stop.
ram_device_is_active_() {
	local REST KNOWN
	if [[ -n ${F[witness.ram_number]}${F[witness.ram_slot]} ]]; then
		histories_calls_ram_active "$1"
	else
		histories_rest "$1"
		[[ -n $REST ]]
	fi
}

# ram_device_newest ABSENT GOOD…: the device is ahead. The array is started from it alone if the
# record of the last run says that it was the only good copy, and the disk legs are merely old;
# these are then put back by bitmap. Otherwise nothing is started.
ram_device_newest() {
	local absent=$1 i why='' look='Look' legs=(ram "$NEWEST") ABSENT
	shift
	if [[ -z ${F[witness.events]} || -n ${F[witness.legs]} ]]; then
		why='the record of the last run does not say that it was the only good copy'
	elif [[ ${F[leg.ram.role]} != "${F[witness.ram_slot]}" ]] ||
		((${F[leg.ram.events]} + 1 < ${F[witness.events]})); then
		why="the array was at ${F[witness.events]} events when it last ran, \
with the RAM leg in slot ${F[witness.ram_slot]:-unknown}"
	fi
	for i; do
		[[ ${F[leg.$i.device_uuid]:-none} != "${F[leg.ram.device_uuid]}" ]] || {
			why="it and ${F[leg.$i.dev]} (events ${F[leg.$i.events]}) have the same \
device UUID: one of them is a copy of the other"
			break
		}
		histories_is_old ram "$i" ||
			why="it and ${F[leg.$i.dev]} (events ${F[leg.$i.events]}) have been \
used without each other"
	done
	leg_absent_names
	[[ -z $ABSENT ]] || look="Bring the missing disk back:$ABSENT. Or look"
	if [[ -n $why ]]; then
		# The likelier choice comes first: what was in sync when the array last ran.
		[[ -z ${F[witness.events]} ||
			${F[leg.ram.role]} == "${F[witness.ram_slot]}" ]] ||
			! histories_witness_agrees "$NEWEST" || legs=("$NEWEST" ram)
		choice_is refuse "${F[leg.ram.dev]}, the RAM leg (events ${F[leg.ram.events]}), \
may hold writes that the disk legs here lack, but $why. $look at all of them (mdadm --examine), \
choose one, and start from it alone: \
ramraid start --force-leg=${F[leg.${legs[0]}.dev]} ${F[name]}, or: \
ramraid start --force-leg=${F[leg.${legs[1]}.dev]} ${F[name]}"
	elif ((absent > 0)) && ! choice_time_is_up conf.member_timeout; then
		choice_is wait-members "waiting for $absent of ${F[members]} disk legs:$ABSENT"
	elif ((absent > 0)) && [[ ${F[conf.start_degraded]} == never ]]; then
		choice_is refuse "not all disk legs can be used (missing:$ABSENT), \
and START_DEGRADED=never"
	else
		choice_is assemble "${F[leg.ram.dev]}, the RAM leg, was the only good copy when \
the array last ran, and has kept its contents: starting from it, and putting the disk legs \
back" "${F[ram.node]}"
	fi
}

# ram_device: sets DEVICE to what the device is good for while the array runs without it: absent
# used alien damaged foreign blank or, for a leg of our array, back (md can put it back by bitmap),
# old (the disk legs have all that it holds, so it is rebuilt as a whole), own (it may hold writes
# that they lack), holding (it may have blocks that md could not write to them) or unsettled (the
# next look will tell).
ram_device() {
	DEVICE=absent
	if leg_is_absent ram; then return; fi
	if [[ -n ${F[leg.ram.in]} ]]; then
		DEVICE=used
	elif [[ -n ${F[leg.ram.alien]} ]]; then
		DEVICE=alien
	elif [[ ${F[leg.ram.sb]} == none ]]; then
		DEVICE=blank
	elif [[ ${F[leg.ram.sb]} != ok ]]; then
		DEVICE=damaged
	elif [[ ${F[leg.ram.uuid]} != "${F[uuid]}" || ${F[leg.ram.level]:-1} != 1 ]]; then
		DEVICE=foreign
	elif [[ ! ${F[leg.ram.role]} =~ ^[0-9]+$ || -n ${F[leg.ram.recovery]} ]] ||
		give_up_is_given ram; then
		# It was never in sync, or no longer is; or a person has given it up.
		DEVICE=old
	else
		ram_device_history_
	fi
}

# Judges the device by the device numbers and slots of the disk legs in sync. If it may have blocks
# that none of them has, it stays out: md would record these as bad on it, too (readd_may). It is
# put back by bitmap only if it calls all of them active, as readd_may requires of a disk leg; and
# not if it would come back write-mostly, "adopt" has found that it differs, or md may have
# forgotten where it differs (readd_is_forgotten).
ram_device_history_() {
	local i slot active=no all=yes
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || continue
		slot=${F[leg.$i.slot]}
		# "none" when that leg joined between two looks at sysfs: the next look will tell.
		[[ $slot =~ ^[0-9]+$ ]] || {
			DEVICE=unsettled
			return
		}
		if readd_has_been_with ram "leg.$i"; then active=yes; else all=no; fi
	done
	if [[ $active == no ]] || readd_is_ahead ram; then
		DEVICE=own
	elif [[ ${F[leg.ram.holds]} == yes ]]; then
		DEVICE=holding
	elif [[ $all == yes && ${F[leg.ram.writemostly]} != yes &&
		${F[ram.refill]:-none} != "${F[leg.ram.device_uuid]}" ]] &&
		! readd_is_forgotten ram; then
		DEVICE=back
	else
		DEVICE=old
	fi
}

# ram_device_none: decides what to do with the device when the array runs without a RAM leg.
ram_device_none() {
	local dev=${F[leg.ram.dev]} DEVICE wiped
	wiped="mdadm --zero-superblock $dev; ramraid attach ${F[name]}"
	ram_device
	[[ $DEVICE != back ]] || ! choice_barred return-ram || DEVICE=old
	case $DEVICE in
	absent)
		if [[ ${F[retry]} != yes && ${F[mend]} != yes ]] && ! ram_device_time_is_up_; then
			choice_is wait-members "waiting for $dev, the RAM leg"
		else
			choice_is 'done' "there is no RAM leg: $dev is not there, \
or can't be read; when it is: ramraid attach ${F[name]}"
		fi
		;;
	unsettled) choice_is wait-sync 'a disk leg is just joining' ;;
	blank) choice_is make-ram "$dev, the RAM leg, holds nothing of this array" ;;
	back)
		choice_is return-ram "$dev, the RAM leg, has kept its contents: \
md adds what was written since"
		;;
	old)
		choice_barred return-ram || :
		choice_is wipe-ram "$dev holds an older state of the array${BARRED:+ ($BARRED)}, \
so all of it is rebuilt"
		;;
	used) choice_is 'done' "there is no RAM leg: $dev is in use by ${F[leg.ram.in]}" ;;
	alien)
		choice_is 'done' "there is no RAM leg: $dev (/dev/${F[ram.node]}) may be somebody \
else's: ${F[leg.ram.moved]}. If you have moved it there yourself: rm $STATE/${F[name]}.hardware; \
ramraid attach ${F[name]}"
		;;
	damaged | foreign)
		not_ours ram "$DEVICE" || NOT_OURS="has a superblock that is damaged" \
			NOT_OURS_DO+="; or, if nothing on it is needed: wipefs --all $dev; \
ramraid attach ${F[name]}"
		choice_is 'done' "there is no RAM leg: $dev $NOT_OURS. ${NOT_OURS_DO^}"
		;;
	own | holding) ram_device_kept_ "$wiped" ;;
	esac
}

# ram_device_kept_ WIPED: leaves the device alone, because it may have what no disk leg has. WIPED
# is what to type to give that up.
ram_device_kept_() {
	local dev=${F[leg.ram.dev]} why look
	why="$dev (events ${F[leg.ram.events]}) may hold writes that the disk legs (events \
${F[array.events]}) lack"
	look="Look at it (mdadm --examine $dev)"
	[[ $DEVICE != holding ]] || {
		why="$dev may have blocks that no disk leg in sync has, since md could not write \
them there"
		look="To see which disks: ramraid check ${F[name]}"
	}
	choice_is 'done' "there is no RAM leg: $why, so it is neither put back nor overwritten. \
$look. To go on from it: ramraid stop ${F[name]} && ramraid start --force-leg=$dev ${F[name]}. \
To give up what it has: $1"
}
