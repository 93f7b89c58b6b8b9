# Samples of 4096 bytes of what is in the files of a folder, in one file, or on a device: what they
# would take in zram, and what they say of the whole. Nothing is written but into a folder of its
# own, and who does not answer is left alone (core/bounded.sh).
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

# find(1) follows no link, and stays on the file system. The names begin with "./".
sample_list_() { # PATH
	local device
	sample_enter_ "$1" && device=$(stat -c %d .) || return
	sample_quietly_
	find . -xdev -type f -printf '%s %i %n %D %p\0' | sample_pick_ "$device"
}

# sample_enter_ FOLDER: goes there, and to no other one: returns 1 when a part of the path has
# become a link meanwhile. "cd -P" of bash finds out where a path leads before it goes there (bash's
# builtins/cd.def, change_to_directory()), so it is asked once more, by the kernel's own link to
# where it is. Without a process: each folder is entered.
sample_enter_() {
	{ cd -P -- "$1" && cd -P -- "/proc/$BASHPID/cwd"; } 2>/dev/null &&
		[[ ${PWD%/} == "${1%/}" ]]
}

# A name may hold line ends. While awk has it, another byte is in their place; a file whose name has
# that byte is not found again.
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
	bounded "$1" sample_read_ "$1" "$2" "$3" || code=$?
	mapfile -t PIECES < <(find "$SAMPLE" -name 'piece*' -size "${SAMPLE_PIECE}c" | sort)
	return "$code"
}

# Whose files these are may change the tree meanwhile: each is read in the folder in which it was
# found, by a name without a part above it.
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

# Never another kind of file, which may have come there meanwhile: a device only if it is what is
# estimated. By xargs(1), for which a process costs less than for bash. When the time is up nobody
# takes what dd(1) writes, which ends both.
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

# What pages of 4096 bytes would take in zram: each is compressed by itself, and put among others of
# nearly its size (linux mm/zsmalloc.c).
#
# Bytes: the smallest size, the step from one to the next, what the kernel adds to each object; and
# what the file formats of the programs have besides, which zram does not keep: of zstd nothing, of
# lz4 the magic number, the descriptor, the length of the block and the end mark.
readonly ZRAM_PAGES_LEAST=32 ZRAM_PAGES_STEP=16 ZRAM_PAGES_HANDLE=8 ZRAM_PAGES_SIZE=4096
readonly -A ZRAM_PAGES_FORMAT=([zstd]=0 [lz4]=15) ZRAM_PAGES_SUFFIX=([zstd]=.zst [lz4]=.lz4)

# sample_zram_classes RELEASE: fills ZRAM_PAGES_COST with the bytes of memory that an object of each
# size takes, and ZRAM_PAGES_HUGE with the length from which on a page is kept as it is. Objects of
# a size share some pages, which are as many as leave the least over: up to 4, and up to 8 since
# Linux 6.3 (CONFIG_ZSMALLOC_CHAIN_SIZE as distributions have it).
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

# sample_zram_cost LENGTH: sets COST to the bytes of memory that a page takes which is compressed to
# LENGTH.
sample_zram_cost() {
	local over=$(($1 + ZRAM_PAGES_HANDLE - ZRAM_PAGES_LEAST))
	COST=$ZRAM_PAGES_SIZE
	(($1 < ZRAM_PAGES_HUGE)) || return 0
	((over >= 0)) || over=0
	COST=${ZRAM_PAGES_COST[(over + ZRAM_PAGES_STEP - 1) / ZRAM_PAGES_STEP]}
}

# sample_zram_lengths PROGRAM FILE…: sets LENGTHS to what PROGRAM (zstd, lz4) makes of each file,
# by itself, as the kernel does with it: all by one process. Returns 1 when it fails.
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

# sample_spread WHOLE COUNT SUM SQUARES [complete]: the sum of a quantity over WHOLE things, of
# which COUNT were looked at: the sum of theirs is SUM, that of their squares SQUARES. Sets
# SPREAD_TOTAL to it, and SPREAD_MARGIN to how far the truth may be from that, in 95 of 100 cases:
# twice the standard error, and no less than what would have been missed in 5 of 100 (three things
# of COUNT that are SPREAD_MOST each). 0 when all were looked at. With WHOLE up to 10^12.
readonly SPREAD_MOST=4096
sample_spread() {
	local variance root floor
	SPREAD_TOTAL=$(($1 * $3 / $2)) SPREAD_MARGIN=0
	[[ -z ${5-} ]] || return 0
	variance=$((($4 - $3 * $3 / $2) / $2))
	# In thousandths, for what is small beside the root.
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
