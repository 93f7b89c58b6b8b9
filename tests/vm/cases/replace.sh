# Replacing a disk by hand, as ramraid(8) describes it, and the monitor that notes every change of
# the running array.
checked_on trixie
long
from mirror
disk A 96M
disk B 96M
disk C 96M
disk K 120M blocks=4096

steps() {
	boot
	check 'the witness follows a change of the running array, whoever made it' '
		witness() { sed -n "s/^legs=//p" /etc/ramraid/state/data.witness | wc -w; }
		systemctl is-active ramraid-monitor@$(md data).path
		test "$(witness)" = 2
		mdadm /dev/md/data --fail $(readlink -f $(leg B))
		for i in $(seq 100); do [ "$(witness)" = 1 ] && break; sleep 0.2; done
		test "$(witness)" = 1
		ramraid status data | grep "^data: degraded"'
	check 'the returned disk is put back by attach' '
		mdadm /dev/md/data --remove $(readlink -f $(leg B))
		attach data; test "$(slots data)" = UUU
		for i in $(seq 100); do [ "$(witness)" = 2 ] && break; sleep 0.2; done'
	check 'write-behind that somebody switched on is switched off, and said; wanted in writing, it is set' '
		backlog=/sys/block/$(md data)/md/bitmap/backlog
		echo 128 >$backlog
		ramraid attach data 2>/root/out; cat /root/out; test "$(cat $backlog)" = 0
		grep "write-behind was on" /root/out
		mkdir -p /etc/ramraid/data.conf.d
		echo WRITE_BEHIND=64 >/etc/ramraid/data.conf.d/behind.conf
		fails ramraid attach data
		echo ACCEPT_DATA_LOSS=yes >>/etc/ramraid/data.conf.d/behind.conf
		ramraid attach data; test "$(cat $backlog)" = 64
		rm /etc/ramraid/data.conf.d/behind.conf; ramraid attach data
		test "$(cat $backlog)" = 0'
	check 'a disk of larger blocks would make those of the array larger, under what is mounted: refused' '
		code=0; ramraid replace --yes data $(leg B) $(leg K) >/root/out 2>&1 || code=$?
		cat /root/out; test $code = 4
		grep "its blocks of 4096 bytes are larger than those of $(md data) (512)" /root/out
		test "$(cat /sys/block/$(md data)/queue/logical_block_size)" = 512
		test "$(slots data)" = UUU'
	check 'a new disk takes the place of the old one, write-mostly, and the mirror is whole' '
		sed -i "s,MEMBER=$(leg B),MEMBER=$(leg C)," /etc/ramraid/data.conf
		ramraid detach data
		mdadm /dev/md/data --fail $(readlink -f $(leg B)) --remove $(readlink -f $(leg B))
		mdadm /dev/md/data --add $(leg C)
		attach data
		test "$(slots data)" = UUU; ramraid status data
		grep -q write_mostly \
			/sys/block/$(md data)/md/dev-$(basename $(readlink -f $(leg C)))/state
		cd /srv/data; sha256sum --quiet -c /root/sums; test "$(compare data)" = 0'
	power_off
	VM_DISKS=(C A)
	boot
	check 'so it is after a reboot without the old disk' '
		test "$(slots data)" = UUU; cd /srv/data; sha256sum --quiet -c /root/sums
		ramraid status data'
	check 'a stop while it is being rebuilt leaves no RAM leg in the superblocks' '
		ramraid stop data
		ramraid start data & sleep 0.1
		for i in $(seq 200); do [ -e /run/ramraid/data.ram ] && break; sleep 0.05; done
		ramraid stop data; wait || :
		fails grep -q "^md" /proc/mdstat; no_ramdisk
		mdadm --examine $(leg A) | sed -n "s/.*Array State : \([A.]*\).*/\1/p" | tr -d A |
			grep -x "[.]"'
}
