# The writer of the self-test, and what the legs should have after it. Until it is stopped, it
# writes pieces to random places of the array, each with an fsync, and discards some. What it writes
# to the array, it writes to the file "model" as well. What it has discarded, it writes again at the
# end, because nobody knows what discarded blocks hold. In each round it writes to every other MiB,
# which is what one bit of the bitmap stands for: md copies those again, and the others have only
# what the copy has brought.
# shellcheck shell=bash

need core/act core/clock core/paths core/text

# bytes of a block; blocks of data to choose from; most blocks at once; bytes that a bit stands for
readonly SELFTEST_WRITER_BLOCK=4096 SELFTEST_WRITER_POOL=512
readonly SELFTEST_WRITER_MOST=32 SELFTEST_WRITER_CHUNK=1048576

# selftest_writer_begin MD BYTES: fills the array, which has BYTES, with data, and every fourth MiB
# with zeros. Returns 1 when it can't be written.
selftest_writer_begin() {
	local i mib=$(($2 >> 20))
	dd if=/dev/urandom of="$SELFTEST_FOLDER/pool" bs="$SELFTEST_WRITER_BLOCK" \
		count="$SELFTEST_WRITER_POOL" status=none &&
		truncate --size="$2" -- "$SELFTEST_FOLDER/model" || return 1
	for ((i = 0; i < mib; i++)); do
		((i % 4 == 3)) || dd if=/dev/urandom of="$SELFTEST_FOLDER/model" bs=1M seek="$i" \
			count=1 conv=notrunc status=none || return 1
	done
	selftest_writer_copy "$1" 0 $(($2 / SELFTEST_WRITER_BLOCK))
}

# selftest_writer_copy MD BLOCK COUNT: writes what the array should have in COUNT blocks from BLOCK
# on.
selftest_writer_copy() {
	dd if="$SELFTEST_FOLDER/model" of="$DEV/$1" ibs=1M obs="$SELFTEST_WRITER_BLOCK" \
		skip=$(($2 * SELFTEST_WRITER_BLOCK)) seek=$(($2 * SELFTEST_WRITER_BLOCK)) \
		count=$(($3 * SELFTEST_WRITER_BLOCK)) iflag=fullblock,skip_bytes,count_bytes \
		oflag="${COPY_DIRECT-direct,}seek_bytes" conv=notrunc,nocreat,fsync status=none
}

# selftest_writer_start MD BYTES 0|1: writes to the even (0) or to the odd (1) MiB, in the
# background, until selftest_writer_stop, or until this program ends.
selftest_writer_start() {
	rm -f -- "$SELFTEST_FOLDER"/{stop,writes,failed,discarded}
	(
		trap - EXIT TERM INT HUP
		[[ -z ${ARRAY_LOCK-} ]] || exec {ARRAY_LOCK}>&-
		selftest_writer_work_ "$$" "$@"
	) </dev/null &
	SELFTEST_WRITER=$!
}

selftest_writer_work_() { # PARENT MD BYTES 0|1
	local at count writes=0 blocks=$((SELFTEST_WRITER_CHUNK / SELFTEST_WRITER_BLOCK)) NUMBER
	text_number_in "$SYS/block/$2/queue/discard_max_bytes" 0
	while kill -0 "$1" 2>/dev/null && [[ ! -e $SELFTEST_FOLDER/stop ]]; do
		count=$((1 + RANDOM % SELFTEST_WRITER_MOST))
		at=$((RANDOM % (($3 / SELFTEST_WRITER_CHUNK + 1 - $4) / 2) * 2 + $4))
		at=$((at * blocks + RANDOM % (blocks - count)))
		if ((NUMBER > 0 && RANDOM % 8 == 0)); then
			act_put_more "$SELFTEST_FOLDER/discarded" "$at $count" &&
				blkdiscard --offset $((at * SELFTEST_WRITER_BLOCK)) --length \
					$((count * SELFTEST_WRITER_BLOCK)) "$DEV/$2"
		else
			selftest_writer_piece_ "$2" "$at" "$count"
		fi || {
			act_put "$SELFTEST_FOLDER/failed" "$2 at block $at could not be written"
			return
		}
		act_put "$SELFTEST_FOLDER/writes" "$((writes += 1))"
	done
}

# MD BLOCK COUNT: writes some blocks of the pool to the array and to the model.
selftest_writer_piece_() {
	local file from=$((RANDOM % (SELFTEST_WRITER_POOL - $3))) flags=${COPY_DIRECT-direct,}
	for file in "$DEV/$1" "$SELFTEST_FOLDER/model"; do
		dd if="$SELFTEST_FOLDER/pool" of="$file" bs="$SELFTEST_WRITER_BLOCK" skip="$from" \
			seek=$(($2 * SELFTEST_WRITER_BLOCK)) count="$3" oflag="${flags}seek_bytes" \
			conv=notrunc,nocreat,fsync status=none || return
		flags=''
	done
}

# selftest_writer_await N SECONDS: waits until the writer has written N more times, or has failed.
# Returns 1 when neither has happened within SECONDS.
selftest_writer_await() {
	local NUMBER
	text_number_in "$SELFTEST_FOLDER/writes" 0
	clock_until "$2" 0.1 selftest_writer_has_ $((NUMBER + $1))
}
selftest_writer_has_() {
	local NUMBER
	text_number_in "$SELFTEST_FOLDER/writes" 0
	((NUMBER >= $1)) || [[ -e $SELFTEST_FOLDER/failed ]]
}

# selftest_writer_end: stops the writer, and returns when it has ended; 1 when it did not end by
# itself.
selftest_writer_end() {
	local writer=${SELFTEST_WRITER-}
	[[ -n $writer ]] || return 0
	SELFTEST_WRITER=''
	act_put "$SELFTEST_FOLDER/stop" || kill "$writer" 2>/dev/null || :
	wait "$writer" 2>/dev/null || return 1
}

# selftest_writer_stop MD: stops the writer, and writes what it has discarded again. Returns 1, with
# SELFTEST_WHY, when a write has failed, or when something else has ended the writer.
selftest_writer_stop() {
	local at count code=0
	[[ -n ${SELFTEST_WRITER-} ]] || return 0
	selftest_writer_end || code=$?
	if [[ -s $SELFTEST_FOLDER/failed ]]; then
		SELFTEST_WHY=$(<"$SELFTEST_FOLDER/failed")
		return 1
	elif ((code != 0)); then
		# What it wrote last may be in the array, and not in the model.
		SELFTEST_WHY='its writer was ended'
		return 1
	fi
	[[ -e $SELFTEST_FOLDER/discarded ]] || return 0
	while read -r at count; do
		selftest_writer_copy "$1" "$at" "$count" || {
			SELFTEST_WHY="$1 at block $at could not be written"
			return 1
		}
	done <"$SELFTEST_FOLDER/discarded"
}

# selftest_writer_compare NODE OFFSET BYTES: do the BYTES of NODE from byte OFFSET on match the
# model? Returns 1 when they do not, with the first block that differs in SELFTEST_BLOCK; 2 when
# that can't be told, because not all of them could be read.
selftest_writer_compare() {
	local said
	SELFTEST_BLOCK=''
	said=$(dd if="$DEV/$1" bs=1M skip="$2" count="$3" status=none \
		iflag="${COPY_DIRECT-direct,}fullblock,skip_bytes,count_bytes" |
		cmp -- "$SELFTEST_FOLDER/model" - 2>&1) && return
	[[ $said =~ \ differ:\ (byte|char)\ ([0-9]+) ]] || return 2
	SELFTEST_BLOCK=$(((BASH_REMATCH[2] - 1) / SELFTEST_WRITER_BLOCK))
	return 1
}
