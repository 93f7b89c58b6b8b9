# The installed kernels, and which modules each has. What the running one has loaded is md.sh's and ram.sh's business.
# shellcheck shell=bash

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
