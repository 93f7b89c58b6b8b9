# Ranges of numbers, such as lists of bad blocks. Each is "FROM END", without END itself, and they
# stand in the order of their beginnings, in which the kernel keeps its lists. There may be
# hundreds, so both lists are gone through once.
# shellcheck shell=bash

# ranges_intersect RANGE…: sets RANGES to what it has in common with these.
ranges_intersect() {
	local range from end i=0 out=()
	for range; do
		from=${range% *} end=${range#* }
		# The last one that begins before this ends may reach into the next.
		while ((i < ${#RANGES[@]})) && ((${RANGES[i]% *} < end)); do
			((${RANGES[i]#* } <= from)) ||
				out+=("$((${RANGES[i]% *} > from ? ${RANGES[i]% *} : from)) \
$((${RANGES[i]#* } < end ? ${RANGES[i]#* } : end))")
			((${RANGES[i]#* } <= end)) || break
			i=$((i + 1))
		done
	done
	RANGES=("${out[@]}")
}

# ranges_subtract_from RANGE…: sets RANGES to what these have beyond it.
ranges_subtract_from() {
	local range from end i=0 out=()
	for range; do
		from=${range% *} end=${range#* }
		while ((i < ${#RANGES[@]})) && ((${RANGES[i]% *} < end)); do
			((${RANGES[i]% *} <= from)) || out+=("$from ${RANGES[i]% *}")
			((${RANGES[i]#* } <= from)) || from=${RANGES[i]#* }
			((from < end)) || break
			i=$((i + 1))
		done
		((from >= end)) || out+=("$from $end")
	done
	RANGES=("${out[@]}")
}
