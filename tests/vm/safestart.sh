# What the cases of the safe start share: sourced by them.
# shellcheck shell=bash disable=SC2016,SC2034
# down: the array is stopped, cleanly. refused TEXT: a start is refused with these words, and nothing runs. starts [CODE]: it starts, and its
# journal is in /root/log. sums: every file is there with its bytes. new NAME: one more file.
readonly tools='
	down() { systemctl stop srv-data.mount; ramraid stop data; fails grep -q "^md" /proc/mdstat; }
	log() { journalctl -u ramraid@data -o cat --after-cursor="$cursor" >/root/log; cat /root/log; }
	cursor() { cursor=$(journalctl -n 1 -o json | jq -r .__CURSOR); }
	refused() {
		cursor; fails ramraid start data; log
		grep -q -- "$1" /root/log; systemctl show -p StatusText --value ramraid@data | grep -q -- "not started: .*$1"
		fails grep "^md" /proc/mdstat
	}
	starts() { cursor; code=0; ramraid start data || code=$?; log; test "$code" = "${1:-0}"; }
	sums() { systemctl start srv-data.mount; cd /srv/data; sha256sum --quiet -c /root/sums; cd /; }
	new() { head -c 1M /dev/urandom >/srv/data/$1; sync; (cd /srv/data; sha256sum $1 >>/root/sums); }
	witness=/etc/ramraid/state/data.witness
	'
