# ramraid status: shows what state each array is in, why, and what to do.
# shellcheck shell=bash

need config/conf core/cli core/log core/paths

declare -gA F # the facts: decide/facts.list

readonly STATUS_USAGE='usage: ramraid status [--problems] [--json] [--watch[=TIMESPAN]] [NAME…]

Show each array (without NAME: all that are configured): its state in one word, every leg with its
slot, what goes on, what that means, and what to do.
  --problems          show only arrays that are not whole, have a fault in their configuration, or
                      have an adopt or release that has not ended; nothing when there are none
  --json              print the same for programs
  --watch[=TIMESPAN]  show it again and again, every 2 s unless you say otherwise, until you press
                      Ctrl-C or q
Exit code 0: all are whole; 1: one is not (with --problems also: one is shown); 2: not a
valid name; 3: one is not running.'

cmd_status() {
	local code=0
	cli_parse "$STATUS_USAGE" 'problems json watch watch=' "$@"
	need observe/summary report/status-text
	conf_names_fit "${ARGS[@]}"
	[[ -z ${OPT[json]-} ]] || need report/status-json
	if [[ -z ${OPT[watch]+set} ]]; then
		status_all "${ARGS[@]}" || code=$?
		cli_print "$SHOWN"
		return "$code"
	else
		# Read all of them now: an upgrade in the meantime may take away what it needs
		# later.
		need notes/legs-seen notes/memory-floor observe/before-look observe/foreign-start \
			report/advice report/advice-show
		need report/terminal world/systemd
		terminal_watch status_all "${ARGS[@]}"
	fi
}

# status_all [NAME…]: sets SHOWN to what is printed about them all. Returns the code of the worst.
status_all() {
	local name code worst=0 CONF_NAMES
	SHOWN=''
	(($# > 0)) || {
		conf_find_names
		set -- "${CONF_NAMES[@]}"
	}
	[[ -z ${OPT[json]-} ]] || status_json_open "$EPOCHSECONDS"
	for name; do
		code=0
		status_one_ "$name" || code=$?
		((code <= worst)) || worst=$code
	done
	if [[ -n ${OPT[json]-} ]]; then
		status_json_close
	else
		(($# > 0)) || [[ -n ${OPT[problems]-} ]] ||
			SHOWN="no arrays are configured in $ETC; see: ramraid create --help"$'\n'
		# A program gets each thing on one line; a person at a terminal gets lines that fit,
		# and colours.
		[[ ! -t 1 || -z $SHOWN ]] || {
			need report/terminal
			terminal_dress
		}
	fi
	return "$worst"
}

status_one_() { # NAME
	summary_array "$1" || {
		log_error "$(conf_no_array "$1")"
		return "$EX_INACTIVE"
	}
	if [[ $STATUS_WORD != whole ]]; then
		summary_detail
	else
		summary_past
		[[ -z ${OPT[problems]-} ]] || ! summary_is_all || return 0
	fi
	[[ -n ${OPT[json]-} ]] || summary_monitor
	# report/advice.sh takes longer to read than everything else, and is not needed when nothing
	# goes on.
	if [[ $STATUS_WORD == whole && ${F[array.sync]} == idle ]] && summary_is_all; then
		ADVICE_ALARM='' ADVICE_WHY='' ADVICE_IMPACT='' ADVICE_ACTION='' ADVICE_BLIND=no
	else
		need report/advice
		advice "$STATUS_WORD"
	fi
	if [[ -n ${OPT[json]-} ]]; then
		status_json "$STATUS_WORD"
	else status_text "$STATUS_WORD"; fi
	case $STATUS_WORD in
	whole) [[ -z ${OPT[problems]-} ]] || return "$EX_FAILED" ;;
	stopped | broken | half-assembled) return "$EX_INACTIVE" ;;
	misconfigured) [[ ${F[array.link]} == yes ]] || return "$EX_INACTIVE" ;&
	*) return "$EX_FAILED" ;;
	esac
}
