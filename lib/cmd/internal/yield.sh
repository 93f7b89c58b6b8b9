# ramraid yield: releases RAM legs before another program stops the arrays.
# shellcheck shell=bash

need act/array-lock act/detach-ram act/transitions act/whole-since config/conf config/conf-need
need core/cli core/log core/paths decide/health observe/before-look observe/facts world/systemd

declare -gA F # the facts: decide/facts.list

readonly YIELD_USAGE='usage: ramraid yield NAME…

For programs that stop arrays as they are: while the machine goes down, take the RAM leg of each
of these arrays out, if a disk leg has all that the RAM leg has. yield ends with 4 when a RAM leg
is the only good copy: then only ramraid may stop that array. blk-availability.service of lvm2
runs this before it deactivates anything.'

cmd_yield() {
	local name code=0 one
	cli_parse "$YIELD_USAGE" '' "$@"
	((${#ARGS[@]} > 0)) || cli_usage "$YIELD_USAGE" 'expected names of arrays'
	cli_root
	for name in "${ARGS[@]}"; do
		one=0
		(yield_one_ "$name") || one=$?
		((one <= code)) || code=$one
	done
	return "$code"
}

# yield_one_ NAME: does not wait for whoever uses the array or is at work on it: they in turn may
# wait for the caller. A process that is still filling the RAM leg has not made it an only copy.
yield_one_() {
	local going=''
	! systemd_is_running || ! systemd_is_stopping || going=yes
	[[ -r $RUN/$1.started ]] || conf_load "$1" || return 0
	conf_need_started "$1"
	[[ -z $going ]] || ! array_lock_is_free "$1" || array_lock "$1" 5
	before_look_configured "$1"
	facts_observe
	[[ ${F[array.state]} != absent ]] || return 0
	if health_only_copy; then
		log_alert "$1: THE RAM LEG IS THE ONLY GOOD COPY: \
nobody may stop ${F[array.md]} but ramraid. $(transitions_remedy)"
		return "$EX_REFUSED"
	fi
	[[ -n $going && -n ${ARRAY_LOCK-} ]] || return 0
	detach_ram "$1" || return
	whole_since_look
}
