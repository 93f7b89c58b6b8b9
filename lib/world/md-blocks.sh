# md arrays whose blocks become those of a RAM leg (zram: 4096 bytes) at their start: a spare is in
# them for that moment; and a new array that ends with a whole one. As world/md.sh, this acts.
# shellcheck shell=bash
#
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

need core/act core/paths world/md world/md-state

readonly MD_BLOCKS_START_RO=$SYS/module/md_mod/parameters/start_ro

# md_blocks_hold: arrays come up read-only until the first write, so that none begins to rebuild a
# spare. Sets MD_BLOCKS_WAS to how it was, for md_blocks_unhold. Debian has it so always.
md_blocks_hold() {
	MD_BLOCKS_WAS=1
	{ read -r MD_BLOCKS_WAS <"$MD_BLOCKS_START_RO"; } 2>/dev/null || return 1
	[[ $MD_BLOCKS_WAS == 1 ]] || act_write "$MD_BLOCKS_START_RO" 1
}
md_blocks_unhold() {
	[[ $MD_BLOCKS_WAS == 1 ]] || act_write "$MD_BLOCKS_START_RO" "$MD_BLOCKS_WAS"
}

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
