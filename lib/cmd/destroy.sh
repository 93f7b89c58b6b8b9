# ramraid destroy: removes an array and everything on it; its disks are blank to md afterwards.
# shellcheck shell=bash

need act/array-lock act/array-users act/copy act/forget act/notify cmd/stop config/conf
need config/conf-faults config/conf-need core/act core/cli core/log core/paths core/text
need core/uninterrupted decide/below decide/health gate/dependents notes/adopted notes/claim
need notes/removals notes/rescue-record observe/all-disks observe/before-look observe/facts
need world/disk world/disk-find world/md world/ramdisk world/stable-name world/superblock
need world/systemd

declare -gA F # the facts: decide/facts.list

readonly DESTROY_USAGE='usage: ramraid destroy [--yes] [--dry-run] NAME

Wipe the array, and lose everything that is on it. ramraid stops the array, makes the superblocks
of its legs invalid, and takes away its claim, its configuration and all notes. It first names
what it will wipe, and wants the name of the array as the answer. It wipes only disks that the
configuration names, or that are in the array, and that carry the UUID of the array. It refuses
while anything uses the array.
If destroy is interrupted, type it again.
  -y, --yes      do not ask
  -n, --dry-run  print every command, change nothing'

cmd_destroy() {
	cli_parse "$DESTROY_USAGE" 'dry-run yes' "$@"
	cli_one_name "$DESTROY_USAGE"
	cli_root
	destroy_look
	cli_confirm "$NAME" "$DESTROY_HEAD" typed
	if [[ -z $DRY_RUN ]]; then
		array_lock_first "$NAME" 5
		# Things may have changed while a person thought about the answer.
		destroy_look
	fi
	destroy_all
}

# destroy_look: sets DESTROY_FROM to where the work begins: "array", or "files" when an earlier run
# has already deleted the configuration; and DESTROY_HEAD and PLAN to what a person is asked. Ends
# the program when something speaks against it.
destroy_look() {
	DESTROY_FROM=array DESTROY_LEFT=() PLAN=() WRONG=()
	DESTROY_WIPE=() DESTROY_NODES=()
	DESTROY_HEAD="$NAME: an earlier run has destroyed it; what is left is to delete its notes:"
	conf_names_fit "$NAME"
	adopted_releasing_read "$NAME"
	if [[ ! -e $ETC/$NAME.conf && -n $RELEASING ]]; then
		[[ $RELEASING == destroy ]] ||
			die "$NAME: a release of it has begun; to finish that: \
ramraid release $NAME" "$EX_REFUSED"
		DESTROY_FROM=files
		PLAN=("delete  $STATE/$NAME.*")
		return 0
	fi
	conf_need_started "$NAME"
	removals_read "$NAME" "${CONF[UUID]}"
	before_look_configured "$NAME"
	facts_observe
	destroy_legs_
	destroy_check_
	cli_wrong "$NAME"
	destroy_left_
	PLAN+=("delete  $ETC/$NAME.conf, its claim, and everything recorded about it")
	DESTROY_HEAD="$NAME (UUID ${CONF[UUID]}${F[array.md]:+, /dev/${F[array.md]}}) \
is destroyed, and everything on it is lost:"
}

# Finds out which disks are wiped, which are not, and why. A device that carries the UUID, but is
# neither configured nor in the array, may be a copy that somebody keeps: it is only reported.
destroy_legs_() {
	local dev node names=("${MEMBERS[@]}" "${LEAVING[@]}") line BELOW
	[[ ${CONF[RAM]} != /* ]] || {
		names+=("${CONF[RAM]}")
		# Another device may have that name now.
		[[ -z ${F[leg.ram.node]} || $ROOT${CONF[RAM]} -ef $DEV/${F[leg.ram.node]} ]] ||
			names+=("/dev/${F[leg.ram.node]}")
	}
	for node in ${F[array.strangers]}; do
		dev=$(stable_name_of "/dev/$node") || dev=/dev/$node
		names+=("$dev")
	done
	for dev in "${names[@]}"; do destroy_leg_ "$dev"; done
	# A device with another stacked on it is left out, because the upper one has the superblock,
	# too, and is reported; so is a ramdisk, which goes anyhow.
	while read -r node line; do
		[[ " ${DESTROY_NODES[*]} " != *" $node "* && $node != "${F[ram.node]}" &&
			-z $(disk_holders "$node") ]] || continue
		printf -v node '%q' "$node"
		below_or it "If nothing on it is needed: mdadm --zero-superblock /dev/$node"
		DESTROY_LEFT+=("/dev/$node carries its UUID and is no MEMBER, so it is left alone. \
$BELOW")
	done < <(all_disks_of_array "${CONF[UUID]}")
}

destroy_leg_() { # DEVICE
	local NODE facts other users
	disk_find "$1" || {
		PLAN+=("leave   $1: there is no such disk")
		DESTROY_LEFT+=("$1 is not there. When it is back: mdadm --zero-superblock $1")
		return 0
	}
	[[ " ${DESTROY_NODES[*]} " != *" $NODE "* ]] || return 0
	facts=$(superblock_facts "$DEV/$NODE") || facts=''
	case $facts in
	sb=ok$'\n'uuid="${CONF[UUID]}"$'\n'*)
		DESTROY_WIPE+=("$1") DESTROY_NODES+=("$NODE")
		PLAN+=("wipe    $1 ($NODE)")
		users=$(disk_users "$NODE") || users=$TEXT_SOMEBODY
		IFS=$'\n' text_split users "$users"
		for other in "${users[@]}"; do
			[[ $other == "${F[array.md]:-none}" ]] ||
				WRONG+=("$1: is in use by $other as well; see: lsblk /dev/$NODE")
		done
		;;
	sb=ok$'\n'uuid=*)
		facts=${facts#*uuid=}
		PLAN+=("leave   $1 ($NODE): belongs to another array (${facts%%$'\n'*})")
		;;
	sb=none*) PLAN+=("leave   $1 ($NODE): has no superblock") ;;
	*)
		PLAN+=("leave   $1 ($NODE): its superblock can't be read")
		DESTROY_LEFT+=("$1: its superblock can't be read, so it is left alone. \
If it is the right disk: mdadm --zero-superblock $1")
		;;
	esac
}

# Finds everything that speaks against it, not just the first thing.
destroy_check_() {
	local users other hex=${CONF[UUID]//-/}
	! stop_going_down || WRONG+=('the machine is going down')
	if [[ ${F[array.state]} != absent ]]; then
		users=$(array_users)
		[[ -z $users ]] ||
			WRONG+=("is in use by $users. Unmount or stop that, then: \
ramraid destroy $NAME")
		{ ! health_only_copy && ! health_only_copy_beside; } ||
			WRONG+=("its RAM leg is the only good copy of what is on it. \
If nothing of that is needed: mdadm --stop /dev/${F[array.md]}, then: ramraid destroy $NAME")
	fi
	[[ -z ${F[array.twin]} ]] ||
		WRONG+=("its legs have been started as two arrays, \
${F[array.md]} and ${F[array.twin]}. Stop them first: mdadm --stop \
/dev/${F[array.md]} /dev/${F[array.twin]}")
	[[ -z ${F[rescue.image]} ]] ||
		WRONG+=("what only the RAM leg had is in ${F[rescue.image]}. \
Put it back (ramraid restore $NAME); or, if nothing of that is needed, delete it: \
$(destroy_rescue_)")
	for other in $(conf_same "$NAME" "${CONF[UUID]}"); do
		WRONG+=("$ETC/$other.conf is about this array as well. \
Delete the file that is not needed")
	done
	for other in \
		$(conf_naming "/dev/md/$NAME" \
			"/dev/disk/by-id/md-uuid-${hex:0:8}:${hex:8:8}:${hex:16:8}:${hex:24}"); do
		[[ $other == "$NAME" ]] ||
			WRONG+=("is a disk leg of $other. Destroy that first: \
ramraid destroy $other")
	done
}

# Prints how to delete the rescue image and its record; a damaged record is all that is known.
destroy_rescue_() {
	local image=${RESCUE[image]}
	[[ -z ${RESCUE[damaged]-} ]] || image=''
	printf 'rm %s\n' "${image:+$image }${RESCUE[file]}"
}

# Adds to DESTROY_LEFT what still names the array, and what this does not delete.
destroy_left_() {
	local line
	while IFS= read -r line; do
		DESTROY_LEFT+=("$line")
	done < <(dependents_lines "$NAME" "${CONF[UUID]}")
	for line in "${REQUIRED_BY[@]}"; do
		DESTROY_LEFT+=("$line, which its configuration named as REQUIRED_BY")
	done
	for line in "${MEMBERS[@]}"; do
		[[ $line != /dev/md/* || ! -e $ETC/${line#/dev/md/}.conf ]] ||
			DESTROY_LEFT+=("the array ${line#/dev/md/}, its disk leg; \
to destroy that too: ramraid destroy ${line#/dev/md/}")
	done
	line=${CONF[RESCUE]}/$NAME
	[[ ${CONF[RESCUE]} == none || -z $(ls -A -- "$ROOT$line" 2>/dev/null) ]] ||
		DESTROY_LEFT+=("$line, where rescue images of what was on it are kept: rm -r $line")
	[[ ! -e $ETC/$NAME.conf.d ]] ||
		DESTROY_LEFT+=("$ETC/$NAME.conf.d, which would apply to a new array of that name: \
rm -r $ETC/$NAME.conf.d")
}

# The configuration goes after the superblocks: while it is there, this can begin again from the
# start, and an array that has one disk left can still be started from that.
destroy_all() {
	local line
	DESTROY_BEGUN=''
	trap 'destroy_end $?' EXIT
	trap 'exit 130' INT TERM HUP
	if [[ $DESTROY_FROM == array ]]; then
		destroy_stop_
		destroy_wipe_
		claim_remove "$NAME"
		log_info "telling the initramfs of every kernel that there is no such array any \
more; this takes a while"
		claim_initramfs
		! claim_names "$NAME" "${CONF[UUID]}" ||
			DESTROY_LEFT+=("an ARRAY line about it in mdadm.conf or mdadm.conf.d, \
which ramraid did not write")
	fi
	forget_unit "$NAME" destroy "${CONF[UUID]-}"
	forget_copy "$NAME" "${CONF[UUID]-}"
	forget_notes "$NAME"
	trap - EXIT INT TERM HUP
	if [[ -n $DRY_RUN ]]; then
		log_notice "$NAME: nothing was changed (--dry-run)"
	else
		notify_said notice "$NAME: destroyed${DESTROY_WIPE[*]:+; wiped: ${DESTROY_WIPE[*]}}"
	fi
	for line in "${DESTROY_LEFT[@]}"; do log_notice "$NAME: left: $line"; done
}

destroy_stop_() {
	if [[ ${F[array.state]} != absent ]]; then
		stop_array "$NAME"
	else
		[[ -n $DRY_RUN ]] || copy_stop "$NAME" || die "$NAME: $COPY_WHY" "$EX_TRY_AGAIN"
		ramdisk_drop "$NAME" ||
			die "$NAME: its ramdisk is still in use; see: ramraid status $NAME"
	fi
}

# Looks at each disk once more at the last moment, and wipes only one that carries this array's UUID
# and that nobody uses.
destroy_wipe_() {
	local i node users
	DESTROY_BEGUN=yes
	for i in "${!DESTROY_NODES[@]}"; do
		node=${DESTROY_NODES[i]}
		if [[ -z $DRY_RUN ]]; then
			users=$(destroy_users_ "$node")
			[[ -z $users ]] ||
				die "${DESTROY_WIPE[i]}: is in use by ${users//$'\n'/, }; \
it is not wiped"
			destroy_is_leg_ "${DESTROY_WIPE[i]}" "$node" ||
				die "${DESTROY_WIPE[i]}: is no longer the disk that it was a \
moment ago; it is not wiped"
		fi
		md_wipe "$node" ||
			die "${DESTROY_WIPE[i]}: its superblock could not be made invalid"
		[[ -n $DRY_RUN ]] || ! destroy_is_leg_ "${DESTROY_WIPE[i]}" "$node" ||
			die "${DESTROY_WIPE[i]}: still has a superblock of this array"
	done
}

# The kernel may show an array as the holder of a disk for a moment after the array has stopped.
destroy_users_() { # NODE
	local tries users
	for ((tries = 25; tries > 0; tries--)); do
		users=$(disk_users "$1") || users=$TEXT_SOMEBODY
		[[ -n $users ]] || return 0
		sleep 0.2
	done
	printf '%s\n' "$users"
}

destroy_is_leg_() { # DEVICE NODE
	local NODE
	disk_find "$1" && [[ $NODE == "$2" &&
		$(superblock_facts "$DEV/$2") == sb=ok$'\n'uuid="${CONF[UUID]}"$'\n'* ]]
}

destroy_end() { # EXIT-CODE
	uninterrupted_begin
	if (($1 == 0)); then
		:
	elif [[ -n $DESTROY_BEGUN || $DESTROY_FROM == files ]]; then
		log_error "$NAME: not finished, and what was done stays. To go on: \
ramraid destroy $NAME"
	else
		log_error "$NAME: nothing was wiped. Its configuration and its disks are as before"
	fi
	exit "$1"
}
