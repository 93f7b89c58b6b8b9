# What is known by a name is found without it: disks that are there under other names, records of a
# renamed configuration, and the record of the last run on a root file system that was put back to
# an older state.
checked_on trixie
long
from mirror
disk A 96M
disk B 96M
may_fail ramraid@data.service srv-data.mount

steps() {
	boot
	guest '
		sed -i "s/ext4 defaults 0 2/ext4 nofail 0 2/" /etc/fstab
		mkdir -p /etc/ramraid/data.conf.d
		echo MEMBER_TIMEOUT=3s >/etc/ramraid/data.conf.d/test.conf; systemctl daemon-reload'
	check 'names that do not exist: refused, and the message tells which disks carry the array, and which lines to write' '
		findmnt /srv/data; systemctl stop srv-data.mount; ramraid stop data
		cp /etc/ramraid/data.conf /root/conf
		sed -i "s/^MEMBER=.*_A$/MEMBER=\/dev\/disk\/by-id\/usb-OLD_1/
			s/^MEMBER=.*_B$/MEMBER=\/dev\/disk\/by-id\/usb-OLD_2/" \
			/etc/ramraid/data.conf
		fails ramraid start data; fails grep "^md" /proc/mdstat
		journalctl -b -u ramraid@data -o cat | grep "carries a leg of it" |
			sort -u >/root/out
		cat /root/out
		for d in A B; do
			grep "^data: $(node $d) carries a leg of it .*is no MEMBER" /root/out
		done
		test $(wc -l </root/out) = 2'
	check 'written as told, it starts' '
		set -- $(sed -n "s/.*data.conf: \(MEMBER=.*\)/\1/p" /root/out); test $# = 2
		sed -i "s,^MEMBER=.*OLD_1$,$1,; s,^MEMBER=.*OLD_2$,$2," /etc/ramraid/data.conf
		cat /etc/ramraid/data.conf
		ramraid start data; test "$(slots data)" = UUU; systemctl start srv-data.mount
		cd /srv/data; sha256sum --quiet -c /root/sums
		cd /; systemctl stop srv-data.mount; ramraid stop data
		cp /root/conf /etc/ramraid/data.conf; ramraid start data
		systemctl start srv-data.mount'
	check 'the second copy of the record is on /boot, for root alone, and follows' '
		systemctl show -p After --value ramraid@data | tr " " "\n" | grep -x boot.mount
		id=$(sed -n s/^uuid=//p /etc/ramraid/state/data.witness)
		cmp /etc/ramraid/state/data.witness /boot/ramraid/$id.witness
		test "$(stat -c %a /boot/ramraid/$id.witness /etc/ramraid/state/data.witness)" = \
			"$(printf "600\n600")"
		cp /etc/ramraid/state/data.witness /root/old
		gone B; head -c 1M /dev/urandom >/srv/data/new; sync
		(cd /srv/data; sha256sum new >>/root/sums)
		for i in $(seq 100); do
			[ "$(sed -n s/^legs=//p /boot/ramraid/$id.witness | wc -w)" = 1 ] && break
			sleep 0.2
		done
		for i in $(seq 100); do
			cmp -s /etc/ramraid/state/data.witness /boot/ramraid/$id.witness && break
			sleep 0.2
		done
		cat /boot/ramraid/$id.witness
		cmp /etc/ramraid/state/data.witness /boot/ramraid/$id.witness
		test "$(sed -n s/^legs=//p /boot/ramraid/$id.witness | wc -w)" = 1
		# As a root file system is after a snapshot was put back.
		cp /root/old /etc/ramraid/state/data.witness; sync'
	kill_power
	VM_DISKS=(B)
	boot
	check 'the newest disk is away: the old record vouches for nothing, the copy counts, and the stale disk is refused' '
		cmp /root/old /etc/ramraid/state/data.witness || cat /etc/ramraid/state/data.witness
		fails grep "^md" /proc/mdstat; fails findmnt /srv/data
		journalctl -b -u ramraid@data -o cat |
			grep "data.witness, is older than its second copy, \
/boot/ramraid/.*so the copy is used"
		systemctl show -p StatusText --value ramraid@data |
			grep "newest disk leg present, $(leg B), is at .* when it last ran"'
	kill_power
	VM_DISKS=(A B)
	boot
	check 'with both it is whole again, and both records agree' '
		for i in $(seq 100); do [ "$(slots data)" = UUU ] && break; sleep 0.3; done
		test "$(slots data)" = UUU; cd /srv/data; sha256sum --quiet -c /root/sums
		test "$(compare data)" = 0
		id=$(sed -n s/^uuid=//p /etc/ramraid/state/data.witness)
		cmp /etc/ramraid/state/data.witness /boot/ramraid/$id.witness'
	check 'only the RAM leg is left' '
		for d in A B; do
			mdadm /dev/md/data --fail $(node $d)
			for i in $(seq 50); do
				mdadm /dev/md/data --remove $(node $d) && break; sleep 0.1
			done
			sleep 1
		done
		gone A B
		for i in $(seq 100); do
			grep -qx "legs=" /etc/ramraid/state/data.witness && break; sleep 0.1
		done
		grep -x legs= /etc/ramraid/state/data.witness; sync'
	kill_power
	boot
	check 'and then the configuration is renamed: refused as before, and the record is taken over' '
		fails findmnt /srv/data; ramraid stop data || :
		mv /etc/ramraid/data.conf /etc/ramraid/fast.conf
		mv /etc/ramraid/data.conf.d /etc/ramraid/fast.conf.d; systemctl daemon-reload
		fails ramraid start fast; fails grep "^md" /proc/mdstat
		journalctl -b -u ramraid@fast -o cat >/root/out; cat /root/out
		grep "fast: .*under the name data are taken over" /root/out
		grep "the RAM leg was the only good copy" /root/out
		ls /etc/ramraid/state; test ! -e /etc/ramraid/state/data.witness
		grep -x legs= /etc/ramraid/state/fast.witness
		# A copy beside it is refused, too, and changes nothing.
		cp /etc/ramraid/fast.conf /etc/ramraid/data.conf; fails ramraid start data
		fails grep "^md" /proc/mdstat; rm /etc/ramraid/data.conf
		grep -x legs= /etc/ramraid/state/fast.witness
		systemctl reset-failed ramraid@fast ramraid@data'
}
