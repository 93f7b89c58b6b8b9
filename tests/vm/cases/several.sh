# Nothing configured, a broken file, and two arrays at once: one with a dash in its name that holds
# LUKS, one with a dot that holds swap.
checked_on trixie
long
from installed
disk A 64M
disk B 64M
disk C 48M

steps() {
	boot
	check 'without any configuration nothing of ours runs, and nothing is amiss' '
		test -z "$(systemctl list-units --all --plain --no-legend "ramraid*")"
		test -z "$(find /run/systemd/generator* -name "*ramraid*")"
		ramraid status | grep "no arrays are configured"'
	check 'two arrays, one beside the other' '
		ramraid create --yes --no-wait my-data $(leg A) $(leg B)
		ramraid create --yes b.2 $(leg C)
		ramraid wait my-data; ramraid wait b.2; ramraid status'
	check 'LUKS with a file system in one, swap in the other' '
		head -c 32 /dev/urandom >/root/key; chmod 600 /root/key
		cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
			/dev/md/my-data /root/key
		cryptsetup open --key-file /root/key /dev/md/my-data secret
		mkfs.ext4 -q /dev/mapper/secret
		mkdir -p "/srv/my files"
		echo "secret UUID=$(blkid -o value -s UUID /dev/md/my-data) /root/key luks" \
			>>/etc/crypttab
		echo "/dev/mapper/secret /srv/my\\040files ext4 defaults 0 2" >>/etc/fstab
		mkswap -q /dev/md/b.2 2>/dev/null || mkswap /dev/md/b.2
		echo "UUID=$(blkid -o value -s UUID /dev/md/b.2) none swap sw 0 0" >>/etc/fstab
		systemctl daemon-reload
		mount /dev/mapper/secret "/srv/my files"
		head -c 5M /dev/urandom >"/srv/my files/x"; sync
		sha256sum "/srv/my files/x" >/root/sums'
	check 'a broken file beside them' '
		printf "UUID=nonsense\nMEMBER=/dev/sda\nFOO=bar\n" >/etc/ramraid/bad.conf
		ramraid status bad | grep "bad.conf:3: unknown key"'
	check 'and an fstab for which more units are generated than a pipe takes' '
		for i in $(seq 100 499); do
			printf "/dev/md/my-data /mnt/%s%0180d ext4 noauto 0 2\n" $i 0
		done >>/etc/fstab'
	reboot
	check 'at the boot, with the root file system read-only, each of these mounts was ordered' '
		cd /run/systemd/generator
		test "$(ls -d mnt-*.mount | wc -l)" = 400
		test "$(cat mnt-*.mount.d/*ramraid* | grep -c "^After=ramraid@my.*data.service$")" = 400
		test "$(cat mnt-*.mount mnt-*.mount.d/*ramraid* | wc -c)" -gt 65536
		sed -i "/ noauto /d" /etc/fstab; systemctl daemon-reload'
	check 'both are whole, opened and in use, and each only after it was whole' '
		test "$(slots my-data)" = UUU; test "$(slots b.2)" = UU
		cd /; sha256sum --quiet -c /root/sums
		grep -q "^/dev/md" /proc/swaps
		whole() {
			journalctl -b -u "ramraid@$1" -o json |
				jq -r "select(.MESSAGE | test(\": whole after\")) | .__MONOTONIC_TIMESTAMP" |
				head -1
		}
		test "$(systemctl show -p ExecMainStartTimestampMonotonic --value \
			systemd-cryptsetup@secret)" -gt "$(whole my-data)"
		swap=$(systemctl list-units --plain --no-legend --type=swap "dev-disk-by*" |
			cut -d" " -f1 | head -1)
		test "$(systemctl show -p ActiveEnterTimestampMonotonic --value "$swap")" \
			-gt "$(whole b.2)"'
	check 'the broken file was said, and its array is the only thing that does not run' '
		journalctl -b -p err -t ramraid-generator | grep "bad.conf:1: UUID=nonsense"
		journalctl -b -p err -t ramraid-generator |
			grep "bad.conf:2: MEMBER=/dev/sda.*write /dev/disk/by-id/"'
	kill_power
	VM_DISKS=(C B A)
	boot
	check 'the same after a power cut, with the disks in another order' '
		test "$(slots my-data)" = UUU; test "$(slots b.2)" = UU
		cd /; sha256sum --quiet -c /root/sums; grep -q "^/dev/md" /proc/swaps
		test "$(compare my-data)" = 0'
	check 'stopping one leaves the other alone' '
		swapoff -a
		ramraid stop b.2; test "$(slots my-data)" = UUU
		fails grep -q "$(basename $(node C))\[" /proc/mdstat
		ramraid start b.2; test "$(slots b.2)" = UU'
}
