# Members that md does not rebuild: what becomes of them before anything else joins. It uses only
# the facts, as decide/action.sh does.
# shellcheck shell=bash
#
# When md gives up a rebuild, because it could not read a block of the only leg in sync
# (sync_request_write() in linux drivers/md/raid1.c), it takes the leg out of its slot, and keeps it
# as a member. It also remembers the slot (saved_raid_disk, remove_and_add_spares() in md.c). The
# next device that joins has md try that leg again (bind_rdev_to_array() there), and because of that
# slot md relies on the bitmap alone, once a check or a rebuild has ended (conf->fullsync,
# raid1_add_disk() in raid1.c). The bitmap does not have what was never copied: md calls the leg in
# sync, and reads old blocks from it. So such a leg leaves the array.

need decide/choice

declare -gA F # the facts: decide/facts.list

# unbuilt_next: if md does not rebuild a member (failed.rebuild), decides to take it out, the RAM
# leg first. If that has failed, nothing may join; nor before it is known whether md rebuilds a disk
# leg that has no slot yet. Returns 1 when an action was decided.
unbuilt_next() {
	local i why
	[[ ${F[array.sync]} == idle ]] || return 0
	choice_barred rebuild || {
		unbuilt_wait_
		return
	}
	why=$BARRED
	if [[ ${F[ram.state]} == recovering ]]; then
		choice_is drop-ram "the RAM leg is taken out: $why"
		! choice_barred drop-ram ||
			choice_is 'done' "the RAM leg can't be taken out ($BARRED): $why"
		return 1
	fi
	for ((i = 0; i < ${F[members]}; i++)); do
		unbuilt_has_no_slot "leg.$i" || continue
		choice_is remove-leg "disk leg ${F[leg.$i.dev]} is taken out: $why" "$i"
		! choice_barred "remove-leg.$i" || choice_is 'done' "disk leg ${F[leg.$i.dev]} \
can't be taken out ($BARRED): $why"
		return 1
	done
}

# A returned disk waits for the RAM leg anyway (readd_disk_legs).
unbuilt_wait_() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		unbuilt_has_no_slot "leg.$i" || continue
		choice_is wait-sync "disk leg ${F[leg.$i.dev]} is being rebuilt"
		return 1
	done
}

# unbuilt_has_no_slot KEY: is this leg (ram, leg.I) a member that is not in sync, and that has no
# slot to be rebuilt in? A member that has just joined has none for a moment, too.
unbuilt_has_no_slot() { [[ ${F[$1.state]} == recovering && ${F[$1.slot]} == none ]]; }

# unbuilt_is_there [KEY]: is there a member, besides this one, that has no slot although md is idle?
# Then md has given up its rebuild, or is about to begin it.
unbuilt_is_there() {
	local i
	[[ ${F[array.sync]} == idle ]] || return 1
	[[ ${1-} == ram ]] || ! unbuilt_has_no_slot ram || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${1-} == "leg.$i" ]] || ! unbuilt_has_no_slot "leg.$i" || return 0
	done
	return 1
}

# unbuilt_is_out KEY: call it when this leg (ram, leg.I) has been taken out. Unless there is another
# such member, forgets that md does not rebuild: what joins next is rebuilt.
unbuilt_is_out() {
	[[ $1 == ram || ${F[ram.state]} != recovering ]] && ! unbuilt_is_there "$1" || return 0
	unset -v 'F[failed.rebuild]'
}
