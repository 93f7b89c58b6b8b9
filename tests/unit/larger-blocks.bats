#!/usr/bin/env bats
# Does what is on an array bear blocks of 4096 bytes? Seen on what the real programs have made, in
# files; only LVM is a fake, because it takes no files.

setup() {
	load helper
	world
	libraries
	wipefs() { command wipefs "$@"; }
	mkdir -p "$R/sys/block/md127" "$R/sys/class/block/md127/holders"
	size 320
}

# size MIB: md127 is blank, and as large as that; it is a file with holes.
size() { size_of md127 "$1"; }
size_of() { # NODE MIB
	rm -f "$R/dev/$1"
	truncate -s "$2M" "$R/dev/$1"
	mkdir -p "$R/sys/class/block/$1/holders" "$R/sys/class/block/$1/queue"
	echo $(($2 * 2048)) >"$R/sys/class/block/$1/size"
	echo 512 >"$R/sys/class/block/$1/queue/logical_block_size"
}
# found LINE…: that is what is seen, and it bears them. not_borne REASON LINE…: or does not, for
# that reason.
found() {
	contents_blocks_look md127
	[[ "${CONTENTS_BLOCKS[*]}" == "$*" ]] || fail "${CONTENTS_BLOCKS[@]}"
	[[ -z $(larger_blocks_why_not "${CONTENTS_BLOCKS[@]}") ]] ||
		fail "$(larger_blocks_why_not "${CONTENTS_BLOCKS[@]}")"
}
not_borne() {
	local why
	contents_blocks_look md127
	[[ "${CONTENTS_BLOCKS[*]}" == "${*:2}" ]] || fail "${CONTENTS_BLOCKS[@]}"
	why=$(larger_blocks_why_not "${CONTENTS_BLOCKS[@]}")
	[[ $why == "$1" ]] || fail "$why"
}
luks() { # NODE TYPE SECTOR
	printf secret |
		cryptsetup luksFormat -q --type "$2" --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
			${3:+--sector-size "$3"} "$R/dev/$1" -
}
holder() { # NODE DM UUID
	mkdir -p "$R/sys/class/block/$1/holders/$2" "$R/sys/class/block/$2/dm"
	echo "$3" >"$R/sys/class/block/$2/dm/uuid"
}
# lvm: its answers, as it gives them.
lvm() {
	case $* in
	pvs*) printf '  %s\n' "$PVS" ;;
	lvs*) printf '  %s\n' "${LVS[@]}" ;;
	esac
}

@test "ext2, ext3 and ext4 are judged by their block size" {
	local kind
	for kind in ext2 ext3 ext4; do
		size 64
		mkfs.$kind -q -F -b 4096 "$R/dev/md127"
		found "/dev/md127 $kind 4096"
		size 64
		mkfs.$kind -q -F -b 1024 "$R/dev/md127"
		not_borne "/dev/md127: $kind with blocks of 1024 bytes" "/dev/md127 $kind 1024"
	done
}

@test "XFS is judged by its sectors, which are those of the disk by default, and by those of its log" {
	mkfs.xfs -q "$R/dev/md127"
	not_borne '/dev/md127: XFS with sectors of 512 bytes' '/dev/md127 xfs 512'
	mkfs.xfs -q -f -s size=4096 "$R/dev/md127"
	found '/dev/md127 xfs 4096'
	printf '\2\0' | dd of="$R/dev/md127" bs=1 seek=194 conv=notrunc status=none
	contents_blocks_look md127
	[[ ${CONTENTS_BLOCKS[*]} == '/dev/md127 xfs 512' ]] || fail "${CONTENTS_BLOCKS[@]}"
}

@test "btrfs that was made on blocks of 512 bytes, swap and a blank array accept larger blocks" {
	mkfs.btrfs -q "$R/dev/md127" >/dev/null
	found '/dev/md127 btrfs 4096'
	size 64
	mkswap -q "$R/dev/md127"
	found '/dev/md127 swap 0'
	size 64
	found '/dev/md127 blank 0'
	size 1
	found '/dev/md127 blank 0'
}

@test "LUKS2 is judged by its own sectors, whatever is in it; LUKS1, integrity or a missing cryptsetup is refused" {
	local path
	luks_of() { size 64 && luks md127 "$@"; }
	luks_of luks2 4096
	found '/dev/md127 crypto_LUKS 4096'
	holder md127 dm-0 CRYPT-LUKS2-0815-safe
	found '/dev/md127 crypto_LUKS 4096'
	holder md127 dm-1 LINEAR
	not_borne '/dev/md127: is held by dm-1, which does not show what for' '/dev/md127 held:dm-1 0'
	rm -r "$R/sys/class/block/md127/holders"/*
	luks_of luks2 512
	not_borne '/dev/md127: a LUKS container with sectors of 512 bytes' \
		'/dev/md127 crypto_LUKS 512'
	luks_of luks1 ''
	not_borne '/dev/md127: a container of LUKS1, which has sectors of 512 bytes' \
		'/dev/md127 luks1 512'
	luks_of luks2 4096
	command() { [[ $* != '-v cryptsetup' ]] && builtin command "$@"; }
	not_borne '/dev/md127: only cryptsetup could tell, and it is not installed' \
		'/dev/md127 missing:cryptsetup 0'
	unset -f command
	eval "real_$(printf 'cryptsetup() { %q "$@"; }' "$(command -v cryptsetup)")"
	cryptsetup() { real_cryptsetup "$@" | sed "$EDIT"; }
	for EDIT in 's/^\tsector.*/&\n\tintegrity: hmac(sha256)/' 's/^  0: crypt/  0: linear/' \
		/sector/d /^Data/,/sector/d; do
		not_borne '/dev/md127: a LUKS container, and cryptsetup does not say how large all of its sectors are' '/dev/md127 crypto_LUKS 0'
	done
	EDIT='s/offset: 16777216/offset: 16777728/'
	not_borne '/dev/md127: a LUKS container with sectors of 512 bytes' \
		'/dev/md127 crypto_LUKS 512'
	# It is being encrypted again, with other sectors.
	EDIT='s/^\tsector: 4096.*/&\n\n  1: crypt\n\toffset: 33554432 [bytes]\n\tsector: 512 [bytes]/; s/^$//'
	cryptsetup() { real_cryptsetup "$@" | sed "$EDIT" | sed '/sector: 4096/{n;d}'; }
	not_borne '/dev/md127: a LUKS container with sectors of 512 bytes' \
		'/dev/md127 crypto_LUKS 512'
}

@test "a partition table counts in the blocks of the array, so larger ones are refused" {
	local kind
	for kind in gpt dos; do
		size 64
		printf 'label: %s\n,,\n' $kind | sfdisk -q "$R/dev/md127"
		not_borne "/dev/md127: a partition table ($kind), which counts in blocks of 512 \
bytes" "/dev/md127 $kind 512"
		# What is on its partitions holds them.
		mkdir -p "$R/sys/class/block/md127/md127p1/holders/dm-7"
		not_borne "/dev/md127: a partition table ($kind), which counts in blocks of 512 \
bytes" "/dev/md127 $kind 512"
		rm -r "$R/sys/class/block/md127/md127p1"
	done
}

@test "data without a known signature is refused wherever it is, and so is what can't be read" {
	local at
	for at in 0 1000 $((320 * 1048576 - 1)); do
		size 320
		printf x | dd of="$R/dev/md127" bs=1 seek="$at" conv=notrunc status=none
		not_borne '/dev/md127: data without a known signature' '/dev/md127 data 0'
	done
	set -o pipefail # as the program has it
	# Some of it is seen as well when the beginning and the end are blank.
	size 320
	dd if=/dev/zero bs=1M count=300 status=none | tr '\0' x |
		dd of="$R/dev/md127" bs=1M seek=10 conv=notrunc status=none
	not_borne '/dev/md127: data without a known signature' '/dev/md127 data 0'
	rm "$R/dev/md127"
	not_borne '/dev/md127: what it holds could not be read' '/dev/md127 unreadable 0'
}

@test "an array that does not answer is refused" {
	size 64
	bounded() { return "$BOUNDED_SILENT"; }
	not_borne '/dev/md127: does not answer' '/dev/md127 silent 0'
}

@test "signatures that do not go together are refused, because one may be left from an earlier use" {
	local several='/dev/md127: signatures that do not go together (wipefs /dev/md127 lists them)'
	mkfs.btrfs -q "$R/dev/md127" >/dev/null
	cp "$R/dev/md127" "$BATS_TEST_TMPDIR/btrfs"
	mkfs.xfs -q -f -s size=4096 "$R/dev/md127"
	dd if="$BATS_TEST_TMPDIR/btrfs" of="$R/dev/md127" bs=64K skip=1 seek=1 count=1 \
		conv=notrunc status=none
	not_borne "$several" '/dev/md127 several 0'
	size 64
	mkfs.ext4 -q -F -b 4096 "$R/dev/md127"
	printf 'label: dos\n,,\n' | sfdisk -q --wipe never "$R/dev/md127"
	not_borne "$several" '/dev/md127 several 0'
	size 64
	mkfs.ext4 -q -F -b 4096 "$R/dev/md127"
	old_superblock
	not_borne "$several" '/dev/md127 several 0'
	size 64
	old_superblock
	not_borne '/dev/md127: a superblock of md: a disk leg of another array' \
		'/dev/md127 linux_raid_member 0'
}
# One of metadata 1.0, near the end of 64 MiB.
old_superblock() {
	local sector=$((64 * 2048 - 16))
	perl -e 'local $/; my $sb = <STDIN>; $sb = substr($sb, 4096, 1024); substr($sb, 144, 8) = pack("Q<", $ARGV[0]);
		substr($sb, 216, 4) = "\0" x 4; my $sum = 0; $sum += $_ for unpack("V*", substr($sb, 0, 256 + 2 * unpack("V", substr($sb, 220, 4))));
		substr($sb, 216, 4) = pack("V", ($sum & 0xffffffff) + ($sum >> 32)); print $sb' $sector <"$FIXTURES/superblock/mdadm-4.4-disk-leg.bin" |
		dd of="$R/dev/md127" bs=512 seek=$sector conv=notrunc status=none
}

@test "kinds not known to accept larger blocks are refused, and so is a device that something unknown holds" {
	printf 'vfat 512\nf2fs 4096\nbcache 0\nzfs_member 0\n' >"$BATS_TEST_TMPDIR/kinds"
	while read -r kind block; do
		not_borne_line "/dev/md127 $kind $block" \
			"/dev/md127: $kind, for which that is not known"
	done <"$BATS_TEST_TMPDIR/kinds"
	not_borne_line '' 'nothing is known of what is on it'
	not_borne_line '/dev/md127 ext4 many' '/dev/md127: ext4 with blocks of 0 bytes'
	size 64
	mkfs.ext4 -q -F -b 4096 "$R/dev/md127"
	holder md127 dm-3 ''
	not_borne '/dev/md127: is held by dm-3, which does not show what for' '/dev/md127 held:dm-3 0'
	size 64
	not_borne '/dev/md127: is held by dm-3, which does not show what for' '/dev/md127 held:dm-3 0'
}
not_borne_line() { # LINE REASON
	[[ $(larger_blocks_why_not ${1:+"$1"}) == "$2" ]] || fail "$(larger_blocks_why_not "$1")"
}

# volumes: md127 is a physical volume, whose signature blkid finds.
volumes() {
	PVS=vg0/1048576/4194304
	blkid() {
		if [[ $* == *md127 ]]; then
			printf 'DEVNAME=x\nTYPE=LVM2_member\n'
		else
			command blkid "$@"
		fi
	}
	wipefs() { if [[ $* == *md127 ]]; then echo LVM2_member; else command wipefs "$@"; fi; }
	holder md127 dm-4 LVM-abc
	size_of dm-4 64
	size_of dm-5 64
}

@test "LVM: each active volume is looked at; an inactive one, and one of another kind, is refused" {
	volumes
	mkfs.ext4 -q -F -b 4096 "$R/dev/dm-4"
	LVS=('root/linear/4' 'swap/striped/5')
	found '/dev/md127 LVM2_member 4096 /dev/dm-4 ext4 4096 /dev/dm-5 blank 0'
	# Two segments of one volume; the parts of a thin pool.
	LVS=('root/linear/4' 'root/striped/4' 'pool/thin-pool/6' '[pool_tdata]/linear/7'
		'[lvol0_pmspare]/linear/-1' 'thin/thin/5')
	luks dm-5 luks2 4096
	holder dm-5 dm-9 CRYPT-LUKS2-0815-safe
	found '/dev/md127 LVM2_member 4096 /dev/dm-4 ext4 4096 /dev/dm-5 crypto_LUKS 4096'
	LVS=('root/linear/4' 'old/linear/-1' 'fast/cache/8')
	not_borne $'vg0/old: a logical volume that is not active, so what is on it can\'t be seen (lvchange -ay -K vg0/old)\nvg0/fast: a logical volume of the kind cache, for which that is not known' \
		'/dev/md127 LVM2_member 4096 /dev/dm-4 ext4 4096 vg0/old inactive 0 vg0/fast volume:cache 0'
	size_of dm-4 320
	mkfs.xfs -q -f "$R/dev/dm-4"
	LVS=('root/linear/4')
	not_borne '/dev/dm-4: XFS with sectors of 512 bytes' \
		'/dev/md127 LVM2_member 4096 /dev/dm-4 xfs 512'
}

@test "LVM: misaligned extents, unknown holders, and an lvm that is missing or fails are refused; no group is not" {
	volumes
	LVS=()
	PVS=/1048576/0
	not_borne '/dev/md127: is held by dm-4, which does not show what for' \
		'/dev/md127 LVM2_member 4096 /dev/md127 held:dm-4 0'
	rm -r "$R/sys/class/block/md127/holders/dm-4"
	found '/dev/md127 LVM2_member 4096'
	PVS=vg0/1048576/4194304
	found '/dev/md127 LVM2_member 4096'
	PVS=vg0/1049088/4194304
	not_borne '/dev/md127: a physical volume of LVM, with extents that do not begin at multiples of 4096 bytes' '/dev/md127 LVM2_member 512'
	PVS=vg0/1048576/1024
	not_borne '/dev/md127: a physical volume of LVM, with extents that do not begin at multiples of 4096 bytes' '/dev/md127 LVM2_member 512'
	PVS=vg0/x/4194304
	not_borne '/dev/md127: a physical volume of LVM, with extents that do not begin at multiples of 4096 bytes' '/dev/md127 LVM2_member 512'
	PVS=vg0/1048576/4194304
	holder md127 dm-1 mpath-x
	not_borne '/dev/md127: is held by dm-1, which does not show what for' '/dev/md127 held:dm-1 0'
	rm -r "$R/sys/class/block/md127/holders/dm-1"
	lvm() { [[ $* != lvs* ]] && printf '  %s\n' "$PVS"; }
	contents_blocks_look md127
	[[ $(larger_blocks_why_not "${CONTENTS_BLOCKS[@]}") == \
		'/dev/md127: what it holds could not be read' ]]
	lvm() { return 5; }
	not_borne '/dev/md127: what it holds could not be read' '/dev/md127 unreadable 0'
	unset -f lvm
	command() { [[ $* != '-v lvm' ]] && builtin command "$@"; }
	not_borne '/dev/md127: only lvm could tell, and it is not installed' '/dev/md127 missing:lvm 0'
}

@test "larger_blocks_what says in words what is on the array" {
	[[ $(larger_blocks_what '/dev/md127 LVM2_member 4096' '/dev/dm-4 xfs 4096' '/dev/dm-5 swap 0' '/dev/dm-6 crypto_LUKS 4096') == 'LVM, XFS (4096), swap, a LUKS container (4096)' ]] ||
		fail "$(larger_blocks_what '/dev/md127 LVM2_member 4096' '/dev/dm-4 xfs 4096' \
			'/dev/dm-5 swap 0' '/dev/dm-6 crypto_LUKS 4096')"
	[[ $(larger_blocks_what '/dev/md127 blank 0') == nothing ]]
}
