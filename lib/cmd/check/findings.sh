# What "ramraid check" has found. The questions themselves are in cmd/check/next-boot.sh (what the
# next boot depends on), cmd/check/running.sh (the array as it is now), cmd/check/legs.sh (what its
# legs are on, and which of them serve its reads), cmd/check/dependents.sh (what is on it) and
# cmd/check/machine.sh. None of them changes anything.
# shellcheck shell=bash

need config/conf core/log core/paths observe/before-look observe/facts report/advice

declare -gA F # the facts: decide/facts.list

# Finding I is FINDING["$i.KEY"] with KEY array (empty: the system), severity (problem: the next
# boot or the data is at risk; note: worth knowing), code (a word that stays the same:
# ramraid-diagnostics(7)), kernel (empty: any kernel), expected, found, action (what to type).
declare -gA FINDING=()
FINDINGS=0 CHECK_ARRAY=''

# findings_found SEVERITY CODE EXPECTED FOUND ACTION [KERNEL]: adds a finding about the array
# CHECK_ARRAY. The name of a mount point or a file may contain anything.
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

# findings_unseen WHAT EXPECTED WHY: reports what only root may look at, which must not count as
# fine.
findings_unseen() {
	findings_note "unseen-$1" "$2" "$3" "sudo ramraid check${CHECK_ARRAY:+ $CHECK_ARRAY}"
}

# findings_count ARRAY [SEVERITY]: prints how many findings there are.
findings_count() {
	local i count=0
	for ((i = 0; i < FINDINGS; i++)); do
		[[ ${FINDING["$i.array"]} != "$1" ||
			${FINDING["$i.severity"]} != "${2:-${FINDING["$i.severity"]}}" ]] ||
			count=$((count + 1))
	done
	printf '%s\n' "$count"
}

# findings_has_problem: returns 0 if any finding is a problem.
findings_has_problem() {
	local i
	for ((i = 0; i < FINDINGS; i++)); do
		[[ ${FINDING["$i.severity"]} != problem ]] || return 0
	done
	return 1
}

# All functions ask here, because what only root can see is different for every file and every
# system.
findings_is_root() { ((EUID == 0)); }
findings_can_read() { [[ -r $1 ]]; }

# If the configuration has errors, nothing else can be checked.
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
