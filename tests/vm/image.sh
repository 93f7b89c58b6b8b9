#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2046,SC2012 # the guest expands what is quoted; names are plain
# Makes the base image of a Debian release (release.sh) for the test bench, once:
# tests/vm/image.sh RELEASE [KIND] prints the folder that holds
#   root.img  ext4, label "root", the whole system, with the real rapiddisk module built by dkms
#             where it can be had
#   boot.img  ext4, label "boot", mounted on /boot: the bench boots the kernel and initrd found
#             there, so a new initrd takes effect
# The folder is in the cache, outside the repository, and its name is a digest of everything that
# goes into it.
set -Eeuo pipefail
shopt -s inherit_errexit

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
readonly here
# shellcheck source=tests/vm/release.sh
source "$here/release.sh"
readonly cache=${RAMRAID_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ramraid-vm}

# cryptsetup and fio are what the cases use; the headers are what dkms builds rapiddisk with.
packages=systemd-sysv,udev,kmod,mdadm,e2fsprogs,xfsprogs,procps,iproute2,fio,jq,zstd
packages+=,cryptsetup-bin,bsdextrautils,less,strace
readonly packages

# image_key RELEASE KIND: a digest of all that the image depends on. Of image_extra, that is what it
# prints, so that a new kind of image does not make all others again.
image_key() {
	{
		sed '/^image_extra()/,/^}/d' "$here/image.sh"
		image_extra "$1" "$2"
		cat "$here/release.sh" "$here"/guest/*
		printf '%s\n' "$1 $2"
	} | sha256sum | cut -c1-16
}

# image_extra RELEASE KIND: packages that only this release has, or that only this kind of image
# wants.
image_extra() {
	case $1 in
	*-backports) printf ',linux-image-amd64/%s' "$1" ;;
	*) printf ',linux-image-amd64' ;;
	esac
	[[ $1 == bookworm* ]] || printf ',systemd-cryptsetup'
	# brd and zram are what is left without rapiddisk. dkms brings the whole of perl.
	if release_has_rapiddisk "$1"; then
		printf ',linux-headers-amd64,rapiddisk,rapiddisk-dkms'
	else
		printf ',perl'
	fi
	[[ $2 == dracut ]] || printf ',initramfs-tools'
	case $2 in
	'') ;;
	dracut) printf ',dracut,lvm2' ;;
	grub) printf ',grub2-common,grub-pc-bin,grub-efi-amd64-bin,fdisk,dosfstools' ;;
	apps) printf ',postgresql,git,nginx,curl,vmtouch,bcache-tools,dmsetup,gcc,libc6-dev' ;;
	iscsi) printf ',open-iscsi,tgt' ;;
	drbd) printf ',drbd-utils' ;;
	clients) printf ',postgresql,git,dovecot-core,libdbd-pg-perl,libdbd-sqlite3-perl' ;;
	stacks) printf ',lvm2,btrfs-progs,nbd-client,nbd-server,fdisk,bcache-tools,rsync' ;;
	stress) printf ',stress-ng,btrfs-progs' ;;
	*) return 1 ;;
	esac
}

image_tree() { # RELEASE KIND FOLDER
	local release=$1 tree=$3 options=() extra
	extra=$(image_extra "$release" "$2")
	image_initramfs "$2"
	! release_is_unreleased "$release" ||
		options=(--aptopt='Acquire::Check-Valid-Until "false"')
	[[ $release != *-backports ]] ||
		options=(--setup-hook="echo deb http://deb.debian.org/debian $release main \
>\"\$1/etc/apt/sources.list.d/backports.list\"")
	mmdebstrap --variant=minbase --components=main --include="$packages$extra" "${options[@]}" \
		--aptopt='Apt::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		"${INITRAMFS[@]}" \
		--customize-hook="$here/image.sh customise \"\$1\"" \
		"${release%-backports}" "$tree"
}

# Sets INITRAMFS to the hooks that configure what makes the initramfs, before it is installed: few
# modules, and not packed tightly.
image_initramfs() { # KIND
	local omitted modules='virtio_pci virtio_blk virtio_scsi sd_mod ext4 raid1'
	INITRAMFS=(--essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"'
		--essential-hook='printf "%s\n" MODULES=list COMPRESS=zstd COMPRESSLEVEL=1 \
			>"$1/etc/initramfs-tools/conf.d/bench"'
		--essential-hook="printf '%s\n' $modules >\"\$1/etc/initramfs-tools/modules\"")
	omitted='i18n plymouth crypt systemd-cryptsetup dm lvm multipath nvdimm btrfs pcmcia'
	omitted+=' memstrack bash fips watchdog rngd drm bluetooth dbus'
	# For any host, as Debian has it: one for this host alone has no mdadm, as long as the root
	# file system does not need it. Left out is what these machines never need; what has to do
	# with md, swap and resuming is there as it would be.
	[[ $1 != dracut ]] || INITRAMFS=(--essential-hook='mkdir -p "$1/etc/dracut.conf.d"'
		--essential-hook="printf '%s\n' hostonly=no 'drivers=\" $modules \"' \
			'compress=\"zstd -1\"' early_microcode=no do_strip=no \
			'omit_dracutmodules+=\" $omitted \"' >\"\$1/etc/dracut.conf.d/bench.conf\"")
}

# Runs as mmdebstrap's last hook, on the new system's root.
image_customise() { # FOLDER
	local root=$1 units=$1/etc/systemd/system
	install -m 755 "$here/guest/agent" "$root/usr/local/sbin/bench-agent"
	install -m 644 "$here/guest/bench-agent.service" "$root/etc/systemd/system/"
	printf '%s\n' 'LABEL=root / ext4 errors=remount-ro 0 1' \
		'LABEL=boot /boot ext4 defaults 0 0' >"$root/etc/fstab"
	printf 'vm\n' >"$root/etc/hostname"
	# The journal must outlive a killed machine, since it is the evidence.
	mkdir -p "$root"/var/log/journal "$units/serial-getty@ttyS0.service.d" \
		"$root/etc/systemd/journald.conf.d"
	printf '%s\n' '[Journal]' Storage=persistent SyncIntervalSec=1s RateLimitBurst=0 \
		>"$root/etc/systemd/journald.conf.d/bench.conf"
	printf '%s\n' '[Service]' ExecStart= \
		'ExecStart=-/sbin/agetty --autologin root --keep-baud 115200 - $TERM' \
		>"$units/serial-getty@ttyS0.service.d/autologin.conf"
	chroot "$root" systemctl enable bench-agent.service
	chroot "$root" systemctl mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer \
		e2scrub_reap.service fstrim.timer man-db.timer
	# What a storage test never looks at, and what takes seconds of emulated time at every boot.
	chroot "$root" systemctl mask modprobe@{drm,efi_pstore,configfs,fuse}.service \
		getty@tty1.service getty-static.service systemd-binfmt.service \
		proc-sys-fs-binfmt_misc.automount dev-hugepages.mount dev-mqueue.mount \
		sys-kernel-debug.mount sys-kernel-tracing.mount \
		systemd-{user-sessions,logind,random-seed}.service rapiddiskd.service
	# Each of these runs at every boot and every daemon-reload, and has nothing to find on these
	# machines.
	local generator
	mkdir -p "$root/etc/systemd/system-generators"
	for generator in bless-boot factory-reset gpt-auto hibernate-resume integritysetup \
		rc-local run ssh system-update tpm2 veritysetup; do
		ln -s /dev/null "$root/etc/systemd/system-generators/systemd-$generator-generator"
	done
	# It fails as long as it has nothing to export.
	[[ ! -e $root/etc/nbd-server ]] || chroot "$root" systemctl disable nbd-server.service
	[[ ! -e $root/usr/share/initramfs-tools/hook-functions ]] || image_faster_initramfs "$root"
	printf "blacklist %s\n" kvm_amd kvm_intel powernow_k8 i2c_i801 lpc_ich psmouse pcspkr \
		>"$root/etc/modprobe.d/bench.conf"
	chroot "$root" passwd -d root
	! compgen -G "$root/usr/src/linux-headers-*" >/dev/null ||
		ls "$root"/lib/modules/*/updates/dkms/rapiddisk.ko* >/dev/null
}

# Every claim and every installation makes an initramfs, which is hundreds of processes.
image_faster_initramfs() { # FOLDER
	local functions=$1/usr/share/initramfs-tools/hook-functions
	# A library that is in the initramfs already is looked at once, not for every program that
	# needs it. None of them has a variant for some processor.
	sed -i '/^copy_exec()/,/^}/{
		/^\t*nonoptlib=\$(echo "\${nonoptlib}"/d
		s|^\t\tnonoptlib=\$(echo "\${x}" .*|\t\t[ ! -e "${DESTDIR}/${x}" ] \|\| continue\n\t\tnonoptlib=$x|
	}' "$functions"
	cat "$here/guest/hook-functions" >>"$functions"
	install -m 755 "$here/guest/ldd" "$1/usr/bin/ldd"
	mv "$1/usr/bin/linux-version" "$1/usr/bin/linux-version.pl"
	install -m 755 "$here/guest/linux-version" "$1/usr/bin/linux-version"
}

image_build() { # RELEASE KIND FOLDER
	local release=$1 kind=$2 out=$3
	work=$(mktemp -d "$cache/build.XXXXXX") # global: the EXIT trap outlives this function
	trap 'rm -rf "$work"' EXIT
	image_tree "$release" "$kind" "$work/root" >&2
	mv "$work/root/boot" "$work/boot"
	mkdir "$work/root/boot"
	mke2fs -q -t ext4 -L root -d "$work/root" "$work/root.img" 5G >&2
	mke2fs -q -t ext4 -L boot -d "$work/boot" "$work/boot.img" 384M >&2
	mkdir "$work/out"
	mv "$work/root.img" "$work/boot.img" "$work/out/"
	mv "$work/out" "$out"
}

main() {
	[[ ${1-} != customise ]] || {
		image_customise "$2"
		return
	}
	local release=${1:?release} kind=${2-} out
	mkdir -p "$cache"
	out=$cache/base-$release${kind:+-$kind}-$(image_key "$release" "$kind")
	exec 9>"$cache/base-$release$kind.lock"
	flock 9
	[[ -d $out ]] || image_build "$release" "$kind" "$out"
	printf '%s\n' "$out"
}

main "$@"
