# Prints what a Debian release has of all that ramraid needs; for docs/dev/releases.md.
from installed
long
steps() {
	boot
	guest '
		echo "kernel: $(uname -r)"
		for package in mdadm systemd initramfs-tools; do
			echo "$package: $(dpkg-query -W -f "\${Version}" $package)"
		done
		modinfo -F filename rapiddisk >/dev/null 2>&1 && built=built || built="not built"
		echo "rapiddisk: $(dpkg-query -W -f "\${Version}" rapiddisk), its module $built"
		grep -qx CONFIG_MD_LLBITMAP=y /boot/config-$(uname -r) && has=yes || has=no
		echo "lockless bitmaps: $has"'
	check 'the package answers' 'ramraid status'
}
