# make bench-rebuild: measures how long the RAM leg takes with 1, 2 and 3 disk legs, with ramraid's
# copy beside md's own recovery. Figures are printed, not judged, except for the memory. Then it
# measures what the bitmap's chunks cost scattered writes. Lines for the report begin with "rebuild"
# (ENGINE LEGS MB/S-OF-ALL-LEGS SECONDS MB NON-ZERO-MB RAM-MB) and "chunk" (CHUNK IOPS-OF-ONE-WRITER
# IOPS-OF-32).
from installed
memory 4G
cpus 2
readonly disk_rate=20000000 slow_rate=5000000 disk_writes=200 chunk_seconds=20
disk A 2060M throttling.bps-read=$disk_rate
disk B 2060M throttling.bps-read=$disk_rate
disk C 2060M throttling.bps-read=$disk_rate
disk D 1026M throttling.iops-write=$disk_writes
disk E 1026M throttling.iops-write=$disk_writes

# brd would keep pages of zeros, too. In emulation, zstd compresses less than three disks read.
RAM_LEG=auto
release_has_rapiddisk "$RELEASE" || RAM_LEG=zram:lz4

steps() {
	local legs size with=''
	boot
	printf 'accelerator: %s\nprocessors: %s\nrate: %s\nwrites: %s\nseconds: %s\n' \
		"$(vm_accel)" "$VM_CPUS" $((disk_rate / 1000000)) "$disk_writes" "$chunk_seconds"
	guest '
		echo "kernel: $(uname -r)"; mdadm --version 2>&1 | sed "s/^/mdadm: /"
		grep -m1 "model name" /proc/cpuinfo | sed "s/.*: /processor: /"'
	check 'a mirror of three disks, 300 MiB of it written' '
		ramraid create --yes --ram='"$RAM_LEG"' data $(leg A) $(leg B) $(leg C)
		dd if=/dev/urandom of=/dev/md/data bs=1M count=300 seek=700 oflag=direct \
			conv=fsync status=none
		test "$(slots data)" = UUUU'
	[[ $RAM_LEG != *:* ]] || with=" with ${RAM_LEG#*:}"
	guest 'echo "provider: a RAM leg of $(cut -d" " -f1 /run/ramraid/data.ram)'"$with"'"'
	non_zero
	for legs in 3 2 1; do
		both "$legs" "$legs"
		((legs == 1)) || check "and without one of the disks ($((legs - 1)))" '
			d='"$([[ $legs == 3 ]] && echo C || echo B)"'
			mdadm -q /dev/md/data --fail $(node $d)
			for i in $(seq 50); do
				mdadm -q /dev/md/data --remove $(node $d) 2>/dev/null && break
				sleep 0.2
			done
			mdadm --zero-superblock $(node $d)
			sed -i "\|$(leg $d)|d" /etc/ramraid/data.conf'
	done
	check 'two disks again' '
		echo "MEMBER=$(leg B)" >>/etc/ramraid/data.conf
		mdadm -q /dev/md/data --add $(node B)
		for i in $(seq 1200); do
			[ "$(cat /sys/block/$(md data)/md/sync_action)" = idle ] && break; sleep 0.2
		done
		ramraid attach data'
	power_off
	VM_DISK_OPTS[B]=throttling.bps-read=$slow_rate
	boot
	both 2 "2, one of them $((disk_rate / slow_rate)) times slower"
	power_off
	VM_DISK_OPTS[B]='' # md reads all of both
	boot
	check 'the legs are equal' 'test "$(compare data)" = 0'
	for size in none 1M 4M 64M; do chunk "$size"; done
}

# Measures random writes of 4 KiB all over a mirror of two disks with 200 writes a second each,
# without a RAM leg: what costs is the bitmap on the disks.
chunk() { # CHUNK
	local out
	out=$(guest '
		mdadm -q --create /dev/md/chunk --run --level=1 --raid-devices=2 --assume-clean \
			--bitmap='"$([[ $1 == none ]] && echo none || echo "internal --bitmap-chunk=$1")"' \
			$(node D) $(node E) 2>&1
		write() {
			fio --name=w --filename=/dev/md/chunk --rw=randwrite --bs=4k --direct=1 \
				--ioengine=libaio --iodepth=$1 --time_based \
				--runtime='"$chunk_seconds"' --randseed=1 --output-format=json |
				jq -r ".jobs[0].write.iops | round"
		}
		echo "iops $(write 1) $(write 32)"
		mdadm -q --stop /dev/md/chunk; mdadm -q --zero-superblock $(node D) $(node E)') ||
		{ printf '%s\nnot ok - chunks of %s\n' "$out" "$1" && return 1; }
	sed -n "s/^iops \([0-9]*\) \([0-9]*\)$/chunk\t$1\t\1\t\2/p" <<<"$out" | grep . || {
		printf '%s\nnot ok - chunks of %s\n' "$out" "$1" && return 1
	}
}

# Counts what holds something else than zeros, in pages of 4 KiB, in disk A's image.
non_zero() {
	local offset
	offset=$(guest '
		mdadm --examine $(node A) | sed -n "s/.*Data Offset : \([0-9]*\) .*/\1/p"; sync')
	NON_ZERO=$(perl -e 'open F, "<:raw", $ARGV[0] or die; seek F, $ARGV[1] * 512, 0;
		while (read F, $b, 1 << 20) {
			for ($i = 0; $i < length $b; $i += 4096) {
				$n++ if substr($b, $i, 4096) =~ /[^\0]/
			}
		}
		printf "%d\n", $n * 4096 / 1e6' \
		"$VM/disks/A.img" "$offset")
}

both() { # LEGS LABEL
	measure copy "$1" "$2"
	measure kernel "$1" "$2"
}

# The service is restarted, as at boot: only the rebuild itself is timed, from the finished ramdisk
# to "whole".
measure() { # ENGINE LEGS LABEL
	local out rate seconds ram size
	out=$(guest '
		set -o pipefail
		mkdir -p /etc/ramraid/data.conf.d
		echo REBUILD='"$1"' >/etc/ramraid/data.conf.d/test.conf
		systemctl stop ramraid@data; echo 3 >/proc/sys/vm/drop_caches
		for d in '"$(guest 'sed -n "s/^MEMBER=//p" /etc/ramraid/data.conf' | tr '\n' ' ')"'; do
			(LC_ALL=C dd if=$d of=/dev/null bs=1M count=128 skip=64 iflag=direct 2>&1 |
				sed -n "s/^\([0-9]*\) bytes.*, \([0-9.]*\) s, .*/\1 \2/p" \
					>/run/rate.${d##*_}) &
		done; wait
		echo "rate $(cat /run/rate.* |
			awk "{ sum += \$1 / \$2 / 1e6 } END { printf \"%.1f\", sum }")"
		rm /run/rate.*
		free_() { # once nothing else takes or frees memory, as it does after a boot
			local now was=0
			for i in $(seq 30); do
				sync; echo 3 >/proc/sys/vm/drop_caches
				now=$(sed -n "s/^MemFree: *\([0-9]*\) kB/\1/p" /proc/meminfo)
				[ $((now - was)) -ge 1000 ] || [ $((was - now)) -ge 1000 ] || break
				was=$now; sleep 1
			done
			echo $now
		}
		before=$(free_); since=$(date +%s.%N)
		systemctl start ramraid@data
		test "$(slots data | tr -d _)" = '"$(printf 'U%.0s' $(seq 0 "$2"))"'
		for i in $(seq 50); do
			journalctl -u ramraid@data --since @$since -o cat |
				grep -q "whole after" && break
			sleep 0.1
		done
		journalctl -u ramraid@data --since @$since -o short-unix >/root/log
		echo "seconds $(awk "/the ramdisk is ready|md rebuilds the RAM leg from one disk/ &&
				!a { a = \$1 } /: whole after/ { b = \$1 }
			END { printf \"%.1f\", b - a }" /root/log)"
		sleep 1; echo "ram $(((before - $(free_)) * 1024 / 1000000))"
		echo "size $(($(cat /sys/block/$(md data)/size) * 512 / 1000000))"
		grep -o "md rebuilds the RAM leg from one disk.*" /root/log || :
	') || { printf '%s\nnot ok - %s, %s disk legs\n' "$out" "$1" "$3" && return 1; }
	rate=$(sed -n 's/^rate //p' <<<"$out") seconds=$(sed -n 's/^seconds //p' <<<"$out") \
	ram=$(sed -n 's/^ram //p' <<<"$out") size=$(sed -n 's/^size //p' <<<"$out")
	printf 'rebuild\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$3" "$rate" "$seconds" "$size" \
		"$NON_ZERO" "$ram"
	[[ $1 != copy ]] || ((ram * 100 <= NON_ZERO * 110)) || {
		printf "not ok - the RAM leg takes no more than 1.10 times what is not zero: \
%s of %s MB\n" "$ram" "$NON_ZERO" &&
			return 1
	}
}
