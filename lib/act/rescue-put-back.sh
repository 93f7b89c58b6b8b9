# A rescue image, put back onto a disk leg. What the image lacks is not written: the disk may be the
# last that has it. md lists these places as bad blocks of the disk, so that they do not pass for
# what the array had.
# shellcheck shell=bash

need act/bits act/rescue core/act core/clock core/log core/paths core/text notes/rescue-record
need world/disk world/md world/md-bad world/md-state world/readable world/superblock

declare -gA F # the facts: decide/facts.list

readonly RESCUE_PUT_BACK_PIECE=1048576 # bytes that are written at once
readonly RESCUE_PUT_BACK_UNLISTED=2    # returned when the disk has the image, but not md's list

# rescue_put_back MD [UUID [LEG]]: writes what rescue_check has opened over the whole array, and
# reads the array back, which must have the recorded SHA-256. Before the first byte, the record says
# that the disk leg with this device UUID is being overwritten; until then md has written nothing
# either, if it waits for the first write. What the image lacks stays as it is on LEG, and md lists
# it as bad blocks of LEG; where md can't list it, LEG gets the zeros of the image. Sets
# RESCUE_PUT_BACK_LISTED to what md lists, "FROM END" in sectors. Returns 1 when the disks do not
# hold what was recorded, RESCUE_PUT_BACK_UNLISTED when the superblock of LEG has no such list.
rescue_put_back() {
	local code=0 kept=() lost=()
	RESCUE_PUT_BACK_LISTED=()
	text_split lost "${RESCUE[lost]-}"
	rescue_put_back_ "$1" "${2-}" "${3-}" || code=$?
	exec {RESCUE_CHECKED}<&-
	return "$code"
}

# The following use kept (what is not written, "FROM END" in bytes) and lost (what the image lacks,
# "FROM:BYTES") of their caller.
rescue_put_back_() { # MD UUID LEG
	local sum
	(($(md_bytes "$1") == ${RESCUE[bytes]})) || {
		log_error "$1 has $(md_bytes "$1") bytes, the image ${RESCUE[bytes]}"
		return 1
	}
	[[ -z $2 ]] || rescue_record_begun "${F[name]}" "$2" || {
		log_error "could not record in $(rescue_record_file "${F[name]}") that a disk is \
being overwritten; nothing was written"
		return 1
	}
	md_make_writable "$1" || return 1
	rescue_put_back_keep_ "$1" "$3"
	rescue_put_back_write_ "/proc/self/fd/$RESCUE_CHECKED" "$DEV/$1" || return 1
	# Read from the disks, not from the page cache.
	sum=$(
		set -o pipefail
		readable_print "$DEV/$1" "${RESCUE[bytes]}" "${kept[@]}" | sha256sum
	) || {
		log_error "$1 can't be read back"
		return 1
	}
	[[ ${sum%% *} == "${RESCUE[sha256]}" ]] || {
		log_error "the disks of $1 do not hold what was written: \
their SHA-256 is not the recorded ${RESCUE[sha256]}"
		return 1
	}
	rescue_put_back_list_ "$1" "$3"
}

# rescue_put_back_preview IMAGE DEVICE: prints how the image would be written if md can list all
# that it lacks; for --dry-run.
rescue_put_back_preview() {
	local range kept=() lost
	text_split lost "${RESCUE[lost]-}"
	for range in "${lost[@]}"; do
		kept+=("${range%:*} $((${range%:*} + ${range#*:}))")
	done
	rescue_put_back_write_ "$@"
}

# Before the first byte: has md list what the image lacks, and sets kept to what it lists. The first
# write then makes md write its superblock, and with it the list. A write takes off the list what it
# reaches, so what is written must end at the same blocks. In a chunk of the bitmap in which nothing
# is written, no bit would be set, and a disk that comes back by its bitmap would keep what it has
# there, and not be read as bad.
rescue_put_back_keep_() { # MD LEG
	local range from end at=0 block
	block=$(disk_block "$1")
	for range in "${lost[@]}"; do
		from=${range%:*} end=$((from + ${range#*:}))
		((from >= at && (from | end) % block == 0 && end <= ${RESCUE[bytes]})) || continue
		rescue_put_back_bad_ "$@" "$from" "$end" &&
			bits_within "$1" "$from" "$end" || return 0
		kept+=("$from $end") at=$end
	done
}

# A list of bad blocks is for places on the leg, and in a far2 these are not the array's.
rescue_put_back_bad_() { # MD LEG FROM END
	[[ ${F[conf.layout]-} != far2 ]] &&
		md_bad_add "$1" "$2" $(($3 / 512)) $((($4 - $3 + 511) / 512))
}

rescue_put_back_write_() { # IMAGE DEVICE
	local range at=0
	((${#kept[@]} > 0)) || {
		act dd if="$1" of="$2" bs="$RESCUE_PUT_BACK_PIECE" oflag=direct \
			conv=notrunc,fsync status=progress
		return
	}
	for range in "${kept[@]}" "${RESCUE[bytes]} end"; do
		rescue_put_back_part_ "$1" "$2" "$at" "${range% *}" || return 1
		at=${range#* }
	done
}
# dd writes the rest after the last whole block of bs through the page cache, and so whole pages,
# which may reach into what is listed. Here it writes nothing but whole blocks.
rescue_put_back_part_() { # IMAGE DEVICE FROM END
	local rest=$((($4 - $3) % RESCUE_PUT_BACK_PIECE))
	rescue_put_back_dd_ "${@:1:3}" $(($4 - rest)) "$RESCUE_PUT_BACK_PIECE" &&
		rescue_put_back_dd_ "$1" "$2" $(($4 - rest)) "$4" "$rest"
}
rescue_put_back_dd_() { # IMAGE DEVICE FROM END BS
	(($3 == $4)) || act dd if="$1" of="$2" bs="$5" count=$((($4 - $3) / $5)) skip="$3" \
		seek="$3" iflag=skip_bytes iflag=fullblock oflag=direct oflag=seek_bytes \
		conv=notrunc,fsync status=progress
}

# After the last byte: has md list the rest of what the image lacks, which got zeros, and waits
# until the list is on the disk. md does not write a changed list by itself (bb_store() in linux
# drivers/md/md.c), only with its superblock, which one more write brings about.
rescue_put_back_list_() { # MD LEG
	local range from end
	((${#lost[@]} > 0)) || return 0
	for range in "${lost[@]}"; do
		from=${range%:*} end=$((from + ${range#*:}))
		[[ " ${kept[*]/%/,}" == *" $from $end,"* ]] ||
			rescue_put_back_bad_ "$@" "$from" "$end" || break
		RESCUE_PUT_BACK_LISTED+=("$((from / 512)) $(((end + 511) / 512))")
	done
	((${#RESCUE_PUT_BACK_LISTED[@]} > 0)) || return 0
	rescue_put_back_again_ "$1" || return 1
	clock_until "$MD_BOUND" 0.2 rescue_put_back_is_listed_ "$2" ||
		return "$RESCUE_PUT_BACK_UNLISTED"
}

# Writes one block once more that the image has.
rescue_put_back_again_() { # MD
	local range at=0 block
	block=$(disk_block "$1")
	for range in "${lost[@]}"; do
		((${range%:*} < at + block)) || break
		at=$(((${range%:*} + ${range#*:} + block - 1) / block * block))
	done
	((at + block > ${RESCUE[bytes]})) ||
		rescue_put_back_dd_ "/proc/self/fd/$RESCUE_CHECKED" "$DEV/$1" "$at" \
			$((at + block)) "$block"
}

# Does the superblock of LEG list all of RESCUE_PUT_BACK_LISTED?
rescue_put_back_is_listed_() { # LEG
	local list RANGES=()
	list=$(superblock_bad_ranges "$DEV/$1") || return 1
	[[ -z $list ]] || mapfile -t RANGES < <(printf '%s\n' "$list")
	md_state_ranges_subtract "${RESCUE_PUT_BACK_LISTED[@]}"
	((${#RANGES[@]} == 0))
}
