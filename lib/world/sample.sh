# Samples of 4096 bytes from the files of a folder, from one file, or from a device: how much memory
# they would take in zram, and what that says about the whole. This writes only to a folder of its
# own, and gives up on whatever does not answer (core/bounded.sh).
# shellcheck shell=bash

need core/bounded core/paths core/text

# The least number of pieces to choose, the most being twice that; how many of them are kept at a
# time; and the bounds in seconds for listing a folder, and for reading.
readonly SAMPLE_PIECE=4096
SAMPLE_LEAST=512 SAMPLE_BATCH=256 SAMPLE_LIST_BOUND=600 SAMPLE_READ_BOUND=60

# Turns lines "SIZE INODE LINKS DEVICE NAME" into one line "FILES PIECES", and a line "PIECE NAME"
# for each piece that is chosen. The pieces of all files are one sequence, divided into strata of
# equal size. One piece of each stratum is chosen at random, but each run chooses the same one. When
# there are too many strata, they are merged in pairs, and each pair keeps one of its two pieces. So
# the list is never longer than twice the least number.
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

# sample_open: makes the folder SAMPLE, which only root (or whoever runs this) can read: in /run if
# possible, which is in memory, so that nothing of anybody's files is left behind. Returns 1 when it
# can't. sample_close removes the folder.
sample_open() {
	local above
	SAMPLE=''
	for above in "$ROOT/run" /tmp; do
		[[ -d $above && -w $above ]] || continue
		SAMPLE=$(mktemp -d -- "$above/ramraid-estimate.XXXXXX" 2>/dev/null) && return
	done
	return 1
}
sample_close() { [[ -z ${SAMPLE-} ]] || rm -rf -- "$SAMPLE"; }

# sample_folder PATH, sample_one PATH BYTES: choose the pieces. They set SAMPLE_FILES, SAMPLE_PIECES
# (how many there are in all), SAMPLE_COUNT (how many are chosen) and SAMPLE_UNSEEN (yes: part of
# the folder could not be read). sample_folder returns BOUNDED_SILENT when the folder does not
# answer.
sample_folder() {
	local BOUNDED=$SAMPLE_LIST_BOUND code=0
	truncate --size=0 -- "$SAMPLE/picks"
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

# Here find(1) follows no link, and stays on one file system. The names begin with "./".
sample_list_() { # PATH
	local device
	sample_enter_ "$1" && device=$(stat -c %d .) || return
	sample_quietly_
	find . -xdev -type f -printf '%s %i %n %D %p\0' | sample_pick_ "$device"
}

# sample_enter_ FOLDER: changes to FOLDER, and to no other one: returns 1 when a part of the path
# has become a link meanwhile. "cd -P" of bash resolves the path before it changes to it (bash's
# builtins/cd.def, change_to_directory()), so a second "cd -P" follows the kernel's own link to the
# folder that the first one has reached. It starts no process, because it runs for every folder.
sample_enter_() {
	{ cd -P -- "$1" && cd -P -- "/proc/$BASHPID/cwd"; } 2>/dev/null &&
		[[ ${PWD%/} == "${1%/}" ]]
}

# A name may contain newlines, which are another byte while awk has it. A file whose name has that
# byte is not found again.
sample_pick_() { # DEVICE
	{
		tr '\n\0' '\1\n' |
			awk -v least="$SAMPLE_LEAST" -v size="$SAMPLE_PIECE" -v device="$1" \
				"$SAMPLE_PICK" |
			tr '\1\n' '\n\0' >"$SAMPLE/picks"
	} 2>/dev/null
}

sample_chosen_() {
	local picks=()
	mapfile -d '' -t picks <"$SAMPLE/picks"
	text_into "${picks[0]-0 0}" SAMPLE_FILES SAMPLE_PIECES
	SAMPLE_COUNT=$((${#picks[@]} > 0 ? ${#picks[@]} - 1 : 0))
}

# Lets everybody else use the disk first.
sample_quietly_() { ionice -c 3 -p "$BASHPID" 2>/dev/null || :; }

# sample_read WHAT FIRST STEP UNTIL: reads the pieces FIRST, FIRST+STEP …, of the device, file or
# folder WHAT, until SECONDS reaches UNTIL. Sets PIECES to the files that hold them, padded with
# zeros. Returns BOUNDED_SILENT when not all were read by then.
sample_read() {
	local BOUNDED=$(($4 - SECONDS)) code=0
	local INTO=(split -b "$SAMPLE_PIECE" -a 3 -d - "$SAMPLE/piece")
	PIECES=()
	((BOUNDED > 0)) || return "$BOUNDED_SILENT"
	rm -f -- "$SAMPLE"/piece*
	bounded "$1" sample_read_ "$1" "$2" "$3" || code=$?
	mapfile -t PIECES < <(find "$SAMPLE" -name 'piece*' -size "${SAMPLE_PIECE}c" | sort)
	return "$code"
}

# The owner of the files may change the tree meanwhile. So each file is read from within the folder
# in which it was found, by its bare name.
sample_read_() { # WHAT FIRST STEP
	local picks i name at='' todo=()
	sample_quietly_
	mapfile -d '' -t picks <"$SAMPLE/picks"
	for ((i = $2 + 1; i < ${#picks[@]}; i += $3)); do
		name=${picks[i]#* }
		[[ $name != ./* ]] || name=${1%/}/${name#./}
		[[ ${name%/*}/ == "$at" ]] || {
			sample_read_here_ "$1" "$at" "${todo[@]}"
			at=${name%/*}/ todo=()
		}
		todo+=("${picks[i]%% *}" "${name##*/}")
	done
	sample_read_here_ "$1" "$at" "${todo[@]}"
}

# Reads no other kind of file, which may have taken a file's place meanwhile, and a device only if
# it is the one to estimate. xargs(1) starts dd(1), because it starts processes more cheaply than
# bash. When the time is up, nobody reads what dd writes, which ends both.
sample_read_here_() { # WHAT FOLDER/ {PIECE NAME}…
	local what=$1 folder=$2 words=()
	shift 2
	(($# > 0)) && sample_enter_ "$folder" || return 0
	while (($# > 0)); do
		[[ -L ./$2 ]] || [[ ! -f ./$2 && ! ($folder$2 == "$what" && -b ./$2) ]] ||
			words+=("skip=$1" "if=./$2")
		shift 2
	done
	set -- bs="$SAMPLE_PIECE" count=1 conv=sync iflag=nofollow,nonblock,fullblock status=none
	case ${#words[@]} in
	0) ;;
	2) dd "${words[@]}" "$@" ;;
	*) printf '%s\0' "${words[@]}" | xargs -0 -n 2 dd "$@" ;;
	esac || :
}

# How much memory pages of 4096 bytes would take in zram, which compresses each by itself, and
# stores it among others of nearly the same size (linux mm/zsmalloc.c).
#
# In bytes: the smallest size, the step from one size to the next, what the kernel adds to each
# object; and what the programs' file formats add, which zram does not store: nothing for zstd; for
# lz4 the magic number, the descriptor, the length of the block and the end mark.
readonly ZRAM_PAGES_LEAST=32 ZRAM_PAGES_STEP=16 ZRAM_PAGES_HANDLE=8 ZRAM_PAGES_SIZE=4096
readonly -A ZRAM_PAGES_FORMAT=([zstd]=0 [lz4]=15) ZRAM_PAGES_SUFFIX=([zstd]=.zst [lz4]=.lz4)

# sample_zram_classes RELEASE: sets ZRAM_PAGES_COST to the bytes of memory that an object of each
# size takes, and ZRAM_PAGES_HUGE to the length from which on a page is stored uncompressed. Objects
# of one size share some pages, as many as waste the least: up to 4, and up to 8 since Linux 6.3
# (CONFIG_ZSMALLOC_CHAIN_SIZE as distributions set it).
sample_zram_classes() {
	local most=8 size pages chain waste least
	[[ ! $1 =~ ^([0-9]+)\.([0-9]+) ]] ||
		((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2] >= 6003)) || most=4
	ZRAM_PAGES_COST=() ZRAM_PAGES_HUGE=0
	for ((size = ZRAM_PAGES_LEAST; size <= ZRAM_PAGES_SIZE; size += ZRAM_PAGES_STEP)); do
		least=$ZRAM_PAGES_SIZE chain=1
		for ((pages = 1; pages <= most; pages++)); do
			waste=$((pages * ZRAM_PAGES_SIZE % size))
			((waste >= least)) || least=$waste chain=$pages
		done
		((chain == 1)) || ZRAM_PAGES_HUGE=$((size - ZRAM_PAGES_HANDLE + 1))
		ZRAM_PAGES_COST+=($((chain * ZRAM_PAGES_SIZE / (chain * ZRAM_PAGES_SIZE / size))))
	done
}

# sample_zram_cost LENGTH: sets COST to the bytes of memory that a page takes when it is compressed
# to LENGTH bytes.
sample_zram_cost() {
	local over=$(($1 + ZRAM_PAGES_HANDLE - ZRAM_PAGES_LEAST))
	COST=$ZRAM_PAGES_SIZE
	(($1 < ZRAM_PAGES_HUGE)) || return 0
	((over >= 0)) || over=0
	COST=${ZRAM_PAGES_COST[(over + ZRAM_PAGES_STEP - 1) / ZRAM_PAGES_STEP]}
}

# sample_zram_lengths PROGRAM FILE…: sets LENGTHS to the bytes to which PROGRAM (zstd, lz4)
# compresses each file. It compresses each by itself, as the kernel does, but all in one process.
# Returns 1 when it fails.
sample_zram_lengths() {
	local program=$1 suffix=${ZRAM_PAGES_SUFFIX[$1]}
	shift
	LENGTHS=()
	(($# > 0)) || return 0
	case $program in
	zstd) nice zstd -q -3 --single-thread --no-check -- "$@" ;;
	lz4) nice lz4 -q -1 -B4 --no-frame-crc -m -- "$@" ;;
	esac </dev/null >/dev/null 2>&1 || return 1
	mapfile -t LENGTHS < <(stat -c %s -- "${@/%/$suffix}" 2>/dev/null)
	rm -f -- "${@/%/$suffix}"
	((${#LENGTHS[@]} == $#))
}

# sample_spread WHOLE COUNT SUM SQUARES [complete]: estimates the sum of a quantity over WHOLE
# things from COUNT of them: SUM is the sum of theirs, SQUARES that of their squares. Sets
# SPREAD_TOTAL to the estimate, and SPREAD_MARGIN to how far the truth may be from it in 95 of 100
# cases: twice the standard error, and no less than what the sample would miss in 5 of 100 (three
# things of COUNT that are SPREAD_MOST each); 0 when all things were looked at. WHOLE may be up to
# 10^12.
readonly SPREAD_MOST=4096
sample_spread() {
	local variance root floor
	SPREAD_TOTAL=$(($1 * $3 / $2)) SPREAD_MARGIN=0
	[[ -z ${5-} ]] || return 0
	variance=$((($4 - $3 * $3 / $2) / $2))
	# The root is in thousandths, or a small one would lose its fraction.
	root=$(sample_root_ $((variance * 1000000 / $2)))
	SPREAD_MARGIN=$((2 * $1 * root / 1000)) floor=$((3 * SPREAD_MOST * $1 / $2))
	((SPREAD_MARGIN >= floor)) || SPREAD_MARGIN=$floor
}

# sample_root_ NUMBER: prints its square root, rounded down (Newton).
sample_root_() {
	local x=$1 y=$((($1 + 1) / 2))
	while ((y < x)); do x=$y y=$(((x + $1 / x) / 2)); done
	printf '%s\n' "$x"
}
