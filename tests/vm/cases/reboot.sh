# The main job: the mirror comes back whole, before its mount, after a clean reboot and after the
# plug was pulled.
from small
disk A 40M
disk B 40M

whole_before_mount() {
	check "$1: the array is whole and the RAM leg in sync" '
		test "$(slots data)" = UUU
		ram=$(cut -d" " -f2 /run/ramraid/data.ram)
		grep -qw in_sync /sys/block/$(md data)/md/dev-$ram/state
		ramraid status data'
	check "$1: /srv/data is mounted, and was so only after the array was whole" '
		findmnt -n /srv/data
		whole=$(journalctl -b -u ramraid@data -o json |
			jq -r "select(.MESSAGE | test(\"data: whole after\")) | .__MONOTONIC_TIMESTAMP" |
			head -1)
		mount=$(systemctl show -p ActiveEnterTimestampMonotonic --value srv-data.mount)
		fsck=$(systemctl list-units --plain --no-legend "systemd-fsck@*" | cut -d" " -f1 |
			grep -v label)
		fsck=$(systemctl show -p ExecMainStartTimestampMonotonic --value "$fsck")
		echo "whole $whole, fsck $fsck, mounted $mount"
		test "$whole" -gt 0; test "$fsck" -gt "$whole"; test "$mount" -gt "$whole"'
	check "$1: every file has its bytes" 'cd /srv/data; sha256sum --quiet -c /root/sums'
	check "$1: md finds no difference between the legs" 'test "$(compare data)" = 0'
	# Hot-plug reads superblocks from the disks when it looks, which must not happen while this
	# counts.
	check "$1: reads come from the RAM leg alone" '
		rests
		reads() {
			for d in A B; do
				read -r _ _ n _ \
					</sys/block/$(basename $(readlink -f $(leg $d)))/stat
				echo $n
			done
		}
		before=$(reads); echo 3 >/proc/sys/vm/drop_caches; cat /srv/data/file* >/dev/null
		test "$before" = "$(reads)"'
}

# A writer that fsyncs every file, and only then reports it to the host, which outlives the kill.
# File names are never used twice.
start_writer() {
	guest '
		cat >/root/writer <<"EOT"
for ((i = 0; i < 1000; i++)); do
	f=/srv/data/token$i
	head -c $((RANDOM * 2 + 1)) /dev/urandom >$f.new
	sync $f.new && mv $f.new $f && sync $f /srv/data && sha256sum $f >/dev/virtio-ports/told
done
EOT
		setsid bash /root/writer >/dev/null 2>&1 &'
}

# Prints what mdadm says of a superblock, in our words.
readonly examine='
	examine() {
		mdadm --examine "$1" | sed -n \
			-e "s/^ *Array UUID : \(........\):\(....\)\(....\):\(....\)\(....\):\(........\)/uuid=\1-\2-\3-\4-\5\6/p" \
			-e "s/^ *Device UUID : \(........\):\(....\)\(....\):\(....\)\(....\):\(........\)/device_uuid=\1-\2-\3-\4-\5\6/p" \
			-e "s/^ *Events : /events=/p" -e "s/^ *Raid Devices : /raid_disks=/p" \
			-e "s/^ *Data Offset : \([0-9]*\) .*/data_offset=\1/p" \
			-e "s/^ *Device Role : Active device /role=/p" \
			-e "s/^ *Device Role : spare/role=spare/p" \
			-e "s/^ *Array State : \([A.]*\).*/view=\1/p" \
			-e "s/^ *Flags : write-mostly.*/writemostly=yes/p" |
			sort
	}
	ours() {
		lib=/usr/lib/ramraid; . $lib/core/load.sh; need world/superblock
		superblock_facts "$1"
	}
	# md may count an event between the two looks: then once more.
	agree() {
		local i
		for i in 1 2 3 4 5; do
			examine "$1" >/tmp/theirs; ours "$1" | sort >/tmp/ours; test -s /tmp/theirs
			test -n "$(comm -23 /tmp/theirs /tmp/ours)" || return 0
		done
		cat /tmp/theirs /tmp/ours; return 1
	}
	'

steps() {
	boot
	check 'our reading of the superblocks agrees with that of mdadm, on every leg of the running array' "$examine"'
		agree $(leg A); agree $(leg B); agree $(ram data)
		ours $(leg A) | grep "^writemostly=yes"; ours $(ram data) | grep "^writemostly=no"'
	whole_before_mount 'after a clean reboot'
	check 'status is right without root' '
		runuser -u nobody -- ramraid status data | grep "^data: whole"'
	check 'the superblocks of a clean stop did not name the RAM leg: nothing had to be waited for' '
		! journalctl -b -u ramraid@data | grep -q "waiting for [0-9]* of"'
	short || {
		kill_power
		boot
		whole_before_mount 'after the plug was pulled while idle'
	}
	start_writer
	sleep 15
	kill_power
	boot
	whole_before_mount 'after the plug was pulled during writes'
	vm_told >"$VM/acknowledged"
	printf '%s files had been acknowledged\n' "$(wc -l <"$VM/acknowledged")"
	vm_send "$VM/acknowledged" /root/acknowledged
	check 'every acknowledged file is there with its bytes' '
		test -s /root/acknowledged; sha256sum --quiet -c /root/acknowledged'
}
