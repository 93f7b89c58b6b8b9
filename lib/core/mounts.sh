# The kernel's table of mounts (proc_pid_mountinfo(5)).
# shellcheck shell=bash

need core/paths

# mounts_read: sets MOUNTS to its lines, as the first process sees them; ours may be others, in a
# unit's sandbox. Where the first process can't be seen (hidepid= of proc(5)), it is our own table,
# into which the mounts of the machine propagate. The table is read at once: line by line, bash has
# the kernel make it again for each line, and one of them is lost when another mount goes meanwhile.
# Returns 1 when neither can be read: then nothing is known.
declare -ga MOUNTS=()
mounts_read() {
	MOUNTS=()
	{
		mapfile -t MOUNTS <"$PROC/1/mountinfo" || mapfile -t MOUNTS <"$PROC/self/mountinfo"
	} 2>/dev/null
}
