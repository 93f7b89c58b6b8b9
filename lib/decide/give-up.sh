# Which legs are given up when a person has an array started without them, and which have been given
# up before.
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list

# In witness.given, this stands for a leg that nobody knew of when a start without it gave it up.
readonly GIVE_UP_UNKNOWN=00000000-0000-0000-0000-000000000000

# Prints the device UUIDs of the disk legs that are here.
give_up_here_() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.uuid]} != "${F[uuid]}" ]] || printf '%s\n' "${F[leg.$i.device_uuid]}"
	done
}

give_up_one_() { # LEG NODE…
	if [[ " ${*:2} " == *" ${F[leg.$1.node]:-none} "* ]]; then
		started+=" ${F[leg.$1.device_uuid]}"
	else
		F[witness.give_up]+=" ${F[leg.$1.device_uuid]}"
	fi
}

# give_up_legs NODE…: sets witness.give_up, which goes into the next witness, to all legs that were
# ever in sync or are here, except those that the array is started from. If fewer of them are known
# than the array has disk legs, an unknown leg is absent, and GIVE_UP_UNKNOWN is added for it.
give_up_legs() {
	local i uuid known=' ' count=0 started=''
	F[witness.give_up]="${F[witness.legs]} ${F[witness.left]} ${F[witness.seen]}"
	for uuid in ${F[witness.give_up]} $(give_up_here_); do
		[[ $known == *" $uuid "* ]] || known+="$uuid " count=$((count + 1))
	done
	F[witness.give_up]+=" ${F[witness.doubted]}"
	((count >= F[members])) || F[witness.give_up]+=" $GIVE_UP_UNKNOWN"
	for ((i = 0; i < ${F[members]}; i++)); do give_up_one_ "$i" "$@"; done
	[[ -z ${F[leg.ram.dev]} || ${F[leg.ram.uuid]} != "${F[uuid]}" ]] ||
		give_up_one_ ram "$@"
	for i in $started; do F[witness.give_up]=${F[witness.give_up]//"$i"/}; done
}

# give_up_is_given I: has a start without leg I given it up, in spite of all that spoke for it? Then
# it may hold writes that no other leg has, its superblock may not show that, and only a rebuild of
# the whole leg makes it equal.
give_up_is_given() { [[ " ${F[witness.given]} " == *" ${F[leg.$1.device_uuid]:-none} "* ]]; }
