#!/usr/bin/env bats
# The witness: written durably, believed only if whole and about this array.

setup() {
	load helper
	world
	libs paths log act witness
	ID=11111111-2222-3333-4444-555555555555
	A=aaaaaaaa-0000-0000-0000-000000000001
	B=aaaaaaaa-0000-0000-0000-000000000002
	W=$R/etc/ramraid/state/data.witness
}

put() { witness_write data "$ID" "$@" 2>/dev/null; }

# refused PATTERN: not believed, nothing of it left, and why.
refused() {
	local code=0
	witness_read data "$ID" || code=$?
	((code == 1 && ${#WITNESS[@]} == 0)) || fail "believed ($code): $(cat "$W")"
	[[ $WITNESS_WHY == *$1* ]] || fail "$WITNESS_WHY"
}

damaged() { # TEXT of the file
	printf '%s' "$1" >"$W"
	refused damaged
}

@test "one that goes between the look for it and its reading is none" {
	put 100 0 "$A" "$B"
	# Nothing is read when the file can't be opened.
	mapfile() { :; }
	# As in the program, which an unset variable would end.
	set -u
	refused damaged
	set +u
}

@test "what is written is read" {
	put 100 0 "$A" "$B"
	witness_read data "$ID"
	[[ ${WITNESS[uuid]} == "$ID" && ${WITNESS[legs]} == "$A $B" && ${WITNESS[events]} == 100 && ${WITNESS[ram_slot]} == 0 && ${WITNESS[generation]} == 1 ]]
	[[ -z $WITNESS_WHY && $(stat -c %a "$W") == 644 ]]
	put 100 '' "$A"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$A" && -z ${WITNESS[ram_slot]} ]]
}

@test "the generation counts up with every change, and nothing is written without one" {
	local i inode
	for ((i = 1; i <= 3; i++)); do
		put "$i" 0 "$A" && witness_read data "$ID"
		((WITNESS[generation] == i))
	done
	inode=$(stat -c %i:%y "$W")
	put 3 0 "$A"
	[[ $(stat -c %i:%y "$W") == "$inode" ]]
	put 3 1 "$A"
	put 3 1 "$A" "$B"
	witness_read data "$ID"
	((WITNESS[generation] == 5))
}

@test "no disk leg at all: the RAM leg was the only good copy" {
	put 100 0
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ${WITNESS[events]} == 100 && ${WITNESS[generation]} == 1 ]]
	put 100 0
	witness_read data "$ID"
	((WITNESS[generation] == 1))
	sed -i /^legs/d "$W"
	refused damaged
}

@test "none, and of one array for another" {
	refused 'no record'
	put 1 0 "$A"
	witness_read data "$ID"
	not witness_read data 99999999-2222-3333-4444-555555555555
	[[ $WITNESS_WHY == *'another array'* && ${#WITNESS[@]} == 0 ]]
	not witness_read other "$ID"
}

@test "a witness of the array that had this name before is overwritten" {
	put 500 0 "$A" "$B"
	witness_write data 99999999-2222-3333-4444-555555555555 1 0 "$B" 2>/dev/null
	refused 'another array'
	witness_read data 99999999-2222-3333-4444-555555555555
	[[ ${WITNESS[events]} == 1 ]]
}

@test "damaged: empty, cut off, strange lines" {
	put 100 0 "$A"
	local good
	good=$(<"$W")
	printf '' >"$W"
	not witness_read data "$ID"
	damaged "uuid=$ID"$'\n'
	damaged "uuid=$ID"$'\nlegs='"$A"$'\n'
	damaged "uuid=$ID"$'\nevents=5\nlegs=\n'
	damaged "uuid=$ID"$'\nlegs='"$A"$'\nevents=\n'
	damaged "uuid=$ID"$'\nlegs='"$A"$'\nevents=-5\n'
	damaged "$good"$'\nmore=1\n'
	damaged "$good"$'\n\n'
	damaged "x$good"$'\n'
	damaged "${good/events/$'eve\nnts'}"$'\n'
	printf '%s\n' "$good" >"$W"
	witness_read data "$ID"
}

@test "damaged numbers are not calculated with" {
	local line
	mkdir -p "${W%/*}"
	for line in events=abc events=08 'events=1 1' generation=abc 'generation=1 1' generation=-1 generation=08 ram_slot=a 'ram_slot=1 2' ram_slot=-1; do
		printf '%s\n' "uuid=$ID" "legs=$A" events=5 generation=5 ram_slot=0 "$line" >"$W"
		refused damaged
		# The next write makes it good again, under the program's strictness.
		(
			set -eu
			put 6 0 "$A"
		) || fail "$line: the next write fails: $(witness_write data "$ID" 6 0 "$A" 2>&1)"
		witness_read data "$ID" || fail "$line: $WITNESS_WHY"
	done
}

@test "damaged: without its end, a line twice, NUL bytes, more than a witness can hold" {
	local good before=$SECONDS
	put 100 0 "$A" "$B"
	good=$(<"$W")
	damaged "$good"
	damaged "$good"$'\nevents=101\n'
	damaged "${good/events=100/events=100$'\r'}"$'\n'
	printf '%s\n\0' "$good" >"$W"
	refused damaged
	printf '%s\n' "${good/legs=/legs=$(printf '%020000d' 0)}" >"$W"
	refused damaged
	# Quick, however large it is.
	truncate -s 1T "$W"
	refused damaged
	yes "$good" | head -c 50000000 >"$W"
	refused damaged
	((SECONDS - before < 60))
}

@test "text instead of a witness is not executed, and a long line is no trouble" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p "${W%/*}"
	damaged $'events=$(touch X)\n'
	damaged $'a[$(touch X)]=1\n'
	damaged "legs=$(printf '%0100000d' 0)"$'\n'
	head -c 100000 /dev/zero >"$W"
	not witness_read data "$ID" 2>/dev/null
	[[ ! -e X ]]
}

@test "a link, a folder, a FIFO are no witness" {
	put 5 0 "$A"
	mv "$W" "$W.real"
	ln -s "$W.real" "$W"
	refused 'no record'
	rm "$W" && mkdir "$W"
	refused 'no record'
	rmdir "$W" && mkfifo "$W"
	refused 'no record'
}

@test "it fails, and says so, when it can't be made durable" {
	sync() { return 1; }
	run witness_write data "$ID" 5 0 "$A"
	assert_failure
}

@test "legs that were there until only the RAM leg was, and legs that were given up" {
	local C=aaaaaaaa-0000-0000-0000-000000000003
	put 100 0 "$A" "$B"
	put 101 0 "$B"
	put 102 0
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ${WITNESS[left]} == "$B" && -z ${WITNESS[given]-} ]]
	put 103 0
	witness_read data "$ID"
	[[ ${WITNESS[left]} == "$B" ]]
	WITNESS_GIVE_UP="$A  $C $A" put 104 0 "$B"
	witness_read data "$ID"
	[[ -z ${WITNESS[left]-} && ${WITNESS[given]} == "$A $C" ]]
	# Never forgotten, but for the one that is in sync.
	put 105 0 "$B" "$C"
	witness_read data "$ID"
	[[ ${WITNESS[given]} == "$A" ]]
	# Nor one that is in sync in the RAM leg's place.
	WITNESS_ALSO=$A put 106 0 "$B" "$C"
	witness_read data "$ID"
	[[ -z ${WITNESS[given]-} ]]
}

@test "legs that were ever in sync are remembered, the latest 16" {
	local i
	put 100 0 "$A" "$B"
	put 101 0 "$B"
	put 102 0
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A $B" ]]
	for i in {10..26}; do put 103 0 "$B" "aaaaaaaa-0000-0000-0000-0000000000$i"; done
	witness_read data "$ID"
	[[ $(wc -w <<<"${WITNESS[seen]}") == 16 && ${WITNESS[seen]} != *"$A"* && ${WITNESS[seen]} == *26 ]]
	# Another array's are not ours.
	witness_write data 99999999-2222-3333-4444-555555555555 5 0 "$A"
	witness_read data 99999999-2222-3333-4444-555555555555
	[[ ${WITNESS[seen]} == "$A" ]]
}

@test "a full file system: it is overwritten in its place" {
	put 100 0 "$A" "$B"
	act_file() { cat >/dev/null && return 1; }
	put 101 0 "$A"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$A" && ${WITNESS[events]} == 101 ]]
	put 102 0 "$A" "$B"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$A $B" ]]
	rm "$W"
	not put 103 0 "$A"
}

# The monitor of the array and a start may write at the same moment.
@test "what one writer gives up is not lost in what another writes" {
	local pid
	mkdir -p "$R/run/ramraid"
	put 100 0 "$A" "$B"
	eval "slow_$(declare -f witness_put_)"
	(
		witness_put_() {
			: >"$R/begun"
			sleep 0.3
			slow_witness_put_ "$@"
		}
		put 101 0 "$A" "$B"
	) &
	pid=$!
	until [[ -e $R/begun ]]; do sleep 0.01; done
	WITNESS_GIVE_UP=$B put 102 0 "$A"
	wait "$pid"
	witness_read data "$ID"
	[[ ${WITNESS[given]} == "$B" && ${WITNESS[legs]} == "$A" && ${WITNESS[events]} == 102 ]] || fail "$(<"$W")"
}

@test "a void one vouches for no leg, and remembers what must not be forgotten" {
	local C=aaaaaaaa-0000-0000-0000-000000000003
	void() { witness_void data "$ID" 2>/dev/null; }
	is_void() { # GENERATION
		not witness_read data "$ID"
		[[ $WITNESS_WHY == *'could not be written down'* && ! -v WITNESS[legs] && ! -v WITNESS[events] && ${WITNESS[generation]} == "$1" ]] || fail "$(<"$W")"
	}
	put 100 0 "$A" "$B" "$C"
	WITNESS_GIVE_UP=$A put 101 0 "$B" "$C"
	WITNESS_GIVE_UP=$C void
	is_void 3
	# Of those in sync one may have gone since: the last it would not have been.
	[[ ! -v WITNESS[left] && ${WITNESS[was]} == "$B $C" && ${WITNESS[given]} == "$A" && ${WITNESS[seen]} == "$A $B $C" ]] || fail "$(<"$W")"
	void
	is_void 3
	# The next record goes on from it.
	put 102 0 "$B"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$B" && ${WITNESS[given]} == "$A" && ${WITNESS[seen]} == "$A $B $C" && ${WITNESS[generation]} == 4 && ! -v WITNESS[left] ]] || fail "$(<"$W")"
	void
	put 103 0
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ! -v WITNESS[left] && ${WITNESS[given]} == "$A" ]] || fail "$(<"$W")"
	# Only the RAM leg was good: that stays.
	void
	witness_read data "$ID"
	[[ ${WITNESS[generation]} == 6 ]]
	# There was none, or a damaged one, or another array's.
	for text in '' x $'uuid=99999999-2222-3333-4444-555555555555\nlegs=\nevents=5\nram_slot=0\ngeneration=9\ngiven=1\n'; do
		rm "$W"
		[[ -z $text ]] || printf '%s' "$text" >"$W"
		void
		is_void 1
		[[ ! -v WITNESS[given] ]]
	done
	act_file() { cat >/dev/null && return 1; }
	rm "$W"
	not void
}

@test "damaged: a void one that says more than it can, or less" {
	local line
	mkdir -p "${W%/*}"
	for line in legs= legs="$A" events=5 void=1 generation=1 was=; do damaged "uuid=$ID"$'\nvoid=1\ngeneration=7\nwas=\n'"$line"$'\n'; done
	damaged "uuid=$ID"$'\nvoid=1\ngeneration=7\n'
	damaged "uuid=$ID"$'\nvoid=1\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=2\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=0\nlegs=\nevents=5\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nlegs=\nevents=5\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=1\ngeneration=07\nwas=\n'
}
