# Who uses the array, in words for a message.
# shellcheck shell=bash

need core/text world/disk world/md world/openers

declare -gA F # the facts: decide/facts.list

readonly ARRAY_USERS_NAMED=10 # the most that a message names

# array_users: prints who uses the array, on one line; if neither the kernel's tree of devices nor
# the mounts of process 1 show anybody, who has it open. Prints an empty line when that is nobody.
array_users() {
	local users lines=()
	users=$(disk_users "${F[array.md]}") || users=$TEXT_SOMEBODY
	[[ -n $users ]] || users=$(openers_of "${F[array.md]}") || users=$TEXT_SOMEBODY
	IFS=$'\n' text_split lines "$users"
	((${#lines[@]} <= ARRAY_USERS_NAMED)) || lines=("${lines[@]:0:ARRAY_USERS_NAMED}"
		"and $((${#lines[@]} - ARRAY_USERS_NAMED)) more")
	users=$(printf '%s, ' "${lines[@]}")
	printf '%s\n' "${users%, }"
}

# array_users_or_md [open]: prints what array_users prints; if that is nobody, although md says that
# the array is open, words for that. With "open", md has been asked. ZFS and the external journal of
# an XFS or ext4 have the array open in the kernel: no holder in sysfs, no mount, no descriptor.
array_users_or_md() {
	local users
	users=$(array_users)
	if [[ -z $users ]] && { [[ -n ${1-} ]] || ! md_is_unused "${F[array.md]}"; }; then
		users="something that no table shows: ZFS, the journal of another file system, or \
a program (fuser -v /dev/${F[array.md]})"
	fi
	printf '%s\n' "$users"
}
