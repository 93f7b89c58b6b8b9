# The observing ring: did the RAM leg of an array that somebody else has stopped have blocks that no
# disk leg had? While an array runs, sysfs tells (facts_lacking_ in observe/facts.sh).
# shellcheck shell=bash

need core/paths world/superblock

declare -gA F # the facts: decide/facts.list

# disks_lack_when_stopped EVENTS: did the ramdisk, whose superblock is complete and carries EVENTS
# events, have blocks that md could not write to any disk leg in sync? Yes, if that was reported
# while the array ran (act/transitions.sh), or if each of those legs says that it lacks some, and
# the RAM leg does not. No, if the ramdisk left before the record was written.
disks_lack_when_stopped() {
	local i lacking=''
	(($1 + 1 >= ${F[witness.events]:-0})) || return 1
	! grep -qsx 'yes only' "$RUN/${F[name]}.told" || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.sb]} == ok && ${F[leg.$i.uuid]} == "${F[uuid]}" &&
			${F[leg.$i.role]} =~ ^[0-9]+$ && -z ${F[leg.$i.recovery]} ]] || continue
		((${F[leg.$i.events]} + 1 >= $1)) || continue
		superblock_has_bad_blocks "$DEV/${F[leg.$i.node]}" || (($? == 2)) || return 1
		lacking=yes
	done
	[[ -n $lacking ]] && ! superblock_has_bad_blocks "$DEV/${F[ram.node]}"
}
