# The record of a rescue image (act/rescue.sh), beside the witness. While it exists, the array is
# not started from a disk leg unless a person forces that.
# shellcheck shell=bash

need core/act core/log core/paths

declare -gA RESCUE=()

rescue_record_file() { printf '%s/%s.rescue\n' "$STATE" "$1"; } # NAME

# rescue_record_read NAME UUID: fills RESCUE (image, bytes, sha256, events, generation: that of the
# witness when the image was made, legs: "DEVICE_UUID:EVENTS,…" of the disk legs then, disk: the
# device UUID of the one that a restore has begun to overwrite; lost: "FROM:BYTES …" of the parts
# that could not be read, and are zeros in the image; file: the record itself, which may
# have another name by now: old_name_take) from the record; RESCUE is empty when there is none about
# this array. A count that is not a number is left out. A damaged record still counts, since it
# stands for data: RESCUE[image] is then the record itself.
rescue_record_read() {
	# What rescue_record_file prints, without a process, because every "status" runs this.
	local file=$STATE/$1.rescue line key
	RESCUE=()
	[[ -e $file || -L $file ]] || return 0
	while IFS= read -r -n 4096 line; do
		[[ ! $line =~ ^lost=((0|[1-9][0-9]{0,17}):[1-9][0-9]{0,17})$ ]] ||
			RESCUE[lost]+=${RESCUE[lost]:+ }${BASH_REMATCH[1]}
		[[ ! $line =~ ^(uuid|image|bytes|sha256|events|generation|disk)=([A-Za-z0-9._/-]+)$ &&
			! $line =~ ^(legs)=([0-9a-f:,-]+)$ ]] || RESCUE[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
	done 2>/dev/null <"$file" || :
	for key in events generation; do
		[[ ${RESCUE[$key]-} =~ ^(0|[1-9][0-9]{0,17})$ ]] || unset -v "RESCUE[$key]"
	done
	[[ -z ${RESCUE[uuid]-} || ${RESCUE[uuid]} == "$2" ]] || {
		RESCUE=()
		return 0
	}
	[[ ${RESCUE[image]-} == /* && ${RESCUE[bytes]-} =~ ^[1-9][0-9]{0,17}$ &&
		${RESCUE[sha256]-} =~ ^[0-9a-f]{64}$ ]] || RESCUE=([image]="$file" [damaged]=yes)
	RESCUE[file]=$file
}

# rescue_record_events DEVICE_UUID: sets EVENTS_THEN to how many events that disk leg had when the
# image was made; empty when the record does not say.
rescue_record_events() {
	EVENTS_THEN=''
	[[ ! ,${RESCUE[legs]-}, =~ ,"$1":(0|[1-9][0-9]{0,17}), ]] || EVENTS_THEN=${BASH_REMATCH[1]}
}

# rescue_record_lost RANGE…: sets LOST_TEXT to what an image lacks, in words; empty without any.
# Each RANGE is "FROM:BYTES"; the first few are named.
readonly RESCUE_RECORD_NAMED=4
rescue_record_lost() {
	local range sum=0 places=''
	LOST_TEXT=''
	(($# > 0)) || return 0
	need core/quantity
	for range; do sum=$((sum + ${range#*:})); done
	for range in "${@:1:RESCUE_RECORD_NAMED}"; do
		places+="${places:+, }${range%:*} to $((${range%:*} + ${range#*:} - 1))"
	done
	(($# <= RESCUE_RECORD_NAMED)) ||
		places+=", and more in $(($# - RESCUE_RECORD_NAMED)) other places"
	LOST_TEXT="$(quantity_show_bytes "$sum") of the array could not be read, and are zeros in \
the image: bytes $places"
}

# rescue_record_begun NAME DEVICE_UUID: notes that a restore begins to overwrite that disk leg.
# Returns 1 when that can't be made durable.
rescue_record_begun() {
	local file text
	[[ ${RESCUE[disk]-} != "$2" ]] || return 0
	file=$(rescue_record_file "$1")
	text=$(sed '/^disk=/d' -- "$file") &&
		act_text "$file" "$text"$'\n'"disk=$2"$'\n' 600 || return
	[[ -n $DRY_RUN ]] || RESCUE[disk]=$2
}

rescue_record_forget() { # NAME
	local file
	file=$(rescue_record_file "$1")
	[[ ! -e $file && ! -L $file ]] || { act rm -f -- "$file" && sync "$STATE"; }
}
