# Those who do the copying: a coordinator in the background, and a worker for each disk leg. What they share lies in the folder that copy.sh
# describes; who begins and ends them stands there too.
# shellcheck shell=bash

readonly COPY_MIB=1048576
# Bytes that a worker takes at once: less towards the end, so that all legs end together, however fast each is; but not many little ones, because
# between two pieces a disk has nothing to do.
readonly COPY_MOST=$((128 * COPY_MIB)) COPY_LEAST=$((8 * COPY_MIB)) COPY_MOST_ONLINE=$((8 * COPY_MIB))
readonly COPY_BLOCK=65536 # what is looked at for zeros, and written at once

# copy_coordinate_ PARENT FOLDER MD RAM-NODE SEEK LEG…: workers in rounds, until nothing is left; what a worker that fell out has left over is for
# those that are still trusted.
copy_coordinate_() {
	local parent=$1 folder=$2 md=$3 node=$4 seek=$5 i leg workers
	local -a legs
	shift 5
	legs=("$@")
	while [[ -s $folder/rest ]] && kill -0 "$parent" 2>/dev/null; do
		workers=0
		for i in "${!legs[@]}"; do [[ -e $folder/bad.${legs[i]} ]] || workers=$((workers + 1)); done
		((workers > 0)) || {
			copy_result_ "$folder" "no disk leg could be read to the end: $(copy_bad_ "$folder")"
			return
		}
		for i in "${!legs[@]}"; do
			leg=${legs[i]}
			[[ -e $folder/bad.$leg ]] || copy_work_ "$parent" "$folder" "$i" "$workers" "$leg" "${COPY_OFFSETS[i]}" "$md" "$node" "$seek" &
		done
		wait
		[[ ! -e $folder/failed ]] || {
			copy_result_ "$folder" "$(<"$folder/failed")"
			return
		}
	done
	# A worker that somebody killed leaves no word, but its piece is missing.
	copy_done_ "$folder"
	if ((COPY_DONE == $(<"$folder/size"))); then
		copy_result_ "$folder" ok
	else
		copy_result_ "$folder" "it was ended after $COPY_DONE of $(<"$folder/size") bytes"
	fi
}

copy_result_() { # FOLDER TEXT: whole or not at all
	printf '%s\n' "$2" >"$1/result.new"
	mv "$1/result.new" "$1/result"
}

copy_bad_() { # FOLDER: what was wrong with which leg, on one line
	local file text=''
	for file in "$1"/bad.*; do
		[[ ! -e $file ]] || text+="${text:+; }$(<"$file")"
	done
	printf '%s\n' "$text"
}

# copy_work_ PARENT FOLDER NUMBER WORKERS LEG OFFSET MD RAM-NODE SEEK: copies piece after piece from one leg until nothing is left or it fails.
copy_work_() {
	local parent=$1 folder=$2 number=$3 workers=$4 leg=$5 offset=$6 md=$7 node=$8 seek=$9 FROM TO HOW rate copied=0 COPY_ERROR began TURN
	[[ ! -e $folder/done.$number ]] || read -r copied <"$folder/done.$number"
	# As long as it is open, no other disk gets its name.
	exec {_}<"$DEV/$leg" || {
		copy_leave_ "$folder" "$leg" 0 0 "dd: failed to open '$DEV/$leg'"
		return
	}
	while kill -0 "$parent" 2>/dev/null && [[ ! -e $folder/failed ]]; do
		read -r rate <"$folder/rate"
		copy_take_ "$folder" "$workers" "$rate" || break
		hundredths
		began=$HUNDREDTHS
		if ! copy_piece_ "$leg" $((offset + FROM)) "$node" $((seek + FROM)) $((TO - FROM)) "$HOW" "$rate" || ! copy_is_member_ "$md" "$leg"; then
			copy_leave_ "$folder" "$leg" "$FROM" "$TO" "$COPY_ERROR"
			break
		fi
		copied=$((copied + TO - FROM))
		printf '%s\n' "$copied" >"$folder/done.$number"
		((rate == 0)) || copy_pace_ "$began" $(((TO - FROM) * workers)) "$rate"
	done
}

# copy_is_member_ MD LEG: after the piece has been read: a disk that has left the array may be anybody's since, and what is written to it then is in no
# bitmap. Returns 1, and sets COPY_ERROR.
copy_is_member_() {
	md_leg_is_in_sync "$1" "$2" && return
	COPY_ERROR="$2 is no longer in sync in $1"
	return 1
}

# copy_turn_ FOLDER: one worker at a time has the list, until it closes TURN. Between two pieces a disk has nothing to do, so no program is begun that is
# not needed.
copy_turn_() { exec {TURN}>"$1/turn" && flock "$TURN"; }

# copy_take_ FOLDER WORKERS RATE: takes the next piece off the list: sets FROM, TO, HOW. Returns 1 when there is none.
copy_take_() {
	local piece most=$COPY_MOST
	local -a lines=()
	(($3 == 0)) || most=$COPY_MOST_ONLINE
	copy_turn_ "$1" || return 1 # nothing is taken, so the sum at the end will be short
	mapfile -t lines <"$1/rest"
	((${#lines[@]} > 0)) || {
		exec {TURN}>&-
		return 1
	}
	read -r FROM TO HOW <<<"${lines[0]}"
	piece=$(((TO - FROM) / (2 * $2) / COPY_MIB * COPY_MIB))
	((piece >= COPY_LEAST)) || piece=$COPY_LEAST
	((piece <= most)) || piece=$most
	if ((TO - FROM > piece)); then
		lines[0]="$((FROM + piece)) $TO $HOW"
		TO=$((FROM + piece))
	else
		lines=("${lines[@]:1}")
	fi
	if ((${#lines[@]} > 0)); then printf '%s\n' "${lines[@]}"; fi >"$1/rest"
	exec {TURN}>&-
}

# copy_leave_ FOLDER LEG FROM TO ERROR: a piece that failed. If the leg could not be read, another one has to read it, and this one is not trusted
# further; if the ramdisk could not be written, nobody can.
copy_leave_() {
	local text
	# dd counts on after its complaint.
	text=$(grep -m 1 '^dd: ' <<<"$5") || text=${5##*$'\n'}
	if [[ $5 == *'error reading'* || $5 == *'failed to open '*/"$2"* || $5 == "$2 is no longer"* ]]; then
		printf '%s at byte %s or after: %s\n' "$2" "$3" "${text#dd: }" >"$1/bad.$2"
		text=${1##*/} text="${text%.copy}: $(<"$1/bad.$2")"
		log_warning "$text; another disk leg has to give that part"
		(($4 > $3)) && copy_turn_ "$1" || return 0
		# Half of it may be there already, and where that leg had no zeros the other one may have them.
		printf '%s %s dense\n' "$3" "$4" >>"$1/rest"
		exec {TURN}>&-
	else
		printf '%s\n' "${text:-the copy was ended}" >"$1/failed"
	fi
}

# copy_piece_ LEG SKIP RAM-NODE SEEK BYTES HOW RATE: one piece. Beside users of the array (RATE) only while the disk has nothing else to do. Sets
# COPY_ERROR to what was wrong, and returns 1, also when the leg ended early: dd takes that for the end of the file, and a disk that is pulled out has none
# left.
copy_piece_() {
	local block=512 sparse='' size nice=() said
	for size in 4096 "$COPY_BLOCK"; do (($5 % size)) || block=$size; done
	[[ $6 != sparse ]] || sparse=,sparse
	(($7 == 0)) || nice=(ionice -c 3)
	said=$("${nice[@]}" dd if="$DEV/$1" of="$DEV/$3" ibs=1M obs="$block" skip="$2" seek="$4" count="$5" \
		iflag="${COPY_DIRECT-direct,}fullblock,skip_bytes,count_bytes" oflag="${COPY_DIRECT-direct,}seek_bytes" conv="notrunc,nocreat$sparse" 2>&1) || {
		COPY_ERROR=$said
		return 1
	}
	[[ ${said##*$'\n'} == "$5 byte"[\ s]* ]] || {
		COPY_ERROR="dd: error reading '$DEV/$1': it ended after ${said##*$'\n'}"
		return 1
	}
}

# copy_pace_ BEGAN BYTES RATE: sleeps until BYTES since BEGAN (hundredths) are no more than RATE a second.
copy_pace_() {
	local due=$(($2 * 100 / $3)) HUNDREDTHS rest
	hundredths
	rest=$((due - (HUNDREDTHS - $1)))
	((rest <= 0)) || sleep "$(printf '%d.%02d' $((rest / 100)) $((rest % 100)))"
}
