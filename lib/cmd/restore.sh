# ramraid restore: puts back a rescue image, which the shutdown guard wrote because the RAM leg was
# the only good copy.
# shellcheck shell=bash

need act/array-lock act/disk-legs act/notify act/rescue act/rescue-beside act/rescue-put-back
need act/witness-update cmd/start config/conf config/conf-need core/act core/cli core/log core/paths
need core/quantity core/text core/uninterrupted decide/action decide/histories decide/leg
need decide/rescue-way notes/old-name notes/rescue-record observe/before-look observe/facts
need world/disk world/md world/systemd

declare -gA F # the facts: decide/facts.list

readonly RESTORE_USAGE='usage: ramraid restore [--delete] [--yes] [--dry-run] NAME

Put back the rescue image, to which the last shutdown has saved the RAM leg. ramraid writes it
over the newest disk leg, compares the two, and starts the array. It keeps the image; delete that
when you have looked at the data.
If restore is interrupted, type it again: it begins from the start.
  --delete       delete the image at the end
  -y, --yes      do not ask
  -n, --dry-run  print every command, change nothing'

readonly RESTORE_EVENTS=20 # by so many a few interrupted restores may count on

cmd_restore() {
	local which
	cli_parse "$RESTORE_USAGE" 'delete yes dry-run' "$@"
	cli_one_name "$RESTORE_USAGE"
	conf_need "$NAME"
	cli_root
	before_look_configured "$NAME"
	facts_observe
	[[ ${F[array.state]} == active || -n $DRY_RUN ]] || systemd_settle "$NAME"
	array_lock "$NAME" 5
	conf_need "$NAME" # who had the lock may have changed the disks
	before_look_configured "$NAME"
	restore_check
	restore_choose
	which=$(start_which)
	restore_ask
	rescue_check || restore_failed_
	facts_observe
	restore_choose
	start_is_still "$NAME" "$which"
	old_name_take || die "$NAME: the records of its array under the name ${F[record.from]} \
could not be moved in $STATE; nothing was restored"
	restore_here
	[[ -z $DRY_RUN ]] || return 0
	exec {ARRAY_LOCK}>&-
	systemd_is_running || return 0
	start_by_systemd "$NAME"
}

restore_check() {
	[[ -n ${RESCUE[image]-} ]] || restore_none_
	[[ -z ${RESCUE[damaged]-} ]] ||
		die "$NAME: ${RESCUE[file]} is damaged; \
it should name the image and its SHA-256. Look for the image below ${CONF[RESCUE]}" "$EX_REFUSED"
	! rescue_was_restored "${RESCUE[image]}" ||
		die "$NAME: ${RESCUE[image]} has been put back already, and the array has been \
used since then; its record ${RESCUE[file]} is an old one, perhaps from a backup of \
/etc. To keep what the disks have: rm ${RESCUE[file]}; ramraid start $NAME" "$EX_REFUSED"
	! rescue_was_given_up "${RESCUE[image]}" ||
		die "$NAME: ${RESCUE[image]} has been given up by a start without it (ramraid \
start --force-leg), and the array has been used since then; its record ${RESCUE[file]} is an old \
one, perhaps from a backup of /etc. To keep what the disks have: rm ${RESCUE[file]}; ramraid start \
$NAME" "$EX_REFUSED"
	[[ -r ${RESCUE[image]} ]] ||
		die "$NAME: ${RESCUE[image]} can't be read; is its file system mounted? If that \
was unmounted before the image was written, the image is below what is mounted there now: unmount \
that, and look again. If you have moved it, write its new path into ${RESCUE[file]} (image=). Only \
if you deleted it after it had been put back, the record is an old one: rm ${RESCUE[file]}; \
ramraid start $NAME" "$EX_REFUSED"
	facts_observe
	restore_stop_left_
	[[ ${F[array.state]} != @(active|broken) ]] ||
		die "$NAME: is running; $(rescue_way_first type)" "$EX_REFUSED"
	facts_observe
}

restore_none_() {
	local RESCUE_BESIDE RESCUE_CUT_OFF
	rescue_beside_find "$NAME" "${CONF[UUID]}"
	((${#RESCUE_BESIDE[@]} == 0)) ||
		die "$NAME: no record names a rescue image; in ${RESCUE_BESIDE[-1]} is one; \
$(rescue_beside_todo "${RESCUE_BESIDE[-1]}")" "$EX_INACTIVE"
	die "$NAME: there is no rescue image to restore" "$EX_INACTIVE"
}

# restore_stop_left_: stops what something else has half assembled. A restore that was killed has
# left the array running, from the disk that it was overwriting: that is stopped if nothing uses it.
restore_stop_left_() {
	local md=${F[array.md]}
	if [[ ${F[array.state]} == inactive ]]; then
		md_stop "$md" ||
			die "$NAME: $md is half assembled and could not be stopped; see: lsblk \
/dev/$md" "$EX_REFUSED"
	elif [[ ${F[array.state]} == active && -n ${RESCUE[disk]-} &&
		${F[ram.state]} != @(in_sync|recovering) ]] && disk_is_unused "$md"; then
		restore_stop_ "$md" || return 0
	else
		return 0
	fi
	cli_stopped "$NAME" "$md"
	facts_observe
}
# The monitor has nothing left to watch.
restore_stop_() { # MD
	systemd_stop_monitor "$1" || :
	md_stop "$1"
}

# Chooses the newest leg alone: md's bitmap then has every block as written while the others were
# away.
restore_choose() {
	local i KIND NEWEST good=() copies=''
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_kind "$i"
		[[ $KIND == good ]] || continue
		[[ -n ${F[leg.$i.alien]} ]] || good+=("$i")
		[[ -z ${F[leg.$i.alien]} ]] || copies+=". ${F[leg.$i.dev]} \
(/dev/${F[leg.$i.node]}) may be a copy: ${F[leg.$i.moved]}. If it is not: rm \
$STATE/$NAME.hardware; ramraid restore $NAME"
	done
	((${#good[@]} > 0)) || restore_no_leg_ "$copies"
	histories_current "${good[@]}"
	histories_newest "${CURRENT[@]}"
	# A restore that was cut off goes on with the same disk, which is half overwritten.
	for i in "${good[@]}"; do
		[[ ${F[leg.$i.device_uuid]} != "${RESCUE[disk]:-none}" ]] || NEWEST=$i
	done
	F[forced]=$NEWEST
	restore_give_up_
	action_choose
	[[ $ACTION == assemble ]] || die "$NAME: $WHY" "$EX_REFUSED"
}

# restore_no_leg_ COPIES: ends the program, because no disk leg can take the image: says how to copy
# it onto another array. "destroy" refuses as long as there is a record of an image; "create", as
# long as a configured array has a MEMBER line that leads to the disk, which a new disk in the old
# place may have.
restore_no_leg_() {
	local lost='' ram=''
	[[ ${CONF[RAM]} != zram* ]] || ram=" --ram=${CONF[RAM]}"
	[[ -z ${F[rescue.lost]} ]] ||
		lost=". ${F[rescue.lost]}. On the new array they read as zeros as well, and \
nothing marks them: keep a copy of ${RESCUE[file]}, which lists all of them (lost=FROM:BYTES)"
	die "$NAME: there is no disk leg that holds a slot of the array and was not being \
rebuilt. Bring one back; or create an array with another name, no smaller than the image, and copy \
the image onto it: ramraid create --force$ram NEW DISK; dd if=${RESCUE[image]} of=/dev/md/NEW \
bs=1M conv=fsync; only when all of it is there: rm ${RESCUE[image]} ${RESCUE[file]}; ramraid \
destroy $NAME. If create says that DISK is a leg of $NAME, because it has its name: mv \
$ETC/$NAME.conf $ETC/$NAME.conf.old before create, and back before destroy$lost$1" "$EX_REFUSED"
}

# restore_give_up_: sets RESTORE_GIVE_UP to the legs that may have been used without the newest one
# here, which gets the image. Their contents are older than the image. But the newest one goes on
# counting events from where it left, so they may have more, and would be mistaken for disks that
# were used without it. Of a leg that is away, only one thing is known: whether the newest one was
# the last of all.
restore_give_up_() {
	local i uuid with=" ${F[leg.$NEWEST.device_uuid]} " without=''
	RESTORE_GIVE_UP=''
	for ((i = 0; i < F[members]; i++)); do
		leg_kind "$i"
		if [[ $KIND == good ]] && ! histories_calls_missing "$i" "$NEWEST"; then
			with+=" ${F[leg.$i.device_uuid]} "
		else
			without+=" ${F[leg.$i.device_uuid]} "
		fi
	done
	[[ ${RESCUE[disk]-} == @(|"${F[leg.$NEWEST.device_uuid]}") ]] ||
		RESTORE_GIVE_UP+=" ${RESCUE[disk]}"
	for uuid in ${F[witness.legs]-} ${F[witness.left]-} ${F[witness.seen]-} \
		${F[witness.doubted]-}; do
		if [[ "$with$RESTORE_GIVE_UP " == *" $uuid "* ]]; then
			continue
		elif [[ $without == *" $uuid "* ]] || ! restore_was_last_; then
			RESTORE_GIVE_UP+=" $uuid"
		fi
	done
}

# restore_was_last_: returns 0 if the newest leg's superblock calls no other disk leg active. A
# witness of 0.1.0 only knows the slot of the RAM leg.
restore_was_last_() {
	local entry number=${F[witness.ram_number]-} slot=${F[witness.ram_slot]-}
	for entry in ${F[leg.$NEWEST.roles]}; do
		[[ ${entry%:*} == "${F[leg.$NEWEST.number]}" ||
			$entry == "${number:-${entry%:*}}:$slot" ]] || return 1
	done
}

# The disks had fallen behind when the image was made. If they have more events now, or a later
# record vouches for disks, then the image is an old one, whose record somebody has put back with a
# backup of /etc; or a restore was interrupted, which adds a few events. The disks go on counting
# from where they left, so the event count of the image says nothing.
restore_ask() {
	local leg=leg.${F[forced]} typed='' begun=''
	[[ ${F[$leg.device_uuid]} != "${RESCUE[disk]:-none}" ]] || begun=yes
	PLAN=()
	restore_used_since_
	if ((${#PLAN[@]} > 0)); then
		typed=typed
		PLAN+=("it seems that the array has been used since, \
and what was written since then is lost.")
		[[ -n $begun ]] || PLAN+=('Was an old backup of /etc put back?'
			"Then keep what the disks have: rm ${RESCUE[file]}; ramraid start $NAME")
		[[ -z ${OPT[yes]-} ]] || printf '%s\n' "${PLAN[@]}" >&2
	fi
	[[ -z $begun ]] || PLAN=("${F[$leg.dev]} is half overwritten by an earlier restore, \
so this one goes on with it."
		'To put the image on another disk, first take that one out of the machine.'
		"${PLAN[@]}")
	[[ -z ${F[rescue.lost]} ]] || log_warning "$NAME: ${F[rescue.lost]}"
	cli_confirm "$NAME" "$NAME: the image ${RESCUE[image]} \
($(quantity_show_bytes "${RESCUE[bytes]}")) overwrites what the disk legs hold, \
${F[$leg.dev]} (/dev/${F[$leg.node]}) first." "$typed"
}

# Adds to PLAN the signs that the array was used since: from each disk leg that is here, and from
# the record.
restore_used_since_() {
	local i leg EVENTS_THEN
	for ((i = 0; i < ${F[members]}; i++)); do
		leg=leg.$i
		[[ ${F[$leg.sb]} == ok && ${F[$leg.uuid]} == "${F[uuid]}" ]] || continue
		rescue_record_events "${F[$leg.device_uuid]}"
		if [[ -z $EVENTS_THEN ]]; then
			PLAN+=("${F[$leg.dev]} is at ${F[$leg.events]} events, and how many it had \
when the image was made is not recorded:")
		elif ((${F[$leg.events]} > EVENTS_THEN + RESTORE_EVENTS)); then
			PLAN+=("${F[$leg.dev]} is at ${F[$leg.events]} events, \
and was at $EVENTS_THEN when the image was made:")
		fi
	done
	[[ -z ${F[witness.legs]} ]] ||
		((${F[witness.generation]:-0} <= ${RESCUE[generation]:-0})) ||
		PLAN+=("a record of the array that is later than the image says that disk legs \
were in sync:")
}

# restore_write_: starts the array from the chosen disk leg alone, and overwrites it. From here
# until the record of the image is gone, whatever ends this program stops the array again: the disk
# is half overwritten, or nobody knows that it no longer is.
restore_write_() {
	local uuid=${F[leg.${F[forced]}.device_uuid]-} code=0
	trap 'restore_end $?' EXIT
	trap 'exit 130' INT TERM HUP PIPE
	disk_legs_assemble "${ARGUMENTS[@]}" || die "$NAME: $LOOP_ERROR"
	facts_observe
	disk_legs_is_of "${ARGUMENTS[0]}" || {
		trap - EXIT
		die "$NAME: something else has started an array of its legs at the same moment: \
${F[array.md]} ${F[array.twin]}; stop them (mdadm --stop), then try again" "$EX_REFUSED"
	}
	rescue_put_back "${F[array.md]}" "$uuid" "${ARGUMENTS[0]}" || code=$?
	((code != RESCUE_PUT_BACK_UNLISTED)) ||
		die "$NAME: the image is on ${ARGUMENTS[0]}, but its superblock does not list what \
the image lacks as bad blocks, so that could pass for data after a stop. The record of the image \
is kept; type it again: ramraid restore $NAME"
	((code == 0)) || restore_failed_
	uninterrupted_begin
	restore_say_lost_
}

# restore_say_lost_: says what the image lacks, and how md treats that on the disk.
restore_say_lost_() {
	local lost
	text_split lost "${RESCUE[lost]-}"
	((${#lost[@]} > 0)) || return 0
	if ((${#RESCUE_PUT_BACK_LISTED[@]} < ${#lost[@]})); then
		log_warning "$NAME: ${F[rescue.lost]}. md could not list all of them as bad blocks \
of ${ARGUMENTS[0]}, so they read as zeros"
	else
		log_warning "$NAME: ${F[rescue.lost]}. md lists them as bad blocks of \
${ARGUMENTS[0]}, so reading them fails until something writes to them (ramraid-restore(8))"
	fi
}
restore_failed_() {
	die "$NAME: not restored; the image and its record are kept. Fix the cause, then: ramraid \
restore $NAME"
}
restore_end() { # EXIT-CODE
	local md=${F[array.md]}
	uninterrupted_begin
	[[ -n $md ]] || md=$(md_of_leg "${ARGUMENTS[0]}") || md=''
	[[ -z $md ]] || act_apart restore_stop_ "$md" ||
		log_warning "$NAME: $md could not be stopped; use nothing that is on it"
	(($1 != 130)) || log_notice "$NAME: interrupted; the image and its record are kept. To go \
on: ramraid restore $NAME"
	exit "$1"
}

# The record of the image goes last: until then, no start mistakes the half-written disk for a good
# one.
restore_here() {
	local image=${RESCUE[image]}
	# Nothing is given up: every block will be written while the others are away, so md's bitmap
	# copies all of them.
	GIVING_UP=''
	if [[ -n $DRY_RUN ]]; then
		disk_legs_assemble "${ARGUMENTS[@]}" || die "$NAME: $LOOP_ERROR"
		rescue_put_back_preview "$image" "/dev/md/$NAME"
		rescue_note_restored "$image"
		rescue_record_forget "$NAME"
		[[ -z ${OPT[delete]-} ]] || rescue_delete "$image"
		return
	fi
	restore_write_
	facts_observe
	# The last record says that only the RAM leg was good.
	F[array.known]=yes
	# The image was made of the RAM leg; from now on the disks count.
	[[ -z ${F[leg.ram.dev]-} || ${F[leg.ram.uuid]} != "${F[uuid]}" ]] ||
		F[witness.give_up]=${F[leg.ram.device_uuid]}
	F[witness.give_up]+=$RESTORE_GIVE_UP
	witness_update ||
		die "$NAME: restored, but that could not be recorded, so the record of the image \
is kept: without it, no start would know. Fix the cause, then: ramraid restore $NAME"
	# The note is written before the record goes: with both, "restore" says what to do.
	rescue_note_restored "$image" ||
		log_warning "$NAME: could not note beside $image that it has been put back"
	rescue_record_forget "$NAME" ||
		die "$NAME: restored, but $(rescue_record_file "$NAME") could not be deleted. \
Delete it, then: ramraid start $NAME"
	trap - EXIT
	if [[ -z ${OPT[delete]-} ]]; then
		notify_said notice "$NAME: restored from $image, which is kept; \
delete it when you have looked at your data"
	elif rescue_delete "$image"; then
		notify_said notice "$NAME: restored from $image, which is deleted"
	else
		log_warning "$NAME: restored from $image, which could not be deleted; \
delete it yourself"
	fi
	uninterrupted_end
}
