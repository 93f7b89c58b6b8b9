# md arrays that get blocks as large as a RAM leg's (zram: 4096 bytes) when they start, because a
# spare with such blocks is in them at that moment. And new arrays, whose size is made a multiple
# of such blocks. Like world/md.sh, this file changes arrays.
# shellcheck shell=bash
#
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

need core/act core/paths world/md world/md-state

# md_blocks_take_out MD LEG: takes a spare out of an array. If md has begun to rebuild it, because
# somebody has already written to the array, the spare has to fail first.
md_blocks_take_out() {
	act mdadm --manage "/dev/$1" --remove "/dev/$2" && return
	act mdadm --manage "/dev/$1" --fail "/dev/$2" || return
	md_remove "$1" "$2"
}

# md_blocks_round MD: rounds the size of a new array down to a multiple of 4096 bytes. md refuses
# that while it resyncs, so the array is frozen meanwhile.
md_blocks_round() {
	local VALUE code=0
	md_state_read "$1" component_size # KiB
	[[ $VALUE =~ ^[0-9]+$ ]] || return
	((VALUE % 4)) || return 0
	md_freeze "$1" || return
	act mdadm --grow "/dev/$1" --size=$((VALUE / 4 * 4)) || code=1
	md_thaw "$1" || code=1
	return "$code"
}
