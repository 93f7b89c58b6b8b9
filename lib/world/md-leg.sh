# What a running array asks of a leg, and what of a disk that is to become one.
# shellcheck shell=bash

need core/paths world/disk world/md-state

# md_leg_is_in_sync MD LEG
md_leg_is_in_sync() {
	local VALUE
	md_state_read "$1" "dev-$2/state"
	[[ ,$VALUE, == *,in_sync,* && ,$VALUE, != *,faulty,* ]]
}

# md_leg_bytes MD: how large a new member must be: the largest data offset of its members and the
# size of the data. Returns 1 when md does not say.
md_leg_bytes() {
	local VALUE folder offset=0
	for folder in "$SYS/block/$1"/md/dev-*; do
		md_state_read "$1" "${folder##*/}/offset"
		[[ ! $VALUE =~ ^[0-9]+$ ]] || ((VALUE <= offset)) || offset=$VALUE
	done
	md_state_read "$1" component_size # KiB
	[[ $VALUE =~ ^[0-9]+$ ]] || return 1
	printf '%s\n' $((VALUE * 1024 + offset * 512))
}

# md_leg_why_not MD NODE: prints why a disk can't become a leg of a running array, a reason a line;
# nothing if it can. With larger blocks than the array's it would make those of the array larger, in
# use (raid1_add_disk() in linux drivers/md/raid1.c before 6.19), for which no file system on it is
# prepared.
md_leg_why_not() {
	local bytes need block most
	need=$(md_leg_bytes "$1") || {
		printf 'md does not say how large a leg of %s is\n' "$1"
		return 0
	}
	bytes=$(disk_bytes "$2") block=$(disk_block "$2") most=$(disk_block "$1")
	((bytes >= need)) ||
		printf 'it has %s bytes, and a leg of %s needs %s\n' "$bytes" "$1" "$need"
	((block <= most)) ||
		printf 'its blocks of %s bytes are larger than those of %s (%s)\n' "$block" "$1" \
			"$most"
}

# md_leg_room MD LEG: how much data a member has room for, in KiB: from its data offset to its end,
# since superblock and bitmap lie before the data (metadata 1.1 and 1.2; super_1_rdev_size_change()
# in linux drivers/md/md.c). Returns 1 when md does not say.
md_leg_room() {
	local VALUE
	md_state_read "$1" "dev-$2/offset"
	[[ $VALUE =~ ^[0-9]+$ ]] || return 1
	printf '%s\n' $((($(disk_bytes "$2") / 512 - VALUE) / 2))
}
