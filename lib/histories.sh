# The pure ring's part that compares the histories of the disk legs: what their superblocks say of each other, and the witness of them.
# Only safestart.sh says what follows from that.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# decide_calls_missing_ I J: does leg I's superblock call leg J's slot missing?
decide_calls_missing_() { [[ ${F[leg.$1.view]:${F[leg.$2.role]}:1} != A ]]; }

decide_counted_on_() { ((${F[leg.$1.events]} > ${F[leg.$2.events]} + 1)); }

# Nothing speaks against the newest leg: there is no witness, or it was in sync when that was written.
decide_witness_agrees_() {
	[[ -z ${F[witness.events]} || " ${F[witness.legs]} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# decide_is_old_ I J: has leg J merely been left behind by leg I, so that it holds nothing that this one lacks? It never ran without it, since it
# calls it active.
decide_is_old_() { decide_calls_missing_ "$1" "$2" && ! decide_calls_missing_ "$2" "$1" && ((${F[leg.$1.events]} > ${F[leg.$2.events]})); }

# decide_current_ LEG…: sets CURRENT to those that no other one has merely left behind. What such a leg says of the others, which came and went
# later, does not matter any more.
decide_current_() {
	local i j
	CURRENT=()
	for i; do
		for j; do ! decide_is_old_ "$j" "$i" || continue 2; done
		CURRENT+=("$i")
	done
}

# decide_is_newer_ I J: is leg I newer than J (which may be empty)? One that was in sync when the array last ran goes before one that was
# not, because counts of separate histories tell nothing; then the one with more events.
decide_is_newer_() {
	[[ -n $2 ]] || return 0
	if decide_witness_agrees_ "$1"; then
		! decide_witness_agrees_ "$2" || ((${F[leg.$1.events]} > ${F[leg.$2.events]}))
	else
		! decide_witness_agrees_ "$2" && ((${F[leg.$1.events]} > ${F[leg.$2.events]}))
	fi
}

# decide_newest_ LEG…: sets NEWEST to the newest among those that no other good leg calls missing; with none, to the newest of all.
decide_newest_() {
	local i newest='' fallback=''
	for i; do
		decide_is_newer_ "$i" "$fallback" && fallback=$i
		! decide_superseded_ "$i" "$@" || continue
		decide_is_newer_ "$i" "$newest" && newest=$i
	done
	NEWEST=${newest:-$fallback}
}

# decide_superseded_ LEG LEG…: does one of the others call the first missing, or did the array run on without it?
decide_superseded_() {
	local leg=$1 other OUTRUNNER
	shift
	for other; do
		[[ $other == "$leg" ]] || ! decide_calls_missing_ "$other" "$leg" || return 0
	done
	decide_find_outrunner_ "$leg"
}

# decide_find_outrunner_ LEG: sets OUTRUNNER to a leg that was being rebuilt in an array which LEG had left; not to one that has been given up,
# and what it was rebuilt from with it. Returns 1 if there is none.
decide_find_outrunner_() {
	for ((OUTRUNNER = 0; OUTRUNNER < ${F[members]}; OUTRUNNER++)); do
		[[ ${F[leg.$OUTRUNNER.sb]} == ok && -n ${F[leg.$OUTRUNNER.recovery]} && ${F[leg.$OUTRUNNER.uuid]} == "${F[uuid]}" ]] || continue
		! decide_is_given_up_ "$OUTRUNNER" || continue
		! decide_counted_on_ "$OUTRUNNER" "$1" || return 0
		((${F[leg.$OUTRUNNER.events]} <= ${F[leg.$1.events]})) || ! decide_calls_missing_ "$OUTRUNNER" "$1" || return 0
	done
	return 1
}

# decide_equal_ NEWEST I LEG…: can leg I be started together with the newest one? md itself accepts a lag of one event (a step that a crash
# cut off between two superblocks; linux drivers/md/md.c, super_1_validate). So do we, but only for legs that were in sync when the array
# last ran: a re-add that a crash cut off in the same way leaves a leg whose superblock is the old one, while the others call it active.
# A leg that is left out here is put back by bitmap.
decide_equal_() {
	local newest=$1 leg=$2 lag
	lag=$((${F[leg.$newest.events]} - ${F[leg.$leg.events]}))
	shift 2
	! decide_superseded_ "$leg" "$@" || return 1
	[[ $leg != "$newest" ]] || return 0
	if [[ -n ${F[witness.events]} ]]; then
		((lag * lag <= 1)) && decide_witness_agrees_ "$newest" && decide_witness_agrees_ "$leg"
	else
		((lag == 0))
	fi
}

# decide_strayed_ NEWEST I: was only the newest leg in sync when the array last ran, while leg I has counted on beyond it? Such legs do not
# call each other missing when a crash has cut off the re-add of one to the other.
decide_strayed_() {
	[[ -n ${F[witness.events]} ]] && decide_witness_agrees_ "$1" && ! decide_witness_agrees_ "$2" && decide_counted_on_ "$2" "$1"
}

# decide_ran_on_with_ram_ LEG: after it was written down that only the RAM leg was good, has the leg been made equal to it? Then it has counted
# on, and calls the RAM leg active; a disk that something else has started without the RAM leg has counted on, too.
decide_ran_on_with_ram_() {
	((${F[leg.$1.events]} > ${F[witness.events]})) && [[ ${F[witness.ram_slot]} =~ ^[0-9]+$ && ${F[leg.$1.view]:${F[witness.ram_slot]}:1} == A ]]
}

# Does the newest leg call nobody active but itself, the legs that are present, and the RAM leg? Then the absent ones were gone already.
# With every configured leg's slot known, what is left can only be the RAM leg, also without a record of its slot.
decide_newest_knows_() {
	local i view=${F[leg.$1.view]} slot=${F[witness.ram_slot]} known=0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.role]-} =~ ^[0-9]+$ && ${F[leg.$i.uuid]} == "${F[uuid]}" ]] || continue
		view=${view:0:${F[leg.$i.role]}}.${view:${F[leg.$i.role]}+1} known=$((known + 1))
	done
	((known < ${F[members]})) || return 0
	[[ -z $slot ]] || view=${view:0:slot}.${view:slot+1}
	[[ $view != *A* ]]
}
