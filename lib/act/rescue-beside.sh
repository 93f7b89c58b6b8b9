# A rescue image that no record in $STATE names: only the record beside it says what it is. The
# array that $STATE itself is on, which has the root file system, leaves such an image: the record
# goes into the RAM leg after the image was made, and is gone with it.
# shellcheck shell=bash

need act/rescue act/rescue-write config/conf core/bounded core/log core/paths notes/rescue-record
need world/disk

declare -gA F # the facts: decide/facts.list

# rescue_beside_state_on MD: is $STATE on the array MD?
rescue_beside_state_on() {
	local NODE
	if disk_below "${STATE#"$ROOT"}"; then
		disk_is_partly_on "$NODE" "$1"
	else
		[[ ${CONF[ROOT]-no} == yes ]]
	fi
}

# rescue_beside_saved: says after a save that no record will keep the next boot from the disks.
rescue_beside_saved() {
	log_alert "${F[name]}: saved to $RESCUE_FOLDER. $STATE is on this array, so the next boot \
does not know of it, and starts the disks, which lack what was written last. To put it back, use a \
rescue system (ROOT FILE SYSTEM in ramraid-restore(8))"
}

# rescue_beside_find NAME UUID: sets RESCUE_BESIDE to the folders of images of the array that have
# neither been put back nor given up, and that are not the one which RESCUE names; and
# RESCUE_CUT_OFF to those of images that were never finished, because the power was cut, or systemd
# ended the shutdown. After rescue_record_read. If the file system does not answer, it finds none.
rescue_beside_find() {
	local kind folder
	RESCUE_BESIDE=() RESCUE_CUT_OFF=()
	[[ ${CONF[RESCUE]-none} != none ]] || return 0
	while read -r kind folder; do
		if [[ $kind == whole ]]; then
			RESCUE_BESIDE+=("$folder")
		else
			RESCUE_CUT_OFF+=("$folder")
		fi
	done < <(bounded "${CONF[RESCUE]}" rescue_beside_look_ "$@")
}
rescue_beside_look_() { # NAME UUID
	local folder
	for folder in "$ROOT${CONF[RESCUE]}/$1"/rescue-*.*; do
		[[ -e $folder/image && ! $folder/image -ef ${RESCUE[image]-} ]] || continue
		if [[ ! -e $folder/$RESCUE_RECORD ]]; then
			rescue_was_restored "$folder/image" ||
				rescue_was_given_up "$folder/image" ||
				printf 'cut-off %s\n' "$folder"
		elif [[ -f $folder/$RESCUE_RECORD ]] &&
			grep -qsx "uuid=$2" -- "$folder/$RESCUE_RECORD"; then
			printf 'whole %s\n' "$folder"
		fi
	done
}

# rescue_beside_todo FOLDER: prints what to do with such an image.
rescue_beside_todo() {
	local back="cp $1/$RESCUE_RECORD $STATE/${F[name]}.rescue && \
ramraid stop ${F[name]} && ramraid restore ${F[name]}"
	[[ ${CONF[ROOT]-no} != yes ]] ||
		back='use a rescue system (ROOT FILE SYSTEM in ramraid-restore(8))'
	printf '%s\n' "to put it back: $back; if nothing in it is needed: rm -r $1"
}

# rescue_beside_warn: a start says that there is such an image. The worker of hot-plug does not
# repeat that.
rescue_beside_warn() {
	local folder RESCUE_BESIDE RESCUE_CUT_OFF
	[[ ${F[mend]-} != yes ]] || return 0
	rescue_beside_find "${F[name]}" "${F[uuid]}"
	for folder in "${RESCUE_BESIDE[@]}"; do
		log_alert "${F[name]}: a shutdown saved in $folder what only the RAM leg had, and \
the disks may lack it, since no record in $STATE kept them from being started; \
$(rescue_beside_todo "$folder")"
	done
	for folder in "${RESCUE_CUT_OFF[@]}"; do
		log_warning "${F[name]}: an image of its RAM leg that a shutdown could not finish \
is in $folder, and takes room that the next one may need; if nothing in it is needed: rm -r $folder"
	done
}
