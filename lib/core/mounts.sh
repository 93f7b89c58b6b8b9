# The kernel's table of mounts (proc_pid_mountinfo(5)), and the mount that a path is on.
# shellcheck shell=bash

need core/paths

# mounts_read: sets MOUNTS to the lines of the table, as process 1 sees them; in a unit's sandbox,
# our own table may differ. If process 1 can't be seen (hidepid= of proc(5)), it reads our own, into
# which the machine's mounts propagate. It reads the table in one go: if bash reads it line by line,
# the kernel makes the table anew for each line, and a line gets lost when another mount goes away
# meanwhile. Returns 1 when neither table can be read: then nothing is known.
declare -ga MOUNTS=()
mounts_read() {
	MOUNTS=()
	{
		mapfile -t MOUNTS <"$PROC/1/mountinfo" || mapfile -t MOUNTS <"$PROC/self/mountinfo"
	} 2>/dev/null
}

# mounts_of COLUMN PATH: prints what findmnt says in COLUMN about the mount that PATH is on. Where
# one mount hides another, that is the last one (without --direction, findmnt(8) prints all of
# them). Returns 1 when findmnt can't tell, as for a path that does not exist.
mounts_of() {
	findmnt --noheadings --nofsroot --first-only --direction backward --output "$1" \
		--target "$2" 2>/dev/null
}
