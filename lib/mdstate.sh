# The state of md arrays, as every look asks for it: what /sys/block/*/md says. Nothing is changed here; md.sh acts, and asks what only an act
# has to know.
# shellcheck shell=bash
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

# md_read MD FILE: the first line of a file of the array's sysfs folder, in VALUE; empty when it can't be read.
md_read() {
	VALUE=''
	{ read -r VALUE <"$SYS/block/$1/md/$2"; } 2>/dev/null || :
}

# md_run MD: sets MD_RUN to what names this run of the array, from its assembly to its stop, and no other one in this boot: its kernel name, and the number
# that a device gets when it appears. Empty when the kernel doesn't number (Linux before 5.15).
md_run() {
	MD_RUN=''
	{ read -r MD_RUN <"$SYS/block/$1/diskseq"; } 2>/dev/null || :
	MD_RUN=${MD_RUN:+$1 $MD_RUN}
}

# Members' folders are md/dev-LEG; in them stands, beside what is read here, how many read errors md has counted ("errors").
readonly MD_LEG=md/dev-

# md_every_leg: sets DISK_LIKELY to the members of all arrays, started or not.
md_every_leg() {
	DISK_LIKELY=("$SYS"/block/md*/md/dev-*)
	DISK_LIKELY=("${DISK_LIKELY[@]##*/dev-}")
}

# md_state MD: sets ARRAY_STATE to absent, inactive, active or broken (linux Documentation/admin-guide/md.rst, array_state), and READAUTO to
# yes or no: did md start it read-only until the first write? Debian loads md_mod with start_ro=1. Then neither a resync nor a re-added leg's
# recovery begins.
md_state() {
	local VALUE=''
	READAUTO=no
	[[ -z $1 ]] || md_read "$1" array_state
	case $VALUE in
	'' | clear) ARRAY_STATE=absent ;;
	inactive | broken) ARRAY_STATE=$VALUE ;;
	read-auto) ARRAY_STATE=active READAUTO=yes ;;
	*) ARRAY_STATE=active ;;
	esac
}

# md_members MD: sets LEGS to "LEG STATE SLOT WRITEMOSTLY" for each; STATE is in_sync, recovering or faulty, SLOT a number or "none".
md_members() {
	local folder state slot writemostly words
	LEGS=()
	for folder in "$SYS/block/$1"/md/dev-*; do
		[[ -d $folder ]] || continue
		slot='' words='' state=recovering writemostly=no
		{
			read -r slot <"$folder/slot"
			read -r words <"$folder/state"
		} 2>/dev/null || :
		[[ ,$words, != *,in_sync,* ]] || state=in_sync
		[[ ,$words, != *,faulty,* ]] || state=faulty
		[[ ,$words, != *,write_mostly,* ]] || writemostly=yes
		LEGS+=("${folder##*/dev-} $state $slot $writemostly")
	done
}

# md_lacks MD LEG OTHER: has md written down blocks of LEG that can't be read or written, and not of OTHER? A write that fails is acknowledged when another
# leg has taken it, and the leg stays in sync (narrow_write_error() in linux drivers/md/raid1.c). Where a rebuild could not read, both have it written down.
md_lacks() {
	local VALUE mine theirs line other from end start length shift
	md_read "$1" "dev-$2/bad_blocks"
	[[ -n $VALUE ]] || return 1
	md_read "$1" "dev-$2/offset"
	shift=$VALUE
	md_read "$1" "dev-$3/offset"
	shift=$((${VALUE:-0} - ${shift:-0}))
	{ mapfile -t mine <"$SYS/block/$1/md/dev-$2/bad_blocks"; } 2>/dev/null || return 1
	{ mapfile -t theirs <"$SYS/block/$1/md/dev-$3/bad_blocks"; } 2>/dev/null || return 0
	# Sectors of each device, in ascending order; a long piece stands there as several.
	for line in "${mine[@]}"; do
		read -r from length <<<"$line"
		from=$((from + shift)) end=$((from + length))
		for other in "${theirs[@]}"; do
			read -r start length <<<"$other"
			((start > from || start + length <= from)) || from=$((start + length))
		done
		((from >= end)) || return 0
	done
	return 1
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

# md_is_pending MD: is a resync due, or under way? (resync_start: "none" when the legs are equal)
md_is_pending() {
	local VALUE
	md_read "$1" resync_start
	[[ $VALUE == [0-9]* ]]
}
