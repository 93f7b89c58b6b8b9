# The installed kernels, and which modules each has. What the running one has loaded is world/md.sh's and world/ramdisk.sh's business.
# shellcheck shell=bash

need core/paths

# kernels_find: sets KERNELS to the releases that the next boot may be given: those that have their modules and an image, and the running one, whose
# image may lie elsewhere (a virtual machine is handed one from outside). What an old kernel has left behind in its folder of modules is none.
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

# Where Debian (and Fedora, SUSE, Gentoo) and where kernel-install(8) put it.
kernels_image_() { # RELEASE
	local file
	for file in "$BOOT"/{vmlinuz,vmlinux,Image,kernel}-"$1" "$MODULES/$1/vmlinuz"; do
		[[ ! -e $file ]] || return 0
	done
	return 1
}

# kernels_module RELEASE MODULE: prints how that kernel has it: module, builtin, or none. From the lists that depmod(8) writes, which modprobe goes by.
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

# Kernels on which the copy to the RAM leg (act/copy.sh) was tried by the project's own tests (cases "copy", "rebuild"); REBUILD=copy takes any.
readonly KERNELS_COPY='6.1 6.12'
# kernels_why_no_copy RELEASE REBUILD: sets COPY_WHY_NOT to why the kernel RELEASE ("6.12.57+deb13-amd64") is not trusted with a copy; empty if it is.
kernels_why_no_copy() {
	local family=$1
	[[ ! $1 =~ ^([0-9]+\.[0-9]+) ]] || family=${BASH_REMATCH[1]}
	COPY_WHY_NOT=''
	[[ " $KERNELS_COPY " == *" $family "* || $2 == copy ]] ||
		COPY_WHY_NOT="copying from all disks has been tested on Linux ${KERNELS_COPY// / and }, and this is $1; to have it nevertheless: REBUILD=copy"
}
