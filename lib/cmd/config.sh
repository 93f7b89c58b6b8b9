# ramraid config: shows the value of each key, and which line sets it.
# shellcheck shell=bash

need config/conf config/conf-faults config/conf-need core/cli core/json core/log

readonly CONFIG_USAGE='usage: ramraid config show [--json] [NAME]

Print the value of every key that holds for the array NAME, and the line that it comes from:
FILE:LINE, or "built-in". Without NAME: print what holds for an array that sets nothing itself.
  --json  print the same for programs
Exit code 0: printed; 2: the configuration has errors, which are reported; 3: there is no such
array.'

# keys.list: made by "make keys" from that file, up to the line that ends it
readonly CONFIG_KEYS=(
	UUID MEMBER REQUIRED_BY LAYOUT ROOT BLOCK RAM RAM_LIMIT RAM_RESERVE MEMORY_FLOOR
	REBUILD COPY_RATE VERIFY WAIT WAIT_TIMEOUT ON_TIMEOUT ACCEPT_KERNEL_FLAW MEMBER_TIMEOUT
	START_DEGRADED WITNESS_COPY HOTPLUG AUTO_REPLACE NOTIFY RESCUE WRITE_BEHIND
	ACCEPT_DATA_LOSS
)
# keys.list end

cmd_config() {
	local NAME CONF_ORIGINS=yes code=0 text
	cli_parse "$CONFIG_USAGE" 'json' "$@"
	[[ ${ARGS[0]-} == show ]] || cli_usage "$CONFIG_USAGE" 'expected "show"'
	((${#ARGS[@]} <= 2)) || cli_usage "$CONFIG_USAGE" 'expected one array name at most'
	declare -gA CONFIG_ORIGIN=()
	declare -ga CONFIG_MEMBERS=() CONFIG_REQUIRED_BY=()
	NAME=${ARGS[1]-}
	if ((${#ARGS[@]} == 2)); then conf_need "$NAME"; else config_defaults || code=$EX_USAGE; fi
	config_unread ramraid
	[[ -z $NAME ]] || config_unread "$NAME"
	text=$(if [[ -n ${OPT[json]-} ]]; then config_json; else config_text; fi)
	cli_print "$text"$'\n'
	return "$code"
}

# A key with a fault keeps its built-in value, so the result is shown all the same.
config_defaults() {
	local line
	! conf_defaults || return 0
	for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
	return 1
}

# Reports files among the drop-ins that are not read because of their names.
config_unread() { # NAME, or ramraid
	local file
	local -a CONF_UNREAD_MEANT CONF_UNREAD_KEPT
	conf_faults_unread "$1"
	for file in "${CONF_UNREAD_MEANT[@]}"; do
		log_warning "$file is not read: its name does not end in .conf"
	done
	for file in "${CONF_UNREAD_KEPT[@]}"; do log_info "$file is not read"; done
}

# config_each FUNCTION: calls FUNCTION KEY VALUE ORIGIN for each key; for a list, once for each of
# its lines, or once with no value. ORIGIN is '' for a built-in value. Without NAME, the keys of one
# array are left out.
config_each() {
	local key
	for key in "${CONFIG_KEYS[@]}"; do
		[[ -n $NAME || $key != @(UUID|MEMBER|REQUIRED_BY) ]] || continue
		case $key in
		MEMBER) config_list_ "$1" MEMBER MEMBERS CONFIG_MEMBERS ;;
		REQUIRED_BY) config_list_ "$1" REQUIRED_BY REQUIRED_BY CONFIG_REQUIRED_BY ;;
		*) "$1" "$key" "${CONF[$key]}" "${CONFIG_ORIGIN[$key]-}" ;;
		esac
	done
}

config_list_() { # FUNCTION KEY VALUES ORIGINS: the names of two arrays
	local -n values=$3 origins=$4
	local i
	((${#values[@]} > 0)) || "$1" "$2" '' ''
	for ((i = 0; i < ${#values[@]}; i++)); do "$1" "$2" "${values[i]}" "${origins[i]}"; done
}

# Prints the origins one below the other, however long the longest value is.
config_text() {
	local width=0
	config_each config_measure_
	config_each config_line_
}
config_measure_() { ((${#1} + ${#2} < width)) || width=$((${#1} + ${#2} + 1)); }
config_line_() { printf '%-*s  %s\n' "$width" "$1=$2" "${3:-built-in}"; }

config_json() {
	local LIST=''
	json_document
	if [[ -n $NAME ]]; then json_text name "$NAME"; else json_null name; fi
	json_open keys object
	config_each config_json_
	config_json_list_ ''
	json_close
	json_close
	printf '%s\n' "$JSON_TEXT"
}

# LIST is the key whose list is open.
config_json_() { # KEY VALUE ORIGIN
	local key=$1
	config_json_list_ "$1"
	[[ -n $2 ]] || return 0 # the empty list
	[[ -z $LIST ]] || key=''
	json_open "$key" object
	json_text value "$2"
	if [[ -n $3 ]]; then json_text file "${3%:*}"; else json_null file; fi
	json_number line "${3##*:}"
	json_close
}

config_json_list_() { # KEY: closes the list of another key, opens that of this one if it is a list
	[[ $1 != "$LIST" ]] || return 0
	[[ -z $LIST ]] || json_close
	LIST=''
	[[ $1 == @(MEMBER|REQUIRED_BY) ]] || return 0
	LIST=$1
	json_open "$1" list
}
