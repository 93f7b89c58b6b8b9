# Ramdisks of zram, which compresses its data and stores no zeros. They are made through
# /sys/class/zram-control, and only devices that it has just given us are used: all others are
# somebody else's, such as the swap of zram-generator.
# shellcheck shell=bash

need core/act core/clock core/log core/paths core/quantity core/text world/disk world/ramdisk
need world/ramdisk-memory world/ramdisk-note

readonly RAMDISK_ZRAM=$SYS/class/zram-control
readonly RAMDISK_ZRAM_BLOCK=4096 # bytes: its logical blocks, on every machine
# bytes per block at most, taken when the device is made (struct zram_table_entry)
readonly RAMDISK_ZRAM_ENTRY=24
readonly RAMDISK_ZRAM_SPARE_LIMIT=4M
readonly RAMDISK_ZRAM_DEFAULT=zstd # of those that kernels have, what compresses best

# Loads zram without options. It then makes one device by itself, which others who load it expect.
ramdisk_zram_is_there() { modprobe -q zram && [[ -e $RAMDISK_ZRAM/hot_add ]]; }

# ramdisk_zram_make BYTES NAME PROVIDER LIMIT: makes a device for the array NAME, and prints its
# node. PROVIDER is zram or zram:ALGORITHM. LIMIT is how many bytes of memory its data may take;
# beyond that, writes fail. The device is noted before it is set up: as long as it has no size it
# takes no memory, and ramdisk_zram_tidy finds it again.
ramdisk_zram_make() {
	local node
	ramdisk_zram_tidy "$2"
	node=$(ramdisk_zram_add) || return 1
	if ramdisk_note_write "$2" zram "$node" "$1" blank &&
		act_write "$SYS/block/$node/mem_limit" "$4" &&
		ramdisk_zram_set_up "$node" "$1" "$3"; then
		printf '%s\n' "$node"
		return
	fi
	ramdisk_zram_drop "$node" && rm -f "$RUN/$2.ram"
	return 1
}

# How many bytes of memory a leg of BYTES takes besides its data, and how many its data takes at
# most: what can't be compressed is stored in full, and some space between the objects stays free.
ramdisk_zram_table() { printf '%s\n' $(($1 * RAMDISK_ZRAM_ENTRY / RAMDISK_ZRAM_BLOCK)); } # BYTES
ramdisk_zram_most_() { printf '%s\n' $(($1 + $1 / 16)); }                                 # BYTES

# ramdisk_zram_need BYTES LIMIT: prints how many bytes of memory there must be: LIMIT, or less if
# the leg can't take so much, and the table. With LIMIT=auto a leg is not tried with less than a
# sixteenth of its size.
ramdisk_zram_need() {
	local limit most
	most=$(ramdisk_zram_most_ "$1")
	if [[ $2 == auto ]]; then
		limit=$(($1 / 16))
	else limit=$(quantity_bytes "$2" "$(ramdisk_memory_total)"); fi
	printf '%s\n' $(((limit < most ? limit : most) + $(ramdisk_zram_table "$1")))
}

# ramdisk_zram_limit BYTES LIMIT RESERVE: prints the limit in bytes, rounded up to whole pages. With
# LIMIT=auto it is what RESERVE leaves.
ramdisk_zram_limit() {
	local limit most RAM_ROOM RAM_RESERVED
	most=$(ramdisk_zram_most_ "$1")
	if [[ $2 == auto ]]; then
		ramdisk_memory_room "$3" 0
		limit=$((RAM_ROOM - RAM_RESERVED - $(ramdisk_zram_table "$1")))
	else
		limit=$(quantity_bytes "$2" "$(ramdisk_memory_total)")
	fi
	((limit <= most)) || limit=$most
	printf '%s\n' $(((limit + RAM_PAGE - 1) / RAM_PAGE * RAM_PAGE))
}

# ramdisk_zram_add: makes a new device, and prints its node. It has no size yet. Reading hot_add
# makes it (linux Documentation/admin-guide/blockdev/zram.rst).
ramdisk_zram_add() {
	local number=''
	ramdisk_zram_is_there || {
		echo "the kernel module zram is not available for $(uname -r); set RAM=auto" >&2
		return 1
	}
	log_info "+ cat $RAMDISK_ZRAM/hot_add"
	{ read -r number <"$RAMDISK_ZRAM/hot_add"; } 2>/dev/null || :
	[[ $number =~ ^[0-9]+$ ]] || {
		echo 'the kernel refused to make another zram device' >&2
		return 1
	}
	printf 'zram%s\n' "$number"
}

# ramdisk_zram_set_up NODE BYTES PROVIDER: sets the algorithm and the size of the new device NODE.
# Once it has its size, it can be used.
ramdisk_zram_set_up() {
	local folder=$SYS/block/$1
	ramdisk_zram_algorithm_ "$1" "$3" || return 1
	act_write "$folder/disksize" "$2" || {
		echo "the kernel refused to give $1 a size of $2 bytes" >&2
		return 1
	}
	disk_wait_node "$1" || return 1
	(($(disk_bytes "$1") == $2)) || {
		echo "zram made $1 with $(disk_bytes "$1") instead of $2 bytes" >&2
		return 1
	}
}

# If the default algorithm can't be had, the kernel's own choice will do. An algorithm that the
# administrator has asked for must be the one that is used.
ramdisk_zram_algorithm_() { # NODE PROVIDER
	local file=$SYS/block/$1/comp_algorithm has=''
	{ read -r has <"$file"; } 2>/dev/null || :
	has=${has//[][]/}
	if [[ $2 == zram:* ]]; then
		if [[ " $has " != *" ${2#zram:} "* ]] || ! act_write "$file" "${2#zram:}"; then
			echo "zram of this kernel does not compress with ${2#zram:}; \
write RAM=zram, or one of: $has" >&2
			return 1
		fi
	elif [[ " $has " != *" $RAMDISK_ZRAM_DEFAULT "* ]] ||
		! act_write "$file" "$RAMDISK_ZRAM_DEFAULT"; then
		log_notice "$1: zram of this kernel does not compress with $RAMDISK_ZRAM_DEFAULT; \
using the kernel's default"
	fi
}

# ramdisk_zram_drop NODE: removes the device with all that it holds. The kernel refuses while
# anybody has it open, as udev does now and then.
ramdisk_zram_drop() {
	[[ -n $DRY_RUN ]] || clock_until 10 0.3 ramdisk_zram_is_closed_ "$1" || return "$EX_REFUSED"
	clock_until 10 0.3 act_write "$RAMDISK_ZRAM/hot_remove" "${1#zram}"
}
ramdisk_zram_is_closed_() { disk_is_unused "$1"; }

# ramdisk_zram_tidy NAME: removes a device that was noted for the array and never got its size,
# because the program that was making it was killed.
ramdisk_zram_tidy() {
	local provider='' node='' bytes='' sequence='' now='' NUMBER
	{ read -r provider node bytes sequence _ <"$RUN/$1.ram"; } 2>/dev/null || return 0
	[[ $provider == zram && $node =~ ^zram[0-9]+$ ]] || return 0
	{ read -r now <"$SYS/block/$node/diskseq"; } 2>/dev/null || :
	text_number_in "$SYS/block/$node/size" 1
	((NUMBER == 0)) && [[ ${now:--} == "${sequence:--}" ]] && disk_is_unused "$node" || return 0
	ramdisk_zram_drop "$node" || :
}

# ramdisk_zram_spare NAME BYTES: makes a device that does not become the RAM leg
# (act/block-size.sh), with a note of its own. Beside its table it takes at most
# RAMDISK_ZRAM_SPARE_LIMIT of memory, whoever writes to it. Sets RAMDISK_ZRAM_SPARE to its node, or
# RAMDISK_ZRAM_WHY when there is no room for the table.
ramdisk_zram_spare() {
	local sequence='' table RAM_AVAILABLE
	RAMDISK_ZRAM_WHY=''
	table=$(ramdisk_zram_table "$2")
	ramdisk_memory_available
	((table <= RAM_AVAILABLE)) || {
		RAMDISK_ZRAM_WHY="for that a start needs $(quantity_show_bytes "$table") of memory \
for a moment (0.6% of the size of a leg), and $(quantity_show_bytes "$RAM_AVAILABLE") are available"
		return 1
	}
	ramdisk_zram_is_there || {
		RAMDISK_ZRAM_WHY="the kernel module zram is not available for $(uname -r)"
		return 1
	}
	RAMDISK_ZRAM_SPARE=$(ramdisk_zram_add) || return 1
	{ read -r sequence <"$SYS/block/$RAMDISK_ZRAM_SPARE/diskseq"; } 2>/dev/null || :
	act_put "$RUN/$1.block" "$RAMDISK_ZRAM_SPARE ${sequence:--}" || return 1
	act_write "$SYS/block/$RAMDISK_ZRAM_SPARE/mem_limit" "$RAMDISK_ZRAM_SPARE_LIMIT" &&
		ramdisk_zram_set_up "$RAMDISK_ZRAM_SPARE" "$2" zram
}

# ramdisk_zram_spare_find NAME: sets RAMDISK_ZRAM_SPARE to the device that is noted, if it is still
# the same one; otherwise to nothing.
ramdisk_zram_spare_find() {
	local sequence='' now=''
	RAMDISK_ZRAM_SPARE=''
	{ read -r RAMDISK_ZRAM_SPARE sequence <"$RUN/$1.block"; } 2>/dev/null || :
	[[ $RAMDISK_ZRAM_SPARE =~ ^zram[0-9]+$ ]] || RAMDISK_ZRAM_SPARE=''
	{ read -r now <"$SYS/block/${RAMDISK_ZRAM_SPARE:-none}/diskseq"; } 2>/dev/null || :
	[[ -e $SYS/block/${RAMDISK_ZRAM_SPARE:-none} && ${now:--} == "${sequence:--}" ]] ||
		RAMDISK_ZRAM_SPARE=''
}

ramdisk_zram_spare_drop() { # NAME
	ramdisk_zram_spare_find "$1"
	[[ -z $RAMDISK_ZRAM_SPARE ]] || ramdisk_zram_drop "$RAMDISK_ZRAM_SPARE" || return
	[[ -n $DRY_RUN ]] || rm -f "$RUN/$1.block"
}

# ramdisk_zram_why_not BYTES BLOCK: prints why zram can't provide the RAM leg of an array whose legs
# have BYTES and whose blocks have BLOCK bytes. With smaller blocks, md would enlarge the array's
# blocks while it is in use, and nothing on it is prepared for that. And a leg must end at the end
# of a zram block. Where pages are larger than the blocks, zram changes a part of a page by reading
# and writing all of it, and two writers beside each other can undo each other's work (linux
# drivers/block/zram/zram_drv.c, zram_bvec_write_partial()).
ramdisk_zram_why_not() {
	local page
	page=$(getconf PAGESIZE) || page=0
	((page > 0 && (page <= RAMDISK_ZRAM_BLOCK || page <= $2))) ||
		printf "zram can lose writes where pages of memory (%s bytes) are larger than the \
blocks of the array (%s bytes)\n" "$page" "$2"
	(($2 >= RAMDISK_ZRAM_BLOCK)) ||
		printf 'zram has blocks of %s bytes, and those of the array have %s\n' \
			"$RAMDISK_ZRAM_BLOCK" "$2"
	(($1 % RAMDISK_ZRAM_BLOCK == 0)) ||
		printf "zram has blocks of %s bytes, and a leg of the array has %s bytes, which is \
not a multiple of that\n" \
			"$RAMDISK_ZRAM_BLOCK" "$1"
}
