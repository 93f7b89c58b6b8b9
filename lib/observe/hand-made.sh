# A ramdisk that somebody has made by hand and added to an array, as articles show it: which one it
# is, and whether it is still the one that "adopt" has noted. Nothing is changed here.
# shellcheck shell=bash

need core/paths core/text notes/adopted world/disk world/md-state world/ramdisk world/ramdisk-memory
need world/ramdisk-note world/superblock

# hand_made_find NAME MD: sets HAND_MADE to the members that are ramdisks, separated by blanks,
# except the one that ramraid has made for this array in this boot.
hand_made_find() {
	local line LEGS leg RAM_PROVIDER RAM_NODE RAM_BYTES
	HAND_MADE=''
	ramdisk_note_read "$1"
	md_state_members "$2"
	for line in "${LEGS[@]}"; do
		leg=${line%% *}
		! ramdisk_note_is_node "$leg" || [[ $leg == "$RAM_NODE" ]] ||
			HAND_MADE+="${HAND_MADE:+ }$leg"
	done
}

# hand_made_identity NODE: prints the ramdisk as the note names it: "NODE NUMBER BOOT". The kernel
# does not use a number twice in one boot.
hand_made_identity() {
	local number='' boot=''
	{ read -r number <"$SYS/block/$1/diskseq"; } 2>/dev/null || :
	{ read -r boot <"$PROC/sys/kernel/random/boot_id"; } 2>/dev/null || :
	printf '%s %s %s\n' "$1" "${number:--}" "${boot:--}"
}

# hand_made_find_left NAME UUID: sets HAND_MADE_LEFT to the ramdisk in ADOPTED, if it has left the
# array and is nobody's: it is still the same device, it carries the superblock of this array,
# nobody uses it, and ramraid has not made it. Otherwise to nothing.
hand_made_find_left() {
	local node RAM_PROVIDER RAM_NODE RAM_BYTES
	HAND_MADE_LEFT=''
	text_into "${ADOPTED[ramdisk]-}" node
	ramdisk_note_is_node "$node" && [[ -e $SYS/block/$node ]] || return 0
	[[ $(hand_made_identity "$node") == "${ADOPTED[ramdisk]}" ]] || return 0
	ramdisk_note_read "$1"
	[[ $node != "$RAM_NODE" ]] && disk_is_unused "$node" || return 0
	[[ $(superblock_facts "$DEV/$node") == *$'\nuuid='"$2"$'\n'* ]] || return 0
	HAND_MADE_LEFT=$node
}

# hand_made_freed NODE: prints how many bytes of memory dropping NODE frees; 0 when that is not
# known, or when it is up to a person to drop it.
hand_made_freed() {
	local RAM_TAKEN=0
	[[ $1 == rd* ]] && ramdisk_memory_taken "$1" || RAM_TAKEN=0
	printf '%s\n' "$RAM_TAKEN"
}
