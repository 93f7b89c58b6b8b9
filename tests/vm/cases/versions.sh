# What a release has of all that we stand on; for docs/dev/releases.md.
from installed
long
steps() {
	boot
	guest '
		echo "kernel: $(uname -r)"
		for package in mdadm systemd initramfs-tools; do
			echo "$package: $(dpkg-query -W -f "\${Version}" $package)"
		done
		echo "rapiddisk: $(dpkg-query -W -f "\${Version}" rapiddisk), $(modinfo -F filename rapiddisk >/dev/null 2>&1 && echo "its module built" || echo "its module not built")"
		echo "lockless bitmaps: $(grep -qx CONFIG_MD_LLBITMAP=y /boot/config-$(uname -r) && echo yes || echo no)"'
	check 'the package answers' 'ramraid status'
}
