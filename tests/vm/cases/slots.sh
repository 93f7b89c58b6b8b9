# shellcheck shell=bash disable=SC2016 # single quotes hold what the guest expands
# A slot is not a disk: md gives a new member the lowest free slot, and packs the members when their
# number changes. The RAM leg is in the slot of a disk that is away; that disk is used alone
# elsewhere; a change is made while a disk is away.
checked_on trixie
long
from installed
disk A 64M
disk B 64M
may_fail ramraid@data.service srv-data.mount

readonly tools='
	witness=/etc/ramraid/state/data.witness
	events() { mdadm --examine $(node $1) | sed -n "s/^ *Events : //p"; }
	new() {
		for i in $(seq $2); do
			head -c 4k /dev/urandom >/srv/data/$1$i; sync /srv/data/$1$i
			(cd /srv/data; sha256sum $1$i >>/root/sums)
		done
		sync /srv/data /root/sums
	}
	sums() { (cd /srv/data; sha256sum --quiet -c /root/sums); }
	said() {
		systemctl show -p StatusText --value ramraid@data >/root/text; cat /root/text
		grep "$@" /root/text
	}
	'

steps() {
	boot
	check 'an array made by hand is adopted' "$tools"'
		mdadm --create --run --metadata=1.2 --level=1 --raid-devices=2 --bitmap=internal \
			--assume-clean /dev/md/data $(node A) $(node B) 2>&1
		mkdir /srv/data; make_ext4 /dev/md/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 nofail 0 2" \
			>>/etc/fstab
		systemctl daemon-reload
		mkdir -p /etc/ramraid/data.conf.d
		printf "%s\n" REBUILD=kernel START_DEGRADED=always MEMBER_TIMEOUT=5s \
			>/etc/ramraid/data.conf.d/test.conf
		ramraid adopt --yes data /dev/md/data; test "$(slots data)" = UUU
		findmnt /srv/data || mount /srv/data; new first 1'
	power_off
	VM_DISKS=(A)
	boot
	check 'A alone: files are written; the RAM leg has a slot' "$tools"'
		cat /proc/mdstat; findmnt /srv/data; new alone 20
		mdadm --examine $(node A) | grep "Array State\|Device Role"; cat $witness; sync
		sync -f /etc'
	kill_power
	VM_DISKS=(B)
	boot_early
	check 'B alone, by hand and without ramraid, until it has more events than A' "$tools"'
		systemctl stop ramraid@data 2>/dev/null || :
		systemctl mask --runtime ramraid@data ramraid-hotplug.service ramraid-mend@data \
			>/dev/null 2>&1 ||
			:
		for i in $(seq 100); do
			systemctl is-active ramraid@data | grep -q "activ" || break; sleep 0.3
		done
		mdadm --stop --scan || :
		b=$(events B); cp $witness /root/witness
		for i in $(seq 30); do
			mdadm --assemble --run /dev/md/other $(node B); named /dev/md/other
			dd if=/dev/urandom of=/dev/md/other bs=4k seek=8000 count=1 oflag=direct \
				conv=fsync status=none
			mdadm --stop /dev/md/other
		done
		echo "B had $b events, has $(events B); the record: $(grep ^events= $witness)"
		test "$(events B)" -gt "$(sed -n s/^events=//p $witness)"'
	kill_power
	VM_DISKS=(A B)
	boot
	check 'both: refused, or started from A; never from B, and neither is merged into the other' "$tools"'
		journalctl -b -u ramraid@data -o cat >/root/log; cat /root/log
		mdadm --examine $(node A) $(node B) | grep "Events\|Array State\|Device Role"
		fails grep -e "--re-add.*$(node A)" -e "--re-add.*$(node B)" /root/log
		if findmnt /srv/data; then
			sums; fails test -e /sys/block/$(md data)/md/dev-$(basename $(node B))
		else
			said "$(leg A)\|$(leg B)"
		fi'
	check 'the administrator decides for A: every file is there' "$tools"'
		findmnt /srv/data || {
			ramraid start --yes --force-leg=$(leg A) data || test $? = 1
			systemctl start srv-data.mount
		}
		sums; mdadm --zero-superblock $(node B); ramraid apply --yes data
		test "$(slots data)" = UUU; sums; test "$(compare data)" = 0'
	power_off
	VM_DISKS=(A)
	boot
	check 'a change while B is away: the slots are packed' "$tools"'
		findmnt /srv/data; sums; ramraid replace --help >/dev/null; cat /proc/mdstat
		cp /etc/ramraid/data.conf /root/data.conf
		grep -v "^MEMBER=$(leg B)$" /root/data.conf >/etc/ramraid/data.conf
		ramraid apply --yes data; cat /proc/mdstat; new packed 5
		cp /root/data.conf /etc/ramraid/data.conf
		mdadm --examine $(node A) | grep "Array State\|Device Role"'
	power_off
	VM_DISKS=(A B)
	boot
	check 'A, which has everything, is started; B, which missed a change, does not count as equal' \
		"$tools"'
		journalctl -b -u ramraid@data -o cat >/root/log; cat /root/log; findmnt /srv/data
		sums
		test "$(slots data | tr -d _ | wc -c)" -ge 3
		ramraid apply --yes data || ramraid status data; sums'
	check 'and the legs that are in sync are equal' 'test "$(compare data)" = 0'
}
