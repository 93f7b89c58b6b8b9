# Which configured array a disk belongs to, by whichever of its names: an array that is stopped
# holds none of its disks, and nothing else shows that they are needed.
# shellcheck shell=bash

need config/conf core/paths world/disk-find

# conf_whose NODE [NAME]: prints why a disk is not free: the configuration of another array than
# NAME, with another UUID than CONF has, names it, a partition on it, or the disk that it is a
# partition of. Prints a second line with what to do if that array does not need it, or nothing at
# all if none names it.
conf_whose() {
	local other line path NODE
	while IFS= read -r other; do
		[[ $other != "${2-}" ]] || continue
		# With IFS='=', "read" would take away a "=" at the end of a name.
		while IFS= read -r line; do
			path=${line#*=}
			{ [[ $path == /* ]] && disk_find "$path"; } || continue
			conf_whose_is_ "$1" "$NODE" || continue
			conf_whose_say_ "$other" "${line%%=*}" "$path"
			return
		done < <(conf_whose_names_ "$other" "${CONF[UUID]-}")
	done < <(conf_names)
}

# conf_whose_names_ NAME UUID: prints KEY=PATH of each disk that the configuration names, as far as
# it can be read; nothing if it is about the array with this UUID.
conf_whose_names_() {
	conf_load "$1" >/dev/null 2>&1 || :
	[[ -z $2 || ${CONF[UUID]-} != "$2" ]] || return 0
	printf 'MEMBER=%s\n' "${MEMBERS[@]}"
	printf 'RAM=%s\n' "${CONF[RAM]-}"
}

# Are the two the same device, or is one a partition of the other?
conf_whose_is_() { # NODE NODE
	[[ $1 == "$2" || -e $SYS/class/block/$1/$2 || -e $SYS/class/block/$2/$1 ]]
}

conf_whose_say_() { # NAME KEY PATH
	local what='a disk leg' go_on="delete that line of $1"
	[[ $2 == MEMBER ]] || what='the RAM leg' go_on="give $1 another RAM="
	printf '%s\n' "is $what of the array $1, whose configuration has $2=$3" \
		"If nothing of $1 is needed any more: ramraid destroy $1; if $1 goes on without \
this device: $go_on"
}
