# make bench-cost: measures what ramraid itself costs. Figures are printed, not judged: they depend
# on the machine, and most of all on whether KVM works there.
from mirror
disk A 96M
disk B 96M
disk P 96M
# Two processors: a boot starts many things at once.
cpus 2

unit_seconds() { # LABEL
	guest "
		start=\$(systemctl show -p InactiveExitTimestampMonotonic --value ramraid@data)
		end=\$(systemctl show -p ActiveEnterTimestampMonotonic --value ramraid@data)
		printf '%-52s %6d ms\n' '$1' \$(((end - start) / 1000))"
}

# Prints how much later than a file system on a plain disk, in the same boot, the one on the mirror
# is mounted, without the time that the rebuild took.
mounted() { # LABEL
	guest '
		at() { systemctl show -p ActiveEnterTimestampMonotonic --value $1; }
		ramraid wait --timeout=2min data
		journalctl -b -u ramraid@data -o short-unix >/root/log
		rebuild=$(awk "/the ramdisk is ready/ && !a { a = \$1 } /: whole after/ { b = \$1 }
			END { printf \"%d\", (b - a) * 1000 }" /root/log)
		[ "$(cat /etc/ramraid/data.conf.d/test.conf 2>/dev/null)" != WAIT=no ] || rebuild=0
		plain=$(($(at srv-plain.mount) / 1000)) data=$(($(at srv-data.mount) / 1000))
		printf "%-52s %6d ms (%d, the plain disk %d; of that the rebuild %d)\n" \
			'"'$1'"' $((data - plain - rebuild)) $data $plain $rebuild'
}

steps() {
	boot
	printf 'accelerator: %s\n' "$(vm_accel)"
	guest '
		uname -r; mdadm --version 2>&1; systemctl --version | head -n1
		cat /sys/module/rapiddisk/version 2>/dev/null || modinfo -F version rapiddisk'
	unit_seconds 'boot, unit start to active, 96 MiB rebuilt'
	guest '
		make_ext4 $(node P); mkdir /srv/plain
		echo "UUID=$(blkid -o value -s UUID $(node P)) /srv/plain ext4 defaults 0 2" \
			>>/etc/fstab
		sync'
	reboot
	mounted 'mounted after a clean shutdown, later by'
	kill_power
	boot
	mounted 'mounted after a power cut, later by'
	guest 'mkdir -p /etc/ramraid/data.conf.d; echo WAIT=no >/etc/ramraid/data.conf.d/test.conf'
	reboot
	mounted 'mounted with WAIT=no, later by'
	guest 'mkdir -p /etc/ramraid/data.conf.d; echo RAM=none >/etc/ramraid/data.conf.d/test.conf'
	reboot
	unit_seconds 'boot, unit start to active, RAM=none'
	guest 'rm /etc/ramraid/data.conf.d/test.conf; ramraid attach data 2>/dev/null
		systemctl stop srv-data.mount; systemctl stop ramraid@data
		systemctl start ramraid@data'
	unit_seconds 'start of a stopped array'
	guest 'mkdir -p /run/systemd/system/ramraid@data.service.d
		printf "[Service]\nExecStop=\n" \
			>/run/systemd/system/ramraid@data.service.d/bench.conf
		systemctl daemon-reload
		systemctl stop ramraid@data; test "$(slots data)" = UUU
		systemctl start ramraid@data'
	unit_seconds 'start of an array that is whole already'
	# This waits until what the start has set off has ended. It measures as in a session, which
	# has these two variables: where they are missing, each bash looks them up.
	guest '
		sleep 10
		export HOME=/root SHELL=/bin/bash
		each() {
			local n=20 t0 t1 i; t0=$(date +%s%N)
			for i in $(seq $n); do "$@" >/dev/null; done; t1=$(date +%s%N)
			echo $(((t1 - t0) / n / 1000))
		}
		ramraid status >/dev/null; mdadm --detail /dev/md/data >/dev/null
		ours=$(each ramraid status data); mdadms=$(each mdadm --detail /dev/md/data)
		bash=$(each bash -c :)
		printf "%-52s %6d us\n%-52s %6d us\n%-52s %6d us\n" \
			"ramraid status, one array, mean of 20 runs" $ours "mdadm --detail" \
			$mdadms "bash that does nothing" $bash
		echo "ratio: $(((ours * 100 / mdadms))) %"'
}
