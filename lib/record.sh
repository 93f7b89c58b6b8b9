# What is written down of a running array, and when it must not be: who is in sync, in the witness; which array a start of ours has judged,
# in $RUN. How a witness looks is witness.sh's.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly RECORD_TRIES=3 RECORD_AGAIN=0.5 # how often a superblock is read that can't be, and seconds between
readonly RECORD_PATIENCE=5               # seconds after which it is not read again

# record_facts_ NODE: prints what sb_facts does. Asked again when there is no answer, or half a superblock: md may just be writing it, the disk may answer a
# moment later, and so may a machine without memory for one more process.
record_facts_() {
	local try facts NOW begin
	clock
	begin=$NOW
	for ((try = 1; try <= RECORD_TRIES; try++)); do
		facts=$(sb_facts "$DEV/$1") || facts=''
		[[ $facts != sb=@(ok|none)* ]] || break
		clock
		((try < RECORD_TRIES && NOW - begin < RECORD_PATIENCE)) || break
		sleep "$RECORD_AGAIN"
	done
	printf '%s\n' "$facts"
}

# A start of ours has judged the array that is running, and its monitor writes down every change of it from now on.
record_watched() {
	local MD_RUN
	md_run "${F[array.md]}"
	if [[ -n $MD_RUN ]]; then printf '%s\n' "$MD_RUN" >"$RUN/${F[name]}.watched"; else rm -f "$RUN/${F[name]}.watched"; fi
}

record_is_watched_() {
	local watched MD_RUN
	md_run "${F[array.md]}"
	{ read -r watched <"$RUN/${F[name]}.watched"; } 2>/dev/null && [[ $watched == "${MD_RUN:-none}" ]]
}

# record_joined_ UUID…: these disk legs are in sync in this run of the array, and no other. Whatever becomes of them while it runs, they were part of it;
# $RUN/NAME.joined names them, and those that have left, with the time at which that was seen (facts_joined_).
record_joined_() {
	local MD_RUN known=() i uuid before written
	[[ -z $DRY_RUN ]] || return 0
	md_run "${F[array.md]}"
	[[ -n $MD_RUN ]] || return 0
	written=" $* $(record_recovering_)"
	! [[ -e $RUN/${F[name]}.joined ]] || mapfile -t known <"$RUN/${F[name]}.joined"
	before=${known[*]-}
	[[ ${known[0]-} == "$MD_RUN" ]] || known=("$MD_RUN")
	for ((i = 1; i < ${#known[@]}; i++)); do
		uuid=${known[i]%% *}
		if [[ $written == *" $uuid "* ]]; then
			known[i]=$uuid
		elif [[ ${known[i]} == "$uuid" ]]; then
			known[i]+=" $EPOCHSECONDS"
		fi
	done
	for uuid; do [[ " ${known[*]} " == *" $uuid "* ]] || known+=("$uuid"); done
	[[ ${known[*]} == "$before" ]] || { printf '%s\n' "${known[@]}" >"$RUN/${F[name]}.joined.new" && mv -f "$RUN/${F[name]}.joined.new" "$RUN/${F[name]}.joined"; } ||
		log_warning "${F[name]}: $RUN/${F[name]}.joined can't be written; a disk that leaves may not be put back by itself"
}

# record_recovering_: prints the device UUIDs of the disk legs that md is rebuilding, and so writes to, each with a blank after it.
record_recovering_() {
	local i facts
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == recovering ]] || continue
		facts=$(record_facts_ "${F[leg.$i.node]}")
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] || printf '%s ' "${BASH_REMATCH[1]}"
	done
}

# record_free_slot: before md gives a disk a free slot: that may be the one that the RAM leg had.
record_free_slot() {
	[[ ${F[ram.slot]} =~ ^[0-9]+$ ]] || F[witness.ram_slot]=''
	record_write
}

# record_rejoins UUID: md has it in the array again, and writes to it; should it leave before anybody looks, it is not from elsewhere that it has that.
record_rejoins() {
	[[ -n $1 && -e $RUN/${F[name]}.joined ]] || return 0
	sed -i "s/^$1 .*/$1/" "$RUN/${F[name]}.joined" || log_warning "${F[name]}: $RUN/${F[name]}.joined can't be written"
}

# Before anything is done: if something else has started the array, was any of its legs in sync when it last ran? (array.known; also yes when nothing is
# written down; unread when none of its legs can be read) What a start of ours has gone through before is known, whatever has become of its legs since.
record_first_look() {
	local i facts disks=no other=no
	F[array.known]=yes
	[[ ${F[array.state]} == active ]] || record_last_copy_
	[[ ${F[array.state]} == active && -n ${F[witness.events]}${F[witness.was]-}${F[witness.given]-} ]] || return 0
	! record_is_watched_ || return 0
	if [[ -n ${F[witness.events]} && -z ${F[witness.legs]} ]]; then
		# Only the RAM leg was good: whoever started the disks without it, did so without what it had.
		[[ ${F[ram.state]} == in_sync ]] || F[array.known]=no
		return 0
	fi
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || continue
		disks=yes
		facts=$(record_facts_ "${F[leg.$i.node]}")
		[[ $facts =~ device_uuid=([0-9a-f-]+) ]] || continue
		! record_vouches_ "${BASH_REMATCH[1]}" || return 0
		other=yes
	done
	[[ $disks == no || $other == yes ]] || F[array.known]=unread
	[[ $other == no ]] || F[array.known]=no
	# A ramdisk can't have been started without the disks; a device can, after it had left them.
	[[ $disks == yes || -z ${F[leg.ram.dev]-} || -z ${F[witness.events]} || ${F[ram.state]} != in_sync ]] || F[array.known]=no
}

# record_vouches_ UUID: was this disk leg in sync when the array last ran? With a void record: when it was written last. Without any: all were, but those that a
# person has given up.
record_vouches_() {
	local legs="${F[witness.legs]}${F[witness.was]-}"
	if [[ -n ${F[witness.events]}$legs ]]; then [[ " $legs " == *" $1 "* ]]; else [[ " ${F[witness.given]-} " != *" $1 "* ]]; fi
}

# record_last_copy_: somebody may have stopped the array within the seconds after it had lost its disk legs, before that was written down. A ramdisk that is
# there still says it itself: complete, further than the record, and no disk leg active. The facts of the record become that, whether it can be written or not.
record_last_copy_() {
	local key value
	local -A says=()
	[[ ${F[ram.state]} == attached && -z ${F[rescue.image]-} ]] && ram_is_node "${F[ram.node]}" || return 0
	while IFS='=' read -r key value; do says[$key]=$value; done < <(record_facts_ "${F[ram.node]}")
	[[ ${says[sb]-} == ok && ${says[uuid]-} == "${F[uuid]}" && ${says[role]-} =~ ^[0-9]+$ && -z ${says[recovery]-} ]] || return 0
	[[ ${says[view]:0:says[role]}${says[view]:says[role]+1} != *A* ]] && ((says[events] > ${F[witness.events]:-0})) || return 0
	log_warning "${F[name]}: the ramdisk ${F[ram.node]} was the only good copy when the array was stopped; its record did not say so yet"
	witness_write "${F[name]}" "${F[uuid]}" "${says[events]}" "${says[role]}" || record_take_back_ || :
	F[witness.left]=${F[witness.legs]:-${F[witness.left]-}} F[witness.legs]='' F[witness.events]=${says[events]} F[witness.ram_slot]=${says[role]}
}

# record_write: writes down who is in sync, with the event count that they carry now: the disk legs; without any, that it is the RAM leg
# alone. Not for an array that something else has started from old legs: that would be taken for the truth ever after. Returns 1, after
# saying so, when it could not be written; 0 also when there is nothing to write.
record_write() {
	local events legs slot good=0
	[[ ${F[array.state]} == active ]] || return 0
	[[ ${F[array.known]-} == @(yes|no) ]] || record_first_look
	# Half restored: the record of the rescue image keeps it from being started.
	[[ ${F[array.known]} == yes || -z ${F[rescue.image]-} ]] || return 0
	[[ ${F[array.known]} != no ]] || {
		log_error "${F[name]}: something else has started ${F[array.md]}, from legs that were not in sync when it last ran; that is not written down"
		return 0
	}
	[[ ${F[array.known]} != yes ]] || record_members_
	if [[ ${F[array.known]} == yes ]] && ((good == 0)); then
		[[ ${F[ram.state]} == in_sync ]] || return 0
		events=$(record_ram_events)
	fi
	# Disk legs that are in sync but can't be read must not look like none.
	if [[ ${F[array.known]} == unread || -z $events ]] || ((good > 0 && ${#legs[@]} == 0)); then
		log_error "${F[name]}: no superblock of a leg in sync could be read"
		record_take_back_
		return
	fi
	WITNESS_ALSO=''
	[[ -z ${F[leg.ram.dev]-} || ${F[ram.state]} != in_sync ]] || WITNESS_ALSO=$(record_device_uuid_)
	slot=${F[ram.slot]}
	[[ $slot =~ ^[0-9]+$ ]] || slot=${F[witness.ram_slot]}
	witness_write "${F[name]}" "${F[uuid]}" "$events" "$slot" "${legs[@]}" || {
		record_take_back_
		return
	}
	record_joined_ "${legs[@]}"
	record_members_now_
	RECORD_WRITTEN=$RECORD_NOW
}

# record_witness: the same, for those who go on without it: that it is said has to do.
record_witness() { record_write || :; }

# record_if_changed: record_witness, unless the legs in sync are those that this program has written down last. For the moment before the gate opens,
# when all that matters is that no leg is named that has left: event counts follow with the next record.
RECORD_WRITTEN='' RECORD_NOW=''
record_if_changed() {
	record_members_now_
	[[ $RECORD_NOW == "$RECORD_WRITTEN" ]] || record_witness
}

record_members_now_() {
	local i
	RECORD_NOW="${F[name]} ${F[array.md]} ${F[ram.slot]-}"
	for ((i = 0; i < ${F[members]}; i++)); do [[ ${F[leg.$i.state]} != in_sync ]] || RECORD_NOW+=" ${F[leg.$i.node]}"; done
}

# Sets the caller's events and legs (device UUIDs) to what the disk legs in sync carry now, and good to how many are in sync.
record_members_() {
	local i key value
	events=0 legs=()
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || continue
		good=$((good + 1))
		while IFS='=' read -r key value; do
			case $key in
			device_uuid) legs+=("$value") ;;
			events) ((value <= events)) || events=$value ;;
			esac
		done < <(record_facts_ "${F[leg.$i.node]}")
	done
}

# There is no new witness: an old one would vouch for legs that may have left since. Returns 1.
record_take_back_() {
	RECORD_WRITTEN=''
	if witness_void "${F[name]}" "${F[uuid]}"; then
		log_error "${F[name]}: the record $STATE/${F[name]}.witness vouches for no disk leg now; a start may be refused until it can be written"
	elif rm -f "$STATE/${F[name]}.witness" 2>/dev/null; then
		log_error "${F[name]}: could not write $STATE/${F[name]}.witness; a start with a disk leg missing will be refused until it can be written"
	else
		log_error "${F[name]}: can neither write nor delete $STATE/${F[name]}.witness: do not start this array with a disk leg missing before that is mended"
	fi
	return 1
}

# Of the device that is the RAM leg: a start without it, that gives up the others, has to give it up as well.
record_device_uuid_() {
	local key value
	while IFS='=' read -r key value; do [[ $key != device_uuid ]] || printf '%s\n' "$value"; done < <(record_facts_ "${F[ram.node]}")
}

# The event count in the RAM leg's superblock.
record_ram_events() {
	local key value
	while IFS='=' read -r key value; do [[ $key != events ]] || printf '%s\n' "$value"; done < <(record_facts_ "${F[ram.node]}")
}

record_give_up_one_() { # LEG NODE…
	if [[ " ${*:2} " == *" ${F[leg.$1.node]:-none} "* ]]; then
		started+=" ${F[leg.$1.device_uuid]}"
	else
		WITNESS_GIVE_UP+=" ${F[leg.$1.device_uuid]}"
	fi
}

# record_give_up NODE…: the legs that were ever in sync, or are here, and are none of those that the array is started from: written down with the
# next witness.
record_give_up() {
	local i started=''
	WITNESS_GIVE_UP="${F[witness.legs]} ${F[witness.left]-} ${F[witness.seen]-}"
	for ((i = 0; i < ${F[members]}; i++)); do record_give_up_one_ "$i" "$@"; done
	[[ -z ${F[leg.ram.dev]-} || ${F[leg.ram.uuid]} != "${F[uuid]}" ]] || record_give_up_one_ ram "$@"
	for i in $started; do WITNESS_GIVE_UP=${WITNESS_GIVE_UP//"$i"/}; done
}
