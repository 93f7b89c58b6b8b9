# How long the devices on an array may take to appear. The array's unit first waits for what it
# comes after (gate/rescue-mount.sh, gate/crypttab.sh, MEMBER): that counts too, so all is added up
# only when all arrays are known. Quick, and never fatal.
# shellcheck shell=bash

need config/conf core/act core/quantity core/text gate/dependents

declare -gA LIMIT_BOUNDS=()  # array → seconds that its own start may take, or "infinity"
declare -gA LIMIT_ALONE=()   # array → yes, if it may wait without end while the boot does not
declare -gA LIMIT_ENDLESS=() # mount → what limit_mount was told about it
declare -ga LIMIT_DEVICES=() # "ARRAY KIND DEVICE"

# limit_array NAME: notes the bounds of the array whose configuration has been loaded, together with
# the usual 90 s. The last answer is kept, because most arrays have the same bounds, and
# systemd-analyze takes a third of the time that an array costs here.
LIMIT_LAST='' LIMIT_OF=''
limit_array() {
	local seconds=() text bounds="${CONF[WAIT_TIMEOUT]} ${CONF[MEMBER_TIMEOUT]}"
	[[ $LIMIT_OF == "$bounds" ]] || {
		text=$(quantity_seconds "${CONF[WAIT_TIMEOUT]}" "${CONF[MEMBER_TIMEOUT]}") ||
			text=$'1800\n30'
		mapfile -t seconds < <(printf '%s\n' "$text")
		LIMIT_LAST=infinity LIMIT_OF=$bounds
		[[ "${seconds[*]}" == *infinity* ]] || LIMIT_LAST=$((seconds[0] + seconds[1] + 90))
	}
	LIMIT_BOUNDS[$1]=$LIMIT_LAST LIMIT_ALONE[$1]=''
	[[ $LIMIT_LAST != infinity ]] || LIMIT_ALONE[$1]=yes
}

# limit_leg NAME leg|patient: a disk leg is in a container that is opened at boot. A person may take
# any time to type a passphrase. When a container fails, the array's own time-out runs, and when the
# array fails, that ends what waits for the device. "patient": the boot does not wait for it.
limit_leg() {
	LIMIT_BOUNDS[$1]=infinity
	[[ $2 != patient ]] || LIMIT_ALONE[$1]=yes
}

limit_device() { LIMIT_DEVICES+=("$*"); } # NAME device|opened|beside UNIT

# limit_mount endless|unawaited UNIT: the mount may take any time, for a passphrase or for the check
# of a file system. "unawaited": the boot does not wait for it.
limit_mount() { LIMIT_ENDLESS[$2]+=" $1"; }

# limit_write FOLDER: writes the time-outs. Called after rescue_mount_write_saves, because it goes
# by what has been written. Returns 1 if a drop-in could not be written.
limit_write() {
	local line name kind unit seconds alone seen code=0
	local -A longest=()
	for line in "${LIMIT_DEVICES[@]}"; do
		text_into "$line" name kind unit
		limit_find_ "$1" "$name"
		# A passphrase may open it, and a container that fails fails its device by itself.
		[[ $kind != opened ]] || seconds=infinity
		# What is beside the array does not fail with it, so nothing else would end that.
		[[ $kind != beside || $seconds != infinity ]] || seconds=${LIMIT_BOUNDS[$name]}
		limit_is_longer_ || continue
		limit_put_ "$1/$unit.d" "$name" "$seconds" || code=1
	done
	return "$code"
}

# limit_is_longer_: are the caller's seconds the longest yet that its unit may take? It may be on
# several arrays, such as a volume, and then appears when the slowest has started. systemd would
# take the drop-in that is last in the alphabet, so there is only one.
limit_is_longer_() {
	local most=${longest[$unit]-0}
	[[ $most != infinity ]] && [[ $seconds == infinity || $seconds -gt $most ]] || return 1
	longest[$unit]=$seconds
}

# limit_holds_watcher FOLDER NAME: does mdadm's own monitor wait until this array's start is over?
# Not if that may wait without end while the boot does not: it looks after other arrays too.
limit_holds_watcher() {
	local seconds alone seen
	limit_find_ "$1" "$2"
	[[ -z $alone ]]
}

# limit_is_alone NAME: may the array whose configuration has been loaded wait without end while the
# boot does not, as far as its own configuration, fstab and crypttab say? For those who have no
# FOLDER.
limit_is_alone() {
	local kind
	limit_array "$1"
	while read -r kind _; do
		[[ $kind != @(patient|unawaited) ]] || LIMIT_ALONE[$1]=yes
	done < <(dependents_units "$1" "${CONF[UUID]}" 2>/dev/null)
	[[ -n ${LIMIT_ALONE[$1]} ]]
}

# limit_find_ FOLDER NAME: sets the caller's seconds to how long a device on the array may take, and
# its alone to yes if the array may wait without end while the boot does not.
limit_find_() { seconds=0 alone='' seen=' ' && limit_add_array_ "$@"; }

# limit_add_array_ FOLDER NAME: adds the array, and what its unit comes after. Each array counts
# once: only a person can have written a cycle of them, and it must end.
limit_add_array_() {
	local file line
	[[ $seen != *" $2 "* ]] || return 0
	seen+="$2 "
	limit_add_seconds_ "${LIMIT_BOUNDS[$2]-0}"
	[[ -z ${LIMIT_ALONE[$2]-} ]] || alone=yes
	for file in "$1/ramraid@$2.service.d"/50-{rescue,nested,witness}.conf; do
		[[ -e $file ]] || continue
		while IFS= read -r line; do
			[[ $line != After=* ]] || limit_add_unit_ "$1" "${line#After=}"
		done <"$file"
	done
}

limit_add_unit_() { # FOLDER UNIT
	local file unit=$2
	case $2 in
	ramraid@*.service)
		unit=${unit#ramraid@}
		limit_add_array_ "$1" "${unit%.service}"
		return
		;;
	esac
	[[ -z ${LIMIT_ENDLESS[$2]-} ]] || limit_add_seconds_ infinity
	[[ ${LIMIT_ENDLESS[$2]-} != *unawaited* ]] || alone=yes
	for file in "$1/$2.d"/50-ramraid-*.conf; do
		[[ -e $file ]] || continue
		file=${file##*/50-ramraid-}
		limit_add_array_ "$1" "${file%.conf}"
	done
}

limit_add_seconds_() { # SECONDS|infinity
	if [[ $1 == infinity ]]; then
		seconds=infinity
	elif [[ $seconds != infinity ]]; then
		seconds=$((seconds + $1))
	fi
}

# This name sorts before fstab-generator's 50-device-timeout.conf, so that the user's
# x-systemd.device-timeout= has the last word.
limit_put_() { # FOLDER NAME SECONDS
	act_put_folder "$1" &&
		act_put "$1/40-ramraid.conf" "# It appears when ramraid@$2.service has started the \
array, which may take as long as its own time-outs allow." \
			'[Unit]' "JobRunningTimeoutSec=$3"
}
