# The check, the legs of an array: what a disk leg is on, and which legs serve reads. The former
# concerns the network and containers; the latter, which is what the mirror is for, is tried out.
# And, with RAM=zram on an array with blocks of 512 bytes, whether they may become larger at its
# next start. After facts_observe.
# shellcheck shell=bash

need cmd/check/findings config/conf config/conf-where core/paths core/text decide/health
need decide/larger-blocks observe/contents-blocks world/disk world/initiator world/md world/md-state
need world/ramdisk-zram world/systemd

declare -gA F # the facts: decide/facts.list

# check_legs_remote: md waits for each write to each leg, without a time limit.
check_legs_remote() {
	local i FOREVER FOREVER_DO
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		initiator_forever "${F[leg.$i.node]}"
		[[ -z $FOREVER ]] ||
			findings_problem leg-waits-forever "${F[leg.$i.dev]} to fail when its \
other end is gone, so that the array goes on without it" \
				"$FOREVER: the array hangs until it is back" "$FOREVER_DO"
	done
}

# check_legs_containers WANTED BY-HAND: reports a container that holds a disk leg and that nobody
# opens before the array is started. WANTED and BY-HAND are the units of containers that the array
# comes after, separated by blanks: those that its start opens and those that a person opens
# (gate/crypttab.sh).
check_legs_containers() {
	local i name unit told=' ' expected
	[[ ${CONF[ROOT]} != yes ]] || return 0
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		while IFS= read -r name; do
			[[ $told != *" $name "* ]] || continue
			told+="$name "
			unit=$(systemd_escape --template=systemd-cryptsetup@.service -- "$name")
			[[ " $1 " != *" $unit "* ]] || continue
			expected="the container $name, in which ${F[leg.$i.dev]} is, to be opened \
at boot, before the array is started"
			if [[ " $2 " == *" $unit "* ]]; then
				findings_note leg-opens-late "$expected" "noauto in /etc/crypttab, \
so that somebody opens it by hand, or the array starts without it" \
					"remove noauto from its line, then: \
systemctl daemon-reload; or type, after each boot: systemctl start $unit"
			else
				findings_problem leg-opens-late "$expected" \
					"$(check_legs_crypttab_ "$name")" \
					"$(check_legs_cure_ "$name")"
			fi
		done < <(disk_containers "${F[leg.$i.node]}")
	done
}
check_legs_listed_() { # NAME
	local name
	while read -r name _; do
		[[ $name != "$1" ]] || return 0
	done < <(cat "$ROOT/etc/crypttab" 2>/dev/null)
	return 1
}
check_legs_crypttab_() { # NAME
	if check_legs_listed_ "$1"; then
		printf 'a line in /etc/crypttab that the array cannot wait for\n'
	else
		printf "no line about it in /etc/crypttab, \
so that somebody has to open it by hand\n"
	fi
}
check_legs_cure_() { # NAME
	if check_legs_listed_ "$1"; then
		printf "systemctl daemon-reload, and see the reason: \
journalctl -b -t ramraid-generator\n"
	else
		printf "write it into /etc/crypttab, then: \
ramraid remember; systemctl daemon-reload\n"
	fi
}

# How many reads are tried, how much each reads (bytes), and how many reads by the disks are too
# many: something else may look at a disk meanwhile (udev, mdadm --examine), but does not read this
# often.
readonly CHECK_READS=64 CHECK_READ_BYTES=4096 CHECK_READS_TOLERATED=16

# check_legs_reads: with every leg in sync, md reads from the legs that are not write-mostly, and
# from the others only when those have bad blocks there (linux drivers/md/raid1.c, read_balance). So
# this reads some blocks of the array past the page cache, and counts the reads that the disk legs
# have served meanwhile, since ramdisks count nothing. Programs that run on the array may slow that
# down, but do not falsify it.
check_legs_reads() {
	local before after i last step
	# md's check reads from every leg.
	[[ ${F[conf.ram]} != none && ${F[array.sync]} == idle ]] && health_is_whole || return 0
	# If a disk is not write-mostly, the reason is known, and has been reported.
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.writemostly]} == yes ]] || return 0
	done
	findings_is_root || {
		findings_unseen reads 'to try out which legs serve reads' \
			'no right to read the array'
		return
	}
	last=$(md_bytes "${F[array.md]}") || return 0 # the array is gone
	last=$((last / CHECK_READ_BYTES - 1))
	step=$((last / CHECK_READS + 1))
	before=$(check_legs_reads_disk_)
	for ((i = 0; i <= last; i += step)); do
		dd if="$DEV/${F[array.md]}" of=/dev/null bs="$CHECK_READ_BYTES" skip="$i" count=1 \
			iflag=direct status=none || {
			findings_problem read-error "every block of the array to be readable" \
				"that the one at byte $((i * CHECK_READ_BYTES)) is not" \
				"journalctl -b -k -g ${F[array.md]}"
			return 0
		}
	done
	after=$(check_legs_reads_disk_)
	((after - before < CHECK_READS_TOLERATED)) ||
		findings_problem disk-reads 'the RAM leg to serve reads' \
			"that the disk legs have served $((after - before)) of $CHECK_READS" \
			"mdadm --detail /dev/${F[array.md]}: is the RAM leg write-mostly? \
To rebuild the RAM leg: \
ramraid detach $CHECK_ARRAY; ramraid attach $CHECK_ARRAY"
}

# check_legs_reads_disk_: prints how many reads the disk legs have served since they came (linux
# Documentation/block/stat.rst).
check_legs_reads_disk_() {
	local i reads sum=0
	for ((i = 0; i < ${F[members]}; i++)); do
		read -r reads _ <"$SYS/class/block/${F[leg.$i.node]}/stat"
		sum=$((sum + reads))
	done
	printf '%s\n' "$sum"
}

# check_legs_blocks: sets the caller's found to why there is no RAM leg, cure to what to write or
# type, and blocks to what the next start will find: ok, wrong, or unseen.
check_legs_blocks() {
	local why='' bytes file other='take another kind, such as RAM=auto' \
		again="ramraid stop $CHECK_ARRAY; ramraid start $CHECK_ARRAY"
	found="none, since zram has blocks of 4096 bytes, and those of the array have \
${F[array.block]}"
	cure=$other blocks=wrong file=$(conf_where "$CHECK_ARRAY" BLOCK)
	if [[ ${F[conf.root]} == yes ]]; then
		found+=', and the initramfs, which starts it, gives it no larger ones'
		return
	elif ! findings_is_root; then
		cure="sudo ramraid check $CHECK_ARRAY, which sees whether what is on it can be \
used with larger ones"
		blocks=unseen
		return
	fi
	contents_blocks_look "${F[array.md]}"
	why=$(larger_blocks_why_not "${CONTENTS_BLOCKS[@]}") || why=$TEXT_UNKNOWN
	if [[ -n $why ]]; then
		found+="; what is on it can't be used with larger ones: ${why//$'\n'/; }"
	elif bytes=$(md_state_leg_bytes "${F[array.md]}"); then
		why=$(ramdisk_zram_why_not "$bytes" "$RAMDISK_ZRAM_BLOCK") || why=$TEXT_UNKNOWN
		found+=${why:+"; $why"}
	fi
	if [[ -n $why ]]; then
		[[ ${F[conf.block]} != 4096 ]] ||
			cure="before its next start remove BLOCK=4096 from $file; $other"
	elif [[ ${F[conf.block]} == 4096 ]]; then
		cure="$again; or a reboot" blocks=ok
	else
		cure="what is on it can be used with larger ones \
($(larger_blocks_what "${CONTENTS_BLOCKS[@]}")): write BLOCK=4096 in $file; then: $again"
	fi
}

# check_legs_blocks_later BLOCKS FOUND CURE: for an array that has a RAM leg of another kind in
# sync: reports it when there may be none after the next start.
check_legs_blocks_later() {
	case $1 in
	wrong) findings_problem larger-blocks 'a RAM leg after the next start as well' "$2" "$3" ;;
	unseen)
		findings_unseen contents "to see whether what is on the array can be used with \
blocks of 4096 bytes, as RAM=zram needs them" 'no right to read it'
		;;
	esac
}

# check_legs_bad_blocks I: reports a disk in the array that md has listed bad blocks of.
check_legs_bad_blocks() {
	local dev=${F[leg.$1.dev]} todo
	md_has_bad_blocks "${F[array.md]}" "${F[leg.$1.node]}" || return 0
	todo="smartctl -a $dev; replace that disk: ramraid replace $CHECK_ARRAY $dev NEW"
	health_may_leave "${F[leg.$1.node]}" ||
		todo='do not take that disk out: no other disk has all that is on the array. Copy \
that to another disk now'
	findings_problem bad-blocks "$dev without bad blocks" "some, and with them md accepts no \
new member, so that there will be no RAM leg" "$todo"
}

# check_legs_ram_lacks: reports a RAM leg that lacks blocks which a disk leg has. Until it is
# rebuilt, a disk that leaves and comes back may lose these.
check_legs_ram_lacks() {
	local todo="ramraid rebuilds it within the hour; to do so now: ramraid attach $CHECK_ARRAY"
	[[ -n ${F[ram.lacks]} ]] || return 0
	[[ ${CONF[HOTPLUG]} == yes ]] || todo="ramraid attach $CHECK_ARRAY"
	[[ -z ${F[leg.ram.dev]} ]] ||
		todo="see what is wrong with ${F[leg.ram.dev]} (journalctl -k; smartctl -a), then, \
to rebuild all of it: ramraid attach $CHECK_ARRAY; or write another device, or RAM=auto"
	[[ -z ${F[kernel.flaw]} ]] ||
		todo='reboot: on this kernel the RAM leg is not rebuilt while the array is in use'
	[[ ${F[ram.lacks]} != stays ]] ||
		todo='replace the disk with bad blocks first; until then the RAM leg stays as it is'
	findings_problem ram-bad-blocks 'the RAM leg with all that was written' "that md could not \
write some blocks to it: only disk legs have them" "$todo"
}
