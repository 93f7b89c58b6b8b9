# What was seen of the disk legs of an array in this boot, below $RUN: whether a start of ours has
# judged the run that it is in (NAME.watched), which of them were in sync in that run (NAME.joined),
# which disks were members (NAME.members), by which names (NAME.names), and when one was put back by
# itself (NAME.returns).
# shellcheck shell=bash

need core/act core/clock core/log core/paths core/text world/md-state world/superblock

declare -gA F # the facts: decide/facts.list

# How often a disk leg is put back by itself within so many seconds: a cable or a disk that does not
# hold is for a person.
readonly LEGS_SEEN_RETURNS=5 LEGS_SEEN_WINDOW=3600

# legs_seen_look: sets leg.I.removed and leg.I.returns. After facts_observe.
legs_seen_look() {
	legs_seen_removed_
	legs_seen_bouncing_
}

# Sets leg.I.removed. A disk that was in the array at an earlier look, is outside now, and has not
# been pulled out in between, was taken out with mdadm: whoever did that does not want it back at
# once. A disk that is plugged in gets another number.
legs_seen_removed_() {
	local i NUMBER before=''
	{ read -r before <"$RUN/${F[name]}.members"; } 2>/dev/null || :
	for ((i = 0; i < ${F[members]}; i++)); do
		F[leg.$i.removed]=''
		[[ -n ${F[leg.$i.node]} && -z ${F[leg.$i.in]} ]] || continue
		legs_seen_number "${F[leg.$i.node]}"
		[[ -z $NUMBER || " $before " != *" $NUMBER "* ]] || F[leg.$i.removed]=yes
	done
}

# Sets leg.I.returns to how often a disk leg has been put back by itself within the last hour, if
# that is enough for it to stay out.
legs_seen_bouncing_() {
	local i when dev UPTIME
	local -A count=()
	for ((i = 0; i < ${F[members]}; i++)); do F[leg.$i.returns]=''; done
	[[ -e $RUN/${F[name]}.returns ]] || return 0
	clock_uptime
	while read -r when dev; do
		[[ $dev == /* ]] || continue
		text_number_or when "$UPTIME"
		((UPTIME - when >= LEGS_SEEN_WINDOW)) || count["$dev"]=$((${count["$dev"]-0} + 1))
	done <"$RUN/${F[name]}.returns"
	for ((i = 0; i < ${F[members]}; i++)); do
		dev=${F[leg.$i.dev]}
		[[ -n ${F[leg.$i.in]} ]] || ((${count[$dev]-0} < LEGS_SEEN_RETURNS)) ||
			F[leg.$i.returns]=${count[$dev]}
	done
}

# legs_seen_note_return I: the worker puts a disk leg back; start and attach forget that, for a
# person wants it (hotplug_reset_backoff).
legs_seen_note_return() {
	local UPTIME
	[[ ${F[mend]-} == yes ]] || return 0
	clock_uptime
	act_put_more "$RUN/${F[name]}.returns" "$UPTIME ${F[leg.$1.dev]}"
}

# legs_seen_note_members: the numbers of the disks that are in the array now, for the next look;
# those of before stay, as they are never given out again.
legs_seen_note_members() {
	local i NUMBER before='' new
	{ read -r before <"$RUN/${F[name]}.members"; } 2>/dev/null || :
	new=$before
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.in]} == "${F[array.md]}" ]] || continue
		legs_seen_number "${F[leg.$i.node]}"
		[[ -z $NUMBER || " $new " == *" $NUMBER "* ]] || new+="${new:+ }$NUMBER"
	done
	[[ $new == "$before" ]] || act_put "$RUN/${F[name]}.members" "$new"
	legs_seen_note_names_
}

# The names that led to them; those of before stay.
legs_seen_note_names_() {
	local i NUMBER names='' more=() file=$RUN/${F[name]}.names
	{ IFS='' read -r -d '' names <"$file"; } 2>/dev/null || :
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.in]} == "${F[array.md]}" ]] || continue
		legs_seen_number "${F[leg.$i.node]}"
		[[ -z $NUMBER || $'\n'$names == *$'\n'"$NUMBER ${F[leg.$i.dev]}"$'\n'* ]] ||
			more+=("$NUMBER ${F[leg.$i.dev]}")
	done
	((${#more[@]} == 0)) || act_put_more "$file" "${more[@]}"
}

# legs_seen_had_name NODE NAME: did this name of the configuration lead to this disk when that was
# in the array, in this boot?
legs_seen_had_name() {
	local NUMBER
	legs_seen_number "$1"
	[[ -n $NUMBER ]] && grep -qsxF -- "$NUMBER $2" "$RUN/${F[name]}.names"
}

# legs_seen_number NODE: sets NUMBER to "NODE:" and the number that the kernel gives to a disk when
# it appears, and never to another one in this boot; a partition has its disk's. Empty when there is
# none.
legs_seen_number() {
	NUMBER=''
	{
		read -r NUMBER <"$SYS/class/block/$1/diskseq" ||
			read -r NUMBER <"$SYS/class/block/$1/../diskseq"
	} 2>/dev/null || :
	NUMBER=${NUMBER:+$1:$NUMBER}
}

# A start of ours has judged this run of the array (array.judged), and its monitor writes down every
# change of it from now on.
legs_seen_watch() {
	if [[ -n ${F[array.judged]-} ]]; then
		act_put "$RUN/${F[name]}.watched" "${F[array.judged]}"
	else
		rm -f "$RUN/${F[name]}.watched"
	fi
}

# legs_seen_is_watched MD: has a start of ours judged this run of the array (legs_seen_watch)?
legs_seen_is_watched() {
	local watched='' MD_RUN
	md_state_run "$1"
	{
		read -r watched <"$RUN/${F[name]}.watched"
	} 2>/dev/null && [[ $watched == "${MD_RUN:-none}" ]]
}

# legs_seen_note_in_sync EVENTS UUID…: these disk legs are in sync in this run of the array, and
# no other. Whatever becomes of them while it runs, they were part of it; $RUN/NAME.joined names
# them, and those that have left, with the array's event count when that was seen, of which an
# honest leg carries no more, and the disk legs that were in sync then, all of which it calls active
# (legs_seen_joined).
legs_seen_note_in_sync() {
	local MD_RUN known=() i uuid before written events=$1
	shift
	[[ -z $DRY_RUN ]] || return 0
	md_state_run "${F[array.md]}"
	[[ -n $MD_RUN ]] || return 0
	written=" $* $(legs_seen_recovering_)"
	! [[ -e $RUN/${F[name]}.joined ]] || mapfile -t known <"$RUN/${F[name]}.joined"
	before=${known[*]-}
	[[ ${known[0]-} == "$MD_RUN" ]] || known=("$MD_RUN")
	for ((i = 1; i < ${#known[@]}; i++)); do
		uuid=${known[i]%% *}
		if [[ $written == *" $uuid "* ]]; then
			known[i]=$uuid
		elif [[ ${known[i]} == "$uuid" ]]; then
			known[i]+=" events=$events with=$*"
		fi
	done
	for uuid; do [[ " ${known[*]} " == *" $uuid "* ]] || known+=("$uuid"); done
	[[ ${known[*]} == "$before" ]] || { act_put "$RUN/${F[name]}.joined.new" "${known[@]}" &&
		mv -f "$RUN/${F[name]}.joined.new" "$RUN/${F[name]}.joined"; } ||
		log_warning "${F[name]}: $RUN/${F[name]}.joined can't be written; \
a disk that leaves may not be put back by itself"
}

# legs_seen_joined I: was the leg, which is outside, in sync at some time in this very run of the
# array, and has it been written since it left? A leg that leaves carries no more events than the
# array has when that is noticed; no clock is asked. (A number alone, which 0.1.0 noted, is a time:
# it says nothing.)
legs_seen_joined() {
	local MD_RUN leg=leg.$1 known=() line left
	F[$leg.joined]='' F[$leg.noted]='' F[$leg.elsewhere]='' F[$leg.left_with]=''
	md_state_run "${F[array.md]:-none}"
	[[ -n $MD_RUN && -n ${F[$leg.device_uuid]} && -e $RUN/${F[name]}.joined ]] || return 0
	mapfile -t known <"$RUN/${F[name]}.joined"
	[[ ${known[0]-} == "$MD_RUN" ]] || return 0
	for line in "${known[@]:1}"; do
		[[ ${line%% *} == "${F[$leg.device_uuid]}" ]] || continue
		F[$leg.joined]=yes
		[[ $line == *' events='* ]] || continue
		F[$leg.noted]=yes F[$leg.left_with]=${line#*" with="}
		left=${line#*" events="} left=${left%% *}
		text_number_or left 0 # damaged: nothing that it carries is honest
		((F[$leg.events] <= left)) || F[$leg.elsewhere]=yes
	done
}

# legs_seen_left: prints "DEVICE_UUID:EVENTS" of each disk leg that has left this run of the array,
# a line each: it carries no more events than that.
legs_seen_left() {
	local MD_RUN known=() line
	md_state_run "${F[array.md]:-none}"
	[[ -n $MD_RUN && -e $RUN/${F[name]-}.joined ]] || return 0
	mapfile -t known <"$RUN/${F[name]}.joined"
	[[ ${known[0]-} == "$MD_RUN" ]] || return 0
	for line in "${known[@]:1}"; do
		[[ ! $line =~ ^([0-9a-f-]+)\ events=(0|[1-9][0-9]{0,17})\  ]] ||
			printf '%s:%s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	done
}

# legs_seen_recovering_: prints the device UUIDs of the disk legs that md is rebuilding, and so
# writes to, each with a blank after it.
legs_seen_recovering_() {
	local i facts
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == recovering ]] || continue
		facts=$(superblock_facts_patiently "${F[leg.$i.node]}")
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] || printf '%s ' "${BASH_REMATCH[1]}"
	done
}

# legs_seen_note_again UUID: md has put the leg back, and writes to it. If it leaves before the next
# look, it has its higher event count from this run, and not from a use elsewhere.
legs_seen_note_again() {
	[[ -z $DRY_RUN && -n $1 && -e $RUN/${F[name]}.joined ]] || return 0
	sed -i "s/^$1 .*/$1/" "$RUN/${F[name]}.joined" ||
		log_warning "${F[name]}: $RUN/${F[name]}.joined can't be written"
}
