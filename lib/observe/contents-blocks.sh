# What is on an array, as far as the size of its logical blocks matters: signatures, and the logical
# volumes and containers that are stacked on it. decide/larger-blocks.sh judges it. Nothing is
# changed here, and no device is waited for beyond the bound of core/bounded.sh.
# shellcheck shell=bash

need core/bounded core/paths core/text world/disk

readonly CONTENTS_BLOCKS_SAMPLES=16 # how many places of a device without a signature are read
readonly CONTENTS_BLOCKS_SAMPLE=65536
readonly CONTENTS_BLOCKS_EDGE=4194304 # and so much at its beginning and at its end

# contents_blocks_look NODE: sets CONTENTS_BLOCKS to a line for each thing that is there, "WHERE
# KIND BYTES": a device or a volume, what blkid calls it, and the size of its blocks. Other kinds:
# blank; data (which no signature explains); several (signatures that do not go together); silent;
# unreadable; held:DEVICE (by a device that the contents do not explain); inactive (a volume);
# volume:SEGTYPE (a volume of that kind); luks1; missing:PROGRAM (which is needed to look further).
declare -ga CONTENTS_BLOCKS=()
contents_blocks_look() {
	CONTENTS_BLOCKS=()
	contents_blocks_device_ "$1"
}

contents_blocks_add_() { CONTENTS_BLOCKS+=("$1 $2 ${3:-0}"); } # WHERE KIND [BYTES]

# Adds the lines of one device. If there is more on it than blkid finds, that is "several".
contents_blocks_device_() { # NODE
	local kind='' block='' version='' table='' text code=0 where=/dev/$1 line
	text=$(bounded "$DEV/$1" blkid --probe --output export "$DEV/$1") || code=$?
	while IFS= read -r line; do
		case $line in
		TYPE=*) kind=${line#*=} ;;
		BLOCK_SIZE=*) block=${line#*=} ;;
		VERSION=*) version=${line#*=} ;;
		PTTYPE=*) table=${line#*=} ;;
		esac
	done < <(printf '%s\n' "$text")
	case $code in
	0 | 2) ;;
	8) contents_blocks_add_ "$where" several && return ;;
	"$BOUNDED_SILENT") contents_blocks_add_ "$where" silent && return ;;
	*) contents_blocks_add_ "$where" unreadable && return ;;
	esac
	# A partition table counts in the blocks that the device has now.
	[[ -n $kind || -z $table ]] || kind=$table block=$(disk_block "$1")
	contents_blocks_is_alone_ "$1" "${kind:-none}" || return 0
	[[ $block =~ ^[0-9]{1,9}$ ]] || block=0
	case $kind in
	'') contents_blocks_blank_ "$1" ;;
	xfs) contents_blocks_xfs_ "$1" ;;
	crypto_LUKS) contents_blocks_luks_ "$1" "$version" ;;
	LVM2_member) contents_blocks_volumes_ "$1" ;;
	*) contents_blocks_plain_ "$1" "${kind//[^A-Za-z0-9_.-]/?}" "$block" ;;
	esac
}

# contents_blocks_is_alone_ NODE KIND: is there no other signature, such as one of earlier contents?
# If there is, or if that can't be read, adds a line and returns 1.
contents_blocks_is_alone_() {
	local text code=0 type all=''
	text=$(bounded "$DEV/$1" wipefs --noheadings --output TYPE -- "$DEV/$1") || code=$?
	if ((code != 0)); then
		contents_blocks_add_ "/dev/$1" unreadable
		return 1
	fi
	while read -r type; do
		[[ -z $type || $type == "$2" || "$2 $type" == 'gpt PMBR' ]] || all=yes
	done < <(printf '%s\n' "$text")
	[[ -n $all ]] || return 0
	contents_blocks_add_ "/dev/$1" several
	return 1
}

# contents_blocks_is_held_ NODE [PATTERN]: is it held by a device whose device-mapper UUID does not
# match PATTERN, and which can therefore have anything anywhere on it? If so, adds a line.
contents_blocks_is_held_() {
	local holder uuid
	while IFS= read -r holder; do
		uuid=''
		{ read -r uuid <"$SYS/class/block/$holder/dm/uuid"; } 2>/dev/null || :
		# shellcheck disable=SC2053 # a pattern
		[[ -z ${2-} || $uuid != $2 ]] || continue
		contents_blocks_add_ "/dev/$1" "held:$holder"
		return 0
	done < <(disk_holders "$1")
	return 1
}

contents_blocks_plain_() { # NODE KIND BYTES
	# The holders of a device with a partition table are on its partitions.
	[[ $2 == @(gpt|dos|linux_raid_member|bcache) ]] || ! contents_blocks_is_held_ "$1" ||
		return 0
	contents_blocks_add_ "/dev/$1" "$2" "$3"
}

# XFS has sectors of its own, and so has its log, where 0 means 512 (xfs_dsb in linux
# fs/xfs/libxfs/xfs_format.h, sb_sectsize and sb_logsectsize).
contents_blocks_xfs_() { # NODE
	local text bytes=() code=0 block log
	text=$(bounded "$DEV/$1" od -An -v -tu1 -j102 -N94 -w94 "$DEV/$1") || code=$?
	text_split bytes "$text"
	((code == 0 && ${#bytes[@]} == 94)) || {
		contents_blocks_add_ "/dev/$1" unreadable
		return 0
	}
	block=$((bytes[0] * 256 + bytes[1])) log=$((bytes[92] * 256 + bytes[93]))
	((log >= block)) || block=$((log > 0 ? log : 512))
	contents_blocks_plain_ "$1" xfs "$block"
}

# A container keeps the sector size that it was made with, whatever is below it, and what is in it
# sees only that. cryptsetup knows which of its two headers is valid.
contents_blocks_luks_() { # NODE VERSION
	local text code=0 word bytes least='' in=''
	! contents_blocks_is_held_ "$1" 'CRYPT-LUKS*' || return 0
	[[ $2 == 2 ]] || {
		contents_blocks_add_ "/dev/$1" luks1 512
		return 0
	}
	command -v cryptsetup >/dev/null || {
		contents_blocks_add_ "/dev/$1" missing:cryptsetup
		return 0
	}
	text=$(bounded "$DEV/$1" cryptsetup luksDump "$DEV/$1") || code=$?
	while ((code == 0)) && read -r word bytes _; do
		[[ -n $in || $word != Data ]] || {
			in=yes
			continue
		}
		[[ -n $in ]] || continue
		case $word in
		'') break ;;
		*:)
			case $word$bytes in
			[0-9]*:crypt | length:'(whole' | cipher:*) ;;
			offset:* | length:*)
				text_number_or bytes 1
				((bytes % 4096 == 0)) || least=512
				;;
			sector:*)
				text_number_or bytes 0
				((bytes >= ${least:-bytes})) || least=$bytes
				: "${least:=$bytes}"
				;;
			# Such as "integrity:", or a segment that is not encrypted.
			*) code=1 ;;
			esac
			;;
		*) code=1 ;;
		esac
	done < <(printf '%s\n' "$text")
	((code == 0)) || least=0
	contents_blocks_add_ "/dev/$1" crypto_LUKS "${least:-0}"
}

# Adds lines for the volumes of the group that this physical volume belongs to, and one that says
# whether its extents begin where larger blocks do. A volume that is not active has no device to
# look at. Hidden volumes (in brackets) are parts of others: only their kind counts.
contents_blocks_volumes_() { # NODE
	local text code=0 group='' start='' extent='' name kind minor
	! contents_blocks_is_held_ "$1" 'LVM-*' || return 0
	command -v lvm >/dev/null || {
		contents_blocks_add_ "/dev/$1" missing:lvm
		return 0
	}
	text=$(bounded "$DEV/$1" lvm pvs --noheadings --units b --nosuffix --options \
		vg_name,pe_start,vg_extent_size --separator / "$DEV/$1") || code=$?
	IFS=/ read -r group start extent < <(printf '%s\n' "${text// /}") || :
	text_number_or start 1 && text_number_or extent 1
	((code == 0)) || {
		contents_blocks_add_ "/dev/$1" unreadable
		return 0
	}
	((start % 4096 == 0 && extent % 4096 == 0)) && start=4096 || start=512
	contents_blocks_add_ "/dev/$1" LVM2_member "$start"
	# The physical volume belongs to no group, or its group is not known.
	if [[ -z $group ]]; then
		contents_blocks_is_held_ "$1" || :
		return 0
	fi
	text=$(bounded "$DEV/$1" lvm lvs --all --noheadings --separator / --options \
		lv_name,segtype,lv_kernel_minor "$group") || {
		contents_blocks_add_ "/dev/$1" unreadable
		return 0
	}
	while IFS=/ read -r name kind minor; do
		[[ -z $name ]] || contents_blocks_volume_ "$group/$name" "$kind" "$minor"
	done < <(printf '%s\n' "${text// /}")
}

contents_blocks_volume_() { # GROUP/VOLUME KIND MINOR
	case $2 in
	linear | striped | thin | thin-pool) ;;
	*)
		contents_blocks_add_ "$1" "volume:$2"
		return
		;;
	esac
	[[ $1 != *'['* && $2 != thin-pool ]] || return 0
	if [[ ! $3 =~ ^[0-9]{1,7}$ ]]; then
		contents_blocks_add_ "$1" inactive
	elif [[ " ${CONTENTS_BLOCKS[*]}" != *" /dev/dm-$3 "* ]]; then
		contents_blocks_device_ "dm-$3"
	fi
}

# blkid knows nothing of what is there: is it empty, as far as samples show?
contents_blocks_blank_() { # NODE
	local text code=0
	! contents_blocks_is_held_ "$1" || return 0
	text=$(bounded "$DEV/$1" contents_blocks_sample_ "$DEV/$1" "$(disk_bytes "$1")") || code=$?
	if ((code == BOUNDED_SILENT)); then
		contents_blocks_add_ "/dev/$1" silent
	elif ((code != 0)) || [[ $text != *[0-9]* ]]; then
		contents_blocks_add_ "/dev/$1" unreadable
	elif ((text > 0)); then
		contents_blocks_add_ "/dev/$1" data
	else
		contents_blocks_add_ "/dev/$1" blank
	fi
}

# contents_blocks_sample_ DEVICE BYTES: prints 0 if its beginning, its end and places between them
# hold nothing but zeros, else 1.
contents_blocks_sample_() {
	local at last=$(($2 - CONTENTS_BLOCKS_EDGE))
	((last >= 0)) || last=0
	{
		contents_blocks_piece_ "$1" 0 "$CONTENTS_BLOCKS_EDGE"
		contents_blocks_piece_ "$1" "$last" "$CONTENTS_BLOCKS_EDGE"
		for ((at = 1; at <= CONTENTS_BLOCKS_SAMPLES; at++)); do
			contents_blocks_piece_ "$1" \
				$((at * (last / (CONTENTS_BLOCKS_SAMPLES + 1)))) \
				"$CONTENTS_BLOCKS_SAMPLE"
		done
	} | tr -d '\0' | head -c 1 | wc -c || : # who still writes when enough is known fails
}

# What can't be read counts as data.
contents_blocks_piece_() { # DEVICE AT BYTES
	dd if="$1" iflag=skip_bytes,count_bytes skip="$2" count="$3" bs=1M status=none || printf x
}
