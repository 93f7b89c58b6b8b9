# ramraid metrics: what Prometheus collects of all arrays.
# shellcheck shell=bash

need config/conf core/cli core/log core/paths world/disk world/ramdisk-note

declare -gA F # the facts: decide/facts.list

readonly METRICS_USAGE='usage: ramraid metrics [--output=FILE]

Print the state of all arrays in the text format of Prometheus. ramraid-metrics.timer does that
for the node exporter; the timer is off until you enable it.
  --output=FILE  write to FILE instead, so that a reader finds the whole of it at any time'

cmd_metrics() {
	local name
	cli_parse "$METRICS_USAGE" 'output=' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$METRICS_USAGE" 'takes no operands'
	[[ -z ${OPT[output]+set} || ${OPT[output]} == /*[!/] ]] ||
		die "--output=${OPT[output]}: write the whole path of a file" "$EX_USAGE"
	[[ -z ${OPT[output]+set} ]] || cmd_metrics_place "$ROOT${OPT[output]}"
	need observe/summary core/act world/ramdisk report/metrics
	# shellcheck disable=SC2154 # of the program itself
	metrics_sample ramraid_build_info 1 version "$(<"$lib/VERSION")"
	while IFS= read -r name; do cmd_metrics_array "$name"; done < <(conf_names)
	metrics_text
	if [[ -z ${OPT[output]+set} ]]; then
		cli_print "$SHOWN"
	else
		printf '%s' "$SHOWN" | act_file "$METRICS_FILE" ||
			die "${OPT[output]} could not be written"
	fi
}

# cmd_metrics_place FILE: sets METRICS_FILE to how it is written. In a folder of somebody else's
# root writes nothing: what is there may lead anywhere. All is done again as its owner, since
# nothing that is printed needs root; and not on root's terminal, into which that user could type. A
# folder of root's may be in a folder of somebody else's, as with Debian's node exporter, who can
# replace it: it is entered, and written to as it was found.
cmd_metrics_place() {
	local folder=${1%/*} owner uid code=0 line
	METRICS_FILE=$1
	((EUID == 0)) || return 0
	until [[ -d $folder/ ]]; do folder=${folder%/*}; done
	# No process substitution: whatever is exec'd here inherits it, and setsid of util-linux
	# 2.38 takes its end for that of the child that it waits for (wait(2) in
	# sys-utils/setsid.c).
	owner=$(stat -c %u:%g -- "$folder/")
	uid=${owner%:*}
	((uid == 0)) || {
		set -- setsid --wait setpriv --reuid="$uid" --regid="${owner#*:}" \
			--clear-groups --inh-caps=-all --no-new-privs -- \
			"$0" metrics --output="${OPT[output]}"
		[[ -t 0 || -t 1 || -t 2 ]] || exec "$@" </dev/null
		# Who can trace that process, can use what it has open.
		"$@" </dev/null 2>&1 | while IFS= read -r line; do
			log_printable line
			printf '%s\n' "$line" >&2
		done || code=$?
		exit "$code"
	}
	need core/trust
	[[ -n $(trust_why_not "$folder") ]] || return 0
	if ! cd -P -- "$folder" || [[ $PWD != "$folder" || ${1%/*} != "$folder" ]]; then
		die "${1#"$ROOT"} is not written: others than root can change where it leads \
($(trust_why_not "$folder"))" "$EX_REFUSED"
	fi
	METRICS_FILE=./${1##*/}
}

cmd_metrics_array() { # NAME
	local RAM_PROVIDER RAM_NODE RAM_BYTES RAM_TAKEN='' NODE
	# What can't be an array's name is none, and may not be fit to be printed.
	conf_name_ok "$1" && summary_array "$1" || return 0
	F[ram.bytes]='' F[ram.taken]=''
	ramdisk_note_read "$1"
	if [[ $STATUS_WORD == misconfigured ]]; then
		[[ -z $RAM_NODE ]] || ! disk_find "/dev/md/$1" ||
			summary_members "$NODE" "$RAM_NODE"
	else
		((RAM_BYTES == 0)) || F[ram.bytes]=$RAM_BYTES
		! ramdisk_taken "${RAM_NODE:-none}" || F[ram.taken]=$RAM_TAKEN
	fi
	metrics_add "$STATUS_WORD"
}
