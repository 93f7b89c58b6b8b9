# destroy: refused while anything uses the array; wipes what carries its UUID and nothing else. When
# it was killed in the middle, the same command completes it. Nothing of the array comes back at the
# next boot.
checked_on trixie
long
from mirror
disk A 96M
disk B 96M
disk C 96M

readonly unharmed='
	test "$(slots data)" = UUU; test -e /etc/ramraid/data.conf
	systemctl is-enabled ramraid@data; mdadm --examine $(node A) >/dev/null
	mdadm --examine $(node B) >/dev/null
	'
readonly gone='
	fails mdadm --examine $(node A); fails mdadm --examine $(node B); test ! -e /dev/md/data
	no_ramdisk; test ! -e /etc/ramraid/data.conf
	test ! -e /etc/mdadm/mdadm.conf.d/ramraid-data.conf
	test -z "$(find /etc/ramraid/state /run/ramraid -maxdepth 1 -name "data.*")"
	test -z "$(find /boot -name "*.witness")"
	fails systemctl is-enabled ramraid@data; fails systemctl is-active ramraid@data
	test -z "$(systemctl --failed --plain --no-legend)"
	'
steps() {
	boot
	check 'mounted, or only open: refused, who uses it is named, and it goes on' '
		refused() {
			code=0; ramraid destroy --yes data >/root/out 2>&1 || code=$?; cat /root/out
			test $code = 4; grep "is in use by $1" /root/out
		}
		ramraid wait data; refused /srv/data; findmnt /srv/data
		umount /srv/data; sleep 300 </dev/md/data & pid=$!; sleep 0.5
		refused "sleep (PID $pid)"; kill $pid; wait $pid || :
		code=0; ramraid destroy data </dev/null >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 2'"$unharmed"
	check '--dry-run prints every command, and changes nothing' '
		ramraid destroy --dry-run data >/root/out; cat /root/out
		for line in "mdadm --stop /dev/$(md data)" "mdadm --zero-superblock $(node A)" \
			"mdadm --zero-superblock $(node B)" "rm -f -- /etc/ramraid/data.conf" \
			"systemctl --quiet disable ramraid@data.service"; do
			grep -xF -- "$line" /root/out; done'"$unharmed"
	check 'on a terminal it names what it wipes, and another answer than the name changes nothing' '
		printf "y\n" | script -qec "ramraid destroy data" /dev/null >/root/out || :
		cat /root/out
		grep "wipe    $(leg A) ($(basename $(node A)))" /root/out
		grep "nothing was changed" /root/out'"$unharmed"
	check 'killed after the first superblock: what is configured stays so; the same again completes it, and leaves the disk of another array alone' '
		mdadm --create /dev/md/other --run --metadata=1.2 --level=1 --raid-devices=2 \
			missing $(node C)
		named /dev/md/other; mdadm --stop /dev/md/other; echo MEMBER=$(leg C) >>/etc/ramraid/data.conf
		ramraid destroy --yes data >/root/out 2>&1 & pid=$!
		for i in $(seq 600); do
			grep -q "zero-superblock" /root/out && break; sleep 0.05
		done
		kill -KILL $pid; wait $pid || :; cat /root/out; test -e /etc/ramraid/data.conf
		ramraid destroy --yes data >/root/out 2>&1; cat /root/out
		grep "data: destroyed" /root/out; grep "left: /etc/fstab: .* /srv/data$" /root/out
		mdadm --examine $(node C) | grep "Name : .*other"
		mdadm --zero-superblock $(node C)'"$gone"
	check 'the name and the disks can be used again, two arrays deep; the one below can not be destroyed first' '
		ramraid create --yes --no-wait --layout=far2 data $(leg A) $(leg B)
		ramraid wait data
		code=0; ramraid destroy --yes data-far2 >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4; grep "is a disk leg of data. Destroy that first" /root/out
		ramraid destroy --yes data >/root/out 2>&1; cat /root/out
		grep "left: the array data-far2, its disk leg; \
to destroy that too: ramraid destroy data-far2" /root/out
		ramraid destroy --yes data-far2; test ! -e /etc/ramraid/data-far2.conf
		test ! -e /dev/md/data-far2'"$gone"
	guest 'sed -i "\,/srv/data,d" /etc/fstab; systemctl daemon-reload; sync'
	reboot
	check 'after a reboot nothing of it comes back' 'test -z "$(ls /sys/block | grep "^md" || :)"; ramraid list -H >/root/out; test ! -s /root/out'"$gone"
}
