#!/usr/bin/env bats
# The generator on whole little worlds: tests/fixtures/generator/NN-NAME/etc in, expected/ out (none: nothing is written).

setup() {
	load helper
	world
	rmdir "$R/etc/ramraid" "$R/etc"
	OUT=$BATS_TEST_TMPDIR/out
	mkdir "$OUT"
}

generate() { "$PROJECT/units/ramraid-generator" "$OUT" "$OUT.early" "$OUT.late"; }

# golden FIXTURE: leaves what the generator said in $said.
golden() {
	cp -r "$FIXTURES/generator/$1/etc" "$R/etc"
	chmod -R go-w "$R/etc" # whatever umask the fixtures were checked out with
	mkdir -p "$BATS_TEST_TMPDIR/none"
	said=$(generate 2>&1) || fail "exit code $?: $said"
	[[ -d $FIXTURES/generator/$1/expected ]] && set -- "$FIXTURES/generator/$1/expected" || set -- "$BATS_TEST_TMPDIR/none"
	# The bounds of the shutdown are the same for all: one test of their own.
	run diff -r --exclude={poweroff,reboot,halt,kexec}.target.d "$1" "$OUT"
	assert_success
}

quietly() {
	golden "$1"
	[[ -z $said ]] || fail "$said"
}

@test "file system by UUID, beside others" { quietly 01-ext4-by-uuid; }
@test "file system by LABEL" { quietly 02-by-label; }
@test "the array by its names, not by similar ones" { quietly 03-by-array-name; }
@test "partitions of the array" { quietly 04-partitions; }
@test "swap" { quietly 05-swap; }
@test "crypttab, a container inside a container, mounts from both" { quietly 06-crypttab; }
@test "logical volumes by both names" { quietly 07-lvm; }
@test "MOUNT= as mount point and as unit" { quietly 08-mount-key; }
@test "blanks and dashes in mount point and array name" { quietly 09-blanks-and-dashes; }
@test "ON_TIMEOUT=fail, and the device's time is the sum of all" { quietly 10-times; }
@test "WAIT_TIMEOUT=infinity" { quietly 11-infinity; }
@test "nofail and a device time-out of the user's" { quietly 12-nofail; }
@test "nothing configured: nothing written" { quietly 13-nothing-configured; }
@test "no fstab" { quietly 15-no-fstab; }
@test "two arrays, each with its own times" { quietly 16-two-arrays; }

@test "a broken configuration is said, gates what names it, and keeps no other from being gated" {
	golden 14-broken-beside-good
	[[ $said == *"$R/etc/ramraid/bad.conf:1: UUID=nonsense"* ]]
	[[ $said == *"bad name.conf"* ]]
	[[ $said != *good* ]]
}

@test "a folder for rescue images: its mount outlives the array, and it may be written" { quietly 17-rescue-folder; }

@test "a shutdown is given time while an array with a RAM leg is configured, and only then" {
	local target
	cp -r "$FIXTURES/generator/01-ext4-by-uuid/etc" "$R/etc"
	chmod -R go-w "$R/etc"
	generate
	for target in poweroff reboot halt kexec; do grep -qx JobTimeoutSec=60min "$OUT/$target.target.d/50-ramraid.conf"; done
	rm -r "${OUT:?}"/*
	echo RAM=none >>"$R/etc/ramraid/data.conf"
	generate
	[[ ! -e $OUT/reboot.target.d && -e $OUT/srv.mount.d ]]
}

@test "every fixture is used" {
	local folder
	for folder in "$FIXTURES"/generator/*/; do
		folder=${folder%/}
		grep -q "${folder##*/}" "$BATS_TEST_FILENAME" || fail "$folder"
	done
}

# An array "data2" and partition 2 of "data" look alike.
@test "an array is not taken for a partition of another" {
	mkdir -p "$R/etc/ramraid"
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' >"$R/etc/ramraid/data.conf"
	printf 'UUID=21111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-B\n' >"$R/etc/ramraid/data2.conf"
	printf '/dev/md/data2 /b ext4 defaults 0 2\n' >"$R/etc/fstab"
	generate
	[[ -e $OUT/b.mount.d/50-ramraid-data2.conf && ! -e $OUT/b.mount.d/50-ramraid-data.conf ]] || fail "$(find "$OUT" -type f)"
}

# What systemd's own generator calls the units is what the drop-ins have to be called.
@test "names of units agree with systemd-fstab-generator's, labels and paths with odd characters included" {
	local generator=/usr/lib/systemd/system-generators/systemd-fstab-generator unit
	[[ -x $generator ]] || fail "$generator is missing"
	mkdir -p "$R/etc/ramraid/state" "$BATS_TEST_TMPDIR/theirs"
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' >"$R/etc/ramraid/data.conf"
	printf '%s\n' 'LABEL=my disk' 'LABEL=a+b@c' 'LABEL=ä' UUID=0A1B-2C3D >"$R/etc/ramraid/state/data.contents"
	cat >"$R/etc/fstab" <<-'EOT'
		LABEL=my\040disk /a ext4 x-systemd.device-timeout=9 0 2
		LABEL=a+b@c /srv/with\040blank ext4 x-systemd.device-timeout=9 0 2
		UUID=0A1B-2C3D /a/b-c_d/ vfat x-systemd.device-timeout=9 0 0
		LABEL=ä /ö ext4 x-systemd.device-timeout=9 0 2
		/dev/md/data1 /x//y ext4 x-systemd.device-timeout=9 0 2
	EOT
	generate
	SYSTEMD_FSTAB=$R/etc/fstab SYSTEMD_SYSROOT_FSTAB=/dev/null "$generator" "$BATS_TEST_TMPDIR"/theirs{,,} 2>/dev/null
	for unit in "$BATS_TEST_TMPDIR"/theirs/*.mount; do
		[[ -d $OUT/${unit##*/}.d ]] || fail "no drop-in for ${unit##*/}: $(ls "$OUT")"
		while read -r unit; do
			[[ -d $OUT/$unit.d ]] || fail "no drop-in for $unit: $(ls "$OUT")"
		done < <(sed -n 's/^Requires=\(systemd-fsck@.*\)/\1/p' "$unit")
	done
	for unit in "$BATS_TEST_TMPDIR"/theirs/*.device.d; do
		[[ -d $OUT/${unit##*/} ]] || fail "no time-out for ${unit##*/}: $(ls "$OUT")"
	done
}
