# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# make bench-apps: measures programs after a cold boot, with their data on a bare hard disk, in the
# page cache that vmtouch has warmed, behind bcache and dm-cache (write-through, on a ramdisk), and
# on a mirror. An emulated processor is so slow that a disk's slowness would not show. So the disks
# are slowed down by the same factor, which is measured first: PostgreSQL's requests a second here,
# warm, and on the host. Figures are printed, not judged. Lines for the report: ready SET SYSTEM
# SECONDS until the data can be used; app SET SYSTEM PROGRAM SECONDS REQUESTS; memory SET SYSTEM
# MB-FOR-GOOD MB-OF-PAGE-CACHE.
image apps
from installed
memory 912M
cpus 2
long
needs rapiddisk
readonly sets=${APPS_SETS:-database files} all='disk vmtouch bcache dm-cache ramraid ramraid-zram'
readonly systems=${APPS_SYSTEMS:-$all}
# Requests a second: the hard disk of the first article. Sequential bytes a second: that of the
# fourth.
readonly hdd_requests=464 hdd_bytes=160000000
# PostgreSQL serves for so many seconds; the time until so many requests are served is measured,
# too.
readonly app_seconds=${APPS_SECONDS:-90} app_requests=${APPS_REQUESTS:-200}
for set in database files; do
	for system in plain bcache mirror; do disk "$set-$system" 1M; done
done

readonly tools='
	bin=$(echo /usr/lib/postgresql/*/bin)
	as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
	started() {
		install -d -o postgres /run/pg
		as $bin/pg_ctl -w -t 3000 -D /srv/apps -l /run/pg/log start -o "-k /run/pg \
-c listen_addresses= -c shared_buffers=16MB -c max_wal_size=32MB -c min_wal_size=8MB" >/run/pg.out
	}
	ended() { as $bin/pg_ctl -w -t 3000 -D /srv/apps -m fast stop >/run/pg.out; }
	now() { date +%s.%N; }
	since() { echo "$(now) $1" | awk "{ printf \"%.1f\", \$1 - \$2 }"; }
	# A ramdisk of the size of the data
	ramdisk() { # NUMBER BYTES
		modprobe rapiddisk; echo "rapiddisk attach $1 $2" >/sys/kernel/rapiddisk/mgmt; settle
	}
	# until_there PATTERN
	until_there() {
		for i in $(seq 300); do ! compgen -G "$1" >/dev/null || return 0; sleep 0.2; done
		echo "there is no $1"; return 1
	}
	# up SET SYSTEM: the data can be used in /srv/apps.
	up() {
		local plain device bytes
		plain=$(node $1-plain)
		bytes=$(blockdev --getsize64 $plain)
		case $2 in
		disk | vmtouch) device=$plain ;;
		bcache)
			# udev may have been first.
			modprobe bcache; ramdisk 7 $bytes
			make-bcache --wipe-bcache --bucket 128k -C /dev/rd7 >/dev/null
			for device in /dev/rd7 $(node $1-bcache); do
				echo $device >/sys/fs/bcache/register 2>/dev/null || :
			done
			plain=/sys/block/$(basename $(node $1-bcache))/bcache
			until_there $plain/dev/bcache; until_there "/sys/fs/bcache/*-*-*"
			basename /sys/fs/bcache/*-*-* >$plain/attach; until_there $plain/cache
			echo 0 >$plain/sequential_cutoff
			echo 0 | tee /sys/fs/bcache/*-*/congested_{read,write}_threshold_us >/dev/null
			device=/dev/$(basename $(readlink -f $plain/dev))
			;;
		dm-cache)
			ramdisk 7 $bytes; ramdisk 8 8388608
			dmsetup create apps --table "0 $((bytes / 512)) cache /dev/rd8 /dev/rd7 \
$plain 64 1 writethrough smq 0"
			device=/dev/mapper/apps
			;;
		ramraid*)
			sed -i "/^RAM=/d" /etc/ramraid/$1.conf
			[ $2 = ramraid ] && echo RAM=rapiddisk >>/etc/ramraid/$1.conf ||
				echo RAM=zram >>/etc/ramraid/$1.conf
			ramraid start $1; device=/dev/md/$1
			[ "$(slots $1)" = UU ] || { ls -l /dev/md; cat /proc/mdstat; return 1; }
			;;
		esac
		echo "$device is ready"; mount $device /srv/apps
		[ $2 != vmtouch ] || vmtouch -t -q /srv/apps
	}
	# cold SYSTEM: what is in the page cache alone is what has been warmed on purpose.
	cold() { sync; [ $1 = vmtouch ] || echo 3 >/proc/sys/vm/drop_caches; }
	memory() {
		awk "{ m[\$1] = \$2 } END { printf \"%d\t%d\n\",
			(m[\"MemTotal:\"] - m[\"MemFree:\"] - m[\"Cached:\"] - m[\"SReclaimable:\"]) \
				* 1024 / 1e6,
			(m[\"Cached:\"] - m[\"Shmem:\"]) * 1024 / 1e6 }" /proc/meminfo
	}
	# app SET SYSTEM NAME COMMAND…: prints how long it takes, and how many lines it prints.
	app() {
		local begin seconds
		cold $2; begin=$(now); "${@:4}" >/root/app.out; seconds=$(since $begin)
		printf "app\t%s\t%s\t%s\t%s\t%s\n" $1 $2 $3 $seconds $(wc -l </root/app.out)
	}
	web() {
		shuf -n 300 --random-source=/root/web /root/web |
			sed "s,^/srv/apps/web,url = \"http://127.0.0.1,; s,\$,\"," >/root/urls
		curl -sf -K /root/urls -Z --parallel-max 8 | wc -c >/root/web.bytes
		test $(cat /root/web.bytes) -gt 2000000; cat /root/urls
	}
	compile() {
		local file
		for file in $(ls /srv/apps/lua/src/l*.c | head -n 10); do
			gcc -O0 -c -o /run/app.o $file; echo $file
		done
	}
	'

steps() {
	local set system folder bytes native inside factor EXEC_SECONDS=6000
	folder=$("$here/apps.sh" data)
	native=$("$here/apps.sh" native)
	for set in database files; do
		cp --sparse=always "$folder/$set.img" "$VM/disks/$set-plain.img"
		# and room for the superblocks
		bytes=$(stat -c %s "$folder/$set.img")
		for system in bcache mirror; do
			truncate -s $((bytes + (6 << 20))) "$VM/disks/$set-$system.img"
		done
	done
	boot
	printf 'accelerator: %s\nprocessors: %s\nmemory: %s\n' "$(vm_accel)" "$VM_CPUS" "$VM_MEMORY"
	guest 'echo "kernel: $(uname -r)"; modprobe rapiddisk
		echo "rapiddisk: $(cat /sys/module/rapiddisk/version)"
		echo "postgresql: $(echo /usr/lib/postgresql/* | sed s,.*/,,)"
		grep -m1 "model name" /proc/cpuinfo | sed "s/.*: /processor: /"'
	check 'the data are on every system' "$tools"'
		systemctl -q disable --now postgresql nginx; mkdir /srv/apps
		printf "%s\n" "server { listen 80; root /srv/apps/web; access_log off; }" \
			>/etc/nginx/sites-available/default
		mkdir -p /etc/ramraid/ramraid.conf.d
		echo RAM_RESERVE=16M >/etc/ramraid/ramraid.conf.d/apps.conf
		sed -i s/^update_initramfs=.*/update_initramfs=no/ \
			/etc/initramfs-tools/update-initramfs.conf
		mount $(node database-plain) /srv/apps; chown -R postgres: /srv/apps
		chmod 700 /srv/apps; umount /srv/apps
		mount $(node files-plain) /srv/apps; find /srv/apps/web -type f | sort >/root/web
		HOME=/root git config --global --add safe.directory /srv/apps/tree
		umount /srv/apps; modprobe bcache
		for set in database files; do
			make-bcache --wipe-bcache -B $(node $set-bcache) >/dev/null
			echo $(node $set-bcache) >/sys/fs/bcache/register 2>/dev/null || :
			plain=/sys/block/$(basename $(node $set-bcache))/bcache
			until_there $plain/dev/bcache
			dd if=$(node $set-plain) of=/dev/$(basename $(readlink -f $plain/dev)) bs=1M \
				oflag=direct conv=fsync status=none
			ramraid create --yes --ram=rapiddisk $set $(leg $set-mirror)
			echo BLOCK=4096 >>/etc/ramraid/$set.conf; ramraid stop $set; ramraid start $set
			dd if=$(node $set-plain) of=/dev/md/$set bs=1M oflag=direct conv=fsync status=none
			ramraid stop $set; systemctl -q disable ramraid@$set
		done
		sed -i s/=no$/=yes/ /etc/initramfs-tools/update-initramfs.conf
		update-initramfs -u 2>&1' || return
	inside=$(inside) || return
	factor=${APPS_FACTOR:-$((native / inside))}
	printf 'native: %s\ninside: %s\nfactor: %s\n' "$native" "$inside" "$factor"
	printf 'hard disk: %s requests and %s MB a second\n' "$hdd_requests" $((hdd_bytes / 1000000))
	guest 'awk "/^MemTotal/ { printf \"usable memory: %d MB\n\", \$2 * 1024 / 1e6 }" /proc/meminfo
		mount $(node database-plain) /srv/apps
		echo "database: $(df --output=used -BMB /srv/apps | tail -n 1 | tr -dc 0-9) MB"
		umount /srv/apps'
	for set in $sets; do
		for system in $systems; do apps_of "$set" "$system" || return; done
	done
	# The disks were slowed down by the machine's speed at first. Are it and the host still as
	# fast?
	reboot || return
	printf 'native at the end: %s\ninside at the end: %s\n' "$("$here/apps.sh" native)" "$(inside)"
}

# inside: prints how many requests a second PostgreSQL serves in the machine, warm.
inside() {
	guest "$tools"'mount $(node database-plain) /srv/apps; vmtouch -t -q /srv/apps; started
		as $bin/pgbench -h /run/pg -n -S -M prepared -c 4 -T 30 postgres |
			sed -n "s/^tps = \([0-9]*\).*/\1/p"
		ended; umount /srv/apps'
}

# apps_of SET SYSTEM: measures it after a boot of its own.
apps_of() {
	local out
	reboot || return
	for disk in plain bcache mirror; do
		vm_throttle "$1-$disk" $((hdd_bytes / factor)) \
			$(((hdd_requests + factor / 2) / factor)) || return
	done
	out=$(guest "$tools"'
		for d in plain bcache mirror; do
			d=$(basename $(node '"$1"'-$d))
			echo 3600 >/sys/block/$d/device/timeout; echo 2048 >/sys/block/$d/queue/read_ahead_kb
		done
		begin=$(now); up '"$1 $2"'
		printf "ready\t%s\t%s\t%s\n" '"$1 $2"' $(since $begin)
		case '"$1"' in
		database)
			begin=$(now); started; printf "app\t%s\t%s\tstart\t%s\t1\n" '"$1 $2"' $(since $begin)
			cd /run/pg; rm -f requests*; begin=$(now); as $bin/pgbench -h /run/pg -n -S -M prepared -c 4 -l \
				--log-prefix=/run/pg/requests -T '"$app_seconds"' postgres >/root/app.out
			cat /root/app.out >&2
			cat /run/pg/requests* | awk "{ printf \"%d.%06d\n\", \$5, \$6 }" | sort -n \
				>/root/times
			n=$(wc -l </root/times); nth=$(sed -n '"$app_requests"'p /root/times)
			printf "app\t%s\t%s\trequests\t%s\t%s\n" '"$1 $2 $app_seconds"' $n
			[ -z "$nth" ] || echo "$nth $begin" |
				awk "{ printf \"app\t%s\t%s\tfirst\t%.1f\t%s\n\", \"'"$1"'\", \"'"$2"'\", \
					\$1 - \$2, '"$app_requests"' }"
			memory=$(memory); ended
			;;
		files)
			systemctl start nginx
			export HOME=/root; app '"$1 $2"' git-grep git -C /srv/apps/tree grep -c include
			app '"$1 $2"' "git-log" git -C /srv/apps/tree log --oneline -Sstruct
			app '"$1 $2"' find find /srv/apps/empty -type f -printf "%s\n"
			app '"$1 $2"' compile compile
			app '"$1 $2"' web web
			memory=$(memory); systemctl stop nginx
			;;
		esac
		printf "memory\t%s\t%s\t%s\n" '"$1 $2"' "$memory"
		umount /srv/apps
		case '"$2"' in ramraid*) ramraid stop '"$1"' ;; esac') ||
		{ printf '%s\nnot ok - %s on %s\n' "$out" "$1" "$2" && return 1; }
	printf '%s\nok - %s on %s\n' "$out" "$1" "$2"
	for disk in plain bcache mirror; do vm_throttle "$1-$disk" 0 || return; done
}
