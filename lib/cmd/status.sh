# ramraid status: what state each array is in, why, and what to do.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly STATUS_USAGE='usage: ramraid status [NAME…]

Shows each array (default: all that are configured): its state in one word, every leg with its slot, and what goes on.
Exit code 0: all whole; 1: one is not; 2: a name that can be none; 3: one is not running.'

cmd_status() {
	local name worst=0 code
	cli_parse "$STATUS_USAGE" '' "$@"
	need conf disk md ram witness rescue superblock facts decide
	for name in "${ARGS[@]}"; do conf_name_ok "$name" || die "$(conf_bad_name "$name")" "$EX_USAGE"; done
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

status_one() { # NAME
	local code=0 CONF_GLANCE=yes
	conf_load "$1" || code=$?
	((code != 3)) || {
		log_error "there is no array \"$1\""
		return "$EX_INACTIVE"
	}
	if ((code == 0)); then
		facts_configured "$1"
		facts_observe
		# The whole check of the files is for when it may be the reason of what is wrong.
		decide_is_whole || CONF_GLANCE='' conf_load "$1" || code=$?
	else
		# A glance shows lines of a file that nobody has looked at: control characters would reach the terminal.
		CONF_GLANCE='' conf_load "$1" || code=$?
	fi
	if ((code != 0)); then
		printf '%s: misconfigured\n' "$1"
		printf '  %s\n' "${CONF_ERRORS[@]}"
		return "$EX_FAILED"
	fi
	status_word_
	printf '%s: %s%s\n' "$1" "$STATUS_WORD" "${F[array.md]:+ (/dev/${F[array.md]})}"
	status_legs_
	[[ $STATUS_WORD == whole ]] || status_witness_
	status_progress_
	status_advice_
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
	active:recover:*) STATUS_WORD=rebuilding ;;
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

# What the next start will go by.
status_witness_() {
	local legs
	read -ra legs <<<"${F[witness.legs]}"
	if [[ -z ${F[witness.events]} ]]; then
		printf '  last run: %s\n' "${F[witness.why]}"
	elif ((${#legs[@]} == 0)); then
		printf '  last run: only the RAM leg in sync, at %s events\n' "${F[witness.events]}"
	else
		printf '  last run: %s of %s disk legs in sync, at %s events\n' "${#legs[@]}" "${F[members]}" "${F[witness.events]}"
	fi
	[[ -z ${F[rescue.image]} ]] || printf '  rescue image: %s\n' "${F[rescue.image]}"
}

status_progress_() {
	[[ ${F[array.sync]} != idle ]] || return 0
	printf '  %s: %s %s\n' "${F[array.sync]}" "$(progress_bar "${F[array.done]}" "${F[array.total]}")" \
		"$(progress_text "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}")"
}

# What the last start had to say, and the next thing to type.
status_advice_() {
	local text=''
	[[ $STATUS_WORD != whole ]] || return 0
	need systemd
	! systemd_is_running || text=$(systemd_status_text "${F[name]}")
	[[ -z $text ]] || printf '  why: %s\n' "$text"
	case $STATUS_WORD in
	stopped | half-assembled) printf '  do:  ramraid start %s\n' "${F[name]}" ;;
	disks-only) printf '  do:  ramraid attach %s\n' "${F[name]}" ;;
	degraded)
		[[ ${F[ram.state]} != in_sync ]] || decide_disk_in_sync || printf '  THE RAM LEG IS THE ONLY GOOD COPY: do not cut the power\n'
		printf '  do:  bring the missing disk leg back, then: ramraid attach %s\n' "${F[name]}"
		;;
	broken) printf '  do:  journalctl -b -u ramraid@%s -k\n' "${F[name]}" ;;
	esac
}
