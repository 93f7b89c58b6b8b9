# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# What people put on an array: a volume group with XFS, swap and a LUKS container in it; and btrfs,
# mounted twice. Each waits for its array; a shutdown leaves nothing to make equal; a power cut
# loses nothing. The volume group reaches onto an ordinary disk, on which a rescue image would be
# written.
checked_on trixie
long
image stacks
from installed
memory 2G
disk A 480M
disk B 480M
disk C 160M
disk D 160M
disk E 64M

readonly on='
	readonly mounts="/srv/xfs /srv/secret /srv/tree /srv/sub /srv/plain"
	in_use() {
		for m in $mounts; do
			findmnt $m >/dev/null || { echo "$m is not mounted"; return 1; }
		done
		grep "^/dev/dm-" /proc/swaps
	}
	sums() { sha256sum --quiet -c /root/sums; }
	at() { systemctl show -p $2 --value $1; }
	whole() {
		journalctl -b -u "ramraid@$1" -o json |
			jq -r "select(.MESSAGE | test(\": whole after\")) | .__MONOTONIC_TIMESTAMP" |
			head -n 1
	}
	later() { test "$(at $1 $2)" -gt "$(whole $3)"; }
	equal() { sync; test "$(compare pool)" = 0; test "$(compare tree)" = 0; }
	'

steps() {
	boot
	check 'two arrays: a volume group with XFS, swap and LUKS; btrfs' "$on"'
		ramraid create --yes --no-wait pool $(leg A) $(leg B)
		ramraid create --yes tree $(leg C) $(leg D)
		ramraid wait pool
		settle; pvcreate -q /dev/md/pool; vgcreate -q vol-1 /dev/md/pool
		lvcreate -q -Wy --yes -L 320M -n files vol-1; lvcreate -q --yes -L 32M -n swap vol-1
		lvcreate -q --yes -L 64M -n locked vol-1
		pvcreate -q $(leg E); vgextend -q vol-1 $(leg E)
		lvcreate -q --yes -l 100%PVS -n plain vol-1 $(leg E)
		mkdir -p $mounts /root/keys /etc/ramraid/pool.conf.d
		echo RESCUE=/srv/plain/rescue >/etc/ramraid/pool.conf.d/rescue.conf
		make_ext4 /dev/vol-1/plain
		settle; mkfs.xfs -q -K /dev/vol-1/files; mkswap /dev/vol-1/swap
		head -c 32 /dev/urandom >/root/keys/key; chmod 600 /root/keys/key
		cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
			/dev/vol-1/locked /root/keys/key
		cryptsetup open --key-file /root/keys/key /dev/vol-1/locked open
		make_ext4 /dev/mapper/open -E nodiscard
		settle; mkfs.btrfs -q -K /dev/md/tree
		udevadm trigger --settle /dev/md/tree /dev/vol-1/files /dev/vol-1/swap
		mount /dev/md/tree /srv/tree; btrfs subvolume create /srv/tree/part
		umount /srv/tree
		tree=$(blkid -o value -s UUID /dev/md/tree)
		cat >>/etc/fstab <<EOT
UUID=$(blkid -o value -s UUID /dev/vol-1/files) /srv/xfs xfs defaults 0 0
/dev/vol-1/swap none swap sw 0 0
/dev/mapper/open /srv/secret ext4 defaults 0 2
UUID=$(blkid -o value -s UUID /dev/vol-1/plain) /srv/plain ext4 defaults 0 2
UUID=$tree /srv/tree btrfs defaults,nodiscard 0 0
UUID=$tree /srv/sub btrfs defaults,nodiscard,subvol=part 0 0
EOT
		echo "open /dev/mapper/vol--1-locked /root/keys/key luks" >>/etc/crypttab
		# As with iSCSI: it is up from before blk-availability.service until after it, and
		# the network longer, which comes after the local mounts.
		printf "%s\n" "[Unit]" Wants=network.target Before=network.target "[Service]" \
			Type=oneshot RemainAfterExit=yes ExecStart=/bin/true "[Install]" \
			WantedBy=multi-user.target >/etc/systemd/system/wire.service
		printf "%s\n" "[Unit]" After=network.target "[Service]" Type=oneshot \
			RemainAfterExit=yes ExecStart=/bin/true "[Install]" \
			WantedBy=multi-user.target >/etc/systemd/system/iscsid.service
		systemctl daemon-reload; systemctl enable --quiet --now wire iscsid
		mount -a; swapon -a; in_use
		for m in $mounts; do
			head -c 3M /dev/urandom >$m/file; sha256sum $m/file
		done >/root/sums
		sync'
	check 'all of it waits for its array at the next boot; check has nothing to say of the mounts' "$on"'
		ramraid remember; systemctl daemon-reload
		cat /etc/ramraid/state/pool.contents /etc/ramraid/state/tree.contents
		grep -x "beside UUID=$(blkid -o value -s UUID /dev/vol-1/plain)" \
			/etc/ramraid/state/pool.contents
		journalctl -b -o cat -t ramraid-generator |
			grep "pool: /srv/plain, which RESCUE is on, waits for pool itself"
		# A later initramfs has seen the swap, and would wait for it.
		update-initramfs -u >/root/out 2>&1; cat /root/out
		grep "/dev/mapper/vol--1-swap is on the array pool.*RESUME=none" /root/out
		for unit in srv-xfs.mount dev-vol\\x2d1-swap.swap \
			systemd-cryptsetup@open.service; do
			systemctl show -p Requires --value "$unit" | grep -q ramraid@pool || {
				echo "$unit"; exit 1
			}
		done
		for unit in srv-tree.mount srv-sub.mount; do
			systemctl show -p Requires --value $unit | grep -q ramraid@tree || {
				echo $unit; exit 1
			}
		done
		ramraid check >/root/out || :; cat /root/out
		fails grep -e not-gated -e ungated /root/out'
	reboot
	check 'a boot: everything is in use, and each only after its array was whole' "$on"'
		test "$(slots pool)" = UUU; test "$(slots tree)" = UUU; in_use; sums
		later srv-xfs.mount ActiveEnterTimestampMonotonic pool
		later "dev-vol\\x2d1-swap.swap" ActiveEnterTimestampMonotonic pool
		later systemd-cryptsetup@open.service ActiveEnterTimestampMonotonic pool
		later srv-tree.mount ActiveEnterTimestampMonotonic tree
		later srv-sub.mount ActiveEnterTimestampMonotonic tree
		test -z "$(journalctl -b -q -o cat -g "ordering cycle")"'
	check 'the shutdown before it left nothing to make equal' "$on"'
		journalctl -b -1 -q -o cat -u ramraid@pool | tail -n 5
		# Before blk-availability.service stopped anything, which did not have to wait for
		# mounts that waited for what waited for it.
		journalctl -b -1 -q -o cat -u blk-availability; systemctl is-active iscsid
		for a in pool tree; do
			test \
				"$(journalctl -b -1 -q -o cat -u blk-availability -u ramraid@$a |
					sed "/Deactivating block devices/,\$d" |
					grep -c -- "--remove /dev/r[da]")" \
				-ge 1
		done
		fails journalctl -b -1 -q -o cat -g "blk-availability.service: Stopping timed out"
		journalctl -b -q -o cat -u ramraid@pool | grep "2 of 2 disk legs are safe"
		fails journalctl -k -b -q -o cat -g "md: resync of RAID array"; equal'
	check 'stopped by hand only when the volumes are let go; started again, they are back' \
		"$on"'
		umount /srv/xfs /srv/secret /srv/plain; swapoff -a
		systemctl stop systemd-cryptsetup@open.service
		code=0; ramraid stop pool >/root/out 2>&1 || code=$?; cat /root/out; test $code = 1
		grep "in use by" /root/out; test "$(slots pool)" = UUU
		vgchange -q -an vol-1; ramraid stop pool
		fails grep -q "$(basename $(node A))" /proc/mdstat
		ramraid start pool; settle
		for i in $(seq 50); do [ -e /dev/vol-1/files ] && break; sleep 0.2; done
		systemctl start srv-xfs.mount srv-secret.mount srv-plain.mount \
			"dev-vol\\x2d1-swap.swap"
		in_use; sums'
	vm_send "$here/tokens.pl" /root/tokens.pl
	guest '
		exec 9>/dev/virtio-ports/told
		for w in xfs secret tree; do
			mkdir /srv/$w/tokens
			perl /root/tokens.pl write-tokens /srv/$w/tokens $w </dev/null >/dev/null \
				2>&1 &
		done
		sleep 10'
	kill_power
	boot
	vm_told >"$VM/acknowledged"
	vm_send "$VM/acknowledged" /root/acknowledged
	check 'a power cut under writers: everything is in use again, and every acknowledged byte is there' "$on"'
		test "$(slots pool)" = UUU; test "$(slots tree)" = UUU; in_use; sums
		for w in xfs secret tree; do
			grep "^token $w\." /root/acknowledged >/root/expected
			perl /root/tokens.pl check /srv/$w/tokens /root/expected
		done
		equal'
}
