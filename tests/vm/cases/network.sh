# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# A disk leg over the network, NVMe over TCP on the loopback. The array waits for the network and is
# mounted as a remote file system; it boots without the other side, which joins when it is there;
# and the connection is cut under a writer.
checked_on trixie
long
from installed
disk A 64M
disk R 64M

# shellcheck source=tests/vm/far.sh
source "$here/far.sh"
# The other side exports disk R; this side connects to it, in the order that the units of nvme-cli
# keep. link, unlink: plug the cable in, and pull it out.
readonly far=$far'
	far=/sys/kernel/config/nvmet
	leg_far() { ls /dev/disk/by-id/nvme-Linux_far* 2>/dev/null | grep -v part | head -n 1; }
	link() { ln -s $far/subsystems/far $far/ports/1/subsystems/far; }
	unlink() { rm $far/ports/1/subsystems/far; }
	'

steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	guest 'cat >/usr/local/sbin/far-side <<"EOT"
#!/bin/sh -eu
if [ "$1" = export ]; then
	modprobe nvmet-tcp
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	cd /sys/kernel/config/nvmet
	mkdir subsystems/far subsystems/far/namespaces/1 ports/1
	echo 1 >subsystems/far/attr_allow_any_host
	echo far >subsystems/far/attr_serial
	readlink -f /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_R \
		>subsystems/far/namespaces/1/device_path
	echo 1 >subsystems/far/namespaces/1/enable
	echo tcp >ports/1/addr_trtype; echo ipv4 >ports/1/addr_adrfam
	echo 127.0.0.1 >ports/1/addr_traddr; echo 4420 >ports/1/addr_trsvcid
	ln -s $PWD/subsystems/far ports/1/subsystems/far
else
	modprobe nvme-tcp
	echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=far,ctrl_loss_tmo=4,\
reconnect_delay=1,fast_io_fail_tmo=2,keep_alive_tmo=4" >/dev/nvme-fabrics
fi
EOT
		chmod 755 /usr/local/sbin/far-side
		printf "%s\n" "[Unit]" "DefaultDependencies=no" "After=local-fs.target" \
			"Before=network-online.target" "Conflicts=shutdown.target" \
			"Before=shutdown.target" "ConditionPathExists=!/root/far-is-down" \
			"[Service]" "Type=oneshot" "RemainAfterExit=yes" \
			"ExecStart=/usr/local/sbin/far-side export" "[Install]" \
			"WantedBy=multi-user.target" >/etc/systemd/system/far-export.service
		printf "%s\n" "[Unit]" "DefaultDependencies=no" \
			"Wants=network-online.target remote-fs-pre.target" \
			"After=network-online.target" \
			"Before=remote-fs-pre.target shutdown.target" "Conflicts=shutdown.target" \
			"ConditionPathExists=!/root/far-is-down" "[Service]" "Type=oneshot" \
			"RemainAfterExit=yes" "ExecStart=/usr/local/sbin/far-side connect" \
			"[Install]" "WantedBy=remote-fs.target" \
			>/etc/systemd/system/far-connect.service
		systemctl --quiet enable far-export.service far-connect.service
		systemctl start far-export.service; systemctl start far-connect.service
		for i in $(seq 50); do
			[ -e /dev/disk/by-id/nvme-Linux_far ] && break; sleep 0.2
		done
		settle; ls -l /dev/disk/by-id'
	check 'create takes a disk that comes over the network, by its stable name' "$far"'
		cat /sys/class/nvme/nvme*/transport | grep -x tcp
		ramraid create --yes data $(leg A) $(leg_far)
		grep -x "MEMBER=$(leg_far)" /etc/ramraid/data.conf
		mkdir /srv/data; make_ext4 /dev/md/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		echo MEMBER_TIMEOUT=5s >>/etc/ramraid/data.conf; ramraid remember
		systemctl daemon-reload; mount /srv/data; new one'
	check 'check: what is on it has to be _netdev; with that the array comes after the network' '
		code=0; ramraid check data >/root/out || code=$?; cat /root/out; test $code = 1
		grep "problem not-netdev" /root/out
		sed -i "/srv.data/s/defaults/_netdev/" /etc/fstab; systemctl daemon-reload
		fails grep not-netdev <<EOT
$(ramraid check data || :)
EOT
		systemctl show -p After ramraid@data.service | grep network-online.target'
	reboot
	check 'a boot: after the network and the connection, whole before the mount, which belongs to the remote file systems' "$far"'
		test "$(slots data)" = UUU; findmnt /srv/data; sums
		test "$(at far-connect.service ActiveEnterTimestampMonotonic)" \
			-lt "$(at ramraid@data.service InactiveExitTimestampMonotonic)"
		test "$(at ramraid@data.service ActiveEnterTimestampMonotonic)" \
			-lt "$(at srv-data.mount ActiveEnterTimestampMonotonic)"
		systemctl show -p Before srv-data.mount | grep remote-fs.target
		case "$(at srv-data.mount Before)" in *local-fs.target*) exit 1 ;; esac
		test -z "$(journalctl -b -q -o cat -g "ordering cycle")"'
	guest 'touch /root/far-is-down; sync /root/far-is-down'
	reboot
	check 'the other side is down: after MEMBER_TIMEOUT it goes on with the disk that is here, as the record allows' "$far"'
		findmnt /srv/data; sums; until_slots U_U || until_slots UU_
		begun=$(at ramraid@data.service InactiveExitTimestampMonotonic)
		up=$(at ramraid@data.service ActiveEnterTimestampMonotonic)
		took=$(((up - begun) / 1000000))
		echo "$took s"; test $took -ge 5; test $took -lt 60; new two'
	check 'it is there again: joined by hot-plug, with what was written meanwhile' "$far"'
		rm /root/far-is-down; systemctl start far-export.service
		systemctl start far-connect.service; until_slots UUU; sums
		test "$(compare data)" = 0
		grep write_mostly \
			/sys/block/$(md data)/md/dev-$(basename $(readlink -f $(leg_far)))/state'
	check 'the connection is cut under a writer: he waits for it to be given up, and sees no error' "$far"'
		systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl \
			/root/churn.pl write /srv/data /root/list 1
		sleep 3
		unlink; for i in $(seq 200); do slots data | grep -q _ && break; sleep 0.2; done
		slots data | grep _; sleep 3; systemctl is-active writer
		ramraid status data >/root/out || :; cat /root/out
		grep "^data: degraded" /root/out'
	check 'it is back: joined, and every byte is there' "$far"'
		link; systemctl restart far-connect.service; until_slots UUU; systemctl stop writer
		sums; sync; echo 3 >/proc/sys/vm/drop_caches
		perl /root/churn.pl check /srv/data /root/list; equal data'
	reboot
	check 'a shutdown takes the array down before the connection: nothing to put back, nothing to make equal' "$far"'
		test "$(slots data)" = UUU; findmnt /srv/data; sums
		equal_at_once'
}
