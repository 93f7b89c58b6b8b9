# The check, who started the array: something else may have done so, from old legs, or without the
# ramdisk that has the only good copy.
# shellcheck shell=bash

need cmd/check/findings decide/action decide/health observe/foreign-start

declare -gA F # the facts: decide/facts.list

# check_foreign_start: after before_look_configured and facts_observe; sets array.known.
check_foreign_start() {
	local ACTION ARGUMENTS WHY OUTCOME BELOW
	foreign_start_look
	if health_ramdisk_alone; then
		check_foreign_start_ramdisk_
	elif [[ ${F[array.known]} == unread ]] && ! findings_is_root; then
		findings_unseen superblocks \
			'to see from which legs something else has started it' \
			'no right to read the superblocks'
	elif [[ ${F[array.known]} != yes && -z ${F[record.why]}${F[rescue.image]} ]] &&
		action_running_refused; then
		findings_problem foreign-start "ramraid to have started ${F[array.md]}, or \
something else from legs that have all that was written" "that $CHOICE_REASON" "$CHOICE_REMEDY"
	fi
}

check_foreign_start_ramdisk_() {
	local stop='' found='that the array does not run'
	[[ ${F[array.state]} == absent ]] || {
		stop="mdadm --stop /dev/${F[array.md]}; "
		found="that something else has assembled ${F[array.md]} without it"
	}
	findings_problem only-copy "the ramdisk ${F[ram.node]}, which alone has what was written \
last, in the array" "$found; do not cut the power" "${stop}mdadm --assemble --run \
/dev/md/$CHECK_ARRAY /dev/${F[ram.node]}; ramraid start $CHECK_ARRAY"
}
