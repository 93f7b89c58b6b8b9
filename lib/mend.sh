# Hot-plug: what a disk that comes or goes makes necessary, and what is told of it. The worker (ramraid mend) goes through the loop of drive.sh; the
# look before it (ramraid hotplug) asks the same decision whether there is anything to do.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# mend_facts: what the worker goes by besides. What a person has taken out stays out, and what fails again and again is left alone. After
# facts_observe.
mend_facts() {
	F[mend]=yes F[retry]=no F[conf.auto_replace]=${CONF[AUTO_REPLACE]}
	mend_removed_
	if [[ -e $RUN/${F[name]}.detached ]]; then
		F["failed.make-ram"]="it was taken out (ramraid detach); to have it again: ramraid attach ${F[name]}"
	elif ! ram_may_try "${F[name]}"; then
		F["failed.make-ram"]=$RAM_FAILED
	elif [[ -n ${F[kernel.flaw]} ]]; then
		F["failed.make-ram"]="on this kernel it is not rebuilt beside readers: ${F[kernel.flaw]}"
	fi
}

# A disk that was in the array at an earlier look, is outside now, and has not been pulled out in between, was taken out with mdadm: whoever did that
# does not want it back at once. A disk that is plugged in gets another number.
mend_removed_() {
	local i NUMBER before=''
	{ read -r before <"$RUN/${F[name]}.members"; } 2>/dev/null || :
	for ((i = 0; i < ${F[members]}; i++)); do
		F[leg.$i.removed]=''
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} ]] || continue
		mend_number_ "${F[leg.$i.node]}"
		[[ -z $NUMBER || " $before " != *" $NUMBER "* ]] || F[leg.$i.removed]=yes
	done
}

# The numbers of the disks that are in the array now, for the next look; those of before stay, as they are never given out again.
mend_note_members_() { # NAME
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

# mend_leg I: sets LEG to one word on the state of a disk leg: in_sync recovering faulty missing used blank occupied damaged foreign given removed
# begun returned separate.
mend_leg() {
	local leg=leg.$1
	if [[ -n ${F[$leg.state]} ]]; then
		LEG=${F[$leg.state]}
	elif [[ -z ${F[$leg.node]} ]]; then
		LEG=missing
	elif [[ -n ${F[$leg.in]} ]]; then
		LEG=used
	elif [[ ${F[$leg.sb]} == none ]]; then
		LEG=blank
		[[ -z $(disk_why_not_free "${F[$leg.dev]}") ]] || LEG=occupied
	elif [[ ${F[$leg.sb]} != ok ]]; then
		LEG=damaged
	elif [[ ${F[$leg.uuid]} != "${F[uuid]}" ]]; then
		LEG=foreign
	elif decide_is_given_up_ "$1"; then
		LEG=given
	elif [[ -n ${F[leg.$1.removed]-} ]]; then
		LEG=removed
	elif decide_is_begun_ "$1"; then
		LEG=begun
	elif decide_can_readd_ "$1"; then
		LEG=returned
	else
		LEG=separate
	fi
}

# mend_tell NAME: says what has become of the disk legs since it was last said. The first look of a run says nothing: the start has.
mend_tell() {
	local i LEG old=() new=()
	[[ ! -e $RUN/$1.told ]] || mapfile -t old <"$RUN/$1.told"
	for ((i = 0; i < ${F[members]}; i++)); do
		mend_leg "$i"
		new+=("$LEG")
		((${#old[@]} == 0)) || [[ ${old[i]-} == "$LEG" ]] || mend_say_ "$1" "$i" "$LEG"
	done
	mend_note_members_ "$1"
	[[ ${old[*]-} == "${new[*]}" ]] || printf '%s\n' "${new[@]}" >"$RUN/$1.told"
}

mend_say_() { # NAME I WORD
	local dev=${F[leg.$2.dev]}
	local leg="$1: disk leg $dev" whole="to have it rebuilt as a whole: mdadm --zero-superblock $dev; mdadm /dev/md/$1 --add $dev; ramraid attach $1"
	case $3 in
	in_sync) log_notice "$leg is in sync" ;;
	recovering) log_notice "$leg is being rebuilt" ;;
	faulty) log_warning "$leg: md has given it up; the array goes on without it. See the kernel's messages (journalctl -k); when it is good again: ramraid attach $1" ;;
	missing) log_warning "$leg is lost: there is no such disk any more; the array goes on without it. When it is back it is put back by itself" ;;
	returned) log_notice "$leg is back" ;;
	removed) log_notice "$leg has been taken out; to put it back: ramraid attach $1" ;;
	begun) log_notice "$leg is back; it was lost while it was being put back, so all of it is rebuilt" ;;
	blank)
		[[ ${CONF[AUTO_REPLACE]} == yes ]] && log_notice "$1: a blank disk stands at $dev" && return
		log_warning "$1: a blank disk stands at $dev; AUTO_REPLACE=no, so it is not taken. To take it: mdadm /dev/md/$1 --add $dev; ramraid attach $1"
		;;
	occupied) log_warning "$1: the disk at $dev is not taken: $(disk_why_not_free "$dev" | paste -sd ' ')" ;;
	used) log_warning "$1: the disk at $dev is in use by something else" ;;
	damaged) log_warning "$leg is there, but its superblock is ${F[leg.$2.sb]}; if it is the right disk, $whole" ;;
	foreign) log_warning "$1: the disk at $dev belongs to another array (${F[leg.$2.uuid]}), and is left alone" ;;
	given) log_warning "$leg is there, but has been given up by a start without it; $whole" ;;
	separate) log_warning "$leg is back, but was used without the others, or is too old: it is not put back. If nothing on it is needed, $whole" ;;
	esac
}

# mend_ask: something may have changed that hot-plug has to look at. Raises the flag that ramraid-hotplug.path waits for, and nothing when no array
# has HOTPLUG=yes (mend_arm).
mend_ask() { [[ ! -e $RUN/hotplug ]] || : >"$RUN/event"; }
mend_arm() { [[ ${CONF[HOTPLUG]-no} != yes ]] || : >"$RUN/hotplug"; }
