# ramraid metrics: prints what Prometheus collects about all arrays.
# shellcheck shell=bash

need config/conf core/cli core/descriptors core/log core/paths core/text world/disk-find
need world/ramdisk-memory world/ramdisk-note

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
		die "--output=${OPT[output]}: write the absolute path of a file" "$EX_USAGE"
	[[ -z ${OPT[output]+set} ]] || cmd_metrics_place "$ROOT${OPT[output]}"
	need observe/summary core/act world/ramdisk report/metrics
	# shellcheck disable=SC2154 # of the program itself
	metrics_sample ramraid_build_info 1 version "$(<"$lib/VERSION")"
	while IFS= read -r name; do cmd_metrics_array "$name"; done < <(conf_names)
	metrics_text
	if [[ -z ${OPT[output]+set} ]]; then
		cli_print "$SHOWN"
	else
		act_text "$METRICS_FILE" "$SHOWN" ||
			die "${OPT[output]} could not be written"
	fi
}

# cmd_metrics_place FILE: sets METRICS_FILE to the name by which it is written. root writes nothing
# into somebody else's folder: what is there may lead anywhere. Instead, the whole verb runs again
# as the folder's owner, if only root and that owner can change where the path leads; otherwise it
# would act for a third user. A folder of root's may be in somebody else's folder, as with Debian's
# node exporter, and that user can replace it. So this enters the folder, and writes to it as it was
# found.
cmd_metrics_place() {
	local folder=${1%/*} owner why
	METRICS_FILE=$1
	((EUID == 0)) || return 0
	need core/trust
	until [[ -d $folder/ ]]; do folder=${folder%/*}; done
	owner=$(stat -c %u:%g -- "$folder/")
	if [[ $owner != 0:* ]]; then
		trust_into why "$folder" "${owner%:*}"
		[[ -z $why ]] ||
			cmd_metrics_refuse_ "$1" "$why" "the folder's owner, user ${owner%:*},"
		cmd_metrics_as_ "$owner"
	fi
	trust_into why "$folder"
	[[ -n $why ]] || return 0
	# "cd -P" first finds out where the path leads, and then goes there. The path may change in
	# between, so the kernel is asked where it has led.
	if ! cd -P -- "$folder" 2>/dev/null ||
		[[ $(realpath -e .) != "$folder" || ${1%/*} != "$folder" ]]; then
		cmd_metrics_refuse_ "$1" "$why" 'root'
	fi
	why=$(trust_here_why_not "$folder") || why="$folder $TRUST_UNSEEN"
	[[ -z $why ]] || cmd_metrics_refuse_ "$1" "$why" 'root'
	METRICS_FILE=./${1##*/}
}

cmd_metrics_refuse_() { # FILE WHY WHO
	die "${1#"$ROOT"} is not written: others than $3 can change where it leads, or what is \
there ($2); revoke that permission, name a file in a folder that is root's alone, or run this as \
the user who owns the folder" "$EX_REFUSED"
}

# cmd_metrics_as_ UID:GID: runs the verb again as that user, because nothing that it prints needs
# root, and ends the program. Whoever can trace that process can use what it has open. So it has
# nothing of root's: not the terminal, into which that user could type, no lock, and not the
# descriptor that the output goes to. Its messages are that user's as well, so they are bounded.
cmd_metrics_as_() {
	local line code=0
	set -o pipefail
	(
		descriptors_close
		exec setsid --wait setpriv --reuid="${1%:*}" --regid="${1#*:}" --clear-groups \
			--inh-caps=-all --no-new-privs -- \
			"$0" metrics --output="${OPT[output]}" </dev/null 2>&1
	) | head -c 64K | while IFS= read -r line; do
		# Commands that were logged are logged again as such: the journal of the service
		# does not keep them.
		if [[ $line == '+ '* ]]; then log_info "$line"; else log_error "$line"; fi
	done || code=$?
	exit "$code"
}

cmd_metrics_array() { # NAME
	local RAM_PROVIDER RAM_NODE RAM_BYTES RAM_TAKEN=''
	# A name that can't be an array's belongs to no array, and may not be fit to be printed.
	conf_name_ok "$1" && summary_array "$1" || return 0
	F[ram.bytes]='' F[ram.taken]=''
	ramdisk_note_read "$1"
	[[ $STATUS_WORD == misconfigured ]] || {
		summary_past
		((RAM_BYTES == 0)) || F[ram.bytes]=$RAM_BYTES
		! ramdisk_memory_taken "${RAM_NODE:-none}" || F[ram.taken]=$RAM_TAKEN
	}
	metrics_add "$STATUS_WORD"
}
