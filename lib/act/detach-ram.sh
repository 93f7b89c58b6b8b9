# How the RAM leg leaves safely, at a shutdown, by "stop" and by "detach": only while a disk leg has
# all data.
# shellcheck shell=bash

need act/block-size act/copy act/detach-ram-sync act/loop act/loop-act act/rescue act/rescue-beside
need act/rescue-write act/transitions act/witness-update config/conf core/act core/clock core/log
need core/paths core/quantity core/text decide/action decide/health decide/ram-device
need notes/legs-seen notes/watched observe/before-look observe/facts observe/rescue-place world/md
need world/md-format world/ramdisk world/superblock world/systemd

declare -gA F # the facts: decide/facts.list

# seconds between two looks, and between two messages on the console
readonly DETACH_RAM_LOOK=1 DETACH_RAM_TELL=20
readonly DETACH_RAM_ASK=60 # seconds after that in which it is asked whether there can be an image
# seconds for a disk to come back, at most, before the RAM leg is saved to a file
readonly DETACH_RAM_PATIENCE=300
# seconds after which an image that failed is tried again, or earlier if more KiB than that are free
readonly DETACH_RAM_AGAIN=600 DETACH_RAM_ROOM=1024
readonly DETACH_RAM_TRIES=2 # how often a disk that md gives up again is put back

# detach_ram NAME [going-down]: takes the RAM leg out of the running array and gives its memory
# back. If it is the only good copy, first does all it can to get the data onto a disk; when the
# machine goes down, as a last resort, into a rescue image: then the RAM leg stays in the array, and
# DETACH_RAM_RESCUED=yes. Returns 4, and leaves everything as it is, when that can't end well.
detach_ram() {
	local stuck=''
	DETACH_RAM_RESCUED=''
	[[ -n $DRY_RUN ]] || block_size_tidy "$1"
	[[ -n $DRY_RUN ]] || copy_stop "$1" || stuck=$COPY_WHY
	facts_observe
	! detach_ram_is_beside || detach_ram_beside_ "$1" "${2-}" || return
	detach_ram_flush_write_behind_ "$1" || return
	detach_ram_resync_or_rescue_ "$1" "${2-}" || return
	[[ -z $DETACH_RAM_RESCUED ]] || return 0
	case ${F[ram.state]} in
	in_sync | recovering | faulty)
		# Before md_drop, so that a power cut right after it doesn't find "only the RAM leg"
		# in the record.
		[[ -n $DRY_RUN ]] || witness_update_or_go_on
		md_drop "${F[array.md]}" "${F[ram.node]}" || {
			facts_observe
			# The last disk leg has failed meanwhile, so this starts over.
			[[ -n $DRY_RUN ]] || ! health_only_copy || {
				detach_ram "$1" "${2-}"
				return
			}
			log_error "$1: the RAM leg ${F[ram.node]} could not be \
taken out of ${F[array.md]}"
			return 1
		}
		;;
	esac
	# rapiddisk would delete the device even while the copy writes to it.
	[[ -z $stuck ]] || {
		log_warning "$1: the ramdisk ${F[ram.node]} stays, because $stuck"
		return 0
	}
	ramdisk_drop "$1" || {
		log_error "$1: the ramdisk ${F[ram.node]} is still in use; \
its memory is not given back"
		return 1
	}
}

# detach_ram_is_beside: is the only good copy in a ramdisk that is not in the array that runs? Not
# in a run that a start of ramraid has judged: there the record just could not be written since.
detach_ram_is_beside() {
	health_only_copy_beside &&
		{ [[ ${F[array.state]} != active ]] || ! watched_is "${F[array.md]}"; }
}

# detach_ram_beside_ NAME going-down|"": something else has started the array, or gathered its
# disks, without the ramdisk that is the only good copy. A person has to undo that, unless the
# machine goes down: then this starts the array from the ramdisk. Returns 4 when it does not.
detach_ram_beside_() {
	[[ ${2-} == going-down && -z $DRY_RUN ]] || {
		detach_ram_keeps_beside "$1"
		return "$EX_REFUSED"
	}
	if [[ ${F[array.state]} != absent ]]; then
		log_alert "$1: ${F[array.md]} runs without the ramdisk ${F[ram.node]}, which has \
what was written last: stopping it"
		md_stop "${F[array.md]}" || {
			detach_ram_keeps_beside "$1"
			return "$EX_REFUSED"
		}
		facts_observe
	fi
	detach_ram_revive "$1" || return "$EX_REFUSED"
}

# detach_ram_keeps_beside NAME: says why the ramdisk stays, and the way out.
detach_ram_keeps_beside() {
	local stop=''
	[[ -z ${F[array.md]} ]] || stop="mdadm --stop /dev/${F[array.md]} && "
	log_alert "$1: the ramdisk ${F[ram.node]} stays: no disk has what was written last. \
Do not cut the power; to go on with it: ${stop}mdadm --assemble --run /dev/md/$1 \
/dev/${F[ram.node]} && ramraid start $1"
}

# detach_ram_revive NAME: something else has stopped the array while the RAM leg was the only good
# copy, and the ramdisk is still there. Starts the array from it alone, so that its data can be put
# on a disk or saved. Returns 1, with an alert, when md does not start it.
detach_ram_revive() {
	local node=${F[ram.node]} why
	log_alert "$1: something else has stopped it, and no disk has what was written last: \
starting it from the ramdisk $node. Do not cut the power"
	md_modules "${F[conf.layout]}" || : # mdadm says what is missing
	# If mdadm says nothing about the format, this tries all the same: there is nothing to lose.
	why=$(md_format_why "$1" "${F[uuid]}" "$node") || why=''
	[[ -z $why ]] || log_alert "$1: $why"
	if [[ -z $why ]] && md_assemble "$1" "$node" && facts_observe; then
		[[ ${F[array.state]} != active ]] || return 0
	fi
	log_alert "$1: it could not be started from the ramdisk $node; \
try it by hand: mdadm --assemble --run /dev/md/$1 /dev/$node && ramraid start $1"
	return 1
}

# detach_ram_give_back NAME: call it after detach_ram, when a person wants the RAM leg out. A device
# then belongs to nobody, and has nothing left that md or a later start could mistake for a leg. If
# it may hold what the disks lack, it is left alone.
detach_ram_give_back() {
	local DEVICE
	[[ -n ${F[leg.ram.dev]-} && -n ${F[ram.node]} ]] || return 0
	if [[ -z $DRY_RUN ]]; then
		facts_observe
		ram_device
		[[ $DEVICE == @(back|old) ]] || return 0
	fi
	md_wipe "${F[ram.node]}" ||
		log_warning "$1: the superblock of ${F[leg.ram.dev]} could not be removed; if \
nothing on it is needed: mdadm --zero-superblock ${F[leg.ram.dev]}"
}

# With write-behind, the disks may lack writes that were acknowledged. Switches it off, and waits
# for the writes that are under way.
detach_ram_flush_write_behind_() { # NAME
	((${F[array.backlog]} > 0)) && [[ ${F[ram.state]} == in_sync ]] || return 0
	md_set_backlog "${F[array.md]}" 0 || return
	[[ -z $DRY_RUN ]] || return 0
	clock_until "$MD_BOUND" 0.2 md_is_quiet "${F[array.md]}" || {
		log_error "$1: write-behind is on and the array is never idle, so the disks may \
lack writes that only the RAM leg has: keeping it. Stop whatever writes to the array, then try \
again"
		return "$EX_REFUSED"
	}
}

# Waits until a disk leg has what the RAM leg has. Does for the disk legs what the loop of a start
# would do, and tries disks again that md has given up: there is nothing to lose by it.
detach_ram_resync_or_rescue_() { # NAME going-down|""
	local NOW begin told failures=0 tried=0 asked=0 room=0 patience idle=''
	local -A tries=() away=()
	health_only_copy || return 0
	detach_ram_begin_
	clock
	begin=$NOW told=$((NOW - DETACH_RAM_TELL))
	while health_only_copy; do
		clock
		detach_ram_tell_ "$1"
		F[waited]=$((NOW - begin))
		action_choose
		case $ACTION in
		wait-sync | wait-members)
			detach_ram_wait_ "$1" "${2-}" "$failures" || failures=$((failures + 1))
			[[ -z $DETACH_RAM_RESCUED ]] || return 0
			;;
		make-writable | set-backlog | write-mostly | remove-leg | remove-gone | readd | \
			add-leg)
			detach_ram_act_
			;;
		*)
			[[ ${2-} == going-down ]] || {
				detach_ram_keeps "$1"
				return "$EX_REFUSED"
			}
			! detach_ram_none_can_come_ || patience=0
			detach_ram_wait_for_disk_ "$1" $((patience - (NOW - begin))) "$failures" ||
				failures=$((failures + 1))
			[[ -z $DETACH_RAM_RESCUED ]] || return 0
			((failures == 0)) || ! detach_ram_all_there_ || return "$EX_REFUSED"
			;;
		esac
		[[ -z $DRY_RUN ]] || return 0
		sleep "$DETACH_RAM_LOOK"
		facts_observe
		# Something has stopped the array meanwhile. A ramdisk without an array would look
		# dispensable.
		if [[ ${F[array.state]} == absent && ${F[ram.state]} == attached ]]; then
			detach_ram_revive "$1" || return "$EX_REFUSED"
		elif detach_ram_is_beside; then
			detach_ram_beside_ "$1" "${2-}" || return
		fi
	done
}

# Sets what the decision depends on, and the caller's patience: how many seconds a disk may take to
# come back.
detach_ram_begin_() {
	before_look_times || F[conf.member_timeout]=30 # a typing error must not cost the data
	patience=$DETACH_RAM_PATIENCE
	[[ ${F[conf.member_timeout]} == infinity ]] || ((${F[conf.member_timeout]} > patience)) ||
		patience=${F[conf.member_timeout]}
	F[conf.member_timeout]=$patience
	F[retry]=yes
	# detach_ram_flush_write_behind_ has switched it off, and the configuration must not switch
	# it on again: the disks must have everything before the RAM leg goes.
	F[conf.write_behind]=0
}

# Prints an alert on the console every DETACH_RAM_TELL seconds; told is the caller's.
detach_ram_tell_() { # NAME
	((NOW - told >= DETACH_RAM_TELL)) || return 0
	rescue_place_look
	log_alert "$1: THE RAM LEG IS THE ONLY GOOD COPY. Do not cut the power. \
$(transitions_remedy)"
	told=$NOW
}

# Waits while md works or a disk may still come; idle is the caller's. If md would work too long for
# a shutdown, does as detach_ram_wait_for_disk_ does.
detach_ram_wait_() { # NAME going-down|"" FAILURES
	[[ $ACTION != wait-sync ]] || {
		loop_watch_sync idle
		detach_ram_sync_clear
	}
	systemd_go_on
	systemd_status "the RAM leg is the only good copy; \
$WHY ($(quantity_show_progress "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}"))"
	[[ $2 != going-down || $ACTION != wait-sync ]] || detach_ram_sync_is_in_time ||
		detach_ram_wait_for_disk_ "$1" 0 "$3"
}

detach_ram_act_() {
	local code=0
	loop_act || code=$?
	((code == 0)) || loop_act_failed "$code"
	[[ $ACTION != @(readd|add-leg) ]] ||
		detach_ram_count_ "$ACTION.${ARGUMENTS[0]}" "${F[leg.${ARGUMENTS[0]}.dev]}"
}

# detach_ram_all_there_: is every disk leg in the array, and in sync? Then no other disk can come
# that takes what only the RAM leg has.
detach_ram_all_there_() {
	local IN_SYNC
	health_count
	((IN_SYNC == F[members]))
}

# detach_ram_none_can_come_: is it in vain to wait for a disk? Where md has stopped writing, it
# rebuilds none any more.
detach_ram_none_can_come_() { [[ ${F[array.state]} == broken ]] || detach_ram_all_there_; }

# NAME
detach_ram_keeps() {
	log_error "$1: the RAM leg ${F[ram.node]} is the only good copy, and no disk leg can be \
rebuilt from it: keeping it. $(transitions_remedy)"
}

# A disk that can be read but not written is taken back by md again and again, so tries are counted.
detach_ram_count_() { # ACTION.I DISK
	tries[$1]=$((${tries[$1]-0} + 1))
	((tries[$1] < DETACH_RAM_TRIES)) || F["failed.$1"]="md has given up $2 again"
}

# A disk that was away and has come back gets new tries.
detach_ram_forgive_() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		if [[ -z ${F[leg.$i.node]} ]]; then
			unset -v "F[failed.readd.$i]" "F[failed.add-leg.$i]" \
				"F[failed.remove-leg.$i]" "tries[readd.$i]" "tries[add-leg.$i]"
			away[$i]=yes
		elif [[ -n ${away[$i]-} ]]; then
			unset -v "away[$i]" 'F[failed.rebuild]'
			idle=''
		fi
	done
}

# detach_ram_try_again_: is it time to try once more to save the RAM leg? The caller's tried says
# when the last image failed, room what was free then, and asked when somebody last looked.
detach_ram_try_again_() {
	((NOW - tried < DETACH_RAM_AGAIN)) || return 0
	((NOW - asked >= DETACH_RAM_ASK)) || return 1
	asked=$NOW
	(($(rescue_place_room "${CONF[RESCUE]}") > room + DETACH_RAM_ROOM))
}

# Saves the RAM leg to a file, and sets DETACH_RAM_RESCUED; does nothing while another array has the
# turn. Returns 1 when that has failed, BOUNDED_SILENT when the file system has stopped answering.
detach_ram_save_() { # NAME
	local code=0
	rescue_turn "${CONF[RESCUE]}" || {
		systemd_status "the RAM leg is the only good copy; waiting while another array is \
saved to ${CONF[RESCUE]}"
		return 0
	}
	log_alert "$1: no disk leg can be rebuilt from the RAM leg; saving it to ${CONF[RESCUE]}/$1"
	rescue_write "$1" "${F[uuid]}" "${F[array.md]}" \
		"$(superblock_says "${F[ram.node]}" events)" "${CONF[RESCUE]}" || code=$?
	rescue_turn_end
	((code != 0 && code != 2)) || ! rescue_beside_state_on "${F[array.md]}" || code=on-it
	case $code in
	on-it) rescue_beside_saved ;;
	0) log_alert "$1: saved. The disks lack it, so the next start refuses them until \
you type: ramraid restore $1" ;;
	2) log_alert "$1: saved to $RESCUE_FOLDER, but $STATE can't be written, \
so the next start may not know of it. Before anything uses the disks, which lack it, type: \
cp $RESCUE_FOLDER/$RESCUE_RECORD $STATE/$1.rescue && ramraid restore $1" ;;
	*) return "$code" ;;
	esac
	[[ -z $RESCUE_LOST ]] || log_alert "$1: $RESCUE_LOST"
	DETACH_RAM_RESCUED=yes
}

# detach_ram_wait_for_disk_ NAME SECONDS FAILURES: gives the disks SECONDS more to come back, then
# saves the RAM leg to a file. If that fails, returns 1; the caller then goes on waiting, as long as
# systemd lets it, and counts the failures: after the first, this tries again only now and then.
detach_ram_wait_for_disk_() {
	local why remedy='bring a disk leg back' code=0
	detach_ram_forgive_
	systemd_go_on
	if (($2 > 0)); then
		systemd_status \
			'the RAM leg is the only good copy; waiting for a disk leg to come back'
		return 0
	fi
	(($3 == 0)) || detach_ram_try_again_ || return 0
	why=$(rescue_why_not "${CONF[RESCUE]}" "${F[array.md]}") || code=$?
	((code == 0)) || {
		# The look has failed, perhaps only for a moment, for lack of memory or processes.
		# So it is repeated for DETACH_RAM_ASK seconds.
		(($2 <= -DETACH_RAM_ASK)) || return 0
		rescue_unknown "$code"
	}
	if [[ -z $why ]]; then
		detach_ram_save_ "$1" || code=$?
		((code != 0)) || return 0
		why='it does not fit, or could not be written'
		((code != BOUNDED_SILENT)) || why="${CONF[RESCUE]} does not answer any more"
	fi
	clock # an image takes long
	tried=$NOW asked=$NOW room=$(rescue_place_room "${CONF[RESCUE]}")
	if detach_ram_all_there_; then
		log_alert "$1: the RAM leg can't be saved to a file ($why). \
The blocks that md could not write to the disk legs are LOST when this machine goes down"
	else
		[[ ${F[array.state]} != broken ]] ||
			remedy="copy what is on /dev/${F[array.md]} elsewhere, since it can still \
be read"
		log_alert "$1: the RAM leg can't be saved to a file ($why). \
Everything written since the disks left is LOST when this machine goes down; $remedy"
	fi
	return 1
}
