#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2046,SC2012,SC2317 # cases call it; the guest expands; names are plain
# Runs one case on one release: tests/vm/case.sh CASE RELEASE. A case is a file
# tests/vm/cases/CASE.sh:
#   from STATE            what the machine starts from: base (plain Debian), installed (our
#                         package), or a state made by states/STATE.sh
#   image KIND            a system with other programs on it than usual (image.sh)
#   disk NAME SIZE [OPT]  a disk; memory SIZE; cpus N; append TEXT (kernel command line); warm:
#                         memory keeps its contents from boot to boot; counted: its clock counts
#                         instructions; firmware bios|uefi: from now on it boots with that firmware,
#                         from the disks (machine.sh)
#   disk NAME SIZE nvme=SLOT[,OPT…]  an NVMe disk in that slot of the PCI bus,
#                                    /dev/disk/by-path/pci-0000:00:SLOT.0-nvme-1; the others are
#                                    SCSI
#   disk NAME SIZE blocks=BYTES[,OPT…]  a disk with logical blocks of that size
#   disk NAME SIZE served [FILTER…]  a disk whose write cache is lost at kill_power: served.sh; root
#                                    served: the system's own as well
#   checked_on NAME…      the releases on which "make check" runs it, which has to end within an
#                         hour; the default is all, and "make vm-all" always runs it on all
#   long                  not in "make check"
#   needs rapiddisk       not on releases that have none
#   may_fail UNIT…        units that "systemctl --failed" may list
#   steps() { … }         what happens: check, guest, reboot, kill_power, power_off, boot; on a second
#                         machine as well: pair.sh
# Prints "ok - TEXT" for each check that passed; stops at the first one that failed, shows why, and
# exits with 1.
set -Eeuo pipefail
shopt -s inherit_errexit

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
readonly here
# shellcheck source=tests/vm/machine.sh
source "$here/machine.sh"
# shellcheck source=tests/vm/release.sh
source "$here/release.sh"

CASE_FROM=installed CASE_IMAGE=${RAMRAID_IMAGE-} CASE_MAY_FAIL=''
from() { CASE_FROM=$1; }
image() { CASE_IMAGE=$1; }
memory() { VM_MEMORY=$1; }
cpus() { VM_CPUS=$1; }
append() { VM_APPEND=$*; }
warm() { VM_WARM=yes; }
firmware() { VM_FIRMWARE=$1; }
counted() { VM_COUNTED=yes; }
# tests/vm/run reads these.
checked_on() { :; }
long() { :; }
needs() { :; }
# short: is this the run of all cases within an hour, which leaves out what repeats the most?
short() { [[ -n ${RAMRAID_SHORT-} ]]; }
may_fail() { CASE_MAY_FAIL=$*; }
has_rapiddisk() {
	release_has_rapiddisk "$RELEASE" || {
		printf '# %s has no rapiddisk: left out what needs one\n' "$RELEASE"
		return 1
	}
}
# ram_drop: prints the command that gives a ramdisk back, as ramraid announces it.
ram_drop() {
	if release_has_rapiddisk "$RELEASE"; then
		printf 'echo rapiddisk detach\n'
	else
		printf 'rmmod brd\n'
	fi
}
disk() { CASE_DISKS+=("$*"); }
root() { CASE_ROOT=$*; }
CASE_DISKS=() CASE_ROOT=''
# at_end FUNCTION: is called when the case ends, with its exit code.
CASE_AT_END=()
at_end() { CASE_AT_END+=("$1"); }

# What every command in the guest may use.
readonly PRELUDE='set -eu
trap "echo \"failed: \$BASH_COMMAND\"" ERR
leg() { echo /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_$1; }
node() { readlink -f "$(leg "$1")"; }
# ram NAME: the node of its RAM leg; rapiddisk calls its devices rd, brd ram
ram() { cut -d" " -f2 "/run/ramraid/$1.ram" | sed s,^,/dev/,; }
# no_ramdisk: there is none, neither of rapiddisk nor of brd, and so none that takes memory
no_ramdisk() { fails compgen -G "/sys/block/r[ad]*"; }
md() { readlink -f "/dev/md/$1" | sed s,.*/,,; }
slots() { sed -n "/^$(md "$1") /{n;s/.*\[\([U_]*\)\]$/\1/p}" /proc/mdstat; }
settle() { udevadm settle --timeout=150; }
# named DEVICE: waits until udev has given its name to an array that mdadm has made or started. mdadm
# waits for that only for some seconds, and does not fail. The name may still be that of an array
# that was stopped just before, until udev has dealt with that, too.
named() {
	settle
	for i in $(seq 600); do [ ! -e "$1" ] || return 0; sleep 0.1; done
	echo "udev has not made $1 in 60 s"; return 1
}
# make_ext4 DEVICE [OPTION…]. udev stops watching a device while it handles an event of it, and
# never learns what mkfs writes then: so wait before, and tell it after.
make_ext4() { settle; mkfs.ext4 -q "${@:2}" "$1"; udevadm trigger --settle "$1"; }
# gone NAME…: these disks are pulled out. back NAME…: they are in again.
gone() {
	for d; do echo 1 >/sys/block/$(basename $(node $d))/device/delete; done
	for d; do while [ -e $(leg $d) ]; do sleep 0.1; done; done
}
back() {
	for h in /sys/class/scsi_host/host*/scan; do echo "- - -" >$h; done
	for d; do for i in $(seq 100); do [ -e $(leg $d) ] && break; sleep 0.1; done; done; settle
}
# rests: waits until nothing of ours is at work, and no look of hot-plug is left to come, which would
# read superblocks and write the record. A oneshot unit is not "active" while it runs: it has a job.
rests() {
	local i
	for i in $(seq 600); do
		[ -e /run/ramraid/event ] ||
			systemctl list-jobs --no-legend --plain | grep -q ramraid || return 0
		sleep 0.2
	done
	systemctl list-jobs --no-pager; return 1
}
# attach NAME: also while hot-plug is at work on it.
attach() {
	local i code
	for i in $(seq 60); do
		code=0; ramraid attach "$1" || code=$?; test $code = 75 || return $code; sleep 1
	done
	return 75
}
# compare NAME: md itself compares all legs; prints the number of sectors that differ
compare() {
	local i f=/sys/block/$(md "$1")/md
	for i in $(seq 600); do [ "$(cat $f/sync_action)" = idle ] && break; sleep 0.2; done
	[ "$(cat $f/sync_max)" = max ] && echo check >$f/sync_action || {
		echo "no check of all of it could be begun"; return 1
	}
	while [ "$(cat $f/sync_action)" != idle ]; do sleep 0.2; done; cat $f/mismatch_cnt
}
# equal NAME: are all legs equal in what the ext4 that is mounted from it uses? After a writer has
# ended, and with churn.pl sent; see there.
equal() { test "$(compare "$1")" = 0 || perl /root/churn.pl differ $(md "$1"); }
fails() { ! "$@" || { echo "this should have failed: $*"; return 1; }; }
'

# guest SCRIPT: runs it in the guest, and prints its output. check TEXT SCRIPT: the same as one
# check, whose output is shown only if it fails.
guest() { vm_try "$PRELUDE$1"; }
check() {
	local out begin=$SECONDS
	if out=$(guest "$2" 2>&1); then
		printf 'ok - %s (%s s)\n' "$1" $((SECONDS - begin))
	else
		printf 'not ok - %s\n--- printed:\n%s\n--- by:\n%s\n' "$1" "$out" "$2"
		return 1
	fi
}
# show SCRIPT: prints the script's output for the reader (demo, bench)
show() { guest "$1"; }

# boot waits until systemd has nothing left to do; boot_early only until the guest answers, long
# before.
boot_early() { vm_boot; }
boot() {
	local begin=$SECONDS spoke
	vm_boot
	spoke=$SECONDS
	guest 'systemctl is-system-running --wait || :' >/dev/null
	printf '# boot: %s s to the first word, %s s in all\n' $((spoke - begin)) \
		$((SECONDS - begin))
}
down() { # reboot|poweroff
	local begin=$SECONDS
	# Nothing here depends on errexit, which "down … && boot" switches off.
	healthy || return
	vm_down "$1" || return
	printf '# %s: %s s\n' "$1" $((SECONDS - begin))
}
reboot() { down reboot && boot; }
power_off() { down poweroff; }
kill_power() { vm_kill; }

# No unit may have failed, except those that the case names.
healthy() {
	local failed unit
	failed=$(guest '
		systemctl --failed --no-legend --plain | while read -r unit rest; do
			echo $unit
		done')
	for unit in $failed; do
		[[ " $CASE_MAY_FAIL " == *" $unit "* ]] || {
			printf 'not ok - no unit has failed\n%s\n' "$failed"
			guest "systemctl status --no-pager --lines=50 '$unit'" || :
			return 1
		}
	done
}

# case_state STATE RELEASE: prints the folder of a machine's disks in that state, made once and kept
# in the cache under a digest of what goes into it: the image, the package, and the states' own
# scripts.
case_state() {
	local state=$1 release=$2 base folder key
	base=$("$here/image.sh" "$release" "$CASE_IMAGE")
	[[ $state != base ]] || {
		printf '%s\n' "$base"
		return
	}
	key=$(printf '%s' "$base" |
		cat - "$here/states/installed.sh" "$here/states/$state.sh" "$RAMRAID_DEB" |
		sha256sum | cut -c1-16)
	folder=$(vm_cache)/state-$release-$state-$key
	(
		exec 9>"$folder.lock"
		flock 9
		[[ -d $folder ]] ||
			env -u RAMRAID_SHELL -u RAMRAID_KEEP RAMRAID_IMAGE="$CASE_IMAGE" \
				RAMRAID_STATE_FOLDER="$folder" "$here/case.sh" "../states/$state" \
				"$release" >&2
	)
	printf '%s\n' "$folder"
}

case_end() {
	local code=$? word
	trap - EXIT
	# In a trap, a "return" without a number returns the status from before the trap; that must
	# not end anything here.
	set +e
	if ((code != 0)); then
		(vm_diagnose) || :
	fi
	for word in "${CASE_AT_END[@]}"; do "$word" "$code"; done
	vm_kill
	((code != 0)) || [[ -z ${RAMRAID_STATE_FOLDER-} ]] || case_keep
	[[ -n ${RAMRAID_KEEP-} && ($RAMRAID_KEEP != failed || $code != 0) ]] || rm -rf "$VM"
	exit "$code"
}

# Moves the machine's images to the cache, as a state.
case_keep() {
	local next=$RAMRAID_STATE_FOLDER.new
	rm -rf "$next"
	mkdir -p "$next/disks"
	mv "$VM/root.qcow2" "$VM/boot.img" "$next/"
	[[ -z $(ls "$VM/disks") ]] || mv "$VM"/disks/* "$next/disks/"
	mv "$next" "$RAMRAID_STATE_FOLDER"
}

case_shell() {
	printf 'The machine runs. Its console (leave with Ctrl-]): \n'
	socat -,raw,echo=0,escape=0x1d "UNIX-CONNECT:$VM/serial.sock"
}

main() {
	local state declared
	CASE=$1 RELEASE=$2
	# shellcheck source=/dev/null
	source "$here/cases/$CASE.sh"
	state=$(case_state "$CASE_FROM" "$RELEASE")
	mkdir -p "$(vm_cache)/run"
	VM=$(mktemp -d "$(vm_cache)/run/${CASE##*/}-$RELEASE.XXXXXX")
	trap case_end EXIT
	trap 'exit 143' TERM INT
	vm_new "$VM" "$state"
	for declared in "${CASE_DISKS[@]}"; do
		# shellcheck disable=SC2086 # words on purpose
		vm_disk $declared
	done
	# shellcheck disable=SC2086 # words on purpose
	[[ -z $CASE_ROOT ]] || vm_root_is $CASE_ROOT
	if [[ -n ${RAMRAID_SHELL-} ]]; then
		vm_boot
		case_shell
	else
		steps
	fi
	[[ -z ${VM_QEMU-} ]] || healthy
}

# bash reads all of this before it runs it: the file may be edited meanwhile.
{
	main "$@"
	exit
}
