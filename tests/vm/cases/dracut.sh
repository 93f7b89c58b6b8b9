# An initramfs that dracut has made for any host starts every array that it finds (rd.auto=1), but
# leaves the claimed ones alone: after a clean reboot, a power cut, and with a disk missing, with
# swap in a logical volume on one of them. create adds its claim to the initramfs and release
# removes it, and check looks into the initramfs.
checked_on trixie
long
image dracut
from base
# systemd has more to do in this initramfs, and an emulated machine is slow.
append rd.auto=1 systemd.default_timeout_start_sec=600 systemd.default_device_timeout_sec=600
# dracut takes minutes of processor time in the guest.
BOOT_SECONDS=1200 EXEC_SECONDS=1800 STOP_SECONDS=1200
disk A 40M
disk B 40M
disk C 40M
disk D 40M
disk E 40M
disk F 40M

# started ARRAY: prints when its run began, in microseconds since the kernel started. left_alone:
# our arrays began after the initramfs, when their own units ran, but the array that is nobody's
# began in the initramfs. So without the claims, it would have started ours, too.
readonly helpers='
image=/boot/initrd.img-$(uname -r)
# From Debian 14 on, dracut has an update-initramfs.
all="dracut --quiet --force --regenerate-all"
if command -v update-initramfs >/dev/null; then all="update-initramfs -u -k all"; fi
plain() { basename /sys/block/$(basename $(node E))/holders/md*; }
started() {
	journalctl -b -k -o json -g "raid1:$1: active with" |
		jq -r ._SOURCE_MONOTONIC_TIMESTAMP | head -n 1
}
left_alone() {
	userspace=$(systemctl show -p UserspaceTimestampMonotonic --value)
	for name in data swap; do
		unit=$(systemctl show -p InactiveExitTimestampMonotonic --value ramraid@$name)
		first=$(started $(plain)) own=$(started $(md $name))
		echo "userspace $userspace, plain $first, ramraid@$name $unit, $name $own"
		test $first -lt $userspace; test $unit -gt $userspace; test $own -gt $unit
		journalctl -b -u ramraid@$name -o cat >/root/out
		fails grep -e "half assembled" -e "mdadm --stop" /root/out
	done
}
claims() { lsinitrd $image | grep -o "etc/mdadm[^ ]*/ramraid-$1.conf" | sort | xargs; }
# unpack PATTERN: not "lsinitrd -f", which prints nothing of a file that is linked to one behind it;
# dracut links equal files.
unpack() {
	rm -rf /root/unpacked; mkdir /root/unpacked; cd /root/unpacked
	lsinitrd --unpack $image "$1"
}
both="etc/mdadm.conf.d/ramraid-data.conf etc/mdadm/mdadm.conf.d/ramraid-data.conf"
swaps() {
	test "$(swapon --show=NAME --noheadings --raw | xargs -rn1 readlink -f)" = \
		"$(readlink -f /dev/fast-1/swap)"
}
found() {
	ramraid check --json data >/root/check.json || :; cat /root/check.json
	test "$(jq -r ".findings[].code" /root/check.json | xargs)" = "$*"
}
'

whole_before_mount() {
	check "$1: neither array starts in the initramfs, both are whole before use" "$helpers"'
		left_alone
		test "$(slots data)" = UUU; test "$(slots swap)" = UUU; swaps
		whole=$(journalctl -b -u ramraid@data -o json -g "data: whole after" |
			jq -r .__MONOTONIC_TIMESTAMP | head -n 1)
		mount=$(systemctl show -p ActiveEnterTimestampMonotonic --value srv-data.mount)
		echo "whole $whole, mounted $mount"; test "$whole" -gt 0; test "$mount" -gt "$whole"
		cd /srv/data; sha256sum --quiet -c /root/sums; test "$(compare data)" = 0'
}

steps() {
	boot
	vm_send "$RAMRAID_DEB" /root/ramraid.deb
	check 'the package installs; the initramfs of its trigger has nothing of ours' "$helpers"'
		export DEBIAN_FRONTEND=noninteractive
		apt-get install -y --no-install-recommends /root/ramraid.deb 2>&1 | tee /root/out
		grep -E "(dracut|update-initramfs): Generating" /root/out; fails grep "dracut\[E\]" /root/out
		lsinitrd -m $image >/root/out
		grep -x mdraid /root/out; fails grep -x ramraid /root/out'
	# Somebody is notified of a failed disk, but nobody of every boot.
	guest 'printf "%s\n" "#!/bin/sh" "cat >/dev/null" >/usr/sbin/sendmail
		chmod 755 /usr/sbin/sendmail; systemctl --quiet mask --now mdmonitor.service
		mkdir -p /etc/ramraid/ramraid.conf.d
		echo MEMBER_TIMEOUT=15s >/etc/ramraid/ramraid.conf.d/test.conf'
	check 'create has dracut make the initramfs' "$helpers"'
		fails command -v unmkinitramfs; test -z "$(claims data)"
		mdadm -q --create /dev/md/plain --run --level=1 --raid-devices=2 --assume-clean \
			$(leg E) $(leg F)
		begin=$SECONDS; ramraid create --yes data $(leg A) $(leg B) 2>&1 | tee /root/out
		echo "$((SECONDS - begin)) s"
		grep "+ $all\$" /root/out; test "$(ls /boot/initrd.img-*)" = $image
		test "$(claims data)" = "$both"
		unpack "etc/mdadm*"; for file in $both; do
			cmp $file /etc/mdadm/mdadm.conf.d/ramraid-data.conf
		done'
	check 'a file system on it, and swap on another' "$helpers"'
		ramraid create --yes swap $(leg C) $(leg D)
		test -n "$(claims swap)"; test "$(claims data)" = "$both"
		make_ext4 /dev/md/data -b 4096; mkdir /srv/data
		settle; pvcreate -q /dev/md/swap; vgcreate -q fast-1 /dev/md/swap
		lvcreate -q -n swap -l 100%FREE fast-1; mkswap /dev/fast-1/swap
		udevadm trigger --settle /dev/fast-1/swap
		uuid() { blkid -o value -s UUID "/dev/$1"; }
		echo "UUID=$(uuid md/data) /srv/data ext4 defaults 0 2" >>/etc/fstab
		echo "UUID=$(uuid fast-1/swap) none swap sw 0 0" >>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount; swapon -a
		cd /srv/data; head -c 4M /dev/urandom >file; sync; sha256sum file >/root/sums'
	check 'check looks into it, within its bound, and leaves nothing behind' "$helpers"'
		found; test -z "$(ls -d /var/tmp/*ramraid* /var/tmp/lsinitrd* 2>/dev/null)"'
	reboot
	whole_before_mount 'after a clean reboot'
	guest 'cd /srv/data; head -c 2M /dev/urandom >new; sync; sha256sum new >>/root/sums
		sync -f /root; (while :; do head -c 64k /dev/urandom >lost; sync lost; done) \
			>/dev/null 2>&1 & sleep 2'
	kill_power
	boot
	whole_before_mount 'after a power cut'
	check 'an initramfs without the claims is reported, and what check says is the cure' \
		"$helpers"'
		mv /usr/lib/dracut/modules.d/90ramraid /root/; dracut --quiet --force
		found not-claimed-initramfs
		cure=$(jq -r ".findings[0].action" /root/check.json); echo "$cure"
		mv /root/90ramraid /usr/lib/dracut/modules.d/; sh -eux -c "$cure"; found
		test "$(claims data)" = "$both"
		# An image for this host alone would wait for the array and for the volume.
		unpack "etc/cmdline.d/*"; cat etc/cmdline.d/* || :
		fails grep -r -e rd.lvm.lv=fast -e rd.md.uuid etc/cmdline.d'
	power_off
	VM_DISKS=(A C D E F)
	boot
	check 'a disk is missing: neither array starts in the initramfs, and what is there is mounted' \
		"$helpers"'
		left_alone; test "$(slots data | tr -d _)" = UU; test "$(slots swap)" = UUU
		findmnt /srv/data; cd /srv/data; sha256sum --quiet -c /root/sums
		ramraid status data >/root/out || test $? = 1; grep "missing .*$(leg B)" /root/out'
	power_off
	VM_DISKS=(A B C D E F)
	boot
	check 'release: the initramfs has no claim of it any more' "$helpers"'
		ramraid wait --timeout=5min data; test "$(slots data)" = UUU
		systemctl stop srv-data.mount; ramraid release --yes data
		test -z "$(claims data)"; test "$(claims swap | wc -w)" = 2'
}
