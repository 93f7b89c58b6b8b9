# The check, what a disk leg lies on: the network, and containers. After facts_observe.
# shellcheck shell=bash

need cmd/check/findings config/conf core/paths world/disk world/initiator world/systemd

declare -gA F # the facts: decide/facts.list

# check_legs_remote: md waits for each write to each leg, and knows no time limit.
check_legs_remote() {
	local i FOREVER FOREVER_DO
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		initiator_forever "${F[leg.$i.node]}"
		[[ -z $FOREVER ]] ||
			findings_problem leg-waits-forever "${F[leg.$i.dev]} to fail when its \
other end is gone, so that the array goes on without it" \
				"$FOREVER: the array stands still until it is back" "$FOREVER_DO"
	done
}

# check_legs_containers WANTED BY-HAND: units of the containers that the array comes after, those
# that its start opens and those that a person opens, with blanks between them (gate/crypttab.sh).
# Is there one that a disk leg lies in, and that nobody opens before the array is started?
check_legs_containers() {
	local i name unit told=' ' expected
	[[ ${CONF[ROOT]} != yes ]] || return 0
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		while IFS= read -r name; do
			[[ $told != *" $name "* ]] || continue
			told+="$name "
			unit=$(systemd_escape --template=systemd-cryptsetup@.service -- "$name")
			[[ " $1 " != *" $unit "* ]] || continue
			expected="the container $name, in which ${F[leg.$i.dev]} lies, \
to be opened at boot, before the array is started"
			if [[ " $2 " == *" $unit "* ]]; then
				findings_note leg-opens-late "$expected" \
					'noauto in /etc/crypttab, so that a person opens it, or the array starts without it' \
					"cut noauto out of its line, then: \
systemctl daemon-reload; or type, after each boot: systemctl start $unit"
			else
				findings_problem leg-opens-late "$expected" \
					"$(check_legs_crypttab_ "$name")" "$(check_legs_cure_ "$name")"
			fi
		done < <(disk_containers "${F[leg.$i.node]}")
	done
}
check_legs_listed_() { # NAME
	local name
	while read -r name _; do
		[[ $name != "$1" ]] || return 0
	done < <(cat "$ROOT/etc/crypttab" 2>/dev/null)
	return 1
}
check_legs_crypttab_() { # NAME
	if check_legs_listed_ "$1"; then
		printf 'a line in /etc/crypttab that the array can not wait for\n'
	else
		printf 'no line about it in /etc/crypttab, so that somebody has to open it by hand\n'
	fi
}
check_legs_cure_() { # NAME
	if check_legs_listed_ "$1"; then
		printf 'systemctl daemon-reload, and see the reason: journalctl -b -t ramraid-generator\n'
	else
		printf 'write it into /etc/crypttab, then: ramraid remember; systemctl daemon-reload\n'
	fi
}
