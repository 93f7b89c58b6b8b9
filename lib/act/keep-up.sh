# The unit of an array that runs, while its configuration is broken or missing.
# shellcheck shell=bash

need config/conf config/conf-need core/log core/paths notes/watched observe/before-look
need observe/facts world/systemd

declare -gA F # the facts: decide/facts.list

# keep_up NAME: does conf_need, for a start. But the unit of an array that runs must be up, or
# nothing takes the RAM leg out, or saves it, at a shutdown; and a stop that was refused has ended
# the unit. So if the configuration can't be read, and the array that this boot has started still
# runs, the unit's start reports "ready", and ends the program with 0; the array stays as it is.
keep_up() {
	! systemd_is_unit || conf_load "$1" || ! conf_need_kept "$1" || keep_up_here_ "$1"
	conf_need "$1"
}
keep_up_here_() { # NAME
	before_look_configured "$1"
	facts_observe
	# Somebody may have stopped it, and started it under another name.
	[[ ${F[array.state]} == active ]] && watched_is "${F[array.md]}" || return 0
	conf_need_started "$1" # says what is wrong
	log_warning "$1: the array keeps running, and a shutdown takes its RAM leg out; for \
anything else, correct or put back $ETC/$1.conf first, then: ramraid attach $1"
	systemd_ready 'its configuration is broken or missing; the array keeps running'
	exit "$EX_OK"
}
