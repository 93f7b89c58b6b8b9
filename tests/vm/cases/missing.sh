# A disk leg is missing at boot, comes back, and the disks change their order.
checked_on trixie
from small
disk A 40M
disk B 40M
may_fail ramraid@data.service srv-data.mount

steps() {
	boot
	guest '
		mkdir -p /etc/ramraid/data.conf.d
		echo MEMBER_TIMEOUT=15s >/etc/ramraid/data.conf.d/test.conf'
	power_off
	VM_DISKS=(A)
	boot
	check 'without B, and the record of the last run agreeing, it starts after MEMBER_TIMEOUT and is mounted' '
		test "$(slots data)" = UU_ -o "$(slots data)" = U_U
		findmnt /srv/data; cd /srv/data; sha256sum --quiet -c /root/sums
		journalctl -b -u ramraid@data | grep "waiting for 1 of 2 disk legs: $(leg B)"
		head -c 3M /dev/urandom >new; sync; sha256sum new >>/root/sums
		systemctl is-active ramraid@data'
	check 'status says what is missing' '
		ramraid status data >/root/status || test $? = 1
		cat /root/status
		grep "^data: degraded" /root/status; grep "missing .*$(leg B)" /root/status
		# It went down in good order, so until when it was whole is known to the second.
		grep "last whole: $(date +%Y)" /root/status; fails grep "or later" /root/status'
	power_off
	VM_DISKS=(B A)
	boot
	check 'with B back, in another order: B is put back by bitmap before the RAM leg, and all is whole' '
		journalctl -b -u ramraid@data -o cat | grep -E -- "--(re-)?add" >/root/order
		cat /root/order
		test "$(sed -n 1p /root/order | grep -c -- --re-add)" = 1
		sed -n 2p /root/order | grep -- "--re-add.*$(ram data)"
		test "$(slots data)" = UUU; cd /srv/data; sha256sum --quiet -c /root/sums
		test "$(compare data)" = 0
		grep -q write_mostly \
			/sys/block/$(md data)/md/dev-$(basename $(readlink -f $(leg B)))/state'
	kill_power
	VM_DISKS=(B)
	boot
	check 'after a power cut and without A it starts, since B was in sync when it last ran' '
		findmnt /srv/data; cd /srv/data; sha256sum --quiet -c /root/sums
		head -c 1M /dev/urandom >new2; sync; sha256sum new2 >>/root/sums
		# Nobody could write down when the power was cut.
		ramraid status data >/root/status || test $? = 1; cat /root/status
		grep "last whole: $(date +%Y).* or later" /root/status'
	power_off
	VM_DISKS=(A)
	boot
	check 'A alone is now stale: refused, with the reason and the disk to bring' '
		fails findmnt /srv/data
		grep -q . /proc/mdstat; fails grep "^md" /proc/mdstat
		systemctl is-failed ramraid@data
		journalctl -b -u ramraid@data -p err |
			grep "newest disk leg present, $(leg A), is at .*would lose what was \
written since. Bring the missing disk back: $(leg B)"
		ramraid status data | grep "why: *not started"'
	check 'and with it the boot has ended in the emergency shell at once, not after a time-out' '
		systemctl is-active emergency.target
		refused=$(systemctl show -p InactiveEnterTimestampMonotonic --value ramraid@data)
		shell=$(systemctl show -p InactiveExitTimestampMonotonic --value emergency.service)
		echo "refused at $refused us, shell at $shell us"
		test $((shell - refused)) -lt 60000000'
	short || from_emergency || return
	kill_power
	VM_DISKS=(A B)
	boot
	check 'both back: whole, with everything that was written' '
		test "$(slots data)" = UUU; cd /srv/data; sha256sum --quiet -c /root/sums
		test "$(compare data)" = 0'
	! short || return 0
	guest '
		echo START_DEGRADED=never >>/etc/ramraid/data.conf.d/test.conf
		sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab'
	power_off
	VM_DISKS=(A)
	boot
	check 'START_DEGRADED=never: refused; with nofail the boot goes on' '
		fails findmnt /srv/data
		systemctl is-active multi-user.target
		journalctl -b -u ramraid@data -p err | grep "START_DEGRADED=never"'
}

# Two ways out of the emergency shell: by hand, and by the disk that was missing.
from_emergency() {
	check 'a start that is typed there does not end that shell' '
		fails ramraid start data; sleep 2; systemctl is-active emergency.service
		systemctl is-active emergency.target
		test "$(systemctl is-active sysinit.target)" = inactive'
	vm_plug B || return
	check 'nor does the missing disk, which comes and has the array started; what was waited for is mounted by "systemctl default"' '
		for i in $(seq 300); do
			[ "$(systemctl is-active ramraid@data)" = active ] && break; sleep 0.2
		done
		systemctl is-active ramraid@data; test "$(slots data)" = UUU
		systemctl is-active emergency.service; systemctl is-active emergency.target
		systemctl --no-block default
		for i in $(seq 300); do
			systemctl -q is-active multi-user.target && break; sleep 0.2
		done
		systemctl is-active multi-user.target; findmnt /srv/data; cd /srv/data
		sha256sum --quiet -c /root/sums'
}
