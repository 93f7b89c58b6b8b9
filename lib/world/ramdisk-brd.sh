# Ramdisks of the module brd, which has one size for all its devices, and gives no memory back until
# it is unloaded.
# shellcheck shell=bash

need core/act core/log core/paths core/text world/disk world/ramdisk world/ramdisk-memory
need world/ramdisk-note

# brd has one size for all its devices, fixed when the module is loaded. It allocates pages only as
# they are written, so every device gets all of memory as its nominal size, which fits every array.
# A brd that somebody else has loaded is not ours to use.
ramdisk_brd_make() { # BYTES
	local bytes=$1 files=() count total number=0 node
	if ! ramdisk_brd_is_ours_; then
		[[ ! -d $SYS/module/brd ]] || {
			echo "brd is loaded already, for something else, and its devices may hold \
data; unload it (rmmod brd) or use rapiddisk" >&2
			return 1
		}
		# One for each array that may be configured, and one for the self-test.
		files=("$ETC"/*.conf)
		count=$((${#files[@]} + 1))
		total=$(ramdisk_memory_total)
		act modprobe brd "rd_nr=$((count > 4 ? count : 4))" "rd_size=$((total / 1024))" \
			max_part=0 || {
			echo 'the kernel module brd could not be loaded' >&2
			return 1
		}
		# Without the note, brd would count as somebody else's from now on.
		act_put "$RUN/brd" || {
			act rmmod brd
			return 1
		}
	fi
	for node in "$SYS"/block/ram*; do
		number=${node##*/ram}
		[[ -e $node ]] || continue
		disk_is_unused "ram$number" || continue
		! grep -qs "^brd ram$number " "$RUN"/*.ram || continue
		(($(disk_bytes "ram$number") >= bytes)) || continue
		disk_wait_node "ram$number" && ramdisk_brd_forbid_discards "ram$number" &&
			printf 'ram%s\n' "$number"
		return
	done
	echo "no free brd device of $bytes bytes; all are in use" >&2
	return 1
}

# ramdisk_brd_is_ours_: is brd loaded, and did we load it? Somebody may have unloaded it since.
ramdisk_brd_is_ours_() { [[ -e $RUN/brd && -d $SYS/module/brd ]]; }

# ramdisk_brd_is_as_made: does the loaded brd have the parameters that only ramraid gives it?
ramdisk_brd_is_as_made() {
	local NUMBER folder=$SYS/module/brd/parameters
	text_number_in "$folder/max_part" 1
	((NUMBER == 0)) || return 1
	text_number_in "$folder/rd_size" 0
	((NUMBER > 0 && NUMBER == $(ramdisk_memory_total) / 1024))
}

# ramdisk_brd_can_be_had: can we use brd? Not if it is built into the kernel, or if somebody else
# has loaded it.
ramdisk_brd_can_be_had() {
	ramdisk_brd_is_ours_ || { [[ ! -d $SYS/module/brd ]] && modprobe -q --dry-run brd; }
}

# brd keeps its pages until it is unloaded, and it can't be unloaded while another array uses it.
ramdisk_brd_drop() { # NODE NAME
	ramdisk_note_gives_back "$2" || {
		log_notice "$2: brd is still in use by another array; \
its memory is given back when that one has stopped"
		return 0
	}
	act rmmod brd || {
		log_notice "$2: brd is still in use by something else (lsblk /dev/ram*), and keeps \
its memory; when that has ended: rmmod brd"
		return 0
	}
	[[ -n $DRY_RUN ]] || rm -f "$RUN/brd"
}

# On a discard, brd in Linux 6.10 to 6.12.33 and 6.13 to 6.15.2 also frees live data next to the
# discarded range, up to the page boundaries (brd_do_discard() in linux drivers/block/brd.c). Nobody
# knows which other kernels do so or will, so no brd that takes discards becomes a leg. md passes
# discards on to the other legs all the same.
ramdisk_brd_forbid_discards() { # NODE
	ramdisk_brd_takes_discards "$1" || return 0
	act_write "$(ramdisk_brd_discards_ "$1")" 0 || : # what the kernel then says counts
	[[ -n $DRY_RUN ]] || ! ramdisk_brd_takes_discards "$1" || {
		echo "the kernel still sends discards to $1, with which brd may lose live data" \
			>&2
		return 1
	}
}

# ramdisk_brd_takes_discards NODE: does the kernel pass discards on to it?
ramdisk_brd_takes_discards() {
	local NUMBER
	text_number_in "$(ramdisk_brd_discards_ "$1")" 0
	((NUMBER > 0))
}
ramdisk_brd_discards_() { printf '%s/block/%s/queue/discard_max_bytes\n' "$SYS" "$1"; } # NODE
