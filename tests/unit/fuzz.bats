#!/usr/bin/env bats
# Hostile and broken input in the mass. All of it comes from fuzz.pl, by a seed that is printed;
# RAMRAID_SEED=N repeats a run, and RAMRAID_FUZZ=N makes it N times as long. bash itself must never
# complain, nothing may be executed, and what comes out has its documented form.

setup() {
	load helper
	world
	SEED=${RAMRAID_SEED:-$RANDOM} TIMES=${RAMRAID_FUZZ:-1}
	C=$R/etc/ramraid
	ID=11111111-2222-3333-4444-555555555555
	ERR=$BATS_TEST_TMPDIR/err
	mkdir -p "$C/state" "$BATS_TEST_TMPDIR/in"
	# What is executed would be made here.
	cd "$BATS_TEST_TMPDIR/in" || exit
	umask 022
	# stderr itself is a file while the mass runs.
	exec {SAY}>&2
	fail() {
		printf '%s\n' "$@" >&"$SAY"
		return 1
	}
}

input() { # KIND COUNT FOLDER
	echo "# seed $SEED, $2 times $1" >&3
	perl "$BATS_TEST_DIRNAME/fuzz.pl" "$1" "$SEED" "$2" "$3"
}

# silent: nothing was said on stderr, which is in $ERR, and nothing was executed.
silent() {
	[[ ! -s $ERR ]] || fail "seed $SEED:" "$(head -c 2000 "$ERR")"
	[[ -z $(ls -A "$BATS_TEST_TMPDIR/in") ]] ||
		fail "seed $SEED: executed: $(ls -A "$BATS_TEST_TMPDIR/in")"
}

# conf_is_sound NAME CODE: after conf_load NAME returned CODE, everything in CONF, MEMBERS and
# REQUIRED_BY has its form.
conf_is_sound() {
	local key text
	local -A seen=() builtin=()
	eval "$(conf_keys_builtin && declare -p CONF | sed 's/^declare -A CONF=/builtin=/')"
	[[ $2 == [01] ]] || fail "seed $SEED, $1: exit code $2"
	(($2 == (${#CONF_ERRORS[@]} > 0))) ||
		fail "seed $SEED, $1: exit code $2, ${#CONF_ERRORS[@]} errors"
	((${#CONF[@]} == ${#builtin[@]})) || fail "seed $SEED, $1: keys ${!CONF[*]}"
	for key in "${!builtin[@]}"; do
		[[ -n ${CONF[$key]} && ${CONF[$key]} == "${builtin[$key]}" ||
			${CONF[$key]} =~ ${CONF_FORM[$key]} || $key == UUID && -z ${CONF[UUID]} &&
			$2 == 1 ]] ||
			fail "seed $SEED, $1: $key=${CONF[$key]@Q}"
	done
	[[ -z ${CONF[UUID]} || ${CONF[UUID]} =~ ^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$ ]] ||
		fail "seed $SEED, $1: UUID ${CONF[UUID]@Q}"
	for text in "${MEMBERS[@]}"; do
		stable_name_is "$text" && [[ ! -v seen["$text"] ]] ||
			fail "seed $SEED, $1: MEMBER ${text@Q}"
		seen["x$text"]=1
	done
	(($2 == 1 || ${#MEMBERS[@]} > 0))
	for text in "${REQUIRED_BY[@]}"; do
		[[ $text =~ ${CONF_FORM[REQUIRED_BY]} && $text != *$'\n'* ]] ||
			fail "seed $SEED, $1: REQUIRED_BY ${text@Q}"
	done
	for text in "${CONF_ERRORS[@]}"; do
		[[ $text == "$C/$1.conf:"* && $text != *$'\n'* && ${#text} -lt 600 ]] ||
			fail "seed $SEED, $1: ${text@Q}"
	done
}

confs() { # COUNT
	local - i code
	trap - DEBUG ERR # bats traces every command, which costs more than they do
	set -u           # as the program has it
	for ((i = 1; i <= $1; i++)); do
		code=0
		conf_load "f$i" || code=$?
		conf_is_sound "f$i" "$code"
		GOOD=$((GOOD + 1 - code))
	done
}

@test "fuzz: 2000 configurations, and 200 whole files, are read or refused, and nothing is executed" {
	libraries
	local GOOD=0 paths
	paths="$PATH ${IFS@Q} $EUID $LC_ALL $PWD $(umask)"
	input conf $((2000 * TIMES)) "$C"
	confs 200 2>"$ERR"
	silent
	GOOD=0
	# The owner and mode of a file cost a process each: 200 are enough for them.
	conf_files_look() { :; }
	conf_files_is_ok() { [[ -f $1 && -r $1 ]]; }
	confs $((2000 * TIMES)) 2>"$ERR"
	silent
	# The mass is neither all good nor all refused at the door.
	((GOOD > 200 * TIMES && GOOD < 1800 * TIMES)) || fail "$GOOD are good"
	[[ "$PATH ${IFS@Q} $EUID $LC_ALL $PWD $(umask)" == "$paths" && ! -v BASH_ENV ]]
}

superblocks() {
	local - expected words got
	trap - DEBUG ERR
	set -u
	while IFS='|' read -r expected words; do
		superblock_parse $words >"$BATS_TEST_TMPDIR/out"
		IFS= read -r -d '' got <"$BATS_TEST_TMPDIR/out" || :
		got=${got%$'\n'} got=${got//$'\n'/,}
		COUNT=$((COUNT + 1))
		[[ $got == "$expected" ]] ||
			fail "seed $SEED, superblock $COUNT: expected $expected, got $got: $words"
		[[ $got =~ $SUPERBLOCK_FORM ]] || fail "seed $SEED, superblock $COUNT: $got"
		[[ $got != sb=ok* ]] || superblock_is_sound "$got"
	done
}

UUID_FORM='[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}'
SUPERBLOCK_FORM="^(sb=none|sb=corrupt|sb=ok,uuid=$UUID_FORM,device_uuid=$UUID_FORM,level=[0-9]+,raid_disks=[0-9]+,size=[0-9]{1,17},data_offset=[0-9]{1,17},data_size=[0-9]{1,17},\
events=[0-9]{1,17},time=[0-9]{1,13},number=[0-9]+,role=([0-9]+|spare|faulty),roles=([0-9]+:[0-9]+( [0-9]+:[0-9]+)*)?,view=[A.]+,recovery=[0-9]*,dirty=(yes|no),bitmap=(yes|no),writemostly=(yes|no))\$"

superblock_is_sound() {
	local disks number role roles view
	[[ $1 =~ raid_disks=([0-9]+),.*,number=([0-9]+),role=([a-z0-9]+),roles=([0-9: ]*),view=([A.]+), ]]
	disks=${BASH_REMATCH[1]} number=${BASH_REMATCH[2]} role=${BASH_REMATCH[3]} \
		roles=${BASH_REMATCH[4]} view=${BASH_REMATCH[5]}
	((${#view} == disks)) || fail "seed $SEED: $1"
	# Who has a slot calls it active.
	[[ $role == [sf]* ]] ||
		[[ ${view:role:1} == A && $role -lt $disks &&
			" $roles " == *" $number:$role "* ]] ||
		fail "seed $SEED: $1"
	SOUND=$((SOUND + 1))
}

@test "fuzz: 600 superblocks, most with the right checksum, are parsed as expected, or refused" {
	libraries
	local COUNT=0 SOUND=0
	# Through a file: from a pipe bash reads one byte at a time.
	input sb $((600 * TIMES)) "$FIXTURES/superblock" >"$BATS_TEST_TMPDIR/images"
	superblocks <"$BATS_TEST_TMPDIR/images" 2>"$ERR"
	silent
	((COUNT == 600 * TIMES && SOUND > COUNT / 3 && SOUND < COUNT * 9 / 10)) ||
		fail "$SOUND of $COUNT are good"
}

witnesses() { # COUNT
	local - i leg
	trap - DEBUG ERR
	set -u
	for ((i = 1; i <= $1; i++)); do
		if witness_read "f$i" "$ID"; then
			GOOD=$((GOOD + 1))
			# Read further down with arithmetic, and as words.
			[[ ${WITNESS[uuid]} == "$ID" && ${WITNESS[legs]} =~ ^[0-9a-f\ -]*$ &&
				${WITNESS[ram_slot]-} =~ ^[0-9]{0,4}$ && -z $WITNESS_WHY ]] &&
				((WITNESS[generation] > 0 && WITNESS[events] >= 0 && ${WITNESS[generation]} + 1 > 1 && ${WITNESS[events]} + 1 > 0)) ||
				fail "seed $SEED, f$i: ${WITNESS[*]@Q}"
			for leg in ${WITNESS[departed]-}; do
				[[ $leg =~ ^[0-9a-f-]+:(0|[1-9][0-9]{0,17})[+]?$ ]] ||
					fail "seed $SEED, f$i: ${WITNESS[*]@Q}"
				COUNTS=$((COUNTS + 1))
			done
		else
			[[ (${#WITNESS[@]} == 0 || (${WITNESS[void]} == 1 && ! -v WITNESS[legs] &&
				! -v WITNESS[events] && ${WITNESS[generation]} -gt 0)) &&
				-n $WITNESS_WHY ]] ||
				fail "seed $SEED, f$i: ${WITNESS[*]@Q} $WITNESS_WHY"
		fi
	done
}

@test "fuzz: 400 witnesses are read or refused, and nothing is executed" {
	libraries
	local GOOD=0 COUNTS=0
	input witness $((400 * TIMES)) "$C/state"
	witnesses $((400 * TIMES)) 2>"$ERR"
	silent
	((GOOD > 40 * TIMES && GOOD < 360 * TIMES && COUNTS > 3 * TIMES)) ||
		fail "$GOOD are good, with $COUNTS counts"
}

gates() { # COUNT
	local - i file out=$BATS_TEST_TMPDIR/out
	trap - DEBUG ERR
	set -u
	for ((i = 1; i <= $1; i++)); do
		rm -rf "$out"
		mkdir "$out"
		cp "$BATS_TEST_TMPDIR/worlds/$i"/{fstab,crypttab} "$R/etc/"
		cp "$BATS_TEST_TMPDIR/worlds/$i/contents" "$C/state/data.contents"
		cp "$BATS_TEST_TMPDIR/worlds/$i/conf" "$C/data.conf"
		conf_load data || :
		LIMIT_DEVICES=()
		# a name may be too long for a file
		dropins_write "$out" data 2>>"$BATS_TEST_TMPDIR/said" || :
		limit_write "$out" 2>>"$BATS_TEST_TMPDIR/said" || :
		for file in good.mount mine.mount systemd-cryptsetup@good.service; do
			[[ -d $out/$file.d ]] || fail "seed $SEED, $i: no $file: $(ls "$out")"
		done
		find "$out" -mindepth 1 -printf '%P\n' >"$out.list"
		while IFS= read -r file; do
			[[ $file =~ ^[^/%]+\.(mount|swap|device|service|target)\.d(/(40-ramraid|50-ramraid-data)\.conf)?$ ||
				$file == *REQUIRED_BY* ]] ||
				fail "seed $SEED, $i: ${file@Q}"
		done <"$out.list"
		not grep -rvE '^#|^\[Unit\]$|^(Requires|After)=ramraid@data.service$|^JobRunningTimeoutSec=([0-9]+|infinity)$' "$out" ||
			fail "seed $SEED, $i"
	done
}

@test "fuzz: 30 worlds of fstab, crypttab and contents: each intact line in them is ordered" {
	libraries
	mkdir "$BATS_TEST_TMPDIR/worlds"
	input gate $((30 * TIMES)) "$BATS_TEST_TMPDIR/worlds"
	gates $((30 * TIMES)) 2>"$ERR"
	silent
	not grep -E ': line [0-9]+: |subscript|unbound|null byte' "$BATS_TEST_TMPDIR/said" ||
		fail "seed $SEED"
	# Nothing beside the folder, and no systemd unit's name from above it.
	[[ $(ls "$BATS_TEST_TMPDIR") == $'err\nin\nout\nout.list\nroot\nsaid\nworlds' ]] ||
		fail "$(ls "$BATS_TEST_TMPDIR")"
}
