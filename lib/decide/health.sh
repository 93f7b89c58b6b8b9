# Whether an array is whole, and if not, what it lacks. It is a file of its own because "status"
# needs nothing else of the pure ring.
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list

# health_lost: sets LOST to the disk legs that are not in sync, and LACKING to those that md keeps
# in sync although they lack blocks, each preceded by a blank.
health_lost() {
	local i
	LOST='' LACKING=''
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || LOST+=" ${F[leg.$i.dev]}"
		[[ ${F[leg.$i.lacks]} != yes ]] || LACKING+=" ${F[leg.$i.dev]}"
	done
}

# health_leg KEY: sets LEG to one word for the state of a leg; KEY is leg.I or ram. in_sync,
# recovering or faulty: it is in the running array, and md says so; attached: the ramdisk, beside
# the array; missing; outside: it is there, but none of these. What a disk leg outside is good for:
# leg_classify in decide/leg.sh.
health_leg() {
	LEG=${F[$1.state]:-outside}
	[[ -n ${F[$1.node]} && $LEG != none ]] || LEG=missing
}

# health_count: sets IN_SYNC to how many of the configured disk legs are in sync.
health_count() {
	local i
	IN_SYNC=0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || IN_SYNC=$((IN_SYNC + 1))
	done
}

# health_disk_in_sync: is any disk leg in sync, including one that the configuration does not name?
health_disk_in_sync() {
	local i
	[[ -z ${F[array.unconfigured]} ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || return 0
	done
	return 1
}

# health_may_leave NODE: do the disk legs that stay have everything that the member NODE has? Only
# then may a person be told how to take it out by hand.
health_may_leave() { [[ " ${F[array.may_leave]} " == *" ${1:-none} "* ]]; }

# health_legs: sets LEGS_IN_ALL to how many legs the array has or may have had, with the RAM leg.
# A new disk that a change is about to add has been in no slot yet.
health_legs() {
	local i
	LEGS_IN_ALL=${F[members]}
	[[ ${F[conf.ram]} == none ]] || LEGS_IN_ALL=$((LEGS_IN_ALL + 1))
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.in]} || ${F[leg.$i.kind]} != @(blank|occupied|foreign) ]] ||
			LEGS_IN_ALL=$((LEGS_IN_ALL - 1))
	done
}

# health_disk_has_all: is any disk leg in sync, and do those in sync, together, have everything that
# the RAM leg has? md reads each block from a leg where it is good.
health_disk_has_all() { [[ ${F[disks.lack]} != yes ]] && health_disk_in_sync; }

# health_only_copy: does the RAM leg of a running array have something that no disk leg in sync has?
# A power cut would then lose it. Only this function decides that.
health_only_copy() { [[ ${F[ram.state]} == in_sync ]] && ! health_disk_has_all; }

# health_only_copy_beside: is what was written last only in the ramdisk, which is in no array now?
# The record says so, and no disk has received it since: something else has stopped the array, and
# may have started it, or assembled its disks, without the ramdisk. A device that is the RAM leg
# does not count, because it keeps its contents.
health_only_copy_beside() {
	[[ ${F[ram.state]} == attached && -z ${F[leg.ram.dev]} && -z ${F[rescue.image]} &&
		-n ${F[witness.events]} && -z ${F[witness.legs]} ]]
}

# health_ramdisk_alone: the same, for reports, which need array.known for it: not in a run that a
# start of ours has judged, because there the record just could not be written since.
health_ramdisk_alone() {
	health_only_copy_beside && [[ ${F[array.state]} != active || ${F[array.known]} == no ]]
}

# health_is_whole: every leg that is configured is in the running array, in sync, and equal, and the
# RAM leg has all that md wrote, too.
health_is_whole() {
	health_lost
	[[ ${F[array.state]} == active && ${F[array.sync]} != resync && ${F[array.pending]} == no &&
		-z $LOST$LACKING${F[ram.lacks]} ]] &&
		[[ ${F[ram.state]} == in_sync || ${F[conf.ram]} == none ]]
}

# health_is_too_small: are the running array's blocks smaller than those of a zram RAM leg?
health_is_too_small() {
	[[ ${F[conf.ram]} == zram* && ${F[array.state]} == active ]] &&
		((${F[array.block]:-512} < 4096))
}

# health_half: sets HALF to what to say about a disk leg that an unfinished restore has begun to
# overwrite; to nothing when there is none.
health_half() {
	local i
	HALF=''
	[[ -n ${F[rescue.disk]} ]] || return 0
	HALF='. A restore was cut off, and the disk that it was overwriting is not here'
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.device_uuid]} != "${F[rescue.disk]}" ]] ||
			HALF=". A restore was cut off: ${F[leg.$i.dev]} is half overwritten"
	done
}
