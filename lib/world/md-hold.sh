# Has md start arrays read-only until the first write, so that it begins no rebuild and replaces no
# superblock before we are ready. On Debian, md always starts them like that (start_ro=1 of md_mod).
# shellcheck shell=bash

need core/act core/lock core/log core/paths

readonly MD_HOLD_START_RO=$SYS/module/md_mod/parameters/start_ro MD_HOLD_BOUND=60 # seconds

# md_hold_begin: sets start_ro=1. Call md_modules first. Returns 1 on failure.
# md_hold_end: restores the old value, unless another start still needs start_ro=1; the last one
# restores it. Returns 1 on failure. $RUN/start_ro keeps the old value meanwhile.
md_hold_begin() {
	local was=''
	[[ -z $DRY_RUN ]] || return 0
	paths_run && lock_take MD_HOLD "$LOCKS/start_ro" --shared --timeout "$MD_HOLD_BOUND" &&
		{ read -r was <"$MD_HOLD_START_RO"; } 2>/dev/null || return 1
	[[ $was == 1 ]] || { act_put "$RUN/start_ro" "$was" && act_write "$MD_HOLD_START_RO" 1; }
}
md_hold_end() {
	local was='' code=0
	[[ -n ${MD_HOLD-} ]] || return 0
	exec {MD_HOLD}>&-
	MD_HOLD=''
	[[ -e $RUN/start_ro ]] && lock_take MD_HOLD "$LOCKS/start_ro" --nonblock || return 0
	{ read -r was <"$RUN/start_ro"; } 2>/dev/null || :
	[[ $was == 0 ]] && act_write "$MD_HOLD_START_RO" "$was" && rm -f "$RUN/start_ro" || code=1
	exec {MD_HOLD}>&-
	MD_HOLD=''
	return "$code"
}
