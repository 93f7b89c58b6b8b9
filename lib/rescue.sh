# The rescue image: what only the RAM leg had, in a file, when the machine had to go down and no disk leg could take it. The record of it
# lies beside the witness; as long as it is there, no disk leg is started by itself.
# shellcheck shell=bash

declare -gA RESCUE=()

rescue_record() { printf '%s/%s.rescue\n' "$STATE" "$1"; } # NAME

# rescue_read NAME UUID: fills RESCUE (image, bytes, sha256, events) from the record; empty when there is none about this array. A damaged
# record is one nevertheless, since it stands for data: RESCUE[image] is then the record itself.
rescue_read() {
	local file=$STATE/$1.rescue line # as rescue_record prints it, without a process: every "status" comes by
	RESCUE=()
	[[ -e $file || -L $file ]] || return 0
	while IFS= read -r -n 4096 line; do
		[[ ! $line =~ ^(uuid|image|bytes|sha256|events)=([A-Za-z0-9._/-]+)$ ]] || RESCUE[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
	done 2>/dev/null <"$file" || :
	[[ -z ${RESCUE[uuid]-} || ${RESCUE[uuid]} == "$2" ]] || {
		RESCUE=()
		return 0
	}
	[[ ${RESCUE[image]-} == /* && ${RESCUE[bytes]-} =~ ^[1-9][0-9]{0,17}$ && ${RESCUE[sha256]-} =~ ^[0-9a-f]{64}$ ]] || RESCUE=([image]="$file" [damaged]=yes)
}

rescue_forget() { # NAME
	local file
	file=$(rescue_record "$1")
	[[ ! -e $file && ! -L $file ]] || { act rm -f -- "$file" && sync "$STATE"; }
}

# rescue_why_not FOLDER MD: prints why no image can be written there; nothing when it can be tried. Whether it fits is found out by trying:
# zeros take no room.
rescue_why_not() {
	local folder=$1 type
	if [[ $folder == none ]]; then
		printf 'RESCUE=none\n'
	elif ! mkdir -p -- "$folder" 2>/dev/null || [[ ! -w $folder ]]; then
		printf '%s is not there or cannot be written\n' "$folder"
	elif type=$(findmnt --noheadings --output FSTYPE --target "$folder") && [[ $type == @(tmpfs|ramfs) ]]; then
		printf '%s lies in memory (%s)\n' "$folder" "$type"
	elif lsblk --noheadings --inverse --list --output KNAME -- "$(findmnt --noheadings --nofsroot --output SOURCE --target "$folder")" 2>/dev/null | grep -qx "$2"; then
		printf '%s lies on the array itself\n' "$folder"
	fi
}

# rescue_write NAME UUID MD EVENTS FOLDER: copies the whole array MD into FOLDER/NAME/rescue-EVENTS, makes it durable, reads it back, and only
# then records it. Returns 1 when that fails; nothing is left of the image then. An earlier image stays.
rescue_write() {
	local name=$1 uuid=$2 md=$3 events=$4 image=$5/$1/rescue-$4 bytes sum
	bytes=$(md_bytes "$md")
	mkdir -p -- "$5" && { mkdir -m 700 -- "${image%/*}" 2>/dev/null || [[ -d ${image%/*} ]]; } && rm -f -- "$image" || return 1
	if sum=$(rescue_copy_ "$DEV/$md" "$image" "$bytes") && rescue_holds_ "$image" "$bytes" "$sum" && sync "$image" "${image%/*}" "$5" &&
		printf '%s\n' "uuid=$uuid" "image=$image" "bytes=$bytes" "sha256=$sum" "events=$events" | act_file "$(rescue_record "$name")"; then
		return 0
	fi
	rm -f -- "$image"
	return 1
}

# rescue_copy_ FROM TO BYTES: copies, telling how far it is; prints the SHA-256 of what was read.
rescue_copy_() {
	(
		umask 077
		dd if="$1" bs=1M iflag=direct status=none | tee >(sha256sum >"$2.sum") | dd of="$2" bs=1M iflag=fullblock conv=sparse,fsync status=none
	) &
	rescue_await_ $! rescue_copied_ "$2" "$3" || {
		rm -f -- "$2.sum"
		return 1
	}
	rescue_sum_ "$2.sum"
}

rescue_copied_() { # FILE BYTES
	local copied
	copied=$(stat -c %s -- "$1" 2>/dev/null) || copied=0
	printf 'saving it to %s: %d%%\n' "$1" $((copied * 100 / $2))
}

# rescue_holds_ FILE BYTES SHA256: read back, which of a large one takes as long as the copy.
rescue_holds_() {
	[[ $(stat -c %s -- "$1") == "$2" ]] || return 1
	(
		sum=$(sha256sum <"$1")
		[[ $sum == "$3  -" ]]
	) &
	rescue_await_ $! printf 'reading %s back\n' "$1"
}

# rescue_await_ PID TELL…: waits for the process, and tells systemd meanwhile that the stop gets on, with the words that TELL prints. Returns as PID does.
rescue_await_() {
	local pid=$1
	shift
	while kill -0 "$pid" 2>/dev/null; do
		systemd_go_on
		systemd_status "the RAM leg is the only good copy; $("$@")"
		sleep 1
	done
	wait "$pid"
}

# The sum is written by a process that nobody waits for.
rescue_sum_() { # FILE
	local i sum=''
	for ((i = 0; i < 100; i++)); do
		read -r sum _ <"$1" && break
		sleep 0.1
	done
	rm -f -- "$1"
	[[ -n $sum ]] && printf '%s\n' "$sum"
}

# rescue_put_back MD: writes the image of RESCUE over the whole array and compares. Returns 1 when the image is not as it was recorded, or
# the disks do not hold what was written.
rescue_put_back() {
	[[ $(stat -c %s -- "${RESCUE[image]}") == "${RESCUE[bytes]}" ]] || {
		log_error "${RESCUE[image]} has not the ${RESCUE[bytes]} bytes that were recorded"
		return 1
	}
	[[ $(sha256sum <"${RESCUE[image]}") == "${RESCUE[sha256]}  -" ]] || {
		log_error "${RESCUE[image]} is damaged: its SHA-256 is not the recorded ${RESCUE[sha256]}"
		return 1
	}
	(($(md_bytes "$1") == RESCUE[bytes])) || {
		log_error "$1 has $(md_bytes "$1") bytes, the image ${RESCUE[bytes]}"
		return 1
	}
	act dd if="${RESCUE[image]}" of="$DEV/$1" bs=1M oflag=direct conv=notrunc,fsync status=progress || return 1
	# Read from the disks, not from the page cache.
	dd if="$DEV/$1" bs=1M iflag=direct status=none | cmp -- - "${RESCUE[image]}"
}
