# The observing ring: was the ramdisk the only good copy when the array was stopped, though the
# record does not say so yet? Somebody may have stopped the array within seconds after it had lost
# its disk legs, and may have started it again from them.
# shellcheck shell=bash

need core/paths observe/disks-lack world/ramdisk-note world/superblock

declare -gA F # the facts: decide/facts.list

# last_copy_find: if the ramdisk is still there, outside the array, its superblock shows it:
# complete, with more events than the record, and with no disk leg active. Or md may have kept disk
# legs in sync that lack blocks, which no record says. Sets LAST_COPY to what the superblock says
# (superblock_facts). Returns 1 if the ramdisk was not the only good copy, or the record knows it.
# Then LAST_COPY_UNSEEN is yes if the ramdisk could not be looked at. After facts_observe, and when
# the record is in F.
last_copy_find() {
	local key value
	declare -gA LAST_COPY=()
	LAST_COPY_UNSEEN=''
	[[ ${F[ram.state]} == attached && -z ${F[rescue.image]-} ]] &&
		ramdisk_note_is_node "${F[ram.node]}" || return 1
	while IFS='=' read -r key value; do
		LAST_COPY[$key]=$value
	done < <(superblock_facts_patiently "${F[ram.node]}")
	[[ ${LAST_COPY[sb]-unreadable} != unreadable ]] || LAST_COPY_UNSEEN=yes
	[[ ${LAST_COPY[sb]-} == ok && ${LAST_COPY[uuid]-} == "${F[uuid]}" &&
		${LAST_COPY[role]-} =~ ^[0-9]+$ && -z ${LAST_COPY[recovery]-} ]] || return 1
	{
		last_copy_is_alone_ "${LAST_COPY[view]}" "${LAST_COPY[role]}" &&
			((LAST_COPY[events] > ${F[witness.events]:-0}))
	} || disks_lack_when_stopped "${LAST_COPY[events]}"
}

# Does this leg call no slot active but its own?
last_copy_is_alone_() { # VIEW ROLE
	[[ ${1:0:$2}${1:$2+1} != *A* ]]
}

# last_copy_facts: sets the facts of the record to say that only the RAM leg was good. After
# last_copy_find.
last_copy_facts() {
	F[witness.left]=${F[witness.legs]:-${F[witness.left]-}} F[witness.legs]='' \
		F[witness.events]=${LAST_COPY[events]} F[witness.ram_slot]=${LAST_COPY[role]} \
		F[witness.ram_number]=${LAST_COPY[number]}
}
