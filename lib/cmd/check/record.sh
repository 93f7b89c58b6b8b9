# The check, what the next start relies on: the record of the running array, and the units that keep
# it. After check_running has set CHECK_UNIT.
# shellcheck shell=bash

need cmd/check/findings config/conf config/conf-where core/paths notes/witness-copy
need notes/witness-text world/systemd

declare -gA F # the facts: decide/facts.list

check_record() {
	local file=$STATE/$CHECK_ARRAY.witness todo='ramraid witness'
	[[ -z ${F[record.why]} ]] ||
		findings_problem record-elsewhere "the records of the array under one name, \
$CHECK_ARRAY" "${F[record.why]%%. *}" "${F[record.why]#*. }"
	check_record_copy
	[[ -z ${F[witness.events]} ]] || return 0
	if [[ -e $file ]] && ! findings_can_read "$file"; then
		findings_unseen witness 'to read the record of the last run' \
			"no right to read $file"
	else
		[[ ${F[witness.why]} != "$WITNESS_TEXT_LEFT" ]] ||
			todo="ramraid claim $CHECK_ARRAY; $todo"
		findings_problem no-witness "a record of the disk legs that are in sync, \
for a start with one of them missing" "${F[witness.why]}" "$todo"
	fi
}

# Only reported if the record is on the array itself, whose stale disk would bring a record that
# vouches for it; if the root file system has snapshots; or if the administrator has named a place.
check_record_copy() {
	local where
	# Looks again: the first look was before anybody knew which array it is.
	[[ ${F[conf.root]-} != yes ]] || witness_copy_find "${F[uuid]-}"
	[[ -z $WITNESS_COPY ]] || return 0
	where=$(conf_where "$CHECK_ARRAY" WITNESS_COPY ramraid)
	[[ ${F[conf.root]-} != yes ]] || {
		findings_problem witness-copy "a second copy of the record of the last run, off \
the array that / is on: if the initramfs starts a stale disk, the record on that disk vouches for \
it" "$WITNESS_COPY_WHY" "write WITNESS_COPY=FOLDER in $where, with a folder on a file \
system that is not on this array; or give /boot or the ESP such a file system"
		return
	}
	[[ $WITNESS_ROOT == @(btrfs|zfs|overlay|bcachefs) || ${CONF[WITNESS_COPY]} == /* ]] ||
		return 0
	findings_note witness-copy "a second copy of the record of the last run, off the root \
file system, which may be put back to an older state" "$WITNESS_COPY_WHY" \
		"write WITNESS_COPY=FOLDER in $where, \
with a folder on another file system"
}

check_record_unit() {
	[[ ${F[conf.ram]} == none && ${F[ram.state]} == none ]] ||
		[[ $CHECK_UNIT == @(active|activating|reloading|deactivating|unknown) ]] ||
		findings_problem unit-inactive \
			"$(systemd_unit "$CHECK_ARRAY") to be active" "it ${CHECK_UNIT:-absent}, \
so that nothing takes the RAM leg out at shutdown" "ramraid start $CHECK_ARRAY"
}

# If the array's unit is not up, that is a finding of its own, and its start also starts the watch.
check_record_monitor() {
	local MONITOR unit=ramraid-monitor@${F[array.md]}.path
	[[ $CHECK_UNIT == @(active|reloading) ]] || return 0
	systemd_monitor "${F[array.md]}"
	[[ $MONITOR != @(inactive|failed|deactivating) ]] ||
		findings_problem monitor-inactive "$unit to be active, so that a leg that leaves \
is in the record at once" "it $MONITOR: the record may be up to 15 minutes late, and if the power \
is cut before, the next start may trust that leg" \
			"systemctl restart $unit; if it fails again (systemctl status $unit): \
sysctl fs.inotify.max_user_instances=1024, and the same line in /etc/sysctl.d"
}

# The array's unit pulls them in; somebody may have stopped or masked them since. The timer also
# serves an array with HOTPLUG=no: it writes the record.
check_record_hotplug() {
	local unit state
	[[ $CHECK_UNIT == @(active|reloading) ]] || return 0
	for unit in ramraid-hotplug.path ramraid-hotplug.timer; do
		[[ ${CONF[HOTPLUG]} != no || $unit != *.path ]] || continue
		state=$(systemd_state "$unit") || state=''
		[[ $state != @(inactive|failed|deactivating) ]] ||
			findings_problem hotplug-inactive "$unit to be active, so that disks that \
come back are put back, and every change gets into the record" "it $state" \
				"systemctl start $unit; if it is masked: systemctl unmask $unit"
	done
}
