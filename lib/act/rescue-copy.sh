# The copy of an array into a rescue image (act/rescue.sh): written, made durable and read back,
# through the same open file.
# shellcheck shell=bash

need world/systemd

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
}

# rescue_copy FROM TO BYTES: copies FROM into RESCUE_TO, which is TO, and tells systemd how far it
# is; prints the SHA-256 of what was read.
rescue_copy() {
	(
		umask 077
		dd if="$1" bs=1M iflag=direct status=none | tee >(sha256sum >"$2.sum") |
			dd bs=1M iflag=fullblock conv=sparse,fsync status=none >&"$RESCUE_TO"
	) &
	rescue_copy_await_ $! rescue_copy_progress_ "$2" "$3" || {
		rm -f -- "$2.sum"
		return 1
	}
	rescue_copy_sum_ "$2.sum"
}

rescue_copy_progress_() { # FILE BYTES
	local copied
	copied=$(stat -c %s -- "$1" 2>/dev/null) || copied=0
	printf 'saving it to %s: %d%%\n' "$1" $((copied * 100 / $2))
}

# rescue_copy_holds FILE BYTES SHA256: does FILE have these BYTES and this SHA256? Reads it back
# through RESCUE_FROM, which for a large file takes as long as the copy.
rescue_copy_holds() {
	[[ $(stat -L -c %s -- "/proc/self/fd/$RESCUE_FROM") == "$2" ]] || return 1
	(
		sum=$(sha256sum <&"$RESCUE_FROM")
		[[ $sum == "$3  -" ]]
	) &
	rescue_copy_await_ $! printf 'reading %s back\n' "$1"
}

# rescue_copy_await_ PID TELL…: waits for the process PID, and meanwhile tells systemd that the stop
# makes progress, with the words that the command TELL prints. Returns as PID does.
rescue_copy_await_() {
	local pid=$1
	shift
	while kill -0 "$pid" 2>/dev/null; do
		systemd_go_on
		systemd_status "the RAM leg is the only good copy; $("$@")"
		sleep 1
	done
	wait "$pid"
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
