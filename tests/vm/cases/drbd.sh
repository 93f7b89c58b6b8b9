# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the guest expands; "here" is case.sh's
# A disk leg that is a device of DRBD, primary on one machine and secondary on another, as
# docs/recipes.md has it. In each of N rounds the power of the primary is cut under writers, at a
# moment and with a loss of its disk's cache that SEED chooses. The other machine takes over, with a
# RAM leg of its own: every acknowledged item is there, with its bytes. The first machine comes back
# as the secondary, and is made equal; then it is its turn.
checked_on trixie
long
image drbd
from installed
disk A 64M served

# shellcheck source=tests/vm/pair.sh
source "$here/pair.sh"
# shellcheck source=tests/vm/load-tokens.sh
source "$here/load-tokens.sh"

readonly N=${N:-10} SEED=${SEED:-1}

# recipe NUMBER: prints that block of the recipe, counted from 1, for this disk, and without
# questions.
recipe() {
	awk -v wanted="$1" '
		/^## / { here = $0 == "## Two machines, with DRBD"; next }
		here && /^```/ { open = !open; number += open; next }
		here && open && number == wanted' "$here/../../docs/recipes.md" | sed -e '
		s,/dev/disk/by-id/DISK-part1,/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_A,
		/apt install/d; s/sudo //; s/ramraid create/& --yes/'
}

readonly drbd='
	# until_state cstate|dstate|role STATE: within two minutes
	until_state() {
		for i in $(seq 600); do
			[ "$(drbdadm $1 data)" = $2 ] && return; sleep 0.2
		done
		cat /proc/drbd; journalctl -k -b -q -o cat -g "drbd data" | tail -n 40; return 1
	}
	is_pair() { until_state cstate Connected; until_state dstate UpToDate/UpToDate; }
	# the other machine does not answer any more
	is_alone() { until_state cstate WFConnection; }
	'

# Gives the machine its end of the cable, and keeps DRBD from mistaking a busy emulator for a dead
# one.
machine() { # NAME ADDRESS
	check "$1: has a name and an address" '
		# udev keeps the name that it was started with, and DRBD finds its section by it
		echo '"$1"' >/etc/hostname; hostname '"$1"'
		settle; systemctl restart systemd-udevd; udevadm trigger --settle
		printf "%s\n" "[Unit]" "Before=network.target network-online.target" "[Service]" \
			"Type=oneshot" "RemainAfterExit=yes" "TimeoutStartSec=60" \
			"ExecStart=/bin/sh -c \"until \
[ -e /sys/class/net/eth0 ]; do sleep 0.1; done; ip address add '"$2"'/24 dev eth0; \
ip link set eth0 up\"" "[Install]" "WantedBy=network-online.target multi-user.target" \
			>/etc/systemd/system/lan.service
		systemctl --quiet enable --now lan.service
		sed -i -e "/^\tdisk {/a c-plan-ahead 0; resync-rate 60M;" \
			-e "/^\tnet {/a ping-timeout 40;" /etc/drbd.d/global_common.conf'
	vm_send "$here/tokens.pl" /root/tokens.pl
}

# Done on both machines: configures the resource. The array is started there by hand, not at a boot.
both() {
	check "$1: the resource is configured, and up" "$drbd"'
		cat >/etc/drbd.d/data.res <<"EOT"
'"$(recipe 1)"'
EOT
		'"$(recipe 2)"'
		test -b /dev/drbd0; grep version: /proc/drbd'
	guest "$drbd"'
		cat >/root/writers <<"EOT"
exec 9>/dev/virtio-ports/told
export PAUSE=0.2
for i in 1 2; do perl /root/tokens.pl write-tokens /srv/data/tokens $1.$i & done
for how in direct sync lazy; do
	perl /root/tokens.pl write-blocks /srv/data/tokens/$how 256 $((10#$1 * 1000000)) $how &
done
wait
EOT
		printf "%s\n" "[Unit]" RequiresMountsFor=/srv/data "[Service]" \
			"ExecStart=/bin/bash /root/writers %i" >/etc/systemd/system/writers@.service'
}

before() { # NAME: what comes before the array, and where it is mounted
	check "$1: the mount by hand, after the network; the array after DRBD" '
		mkdir -p /srv/data /etc/systemd/system/ramraid@data.service.d
		echo "'"$(recipe 5)"'" >>/etc/fstab
		cat >/etc/systemd/system/ramraid@data.service.d/override.conf <<"EOT"
'"$(recipe 6)"'
EOT
		systemctl daemon-reload
		systemctl show -p After ramraid@data.service | grep network-online.target'
}

# folder NAME: prints that machine's folder
folder() { if [[ $1 == one ]]; then echo "$VM"; else echo "$VM/other"; fi; }
# told NAME: prints the path of the file with what that machine has reported.
told() { echo "$(folder "$1")/told"; }

# take_over NAME: takes over after the other machine has gone, or has given the array up.
take_over() {
	check "$1 takes over: the mirror is whole, and mounted" "$drbd"'
		'"$(recipe 7)"'
		test "$(drbdadm role data | cut -d/ -f1)" = Primary
		test "$(slots data)" = UU; findmnt /srv/data
		journalctl -b -q -o cat -u ramraid@data | grep "1 of 1 disk legs are safe"'
}

hand_over() { # NAME
	check "$1 gives the array up" "$drbd"'
		'"$(recipe 8)"'
		test ! -e /dev/md/data; no_ramdisk'
}

cut_power() { # KEEP SEED
	VM_CUT_KEEP=$1 VM_CUT_SEED=$2
	kill_power
	echo "$VM_CUT_LOST" >"$VM/cut"
}

# acknowledged NAME: reads every item on that machine, and has md compare the legs. Prints
# "TOKENS BLOCKS BYTES-READ BYTES-LOST BYTES-WRONG".
acknowledged() {
	on "$1" vm_send "$VM/expected" /root/expected
	on "$1" guest '
		sync; echo 3 >/proc/sys/vm/drop_caches
		perl /root/tokens.pl check /srv/data/tokens /root/expected
		(cd /srv/data; sha256sum --quiet -c /srv/data/sums)
		different=$(compare data); test "$different" = 0 || {
			echo "$different sectors differ between the legs"; exit 1; }'
}

# one_round NUMBER PRIMARY SECONDARY: writes, cuts the power, takes over.
one_round() {
	local begin=$SECONDS ms keep seed out state said
	seed=$(printf '%s %s' "$SEED" "$1" | cksum | cut -d' ' -f1) seed=$((seed % 1000000))
	RANDOM=$seed
	ms=$((RANDOM % 1000)) ms=$((1000 + RANDOM % 7000)) keep=$((RANDOM % 3 * 50))
	: >"$(told "$2")"
	on "$2" guest "$drbd"'is_pair; systemctl --no-block start writers@'"$1"
	until [[ -s $(told "$2") ]]; do
		((SECONDS - begin < 60)) || {
			echo 'the writers have reported nothing'
			return 1
		}
		sleep 0.1
	done
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	on "$2" cut_power "$keep" "$seed"
	# What was acknowledged while the two were not connected would be on the dead machine alone.
	state=$(on "$3" guest 'drbdadm cstate data')
	[[ $state == Connected ]] || {
		echo "not ok - the machines were connected when the power was cut: $state"
		return 1
	}
	said=$(wc -l <"$(told "$2")")
	load_told "$(told "$2")"
	on "$3" guest "$drbd"'is_alone'
	on "$3" take_over "$3"
	out=$(acknowledged "$3") || {
		printf 'not ok - round %s: every acknowledged item is there\n%s\n' "$1" "$out"
		return 1
	}
	printf 'ok - round %s, seed %s: %s cut after %s ms; %s blocks of its cache lost; ' "$1" \
		"$seed" "$2" "$ms" "$(<"$(folder "$2")/cut")"
	printf '%s items acknowledged; tokens, blocks, bytes read, lost, wrong: %s (%s s)\n' \
		"$said" "$(tail -n 1 <<<"$out")" $((SECONDS - begin))
	ITEMS=$((ITEMS + said))
}

# comes_back NAME PRIMARY: boots the dead machine, as the secondary.
comes_back() {
	on "$1" boot
	on "$1" check "$1 is back: the secondary, made equal; the array is not started there" "$drbd"'
		is_pair; test "$(drbdadm role data)" = Secondary/Primary
		test ! -e /dev/md/data; fails findmnt /srv/data
		test "$(systemctl is-active ramraid@data)" = inactive'
	on "$1" healthy
}

# prune NAME: removes all tokens but a few, which live longer.
prune() {
	tail -n 24 "$VM/tokens" >"$VM/tokens.new"
	mv "$VM/tokens.new" "$VM/tokens"
	on "$1" guest "cd /srv/data/tokens
		ls | grep -vxF -e direct -e sync -e lazy $(awk '{ printf " -e %s", $2 }' "$VM/tokens") |
			xargs -r rm -f --"
}

# Compares what is below DRBD, except its own notes at the end.
disks_are_equal() {
	local sum='dd if=$(leg A) bs=1M count=60 iflag=direct status=none | sha256sum' first second
	first=$(guest "$sum")
	second=$(other guest "$sum")
	[[ $first == "$second" ]] || {
		echo "not ok - the two disks are equal: $first, $second"
		return 1
	}
	echo 'ok - the two disks are equal, byte by byte'
}

steps() {
	local i primary=one secondary=two
	pair
	other_begin boot
	boot
	other_end
	machine one 192.0.2.1
	other machine two 192.0.2.2
	both one
	other both two
	check 'one: a mirror of it; the configuration names the resource' "$drbd"'
		'"$(recipe 3)"'
		cat /etc/ramraid/data.conf
		grep -x "MEMBER=/dev/drbd/by-res/data/0" /etc/ramraid/data.conf
		test "$(slots data)" = UU; grep write_mostly /sys/block/$(md data)/md/dev-drbd0/state'
	guest 'cat /etc/ramraid/data.conf' >"$VM/data.conf"
	other vm_send "$VM/data.conf" /etc/ramraid/data.conf
	other check 'two: the configuration is copied, the record is not' '
		'"$(recipe 4 | grep -v '^scp ')"'
		ls /etc/ramraid/state 2>/dev/null | grep . && exit 1
		grep "^ARRAY <ignore>" /etc/mdadm/mdadm.conf.d/ramraid-data.conf'
	before one
	other before two
	check 'one: in use, and the other disk is equal' "$drbd"'
		mount /srv/data; mkdir /srv/data/tokens; is_pair
		for how in direct sync lazy; do
			perl /root/tokens.pl make-blocks /srv/data/tokens/$how 256
		done
		for i in 1 2 3 4; do head -c 512K /dev/urandom >/srv/data/file$i; done
		cd /srv/data; sha256sum file* >sums; sync; ramraid check data || test $? = 1'
	for ((i = 0; i < 256; i++)); do
		printf 'block direct %s 0\nblock sync %s 0\nblock lazy %s 0\n' "$i" "$i" "$i"
	done >"$VM/blocks"
	: >"$VM/tokens"
	other check 'two, the secondary: a start is refused within a minute, and nothing is written' '
		own() { awk "/ns:/ { for (i = 1; i <= NF; i++) { split(\$i, p, \":\"); v[p[1]] = p[2] }
			print v[\"dw\"] - v[\"nr\"] }" /proc/drbd; }
		before=$(own); code=0; begin=$(date +%s)
		timeout 120 ramraid start data >/root/out 2>&1 || code=$?
		cat /root/out; echo "code $code after $(($(date +%s) - begin)) s"
		journalctl -b -q -o cat -u ramraid@data | tail -n 5
		test $code = 3; test $(($(date +%s) - begin)) -lt 60
		journalctl -b -q -o cat -u ramraid@data | grep "DRBD lets only the primary read it"
		timeout 60 ramraid status data || :
		test "$(own)" = "$before"; test ! -e /dev/md/data; no_ramdisk
		fails timeout 20 mount /srv/data
		systemctl reset-failed ramraid@data srv-data.mount 2>/dev/null || :'
	other check 'two, with DRBD down: mdadm leaves the disk below it alone, and no message offers it' "$drbd"'
		drbdadm down data; settle; code=0
		timeout 120 ramraid start data >/root/out 2>&1 || code=$?
		cat /root/out; test $code = 3
		journalctl -b -q -o cat -u ramraid@data >/root/out
		grep "it is the disk below /dev/drbd/by-res/data/0, leave it alone" /root/out
		fails grep "MEMBER=/dev/disk" /root/out
		test -z "$(ls /sys/class/block/$(basename $(node A))/holders)"
		systemctl reset-failed ramraid@data; drbdadm up data; is_pair'
	hand_over one
	other take_over two
	other check 'two: started without a record; it has one of its own now' '
		grep . /etc/ramraid/state/data.witness; (cd /srv/data; sha256sum --quiet -c sums)'
	other reboot
	other check 'two went down with the array running: the array before DRBD, and nothing starts it' "$drbd"'
		journalctl -b -1 -q -o cat -g "drbd.*held open|could not be stopped" && exit 1
		is_pair; test "$(drbdadm role data)" = Secondary/Secondary
		test ! -e /dev/md/data; test "$(systemctl is-active ramraid@data)" = inactive'
	take_over one
	check 'one: nothing had to be made equal, and nothing is missing' '
		fails journalctl -k -b -q -o cat -g "md: resync of RAID array"
		(cd /srv/data; sha256sum --quiet -c sums)'
	ITEMS=0
	for ((i = 1; i <= N; i++)); do
		one_round "$i" "$primary" "$secondary"
		comes_back "$primary" "$secondary"
		prune "$secondary"
		if [[ $primary == one ]]; then primary=two secondary=one; else primary=one secondary=two; fi
	done
	printf '# %s rounds, %s items acknowledged, none lost, none wrong\n' "$N" "$ITEMS"
	on "$primary" hand_over "$primary"
	disks_are_equal
	other healthy
}
