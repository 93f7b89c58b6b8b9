# create: what it refuses, what --dry-run shows, and that it undoes everything when it fails or is
# interrupted.
checked_on trixie
from installed
disk A 64M
disk B 64M
disk C 64M

readonly untouched='
	test -z "$(ls /etc/ramraid/*.conf | grep -v /ramraid.conf)"
	test -z "$(ls /etc/mdadm/mdadm.conf.d 2>/dev/null)"
	test -z "$(find /etc/systemd/system -name "*ramraid*")"; no_ramdisk
	fails grep "^md" /proc/mdstat
	'
steps() {
	boot
	check 'refusals say what is wrong, and change nothing' '
		try() {
			local want=$1 text=$2; shift 2; code=0
			ramraid create "$@" >/root/out 2>&1 || code=$?; cat /root/out
			test $code = $want; grep -q -- "$text" /root/out
		}
		modprobe raid1 # so that /proc/mdstat is there
		try 2 "add --yes" data $(leg A)
		try 2 "can.t be an array.s name" --yes ../data $(leg A)
		try 2 "at least one disk" --yes data
		try 2 "unknown option" --yes --foo data $(leg A)
		try 4 "is named twice" --yes data $(leg A) $(node A)
		try 4 "missing: there is no block device" --yes data /dev/nosuch
		mkfs.ext4 -q $(node B)
		try 4 "signature: it holds ext4" --yes data $(leg A) $(leg B)
		mount $(node B) /mnt
		try 4 "in use: /mnt" --yes --force data $(leg A) $(leg B)
		umount /mnt
		dmsetup create hold --table "0 1000 linear $(node C) 0" 2>/dev/null && {
			try 4 "in use: dm-0" --yes --force data $(leg A) $(leg C)
			dmsetup remove hold
		}
		truncate -s 8M /root/small; loop=$(losetup -f --show /root/small)
		try 4 "no stable name\|smaller than" --yes data $loop
		losetup -d $loop'"$untouched"
	check 'not enough memory for the RAM leg: refused before anything is written' '
		echo RAM_RESERVE=95% >>/etc/ramraid/ramraid.conf
		fails ramraid create --yes data $(leg A)
		sed -i /95%/d /etc/ramraid/ramraid.conf'"$untouched"
	check '--dry-run prints every command and changes nothing' '
		ramraid create --dry-run data $(leg A) $(leg C) >/root/out; cat /root/out
		grep -q -- "--create.*--bitmap=internal --bitmap-chunk=1024K missing \
--write-mostly $(node A) $(node C)" /root/out
		grep -q "update-initramfs" /root/out
		grep -q "systemctl.*enable.*ramraid@data" /root/out
		fails mdadm --examine $(node A)'"$untouched"
	short || check 'interrupted while the initramfs is being made: everything is taken back' '
		ramraid create --yes data $(leg A) $(leg C) >/root/out 2>&1 & pid=$!
		for i in $(seq 200); do grep -q update-initramfs /root/out && break; sleep 0.1; done
		kill -INT $pid 2>/dev/null; kill -TERM $pid; code=0; wait $pid || code=$?
		cat /root/out; test $code != 0
		fails mdadm --examine $(node A); fails mdadm --examine $(node C)'"$untouched"
	check 'a step fails half-way: everything is taken back' '
		mv /usr/sbin/update-initramfs /root/
		printf "#!/bin/sh\nexit 1\n" >/usr/sbin/update-initramfs
		chmod +x /usr/sbin/update-initramfs
		fails ramraid create --yes data $(leg A) $(leg C)
		mv /root/update-initramfs /usr/sbin/
		fails mdadm --examine $(node A)'"$untouched"
	check 'killed half-way, what is left is a plain array that any system starts, configured and enabled, and says so' '
		ramraid create --yes data $(leg A) $(leg C) >/root/out 2>&1 & pid=$!
		for i in $(seq 200); do grep -q update-initramfs /root/out && break; sleep 0.1; done
		kill -KILL $pid; sleep 1; pkill update-initramfs || :
		fails ramraid status data; systemctl is-enabled ramraid@data
		mdadm --examine $(node A) | grep "Array State : \.AA"
		systemctl disable ramraid@data; rm /etc/ramraid/data.conf; ramraid claim
		mdadm --stop /dev/md/data; mdadm --zero-superblock $(node A) $(node C)'"$untouched"
	check 'with --force a disk that holds something is taken' '
		ramraid create --yes --force data $(leg B); test "$(slots data)" = UU
		ramraid status data
		grep "^MEMBER=$(leg B)$" /etc/ramraid/data.conf'
	check 'a name that exists is refused' '
		fails ramraid create --yes data $(leg C); fails ramraid create --yes data $(leg A)'
	check 'destroy takes it away again' '
		ramraid destroy --yes data; test ! -e /dev/md/data; test ! -e /etc/ramraid/data.conf
		fails mdadm --examine $(node B)'"$untouched"
}
