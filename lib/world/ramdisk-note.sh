# Which ramdisk, or device in its place, belongs to which array. /run/ramraid/NAME.ram says so; it
# is gone after a reboot, as the ramdisks are.
# shellcheck shell=bash

need core/paths core/text

# Kernel names that a ramdisk can have.
ramdisk_note_is_node() { [[ $1 == @(rd|ram|zram)+([0-9]) ]]; }

# ramdisk_note_read NAME: sets RAM_PROVIDER, RAM_NODE and RAM_BYTES to the ramdisk, or device in its
# place, that this array has in this boot; to empty, and RAM_BYTES to 0, when there is none. A
# device of the same name with another sequence number is somebody else's. A damaged file counts as
# none.
ramdisk_note_read() {
	local sequence='' now='' rest folder
	RAM_PROVIDER='' RAM_NODE='' RAM_BYTES=0
	[[ -e $RUN/$1.ram ]] || return 0
	read -r RAM_PROVIDER RAM_NODE RAM_BYTES sequence rest 2>/dev/null <"$RUN/$1.ram" ||
		RAM_NODE=''
	folder=$SYS/block/$RAM_NODE
	# Callers calculate with these values, and build paths and the name of a function from them.
	if [[ $RAM_PROVIDER == @(rapiddisk|brd|zram|device) ]] &&
		[[ $RAM_BYTES != 0* && $RAM_BYTES != *[!0-9]* ]] && ((${#RAM_BYTES} <= 18)) &&
		{ ramdisk_note_is_node "$RAM_NODE" || [[ $RAM_PROVIDER == device &&
			$RAM_NODE == [a-z]* && $RAM_NODE != *[!A-Za-z0-9._-]* ]]; }; then
		[[ $RAM_PROVIDER != device ]] || folder=$SYS/class/block/$RAM_NODE
		# A partition has the number of its disk.
		{
			read -r now <"$folder/diskseq" || read -r now <"$folder/../diskseq"
		} 2>/dev/null || :
		[[ ! -e $folder || ${now:--} != "${sequence:--}" ]] || ! ramdisk_note_is_ready_ ||
			return 0
	fi
	RAM_PROVIDER='' RAM_NODE='' RAM_BYTES=0
}

# Does the device in the note have its size yet? A zram device may have none if the program that was
# making it was killed (world/ramdisk-zram.sh).
ramdisk_note_is_ready_() {
	local NUMBER
	[[ $RAM_PROVIDER == zram ]] || return 0
	text_number_in "$folder/size" 0
	((NUMBER > 0))
}

# ramdisk_note_write NAME PROVIDER NODE BYTES blank|used
ramdisk_note_write() {
	local sequence=''
	need core/act
	{ read -r sequence <"$SYS/block/$3/diskseq"; } 2>/dev/null || :
	act_put "$RUN/$1.ram" "$2 $3 $4 ${sequence:--} $5"
}

# ramdisk_note_device NAME NODE: notes the device NODE as the RAM leg of NAME, so that it is still
# known as that when the configuration names another one.
ramdisk_note_device() {
	local number=-
	need core/act world/disk
	{
		read -r number <"$SYS/class/block/$2/diskseq" ||
			read -r number <"$SYS/class/block/$2/../diskseq"
	} 2>/dev/null || :
	paths_run
	act_put "$RUN/$1.ram" "device $2 $(disk_bytes "$2") ${number:--} used"
}

# ramdisk_note_zram NODE: sets, in bytes, ZRAM_DATA to the data in it, without pages of one repeated
# value (most of them zeros); ZRAM_TAKEN to the memory that the data takes; ZRAM_LIMIT to the most
# that it may take; and ZRAM_MOST to the most that it has taken, or would have taken: more than the
# limit when that was hit (zram_write_page() in linux drivers/block/zram/zram_drv.c). A page of one
# value that was written takes no memory, but zram counts it as data (mm_stat, orig_data_size and
# same_pages). Returns 1 when NODE is no zram device.
ramdisk_note_zram() {
	local same
	[[ $1 == zram* ]] || return 1
	{
		read -r ZRAM_DATA _ ZRAM_TAKEN ZRAM_LIMIT ZRAM_MOST same _ <"$SYS/block/$1/mm_stat"
	} 2>/dev/null || return 1
	text_number_or same 0
	text_number_or ZRAM_DATA 0
	text_number_or ZRAM_TAKEN 0
	text_number_or ZRAM_LIMIT 0
	text_number_or ZRAM_MOST 0
	((same == 0)) || ZRAM_DATA=$((ZRAM_DATA - same * $(getconf PAGESIZE)))
	((ZRAM_DATA >= 0)) || ZRAM_DATA=0 # the two are counted one after the other
}

# ramdisk_note_gives_back NAME: does dropping the array's ramdisk give its memory back? Not for a
# device, and for brd only with the last array that uses it.
ramdisk_note_gives_back() {
	local file RAM_PROVIDER RAM_NODE RAM_BYTES
	ramdisk_note_read "$1"
	[[ $RAM_PROVIDER != device ]] || return 1
	[[ $RAM_PROVIDER == brd ]] || return 0
	for file in "$RUN"/*.ram; do
		[[ $file == "$RUN/$1.ram" ]] || ! grep -qs '^brd ' "$file" || return 1
	done
}
