# How an array became ours, and how it stops being ours, beside the witness. One note says what the
# array was before "ramraid adopt", so that "ramraid release" can restore that; it is written before
# anything is changed. The other says that a "release" or a "destroy" has begun to take away what is
# ours, since the configuration may be gone before that has finished.
# shellcheck shell=bash

need core/paths

adopted_file() { printf '%s/%s.adopted\n' "$STATE" "$1"; } # NAME

# adopted_read NAME: sets ADOPTED (uuid; bitmap: none or internal; done: yes or no; ramdisk: the one
# that was made by hand, in the form of observe/hand-made.sh, or nothing; refill: the device UUID of
# the device that is kept as the RAM leg, until it has been taken out to be filled in full),
# ADOPTED_WRITEMOSTLY (stable names of the disks that were write-mostly before) and ADOPTED_MEMBERS
# (those of all its disks then). Returns 1, with all empty, when there is no note.
declare -gA ADOPTED=()
declare -ga ADOPTED_WRITEMOSTLY=() ADOPTED_MEMBERS=()
adopted_read() {
	local line key value file=$STATE/$1.adopted
	adopted_none
	[[ -f $file && -r $file ]] || return 1
	# With IFS='=', "read" would take away a "=" at the end of a name.
	while IFS= read -r line; do
		key=${line%%=*} value=${line#*=}
		case $key in
		uuid | bitmap | ramdisk | refill | done) ADOPTED[$key]=$value ;;
		writemostly) ADOPTED_WRITEMOSTLY+=("$value") ;;
		member) ADOPTED_MEMBERS+=("$value") ;;
		esac
	done <"$file"
}
adopted_none() { ADOPTED=() ADOPTED_WRITEMOSTLY=() ADOPTED_MEMBERS=(); }

# adopted_write NAME: writes the note from the variables that adopted_read sets. Returns 1 when it
# can't be made durable.
adopted_write() {
	need core/act
	act_file "$(adopted_file "$1")" 644 adopted_print_
}
adopted_print_() {
	local key disk
	printf "# What \"ramraid release\" makes of the array: after \"ramraid adopt\", \
what it was before.\n"
	for key in uuid bitmap 'done'; do printf '%s=%s\n' "$key" "${ADOPTED[$key]}"; done
	for key in ramdisk refill; do
		[[ -z ${ADOPTED[$key]-} ]] || printf '%s=%s\n' "$key" "${ADOPTED[$key]}"
	done
	for disk in "${ADOPTED_WRITEMOSTLY[@]}"; do printf 'writemostly=%s\n' "$disk"; done
	for disk in "${ADOPTED_MEMBERS[@]}"; do printf 'member=%s\n' "$disk"; done
}

adopted_releasing_file() { printf '%s/%s.releasing\n' "$STATE" "$1"; } # NAME

# adopted_releasing_read NAME: sets RELEASING to the verb that has begun but not finished, release
# or destroy; to nothing when there is none.
adopted_releasing_read() {
	local text='' file=$STATE/$1.releasing
	RELEASING=''
	[[ -e $file ]] || return 0
	RELEASING=release
	{ IFS= read -r text <"$file"; } 2>/dev/null || :
	[[ $text != *'"ramraid destroy"'* ]] || RELEASING=destroy
}
