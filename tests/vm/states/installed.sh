# Debian with our package, installed by apt from the file itself.
from base
steps() {
	boot
	vm_send "$RAMRAID_DEB" /root/ramraid.deb
	check 'the package installs' 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /root/ramraid.deb'
	check 'installing starts and enables nothing' '
		test -z "$(systemctl list-units --all --plain --no-legend "ramraid*")"
		test -z "$(find /etc/systemd/system -name "*ramraid*")"'
	power_off
}
