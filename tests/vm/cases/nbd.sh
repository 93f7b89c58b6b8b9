# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# A disk leg over the network, NBD on the loopback, connected by the units of nbd-client. It is a
# partition, since a whole nbd0 has no name that lasts. A boot; a server that dies under a writer
# and comes back; a shutdown.
checked_on trixie
long
image stacks
from installed
disk A 64M

# shellcheck source=tests/vm/far.sh
source "$here/far.sh"
readonly far=$far'
	leg_far() { echo /dev/disk/by-partuuid/7a6f6e65-0001-4000-8000-000000000001; }
	'

steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	guest "$far"'
		# a disk would show its partition, of the same PARTUUID, on this side as well
		truncate -s 66M /root/far.img
		cat >/usr/local/sbin/far-side <<"EOT"
#!/bin/sh -eu
printf "%s\n" "[generic]" "[far]" "exportname = /root/far.img" "flush = true" >/run/far.conf
exec nbd-server -C /run/far.conf -p /run/far.pid
EOT
		chmod 755 /usr/local/sbin/far-side
		printf "%s\n" "[Unit]" "DefaultDependencies=no" "After=local-fs.target" \
			"Before=network-online.target nbd@nbd0.service" \
			"Conflicts=shutdown.target" "Before=shutdown.target" \
			"[Service]" "Type=forking" "PIDFile=/run/far.pid" \
			"ExecStart=/usr/local/sbin/far-side" "ExecStartPost=/bin/sh -c \"until \
ss -ltn | grep -q :10809; do sleep 0.1; done\"" \
			"[Install]" "WantedBy=multi-user.target" >/etc/systemd/system/far.service
		echo "nbd0 127.0.0.1 far timeout=5" >/etc/nbdtab
		# a device that udev is looking at is "in use" for nbd-client
		echo nbd >/etc/modules-load.d/nbd.conf; modprobe nbd; settle
		# enabled, only a mount of the device itself would start it
		systemctl daemon-reload; systemctl --quiet enable far.service
		systemctl start far.service
		systemctl --quiet add-wants remote-fs.target nbd@nbd0.service
		systemctl start nbd@nbd0.service
		printf "label: gpt\nstart=2048, uuid=7a6f6e65-0001-4000-8000-000000000001\n" |
			sfdisk -q /dev/nbd0
		settle; ls -l $(leg_far)'
	check 'a whole nbd device is refused, because it has no stable name; a partition of it is accepted' "$far"'
		code=0
		ramraid create --yes --force data $(leg A) /dev/nbd0 >/root/out 2>&1 || code=$?
		cat /root/out; test $code = 4; grep "/dev/nbd0: has no stable name" /root/out
		test ! -e /etc/ramraid/data.conf
		ramraid create --yes data $(leg A) $(leg_far)
		grep -x "MEMBER=$(leg_far)" /etc/ramraid/data.conf
		mkdir /srv/data; make_ext4 /dev/md/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 _netdev 0 2" \
			>>/etc/fstab
		echo MEMBER_TIMEOUT=20s >>/etc/ramraid/data.conf; ramraid remember
		systemctl daemon-reload; mount /srv/data; new one'
	reboot
	check 'a boot: after the connection, whole before the mount' "$far"'
		# the shutdown before it was that of a boot which did not know of the order yet
		test "$(slots data)" = UUU; findmnt /srv/data; sums
		test "$(at nbd@nbd0.service ActiveEnterTimestampMonotonic)" \
			-lt "$(at ramraid@data.service InactiveExitTimestampMonotonic)"
		test "$(at ramraid@data.service ActiveEnterTimestampMonotonic)" \
			-lt "$(at srv-data.mount ActiveEnterTimestampMonotonic)"
		test -z "$(journalctl -b -q -o cat -g "ordering cycle")"'
	check 'the server dies under a writer: he sees no error' "$far"'
		systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl \
			/root/churn.pl write /srv/data /root/list 1
		sleep 3
		systemctl kill --signal=KILL far.service
		for i in $(seq 300); do slots data | grep -q _ && break; sleep 0.2; done
		slots data | grep _; systemctl is-active writer
		ramraid status data >/root/out || :; cat /root/out
		grep "^data: degraded" /root/out'
	check 'it is back: "attach" takes it again, and every byte is there' "$far"'
		systemctl reset-failed far.service; systemctl restart far.service
		# releases the dead disk: while md holds it, it is not connected again. If it did
		# not, the next line fails
		ramraid attach data || :
		systemctl restart nbd@nbd0.service; settle; attach data; until_slots UUU
		systemctl stop writer; sums; sync; echo 3 >/proc/sys/vm/drop_caches
		perl /root/churn.pl check /srv/data /root/list; equal data'
	reboot
	check 'a shutdown takes the array down before the connection: nothing to put back, nothing to make equal' "$far"'
		test "$(slots data)" = UUU; findmnt /srv/data; sums; equal_at_once'
}
