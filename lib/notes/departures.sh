# What is written down of the disk legs that leave and come back in this boot: which disks were
# members, in $RUN/NAME.members, and when one was put back by itself, in $RUN/NAME.returns.
# shellcheck shell=bash

need core/act core/clock core/paths core/text

declare -gA F # the facts: decide/facts.list

# How often a disk leg is put back by itself within so many seconds: a cable or a disk that does not
# hold is for a person.
readonly DEPARTURES_RETURNS=5 DEPARTURES_WINDOW=3600

# departures_look: sets leg.I.removed and leg.I.returns. After facts_observe.
departures_look() {
	departures_removed_
	departures_bouncing_
}

# Sets leg.I.removed. A disk that was in the array at an earlier look, is outside now, and has not
# been pulled out in between, was taken out with mdadm: whoever did that does not want it back at
# once. A disk that is plugged in gets another number.
departures_removed_() {
	local i NUMBER before=''
	{ read -r before <"$RUN/${F[name]}.members"; } 2>/dev/null || :
	for ((i = 0; i < ${F[members]}; i++)); do
		F[leg.$i.removed]=''
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} ]] || continue
		departures_number "${F[leg.$i.node]}"
		[[ -z $NUMBER || " $before " != *" $NUMBER "* ]] || F[leg.$i.removed]=yes
	done
}

# Sets leg.I.returns to how often a disk leg has been put back by itself within the last hour, if
# that is enough for it to stay out.
departures_bouncing_() {
	local i when dev UPTIME
	local -A count=()
	for ((i = 0; i < ${F[members]}; i++)); do F[leg.$i.returns]=''; done
	[[ -e $RUN/${F[name]}.returns ]] || return 0
	clock_uptime
	while read -r when dev; do
		[[ $dev == /* ]] || continue
		text_number_or when "$UPTIME"
		((UPTIME - when >= DEPARTURES_WINDOW)) || count["$dev"]=$((${count["$dev"]-0} + 1))
	done <"$RUN/${F[name]}.returns"
	for ((i = 0; i < ${F[members]}; i++)); do
		dev=${F[leg.$i.dev]}
		[[ -n ${F[leg.$i.in]} ]] || ((${count[$dev]-0} < DEPARTURES_RETURNS)) ||
			F[leg.$i.returns]=${count[$dev]}
	done
}

# departures_note_return I: the worker puts a disk leg back; start and attach forget that, for a
# person wants it (hotplug_reset_backoff).
departures_note_return() {
	local UPTIME
	[[ ${F[mend]-} == yes ]] || return 0
	clock_uptime
	act_put_more "$RUN/${F[name]}.returns" "$UPTIME ${F[leg.$1.dev]}"
}

# departures_note_members: the numbers of the disks that are in the array now, for the next look;
# those of before stay, as they are never given out again.
departures_note_members() {
	local i NUMBER before='' new
	{ read -r before <"$RUN/${F[name]}.members"; } 2>/dev/null || :
	new=$before
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.in]} == "${F[array.md]}" ]] || continue
		departures_number "${F[leg.$i.node]}"
		[[ -z $NUMBER || " $new " == *" $NUMBER "* ]] || new+="${new:+ }$NUMBER"
	done
	[[ $new == "$before" ]] || act_put "$RUN/${F[name]}.members" "$new"
}

# departures_number NODE: sets NUMBER to "NODE:" and the number that the kernel gives to a disk when
# it appears, and never to another one in this boot; a partition has its disk's. Empty when there is
# none.
departures_number() {
	NUMBER=''
	{
		read -r NUMBER <"$SYS/class/block/$1/diskseq" ||
			read -r NUMBER <"$SYS/class/block/$1/../diskseq"
	} 2>/dev/null || :
	NUMBER=${NUMBER:+$1:$NUMBER}
}
