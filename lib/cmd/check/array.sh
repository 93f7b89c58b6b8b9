# ramraid check, one array: the order in which it is looked at. The questions themselves are in
# cmd/check/next-boot.sh (what the next boot depends on), cmd/check/running.sh (the array as it is
# now), cmd/check/legs.sh (what its legs are on, and which of them serve its reads),
# cmd/check/dependents.sh (what is on it) and cmd/check/machine.sh. None of them changes anything.
# shellcheck shell=bash

need cmd/check/dependents cmd/check/findings cmd/check/legs cmd/check/machine cmd/check/next-boot
need cmd/check/only-copy cmd/check/running config/conf core/paths decide/health observe/before-look
need observe/facts observe/summary

declare -gA F # the facts: decide/facts.list

# check_array NAME [KERNEL]: checks everything about one array; with KERNEL, only what concerns that
# kernel.
check_array() {
	local CHECK_ARRAY=$1
	conf_load "$1" || {
		findings_configuration
		summary_misconfigured "$1"
		[[ ${F[array.state]} != @(active|broken) ]] || ! health_only_copy || check_only_copy
		return 0
	}
	if [[ -n ${2-} ]]; then
		check_next_boot_kernels
		return
	fi
	check_array_same_
	check_array_renamed_
	check_array_always_
	check_machine_dropins "$1"
	check_machine_notify
	before_look_configured "$1"
	facts_observe
	check_running
	check_machine_rescue
	check_machine_rescue_beside
	check_machine_removable
	check_legs_reads
	check_running_smart
	check_legs_remote
	check_next_boot_half_done
	check_next_boot_enabled
	check_next_boot_claim
	check_next_boot_root
	check_next_boot_kernels
	check_next_boot_superblocks
	check_next_boot_bad_blocks
	check_next_boot_memory
	check_dependents
	check_dependents_boot_mail
}

# Reports a copy of the configuration: the next boot may start both units, and both would work on
# the same legs.
check_array_same_() {
	local other
	while IFS= read -r other; do
		findings_problem same-array "UUID=${CONF[UUID]} in no other file" \
			"it in $ETC/$other.conf as well" \
			"delete the copy, or rename it to something that does not end in .conf; \
then: ramraid claim; systemctl daemon-reload"
	done < <(conf_same "$CHECK_ARRAY" "${CONF[UUID]}")
}

# Reports keys that are still read by an old name.
check_array_renamed_() {
	local line
	for line in "${CONF_NOTES[@]}"; do
		findings_note key-renamed 'every key by its current name' "${line%%; *}" \
			"${line#*; }"
	done
}

# Reports what a refused start asks for as the way out, for that one start: left in the file, it
# makes every later boot give up a disk that is merely late.
check_array_always_() {
	[[ ${CONF[START_DEGRADED]} == always ]] || return 0
	findings_note starts-always 'no start against the record of the last run' \
		"START_DEGRADED=always: a start gives up each disk leg that is missing, even if it \
may have the later data" \
		"if that was meant for one start, delete that line; \"ramraid config show \
$CHECK_ARRAY\" says in which file it is"
}
