# Where the shutdown would save the RAM leg to, if it were the only good copy: whether an image can
# be written there, and how much room there is.
# shellcheck shell=bash

need config/conf core/bounded core/mounts core/paths core/quantity core/text core/trust
need decide/health world/disk world/disk-find world/loop-device world/systemd world/volatile

declare -gA F # the facts: decide/facts.list

# rescue_place_look: while the running array's RAM leg is the only good copy, sets
# F[rescue.why_not] to why a shutdown can't save it, and F[rescue.tight] to a warning if it may not
# fit; else empties both. Only root can tell more than that RESCUE=none. After facts_observe, and
# conf_load. The file system may not answer, so it is asked within a bound.
rescue_place_look() {
	local folder=${CONF[RESCUE]-} code=0 bytes room NUMBER
	F[rescue.why_not]='' F[rescue.tight]=''
	[[ -n $folder && ${F[array.state]} == @(active|broken) ]] && health_only_copy || return 0
	if [[ $folder == none ]]; then
		F[rescue.why_not]='RESCUE=none'
		return
	fi
	rescue_place_may_ || return 0
	F[rescue.why_not]=$(bounded "$folder" rescue_place_why_not "$folder" "${F[array.md]}" \
		"${F[name]}") || code=$?
	if ((code == BOUNDED_SILENT)); then
		F[rescue.why_not]="$folder does not answer"
	elif ((code != 0)); then
		F[rescue.why_not]=$TEXT_UNKNOWN
	fi
	[[ -z ${F[rescue.why_not]} ]] || return 0
	text_number_in "$SYS/block/${F[array.md]}/size" 0
	bytes=$((NUMBER * 512)) room=$(rescue_place_room "$(rescue_place_above_ "$folder")")
	room=$((room * 1024))
	((room >= bytes)) ||
		F[rescue.tight]="$folder has room for $(quantity_show_bytes "$room"), and the \
array has $(quantity_show_bytes "$bytes")"
}
rescue_place_may_() { ((EUID == 0)); }

# rescue_place_above_ FOLDER: prints FOLDER, or the folder above it that is there: a shutdown makes
# the rest.
rescue_place_above_() {
	local folder=$1
	while [[ -n $folder && ! -e $folder ]]; do folder=${folder%/*}; done
	printf '%s\n' "${folder:-/}"
}

# rescue_place_why_not FOLDER MD [NAME]: prints why no image can be written to FOLDER; nothing when
# it can be tried. With NAME, it is asked from outside that array's unit, and also says why the unit
# could not write there. Only trying shows whether the image fits, because zeros take no room.
# Returns 1 when the look has failed.
rescue_place_why_not() {
	local folder memory why WHY TODO
	if [[ $1 == none ]]; then
		printf 'RESCUE=none\n'
		return
	fi
	trust_into why "$1"
	[[ -z $TRUST_FAILED ]] || return 1
	folder=$(rescue_place_above_ "$1")
	if [[ -n $why ]]; then
		printf '%s\n' "$why"
	elif [[ ! -d $folder ]] || { [[ ! -w $folder ]] && ! systemd_is_other_service; }; then
		printf '%s does not exist or cannot be written\n' "$1"
	elif [[ -n ${3-} ]] && rescue_place_barred "$3" "$1"; then
		printf '%s: %s\n' "$WHY" "$TODO"
	elif ! memory=$(rescue_place_memory "$folder"); then
		return 1
	elif [[ -n $memory ]]; then
		printf '%s is in memory (%s)\n' "$1" "$memory"
	elif rescue_place_is_on_ "$folder" "$2"; then
		printf '%s is on the array itself\n' "$1"
	elif (($? == 2)); then
		return 1
	fi
}

# rescue_place_barred NAME FOLDER: would the array's unit, which saves the image, be kept from
# writing to FOLDER, or from making it? Sets WHY to the reason and TODO to a command that helps. For
# a stop that has begun, it is too late to make the folder: it stays read-only for the unit.
rescue_place_barred() {
	! systemd_may_write "$1" "$(rescue_place_above_ "$2")" || return 1
	if [[ -e $2 ]]; then
		WHY="systemd does not yet let the array's unit write to $2"
		TODO='systemctl daemon-reload'
	else
		WHY="$2 does not exist"
		TODO="mkdir -p $2; systemctl daemon-reload"
	fi
}

# rescue_place_is_on_ FOLDER MD: is the folder on the array? Returns 2 when the look has failed.
rescue_place_is_on_() {
	local source sources NODE
	source=$(mounts_of SOURCE "$1") || return 2
	# bcachefs names all its devices.
	IFS=: text_split sources "$source"
	for source in "${sources[@]}"; do
		disk_find "$source" || continue
		! rescue_place_uses_ "$NODE" "$2" || return 0
	done
	return 1
}
# Is any part of the device on the array, also by way of a loop device's file?
rescue_place_uses_() { # NODE MD
	local disk disks LOOP_DEVICE_TYPE LOOP_DEVICE_SOURCE NODE
	! disk_is_partly_on "$1" "$2" || return 0
	mapfile -t disks < <(disk_physical "$1")
	for disk in "${disks[@]}"; do
		[[ $disk == loop+([0-9]) ]] || continue
		loop_device_on "$disk"
		[[ $LOOP_DEVICE_SOURCE == /dev/* ]] && disk_find "$LOOP_DEVICE_SOURCE" &&
			rescue_place_uses_ "$NODE" "$2" && return 0
	done
	return 1
}

# rescue_place_memory FOLDER: prints what its file system is if a power-off loses that: tmpfs and
# the like, one on ramdisks alone, or an overlay that writes to one of these; nothing for all
# others. The path that an overlay writes to is from the time when it was mounted, perhaps in an
# initramfs: if that path leads to nothing now, or into another overlay, the overlay counts as in
# memory.
rescue_place_memory() {
	local type below upper=''
	type=$(mounts_of FSTYPE "$1") && [[ -n $type ]] || return 1
	if [[ $type != overlay ]]; then
		rescue_place_memory_alone_ "$type" "$1"
		return
	fi
	[[ ! ,$(mounts_of OPTIONS "$1" || :) =~ ,upperdir=(/([^,\\]|\\.)*) ]] ||
		upper=${BASH_REMATCH[1]//\\/}
	below=$(mounts_of FSTYPE "${upper:-none}") || :
	if [[ -z $below || $below == overlay ]]; then
		printf 'overlay\n'
	else
		below=$(rescue_place_memory_alone_ "$below" "$upper")
		printf '%s' "${below:+overlay on $below$'\n'}"
	fi
}
rescue_place_memory_alone_() { # TYPE FOLDER
	local source NODE
	! volatile_is_type "$1" || {
		printf '%s\n' "$1"
		return
	}
	source=$(mounts_of SOURCE "$2") || :
	[[ $source == /dev/* ]] && disk_find "$source" && volatile_is "$NODE" || return 0
	printf '%s on %s\n' "$1" "$source"
}

# rescue_place_room FOLDER: prints how many KiB are free there; 0 when that can't be told, as on a
# server that does not answer any more.
rescue_place_room() {
	local blocks size
	read -r blocks size < <(bounded "$1" stat -f -c '%a %S' -- "$1") || blocks=0 size=0
	printf '%s\n' $((blocks * size / 1024))
}
