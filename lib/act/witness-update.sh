# What is written down of a running array, and when it must not be: who is in sync, in the witness;
# which array a start of ours has judged, in $RUN. How a witness looks is notes/witness.sh's.
# shellcheck shell=bash

need act/witness-called act/witness-take-back core/act core/log core/paths decide/health
need notes/hardware notes/legs-seen notes/old-name notes/witness observe/all-disks
need observe/before-look observe/complete-legs observe/disks-lack observe/facts observe/members
need observe/outside world/md-state world/ramdisk-note world/superblock

declare -gA F # the facts: decide/facts.list
readonly WITNESS_UPDATE_TRIES=3

# witness_update_free_slot: before md gives a disk a free slot: that may be the one that the RAM leg
# had, and the last one that was free.
witness_update_free_slot() {
	if [[ ${F[ram.slot]} =~ ^[0-9]+$ ]]; then
		witness_update '' filling
	else witness_update no-ram-slot filling; fi
}

# Before anything is done: if something else has started the array, was any of its legs in sync when
# it last ran, and is it no older now than it was then? (array.known; also yes when nothing is
# written down; unread when none of its legs can be read) And may each be started from, as a leg
# outside has to, by the hardware that it is on, and as one that was not given up (array.unfit)?
# What a start of ours has gone through before is known, whatever has become of its legs since.
witness_update_foreign_start() {
	local node facts uuid disks=no other=no vouched=no NODES MD_RUN
	witness_update_run
	F[array.judged]=$MD_RUN F[array.known]=yes F[array.unfit]=''
	# Of a copy that runs under the name of a leg nothing is written down: it would be taken for
	# the leg ever after.
	if [[ ${F[array.state]} == active ]]; then
		all_disks_running
	else
		witness_update_last_copy_
	fi
	[[ -z ${F[array.copy]-} ]] || {
		F[array.known]=no
		return 0
	}
	[[ ${F[array.state]} == active &&
		-n ${F[witness.events]}${F[witness.was]-}${F[witness.given]-} ]] || return 0
	! legs_seen_is_watched "${F[array.md]}" || return 0
	if [[ -n ${F[witness.events]} && -z ${F[witness.legs]} ]]; then
		# Only the RAM leg was good: whoever started the disks without it, did so without
		# what it had.
		[[ ${F[ram.state]} == in_sync ]] &&
			witness_update_is_as_far_ "$(superblock_says "${F[ram.node]}" events)" ||
			F[array.known]=no
		return 0
	fi
	members_in_sync
	for node in "${NODES[@]}"; do
		disks=yes
		facts=$(superblock_facts_patiently "$node")
		uuid=unread
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] || uuid=${BASH_REMATCH[1]}
		witness_update_unfit_ "$uuid" "$node"
		[[ -z ${F[array.unfit]} ]] || {
			F[array.known]=no
			return 0
		}
		[[ $uuid != unread ]] || continue
		if witness_update_vouches_ "$uuid" "$facts"; then vouched=yes; else other=yes; fi
	done
	[[ $vouched == no ]] || return 0
	[[ $disks == no || $other == yes ]] || F[array.known]=unread
	[[ $other == no ]] || F[array.known]=no
	# A ramdisk can't have been started without the disks; a device can, after it had left them.
	[[ $disks == yes || -z ${F[leg.ram.dev]-} || -z ${F[witness.events]} ||
		${F[ram.state]} != in_sync ]] || F[array.known]=no
}

# witness_update_unfit_ UUID NODE: sets array.unfit if this member in sync is one from which no
# start of ours would start.
witness_update_unfit_() {
	local HARDWARE_MOVED HARDWARE_ALIEN
	hardware_compare "$1" "$2"
	# Perhaps a copy, whatever it says of itself; md reads from it, too.
	[[ -z $HARDWARE_ALIEN ]] ||
		F[array.unfit]="/dev/$2, which may be a copy of a leg: $HARDWARE_MOVED"
	# md joins legs that were used without each other, if their counts are the same.
	[[ " ${F[witness.given]-} " != *" $1 "* ]] ||
		F[array.unfit]="/dev/$2, which a start without it has given up"
}

# witness_update_run: sets MD_RUN to the run of the array, and to nothing when it does not run.
witness_update_run() {
	MD_RUN=''
	[[ ${F[array.state]} != active ]] || md_state_run "${F[array.md]}"
}

# witness_update_vouches_ UUID FACTS: was this disk leg in sync when the array last ran, and has it,
# by the facts of its superblock, not been put back to an older state since? With a void record:
# was it when that was written last. Without any: all were, but those that a person has given up.
witness_update_vouches_() {
	local legs="${F[witness.legs]}${F[witness.was]-}" events=$'\nevents=([0-9]+)'
	if [[ -z ${F[witness.events]}$legs ]]; then
		[[ " ${F[witness.given]-} " != *" $1 "* ]]
		return
	fi
	[[ " $legs " == *" $1 "* && $2 =~ $events ]] &&
		witness_update_is_as_far_ "${BASH_REMATCH[1]}"
}

# witness_update_is_as_far_ EVENTS: has what carries so many events all that the array had when it
# was last written down? One less is md's own half step.
witness_update_is_as_far_() {
	[[ -n $1 ]] && (($1 + 1 >= ${F[witness.events]:-0}))
}

# witness_update_last_copy_ [again]: somebody may have stopped the array within the seconds after it
# had lost its disk legs, before that was written down. A ramdisk that is there still says it
# itself: complete, further than the record, and no disk leg active. Or md had kept disk legs in
# sync that lack blocks, which is in no record at all. The facts of the record become that, whether
# it can be written or not.
witness_update_last_copy_() {
	local key value
	local -A says=()
	[[ ${F[ram.state]} == attached && -z ${F[rescue.image]-} ]] &&
		ramdisk_note_is_node "${F[ram.node]}" || return 0
	while IFS='=' read -r key value; do
		says[$key]=$value
	done < <(superblock_facts_patiently "${F[ram.node]}")
	[[ ${says[sb]-} == ok && ${says[uuid]-} == "${F[uuid]}" && ${says[role]-} =~ ^[0-9]+$ &&
		-z ${says[recovery]-} ]] || return 0
	{
		[[ ${says[view]:0:says[role]}${says[view]:says[role]+1} != *A* ]] &&
			((says[events] > ${F[witness.events]:-0}))
	} || disks_lack_when_stopped "${says[events]}" || return 0
	log_warning "${F[name]}: the ramdisk ${F[ram.node]} was the only good copy when the array \
was stopped; its record did not say so yet"
	witness_update_write_ "${says[events]}" "${says[role]}:${says[number]}" '' '' || {
		if (($? == 2)) && [[ ${1-} != again ]]; then
			before_look_witness
			witness_update_last_copy_ again
			return
		fi
		witness_update_none_ || :
	}
	F[witness.left]=${F[witness.legs]:-${F[witness.left]-}} F[witness.legs]='' \
		F[witness.events]=${says[events]} F[witness.ram_slot]=${says[role]}
	F[witness.ram_number]=${says[number]}
}

# witness_update [no-ram-slot|"" [filling]]: writes down who is in sync, with the event count that
# they carry now: the disk legs; without any, that it is the RAM leg alone. With no-ram-slot, it is
# not known afterwards which slot is the RAM leg's, because the members are about to move; with
# filling, a new member is about to get a slot. Not for an array that something else has started
# from old legs: that would be taken for the truth ever after.
# Another program may have written since F was looked up; then what it wrote is newer, and
# everything is looked up again. So it is when no leg that F calls in sync can be read and others
# are by now: they have left since, which is no reason to vouch for nobody. With
# WITNESS_UPDATE_UNWATCHED nobody would write down who leaves later: it vouches for no disk leg.
# Returns 1, after saying so, when it could not be written; 0 also when there is nothing to write.
witness_update() {
	local try code was
	[[ -z $WITNESS_UPDATE_UNWATCHED ]] || { witness_update_none_ || return; }
	for ((try = 0; try < WITNESS_UPDATE_TRIES; try++)); do
		code=0
		witness_update_once_ "$@" || code=$?
		((code >= 2)) || return "$code"
		witness_update_members_now_
		was=$WITNESS_UPDATE_NOW
		before_look_witness
		facts_observe
		witness_update_members_now_
		((code == 2)) || [[ $WITNESS_UPDATE_NOW != "$was" ]] || break
	done
	if ((code == 2)); then
		log_error "${F[name]}: its record was written by another program at each of \
$WITNESS_UPDATE_TRIES tries; it says what that one saw"
		return 1
	fi
	log_error "${F[name]}: no superblock of a leg in sync could be read"
	witness_update_none_
}

# witness_update_once_ [no-ram-slot|"" [filling]]: the same; returns 2 when another program has
# written since, and nothing was; 3 when no leg that F calls in sync can be read.
witness_update_once_() {
	local events legs here=() slot good=0 places=() filled also='' full='' now NODES COMPLETE
	[[ ${F[array.state]} == active && -z ${F[record.why]-} ]] || return 0
	old_name_take || {
		log_error "${F[name]}: what was written down about its array under the name \
${F[record.from]} could not be taken over; mend that (is $STATE writable?)"
		return 1
	}
	witness_update_may_ || return 0
	# Who is vouched for is found out once, so that what is noted as written is what is written.
	witness_update_members_now_
	now=$WITNESS_UPDATE_NOW
	[[ ${F[array.known]} != yes ]] || witness_update_members_
	if [[ ${F[array.known]} == yes ]] && ((good == 0)); then
		[[ ${F[ram.state]} == in_sync ]] || return 0
		events=$(superblock_says "${F[ram.node]}" events)
		[[ ! $(superblock_says "${F[ram.node]}" view) =~ ^A+$ ]] || full=yes
	fi
	# Disk legs that are in sync but can't be read must not look like none.
	[[ ${F[array.known]} != unread && -n $events ]] && ((good == 0 || ${#legs[@]} > 0)) ||
		return 3
	[[ ${F[array.known]} != yes ]] || witness_update_built_
	[[ -z ${F[leg.ram.dev]-} || ${F[ram.state]} != in_sync ]] || {
		# A start without the device, that gives up the others, has to give it up as well.
		also=$(superblock_says "${F[ram.node]}" device_uuid)
		[[ ${F[leg.ram.node]-} != "${F[ram.node]}" ]] ||
			places+=("ram=${F[leg.ram.dev]} ${F[ram.node]}")
	}
	witness_update_filled_ "${2-}"
	witness_update_slot_ "${1-}"
	witness_update_write_ "$events" "$slot" "$filled" "$also" "${legs[@]}" || {
		(($? != 2)) || return 2
		witness_update_none_
		return
	}
	F[witness.ram_slot]=${slot%%:*} F[witness.ram_number]=${slot#*:} \
		F[witness.filled]=$WITNESS_FILLED
	legs_seen_note_in_sync "$events" "${here[@]}"
	[[ $now == "$WITNESS_UPDATE_WRITTEN" ]] || hardware_note "${F[name]}" "${places[@]}"
	WITNESS_UPDATE_WRITTEN=$now
}

# witness_update_may_: may the array be written down as it is? Not what something else has started
# from old legs. What was judged is one run of it: it may have been stopped since, and another one
# started.
witness_update_may_() {
	local why MD_RUN
	md_state_run "${F[array.md]:-none}"
	[[ ${F[array.judged]-} == "$MD_RUN" ]] || F[array.known]=''
	[[ ${F[array.known]-} == @(yes|no) ]] || witness_update_foreign_start
	# Half restored: the record of the rescue image keeps it from being started.
	[[ ${F[array.known]} == yes || -z ${F[rescue.image]-} ]] || return 1
	[[ ${F[array.known]} == no ]] || return 0
	why='from legs that were not in sync when it last ran, or are older now'
	[[ -z ${F[array.unfit]} ]] || why="with ${F[array.unfit]}"
	log_error "${F[name]}: something else has started ${F[array.md]}, $why; that is not \
written down"
	return 1
}

# There is no new record, and the old one is taken back. Returns 1.
witness_update_none_() {
	WITNESS_UPDATE_WRITTEN=''
	witness_take_back
}

# Sets the caller's slot to the RAM leg's SLOT:NUMBER, or, without one, to those of before.
witness_update_slot_() { # no-ram-slot|""
	if [[ $1 == no-ram-slot ]]; then
		slot=:
	elif [[ ${F[ram.slot]} =~ ^[0-9] ]]; then
		slot=${F[ram.slot]}:$(superblock_says "${F[ram.node]}" number)
	else
		slot=${F[witness.ram_slot]}:${F[witness.ram_number]-}
	fi
}

# witness_update_write_ EVENTS RAM_SLOT:RAM_NUMBER FILLED ALSO [LEG…]: witness_write, for the
# record that F was looked up with, and with those that are to be given up.
witness_update_write_() {
	witness_write "${F[name]}" "${F[uuid]}" "${F[witness.generation]}" "${@:1:4}" \
		"${F[witness.give_up]-}" "${@:5}" || return
	F[witness.generation]=$WITNESS_GENERATION
}

# witness_update_filled_ filling|"": sets the caller's filled to yes if every slot is filled, or
# will be at once, or may have been while nobody looked, because there are fewer of them than legs
# (readd_is_forgotten); or if a superblock in sync says that it was (the caller's full): of an array
# that was started a moment ago, that is how it ended, and md's first write replaces it. After the
# event count has been read: a leg that has left since has no more events than that.
witness_update_filled_() {
	local SLOTS FREE FAULTY LEGS_IN_ALL most=0 node
	[[ $1 != filling ]] || most=1
	health_legs
	md_state_read_slots "${F[array.md]}"
	md_state_slots_free "${F[array.md]}"
	filled=$full
	((SLOTS >= LEGS_IN_ALL && FREE > most)) || filled=yes
	# A disk that is no leg, and has failed, may have had a slot until then: md has dropped bits
	# as far as it was filled (md_bitmap_close_sync() in linux drivers/md/md-bitmap.c).
	for node in "${FAULTY[@]}"; do
		[[ " ${F[array.strangers]-} " != *" $node "* ]] || filled=yes
	done
}

# witness_update_witness: the same, for those who go on without it: that it is said has to do.
witness_update_witness() { witness_update || :; }

# witness_update_if_changed: witness_update_witness, unless the legs in sync are those that this
# program has written down last. For the moment before the gate opens, when all that matters is that
# no leg is named that has left: event counts follow with the next record.
WITNESS_UPDATE_WRITTEN='' WITNESS_UPDATE_NOW='' WITNESS_UPDATE_UNWATCHED=''
witness_update_if_changed() {
	local NODES COMPLETE
	witness_update_members_now_
	[[ $WITNESS_UPDATE_NOW == "$WITNESS_UPDATE_WRITTEN" ]] || witness_update_witness
}

# For the caller's NODES and COMPLETE.
witness_update_members_now_() {
	complete_legs_find
	WITNESS_UPDATE_NOW="${F[name]} ${F[array.md]} ${F[ram.slot]-} ${NODES[*]} of which \
${COMPLETE[*]}"
}

# After witness_update_members_now_. Sets the caller's here (device UUIDs) to the disk legs in sync,
# legs to those of them that are vouched for, and good to how many these are; events to what they
# carry now; places to which device that is; full to yes if one of them calls every slot active, be
# it by a member that is being rebuilt (super_1_sync() in linux drivers/md/md.c).
witness_update_members_() {
	local node key value numbers='' active=''
	events=0 legs=() here=() good=${#COMPLETE[@]}
	for node in "${NODES[@]}"; do
		while IFS='=' read -r key value; do
			case $key in
			device_uuid)
				here+=("$value") places+=("$value $node")
				[[ " ${COMPLETE[*]} " != *" $node "* ]] || legs+=("$value")
				;;
			events) ((value <= events)) || events=$value ;;
			number) numbers+=" $value" ;;
			roles) active+=" $value" ;;
			view) [[ ! $value =~ ^A+$ ]] || full=yes ;;
			esac
		done < <(superblock_facts_patiently "$node")
	done
	! witness_called_absent || full=yes
}

# Adds to the caller's places the disk legs that are being rebuilt: nobody has them in a record yet,
# and should that be cut off, they have to be recognised.
witness_update_built_() {
	local i facts
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == recovering ]] || continue
		facts=$(superblock_facts_patiently "${F[leg.$i.node]}")
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] ||
			places+=("${BASH_REMATCH[1]} ${F[leg.$i.node]}")
	done
}
