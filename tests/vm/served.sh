# Disks behind nbdkit, with a write cache that is lost with the power. Sourced by
# tests/vm/machine.sh.
# shellcheck shell=bash disable=SC2154 # "here" is case.sh's
#
# What the guest writes stays in a temporary file of nbdkit's (--filter=cache, cache=writeback)
# until the guest flushes, or writes with FUA; only then is it in disks/NAME.img. A power cut
# freezes the servers, kills QEMU, lets a part of what was not flushed reach the disk (VM_CUT_KEEP
# percent of the 4 KiB blocks, picked by VM_CUT_SEED: a disk writes its cache out in any order it
# likes), and kills the servers.

# NAME → further nbdkit filters (--filter=…) and parameters; "@" is the path $VM/NAME
declare -A VM_SERVED=()
declare -A VM_SERVERS=() # NAME → process id, while it runs
# nbdkit-cache-filter(1); "unsafe" is a disk that lies: it says "flushed", and has done nothing
VM_CACHE_MODE=${VM_CACHE_MODE:-writeback}
VM_CUT_KEEP=0 VM_CUT_SEED=1
# 4 KiB blocks that were in the caches at the last cut, root's not counted
VM_CUT_LOST=0 VM_CUT_KEPT=0

# Prints the path of a disk's image; the system's own is "root".
vm_served_image() {
	if [[ $1 == root ]]; then
		printf '%s\n' "$VM/root.qcow2"
	else
		printf '%s\n' "$VM/disks/$1.img"
	fi
}
vm_served_url() { printf 'nbd+unix:///?socket=%s/%s.nbd\n' "$VM" "$1"; } # NAME

# Starts the servers of the attached disks that are served.
vm_serve() {
	local disk
	for disk in root "${VM_DISKS[@]}"; do
		[[ ! -v VM_SERVED[$disk] ]] || vm_serve_one "$disk"
	done
}

vm_serve_one() { # NAME
	local word filters=() parameters=() i mode=$VM_CACHE_MODE
	[[ $1 != root ]] || mode=writeback # the system has to be there to tell
	for word in ${VM_SERVED[$1]}; do
		if [[ $word == --* ]]; then
			filters+=("$word")
		else
			parameters+=("${word//@/$VM/$1}")
		fi
	done
	rm -f "$VM/$1.nbd"
	TMPDIR=$VM nbdkit --foreground --unix "$VM/$1.nbd" "${filters[@]}" --filter=cache file \
		"$(vm_served_image "$1")" cache="$mode" cache-min-block-size=4096 \
		"${parameters[@]}" >>"$VM/nbdkit.log" 2>&1 </dev/null &
	VM_SERVERS[$1]=$!
	for ((i = 0; i < 100; i++)); do
		[[ ! -S $VM/$1.nbd ]] || return 0
		sleep 0.05
	done
	echo "nbdkit did not start for disk $1: $(tail -n 3 "$VM/nbdkit.log")" >&2
	return 1
}

# The moment of the cut: from here on nothing reaches the caches or the disks.
vm_served_freeze() {
	((${#VM_SERVERS[@]} == 0)) || kill -STOP "${VM_SERVERS[@]}" 2>/dev/null || :
}

# After QEMU has been killed: decides what becomes of the caches.
vm_served_cut() {
	local disk lost kept
	VM_CUT_LOST=0 VM_CUT_KEPT=0
	for disk in "${!VM_SERVERS[@]}"; do
		read -r lost kept < <("$here/cut.pl" "${VM_SERVERS[$disk]}" \
			"$(vm_served_image "$disk")" "$VM_CUT_KEEP" "$VM_CUT_SEED$disk") || {
			echo "the cache of disk $disk could not be read" >&2
			return 1
		}
		[[ $disk == root ]] ||
			VM_CUT_LOST=$((VM_CUT_LOST + lost)) VM_CUT_KEPT=$((VM_CUT_KEPT + kept))
	done
	vm_served_end
}

# Ends the servers; QEMU has flushed if it ended by itself.
vm_served_end() {
	((${#VM_SERVERS[@]} > 0)) || return 0
	kill -KILL "${VM_SERVERS[@]}" 2>/dev/null || :
	wait "${VM_SERVERS[@]}" 2>/dev/null || :
	VM_SERVERS=()
}
