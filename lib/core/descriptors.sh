# The open files of this process.
# shellcheck shell=bash

# descriptors_close [FD]: closes all descriptors of the process except 0, 1, 2 and FD.
descriptors_close() {
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		((fd <= 2 || fd == ${1-0})) || exec {fd}>&-
	done
}
