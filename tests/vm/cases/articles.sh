# shellcheck shell=bash disable=SC2016,SC2154 # single quotes hold what the guest expands; "here" is case.sh's
# adopt, of arrays as articles make them by their own commands: a ramdisk of rapiddisk beside write-mostly disks, mounted, with a writer. Killed between its
# steps and typed again, a reboot, a release, a reboot. Then the same array as a reboot leaves it: inactive, with the ramdisk gone.
checked_on trixie
long
from installed
disk A 64M
disk B 64M
disk C 64M
memory 1536M
# shellcheck source=tests/vm/killed.sh disable=SC2154
source "$here/killed.sh"

# by_hand MD RAMDISK DISK…: as the articles have it. members MD: its slots. killed, writer, unharmed, written: as in the case "adopt".
readonly helpers='
by_hand() {
	local md=$1 ram=$2; shift 2
	modprobe -a raid1 rapiddisk
	echo "rapiddisk attach ${ram#rd} $((64 << 20))" >/sys/kernel/rapiddisk/mgmt
	for i in $(seq 50); do [ -b /dev/$ram ] && break; sleep 0.1; done
	mdadm --create /dev/$md --run --level=1 --raid-devices=$(($# + 1)) /dev/$ram --write-mostly "$@"
	while grep -q resync /proc/mdstat; do sleep 0.5; done
	cat /sys/block/$md/md/bitmap/location
}
members() { sed -n "/^$1 /{n;s/.*\[\([U_]*\)\]$/\1/p}" /proc/mdstat; }
mounted() { # MD FOLDER
	make_ext4 /dev/$1 -E nodiscard,lazy_itable_init=0; mkdir -p $2
	echo "UUID=$(blkid -o value -s UUID /dev/$1) $2 ext4 nofail 0 2" >>/etc/fstab
	systemctl daemon-reload; systemctl start $(systemd-escape --path --suffix=mount $2)
	for i in 1 2 3 4; do head -c 2M /dev/urandom >$2/file$i; done; sync; sha256sum $2/file* >/root/sums.$1
}
sums() { for f in /root/sums.*; do sha256sum --quiet -c $f; done; }
killed() {
	local at=$1 code=0; shift
	echo "--- killed before: $at"
	AT=$at bash /root/killed "$@" >/root/out 2>&1 </dev/null || code=$?
	cat /root/out; test $code = 137; grep -q "^+ $at" /root/out; unharmed
}
since() { systemctl show -p ActiveEnterTimestampMonotonic --value srv-data.mount; }
unharmed() {
	test "$(systemctl is-active srv-data.mount)" = active; test "$(since)" = "$(cat /run/since)"
	systemctl is-active --quiet writer; sums
}
writer() {
	rm -f /srv/data/c* /root/list; since >/run/since
	systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl /root/churn.pl write /srv/data /root/list $1
}
written() { # MD
	! systemctl is-active --quiet writer || systemctl stop writer
	sync; echo 3 >/proc/sys/vm/drop_caches
	perl /root/churn.pl check /srv/data /root/list; sums
	while [ "$(cat /sys/block/$1/md/sync_action)" != idle ]; do sleep 0.2; done
	echo check >/sys/block/$1/md/sync_action
	while [ "$(cat /sys/block/$1/md/sync_action)" != idle ]; do sleep 0.2; done
	test "$(cat /sys/block/$1/md/mismatch_cnt)" = 0
}
clean() { ramraid check >/root/out || :; cat /root/out; test "$(grep -c "^\(data\|solo\): nothing to report" /root/out)" = 2; }
'
steps() {
	local at
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'the arrays of the articles: a ramdisk and two disks, a ramdisk and one, mounted, without a bitmap' "$killer$helpers"'
		by_hand md0 rd0 $(leg A) $(leg B); by_hand md1 rd1 $(leg C)
		mounted md0 /srv/data; mounted md1 /srv/solo
		test "$(members md0)" = UUU; test "$(members md1)" = UU; cat /proc/mdstat'
	check 'the dry run says each command, and changes nothing' "$helpers"'
		writer 1
		ramraid adopt --dry-run data /dev/md0 | tee /root/out
		grep -x "mdadm --manage /dev/md0 --fail /dev/rd0" /root/out; grep "detach.*0 > /sys/kernel/rapiddisk/mgmt" /root/out
		test -z "$(find /etc/ramraid -name "data*")"; test "$(members md0)" = UUU; unharmed'
	for at in 'write /etc/ramraid/data.conf' 'mdadm --grow /dev/md0 --bitmap=internal' 'mdadm --manage /dev/md0 --fail'; do
		check "killed before \"$at\"" "$helpers"'killed "'"$at"'" adopt --yes data /dev/md0; test "$(members md0)" = UUU' || return
	done
	for at in 'mdadm --manage /dev/md0 --remove' 'echo rapiddisk detach 0'; do
		check "killed before \"$at\"" "$helpers"'killed "'"$at"'" adopt --yes data /dev/md0; test "$(members md0)" = _UU
			cat /etc/ramraid/state/data.adopted; cat /sys/kernel/rapiddisk/devices; test -e /sys/block/rd0' || return
	done
	check 'and completed: whole, mounted all the time; one ramdisk, which is its own' "$helpers"'
		ramraid adopt --yes data /dev/md0; unharmed
		test "$(members md0)" = UUU; ramraid status data
		cat /sys/kernel/rapiddisk/devices; test "$(cat /run/ramraid/data.ram | cut -d" " -f1,2)" = "rapiddisk rd0"; test ! -e /sys/block/rd2
		test "$(cat /sys/block/md0/md/dev-sd*/state | grep -c write_mostly)" = 2
		written md0; writer 2'
	check 'the one beside one disk, too' "$helpers"'
		ramraid adopt --yes solo /dev/md1; unharmed
		test "$(members md1)" = UU; ramraid status; clean'
	reboot
	check 'after a reboot both are whole, and all is there' "$helpers"'
		test "$(slots data)" = UUU; test "$(slots solo)" = UU; findmnt /srv/data; findmnt /srv/solo; sums; ramraid status; clean
		since >/run/since; written $(md data)'
	check 'release: plain arrays of their disks' "$helpers"'
		writer 3
		ramraid release --yes data; unharmed'
	check 'and the other one' "$helpers"'
		ramraid release --yes solo; unharmed
		cat /proc/mdstat; test "$(slots data)" = UU; test "$(slots solo)" = U; test "$(ls /sys/block | grep -c ^rd)" = 0; written $(md data)'
	reboot
	check 'and after a reboot as well' "$helpers"'findmnt /srv/data; findmnt /srv/solo; sums; cat /proc/mdstat'
}
