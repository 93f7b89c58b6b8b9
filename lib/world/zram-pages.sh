# What pages of 4096 bytes would take in zram: each is compressed by itself, and put among others of
# nearly its size (linux mm/zsmalloc.c).
# shellcheck shell=bash

# Bytes: the smallest size, the step from one to the next, what the kernel adds to each object; and
# what the file formats of the programs have besides, which zram does not keep: of zstd nothing, of
# lz4 the magic number, the descriptor, the length of the block and the end mark.
readonly ZRAM_PAGES_LEAST=32 ZRAM_PAGES_STEP=16 ZRAM_PAGES_HANDLE=8 ZRAM_PAGES_SIZE=4096
readonly -A ZRAM_PAGES_FORMAT=([zstd]=0 [lz4]=15) ZRAM_PAGES_SUFFIX=([zstd]=.zst [lz4]=.lz4)

# zram_pages_classes RELEASE: fills ZRAM_PAGES_COST with the bytes of memory that an object of each
# size takes, and ZRAM_PAGES_HUGE with the length from which on a page is kept as it is. Objects of
# a size share some pages, which are as many as leave the least over: up to 4, and up to 8 since
# Linux 6.3 (CONFIG_ZSMALLOC_CHAIN_SIZE as distributions have it).
zram_pages_classes() {
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

# zram_pages_cost LENGTH: sets COST to the bytes of memory that a page takes which is compressed to
# LENGTH.
zram_pages_cost() {
	local over=$(($1 + ZRAM_PAGES_HANDLE - ZRAM_PAGES_LEAST))
	COST=$ZRAM_PAGES_SIZE
	(($1 < ZRAM_PAGES_HUGE)) || return 0
	((over >= 0)) || over=0
	COST=${ZRAM_PAGES_COST[(over + ZRAM_PAGES_STEP - 1) / ZRAM_PAGES_STEP]}
}

# zram_pages_lengths PROGRAM FILE…: sets LENGTHS to what PROGRAM (zstd, lz4) makes of each file,
# by itself, as the kernel does with it: all by one process. Returns 1 when it fails.
zram_pages_lengths() {
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
