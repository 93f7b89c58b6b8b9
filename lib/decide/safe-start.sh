# Whether the disk legs may be started, and which of them: the table under START in
# ramraid-concepts(7). decide/histories.sh compares the legs. It uses only the facts.
# shellcheck shell=bash

need core/paths decide/choice decide/give-up decide/health decide/histories decide/leg
need decide/leg-alone decide/ram-device decide/strangers decide/superseded

declare -gA F # the facts: decide/facts.list

# Safe start. md itself starts stale legs, and silently merges legs with separate histories. So they
# are judged here, by their superblocks, and then named to mdadm one by one. A leg is good when its
# superblock belongs to the array, holds a slot, and is complete. A leg that another good leg calls
# missing is older, whatever its event count, and is never started with it.
safe_start() {
	local GOOD=() REFUSED=() GIVEN=() MISSING=0 CURRENT=() NEWEST UNUSABLE
	strangers_foreign && return
	safe_start_sort_
	safe_start_at_once_ && return
	# There is a good leg to rebuild them from, if the array can be started from that.
	safe_start_say_given_ "; make it blank (mdadm --zero-superblock) and add it again, once \
the array runs without it"
	histories_current "${GOOD[@]}"
	histories_newest "${CURRENT[@]}"
	strangers "$NEWEST" "${GOOD[@]}" && return
	safe_start_divergent_ "$NEWEST" "${CURRENT[@]}" && return
	[[ -n ${F[leg.ram.dev]} ]] && ram_device_first "$MISSING" "${GOOD[@]}" && return
	# What a missing leg could still change is decided when the wait for it is over, or when
	# there is no need to wait.
	if ((${#GOOD[@]} < ${F[members]})) &&
		! safe_start_without_ok_ "$NEWEST" "$MISSING" "${REFUSED[@]}"; then return; fi
	safe_start_stale_ "$NEWEST" && return
	superseded_refuse "$NEWEST" && return
	safe_start_assemble_ "$NEWEST" "${CURRENT[@]}"
}

# safe_start_sort_: sets GOOD to the good legs, MISSING to the number of absent ones, GIVEN to those
# that were given up, and REFUSED to a text on each of the others. Sets UNUSABLE to the same as a
# sentence for a refusal, because one of these legs may be the one that is needed.
safe_start_sort_() {
	local i KIND
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_kind "$i"
		[[ $KIND == absent ]] || ! give_up_is_given "$i" || KIND=given
		[[ $KIND != good || -z ${F[leg.$i.alien]} ]] || strangers_alien "$i"
		case $KIND in
		absent) MISSING=$((MISSING + 1)) ;;
		good) GOOD+=("$i") ;;
		given) GIVEN+=("$i") ;;
		*) REFUSED+=("${F[leg.$i.dev]} $KIND") ;;
		esac
	done
	UNUSABLE=''
	((${#REFUSED[@]} == 0)) || {
		printf -v UNUSABLE '; %s' "${REFUSED[@]}"
		UNUSABLE="Look first at what can't be used: ${UNUSABLE#; }. "
	}
}

# safe_start_say_given_ WAY-OUT: adds to REFUSED a text on each leg that was given up.
safe_start_say_given_() {
	local i text=" has been given up by a start without it$1"
	for i in "${GIVEN[@]}"; do REFUSED+=("${F[leg.$i.dev]}$text"); done
}

# safe_start_at_once_: sets the action and returns 0 when that needs no comparison of the legs.
safe_start_at_once_() {
	local HALF
	if [[ -n ${F[record.why]} ]]; then
		choice_is refuse "${F[record.why]}"
	elif [[ -n ${F[forced]} ]]; then
		safe_start_forced_ "${F[forced]}"
	elif [[ -n ${F[rescue.image]} ]]; then
		health_half
		choice_is refuse "the RAM leg was the only good copy when the array was stopped; \
what it held is in ${F[rescue.image]}${F[rescue.lost]:+ (${F[rescue.lost]})}. Put it back: \
ramraid restore ${F[name]}. To give it up: ramraid start --force-leg=DISK ${F[name]}$HALF"
	elif ((${#GOOD[@]} == 0)); then
		# No advice to wipe them: one of them may be all that is left.
		safe_start_say_given_ ''
		safe_start_none_good_ "$MISSING" "${REFUSED[@]}"
	elif choice_barred assemble; then
		choice_is refuse "it could not be started: $BARRED"
	else
		return 1
	fi
}

# safe_start_assemble_ NEWEST LEG…: starts from the newest leg, and from those that are equal to it.
safe_start_assemble_() {
	local newest=$1 i nodes=()
	shift
	for i; do
		! histories_equal "$newest" "$i" "$@" || nodes+=("${F[leg.$i.node]}")
	done
	if ((${#nodes[@]} == 0)); then
		choice_is refuse "each disk leg is called missing by another one, \
so none is known to have all that was written. Look at them (mdadm --examine), choose one, \
and start from it alone: ramraid start --force-leg=DISK ${F[name]}; \
the newest is ${F[leg.$newest.dev]} (events ${F[leg.$newest.events]})"
	else
		choice_is assemble "${#nodes[@]} of ${F[members]} disk legs are safe to \
start from" "${nodes[@]}"
	fi
}

# safe_start_forced_ LEG: starts from the leg that the administrator has chosen, whatever speaks for
# the others; they stay out, since md would merge them.
safe_start_forced_() {
	local KIND
	leg_kind "$1"
	if [[ $KIND != good ]]; then
		choice_is refuse "${F[leg.$1.dev]} $KIND: nothing can be started from it"
	elif choice_barred assemble; then
		choice_is refuse "it could not be started: $BARRED"
	else
		GIVING_UP=yes
		choice_is assemble "${F[leg.$1.dev]} was chosen by the administrator" \
			"${F[leg.$1.node]}"
	fi
}

safe_start_none_good_() { # ABSENT REFUSED…
	local absent=$1 text='' ABSENT
	shift
	leg_absent_names
	if ((absent > 0)) && ! choice_time_is_up conf.member_timeout; then
		choice_is wait-members "waiting for $absent of ${F[members]} disk legs:$ABSENT"
		return
	fi
	! safe_start_device_alone_ "$absent" || return 0
	(($# == 0)) || printf -v text '; %s' "$@"
	((absent == 0)) || text+="; missing:$ABSENT"
	safe_start_none_but_given_
	[[ -z ${F[leg.ram.dev]} ]] || safe_start_none_but_device_
	choice_is refuse "no disk leg to start from${text/#; /: }"
}

# Adds to the caller's text the way out when only legs that were given up are left.
safe_start_none_but_given_() {
	local i KIND gone=${ABSENT:+If$ABSENT is gone for good, to}
	for i in "${GIVEN[@]}"; do
		leg_kind "$i"
		[[ $KIND != good ]] || text+=". ${gone:-To} go on with what ${F[leg.$i.dev]} has: \
ramraid start --force-leg=${F[leg.$i.dev]} ${F[name]}"
	done
}

# Starts from the device that is the RAM leg when it was the only good copy, and the power went
# while the disk legs were being put back to it, so that none of them is good. Not when there is any
# other kind of disk leg, or another device that carries the array's UUID: nothing shows which of
# them is newer.
safe_start_device_alone_() { # ABSENT
	local i LEG KIND NEWEST=ram
	[[ -n ${F[leg.ram.dev]} && -n ${F[witness.events]} && -z ${F[witness.legs]} &&
		${F[clones_known]} != no && -z ${F[clones]} && -z ${F[leg.ram.alien]} ]] || return 1
	! choice_barred assemble && ! give_up_is_given ram || return 1
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_alone "$i"
		[[ $LEG == @(missing|silent|unreadable|blank|partial) ]] || return 1
	done
	leg_kind ram
	[[ $KIND == good ]] && ram_device_newest "$1" && [[ $ACTION != refuse ]]
}

# Adds to the caller's text the way out when only a device that is the RAM leg is left.
safe_start_none_but_device_() {
	local KIND
	leg_kind ram
	[[ $KIND != good ]] ||
		text+=". ${F[leg.ram.dev]}, the RAM leg, is at ${F[leg.ram.events]} events; \
to start from it alone: ramraid start --force-leg=${F[leg.ram.dev]} ${F[name]}"
}

# safe_start_divergent_ NEWEST LEG…: were two legs each started without the other? Then both hold
# acknowledged writes that the other lacks. The signs: each calls the other missing; one is called
# missing but has more events; or histories_ran_separately finds it. That both claim the same slot
# is no sign: each may have had it at another time. While a disk is still missing that may show that
# one of the two has merely fallen behind, the start waits for it. Sets the action and returns 0 if
# so.
safe_start_divergent_() {
	local newest=$1 i j ABSENT
	shift
	for i; do
		for j; do
			((i < j)) || continue
			if [[ ${F[leg.$i.node]} == "${F[leg.$j.node]}" ]]; then
				choice_is refuse "${F[leg.$i.dev]} and ${F[leg.$j.dev]} are the \
same disk, /dev/${F[leg.$i.node]}: delete one of the two MEMBER= lines"
				return 0
			fi
			{
				histories_calls_missing "$i" "$j" && {
					histories_calls_missing "$j" "$i" ||
						histories_has_later_events "$j" "$i"
				}
			} ||
				{
					histories_calls_missing "$j" "$i" &&
						histories_has_later_events "$i" "$j"
				} ||
				{
					[[ $i == "$newest" ]] && histories_ran_separately "$i" "$j"
				} || {
				[[ $j == "$newest" ]] &&
					histories_ran_separately "$j" "$i"
			} || continue
			if ((MISSING > 0)) && ! choice_time_is_up conf.member_timeout; then
				leg_absent_names
				choice_is wait-members "waiting for $MISSING of \
${F[members]} disk legs:$ABSENT"
				return 0
			fi
			safe_start_apart_ "$i" "$j"
			return 0
		done
	done
	return 1
}

# safe_start_apart_ I J: refuses to start from two legs that ran without each other. If the witness
# vouches for one of them alone, that one is the likelier choice, and comes first.
safe_start_apart_() {
	local first=$1 second=$2 known=''
	[[ -z ${F[witness.events]} ]] || {
		! histories_witness_agrees "$2" || histories_witness_agrees "$1" ||
			first=$2 second=$1
		! histories_witness_agrees "$first" || histories_witness_agrees "$second" ||
			known="When the array last ran, ${F[leg.$first.dev]} was in sync, and \
${F[leg.$second.dev]} was not. "
	}
	choice_is refuse "${F[leg.$first.dev]} (events ${F[leg.$first.events]}) and \
${F[leg.$second.dev]} (events ${F[leg.$second.events]}) have been used without each other; \
each may hold writes that the other lacks. ${known}Look at both (mdadm --examine), choose one, \
and start from it alone: ramraid start --force-leg=${F[leg.$first.dev]} ${F[name]}, or: \
ramraid start --force-leg=${F[leg.$second.dev]} ${F[name]}"
}

# safe_start_without_ok_ NEWEST ABSENT REFUSED…: may the array start without the legs that are
# absent (a number) or unusable (in words)? Sets the action and returns 1 if not, or not yet. A leg
# that the newest one already calls missing need not be waited for, unless the witness or another
# leg shows that the array ran on without the newest one.
safe_start_without_ok_() {
	local newest=$1 absent=$2 text names ABSENT DOUBT='' SUCCESSOR
	shift 2
	if histories_newest_knows "$newest" && histories_witness_agrees "$newest" &&
		! histories_find_successor "$newest"; then return 0; fi
	leg_absent_names
	if ((absent > 0)) && ! choice_time_is_up conf.member_timeout; then
		choice_is wait-members "waiting for $absent of ${F[members]} disk legs:$ABSENT"
		return 1
	fi
	names=${ABSENT:+missing:$ABSENT}
	for text; do names+="${names:+; }$text"; done
	safe_start_witness_why_ "$newest"
	[[ ${F[conf.start_degraded]} != never ]] || DOUBT='START_DEGRADED=never'
	[[ -n $DOUBT ]] || return 0
	[[ ${F[conf.start_degraded]} != always ]] || {
		GIVING_UP=yes
		return 0
	}
	# "Known to be older" says more than "nothing vouches for it".
	! safe_start_stale_ "$newest" || return 1
	choice_is refuse "not all disk legs can be used ($names), and $DOUBT. Bring them back, or, \
if they are gone for good, set START_DEGRADED=always in $ETC/${F[name]}.conf, or where ramraid \
config show ${F[name]} says that it is set, for this one start; then: ramraid start ${F[name]}"
	return 1
}

# safe_start_stale_ NEWEST: sets the refusal and returns 0 if the witness knows a later state than
# that of the newest leg that is present.
safe_start_stale_() {
	[[ -n ${F[witness.events]} ]] || return 1
	local ABSENT gone='and it is gone'
	leg_absent_names
	[[ ${F[ram.state]} != attached ]] ||
		gone="and somebody else has stopped it; the ramdisk is still there (to go on with \
what it has: mdadm --assemble --run /dev/md/${F[name]} /dev/${F[ram.node]} && \
ramraid start ${F[name]})"
	# A leg that has more events now and calls the RAM leg active may have been made equal to
	# it. But elsewhere another RAM leg may have had that number and slot, so that is no proof.
	if [[ -z ${F[witness.legs]} ]]; then
		choice_is refuse "when the array last ran, \
the RAM leg was the only good copy (at ${F[witness.events]} events), $gone: \
every disk leg lacks what was written after it had left; the newest, ${F[leg.$1.dev]}, \
is at ${F[leg.$1.events]} events. \
${F[leg.ram.dev]:+${F[leg.ram.dev]} is not there, or has not kept it. }\
${ABSENT:+Bring the missing disk:$ABSENT. }${UNUSABLE}To go on with what that disk has: \
ramraid start --force-leg=${F[leg.$1.dev]} ${F[name]}"
		return 0
	fi
	safe_start_gone_back_ "$1" && return
	# For a leg that was in sync, one event less may be an update that md had half finished.
	((${F[leg.$1.events]} < ${F[witness.events]})) || return 1
	! histories_witness_agrees "$1" || ((${F[leg.$1.events]} + 1 < ${F[witness.events]})) ||
		return 1
	choice_is refuse "the newest disk leg present, ${F[leg.$1.dev]}, \
is at ${F[leg.$1.events]} events, but the array was at ${F[witness.events]} when it last ran: \
starting would lose what was written since. \
${ABSENT:+Bring the missing disk back:$ABSENT. }${UNUSABLE}To give that up: \
ramraid start --force-leg=${F[leg.$1.dev]} ${F[name]}"
}

# safe_start_gone_back_ NEWEST: sets the refusal and returns 0 if the newest leg was not in sync
# when the array last ran, and one that was is here, but older than it was then. That leg was put
# back to an old image of itself, and what it held since is gone.
safe_start_gone_back_() {
	local i
	! histories_witness_agrees "$1" || return 1
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.sb]} == ok && ${F[leg.$i.uuid]} == "${F[uuid]}" ]] || continue
		histories_witness_agrees "$i" || continue
		((${F[leg.$i.events]} + 1 < ${F[witness.events]})) || continue
		choice_is refuse "${F[leg.$i.dev]} was in sync at ${F[witness.events]} events when \
the array last ran, and now it is at ${F[leg.$i.events]}: it has been restored to an older state. \
${F[leg.$1.dev]} was not in sync then. ${UNUSABLE}To go on with what that disk has: ramraid start \
--force-leg=${F[leg.$1.dev]} ${F[name]}"
		return 0
	done
	return 1
}

# safe_start_witness_why_ NEWEST: sets DOUBT to why the witness does not vouch for the newest leg;
# to nothing when it does.
safe_start_witness_why_() {
	DOUBT=''
	if [[ -z ${F[witness.events]} ]]; then
		DOUBT="nothing shows that ${F[leg.$1.dev]} is up to date \
(${F[witness.why]:-no record})"
	elif ! histories_witness_agrees "$1"; then
		DOUBT="${F[leg.$1.dev]} was not in sync when the array last ran"
	fi
}
