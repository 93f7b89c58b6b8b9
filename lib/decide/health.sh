# The pure ring's part that says whether an array is whole, and if not, what it lacks. It is a file
# of its own because "status" needs nothing else.
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list

# health_lost: sets LOST to the disk legs that are not in sync, and LACKING to those that md keeps
# in sync though they lack blocks, each after a blank.
health_lost() {
	local i
	LOST='' LACKING=''
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || LOST+=" ${F[leg.$i.dev]}"
		[[ ${F[leg.$i.lacks]} != yes ]] || LACKING+=" ${F[leg.$i.dev]}"
	done
}

# health_leg KEY: sets LEG to one word on a leg, KEY being leg.I or ram: in_sync, recovering or
# faulty in the running array, as md has it; attached: the ramdisk, beside the array; missing;
# outside: there, and none of these. What a disk leg outside is good for: leg_classify in
# decide/leg.sh.
health_leg() {
	LEG=${F[$1.state]:-outside}
	[[ -n ${F[$1.node]} && $LEG != none ]] || LEG=missing
}

# health_count: sets IN_SYNC to how many of the disk legs that are configured are in sync.
health_count() {
	local i
	IN_SYNC=0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || IN_SYNC=$((IN_SYNC + 1))
	done
}

# health_disk_in_sync: is any disk leg? Also one whose name the configuration does not have.
health_disk_in_sync() {
	local i
	[[ -z ${F[array.unconfigured]} ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || return 0
	done
	return 1
}

# health_legs: sets LEGS_IN_ALL to how many legs the array is to have, the RAM leg included.
health_legs() {
	LEGS_IN_ALL=${F[members]}
	[[ ${F[conf.ram]} == none ]] || LEGS_IN_ALL=$((LEGS_IN_ALL + 1))
}

# health_disk_has_all: is any disk leg in sync, and have those that are, together, all that the RAM
# leg has? md reads each block where it is good.
health_disk_has_all() { [[ ${F[disks.lack]} != yes ]] && health_disk_in_sync; }

# health_only_copy: has the RAM leg something that no disk leg in sync has? A power cut then loses
# it. The one place that tells; of an array that runs.
health_only_copy() { [[ ${F[ram.state]} == in_sync ]] && ! health_disk_has_all; }

# health_only_copy_beside: is what was written last in the ramdisk alone, which is in no array now?
# So the record says, and no disk has it since: somebody else has stopped the array, and perhaps
# started it, or gathered its disks, without the ramdisk. A device in its place keeps what it has.
health_only_copy_beside() {
	[[ ${F[ram.state]} == attached && -z ${F[leg.ram.dev]} && -z ${F[rescue.image]} &&
		-n ${F[witness.events]} && -z ${F[witness.legs]} ]]
}

# health_is_whole: every leg that is configured is in the running array, in sync, and equal.
health_is_whole() {
	health_lost
	[[ ${F[array.state]} == active && ${F[array.sync]} != resync && ${F[array.pending]} == no &&
		-z $LOST$LACKING ]] &&
		[[ ${F[ram.state]} == in_sync || ${F[conf.ram]} == none ]]
}

# health_is_too_small: has the running array smaller blocks than a RAM leg of zram?
health_is_too_small() {
	[[ ${F[conf.ram]} == zram* && ${F[array.state]} == active ]] &&
		((${F[array.block]:-512} < 4096))
}

# health_half: sets HALF to what is to be said of a disk leg that a restore has begun to
# overwrite, and has not ended.
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
