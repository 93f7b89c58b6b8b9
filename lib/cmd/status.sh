# ramraid status: what state each array is in, why, and what to do.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh and look.sh list the keys

readonly STATUS_USAGE='usage: ramraid status [--json] [--watch[=TIMESPAN]] [NAME…]

Shows each array (default: all that are configured): its state in one word, every leg with its slot, what goes on, what it means, what to do.
--json prints the same for programs; --watch shows it again and again, every 2 s if not told otherwise, until it is ended with Ctrl-C or q.
Exit code 0: all whole; 1: one is not; 2: a name that can be none; 3: one is not running.'

cmd_status() {
	local name code=0
	cli_parse "$STATUS_USAGE" 'json watch watch=' "$@"
	need_glance
	need look show
	for name in "${ARGS[@]}"; do conf_name_ok "$name" || {
		need confcheck
		die "$(conf_bad_name "$name")" "$EX_USAGE"
	}; done
	[[ -z ${OPT[json]-} ]] || need json showjson
	if [[ -z ${OPT[watch]+set} ]]; then
		status_all "${ARGS[@]}" || code=$?
		printf '%s' "$SHOWN"
		return "$code"
	else
		need watch
		watch_status "${ARGS[@]}"
	fi
}

# status_all [NAME…]: sets SHOWN to what is to be printed of them all. Returns the code of the worst.
status_all() {
	local name code worst=0 CONF_NAMES
	SHOWN=''
	(($# > 0)) || {
		conf_find_names
		set -- "${CONF_NAMES[@]}"
	}
	[[ -z ${OPT[json]-} ]] || showjson_open "$EPOCHSECONDS"
	for name; do
		code=0
		status_one_ "$name" || code=$?
		((code <= worst)) || worst=$code
	done
	if [[ -n ${OPT[json]-} ]]; then
		showjson_close
	else
		(($# > 0)) || SHOWN="no arrays are configured in $ETC; see: ramraid create --help"$'\n'
		# A program gets each thing on one line; a person at a terminal as many as fit, and in colour.
		[[ ! -t 1 ]] || {
			need terminal
			terminal_dress
		}
	fi
	return "$worst"
}

status_one_() { # NAME
	look_array "$1" || {
		log_error "$(conf_no_array "$1")"
		return "$EX_INACTIVE"
	}
	[[ $STATUS_WORD == whole ]] || {
		need further
		look_further
	}
	[[ $STATUS_WORD == whole && ${F[array.sync]} == idle && -z ${F[conf.warning.0]-} ]] || {
		need units advice
		advice "$STATUS_WORD"
	}
	if [[ -n ${OPT[json]-} ]]; then showjson_array "$STATUS_WORD"; else show_array "$STATUS_WORD"; fi
	case $STATUS_WORD in
	whole) ;;
	stopped | broken | half-assembled) return "$EX_INACTIVE" ;;
	misconfigured) [[ ${F[array.link]} == yes ]] || return "$EX_INACTIVE" ;&
	*) return "$EX_FAILED" ;;
	esac
}
