# ramraid mend: brings a running array back to what its configuration says, as far as no person is
# needed for that.
# shellcheck shell=bash

need act/array-lock act/hotplug act/notify act/transitions act/witness-update cmd/attach
need config/conf-need core/act core/cli core/log core/paths decide/action notes/memory-floor
need notes/ram-out observe/before-look observe/facts

declare -gA F # the facts: decide/facts.list

readonly MEND_USAGE='usage: ramraid mend [--dry-run] NAME

Bring the running array back to what its configuration says. ramraid puts back disk legs that have
returned, takes out members whose device is gone, and makes a new RAM leg if the old one has
failed. With AUTO_REPLACE=yes it builds in a blank disk that replaces a lost one. What md has
given up stays out, and so does a RAM leg that "detach" has taken out; "ramraid attach" puts these
back. Hot-plug runs this; the array stays in use all the time.
  -n, --dry-run  print the next step and the reason, change nothing'

cmd_mend() {
	local code=0
	cli_parse "$MEND_USAGE" 'dry-run' "$@"
	cli_one_name "$MEND_USAGE"
	conf_need "$NAME"
	cli_root
	paths_run
	[[ -n $DRY_RUN ]] || {
		array_lock "$NAME" 60
		conf_need "$NAME" # it may have been edited meanwhile
	}
	before_look_configured "$NAME"
	facts_observe
	if ram_out_is_released "$NAME"; then
		log_notice "$NAME: is being released; to go on: ramraid release $NAME; to keep it: \
ramraid adopt $NAME /dev/${F[array.md]:-md/$NAME}"
		return
	fi
	[[ ${F[array.state]} == @(active|broken) ]] ||
		die "$NAME: is not running; type: ramraid start $NAME" "$EX_INACTIVE"
	[[ -z $DRY_RUN ]] || {
		before_look_times
		witness_update_foreign_start
		hotplug_facts
		action_choose
		log_printable WHY
		printf 'action: %s\nwhy:    %s\n' "$ACTION${ARGUMENTS[*]:+ ${ARGUMENTS[*]}}" "$WHY"
		return
	}
	attach_here mend || code=$?
	hotplug_tried "$NAME" "$LOOP_PRINT"
	exec {ARRAY_LOCK}>&-
	mend_end_
	hotplug_trigger
	return "$code"
}

# The report about a leg that could not be put back says what the leg is, not that an attempt
# failed.
mend_end_() {
	local key
	for key in "${!F[@]}"; do
		[[ $key != @(failed|veto).@(readd|add-leg).* ]] || unset -v "F[$key]"
	done
	[[ -z $LOOP_NO_RAM ]] || ram_out_is_short "$NAME" ||
		notify warning ram-lost '' "$NAME: there is no RAM leg, and reads are as slow as \
the disks: $LOOP_NO_RAM. When that is fixed: ramraid attach $NAME"
	transitions_tell "$NAME"
}
