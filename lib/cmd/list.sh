# ramraid list: one line for each array, for people and for scripts.
# shellcheck shell=bash

need config/conf core/cli core/log core/paths core/quantity core/text decide/health world/disk

declare -gA F # the facts: decide/facts.list

readonly LIST_USAGE='usage: ramraid list [--no-headings] [NAME…]

Print one line for each array (without NAME: for all that are configured), sorted by name: NAME,
STATE (as "status" has it), DEVICE, LEGS (how many are in sync, of how many that are configured),
RAM (the state of the RAM leg), and SIZE. What is not known is "-".
  -H, --no-headings  for scripts: no headings, a tab between two fields, SIZE in bytes; later
                     versions may add fields at the end
Exit code 0: listed, whatever the states are; 2: not a valid name; 3: no such array.'

cmd_list() {
	local name code=0 text='' names=() rows=()
	cli_parse "$LIST_USAGE" 'no-headings' "$@"
	need observe/summary
	conf_names_fit "${ARGS[@]}"
	if ((${#ARGS[@]} > 0)); then
		mapfile -t names < <(printf '%s\n' "${ARGS[@]}" | sort -u)
	else
		mapfile -t names < <(conf_names)
	fi
	for name in "${names[@]}"; do list_row_ "$name" || code=$?; done
	if [[ -n ${OPT[no_headings]-} ]]; then
		((${#rows[@]} == 0)) || printf -v text '%s\n' "${rows[@]}"
	elif ((${#rows[@]} > 0)); then
		text=$(list_table_)$'\n'
	elif ((${#ARGS[@]} == 0)); then
		text="no arrays are configured in $ETC; see: ramraid create --help"$'\n'
	fi
	cli_print "$text"
	return "$code"
}

# Adds a line to the caller's rows.
list_row_() { # NAME
	local name=$1 device=- legs=- ram=- size=- row
	summary_array "$name" || {
		log_error "$(conf_no_array "$name")"
		return "$EX_INACTIVE"
	}
	[[ $STATUS_WORD == misconfigured ]] || list_legs_
	[[ -z ${F[array.md]-} ]] || {
		device=/dev/${F[array.md]}
		# The array may have been stopped meanwhile.
		size=$(disk_bytes "${F[array.md]}" 2>/dev/null) || size=-
		[[ $size == [1-9]* ]] || size=-
	}
	[[ $size == - || -n ${OPT[no_headings]-} ]] || size=$(quantity_show_bytes "$size")
	log_printable name
	printf -v row '%s\t%s\t%s\t%s\t%s\t%s' "$name" "$STATUS_WORD" "$device" "$legs" "$ram" \
		"$size"
	rows+=("$row")
}

# Sets the caller's legs to "IN-SYNC/ALL", and ram to the state of the RAM leg.
list_legs_() {
	local all=${F[members]} LEG IN_SYNC
	health_count
	health_leg ram
	ram=$LEG
	if [[ ${F[conf.ram]} == none ]]; then
		ram=none
	else
		all=$((all + 1))
		[[ $ram != in_sync ]] || IN_SYNC=$((IN_SYNC + 1))
	fi
	legs=$IN_SYNC/$all
}

# Prints rows in columns; the last column is not padded.
list_table_() {
	local row fields width=() i
	rows=($'NAME\tSTATE\tDEVICE\tLEGS\tRAM\tSIZE' "${rows[@]}")
	for row in "${rows[@]}"; do
		IFS=$'\t' text_split fields "$row"
		for i in "${!fields[@]}"; do
			((${#fields[i]} <= ${width[i]-0})) || width[i]=${#fields[i]}
		done
	done
	for row in "${rows[@]}"; do
		IFS=$'\t' text_split fields "$row"
		for i in 0 1 2 3 4; do printf '%-*s  ' "${width[i]}" "${fields[i]}"; done
		printf '%s\n' "${fields[5]}"
	done
}
