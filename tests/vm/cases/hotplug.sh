# Disks that come and go under writers: ramraid puts back what it can by itself, and says what it
# can't.
checked_on forky
from small
disk A 40M served
disk B 40M served
# shellcheck source=tests/vm/campaign.sh disable=SC2154
source "$here/campaign.sh"

readonly words="$VM_HANDS"'
	says() {
		for i in $(seq 150); do
			journalctl -b -q -o cat --since "@$(cat /root/since)" | grep -E -- "$1" &&
				return
			sleep 0.2
		done
		echo "not said: $1"
		journalctl -b -q -o cat --since "@$(cat /root/since)" | grep data:; return 1
	}
	since() { date +%s >/root/since; sleep 1; }
	# Whole, and nobody at work any more.
	whole() {
		for i in $(seq 600); do
			[ "$(slots data)" = UUU ] && ! pgrep -f "ramraid mend" >/dev/null &&
				[ ! -e /run/ramraid/event ] && ramraid status data && return
			sleep 0.2
		done
		cat /proc/mdstat; ramraid status data; return 1
	}
	quiet() {
		for i in $(seq 300); do
			[ -e /run/ramraid/event ] ||
				systemctl -q is-active ramraid-hotplug.service \
					ramraid-mend@data.service ||
				pgrep -f "ramraid (mend|hotplug)" >/dev/null || return 0
			sleep 0.2
		done
		return 1
	}
	sectors_written() { set -- $(cat /sys/block/$(basename $(node $1))/stat); echo $7; }
	'
# Checks everything that the writers were promised until now; then compares the legs.
all_there() { # TEXT
	guest '
		pkill -f tokens.pl || test $? = 1
		for i in $(seq 50); do pgrep -f tokens.pl >/dev/null || break; sleep 0.1; done'
	campaign_told
	vm_send "$VM/expected" /root/expected
	check "$1: the writers have seen no error, every acknowledged byte is there, and the legs are equal" '
		fails grep . /root/writers.log
		sync; echo 3 >/proc/sys/vm/drop_caches
		perl /root/tokens.pl check /srv/data/tokens /root/expected
		cd /srv/data; sha256sum --quiet -c /root/sums
		test "$(compare data)" = 0
		for d in A B; do
			grep write_mostly /sys/block/$(md data)/md/dev-$(basename $(node $d))/state
		done'
	load_prune
}

steps() {
	DICE=24 # the writers rest a second between two files: the disks are small
	campaign_setup
	vm_hands
	check 'hot-plug is on unless it is switched off' "$words"'
		test -e /run/ramraid/hotplug; systemctl is-active ramraid-hotplug.path; quiet'

	campaign_writers 1
	check 'a disk is pulled out under the writers: said, and the array goes on' "$words"'
		since; gone B; says "ata-B|HARDDISK_B is gone"; slots data | grep -v "^UUU$"; quiet'
	sleep 5
	check 'it is back, and put back by itself' "$words"'
		since; back B; whole; says "HARDDISK_B is (back|in sync)"'
	all_there 'one disk, pulled and plugged'
	short || {
		check 'it is put back by bitmap: no more is written to it than the pieces that were touched meanwhile' "$words"'
			gone B; head -c 100000 /dev/urandom >/srv/data/meanwhile; sync; quiet
			sleep 20; back B; whole
			n=$(sectors_written B); echo "$n sectors"; test "$n" -gt 200
			test "$n" -lt 20000'
		campaign_writers 2
		check 'the same after five minutes of writes' "$words"'
			gone B; quiet; sleep 300; pkill -f tokens.pl; back B; whole
			n=$(sectors_written B); all=$(cat /sys/block/$(md data)/size)
			echo "$n sectors, of $all"; test "$n" -gt 200; test "$n" -lt $all'
		all_there 'five minutes without a disk'
	}

	short || {
		campaign_writers 3
		check 'it comes back while the RAM leg is being rebuilt' "$words"'
			ramraid detach data; quiet; test "$(slots data | tr -d _)" = UU
			gone B; sleep 2
			echo COPY_RATE=2M >/etc/ramraid/data.conf.d/rate.conf
			setsid ramraid attach data >/root/attach.log 2>&1 </dev/null &
			sleep 4; back B; whole; rm /etc/ramraid/data.conf.d/rate.conf'
		all_there 'during the rebuild of the RAM leg'

		campaign_writers 4
		check 'two disks bounce' "$words"'
			for i in 1 2 3; do gone A; back A; gone B; back B; done
			whole'
		all_there 'two disks bounced'

		check 'a RAM leg that was detached stays out, whatever happens' "$words"'
			ramraid detach data; gone B; sleep 1; back B
			for i in $(seq 100); do
				[ "$(slots data | tr -d _)" = UU ] && break; sleep 0.2
			done
			quiet; test "$(slots data | tr -d _)" = UU
			fails test -e /run/ramraid/data.ram
			ramraid attach data; whole'
	}
	# A ramdisk of brd can't be taken from the array that has it open.
	! has_rapiddisk || {
		campaign_writers 5
		check 'a ramdisk that is destroyed under the array is rebuilt' "$words"'
			since; n=$(cut -d" " -f2 /run/ramraid/data.ram)
			echo "rapiddisk detach ${n#rd}" >/sys/kernel/rapiddisk/mgmt
			sleep 1
			test ! -e /sys/block/$n ||
				test "$(cut -d" " -f4 /run/ramraid/data.ram)" != x
			whole; ramraid status data | grep "^data: whole"; cat /run/ramraid/data.ram'
		all_there 'the ramdisk was destroyed'
	}

	check 'what was taken out with mdadm stays out' "$words"'
		since; mdadm -q /dev/md/data --fail $(node B)
		mdadm -q /dev/md/data --remove $(node B); says "HARDDISK_B has been taken out"
		quiet
		slots data | grep _'
	check 'a blank disk at its name is said, and not taken' "$words"'
		mdadm --zero-superblock $(node B); since; gone B; quiet; back B
		says "there is a blank disk at .*HARDDISK_B; AUTO_REPLACE=no"; quiet
		slots data | grep _'
	check 'one with a file system neither, even with AUTO_REPLACE=yes' "$words"'
		mkfs.ext4 -q $(node B)
		echo AUTO_REPLACE=yes >/etc/ramraid/data.conf.d/hotplug.conf
		since; gone B; quiet; back B
		says "HARDDISK_B is not added: signature: it holds ext4"; quiet
		slots data | grep _'
	short || check 'one of another array neither, whether that runs or not' "$words"'
		# Or the other array would show the file system that B was a copy of, by its UUID,
		# and systemd unmounts one whose device has gone.
		dd if=/dev/zero of=$(node B) bs=1M oflag=direct status=none || :; settle
		mdadm -q --create /dev/md/other --run --level=1 --raid-devices=2 --metadata=1.2 \
			--bitmap=internal $(node B) missing
		named /dev/md/other; mdadm -q --stop /dev/md/other
		since; gone B; quiet; back B
		says "HARDDISK_B (belongs to another array|is in use by something else)"; quiet
		slots data | grep _
		! test -e /dev/md/other || mdadm -q --stop /dev/md/other
		for i in $(seq 50); do
			mdadm -q --zero-superblock $(node B) && break; sleep 0.2
		done'
	check 'AUTO_REPLACE=yes: a blank one is built in, and kept from being read' "$words"'
		wipefs -q -a $(node B); since; gone B; quiet; back B; whole'
	all_there 'a disk was replaced'

	! short || return 0
	check 'a storm of events is a few looks, and no work' "$words"'
		since
		for i in $(seq 50); do
			udevadm trigger --action=add $(node A) $(node B); sleep 0.15
		done
		settle; quiet
		n=$(journalctl -b -q -o cat -u ramraid-hotplug.service \
			--since "@$(cat /root/since)" | grep -c "^Finished" || :)
		echo "$n looks"; test "$n" -ge 1; test "$n" -le 16
		test -z "$(journalctl -b -q -o cat -u ramraid-mend@data.service \
			--since "@$(cat /root/since)" | grep Starting)"; whole'
	reboot
	check 'after a reboot it is whole, and hot-plug is armed' "$words"'
		test "$(slots data)" = UUU; test -e /run/ramraid/hotplug; quiet'
}
