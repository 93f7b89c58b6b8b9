#!/usr/bin/env bats
# ramraid destroy on a fake array: what is wiped and what never is, in which order, what is refused,
# and that a run that was killed anywhere is completed by the next.

setup() {
	load helper
	load change
	change_world
	A=/dev/disk/by-id/ata-A B=/dev/disk/by-id/ata-B
	eval "$(declare -f effect | sed '1s/effect/effect_of_md/')"
	effect() {
		case $* in
		'mdadm --stop /dev/md127')
			rm -f "$R/dev/md/data" "$R/dev/md127" "$R/sys/class/block/md127"
			rm -rf "$R/sys/block/md127" "$R"/sys/class/block/*/holders/md127
			;;
		'systemctl --quiet disable'*) rm -f "$R/enabled" ;;
		*) effect_of_md "$@" ;;
		esac
	}
	update-initramfs() { step update-initramfs "$@"; }
	systemctl() {
		case $* in
		*Job*) echo 0 ;;
		is-system-running) echo running ;;
		show* | reset-failed*) ;;
		*) step systemctl "$@" ;;
		esac
	}
	export -f effect_of_md update-initramfs
	: >"$R/enabled"
	mkdir -p "$R/etc/mdadm/mdadm.conf.d" "$R/sys/kernel/rapiddisk"
	echo "ARRAY <ignore> UUID=01234567:89ab4cde:8f012345:6789abcd" \
		>"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	: >"$R/run/ramraid/data.started"
	: >"$R/run/ramraid/data.failures"
	: >"$R/etc/ramraid/ramraid.conf"
	unmounted
}
unmounted() { : >"$R/proc/1/mountinfo"; }
mounted() {
	echo '30 1 9:127 / /srv/data rw,relatime shared:1 - ext4 /dev/md127 rw' \
		>"$R/proc/1/mountinfo"
}
# Without the initramfs, which not every machine has.
done_() { calls | grep -v -e '^update-initramfs' -e data.lately || :; }
# Nothing of it is left, but for what the rest of the machine has.
is_destroyed() {
	[[ ! -e $R/enabled && ! -e $R/sys/block/md127 ]] || fail "still there: $output" "$(calls)"
	[[ -z $(find "$R/etc/ramraid" "$R/run/ramraid" "$R/etc/mdadm" -name '*data*' \
		! -name 'work.data' ! -name 'witness.data' ! -name 'told.data') ]] ||
		fail "left: $(find "$R/etc/ramraid" "$R/run/ramraid" "$R/etc/mdadm" -name '*data*')"
	[[ ! -s $R/dev/sda && ! -s $R/dev/sdb ]] || fail "not wiped: $output"
}
wiped() { calls | sed -n 's/^mdadm --zero-superblock //p' | paste -sd ' '; }

@test "destroy performs its steps in order, leaves nothing, and says what was wiped" {
	verb destroy --yes data
	assert_success
	is_destroyed
	[[ $(done_) == 'mdadm --readwrite /dev/md127
write /etc/ramraid/state/data.witness
write /etc/ramraid/state/data.hardware
mdadm --manage /dev/md127 --fail /dev/rd0
mdadm --manage /dev/md127 --remove /dev/rd0
echo rapiddisk detach 0 /sys/kernel/rapiddisk/mgmt 
systemctl stop --no-block ramraid-monitor@md127.path
mdadm --stop /dev/md127
mdadm --zero-superblock /dev/sda
mdadm --zero-superblock /dev/sdb
write /etc/ramraid/state/data.releasing
systemctl --quiet disable ramraid@data.service
systemctl daemon-reload
systemctl stop --no-block ramraid-monitor@md127.path
systemctl stop ramraid@data.service' ]] || fail "$(done_)"
	# The superblocks go before the claim, and that before the configuration.
	[[ $output == \
		*zero-superblock*'rm -f'*ramraid-data.conf*'rm -f'*/data.conf*daemon-reload* ]] ||
		fail "$output"
	assert_line "data: destroyed; wiped: $A $B"
	never
	verb destroy --yes data
	assert_failure 3
}

@test "destroy wipes the device that is the RAM leg, whatever its name leads to now" {
	sed -i '$aRAM=/dev/disk/by-id/ata-D' "$R/etc/ramraid/data.conf"
	leaves rd0
	joins sdd in_sync 0
	echo 'device sdd 209715200 - used' >"$R/run/ramraid/data.ram"
	fake_disk loop7p1 $((200 << 20))
	ln -sfn "$R/dev/loop7p1" "$R/dev/disk/by-id/ata-D"
	verb destroy --yes data
	assert_success
	[[ $(wiped) == *'/dev/sda /dev/sdb /dev/sdd'* && $(wiped) != *loop* ]] || fail "$(calls)" "$output"
}

@test "destroy --dry-run prints every command, and changes nothing" {
	cp -a "$R/etc" "$R/etc.before"
	# Not as the other tests, which only write down.
	fakes() { fake_clock; ! declare -F superblock_read >/dev/null || eval "$SUPERBLOCK_FACTS"; }
	verb destroy -n data
	assert_success
	untouched
	for line in 'mdadm --manage /dev/md127 --fail /dev/rd0' 'mdadm --stop /dev/md127' \
		'mdadm --zero-superblock /dev/sda' 'mdadm --zero-superblock /dev/sdb' \
		"rm -f -- $R/etc/mdadm/mdadm.conf.d/ramraid-data.conf" \
		'systemctl --quiet disable ramraid@data.service' \
		"rm -f -- $R/etc/ramraid/data.conf" 'systemctl daemon-reload'; do
		assert_line "$line"
	done
	assert_line 'data: nothing was changed (--dry-run)'
	[[ $(<"$R/dev/sda")$(<"$R/dev/sdb") == oursours && -d $MD ]]
}

@test "destroy names what it will wipe, and wants the array's name typed, or --yes without a terminal" {
	local answer
	cp -a "$R/etc" "$R/etc.before"
	verb destroy data
	assert_failure 2
	assert_output -p 'add --yes'
	untouched
	libraries
	fakes
	cli_root() { :; }
	PLAN=("wipe    $A (sda)")
	for answer in y yes dat Data '' 'data ' '*'; do
		run on_terminal "$answer"
		[[ $output == *"wipe    $A (sda)"*'nothing was changed'* &&
			$output != *GOES-ON* ]] ||
			fail "${answer@Q}: $output"
	done
	run on_terminal data
	[[ $output == *GOES-ON* ]] || fail "$output"
	untouched
	destroy_facts
	[[ $DESTROY_HEAD == \
		"data (UUID $ID, /dev/md127) is destroyed, and everything on it is lost:" ]] ||
		fail "$DESTROY_HEAD"
	[[ ${PLAN[*]} == "wipe    $A (sda) wipe    $B (sdb) delete  $R/etc/ramraid/data.conf, its \
claim, and everything recorded about it" ]] ||
		fail "${PLAN[*]}"
}
# cli_confirm, with a terminal for its standard input. read drops blanks at the ends.
on_terminal() { # ANSWER
	local -a OPT=()
	printf '%s\n' 'lib=$1/lib; source "$lib/core/load.sh"; need core/cli; PLAN=("$2"); declare -A OPT=(); cli_confirm data "data is destroyed:" typed; echo GOES-ON' >"$BATS_TEST_TMPDIR/asks"
	[[ $1 != 'data ' ]] || set -- 'data x'
	printf '%s\n' "$1" |
		script -qec "bash $BATS_TEST_TMPDIR/asks $PROJECT '${PLAN[0]}'" /dev/null
}
destroy_facts() {
	NAME=data
	destroy_look
}

@test "destroy refuses an array in use, in another array, with a rescue image, or with its only good copy in RAM" {
	mounted
	refused 4 'data: is in use by /srv/data. Unmount or stop that, then: ramraid destroy data' \
		destroy --yes data
	unmounted
	mkdir "$R/sys/block/md127/holders/dm-0"
	refused 4 'is in use by dm-0' destroy --yes data
	rmdir "$R/sys/block/md127/holders/dm-0"
	mkdir "$R/sys/class/block/sdb/holders/dm-3"
	refused 4 "$B: is in use by dm-3 as well" destroy --yes data
	rmdir "$R/sys/class/block/sdb/holders/dm-3"
	printf '%s\n' UUID=99999999-89ab-4cde-8f01-23456789abcd MEMBER=/dev/md/data \
		>"$R/etc/ramraid/outer.conf"
	refused 4 'is a disk leg of outer. Destroy that first: ramraid destroy outer' destroy \
		--yes data
	echo 'MEMBER=/dev/disk/by-id/md-uuid-01234567:89ab4cde:8f012345:6789abcd' |
		sed -i "2{r /dev/stdin
d}" "$R/etc/ramraid/outer.conf"
	refused 4 'is a disk leg of outer' destroy --yes data
	printf '%s\n' "UUID=$ID" "MEMBER=$A" >"$R/etc/ramraid/outer.conf"
	refused 4 'outer.conf is about this array as well' destroy --yes data
	rm "$R/etc/ramraid/outer.conf"
	printf '%s\n' "uuid=$ID" image=/var/lib/ramraid/data/image bytes=1 \
		"sha256=$(printf '%064d' 0)" events=1 >"$R/etc/ramraid/state/data.rescue"
	refused 4 'what only the RAM leg had is in /var/lib/ramraid/data/image' destroy --yes data
	# Its configuration has been renamed since, or the record is damaged: what is to be deleted is
	# there.
	rm "$R/etc/ramraid/state/data.witness"
	mv "$R/etc/ramraid/state/data.rescue" "$R/etc/ramraid/state/old.rescue"
	refused 4 "delete it: rm /var/lib/ramraid/data/image $R/etc/ramraid/state/old.rescue" \
		destroy --yes data
	mv "$R/etc/ramraid/state/old.rescue" "$R/etc/ramraid/state/data.rescue"
	echo "uuid=$ID" >"$R/etc/ramraid/state/data.rescue"
	refused 4 "delete it: rm $R/etc/ramraid/state/data.rescue" destroy --yes data
	[[ $output != *"data.rescue $R"* ]] || fail "$output"
	rm "$R/etc/ramraid/state/data.rescue"
	put dev-sda/state faulty dev-sdb/state faulty
	refused 4 'its RAM leg is the only good copy of what is on it' destroy --yes data
	# Somebody has stopped that, and started it from its disks: the ramdisk is beside it.
	put dev-sda/state in_sync,write_mostly dev-sdb/state in_sync,write_mostly
	mv "$MD/dev-rd0" "$R/sys/class/block/rd0/holders/md127" "$R"
	printf '%s\n' "uuid=$ID" legs= events=120 ram_slot=0 generation=5 \
		>"$R/etc/ramraid/state/data.witness"
	refused 4 'its RAM leg is the only good copy of what is on it' destroy --yes data
	refused 3 'did you mean "data"?' destroy --yes daat
	refused 2 "can't be an array's name" destroy --yes ../data
	refused 2 'expected one array name' destroy --yes data data
}

@test "destroy wipes no disk with another UUID, and none that the configuration does not name" {
	eval "$(declare -f superblock_facts | sed 's/case $text in/& theirs) printf "%s\\n" sb=ok uuid=99999999-0000-0000-0000-000000000009 device_uuid=x level=1 events=1 ;; damaged) printf "sb=corrupt\\n" ;;/')"
	conf "UUID=$ID" "MEMBER=$A" "MEMBER=$B" MEMBER=/dev/disk/by-id/ata-C \
		MEMBER=/dev/disk/by-id/ata-none WAIT=no
	echo theirs >"$R/dev/sdc" # has the name of a MEMBER
	echo ours >"$R/dev/sdd"   # a copy that somebody keeps
	fake_disk sde $((200 << 20)) disk/by-id/ata-E
	echo damaged >"$R/dev/sde"
	echo MEMBER=/dev/disk/by-id/ata-E >>"$R/etc/ramraid/data.conf"
	verb destroy --yes data
	assert_success
	is_destroyed
	[[ $(wiped) == '/dev/sda /dev/sdb' && $(<"$R/dev/sdc") == theirs &&
		$(<"$R/dev/sdd") == ours && $(<"$R/dev/sde") == damaged ]] ||
		fail "$(wiped)"
	assert_line -p 'left: /dev/sdd carries its UUID and is no MEMBER, so it is left alone. If nothing on it is needed: mdadm --zero-superblock /dev/sdd'
	assert_line -p 'left: /dev/disk/by-id/ata-none is not there'
	assert_line -p "left: /dev/disk/by-id/ata-E: its superblock can't be read"
}

@test "destroy says to leave the disk below a leg that is down alone" {
	conf "UUID=$ID" "MEMBER=$A" "MEMBER=$B" MEMBER=/dev/drbd/by-res/r0 WAIT=no
	echo ours >"$R/dev/sdd"
	verb destroy --yes data
	assert_success
	assert_line -p 'left: /dev/sdd carries its UUID and is no MEMBER, so it is left alone. If it is the disk below /dev/drbd/by-res/r0, leave it alone'
	refute_output -p 'zero-superblock /dev/sdd'
}

@test "destroy also wipes a member that was added by hand" {
	put raid_disks 4
	joins sdc in_sync,write_mostly 3
	verb destroy --yes data
	assert_success
	[[ $(wiped) == '/dev/sda /dev/sdb /dev/sdc' ]] || fail "$(wiped)"
}

@test "destroy does not wipe a disk whose name leads to another one by now, or that is in use" {
	SUPERBLOCK_FACTS=$(declare -f superblock_facts)
	libraries
	eval "$SUPERBLOCK_FACTS"
	act() { called "$@" && : >"$R${*: -1}"; }
	NAME=data CONF[UUID]=$ID DESTROY_WIPE=("$A") DESTROY_NODES=(sda)
	rm -rf "$R/sys/class/block/sda/holders/md127"
	ln -sfn "$R/dev/sdc" "$R/dev/disk/by-id/ata-A"
	run destroy_wipe_
	assert_failure
	assert_output -p "$A: is no longer the disk that it was a moment ago; it is not wiped"
	ln -sfn "$R/dev/sda" "$R/dev/disk/by-id/ata-A"
	mkdir "$R/sys/class/block/sda/holders/dm-1"
	run destroy_wipe_
	assert_failure
	assert_output -p "$A: is in use by dm-1; it is not wiped"
	[[ -z $(wiped) ]]
	rmdir "$R/sys/class/block/sda/holders/dm-1"
	run destroy_wipe_
	assert_success
	[[ $(wiped) == /dev/sda ]]
}

@test "destroy works on an array that does not run" {
	effect mdadm --stop /dev/md127
	verb destroy --yes data
	assert_success
	is_destroyed
	[[ $(wiped) == '/dev/sda /dev/sdb' && $(calls) != *--stop* ]] || fail "$(calls)"
}

@test "destroy of an array whose disks have moved to another machine wipes nothing, and forgets it" {
	effect mdadm --stop /dev/md127
	rm "$R/dev/disk/by-id/ata-A" "$R/dev/disk/by-id/ata-B" "$R"/dev/sd[abcd]
	rm -r "$R"/sys/class/block/sd[abcd]
	verb destroy --yes data
	assert_success
	[[ -z $(wiped) && $(calls) != *--stop* && ! -e $R/enabled ]] || fail "$(calls)"
	[[ ! -e $R/etc/ramraid/data.conf && -z $(ls "$R/etc/mdadm/mdadm.conf.d") &&
		-z $(ls "$R/etc/ramraid/state") ]] || fail "$(find "$R/etc")"
	assert_line -p 'left: /dev/disk/by-id/ata-A is not there'
}

@test "destroy names what it leaves: entries in fstab and crypttab, units, drop-ins, rescue images" {
	printf '%s\n' 'UUID=0815 /srv/data ext4 defaults 0 2' '/dev/md/data1 none swap sw' \
		'/dev/mapper/box /box ext4 defaults' '/dev/sdz /other ext4 defaults' >"$R/etc/fstab"
	printf '%s\n' '# box /dev/md/data' 'box /dev/md/data2 none luks' 'other /dev/sdz none' \
		>"$R/etc/crypttab"
	echo UUID=0815 >"$R/etc/ramraid/state/data.contents"
	echo REQUIRED_BY=srv-x.mount >>"$R/etc/ramraid/data.conf"
	mkdir -p "$R/etc/ramraid/data.conf.d" "$R/var/lib/ramraid/data"
	: >"$R/var/lib/ramraid/data/image"
	verb destroy --yes data
	assert_success
	[[ $(sed -n 's/^data: left: //p' <<<"$output" | sort) == "$(printf '%s\n' '/etc/crypttab: box /dev/md/data2' '/etc/fstab: /dev/mapper/box /box' '/etc/fstab: /dev/md/data1 none' '/etc/fstab: UUID=0815 /srv/data' '/var/lib/ramraid/data, where rescue images of what was on it are kept: rm -r /var/lib/ramraid/data' "$R/etc/ramraid/data.conf.d, which would apply to a new array of that name: rm -r $R/etc/ramraid/data.conf.d" 'srv-x.mount, which its configuration named as REQUIRED_BY' | sort)" ]] ||
		fail "$output"
}

@test "destroy killed after any step: a second run completes it" {
	local n=1 all
	cp -a "$R" "$BATS_TEST_TMPDIR/fresh"
	verb destroy --yes data
	assert_success
	all=$(calls | wc -l)
	((all > 12)) || fail "$all"
	for ((n = 1; n <= all; n++)); do
		rm -rf "$R" "$BATS_TEST_TMPDIR/calls"
		cp -a "$BATS_TEST_TMPDIR/fresh" "$R"
		KILL_AFTER=$n
		verb destroy --yes data
		((status != 0)) || fail "not killed after $n"
		KILL_AFTER=0
		if [[ ! -e $R/etc/ramraid/data.conf &&
			! -e $R/etc/ramraid/state/data.releasing ]]; then
			fail "$n: neither the configuration nor the note"
		fi
		verb destroy --yes data
		((status == 0)) || fail "$n: $output"
		is_destroyed
	done
}

@test "release and destroy each refuse to finish what the other has begun" {
	rm "$R/etc/ramraid/data.conf"
	echo '# "ramraid release" has begun to delete the notes of this array; type it again.' \
		>"$R/etc/ramraid/state/data.releasing"
	refused 4 'a release of it has begun; to finish that: ramraid release data' destroy \
		--yes data
	echo '# "ramraid destroy" has begun to delete the notes of this array; type it again.' \
		>"$R/etc/ramraid/state/data.releasing"
	refused 4 'a destroy of it has begun; to finish that: ramraid destroy data' release \
		--yes data
	[[ -z $(wiped) ]]
}

@test "destroy that fails at a step says what was done, and what to type" {
	FAILS='mdadm --stop'
	verb destroy --yes data
	assert_failure
	assert_line 'data: nothing was wiped. Its configuration and its disks are as before'
	[[ -z $(wiped) && -e $R/etc/ramraid/data.conf ]]
	FAILS='systemctl daemon-reload'
	verb destroy --yes data
	assert_failure
	assert_line 'data: not finished, and what was done stays. To go on: ramraid destroy data'
	FAILS=''
	verb destroy --yes data
	assert_success
	is_destroyed
}
