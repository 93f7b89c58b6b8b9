# A disk leg with a write cache in front of it (dm-writecache, by LVM): a reboot, a power cut while
# the cache is full of writes, and a boot without the SSD.
image stacks
checked_on trixie
long
from installed
memory 2G
disk HDD 300M throttling.iops-write=100
disk SSD 200M
may_fail ramraid@data.service srv-data.mount

readonly helpers='
# dirty: free blocks, fewer than all
dirty() {
	dmsetup status fast-leg >/root/status; cat /root/status
	awk "{ exit !(\$6 < \$5) }" /root/status
}
right() { cd /srv/data && sha256sum --quiet -c /root/sums; cd /; }
'

steps() {
	boot
	check 'a mirror with one disk leg; the cache holds what the disk does not have yet' \
		"$helpers"'
		vgcreate -q fast $(leg HDD) $(leg SSD)
		lvcreate -q --yes --name leg --size 280M fast $(leg HDD)
		lvcreate -q --yes --name cache --size 180M fast $(leg SSD); lvchange -an fast/cache
		# Where LVM would activate it, without the module in vain, and once only.
		echo dm-writecache >>/etc/initramfs-tools/modules
		lvconvert -q --yes --type writecache --cachevol cache fast/leg; settle
		ramraid create --yes data /dev/mapper/fast-leg; mkfs.ext4 -q /dev/md/data
		mkdir -p /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; mount /srv/data
		before=$(awk "{ print \$5 }" /sys/class/block/$(basename $(node HDD))/stat)
		SECONDS=0
		for i in $(seq 1000); do
			head -c 4k /dev/urandom
		done | dd of=/srv/data/one bs=4k oflag=sync,direct status=none iflag=fullblock
		after=$(awk "{ print \$5 }" /sys/class/block/$(basename $(node HDD))/stat)
		echo "1000 writes: $SECONDS s; the disk has served $((after - before))"; dirty
		sha256sum /srv/data/one | sed "s,/srv/data/,," >/root/sums; sync /root/sums
		ramraid status data; ramraid check data || :'
	reboot
	check 'it comes back, mounted and whole' "$helpers"'
		findmnt /srv/data; test "$(slots data)" = UU; right; test "$(compare data)" = 0
		head -c 20M /dev/urandom >/srv/data/two; sync /srv/data/two
		(cd /srv/data && sha256sum two) >>/root/sums; sync /root/sums; dirty'
	kill_power
	boot
	check 'after a power cut with writes in the cache that the disk does not have' "$helpers"'
		findmnt /srv/data; test "$(slots data)" = UU; right; test "$(compare data)" = 0
		head -c 20M /dev/urandom >/srv/data/three; sync /srv/data/three
		(cd /srv/data && sha256sum three) >>/root/sums; sync /root/sums'
	guest '
		sed -i "/srv.data/s/defaults/nofail/" /etc/fstab; mkdir -p /etc/ramraid/data.conf.d
		echo MEMBER_TIMEOUT=5s >/etc/ramraid/data.conf.d/test.conf; sync'
	power_off
	VM_DISKS=(HDD)
	boot
	check 'without the SSD there is no leg, so nothing is started from the disk alone' '
		test ! -e /dev/mapper/fast-leg; test ! -e /dev/md/data; fails findmnt /srv/data
		ramraid status data >/root/out || :; cat /root/out
		grep "missing .*/dev/mapper/fast-leg" /root/out'
	power_off
	VM_DISKS=(HDD SSD)
	boot
	check 'and with it all is there' "$helpers"'
		for i in $(seq 60); do findmnt /srv/data && break; sleep 1; done; ramraid wait data
		test "$(slots data)" = UU; right; test "$(compare data)" = 0'
}
