# The check, an array whose RAM leg may be the only good copy: does a shutdown save it? After
# facts_observe.
# shellcheck shell=bash

need cmd/check/findings decide/health decide/rescue-way observe/rescue-place

declare -gA F # the facts: decide/facts.list

# If one of the disk legs failed last, a start from the disks will do. It will not if they had all
# left before the RAM leg failed (action_broken_).
check_only_copy_broken() {
	local todo="journalctl -b -k -g md; then: ramraid stop $CHECK_ARRAY"
	rescue_place_look
	[[ ${F[ram.state]} != in_sync ]] || health_disk_in_sync || todo=$(rescue_way_broken)
	findings_problem broken "md to write to ${F[array.md]}" \
		'that it has stopped: its last good leg failed' "$todo"
}

# check_only_copy: for an array that runs.
check_only_copy() {
	local save='a shutdown saves the RAM leg if it can (RESCUE in ramraid.conf(5))'
	rescue_place_look
	[[ -z ${F[rescue.tight]} ]] || save+=", but that may not fit: ${F[rescue.tight]}"
	[[ -z ${F[rescue.why_not]} ]] ||
		save="do NOT reboot before that: a shutdown can't save the RAM leg \
(${F[rescue.why_not]})"
	if ! health_disk_in_sync; then
		findings_problem only-copy 'a disk leg in sync' \
			'none: the RAM leg is the only good copy; do not cut the power' \
			"bring a disk leg back, then: ramraid attach $CHECK_ARRAY; $save"
	elif health_only_copy; then
		findings_problem only-copy 'a disk leg with all that was written' "that md could \
not write some blocks: only the RAM leg has them; do not cut the power" \
			"copy what is on it to another disk now; $save"
	fi
}
