#!/usr/bin/env bats
# What "status" and "status --json" make of facts, against files that are kept:
# tests/fixtures/status/STATE.{facts,txt,json}, the text as on a terminal of 80 columns. After a
# change that is meant: RAMRAID_GOLDEN=write bats tests/unit/status.bats, and a look at the
# difference.

setup() {
	load helper
	world
	libraries
	export TZ=UTC NO_COLOR=1
	STATES=$FIXTURES/status
	unset EPOCHSECONDS
	EPOCHSECONDS=1795170672
	replace
}

# After the libraries, whose functions these replace: what a look finds is in the fixture, each
# array's facts after the line "---" that ends the one before. Instead of names come their
# numbers.
replace() {
	summary_array() {
		facts_read < <(awk -v n="$1" 'BEGIN { i = 1 } $0 == "---" { i++; next } i == n' \
			"$STATES/$SHOWING.facts")
		summary_word
	}
	summary_detail() { :; }
	summary_past() { :; }
	conf_find_names() {
		mapfile -t CONF_NAMES < <(grep -c ^name= "$STATES/$SHOWING.facts" | xargs seq)
	}
}

# shows STATE [OPTION]: sets SHOWN and CODE.
shows() {
	SHOWING=$1 CODE=0 OPT=()
	[[ -z ${2-} ]] || OPT[$2]=yes
	status_all || CODE=$?
	SHOWN=${SHOWN//$R/}
}
states() { basename -s .facts "$STATES"/*.facts; }

# same STATE KIND: SHOWN is what is kept.
same() {
	if [[ ${RAMRAID_GOLDEN-} == write ]]; then
		printf '%s' "$SHOWN" >"$STATES/$1.$2"
	else
		diff -u "$STATES/$1.$2" <(printf '%s' "$SHOWN")
	fi
}

@test "every state, as text in 80 columns, with its exit code" {
	local state line
	for state in $(states); do
		shows "$state"
		read -r _ line <"$STATES/$state.facts"
		[[ $line == "$CODE: "* ]] || fail "$state: $CODE"
		plain=$SHOWN
		terminal_dress
		same "$state" txt
		# Broken differently, it says the same.
		[[ $(xargs -d '\n' <<<"$plain" | tr -s ' ') == \
			"$(xargs -d '\n' <<<"$SHOWN" | tr -s ' ')" ]] ||
			fail "$state: other words in 80 columns"
		# No line is longer but for a single word.
		! grep -E '^.{81}' <<<"$SHOWN" | grep -E '[^ ] +[^ ]' || fail "$state: too long"
	done
}

@test "a line says that nothing watches an array, even if it is whole" {
	local MONITOR_NOW=failed
	systemctl() { [[ $* == *ActiveState*ramraid-monitor@md127.path ]] && echo "$MONITOR_NOW"; }
	mkdir -p "$R/run/systemd/system" "$R/run/ramraid"
	shows whole
	[[ $SHOWN != *monitor:* ]] || fail "$SHOWN"
	: >"$R/run/ramraid/data.watched"
	shows whole
	[[ $SHOWN == *'  monitor: nothing watches it (ramraid-monitor@md127.path is failed); see: '* ]] ||
		fail "$SHOWN"
	MONITOR_NOW=active
	shows whole
	[[ $SHOWN != *monitor:* ]] || fail "$SHOWN"
}

@test "every state, as JSON that the schema accepts, formatted as by jq" {
	local state code
	for state in $(states); do
		code=0
		shows "$state" json
		same "$state" json
		perl "$BATS_TEST_DIRNAME/schema.pl" "$PROJECT/docs/status.schema.json" \
			<<<"$SHOWN" ||
			fail "$state"
		# As jq writes it.
		[[ $SHOWN == "$(jq . <<<"$SHOWN")"$'\n' ]] || fail "$state: not as jq writes it"
	done
}

@test "the schema rejects what is wrong, and each value that it allows is shown by some state" {
	local change schema=$PROJECT/docs/status.schema.json
	judge() {
		jq "$1" "$STATES/rebuilding-copy.json" |
			perl "$BATS_TEST_DIRNAME/schema.pl" "$schema"
	}
	judge .
	for change in 'del(.time)' '.x = 1' '.version = 1' '.version = "2"' '.time = "now"' \
		'.arrays = {}' '.arrays[0].state = "fine"' 'del(.arrays[0].why)' \
		'.arrays[0].why = ""' '.arrays[0].legs[0].slot = "0"' \
		'.arrays[0].legs[0].slot = -1' '.arrays[0].legs[0].slot = 1.5' \
		'.arrays[0].legs[1].device = "sda"' '.arrays[0].uuid = 7' \
		'.arrays[0].only_good_copy_in_ram = 0' '.arrays[0].activity.percent = 101' \
		'.arrays[0].activity.action = null' 'del(.arrays[0].activity.percent)' \
		'.arrays[0].others = ["/dev/"]' '.arrays[0].last_run.events = null' \
		'.arrays[0].legs[0].new = 1' '.arrays[0].reads_from_ram = {"percent": 1}'; do
		run judge "$change"
		[[ $status == 1 && -n $output ]] || fail "$change: $status $output"
	done
	# Every word of every list, and null for everything that may be null, has a state that shows
	# it; but for what md does to no mirror of ours.
	change=$(jq -rs '[.[].arrays[] | .state, .legs[].state, .legs[].role, .activity.action?, .last_rebuild.engine?, .unfinished.code?, .unfinished.verb?] | unique | .[] | strings' "$STATES"/*.json)
	while IFS= read -r state; do
		grep -qx -- "$state" <<<"$change" || fail "no state shows $state"
	done < <(jq -r '.. | .enum? | arrays[]' "$schema" | grep -vx 'repair\|reshape\|frozen')
}

@test "the words for a state are those of the schema and the manual, and each state of an array has a colour" {
	local word
	for word in $STATES_ARRAY; do
		[[ -n ${STATES_COLOUR[$word]} ]] || fail "$word has no colour"
		grep -qx "\*$word\*::" "$PROJECT/man/ramraid-status.8.adoc" ||
			fail "the manual lacks $word"
	done
	for word in "${!STATES_COLOUR[@]}"; do
		[[ " $STATES_ARRAY $STATES_LEG " == *" $word "* ]] || fail "$word is no state"
	done
	for word in "$STATES_ARRAY" "$STATES_LEG"; do
		[[ $(jq -c '.. | .enum? | arrays | sort' "$PROJECT/docs/status.schema.json") == \
			*"$(jq -c '. / " " | sort' <<<"\"$word\"")"* ]] ||
			fail "$word"
	done
}

@test "--problems: leaves out whole arrays, and shows the others as without it, with the same exit code" {
	local state plain word whole=0 wrong=0
	for state in $(states); do
		shows "$state"
		plain=$SHOWN CODE_PLAIN=$CODE
		shows "$state" problems
		[[ $CODE == "$CODE_PLAIN" ]] ||
			grep -q '^conf.warning\|^unfinished=' "$STATES/$state.facts" ||
			fail "$state: $CODE_PLAIN, with --problems $CODE"
		if ((CODE == 0)); then
			[[ -z $SHOWN ]] || fail "$state: $SHOWN"
			whole=$((whole + 1))
			continue
		fi
		wrong=$((wrong + 1))
		# Each line is one of those without the option, and none is of an array that is
		# whole and has no warning.
		[[ -n $SHOWN ]] && ! grep -qvxFf <(printf '%s' "$plain") <<<"${SHOWN%$'\n'}" ||
			fail "$state: $SHOWN"
	done
	((whole > 0 && wrong > 10)) || fail "$whole whole, $wrong not"
	# Two of them: of one that is whole and one that is not, the latter.
	shows two-arrays problems
	jq -r '.arrays[] | "\(.name) \(.state) \(.configuration_warnings | length)"' \
		"$STATES/two-arrays.json" |
		while read -r name word warnings; do
		if [[ $word:$warnings == whole:0 ]]; then
			[[ $SHOWN != *"$name: $word"* ]]
		else
			[[ $SHOWN == *"$name: $word"* ]]
		fi || fail "$name: $SHOWN"
	done
}

@test "--problems: shows a whole array with a fault in its configuration, with exit code 1" {
	STATES=$BATS_TEST_TMPDIR
	{
		cat "$FIXTURES/status/whole.facts" &&
			echo "conf.warning.0=/etc/ramraid/ramraid.conf:4: WAIT=maybe: write yes or \
no"
	} >"$STATES/fault.facts"
	shows fault
	[[ $CODE == 0 ]]
	shows fault problems
	[[ $CODE == 1 && $SHOWN == *whole*'WAIT=maybe'* ]] || fail "$CODE: $SHOWN"
	shows fault json
	[[ $CODE == 0 ]]
}

@test "--problems: shows a whole array with a disk that no MEMBER names, with exit code 1" {
	STATES=$BATS_TEST_TMPDIR
	grep -v '^array.strangers=' "$FIXTURES/status/whole.facts" >"$STATES/spare.facts"
	echo array.strangers=sdx >>"$STATES/spare.facts"
	shows spare
	[[ $CODE == 0 && $SHOWN == *'the next start would be refused'*'ramraid check data'* ]] ||
		fail "$CODE: $SHOWN"
	shows spare problems
	[[ $CODE == 1 && $SHOWN == *'the next start would be refused'* ]] || fail "$CODE: $SHOWN"
}

@test "an adoption that has not ended is found, and shown by --problems; one that has ended is not" {
	libraries # the real look
	ID=01234567-89ab-4cde-8f01-23456789abcd
	mkdir -p "$R/etc/ramraid/state"
	CONF[UUID]=$ID
	noted() {
		printf 'uuid=%s\nbitmap=none\ndone=%s\n' "$@" >"$R/etc/ramraid/state/data.adopted"
		summary_unfinished data
	}
	noted $ID no
	[[ ${F[unfinished]} == adopt && ${F[unfinished.undone]} == yes ]]
	noted $ID yes
	[[ -z ${F[unfinished]}${F[unfinished.undone]} ]]
	noted 99999999-89ab-4cde-8f01-23456789abcd no
	[[ -z ${F[unfinished]} ]]
	echo '# "ramraid release" has begun' >"$R/etc/ramraid/state/data.releasing"
	noted $ID no
	[[ ${F[unfinished]}${F[unfinished.undone]} == releaseyes ]]
	echo '# "ramraid destroy" has begun' >"$R/etc/ramraid/state/data.releasing"
	noted $ID yes
	[[ ${F[unfinished]}${F[unfinished.undone]} == destroy ]]
	replace
	shows unfinished-adopt problems
	[[ $CODE == 1 && $SHOWN == *'unfinished: expected an adoption to be complete'* ]]
}

@test "disks that have yet to leave are told, but not while a ramraid is at work on that" {
	libraries # the real look
	ID=01234567-89ab-4cde-8f01-23456789abcd
	mkdir -p "$R/etc/ramraid/state" "$R/run/ramraid/.locks"
	CONF[UUID]=$ID MEMBERS=(/dev/a /dev/b /dev/c)
	noted() {
		printf '%s\n' "uuid=$ID" "$@" >"$R/etc/ramraid/state/data.leaving"
		summary_unfinished data
	}
	noted member=/dev/a
	[[ ${F[unfinished]} == apply && ${F[unfinished.leaving]} == /dev/a &&
		-z ${F[unfinished.new]} ]]
	F[name]=data
	states_unfinished
	[[ $UNFINISHED_ACTION == "ramraid apply data; or, to keep /dev/a: rm $R/"*/data.leaving ]]
	noted member=/dev/a for=/dev/c
	[[ ${F[unfinished.new]} == /dev/c ]]
	states_unfinished
	[[ $UNFINISHED_ACTION == *'to keep /dev/a: ramraid replace data /dev/c /dev/a' ]]
	noted member=/dev/a for=/dev/c member=/dev/b for=/dev/d
	[[ ${F[unfinished.leaving]} == /dev/a ]]
	exec 8>"$R/run/ramraid/.locks/work.data"
	flock 8
	summary_unfinished data
	exec 8>&-
	[[ -z ${F[unfinished]} ]]
	summary_unfinished data
	[[ ${F[unfinished]} == apply ]]
	# Nobody but root can look at the lock.
	lock_is_free() { return 2; }
	summary_unfinished data
	[[ ${F[unfinished]} == apply ]]
	CONF[UUID]=11234567-89ab-4cde-8f01-23456789abcd
	summary_unfinished data
	[[ -z ${F[unfinished]} ]]
}

@test "--problems: prints nothing where no arrays are configured" {
	run "$PROJECT/bin/ramraid" status --problems
	assert_success
	assert_output ''
	one_array
	run "$PROJECT/bin/ramraid" status --problems
	assert_failure 3
	assert_line -n 0 'data: stopped'
	run "$PROJECT/bin/ramraid" status --problems --json
	assert_failure 3
	jq -e '.arrays | length == 1' <<<"$output"
}

# lists STATE [no_headings]: sets LISTED.
lists() {
	SHOWING=$1
	set -- "${2-}"
	cli_parse() { OPT=() ARGS=() && [[ -z ${WANTED-} ]] || OPT[$WANTED]=yes; }
	WANTED=$1
	conf_names() { grep -c ^name= "$STATES/$SHOWING.facts" | xargs seq; }
	disk_bytes() { echo 2147483648; }
	LISTED=$(cmd_list)
}

@test "list: a line for each array, with the state and device of status" {
	local state name word device legs ram size
	for state in $(states); do
		lists "$state" no_headings
		[[ $(cut -f 2,3 <<<"$LISTED") == "$(jq -r '.arrays[] |
			"\(.state)\t\(.device // "-")"' "$STATES/$state.json")" ]] ||
			fail "$state: $LISTED"
		[[ $LISTED != *misconfigured* || $LISTED == *$'\tmisconfigured\t-\t-\t-\t-' ]] ||
			fail "$state: $LISTED"
		[[ -z $LISTED ]] || while IFS=$'\t' read -r name word device legs ram size; do
			[[ -n $name && -n $size && $size == @(-|2147483648) ]] ||
				fail "$state: $LISTED"
			[[ $word == misconfigured ]] ||
				{
					[[ $legs == [0-9]/[0-9] ]] &&
						grep -qw "$ram" \
							<<<'in_sync recovering faulty attached missing none'
				} ||
				fail "$state: $LISTED"
			# All legs are in sync of what is whole; never of what is rebuilt, degraded,
			# or without a RAM leg.
			case $word in
			whole) ((${legs%/*} == ${legs#*/})) || fail "$state: $legs" ;;
			rebuilding | degraded | disks-only | stopped)
				((${legs%/*} < ${legs#*/})) ||
					grep -q '^leg.*lacks=yes' "$STATES/$state.facts" ||
					fail "$state: $legs"
				;;
			esac
		done <<<"$LISTED"
	done
	lists rebuilding-copy no_headings
	[[ $LISTED == $'1\trebuilding\t/dev/md127\t2/3\tattached\t2147483648' ]] || fail "$LISTED"
	lists ram-none no_headings
	[[ $LISTED == *$'\tnone\t'* ]] || fail "$LISTED"
}

@test "list: has headings, and columns that begin where they do" {
	lists two-arrays
	[[ $(head -n 1 <<<"$LISTED") =~ ^NAME\ +STATE\ +DEVICE\ +LEGS\ +RAM\ +SIZE$ &&
		$(wc -l <<<"$LISTED") == 3 ]] ||
		fail "$LISTED"
	# Each begins where its heading does.
	[[ $(sed -E 's/(.*) [^ ]+$/\1/' <<<"$LISTED" | awk '{ print length }' | sort -u | wc -l) \
		== 1 ]] ||
		fail "$LISTED"
}

@test "list: shows the arrays that exist, sorted and once, and names those that do not" {
	run "$PROJECT/bin/ramraid" list
	assert_success
	assert_output -p 'no arrays are configured'
	run "$PROJECT/bin/ramraid" list -H
	assert_success
	assert_output ''
	one_array
	cp "$R/etc/ramraid/data.conf" "$R/etc/ramraid/alpha.conf"
	echo nonsense >"$R/etc/ramraid/zeta.conf"
	echo >"$R/etc/ramraid/x"$'\t'"y.conf"
	run "$PROJECT/bin/ramraid" list --no-headings
	assert_success
	assert_output $'alpha\tstopped\t-\t0/2\tmissing\t-\ndata\tstopped\t-\t0/2\tmissing\t-\nx?y\tmisconfigured\t-\t-\t-\t-\nzeta\tmisconfigured\t-\t-\t-\t-'
	run "$PROJECT/bin/ramraid" list -H data alpha data
	assert_output $'alpha\tstopped\t-\t0/2\tmissing\t-\ndata\tstopped\t-\t0/2\tmissing\t-'
	run "$PROJECT/bin/ramraid" list -H alpha dtaa
	assert_failure 3
	assert_line $'alpha\tstopped\t-\t0/2\tmissing\t-'
	assert_line -p 'did you mean "data"?'
	run "$PROJECT/bin/ramraid" list ../x
	assert_failure 2
}

# on_terminal COMMAND…: its output on a terminal, without the carriage returns.
on_terminal() {
	env -u NO_COLOR TERM="${TERMINAL-xterm}" script -qec "$*" /dev/null </dev/null | tr -d '\r'
}
# one_array: an array that does not run, as far as the program itself is concerned.
one_array() {
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-%060d\n' 0 \
		>"$R/etc/ramraid/data.conf"
}

@test "colours only on a terminal that has them, and without NO_COLOR; a pipe gets whole lines" {
	local program="$PROJECT/bin/ramraid status"
	one_array
	run on_terminal "$program"
	assert_line -n 0 $'data: \e[1;31mstopped\e[0m'
	assert_line $'  slot -    \e[1;31mmissing\e[0m          -      -      -  RAM leg'
	# Without its colours it is the same.
	plain=$(printf '%s\n' "$output" | sed $'s/\e\\[[0-9;]*m//g')
	TERMINAL=dumb run on_terminal "$program"
	[[ $output == "$plain" && $output != *$'\e'* ]] || fail "$output"
	! grep -E '^.{81}' <<<"$output" | grep -vE '^ *[^ ]+$' || fail "$output"
	run on_terminal "NO_COLOR=1 $program"
	[[ $output == "$plain" ]] || fail "$output"
	run $program
	[[ $output != *$'\e'* &&
		$(xargs -d '\n' <<<"$output" | tr -s ' ') == \
			"$(xargs -d '\n' <<<"$plain" | tr -s ' ')" ]] ||
		fail "$output"
	assert_line -p "  slot -    missing          -      -      -  /dev/disk/by-id/ata-000"
	run on_terminal "$program --json"
	jq -e '.arrays[0].state == "stopped"' <<<"$output"
}

@test "lines are broken between words, and a word that is too long stays in one piece" {
	local word BROKEN text
	printf -v word '%090d' 0
	for text in "  why:    $word" "  action: x $word y $word" "$word" "  $word" '  impact: ' \
		"$(seq -s ' ' 200)" '' \
		"  slot 1    in_sync       4010  21000      0  $word (sda)"; do
		terminal_break "$text"
		[[ $(xargs -d '\n' <<<"$BROKEN" | tr -s ' ') == \
			"$(xargs -d '\n' <<<"$text" | tr -s ' ')" ]] ||
			fail "$text: $BROKEN"
		! grep -E '^.{81}' <<<"$BROKEN" | grep -vE "^ *$word( \(sda\))?$" ||
			fail "$text: $BROKEN"
	done
}

@test "--watch: shows the state again and again until it is ended, and leaves the terminal as it was" {
	one_array
	run timeout 3.5 "$PROJECT/bin/ramraid" status --watch=1
	[[ $(grep -c '^data: stopped$' <<<"$output") -ge 2 &&
		$(grep -cE '^20[0-9-]+ [0-9:]+$' <<<"$output") -ge 2 && $output != *$'\e'* ]] ||
		fail "$output"
	run timeout 3.5 "$PROJECT/bin/ramraid" status --json --watch=1
	[[ $(jq -r '.arrays[].state' <<<"$output" | uniq -c | tr -s ' ') == ' '[2-9]' stopped' ]] ||
		fail "$output"
	cat >"$BATS_TEST_TMPDIR/watch" <<-'EOF'
		before=$(stty -g)
		"$@"
		echo "ended with $?"
		[ "$(stty -g)" = "$before" ] && echo 'modes kept'
	EOF
	# Whoever starts the tests in the background has them ignore Ctrl-C.
	watch() {
		script -qec "TERM=xterm env --default-signal=INT,QUIT bash $BATS_TEST_TMPDIR/watch \
$PROJECT/bin/ramraid status --watch=${1-}" /dev/null |
			tr -d '\r'
	}
	run watch 1 < <(sleep 3 && printf q)
	assert_line -p 'ended with 0'
	assert_line 'modes kept'
	# Another screen, and back; the cursor and the ends of lines too.
	[[ $output == *$'\e[?1049h\e[?25l\e[?7l'*stopped*stopped*$'\e[?7h\e[?25h\e[?1049l'* ]] ||
		fail "${output@Q}"
	# Ctrl-C, while it waits.
	run watch 60 < <(sleep 3 && printf '\003')
	assert_line -p 'ended with 130'
	assert_line 'modes kept'
	[[ $output == *$'\e[?7h\e[?25h\e[?1049l'* ]] || fail "${output@Q}"
}

@test "--watch: refuses a wrong interval, and an array that does not exist" {
	local often
	for often in 0 x infinity 2d 100000 -1 ''; do
		run timeout 20 "$PROJECT/bin/ramraid" status --watch="$often"
		assert_failure 2
		assert_output -p 'write a time span between 1s and 1d'
	done
	run timeout 20 "$PROJECT/bin/ramraid" status --watch data
	assert_failure 3
}

@test "the progress of wait is what the unit at work says, until there is something to measure" {
	libraries
	systemd_status_text() { echo "waiting for $1"; }
	F[array.done]=0 F[array.total]=0 F[array.rate]=0
	run progress_line data activating
	[[ $output == *'waiting for data'* ]] || fail "$output"
	run progress_line data active
	[[ $output != *waiting* ]] || fail "$output"
	F[array.done]=50 F[array.total]=100 F[array.rate]=1
	run progress_line data activating
	[[ $output == *50* && $output != *waiting* ]] || fail "$output"
}

@test "the progress of wait has no escapes and fits into 80 columns, however much there is to do" {
	libraries
	F[array.done]=99999999999 F[array.total]=100000000000 F[array.rate]=1
	run progress_line
	[[ $output == $'\r[====='*99.9%* && ${#output} == 80 && $output != *$'\e'* ]] ||
		fail "${output@Q}"
	run progress_line_end yes
	[[ ${#output} == 81 && $output != *[!\ $'\r']* ]] || fail "${output@Q}"
}

@test "wait gives what has made the array whole a moment for its last words, but no more" {
	libraries
	echo 2 >"$R/works"
	systemd_unit_works() {
		local left
		read -r left <"$R/works"
		((left > 0)) && echo $((left - 1)) >"$R/works"
	}
	sleep() { echo "$1" >>"$R/slept"; }
	wait_last_words_ data active
	[[ $(<"$R/slept") == $'0.5\n0.5' ]] || fail "$(<"$R/slept")"
	# But not for hours.
	echo 1000 >"$R/works"
	wait_last_words_ data activating
	[[ $(wc -l <"$R/slept") == 8 ]]
	wait_last_words_ data inactive
	[[ $(wc -l <"$R/slept") == 8 ]]
	# It may be the worker of hot-plug, which has put a disk back.
	echo 0 >"$R/works"
	systemd_mend_works() { [[ $(wc -l <"$R/slept") != 9 ]]; }
	wait_last_words_ data active
	[[ $(wc -l <"$R/slept") == 9 ]]
}

@test "start names what requires the array and is not up" {
	libraries
	systemctl() {
		case $* in
		*RequiredBy*)
			printf '%s\n' '"srv-my\\x2ddata.mount" srv-up.mount' \
				systemd-fsck@data.service dev-md-data.swap
			;;
		*srv-up.mount) echo active ;;
		*dev-md-data.swap) echo failed ;;
		*) echo inactive ;;
		esac
	}
	run start_tell_down_ data
	assert_output "data: not in use again yet: srv-my\x2ddata.mount, dev-md-data.swap. To \
mount what fstab mounts at boot: systemctl start local-fs.target"
	systemctl() { [[ $* != *RequiredBy* ]] || echo; }
	run start_tell_down_ data
	assert_output ''
}

@test "start names the containers of disk legs that are not open" {
	libraries
	systemctl() {
		case $* in
		*Wants*) printf '%s\n' 'x.path "systemd-cryptsetup@leg\\x2da.service" systemd-cryptsetup@b.service' ;;
		*@b.service) echo active ;;
		*) echo inactive ;;
		esac
	}
	run start_tell_closed_ data
	assert_output -p "data: disk legs are in containers that are opened first \
(systemd-cryptsetup@leg\x2da.service)."
	systemctl() { echo; }
	run start_tell_closed_ data
	assert_output ''
}
