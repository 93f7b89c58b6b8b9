# The check, the array as it is now: does it run, is every leg in sync, can the next start use them,
# and how are they set? After before_look_configured and facts_observe.
# shellcheck shell=bash

need cmd/check/findings cmd/check/foreign-start cmd/check/legs cmd/check/only-copy cmd/check/record
need config/conf config/conf-where core/paths core/text decide/action decide/below decide/health
need decide/leg decide/leg-alone decide/rescue-way decide/strangers notes/legs-seen
need notes/memory-floor notes/ram-out observe/all-disks observe/before-look observe/may-leave
need observe/whose report/advice world/disk world/md world/md-state world/ramdisk world/ramdisk-brd
need world/ramdisk-note world/smart world/stable-name world/systemd

declare -gA F # the facts: decide/facts.list

check_running() {
	local i
	CHECK_UNIT=unknown
	! systemd_is_running || CHECK_UNIT=$(systemd_unit_state "$CHECK_ARRAY") ||
		CHECK_UNIT=unknown
	[[ -z ${F[rescue.image]} ]] || {
		rescue_way
		findings_problem rescue-image 'all data on the disk legs' \
			"what only the RAM leg had, in \
${F[rescue.image]}${F[rescue.lost]:+; ${F[rescue.lost]}}" "$RESCUE_ACTION"
	}
	check_running_copies
	check_foreign_start
	if [[ ${F[array.state]} != active ]]; then
		check_running_stopped
		for ((i = 0; i < ${F[members]}; i++)); do check_running_leg_size "$i"; done
		return
	fi
	legs_seen_look
	whose_look
	may_leave_look
	check_running_twin
	check_running_legs
	check_running_ram_leg
	check_running_slots
	check_running_bitmap
	check_running_backlog
	check_record
	check_record_unit
	check_record_monitor
	check_record_hotplug
}

# For an array that does not run: what would a start do? The answer needs the superblocks, which
# only root can read.
check_running_stopped() {
	local i expected="/dev/md/$CHECK_ARRAY to run"
	[[ ${F[array.state]} != broken ]] || {
		check_only_copy_broken
		return
	}
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.sb]} != unreadable ]] || findings_is_root || {
			findings_problem not-running "$expected" 'that it does not' \
				"ramraid start $CHECK_ARRAY"
			findings_unseen superblocks 'to see whether a start would be refused' \
				'no right to read the superblocks'
			return
		}
	done
	before_look_times || :
	action_choose eventually
	if [[ $ACTION == refuse ]]; then
		findings_problem refused "$expected" "that a start is refused: \
$WHY" "journalctl -b -u $(systemd_unit "$CHECK_ARRAY"); see ramraid-diagnostics(7)"
	elif [[ ${F[array.state]} == inactive ]]; then
		findings_problem half-assembled "$expected" "that something has assembled some of \
its legs without starting it" "ramraid start $CHECK_ARRAY"
	else
		findings_problem not-running "$expected" "that it does not; \
a start would go on with: $ACTION ($WHY)" "ramraid start $CHECK_ARRAY"
	fi
}

# check_running_copies: reports devices that carry the array's UUID and are none of its legs. The
# decision on a start depends on them as well.
check_running_copies() {
	local clone node BELOW
	findings_is_root || return 0
	all_disks_clones
	for clone in ${F[clones]} ${F[clones.loop]-}; do
		node=${clone%%:*}
		if strangers_has_left "$clone"; then
			below_or it "if nothing on it is needed: mdadm --zero-superblock \
$(check_running_name_of_ "$node")"
			findings_note old-disk 'only its legs to have the UUID of the array' \
				"/dev/$node, which the array has given up (it was replaced, for \
example) and leaves alone" \
				"${BELOW/#If/if}"
			continue
		fi
		# The command names the node: a copy may share every other name with its original.
		below_or it "take it out of the machine, or, if nothing on it is needed: \
mdadm --zero-superblock /dev/$(printf %q "$node"); if it is a leg: \
write MEMBER=$(check_running_name_of_ "$node") in $ETC/$CHECK_ARRAY.conf"
		findings_problem copy 'only its legs to have the UUID of the array' \
			"/dev/$node (events ${clone##*:})" "${BELOW/#If/if}"
	done
}

check_running_twin() {
	[[ -z ${F[array.twin]} ]] ||
		findings_problem two-arrays 'its legs in one array' \
			"them in two, ${F[array.md]} and ${F[array.twin]}" \
			"stop both (mdadm --stop), then: ramraid start $CHECK_ARRAY"
}

# Checks every disk leg, and the members that no name in the configuration leads to: each of these
# may be a leg whose name has changed.
check_running_legs() {
	local i strangers node name out
	text_split strangers "${F[array.strangers]}"
	for ((i = 0; i < ${F[members]}; i++)); do
		check_running_leg_state "$i"
		[[ -n ${F[leg.$i.node]} ]] || continue
		check_running_leg_size "$i"
		[[ ${F[leg.$i.in]} == "${F[array.md]}" ]] || continue
		check_running_leg_writemostly "$i"
		check_legs_bad_blocks "$i"
	done
	for i in "${strangers[@]}"; do
		printf -v node '%q' "$i"
		! ramdisk_note_is_node "$i" || {
			out='do not take out either: neither has all that is on the array, nor \
have the disks. Copy that to another disk now'
			! health_may_leave "$i" || out="take out the one that somebody has added: \
mdadm /dev/${F[array.md]} --fail /dev/$node --remove /dev/$node"
			findings_problem stranger 'one ramdisk in the array' \
				"two, ${F[ram.node]} and $i" "$out"
			continue
		}
		out='. Do not take it out: no other disk has all that is on the array'
		! health_may_leave "$i" || out="; or take it out: \
mdadm /dev/${F[array.md]} --fail /dev/$node --remove /dev/$node"
		name=$(check_running_name_of_ "$i")
		findings_problem stranger "no member that the configuration does not name" "$name" \
			"$(check_running_named_ "before the next start, which would be refused: \
write MEMBER=$name in $ETC/$CHECK_ARRAY.conf, and delete the line of the disk that it has replaced \
(ramraid config show $CHECK_ARRAY)$out")"
	done
	check_only_copy
}

check_running_name_of_() { stable_name_of "/dev/$1" || printf '/dev/%q\n' "$1"; } # NODE

# check_running_leg_state I: takes from the caller's strangers the one that is probably leg I.
check_running_leg_state() {
	local dev=${F[leg.$1.dev]} again="ramraid attach $CHECK_ARRAY" ADVICE_BLIND=no \
		ADVICE_ACTION LEG
	health_leg "leg.$1"
	case $LEG in
	in_sync) ;;
	recovering)
		findings_note rebuilding "$dev in sync" 'that it is being rebuilt' \
			"ramraid wait $CHECK_ARRAY"
		;;
	faulty)
		findings_problem leg-faulty "$dev in sync" 'that md has given it up' \
			"smartctl -a $dev; if it is good: $again"
		;;
	outside)
		[[ ${F[leg.$1.sb]} != unreadable ]] || findings_is_root || ADVICE_BLIND=yes
		advice_lost_leg "$1"
		findings_problem leg-outside "$dev in the array" \
			"it $(check_running_outside_ "$1")" "$ADVICE_ACTION"
		;;
	*) check_running_leg_gone_ "$1" ;;
	esac
}

check_running_outside_() { # I
	local holders LEG
	leg_alone "$1"
	case $LEG in
	used)
		holders=$(disk_holders "${F[leg.$1.node]}")
		printf 'in use by %s\n' "${holders//$'\n'/, }"
		;;
	silent) printf 'does not answer\n' ;;
	*) printf 'outside (superblock: %s)\n' "${F[leg.$1.sb]}" ;;
	esac
}

check_running_leg_gone_() { # I
	local dev=${F[leg.$1.dev]} name back='; ramraid then puts it back'
	if ((${#strangers[@]} == 0)); then
		[[ ${CONF[HOTPLUG]} == yes && ${F[array.state]} == active ]] ||
			back=", then: ramraid attach $CHECK_ARRAY"
		findings_problem leg-missing "$dev" 'no such disk' \
			"bring it back$back; if it is broken: ramraid replace $CHECK_ARRAY $dev NEW"
		return
	fi
	name=$(check_running_name_of_ "${strangers[0]}")
	strangers=("${strangers[@]:1}")
	findings_problem member-name "$dev, which the configuration names" \
		"no such disk, but a member that it does not name: $name" \
		"$(check_running_named_ \
			"write MEMBER=$name in its place in \
$(conf_where "$CHECK_ARRAY" MEMBER "$dev")")"
}

# check_running_named_ TODO: prints what to do with a member that no MEMBER names: TODO, unless it
# may be the disk below a leg that is missing.
check_running_named_() {
	local BELOW
	! below_absent it || printf '%s' "${BELOW/#If/if}, after: ramraid stop $CHECK_ARRAY; then: \
ramraid start $CHECK_ARRAY. If it is another disk: "
	printf '%s\n' "$1"
}

# check_running_leg_size I: does the device have room for what the array keeps on a leg? A device
# that was shrunk still runs, and is refused at the next start.
check_running_leg_size() {
	local node=${F[leg.$1.node]} md=${F[array.md]} sectors need=0 VALUE offset=0
	[[ -n $node && -r $SYS/class/block/$node/size ]] || return 0
	read -r sectors <"$SYS/class/block/$node/size"
	if [[ ${F[leg.$1.sb]} == ok && ${F[leg.$1.uuid]} == "${F[uuid]}" ]]; then
		need=$((${F[leg.$1.size]} + ${F[leg.$1.data_offset]}))
	elif [[ -n $md ]]; then
		md_state_read "$md" "dev-$node/offset"
		[[ ! $VALUE =~ ^[0-9]+$ ]] || offset=$VALUE
		md_state_read "$md" component_size # KiB
		[[ ! $VALUE =~ ^[0-9]+$ ]] || need=$((VALUE * 2 + offset))
	fi
	((sectors >= need)) ||
		findings_problem leg-too-small "${F[leg.$1.dev]} with at least $((need * 512)) \
bytes" "$((sectors * 512))" \
			"use a larger disk: ramraid replace $CHECK_ARRAY ${F[leg.$1.dev]} NEW"
}

check_running_leg_writemostly() { # I
	[[ ${F[leg.$1.writemostly]} != no ]] ||
		findings_note not-write-mostly "${F[leg.$1.dev]} marked write-mostly" \
			'that it is not: md also reads from it; the next start marks it' \
			"ramraid attach $CHECK_ARRAY"
}

check_running_ram_leg() {
	local LEG blocks='' found=none \
		cure="ramraid attach $CHECK_ARRAY; if it is to have none, write RAM=none"
	[[ ${F[conf.ram]} != none ]] || return 0
	[[ -z ${F[leg.ram.dev]-} || -n ${F[ram.node]} ]] ||
		found="that ${F[leg.ram.dev]} is not there" \
			cure="bring it back, then: ramraid attach $CHECK_ARRAY"
	! health_is_too_small || check_legs_blocks
	ram_out_facts
	[[ ${F[ram.out]} != full ]] ||
		found="none: ${F[ram.full]}" cure="give it more memory (RAM_LIMIT), or use another \
kind (RAM); then: ramraid attach $CHECK_ARRAY"
	[[ -z ${F[ram.tried]} ]] ||
		found="none: ${F[ram.tried]}" cure="fix that, then: ramraid attach $CHECK_ARRAY"
	[[ -z ${F[rescue.image]} && ${F[array.known]} == @(|yes) ]] ||
		cure="what the findings above say, then: $cure"
	leg_ram
	case $LEG:${F[ram.state]}:$CHECK_UNIT in
	in_sync:*)
		check_running_discards
		check_legs_ram_lacks
		check_legs_blocks_later "$blocks" "$found" "$cure"
		;;
	recovering:* | *:activating)
		findings_note rebuilding 'the RAM leg in sync' 'that it is being rebuilt' \
			"ramraid wait $CHECK_ARRAY"
		;;
	*:faulty:*)
		findings_problem no-ram-leg 'the RAM leg in sync' 'that it has failed' \
			"ramraid attach $CHECK_ARRAY"
		;;
	*) findings_problem no-ram-leg 'the RAM leg in sync' "$found" "$cure" ;;
	esac
}

# Nobody can see what the RAM leg has lost already, so it has to be made again.
check_running_discards() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES
	ramdisk_note_read "$CHECK_ARRAY"
	if [[ $RAM_PROVIDER != brd ]] || ! ramdisk_brd_takes_discards "$RAM_NODE"; then return 0; fi
	findings_problem brd-discards "no discards to the RAM leg $RAM_NODE" "that it takes \
them, and brd of some kernels loses live data with that (Linux 6.10 to 6.15.2)" \
		"ramraid detach $CHECK_ARRAY; ramraid attach $CHECK_ARRAY"
}

# The RAM leg needs a slot, its own or a free one.
check_running_slots() {
	local slots
	slots=$(md_slots "${F[array.md]}")
	[[ ${F[conf.ram]} == none ]] || ((slots == 0 || slots > ${F[members]})) ||
		findings_problem no-slot "a slot more than the ${F[members]} disk legs need" \
			"$slots slots" "ramraid apply $CHECK_ARRAY"
}

# While a member is missing, md would take the bits of a new bitmap, which mdadm sets, for blocks to
# be written again (adoption_array). The free slot of RAM=none never gets a member.
check_running_bitmap() {
	local bitmap first='' LOST LACKING
	bitmap=$(md_bitmap "${F[array.md]}")
	health_lost
	[[ -z $LOST ]] || first="bring the disk legs back first (${LOST# })"
	[[ -n $first || ${F[conf.ram]} == none || ${F[ram.state]} == in_sync ]] ||
		first='have the RAM leg in sync first'
	[[ -z $first ]] || first+=', because this is safe only while the array is whole; then: '
	[[ $bitmap == internal ]] ||
		findings_problem no-bitmap 'an internal bitmap' "$bitmap: \
after a crash every block is read again, and the RAM leg is rebuilt from one disk" \
			"${first}mdadm --grow --bitmap=internal /dev/${F[array.md]}"
}

check_running_backlog() {
	local folder=/sys/block/${F[array.md]}/md
	[[ ${F[array.backlog]} == 0 || ${F[array.backlog]} == "${F[conf.write_behind]}" ]] ||
		findings_problem write-behind \
			"WRITE_BEHIND=${F[conf.write_behind]}" \
			"write-behind on (${F[array.backlog]}): \
fsync returns before a disk has the data" \
			"echo ${F[conf.write_behind]} >$folder/bitmap/backlog"
}

# Asks the disks below the legs, each once.
check_running_smart() {
	local i disk asked=' ' SMART
	smart_is_there || return 0
	findings_is_root || {
		findings_unseen smart 'to ask the disks whether they are failing (SMART)' \
			'no right to ask them'
		return
	}
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || continue
		while IFS= read -r disk; do
			[[ $asked != *" $disk "* ]] || continue
			asked+="$disk "
			smart_health "$disk"
			[[ $SMART != failing ]] ||
				findings_problem smart-failing \
					"the disk of ${F[leg.$i.dev]} in good health" \
					"that SMART says it is failing" \
					"smartctl -a /dev/$disk; replace that disk"
		done < <(disk_physical "${F[leg.$i.node]}" | sort -u)
	done
}
