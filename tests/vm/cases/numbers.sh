# shellcheck shell=bash disable=SC2016 # single quotes hold what the guest expands
# A number is not a disk either: md gives a new member the lowest one that is free, from the number
# of slots on. A disk is used alone elsewhere, by hand, and a ramdisk gets the number and the slot
# of the absent disk there: its superblock then looks as if the two disks had been in sync.
checked_on trixie
long
from installed
disk A 40M
disk B 40M
may_fail ramraid@data.service

readonly tools='
	events() { mdadm --examine $(node $1) | sed -n "s/^ *Events : //p"; }
	# place MD NODE: the number and the slot that md gives a member
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
	block() { # FILE SEEK: other data there
		head -c 4k /dev/urandom >$1
		dd if=$1 of=/dev/md/other bs=4k seek=$2 oflag=direct conv=fsync status=none
	}
	elsewhere() { # LEG
		mdadm --assemble --run /dev/md/other $(node $1); named /dev/md/other
		cat /proc/mdstat
	}
	ends() {
		settle
		for i in $(seq 50); do ! mdadm --stop /dev/md/other || return 0; sleep 0.2; done
		return 1
	}
	with_ramdisk() { # LEG PLACE
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
	has() { # LEG FILE
		cmp -n 4096 $2 <(dd if=/dev/md/data bs=4k skip=100 count=1 iflag=direct status=none)
	}
	'

steps() {
	boot
	check 'an array of two disks gets two slots, and its RAM leg leaves' "$tools"'
		ramraid create --yes data $(leg A) $(leg B)
		ramraid detach data; mdadm --grow --raid-devices=2 /dev/md/data
		mdadm --detail /dev/md/data; test "$(place /dev/md/data $(node B))" = 2:1
		ramraid stop data; cat /etc/ramraid/state/data.witness; events A; events B'
	check 'A is used alone elsewhere: a ramdisk gets the number and the slot of B' "$tools"'
		ours_off; with_ramdisk A 2:1; events A'
	check 'B is used alone elsewhere, and has more events then' "$tools"'
		elsewhere B
		for i in $(seq 40); do block /root/B 100; sleep 0.4
			test $(events B) -le $(events A) || break
		done
		ends; echo "A $(events A), B $(events B)"; test $(events B) -gt $(events A); ours_on'
	check 'both are here: the start is refused' "$tools"'refused'
	check 'the administrator decides for A, and B is built anew: it has a number of its own' \
		"$tools"'
		ramraid start --yes --force-leg=$(leg A) data || test $? = 1
		has A /root/A; mdadm --zero-superblock $(node B)
		# B comes first, and so gets the number that md gives the next new member.
		ramraid detach data; ramraid apply --yes data || test $? = 1; attach data
		test "$(slots data)" = UUU; mdadm --detail /dev/md/data
		place /dev/md/data $(node B) >/root/place; cat /root/place
		test "$(cat /root/place)" = 3:1'
	check 'A is pulled out of the running array: the record has its event count' "$tools"'
		rests; gone A; rests; cat /etc/ramraid/state/data.witness
		grep ^departed= /etc/ramraid/state/data.witness
		for i in $(seq 3); do
			dd if=/dev/urandom of=/dev/md/data bs=4k seek=$i count=1 oflag=direct \
				conv=fsync status=none
			sleep 1
		done
		ramraid stop data'
	check 'A is used alone elsewhere: a ramdisk gets the number and the slot of B again' \
		"$tools"'
		ours_off; back A; with_ramdisk A $(cat /root/place)
		echo "A $(events A), B $(events B)"; mdadm --examine $(node A) | grep State; ours_on'
	check 'both are here: the start is refused, and what A has is still there' "$tools"'
		refused; ramraid start --yes --force-leg=$(leg A) data || test $? = 1; has A /root/A'
}
