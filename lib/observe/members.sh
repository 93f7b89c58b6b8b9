# The observing ring: which arrays and which members are ours, by what sysfs and superblocks say.
# shellcheck shell=bash

need core/paths world/md-state

declare -gA F # the facts: decide/facts.list

# members_are_ours MD LEG: is this the configured array? Kernels without md/uuid in sysfs, and
# arrays that were gathered and not started, whose UUID is all zeros there (md takes it from a
# superblock in super_1_validate(), linux drivers/md/md.c): the superblock of the leg, if one is
# known, is asked, once. Never an array of other metadata: the same bytes are another UUID to mdadm
# there (0.90: mdadm super0.c, swapuuid), so that our claim does not stop it from being started, and
# what looks like a leg's superblock may be among its data. No metadata: it has just gone.
declare -gA MEMBERS_UUID=()
members_are_ours() {
	local VALUE
	md_state_read "$1" metadata_version
	[[ $VALUE == @(|1.2) ]] || return 1
	md_state_read "$1" uuid
	if [[ $VALUE != *[!0-]* ]]; then
		[[ -z $2 || -n ${MEMBERS_UUID["$1 $2"]-} ]] || {
			need world/superblock
			members_ask_ "$1" "$2"
		}
		VALUE=${MEMBERS_UUID["$1 $2"]-}
	fi
	[[ $VALUE == "${F[uuid]}" ]]
}

# members_ask_ MD LEG: sets MEMBERS_UUID of them to what the leg's superblock says.
members_ask_() {
	local key value
	while IFS='=' read -r key value; do
		[[ $key != uuid ]] || MEMBERS_UUID["$1 $2"]=$value
	done < <(superblock_facts "$DEV/$2")
	# Without the right to read it: taken for ours, since the configuration says so; only
	# "status" runs like this.
	[[ -n ${MEMBERS_UUID["$1 $2"]-} || $EUID == 0 ]] || MEMBERS_UUID["$1 $2"]=${F[uuid]}
}

# members_in_sync: sets NODES to the disk legs that are in sync, and to the members that are
# although the configuration does not name them: copies, whatever they are called.
members_in_sync() {
	local i
	NODES=()
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || NODES+=("${F[leg.$i.node]}")
	done
	for i in ${F[array.unconfigured]-}; do NODES+=("$i"); done
}
