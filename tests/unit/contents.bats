#!/usr/bin/env bats
# What is on an array, from lsblk's recorded output, and LVM's two names.

setup() {
	load helper
	world
	libraries
}

lsblk() { called lsblk "$@" && printf '%s\n' "$LSBLK"; }

@test "contents lists a partition table, a LUKS container and LVM in it by every name" {
	LSBLK='PATH="/dev/md127" UUID="" LABEL="" PARTUUID="" PARTLABEL=""
PATH="/dev/md127p1" UUID="0a1b-2c3d" LABEL="EFI" PARTUUID="0f0f-01" PARTLABEL="EFI System"
PATH="/dev/md127p2" UUID="11111111-0000-4000-8000-000000000001" LABEL="" PARTUUID="0f0f-02" PARTLABEL=""
PATH="/dev/mapper/secret" UUID="AbCdEf-1111-2222" LABEL="" PARTUUID="" PARTLABEL=""
PATH="/dev/mapper/vg-root" UUID="22222222-0000-4000-8000-000000000002" LABEL="my disk" PARTUUID="" PARTLABEL=""'
	run contents_of md127
	assert_output "/dev/mapper/secret
/dev/mapper/vg-root
/dev/vg/root
LABEL=EFI
LABEL=my disk
PARTLABEL=EFI System
PARTUUID=0f0f-01
PARTUUID=0f0f-02
UUID=0a1b-2c3d
UUID=11111111-0000-4000-8000-000000000001
UUID=22222222-0000-4000-8000-000000000002
UUID=AbCdEf-1111-2222"
	[[ $(calls) == *"$R/dev/md127" ]]
}

@test "labels with odd characters are decoded from lsblk's form, and one with a line break is left out" {
	LSBLK='PATH="/dev/md127" UUID="" LABEL="\x24(touch X)\xc3\xa4\x5cn" PARTUUID="" PARTLABEL="a\x0aUUID=1"'
	[[ $(contents_of md127) == 'LABEL=$(touch X)ä\n' ]] || fail "$(contents_of md127)"
}

@test "a FIFO or NUL bytes in place of the old record do not stop the new one" {
	local file=$R/etc/ramraid/state/data.contents
	LSBLK='PATH="/dev/md127" UUID="1" LABEL="" PARTUUID="" PARTLABEL=""'
	mkdir -p "${file%/*}"
	mkfifo "$file"
	export -f contents_remember contents_of contents_names_ contents_links_ \
		contents_beside_ contents_below_ disk_stack contents_file contents_is_elsewhere text_encode disk_find lsblk called \
		act_text \
		act_put_folder \
		log_info log_write log_printable
	timeout 10 env LSBLK="$LSBLK" STATE="$STATE" DEV="$DEV" SYS="$SYS" ROOT="$ROOT" bash \
		-c 'contents_remember data md127' 2>/dev/null
	[[ $(<"$file") == UUID=1 ]]
	printf 'UUID=2\0\n\0' >"$file"
	run contents_remember data md127
	refute_output -p 'null byte'
	[[ $(<"$file") == $'UUID=1\nUUID=2' ]]
}

# Nothing can be written there.
@test "a folder in place of the record stays, and is not taken for one" {
	local file=$R/etc/ramraid/state/data.contents
	LSBLK='PATH="/dev/md127" UUID="1" LABEL="" PARTUUID="" PARTLABEL=""'
	mkdir -p "$file"
	run contents_remember data md127
	assert_failure
	refute_output -p 'read error'
	[[ -d $file && -z $(ls "$file") && $(ls "${file%/*}") == data.contents ]] ||
		fail "$(ls -R "${file%/*}")"
}

@test "other volumes of a group that reaches onto the array are recorded as beside it until they are elsewhere" {
	local dm uuid n=0
	lsblk() {
		[[ $* != *dm-1* ]] && printf 'PATH="/dev/mapper/vg-db" UUID="1"\n' ||
			printf 'PATH="/dev/mapper/vg-var" UUID="2"\n'
	}
	for uuid in LVM-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1111 \
		LVM-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2222 LVM-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb3333 \
		CRYPT-LUKS2-aaaaaaaaaaaaaaaa; do
		mkdir -p "$R/sys/class/block/dm-$n/dm"
		echo "$uuid" >"$R/sys/class/block/dm-$n/dm/uuid"
		n=$((n + 1))
	done
	mkdir -p "$R/sys/class/block/md127/holders/dm-0" "$R/etc/ramraid/state"
	run contents_of md127
	assert_output "/dev/disk/by-id/dm-uuid-LVM-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1111
/dev/mapper/vg-db
/dev/vg/db
UUID=1
beside /dev/disk/by-id/dm-uuid-LVM-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2222
beside /dev/mapper/vg-var
beside /dev/vg/var
beside UUID=2"
	contents_remember data md127 2>/dev/null
	# While the group is not active it is kept; when the volume is elsewhere it is not.
	rm -r "$R"/sys/class/block/md127/holders/dm-0
	contents_remember data md127 2>/dev/null
	grep -qx 'beside UUID=2' "$R/etc/ramraid/state/data.contents"
	fake_disk sdy $((1 << 20)) disk/by-uuid/2
	contents_remember data md127 2>/dev/null
	not grep -q 'beside UUID=2' "$R/etc/ramraid/state/data.contents"
}

@test "what device-mapper has on the array is recorded by its dm-uuid link, also while it is closed" {
	local uuid n=0 link=/dev/disk/by-id/dm-uuid- file=$R/etc/ramraid/state/data.contents
	LSBLK='PATH="/dev/md127" UUID="" LABEL="" PARTUUID="" PARTLABEL=""'
	mkdir -p "$R/etc/ramraid/state" "$R/sys/class/block/md127/holders/dm-0" \
		"$R/sys/class/block/dm-0/holders/dm-1" "$R/sys/class/block/dm-1/holders/dm-2"
	for uuid in 'CRYPT-LUKS2-0a1b-my\x20safe' LVM-vgvgvglvlvlv '' part1-LVM-other; do
		mkdir -p "$R/sys/class/block/dm-$n/dm"
		echo "$uuid" >"$R/sys/class/block/dm-$n/dm/uuid"
		n=$((n + 1))
	done
	contents_remember data md127 2>/dev/null
	[[ $(<"$file") == "${link}CRYPT-LUKS2-0a1b-my\x20safe"$'\n'"${link}LVM-vgvgvglvlvlv" ]] ||
		fail "$(<"$file")"
	rm -r "$R/sys/class/block/md127/holders/dm-0"
	contents_remember data md127 2>/dev/null
	grep -qx "${link}LVM-vgvgvglvlvlv" "$file"
	# A copy of the volume that was moved to another disk has the name there.
	fake_disk sdy $((1 << 20)) disk/by-id/dm-uuid-LVM-vgvgvglvlvlv
	LSBLK='PATH="/dev/md127" UUID="1" LABEL="" PARTUUID="" PARTLABEL=""'
	contents_remember data md127 2>/dev/null
	not grep -q LVM "$file"
}

@test "the LUKS containers below the legs are recorded, and kept while they are closed" {
	local file=$R/etc/ramraid/state/data.contents
	LSBLK='PATH="/dev/md127" UUID="1" LABEL="" PARTUUID="" PARTLABEL=""'
	mkdir -p "$R"/sys/class/block/{md127/slaves/{dm-0,sdb1,rd0},dm-0/slaves/dm-1,dm-1/slaves/sda} "$R"/sys/class/block/{dm-0,dm-1,dm-2}/dm "$R/etc/ramraid/state" "$R/sys/disk/sdb1" "$R/sys/disk/slaves/dm-2"
	rmdir "$R/sys/disk/sdb1"
	mv "$R/sys/disk" "$R/sys/class/block/dm-9"
	mkdir "$R/sys/class/block/dm-9/part"
	: >"$R/sys/class/block/dm-9/part/partition"
	ln -s dm-9/part "$R/sys/class/block/sdb1"
	echo LVM-1 >"$R/sys/class/block/dm-0/dm/uuid"
	echo vg-lv >"$R/sys/class/block/dm-0/dm/name"
	echo CRYPT-LUKS2-1-pv >"$R/sys/class/block/dm-1/dm/uuid"
	echo pv >"$R/sys/class/block/dm-1/dm/name"
	echo CRYPT-PLAIN-under >"$R/sys/class/block/dm-2/dm/uuid"
	echo under >"$R/sys/class/block/dm-2/dm/name"
	[[ $(contents_of md127) == $'UUID=1\nbelow /dev/mapper/pv\nbelow /dev/mapper/under' ]] ||
		fail "$(contents_of md127)"
	contents_remember data md127 2>/dev/null
	rm -r "$R/sys/class/block/md127/slaves/dm-0"
	contents_remember data md127 2>/dev/null
	grep -qx 'below /dev/mapper/pv' "$file"
	fake_disk dm-5 $((1 << 20)) mapper/pv
	contents_remember data md127 2>/dev/null
	[[ $(<"$file") == $'UUID=1\nbelow /dev/mapper/under' ]] || fail "$(<"$file")"
}

@test "LVM's names: device-mapper doubles dashes within a name" {
	local pair
	for pair in vg-lv=vg/lv vg--a-lv--b=vg-a/lv-b a--b--c-d=a-b-c/d vg-lv----x=vg/lv--x \
		vg_1-lv.2=vg_1/lv.2; do
		LSBLK="PATH=\"/dev/mapper/${pair%=*}\" UUID=\"\" LABEL=\"\" PARTUUID=\"\" \
PARTLABEL=\"\""
		[[ $(contents_of md1) == *"/dev/${pair#*=}"* ]] || fail "$pair: $(contents_of md1)"
	done
	LSBLK='PATH="/dev/mapper/my--secret" UUID="" LABEL="" PARTUUID="" PARTLABEL=""'
	[[ $(contents_of md1) == /dev/mapper/my--secret ]]
}

@test "contents are recorded when they change, kept when nothing is seen, and kept when lsblk fails" {
	local file=$R/etc/ramraid/state/data.contents inode
	LSBLK='PATH="/dev/md127" UUID="1" LABEL="" PARTUUID="" PARTLABEL=""'
	contents_remember data md127 2>/dev/null
	[[ $(<"$file") == UUID=1 ]]
	inode=$(stat -c %i:%y "$file")
	contents_remember data md127
	LSBLK='PATH="/dev/md127" UUID="" LABEL="" PARTUUID="" PARTLABEL=""'
	contents_remember data md127
	LSBLK=''
	contents_remember data md127
	[[ $(stat -c %i:%y "$file") == "$inode" ]]
	LSBLK='PATH="/dev/md127" UUID="2" LABEL="" PARTUUID="" PARTLABEL=""'
	contents_remember data md127 2>/dev/null
	# 1 may be in a container that is closed just now …
	[[ $(<"$file") == $'UUID=1\nUUID=2' ]]
	# … until it is seen on another device.
	fake_disk sdz $((1 << 20)) disk/by-uuid/1
	contents_remember data md127 2>/dev/null
	[[ $(<"$file") == UUID=2 ]]
	lsblk() { return 32; }
	set -o pipefail
	run contents_remember data md127
	assert_failure
	[[ $(<"$file") == UUID=2 ]]
}

@test "what is in a closed container is not forgotten for a device that anybody can make up or plug in" {
	local file=$R/etc/ramraid/state/data.contents node
	LSBLK='PATH="/dev/md127" UUID="luks" LABEL="" PARTUUID="" PARTLABEL=""'
	mkdir -p "${file%/*}" "$R/sys/class/block/md127"
	printf '%s\n' PARTUUID=p UUID=inner UUID=luks >"$file"
	# By a user's loop device, its partition, a stick, a card, and a volume on one of them.
	for node in loop7 loop7p1 sdu mmcblk0 dm-7; do fake_disk "$node" $((1 << 20)); done
	mkdir -p "$R"/sys/devices/usb1 "$R"/dev/disk/by-{uuid,partuuid} \
		"$R/sys/class/block/dm-7/slaves/sdu"
	mv "$R/sys/class/block/sdu" "$R/sys/devices/usb1/sdu"
	ln -s "$R/sys/devices/usb1/sdu" "$R/sys/class/block/sdu"
	echo 1 >"$R/sys/class/block/mmcblk0/removable"
	mv "$R/sys/class/block/loop7p1" "$R/sys/class/block/loop7/"
	echo 1 >"$R/sys/class/block/loop7/loop7p1/partition"
	ln -s loop7/loop7p1 "$R/sys/class/block/loop7p1"
	for node in loop7 loop7p1 sdu mmcblk0 dm-7; do
		ln -sfn "$R/dev/$node" "$R/dev/disk/by-uuid/inner"
		ln -sfn "$R/dev/$node" "$R/dev/disk/by-partuuid/p"
		contents_remember data md127
		[[ $(<"$file") == $'PARTUUID=p\nUUID=inner\nUUID=luks' ]] || fail "$node: $(<"$file")"
	done
	# A link to nothing is no device.
	ln -sfn "$R/dev/none" "$R/dev/disk/by-uuid/inner"
	contents_remember data md127
	[[ $(<"$file") == *UUID=inner* ]]
}

# guest TAG…: the disk of a virtual machine is a volume on the array, and the guest has given what is
# on it these names, of file systems of the host's, which are on sda.
guest() {
	local tag
	fake_disk md127 104857600
	fake_disk dm-3 104857600 mapper/vg-guest
	mkdir -p "$R/sys/class/block/md127/holders/dm-3" "$R/etc/ramraid/state"
	LSBLK='PATH="/dev/md127" UUID="pv" LABEL="" PARTUUID="" PARTLABEL=""'
	for tag; do LSBLK+=$'\n'"PATH=\"/dev/mapper/vg-guest\" ${tag%%=*}=\"${tag#*=}\""; done
}
remembered() { # LINE…
	contents_remember data md127 2>/dev/null
	[[ $(<"$R/etc/ramraid/state/data.contents") == "$(printf '%s\n' "$@" | sort -u)" ]] ||
		fail "$(<"$R/etc/ramraid/state/data.contents")"
}

@test "a name that leads to another disk of the machine is not recorded, whatever a guest calls its own" {
	local here=(/dev/mapper/vg-guest /dev/vg/guest UUID=pv)
	guest UUID=host-var 'LABEL=/my var' UUID=own
	# Nobody else has them, so far.
	remembered "${here[@]}" UUID=host-var 'LABEL=/my var' UUID=own
	fake_disk sda1 104857600 disk/by-uuid/host-var 'disk/by-label/\x2fmy\x20var'
	ln -s "$R/dev/dm-3" "$R/dev/disk/by-uuid/own"
	ln -s "$R/dev/md127" "$R/dev/disk/by-uuid/pv"
	remembered "${here[@]}" UUID=own
	# A stick that has the name of what is on the array does not take it away.
	fake_disk loop7 104857600
	ln -sfn "$R/dev/loop7" "$R/dev/disk/by-uuid/own"
	remembered "${here[@]}" UUID=own
}

@test "the host's /var does not wait for the array because of a guest's UUID, and RESCUE stays on it" {
	local units
	guest UUID=host-var
	fake_disk sda1 104857600 disk/by-uuid/host-var
	declare -gA F=([name]=data) CONF=([RESCUE]=/var/lib/ramraid [LAYOUT]=mirror [WITNESS_COPY]=none)
	declare -ga REQUIRED_BY=() MEMBERS=(/dev/disk/by-id/ata-A)
	printf '%s\n' 'UUID=host-var /var ext4 defaults 0 2' 'UUID=pv /srv ext4 defaults 0 2' \
		>"$R/etc/fstab"
	contents_remember data md127 2>/dev/null
	systemd_escape() { printf '%s\n' "${@: -1}"; }
	units=$(dependents_units data 11111111-2222-3333-4444-555555555555)
	[[ $units == *'unit /srv'* && $units != *'unit /var'* && $units == *'rescue /var'* ]] ||
		fail "$units"
}

@test "a name of a volume beside the array that leads to another disk is not recorded" {
	local dm
	lsblk() {
		[[ $* != *dm-4* ]] || printf 'PATH="/dev/mapper/vg-beside" UUID="%s"\n' beside host-var
	}
	guest
	fake_disk dm-4 104857600 disk/by-uuid/beside
	fake_disk sda1 104857600 disk/by-uuid/host-var
	for dm in dm-3 dm-4; do
		mkdir "$R/sys/class/block/$dm/dm"
		echo "LVM-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa$dm" >"$R/sys/class/block/$dm/dm/uuid"
	done
	[[ $(contents_of md127 | grep -v dm-uuid) == $'beside /dev/mapper/vg-beside\nbeside /dev/vg/beside\nbeside UUID=beside' ]] ||
		fail "$(contents_of md127)"
}

@test "a file system that is on another disk as well stays recorded until the kernel knows it only elsewhere" {
	local here=(/dev/mapper/vg-guest /dev/vg/guest UUID=pv)
	guest UUID=both
	fake_disk sda1 104857600 disk/by-uuid/both
	echo 8:1 >"$R/sys/class/block/sda1/dev"
	mkdir -p "$R/run/udev/data"
	udev() { printf 'E:ID_FS_TYPE=%s\nE:ID_FS_UUID=both\n' "$1" >"$R/run/udev/data/b8:1"; }
	for type in btrfs bcachefs zfs_member; do
		udev "$type"
		remembered "${here[@]}" UUID=both
	done
	udev btrfs
	mkdir -p "$R"/sys/fs/btrfs/both/devices/{sda1,dm-3}
	remembered "${here[@]}" UUID=both
	rmdir "$R/sys/fs/btrfs/both/devices/dm-3"
	remembered "${here[@]}"
	udev ext4
	remembered "${here[@]}"
}

@test "a program that fails does not empty the record of contents" {
	local file=$R/etc/ramraid/state/data.contents
	mkdir -p "${file%/*}"
	LSBLK='PATH="/dev/md127" UUID="1" LABEL="" PARTUUID="" PARTLABEL=""'
	printf '%s\n' UUID=closed >"$file"
	# The first one is that of contents_of.
	sort() { echo x >>"$BATS_TEST_TMPDIR/sorts" && (($(wc -l <"$BATS_TEST_TMPDIR/sorts") == 1)) &&
		command sort "$@"; }
	not contents_remember data md127
	[[ $(<"$file") == UUID=closed ]]
	unset -f sort
	tr() { return 1; }
	not contents_remember data md127
	[[ $(<"$file") == UUID=closed ]]
	unset -f tr
	contents_remember data md127
	[[ $(<"$file") == $'UUID=1\nUUID=closed' ]] || fail "$(<"$file")"
}
