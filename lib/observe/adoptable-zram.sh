# Can an array that is being adopted have a RAM leg of zram, whose blocks have 4096 bytes? The
# variables are those of observe/adoptable.sh.
# shellcheck shell=bash

need config/conf core/paths core/text decide/larger-blocks observe/adoptable-wrong
need observe/contents-blocks world/disk world/ramdisk-note world/ramdisk-zram

# adoptable_zram BYTES NODE…: reports why an array of these disks, whose legs have BYTES, can't have
# a RAM leg of zram. What counts is the block size that the disks, or BLOCK=, give the array at
# every start. Smaller blocks become larger at its next start, if what is on the array can bear
# that: then this sets CONF[BLOCK] to 4096, and ADOPT_GROWS to the block size that the array has
# until then.
adoptable_zram() {
	local bytes=$1 node block most=512 why ADOPT_GROWS_NOT=''
	shift
	for node; do
		! ramdisk_note_is_node "$node" || continue
		block=$(disk_block "$node")
		((block <= most)) || most=$block
	done
	((most >= RAMDISK_ZRAM_BLOCK)) || ! adoptable_zram_grows_ || most=$RAMDISK_ZRAM_BLOCK
	why=$(ramdisk_zram_why_not "$bytes" "$most") || why=$TEXT_UNKNOWN
	[[ -z $why ]] ||
		adoptable_wrong "RAM=${CONF[RAM]}: ${why//$'\n'/; }$ADOPT_GROWS_NOT; \
take another kind, such as RAM=auto"
}

# Can the blocks become larger? If not, sets ADOPT_GROWS_NOT to the reason, and returns 1.
adoptable_zram_grows_() {
	local why
	ADOPT_GROWS_NOT=''
	if [[ -n $ADOPT_STOPPED ]]; then
		# An earlier run has checked that; or what is on it was made with such blocks.
		[[ ${CONF[BLOCK]} != 4096 ]] || return 0
		ADOPT_GROWS_NOT="; while it is not running, nothing shows whether what is on it \
can be used with larger ones (adopt it with --ram=none; then write RAM=${CONF[RAM]} in \
$ETC/$NAME.conf, and type: ramraid check $NAME)"
	elif [[ ${CONF[ROOT]} == yes ]]; then
		ADOPT_GROWS_NOT="; the initramfs starts it, because the root file system is on it, \
and gives it no larger ones"
	else
		contents_blocks_look "$ADOPT_MD"
		why=$(larger_blocks_why_not "${CONTENTS_BLOCKS[@]}") || why=$TEXT_UNKNOWN
		if [[ -n $why ]]; then
			ADOPT_GROWS_NOT="; what is on it can't be used with larger ones: \
${why//$'\n'/; }"
		elif ! ramdisk_zram_is_there; then
			ADOPT_GROWS_NOT="; a start needs the kernel module zram to give it larger \
ones, and that is not available for $(uname -r)"
		fi
	fi
	[[ -z $ADOPT_GROWS_NOT ]] || return 1
	CONF[BLOCK]=4096
	(($(disk_block "$ADOPT_MD") >= RAMDISK_ZRAM_BLOCK)) ||
		ADOPT_GROWS=$(disk_block "$ADOPT_MD")
}
