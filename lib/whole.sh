# Of the pure ring, apart because it is all that a look needs: is the array whole, and if not, what is lost?
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# decide_lost: sets LOST to the disk legs that are not in sync, and LACKING to those that md keeps in sync though they lack blocks, each after a blank.
decide_lost() {
	local i
	LOST='' LACKING=''
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || LOST+=" ${F[leg.$i.dev]}"
		[[ ${F[leg.$i.lacks]-} != yes ]] || LACKING+=" ${F[leg.$i.dev]}"
	done
}

# decide_disk_in_sync: is any disk leg?
decide_disk_in_sync() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || return 0
	done
	return 1
}

# decide_disk_has_all: is any disk leg in sync, and have those that are, together, all that the RAM leg has? md reads each block where it is good.
decide_disk_has_all() { [[ ${F[disks.lack]-} != yes ]] && decide_disk_in_sync; }

# decide_is_whole: every leg that is configured is in the running array, in sync, and equal.
decide_is_whole() {
	decide_lost
	[[ ${F[array.state]} == active && ${F[array.sync]} != resync && ${F[array.pending]} == no && -z $LOST$LACKING ]] &&
		[[ ${F[ram.state]} == in_sync || ${F[conf.ram]} == none ]]
}
