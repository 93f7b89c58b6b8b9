# The state of md arrays, as every look asks for it: what /sys/block/*/md says. Nothing is changed here; md.sh acts, and asks what only an act
# has to know.
# shellcheck shell=bash
# MD is the kernel's name of an array ("md127"), LEG that of a member ("sdb").

# md_read MD FILE: one value of the array's sysfs folder, in VALUE; empty when it can't be read. "$(<…)" starts no process, and asks the kernel for
# less than "read" with its redirections.
md_read() {
	VALUE=''
	[[ ! -r $SYS/block/$1/md/$2 ]] || VALUE=$(<"$SYS/block/$1/md/$2") || :
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
	local leg state slot writemostly VALUE
	LEGS=()
	for leg in "$SYS/block/$1"/md/dev-*; do
		[[ -d $leg ]] || continue
		leg=${leg##*/dev-} state=recovering writemostly=no
		md_read "$1" "dev-$leg/slot"
		slot=$VALUE
		md_read "$1" "dev-$leg/state"
		[[ ,$VALUE, != *,in_sync,* ]] || state=in_sync
		[[ ,$VALUE, != *,faulty,* ]] || state=faulty
		[[ ,$VALUE, != *,write_mostly,* ]] || writemostly=yes
		LEGS+=("$leg $state $slot $writemostly")
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

# md_is_pending MD: is a resync due, or under way? (resync_start: "none" when the legs are equal)
md_is_pending() {
	local VALUE
	md_read "$1" resync_start
	[[ $VALUE =~ ^[0-9]+$ ]]
}
