# What guests may use in the cases of disk legs over the network, which source this.
# shellcheck shell=bash disable=SC2016,SC2034
far='
	until_slots() {
		for i in $(seq 300); do [ "$(slots data)" = $1 ] && return; sleep 0.2; done
		cat /proc/mdstat; ramraid status data
		journalctl -b -q -o cat -u "ramraid*" | tail -n 40; return 1
	}
	new() {
		head -c 1M /dev/urandom >/srv/data/$1; sync
		(cd /srv/data; sha256sum $1 >>/root/sums; sync /root/sums)
	}
	sums() { (cd /srv/data; sha256sum --quiet -c /root/sums); }
	at() { systemctl show -p $2 --value $1; }
	equal_at_once() {
		journalctl -b -q -o cat -u ramraid@data | grep "2 of 2 disk legs are safe"
		fails journalctl -k -b -q -o cat -g "md: resync of RAID array"
	}
	'
