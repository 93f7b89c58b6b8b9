# Lines into a file: a note below /run, or a drop-in. Where that can't be written, bash says so in
# its own words, with a line of the program; here it is said in ours, with the reason.
# shellcheck shell=bash

need core/log

# put_lines FILE [LINE…]: FILE is these lines from now on; without any it is empty.
# put_more FILE LINE…: they come after what is in it. Both return 1 when that can't be written.
put_lines() {
	local file=$1
	shift
	put_try_ put_over_ "$@"
}
put_more() {
	local file=$1
	shift
	put_try_ put_after_ "$@"
}

# put_folder FOLDER: makes it, with those above it. Returns 1 when that can't be.
put_folder() {
	local why
	[[ ! -d $1 ]] || return 0
	why=$(mkdir -p -- "$1" 2>&1) && return
	log_error "the folder $1 can't be made: ${why##*: }"
	return 1
}

# Again, to hear why not: a process only where it has failed.
put_try_() { # FUNCTION LINE…
	local why
	"$@" 2>/dev/null && return
	why=$("$@" 2>&1) && return
	log_error "$file can't be written: ${why##*: }"
	return 1
}
put_over_() { if (($# > 0)); then printf '%s\n' "$@" >"$file"; else : >"$file"; fi; }
put_after_() { printf '%s\n' "$@" >>"$file"; }
