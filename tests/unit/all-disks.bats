#!/usr/bin/env bats
# Disks that are there under other names: found by the array's UUID when a start has been refused,
# named with the line to write, never started from.

setup() {
	load helper
	world
	libraries
	replace
	ID=11111111-2222-3333-4444-555555555555
	A=aaaaaaaa-0000-0000-0000-000000000001 B=aaaaaaaa-0000-0000-0000-000000000002
	mkdir -p "$R/run/ramraid" "$R/proc/sys/kernel" "$R/dev/disk/by-id"
	echo 6.12.1-amd64 >"$R/proc/sys/kernel/osrelease"
	printf '%s\n' "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B \
		>"$R/etc/ramraid/data.conf"
	chmod 644 "$R/etc/ramraid/data.conf"
	declare -gA LEG=()
}

# leg NODE DEVICE-UUID EVENTS LINK…: a disk that carries a leg.
leg() {
	fake_disk "$1" 104857600 "${@:4}"
	LEG[$1]="$2 $3"
}
# After the libraries, whose functions these replace.
replace() {
	superblock_facts() {
		local device events
		called read "$1"
		read -r device events <<<"${LEG[${1##*/}]-}"
		[[ -n $device ]] || {
			printf 'sb=none\n'
			return
		}
		printf '%s\n' sb=ok "uuid=$ID" "device_uuid=$device" level=1 raid_disks=3 size=1 \
			data_offset=8 data_size=8 "events=$events" time=1 "number=${device: -1}" \
			"role=${device: -1}" "roles=1:1 2:2" view=.AA recovery= dirty=no
	}
	systemd_is_running() { return 1; }
	quantity_seconds() { printf '0\n0\n'; }
}
starts() { # sets code and output
	output=$(start_here data 2>&1) && code=0 || code=$?
}

@test "if all disks have new names, the start is refused, and the message has the MEMBER lines to write" {
	leg sdx "$A" 90 disk/by-id/usb-NEW_A
	leg sdy "$B" 90 disk/by-id/usb-NEW_B
	fake_disk sdz 104857600
	fake_disk sr0 104857600
	local NAME=data code output
	mdadm() { called mdadm "$@"; }
	starts
	[[ $code == 4 ]] || fail "$code: $output"
	[[ $output == *"data: /dev/sdx carries a leg of it (events 90, device UUID $A) and is no \
MEMBER. If it is the missing disk"*"MEMBER=/dev/disk/by-id/usb-NEW_A"* ]] ||
		fail "$output"
	[[ $output == *"MEMBER=/dev/disk/by-id/usb-NEW_B"*"ramraid start data"* &&
		$output != *sdz* ]] ||
		fail "$output"
	not grep -q 'mdadm\|sr0' "$BATS_TEST_TMPDIR/calls"
	# Once, not at each look.
	[[ $(grep -c 'read .*/sdz$' "$BATS_TEST_TMPDIR/calls") == 1 ]] || fail "$(calls)"
	# As the message says.
	printf '%s\n' "UUID=$ID" MEMBER=/dev/disk/by-id/usb-NEW_A MEMBER=/dev/disk/by-id/usb-NEW_B \
		>"$R/etc/ramraid/data.conf"
	DRY_RUN=yes
	conf_load data
	start_plan data >"$BATS_TEST_TMPDIR/plan"
	grep -qx 'action: assemble sdx sdy' "$BATS_TEST_TMPDIR/plan" ||
		fail "$(<"$BATS_TEST_TMPDIR/plan")"
}

@test "of two devices that carry the same leg, neither is suggested as a MEMBER" {
	leg sda "$A" 90 disk/by-id/ata-A
	leg sdx "$B" 90 disk/by-id/usb-X
	leg sdy "$B" 80 disk/by-id/usb-Y
	conf_load data
	before_look_configured data
	facts_observe
	run all_disks_tell_moved
	[[ $output == *'/dev/sdx '*'one is a copy of the other'*'/dev/sdy '*'one is a copy of the other'* &&
		$output != *MEMBER=* ]] ||
		fail "$output"
}

@test "the disk below a DRBD device that is down is not suggested as a MEMBER" {
	leg sdx "$A" 90 disk/by-id/ata-X
	printf '%s\n' "UUID=$ID" MEMBER=/dev/drbd/by-res/data/0 >"$R/etc/ramraid/data.conf"
	conf_load data
	before_look_configured data
	facts_observe
	run all_disks_tell_moved
	[[ $output == *'/dev/sdx '*'the disk below /dev/drbd/by-res/data/0, leave it alone'* &&
		$output != *MEMBER=* ]] ||
		fail "$output"
}

@test "the disk below a missing device-mapper device, which may be an inactive cache, is not suggested as a MEMBER" {
	leg sdx "$A" 90 disk/by-id/ata-X
	printf '%s\n' "UUID=$ID" MEMBER=/dev/mapper/vg-cached >"$R/etc/ramraid/data.conf"
	conf_load data
	before_look_configured data
	facts_observe
	run all_disks_tell_moved
	[[ $output == *'/dev/sdx '*'the disk below /dev/mapper/vg-cached, leave it alone'* &&
		$output != *MEMBER=* ]] ||
		fail "$output"
}

@test "no message names a MEMBER, the RAM leg or a disk in use, and with no disk missing no other disk is read" {
	leg sda "$A" 90 disk/by-id/ata-A
	leg rd0 cccccccc-0000-0000-0000-000000000000 90
	leg sdx "$B" 90 disk/by-id/usb-X
	mkdir "$R/sys/class/block/sdx/holders/dm-0"
	conf_load data
	before_look_configured data
	facts_observe
	run all_disks_tell_moved
	[[ -z $output ]] || fail "$output"
	leg sdb "$B" 90 disk/by-id/ata-B
	facts_observe
	rm "$BATS_TEST_TMPDIR/calls"
	all_disks_tell_moved
	not grep -q sdx "$BATS_TEST_TMPDIR/calls"
}

@test "the search for copies reads no MEMBER, no ramdisk and no device in use" {
	leg sda "$A" 90 disk/by-id/ata-A
	leg sdb "$B" 90 disk/by-id/ata-B
	leg rd0 cccccccc-0000-0000-0000-000000000000 90
	leg sdx "$B" 90
	mkdir "$R/sys/class/block/sdx/holders/md126"
	leg sdy "$B" 91
	conf_load data
	before_look_configured data
	facts_observe
	rm "$BATS_TEST_TMPDIR/calls"
	all_disks_clones
	[[ ${F[clones]} == "sdy:$B:91" ]] || fail "${F[clones]}"
	[[ $(calls) == *sdy* && $(calls) != *@(sda|sdb|rd0|sdx)* ]] || fail "$(calls)"
}

@test "a start uses what another start has read since this one began, and nothing older" {
	local node
	looks() { # TIME WAITED READS
		echo "$1 1.00" >"$R/proc/uptime"
		F[waited]=$2
		: >"$BATS_TEST_TMPDIR/calls"
		all_disks_clones
		[[ ${F[clones]} == "$CLONES" ]] || fail "${F[clones]}"
		node=$(calls | sed 's,.*/,,' | sort | tr '\n' ' ')
		[[ $node == "$3" ]] || fail "$1: read $node"
	}
	leg sda "$A" 90 disk/by-id/ata-A
	leg sdb "$B" 90 disk/by-id/ata-B
	leg sdy "$B" 91
	fake_disk sdz 104857600
	for node in sdy sdz; do echo "4${node: -1}" | tr yz 12 >"$R/sys/class/block/$node/diskseq"; done
	conf_load data
	before_look_configured data
	facts_observe
	CLONES="sdy:$B:91"
	looks 100.00 0 'sdy sdz '
	looks 103.00 5 ''
	# It began after that.
	looks 104.00 4 'sdy sdz '
	looks 109.00 4 'sdy sdz '
	# Another disk of that name, and one that has no number.
	echo 43 >"$R/sys/class/block/sdz/diskseq"
	looks 110.00 5 'sdz '
	rm "$R/sys/class/block/sdz/diskseq"
	looks 111.00 5 'sdz '
	# What is damaged, or of a time to come, is not believed.
	sed -i "s/91$/91 x[\$(id)]/; s/^1/9/" "$R/run/ramraid/.locks/disks"
	looks 112.00 9 'sdy sdz '
	DRY_RUN=yes looks 112.50 9 'sdy sdz '
}

@test "the search lists each block device with the array's UUID, its device UUID and its events" {
	leg sda "$A" 90 disk/by-id/ata-A
	leg sdx "$B" 91
	fake_disk sdz 104857600
	echo 0 >"$R/sys/class/block/sdz/size"
	[[ $(all_disks_of_array "$ID") == "sda $A 90"$'\n'"sdx $B 91" ]] ||
		fail "$(all_disks_of_array "$ID")"
	[[ -z $(all_disks_of_array 99999999-2222-3333-4444-555555555555) ]]
	not grep -q sdz "$BATS_TEST_TMPDIR/calls"
}

@test "all devices are read at once, so that several that do not answer cost no more time than one" {
	local i
	for i in {1..9}; do fake_disk "sdx$i" $((100 << 20)); done
	mkdir "$R/asked"
	superblock_facts() {
		[[ $1 == *sdx* ]] || return 0
		: >"$R/asked/${1##*/}"
		for i in {1..600}; do
			asked=("$R"/asked/*)
			((${#asked[@]} < 9)) || break
			sleep 0.1
		done
		((${#asked[@]} == 9)) &&
			printf '%s\n' sb=ok uuid=me "device_uuid=${1##*sdx}" events=5
	}
	run all_disks_of_array me
	assert_success
	[[ $output == "$(for i in {1..9}; do echo "sdx$i $i 5"; done)" ]] || fail "$output"
}

@test "a search of all disks that fails is tried again; if it fails again, the start is refused" {
	local program real
	leg sda "$A" 90 disk/by-id/ata-A
	leg sdb "$B" 90 disk/by-id/ata-B
	leg sdy "$B" 91
	conf_load data
	before_look_configured data
	facts_observe
	all_disks_clones
	[[ ${F[clones_known]} == yes && ${F[clones]} == "sdy:$B:91" ]]
	# What make_child() in bash's jobs.c does in a subshell whose fork() has failed.
	for program in sort superblock_facts all_disks_unsorted_; do
		real=$(declare -f "$program") || real=''
		eval "$program() { : >>\"\$BATS_TEST_TMPDIR/$program\"; exit 254; }"
		all_disks_clones
		[[ ${F[clones_known]} == no ]] || fail "$program: ${F[clones]}"
		unset -f "$program"
		eval "$real"
	done
	strangers 0 0 1
	[[ $ACTION == refuse && $WHY == 'not all disks of the machine could be examined'* ]]
	# Once is no more than a delay.
	sort() {
		[[ -e $BATS_TEST_TMPDIR/again ]] || { touch "$BATS_TEST_TMPDIR/again" && return 137; }
		command sort
	}
	all_disks_clones
	[[ ${F[clones_known]} == yes && ${F[clones]} == "sdy:$B:91" ]] || fail "${F[clones]}"
}

@test "the search of all disks completes with many devices, many of them in use" {
	local i
	leg sda "$A" 90 disk/by-id/ata-A
	leg sdb "$B" 90 disk/by-id/ata-B
	for ((i = 100; i < 134; i++)); do fake_disk "dm-$i" 104857600; done
	# Each costs a process, and meanwhile all readers end.
	for ((i = 100; i < 110; i++)); do
		fake_disk "nvme$i" 104857600
		mkdir "$R/sys/class/block/nvme$i/holders/md126"
	done
	leg sdz "$B" 91
	conf_load data
	before_look_configured data
	facts_observe
	all_disks_clones
	[[ ${F[clones_known]} == yes && ${F[clones]} == "sdz:$B:91" ]] || fail "${F[clones]}"
}

@test "after the array has been restarted, its running members are checked for copies again" {
	leg sda "$A" 90 disk/by-id/ata-A
	leg sdb "$B" 90 disk/by-id/ata-B
	conf_load data
	before_look_configured data
	facts_observe
	all_disks_clones() { called look && F[clones]='' F[clones_known]=yes; }
	F[array.state]=active F[array.md]=md127 F[array.judged]='md127 5'
	all_disks_running
	all_disks_running
	[[ $(calls | grep -c look) == 1 ]]
	F[array.judged]='md127 6'
	all_disks_running
	[[ $(calls | grep -c look) == 2 ]]
}

@test "if a program can't run, a device counts as not searched; if the device can't be read, it counts as searched" {
	leg sdz "$B" 91
	F[uuid]=$ID F[name]=data F[members]=0 F[ram.node]=''
	eval "$(sed -n '/^superblock_facts() {$/,/^}$/p' "$PROJECT/lib/world/superblock.sh")"
	superblock_read() { return 1; }
	all_disks_clones
	[[ ${F[clones_known]} == yes ]]
	superblock_read() { return 127; }
	all_disks_clones 2>"$BATS_TEST_TMPDIR/log"
	[[ ${F[clones_known]} == no ]]
	superblock_read() { return 124; }
	all_disks_clones
	[[ ${F[clones_known]} == yes ]]
}

@test "a kernel name with a newline does not break the search" {
	leg sdz "$B" 91
	fake_disk $'md_x\n.' 104857600
	F[uuid]=$ID F[name]=data F[members]=0 F[ram.node]=''
	all_disks_clones
	[[ ${F[clones_known]} == yes && ${F[clones]} == "sdz:$B:91" ]] || fail "${F[clones]}"
}
