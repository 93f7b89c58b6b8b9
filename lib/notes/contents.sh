# What is on an array: the names under which fstab and crypttab may refer to it or to what is
# stacked on it. The generator needs them before the array runs, so they are written down, beside
# the witness, whenever they can be seen.
# shellcheck shell=bash

need core/act core/paths core/text world/disk world/disk-find world/md-state

contents_file() { printf '%s/%s.contents\n' "$STATE" "$1"; } # NAME

# contents_of MD: prints every name of the array and of all that is stacked on it, in the forms that
# fstab may use, one per line. The names of the volumes that contents_beside_ finds have "beside "
# before them; the containers that its legs are in, as crypttab names them, have "below ".
contents_of() {
	local others
	mapfile -t others < <(contents_beside_ "$1")
	{
		contents_names_ "$DEV/$1" && {
			((${#others[@]} == 0)) ||
				contents_names_ "${others[@]}" | sed 's/^/beside /'
		} && contents_below_ "$1"
	} | sort -u
}

# contents_below_ NODE: prints the containers that the array's legs are in, one per line.
contents_below_() {
	local below BENEATH
	disk_beneath "$1"
	for below in "${BENEATH[@]}"; do
		disk_containers "$below" | sed 's|^|below /dev/mapper/|'
	done
}

# contents_now NAME: prints the same for an array in a run that a start of ours has judged; nothing
# for any other, and so nothing at boot. fstab may already name something that has only just been
# made on the array, before ramraid-remember has written it down.
contents_now() {
	local watched MD_RUN
	{ read -r watched <"$RUN/$1.watched"; } 2>/dev/null || return 0
	md_state_run "${watched%% *}"
	[[ $watched != "$MD_RUN" ]] || contents_of "${MD_RUN%% *}"
}

# contents_beside_ MD: prints the volumes that are not on the array, but in a volume group that has
# another one on it, one per line: LVM activates a group when all its disks are there, and so not
# before the array is (pvscan(8), --checkcomplete). A volume's dm/uuid begins with "LVM-" and that
# of its group, which has 32 characters.
contents_beside_() {
	local node uuid stack groups=' '
	mapfile -t stack < <(disk_stack "$1")
	for node in "${stack[@]}"; do
		{ read -r uuid <"$SYS/class/block/$node/dm/uuid"; } 2>/dev/null || continue
		[[ $uuid != LVM-* ]] || groups+="${uuid:4:32} "
	done
	[[ $groups != ' ' ]] || return 0
	for node in "$SYS"/class/block/dm-*; do
		{ read -r uuid <"$node/dm/uuid"; } 2>/dev/null || continue
		[[ $uuid != LVM-* || $groups != *" ${uuid:4:32} "* ||
			" ${stack[*]} " == *" ${node##*/} "* ]] || printf '%s\n' "$DEV/${node##*/}"
	done
}

# contents_names_ DEVICE…: prints the names of these devices and of all that is stacked on them.
# Anybody who can write to a volume, such as root in a virtual machine to its disk, can give what is
# on it the UUID or the label of a file system of the host. So a name that leads to another disk is
# left out.
contents_names_() {
	local line key value vg lv volume='^(([^-]|--)+)-(([^-]|--)+)$' stack
	mapfile -t stack < <(for line; do disk_stack "${line#"$DEV/"}"; done)
	contents_links_ "${stack[@]}"
	lsblk --paths --pairs --output PATH,UUID,LABEL,PARTUUID,PARTLABEL "$@" |
		while IFS= read -r line; do
			while [[ $line =~ ^([A-Z]+)=\"([^\"]*)\"\ ?(.*)$ ]]; do
				key=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
				line=${BASH_REMATCH[3]}
				# lsblk writes \xNN for what a shell or a terminal could
				# misunderstand, and for every byte beyond ASCII.
				printf -v value '%b' "$value"
				[[ -n $value && $value != *$'\n'* ]] || continue
				case $key:$value in
				PATH:/dev/mapper/*)
					printf '%s\n' "$value"
					# LVM's second name; device-mapper doubles the dashes in
					# a name.
					[[ ${value#/dev/mapper/} =~ $volume ]] || continue
					vg=${BASH_REMATCH[1]//--/-} lv=${BASH_REMATCH[3]//--/-}
					printf '/dev/%s/%s\n' "$vg" "$lv"
					;;
				PATH:*) ;; # a kernel name: means something else after the next boot
				*)
					contents_is_elsewhere "$key=$value" "${stack[@]}" ||
						printf '%s=%s\n' "$key" "$value"
					;;
				esac
			done
		done
}

# contents_links_ NODE…: prints the links that udev makes of the devices' UUIDs in device-mapper
# (13-dm-disk.rules). No file system can have one of these names, so all of them are printed.
contents_links_() {
	local node uuid
	for node in "$@"; do
		{ read -r uuid <"$SYS/class/block/$node/dm/uuid"; } 2>/dev/null || continue
		[[ -z $uuid ]] || printf '/dev/disk/by-id/dm-uuid-%s\n' "$uuid"
	done
}

# contents_remember NAME MD: writes the names down if they have changed. A name that is not seen now
# may belong to something that is only closed (a container before it is opened, a volume group
# before it is activated), so it is kept, unless it turns up on another disk of the machine. One
# ordering too many costs nothing; with one too few, a mount does not wait for the array.
contents_remember() {
	local file old='' new line
	file=$(contents_file "$1")
	new=$(contents_of "$2") || return 1
	[[ -n $new ]] || return 0
	[[ ! -f $file ]] || old=$(tr -d '\0' <"$file") || return 1
	while IFS= read -r line; do
		[[ -z $line || $'\n'$new$'\n' == *$'\n'"$line"$'\n'* ]] ||
			contents_is_elsewhere "$line" || new+=$'\n'$line
	done < <(printf '%s\n' "$old")
	new=$(printf '%s\n' "$new" | sort -u) && [[ -n $new ]] || return 1
	[[ $new == "$old" ]] || act_text "$file" "$new"$'\n'
}

# contents_is_elsewhere NAME [NODE…]: does a name lead to a device other than these, which are what
# is on the array now? A device that anybody can make up or plug in does not count: it can have the
# UUID of what is in a closed container, and after the next boot the name may lead to the array
# again.
contents_is_elsewhere() {
	local path=${1#beside } key NODE HARDWARE
	path=${path#below }
	key=${path%%=*}
	[[ $path == /dev/* ]] || path=/dev/disk/by-${key,,}/$(text_encode "${path#*=}")
	disk_find "$path" && [[ " ${*:2} " != *" $NODE "* ]] || return 1
	! contents_is_shared_ "$NODE" "${@:2}" || return 1
	need notes/hardware
	hardware_of "$NODE"
	[[ ! +${HARDWARE%% *}+ =~ \+($HARDWARE_LOOSE)\+ ]]
}

# contents_is_shared_ NODE OTHER…: may the file system on a device be on others, too, so that each
# has its UUID, and the link leads to any one of them? For a btrfs that is mounted, the kernel says
# which these are.
contents_is_shared_() {
	local number line lines=() type='' uuid='' other
	{
		read -r number <"$SYS/class/block/$1/dev" &&
			mapfile -t lines <"$ROOT/run/udev/data/b$number"
	} 2>/dev/null || return 1
	for line in "${lines[@]}"; do
		case $line in
		E:ID_FS_TYPE=*) type=${line#*=} ;;
		E:ID_FS_UUID=*) uuid=${line#*=} ;;
		esac
	done
	[[ $type == @(btrfs|bcachefs|zfs_member) ]] || return 1
	[[ -e $SYS/fs/btrfs/${uuid:-none}/devices ]] || return 0
	for other in "${@:2}"; do
		[[ ! -e $SYS/fs/btrfs/$uuid/devices/$other ]] || return 0
	done
	return 1
}
