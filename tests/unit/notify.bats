#!/usr/bin/env bats
# Who is notified: the journal, the program of NOTIFY, or, without one, mail.

setup() {
	load helper
	world
	libraries
	lib=/usr/lib/ramraid
	declare -gA CONF=([NOTIFY]=none) F=([name]=data)
	mkdir -p "$R/run/systemd/system" "$R/etc/mdadm" "$R/usr/sbin"
	LOG=$BATS_TEST_TMPDIR/log DRY_RUN=''
	set +T
}
# One argument a line.
systemd-run() { printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/calls"; }
program() {
	printf '#!/bin/sh\n' >"$R/tell me"
	chmod 755 "$R/tell me"
	CONF[NOTIFY]="$R/tell me"
}
sendmail_is_there() {
	: >"$R/usr/sbin/sendmail"
	chmod 755 "$R/usr/sbin/sendmail"
}
logger() { printf '%s\n' "$*" >>"$BATS_TEST_TMPDIR/journal"; }
has() { calls | grep -qxF -- "$1" || fail "no \"$1\" in" "$(calls)"; }

@test "a program gets event, array and device as from mdadm, the rest in its environment, and is not waited for" {
	program
	notify warning disk-lost /dev/disk/by-id/ata-B $'data: lost\nor 5$ not' 2>"$LOG"
	grep -qxF 'data: lost\nor 5$ not' "$LOG"
	has --no-block
	has --collect
	has --property=DefaultDependencies=no
	not grep -q Protect "$BATS_TEST_TMPDIR/calls"
	has --setenv=RAMRAID_NAME=data
	has --setenv=RAMRAID_SEVERITY=warning
	has '--setenv=RAMRAID_MESSAGE=data: lost or 5$ not'
	[[ $(calls | tail -n 5) == \
		"--"$'\n'"$R/tell me"$'\ndisk-lost\n/dev/md/data\n/dev/disk/by-id/ata-B' ]] ||
		fail "$(calls)"
	notify notice ram-detached '' x 2>"$LOG"
	[[ $(calls | tail -n 4) == "--"$'\n'"$R/tell me"$'\nram-detached\n/dev/md/data' ]] ||
		fail "$(calls)"
}

@test "an alert of a command that a person typed goes to the journal, too" {
	notify alert x '' 'data: bad' 2>/dev/null
	LOG_JOURNAL=yes notify warning x '' 'data: worse' 2>/dev/null
	[[ $(<"$BATS_TEST_TMPDIR/journal") == \
		'--tag ramraid --priority daemon.emerg -- data: bad' ]] ||
		fail "$(<"$BATS_TEST_TMPDIR/journal")"
}

@test "NOTIFY=none clears who was notified before" {
	CONF[NOTIFY]=none
	NOTIFY_WAY=/usr/local/bin/tell
	notify_others notice x '' 'data: x'
	[[ -z $NOTIFY_WAY ]]
}

@test "each notification has a unit name of its own" {
	program
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		notify notice x '' x 2>/dev/null &&
			calls |
				grep -x -- '--unit=ramraid-notify-data-[0-9]*' \
					>>"$BATS_TEST_TMPDIR/units"
	done
	[[ $(sort -u "$BATS_TEST_TMPDIR/units" | wc -l) == 10 ]]
}

@test "a dollar sign in an argument is escaped, so that systemd expands no variable" {
	program
	notify warning disk-lost '/dev/disk/by-id/a$B${C}' x 2>/dev/null
	has '/dev/disk/by-id/a$$B$${C}'
}

@test "a program that is missing, can't be run, or is refused by systemd is reported, and is no failure" {
	CONF[NOTIFY]=/nonsense
	notify warning disk-lost /dev/sdb x 2>"$LOG"
	grep -q 'data: nobody was notified of disk-lost: NOTIFY=/nonsense does not exist' "$LOG"
	[[ -z $(calls) ]]
	CONF[NOTIFY]=$R
	notify warning disk-lost /dev/sdb x 2>"$LOG"
	grep -q 'nobody was notified' "$LOG"
	program
	systemd-run() { return 1; }
	notify warning disk-lost /dev/sdb x 2>"$LOG"
	grep -q 'disk-lost was not reported to .*: systemd did not start it' "$LOG"
	rmdir "$R/run/systemd/system"
	notify warning disk-lost /dev/sdb x 2>"$LOG"
	grep -q 'systemd is not running here' "$LOG"
}

@test "nobody is notified in a dry run" {
	program
	DRY_RUN=yes
	notify_others alert x '' x
	[[ -z $(calls) ]]
}

@test "mail: for warnings and alerts, if there is an address and something to send it with" {
	notify warning x '' x 2>/dev/null
	echo 'MAILADDR root@example.org # me' >"$R/etc/mdadm/mdadm.conf"
	notify warning x '' x 2>/dev/null
	[[ -z $(calls) ]]
	sendmail_is_there
	notify notice x '' x 2>/dev/null
	[[ -z $(calls) ]]
	notify warning disk-lost /dev/sdb text 2>/dev/null
	has --setenv=RAMRAID_MAILADDR=root@example.org
	# A mail needs no more than this; a program of the administrator's may need anything.
	has --property=ProtectSystem=full
	has --property=ProtectKernelTunables=yes
	[[ $(calls | tail -n 5) == \
		$'--\n/usr/lib/ramraid/mail\ndisk-lost\n/dev/md/data\n/dev/sdb' ]] ||
		fail "$(calls)"
	rm "$BATS_TEST_TMPDIR/calls"
	program
	notify alert x '' x 2>/dev/null
	not grep -q MAILADDR "$BATS_TEST_TMPDIR/calls"
}

@test "check --notify-test sends a test in the way of a failed disk, and says if nobody would get it" {
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' \
		>"$R/etc/ramraid/data.conf"
	not cmd_check_notify_test_ data 2>"$LOG"
	[[ -z $(calls) &&
		$(<"$LOG") == 'data: nobody is notified, so there is no test message' ]] ||
		fail "$(<"$LOG")"
	echo 'MAILADDR me@example.org' >"$R/etc/mdadm/mdadm.conf"
	sendmail_is_there
	cmd_check_notify_test_ data 2>"$LOG"
	has --setenv=RAMRAID_MAILADDR=me@example.org
	has --setenv=RAMRAID_SEVERITY=warning
	[[ $(calls | tail -n 4) == $'--\n/usr/lib/ramraid/mail\ntest\n/dev/md/data' ]] ||
		fail "$(calls)"
	grep -qF "data: the test message goes out by mail to me@example.org; if it does not \
arrive: journalctl -u 'ramraid-notify-data-*'" "$LOG"
	program
	mv "$R/tell me" "$R/tell"
	echo "NOTIFY=$R/tell" >>"$R/etc/ramraid/data.conf"
	cmd_check_notify_test_ data 2>"$LOG"
	[[ $(calls | tail -n 4) == "--"$'\n'"$R/tell"$'\ntest\n/dev/md/data' ]] ||
		fail "$(calls)" "$(<"$LOG")"
	# Who may not be run is not said to be.
	chmod g+w "$R/tell"
	not cmd_check_notify_test_ data 2>"$LOG"
	grep -q 'nobody was notified of test' "$LOG" && not grep -q 'goes out by' "$LOG" ||
		fail "$(<"$LOG")"
}

@test "the address is the first one in mdadm's configuration, in any spelling and file" {
	local line
	for line in 'MAILADDR root' 'mailaddr root' $'Mail\troot   you' 'mai root'; do
		printf '# x\nMAILFROM you\n%s\nMAILADDR other\n' "$line" >"$R/etc/mdadm/mdadm.conf"
		notify_address
		[[ $NOTIFY_ADDRESS == root ]] || fail "$line: $NOTIFY_ADDRESS"
	done
	printf '#MAILADDR root\nMAILADDR\nMAILFROM x\nMA root\n' >"$R/etc/mdadm/mdadm.conf"
	notify_address
	[[ -z $NOTIFY_ADDRESS ]]
	mkdir "$R/etc/mdadm/mdadm.conf.d"
	echo 'MAILADDR there' >"$R/etc/mdadm/mdadm.conf.d/mine.conf"
	notify_address
	[[ $NOTIFY_ADDRESS == there ]]
}

@test "the mail has its headers, the message and the state of the array" {
	source "$PROJECT/lib/mail"
	export RAMRAID_MAILADDR=root RAMRAID_NAME=data RAMRAID_SEVERITY=warning \
		RAMRAID_MESSAGE='data: disk leg B is lost: there is none; to do: this'
	echo 'md127 : active raid1' >"$R/proc/mdstat"
	ramraid() {
		echo "data: degraded ($*)"
		return 1
	}
	sendmail() { cat >"$BATS_TEST_TMPDIR/mail" && called sendmail "$@"; }
	main disk-lost /dev/md/data /dev/sdb
	[[ $(calls) == 'sendmail -t -i' ]]
	local mail
	mail=$(<"$BATS_TEST_TMPDIR/mail")
	grep -qx 'To: root' <<<"$mail"
	grep -qx "Subject: WARNING on $(uname -n): data: disk leg B is lost: there is none" \
		<<<"$mail"
	grep -qx 'X-Ramraid-Event: disk-lost /dev/md/data /dev/sdb' <<<"$mail"
	[[ $mail == *$'\n\ndata: disk leg B is lost: there is none; to do: this\n\ndata: degraded (status -- data)\n\nmd127 : active raid1' ]] ||
		fail "$mail"
	# By hand.
	unset RAMRAID_MAILADDR
	set -u
	mail_letter test /dev/md/data | grep -qx 'To: root'
}

@test "a program whose owner can't be checked is not run" {
	program
	# What make_child() in bash's jobs.c does in a subshell whose fork() has failed.
	notify_why_not() { exit 254; }
	notify_others warning disk-lost '' 'data: lost' 2>"$LOG"
	[[ -z $(calls) ]] || fail "run as root: $(calls)"
	grep -q 'is not run: the check itself failed' "$LOG" || fail "$(<"$LOG")"
}
