# What "ramraid check" has found, and the order in which an array is looked at. The questions themselves: checkboot.sh (what the next boot goes by),
# checkarray.sh (the array as it is now), checkreads.sh (who serves its reads), checkgate.sh (what lies on it), checksystem.sh. Nothing is changed by any of them.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# Finding I is FINDING["$i.KEY"] with KEY array (empty: the system), severity (problem: the next boot or the data is at risk; note: worth knowing),
# code (a word that stays the same: ramraid(8), check), kernel (empty: whatever kernel), expected, found, do (what to type).
declare -gA FINDING=()
FINDINGS=0 CHECK_ARRAY=''

# check_found SEVERITY CODE EXPECTED FOUND DO [KERNEL]: about the array CHECK_ARRAY. What a mount point or a file calls itself may hold anything.
check_found() {
	local key i=$FINDINGS
	(($# == 6)) || set -- "$@" ''
	FINDING["$i.array"]=$CHECK_ARRAY
	for key in severity code expected found 'do' kernel; do
		FINDING["$i.$key"]=${1//[[:cntrl:]]/?}
		shift
	done
	FINDINGS=$((FINDINGS + 1))
}
check_problem() { check_found problem "$@"; }
check_note() { check_found note "$@"; }

# check_unseen WHAT EXPECTED WHY: what only root may look at is said, never taken for good.
check_unseen() { check_note "unseen-$1" "$2" "$3" "sudo ramraid check${CHECK_ARRAY:+ $CHECK_ARRAY}"; }

# check_count ARRAY [SEVERITY]: prints how many.
check_count() {
	local i count=0
	for ((i = 0; i < FINDINGS; i++)); do
		[[ ${FINDING["$i.array"]} != "$1" || ${FINDING["$i.severity"]} != "${2:-${FINDING["$i.severity"]}}" ]] || count=$((count + 1))
	done
	printf '%s\n' "$count"
}

# check_has_problem: is any of them one?
check_has_problem() {
	local i
	for ((i = 0; i < FINDINGS; i++)); do [[ ${FINDING["$i.severity"]} != problem ]] || return 0; done
	return 1
}

# Asked in one place, because what nobody but root may see is different for every file and every system.
check_is_root() { ((EUID == 0)); }
check_can_read() { [[ -r $1 ]]; }

# check_one NAME [KERNEL]: everything about one array; with KERNEL only what concerns that kernel.
check_one() {
	local CHECK_ARRAY=$1
	conf_load "$1" || {
		check_configuration
		return 0
	}
	if [[ -n ${2-} ]]; then
		check_kernels
		return
	fi
	check_same
	check_notify
	facts_configured "$1"
	facts_observe
	check_array
	check_reads
	check_smart
	check_half_done
	check_enabled
	check_claim
	check_kernels
	check_memory
	check_gate
	check_boot_mail
}

# A copy of a configuration: the next boot may start both units, and both would work on the same legs.
check_same() {
	local other
	while IFS= read -r other; do
		check_problem same-array "UUID=${CONF[UUID]} in no other file" "it in $ETC/$other.conf as well" \
			"delete the copy, or rename it to something that does not end in .conf; then: ramraid claim; systemctl daemon-reload"
	done < <(conf_same "$CHECK_ARRAY" "${CONF[UUID]}")
}

# With errors in it, nothing else can be asked.
check_configuration() {
	local line file next='systemctl daemon-reload; ramraid check'
	[[ -z $CHECK_ARRAY ]] || next=$(advice_mended "$CHECK_ARRAY" "$([[ ! -e $DEV/md/$CHECK_ARRAY ]] || echo yes)")
	for line in "${CONF_ERRORS[@]}"; do
		file=${line%%: *}
		[[ ! $file =~ ^(.*):[0-9]+$ ]] || file=${BASH_REMATCH[1]}
		if [[ $line == *': cannot be read' && -e $file ]] && ! check_can_read "$file"; then
			check_unseen configuration 'to read its configuration' "no right to read $file"
		else
			check_problem configuration 'no error in the configuration' "$line" \
				"edit $file, then: $next"
		fi
	done
}
