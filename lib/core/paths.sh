# Where everything outside ramraid is. RAMRAID_ROOT moves all of it below another root, for tests on
# fixtures.
# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the files that source this one

readonly ROOT=${RAMRAID_ROOT-}
readonly ETC=$ROOT/etc/ramraid
readonly VENDOR=$ROOT/usr/lib/ramraid/ramraid.conf.d
# What has to be known before any other file system is mounted is kept beside the configuration,
# because /var may be a file system of its own.
readonly STATE=$ETC/state
readonly RUN=$ROOT/run/ramraid
readonly SYS=$ROOT/sys
readonly DEV=$ROOT/dev
readonly PROC=$ROOT/proc
# Root's alone, because anybody who can open a file can hold a lock on it (flock(2)), and so keep
# others away.
readonly LOCKS=$RUN/.locks
# paths_run: makes $RUN if it does not exist. Every verb calls this, so it starts no process if $RUN
# exists. Two starts at boot may both find it missing; it does not matter which of them makes it. It
# deletes what another boot has left in $RUN: in a chroot, /run may be a folder on the disk, and
# because the kernel numbers devices as it finds them, an array of that boot could be mistaken for
# one of this boot. $RUN/.boot says which boot $RUN belongs to; if it says nothing, as after an
# upgrade from 0.1.0, that is this boot. Returns 1 when $RUN can't be made or emptied.
paths_run() {
	local PATHS_BOOT PATHS_NOTED
	paths_boots_
	[[ ! -d $LOCKS || $PATHS_BOOT != "$PATHS_NOTED" ]] || return 0
	need core/act
	act_put_folder "$RUN" &&
		{ mkdir -m 700 "$LOCKS" 2>/dev/null || act_put_folder "$LOCKS"; } &&
		paths_note_boot_
}

# Sets the caller's PATHS_BOOT to the kernel's id of this boot, and PATHS_NOTED to the id in
# $RUN/.boot; each is empty when it is missing or damaged.
paths_boots_() {
	local form='^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
	PATHS_BOOT='' PATHS_NOTED=''
	{ read -r PATHS_BOOT <"$PROC/sys/kernel/random/boot_id"; } 2>/dev/null || :
	{ read -r PATHS_NOTED <"$RUN/.boot"; } 2>/dev/null || :
	[[ $PATHS_BOOT =~ $form ]] || PATHS_BOOT=''
	[[ $PATHS_NOTED =~ $form ]] || PATHS_NOTED=''
}

# Is $RUN on the file system of the root folder? A mounted /run is no older than the boot. If the
# ids differ all the same, this is a container, which has an id of its own and the host's /run,
# whose notes are good.
paths_is_folder_() {
	local numbers=()
	mapfile -t numbers < <(stat -c %d -- "$ROOT/" "$RUN")
	((${#numbers[@]} == 2)) && [[ ${numbers[0]} == "${numbers[1]}" ]]
}

# Only root can change anything, and without a note nothing has to be changed.
paths_note_boot_() {
	local lock='' code=0
	[[ -n $PATHS_BOOT && (-w $RUN || (-n $PATHS_NOTED && $EUID == 0)) ]] || return 0
	if [[ -z $PATHS_NOTED ]]; then
		act_put "$RUN/.boot" "$PATHS_BOOT" || :
		return 0
	fi
	paths_is_folder_ || return 0
	# A second process finds the work done, and deletes nothing that the first has noted since.
	{ exec {lock}>"$LOCKS/boot" && flock --timeout 30 "$lock"; } 2>/dev/null || code=1
	paths_boots_
	[[ $PATHS_BOOT == "$PATHS_NOTED" ]] || ((code != 0)) || paths_empty_ || code=1
	[[ -z $lock ]] || exec {lock}>&-
	((code == 0)) || {
		need core/log
		log_error "ramraid: what an earlier boot left in $RUN can't be deleted: expected a \
folder that belongs to root and has no mounts below it. In a chroot, mount the /run of this boot \
there: mount --bind /run FOLDER/run"
		return 1
	}
}

# It follows no link and crosses no mount. It writes the note of the boot last: if it were first,
# and this process were ended halfway, the rest would count as this boot's.
paths_empty_() {
	[[ ! -L $RUN ]] &&
		find "$RUN" -xdev -mindepth 1 ! -path "$LOCKS" ! -path "$LOCKS/boot" \
			! -path "$RUN/.boot" -delete &&
		act_put "$RUN/.boot" "$PATHS_BOOT"
}
readonly CLAIMS=$ROOT/etc/mdadm/mdadm.conf.d
readonly BOOT=$ROOT/boot
readonly MODULES=$ROOT/lib/modules
