# Programs that read a device, with a bound. A device that queues for ever (multipath without paths,
# NBD, NVMe over fabrics that reconnects) never answers a read, and who waits for it in the kernel
# can't be killed: such a reader is left behind, and as long as it is there the device is not asked
# again.
# shellcheck shell=bash

need core/paths core/text

BOUNDED=5          # seconds that a device has to answer
BOUNDED_SILENT=124 # what timeout(1) ends with

# bounded DEVICE COMMAND…: runs COMMAND, a program or a function that reads DEVICE, and prints
# what it prints; through the program INTO, the caller's, if that is set. What it says of errors
# goes unseen. Returns its exit code, or BOUNDED_SILENT when the device does not answer: at once,
# when an earlier reader is still waiting for it.
bounded() {
	local device=$1 pipe in out pid code=0
	shift
	! bounded_is_silent "$device" || return "$BOUNDED_SILENT"
	# Both ends of a pipe, and the reader as a job: bash does not always know how a process
	# substitution has ended.
	exec {pipe}<> <(:)
	exec {in}<"/proc/self/fd/$pipe"
	exec {out}>"/proc/self/fd/$pipe" {pipe}>&-
	bounded_reader_ "$@" >&"$out" &
	pid=$!
	exec {out}>&-
	# Who takes the output can be ended whatever becomes of the reader.
	timeout --foreground "$BOUNDED" "${INTO[@]-cat}" <&"$in" || code=$?
	exec {in}<&-
	if ((code == BOUNDED_SILENT)); then
		bounded_note_ "$device" "$pid"
	elif ((code == 0)); then
		wait "$pid" || code=$?
	fi
	return "$code"
}

# bounded_close: closes all that the process has open besides its three.
bounded_close() {
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		((fd <= 2)) || exec {fd}>&-
	done
}

# The reader keeps nothing of ours open: no lock, no socket of systemd's, no pipe that somebody
# reads to its end.
bounded_reader_() {
	bounded_close
	exec </dev/null 2>/dev/null
	! declare -F -- "$1" >/dev/null || {
		"$@"
		return
	}
	exec "$@"
}

# bounded_is_silent DEVICE: is a reader of it still waiting?
bounded_is_silent() {
	local file pid='' start='' BEGAN
	bounded_file_ "$1"
	[[ -e $file ]] || return 1
	{ read -r pid start <"$file"; } 2>/dev/null || return 1
	text_number_or pid 0
	bounded_process_began "$pid" && [[ $BEGAN == "$start" ]] && return 0
	rm -f -- "$file"
	return 1
}

# DEVICE: sets the caller's file
bounded_file_() { file=${LOCKS-/run/ramraid/.locks}/silent.${1//\//!}; }

bounded_note_() { # DEVICE PID
	local file BEGAN
	bounded_file_ "$1"
	bounded_process_began "$2" || return 0
	# Where it can't be noted, the next look waits once more.
	{ paths_run && printf '%s %s\n' "$2" "$BEGAN" >"$file"; } 2>/dev/null || :
}

# bounded_process_began PID: sets BEGAN to when the process began, in the kernel's ticks
# (proc_pid_stat(5), starttime): with it a number is that of one process and of no later one.
# Returns 1 when it has ended.
bounded_process_began() {
	local text='' words
	{ read -r -d '' text <"/proc/$1/stat"; } 2>/dev/null || [[ -n $text ]] || return 1
	# The name may hold anything.
	text_split words "${text##*) }"
	[[ ${words[0]-} != [ZX] && -n ${words[19]-} ]] || return 1
	BEGAN=${words[19]}
	text_number_or BEGAN 0
}
