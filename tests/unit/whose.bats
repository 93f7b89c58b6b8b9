#!/usr/bin/env bats
# A MEMBER line that leads to somebody else's disk, by mistake perhaps: what is said of that disk,
# and what to do. The first advice corrects the line; nothing erases the disk before that.

setup() {
	load helper
	load change
	change_world
	put metadata_version 1.2
	printf "Mem%s: %s kB\n" Total 4000000 Available 3000000 >"$R/proc/meminfo"
	MAIL=99999999-2222-4333-8444-555555555555
	C=/dev/disk/by-id/ata-C
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B "MEMBER=$C"
	# What comes before anything else.
	FIRST="Correct or delete MEMBER=$C in $R/etc/ramraid/data.conf, then: ramraid apply data"
	eval "superblock_facts() {
		[[ \$(<\"\$1\") == mail ]] || {
			$(declare -f superblock_facts | sed '1,2d;$d')
			return
		}
		printf '%s\n' sb=ok uuid=$MAIL device_uuid=cccccccc-0000-0000-0000-00000000000c level=1 \
			raid_disks=2 size=1 data_offset=2048 data_size=1 events=77 number=1 role=1 \
			roles=1:1 view=.A recovery= dirty=no
	}"
}
mail() { printf '%s\n' "UUID=$MAIL" "MEMBER=$C" >"$R/etc/ramraid/mail.conf"; }

# everybody_says TEXT: so do status, check, the plan of apply, and the event.
everybody_says() {
	local text=$1 verb
	for verb in 'status data' 'check data' 'apply --dry-run data'; do
		verb $verb
		told "$verb" "$text"
	done
	output=$(
		real=$(declare -f superblock_facts wipefs)
		libraries
		eval "$real"
		notify() { printf '%s\n' "$*"; }
		conf_load data
		facts_of_conf data
		facts_observe
		transitions_leg 2
		transitions_say_leg_ data 2 "$LEG"
	)
	told 'the event' "$text"
}
told() { # WHO TEXT
	local before
	[[ $output == *"$C"*"$2"* ]] || fail "$1 does not say: $2" "$output"
	before=${output#*"$C"}
	before=${before%%"$FIRST"*}
	[[ $output == *"$FIRST"* ]] || fail "$1 does not say: $FIRST" "$output"
	[[ $before != *@(zero-superblock|wipefs|destroy)* ]] || fail "$1: $output"
}

@test "a disk of another configured array is called that, and nothing erases it" {
	local text
	mail
	for text in mail ext4 ''; do
		echo "$text" >"$R/dev/sdc"
		everybody_says "is a disk leg of the array mail, whose configuration has MEMBER=$C. $FIRST. \
If nothing of mail is needed any more: ramraid destroy mail; if mail goes on without this device: \
delete that line of mail"
		[[ $output != *@(zero-superblock|wipefs|blank)* ]] || fail "$output"
	done
	# The file is the one that names it.
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B
	mkdir "$R/etc/ramraid/data.conf.d"
	echo "MEMBER = \"$C\"" >"$R/etc/ramraid/data.conf.d/more.conf"
	FIRST=${FIRST/data.conf/data.conf.d\/more.conf}
	everybody_says "$FIRST"
}

@test "so is one with the superblock of a configured array none of whose lines leads to it" {
	printf '%s\n' "UUID=$MAIL" MEMBER=/dev/disk/by-id/ata-OLD-NAME >"$R/etc/ramraid/mail.conf"
	echo mail >"$R/dev/sdc"
	everybody_says "has the superblock of the array mail, whose configuration has UUID=$MAIL. $FIRST. \
If nothing of mail is needed any more: ramraid destroy mail; if mail goes on without this device: \
mdadm --zero-superblock /dev/sdc"
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B
	verb replace --force --yes data /dev/disk/by-id/ata-B "$C"
	assert_failure 4
	[[ $(calls) != *sdc* ]] || fail "$(calls)"
}

@test "a disk of an array that nobody has configured is left alone, and is erased only if that is not needed" {
	echo mail >"$R/dev/sdc"
	everybody_says "belongs to another array ($MAIL), and is left alone. $FIRST; or, if nothing of \
that one is needed any more: mdadm --zero-superblock $C"
}

@test "a disk that holds a file system is not called blank, and is erased only if that is not needed" {
	echo ext4 >"$R/dev/sdc"
	everybody_says "signature: it holds ext4. $FIRST; or, if nothing on it is needed any more: \
wipefs --all $C"
	[[ $output != *blank* ]] || fail "$output"
	# One that is in use is not to be erased at all.
	echo "36 35 8:32 / /srv/x rw - ext4 /dev/sdc rw" >"$R/proc/1/mountinfo"
	echo 8:32 >"$R/sys/class/block/sdc/dev"
	everybody_says 'in use: /srv/x'
	[[ $output != *wipefs* ]] || fail "$output"
	# And a blank one is built in.
	: >"$R/dev/sdc"
	: >"$R/proc/1/mountinfo"
	verb status data
	assert_output -p "$C is blank; to build it in: ramraid apply data"
}

@test "the disk of another array is left as it is once its line is deleted" {
	mail
	echo mail >"$R/dev/sdc"
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B
	verb apply --yes data
	assert_success
	is_whole A B
	[[ $(<"$R/dev/sdc") == mail ]]
	[[ $(calls) != *sdc* ]] || fail "$(calls)"
}

@test "nobody is asked whose a disk is while no leg is outside" {
	mail
	conf "UUID=$ID" MEMBER=/dev/disk/by-id/ata-A MEMBER=/dev/disk/by-id/ata-B
	verb status data
	assert_success
	run grep -E 'whose_|-whose|observe.whose' <(bash -xc 'source "$1"; main status data' - "$PROJECT/bin/ramraid" 2>&1)
	[[ -z $output ]] || fail "$output"
}
