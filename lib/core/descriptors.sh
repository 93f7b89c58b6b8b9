# The open files of this process.
# shellcheck shell=bash

# descriptors_close: closes all descriptors of the process except 0, 1 and 2.
descriptors_close() {
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		((fd <= 2)) || exec {fd}>&-
	done
}
