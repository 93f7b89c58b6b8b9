# ramraid metrics: what Prometheus collects of all arrays.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh and look.sh list the keys

readonly METRICS_USAGE='usage: ramraid metrics [--output=FILE]

Prints the state of all arrays in the text format of Prometheus, or writes it to FILE, so that a reader finds the whole of it at any time.
ramraid-metrics.timer does that for the node exporter; it is off until it is enabled.'

cmd_metrics() {
	local name
	cli_parse "$METRICS_USAGE" 'output=' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$METRICS_USAGE" 'takes no operands'
	[[ -z ${OPT[output]+set} || ${OPT[output]} == /*[!/] ]] || die "--output=${OPT[output]}: write the whole path of a file" "$EX_USAGE"
	need_glance
	need look act ram metrics
	# shellcheck disable=SC2154 # of the program itself
	metrics_sample ramraid_build_info 1 version "$(<"$lib/VERSION")"
	while IFS= read -r name; do metrics_array "$name"; done < <(conf_names)
	metrics_text
	if [[ -z ${OPT[output]+set} ]]; then
		printf '%s' "$SHOWN"
	else
		printf '%s' "$SHOWN" | act_file "$ROOT${OPT[output]}" || die "${OPT[output]} could not be written"
	fi
}

metrics_array() { # NAME
	local RAM_PROVIDER RAM_NODE RAM_BYTES RAM_TAKEN=''
	# What can't be an array's name is none, and may not be fit to be printed.
	conf_name_ok "$1" && look_array "$1" || return 0
	F[ram.bytes]='' F[ram.taken]=''
	[[ $STATUS_WORD == misconfigured ]] || {
		ram_of "$1"
		((RAM_BYTES == 0)) || F[ram.bytes]=$RAM_BYTES
		! ram_taken "${RAM_NODE:-none}" || F[ram.taken]=$RAM_TAKEN
	}
	metrics_add "$STATUS_WORD"
}
