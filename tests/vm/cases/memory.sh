# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# MEMORY_FLOOR on a mounted array with a writer: memory gets short, the RAM leg goes and comes back,
# nothing is killed and nothing lost. A RAM leg that a person has taken out stays out.
long
checked_on trixie
from mirror
disk A 96M
disk B 96M

# hog: takes memory until 150 MiB are available, where the kernel can't reclaim it. within SECONDS
# COMMAND…: repeats the command until it succeeds.
readonly helpers='
available() { awk "/^MemAvailable:/ { print int(\$2 / 1024) }" /proc/meminfo; }
hog() {
	mount -o remount,size=100% /dev/shm
	head -c $(($(available) - 150))M /dev/zero >/dev/shm/hog; available
}
within() { for i in $(seq $1); do "${@:2}" && return; sleep 1; done; cat /proc/mdstat; return 1; }
told() {
	journalctl -b -u ramraid-memory@data |
		grep "memory is short, so the RAM leg has been given up"
}
slots_are() { test "$(slots data)" = $1; }
'
steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'it is looked at from "attach" on, and while there is memory nothing happens' \
		"$helpers"'
		systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl \
			/root/churn.pl write /srv/data /root/list 1
		fails systemctl is-active --quiet ramraid-memory@data
		echo MEMORY_FLOOR=300M >>/etc/ramraid/data.conf; ramraid attach data; sleep 8
		systemctl is-active ramraid-memory@data; slots_are UUU'
	check 'memory becomes short: the RAM leg goes, that is told, and the writer goes on' \
		"$helpers"'
		hog; within 30 slots_are _UU; within 10 no_ramdisk; available
		systemctl is-active --quiet writer
		within 20 told
		code=0; ramraid status data >/root/out || code=$?; cat /root/out; test $code = 1
		grep "why: *memory was short" /root/out
		fails journalctl -b -k -g "Out of memory"'
	check 'it stays so while memory is short, also for hot-plug' "$helpers"'
		ramraid mend data; sleep 5; slots_are _UU
		systemctl is-active --quiet writer ramraid-memory@data'
	check 'there is room: it is rebuilt after a minute, and is whole' "$helpers"'
		rm /dev/shm/hog; sleep 40; slots_are _UU; within 120 slots_are UUU
		systemctl is-active --quiet writer ramraid-memory@data; ramraid status data'
	check 'every byte is there, and the legs are equal' '
		systemctl stop writer; cd /srv/data; sha256sum --quiet -c /root/sums; cd /; sync
		echo 3 >/proc/sys/vm/drop_caches
		perl /root/churn.pl check /srv/data /root/list; equal data'
	check 'what a person has taken out stays out' "$helpers"'
		ramraid detach data; hog; sleep 10; rm /dev/shm/hog; sleep 10; slots_are _UU
		test -e /run/ramraid/data.detached; fails grep memory /run/ramraid/data.detached
		ramraid attach data; slots_are UUU'
	check 'it ends with the array' '
		systemctl stop srv-data.mount; systemctl stop ramraid@data
		fails systemctl is-active --quiet ramraid-memory@data
		fails systemctl is-failed --quiet ramraid-memory@data'
	reboot
	check 'after a reboot it is whole, mounted, and looked at' '
		findmnt /srv/data; test "$(slots data)" = UUU
		systemctl is-active ramraid-memory@data
		ramraid release --yes data; sleep 5
		fails systemctl is-active --quiet ramraid-memory@data; findmnt /srv/data'
}
