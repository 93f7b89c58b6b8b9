# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# adopt on the articles' arrays without a ramdisk, made by their own commands: an NVMe disk beside a
# write-mostly one, an SSD beside a hard disk, a cloud's ephemeral disk beside a network disk
# (--assume-clean, write-behind). They are mounted, with a writer. ramraid is killed and run again;
# then a reboot, a release, a reboot.
checked_on trixie
long
from installed
disk FAST 64M nvme=10
disk SLOW 64M
disk SSD 64M nvme=11
disk HDD 64M
disk NEAR 64M nvme=12
disk NET 64M
memory 2G
# shellcheck source=tests/vm/killed.sh disable=SC2154
source "$here/killed.sh"
# shellcheck source=tests/vm/adopted.sh disable=SC2154
source "$here/adopted.sh"

readonly helpers=$adopted'
fast=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_FAST ssd=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_SSD
near=/dev/disk/by-path/pci-0000:00:12.0-nvme-1
'
steps() {
	local at
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'the arrays of the articles, mounted; the ephemeral disk differs from the network disk' "$killer$helpers"'
		modprobe raid1; settle
		mdadm --create /dev/md0 --run --level=1 --raid-devices=2 $fast --write-mostly \
			$(leg SLOW)
		mdadm --create /dev/md1 --run --level=1 --raid-devices=2 $ssd $(leg HDD)
		head -c 60M /dev/urandom >$near; head -c 60M /dev/urandom >$(leg NET); sync
		mdadm --create /dev/md2 --run --level=1 --raid-devices=2 --bitmap=internal \
			--write-behind=256 --assume-clean $near --write-mostly $(leg NET)
		resynced; cat /proc/mdstat
		mounted nvme md0; mounted ssd md1; mounted cloud md2'
	check 'adopt says what it will do: the fast leg may become either kind' "$helpers"'
		writer nvme 1
		ramraid adopt --dry-run nvme /dev/md0 2>&1 | tee /root/out
		grep "the fast one, becomes a disk leg" /root/out
		grep -e "--ram=/dev/nvme" /root/out
		ramraid adopt --dry-run ssd /dev/md1 2>&1 | tee /root/out
		grep "the fast one, becomes a disk leg" /root/out
		ramraid adopt --dry-run --ram=$near cloud /dev/md2 2>&1 | tee /root/out
		grep "write-behind is on" /root/out; grep "does not count as a lasting \
copy" /root/out
		grep -x "echo 0 > /sys/block/md2/md/bitmap/backlog" /root/out
		grep "zero-superblock" /root/out
		test -z "$(find /etc/ramraid -name "*.conf" ! -name ramraid.conf)"; unharmed nvme'
	check 'the NVMe disk stays as the RAM leg: nothing is copied' "$helpers"'
		ramraid adopt --yes --ram=$fast nvme /dev/md0 >/root/out 2>&1 || {
			cat /root/out; exit 1
		}
		cat /root/out; grep "they are equal" /root/out; unharmed nvme
		ramraid status nvme; test "$(members md0)" = UU
		grep -x "RAM=$fast" /etc/ramraid/nvme.conf
		test "$(grep -c ^MEMBER= /etc/ramraid/nvme.conf)" = 1
		test -z "$(ls /sys/block | grep ^rd)"; written nvme'
	check 'the SSD beside the hard disk becomes a disk leg, beside a leg in RAM' "$helpers"'
		writer ssd 1; ramraid adopt --yes ssd /dev/md1; unharmed ssd; ramraid status ssd
		test "$(members md1)" = UUU; test "$(grep -c ^MEMBER= /etc/ramraid/ssd.conf)" = 2
		test "$(cat /sys/block/md1/md/dev-*/state | grep -c write_mostly)" = 2; written ssd
		writer cloud 1'
	for at in 'mdadm --manage /dev/md2 --remove' 'mdadm --zero-superblock'; do
		check "the ephemeral disk leaves; killed before \"$at\"" \
			"$helpers"'killed cloud "'"$at"'" adopt --yes --ram=$near cloud /dev/md2
			cat /etc/ramraid/state/cloud.adopted' || return
	done
	check 'and completed: filled from the network disk, no difference is left' "$helpers"'
		ramraid adopt --yes --ram=$near cloud /dev/md2; unharmed cloud; ramraid status cloud
		test "$(members md2)" = UU
		test "$(cat /sys/block/md2/md/bitmap/backlog)" = 0
		grep -x "RAM=$near" /etc/ramraid/cloud.conf; written cloud'
	reboot
	check 'after a reboot all are whole, and all is there' "$helpers"'
		cat /proc/mdstat; test "$(slots nvme)" = UU; test "$(slots ssd)" = UUU
		test "$(slots cloud)" = UU; sums; ramraid status; clean nvme ssd cloud'
	for at in nvme ssd cloud; do
		check "release of $at" "$helpers name=$at"'; writer $name 3; ramraid release --yes $name; unharmed $name; written $name; cat /proc/mdstat' || return
	done
	check 'no ramdisk is left' 'test -z "$(ls /sys/block | grep ^rd)"'
	reboot
	check 'and after a reboot all is there' "$helpers"'sums; cat /proc/mdstat'
}
