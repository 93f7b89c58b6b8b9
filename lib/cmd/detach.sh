# ramraid detach: gives the RAM leg's memory back; the array runs on its disk legs.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly DETACH_USAGE='usage: ramraid detach [--dry-run] NAME

Takes the RAM leg out of the running array, while a disk leg is in sync, and gives its memory back; a device is made blank. The array stays in
use.
"ramraid attach NAME" is the way back; the next boot is another.'

cmd_detach() {
	cli_parse "$DETACH_USAGE" 'dry-run' "$@"
	cli_one_name "$DETACH_USAGE"
	need_work
	conf_need_started "$NAME"
	cli_root
	[[ -n $DRY_RUN ]] || cli_lock_first "$NAME" 5
	conf_need_started "$NAME" # who had the lock may have changed the disks
	facts_configured "$NAME"
	facts_observe
	# Also a package that is to be removed goes by the record that this may write.
	record_first_look
	[[ ${F[array.state]} == active ]] || die "$NAME: is not running; there is no RAM leg to take out" "$EX_INACTIVE"
	guard_release "$NAME"
	guard_give_back "$NAME"
	# Or hot-plug would make a new one. Until here the lock has kept it away.
	[[ -n $DRY_RUN ]] || : >"$RUN/$NAME.detached"
	facts_observe
	record_witness
	lately_note
	exec {CLI_LOCK}>&-
	changes_tell "$NAME"
}
