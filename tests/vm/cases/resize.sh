# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# resize on a mounted array with a writer, after its disks have grown: nothing is lost and nothing
# unmounted. Also without room, without memory, without a RAM leg, killed in the middle, and with a
# power cut afterwards.
long
checked_on trixie
from mirror
disk A 96M
disk B 96M
memory 1536M

# mib: prints the size of the array. unharmed: mounted all the time, being written to, and the sums
# are right. whole: with its RAM leg, which is as large.
readonly helpers='
mib() { echo $(($(cat /sys/block/$(md data)/size) / 2048)); }
since() { systemctl show -p ActiveEnterTimestampMonotonic --value srv-data.mount; }
unharmed() {
	test "$(since)" = "$(cat /run/since)"; systemctl is-active --quiet writer; cd /srv/data
	sha256sum --quiet -c /root/sums; cd /
}
whole() {
	cat /proc/mdstat; ramraid status data; test "$(slots data)" = UUU
	test $(($(cat /sys/block/$(basename $(ram data))/size) / 2048)) -ge $(mib)
}
grown() {
	for i in $(seq 100); do
		test $(($(cat /sys/block/$(basename $(node $1))/size) / 2048)) = $2 && return
		sleep 0.1
	done
	return 1
}
'
steps() {
	boot
	vm_send "$here/churn.pl" /root/churn.pl
	check 'no disk has grown: nothing is done' "$helpers"'
		since >/run/since
		systemd-run --quiet --unit=writer -p RequiresMountsFor=/srv/data perl \
			/root/churn.pl write /srv/data /root/list 1
		mib >/root/mib; ramraid resize --yes data >/root/out 2>&1; cat /root/out
		grep "nothing to do" /root/out; whole; unharmed'
	vm_grow A $((256 << 20))
	check 'one has: nothing is done, and it names the other' "$helpers"'
		grown A 256; ramraid resize --yes data >/root/out 2>&1; cat /root/out
		grep "nothing to do.*HARDDISK_B" /root/out
		test $(mib) = $(cat /root/mib); whole; unharmed'
	vm_grow B $((224 << 20))
	check 'all have, but there is no memory for the RAM leg: refused, and nothing is changed' \
		"$helpers"'
		grown B 224; echo RAM_RESERVE=90% >>/etc/ramraid/data.conf
		code=0; ramraid resize --yes data >/root/out 2>&1 || code=$?; cat /root/out
		test $code = 4; grep "no RAM leg of that size" /root/out
		sed -i /RAM_RESERVE/d /etc/ramraid/data.conf; test $(mib) = $(cat /root/mib); whole
		unharmed'
	check 'the plan, and nothing is changed' "$helpers"'
		ramraid resize --dry-run data | tee /root/out
		grep "HARDDISK_B has no room" /root/out; test $(mib) = $(cat /root/mib); whole
		unharmed'
	check 'killed when the RAM leg is out: the array runs on its disk legs; typed again, it ends' "$helpers"'
		ramraid resize --yes data >/root/out 2>&1 </dev/null & pid=$!
		for i in $(seq 400); do
			grep -q "'"$(ram_drop)"'" /root/out && break; sleep 0.05
		done
		kill -KILL $pid; wait $pid || :; cat /root/out /proc/mdstat; unharmed
		for i in $(seq 100); do
			test "$(cat /sys/block/$(md data)/md/sync_action)" = idle && break
			sleep 0.2
		done
		ramraid resize --yes data; ramraid attach data; test $(mib) -ge 220; whole
		unharmed'
	check 'the file system takes it, and all is there and equal' "$helpers"'
		before=$(df --output=size /srv/data | tail -n1); resize2fs /dev/md/data
		test $(df --output=size /srv/data | tail -n1) -gt $((before * 2 - before / 10))
		unharmed; systemctl stop writer; sync; echo 3 >/proc/sys/vm/drop_caches
		perl /root/churn.pl check /srv/data /root/list
		equal data; rm -f /srv/data/c*'
	vm_grow A $((288 << 20))
	vm_grow B $((288 << 20))
	check 'all at once, with a RAM leg from beginning to end' "$helpers"'
		grown A 288; grown B 288
		systemd-run --quiet --unit=writer2 -p RequiresMountsFor=/srv/data perl \
			/root/churn.pl write /srv/data /root/list 2
		ramraid resize --yes data >/root/out 2>&1; cat /root/out
		grep "resize2fs /dev/md/data" /root/out; test $(mib) -ge 284; whole
		resize2fs /dev/md/data; sync'
	kill_power
	boot
	check 'the power is cut: it comes back whole, as large, with everything' "$helpers"'
		findmnt /srv/data; test $(mib) -ge 284; whole; cd /srv/data
		sha256sum --quiet -c /root/sums; cd /; equal data'
	check 'a RAM leg that was taken out stays out' "$helpers"'
		ramraid detach data; mib >/root/mib'
	vm_grow A $((320 << 20))
	vm_grow B $((320 << 20))
	check 'the array grows without it; the disks know that the new part may differ' "$helpers"'
		grown A 320; grown B 320; ramraid resize --yes data
		test $(mib) -gt $(($(cat /root/mib) + 30)); test "$(slots data)" = _UU
		no_ramdisk
		cat /sys/block/$(md data)/md/bitmap/chunksize
		mdadm --examine-bitmap $(node A) $(node B) | tee /root/bitmap
		dirty=$(sed -n "s/.*(chunks), \([0-9]*\) dirty.*/\1/p" /root/bitmap)
		test $(echo $dirty | wc -w) = 2
		for n in $dirty; do test $n -gt 3; done'
	check 'a disk that leaves now lacks nothing of it when it is back; "attach" makes the RAM leg as large' "$helpers"'
		for i in $(seq 300); do
			test "$(cat /sys/block/$(md data)/md/sync_action)" = idle && break
			sleep 0.2
		done
		resize2fs /dev/md/data; mdadm /dev/md/data --fail $(node B)
		for i in $(seq 50); do
			mdadm -q /dev/md/data --remove $(node B) 2>/dev/null && break; sleep 0.1
		done
		free=$(df --output=avail -m /srv/data | tail -n1 | tr -d " ")
		head -c $((free - 10))M /dev/urandom >/srv/data/late; sync
		sha256sum /srv/data/late >/root/late
		ramraid attach data; whole; echo 3 >/proc/sys/vm/drop_caches
		sha256sum -c /root/late; equal data'
}
