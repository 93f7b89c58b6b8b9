# shellcheck shell=bash disable=SC2016,SC2154 # single quotes hold what the guest expands; "here" is case.sh's
# adopt, of arrays with a ramdisk made by hand as a power cut leaves them: inactive, the ramdisk gone. Named by the array and by
# the disks; with a disk missing nothing is changed; killed and typed again.
checked_on trixie
long
from installed
disk A 64M
disk B 64M
disk C 64M
memory 1536M

readonly helpers='
by_hand() { # MD RAMDISK FOLDER DISK…
	local md=$1 ram=$2 folder=$3; shift 3
	modprobe -a raid1 rapiddisk
	echo "rapiddisk attach ${ram#rd} $((64 << 20))" >/sys/kernel/rapiddisk/mgmt
	for i in $(seq 50); do [ -b /dev/$ram ] && break; sleep 0.1; done
	mdadm --create /dev/$md --run --level=1 --raid-devices=$(($# + 1)) /dev/$ram --write-mostly "$@"
	while grep -q resync /proc/mdstat; do sleep 0.5; done
	make_ext4 /dev/$md -E nodiscard,lazy_itable_init=0; mkdir -p $folder
	echo "UUID=$(blkid -o value -s UUID /dev/$md) $folder ext4 nofail,x-systemd.device-timeout=5s 0 2" >>/etc/fstab
	systemctl daemon-reload; mount $folder
	for i in 1 2 3 4; do head -c 2M /dev/urandom >$folder/file$i; done; sync; sha256sum $folder/file* >/root/sums.$md; sync
}
sums() { mountpoint /srv/data; mountpoint /srv/solo; for f in /root/sums.*; do sha256sum --quiet -c $f; done; }
inactive() { cat /sys/block/md*/md/array_state; test "$(grep -c "^md.* : inactive" /proc/mdstat)" = "$1"; }
of() { basename /sys/class/block/$(basename $(node $1))/holders/md*; }
'
steps() {
	boot
	check 'two arrays made by hand: a ramdisk and two disks, a ramdisk and one' "$helpers"'
		by_hand md0 rd0 /srv/data $(leg A) $(leg B); by_hand md1 rd1 /srv/solo $(leg C); cat /proc/mdstat'
	kill_power
	boot
	check 'after a power cut both are inactive' "$helpers"'cat /proc/mdstat; inactive 2'
	check 'with a disk left out, nothing is changed' "$helpers"'
		code=0; ramraid adopt --yes data $(leg A) >/root/out 2>&1 || code=$?; cat /root/out; test $code = 4
		grep "found 1 disks for 3 slots" /root/out; test -z "$(find /etc/ramraid -name "data*")"'
	check 'the dry run, by its disks' "$helpers"'
		ramraid adopt --dry-run data $(leg A) $(leg B) | tee /root/out; grep "systemctl start --no-block ramraid@data.service" /root/out
		test -z "$(find /etc/ramraid -name "data*")"'
	check 'by its disks; killed while the initramfs is made, and typed again; beside a blank ramdisk made anew' "$helpers"'
		modprobe rapiddisk; echo "rapiddisk attach 0 $((64 << 20))" >/sys/kernel/rapiddisk/mgmt
		ramraid adopt --yes data $(leg A) $(leg B) >/root/out 2>&1 </dev/null & pid=$!
		for i in $(seq 200); do grep -q "^+ update-initramfs" /root/out && break; sleep 0.1; done
		kill -KILL $pid; pkill -f /usr/sbin/update-initramfs || :; cat /root/out
		flock --timeout 240 /run/ramraid/.locks/work.data true
		ramraid adopt --yes data $(leg A) $(leg B)
		ramraid status data; test "$(slots data)" = UUU; cat /sys/block/$(md data)/md/bitmap/location; fails grep none /sys/block/$(md data)/md/bitmap/location
		test -e /sys/block/rd0; grep " rd1 " /run/ramraid/data.ram'
	check 'the other one by its inactive array' "$helpers"'
		ramraid adopt --yes solo /dev/$(of C); ramraid status solo; test "$(slots solo)" = UU
		fails grep none /sys/block/$(md solo)/md/bitmap/location
		mount -a; sums; test "$(compare data)" = 0
		# A short time-out in fstab would end the mount before the array is whole.
		sed -i s/,x-systemd.device-timeout=5s// /etc/fstab'
	reboot
	check 'after a reboot both are whole, and all is there' "$helpers"'
		test "$(slots data)" = UUU; test "$(slots solo)" = UU; sums; ramraid status
		ramraid check >/root/out || :; cat /root/out; test "$(grep -c "^\(data\|solo\): nothing to report" /root/out)" = 2'
}
