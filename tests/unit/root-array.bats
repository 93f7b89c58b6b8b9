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
		[[ $output == *'ramraid stop data; ramraid restore data'* && $output != *'rescue system'* ]] ||
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
