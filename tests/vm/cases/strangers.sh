# Which device is the leg? A copy of a leg that was written to elsewhere, started by hand, there at
# boot, plugged in; names that vanish while the disks run.
checked_on trixie
long
from installed
disk A 64M
disk B 64M
disk C 64M
may_fail ramraid@data.service

readonly tools='
	part() { echo /dev/disk/by-partuuid/7a6f6e0$1-01; }
	# mbr NAME N: a partition of 63 MiB. labels N M: the names of the partitions on A and B
	# become part N and part M.
	mbr() {
		perl -e "print qq(\0) x 440, pack(q(V), 0x7a6f6e00 + $2), qq(\0) x 2,
			pack(q(C8VV), 0, 0, 2, 0, 0x83, 255, 255, 255, 2048, 129024),
			qq(\0) x 48, qq(\x55\xaa)" >/root/mbr
		dd if=/root/mbr of=$(node $1) bs=512 conv=notrunc,fsync status=none; settle
		blockdev --rereadpt $(node $1) || :; settle
	}
	labels() {
		for d in A:$1 B:$2; do
			perl -e "print pack(q(V), 0x7a6f6e00 + ${d#*:})" |
				dd of=$(node ${d%:*}) bs=1 seek=440 conv=notrunc,fsync status=none
			settle; udevadm trigger --settle $(node ${d%:*}) $(node ${d%:*})1
		done
	}
	alone() {
		mdadm --assemble --run /dev/md/other $(node C)1; named /dev/md/other
		mdadm --readwrite /dev/md/other 2>/dev/null || :
	}
	refused() {
		cursor=$(journalctl -n 1 -o json | jq -r .__CURSOR); fails ramraid start data
		journalctl -u ramraid@data -o cat --after-cursor="$cursor" >/root/log; cat /root/log
		for t; do grep -q -- "$t" /root/log || { echo "not said: $t"; return 1; }; done
		fails grep -q -e --re-add -e "--assemble /dev/md/data" /root/log
		test ! -e /dev/md/data
	}
	whole() {
		test "$(slots data)" = UUU
		for l in A B; do test -e /sys/block/$(md data)/md/dev-$(basename $(node $l))1; done
		cmp -n 1048576 /root/new /dev/md/data
	}
	witness=/etc/ramraid/state/data.witness
	'

steps() {
	boot
	check 'a mirror of two partitions, named by what is written on the disks; the hardware of both is written down' "$tools"'
		mbr A 1; mbr B 2
		ramraid create --yes data $(part 1) $(part 2); test "$(slots data)" = UUU
		head -c 1M /dev/urandom >/root/new
		dd if=/root/new of=/dev/md/data oflag=direct bs=1M conv=fsync status=none
		cat /etc/ramraid/state/data.hardware
		test "$(grep -c "QEMU_HARDDISK_[AB]$" /etc/ramraid/state/data.hardware)" = 2
		test "$(stat -c %a $witness)" = 600; ramraid witness; wc -w <$witness'
	check 'their names vanish while they run: both are copies still, in the record, in "status" and for a shutdown' "$tools"'
		labels 8 9; test ! -e $(part 1); test ! -e $(part 2); ramraid witness 2>/root/log
		cat /root/log $witness; fails grep "ONLY GOOD COPY" /root/log
		test "$(grep ^legs= $witness | wc -w)" = 2
		ramraid status data >/root/status || :; cat /root/status
		test "$(grep -c "has no MEMBER line in the configuration; write this line: MEMBER=" \
			/root/status)" = 2
		fails grep "ONLY GOOD COPY" /root/status
		labels 1 2; test -e $(part 1); ramraid stop data; fails grep "^md" /proc/mdstat'
	check 'a copy of A, used elsewhere, started by hand: refused, named, and nothing is put into it' "$tools"'
		dd if=$(node A) of=$(node C) bs=1M oflag=direct status=none
		blockdev --rereadpt $(node C) || partx -u $(node C); settle
		for i in $(seq 15); do
			alone
			dd if=/dev/urandom of=/dev/md/other bs=1M count=1 oflag=direct conv=fsync \
				status=none
			mdadm --stop /dev/md/other
		done
		alone; md=$(md other)
		refused "another array has its UUID: $md runs from $(basename $(node C))1, none of \
which\|something else has started $md from $(node C)1, and $(node A)1 carries the same" \
			"mdadm --stop /dev/$md"
		test "$(ls -d /sys/block/$md/md/dev-* | wc -l)" = 1; ramraid status data || :
		mdadm --stop /dev/md/other
		mdadm --examine $(node A)1 $(node B)1 $(node C)1 | grep Events'
	check 'and beside A and B, whoever has the name now' "$tools"'
		ls -l $(part 1)
		refused "no MEMBER and carries the array.s UUID; \
it has the device UUID of $(part 1)" \
			"/dev/$(basename $(node A))1" "/dev/$(basename $(node C))1"'
	power_off
	boot
	check 'at boot: refused, naming both' "$tools"'
		systemctl is-failed ramraid@data
		journalctl -b -u ramraid@data -p err -o cat >/root/log; cat /root/log
		fails grep "^md" /proc/mdstat
		grep "no MEMBER and carries the array.s UUID" /root/log |
			grep "/dev/$(basename $(node A))1" | grep "/dev/$(basename $(node C))1"'
	check 'when it has been pulled, it is started, with all that was written' "$tools"'
		gone C; for i in $(seq 50); do [ -e $(part 1) ] && break; sleep 0.1; done
		systemctl is-active ramraid@data || ramraid start data; whole
		test "$(compare data)" = 0'
	check 'plugged in while the array runs: it gets nothing' "$tools"'
		back C; sleep 3; ls -l $(part 1); whole
		systemctl is-failed "ramraid-mend@data.service" && exit 1
		ramraid stop data; refused "no MEMBER and carries"; gone C
		for i in $(seq 50); do
			[ "$(readlink -f $(part 1))" = $(node A)1 ] && break; sleep 0.1
		done
		systemctl is-active ramraid@data || ramraid start data; whole'
}
