# ramraid status: what state each array is in, why, and what to do.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly STATUS_USAGE='usage: ramraid status [NAME…]

Shows each array (default: all that are configured): its state in one word, every leg with its slot, and what goes on.
Exit code 0: all whole; 1: one is not; 2: a name that can be none; 3: one is not running.'

cmd_status() {
	local name worst=0 code
	cli_parse "$STATUS_USAGE" '' "$@"
	need_glance
	for name in "${ARGS[@]}"; do conf_name_ok "$name" || status_bad_name_ "$name"; done
	((${#ARGS[@]} > 0)) || mapfile -t ARGS < <(conf_names)
	((${#ARGS[@]} > 0)) || {
		printf 'no arrays are configured in %s; see: ramraid create --help\n' "$ETC"
		return
	}
	for name in "${ARGS[@]}"; do
		code=0
		status_one "$name" || code=$?
		((code <= worst)) || worst=$code
	done
	return "$worst"
}

status_bad_name_() { # NAME
	need confcheck
	die "$(conf_bad_name "$1")" "$EX_USAGE"
}

status_one() { # NAME
	local code=0 CONF_GLANCE=yes
	conf_load "$1" || code=$?
	((code != 3)) || {
		log_error "there is no array \"$1\""
		return "$EX_INACTIVE"
	}
	if ((code == 0)); then
		facts_of_conf "$1"
		facts_observe
		status_word_
		# The whole check of the files is for when it may be the reason of what is wrong.
		[[ $STATUS_WORD == whole && ${#CONF_WARNINGS[@]} == 0 ]] || CONF_GLANCE='' conf_load "$1" || code=$?
	else
		CONF_GLANCE='' conf_load "$1" || code=$?
	fi
	if ((code != 0)); then
		printf '%s: misconfigured\n' "$1"
		printf '  %s\n' "${CONF_ERRORS[@]}"
		return "$EX_FAILED"
	fi
	printf '%s: %s%s\n' "$1" "$STATUS_WORD" "${F[array.md]:+ (/dev/${F[array.md]})}"
	status_legs_
	[[ $STATUS_WORD == whole && ${F[array.sync]} == idle ]] || {
		need advice
		advice "$STATUS_WORD"
	}
	((${#CONF_WARNINGS[@]} == 0)) || printf '  configuration: %s\n' "${CONF_WARNINGS[@]}"
	case $STATUS_WORD in
	whole) ;;
	stopped | broken | half-assembled) return "$EX_INACTIVE" ;;
	*) return "$EX_FAILED" ;;
	esac
}

# STATUS_WORD: whole, rebuilding, resyncing, degraded, disks-only, stopped, half-assembled, broken
status_word_() {
	if decide_is_whole; then
		STATUS_WORD=whole
		return
	fi
	case ${F[array.state]}:${F[array.sync]}:${LOST:+yes} in
	absent:*) STATUS_WORD=stopped ;;
	inactive:*) STATUS_WORD=half-assembled ;;
	broken:*) STATUS_WORD=broken ;;
	active:resync:*) STATUS_WORD=resyncing ;;
	active:recover:* | active:copy:*) STATUS_WORD=rebuilding ;;
	*:yes) STATUS_WORD=degraded ;;
	*) STATUS_WORD=disks-only ;;
	esac
}

status_legs_() {
	local i state
	if [[ ${F[conf.ram]} != none ]]; then
		printf '  slot %-4s %-11s %s\n' "${F[ram.slot]:--}" "${F[ram.state]/none/missing}" "RAM leg${F[ram.node]:+ /dev/${F[ram.node]}}"
	fi
	for ((i = 0; i < ${F[members]}; i++)); do
		state=${F[leg.$i.state]}
		if [[ -z $state ]]; then
			state=outside
			[[ -n ${F[leg.$i.node]} ]] || state=missing
		fi
		printf '  slot %-4s %-11s %s%s\n' "${F[leg.$i.slot]:--}" "$state" "${F[leg.$i.dev]}" "${F[leg.$i.node]:+ (${F[leg.$i.node]})}"
	done
	[[ -z ${F[array.strangers]} ]] || printf '  not in the configuration: %s\n' "${F[array.strangers]}"
}
