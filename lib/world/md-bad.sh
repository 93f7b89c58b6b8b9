# md's list of the blocks of a leg that can't be used, written by hand. Like world/md.sh, this file
# changes arrays.
# shellcheck shell=bash
#
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

need core/act core/paths world/md-state

# md_bad_add MD LEG FROM SECTORS: adds blocks to the list, in sectors of the array. From then on, a
# read of them fails unless another leg has them; a write that succeeds takes them off the list.
# Returns 1 when md does not say where the data begins, or when the leg has no list, or a full one.
md_bad_add() {
	local VALUE
	md_state_read "$1" "dev-$2/offset"
	[[ $VALUE =~ ^[0-9]+$ ]] || return 1
	act_write "$SYS/block/$1/md/dev-$2/bad_blocks" "$((VALUE + $3)) $4"
}
