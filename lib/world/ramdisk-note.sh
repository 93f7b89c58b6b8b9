# Which ramdisk, or device in its place, is whose: it stands in /run/ramraid/NAME.ram, gone with the
# boot as the ramdisks are.
# shellcheck shell=bash

need core/paths

# Kernel names that a ramdisk can have; zram's are known so that they are recognised as volatile.
ramdisk_note_is_node() { [[ $1 == @(rd|ram|zram)+([0-9]) ]]; }

# ramdisk_note_read NAME: sets RAM_PROVIDER, RAM_NODE and RAM_BYTES to the ramdisk made for this
# array in this boot; empty when there is none. A device that has the same name but another sequence
# number is somebody else's. A damaged file is none.
ramdisk_note_read() {
	local sequence='' now='' rest folder
	RAM_PROVIDER='' RAM_NODE='' RAM_BYTES=0
	[[ -e $RUN/$1.ram ]] || return 0
	read -r RAM_PROVIDER RAM_NODE RAM_BYTES sequence rest 2>/dev/null <"$RUN/$1.ram" || RAM_NODE=''
	folder=$SYS/block/$RAM_NODE
	# Later it is calculated with, and is part of the name of a function and of paths.
	if [[ $RAM_PROVIDER == @(rapiddisk|brd|device) && $RAM_BYTES != 0* && $RAM_BYTES != *[!0-9]* ]] && ((${#RAM_BYTES} <= 18)) &&
		{ ramdisk_note_is_node "$RAM_NODE" || [[ $RAM_PROVIDER == device && $RAM_NODE == [a-z]* && $RAM_NODE != *[!A-Za-z0-9._-]* ]]; }; then
		[[ $RAM_PROVIDER != device ]] || folder=$SYS/class/block/$RAM_NODE
		# A partition has its disk's.
		{ read -r now <"$folder/diskseq" || read -r now <"$folder/../diskseq"; } 2>/dev/null || :
		[[ ! -e $folder || ${now:--} != "${sequence:--}" ]] || return 0
	fi
	RAM_PROVIDER='' RAM_NODE='' RAM_BYTES=0
}
