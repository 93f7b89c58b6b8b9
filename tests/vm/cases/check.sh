# ramraid check: silent on a healthy mirror; it finds whatever is planted there, and nothing else.
long
from small
disk A 40M
disk B 40M

# found EXIT-CODE CODE…: check finds exactly these. array, leg_b: the folders of the array, and of
# disk B in it, in sysfs.
readonly helpers='
found() {
	local want=$1 code=0; shift
	ramraid check --json >/root/check.json || code=$?
	cat /root/check.json; test $code = $want
	test "$(jq -r ".findings[].code" /root/check.json | sort | tr "\n" " ")" = \
		"$(printf "%s\n" "$@" | sort | tr "\n" " ")"
}
silent() {
	ramraid check >/root/out; cat /root/out; test "$(cat /root/out)" = "data: nothing to report"
}
array=/sys/block/$(md data)/md
leg_b=$array/dev-$(basename $(node B))
# image FILE: makes an initramfs of what is below /root/tree. Not every release has cpio.
image() {
	cat >/root/newc.pl <<"EOT"
use strict; use warnings; use File::Find;
my $number = 0;
sub entry {
	my ($name, $mode, $data) = @_;
	my $out = sprintf("070701" . "%08X" x 13, ++$number, $mode, 0, 0, 1, 0, length $data, 0, 0, 0,
		0, 1 + length $name, 0) . "$name\0";
	for ("", $data) { $out .= $_; $out .= "\0" x (-length($out) % 4) }
	print $out;
}
find({ no_chdir => 1, wanted => sub {
	my ($name, $data) = ($_, "");
	if (-f $name) { open my $in, "<:raw", $name or die; local $/; $data = <$in> }
	entry($name, (lstat $name)[2], $data);
} }, ".");
entry("TRAILER!!!", 0, "");
EOT
	(cd /root/tree; perl /root/newc.pl | gzip >"$1")
}
'

steps() {
	boot
	# Somebody is notified of a failed disk, but nobody of every boot.
	guest '
		printf "%s\n" "#!/bin/sh" "cat >/dev/null" >/usr/sbin/sendmail
		chmod 755 /usr/sbin/sendmail; systemctl --quiet mask --now mdmonitor.service'
	check 'a healthy mirror: nothing to report, with root and without, and nothing is left behind' "$helpers"'
		silent
		ramraid check --json | jq -e ".version == 2 and .findings == []"
		runuser -u nobody -- ramraid check data
		test -z "$(ls -d /var/tmp/*ramraid* 2>/dev/null)"
		sh /etc/kernel/postinst.d/zz-ramraid $(uname -r) >/root/out 2>&1
		test ! -s /root/out'
	check 'the initramfs knows it by the claim alone' '
		unmkinitramfs /boot/initrd.img-$(uname -r) /root/unpacked
		cat $(find /root/unpacked -path "*/etc/mdadm/mdadm.conf") >/root/out
		rm -r /root/unpacked; cat /root/out
		test "$(grep "^ARRAY" /root/out)" = \
			"$(grep "^ARRAY" /etc/mdadm/mdadm.conf.d/ramraid-data.conf)"'
	check 'what the next boot goes by: the unit, the claim, the memory, who is told, an adoption that has not ended' "$helpers"'
		systemctl --quiet disable ramraid@data; found 1 not-enabled
		systemctl --quiet enable ramraid@data
		claim=/etc/mdadm/mdadm.conf.d/ramraid-data.conf
		mv $claim /root/; found 1 not-claimed
		cp /root/ramraid-data.conf ${claim/data/other}; mv /root/ramraid-data.conf $claim
		found 1 claim-left; rm ${claim/data/other}
		mkdir -p /etc/ramraid/data.conf.d
		echo RAM_RESERVE=100% >/etc/ramraid/data.conf.d/test.conf; found 1 memory
		echo RAM_RESERVE=nonsense >/etc/ramraid/data.conf.d/test.conf; found 1 configuration
		rm /etc/ramraid/data.conf.d/test.conf
		sed -i s/^MAILADDR/#MAILADDR/ /etc/mdadm/mdadm.conf; found 0 no-mail
		sed -i s/^#MAILADDR/MAILADDR/ /etc/mdadm/mdadm.conf
		chmod 644 /usr/sbin/sendmail; found 0 no-mail; chmod 755 /usr/sbin/sendmail
		printf "uuid=%s\nbitmap=none\ndone=no\n" \
			$(sed -n s/^UUID=//p /etc/ramraid/data.conf) \
			>/etc/ramraid/state/data.adopted
		found 1 adopt-unfinished; rm /etc/ramraid/state/data.adopted; silent'
	check 'a kernel that is installed beside the running one: its flaw, its modules, its initramfs; told at its installation' "$helpers"'
		# DKMS has the source of rapiddisk, where there is one.
		dkms=$([ ! -d /var/lib/dkms/rapiddisk ] || echo dkms-failed)
		rapiddisk=${dkms:+no-rapiddisk}
		# Since Linux 6.19 the superblock has a field that older kernels refuse.
		old=$([ ! -e /sys/block/$(md data)/md/logical_block_size ] || echo kernel-too-old)
		new=6.10.3-test; mkdir -p /lib/modules/$new /root/tree/etc/mdadm /root/tree/usr/sbin
		: >/lib/modules/$new/modules.dep; : >/boot/vmlinuz-$new
		found 1 kernel-flaw kernel-untried no-ram-module no-initramfs $dkms $old
		cp /usr/sbin/mdadm /root/tree/usr/sbin/
		cp /etc/mdadm/mdadm.conf /root/tree/etc/mdadm/
		image /boot/initrd.img-$new
		found 1 kernel-flaw kernel-untried no-ram-module not-claimed-initramfs $dkms $old
		sh /etc/kernel/postinst.d/zz-ramraid $new >/root/out 2>&1; cat /root/out
		grep not-claimed-initramfs /root/out; grep "about Linux $new" /root/out
		echo kernel/drivers/block/brd.ko.xz: >/lib/modules/$new/modules.dep
		cat /etc/mdadm/mdadm.conf.d/ramraid-data.conf >>/root/tree/etc/mdadm/mdadm.conf
		image /boot/initrd.img-$new
		found 1 kernel-flaw kernel-untried $rapiddisk $dkms $old
		rm -r /lib/modules/$new /boot/*-$new; silent'
	check 'what is on it, and does not wait for it' "$helpers"'
		mkdir -p /mnt/hand /mnt/unit; cp /etc/fstab /root/fstab
		mount /dev/md/data /mnt/hand; found 0 used-ungated; umount /mnt/hand
		printf "[Mount]\nWhat=/dev/md/data\nWhere=/mnt/unit\n" \
			>/etc/systemd/system/mnt-unit.mount
		systemctl daemon-reload; systemctl start mnt-unit.mount; found 1 not-gated
		systemctl stop mnt-unit.mount; rm /etc/systemd/system/mnt-unit.mount
		systemctl daemon-reload; silent
		sed "s,/srv/data,/mnt/new,; s,defaults,noauto," /root/fstab |
			grep /mnt/new >>/etc/fstab
		found 1 gate-not-loaded
		# Or the record would be written again at any moment, now that fstab has changed.
		cp /root/fstab /etc/fstab
		systemctl stop ramraid-remember.path ramraid-remember.service
		: >/etc/ramraid/state/data.contents; systemctl daemon-reload; found 1 not-gated
		ramraid remember; systemctl daemon-reload; systemctl start ramraid-remember.path
		silent'
	check 'the array: bitmap, write-behind, write-mostly, the record, the name of a leg' \
		"$helpers"'
		mdadm --grow /dev/md/data --bitmap=none; found 1 no-bitmap
		mdadm --grow /dev/md/data --bitmap=internal
		echo 256 >$array/bitmap/backlog; found 1 write-behind; echo 0 >$array/bitmap/backlog
		echo -writemostly >$leg_b/state; found 0 not-write-mostly
		echo writemostly >$leg_b/state
		# A RAM leg that md does not read from: it calls its blocks bad. In pieces of 512
		# sectors, which is what an entry of the list holds:
		# Linux 6.1 splits a longer one and puts its pieces in from last to first, where its
		# own search does not find them (block/badblocks.c, badblocks_set).
		bad=$array/dev-$(awk "{ print \$2 }" /run/ramraid/data.ram)/bad_blocks
		for sector in $(seq 0 512 $(cat /sys/block/$(md data)/size)); do
			echo "$sector 512" >$bad
		done
		found 1 disk-reads
		ramraid detach data; ramraid attach data; silent
		# A look that is still to come would write the record again.
		rests
		# The second copy alone is a record as well.
		mv /etc/ramraid/state/data.witness /root/; silent
		mkdir /root/copy; mv /boot/ramraid/*.witness /root/copy/; found 1 no-witness
		mv /root/copy/* /boot/ramraid/; mv /root/data.witness /etc/ramraid/state/
		link=$(readlink $(leg B)); rm $(leg B); found 1 member-name; ln -s $link $(leg B)
		silent'
	check 'and when a leg is not there' "$helpers"'
		mdadm -q /dev/md/data --fail $(node B); found 1 leg-faulty
		for i in $(seq 50); do
			mdadm -q /dev/md/data --remove $(node B) 2>/dev/null && break; sleep 0.1
		done
		found 1 leg-outside
		ramraid attach data; silent
		ramraid detach data; found 1 no-ram-leg
		ramraid attach data; silent; test "$(compare data)" = 0; cd /srv/data
		sha256sum --quiet -c /root/sums'
}
