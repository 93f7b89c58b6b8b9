# What the verbs share on the command line: options, array names, root, and the lock.
# shellcheck shell=bash

# cli_parse USAGE FLAGS ARG…: sets OPT[flag]=yes for the --flags named in FLAGS (blank-separated; "name=" takes a
# value; "-" becomes "_" in the key), operands in ARGS.
declare -gA OPT=()
declare -ga ARGS=()
cli_parse() {
	local usage=$1 flags=" $2 " arg name
	shift 2
	ARGS=() OPT=()
	while (($# > 0)); do
		arg=$1 name=${1#--} name=${name%%=*}
		shift
		case $arg in
		--)
			ARGS+=("$@")
			break
			;;
		-h | --help)
			printf '%s\n' "$usage"
			exit "$EX_OK"
			;;
		--*=*)
			[[ $name != *' '* && $flags == *" $name= "* ]] || cli_usage "$usage" "unknown option $arg"
			OPT[${name//-/_}]=${arg#*=}
			;;
		--*)
			[[ $name != *' '* && $flags == *" $name "* ]] || cli_usage "$usage" "unknown option $arg"
			OPT[${name//-/_}]=yes
			;;
		-?*) cli_usage "$usage" "unknown option $arg" ;;
		*) ARGS+=("$arg") ;;
		esac
	done
	[[ -z ${OPT[dry_run]-} ]] || DRY_RUN=yes
}

cli_usage() { # USAGE COMPLAINT
	log_error "ramraid: $2"
	log_error "${1%%$'\n'*}"
	exit "$EX_USAGE"
}

# cli_one_name USAGE: the verb takes exactly one array; sets NAME.
cli_one_name() {
	((${#ARGS[@]} == 1)) || cli_usage "$1" "expected one array name, got ${#ARGS[@]} words"
	NAME=${ARGS[0]}
}

cli_root() { ((EUID == 0)) || [[ -n $ROOT ]] || die 'only root can do this; try: sudo ramraid …' "$EX_FAILED"; }

# cli_is_free NAME: is no ramraid at work on it?
cli_is_free() {
	[[ -e $RUN/$1.lock ]] || return 0
	flock --nonblock "$RUN/$1.lock" true
}

# cli_lock NAME SECONDS: one worker an array. Ends the program with 75 when another one still works after SECONDS.
cli_lock() {
	paths_run
	exec {CLI_LOCK}>"$RUN/$1.lock"
	flock --timeout "$2" "$CLI_LOCK" || die "$1: another ramraid is working on it; look at: ramraid status $1" "$EX_TRY_AGAIN"
}
