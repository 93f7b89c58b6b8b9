#!/usr/bin/env bats
# Messages, the one door for changes, and taking back.

setup() {
	load helper
	world
	libraries
	mkdir "$BATS_TEST_TMPDIR/here"
	cd "$BATS_TEST_TMPDIR/here" || return
}

both() { "$@" 2>&1; }

@test "messages go to stderr, with the kernel's level only for the journal" {
	[[ -z $(log_error text 2>/dev/null) && $(both log_error '%s text') == '%s text' ]]
	LOG_JOURNAL=yes
	[[ $(both log_error a) == '<3>a' && $(both log_warning a) == '<4>a' &&
		$(both log_notice a) == '<5>a' && $(both log_info a) == '<6>a' ]]
}

@test "log_alert: the console gets each alert of a unit, whole and in order, and none typed at a terminal" {
	local i line console
	mkfifo "$R/dev/console"
	exec {console}<>"$R/dev/console"
	log_alert 'data: typed by a person' 2>/dev/null
	LOG_JOURNAL=yes
	for ((i = 0; i < 10; i++)); do log_alert "data: alert $i "$'\e' 2>>log; done
	for ((i = 0; i < 10; i++)); do
		read -r -t 5 line <&"$console"
		[[ $line == $'\r' ]]
		read -r -t 5 line <&"$console"
		[[ $line == "data: alert $i "$'\\x1b\r' ]] || fail "$line"
	done
	exec {console}>&-
	[[ $(<log) != *console* && $(grep -c '^<0>data: alert' log) == 10 ]] || fail "$(<log)"
	# Where there is none, no file takes its place.
	rm "$R/dev/console"
	log_alert 'data: no console' 2>log
	[[ ! -e $R/dev/console &&
		$(<log) == *'<4>the message could not be written to the console' ]]
}

# full FILE: a console that takes nothing keeps who writes to it; one without anybody at the other
# end, who opens it.
full() {
	dd if=/dev/zero of="$1" bs=64K count=1 oflag=nonblock status=none 2>/dev/null
}

@test "log_alert: a console that takes nothing blocks neither the program nor who waits for its lock" {
	local kind console lock pid i
	LOG_JOURNAL=yes LOG_CONSOLE=9
	mkfifo "$R/dev/console"
	for kind in unopened full; do
		[[ $kind == unopened ]] || {
			exec {console}<>"$R/dev/console"
			full "$R/dev/console"
		}
		exec {lock}>lock
		flock "$lock"
		log_alert 'data: saving the RAM leg' 2>log &
		pid=$!
		for ((i = 0; i < 80; i++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		((i < 80)) || {
			kill "$pid"
			fail "$kind: it waits"
		}
		exec {lock}>&-
		flock --nonblock lock true || fail "$kind: the lock is held"
		# It is ended, and said.
		for ((i = 0; i < 300; i++)); do
			! grep -q '<4>the message could not be written to the console' log || break
			sleep 0.1
		done
		((i < 300)) || fail "$kind: $(<log)"
	done
}

@test "log_setup recognises the journal by device and inode" {
	exec 2>stream
	JOURNAL_STREAM=1:2 log_setup
	[[ -z ${LOG_JOURNAL-} ]]
	JOURNAL_STREAM=$(stat -c '%d:%i' stream)
	log_setup
	[[ $LOG_JOURNAL == yes ]]
}

@test "die prints its message, and exits with its code, or with 1 without one" {
	run die 'no such disk' 4
	assert_failure 4
	assert_output 'ramraid: no such disk'
	run die x
	assert_failure 1
}

@test "act runs a command, logs it, keeps stdout clean and returns its exit code" {
	act touch 'a b' 2>log
	[[ -e 'a b' && $(<log) == '+ touch a\ b' ]]
	[[ -z $(act echo text 2>/dev/null) && $(both act echo text) == *text ]]
	run act false
	assert_failure 1
}

@test "with DRY_RUN nothing changes, and each change is printed as a command, quoted for the shell" {
	DRY_RUN=yes
	echo old >file
	[[ $(act touch 'a b') == 'touch a\ b' &&
		$(act_write file 'new value') == 'echo new\ value > file' &&
		$(act_file file 644 echo text) == *text* ]]
	[[ ! -e 'a b' && $(<file) == old ]]
	[[ $(ls) == file ]]
}

@test "act_write writes, and says why where it can't" {
	act_write file idle 2>log
	[[ $(<file) == idle && $(<log) == *idle*file* ]]
	run act_write nowhere/file x
	assert_failure 1
	assert_output -p 'nowhere/file: No such file or directory'
	refute_output -p ' line '
	# As md refuses a word.
	[[ ! -e /dev/full ]] || {
		run act_write /dev/full x
		assert_failure 1
		assert_output -p 'could not write "x" to /dev/full: No space left on device'
		refute_output -p ' line '
	}
}

@test "act_file writes the whole file with its mode, makes its folders, and leaves nothing else behind" {
	act_file folder/deep/file 600 printf 'one\ntwo\n' 2>log
	[[ $(<folder/deep/file) == $'one\ntwo' && $(stat -c %a folder/deep/file) == 600 &&
		$(ls -A folder/deep) == file ]]
	act_file folder/deep/file 644 echo three 2>/dev/null
	[[ $(<folder/deep/file) == three && $(stat -c %a folder/deep/file) == 644 &&
		$(ls -A folder/deep) == file ]]
}

@test "act_file writes each byte as it is, with no newline at the end or with several" {
	local text
	for text in x $'x\n' $'x\n\n\n' '' $'\n'; do
		printf '%s' "$text" >want
		act_file "$PWD/file" 644 cat want 2>/dev/null
		cmp want file
	done
}

@test "act_text writes a text of any length, with its mode" {
	local text
	printf -v text '%0100000d' 1
	act_text "$PWD/file" $'one\n' 600 2>/dev/null
	[[ $(cat file; echo x) == $'one\nx' && $(stat -c %a file) == 600 ]]
	act_text "$PWD/file" "$text" 2>/dev/null
	[[ $(wc -c <file) == 100000 ]]
}

@test "text_split and text_into split a line as read does, and expand no file names" {
	local words=(old) a=1 b=2 c=3 IFS_WAS=$IFS
	text_split words ' * a	b[c]  \\d '
	[[ ${#words[@]} == 4 && ${words[0]} == '*' && ${words[2]} == 'b[c]' &&
		${words[3]} == '\\d' && $- != *f* ]]
	text_split words ''
	((${#words[@]} == 0))
	text_into 'one _ three four' a _ b
	[[ $a == one && $b == three ]]
	text_into one a b c
	[[ $a == one && -z $b$c ]]
	IFS=: text_into 'regular file:0:644' a b c
	[[ $a == 'regular file' && $b == 0 && $c == 644 && $IFS == "$IFS_WAS" ]]
}

@test "act_file replaces a link, and does not write through it" {
	echo precious >other
	ln -s other file
	act_file "$PWD/file" 644 echo new 2>/dev/null
	[[ $(<other) == precious && ! -L file && $(<file) == new ]]
}

@test "act_file fails where it can't write, and leaves the old file" {
	mkdir folder
	echo old >folder/file
	# Not a folder: fails for root too.
	run act_file folder/file/deeper 644 echo new
	assert_failure
	[[ $(<folder/file) == old ]]
	sync() { return 1; }
	run act_file "$PWD/folder/file" 644 echo new
	assert_failure
}

@test "who waits for a lock whose file is taken away gets the lock of the new file, and not before" {
	local file=$BATS_TEST_TMPDIR/work pid other taken=''
	need core/lock
	lock_take taken "$file"
	(
		exec {taken}>&-
		flock() { : >waits && command flock "$@"; }
		lock_take taken "$file" --timeout 20 && [[ /proc/self/fd/$taken -ef $file ]] &&
			: >got
	) &
	pid=$!
	until [[ -e waits ]]; do sleep 0.01; done
	rm "$file"
	(
		exec {taken}>&-
		lock_take taken "$file" --nonblock && : >held
		while [[ -e held && ! -e free ]]; do sleep 0.01; done
		[[ -e got ]] || : >alone
	) &
	other=$!
	for ((i = 0; i < 1000; i++)); do
		[[ ! -e held ]] || break
		sleep 0.01
	done
	[[ -e held ]] || fail 'the new file is locked'
	exec {taken}>&-
	sleep 0.3
	: >free
	wait "$pid"
	# Not for every child: the clock of bats, which ends a test that hangs, is one.
	wait "$other"
	[[ -e got && -e alone ]]
}

@test "undo goes newest first, and only once; it keeps odd words, and a failure does not stop it" {
	act_undo_push touch 'first $(x)' "it's"
	act_undo_push false
	act_undo_push eval 'ls >seen'
	act_undo_all 2>log
	[[ -e 'first $(x)' && -e "it's" && $(<seen) == *log* && $(<seen) != *first* &&
		$(<log) == *"could not undo: 'false'"* ]]
	rm -- *
	act_undo_all
	[[ -z $(ls) ]]
}

@test "act_file refuses NUL bytes, and the old file stays" {
	local file=$BATS_TEST_TMPDIR/folder/file
	act_file "$file" 600 echo old 2>/dev/null
	[[ $(stat -c %a "$file") == 600 ]]
	not act_file "$file" 600 printf 'a\0b\n' 2>/dev/null
	not act_file "$file" 600 printf 'a\n\0' 2>/dev/null
	[[ $(<"$file") == old && $(ls "${file%/*}") == file ]]
}

@test "act_file leaves the old file if what prints the text fails, or is killed before its end" {
	local way file=$BATS_TEST_TMPDIR/folder/file
	act_file "$file" 600 echo old 2>/dev/null
	fails() { echo one && return 1; }
	killed() { echo one && kill -KILL "$BASHPID"; }
	# As when bash has no process or memory left (it ends with 254 then).
	ends() { echo one && exit 254; }
	midway() {
		echo one
		false
		echo two
	}
	for way in fails killed ends midway false nothing-of-that-name; do
		(act_file "$file" 600 "$way" 2>/dev/null) && fail "$way: taken"
		[[ $(<"$file") == old && $(ls "${file%/*}") == file ]] || fail "$way"
	done
}
