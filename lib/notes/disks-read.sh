# What the superblocks of the machine's devices said a short time ago: LOCKS/disks. Each start has
# to know which other devices carry its array's UUID, and at boot all starts begin together. What
# one start has read since another began is as new as what the other would read, so the other need
# not read it again. A line is "HUNDREDTHS NUMBER UUID DEVICE_UUID EVENTS": when the reading began,
# in hundredths of a second since boot; the device, as legs_seen_number gives it, so that a later
# device of the same name does not match; and what is on it, "- - -" for no superblock. A device
# that has no number, or could not be read, has no line.
# shellcheck shell=bash

need core/act core/clock core/lock core/log core/paths notes/legs-seen

declare -gA DISKS_READ=()
readonly DISKS_READ_PATIENCE=60 # seconds for another start that reads
readonly DISKS_READ_LINE='^[1-9][0-9]{0,15} [A-Za-z0-9!._-]+:[0-9]+ [0-9a-f-]+ [0-9a-f-]+ [0-9-]+$'

# disks_read_begin SECONDS: waits until no other start is reading, and fills DISKS_READ with what
# was read in the last SECONDS, which is how long ago this start began. The other starts wait until
# disks_read_end. Without a lock nothing counts as known, and this start reads everything.
disks_read_begin() {
	local line lines=() since HUNDREDTHS
	DISKS_READ=() DISKS_READ_LOCK=''
	clock_hundredths
	# SECONDS is in whole seconds: the start may have begun up to one second later.
	since=$((HUNDREDTHS - $1 * 100 + 100))
	[[ -z $DRY_RUN && $HUNDREDTHS != 0 ]] || return 0
	paths_run || return 0
	lock_take DISKS_READ_LOCK "$LOCKS/disks-read" --timeout "$DISKS_READ_PATIENCE" || return 0
	clock_hundredths
	DISKS_READ_NOW=$HUNDREDTHS
	{ mapfile -t lines <"$LOCKS/disks"; } 2>/dev/null || :
	for line in "${lines[@]}"; do
		[[ $line =~ $DISKS_READ_LINE ]] || continue
		((${line%% *} < since || ${line%% *} > HUNDREDTHS)) ||
			disks_read_keep_ "${line#* }" "${line%% *}"
	done
}

disks_read_keep_() { DISKS_READ[${1%% *}]="$2 ${1#* }"; } # LINE WHEN

# disks_read_known NODE: sets KNOWN to "UUID DEVICE_UUID EVENTS", as it was read; returns 1 when it
# was not.
disks_read_known() {
	local NUMBER
	((${#DISKS_READ[@]} > 0)) || return 1
	legs_seen_number "$1"
	KNOWN=${DISKS_READ[${NUMBER:-none}]-} KNOWN=${KNOWN#* }
	[[ -n $KNOWN ]]
}

# disks_read_note NODE WORDS: notes what disks_read_known is to say about the device.
disks_read_note() {
	local NUMBER
	[[ -n ${DISKS_READ_LOCK-} ]] || return 0
	legs_seen_number "$1"
	[[ -z $NUMBER || -n ${DISKS_READ[$NUMBER]-} ]] ||
		disks_read_keep_ "$NUMBER $2" "$DISKS_READ_NOW"
}

disks_read_end() {
	local number lines=()
	[[ -n ${DISKS_READ_LOCK-} ]] || return 0
	for number in "${!DISKS_READ[@]}"; do
		lines+=("${DISKS_READ[$number]%% *} $number ${DISKS_READ[$number]#* }")
	done
	# If it can't be written, the other starts read the devices themselves.
	((${#lines[@]} == 0)) || act_put "$LOCKS/disks" "${lines[@]}" || :
	exec {DISKS_READ_LOCK}>&-
	DISKS_READ=() DISKS_READ_LOCK=''
}
