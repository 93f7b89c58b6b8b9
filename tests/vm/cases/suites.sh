# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; SUITE: tests/vm/suites
# make suites: mdadm's own tests of RAID1, bitmaps, re-adding, write-mostly, incremental assembly and
# names, once without ramraid, and once with it, beside a mirror that runs. SUITE is a tar archive
# of mdadm's folder tests and its program "test". Prints "suite TEST WITHOUT WITH" of each.
long
from base
disk A 96M
disk B 96M

# The tests treat every running array as their own. So the /proc/mdstat that they read lacks the
# mirror, and they do not refuse to begin beside it. md127 has to be theirs.
readonly suite='
	list() {
		cd /root/mdadm/tests
		ls | grep -v broken | grep -E "^(00(confnames|createnames|names|raid1|readonly)|01r1|\
02r1|03assem-incr|04r1|05r1|06(name|sysfs|wrmostly)|23rdev)" | paste -sd ,
	}
	unpack() { # MD
		rm -rf /root/mdadm; mkdir /root/mdadm; tar -xf /root/suite.tar -C /root/mdadm
		cd /root/mdadm; sed -i "s/lsblk -a | grep -iq raid/false/" tests/func.sh
		sed -i "s,/proc/mdstat,<(mdstat),g" test tests/func.sh tests/[0-9]*
		printf "\nmdstat() { sed \"/^%s /,/^ *\$/d\" /proc/mdstat; }\n" $1 >>tests/func.sh
	}
	# began NAME: it takes longer than a command may
	began() {
		systemd-run --quiet --unit=suite-$1 --working-directory=/root/mdadm \
			-p StandardOutput=truncate:/root/$1.log -p StandardError=journal \
			-p RemainAfterExit=yes -p SuccessExitStatus=1 \
			bash ./test --keep-going --save-logs --logdir=/root/logs-$1 --tests=$(list)
	}
	verdicts() {
		sed -n "s,.*/tests/\([^ ]*\)\.\.\. .*\(succeeded\|FAILED\|skipping\).*,\1 \2,p" \
			/root/$1.log
	}
	'

# ends NAME: waits for the tests.
ends() {
	local i state
	for ((i = 0; i < 240; i++)); do
		state=$(guest 'systemctl show -p SubState --value suite-'"$1")
		[[ $state != exited ]] || return 0
		sleep 15
	done
	guest "$suite"'tail -n 5 /root/'"$1"'.log'
	return 1
}

steps() {
	boot
	vm_send "$SUITE" /root/suite.tar
	guest 'printf "kernel: %s\nmdadm version: %s\n" "$(uname -r)" "$(mdadm --version 2>&1)"'
	check 'mdadm and its tests are here; without ramraid they begin' "$suite"'
		fails command -v ramraid; unpack none; list; began without'
	ends without
	check 'the tests have ended' "$suite"'
		verdicts without >/root/without; cat /root/without
		test $(wc -l </root/without) = $(list | tr , "\n" | wc -l)
		grep -c succeeded /root/without; mdadm -Ssq || :'
	reboot
	vm_send "$RAMRAID_DEB" /root/ramraid.deb
	check 'ramraid, and a mirror with data on it, whole; md127 to md125 are free' '
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
			/root/ramraid.deb >/root/out 2>&1 || { cat /root/out; exit 1; }
		for i in 5 6 7; do
			truncate -s 8M /root/place$i
			mdadm --quiet --create /dev/md12$i --run --force --level=1 --raid-devices=1 \
				$(losetup -f --show /root/place$i)
		done
		ramraid create --yes data $(leg A) $(leg B)
		for i in 5 6 7; do mdadm --quiet --stop /dev/md12$i; done; losetup -D
		mkdir /srv/data; make_ext4 /dev/md/data; mount /dev/md/data /srv/data
		head -c 24M /dev/urandom >/srv/data/file; sha256sum /srv/data/file >/root/sums; sync
		md data; slots data; test "$(slots data)" = UUU; md data | grep -vx "md12[567]"'
	check 'with ramraid the tests begin, too' "$suite"'unpack $(md data); began with'
	ends with
	check 'the tests have ended, and the mirror is what it was' "$suite"'
		verdicts with >/root/with; cat /root/with
		ramraid status data; test "$(slots data)" = UUU
		sha256sum --quiet -c /root/sums; test "$(compare data)" = 0
		ramraid stop data || { umount /srv/data; ramraid stop data; }
		ramraid start data; mount /dev/md/data /srv/data
		test "$(slots data)" = UUU; sha256sum --quiet -c /root/sums'
	guest 'join -a 1 -a 2 -e none -o 0,1.2,2.2 /root/without /root/with |
		sed "s/^/suite /" | tr " " "\t"'
	check 'each test has the same verdict' '
		diff /root/without /root/with || {
			for t in $(diff /root/without /root/with | sed -n "s/^[<>] \([^ ]*\).*/\1/p" |
				sort -u); do
				tail -n 30 /root/logs-with/$t.log /root/logs-without/$t.log
			done
			exit 1
		}'
}
