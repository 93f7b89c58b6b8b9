# What a mirror and its legs read and write in a second, as fio measures it, and how it is shown.
# shellcheck shell=bash

need core/act core/json

# A measurement is one word: random or sequential, and how many requests are under way at a time.
readonly BENCH_TESTS=(random-1 random-8 random-32 sequential-4)
readonly BENCH_BAR=40

declare -ga BENCH_ROLE=() BENCH_DEVICE=()
# row by row: "array", "RAM leg", "disk leg 1" …; what is opened
declare -gA BENCH=()
# "DIRECTION ROW TEST" → operations a second, "… bytes" → bytes a second, "… nanoseconds" → the time
# of one operation

# bench_measure DIRECTION ROW TEST FILE SECONDS [FIO-OPTION…]: fills BENCH. Returns 1 when fio
# fails; fio has then said why.
bench_measure() {
	local direction=$1 key="$1 $2 $3" size=4k how=rand$1 out iops bytes latency
	[[ $3 != sequential-* ]] || size=1M how=$1
	[[ $direction != read ]] || set -- "${@:1:5}" --readonly "${@:6}"
	# fio would read a colon as the beginning of another file's name.
	out=$(fio --name=bench --filename="${4//:/\\:}" --rw="$how" --bs="$size" \
		--iodepth="${3#*-}" --runtime="$5" --time_based --direct=1 --ioengine=libaio \
		--output-format=json "${@:6}") || return 1
	read -r iops bytes latency < <(jq -r --arg d "$direction" \
		'.jobs[0][$d] | "\(.iops | round) \(.bw_bytes) \(.lat_ns.mean | round)"' \
		< <(printf '%s\n' "$out")) || return 1
	BENCH[$key]=$iops BENCH["$key bytes"]=$bytes BENCH["$key nanoseconds"]=$latency
}

# bench_text DIRECTION ROWS: sets SHOWN to the table, and to bars of the random measurement with the
# most requests under way.
bench_text() {
	local row test line i
	printf -v line '  %-12s  %-30s  %12s\n  %-12s %10s %10s %10s %12s\n' "${1^}s" \
		'      random, 4 KiB, a second' 'sequential' '' '1 at once' '8' '32' 'MiB/s'
	SHOWN=$line
	for ((row = 0; row < $2; row++)); do
		printf -v line '  %-12s' "${BENCH_ROLE[row]}"
		for ((i = 0; i < 3; i++)); do
			test=${BENCH_TESTS[i]}
			printf -v line '%s %10d' "$line" "${BENCH["$1 $row $test"]}"
		done
		printf -v line '%s %12d\n' "$line" \
			$((BENCH["$1 $row sequential-4 bytes"] / 1048576))
		SHOWN+=$line
	done
	bench_bars_ "$1" "$2"
}

bench_bars_() { # DIRECTION ROWS
	local row most=1 n bar line
	for ((row = 0; row < $2; row++)); do
		n=${BENCH["$1 $row random-32"]}
		((n <= most)) || most=$n
	done
	SHOWN+=$'\n'
	for ((row = 0; row < $2; row++)); do
		n=${BENCH["$1 $row random-32"]}
		printf -v bar '%*s' $((n * BENCH_BAR / most)) ''
		printf -v line '  %-12s %-*s %d\n' "${BENCH_ROLE[row]}" "$BENCH_BAR" "${bar// /#}" \
			"$n"
		SHOWN+=$line
	done
}

# bench_json DIRECTION ROWS: adds a list with an object for each row to the JSON that is open.
bench_json() {
	local row test
	json_open "$1s" list
	for ((row = 0; row < $2; row++)); do
		json_open '' object
		json_text role "${BENCH_ROLE[row]}"
		json_text device "${BENCH_DEVICE[row]}"
		json_open measured list
		for test in "${BENCH_TESTS[@]}"; do
			json_open '' object
			json_text access "${test%-*}"
			json_number depth "${test#*-}"
			json_number operations_per_second "${BENCH["$1 $row $test"]}"
			json_number bytes_per_second "${BENCH["$1 $row $test bytes"]}"
			json_number mean_latency_nanoseconds "${BENCH["$1 $row $test nanoseconds"]}"
			json_close
		done
		json_close
		json_close
	done
	json_close
}

# bench_svg NAME ROWS FILE: draws the random reads into FILE. The scale is logarithmic: memory is
# hundreds of times as fast as a hard disk.
bench_svg() {
	local row
	act_put "$3" || return
	for ((row = 0; row < $2; row++)); do
		printf '"%s" %s %s %s\n' "${BENCH_ROLE[row]}" "${BENCH["read $row random-1"]}" \
			"${BENCH["read $row random-8"]}" "${BENCH["read $row random-32"]}"
	done | gnuplot -e "
		set terminal svg size 720,360 font 'sans-serif,13' background 'white';
		set style data histograms; set style fill solid border -1; set boxwidth 0.9; \
set logscale y; set yrange [1:*]; set grid ytics;
		set title '$1: random reads of 4 KiB a second'; set key top right;
		plot '-' using 2:xtic(1) title '1 at once', '' using 3 title '8', \
'' using 4 title '32'" >"$3"
}
