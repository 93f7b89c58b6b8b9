# shellcheck shell=bash disable=SC2016,SC2154 # the guest expands; "here" is case.sh's
# make bench: measures the articles' systems, ours, and other choices, side by side in one machine
# on throttled disks. The folder bench has what they are, and what is measured. Figures are printed,
# not judged. Lines for the report begin with "{"; before them comes what the machine is.
# shellcheck source=tests/vm/stolen.sh
source "$here/stolen.sh"
image stacks
from installed
memory 3G
cpus 2
# Each disk is throttled as in an article; its sequential rate is what an emulated processor can
# carry.
disk HDD1 400M throttling.iops-read=464,throttling.iops-write=352,throttling.bps-total=40000000
disk HDD2 400M throttling.iops-read=464,throttling.iops-write=352,throttling.bps-total=40000000
disk NVME 400M
disk OLD1 400M throttling.iops-read=100,throttling.iops-write=74,throttling.bps-total=30000000
disk OLD2 400M throttling.iops-read=100,throttling.iops-write=74,throttling.bps-total=30000000
disk SSD 400M throttling.iops-read=11490,throttling.iops-write=17177,throttling.bps-total=120000000
disk NET 400M throttling.iops-total=500,throttling.bps-total=40000000
disk SATA1 400M throttling.bps-total=16000000
disk SATA2 400M throttling.bps-total=16000000
disk FAST1 400M throttling.bps-total=50000000
disk FAST2 400M throttling.bps-total=50000000
# A system is measured up to so many times, until the host takes no more than so many percent of the
# processors' time meanwhile.
readonly attempts=3 quiet=8

steps() {
	local file name
	boot
	printf 'accelerator: %s\nprocessors: %s\nattempts: %s\nquiet: %s\n' "$(vm_accel)" \
		"$VM_CPUS" "$attempts" "$quiet"
	guest 'echo "kernel: $(uname -r)"; mdadm --version 2>&1 | sed "s/^/mdadm: /"
echo "rapiddisk: $(modinfo -F version rapiddisk)"; fio --version | sed "s/^/fio: /"
		grep -m1 "model name" /proc/cpuinfo | sed "s/.*: /processor: /"
		echo "seconds: '"${SECONDS_EACH:-10}"'"; echo "rounds: '"${ROUNDS:-3}"'"'
	tar -C "$here/../.." -cf "$VM/bench.tar" bench/measure bench/systems
	vm_send "$VM/bench.tar" /root/bench.tar
	# No boot follows, so no claim needs an initramfs.
	guest 'tar -C /root -xf /root/bench.tar
		sed -i s/^update_initramfs=.*/update_initramfs=no/ \
			/etc/initramfs-tools/update-initramfs.conf'
	for file in "$here"/../../bench/systems/*.sh; do
		name=${file##*/} name=${name%.sh}
		[[ -z ${SYSTEMS-} || " $SYSTEMS " == *" $name "* ]] || continue
		quietly_measured "$name" || return 1
		printf 'ok - %s\n' "$name"
	done
}

# quietly_measured SYSTEM: measures it, and prints the results. While the host takes away much of
# the processors' time, results scatter by half. Then it measures again, a few times at most, and
# the attempt that was disturbed least counts. How much that one was disturbed is printed after it.
quietly_measured() {
	local try before out least=101 best='' percent
	for ((try = 1; try <= attempts && least > quiet; try++)); do
		before=$(stolen_since)
		out=$(measured "$1") || { printf '%s\nnot ok - %s\n' "$out" "$1" && return 1; }
		percent=$(stolen "$before" "$(stolen_since)")
		((percent >= least)) || least=$percent best=$out
	done
	printf '%s\nstolen: %d %s\n' "$best" "$least" "$1"
}

measured() { # SYSTEM
	guest '
		for name in HDD1 HDD2 NVME OLD1 OLD2 SSD NET SATA1 SATA2 FAST1 FAST2; do
			export $name=$(leg $name)
		done
		export NONROTATIONAL="$NVME $SSD $FAST1 $FAST2"
		SECONDS_EACH='"${SECONDS_EACH:-10} ROUNDS=${ROUNDS:-3} MEASURES='${MEASURES-}'"' \
			bash /root/bench/measure '"$1"' 2>/root/err || { cat /root/err; exit 1; }'
}
