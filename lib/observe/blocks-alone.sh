# Does an array have larger logical blocks than md would give it without ramraid (because of
# BLOCK=4096, or of a RAM leg with larger ones), and does something on it count in them? A partition
# table does. Everything else that is known has blocks of its own, and works as long as the array's
# are not larger.
# shellcheck shell=bash

need core/text observe/contents-blocks world/disk world/md-state

declare -gA F # the facts: decide/facts.list

# blocks_alone_of_disks: sets BLOCKS_ALONE to the size in bytes that the blocks have with the disk
# legs alone: the largest among those that are there, or 0 when none is. After facts_observe.
blocks_alone_of_disks() {
	local i block
	BLOCKS_ALONE=0
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		block=$(disk_block "${F[leg.$i.node]}")
		((block <= BLOCKS_ALONE)) || BLOCKS_ALONE=$block
	done
}

# blocks_alone_why_not: for an array that runs, prints in one line why md alone must not start it;
# nothing when it may. After facts_observe. Newer kernels keep the block size in the superblocks
# (linux Documentation/admin-guide/md.rst, logical_block_size, since 6.19).
blocks_alone_why_not() {
	local line where kind what BLOCKS_ALONE VALUE block=${F[array.block]}
	blocks_alone_of_disks
	md_state_read "${F[array.md]}" logical_block_size
	text_number_or VALUE 0 && text_number_or block 0
	((BLOCKS_ALONE > 0 && block > BLOCKS_ALONE && block > VALUE)) || return 0
	contents_blocks_look "${F[array.md]}"
	for line in "${CONTENTS_BLOCKS[@]}"; do
		text_into "$line" where kind _
		case $kind in
		gpt | dos) what="a partition table ($kind) is on $where" ;;
		several)
			what="signatures that do not go together are on $where, \
perhaps a partition table (wipefs $where lists them)"
			;;
		silent | unreadable)
			what="$where can't be read, and perhaps has a partition table"
			;;
		*) continue ;;
		esac
		printf '%s\n' "without ramraid, its next start gives it blocks of $BLOCKS_ALONE \
bytes instead of $block; but $what, which would then point to the wrong places, or could not be \
read"
		return
	done
}
