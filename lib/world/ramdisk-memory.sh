# How much memory there is for ramdisks, and how much they take.
# shellcheck shell=bash

need core/paths core/quantity world/md world/md-state world/ramdisk-note

readonly RAPIDDISK=$SYS/kernel/rapiddisk

# ramdisk_memory_available: sets RAM_AVAILABLE to the bytes of memory that the kernel estimates can
# be taken without swapping.
ramdisk_memory_available() {
	local key value rest
	RAM_AVAILABLE=0
	while read -r key value rest; do
		[[ $key != MemAvailable: ]] || RAM_AVAILABLE=$((value * 1024))
	done <"$PROC/meminfo"
}

ramdisk_memory_total() {
	local key value rest
	read -r key value rest <"$PROC/meminfo"
	printf '%s\n' $((value * 1024))
}

# ramdisk_memory_promised: prints the bytes of memory that existing ramdisks will still take,
# because they are not filled yet.
ramdisk_memory_promised() {
	local file name line md sum=0 RAM_PROVIDER RAM_NODE RAM_BYTES LEGS SYNC DONE TOTAL RATE
	for file in "$RUN"/*.ram; do
		[[ -e $file ]] || continue
		name=${file##*/}
		ramdisk_note_read "${name%.ram}"
		[[ $RAM_PROVIDER != device ]] || continue
		RAM_BYTES=$(ramdisk_memory_weight)
		if ramdisk_memory_taken "$RAM_NODE"; then
			RAM_BYTES=$((RAM_BYTES > RAM_TAKEN ? RAM_BYTES - RAM_TAKEN : 0))
		elif md=$(md_of_leg "$RAM_NODE"); then
			md_state_members "$md"
			md_state_sync "$md"
			for line in "${LEGS[@]}"; do
				[[ $line != "$RAM_NODE in_sync "* ]] || RAM_BYTES=0
			done
			((RAM_BYTES == 0)) || RAM_BYTES=$((RAM_BYTES - DONE * 512))
		fi
		sum=$((sum + RAM_BYTES))
	done
	printf '%s\n' "$sum"
}

# ramdisk_memory_taken NODE: sets RAM_TAKEN to the bytes of memory that the ramdisk takes, which
# rapiddisk and zram count; returns 1 when that is not known. A leg that the copy has filled takes
# memory only for what is not zero, and more as it is written to.
ramdisk_memory_taken() {
	local device rest ZRAM_DATA ZRAM_TAKEN ZRAM_LIMIT ZRAM_MOST
	! ramdisk_note_zram "$1" || {
		RAM_TAKEN=$ZRAM_TAKEN
		return 0
	}
	while read -r device _ _ RAM_TAKEN rest; do
		[[ $device != "$1" || ! $RAM_TAKEN =~ ^[0-9]+$ ]] || return 0
	done 2>/dev/null <"$RAPIDDISK/devices" || :
	return 1
}

# ramdisk_memory_room RESERVE FREED: sets RAM_ROOM to the bytes of memory that are available for
# ramdisks and RESERVE together, once FREED bytes have been given back, and RAM_RESERVED to RESERVE
# in bytes.
ramdisk_memory_room() {
	local promised RAM_AVAILABLE
	ramdisk_memory_available
	promised=$(ramdisk_memory_promised)
	RAM_RESERVED=$(quantity_bytes "$1" "$(ramdisk_memory_total)")
	RAM_ROOM=$((RAM_AVAILABLE + $2))
	RAM_ROOM=$((RAM_ROOM > promised ? RAM_ROOM - promised : 0))
}

# ramdisk_memory_weight: prints the most bytes of memory that the caller's RAM_NODE may come to
# take, from RAM_PROVIDER and RAM_BYTES as ramdisk_note_read sets them.
ramdisk_memory_weight() {
	local ZRAM_DATA ZRAM_TAKEN ZRAM_LIMIT=0 ZRAM_MOST
	[[ $RAM_PROVIDER != zram ]] || ramdisk_note_zram "$RAM_NODE" || ZRAM_LIMIT=0
	if ((ZRAM_LIMIT > 0)); then printf '%s\n' "$ZRAM_LIMIT"; else printf '%s\n' "$RAM_BYTES"; fi
}
