# Users of a device that neither the device tree nor the first process's mounts show: programs,
# mounts in other mount namespaces, and exports. Each look reads text that the kernel makes in
# memory, so none waits for a disk, a file system or a network. The look at loop devices is the
# exception, and has a bound (loop_device_behind); a descriptor may be of a file whose server never
# answers, so that look has one, too (openers_bounded_).
# shellcheck shell=bash

need core/bounded core/clock core/mounts core/paths core/text world/disk world/disk-find
need world/loop-device

readonly OPENERS_BOUND=10 # seconds that a look at all processes may take
# The most mounts of the device that are read for one process, and the most mounts of file systems
# that do not show its number: a user can have 100,000 mounts in a namespace of their own.
readonly OPENERS_MOUNTS=64 OPENERS_SOURCES=1024
# The most mounts that are named, and the most characters of each: a user chooses the path.
readonly OPENERS_NAMED=100 OPENERS_PATH=200

# openers_of NODE: prints who has NODE or one of its partitions open, one a line. It misses what the
# caller may not inspect: without CAP_SYS_PTRACE, the descriptors of processes with more privileges
# than the caller (ptrace(2), PTRACE_MODE_READ_FSCREDS). A look that was cut short prints a line as
# well, because callers take an empty output to mean "nobody".
openers_of() {
	local nodes=() these numbers cut=''
	disk_parts "$1"
	disk_numbers "${nodes[@]}"
	if [[ $numbers == *:* ]]; then
		openers_mounts_
		openers_programs_
	fi
	openers_kernel_
	[[ -z $cut ]] || printf '%s\n' "$TEXT_SOMEBODY (not all processes could be examined)"
}

openers_process_() {
	# PID: sets PROCESS to the name and number of the process, without its arguments: reading
	# those can block on the process.
	local name=''
	{ IFS= read -r name <"$PROC/$1/comm"; } 2>/dev/null || :
	PROCESS="${name:-a process} (PID $1)"
}

# openers_mounts_: prints the mounts of the caller's devices in other mount namespaces, one a line.
# A mount has another ID in each namespace, so each is reported once. Sets the caller's cut when the
# look has missed some.
openers_mounts_() {
	local line id number target rest pid known=' ' named=0 NOW end PROCESS MOUNTS
	local -A sources=()
	clock
	end=$((NOW + OPENERS_BOUND))
	mounts_read || cut=yes
	for line in "${MOUNTS[@]}"; do known+="${line%% *} "; done
	while IFS=: read -r pid line; do
		[[ -n $line ]] || {
			cut=yes
			continue
		}
		text_into "$line" id _ number _ target
		rest=${line#* * * * * }
		pid=${pid%/mountinfo} pid=${pid##*/}
		[[ $known != *" $id "* ]] || continue
		[[ $number != 0:* ]] || {
			sources[$pid]=$((${sources[$pid]-0} + 1))
			((${sources[$pid]} < OPENERS_SOURCES)) || cut=yes
		}
		clock
		((NOW < end && named < OPENERS_NAMED)) || {
			cut=yes
			break
		}
		disk_is_mount "$number" "$rest" || continue
		known+="$id " named=$((named + 1))
		openers_process_ "$pid"
		text_unmangle target "$target"
		((${#target} <= OPENERS_PATH)) || target=${target:0:OPENERS_PATH}...
		printf '%s in the mount namespace of %s\n' "$target" "$PROCESS"
	done < <(openers_bounded_ openers_mounts_each_)
}

# Prints "FILE:LINE" for each match in the mountinfo files of all processes, and a line without ":"
# when the search was cut short. The device number is matched only in its own field, because whoever
# mounts something can choose the text of the source.
openers_mounts_each_() {
	local wanted=${numbers# } code=0
	wanted=${wanted% }
	timeout -k 1 "$OPENERS_BOUND" grep -sHE -m "$OPENERS_MOUNTS" \
		-e "^[0-9]+ [0-9]+ (${wanted// /|}) " "$PROC"/[0-9]*/mountinfo 2>/dev/null ||
		code=$?
	((code >= 124)) || {
		code=0
		timeout -k 1 "$OPENERS_BOUND" grep -sHE -m "$OPENERS_SOURCES" \
			-e '^[0-9]+ [0-9]+ 0:.* - (btrfs|bcachefs) ' "$PROC"/[0-9]*/mountinfo \
			2>/dev/null || code=$?
	}
	# Codes below that mean that nothing was found, or that a process has ended meanwhile.
	((code < 124)) || printf '\ncut\n'
}

# openers_programs_: prints the processes with a descriptor of one of the caller's devices, one a
# line. Sets the caller's cut when the look has missed some.
openers_programs_() {
	local path number pid told=' ' wanted=' ' PROCESS
	for number in $numbers; do wanted+="$(printf '%x:%x' "${number%:*}" "${number#*:}") "; done
	while read -r number path; do
		[[ $number != cut ]] || cut=yes
		[[ $wanted == *" $number "* ]] || continue
		pid=${path%/fd/*} pid=${pid##*/}
		[[ $told != *" $pid "* ]] || continue
		told+="$pid "
		openers_process_ "$pid"
		printf '%s\n' "$PROCESS"
	done < <(openers_bounded_ openers_programs_each_)
}

# openers_bounded_ FUNCTION: prints what it prints, and "cut" when it does not end: what it runs may
# hang in the kernel, so that no signal ends it, and keep its end of the pipe.
openers_bounded_() {
	local BOUNDED=$((2 * OPENERS_BOUND + 2))
	bounded "$1" "$1" || printf '\ncut\n'
}

# Prints "NUMBER FILE" for each descriptor of a device, and "cut" when the search was cut short.
# Only descriptors whose link names something in a /dev are passed to stat, because stat on a file
# may wait for the server that the file is on. A user can have more descriptors than fit on a
# command line, hence xargs.
openers_programs_each_() {
	local codes=(0 0)
	timeout -k 1 "$OPENERS_BOUND" find "$PROC"/[0-9]*/fd -maxdepth 1 -type l \
		-lname '*/dev/*' ! -lname '*/dev/null' ! -lname '*/dev/pts/*' -print0 2>/dev/null |
		timeout -k 1 "$OPENERS_BOUND" xargs -0 -r stat -L -c '%t:%T %n' -- 2>/dev/null ||
		codes=("${PIPESTATUS[@]}")
	# find ends with 1, and xargs with 123, when a process has ended meanwhile.
	((codes[0] < 124)) && [[ ${codes[1]} == @(0|123) ]] || printf '\ncut\n'
}

# openers_kernel_: prints what the kernel itself uses the caller's nodes for: loop devices and
# exports. These open a device without a claim, so no list of holders shows them. Only root can
# export anything, so the path of an export is trusted.
openers_kernel_() {
	local file path what NODE LOOP_DEVICE_NODES
	loop_device_behind "${nodes[@]/#/$DEV/}"
	((${#LOOP_DEVICE_NODES[@]} == 0)) || printf 'the loop device %s\n' "${LOOP_DEVICE_NODES[@]}"
	for file in "$SYS"/kernel/config/nvmet/subsystems/*/namespaces/*/device_path \
		"$SYS"/kernel/config/target/core/*/*/udev_path; do
		path=''
		{ IFS= read -r path <"$file"; } 2>/dev/null || :
		if [[ $path != /dev/* ]] || ! disk_find "$path" || [[ $these != *" $NODE "* ]]; then
			continue
		fi
		what=${file#"$SYS"/}
		case $what in
		*/nvmet/*) what=${what#*/subsystems/} what="the NVMe export ${what%%/*}" ;;
		*) what=${what#*/core/} what="the SCSI export ${what%/*}" ;;
		esac
		printf '%s\n' "$what"
	done
}

# openers_services TARGET [OTHER…]: prints the system services that have something open on the mount
# at TARGET, but not on the mounts OTHER below it, one a line, some perhaps twice. It goes by the
# names that the kernel gives for descriptors, working directories and programs, and asks no file
# system anything.
openers_services() {
	local path other text tests paths=()
	openers_pattern_ text "$1"
	tests=('(' -lname "$text" -o -lname "$text/*" ')')
	for other in "${@:2}"; do
		openers_pattern_ text "$other"
		tests+=(! -lname "$text" ! -lname "$text/*")
	done
	mapfile -d '' paths < \
		<(timeout --kill-after=1 "$OPENERS_BOUND" \
			find "$PROC"/[0-9]*/{cwd,root,exe,fd} -maxdepth 1 -type l "${tests[@]}" \
			-print0 2>/dev/null)
	for path in "${paths[@]}"; do
		path=${path#"$PROC"/}
		openers_service_ "${path%%/*}"
	done
}

# openers_pattern_ VARIABLE PATH: sets VARIABLE to a pattern that matches PATH literally in find.
openers_pattern_() {
	local i pattern=''
	for ((i = 0; i < ${#2}; i++)); do
		[[ ${2:i:1} != [][*?\\] ]] || pattern+=\\
		pattern+=${2:i:1}
	done
	printf -v "$1" '%s' "$pattern"
}

# Prints the system service that the process belongs to, by its cgroup. Users' services have
# managers of their own and are left out.
openers_service_() { # PID
	local line part parts=()
	while IFS= read -r line; do
		[[ $line == @(0:|*:name=systemd):/* && $line != */user.slice/* ]] || continue
		text_split parts "${line//\// }"
		for part in "${parts[@]}"; do
			[[ $part != *.service ]] || {
				printf '%s\n' "$part"
				return
			}
		done
	done 2>/dev/null <"$PROC/$1/cgroup" || :
}
