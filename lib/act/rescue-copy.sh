# The copy of an array into a rescue image (act/rescue.sh): written, made durable and read back,
# through the same open file. What can't be read of the array is zeros in it.
# shellcheck shell=bash

need core/clock core/paths world/disk world/md-state world/readable world/systemd

readonly RESCUE_COPY_UNREADABLE=3 RESCUE_COPY_TRIES=3
RESCUE_COPY_PIECE=256       # MiB that are made durable at once
readonly RESCUE_COPY_SLOW=8 # MiB/s that a device is read with, at least
RESCUE_COPY_SAYS=''         # the file descriptor for rescue_copy_say

# rescue_copy_say LINE: tells whoever has started this process how it goes on; an empty LINE is
# progress.
rescue_copy_say() { [[ -z $RESCUE_COPY_SAYS ]] || printf '%s\n' "$1" >&"$RESCUE_COPY_SAYS"; }

# rescue_copy_take MD IMAGE BYTES: copies all of the array MD that can be read into the new file
# IMAGE. Sets the caller's sum to the SHA-256 of the image, and lost to what could not be read,
# "FROM:BYTES". Returns 1 when the image can't be written, or nothing can be read.
rescue_copy_take() {
	local try code=0 RANGES=()
	lost=()
	rescue_copy_open "$2" || return 1
	rescue_copy_listed_ "$1" "$3"
	if ((${#RANGES[@]} == 0)); then
		sum=$(rescue_copy "$DEV/$1" "$2" "$3") || code=$?
		((code == RESCUE_COPY_UNREADABLE)) || return "$code"
	fi
	# A block may fail after it could be read.
	for ((try = 0; try < RESCUE_COPY_TRIES; try++)); do
		rescue_copy_close
		rm -f -- "$2"
		rescue_copy_open "$2" && rescue_copy_find_ "$@" || return 1
		code=0
		sum=$(rescue_copy "$DEV/$1" "$2" "$3" "${RANGES[@]}" "$3 $3") || code=$?
		((code == RESCUE_COPY_UNREADABLE)) || break
	done
	rescue_copy_lost_
	return "$code"
}

# Sets the caller's lost to its RANGES, in the form of the record.
rescue_copy_lost_() {
	local range
	for range in "${RANGES[@]}"; do
		lost+=("${range% *}:$((${range#* } - ${range% *}))")
	done
}

# Sets the caller's RANGES to the blocks that md has recorded as bad on every member in sync, "FROM
# END" in bytes. Where a list is too long for sysfs, its end is not known; reading finds it.
rescue_copy_listed_() { # MD BYTES
	local LEGS line legs=() none block from end
	md_state_members "$1"
	for line in "${LEGS[@]}"; do
		[[ $line != *' in_sync '* ]] || legs+=("${line%% *}")
	done
	md_state_bad_on_all "$1" "${legs[@]}" || RANGES=()
	none=("${RANGES[@]}") RANGES=() block=$(disk_block "$1")
	for line in "${none[@]}"; do
		((${line% *} >= 0 && ${line#* } <= $2 / 512)) || continue
		from=$((${line% *} * 512 / block * block))
		end=$(((${line#* } * 512 + block - 1) / block * block))
		RANGES+=("$from $end")
	done
}

# Sets the caller's RANGES to what can't be read; those in it may be readable after all. Returns 1
# when nothing can be read. Nothing of this is on the file system of the image: as long as the array
# can be read, it makes progress.
rescue_copy_find_() { # MD IMAGE BYTES
	local range lines=() left=$3 file=$LOCKS/rescue.$1.lost NOW
	paths_run || return 1
	(
		{
			readable_find "$DEV/$1" "$3" "$(disk_block "$1")" "${RANGES[@]}" >"$file"
		} 2>/dev/null
	) &
	clock
	rescue_copy_await_ $! \
		"until $((NOW + READABLE_PATIENCE + $3 / 1048576 / RESCUE_COPY_SLOW))" \
		printf 'looking for what can be read of it\n' || return 1
	mapfile -t lines <"$file"
	rm -f -- "$file"
	RANGES=()
	for range in "${lines[@]}"; do
		[[ $range =~ ^[0-9]+\ [0-9]+$ ]] || return 1
		RANGES+=("$range") left=$((left - ${range#* } + ${range% *}))
	done
	((left > 0))
}

# rescue_copy_open IMAGE: creates IMAGE, for root alone, and sets RESCUE_TO and RESCUE_FROM to file
# descriptors for writing and for reading it. The image is written and read back through these, so
# that both use the same file, whatever happens to its name.
rescue_copy_open() {
	local mask code=0
	RESCUE_TO='' RESCUE_FROM=''
	mask=$(umask)
	umask 077
	set -o noclobber
	{ exec {RESCUE_TO}>"$1"; } 2>/dev/null && exec {RESCUE_FROM}<"$1" || code=1
	set +o noclobber
	umask "$mask"
	((code == 0)) && [[ /proc/self/fd/$RESCUE_TO -ef /proc/self/fd/$RESCUE_FROM ]]
}
rescue_copy_close() {
	[[ -z $RESCUE_TO ]] || exec {RESCUE_TO}>&-
	[[ -z $RESCUE_FROM ]] || exec {RESCUE_FROM}<&-
	RESCUE_TO='' RESCUE_FROM=''
}

# rescue_copy FROM TO BYTES [RANGE…]: copies FROM, with zeros instead of these ranges ("FROM END",
# in bytes), into RESCUE_TO, which is TO, and tells systemd how far it is; prints the SHA-256 of
# what was copied. Returns RESCUE_COPY_UNREADABLE when FROM can't be read, and TO could be written.
rescue_copy() {
	local code=0
	(
		umask 077
		set -o pipefail
		states=(0 0 0)
		rescue_copy_read_ "$1" "${@:3}" | tee >(sha256sum >"$2.sum") |
			rescue_copy_store_ "$3" ||
			states=("${PIPESTATUS[@]}")
		((states[1] + states[2] == 0)) || exit 1
		((states[0] == 0)) || exit "$RESCUE_COPY_UNREADABLE"
	) &
	rescue_copy_await_ $! "$RESCUE_TO" rescue_copy_progress_ "$2" "$3" || code=$?
	((code == 0)) || {
		rm -f -- "$2.sum"
		return "$code"
	}
	rescue_copy_sum_ "$2.sum"
}
rescue_copy_read_() { # FROM BYTES [RANGE…]
	if (($# == 2)); then
		dd if="$1" bs=1M iflag=direct status=none
	else
		readable_print "$@"
	fi
}

# Writes BYTES of stdin into RESCUE_TO. Each piece is made durable before the next: else all would
# be in the page cache within moments, and a long wait at the end would look as if the file system
# did not answer any more.
rescue_copy_store_() { # BYTES
	local left=$((($1 + 1048575) / 1048576))
	for (( ; left > 0; left -= RESCUE_COPY_PIECE)); do
		dd bs=1M count="$RESCUE_COPY_PIECE" iflag=fullblock conv=sparse,fsync status=none \
			>&"$RESCUE_TO" || return
	done
}

rescue_copy_progress_() { # FILE BYTES
	local AT
	rescue_copy_at_ "$RESCUE_TO"
	printf 'saving it to %s: %d%%\n' "$1" $((AT * 100 / $2))
}

# rescue_copy_holds FILE BYTES SHA256: does FILE have these BYTES and this SHA256? Reads it back
# through RESCUE_FROM, which for a large file takes as long as the copy; and from its disk, because
# dd first has the kernel drop what it has of it in memory (POSIX_FADV_DONTNEED). A file system that
# can't do that is read as it is.
rescue_copy_holds() {
	[[ $(stat -L -c %s -- "/proc/self/fd/$RESCUE_FROM") == "$2" ]] || return 1
	(
		dd iflag=nocache count=0 status=none <&"$RESCUE_FROM" 2>/dev/null || :
		sum=$(sha256sum <&"$RESCUE_FROM")
		[[ $sum == "$3  -" ]]
	) &
	rescue_copy_await_ $! "$RESCUE_FROM" printf 'reading %s back\n' "$1"
}

# rescue_copy_await_ PID WHERE TELL…: waits for the process PID, and meanwhile tells systemd that
# the stop makes progress, with the words that the command TELL prints. Whenever WHERE
# (rescue_copy_at_) has changed, it says that there is progress. Returns as PID does.
rescue_copy_await_() {
	local pid=$1 where=$2 before='' AT
	shift 2
	while kill -0 "$pid" 2>/dev/null; do
		rescue_copy_at_ "$where"
		[[ $AT == "$before" ]] || rescue_copy_say ''
		before=$AT
		systemd_go_on
		systemd_status "the RAM leg is the only good copy; $("$@")"
		sleep 1
	done
	wait "$pid"
}

# rescue_copy_at_ FD|"until SECONDS": sets AT to how many bytes have been read or written through
# this file descriptor, which the kernel knows without asking the file system; or to the time, as
# long as it is not later than SECONDS (clock).
rescue_copy_at_() {
	local word NOW
	AT=0
	if [[ $1 == until* ]]; then
		clock
		AT=$((NOW < ${1#* } ? NOW : ${1#* }))
	else
		! { read -r word AT <"/proc/self/fdinfo/$1"; } 2>/dev/null || [[ $word == pos: ]] ||
			AT=0
	fi
}

# Nobody has waited for the process that writes the sum, so this waits for it, for at most 10 s.
rescue_copy_sum_() { # FILE
	local i sum=''
	for ((i = 0; i < 100; i++)); do
		read -r sum _ <"$1" && break
		sleep 0.1
	done
	rm -f -- "$1"
	[[ -n $sum ]] && printf '%s\n' "$sum"
}
