# The note of the disks that are to leave an array, beside the witness. They stay in the
# configuration until the others are in sync without them, so that every boot in between starts from
# all that is good. The note tells them from the disks that stay. It also names the disk that takes
# the place of each. A disk stays after all when the configuration no longer names that one.
# shellcheck shell=bash

need core/act core/paths world/disk-find

removals_file() { printf '%s/%s.leaving\n' "$STATE" "$1"; } # NAME

declare -gA REMOVALS_FOR # for a disk that is to leave, the one that takes its place, if any

# removals_read NAME UUID: sets LEAVING to the names of the disks that are to leave, and
# REMOVALS_FOR; both to none when there is no note, or one about another array.
removals_read() {
	local line key value uuid='' file=$STATE/$1.leaving
	LEAVING=() REMOVALS_FOR=()
	[[ -f $file && ! -L $file && -r $file ]] || return 0
	# With IFS='=', "read" would take away a "=" at the end of a name.
	while IFS= read -r line; do
		key=${line%%=*} value=${line#*=}
		case $key in
		uuid) uuid=$value ;;
		member) [[ -z $value ]] || LEAVING+=("$value") ;;
		for) ((${#LEAVING[@]} == 0)) || REMOVALS_FOR[${LEAVING[-1]}]=$value ;;
		esac
	done <"$file"
	[[ $uuid == "$2" ]] || LEAVING=() REMOVALS_FOR=()
}

# removals_settle MEMBER…: compares the note with the disks that the configuration names. Gives each
# disk that takes another's place the name that it has there. If none of the names leads to it, the
# other disk stays: it goes from LEAVING to REMOVALS_KEPT.
removals_settle() {
	local disk left=() REPLY
	REMOVALS_KEPT=()
	for disk in "${LEAVING[@]}"; do
		if [[ -z ${REMOVALS_FOR[$disk]-} ]]; then
			left+=("$disk")
		elif disk_find_among "${REMOVALS_FOR[$disk]}" "$@"; then
			REMOVALS_FOR[$disk]=$REPLY left+=("$disk")
		else
			REMOVALS_KEPT+=("$disk")
		fi
	done
	LEAVING=("${left[@]}")
}

# removals_write NAME UUID [DISK…]: writes the note that removals_read reads; without a disk,
# deletes it. REMOVALS_FOR says what takes their places. Returns 1 when it can't be made durable.
removals_write() {
	local name=$1 uuid=$2
	shift 2
	if (($# == 0)); then
		[[ ! -e $STATE/$name.leaving ]] || act rm -f -- "$(removals_file "$name")"
		return
	fi
	act_file "$(removals_file "$name")" 644 removals_print_ "$name" "$uuid" "$@"
}
removals_print_() { # NAME UUID DISK…
	local disk
	printf "# Disks that leave the array when the others are in sync: \
\"ramraid apply %s\" goes on with that.\nuuid=%s\n" "$1" "$2"
	for disk in "${@:3}"; do
		printf 'member=%s\n' "$disk"
		[[ -z ${REMOVALS_FOR[$disk]-} ]] || printf 'for=%s\n' "${REMOVALS_FOR[$disk]}"
	done
}

# removals_has DISK: does LEAVING name it?
removals_has() {
	local disk
	for disk in "${LEAVING[@]}"; do [[ $disk != "$1" ]] || return 0; done
	return 1
}
