# The newest leg comes back a little smaller, the old one is there, and the record is lost: nothing
# is started from the old one, not even after the newest has its full size again.
long
from small
disk A 40M
disk B 40M
may_fail ramraid@data.service

steps() {
	boot
	guest 'sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab; systemctl daemon-reload'
	check 'B is pulled out, and the array goes on without it' '
		ramraid wait --timeout=2min data; gone B; rests
		echo later >/srv/data/later; sync; rests'
	power_off
	VM_DISKS=(A)
	boot
	check 'the record of that is lost' '
		cat /srv/data/later; systemctl stop srv-data.mount ramraid@data; rests
		find / -xdev -name "*.witness"
		rm -f /etc/ramraid/state/data.witness /boot/ramraid/*.witness'
	power_off
	truncate -s 38M "$VM/disks/A.img"
	VM_DISKS=(A B)
	boot
	check 'A is smaller: refused, and both are named' '
		journalctl -b -o cat -u ramraid@data; systemctl is-failed ramraid@data
		fails findmnt /srv/data; fails grep "^md" /proc/mdstat
		journalctl -b -o cat -u ramraid@data -p err |
			grep "it has been shrunk or copied to a smaller disk), and nothing shows"'
	power_off
	truncate -s 40M "$VM/disks/A.img"
	boot
	check 'in its full size: refused or started, and never from B' '
		journalctl -b -o cat -u ramraid@data; cat /proc/mdstat
		! findmnt /srv/data || cat /srv/data/later'
}
