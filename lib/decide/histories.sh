# The histories of the disk legs, compared: what their superblocks say about each other, and what
# the witness says about them. What follows from that is decided elsewhere, first of all in
# decide/safe-start.sh.
# shellcheck shell=bash

need decide/give-up decide/leg-alone

declare -gA F # the facts: decide/facts.list

# A superblock identifies devices by their numbers, and gives the slot of each. A slot does not
# identify a device: md gives a new member the lowest free slot (raid1_add_disk() in linux
# drivers/md/raid1.c) and moves members together when the number of slots changes (raid1_reshape()).
# A number is not permanent either: a member that is added gets the lowest one, from the number of
# slots on, that no member of the running array has (Manage_add() in mdadm's Manage.c), so the RAM
# leg may have the number of a disk that is away. What a leg says about a number applies to a device
# if number and slot are the device's own, and the witness does not know better.

# histories_slot_of I NUMBER: sets SLOT to the slot that leg I's superblock gives to that device
# number; returns 1, with SLOT empty, when the superblock calls that device missing.
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
	# what leg I says about that number it says about itself
	[[ ${F[leg.$1.number]} != "${F[leg.$2.number]}" ]] || return 0
	histories_slot_of "$1" "${F[leg.$2.number]}" || return 0
	# Another slot: if md does not hand out that number again, the members have been moved
	# together since, and leg J is not missing.
	[[ $SLOT == "${F[leg.$2.role]}" ]] || {
		((${F[leg.$2.number]} >= ${F[leg.$1.raid_disks]:-0})) && return || return 1
	}
	histories_is_another_ "$1" "$2"
}

# histories_is_another_ I J: does leg I mean another device by leg J's number and slot? A witness
# that vouches for I and not for J shows that it is the RAM leg. Otherwise it may be a member that I
# got when it was used without J, if J does not know I: elsewhere, and if md hands out that number
# again, here. Without a witness, and with such a number, neither is then believed to know the
# other. With one, leg I is believed if it has no more events than when it left; or, if it has not
# left by then, when it has nothing that is later than the witness, or calls the RAM leg active as
# well. One event may be md's own half step; a new member adds more.
histories_is_another_() {
	local SLOT
	[[ -z ${F[witness.events]} || ${F[witness.ram_number]} != "${F[leg.$2.number]}" ]] ||
		! histories_witness_agrees "$1" || histories_witness_agrees "$2" || return 0
	! histories_slot_of "$2" "${F[leg.$1.number]}" || return 1
	((${F[leg.$2.number]} >= ${F[leg.$1.raid_disks]:-0})) || {
		histories_used_since "$1" surely
		return
	}
	[[ -z ${F[witness.events]} ]] || histories_used_since "$1" || {
		((${F[leg.$1.events]} > ${F[witness.events]} + 1)) &&
			! histories_calls_ram_active "$1"
	}
}

# histories_used_since I [surely]: does the witness show that leg I was written to after it had
# left? Not for one that is incomplete: a rebuild that was cut off adds events as well. With
# "surely", the witness has to know how many events leg I had at most; without, it may have had more
# ("EVENTS+").
histories_used_since() {
	local left=" ${F[witness.departed]} " uuid=${F[leg.$1.device_uuid]}
	[[ -n $uuid && -z ${F[leg.$1.recovery]} && $left == *" $uuid:"* ]] || return 1
	left=${left#*" $uuid:"}
	left=${left%% *}
	[[ ${2-} != surely || $left != *+ ]] && ((${F[leg.$1.events]} > ${left%+}))
}

# histories_calls_ram_active I: does leg I's superblock call the RAM leg that the witness describes
# active? It is recognised by its device number and slot; a witness of 0.1.0 has only the slot. The
# numbers of disk legs do not count; with the RAM leg's number, only if the slot is the leg's, too.
histories_calls_ram_active() {
	local i entry number=${F[witness.ram_number]} slot=${F[witness.ram_slot]} others=' '
	for ((i = 0; i < ${F[members]}; i++)); do
		others+="${F[leg.$i.number]}${number:+":${F[leg.$i.role]}"} "
	done
	for entry in ${F[leg.$1.roles]}; do
		if [[ -n $number ]]; then
			[[ $entry != "$number:$slot" || $others == *" $entry "* ]] || return 0
		else
			[[ -z $slot || ${entry#*:} != "$slot" ||
				$others == *" ${entry%:*} "* ]] || return 0
		fi
	done
	return 1
}

histories_has_later_events() { ((${F[leg.$1.events]} > ${F[leg.$2.events]} + 1)); }

# histories_witness_agrees I: does the witness allow leg I? Either there is no witness, or leg I was
# in sync when it was written.
histories_witness_agrees() {
	[[ -z ${F[witness.events]} ||
		" ${F[witness.legs]} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# histories_is_old I J: has leg J merely fallen behind leg I, so that it holds nothing that leg I
# lacks? Leg J calls leg I active, so it never ran without it.
histories_is_old() {
	histories_calls_missing "$1" "$2" && ! histories_calls_missing "$2" "$1" &&
		((${F[leg.$1.events]} > ${F[leg.$2.events]}))
}

# histories_current LEG…: sets CURRENT to the legs that have not merely fallen behind another one.
# What an old leg says about the others, which came and went after it left, no longer matters.
histories_current() {
	local i j
	CURRENT=()
	for i; do
		for j; do ! histories_is_old "$j" "$i" || continue 2; done
		CURRENT+=("$i")
	done
}

# histories_is_newer_ I J: is leg I newer than J (which may be empty)? A leg that was in sync when
# the array last ran is newer than one that was not, because event counts of separate histories
# can't be compared. Otherwise the leg with more events is newer.
histories_is_newer_() {
	[[ -n $2 ]] || return 0
	if histories_witness_agrees "$1"; then
		! histories_witness_agrees "$2" || ((${F[leg.$1.events]} > ${F[leg.$2.events]}))
	else
		! histories_witness_agrees "$2" && ((${F[leg.$1.events]} > ${F[leg.$2.events]}))
	fi
}

# histories_newest LEG…: sets NEWEST to the newest leg that is not superseded
# (histories_superseded_); if all are, to the newest of all.
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

# histories_find_successor LEG: sets SUCCESSOR to a leg that was being rebuilt in the array after
# LEG had left it. A leg that was given up does not count, because what it was rebuilt from was
# given up with it. Returns 1 if there is none.
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

# histories_equal NEWEST I LEG…: can leg I be started together with the newest one? Only if both
# have the same event count. md itself accepts a lag of one (linux drivers/md/md.c,
# super_1_validate), which a crash between the writes of two superblocks leaves. But a re-add that a
# crash interrupts in the same way leaves a leg with its old superblock, while the others call it
# active, and a record that was put back to an older state does not show that the leg had left. A
# leg that is left out here is put back by bitmap.
histories_equal() {
	local newest=$1 leg=$2
	shift 2
	! histories_superseded_ "$leg" "$@" || return 1
	[[ $leg != "$newest" ]] || return 0
	((${F[leg.$newest.events]} == ${F[leg.$leg.events]})) &&
		histories_witness_agrees "$newest" && histories_witness_agrees "$leg"
}

# histories_ran_separately NEWEST I: was the newest leg in sync when the array last ran and leg I
# not, although leg I is more than one event ahead? Such legs do not call each other missing when a
# crash has interrupted the re-add of one to the other.
histories_ran_separately() {
	[[ -n ${F[witness.events]} ]] && histories_witness_agrees "$1" &&
		! histories_witness_agrees "$2" && histories_has_later_events "$2" "$1"
}

# histories_rest LEG: sets REST to the devices that this leg calls active and that are not a disk
# leg that is here ("NUMBER:SLOT", each preceded by a blank), and KNOWN to how many disk legs are
# here. A leg on other hardware may be anybody's, and does not count; one that nothing can be
# started from (shrunk, of another level) counts as away.
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

# Does the newest leg call nothing active but itself, the legs that are present, and the RAM leg?
# Then the absent legs had left before. When every configured leg is here, anything else can only be
# the RAM leg, even without a record of it.
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
