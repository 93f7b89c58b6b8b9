# The initramfs: which program makes it, and which files of mdadm an image has. No other file looks
# into an image. initramfs/hook or dracut/90ramraid puts the claim there.
# shellcheck shell=bash

need core/act core/lock core/log core/paths

# initramfs_generator: prints which program makes this machine's initramfs: "initramfs-tools" or
# "dracut", for which we have a hook and a module; nothing when it is neither. Programs of both may
# be installed, but Debian lets only one of the two packages make images, and since Debian 14
# dracut's package has an update-initramfs, too. On Arch, dracut makes no images where mkinitcpio is
# installed.
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

# initramfs_make: makes the initramfs of every kernel, which takes seconds to minutes for each.
# dracut itself chooses the files. Sets INITRAMFS_BY_HAND to nothing. When neither of the two
# programs makes the images, it changes nothing, and sets INITRAMFS_BY_HAND to what a person has to
# type, as far as that is known. Returns 1 when another ramraid makes it and does not end, or the
# program's exit code. Also from a package's own script, the images are there when it returns:
# update-initramfs leaves only a lone "-u" to dpkg's trigger (its script, in initramfs-tools 0.142
# to 0.151 and dracut 112).
initramfs_make() {
	INITRAMFS_BY_HAND=''
	if initramfs_has_ update-initramfs; then
		initramfs_alone_ act update-initramfs -u -k all
	elif [[ -n $(initramfs_generator) ]]; then
		initramfs_alone_ act dracut --quiet --force --regenerate-all
	elif initramfs_has_ mkinitcpio; then
		INITRAMFS_BY_HAND='mkinitcpio -P'
	elif initramfs_has_ kernel-install; then
		INITRAMFS_BY_HAND='kernel-install add-all'
	else
		INITRAMFS_BY_HAND='the program that makes it'
	fi
}

# initramfs_alone_ COMMAND…: runs it while no other ramraid makes an initramfs: these programs take
# no lock, and two of them write the same new image, so that neither is whole. It does not help
# against those that dpkg or a person starts. The lock is the last that a verb takes
# (claim_alone_ in notes/claim.sh), and neither program waits for dpkg or for us, so a dpkg that
# waits here for another verb waits no longer than that takes. The program does not inherit the
# lock (core/lock.sh).
INITRAMFS_LOCK=''
readonly INITRAMFS_PATIENCE=1800 # seconds; an image takes minutes on a slow machine
initramfs_alone_() {
	lock_alone INITRAMFS_LOCK initramfs "$INITRAMFS_PATIENCE" 'makes the initramfs' "$@"
}

# initramfs_command RELEASE: prints what to type to make the initramfs of one kernel, whether or not
# it exists already. Returns 1 when that is not known.
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

# initramfs_open RELEASE: sets INITRAMFS to a folder with the files of mdadm in this initramfs.
# Returns 1, with INITRAMFS_WHY, when its contents can't be seen. Either way the image is unpacked
# once, however many arrays ask. initramfs_close removes all these folders.
declare -gA INITRAMFS_OPEN=() INITRAMFS_UNSEEN=()
INITRAMFS_WORK=''
initramfs_open() {
	local file
	INITRAMFS=${INITRAMFS_OPEN["$1"]-} INITRAMFS_WHY=${INITRAMFS_UNSEEN["$1"]-}
	[[ -z $INITRAMFS$INITRAMFS_WHY ]] || {
		[[ -z $INITRAMFS_WHY ]]
		return
	}
	if ! file=$(initramfs_file "$1"); then
		INITRAMFS_WHY="no initramfs for it in $BOOT"
	elif ! initramfs_can_read_ "$file"; then
		INITRAMFS_WHY="no right to read $file"
	elif ! command -v unmkinitramfs >/dev/null && ! command -v lsinitrd >/dev/null; then
		INITRAMFS_WHY="no unmkinitramfs and no lsinitrd here, which could look into $file"
	elif ! initramfs_unpack_ "$1" "$file"; then
		INITRAMFS_WHY="that $file can not be unpacked"
	fi
	INITRAMFS_UNSEEN["$1"]=$INITRAMFS_WHY
	[[ -z $INITRAMFS_WHY ]]
}

initramfs_can_read_() { [[ -r $1 ]]; } # FILE

# Unpacks the image to a disk, because a ramdisk may need the memory. Each program has
# INITRAMFS_SECONDS for it: lsinitrd of dracut 112 has been seen to hang on a truncated image.
# unmkinitramfs belongs to initramfs-tools, and opens other images as well; lsinitrd belongs to
# dracut.
readonly INITRAMFS_SECONDS=300
initramfs_unpack_() { # RELEASE FILE
	local program
	if [[ -z $INITRAMFS_WORK ]]; then
		INITRAMFS_WORK=$(mktemp -d /var/tmp/ramraid-check.XXXXXX) || return 1
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

# Unpacks only what belongs to mdadm, because the whole image would be hundreds of megabytes:
# unmkinitramfs runs a cpio of ours, which passes the patterns of these files to the real one. Where
# it runs another program, it unpacks everything, and the answer is the same.
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

# lsinitrd unpacks into the current folder, by way of TMPDIR. It is called for each pattern in a
# folder of its own: where it uses 3cpio (dracut 112), it takes several patterns, but fails at
# the second, because the folder is not empty then. It does not look into a file system within the
# image (dracut's module "squash"), so an image that has one fails here.
initramfs_by_lsinitrd_() { # FILE FOLDER
	local pattern n=0 left end=$((SECONDS + INITRAMFS_SECONDS))
	for pattern in '*bin/mdadm' 'etc/mdadm*' '*-root.img'; do
		n=$((n + 1)) left=$((end - SECONDS))
		((left > 0)) || return 1
		mkdir "$2/$n" || return 1
		(cd -- "$2/$n" && TMPDIR=$INITRAMFS_WORK timeout --foreground "$left" lsinitrd \
			--unpack "$1" "$pattern") || return 1
	done
	[[ -z $(find "$2" -maxdepth 2 -name '*-root.img' -print -quit) ]]
}

initramfs_close() {
	[[ -z $INITRAMFS_WORK ]] || rm -rf -- "$INITRAMFS_WORK"
	INITRAMFS_OPEN=() INITRAMFS_UNSEEN=() INITRAMFS_WORK=''
}

# initramfs_has_mdadm, initramfs_confs: look into the image that was opened last. The first tells
# whether mdadm is in it, the second prints mdadm's configuration files, one per line. Both are
# below "main" when the processor's microcode precedes them in the image.
initramfs_has_mdadm() {
	[[ -n $(find "$INITRAMFS" \( -path '*/sbin/mdadm' -o -path '*/bin/mdadm' \) -print -quit) ]]
}
initramfs_confs() {
	find "$INITRAMFS" \( -path '*/etc/mdadm.conf' -o -path '*/etc/mdadm/mdadm.conf' -o -path \
		'*/mdadm.conf.d/*.conf' \) -type f
}

# initramfs_parts: prints a checksum of the hook or module of ramraid that the program which makes
# this machine's initramfs uses, as it is installed; nothing if there is none.
initramfs_parts() {
	local i files=() text
	case $(initramfs_generator) in
	initramfs-tools)
		files=("$ROOT"/{usr/share,etc}/initramfs-tools/{hooks,scripts/local-block}/ramraid)
		;;
	dracut) files=("$ROOT"/usr/lib/dracut/modules.d/90ramraid/*) ;;
	esac
	for i in "${!files[@]}"; do
		[[ -f ${files[i]} ]] || unset "files[i]"
	done
	((${#files[@]} > 0)) || return 0
	text=$(cat -- "${files[@]}" | sha256sum) || return
	printf '%s\n' "${text%% *}"
}
