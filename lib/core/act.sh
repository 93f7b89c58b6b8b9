# Every change to the system goes through here. Commands and files are logged before they are run or
# written, and with --dry-run only printed; notes and drop-ins are not. Also here: how a verb takes
# back what it has done, and a subshell for functions that a trap calls.
# shellcheck shell=bash

need core/log

# act COMMAND [ARG…]: logs a command that changes the system, then runs it; with DRY_RUN, it only
# prints the command to stdout. The command's standard output goes to stderr, so that a verb's own
# stdout stays clean. Returns the command's exit code.
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

# act_write FILE VALUE: does the same for writing a value into a file of sysfs. When md refuses the
# value, write(2) fails, and act_write reports that in our own words. Returns 1 then.
act_write() {
	local why
	if [[ -n $DRY_RUN ]]; then
		printf 'echo %q > %q\n' "$2" "$1"
		return 0
	fi
	log_info "+ echo $2 > $1"
	why=$({ printf '%s\n' "$2" >"$1"; } 2>&1) || {
		log_notice "could not write \"$2\" to $1: ${why##*: }"
		return 1
	}
}

# act_file FILE MODE COMMAND [ARG…]: writes what COMMAND prints to FILE (act_text). COMMAND is a
# program or a function. If it fails or is killed before its end, FILE stays as it is: a part of the
# text would pass for the whole. Returns 1 then, when act_text does, and when there are NUL bytes in
# the text, which bash can't hold.
act_file() {
	local all=()
	mapfile -d '' all < <(act_file_text_ "${@:3}")
	((${#all[@]} == 1)) && [[ ${all[0]} == *. ]] || return 1
	act_text "$1" "${all[0]%.}" "$2"
}
# Prints what COMMAND prints, and a dot when that is all of it.
act_file_text_() {
	local code
	"$@"
	code=$?
	((code > 0)) || printf .
}

# act_text FILE TEXT [MODE [OWNER [COMMAND…]]]: writes TEXT to FILE unchanged, so that after a power
# cut FILE is either the old one or the new one, and whole: temporary file, fsync, rename, fsync of
# the folder. Returns 1 when the file system is full or read-only. Every start and every change of
# an array comes through here. OWNER is in the form of chown(1); by default, the user who runs this.
# COMMAND runs right before the rename; if it fails, FILE stays as it is, and this returns 2.
# Others who may write to the folder can't turn this against root's files: dd(1) creates a new file,
# never through a link or into anything that exists (O_EXCL; bash's noclobber only refuses regular
# files), and writes and syncs the file that it has opened. It never tries again under a name that
# others have seen.
act_text() {
	local file=$1 text=$2 mode=${3:-644} temporary=$1.$$.$RANDOM mask why code=0
	if [[ -n $DRY_RUN ]]; then
		act_show_file_ "$file" "${text%$'\n'}"
		return 0
	fi
	log_info "+ write $file"
	act_put_folder "${file%/*}" || return 1
	# A file that others may not read must not be readable by them even for a moment.
	printf -v mask %o $((8#666 & ~8#$mode))
	umask "$mask"
	why=$(printf '%s' "$text" 2>/dev/null |
		dd of="$temporary" bs=64K conv=excl,fsync status=none 2>&1) || code=1
	umask 022
	if ((code == 0)); then
		[[ -z ${5-} ]] || "${@:5}" || code=2
		((code == 0)) && { [[ -z ${4-} ]] || chown -h -- "$4" "$temporary"; } &&
			mv -fT "$temporary" "$file" && sync "${file%/*}" && return
	else
		log_notice "$file can't be written: ${why##*: }"
		# The temporary file is somebody else's.
		[[ $why != *': File exists' ]] || return 1
	fi
	rm -f "$temporary"
	return $((code > 1 ? code : 1))
}

# act_text_anyhow FILE TEXT MODE [COMMAND…]: does the same. When that fails, as on a full file
# system, it overwrites the file in place, which takes no room; a power cut at that moment leaves a
# damaged file.
act_text_anyhow() {
	local code=0
	act_text "${@:1:3}" '' "${@:4}" || code=$?
	((code == 1)) || return "$code"
	[[ -z $DRY_RUN && -f $1 && ! -L $1 ]] || return 1
	(($# < 4)) || "${@:4}" || return 2
	printf '%s' "$2" | dd of="$1" conv=notrunc,fsync status=none 2>/dev/null &&
		truncate -s ${#2} -- "$1" && sync "$1"
}

# Prints the file, or, if it exists already, what changes in it. Labels of disks in it are printed
# as harmless text: for the terminal, and for the shell that somebody pastes this into.
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

# act_undo_push COMMAND [ARG…]: remembers how to take back what the caller is about to do.
# act_undo_all takes everything back, newest first.
declare -ga UNDO=()
act_undo_push() { UNDO+=("${*@Q}"); }
act_undo_all() {
	local i
	for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
		eval "${UNDO[i]}" || log_warning "ramraid: could not undo: ${UNDO[i]}"
	done
	UNDO=()
}

# These write lines into a note below /run, or into a drop-in. They don't log it beforehand and
# don't honour --dry-run: the caller checks DRY_RUN. When a write fails, bash would complain in its
# own words, with a line of the program; these report it in ours, with the reason.
# act_put FILE [LINE…]: makes these lines the whole of FILE; without any, FILE becomes empty.
# act_put_more FILE LINE…: appends them to FILE. Both return 1 when FILE can't be written.
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

# act_put_away FILE: deletes a record, so that no power cut brings it back. Like act_put, it neither
# logs that nor honours --dry-run. Returns 1 when FILE stays, or may come back.
act_put_away() {
	rm -f -- "$1" && { [[ ! -d ${1%/*} ]] || sync -- "${1%/*}"; }
}

# act_put_folder FOLDER: makes it, with those above it. Returns 1 when it can't.
act_put_folder() {
	local why
	[[ ! -d $1 ]] || return 0
	why=$(mkdir -p -- "$1" 2>&1) && return
	log_error "the folder $1 can't be made: ${why##*: }"
	return 1
}

# A failed write is tried again to catch its error message: only a failure costs a process.
act_put_try_() { # FUNCTION LINE…
	local why
	"$@" 2>/dev/null && return
	why=$("$@" 2>&1) && return
	log_error "$file can't be written: ${why##*: }"
	return 1
}
act_put_over_() { if (($# > 0)); then printf '%s\n' "$@" >"$file"; else : >"$file"; fi; }
act_put_after_() { printf '%s\n' "$@" >>"$file"; }

# act_apart COMMAND…: runs COMMAND, a function, in a subshell and returns its status. Variables that
# it sets are lost. Traps use this to call our functions: in a trap, bash gives every "return"
# without a number the status from before the trap, even in functions that the trap calls (bash(1),
# return; get_exitstat() in bash's builtins/common.c; tests/unit/cli.bats). A step that succeeded
# would then count as failed, and the rest would be left undone.
act_apart() { ("$@"); }
