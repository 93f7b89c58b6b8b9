# Who has a device open that neither the tree of devices nor the first process's mounts show:
# programs, mounts in other mount namespaces, exports. Each look is at text that the kernel makes in
# memory, and none waits for a disk, a file system or a network; but for the one at loop devices,
# which has a bound (loop_device_behind).
# shellcheck shell=bash

need core/mounts core/paths core/text world/disk world/loop-device

readonly OPENERS_BOUND=10 # seconds that a look at all processes may take
# As many mounts of the device are looked at in one process, and as many of file systems that do not
# give its number: a user can have 100,000 in a namespace of his own.
readonly OPENERS_MOUNTS=64 OPENERS_SOURCES=1024

# openers_of NODE: prints who has it, or one of its partitions, open, one a line. What the caller
# may not look into is not among them: without CAP_SYS_PTRACE these are the descriptors of processes
# that may do more than it may (ptrace(2), PTRACE_MODE_READ_FSCREDS). A look that did not get to its
# end counts as somebody: nothing printed is "nobody" to the callers.
openers_of() {
	local nodes=() these numbers cut=''
	disk_parts "$1"
	disk_numbers "${nodes[@]}"
	if [[ $numbers == *:* ]]; then
		openers_mounts_
		openers_programs_
	fi
	openers_kernel_
	[[ -z $cut ]] || printf '%s\n' "$TEXT_SOMEBODY (the look at all processes did \
not get to its end)"
}

openers_process_() {
	# PID: sets PROCESS to its name and number. Not its arguments: reading these can wait for
	# it.
	local name=''
	{ IFS= read -r name <"$PROC/$1/comm"; } 2>/dev/null || :
	PROCESS="${name:-a process} (PID $1)"
}

# openers_mounts_: of the caller's devices. A mount has a number of its own in each namespace, so
# that each is reported once. Sets the caller's cut when not all were seen.
openers_mounts_() {
	local line id number target rest pid known=' ' PROCESS MOUNTS
	local -A sources=()
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
		disk_is_mount "$number" "$rest" || continue
		known+="$id "
		openers_process_ "$pid"
		text_unmangle target "$target"
		printf '%s in the mount namespace of %s\n' "$target" "$PROCESS"
	done < <(openers_mounts_each_)
}

# Prints "FILE:LINE" of every process, and a line without ":" when it did not get to its end. The
# number is looked for in its place alone: who mounts something may call its source as he likes.
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
	# Below that: nothing found, or a process has ended meanwhile.
	((code < 124)) || printf '\ncut\n'
}

# openers_programs_: those who hold a descriptor of the caller's devices. Sets the caller's cut when
# not all were seen.
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
	done < <(openers_programs_each_)
}

# Prints "NUMBER FILE" of every descriptor of a device, and "cut" when it did not get to its end.
# Only what a descriptor calls a device is asked for its number: a question about a file may wait
# for the server that it is on. A user can have more of them than a command takes as arguments.
openers_programs_each_() {
	local codes=(0 0)
	timeout -k 1 "$OPENERS_BOUND" find "$PROC"/[0-9]*/fd -maxdepth 1 -type l \
		-lname '*/dev/*' ! -lname '*/dev/null' ! -lname '*/dev/pts/*' -print0 2>/dev/null |
		timeout -k 1 "$OPENERS_BOUND" xargs -0 -r stat -L -c '%t:%T %n' -- 2>/dev/null ||
		codes=("${PIPESTATUS[@]}")
	# 1 of find, and 123 of xargs: a process has ended meanwhile.
	((codes[0] < 124)) && [[ ${codes[1]} == @(0|123) ]] || printf '\ncut\n'
}

# openers_kernel_: the kernel itself, of the caller's nodes: loop devices, and what it exports.
# These hold a device without a claim, and show in no table of holders. Only root can export
# anything, so the path of an export is believed.
openers_kernel_() {
	local file path what NODE LOOP_NODES
	loop_device_behind "${nodes[@]/#/$DEV/}"
	((${#LOOP_NODES[@]} == 0)) || printf 'the loop device %s\n' "${LOOP_NODES[@]}"
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

# openers_services TARGET [OTHER…]: prints the services of the system that have something open on
# the mount at TARGET, and not on the mounts OTHER below it, one a line, some perhaps twice. By the
# names that the kernel gives descriptors, working folders and programs: nothing is asked of a file
# system.
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

# openers_pattern_ VARIABLE PATH: one that find takes as it is.
openers_pattern_() {
	local i pattern=''
	for ((i = 0; i < ${#2}; i++)); do
		[[ ${2:i:1} != [][*?\\] ]] || pattern+=\\
		pattern+=${2:i:1}
	done
	printf -v "$1" '%s' "$pattern"
}

# The service in whose group the process is; those of people have their own manager.
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
