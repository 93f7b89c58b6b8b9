# What "status --json" shows of an array, from the facts alone, through the writer in core/json.sh.
# docs/status.schema.json defines the form, and is part of what we promise: keys are added, not
# changed; what is not known is null.
# shellcheck shell=bash

need core/json core/text decide/health report/read-share

declare -gA F # the facts: decide/facts.list

status_json_open() { # NOW, seconds since the epoch
	json_document
	status_json_time_ time "$1"
	json_open arrays list
}

# status_json_close: closes the document, and sets SHOWN to it.
status_json_close() {
	json_close
	json_close
	SHOWN=$JSON_TEXT$'\n'
}

# status_json STATUS-WORD: adds the object of one array. Call "advice" first, or empty the ADVICE_….
status_json() {
	local DISK_READS=0 reads='' writes=''
	local HISTORY_SINCE=0 HISTORY_UNTIL=0 HISTORY_REBUILT=0
	[[ $1 == misconfigured ]] || read_share_history
	text_into "${F[array.stat]-}" reads _ _ _ writes
	json_open '' object
	json_text name "${F[name]}"
	json_text state "$1"
	status_json_text_ uuid "${F[uuid]-}"
	status_json_text_ device "${F[array.md]:+/dev/${F[array.md]}}"
	json_number reads "$reads"
	json_number writes "$writes"
	status_json_legs_
	status_json_activity_
	status_json_lately_ "$1"
	status_json_advice_
	json_close
}

# KEY TEXT
status_json_text_() { if [[ -n $2 ]]; then json_text "$1" "$2"; else json_null "$1"; fi; }
status_json_time_() {
	# KEY SECONDS, 0: not known
	local text
	(($2 > 0)) || {
		json_null "$1"
		return
	}
	TZ=UTC printf -v text '%(%FT%TZ)T' "$2"
	json_text "$1" "$text"
}

status_json_legs_() {
	local i name
	json_open legs list
	if [[ ${F[members]-0} != 0 && ${F[conf.ram]} != none ]]; then
		status_json_leg_ ram "${F[ram.node]:+/dev/${F[ram.node]}}" ram
	fi
	for ((i = 0; i < ${F[members]-0}; i++)); do
		status_json_leg_ disk "${F[leg.$i.dev]}" "leg.$i"
	done
	json_close
	json_open others list
	for name in ${F[array.strangers]-}; do json_text '' "/dev/$name"; done
	json_close
}

status_json_leg_() { # ROLE DEVICE KEY
	local LEG reads sectors writes
	health_leg "$3"
	text_into "${F[$3.stat]}" reads _ sectors _ writes
	if [[ $1 == ram ]]; then
		[[ $reads$writes != 00 ]] || reads='' writes='' # rapiddisk and brd count nothing
	else
		DISK_READS=$((DISK_READS + ${sectors:-0}))
	fi
	json_open '' object
	json_text role "$1"
	json_text state "$LEG"
	status_json_text_ device "$2"
	status_json_text_ node "${F[$3.node]}"
	if [[ ${F[$3.slot]} == none ]]; then
		json_null slot
	else json_number slot "${F[$3.slot]}"; fi
	json_number reads "$reads"
	json_number writes "$writes"
	json_number errors "${F[$3.errors]}"
	status_json_zram_ "$1"
	if [[ $1 == disk && -n ${F[$3.writemostly]} ]]; then
		json_bool write_mostly "${F[$3.writemostly]}"
	else json_null write_mostly; fi
	json_close
}

# Shows what is in a zram RAM leg, and what it takes; null for all other kinds.
status_json_zram_() { # ROLE
	[[ $1 == ram && -n ${F[ram.data]} ]] || {
		json_null compression
		return 0
	}
	json_open compression object
	status_json_text_ algorithm "${F[ram.algorithm]}"
	json_number bytes "${F[ram.data]}"
	json_number bytes_of_memory "${F[ram.taken]}"
	json_number bytes_of_memory_limit "${F[ram.limit]}"
	json_close
}

# Shows what goes on; null when nothing does.
status_json_activity_() {
	local done=${F[array.done]-0} total=${F[array.total]-0} rate=${F[array.rate]-0} left='' \
		percent=''
	[[ ${F[array.sync]-idle} != idle ]] || {
		json_null activity
		return 0
	}
	((rate == 0 || total == 0)) || left=$(((total - done) / 2 / rate))
	((total == 0)) ||
		printf -v percent '%d.%d' $((done * 100 / total)) $((done * 1000 / total % 10))
	percent=${percent%.0} # as JSON is written elsewhere
	json_open activity object
	json_text action "${F[array.sync]}"
	json_number percent "$percent"
	json_number bytes_done $((done * 512))
	json_number bytes_total $((total * 512))
	json_number bytes_per_second $((rate * 1024))
	json_number seconds_left "$left"
	json_close
}

status_json_lately_() { # STATUS-WORD
	local SHARE='' SHARE_LEAST=''
	[[ $1 == misconfigured ]] || read_share
	if [[ -n $SHARE ]]; then
		json_open reads_from_ram object
		json_number percent "$SHARE"
		json_bool exact "$([[ -z $SHARE_LEAST ]] && echo yes || echo no)"
		json_close
	else
		json_null reads_from_ram
	fi
	status_json_time_ whole_since "$HISTORY_SINCE"
	status_json_time_ whole_until "$HISTORY_UNTIL"
	if ((HISTORY_REBUILT > 0)); then
		json_open last_rebuild object
		status_json_time_ time "$HISTORY_REBUILT"
		json_text engine "$HISTORY_ENGINE"
		json_number seconds "$HISTORY_SECONDS"
		json_number bytes_per_second $((HISTORY_RATE * 1024))
		json_close
	else
		json_null last_rebuild
	fi
}

status_json_advice_() {
	local legs kind i
	text_split legs "${F[witness.legs]-}"
	if [[ -n ${F[witness.events]-} ]]; then
		json_open last_run object
		json_number disk_legs_in_sync ${#legs[@]}
		json_number events "${F[witness.events]}"
		json_close
	else
		json_null last_run
	fi
	status_json_text_ rescue_image "${F[rescue.image]-}"
	json_bool only_good_copy_in_ram "${ADVICE_ALARM:+yes}"
	json_bool needs_root "$ADVICE_BLIND"
	status_json_text_ why "$ADVICE_WHY"
	status_json_text_ impact "$ADVICE_IMPACT"
	status_json_text_ action "$ADVICE_ACTION"
	for kind in error warning; do
		json_open "configuration_${kind}s" list
		for ((i = 0; ; i++)); do
			[[ -n ${F[conf.$kind.$i]-} ]] || break
			json_text '' "${F[conf.$kind.$i]}"
		done
		json_close
	done
	status_json_unfinished_
}

# Shows the verb that has begun and not ended, in the words of "check"; null when there is none.
status_json_unfinished_() {
	local UNFINISHED UNFINISHED_EXPECTED UNFINISHED_FOUND UNFINISHED_ACTION
	[[ -n ${F[unfinished]-} ]] || {
		json_null unfinished
		return 0
	}
	need report/states
	states_unfinished
	json_open unfinished object
	json_text code "$UNFINISHED"
	json_text verb "${F[unfinished]}"
	json_text action "$UNFINISHED_ACTION"
	json_close
}
