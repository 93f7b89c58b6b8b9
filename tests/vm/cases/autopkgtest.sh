# Runs the test that the package brings for Debian's own test machines (debian/tests/mirror), on two
# whole disks instead of partitions in files.
checked_on trixie
long
from installed
disk A 80M
disk B 80M

steps() {
	boot
	vm_send "${RAMRAID_DEB%/*}/../debian/tests/mirror" /root/mirror
	check 'debian/tests/mirror passes' 'bash /root/mirror $(leg A) $(leg B)'
	check 'and leaves nothing behind' '
		fails grep -q ^md /proc/mdstat; fails test -d /sys/module/brd
		test -z "$(find /etc/ramraid /etc/mdadm /run/ramraid /etc/systemd/system \
			-name "*pkgtest*" ! -path "*/.locks/*")"'
}
