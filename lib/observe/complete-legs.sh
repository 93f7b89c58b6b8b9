# The observing ring: which disk legs of the running array hold everything? md keeps a leg in sync
# even if it could not write a block to it, and acknowledges the write when another leg has it.
# shellcheck shell=bash

need decide/health observe/facts observe/members world/md world/md-state

declare -gA F # the facts: decide/facts.list

# complete_legs_find: sets COMPLETE to the disk legs that the record vouches for: those in sync that
# lack no block which another member in sync has, including the RAM leg. An array started from any
# other leg alone would lack that block. If each disk leg lacks something, but no block is in the
# RAM leg alone, COMPLETE is all of them, because together they have everything. Sets NODES as
# members_in_sync does.
complete_legs_find() {
	local leg other others
	members_in_sync
	COMPLETE=("${NODES[@]}")
	[[ ${F[conf.layout]} != far2 ]] || return 0
	others=("${NODES[@]}") COMPLETE=()
	[[ ${F[ram.state]} != in_sync ]] || others+=("${F[ram.node]}")
	for leg in "${NODES[@]}"; do
		! md_has_bad_blocks "${F[array.md]}" "$leg" || for other in "${others[@]}"; do
			[[ $other != "$leg" ]] || continue
			! md_state_bad_on_all_but "${F[array.md]}" "$other" "$leg" || continue 2
		done
		COMPLETE+=("$leg")
	done
	((${#COMPLETE[@]} > 0)) || health_only_copy || COMPLETE=("${NODES[@]}")
}
