# ramraid apply: gives the running array the disks that its configuration names, and no others.
# shellcheck shell=bash

need act/array-lock act/membership act/transitions config/conf config/conf-edit core/cli core/log
need core/paths notes/removals

declare -gA F # the facts: decide/facts.list

readonly APPLY_USAGE='usage: ramraid apply [--force] [--yes] [--dry-run] NAME

Make the disk legs of the running array those that the MEMBER lines of /etc/ramraid/NAME.conf
name. ramraid builds in disks that are new there, write-mostly. When all are in sync, it takes out
those that are not there any more, and makes their superblocks invalid. At no time are
there fewer good copies than before, and the array stays in use.
If apply is interrupted, type it again; it also goes on with a "replace".
  --force        also take a disk that anybody can plug in or make up (USB, loop, network), where no
                 leg ever was
  -y, --yes      do not ask
  -n, --dry-run  print the plan, change nothing'

cmd_apply() {
	cli_parse "$APPLY_USAGE" 'force yes dry-run' "$@"
	cli_one_name "$APPLY_USAGE"
	cli_root
	paths_run
	MEMBERSHIP_LOOSE=${OPT[force]-}
	membership_look "$NAME"
	membership_ask "$NAME"
	array_lock_first "$NAME" 5
	membership_look "$NAME"
	membership_check "$NAME"
	apply_begin "$NAME"
	membership_all "$NAME" "ramraid apply${OPT[force]:+ --force} $NAME"
	transitions_end "$NAME"
}

# A disk that is to leave and has no MEMBER line any more gets its line back until it has left;
# otherwise a boot before then would do without it. The note is written first: with the line alone,
# nobody would remember that the disk is to leave.
apply_begin() { # NAME
	((${#LEAVING[@]} > 0)) || return 0
	{
		removals_write "$1" "${CONF[UUID]}" "${LEAVING[@]}" &&
			conf_edit_members "$1" "${MEMBERS[@]}"
	} ||
		die "$1: $ETC/$1.conf or $(removals_file "$1") could not be written; \
the disks are as before"
	membership_look "$1"
}
