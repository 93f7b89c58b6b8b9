# What was seen of the disk legs of an array in this boot, in notes below $RUN. They say which legs
# were in sync in the array's current run (NAME.joined), which disks were members (NAME.members),
# under which names (NAME.names), and when a leg was put back automatically (NAME.returns).
# shellcheck shell=bash

need core/act core/clock core/log core/paths core/text world/md-state world/superblock

declare -gA F # the facts: decide/facts.list

# How often a disk leg may be put back automatically, and within how many seconds. After that a
# person has to look, since a cable or a disk may be bad.
readonly LEGS_SEEN_RETURNS=5 LEGS_SEEN_WINDOW=3600

# legs_seen_look: sets leg.I.removed and leg.I.returns. Called after facts_observe.
legs_seen_look() {
	legs_seen_removed_
	legs_seen_bouncing_
}

# Sets leg.I.removed. A disk that was in the array at an earlier look, is outside now, and has not
# been pulled out in between, was taken out with mdadm, by somebody who does not want it back at
# once. A disk that is plugged in gets a new number.
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

# Sets leg.I.returns to how often a disk leg has been put back automatically within the last hour,
# if that is so often that it has to stay out.
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

# legs_seen_note_return I: notes that the worker puts a disk leg back. start and attach clear these
# notes, because a person wants the leg back (hotplug_reset_backoff).
legs_seen_note_return() {
	local UPTIME
	[[ ${F[mend]-} == yes ]] || return 0
	clock_uptime
	act_put_more "$RUN/${F[name]}.returns" "$UPTIME ${F[leg.$1.dev]}"
}

# legs_seen_note_members: notes the numbers of the disks that are in the array now, for the next
# look. Earlier numbers stay, as they are never given out again.
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

# Notes the names that led to them. Earlier ones stay.
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

# legs_seen_had_name NODE NAME: did this name of the configuration lead to this disk while the disk
# was in the array, in this boot?
legs_seen_had_name() {
	local NUMBER
	legs_seen_number "$1"
	[[ -n $NUMBER ]] && grep -qsxF -- "$NUMBER $2" "$RUN/${F[name]}.names"
}

# legs_seen_number NODE: sets NUMBER to "NODE:" and the number that the kernel gives a disk when it
# appears, and gives to no other disk in this boot; a partition has its disk's. NUMBER is empty when
# there is none.
legs_seen_number() {
	NUMBER=''
	{
		read -r NUMBER <"$SYS/class/block/$1/diskseq" ||
			read -r NUMBER <"$SYS/class/block/$1/../diskseq"
	} 2>/dev/null || :
	NUMBER=${NUMBER:+$1:$NUMBER}
}

# legs_seen_note_in_sync EVENTS UUID…: notes that these disk legs, and no others, are in sync in
# this run of the array. Whatever becomes of them while it runs, they were part of it, and
# $RUN/NAME.joined keeps them. Of a leg that has left, it also has the event count of the array when
# that was seen, which an honest leg does not exceed, and the disk legs that were in sync then, all
# of which the leg calls active (legs_seen_joined).
legs_seen_note_in_sync() {
	local MD_RUN known=() i uuid before written lines events=$1
	shift
	[[ -z $DRY_RUN ]] || return 0
	md_state_run "${F[array.md]}"
	[[ -n $MD_RUN ]] || return 0
	written=" $* "
	legs_seen_recovering_
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
	# Only the first word of a line is the leg that it is about.
	lines=" ${known[*]%% *} "
	for uuid; do [[ $lines == *" $uuid "* ]] || known+=("$uuid"); done
	[[ ${known[*]} == "$before" ]] || { act_put "$RUN/${F[name]}.joined.new" "${known[@]}" &&
		mv -f "$RUN/${F[name]}.joined.new" "$RUN/${F[name]}.joined"; } ||
		log_warning "${F[name]}: $RUN/${F[name]}.joined can't be written; a disk that \
leaves may not be put back automatically"
}

# legs_seen_joined I: sets leg.I.joined if the leg, which is outside, was in sync at some time in
# this very run of the array, and leg.I.elsewhere if it has been written to since it left; with
# these, leg.I.noted and leg.I.left_with. A leg that leaves has no more events than the array has
# when that is noticed, so no clock is needed. (A number alone, which 0.1.0 noted, is a time: it
# says nothing.)
legs_seen_joined() {
	local leg=leg.$1 known line left
	F[$leg.joined]='' F[$leg.noted]='' F[$leg.elsewhere]='' F[$leg.left_with]=''
	[[ -n ${F[$leg.device_uuid]} ]] && legs_seen_of_run_ || return 0
	for line in "${known[@]}"; do
		[[ ${line%% *} == "${F[$leg.device_uuid]}" ]] || continue
		F[$leg.joined]=yes
		[[ $line == *' events='* ]] || continue
		F[$leg.noted]=yes F[$leg.left_with]=${line#*" with="}
		left=${line#*" events="} left=${left%% *}
		text_number_or left 0 # damaged: nothing that it carries is honest
		((F[$leg.events] <= left)) || F[$leg.elsewhere]=yes
	done
}

# legs_seen_of_run_: sets the caller's known to what is noted of this run of the array, a line for
# each leg that was in sync. Returns 1 when nothing is.
legs_seen_of_run_() {
	local MD_RUN
	md_state_run "${F[array.md]:-none}"
	[[ -n $MD_RUN && -e $RUN/${F[name]-}.joined ]] || return 1
	mapfile -t known <"$RUN/${F[name]}.joined"
	[[ ${known[0]-} == "$MD_RUN" ]] || return 1
	known=("${known[@]:1}")
}

# legs_seen_is_of_run UUID: was this disk leg in sync at some time in this run of the array, as far
# as that has been noted?
legs_seen_is_of_run() {
	local known line
	legs_seen_of_run_ || return 1
	for line in "${known[@]}"; do [[ ${line%% *} != "$1" ]] || return 0; done
	return 1
}

# legs_seen_left: prints "DEVICE_UUID:EVENTS" for each disk leg that has left this run of the array,
# one per line. When it left, it had no more events than that.
legs_seen_left() {
	local known line
	legs_seen_of_run_ || return 0
	for line in "${known[@]}"; do
		[[ ! $line =~ ^([0-9a-f-]+)\ events=(0|[1-9][0-9]{0,17})\  ]] ||
			printf '%s:%s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	done
}

# legs_seen_recovering_: adds to the caller's written the device UUIDs of the disk legs that md is
# rebuilding, and so writes to, each followed by a blank.
legs_seen_recovering_() {
	local i facts
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == recovering ]] || continue
		facts=$(superblock_facts_patiently "${F[leg.$i.node]}")
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] || written+="${BASH_REMATCH[1]} "
	done
}

# legs_seen_note_again UUID: notes that md has put the leg back, and writes to it. If it leaves
# before the next look, its higher event count is from this run, and not from use elsewhere.
legs_seen_note_again() {
	[[ -z $DRY_RUN && -n $1 && -e $RUN/${F[name]}.joined ]] || return 0
	sed -i "s/^$1 .*/$1/" "$RUN/${F[name]}.joined" ||
		log_warning "${F[name]}: $RUN/${F[name]}.joined can't be written"
}
