# What "ramraid check" has found, and the order in which an array is looked at. The questions
# themselves: cmd/check/next-boot.sh (what the next boot depends on), cmd/check/running.sh (the
# array as it is now), cmd/check/legs.sh (what its legs are on, and who serves its reads),
# cmd/check/dependents.sh (what is on it), cmd/check/machine.sh. None of them changes anything.
# shellcheck shell=bash

need cmd/check/dependents cmd/check/legs cmd/check/machine cmd/check/next-boot cmd/check/running
need config/conf core/log core/paths observe/before-look observe/facts report/advice

declare -gA F # the facts: decide/facts.list

# Finding I is FINDING["$i.KEY"] with KEY array (empty: the system), severity (problem: the next
# boot or the data is at risk; note: worth knowing), code (a word that stays the same:
# ramraid-diagnostics(7)), kernel (empty: whatever kernel), expected, found, action (what to type).
declare -gA FINDING=()
FINDINGS=0 CHECK_ARRAY=''

# findings_found SEVERITY CODE EXPECTED FOUND ACTION [KERNEL]: about the array CHECK_ARRAY. What a
# mount point or a file calls itself may hold anything.
findings_found() {
	local key text i=$FINDINGS
	(($# == 6)) || set -- "$@" ''
	FINDING["$i.array"]=$CHECK_ARRAY
	for key in severity code expected found action kernel; do
		text=$1
		log_printable text
		FINDING["$i.$key"]=$text
		shift
	done
	FINDINGS=$((FINDINGS + 1))
}
findings_problem() { findings_found problem "$@"; }
findings_note() { findings_found note "$@"; }

# findings_unseen WHAT EXPECTED WHY: what only root may look at is reported, never taken as fine.
findings_unseen() {
	findings_note "unseen-$1" "$2" "$3" "sudo ramraid check${CHECK_ARRAY:+ $CHECK_ARRAY}"
}

# findings_count ARRAY [SEVERITY]: prints how many.
findings_count() {
	local i count=0
	for ((i = 0; i < FINDINGS; i++)); do
		[[ ${FINDING["$i.array"]} != "$1" ||
			${FINDING["$i.severity"]} != "${2:-${FINDING["$i.severity"]}}" ]] ||
			count=$((count + 1))
	done
	printf '%s\n' "$count"
}

# findings_has_problem: is any of them one?
findings_has_problem() {
	local i
	for ((i = 0; i < FINDINGS; i++)); do
		[[ ${FINDING["$i.severity"]} != problem ]] || return 0
	done
	return 1
}

# Asked in one place, because what nobody but root may see is different for every file and every
# system.
findings_is_root() { ((EUID == 0)); }
findings_can_read() { [[ -r $1 ]]; }

# findings_one NAME [KERNEL]: everything about one array; with KERNEL only what concerns that
# kernel.
findings_one() {
	local CHECK_ARRAY=$1
	conf_load "$1" || {
		findings_configuration
		return 0
	}
	if [[ -n ${2-} ]]; then
		check_next_boot_kernels
		return
	fi
	findings_same
	findings_renamed
	check_machine_dropins "$1"
	check_machine_notify
	before_look_configured "$1"
	facts_observe
	check_running
	check_machine_rescue
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

# A copy of a configuration: the next boot may start both units, and both would work on the same
# legs.
findings_same() {
	local other
	while IFS= read -r other; do
		findings_problem same-array "UUID=${CONF[UUID]} in no other file" \
			"it in $ETC/$other.conf as well" \
			"delete the copy, or rename it to something that does not end in .conf; \
then: ramraid claim; systemctl daemon-reload"
	done < <(conf_same "$CHECK_ARRAY" "${CONF[UUID]}")
}

# Read still, by a word that is no longer that of the key.
findings_renamed() {
	local line
	for line in "${CONF_NOTES[@]}"; do
		findings_note key-renamed 'every key by the name that it has now' "${line%%; *}" \
			"${line#*; }"
	done
}

# With errors in it, nothing else can be asked.
findings_configuration() {
	local line file next='systemctl daemon-reload; ramraid check'
	[[ -z $CHECK_ARRAY ]] ||
		next=$(advice_mended "$CHECK_ARRAY" "$([[ ! -e $DEV/md/$CHECK_ARRAY ]] ||
			echo yes)")
	for line in "${CONF_ERRORS[@]}"; do
		file=${line%%: *}
		[[ ! $file =~ ^(.*):[0-9]+$ ]] || file=${BASH_REMATCH[1]}
		if [[ $line == *': cannot be read' && -e $file ]] &&
			! findings_can_read "$file"; then
			findings_unseen configuration 'to read its configuration' \
				"no right to read $file"
		else
			findings_problem configuration 'no error in the configuration' "$line" \
				"edit $file, then: $next"
		fi
	done
}
