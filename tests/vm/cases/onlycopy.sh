# All disk legs fail and the RAM leg is the only good copy. ramraid reports that at once, holds the
# copy at shutdown, saves it to a file as the last resort, and never starts from the stale disks
# after that.
checked_on forky
from small
disk A 40M
disk B 40M
disk C 40M
# The worker of hot-plug may be under way when md stops writing: it then says what to do, and fails.
may_fail ramraid@data.service srv-data.mount ramraid-mend@data.service

readonly tools='
	lose() { # both disks fail and vanish, under a writer
		for d in A B; do
			mdadm /dev/md/data --fail $(node $d)
			for i in $(seq 50); do
				mdadm /dev/md/data --remove $(node $d) && break; sleep 0.1
			done
			sleep 1
		done
		gone A B
	}
	new() {
		head -c 1M /dev/urandom >/srv/data/$1; sync
		(cd /srv/data; sha256sum $1 >>/root/sums)
	}
	sums() { cd /srv/data; sha256sum --quiet -c /root/sums; cd /; }
	conf() {
		mkdir -p /etc/ramraid/data.conf.d
		printf "%s\n" "$@" >/etc/ramraid/data.conf.d/test.conf
	}
	'

steps() {
	local folder=/var/lib/ramraid
	short || folder=/var/keep/images
	boot
	guest 'sed -i "s/ext4 defaults/ext4 nofail/" /etc/fstab; systemctl daemon-reload'
	check 'its unit is not up, and the array runs' '
		drop=/run/systemd/system/ramraid@data.service.d; mkdir -p $drop
		printf "[Service]\nExecStop=\n" >$drop/test.conf; systemctl daemon-reload
		systemctl stop ramraid@data; rm $drop/test.conf; systemctl daemon-reload
		mount /dev/md/data /srv/data
		test "$(slots data)" = UUU; test "$(systemctl is-active ramraid@data)" = inactive'
	check 'the last disk leg fails: it is recorded, and told at once' "$tools"'
		lose
		for i in $(seq 100); do
			grep -qx "legs=" /etc/ramraid/state/data.witness && break; sleep 0.1
		done
		cat /etc/ramraid/state/data.witness; grep -x "legs=" /etc/ramraid/state/data.witness
		for i in $(seq 50); do
			journalctl -b -q -p emerg | grep -q "data: THE RAM" && break; sleep 0.2
		done
		journalctl -b -p emerg | grep "data: THE RAM LEG IS THE ONLY GOOD COPY"
		ramraid status data >/root/out || test $? = 1; grep "^data: degraded" /root/out
		grep "ONLY GOOD COPY" /root/out
		new onlyram1; sums
		# A shutdown is guarded by the unit.
		for i in $(seq 100); do
			[ "$(systemctl is-active ramraid@data)" = active ] && break; sleep 0.2
		done
		systemctl is-active ramraid@data'
	check 'on the console too' "
		grep -q 'THE RAM LEG IS THE ONLY GOOD COPY' <<'EOT'
$(tr -d '\r' <"$VM/serial.log" | grep 'data: THE RAM LEG' || echo 'nothing on the console')
EOT"
	check 'stop and detach keep it, and say so' "$tools"'
		code=0; ramraid detach data 2>/root/out || code=$?; cat /root/out; test $code = 4
		grep "only good copy" /root/out; test "$(slots data)" = U__; sums
		systemctl stop srv-data.mount; systemctl stop ramraid@data || :
		for i in $(seq 100); do
			[ "$(systemctl is-active ramraid@data)" = active ] && break; sleep 0.2
		done
		systemctl is-active ramraid@data; test "$(slots data)" = U__
		systemctl start srv-data.mount; sums'
	kill_power
	boot
	check 'after a power cut the disks, which lack what only the RAM leg had, are refused' '
		fails findmnt /srv/data; fails grep "^md" /proc/mdstat
		systemctl is-active multi-user.target
		systemctl show -p StatusText --value ramraid@data |
			grep "the RAM leg was the only good copy .*--force-leg=$(leg A)\|\
the RAM leg was the only good copy .*--force-leg=$(leg B)"'
	check 'the administrator can go on with what the last disk has' "$tools"'
		ramraid start --yes --force-leg=$(leg B) data || test $? = 1
		systemctl start srv-data.mount
		fails test -e /srv/data/onlyram1; sed -i /onlyram1/d /root/sums; sums
		ramraid attach data; test "$(slots data)" = U_U
		mdadm --zero-superblock $(node A); ramraid apply --yes data
		test "$(slots data)" = UUU; sums; test "$(compare data)" = 0'
	short || {
		check 'stopped by hand, and by nobody who knows: a stop starts it again from the ramdisk, and disks that come back get all of it' "$tools"'
			cp /etc/ramraid/state/data.witness /root/witness
			lose; new onlyram5; systemctl stop srv-data.mount; mdadm --stop /dev/md/data
			# As if it had been done before anybody could write down that the disks are
			# lost.
			settle
			for i in $(seq 200); do
				systemctl list-jobs --no-legend | grep -q ramraid || break
				sleep 0.3
			done
			rm -f /boot/ramraid/*.witness
			cp /root/witness /etc/ramraid/state/data.witness
			ram=$(basename $(ram data))
			# Its unit is started again, which cancels the stop.
			fails systemctl stop ramraid@data; test "$(slots data | tr -d _)" = U
			grep "^md.* $ram\[" /proc/mdstat
			journalctl -b -u ramraid@data -o cat |
				grep "the ramdisk $ram was the only good copy when the array was \
stopped; its record did not say so yet"
			journalctl -b -u ramraid@data -o cat | grep "starting it from the ramdisk $ram"
			for i in $(seq 100); do
				[ "$(systemctl is-active ramraid@data)" = active ] && break; sleep 0.3
			done
			back A B
			for i in $(seq 400); do [ "$(slots data)" = UUU ] && break; sleep 0.3; done
			test "$(slots data)" = UUU; systemctl start srv-data.mount
			sums; test "$(compare data)" = 0'
		check 'stopped by hand, and started from a disk: nothing takes the ramdisk away, and the array goes on from it' "$tools"'
			lose; new onlyram7; systemctl stop srv-data.mount; ram=$(basename $(ram data))
			for i in $(seq 100); do
				grep -x legs= /etc/ramraid/state/data.witness && break; sleep 0.3
			done
			mdadm --stop /dev/md/data; back A; settle
			mdadm --assemble --run /dev/md/data $(node A); cat /proc/mdstat
			code=0; ramraid detach data 2>/root/out || code=$?; cat /root/out
			test $code = 4; grep "the ramdisk $ram stays" /root/out
			code=0; ramraid stop data 2>/root/out || code=$?; cat /root/out; test $code = 4
			grep "mdadm --assemble --run /dev/md/data /dev/$ram && ramraid start data" /root/out
			ramraid status data || :; test -b /dev/$ram
			mdadm --stop /dev/md/data; mdadm --assemble --run /dev/md/data /dev/$ram
			ramraid start data; cat /proc/mdstat; back B
			# Nobody has written to it there: it is put back.
			for i in $(seq 400); do [ "$(slots data)" = UUU ] && break; sleep 0.3; done
			test "$(slots data)" = UUU; systemctl start srv-data.mount
			sums; test "$(compare data)" = 0'
		check 'replace puts a disk that has returned back by its bitmap, and only then builds the new one' "$tools"'
			conf HOTPLUG=no; lose; new onlyram8
			for i in $(seq 100); do
				grep -x legs= /etc/ramraid/state/data.witness && break; sleep 0.3
			done
			back B; settle; test "$(slots data | tr -d _)" = U
			ramraid replace --dry-run data $(leg A) $(leg C) >/root/out; cat /root/out
			grep "put back  $(leg B)" /root/out
			ramraid replace --yes data $(leg A) $(leg C) >/root/out 2>&1; cat /root/out
			test "$(sed -En "s/.*--(re-add|add) .*/\\1/p" /root/out | paste -sd " ")" = \
				"re-add add"
			fails grep "zero-superblock $(node B)" /root/out
			test "$(slots data)" = UUU; sums; test "$(compare data)" = 0
			back A; settle; mdadm --zero-superblock $(node A)
			ramraid replace --yes data $(leg C) $(leg A); test "$(slots data)" = UUU
			rm /etc/ramraid/data.conf.d/test.conf; sums; test "$(compare data)" = 0'
		check 'stop puts back the disks that are there, and lets the RAM leg go when one has it all' "$tools"'
			lose; new onlyram2; back A B; systemctl stop srv-data.mount
			ramraid stop data; fails grep "^md" /proc/mdstat
			test ! -e /run/ramraid/data.ram; no_ramdisk
			ramraid start data; test "$(slots data)" = UUU
			systemctl start srv-data.mount; sums; test "$(compare data)" = 0'
	}
	check 'a shutdown without a disk leg waits for one, and says so' "$tools"'
		at=$(basename $(readlink -f /sys/block/$(basename $(node A))/device))
		at=$(echo ${at#*:} | tr : " ")
		conf MEMBER_TIMEOUT=2min; lose; new onlyram3; sums
		systemctl --no-block poweroff
		for i in $(seq 150); do
			systemctl show -p StatusText --value ramraid@data |
				grep "waiting for a disk leg to come back" &&
				break
			sleep 0.2
		done
		systemctl show -p StatusText --value ramraid@data |
			grep "waiting for a disk leg to come back"
		fails findmnt /srv/data
		# The one that left last comes last: A, put back without it, would look at the next
		# boot as if both had been used without each other.
		sleep 3; for h in /sys/class/scsi_host/host*/scan; do echo "$at" >$h; done
		(
			sleep 8; for h in /sys/class/scsi_host/host*/scan; do echo "- - -" >$h; done
		) >/dev/null 2>&1 &'
	vm_wait_gone || {
		echo 'not ok - a disk comes back, takes what only the RAM leg had, and the machine goes down'
		return 1
	}
	echo 'ok - a disk comes back, takes what only the RAM leg had, and the machine goes down'
	boot
	check 'nothing is lost' "$tools"'
		ramraid wait --timeout=1min data; test "$(slots data)" = UUU; findmnt /srv/data
		sums; test "$(compare data)" = 0'
	check 'the record is no longer that there is only the RAM leg' '
		! grep -qx "legs=" /etc/ramraid/state/data.witness'
	guest "$tools"'conf MEMBER_TIMEOUT=3s; lose; new onlyram4; sums'
	short || check 'while the unit may not write to a folder of RESCUE, status says not to reboot, and what to type' "$tools"'
		says() { # what status has, and has not
			ramraid status data >/root/out || test $? = 1; cat /root/out
			tr -s "\n " " " </root/out >/root/line; grep -e "$1" /root/line
			test -z "${2-}" || fails grep -e "$2" /root/line
		}
		not="do NOT reboot" reload="systemctl daemon-reload"
		says "ONLY GOOD COPY" "$not"
		conf MEMBER_TIMEOUT=3s RESCUE='"$folder"'
		says "$not.*(/var/keep/images does not exist: mkdir -p /var/keep/images; $reload)"
		mkdir -p /var/keep/images
		says "$not.*(systemd does not yet let the .* write to /var/keep/images: $reload)"
		systemctl daemon-reload; says "ONLY GOOD COPY" "$not"'
	power_off
	boot
	check 'no disk came back: the shutdown has saved the RAM leg to a file, and the next start refuses the disks' '
		cat /etc/ramraid/state/data.rescue
		image=$(sed -n s/^image=//p /etc/ramraid/state/data.rescue); ls -ls "$image"
		test ${image%/rescue-*} = '"$folder"'/data
		echo "$image" >/root/image-name
		fails findmnt /srv/data; fails grep "^md" /proc/mdstat
		systemctl is-active multi-user.target
		systemctl show -p StatusText --value ramraid@data |
			grep "is in $image.*ramraid restore data"
		ramraid status data >/root/out || test $? = 3; cat /root/out
		grep "ramraid restore data" /root/out'
	check 'restore: not without asking, not from a damaged image' '
		fails ramraid restore data </dev/null
		image=$(cat /root/image-name); cp --sparse=always $image /root/image
		head -c 64 /dev/urandom | dd of=$image bs=64 seek=16000 conv=notrunc status=none
		fails ramraid restore --yes data 2>/root/out; cat /root/out
		grep "is damaged: its SHA-256" /root/out; test -e /etc/ramraid/state/data.rescue
		fails grep "^md" /proc/mdstat; cp --sparse=always /root/image $image'
	short || check 'restore interrupted: the disks are still refused' '
		interrupted() { # SIGNAL CODE
			local code=0
			ramraid restore --yes data >/root/out 2>&1 & pid=$!
			for i in $(seq 200); do
				grep -q "+ dd" /root/out && break; sleep 0.05
			done
			kill -$1 $pid
			# dd is forked after its command is printed, so it may not be there yet
			for i in $(seq 20); do pkill -KILL -x dd || :; sleep 0.05; done
			wait $pid || code=$?; cat /root/out
			test $code = $2; grep -q "+ dd" /root/out
		}
		refused() {
			fails ramraid start data
			systemctl show -p StatusText --value ramraid@data |
				grep -q "ramraid restore data"
		}
		interrupted KILL 137; refused; test -e /dev/md/data
		interrupted TERM 130; grep "interrupted; the image and its record" /root/out
		settle; test ! -e /dev/md/data; refused'
	check 'restore puts every byte back' "$tools"'
		ramraid restore --yes data; test "$(slots data)" = UUU
		systemctl start srv-data.mount; sums; test "$(compare data)" = 0
		test ! -e /etc/ramraid/state/data.rescue'
	if ! short; then
		check 'the ramdisk fails as well: md writes no more, and it is said that a reboot saves what can be read' "$tools"'
			lose; new onlyram6; sync
			echo faulty >/sys/block/$(md data)/md/dev-$(basename $(ram data))/state || :
			for i in $(seq 50); do
				[ "$(cat /sys/block/$(md data)/md/array_state)" = broken ] && break
				sleep 0.1
			done
			test "$(cat /sys/block/$(md data)/md/array_state)" = broken
			ramraid status data >/root/out || test $? = 3; cat /root/out
			grep "^data: broken" /root/out; grep "ONLY GOOD COPY" /root/out
			grep "action: *reboot, so that the shutdown saves.*ramraid restore data" /root/out
			fails apt-get -y -q remove ramraid; command -v ramraid'
		power_off
		boot
		check 'restore brings that back as well' "$tools"'
			fails findmnt /srv/data; ramraid restore --yes data
			test "$(slots data)" = UUU; systemctl start srv-data.mount; sums
			test "$(compare data)" = 0'
	fi
	! short || return 0
	reboot
	check 'and the next boot is as any other' "$tools"'
		test "$(slots data)" = UUU; findmnt /srv/data; sums'
}
