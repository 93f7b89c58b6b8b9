# The observing ring: of an array that somebody else has stopped, had its RAM leg blocks that no
# disk leg had? While it runs, sysfs tells (facts_lacking_ in observe/facts.sh).
# shellcheck shell=bash

need core/paths world/superblock

declare -gA F # the facts: decide/facts.list

# disks_lack_when_stopped EVENTS: had the ramdisk, whose superblock is complete and carries so many
# events, blocks that md could not write to any disk leg that it kept in sync? That was said while
# the array ran (act/transitions.sh); or each of those legs says that it lacks some, and the RAM leg
# does not. Not of a ramdisk that left before the record was written.
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
