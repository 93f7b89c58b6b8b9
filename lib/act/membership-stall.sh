# A change of the disks ("replace", "apply") that waits for a rebuild that md does not begin.
# shellcheck shell=bash

need act/loop-act core/log decide/unbuilt

declare -gA F # the facts: decide/facts.list

# membership_stall NAME: takes out the member that md does not rebuild (decide/unbuilt.sh). The
# change goes on without the RAM leg, and ends without a disk.
membership_stall() {
	local why="md does not rebuild it; see the kernel's messages: journalctl -k -g md"
	F[failed.rebuild]=$why
	! unbuilt_next || die "$1: $why"
	[[ $ACTION == 'done' ]] || loop_act || die "$1: ${LOOP_ERROR:-$ACTION failed}"
	[[ $ACTION == drop-ram ]] || die "$1: $WHY"
	log_warning "$1: $WHY"
}
