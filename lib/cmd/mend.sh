# ramraid mend: brings a running array back to what its configuration says, as far as that needs no person.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly MEND_USAGE='usage: ramraid mend [--dry-run] NAME

Puts back disk legs that have returned, takes out members whose device is gone, makes a new RAM leg if the old one failed, and with
AUTO_REPLACE=yes builds a blank disk in the place of a lost one. What md has given up stays out, and so does a RAM leg that "detach" has taken
out: "ramraid attach" is for these. Done by hot-plug; the array stays in use all the time.'

cmd_mend() {
	local code=0
	cli_parse "$MEND_USAGE" 'dry-run' "$@"
	cli_one_name "$MEND_USAGE"
	need_work
	need cmd/attach
	conf_need "$NAME"
	cli_root
	paths_run
	[[ -n $DRY_RUN ]] || {
		cli_lock "$NAME" 60
		conf_need "$NAME" # it may have been edited meanwhile
	}
	facts_configured "$NAME"
	facts_observe
	if mend_is_released "$NAME"; then
		log_notice "$NAME: is being released; to go on: ramraid release $NAME; to keep it: ramraid adopt $NAME /dev/${F[array.md]:-md/$NAME}"
		return
	fi
	[[ ${F[array.state]} == active ]] || die "$NAME: is not running; type: ramraid start $NAME" "$EX_INACTIVE"
	[[ -z $DRY_RUN ]] || {
		facts_times
		mend_facts
		decide_action
		printf 'action: %s\nwhy:    %s\n' "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" "$WHY"
		return
	}
	attach_here mend || code=$?
	mend_tried "$NAME"
	exec {CLI_LOCK}>&-
	mend_end_
	mend_ask
	return "$code"
}

# What is said of a leg that could not be put back is what it is, not that it failed.
mend_end_() {
	local key
	for key in "${!F[@]}"; do [[ $key != failed.@(readd|add-leg).* ]] || unset -v "F[$key]"; done
	[[ -z $DRIVE_NO_RAM ]] || memory_has_given_up "$NAME" ||
		tell warning ram-lost '' "$NAME: there is no RAM leg, and reads are as slow as the disks: $DRIVE_NO_RAM. When that is mended: ramraid attach $NAME"
	changes_tell "$NAME"
}
