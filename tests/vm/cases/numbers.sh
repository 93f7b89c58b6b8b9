# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# A number is not a disk either: md gives a new member the lowest one that is free, from the number
# of slots on. A disk is used alone elsewhere, by hand, and a ramdisk gets the number and the slot
# of the absent disk there: its superblock then looks as if the two disks had been in sync.
checked_on trixie
long
from installed
disk A 40M
disk B 40M
may_fail ramraid@data.service

# shellcheck source=tests/vm/elsewhere.sh
source "$here/elsewhere.sh"

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
		has /root/A; mdadm --zero-superblock $(node B)
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
		refused; ramraid start --yes --force-leg=$(leg A) data || test $? = 1; has /root/A'
}
