# What ramraid finds out about an array before it does anything with it. It does so again for
# another run of the array: somebody else may start, stop or exchange the array while a start waits.
# shellcheck shell=bash

need act/hotplug act/witness-update notes/witness observe/before-look observe/facts
need observe/members world/disk world/md-check world/ramdisk

declare -gA F # the facts: decide/facts.list

# first_look_is_done: has the array as it is now been judged?
first_look_is_done() {
	local MD_RUN
	witness_update_run
	[[ -n ${F[array.known]-} && ${F[array.judged]-} == "$MD_RUN" ]]
}

# first_look: judges the array, and cleans up what an earlier run of ramraid may have left.
first_look() {
	witness_update_foreign_start
	[[ -z ${F[array.md]-} ]] || md_check_left "${F[array.md]}"
	ramdisk_settle "${F[name]}"
	[[ ${F[array.state]} != active || ${F[array.known]} != yes ||
		${F[array.readauto]} == yes ]] || first_look_note_leavers_
}

# first_look_is_used: does something use the running array, although no start has opened the gate?
# An array with the root file system always is in use: the boot itself has to wait for its RAM leg.
first_look_is_used() {
	[[ ${F[array.state]} == active && ${F[array.readauto]} != yes &&
		${F[conf.root]} != yes ]] && ! disk_is_unused "${F[array.md]}"
}

# Records the legs that have left this run of the array, with the event count of the array now,
# before anything decides whether they may come back: events beyond that count come from elsewhere.
# The monitor of the array may not have recorded them yet.
first_look_note_leavers_() {
	first_look_has_leavers || return 0
	witness_update_or_go_on
	facts_observe
	[[ ${F[mend]-} != yes ]] || hotplug_look
}

# first_look_has_leavers: has a leg left this run of the array that the record does not know to have
# left, whether its disk is there or not?
first_look_has_leavers() {
	local i legs=0 NODES
	for i in ${F[witness.legs]}; do legs=$((legs + 1)); done
	members_in_sync
	((${#NODES[@]} >= legs)) || return 0
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.joined]-} != yes || ${F[leg.$i.noted]-} == yes ]] || return 0
	done
	return 1
}

# first_look_record_is_same: is the record still the one that the facts come from? The monitor, or
# another program, may have written it since. If so, reads it again, and returns 1.
first_look_record_is_same() {
	before_look_record || :
	[[ ${WITNESS[generation]:-0} != "${F[witness.generation]:-0}" ]] || return 0
	before_look_witness
	return 1
}
