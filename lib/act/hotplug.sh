# Hot-plug: what ramraid does when a disk comes or goes. First "ramraid hotplug" asks the decision
# whether there is anything to do. If so, the worker (ramraid mend) goes through the loop in
# act/loop.sh. act/transitions.sh reports what has happened.
# shellcheck shell=bash

need config/conf core/act core/paths core/text decide/action decide/health
need decide/leg decide/unbuilt notes/legs-seen notes/memory-floor notes/ram-out notes/refusal
need observe/whose world/md-state world/ramdisk

declare -gA F # the facts: decide/facts.list

# hotplug_facts: sets what else the worker uses. Call it after facts_observe. What a person has
# taken out stays out, and what fails again and again is left alone.
hotplug_facts() {
	local RAM_OUT RAM_OUT_WHY
	F[mend]=yes F[retry]=no F[conf.auto_replace]=no
	[[ ${CONF[HOTPLUG]} != yes ]] || F[conf.auto_replace]=${CONF[AUTO_REPLACE]}
	hotplug_look
	ram_out_read "${F[name]}"
	if [[ $RAM_OUT == memory ]]; then
		F["veto.make-ram"]="memory is short (MEMORY_FLOOR=${CONF[MEMORY_FLOOR]}); \
it is rebuilt when there is room"
	elif [[ $RAM_OUT == full ]]; then
		F["veto.make-ram"]=$RAM_OUT_WHY
	elif [[ $RAM_OUT == @(person|release) ]]; then
		F["veto.make-ram"]="it was taken out (ramraid detach); to put it back: ramraid \
attach ${F[name]}"
	elif ! ramdisk_may_try "${F[name]}"; then
		F["veto.make-ram"]=$RAM_FAILED
	elif [[ -n ${F[kernel.flaw]} ]]; then
		F["veto.make-ram"]="on this kernel it is not rebuilt while the array is in use: \
${F[kernel.flaw]}"
	fi
}

# hotplug_look: sets what may change while the worker runs. Call it after each facts_observe.
# Forgets failures to put back a disk that is gone now, so that they don't count when it returns;
# and a failure to mark a disk that was just leaving the array. A blank disk that another array is
# configured with is not taken without being asked (AUTO_REPLACE).
hotplug_look() {
	local i whose
	legs_seen_look
	for ((i = 0; i < ${F[members]}; i++)); do
		unset -v "F[veto.readd.$i]" "F[veto.add-leg.$i]"
		[[ -n ${F[leg.$i.node]} ]] || unset -v "F[failed.readd.$i]" "F[failed.add-leg.$i]"
		[[ -n ${F[leg.$i.in]} ]] || unset -v "F[failed.write-mostly.$i]"
		[[ -z ${F[kernel.flaw]} ]] ||
			F["veto.add-leg.$i"]="on this kernel no leg is rebuilt while the array is \
in use: ${F[kernel.flaw]}"
		[[ ${F[conf.auto_replace]} != yes || ${F[leg.$i.sb]} != none ]] || {
			whose_other "$i"
			whose=${F[leg.$i.whose]%%$'\n'*}
			[[ -z $whose ]] || F["veto.add-leg.$i"]="${F[leg.$i.dev]} $whose"
		}
		[[ -n ${F[leg.$i.returns]} ]] || continue
		# While no disk has all data, nothing is worse than leaving one out.
		! health_only_copy || continue
		F["veto.readd.$i"]="${F[leg.$i.dev]} has come back \
${F[leg.$i.returns]} times within an hour"
		F["veto.add-leg.$i"]=${F["veto.readd.$i"]}
	done
}

# hotplug_reset_backoff NAME: forgets past tries, because a person wants the disks tried again.
hotplug_reset_backoff() { rm -f "$RUN/$1.returns" "$RUN/$1.tried"; }

# hotplug_is_stopped UUID: is there no array, running or half assembled, that may have this UUID?
# Goes by what the kernel says of each array, and reads no disk. An array that is not started has a
# UUID of zeros, and some kernels show none. Such an array may be the one.
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

# hotplug_refused NAME: call it when a start was refused. If a disk is missing, notes what the
# refusal depends on. Once that has changed, "ramraid hotplug" starts the array again.
hotplug_refused() {
	local i missing=no HOTPLUG_PRINT
	for ((i = 0; i < ${F[members]}; i++)); do ! leg_is_absent "$i" || missing=yes; done
	# A copy of a leg may have taken the leg's name, and gives it back when it is pulled out.
	[[ -z ${F[clones]-}${F[clones.loop]-} ]] || missing=yes
	[[ $missing == yes ]] || return 0
	hotplug_print_legs_
	refusal_note "$1" "$HOTPLUG_PRINT"
}

# hotplug_has_changed NAME: call it after a look at an array whose start was refused. Does it differ
# from what it was then, and at each start since that was in vain? A disk that is there and can't be
# read looks the same every time. Returns 1 after HOTPLUG_RESTARTS such starts, too.
hotplug_has_changed() {
	local HOTPLUG_PRINT
	refusal_is_noted "$1" || return
	hotplug_print_legs_
	refusal_is_past "$1" "$HOTPLUG_PRINT" "$HOTPLUG_RESTARTS"
}

# hotplug_note_restart NAME: notes that hot-plug starts the array as it is now.
hotplug_note_restart() {
	local HOTPLUG_PRINT
	hotplug_print_legs_
	refusal_retried "$1" "$HOTPLUG_PRINT"
}

# hotplug_print_legs_: sets HOTPLUG_PRINT to what a start depends on: for each leg its device, which
# disk that is, and what its superblock says.
hotplug_print_legs_() {
	local i
	HOTPLUG_PRINT=''
	for ((i = 0; i < ${F[members]}; i++)); do
		hotplug_print_leg_ "leg.$i" dev node in sb device_uuid role events
	done
	[[ -z ${F[leg.ram.dev]} ]] ||
		hotplug_print_leg_ leg.ram dev node in sb device_uuid role events
}

# hotplug_print_leg_ KEY FACT…: adds to HOTPLUG_PRINT which disk the leg is, and these facts about
# it. They are text, because a hash would take a process.
hotplug_print_leg_() {
	local fact NUMBER
	legs_seen_number "${F[$1.node]}"
	HOTPLUG_PRINT+=" $NUMBER"
	for fact in "${@:2}"; do HOTPLUG_PRINT+=":${F[$1.$fact]}"; done
}

# hotplug_print: sets HOTPLUG_PRINT to what the decision depends on. Another disk under an old name
# changes it.
hotplug_print() {
	local i
	HOTPLUG_PRINT="${F[array.md]} ${F[array.state]} gone=${F[array.gone]} \
others=${F[array.strangers]} ram=${F[ram.node]}:${F[ram.state]}${F[ram.lacks]}"
	[[ ${F[ram.state]} != in_sync || -z ${F[ram.full]} ]] || HOTPLUG_PRINT+=full
	[[ -z ${F[leg.ram.dev]} ]] ||
		HOTPLUG_PRINT+=":${F[leg.ram.in]}:${F[leg.ram.sb]}:${F[leg.ram.events]}"
	for ((i = 0; i < ${F[members]}; i++)); do
		hotplug_print_leg_ "leg.$i" dev node state role events
	done
}

# hotplug_is_due NAME: is there something to do that has not already been tried with the same disks?
# The worker finds out whether md has given up the rebuild of a member that has no slot. Call it
# after facts_observe and hotplug_facts.
hotplug_is_due() {
	action_choose
	[[ $ACTION != wait-sync ]] || unbuilt_is_there || return 1
	[[ $ACTION != @(done|refuse|wait-copy) ]] && ! hotplug_was_tried "$1"
}

# hotplug_was_tried NAME: could nothing more be done when the disks were as they are now?
hotplug_was_tried() {
	local tried='' HOTPLUG_PRINT
	hotplug_print
	{ read -r tried <"$RUN/$1.tried"; } 2>/dev/null || :
	[[ $HOTPLUG_PRINT == "$tried" ]]
}

# hotplug_tried NAME [PRINT]: notes that nothing more could be done in the state PRINT (from
# hotplug_print, when that was decided). Without PRINT, the state is the present one.
hotplug_tried() {
	local HOTPLUG_PRINT=${2-}
	[[ -n $HOTPLUG_PRINT ]] || hotplug_print
	act_put "$RUN/$1.tried" "$HOTPLUG_PRINT"
}

# hotplug_trigger: asks hot-plug to look, because something may have changed. Raises the flag that
# ramraid-hotplug.path waits for. Does nothing when all arrays have HOTPLUG=no (hotplug_arm).
hotplug_trigger() { [[ ! -e $RUN/hotplug ]] || hotplug_raise; }
hotplug_raise() { act_put "$RUN/event"; } # whatever HOTPLUG says: the look is also at the records
# hotplug_disarm: switches hot-plug off if no array is configured any longer.
hotplug_disarm() { [[ -n $(conf_names) || ! -e $RUN/hotplug ]] || act rm -f -- "$RUN/hotplug"; }
hotplug_arm() { [[ ${CONF[HOTPLUG]} != yes ]] || act_put "$RUN/hotplug"; }
