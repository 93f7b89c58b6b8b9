# ramraid release: makes an array of ours a plain RAID1 of its disks again, while it is in use.
# shellcheck shell=bash

need act/adoption act/array-lock act/detach-ram act/forget act/hotplug act/left-check act/left-to-md
need act/notify act/witness-update config/conf config/conf-faults config/conf-need core/act core/cli
need core/log core/paths core/text core/uninterrupted decide/below decide/health decide/rescue-way
need gate/spec notes/adopted notes/claim notes/ram-out observe/before-look observe/blocks-alone
need observe/facts observe/hand-made observe/may-leave observe/members world/md world/md-state
need world/ramdisk-note world/stable-name

declare -gA F # the facts: decide/facts.list

readonly RELEASE_USAGE='usage: ramraid release [--yes] [--dry-run] NAME

Make the mirror a plain RAID1 again: the reverse of "adopt", and of what "create" adds. ramraid
takes out the RAM leg and its slot, lets the disks share the reads, and takes away the claim, the
configuration and all notes. The array stays as it is, mounted and in use; from the next boot
on, mdadm starts it.
If release is interrupted, type it again.
  -y, --yes      do not ask
  -n, --dry-run  print every command, change nothing'

cmd_release() {
	cli_parse "$RELEASE_USAGE" 'dry-run yes' "$@"
	cli_one_name "$RELEASE_USAGE"
	cli_root
	release_look
	release_ask
	if [[ -z $DRY_RUN ]]; then
		array_lock_first "$NAME" 5
		# Things may have changed while a person thought about the answer.
		release_look
	fi
	release_all
}

# release_look: sets RELEASE_LEFT to what is left to do: "all"; or "files", when an earlier run has
# finished with the array and then deleted the configuration, or an "adopt" has ended before it
# wrote one. For "all", it also loads the configuration and the facts, sets HAND_MADE to a ramdisk
# in the array that ramraid has not made (observe/hand-made.sh), and ends the program when the array
# can't be released.
release_look() {
	RELEASE_LEFT=all HAND_MADE=''
	conf_name_ok "$NAME" || die "$(conf_faults_name "$NAME")" "$EX_USAGE"
	adopted_read "$NAME" || :
	adopted_releasing_read "$NAME"
	[[ -e $ETC/$NAME.conf || $RELEASING != destroy ]] ||
		die "$NAME: a destroy of it has begun; to finish that: ramraid destroy $NAME" \
			"$EX_REFUSED"
	if [[ ! -e $ETC/$NAME.conf ]] && [[ -n $RELEASING || (${ADOPTED[done]-} == no &&
		! -e $RUN/$NAME.started) ]]; then
		RELEASE_LEFT=files
		[[ -z $RELEASING ]] && release_by_array_ || return 0
		RELEASE_LEFT=all
	else
		conf_need_started "$NAME"
	fi
	[[ ${ADOPTED[uuid]-} == "${CONF[UUID]}" ]] || adopted_none
	before_look_configured "$NAME"
	facts_observe
	left_check_end
	release_check
	hand_made_find "$NAME" "${F[array.md]}"
	[[ $HAND_MADE != *' '* ]] || HAND_MADE=''
}

# For an array that an "adopt" has begun with, and whose configuration somebody has deleted: reads
# from the array itself what the configuration said about the disks. Returns 1 when the array does
# not run, when "adopt" has changed nothing on it, or when another configuration is about it.
release_by_array_() {
	local folder line LEGS
	[[ -z $(conf_same "$NAME" "${ADOPTED[uuid]-}") ]] || return 1
	F[uuid]=${ADOPTED[uuid]-}
	for folder in "$SYS"/block/md*/md; do
		folder=${folder%/md}
		md_state_members "${folder##*/}"
		if ((${#LEGS[@]} == 0)) ||
			! members_are_ours "${folder##*/}" "${LEGS[0]%% *}"; then continue; fi
		conf_defaults || : # said at every start
		CONF[UUID]=${ADOPTED[uuid]} CONF_ERRORS=()
		for line in "${LEGS[@]%% *}"; do
			! ramdisk_note_is_node "$line" || continue
			line=$(stable_name_of "/dev/$line") || return 1
			MEMBERS+=("$line")
		done
		[[ -e $(claim_file "$NAME") ||
		$(md_bitmap "${folder##*/}") != "${ADOPTED[bitmap]-}" ]] ||
			(($(md_slots "${folder##*/}") > ${#MEMBERS[@]})) || return 1
		log_warning "$NAME: its configuration has been deleted; using what the array \
itself shows"
		return 0
	done
	return 1
}

# Reports everything that is wrong, not just the first thing.
release_check() {
	local i wrong=''
	[[ ${F[array.state]} == active ]] ||
		die "$NAME: is not running, and only a running array can be released. Type: \
ramraid start $NAME" "$EX_INACTIVE"
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] ||
			release_wrong_ "${F[leg.$i.dev]}: expected in sync, \
found ${F[leg.$i.state]:-that it is not in the array}." \
				"Bring it back: ramraid attach $NAME; or, if it is gone for good, \
delete its MEMBER line"
	done
	release_strangers_
	[[ -z ${F[kernel.slots]} ]] || (($(md_slots "${F[array.md]}") == ${F[members]})) ||
		release_wrong_ "${F[kernel.slots]}"
	[[ -z ${F[rescue.image]} ]] || {
		rescue_way
		release_wrong_ "what only the RAM leg had is in ${F[rescue.image]}. \
Put it back first: $RESCUE_WAY"
	}
	[[ ${F[array.sync]} == @(idle|copy) && ${F[array.pending]} == no ||
		${F[ram.state]} == recovering ]] ||
		release_wrong_ "/dev/${F[array.md]}: md is at work on it \
(${F[array.sync]/idle/a resync is due});" \
			"wait until that has ended: mdadm --wait /dev/${F[array.md]}"
	release_name_
	for i in $(conf_same "$NAME" "${F[uuid]}"); do
		release_wrong_ "$ETC/$i.conf is about this array as well. \
Delete the file that is not needed, or rename it to something that does not end in .conf"
	done
	release_outer_
	release_blocks_
	release_to_md_
	[[ -z $wrong ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
}

# Reports the members that no MEMBER names. "check" says more about a second ramdisk, and about a
# disk that may be the one below a leg that is missing.
release_strangers_() {
	local i way BELOW
	may_leave_look
	for i in ${F[array.strangers]}; do
		way="Name it as MEMBER; do not take it out: no other disk has all that is \
on the array"
		! health_may_leave "$i" || way="Name it as MEMBER, or take it out: \
mdadm /dev/${F[array.md]} --fail /dev/$i --remove /dev/$i"
		! below_absent it && ! ramdisk_note_is_node "$i" ||
			way="What to do: ramraid check $NAME"
		release_wrong_ "/dev/${F[array.md]}: has a member that the configuration \
does not name, /dev/$i." "$way"
	done
}

# Debian's initramfs does not know the host's name. So without ramraid, /dev/md/NAME is a name of
# the array only if mdadm.conf says so; else the next boot would wait for it, and end in emergency
# mode.
release_name_() {
	local file name source GATE_NAME=$NAME
	! claim_names "$NAME" "${F[uuid]}" || return 0
	for file in /etc/fstab /etc/crypttab; do
		[[ -r $ROOT$file ]] || continue
		while read -r name source _; do
			[[ $name != '#'* ]] || continue
			[[ $file != /etc/crypttab ]] || name=$source
			spec_is_array "$name" || continue
			release_wrong_ "$file calls it $name, a name that it may not have after \
the next boot, without ramraid;" \
				"write UUID= there, as blkid $name prints it"
		done <"$ROOT$file"
	done
}

# Reports what md may start instead at the next boot.
release_to_md_() {
	local line text
	text=$(left_to_md_why_not) || text=$TEXT_UNKNOWN
	while IFS= read -r line; do
		[[ -z $line || $line == *"${F[rescue.image]:-no image}"* ]] ||
			release_wrong_ "$line"
	done < <(printf '%s\n' "$text")
}

# An outer array, too, finds its disk leg, if that is an array of ours, by /dev/md/NAME.
release_outer_() {
	local outer
	! claim_names "$NAME" "${F[uuid]}" || return 0
	while IFS= read -r outer; do
		[[ $outer == "$NAME" ]] ||
			release_wrong_ "is a disk leg of $outer, \
which would not find it at the next boot; release that first: ramraid release $outer"
	done < <(conf_naming "/dev/md/$NAME")
}

# If the blocks became smaller, the numbers in a partition table would mean other places: what is
# there would no longer be found, or be overwritten.
release_blocks_() {
	local why
	why=$(blocks_alone_why_not) || why=$TEXT_UNKNOWN
	[[ -z $why ]] || release_wrong_ "$why." \
		"Copy what is on it to other disks; then: ramraid destroy $NAME"
}

release_wrong_() { # TEXT…; sets the caller's wrong
	wrong=yes
	log_error "$NAME: $*"
}

release_ask() {
	PLAN=()
	[[ -z $HAND_MADE ]] ||
		PLAN+=("/dev/$HAND_MADE, a ramdisk made by hand: leaves the array, \
and $(adoption_hand_made_fate "$HAND_MADE")")
	cli_confirm "$NAME" "$NAME becomes a plain RAID1 of ${F[members]-its} disks, \
and stays in use; its configuration is deleted."
}

# Every step can be done again, or is left out when it is done. The claim goes while the
# configuration is still there, because nobody starts an array that is claimed and not configured.
# Until the configuration goes, a boot treats the array as ours again.
release_all() {
	RELEASE_OUT='' RELEASE_NAME='' RELEASE_WAS=''
	trap 'release_end $?' EXIT
	trap 'exit 130' INT TERM HUP
	if [[ $RELEASE_LEFT == all ]]; then
		release_ram_
		release_array
	fi
	if [[ $RELEASE_LEFT == all ]] || claim_is_left "$NAME"; then
		claim_remove "$NAME"
		log_info "telling the initramfs of every kernel that this array is no longer ours; \
this takes a while"
		claim_initramfs
	fi
	# See release_name_. The claim is gone: only what is in force now names the array.
	[[ -z ${F[uuid]-} ]] || claim_names_now "${F[uuid]}" ||
		RELEASE_NAME="; no line of mdadm.conf names it, so from the next boot on it may \
have another name than /dev/md/$NAME (/dev/md127, for example): wherever /dev/md/$NAME is written, \
write the UUIDs of what is on it instead"
	adoption_hand_made_left "$NAME" "${F[uuid]-${ADOPTED[uuid]-none}}" "$HAND_MADE"
	forget_unit "$NAME" release "${F[uuid]-}"
	forget_copy "$NAME" "${F[uuid]-}"
	forget_notes "$NAME"
	trap - EXIT INT TERM HUP
	if [[ -n $DRY_RUN ]]; then
		log_notice "$NAME: nothing was changed (--dry-run)"
	else
		notify_said notice "$NAME: released: a plain RAID1, in use as before$RELEASE_NAME"
	fi
}

# This is noted before the RAM leg is taken out; otherwise, if this is killed, hot-plug would make a
# new one and mark the disks as ours again. "adopt" is the way back from here on, so the note for it
# says that what it or "create" did is no longer in force.
release_ram_() {
	[[ -n $DRY_RUN ]] || ram_out_note "$NAME" release
	RELEASE_WAS=${ADOPTED[done]-none}
	[[ -n ${ADOPTED[uuid]-} ]] || ADOPTED=([uuid]=${F[uuid]} [bitmap]=internal)
	ADOPTED[done]=no
	[[ -z $HAND_MADE ]] || ADOPTED["ramdisk"]=$(hand_made_identity "$HAND_MADE")
	adopted_write "$NAME"
	detach_ram "$NAME"
	detach_ram_give_back "$NAME"
	RELEASE_OUT=yes
}

release_end() { # EXIT-CODE
	uninterrupted_begin
	(($1 == 0)) || [[ -n $DRY_RUN || -n $RELEASE_OUT ]] || act_apart release_not_begun_
	(($1 == 0)) || log_error "$NAME: not finished; the array is in use as before, \
and what was done stays. To go on: ramraid release $NAME; to keep the mirror: \
ramraid adopt $NAME /dev/${F[array.md]:-md/$NAME}"
	exit "$1"
}

# A RAM leg that stays was not taken out by a person, and nothing else has been touched.
release_not_begun_() {
	ram_out_forget "$NAME"
	case $RELEASE_WAS in
	none) rm -f "$(adopted_file "$NAME")" ;;
	yes) ADOPTED[done]=yes && adopted_write "$NAME" ;;
	esac
}

# Makes the array what it was before "adopt", or, after "create", what it would have been without
# us.
release_array() {
	local i md=${F[array.md]}
	facts_observe
	# The RAM leg's slot goes, and md renumbers the others: nothing may use its number any more.
	[[ -n $DRY_RUN ]] || witness_update no-ram-slot || : # it has said so
	((${F[array.backlog]} == 0)) || md_set_backlog "$md" 0
	(($(md_slots "$md") == ${F[members]})) || md_set_slots "$md" "${F[members]}"
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.writemostly]} == yes &&
			" ${ADOPTED_WRITEMOSTLY[*]} " != *" ${F[leg.$i.dev]} "* ]] || continue
		md_clear_writemostly "$md" "${F[leg.$i.node]}"
	done
	[[ ${ADOPTED[bitmap]-} != none || $(md_bitmap "$md") != internal ]] || md_drop_bitmap "$md"
}
