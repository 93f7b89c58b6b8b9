# What the cases of the safe start share, which source this: the machine, its first boot, and what
# their guests may use.
# shellcheck shell=bash disable=SC2016,SC2034
from small
disk A 40M
disk B 40M
disk C 40M
disk D 40M
may_fail ramraid@data.service srv-data.mount

# Waits for missing disks only as long as a test has patience, and keeps the machine's boot from
# depending on the array.
safestart_boot() {
	boot
	guest '
		mkdir -p /etc/ramraid/data.conf.d
		echo MEMBER_TIMEOUT=3s >/etc/ramraid/data.conf.d/test.conf
		sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab; systemctl daemon-reload'
}

# down: stops the array cleanly. refused TEXT: a start is refused with these words, and nothing
# runs. starts [CODE]: starts it; the journal of that is in /root/log. sums: every file is there
# with its bytes. new NAME: writes one more file.
readonly tools='
	down() {
		systemctl stop srv-data.mount; ramraid stop data; fails grep -q "^md" /proc/mdstat
	}
	log() {
		journalctl -u ramraid@data -o cat --after-cursor="$cursor" >/root/log; cat /root/log
	}
	cursor() { cursor=$(journalctl -n 1 -o json | jq -r .__CURSOR); }
	refused() {
		cursor; fails ramraid start data; log
		grep -q -- "$1" /root/log
		systemctl show -p StatusText --value ramraid@data | grep -q -- "not started: .*$1"
		fails grep "^md" /proc/mdstat
	}
	starts() { cursor; code=0; ramraid start data || code=$?; log; test "$code" = "${1:-0}"; }
	sums() {
		systemctl start srv-data.mount; cd /srv/data; sha256sum --quiet -c /root/sums; cd /
	}
	new() {
		head -c 1M /dev/urandom >/srv/data/$1; sync
		(cd /srv/data; sha256sum $1 >>/root/sums)
	}
	witness=/etc/ramraid/state/data.witness
	'
