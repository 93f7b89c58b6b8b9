# Names of disks: which are stable, which one is a disk's best, and which other devices claim it.
# shellcheck shell=bash

need core/log core/paths world/disk-find

# Names that a disk keeps when others come and go. /dev/sdX is assigned in the order of discovery. A
# DRBD device keeps the name of its resource, with or without the number of the volume
# (udev-always-use-vnr, drbd.conf(5)).
stable_name_is() {
	[[ $1 == /dev/@(disk/by-@(id|path|partuuid|partlabel)|mapper|md)/+([!/]) ||
		$1 == /dev/drbd/by-res/+([!/])?(/+([0-9])) ]] && [[ $1 != */@(.|..)?(/*) ]]
}

# Names that RAM= takes besides: regions of persistent memory. The number is that of the region, and
# regions are numbered in the order of their addresses, which the firmware or memmap= fixes. udev
# names a region by its UUID, but only one with labels has a UUID; its name by path is the same for
# all regions that memmap= makes.
stable_name_is_fast() {
	stable_name_is "$1" || [[ $1 == /dev/pmem+([0-9])?(.+([0-9]))?(s) ]]
}

# stable_name_of PATH: prints the best stable name of a device, which is PATH itself if that is
# stable. Returns 1 when there is none. Among several, the best is the one that is least likely to
# move: a world-wide name, which stays the same behind another controller, then a partition's UUID,
# then model and serial number, then the slot. A name that another device claims as well is never
# taken.
stable_name_of() {
	local node link pattern OTHERS \
		patterns=(disk/by-id/{wwn-,nvme-eui.,nvme-uuid.,nvme-nguid.}\* disk/by-partuuid/\*
			'disk/by-id/nvme-*_[0-9]' 'disk/by-id/nvme-*_[0-9]-part*'
			disk/by-id/{nvme,ata,scsi-0,virtio,scsi,usb,dm-name,md-uuid}-\*
			disk/by-id/\* mapper/\* drbd/by-res/{\*,\*/\*} disk/by-path/\*)
	stable_name_is "$1" && {
		printf '%s\n' "$1"
		return
	}
	node=$(disk_find_node "$1") || return 1
	# A multipath map also has the names of the disk, which lead to one of its paths while there
	# is no map.
	[[ $node != dm-* ]] || patterns=(disk/by-id/dm-name-\* "${patterns[@]}")
	for pattern in "${patterns[@]}"; do
		for link in "$DEV"/$pattern; do
			[[ -L $link && $link != */by-id/lvm-pv-* ]] || continue
			[[ $link -ef $DEV/$node ]] || continue
			stable_name_claimants_ "${link#"$ROOT"}" "$node"
			[[ -z $OTHERS ]] || continue
			printf '%s\n' "${link#"$ROOT"}"
			return
		done
	done
	return 1
}

# stable_name_fast PATH: prints the name of a device for RAM=. Persistent memory goes by its UUID,
# or else by the name of its node: see stable_name_is_fast.
stable_name_fast() {
	local node link
	node=$(disk_find_node "$1") || return 1
	if stable_name_is "$1" || [[ $node != pmem* ]]; then
		stable_name_of "$1"
		return
	fi
	for link in "$DEV"/disk/by-id/pmem-*; do
		[[ ! $link -ef $DEV/$node ]] || node=${link#"$DEV/"}
	done
	stable_name_is_fast "/dev/$node" && printf '/dev/%s\n' "$node"
}

# stable_name_claimants_ PATH NODE: sets OTHERS to the other devices that claim the name PATH of
# NODE, "sdb sdc", without those that NODE itself is made of, such as the paths of a multipath map.
# If several devices claim a name, udev gives it to one of them, perhaps to another one at the next
# boot. /run/udev/links has a folder of that name ("/" as \x2f, up to systemd 249 the first one as
# well), with a file for each device that claims it ("b8:16").
stable_name_claimants_() {
	local name=${1#/dev/} entry other
	OTHERS=''
	name=${name//\\/\\x5c} name=${name//\//\\x2f}
	for entry in "$ROOT/run/udev/links/$name"/b* "$ROOT/run/udev/links/\\x2f$name"/b*; do
		[[ -e $entry || -L $entry ]] || continue
		other=$(readlink -e "$SYS/dev/block/${entry##*/b}") || continue
		other=${other##*/}
		[[ $other == "$2" || -e $SYS/class/block/$2/slaves/$other ]] ||
			OTHERS+="${OTHERS:+ }$other"
	done
}

# stable_name_has PATH NODE OTHER: does OTHER also claim the name PATH, which leads to NODE?
stable_name_has() {
	local OTHERS
	stable_name_claimants_ "$1" "$2"
	[[ " $OTHERS " == *" $3 "* ]]
}

# stable_name_tell_shared PATH: logs which names of a device were not taken because other devices
# claim them, too. Returns 1 when PATH itself is such a name.
stable_name_tell_shared() {
	local node link OTHERS
	node=$(disk_find_node "$1") || return 0
	for link in "$DEV"/disk/by-id/*; do
		[[ -L $link && $link -ef $DEV/$node ]] || continue
		stable_name_claimants_ "${link#"$ROOT"}" "$node"
		[[ -n $OTHERS ]] || continue
		if [[ ${link#"$ROOT"} == "$1" ]]; then
			log_error "$1: is claimed by more than one device (/dev/$node, and \
$OTHERS): they have the same serial number, and after the next boot that name may mean another \
one. Type /dev/$node instead: a name that only it has is then written, if there is one"
			return 1
		fi
		log_warning "/dev/$node: its name ${link#"$ROOT"} is not used, because $OTHERS has \
it too: they have the same serial number"
	done
}
