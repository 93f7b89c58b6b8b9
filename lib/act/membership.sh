# The acting ring for a change of the disks ("replace", "apply"): it looks, decides
# (decide/membership-plan.sh), acts, and looks again. All that was begun is in the configuration, in
# the note of the disks that leave, and in the superblocks: after a kill, the same command goes on.
# shellcheck shell=bash

need act/disk-legs act/left-check act/loop act/loop-act act/membership-stall act/membership-whose
need act/notify act/ram-leg act/transitions act/whole-since act/witness-update config/conf
need config/conf-edit config/conf-need core/act core/cli core/clock core/log core/paths core/text
need core/uninterrupted decide/health decide/leg decide/membership-plan notes/removals
need observe/before-look observe/facts observe/look observe/may-leave observe/whose
need report/progress-line world/disk world/disk-find world/md world/md-state world/stable-name
need world/superblock

declare -gA F # the facts: decide/facts.list

# membership_look NAME: reads the configuration, the note of the disks that leave, and the facts. A
# disk that is in the array, and that the configuration does not name, counts among those that are
# to leave. Sets LEAVING, and MEMBERSHIP_STRANGERS to these disks. Ends the program when the array
# does not run, or when such a disk has no stable name. Called again after whatever took time: a
# person may have edited the file meanwhile.
membership_look() {
	local node line wrong='' way
	conf_need "$1"
	removals_read "$1" "${CONF[UUID]}"
	removals_settle "${MEMBERS[@]}"
	MEMBERSHIP_STRANGERS=()
	membership_add_strangers_ "$1"
	look_at_running "$1"
	left_check_end
	before_look_times || F[conf.member_timeout]=30
	may_leave_look
	for node in ${F[array.strangers]}; do
		printf -v line '%q' "$node" && wrong=yes
		way="Do not take it out: no other disk has all that is on the array. \
Bring another one back first: ramraid attach $1"
		! health_may_leave "$node" ||
			way="Take it out first: mdadm /dev/${F[array.md]} --fail /dev/$line \
--remove /dev/$line"
		log_error "$1: /dev/$line is in the array, is no MEMBER, and has no stable name. \
$way"
	done
	[[ -z $wrong ]] || die "$1: nothing was changed" "$EX_REFUSED"
	witness_update_foreign_start
	membership_facts "$1"
}

# Treats a disk in the array whose MEMBER line has been deleted as if the line were still there, and
# the disk were in the note of those that leave.
membership_add_strangers_() {
	local node disk
	facts_of_conf "$1"
	facts_observe
	for node in ${F[array.strangers]}; do
		disk=$(stable_name_of "/dev/$node") || continue
		MEMBERSHIP_STRANGERS+=("$disk")
		removals_has "$disk" || LEAVING+=("$disk")
	done
	MEMBERS+=("${MEMBERSHIP_STRANGERS[@]}")
}

# Sets the other facts that decide/membership-plan.sh uses.
membership_facts() { # NAME
	local i disk VALUE
	F[change.left]='' F[change.kept]=''
	F[change.used]=$(disk_users "${F[array.md]}" | paste -sd ' ') ||
		F[change.used]=$TEXT_SOMEBODY
	for disk in "${LEAVING[@]}"; do
		[[ " ${MEMBERS[*]} " == *" $disk "* ]] ||
			F[change.left]+="${F[change.left]:+ }$disk"
	done
	for disk in "${REMOVALS_KEPT[@]}"; do
		removals_has "$disk" || F[change.kept]+="${F[change.kept]:+ }$disk"
	done
	# Newer kernels keep the block size in the superblocks (linux
	# Documentation/admin-guide/md.rst, logical_block_size, since 6.19), and BLOCK=4096 keeps it
	# on any kernel.
	md_state_read "${F[array.md]}" logical_block_size
	F[change.block]=''
	[[ ${VALUE:-0} != 0 || ${F[conf.block]} == 4096 ]] || F[change.block]=${F[array.block]}
	membership_whose_names
	for ((i = 0; i < F[members]; i++)); do
		membership_whose_bus "$i"
		whose_other "$i"
		whose_line "$i"
		F[leg.$i.block]=''
		[[ -z ${F[leg.$i.node]} ]] || F[leg.$i.block]=$(disk_block "${F[leg.$i.node]}")
		F[leg.$i.leaving]='' F[leg.$i.replaces]='' F[leg.$i.badblocks]=''
		F[leg.$i.is_ram]=''
		! removals_has "${F[leg.$i.dev]}" || F[leg.$i.leaving]=yes
		for disk in "${LEAVING[@]}"; do
			[[ ${REMOVALS_FOR[$disk]-} != "${F[leg.$i.dev]}" ]] ||
				F[leg.$i.replaces]=$disk
		done
		[[ -z ${F[leg.$i.node]} ]] || ! facts_is_ram "${F[leg.$i.node]}" ||
			F[leg.$i.is_ram]=yes
		F[leg.$i.dropin]=$(conf_edit_elsewhere "$1" "${F[leg.$i.dev]}") ||
			F[leg.$i.dropin]=''
		[[ -z ${F[leg.$i.state]} ]] ||
			! md_has_bad_blocks "${F[array.md]}" "${F[leg.$i.node]}" ||
			F[leg.$i.badblocks]=yes
		membership_outside_ "$i"
	done
	may_leave_look
}

# Sets what a disk outside the array is good for.
membership_outside_() { # I
	local LEG='' dev=${F[leg.$1.dev]} why
	F[leg.$1.kind]='' F[leg.$1.why]='' F[leg.$1.force]=''
	[[ -z ${F[leg.$1.state]} ]] || return 0
	[[ $dev != "${MEMBERSHIP_FORCE-}" ]] || F[leg.$1.force]=yes
	transitions_leg "$1"
	# A change builds such a disk even if it could be put back.
	! leg_is_fresh "$1" || LEG=fresh
	F[leg.$1.kind]=$LEG
	[[ -n ${F[leg.$1.node]} ]] || return 0
	[[ $LEG == used ]] || membership_whose_loose "$1"
	why=$(md_state_leg_why_not "${F[array.md]}" "${F[leg.$1.node]}") || why=$TEXT_UNKNOWN
	F[leg.$1.why]=${why//$'\n'/ }
	# A disk that is mounted or held must not be overwritten, not even with --force.
	[[ $LEG == @(occupied|damaged|unreadable|silent) ]] || return 0
	why=$(disk_why_not_free "$dev") || why=$TEXT_UNKNOWN
	why=$(printf '%s\n' "$why" | sed "${F[leg.$1.force]:+/^signature: /d}" | paste -sd ' ')
	F[leg.$1.why]=$why${F[leg.$1.why]:+ ${F[leg.$1.why]}}
}

# membership_ask NAME: shows the plan, and asks. membership_check NAME: makes the plan once more,
# with the lock held, because something may have changed while the person thought about the answer.
# Both end the program when something speaks against the plan.
membership_ask() {
	membership_plan
	cli_ask "$1"
}
membership_check() {
	membership_plan
	cli_wrong "$1"
}

# membership_all NAME VERB-LINE: carries out the change until nothing is left to do. VERB-LINE is
# what a person types to go on if it is cut off.
membership_all() {
	local actions=0 idle='' shown='' code
	MEMBERSHIP_AGAIN=$2
	trap 'membership_end $?' EXIT
	trap 'exit 130' INT TERM HUP
	rm -f "$RUN/$1.tried" # its words are counted by member
	while :; do
		facts_observe
		# While md resyncs or rebuilds, the plan needs no other facts.
		[[ ${F[array.sync]} != @(idle|frozen) ]] || membership_facts "$1"
		membership_plan_next
		if [[ $ACTION == wait-sync ]]; then
			# The program that compares the legs may be killed during the wait.
			[[ ${F[array.sync]} != check ]] || left_check_end
			[[ ! -t 2 ]] || { shown=yes && progress_line; }
			[[ ${F[array.sync]} == idle ]] || idle=''
			! clock_stalls idle "$LOOP_STALL" || membership_stall "$1"
			sleep "$LOOP_LOOK"
			continue
		fi
		progress_line_end "$shown"
		idle='' shown=''
		[[ $ACTION != 'done' ]] || break
		log_info "$1: $WHY"
		[[ $ACTION != refuse ]] || die "$1: $WHY" "$EX_REFUSED"
		loop_act_count "$1"
		membership_act_ "$1"
	done
	membership_done_ "$1"
	trap - EXIT INT TERM HUP
}

membership_act_() { # NAME
	LOOP_ERROR=''
	whole_since_update # until now it was what it was: by the end it may be whole again
	case $ACTION in
	slots | thaw | build | drop | forget) "membership_${ACTION}_" "$1" "${ARGUMENTS[@]}" ;;
	# If md does not take the disk back, the next decision deals with that.
	readd) disk_legs_readd "${ARGUMENTS[@]}" || loop_act_failed $? ;;
	*) loop_act ;;
	esac || die "$1: ${LOOP_ERROR:-$ACTION failed}"
}

membership_end() { # EXIT-CODE
	uninterrupted_begin
	(($1 == 0)) || log_error "${F[name]}: not finished; \
the array goes on with every disk that was good. To go on: $MEMBERSHIP_AGAIN"
	exit "$1"
}

membership_done_() { # NAME
	witness_update_or_go_on
	whole_since_update
	removals_write "$1" "${CONF[UUID]}"
	conf_need_keep "$1"
	[[ $OUTCOME != short ]] || die "$1: $WHY; see: ramraid status $1"
	notify_said notice "$1: $WHY"
	[[ ${CONF[RAM]} == none || ${F[ram.state]} == in_sync ]] ||
		log_notice "$1: it has no RAM leg now; to add one: ramraid attach $1"
}

# --- one function an action

# md may move the members together, which may change the number of the RAM leg's slot. Nobody may
# use that number meanwhile, so the record says that it is not known, and afterwards says the new
# one.
membership_slots_() { # NAME N
	witness_update no-ram-slot || return
	md_set_slots "${F[array.md]}" "$2" || {
		LOOP_ERROR="md could not set ${F[array.md]} to $2 slots"
		return 1
	}
	facts_observe
	witness_update
}

membership_thaw_() { md_thaw_left "${F[array.md]}"; } # NAME

# The rebuild begins only once the disk is write-mostly; otherwise md would read from it what it has
# rebuilt so far. If the program is killed in between, md stays frozen and begins no work, until the
# next run or a reboot ends that.
membership_build_() { # NAME I
	local node=${F[leg.$2.node]} md=${F[array.md]} why code=0 SEEN
	disk_legs_see "$2"
	# This looks once more: since the decision, somebody may have begun to use the disk.
	membership_outside_ "$2"
	membership_plan_may_build "$2" || {
		LOOP_ERROR="${F[leg.$2.dev]} is not added: it is \
${F[leg.$2.kind]}${F[leg.$2.why]:+, ${F[leg.$2.why]}}${F[leg.$2.loose]:+, ${F[leg.$2.loose]}}\
${F[leg.$2.whose]:+, and ${F[leg.$2.whose]/$'\n'/. }}"
		return 1
	}
	witness_update_free_slot || return
	disk_legs_is_still "$2" "$SEEN" || return
	case ${F[leg.$2.kind]} in
	blank) ;;
	occupied | damaged | unreadable | silent)
		act wipefs --all --quiet -- "/dev/$node" || return
		;;
	*) md_zero "$node" || return ;;
	esac
	uninterrupted_begin
	md_freeze "$md" && md_add "$md" "$node" && md_set_writemostly "$md" "$node" || code=1
	((code != 0)) || md_thaw "$md" || code=1
	((code == 0)) || membership_unbuild_ "$md" "$node"
	uninterrupted_end 'exit 130'
	why=$(ram_leg_bad_blocks)
	((code == 0)) || LOOP_ERROR="md did not take ${F[leg.$2.dev]}$why"
	return "$code"
}

# Takes the disk out again: as it is, md must not begin to read from it.
membership_unbuild_() { # MD NODE
	[[ ! -e $SYS/class/block/$2/holders/$1 ]] || md_remove "$1" "$2" || {
		log_warning "$1: /dev/$2 could not be taken out again; sync_action stays frozen \
until it is"
		return
	}
	md_thaw "$1" || log_warning "$1: its sync_action is frozen, and could not be set to idle; \
to try that again: ramraid apply ${F[name]}"
}

# Takes a disk out, and writes down at that moment that it is given up: if it is plugged in or named
# again, it is not put back as if nothing had happened.
membership_drop_() { # NAME I
	# This reports the new disk as in sync before the old one is out. It runs in a subshell,
	# because its look does not know which disks are to leave. It may take a while, so the
	# record is made from a new look after it; md_drop looks once more.
	(transitions_tell "$1") || log_warning "$1: what has changed is reported at the next look"
	facts_observe
	witness_update || return
	membership_give_up_ "$2"
	# The RAM leg does not count as a copy: a power cut loses what only the RAM leg has.
	md_drop "${F[array.md]}" "${F[leg.$2.node]}" "${F[ram.node]}" || {
		LOOP_ERROR="${F[leg.$2.dev]} could not be taken out, \
or the other disk legs do not have all that it has"
		return 1
	}
	facts_observe
	witness_update
}

# Forgets a disk that has left: gives it up, removes it from the configuration, and makes its
# superblock invalid, so that nobody takes it for a part of this array, here or elsewhere. The order
# matters: a kill in between leaves a disk that is in no configuration, or is still in the note.
membership_forget_() { # NAME DISK
	local i disk keep=() left=()
	for ((i = 0; i < F[members]; i++)); do
		if [[ ${F[leg.$i.dev]} == "$2" ]]; then
			membership_give_up_ "$i"
		else keep+=("${F[leg.$i.dev]}"); fi
	done
	witness_update || return
	conf_edit_members "$1" "${keep[@]}" || {
		LOOP_ERROR="$ETC/$1.conf could not be written"
		return 1
	}
	membership_wipe_ "$2"
	for disk in "${LEAVING[@]}"; do [[ $disk == "$2" ]] || left+=("$disk"); done
	removals_write "$1" "${F[uuid]}" "${left[@]}" || return
	notify_said notice "$1: $2 is no longer one of its disk legs"
	membership_look "$1"
}

# Wipes only what is given up: a person may have deleted the line of a disk that no run has judged.
membership_wipe_() { # DISK
	local NODE facts holders
	disk_find "$1" && holders=$(disk_holders "$NODE") && [[ -z $holders ]] || return 0
	facts=$(superblock_facts "$DEV/$NODE")
	[[ $facts == sb=ok$'\n'uuid="${F[uuid]}"$'\n'* && $facts =~ device_uuid=([0-9a-f-]+) ]] ||
		return 0
	if [[ " ${F[witness.given]} ${F[witness.give_up]-} " != *" ${BASH_REMATCH[1]} "* ]]; then
		log_warning "${F[name]}: $1 keeps its superblock, since it is not known whether \
the array has all that is on it. If nothing on it is needed any more: mdadm --zero-superblock $1"
		return
	fi
	md_zero "$NODE" ||
		log_warning "${F[name]}: the superblock on $1 could not be made invalid. This \
machine does not put it back, but on another one it looks like a leg of this array"
}

# Adds the device UUID of leg I to those that the next record gives up. If the disk is missing, adds
# every UUID that was ever in sync, and that neither another disk nor the device in the RAM leg's
# place has. If a further disk is missing, nobody can tell their UUIDs apart; then only the
# configuration keeps the disk out.
membership_give_up_() { # I
	local j uuid UUID others=' '
	membership_uuid_ "$1"
	if [[ -n $UUID ]]; then
		F[witness.give_up]+=" $UUID"
		return
	fi
	[[ -z ${F[leg.$1.node]} ]] || return 0
	for ((j = 0; j < F[members]; j++)); do
		((j != $1)) || continue
		membership_uuid_ "$j"
		[[ -n $UUID ]] || return 0
		others+="$UUID "
	done
	if [[ -n ${F[leg.ram.dev]-} ]]; then
		UUID=${F[leg.ram.device_uuid]}
		[[ ${F[ram.state]} != in_sync ]] ||
			UUID=$(superblock_says "${F[ram.node]}" device_uuid)
		[[ -n $UUID ]] || return 0
		others+="$UUID "
	fi
	for uuid in ${F[witness.legs]} ${F[witness.left]-} ${F[witness.seen]-} \
		${F[witness.doubted]-}; do
		[[ $others == *" $uuid "* ]] || F[witness.give_up]+=" $uuid"
	done
}

membership_uuid_() { # I; sets the caller's UUID to that in its superblock, if it is of this array
	local facts
	UUID=''
	[[ -n ${F[leg.$1.node]} ]] || return 0
	facts=$(superblock_facts "$DEV/${F[leg.$1.node]}")
	[[ $facts != sb=ok$'\n'uuid="${F[uuid]}"$'\n'* || ! $facts =~ device_uuid=([0-9a-f-]+) ]] ||
		UUID=${BASH_REMATCH[1]}
}
