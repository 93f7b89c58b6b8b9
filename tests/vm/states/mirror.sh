# A mirror of two disks with ext4, in fstab by UUID and without nofail, holding files whose checksums are known; switched off cleanly.
from installed
disk A 96M
disk B 96M
steps() {
	boot
	check 'create makes a whole mirror' '
		ramraid create --yes data $(leg A) $(leg B)
		test "$(slots data)" = UUU'
	check 'it takes a file system and a line in fstab' '
		make_ext4 /dev/md/data
		mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" >>/etc/fstab
		systemctl daemon-reload
		systemctl start srv-data.mount
		for i in 1 2 3 4 5 6 7 8; do head -c 2M /dev/urandom >/srv/data/file$i; done
		sync; cd /srv/data; sha256sum file* >/root/sums'
	power_off
}
