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
# boot may both find that it is not: which of them makes it does not matter.
paths_run() {
	[[ ! -d $LOCKS ]] || return 0
	need core/act
	act_put_folder "$RUN" && { mkdir -m 700 "$LOCKS" 2>/dev/null || act_put_folder "$LOCKS"; }
}
readonly CLAIMS=$ROOT/etc/mdadm/mdadm.conf.d
readonly BOOT=$ROOT/boot
readonly MODULES=$ROOT/lib/modules
