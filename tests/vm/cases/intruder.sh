# What somebody may try who has a user's account, or a stick to plug in: locks that are not theirs,
# a name that is not theirs. Also what the sandbox keeps our programs from once somebody has tricked
# them into something.
checked_on trixie
long
image stacks
from mirror
disk A 96M
disk B 96M
disk C 64M
disk D 64M
disk E 64M

readonly tools='
	whole() {
		test "$(slots data)" = UUU; findmnt -n /srv/data
		(cd /srv/data; sha256sum --quiet -c /root/sums); test ! -e /srv/data/evil
	}
	'

steps() {
	boot
	check 'the sandbox: of /run only two folders, of /proc/sys and /etc nothing' '
		cat >/root/try <<"EOT"
for f in /run/ramraid/probe /run/mdadm/probe /etc/ramraid/state/probe /var/lib/ramraid/probe; do
	touch $f && rm $f || echo "can not: $f"
done
for f in /run/probe /run/systemd/system/probe.conf /run/udev/rules.d/probe /run/udev/data/probe \
	/etc/probe /etc/mdadm/mdadm.conf.d/probe /usr/probe /var/probe /tmp/probe /root/probe \
	/boot/probe; do
	touch $f 2>/dev/null && echo "can: $f"
done
for f in /proc/sys/vm/swappiness /proc/sys/kernel/core_pattern /proc/sysrq-trigger \
	/sys/fs/cgroup/cgroup.procs; do
	(echo 60 >$f) 2>/dev/null && echo "can: $f"
done
mount -t tmpfs none /mnt 2>/dev/null && echo "can: mount"
unshare --user true 2>/dev/null && echo "can: unshare"
echo tried
EOT
		mkdir -p /run/systemd/system/probe.service.d
		cp /usr/lib/systemd/system/ramraid-hotplug.service.d/50-sandbox.conf \
			/run/systemd/system/probe.service.d/
		printf "%s\n" "[Unit]" DefaultDependencies=no "[Service]" Type=oneshot \
			"ExecStart=/bin/sh /root/try" >/run/systemd/system/probe.service
		mkdir -p /run/udev/rules.d; systemctl daemon-reload; systemctl start probe.service
		journalctl -b -u probe.service -o cat | grep -v probe.service >/root/out
		cat /root/out
		grep -x tried /root/out; fails grep "^can" /root/out'
	check 'a user reads no leg, and locks all that can be opened: nothing waits for that' \
		"$tools"'
		for f in $(ram data) $(node A) /dev/$(md data) /etc/ramraid/state/data.witness; do
			fails runuser -u nobody -- head -c 1 $f >/dev/null 2>&1
		done
		cat >/tmp/hold.pl <<"EOT"
use Fcntl qw(:flock); use File::Find; $| = 1;
my %held;
for (;;) {
	find({ no_chdir => 1, wanted => sub {
		return if $held{$_};
		open(my $h, "<", $_) or return;
		flock($h, LOCK_EX | LOCK_NB) and $held{$_} = $h
	} }, "/run/ramraid", "/run/mdadm", "/etc/ramraid");
	print scalar(keys %held), " held\n"; select undef, undef, undef, 0.1;
}
EOT
		chmod 644 /tmp/hold.pl
		runuser -u nobody -- perl /tmp/hold.pl >/tmp/held 2>/dev/null & holder=$!
		for i in $(seq 300); do grep -q held /tmp/held && break; sleep 0.1; done
		tail -n 1 /tmp/held; tail -n 1 /tmp/held | grep "[1-9] held"
		timeout 90 ramraid detach data; timeout 200 ramraid attach data
		timeout 60 ramraid witness; timeout 60 ramraid status data; kill $holder; whole'
	check 'without its folders in /run: stopped, and started again' "$tools"'
		systemctl stop srv-data.mount; systemctl stop ramraid@data; rm -rf /run/mdadm
		systemctl stop ramraid-hotplug.path; rm -rf /run/ramraid
		ramraid start data; systemctl start local-fs.target; whole; test -e /run/mdadm/map
		test "$(stat -c %a:%U /run/ramraid /run/ramraid/.locks | xargs)" = \
			"755:root 700:root"'
	check 'an array on a stick with the name of ours, for any host' "$tools"'
		mdadm --create /dev/md/evil --run --level=1 --raid-devices=2 --metadata=1.2 \
			--homehost=any --name=data $(node C) missing
		make_ext4 /dev/md/evil
		mkdir /mnt/evil; mount /dev/md/evil /mnt/evil; echo evil >/mnt/evil/evil
		umount /mnt/evil; mdadm --stop /dev/md/evil
		mdadm --examine $(node C) | grep "Name : any:data"
		# By its name, as many write it.
		sed -i "s,^UUID=[^ ]* /srv/data,/dev/md/data /srv/data," /etc/fstab; cat /etc/fstab
		systemctl daemon-reload'
	check 'plugged in while ours is stopped: without our rule the name is theirs, with it the name stays free' "$tools"'
		evil() { basename $(ls -d /sys/class/block/$(basename $(node C))/holders/md*); }
		systemctl stop srv-data.mount; systemctl stop ramraid@data; test ! -e /dev/md/data
		ln -s /dev/null /etc/udev/rules.d/65-ramraid.rules; udevadm control --reload; gone C
		for i in $(seq 50); do
			grep -q ^md /proc/mdstat || break; mdadm --stop --scan || :; sleep 0.2
		done
		back C; cat /proc/mdstat; ls -l /dev/md; test /dev/md/data -ef /dev/$(evil)
		gone C; mdadm --stop --scan; rm /etc/udev/rules.d/65-ramraid.rules
		udevadm control --reload
		back C; cat /proc/mdstat; ls -l /dev/md /dev/disk/by-id/md-* || :
		test ! -e /dev/md/data; test -e /dev/$(evil); ls /dev/disk/by-id/md-uuid-*
		fails ls /dev/disk/by-id/md-name-any:data
		ramraid start data; systemctl start local-fs.target; whole
		test ! /dev/md/data -ef /dev/$(evil)'
	check 'the same with a carriage return in its name: nothing in it is run, and the name stays free' "$tools"'
		evil() { basename $(ls -d /sys/class/block/$(basename $(node C))/holders/md*); }
		cat >/root/rename.pl <<"EOT"
my ($device, $name) = @ARGV;
$name =~ s/\^/\r/g;
open(my $f, "+<", $device) or die;
seek $f, 4096, 0; read $f, my $s, 4096;
substr($s, 32, 32) = pack "a32", $name;
substr($s, 216, 4) = "\0" x 4;
my $sum = 0; $sum += $_ for unpack("V" . ((256 + 2 * unpack("V", substr $s, 220, 4)) / 4), $s);
substr($s, 216, 4) = pack "V", (($sum & 0xffffffff) + ($sum >> 32)) & 0xffffffff;
seek $f, 4096, 0; print $f $s; close $f or die;
EOT
		mkdir -p /e/core
		printf "touch /run/pwned\n" | tee /e/core/load.sh >/e/core/environment.sh
		systemctl stop srv-data.mount; systemctl stop ramraid@data
		mdadm --stop /dev/$(evil); perl /root/rename.pl $(node C) "any:data^BASH_SOURCE=/e/x^X_Y=1"
		sync; mdadm --examine $(node C) | cat -A | grep -a Name; gone C; back C
		cat /proc/mdstat; ls -l /dev/md /dev/disk/by-id/md-* || :
		# mdadm and udev let it set what it likes.
		udevadm info --query=property /dev/$(evil) | tee /root/out; grep -x X_Y=1 /root/out
		fails grep BASH_SOURCE /root/out
		test ! -e /run/pwned; test ! -e /dev/md/data; ls /dev/disk/by-id/md-uuid-*
		fails ls /dev/disk/by-id/md-name-any:data
		ls -l /dev/disk/by-id/md-uuid-* | grep $(evil)
		# Its program alone, with what udev would have given it.
		fails env BASH_ENV=/e/core/load.sh BASH_SOURCE=/e/x \
			"BASH_FUNC_need%%=() { touch /run/pwned; }" \
			/usr/lib/ramraid/impostor dm-0 vg data
		test ! -e /run/pwned
		mdadm --stop /dev/$(evil); perl /root/rename.pl $(node C) any:data; gone C; back C
		ramraid start data; systemctl start local-fs.target; whole
		test ! /dev/md/data -ef /dev/$(evil)'
	check 'a volume group called md, with a volume data, while ours is stopped: likewise' "$tools"'
		systemctl stop srv-data.mount; systemctl stop ramraid@data; test ! -e /dev/md/data
		ln -s /dev/null /etc/udev/rules.d/65-ramraid.rules; udevadm control --reload
		pvcreate -q -y $(node D); vgcreate -q md $(node D)
		lvcreate -q -y -Wn --extents 100%FREE --name data md
		udevadm settle; ls -l /dev/md; test /dev/md/data -ef /dev/mapper/md-data
		make_ext4 /dev/mapper/md-data; mount /dev/mapper/md-data /mnt/evil
		echo evil >/mnt/evil/evil; umount /mnt/evil; vgchange -q -an md
		rm /etc/udev/rules.d/65-ramraid.rules; udevadm control --reload
		vgchange -q -ay md; udevadm settle; ls -l /dev/md /dev/mapper || :
		test -e /dev/mapper/md-data; test ! -e /dev/md/data
		ramraid start data; systemctl start local-fs.target; whole
		test ! /dev/md/data -ef /dev/mapper/md-data'
	check 'an array of metadata 0.90 with our UUID, as the kernel reads it' "$tools"'
		uuid=$(sed -n "s/^UUID=//p" /etc/ramraid/data.conf | tr -d -)
		# mdadm reads each word of it the other way round.
		theirs=$(echo $uuid | sed -E "s/(..)(..)(..)(..)/\4\3\2\1/g; s/.{8}/&:/g; s/:\$//")
		mdadm --create /dev/md77 --run --force --level=1 --raid-devices=1 \
			--metadata=0.90 --uuid=$theirs $(node E)
		mdadm --stop /dev/md77; systemctl stop srv-data.mount
		systemctl stop ramraid@data; gone E; back E; cat /proc/mdstat
		m=/sys/block/$(basename $(ls -d /sys/class/block/$(basename $(node E))/holders/md*))/md
		grep . $m/metadata_version $m/uuid $m/array_state; grep 0.90 $m/metadata_version
		[ ! -e $m/uuid ] || test "$(tr -d - <$m/uuid)" = $uuid
		cp /etc/ramraid/state/data.witness /root/before
		# mdadm itself compares the UUIDs of arrays that run as the kernel has them.
		fails ramraid start data 2>/root/out; cat /root/out
		journalctl -b -u ramraid@data -o cat |
			grep "Found some drive for an array that is already active"
		cmp /etc/ramraid/state/data.witness /root/before
		mdadm --stop /dev/$(basename ${m%/md})
		systemctl reset-failed ramraid@data; systemctl start local-fs.target; whole
		# Beside an array that runs, it changes nothing; mdadm does not even start it.
		gone E; back E; cat /proc/mdstat; rests
		whole; ramraid status data | tee /root/out; grep "^data: whole" /root/out
		gone E'
	VM_DISKS=(A B C D)
	reboot || return
	check 'at boot: ours has its name, and is what is mounted' "$tools"'
		cat /proc/mdstat; ls -l /dev/md /dev/disk/by-id/md-*; findmnt /srv/data || :
		journalctl -b -u ramraid@data -o cat; whole
		test -e /dev/$(basename $(ls -d \
			/sys/class/block/$(basename $(node C))/holders/md*))
		test -e /dev/mapper/md-data; test ! /dev/md/data -ef /dev/mapper/md-data'
}
