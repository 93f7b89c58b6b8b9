# ramraid apply: the running array gets the disks that its configuration names, and no others.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh and change.sh list the keys

readonly APPLY_USAGE='usage: ramraid apply [--yes] [--dry-run] NAME

Makes the disk legs of the running array those that the MEMBER lines of /etc/ramraid/NAME.conf name: disks that are new there are built in,
write-mostly, and when all are in sync, those that are not there any more are taken out, and their superblocks made invalid. Never is there one
good copy less than before or after. The array stays in use. If it is interrupted, type it again; it also goes on with a "replace".
  --yes  do not ask    --dry-run  print the plan, change nothing'

cmd_apply() {
	cli_parse "$APPLY_USAGE" 'yes dry-run' "$@"
	cli_one_name "$APPLY_USAGE"
	need_work
	need leaving confedit change changing cmd/wait
	cli_root
	paths_run
	changing_look "$NAME"
	changing_ask "$NAME"
	cli_lock_first "$NAME" 5
	changing_look "$NAME"
	changing_check "$NAME"
	apply_begin "$NAME"
	changing_all "$NAME" "ramraid apply $NAME"
	exec {CLI_LOCK}>&-
	changes_tell "$NAME"
	mend_ask
}

# What is to leave and has no line any more gets it back until it has left, or a boot before that would do without it. The note first: with the line
# alone, the wish would be forgotten.
apply_begin() { # NAME
	((${#LEAVING[@]} > 0)) || return 0
	{ leaving_write "$1" "${CONF[UUID]}" "${LEAVING[@]}" && confedit_members "$1" "${MEMBERS[@]}"; } ||
		die "$1: $ETC/$1.conf or $(leaving_file "$1") could not be written; the disks are as before"
	changing_look "$1"
}
