# Who uses the array, in words for a message.
# shellcheck shell=bash

need core/text world/disk world/openers

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
