# Is a node still the leg that was looked at? The kernel gives the name of a disk that is pulled
# out, or that was there before a hub was reset, to the next one; and a start may wait long after
# its decision.
# shellcheck shell=bash

need world/disk-find world/superblock

declare -gA F # the facts: decide/facts.list

readonly SAME_LEG_NOT=85 # what an action returns when the array has to be looked at again

# same_leg KEY NODE [EVENTS]: does NODE have the superblock of the leg KEY (leg.I, leg.ram), and
# this event count? Returns SAME_LEG_NOT, with LOOP_ERROR, when not.
same_leg() {
	same_leg_superblock "$@" || {
		LOOP_ERROR="/dev/$2 is no longer the disk that it was a moment ago"
		return "$SAME_LEG_NOT"
	}
}

# same_leg_name DEV NODE: does the stable name DEV still lead to NODE? For a device that is about to
# be filled, and has no superblock to know it by. Returns as same_leg does.
same_leg_name() {
	local NODE
	! disk_find "$1" || [[ $NODE != "$2" ]] || return 0
	LOOP_ERROR="$1 is no longer the disk that it was a moment ago"
	return "$SAME_LEG_NOT"
}

same_leg_superblock() { # KEY NODE [EVENTS]
	local facts
	facts=$(superblock_facts_patiently "$2")
	[[ $facts == "sb=ok
uuid=${F[$1.uuid]}
device_uuid=${F[$1.device_uuid]}
"* && (-z ${3-} || $facts$'\n' == *$'\n'"events=$3"$'\n'*) ]]
}
