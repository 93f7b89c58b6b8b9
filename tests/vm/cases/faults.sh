# Disks and memory that fail while the array is in use: nothing acknowledged is lost, and "attach"
# makes the mirror whole again.
checked_on trixie
long
from small
# Files beside the disk's socket switch the filters on from the host: A.read, A.write (errors),
# A.rate (bits per second).
readonly faulty="--filter=error --filter=rate error-pread-rate=100% error-pread-file=@.read \
error-pwrite-rate=100% error-pwrite-file=@.write rate-file=@.rate"
disk A 40M served "$faulty"
disk B 40M served "$faulty"
# shellcheck source=tests/vm/campaign.sh disable=SC2154
source "$here/campaign.sh"

# Checks that everything that the writers were promised until now is there.
all_there() { # TEXT
	guest '
		pkill -f tokens.pl || test $? = 1
		for i in $(seq 50); do pgrep -f tokens.pl >/dev/null || break; sleep 0.1; done'
	campaign_told
	vm_send "$VM/expected" /root/expected
	check "$1: every acknowledged byte is there" '
		sync; echo 3 >/proc/sys/vm/drop_caches
		perl /root/tokens.pl check /srv/data/tokens /root/expected
		cd /srv/data; sha256sum --quiet -c /root/sums'
	load_prune
}
whole_again() { # TEXT
	check "$1: attach makes it whole, and md finds no difference between the legs" '
		attach data
		test "$(slots data)" = UUU; ramraid status data
		test "$(compare data)" = 0'
	all_there "$1, whole again"
}
readonly witness='
	# Waits until the witness names just the legs of these disks.
	witness_is() {
		local d want
		want=$(for d; do mdadm --examine $(node $d) | sed -n "s/^ *Device UUID : \(........\):\(....\)\(....\):\(....\)\(....\):\(........\)/\1-\2-\3-\4-\5\6/p"; done | sort)
		for i in $(seq 100); do
			test \
				"$(sed -n "s/^legs=//p" /etc/ramraid/state/data.witness |
					tr " " "\n" | sort)" \
				!= "$want" ||
				return 0
			sleep 0.2
		done
		echo "wanted:"; echo "$want"; cat /etc/ramraid/state/data.witness; return 1
	}
	status() { ramraid status data >/root/status || :; cat /root/status; }
	kernel_says() { journalctl -k -b -q -o cat --since "@$(cat /root/since)" | grep -E "$1"; }
	'
begin() { # NUMBER: of the writers, for names that are not used twice
	guest 'date +%s >/root/since'
	campaign_writers "$1"
}

steps() {
	local out
	campaign_setup

	touch "$VM/A.read"
	guest 'date +%s >/root/since; ramraid detach data; echo 3 >/proc/sys/vm/drop_caches'
	check 'a disk leg cannot be read, and there is no RAM leg: the array stays up and reads the right bytes' "$witness"'
		cd /srv/data; sha256sum --quiet -c /root/sums
		for i in $(seq 20); do
			dd if=$(leg A) of=/dev/null bs=4k count=1 skip=$((5000 + i)) iflag=direct \
				2>/dev/null &&
				exit 1
		done
		kernel_says "I/O error, dev $(basename $(node A))"
		slots data | grep -x "_UU\|__U\|_U_"'
	rm "$VM/A.read"
	check 'what md has noted of it keeps the RAM leg out, and that is said; replaced, the mirror is whole' '
		if grep -q . /sys/block/$(md data)/md/dev-*/bad_blocks; then
			# mdadm 4.2 takes a new member nevertheless.
			ramraid attach data 2>/root/out || grep "$(leg A) has bad blocks" /root/out
			cat /root/out; findmnt /srv/data
		fi
		mdadm -q /dev/md/data --fail $(node A) || :; sleep 1
		mdadm -q /dev/md/data --remove $(node A) || :; mdadm --zero-superblock $(node A)
		mdadm -q /dev/md/data --add $(node A)
		attach data; test "$(slots data)" = UUU; test "$(compare data)" = 0'
	all_there 'the disk can be read again'

	begin 2
	touch "$VM/A.write"
	check 'a disk leg cannot be written, under fsyncing writers: md drops it, the array stays up' "$witness"'
		for i in $(seq 150); do [ "$(slots data)" != UUU ] && break; sleep 0.2; done
		cat /proc/mdstat; test "$(slots data)" != UUU
		kernel_says "Disk failure on $(basename $(node A))"
		test "$(cat /sys/block/$(md data)/md/degraded)" = 1'
	out=$(stat -c %s "$VM/told")
	check 'the witness names only the other leg soon after, and status says degraded' \
		"$witness"'
		witness_is B
		status; grep "^data: degraded" /root/status; grep "$(leg A)" /root/status'
	sleep 2
	(($(stat -c %s "$VM/told") > out)) || {
		echo 'not ok - the writers go on'
		return 1
	}
	echo 'ok - the writers go on'
	all_there 'without the disk'
	rm "$VM/A.write"
	whole_again 'the disk can be written again'
	check 'and the witness names both' "$witness"'witness_is A B'

	guest 'echo given=aaaaaaaa-0000-0000-0000-000000000009 >>/etc/ramraid/state/data.witness'
	touch "$VM/A.read" "$VM/B.read"
	check 'no disk can be read when it is to be written down who is in sync, and md does not know: the witness vouches for none, and what was given up stays so' '
		code=0; ramraid witness >/root/out 2>&1 || code=$?
		cat /root/out /etc/ramraid/state/data.witness; test $code = 1
		test "$(slots data)" = UUU
		grep "no superblock of a leg in sync could be read" /root/out
		grep "vouches for no disk leg now" /root/out
		grep -x void=1 /etc/ramraid/state/data.witness
		fails grep ^legs= /etc/ramraid/state/data.witness
		grep -x given=aaaaaaaa-0000-0000-0000-000000000009 /etc/ramraid/state/data.witness
		test $(sed -n s/^seen=//p /etc/ramraid/state/data.witness | wc -w) -ge 2
		ramraid check data >/root/out 2>&1 || :; cat /root/out
		grep "which legs were in sync could not be recorded" /root/out'
	rm "$VM/A.read" "$VM/B.read"
	check 'they can be read again: the next record names both, and forgets nothing either' \
		"$witness"'
		ramraid witness; witness_is A B
		grep -x given=aaaaaaaa-0000-0000-0000-000000000009 /etc/ramraid/state/data.witness
		sed -i /^given=/d /etc/ramraid/state/data.witness; findmnt /srv/data'

	begin 3
	check 'the ramdisk fails under the writers: the array stays up on its disks' "$witness"'
		mdadm -q /dev/md/data --fail /dev/$(cut -d" " -f2 /run/ramraid/data.ram)
		sleep 2; test "$(slots data | tr -d _)" = UU; findmnt /srv/data
		status; fails grep "^data: whole" /root/status'
	check 'attach takes it out and makes a new one, under the writers' '
		attach data; test "$(slots data)" = UUU'
	all_there 'the ramdisk failed'
	check 'the legs are equal' 'test "$(compare data)" = 0'

	begin 4
	vm_unplug B
	check 'a disk vanishes under the writers: the array stays up, and the witness names the other' "$witness"'
		for i in $(seq 150); do [ -e $(leg B) ] || break; sleep 0.2; done
		test ! -e $(leg B)
		for i in $(seq 150); do [ "$(slots data)" != UUU ] && break; sleep 0.2; done
		test "$(slots data)" != UUU
		witness_is A
		status; grep "^data: degraded" /root/status; grep "missing .*$(leg B)" /root/status'
	all_there 'without the disk that vanished'
	vm_plug B
	check 'it is back' '
		for i in $(seq 150); do [ -e $(leg B) ] && break; sleep 0.2; done; test -e $(leg B)'
	whole_again 'the disk that vanished is back'

	begin 5
	echo 800K >"$VM/A.rate.new" && mv "$VM/A.rate.new" "$VM/A.rate"
	sleep 10
	check 'a disk becomes a hundred times slower: nothing fails, and it is still whole' '
		test "$(slots data)" = UUU; ramraid status data; findmnt /srv/data'
	echo 10G >"$VM/A.rate.new" && mv "$VM/A.rate.new" "$VM/A.rate"
	all_there 'after the slow disk'
	check 'the legs are equal after it' 'test "$(compare data)" = 0'

	begin 6
	guest '
		dd if=/dev/zero of=/fill bs=1M 2>/dev/null || :
		for i in $(seq 2000); do echo x >>/fill2 2>/dev/null || break; done'
	check 'the root file system is full and a leg leaves: it is noted all the same, and nothing else happens' "$witness"'
		fails dd if=/dev/zero of=/fill3 bs=4k count=1 status=none 2>/dev/null
		mdadm -q /dev/md/data --fail $(node B); witness_is A
		test "$(slots data)" != UUU; findmnt /srv/data'
	check 'attach works all the same' '
		mdadm -q /dev/md/data --remove $(node B)
		attach data; test "$(slots data)" = UUU; test "$(compare data)" = 0'
	reboot
	check 'and so does a reboot' '
		test "$(slots data)" = UUU; ramraid status data; cd /srv/data
		sha256sum --quiet -c /root/sums; rm -f /fill /fill2 /fill3'
	all_there 'the root file system was full'
}
