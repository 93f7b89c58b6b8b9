# The note of the disks that are to leave an array, beside the witness. They stay in the
# configuration until the others are in sync without them, so that every boot in between starts from
# all that is good. The note tells them from the disks that stay.
# shellcheck shell=bash

need core/act core/paths

removals_file() { printf '%s/%s.leaving\n' "$STATE" "$1"; } # NAME

# removals_read NAME UUID: sets LEAVING to the names of the disks that are to leave; to none when
# there is no note, or one about another array.
removals_read() {
	local line key value uuid='' file=$STATE/$1.leaving
	LEAVING=()
	[[ -f $file && ! -L $file && -r $file ]] || return 0
	# With IFS='=', "read" would take away a "=" at the end of a name.
	while IFS= read -r line; do
		key=${line%%=*} value=${line#*=}
		case $key in
		uuid) uuid=$value ;;
		member) LEAVING+=("$value") ;;
		esac
	done <"$file"
	[[ $uuid == "$2" ]] || LEAVING=()
}

# removals_write NAME UUID [DISK…]: writes the note that removals_read reads; without a disk,
# deletes it. Returns 1 when it can't be made durable.
removals_write() {
	local name=$1 uuid=$2
	shift 2
	if (($# == 0)); then
		[[ ! -e $STATE/$name.leaving ]] || act rm -f -- "$(removals_file "$name")"
		return
	fi
	{
		printf "# Disks that leave the array when the others are in sync: \
\"ramraid apply %s\" goes on with that.\nuuid=%s\n" "$name" "$uuid"
		printf 'member=%s\n' "$@"
	} | act_file "$(removals_file "$name")"
}

# removals_has DISK: does LEAVING name it?
removals_has() {
	local disk
	for disk in "${LEAVING[@]}"; do [[ $disk != "$1" ]] || return 0; done
	return 1
}
