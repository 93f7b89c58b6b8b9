# ramraid adopt: makes a RAID1 of disks a mirror with a leg in RAM, while it is in use.
# shellcheck shell=bash

need act/adopt-ask act/adoption act/array-lock act/hotplug act/notify cmd/attach cmd/start cmd/wait
need config/conf config/conf-faults config/conf-keys config/conf-need config/conf-new core/act
need core/cli core/log core/paths core/uninterrupted decide/health notes/adopted notes/claim
need notes/contents notes/ram-out observe/adoptable observe/adoptable-stopped observe/before-look
need observe/facts report/unadopted world/disk world/disk-find world/md world/md-state
need world/stable-name world/superblock world/systemd

declare -gA F # the facts: decide/facts.list

readonly ADOPT_USAGE='usage: ramraid adopt [--find] [--ram=KIND] [--fix-fstab] [--yes] [--dry-run] NAME ARRAY|DISK…

Give an existing RAID1 a leg in RAM. ARRAY is /dev/md127, or any name below /dev/md, and may be
mounted. If it does not run, name the inactive array, or all of its disks: ramraid then starts it
as it starts its own arrays.
ramraid adds a bitmap and one slot, writes /etc/ramraid/NAME.conf and the claim, enables
ramraid@NAME.service, makes the disks write-mostly, and adds the RAM leg. It unmounts nothing and
overwrites nothing. If a ramdisk that was made by hand is a member, it leaves the array, and the
RAM leg gets its slot.
If adopt is interrupted, type it again. To go back, type: ramraid release NAME
  --ram=KIND     auto (the default), rapiddisk, brd, zram, none, a fast device that holds nothing,
                 or the member beside write-mostly disks that is to stay as the RAM leg
  --fix-fstab    write UUID= in fstab and crypttab for names of the array that do not last
                 (/dev/md0), and keep the old file beside it
  --find         print which arrays of this machine ramraid could adopt, and how; without NAME
  -y, --yes      do not ask
  -n, --dry-run  print every command, change nothing'

cmd_adopt() {
	cli_parse "$ADOPT_USAGE" 'dry-run yes find fix-fstab ram=' "$@"
	if [[ -n ${OPT[find]-} ]]; then
		((${#ARGS[@]} == 0)) || cli_usage "$ADOPT_USAGE" '--find takes no name'
		cli_root
		cli_print "$(unadopted_table)"$'\n'
		return
	fi
	((${#ARGS[@]} >= 2)) ||
		cli_usage "$ADOPT_USAGE" 'expected a name and an array, or its disks'
	cli_root
	NAME=${ARGS[0]} ADOPT_CLAIMED=''
	ARGS=("${ARGS[@]:1}")
	adopt_look
	if [[ ${ADOPTED[done]-} != yes ]]; then
		adopt_ask
		if [[ -z $DRY_RUN ]]; then
			array_lock "$NAME" 5
			# Things may have changed while a person thought about the answer.
			adopt_look
		fi
		trap 'adopt_end $?' EXIT
		trap 'exit 130' INT TERM HUP
		if [[ -n $ADOPT_STOPPED ]]; then
			adopt_stopped
			[[ -z $DRY_RUN ]] || return 0
		fi
		adopt_all
		trap - EXIT INT TERM HUP
	fi
	adopt_start
}

# adopt_look: sets what adopt_find sets, ADOPT_BEGUN, the configuration and the facts; ends the
# program when the array can't be adopted.
adopt_look() {
	conf_new_name "$NAME"
	[[ -z ${OPT[ram]-} || ${OPT[ram]} =~ ${CONF_FORM[RAM]} ]] ||
		die "--ram=${OPT[ram]}: write ${CONF_EXPECTED[RAM]}" "$EX_USAGE"
	adopt_find
	adopted_read "$NAME" || :
	[[ ${ADOPTED[uuid]-} == "$ADOPT_UUID" ]] || adopted_none
	[[ -z $ADOPT_BY_NAME || -n ${ADOPTED[uuid]-} ]] || adopt_find_none "${ARGS[0]}"
	# Somebody has deleted the configuration since.
	[[ -z ${ADOPTED[done]-} || -e $ETC/$NAME.conf ]] || ADOPTED[done]=no
	ADOPT_BEGUN='' HAND_MADE='' ADOPT_KEPT='' ADOPT_GROWS='' ADOPT_TAKES=''
	if [[ -e $ETC/$NAME.conf || -L $ETC/$NAME.conf ]]; then
		adopt_find_begun
	else
		adopt_device
		adopt_configure
	fi
	before_look_configured "$NAME"
	[[ ${ADOPTED[done]-} != yes ]] || return 0
	if [[ -n $ADOPT_STOPPED ]]; then adoptable_stopped_check; else adoptable_check; fi
	[[ -n $ADOPT_BEGUN ]] || ! adoption_is_4096 || conf_new_agrees "$NAME" BLOCK 4096
}

# For an array that is configured: an earlier run has come that far, or the array was ours before.
adopt_find_begun() {
	conf_need "$NAME"
	[[ ${CONF[UUID]} == "$ADOPT_UUID" ]] ||
		die "$NAME: $ETC/$NAME.conf exists already, for the array ${CONF[UUID]}, \
not for $ADOPT_UUID; choose another name" "$EX_REFUSED"
	[[ -n ${ADOPTED[uuid]-} ]] ||
		die "$NAME: $ETC/$NAME.conf exists already, for this array: \
there is nothing to adopt. See: ramraid status $NAME" "$EX_REFUSED"
	adopt_device
	[[ -z ${OPT[ram]-} || ${OPT[ram]} == "${CONF[RAM]}" ]] ||
		die "$NAME: an earlier run has begun with RAM=${CONF[RAM]}, not --ram=${OPT[ram]}. \
To continue it, leave --ram out; otherwise first go back: ramraid release $NAME" "$EX_REFUSED"
	ADOPT_BEGUN=yes
}

# Replaces a device that is to be the RAM leg by its stable name.
adopt_device() {
	local name
	# the check complains if there is none
	[[ ${OPT[ram]-} == /* ]] && name=$(stable_name_fast "${OPT[ram]}") || return 0
	OPT[ram]=$name
}

# Sets the configuration that will be written.
adopt_configure() {
	local leg disk
	conf_new_load "$NAME" "${OPT[ram]-}" ', or give --ram=KIND'
	CONF[UUID]=$ADOPT_UUID
	[[ -n $ADOPT_STOPPED || -z $(disk_carries "$ADOPT_MD" /) ]] || {
		conf_new_agrees "$NAME" ROOT yes
		CONF[ROOT]=yes
	}
	for leg in "${ADOPT_LEGS[@]}"; do
		! facts_is_ram "$leg" || continue
		# The check complains about a disk without a stable name.
		disk=$(stable_name_of "/dev/$leg") || disk=/dev/$leg
		MEMBERS+=("$disk")
	done
}

# Every step can be done again, or is left out when it is done. Whatever a kill or a power cut
# leaves behind is either a plain array without a configuration, or one that the next boot takes
# over and that both "adopt" and "release" can go on from. Hence the order of "create": the unit is
# enabled before there is a configuration, and the claim comes after both, because nobody starts an
# array that is claimed and not configured. Write-mostly disks without a RAM leg beside them make
# reads slower, so they are marked after the initramfs, which takes minutes.
adopt_all() {
	# The next boot has to find what is on the array, whatever number the array has then.
	[[ -z ${OPT[fix_fstab]-} ]] || adoption_lasting_names
	adopt_begin
	# The generator has to know at the next boot what is mounted from it.
	contents_remember "$NAME" "$ADOPT_MD" ||
		log_warning "$NAME: could not record in $STATE what is on it"
	adoption_array
	[[ -n $ADOPT_CLAIMED ]] || adopt_claim
	adoption_writemostly
	adoption_drop_hand_made
	adoption_kept_make_equal
	ADOPTED[done]=yes
	adopted_write "$NAME"
}

adopt_begin() {
	adoption_note
	# If a release was interrupted, it is over now.
	[[ ! -e $STATE/$NAME.releasing ]] || act rm -f -- "$STATE/$NAME.releasing"
	! ram_out_is_released "$NAME" || ram_out_undo "$NAME"
	systemd_enable "$NAME"
	[[ -n $ADOPT_BEGUN ]] || act_file "$ETC/$NAME.conf" 644 adoption_conf
}

adopt_claim() {
	claim_write "$NAME" "$ADOPT_UUID"
	log_info 'telling the initramfs of every kernel about this array; this takes a while'
	claim_initramfs
	systemd_reload
	ADOPT_CLAIMED=yes
}

# An array that does not run becomes ours first, by the same steps; then our start judges its disks
# and starts it. From then on it is an array that runs and that an earlier run has begun with.
adopt_stopped() {
	adopt_begin
	adopt_claim
	if [[ -n $DRY_RUN ]]; then
		systemd_start "$NAME"
		log_notice "$NAME: nothing was changed (--dry-run)"
		return
	fi
	exec {ARRAY_LOCK}>&- # the unit takes it
	# Without a free slot, it has no RAM leg yet.
	start_by_systemd "$NAME" || [[ ${F[array.state]} == active ]] ||
		die "$NAME: was not started; see: ramraid status $NAME" "$EX_REFUSED"
	array_lock "$NAME" 60
	ARGS=("/dev/${F[array.md]}")
	adopt_look
}

adopt_end() { # EXIT-CODE
	local code=$1 state="the array is in use as before, and "
	uninterrupted_begin
	[[ -z $ADOPT_STOPPED ]] || state=''
	((code == 0)) || {
		log_error "$NAME: not finished; ${state}what was done stays"
		log_error "$NAME: to go on: ramraid adopt ${OPT[ram]+--ram=${OPT[ram]} }\
${OPT[fix_fstab]+--fix-fstab }$NAME ${ARGS[*]}; to go back: ramraid release $NAME"
	}
	exit "$code"
}

# The unit takes over the running array and attaches the RAM leg. If an earlier boot found this half
# done, the unit is already up and does not look again; then the leg is attached here.
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
		[[ ${CONF[RAM]} == none || ${F[ram.state]} == in_sync ]] || adopt_grows ||
			return "$EX_FAILED"
	else
		paths_run
		act_put "$RUN/$NAME.taken"
		systemd_unit_is_up "$NAME" || {
			systemd_reset "$NAME"
			systemd_start "$NAME"
		}
		if adopt_grows; then wait_disks "$NAME"; else wait_whole "$NAME" infinity; fi
	fi
	if adopt_grows; then
		adopt_next
		return
	fi
	adoption_bitmap ||
		die "$NAME: adopted and whole, but md does not accept a bitmap yet; type this again"
	notify_said notice "$NAME: adopted. To undo that: ramraid release $NAME"
}

# Returns 0 if the RAM leg joins only at the next start, which gives the array larger blocks. It
# looks at the configuration and at the array, so a second run gets the same answer.
adopt_grows() {
	[[ ${CONF[BLOCK]} == 4096 && -n $ADOPT_MD ]] || return 1
	facts_observe
	health_is_too_small
}

adopt_next() {
	[[ $(md_bitmap "${F[array.md]}") != none ]] ||
		log_notice "$NAME: has no bitmap while a member is missing; type this again when \
it is whole"
	notify_said notice "$NAME: adopted. It runs on its disk legs; the RAM leg joins at its \
next start, when its blocks have 4096 bytes: ramraid stop $NAME; ramraid start $NAME; or a reboot. \
To undo the adoption: ramraid release $NAME"
}

# adopt_find: finds out what the words after the name mean: an array, or disks, which may be members
# of one. Sets ADOPT_MD, ADOPT_COMMAND (its path in a command), ADOPT_LEGS and ADOPT_UUID;
# ADOPT_STOPPED=yes if the array does not run; ADOPT_BY_NAME=yes if it is the array that has the
# name now. Ends the program when there is none.
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
	# This is quoted for a shell: an array may have the name that its disks say ("CREATE
	# names=yes" in mdadm.conf).
	printf -v ADOPT_COMMAND '/dev/%q' "$ADOPT_MD"
	md_state "$ADOPT_MD"
	case $ARRAY_STATE in
	absent | inactive)
		ADOPT_STOPPED=yes
		adoptable_stopped_find
		;;
	*)
		# The same command again, after the start for which the disks were named.
		((${#ADOPT_LEGS[@]} == 0)) || [[ -e $ETC/$NAME.conf ]] ||
			die "$NAME: ${ARGS[0]} is no md array, but a member of one that runs: \
ramraid adopt $NAME $ADOPT_COMMAND" "$EX_INACTIVE"
		adopt_find_uuid_
		;;
	esac
}

# An array that was inactive has another number since an earlier run started it. Sets the caller's
# NODE to the array that has its name now; its UUID later shows whether it is the same one.
adopt_find_by_name_() {
	((${#ARGS[@]} == 1)) && disk_find "/dev/md/$NAME" || return 1
	ADOPT_BY_NAME=yes
}

adopt_find_none() { # OPERAND
	die "$NAME: there is no block device $1; /proc/mdstat lists the arrays" "$EX_INACTIVE"
}

# For a running array. Some kernels have no md/uuid in sysfs; then a member says it.
adopt_find_uuid_() {
	local VALUE line LEGS
	md_state_read "$ADOPT_MD" uuid
	ADOPT_UUID=$VALUE ADOPT_LEGS=()
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		ADOPT_LEGS+=("${line%% *}")
		[[ -z $ADOPT_UUID ]] || continue
		line=$(superblock_facts "$DEV/${line%% *}")
		# The first uuid in the text is the array's; "device_uuid" comes later.
		[[ ! $line =~ uuid=([0-9a-f-]+) ]] || ADOPT_UUID=${BASH_REMATCH[1]}
	done
	[[ -n $ADOPT_UUID ]] ||
		die "$NAME: /dev/$ADOPT_MD: expected metadata of version 1.2, found no readable \
member that has it" "$EX_REFUSED"
}
