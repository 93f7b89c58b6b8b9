# A device as the RAM leg: a disk that stands for an ephemeral one, and persistent memory. It is put
# back by bitmap if it has kept its contents, started from if it was the only good copy, rebuilt if
# it is blank, and left alone if it is anybody else's.
checked_on trixie
long
from installed
warm
append 'memmap=96M!768M'
disk A 64M
disk B 64M
disk N 64M
disk C 64M
may_fail ramraid@data.service srv-data.mount

readonly tools='
	written() { set -- $(cat /sys/block/$1/stat); echo $7; }
	says() {
		journalctl -b -o cat -u ramraid@$1 | grep -F -e "$2" || {
			journalctl -b -o cat -u ramraid@$1; return 1
		}
	}
	sums() { (cd /srv/data; sha256sum --quiet -c /root/sums); }
	new() {
		head -c 1M /dev/urandom >/srv/data/$1; sync
		(cd /srv/data; sha256sum $1 >>/root/sums; sync /root/sums)
	}
	blank() { dd if=/dev/zero of=$(node $1) bs=1M oflag=direct status=none || :; settle; }
	'

steps() {
	boot
	check 'create takes a device that is full of rubbish, writes the zeros too, and reads from it' "$tools"'
		tr "\\0" "\\377" </dev/zero |
			dd of=$(node N) bs=1M iflag=fullblock oflag=direct status=none ||
			:
		settle
		test \
			"$(dd if=$(node N) bs=1M skip=40 count=1 iflag=direct status=none |
				tr -d "\\377" | wc -c)" \
			= 0
		# The second create makes the initramfs for both.
		mv /usr/sbin/update-initramfs /root/
		ramraid create --yes --ram=$(node N) data $(leg A) $(leg B)
		mv /root/update-initramfs /usr/sbin/
		test "$(slots data)" = UUU; grep -x "RAM=$(leg N)" /etc/ramraid/data.conf
		no_ramdisk
		says data "were copied from the disk legs"
		fails grep write_mostly /sys/block/$(md data)/md/dev-$(basename $(node N))/state
		# By no other name it takes the place of a disk.
		for name in /dev/disk/by-id/* /dev/disk/by-path/*; do
			[ "$(readlink -f $name)" = $(node N) ] || continue
			code=0
			ramraid replace --yes --force data $(leg A) $name >/root/out 2>&1 || code=$?
			cat /root/out; test $code = 4; grep "is what RAM= names" /root/out
		done
		test $(grep -c "is what RAM= names" /root/out) = 1; test "$(slots data)" = UUU
		test "$(compare data)" = 0'
	check 'persistent memory is taken by its own name' "$tools"'
		for i in $(seq 100); do [ -b /dev/pmem0 ] && break; sleep 0.1; done
		ls -l /dev/disk/by-path /dev/disk/by-id
		ramraid create --yes --ram=/dev/pmem0 warm $(leg C)
		# on a slow machine udev takes long to find the driver of the memory
		echo MEMBER_TIMEOUT=3min >>/etc/ramraid/warm.conf
		test "$(slots warm)" = UU; grep -x RAM=/dev/pmem0 /etc/ramraid/warm.conf
		head -c 20M /dev/urandom |
			dd of=/dev/md/warm bs=1M iflag=fullblock oflag=direct status=none
		sha256sum </dev/md/warm >/root/warm.sum
		head -c 20M /dev/md/warm | sha256sum >/root/head.sum'
	check 'a file system, and files that are known' "$tools"'
		make_ext4 /dev/md/data; mkdir /srv/data; : >/root/sums
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 nofail 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount
		for i in 1 2 3 4; do new file$i; done'

	reboot
	check 'a reboot: the device has kept its contents, and hardly anything is written to it' \
		"$tools"'
		ramraid wait --timeout=2min data; n=$(written $(basename $(node N)))
		test "$(slots data)" = UUU; echo "$n sectors"; test "$n" -lt 16384
		says data "has kept its contents"; says data "--re-add /dev/$(basename $(node N))"
		fails says data "were copied"
		findmnt /srv/data; sums; test "$(compare data)" = 0'
	check 'persistent memory outlives a warm reboot, and is put back just so' "$tools"'
		ramraid wait --timeout=2min warm; n=$(written pmem0)
		test "$(slots warm)" = UU; echo "$n sectors"; test "$n" -lt 16384
		says warm "has kept its contents"
		test "$(sha256sum </dev/md/warm)" = "$(cat /root/warm.sum)"
		test "$(compare warm)" = 0'

	check 'all disks fail, and the device is the only good copy' "$tools"'
		for d in A B; do mdadm /dev/md/data --fail $(node $d); sleep 1; done
		for i in $(seq 600); do
			grep -qx "legs=" /etc/ramraid/state/data.witness && break; sleep 0.1
		done
		grep -x "legs=" /etc/ramraid/state/data.witness
		new only1; new only2; sums
		setsid dd if=/dev/urandom of=/dev/md/warm bs=64k seek=400 count=200 \
			oflag=direct,dsync >/dev/null 2>&1 </dev/null &
		sleep 1'
	kill_power
	boot
	check 'after the crash the array is started from it, and the disks are put back to it by bitmap' "$tools"'
		ramraid wait --timeout=2min data; test "$(slots data)" = UUU
		says data "was the only good copy when the array last ran, and has kept its contents"
		fails says data "were copied"
		for d in A B; do
			n=$(written $(basename $(node $d))); echo "$n sectors to $d"
			test "$n" -lt 32768
		done
		systemctl start srv-data.mount; test -e /srv/data/only2; sums
		test "$(compare data)" = 0'
	check 'after a crash while it was whole: the disk first, then persistent memory by bitmap' \
		"$tools"'
		ramraid wait --timeout=2min warm; test "$(slots warm)" = UU
		says warm "has kept its contents"
		test "$(head -c 20M /dev/md/warm | sha256sum)" = "$(cat /root/head.sum)"
		test "$(compare warm)" = 0; sha256sum </dev/md/warm >/root/warm.sum'

	check 'anything else on it: left alone, the disks only, and said' "$tools"'
		systemctl stop srv-data.mount; ramraid stop data; settle
		wipefs --quiet --all $(node N); mkfs.ext4 -q -F $(node N); settle
		before=$(sha256sum <$(node N))
		ramraid start data || test $? = 1
		test "$(slots data)" = _UU
		says data "it holds ext4 (if nothing on it is needed: wipefs --all $(leg N))"
		ramraid status data >/root/out || test $? = 1; cat /root/out
		grep "why:.*it holds ext4" /root/out
		echo 3 >/proc/sys/vm/drop_caches; test "$(sha256sum <$(node N))" = "$before"
		systemctl start srv-data.mount; sums'
	check 'blank: rebuilt as a whole; detach gives it back blank' "$tools"'
		wipefs --quiet --all $(node N); blank N; before=$(written $(basename $(node N)))
		ramraid attach data 2>/root/out; cat /root/out
		grep "were copied from the disk legs" /root/out
		test "$(slots data)" = UUU
		test $(($(written $(basename $(node N))) - before)) -gt 100000; sums
		test "$(compare data)" = 0
		ramraid detach data; test "$(slots data)" = _UU; settle
		test -z "$(wipefs --noheadings $(node N))"
		ramraid attach data; test "$(slots data)" = UUU'
	check 'a file is written after the copy, before md takes the device back' "$tools"'
		ramraid detach data; mv /usr/sbin/mdadm /usr/sbin/mdadm.real
		printf "%s\n" "#!/bin/sh" "case \"\$*\" in *--re-add*) : >/root/reached; sleep 999;; esac" \
			"exec mdadm.real \"\$@\"" >/usr/sbin/mdadm
		chmod +x /usr/sbin/mdadm
		# Or the disks would soon have more events, and mdadm leave the device out.
		echo 0 >/sys/block/$(md data)/md/safe_mode_delay; new early
		setsid ramraid attach data >/root/attach.log 2>&1 </dev/null &
		for i in $(seq 900); do [ -e /root/reached ] && break; sleep 0.1; done
		test -e /root/reached; test "$(slots data)" = _UU; new late
		mv /usr/sbin/mdadm.real /usr/sbin/mdadm; systemctl mask ramraid@data; sync'
	kill_power
	boot
	check 'somebody assembles all legs after a power cut then: md rebuilds the device first' "$tools"'
		fails grep "^md.*$(basename $(node N))" /proc/mdstat
		mdadm --examine $(node N) | tee /root/examine
		grep "Recovery Offset : 0 sectors" /root/examine
		mdadm --assemble --run /dev/md/data $(node A) $(node B) $(node N)
		named /dev/md/data; mdadm --readwrite /dev/md/data || :; cat /proc/mdstat
		grep "^md.* $(basename $(node N))\[" /proc/mdstat
		for i in $(seq 600); do
			test "$(slots data)" = UUU &&
				test "$(cat /sys/block/$(md data)/md/sync_action)" = idle && break
			sleep 0.1
		done
		dmesg | grep "recover[a-z]* of RAID array $(md data)"
		test "$(slots data)" = UUU; test "$(compare data)" = 0
		mount /dev/md/data /srv/data; sums; umount /srv/data
		mdadm --stop /dev/md/data; settle
		systemctl unmask ramraid@data; ramraid start data; test "$(slots data)" = UUU
		systemctl start srv-data.mount; sums'
	check 'written without the disks: nothing is started, and the way out is told' "$tools"'
		systemctl stop srv-data.mount; ramraid stop data; settle
		mdadm --assemble --run /dev/md/alone $(node N); named /dev/md/alone
		dd if=/dev/urandom of=/dev/md/alone bs=1M seek=50 count=1 oflag=direct status=none
		sleep 1; settle; mdadm --stop /dev/md/alone; settle
		fails ramraid start data; fails grep "^md.*$(basename $(node A))" /proc/mdstat
		says data "may hold writes that the disk legs here lack"
		says data "ramraid start --force-leg=$(leg N) data"
		mdadm --zero-superblock $(node N); ramraid start data; test "$(slots data)" = UUU
		systemctl start srv-data.mount; sums; test "$(compare data)" = 0
		mkdir -p /etc/ramraid/data.conf.d
		echo MEMBER_TIMEOUT=5s >/etc/ramraid/data.conf.d/test.conf'

	power_off
	rm -f "$VM/memory"
	VM_DISKS=(A B C)
	boot
	check 'the device is not there at boot: the disks only, mounted, the boot is complete, and it is said' "$tools"'
		test "$(slots data)" = _UU; findmnt /srv/data; sums
		systemctl is-active ramraid@data multi-user.target
		says data "HARDDISK_N is not there"
		ramraid status data >/root/out || test $? = 1; cat /root/out
		grep "^data: disks-only" /root/out; grep "why:.*HARDDISK_N is not there" /root/out'
	check 'persistent memory after a cold boot is blank, and is rebuilt' "$tools"'
		ramraid wait --timeout=2min warm; test "$(slots warm)" = UU
		says warm "were copied from the disk leg"
		test "$(sha256sum </dev/md/warm)" = "$(cat /root/warm.sum)"
		test "$(compare warm)" = 0'
}
