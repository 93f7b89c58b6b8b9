#!/usr/bin/env bats
# Where /run or /etc can't be written: every verb says so in words of ours, never in bash's with a
# line of the program.

setup() {
	load helper
	world
	C=$R/etc/ramraid M=$R/sys/block/md127/md
	fake_disk sda 104857600 disk/by-id/ata-A
	fake_disk sdb 104857600 disk/by-id/ata-B
	fake_disk sdc 104857600 disk/by-id/ata-C
	printf '%s\n' UUID=11111111-2222-3333-4444-555555555555 MEMBER=/dev/disk/by-id/ata-A \
		MEMBER=/dev/disk/by-id/ata-B >"$C/data.conf"
	printf 'MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n' >"$R/proc/meminfo"
}

# What a verb would run changes nothing, and is no other program's complaint.
quiet_programs() {
	local program
	for program in mdadm modprobe rmmod wipefs lsblk systemctl logger systemd-run \
		systemd-notify update-initramfs udevadm; do
		eval "$program() { return 0; }"
		export -f "${program?}"
	done
}

# powerless COMMAND…: as somebody who may write nothing below $R. Root may everywhere, so it becomes
# another user.
powerless() {
	if ((EUID == 0)); then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}
no_right() {
	if ((EUID == 0)); then
		chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	else
		find "$R" -type d -exec chmod a-w {} +
	fi
	powerless test -r "$PROJECT/bin/ramraid" -a -r "$C/data.conf" ||
		skip 'another user can not read the program'
	not powerless test -w "$C"
}
teardown() { [[ ! -d ${R-} ]] || chmod -R u+w "$R"; }

running() {
	local leg
	mkdir -p "$M" "$R/dev/md"
	ln -s ../md127 "$R/dev/md/data"
	echo clean >"$M/array_state"
	echo 11111111-2222-3333-4444-555555555555 >"$M/uuid"
	echo idle >"$M/sync_action"
	echo 51200 >"$M/component_size"
	echo 3 >"$M/raid_disks"
	echo 0 >"$M/degraded"
	fake_disk rd0 104857600
	for leg in rd0:in_sync:0 sda:in_sync,write_mostly:1 sdb:in_sync,write_mostly:2; do
		IFS=: read -r node state slot <<<"$leg"
		mkdir -p "$M/dev-$node" "$R/sys/class/block/$node/holders/md127"
		echo "$state" >"$M/dev-$node/state"
		echo "$slot" >"$M/dev-$node/slot"
		echo 2048 >"$M/dev-$node/offset"
	done
}

# in_our_words VERB…: what each says on stderr.
in_our_words() {
	local verb said
	for verb; do
		# shellcheck disable=SC2086 # words
		said=$(powerless timeout 30 "$PROJECT/bin/ramraid" $verb 2>&1 >/dev/null \
			</dev/null) ||
			(($? < 124)) || fail "$verb does not end"
		[[ ! $said =~ :\ line\ [0-9]+:|cannot\ create ]] || fail "$verb" "$said"
		printf '%s\n' "$verb: $said" >>"$BATS_TEST_TMPDIR/said"
	done
}
readonly VERBS=(status list check metrics 'metrics --output=/nowhere/x' 'config show data' claim
	'claim --remove data' 'start data' 'stop data' 'attach data' 'detach data'
	'apply --yes data' 'replace --yes data /dev/disk/by-id/ata-A /dev/disk/by-id/ata-C'
	'resize --yes data' 'release --yes data' 'destroy --yes data'
	'adopt --yes other /dev/md127' 'create --yes new /dev/disk/by-id/ata-C' 'restore data'
	'scrub data' 'wait data' 'events data' remember witness 'mend data' 'memory data' hotplug
	'yield data' 'leave data')

@test "where nothing can be written, each verb says so in its own words, and none leaves that to bash" {
	quiet_programs
	no_right
	in_our_words "${VERBS[@]}"
	# Which folder, and why.
	grep -qF "start data: the folder $R/run/ramraid can't be made: Permission denied" \
		"$BATS_TEST_TMPDIR/said" ||
		fail "$(<"$BATS_TEST_TMPDIR/said")"
	grep -qF "claim: the folder $R/etc/ramraid/state can't be made: " "$BATS_TEST_TMPDIR/said"
	grep -qF "data: $R/run/ramraid/.locks/work.data can't be opened, so it is not known who \
else is working on it; is $R/run/ramraid writable?" "$BATS_TEST_TMPDIR/said"
	not grep -F 'another ramraid is working' "$BATS_TEST_TMPDIR/said"
}

@test "on a running array whose locks can be had, each verb says in its own words that a note can't be written" {
	local lock
	running
	mkdir -p "$R/run/ramraid/.locks"
	: >"$R/run/ramraid/hotplug"
	for lock in work.data witness.data ramdisks; do
		: >"$R/run/ramraid/.locks/$lock"
		chmod 666 "$R/run/ramraid/.locks/$lock"
	done
	quiet_programs
	no_right
	in_our_words "${VERBS[@]}"
	grep -qF "attach data: $R/run/ramraid/data.started can't be written: Permission denied" \
		"$BATS_TEST_TMPDIR/said" ||
		fail "$(<"$BATS_TEST_TMPDIR/said")"
}

@test "the generator says which folder can't be made, and that not all drop-ins are written" {
	local out=$BATS_TEST_TMPDIR/out said
	printf '/dev/md/data /srv ext4 nofail 0 2\n' >"$R/etc/fstab"
	mkdir -p "$R/etc/systemd/system" "$out"
	printf '[Service]\nExecStop=x\n' >"$R/etc/systemd/system/blk-availability.service"
	no_right
	chmod a-w "$out"
	said=$(powerless "$PROJECT/units/ramraid-generator" "$out" 2>&1) || :
	[[ ! $said =~ :\ line\ [0-9]+:|cannot\ create &&
		$said == *"the folder $out/srv.mount.d can't be made: Permission denied"* &&
		$said == *'data: could not write all drop-ins'* ]] ||
		fail "$said"
}

@test "if the lock can't be opened, a shutdown goes on without it, and a person is told why a stop does not" {
	libraries
	going=''
	stop_going_down() { [[ -n $going ]]; }
	array_lock_try() { return 2; }
	run stop_lock_ data
	assert_failure 1
	assert_output -p "can't be opened"
	going="going-down"
	run stop_lock_ data
	assert_success
	assert_output -p 'going on without a lock'
}

@test "act_put replaces the lines of a file, act_put_more appends to it, and both say why they can't" {
	local file=$BATS_TEST_TMPDIR/file
	libraries
	act_put "$file" one 'two  x'
	act_put_more "$file" three
	[[ $(<"$file") == $'one\ntwo  x\nthree' ]]
	act_put "$file"
	[[ -e $file && ! -s $file ]]
	run act_put "$BATS_TEST_TMPDIR/nowhere/x" y
	assert_failure 1
	assert_output "$BATS_TEST_TMPDIR/nowhere/x can't be written: No such file or directory"
	run act_put_more "$BATS_TEST_TMPDIR" y
	assert_failure 1
	assert_output "$BATS_TEST_TMPDIR can't be written: Is a directory"
	run act_put_folder "$file/x"
	assert_failure 1
	assert_output "the folder $file/x can't be made: Not a directory"
	[[ ! -e /dev/full ]] || {
		run act_put /dev/full x
		assert_failure 1
		assert_output "/dev/full can't be written: No space left on device"
	}
}
