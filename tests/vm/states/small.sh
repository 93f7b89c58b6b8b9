# As "mirror", but small, for those who look at every byte again and again.
from installed
disk A 40M
disk B 40M
steps() {
	boot
	check 'create makes a whole mirror' '
		ramraid create --yes data $(leg A) $(leg B)
		test "$(slots data)" = UUU'
	check 'it takes a file system and a line in fstab' '
		# Blocks as large as those that a disk writes whole: then no single one may ever be torn.
		make_ext4 /dev/md/data -b 4096
		mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" >>/etc/fstab
		systemctl daemon-reload
		systemctl start srv-data.mount
		for i in 1 2 3 4; do head -c 512K /dev/urandom >/srv/data/file$i; done
		sync; cd /srv/data; sha256sum file* >/root/sums'
	power_off
}
