# What is known of the run that an array is in, in $RUN: whether a start of ours has judged it, and
# which disk legs were in sync in it.
# shellcheck shell=bash

need core/act core/log core/paths world/md-state world/superblock

declare -gA F # the facts: decide/facts.list

# A start of ours has judged the array that is running, and its monitor writes down every change of
# it from now on.
witness_joined_watched() {
	local MD_RUN
	md_state_run "${F[array.md]}"
	if [[ -n $MD_RUN ]]; then
		act_put "$RUN/${F[name]}.watched" "$MD_RUN"
	else
		rm -f "$RUN/${F[name]}.watched"
	fi
}

# witness_joined_note EVENTS UUID…: these disk legs are in sync in this run of the array, and
# no other. Whatever becomes of them while it runs, they were part of it; $RUN/NAME.joined names
# them, and those that have left, with the array's event count when that was seen, of which an
# honest leg carries no more, and the disk legs that were in sync then, all of which it calls active
# (outside_joined).
witness_joined_note() {
	local MD_RUN known=() i uuid before written events=$1
	shift
	[[ -z $DRY_RUN ]] || return 0
	md_state_run "${F[array.md]}"
	[[ -n $MD_RUN ]] || return 0
	written=" $* $(witness_joined_recovering_)"
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

# witness_joined_recovering_: prints the device UUIDs of the disk legs that md is rebuilding, and so
# writes to, each with a blank after it.
witness_joined_recovering_() {
	local i facts
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == recovering ]] || continue
		facts=$(superblock_facts_patiently "${F[leg.$i.node]}")
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] || printf '%s ' "${BASH_REMATCH[1]}"
	done
}

# witness_joined_again UUID: md has it in the array again, and writes to it; should it leave
# before anybody looks, it is not from elsewhere that it has that.
witness_joined_again() {
	[[ -n $1 && -e $RUN/${F[name]}.joined ]] || return 0
	sed -i "s/^$1 .*/$1/" "$RUN/${F[name]}.joined" ||
		log_warning "${F[name]}: $RUN/${F[name]}.joined can't be written"
}
