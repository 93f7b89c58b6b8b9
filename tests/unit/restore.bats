#!/usr/bin/env bats
# ramraid restore from its first look to its end, on an array that only exists as a file: what it
# leaves running, and what the next one finds.

setup() {
	load helper
	world
	libraries
	ID=11111111-2222-3333-4444-555555555555
	IMAGE=$R/var/data/rescue-77.X/image
	S=$R/etc/ramraid/state
	mkdir -p "$R/sys/block/md127" "${IMAGE%/*}" "$S"
	chmod 700 "${IMAGE%/*}"
	echo 16 >"$R/sys/block/md127/size"
	head -c 8192 /dev/zero >"$R/dev/md127"
	head -c 8192 /dev/urandom >"$IMAGE"
	record data
	fakes
}
record() { # NAME
	local sum
	sum=$(sha256sum <"$IMAGE")
	printf '%s\n' "uuid=$ID" "image=$IMAGE" bytes=8192 "sha256=${sum%% *}" events=77 >"$S/$1.rescue"
}

# After the libraries, whose functions these replace. The array runs while $R/running is there.
fakes() {
	dd() { command dd "${@/[io]flag=direct/status=none}"; } # a plain file
	conf_need() { NAME=data && declare -gA CONF=([RESCUE]=$R/var); }
	cli_root() { :; }
	systemd_settle() { :; }
	systemd_is_running() { return 1; }
	array_lock() { exec {ARRAY_LOCK}>/dev/null; }
	before_look_configured() {
		F[name]=data F[uuid]=$ID F[members]=1
		before_look_remembered
	}
	facts_observe() {
		F[leg.0.dev]=/dev/disk/by-id/a F[leg.0.node]=sda F[leg.0.device_uuid]=aa-1
		F[array.state]=absent F[array.md]='' F[ram.state]=none
		[[ ! -e $R/running ]] || F[array.state]=$(<"$R/running") F[array.md]=md127
	}
	eval "real_$(declare -f restore_choose)"
	restore_choose() { F[forced]=0 ARGUMENTS=(sda); }
	restore_ask() { :; }
	start_which() { echo sda; }
	start_is_still() { :; }
	disk_is_unused() { :; }
	md_of_leg() { [[ -e $R/running ]] && echo md127; }
	disk_legs_is_of() { :; }
	disk_legs_assemble() { called assemble "$@" && echo active >"$R/running"; }
	mdadm() {
		called "$*"
		[[ $* != --stop* ]] || rm "$R/running"
	}
	witness_update() { called witness; }
}

# restores CODE WHAT-IT-SAYS: CALLS is what has been called.
restores() {
	rm -f "$BATS_TEST_TMPDIR/calls"
	run cmd_restore --yes data
	[[ $status == "$1" && $output == *"$2"* ]] || fail "$status: $output"
	CALLS=$(calls)
}
stopped() { [[ ! -e $R/running ]] || fail "still running: $CALLS"; }

@test "a restore writes the image, records that, and leaves the array running" {
	restores 0 "restored from $IMAGE, which is kept"
	[[ $CALLS == $'assemble sda\n--readwrite /dev/md127\nwitness' && -e $R/running ]] ||
		fail "$CALLS"
	cmp "$IMAGE" "$R/dev/md127"
	[[ ! -e $S/data.rescue && -e ${IMAGE%/*} ]]
}

@test "an image that is damaged, of another size, or not root's alone is found before the array is assembled" {
	local kept='not restored; the image and its record are kept. Fix the cause, then: ramraid restore data'
	cp "$IMAGE" "$R/whole"
	echo x | command dd of="$IMAGE" conv=notrunc status=none
	restores 1 'is damaged: its SHA-256'
	[[ $output == *"$kept"* && -z $CALLS ]] || fail "$output" "$CALLS"
	head -c 4096 "$R/whole" >"$IMAGE"
	restores 1 'does not have the 8192 bytes that were recorded'
	[[ $output == *"$kept"* && -z $CALLS ]] || fail "$output" "$CALLS"
	cp "$R/whole" "$IMAGE"
	chmod 777 "$R/var/data"
	restores 1 'may not be what was saved'
	[[ $output == *"$kept"* && -z $CALLS ]] || fail "$output" "$CALLS"
	# So its own advice helps.
	chmod 755 "$R/var/data"
	restores 0 'restored from'
}

# lacking FROM:BYTES…: an image that lacks these parts, and a disk that has other contents there.
# md has a list of bad blocks; what it has been given of it is on the disk.
lacking() {
	local range
	for range; do
		command dd if=/dev/zero of="$IMAGE" bs=1 seek="${range%:*}" count="${range#*:}" \
			conv=notrunc status=none
	done
	record data
	printf 'lost=%s\n' "$@" >>"$S/data.rescue"
	head -c 8192 /dev/urandom >"$R/dev/md127"
	cp "$R/dev/md127" "$R/before"
	mkdir -p "$R/sys/block/md127/md/"{dev-sda,bitmap}
	echo 2048 >"$R/sys/block/md127/md/dev-sda/offset"
	act_write() { called "${1##*/md/} $2 $(cmp "$R/before" "$R/dev/md127" >/dev/null && echo untouched)"; }
	superblock_bad_ranges() {
		calls | while read -r what from sectors _; do
			[[ $what != */bad_blocks ]] || echo $((from - 2048)) $((from - 2048 + sectors))
		done | sort -n
	}
	sleep() { SECONDS=$((SECONDS + 1)); }
}
# has FILE FROM BYTES: the disk has there what FILE has.
has() {
	cmp -n "$3" -i "$2" "$1" "$R/dev/md127" || fail "from $2"
}

@test "what the image lacks stays on the disk, as bad blocks of md's before the first byte, and restore names it" {
	lacking 4096:4096
	restores 0 '4.0KiB of the array could not be read, and are zeros in the image: bytes 4096 to 8191. md lists them as bad blocks of sda'
	has "$IMAGE" 0 4096
	has "$R/before" 4096 4096
	[[ $CALLS == *'dev-sda/bad_blocks 2056 8 untouched'* && ! -e $S/data.rescue ]] || fail "$CALLS"
	# To the sector, within one MiB, and at the beginning.
	rm "$R/running"
	lacking 0:512 1024:1536 7680:512
	restores 0 'md lists them as bad blocks of sda'
	[[ $CALLS == *$'bad_blocks 2048 1 untouched\n'*'bad_blocks 2050 3 untouched'*'bad_blocks 2063 1 untouched'* ]] ||
		fail "$CALLS"
	has "$R/before" 0 512
	has "$IMAGE" 512 512
	has "$R/before" 1024 1536
	has "$IMAGE" 2560 5120
	has "$R/before" 7680 512
}

@test "where the image lacks a whole chunk of the bitmap, md learns that absent disks may differ there" {
	lacking 1024:4096
	echo 2048 >"$R/sys/block/md127/md/bitmap/chunksize"
	restores 0 'md lists them as bad blocks'
	[[ $CALLS == *'bitmap_set_bits 1-1 untouched'* ]] || fail "$CALLS"
	has "$R/before" 1024 4096
	# If md does not take the bits, zeros are written, which sets them.
	rm "$R/running"
	lacking 1024:4096
	eval "$(declare -f act_write | sed '1s/act_write/act_write_/')"
	act_write() { act_write_ "$@" && [[ $1 != */bitmap_set_bits ]]; }
	restores 0 'md lists them as bad blocks'
	has "$IMAGE" 0 8192
}

@test "where md can't list what the image lacks, the disk gets its zeros, and restore says so" {
	lacking 4096:4096
	act_write() { return 1; }
	restores 0 'bytes 4096 to 8191. md could not list all of them as bad blocks of sda, so they read as zeros'
	has "$IMAGE" 0 8192
	[[ ! -e $S/data.rescue ]]
	# In a far2, a place on the leg is another one than in the array.
	rm "$R/running"
	lacking 4096:4096
	F[conf.layout]=far2
	restores 0 'so they read as zeros'
	has "$IMAGE" 0 8192
	[[ $CALLS != *bad_blocks* ]] || fail "$CALLS"
	# Where a block of the array has a part that the image has.
	F[conf.layout]=mirror
	rm "$R/running"
	lacking 512:512 4096:4096
	disk_block() { echo 4096; }
	restores 0 'md lists them as bad blocks'
	has "$IMAGE" 0 4096
	has "$R/before" 4096 4096
}

@test "the record of an image that lacks blocks goes only once the disk has md's list of them" {
	lacking 4096:4096
	# md writes it with its superblock, after one more write.
	superblock_bad_ranges() { [[ ! -e $R/listed ]] || echo 8 16; }
	dd() {
		[[ $* != *of=*/md127* ]] || { called "dd $*" && [[ $(calls | grep -c '^dd') != 2 ]] || : >"$R/listed"; }
		command dd "${@/[io]flag=direct/status=none}"
	}
	restores 0 'md lists them as bad blocks of sda'
	[[ ! -e $S/data.rescue && $(grep -c '^dd' <<<"$CALLS") == 2 ]] || fail "$CALLS"
	has "$R/before" 4096 4096
	rm "$R/running" "$R/listed"
	lacking 4096:4096
	for list in '' '0 8' '8 15' '9 16'; do
		superblock_bad_ranges() { echo "$list"; }
		restores 1 'the image is on sda, but its superblock does not list what the image lacks as bad blocks'
		[[ $output == *'The record of the image is kept; type it again: ramraid restore data'* &&
			-e $S/data.rescue && -e $IMAGE && $CALLS != *witness* ]] || fail "$output"
		stopped
	done
	superblock_bad_ranges() { return 1; }
	restores 1 'The record of the image is kept'
	superblock_bad_ranges() { printf '%s\n' '0 4' '8 12' '12 20'; }
	restores 0 'md lists them as bad blocks'
}

@test "restore --dry-run shows that what the image lacks is not written" {
	lacking 4096:4096
	run cmd_restore --dry-run data
	assert_output -p "dd if=$IMAGE of=/dev/md/data bs=4096 count=1 skip=0 seek=0"
	refute_output -p 'seek=4096'
	rm "$R/running"
	record data
	run cmd_restore --dry-run data
	assert_output -p "dd if=$IMAGE of=/dev/md/data bs=1048576 oflag=direct"
}

@test "what the image is compared with is what is written, even if its name leads elsewhere since" {
	cp "$IMAGE" "$R/whole"
	disk_legs_assemble() {
		echo active >"$R/running"
		head -c 8192 /dev/urandom >"$R/new" && mv "$R/new" "$IMAGE"
	}
	restores 0 'restored from'
	cmp "$R/whole" "$R/dev/md127"
}

@test "a restore that fails before its first byte stops the array, to which md has written nothing" {
	echo 24 >"$R/sys/block/md127/size"
	restores 1 'md127 has 12288 bytes, the image 8192'
	stopped
	[[ $CALLS == $'assemble sda\n--stop /dev/md127' ]] || fail "$CALLS"
	echo 16 >"$R/sys/block/md127/size"
	act_text() { return 1; } # /etc is full
	restores 1 'that a disk is being overwritten; nothing was written'
	stopped
	[[ $CALLS == $'assemble sda\n--stop /dev/md127' ]] || fail "$CALLS"
	not grep -q disk= "$S/data.rescue"
	restores 1 'Fix the cause, then: ramraid restore data'
	[[ $output != *'is running'* ]] || fail "$output"
}

@test "a restore that fails after its first byte stops the array, and the next one goes on with the disk" {
	local good
	good=$(declare -f dd)
	dd() { [[ $* != *of=*/md127* ]] && command dd "${@/[io]flag=direct/status=none}"; }
	restores 1 'Fix the cause, then: ramraid restore data'
	stopped
	grep -qx disk=aa-1 "$S/data.rescue"
	eval "$good"
	witness_update() { return 1; }
	restores 1 'restored, but that could not be recorded, so the record of the image is kept'
	stopped
	[[ -e $S/data.rescue ]]
	# Whatever fails, in no words of ours.
	eval "$(declare -f mdadm | sed '1s/mdadm/mdadm_/')"
	mdadm() { mdadm_ "$@" && [[ $* != --readwrite* ]]; }
	restores 1 'Fix the cause, then: ramraid restore data'
	stopped
	mdadm() { mdadm_ "$@"; }
	witness_update() { :; }
	restores 0 'restored from'
}

@test "a restore says so when it can't stop the array, or can't delete the record" {
	eval "$(declare -f mdadm | sed '1s/mdadm/mdadm_/')"
	mdadm() { [[ $* != --stop* ]] && mdadm_ "$@"; }
	echo 24 >"$R/sys/block/md127/size"
	restores 1 'data: md127 could not be stopped; use nothing that is on it'
	rm "$R/running"
	echo 16 >"$R/sys/block/md127/size"
	mdadm() { mdadm_ "$@"; }
	rescue_record_forget() { return 1; }
	restores 1 "restored, but $S/data.rescue could not be deleted. Delete it, then: ramraid start data"
	stopped
}

@test "a restore that is interrupted at any time once the array runs stops it" {
	disk_legs_is_of() { kill -TERM "$BASHPID" && command sleep 1; }
	restores 130 'interrupted; the image and its record are kept. To go on: ramraid restore data'
	stopped
	# While it writes, too.
	disk_legs_is_of() { :; }
	rescue_put_back() { kill -TERM "$BASHPID" && command sleep 5; }
	restores 130 'interrupted; the image and its record are kept. To go on: ramraid restore data'
	stopped
	[[ $CALLS == $'assemble sda\n--stop /dev/md127' ]] || fail "$CALLS"
	# mdadm was killed, but md had begun.
	disk_legs_assemble() {
		echo active >"$R/running"
		LOOP_ERROR='mdadm refused'
		return 1
	}
	restores 1 'data: mdadm refused'
	stopped
}

@test "an array that something else starts at the same moment is not stopped by a restore" {
	disk_legs_is_of() { return 1; }
	restores 4 'something else has started an array of its legs at the same moment'
	[[ -e $R/running && $CALLS != *--stop* ]] || fail "$CALLS"
}

@test "status of a running array with a rescue image: stop it, then restore" {
	facts_read <"$FIXTURES/status/rescue-image.facts"
	advice stopped
	[[ $ADVICE_ACTION == 'ramraid restore data' ]] || fail "$ADVICE_ACTION"
	F[array.state]=inactive
	advice half-assembled
	[[ $ADVICE_ACTION == 'ramraid restore data' ]] || fail "$ADVICE_ACTION"
	F[array.state]=active F[array.md]=md127
	advice degraded
	[[ $ADVICE_ACTION == 'ramraid stop data && ramraid restore data' ]] || fail "$ADVICE_ACTION"
}

@test "what restore says to delete is the record that it has read, under whatever name" {
	mv "$S/data.rescue" "$S/old.rescue"
	F[rescue.image]=''
	mv "$IMAGE" "$R/away"
	restores 4 "rm $S/old.rescue; ramraid start data"
	mv "$R/away" "$IMAGE"
	: >"${IMAGE%/*}/record.restored"
	restores 4 "rm $S/old.rescue; ramraid start data"
	mv "${IMAGE%/*}/record.restored" "${IMAGE%/*}/record.given-up"
	restores 4 "rm $S/old.rescue; ramraid start data"
	[[ $output != *data.rescue* ]] || fail "$output"
	rm "${IMAGE%/*}/record.given-up"
	chmod 777 "$R/var/data"
	restores 1 "write that path into $S/old.rescue (image=)"
	chmod 755 "$R/var/data"
	# Taken over, it is written and deleted under the new name.
	restores 0 'restored from'
	[[ -z $(ls "$S") ]] || fail "$(ls "$S")"
	printf 'uuid=%s\n' "$ID" >"$S/old.rescue"
	restores 4 "$S/old.rescue is damaged"
}

@test "an image that was moved is restored once the record names its new path, as restore says" {
	mkdir -m 700 "$R/srv"
	mv "$IMAGE" "$R/srv/moved.image"
	restores 4 "$IMAGE can't be read; is its file system mounted? If that was unmounted before the image was \
written, the image is below what is mounted there now: unmount that, and look again. If you have moved it, \
write its new path into $S/data.rescue (image=)"
	[[ -z $CALLS ]] || fail "$CALLS"
	sed -i "s|^image=.*|image=$R/srv/moved.image|" "$S/data.rescue"
	restores 0 "restored from $R/srv/moved.image"
	cmp "$R/srv/moved.image" "$R/dev/md127"
	# The whole folder, too, with its record; that it has been put back is noted there.
	mkdir -p "${IMAGE%/*}"
	cp "$R/srv/moved.image" "$IMAGE"
	record data
	cp "$S/data.rescue" "${IMAGE%/*}/record"
	mv "${IMAGE%/*}" "$R/srv"
	rm -f "$R/running"
	sed -i "s|^image=.*|image=$R/srv/rescue-77.X/image|" "$S/data.rescue"
	cp "$S/data.rescue" "$R/kept"
	restores 0 "restored from $R/srv/rescue-77.X/image"
	rm "$R/running"
	cp "$R/kept" "$S/data.rescue"
	restores 4 'has been put back already'
}

@test "restore --dry-run shows that it stops what is half assembled or left by a killed one, and ends there" {
	facts_read <"$FIXTURES/decide/stopped-2.facts"
	restore_choose() { real_restore_choose; }
	eval "$(declare -f facts_observe | sed '1s/facts_observe/fakes_observe/')"
	facts_observe() {
		fakes_observe
		F[members]=1
		[[ -z ${F[array.md]} ]] || F[leg.0.in]=md127 F[leg.0.sb]=''
	}
	previews() { # STATE
		echo "$1" >"$R/running"
		rm -f "$BATS_TEST_TMPDIR/calls"
		run cmd_restore --dry-run data
		assert_success
		assert_output -p 'mdadm --stop /dev/md127'
		assert_output -p "data: the rest depends on what is on the disks once /dev/md127 is \
stopped; nothing was changed (--dry-run)"
		[[ -z $(calls) ]] || fail "$(calls)"
	}
	previews inactive
	echo disk=aa-1 >>"$S/data.rescue"
	previews active
	# What the real one would refuse, this refuses as well.
	disk_is_unused() { return 1; }
	run cmd_restore --dry-run data
	assert_failure 4
	assert_output -p 'is running; type: ramraid stop data'
}

@test "a restore that can't stop what is half assembled says so" {
	echo inactive >"$R/running"
	F[array.strangers]=''
	mdadm() { return 1; }
	restore_choose() {
		action_choose
		die "$NAME: $WHY" "$EX_REFUSED"
	}
	restores 4 'md127 is half assembled and could not be stopped; see: lsblk /dev/md127'
}

@test "with no disk leg for the image, restore says how to copy it elsewhere, and what to delete before destroy" {
	facts_blank 1
	restore_choose() { real_restore_choose; }
	restores 4 "dd if=$IMAGE of=/dev/md/NEW bs=1M conv=fsync; only when all of it is there: rm $IMAGE \
$S/data.rescue; ramraid destroy data"
	[[ $output != *zeros* ]] || fail "$output"
	# The way leads on if the new disk has the name of the old one, and to blocks that fit.
	[[ $output == *"mv $R/etc/ramraid/data.conf $R/etc/ramraid/data.conf.old before create"* ]] ||
		fail "$output"
	conf_need() { NAME=data && declare -gA CONF=([RESCUE]=$R/var [RAM]=zram:lz4); }
	restores 4 "ramraid create --force --ram=zram:lz4 NEW DISK"
	echo lost=4096:4096 >>"$S/data.rescue"
	restores 4 "zeros in the image: bytes 4096 to 8191. On the new array they read as zeros as well"
	[[ $output == *"keep a copy of $S/data.rescue"* && -e $IMAGE && -e $S/data.rescue ]] || fail "$output"
}
