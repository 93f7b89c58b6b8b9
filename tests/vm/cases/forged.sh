# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands
# What somebody can forge who can't read any leg: a superblock with the UUID of the array, which
# everybody can read, on a device that has taken over the name of a leg; and arrays that have, or
# whose partitions have, the names of ours.
long
from installed
disk A 66M
disk B 66M
disk C 64M
disk D 64M
disk E 96M
disk F 96M
may_fail ramraid@data.service

readonly tools='
	part() { echo /dev/disk/by-partuuid/7a6f6e0$1-01; }
	# table DEVICE NUMBER: one partition, with a PARTUUID of its own
	table() {
		perl -e "print qq(\0) x 440, pack(q(V), 0x7a6f6e00 + $2), qq(\0) x 2,
			pack(q(C8VV), 0, 0, 2, 0, 0x83, 255, 255, 255, 2048, ${3:-129024}),
			qq(\0) x 48, qq(\x55\xaa)" >/root/mbr
		settle; dd if=/root/mbr of=$1 bs=512 conv=notrunc,fsync status=none; settle
	}
	looks() { touch /run/ramraid/event; sleep 15; settle; }
	'

steps() {
	boot
	check 'a mirror of two partitions, a secret on it; the RAM leg is out, as when memory is short' "$tools"'
		for d in A:1 B:2; do
			table $(node ${d%:*}) ${d#*:}; blockdev --rereadpt $(node ${d%:*}); settle
		done
		ramraid create --yes data $(part 1) $(part 2); test "$(slots data)" = UUU
		make_ext4 /dev/md/data; mount /dev/md/data /mnt
		(umask 077; for i in $(seq 2000); do echo "ROOTS-OWN-SECRET-$i"; done >/mnt/secret); sync
		ramraid detach data; test "$(slots data)" = _UU'
	check 'a user makes a file up, and has it on a loop device by the name of a leg' "$tools"'
		uuid=$(basename /dev/disk/by-id/md-uuid-*); uuid=${uuid#md-uuid-}
		runuser -u nobody -- truncate -s 66M /tmp/made.img; table /tmp/made.img 1
		cat >/tmp/forge.pl <<"EOT"
my ($uuid, $file, $events) = @ARGV; $uuid =~ s/://g;
my $s = "\0" x 4096; my $max = 4;
sub put { substr($s, $_[0], length $_[1]) = $_[1] }
put(0, pack("VV", 0xa92b4efc, 1)); put(8, pack("V", 1)); put(16, pack("H*", $uuid)); put(72, pack("V", 1));
put(80, pack("Q<", 120000)); put(92, pack("V", 3)); put(96, pack("V", 8));
put(128, pack("Q<", 2048)); put(136, pack("Q<", 120000)); put(144, pack("Q<", 8));
put(160, pack("V", 1)); put(168, "mallory-mallory-"); put(184, "\1");
put(200, pack("Q<", $events)); put(208, "\xff" x 8); put(220, pack("V", $max));
put(256, pack("v4", 0, 1, 2, 0xffff));
my $sum = 0; $sum += $_ for unpack("V" . ((256 + 2 * $max) / 4), $s);
put(216, pack("V", (($sum & 0xffffffff) + ($sum >> 32)) & 0xffffffff));
open(my $f, "+<", $file) or die; seek $f, 2048 * 512 + 4096, 0; print $f $s;
EOT
		chmod 644 /tmp/forge.pl; runuser -u nobody -- perl /tmp/forge.pl $uuid /tmp/made.img 1
		losetup -f -P --show /tmp/made.img; settle
		readlink -f $(part 1) | grep loop'
	check 'hot-plug leaves it alone, and so does "attach"; the user has nothing' "$tools"'
		looks; ramraid attach data >/root/said 2>&1 || :; cat /root/said; ramraid status data || :
		fails grep loop /proc/mdstat
		fails runuser -u nobody -- grep -qa ROOTS-OWN-SECRET /tmp/made.img'
	check 'nor when a leg is lost' "$tools"'
		mdadm /dev/md/data --fail $(node A)1
		for i in $(seq 50); do mdadm /dev/md/data --remove $(node A)1 && break; sleep 0.1; done
		gone A; looks; ramraid attach data >/root/said 2>&1 || :; cat /root/said
		fails grep loop /proc/mdstat
		fails runuser -u nobody -- grep -qa ROOTS-OWN-SECRET /tmp/made.img
		losetup -D; back A; looks; ramraid attach data || :
		for i in $(seq 100); do [ "$(slots data)" = UUU ] && break; sleep 0.5; done
		test "$(slots data)" = UUU; grep -q SECRET-7 /mnt/secret; umount /mnt'

	check 'arrays named like a partition of ours, or with a partition named like ours: they get no such link' \
		"$tools"'
		ramraid create --yes other $(leg E); ramraid create --yes vault1 $(leg F)
		table /dev/md/other 3 100000; blockdev --rereadpt /dev/md/other; named /dev/md/other1
		make_ext4 /dev/md/other1; make_ext4 /dev/md/vault1; ramraid remember
		one=$(readlink -f /dev/md/other1) two=$(readlink -f /dev/md/vault1)
		mdadm --create /dev/md/made --run --level=1 --raid-devices=2 --metadata=1.2 \
			--homehost=any --name=other1 $(node C) missing
		named /dev/md/made; mdadm --stop /dev/md/made
		mdadm --create /dev/md/made --run --level=1 --raid-devices=2 --metadata=1.2 \
			--homehost=any --name=vault $(node D) missing
		named /dev/md/made; md=$(readlink -f /dev/md/made); table $md 4 100000; mdadm --stop $md
		gone C D; settle; back C D; sleep 3; cat /proc/mdstat; ls -l /dev/md
		test $(grep -c "^md.*active" /proc/mdstat) -ge 5
		test "$(readlink -f /dev/md/other1)" = $one; test "$(readlink -f /dev/md/vault1)" = $two'
	reboot
	check 'nor at a boot' "$tools"'
		cat /proc/mdstat; ls -l /dev/md; systemctl start ramraid@other ramraid@vault1
		readlink -f /dev/md/other1 | grep "^$(readlink -f /dev/md/other)p1$"
		test "$(readlink -f /dev/md/vault1)" = "$(readlink -f \
			/dev/disk/by-id/md-uuid-$(sed -n "s/^UUID=//p" /etc/ramraid/vault1.conf | tr -d - |
				sed "s/......../&:/g;s/:$//"))"'
}
