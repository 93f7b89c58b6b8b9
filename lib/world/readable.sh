# Which parts of a device can be read, and a copy of these. A range is "FROM END", in bytes of the
# device, without END itself; lists are sorted.
# shellcheck shell=bash

need core/clock

readonly READABLE_PIECE=1048576 # bytes that are read at once
readonly READABLE_GRAIN=4096    # bytes: pages of memory, and most disks, fail as a whole
readonly READABLE_PATIENCE=60   # seconds for finding out which parts of the pieces can be read

# readable_find DEVICE BYTES BLOCK [RANGE…]: prints the ranges of a device of BYTES bytes, in blocks
# of BLOCK bytes, that can't be read. It reads each RANGE as one, so that of a known fault not more
# is left out. In the rest, a fault costs READABLE_GRAIN bytes, or READABLE_PIECE if there are so
# many that READABLE_PATIENCE is over.
readable_find() {
	local device=$1 bytes=$2 grain=$READABLE_GRAIN range from at=0 fine NOW none=()
	(($3 <= grain)) || grain=$3
	clock
	fine=$((NOW + READABLE_PATIENCE))
	for range in "${@:4}" "$bytes $bytes"; do
		from=${range% *}
		readable_scan_ "$at" "$from"
		((at < from)) || from=$at
		at=${range#* }
		readable_try_ "$from" "$at" || readable_note_ "$from" "$at"
	done
	((${#none[@]} == 0)) || printf '%s\n' "${none[@]}"
}

# readable_print DEVICE BYTES RANGE…: prints the whole device, with zeros instead of these ranges.
# Returns 1 when it can't be read elsewhere either.
readable_print() {
	local device=$1 range at=0
	for range in "${@:3}" "$2 $2"; do
		((at == ${range% *})) || readable_dd_ "$at" "${range% *}" || return 1
		head -c $((${range#* } - ${range% *})) /dev/zero || return 1
		at=${range#* }
	done
}

# These use the device, grain, fine and none (the ranges found) of readable_find.
readable_dd_() { # FROM END
	dd bs="$READABLE_PIECE" iflag=direct iflag=fullblock,skip_bytes,count_bytes skip="$1" \
		count=$(($2 - $1)) status=none if="$device" 2>/dev/null
}
readable_try_() { (($1 >= $2)) || readable_dd_ "$1" "$2" >/dev/null; } # FROM END

readable_scan_() { # FROM END
	local at=$1 end=$2 got
	while ((at < end)); do
		got=$(readable_dd_ "$at" "$end" | wc -c) || :
		at=$((at + got))
		((at < end)) || break
		got=$((end - at < READABLE_PIECE ? end - at : READABLE_PIECE))
		readable_narrow_ "$at" $((at + got))
		at=$((at + got))
	done
}

# FROM END: that can't be read as a whole. Looks which half of it can.
readable_narrow_() {
	local middle NOW
	clock
	if (($2 - $1 <= grain || NOW >= fine)); then
		readable_note_ "$1" "$2"
		return
	fi
	middle=$(($1 + (($2 - $1) / 2 + grain - 1) / grain * grain))
	readable_try_ "$1" "$middle" || readable_narrow_ "$1" "$middle"
	readable_try_ "$middle" "$2" || readable_narrow_ "$middle" "$2"
}

readable_note_() { # FROM END
	if ((${#none[@]} > 0)) && [[ ${none[-1]#* } == "$1" ]]; then
		none[-1]="${none[-1]% *} $2"
	else
		none+=("$1 $2")
	fi
}
