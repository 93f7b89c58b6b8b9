# Messages and exit codes.
# shellcheck shell=bash

need core/paths

DRY_RUN=${DRY_RUN-} # set by --dry-run: changes are printed, and not made (core/act)

# The exit codes of every verb; ramraid(8) lists the same.
# shellcheck disable=SC2034
readonly EX_OK=0 EX_FAILED=1 EX_USAGE=2 EX_INACTIVE=3 EX_REFUSED=4 EX_TRY_AGAIN=75

# The bytes that may follow the first one in UTF-8, and how a character begins (Unicode 15, table
# 3-7). Control characters from U+0080 to U+009F are left out, and so are those that change the
# direction of text, with which one text can look like another.
readonly PRINTABLE_C=$'[\x80-\xbf]'
readonly PRINTABLE_ODD=$'^(\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9])'
readonly PRINTABLE=$'^([\xc2-\xdf]'$PRINTABLE_C$'|\xe0[\xa0-\xbf]'$PRINTABLE_C$'|[\xe1-\xec\xee\xef]'$PRINTABLE_C$PRINTABLE_C$'|\xed[\x80-\x9f]'$PRINTABLE_C$'|\xf0[\x90-\xbf]'$PRINTABLE_C$PRINTABLE_C$'|[\xf1-\xf3]'$PRINTABLE_C$PRINTABLE_C$PRINTABLE_C$'|\xf4[\x80-\x8f]'$PRINTABLE_C$PRINTABLE_C')'

# log_printable VARIABLE…: every text for people goes through this: to a terminal, the console, the
# journal, a mail, or a program's arguments. The name of a disk, a file or a mount may contain
# anything. Control characters and bytes that are not UTF-8 become \xNN, a line end becomes \n.
# Printable text stays as it is, and a second call changes nothing.
# The text is taken in pieces: bash copies what is left of a text at each character, and anybody may
# have made it long.
log_printable() {
	local LC_ALL=C code whole_ at_ rest_ done_ piece_=1024
	while (($# > 0)); do
		local -n text_=$1
		shift
		[[ $text_ == *[!\ -~]* ]] || continue
		whole_=$text_ text_='' at_=0 rest_='' done_=''
		while :; do
			# A character has at most four bytes.
			if ((${#rest_} < 4)); then
				text_+=$done_ done_=''
				rest_+=${whole_:at_:piece_} at_=$((at_ + piece_))
			fi
			done_+=${rest_%%[!\ -~]*} rest_=${rest_#"${rest_%%[!\ -~]*}"}
			if [[ -z $rest_ ]]; then
				((at_ < ${#whole_})) || break
			elif ((${#rest_} < 4 && at_ < ${#whole_})); then
				continue
			elif [[ ! $rest_ =~ $PRINTABLE_ODD && $rest_ =~ $PRINTABLE ]]; then
				done_+=${BASH_REMATCH[0]} rest_=${rest_:${#BASH_REMATCH[0]}}
			elif [[ $rest_ == $'\n'* ]]; then
				done_+='\n' rest_=${rest_:1}
			else
				printf -v code '%d' "'${rest_:0:1}"
				printf -v code '\\x%02x' $((code & 255))
				done_+=$code rest_=${rest_:1}
			fi
		done
		text_+=$done_
	done
}

# log_write LEVEL TEXT: prints one line to stderr, after LOG_TAG; if stderr is the journal, with the
# kernel's level prefix (sd-daemon(3)). A message that can't be written, because its reader is gone
# or a disk is full, must not end the program in the middle of its work.
log_write() {
	local prefix='' text=$2
	[[ -z ${LOG_JOURNAL-} ]] || prefix="<$1>"
	log_printable text
	printf '%s%s\n' "$prefix${LOG_TAG-}" "$text" >&2 2>/dev/null || :
}
log_error() { log_write 3 "$1"; }
# An alert is something that nobody may miss: journald shows level 0 to everybody who is logged in
# (journald.conf(5), MaxLevelWall=), and we write it to the console. The program waits for the
# console, a second at most, so that alerts appear there in order, and before systemd kills what is
# left of a unit that ends.
log_alert() {
	local text=$1
	log_write 0 "$text"
	[[ -n ${LOG_JOURNAL-} ]] || return 0
	log_printable text
	read -r -t 1 _ < <(log_console_ "$text") || :
}

LOG_CONSOLE=10 # seconds that the console has to take a message

# log_console_ TEXT: writes it to the console. A console that somebody has stopped (Ctrl-S, Scroll
# Lock, an XOFF on a serial line) accepts nothing, and blocks whoever opens it or writes to it. So a
# program with a time limit does that, and it keeps none of our descriptors open, above all no lock.
log_console_() {
	need core/descriptors
	descriptors_close
	printf '\r\n%s\r\n' "$1" | timeout "$LOG_CONSOLE" \
		dd of="$DEV/console" bs=64K conv=nocreat status=none 2>/dev/null ||
		log_warning 'the message could not be written to the console'
}
log_warning() { log_write 4 "$1"; }
log_notice() { log_write 5 "$1"; }
log_info() { log_write 6 "$1"; }

# Sets LOG_JOURNAL if stderr is the journal. JOURNAL_STREAM is DEVICE:INODE of the stream that
# systemd made (systemd.exec(5)).
log_setup() {
	[[ -n ${JOURNAL_STREAM-} ]] || return 0
	local id
	id=$(stat -L -c '%d:%i' /proc/self/fd/2)
	[[ $id != "$JOURNAL_STREAM" ]] || LOG_JOURNAL=yes
}

# die MESSAGE [CODE]: prints MESSAGE as an error and ends the program.
die() {
	log_error "ramraid: $1"
	exit "${2:-$EX_FAILED}"
}
