# How far something is, in words and as a bar.
# shellcheck shell=bash

need core/quantity

# progress_text DONE TOTAL RATE: sectors of 512 bytes done and to do, KiB a second → "34.5% done,
# 120 MiB/s, 2min 5s left"
progress_text() {
	local done=$1 total=$2 rate=$3 left='' tenths
	((total > 0)) || {
		printf 'starting\n'
		return
	}
	tenths=$((done * 1000 / total))
	((rate == 0)) || left=", $(quantity_show_seconds $(((total - done) / 2 / rate))) left"
	printf '%d.%d%% done, %d MiB/s%s\n' $((tenths / 10)) $((tenths % 10)) $((rate / 1024)) \
		"$left"
}

# progress_bar DONE TOTAL: "[=====>      ]", 30 cells
progress_bar() {
	local cells=30 full=0 bar
	(($2 == 0)) || full=$(($1 * cells / $2))
	printf -v bar '%*s' "$full" ''
	printf '[%s%*s]\n' "${bar// /=}" $((cells - full)) ''
}
