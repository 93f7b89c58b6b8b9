# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# adopt and release: a plain, mounted RAID1 with a writer on it becomes ours, and plain again.
# ramraid is killed at many steps and run again, with power cuts and reboots in between. Nothing is
# ever unmounted, and at the end everything is as it was.
checked_on trixie
from installed
disk A 64M
disk B 64M
# shellcheck source=tests/vm/killed.sh disable=SC2154
source "$here/killed.sh"

# killed STEP VERB ARG…: runs ramraid, and kills it just before it does what it announces as "+ STEP
# …". unharmed: the file system is mounted, was not unmounted meanwhile, and is being written to.
# writer SEED: starts one that goes on until it is stopped. written: stops it; all of it is there,
# and the legs are equal.
readonly helpers='
killed() {
	local at=$1 code=0; shift
	echo "--- killed before: $at"
	AT=$at bash /root/killed "$@" >/root/out 2>&1 </dev/null || code=$?
	cat /root/out; test $code = 137; grep -q "^+ $at" /root/out; unharmed
}
since() { systemctl show -p ActiveEnterTimestampMonotonic --value srv-data.mount; }
unharmed() {
	test "$(systemctl is-active srv-data.mount)" = active; test "$(since)" = "$(cat /run/since)"
	systemctl is-active --quiet writer; cd /srv/data; sha256sum --quiet -c /root/sums; cd /
}
writer() {
	rm -f /srv/data/c* /root/list; since >/run/since
	systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl /root/churn.pl write \
		/srv/data /root/list $1
	# Before its first file it does not know yet what to do when it is stopped.
	for i in $(seq 300); do
		[ -z "$(find /srv/data -name "c*" -print -quit)" ] || break; sleep 0.1
	done
}
written() {
	! systemctl is-active --quiet writer || systemctl stop writer
	sync; echo 3 >/proc/sys/vm/drop_caches
	perl /root/churn.pl check /srv/data /root/list
	equal data
}
legs() { cat /sys/block/$(md data)/md/dev-sd*/state; cat /sys/block/$(md data)/md/bitmap/location; }
initramfs() { # what is in it: names, the mdadm.conf, the rules of udev
	rm -rf /root/initramfs; unmkinitramfs /boot/initrd.img-$(uname -r) /root/initramfs
	cd /root/initramfs
	find . | sort; find . -name mdadm.conf -exec cat {} +
	find . -path "*rules.d/*" -type f -exec sha256sum {} + | sort; cd /
}
claim="/etc/mdadm/mdadm.conf.d/ramraid-data.conf"
'
steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'a plain RAID1, mounted, with its line in mdadm.conf, known to the initramfs' \
		"$killer$helpers"'
		modprobe raid1
		mdadm --create /dev/md/data --run --level=1 --raid-devices=2 --metadata=1.2 \
			--bitmap=none $(leg A) $(leg B)
		make_ext4 /dev/md/data -E nodiscard,lazy_itable_init=0; mkdir -p /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		uuid=$(mdadm --detail --export /dev/md/data | sed -n s/^MD_UUID=//p)
		printf "ARRAY /dev/md/data metadata=1.2\n  UUID=%s\n\n" $uuid \
			>>/etc/mdadm/mdadm.conf
		cp /etc/mdadm/mdadm.conf /root/before.conf
		systemctl daemon-reload; systemctl start srv-data.mount
		for i in 1 2 3 4; do head -c 2M /dev/urandom >/srv/data/file$i; done; sync
		cd /srv/data; sha256sum file* >/root/sums; cd /
		while grep -q resync /proc/mdstat; do sleep 0.5; done
		update-initramfs -u -k all; initramfs >/root/before.initramfs
		legs >/root/before.legs; cat /root/before.legs
		test "$(slots data)" = UU'
	reboot
	check 'what speaks against it is said, and nothing is changed' "$helpers"'
		writer 1
		echo 1000 >/sys/block/$(md data)/md/sync_speed_max
		echo check >/sys/block/$(md data)/md/sync_action
		code=0; ramraid adopt --yes data /dev/md/data >/root/out 2>&1 || code=$?
		cat /root/out; test $code = 4
		grep "md is at work on it (check" /root/out
		echo idle >/sys/block/$(md data)/md/sync_action
		echo system >/sys/block/$(md data)/md/sync_speed_max
		ramraid adopt --dry-run data /dev/md/data
		test -z "$(find /etc/ramraid -name "data*")"
		cmp /etc/mdadm/mdadm.conf /root/before.conf; test "$(slots data)" = UU; unharmed'
	check 'adopt, killed again and again, and run again' "$helpers"'
		for at in '"$(short || printf '"write /etc/ramraid/state/data.adopted" "systemctl --quiet enable"')"' "write /etc/ramraid/data.conf" '"$(short || printf '"mdadm --grow /dev/$(md data) --bitmap=internal"')"' \
			"mdadm --grow --force /dev/$(md data) --raid-devices=3" "write $claim"; do
			killed "$at" adopt --yes data /dev/md/data
		done
		test "$(slots data)" = UU_'
	kill_power
	boot
	check 'a power cut in the middle of it: the boot takes it over, mounted' "$helpers"'
		findmnt /srv/data; cd /srv/data; sha256sum --quiet -c /root/sums; cat /proc/mdstat
		ramraid status data'
	guest "$helpers writer 2"
	short ||
		check 'killed further on, once from outside while the initramfs is being made' \
			"$helpers"'
		for at in "write $claim" "write /etc/mdadm/mdadm.conf"; do
			killed "$at" adopt --yes data /dev/md/data
		done
		ramraid adopt --yes data /dev/md/data >/root/out 2>&1 </dev/null & pid=$!
		for i in $(seq 200); do
			grep -q "^+ update-initramfs" /root/out && break; sleep 0.1
		done
		sleep 1; kill -KILL $pid; pkill -f /usr/sbin/update-initramfs || :
		# What it had started goes on without it, and keeps others away by the lock that it
		# has inherited.
		flock --timeout 240 /run/ramraid/.locks/work.data true; unharmed
		killed "systemctl daemon-reload" adopt --yes data /dev/md/data'
	check 'and completed: whole, mounted all the time, the line in mdadm.conf a comment' \
		"$helpers"'
		ramraid adopt --yes data /dev/md/data; unharmed
		test "$(slots data)" = UUU; ramraid status data; systemctl is-active ramraid@data
		systemctl is-enabled ramraid@data
		systemctl show -p Requires srv-data.mount | grep ramraid@data.service
		test "$(legs | grep -c write_mostly)" = 2
		fails grep "^ARRAY" /etc/mdadm/mdadm.conf
		test "$(grep -c "ramraid release data" /etc/mdadm/mdadm.conf)" = 2
		initramfs | grep "ARRAY <ignore>"
		ramraid adopt --yes data /dev/md/data; unharmed
		grep "^done=yes" /etc/ramraid/state/data.adopted
		written; writer 3'
	reboot
	check 'after a reboot it is whole, and mounted after that' "$helpers"'
		test "$(slots data)" = UUU; findmnt /srv/data; ramraid status data; cd /srv/data
		sha256sum --quiet -c /root/sums; cd /; written'
	check 'release, killed again and again, and run again' "$helpers"'
		writer 4
		for at in '"$(short || printf '"mdadm --manage /dev/$(md data) --fail" "mdadm --manage /dev/$(md data) --remove" "%s"' "$(ram_drop)")"' \
			"mdadm --grow --force /dev/$(md data) --raid-devices=2" "echo -writemostly" '"$(short || printf '"mdadm --grow /dev/$(md data) --bitmap=none"')"' "write /etc/mdadm/mdadm.conf"; do
			killed "$at" release --yes data
		done
		test "$(slots data)" = UU; legs | diff - /root/before.legs'
	short || {
		kill_power
		boot
		check 'a power cut in the middle of it: the boot brings it up, mounted' "$helpers"'
			findmnt /srv/data; cd /srv/data; sha256sum --quiet -c /root/sums
			cat /proc/mdstat; test "$(slots data)" = UU'
		check 'killed further on, to the last step' "$helpers"'
			writer 5
			for at in "write /etc/mdadm/mdadm.conf" "rm -f -- $claim" \
				"systemctl --quiet disable" "rm -f -- /etc/ramraid/data.conf" \
				"systemctl daemon-reload" "systemctl stop ramraid@data.service" \
				"rm -f -- /run/ramraid/data.started"; do
				killed "$at" release --yes data
			done'
	}
	check 'and completed: nothing is left of us, and the array is in use as before' "$helpers"'
		ramraid release --yes data; unharmed
		test "$(slots data)" = UU; legs | diff - /root/before.legs
		cmp /etc/mdadm/mdadm.conf /root/before.conf; test -z "$(ls /etc/mdadm/mdadm.conf.d)"
		initramfs | diff /root/before.initramfs -
		test -z "$(find /etc/ramraid -name "data*")"
		test -z "$(find /etc/systemd/system /run/systemd/generator* -name "*ramraid*")"
		test -z "$(systemctl list-units --plain --no-legend --state=active \
			"ramraid@*" "ramraid-monitor@*")"
		no_ramdisk; ls -A /run/ramraid; test -z "$(ls /run/ramraid)"
		test "$(systemctl show -p Requires --value srv-data.mount | grep -c ramraid)" = 0
		written; writer 6'
	reboot
	check 'after a reboot it is a plain RAID1, started by Debian, under its name' "$helpers"'
		test "$(slots data)" = UU; findmnt /srv/data; cd /srv/data
		sha256sum --quiet -c /root/sums; cd /; written
		test -z "$(journalctl -b -q -u "ramraid*")"; no_ramdisk
		ramraid adopt --dry-run data /dev/md/data' # nothing that release left is in its way
}
