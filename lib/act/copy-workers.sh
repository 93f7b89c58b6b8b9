# Those who do the copying: a coordinator in the background, and a worker for each disk leg. What
# they share lies in the folder that act/copy.sh describes; who begins and ends them stands there
# too.
# shellcheck shell=bash

need core/act core/clock core/log core/paths core/text notes/copy-state world/md world/md-state

readonly COPY_MIB=1048576
# Bytes that a worker takes at once: less towards the end, so that all legs end together, however
# fast each is; but not many little ones, because between two pieces a disk has nothing to do.
readonly COPY_MOST=$((128 * COPY_MIB)) COPY_LEAST=$((8 * COPY_MIB)) \
	COPY_MOST_ONLINE=$((8 * COPY_MIB))
readonly COPY_BLOCK=65536 # what is looked at for zeros, and written at once

# copy_workers_coordinate PARENT FOLDER MD RAM-NODE SEEK LEG…: workers in rounds, until nothing is
# left; what a worker that fell out has left over is for those that are still trusted.
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
	# A worker that somebody killed leaves no word, but its piece is missing.
	copy_state_bytes "$folder"
	text_number_in "$folder/size" -1
	if ((COPY_DONE == NUMBER)); then
		copy_workers_result_ "$folder" ok
	else
		copy_workers_result_ "$folder" "it was ended after $COPY_DONE of $NUMBER bytes"
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
	# As long as it is open, no other disk gets its name.
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
			$((TO - FROM)) "$HOW" "$rate" ||
			! copy_workers_is_member_ "$md" "$leg"; then
			copy_workers_leave_ "$folder" "$leg" "$FROM" "$TO" "$COPY_ERROR"
			[[ $COPY_ERROR != *"$COPY_BAD" ]] ||
				copy_workers_take_back_ "$folder" "$number" || :
			break
		fi
		copied=$((copied + TO - FROM))
		act_put_more "$folder/gave.$number" "$FROM $TO $leg"
		act_put "$folder/done.$number" "$copied"
		((rate == 0)) || copy_workers_pace_ "$began" $(((TO - FROM) * workers)) "$rate"
	done
}

# copy_workers_is_member_ MD LEG: after the piece has been read: a disk that has left the array may
# be anybody's since, and what is written to it then is in no bitmap; nor is what it has not taken
# of a write, when that began before the RAM leg left: md's own thread writes that down, and no
# drain waits for it (freeze_array() and narrow_write_error() in linux drivers/md/raid1.c). Returns
# 1, and sets COPY_ERROR.
readonly COPY_BAD="no longer without bad blocks in md's list"
copy_workers_is_member_() {
	if ! md_state_leg_is_in_sync "$1" "$2"; then
		COPY_ERROR="$2 is no longer in sync in $1"
	elif md_has_bad_blocks "$1" "$2"; then
		COPY_ERROR="$2 is $COPY_BAD"
	else
		return 0
	fi
	return 1
}

# copy_workers_take_back_ FOLDER NUMBER: all that this worker's leg has given does not count, and is
# for the others. Returns 1 when it has given nothing.
copy_workers_take_back_() {
	local TURN
	[[ -s $1/gave.$2 ]] && copy_workers_turn_ "$1" || return 1
	# Where it had no zeros another may have them.
	# the sum at the end is short
	{ sed 's/ [^ ]*$/ dense/' "$1/gave.$2" >>"$1/rest"; } 2>/dev/null || :
	rm -f "$1/gave.$2" "$1/done.$2"
	exec {TURN}>&-
}

# copy_workers_doubt_ FOLDER MD: nothing is left to copy. Has a leg got bad blocks since it gave its
# last piece? Then what it has given is left again. The caller's legs. Returns 1 when there is none.
copy_workers_doubt_() {
	local i code=1
	for i in "${!legs[@]}"; do
		if [[ -e $1/bad.${legs[i]} ]] || ! md_has_bad_blocks "$2" "${legs[i]}"; then
			continue
		fi
		copy_workers_leave_ "$1" "${legs[i]}" 0 0 "${legs[i]} is $COPY_BAD"
		! copy_workers_take_back_ "$1" "$i" || code=0
	done
	return "$code"
}

# copy_workers_doubtful FOLDER MD: prints a leg that has given something, and has bad blocks now.
copy_workers_doubtful() {
	local file leg
	for file in "$1"/gave.*; do
		{ read -r _ _ leg <"$file"; } 2>/dev/null || continue
		! md_has_bad_blocks "$2" "$leg" || printf '%s\n' "$leg"
	done | head -n 1
}

# copy_workers_turn_ FOLDER: one worker at a time has the list, until it closes TURN. Between two
# pieces a disk has nothing to do, so no program is begun that is not needed.
copy_workers_turn_() {
	local name=${1##*/}
	paths_run && { exec {TURN}>"$LOCKS/turn.${name%.copy}"; } 2>/dev/null && flock "$TURN"
}

# copy_workers_take_ FOLDER WORKERS RATE: takes the next piece off the list: sets FROM, TO, HOW.
# Returns 1 when there is none.
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
	# A damaged list gives nothing more, so that the sum at the end is short.
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

# copy_workers_leave_ FOLDER LEG FROM TO ERROR: a piece that failed. If the leg could not be read,
# another one has to read it, and this one is not trusted further; if the ramdisk could not be
# written, nobody can.
copy_workers_leave_() {
	local text bad
	# dd counts on after its complaint.
	text=$(grep -m 1 '^dd: ' < <(printf '%s\n' "$5")) || text=${5##*$'\n'}
	if [[ $5 == *'error reading'* || $5 == *'failed to open '*/"$2"* ||
		$5 == "$2 is no longer"* ]]; then
		text="$2 at byte $3 or after: ${text#dd: }"
		act_put "$1/bad.$2" "$text" || :
		bad=${1##*/} text="${bad%.copy}: $text"
		log_warning "$text; another disk leg has to give that part"
		(($4 > $3)) && copy_workers_turn_ "$1" || return 0
		# Half of it may be there already, and where that leg had no zeros the other one may
		# have them.
		act_put_more "$1/rest" "$3 $4 dense" || :
		exec {TURN}>&-
	else
		act_put "$1/failed" "${text:-the copy was ended}"
	fi
}

# copy_workers_piece_ LEG SKIP RAM-NODE SEEK BYTES HOW RATE: one piece. Beside users of the array
# (RATE) only while the disk has nothing else to do. Sets COPY_ERROR to what was wrong, and returns
# 1, also when the leg ended early: dd takes that for the end of the file, and a disk that is pulled
# out has none left.
copy_workers_piece_() {
	local block=512 sparse='' size nice=() said
	copy_workers_is_free "$3" || return
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

# copy_workers_is_free NODE: right before the ramdisk is written to: does nothing sit on it, as the
# array does once somebody has added it by hand? A member is md's to write. Without a process.
# Between this look and the last byte of the piece it may become one: up to COPY_MOST bytes a
# worker, COPY_MOST_ONLINE beside users of the array, may so be written below md; ram_leg_mind_copy
# then takes that member out. To hold it with O_EXCL, as md does, would keep mdadm away, and neither
# dd nor udev; but bash opens nothing so, and dd(1) only files that are new (conv=excl). Returns 1,
# and sets COPY_ERROR.
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
