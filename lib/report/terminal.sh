# What is shown to a person at a terminal: in 80 columns, and what matters in colour as well.
# Nothing is said by colour alone.
# shellcheck shell=bash

need report/states

readonly TERMINAL_WIDTH=80

# terminal_dress: makes SHOWN fit: lines that are too long are broken between words and go on
# indented; with colours, if the terminal has them.
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

# As https://no-color.org asks; every terminal that has colours sets TERM.
terminal_has_colours() { [[ -z ${NO_COLOR-} && ${TERM:-dumb} != dumb ]]; }

# terminal_break LINE: sets BROKEN to it in lines of TERMINAL_WIDTH at most, but for words that are
# longer.
terminal_break() {
	local rest=$1 head blanks indent='    '
	BROKEN=''
	case $rest in
	'  why: '* | '  impact: '* | '  action: '*) indent='          ' ;;
	'  slot '*)
		# The name of the device stays in one piece.
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

# Colours in the caller's BROKEN, which was line: the state of an array, the state of a leg, what
# nobody may miss.
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
