# The processes that copy: a coordinator in the background, and a worker for each disk leg. They
# share the folder that act/copy.sh describes. That file also starts and stops them.
# shellcheck shell=bash

need core/act core/clock core/log core/paths core/text notes/copy-state world/md world/md-state
need world/ramdisk-note

readonly COPY_MIB=1048576
# Bytes that a worker takes at once. Pieces get smaller towards the end, so that all legs finish
# together, however fast each is; but not very small, because a disk is idle between two pieces.
readonly COPY_MOST=$((128 * COPY_MIB)) COPY_LEAST=$((8 * COPY_MIB)) \
	COPY_MOST_ONLINE=$((8 * COPY_MIB))
readonly COPY_BLOCK=65536 # what is looked at for zeros, and written at once

# copy_workers_coordinate PARENT FOLDER MD RAM-NODE SEEK LEG…: runs workers in rounds until nothing
# is left. What a worker that failed has left over goes to those that are still trusted.
copy_workers_coordinate() {
	local parent=$1 folder=$2 md=$3 node=$4 seek=$5 i leg workers NUMBER
	local -a legs
	shift 5
	legs=("$@")
	while [[ -s $folder/rest ]] || copy_workers_doubt_ "$folder" "$md"; do
		kill -0 "$parent" 2>/dev/null || break
		workers=0
		for i in "${!legs[@]}"; do
			[[ -e $folder/bad.${legs[i]} ]] || workers=$((workers + 1))
		done
		((workers > 0)) || {
			copy_workers_result_ "$folder" "no disk leg could be read to the end: \
$(copy_workers_bad_ "$folder")"
			return
		}
		for i in "${!legs[@]}"; do
			leg=${legs[i]}
			[[ -e $folder/bad.$leg ]] ||
				copy_workers_work_ "$parent" "$folder" "$i" "$workers" "$leg" \
					"${COPY_OFFSETS[i]}" "$md" "$node" "$seek" &
		done
		wait
		[[ ! -e $folder/failed ]] || {
			copy_workers_result_ "$folder" "$(<"$folder/failed")"
			return
		}
	done
	# A worker that was killed leaves no message, but its piece is missing from the sum.
	copy_state_bytes "$folder"
	text_number_in "$folder/size" -1
	if ((COPY_DONE == NUMBER)); then
		copy_workers_result_ "$folder" ok
	else
		copy_workers_result_ "$folder" "it was stopped after $COPY_DONE of $NUMBER bytes"
	fi
}

copy_workers_result_() { # FOLDER TEXT: whole or not at all
	act_put "$1/result.new" "$2" && mv "$1/result.new" "$1/result"
}

copy_workers_bad_() { # FOLDER: what was wrong with which leg, on one line
	local file text=''
	for file in "$1"/bad.*; do
		[[ ! -e $file ]] || text+="${text:+; }$(<"$file")"
	done
	printf '%s\n' "$text"
}

# copy_workers_work_ PARENT FOLDER NUMBER WORKERS LEG OFFSET MD RAM-NODE SEEK: copies piece after
# piece from one leg until nothing is left or it fails.
copy_workers_work_() {
	local parent=$1 folder=$2 number=$3 workers=$4 leg=$5 offset=$6 md=$7 node=$8 seek=$9 FROM \
		TO HOW rate copied=0 COPY_ERROR began TURN
	[[ ! -e $folder/done.$number ]] || read -r copied <"$folder/done.$number"
	text_number_or copied 0
	# While this is open, no other disk gets the name of the leg.
	exec {_}<"$DEV/$leg" || {
		copy_workers_leave_ "$folder" "$leg" 0 0 "dd: failed to open '$DEV/$leg'"
		return
	}
	while kill -0 "$parent" 2>/dev/null && [[ ! -e $folder/failed ]]; do
		read -r rate <"$folder/rate"
		text_number_or rate 0
		copy_workers_take_ "$folder" "$workers" "$rate" || break
		clock_hundredths
		began=$HUNDREDTHS
		if ! copy_workers_piece_ "$leg" $((offset + FROM)) "$node" $((seek + FROM)) \
			$((TO - FROM)) "$HOW" "$rate" "$folder" ||
			! copy_workers_is_member_ "$md" "$leg"; then
			copy_workers_leave_ "$folder" "$leg" "$FROM" "$TO" "$COPY_ERROR"
			copy_workers_is_member_ "$md" "$leg" ||
				copy_workers_take_back_ "$folder" "$number" || :
			break
		fi
		copied=$((copied + TO - FROM))
		act_put_more "$folder/gave.$number" "$FROM $TO $leg"
		act_put "$folder/done.$number" "$copied"
		((rate == 0)) || copy_workers_pace_ "$began" $(((TO - FROM) * workers)) "$rate"
	done
}

# copy_workers_is_member_ MD LEG: call it after a piece has been read. A disk that has left the
# array may have been used by anything since, and what is written to it then is in no bitmap. Nor is
# the part of a write that the leg did not take, when that write began before the RAM leg left: md's
# own thread records it, and no drain waits for that (freeze_array() and narrow_write_error() in
# linux drivers/md/raid1.c). Nobody can read the list of bad blocks of a leg that is gone. Returns
# 1, and sets COPY_ERROR, when the leg, and all that it has given, can't be trusted.
copy_workers_is_member_() {
	if ! md_state_leg_is_in_sync "$1" "$2"; then
		COPY_ERROR="$2 is no longer in sync in $1"
	elif md_has_bad_blocks "$1" "$2"; then
		COPY_ERROR="$2 is no longer without bad blocks in md's list"
	else
		return 0
	fi
	return 1
}

# copy_workers_take_back_ FOLDER NUMBER: discards all that this worker's leg has given, and puts it
# back on the list for the others. Returns 1 when the leg has given nothing.
copy_workers_take_back_() {
	local TURN
	[[ -s $1/gave.$2 ]] && copy_workers_turn_ "$1" || return 1
	# Dense, because another leg may have zeros where this one had data. If the list can't be
	# written, the sum at the end is short.
	{ sed 's/ [^ ]*$/ dense/' "$1/gave.$2" >>"$1/rest"; } 2>/dev/null || :
	rm -f "$1/gave.$2" "$1/done.$2"
	exec {TURN}>&-
}

# copy_workers_doubt_ FOLDER MD: call it when nothing is left to copy. If one of the caller's legs
# has left the array, or md has listed bad blocks of it, since that leg gave its last piece, puts
# all that it gave back on the list. Returns 1 when nothing was put back.
copy_workers_doubt_() {
	local i code=1 COPY_ERROR
	for i in "${!legs[@]}"; do
		! copy_workers_is_member_ "$2" "${legs[i]}" || continue
		[[ -e $1/bad.${legs[i]} ]] ||
			copy_workers_leave_ "$1" "${legs[i]}" 0 0 "$COPY_ERROR"
		! copy_workers_take_back_ "$1" "$i" || code=0
	done
	return "$code"
}

# copy_workers_doubtful FOLDER MD: prints of a leg that has given something why that can't be
# trusted any more; nothing if there is none.
copy_workers_doubtful() {
	local file leg COPY_ERROR
	for file in "$1"/gave.*; do
		{ read -r _ _ leg <"$file"; } 2>/dev/null || continue
		copy_workers_is_member_ "$2" "$leg" || {
			printf '%s\n' "$COPY_ERROR"
			return
		}
	done
}

# copy_workers_turn_ FOLDER: waits until this worker alone has the list, which it keeps until it
# closes TURN. A disk is idle between two pieces, so this starts no program that it does not need.
copy_workers_turn_() {
	local name=${1##*/}
	paths_run && { exec {TURN}>"$LOCKS/turn.${name%.copy}"; } 2>/dev/null && flock "$TURN"
}

# copy_workers_take_ FOLDER WORKERS RATE: takes the next piece off the list, and sets FROM, TO and
# HOW to it. Returns 1 when there is none.
copy_workers_take_() {
	local piece most=$COPY_MOST
	local -a lines=()
	(($3 == 0)) || most=$COPY_MOST_ONLINE
	copy_workers_turn_ "$1" || return 1 # nothing is taken, so the sum at the end will be short
	mapfile -t lines <"$1/rest"
	((${#lines[@]} > 0)) || {
		exec {TURN}>&-
		return 1
	}
	text_into "${lines[0]}" FROM TO HOW
	# A damaged list gives no more pieces, so the sum at the end is short.
	[[ $HOW == sparse ]] || HOW=dense
	text_number_or FROM -1
	text_number_or TO -1
	((FROM >= 0 && TO > FROM)) || {
		act_put "$1/rest" || :
		exec {TURN}>&-
		return 1
	}
	piece=$(((TO - FROM) / (2 * $2) / COPY_MIB * COPY_MIB))
	((piece >= COPY_LEAST)) || piece=$COPY_LEAST
	((piece <= most)) || piece=$most
	if ((TO - FROM > piece)); then
		lines[0]="$((FROM + piece)) $TO $HOW"
		TO=$((FROM + piece))
	else
		lines=("${lines[@]:1}")
	fi
	act_put "$1/rest" "${lines[@]}" || {
		exec {TURN}>&-
		return 1
	}
	exec {TURN}>&-
}

# copy_workers_leave_ FOLDER LEG FROM TO ERROR: deals with a piece that failed. If the leg could not
# be read, another leg has to give the piece, and this one is no longer trusted. If the ramdisk
# could not be written, no worker can go on.
copy_workers_leave_() {
	local text bad
	# dd prints its counts after the error message.
	text=$(grep -m 1 '^dd: ' < <(printf '%s\n' "$5")) || text=${5##*$'\n'}
	if [[ $5 == *'error reading'* || $5 == *'failed to open '*/"$2"* ||
		$5 == "$2 is no longer"* ]]; then
		text="$2 at byte $3 or after: ${text#dd: }"
		act_put "$1/bad.$2" "$text" || :
		bad=${1##*/} text="${bad%.copy}: $text"
		log_warning "$text; that part has to come from another disk leg"
		(($4 > $3)) && copy_workers_turn_ "$1" || return 0
		# Part of the piece may be copied already, and the other leg may have zeros where
		# that leg had data.
		act_put_more "$1/rest" "$3 $4 dense" || :
		exec {TURN}>&-
	else
		act_put "$1/failed" "${text:-the copy was ended}"
	fi
}

# copy_workers_piece_ LEG SKIP RAM-NODE SEEK BYTES HOW RATE FOLDER: copies one piece. While the
# array is in use (RATE is not 0), only when the disk has nothing else to do. Sets COPY_ERROR to
# what was wrong and returns 1, even when the leg ended early: dd treats that as the end of the
# file, and a disk that is pulled out has no bytes left.
copy_workers_piece_() {
	local block=512 sparse='' size nice=() said
	copy_workers_is_ours_ "$8" "$3" && copy_workers_is_free "$3" || return
	for size in 4096 "$COPY_BLOCK"; do (($5 % size)) || block=$size; done
	[[ $6 != sparse ]] || sparse=,sparse
	(($7 == 0)) || nice=(ionice -c 3)
	said=$("${nice[@]}" dd if="$DEV/$1" of="$DEV/$3" ibs=1M obs="$block" skip="$2" seek="$4" \
		count="$5" \
		iflag="${COPY_DIRECT-direct,}fullblock,skip_bytes,count_bytes" \
		oflag="${COPY_DIRECT-direct,}seek_bytes" conv="notrunc,nocreat$sparse" 2>&1) || {
		COPY_ERROR=$said
		return 1
	}
	[[ ${said##*$'\n'} == "$5 byte"[\ s]* ]] || {
		COPY_ERROR="dd: error reading '$DEV/$1': it ended after ${said##*$'\n'}"
		return 1
	}
}

# copy_workers_is_ours_ FOLDER NODE: is it still the RAM leg's? Between two pieces nothing holds it,
# so another device may have got its name. This look starts no process. Returns 1, and sets
# COPY_ERROR, when it is not.
copy_workers_is_ours_() {
	local name=${1##*/} RAM_PROVIDER RAM_NODE RAM_BYTES
	ramdisk_note_read "${name%.copy}"
	[[ $RAM_NODE != "$2" ]] || return 0
	COPY_ERROR="$2 is no longer noted as the RAM leg, or is another device now"
	return 1
}

# copy_workers_is_free NODE: call it right before the ramdisk is written to. Is nothing on top of
# it, as the array is once somebody has added it by hand? Only md may write to a member. This look
# starts no process. The ramdisk may still become a member between this look and the last byte of
# the piece: each worker may then write up to COPY_MOST bytes below md (COPY_MOST_ONLINE while the
# array is in use), and ram_leg_mind_copy takes that member out. Holding the ramdisk with O_EXCL, as
# md does, would keep mdadm away, and neither dd nor udev; but bash can't open a file so, and dd(1)
# only new files (conv=excl). Returns 1, and sets COPY_ERROR, when it is in use.
copy_workers_is_free() {
	local holder
	for holder in "$SYS/class/block/$1"/holders/*; do
		[[ -e $holder ]] || continue
		COPY_ERROR="$1 is in use by ${holder##*/} now"
		return 1
	done
}

# copy_workers_pace_ BEGAN BYTES RATE: sleeps until BYTES since BEGAN (hundredths) are no more than
# RATE a second.
copy_workers_pace_() {
	local due=$(($2 * 100 / $3)) HUNDREDTHS rest
	clock_hundredths
	rest=$((due - (HUNDREDTHS - $1)))
	((rest <= 0)) || sleep "$(printf '%d.%02d' $((rest / 100)) $((rest % 100)))"
}
