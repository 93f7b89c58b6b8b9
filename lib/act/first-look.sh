# What is found out about an array before anything is done with it, and again when it is another run
# of it: somebody else may start, stop, or exchange it while a start waits.
# shellcheck shell=bash

need act/hotplug act/witness-update notes/witness observe/before-look observe/facts
need world/md-check world/ramdisk

declare -gA F # the facts: decide/facts.list

# first_look_is_done: has the array as it is now been judged?
first_look_is_done() {
	local MD_RUN
	witness_update_run
	[[ -n ${F[array.known]-} && ${F[array.judged]-} == "$MD_RUN" ]]
}

# first_look: judges it, and puts in order what an earlier run of ours may have left.
first_look() {
	witness_update_foreign_start
	[[ -z ${F[array.md]-} ]] || md_check_left "${F[array.md]}"
	ramdisk_settle "${F[name]}"
	[[ ${F[array.state]} != active || ${F[array.known]} != yes ||
		${F[array.readauto]} == yes ]] || first_look_note_leavers_
}

# A leg that has left this run of the array is noted before it is judged whether it may come back,
# with the array's count now: what it has beyond that it has from elsewhere. Its monitor may not
# have done that yet.
first_look_note_leavers_() {
	local i
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.joined]-} == yes && ${F[leg.$i.noted]-} != yes ]] || continue
		witness_update_witness
		facts_observe
		[[ ${F[mend]-} != yes ]] || hotplug_look
		return
	done
}

# first_look_record_is_same: is the record still the one that the facts are of? Its monitor, or
# another program, may have written since. If not, it is looked up again.
first_look_record_is_same() {
	before_look_record || :
	[[ ${WITNESS[generation]:-0} != "${F[witness.generation]:-0}" ]] || return 0
	before_look_witness
	return 1
}
