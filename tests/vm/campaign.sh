# Many power cuts: a machine with a mirror is cut off in a phase and at a moment picked at random,
# and started again; then all that had been acknowledged must be there. Sourced by tests/vm/lane.sh
# (make campaign, make clients) and by cases/powercut.sh, which are cases: case.sh.
# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
#
# A cut is known by its NUMBER. With the SEED of the campaign, the number gives the phase, the
# moment, and what the disks' caches lose. The random numbers are the same in every run, but the
# guest's speed is not: a repeated cut comes close to the first one, not exactly there.
#
# A load is what is written, and what is looked for after a cut: tests/vm/load-LOAD.sh. It has
#   LOAD_WORDS         what its check counts, by name; all loads then count "lost" and "wrong"
#   LOAD_SLOWER        how many times as long as with other loads the writers must run before a cut
#                      finds something to hit
#   load_disks         the state that the machine starts from, and its disks A to D
#   load_setup         on the booted machine, makes the array "data" on /srv/data, and
#                      /root/writers, which writes until it is killed, reports each promise that it
#                      was given to the host ($VM/told), a line each, and rests $PAUSE between them
#   load_told FILE     takes what has been reported since the last time; writes $VM/expected
#   load_check         a script: compares /srv/data with /root/expected, and prints the numbers
#   load_prune         removes what has been verified

CAMPAIGN_SEED=${SEED:-1} CAMPAIGN_RESULTS=${RESULTS:-/dev/null}
CAMPAIGN_FSCK_EVERY=5
CAMPAIGN_OFFSET=0       # bytes of "told" that are known already
CAMPAIGN_PENDING=()     # cuts whose lines wait for the next verification
CAMPAIGN_BOOT_BOUND=300 # seconds, under emulation beside others

# shellcheck source=tests/vm/load-tokens.sh
source "$here/load-${LOAD:=tokens}.sh"

# phase → how often, and the longest delay in ms
readonly CAMPAIGN_PHASES="create:1:16000 idle:1:1500 writes:3:4000 recovery:3:4500 readd:3:4000 \
shutdown:2:5000 boot-before:2:4000 boot-after:2:2500"

# campaign_plan NUMBER[:PHASE:MS:KEEP]: sets NUMBER, PHASE, MS, KEEP (percent of the unflushed
# blocks that survive), CUT_SEED, DICE.
campaign_plan() {
	local entry total=0 die phase ms keep
	IFS=: read -r NUMBER phase ms keep <<<"$1"
	CUT_SEED=$(($(printf '%s %s' "$CAMPAIGN_SEED" "$NUMBER" | cksum | cut -d' ' -f1) % 1000000))
	RANDOM=$CUT_SEED
	die=$RANDOM # the first ones of near seeds are near each other
	for entry in $CAMPAIGN_PHASES; do total=$((total + $(cut -d: -f2 <<<"$entry"))); done
	die=$((RANDOM % total))
	for entry in $CAMPAIGN_PHASES; do
		IFS=: read -r PHASE total MS <<<"$entry"
		die=$((die - total))
		((die >= 0)) || break
	done
	MS=$((RANDOM * 32768 + RANDOM)) MS=$((MS % $(cut -d: -f3 <<<"$entry")))
	KEEP=$((RANDOM % 20))
	case $KEEP in
	[0-7]) KEEP=0 ;;
	8 | 9 | 1[0-6]) KEEP=$((5 + RANDOM % 91)) ;;
	*) KEEP=100 ;;
	esac
	DICE=$RANDOM PHASE=${phase:-$PHASE} KEEP=${keep:-$KEEP}
	[[ $PHASE != @(writes|recovery|readd|boot-after) ]] || MS=$((MS * LOAD_SLOWER))
	MS=${ms:-$MS}
}

campaign_setup() {
	boot
	load_setup
	check 'the disks have caches, and the writers a unit' '
		test "$(slots data)" = UUU; findmnt -n /srv/data
		for d in '"${VM_DISKS[*]}"'; do
			grep -q "write back" /sys/block/$(basename $(node $d))/queue/write_cache
		done
		mkdir -p /etc/ramraid/data.conf.d
		# Not what is under test, and emulation beside others is slow.
		sed -i "/^LABEL=boot/s/defaults/defaults,x-systemd.device-timeout=300/" /etc/fstab
		# The journals of hundreds of boots would slow down every look into them.
		printf "[Journal]\nSystemMaxUse=24M\nSystemMaxFileSize=8M\n" \
			>/etc/systemd/journald.conf.d/campaign.conf
		printf "%s\n" "[Unit]" RequiresMountsFor=/srv/data "[Service]" \
			"ExecStart=/bin/bash /root/writers %i" \
			>/etc/systemd/system/writers@.service
		systemctl daemon-reload
		sync'
	[[ -z ${RAM-} ]] || campaign_ram
	CAMPAIGN_UP=yes
}

# RAM=KIND: makes the RAM legs of both arrays of that kind, and sets what zram needs.
campaign_ram() {
	check "the RAM leg is of the kind $RAM" '
		systemctl stop srv-data.mount; ramraid stop data
		[ '"$RAM"' != zram ] || echo BLOCK=4096 >>/etc/ramraid/data.conf
		mkdir -p /etc/ramraid/ramraid.conf.d
		echo RAM='"$RAM"' >/etc/ramraid/ramraid.conf.d/campaign.conf
		ramraid start data; systemctl start srv-data.mount; test "$(slots data)" = UUU
		cat /run/ramraid/data.ram; grep "^'"$RAM"' " /run/ramraid/data.ram; sync'
}

# campaign_run NUMBER…: makes the cuts, in this order; each word as campaign_plan takes it. Returns
# 1 at the first violation.
campaign_run() {
	local cut
	for cut; do
		campaign_plan "$cut"
		[[ $PHASE == boot-* ]] || campaign_up || return
		# A cut during a boot follows another cut, unless this is the first.
		[[ $PHASE != boot-* || $CAMPAIGN_UP != yes ]] || campaign_cut
		CAMPAIGN_UP=no
		VM_CUT_KEEP=$KEEP VM_CUT_SEED=$CUT_SEED CAMPAIGN_NOTE=''
		CAMPAIGN_CURRENT="cut $NUMBER seed $CUT_SEED phase $PHASE ms $MS keep $KEEP%"
		[[ $PHASE == boot-* ]] || campaign_next_boot
		"campaign_phase_${PHASE//-/_}" "$NUMBER" || {
			campaign_line "VIOLATION: the phase \"$PHASE\" failed"
			return 1
		}
		campaign_cut
		CAMPAIGN_PENDING+=("$CAMPAIGN_CURRENT lost-blocks $VM_CUT_LOST \
kept-blocks $VM_CUT_KEPT${CAMPAIGN_NOTE:+ ($CAMPAIGN_NOTE)}")
	done
	campaign_up
}

# The boot after a cut waits for the RAM leg in two of three cases.
campaign_next_boot() {
	local wait=yes
	((DICE / 2 % 3)) || wait=no
	guest "echo WAIT=$wait >/etc/ramraid/data.conf.d/test.conf
		sync /etc/ramraid/data.conf.d/test.conf /etc/ramraid/data.conf.d"
}

# campaign_do SCRIPT: runs a step of a phase; what it prints is for the diagnosis.
campaign_do() { guest "$1" >"$VM/phase.log" 2>&1 || { cat "$VM/phase.log" && false; }; }
campaign_cut() { vm_kill; }
campaign_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; } # MILLISECONDS
# Some cuts hit writers that never rest, others caches that have had time to fill.
campaign_pause() {
	local pauses=(0 0.05 0.5 1)
	printf '%s\n' "${pauses[${DICE:-0} / 8 % 4]}"
}
# campaign_writers NUMBER [service]: starts the writers ("service": as a unit, which systemd ends
# before it unmounts), and waits until they have reported something.
campaign_writers() {
	local before i start="setsid bash /root/writers $1 >/root/writers.log 2>&1 </dev/null &"
	[[ ${2-} != service ]] || start="systemctl --no-block start writers@$1"
	before=$(stat -c %s "$VM/told")
	guest "echo PAUSE=$(campaign_pause) >/run/pause; $start" || return
	for ((i = 0; i < 600; i++)); do
		(($(stat -c %s "$VM/told") == before)) || return 0
		sleep 0.05
	done
	echo 'the writers have reported nothing within 30 s' >&2
	return 1
}

# --- the phases: each leaves the machine running, at the moment of the cut.

campaign_phase_idle() { campaign_do 'sync' && campaign_ms "$MS"; }
campaign_phase_writes() { campaign_writers "$1" && campaign_ms "$MS"; }

# The RAM leg is rebuilt under the writers, slowly enough for the cut to hit the rebuild.
campaign_phase_recovery() {
	campaign_writers "$1" && campaign_do '
		ramraid detach data
		echo COPY_RATE=16M >>/etc/ramraid/data.conf.d/test.conf
		sync /etc/ramraid/data.conf.d/test.conf
		echo 10000 >/sys/block/$(md data)/md/sync_speed_max
		setsid ramraid attach data >/root/attach.log 2>&1 </dev/null &' && campaign_ms "$MS"
}

# One disk leg is taken out, misses writes for a while, and is put back.
campaign_phase_readd() {
	local leg=A
	((DICE % 2)) || leg=B
	CAMPAIGN_NOTE="leg $leg"
	campaign_writers "$1" && campaign_do '
		mdadm -q /dev/md/data --fail $(node '$leg')
		for i in $(seq 50); do
			mdadm -q /dev/md/data --remove $(node '$leg') 2>/dev/null && break
			sleep 0.1
		done
		(sleep 1.5; exec setsid ramraid attach data) >/root/attach.log 2>&1 </dev/null &' &&
		campaign_ms "$MS"
}

campaign_phase_shutdown() {
	local how=reboot
	((DICE % 2)) || how=poweroff
	CAMPAIGN_NOTE=$how
	campaign_writers "$1" service && campaign_do "systemctl --no-block $how" &&
		campaign_ms "$MS"
	# QEMU may have ended by itself meanwhile: then the shutdown was clean.
	kill -0 "$VM_QEMU" 2>/dev/null || CAMPAIGN_NOTE+=', gone before'
}

# The delay counts from the first sign of the array.
campaign_phase_boot_before() {
	vm_boot &&
		campaign_do 'for i in $(seq 600); do
			grep -qs ^md /proc/mdstat && break
			sleep 0.05
		done' &&
		campaign_ms "$MS" || return
	CAMPAIGN_NOTE=$(EXEC_SECONDS=60 guest \
		'findmnt -n /srv/data >/dev/null && echo mounted || slots data') ||
		CAMPAIGN_NOTE='no answer'
}

# The delay counts from the mount, with writers at once.
campaign_phase_boot_after() {
	vm_boot &&
		campaign_do 'for i in $(seq 1800); do
			mountpoint -q /srv/data && break
			sleep 0.05
		done' &&
		campaign_writers "$1" && campaign_ms "$((MS / 2))"
}

# A second array is being made. In its new folder nothing of the first may suffer.
campaign_phase_create() {
	campaign_do 'setsid ramraid create --yes --force extra $(leg C) $(leg D) \
		>/root/create.log 2>&1 </dev/null &' &&
		campaign_ms "$MS" || return
	CAMPAIGN_NOTE=$(guest '
		test -e /etc/ramraid/extra.conf && echo configured || echo not configured')
	CAMPAIGN_EXTRA=yes
}
CAMPAIGN_EXTRA=''

# --- the verification

# Brings the machine up, if it is down, and verifies all that was ever acknowledged and not pruned.
# Prints the lines of the cuts since the last verification.
campaign_up() {
	local begin=$SECONDS out code=0 seconds
	[[ $CAMPAIGN_UP != yes ]] || return 0
	CAMPAIGN_REFUSALS=0
	vm_boot || {
		campaign_line 'VIOLATION: the boot did not come to its first word'
		return 1
	}
	out=$(EXEC_SECONDS=$CAMPAIGN_BOOT_BOUND guest 'systemctl is-system-running --wait' 2>&1) ||
		code=$?
	seconds=$((SECONDS - begin))
	CAMPAIGN_BOOT=$seconds begin=$SECONDS
	[[ $code:$out == 0:running ]] || {
		campaign_line "VIOLATION: the boot ended as \"${out//$'\n'/ }\""
		return 1
	}
	campaign_told && vm_send "$VM/expected" /root/expected || return
	code=0
	out=$(guest "$campaign_whole$(load_check)$campaign_equal$(campaign_fsck_)" 2>&1) ||
		code=$?
	CAMPAIGN_FOUND=$(grep -E '^[0-9]+( [0-9]+)+$' <<<"$out" | tail -n 1) || CAMPAIGN_FOUND=''
	CAMPAIGN_REFUSALS=$(sed -n 's/^refusals //p' <<<"$out")
	((code == 0)) || {
		campaign_line 'VIOLATION'
		printf '%s\n' "$out"
		return 1
	}
	[[ -z $CAMPAIGN_EXTRA ]] || out=$(guest "$campaign_extra" 2>&1) || {
		campaign_line 'VIOLATION: the array that was being made'
		printf '%s\n' "$out"
		return 1
	}
	CAMPAIGN_NOTE='' CAMPAIGN_SECONDS=$((SECONDS - begin))
	[[ -z $CAMPAIGN_EXTRA ]] || CAMPAIGN_NOTE=" extra was $(sed -n 's/^found //p' <<<"$out")"
	CAMPAIGN_EXTRA='' CAMPAIGN_UP=yes
	campaign_line "ok$CAMPAIGN_NOTE"
	load_prune
}

campaign_fsck_() {
	CAMPAIGN_VERIFIED=$((${CAMPAIGN_VERIFIED:-0} + 1))
	((CAMPAIGN_VERIFIED % CAMPAIGN_FSCK_EVERY)) || printf '%s' "$campaign_fsck"
}

# Hands the load what the guest has reported since the last time.
campaign_told() {
	local size
	size=$(stat -c %s "$VM/told")
	tail -c "+$((CAMPAIGN_OFFSET + 1))" "$VM/told" |
		head -c $((size - CAMPAIGN_OFFSET)) >"$VM/told.new"
	CAMPAIGN_OFFSET=$size
	load_told "$VM/told.new"
}

readonly campaign_whole='
	ramraid wait --timeout=3min data
	test "$(slots data)" = UUU
	findmnt -n /srv/data
	journalctl -b -u "ramraid@*" -p err -q -o cat >/root/errors; cat /root/errors
	echo refusals $(wc -l </root/errors); test ! -s /root/errors
	dmesg | grep -E "EXT4-fs (error|warning)|I/O error|BUG:|Oops|Call Trace" && false
	sync; echo 3 >/proc/sys/vm/drop_caches
	'
readonly campaign_equal='
	different=$(compare data); echo "mismatch_cnt $different"; test "$different" = 0
	# Written a moment after the mirror is whole.
	for i in $(seq 50); do
		test "$(sed -n "s/^legs=//p" /etc/ramraid/state/data.witness | wc -w)" = 2 && break
		sleep 0.2
	done
	test "$(sed -n "s/^legs=//p" /etc/ramraid/state/data.witness | wc -w)" = 2
	'
readonly campaign_fsck='
	systemctl stop srv-data.mount
	fsck.ext4 -fn /dev/md/data >/root/fsck || { cat /root/fsck; false; }
	systemctl start srv-data.mount
	'

# What is left of an interrupted create: nothing, a plain array, or all of it. After that the array
# can be created, or already works.
readonly campaign_extra='
	# written while the power went, if at all
	! test -e /root/create.log || tr -d "\0" </root/create.log
	if [ -e /etc/ramraid/extra.conf ]; then
		how=configured
		systemctl -q is-enabled ramraid@extra && how="$how and enabled"
		ramraid wait --timeout=1s extra && how="$how and whole" || ramraid start extra
	else
		how=absent
		cat /proc/mdstat
		md=$(for d in C D; do
			ls -d /sys/block/$(basename $(node $d))/holders/* 2>/dev/null
		done | sed s,.*/,, | sort -u)
		if [ -n "$md" ]; then
			test $(wc -w <<<"$md") = 1
			how="a plain array ($(cat /sys/block/$md/md/array_state))"
			mdadm -q --stop /dev/$md
		fi
		ramraid create --force --yes extra $(leg C) $(leg D)
	fi
	ramraid wait --timeout=3min extra
	# An initramfs that was not told of it may have given it the name of another host:
	# /dev/md/vm:extra.
	md=$(ls /sys/block/$(basename $(node C))/holders)
	mkdir -p /dev/md; test -e /dev/md/extra || ln -s ../$md /dev/md/extra
	test "$(slots extra)" = UUU
	test "$(compare extra)" = 0
	systemctl -q disable --now ramraid@extra
	test -z "$(ls /sys/block/$(basename $(node C))/holders)"
	mdadm --zero-superblock $(node C) $(node D)
	rm -rf /etc/ramraid/extra.conf /etc/ramraid/state/extra.* \
		/etc/mdadm/mdadm.conf.d/ramraid-extra.conf
	systemctl daemon-reload
	sync
	echo "found $how"
	'

# campaign_line VERDICT: prints one line for each cut since the last verification; the last of them
# has what was found.
campaign_line() {
	local i last text verdict='not ok'
	[[ $1 != ok* ]] || verdict=ok
	((${#CAMPAIGN_PENDING[@]} > 0)) || [[ $1 == ok* ]] ||
		CAMPAIGN_PENDING=("${CAMPAIGN_CURRENT:-cut 0}")
	last=$((${#CAMPAIGN_PENDING[@]} - 1))
	for ((i = 0; i <= last; i++)); do
		text="${CAMPAIGN_PENDING[i]}, verified with the next: ${1%% *}"
		((i < last)) || text="${CAMPAIGN_PENDING[i]} boot ${CAMPAIGN_BOOT:-0} s \
verify ${CAMPAIGN_SECONDS:-0} s $(campaign_found_): $1"
		printf '%s - %s\n' "$verdict" "$text"
		printf '%s\n' "$text" >>"$CAMPAIGN_RESULTS"
	done
	CAMPAIGN_PENDING=() CAMPAIGN_CURRENT='' CAMPAIGN_FOUND=''
}
campaign_found_() {
	local word numbers=() i=0 text=''
	read -ra numbers <<<"$CAMPAIGN_FOUND"
	for word in $LOAD_WORDS lost wrong; do
		text+="$word ${numbers[i]:-0} "
		i=$((i + 1))
	done
	printf '%srefusals %s' "$text" "${CAMPAIGN_REFUSALS:-0}"
}
