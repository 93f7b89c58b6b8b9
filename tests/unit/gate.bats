#!/usr/bin/env bats
# The generator on whole little worlds: tests/fixtures/generator/NN-NAME/etc in, expected/ out
# (none: nothing is written).

setup() {
	load helper
	world
	rmdir "$R/etc/ramraid" "$R/etc"
	OUT=$BATS_TEST_TMPDIR/out
	mkdir "$OUT"
}

generate() { "$PROJECT/units/ramraid-generator" "$OUT" "$OUT.early" "$OUT.late"; }

# cycles [FOLDER]: prints the ordering cycles that systemd finds when it plans a boot of this world,
# with the units of the package and what FOLDER has. systemd breaks a cycle by dropping a job, perhaps
# that of local-fs.target.
cycles() {
	local manager=$BATS_TEST_TMPDIR/manager from=/usr/lib/systemd conf
	local etc=$manager/etc/systemd/system
	rm -rf "$manager"
	mkdir -p "$manager$from" "$etc/local-fs.target.wants"
	cp -r "$from/system" "$manager$from/"
	cp "$PROJECT"/units/*.{service,path,timer} "$manager$from/system/"
	# Services as other packages have them; one of them brings the network up.
	mkdir "$etc/network-online.target.wants"
	for conf in x foo network-up; do
		printf '[Unit]\nBefore=%s\n[Service]\nExecStart=/usr/bin/sleep 1\n' \
			"$([[ $conf != network-up ]] || echo network-online.target)" >"$etc/$conf.service"
	done
	ln -s ../network-up.service "$etc/network-online.target.wants/"
	export SYSTEMD_FSTAB=$R/etc/fstab SYSTEMD_CRYPTTAB=$R/etc/crypttab SYSTEMD_PROC_CMDLINE=''
	SYSTEMD_LOG_LEVEL=err "$from/system-generators/systemd-fstab-generator" "$etc" "$etc" "$etc" || :
	[[ ! -e $SYSTEMD_CRYPTTAB || ! -x $from/system-generators/systemd-cryptsetup-generator ]] ||
		"$from/system-generators/systemd-cryptsetup-generator" "$etc" "$etc" "$etc"
	(($# == 0)) || cp -r "$1/." "$etc/"
	for conf in "$R"/etc/ramraid/*.conf; do
		conf=$(systemd-escape "$(basename "$conf" .conf)")
		ln -s "$from/system/ramraid@.service" "$etc/local-fs.target.wants/ramraid@$conf.service"
	done
	systemd-analyze verify --man=no --root="$manager" multi-user.target 2>&1 |
		grep 'Found ordering cycle'
}

# in_no_cycle: what the generator has written to $OUT adds none.
in_no_cycle() {
	local found
	found=$(cycles "$OUT") || return 0
	# Some are in the lines of fstab alone.
	cycles >/dev/null || fail "$found"$'\n'"$(cat "$R/etc/fstab")"
}

# golden FIXTURE: leaves what the generator said in $said.
golden() {
	cp -r "$FIXTURES/generator/$1/etc" "$R/etc"
	chmod -R go-w "$R/etc" # whatever umask the fixtures were checked out with
	mkdir -p "$BATS_TEST_TMPDIR/none"
	said=$(generate 2>&1) || fail "exit code $?: $said"
	[[ -d $FIXTURES/generator/$1/expected ]] && set -- "$FIXTURES/generator/$1/expected" ||
		set -- "$BATS_TEST_TMPDIR/none"
	# The bounds of the shutdown and mdadm's watcher are the same for all: tests of their own.
	run diff -r --exclude={poweroff,reboot,halt,kexec,soft-reboot}.target.d --exclude=mdmonitor.service.d \
		"$1" "$OUT"
	assert_success
	[[ ! -d $R/etc/ramraid ]] || in_no_cycle
}

quietly() {
	golden "$1"
	[[ -z $said ]] || fail "$said"
}

@test "mounts by the UUID of what is on the array wait for it, and others do not" { quietly 01-ext4-by-uuid; }
@test "mounts by the LABEL of what is on the array wait for it" { quietly 02-by-label; }
@test "mounts by the array's names wait for it, but not by similar names" { quietly 03-by-array-name; }
@test "mounts from partitions of the array wait for it" { quietly 04-partitions; }
@test "swap on the array waits for it" { quietly 05-swap; }
@test "containers in crypttab on the array wait for it, also nested ones, and mounts from them" { quietly 06-crypttab; }
@test "logical volumes on the array wait for it by both of their names" { quietly 07-lvm; }
@test "REQUIRED_BY= names a mount point or a unit that waits" { quietly 08-mount-key; }
@test "blanks and dashes in mount points and array names are escaped" { quietly 09-blanks-and-dashes; }
@test "the device timeout is the sum of all timeouts, also with ON_TIMEOUT=fail" { quietly 10-times; }
@test "with WAIT_TIMEOUT=infinity the device timeout is infinite" { quietly 11-infinity; }
@test "mounts with nofail and a device timeout of their own wait as well" { quietly 12-nofail; }
@test "a device on several arrays may take as long as the slowest of them, in whatever order they come" {
	local name longest limit='dev-vg-lv.device.d'
	mkdir -p "$R/etc/ramraid/state"
	echo '/dev/vg/lv /srv ext4 defaults 0 2' >"$R/etc/fstab"
	for name in a b c; do echo /dev/vg/lv >"$R/etc/ramraid/state/$name.contents"; done
	array() { # NAME MINUTES
		printf '%s\n' "UUID=${1}1111111-2222-3333-4444-555555555555" \
			"MEMBER=/dev/disk/by-id/ata-$1" MEMBER_TIMEOUT=30s WAIT_TIMEOUT="$2" \
			>"$R/etc/ramraid/$1.conf"
	}
	for longest in a b c; do
		for name in a b c; do array "$name" 1min; done
		array "$longest" 10min
		rm -rf "${OUT:?}"/*
		generate
		[[ $(ls "$OUT/$limit") == 40-ramraid.conf ]] || fail "$(ls "$OUT/$limit")"
		grep -qx JobRunningTimeoutSec=720 "$OUT/$limit/40-ramraid.conf" ||
			fail "$longest" "$(cat "$OUT/$limit"/*)"
		grep -q "ramraid@$longest.service" "$OUT/$limit/40-ramraid.conf"
		array "$longest" infinity
		rm -rf "${OUT:?}"/*
		generate
		grep -qx JobRunningTimeoutSec=infinity "$OUT/$limit/40-ramraid.conf" ||
			fail "$longest" "$(cat "$OUT/$limit"/*)"
	done
}

# limited [NAME]: generates, and prints the time limit of the array's device ("data" by default).
limited() {
	rm -rf "${OUT:?}"/*
	generate 2>&1
	sed -n s/^JobRunningTimeoutSec=//p "$OUT/dev-md-${1-data}.device.d/40-ramraid.conf"
}
watched() { # [NAME]: mdmonitor waits for it
	grep -qsx "After=ramraid@${1-data}.service" "$OUT/mdmonitor.service.d/50-ramraid.conf"
}
failed() { fail "$(grep -r . "$OUT")"; }

@test "a device has no time limit if the array waits for a mount that may take any time" {
	local line option
	mkdir -p "$R/etc/ramraid"
	printf '%s\n' UUID=11111111-2222-3333-4444-555555555555 MEMBER=/dev/disk/by-id/ata-A \
		RESCUE=/backup/images >"$R/etc/ramraid/data.conf"
	fstab() { printf '%s\n' '/dev/md/data /srv ext4 defaults 0 2' "$@" >"$R/etc/fstab"; }
	# The check of its file system, or of one that it needs.
	fstab '/dev/sdx /backup ext4 defaults 0 2'
	[[ $(limited) == infinity ]] && watched || failed
	fstab '/backup.img /backup ext4 x-systemd.requires=/b 0 0' '/dev/sdx /b ext4 defaults 0 1'
	[[ $(limited) == infinity ]] && watched || failed
	# The boot does not wait for it, so mdmonitor does not either.
	fstab '/dev/sdx /backup ext4 nofail 0 2'
	[[ $(limited) == infinity ]] && not watched || failed
	for option in noauto nofail,x-systemd.automount; do
		fstab "/dev/sdx /backup ext4 $option 0 2"
		[[ $(limited | tail -n 1) == 1920 ]] && watched || fail "$option"
	done
	fstab '/dev/sdx /backup ext4 defaults 0 0' '/dev/sdy /other ext4 defaults 0 2'
	[[ $(limited) == 1920 ]] && watched || failed
	# A container, which the boot opens.
	for line in '/dev/mapper/b /backup ext4 nofail 0 0' '/b/image /backup ext4 loop 0 0'; do
		fstab "$line" '/dev/mapper/b /b ext4 defaults 0 0'
		for option in luks luks,noauto,auto; do
			echo "b /dev/sdx none $option" >"$R/etc/crypttab"
			[[ $(limited) == infinity ]] && watched || fail "$line $option"
		done
		for option in luks,noauto luks,nofail; do
			echo "b /dev/sdx none $option" >"$R/etc/crypttab"
			[[ $(limited) == 1920 ]] && watched || fail "$line $option"
		done
	done
	# The second copy of the record; the file system of a boot loader is quickly checked.
	sed -i '$d' "$R/etc/ramraid/data.conf"
	fstab '/dev/sdx /boot ext4 defaults 0 2' '/dev/sdy /boot/efi vfat defaults 0 1'
	[[ $(limited) == 1920 && -e $OUT/ramraid@data.service.d/50-witness.conf ]] && watched || failed
	fstab '/dev/mapper/b /boot ext4 defaults 0 2'
	echo 'b /dev/sdx none luks' >"$R/etc/crypttab"
	[[ $(limited) == infinity ]] && watched || failed
	fstab '/dev/sdx /copy ext4 defaults 0 2'
	echo WITNESS_COPY=/copy >>"$R/etc/ramraid/data.conf"
	[[ $(limited) == infinity ]] || failed
}

@test "what LVM activates with the array keeps its time limit if the array waits for any time" {
	mkdir -p "$R/etc/ramraid/state"
	printf '%s\n' UUID=11111111-2222-3333-4444-555555555555 MEMBER=/dev/disk/by-id/ata-A \
		RESCUE=/backup >"$R/etc/ramraid/data.conf"
	printf '%s\n' /dev/vg/db 'beside /dev/mapper/vg-var' >"$R/etc/ramraid/state/data.contents"
	printf '%s\n' '/dev/vg/db /db ext4 defaults 0 2' '/dev/mapper/vg-var /v ext4 defaults 0 2' \
		'/dev/sdx /backup ext4 defaults 0 2' >"$R/etc/fstab"
	generate
	grep -qx JobRunningTimeoutSec=infinity "$OUT/dev-vg-db.device.d/40-ramraid.conf"
	grep -qx JobRunningTimeoutSec=1920 "$OUT/dev-mapper-vg\\x2dvar.device.d/40-ramraid.conf"
}

@test "the time limit counts what the arrays take that the array waits for, legs and mounts alike" {
	local i=1 name
	mkdir -p "$R/etc/ramraid"
	for name in data inner saved; do
		printf '%s\n' "UUID=${i}1111111-2222-3333-4444-555555555555" WAIT_TIMEOUT=${i}min \
			MEMBER_TIMEOUT=30s "MEMBER=/dev/disk/by-id/ata-$name" RESCUE=none \
			>"$R/etc/ramraid/$name.conf"
		i=$((i + 1))
	done
	echo MEMBER=/dev/md/inner >>"$R/etc/ramraid/data.conf"
	printf '/dev/md/%s /srv/%s ext4 defaults 0 0\n' data data saved saved >"$R/etc/fstab"
	[[ $(limited) == $((180 + 240)) && $(limited saved) == 300 ]] && watched || failed
	sed -i s,RESCUE=none,RESCUE=/srv/saved, "$R/etc/ramraid/data.conf"
	[[ $(limited) == $((180 + 240 + 300)) ]] && watched || failed
	# Without an end, whatever is the cause.
	echo MEMBER=/dev/mapper/a >>"$R/etc/ramraid/inner.conf"
	echo 'a /dev/sdx none luks' >"$R/etc/crypttab"
	[[ $(limited) == infinity && $(limited saved) == 300 ]] && watched || failed
	echo 'a /dev/sdx none luks,nofail' >"$R/etc/crypttab"
	[[ $(limited) == infinity ]] && watched saved && not watched && not watched inner || failed
	rm "$R/etc/crypttab"
	sed -i s/=3min/=infinity/ "$R/etc/ramraid/saved.conf"
	[[ $(limited) == infinity ]] && watched inner && not watched && not watched saved || failed
	# A circle, as a person may write it, ends.
	echo MEMBER=/dev/md/data >>"$R/etc/ramraid/inner.conf"
	[[ $(limited) == infinity ]] || failed
}

@test "nothing is written if no array is configured" { quietly 13-nothing-configured; }
@test "the array waits for the containers of its disk legs, and its devices then have no time limit" {
	quietly 20-luks
}
@test "without fstab nothing fails" { quietly 15-no-fstab; }
@test "two arrays each have their own timeouts" { quietly 16-two-arrays; }

@test "nothing waits for a copy of a configuration that has no witness, and a message says so" {
	local id=11111111-2222-3333-4444-555555555555 file
	mkdir -p "$R/etc/ramraid/state"
	umask 022
	printf '%s\n' "UUID=$id" MEMBER=/dev/disk/by-id/ata-A REQUIRED_BY=/srv/data \
		>"$R/etc/ramraid/data.conf"
	cp "$R/etc/ramraid/data.conf" "$R/etc/ramraid/data-old.conf"
	# Nobody knows yet which of them is the copy.
	generate 2>/dev/null
	[[ -e $OUT/srv-data.mount.d/50-ramraid-data.conf &&
		-e $OUT/srv-data.mount.d/50-ramraid-data-old.conf ]]
	rm -r "$OUT" && mkdir "$OUT"
	printf '%s\n' "uuid=$id" legs= events=90 ram_slot=0 generation=5 \
		>"$R/etc/ramraid/state/data.witness"
	said=$(generate 2>&1)
	[[ $said == *'data-old.conf is about the same array as '*'/data.conf, which has its record, so nothing waits for data-old; delete the copy'* ]] ||
		fail "$said"
	[[ -e $OUT/srv-data.mount.d/50-ramraid-data.conf ]]
	file=$(grep -rl data-old "$OUT") || :
	[[ -z $file ]] || fail "$file"
}

@test "a broken configuration is reported, and its own mounts and those of other arrays still wait" {
	golden 14-broken-beside-good
	[[ $said == *"$R/etc/ramraid/bad.conf:1: UUID=nonsense"* ]]
	[[ $said == *"bad name.conf"* ]]
	[[ $said != *good* ]]
}

@test "the mount of the folder for rescue images outlives the array, and the unit may write to it" {
	quietly 17-rescue-folder
}

# The system runs from the array, even if a typing error makes the unit fail.
@test "other mounts on the array of the root file system want its unit, and do not require it" {
	cp -r "$FIXTURES/generator/03-by-array-name/etc" "$R/etc"
	chmod -R go-w "$R/etc"
	generate
	grep -qx Requires=ramraid@data.service "$OUT/a.mount.d/50-ramraid-data.conf"
	rm -r "${OUT:?}"/*
	echo ROOT=yes >>"$R/etc/ramraid/data.conf"
	generate
	for file in a.mount 'systemd-fsck@dev-md-data.service'; do
		grep -qx Wants=ramraid@data.service "$OUT/$file.d/50-ramraid-data.conf"
		grep -qx After=ramraid@data.service "$OUT/$file.d/50-ramraid-data.conf"
		not grep -q Requires= "$OUT/$file.d/50-ramraid-data.conf"
	done
	rm -r "${OUT:?}"/*
	echo 'MEMBRE=/dev/x' >>"$R/etc/ramraid/data.conf"
	generate 2>/dev/null || :
	not grep -rq Requires=ramraid "$OUT"
	# The claim says it where the configuration does not, or can't be read.
	mkdir -p "$R/etc/mdadm/mdadm.conf.d"
	(libraries && claim_text "$(sed -n s/^UUID=//p "$R/etc/ramraid/data.conf")" data) \
		>"$R/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
	for change in s/ROOT=/ROOOT=/ /ROOOT=/d /MEMBRE=/d 's/$/\r/'; do
		rm -r "${OUT:?}"/*
		sed -i "$change" "$R/etc/ramraid/data.conf"
		generate 2>/dev/null || :
		grep -qx Wants=ramraid@data.service "$OUT/a.mount.d/50-ramraid-data.conf"
		not grep -rq Requires=ramraid "$OUT"
	done
}

@test "what was made on a running array and is not recorded yet counts, but not from a reused device number" {
	cp -r "$FIXTURES/generator/01-ext4-by-uuid/etc" "$R/etc"
	rm "$R/etc/ramraid/state/data.contents"
	mkdir -p "$R/sys/block/md127" "$R/run/ramraid"
	echo "md127 9" >"$R/run/ramraid/data.watched"
	export BLIND=''
	now() {
		bash -c 'source "$1/units/ramraid-generator"; lsblk() { [[ ${!#} == */dev/md127 && -z ${BLIND-} ]] && echo "PATH=\"/dev/md127\" UUID=\"0a1b2c3d-0000-4000-8000-000000000001\""; }; main "$2"' - "$PROJECT" "$OUT"
	}
	echo 10 >"$R/sys/block/md127/diskseq"
	now
	[[ ! -e $OUT/srv.mount.d ]]
	echo 9 >"$R/sys/block/md127/diskseq"
	BLIND=yes run now
	assert_output -p "can't see what is on it now; using what was recorded"
	now
	run diff -r --exclude={poweroff,reboot,halt,kexec,soft-reboot}.target.d --exclude=mdmonitor.service.d \
		"$FIXTURES/generator/01-ext4-by-uuid/expected" "$OUT"
	assert_success
}

# rescues NAME FOLDER UUID-DIGIT: one more array, with that folder.
rescues() {
	mkdir -p "$R/etc/ramraid"
	printf "UUID=%s1111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-%s\n\
RESCUE=%s\n" "$3" "$1" "$2" >"$R/etc/ramraid/$1.conf"
}

@test "if RESCUE is below the array's own mount, it is not ordered, and a message says so" {
	rescues data /var/lib/ramraid/images 1
	printf '%s\n' \
		'UUID=99999999-0000-4000-8000-000000000003 /var/lib/ramraid ext4 defaults 0 2' \
		'/dev/md/data /var ext4 defaults 0 2' '/dev/sdx /var/libx ext4 defaults 0 2' \
		>"$R/etc/fstab"
	run generate
	assert_output -p 'data: /var/lib/ramraid, which RESCUE is on, waits for data itself'
	run grep -r After= "$OUT/ramraid@data.service.d"
	assert_output ''
	# On a way of its own it is waited for.
	sed -i 's/ .var / \/variable /' "$R/etc/fstab"
	run generate
	assert_output ''
	grep -qx After=var-lib-ramraid.mount "$OUT/ramraid@data.service.d/50-rescue.conf"
}

@test "if two arrays each have RESCUE on the other, one is ordered, and the other reports the cycle" {
	rescues one /two/images 1
	rescues two /one/big/images 2
	printf '%s\n' '/dev/md/one /one ext4 defaults 0 2' '/dev/md/two /two ext4 defaults 0 2' \
		'/dev/sdx /one/big ext4 defaults 0 2' >"$R/etc/fstab"
	run generate
	assert_output -p 'two: one.mount, which RESCUE is on, waits for two itself'
	grep -qx After=two.mount "$OUT/ramraid@one.service.d/50-rescue.conf"
	run grep -r After= "$OUT/ramraid@two.service.d"
	assert_output ''
}

@test "a RESCUE cycle of two arrays through a bind mount is found" {
	rescues one /save/images 1
	rescues two /one/images 2
	printf '%s\n' '/dev/md/one /one ext4 defaults 0 2' '/dev/md/two /two ext4 defaults 0 2' \
		'/two/save /save none bind 0 0' >"$R/etc/fstab"
	run generate
	assert_output -p 'two: one.mount, which RESCUE is on, waits for two itself'
	grep -qx After=two.mount "$OUT/ramraid@one.service.d/50-rescue.conf"
	run grep -r After= "$OUT/ramraid@two.service.d"
	assert_output ''
}

@test "a RESCUE cycle through the key of the other array's disk legs is found" {
	rescues one /two/images 1
	printf 'UUID=21111111-2222-3333-4444-555555555555\nMEMBER=/dev/mapper/legs\n' \
		>"$R/etc/ramraid/two.conf"
	printf '%s\n' '/dev/md/one /one ext4 defaults 0 2' '/dev/md/two /two ext4 defaults 0 2' \
		>"$R/etc/fstab"
	echo 'legs UUID=1 /one/keys/legs' >"$R/etc/crypttab"
	run generate
	assert_output -p 'one: two.mount, which RESCUE is on, waits for one itself'
	run grep -r After= "$OUT/ramraid@one.service.d"
	assert_output ''
	# With the key elsewhere, the image is saved before that mount goes.
	rm -r "${OUT:?}"/*
	echo 'legs UUID=1 /etc/keys/legs' >"$R/etc/crypttab"
	run generate
	assert_output ''
	grep -qx After=two.mount "$OUT/ramraid@one.service.d/50-rescue.conf"
}

@test "RESCUE on a nested mirror, named by the array, makes no ordering cycle" {
	rescues data /var/lib/ramraid 1
	printf "UUID=21111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-B\n\
MEMBER=/dev/disk/by-id/ata-C\nLAYOUT=far2\nRAM=none\n" >"$R/etc/ramraid/data-far2.conf"
	sed -i s,by-id/ata-data,../md/data-far2, "$R/etc/ramraid/data.conf"
	sed -i s,disk/../,, "$R/etc/ramraid/data.conf"
	echo '/dev/md/data /var ext4 defaults 0 2' >"$R/etc/fstab"
	run generate
	assert_output ''
	run bash -c 'grep -rh After= "$1"/ramraid@*' - "$OUT"
	assert_output After=ramraid@data-far2.service
	grep -qx After=ramraid@data.service "$OUT/var.mount.d/50-ramraid-data.conf"
	# One in memory as well, as nobody can make it but by hand: it would wait for what is on
	# it.
	sed -i '/LAYOUT\|RAM/d' "$R/etc/ramraid/data-far2.conf"
	rm -r "$OUT"
	mkdir "$OUT"
	run generate
	assert_output -p 'data-far2: var.mount, which RESCUE is on, waits for data-far2 itself'
	[[ ! -e $OUT/ramraid@data-far2.service.d ]] ||
		fail "$(grep -r . "$OUT/ramraid@data-far2.service.d")"
	# And a circle of disk legs is no endless loop.
	sed -i 's,^MEMBER=/dev/disk/by-id/ata-B,MEMBER=/dev/md/data,' \
		"$R/etc/ramraid/data-far2.conf"
	echo '/dev/sdx /var ext4 defaults 0 2' >"$R/etc/fstab"
	timeout 10 env R="$R" "$PROJECT/units/ramraid-generator" "$OUT" "$OUT.early" "$OUT.late"
}

# saves LINE…: RESCUE, /var/lib/ramraid, with /srv/data on the array and these lines in fstab.
# Leaves what was said in $said, and in $after what is stopped after the array.
saves() {
	[[ -e $R/etc/ramraid/data.conf ]] || rescues data /var/lib/ramraid 1
	printf '%s\n' '/dev/md/data /srv/data ext4 defaults 0 2' "$@" >"$R/etc/fstab"
	rm -rf "${OUT:?}"/*
	said=$(timeout 10 "$PROJECT/units/ramraid-generator" "$OUT" "$OUT" "$OUT" 2>&1) ||
		fail "exit code $?: $said"
	after=$(sed -n 's/^After=//p' "$OUT/ramraid@data.service.d/50-rescue.conf" 2>/dev/null |
		tr '\n' ' ')
	in_no_cycle
}
in_order() { # UNITS LINE…
	saves "${@:2}"
	[[ $after == "$1 " && -z $said ]] || fail "$*: $after: $said"
}
in_circle() { # MOUNT LINE…
	saves "${@:2}"
	[[ -z $after && $said == *"data: $1, which RESCUE is on, waits for data itself"* ]] ||
		fail "$*: $after: $said"
}
in_no_order() { # LINE…
	saves "$@"
	[[ -z $after && -z $said ]] || fail "$*: $after: $said"
}

@test "RESCUE on a bind or image mount whose source is on the array is not ordered, and a message says so" {
	in_circle /var '/srv/data/var /var none bind 0 0'
	in_circle /var '/srv/data/var.img /var ext4 loop 0 0'
	in_circle /var '/mnt/b /var none rbind 0 0' '/srv/data/a /mnt none bind 0 0'
	in_circle /var/lib '/srv/data/a /var none bind 0 0' '/dev/sdx /var/lib ext4 defaults 0 2'
	in_order 'home.mount var.mount' '/home/var /var none bind 0 0' \
		'/dev/sdx /home ext4 defaults 0 2'
	in_order var.mount '/srv/database/var /var none bind 0 0'
	# A circle in fstab itself is no endless loop.
	in_order 'mnt.mount var.mount' '/mnt /var none bind 0 0' '/var/x /mnt none bind 0 0'
	echo REQUIRED_BY=/opt >>"$R/etc/ramraid/data.conf"
	in_circle /var '/opt/var /var none bind 0 0'
}

@test "RESCUE on a mount whose options lead to the array is not ordered, and a message says so" {
	local option
	for option in requires-mounts-for=/srv/data/x wants-mounts-for=/srv/data \
		requires=/srv/data/ requires=srv-data.mount after=/srv//data requires=/dev/md/data \
		after=dev-md-data.device requires=ramraid@data.service after=foo.service \
		'after=srv-data-my\x2dvar.mount,x-systemd.before=y.service'; do
		in_circle /var \
			"/dev/sdx /var ext4 noatime,x-systemd.$option,x-systemd.after=x.service 0 2" \
			'/dev/md/data /x ext4 x-systemd.before=foo.service 0 2'
	done
	in_circle /var '/dev/sdx /var ext4 defaults 0 2' \
		'/dev/sdy /home ext4 x-systemd.before=/var,x-systemd.requires=srv-data.mount 0 2'
	in_order var.mount '/dev/sdx /var ext4 x-systemd.requires-mounts-for=/srv/database,x-systemd.before=srv-data.mount 0 2'
	in_order 'srv-a\x2db.mount var.mount' \
		'/dev/sdx /var ext4 x-systemd.after=srv-a\x2db.mount 0 2' \
		'/dev/sdy /srv/a-b ext4 defaults 0 2'
}

@test "RESCUE on a file system of its own makes no ordering cycle, however late that is mounted" {
	local option
	rescues data /save 1
	for option in requires=network-online.target after=x.service after=srv-data.mount \
		requires-mounts-for=/srv/data after=local-fs-pre.target; do
		saves "/dev/sdx /save ext4 nofail,x-systemd.$option 0 2"
		# It is systemd that is asked here: without the mount in fstab alone, it has none.
		! cycles || fail "fstab alone: $option"
	done
}

@test "the check for cycles finds one that is planted" {
	rescues data /save 1
	saves '/dev/sdx /save ext4 defaults 0 2'
	mkdir -p "$OUT/ramraid@data.service.d"
	printf '[Unit]\nAfter=srv-data.mount\n' >"$OUT/ramraid@data.service.d/planted.conf"
	cycles "$OUT"
}

@test "RESCUE on a late mount, or in a container whose key is on the array, is not ordered" {
	local late
	for late in requires=network-online.target after=x.service wants=y.socket; do
		in_circle /var "/dev/sdx /var ext4 nofail,x-systemd.$late 0 2"
		in_circle /var "/dev/sdx /var ext4 x-systemd.$late,nofail,x-systemd.after=swap.target 0 2"
		# Else systemd itself would have a circle, so it must be early.
		in_order var.mount "/dev/sdx /var ext4 x-systemd.$late 0 2"
	done
	for late in after=local-fs-pre.target requires=systemd-modules-load.service \
		wants=lvm2-monitor.service requires=cryptsetup.target after=zfs-import.target; do
		in_order var.mount "/dev/sdx /var ext4 nofail,x-systemd.$late 0 2"
	done
	# Nobody waits for what is on the array.
	saves '/dev/sdx /var ext4 nofail,x-systemd.after=x.service 0 2'
	sed -i 's/defaults 0 2/nofail 0 2/' "$R/etc/fstab"
	rm -rf "${OUT:?}"/*
	run generate
	refute_output -p 'waits for data itself'
	grep -qx After=var.mount "$OUT/ramraid@data.service.d/50-rescue.conf"

	echo REQUIRED_BY=/opt/unit >>"$R/etc/ramraid/data.conf"
	run generate
	assert_output -p '/var, which RESCUE is on, waits for data itself'
	sed -i /REQUIRED_BY/d "$R/etc/ramraid/data.conf"

	echo 'backup UUID=1 /srv/data/keys/backup nofail' >"$R/etc/crypttab"
	in_circle /var '/dev/mapper/backup /var ext4 nofail 0 2'
	in_circle /var '/dev/disk/by-id/dm-name-backup /var ext4 nofail 0 2'
	in_circle /var '/dev/disk/by-id/dm-uuid-CRYPT-PLAIN-backup /var ext4 nofail 0 2'
	echo 'backup UUID=1 /etc/keys/backup nofail' >"$R/etc/crypttab"
	in_order var.mount '/dev/mapper/backup /var ext4 nofail 0 2'
	echo 'backup /srv/data/image none header=/x' >"$R/etc/crypttab"
	in_circle /var '/dev/mapper/backup /var ext4 defaults 0 2'
}

@test "the array does not wait for a RESCUE mount without a time limit, and a message says so" {
	local time
	for time in 0 infinity; do
		saves "/dev/sdx /var ext4 nofail,x-systemd.device-timeout=$time 0 2"
		[[ -z $after && $said == *'data: /var, which RESCUE is on, has no time limit'* ]] ||
			fail "$after: $said"
	done
	in_order var.mount '/dev/sdx /var ext4 nofail,x-systemd.device-timeout=90 0 2'
	[[ $said != *'which RESCUE is on'* ]]
}

@test "a RESCUE mount that only an access makes is reported: a shutdown can't make it" {
	saves '/dev/sdx /var ext4 nofail,x-systemd.automount 0 2'
	[[ $after == 'var.mount ' &&
		$said == *'/var, which RESCUE is on, is mounted only when something uses it'* ]] ||
		fail "$after: $said"
}

@test "a mount point behind a link is ordered by the unit of where it leads" {
	mkdir -p "$R/real/srv"
	rescues data /link/rescue 1
	ln -s real "$R/link"
	saves '/dev/md/data /link/srv/db xfs defaults 0 0' '/dev/sdx /link/rescue ext4 defaults 0 2'
	[[ -e $OUT/real-srv-db.mount.d/50-ramraid-data.conf && ! -e $OUT/link-srv-db.mount.d &&
		$after == 'real-rescue.mount ' ]] || fail "$after $said: $(ls "$OUT")"
	echo REQUIRED_BY=/link/other >>"$R/etc/ramraid/data.conf"
	saves
	[[ -e $OUT/real-other.mount.d/50-ramraid-data.conf ]] || fail "$said: $(ls "$OUT")"
}

@test "RESCUE on a network file system is not ordered, since the network waits for the array" {
	local type
	for type in afs ceph cifs davfs gfs gfs2 glusterfs lustre ncp ncpfs nfs nfs4 ocfs2 \
		orangefs pvfs2 smb3 smbfs sshfs fuse.sshfs fuse.glusterfs 9p; do
		in_no_order "server:/x /var $type defaults 0 0"
	done
	in_no_order '/dev/sdx /var ext4 defaults,_netdev 0 2'
	in_circle /var 'server:/x /net nfs defaults 0 0' '/net/var /var none bind 0 0'
	in_order var.mount '/dev/sdx:/dev/sdy /var fuse.mergerfs defaults 0 0'
}

# systemd unmounts a tmpfs before it switches swap off.
@test "RESCUE on a tmpfs with swap on the array is not ordered, and a message says so" {
	in_circle /var 'tmpfs /var tmpfs defaults 0 0' '/dev/md/data2 none swap sw 0 0'
	in_order var.mount 'tmpfs /var tmpfs defaults 0 0' '/dev/sdx none swap sw 0 0'
}

@test "superfluous slashes in fstab and in RESCUE do not matter" {
	in_order var.mount '/dev/sdx /var/ ext4 defaults 0 2'
	in_order var.mount '/dev/sdx //var/. ext4 defaults 0 2'
	in_circle /var '/srv//data/var/ /var none bind 0 0'
	# The root file system is there before us.
	echo REQUIRED_BY=/ >>"$R/etc/ramraid/data.conf"
	in_order var.mount '/dev/sdx /var ext4 defaults 0 2' \
		'/srv/data/x /y none bind,x-systemd.before=/ 0 0'
	rescues data //pool/./rescue/images/ 1
	in_order 'pool-rescue.mount pool.mount' '/dev/sdx /pool/ ext4 defaults 0 2' \
		'/dev/sdy /pool/rescue/ ext4 defaults 0 2'
	in_circle /pool/rescue '/dev/md/data1 /pool/ ext4 defaults 0 2' \
		'/dev/sdy /pool/rescue ext4 defaults 0 2'
	echo REQUIRED_BY=/opt/ >>"$R/etc/ramraid/data.conf"
	in_circle /pool/rescue \
		'/dev/sdy /pool/rescue none bind,x-systemd.requires-mounts-for=/opt 0 0'
}

# LVM activates a group when all its disks are there.
@test "other volumes of a group that reaches onto the array get its timeout, and make no ordering cycle" {
	rescues data /var/lib/ramraid 1
	mkdir -p "$R/etc/ramraid/state"
	printf '%s\n' /dev/mapper/vg-db /dev/vg/db 'beside /dev/mapper/vg-swap' \
		'beside /dev/mapper/vg-var' 'beside UUID=77777777-0000-4000-8000-000000000007' \
		>"$R/etc/ramraid/state/data.contents"
	printf '%s\n' '/dev/vg/db /db ext4 defaults 0 2' \
		'UUID=77777777-0000-4000-8000-000000000007 /var ext4 defaults 0 2' \
		'/dev/mapper/vg-swap none swap sw 0 0' '/dev/sdx /other ext4 defaults 0 2' \
		>"$R/etc/fstab"
	run generate
	assert_output -p 'data: /var, which RESCUE is on, waits for data itself'
	run bash -c 'cd "$1" && find . -mindepth 1 -maxdepth 1 -name "[dv]*" -o -name "ramraid*" | sort' - "$OUT"
	assert_output './db.mount.d
./dev-disk-by\x2duuid-77777777\x2d0000\x2d4000\x2d8000\x2d000000000007.device.d
./dev-mapper-vg\x2dswap.device.d
./dev-vg-db.device.d'
}

@test "a disk leg that is an array of ramraid's starts first, by its name or its UUID" {
	quietly 19-nested
}

@test "if all mounts on the array are _netdev, the array waits for the network" { quietly 18-netdev; }
@test "if only some mounts on the array are _netdev, the array does not wait for the network, and says so" {
	golden 19-netdev-mixed
	[[ $said == *'data: /etc/fstab and /etc/crypttab mark only some of what is on it'* ]] ||
		fail "$said"
}

@test "a shutdown gets more time only while an array with a RAM leg is configured" {
	local target
	cp -r "$FIXTURES/generator/01-ext4-by-uuid/etc" "$R/etc"
	chmod -R go-w "$R/etc"
	generate
	for target in poweroff reboot halt kexec soft-reboot; do
		grep -qx JobTimeoutSec=4h "$OUT/$target.target.d/50-ramraid.conf"
	done
	rm -r "${OUT:?}"/*
	echo RAM=none >>"$R/etc/ramraid/data.conf"
	generate
	[[ ! -e $OUT/reboot.target.d && -e $OUT/srv.mount.d ]]
}

@test "mdmonitor waits for arrays with a RAM leg and a bounded start, and stops before they do" {
	local file=$OUT/mdmonitor.service.d/50-ramraid.conf
	cp -r "$FIXTURES/generator/16-two-arrays/etc" "$R/etc"
	chmod -R go-w "$R/etc"
	generate
	run grep -v '^#' "$file"
	assert_output $'[Unit]\nConflicts=shutdown.target\nBefore=shutdown.target\nAfter=ramraid@one.service\nAfter=ramraid@two.service'
	echo RAM=none >>"$R/etc/ramraid/one.conf"
	generate
	run grep After "$file"
	assert_output 'After=ramraid@two.service'
	rm -r "${OUT:?}"/*
	echo MEMBER_TIMEOUT=infinity >>"$R/etc/ramraid/two.conf"
	generate
	[[ ! -e $file && -e $OUT/reboot.target.d ]]
}

# lvm2's, which would stop the arrays before their units have let the RAM leg go.
@test "blk-availability.service stops volumes at a shutdown only after the RAM legs are released" {
	local file=$OUT/blk-availability.service.d/50-ramraid.conf
	cp -r "$FIXTURES/generator/16-two-arrays/etc" "$R/etc"
	chmod -R go-w "$R/etc"
	generate
	[[ ! -e $file ]]
	mkdir -p "$R/usr/lib/systemd/system" "$R/etc/systemd/system"
	printf '%s\n' '[Unit]' 'After=iscsi.service' '[Service]' Type=oneshot \
		'ExecStop=/usr/sbin/blkdeactivate -u -l wholevg' RemainAfterExit=yes \
		>"$R/usr/lib/systemd/system/blk-availability.service"
	generate
	run grep -v '^#' "$file"
	assert_output $'[Service]\nExecStop=\nExecStop=ramraid yield -- one two\nExecStop=/usr/sbin/blkdeactivate -u -l wholevg'
	grep -qx 'After=blk-availability.service' "$OUT/mdmonitor.service.d/50-ramraid-lvm.conf"
	# An array without a RAM leg has nothing to release.
	echo RAM=none >>"$R/etc/ramraid/two.conf"
	generate
	grep -qx 'ExecStop=ramraid yield -- one' "$file"
	# One of the administrator's own counts; a masked one stops nothing.
	rm -r "${OUT:?}"/*
	sed 's/ -l wholevg//' "$R/usr/lib/systemd/system/blk-availability.service" \
		>"$R/etc/systemd/system/blk-availability.service"
	generate
	grep -qx 'ExecStop=/usr/sbin/blkdeactivate -u' "$file"
	rm -r "${OUT:?}"/*
	ln -sf /dev/null "$R/etc/systemd/system/blk-availability.service"
	generate
	[[ ! -e $file ]]
}

@test "a reload raises the flag of hot-plug for a running array, and a boot does not" {
	cp -r "$FIXTURES/generator/16-two-arrays/etc" "$R/etc"
	chmod -R go-w "$R/etc"
	generate
	[[ ! -e $R/run/ramraid ]]
	mkdir -p "$R/run/ramraid"
	: >"$R/run/ramraid/one.watched"
	generate
	[[ -e $R/run/ramraid/event ]]
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
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' \
		>"$R/etc/ramraid/data.conf"
	printf 'UUID=21111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-B\n' \
		>"$R/etc/ramraid/data2.conf"
	printf '/dev/md/data2 /b ext4 defaults 0 2\n' >"$R/etc/fstab"
	generate
	[[ -e $OUT/b.mount.d/50-ramraid-data2.conf && ! -e $OUT/b.mount.d/50-ramraid-data.conf ]] ||
		fail "$(find "$OUT" -type f)"
}

# hostile: an array "data" that holds LABEL=x; fstab comes from stdin.
hostile() {
	mkdir -p "$R/etc/ramraid/state"
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' \
		>"$R/etc/ramraid/data.conf"
	echo LABEL=x >"$R/etc/ramraid/state/data.contents"
	cat >"$R/etc/fstab"
}

# only FOLDER…: drop-ins for exactly these units (and the device that LABEL=x is), and nothing
# beside the output folder
only() {
	local unit expected
	rm -rf "$OUT"/{poweroff,reboot,halt,kexec,soft-reboot}.target.d "$OUT/mdmonitor.service.d"
	expected=$(for unit in 'dev-disk-by\x2dlabel-x.device' \
		'systemd-fsck@dev-disk-by\x2dlabel-x.service' "$@"; do
		printf '%s.d\n' "$unit"
	done | sort)
	[[ $(find "$OUT" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort) == "$expected" ]] ||
		fail "$(find "$OUT")" "$said"
	[[ -z $(find "$BATS_TEST_TMPDIR" -newer "$R/etc/fstab" -type f \
		! -path "$OUT/*.d/50-ramraid-data.conf" \
		! -path "$OUT/*.d/40-ramraid.conf" ! -path "$R/*") ]]
}

@test "udev's links with encoded characters, and device-mapper's names, are recognized" {
	hostile <<-'EOT'
		/dev/disk/by-label/my\x20data /label ext4 defaults 0 2
		/dev/disk/by-partlabel/Linux\x20filesystem /partlabel ext4 defaults 0 2
		/dev/disk/by-label/a\x2fb\x5cx20 /more ext4 defaults 0 2
		/dev/disk/by-id/dm-name-vg-my--lv /lv ext4 defaults 0 2
		/dev//disk/by-label/x/ /x ext4 defaults 0 2
		/dev/disk/by-label/my\x20other /other ext4 defaults 0 2
		/dev/disk/by-label/my\134040data /none ext4 defaults 0 2
		LABEL=my\x20data /literal ext4 defaults 0 2
		/dev/disk/by-id/dm-name-vg-other /other ext4 defaults 0 2
		/dev/disk/by-id/dm-uuid-LVM-vglv /lv2 ext4 defaults 0 2
		/dev/disk/by-id/dm-uuid-LVM-vglvother /other ext4 defaults 0 2
		/dev/disk/by-id/dm-uuid-CRYPT-LUKS2-0123456789abcdef0123456789abcdef-inner /open ext4 defaults 0 2
		/dev/disk/by-id/dm-uuid-CRYPT-LUKS2-0123456789abcdef0123456789abcdef-other /other ext4 defaults 0 2
		/dev/disk/by-id/dm-uuid-CRYPT-PLAIN-inner /plain ext4 defaults 0 2
	EOT
	printf '%s\n' 'LABEL=my data' 'PARTLABEL=Linux filesystem' 'LABEL=a/b\x20' \
		/dev/mapper/vg-my--lv /dev/disk/by-id/dm-uuid-LVM-vglv \
		>>"$R/etc/ramraid/state/data.contents"
	echo 'inner /dev/disk/by-id/dm-name-vg-my--lv' >"$R/etc/crypttab"
	said=$(generate 2>&1)
	[[ -z $said ]] || fail "$said"
	[[ $(cd "$OUT" && printf '%s ' *mount.d *cryptsetup@*) == "label.mount.d lv.mount.d \
lv2.mount.d more.mount.d open.mount.d partlabel.mount.d plain.mount.d x.mount.d systemd-cryptsetup@inner.service.d " ]] ||
		fail "$(ls "$OUT")"
	[[ -d $OUT/'dev-disk-by\x2dlabel-my\x5cx20data.device.d' ]] || fail "$(ls "$OUT")"
}

@test "what systemd formats if it is blank, file systems and swap, waits for the array" {
	local unit theirs=$BATS_TEST_TMPDIR/theirs
	hostile <<-'EOT'
		LABEL=x /a ext4 defaults,x-systemd.makefs 0 2
		/dev/md/data none swap x-systemd.makefs,nofail 0 0
		/dev/md/data1 /b ext4 x-systemd.makefs=no 0 2
		/dev/md/data2 /c ext4 x-systemd.makefsx 0 2
		LABEL=other /other ext4 x-systemd.makefs 0 2
	EOT
	said=$(generate 2>&1)
	[[ -z $said && $(cd "$OUT" && printf '%s ' systemd-m*.d) == \
'systemd-makefs@dev-disk-by\x2dlabel-x.service.d systemd-makefs@dev-md-data1.service.d '\
'systemd-mkswap@dev-md-data.service.d ' ]] ||
		fail "$said" "$(ls "$OUT")"
	for unit in "$OUT"/systemd-m*.d; do
		grep -qx After=ramraid@data.service "$unit/50-ramraid-data.conf" || fail "$unit"
	done
	# systemd's own generator formats by the same options. In a container it makes no swap.
	mkdir "$theirs"
	SYSTEMD_FSTAB=$R/etc/fstab SYSTEMD_SYSROOT_FSTAB=/dev/null SYSTEMD_PROC_CMDLINE='' \
		/usr/lib/systemd/system-generators/systemd-fstab-generator "$theirs"{,,} 2>/dev/null
	[[ $(cd "$theirs" && printf '%s.d ' systemd-makefs@*) == \
'systemd-makefs@dev-disk-by\x2dlabel-other.service.d '\
'systemd-makefs@dev-disk-by\x2dlabel-x.service.d systemd-makefs@dev-md-data1.service.d ' ]] ||
		fail "$(ls "$theirs")"
}

@test "a mount point that can't be a unit does not keep others from being ordered" {
	local long
	printf -v long '%0300d' 0
	hostile <<-EOT
		LABEL=x /a ext4 defaults 0 2
		LABEL=x /srv/../../../b ext4 defaults 0 2
		LABEL=x /$long ext4 defaults 0 2
		LABEL=x none ext4 noauto 0 2
		LABEL=x / ext4 noauto 0 2
		LABEL=x // ext4 noauto 0 2
		nonsense
		LABEL=x /z ext4 defaults 0 2
	EOT
	printf "REQUIRED_BY=/m/../n\nREQUIRED_BY=/\nREQUIRED_BY=/y\nREQUIRED_BY=%s.service\n\
REQUIRED_BY=..service\nREQUIRED_BY=b.service\n" "$long" >>"$R/etc/ramraid/data.conf"
	said=$(generate 2>&1)
	only a.mount z.mount y.mount ..service b.service
	[[ $said == *'/srv/../../../b'* && $said == *'could not write all drop-ins'* ]] ||
		fail "$said"
}

# luks LINE…: of crypttab, with one disk leg in the container "a", and one at /dev/disk/by-id/ata-A.
# What it comes after is left in $after, what was said in $said.
luks() {
	printf '%s\n' "$@" >"$R/etc/crypttab"
	grep -q mapper "$R/etc/ramraid/data.conf" ||
		echo MEMBER=/dev/mapper/a >>"$R/etc/ramraid/data.conf"
	rm -rf "${OUT:?}"/*
	said=$(generate 2>&1)
	after=$(grep -v '^#' "$OUT/ramraid@data.service.d/50-crypt.conf" 2>/dev/null | tr '\n' ' ')
}

@test "the array does not wait for a leg's container that itself needs the array or the network, and says so" {
	local line
	hostile <<-'EOT'
		LABEL=x /x ext4 defaults 0 2
		/x/y /key none bind 0 0
		tmpfs /a tmpfs defaults 0 0
	EOT
	for line in 'a LABEL=x none' 'a UUID=1 /x/key' 'a UUID=1 /key' 'a UUID=1 /k:LABEL=x' \
		'a UUID=1 none luks,header=/x/h' 'a /x/image' 'a UUID=1 none _netdev' \
		'a UUID=1 - x,_netdev,nofail'; do
		luks "$line"
		[[ -z $after &&
			$said == *'data: a disk leg is in the container a, and the array does not wait for that: '* ]] ||
			fail "$line: $after: $said"
	done
	for line in 'a UUID=1 /a/key' 'a UUID=1 none header=/xh' 'a UUID=1 none netdev,x_netdev'; do
		luks "$line"
		[[ $after == '[Unit] Wants=systemd-cryptsetup@a.service After=systemd-cryptsetup@a.service ' &&
			-z $said ]] ||
			fail "$line: $after: $said"
	done
	# All of it waits for the network.
	sed -i 's/defaults/_netdev/' "$R/etc/fstab"
	luks 'a UUID=1 none _netdev'
	[[ $after == *Wants* && -z $said ]] || fail "$after: $said"
	luks 'b LABEL=x none luks'
	[[ $said == *'mark only some of what is on it as _netdev'* ]] || fail "$said"
}

@test "mdmonitor does not wait for an array that needs a nofail passphrase" {
	hostile </dev/null
	luks 'a UUID=1 none luks'
	grep -qx After=ramraid@data.service "$OUT/mdmonitor.service.d/50-ramraid.conf"
	luks 'a UUID=1 none luks,nofail'
	[[ -n $after && ! -e $OUT/mdmonitor.service.d/50-ramraid.conf ]]
}

# bash puts a here-string of more than 64 KiB into a temporary file, which is lost where no folder
# can be written, as at a boot with / read-only. Here no file of that size can be written anywhere.
@test "more units than fit into a pipe are all ordered, even if no temporary file can be made" {
	local i long units=()
	printf -v long '%0200d' 0
	for i in {100..499}; do units+=("$i$long.mount"); done
	for i in {100..499}; do
		printf 'LABEL=x /%s%s ext4 defaults 0 2\n' "$i" "$long"
	done | hostile
	run bash -c 'trap "" XFSZ; ulimit -f 32; TMPDIR=/nowhere exec "$@"' - \
		"$PROJECT/units/ramraid-generator" "$OUT" "$OUT" "$OUT"
	assert_success
	assert_output ''
	only "${units[@]}"
	[[ $(cat "$OUT"/*.mount.d/50-ramraid-data.conf | grep -c '^After=ramraid@data.service$') \
		== 400 ]]
}

@test "if findmnt crashes on a line of fstab, the other lines are still ordered" {
	hostile <<-'EOT'
		# LABEL=x /comment ext4
		LABEL=x /a ext4 defaults 0 2

		nonsense
		  LABEL=x	/z\040z\134040	ext4	_netdev,x=\011 0 2
		/dev/disk/by-label/my\x20data /b ext4
	EOT
	printf 'LABEL=x /last ext4 ro' >>"$R/etc/fstab"
	cat >"$BATS_TEST_TMPDIR/program" <<-'EOT'
		lib=$1/lib
		source "$lib/core/load.sh"
		need gate/dependents
		findmnt() { kill -SEGV "$BASHPID"; }
		fstab_lines
	EOT
	run bash -Eeuo pipefail "$BATS_TEST_TMPDIR/program" "$PROJECT"
	assert_success
	assert_output -p 'findmnt crashed on a line that is not as fstab(5) says'
	[[ $(grep -v crashed <<<"$output") == 'LABEL=x /a ext4 2 defaults
LABEL=x /z\x20z\x5c040 ext4 2 _netdev,x=\x09
/dev/disk/by-label/my\x5cx20data /b ext4 0 defaults
LABEL=x /last ext4 0 ro' ]] || fail "$output"
	# Where findmnt can do it, it says the same.
	sed -i /nonsense/d "$R/etc/fstab"
	sed -i /^findmnt/d "$BATS_TEST_TMPDIR/program"
	[[ $(bash -Eeuo pipefail "$BATS_TEST_TMPDIR/program" "$PROJECT" | sed 's/ $/ defaults/') \
		== "$(grep -v crashed <<<"$output")" ]] ||
		fail "$(bash "$BATS_TEST_TMPDIR/program" "$PROJECT")"
}

# libmount takes a file whose first line begins with two numbers for a mountinfo, unless it is told.
@test "a first line of numbers does not make fstab another kind of file" {
	hostile <<-'EOT'
		1 2 auto defaults 0 2
		LABEL=x /a ext4 defaults 0 2
	EOT
	generate
	only a.mount
}

@test "per cent signs, newlines and shell code in mount points and sources are escaped" {
	hostile <<-'EOT'
		LABEL=x /50%i\040%n ext4 defaults 0 2
		LABEL=x /a\012[Unit]\012OnFailure=evil.service ext4 defaults 0 2
		LABEL=x /$(touch${IFS}X);`touch${IFS}X` ext4 defaults 0 2
		LABEL=x /[*]? ext4 defaults 0 2
		LABEL=@ /at ext4 defaults 0 2
		@ /at ext4 defaults 0 2
		* /star ext4 defaults 0 2
		$(touch${IFS}X) /x ext4 defaults 0 2
		-part1 /x ext4 defaults 0 2
		"" /x ext4 defaults 0 2
		""-part1 /x ext4 defaults 0 2
	EOT
	cd "$BATS_TEST_TMPDIR"
	said=$(generate 2>&1)
	[[ -z $said ]] || fail "$said"
	only '50\x25i\x20\x25n.mount' 'a\x0a\x5bUnit\x5d\x0aOnFailure\x3devil.service.mount' \
		'\x24\x28touch\x24\x7bIFS\x7dX\x29\x3b\x60touch\x24\x7bIFS\x7dX\x60.mount' \
		'\x5b\x2a\x5d\x3f.mount'
	# What is written into the files holds no name but the array's.
	[[ ! -e X ]]
	not grep -rvE '^#|^\[Unit\]$|^(Requires|After)=ramraid@data.service$|^JobRunningTimeoutSec=[0-9]+$' "$OUT"
	not grep -r '%' "$OUT"
}

@test "a record of contents with empty lines, odd labels and no last newline is read" {
	hostile <<-'EOT'
		LABEL=x /x ext4 defaults 0 2
		LABEL=a/b /slash ext4 defaults 0 2
		LABEL=50%n /percent ext4 defaults 0 2
		LABEL=.. /dots ext4 defaults 0 2
		LABEL=last /last ext4 defaults 0 2
	EOT
	printf '\n\n]\n@\n*\n$(touch X)\na[$(touch X)]\nLABEL=x\nLABEL=a/b\nLABEL=50%%n\nLABEL=..\nLABEL=last' >"$R/etc/ramraid/state/data.contents"
	cd "$BATS_TEST_TMPDIR"
	said=$(generate 2>&1)
	[[ ! -e X && $said != *subscript* ]] || fail "$said"
	only x.mount slash.mount percent.mount dots.mount last.mount \
		'dev-disk-by\x2dlabel-'{last,'a\x5cx2fb','50\x5cx25n'}.device \
		'systemd-fsck@dev-disk-by\x2dlabel-'{last,'a\x5cx2fb','50\x5cx25n'}.service
}

@test "crypttab: impossible names do not keep others from being ordered, and a last line without newline counts" {
	local long
	printf -v long '%0300d' 0
	hostile <<<'/dev/mapper/last /last ext4 defaults 0 2'
	printf '%s\n' 'first LABEL=x' '../up LABEL=x' '.. LABEL=x' "$long LABEL=x" '%i LABEL=x' \
		alone '# LABEL=x' '$(touch${IFS}X) LABEL=x' '"" ""' >"$R/etc/crypttab"
	printf 'last LABEL=x' >>"$R/etc/crypttab"
	cd "$BATS_TEST_TMPDIR"
	said=$(generate 2>&1)
	[[ ! -e X && $said != *subscript* ]] || fail "$said"
	[[ -d $OUT/systemd-cryptsetup@first.service.d &&
		-d $OUT/systemd-cryptsetup@last.service.d && -d $OUT/last.mount.d ]] ||
		fail "$(ls "$OUT")"
	[[ -d $OUT/'systemd-cryptsetup@\x25i.service.d' && -d $OUT/dev-mapper-last.device.d ]] ||
		fail "$(ls "$OUT")"
	[[ $(ls "$OUT") != *..* && $(ls "$OUT") != *-up* ]]
}

@test "FIFOs and folders in place of files do not block the generator, and the rest is ordered" {
	local file
	for file in fstab crypttab ramraid/state/data.contents ramraid/other.conf \
		ramraid/ramraid.conf; do
		for kind in mkfifo mkdir; do
			rm -rf "$OUT" "${R:?}/etc"
			mkdir "$OUT"
			hostile <<<'LABEL=x /x ext4 defaults 0 2'
			echo REQUIRED_BY=/y >>"$R/etc/ramraid/data.conf"
			rm -f "$R/etc/$file"
			"$kind" "$R/etc/$file"
			timeout 10 "$PROJECT/units/ramraid-generator" "$OUT" "$OUT" "$OUT" \
				2>/dev/null ||
				fail "$kind $file: $?"
			[[ -d $OUT/y.mount.d ]] || fail "$kind $file: $(ls "$OUT")"
		done
	done
}

@test "a name with a newline is not taken for two arrays" {
	hostile <<<'/dev/md/more /more ext4 defaults 0 2'
	cp "$R/etc/ramraid/data.conf" "$R/etc/ramraid/"$'more\nevil.conf'
	said=$(generate 2>&1)
	[[ $(grep After "$OUT/mdmonitor.service.d/50-ramraid.conf") == \
		After=ramraid@data.service ]] ||
		fail "$(cat "$OUT/mdmonitor.service.d"/*)"
	rm -r "$OUT"/{poweroff,reboot,halt,kexec,soft-reboot}.target.d "$OUT/mdmonitor.service.d"
	[[ -z $(ls "$OUT") && $said == *'more?evil'* ]] || fail "$(ls "$OUT")" "$said"
}

# What systemd's own generator calls the units is what the drop-ins have to be called.
@test "unit names agree with those of systemd-fstab-generator, odd characters included" {
	local generator=/usr/lib/systemd/system-generators/systemd-fstab-generator unit
	[[ -x $generator ]] || fail "$generator is missing"
	mkdir -p "$R/etc/ramraid/state" "$BATS_TEST_TMPDIR/theirs"
	printf 'UUID=11111111-2222-3333-4444-555555555555\nMEMBER=/dev/disk/by-id/ata-A\n' \
		>"$R/etc/ramraid/data.conf"
	printf '%s\n' 'LABEL=my disk' 'LABEL=a+b@c' 'LABEL=ä' UUID=0A1B-2C3D \
		>"$R/etc/ramraid/state/data.contents"
	cat >"$R/etc/fstab" <<-'EOT'
		LABEL=my\040disk /a ext4 x-systemd.device-timeout=9 0 2
		LABEL=a+b@c /srv/with\040blank ext4 x-systemd.device-timeout=9 0 2
		UUID=0A1B-2C3D /a/b-c_d/ vfat x-systemd.device-timeout=9 0 0
		LABEL=ä /ö ext4 x-systemd.device-timeout=9 0 2
		/dev/md/data1 /x//y ext4 x-systemd.device-timeout=9 0 2
	EOT
	generate
	SYSTEMD_FSTAB=$R/etc/fstab SYSTEMD_SYSROOT_FSTAB=/dev/null "$generator" \
		"$BATS_TEST_TMPDIR"/theirs{,,} 2>/dev/null
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

@test "the start waits for the mount of the witness's second copy, unless that mount waits for the array" {
	local out=$BATS_TEST_TMPDIR/out2
	mkdir -p "$R/etc/ramraid"
	printf '%s\n' 'UUID=11111111-2222-3333-4444-555555555555' MEMBER=/dev/disk/by-id/ata-A \
		>"$RAMRAID_ROOT/etc/ramraid/data.conf"
	chmod 644 "$RAMRAID_ROOT/etc/ramraid/data.conf"
	orders() { # WANT LINE…
		local want=$1
		rm -rf "$out"
		mkdir "$out"
		printf '%s\n' "${@:2}" >"$RAMRAID_ROOT/etc/fstab"
		"$PROJECT/units/ramraid-generator" "$out" 2>&1 || fail 'it failed'
		[[ $(sed -n s/^After=//p "$out/ramraid@data.service.d/50-witness.conf" \
			2>/dev/null) == "$want" ]] ||
			fail "$(grep -r . "$out")"
		[[ -z $want ]] ||
			grep -qx 'ReadWritePaths=-/boot.*' \
				"$out/ramraid-monitor@.service.d/50-ramraid-witness.conf"
		[[ -n $want || ! -e $out/ramraid-monitor@.service.d ]]
	}
	orders boot.mount 'UUID=1 / ext4 defaults' 'UUID=2 /boot ext4 defaults' \
		'/dev/md/data /srv ext4 defaults'
	orders $'boot-efi.mount\nboot.mount' 'UUID=2 /boot ext4 defaults' \
		'UUID=3 /boot/efi vfat umask=0077'
	orders '' 'UUID=2 /boot ext4 noauto'
	orders '' 'UUID=2 /boot ext4 x-systemd.automount'
	orders '' 'UUID=2 /boot ext4 x-systemd.device-timeout=infinity'
	orders '' '/dev/md/data /boot ext4 defaults'
	orders '' '/dev/md/data /srv ext4 defaults' '/srv/boot.img /boot ext4 loop'
	orders '' 'UUID=2 /home ext4 defaults'
	echo WITNESS_COPY=none >>"$RAMRAID_ROOT/etc/ramraid/data.conf"
	orders '' 'UUID=2 /boot ext4 defaults'
}

@test "a FIFO named like a configuration does not block the generator" {
	mkdir -p "$R/etc/ramraid"
	mkfifo "$R/etc/ramraid/fifo.conf"
	printf 'UUID=%s\nMEMBER=/dev/disk/by-id/md-uuid-01234567:89ab4cde:8f012345:6789abcd\n' \
		11111111-2222-3333-4444-555555555555 >"$R/etc/ramraid/data.conf"
	timeout 60 "$PROJECT/units/ramraid-generator" "$OUT" "$OUT.early" "$OUT.late" 2>/dev/null
}

@test "a failure to find the units that wait is not taken for none" {
	CONF[RESCUE]=none CONF[UUID]=1
	MEMBERS=()
	dependents_units() { return 1; }
	not dropins_write "$OUT" data
}
