# md's comparison of the legs ("check" in sync_action): a check of a part of the array, and the
# cleanup after one that was killed.
# shellcheck shell=bash

need core/act core/log core/paths world/md-state

# md_check MD FROM TO [COMMAND…]: has md compare all legs from sector FROM to TO, and sets
# MISMATCHES to how many sectors differ (md counts in larger units). It calls COMMAND twice a
# second, and ends the check when COMMAND fails. Returns 1 when COMMAND fails, when md is busy with
# something else, and when somebody tells md to stop. A check that reaches sync_max only pauses.
# When it has reached the end of the array, md resets the bounds itself; it does not when the check
# was interrupted (md_do_sync() in linux drivers/md/md.c).
md_check() {
	local VALUE at whole='' note
	md_state_read "$1" sync_action
	[[ $VALUE == idle ]] || return 1
	{ paths_run && exec {note}>"$LOCKS/check.$1"; } 2>/dev/null || note=''
	[[ -z $note ]] || flock --nonblock "$note" || return 1
	{ echo 0 >"$SYS/block/$1/md/sync_min" && echo "$3" >"$SYS/block/$1/md/sync_max" &&
		echo "$2" >"$SYS/block/$1/md/sync_min" &&
		echo check >"$SYS/block/$1/md/sync_action"; } 2>/dev/null || {
		md_check_end "$1"
		[[ -z $note ]] || exec {note}>&-
		return 1
	}
	while :; do
		sleep 0.5
		md_state_read "$1" sync_action
		[[ $VALUE == check ]] || {
			md_state_read "$1" sync_max
			[[ $VALUE != max ]] || whole=yes
			break
		}
		md_state_read "$1" sync_completed
		at=${VALUE%% *}
		[[ ! $at =~ ^[0-9]+$ ]] || ((at < $3)) || whole=yes
		[[ -z $whole ]] || break
		(($# <= 3)) || "${@:4}" || break
	done
	md_state_read "$1" mismatch_cnt
	MISMATCHES=${VALUE:-0}
	md_check_end "$1"
	[[ -z $note ]] || exec {note}>&-
	[[ -n $whole ]]
}

# md_check_print MD: prints the write that begins a check, for a run that changes nothing (DRY_RUN).
md_check_print() { act_write "$SYS/block/$1/md/sync_action" check; }

# md_check_left MD: ends a check whose ramraid was killed, because md takes no leg back beside a
# check. A ramraid that is still running its check holds a lock on the note of that check.
md_check_left() {
	[[ -e $LOCKS/check.$1 ]] && flock --nonblock "$LOCKS/check.$1" true || return 0
	md_check_end "$1"
}

# md_check_end MD: ends a check, and resets its bounds. md refuses that for a moment while it looks
# for further work, which it does as soon as it is idle (MD_RECOVERY_RUNNING in md_check_recovery()
# and min_sync_store(), linux drivers/md/md.c).
md_check_end() {
	local VALUE tries
	md_state_read "$1" sync_action
	[[ $VALUE != check ]] || { echo idle >"$SYS/block/$1/md/sync_action"; } 2>/dev/null || :
	# Reset sync_max even where md refuses sync_min: a rebuild that has begun meanwhile would
	# pause at the old sync_max (max_sync_store()).
	{ echo max >"$SYS/block/$1/md/sync_max"; } 2>/dev/null || :
	for ((tries = 50; tries > 0; tries--)); do
		if {
			echo 0 >"$SYS/block/$1/md/sync_min" && echo max >"$SYS/block/$1/md/sync_max"
		} 2>/dev/null; then
			rm -f "$LOCKS/check.$1"
			return
		fi
		sleep 0.1
	done
	log_warning "$1: md keeps the bounds of a check, so that the next one compares only a \
part; see /sys/block/$1/md/sync_min and sync_max"
}
