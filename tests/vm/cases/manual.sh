# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands
# Runs the examples in the pages of the verbs as they are printed there, at a terminal, in an order
# in which each finds what it needs. Every page has one that is run here. Not run are examples that
# do not end by themselves (status --watch), take minutes more of the same (selftest --rounds, bench
# --json), or need a program that the system of the bench does not have (lz4, gnuplot).
# tests/unit/manual.bats runs those for programs.
checked_on trixie
long
image stacks
disk A 13G discard=unmap,detect-zeroes=unmap
disk B 13G discard=unmap,detect-zeroes=unmap
disk C 13G discard=unmap,detect-zeroes=unmap
may_fail ramraid@data.service srv-data.mount

RAN=' '

# printed VERB NUMBER: prints the commands of that example in the page of VERB, without the prompt.
printed() {
	awk -v number="$2" '
		$0 == "== EXAMPLES" { inside = 1; next }
		inside && /^== / { exit }
		inside && $0 == "----" { open = !open; count += open; next }
		inside && open && count == number && sub(/^[#$] /, "")' \
		"$here/../../man/ramraid-$1.8.adoc"
}

# typed VERB NUMBER [ANSWER [CODE]]: runs that example. Each of its commands has to end with 0, or
# CODE; questions get ANSWER.
typed() {
	local line script='' EXEC_SECONDS=1200
	while IFS= read -r line; do
		printf -v script '%styped %q %q %s\n' "$script" "$line" "${3-}" "${4-0}"
	done < <(printed "$1" "$2")
	[[ -n $script ]] || {
		printf 'not ok - ramraid-%s(8) has no example %s\n' "$1" "$2"
		return 1
	}
	check "ramraid-$1(8), example $2" "$terminal$script" || return
	RAN+="$1 "
}

readonly terminal='
	export SHELL=/bin/bash HOME=/root TERM=vt100
	typed() {
		local code=0
		echo "# $1"
		printf "%s\n" "$2" | script --quiet --return --command "$1" /dev/null || code=$?
		[ $code = 0 ] || [ $code = $3 ]
	}
'
readonly tools='
	until_whole() { ramraid wait --timeout=2min data; }
	part() { echo $(leg $1)-part2; }
'

steps() {
	local page verb
	boot
	guest '
		for d in A B C; do
			printf "%s\n" "label: gpt" ",8M" ",160M" "," | sfdisk -q --wipe always $(node $d)
			printf "%s, SYMLINK+=\"disk/by-id/ata-DISK-%s-part2 disk/by-id/DISK-%s-part2%s\"\n" \
				"ENV{ID_SERIAL}==\"0QEMU_QEMU_HARDDISK_$d\", ENV{PARTN}==\"2\"" $d $d \
				"$([ $d != B ] || echo " disk/by-path/pci-0000:00:17.0-ata-2")"
		done >/etc/udev/rules.d/99-manual.rules
		udevadm control --reload; udevadm trigger --settle
		ls -l /dev/disk/by-id/ata-DISK-?-part2 /dev/disk/by-path/pci-0000:00:17.0-ata-2
		mkdir -p /var/lib/postgresql; cp -r /usr/lib/udev /var/lib/postgresql/
		printf "%s\n" "[Service]" Type=oneshot ExecStart=/bin/true \
			>/etc/systemd/system/nightly-report.service' || return
	typed create 1 y && made && looked_at && changed && stopped && lost && left && others ||
		return
	for page in "$here"/../../man/ramraid-*.8.adoc; do
		verb=${page##*/ramraid-} verb=${verb%.8.adoc}
		[[ $verb == @(generator|internal) || $RAN == *" $verb "* ]] || {
			printf 'not ok - an example of ramraid-%s(8) was run\n' "$verb"
			return 1
		}
	done
	printf 'ok - an example of every page of a verb was run\n'
}

made() {
	check 'it is whole, and mounted' "$tools"'
		until_whole; findmnt /srv/data; echo something >/srv/data/file; sync'
}

looked_at() {
	local number
	for number in 1 2 4; do typed status "$number" || return; done
	for number in 1 2; do typed list "$number" || return; done
	typed wait 1 || return
	for number in 1 2; do typed events "$number" || return; done
	guest '
		printf "%s\n" "#!/bin/sh" "cat >/dev/null" >/usr/sbin/sendmail
		chmod 755 /usr/sbin/sendmail' || return
	for number in 1 2 3 4; do typed check "$number" || return; done
	guest 'rm /usr/sbin/sendmail' || return
	for number in 1 2 3; do typed config "$number" || return; done
	for number in 1 3; do typed estimate "$number" || return; done
	for number in 1 2; do typed metrics "$number" || return; done
	typed bench 1 || return
	for number in 1 2; do typed scrub "$number" || return; done
	for number in 1 3 4; do typed selftest "$number" || return; done
	for number in 1 2; do typed help "$number" || return; done
	for number in 1 3 2; do typed claim "$number" || return; done
	guest 'ramraid claim' >/dev/null
}

changed() {
	typed detach 1 || return
	guest "$tools"'mdadm /dev/md/data --fail $(readlink -f $(part B))' || return
	typed attach 2 && typed attach 1 && typed detach 2 || return
	guest "$tools"'sed -i "/^RAM=/d" /etc/ramraid/data.conf; ramraid attach data; until_whole' ||
		return
	typed replace 1 y && typed replace 3 y && typed replace 4 y || return
	# The new disk has the name of the one that failed.
	guest "$tools"'
		systemctl stop ramraid-hotplug.service || :
		b=$(readlink -f $(part B))
		sed -i "/DISK_B\|DISK-B/d" /etc/ramraid/data.conf
		u=$(blkid -o value -s PARTUUID $b); sed -i "/$u/d" /etc/ramraid/data.conf
		echo MEMBER=/dev/disk/by-path/pci-0000:00:17.0-ata-2 >>/etc/ramraid/data.conf
		cat /etc/ramraid/data.conf
		mdadm /dev/md/data --fail $b
		for i in $(seq 50); do mdadm /dev/md/data --remove $b && break; sleep 0.1; done
		mdadm --zero-superblock $b; wipefs -a $b; settle' || return
	typed replace 2 y || return
	guest "$tools"'
		until_whole
		sed -i s,by-path/.*,by-id/ata-DISK-B-part2, /etc/ramraid/data.conf' || return
	typed apply 1 y || return
	check 'it has three disk legs now; and then two again' "$tools"'
		until_whole; test "$(slots data)" = UUUU
		sed -i /DISK-C/d /etc/ramraid/data.conf; ramraid apply --yes data
		until_whole; test "$(slots data)" = UUU'
}

stopped() {
	typed stop 1 || return
	check 'it is mounted again' 'findmnt /srv/data; grep something /srv/data/file'
	guest 'ramraid stop data' && typed start 1 || return
	guest "$tools"'
		ramraid stop data
		for d in A B; do
			for i in 1 2 $([ $d = A ] || echo 3 4 5); do
				mdadm --assemble --run /dev/md9 $(readlink -f $(part $d)); settle
				echo "$d $i" >/root/at; dd if=/root/at of=/dev/md9 bs=4k seek=20000 conv=sync
				sync; mdadm --stop /dev/md9; settle
			done
		done
		fails ramraid start data' >/dev/null || return
	# The array runs without the other disk.
	typed start 2 y 1 || return
	check 'the other disk is rebuilt' "$tools"'
		until_whole; test "$(slots data)" = UUU; systemctl start srv-data.mount
		test "$(compare data)" = 0'
}

# The RAM leg is the only good copy when the machine goes down.
lost() {
	guest "$tools"'
		sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab; systemctl daemon-reload
		for d in A B; do
			n=$(readlink -f $(part $d))
			mdadm /dev/md/data --fail $n
			for i in $(seq 50); do mdadm /dev/md/data --remove $n && break; sleep 0.1; done
			gone $d; echo "without $d" >>/srv/data/file; sync; sleep 1
		done' || return
	vm_down reboot && boot || return
	typed restore 1 y || return
	check 'what was written last is there' "$tools"'
		until_whole; grep "without B" /srv/data/file
		fails compgen -G "/var/lib/ramraid/data/rescue-*"'
}

left() {
	typed release 1 y && typed release 2 && typed adopt 1 || return
	guest '
		umount /srv/data; mdadm --stop /dev/md/data; settle
		mdadm --assemble --run /dev/md127 /dev/disk/by-id/ata-DISK-[AB]-part2; settle
		mount /srv/data' || return
	typed adopt 2 y || return
	check 'it is whole again, and still mounted' "$tools until_whole; findmnt /srv/data"
	typed adopt 5 y || return
	guest '
		umount /srv/data; u=$(sed -n "s/^UUID=\([^ ]*\) .*/\1/p" /etc/fstab | tail -n 1)
		mdadm --stop /dev/md127; settle
		mdadm --assemble --run /dev/md0 /dev/disk/by-id/ata-DISK-[AB]-part2; settle
		sed -i "s,^UUID=[^ ]* /srv/data,/dev/md0 /srv/data," /etc/fstab; cat /etc/fstab
		systemctl daemon-reload; mount /srv/data' || return
	typed adopt 3 y || return
	check 'fstab names what lasts; and without its ramdisk' "$tools"'
		until_whole; grep "^UUID=.* /srv/data" /etc/fstab; ramraid release --yes data
		umount /srv/data; mdadm --stop $(mdadm --detail --scan | sed "s/ARRAY \([^ ]*\).*/\1/")' ||
		return
	typed adopt 4 y || return
	guest "$tools"'until_whole; mount /srv/data; grep "without B" /srv/data/file' || return
	typed destroy 1 data
}

# Other kinds of arrays.
others() {
	typed create 2 || return
	guest "$tools"'until_whole; ramraid destroy --yes data' || return
	typed create 3 y || return
	guest "$tools"'
		until_whole; ramraid destroy --yes data
		pvcreate -q -y $(leg A)-part3; pvcreate -q -y $(leg B)-part3
		vgcreate -q vg0 $(leg A)-part3; vgcreate -q vg1 $(leg B)-part3
		lvcreate -q -y -n data-a -L 200M vg0; lvcreate -q -y -n data-b -L 200M vg1
		ramraid create --yes --ram=none data /dev/vg0/data-a /dev/vg1/data-b
		make_ext4 /dev/md/data; mount /dev/md/data /srv/data; echo x >/srv/data/file' || return
	typed resize 1 y || return
	check 'it is larger, with what was on it' '
		test $(blockdev --getsize64 /dev/md/data) -gt 10000000000
		test $(df --output=size -B1 /srv/data | tail -n 1) -gt 10000000000
		grep x /srv/data/file'
}
