# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# A mirror with half as much data again as the machine has memory, and all of it in a compressed RAM
# leg: filled by writes, copied at a boot and after a power cut.
long
checked_on trixie
from installed
disk A 800M
disk B 800M
memory 512M

readonly tools='
	total() { sed -n "s/^MemTotal: *\([0-9]*\) kB/\1/p" /proc/meminfo; }
	# held: what the RAM leg holds and what it takes, in KiB
	held() {
		read -r holds _ takes _ <"/sys/block/$(basename "$(ram data)")/mm_stat"
		echo "$((holds / 1024)) $((takes / 1024))"
	}
	sums() { (cd /srv/data; sha256sum --quiet -c /root/sums); }
	larger() {
		test "$(slots data)" = UUU
		used=$(df --output=used -k /srv/data | tail -n 1)
		echo \
			"memory $(total) KiB, data $used KiB, the RAM leg holds $(held |
				tr " " /) KiB; $(grep MemAvailable /proc/meminfo)"
		test $((used * 2)) -ge $(($(total) * 3))
		ramraid status data
	}
	'

steps() {
	boot
	check 'create, with a limit that is a part of what the leg holds' "$tools"'
		mkdir -p /etc/ramraid/ramraid.conf.d
		printf "%s\n" RAM_LIMIT=224M RAM_RESERVE=24M >/etc/ramraid/ramraid.conf.d/test.conf
		ramraid create --yes --ram=zram:lz4 data $(leg A) $(leg B)
		test "$(slots data)" = UUU
		make_ext4 /dev/md/data -b 4096 -m 0 -J size=4 -E lazy_itable_init=0; mkdir /srv/data
		echo "UUID=$(blkid -o value -s UUID /dev/md/data) /srv/data ext4 defaults 0 2" \
			>>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount'
	# A fifth of each block is random.
	check 'files of one and a half times the memory' "$tools"'
		cat >/root/fill.pl <<"EOT"
open my $random, "<", "/dev/urandom" or die;
my $text = "a line that any number of blocks have, as those of a log or of a mail store do\n" x 42;
for my $file (1 .. 47) {
	open my $out, ">", "/srv/data/file$file" or die;
	for (1 .. 4096) {
		read $random, my $chance, 768;
		print $out $chance, substr($text, 0, 4096 - 768) or die;
	}
	close $out or die;
}
EOT
		perl /root/fill.pl; sync; test "$(slots data)" = UUU'
	check 'their sums, read from the RAM leg alone' "$tools"'
		reads() {
			for d in A B; do
				read -r _ _ n _ </sys/block/$(basename $(node $d))/stat; echo $n
			done
		}
		echo 3 >/proc/sys/vm/drop_caches; before=$(reads)
		(cd /srv/data; sha256sum file* >/root/sums); echo "$before" "$(reads)"
		test "$before" = "$(reads)"; larger'
	reboot
	check 'after a boot, whose copy has compressed it all, it is whole' "$tools"'
		larger; fails journalctl -b -o cat -g "Out of memory"'
	check 'and every file has its bytes' "$tools"'sums'
	guest '
		setsid sh -c "i=0; while :; do
			i=\$((i + 1))
			dd if=/srv/data/file\$((i % 40 + 1)) of=/srv/data/written bs=64k \
				conv=fsync,notrunc status=none
		done" </dev/null >/dev/null 2>&1 &'
	sleep 20
	kill_power
	boot
	check 'after a power cut it is whole again' "$tools"'
		ramraid wait --timeout=9min data; larger'
	check 'and every file has its bytes; md finds no difference' "$tools"'
		sums; test "$(compare data)" = 0'
}
