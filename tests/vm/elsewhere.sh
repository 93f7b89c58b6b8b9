# shellcheck shell=bash disable=SC2016,SC2034 # the guest expands
# For cases in which a disk of the array "data" is used elsewhere, by hand, as /dev/md/other.

# In the guest:
#   events LEG          its event count
#   place MD NODE       NUMBER:SLOT that md gives a member
#   ours_off, ours_on   nothing of ours starts in between
#   block FILE SEEK     writes other data there, to /dev/md/other and FILE
#   elsewhere LEG       starts the array from that disk; ends: stops it
#   with_ramdisk LEG PLACE  the same with a ramdisk, which gets that number and slot
#   refused             a start is refused: the disks were used without each other
#   has FILE            is that block of the array what FILE has?
readonly tools='
	events() { mdadm --examine $(node $1) | sed -n "s/^ *Events : //p"; }
	place() { mdadm --detail $1 | awk "\$NF == \"$2\" { print \$1 \":\" \$4 }"; }
	ours_off() {
		systemctl mask --runtime ramraid@data ramraid-hotplug.service ramraid-mend@data \
			2>&1
	}
	ours_on() {
		rm -f /run/ramraid/event
		systemctl unmask --runtime ramraid@data ramraid-hotplug.service ramraid-mend@data \
			2>&1
		systemctl reset-failed; systemctl restart ramraid-hotplug.path
	}
	block() {
		head -c 4k /dev/urandom >$1
		dd if=$1 of=/dev/md/other bs=4k seek=$2 oflag=direct conv=fsync status=none
	}
	elsewhere() {
		mdadm --assemble --run /dev/md/other $(node $1); named /dev/md/other
		cat /proc/mdstat
	}
	ends() {
		settle
		for i in $(seq 50); do ! mdadm --stop /dev/md/other || return 0; sleep 0.2; done
		return 1
	}
	with_ramdisk() {
		elsewhere $1; modprobe brd rd_nr=1 rd_size=40960
		mdadm /dev/md/other --add /dev/ram0; mdadm --wait /dev/md/other || :
		mdadm --detail /dev/md/other; test "$(place /dev/md/other /dev/ram0)" = "$2"
		block /root/A 100; sleep 1; ends; mdadm --zero-superblock /dev/ram0
		# Otherwise it is not free for the RAM leg here.
		settle; rmmod brd
	}
	refused() {
		local code=0
		ramraid start data >/root/text 2>&1 || code=$?
		cat /root/text; echo "exit code $code"; test $code = 3
		grep "have been used without each other" /root/text
		fails test -e /dev/md/data
	}
	has() {
		cmp -n 4096 $1 <(dd if=/dev/md/data bs=4k skip=100 count=1 iflag=direct status=none)
	}
'
