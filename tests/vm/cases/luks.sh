# Disk legs in LUKS: one is opened by a key file, the other by a passphrase that comes late. Until
# then no timeout runs. At a shutdown the containers stay open for the guard, which puts back the
# legs that it finds there.
checked_on trixie
long
from installed
disk A 112M
disk B 112M

readonly tools='
	unit=ramraid@data.service
	asked() {
		for i in $(seq 300); do
			grep -ls "leg-b" /run/systemd/ask-password/ask.* && return; sleep 0.2
		done
		echo "nobody asks for the passphrase"; return 1
	}
	answer() {
		local file; file=$(asked)
		perl -MSocket -e "socket(S, AF_UNIX, SOCK_DGRAM, 0)
			&& connect(S, sockaddr_un(\$ARGV[0]))
			&& send(S, qq(+late word), 0) or die \$!" "$(sed -n s/^Socket=//p "$file")"
	}
	new() {
		head -c 1M /dev/urandom >/srv/data/$1; sync
		(cd /srv/data; sha256sum $1 >>/root/sums)
	}
	whole() {
		test "$(slots data)" = UUU; findmnt /srv/data
		(cd /srv/data; sha256sum --quiet -c /root/sums); test "$(compare data)" = 0
	}
	'

steps() {
	boot
	check 'a mirror of two containers, with a file system in fstab; systemd knows what comes first' "$tools"'
		fast="-q --pbkdf pbkdf2 --pbkdf-force-iterations 1000"
		mkdir -m 700 /root/keys; head -c 32 /dev/urandom >/root/keys/a
		chmod 600 /root/keys/a
		cryptsetup luksFormat $fast $(leg A) /root/keys/a
		cryptsetup open --key-file /root/keys/a $(leg A) leg-a
		printf "late word" | cryptsetup luksFormat $fast $(leg B) -
		printf "late word" | cryptsetup open --key-file - $(leg B) leg-b
		printf "%s\n" "leg-a UUID=$(cryptsetup luksUUID $(leg A)) /root/keys/a luks" \
			"leg-b UUID=$(cryptsetup luksUUID $(leg B)) none luks" >/etc/crypttab
		settle; ramraid create --yes data /dev/mapper/leg-a /dev/mapper/leg-b
		cat /etc/ramraid/data.conf
		grep -x "MEMBER=/dev/mapper/leg-b" /etc/ramraid/data.conf
		echo MEMBER_TIMEOUT=3s >>/etc/ramraid/data.conf
		make_ext4 /dev/md/data; mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		ramraid remember; cat /etc/ramraid/state/data.contents
		grep -x "below /dev/mapper/leg-b" /etc/ramraid/state/data.contents
		systemctl daemon-reload; systemctl start srv-data.mount
		for i in 1 2 3; do new file$i; done
		cat /run/systemd/generator/$unit.d/50-crypt.conf
		systemctl show -p After $unit
		for l in a b; do
			systemctl show -p After --value $unit |
				grep "systemd-cryptsetup@leg.*x2d$l.service"
		done
		ramraid check data >/root/found || :; cat /root/found; fails grep gate- /root/found'
	down reboot
	boot_early
	check 'a passphrase is wanted: for longer than MEMBER_TIMEOUT nothing is started, refused or given up' "$tools"'
		asked; sleep 15; asked; systemctl list-jobs
		systemctl list-jobs --no-legend | grep "$unit.*waiting"
		test "$(systemctl is-active $unit)" = inactive; test -e /dev/mapper/leg-a
		fails grep "^md" /proc/mdstat; fails findmnt /srv/data
		device=$(systemd-escape --path --suffix=device "$(findmnt --fstab -n -o SOURCE \
			/srv/data | sed s,UUID=,/dev/disk/by-uuid/,)")
		test "$(systemctl show -p JobRunningTimeoutUSec --value "$device")" = infinity'
	check 'it is typed, and the mirror is whole: no leg was left out' "$tools"'
		answer; systemctl is-system-running --wait || :; whole
		journalctl -b -u $unit -o cat >/root/log; cat /root/log
		fails grep -i "missing\|degraded\|left out\|readd" /root/log'
	check 'stopped and closed by hand: a start opens them, and says that it asks' "$tools"'
		systemctl stop srv-data.mount; ramraid stop data
		systemctl stop "systemd-cryptsetup@*"; test ! -e /dev/mapper/leg-a
		test ! -e /dev/mapper/leg-b
		(sleep 5; answer) & ramraid start data 2>/root/log; cat /root/log
		grep "opened first (.*leg.x2db.service" /root/log; systemctl start srv-data.mount
		whole'
	check 'md has given both up, and only the RAM leg has what is written: the containers stay until the guard has put them back' "$tools"'
		mkdir -p /etc/ramraid/data.conf.d
		echo HOTPLUG=no >/etc/ramraid/data.conf.d/test.conf; ramraid attach data
		for l in a b; do
			n=$(readlink -f /dev/mapper/leg-$l); mdadm /dev/md/data --fail $n
			for i in $(seq 50); do
				mdadm /dev/md/data --remove $n && break; sleep 0.1
			done
		done
		test "$(slots data)" = U__; new onlyram'
	power_off
	boot_early
	check 'nothing was lost, and no image was needed' "$tools"'
		answer; systemctl is-system-running --wait || :; whole
		test ! -e /etc/ramraid/state/data.rescue; rm /etc/ramraid/data.conf.d/test.conf
		sed -i "/^leg-b/s/luks$/luks,noauto/" /etc/crypttab'
	reboot
	check 'noauto: nobody is asked, the array starts without it, and takes it in when a person opens it' "$tools"'
		fails grep -s leg-b /run/systemd/ask-password/ask.*; test ! -e /dev/mapper/leg-b
		cat /proc/mdstat; test "$(slots data)" = UU_; findmnt /srv/data; new file4
		(answer) & systemctl start "systemd-cryptsetup@leg\x2db.service"
		for i in $(seq 200); do [ "$(slots data)" = UUU ] && break; sleep 0.3; done; whole
		systemctl show -p After --value $unit | grep "systemd-cryptsetup@leg.*x2db.service"
		systemctl show -p Wants --value $unit >/root/wants; fails grep "x2db" /root/wants'
	power_off
}
