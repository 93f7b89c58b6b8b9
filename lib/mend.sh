# Hot-plug: what a disk that comes or goes makes necessary. The worker (ramraid mend) goes through the loop of drive.sh; the look before it (ramraid
# hotplug) asks the same decision whether there is anything to do. What is told of it: changes.sh.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly MEND_RETURNS=5 # how often a disk leg is put back by itself within an hour: a cable or a disk that does not hold is for a person

# mend_facts: what the worker goes by besides. What a person has taken out stays out, and what fails again and again is left alone. After
# facts_observe.
mend_facts() {
	local MEMORY_NOTE
	F[mend]=yes F[retry]=no F[conf.auto_replace]=no
	[[ ${CONF[HOTPLUG]} != yes ]] || F[conf.auto_replace]=${CONF[AUTO_REPLACE]}
	mend_look
	memory_note "${F[name]}"
	if [[ $MEMORY_NOTE == memory ]]; then
		F["failed.make-ram"]="memory is short (MEMORY_FLOOR=${CONF[MEMORY_FLOOR]}); it is made anew when there is room"
	elif [[ $MEMORY_NOTE == @(person|release) ]]; then
		F["failed.make-ram"]="it was taken out (ramraid detach); to have it again: ramraid attach ${F[name]}"
	elif ! ram_may_try "${F[name]}"; then
		F["failed.make-ram"]=$RAM_FAILED
	elif [[ -n ${F[kernel.flaw]} ]]; then
		F["failed.make-ram"]="on this kernel it is not rebuilt beside readers: ${F[kernel.flaw]}"
	fi
}

# mend_look: what may change while the worker is at it: after each facts_observe. A failure is not held against a disk that has left and come back, nor one to
# mark it against a disk that was just leaving.
mend_look() {
	local i
	mend_find_removed
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || unset -v "F[failed.readd.$i]" "F[failed.add-leg.$i]"
		[[ -n ${F[leg.$i.in]} ]] || unset -v "F[failed.write-mostly.$i]"
		[[ -z ${F[kernel.flaw]} ]] || F["failed.add-leg.$i"]="on this kernel no leg is rebuilt beside readers: ${F[kernel.flaw]}"
	done
	mend_find_bouncing
}

# mend_find_bouncing: sets leg.I.returns to how often a disk leg has been put back by itself within the last hour, if that is enough for it to stay out.
mend_find_bouncing() {
	local i when dev UPTIME
	local -A count=()
	for ((i = 0; i < ${F[members]}; i++)); do F[leg.$i.returns]=''; done
	[[ -e $RUN/${F[name]}.returns ]] || return 0
	uptime
	while read -r when dev; do
		((UPTIME - when >= RAM_WINDOW)) || count["${dev:-none}"]=$((${count["${dev:-none}"]-0} + 1))
	done <"$RUN/${F[name]}.returns"
	for ((i = 0; i < ${F[members]}; i++)); do
		dev=${F[leg.$i.dev]}
		[[ -z ${F[leg.$i.in]} ]] || continue
		((${count[$dev]-0} >= MEND_RETURNS)) || continue
		F[leg.$i.returns]=${count[$dev]}
		F["failed.readd.$i"]="$dev has come back ${count[$dev]} times within an hour" F["failed.add-leg.$i"]=${F["failed.readd.$i"]}
	done
}

# mend_note_return I: the worker puts a disk leg back; start and attach forget that, for a person wants it (mend_forgive).
mend_note_return() {
	local UPTIME
	[[ ${F[mend]-} == yes ]] || return 0
	uptime
	printf '%s %s\n' "$UPTIME" "${F[leg.$1.dev]}" >>"$RUN/${F[name]}.returns"
}
mend_forgive() { rm -f "$RUN/$1.returns" "$RUN/$1.tried"; } # NAME

# mend_refused NAME: its start was refused. Notes which disks were missing: when one of them comes, "ramraid hotplug" starts it again (mend_has_come).
mend_refused() {
	local i missing=()
	for ((i = 0; i < ${F[members]}; i++)); do ! decide_is_absent_ "$i" || missing+=("${F[leg.$i.dev]}"); done
	((${#missing[@]} == 0)) || printf '%s\n' "${missing[@]}" >"$RUN/$1.refused"
}
mend_has_come() {
	local dev NODE
	[[ -e $RUN/$1.refused ]] || return 1
	while IFS= read -r dev; do ! disk_find "$dev" || return 0; done <"$RUN/$1.refused"
	return 1
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

# mend_is_released NAME: is "ramraid release" at it, or was it interrupted? Then hot-plug leaves the array alone, until release is typed again, or adopt,
# or start: they take away what mend_note_released has written.
mend_is_released() {
	local MEMORY_NOTE
	memory_note "$1"
	[[ $MEMORY_NOTE == release ]]
}
mend_note_released() { echo release >"$RUN/$1.detached"; }

# mend_ask: something may have changed that hot-plug has to look at. Raises the flag that ramraid-hotplug.path waits for, and nothing when all
# arrays have HOTPLUG=no (mend_arm).
mend_ask() { [[ ! -e $RUN/hotplug ]] || : >"$RUN/event"; }
# mend_disarm: when no array is configured any more.
mend_disarm() { [[ -n $(conf_names) || ! -e $RUN/hotplug ]] || act rm -f -- "$RUN/hotplug"; }
mend_arm() { [[ ${CONF[HOTPLUG]} != yes ]] || : >"$RUN/hotplug"; }
