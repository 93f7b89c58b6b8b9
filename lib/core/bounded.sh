# Runs programs that read a device, with a time limit. A device that queues for ever (multipath
# without paths, NBD, NVMe over fabrics that reconnects) never answers a read, and a process that
# waits for it in the kernel can't be killed. Such a reader is left behind, and nothing asks the
# device again while that reader exists.
# shellcheck shell=bash

need core/descriptors core/paths core/text

BOUNDED=5          # seconds that a device has to answer
BOUNDED_SILENT=124 # what timeout(1) ends with

# bounded DEVICE COMMAND…: runs COMMAND, a program or a function that reads DEVICE, and prints what
# it prints; through the program in the caller's INTO, if that is set. The error messages of COMMAND
# are thrown away. Returns the exit code of COMMAND, or BOUNDED_SILENT when the device does not
# answer; at once if an earlier reader is still waiting for it.
bounded() {
	local device=$1 pipe in out pid code=0
	shift
	! bounded_is_silent "$device" || return "$BOUNDED_SILENT"
	# Open both ends of a pipe and run the reader as a job: bash does not always know the exit
	# code of a process substitution.
	exec {pipe}<> <(:)
	exec {in}<"/proc/self/fd/$pipe"
	exec {out}>"/proc/self/fd/$pipe" {pipe}>&-
	bounded_reader_ "$@" >&"$out" &
	pid=$!
	exec {out}>&-
	# timeout can end the program that takes the output, whatever becomes of the reader.
	timeout --foreground "$BOUNDED" "${INTO[@]-cat}" <&"$in" || code=$?
	exec {in}<&-
	if ((code == BOUNDED_SILENT)); then
		bounded_note_ "$device" "$pid"
	elif ((code == 0)); then
		wait "$pid" || code=$?
	fi
	return "$code"
}

# The reader keeps none of our descriptors open: no lock, no socket of systemd's, no pipe that
# somebody reads to its end.
bounded_reader_() {
	descriptors_close
	exec </dev/null 2>/dev/null
	! declare -F -- "$1" >/dev/null || {
		"$@"
		return
	}
	exec "$@"
}

# bounded_is_silent DEVICE: returns 0 if an earlier reader is still waiting for it.
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

# Sets the caller's file to the note for DEVICE, $1.
bounded_file_() { file=${LOCKS-/run/ramraid/.locks}/silent.${1//\//!}; }

bounded_note_() { # DEVICE PID
	local file BEGAN
	bounded_file_ "$1"
	bounded_process_began "$2" || return 0
	# If the note can't be written, the next look waits for the device once more.
	{ paths_run && printf '%s %s\n' "$2" "$BEGAN" >"$file"; } 2>/dev/null || :
}

# bounded_process_began PID: sets BEGAN to when the process began, in the kernel's ticks
# (proc_pid_stat(5), starttime). PID and BEGAN together mean one process and no later one with the
# same number. Returns 1 when the process has ended.
bounded_process_began() {
	local text='' words
	{ read -r -d '' text <"/proc/$1/stat"; } 2>/dev/null || [[ -n $text ]] || return 1
	# The process name may contain anything, even ")".
	text_split words "${text##*) }"
	[[ ${words[0]-} != [ZX] && -n ${words[19]-} ]] || return 1
	BEGAN=${words[19]}
	text_number_or BEGAN 0
}

# bounded_leave DEVICE GROUP: ends the processes of a group (a job that began under "set -m"), whose
# work on DEVICE makes no progress. If one of them waits for DEVICE in the kernel, it ends when that
# answers; until then, nothing asks DEVICE again.
bounded_leave() {
	local try PID
	disown "$2" 2>/dev/null || :
	kill -KILL -- "-$2" 2>/dev/null || :
	for ((try = 0; try < 20; try++)); do
		bounded_of_group_ "$2" || return 0
		sleep 0.1
	done
	bounded_note_ "$1" "$PID"
}

# Sets PID to a process of the group. Returns 1 when there is none.
bounded_of_group_() { # GROUP
	local file text words
	for file in /proc/[0-9]*/stat; do
		text=''
		{ read -r -d '' text <"$file"; } 2>/dev/null || [[ -n $text ]] || continue
		text_split words "${text##*) }"
		[[ ${words[0]-} != [ZX] && ${words[2]-} == "$1" ]] || continue
		PID=${file#/proc/} PID=${PID%/stat}
		return 0
	done
	return 1
}
