# The observing ring: which members of the running array may a person be told to take out by hand?
# Only those without which the disk legs that stay in sync have everything. A RAM leg does not
# count: a power cut loses it.
# shellcheck shell=bash

need world/md world/md-state world/ramdisk-note

declare -gA F # the facts: decide/facts.list

# may_leave_look: sets array.may_leave to the members that may leave, even all of them together.
# It asks only about those that somebody may be told to take out: what the configuration does not
# name, what has bad blocks, and disks that are to leave a far2, which has no slot beside them.
# After facts_observe; the next look forgets it.
may_leave_look() {
	local i stay=()
	F[array.may_leave]=''
	[[ -n ${F[array.md]} ]] || return 0
	for i in ${F[array.unconfigured]}; do stay+=("$i"); done
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || stay+=("${F[leg.$i.node]}")
	done
	for i in ${F[array.strangers]}; do may_leave_one_ "$i"; done
	may_leave_bad_
	[[ ${F[conf.layout]} == far2 ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.leaving]} != yes || ${F[leg.$i.in]} != "${F[array.md]}" ]] ||
			may_leave_one_ "${F[leg.$i.node]}"
	done
}

# Adds NODE to array.may_leave if the others of the caller's stay have all that it has, and takes it
# from stay. A ramdisk that is not the RAM leg may also leave if only the RAM leg has that.
may_leave_one_() { # NODE
	local other others=()
	[[ " ${F[array.may_leave]} " != *" $1 "* ]] || return 0
	for other in "${stay[@]}"; do [[ $other == "$1" ]] || others+=("$other"); done
	! ramdisk_note_is_node "$1" || [[ ${F[ram.state]} != in_sync ]] || {
		md_state_is_covered "${F[array.md]}" "$1" "${others[@]}" "${F[ram.node]}" &&
			may_leave_add_ "$1"
		return 0
	}
	md_state_is_covered "${F[array.md]}" "$1" "${others[@]}" || return 0
	stay=("${others[@]}")
	may_leave_add_ "$1"
}
may_leave_add_() { F[array.may_leave]+="${F[array.may_leave]:+ }$1"; } # NODE

# mdadm adds no new member while any member has bad blocks. So to take one out only helps if all of
# them go: a disk leg without bad blocks must stay.
may_leave_bad_() {
	local i good=() bad=()
	for i in "${stay[@]}"; do
		md_has_bad_blocks "${F[array.md]}" "$i" || good+=("$i")
	done
	((${#good[@]} > 0)) || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.state]} ]] &&
			md_has_bad_blocks "${F[array.md]}" "${F[leg.$i.node]}" &&
			bad+=("${F[leg.$i.node]}")
	done
	for i in "${bad[@]}"; do
		! md_state_is_covered "${F[array.md]}" "$i" "${good[@]}" || may_leave_add_ "$i"
	done
	stay=("${good[@]}")
}
