# The observing ring: which arrays and which members are ours, by what sysfs and superblocks say.
# shellcheck shell=bash

need core/paths world/md-state

declare -gA F # the facts: decide/facts.list

# members_are_ours MD LEG: is this the configured array? If sysfs has no md/uuid, or it is all zeros
# because the array was assembled and not started (md takes it from a superblock in
# super_1_validate(), linux drivers/md/md.c), this reads the superblock of LEG instead, once, if LEG
# is not empty. An array with other metadata is never ours: to mdadm the same bytes are another UUID
# there (0.90: mdadm super0.c, swapuuid), so our claim does not keep mdadm from starting it, and
# what looks like a leg's superblock may be part of its data. An array without metadata has just
# gone.
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

# members_ask_ MD LEG: sets MEMBERS_UUID of the two to the array UUID in the leg's superblock.
members_ask_() {
	local key value
	while IFS='=' read -r key value; do
		[[ $key != uuid ]] || MEMBERS_UUID["$1 $2"]=$value
	done < <(superblock_facts "$DEV/$2")
	# Without the right to read it, the array counts as ours, because the configuration says so.
	# Only "status" runs like this.
	[[ -n ${MEMBERS_UUID["$1 $2"]-} || $EUID == 0 ]] || MEMBERS_UUID["$1 $2"]=${F[uuid]}
}

# members_in_sync: sets NODES to the disk legs in sync, and the members in sync that the
# configuration does not name: they are copies, whatever they are called.
members_in_sync() {
	local i
	NODES=()
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || NODES+=("${F[leg.$i.node]}")
	done
	for i in ${F[array.unconfigured]-}; do NODES+=("$i"); done
}
