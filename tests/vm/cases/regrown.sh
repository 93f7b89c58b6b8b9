# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# A disk leaves, and is used elsewhere, by hand: the array is made smaller there, a ramdisk is
# added, and the array is made larger again. The ramdisk then has the number and the slot of the
# other disk, which are below the number of slots.
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
	check 'B leaves the array, and the record has its event count' "$tools"'
		ramraid create --yes data $(leg A) $(leg B); mdadm --detail /dev/md/data
		test "$(place /dev/md/data $(node A))" = 1:1; rests
		gone B; rests; cat /etc/ramraid/state/data.witness
		grep -x "departed=[0-9a-f-]*:[0-9]*" /etc/ramraid/state/data.witness
		ramraid stop data'
	check 'elsewhere, a ramdisk gets the number and the slot of A' "$tools"'
		ours_off; back B; cat /etc/ramraid/state/data.witness; events B; elsewhere B
		mdadm --grow --force --raid-devices=1 /dev/md/other
		modprobe brd rd_nr=1 rd_size=40960; mdadm /dev/md/other --add /dev/ram0
		mdadm --grow --raid-devices=2 /dev/md/other; mdadm --wait /dev/md/other || :
		mdadm --detail /dev/md/other; test "$(place /dev/md/other /dev/ram0)" = 1:1
		block /root/B 100; sleep 1; ends; mdadm --zero-superblock /dev/ram0
		settle; rmmod brd; events B'
	check 'A goes on here without it, and has more events then' "$tools"'
		gone B; ours_on; ramraid start data || test $? = 1; cat /proc/mdstat
		for i in $(seq 60); do
			dd if=/dev/urandom of=/dev/md/data bs=4k seek=$((i % 50)) count=1 oflag=direct \
				conv=fsync status=none
			sleep 0.3
		done
		ramraid stop data; ours_off; back B; ours_on
		echo "A $(events A), B $(events B)"; test $(events A) -gt $(events B)'
	check 'both are here: the start is refused' "$tools"'refused'
	check 'and what B has is still there' "$tools"'
		ramraid start --yes --force-leg=$(leg B) data || test $? = 1; has /root/B'
}
