# Hot-plug: what a disk that comes or goes makes necessary. The worker (ramraid mend) goes through the loop of drive.sh; the look before it (ramraid
# hotplug) asks the same decision whether there is anything to do. What is told of it: changes.sh.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# mend_facts: what the worker goes by besides. What a person has taken out stays out, and what fails again and again is left alone. After
# facts_observe.
mend_facts() {
	local MEMORY_NOTE
	F[mend]=yes F[retry]=no F[conf.auto_replace]=no
	[[ ${CONF[HOTPLUG]} != yes ]] || F[conf.auto_replace]=${CONF[AUTO_REPLACE]}
	mend_find_removed
	memory_note "${F[name]}"
	if [[ $MEMORY_NOTE == memory ]]; then
		F["failed.make-ram"]="memory is short (MEMORY_FLOOR=${CONF[MEMORY_FLOOR]}); it is made anew when there is room"
	elif [[ $MEMORY_NOTE == person ]]; then
		F["failed.make-ram"]="it was taken out (ramraid detach); to have it again: ramraid attach ${F[name]}"
	elif ! ram_may_try "${F[name]}"; then
		F["failed.make-ram"]=$RAM_FAILED
	elif [[ -n ${F[kernel.flaw]} ]]; then
		F["failed.make-ram"]="on this kernel it is not rebuilt beside readers: ${F[kernel.flaw]}"
	fi
}

# mend_find_removed: sets leg.I.removed. A disk that was in the array at an earlier look, is outside now, and has not been pulled out in between, was
# taken out with mdadm: whoever did that does not want it back at once. A disk that is plugged in gets another number.
mend_find_removed() {
	local i NUMBER before=''
	{ read -r before <"$RUN/${F[name]}.members"; } 2>/dev/null || :
	for ((i = 0; i < ${F[members]}; i++)); do
		F[leg.$i.removed]=''
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} ]] || continue
		mend_number_ "${F[leg.$i.node]}"
		[[ -z $NUMBER || " $before " != *" $NUMBER "* ]] || F[leg.$i.removed]=yes
	done
}

# mend_note_members NAME: the numbers of the disks that are in the array now, for the next look; those of before stay, as they are never given out again.
mend_note_members() {
	local i NUMBER before='' new
	{ read -r before <"$RUN/$1.members"; } 2>/dev/null || :
	new=$before
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.in]} == "${F[array.md]}" ]] || continue
		mend_number_ "${F[leg.$i.node]}"
		[[ -z $NUMBER || " $new " == *" $NUMBER "* ]] || new+="${new:+ }$NUMBER"
	done
	[[ $new == "$before" ]] || printf '%s\n' "$new" >"$RUN/$1.members"
}

# mend_number_ NODE: sets NUMBER to "NODE:" and the number that the kernel gives to a disk when it appears, and never to another one in this boot; a
# partition has its disk's. Empty when there is none.
mend_number_() {
	NUMBER=''
	{ read -r NUMBER <"$SYS/class/block/$1/diskseq" || read -r NUMBER <"$SYS/class/block/$1/../diskseq"; } 2>/dev/null || :
	NUMBER=${NUMBER:+$1:$NUMBER}
}

# mend_print: sets MEND_PRINT to what the decision hangs on: another disk under an old name is another one.
mend_print() {
	local i NUMBER
	MEND_PRINT="${F[array.md]} ${F[array.state]} ram=${F[ram.node]}:${F[ram.state]}${F[leg.ram.dev]+:${F[leg.ram.in]}:${F[leg.ram.sb]}:${F[leg.ram.events]}} gone=${F[array.gone]-} others=${F[array.strangers]}"
	for ((i = 0; i < ${F[members]}; i++)); do
		mend_number_ "${F[leg.$i.node]}"
		MEND_PRINT+=" ${F[leg.$i.dev]}=${F[leg.$i.node]}:$NUMBER:${F[leg.$i.state]}:${F[leg.$i.role]}:${F[leg.$i.events]}"
	done
}

# mend_is_due NAME: is there something to do that has not been tried with the same disks already? After facts_observe and mend_facts.
mend_is_due() {
	local tried=''
	decide_action
	[[ $ACTION != @(done|refuse|wait-sync|wait-copy) ]] || return 1
	mend_print
	{ read -r tried <"$RUN/$1.tried"; } 2>/dev/null || :
	[[ $MEND_PRINT != "$tried" ]]
}

# mend_tried NAME: as it is now, nothing more could be done.
mend_tried() {
	mend_print
	printf '%s\n' "$MEND_PRINT" >"$RUN/$1.tried"
}

# mend_ask: something may have changed that hot-plug has to look at. Raises the flag that ramraid-hotplug.path waits for, and nothing when no array
# has HOTPLUG=yes (mend_arm).
mend_ask() { [[ ! -e $RUN/hotplug ]] || : >"$RUN/event"; }
mend_arm() { [[ ${CONF[HOTPLUG]-no} != yes ]] || : >"$RUN/hotplug"; }
