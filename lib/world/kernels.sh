# The installed kernels, and which modules each has. world/md.sh and world/ramdisk.sh deal with what
# the running kernel has loaded.
# shellcheck shell=bash

need core/paths

# kernels_find: sets KERNELS to the releases that the next boot may use: those that have their
# modules and an image, and the running one, whose image may be elsewhere (a virtual machine may get
# its kernel from outside). A folder of modules that an old kernel left behind does not count.
kernels_find() {
	local folder release running
	KERNELS=()
	running=$(kernels_running)
	for folder in "$MODULES"/*/; do
		release=${folder%/} release=${release##*/}
		[[ -d $folder ]] || continue
		[[ $release != "$running" ]] && ! kernels_image_ "$release" || KERNELS+=("$release")
	done
}

kernels_running() { cat "$PROC/sys/kernel/osrelease" 2>/dev/null || :; }

# Debian (and Fedora, SUSE, Gentoo) have the image in /boot, kernel-install(8) beside the modules.
kernels_image_() { [[ -e $MODULES/$1/vmlinuz ]] || kernels_is_in_boot "$1"; } # RELEASE

# kernels_is_in_boot RELEASE: is its image where a boot loader looks? It is not while /boot is a
# file system that is not mounted.
kernels_is_in_boot() {
	local file
	for file in "$BOOT"/{vmlinuz,vmlinux,Image,kernel}-"$1"; do
		[[ ! -e $file ]] || return 0
	done
	return 1
}

# kernels_module RELEASE MODULE: prints how that kernel has MODULE: module, builtin, or none. It
# reads the lists that depmod(8) writes and modprobe uses.
kernels_module() {
	local folder=$MODULES/$1 name="(^|/)$2\.ko"
	if grep -qsE "$name(\.[a-z0-9]+)?:" "$folder/modules.dep"; then
		printf 'module\n'
	elif grep -qsE "$name$" "$folder/modules.builtin"; then
		printf 'builtin\n'
	else
		printf 'none\n'
	fi
}

# kernels_dkms RELEASE MODULE: sets DKMS to the version of MODULE whose source DKMS has but has not
# installed for that kernel, and DKMS_LOG to the log of an attempt that failed; each is empty when
# there is none. It does not ask DKMS itself, which takes seconds and may need root (dkms(8),
# /var/lib/dkms).
kernels_dkms() {
	local folder version
	DKMS='' DKMS_LOG=''
	for folder in "$ROOT/var/lib/dkms/$2"/*/source; do
		[[ -e $folder || -L $folder ]] || continue
		version=${folder%/source} version=${version##*/}
		[[ $(kernels_module "$1" "$2") == none ]] || return 0
		DKMS=$version DKMS_LOG=$ROOT/var/lib/dkms/$2/$version/build/make.log
		# The log is of the last attempt, for whatever kernel that was.
		grep -qsF -e " $1 " "$DKMS_LOG" || DKMS_LOG=''
	done
}
# kernels_any_has MODULE: does any installed kernel have it as a module, or does DKMS have its
# source?
kernels_any_has() {
	grep -qsE "(^|/)$1\.ko" "$MODULES"/*/modules.dep ||
		compgen -G "$ROOT/var/lib/dkms/$1/*/source" >/dev/null
}
# kernels_headers RELEASE: are the headers installed that its modules are built against?
kernels_headers() { [[ -e $MODULES/$1/build/Makefile ]]; }

# Kernels on which the project's own tests (cases "copy", "rounds") have tried the copy to the RAM
# leg (act/copy.sh); REBUILD=copy accepts any kernel.
readonly KERNELS_COPY='6.1 6.12 7.2 7.3'
# kernels_copy_text WORD: prints them, with WORD ("and") before the last one.
kernels_copy_text() {
	local text=${KERNELS_COPY% *}
	printf '%s %s %s\n' "${text// /, }" "$1" "${KERNELS_COPY##* }"
}
# kernels_why_no_copy RELEASE REBUILD: sets COPY_WHY_NOT to why the kernel RELEASE
# ("6.12.57+deb13-amd64") is not trusted with a copy before a self-test; empty if it is.
kernels_why_no_copy() {
	COPY_WHY_NOT=''
	kernels_is_tried "$1" || [[ $2 == copy ]] ||
		COPY_WHY_NOT="copying from all disks has been tested on Linux \
$(kernels_copy_text and), and this is $1; to test it here: ramraid selftest; to use it untested: \
REBUILD=copy"
}

# kernels_md_build RELEASE: sets KERNEL_MD to a word that is different for every build of md_mod and
# raid1 in the running kernel. The word is made of their checksums; where the kernel keeps none, of
# their build IDs; for modules that are built in, of the kernel's. Empty while one of them is not
# loaded.
kernels_md_build() {
	local module part words=''
	KERNEL_MD=''
	for module in md_mod raid1; do
		part=''
		if [[ -e $SYS/module/$module/srcversion ]]; then
			{ read -r part <"$SYS/module/$module/srcversion"; } 2>/dev/null || :
		elif [[ -e $SYS/module/$module/notes/.note.gnu.build-id ]]; then
			part=$(kernels_sum_ "$SYS/module/$module/notes/.note.gnu.build-id")
		elif [[ -d $SYS/module/$module ||
			$(kernels_module "$1" "${module/_/[-_]}") == builtin ]]; then
			part=$(kernels_sum_ "$SYS/kernel/notes")
		fi
		[[ -n $part && $part != *[!0-9A-Za-z]* ]] || return 0
		words+=${words:+-}$part
	done
	KERNEL_MD=$words
}
kernels_sum_() { # FILE
	local sum
	sum=$(sha256sum -- "$1" 2>/dev/null) && printf '%s\n' "${sum:0:24}"
}

# kernels_is_before RELEASE MAJOR MINOR
kernels_is_before() {
	[[ $1 =~ ^([0-9]{1,4})\.([0-9]{1,4}) ]] &&
		((BASH_REMATCH[1] < $2 || (BASH_REMATCH[1] == $2 && BASH_REMATCH[2] < $3)))
}

kernels_is_tried() { # RELEASE
	local family=$1
	[[ ! $1 =~ ^([0-9]+\.[0-9]+) ]] || family=${BASH_REMATCH[1]}
	[[ " $KERNELS_COPY " == *" $family "* ]]
}

# kernels_flaw RELEASE: sets KERNEL_FLAW to what is known to be wrong with this kernel
# ("6.10.3-1-amd64") for an array in the state that it has during a start; empty for all other
# kernels. CVE-2024-45023: since 6.9, read_balance() in linux drivers/md/raid1.c could read from a
# leg that is not rebuilt up to that place, if all other legs are write-mostly; fixed in 6.10.7 and
# 6.11. Distributions may have fixed it under an older version number.
kernels_flaw() {
	KERNEL_FLAW=''
	[[ $1 =~ ^6\.(9|10)(\.([0-9]+))?([^0-9.]|$) ]] || return 0
	((BASH_REMATCH[1] == 9 || ${BASH_REMATCH[3]:-0} <= 6)) || return 0
	KERNEL_FLAW="Linux $1 may read from the part of a leg that is not rebuilt yet \
(CVE-2024-45023; if your distribution has fixed it: ACCEPT_KERNEL_FLAW=yes)"
}

# kernels_flaw_copy RELEASE: sets KERNEL_FLAW_COPY to what is known to be wrong with a copy on this
# kernel (act/copy.sh begins with md_drain); empty for all other kernels. CVE-2024-43855: a flush
# that waits for another one, and mddev_suspend(), can wait for each other (linux drivers/md/md.c).
# The record of the CVE says that 6.1.75 was the first; md's maintainer says that all earlier ones
# have it (b75197e86e6d, "md: Remove flush handling").
kernels_flaw_copy() {
	KERNEL_FLAW_COPY=''
	! kernels_lacks_ "$1" 6.1.103 6.6.44 6.10.3 6.11.0 || KERNEL_FLAW_COPY="before a copy, \
Linux $1 may hang the array for ever while something writes to it (CVE-2024-43855; if your \
distribution has fixed it: ACCEPT_KERNEL_FLAW=yes)"
}

# kernels_flaw_slots RELEASE: sets KERNEL_FLAW_SLOTS to what is known to be wrong with a change of
# the number of slots (md_set_slots) on this kernel, and the way round it; empty for all other
# kernels. CVE-2025-38445: raid1_reshape() in linux drivers/md/raid1.c leaves the array with a list
# of waiters on its own stack, which mempool_free() reads once a request had to take from the
# reserve for want of memory.
kernels_flaw_slots() {
	KERNEL_FLAW_SLOTS=''
	! kernels_lacks_ "$1" 5.4.296 5.10.240 5.15.189 6.1.146 6.6.99 6.12.39 6.15.7 6.16.0 ||
		KERNEL_FLAW_SLOTS="once the number of slots has changed, Linux $1 may crash as \
soon as memory gets short, until the array is stopped and started again (CVE-2025-38445). Boot an \
updated kernel first. If your distribution has fixed it, or if you stop and start the array, or \
reboot, right afterwards: ACCEPT_KERNEL_FLAW=yes in $ETC/ramraid.conf until then, since it accepts \
the other flaws as well"
}

# kernels_lacks_ RELEASE FIXED…: does the kernel lack what the versions FIXED were the first in
# their series to have? The last of them is mainline's. A kernel whose version is not known counts
# as mended: its distribution numbers it in its own way, and keeps it up to date.
kernels_lacks_() {
	local fixed KERNEL_VERSION
	kernels_version_ "$1"
	[[ -n $KERNEL_VERSION ]] || return 1
	for fixed in "${@:2}"; do
		[[ ${KERNEL_VERSION%.*} == "${fixed%.*}" ]] || continue
		((${KERNEL_VERSION##*.} < ${fixed##*.}))
		return
	done
	fixed=${fixed%.*}
	kernels_is_before "$KERNEL_VERSION" "${fixed%.*}" "${fixed#*.}"
}

# kernels_version_ RELEASE: sets KERNEL_VERSION to the version that the kernel was made from: 6.10.3
# for 6.10.3-1-amd64. Releases like 6.1.0-40-amd64 do not say it. Of the running kernel, Debian's
# say it elsewhere ("#1 SMP PREEMPT_DYNAMIC Debian 6.1.153-1 (2025-09-20)"); of all others it is not
# known, and KERNEL_VERSION is empty.
kernels_version_() {
	local running='' text=''
	KERNEL_VERSION=''
	[[ $1 =~ ^([0-9]{1,4}\.[0-9]{1,4})(\.[0-9]{1,4})?([^0-9.]|$) ]] || return 0
	KERNEL_VERSION=${BASH_REMATCH[1]}${BASH_REMATCH[2]:-.0}
	[[ $1 == "$KERNEL_VERSION"-[0-9]* && $KERNEL_VERSION == *.0 ]] || return 0
	KERNEL_VERSION=''
	{ read -r running <"$PROC/sys/kernel/osrelease"; } 2>/dev/null || :
	[[ $1 == "$running" ]] || return 0
	{ read -r text <"$PROC/sys/kernel/version"; } 2>/dev/null || :
	[[ ! $text =~ \ Debian\ ([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})[-~+] ]] ||
		KERNEL_VERSION=${BASH_REMATCH[1]}
}
