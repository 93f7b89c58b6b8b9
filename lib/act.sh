# The one door through which every change to the system goes, and the way back.
# shellcheck shell=bash

DRY_RUN=${DRY_RUN-}

# act COMMAND [ARG…]: runs a command that changes the system, after logging it; with DRY_RUN it is only printed, to stdout.
# The command's standard output goes to stderr, so that a verb's own stdout stays clean. Returns the command's exit code.
act() {
	local text
	printf -v text '%q ' "$@"
	if [[ -n $DRY_RUN ]]; then
		printf '%s\n' "${text% }"
		return 0
	fi
	log_info "+ ${text% }"
	"$@" >&2
}

# act_write FILE VALUE: the same for writing a value into a file of sysfs. md answers a refusal with an error of write(2).
act_write() {
	if [[ -n $DRY_RUN ]]; then
		printf 'echo %q > %q\n' "$2" "$1"
		return 0
	fi
	log_info "+ echo $2 > $1"
	printf '%s\n' "$2" >"$1"
}

# act_file FILE [MODE]: makes FILE from stdin so that after a power cut it is either the old or the new one, whole:
# temporary file, fsync, rename, fsync of the folder. Byte by byte what came in. Returns 1 when the
# file system is full or read-only, and when there are NUL bytes, which bash can't hold.
act_file() {
	local file=$1 mode=${2:-644} text='' all=() temporary=$1.$$.$RANDOM
	# All of it, line ends as well, and without a process: every start and every change of an array comes through here.
	mapfile -d '' all
	((${#all[@]} <= 1)) || return 1
	text=${all[0]-}
	if [[ -n $DRY_RUN ]]; then
		act_show_file_ "$file" "${text%$'\n'}"
		return 0
	fi
	log_info "+ write $file"
	# Nobody but root can write to these folders.
	[[ -d ${file%/*} ]] || mkdir -p "${file%/*}" || return 1
	[[ ! -e $temporary && ! -L $temporary ]] || return 1
	# What others may not read they never may, not even for a moment.
	[[ $mode == 644 ]] || { (umask 077 && : >"$temporary") && chmod "$mode" "$temporary"; } || return 1
	printf '%s' "$text" >"$temporary" && sync "$temporary" &&
		mv -f "$temporary" "$file" && sync "${file%/*}" && return
	rm -f "$temporary"
	return 1
}

# The file, or of one that is there already what becomes different.
act_show_file_() { # FILE TEXT
	local change code=0
	if [[ -s $1 && -r $1 ]]; then
		change=$(diff -U 1 --label "$1" --label "$1" -- "$1" - <<<"$2") || code=$?
		((code == 1)) || return "$code"
		printf 'patch %q <<EOT\n%s\nEOT\n' "$1" "$change"
	else
		printf 'cat > %q <<EOT\n%s\nEOT\n' "$1" "$2"
	fi
}

# undo_push COMMAND [ARG…]: remembers how to take back what is about to be done. undo_all does it, newest first.
declare -ga UNDO=()
undo_push() { UNDO+=("${*@Q}"); }
undo_all() {
	local i
	for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
		eval "${UNDO[i]}" || log_warning "ramraid: could not take back: ${UNDO[i]}"
	done
	UNDO=()
}
