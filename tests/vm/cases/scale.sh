# make bench-scale: what a mirror's size, and the number of mirrors, cost. Figures are printed, not
# judged, but the legs have to be equal. Lines for the report begin with "size" (MIB SECONDS
# MB-A-SECOND-OF-ALL-LEGS RAM-MB HELPERS-MB) and "boot" (ARRAYS SECONDS-OF-OURS SECONDS-OF-THE-BOOT
# MEMORY-MB).
image stacks
from installed
memory 11G
cpus 2
long
# While it is measured: slow enough for an emulated processor to keep up with two of them.
readonly disk_rate=25000000 part=24M most=32
readonly sizes='256 1024 4096 8192'
for size in $sizes; do
	disk "A$size" "${size}M"
	disk "B$size" "${size}M"
done
disk MANY1 900M
disk MANY2 900M

steps() {
	local size count
	fill
	boot
	printf 'accelerator: %s\nprocessors: %s\nrate: %s\n' "$(vm_accel)" "$VM_CPUS" \
		$((disk_rate / 1000000))
	guest 'echo "kernel: $(uname -r)"; mdadm --version 2>&1 | sed "s/^/mdadm: /"
grep -m1 "model name" /proc/cpuinfo | sed "s/.*: /processor: /"
		# Each claim makes an initramfs; here one before each boot does.
		sed -i s/^update_initramfs=.*/update_initramfs=no/ \
			/etc/initramfs-tools/update-initramfs.conf'
	for size in $sizes; do size "$size" || return; done
	for count in 0 1 8 "$most"; do many "$count" || return; done
}

# Not a zero on any disk, and the same on both of a pair. Written before the machine starts, which
# would take minutes for it.
fill() {
	local disk
	for disk in "${VM_DISKS[@]}"; do
		[[ $disk != MANY* ]] || continue
		perl -e 'my $text = "a mirror with one leg in RAM\n" x 1e5;
			for (my $left = $ARGV[0]; $left > 0; $left -= length $text) {
				print substr $text, 0, $left
			}' \
			"$(stat -c %s "$VM/disks/$disk.img")" >"$VM/disks/$disk.new"
		mv "$VM/disks/$disk.new" "$VM/disks/$disk.img"
	done
}

# A mirror of two disks without a zero on it, stopped and started as at a boot: from the finished
# ramdisk to "whole".
size() { # MIB
	local out disk EXEC_SECONDS=1800
	check "a mirror of $1 MiB" '
		ramraid create --yes '"s$1 \$(leg A$1) \$(leg B$1)"' >/root/out 2>&1 || {
			cat /root/out; exit 1
		}
		systemctl stop ramraid@'"s$1" || return
	for disk in "A$1" "B$1"; do vm_throttle "$disk" "$disk_rate" || return; done
	out=$(guest '
		free_() {
			echo 3 >/proc/sys/vm/drop_caches
			sed -n "s/^MemFree: *\([0-9]*\) kB/\1/p" /proc/meminfo
		}
		before=$(free_); since=$(date +%s.%N)
		systemctl start ramraid@'"s$1"'
		for i in $(seq 50); do
			journalctl -u ramraid@'"s$1"' --since @$since -o cat |
				grep -q "whole after" &&
				break
			sleep 0.1
		done
		journalctl -u ramraid@'"s$1"' --since @$since -o short-unix >/root/log
		grep -q "were copied from the disk legs" /root/log
		grep -q ": whole after" /root/log
		seconds=$(awk "/the ramdisk is ready/ && !a { a = \$1 } /: whole after/ { b = \$1 }
			END { printf \"%.1f\", b - a }" /root/log)
		sleep 1; ram=$(((before - $(free_)) * 1024 / 1000000))
		helpers=$(($(systemctl show -p MemoryPeak --value ramraid@'"s$1"') / 1000000))
		mib=$(($(cat /sys/block/$(md '"s$1"')/size) / 2048))
		printf "size\t%s\t%s\t%s\t%s\t%s\n" $mib $seconds \
			$(awk "BEGIN { printf \"%.0f\", $mib * 1.048576 / $seconds }") $ram \
			$helpers') ||
		{ printf '%s\nnot ok - %s MiB\n' "$out" "$1" && return 1; }
	printf '%s\n' "$out"
	for disk in "A$1" "B$1"; do vm_throttle "$disk" 0 || return; done
	check "and its legs are equal ($1 MiB)" '
		test "$(slots '"s$1"')" = UUU; test "$(compare '"s$1"')" = 0
		systemctl stop ramraid@'"s$1"'; systemctl disable ramraid@'"s$1"' 2>/dev/null'
}

# So many mirrors at one boot, each with a file system that waits for it.
many() { # COUNT
	local EXEC_SECONDS=3600
	check "$1 mirrors, each with a file system" '
		[ -e $(leg MANY1)-part1 ] || for d in 1 2; do
			{
				echo label: gpt
				for i in $(seq '"$most"'); do echo ",'"$part"'"; done
			} | sfdisk -q --wipe always $(node MANY$d)
			for i in $(seq 100); do
				[ -e $(leg MANY$d)-part'"$most"' ] && break; sleep 0.2
			done
		done
		for i in $(seq '"$1"'); do
			[ ! -e /etc/ramraid/m$i.conf ] || continue
			ramraid create --yes m$i $(leg MANY1)-part$i $(leg MANY2)-part$i
			make_ext4 /dev/md/m$i; mkdir /srv/m$i
			echo "UUID=$(blkid -o value -s UUID /dev/md/m$i) /srv/m$i ext4 \
defaults 0 2" \
				>>/etc/fstab
			systemctl daemon-reload; mount /srv/m$i; echo $i >/srv/m$i/number
		done
		c=/etc/initramfs-tools/update-initramfs.conf; sed -i s/=no$/=yes/ $c
		update-initramfs -u 2>&1; sed -i s/=yes$/=no/ $c; sync' || return
	reboot || return
	check "and after a boot all are whole and mounted ($1)" '
		for i in $(seq '"$1"'); do
			ramraid wait --timeout=2min m$i; [ "$(slots m$i)" = UUU ]
			[ "$(cat /srv/m$i/number)" = $i ]
		done' || return
	guest '
		for i in $(seq '"$1"'); do
			systemctl show -p InactiveExitTimestampMonotonic \
				-p ActiveEnterTimestampMonotonic ramraid@m$i
		done |
			awk -F = "/^Inactive/ && (!a || \$2 < a) { a = \$2 }
				/^Active/ && \$2 > b { b = \$2 }
				END { printf \"%.1f\n\", (b - a) / 1e6 }" >/root/ours
		end=$(systemctl show -p ActiveEnterTimestampMonotonic --value multi-user.target)
		printf "boot\t%s\t%s\t%s\t%s\n" '"$1"' $(cat /root/ours) \
			$(awk "BEGIN { printf \"%.1f\", $end / 1e6 }") \
			$(awk "/^MemTotal/ { t = \$2 } /^MemAvailable/ { a = \$2 }
				END { printf \"%d\", (t - a) * 1024 / 1e6 }" /proc/meminfo)'
}
