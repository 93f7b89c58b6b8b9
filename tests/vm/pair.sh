# A second machine beside the case's own, and a network between the two: sourced by a case that
# wants it. The machines are alike, made from the same state, with disks of the same names; the
# second one lives in a shell of its own, below $VM/other, and does there what it is told.
# shellcheck shell=bash disable=SC2034,SC2154 # for machine.sh; "here" and the like are case.sh's
#
#   pair                   at the beginning of steps(), before any boot: makes the second machine
#   other WORD [ARG…]      check, guest, boot, kill_power… there: any function of the bench, and of
#                          the case. What the case sets after "pair" is not known there
#   other_begin WORD…      the same, and the case goes on meanwhile; other_end waits for it
#   on one|two WORD [ARG…] on the case's own machine, or on the second one
#
# What fails there ends that machine, with its diagnosis, and then the case. Each machine has one
# network device, eth0; what is sent while the other machine is off is lost, as with a cable.

PAIR='' PAIR_BUSY=''

pair() {
	mkdir "$VM/other"
	mkfifo "$VM/other/words" "$VM/other/answers"
	at_end pair_end
	pair_serve_ &
	PAIR=$!
	exec {PAIR_IN}>"$VM/other/words" {PAIR_OUT}<"$VM/other/answers"
	pair_net_ "$VM" "$VM/other" 1
}

# pair_net_ FOLDER FOLDER NUMBER: sets VM_NET to the cable from one machine to the other. It carries
# datagrams, so that either side may go and come.
pair_net_() {
	VM_NET=(-netdev "dgram,id=lan,local.type=unix,local.path=$1/lan.sock,remote.type=unix,\
remote.path=$2/lan.sock" -device "virtio-net-pci,netdev=lan,mac=52:54:00:00:00:0$3,romfile=")
}

# The second machine's shell: each line is a command. If one fails, errexit ends the shell.
pair_serve_() {
	local line declared first=$VM
	exec {PAIR_WORDS}<"$VM/other/words" {PAIR_ANSWERS}>"$VM/other/answers"
	VM=$VM/other VM_DISKS=()
	trap pair_leave_ EXIT
	trap 'exit 143' TERM INT
	pair_net_ "$VM" "$first" 2
	vm_new "$VM" "$(case_state "$CASE_FROM" "$RELEASE")"
	for declared in "${CASE_DISKS[@]}"; do
		# shellcheck disable=SC2086 # words on purpose
		vm_disk $declared
	done
	# shellcheck disable=SC2086 # words on purpose
	[[ -z $CASE_ROOT ]] || vm_root_is $CASE_ROOT
	while pair_read_; do
		eval "$line" >"$VM/said" 2>&1
		printf 'done\n' >&"$PAIR_ANSWERS"
	done
}

# Reads the next command into the caller's variable line. Returns 1 when the case has ended, even by
# a kill, after which the QEMU that has inherited the pipe keeps it open.
pair_read_() {
	local part='' code
	line=''
	while :; do
		code=0
		IFS= read -r -t 5 -u "$PAIR_WORDS" part || code=$?
		line+=$part
		((code > 0)) || return 0
		((code > 128)) && kill -0 $$ 2>/dev/null || return 1
	done
}

pair_leave_() {
	local code=$?
	trap - EXIT
	set +e
	((code == 0)) || (vm_diagnose) >>"$VM/said" 2>&1
	vm_kill >/dev/null 2>&1
	: >"$VM/ended"
	printf 'failed\n' >&"$PAIR_ANSWERS"
	exit "$code"
}

other_begin() {
	local words
	printf -v words '%q ' "$@"
	PAIR_BUSY=yes
	printf '%s\n' "$words" >&"$PAIR_IN"
}

other_end() {
	local answer=''
	read -r -u "$PAIR_OUT" answer || :
	PAIR_BUSY=''
	cat "$VM/other/said"
	[[ $answer == 'done' ]]
}

other() {
	other_begin "$@"
	other_end
}

on() { # one|two WORD…
	local machine=$1
	shift
	if [[ $machine == one ]]; then "$@"; else other "$@"; fi
}

# pair_end CODE: at the end of the case, however it ends. A command that still runs there ends with
# its QEMU.
pair_end() {
	local pid=''
	[[ -n $PAIR ]] || return 0
	trap '' PIPE
	if [[ -n $PAIR_BUSY ]]; then
		kill -TERM "$PAIR" 2>/dev/null
		{ read -r pid <"$VM/other/pid"; } 2>/dev/null
		[[ ! -e /proc/${pid:-none}/cmdline ]] ||
			! tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qF "$VM/other/" ||
			kill -KILL "$pid"
	elif [[ ! -e $VM/other/ended ]]; then
		(($1 == 0)) || {
			echo '--- the second machine'
			other vm_diagnose
		}
		# Closing the pipe would not do it: QEMU has it open as well.
		other_begin exit 0
	fi
	wait "$PAIR"
	PAIR=''
}
