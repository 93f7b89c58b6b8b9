# Why a running array should not be left to md alone, without ramraid: at the next boot, mdadm's
# incremental assembly starts whatever comes first.
# shellcheck shell=bash

need act/witness-update core/text decide/action decide/below decide/leg observe/all-disks
need observe/before-look

declare -gA F # the facts: decide/facts.list

# left_to_md_why_not: call it after facts_observe, for an array that runs. Prints the reasons, and
# what to do, one a line. Returns 1 when the look has failed. The superblock of a disk that ran
# alone says that it did, and "mdadm -I" starts it as soon as it is there (mdadm, Incremental.c,
# count_active()). The others then do not fit. Loop devices are not there at boot.
left_to_md_why_not() {
	local i LEG clone node BELOW KEPT
	witness_update_foreign_start
	before_look_times || :
	action_choose
	[[ $ACTION != refuse ]] || printf '%s\n' "$WHY"
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_classify "$i"
		node=${F[leg.$i.node]}
		case $LEG in
		copy | given | separate) KEPT=$(left_to_md_blank_ "$node") ;;
		ahead | holding) leg_kept_why "$i" ;;
		*) continue ;;
		esac
		left_to_md_beside_ "${F[leg.$i.dev]} (/dev/$node)" "$KEPT"
	done
	all_disks_clones
	[[ ${F[clones_known]} == yes ]] || return 1
	for clone in ${F[clones]}; do
		node=${clone%%:*}
		below_or it "$(left_to_md_blank_ "$node")"
		left_to_md_beside_ "/dev/$node" "$BELOW"
	done
}

left_to_md_beside_() { # DISK TODO
	printf "%s is in the machine as well, with the UUID of the array, and the next boot may \
start the array from it instead. %s\n" "$1" "$2"
}

left_to_md_blank_() { # NODE
	printf "Take it out of the machine; or, if nothing on it is needed: \
mdadm --zero-superblock /dev/%q\n" "$1"
}
