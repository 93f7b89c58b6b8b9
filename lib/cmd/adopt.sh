# ramraid adopt: a running RAID1 of disks becomes a mirror with a leg in RAM, while it is in use.
# shellcheck shell=bash

need act/array-lock act/hand-made-drop act/hotplug cmd/attach cmd/wait config/conf
need config/conf-faults config/conf-need core/act core/cli core/log core/paths core/words
need notes/adopted notes/claim notes/contents observe/adoptable observe/facts observe/hand-made observe/static world/disk
need world/md world/md-state world/ramdisk world/superblock world/systemd

declare -gA F # the facts: decide/facts.list

readonly ADOPT_USAGE='usage: ramraid adopt [--ram=KIND] [--yes] [--dry-run] NAME ARRAY

Makes the running RAID1 ARRAY (/dev/md127, or any name below /dev/md), which may be mounted, a mirror of ours: a bitmap, one slot more,
/etc/ramraid/NAME.conf, the claim, ramraid@NAME.service, the disks write-mostly, the RAM leg. Nothing is unmounted, nothing is overwritten.
A ramdisk that was made by hand and is a member leaves the array; the RAM leg gets its slot.
If it is interrupted, type it again. The way back: ramraid release NAME
  --ram=KIND  auto (the default), rapiddisk, brd, none, a fast device that holds nothing, or
              the member beside write-mostly disks that is to stay as the RAM leg
  --yes       do not ask    --dry-run  print every command, change nothing'

cmd_adopt() {
	cli_parse "$ADOPT_USAGE" 'dry-run yes ram=' "$@"
	((${#ARGS[@]} == 2)) || cli_usage "$ADOPT_USAGE" 'expected a name and an array'
	cli_root
	NAME=${ARGS[0]}
	adopt_look "${ARGS[1]}"
	[[ -n $ADOPT_BEGUN ]] || conf_faults_dropins "$NAME"
	if [[ ${ADOPTED[done]-} != yes ]]; then
		adopt_ask
		if [[ -z $DRY_RUN ]]; then
			array_lock "$NAME" 5
			# The world has moved on while a person thought about the answer.
			adopt_look "${ARGS[1]}"
		fi
		adopt_all "${ARGS[1]}"
	fi
	adopt_start
}

# adopt_look ARRAY: sets ADOPT_MD, ADOPT_UUID, ADOPT_BEGUN, the configuration and the facts; ends the program when it can't be adopted.
adopt_look() {
	conf_faults_new_name "$NAME"
	[[ -z ${OPT[ram]-} || ${OPT[ram]} =~ ${CONF_FORM[RAM]} ]] || die "--ram=${OPT[ram]}: write ${CONF_EXPECTED[RAM]}" "$EX_USAGE"
	adopt_find "$1"
	ADOPT_BEGUN=''
	if [[ -e $ETC/$NAME.conf || -L $ETC/$NAME.conf ]]; then
		adopt_find_begun
	else
		adopt_device
		adopt_configure
	fi
	static_configured "$NAME"
	[[ ${ADOPTED[done]-} == yes ]] || adoptable_check
}

adopt_find() { # ARRAY
	local NODE VALUE line LEGS
	disk_find "$1" || die "$NAME: there is no block device $1; /proc/mdstat lists the running arrays" "$EX_INACTIVE"
	[[ -d $SYS/block/$NODE/md ]] || die "$NAME: $1 is no md array; /proc/mdstat lists the running ones" "$EX_INACTIVE"
	ADOPT_MD=$NODE
	md_state_read "$ADOPT_MD" uuid
	ADOPT_UUID=$VALUE
	# Kernels without md/uuid in sysfs: a member is asked.
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		[[ -z $ADOPT_UUID ]] || break
		line=$(superblock_facts "$DEV/${line%% *}")
		# The first of them; "device_uuid" comes later.
		[[ ! $line =~ uuid=([0-9a-f-]+) ]] || ADOPT_UUID=${BASH_REMATCH[1]}
	done
	[[ -n $ADOPT_UUID ]] ||
		die "$NAME: /dev/$ADOPT_MD: expected metadata of version 1.2, found no member with it that can be read" "$EX_REFUSED"
	adopted_read "$NAME" && [[ ${ADOPTED[uuid]-} == "$ADOPT_UUID" ]] || ADOPTED=() ADOPTED_WRITEMOSTLY=()
	# Somebody has deleted it since.
	[[ -z ${ADOPTED[done]-} || -e $ETC/$NAME.conf ]] || ADOPTED[done]=no
}

# It is configured: an earlier run has come that far, or it has been ours before.
adopt_find_begun() {
	conf_need "$NAME"
	[[ ${CONF[UUID]} == "$ADOPT_UUID" ]] ||
		die "$NAME: $ETC/$NAME.conf exists already, for the array ${CONF[UUID]}, not for $ADOPT_UUID; choose another name" "$EX_REFUSED"
	[[ -n ${ADOPTED[uuid]-} ]] ||
		die "$NAME: $ETC/$NAME.conf exists already, for this array: there is nothing to adopt. See: ramraid status $NAME" "$EX_REFUSED"
	ADOPT_BEGUN=yes
}

# A device that is to be the RAM leg, by a name that lasts.
adopt_device() {
	local name
	[[ ${OPT[ram]-} == /* ]] && name=$(disk_fast_name "${OPT[ram]}") || return 0 # what has none is complained of by the check
	OPT[ram]=$name
}

# The configuration that will be written.
adopt_configure() {
	local line leg disk LEGS
	conf_defaults || for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
	CONF[UUID]=$ADOPT_UUID CONF[RAM]=${OPT[ram]:-${CONF[RAM]}}
	[[ -z $(disk_carries "$ADOPT_MD" /) ]] || CONF[ROOT]=yes
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		leg=${line%% *}
		! facts_is_ram "$leg" || continue
		# One without a stable name is complained of by the check.
		disk=$(disk_stable_name "/dev/$leg") || disk=/dev/$leg
		MEMBERS+=("$disk")
	done
}

# All that will be done to what is there is said before the question.
adopt_ask() {
	local users VALUE what
	users=$(disk_users "$ADOPT_MD")
	users=${users//$'\n'/, }
	log_printable users
	PLAN=("${MEMBERS[@]/#/disk leg: }")
	[[ ${CONF[RAM]} != /* ]] || PLAN+=("RAM leg: ${CONF[RAM]}")
	if [[ -n $HAND_MADE ]]; then
		what="/dev/$HAND_MADE, a ramdisk made by hand: leaves the array"
		PLAN+=("$what, and $(hand_made_drop_fate "$HAND_MADE")")
		[[ ${CONF[RAM]} == none ]] ||
			PLAN+=('the RAM leg gets its slot; reads come from the disks until it is full')
	elif [[ -z $ADOPT_BEGUN && ${CONF[RAM]} != /* ]]; then
		(($(md_slots "$ADOPT_MD") == ${#MEMBERS[@]})) ||
			PLAN+=('the free slot becomes that of the RAM leg; if a disk is missing, bring it back first')
	fi
	md_state_read "$ADOPT_MD" bitmap/backlog
	((${VALUE:-0} == 0 || ${F[conf.write_behind]} > 0)) ||
		PLAN+=("write-behind is on ($VALUE): it is switched off. With it, an fsync returns before"
			'a disk has the data, and a power cut loses that')
	what="/dev/$ADOPT_MD (in use: $users) becomes the mirror \"$NAME\" with one leg in RAM."
	cli_confirm "$NAME" "$what Nothing is unmounted or overwritten."
}

# Every step is one that can be done again, or is left out when it is done. Whatever a kill or a power cut leaves behind is either a plain
# array without a configuration, or one that the next boot takes over, and that both "adopt" and "release" can go on from. Hence, as in
# "create": enabled before configured, and configured before claimed, because an array that is claimed and not configured is started by
# nobody. What makes reads slower, write-mostly disks without a RAM leg beside them, comes after the initramfs, which takes minutes.
adopt_all() { # ARRAY
	# shellcheck disable=SC2064 # the operand as it is now
	trap "adopt_end \$? ${1@Q}" EXIT
	trap 'exit 130' INT TERM HUP
	adopt_note
	# A release that was interrupted is over.
	[[ ! -e $STATE/$NAME.releasing ]] || act rm -f -- "$STATE/$NAME.releasing"
	! hotplug_is_released "$NAME" || act rm -f -- "$RUN/$NAME.detached"
	systemd_enable "$NAME"
	[[ -n $ADOPT_BEGUN ]] || adopt_conf | act_file "$ETC/$NAME.conf"
	# What is mounted has to be known to the generator at the next boot.
	contents_remember "$NAME" "$ADOPT_MD" || log_warning "$NAME: could not remember what lies on it in $STATE"
	adopt_array
	claim_write "$NAME" "$ADOPT_UUID"
	log_info 'telling the initramfs of every kernel about this array; this takes a while'
	claim_initramfs
	systemd_reload
	adopt_writemostly
	hand_made_drop
	# A device that stays as the RAM leg is known as such from now on.
	[[ -z $ADOPT_KEPT || -n $DRY_RUN ]] || ramdisk_note_device "$NAME" "$ADOPT_KEPT"
	ADOPTED[done]=yes
	adopted_write "$NAME"
	trap - EXIT INT TERM HUP
}

adopt_end() { # EXIT-CODE ARRAY
	trap '' INT TERM HUP
	(($1 == 0)) || {
		log_error "$NAME: not finished; the array is in use as before, and what was done stays"
		log_error "$NAME: to go on: ramraid adopt $NAME $2; to go back: ramraid release $NAME"
	}
	exit "$1"
}

# What an earlier run has noted was before that run changed anything; but a ramdisk may have been
# made by hand since.
adopt_note() {
	local line leg writemostly LEGS before=${ADOPTED[ramdisk]-}
	[[ -z $HAND_MADE ]] || ADOPTED[ramdisk]=$(hand_made_identity "$HAND_MADE")
	[[ -z ${ADOPTED[uuid]-} || ${ADOPTED[ramdisk]-} != "$before" ]] || return 0
	if [[ -z ${ADOPTED[uuid]-} ]]; then
		ADOPTED+=([uuid]=$ADOPT_UUID [bitmap]=$(md_bitmap "$ADOPT_MD") [done]=no)
		md_state_members "$ADOPT_MD"
		for line in "${LEGS[@]}"; do
			words_into "$line" leg _ _ writemostly
			[[ $writemostly == no ]] || facts_is_ram "$leg" ||
				ADOPTED_WRITEMOSTLY+=("$(disk_stable_name "/dev/$leg")")
		done
	fi
	adopted_write "$NAME"
}

adopt_conf() {
	printf '# Mirror with one leg in RAM, made by "ramraid adopt". Every key: ramraid.conf(5).\nUUID=%s\n' "$ADOPT_UUID"
	printf 'MEMBER=%s\n' "${MEMBERS[@]}"
	[[ -z ${OPT[ram]-} ]] || printf 'RAM=%s\n' "${OPT[ram]}"
	[[ ${CONF[ROOT]} == no ]] || printf 'ROOT=yes\n'
}

# The bitmap before the slot: mdadm makes it with all bits set, and in an array that lacks a member
# md would then rewrite every chunk (md_bitmap_load() in linux drivers/md/md-bitmap.c); in a whole
# one it clears them, in its own time. So one that lacks a member already gets it when it is whole.
adopt_array() {
	local ARRAY_STATE READAUTO
	md_state "$ADOPT_MD"
	[[ $READAUTO == no ]] || md_make_writable "$ADOPT_MD"
	hand_made_drop_backlog
	adopt_bitmap
	(($(md_slots "$ADOPT_MD") > ${#MEMBERS[@]})) ||
		md_set_slots "$ADOPT_MD" $((${#MEMBERS[@]} + 1))
}

adopt_bitmap() {
	local line VALUE LEGS legs=()
	[[ $(md_bitmap "$ADOPT_MD") == none ]] || return 0
	md_state_read "$ADOPT_MD" degraded
	[[ $VALUE == 0 ]] || return 0
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do facts_is_ram "${line%% *}" || legs+=("${line%% *}"); done
	md_add_bitmap "$ADOPT_MD" "${legs[@]}"
}

adopt_writemostly() {
	local line leg writemostly LEGS
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		words_into "$line" leg _ _ writemostly
		if [[ $writemostly == yes ]] || facts_is_ram "$leg"; then continue; fi
		md_set_writemostly "$ADOPT_MD" "$leg"
		[[ -n $DRY_RUN ]] || hand_made_drop_backlog
	done
}

# The unit takes the running array over and attaches the RAM leg. One that is up already, since an earlier boot found the half of this, does
# not look again: then it is done here.
adopt_start() {
	if [[ -n $DRY_RUN ]]; then
		systemd_start "$NAME"
		log_notice "$NAME: nothing was changed (--dry-run)"
		return
	fi
	[[ -z ${ARRAY_LOCK-} ]] || exec {ARRAY_LOCK}>&- # the unit takes it
	if systemd_unit_is_up "$NAME" && ! systemd_unit_works "$NAME"; then
		array_lock "$NAME" 5
		attach_here yes
		[[ ${CONF[RAM]} == none || ${F[ram.state]} == in_sync ]] || return "$EX_FAILED"
	else
		paths_run
		: >"$RUN/$NAME.taken"
		systemd_unit_is_up "$NAME" || {
			systemd_reset "$NAME"
			systemd_start "$NAME"
		}
		wait_whole "$NAME" infinity
	fi
	adopt_bitmap ||
		die "$NAME: adopted and whole, but md takes no bitmap yet; type this again"
	log_notice "$NAME: adopted. The way back: ramraid release $NAME"
}
