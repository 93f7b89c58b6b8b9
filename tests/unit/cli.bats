#!/usr/bin/env bats
# The command line: options, exit codes, the lock. Programs that change something are only asked for
# --help here.

setup() {
	load helper
	world
}

ramraid() { "$PROJECT/bin/ramraid" "$@"; }
verbs() { for verb in "$PROJECT"/lib/cmd/{,internal/}*.sh; do basename "$verb" .sh; done; }

@test "ramraid without a verb exits with 2, --help and --version work, and nonsense is refused" {
	local verb
	run ramraid --help
	assert_success
	assert_output -p 'usage: ramraid VERB'
	for verb in --version -V; do
		run ramraid "$verb"
		assert_output "ramraid $(<"$PROJECT/lib/VERSION")"
	done
	run ramraid
	assert_failure 2
	for verb in nonsense ../cmd/start Start start.sh --nonsense -x '$(id)'; do
		run ramraid "$verb"
		assert_failure 2
		assert_output -p "unknown verb"
	done
	[[ -z $(find "$R" -path "$R/proc" -prune -o -type f -print) ]]
}

@test "every verb: --help exits with 0 and begins with the usage, an unknown option exits with 2" {
	local verb
	for verb in $(verbs); do
		run ramraid "$verb" --help
		assert_success
		assert_line -n 0 -p "usage: ramraid $verb"
		run ramraid "$verb" --nonsense
		assert_failure 2
		assert_output -p 'unknown option --nonsense'
		assert_line -p "usage: ramraid $verb"
		run ramraid "$verb" -q
		assert_failure 2
	done
	[[ -z $(find "$R" -path "$R/proc" -prune -o -type f -print) ]]
}

@test "verbs that take one array refuse none and two, and exit with 3 if there is no such array" {
	local verb
	for verb in start stop attach detach wait; do
		run ramraid "$verb"
		assert_failure 2
		run ramraid "$verb" a b
		assert_failure 2
		run ramraid "$verb" missing
		assert_failure 3
		assert_output -p 'there is no array "missing"'
		run ramraid "$verb" -- -missing
		assert_failure 2
	done
	for verb in status check; do
		run ramraid "$verb" missing
		assert_failure 3
	done
	run ramraid create onlyname
	assert_failure 2
}

@test "every verb refuses an impossible name with 2 and a message, and writes nothing" {
	local verb name long
	printf -v long '%0300d' 0
	touch "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/evil.conf"
	mkdir -p "$R/run/ramraid"
	# What a name with ".." in it would lead to.
	printf "UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n\
RAM=auto\n" |
		tee "$R/etc/evil.conf" "$R/run/evil.started" >"$R/evil"
	mkdir "$R/etc/ramraid/a"
	cp "$R/evil" "$R/etc/ramraid/a/b.conf"
	find "$R" | sort >"$BATS_TEST_TMPDIR/tree"
	cd "$BATS_TEST_TMPDIR"
	for name in '' .. ../evil a/b -x $'x\ny\e[2J' '$(touch X)' 'a[$(touch X)]' ramraid \
		evil.conf "a$long" ä $'\xff'; do
		for verb in start stop attach detach wait status check create; do
			set -- "$name"
			[[ $verb != create ]] || set -- "$name" /dev/disk/by-id/none
			run ramraid "$verb" -- "$@"
			[[ $status == 2 && $output == *"can't be an array's name"* ]] ||
				fail "$verb ${name@Q}: $status $output"
			[[ ! $output =~ [$'\x01'-$'\x09'$'\x0b'-$'\x1f'] && ${#output} -lt 600 ]] ||
				fail "$verb: ${output@Q}"
		done
	done
	for verb in claim remember witness; do
		run ramraid "$verb" -- ../evil
		assert_failure 2
	done
	find "$R" | sort | diff "$BATS_TEST_TMPDIR/tree" -
	[[ ! -e X ]]
}

@test "status shows no control characters of a broken file, and does not read a huge one" {
	printf 'UUID=\e[2J\n' >"$R/etc/ramraid/data.conf"
	truncate -s 1T "$R/etc/ramraid/huge.conf"
	yes 0123456789 | head -c 20000000 >"$R/etc/ramraid/lines.conf"
	run timeout 20 "$PROJECT/bin/ramraid" status
	assert_failure 3
	assert_output -p 'contains control characters'
	refute_output -p $'\e'
	assert_line -p 'huge.conf: has 1099511627776 bytes'
	((${#output} < 5000))
}

@test "start, stop and wait exit with 2 and the errors of a broken configuration; status says what it means" {
	echo nonsense >"$R/etc/ramraid/data.conf"
	local verb
	for verb in start stop wait; do
		run ramraid "$verb" data
		assert_failure 2
		assert_output -p "data.conf:1: "
	done
	run ramraid status data
	assert_failure 3
	assert_output -p misconfigured
	assert_line -p 'it does not run, and is not started with this configuration'
	mkdir -p "$R/dev/md"
	: >"$R/dev/md/data"
	run ramraid status data
	assert_line \
		-p '/dev/md/data keeps running, but with this configuration the next boot does not start it'
}

@test "an unknown array: the message lists the configured ones" {
	run ramraid status dta
	assert_failure 3
	assert_output "there is no array \"dta\": $R/etc/ramraid/dta.conf does not exist; \
configured: none"
	: >"$R/etc/ramraid/home.conf"
	: >"$R/etc/ramraid/data.conf"
	: >"$R/etc/ramraid/ramraid.conf"
	local verb
	for verb in status check start; do
		run ramraid "$verb" dta
		assert_failure 3
		assert_output -p 'does not exist; configured: data home'
	done
}

@test "status without a configured array succeeds and says that there is none" {
	run ramraid status
	assert_success
	assert_output -p 'no arrays are configured'
}

parses() { # FLAGS ARG…
	libraries
	cli_parse $'usage: x\n\nmore' "$@"
}

@test "cli_parse: flags, values, operands, --" {
	parses 'yes force ram= timeout=' --yes a --ram=brd b --timeout= -- --force -x
	[[ ${ARGS[*]} == 'a b --force -x' && ${OPT[yes]} == yes && ${OPT[ram]} == brd &&
		-z ${OPT[timeout]} && ! -v OPT[force] ]]
	cli_parse x '' one
	[[ ${ARGS[*]} == one && ${#OPT[@]} == 0 ]]
	cli_parse x 'ram=' '--ram=a=b c' -
	[[ ${OPT[ram]} == 'a=b c' && ${ARGS[*]} == - ]]
	# The value may be the next word, but not where there need not be one.
	cli_parse x 'ram= watch watch= no-wait=' a --ram brd --watch b --no-wait --x
	[[ ${OPT[ram]} == brd && ${OPT[watch]} == yes && ${OPT[no_wait]} == --x &&
		${ARGS[*]} == 'a b' ]]
	run parses 'ram=' name --ram
	assert_failure 2
	assert_output -p -- '--ram needs a value'
}

@test "cli_parse: --dry-run sets DRY_RUN, nothing else does" {
	parses 'dry-run no-wait' --no-wait name
	[[ -z $DRY_RUN ]]
	cli_parse x 'dry-run no-wait' --dry-run name
	[[ $DRY_RUN == yes ]]
}

@test "no code reads an option by a key that can't have been set" {
	# Formatting takes [dry-run] for arithmetic and makes it [dry - run], which is another key.
	run grep -nE '\b(OPT|F|CONF|WITNESS)\[[^]"]* - [^]]*\]' -r "$PROJECT/lib" "$PROJECT/bin" \
		"$PROJECT/units"
	assert_output ''
}

@test "cli_parse: -n and -y count where the long form is taken" {
	parses 'dry-run yes' -n name -y
	[[ $DRY_RUN == yes && ${OPT[dry_run]} == yes && ${OPT[yes]} == yes && ${ARGS[*]} == name ]]
	cli_parse x 'dry-run yes' -- -y
	[[ ${ARGS[*]} == -y && ! -v OPT[yes] ]]
	run parses 'yes' -n
	assert_failure 2
	assert_output -p 'unknown option -n'
	run parses '' -n
	assert_failure 2
	run parses '' -q
	assert_failure 2
}

@test "help shows the manual page on a terminal if it can, and otherwise the usage of the verb" {
	local verb
	run ramraid help
	assert_success
	assert_output "$(ramraid --help)"
	for verb in stop mend help; do
		run ramraid help "$verb"
		assert_success
		assert_output "$(ramraid "$verb" --help)"
	done
	run ramraid help sotp
	assert_failure 2
	assert_output -p 'unknown verb "sotp"; did you mean "stop"?'
	run ramraid help stop start
	assert_failure 2
	# On a terminal. RAMRAID_ROOT leaves functions in the environment.
	man() { [[ $1 == -w && ${MISSING-} == yes ]] && return 16 ||
		printf '<man %s>%s' "$*" "${LESSSECURE-}"; }
	export -f man
	export SHELL=/bin/bash
	run script -qec "$PROJECT/bin/ramraid help stop" /dev/null </dev/null
	assert_output '<man 8 ramraid-stop>1'
	export MISSING=yes
	run script -qec "$PROJECT/bin/ramraid help stop" /dev/null </dev/null
	assert_output -p "the manual page ramraid-stop(8) can't be shown (is man installed?)"
	assert_output -p 'usage: ramraid stop'
}

@test "a mistyped word: the message suggests the nearest one, if it is near" {
	local word
	libraries
	for word in stauts:status relase:release destory:destroy stpo:stop STATUS:status xyz: s: \
		'':'' "$(printf '%0100d' 0):" adpot:adopt; do
		text_suggest "${word%%:*}" status stop start release adopt destroy
		[[ $SUGGESTION == "${word#*:}" ]] || fail "$word: $SUGGESTION"
	done
	text_suggest 'a[$(touch X)]' 'b[$(touch X)]'
	[[ ! -e X ]]
	: >"$R/etc/ramraid/data.conf"
	: >"$R/etc/ramraid/home.conf"
	run ramraid start dtaa
	assert_failure 3
	assert_output -p 'configured: data home; did you mean "data"?'
	run ramraid start elsewhere
	refute_output -p 'did you mean'
}

@test "cli_parse refuses unknown options, with the first line of the usage" {
	local bad
	for bad in --no --ram --yes=1 --ram= -n -Y -yn --=x '--y es' '--yes name' '--dry-run yes' \
		--dry-run; do
		run parses 'yes name=' "$bad"
		assert_failure 2
		assert_output -p "unknown option $bad"
		assert_line 'usage: x'
		refute_output -p more
	done
	# Quoted by mistake: not a dry run without a word.
	run parses 'dry-run yes force' '--dry-run yes'
	assert_failure 2
	libraries
	run cli_usage $'usage: x a\n       b\n\nmore' oops
	assert_failure 2
	assert_output $'ramraid: oops\nusage: x a b'
	run parses '' -h
	assert_success
	assert_output $'usage: x\n\nmore'
	run parses '' x --help --nonsense
	assert_success
}

@test "a second worker does not get the lock of an array: 75, with what to type" {
	libraries
	array_lock data 0
	run bash -c 'lib=$1/lib; source "$lib/core/load.sh"; need act/array-lock; array_lock other 0; array_lock data 0' - "$PROJECT"
	assert_failure 75
	assert_output -p 'ramraid wait data'
	exec {ARRAY_LOCK}>&-
	run array_lock data 0
	assert_success
}

@test "locks are for root alone, since whoever can open a file can hold it" {
	mkdir -p "$R/run/ramraid" # by an earlier version, or by hand
	libraries
	umask 022
	array_lock data 0
	[[ $(stat -c %a "$R/run/ramraid/.locks") == 700 && -e $R/run/ramraid/.locks/work.data ]]
	[[ -z $(find "$R/run/ramraid" -name '*lock' -o -name 'work*' -perm /077 \
		! -path '*/.locks/*') ]]
}

# boots N: the kernel's name of boot N. left: what is in $RUN, but for locks.
boots() {
	mkdir -p "$R/proc/sys/kernel/random"
	echo "0123456$1-89ab-4cde-8f01-23456789abcd" >"$R/proc/sys/kernel/random/boot_id"
}
left() { (cd "$R/run/ramraid" && find . -mindepth 1 ! -path './.locks/boot' | sort | tr '\n' ' '); }

@test "what another boot has left in /run is deleted before any verb reads it; what this boot has noted stays" {
	libraries
	boots 1
	# As a version before this one has left it, while its array runs.
	mkdir -p "$RUN/data.copy" "$LOCKS"
	touch "$RUN"/{data.ram,data.watched,data.copy/plan,.selftest} "$LOCKS/disks"
	before=$(left)
	paths_run
	[[ $(left) == "./.boot $before" && $(<"$RUN/.boot") == 01234561-* ]] || fail "$(left)"
	paths_run
	[[ $(left) == "./.boot $before" ]]
	boots 2
	# Nothing is followed.
	mkdir "$R/elsewhere" && touch "$R/elsewhere/kept"
	ln -s "$R/elsewhere" "$RUN/data.leads"
	ramraid list
	[[ $(left) == './.boot ./.locks ' && -e $R/elsewhere/kept && $(<"$RUN/.boot") == 01234562-* ]] ||
		fail "$(left)"
	touch "$RUN/data.ram"
	paths_run
	# Not known: nothing goes.
	for boot in '' nonsense; do
		printf '%s' "$boot" >"$R/proc/sys/kernel/random/boot_id"
		paths_run
		boots 2
		printf '%s' "$boot" >"$RUN/.boot"
		paths_run
		[[ -e $RUN/data.ram && $(<"$RUN/.boot") == 01234562-* ]]
	done
}

@test "two verbs that find /run left by another boot at once: the second deletes nothing that the first noted" {
	libraries
	boots 1
	paths_run
	touch "$RUN/data.old"
	boots 2
	eval "real_$(declare -f paths_boots_)"
	# Between the look and the lock.
	paths_boots_() {
		real_paths_boots_
		[[ ! -e $RUN/data.old ]] || (
			paths_boots_() { real_paths_boots_; }
			paths_run
			touch "$RUN/data.ram"
		)
	}
	paths_run
	[[ $(left) == './.boot ./.locks ./data.ram ' ]] || fail "$(left)"
}

@test "no verb goes on if what another boot has left in /run can't be deleted" {
	libraries
	boots 1
	paths_run
	touch "$RUN/data.watched"
	boots 2
	find() { return 1; }
	run paths_run
	assert_failure 1
	assert_output -p "what an earlier boot left in $RUN can't be deleted"
	unset -f find
	# A link: whoever has made it meant something else by it.
	mv "$RUN" "$R/run/there"
	ln -s there "$RUN"
	run ramraid list
	assert_failure 1
	assert_output -p "what an earlier boot left in $RUN can't be deleted"
	[[ -e $RUN/data.watched ]]
}

@test "output that can't be written ends with 1 and a message of ramraid's own" {
	local verb
	[[ -e /dev/full ]] || skip 'no /dev/full'
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' \
		>"$R/etc/ramraid/data.conf"
	for verb in status 'status --json' list check 'check --json' metrics 'config show' \
		'config show --json data'; do
		status=0
		# shellcheck disable=SC2086 # words
		"$PROJECT/bin/ramraid" $verb >/dev/full 2>"$BATS_TEST_TMPDIR/said" || status=$?
		[[ $status == 1 &&
			$(<"$BATS_TEST_TMPDIR/said") == *'the output could not be written' ]] ||
			fail "$verb: $status" "$(<"$BATS_TEST_TMPDIR/said")"
		not grep -E 'line [0-9]+' "$BATS_TEST_TMPDIR/said" ||
			fail "$verb" "$(<"$BATS_TEST_TMPDIR/said")"
	done
}

@test "a reader that has closed the pipe ends ramraid without a message, even if SIGPIPE is ignored" {
	local verb signal
	for verb in list 'status --help'; do
		for signal in '' -; do
			# The pipe's reader has ended before anything is written.
			# shellcheck disable=SC2086 # words
			(
				# shellcheck disable=SC2064 # as it is now
				trap "$signal" PIPE
				exec 3> >(:)
				wait $!
				"$PROJECT/bin/ramraid" $verb >&3
				echo $? >"$BATS_TEST_TMPDIR/code"
			) 2>"$BATS_TEST_TMPDIR/said" || :
			[[ $(<"$BATS_TEST_TMPDIR/code") == 141 && ! -s $BATS_TEST_TMPDIR/said ]] ||
				fail "$verb: $(<"$BATS_TEST_TMPDIR/code")" \
					"$(<"$BATS_TEST_TMPDIR/said")"
		done
	done
}

@test "act_apart: a function that a trap calls has its own exit status" {
	run bash -c 'lib=$1/lib; source "$lib/core/load.sh"; need core/act; f() { true && return; }; trap "act_apart f; echo \$?" EXIT; exit 3' - \
		"$PROJECT"
	assert_output 0
	# Without it, bash gives the status from before the trap: if this ends, so may act_apart.
	run bash -c 'f() { true && return; }; trap "f; echo \$?" EXIT; exit 3'
	[[ $output == 3 ]] || echo "# bash $BASH_VERSION has mended its return in traps" >&3
}

# asks_for_root VERB ARG…: the verb asks before it makes anything.
asks_for_root() {
	ramraid_with 'cli_root() { echo "asked for root"; exit 77; }' "$@"
	[[ $status == 77 && $output == *'asked for root' ]] || fail "$*: $status, $output"
	[[ ! -e $R/run/ramraid ]] || fail "$*: has made $R/run/ramraid"
}

# "bench" is not among them: it looks for fio before.
@test "verbs that need root check for it before they look at or change anything" {
	local verb args
	mkdir -p "$R/etc/ramraid"
	printf '%s\n' UUID=01234567-89ab-4cde-8f01-23456789abcd MEMBER=/dev/disk/by-id/ata-A \
		>"$R/etc/ramraid/data.conf"
	while read -r verb args; do
		# shellcheck disable=SC2086 # words
		asks_for_root $verb $args
	done <<-'END'
		apply data
		scrub data
		resize data
		start data
		stop data
		attach data
		detach data
		restore data
		release data
		destroy data
		claim
		selftest
		estimate data
		replace data /dev/disk/by-id/ata-A /dev/sdb
		create new /dev/sda
		adopt new /dev/md127
		adopt --find
		check --notify-test
		mend data
		witness
		leave data
		hotplug
		memory data
		remember
		yield data
	END
}

# goes FUNCTION VERB ARG…: the verb leaves the rest to FUNCTION. IS_UNIT says that its unit calls it,
# RUNS that systemd is the first process.
goes() {
	local want=$1
	shift
	ramraid_with '
		systemd_is_unit() { [[ -n $IS_UNIT ]]; }
		systemd_is_running() { [[ -n $RUNS ]]; }
		for f in start_here start_by_systemd start_plan start_forced stop_here \
			stop_by_systemd; do
			eval "$f() { echo \"$f \$*\"; }"
		done' "$@"
	[[ $status == 0 && $output == "$want data" ]] ||
		fail "$*: expected $want, got $status, $output"
}

@test "start and stop go through systemd, but not in the unit itself, nor where systemd does not run" {
	mkdir -p "$R/etc/ramraid" "$R/run/ramraid"
	printf '%s\n' UUID=01234567-89ab-4cde-8f01-23456789abcd MEMBER=/dev/disk/by-id/ata-A \
		>"$R/etc/ramraid/data.conf"
	export IS_UNIT='' RUNS=yes
	goes start_by_systemd start data
	goes stop_by_systemd stop data
	goes stop_here stop --dry-run data
	goes start_plan start --dry-run data
	goes start_forced start --force-leg=/dev/disk/by-id/ata-A data
	export IS_UNIT=yes
	goes start_here start data
	goes stop_here stop data
	export IS_UNIT='' RUNS=''
	goes start_here start data
	goes stop_here stop data
}

@test "stop deletes the notes by which a disk that appears would start the array again, but not with --dry-run" {
	local note
	mkdir -p "$R/etc/ramraid" "$R/run/ramraid"
	printf '%s\n' UUID=01234567-89ab-4cde-8f01-23456789abcd MEMBER=/dev/disk/by-id/ata-A \
		>"$R/etc/ramraid/data.conf"
	export IS_UNIT='' RUNS=yes
	for note in refused unstarted restarts; do
		: >"$R/run/ramraid/data.$note"
		goes stop_here stop --dry-run data
		[[ -e $R/run/ramraid/data.$note ]] || fail "$note has gone"
		goes stop_by_systemd stop data
		[[ ! -e $R/run/ramraid/data.$note ]] || fail "$note is still there"
	done
}

@test "attach succeeds if there is a RAM leg in the end, or if RAM=none" {
	local ram
	mkdir -p "$R/etc/ramraid" "$R/run/ramraid"
	export COMES_TO
	for ram in auto none; do
		printf '%s\n' UUID=01234567-89ab-4cde-8f01-23456789abcd \
			MEMBER=/dev/disk/by-id/ata-A "RAM=$ram" >"$R/etc/ramraid/data.conf"
		for COMES_TO in in_sync none; do
			ramraid_with '
				array_lock() { :; }
				attach_check_() { F[ram.state]=none; }
				ram_out_is_released() { return 1; }
				hotplug_tried() { :; }
				attach_here() { F[ram.state]=$COMES_TO LOOP_NO_RAM=why LOOP_PRINT=x; }
				attach_hand_over_() { :; }' attach data
			if [[ $COMES_TO$ram == noneauto ]]; then
				assert_failure 1
			else
				assert_success
			fi
		done
	done
}
