# ramraid attach: gives a running array its RAM leg.
# shellcheck shell=bash

need act/array-lock act/copy act/hotplug act/loop act/transitions cmd/start config/conf
need config/conf-need core/act core/cli core/log core/paths core/uninterrupted notes/memory-floor
need notes/ram-out observe/before-look observe/facts observe/look world/disk world/md world/ramdisk
need world/systemd

declare -gA F # the facts: decide/facts.list

readonly ATTACH_USAGE='usage: ramraid attach [--dry-run] NAME

Give the running array its RAM leg, and wait until the leg is in sync. ramraid first puts back
disk legs that were away, or that md has given up. The array stays in use all the time.
  -n, --dry-run  print the next step and the reason, change nothing'

cmd_attach() {
	local out=''
	cli_parse "$ATTACH_USAGE" 'dry-run' "$@"
	cli_one_name "$ATTACH_USAGE"
	conf_need "$NAME"
	cli_root
	paths_run
	[[ -z $DRY_RUN ]] || {
		start_plan "$NAME"
		return
	}
	array_lock "$NAME" 5
	conf_need "$NAME" # who had the lock may have changed the disks
	attach_check_
	! ram_out_is_released "$NAME" ||
		die "$NAME: a release of it has begun; to finish that: ramraid release $NAME; \
to keep the mirror: ramraid adopt $NAME /dev/${F[array.md]}" "$EX_REFUSED"
	# A person wants the leg, so a leg that was taken out or has failed too often is tried
	# again.
	if ram_out_is_noted "$NAME" && ! ram_out_is_short "$NAME"; then
		out=yes
		ram_out_forget "$NAME"
	fi
	ramdisk_forgive "$NAME"
	hotplug_reset_backoff "$NAME"
	attach_here yes
	[[ -z $LOOP_NO_RAM ]] || hotplug_tried "$NAME" "$LOOP_PRINT"
	# Nothing came of it: the leg is out as before, and has not failed.
	[[ -z $out || -z $LOOP_NO_RAM || ${F[ram.state]} != none ]] ||
		ram_out_note "$NAME" person "$LOOP_NO_RAM"
	attach_hand_over_
	[[ ${F[ram.state]} == in_sync || ${CONF[RAM]} == none ]]
}

# Sets F; ends the program when the array can't be given a RAM leg.
attach_check_() {
	[[ ${CONF[RAM]} != none ]] ||
		log_notice "$NAME: RAM=none in its configuration: it gets no RAM leg"
	look_at_running "$NAME"
	[[ -z ${F[kernel.flaw]} ]] || md_is_free "${F[array.md]}" ||
		die "$NAME: is in use, and on this kernel a RAM leg must not be rebuilt while \
something reads the array: ${F[kernel.flaw]}. Unmount it first, or reboot" "$EX_REFUSED"
}

# Hands the array over to those who look after it from here on.
attach_hand_over_() {
	transitions_end "$NAME"
	memory_floor_arm "$NAME"
	systemd_hold "$NAME"
}

# attach_here yes|mend: runs the loop; for its argument and what it returns, see loop_run.
attach_here() {
	local code=0
	trap 'attach_interrupted' INT TERM HUP PIPE
	loop_run "$NAME" "$1" in-use || code=$?
	trap - INT TERM HUP PIPE
	return "$code"
}

# What md does goes on by itself. Our copy ends, and a half-filled ramdisk is of no use.
attach_interrupted() {
	uninterrupted_begin
	! act_apart attach_leave_ || log_notice "$NAME: interrupted; the array goes on as it is. \
To go on: ramraid attach $NAME"
	exit 130
}

attach_leave_() {
	copy_stop "$NAME" || {
		log_warning "$NAME: $COPY_WHY; the ramdisk stays"
		return 1
	}
	facts_observe
	[[ ${F[ram.state]} != attached ]] || ramdisk_drop "$NAME" ||
		log_warning "$NAME: the ramdisk ${F[ram.node]} is still in use; \
its memory is not given back"
	# What a person had taken out is out again, and hot-plug leaves it so.
	[[ -z ${out-} || ${F[ram.state]} != @(none|attached) ]] || ram_out_note "$NAME" person
	return 0
}
