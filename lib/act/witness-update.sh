# Writes down the state of a running array, and decides when not to: the witness says which legs are
# in sync, and a file in $RUN which array a start of ours has judged. notes/witness.sh says what a
# witness looks like.
# shellcheck shell=bash

need act/witness-called act/witness-take-back core/act core/log core/paths decide/health
need notes/hardware notes/legs-seen notes/old-name notes/watched notes/witness observe/all-disks
need observe/before-look observe/complete-legs observe/facts observe/foreign-start observe/last-copy
need observe/outside world/md-state world/superblock

declare -gA F # the facts: decide/facts.list
# A start and a mend write the record many times within seconds.
readonly WITNESS_UPDATE_TRIES=10

# witness_update_free_slot: called before md gives a disk a free slot, which may be the one that the
# RAM leg had, and the last free one.
witness_update_free_slot() {
	if [[ ${F[ram.slot]} =~ ^[0-9]+$ ]]; then
		witness_update '' filling
	else witness_update no-ram-slot filling; fi
}

# witness_update_foreign_start: called before anything is done. Judges the array, if something else
# has started it (array.known, array.unfit: foreign_start_judge). Then array.judged is this run.
witness_update_foreign_start() {
	local MD_RUN
	witness_update_run
	F[array.judged]=$MD_RUN F[array.known]=yes F[array.unfit]='' F[array.unfit_by]=''
	# Nothing is written down about a copy that runs under the name of a leg: the copy would be
	# mistaken for the leg ever after.
	if [[ ${F[array.state]} == active ]]; then
		all_disks_running
	else
		witness_update_last_copy_
	fi
	[[ -z ${F[array.copy]-} ]] || {
		F[array.known]=no
		return 0
	}
	# Somebody may have stopped it, and started it again from its disks.
	[[ ${F[array.state]} != active ]] || watched_is "${F[array.md]}" ||
		witness_update_last_copy_
	foreign_start_judge
}

# witness_update_run: sets MD_RUN to the run of the array, or to nothing when it does not run.
witness_update_run() {
	MD_RUN=''
	[[ ${F[array.state]} != active ]] || md_state_run "${F[array.md]}"
}

# witness_update_last_copy_ [again]: was the ramdisk the only good copy when the array was stopped,
# before the record said so? Then the facts of the record are set to say that, whether the record
# can be written or not.
witness_update_last_copy_() {
	local here=() legs=() departed=() numbers='' active='' NODES=()
	last_copy_find || return 0
	log_warning "${F[name]}: the ramdisk ${F[ram.node]} was the only good copy when the array \
was stopped; its record did not say so yet"
	witness_called_departed "${LAST_COPY[events]}"
	witness_update_write_ "${LAST_COPY[events]}" "${LAST_COPY[role]}:${LAST_COPY[number]}" '' \
		'' "${departed[@]}" || {
		if (($? == 2)) && [[ ${1-} != again ]]; then
			before_look_witness
			witness_update_last_copy_ again
			return
		fi
		witness_update_none_ || :
	}
	last_copy_facts
}

# witness_update [no-ram-slot|"" [filling]]: writes down which legs are in sync, with the event
# count that they carry now: the disk legs; if none is, that only the RAM leg is. With no-ram-slot,
# the record does not say which slot is the RAM leg's, because the members are about to move; with
# filling, a new member is about to get a slot. Writes nothing about an array that something else
# has started from old legs: that would be taken for the truth ever after.
# Another program may have written the record since F was filled. That record is newer, so
# everything is looked up again. The same happens when no leg that F calls in sync can be read, and
# others are in sync by now: the legs of F have left since, which is no reason to vouch for nobody.
# With WITNESS_UPDATE_UNWATCHED, nobody would write down which legs leave later, so the record
# vouches for no disk leg.
# Returns 1, after saying so, when the record could not be written; 0 also when there is nothing to
# write.
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
		log_error "${F[name]}: another program wrote its record at each of \
$WITNESS_UPDATE_TRIES tries; it says what that program saw"
		return 1
	fi
	log_error "${F[name]}: no superblock of a leg in sync could be read"
	witness_update_none_
}

# witness_update_once_ [no-ram-slot|"" [filling]]: the same, once. Returns 2, and writes nothing,
# when another program has written the record since; 3 when no leg that F calls in sync can be read.
witness_update_once_() {
	local events legs here=() slot good=0 places=() filled also='' full='' now departed=() \
	numbers='' active='' NODES COMPLETE
	[[ ${F[array.state]} == active && -z ${F[record.why]-} ]] || return 0
	old_name_take || {
		log_error "${F[name]}: the records of its array under the name ${F[record.from]} \
could not be taken over; is $STATE writable?"
		return 1
	}
	witness_update_may_ || return 0
	# The legs to vouch for are found once, so that what is noted as written is what is written.
	witness_update_members_now_
	now=$WITNESS_UPDATE_NOW
	[[ ${F[array.known]} != yes ]] || witness_update_members_
	if [[ ${F[array.known]} == yes ]] && ((good == 0)); then
		[[ ${F[ram.state]} == in_sync ]] || return 0
		events=$(superblock_says "${F[ram.node]}" events)
		[[ ! $(superblock_says "${F[ram.node]}" view) =~ ^A+$ ]] || full=yes
	fi
	# Disk legs that are in sync but can't be read must not count as none.
	[[ ${F[array.known]} != unread && -n $events ]] && ((good == 0 || ${#legs[@]} > 0)) ||
		return 3
	[[ ${F[array.known]} != yes ]] || witness_update_built_
	[[ -z ${F[leg.ram.dev]-} || ${F[ram.state]} != in_sync ]] || {
		# A start without the device that gives up the other legs has to give it up as well.
		also=$(superblock_says "${F[ram.node]}" device_uuid)
		[[ ${F[leg.ram.node]-} != "${F[ram.node]}" ]] ||
			places+=("ram=${F[leg.ram.dev]} ${F[ram.node]}")
	}
	witness_update_filled_ "${2-}"
	witness_update_slot_ "${1-}"
	witness_called_departed "$events"
	witness_update_write_ "$events" "$slot" "$filled" "$also" "${legs[@]}" "${departed[@]}" || {
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

# witness_update_may_: may the array be written down as it is? Not if something else has started it
# from old legs. A judgement holds for one run: the array may have been stopped since, and started
# again.
witness_update_may_() {
	local why MD_RUN
	md_state_run "${F[array.md]:-none}"
	[[ ${F[array.judged]-} == "$MD_RUN" ]] || F[array.known]=''
	[[ ${F[array.known]-} == @(yes|no) ]] || witness_update_foreign_start
	# It may be half restored. The record of the rescue image keeps it from being started.
	[[ ${F[array.known]} == yes || -z ${F[rescue.image]-} ]] || return 1
	[[ ${F[array.known]} == no ]] || return 0
	why='from legs that were not in sync when it last ran, or are older now'
	[[ -z ${F[array.unfit]} ]] || why="with ${F[array.unfit]}"
	log_error "${F[name]}: something else has started ${F[array.md]}, $why; that is not \
recorded"
	return 1
}

# No new record could be written, so the old one is taken back. Returns 1.
witness_update_none_() {
	WITNESS_UPDATE_WRITTEN=''
	witness_take_back
}

# Sets the caller's slot to the RAM leg's SLOT:NUMBER, or, if there is no RAM leg, to what the
# record has.
witness_update_slot_() { # no-ram-slot|""
	if [[ $1 == no-ram-slot ]]; then
		slot=:
	elif [[ ${F[ram.slot]} =~ ^[0-9] ]]; then
		slot=${F[ram.slot]}:$(superblock_says "${F[ram.node]}" number)
	else
		slot=${F[witness.ram_slot]}:${F[witness.ram_number]-}
	fi
}

# witness_update_write_ EVENTS RAM_SLOT:RAM_NUMBER FILLED ALSO [LEG…] [LEG:[EVENTS]…]: calls
# witness_write for the record that F was filled from, and with the legs that are to be given up.
witness_update_write_() {
	witness_write "${F[name]}" "${F[uuid]}" "${F[witness.generation]}" "${@:1:4}" \
		"${F[witness.give_up]-}" "${@:5}" || return
	F[witness.generation]=$WITNESS_GENERATION F[witness.departed]=$WITNESS_DEPARTED
}

# witness_update_filled_ filling|"": sets the caller's filled to yes if every slot is filled, or
# will be at once, or may have been while nobody looked, because there are fewer slots than legs
# (readd_is_forgotten). Also if a superblock in sync says so (the caller's full): in an array that
# has just been started, it says how the last run ended, and md's first write replaces it. Called
# after the event count has been read: a leg that has left since has no more events than that.
witness_update_filled_() {
	local SLOTS FREE FAULTY LEGS_IN_ALL most=0 node
	[[ $1 != filling ]] || most=1
	health_legs
	md_state_read_slots "${F[array.md]}"
	md_state_slots_free "${F[array.md]}"
	filled=$full
	((SLOTS >= LEGS_IN_ALL && FREE > most)) || filled=yes
	# A failed disk that is no leg may have had a slot until it failed. md has dropped bits as
	# far as that disk was filled (md_bitmap_close_sync() in linux drivers/md/md-bitmap.c).
	for node in "${FAULTY[@]}"; do
		[[ " ${F[array.strangers]-} " != *" $node "* ]] || filled=yes
	done
}

# witness_update_or_go_on: calls witness_update, and returns 0 even if the record could not be
# written: for callers that go on without it. It is enough that witness_update has said so.
witness_update_or_go_on() { witness_update || :; }

# witness_update_if_changed: witness_update_or_go_on, unless the legs in sync are those that this
# program wrote down last. For the moment before the gate opens, when all that matters is that the
# record names no leg that has left: the next record brings the event counts up to date.
WITNESS_UPDATE_WRITTEN='' WITNESS_UPDATE_NOW='' WITNESS_UPDATE_UNWATCHED=''
witness_update_if_changed() {
	local NODES COMPLETE
	witness_update_members_now_
	[[ $WITNESS_UPDATE_NOW == "$WITNESS_UPDATE_WRITTEN" ]] || witness_update_or_go_on
}

# Sets WITNESS_UPDATE_NOW, and the caller's NODES and COMPLETE.
witness_update_members_now_() {
	complete_legs_find
	WITNESS_UPDATE_NOW="${F[name]} ${F[array.md]} ${F[ram.slot]-} ${NODES[*]} of which \
${COMPLETE[*]}"
}

# Called after witness_update_members_now_. Sets the caller's here to the device UUIDs of the disk
# legs in sync, legs to those that are vouched for and can be read, and good to how many are vouched
# for; events to what they carry now; places to the device that each is on; full to yes if one of
# them calls every slot active, even one whose member is being rebuilt (super_1_sync() in linux
# drivers/md/md.c), or if witness_called_absent finds a leg.
witness_update_members_() {
	local node key value
	events=0 legs=() here=() numbers='' active='' good=${#COMPLETE[@]}
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

# Adds to the caller's places the disk legs that are being rebuilt: no record names them yet, and if
# the rebuild is cut off, they have to be recognised. Adds them to departed as well: md writes to
# them.
witness_update_built_() {
	local i facts
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == recovering ]] || continue
		facts=$(superblock_facts_patiently "${F[leg.$i.node]}")
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] ||
			{
				places+=("${BASH_REMATCH[1]} ${F[leg.$i.node]}")
				departed+=("${BASH_REMATCH[1]}:")
			}
	done
}
