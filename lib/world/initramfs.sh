# The initramfs: what makes it, and what one holds of mdadm. The only file that looks into one. The
# claim gets there by initramfs/hook, or by dracut/90ramraid.
# shellcheck shell=bash

need core/act core/paths

# initramfs_generator: prints what makes the initramfs that boots: "initramfs-tools" or "dracut",
# for which there are our hook and our module; nothing when it is neither. Programs of both may be
# installed; Debian lets only one of the two packages make images, and since Debian 14 that of
# dracut has an update-initramfs, too. On Arch, dracut makes none beside mkinitcpio.
initramfs_generator() {
	local update=$ROOT/usr/sbin/update-initramfs
	if [[ -x $update ]]; then
		if initramfs_has_ dracut && grep -qw dracut -- "$update"; then
			printf 'dracut\n'
		else
			printf 'initramfs-tools\n'
		fi
	elif initramfs_has_ dracut && ! initramfs_has_ mkinitcpio; then
		printf 'dracut\n'
	fi
}
initramfs_has_() { [[ -x $ROOT/usr/bin/$1 || -x $ROOT/usr/sbin/$1 ]]; } # PROGRAM

# initramfs_make: makes that of every kernel, which takes seconds to minutes for each. dracut itself
# chooses the file. Sets INITRAMFS_BY_HAND to nothing; or, when it is neither of the two, to what a
# person has to type, as far as that is known, and changes nothing.
initramfs_make() {
	INITRAMFS_BY_HAND=''
	if initramfs_has_ update-initramfs; then
		act update-initramfs -u -k all
	elif [[ -n $(initramfs_generator) ]]; then
		act dracut --quiet --force --regenerate-all
	elif initramfs_has_ mkinitcpio; then
		INITRAMFS_BY_HAND='mkinitcpio -P'
	elif initramfs_has_ kernel-install; then
		INITRAMFS_BY_HAND='kernel-install add-all'
	else
		INITRAMFS_BY_HAND='the program that makes it'
	fi
}

# initramfs_command RELEASE: prints what to type for the initramfs of one kernel, there already or
# not. Returns 1 when nobody knows.
initramfs_command() {
	local how=-c
	! initramfs_file "$1" >/dev/null || how=-u
	if initramfs_has_ update-initramfs; then
		printf 'update-initramfs %s -k %s\n' "$how" "$1"
	elif [[ -n $(initramfs_generator) ]]; then
		printf 'dracut --force --kver %s\n' "$1"
	else
		return 1
	fi
}

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
	elif ! command -v unmkinitramfs >/dev/null && ! command -v lsinitrd >/dev/null; then
		INITRAMFS_WHY="no unmkinitramfs and no lsinitrd here, which could look into $file"
	elif ! initramfs_unpack_ "$1" "$file"; then
		INITRAMFS_WHY="that $file can not be unpacked"
	fi
	[[ -z $INITRAMFS_WHY ]]
}

initramfs_can_read_() { [[ -r $1 ]]; } # FILE

# On a disk, not in memory, which may be needed for a ramdisk, and within a bound. unmkinitramfs is
# of initramfs-tools, and opens others as well; lsinitrd is dracut's.
readonly INITRAMFS_SECONDS=300
initramfs_unpack_() { # RELEASE FILE
	local program
	if [[ -z $INITRAMFS_WORK ]]; then
		INITRAMFS_WORK=$(mktemp -d "${TMPDIR:-/var/tmp}/ramraid-check.XXXXXX") || return 1
	fi
	for program in unmkinitramfs lsinitrd; do
		command -v "$program" >/dev/null || continue
		mkdir "$INITRAMFS_WORK/$1" || return 1
		if "initramfs_by_${program}_" "$2" "$INITRAMFS_WORK/$1" >/dev/null 2>&1; then
			INITRAMFS=$INITRAMFS_WORK/$1 INITRAMFS_OPEN["$1"]=$INITRAMFS_WORK/$1
			return 0
		fi
		rm -rf -- "${INITRAMFS_WORK:?}/$1"
	done
	return 1
}

# Only what belongs to mdadm, by a cpio of our own in front of the real one: the whole would be
# hundreds of megabytes. Where another program does the work all is unpacked, and the answer is the
# same.
initramfs_by_unmkinitramfs_() { # FILE FOLDER
	local cpio bin=$INITRAMFS_WORK/.bin
	if [[ ! -d $bin ]]; then
		mkdir "$bin" || return 1
		cpio=$(command -v cpio) || cpio=/usr/bin/cpio
		printf -v cpio '%q' "$cpio"
		act_put "$bin/cpio" '#!/bin/sh' \
			"exec $cpio --make-directories \"\$@\" \"*etc/mdadm*\" \"*bin/mdadm\""
		chmod +x "$bin/cpio"
	fi
	PATH=$bin:$PATH timeout --foreground "$INITRAMFS_SECONDS" unmkinitramfs "$1" "$2"
}

# It unpacks into the folder that it is run in, and packs out into TMPDIR before. What is in a file
# system of its own within the image (dracut's module "squash") is not looked into.
initramfs_by_lsinitrd_() { # FILE FOLDER
	(cd -- "$2" && TMPDIR=$INITRAMFS_WORK timeout --foreground "$INITRAMFS_SECONDS" \
		lsinitrd --unpack "$1" '*bin/mdadm' 'etc/mdadm*' '*-root.img') &&
		[[ -z $(find "$2" -maxdepth 1 -name '*-root.img' -print -quit) ]]
}

initramfs_close() {
	[[ -z $INITRAMFS_WORK ]] || rm -rf -- "$INITRAMFS_WORK"
	INITRAMFS_OPEN=() INITRAMFS_WORK=''
}

# initramfs_has_mdadm, initramfs_confs: of the one that was opened last: is the program in it, and
# its configuration files, one a line. They are below "main" when the processor's microcode is in
# front.
initramfs_has_mdadm() {
	[[ -n $(find "$INITRAMFS" \( -path '*/sbin/mdadm' -o -path '*/bin/mdadm' \) -print -quit) ]]
}
initramfs_confs() {
	find "$INITRAMFS" \( -path '*/etc/mdadm.conf' -o -path '*/etc/mdadm/mdadm.conf' -o -path \
		'*/mdadm.conf.d/*.conf' \) -type f
}
