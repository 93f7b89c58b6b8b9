# The pure ring's part that compares the histories of the disk legs: what their superblocks say of
# each other, and the witness of them. Only decide/safe-start.sh says what follows from that.
# shellcheck shell=bash

need decide/give-up decide/leg

declare -gA F # the facts: decide/facts.list

# A superblock names devices by their numbers, and gives the slot of each. A slot is no device: md
# gives a new member the lowest free slot (raid1_add_disk() in linux drivers/md/raid1.c) and moves
# members together when the number of slots changes (raid1_reshape()). Nor is a number for ever: a
# member that is added gets the lowest one, from the number of slots on, that no member of the
# running array has (Manage_add() in mdadm's Manage.c), so the RAM leg may have that of a disk that
# is away. What a leg says of a number holds for a device if number and slot are the device's own,
# and the witness does not know better.

# histories_slot_of I NUMBER: sets SLOT to the slot that leg I's superblock gives to that device
# number; returns 1, with SLOT empty, when it calls it missing.
histories_slot_of() {
	local roles=" ${F[leg.$1.roles]} "
	SLOT=''
	[[ -n $2 && $roles == *" $2:"* ]] || return 1
	SLOT=${roles#*" $2:"}
	SLOT=${SLOT%% *}
}

# histories_calls_missing I J: does leg I's superblock call leg J missing?
histories_calls_missing() {
	local SLOT
	# what it says of that number it says of itself
	[[ ${F[leg.$1.number]} != "${F[leg.$2.number]}" ]] || return 0
	histories_slot_of "$1" "${F[leg.$2.number]}" || return 0
	# Another slot: the members have been moved together since, if it is a number that md does
	# not hand out again.
	[[ $SLOT == "${F[leg.$2.role]}" ]] || {
		((${F[leg.$2.number]} >= ${F[leg.$1.raid_disks]:-0})) && return || return 1
	}
	histories_is_ram_instead_ "$1" "$2"
}

# histories_is_ram_instead_ I J: is it the RAM leg to which leg I gives leg J's number and slot? The
# witness tells, when it vouches for I and not for J. Without one it may be so when the number is
# one that md hands out again and J does not know I: then neither is believed to know the other.
histories_is_ram_instead_() {
	local SLOT
	if [[ -n ${F[witness.events]} ]]; then
		[[ ${F[witness.ram_number]} == "${F[leg.$2.number]}" ]] &&
			histories_witness_agrees "$1" && ! histories_witness_agrees "$2"
	else
		((${F[leg.$2.number]} >= ${F[leg.$1.raid_disks]:-0})) &&
			! histories_slot_of "$2" "${F[leg.$1.number]}"
	fi
}

# histories_calls_ram_active I: does leg I's superblock call the RAM leg active, as the witness
# knows it? By its device number; a witness of 0.1.0 knows the slot alone. What is a disk leg's own
# is none of it.
histories_calls_ram_active() {
	local i entry number=${F[witness.ram_number]} slot=${F[witness.ram_slot]} others=' '
	for ((i = 0; i < ${F[members]}; i++)); do others+="${F[leg.$i.number]} "; done
	for entry in ${F[leg.$1.roles]}; do
		[[ $others != *" ${entry%:*} "* ]] || continue
		if [[ -n $number ]]; then
			[[ $entry != "$number:$slot" ]] || return 0
		else
			[[ -z $slot || ${entry#*:} != "$slot" ]] || return 0
		fi
	done
	return 1
}

histories_has_later_events() { ((${F[leg.$1.events]} > ${F[leg.$2.events]} + 1)); }

# Nothing speaks against the newest leg: there is no witness, or it was in sync when that was
# written.
histories_witness_agrees() {
	[[ -z ${F[witness.events]} ||
		" ${F[witness.legs]} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# histories_is_old I J: has leg J merely been left behind by leg I, so that it holds nothing that
# this one lacks? It never ran without it, since it calls it active.
histories_is_old() {
	histories_calls_missing "$1" "$2" && ! histories_calls_missing "$2" "$1" &&
		((${F[leg.$1.events]} > ${F[leg.$2.events]}))
}

# histories_current LEG…: sets CURRENT to those that no other one has merely left behind. What
# such a leg says of the others, which came and went later, does not matter any more.
histories_current() {
	local i j
	CURRENT=()
	for i; do
		for j; do ! histories_is_old "$j" "$i" || continue 2; done
		CURRENT+=("$i")
	done
}

# histories_is_newer_ I J: is leg I newer than J (which may be empty)? One that was in sync when the
# array last ran goes before one that was not, because counts of separate histories tell nothing;
# then the one with more events.
histories_is_newer_() {
	[[ -n $2 ]] || return 0
	if histories_witness_agrees "$1"; then
		! histories_witness_agrees "$2" || ((${F[leg.$1.events]} > ${F[leg.$2.events]}))
	else
		! histories_witness_agrees "$2" && ((${F[leg.$1.events]} > ${F[leg.$2.events]}))
	fi
}

# histories_newest LEG…: sets NEWEST to the newest among those that no other good leg calls
# missing; with none, to the newest of all.
histories_newest() {
	local i newest='' fallback=''
	for i; do
		histories_is_newer_ "$i" "$fallback" && fallback=$i
		! histories_superseded_ "$i" "$@" || continue
		histories_is_newer_ "$i" "$newest" && newest=$i
	done
	NEWEST=${newest:-$fallback}
}

# histories_superseded_ LEG LEG…: does one of the others call the first missing, or did the array
# run on without it?
histories_superseded_() {
	local leg=$1 other SUCCESSOR
	shift
	for other; do
		[[ $other == "$leg" ]] || ! histories_calls_missing "$other" "$leg" || return 0
	done
	histories_find_successor "$leg"
}

# histories_find_successor LEG: sets SUCCESSOR to a leg that was being rebuilt in an array which LEG
# had left; not to one that has been given up, and what it was rebuilt from with it. Returns 1 if
# there is none.
histories_find_successor() {
	for ((SUCCESSOR = 0; SUCCESSOR < ${F[members]}; SUCCESSOR++)); do
		[[ ${F[leg.$SUCCESSOR.sb]} == ok && -n ${F[leg.$SUCCESSOR.recovery]} &&
			${F[leg.$SUCCESSOR.uuid]} == "${F[uuid]}" ]] || continue
		! give_up_is_given "$SUCCESSOR" || continue
		! histories_has_later_events "$SUCCESSOR" "$1" || return 0
		((${F[leg.$SUCCESSOR.events]} <= ${F[leg.$1.events]})) ||
			! histories_calls_missing "$SUCCESSOR" "$1" || return 0
	done
	return 1
}

# histories_equal NEWEST I LEG…: can leg I be started together with the newest one? Only one of the
# same event count. md itself accepts a lag of one (linux drivers/md/md.c, super_1_validate): a step
# that a crash cut off between two superblocks. But a re-add that a crash cut off in the same way
# leaves a leg whose superblock is the old one, while the others call it active, and a record that
# was set back does not know that it had left. A leg that is left out here is put back by bitmap.
histories_equal() {
	local newest=$1 leg=$2
	shift 2
	! histories_superseded_ "$leg" "$@" || return 1
	[[ $leg != "$newest" ]] || return 0
	((${F[leg.$newest.events]} == ${F[leg.$leg.events]})) &&
		histories_witness_agrees "$newest" && histories_witness_agrees "$leg"
}

# histories_ran_separately NEWEST I: was only the newest leg in sync when the array last ran, while
# leg I has counted on beyond it? Such legs do not call each other missing when a crash has cut off
# the re-add of one to the other.
histories_ran_separately() {
	[[ -n ${F[witness.events]} ]] && histories_witness_agrees "$1" &&
		! histories_witness_agrees "$2" && histories_has_later_events "$2" "$1"
}

# histories_rest LEG: sets REST to those of the devices that this leg calls active which are no disk
# leg that is here ("NUMBER:SLOT", each after a blank), and KNOWN to how many are here. What has
# come on other hardware may be anybody's, and is not; what nothing can be started from (shrunk, of
# another level) is as good as away.
histories_rest() {
	local i entry here=' ' LEG
	REST='' KNOWN=0
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_alone "$i"
		[[ $LEG == @(good|partial) && -z ${F[leg.$i.alien]} ]] || continue
		KNOWN=$((KNOWN + 1))
		[[ $i != "$1" ]] && histories_calls_missing "$1" "$i" ||
			here+="${F[leg.$i.number]}:${F[leg.$i.role]} "
	done
	for entry in ${F[leg.$1.roles]}; do [[ $here == *" $entry "* ]] || REST+=" $entry"; done
}

# Does the newest leg call nobody active but itself, the legs that are present, and the RAM leg?
# Then the absent ones were gone already. With every configured leg known, what is left can only be
# the RAM leg, also without a record of it.
histories_newest_knows() {
	local REST KNOWN entry number=${F[witness.ram_number]} slot=${F[witness.ram_slot]}
	histories_rest "$1"
	((KNOWN < ${F[members]})) || return 0
	for entry in $REST; do
		if [[ -n $number ]]; then
			[[ ${entry%:*} == "$number" ]] || return 1
		else
			[[ ${entry#*:} == "${slot:-none}" ]] || return 1
		fi
	done
}
