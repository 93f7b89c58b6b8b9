# What "status" shows to a person at a terminal: 80 columns wide, with important words in colour,
# but never by colour alone; and "status --watch", which shows it again and again. On a terminal, it
# uses a screen of its own, which is gone afterwards; elsewhere, one text follows the other.
# shellcheck shell=bash

need config/conf core/cli core/log core/paths report/states

readonly TERMINAL_WIDTH=80

# terminal_dress: breaks lines of SHOWN that are too long between words, and indents the rest; adds
# colours if the terminal has them.
terminal_dress() {
	local line lines dressed='' BROKEN colours=''
	! terminal_has_colours || colours=yes
	mapfile -t lines < <(printf '%s\n' "${SHOWN%$'\n'}")
	for line in "${lines[@]}"; do
		terminal_break "$line"
		[[ -z $colours ]] || terminal_colour_
		dressed+=$BROKEN$'\n'
	done
	SHOWN=$dressed
}

# NO_COLOR is as https://no-color.org asks; every terminal that has colours sets TERM.
terminal_has_colours() { [[ -z ${NO_COLOR-} && ${TERM:-dumb} != dumb ]]; }

# terminal_break LINE: sets BROKEN to LINE, broken into lines of TERMINAL_WIDTH at most; only a word
# that is longer exceeds that.
terminal_break() {
	local rest=$1 head blanks indent='    '
	BROKEN=''
	case $rest in
	'  why: '* | '  impact: '* | '  action: '*) indent='          ' ;;
	'  slot '*)
		# Keep the name of the device in one piece.
		((${#rest} <= TERMINAL_WIDTH)) || BROKEN=${rest:0:44}$'\n' rest=$indent${rest:46}
		;;
	esac
	while ((${#rest} > TERMINAL_WIDTH)); do
		head=${rest:0:TERMINAL_WIDTH+1} head=${head% *} blanks=${rest%%[! ]*}
		if ((${#head} > TERMINAL_WIDTH)) || [[ $head != *[!\ ]* ]]; then
			# The word is longer than the line.
			head=${rest:${#blanks}} head=$blanks${head%% *}
			[[ $head != "$rest" ]] || break
		fi
		rest=${rest:${#head}} rest=$indent${rest#"${rest%%[! ]*}"}
		BROKEN+=$head$'\n'
	done
	BROKEN+=$rest
}

# Adds colours to the caller's BROKEN, which was line: to the state of an array, the state of a leg,
# and what nobody may miss.
terminal_colour_() {
	local word at colour
	case $line in
	'  slot '*) at=12 ;;
	'  THE RAM LEG'*) at=2 ;;
	' '*) return ;;
	*': '*) word=${line%%: *} at=$((${#word} + 2)) ;;
	*) return ;;
	esac
	word=${BROKEN:at} word=${word%%[ $'\n']*}
	colour=${STATES_COLOUR[${word:-none}]-}
	[[ $word != THE ]] || colour='1;31' word=${BROKEN:at}
	[[ -n $colour ]] || return 0
	BROKEN=${BROKEN:0:at}$'\e['${colour}m$word$'\e[0m'${BROKEN:at+${#word}}
}

readonly WATCH_SECONDS=2 WATCH_MOST=86400

# terminal_watch FUNCTION [NAME…]: shows it again and again, until the user ends it. FUNCTION NAME…
# sets SHOWN to the text.
terminal_watch() {
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
		terminal_watch_screen_ "$seconds" "$show" "$@"
	else
		terminal_watch_on_ "$seconds" "$show" "$@"
	fi
}

# terminal_watch_on_ SECONDS FUNCTION [NAME…]: prints the text each time, with the time before it
# and a blank line after it; as JSON, one document after the other.
terminal_watch_on_() {
	local seconds=$1
	shift
	while :; do
		"$@" || :
		# This ends when nobody reads the output any more.
		if [[ -n ${OPT[json]-} ]]; then
			printf '%s' "$SHOWN"
		else
			printf '%(%F %T)T\n%s\n' -1 "$SHOWN"
		fi 2>/dev/null || return 0
		sleep "$seconds"
	done
}

# terminal_watch_screen_ SECONDS FUNCTION [NAME…]
terminal_watch_screen_() {
	local seconds=$1 frame modes='' key code
	shift
	[[ ! -t 0 ]] || modes=$(stty -g)
	# shellcheck disable=SC2064 # the modes as they are now
	trap "terminal_watch_leave_ '$modes'" EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	trap '' TSTP # the other screen would stay
	# Switch to another screen, without a cursor, where lines that are too long are cut.
	printf '\e[?1049h\e[?25l\e[?7l'
	while :; do
		"$@" 2>/dev/null || :
		terminal_watch_frame_ "$seconds"
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

# Sets the caller's frame to a head and as much of SHOWN as there is room for. It clears whatever
# was there before.
terminal_watch_frame_() { # SECONDS
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

terminal_watch_leave_() { # MODES
	printf '\e[?7h\e[?25h\e[?1049l'
	[[ -z $1 ]] || stty "$1" || :
}
