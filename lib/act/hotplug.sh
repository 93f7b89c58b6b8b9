# Hot-plug: what a disk that comes or goes makes necessary. The worker (ramraid mend) goes through
# the loop of act/loop.sh; the look before it (ramraid hotplug) asks the same decision whether there
# is anything to do. act/transitions.sh reports what has happened.
# shellcheck shell=bash

need config/conf core/act core/paths decide/action decide/health decide/leg notes/legs-seen
need notes/memory-floor world/md-state world/ramdisk

declare -gA F # the facts: decide/facts.list

# hotplug_facts: what else the worker uses. What a person has taken out stays out, and what
# fails again and again is left alone. After facts_observe.
hotplug_facts() {
	local MEMORY_NOTE MEMORY_WHY
	F[mend]=yes F[retry]=no F[conf.auto_replace]=no
	[[ ${CONF[HOTPLUG]} != yes ]] || F[conf.auto_replace]=${CONF[AUTO_REPLACE]}
	hotplug_look
	memory_floor_note "${F[name]}"
	if [[ $MEMORY_NOTE == memory ]]; then
		F["veto.make-ram"]="memory is short (MEMORY_FLOOR=${CONF[MEMORY_FLOOR]}); \
it is rebuilt when there is room"
	elif [[ $MEMORY_NOTE == full ]]; then
		F["veto.make-ram"]=$MEMORY_WHY
	elif [[ $MEMORY_NOTE == @(person|release) ]]; then
		F["veto.make-ram"]="it was taken out (ramraid detach); to have it again: \
ramraid attach ${F[name]}"
	elif ! ramdisk_may_try "${F[name]}"; then
		F["veto.make-ram"]=$RAM_FAILED
	elif [[ -n ${F[kernel.flaw]} ]]; then
		F["veto.make-ram"]="on this kernel it is not rebuilt beside readers: \
${F[kernel.flaw]}"
	fi
}

# hotplug_look: what may change while the worker is at it: after each facts_observe. A failure is
# not held against a disk that has left and come back, nor one to mark it against a disk that was
# just leaving.
hotplug_look() {
	local i
	legs_seen_look
	for ((i = 0; i < ${F[members]}; i++)); do
		unset -v "F[veto.readd.$i]" "F[veto.add-leg.$i]"
		[[ -n ${F[leg.$i.node]} ]] || unset -v "F[failed.readd.$i]" "F[failed.add-leg.$i]"
		[[ -n ${F[leg.$i.in]} ]] || unset -v "F[failed.write-mostly.$i]"
		[[ -z ${F[kernel.flaw]} ]] ||
			F["veto.add-leg.$i"]="on this kernel no leg is rebuilt beside readers: \
${F[kernel.flaw]}"
		[[ -n ${F[leg.$i.returns]} ]] || continue
		# Nothing is worse than to leave it out while no disk has all.
		! health_only_copy || continue
		F["veto.readd.$i"]="${F[leg.$i.dev]} has come back \
${F[leg.$i.returns]} times within an hour"
		F["veto.add-leg.$i"]=${F["veto.readd.$i"]}
	done
}

# hotplug_reset_backoff NAME: a person wants its disks tried again.
hotplug_reset_backoff() { rm -f "$RUN/$1.returns" "$RUN/$1.tried"; }

# hotplug_is_stopped UUID: is there no array, running or half assembled, that may have this UUID? By
# what the kernel says of each: no disk is read. An array that is not started has a UUID of zeros,
# and some kernels tell none; what those are is not known here.
hotplug_is_stopped() {
	local folder VALUE
	for folder in "$SYS"/block/md*/md; do
		[[ -e $folder ]] || continue
		folder=${folder%/md}
		md_state_read "${folder##*/}" uuid
		[[ $VALUE == *[!0-]* && $VALUE != "$1" ]] || return 1
	done
}

readonly HOTPLUG_RESTARTS=20 # how often hot-plug starts an array again that is refused each time

# hotplug_refused NAME: its start was refused with a disk missing. Notes what that hangs on: when it
# has changed, "ramraid hotplug" starts it again.
hotplug_refused() {
	local i missing=no HOTPLUG_PRINT
	for ((i = 0; i < ${F[members]}; i++)); do ! leg_is_absent "$i" || missing=yes; done
	# A copy that is pulled gives a name back that it had taken over.
	[[ -z ${F[clones]-}${F[clones.loop]-} ]] || missing=yes
	[[ $missing == yes ]] || return 0
	hotplug_print_legs_
	act_put "$RUN/$1.refused" "$HOTPLUG_PRINT"
}

# hotplug_has_changed NAME: after a look at one whose start was refused: is it as it was neither
# then, nor at any start since that was for nothing? A disk that is there and can't be read is the
# same at every look.
hotplug_has_changed() {
	local refused='' attempts=() line HOTPLUG_PRINT
	{ IFS= read -r refused <"$RUN/$1.refused"; } 2>/dev/null || return 1
	! [[ -e $RUN/$1.restarts ]] || mapfile -t attempts <"$RUN/$1.restarts"
	((${#attempts[@]} < HOTPLUG_RESTARTS)) || return 1
	hotplug_print_legs_
	for line in "$refused" "${attempts[@]}"; do
		[[ $line != "$HOTPLUG_PRINT" ]] || return 1
	done
}

# hotplug_note_restart NAME: hot-plug starts it as it is now.
hotplug_note_restart() {
	local HOTPLUG_PRINT
	hotplug_print_legs_
	act_put_more "$RUN/$1.restarts" "$HOTPLUG_PRINT"
	rm -f "$RUN/$1.refused"
}

# hotplug_print_legs_: sets HOTPLUG_PRINT to what a start depends on: of each leg the device, which
# one that is, and what its superblock says.
hotplug_print_legs_() {
	local i
	HOTPLUG_PRINT=''
	for ((i = 0; i < ${F[members]}; i++)); do
		hotplug_print_leg_ "leg.$i" dev node in sb device_uuid role events
	done
	[[ -z ${F[leg.ram.dev]} ]] ||
		hotplug_print_leg_ leg.ram dev node in sb device_uuid role events
}

# hotplug_print_leg_ KEY FACT…: adds to HOTPLUG_PRINT which device that is, and these facts of it.
# Text, and not a hash of it: that would take a process.
hotplug_print_leg_() {
	local fact NUMBER
	legs_seen_number "${F[$1.node]}"
	HOTPLUG_PRINT+=" $NUMBER"
	for fact in "${@:2}"; do HOTPLUG_PRINT+=":${F[$1.$fact]}"; done
}

# hotplug_print: sets HOTPLUG_PRINT to what the decision hangs on: another disk under an old name is
# another one.
hotplug_print() {
	local i
	HOTPLUG_PRINT="${F[array.md]} ${F[array.state]} gone=${F[array.gone]} \
others=${F[array.strangers]} ram=${F[ram.node]}:${F[ram.state]}"
	[[ -z ${F[leg.ram.dev]} ]] ||
		HOTPLUG_PRINT+=":${F[leg.ram.in]}:${F[leg.ram.sb]}:${F[leg.ram.events]}"
	for ((i = 0; i < ${F[members]}; i++)); do
		hotplug_print_leg_ "leg.$i" dev node state role events
	done
}

# hotplug_is_due NAME: is there something to do that has not been tried with the same disks already?
# After facts_observe and hotplug_facts.
hotplug_is_due() {
	local tried=''
	action_choose
	[[ $ACTION != @(done|refuse|wait-sync|wait-copy) ]] || return 1
	hotplug_print
	{ read -r tried <"$RUN/$1.tried"; } 2>/dev/null || :
	[[ $HOTPLUG_PRINT != "$tried" ]]
}

# hotplug_tried NAME [PRINT]: nothing more could be done with what PRINT says (hotplug_print, when
# that was decided); without it, as it is now.
hotplug_tried() {
	local HOTPLUG_PRINT=${2-}
	[[ -n $HOTPLUG_PRINT ]] || hotplug_print
	act_put "$RUN/$1.tried" "$HOTPLUG_PRINT"
}

# hotplug_is_released NAME: is "ramraid release" at it, or was it interrupted? Then hot-plug leaves
# the array alone, until release is typed again, or adopt, or start: they take away what
# hotplug_note_released has written.
hotplug_is_released() {
	local MEMORY_NOTE MEMORY_WHY
	memory_floor_note "$1"
	[[ $MEMORY_NOTE == release ]]
}
hotplug_note_released() { act_put "$RUN/$1.detached" release; }

# hotplug_trigger: something may have changed that hot-plug has to look at. Raises the flag that
# ramraid-hotplug.path waits for, and nothing when all arrays have HOTPLUG=no (hotplug_arm).
hotplug_trigger() { [[ ! -e $RUN/hotplug ]] || hotplug_raise; }
hotplug_raise() { act_put "$RUN/event"; } # whatever HOTPLUG says: the look is also at the records
# hotplug_disarm: when no array is configured any more.
hotplug_disarm() { [[ -n $(conf_names) || ! -e $RUN/hotplug ]] || act rm -f -- "$RUN/hotplug"; }
hotplug_arm() { [[ ${CONF[HOTPLUG]} != yes ]] || act_put "$RUN/hotplug"; }
