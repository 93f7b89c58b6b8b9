# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# A disk leg over the network, iSCSI on the loopback, by Debian's own units of tgt and open-iscsi. A
# boot; a boot without the target, which then comes back; the target dies under a writer, and comes
# back; a shutdown; a power cut of both sides.
long
image iscsi
from installed
disk A 64M

# shellcheck source=tests/vm/far.sh
source "$here/far.sh"
readonly far=$far'
	target=iqn.2021-01.example:far
	leg_far() {
		local node
		for node in /sys/class/iscsi_session/session*/device/target*/*/block/sd*; do
			[ ! -e $node ] || echo /dev/${node##*/}
		done
	}
	# far: within a minute the disk is there, and answers.
	until_far() {
		for i in $(seq 300); do
			[ -n "$(leg_far)" ] && dd if=$(leg_far) of=/dev/null iflag=direct count=1 \
				status=none 2>/dev/null && return
			sleep 0.2
		done
		iscsiadm -m session -P 1; journalctl -b -q -o cat -u tgt -u open-iscsi -u iscsid
		return 1
	}
	'

steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	guest "$far"'
		truncate -s 66M /root/far.img
		printf "%s\n" "<target $target>" "backing-store /root/far.img" \
			"scsi_sn far00001" "</target>" >/etc/tgt/conf.d/far.conf
		# Both sides are this machine: the far one is there before the near one looks. What has
		# died stays dead until the case starts it, so that the initiator gives up.
		mkdir -p /etc/systemd/system/tgt.service.d
		printf "%s\n" "[Unit]" "Before=open-iscsi.service" \
			"ConditionPathExists=!/root/far-is-down" "[Service]" Restart=no \
			>/etc/systemd/system/tgt.service.d/far.conf
		systemctl daemon-reload; systemctl --quiet enable tgt open-iscsi
		systemctl restart tgt; systemctl start iscsid
		iscsiadm -m discovery -t sendtargets -p 127.0.0.1
		set_to() { iscsiadm -m node -T $target -o update -n "$1" -v "$2"; }
		set_to node.startup automatic
		set_to node.session.timeo.replacement_timeout 5
		set_to "node.conn[0].timeo.noop_out_interval" 2
		set_to "node.conn[0].timeo.noop_out_timeout" 2
		set_to "node.conn[0].timeo.login_timeout" 5
		set_to node.session.initial_login_retry_max 2
		iscsiadm -m node -T $target --login; until_far; settle; ls -l /dev/disk/by-id'
	check 'create takes the disk of an iSCSI target, by a stable name' "$far"'
		ramraid create --yes data $(leg A) $(leg_far)
		cat /etc/ramraid/data.conf
		name=$(grep "^MEMBER=" /etc/ramraid/data.conf | tail -n 1 | cut -d= -f2)
		test "$(readlink -f $name)" = "$(leg_far)"; test "$name" != "$(leg_far)"
		mkdir /srv/data; make_ext4 /dev/md/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 _netdev 0 2" \
			>>/etc/fstab
		echo MEMBER_TIMEOUT=20s >>/etc/ramraid/data.conf; ramraid remember
		systemctl daemon-reload; mount /srv/data; new one
		ramraid check data || test $? = 1'
	reboot
	check 'a boot: after the login, whole before the mount' "$far"'
		test "$(slots data)" = UUU; findmnt /srv/data; sums
		test "$(at open-iscsi.service ActiveEnterTimestampMonotonic)" \
			-lt "$(at ramraid@data.service InactiveExitTimestampMonotonic)"
		test "$(at ramraid@data.service ActiveEnterTimestampMonotonic)" \
			-lt "$(at srv-data.mount ActiveEnterTimestampMonotonic)"
		test -z "$(journalctl -b -q -o cat -g "ordering cycle")"'
	guest 'touch /root/far-is-down; sync /root/far-is-down'
	reboot
	check 'the target is away: after MEMBER_TIMEOUT the boot goes on with the disk that is here' "$far"'
		findmnt /srv/data; sums; until_slots U_U || until_slots UU_; new two'
	check 'it is there again: joined by hot-plug, with what was written meanwhile' "$far"'
		rm /root/far-is-down; systemctl start tgt; systemctl restart open-iscsi; until_far
		until_slots UUU; sums; test "$(compare data)" = 0
		grep write_mostly \
			/sys/block/$(md data)/md/dev-$(basename $(leg_far))/state'
	check 'the target dies under a writer: he sees no error' "$far"'
		systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl \
			/root/churn.pl write /srv/data /root/list 1
		sleep 3
		systemctl kill --signal=KILL tgt
		for i in $(seq 900); do slots data | grep -q _ && break; sleep 0.2; done
		slots data | grep _; sleep 2; systemctl is-active writer
		ramraid status data >/root/out || :; cat /root/out
		grep "^data: degraded" /root/out'
	check 'it is back, and the session as well: "attach" takes it again, and every byte is there' "$far"'
		systemctl reset-failed tgt || :; systemctl start tgt; until_far
		attach data; until_slots UUU; systemctl stop writer; sums
		sync; echo 3 >/proc/sys/vm/drop_caches
		perl /root/churn.pl check /srv/data /root/list; equal data'
	reboot
	check 'a shutdown takes the array down before the session: nothing to put back, nothing to make equal' "$far"'
		test "$(slots data)" = UUU; findmnt /srv/data; sums; equal_at_once'
	guest "$far"'
		new three
		systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl \
			/root/churn.pl write /srv/data /root/list2 2
		sleep 3'
	kill_power
	boot
	check 'the power of both sides is cut: whole again, and all that was there is there' "$far"'
		ramraid wait --timeout=3min data; until_slots UUU; findmnt /srv/data; sums
		test "$(compare data)" = 0'
}
