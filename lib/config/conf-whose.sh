# Which configured array a disk belongs to, by whichever of its names: an array that is stopped
# holds none of its disks, and nothing else shows that they are needed.
# shellcheck shell=bash

need config/conf core/paths world/disk-find world/superblock

# conf_whose NODE [NAME]: prints why a disk is not free: the configuration of another array than
# NAME, with another UUID than CONF has, names it, a partition on it, or the disk that it is a
# partition of; or it has the UUID that is in a superblock there, because a name that has changed,
# or a line that was lost, makes no disk free. Prints a second line with what to do if that array
# does not need it, or nothing at all if none does either.
conf_whose() {
	local other line path NODE legs
	while IFS= read -r other; do
		[[ $other != "${2-}" ]] || continue
		# With IFS='=', "read" would take away a "=" at the end of a name.
		while IFS= read -r line; do
			path=${line#*=}
			[[ $line != UUID=* ]] || {
				[[ -n ${legs+read} ]] || legs=$(conf_whose_legs_ "$1")
				[[ $'\n'$legs == *$'\n'"$path "* ]] || continue
				legs=${legs#*"$path "}
				conf_whose_say_ "$other" UUID "$path" "${legs%%$'\n'*}"
				return
			}
			{ [[ $path == /* ]] && disk_find "$path"; } || continue
			conf_whose_is_ "$1" "$NODE" || continue
			conf_whose_say_ "$other" "${line%%=*}" "$path"
			return
		done < <(conf_whose_names_ "$other" "${CONF[UUID]-}")
	done < <(conf_names)
}

# conf_whose_names_ NAME UUID: prints KEY=PATH of each disk that the configuration names, as far as
# it can be read, and then UUID=UUID; nothing if it is about the array with this UUID.
conf_whose_names_() {
	conf_load "$1" >/dev/null 2>&1 || :
	[[ -z $2 || ${CONF[UUID]-} != "$2" ]] || return 0
	printf 'MEMBER=%s\n' "${MEMBERS[@]}"
	printf 'RAM=%s\n' "${CONF[RAM]-}"
	[[ -z ${CONF[UUID]-} ]] || printf 'UUID=%s\n' "${CONF[UUID]}"
}

# conf_whose_legs_ NODE: prints "UUID NODE" of each array of which the disk, or a partition on it,
# has a superblock.
conf_whose_legs_() {
	local node uuid
	for node in "$1" "$SYS/class/block/$1"/*/partition; do
		node=${node%/partition} node=${node##*/}
		[[ -e $DEV/$node ]] || continue
		uuid=$(superblock_says "$node" uuid)
		[[ -z $uuid ]] || printf '%s %s\n' "$uuid" "$node"
	done
}

# Are the two the same device, or is one a partition of the other?
conf_whose_is_() { # NODE NODE
	[[ $1 == "$2" || -e $SYS/class/block/$1/$2 || -e $SYS/class/block/$2/$1 ]]
}

conf_whose_say_() { # NAME KEY VALUE [NODE]
	local what='is a disk leg' go_on="delete that line of $1"
	case $2 in
	RAM) what='is the RAM leg' go_on="give $1 another RAM=" ;;
	UUID) what='has the superblock' go_on="mdadm --zero-superblock /dev/$4" ;;
	esac
	printf '%s\n' "$what of the array $1, whose configuration has $2=$3" \
		"If nothing of $1 is needed any more: ramraid destroy $1; if $1 goes on without \
this device: $go_on"
}
