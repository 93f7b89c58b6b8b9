# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; SCREENS: tests/vm/screens
# make screens: records what a person sees on a terminal, as it comes, in $SCREENS/NAME.ansi each.
# The disks are throttled, so that there is time to look.
from installed
disk A 192M throttling.bps-read=4000000
disk B 192M throttling.bps-read=4000000

# screen NAME COMMAND: runs it in a terminal of 100 columns, after a prompt and what was typed. Of a
# line that was written over, it keeps what is there in the end.
screen() {
	guest 'printf "\033[1m#\033[0m %s\n" '"${2@Q}"'; TERM=xterm script -qec "stty cols 100 rows 40; "'"${2@Q}"' /dev/null </dev/null | sed -E "s/\r+\$//; s/.*\r//; s/^ +\$//"' >"$SCREENS/$1.ansi"
	cat "$SCREENS/$1.ansi"
}
shows() { # NAME TEXT
	grep -q "$2" "$SCREENS/$1.ansi" || {
		printf 'not ok - %s shows: %s\n' "$1" "$2" && return 1
	}
	printf 'ok - %s shows: %s\n' "$1" "$2"
}

steps() {
	local disk=/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_
	boot
	screen create "ramraid create --yes data ${disk}A ${disk}B"
	shows create 'data: made'
	check 'a file system, and data on it' '
		make_ext4 /dev/md/data; mkdir /srv/data
		echo "/dev/md/data /srv/data ext4 defaults 0 2" >>/etc/fstab
		systemctl daemon-reload; systemctl start srv-data.mount
		head -c 64M /dev/urandom >/srv/data/file; sync
		echo WAIT=no >>/etc/ramraid/data.conf; sync'
	down reboot
	boot_early
	check 'the rebuild has begun' '
		for i in $(seq 200); do
			ramraid status data | grep "% done" && break; sleep 0.2
		done'
	screen rebuilding 'ramraid status data'
	shows rebuilding '% done'
	check 'it ends, and reads come from memory' '
		ramraid wait data
		# What is read counts from the note of the start, which comes at its very end.
		for i in $(seq 100); do
			[ "$(systemctl show -p MainPID --value ramraid@data)" = 0 ] && break
			sleep 0.2
		done
		echo 3 >/proc/sys/vm/drop_caches; cat /srv/data/file >/dev/null; sleep 2'
	screen whole 'ramraid status data'
	shows whole 'reads served by RAM: 100 %'
	guest 'gone B; sleep 2'
	screen degraded 'ramraid status data'
	shows degraded 'ramraid replace data'
	guest 'back B; ramraid attach data'
}
