#!/usr/bin/env bats
# The witness: written durably, believed only if whole and about this array.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	A=aaaaaaaa-0000-0000-0000-000000000001
	B=aaaaaaaa-0000-0000-0000-000000000002
	N=bbbbbbbb-0000-0000-0000-000000000001
	W=$R/etc/ramraid/state/data.witness
}

# put EVENTS RAM_SLOT[:RAM_NUMBER] [LEG…]; FILLED, ALSO and GIVE_UP before it, as witness_write
# takes them.
put() {
	witness_write data "$ID" '' "$1" "$2" "${FILLED-}" "${ALSO-}" "${GIVE_UP-}" "${@:3}" \
		2>/dev/null
}

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

@test "a record that vanishes before it is read counts as damaged" {
	put 100 0 "$A" "$B"
	# Nothing is read when the file can't be opened.
	mapfile() { :; }
	# As in the program, which an unset variable would end.
	set -u
	refused damaged
	set +u
}

@test "what is written to a record is read back" {
	put 100 0 "$A" "$B"
	witness_read data "$ID"
	[[ ${WITNESS[uuid]} == "$ID" && ${WITNESS[legs]} == "$A $B" && ${WITNESS[events]} == 100 &&
		${WITNESS[ram_slot]} == 0 && ${WITNESS[generation]} == 1 ]]
	[[ -z $WITNESS_WHY && $(stat -c %a "$W") == 600 ]]
	put 100 '' "$A"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$A" && -z ${WITNESS[ram_slot]} ]]
}

@test "the generation counts up with each change, and nothing is written without one" {
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

@test "a record without disk legs says that the RAM leg was the only good copy" {
	put 100 0
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ${WITNESS[events]} == 100 && ${WITNESS[generation]} == 1 ]]
	put 100 0
	witness_read data "$ID"
	((WITNESS[generation] == 1))
	sed -i /^legs/d "$W"
	refused damaged
}

@test "no record, and the record of another array, are not believed" {
	refused 'no record'
	put 1 0 "$A"
	witness_read data "$ID"
	not witness_read data 99999999-2222-3333-4444-555555555555
	[[ $WITNESS_WHY == *'another array'* && ${#WITNESS[@]} == 0 ]]
	not witness_read other "$ID"
}

@test "the record of an earlier array with this name is overwritten" {
	put 500 0 "$A" "$B"
	witness_write data 99999999-2222-3333-4444-555555555555 '' 1 0 '' '' '' "$B" 2>/dev/null
	refused 'another array'
	witness_read data 99999999-2222-3333-4444-555555555555
	[[ ${WITNESS[events]} == 1 ]]
}

@test "damaged: a record that is empty, cut off, or has strange lines" {
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

@test "damaged numbers are not calculated with, and the next write repairs the record" {
	local line
	mkdir -p "${W%/*}"
	for line in events=abc events=08 'events=1 1' generation=abc 'generation=1 1' \
		generation=-1 generation=08 ram_slot=a 'ram_slot=1 2' ram_slot=-1; do
		printf '%s\n' "uuid=$ID" "legs=$A" events=5 generation=5 ram_slot=0 "$line" >"$W"
		refused damaged
		# The next write makes it good again, under the program's strictness.
		(
			set -eu
			put 6 0 "$A"
		) || fail "$line: the next write fails: $(witness_write data "$ID" '' 6 0 '' '' '' "$A" 2>&1)"
		witness_read data "$ID" || fail "$line: $WITNESS_WHY"
	done
}

@test "damaged: a record without its end, with a line twice, with NUL bytes, or too long" {
	local good before=$SECONDS
	put 100 0 "$A" "$B"
	good=$(<"$W")
	damaged "$good"
	damaged "$good"$'\nevents=101\n'
	damaged "${good/events=100/events=100$'\r'}"$'\n'
	printf '%s\n\0' "$good" >"$W"
	refused damaged
	printf '%s\n' "${good/legs=/legs=$(printf '%070000d' 0)}" >"$W"
	refused damaged
	# Quick, however large it is.
	truncate -s 1T "$W"
	refused damaged
	yes "$good" | head -c 50000000 >"$W"
	refused damaged
	((SECONDS - before < 60))
}

@test "the count at which every slot was filled stays until all are again; if it is not known, it is the latest" {
	filled() { # FILLED EVENTS WANTED
		FILLED=$1 put "$2" 0 "$A"
		[[ $WITNESS_FILLED == "$3" ]]
		witness_read data "$ID"
		[[ ${WITNESS[filled]} == "$3" ]] || fail "$*: ${WITNESS[filled]}"
	}
	filled '' 100 100
	filled '' 105 100
	filled yes 110 110
	filled '' 120 110
	# The count goes back with it, when a person has chosen an older leg.
	filled yes 90 90
	# A record of 0.1.0, one that could not be made, a damaged one.
	sed -i /^filled/d "$W"
	filled '' 130 130
	witness_void data "$ID" 2>/dev/null
	not grep filled "$W"
	filled '' 140 140
	sed -i 's/^filled=.*/filled=08/' "$W"
	refused damaged
	filled '' 150 150
	# It alone is worth a write.
	filled '' 150 150
	sed -i 's/^filled=.*/filled=100/' "$W"
	filled yes 150 150
}

@test "text in a record is not executed, and a long line does no harm" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p "${W%/*}"
	damaged $'events=$(touch X)\n'
	damaged $'a[$(touch X)]=1\n'
	damaged "legs=$(printf '%0100000d' 0)"$'\n'
	head -c 100000 /dev/zero >"$W"
	not witness_read data "$ID" 2>/dev/null
	[[ ! -e X ]]
}

@test "a link, a folder or a FIFO is no record" {
	put 5 0 "$A"
	mv "$W" "$W.real"
	ln -s "$W.real" "$W"
	refused 'no record'
	rm "$W" && mkdir "$W"
	refused 'no record'
	rmdir "$W" && mkfifo "$W"
	refused 'no record'
}

@test "writing a record fails if it can't be made durable" {
	sync() { return 1; }
	run witness_write data "$ID" '' 5 0 '' '' '' "$A"
	assert_failure
}

@test "the legs that left last, and the legs that were given up, are remembered" {
	local C=aaaaaaaa-0000-0000-0000-000000000003
	put 100 0 "$A" "$B"
	put 101 0 "$B"
	put 102 0
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ${WITNESS[left]} == "$B" && -z ${WITNESS[given]-} ]]
	put 103 0
	witness_read data "$ID"
	[[ ${WITNESS[left]} == "$B" ]]
	GIVE_UP="$A  $C $A" put 104 0 "$B"
	witness_read data "$ID"
	[[ -z ${WITNESS[left]-} && ${WITNESS[given]} == "$A $C" ]]
	# Never forgotten, but for the one that is in sync.
	put 105 0 "$B" "$C"
	witness_read data "$ID"
	[[ ${WITNESS[given]} == "$A" ]]
	# Nor one that is in sync in the RAM leg's place.
	ALSO=$A put 106 0 "$B" "$C"
	witness_read data "$ID"
	[[ -z ${WITNESS[given]-} ]]
}

@test "legs that were ever in sync are remembered, as many as an array may have" {
	local i
	put 100 0 "$A" "$B"
	put 101 0 "$B"
	put 102 0
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A $B" ]]
	local more=()
	for i in {100..499}; do more+=("aaaaaaaa-0000-0000-0000-000000000$i"); done
	put 103 0 "$B" "${more[@]:0:60}"
	witness_read data "$ID"
	[[ $(wc -w <<<"${WITNESS[seen]}") == 62 && ${WITNESS[seen]} == "$A $B "* ]]
	put 104 0 "${more[@]}"
	witness_read data "$ID"
	[[ $(wc -w <<<"${WITNESS[seen]}") == 384 && ${WITNESS[seen]} != *"$A"* &&
		${WITNESS[seen]} == *499 ]]
	# Another array's are not ours.
	witness_write data 99999999-2222-3333-4444-555555555555 '' 5 0 '' '' '' "$A"
	witness_read data 99999999-2222-3333-4444-555555555555
	[[ ${WITNESS[seen]} == "$A" ]]
}

@test "on a full file system the record is overwritten in place" {
	put 100 0 "$A" "$B"
	act_text() { return 1; }
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
@test "a leg that one writer gives up is not lost when another one writes" {
	local pid
	mkdir -p "$R/run/ramraid"
	put 100 0 "$A" "$B"
	eval "slow_$(declare -f act_text_anyhow)"
	(
		act_text_anyhow() {
			: >"$R/begun"
			sleep 0.3
			slow_act_text_anyhow "$@"
		}
		put 101 0 "$A" "$B"
	) &
	pid=$!
	until [[ -e $R/begun ]]; do sleep 0.01; done
	GIVE_UP=$B put 102 0 "$A"
	wait "$pid"
	witness_read data "$ID"
	[[ ${WITNESS[given]} == "$B" && ${WITNESS[legs]} == "$A" && ${WITNESS[events]} == 102 ]] ||
		fail "$(<"$W")"
}

@test "a writer that was held up does not write over the record of one that did not wait for the lock" {
	local code=0 pid
	mkdir -p "$R/run/ramraid"
	put 100 0 "$A" "$B"
	lock_take() { return 1; }
	(
		dd() {
			command dd "$@"
			[[ $* != *of="$W".* ]] || {
				: >"$R/begun"
				until [[ -e $R/go-on ]]; do command sleep 0.01; done
			}
		}
		put 101 0 "$A" "$B"
	) &
	pid=$!
	until [[ -e $R/begun ]]; do command sleep 0.01; done
	put 102 0 "$A"
	: >"$R/go-on"
	wait "$pid" || code=$?
	((code == 2)) || fail "$code"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$A" && ${WITNESS[events]} == 102 && -z $(compgen -G "$W.*") ]] ||
		fail "$(<"$W")"
}

@test "a void record vouches for no leg, and remembers the legs that were given up or ever in sync" {
	local C=aaaaaaaa-0000-0000-0000-000000000003
	void() { witness_void data "$ID" 2>/dev/null; }
	is_void() { # GENERATION
		not witness_read data "$ID"
		[[ $WITNESS_WHY == *'could not be recorded'* && ! -v WITNESS[legs] &&
			! -v WITNESS[events] && ${WITNESS[generation]} == "$1" ]] ||
			fail "$(<"$W")"
	}
	put 100 0 "$A" "$B" "$C"
	GIVE_UP=$A put 101 0 "$B" "$C"
	void
	is_void 3
	# Of those in sync one may have gone since: the last it would not have been.
	[[ ! -v WITNESS[left] && ${WITNESS[was]} == "$B $C" && ${WITNESS[given]} == "$A" &&
		${WITNESS[seen]} == "$A $B $C" ]] ||
		fail "$(<"$W")"
	void
	is_void 3
	# The next record goes on from it.
	put 102 0 "$B"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$B" && ${WITNESS[given]} == "$A" &&
		${WITNESS[seen]} == "$A $B $C" && ${WITNESS[generation]} == 4 &&
		! -v WITNESS[left] ]] ||
		fail "$(<"$W")"
	void
	put 103 0
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ! -v WITNESS[left] && ${WITNESS[given]} == "$A" ]] ||
		fail "$(<"$W")"
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
	act_text() { return 1; }
	rm "$W"
	not void
}

@test "the record of an array that ramraid has left is void whatever is seen, until ramraid takes it up" {
	mounts '8:2 /boot ext4 rw'
	leave() { witness_leave data "$ID" 2>/dev/null; }
	is() { # VOID GENERATION
		not witness_read data "$ID"
		[[ ${WITNESS[void]}:${WITNESS[generation]} == "$1:$2" && -z ${WITNESS[was]} &&
			${WITNESS[given]} == "$A" && ${WITNESS[seen]} == "$A $B" ]] ||
			fail "$(<"$W")"
	}
	put 100 0 "$A" "$B"
	GIVE_UP=$A put 101 0 "$B"
	leave
	is 2 3
	cmp "$W" "$C"
	[[ $WITNESS_WHY == 'its claim was removed, '* ]]
	put 102 0 "$B"
	witness_void data "$ID" 2>/dev/null
	leave
	is 2 3
	# Its copy is older.
	sed -i s/generation=3/generation=2/ "$C"
	witness_void data "$ID" 2>/dev/null
	is 2 4
	cmp "$W" "$C"
	witness_take_up data "$ID" 2>/dev/null
	is 1 5
	witness_take_up data "$ID" 2>/dev/null
	is 1 5
	put 103 0 "$B"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$B" && ${WITNESS[given]} == "$A" ]]
	witness_take_up data "$ID"
	cmp "$W" "$C"
	witness_void data "$ID" 2>/dev/null
	leave
	[[ $(<"$W") == *$'\nvoid=2\n'* && $(<"$W") == *$'\nwas=\n'* ]]
	act_text() { return 1; }
	dd() { return 1; }
	run witness_take_up data "$ID"
	assert_failure 1
	assert_output -p 'still vouches for no disk; when that is fixed: ramraid claim data'
}

@test "damaged: a void record that says too much, or too little" {
	local line
	mkdir -p "${W%/*}"
	for line in legs= legs="$A" events=5 void=1 generation=1 was=; do
		damaged "uuid=$ID"$'\nvoid=1\ngeneration=7\nwas=\n'"$line"$'\n'
	done
	damaged "uuid=$ID"$'\nvoid=1\ngeneration=7\n'
	damaged "uuid=$ID"$'\nvoid=1\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=3\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=0\nlegs=\nevents=5\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nlegs=\nevents=5\ngeneration=7\nwas=\n'
	damaged "uuid=$ID"$'\nvoid=1\ngeneration=07\nwas=\n'
}

# mounts LINE…: "NUMBER TARGET TYPE OPTIONS", and the root file system.
mounts() {
	local number target type options
	declare -gA CONF=([WITNESS_COPY]=auto)
	echo '1 0 8:1 / / rw - btrfs /dev/sda1 rw' >"$R/proc/1/mountinfo"
	while read -r number target type options; do
		mkdir -p "$R$target"
		echo "2 1 $number / $target $options,relatime shared:1 - $type /dev/x rw" \
			>>"$R/proc/1/mountinfo"
	done < <(printf '%s\n' "$@")
	C=$R/boot/ramraid/$ID.witness
}

@test "the second copy: on /boot or the ESP, if that is a file system of its own" {
	place() { # PATH WRITABLE
		witness_copy_find "$ID"
		[[ $WITNESS_COPY == "${1:+$R$1/$ID.witness}" && $WITNESS_COPY_WRITABLE == "$2" ]] ||
			fail "$WITNESS_COPY $WITNESS_COPY_WRITABLE ($WITNESS_COPY_WHY), not $1 $2"
	}
	mounts '8:3 /srv ext4 rw'
	place '' ''
	[[ $WITNESS_ROOT == btrfs ]]
	mounts '8:2 /boot ext4 rw' '8:3 /boot/efi vfat rw'
	place /boot/ramraid yes
	mounts '8:2 /boot/efi vfat rw'
	place /boot/efi/ramraid yes
	mounts '8:2 /boot/efi vfat rw' '8:4 /efi vfat rw'
	place /efi/ramraid yes
	mounts '8:2 /boot ext4 ro'
	place /boot/ramraid ''
	# A subvolume of the root file system, an automount that nobody has looked at, another
	# machine's.
	mounts '8:1 /boot btrfs rw'
	place '' ''
	mounts '0:30 /boot autofs rw'
	place '' ''
	mounts '0:31 /boot nfs4 rw'
	place '' ''
	mounts '8:2 /boot ext4 rw'
	CONF[WITNESS_COPY]=none
	place '' ''
	unset 'CONF[WITNESS_COPY]'
	place '' ''
	# A folder.
	mounts '8:2 /boot ext4 rw' '8:5 /srv ext4 rw'
	CONF[WITNESS_COPY]=/srv/copies
	place '' ''
	mkdir "$R/srv/copies"
	place /srv/copies yes
	CONF[WITNESS_COPY]=/var/copies
	place '' ''
	[[ $WITNESS_COPY_WHY == '/var/copies is on the root file system' ]]
	# Others could write what root then believes, or have it wait at a FIFO.
	CONF[WITNESS_COPY]=/srv/copies
	chmod 777 "$R/srv/copies"
	place /srv/copies yes # looked at once by each program
	WITNESS_COPY_TRUST=()
	place '' ''
	[[ $WITNESS_COPY_WHY == "$R/srv/copies is writable by others than root (mode 777)" ]]
	chmod 755 "$R/srv/copies"
	mounts '0:50 /srv fuse.x rw'
	CONF[WITNESS_COPY]=/srv/copies
	sed -i '/fuse/s/$/,user_id=1000,group_id=0/' "$R/proc/1/mountinfo"
	WITNESS_COPY_TRUST=()
	place '' ''
	[[ $WITNESS_COPY_WHY == '/srv is of type fuse.x, and may not be there'* ]]
	# Nothing is looked at that would be mounted by that, or would wait for the network.
	for type in autofs nfs4 cifs; do
		mounts "0:50 /srv $type rw"
		witness_copy_is_roots_() { called looked "$1"; }
		CONF[WITNESS_COPY]=/srv/copies
		place '' ''
		[[ $WITNESS_COPY_WHY == "/srv is of type $type"* && -z $(calls) ]]
	done
	mounts '0:50 /boot btrfs rw'
	place /boot/ramraid yes
	mounts '0:50 /srv btrfs rw'
	CONF[WITNESS_COPY]=/srv/copies
	place /srv/copies yes
	CONF[WITNESS_COPY]=/var/copies
	# On the array itself: the device that is mounted is a volume on it.
	mounts '253:0 /boot ext4 rw'
	mkdir -p "$R/sys/dev/block/253:0" "$R"/sys/class/block/{dm-0/slaves/md9,md9/slaves/md127p1} \
		"$R/sys/block/md127/md127p1"
	echo DEVNAME=dm-0 >"$R/sys/dev/block/253:0/uevent"
	# Of one of its partitions, even: that has no slaves.
	echo 1 >"$R/sys/block/md127/md127p1/partition"
	ln -s ../../block/md127/md127p1 "$R/sys/class/block/md127p1"
	declare -gA F=([array.md]=md126)
	place /boot/ramraid yes
	F[array.md]=md127
	place '' ''
}

@test "the second copy: written after the record, for root alone; the newer of the two counts" {
	mounts '8:2 /boot ext4 rw'
	put 100 0 "$A" "$B"
	cmp "$W" "$C"
	[[ $(stat -c %a "$C") == 600 ]]
	cp "$W" "$BATS_TEST_TMPDIR/old"
	put 110 0 "$A"
	# The root file system is put back to an older state.
	cp "$BATS_TEST_TMPDIR/old" "$W"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$A" && ${WITNESS[events]} == 110 && $WITNESS_COUNTS == copy ]]
	# ... to one without any; or it is damaged. Then the copy alone vouches for nothing.
	rm "$W"
	only_copy() {
		not witness_read data "$ID"
		[[ $WITNESS_WHY == "there is only its second copy, $C, which may be older" &&
			-z ${WITNESS[legs]+set}${WITNESS[events]+set} && ${WITNESS[was]} == "$A" &&
			${WITNESS[void]}:${WITNESS[generation]}:$WITNESS_COUNTS == 1:2:copy ]] ||
			fail "$WITNESS_WHY" "$(declare -p WITNESS)"
	}
	only_copy
	echo nonsense >"$W"
	only_copy
	# What is the same as it is then, is written all the same: both agree again.
	put 110 0 "$A"
	cmp "$W" "$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == own && ${WITNESS[generation]} == 3 ]] || fail "$(<"$W")"
	# The copy is the older one, is damaged, or about another array.
	cp "$BATS_TEST_TMPDIR/old" "$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == own && ${WITNESS[legs]} == "$A" ]]
	sed -i s/uuid=1/uuid=2/ "$C"
	sed -i s/generation=.*/generation=99/ "$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == own && ${WITNESS[legs]} == "$A" ]]
	# Nothing has changed: only the copy is written.
	local before
	before=$(stat -c %i "$W")
	put 110 0 "$A"
	cmp "$W" "$C"
	[[ $(stat -c %i "$W") == "$before" ]]
}

@test "the second copy: one that was away while the record was deleted, or the array released, vouches for no leg" {
	mounts '8:2 /boot ext4 rw'
	put 100 0 "$A" "$B"
	# /boot is unmounted, and a leg leaves while nothing can be written but a file be deleted.
	mounts
	witness_read data "$ID"
	witness_forget data 2>/dev/null
	[[ ! -e $W && -e $C ]]
	mounts '8:2 /boot ext4 rw'
	not witness_read data "$ID"
	[[ -z ${WITNESS[legs]-} ]]
	# The next record is later than the copy.
	put 150 0 "$A"
	cmp "$W" "$C"
	grep -qx generation=2 "$W"
	# But if it says that only the RAM leg was good, it counts alone as well.
	put 160 0
	rm "$W"
	witness_read data "$ID"
	[[ ${WITNESS[legs]-none}:${WITNESS[events]} == :160 ]]
}

@test "the second copy: if the record was begun anew while it was away, neither vouches for a leg" {
	mounts '8:2 /boot ext4 rw'
	mkdir -p "$R/proc/sys/kernel/random"
	uuid() { echo "$1-0000-4000-8000-000000000000" >"$R/proc/sys/kernel/random/uuid"; }
	uuid 11111111
	for events in 100 110 120; do put "$events" 0 "$A" "$B"; done
	cp "$C" "$BATS_TEST_TMPDIR/old"
	# The disk with the copy, B, is pulled out, and the array is released and adopted again.
	rm "$C"
	mounts ''
	witness_read data "$ID"
	witness_forget data
	uuid 22222222
	put 200 0 "$A"
	mounts '8:2 /boot ext4 rw'
	cp "$BATS_TEST_TMPDIR/old" "$C"
	not witness_read data "$ID"
	[[ ${WITNESS[void]} == 1 && ${WITNESS[was]} == "$A" && -z ${WITNESS[legs]-} ]]
	[[ ${WITNESS[seen]} == "$A" && ${WITNESS[doubted]} == "$B" && ${WITNESS[generation]} == 1 ]]
	[[ $WITNESS_WHY == *'two copies are unrelated'* ]]
	# That it vouches for none is written down where that is not so yet.
	cp "$W" "$BATS_TEST_TMPDIR/new"
	witness_void data "$ID" 2>/dev/null
	grep -qx void=1 "$W"
	cmp "$W" "$C"
	cp "$BATS_TEST_TMPDIR/new" "$W"
	cp "$BATS_TEST_TMPDIR/old" "$C"
	# With all disks there is a start, and both agree again.
	put 210 0 "$A" "$B"
	cmp "$W" "$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == own && ${WITNESS[generation]} == 2 && ${WITNESS[life]} == 22222222-* ]]
	# That only the RAM leg was good stays, whichever of them says it.
	put 220 0
	cp "$BATS_TEST_TMPDIR/old" "$C"
	echo "given=$B" >>"$C"
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ${WITNESS[events]} == 220 && ${WITNESS[given]} == "$B" ]]
	cp "$W" "$C"
	cp "$BATS_TEST_TMPDIR/old" "$W"
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]} && ${WITNESS[events]} == 220 && $WITNESS_COUNTS == copy ]]
	cp "$C" "$W"
	put 230 0 "$A" "$B"
	# What a version before lives wrote is older, and says nothing.
	sed -i /^life=/d "$C"
	witness_read data "$ID"
	[[ ${WITNESS[legs]} == "$A $B" && $WITNESS_COUNTS == own ]]
}

@test "the second copy: one with no life, or another one, vouches for no leg, and makes none known" {
	local life
	mounts '8:2 /boot ext4 rw'
	mkdir -p "$R/proc/sys/kernel/random"
	echo 11111111-0000-4000-8000-000000000000 >"$R/proc/sys/kernel/random/uuid"
	GIVE_UP=$B put 500 0 "$A" "$B"
	GIVE_UP=$B put 510 0 "$A"
	cp "$W" "$BATS_TEST_TMPDIR/own"
	for life in '' life=cccccccc-0000-4000-8000-000000000000; do
		cp "$BATS_TEST_TMPDIR/own" "$W"
		printf '%s\n' "uuid=$ID" "legs=$N" events=900 ram_slot=0 generation=500 \
			"seen=$N" $life "given=$A" "left=$N" >"$C"
		not witness_read data "$ID"
		[[ ${WITNESS[void]} == 1 && ${WITNESS[seen]} == "$A $B" && -z ${WITNESS[left]} &&
			${WITNESS[was]} == "$A" && ${WITNESS[generation]} == 2 &&
			${WITNESS[doubted]} == "$N" ]] || fail "$(declare -p WITNESS)"
		[[ " $WITNESS_KNOWN " == *" $A "* && $WITNESS_KNOWN != *"$N"* ]]
		# Who is given up in one of them is.
		[[ ${WITNESS[given]} == "$B $A" ]] || fail "${WITNESS[given]}"
		# Nor does it become known by what is written next.
		put 520 0 "$A"
		cmp "$W" "$C"
		witness_read data "$ID"
		[[ ${WITNESS[legs]} == "$A" && $WITNESS_KNOWN != *"$N"* ]] || fail "$(<"$W")"
	done
	# That only the RAM leg was good starts nothing from a leg, nor from the RAM leg: its slot,
	# and who has left, stay what the record itself says.
	cp "$BATS_TEST_TMPDIR/own" "$W"
	printf '%s\n' "uuid=$ID" legs= events=900 ram_slot=0 ram_number=0 generation=500 \
		"left=$N" >"$C"
	witness_read data "$ID"
	[[ -z ${WITNESS[legs]}${WITNESS[left]}${WITNESS[ram_slot]-} &&
		${WITNESS[events]} == 900 ]] ||
		fail "$(declare -p WITNESS)"
}

@test "the second copy: a leg that only the copy knows is not known, even if the copy counts; it is remembered" {
	mounts '8:2 /boot ext4 rw'
	put 100 0 "$A"
	cp "$W" "$BATS_TEST_TMPDIR/old"
	put 110 0 "$A" "$N"
	witness_read data "$ID"
	[[ $WITNESS_KNOWN == *"$N"* && ${WITNESS[seen]} == "$A $N" && -z ${WITNESS[doubted]} ]]
	cp "$BATS_TEST_TMPDIR/old" "$W"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy && ${WITNESS[legs]} == "$A $N" && ${WITNESS[seen]} == "$A" &&
		${WITNESS[doubted]} == "$N" && $WITNESS_KNOWN != *"$N"* ]] ||
		fail "$(declare -p WITNESS)"
	# In sync, where everybody sees it, it is known.
	put 120 0 "$A" "$N"
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A $N" && -z ${WITNESS[doubted]} && $WITNESS_KNOWN == *"$N"* ]]
}

@test "the second copy: after an upgrade neither has a life, and the later one counts; then both get one" {
	mounts '8:2 /boot ext4 rw'
	mkdir -p "$R/proc/sys/kernel/random" "$R/boot/ramraid" "${W%/*}"
	echo 11111111-0000-4000-8000-000000000000 >"$R/proc/sys/kernel/random/uuid"
	printf '%s\n' "uuid=$ID" "legs=$A $B" events=100 ram_slot=0 generation=5 >"$W"
	printf '%s\n' "uuid=$ID" "legs=$A" events=110 ram_slot=0 generation=6 >"$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy && ${WITNESS[legs]} == "$A" ]]
	# The root file system, put back to before the upgrade.
	sed -i '$a life=11111111-0000-4000-8000-000000000000' "$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy && ${WITNESS[legs]} == "$A" ]]
	# A record as it is, and no copy: a life is a change.
	put 100 0 "$A" "$B"
	sed -i /^life=/d "$W"
	rm "$C"
	put 100 0 "$A" "$B"
	grep -q ^life= "$W"
	cmp "$W" "$C"
	# It can't be written beside it yet.
	sed -i '/^life=/d; s/^generation=.*/generation=5/' "$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == own && ${WITNESS[legs]} == "$A $B" ]]
}

@test "the second copy: a generation that is too high is damage, and our own begins anew before that" {
	local number
	mounts '8:2 /boot ext4 rw'
	mkdir -p "$R/proc/sys/kernel/random"
	echo 11111111-0000-4000-8000-000000000000 >"$R/proc/sys/kernel/random/uuid"
	put 100 0 "$A" "$B"
	sed -i "s/^generation=.*/generation=1000000000000000/; s/^legs=.*/legs=$B/" "$C"
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == own && ${WITNESS[legs]} == "$A $B" && $WITNESS_SPLIT == yes ]]
	# As high as it can be, of the copy or, by what an earlier version has believed, of our own.
	for number in 999999999999999 999999999999999999; do
		sed -i "s/^generation=.*/generation=$number/" "$W" "$C"
		echo 22222222-0000-4000-8000-000000000000 >"$R/proc/sys/kernel/random/uuid"
		put "$((${#number} + 100))" 0 "$A" "$B"
		witness_read data "$ID"
		[[ ${WITNESS[generation]} == 1 && ${WITNESS[life]} == 22222222-* ]] ||
			fail "$(<"$W")"
		cmp "$W" "$C"
		put "$((${#number} + 200))" 0 "$A" "$B"
		witness_read data "$ID"
		[[ ${WITNESS[generation]} == 2 ]]
	done
}

@test "the device that is the RAM leg is remembered apart from the legs; what may be it in an old record is doubted" {
	ALSO=$N put 100 0 "$A" "$B"
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A $B" && ${WITNESS[doubted]} == "$N" && $WITNESS_KNOWN != *"$N"* ]]
	# One that was a leg before.
	ALSO=$B put 110 0 "$A"
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A" && ${WITNESS[doubted]} == "$N $B" && $WITNESS_KNOWN != *"$B"* ]]
	put 120 0 "$A" "$B"
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A $B" && ${WITNESS[doubted]} == "$N" ]]
	# Before there was that line, they were among the legs.
	sed -i "/^doubted=/d; s/^seen=.*/seen=$N $A $B/" "$W"
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$N $A $B" && $WITNESS_KNOWN == *"$N"* ]]
	CONF[RAM]=/dev/disk/by-id/nvme-X
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A $B" && ${WITNESS[doubted]} == "$N" && $WITNESS_KNOWN != *"$N"* ]]
	put 130 0 "$A"
	CONF[RAM]=auto
	witness_read data "$ID"
	[[ ${WITNESS[seen]} == "$A $B" && ${WITNESS[doubted]} == "$N" && $WITNESS_KNOWN != *"$N"* ]]
}

@test "of a leg that has left, the record keeps the most events that it can have had then, until it is back" {
	local C=cccccccc-0000-0000-0000-000000000001 i
	departed() { # LEG:EVENTS…
		witness_read data "$ID" || :
		[[ ${WITNESS[departed]-} == "$*" ]] || fail "departed: ${WITNESS[departed]-}"
	}
	put 100 0 "$A" "$B" "$C"
	departed
	put 110 0 "$A" "$B:105" "$C:110"
	departed "$B:105" "$C:110"
	# The first count stays.
	put 120 0 "$A" "$B:120"
	departed "$B:105" "$C:110"
	# md writes to one of them again, which is not yet in sync.
	witness_return data "$ID" "$B"
	departed "$C:110"
	[[ ${WITNESS[legs]} == "$A" && ${WITNESS[events]} == 120 && $WITNESS_DEPARTED == "$C:110" &&
		${WITNESS[seen]} == "$A $B $C" && ${WITNESS[generation]} == "$WITNESS_GENERATION" ]]
	i=$WITNESS_GENERATION
	witness_return data "$ID" "$N"
	((WITNESS_GENERATION == i))
	put 125 0 "$A" "$B:125"
	departed "$C:110" "$B:125"
	# Nobody may have recorded what became of them since.
	witness_void data "$ID"
	departed
	witness_return data "$ID" "$B"
	put 126 0 "$A" "$B:126+" "$C:126"
	departed "$B:126+" "$C:126"
	# One is in sync again, md writes to the other.
	put 130 0 "$A" "$B" "$C:"
	departed
	# Nothing is kept of what never was a leg.
	put 140 0 "$A" "$B" "$N:140"
	departed
	# Only the RAM leg is good.
	put 150 0 "$A:150" "$B:150"
	departed "$A:150" "$B:150"
	[[ -z ${WITNESS[legs]} && ${WITNESS[left]} == "$A $B" ]]
	for text in "$A" "$A:" "$A:1x" "$A:1:2" "$A:+" "$A:1++" "$A:07" "$A:1$B:2" "$A:1-a:2" "$A:1  $B:2"; do
		damaged "uuid=$ID"$'\n'"legs=$A"$'\nevents=1\ngeneration=1\ndeparted='"$text"$'\n'
	done
}

@test "the second copy: auto uses no file system that somebody can plug in, make up or serve, but on root's disk" {
	local bus
	disk() { # NODE NUMBER BUS
		mkdir -p "$R/sys/devices/$3/$1" "$R/sys/dev/block"
		ln -sfn "$R/sys/devices/$3/$1" "$R/sys/class/block/$1"
		ln -sfn "$R/sys/devices/$3/$1" "$R/sys/dev/block/$2"
		echo "DEVNAME=$1" >"$R/sys/devices/$3/$1/uevent"
		: >"$R/dev/$1"
	}
	disk sda 8:1 pci0/ata1
	for bus in pci0/usb1 platform/host4/session2/target4; do
		disk sdb 8:16 "$bus"
		mounts '8:16 /boot ext4 rw'
		witness_copy_find "$ID"
		[[ -z $WITNESS_COPY &&
			$WITNESS_COPY_WHY == '/boot is on '*' (/dev/sdb), where'* ]] ||
			fail "$bus: $WITNESS_COPY ($WITNESS_COPY_WHY)"
		# Where somebody wants it there.
		mkdir -p "$R/boot/copies"
		CONF[WITNESS_COPY]=/boot/copies
		witness_copy_find "$ID"
		[[ $WITNESS_COPY == "$R/boot/copies/$ID.witness" ]]
	done
	disk loop3 7:3 virtual/block
	mounts '7:3 /efi vfat rw'
	witness_copy_find "$ID"
	[[ -z $WITNESS_COPY && $WITNESS_COPY_WHY == '/efi is on loop (/dev/loop3)'* ]] ||
		fail "$WITNESS_COPY_WHY"
	disk sdb 8:16 pci0/ata2
	mounts '8:16 /boot ext4 rw'
	witness_copy_find "$ID"
	[[ -n $WITNESS_COPY ]]
	# A machine whose only disk is on USB.
	disk sda 8:1 pci0/usb1
	disk sda1 8:2 pci0/usb1/sda
	: >"$R/sys/class/block/sda1/partition"
	mounts '8:2 /boot ext4 rw'
	witness_copy_find "$ID"
	[[ $WITNESS_COPY == "$R/boot/ramraid/$ID.witness" ]] || fail "$WITNESS_COPY_WHY"
}

@test "the second copy: is made void, and is deleted, with the record" {
	mounts '8:2 /boot ext4 rw'
	put 100 0 "$A" "$B"
	cp "$W" "$BATS_TEST_TMPDIR/old"
	witness_void data "$ID" 2>/dev/null
	cmp "$W" "$C"
	cp "$BATS_TEST_TMPDIR/old" "$W"
	not witness_read data "$ID"
	[[ ${WITNESS[void]} == 1 && $WITNESS_COUNTS == copy ]]
	witness_forget data
	[[ ! -e $W && ! -e $C ]]
	not witness_read data "$ID"
	[[ ${#WITNESS[@]} == 0 ]]
}

@test "a record that is deleted does not come back after a power cut, or the deletion fails" {
	mounts '8:2 /boot ext4 rw'
	put 100 0 "$A" "$B"
	witness_read data "$ID"
	sync() { called sync "$@"; }
	witness_forget data
	[[ ! -e $W && ! -e $C && $(calls) == "sync -- ${W%/*}
sync -- ${C%/*}" ]] || fail "$(calls)"
	# Nobody can tell whether it is gone for good.
	put 100 0 "$A" "$B"
	witness_read data "$ID"
	sync() { return 1; }
	not witness_forget data
	unset -f sync
	put 100 0 "$A" "$B"
	witness_read data "$ID"
	sync() { [[ $* != *"${C%/*}" ]]; }
	not witness_forget data
	# There is no folder to bring it back.
	rm -rf "${W%/*}" "${C%/*}"
	witness_forget data
}

@test "the second copy: if it says that only the RAM leg was good, the record is made to say so, or is deleted" {
	void() { witness_void data "$ID" 2>/dev/null; }
	mounts '8:2 /boot ext4 rw'
	GIVE_UP=$A put 100 0:0 "$B"
	cp "$W" "$BATS_TEST_TMPDIR/old"
	put 101 0:0
	cp "$C" "$BATS_TEST_TMPDIR/copy"
	cp "$BATS_TEST_TMPDIR/old" "$W"
	void
	cmp "$W" "$C"
	diff <(grep -v ^generation= "$C") <(grep -v ^generation= "$BATS_TEST_TMPDIR/copy")
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == own && $WITNESS_GENERATION == 3 && ${WITNESS[left]} == "$B" ]]
	# Nothing can be written to the root file system. What vouches for nobody stays.
	eval "real_$(declare -f act_text_anyhow)"
	act_text_anyhow() { [[ $1 != "$W" ]] && real_act_text_anyhow "$@"; }
	for text in void=1$'\n'was= legs=$'\n'events=99; do
		printf '%s\n' "uuid=$ID" "$text" "life=${WITNESS[life]}" generation=1 doubted= >"$W"
		void
		[[ $(<"$W") == *"$text"* ]]
		witness_read data "$ID"
		[[ $WITNESS_COUNTS == copy && ${WITNESS[generation]} == "$WITNESS_GENERATION" ]]
	done
	cp "$BATS_TEST_TMPDIR/old" "$W"
	void
	[[ ! -e $W ]]
	witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy && -z ${WITNESS[legs]} && ${WITNESS[events]} == 101 ]]
	cp "$BATS_TEST_TMPDIR/old" "$W"
	rm() { return 1; } # EROFS
	not void
	unset -f rm
}

@test "the second copy: on a full file system it is overwritten in place" {
	mounts '8:2 /boot ext4 rw'
	put 100 0 "$A" "$B"
	eval "real_$(declare -f act_text)"
	act_text() { [[ $1 != "$C" ]] && real_act_text "$@"; }
	put 300 0 "$B"
	cmp "$W" "$C"
	[[ $(<"$C") == *"legs=$B"$'\n'* ]]
}

@test "the second copy: failing to write it is a warning, and it is written even if the record can't be" {
	mounts '8:2 /boot ext4 rw'
	act_text() {
		called "$1"
		[[ $1 == "$W" ]]
	}
	witness_write data "$ID" '' 100 0 '' '' '' "$A" 2>"$BATS_TEST_TMPDIR/log"
	grep -q "second copy of the record, $C, can't be written" "$BATS_TEST_TMPDIR/log"
	[[ $(calls) == "$W"$'\n'"$C" ]] || fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	act_text_anyhow() { [[ $1 == "$W" ]] || called "$1"; return 1; }
	not witness_write data "$ID" '' 100 0 '' '' '' "$A" 2>/dev/null
	[[ $(calls) == "$C" ]] || fail "$(calls)"
}

@test "the second copy: a file system that does not answer is waited for once, and the record counts alone" {
	local began log=$BATS_TEST_TMPDIR/log
	mounts '8:2 /boot ext4 rw'
	put 100 0 "$A" "$B"
	sed s/generation=1/generation=2/ "$W" >"$C"
	timeout() { command timeout "${@/#30/1}"; }
	answers() {
		kill -KILL "$(cut -d' ' -f1 "$R/run/ramraid/.locks/"silent.*boot*)"
		while bounded_is_silent "${C%/*}"; do sleep 0.1; done
	}
	# Its text; who reads it can't be killed.
	head() { trap '' TERM && exec sleep 20; }
	began=$SECONDS
	witness_read data "$ID" 2>"$log"
	witness_read data "$ID" 2>>"$log"
	[[ $WITNESS_COUNTS == own && ${WITNESS[generation]} == 1 ]]
	[[ $(<"$log") == *"second copy of the record, $C, can't be read: its file system does not "* &&
		$(grep -c . "$log") == 1 ]] || fail "$(<"$log")"
	rm "$W"
	not witness_read data "$ID"
	[[ $WITNESS_WHY == 'there is no record of the last start' ]]
	# Nor is it written, or deleted, while that reader is there.
	put 110 0 "$A"
	grep -qx generation=1 "$W"
	grep -qx generation=2 "$C"
	not witness_forget data
	[[ -e $C ]]
	((SECONDS - began < 8)) || fail "$((SECONDS - began)) s"
	unset -f head
	answers
	not witness_read data "$ID"
	[[ $WITNESS_COUNTS == copy && ${WITNESS[generation]} == 2 ]]
	# Writing it.
	put 110 0 "$A"
	cmp "$W" "$C"
	dd() {
		[[ $* != *"$R/boot/"* ]] || exec sleep 20
		command dd "$@"
	}
	began=$SECONDS
	put 120 0 "$A"
	((SECONDS - began < 8)) || fail "$((SECONDS - began)) s"
	grep -qx events=120 "$W"
	grep -qx events=110 "$C"
	unset -f dd
	answers
	# Looking at the folder.
	WITNESS_COPY_TRUST=()
	trust_why_not() { exec sleep 20; }
	began=$SECONDS
	witness_read data "$ID"
	((SECONDS - began < 8)) || fail "$((SECONDS - began)) s"
	[[ -z $WITNESS_COPY && $WITNESS_COPY_WHY == "${C%/*} does not answer" ]]
	[[ ${WITNESS[events]} == 120 ]]
	answers
}

@test "the second copy: if the mounts can't be seen, that is said" {
	CONF[WITNESS_COPY]=auto
	rm "$R/proc/1/mountinfo"
	witness_copy_find "$ID" 2>"$BATS_TEST_TMPDIR/log"
	[[ -z $WITNESS_COPY && $WITNESS_COPY_WHY == *"mountinfo can't be read" ]]
	grep -q 'not looking for the second copy of the record' "$BATS_TEST_TMPDIR/log"
	CONF[WITNESS_COPY]=none
	witness_copy_find "$ID" 2>"$BATS_TEST_TMPDIR/log"
	[[ ! -s $BATS_TEST_TMPDIR/log ]]
}
