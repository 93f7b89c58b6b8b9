# md arrays whose blocks become those of a RAM leg (zram: 4096 bytes) at their start: a spare is in
# them for that moment; and a new array that ends with a whole one. As world/md.sh, this acts.
# shellcheck shell=bash
#
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

need core/act core/paths world/md world/md-state

# md_blocks_take_out MD LEG: takes a spare out of an array. One that md has begun to rebuild,
# because somebody has written already, has to fail first.
md_blocks_take_out() {
	act mdadm --manage "/dev/$1" --remove "/dev/$2" && return
	act mdadm --manage "/dev/$1" --fail "/dev/$2" || return
	md_remove "$1" "$2"
}

# md_blocks_round MD: makes a new array end with a whole block of 4096 bytes, if it does not. md
# refuses that while it resyncs.
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
