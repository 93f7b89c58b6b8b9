#!/usr/bin/env bats
# The array that the root file system is on: the rescue image, its record, and the second copy of
# the record of the last run.

setup() {
	load helper
	load change
	change_world
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B ROOT=yes
	printf 'MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n' >"$R/proc/meminfo"
	echo '1 0 9:127 / / rw - ext4 /dev/md127 rw' >"$R/proc/1/mountinfo"
}

# image: a shutdown has saved the RAM leg, and the array runs on its disks.
image() {
	IMAGE=$R/var/lib/ramraid/data/rescue-41.abcdefgh/image RECORD=$R/etc/ramraid/state/data.rescue
	mkdir -p "${IMAGE%/*}"
	echo x >"$IMAGE"
	printf '%s\n' "uuid=$ID" "image=$IMAGE" bytes=2 "sha256=$(printf '%064d' 0)" events=50 \
		generation=1 "legs=$(uuid_of a):41" >"$RECORD"
	leaves rd0
	put degraded 1
	rm -f "$R/run/ramraid/data.ram" "$R/run/ramraid/data.watched"
}

@test "with a rescue image of the array that / is on, every message names the rescue system, or the files to delete" {
	image
	for command in 'status data' 'attach data' 'restore --yes data' 'release --yes data' \
		'apply --yes data' 'replace --yes data /dev/disk/by-id/ata-B /dev/disk/by-id/ata-C' \
		'start --dry-run data' 'start --force-leg=/dev/disk/by-id/ata-A --yes data' 'check data'; do
		verb $command
		[[ $output == *'use a rescue system, because / is on this array (ROOT FILE SYSTEM in ramraid-restore(8))'* &&
			$output == *"give it up: rm $IMAGE $RECORD; ramraid start data"* &&
			$output != *'ramraid stop data'* ]] || fail "$command: $output"
	done
	# A damaged record is all that is known.
	echo damaged >"$RECORD"
	verb status data
	assert_output -p "give it up: rm $RECORD; ramraid start data"
}

@test "a rescue image of an array without / is put back as ever" {
	image
	sed -i /ROOT=/d "$R/etc/ramraid/data.conf"
	for command in 'status data' 'attach data' 'release --yes data' 'apply --yes data' 'check data'; do
		verb $command
		[[ $output == *'ramraid stop data && ramraid restore data'* && $output != *'rescue system'* ]] ||
			fail "$command: $output"
	done
}

@test "a forced start of the running array that / is on names the rescue system" {
	verb start --force-leg=/dev/disk/by-id/ata-A --yes data
	assert_output -p '/ is on it, so this needs a rescue system (ROOT FILE SYSTEM in ramraid-restore(8))'
	refute_output -p 'ramraid stop'
}

@test "where the RAM leg of the array that / is on fails last, what the shutdown saves is restored from a rescue system" {
	libraries
	declare -gA F
	facts_blank
	F[name]=data F[array.md]=md127 F[array.state]=broken F[ram.state]=in_sync F[members]=0 F[conf.root]=yes
	action_choose
	[[ $WHY == *'; then: restore what it has saved from a rescue system'* ]] || fail "$WHY"
	F[conf.root]=no
	action_choose
	[[ $WHY == *'; then: ramraid restore data' ]] || fail "$WHY"
}

# saves CODE: what a shutdown says that has saved the RAM leg, with rescue_write returning CODE.
saves() {
	local returns=$1
	rescue_turn() { :; }
	rescue_write() { RESCUE_FOLDER=/mnt/other/data/rescue-60.X && return "$returns"; }
	superblock_says() { echo 60; }
	log_alert() { echo "$1"; }
	F[name]=data F[uuid]=$ID F[array.md]=md127 F[ram.node]=rd0 CONF[RESCUE]=/mnt/other
	detach_ram_save_ data
}

@test "a shutdown that saves the array with its own records on it does not promise that the next start refuses the disks" {
	libraries
	declare -gA F=() CONF=([ROOT]=yes)
	for code in 0 2; do
		run saves "$code"
		[[ $output == *'saved to /mnt/other/data/rescue-60.X. '*'is on this array, so the next boot does not know of it, and starts the disks, which lack what was written last.'*'ramraid-restore(8)'* &&
			$output != *refuses* && $output != *'cp /mnt'* ]] || fail "$output"
	done
	# The same holds if nobody can say what / is on.
	rm "$R/proc/1/mountinfo"
	run saves 0
	assert_output -p 'is on this array'
	run saves 1
	assert_failure
	# Any other array: the record holds.
	echo '1 0 8:1 / / rw - ext4 /dev/sda rw' >"$R/proc/1/mountinfo"
	run saves 0
	assert_output -p 'the next start refuses them until you type: ramraid restore data'
}

# lost: the record of the image is gone, and beside the image it is still there.
lost() {
	image
	mv "$RECORD" "${IMAGE%/*}/record"
}

@test "an image of which no record is left is found by check, by restore and at a start, until it was put back or given up" {
	lost
	verb check data
	assert_output -p "problem rescue-unrecorded: expected a record in $R/etc/ramraid/state of every rescue image"
	assert_output -p "to put it back: use a rescue system (ROOT FILE SYSTEM in ramraid-restore(8)); if nothing in it is needed: rm -r ${IMAGE%/*}"
	verb restore --yes data
	assert_failure 3
	assert_output -p "no record names a rescue image; in ${IMAGE%/*} is one; to put it back: use a rescue system"
	libraries
	conf_load data
	F[name]=data F[uuid]=$ID
	log_alert() { echo "alert: $1"; }
	run rescue_beside_warn
	assert_output -p "alert: data: a shutdown saved in ${IMAGE%/*} what only the RAM leg had, and the disks may lack it"
	F[mend]=yes
	run rescue_beside_warn
	assert_output ''
	F[mend]=''
	# One of another array.
	sed -i 's/^uuid=.*/uuid=99999999-2222-3333-4444-555555555555/' "${IMAGE%/*}/record"
	run rescue_beside_warn
	assert_output ''
	sed -i "s/^uuid=.*/uuid=$ID/" "${IMAGE%/*}/record"
	# One that is on record.
	cp "${IMAGE%/*}/record" "$RECORD"
	rescue_record_read data "$ID"
	run rescue_beside_warn
	assert_output ''
	rm "$RECORD"
	RESCUE=()
	for name in record.restored record.given-up; do
		mv "${IMAGE%/*}"/record* "${IMAGE%/*}/$name"
		run rescue_beside_warn
		assert_output ''
	done
	verb restore --yes data
	assert_output 'ramraid: data: there is no rescue image to restore'
}

@test "an image that a shutdown could not finish is reported by check and at a start, and is none for restore" {
	lost
	rm "${IMAGE%/*}/record"
	verb check data
	assert_output -p "problem rescue-cut-off: expected every image in /var/lib/ramraid to be whole, found ${IMAGE%/*}/image"
	assert_output -p "if nothing in it is needed: rm -r ${IMAGE%/*}"
	verb restore --yes data
	assert_failure 3
	assert_output 'ramraid: data: there is no rescue image to restore'
	libraries
	conf_load data
	F[name]=data F[uuid]=$ID
	run rescue_beside_warn
	assert_output -p "could not finish is in ${IMAGE%/*}, and takes room"
	# What a record names is whole, whether or not it is also beside the image.
	RESCUE=([image]=$IMAGE)
	run rescue_beside_warn
	assert_output ''
}

@test "an image without / that no record names is put back after its record is copied" {
	lost
	sed -i /ROOT=/d "$R/etc/ramraid/data.conf"
	verb check data
	assert_output -p "to put it back: cp ${IMAGE%/*}/record $RECORD && ramraid stop data && ramraid restore data"
}

@test "check notes that no record keeps the next boot from the old disks of the array that / is on" {
	verb check data
	assert_output -p 'note rescue-root: expected that a start knows when only the RAM leg had all data'
	assert_output -p 'RESCUE=/var/lib/ramraid is on the array itself'
	fake_disk sdz 1000000
	echo '2 1 8:250 / /srv rw - ext4 /dev/sdz rw' >>"$R/proc/1/mountinfo"
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B ROOT=yes RESCUE=/srv
	verb check data
	assert_output -p 'a shutdown can save the RAM leg to /srv, but not keep the next boot'
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B ROOT=yes RESCUE=none
	verb check data
	refute_output -p rescue-root
}

@test "a missing second copy of the record of the array that / is on is a problem, and so is one on that array" {
	verb check data
	assert_output -p 'problem witness-copy: expected a second copy of the record of the last run, off the array that / is on'
	assert_output -p 'found neither /boot nor the ESP is a file system of its own that is mounted'
	mkdir -p "$R/boot" "$R/sys/dev/block/259:1" "$R/sys/devices/virtual/block/md127/md127p1"
	ln -s "$R/sys/devices/virtual/block/md127/md127p1" "$R/sys/class/block/md127p1"
	echo 1 >"$R/sys/class/block/md127p1/partition"
	: >"$R/dev/md127p1"
	echo DEVNAME=md127p1 >"$R/sys/dev/block/259:1/uevent"
	echo '2 1 259:1 / /boot rw - ext4 /dev/md127p1 rw' >>"$R/proc/1/mountinfo"
	verb check data
	assert_output -p 'found /boot is on the array itself'
	# One on another disk.
	fake_disk sdz 1000000
	mkdir -p "$R/sys/dev/block/8:250"
	echo DEVNAME=sdz >"$R/sys/dev/block/8:250/uevent"
	sed -i '2s/.*/2 1 8:250 \/ \/boot rw - ext4 \/dev\/sdz rw/' "$R/proc/1/mountinfo"
	verb check data
	refute_output -p witness-copy
}

# stale: B had left, the array went on with A, and A is dead now. The initramfs has started B, and
# the record that is read is the one on B, which vouches for both.
stale() {
	leaves rd0
	leaves sda
	put degraded 2
	rm -rf "$R/run/ramraid/data."{watched,ram} "$R/dev/disk/by-id/ata-A" "$R/sys/class/block/sda" "$R/dev/sda"
}

@test "a stale disk with / on it is found by a later second copy off the array, and by nothing else" {
	stale
	echo life=33333333-0000-0000-0000-000000000003 >>"$R/etc/ramraid/state/data.witness"
	cp "$R/etc/ramraid/state/data.witness" "$R/before"
	verb attach data
	refute_output -p 'not in sync when it last ran'
	cp "$R/before" "$R/etc/ramraid/state/data.witness"
	rm -rf "$R/run/ramraid/data."*
	fake_disk sdz 1000000
	mkdir -p "$R/sys/dev/block/8:250" "$R/boot/ramraid"
	echo DEVNAME=sdz >"$R/sys/dev/block/8:250/uevent"
	echo '2 1 8:250 / /boot rw - ext4 /dev/sdz rw' >>"$R/proc/1/mountinfo"
	sed 's/^generation=.*/generation=9/; s/^events=.*/events=500/' "$R/etc/ramraid/state/data.witness" |
		sed "s/^legs=.*/legs=$(uuid_of a)/" >"$R/boot/ramraid/$ID.witness"
	verb attach data
	assert_failure
	assert_output -p 'from legs that were not in sync when it last ran, or are older now'
	assert_output -p "/ is on it: power off, take out the disks that it runs from, put back those that were in sync last, and boot again; or, if it is right as it is: rm $R/etc/ramraid/state/data.witness $R/boot/ramraid/$ID.witness"
	refute_output -p 'mdadm --stop'
}
