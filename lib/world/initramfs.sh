# What an initramfs holds of mdadm: the only file that looks into one. The claim gets there by
# initramfs/hook.
# shellcheck shell=bash

need core/paths core/put

# initramfs_file RELEASE: prints where that kernel's initramfs is, as initramfs-tools or dracut
# names it. Returns 1 when there is none.
initramfs_file() {
	local file
	for file in "$BOOT/initrd.img-$1" "$BOOT/initramfs-$1.img" "$BOOT/initrd-$1"; do
		[[ -e $file ]] || continue
		printf '%s\n' "$file"
		return
	done
	return 1
}

# initramfs_open RELEASE: sets INITRAMFS to a folder that has what this initramfs holds of mdadm;
# unpacked once, however many arrays ask. Returns 1, with INITRAMFS_WHY, when it can't be seen.
# initramfs_close takes all of them away.
declare -gA INITRAMFS_OPEN=()
INITRAMFS_WORK=''
initramfs_open() {
	local file
	INITRAMFS=${INITRAMFS_OPEN["$1"]-} INITRAMFS_WHY=''
	[[ -z $INITRAMFS ]] || return 0
	if ! file=$(initramfs_file "$1"); then
		INITRAMFS_WHY="no initramfs for it in $BOOT"
	elif ! initramfs_can_read_ "$file"; then
		INITRAMFS_WHY="no right to read $file"
	elif ! command -v unmkinitramfs >/dev/null; then
		INITRAMFS_WHY="no unmkinitramfs here, which could look into $file"
	elif ! initramfs_unpack_ "$1" "$file"; then
		INITRAMFS_WHY="that $file can not be unpacked"
	fi
	[[ -z $INITRAMFS_WHY ]]
}

initramfs_can_read_() { [[ -r $1 ]]; } # FILE

# On a disk, not in memory, which may be needed for a ramdisk; and only what belongs to mdadm, by a
# cpio of our own in front of the real one: the whole would be hundreds of megabytes. Where another
# program does the work all is unpacked, and the answer is the same.
initramfs_unpack_() { # RELEASE FILE
	local cpio
	if [[ -z $INITRAMFS_WORK ]]; then
		INITRAMFS_WORK=$(mktemp -d "${TMPDIR:-/var/tmp}/ramraid-check.XXXXXX") || return 1
		mkdir "$INITRAMFS_WORK/.bin"
		cpio=$(command -v cpio) || cpio=/usr/bin/cpio
		printf -v cpio '%q' "$cpio"
		put_lines "$INITRAMFS_WORK/.bin/cpio" '#!/bin/sh' \
			"exec $cpio --make-directories \"\$@\" \"*etc/mdadm*\" \"*sbin/mdadm\""
		chmod +x "$INITRAMFS_WORK/.bin/cpio"
	fi
	mkdir "$INITRAMFS_WORK/$1" || return 1
	PATH=$INITRAMFS_WORK/.bin:$PATH unmkinitramfs "$2" "$INITRAMFS_WORK/$1" >/dev/null 2>&1 ||
		return 1
	INITRAMFS=$INITRAMFS_WORK/$1 INITRAMFS_OPEN["$1"]=$INITRAMFS_WORK/$1
}

initramfs_close() {
	[[ -z $INITRAMFS_WORK ]] || rm -rf -- "$INITRAMFS_WORK"
	INITRAMFS_OPEN=() INITRAMFS_WORK=''
}

# initramfs_has_mdadm, initramfs_confs: of the one that was opened last: is the program in it, and
# its configuration files, one a line. They lie below "main" when the processor's microcode lies in
# front.
initramfs_has_mdadm() { [[ -n $(find "$INITRAMFS" -path '*/sbin/mdadm' -print -quit) ]]; }
initramfs_confs() {
	find "$INITRAMFS" \( -path '*/etc/mdadm.conf' -o -path '*/etc/mdadm/mdadm.conf' -o -path \
		'*/mdadm.conf.d/*.conf' \) -type f
}
