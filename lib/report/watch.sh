# "status --watch": the same again and again. On a terminal in a screen of its own, which is gone
# afterwards; else one after the other.
# shellcheck shell=bash

need config/conf core/cli core/log core/paths

readonly WATCH_SECONDS=2 WATCH_MOST=86400

# watch_status FUNCTION [NAME…]: until it is ended. FUNCTION NAME… sets SHOWN to what is to be
# seen.
watch_status() {
	local show=$1 seconds=$WATCH_SECONDS code=0 name
	shift
	[[ ${OPT[watch]} == yes ]] || {
		need core/quantity
		seconds=$(quantity_seconds "${OPT[watch]}" 2>/dev/null) || seconds=0
		[[ $seconds =~ ^[1-9][0-9]{0,4}$ && $seconds -le $WATCH_MOST ]] ||
			die "--watch=${OPT[watch]}: write a time span between 1s and 1d; \
see systemd.time(7)" "$EX_USAGE"
	}
	for name; do
		[[ -e $ETC/$name.conf || -L $ETC/$name.conf ]] ||
			die "$(conf_no_array "$name")" "$EX_INACTIVE"
	done
	if [[ -t 1 && ${TERM:-dumb} != dumb && -z ${OPT[json]-} ]]; then
		watch_screen_ "$seconds" "$show" "$@"
	else
		watch_on_ "$seconds" "$show" "$@"
	fi
}

# watch_on_ SECONDS FUNCTION [NAME…]: each time with the time before it, and a blank line after
# it; as JSON, one document after the other.
watch_on_() {
	local seconds=$1
	shift
	while :; do
		"$@" || :
		if [[ -n ${OPT[json]-} ]]; then
			printf '%s' "$SHOWN"
		else
			printf '%(%F %T)T\n%s\n' -1 "$SHOWN"
		fi
		sleep "$seconds"
	done
}

# watch_screen_ SECONDS FUNCTION [NAME…]
watch_screen_() {
	local seconds=$1 frame modes='' key code
	shift
	[[ ! -t 0 ]] || modes=$(stty -g)
	# shellcheck disable=SC2064 # the modes as they are now
	trap "watch_leave_ '$modes'" EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	trap '' TSTP # the other screen would stay
	# Another screen, without a cursor, and lines that are too long are cut.
	printf '\e[?1049h\e[?25l\e[?7l'
	while :; do
		"$@" 2>/dev/null || :
		watch_frame_ "$seconds"
		printf '%s' "$frame"
		if [[ -n $modes ]]; then
			code=0 key=''
			IFS= read -rsN1 -t "$seconds" key || code=$?
			# 1: the terminal is gone.
			[[ $key != [qQ] && $code != 1 ]] || break
		else
			sleep "$seconds"
		fi
	done
}

# Sets the caller's frame: a head, what is shown, as much of it as there is room for, and nothing of
# what was there before.
watch_frame_() { # SECONDS
	local lines line left
	left=$(stty size <&1 2>/dev/null) || left=''
	left=${left%% *}
	[[ $left =~ ^[1-9][0-9]*$ ]] || left=24
	printf -v frame '\e[H%(%F %T)T, every %s s; q ends it\e[K\n\e[K' -1 "$1"
	mapfile -t lines < <(printf '%s\n' "${SHOWN%$'\n'}")
	for line in "${lines[@]:0:left-3}"; do frame+=$'\n'$line$'\e[K'; done
	((${#lines[@]} <= left - 3)) || frame+=$'\n…\e[K'
	frame+=$'\e[J'
}

watch_leave_() { # MODES
	printf '\e[?7h\e[?25h\e[?1049l'
	[[ -z $1 ]] || stty "$1" || :
}
