# The question that "adopt" asks before it changes anything. NAME, MEMBERS, HAND_MADE and ADOPT_…:
# see cmd/adopt.sh and observe/adoptable.sh.
# shellcheck shell=bash

need act/adoption config/conf core/cli core/log core/paths core/quantity decide/larger-blocks
need gate/dependents notes/witness-copy observe/adoptable observe/contents-blocks
need observe/lasting-names observe/ramdisk-makers world/disk world/md world/md-state world/ramdisk

declare -gA F # the facts: decide/facts.list

# adopt_ask: warns of what else makes ramdisks, says all that will be done to the array, and asks.
# Ends the program unless the answer is yes.
adopt_ask() {
	local users VALUE what
	lasting_names_tell "$NAME" "$ADOPT_MD"
	adopt_ask_makers_
	adopt_ask_copy_
	if [[ -n $ADOPT_STOPPED ]]; then
		adopt_ask_stopped_
		return
	fi
	users=$(disk_users "$ADOPT_MD")
	users=${users//$'\n'/, }
	log_printable users
	PLAN=("${MEMBERS[@]/#/disk leg: }")
	[[ ${CONF[RAM]} != /* ]] || PLAN+=("RAM leg: ${CONF[RAM]}")
	adopt_ask_ram_
	if [[ -n $HAND_MADE ]]; then
		what="/dev/$HAND_MADE, a ramdisk made by hand: leaves the array"
		PLAN+=("$what, and $(adoption_hand_made_fate "$HAND_MADE")")
		[[ ${CONF[RAM]} == none || -n $ADOPT_GROWS ]] ||
			PLAN+=("the RAM leg gets its slot; until it is in sync, reads come from \
the disks")
	elif [[ -n $ADOPT_KEPT ]]; then
		PLAN+=("/dev/$ADOPT_KEPT stays as the RAM leg, and does not count as a lasting \
copy. md compares the"
			'legs; if they differ, it is taken out and rebuilt from the disk legs')
	elif [[ ${CONF[RAM]} != /* ]]; then
		adopt_ask_fast_
		adopt_ask_slot_ "$(md_slots "$ADOPT_MD")"
	fi
	md_state_read "$ADOPT_MD" bitmap/backlog
	((${VALUE:-0} == 0 || ${F[conf.write_behind]} > 0)) ||
		PLAN+=("write-behind is on ($VALUE) and will be switched off: with it, fsync \
returns before"
			'a disk has the data, and a power cut loses that data')
	adopt_ask_blocks_
	adopt_ask_names_
	what="/dev/$ADOPT_MD (in use: $users) becomes the mirror \"$NAME\" with one leg in RAM."
	cli_confirm "$NAME" "$what Nothing is unmounted or overwritten."
}

# Which kind of ramdisk the array gets, and what it costs. The check has found out its size.
adopt_ask_ram_() {
	[[ -z $ADOPT_TAKES ]] || PLAN+=("RAM leg: $(ramdisk_plan "${CONF[RAM]}" "$ADOPT_TAKES")")
}

# A fast member can be a disk leg or the RAM leg: only the person who made the array knows whether
# it keeps its data.
adopt_ask_fast_() {
	local line LEGS leg bytes
	[[ ${CONF[RAM]} != none ]] || return 0
	md_state_members "$ADOPT_MD"
	for line in "${LEGS[@]}"; do
		leg=${line%% *}
		adoptable_is_fast "$leg" || continue
		bytes=$(md_state_leg_bytes "$ADOPT_MD") || return 0 # the check has said so
		PLAN+=("/dev/$leg, the fast one, becomes a disk leg, which is a lasting copy, and \
the RAM leg takes"
			"$(quantity_show_bytes "$bytes") of memory. To keep it as the RAM leg, \
which takes no memory but is no lasting copy:"
			"--ram=/dev/$leg. Always do that with an ephemeral disk")
	done
}

# No step here changes the block size of the running array. Programs that bypass the page cache see
# the new size.
adopt_ask_blocks_() {
	[[ -n $ADOPT_GROWS ]] || return 0
	PLAN+=("from its next start on, its blocks have 4096 bytes instead of $ADOPT_GROWS. What \
is on it can work with that:"
		"$(larger_blocks_what "${CONTENTS_BLOCKS[@]}")"
		"until then (ramraid stop $NAME; ramraid start $NAME; or a reboot) \
it runs on its disk legs, without a RAM leg"
		"programs that read and write it, or files on it, with O_DIRECT in pieces of less \
than 4096 bytes (some databases, disks of virtual machines) get errors from then on")
}

# Only the person who made the array knows whether a ramdisk had its free slot.
adopt_ask_slot_() { # SLOTS
	[[ -z $ADOPT_BEGUN ]] && (($1 > ${#MEMBERS[@]})) || return 0
	PLAN+=("the RAM leg takes the free slot; if a disk is missing, bring it back first")
}

# Warns of whatever would go on making ramdisks for it at each boot.
adopt_ask_makers_() {
	local i
	ramdisk_makers_find
	for ((i = 0; i < ${#RAMDISK_MAKERS[@]}; i++)); do
		log_warning "$NAME: expected nothing else that makes ramdisks, found \
${RAMDISK_MAKERS_FOUND[i]}. Do: ${RAMDISK_MAKERS_DO[i]}"
	done
}

# The record of the last run of an array with / is on its own disks.
adopt_ask_copy_() {
	[[ ${CONF[ROOT]} == yes && -n $ADOPT_MD ]] || return 0
	local -A F=([array.md]="$ADOPT_MD")
	witness_copy_find "${CONF[UUID]-}"
	[[ -n $WITNESS_COPY ]] ||
		log_warning "$NAME: if a boot finds only a stale disk of it, nobody notices: the \
record of the last run is on that disk, and there is no second copy elsewhere \
($WITNESS_COPY_WHY). Write WITNESS_COPY=FOLDER in $ETC/ramraid.conf, with a folder on a file \
system that is not on this array"
}

adopt_ask_names_() {
	local file number source new
	[[ -n ${OPT[fix_fstab]-} ]] || return 0
	while read -r file number source new; do
		PLAN+=("$file:$number: $source becomes $new; \
what was there is kept as $file.ramraid-old")
	done < <(((${#LASTING[@]} == 0)) || printf '%s\n' "${LASTING[@]}")
	[[ -n $ADOPT_STOPPED ]] || return 0
	while read -r file number _ source; do
		PLAN+=("$file:$number: $source becomes UUID=… when the array runs")
	done < <(dependents_numbered "$NAME" "$ADOPT_MD")
}

adopt_ask_stopped_() {
	PLAN=("${MEMBERS[@]/#/disk leg: }")
	adopt_ask_ram_
	adopt_ask_slot_ "$ADOPT_SLOTS"
	((${#ARGUMENTS[@]} == ${#MEMBERS[@]})) ||
		PLAN+=("it is started from ${ARGUMENTS[*]}; what only the other disks have is lost")
	[[ -z $ADOPT_MD ]] || adopt_ask_names_
	cli_confirm "$NAME" "This array is not running. It is started, and becomes the mirror \
\"$NAME\" with one leg in RAM."
}
