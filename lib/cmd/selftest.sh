# ramraid selftest: finds out whether the copy to the RAM leg works with this kernel.
# shellcheck shell=bash

need act/array-lock act/notify act/selftest act/selftest-place act/selftest-writer config/conf
need config/conf-keys core/act core/cli core/clock core/log core/paths core/uninterrupted
need notes/claim notes/selftest-record world/kernels world/loop-device world/md world/systemd

readonly SELFTEST_USAGE='usage: ramraid selftest [--rounds=N] [--once] [--clean]

Try on a small mirror, made for that and removed again, whether the RAM leg can be copied from all
disks with this kernel. The result is kept; REBUILD=auto goes by it. No other array is touched.
  --rounds=N  how often the RAM leg is filled; 5 by default
  --once      do nothing if this kernel has been tried already
  --clean     only remove what a test that was killed has left behind
Exit code 0: it works; 1: it does not, or could not be tried; 2: wrong usage; 4: mdadm would send
mail about the mirror, or could give it a disk; 75: too little memory, or another test runs.'

cmd_selftest() {
	local rounds release SELFTEST_WORD code=0
	cli_parse "$SELFTEST_USAGE" 'rounds= once clean' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$SELFTEST_USAGE" "expected no array name, got ${ARGS[0]}"
	rounds=${OPT[rounds]-5}
	[[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] ||
		die "--rounds=$rounds: write a number of rounds, from 1 to 9999" "$EX_USAGE"
	cli_root
	release=$(kernels_running)
	if [[ -n ${OPT[once]-} && -z ${OPT[clean]-} ]]; then
		md_modules mirror || :
		selftest_record_word "$release"
		[[ -z $SELFTEST_WORD ]] || {
			log_info "the self-test has $SELFTEST_WORD on Linux $release already"
			return
		}
		cmd_selftest_wait_
	fi
	cmd_selftest_lock_
	selftest_place_hurry selftest_place_clean || return "$EX_FAILED"
	[[ -z ${OPT[clean]-} ]] || return 0
	cmd_selftest_may_
	trap cmd_selftest_end_ EXIT
	trap 'exit 130' INT TERM HUP PIPE
	cmd_selftest_live_
	selftest_place_make "${CONF[RAM_RESERVE]}" || exit "$?"
	selftest_run "$rounds" || code=$EX_FAILED
	cmd_selftest_keep_ "$release" "$rounds"
	return "$code"
}

# Nobody waits for this test: an array that is being started, as after a boot, gets its memory
# first.
cmd_selftest_wait_() {
	local file name
	for file in "$ETC"/*.conf; do
		name=${file##*/} name=${name%.conf}
		clock_until "$SELFTEST_FIRST" 2 array_lock_is_free "$name" ||
			die "$name has been worked on for longer than $SELFTEST_FIRST s; \
nothing was tried" "$EX_TRY_AGAIN"
	done
}
readonly SELFTEST_FIRST=3600

cmd_selftest_lock_() {
	local code=0
	array_lock_try "$SELFTEST_NAME" 0 || code=$?
	((code != 1)) || die 'another self-test runs' "$EX_TRY_AGAIN"
	((code == 0)) || die "$LOCKS can't be written to, so it is not known whether another \
self-test runs"
}

# Every process that is started from now on inherits this lock.
cmd_selftest_live_() {
	{ exec {SELFTEST_ALIVE}>"$LOCKS/selftest.alive"; } 2>/dev/null ||
		die "$LOCKS/selftest.alive can't be opened"
	flock --shared "$SELFTEST_ALIVE"
}

# Checks what has to be there, before anything is done.
cmd_selftest_may_() {
	local program
	for program in losetup blkdiscard cmp; do
		command -v "$program" >/dev/null ||
			die "selftest needs $program, which is not installed"
	done
	md_modules mirror || die 'this kernel has no md; nothing was tried'
	loop_device_can_be_had ||
		die 'this kernel has no loop devices (module loop); nothing was tried'
	[[ ! -e $DEV/md/$SELFTEST_MD ]] ||
		die "/dev/md/$SELFTEST_MD exists, and is not the array of a self-test; nothing was \
tried" \
			"$EX_REFUSED"
	conf_defaults || conf_keys_builtin
	cmd_selftest_kernel_
	cmd_selftest_spares_
	cmd_selftest_mail_
}

# The test copies while it writes. An array that hangs takes the program with it, and nothing ends
# that but a reboot.
cmd_selftest_kernel_() {
	local KERNEL_FLAW_COPY
	[[ ${CONF[ACCEPT_KERNEL_FLAW]} != yes ]] || return 0
	kernels_flaw_copy "$(kernels_running)"
	[[ -z $KERNEL_FLAW_COPY ]] ||
		die "$KERNEL_FLAW_COPY; nothing was tried. Start a newer kernel first"
}

# If mdadm.conf has a policy, "mdadm --incremental" (for a disk that comes) and mdadm's monitor (for
# another array's spare) give a disk to any array in its domain that lacks a leg (array_try_spare()
# in mdadm's Incremental.c, try_spare_migration() in its Monitor.c), and ours lacks one now and
# then.
cmd_selftest_spares_() {
	local file
	while IFS= read -r file; do
		[[ ! -r $file ]] || ! awk '
			/^[^#[:blank:]]/ { policy = tolower($1) ~ /^pol(i(c(y)?)?)?$/ }
			policy && /^[^#]*[[:blank:]]"?[Dd][Oo][Mm][Aa][Ii][Nn]=/ { found = 1 }
			END { exit !found }' "$file" ||
			die "$file has a POLICY with a domain: by that, mdadm could give a disk, \
or another array's spare, to the array of the self-test, which lacks a leg now and then; nothing \
was tried" \
				"$EX_REFUSED"
	done < <(claim_others)
}

# mdadm's monitor watches every array in /proc/mdstat, even those that are to be ignored
# (add_new_arrays() in mdadm's mdmonitor.c), and this one lacks a leg now and then.
cmd_selftest_mail_() {
	local unit file whom='' NOTIFY_ADDRESS
	systemd_is_running || return 0
	unit=$(systemd_show LoadState,ExecStart mdmonitor.service) || return 0
	[[ $unit == *LoadState=loaded* && $unit == *--scan* ]] || return 0
	notify_address
	[[ -z $NOTIFY_ADDRESS ]] || ! notify_has_sendmail || whom="mail to $NOTIFY_ADDRESS"
	while IFS= read -r file; do
		! grep -qsiE '^pro(g(r(am?)?)?)?[[:blank:]]+[^[:blank:]]' "$file" ||
			whom="word to the PROGRAM of $file"
	done < <(claim_others)
	[[ -z $whom ]] ||
		die "mdmonitor.service would send $whom about the array of the self-test, which \
lacks a leg now and then; to prevent that: systemctl mask --runtime --now mdmonitor.service; \
ramraid selftest; systemctl unmask --runtime mdmonitor.service; systemctl start mdmonitor.service" \
			"$EX_REFUSED"
}

# Records the result, unless the copy could not be tried.
cmd_selftest_keep_() { # RELEASE ROUNDS
	local KERNEL_MD version
	[[ -n $SELFTEST_RESULT ]] ||
		die "the self-test could not be done: $SELFTEST_WHY; nothing is recorded"
	# shellcheck disable=SC2154 # lib is the program's
	version=$(<"$lib/VERSION")
	kernels_md_build "$1"
	# A failure holds even when the build of md can't be told (notes/selftest-record.sh).
	[[ -n $KERNEL_MD || $SELFTEST_RESULT == failed ]] || die "the self-test has \
$SELFTEST_RESULT, but which build of md that was can't be determined; nothing is recorded"
	selftest_record_write "$1" "${KERNEL_MD:-unknown}" "$SELFTEST_RESULT" "$SELFTEST_ROUND" \
		"$version" "$SELFTEST_WHY" ||
		die "the self-test has $SELFTEST_RESULT, but that can't be recorded in $STATE"
	if [[ $SELFTEST_RESULT == passed ]]; then
		cli_print "The self-test has passed on Linux $1: $2 rounds, \
$SELFTEST_WRITES writes, \
no difference. REBUILD=auto copies on this kernel."$'\n'
	else
		log_error "ramraid: THE SELF-TEST HAS FAILED on Linux $1: $SELFTEST_WHY. \
No RAM leg is copied on this kernel any more: md rebuilds it, from one disk. \
Please report this with the journal"
	fi
}

# Cleans up however the test ends, even when nobody reads its output any more. Something that stays
# is a failure, even of a test that was stopped: the unit then tries to remove it once more.
cmd_selftest_end_() {
	local code=$?
	trap - EXIT
	uninterrupted_begin
	selftest_writer_end || :
	# Otherwise the cleaning, which runs in a subshell, would wait for this process.
	[[ -z ${SELFTEST_ALIVE-} ]] || exec {SELFTEST_ALIVE}>&-
	SELFTEST_ALIVE=''
	act_apart selftest_place_hurry selftest_place_clean || code=$EX_FAILED
	exit "$code"
}
