# Where everything outside ramraid is. RAMRAID_ROOT moves the whole world below another root, for
# tests on fixtures.
# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the files that source this one

readonly ROOT=${RAMRAID_ROOT-}
readonly ETC=$ROOT/etc/ramraid
readonly VENDOR=$ROOT/usr/lib/ramraid/ramraid.conf.d
# What must be known before any other file system is mounted is beside the configuration: /var may
# be one of them.
readonly STATE=$ETC/state
readonly RUN=$ROOT/run/ramraid
readonly SYS=$ROOT/sys
readonly DEV=$ROOT/dev
readonly PROC=$ROOT/proc
# For root alone: whoever can open a file can hold a lock on it (flock(2)), and keep the others away
# with that.
readonly LOCKS=$RUN/.locks
# paths_run: makes $RUN; without a process when it is there, because every verb asks. Two starts at
# boot may both find that it is not: which of them makes it does not matter. What another boot has
# left in it goes: in a chroot, /run may be a folder on the disk, and by a number that the kernel
# gives to what it finds, the array of that boot would be taken for that of this one. $RUN/.boot
# says which boot it is of; where it says nothing, as after an upgrade from 0.1.0, it is of this
# one. Returns 1 when it can't be made, or emptied.
paths_run() {
	local PATHS_BOOT PATHS_NOTED
	paths_boots_
	[[ ! -d $LOCKS || $PATHS_BOOT != "$PATHS_NOTED" ]] || return 0
	need core/act
	act_put_folder "$RUN" &&
		{ mkdir -m 700 "$LOCKS" 2>/dev/null || act_put_folder "$LOCKS"; } &&
		paths_note_boot_
}

# Sets the caller's PATHS_BOOT to the kernel's name of this boot, PATHS_NOTED to that of $RUN; each
# to nothing when it is not there, or not whole.
paths_boots_() {
	local form='^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
	PATHS_BOOT='' PATHS_NOTED=''
	{ read -r PATHS_BOOT <"$PROC/sys/kernel/random/boot_id"; } 2>/dev/null || :
	{ read -r PATHS_NOTED <"$RUN/.boot"; } 2>/dev/null || :
	[[ $PATHS_BOOT =~ $form ]] || PATHS_BOOT=''
	[[ $PATHS_NOTED =~ $form ]] || PATHS_NOTED=''
}

# Is $RUN on the file system of the root folder? A /run that is mounted is no older than the boot;
# where the names differ all the same, a container has a name of its own, and the /run of the host,
# whose notes are good.
paths_is_folder_() {
	local numbers=()
	mapfile -t numbers < <(stat -c %d -- "$ROOT/" "$RUN")
	((${#numbers[@]} == 2)) && [[ ${numbers[0]} == "${numbers[1]}" ]]
}

# Only root can change anything, and without a note nothing has to be.
paths_note_boot_() {
	local lock='' code=0
	[[ -n $PATHS_BOOT && (-w $RUN || (-n $PATHS_NOTED && $EUID == 0)) ]] || return 0
	if [[ -z $PATHS_NOTED ]]; then
		act_put "$RUN/.boot" "$PATHS_BOOT" || :
		return 0
	fi
	paths_is_folder_ || return 0
	# Who is second finds it done, and deletes nothing of what the first one has noted since.
	{ exec {lock}>"$LOCKS/boot" && flock --timeout 30 "$lock"; } 2>/dev/null || code=1
	paths_boots_
	[[ $PATHS_BOOT == "$PATHS_NOTED" ]] || ((code != 0)) || paths_empty_ || code=1
	[[ -z $lock ]] || exec {lock}>&-
	((code == 0)) || {
		need core/log
		log_error "ramraid: what another boot has left in $RUN can't be deleted: expected \
a folder of root's, without a mount below it. In a chroot, have the /run of this boot there: \
mount --bind /run FOLDER/run"
		return 1
	}
}

# Neither through a link nor across a mount; the note of the boot last, or what is left by one that
# is ended here would count.
paths_empty_() {
	[[ ! -L $RUN ]] &&
		find "$RUN" -xdev -mindepth 1 ! -path "$LOCKS" ! -path "$LOCKS/boot" \
			! -path "$RUN/.boot" -delete &&
		act_put "$RUN/.boot" "$PATHS_BOOT"
}
readonly CLAIMS=$ROOT/etc/mdadm/mdadm.conf.d
readonly BOOT=$ROOT/boot
readonly MODULES=$ROOT/lib/modules
