# The observing ring: which disk legs of the running array hold all that it holds? md keeps a leg in
# sync that does not take a block, and acknowledges the write when another one has taken it.
# shellcheck shell=bash

need decide/health observe/facts observe/members world/md world/md-state

declare -gA F # the facts: decide/facts.list

# complete_legs_find: sets COMPLETE to the disk legs that the record vouches for: those in sync that
# lack no block which another member in sync has, be it the RAM leg; started by itself, any other
# one would lack that. If each disk leg lacks something, and no block is in the RAM leg alone: all
# of them, because together they have everything. Sets NODES as members_in_sync does.
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
