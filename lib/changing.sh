# The acting ring of a change of the disks ("replace", "apply"): looks, has change.sh decide, acts, and looks again. What was begun is all in the
# configuration, the note of those that leave, and the superblocks: a run that was killed is typed again.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh and change.sh list the keys

readonly CHANGING_MAX=60 # steps, far more than any change needs

# changing_look NAME: the configuration, the note, and the facts, with what the configuration does not name and is in the array among the disks that are
# to leave. Sets LEAVING, and CHANGING_STRANGERS to those of it. Ends the program when nothing can be told. Called again after whatever took time: also a
# person may have edited the file.
changing_look() {
	local line wrong=''
	conf_need "$1"
	leaving_read "$1" "${CONF[UUID]}"
	CHANGING_STRANGERS=()
	changing_add_strangers_ "$1"
	facts_configured "$1"
	facts_times || F[conf.member_timeout]=30
	facts_observe
	[[ ${F[array.state]} == active ]] || die "$1: is not running; type: ramraid start $1" "$EX_INACTIVE"
	for line in ${F[array.strangers]}; do
		wrong=yes
		log_error "$1: /dev/$line is in the array, is no MEMBER, and has no stable name. Take it out first: mdadm /dev/${F[array.md]} --fail /dev/$line --remove /dev/$line"
	done
	[[ -z $wrong ]] || die "$1: nothing was changed" "$EX_REFUSED"
	record_first_look
	changing_facts_ "$1"
}

# A disk in the array whose MEMBER line has been deleted: it is treated as if the line were there, and the disk in the note.
changing_add_strangers_() {
	local node disk
	facts_of_conf "$1"
	facts_observe
	for node in ${F[array.strangers]}; do
		disk=$(disk_stable_name "/dev/$node") || continue
		CHANGING_STRANGERS+=("$disk")
		leaving_has "$disk" || LEAVING+=("$disk")
	done
	MEMBERS+=("${CHANGING_STRANGERS[@]}")
}

# What change.sh goes by besides.
changing_facts_() { # NAME
	local i disk
	F[change.left]='' F[array.slots]=$(md_slots "${F[array.md]}") F[change.used]=$(disk_users "${F[array.md]}" | paste -sd ' ')
	for disk in "${LEAVING[@]}"; do [[ " ${MEMBERS[*]} " == *" $disk "* ]] || F[change.left]+="${F[change.left]:+ }$disk"; done
	for ((i = 0; i < F[members]; i++)); do
		F[leg.$i.leaving]='' F[leg.$i.badblocks]='' F[leg.$i.is_ram]=''
		! leaving_has "${F[leg.$i.dev]}" || F[leg.$i.leaving]=yes
		[[ -z ${F[leg.$i.node]} ]] || ! ram_is_leg "${F[leg.$i.node]}" || F[leg.$i.is_ram]=yes
		F[leg.$i.dropin]=$(confedit_elsewhere "$1" "${F[leg.$i.dev]}") || F[leg.$i.dropin]=''
		[[ -z ${F[leg.$i.state]} ]] || ! md_has_bad_blocks "${F[array.md]}" "${F[leg.$i.node]}" || F[leg.$i.badblocks]=yes
		changing_outside_ "$i"
	done
}

# What a disk outside is good for.
changing_outside_() { # I
	local LEG='' dev=${F[leg.$1.dev]} why
	F[leg.$1.kind]='' F[leg.$1.why]='' F[leg.$1.force]=''
	[[ -z ${F[leg.$1.state]} ]] || return 0
	[[ $dev != "${CHANGING_FORCE-}" ]] || F[leg.$1.force]=yes
	changes_leg "$1"
	! changing_is_fresh_ "$1" || LEG=fresh
	F[leg.$1.kind]=$LEG
	[[ -n ${F[leg.$1.node]} ]] || return 0
	F[leg.$1.why]=$(md_why_no_leg "${F[array.md]}" "${F[leg.$1.node]}" | paste -sd ' ')
	# What is mounted or held is not to be overwritten, whatever else may be.
	[[ $LEG == @(occupied|damaged) ]] || return 0
	why=$(disk_why_not_free "$dev" | sed "${F[leg.$1.force]:+/^signature: /d}" | paste -sd ' ')
	F[leg.$1.why]=$why${F[leg.$1.why]:+ ${F[leg.$1.why]}}
}

# changing_is_fresh_ I: is it one of this array that never was in sync, since its first rebuild was cut off? There is nothing on it that is not elsewhere.
changing_is_fresh_() {
	[[ ${F[leg.$1.sb]} == ok && ${F[leg.$1.uuid]} == "${F[uuid]}" ]] || return 1
	[[ ${F[leg.$1.role]} == spare || -n ${F[leg.$1.recovery]} ]] || return 1
	! decide_is_given_up_ "$1" && [[ " ${F[witness.seen]-} " != *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# changing_ask NAME: shows the plan, and asks; changing_check NAME: the same plan once more, with the lock held: the world has moved on while a person
# thought about the answer. Both end the program when something speaks against it.
changing_ask() {
	change_plan
	cli_ask "$1"
}
changing_check() {
	change_plan
	cli_wrong "$1"
}

# changing_all NAME VERB-LINE: does what is to be done, until nothing is left. VERB-LINE is what to type when it is cut off.
changing_all() {
	local steps=0 idle='' shown='' code NOW
	CHANGING_AGAIN=$2
	trap 'changing_end $?' EXIT
	trap 'exit 130' INT TERM HUP
	rm -f "$RUN/$1.tried" # its words are counted by member
	while :; do
		facts_observe
		# While md is at work, nothing but that counts.
		[[ ${F[array.sync]} != @(idle|frozen) ]] || changing_facts_ "$1"
		change_decide
		if [[ $ACTION == wait-sync ]]; then
			[[ ! -t 2 ]] || { shown=yes && wait_show_; }
			[[ ${F[array.sync]} == idle ]] || idle=''
			clock
			((NOW - ${idle:=$NOW} <= DRIVE_STALL)) || die "$1: md does not rebuild it; see the kernel's messages: journalctl -k -g md"
			sleep "$DRIVE_LOOK"
			continue
		fi
		wait_show_end_ "$shown"
		idle='' shown=''
		[[ $ACTION != 'done' ]] || break
		log_info "$1: $WHY"
		[[ $ACTION != refuse ]] || die "$1: $WHY" "$EX_REFUSED"
		steps=$((steps + 1))
		((steps <= CHANGING_MAX)) || die "$1: gave up after $steps steps; the last one was $ACTION (please report this with the journal)"
		changing_act_ "$1"
	done
	changing_done_ "$1"
	trap - EXIT INT TERM HUP
}

changing_act_() { # NAME
	DRIVE_ERROR=''
	lately_note # until now it was what it was: by the end it may be whole again
	case $ACTION in
	slots | thaw | build | drop | forget) "changing_${ACTION}_" "$1" "${ARGUMENTS[@]}" ;;
	# That md does not take a disk back is for the next decision.
	readd) drive_readd "${ARGUMENTS[@]}" || drive_failed_ $? ;;
	*) "drive_${ACTION//-/_}" "${ARGUMENTS[@]}" ;;
	esac || die "$1: ${DRIVE_ERROR:-$ACTION failed}"
}

changing_end() { # EXIT-CODE
	trap '' INT TERM HUP
	(($1 == 0)) || log_error "${F[name]}: not finished; the array goes on with every disk that was good. To go on: $CHANGING_AGAIN"
	exit "$1"
}

changing_done_() { # NAME
	record_witness
	lately_note
	leaving_write "$1" "${CONF[UUID]}"
	conf_keep "$1"
	[[ $WHY != 'not whole'* ]] || die "$1: $WHY; see: ramraid status $1"
	log_notice "$1: $WHY"
	[[ ${CONF[RAM]} == none || ${F[ram.state]} == in_sync ]] || log_notice "$1: it has no RAM leg now; to have one: ramraid attach $1"
}

# --- one function an action

# The members may move together: nobody may go by the number of the RAM leg's slot meanwhile, so it is written down as not known, and after that as it is.
changing_slots_() { # NAME N
	local slot=${F[ram.slot]}
	F[ram.slot]='' F[witness.ram_slot]=''
	record_write || return
	F[ram.slot]=$slot
	md_set_slots "${F[array.md]}" "$2" || {
		DRIVE_ERROR="md does not take ${F[array.md]} to $2 slots"
		return 1
	}
	facts_observe
	record_write
}

changing_thaw_() { md_thaw "${F[array.md]}"; } # NAME

# md begins to rebuild it, and so to read from it what is rebuilt, only when it is write-mostly. A kill in between leaves md told to begin no work,
# which the next run takes back, and so does a reboot.
changing_build_() { # NAME I
	local node=${F[leg.$2.node]} md=${F[array.md]} why code=0
	# Looked at once more: between the decision and this somebody may have taken it.
	changing_outside_ "$2"
	change_may_build_ "$2" || {
		DRIVE_ERROR="${F[leg.$2.dev]} is not taken: it is ${F[leg.$2.kind]}${F[leg.$2.why]:+, ${F[leg.$2.why]}}"
		return 1
	}
	record_free_slot || return
	case ${F[leg.$2.kind]} in
	blank) ;;
	occupied | damaged) act wipefs --all --quiet -- "/dev/$node" || return ;;
	*) md_zero "$node" || return ;;
	esac
	trap '' INT TERM HUP
	md_freeze "$md" && md_add "$md" "$node" && md_set_writemostly "$md" "$node" || code=1
	((code != 0)) || md_thaw "$md" || code=1
	((code == 0)) || changing_unbuild_ "$md" "$node"
	trap 'exit 130' INT TERM HUP
	why=$(drive_bad_blocks_)
	((code == 0)) || DRIVE_ERROR="md did not take ${F[leg.$2.dev]}$why"
	return "$code"
}

# It must not become readable as it is.
changing_unbuild_() { # MD NODE
	[[ ! -e $SYS/class/block/$2/holders/$1 ]] || md_remove "$1" "$2" || {
		log_warning "$1: /dev/$2 could not be taken out again; md has been told to begin no work until it is"
		return
	}
	md_thaw "$1" || log_warning "$1: md has been told to begin no work, and does not take that back; the next ramraid apply ${F[name]} tries it again"
}

# That a disk is given up is written down in the moment in which it is out: plugged in again, or named again, it is not put back as if nothing had been.
changing_drop_() { # NAME I
	record_write || return
	changing_give_up_ "$2"
	# The RAM leg does not count: what it alone has is lost by a power cut.
	md_drop "${F[array.md]}" "${F[leg.$2.node]}" "${F[ram.node]}" || {
		DRIVE_ERROR="${F[leg.$2.dev]} could not be taken out, or the other disk legs do not have all that it has"
		return 1
	}
	facts_observe
	record_write
}

# One that has left: given up, in the configuration no more, and its superblock made invalid, so that nobody takes it for a part of this array, here or
# elsewhere. In this order: a kill in between leaves a disk that is in no configuration, or is still in the note.
changing_forget_() { # NAME DISK
	local i disk keep=() left=() NODE
	for ((i = 0; i < F[members]; i++)); do
		if [[ ${F[leg.$i.dev]} == "$2" ]]; then changing_give_up_ "$i"; else keep+=("${F[leg.$i.dev]}"); fi
	done
	record_write || return
	confedit_members "$1" "${keep[@]}" || {
		DRIVE_ERROR="$ETC/$1.conf could not be written"
		return 1
	}
	changing_wipe_ "$2"
	for disk in "${LEAVING[@]}"; do [[ $disk == "$2" ]] || left+=("$disk"); done
	leaving_write "$1" "${F[uuid]}" "${left[@]}" || return
	changing_look "$1"
}

changing_wipe_() { # DISK
	local NODE facts
	disk_find "$1" && [[ -z $(disk_holders "$NODE") ]] || return 0
	facts=$(sb_facts "$DEV/$NODE")
	[[ $facts == sb=ok$'\n'uuid="${F[uuid]}"$'\n'* ]] || return 0
	md_zero "$NODE" || log_warning "${F[name]}: the superblock on $1 could not be made invalid. Nothing here takes it back; elsewhere it looks like a part of this array"
}

# Adds the device UUID of leg I to those that are given up with the next record. Of a disk that is not there, it is the one of those ever in sync that neither
# another disk nor the device in the RAM leg's place has; with a further one missing that can't be told, and then only the configuration keeps it out.
changing_give_up_() { # I
	local j uuid UUID others=' '
	changing_uuid_ "$1"
	if [[ -n $UUID ]]; then
		WITNESS_GIVE_UP+=" $UUID"
		return
	fi
	[[ -z ${F[leg.$1.node]} ]] || return 0
	for ((j = 0; j < F[members]; j++)); do
		((j != $1)) || continue
		changing_uuid_ "$j"
		[[ -n $UUID ]] || return 0
		others+="$UUID "
	done
	if [[ -n ${F[leg.ram.dev]-} ]]; then
		UUID=${F[leg.ram.device_uuid]}
		[[ ${F[ram.state]} != in_sync ]] || UUID=$(record_device_uuid_)
		[[ -n $UUID ]] || return 0
		others+="$UUID "
	fi
	for uuid in ${F[witness.legs]} ${F[witness.left]-} ${F[witness.seen]-}; do [[ $others == *" $uuid "* ]] || WITNESS_GIVE_UP+=" $uuid"; done
}

changing_uuid_() { # I; sets the caller's UUID to that in its superblock, if it is one of this array
	local facts
	UUID=''
	[[ -n ${F[leg.$1.node]} ]] || return 0
	facts=$(sb_facts "$DEV/${F[leg.$1.node]}")
	[[ $facts == sb=ok$'\n'uuid="${F[uuid]}"$'\n'* && $facts =~ device_uuid=([0-9a-f-]+) ]] || return 0
	UUID=${BASH_REMATCH[1]}
}
