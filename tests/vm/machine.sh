# One virtual machine of the test bench: its disks, its boots and its ends. Sourced by
# tests/vm/case.sh.
# shellcheck disable=SC2016,SC2046,SC2012,SC2154 # the guest expands; names are plain
# shellcheck shell=bash
#
# A machine is a folder ($VM):  root.qcow2 (overlay), boot.img, disks/NAME.img, and while it runs
#                               serial.log, *.sock and pid.
# The guest's disks are virtio-scsi with serial = NAME:
# /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_NAME. QEMU opens the image itself, or, for "served"
# disks, talks to an nbdkit with an honest write cache: served.sh.

# shellcheck source=tests/vm/served.sh
source "$here/served.sh"
# shellcheck source=tests/vm/hands.sh
source "$here/hands.sh"

# How many seconds to wait for a boot up to the agent's first word, for one command, and for a clean
# shutdown. TCG is slow, CI slower.
BOOT_SECONDS=${BOOT_SECONDS:-420} EXEC_SECONDS=${EXEC_SECONDS:-600} \
	STOP_SECONDS=${STOP_SECONDS:-420}

# One processor: emulated ones do not always see each other's patches of kernel text (a half-patched
# jump label and a panic have been seen), and two machines side by side use the host's cores anyway.
VM_EMULATOR='' VM_QEMU='' VM='' VM_CPUS=1 VM_MEMORY=1G VM_APPEND='' VM_SEQUENCE=0
# Kernel parameters that save emulated seconds on what is not under test: BPF programs compiled at
# boot, speculation barriers, clock checks. The check of the timer fails on a busy host.
VM_FASTER='lsm=capability mitigations=off tsc=reliable no_timer_check audit=0 nowatchdog'
VM_FASTER+=' cryptomgr.notests'
# yes: the contents of its memory outlive QEMU, as in a warm reboot; they are in $VM/memory, to be
# deleted for a cold one
VM_WARM=''
# yes: its clock counts instructions, one a nanosecond, whatever the host does meanwhile, so what it
# measures is the same each time
VM_COUNTED=''
# bios or uefi: it starts as a computer does, by its firmware, from the disks in VM_DISKS, in their
# order; otherwise QEMU starts the kernel
VM_FIRMWARE=''
VM_DISKS=() # in the order in which they are attached
VM_NET=()   # QEMU's arguments for its network: none, or as pair.sh sets them
# NAME → further -drive options (throttling…), before them perhaps nvme=SLOT: an NVMe disk in that
# slot of the PCI bus; or blocks=BYTES: of logical blocks of that size
declare -A VM_DISK_OPTS
declare -A VM_SERIALS # NAME → its serial number, if that is not its name
# NAME → sectors (of 512 bytes) of that disk that can't be read, from the next boot on
declare -A VM_BAD=()

vm_cache() { printf '%s\n' "${RAMRAID_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ramraid-vm}"; }

# vm_new FOLDER FROM: makes a machine from a state folder (root.img or root.qcow2, boot.img,
# disks/).
vm_new() {
	local from=$2 backing=$2/root.img format=raw
	VM=$1
	mkdir -p "$VM/disks"
	[[ -e $backing ]] || backing=$from/root.qcow2 format=qcow2
	qemu-img create -q -f qcow2 -b "$backing" -F "$format" "$VM/root.qcow2"
	cp --sparse=always "$from/boot.img" "$VM/boot.img"
	[[ ! -d $from/disks ]] || cp -a --sparse=always -- "$from/disks/." "$VM/disks/"
}

# vm_disk NAME SIZE [DRIVE-OPTIONS | served [NBDKIT-WORDS…]]: declares a disk; an image that the
# state brought along keeps its contents.
vm_disk() {
	[[ -e $VM/disks/$1.img ]] || truncate -s "$2" "$VM/disks/$1.img"
	VM_DISKS+=("$1")
	if [[ ${3-} == served ]]; then
		VM_SERVED[$1]=${*:4}
	else
		VM_DISK_OPTS[$1]=${3-}
	fi
}

# vm_root_is served [NBDKIT-WORDS…]: how the system's own disk is attached. Without this, QEMU
# itself attaches it, and need not flush it.
vm_root_is() {
	VM_SERVED[root]=${*:2}
	# What nbdkit serves cannot grow.
	truncate -s 4G "$VM/root.qcow2"
}
vm_root_drive() {
	if [[ -v VM_SERVED[root] ]]; then
		printf 'file=%s,cache=writeback\n' "$(vm_served_url root)"
	else
		printf 'file=%s,cache=unsafe\n' "$VM/root.qcow2"
	fi
}

# Prints the accelerator: kvm only if a guest's kernel really reaches its init under it. This is
# probed once for each boot of the host.
vm_accel() {
	local note
	note=$(vm_cache)/accel-$(</proc/sys/kernel/random/boot_id)
	[[ -e $note ]] || vm_probe_kvm "$note"
	cat "$note"
}

vm_probe_kvm() { # NOTE
	local log i accel='tcg,thread=multi'
	log=$(mktemp)
	if [[ -w /dev/kvm ]]; then
		timeout -s KILL 20 "$VM_EMULATOR" -M q35 -accel kvm -cpu host -m 512M -nodefaults \
			-display none -no-reboot -serial "file:$log" -kernel "$VM_KERNEL" \
			-initrd "$VM/initrd" -append 'console=ttyS0 break=top' &>/dev/null &
		for ((i = 0; i < 40; i++)); do
			sleep 0.5
			! grep -qs 'Run /init as init process' "$log" || {
				accel=kvm
				break
			}
			kill -0 $! 2>/dev/null || break
		done
		kill -KILL $! 2>/dev/null && wait $! 2>/dev/null
	fi
	rm -f "$log"
	printf '%s\n' "$accel" >"$1"
}

# Copies the kernel and the initrd of the guest's own /boot out, so that what update-initramfs wrote
# is what boots.
vm_take_kernel() {
	local version
	e2fsck -fp "$VM/boot.img" >/dev/null || (($? < 4))
	version=$(debugfs -R 'ls -p /' "$VM/boot.img" 2>/dev/null | grep -o 'vmlinuz-[^/]*' |
		sort -V | tail -n1)
	debugfs -R "dump /$version $VM/vmlinuz" "$VM/boot.img" 2>/dev/null
	debugfs -R "dump /initrd.img-${version#vmlinuz-} $VM/initrd" "$VM/boot.img" 2>/dev/null
	[[ -s $VM/vmlinuz && -s $VM/initrd ]]
	vm_unpack_kernel
}

# Sets VM_KERNEL to the kernel that QEMU is to start. It is unpacked once, into the cache: an
# emulated machine would take seconds for that at every boot. Where the packed kernel is in the
# file: linux Documentation/arch/x86/boot.rst, setup_sects and payload_offset. VM_KERNEL is the file
# as it is if it can't be unpacked, or can't be started unpacked (no PVH entry).
vm_unpack_kernel() {
	local sum sectors offset length magic program=''
	read -r sum _ < <(sha256sum "$VM/vmlinuz")
	VM_KERNEL=$(vm_cache)/vmlinux-${sum:0:16}
	[[ ! -e $VM_KERNEL ]] || return 0
	read -r sectors < <(od -An -t u1 -j 497 -N 1 "$VM/vmlinuz")
	read -r offset length < <(od -An -t u4 -j 584 -N 8 "$VM/vmlinuz")
	offset=$(((sectors + 1) * 512 + offset))
	read -r magic < <(od -An -t x4 -j "$offset" -N 4 "$VM/vmlinuz")
	case $magic in
	fd2fb528) program='zstd -dcq' ;;
	587a37fd) program='xz -dcq' ;;
	esac
	# The last four bytes are its size unpacked, which these programs treat as rubbish.
	# shellcheck disable=SC2086 # program and options
	[[ -z $program ]] ||
		tail -c "+$((offset + 1))" "$VM/vmlinuz" | head -c $((length - 4)) |
		$program >"$VM/vmlinux" 2>/dev/null ||
		:
	if readelf -nW "$VM/vmlinux" 2>/dev/null | grep -q '0x00000012'; then
		mv "$VM/vmlinux" "$VM_KERNEL"
	else
		rm -f "$VM/vmlinux"
		VM_KERNEL=$VM/vmlinuz
	fi
}

vm_drive_args() { # prints the QEMU arguments of the declared disks, one a line
	local disk from more device size number=0
	for disk in "${VM_DISKS[@]}"; do
		number=$((number + 1))
		from=$VM/disks/$disk.img,cache=none
		[[ ! -v VM_BAD[$disk] ]] || from=blkdebug:$(vm_bad "$disk"):$from
		# With this mode the guest sees that there is a write cache, and its flushes
		# are passed on.
		[[ ! -v VM_SERVED[$disk] ]] || from=$(vm_served_url "$disk"),cache=writeback
		more=${VM_DISK_OPTS[$disk]-} device=scsi-hd,bus=scsi0.0
		if [[ $more == blocks=* ]]; then
			size=${more%%,*} more=${more#"${more%%,*}"}
			size=${size#blocks=}
			device+=,logical_block_size=$size,physical_block_size=$size more=${more#,}
		fi
		if [[ $more == nvme=* ]]; then
			device=${more%%,*} more=${more#"${more%%,*}"}
			device=nvme,addr=${device#nvme=} more=${more#,}
		fi
		[[ -z $VM_FIRMWARE ]] || device+=,bootindex=$number
		printf '%s\n' -drive "if=none,id=$disk,file=$from,format=raw${more:+,$more}" \
			-device "$device,id=dev-$disk,drive=$disk,serial=${VM_SERIALS[$disk]-$disk}"
	done
}

# vm_bad NAME: the rules for QEMU's blkdebug, which fails reads that touch a bad sector.
vm_bad() {
	local sector
	for sector in ${VM_BAD[$1]}; do
		printf '[inject-error]\nevent = "read_aio"\nerrno = "5"\nsector = "%s"\n' "$sector"
	done >"$VM/$1.bad"
	printf '%s\n' "$VM/$1.bad"
}

# vm_command_line [ROOT]: prints the kernel's command line.
vm_command_line() {
	local getty=systemd.mask=serial-getty@ttyS0.service
	[[ -z ${RAMRAID_SHELL-} ]] || getty='' # a person wants to log in
	printf '%s\n' "${1+root=$1 }rw console=ttyS0 quiet systemd.show_status=0 panic=5 \
net.ifnames=0 $VM_FASTER $(vm_clock) $getty $VM_APPEND"
}

# Prints the kernel parameter with the rate of the emulated processor's counter, which is the
# host's. If the guest measures it on a busy host, it may find a fraction of that. Then the guest's
# clock runs too fast by as much, and all that it waits for is too late. A host's bogomips are two
# for each MHz of that counter.
vm_clock() {
	[[ -z $VM_COUNTED && $(vm_accel) == tcg* ]] || return 0
	awk '$1 == "bogomips" { printf "tsc_early_khz=%d\n", $3 * 500; exit }' /proc/cpuinfo
}

# Prints the QEMU arguments that say what is started, one a line.
vm_start_args() {
	case $VM_FIRMWARE in
	'')
		printf '%s\n' -kernel "$VM_KERNEL" -initrd "$VM/initrd" \
			-append "$(vm_command_line LABEL=root)"
		;;
	bios) printf '%s\n' -boot strict=on ;;
	uefi)
		[[ -e $VM/firmware-variables ]] ||
			cp /usr/share/OVMF/OVMF_VARS_4M.fd "$VM/firmware-variables"
		printf '%s\n' -boot strict=on -drive \
			if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd \
			-drive "if=pflash,format=raw,file=$VM/firmware-variables"
		;;
	esac
}

# Starts QEMU and waits until the guest's agent speaks.
vm_boot() {
	local accel cpu=qemu64 drives memory=() counted=() start=() i most=''
	vm_take_kernel
	VM_EMULATOR=${VM_EMULATOR:-$("$here/emulator.sh")}
	accel=$(vm_accel)
	# With room for a second processor, QEMU treats the guest's locked instructions as barriers,
	# as its own threads need them. Without it, a disk's notification could get lost, and the
	# disk would hang (CF_PARALLEL in accel/tcg of its source).
	[[ -n $VM_COUNTED ]] || ((VM_CPUS > 1)) || most=,maxcpus=2
	[[ -z $VM_COUNTED ]] || accel=tcg,thread=single counted=(-icount 'shift=0,sleep=off')
	[[ $accel != kvm ]] || cpu=host
	mapfile -t start < <(vm_start_args)
	mapfile -t drives < <(vm_drive_args)
	[[ -z $VM_WARM ]] ||
		memory=(-object
			"memory-backend-file,id=memory,size=$VM_MEMORY,mem-path=$VM/memory,share=on"
			-machine memory-backend=memory)
	rm -f "$VM"/*.sock
	vm_serve
	"$VM_EMULATOR" -M q35,sata=off,smbus=off -accel "$accel" "${counted[@]}" -cpu "$cpu" \
		-m "$VM_MEMORY" "${memory[@]}" -smp "$VM_CPUS$most" -nodefaults -display none \
		-no-reboot -pidfile "$VM/pid" "${start[@]}" \
		-chardev "socket,id=serial,path=$VM/serial.sock,server=on,wait=off,\
logfile=$VM/serial.log,logappend=on" -serial chardev:serial \
		-device virtio-serial-pci \
		-chardev "socket,id=agent,path=$VM/agent.sock,server=on,wait=off" \
		-device virtserialport,chardev=agent,name=bench \
		-chardev "file,id=told,path=$VM/told,append=on" \
		-device virtserialport,chardev=told,name=told \
		-chardev "file,id=hands,path=$VM/hands,append=on" \
		-device virtserialport,chardev=hands,name=hands \
		-qmp "unix:$VM/qmp.sock,server=on,wait=off" \
		-object rng-random,id=rng,filename=/dev/urandom -device virtio-rng-pci,rng=rng \
		-drive "if=virtio,format=qcow2,$(vm_root_drive)" \
		-drive "if=virtio,file=$VM/boot.img,format=raw,cache=writeback" \
		-device virtio-scsi-pci,id=scsi0 "${drives[@]}" "${VM_NET[@]}" \
		>>"$VM/qemu.log" 2>&1 </dev/null &
	VM_QEMU=$!
	for ((i = 0; i < 100; i++)); do
		[[ ! -S $VM/agent.sock ]] || break
		sleep 0.1
	done
	vm_connect
}

vm_connect() {
	local line=''
	coproc VM_AGENT { exec socat - "UNIX-CONNECT:$VM/agent.sock"; }
	# bash forgets a coprocess's descriptors when it ends; these copies are ours.
	exec {VM_OUT}<&"${VM_AGENT[0]}" {VM_IN}>&"${VM_AGENT[1]}"
	while [[ $line != hello* ]]; do
		read -r -t "$BOOT_SECONDS" -u "$VM_OUT" line || {
			echo "no word from the guest within $BOOT_SECONDS s of its start" >&2
			return 1
		}
	done
}

# vm_try SCRIPT: runs it in the guest, prints its output, returns its exit code; 250 when the guest
# did not answer in time.
vm_try() {
	local id code out
	VM_SEQUENCE=$((VM_SEQUENCE + 1))
	printf '%s %s\n' "$VM_SEQUENCE" "$(base64 -w0 <<<"$1")" >&"$VM_IN" || return 250
	while read -r -t "$EXEC_SECONDS" -u "$VM_OUT" id code out; do
		[[ $id == "$VM_SEQUENCE" ]] || continue
		base64 -d <<<"$out"
		return "$code"
	done
	echo "the guest did not answer within $EXEC_SECONDS s" >&2
	return 250
}

# Waits until the machine has ended by itself (a reboot or a power-off: QEMU runs with -no-reboot).
vm_wait_gone() {
	local i
	for ((i = 0; i < STOP_SECONDS * 5; i++)); do
		kill -0 "$VM_QEMU" 2>/dev/null || {
			vm_forget
			return 0
		}
		sleep 0.2
	done
	echo "the guest did not go down within $STOP_SECONDS s" >&2
	return 1
}

vm_forget() {
	wait "$VM_QEMU" 2>/dev/null || :
	exec {VM_IN}>&- {VM_OUT}<&-
	wait "${VM_AGENT_PID:-}" 2>/dev/null || :
	VM_QEMU=''
	[[ ${1-} == cut ]] || vm_served_end
}

vm_reboot_clean() { vm_down reboot && vm_boot; }
vm_down() { # poweroff or reboot
	vm_try "systemctl --no-block $1" 2>/dev/null >/dev/null && vm_wait_gone
}

# Prints what the guest wrote to /dev/virtio-ports/told, which outlives a kill.
vm_told() { cat "$VM/told"; }

# Pulls the plug: the guest's memory is gone, and so is all that it had not flushed to served disks.
# The other disks lose nothing: the host has it.
vm_kill() {
	[[ -n ${VM_QEMU-} ]] || {
		vm_served_end
		return 0
	}
	vm_served_freeze
	kill -KILL "$VM_QEMU" 2>/dev/null || :
	vm_forget cut
	vm_served_cut
}

# Prints everything that a person needs to see why a case failed.
vm_diagnose() {
	echo "--- serial console, last 60 lines"
	tail -n 60 "$VM/serial.log" | tr -d '\r' || :
	[[ -n ${VM_QEMU-} ]] || return 0
	echo "--- from inside"
	EXEC_SECONDS=60
	vm_try '
		systemctl --failed --no-legend --plain; systemctl list-jobs --no-pager
		cat /proc/mdstat; lsblk -o NAME,SIZE,FSTYPE,MOUNTPOINT,SERIAL
		for d in /dev/sd? /dev/nvme?n1 /dev/rd?; do
			[ -b "$d" ] && mdadm --examine "$d"
		done
		echo "--- of the boot before"
		journalctl -b -1 --no-pager -o short-monotonic -u "ramraid*" | tail -n 80
		echo "--- of this boot"
		journalctl -b --no-pager -o short-monotonic | tail -n 250' ||
		echo "(no answer)"
}

# vm_send FILE PATH: copies a file of the host into the running guest, in pieces that its line
# discipline can take.
vm_send() {
	local piece
	vm_try ": >'$2.b64'" || return
	while IFS= read -r piece; do
		vm_try "printf %s '$piece' >>'$2.b64'" || return
	done < <(base64 -w60000 "$1")
	vm_try "base64 -d '$2.b64' >'$2' && rm '$2.b64'"
}
