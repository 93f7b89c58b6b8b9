# ramraid restore: puts a rescue image back, that the shutdown guard wrote because the RAM leg was the only good copy.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly RESTORE_USAGE='usage: ramraid restore [--yes] [--dry-run] NAME

Writes the rescue image of the RAM leg, which the last shutdown had to make, over the newest disk leg, compares, and starts the array.
Begun again from the start if it is interrupted. The image is kept; delete it when the data have been looked at.'

cmd_restore() {
	cli_parse "$RESTORE_USAGE" 'yes dry-run' "$@"
	cli_one_name "$RESTORE_USAGE"
	need_work
	conf_need "$NAME"
	cli_root
	facts_configured "$NAME"
	facts_observe
	[[ ${F[array.state]} == active || -n $DRY_RUN ]] || systemd_settle "$NAME"
	cli_lock "$NAME" 5
	conf_need "$NAME" # who had the lock may have changed the disks
	facts_configured "$NAME"
	restore_check
	restore_choose
	restore_ask
	restore_here
	[[ -z $DRY_RUN ]] || return 0
	exec {CLI_LOCK}>&-
	systemd_is_running || return 0
	need cmd/start
	start_by_systemd "$NAME"
}

restore_check() {
	[[ -n ${RESCUE[image]-} ]] || die "$NAME: there is no rescue image to restore" "$EX_INACTIVE"
	[[ -z ${RESCUE[damaged]-} ]] || die "$NAME: $(rescue_record "$NAME") is damaged; it should name the image and its SHA-256. Look for the image below ${CONF[RESCUE]}" "$EX_REFUSED"
	[[ -r ${RESCUE[image]} ]] || die "$NAME: ${RESCUE[image]} can't be read; is its file system mounted?" "$EX_REFUSED"
	facts_observe
	[[ ${F[array.state]} != inactive ]] || md_stop "${F[array.md]}"
	[[ ${F[array.state]} != @(active|broken) ]] || die "$NAME: is running; type: ramraid stop $NAME" "$EX_REFUSED"
	facts_observe
}

# The newest leg alone: md's bitmap then knows every block as written while the others were away.
restore_choose() {
	local i KIND NEWEST good=()
	for ((i = 0; i < ${F[members]}; i++)); do
		decide_leg_kind_ "$i"
		[[ $KIND != good ]] || good+=("$i")
	done
	((${#good[@]} > 0)) || die "$NAME: no disk leg that holds a slot of the array is there. Bring one back; or make a new array and copy ${RESCUE[image]} onto it (dd)" "$EX_REFUSED"
	decide_current_ "${good[@]}"
	decide_newest_ "${CURRENT[@]}"
	F[forced]=$NEWEST
	decide_action
	[[ $ACTION == assemble ]] || die "$NAME: $WHY" "$EX_REFUSED"
}

restore_ask() {
	local answer
	[[ -z $DRY_RUN && -z ${OPT[yes]-} ]] || return 0
	[[ -t 0 ]] || die "$NAME: this overwrites the array with ${RESCUE[image]}; there is no terminal to ask on, so add --yes" "$EX_USAGE"
	printf '%s: the image %s (%s) overwrites what the disk legs hold.\n' "$NAME" "${RESCUE[image]}" "$(human_bytes "${RESCUE[bytes]}")" >&2
	read -r -p 'Go on? [y/N] ' answer
	[[ $answer == [yY]* ]] || die "$NAME: nothing was changed" "$EX_FAILED"
}

# The record goes last: until then no start takes the half-written disk for good.
restore_here() {
	local image=${RESCUE[image]}
	# Nothing is given up: every block will be written while the others are away, so md's bitmap copies all of them.
	GIVING_UP=''
	drive_assemble "${ARGUMENTS[@]}" || die "$NAME: $DRIVE_ERROR"
	if [[ -n $DRY_RUN ]]; then
		act dd if="$image" of="/dev/md/$NAME" bs=1M oflag=direct conv=notrunc,fsync
		rescue_forget "$NAME"
		return
	fi
	facts_observe
	drive_is_of_ "${ARGUMENTS[0]}" || die "$NAME: something else has started an array of its legs at the same moment: ${F[array.md]} ${F[array.twin]}; stop them (mdadm --stop), then try again" "$EX_REFUSED"
	md_make_writable "${F[array.md]}"
	rescue_put_back "${F[array.md]}" || die "$NAME: not restored; the image and its record are kept. Mend the cause, then: ramraid stop $NAME; ramraid restore $NAME"
	facts_observe
	# The last word on it was that only the RAM leg was good.
	F[array.known]=yes
	# The image was made of it; from now on the disks are what counts.
	[[ -z ${F[leg.ram.dev]-} || ${F[leg.ram.uuid]} != "${F[uuid]}" ]] || WITNESS_GIVE_UP=${F[leg.ram.device_uuid]}
	record_write || die "$NAME: restored, but that is not written down, and the record of the image is kept: without it no start would know. Mend the cause, then: ramraid stop $NAME; ramraid restore $NAME"
	rescue_forget "$NAME"
	log_notice "$NAME: restored from $image, which is kept; delete it when you have looked at your data"
}
