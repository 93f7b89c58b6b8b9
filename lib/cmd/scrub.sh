# ramraid scrub: has md compare the legs of a running array.
# shellcheck shell=bash

need act/array-lock act/left-check act/notify act/verify config/conf-faults config/conf-need
need core/act core/cli core/log core/paths core/uninterrupted notes/legs-seen observe/before-look
need observe/look observe/outside report/progress-line world/md world/md-check

declare -gA F # the facts: decide/facts.list

readonly SCRUB_USAGE='usage: ramraid scrub NAME

Have md read all legs of the running array and compare them. The array stays in use, and md keeps
to its own speed limits. On a terminal, scrub shows the progress. It gives way when a leg leaves,
or when another ramraid has something to do. ramraid-scrub@NAME.timer does the same; it is off
until you enable it.
Exit code 0: the legs are equal; 1: they differ, or there are no two to compare; 3: the array does
not run; 75: md, or another ramraid, is at work on the array, or scrub did not get to the end.'

cmd_scrub() {
	local MISMATCHES=0 bytes
	cli_parse "$SCRUB_USAGE" '' "$@"
	cli_one_name "$SCRUB_USAGE"
	conf_need "$NAME"
	cli_root
	paths_run
	look_at_running "$NAME"
	left_check_end
	scrub_can_begin "$NAME"
	bytes=$(md_bytes "${F[array.md]}") ||
		die "$NAME: has been stopped meanwhile; type: ramraid start $NAME" "$EX_INACTIVE"
	PROGRESS_SHOWN='' SCRUB_WHY='' VERIFY_BUSY=0
	trap 'scrub_interrupted' INT TERM HUP PIPE
	md_check "${F[array.md]}" 0 $((bytes / 512)) scrub_look ||
		SCRUB_WHY=${SCRUB_WHY:-md was told to stop, or has lost a leg}
	trap - INT TERM HUP PIPE
	progress_line_end "$PROGRESS_SHOWN"
	[[ -z $SCRUB_WHY || $MISMATCHES != 0 ]] ||
		die "$NAME: not compared to the end: $SCRUB_WHY. To repeat: ramraid scrub $NAME" \
			"$EX_TRY_AGAIN"
	[[ -z $SCRUB_WHY ]] || log_warning "$NAME: not compared to the end: $SCRUB_WHY"
	scrub_result "$NAME" "$MISMATCHES"
}

# Does not disturb md at work: another check, by mdcheck or checkarray, would be cut off.
scrub_can_begin() { # NAME
	local i good=0
	[[ ${F[array.sync]} == idle ]] ||
		die "$1: md is at work on it (${F[array.sync]}); see: ramraid status $1" \
			"$EX_TRY_AGAIN"
	array_lock_is_free "$1" ||
		die "$1: $(array_lock_who "$1") is working on it; see: ramraid status $1" \
			"$EX_TRY_AGAIN"
	[[ ${F[ram.state]} != in_sync ]] || good=1
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || good=$((good + 1))
	done
	((good > 1)) || die "$1: only one leg is in sync, so there is nothing to compare it with" \
		"$EX_FAILED"
}

scrub_look() {
	verify_gives_way "$NAME" || {
		SCRUB_WHY='another ramraid is working on the array'
		return 1
	}
	progress_line_md "${F[array.md]}"
}

scrub_interrupted() {
	uninterrupted_begin
	act_apart md_check_end "${F[array.md]}"
	progress_line_end "$PROGRESS_SHOWN"
	log_notice "$NAME: interrupted; md has stopped comparing. To repeat: ramraid scrub $NAME"
	exit "$EX_TRY_AGAIN"
}

scrub_result() { # NAME SECTORS
	if (($2 == 0)); then
		notify_said notice "$1: md has compared all legs, and they are equal"
		return
	fi
	notify warning mismatch '' "$1: $2 sectors differ between the legs. Harmless only in swap, \
or in what was discarded. To rebuild the RAM leg: ramraid detach $1; ramraid attach $1. What \
another ramraid scrub $1 finds after that differs between the disks: see smartctl -a, and your \
backup"
	return "$EX_FAILED"
}
