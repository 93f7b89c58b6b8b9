# md arrays: the only file that calls mdadm or touches /sys/block/*/md.
# shellcheck shell=bash
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

readonly MD_BOUND=15 # seconds within which md, udev and mdadm finish what is not a resync

# md_read MD FILE: one value of the array's sysfs folder, in VALUE; empty when it can't be read.
md_read() {
	VALUE=''
	{ read -r VALUE <"$SYS/block/$1/md/$2"; } 2>/dev/null || :
}

# md_of_leg LEG: the array that holds it, started or not. Returns 1 when none does.
md_of_leg() {
	local holder
	for holder in "$SYS/class/block/$1"/holders/md*; do
		[[ -e $holder ]] || continue
		printf '%s\n' "${holder##*/}"
		return 0 # said in full: in a trap, as an undo may be, a bare "return" returns what went before the trap
	done
	return 1
}

# md_state MD: sets ARRAY_STATE to absent, inactive, active or broken (linux Documentation/admin-guide/md.rst, array_state).
md_state() {
	local VALUE=''
	[[ -z $1 ]] || md_read "$1" array_state
	case $VALUE in
	'' | clear) ARRAY_STATE=absent ;;
	inactive | broken) ARRAY_STATE=$VALUE ;;
	*) ARRAY_STATE=active ;;
	esac
}

# md_members MD: sets LEGS to "LEG STATE SLOT WRITEMOSTLY" for each; STATE is in_sync, recovering or faulty, SLOT a number or "none".
md_members() {
	local folder state slot writemostly VALUE
	LEGS=()
	for folder in "$SYS/block/$1"/md/dev-*; do
		[[ -d $folder ]] || continue
		md_read "$1" "${folder##*/}/slot"
		slot=$VALUE state=recovering writemostly=no
		md_read "$1" "${folder##*/}/state"
		[[ ,$VALUE, != *,in_sync,* ]] || state=in_sync
		[[ ,$VALUE, != *,faulty,* ]] || state=faulty
		[[ ,$VALUE, != *,write_mostly,* ]] || writemostly=yes
		LEGS+=("${folder##*/dev-} $state $slot $writemostly")
	done
}

# md_sync MD: sets SYNC (idle, resync, recover, check …), DONE and TOTAL (sectors), RATE (KiB a second).
md_sync() {
	local VALUE
	SYNC=idle DONE=0 TOTAL=0 RATE=0
	md_read "$1" sync_action
	SYNC=${VALUE:-idle}
	[[ $SYNC != idle ]] || return 0
	md_read "$1" sync_completed
	[[ ! $VALUE =~ ^([0-9]+)\ /\ ([0-9]+)$ ]] || DONE=${BASH_REMATCH[1]} TOTAL=${BASH_REMATCH[2]}
	md_read "$1" sync_speed
	[[ ! $VALUE =~ ^[0-9]+$ ]] || RATE=$VALUE
}

# md_leg_bytes MD: how large a new member must be: the largest data offset of its members and the size of the data. Returns 1 when md
# does not say.
md_leg_bytes() {
	local VALUE folder offset=0
	for folder in "$SYS/block/$1"/md/dev-*; do
		md_read "$1" "${folder##*/}/offset"
		[[ ! $VALUE =~ ^[0-9]+$ ]] || ((VALUE <= offset)) || offset=$VALUE
	done
	md_read "$1" component_size # KiB
	[[ $VALUE =~ ^[0-9]+$ ]] || return 1
	printf '%s\n' $((VALUE * 1024 + offset * 512))
}

# md_modules: mdadm 4.5 no longer loads them in time by itself.
md_modules() { modprobe -q -a md_mod raid1 || [[ -e /proc/mdstat ]]; }

# md_create NAME UUID DISK…: a RAID1 of write-mostly disks with slot 0 left empty for the RAM leg. Slot 0 keeps the RAM leg first in
# every listing; md prefers it for reads because it alone is not write-mostly.
md_create() {
	local name=$1 uuid=$2
	shift 2
	[[ -n $DRY_RUN ]] || md_modules
	act mdadm --create "/dev/md/$name" --run --metadata=1.2 --name="$name" --uuid="${uuid//-/}" --level=1 --raid-devices=$(($# + 1)) \
		--bitmap=internal missing --write-mostly "$@"
}

# md_assemble NAME LEG…: starts exactly these legs. "--run", because the RAM leg's slot is always empty at this moment; safe, because
# the legs are named, not searched, and have been judged by decide_action.
md_assemble() {
	local name=$1 leg legs=()
	shift
	for leg; do legs+=("/dev/$leg"); done
	[[ -n $DRY_RUN ]] || md_modules
	act mdadm --assemble --run "/dev/md/$name" "${legs[@]}"
}

md_stop() { act mdadm --stop "/dev/$1"; } # MD

# md_add MD LEG: a blank member; md rebuilds it whole. Plain "--add": with "--write-mostly" mdadm up to 4.6 leaves a faulty member behind.
md_add() { act mdadm --manage "/dev/$1" --add "/dev/$2"; }

# md_readd MD LEG: a member that was away; md copies what the bitmap says.
md_readd() { act mdadm --manage "/dev/$1" --re-add "/dev/$2"; }

# md_drop MD LEG: fails and removes a member, never the last one in sync: md would answer EBUSY and still refuse all writes from then on.
# Returns 4 when no other member is in sync.
md_drop() {
	local md=$1 leg=$2 line LEGS safe=''
	md_members "$md"
	for line in "${LEGS[@]}"; do
		[[ $line == "$leg "* || $line != *' in_sync '* ]] || safe=yes
	done
	[[ -n $safe ]] || return "$EX_REFUSED"
	act mdadm --manage "/dev/$md" --fail "/dev/$leg"
	md_remove "$md" "$leg"
}

# md_remove MD LEG: takes a failed member out. md is busy with it for a moment after the failure, so: again, within a bound.
md_remove() {
	local end=$((SECONDS + MD_BOUND))
	until act mdadm --manage "/dev/$1" --remove "/dev/$2"; do
		((SECONDS < end)) || return 1
		sleep 0.3
	done
}

md_set_writemostly() { act_write "$SYS/block/$1/md/dev-$2/state" writemostly; } # MD LEG
md_set_backlog() { act_write "$SYS/block/$1/md/bitmap/backlog" "$2"; }          # MD N: write-behind requests that may be outstanding
md_make_writable() { act mdadm --readwrite "/dev/$1"; }                         # MD

# md_is_readauto MD: did md start it read-only until the first write? Debian loads md_mod with start_ro=1. Then neither a resync nor a
# re-added leg's recovery begins.
md_is_readauto() {
	local VALUE
	md_read "$1" array_state
	[[ $VALUE == read-auto ]]
}

# md_is_pending MD: is a resync due, or under way? (resync_start: "none" when the legs are equal)
md_is_pending() {
	local VALUE
	md_read "$1" resync_start
	[[ $VALUE =~ ^[0-9]+$ ]]
}

# md_kernel_flaw RELEASE: sets KERNEL_FLAW to what is known to be wrong with this kernel ("6.10.3-1-amd64") in the state that a start is in;
# empty for all others. CVE-2024-45023: since 6.9 read_balance() in linux drivers/md/raid1.c could take a leg that is not rebuilt up to
# there, if all others are write-mostly; mended in 6.10.7 and 6.11. Distributions may have mended it under an older number.
md_kernel_flaw() {
	KERNEL_FLAW=''
	[[ $1 =~ ^6\.(9|10)(\.([0-9]+))?([^0-9.]|$) ]] || return 0
	((BASH_REMATCH[1] == 9 || ${BASH_REMATCH[3]:-0} <= 6)) || return 0
	KERNEL_FLAW="Linux $1 may read from the part of a leg that is not rebuilt yet (CVE-2024-45023; if your distribution has mended it: ACCEPT_KERNEL_FLAW=yes)"
}

# md_is_quiet MD: has everything that was written reached every leg, also by write-behind? A write counts as pending until its last leg has
# it (close_write() in linux drivers/md/raid1.c), and md calls the array clean only with none pending.
md_is_quiet() {
	local VALUE
	md_read "$1" array_state
	[[ $VALUE == @(clean|read-auto|readonly) ]]
}

# md_has_bad_blocks MD LEG: has md written down blocks of this member that can't be read or written? mdadm then gives new members a superblock
# that says so of them too, without a list, and the kernel does not take them (case "faults"; super_1_load() in linux drivers/md/md.c).
md_has_bad_blocks() {
	local VALUE
	md_read "$1" "dev-$2/bad_blocks"
	[[ -n $VALUE ]]
}

# md_bytes MD: the size of the array itself.
md_bytes() {
	local sectors
	read -r sectors <"$SYS/block/$1/size"
	printf '%s\n' $((sectors * 512))
}

# md_speed MD fast|system: recovery as fast as the disks can while nothing else uses the array, or as the system's limits say. md slows
# recovery down to sync_speed_min when members look busy, so both limits are raised.
md_speed() {
	local limit=10000000 # KiB/s
	[[ $2 == fast ]] || limit=system
	act_write "$SYS/block/$1/md/sync_speed_max" "$limit"
	act_write "$SYS/block/$1/md/sync_speed_min" "$limit"
}

md_zero() { act mdadm --zero-superblock "/dev/$1"; } # LEG

# md_wait_link MD NAME: until udev has made /dev/md/NAME and the array's by-id link, within MD_BOUND. Returns 1 when it has not.
md_wait_link() {
	local end=$((SECONDS + MD_BOUND))
	until [[ $(readlink -e "$DEV/md/$2") == */"$1" ]]; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}
