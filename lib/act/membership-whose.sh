# Tells whose device a name leads to, for a change of the disks: a person who types "apply" or
# "replace" has seen names, and a name leads to whichever device came last.
# shellcheck shell=bash

need config/conf-where core/log core/paths notes/hardware notes/legs-seen observe/facts
need observe/members world/md-state world/stable-name

declare -gA F # the facts: decide/facts.list

# membership_whose_bus I: sets leg.I.bus, and empties leg.I.loose, which only a disk outside the
# array gets.
membership_whose_bus() {
	local HARDWARE
	F[leg.$1.bus]='' F[leg.$1.loose]=''
	[[ -n ${F[leg.$1.node]} ]] || return 0
	hardware_of "${F[leg.$1.node]}"
	F[leg.$1.bus]=${HARDWARE%% *}
}

# membership_whose_loose I: sets leg.I.loose of a disk outside the array to why the disk may be
# somebody else's. It stays empty if a person has said --force.
membership_whose_loose() {
	local NODES HARDWARE HARDWARE_WHY
	F[leg.$1.loose]=''
	[[ -z ${F[leg.$1.force]}${MEMBERSHIP_LOOSE-} ]] || return 0
	members_in_sync
	hardware_new "${F[leg.$1.node]}" "${NODES[@]}"
	F[leg.$1.loose]=$HARDWARE_WHY
	[[ -z ${F[leg.$1.alien]} ]] || F[leg.$1.loose]=${F[leg.$1.moved]}
}

# membership_whose_names: looks for names that another device has taken over. A name leads to the
# device that came last. If the leg that had the name is still in the array, in sync or being
# rebuilt, the name now leads to a device that the configuration does not mean. Ends the program
# then.
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
			log_error "${F[name]}: ${F[leg.$i.dev]} now leads to /dev/$node \
(${HARDWARE%% *}), but the leg that had that name, /dev/$line, is in the array: another device has \
taken over the name. Remove that device; or replace this name by another one of /dev/$line in \
$(conf_where "${F[name]}" MEMBER "${F[leg.$i.dev]}")$name. Then type the same again"
			wrong=yes
		done
	done
	[[ -z $wrong ]] || die "${F[name]}: nothing further is changed" "$EX_REFUSED"
}
