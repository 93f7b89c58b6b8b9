# ramraid detach: gives the RAM leg's memory back; the array runs on its disk legs.
# shellcheck shell=bash

need act/array-lock act/detach-ram act/transitions act/whole-since act/witness-update
need config/conf-need core/act core/cli core/log core/paths notes/ram-out observe/before-look
need observe/facts

declare -gA F # the facts: decide/facts.list

readonly DETACH_USAGE='usage: ramraid detach [--dry-run] NAME

Take the RAM leg out of the running array and free its memory; of a device as the RAM leg, ramraid
erases the superblock. It does so only while a disk leg is in sync. The array stays in use, on its
disks.
To get the RAM leg back, type: ramraid attach NAME. The next boot makes it too.
  -n, --dry-run  print every command, change nothing'

cmd_detach() {
	cli_parse "$DETACH_USAGE" 'dry-run' "$@"
	cli_one_name "$DETACH_USAGE"
	conf_need_started "$NAME"
	cli_root
	[[ -n $DRY_RUN ]] || array_lock_first "$NAME" 5
	conf_need_started "$NAME" # who had the lock may have changed the disks
	before_look_configured "$NAME"
	facts_observe
	# The removal of a package also uses the record that this may write.
	witness_update_foreign_start
	[[ ${F[array.state]} == active ]] ||
		die "$NAME: is not running; there is no RAM leg to take out" "$EX_INACTIVE"
	detach_ram "$NAME"
	detach_ram_give_back "$NAME"
	# Without this, hot-plug would make a new one. Until here the lock has kept hot-plug away.
	[[ -n $DRY_RUN ]] || ram_out_note "$NAME" person
	whole_since_look
	[[ -n $DRY_RUN ]] || exec {ARRAY_LOCK}>&-
	transitions_tell "$NAME"
}
