# ramraid replace: replaces a disk leg with another disk, while the array is in use.
# shellcheck shell=bash

need act/array-lock act/membership act/transitions act/witness-update config/conf config/conf-edit
need core/cli core/log core/paths notes/removals observe/before-look observe/facts world/disk-find
need world/stable-name world/superblock

declare -gA F # the facts: decide/facts.list

readonly REPLACE_USAGE='usage: ramraid replace [--force] [--yes] [--dry-run] NAME OLD [NEW]

Replace the disk leg OLD by the disk NEW. ramraid builds NEW into the running array beside OLD,
write-mostly. When all are in sync, it takes OLD out, makes the superblock of OLD invalid, and
changes the MEMBER line. At no time are there fewer good copies than before, and the array stays in
use. If OLD is gone or has failed, NEW takes its place.
Without NEW: a blank disk has appeared under the very name OLD (in the same slot of the machine,
say), and ramraid builds it in.
If replace is interrupted, type it again.
  --force        overwrite what is on NEW; and take it though anybody can plug it in or make it up
                 (USB, loop, network), and no leg was on such a bus
  -y, --yes      do not ask
  -n, --dry-run  print the plan, change nothing'

cmd_replace() {
	cli_parse "$REPLACE_USAGE" 'force yes dry-run' "$@"
	((${#ARGS[@]} == 2 || ${#ARGS[@]} == 3)) ||
		cli_usage "$REPLACE_USAGE" "expected a name, a disk leg, and the disk that takes \
its place, if that has another name"
	cli_root
	paths_run
	NAME=${ARGS[0]}
	replace_look "$NAME" "${ARGS[@]:1}"
	membership_ask "$NAME"
	array_lock_first "$NAME" 5
	replace_look "$NAME" "${ARGS[@]:1}"
	membership_check "$NAME"
	replace_begin "$NAME"
	membership_all "$NAME" "ramraid replace${OPT[force]:+ --force} $NAME ${ARGS[*]:1}"
	transitions_end "$NAME"
}

# replace_look NAME OLD [NEW]: sets REPLACE_OLD and REPLACE_NEW to their stable names, and the facts
# to those of the array as it should become.
replace_look() {
	membership_look "$1"
	((${#MEMBERSHIP_STRANGERS[@]} == 0)) ||
		die "$1: ${MEMBERSHIP_STRANGERS[*]}: is in the array and is no MEMBER. First \
correct that: ramraid apply --dry-run $1" "$EX_REFUSED"
	(($# == 3)) || {
		replace_same_name_ "$@"
		return
	}
	replace_name_ "$2" && REPLACE_OLD=$REPLY || REPLACE_OLD=$2
	if replace_name_ "$3"; then
		REPLACE_NEW=$REPLY
		[[ $REPLACE_OLD != "$REPLACE_NEW" ]] ||
			die "$1: $2 and $3 are the same disk. If it is a new disk under the name \
of the old one: ramraid status $1 says how to build it in" "$EX_USAGE"
		replace_known_ "$1"
	else
		replace_new_ "$1" "$3"
	fi
	[[ " ${MEMBERS[*]} ${LEAVING[*]} " == *" $REPLACE_OLD "* ||
		" ${MEMBERS[*]} " == *" $REPLACE_NEW "* ]] ||
		die "$1: $2 is no MEMBER of it in $ETC/$1.conf; its disks are: ${MEMBERS[*]}" \
			"$EX_USAGE"
	replace_other_ "$1"
	[[ -z ${OPT[force]-} ]] || MEMBERSHIP_FORCE=$REPLACE_NEW
	replace_facts_ "$1"
}

# An earlier run has chosen another disk to take the place of OLD.
replace_other_() { # NAME
	local other=''
	! removals_has "$REPLACE_OLD" || other=${REMOVALS_FOR[$REPLACE_OLD]-}
	[[ -z $other || $other == "$REPLACE_NEW" ]] ||
		die "$1: $other already takes the place of $REPLACE_OLD. To go on with that: \
ramraid apply $1; to take $REPLACE_NEW in its place: ramraid replace $1 $other $REPLACE_NEW" \
			"$EX_REFUSED"
}

# replace_same_name_ NAME DISK: for a new disk that has the name of the one that it replaces, so
# that the configuration stays as it is.
replace_same_name_() {
	local i
	((${#LEAVING[@]} == 0)) ||
		die "$1: ${LEAVING[*]} has not left yet. First finish that: ramraid apply $1" \
			"$EX_REFUSED"
	replace_name_ "$2" ||
		die "$1: $2 is no MEMBER of it in $ETC/$1.conf; its disks are: ${MEMBERS[*]}. To \
replace one of these by it: ramraid replace $1 OLD $2" "$EX_USAGE"
	REPLACE_OLD=$REPLY REPLACE_NEW=$REPLY
	[[ -z ${OPT[force]-} ]] || MEMBERSHIP_FORCE=$REPLACE_NEW
	replace_observe_ "$1"
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.dev]} != "$REPLACE_NEW" ]] || break
	done
	[[ -n ${F[leg.$i.node]} ]] ||
		die "$1: there is no disk $REPLACE_NEW. Put the new one in its place; or, if that \
has another name: ramraid replace $1 $REPLACE_NEW NEW" "$EX_INACTIVE"
	case ${F[leg.$i.state]}:${F[leg.$i.kind]} in
	in_sync:*)
		log_notice "$1: nothing to do: $REPLACE_NEW is in the array, and in sync. To \
replace it by another disk: ramraid replace $1 $REPLACE_NEW NEW"
		exit "$EX_OK"
		;;
	:returned | :removed)
		die "$1: $REPLACE_NEW is the disk that was there before. To put it back: \
ramraid attach $1" "$EX_REFUSED"
		;;
	esac
}

# replace_name_ PATH: sets REPLY to the name that the configuration, or the note, has for that disk;
# returns 1 when neither has it.
replace_name_() { disk_find_among "$1" "${MEMBERS[@]}" "${LEAVING[@]}"; }

# NEW is a member already: an earlier run has come that far, or the user now wants it the other way
# round. Otherwise the array has that disk anyway.
replace_known_() { # NAME
	local i
	removals_has "$REPLACE_NEW" || removals_has "$REPLACE_OLD" ||
		[[ " ${MEMBERS[*]} " == *" $REPLACE_OLD "* ]] || {
		replace_done_ "$1"
		return
	}
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.dev]} == "$REPLACE_NEW" && ${F[leg.$i.state]} == in_sync ]] ||
			continue
		removals_has "$REPLACE_NEW" || removals_has "$REPLACE_OLD" ||
			die "$1: $REPLACE_NEW is in the array already. To take only $REPLACE_OLD \
out: delete its MEMBER line, then: ramraid apply $1" "$EX_REFUSED"
	done
}

# OLD is no disk leg, and NEW is one: an earlier run has finished, or somebody has confused the two.
replace_done_() { # NAME
	local i
	replace_is_old_ && return
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.dev]} == "$REPLACE_NEW" && ${F[leg.$i.state]} == in_sync ]] ||
			continue
		log_notice "$1: nothing to do: $REPLACE_NEW is a disk leg of it already, and \
$REPLACE_OLD is not. The order is: ramraid replace $1 OLD NEW"
		return
	done
	die "$1: $REPLACE_OLD is no disk leg of it, and $REPLACE_NEW is one that is not in sync. \
The order is: ramraid replace $1 OLD NEW" "$EX_USAGE"
}

replace_new_() { # NAME DISK
	disk_find "$2" || die "$1: there is no block device $2" "$EX_INACTIVE"
	stable_name_tell_shared "$2" || die "$1: nothing was changed" "$EX_REFUSED"
	REPLACE_NEW=$(stable_name_of "$2") ||
		die "$1: $2 has no stable name below /dev/disk (no serial number?); \
use a partition, which has one by its PARTUUID" "$EX_REFUSED"
}

# Sets the facts as if the configuration and the note already said what is wanted.
replace_facts_() { # NAME
	local disk left=()
	[[ " ${MEMBERS[*]} " == *" $REPLACE_NEW "* ]] || MEMBERS+=("$REPLACE_NEW")
	for disk in "${LEAVING[@]}"; do [[ $disk == "$REPLACE_NEW" ]] || left+=("$disk"); done
	LEAVING=("${left[@]}")
	# A disk that has no line any more may still have its superblock.
	removals_has "$REPLACE_OLD" || ! replace_is_old_ || LEAVING+=("$REPLACE_OLD")
	# What OLD was to replace, NEW replaces.
	for disk in "${LEAVING[@]}"; do
		[[ ${REMOVALS_FOR[$disk]-} != "$REPLACE_OLD" ]] || REMOVALS_FOR[$disk]=$REPLACE_NEW
	done
	REMOVALS_FOR[$REPLACE_OLD]=$REPLACE_NEW
	replace_observe_ "$1"
}

replace_observe_() { # NAME
	before_look_configured "$1"
	before_look_times || F[conf.member_timeout]=30
	facts_observe
	witness_update_foreign_start
	membership_facts "$1"
}

replace_is_old_() {
	local NODE
	[[ " ${MEMBERS[*]} " != *" $REPLACE_OLD "* ]] || return 0
	disk_find "$REPLACE_OLD" &&
		[[ $(superblock_facts "$DEV/$NODE") == sb=ok$'\n'uuid="${CONF[UUID]}"$'\n'* ]]
}

# The new line is written before the note: a note alone would make OLD leave without a replacement.
replace_begin() { # NAME
	{
		conf_edit_members "$1" "${MEMBERS[@]}" &&
			removals_write "$1" "${CONF[UUID]}" "${LEAVING[@]}"
	} ||
		die "$1: $ETC/$1.conf or $(removals_file "$1") could not be written; \
the disks are as before. When that is fixed, type this again, or delete the MEMBER line of the new \
disk"
	membership_look "$1"
}
