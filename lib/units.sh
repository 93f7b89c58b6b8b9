# Quantities: what they mean as conf.sh lets them be written, and how they are shown to people.
# shellcheck shell=bash

readonly UNITS_MOST=999999999999999999 # bytes: more than there is, and no sum of two such overflows

# size_bytes SIZE WHOLE: "512M", "2G", "10%" (of WHOLE, bytes) → bytes, at most UNITS_MOST. SIZE has passed RE_SIZE.
size_bytes() {
	local bytes percent
	if [[ $1 == *% ]]; then
		percent=$((10#${1%\%}))
		# Ten times all memory is as much as any more, and its product fits.
		bytes=$(((percent > 1000 ? 1000 : percent) * $2 / 100))
	else
		bytes=$(numfmt --from=iec "$1" 2>/dev/null) || bytes=$UNITS_MOST # "value too large to be printed"
	fi
	((${#bytes} < ${#UNITS_MOST})) || bytes=$UNITS_MOST
	printf '%s\n' "$bytes"
}

# time_seconds TIMESPAN…: as systemd.time(7) writes them → whole seconds, rounded up, or "infinity" (also for more than 30,000 years,
# whose microseconds may not fit bash's numbers), one a line.
# Returns systemd-analyze's exit code, which is not 0 when one is not a time span.
time_seconds() {
	local text span
	! time_simple_ "$@" || return 0
	text=$(systemd-analyze timespan "$@") || return
	while read -r span; do
		if ((${#span} > 18)); then
			printf 'infinity\n'
		else
			printf '%s\n' $(((span + 999999) / 1000000))
		fi
	done < <(sed -n 's/^ *[uμµ]*s: *\([0-9]*\)$/\1/p' <<<"$text")
}

# time_simple_ TIMESPAN…: the same for the simplest forms ("90", "30s", "10min", "infinity"), which most are, without a large program at every boot.
# Returns 1, and prints nothing, when one has another form.
time_simple_() {
	local span all=''
	for span; do
		[[ $span =~ ^(infinity|([0-9]{1,6})(s|min)?)$ ]] || return 1
		[[ $span == infinity ]] || span=$((10#${BASH_REMATCH[2]} * (${#BASH_REMATCH[3]} == 3 ? 60 : 1)))
		all+=$span$'\n'
	done
	printf '%s' "$all"
}

# human_bytes BYTES: "1.5GiB"
human_bytes() { numfmt --to=iec-i --suffix=B "$1"; }

# human_seconds SECONDS: "1h 4min", "2min 5s", "9s"
human_seconds() {
	local s=$1
	if ((s >= 3600)); then
		printf '%dh %dmin\n' $((s / 3600)) $((s % 3600 / 60))
	elif ((s >= 60)); then
		printf '%dmin %ds\n' $((s / 60)) $((s % 60))
	else
		printf '%ds\n' "$s"
	fi
}

# progress_text DONE TOTAL RATE: sectors of 512 bytes done and to do, KiB a second → "34.5% done, 120 MiB/s, 2min 5s left"
progress_text() {
	local done=$1 total=$2 rate=$3 left='' tenths
	((total > 0)) || {
		printf 'starting\n'
		return
	}
	tenths=$((done * 1000 / total))
	((rate == 0)) || left=", $(human_seconds $(((total - done) / 2 / rate))) left"
	printf '%d.%d%% done, %d MiB/s%s\n' $((tenths / 10)) $((tenths % 10)) $((rate / 1024)) "$left"
}

# progress_bar DONE TOTAL: "[=====>      ]", 30 cells
progress_bar() {
	local cells=30 full=0 bar
	(($2 == 0)) || full=$(($1 * cells / $2))
	printf -v bar '%*s' "$full" ''
	printf '[%s%*s]\n' "${bar// /=}" $((cells - full)) ''
}
