# Tells which legs were in an array until it ended, from the superblocks of those legs from which it
# has just been started, and which had left. md's first write replaces what they say. For
# act/witness-update.sh, whose variables this uses.
# shellcheck shell=bash disable=SC2154 # variables of act/witness-update.sh

need notes/legs-seen world/superblock

declare -gA F # the facts: decide/facts.list

# An orderly stop adds at most this many events after the record. Filling a slot and emptying it
# again takes more.
readonly WITNESS_CALLED_EVENTS=2

# witness_called_absent: is there a leg that is called active (NUMBER:SLOT in the caller's active),
# and is no member (by the caller's numbers)? Looks only at an array that has run since the record
# was written, and to which md has not written since it was started. Such a leg was in sync at the
# caller's event count. If it comes with fewer events, it was put back to an older state, and every
# slot may have been filled elsewhere since. A leg that is here with as many events, or with one
# less, was not put back: md writes superblocks side by side (md_update_sb() in linux
# drivers/md/md.c). A ramdisk is never put back. Returns 1 when there is no such leg.
witness_called_absent() {
	local i entry
	[[ ${F[array.readauto]-} == yes ]] || return 1
	[[ -z ${F[witness.events]} ]] ||
		((events > ${F[witness.events]} + WITNESS_CALLED_EVENTS)) || return 1
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != recovering ]] ||
			numbers+=" $(superblock_says "${F[leg.$i.node]}" number)"
	done
	[[ ! ${F[ram.slot]} =~ ^[0-9] ]] || numbers+=" $(superblock_says "${F[ram.node]}" number)"
	for entry in $active; do
		[[ " $numbers " == *" ${entry%:*} "* ]] || witness_called_is_here_ "$entry" ||
			return 0
	done
	return 1
}

# witness_called_departed EVENTS: adds to the caller's departed the legs that md writes to although
# they are not vouched for (LEG:), and those that have left (LEG:EVENTS). In an array that has just
# been started, to which md has not yet written, the members say whether a leg was in sync to the
# end; its last update may have been one more. If it was not, nobody knows how long it was: the
# count is that of the record, the last that is known, or more (EVENTS+). But a leg that was in sync
# in this run has left it: mdadm makes an array that nobody has open read-auto again when a disk is
# pulled out (case "regrown"). While a member in sync can't be read, none is taken for one that has
# left.
witness_called_departed() {
	local leg events more
	for leg in "${here[@]}"; do
		[[ " ${legs[*]} " == *" $leg "* ]] || departed+=("$leg:")
	done
	((${#here[@]} >= ${#NODES[@]})) || return 0
	for leg in ${F[witness.seen]-} ${F[witness.legs]-}; do
		[[ " ${here[*]} " != *" $leg "* && " ${departed[*]} " != *" $leg:"* ]] || continue
		events=$1 more=''
		[[ ${F[array.readauto]-} != yes ]] || {
			[[ -z ${F[witness.events]} ]] || legs_seen_is_of_run "$leg" ||
				witness_called_ "$leg" || events=${F[witness.events]} more=+
			events=$((events + 1))
		}
		departed+=("$leg:$events$more")
	done
}

# witness_called_ UUID: is this disk leg, which is no member, called active (NUMBER:SLOT in the
# caller's active)? If its disk is away, so that nobody knows its number: may it be, since a device
# is called active that is neither a member (by the caller's numbers) nor the ramdisk of the record?
witness_called_() {
	local i entry
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.device_uuid]-} == "$1" ]] || continue
		[[ " $active " == *" ${F[leg.$i.number]}:${F[leg.$i.role]} "* ]]
		return
	done
	for entry in $active; do
		[[ " $numbers " == *" ${entry%:*} "* ||
			$entry == "${F[witness.ram_number]-}:${F[witness.ram_slot]}" ]] || return 0
	done
	return 1
}

# witness_called_is_here_ NUMBER:SLOT: is this the ramdisk, which is gone, or a leg that is here
# with the caller's events, or one less?
witness_called_is_here_() {
	local i leg all=(ram)
	for ((i = 0; i < ${F[members]}; i++)); do all+=("$i"); done
	[[ $1 != "${F[witness.ram_number]-}:${F[witness.ram_slot]}" || -n ${F[leg.ram.dev]-} ]] ||
		return 0
	for i in "${all[@]}"; do
		leg=leg.$i
		[[ ${F[$leg.sb]-} == ok && ${F[$leg.uuid]} == "${F[uuid]}" &&
			${F[$leg.number]}:${F[$leg.role]} == "$1" ]] || continue
		((${F[$leg.events]} + 1 < events)) || return 0
	done
	return 1
}
