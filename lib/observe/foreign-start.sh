# The observing ring: was the array that runs started by something else than ramraid, and from legs
# that a start of ours would have refused? It reads superblocks, and writes nothing.
# shellcheck shell=bash

need core/paths decide/health notes/hardware notes/watched observe/last-copy observe/members
need world/superblock

declare -gA F # the facts: decide/facts.list

# foreign_start_judge: if something else has started the array, was any of its legs in sync when the
# array last ran, and is that leg no older now than it was then? Sets array.known to no, or to
# unread when none of its legs can be read; leaves it as it is if so, and when nothing is written
# down. And may a start use each of these legs, by the rules for a leg outside: is it on hardware
# that may be trusted, and was it not given up? If not, sets array.unfit as well. A run that a start
# of ours has judged is known, whatever has become of its legs since. After before_look_remembered
# and facts_observe.
foreign_start_judge() {
	local node facts uuid disks=no other=no vouched=no NODES
	foreign_start_is_open_ || return 0
	if [[ -n ${F[witness.events]} && -z ${F[witness.legs]} ]]; then
		# Only the RAM leg was good. If something started the disks without it, they lack
		# what it had.
		[[ ${F[ram.state]} == in_sync ]] &&
			foreign_start_is_as_far_ "$(superblock_says "${F[ram.node]}" events)" ||
			F[array.known]=no
		return 0
	fi
	members_in_sync
	for node in "${NODES[@]}"; do
		disks=yes
		facts=$(superblock_facts_patiently "$node")
		uuid=unread
		[[ ! $facts =~ device_uuid=([0-9a-f-]+) ]] || uuid=${BASH_REMATCH[1]}
		foreign_start_unfit_ "$uuid" "$node"
		[[ -z ${F[array.unfit]} ]] || {
			F[array.known]=no
			return 0
		}
		[[ $uuid != unread ]] || continue
		if foreign_start_vouches_ "$uuid" "$facts"; then vouched=yes; else other=yes; fi
	done
	[[ $vouched == no ]] || return 0
	[[ $disks == no || $other == yes ]] || F[array.known]=unread
	[[ $other == no ]] || F[array.known]=no
	# A ramdisk can't have been started without the disks. A device can, after it had left them.
	[[ $disks == yes || -z ${F[leg.ram.dev]-} || -z ${F[witness.events]} ||
		${F[ram.state]} != in_sync ]] || F[array.known]=no
}

# foreign_start_look: the judgement for a verb that only shows what is: sets array.known and
# array.unfit, and starts no process unless the array has to be judged. Only root can read
# superblocks, so for others array.known is unread, unless the record alone shows that it is no. It
# does not search all disks for a copy of a member. It also sets the facts of the record, if the
# ramdisk shows that it was the only good copy (last_copy_find).
foreign_start_look() {
	F[array.known]=yes F[array.unfit]='' F[array.unfit_by]=''
	if foreign_start_can_read; then
		[[ ${F[array.state]} == active ]] && watched_is "${F[array.md]}" ||
			! last_copy_find || last_copy_facts
		foreign_start_judge
	elif foreign_start_is_open_; then
		F[array.known]=unread
		! health_only_copy_beside || F[array.known]=no
	fi
}

foreign_start_can_read() { ((EUID == 0)); }

# foreign_start_is_open_: does the array run, is something written down about it, and has no start
# of ours judged this run?
foreign_start_is_open_() {
	[[ ${F[array.state]} == active &&
		-n ${F[witness.events]}${F[witness.was]-}${F[witness.given]-} ]] &&
		! watched_is "${F[array.md]}"
}

# foreign_start_unfit_ UUID NODE: sets array.unfit and array.unfit_by if this member in sync is one
# from which no start of ours would start.
foreign_start_unfit_() {
	local HARDWARE_MOVED HARDWARE_ALIEN
	hardware_compare "$1" "$2"
	# It may be a copy, whatever its superblock says, and md reads from it, too.
	[[ -z $HARDWARE_ALIEN ]] ||
		F[array.unfit]="/dev/$2, which may be a copy of a leg: $HARDWARE_MOVED" \
			F[array.unfit_by]=hardware
	# md assembles legs that were used without each other, if their event counts are the same.
	[[ " ${F[witness.given]-} " != *" $1 "* ]] ||
		F[array.unfit]="/dev/$2, which a start without it has given up" \
			F[array.unfit_by]=given
}

# foreign_start_vouches_ UUID FACTS: was this disk leg in sync when the array last ran, and was it,
# by the facts of its superblock, not put back to an older state since? With a void record: was it
# in sync when that was last written? Without a record: yes, unless a person has given it up.
foreign_start_vouches_() {
	local legs="${F[witness.legs]}${F[witness.was]-}" events=$'\nevents=([0-9]+)'
	if [[ -z ${F[witness.events]}$legs ]]; then
		[[ " ${F[witness.given]-} " != *" $1 "* ]]
		return
	fi
	[[ " $legs " == *" $1 "* && $2 =~ $events ]] &&
		foreign_start_is_as_far_ "${BASH_REMATCH[1]}"
}

# foreign_start_is_as_far_ EVENTS: does a leg with so many events have all that the array had when
# it was last written down? One less is md's own half step.
foreign_start_is_as_far_() {
	[[ -n $1 ]] && (($1 + 1 >= ${F[witness.events]:-0}))
}
