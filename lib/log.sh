# Messages and exit codes.
# shellcheck shell=bash

# The exit codes of every verb; ramraid(8) lists the same.
# shellcheck disable=SC2034
readonly EX_OK=0 EX_FAILED=1 EX_USAGE=2 EX_INACTIVE=3 EX_REFUSED=4 EX_TRY_AGAIN=75

# log_ LEVEL TEXT: one line on stderr, after LOG_TAG; with the kernel's level prefix when stderr is the journal (sd-daemon(3)).
log_() {
	local prefix=''
	[[ -z ${LOG_JOURNAL-} ]] || prefix="<$1>"
	printf '%s%s\n' "$prefix${LOG_TAG-}" "$2" >&2
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
