# ramraid mend: brings a running array back to what its configuration says, as far as that needs no person.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly MEND_USAGE='usage: ramraid mend [--dry-run] NAME

Puts back disk legs that have returned, takes out members whose device is gone, makes a new RAM leg if the old one failed, and with
AUTO_REPLACE=yes builds a blank disk in the place of a lost one. What md has given up stays out, and so does a RAM leg that "detach" has taken
out: "ramraid attach" is for these. Done by hot-plug (HOTPLUG=yes); the array stays in use all the time.'

cmd_mend() {
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
	[[ ${F[array.state]} == active ]] || die "$NAME: is not running; type: ramraid start $NAME" "$EX_INACTIVE"
	[[ -z $DRY_RUN ]] || {
		facts_times
		mend_facts
		decide_action
		printf 'action: %s\nwhy:    %s\n' "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" "$WHY"
		return
	}
	attach_here mend
	mend_tried "$NAME"
	exec {CLI_LOCK}>&-
	changes_tell "$NAME"
	mend_ask
}
