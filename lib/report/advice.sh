# What "status" says about an array that is not whole, or in which something goes on. It uses only
# the facts.
# shellcheck shell=bash

need core/paths core/text decide/action decide/health decide/leg decide/not-ours decide/readd
need decide/rescue-way report/advice-alarm

declare -gA F # the facts: decide/facts.list

# advice STATUS-WORD: sets ADVICE_ALARM (what nobody may miss), ADVICE_WHY, ADVICE_IMPACT (what that
# means) and ADVICE_ACTION (the next thing to type), each of which may be empty. Sets ADVICE_BLIND
# to yes when this user may not read a disk that the decision depends on, else to no.
advice() {
	local ACTION ARGUMENTS WHY GIVING_UP refused='' good IN_SYNC unconfigured
	ADVICE_ALARM='' ADVICE_WHY='' ADVICE_IMPACT='' ADVICE_ACTION='' ADVICE_BLIND=no
	[[ $1 != whole ]] || {
		advice_whole_
		return
	}
	if [[ $1 == misconfigured ]]; then
		ADVICE_IMPACT='it does not run, and is not started with this configuration'
		[[ ${F[array.link]} == no ]] ||
			ADVICE_IMPACT="/dev/md/${F[name]} keeps running, but with this \
configuration the next boot does not start it"
		! health_only_copy || advice_alarm_only_copy
		ADVICE_ACTION="fix that, then: $(advice_mended "${F[name]}" "${F[array.link]}")"
		return
	fi
	health_count
	text_split unconfigured "${F[array.unconfigured]}"
	good=$((IN_SYNC + ${#unconfigured[@]}))
	advice_why_
	"advice_${1//-/_}_"
	[[ -z $refused ]] || advice_refused_
	[[ -z ${F[rescue.image]} ]] || advice_restore_
	! health_only_copy || advice_alarm_only_copy
	! health_ramdisk_alone || advice_alarm_ramdisk
}

# "restore" stops by itself what is only half assembled.
advice_restore_() {
	ADVICE_ACTION="ramraid restore ${F[name]}"
	[[ ${F[array.state]} != @(active|broken) ]] || {
		rescue_way
		ADVICE_ACTION=$RESCUE_ACTION
	}
}

# Sets ADVICE_ACTION for an array whose start is refused. A disk leg that is not found may be there
# under another name; to find that takes a look at all disks.
advice_refused_() {
	local i itself=''
	[[ ${F[conf.hotplug]-no} != yes ]] || itself=', if it does not start by itself'
	ADVICE_ACTION="what the reason says, then: ramraid start ${F[name]}"
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[array.state]} != absent || -n ${F[leg.$i.node]} ]] ||
			ADVICE_ACTION="what the reason says, or see whether a missing disk leg is \
there under another name: ramraid check ${F[name]}; then$itself: ramraid start ${F[name]}"
	done
}

# advice_mended NAME RUNS: prints what to type once the errors in a configuration are mended. The
# generator has left the array out as long as there were any.
advice_mended() {
	if [[ $2 == yes ]]; then
		printf 'systemctl daemon-reload; ramraid check %s\n' "$1"
	else
		printf 'systemctl daemon-reload; ramraid start %s\n' "$1"
	fi
}

# Sets ADVICE_WHY to the last status text of the array's unit, unless that says that all is well;
# otherwise to why a start would be refused. Sets the caller's refused.
advice_why_() {
	advice_blind_
	if [[ $ADVICE_BLIND == yes ]]; then
		ADVICE_WHY="only root can read the superblocks of the disks; to see more: \
sudo ramraid status ${F[name]}"
	else
		action_choose eventually
		[[ $ACTION != refuse ]] || refused=yes ADVICE_WHY=$WHY
	fi
	# The unit may have said its last word before something else started the array.
	[[ -z $refused || ${F[array.state]} != active ]] || return 0
	# The progress is left out because it has a line of its own; a text about missing disks
	# ("degraded:") is left out because it dates from the start, and may be out of date.
	[[ ${F[unit.text]} == @(|whole*|degraded:*) ]] || ADVICE_WHY=${F[unit.text]% (*done*)}
}

advice_blind_() {
	local i
	[[ ${F[root]} == no ]] || return 0
	[[ ${F[array.known]} != unread ]] || ADVICE_BLIND=yes
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.sb]} != unreadable ]] || ADVICE_BLIND=yes
	done
}

# advice_WORD_: one function for each word of the state, with "_" for "-".

# A spare takes the slot of the RAM leg when that leaves at the next shutdown.
advice_whole_() {
	[[ -z ${F[array.known]} ]] || {
		advice_why_
		[[ -z $refused ]] || advice_refused_
		[[ -z ${F[rescue.image]} ]] || advice_restore_
		[[ -z $refused ]] || return 0
	}
	[[ -n ${F[array.strangers]-} ]] || return 0
	ADVICE_IMPACT='the next start would be refused: the array has a disk that no MEMBER names'
	ADVICE_ACTION="ramraid check ${F[name]}"
}

advice_rebuilding_() {
	ADVICE_ACTION="nothing; to wait until it is whole: ramraid wait ${F[name]}"
	if [[ ${F[ram.state]} == in_sync ]]; then
		ADVICE_IMPACT="a disk leg is being rebuilt; until it is in sync, every write is on \
$good of ${F[members]} disks"
	else
		ADVICE_IMPACT="reads come from the disks until the RAM leg is in sync; \
every write is on $good of ${F[members]} disks"
	fi
}

advice_resyncing_() {
	ADVICE_IMPACT="md makes the disk legs equal after an unclean stop; the array can be used \
meanwhile"
	ADVICE_ACTION="nothing; to wait until it is whole: ramraid wait ${F[name]}"
}

advice_disks_only_() {
	ADVICE_IMPACT='all data is on the disks, and reads are as slow as the disks'
	ADVICE_ACTION="ramraid attach ${F[name]}"
	[[ -z $refused${F[rescue.image]} && $ADVICE_BLIND == no ]] || {
		ADVICE_IMPACT='reads are as slow as the disks'
		return 0
	}
	case ${F[ram.out]-} in
	person)
		ADVICE_WHY='the RAM leg was taken out (ramraid detach)'
		[[ -z ${F[ram.tried]-} ]] || {
			ADVICE_WHY+=", and ramraid attach has failed since: ${F[ram.tried]}"
			ADVICE_ACTION="what the reason says, then: ramraid attach ${F[name]}"
		}
		;;
	release)
		ADVICE_WHY='ramraid release is at work on it, or was interrupted'
		ADVICE_ACTION="ramraid release ${F[name]}; to keep the mirror instead: \
ramraid adopt ${F[name]} /dev/${F[array.md]}"
		;;
	memory | room)
		ADVICE_WHY='memory was short, so the RAM leg has been given up (MEMORY_FLOOR)'
		ADVICE_ACTION="nothing: it is rebuilt when there is room; to rebuild it at once: \
ramraid attach ${F[name]}"
		;;
	full)
		ADVICE_WHY="the RAM leg has been given up: ${F[ram.full]}"
		ADVICE_ACTION="give it more memory (RAM_LIMIT), or use another kind (RAM); then: \
ramraid attach ${F[name]}"
		;;
	*)
		if health_is_too_small; then
			advice_blocks_
		elif [[ -n ${F[leg.ram.dev]-} ]]; then
			advice_device_
		elif [[ -n $ADVICE_WHY ]]; then
			# An attach would fail for the same reason.
			ADVICE_ACTION="what the reason says, then: ramraid attach ${F[name]}"
		fi
		;;
	esac
}

# Sets ADVICE_WHY and ADVICE_ACTION when RAM=zram can only be used from the next start on.
advice_blocks_() {
	ADVICE_WHY="zram has blocks of 4096 bytes, and those of the array have ${F[array.block]}"
	ADVICE_ACTION="ramraid check ${F[name]}"
	[[ ${F[conf.block]} != 4096 ]] || {
		ADVICE_WHY+=', until its next start (BLOCK=4096)'
		ADVICE_ACTION="ramraid stop ${F[name]}; ramraid start ${F[name]}; or a reboot"
	}
}

# Sets ADVICE_WHY and ADVICE_ACTION: why the device that is to be the RAM leg is not in the array.
advice_device_() {
	local ACTION='' WHY=''
	[[ $ADVICE_BLIND == no && ${F[leg.ram.sb]} != unreadable ]] || return 0
	F[retry]=yes
	action_no_ram
	F[retry]=''
	[[ $ACTION == 'done' ]] || return 0
	ADVICE_WHY=$WHY ADVICE_ACTION='what the reason says'
}

advice_degraded_() {
	local i from='the disks'
	[[ ${F[ram.state]} != in_sync ]] || from=memory
	ADVICE_IMPACT="reads come from $from, and every write is on $good of ${F[members]} disks"
	[[ -z ${F[ram.lacks]} ]] ||
		ADVICE_IMPACT='md could not write some blocks of the RAM leg; the disks have them' \
			ADVICE_ACTION="ramraid check ${F[name]}"
	# Somebody has added this disk by hand, perhaps in place of the missing one.
	[[ -z ${F[array.strangers]} ]] || {
		ADVICE_ACTION="ramraid check ${F[name]} (the array has a disk that no MEMBER names)"
		return
	}
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -z ${F[leg.$i.node]} ]] || continue
		ADVICE_ACTION="bring the missing disk leg back (${F[leg.$i.dev]})"
		if [[ ${F[conf.hotplug]-no} == yes ]]; then
			ADVICE_ACTION+='; ramraid then puts it back'
		else
			ADVICE_ACTION+=", then: ramraid attach ${F[name]}"
		fi
		# Only the missing disk itself can say whether it was the one that was given up.
		[[ -z ${F[witness.given]} ]] ||
			ADVICE_ACTION+=" (unless a start without it has given it up: once it is \
back, ramraid check ${F[name]} says so, and what to do)"
		((good == 0)) ||
			ADVICE_ACTION+="; if it is broken: \
ramraid replace ${F[name]} ${F[leg.$i.dev]} NEW"
		return
	done
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} == in_sync ]] || advice_lost_leg "$i"
		[[ ${F[leg.$i.lacks]-} != yes ]] ||
			ADVICE_IMPACT="md could not write some blocks of ${F[leg.$i.dev]}" \
				ADVICE_ACTION="ramraid check ${F[name]}"
	done
}

# Sets ADVICE_ACTION for a disk leg that is there and not in sync.
advice_lost_leg() { # I
	local dev=${F[leg.$1.dev]} LEG again="ramraid attach ${F[name]}"
	local new="; or, if it is broken: ramraid replace ${F[name]} $dev NEW" \
		blank="mdadm --zero-superblock $dev; ramraid apply ${F[name]}"
	leg_classify "$1"
	[[ $ADVICE_BLIND == no || $LEG == @(recovering|faulty|silent|used) ]] || LEG=unseen
	! not_ours "$1" "$LEG" || LEG=''
	case $LEG in
	'') ADVICE_ACTION="$dev $NOT_OURS. ${NOT_OURS_DO^}" ;;
	recovering) ADVICE_ACTION="nothing; to wait until it is whole: ramraid wait ${F[name]}" ;;
	silent)
		ADVICE_ACTION="$dev does not answer; see what it waits for (journalctl -k), \
and when it answers: $again"
		;;
	faulty)
		ADVICE_ACTION="see what is wrong with $dev (journalctl -k; smartctl -a), then: \
$again$new"
		;;
	used)
		ADVICE_ACTION="$dev is in use by ${F[leg.$1.holder]:-something else}; see: \
lsblk $dev"
		;;
	unreadable)
		ADVICE_ACTION="$dev can't be read; see what is wrong with it (journalctl -k; \
smartctl -a), then: $again$new"
		;;
	returned | unseen | begun | removed | bouncing)
		advice_returned_leg_ "$1" "$dev" "$again" "$blank"
		;;
	ahead | holding) leg_kept_why "$1" && ADVICE_ACTION=$KEPT ;;
	copy)
		ADVICE_ACTION="$dev has the device UUID of $ORIGINAL, which is in the array: \
one of the two is a copy of the other. Take it out of the machine; or, if nothing on it is needed: \
$blank"
		;;
	blank) ADVICE_ACTION="$dev is blank; to build it in: ramraid apply ${F[name]}" ;;
	fresh)
		ADVICE_ACTION="the first rebuild of $dev was interrupted; to rebuild it: \
ramraid apply ${F[name]}"
		;;
	*)
		ADVICE_ACTION="$dev can't be put back as it is; if nothing on it is needed: $blank"
		[[ -z ${F[leg.$1.alien]} ]] ||
			ADVICE_ACTION="$dev may be a copy: ${F[leg.$1.moved]}. \
If you have moved it there yourself: rm /etc/ramraid/state/${F[name]}.hardware; $again"
		;;
	esac
}

# For a leg that hot-plug puts back, or would put back but for what has happened to it. Call
# leg_classify first.
advice_returned_leg_() { # I DEVICE ATTACH WIPE
	local dev=$2 again=$3 blank=$4 TODO
	case $LEG in
	returned | unseen)
		ADVICE_ACTION=$again
		[[ ${F[conf.hotplug]} != yes ]] ||
			ADVICE_ACTION+=', if ramraid does not put it back within a minute'
		[[ $LEG == unseen ]] || readd_slot_is_free || {
			readd_slot_todo
			ADVICE_ACTION="$dev is not in the array; $TODO"
		}
		;;
	begun)
		ADVICE_ACTION="$dev was lost while it was being put back; \
if nothing on it is needed: $blank"
		[[ ${F[conf.hotplug]} != yes ]] ||
			ADVICE_ACTION="nothing: ramraid rebuilds all of $dev; if that has not \
begun within a minute: $blank"
		;;
	removed)
		ADVICE_ACTION="$dev has been taken out by hand, and the next start puts it back; \
to put it back now: $again; to keep it out: delete its MEMBER line (ramraid config \
show ${F[name]}), then: ramraid apply ${F[name]}"
		readd_slot_is_free || {
			readd_slot_todo
			ADVICE_ACTION="$dev has been taken out by hand; $TODO"
		}
		;;
	bouncing)
		ADVICE_ACTION="$dev has come back ${F[leg.$1.returns]} times within an hour, so \
ramraid no longer puts it back. Check its cable and the disk (journalctl -k), then: $again"
		;;
	esac
}

advice_stopped_() {
	ADVICE_IMPACT='it does not run, so nothing on it can be mounted'
	ADVICE_ACTION="ramraid start ${F[name]}"
}

advice_half_assembled_() {
	ADVICE_IMPACT="something else has assembled some of its legs without starting it; nothing \
on it can be mounted"
	ADVICE_ACTION="ramraid start ${F[name]}"
}

advice_broken_() { ADVICE_IMPACT='every write fails'; }
