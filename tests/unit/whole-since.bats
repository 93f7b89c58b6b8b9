#!/usr/bin/env bats
# The record of when an array was whole and how it was rebuilt: when it is written, and that nothing
# depends on it.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	FILE=$R/etc/ramraid/state/data.lately
	facts_read <"$FIXTURES/decide/whole-2.facts"
	F[uuid]=$ID
	mkdir -p "$R/proc/sys/kernel/random" "$R/sys/block/md127/md" \
		"$R"/sys/class/block/{sda,sdb,rd0} "$R/etc/ramraid/state"
	echo b0b0b0b0-0000-4000-8000-000000000001 >"$R/proc/sys/kernel/random/boot_id"
	echo 12 >"$R/sys/block/md127/diskseq"
	echo 4096 >"$R/sys/block/md127/md/component_size"
	counts 800 100 50
	unset EPOCHSECONDS SECONDS
	EPOCHSECONDS=1000 SECONDS=500
}
# counts ARRAY A B: what has been read of them, in sectors.
counts() {
	echo "1 0 $1 0 2 0 0 0 0 0 0" >"$R/sys/block/md127/stat"
	echo "1 0 $2 0 2 0 0 0 0 0 0" >"$R/sys/class/block/sda/stat"
	echo "1 0 $3 0 2 0 0 0 0 0 0" >"$R/sys/class/block/sdb/stat"
}
readonly BOOT1='b0b0b0b0-0000-4000-8000-000000000001 md127 12'
# notes [ended]: notes, and then the file holds WORDS.
notes() { # WORDS [ended]
	local words=$1
	shift
	whole_since_update "$@" 2>"$BATS_TEST_TMPDIR/log"
	[[ $(<"$FILE") == "$ID $words" ]] || fail "$(<"$FILE")"
}
rebuilt() { LOOP_ENGINE=$1 LOOP_FILLING=$((SECONDS - $2)); } # ENGINE SECONDS

@test "since when the array is whole, and what was read by then, is recorded once" {
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	EPOCHSECONDS=2000
	counts 900 200 60
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	[[ ! -s $BATS_TEST_TMPDIR/log ]]
}

@test "a rebuild is recorded with engine, time and speed; the counts begin anew, and since when it is whole stays" {
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	EPOCHSECONDS=2000
	counts 900 4200 60
	rebuilt copy 4
	notes "$BOOT1 copy 1000 0 2000 4 1024 900 4260"
	# Once.
	EPOCHSECONDS=3000
	notes "$BOOT1 copy 1000 0 2000 4 1024 900 4260"
	rebuilt kernel 0
	notes "$BOOT1 kernel 1000 0 3000 0 4096 900 4260"
}

@test "the time at which an array is no longer whole is recorded once, and the one at which it is whole again" {
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	EPOCHSECONDS=2000
	F[leg.1.state]=faulty
	notes "$BOOT1 none 1000 2000 0 0 0 800 150"
	EPOCHSECONDS=3000
	notes "$BOOT1 none 1000 2000 0 0 0 800 150"
	F[leg.1.state]=in_sync
	notes "$BOOT1 none 3000 0 0 0 0 800 150"
	# The RAM leg was rebuilt, although a disk leg is missing.
	F[leg.1.state]=''
	EPOCHSECONDS=4000
	rebuilt kernel 2
	notes "$BOOT1 kernel 3000 4000 4000 2 2048 800 150"
}

@test "a stop records until when the array was whole; a start that does not make it whole changes nothing" {
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	EPOCHSECONDS=2000
	notes "$BOOT1 none 1000 2000 0 0 0 800 150" ended
	echo 13 >"$R/sys/block/md127/diskseq"
	F[ram.state]=none
	EPOCHSECONDS=3000
	notes "$BOOT1 none 1000 2000 0 0 0 800 150"
}

@test "after a power cut no end of the whole time is recorded, and once whole again the record begins anew" {
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	echo c0c0c0c0-0000-4000-8000-000000000002 >"$R/proc/sys/kernel/random/boot_id"
	EPOCHSECONDS=2000
	F[ram.state]=none
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	F[ram.state]=in_sync
	notes "c0c0c0c0-0000-4000-8000-000000000002 md127 12 none 2000 0 0 0 0 800 150"
	# Another life in the same boot.
	echo 13 >"$R/sys/block/md127/diskseq"
	EPOCHSECONDS=3000
	notes "c0c0c0c0-0000-4000-8000-000000000002 md127 13 none 3000 0 0 0 0 800 150"
}

@test "a start says if the run before it ended without a stop, and only then" {
	says() { run whole_since_tell_unclean && assert_output "$1"; }
	says ''
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	# In the same boot, it has been stopped by hand.
	says ''
	echo c0c0c0c0-0000-4000-8000-000000000002 >"$R/proc/sys/kernel/random/boot_id"
	TZ=UTC says 'data: was whole since 1970-01-01 00:16:40, in a run that ended without a stop: a power cut, or a crash of the system'
	echo b0b0b0b0-0000-4000-8000-000000000001 >"$R/proc/sys/kernel/random/boot_id"
	EPOCHSECONDS=2000
	notes "$BOOT1 none 1000 2000 0 0 0 800 150" ended
	echo c0c0c0c0-0000-4000-8000-000000000002 >"$R/proc/sys/kernel/random/boot_id"
	says ''
}

@test "nothing is written for an array that was never whole and never rebuilt, nor in a dry run" {
	F[ram.state]=none
	whole_since_update
	whole_since_update ended
	DRY_RUN=yes
	F[ram.state]=in_sync
	whole_since_update
	[[ ! -e $FILE ]]
}

@test "a record that is damaged, or of another array, counts as none, and nothing in it is executed" {
	local words good="$ID $BOOT1 copy 1000 0 2000 4 1024 900 4260"
	cd "$BATS_TEST_TMPDIR"
	F[boot]='' F[lately]=$good
	read_share_history
	[[ $HISTORY_SINCE == 1000 && $HISTORY_ENGINE == copy && $HISTORY_DISK_READS == 4260 &&
		$HISTORY_LIFE == "$BOOT1" ]]
	for words in '' x '*' "$good 1" "${good% *}" "${good/1000/a[\$(touch X)]}" "${good/1000/08}" "${good/1000/-1}" "${good/1000/99999999999999999999999999999999999999999999999999999999999999999999999999999999}" \
		"${good/copy/x}" "${good/copy/$'\e[2J'}" \
		"${good/$ID/99999999-2222-3333-4444-555555555555}" "${good/1000/F}"; do
		F[lately]=$words
		read_share_history
		[[ $HISTORY_SINCE == 0 && $HISTORY_REBUILT == 0 && $HISTORY_ENGINE == none &&
			! -e X ]] ||
			fail "$words"
	done
	printf 'a[$(touch X)] %s\n' "$good" >"$FILE"
	notes "$BOOT1 none 1000 0 0 0 0 800 150"
	[[ ! -e X ]]
}

@test "a record that can't be written is reported, and is no failure" {
	rm -r "$R/etc/ramraid/state"
	: >"$R/etc/ramraid/state"
	whole_since_update 2>"$BATS_TEST_TMPDIR/log"
	grep -q 'data.lately could not be written' "$BATS_TEST_TMPDIR/log"
	rm "$R/sys/block/md127/stat" "$R/proc/sys/kernel/random/boot_id" \
		"$R/sys/block/md127/diskseq"
	whole_since_update 2>/dev/null
}
