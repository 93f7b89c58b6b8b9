# md arrays: what changes them, and what has to be known before that. Apart from world/md-check.sh,
# world/md-blocks.sh and world/md-format.sh, no other file calls mdadm or writes to /sys/block/*/md.
# world/md-state.sh reads the state.
# shellcheck shell=bash
#
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

need core/act core/clock core/log core/paths world/disk world/md-links world/md-state

readonly MD_BOUND=15 # seconds within which md, udev and mdadm finish what is not a resync

# md_modules LAYOUT: loads md's modules, because mdadm 4.5 no longer loads them in time by itself.
md_modules() {
	local module=raid1
	[[ $1 != far2 ]] || module=raid10
	[[ -d $SYS/module/md_mod && -d $SYS/module/$module ]] || modprobe -q -a md_mod "$module" ||
		[[ -e /proc/mdstat ]]
}

# md_create NAME UUID LAYOUT KIB DISK…: creates an array whose bitmap has one bit for each KIB KiB.
# "mirror": a RAID1 of write-mostly disks with slot 0 left empty for the RAM leg. Slot 0 keeps the
# RAM leg first in every listing; md prefers it for reads because it alone is not write-mostly.
# "far2": a RAID10 of two disks, each of which has everything (LAYOUT=). The array's home host is
# the caller's MD_HOMEHOST, or this machine if that is empty.
md_create() {
	local name=$1 uuid=$2 layout=$3 chunk=$4 level=(--level=1 --raid-devices=$(($# - 3))) legs
	shift 4
	legs=(missing --write-mostly "$@")
	[[ $layout == mirror ]] || level=(--level=10 --layout=f2 --raid-devices=$#) legs=("$@")
	[[ -n $DRY_RUN ]] || md_modules "$layout"
	act mdadm --create "/dev/md/$name" --run --metadata=1.2 --name="$name" \
		${MD_HOMEHOST:+--homehost="$MD_HOMEHOST"} \
		--uuid="${uuid//-/}" "${level[@]}" \
		--bitmap=internal --bitmap-chunk="${chunk}K" "${legs[@]}"
}

# md_bitmap_chunk DISK…: prints the KiB that one bit stands for. What is written during the copy to
# the RAM leg is copied again in whole chunks, and with mdadm's own choice, 64 MiB, that would be
# all of a small array. But the smaller the chunks, the more often a scattered write has to wait for
# the bitmap on the disks (docs/rebuild-figures.md). So a chunk is 4 MiB; less below 512 MiB, where
# few chunks would be left; and more only to have no more than 65,536 bits.
md_bitmap_chunk() {
	local disk bytes least='' chunk=1024
	for disk; do
		bytes=$(disk_bytes "${disk##*/}")
		[[ -n $least ]] && ((least <= bytes)) || least=$bytes
	done
	while ((least / 1024 / chunk > (chunk < 4096 ? 256 : 65536))); do chunk=$((chunk * 2)); done
	printf '%s\n' "$chunk"
}

# md_assemble NAME LEG…: starts the array from exactly these legs. "--run", because the RAM leg's
# slot is always empty at this moment. That is safe: the legs are named, not searched for, and
# action_choose has judged them. Call md_modules first.
md_assemble() {
	local name=$1 leg legs=()
	shift
	for leg; do legs+=("/dev/$leg"); done
	md_free_name "$name"
	act mdadm --assemble --run "/dev/md/$name" "${legs[@]}"
}

# md_free_name NAME: removes a link of that name that leads to another array, or to a volume. That
# device calls itself NAME as well, and got the link where nobody knew of our array (in the
# initramfs). mdadm would mistake it for the array to start.
md_free_name() {
	local link=$DEV/md/$1
	[[ ! -L $link || ! -e $link ]] || md_links_take "$1" "$link"
}

md_stop() { act mdadm --stop "/dev/$1"; } # MD

# md_is_unused MD: does nobody have the array open? md counts all openers, including those that
# nothing else shows, so this asks md: it makes an array "read-auto" only while nobody has it open,
# and otherwise leaves it as it is (md_set_readonly() and array_state_store() in linux
# drivers/md/md.c). The array is made writable again at once; if that fails, the first write does
# it. udev opens an array now and then, so this tries for as long as "mdadm --stop" does. An array
# that is read-only already counts as unused, without asking md.
md_is_unused() {
	local VALUE tries file=$SYS/block/$1/md/array_state
	md_state_read "$1" array_state
	[[ $VALUE == @(clean|active|active-idle|write-pending) ]] || return 0
	log_info "+ echo read-auto > $file"
	for ((tries = MD_UNUSED_TRIES; tries > 0; tries--)); do
		if md_write_quietly_ "$file" read-auto; then
			md_make_writable "$1" ||
				log_notice "$1: becomes writable again only with the first write"
			return 0
		fi
		sleep 0.2
	done
	return 1
}
readonly MD_UNUSED_TRIES=25

# md_is_free MD: does nothing use the array, neither in sight nor as md counts it?
md_is_free() { disk_is_unused "$1" && { [[ -n $DRY_RUN ]] || md_is_unused "$1"; }; }
md_write_quietly_() { printf '%s\n' "$2" >"$1"; } 2>/dev/null # FILE VALUE

# md_add MD LEG: adds a blank member to a free slot; md rebuilds all of it. Plain "--add": with
# "--write-mostly", mdadm up to 4.6 leaves a faulty member behind.
md_add() {
	md_want_none_ "$1"
	act mdadm --manage "/dev/$1" --add "/dev/$2"
}

# md_want_none_ MD: keeps md from replacing a member with the one that is added next. After a write
# error, md wants a replacement for the member (WantReplacement), and makes the next blank member
# that replacement; once it is in sync, md fails the old one (raid1_add_disk() and
# raid1_spare_active() in linux drivers/md/raid1.c).
md_want_none_() {
	local leg VALUE
	for leg in "$SYS/block/$1/$MD_LEG"*; do
		leg=${leg##*"/$MD_LEG"}
		md_state_read "$1" "dev-$leg/state"
		[[ ,$VALUE, != *,want_replacement,* ]] ||
			act_write "$SYS/block/$1/$MD_LEG$leg/state" -want_replacement ||
			log_warning "$1: md still wants a replacement for $leg"
	done
}

# md_readd MD LEG: puts back a member that was away; md copies what the bitmap says. Only into a
# free slot: when every slot is filled, md takes it as a spare, and remembers that its bits were
# valid. When it gives the leg a slot later, it relies on them even if it has cleared bits since
# (saved_raid_disk in md_add_new_disk(), linux drivers/md/md.c; case "copy"). Returns 1 when no slot
# is free, when mdadm fails, and when another member gets the slot first (the leg is then taken
# out).
md_readd() {
	local FREE FAULTY
	md_state_slots_free "$1"
	((FREE > 0)) || {
		log_warning "$1: every slot is taken, so $2 can't be put back by the bitmap"
		return 1
	}
	md_want_none_ "$1"
	act mdadm --manage "/dev/$1" --re-add "/dev/$2" && md_readd_has_slot_ "$1" "$2"
}

# md gives the leg its slot in a thread of its own, and later if it is busy with other work. The
# free slots are counted before the leg's slot is read: the leg may get the last one in between.
readonly MD_READD_TRIES=50
md_readd_has_slot_() { # MD LEG
	local VALUE FREE FAULTY tries
	for ((tries = MD_READD_TRIES; tries > 0; tries--)); do
		md_state_slots_free "$1"
		md_state_read "$1" "dev-$2/slot"
		[[ $VALUE == none ]] || return 0 # or it has left already: the next look tells
		((FREE > 0)) || break
		md_state_read "$1" sync_action
		[[ $VALUE == idle ]] || return 0
		sleep 0.1
	done
	((FREE == 0)) || return 0
	log_warning "$1: another member has taken the slot of $2, which is taken out again"
	md_remove "$1" "$2" || log_error "$1: $2 could not be taken out again. \
Do so before it gets a slot: mdadm /dev/$1 --remove /dev/$2"
	return 1
}

# md_drop MD LEG [OTHER]: fails and removes a member, but never the last one in sync: md would
# answer EBUSY, and still refuse all writes from then on. Returns 4 when the other members that are
# in sync, not counting OTHER, do not have everything that LEG has.
md_drop() {
	local md=$1 leg=$2 line LEGS others=()
	md_state_members "$md"
	for line in "${LEGS[@]}"; do
		[[ $line == *' in_sync '* ]] || continue
		case ${line%% *} in
		"$leg" | "${3-}") ;;
		*) others+=("${line%% *}") ;;
		esac
	done
	md_state_is_covered "$md" "$leg" "${others[@]}" || return "$EX_REFUSED"
	act mdadm --manage "/dev/$md" --fail "/dev/$leg"
	md_remove "$md" "$leg"
}

# md_retry_ COMMAND…: calls COMMAND until it succeeds, within MD_BOUND, because md is busy for a
# moment after a member has failed or left, or a slot has come or gone.
md_retry_() { clock_until "$MD_BOUND" 0.3 "$@"; }

# MD LEG: takes a failed member out
md_remove() { md_retry_ act mdadm --manage "/dev/$1" --remove "/dev/$2"; }

# md_remove_gone MD LEG: takes out a member whose device is gone. mdadm can't name it, so this uses
# sysfs (linux Documentation/admin-guide/md.rst, dev-XXX/state). Another member must be in sync.
md_remove_gone() {
	local VALUE file=$SYS/block/$1/md/dev-$2/state
	md_state_read "$1" "dev-$2/state"
	[[ ,$VALUE, == *,faulty,* ]] || act_write "$file" faulty || return
	md_retry_ md_release_ "$file"
}
md_release_() { [[ ! -e $1 ]] || act_write "$1" remove; }

# md_slots MD: prints how many slots the array has (md_state_read_slots).
md_slots() {
	local SLOTS
	md_state_read_slots "$1"
	printf '%s\n' "$SLOTS"
}

# md_set_slots MD N: gives the array N slots while it is in use. In a mirror, that rebuilds nothing:
# a new slot comes last and is free; md refuses fewer slots than there are members, and otherwise
# moves the members together so that the free slots go (raid1_reshape() in linux
# drivers/md/raid1.c). md refuses any change while it resyncs or rebuilds (update_raid_disks() in
# drivers/md/md.c), and writes the superblocks before it returns (update_array_info() there).
# "--force", because mdadm wants a spare for a new slot (Grow_reshape() in mdadm's Grow.c) and calls
# one slot unusual (mdadm.c); for a mirror it forces nothing else. Returns 1 when md still refuses
# after MD_BOUND.
md_set_slots() { md_retry_ act mdadm --grow --force "/dev/$1" --raid-devices="$2"; }

# md_freeze MD, md_thaw MD: md begins no rebuild between the two ("frozen" and "idle", linux
# Documentation/admin-guide/md.rst, sync_action). mdadm leaves an array frozen if it finds it so
# (sysfs_freeze_array() in mdadm's sysfs.c).
md_freeze() { act_write "$SYS/block/$1/md/sync_action" frozen; }
md_thaw() { act_write "$SYS/block/$1/md/sync_action" idle; }

# md_thaw_left MD: thaws an array that a killed run has left frozen. That run may have been in
# md_grow, before it set the bits of the new part. md then still has to make that part equal, and
# resync_start says from which sector on (raid1_resize() in linux drivers/md/raid1.c). resync_start
# does not move until md starts to work.
md_thaw_left() {
	local VALUE
	md_state_read "$1" resync_start
	[[ ! $VALUE =~ ^[0-9]{1,18}$ ]] || md_bits_from_ "$1" $((VALUE / 2)) ||
		log_warning "$1: could not tell md where absent disk legs may differ"
	md_thaw "$1"
}

md_bitmap() { # MD: prints what md_state_bitmap sets
	local BITMAP
	md_state_bitmap "$1"
	printf '%s\n' "$BITMAP"
}

# md_add_bitmap MD LEG…: adds an internal bitmap while the array is in use; md refuses that during a
# resync or a rebuild. Returns 1 when md still refuses after MD_BOUND.
md_add_bitmap() {
	md_retry_ act mdadm --grow "/dev/$1" --bitmap=internal \
		--bitmap-chunk="$(md_bitmap_chunk "${@:2}")K"
}
md_drop_bitmap() { md_retry_ act mdadm --grow "/dev/$1" --bitmap=none; } # MD

md_set_writemostly() { act_write "$SYS/block/$1/md/dev-$2/state" writemostly; }    # MD LEG
md_clear_writemostly() { act_write "$SYS/block/$1/md/dev-$2/state" -writemostly; } # MD LEG
# md_set_backlog MD N: sets how many write-behind requests may be outstanding
md_set_backlog() { act_write "$SYS/block/$1/md/bitmap/backlog" "$2"; }
# md_set_bitmap_pace MD SECONDS: sets how often md looks for bits that it can clear
md_set_bitmap_pace() { act_write "$SYS/block/$1/md/bitmap/time_base" "$2"; }
md_make_writable() { act mdadm --readwrite "/dev/$1"; } # MD

# md_drain MD: returns when every write that is under way has ended. Setting either bound of the
# suspended range waits for them, even when the bound stays as it is (suspend_lo_store() in linux
# drivers/md/md.c: mddev_suspend).
md_drain() {
	local VALUE
	md_state_read "$1" suspend_lo
	act_write "$SYS/block/$1/md/suspend_lo" "${VALUE:-0}"
}

# md_speed MD fast|system: lets recovery run as fast as the disks can while nothing else uses the
# array, or as the system's limits say. md slows recovery down to sync_speed_min when members look
# busy, so both limits are raised.
md_speed() {
	local limit=10000000 # KiB/s
	[[ $2 == fast ]] || limit=system
	act_write "$SYS/block/$1/md/sync_speed_max" "$limit"
	act_write "$SYS/block/$1/md/sync_speed_min" "$limit"
}

md_zero() { act mdadm --zero-superblock "/dev/$1"; } # LEG
md_wipe() {                                          # LEG: has just left; md may still hold it
	md_retry_ act mdadm --zero-superblock "/dev/$1"
}

# md_wait_link MD NAME [SECONDS]: waits until udev has made /dev/md/NAME lead to the array, and no
# link with a partition's name leads elsewhere. Returns 1 when that is not so within SECONDS
# (default: MD_BOUND).
md_wait_link() { clock_until "${3-$MD_BOUND}" 0.1 md_has_link_ "$@"; }
md_has_link_() { [[ -L $DEV/md/$2 && $DEV/md/$2 -ef $DEV/$1 ]] && ! md_links_mislead "$@"; }

# md_of_leg LEG: prints the array that holds it, started or not. Returns 1 when none does.
md_of_leg() {
	local holder
	for holder in "$SYS/class/block/$1"/holders/md*; do
		[[ -e $holder ]] || continue
		printf '%s\n' "${holder##*/}"
		# The 0 is needed: an undo may run in a trap, where a bare "return" returns the
		# status from before the trap.
		return 0
	done
	return 1
}

# md_grow MD OLD NEW: makes the array NEW KiB large instead of OLD, while it is in use; md then
# makes the legs equal there (raid1_resize() in linux drivers/md/raid1.c). For the new part,
# md_bitmap_resize() (md-bitmap.c) sets bits only in memory, and a write to a chunk that is dirty in
# memory sets none on the disks. So while a slot is empty, a disk that leaves and comes back, or a
# resync after an unclean stop, would rely on bits that are not on the disks. md_grow therefore sets
# the bits before md starts to work. A power cut in between leaves legs that differ only where
# nothing has been written yet. NEW is a multiple of 4 KiB, because the size of a ramdisk is one.
# Returns 1 when md has not grown the array (mdadm says why), has not set the bits, or stays frozen.
# Do not interrupt it: md would begin no more work (md_freeze).
md_grow() {
	local VALUE code=0
	md_freeze "$1" || return
	md_retry_ act mdadm --grow "/dev/$1" --size="$3" && md_grow_bits_ "$@" || code=1
	md_thaw "$1" || code=1
	return "$code"
}

md_grow_bits_() { # MD OLD NEW
	local VALUE
	md_state_read "$1" component_size
	((VALUE >= $3)) && md_bits_from_ "$1" "$2"
}

# md_is_quiet MD: has everything that was written reached every leg, including by write-behind? A
# write counts as pending until its last leg has it (close_write() in linux drivers/md/raid1.c), and
# md calls the array clean only while none is pending.
md_is_quiet() {
	local VALUE
	md_state_read "$1" array_state
	[[ $VALUE == @(clean|read-auto|readonly) ]]
}

# md_has_bad_blocks MD LEG: has md recorded blocks of this member that can't be read or written? If
# so, mdadm gives new members a superblock that claims bad blocks as well, but has no list of them,
# and the kernel does not take such members (case "faults"; super_1_load() in linux
# drivers/md/md.c).
md_has_bad_blocks() {
	local VALUE
	md_state_read "$1" "dev-$2/bad_blocks"
	[[ -n $VALUE ]]
}

# md_bytes MD: prints the size of the array itself, in bytes. Returns 1 when the array is gone.
md_bytes() {
	local sectors
	{ read -r sectors <"$SYS/block/$1/size"; } 2>/dev/null || return
	printf '%s\n' $((sectors * 512))
}

# md_bits_set_all MD: tells md that the legs may differ everywhere. Without a bitmap, md rebuilds
# each leg whole anyway.
md_bits_set_all() { md_bits_from_ "$1" 0; }
md_bits_from_() { # MD KIB: from there on
	local VALUE kib
	md_state_read "$1" component_size
	[[ $VALUE =~ ^[1-9][0-9]*$ ]] || return
	kib=$VALUE
	(($2 < kib)) || return 0
	md_state_read "$1" bitmap/chunksize # bytes
	[[ ! $VALUE =~ ^[1-9][0-9]*$ ]] ||
		md_bits_set "$1" "$(($2 * 1024 / VALUE))-$(((kib * 1024 - 1) / VALUE))"
}

# md_bits_set MD BITS: tells md that the legs may differ there; BITS is as superblock_dirty_bits
# prints it.
md_bits_set() { act_write "$SYS/block/$1/md/bitmap_set_bits" "$2"; }
