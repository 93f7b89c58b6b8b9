# A disk returns after another one was half built in its place: md has cleared bits that the first
# one needs, so all of it is rebuilt.
checked_on trixie
long
from small
disk A 40M
disk B 40M
disk C 40M

readonly words="$VM_HANDS"'
	whole() {
		for i in $(seq 900); do
			[ "$(slots data)" = UUU ] && ! pgrep -f "ramraid mend" >/dev/null &&
				[ ! -e /run/ramraid/event ] && return
			sleep 0.2
		done
		cat /proc/mdstat; ramraid status data; return 1
	}
	# half LEG: md builds it to the half, and then somebody takes it out again.
	half() {
		local md=/sys/block/$(md data)/md
		echo 1500 >$md/sync_speed_max; echo 1500 >$md/sync_speed_min
		mdadm /dev/md/data --add $(node $1)
		for i in $(seq 300); do
			set -- "$1" $(cat $md/sync_completed)
			[ "$2" = none ] || [ $(($2 * 10 / $4)) -lt 6 ] || break
			sleep 0.2
		done
		cat $md/sync_completed $md/degraded
		mdadm /dev/md/data --fail $(node $1)
		for i in $(seq 50); do
			mdadm -q /dev/md/data --remove $(node $1) && break; sleep 0.2
		done
		echo system >$md/sync_speed_max; echo system >$md/sync_speed_min
	}
	'

# Writes to the mirror without B; then md builds half of another disk in its place.
without_B() { # FILE
	check "$1: a disk is pulled out, and data is written" "$words"'
		test "$(slots data)" = UUU; rests; gone B; rests
		head -c 12M /dev/urandom >/srv/data/'"$1"'; sync
		cd /srv/data; sha256sum file* >/root/sums; sleep 12'
	check "$1: another disk is half built in its place, and taken out again" "$words"'
		half C; mdadm -q --zero-superblock $(node C); rests; sleep 6'
}
readonly equal='
		journalctl -b -q -o cat | grep -E -- "--(re-)?add /dev/sd|rebuilt"
		test "$(compare data)" = 0; echo 3 >/proc/sys/vm/drop_caches
		cd /srv/data; sha256sum --quiet -c /root/sums'

steps() {
	boot
	vm_hands
	without_B file5
	# What md itself remembers of that (conf->fullsync) ends with the array.
	power_off
	boot
	check 'the first disk is back at the next boot: it is rebuilt, and the legs are equal' \
		"$words"'whole'"$equal"
	guest 'rm /srv/data/file5; sync'
	without_B file6
	# It also ends with any check or rebuild that md completes.
	check 'it comes back after a check: likewise' "$words"'
		test "$(compare data)" = 0; back B; whole'"$equal"
	# This is as in a rescue system without ramraid: the disks get a third member, and nothing
	# is written while that is there.
	check 'a disk is put back to an image of before the array was filled elsewhere: likewise' "$words"'
		umount /srv/data; ramraid stop data
		systemctl stop ramraid-hotplug.path ramraid-hotplug.timer ramraid-hotplug.service
		mkdir -p /run/systemd/system/ramraid-monitor@.service.d
		printf "[Service]\nExecStart=\nExecStart=/bin/true\n" \
			>/run/systemd/system/ramraid-monitor@.service.d/none.conf
		systemctl daemon-reload
		dd if=$(node B) of=/root/B bs=1M iflag=direct status=none
		elsewhere() {
			mdadm --assemble --run /dev/md/elsewhere $(node A) $(node B)
			mdadm --readwrite /dev/md/elsewhere || :
		}
		elsewhere; mount /dev/md/elsewhere /mnt
		head -c 8M /dev/urandom >/mnt/file7; umount /mnt
		mdadm /dev/md/elsewhere --add $(node C)
		mdadm --wait /dev/md/elsewhere || :; sleep 12
		mdadm --detail /dev/md/elsewhere | grep "State : [a-z]*"
		mdadm /dev/md/elsewhere --fail $(node C); sleep 1
		mdadm /dev/md/elsewhere --remove $(node C); mdadm --zero-superblock $(node C)
		mdadm --stop /dev/md/elsewhere; elsewhere; mdadm --stop /dev/md/elsewhere
		mdadm --examine $(leg A) | grep -e Events -e "Array State"
		dd if=/root/B of=$(node B) bs=1M oflag=direct status=none; settle
		mdadm --examine $(leg B) | grep -e Events -e "Array State"
		rm -r /run/systemd/system/ramraid-monitor@.service.d; systemctl daemon-reload
		systemctl start ramraid-hotplug.path ramraid-hotplug.timer
		ramraid start data || :; whole; mount /srv/data || findmnt /srv/data
		cd /srv/data; sha256sum file* >/root/sums'"$equal"'
		ls -l /srv/data/file7'
}
