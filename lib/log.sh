# Messages, exit codes, and the one door through which every change to the system goes.
# shellcheck shell=bash

# The exit codes of every verb; ramraid(8) lists the same.
# shellcheck disable=SC2034
readonly EX_OK=0 EX_FAILED=1 EX_USAGE=2 EX_INACTIVE=3 EX_REFUSED=4 EX_TRY_AGAIN=75

DRY_RUN=${DRY_RUN-}

# log_ LEVEL TEXT: one line on stderr; with the kernel's level prefix when stderr is the journal (sd-daemon(3)).
log_() {
	local prefix=''
	[[ -z ${LOG_JOURNAL-} ]] || prefix="<$1>"
	printf '%s%s\n' "$prefix" "$2" >&2
}
log_error() { log_ 3 "$1"; }
# What nobody may miss: journald shows level 0 to everybody who is logged in (journald.conf(5), MaxLevelWall=), we to the console.
log_alert() {
	log_ 0 "$1"
	[[ -z ${LOG_JOURNAL-} ]] || { printf '\r\n%s\r\n' "$1" >"$DEV/console"; } 2>/dev/null || log_warning 'the console takes no message'
}
log_warning() { log_ 4 "$1"; }
log_notice() { log_ 5 "$1"; }
log_info() { log_ 6 "$1"; }

# Is stderr the journal? JOURNAL_STREAM is DEVICE:INODE of the stream that systemd made (systemd.exec(5)).
log_setup() {
	[[ -n ${JOURNAL_STREAM-} ]] || return 0
	local id
	id=$(stat -L -c '%d:%i' /proc/self/fd/2)
	[[ $id != "$JOURNAL_STREAM" ]] || LOG_JOURNAL=yes
}

# die MESSAGE [CODE]: says it as an error and ends the program.
die() {
	log_error "ramraid: $1"
	exit "${2:-$EX_FAILED}"
}

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
# temporary file, fsync, rename, fsync of the folder. Returns 1 when the file system is full or read-only.
act_file() {
	local file=$1 mode=${2:-644} text temporary
	text=$(cat)
	if [[ -n $DRY_RUN ]]; then
		printf 'cat > %q <<EOT\n%s\nEOT\n' "$file" "$text"
		return 0
	fi
	log_info "+ write $file"
	mkdir -p "${file%/*}" && temporary=$(mktemp "$file.XXXXXX") || return 1
	printf '%s\n' "$text" >"$temporary" && chmod "$mode" "$temporary" && sync "$temporary" &&
		mv -f "$temporary" "$file" && sync "${file%/*}" && return
	rm -f "$temporary"
	return 1
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
