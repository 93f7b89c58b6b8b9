# The observing ring: does the RAM leg lack blocks that a disk leg has? If a write fails on the RAM
# leg and succeeds on a disk, md acknowledges it, and keeps the RAM leg in sync. If that disk leaves
# and comes back, md finds no leg to copy the block from, and lists it as bad on the disk, too
# (raid1_sync_request() in linux drivers/md/raid1.c).
# shellcheck shell=bash

need world/md-state

declare -gA F # the facts: decide/facts.list

# ram_lacks_look LEG…: sets ram.lacks for the RAM leg, which is in sync, beside these disk legs in
# sync.
ram_lacks_look() {
	local VALUE leg bad=''
	md_state_read "${F[array.md]}" "dev-${F[ram.node]}/bad_blocks"
	[[ -n $VALUE ]] || return 0
	for leg; do
		! md_state_bad_on_all_but "${F[array.md]}" "$leg" "${F[ram.node]}" ||
			F[ram.lacks]=yes
		md_state_read "${F[array.md]}" "dev-$leg/bad_blocks"
		bad+=$VALUE
	done
	[[ -z ${F[ram.lacks]} || -z $bad ]] || F[ram.lacks]=stays
}
