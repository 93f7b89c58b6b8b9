# The one door through which every change to the system goes: commands and files, said first, and
# with --dry-run only said; notes and drop-ins; the way back; and a shell of its own for what a trap
# calls.
# shellcheck shell=bash

need core/log

DRY_RUN=${DRY_RUN-}

# act COMMAND [ARG…]: runs a command that changes the system, after logging it; with DRY_RUN it is
# only printed, to stdout. The command's standard output goes to stderr, so that a verb's own stdout
# stays clean. Returns the command's exit code.
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

# act_write FILE VALUE: the same for writing a value into a file of sysfs. md answers a refusal with
# an error of write(2), which act_write reports in our own words.
act_write() {
	local why
	if [[ -n $DRY_RUN ]]; then
		printf 'echo %q > %q\n' "$2" "$1"
		return 0
	fi
	log_info "+ echo $2 > $1"
	why=$({ printf '%s\n' "$2" >"$1"; } 2>&1) || {
		log_notice "$1 does not take \"$2\": ${why##*: }"
		return 1
	}
}

# act_file FILE [MODE]: makes FILE from stdin so that after a power cut it is either the old or the
# new one, whole: temporary file, fsync, rename, fsync of the folder. Byte by byte what came in.
# Returns 1 when the file system is full or read-only, and when there are NUL bytes, which bash
# can't hold.
act_file() {
	local all=()
	# All of it, line ends as well.
	mapfile -d '' all
	((${#all[@]} <= 1)) || return 1
	act_text "$1" "${all[0]-}" "${2:-644}"
}

# act_text FILE TEXT [MODE [OWNER]]: the same of a text: every start and every change of an array
# comes through here. OWNER is as chown(1) takes it; default: who runs this. Whoever else may write
# to the folder gets nothing of root's by it: dd(1) makes a file that is new, never through a link
# or into anything that is there (O_EXCL; noclobber of bash refuses regular files alone), and writes
# and syncs what it has opened. Nothing is tried again under a name that others have seen.
act_text() {
	local file=$1 text=$2 mode=${3:-644} temporary=$1.$$.$RANDOM mask why code=0
	if [[ -n $DRY_RUN ]]; then
		act_show_file_ "$file" "${text%$'\n'}"
		return 0
	fi
	log_info "+ write $file"
	act_put_folder "${file%/*}" || return 1
	# What others may not read they never may, not even for a moment.
	printf -v mask %o $((8#666 & ~8#$mode))
	umask "$mask"
	why=$(printf '%s' "$text" 2>/dev/null |
		dd of="$temporary" bs=64K conv=excl,fsync status=none 2>&1) || code=1
	umask 022
	if ((code == 0)); then
		{ [[ -z ${4-} ]] || chown -h -- "$4" "$temporary"; } &&
			mv -fT "$temporary" "$file" && sync "${file%/*}" && return
	else
		log_notice "$file can't be written: ${why##*: }"
		# That is somebody else's.
		[[ $why != *': File exists' ]] || return 1
	fi
	rm -f "$temporary"
	return 1
}

# act_text_anyhow FILE TEXT MODE: likewise. On a full file system the file is overwritten in its
# place, which takes no room: a power cut in that moment leaves a damaged one.
act_text_anyhow() {
	act_text "$@" && return
	[[ -z $DRY_RUN && -f $1 && ! -L $1 ]] || return 1
	printf '%s' "$2" | dd of="$1" conv=notrunc,fsync status=none 2>/dev/null &&
		truncate -s ${#2} -- "$1" && sync "$1"
}

# The file, or of one that is there already what becomes different. What a label says is text, to
# the terminal and to the shell that this is pasted into.
act_show_file_() { # FILE TEXT
	local change code=0 what=cat into='>' line rest lines
	if [[ -s $1 && -r $1 ]]; then
		change=$(diff -U 1 --label "$1" --label "$1" -- "$1" - < <(printf '%s\n' "$2")) ||
			code=$?
		((code == 1)) || return "$code"
		what=patch into=''
	else change=$2; fi
	printf "%s %s%q <<'EOT'\n" "$what" "${into:+$into }" "$1"
	mapfile -t lines < <(printf '%s\n' "$change")
	for line in "${lines[@]}"; do
		while [[ $line == *$'\t'* ]]; do
			rest=${line#*$'\t'} line=${line%%$'\t'*}
			log_printable line
			printf '%s\t' "$line"
			line=$rest
		done
		log_printable line
		printf '%s\n' "$line"
	done
	printf 'EOT\n'
}

# act_undo_push COMMAND [ARG…]: remembers how to take back what is about to be done. act_undo_all
# does it, newest first.
declare -ga UNDO=()
act_undo_push() { UNDO+=("${*@Q}"); }
act_undo_all() {
	local i
	for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
		eval "${UNDO[i]}" || log_warning "ramraid: could not take back: ${UNDO[i]}"
	done
	UNDO=()
}

# Lines into a note below /run, or a drop-in, not said beforehand and without --dry-run: who calls
# looks whether it is one. Where that can't be written, bash says so in its own words, with a line
# of the program; here it is said in ours, with the reason.
# act_put FILE [LINE…]: FILE is these lines from now on; without any it is empty.
# act_put_more FILE LINE…: they come after what is in it. Both return 1 when that can't be
# written.
act_put() {
	local file=$1
	shift
	act_put_try_ act_put_over_ "$@"
}
act_put_more() {
	local file=$1
	shift
	act_put_try_ act_put_after_ "$@"
}

# act_put_folder FOLDER: makes it, with those above it. Returns 1 when that can't be.
act_put_folder() {
	local why
	[[ ! -d $1 ]] || return 0
	why=$(mkdir -p -- "$1" 2>&1) && return
	log_error "the folder $1 can't be made: ${why##*: }"
	return 1
}

# Again, to hear why not: a process only where it has failed.
act_put_try_() { # FUNCTION LINE…
	local why
	"$@" 2>/dev/null && return
	why=$("$@" 2>&1) && return
	log_error "$file can't be written: ${why##*: }"
	return 1
}
act_put_over_() { if (($# > 0)); then printf '%s\n' "$@" >"$file"; else : >"$file"; fi; }
act_put_after_() { printf '%s\n' "$@" >>"$file"; }

# act_apart COMMAND…: runs COMMAND, a function, in a shell of its own, and returns its status.
# What it sets is lost. Functions of ours are called by this from a trap: in a trap, bash
# gives every "return" without a number the status from before the trap, also in the functions that
# the trap calls (bash(1), return; get_exitstat() in bash's builtins/common.c; tests/unit/cli.bats).
# Then what has succeeded counts as failed, and the rest is left undone.
act_apart() { ("$@"); }
