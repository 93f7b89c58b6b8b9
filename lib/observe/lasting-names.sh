# Names of an array in /etc/fstab and /etc/crypttab that do not last, and what to write there
# instead: the UUID of what the array, or its partition, holds. Nothing is changed here.
# shellcheck shell=bash

need core/bounded core/log core/paths gate/dependents world/disk-find

# lasting_names_find NAME MD: sets LASTING to the names that can be replaced, "FILE LINE OLD NEW"
# for each, and LASTING_NOT to those that can't, "FILE:LINE: OLD (WHY)". OLD is the name as the file
# has it.
declare -ga LASTING=() LASTING_NOT=()
lasting_names_find() {
	local file number node source LASTING_UUID LASTING_WHY
	LASTING=() LASTING_NOT=()
	while read -r file number node source; do
		if lasting_names_uuid_ "$node" "$file"; then
			LASTING+=("$file $number $source UUID=$LASTING_UUID")
		else
			LASTING_NOT+=("$file:$number: $source ($LASTING_WHY)")
		fi
	done < <(dependents_numbered "$1" "$2")
}

# lasting_names_uuid_ NODE FILE: sets LASTING_UUID; or sets LASTING_WHY, and returns 1. It reads the
# device itself, and does not ask udev, which may know only what was on it before. But udev's link
# must be there and lead to NODE: systemd ends a mount whose device it does not know, and a copy on
# another disk may have the same UUID.
lasting_names_uuid_() {
	local line type='' usage='' NODE
	LASTING_UUID='' LASTING_WHY=''
	while IFS= read -r line; do
		case $line in
		UUID=*) LASTING_UUID=${line#*=} ;;
		TYPE=*) type=${line#*=} ;;
		USAGE=*) usage=${line#*=} ;;
		esac
	done < <(bounded "$DEV/$1" blkid --probe --output export "$DEV/$1" || :)
	log_printable type
	case $2:$usage:$type in
	/etc/fstab:filesystem:* | /etc/fstab:*:swap | /etc/crypttab:*:crypto_LUKS) ;;
	*)
		LASTING_WHY="it holds ${type:-nothing that blkid knows}, which can't be named by \
UUID there"
		;;
	esac
	[[ -z $LASTING_WHY ]] || return 1
	if [[ -z $LASTING_UUID || $LASTING_UUID == *[!A-Za-z0-9-]* ]]; then
		LASTING_WHY='what it holds has no UUID'
	elif ! disk_find "/dev/disk/by-uuid/$LASTING_UUID"; then
		LASTING_WHY="udev has no link /dev/disk/by-uuid/$LASTING_UUID; try: \
udevadm trigger /dev/$1"
	elif [[ $NODE != "$1" ]]; then
		LASTING_WHY="its UUID $LASTING_UUID leads to another device, /dev/$NODE"
	fi
	[[ -z $LASTING_WHY ]]
}

# lasting_names_tell NAME MD: reports names that lead to nothing now: the array may have had them
# before a reboot. MD may be empty.
lasting_names_tell() {
	local file number source LASTING_UUID LASTING_WHY
	while read -r file number source; do
		LASTING_UUID=''
		[[ -z $2 ]] || lasting_names_uuid_ "$2" "$file" || LASTING_UUID=''
		log_notice "$1: $file:$number: $source leads to nothing now. If it was this array, \
write\
 ${LASTING_UUID:+UUID=$LASTING_UUID or }/dev/md/$1 there"
	done < <(dependents_gone "$1")
}
