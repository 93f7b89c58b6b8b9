# Writes a rescue image (act/rescue.sh), in a process of its own. The file system of RESCUE may stop
# answering; who waits for it in the kernel can't be ended, and the guard must still take a disk
# that comes back.
# shellcheck shell=bash

need act/rescue act/rescue-copy core/act core/bounded core/clock core/descriptors core/trust
need notes/legs-seen notes/rescue-record world/md world/superblock world/systemd

declare -gA F # the facts: decide/facts.list

RESCUE_WRITE_STALL=300 # seconds without progress after which the writer is left behind
RESCUE_WRITE_LEFT=()   # folders of images that such writers have begun

# rescue_write NAME UUID MD EVENTS FOLDER: copies the whole array MD into a new folder
# FOLDER/NAME/rescue-EVENTS.XXXXXXXX, which is root's alone, makes it durable, reads it back, and
# only then records it: beside the image, and in $STATE. Sets RESCUE_FOLDER to the new folder, and
# RESCUE_LOST to what could not be read, in words; empty when all of the array is in it. Returns 1
# when there is no image; nothing is left of it then. Returns 2 when the image is whole and there is
# no record in $STATE, and BOUNDED_SILENT when FOLDER does not answer any more. An earlier image
# stays.
RESCUE_FOLDER='' RESCUE_LOST=''
rescue_write() {
	local pipe out pid code=0 record=() LOST_TEXT
	RESCUE_FOLDER='' RESCUE_LOST=''
	exec {pipe}<> <(:)
	exec {out}>"/proc/self/fd/$pipe"
	set -m # a process group of its own, so that all of it can be ended
	rescue_write_apart_ "$out" "$@" </dev/null &
	pid=$!
	set +m
	exec {out}>&-
	rescue_write_hear_ "$pid" || code=$?
	exec {pipe}>&-
	if ((code == BOUNDED_SILENT)); then
		bounded_leave "$5" "$pid"
		[[ -z $RESCUE_FOLDER ]] || RESCUE_WRITE_LEFT+=("$RESCUE_FOLDER")
	else
		wait "$pid" || :
		RESCUE_WRITE_LEFT=()
	fi
	((code == 0)) || {
		RESCUE_FOLDER=''
		return "$code"
	}
	rescue_write_lost_ "${record[@]}"
	# Here and not by the writer: one that was left behind must not record an image when its
	# file system answers again, because a disk may have everything by then.
	act_file "$(rescue_record_file "$1")" 644 printf '%s\n' "${record[@]}" || return 2
}

# rescue_write_hear_ PID: listens to what the writer says in the caller's pipe, and sets the
# caller's record to the lines of the record. Returns what the writer says at its end; 1 when it
# ends without a word, BOUNDED_SILENT when it makes no progress.
rescue_write_hear_() {
	local line stall='' ended=''
	while :; do
		if read -r -t 1 -u "$pipe" line; then
			stall=''
			case $line in
			'') ;; # progress
			folder=*) RESCUE_FOLDER=${line#*=} ;;
			code=*) return "${line#*=}" ;;
			*) record+=("$line") ;;
			esac
			[[ -z $line ]] || continue
		elif [[ -n $ended ]]; then
			return 1
		elif ! kill -0 "$1" 2>/dev/null; then
			ended=yes # what it has said since then is still in the pipe
		elif clock_stalls stall "$RESCUE_WRITE_STALL"; then
			return "$BOUNDED_SILENT"
		fi
		systemd_go_on
	done
}

rescue_write_lost_() { # LINE…
	local line lost=()
	for line; do [[ $line != lost=* ]] || lost+=("${line#*=}"); done
	rescue_record_lost "${lost[@]}"
	RESCUE_LOST=$LOST_TEXT
}

# The writer. It holds no lock, and says in OUT how it goes on.
rescue_write_apart_() { # OUT NAME UUID MD EVENTS FOLDER
	local code=0
	descriptors_close "$1"
	RESCUE_COPY_SAYS=$1
	rescue_write_here_ "${@:2}" || code=1
	rescue_copy_say "code=$code"
}

rescue_write_here_() { # NAME UUID MD EVENTS FOLDER
	local md=$3 above=$5/$1 folder image bytes sum record legs why line lost \
		RESCUE_TO='' RESCUE_FROM=''
	((${#RESCUE_WRITE_LEFT[@]} == 0)) || rm -rf -- "${RESCUE_WRITE_LEFT[@]}" || return 1
	legs=$(rescue_write_legs_ "$2")
	bytes=$(md_bytes "$md")
	trust_into why "$above"
	[[ -z $why ]] && mkdir -p -- "$5" &&
		{ mkdir -m 700 -- "$above" 2>/dev/null || [[ -d $above ]]; } &&
		folder=$(mktemp -d -- "$above/rescue-$4.XXXXXXXX") || return 1
	rescue_copy_say "folder=$folder"
	image=$folder/image record=$folder/$RESCUE_RECORD
	if rescue_copy_take "$md" "$image" "$bytes" &&
		rescue_copy_holds "$image" "$bytes" "$sum" &&
		{ printf '%s\n' "uuid=$2" "image=$image" "bytes=$bytes" "sha256=$sum" \
			"events=$4" "generation=${F[witness.generation]:-0}" \
			${legs:+"legs=$legs"} "${lost[@]/#/lost=}" >"$record"; } \
			2>/dev/null &&
		sync "$image" "$record" "$folder" "$above" "$5"; then
		rescue_copy_close
		while IFS= read -r line; do rescue_copy_say "$line"; done <"$record"
		return 0
	fi
	rescue_copy_close
	rm -rf -- "$folder"
	return 1
}

# rescue_write_legs_ UUID: prints "DEVICE_UUID:EVENTS,…" of the disk legs of the array UUID that can
# be read, or that have left it in this boot. A restore sees by that whether one has been used
# since.
rescue_write_legs_() {
	local i facts line legs='' events=$'\n''events=([0-9]+)'
	for ((i = 0; i < ${F[members]-0}; i++)); do
		[[ -n ${F[leg.$i.node]-} ]] || continue
		facts=$(superblock_facts_patiently "${F[leg.$i.node]}")
		[[ $facts == sb=ok$'\n'uuid="$1"$'\n'* && $facts =~ device_uuid=([0-9a-f-]+) ]] ||
			continue
		legs+=${legs:+,}${BASH_REMATCH[1]}
		[[ ! $facts =~ $events ]] || legs+=:${BASH_REMATCH[1]}
	done
	while IFS= read -r line; do
		[[ ,$legs, == *",${line%:*}"[:,]* ]] || legs+=${legs:+,}$line
	done < <(legs_seen_left)
	printf '%s\n' "$legs"
}
