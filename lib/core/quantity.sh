# Quantities: what they mean in the forms that config/conf.sh accepts, how they are shown to people,
# and progress, in words and as a bar.
# shellcheck shell=bash

readonly UNITS_MOST=999999999999999999 # bytes: more than there is, and no sum of two such overflows

# quantity_bytes SIZE WHOLE: prints the bytes of "512M", "2G" or "10%" (of WHOLE, bytes), at most
# UNITS_MOST. SIZE matches RE_SIZE.
quantity_bytes() {
	local bytes percent
	if [[ $1 == *% ]]; then
		percent=$((10#${1%\%}))
		# More than ten times all memory makes no difference, and the product fits.
		bytes=$(((percent > 1000 ? 1000 : percent) * $2 / 100))
	else
		# numfmt fails with "value too large to be printed".
		bytes=$(numfmt --from=iec "$1" 2>/dev/null) || bytes=$UNITS_MOST
	fi
	((${#bytes} < ${#UNITS_MOST})) || bytes=$UNITS_MOST
	printf '%s\n' "$bytes"
}

# quantity_seconds TIMESPAN…: prints each time span, as systemd.time(7) writes them, in whole
# seconds, rounded up, or as "infinity" (also if it is more than 30,000 years, whose microseconds
# may not fit bash's numbers), one a line. Returns systemd-analyze's exit code, which is not 0 when
# one is not a time span.
quantity_seconds() {
	local text span
	text=$(systemd-analyze timespan "$@") || return
	while read -r span; do
		if ((${#span} > 18)); then
			printf 'infinity\n'
		else
			printf '%s\n' $(((span + 999999) / 1000000))
		fi
	done < <(sed -n 's/^ *[uμµ]*s: *\([0-9]*\)$/\1/p' < <(printf '%s\n' "$text"))
}

# quantity_show_bytes BYTES: "1.5GiB"
quantity_show_bytes() { numfmt --to=iec-i --suffix=B "$1"; }

# quantity_show_seconds SECONDS: "1h 4min", "2min 5s", "9s"
quantity_show_seconds() {
	local s=$1
	if ((s >= 3600)); then
		printf '%dh %dmin\n' $((s / 3600)) $((s % 3600 / 60))
	elif ((s >= 60)); then
		printf '%dmin %ds\n' $((s / 60)) $((s % 60))
	else
		printf '%ds\n' "$s"
	fi
}

# quantity_show_progress DONE TOTAL RATE: prints "34.5% done, 120 MiB/s, 2min 5s left" from the
# sectors of 512 bytes that are done and to do, and KiB a second. A rate below one MiB a second is
# shown in KiB.
quantity_show_progress() {
	local done=$1 total=$2 rate=$3 left='' tenths speed
	((total > 0)) || {
		printf 'starting\n'
		return
	}
	tenths=$((done * 1000 / total))
	((rate == 0)) || left=", $(quantity_show_seconds $(((total - done) / 2 / rate))) left"
	speed="$((rate / 1024)) MiB/s"
	((rate == 0 || rate >= 1024)) || speed="$rate KiB/s"
	printf '%d.%d%% done, %s%s\n' $((tenths / 10)) $((tenths % 10)) "$speed" "$left"
}

# quantity_show_bar DONE TOTAL: "[=====>      ]", 30 cells
quantity_show_bar() {
	local cells=30 full=0 bar
	(($2 == 0)) || full=$(($1 * cells / $2))
	printf -v bar '%*s' "$full" ''
	printf '[%s%*s]\n' "${bar// /=}" $((cells - full)) ''
}
