# A freshly built RAM leg is never the source of what is written to a disk, and nothing is read from
# a part of it that is not rebuilt yet.
checked_on trixie
long
from installed
disk A 96M blocks=4096,throttling.bps-total=6000000
disk B 96M throttling.bps-total=6000000

steps() {
	local offset disk
	boot
	check 'a mirror with nothing on it but numbers' '
		test "$(cat /sys/block/$(basename $(node A))/queue/logical_block_size)" = 4096
		ramraid create --yes data $(leg A) $(leg B); test "$(slots data)" = UUU
		seq -w 0 99999999 | head -c 80M >/root/numbers
		dd if=/root/numbers of=/dev/md/data bs=1M oflag=direct conv=fsync status=none'
	guest '
		mkdir -p /etc/ramraid/data.conf.d
		echo REBUILD=kernel >/etc/ramraid/data.conf.d/test.conf; sync'
	check 'while the RAM leg is built, next to nothing is written to the disks' '
		written() {
			t=0
			for d in A B; do
				read -r _ _ _ _ _ _ n _ </sys/block/$(basename $(node $d))/stat
				t=$((t + n))
			done
			echo $t
		}
		ramraid detach data; before=$(written); ramraid attach data; after=$(written)
		echo "$((after - before)) sectors written to the disks while \
$(cat /sys/block/$(md data)/md/component_size) KiB were rebuilt"
		test "$(slots data)" = UUU; test $((after - before)) -lt 2000'
	check 'while the RAM leg is built, every read of the array is right, from front to back' '
		ramraid detach data; (ramraid attach data >/dev/null 2>&1 &)
		for i in $(seq 100); do
			[ "$(cat /sys/block/$(md data)/md/sync_action)" = recover ] && break
			sleep 0.05
		done
		rounds=0
		while [ "$(cat /sys/block/$(md data)/md/sync_action)" = recover ]; do
			for at in 79 40 0 60 20 78; do
				cmp <(dd if=/dev/md/data bs=1M skip=$at count=1 iflag=direct \
					status=none) <(dd if=/root/numbers bs=1M skip=$at count=1 \
					status=none)
			done
			[ "$(cat /sys/block/$(md data)/md/sync_action)" != recover ] ||
				rounds=$((rounds + 1))
		done
		echo "$rounds rounds within the rebuild"; test $rounds -ge 2
		ramraid wait --timeout=1min data; test "$(compare data)" = 0'
	check 'and while it is copied too' '
		rm /etc/ramraid/data.conf.d/test.conf; sync -f /etc
		written() {
			t=0
			for d in A B; do
				read -r _ _ _ _ _ _ n _ </sys/block/$(basename $(node $d))/stat
				t=$((t + n))
			done
			echo $t
		}
		ramraid detach data; before=$(written)
		(ramraid attach data >/root/attach.log 2>&1 &)
		for i in $(seq 400); do [ -s /run/ramraid/data.copy/pid ] && break; sleep 0.05; done
		rounds=0
		while [ -d /run/ramraid/data.copy ] ||
			[ "$(cat /sys/block/$(md data)/md/sync_action)" = recover ]; do
			for at in 79 40 0 60 20 78; do
				cmp <(dd if=/dev/md/data bs=1M skip=$at count=1 iflag=direct \
					status=none) <(dd if=/root/numbers bs=1M skip=$at count=1 \
					status=none)
			done
			rounds=$((rounds + 1))
		done
		ramraid wait --timeout=1min data; after=$(written); cat /root/attach.log
		grep -- "--re-add" /root/attach.log
		echo "$rounds rounds, $((after - before)) sectors written to the disks"
		test $rounds -ge 2; test $((after - before)) -lt 2000
		test "$(slots data)" = UUU; test "$(compare data)" = 0
		cmp -n $((80 << 20)) /dev/md/data /root/numbers'
	guest '
		mdadm --examine $(node A) |
			sed -n "s/.*Data Offset : \([0-9]*\) .*/\1/p" >/root/offset
		sync /root/offset
		setsid fio --name=w --filename=/dev/md/data --rw=write --bs=64k --offset=50m \
			--size=64k --direct=1 --time_based --runtime=600 >/dev/null 2>&1 &
		for i in $(seq 300); do
			[ "$(cat /sys/block/$(md data)/md/array_state)" = active ] && break
			sleep 0.1
		done
		sleep 1; grep -x active /sys/block/$(md data)/md/array_state'
	offset=$(guest 'cat /root/offset')
	kill_power
	# The block that was being written is dirty in the bitmap, so the test makes it different on
	# each disk.
	head -c 65536 /dev/zero | tr '\0' 'A' |
		dd of="$VM/disks/A.img" bs=512 seek=$((offset + 800 * 128)) conv=notrunc status=none
	head -c 65536 /dev/zero | tr '\0' 'B' |
		dd of="$VM/disks/B.img" bs=512 seek=$((offset + 800 * 128)) conv=notrunc status=none
	boot
	check 'after a power cut the disks are made equal first, from a disk, and the RAM leg comes from them' '
		ramraid wait --timeout=2min data; test "$(slots data)" = UUU
		journalctl -b -u ramraid@data -o cat
		journalctl -b -o cat |
			grep -o "resync of RAID array\|resync done\|RAM leg is being copied\|-add $(ram data)" |
			uniq >/root/order
		cat /root/order
		test "$(tr "\n" , </root/order)" = \
			"resync of RAID array,resync done,RAM leg is being copied,-add $(ram data),"
		block() {
			dd if=$1 bs=4096 skip=$(($2 / 8)) count=16 iflag=direct status=none |
				tr -d "\n" | fold -w1 | sort | uniq -c | tr -d " \n"
		}
		offset=$(cat /root/offset); a=$(block $(node A) $((offset + 102400)))
		b=$(block $(node B) $((offset + 102400))); md=$(block /dev/md/data 102400)
		echo "A: $a B: $b array: $md"
		test "$a" = "$b" -a "$a" = "$md"; test "$a" = 65536A -o "$a" = 65536B
		test "$(compare data)" = 0'
	check 'and it is not the block before it alone: all other bytes are the numbers' '
		cmp -n 52428800 /dev/md/data /root/numbers
		cmp -i 52494336 -n 31391744 /dev/md/data /root/numbers'
	guest '
		setsid fio --name=w --filename=/dev/md/data --rw=write --bs=64k --offset=50m \
			--size=64k --direct=1 --time_based --runtime=600 >/dev/null 2>&1 &
		sleep 30' # until the bitmaps say that no leg lacks anything: md would forget
	# what is dirty
	kill_power
	for disk in A B; do
		head -c 65536 /dev/zero | tr '\0' "$disk" |
			dd of="$VM/disks/$disk.img" bs=512 seek=$((offset + 800 * 128)) \
				conv=notrunc status=none
	done
	VM_DISKS=(A)
	boot
	check 'the same, but one disk is missing at the next boot: what was being written is on the other' '
		test "$(slots data)" = UU_
		test \
			"$(dd if=/dev/md/data bs=64k skip=800 count=1 iflag=direct status=none |
				tr -d A | wc -c)" \
			= 0'
	power_off
	VM_DISKS=(A B)
	boot
	check 'and when the missing disk is back, it is made equal there too' '
		ramraid wait --timeout=2min data; test "$(slots data)" = UUU
		journalctl -b -u ramraid@data -o cat | grep -- "--re-add"
		test "$(dd if=$(node B) bs=512 skip=$(($(cat /root/offset) + 102400)) count=128 \
			iflag=direct status=none | tr -d A | wc -c)" = 0
		test "$(compare data)" = 0'
}
