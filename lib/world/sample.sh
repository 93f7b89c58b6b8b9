# Samples of 4096 bytes of what is in the files of a folder, in one file, or on a device. Nothing is
# written but into a folder of its own, and who does not answer is left alone (core/bounded.sh).
# shellcheck shell=bash

need core/bounded core/paths core/text

# How many pieces at least, and twice as many at most; how many are kept at a time; and seconds: to
# list a folder, and to read.
readonly SAMPLE_PIECE=4096
SAMPLE_LEAST=512 SAMPLE_BATCH=256 SAMPLE_LIST_BOUND=600 SAMPLE_READ_BOUND=60

# From lines "SIZE INODE LINKS DEVICE NAME" makes one "FILES PIECES", and one "PIECE NAME" for
# each that is taken. The pieces of all files are one row of strata, each of as many pieces as
# the others; of each one piece is taken, by chance, but each time the same. When there are too
# many, two strata become one, with the piece of one of them. So the list is never longer than twice
# the least.
# shellcheck disable=SC2016 # for awk
readonly SAMPLE_PICK='
	function chance(most) {
		seed = seed * 16807 % 2147483647
		return int(seed / 2147483647 * most)
	}
	function halve(i, other) {
		for (i = 0; i < least; i++) {
			other = 2 * i + chance(2)
			piece[i] = piece[other]; name[i] = name[other]
		}
		count = least; every *= 2
	}
	BEGIN { seed = 20150601; every = 1; at = 0; count = 0; total = 0; files = 0 }
	$4 != device || ($3 > 1 && seen[$2]++) { next }
	{
		files++
		first = total; total += int(($1 + size - 1) / size)
		while (at < total) {
			piece[count] = at - first
			name[count++] = substr($0, length($1 $2 $3 $4) + 5)
			if (count == 2 * least) halve()
			at = count * every + chance(every)
		}
	}
	END {
		printf "%.0f %.0f\n", files, total
		for (i = 0; i < count; i++) printf "%.0f %s\n", piece[i], name[i]
	}'

# sample_open: makes the folder SAMPLE, for root (or who runs this) alone; in memory, where nothing
# of anybody's files is left behind. sample_close takes it away.
sample_open() {
	local above
	SAMPLE=''
	for above in "$ROOT/run" "${TMPDIR:-/tmp}"; do
		[[ -d $above && -w $above ]] || continue
		SAMPLE=$(mktemp -d -- "$above/ramraid-estimate.XXXXXX" 2>/dev/null) && return
	done
	return 1
}
sample_close() { [[ -z ${SAMPLE-} ]] || rm -rf -- "$SAMPLE"; }

# sample_folder PATH, sample_one PATH BYTES: chooses the pieces. Sets SAMPLE_FILES, SAMPLE_PIECES
# (of all of it), SAMPLE_COUNT (of those chosen) and SAMPLE_UNSEEN (yes: not all of the folder could
# be looked at). Returns BOUNDED_SILENT when it does not answer.
sample_folder() {
	local BOUNDED=$SAMPLE_LIST_BOUND code=0
	bounded "$1" sample_list_ "$1" || code=$?
	((code != BOUNDED_SILENT)) || return "$code"
	sample_chosen_
	SAMPLE_UNSEEN=''
	((code == 0)) || SAMPLE_UNSEEN=yes
}
sample_one() {
	printf '%s 0 1 0 %s\0' "$2" "$1" | sample_pick_ 0
	SAMPLE_UNSEEN=''
	sample_chosen_
}

# find(1) follows no link, and stays on the file system.
sample_list_() { # PATH
	local device
	device=$(stat -c %d -- "$1") || return
	sample_quietly_
	find "$1/" -xdev -type f -printf '%s %i %n %D %p\0' | sample_pick_ "$device"
}

# A name may hold line ends. While awk has it, another byte is in their place; a file whose name has
# that byte is not found again.
sample_pick_() { # DEVICE
	{
		tr '\n\0' '\1\n' |
			awk -v least="$SAMPLE_LEAST" -v size="$SAMPLE_PIECE" -v device="$1" "$SAMPLE_PICK" |
			tr '\1\n' '\n\0' >"$SAMPLE/picks"
	} 2>/dev/null
}

sample_chosen_() {
	local picks=()
	mapfile -d '' -t picks <"$SAMPLE/picks"
	text_into "${picks[0]-0 0}" SAMPLE_FILES SAMPLE_PIECES
	SAMPLE_COUNT=$((${#picks[@]} > 0 ? ${#picks[@]} - 1 : 0))
}

# Whoever else wants the disk goes first.
sample_quietly_() { ionice -c 3 -p "$BASHPID" 2>/dev/null || :; }

# sample_read WHAT FIRST STEP UNTIL: reads the pieces FIRST, FIRST+STEP …, of the device or folder
# WHAT, until SECONDS is UNTIL; sets PIECES to the files that hold them, filled up with zeros.
# Returns BOUNDED_SILENT when not all have come by then.
sample_read() {
	local BOUNDED=$(($4 - SECONDS)) code=0
	local INTO=(split -b "$SAMPLE_PIECE" -a 3 -d - "$SAMPLE/piece")
	PIECES=()
	((BOUNDED > 0)) || return "$BOUNDED_SILENT"
	rm -f -- "$SAMPLE"/piece*
	bounded "$1" sample_read_ "$2" "$3" || code=$?
	mapfile -t PIECES < <(find "$SAMPLE" -name 'piece*' -size "${SAMPLE_PIECE}c" | sort)
	return "$code"
}

# Never another kind of file, which may have come there meanwhile. By xargs(1), for which a process
# costs less than for bash. When the time is up nobody takes what dd(1) writes, which ends both.
sample_read_() { # FIRST STEP
	local picks i name todo=()
	sample_quietly_
	mapfile -d '' -t picks <"$SAMPLE/picks"
	for ((i = $1 + 1; i < ${#picks[@]}; i += $2)); do
		name=${picks[i]#* }
		[[ -L $name || ! (-f $name || -b $name) ]] ||
			todo+=("skip=${picks[i]%% *}" "if=$name")
	done
	((${#todo[@]} > 0)) || return 0
	printf '%s\0' "${todo[@]}" | xargs -0 -n 2 dd bs="$SAMPLE_PIECE" count=1 conv=sync \
		iflag=nofollow,nonblock,fullblock status=none || :
}
