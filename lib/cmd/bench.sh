# ramraid bench: what a running mirror and its legs read in a second.
# shellcheck shell=bash

need config/conf-need core/cli core/json core/log core/mounts core/paths core/text core/trust
need observe/look report/bench
# Other files need these later, when an upgrade of the package may already have taken them away.
need config/conf-faults notes/legs-seen observe/outside

declare -gA F # the facts: decide/facts.list

readonly BENCH_USAGE='usage: ramraid bench [--seconds=N] [--writes=FOLDER] [--svg=FILE] [--json] NAME

Measure what the running array and each of its legs read in a second, past the page cache: random
pieces of 4 KiB, 1, 8 and 32 at a time, and from one end to the other. bench needs fio and jq. It
writes nothing without --writes.
  --seconds=N      how long each measurement takes; 5 by default
  --writes=FOLDER  measure writes as well, to a file in FOLDER on the array, and delete the file
  --svg=FILE       draw a picture as well, with gnuplot
  --json           print the results for programs'

cmd_bench() {
	local seconds rows text BENCH_DISK_READS
	cli_parse "$BENCH_USAGE" 'seconds= writes= svg= json' "$@"
	cli_one_name "$BENCH_USAGE"
	seconds=${OPT[seconds]-5}
	[[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] ||
		die "--seconds=$seconds: write a number of seconds, from 1 to 9999" "$EX_USAGE"
	cmd_bench_programs
	conf_need "$NAME"
	cli_root
	look_at_running "$NAME"
	cmd_bench_rows
	rows=${#BENCH_ROLE[@]}
	[[ -z ${OPT[writes]-} ]] || cmd_bench_folder "${OPT[writes]}"
	[[ -z ${OPT[svg]-} ]] || cmd_bench_picture "${OPT[svg]}"
	cmd_bench_reads "$rows" "$seconds"
	[[ -z ${OPT[writes]-} ]] || cmd_bench_writes "${OPT[writes]}" "$seconds"
	[[ -z ${OPT[svg]-} ]] || bench_svg "$NAME" "$rows" "${OPT[svg]}" ||
		die "${OPT[svg]} could not be drawn"
	text=$(cmd_bench_print "$rows" "$seconds")
	cli_print "$text"$'\n'
}

cmd_bench_programs() {
	local program missing=''
	for program in fio jq ${OPT[svg]:+gnuplot}; do
		command -v "$program" >/dev/null || missing+=" $program"
	done
	[[ -z $missing ]] ||
		die "bench needs programs that are not installed; type: apt \
install${missing/gnuplot/gnuplot-nox}"
}

# The array comes first, then its legs. A leg that is not in sync is nothing to compare with.
cmd_bench_rows() {
	local i
	BENCH_ROLE=(array) BENCH_DEVICE=("/dev/${F[array.md]}")
	[[ ${F[ram.state]} != in_sync ]] ||
		BENCH_ROLE+=('RAM leg') BENCH_DEVICE+=("/dev/${F[ram.node]}")
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] ||
			BENCH_ROLE+=("disk leg $((i + 1))") BENCH_DEVICE+=("${F[leg.$i.dev]}")
	done
}

# cmd_bench_folder FOLDER: ends the program unless FOLDER is on this array: a file elsewhere would
# measure something else, on somebody's disk.
cmd_bench_folder() {
	local source why path
	[[ -d $1 && -w $1 ]] || die "--writes=$1: is not a folder that can be written \
to" "$EX_USAGE"
	# Others who may write to the folder could replace the file that root writes to.
	path=$1
	[[ $path == /* ]] || path=$PWD/$1
	trust_into why "$path"
	[[ -z $why ]] || die "--writes=$1: $why; name a folder that is root's alone" "$EX_REFUSED"
	source=$(mounts_of SOURCE "$1") || :
	grep -qx "${F[array.md]}" <(lsblk -nso KNAME "$source" 2>/dev/null) ||
		die "--writes=$1: is on ${source:-another file system}, \
not on /dev/${F[array.md]}; name a folder on the array" "$EX_REFUSED"
}

# cmd_bench_picture FILE: ends the program unless FILE can be written to, and by nobody else. It is
# written last, after minutes of measuring, in which somebody could put a link in its place.
cmd_bench_picture() {
	local path=$1 why
	[[ $path == /* ]] || path=$PWD/$path
	trust_into why "${path%/*}/"
	[[ -z $why ]] ||
		die "--svg=$1: $why; name a file in a folder that is root's alone, such as \
/root/$NAME.svg" "$EX_REFUSED"
	{ : >>"$1"; } 2>/dev/null ||
		die "--svg=$1: can't be written to; name a file in an existing folder" \
			"$EX_USAGE"
}

cmd_bench_reads() { # ROWS SECONDS
	local row test before done=0
	BENCH_DISK_READS=0
	for ((row = 0; row < $1; row++)); do
		cmd_bench_disk_reads_
		before=$BENCH_COUNT
		for test in "${BENCH_TESTS[@]}"; do
			cmd_bench_progress_ $((done++)) $(($1 * ${#BENCH_TESTS[@]})) "$2" \
				"reads, ${BENCH_ROLE[row]}"
			bench_measure read "$row" "$test" "${BENCH_DEVICE[row]}" "$2" ||
				die "fio could not read ${BENCH_DEVICE[row]}"
		done
		((row > 0)) || {
			cmd_bench_disk_reads_
			BENCH_DISK_READS=$((BENCH_COUNT - before))
		}
	done
	cmd_bench_progress_
}

# Sets BENCH_COUNT to the reads that the disk legs have completed (linux
# Documentation/block/stat.rst, "read I/Os").
cmd_bench_disk_reads_() {
	local i reads
	BENCH_COUNT=0
	for ((i = 0; i < ${F[members]}; i++)); do
		reads=0
		{
			read -r reads _ <"$SYS/class/block/${F[leg.$i.node]:-none}/stat"
		} 2>/dev/null || :
		BENCH_COUNT=$((BENCH_COUNT + reads))
	done
}

cmd_bench_writes() { # FOLDER SECONDS
	local test done=0
	bench_file=$(mktemp "$1/.ramraid-bench.XXXXXX") || die "no file could be made in $1"
	trap 'rm -f -- "$bench_file"' EXIT
	trap 'exit 130' INT TERM HUP
	for test in "${BENCH_TESTS[@]}"; do
		cmd_bench_progress_ $((done++)) "${#BENCH_TESTS[@]}" "$2" "writes, $1"
		bench_measure write 0 "$test" "$bench_file" "$2" --size=64M ||
			die "fio could not write to $bench_file: are 64 MiB free in $1?"
	done
	cmd_bench_progress_
}

cmd_bench_progress_() { # [DONE OF SECONDS TEXT]; nothing: the line is cleared
	[[ -t 2 ]] || return 0
	if (($# == 0)); then
		printf '\r%79s\r' '' >&2
	else
		printf '\r%-79s' "$4: $(($1 + 1)) of $2, $((($2 - $1) * $3))s left" >&2
	fi
}

cmd_bench_print() { # ROWS SECONDS
	local row
	if [[ -n ${OPT[json]+set} ]]; then
		json_document
		json_text name "$NAME"
		json_number seconds "$2"
		json_text fio "$(fio --version)"
		json_number disk_reads_while_the_array_was_read "$BENCH_DISK_READS"
		bench_json read "$1"
		[[ -z ${OPT[writes]-} ]] || bench_json write 1
		json_close
		printf '%s\n' "$JSON_TEXT"
		return
	fi
	for ((row = 0; row < $1; row++)); do
		printf '  %-12s %s\n' "${BENCH_ROLE[row]}" "${BENCH_DEVICE[row]}"
	done
	bench_text read "$1"
	printf '\n%s\n' "$SHOWN"
	printf 'While the array was read, its disks were read %d times.\n' "$BENCH_DISK_READS"
	[[ -z ${OPT[writes]-} ]] || {
		bench_text write 1
		printf '\n%s' "$SHOWN"
	}
}
