# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands
# The rescue image, beyond what "onlycopy" shows. It is restored onto the disk that left first,
# while the other one is away, which then returns; an old /etc brings its record back; the root file
# system is read-only when the disks leave. RESCUE is on a file system of its own.
long
from small
disk A 40M
disk B 40M
disk C 96M
may_fail ramraid@data.service srv-data.mount ramraid-monitor@md127.service \
	ramraid-monitor@md126.service systemd-journald.service systemd-random-seed.service

readonly tools='
	lose() {
		mdadm /dev/md/data --fail $(node $1)
		for i in $(seq 50); do mdadm /dev/md/data --remove $(node $1) && break; sleep 0.1; done
		gone $1
	}
	bursts() { for i in $(seq $1); do head -c 4k /dev/urandom >/srv/data/burst; sync; sleep 0.4; done; }
	says() { systemctl show -p StatusText --value ramraid@data; journalctl -b -o cat -u ramraid@data; }
	until_whole() {
		for i in $(seq 300); do [ "$(slots data)" = UUU ] && return; sleep 0.2; done
		cat /proc/mdstat; ramraid status data; return 1
	}
	'

steps() {
	boot
	guest 'sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab
		make_ext4 $(node C); mkdir /rescue
		echo "UUID=$(blkid -o value -s UUID $(node C)) /rescue ext4 nofail 0 2" >>/etc/fstab
		mkdir -p /etc/ramraid/data.conf.d
		printf "%s\n" MEMBER_TIMEOUT=3s RESCUE=/rescue >/etc/ramraid/data.conf.d/test.conf
		systemctl daemon-reload'
	reboot
	guest "$tools"'
		findmnt /rescue; lose A; bursts 10; lose B; bursts 40
		echo only >/srv/data/onlyram; sync'
	power_off

	VM_DISKS=(A C)
	boot
	check 'the other disk is away: restored onto the one that left first' "$tools"'
		says | grep "ramraid restore data"; cp -a /etc/ramraid /root/old-etc
		ls /rescue/data/rescue-*/record
		ramraid restore --yes data || test $? = 1
		systemctl start srv-data.mount; grep only /srv/data/onlyram
		echo after >/srv/data/after; sync; ls /rescue/data/rescue-*/record.restored'
	power_off
	VM_DISKS=(A B C)
	boot
	check 'both are there: started from the one that was restored; the other is rebuilt by what is said' \
		"$tools"'
		says; ramraid attach data >/root/said 2>&1 || :; cat /root/said; ramraid status data || :
		code=0; ramraid apply data >/root/said 2>&1 || code=$?; cat /root/said
		todo=$(sed -n "s/.*needed any more: \(mdadm --zero-superblock [^,;]*\).*/\1/p" /root/said)
		echo "$todo"; $todo; ramraid apply --yes data; until_whole
		systemctl start srv-data.mount; grep after /srv/data/after; grep only /srv/data/onlyram
		bursts 20; echo months >/srv/data/months; sync
		test "$(compare data)" = 0
		rm -r /etc/ramraid; cp -a /root/old-etc /etc/ramraid; sync'
	reboot
	check 'an old /etc brings the record back: not restored again, and what the message says goes on' \
		"$tools"'
		says | grep "ramraid restore data"
		code=0; ramraid restore --yes data >/root/said 2>&1 || code=$?; cat /root/said; test $code = 4
		grep "has been put back already" /root/said
		todo=$(sed -n "s/.*To keep what the disks have: \(rm [^;]*\);.*/\1/p" /root/said); echo "$todo"
		$todo; systemctl reset-failed ramraid@data; ramraid start data; until_whole
		systemctl start srv-data.mount; grep months /srv/data/months; rm -r /rescue/data'
	reboot

	check 'the root file system becomes read-only, and the disks leave: the shutdown saves an image' \
		"$tools"'
		until_whole; findmnt /srv/data; sync; echo u >/proc/sysrq-trigger; sleep 3
		mount -o remount,rw /rescue; mount -o remount,rw /srv/data; mount -o remount,rw /boot
		lose A; sleep 2; lose B; sleep 2; echo latest >/srv/data/latest; sync
		fails touch /root/file; grep "^legs=" /boot/ramraid/*.witness || :'
	vm_down poweroff
	VM_DISKS=(A B C)
	boot
	check 'the next start trusts none of the disks; with the record that was beside the image, all is there' \
		"$tools"'
		fails findmnt /srv/data; says; fails ls /etc/ramraid/state/data.rescue
		image=$(ls -d /rescue/data/rescue-*/); ls -l $image
		cp $image/record /etc/ramraid/state/data.rescue
		ramraid restore --yes data; until_whole
		systemctl start srv-data.mount; grep latest /srv/data/latest; grep months /srv/data/months
		rm -r /rescue/data; test "$(compare data)" = 0'
	reboot
	check 'and the next boot is normal' "$tools"'
		until_whole; findmnt /srv/data; grep latest /srv/data/latest; says | grep "2 of 2 disk legs are safe"'
}
