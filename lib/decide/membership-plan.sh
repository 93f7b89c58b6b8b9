# The pure ring's part for a change of the disks: what is wrong with it, what it will do, and what
# the next step is. It uses only the facts.
# shellcheck shell=bash
#
# A far2 always has two slots (array.slots): one is free only if its disk is gone or taken out.
#
# A new disk gets a slot of its own (mdadm --grow --raid-devices, which on a mirror rebuilds
# nothing), and the old one leaves only when every disk that is to stay is in sync: at no moment are
# there fewer good copies than before. md's own way, "mdadm --replace OLD --with NEW", is not used:
# md would give it any spare (remove_and_add_spares() in linux drivers/md/md.c), even a ramdisk that
# joins at that moment, and would replace the old disk with the rebuilt one by itself, whether or
# not the record of the legs in sync has been written.

need core/paths decide/action decide/choice decide/health decide/membership-wrong decide/not-ours
need decide/readd decide/unbuilt

declare -gA F # the facts: decide/facts.list

# membership_plan_count_: sets the caller's goal (how many disks are to be in the array), good (of
# these, in sync), coming (of these, to be built or put back), leaving (disks that are to leave),
# inside (of these, still in the array), copies (of these, in sync) and lacking (of the disks that
# lack blocks that md could not write: those that are to stay minus those that are to leave).
membership_plan_count_() {
	local i
	goal=0 good=0 coming=0 leaving=0 inside=0 copies=0 lacking=0
	for ((i = 0; i < F[members]; i++)); do
		if [[ ${F[leg.$i.leaving]} == yes ]]; then
			[[ ${F[leg.$i.lacks]} != yes ]] || lacking=$((lacking - 1))
			leaving=$((leaving + 1))
			[[ ${F[leg.$i.in]} != "${F[array.md]}" ]] || inside=$((inside + 1))
			[[ ${F[leg.$i.state]} != in_sync ]] || copies=$((copies + 1))
			continue
		fi
		goal=$((goal + 1))
		[[ ${F[leg.$i.lacks]} != yes ]] || lacking=$((lacking + 1))
		[[ ${F[leg.$i.state]} != in_sync ]] || good=$((good + 1))
		[[ ${F[leg.$i.state]} != recovering ]] || coming=$((coming + 1))
		[[ -n ${F[leg.$i.in]} ]] || ! membership_plan_may_join_ "$i" ||
			coming=$((coming + 1))
	done
}

# membership_plan_may_join_ I: can a disk outside be put back, or built?
membership_plan_may_join_() { membership_plan_may_return_ "$1" || membership_plan_may_build "$1"; }
membership_plan_may_return_() {
	[[ ${F[leg.$1.kind]} == @(returned|removed) ]] && readd_by_bitmap "$1" &&
		! choice_barred "readd.$1"
}
# While only the RAM leg is in sync, a disk that was there before is not built: until that has
# finished, even a stale disk is better than none (readd_is_open_).
membership_plan_may_build() {
	[[ -z ${F[leg.$1.why]}${F[leg.$1.loose]}${F[leg.$1.whose]} ]] &&
		! membership_plan_may_return_ "$1" || return 1
	[[ ${F[leg.$1.kind]} != @(returned|removed) ]] || {
		health_disk_in_sync
		return
	}
	[[ ${F[leg.$1.kind]} == @(blank|begun|fresh) ]] || [[ ${F[leg.$1.force]} == yes &&
		(${F[leg.$1.kind]} == @(occupied|damaged|unreadable|silent) ||
		${F[leg.$1.kind]} == @(foreign|copy|given|ahead|holding|separate)) ]]
}

# membership_plan: sets PLAN (what will be done, in words) and WRONG (why not, and what to do).
membership_plan() {
	local i goal good coming leaving inside copies lacking building='' joins='' invalid WHERE \
		KEPT
	PLAN=() WRONG=()
	membership_plan_count_
	membership_wrong_array
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.leaving]} != yes ]] || continue
		[[ ${F[leg.$i.is_ram]} != yes ]] ||
			WRONG+=("${F[leg.$i.dev]}: is what RAM= names (${F[conf.ram]}), and the \
RAM leg need not keep its contents. Take another disk")
		[[ ${F[leg.$i.state]} == in_sync ]] || membership_plan_joins_ "$i"
	done
	[[ -z $building ]] || membership_wrong_building $((good + inside))
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.leaving]} == yes ]] || continue
		[[ -z ${F[leg.$i.dropin]} ]] ||
			WRONG+=("${F[leg.$i.dev]}: is named as MEMBER in ${F[leg.$i.dropin]}, \
which is yours to edit: move that line to $ETC/${F[name]}.conf, then type this again")
		! membership_wrong_leaving "$i" || WRONG+=("$KEPT")
		invalid=', and make its superblock invalid'
		[[ -n ${F[leg.$i.node]} ]] || invalid=', which is not there, and give it up'
		invalid+=${building:+, when the others are in sync}
		membership_plan_where_ "$i"
		PLAN+=("take out  ${F[leg.$i.dev]}$WHERE$invalid")
	done
	membership_wrong_last "$goal" $((good + coming)) "$leaving"
	membership_wrong_blocks
	membership_wrong_slots "$goal" "$joins"
	[[ -z ${F[change.left]} ]] || PLAN+=("forget    ${F[change.left]}")
	[[ -z ${F[change.kept]} ]] ||
		PLAN+=("keep      ${F[change.kept]}: what was to replace it is no MEMBER any more")
	[[ ${F[conf.layout]} == far2 ]] || ((${F[array.slots]} == goal + 1)) ||
		PLAN+=("slots     $((goal + 1)), one of them for the RAM leg; \
there are ${F[array.slots]}")
}

# membership_plan_where_ I: sets WHERE to the device that the name leads to: "(/dev/sdc, usb)".
membership_plan_where_() {
	local bus=${F[leg.$1.bus]}
	[[ $bus != other ]] || bus=''
	WHERE=${F[leg.$1.node]:+" (/dev/${F[leg.$1.node]}${bus:+, $bus})"}
}

# Plans what is done with a disk that is not in sync. Sets the caller's building when md has to
# rebuild it, and joins when it is to join the array.
membership_plan_joins_() { # I
	local dev=${F[leg.$1.dev]} WHERE
	membership_plan_where_ "$1"
	case ${F[leg.$1.state]} in
	recovering) PLAN+=("wait for  $dev$WHERE, which is being rebuilt") building=yes && return ;;
	faulty)
		membership_plan_stays_ "$1" ||
			WRONG+=("$dev: md has given it up. See what is wrong with it \
(journalctl -k), then: ramraid attach ${F[name]}; or replace it: \
ramraid replace ${F[name]} $dev NEW")
		return
		;;
	esac
	if membership_plan_may_build "$1"; then
		PLAN+=("build     $dev$WHERE, write-mostly; whatever is on it is lost")
		building=yes joins=yes
	elif membership_plan_may_return_ "$1"; then
		PLAN+=("put back  $dev$WHERE") joins=yes
	elif [[ -n ${F[leg.$1.whose]} ]]; then
		not_ours "$1" foreign
		WRONG+=("$dev: $NOT_OURS. ${NOT_OURS_DO^}")
	elif [[ ${F[leg.$1.kind]} == @(returned|removed) && -z ${F[leg.$1.why]} ]] &&
		! health_disk_in_sync; then
		PLAN+=("build     $dev$WHERE, as soon as another disk is in sync; whatever is \
on it is lost")
		building=yes joins=yes
	else
		membership_wrong_loose "$1" "$dev$WHERE"
		membership_plan_stays_ "$1" || membership_wrong_disk "$1" "$dev" "$copies"
	fi
}

# membership_plan_may_stay_ I: may disk I, which md has given up or which can't be read, stay as it
# is, because the change replaces another disk, and no disk in sync leaves? Then it is no worse than
# one that is missing.
membership_plan_may_stay_() {
	[[ ${F[leg.$1.state]} == faulty || ${F[leg.$1.kind]} == @(unreadable|silent) ]] &&
		((leaving > 0 && copies == 0)) && [[ -z ${F[leg.$1.replaces]} ]]
}
# Adds that to the plan. Returns 1 if it may not.
membership_plan_stays_() { # I
	local dead='md has given it up' WHERE
	membership_plan_may_stay_ "$1" || return 1
	[[ ${F[leg.$1.state]} == faulty ]] || dead="it can't be read"
	membership_plan_where_ "$1"
	PLAN+=("leave     ${F[leg.$1.dev]}$WHERE as it is: $dead")
}

# membership_plan_next: decides the next step, as action_choose; refuse ends it. Further actions:
#   slots N        give the array N slots
#   thaw           let md work again, which a run of this that was killed had stopped
#   build I        have md build a new disk
#   drop I         take out a disk leg that is to leave
#   forget NAME    forget a disk that has left
membership_plan_next() {
	local i goal good coming leaving inside copies lacking
	action_choose
	[[ $ACTION != @(refuse|make-writable|set-backlog|write-mostly) ]] || return 0
	membership_plan_count_
	membership_plan_work_ || return 0
	membership_plan_gone_ || return 0
	membership_plan_join_ || return 0
	membership_plan_leave_ || return 0
	if [[ ${F[conf.layout]} != far2 ]] && ((${F[array.slots]} != goal + 1)); then
		choice_is slots "${F[array.md]} has ${F[array.slots]} slots for $goal disks and \
the RAM leg" $((goal + 1))
	elif ((good < goal)); then
		health_lost
		choice_is 'done' "not whole; not in sync:$LOST"
		OUTCOME=short
	else
		choice_is 'done' 'all configured disks are in sync, and no others are in the array'
		OUTCOME=whole
	fi
}

# md's current work has to end first: until then it takes no new slot, and no disk leaves. This
# function and the next three return 1 when an action was decided.
membership_plan_work_() {
	local i
	if [[ ${F[array.sync]} == frozen ]]; then
		choice_is thaw 'its sync_action is frozen'
	elif [[ ${F[array.sync]} != idle ]]; then
		choice_is wait-sync "md is at work (${F[array.sync]})"
	elif [[ ${F[array.pending]} == yes ]]; then
		choice_is wait-sync 'a resync is due'
	elif [[ ${F[ram.state]} == recovering ]]; then
		# If md has given that up, the RAM leg must not be there when a disk joins
		# (decide/unbuilt.sh).
		choice_is wait-sync 'the RAM leg is being rebuilt'
	else
		for ((i = 0; i < F[members]; i++)); do
			[[ ${F[leg.$i.state]} == recovering && ${F[leg.$i.leaving]} != yes ]] ||
				continue
			choice_is wait-sync "disk leg ${F[leg.$i.dev]} is being rebuilt"
			return 1
		done
		return 0
	fi
	return 1
}

# Takes out members whose device is gone, and disks that are to leave and that md has given up or
# does not rebuild, as long as some leg is in sync.
membership_plan_gone_() {
	local i node
	health_disk_in_sync || [[ ${F[ram.state]} == in_sync ]] || return 0
	for node in ${F[array.gone]}; do
		choice_is remove-gone "the device of member $node is gone" "$node"
		return 1
	done
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.leaving]} == yes ]] || continue
		[[ ${F[leg.$i.state]} == faulty ]] || unbuilt_has_no_slot "leg.$i" || continue
		choice_is remove-leg "md has given up ${F[leg.$i.dev]}, which is leaving" "$i"
		return 1
	done
}

# Each disk that is to be in the array and each that has yet to leave needs a slot, and so does the
# RAM leg, so that none takes another's.
membership_plan_join_() {
	local i
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.leaving]} != yes ]] || continue
		if [[ ${F[leg.$i.state]} == faulty ]]; then
			! membership_plan_may_stay_ "$i" || continue
			choice_is refuse "md has given up ${F[leg.$i.dev]}; nothing is taken out. \
To replace it: ramraid replace ${F[name]} ${F[leg.$i.dev]} NEW"
		elif [[ -n ${F[leg.$i.in]} ]] || ! membership_plan_may_join_ "$i"; then
			continue
		elif [[ ${F[conf.layout]} != far2 ]] &&
			((${F[array.slots]} < goal + inside + 1)); then
			choice_is slots "${F[leg.$i.dev]} needs a slot" $((goal + inside + 1))
		elif membership_plan_may_build "$i"; then
			choice_is build "md rebuilds ${F[leg.$i.dev]} in ${F[array.md]}; \
this takes a while" "$i"
		else
			choice_is readd "disk leg ${F[leg.$i.dev]} is present \
but not in the array" "$i"
		fi
		return 1
	done
}

membership_plan_leave_() {
	local i KEPT
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.leaving]} == yes ]] || continue
		if ((good > 0)) && [[ ${F[leg.$i.in]} != "${F[array.md]}" ]]; then
			choice_is forget "${F[leg.$i.dev]} has left" "${F[leg.$i.dev]}"
			! membership_wrong_leaving "$i" || choice_is refuse "$KEPT"
		elif ((goal == 0 || good < goal)); then
			choice_is refuse "not all remaining disks are in sync, so ${F[leg.$i.dev]} \
stays as well. See: ramraid status ${F[name]}"
		elif ((lacking > 0)); then
			choice_is refuse "md could not write some blocks of a remaining disk, so \
${F[leg.$i.dev]} stays as well. To see which one: ramraid check ${F[name]}; replace that one first"
		else
			choice_is drop "$good disks are in sync without ${F[leg.$i.dev]}, so it \
can leave" "$i"
		fi
		return 1
	done
	for i in ${F[change.left]}; do
		choice_is forget "$i has left" "$i"
		return 1
	done
}
