# What the words after the name mean to "ramraid adopt": an array, or disks, which may be members of
# one. Nothing is changed here. NAME, ARGS: as in cmd/adopt.sh.
# shellcheck shell=bash

need core/cli core/log core/paths observe/adoptable-stopped world/disk world/md world/md-state
need world/superblock

# adopt_find: sets ADOPT_MD, ADOPT_LEGS and ADOPT_UUID; ADOPT_STOPPED=yes: it does not run;
# ADOPT_BY_NAME=yes: it is what has the name now. Ends the program when there is none.
adopt_find() {
	local NODE operand md ARRAY_STATE READAUTO
	ADOPT_MD='' ADOPT_STOPPED='' ADOPT_BY_NAME='' ADOPT_LEGS=()
	for operand in "${ARGS[@]}"; do
		disk_find "$operand" || adopt_find_by_name_ || adopt_find_none "$operand"
		if ((${#ARGS[@]} == 1)) && [[ -d $SYS/block/$NODE/md ]]; then
			md=$NODE
		else
			md=$(md_of_leg "$NODE") || md=''
			ADOPT_LEGS+=("$NODE")
			((${#ADOPT_LEGS[@]} == 1)) || [[ $md == "$ADOPT_MD" ]] ||
				die "$NAME: ${ARGS[*]}: are not members of one array; \
name the array, or stop it first (mdadm --stop)" "$EX_REFUSED"
		fi
		ADOPT_MD=$md
	done
	md_state "$ADOPT_MD"
	case $ARRAY_STATE in
	absent | inactive)
		ADOPT_STOPPED=yes
		adoptable_stopped_find
		;;
	*)
		# Typed again, after the start that they were named for.
		((${#ADOPT_LEGS[@]} == 0)) || [[ -e $ETC/$NAME.conf ]] ||
			die "$NAME: ${ARGS[0]} is no md array, but a member of one that runs: \
ramraid adopt $NAME /dev/$ADOPT_MD" "$EX_INACTIVE"
		adopt_find_uuid_
		;;
	esac
}

# An array that was inactive has another number since an earlier run has started it. Sets the
# caller's NODE to the one that has its name; whether it is that one is judged by its UUID.
adopt_find_by_name_() {
	((${#ARGS[@]} == 1)) && disk_find "/dev/md/$NAME" || return 1
	ADOPT_BY_NAME=yes
}

adopt_find_none() { # OPERAND
	die "$NAME: there is no block device $1; /proc/mdstat lists the arrays" "$EX_INACTIVE"
}

# Of a running array. Kernels without md/uuid in sysfs: a member is asked.
adopt_find_uuid_() {
	local VALUE line LEGS
	md_state_read "$ADOPT_MD" uuid
	ADOPT_UUID=$VALUE ADOPT_LEGS=()
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		ADOPT_LEGS+=("${line%% *}")
		[[ -z $ADOPT_UUID ]] || continue
		line=$(superblock_facts "$DEV/${line%% *}")
		# The first of them; "device_uuid" comes later.
		[[ ! $line =~ uuid=([0-9a-f-]+) ]] || ADOPT_UUID=${BASH_REMATCH[1]}
	done
	[[ -n $ADOPT_UUID ]] ||
		die "$NAME: /dev/$ADOPT_MD: expected metadata of version 1.2, \
found no member with it that can be read" "$EX_REFUSED"
}
