# Whether what is on an array still works when its logical blocks grow from 512 to 4096 bytes.
# Anything that is not known to work counts as not working.
# shellcheck shell=bash

need core/text

readonly LARGER_BLOCKS=4096

# larger_blocks_why_not LINE…: prints what does not work with larger blocks and why, one reason per
# line; nothing if everything does. LINE is "WHERE KIND BYTES", as observe/contents-blocks.sh finds
# it.
larger_blocks_why_not() {
	local line where kind bytes
	(($# > 0)) || printf 'nothing is known of what is on it\n'
	for line; do
		text_into "$line" where kind bytes
		text_number_or bytes 0
		larger_blocks_one_
	done
}

# Judges the caller's where, kind and bytes.
larger_blocks_one_() {
	case $kind in
	# Swap is written in pages.
	blank | swap) ;;
	ext[234] | btrfs) larger_blocks_least_ "$kind with blocks of $bytes bytes" ;;
	xfs) larger_blocks_least_ "XFS with sectors of $bytes bytes" ;;
	crypto_LUKS)
		if ((bytes > 0)); then
			larger_blocks_least_ "a LUKS container with sectors of $bytes bytes"
		else
			larger_blocks_no_ "a LUKS container, \
and cryptsetup does not say how large all of its sectors are"
		fi
		;;
	luks1) larger_blocks_no_ 'a container of LUKS1, which has sectors of 512 bytes' ;;
	LVM2_member)
		larger_blocks_least_ "a physical volume of LVM, \
with extents that do not begin at multiples of 4096 bytes"
		;;
	gpt | dos)
		larger_blocks_least_ "a partition table ($kind), \
which counts in blocks of $bytes bytes"
		;;
	linux_raid_member) larger_blocks_no_ 'a superblock of md: a disk leg of another array' ;;
	*) larger_blocks_unknown_ ;;
	esac
}

larger_blocks_no_() { printf '%s: %s\n' "$where" "$1"; }                         # WHY
larger_blocks_least_() { ((bytes >= LARGER_BLOCKS)) || larger_blocks_no_ "$1"; } # WHY

larger_blocks_unknown_() {
	case $kind in
	data) larger_blocks_no_ 'data without a known signature' ;;
	several)
		larger_blocks_no_ "signatures that do not go together (wipefs $where lists them)"
		;;
	silent) larger_blocks_no_ 'does not answer' ;;
	unreadable) larger_blocks_no_ 'what it holds could not be read' ;;
	held:*) larger_blocks_no_ "is held by ${kind#held:}, which does not show what for" ;;
	inactive)
		larger_blocks_no_ "a logical volume that is not active, so what is on it can't be \
seen (lvchange -ay -K $where)"
		;;
	volume:*) larger_blocks_no_ "a logical volume of the kind ${kind#volume:}, for which that \
is not known" ;;
	missing:*) larger_blocks_no_ "only ${kind#missing:} could tell, and it is not installed" ;;
	*) larger_blocks_no_ "$kind, for which that is not known" ;;
	esac
}

# larger_blocks_what LINE…: prints in words what is there.
larger_blocks_what() {
	local line where kind bytes words=''
	for line; do
		text_into "$line" where kind bytes
		text_number_or bytes 0
		case $kind in
		blank) kind='nothing' ;;
		crypto_LUKS) kind='a LUKS container' ;;
		LVM2_member) kind='LVM' ;;
		xfs) kind='XFS' ;;
		esac
		words+=", $kind"
		[[ $kind == @(nothing|swap|LVM) ]] || ((bytes == 0)) || words+=" ($bytes)"
	done
	printf '%s\n' "${words#, }"
}
