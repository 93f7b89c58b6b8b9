# ramraid leave: says which arrays must not be left to md alone, before the package is removed.
# shellcheck shell=bash

need act/left-to-md config/conf config/conf-need core/cli core/log core/paths core/text
need observe/before-look observe/blocks-alone observe/facts

declare -gA F # the facts: decide/facts.list

readonly LEAVE_USAGE='usage: ramraid leave NAME…

Look whether these arrays may be left to md alone. They may not if something on one needs blocks
that only a start by ramraid gives it (BLOCK=4096): a partition table does. Nor if ramraid would
refuse what runs, or if a disk with a history of its own is beside it: md may start that at the next
boot. Nothing is changed. leave ends with 4 if one must not be left to md alone, and says what to
do. The step before the removal of the package runs this.'

cmd_leave() {
	local name code=0 one
	cli_parse "$LEAVE_USAGE" '' "$@"
	((${#ARGS[@]} > 0)) || cli_usage "$LEAVE_USAGE" 'expected names of arrays'
	cli_root
	for name in "${ARGS[@]}"; do
		one=0
		(leave_one_ "$name") || one=$?
		((one == EX_USAGE || one == EX_INACTIVE || one <= code)) || code=$one
	done
	return "$code"
}

# The caller judges an array whose configuration can't be read.
leave_one_() { # NAME
	local why='' BLOCKS_ALONE
	[[ -r $RUN/$1.started ]] || conf_load "$1" || return 0
	conf_need_started "$1"
	before_look_configured "$1"
	facts_observe
	if [[ ${F[array.state]} == active ]]; then
		why=$(blocks_alone_why_not) || why=$TEXT_UNKNOWN
		[[ -z $why ]] ||
			why+=". Copy what is on it to other disks; then: ramraid destroy $1"
		[[ -n $why ]] || why=$(left_to_md_why_not) || why=$TEXT_UNKNOWN
	elif [[ ${F[conf.block]} == 4096 ]]; then
		blocks_alone_of_disks
		((BLOCKS_ALONE == 0 || BLOCKS_ALONE >= 4096)) ||
			why="without ramraid, its next start gives it blocks of $BLOCKS_ALONE \
bytes instead of 4096; and it does not run, so ramraid can't see whether it has a partition table, \
which would then point to wrong places. Type: ramraid start $1. If it has none, or nothing on it \
is needed, remove BLOCK=4096 from its configuration"
	fi
	[[ -z $why ]] || die "$1: $why" "$EX_REFUSED"
}
