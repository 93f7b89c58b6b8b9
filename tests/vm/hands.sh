# Pulls disks out of a running machine and plugs them in again, through QEMU: the guest sees them go
# and come as from a cable. Sourced by tests/vm/machine.sh.
# shellcheck shell=bash

VM_PLUGGED=0 # how often a disk was plugged in: each time its image needs a new name in QEMU

# vm_qmp COMMAND…: QEMU's own commands (JSON); returns 1, with the answer, when one fails.
vm_qmp() {
	local answer
	answer=$(printf '%s\n' '{"execute": "qmp_capabilities"}' "$@" |
		socat -t 1 - "UNIX-CONNECT:$VM/qmp.sock")
	! grep '"error"' <<<"$answer" >&2
}

vm_unplug() { vm_qmp '{"execute": "device_del", "arguments": {"id": "dev-'"$1"'"}}'; } # NAME

# vm_plug NAME: plugs it in; tries again while the guest may still be releasing it.
vm_plug() {
	local node file i
	VM_PLUGGED=$((VM_PLUGGED + 1))
	node=$1-$VM_PLUGGED
	file='"driver": "file", "filename": "'"$VM/disks/$1.img"'", "cache": {"direct": true}'
	[[ ! -v VM_SERVED[$1] ]] ||
		file='"driver": "nbd", "server": {"type": "unix", "path": "'"$VM/$1.nbd"'"}'
	vm_qmp '{"execute": "blockdev-add", "arguments": {"node-name": "'"$node"'", "driver": "raw", "file": {'"$file"'}}}' || return
	for ((i = 0; i < 20; i++)); do
		! vm_qmp '{"execute": "device_add", "arguments": {"driver": "scsi-hd", "id": "dev-'"$1"'", "drive": "'"$node"'", "bus": "scsi0.0", "serial": "'"$1"'", "write-cache": "on"}}' \
			2>"$VM/plug.log" || return 0
		sleep 0.2
	done
	cat "$VM/plug.log" >&2
	return 1
}

# vm_grow NAME BYTES: makes the disk that large while the guest uses it, as a storage system does
# with a volume.
vm_grow() {
	vm_qmp '{"execute": "block_resize", "arguments": {"device": "'"$1"'", "size": '"$2"'}}'
}

# vm_throttle NAME BYTES [REQUESTS]: from now on limits how many bytes may be read of the disk in a
# second, and how often it may be read; 0: no limit.
vm_throttle() {
	vm_qmp '{"execute": "block_set_io_throttle", "arguments": {"device": "'"$1"'", "bps_rd": '"$2"', "bps": 0, "bps_wr": 0, "iops": 0, "iops_rd": '"${3:-0}"', "iops_wr": 0}}'
}

# vm_hands: from now on does what the guest asks for at its port "hands": "unplug NAME" and "plug
# NAME", one a line. Ends with the case.
vm_hands() {
	: >>"$VM/hands"
	tail --pid=$$ -n +1 -f "$VM/hands" 2>/dev/null | while read -r verb disk; do
		case $verb in
		plug | unplug)
			"vm_$verb" "$disk" >>"$VM/hands.log" 2>&1 ||
				echo "$verb $disk failed" >>"$VM/hands.log"
			;;
		esac
	done &
}

# What guest scripts then use instead of the functions in PRELUDE: gone NAME…, back NAME….
# shellcheck disable=SC2034,SC2016 # for cases; expanded by the guest
readonly VM_HANDS='
gone() {
	for d; do echo "unplug $d" >/dev/virtio-ports/hands; done
	for d; do
		for i in $(seq 300); do [ -e $(leg $d) ] || break; sleep 0.1; done
		[ ! -e $(leg $d) ]
	done
}
back() {
	for d; do echo "plug $d" >/dev/virtio-ports/hands; done
	for d; do
		for i in $(seq 300); do [ -e $(leg $d) ] && break; sleep 0.1; done; [ -e $(leg $d) ]
	done
	settle
}
'
