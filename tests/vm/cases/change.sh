# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# replace and apply on a mounted array with a writer: the disks change, nothing is lost and nothing
# is unmounted. With a kill in the middle, a dead disk, the last disk refused, the old one plugged
# in again, and a reboot at the end.
checked_on trixie
long
from mirror
disk A 96M
disk B 96M
disk C 96M
disk D 96M

# member NAME: prints its folder in sysfs. unharmed: mounted all the time, being written to, and the
# sums are right. written: stops the writer; all of it is there, and the legs are equal.
readonly helpers='
member() { echo /sys/block/$(md data)/md/dev-$(basename $(node $1)); }
names() { sed -n "s/^MEMBER=.*_HARDDISK_//p" /etc/ramraid/data.conf | sort | tr -d "\n"; }
since() { systemctl show -p ActiveEnterTimestampMonotonic --value srv-data.mount; }
writer() {
	rm -f /srv/data/c* /root/list; since >/run/since
	systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl /root/churn.pl write \
		/srv/data /root/list $1
	# Before its first file it does not know yet what to do when it is stopped.
	for i in $(seq 300); do
		[ -z "$(find /srv/data -name "c*" -print -quit)" ] || break; sleep 0.1
	done
}
unharmed() {
	test "$(since)" = "$(cat /run/since)"; systemctl is-active --quiet writer; cd /srv/data
	sha256sum --quiet -c /root/sums; cd /
}
written() {
	systemctl stop writer
	sync; echo 3 >/proc/sys/vm/drop_caches
	perl /root/churn.pl check /srv/data /root/list
	equal data
}
# whole DISK…: these and the RAM leg, write-mostly, configured, and no note left.
whole() {
	cat /proc/mdstat; ramraid status data
	for d; do grep write_mostly $(member $d)/state | grep in_sync; done
	test "$(slots data)" = "$(printf U; for d; do printf U; done)"
	test "$(names)" = "$(echo "$@" | tr -d " ")"
	test ! -e /etc/ramraid/state/data.leaving
	test "$(cat /sys/block/$(md data)/md/sync_action)" = idle
}
# killed: a replace of B by C that is killed while C is being built.
killed() {
	slow 2000
	ramraid replace --yes data $(leg B) $(leg C) >/root/out 2>&1 </dev/null & pid=$!
	for i in $(seq 900); do grep -q "recovery" /proc/mdstat && break; sleep 0.1; done
	grep write_mostly $(member C)/state; kill -KILL $pid; wait $pid || :; cat /root/out
}
slow() { echo $1 >/sys/block/$(md data)/md/sync_speed_max; }
'
steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'what would leave no good disk, or takes a disk in use, is refused, and nothing is changed' "$helpers"'
		writer 1; cp /etc/ramraid/data.conf /root/before.conf
		code=0; ramraid replace data $(leg B) $(leg C) >/root/out 2>&1 </dev/null || code=$?
		cat /root/out; test $code = 2
		code=0; ramraid replace --yes data $(leg B) $(leg A) >/root/out 2>&1 || code=$?
		cat /root/out; test $code = 4
		sed -i "/^MEMBER=/d" /etc/ramraid/data.conf
		echo MEMBER=$(leg B)-none >>/etc/ramraid/data.conf
		code=0; ramraid apply --yes data >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4; grep "leave no disk in sync" /root/out
		cat /root/before.conf >/etc/ramraid/data.conf
		ramraid replace --dry-run data $(leg B) $(leg C)
		cmp /etc/ramraid/data.conf /root/before.conf; whole A B; unharmed'
	check 'replace, killed while the new disk is being built: both are configured, the new one is write-mostly' "$helpers"'
		killed; test "$(names)" = ABC; grep in_sync $(member B)/state; unharmed'
	check 'it is called off by deleting the line of the new disk: the old one stays' "$helpers"'
		code=0; ramraid status --problems data >/root/out || code=$?; cat /root/out
		test $code = 1; grep "unfinished: expected a change of the disks" /root/out
		slow system
		sed -i "/^MEMBER=.*_HARDDISK_C$/d" /etc/ramraid/data.conf
		ramraid apply --yes data 2>&1 | tee /root/out
		whole A B; unharmed; fails mdadm --examine $(leg C)'
	check 'the same again completes it, under the writer; status and witness are right' \
		"$helpers"'
		killed; slow system
		ramraid replace --yes data $(leg B) $(leg C)
		whole A C; unharmed; fails mdadm --examine $(leg B)
		grep "^legs=[^ ]* [^ ]*$" /etc/ramraid/state/data.witness
		grep "^given=" /etc/ramraid/state/data.witness
		written'
	check 'the old disk, pulled out and plugged in again, is not merged by hot-plug' "$helpers"'
		gone B; sleep 1; back B; sleep 5; attach data
		test ! -e $(member B); whole A C'
	check 'a dead disk: the new one takes its slot' "$helpers"'
		writer 2; old=$(leg C); gone C; sleep 1; cat /proc/mdstat
		ramraid replace --yes data $old $(leg D)
		whole A D; unharmed
		back C; sleep 3; attach data; test ! -e $(member C); whole A D'
	# While there are fewer slots than legs, nobody knows what the bitmap has kept.
	check 'apply: a disk that has returned is rebuilt as a whole, beside a new one that is named first' \
		"$helpers"'
		md=$(md data); mdadm /dev/$md --fail $(node D) --remove $(node D); sleep 1
		mdadm --zero-superblock $(node C)
		sed -i "s,^MEMBER=$(leg A)$,MEMBER=$(leg C)," /etc/ramraid/data.conf
		grep ^MEMBER= /etc/ramraid/data.conf | head -n 1 | grep "_C$"
		ramraid apply --yes data 2>&1 | tee /root/out; fails grep re-add /root/out
		grep "md rebuilds $(leg C)" /root/out; grep "md rebuilds $(leg D)" /root/out
		whole C D; unharmed'
	check 'apply: one is added and one is taken out; the file is in the end as it was written' \
		"$helpers"'
		sed -i "s,^MEMBER=$(leg C)$,MEMBER=$(leg B)," /etc/ramraid/data.conf
		cp /etc/ramraid/data.conf /root/wanted.conf
		ramraid apply --dry-run data | tee /root/out; grep "build.*HARDDISK_B" /root/out
		grep "take out.*HARDDISK_C" /root/out
		ramraid apply --yes data
		cmp /etc/ramraid/data.conf /root/wanted.conf; whole B D; unharmed
		fails mdadm --examine $(leg C); written'
	check 'a blank disk under the name of a member that was taken out: one name is enough, and the file stays as it is' "$helpers"'
		mdadm /dev/md/data --fail $(node B) --remove $(node B); sleep 1; code=0
		ramraid replace --yes data $(leg B) >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4
		grep "is the disk that was there before. To put it back: ramraid attach data" \
			/root/out
		mdadm --zero-superblock $(node B); code=0
		ramraid replace --yes data $(leg C) >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 2; grep "is no MEMBER of it" /root/out
		ramraid replace --yes data $(leg B); cmp /etc/ramraid/data.conf /root/wanted.conf
		whole B D; equal data
		ramraid replace --yes data $(leg D) 2>/root/out
		grep "nothing to do: $(leg D) is in the array, and in sync" /root/out'
	reboot
	check 'after a reboot it is whole, mounted, with the new disks alone' "$helpers"'
		findmnt /srv/data; whole B D; cd /srv/data; sha256sum --quiet -c /root/sums; cd /
		equal data; test ! -e $(member A)'
}
