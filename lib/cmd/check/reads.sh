# The check, who serves reads: what the mirror is for, tried out. After facts_observe.
# shellcheck shell=bash

need cmd/check/findings core/paths decide/health world/md

declare -gA F # the facts: decide/facts.list

# How often and how much (bytes) is read, and from how many reads by the disks on it is said:
# something else may look at a disk meanwhile (udev, mdadm --examine), and does not read it this
# often.
readonly CHECK_READS=64 CHECK_READ_BYTES=4096 CHECK_READS_TOLERATED=16

# check_reads: with every leg in sync, md reads from the legs that are not write-mostly, and from
# the others only when those have bad blocks there (linux drivers/md/raid1.c, read_balance). So some
# blocks of the array are read past the page cache, and what the disk legs have served meanwhile is
# counted, since ramdisks count nothing. Whoever runs on the array may slow that down, not falsify
# it.
check_reads() {
	local before after i last step
	# md's check reads from every leg.
	[[ ${F[conf.ram]} != none && ${F[array.sync]} == idle ]] && health_is_whole || return 0
	# With a disk that is not, it is known why, and said.
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.writemostly]} == yes ]] || return 0
	done
	findings_is_root || {
		findings_unseen reads 'to try out which legs serve reads' \
			'no right to read the array'
		return
	}
	last=$(($(md_bytes "${F[array.md]}") / CHECK_READ_BYTES - 1))
	step=$((last / CHECK_READS + 1))
	before=$(check_reads_disk_)
	for ((i = 0; i <= last; i += step)); do
		dd if="$DEV/${F[array.md]}" of=/dev/null bs="$CHECK_READ_BYTES" skip="$i" count=1 \
			iflag=direct status=none || {
			findings_problem read-error "every block of the array to be readable" \
				"that the one at byte $((i * CHECK_READ_BYTES)) is not" "journalctl -b -k -g ${F[array.md]}"
			return 0
		}
	done
	after=$(check_reads_disk_)
	((after - before < CHECK_READS_TOLERATED)) ||
		findings_problem disk-reads 'the RAM leg to serve reads' \
			"that the disk legs have served $((after - before)) of $CHECK_READS" "mdadm \
--detail /dev/${F[array.md]}: is the RAM leg write-mostly? To rebuild the RAM leg: \
ramraid detach $CHECK_ARRAY; ramraid attach $CHECK_ARRAY"
}

# check_reads_disk_: how many reads the disk legs have served since they came (linux
# Documentation/block/stat.rst).
check_reads_disk_() {
	local i reads sum=0
	for ((i = 0; i < ${F[members]}; i++)); do
		read -r reads _ <"$SYS/class/block/${F[leg.$i.node]}/stat"
		sum=$((sum + reads))
	done
	printf '%s\n' "$sum"
}
