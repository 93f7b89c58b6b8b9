# make bench-scale: measures what a mirror's size, the number of mirrors, and the number of their
# legs cost. Figures are printed, not judged, but the legs have to be equal. What a run measures:
#   PARTS    sizes (without zeros), boots (many mirrors at one boot), pulled (and then one of their
#            two disks is pulled out), legs (the same boot, with four disk legs each), sparse
#            (mirrors that are mostly zeros, with files); the default is all
#   SIZES    MiB of those without zeros; COUNTS: how many mirrors at one boot, rising
#   SPARSE   GIB:RAM:MINUTES… of those that are mostly zeros: how long to watch a copy at most
#   MEMORY   of the machine: 8192 MiB without zeros need 11G
# Lines for the report:
#   size MIB SECONDS MB-A-SECOND-OF-ALL-LEGS RAM-MB HELPERS-MB
#   boot ARRAYS SECONDS-OF-OURS SECONDS-OF-THE-BOOT MEMORY-MB PROCESSOR-SECONDS-OF-OURS DISK-LEGS
#   pulled ARRAYS SECONDS MONITORS-PROCESSOR-SECONDS LOOKS-PROCESSOR-SECONDS
#   sparse GIB RAM FILES-MB NOT-ZERO-MB MIB MIB-COPIED SECONDS LEG-MB HELPERS-MB CHUNK-KIB BITS
#       SECONDS-BEFORE-THE-COPY SECONDS-AFTER-IT
#   refused GIB RAM TEXT
image stacks
from installed
memory "${MEMORY:-11G}"
cpus 2
long
# What the disks give during a measurement: slow enough for an emulated processor to keep up with
# two.
readonly disk_rate=25000000 part=24M wide=16
readonly parts=${PARTS:-sizes boots pulled legs sparse} sizes=${SIZES:-256 1024 4096 8192} \
	counts=${COUNTS:-0 1 8 16 32} limit=1G \
	sparse=${SPARSE:-4:rapiddisk:30 16:zram:30 64:zram:30 512:zram:10 1024:zram:10}
measures() { [[ " $parts " == *" $1 "* ]]; }
if measures sizes; then
	for size in $sizes; do
		disk "A$size" "${size}M"
		disk "B$size" "${size}M"
	done
fi
if measures boots; then
	disk MANY1 900M
	disk MANY2 900M
fi
if measures legs; then
	for number in 1 2 3 4; do disk "WIDE$number" 450M; done
fi
# Zeros that are written there take nothing on the host.
if measures sparse; then
	for size in $sparse; do
		for letter in A B; do
			disk "$letter${size%%:*}G" "${size%%:*}G" discard=unmap,detect-zeroes=unmap
		done
	done
fi

steps() {
	local size count ram minutes
	fill
	boot
	printf 'accelerator: %s\nprocessors: %s\nrate: %s\nlimit: %s\n' "$(vm_accel)" "$VM_CPUS" \
		$((disk_rate / 1000000)) "$limit"
	printf 'load: %s of %s processors\n' "$(cut -d' ' -f1 /proc/loadavg)" "$(nproc)"
	guest 'echo "kernel: $(uname -r)"; mdadm --version 2>&1 | sed "s/^/mdadm: /"
grep -m1 "model name" /proc/cpuinfo | sed "s/.*: /processor: /"
		awk "/^MemTotal/ { printf \"memory: %d MB\n\", \$2 * 1024 / 1e6 }" /proc/meminfo
		# Each claim makes an initramfs; here one before each boot does.
		sed -i s/^update_initramfs=.*/update_initramfs=no/ \
			/etc/initramfs-tools/update-initramfs.conf'
	if measures sizes; then
		for size in $sizes; do size "$size" || return; done
	fi
	if measures boots; then
		many_make m "${counts##* }" MANY1 MANY2 || return
		for count in $counts; do
			many m "$count" MANY1 MANY2 || return
			! measures pulled || ((count == 0)) || pulled "$count" || return
		done
	fi
	if measures legs; then
		retire || return
		many_make w "$wide" WIDE1 WIDE2 WIDE3 WIDE4 || return
		many w "$wide" WIDE1 WIDE2 WIDE3 WIDE4 || return
	fi
	if measures sparse; then
		retire || return
		for size in $sparse; do
			IFS=: read -r size ram minutes <<<"$size"
			sparse_make "$size" "$ram" || return
		done
		check 'the initramfs knows them' "$initramfs" || return
		for size in $sparse; do
			IFS=: read -r size ram minutes <<<"$size"
			sparse "$size" "$minutes" || return
		done
	fi
}

# Fills both disks of each pair with the same bytes, none of them zero. This happens before the
# machine starts, which would take minutes for it.
fill() {
	local disk
	for disk in "${VM_DISKS[@]}"; do
		[[ $disk =~ ^[AB][0-9]+$ ]] || continue
		perl -e 'my $text = "a mirror with one leg in RAM\n" x 1e5;
			for (my $left = $ARGV[0]; $left > 0; $left -= length $text) {
				print substr $text, 0, $left
			}' \
			"$(stat -c %s "$VM/disks/$disk.img")" >"$VM/disks/$disk.new"
		mv "$VM/disks/$disk.new" "$VM/disks/$disk.img"
	done
}

# Measures a mirror of two disks without a zero on it, stopped and started as at a boot: from the
# finished ramdisk to "whole".
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

# Makes as many mirrors as a boot is to have, each with a file system. None is to start at a boot
# yet, and none is left running: each reload of systemd, and so each "create", looks at what is on
# all running arrays.
many_make() { # LETTER COUNT DISK…
	local letter=$1 count=$2 EXEC_SECONDS=7200
	shift 2
	check "$count mirrors of $# disk legs, each with a file system" '
		for d in '"$*"'; do
			{
				echo label: gpt
				for i in $(seq '"$count"'); do echo ",'"$part"'"; done
			} | sfdisk -q --wipe always $(node $d)
			for i in $(seq 100); do
				[ -e $(leg $d)-part'"$count"' ] && break; sleep 0.2
			done
		done
		: >/root/made
		for i in $(seq '"$count"'); do
			n='"$letter"'$i begin=$(date +%s)
			ramraid create --yes $n $(for d in '"$*"'; do echo $(leg $d)-part$i; done)
			make_ext4 /dev/md/$n; mkdir /srv/$n; mount /dev/md/$n /srv/$n
			echo $i >/srv/$n/number; umount /srv/$n
			echo "UUID=$(blkid -o value -s UUID /dev/md/$n) /srv/$n ext4 \
defaults 0 2" \
				>/root/$n.fstab
			systemctl stop ramraid@$n
			echo $(($(date +%s) - begin)) >>/root/made
		done
		systemctl disable $(printf "ramraid@'"$letter"'%d " $(seq '"$count"')) 2>&1
		'"$initramfs" || return
	guest 'echo "# seconds to make each:" $(cat /root/made)
		begin=$(date +%s.%N); systemctl daemon-reload
		awk -v b=$begin -v e=$(date +%s.%N) \
			"BEGIN { printf \"# a reload of systemd: %.1f s\n\", e - b }"'
}

# Boots with so many of them, each with a file system that waits for it.
many() { # LETTER COUNT DISK…
	local letter=$1 count=$2 EXEC_SECONDS=3600
	shift 2
	check "$count of them are to start" '
		units=""
		for i in $(seq '"$count"'); do
			n='"$letter"'$i
			! grep -q " /srv/$n " /etc/fstab || continue
			cat /root/$n.fstab >>/etc/fstab; units="$units ramraid@$n"
		done
		[ -z "$units" ] || systemctl enable $units 2>&1
		sync' || return
	reboot || return
	check "and after a boot all are whole and mounted ($count)" '
		for i in $(seq '"$count"'); do
			n='"$letter"'$i
			ramraid wait --timeout=2min $n
			slots $n | grep -x "U*"; [ "$(cat /srv/$n/number)" = $i ]
		done' || return
	guest '
		for i in $(seq '"$count"'); do
			systemctl show -p InactiveExitTimestampMonotonic \
				-p ActiveEnterTimestampMonotonic -p CPUUsageNSec ramraid@'"$letter"'$i
		done |
			awk -F = "/^Inactive/ && (!a || \$2 < a) { a = \$2 }
				/^Active/ && \$2 > b { b = \$2 }
				/^CPU/ { c += \$2 }
				END { printf \"%.1f %.1f\n\", (b - a) / 1e6, c / 1e9 }" >/root/ours
		read -r ours processor </root/ours
		end=$(systemctl show -p ActiveEnterTimestampMonotonic --value multi-user.target)
		printf "boot\t%s\t%s\t%s\t%s\t%s\t%s\n" '"$count"' $ours \
			$(awk "BEGIN { printf \"%.1f\", $end / 1e6 }") \
			$(awk "/^MemTotal/ { t = \$2 } /^MemAvailable/ { a = \$2 }
				END { printf \"%d\", (t - a) * 1024 / 1e6 }" /proc/meminfo) \
			$processor '"$#" || return
	guest 'letter='"$letter count=$count$seconds$many_where"
}

# Prints, as comments, where the time of that boot went: what the processors did, and for a start,
# on average, the seconds until the array was assembled, until the ramdisk was there, and until it
# was whole.
readonly seconds='
	# seconds UNIT: of the processors; looks: likewise, of all runs of hot-plug
	seconds() {
		systemctl show -p CPUUsageNSec --value "$1" | awk "{ printf \"%.1f\", \$1 / 1e9 }"
	}
	monitors() { seconds "system-ramraid\\x2dmonitor.slice"; }
	looks() {
		journalctl -b -o cat -u ramraid-hotplug | sed -n "s/.*Consumed \(.*\) CPU time.*/\1/p" |
			awk "{
				for (i = 1; i <= NF; i++) {
					n = \$i + 0
					s += \$i ~ /min\$/ ? 60 * n : \$i ~ /ms\$/ ? n / 1000 : n
				}
			} END { printf \"%.1f\", s }"
	}
'
readonly many_where='
	echo "# processor seconds: starts $(seconds system-ramraid.slice), monitors $(monitors), looks" \
		"$(looks), udev $(seconds systemd-udevd.service), all" \
		"$(awk "/^cpu / { print (\$2 + \$3 + \$4 + \$7 + \$8) / 100 }" /proc/stat)"
	for i in $(seq $count); do
		at=$(systemctl show -p InactiveExitTimestampMonotonic --value ramraid@$letter$i)
		journalctl -b -u ramraid@$letter$i -o short-monotonic | sed "s/^\[ *\([0-9.]*\)\]/\1/" |
			awk -v at=$at "/ \+ mdadm --assemble/ && !a { a = \$1 }
				/the ramdisk is ready/ && !r { r = \$1 } /: whole after/ { w = \$1 }
				END { at /= 1e6; print at, a - at, r - at, w - at }"
	done | awk "{ a += \$2; r += \$3; w += \$4 } NR == 1 || \$1 < f { f = \$1 } \$1 > l { l = \$1 }
		END { if (NR) printf \"# of a start: assembled after %.1f s, ramdisk after %.1f s, whole after %.1f s; begun within %.1f s\\n\",
			a / NR, r / NR, w / NR, l - f }"
	echo "# block devices: $(ls /sys/class/block | wc -l)"
'

# Pulls out one of the two disks, and measures until all that is ours rests. Then puts it back.
pulled() { # COUNT
	local EXEC_SECONDS=3600
	guest "$seconds"'
		rests() {
			test -z "$(systemctl list-units --plain --no-legend \
				--state=activating,deactivating,reloading "ramraid*")"
		}
		for i in $(seq 300); do ! rests || break; sleep 2; done
		m=$(monitors) l=$(looks) since=$(date +%s.%N) two=0; end=$since
		gone MANY2
		while [ $two -lt 2 ]; do
			sleep 2
			if rests; then two=$((two + 1)); else two=0 end=$(date +%s.%N); fi
		done
		for i in $(seq '"$1"'); do [ "$(slots m$i)" = UU_ ]; done
		printf "pulled\t%s\t%s\t%s\t%s\n" '"$1"' \
			$(awk "BEGIN { printf \"%.1f\", $end - $since }") \
			$(awk "BEGIN { printf \"%.1f\", $(monitors) - $m }") \
			$(awk "BEGIN { printf \"%.1f\", $(looks) - $l }")' || return
	check "and after it is put back all are whole ($1)" '
		back MANY2
		for i in $(seq '"$1"'); do
			for t in $(seq 300); do [ "$(slots m$i)" != UUU ] || break; sleep 1; done
			[ "$(slots m$i)" = UUU ]
		done'
}

# Makes the initramfs for the next boot, once.
readonly initramfs='
	c=/etc/initramfs-tools/update-initramfs.conf; sed -i s/=no$/=yes/ $c
	update-initramfs -u 2>&1; sed -i s/=yes$/=no/ $c; sync
'

# Keeps what has been measured out of what is measured next.
retire() {
	local EXEC_SECONDS=1800
	check 'what has been measured is started no more' '
		cd /etc/ramraid; units=""
		for c in *.conf; do
			n=${c%.conf}
			[ $n != ramraid ] && [ -e $c ] || continue
			units="$units ramraid@$n"; sed -i "\\, /srv/$n ,d" /etc/fstab
		done
		[ -n "$units" ] || exit 0
		for n in $units; do ! findmnt /srv/${n#*@} >/dev/null || umount /srv/${n#*@}; done
		systemctl daemon-reload; systemctl stop $units; systemctl disable $units 2>&1
		for n in $units; do mv ${n#*@}.conf ${n#*@}.conf.disabled; done'
}

# Measures a mirror that is mostly zeros, with files on it, from a boot until it is whole, or as far
# as its copy gets in MINUTES.
sparse() { # GIB MINUTES
	local name=s$1 out leg EXEC_SECONDS=$(($2 * 60 + 1800))
	guest 'n='"$name"'; cat /root/$n.refused
		systemctl enable ramraid@$n 2>/dev/null; cat /root/$n.fstab >>/etc/fstab; sync' ||
		return
	down reboot && boot_early || return
	out=$(guest "n=$name gib=$1 minutes=$2$sparse_measure") ||
		{ printf '%s\nnot ok - %s GiB\n' "$out" "$1" && return 1; }
	grep '^#' <<<"$out" || :
	[[ $'\n'$out != *$'\nwhole\t'* ]] || sparse_is_equal "$1" || return
	leg=$(guest "n=$name$sparse_stop") || return
	awk -F '\t' -v leg="$leg" -v zeros="$(sparse_not_zero "$VM/disks/A$1G.img")" '
		/^(whole|part)\t/ { printf "sparse\t%d\t%s\t%d\t%d\t%d\t%d\t%.1f\t%d\t%d\t%d\t%d\t%.1f\t%.1f\n",
			$2, $3, $4, zeros, $5, $6, $7, leg, $8, $9, $10, $11, $12 }' <<<"$out"
}

# Blank disks are equal: md need not make them so, which it would do for "create". The files are
# written while there is no RAM leg yet, so md copies them again after the first copy (the bitmap
# has them). The mirror is left stopped.
sparse_make() { # GIB RAM
	local EXEC_SECONDS=1800
	check "$1 GiB with files, for a RAM leg of $2" '
		n=s'"$1 a=\$(leg A$1G) b=\$(leg B$1G) ram=$2"'
		mkdir -p /etc/ramraid/ramraid.conf.d; : >/root/$n.refused
		echo RAM_LIMIT='"$limit"' >/etc/ramraid/ramraid.conf.d/scale.conf
		ramraid create --dry-run --yes --ram=$ram $n $a $b >/root/out 2>&1 || {
			grep "the ramdisk needs" /root/out || { cat /root/out; exit 1; }
			printf "refused\t%s\t%s\t%s\n" '"$1"' $ram "$(
				sed -n "s/.*\(the ramdisk needs.*available\).*/\1/p" /root/out)" \
				>/root/$n.refused
			ram=auto
		}
		f=/usr/local/sbin/mdadm
		[ -e $f.real ] || cp /usr/sbin/mdadm $f.real
		printf "%s\n" "#!/bin/sh" \
			"[ \"\$1\" != --create ] || set -- \"\$@\" --assume-clean" \
			"exec $f.real \"\$@\"" >$f.clean
		chmod +x $f.clean; mount --bind $f.clean /usr/sbin/mdadm
		ramraid create --yes --ram=none $n $a $b
		umount -l /usr/sbin/mdadm
		make_ext4 /dev/md/$n -b 4096 -m 0 -J size=64 \
			-E nodiscard,lazy_itable_init=1,lazy_journal_init=1
		mkdir /srv/$n; mount -o noinit_itable /dev/md/$n /srv/$n
		cp -ax /usr/. /srv/$n; sync
		du -sx --block-size=1MB /srv/$n | cut -f1 >/root/$n.files
		echo "UUID=$(blkid -o value -s UUID /dev/md/$n) /srv/$n ext4 \
noinit_itable,nofail 0 2" \
			>/root/$n.fstab
		umount /srv/$n; systemctl stop ramraid@$n; systemctl disable ramraid@$n 2>/dev/null
		sed -i s/^RAM=.*/RAM=$ram/ /etc/ramraid/$n.conf
		echo WAIT_TIMEOUT=infinity >>/etc/ramraid/$n.conf
		[ $ram != zram ] || echo BLOCK=4096 >>/etc/ramraid/$n.conf'
}

# Prints how far the copy is, each minute; then "whole" or "part" and GIB RAM FILES-MB MIB
# MIB-COPIED SECONDS HELPERS-MB CHUNK-KIB BITS SECONDS-BEFORE-THE-COPY SECONDS-AFTER-IT.
readonly sparse_measure='

	ram=$(sed -n s/^RAM=//p /etc/ramraid/$n.conf)
	copied() { cat /run/ramraid/$n.copy/done.* 2>/dev/null | awk "{ n += \$1 } END { printf \"%d\", n / 1048576 }"; }
	begin=$(date +%s) said=0
	while [ "$(systemctl is-active ramraid@$n)" != active ]; do
		fails systemctl --quiet is-failed ramraid@$n
		now=$(($(date +%s) - begin))
		[ $now -lt $((minutes * 60)) ] || break
		if [ $now -ge $((said + 60)) ]; then
			said=$now; echo "# $gib GiB: $(copied) MiB after $now s"
		fi
		sleep 5
	done
	at=$(systemctl show -p InactiveExitTimestampMonotonic --value ramraid@$n)
	active=$(systemctl show -p ActiveEnterTimestampMonotonic --value ramraid@$n)
	mib=$(($(cat /sys/block/$(md $n)/size) / 2048)) how=whole copied=$mib
	[ "$active" != 0 ] || { how=part copied=$(copied); }
	journalctl -b -u ramraid@$n -o short-monotonic | sed "s/^\[ *\([0-9.]*\)\]/\1/" >/root/log
	sed "s/^/# /" /root/log
	ready=$(awk "/the ramdisk is ready/ { print \$1; exit }" /root/log)
	[ -n "$ready" ] || { ready=$(awk "BEGIN { print $active / 1e6 }"); ram=none; }
	whole=$(awk "/: whole after/ { print \$1; exit }" /root/log)
	now=$(cut -d" " -f1 /proc/uptime)
	copied_at=$(awk "/: all is copied/ { print \$1; exit }" /root/log)
	copied_at=${copied_at:-$now} whole=${whole:-$now}
	[ $ram != none ] || { copied_at=$ready; whole=$ready; }
	! [ -e /sys/block/$(basename $(ram $n))/mm_stat ] ||
		echo "# zram: $(cat /sys/block/$(basename $(ram $n))/mm_stat)"
	bits=$(mdadm --examine-bitmap $(leg A${gib}G) | sed -n "s/.* \([0-9]*\) bits.*/\1/p")
	chunk=$(($(cat /sys/block/$(md $n)/md/bitmap/chunksize) / 1024))
	echo "# boot: $(systemd-analyze 2>&1 | head -n 1)"
	printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n" $how $gib $ram $(cat /root/$n.files) $mib \
		$copied $(awk "BEGIN { print $copied_at - $ready }") \
		$(($(systemctl show -p MemoryPeak --value ramraid@$n) / 1000000)) $chunk $bits \
		$(awk "BEGIN { print $ready - $at / 1e6, $whole - $copied_at }" | tr " " "\t")
'

sparse_is_equal() { # GIB
	check "and its files are those that were copied ($1 GiB)" '
		for i in $(seq 300); do findmnt /srv/s'"$1"' && break; sleep 0.2; done
		diff -rq --no-dereference -x lost+found /usr /srv/s'"$1"
}

# Stops the mirror, and prints how many MB that gives back.
readonly sparse_stop='

	free_() {
		sync; echo 3 >/proc/sys/vm/drop_caches
		sed -n "s/^MemFree: *\([0-9]*\) kB/\1/p" /proc/meminfo
	}
	before=$(free_); systemctl stop ramraid@$n; after=$(free_)
	echo $(((after - before) * 1024 / 1000000))
	systemctl disable ramraid@$n 2>/dev/null
	sed -i "\, /srv/$n ,d" /etc/fstab; systemctl daemon-reload
'

# Prints how many MB of the image are in pages of 4 KiB that are not zero.
sparse_not_zero() { # IMAGE
	perl -MFcntl=SEEK_SET -e 'open my $in, "<:raw", $ARGV[0] or die;
		my ($at, $pages, $zeros) = (0, 0, "\0" x 4096);
		# What is no hole: SEEK_DATA, SEEK_HOLE
		while (defined(my $from = sysseek $in, $at, 3)) {
			$at = sysseek $in, $from, 4;
			sysseek $in, $from - $from % 4096, SEEK_SET;
			for (my $left = $at - $from; $left > 0; $left -= 4096) {
				sysread $in, my $page, 4096;
				$pages++ if $page ne substr $zeros, 0, length $page;
			}
		}
		printf "%d\n", $pages * 4096 / 1e6' "$1"
}
