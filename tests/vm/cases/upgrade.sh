# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# An upgrade from the last release, with an array that runs, one that md is rebuilding, one whose
# start is refused, and one whose only good copy is in a rescue image. The new release loses nothing
# of what the last one has written down.
long
from base
disk A 40M
disk B 40M
memory 1536M
may_fail ramraid@data.service srv-data.mount

# last_release: prints the path of its package, built from the commit before the one that began the
# changes that CHANGELOG.md has above the last release.
last_release() {
	local commit root headings began=''
	root=$(git -C "$here" rev-parse --show-toplevel) || return
	for commit in $(git -C "$root" log --format=%H -- CHANGELOG.md); do
		headings=$(git -C "$root" show "$commit:CHANGELOG.md" | sed -n '/^## /p') || return
		[[ $headings != '## ['[0-9]* ]] || break
		began=$commit
	done
	[[ -n $began ]] || { echo 'CHANGELOG.md has nothing above the last release' && return 1; }
	mkdir "$VM/last"
	git -C "$root" archive "$began^" | tar -xf - -C "$VM/last"
	make -C "$VM/last" deb >"$VM/last.log" 2>&1 || { cat "$VM/last.log" && return 1; }
	ls "$VM"/last/build/ramraid_*_all.deb
}

# fresh: removes what is there, and installs the last release with a mirror, mounted. newer:
# upgrades.
readonly tools='
	conf() {
		mkdir -p /etc/ramraid/data.conf.d
		printf "%s\n" "$@" >/etc/ramraid/data.conf.d/test.conf
	}
	new() {
		head -c 1M /dev/urandom >/srv/data/$1; sync
		(cd /srv/data; sha256sum $1 >>/root/sums)
	}
	sums() { mountpoint -q /srv/data; (cd /srv/data; sha256sum --quiet -c /root/sums); }
	lose() {
		for d in A B; do
			mdadm /dev/md/data --fail $(node $d)
			for i in $(seq 50); do
				mdadm /dev/md/data --remove $(node $d) && break; sleep 0.1
			done
			sleep 1
		done
		gone A B
	}
	fresh() {
		export DEBIAN_FRONTEND=noninteractive
		! mountpoint -q /srv/data || umount /srv/data
		[ ! -e /dev/md/data ] || ramraid stop data
		! dpkg -s ramraid >/dev/null 2>&1 || apt-get purge -y ramraid
		for d in $(leg A) $(leg B); do mdadm --zero-superblock $d || :; wipefs -aq $d; done
		apt-get install -y --no-install-recommends --allow-downgrades /root/last.deb
		ramraid create --yes data $(leg A) $(leg B); test "$(slots data)" = UUU
		make_ext4 /dev/md/data -b 4096; mkdir -p /srv/data; sed -i /srv.data/d /etc/fstab
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 nofail 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount
		rm -f /root/sums; for i in 1 2 3; do new file$i; done
	}
	newer() { DEBIAN_FRONTEND=noninteractive apt-get install -y --reinstall /root/ramraid.deb; }
	'

steps() {
	local last
	last=$(last_release) || {
		printf '%s\nnot ok - the package of the last release is built\n' "$last" && return 1
	}
	boot
	vm_send "$last" /root/last.deb
	vm_send "$RAMRAID_DEB" /root/ramraid.deb
	check 'a mirror of the last release' "$tools"'fresh; find /etc/ramraid /run/ramraid -type f'
	check 'one that runs: an upgrade restarts nothing, and all goes on' "$tools"'
		id=$(systemctl show -p InvocationID --value ramraid@data); test -n "$id"; newer
		test "$(systemctl show -p InvocationID --value ramraid@data)" = "$id"
		test "$(slots data)" = UUU; sums; ramraid status data; ramraid check data || :
		mdadm /dev/md/data --fail $(node B)
		for i in $(seq 50); do
			mdadm /dev/md/data --remove $(node B) && break; sleep 0.1
		done
		new away
		for i in $(seq 100); do
			ramraid status data >/root/out || :
			grep -q "^data: degraded" /root/out && break; sleep 0.2
		done
		cat /root/out
		ramraid attach data; test "$(slots data)" = UUU; test "$(compare data)" = 0
		cat /etc/ramraid/state/data.witness'
	kill_power
	boot
	check 'after a power cut the new one starts it' "$tools"'
		ramraid wait --timeout=1min data; test "$(slots data)" = UUU; sums
		test "$(compare data)" = 0'
	check 'one that runs, and the power fails right after the upgrade' \
		"$tools"'fresh; newer; new last'
	kill_power
	boot
	check 'is started by what the last release has written down' "$tools"'
		ramraid wait --timeout=1min data; test "$(slots data)" = UUU; sums
		test "$(compare data)" = 0; ramraid status data'
	check 'one that md is rebuilding: the rebuild completes' "$tools"'
		fresh; conf REBUILD=kernel; ramraid detach data; new without
		echo 200 >/sys/block/$(md data)/md/sync_speed_max
		systemd-run --quiet --unit=attaching ramraid attach data
		for i in $(seq 100); do grep -q recovery /proc/mdstat && break; sleep 0.2; done
		echo 200 >/sys/block/$(md data)/md/sync_speed_min
		echo 400 >/sys/block/$(md data)/md/sync_speed_max; grep recovery /proc/mdstat
		newer; grep recovery /proc/mdstat; ramraid status data || :
		echo system >/sys/block/$(md data)/md/sync_speed_max
		echo system >/sys/block/$(md data)/md/sync_speed_min
		for i in $(seq 300); do [ "$(slots data)" = UUU ] && break; sleep 0.2; done
		ramraid wait --timeout=1min data || ramraid attach data
		test "$(slots data)" = UUU; ramraid status data; sums; test "$(compare data)" = 0'
	check 'one that is refused: so it is by the new one, and the person can go on' "$tools"'
		fresh; systemctl stop srv-data.mount; ramraid stop data
		for d in A B; do
			mdadm --assemble --run /dev/md9 $(leg $d); mount /dev/md9 /mnt
			head -c 1M /dev/urandom >/mnt/only$d; umount /mnt; mdadm --stop /dev/md9
		done
		fails ramraid start data; newer; fails ramraid start data
		fails grep "^md" /proc/mdstat; ramraid status data >/root/out || test $? = 3
		cat /root/out
		grep "used without each other" /root/out
		ramraid start --yes --force-leg=$(leg A) data || test $? = 1
		systemctl start srv-data.mount; sums; test -e /srv/data/onlyA
		mdadm --zero-superblock $(node B); ramraid apply --yes data
		test "$(slots data)" = UUU; sums; test "$(compare data)" = 0'
	check 'one that only the RAM leg has' "$tools"'
		fresh; conf MEMBER_TIMEOUT=3s; lose; new only; ramraid status data || :'
	power_off
	boot
	check 'the last release has saved it, and refuses the disks; the new one brings it back' \
		"$tools"'
		cat /etc/ramraid/state/data.rescue; fails grep "^md" /proc/mdstat; newer
		fails ramraid start data; fails grep "^md" /proc/mdstat
		ramraid status data >/root/out || test $? = 3; cat /root/out
		grep "ramraid restore data" /root/out
		ramraid restore --yes data; test "$(slots data)" = UUU
		systemctl start srv-data.mount; sums; test "$(compare data)" = 0
		test ! -e /etc/ramraid/state/data.rescue'
	check 'one that only the RAM leg has, upgraded while it runs' "$tools"'
		fresh; conf MEMBER_TIMEOUT=3s; lose; new only; newer; ramraid status data || :'
	power_off
	boot
	check 'is saved by the new one, and comes back' "$tools"'
		cat /etc/ramraid/state/data.rescue; ramraid restore --yes data
		test "$(slots data)" = UUU; systemctl start srv-data.mount; sums
		test "$(compare data)" = 0'
	reboot
	check 'and the next boot is as any other' "$tools"'
		test "$(slots data)" = UUU; sums
		test "$(systemctl is-active ramraid@data)" = active'
}
