# Whether a file of the configuration may be read at all.
# shellcheck shell=bash

need config/conf core/text

# conf_files_look FILE…: looks at all of them with one process, and keeps the result in CONF_FILES
# for conf_files_is_ok.
declare -gA CONF_FILES=()
conf_files_look() {
	local line lines
	CONF_FILES=()
	mapfile -d '' lines < <(stat --printf='%F:%u:%a:%s:%n\0' -- "$@" 2>/dev/null)
	for line in "${lines[@]}"; do CONF_FILES[${line#*:*:*:*:}]=${line%"${line#*:*:*:*:}"}; done
}

# conf_files_is_ok FILE: only a regular file that belongs to root (in tests: to us) and that nobody
# else can write is read. Returns 1, with the faults in CONF_ERRORS, when it is not such a file.
conf_files_is_ok() {
	local type owner mode bytes fault faults=()
	[[ -n ${CONF_FILES[$1]-} ]] || conf_files_look "$1"
	IFS=: text_into "${CONF_FILES[$1]-}" type owner mode bytes
	case $type in
	'regular file' | 'regular empty file')
		((owner == EUID || owner == 0)) ||
			faults+=("belongs to user $owner; type: chown root $1")
		(((8#$mode & 8#022) == 0)) ||
			faults+=("others than its owner can write to it (mode $mode); type: \
chmod 644 $1")
		((bytes <= CONF_MAX_BYTES)) ||
			faults+=("has $bytes bytes; a configuration file may have at most \
$CONF_MAX_BYTES")
		[[ ${#faults[@]} -gt 0 || -r $1 ]] || faults+=('cannot be read')
		;;
	'') faults+=('cannot be read') ;;
	*) faults+=("is a $type; it must be a regular file") ;;
	esac
	for fault in "${faults[@]}"; do CONF_ERRORS+=("$1: $fault"); done
	((${#faults[@]} == 0))
}
