# The command line: finds verbs, and has what they share (options, array names, the check for root,
# and the question before something is lost).
# shellcheck shell=bash
# shellcheck disable=SC2154 # lib is the program's

need core/log core/paths

# cli_parse USAGE FLAGS ARG…: sets OPT[flag]=yes for each --flag that FLAGS names (blank-separated),
# and ARGS to the operands. "name=" in FLAGS means that the option takes a value, after "=" or as
# the next word; if "name" is there as well, only after "=". In the key, "_" replaces "-". The
# options in CLI_SHORT have a short form.
# CLI_RENAMED: options of 0.1.0, and their present names.
declare -grA CLI_RENAMED=([nested]=layout)
declare -grA CLI_SHORT=([H]=no-headings [n]=dry-run [y]=yes)
declare -gA OPT=()
declare -ga ARGS=()
cli_parse() {
	local usage=$1 flags=" $2 " arg name
	shift 2
	ARGS=() OPT=()
	while (($# > 0)); do
		arg=$1 name=''
		[[ $arg != -[a-zA-Z] ]] || name=${CLI_SHORT[${arg#-}]-}
		[[ -z $name || $flags != *" $name "* ]] || arg=--$name
		name=${arg#--} name=${name%%=*}
		shift
		case $arg in
		--)
			ARGS+=("$@")
			break
			;;
		-h | --help)
			cli_print "$usage"$'\n'
			exit "$EX_OK"
			;;
		--*=*)
			[[ $name != *' '* && $flags == *" $name= "* ]] || cli_unknown_
			OPT[${name//-/_}]=${arg#*=}
			;;
		--*)
			if [[ $name != *' '* && $flags == *" $name "* ]]; then
				OPT[${name//-/_}]=yes
			elif [[ $name != *' '* && $flags == *" $name= "* ]] && (($# > 0)); then
				OPT[${name//-/_}]=$1
				shift
			elif [[ $name != *' '* && $flags == *" $name= "* ]]; then
				cli_usage "$usage" "--$name needs a value"
			else
				cli_unknown_
			fi
			;;
		-?*) cli_usage "$usage" "unknown option $arg" ;;
		*) ARGS+=("$arg") ;;
		esac
	done
	[[ -z ${OPT[dry_run]-} ]] || DRY_RUN=yes
}

# cli_print TEXT: prints the output of a verb. If that fails, bash would complain in its own way,
# with a line of this file. A reader that has seen enough ("| head") is no error: SIGPIPE ends the
# program. If the caller has SIGPIPE ignored, this ends the program as quietly, with the code that a
# shell gives for it (128 and the signal's number).
cli_print() {
	local why
	{ printf '%s' "$1"; } 2>/dev/null && return
	{ why=$(printf '\n' 2>&1 >&3) || :; } 3>&1
	[[ $why != *'Broken pipe' ]] || exit 141
	die 'the output could not be written'
}

# Complains that the caller's arg is no option of the verb.
cli_unknown_() {
	local now=''
	[[ -z $name || $name == *' '* ]] || now=${CLI_RENAMED[$name]-}
	[[ $flags == *" $now= "* ]] || now=''
	cli_usage "$usage" "unknown option $arg${now:+; since 0.2.0 it is --$now}"
}

# cli_usage USAGE COMPLAINT: prints COMPLAINT and the synopsis, and ends the program. Further lines
# of the synopsis begin with seven blanks; here they are joined to one line.
cli_usage() {
	local synopsis=${1%%$'\n\n'*}
	log_error "ramraid: $2"
	log_error "${synopsis//$'\n       '/ }"
	exit "$EX_USAGE"
}

# cli_one_name USAGE: the verb takes exactly one array; sets NAME.
cli_one_name() {
	((${#ARGS[@]} == 1)) || cli_usage "$1" "expected one array name, got ${#ARGS[@]} words"
	NAME=${ARGS[0]}
}

# cli_ask NAME: shows the lines of PLAN, which say what is to be done to an array in use. Ends the
# program when WRONG has a line that speaks against it, with --dry-run, or when the answer is no.
cli_ask() {
	cli_wrong "$1"
	[[ -z $DRY_RUN ]] || {
		cli_plan_ ''
		log_notice "$1: nothing was changed (--dry-run)"
		exit "$EX_OK"
	}
	((${#PLAN[@]} == 0)) || cli_confirm "$1" "$1, which stays in use meanwhile:"
}

# cli_confirm NAME HEAD [typed]: shows HEAD and the lines of PLAN, and asks; with "typed", the
# expected answer is the name of the array instead of yes. Ends the program when the answer is a
# different one, or when there is no terminal to ask on. With --yes it does nothing; with --dry-run
# it only shows.
cli_confirm() {
	local answer='' question='Go on? [y/N] ' wanted='[yY]*' head=$2
	[[ -z ${OPT[yes]-} ]] || return 0
	log_printable head
	[[ -z $head ]] || printf '%s\n' "$head" >&2
	cli_plan_ '  ' >&2
	[[ -z $DRY_RUN ]] || return 0
	[[ -t 0 ]] || die "$1: there is no terminal to ask on; add --yes" "$EX_USAGE"
	[[ -z ${3-} ]] || question='Type the name of the array to go on: ' wanted=$1
	read -r -p "$question" answer || :
	# shellcheck disable=SC2053 # a pattern, or a name, which has no pattern character
	[[ $answer == $wanted ]] || die "$1: nothing was changed" "$EX_FAILED"
}

# cli_stopped NAME MD: for after the stop of an array whose legs the verb goes on with. With
# --dry-run it still has them, so nothing can be said about them, and this ends the program.
cli_stopped() {
	[[ -n $DRY_RUN ]] || return 0
	log_notice "$1: the rest depends on what is on the disks once /dev/$2 is stopped; nothing \
was changed (--dry-run)"
	exit "$EX_OK"
}

# Prints the lines of PLAN, each after INDENT. The name of a disk may contain whatever was written
# to it.
cli_plan_() { # INDENT
	local line
	for line in "${PLAN[@]}"; do
		log_printable line
		printf '%s\n' "$1$line"
	done
}

# cli_wrong NAME: prints the lines of WRONG, and ends the program if there are any.
cli_wrong() {
	local line
	for line in "${WRONG[@]}"; do log_error "$1: $line"; done
	((${#WRONG[@]} == 0)) || die "$1: nothing was changed" "$EX_REFUSED"
}

cli_root() {
	((EUID == 0)) || [[ -n $ROOT ]] ||
		die 'only root can do this; try: sudo ramraid …' "$EX_FAILED"
}

# cli_find_verb VERB: sets VERB_FILE to the file that the caller has to need for it. Returns 1 when
# there is no such verb.
cli_find_verb() {
	for VERB_FILE in "cmd/$1" "cmd/internal/$1"; do
		[[ -z $1 || $1 == *[!a-z]* || ! -r $lib/$VERB_FILE.sh ]] || return 0
	done
	VERB_FILE=''
	return 1
}

# cli_unknown_verb VERB: prints the complaint about it.
cli_unknown_verb() {
	local SUGGESTION file verbs=()
	need core/text
	for file in "$lib"/cmd/*.sh; do
		file=${file##*/}
		verbs+=("${file%.sh}")
	done
	text_suggest "$1" "${verbs[@]}"
	printf 'unknown verb "%s"; %s"ramraid --help" lists them\n' "$1" \
		"${SUGGESTION:+did you mean \"$SUGGESTION\"? }"
}
