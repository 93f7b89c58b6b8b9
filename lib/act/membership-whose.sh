# Whose is the device that a name leads to? For a change of the disks: a person who types "apply" or
# "replace" has seen names, and these lead to whatever came last.
# shellcheck shell=bash

need core/log core/paths notes/hardware notes/legs-seen observe/facts observe/members world/md-state
need world/stable-name

declare -gA F # the facts: decide/facts.list

# membership_whose_bus I: sets leg.I.bus; leg.I.loose is asked of a disk outside alone.
membership_whose_bus() {
	local HARDWARE
	F[leg.$1.bus]='' F[leg.$1.loose]=''
	[[ -n ${F[leg.$1.node]} ]] || return 0
	hardware_of "${F[leg.$1.node]}"
	F[leg.$1.bus]=${HARDWARE%% *}
}

# membership_whose_loose I: sets leg.I.loose of a disk outside. What has been said with --force is
# not asked again.
membership_whose_loose() {
	local NODES HARDWARE HARDWARE_WHY
	F[leg.$1.loose]=''
	[[ -z ${F[leg.$1.force]}${MEMBERSHIP_LOOSE-} ]] || return 0
	members_in_sync
	hardware_new "${F[leg.$1.node]}" "${NODES[@]}"
	F[leg.$1.loose]=$HARDWARE_WHY
	[[ -z ${F[leg.$1.alien]} ]] || F[leg.$1.loose]=${F[leg.$1.moved]}
}

# membership_whose_names: a name leads to the device that came last. While the leg that had it is in
# the array still, in sync or being rebuilt, another device has taken the name over, and is not what
# the configuration means. Ends the program then.
membership_whose_names() {
	local i line node LEGS name wrong='' HARDWARE
	md_state_members "${F[array.md]}"
	for ((i = 0; i < F[members]; i++)); do
		node=${F[leg.$i.node]}
		[[ -n $node && -z ${F[leg.$i.state]} ]] || continue
		for line in "${LEGS[@]}"; do
			[[ $line == *' '@(in_sync|recovering)' '* ]] || continue
			line=${line%% *}
			legs_seen_had_name "$line" "${F[leg.$i.dev]}" ||
				stable_name_has "${F[leg.$i.dev]}" "$node" "$line" || continue
			hardware_of "$node"
			name=$(stable_name_of "/dev/$line") && name=": MEMBER=$name" || name=''
			log_error "${F[name]}: ${F[leg.$i.dev]} leads to /dev/$node \
(${HARDWARE%% *}) now, and the leg that has that name, /dev/$line, is in the array: another device \
has taken the name over. Take that device away; or write another name of /dev/$line in place of \
this one in $ETC/${F[name]}.conf$name. Then type the same again"
			wrong=yes
		done
	done
	[[ -z $wrong ]] || die "${F[name]}: nothing further is changed" "$EX_REFUSED"
}
