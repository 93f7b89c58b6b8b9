# What "metrics" prints: the text format of Prometheus
# (https://prometheus.io/docs/instrumenting/exposition_formats/), from the facts alone.
# shellcheck shell=bash

need core/text decide/health report/read-share report/states

declare -gA F # the facts: decide/facts.list

# NAME TYPE HELP, in the order in which they are printed. A value that is not known has no sample.
readonly METRICS='ramraid_build_info gauge The version of ramraid that wrote this; always 1.
ramraid_array_info gauge A configured array, its UUID and the kernel'"'"'s name for it; always 1.
ramraid_array_state gauge The state of an array, as "ramraid status" shows it: 1 for the one it is in, 0 for all others.
ramraid_only_good_copy_in_ram gauge 1 while the RAM leg has something that no disk leg in sync has: a power cut then loses it.
ramraid_legs gauge Legs that are configured, the RAM leg included.
ramraid_legs_in_sync gauge Legs that are in sync.
ramraid_leg_state gauge The state of a leg: 1 for the one it is in, 0 for all others.
ramraid_array_reads_total counter Reads that the array has served since it was started.
ramraid_array_read_bytes_total counter What was read from the array since it was started.
ramraid_array_writes_total counter Writes that the array has served since it was started.
ramraid_array_written_bytes_total counter What was written to the array since it was started.
ramraid_leg_reads_total counter Reads that the device of a leg has served since it appeared. Ramdisks do not count.
ramraid_leg_read_bytes_total counter What was read from the device of a leg since it appeared.
ramraid_leg_writes_total counter Writes that the device of a leg has served since it appeared.
ramraid_leg_written_bytes_total counter What was written to the device of a leg since it appeared.
ramraid_leg_errors_total counter Read errors of a leg that md has counted without giving the leg up.
ramraid_sync_active gauge 1 while something is rebuilt, copied or compared; the action is what md calls it, or copy.
ramraid_sync_progress_ratio gauge How much of that is done, from 0 to 1.
ramraid_sync_bytes_per_second gauge How fast it is.
ramraid_ram_leg_bytes gauge The size of the ramdisk.
ramraid_ram_leg_used_bytes gauge The memory that it occupies; brd does not say.
ramraid_ram_leg_data_bytes gauge What is in a RAM leg of zram, without zeros, before it is compressed.
ramraid_ram_leg_limit_bytes gauge The memory that a RAM leg of zram may occupy.
ramraid_whole_since_timestamp_seconds gauge When the array was found whole; only while it is.
ramraid_last_rebuild_timestamp_seconds gauge When the RAM leg was rebuilt last.
ramraid_last_rebuild_seconds gauge How long that took.
ramraid_last_rebuild_bytes_per_second gauge How fast it was.'

declare -gA METRIC=()

# metrics_sample NAME VALUE [LABEL TEXT]…: adds a sample; does nothing when VALUE is empty.
metrics_sample() {
	local name=$1 value=$2 labels='' text
	shift 2
	[[ -n $value ]] || return 0
	while (($# > 0)); do
		metrics_clean_ "$2"
		text=${text//\\/\\\\} text=${text//\"/\\\"} text=${text//$'\n'/\\n}
		labels+=${labels:+,}$1=\"$text\"
		shift 2
	done
	METRIC[$name]+="$name{$labels} $value"$'\n'
}

# Sets the caller's text to TEXT. It has to be UTF-8: one odd name would make the whole output
# unreadable.
metrics_clean_() { # TEXT
	text=$1
	[[ $text != *[!\ -~]* ]] ||
		iconv -f UTF-8 -t UTF-8 < <(printf '%s\n' "$text") >/dev/null 2>&1 ||
		text=${text//[!\ -~]/?}
}

# metrics_one_of NAME WORDS WORD LABEL TEXT…: adds a sample for each of WORDS: 1 for WORD, 0 for
# others.
metrics_one_of() {
	local name=$1 word words=$2 is=$3
	shift 3
	for word in $words; do
		if [[ $word == "$is" ]]; then
			metrics_sample "$name" 1 "$@" state "$word"
		else
			metrics_sample "$name" 0 "$@" state "$word"
		fi
	done
}

# metrics_add STATUS-WORD: adds the samples of one array. If its configuration has errors, nothing
# is known, except perhaps that its RAM leg is the only good copy (summary_misconfigured).
metrics_add() {
	local array=(array "${F[name]}") i good=0 legs=${F[members]-0} alone=0
	[[ ${F[array.state]-} != @(active|broken) ]] || ! health_only_copy || alone=1
	[[ $1 == misconfigured ]] || ! health_ramdisk_alone || alone=1
	metrics_one_of ramraid_array_state "$STATES_ARRAY" "$1" "${array[@]}"
	[[ $1 != misconfigured ]] || {
		((alone == 0)) || metrics_sample ramraid_only_good_copy_in_ram 1 "${array[@]}"
		return 0
	}
	metrics_sample ramraid_array_info 1 "${array[@]}" uuid "${F[uuid]}" device "${F[array.md]}"
	metrics_stat_ array "${F[array.stat]}" "${array[@]}"
	[[ ${F[conf.ram]} == none ]] || {
		legs=$((legs + 1))
		metrics_leg_ ram "${array[@]}" role ram leg ram
	}
	for ((i = 0; i < F[members]; i++)); do
		metrics_leg_ "leg.$i" "${array[@]}" role disk leg "${F[leg.$i.dev]}"
	done
	metrics_sample ramraid_only_good_copy_in_ram "$alone" "${array[@]}"
	metrics_sample ramraid_legs "$legs" "${array[@]}"
	metrics_sample ramraid_legs_in_sync "$good" "${array[@]}"
	metrics_sync_
	metrics_ram_
	metrics_lately_ "$1"
}

# metrics_leg_ KEY LABEL TEXT…; adds to the caller's good.
metrics_leg_() {
	local key=$1 LEG
	shift
	health_leg "$key"
	[[ $LEG != in_sync ]] || good=$((good + 1))
	metrics_one_of ramraid_leg_state "$STATES_LEG" "$LEG" "$@"
	# rapiddisk and brd count nothing.
	[[ $key == ram && ! ${F[$key.stat]} =~ [1-9] ]] || metrics_stat_ leg "${F[$key.stat]}" "$@"
	metrics_sample ramraid_leg_errors_total "${F[$key.errors]}" "$@"
}

metrics_stat_() { # array|leg STAT LABEL TEXT…
	local kind=ramraid_$1 stat
	text_split stat "$2"
	shift 2
	((${#stat[@]} >= 7)) || return 0
	metrics_sample "${kind}_reads_total" "${stat[0]}" "$@"
	metrics_sample "${kind}_read_bytes_total" $((stat[2] * 512)) "$@"
	metrics_sample "${kind}_writes_total" "${stat[4]}" "$@"
	metrics_sample "${kind}_written_bytes_total" $((stat[6] * 512)) "$@"
}

metrics_sync_() {
	local ratio='' done=${F[array.done]} total=${F[array.total]} rate=${F[array.rate]} \
		action=(action "${F[array.sync]}")
	if [[ ${F[array.sync]} == idle ]]; then
		metrics_sample ramraid_sync_active 0 "${array[@]}"
		return
	fi
	((total == 0)) ||
		printf -v ratio '%d.%04d' $((done / total)) $((done * 10000 / total % 10000))
	metrics_sample ramraid_sync_active 1 "${array[@]}"
	metrics_sample ramraid_sync_progress_ratio "$ratio" "${array[@]}" "${action[@]}"
	metrics_sample ramraid_sync_bytes_per_second $((rate * 1024)) "${array[@]}" "${action[@]}"
}

metrics_ram_() {
	metrics_sample ramraid_ram_leg_bytes "${F[ram.bytes]}" "${array[@]}"
	metrics_sample ramraid_ram_leg_used_bytes "${F[ram.taken]}" "${array[@]}"
	metrics_sample ramraid_ram_leg_data_bytes "${F[ram.data]}" "${array[@]}"
	metrics_sample ramraid_ram_leg_limit_bytes "${F[ram.limit]}" "${array[@]}"
}

metrics_lately_() { # STATUS-WORD
	read_share_history
	[[ $1 != whole ]] || ((HISTORY_SINCE == 0 || HISTORY_UNTIL > 0)) ||
		metrics_sample ramraid_whole_since_timestamp_seconds "$HISTORY_SINCE" "${array[@]}"
	((HISTORY_REBUILT > 0)) || return 0
	metrics_sample ramraid_last_rebuild_timestamp_seconds "$HISTORY_REBUILT" "${array[@]}" \
		engine "$HISTORY_ENGINE"
	metrics_sample ramraid_last_rebuild_seconds "$HISTORY_SECONDS" "${array[@]}" engine \
		"$HISTORY_ENGINE"
	metrics_sample ramraid_last_rebuild_bytes_per_second $((HISTORY_RATE * 1024)) \
		"${array[@]}" engine "$HISTORY_ENGINE"
}

# metrics_text: sets SHOWN to all samples.
metrics_text() {
	local name type help
	SHOWN=''
	while read -r name type help; do
		[[ -z ${METRIC[$name]-} ]] ||
			SHOWN+="# HELP $name ${help//\\/\\\\}"$'\n'"# TYPE $name \
$type"$'\n'${METRIC[$name]}
	done < <(printf '%s\n' "$METRICS")
}
