# What a leg may lack after an unclean stop. The legs' own write-intent bitmaps record it, but md
# forgets it when it starts one leg alone. So ramraid passes it on before md puts a leg back.
# shellcheck shell=bash

need core/log core/paths core/text world/md world/md-state world/superblock

declare -gA F # the facts: decide/facts.list

# bits_keep NODE…: sets BITS to where the legs that are absent, or still being rebuilt, may differ
# from the legs NODE…. Such a leg is a disk leg, or a RAM leg on a device, which md puts back by its
# bitmap as well. After a power cut md forgets this when no more than one leg is complete:
# raid1_run() in linux drivers/md/raid1.c calls the array clean, and md_bitmap_load() then keeps
# only what was written while a leg was missing. What was being written when the power failed would
# stay different on the leg that comes back (case "source").
bits_keep() {
	local i node complete=0 dirty=''
	for ((i = 0; i < F[members]; i++)); do
		[[ " $* " == *" ${F[leg.$i.node]:-none} "* ]] || continue
		[[ ${F[leg.$i.dirty]-} != yes ]] || dirty=yes
		[[ -n ${F[leg.$i.recovery]-} ]] || complete=$((complete + 1))
	done
	[[ -n $dirty ]] && ((complete < F[members] + (${#F[leg.ram.dev]} > 0))) || return 0
	for node; do
		bits_add_ "$node"
		[[ ${BITS[*]} != all ]] || return 0
	done
}

# bits_add_ NODE [CHUNK]: adds the bits of NODE's write-intent bitmap to BITS, or sets BITS to "all"
# when that bitmap can't be read, is too large, or has other chunks.
bits_add_() {
	local lines why=''
	lines=$(superblock_dirty_bits "$DEV/$1" "${@:2}") || why="can't be read"
	[[ $lines != all ]] || why="is too large, or its chunks are not the array's"
	if [[ -n $why ]]; then
		log_warning "${F[name]}: the write-intent bitmap of $1 $why: assuming that absent \
disk legs differ everywhere"
		BITS=(all)
	elif [[ -n $lines ]]; then
		mapfile -t -O "${#BITS[@]}" BITS < <(printf '%s\n' "$lines")
	fi
}

# bits_set MD: sets the bits in BITS in md's bitmap. Returns 1, with a warning, if md refuses them.
bits_set() {
	local bits code=0
	for bits in "${BITS[@]}"; do
		if [[ $bits == all ]]; then
			md_bits_set_all "$1"
		else
			md_bits_set "$1" "$bits"
		fi || code=1
	done
	((code == 0)) || log_warning "${F[name]}: could not tell md where the \
absent disk legs may differ"
	return "$code"
}

# bits_within MD FROM END: tells md that the legs may differ in the chunks of its bitmap that are
# completely between these bytes. A chunk that is only partly there is the caller's, who writes to
# the rest of it. Returns 1 when md does not take them.
bits_within() {
	local VALUE first last
	md_state_read "$1" bitmap/chunksize # bytes
	[[ $VALUE =~ ^[1-9][0-9]*$ ]] || return 0
	first=$((($2 + VALUE - 1) / VALUE)) last=$(($3 / VALUE - 1))
	((first > last)) || md_bits_set "$1" "$first-$last"
}

# bits_own LEG NODE: call it before a leg (leg.I, leg.ram) that was not stopped cleanly returns to
# the running array by its bitmap. Tells md where that leg itself was being written to. The array
# may have forgotten that: whatever has started the others without this leg since, such as a rescue
# system, has dropped those bits (bits_keep). Returns 1 when md does not take them.
bits_own() {
	local BITS=() VALUE
	[[ ${F[$1.dirty]} == yes && ${F[array.bitmap]} == internal ]] || return 0
	md_state_read "${F[array.md]}" bitmap/chunksize # a grow may have enlarged it
	text_number_or VALUE 0
	bits_add_ "$2" "$VALUE"
	bits_set "${F[array.md]}"
}
