# Reports in words what has changed in a running array since the last report. Several programs look:
# the monitor whenever md reports a change, hot-plug whenever a disk comes or goes, and each program
# that has worked on the array. The first to see a change reports it, and the others find that it
# has been reported.
# shellcheck shell=bash
#
# /run/ramraid/NAME.told has a line "WORD WHAT" for each thing that is reported: "ram", "only" (is
# the RAM leg the only good copy: yes or no), and "leg DEVICE" for each disk leg.

need act/array-lock act/hotplug act/notify config/conf config/conf-where core/act core/lock core/log
need core/paths core/quantity core/text decide/health decide/leg decide/not-ours decide/readd
need notes/legs-seen notes/ram-out notes/refusal observe/facts observe/look observe/whose
need world/md-state world/ramdisk

declare -gA F # the facts: decide/facts.list

# seconds that one program may take to look and report; a disk that does not answer takes half of
# that
readonly TRANSITIONS_PATIENCE=60

# transitions_begin NAME: from here on changes are reported; the start has reported the rest. Called
# after facts_observe. Does nothing when reporting has begun already.
transitions_begin() { [[ -e $RUN/$1.told ]] || transitions_under_lock_ "$1" transitions_note_; }

# transitions_tell NAME: looks at the array, and reports what has changed. The first look of a run
# reports only what nobody may miss, because the start has reported the rest. While a worker is at
# work, states that it merely passes through are not reported, so a worker looks after it has
# released the array's lock.
transitions_tell() { transitions_under_lock_ "$1" transitions_look_; }

# transitions_end NAME: called by a program that has worked on the array: releases its lock, reports
# what has changed, and has hot-plug look at what has come meanwhile.
transitions_end() {
	exec {ARRAY_LOCK}>&-
	transitions_tell "$1"
	hotplug_trigger
}

# The look is within the lock: an older look, reported after a newer one, would say that everything
# is undone.
transitions_under_lock_() { # NAME COMMAND
	local lock code=0
	[[ -z $DRY_RUN ]] || return 0
	paths_run
	lock_take lock "$LOCKS/told.$1" --timeout "$TRANSITIONS_PATIENCE" || code=$?
	case $code in
	0)
		"$2" "$1"
		exec {lock}>&-
		;;
	2) log_warning "$1: $RUN can't be written, so what has changed can't be reported" ;;
	*)
		log_warning "$1: another ramraid takes more than $TRANSITIONS_PATIENCE s to look \
at it; what has changed is reported at the next look"
		;;
	esac
}

transitions_note_() { # NAME
	local -A old=() new=()
	transitions_words_ "$1" ''
	transitions_write_ "$1"
}

transitions_look_() { # NAME
	local i key busy='' word
	local -A old=() new=()
	look_again "$1"
	[[ ${F[array.state]} == active ]] || return 0
	! [[ -e $RUN/$1.told ]] || while read -r word key; do
		old[${key:-none}]=$word
	done <"$RUN/$1.told"
	array_lock_is_free "$1" || busy=yes
	transitions_words_ "$1" "$busy"
	[[ ${new[only]} == "${old[only]-no}" ]] || transitions_say_only_ "$1" "${new[only]}"
	# Otherwise this is the first look, or the file has another form.
	if [[ -n ${old[ram]-} ]]; then
		for ((i = 0; i < ${F[members]}; i++)); do
			key="leg ${F[leg.$i.dev]}"
			[[ ${new[$key]} == "${old[$key]-}" ]] ||
				transitions_say_leg_ "$1" "$i" "${new[$key]}"
		done
		[[ ${new[ram]} == "${old[ram]}" ]] || transitions_say_ram_ "$1" "${new[ram]}"
	fi
	transitions_write_ "$1"
}

# Sets the caller's new from the facts. While another program works on the array (yes), a word that
# may come from that work stays as it is in the caller's old.
transitions_words_() { # NAME yes|""
	local i LEG key
	legs_seen_look
	for ((i = 0; i < ${F[members]}; i++)); do
		key="leg ${F[leg.$i.dev]}"
		transitions_leg "$i"
		[[ -z $2 || $LEG == @(in_sync|recovering|faulty|missing) ]] ||
			LEG=${old[$key]:-$LEG}
		new[$key]=$LEG
	done
	ram_out_facts
	leg_ram
	[[ -z $2 || $LEG == @(in_sync|recovering) ]] || LEG=${old[ram]:-$LEG}
	new[ram]=$LEG new[only]=no
	! health_only_copy || new[only]=yes
	# It is not over while the disk legs lack something, while the ramdisk alone has what was
	# written last and is in no array, or while what runs was started from legs that are not to
	# be trusted.
	[[ ${old[only]-} != yes ]] ||
		{ health_disk_has_all && ! health_only_copy_beside &&
			[[ ${F[array.known]} != no ]]; } || new[only]=yes
	legs_seen_note_members
}

transitions_write_() { # NAME
	local key lines=()
	for key in "${!new[@]}"; do lines+=("${new[$key]} $key"); done
	if ! {
		act_put "$RUN/$1.told.new" "${lines[@]}" && mv -f "$RUN/$1.told.new" "$RUN/$1.told"
	}; then
		log_warning "$1: $RUN can't be written, so it will be reported again"
	fi
}

# transitions_leg I: sets LEG to one word on the state of a disk leg (leg_classify), or to occupied:
# there is no superblock on it, but something else.
transitions_leg() {
	leg_classify "$1"
	[[ $LEG == blank ]] || return 0
	whose_content "$1"
	[[ -z ${F[leg.$1.content]} ]] || LEG=occupied
}

transitions_say_only_() { # NAME yes|no
	if [[ $2 == yes ]]; then
		notify alert only-copy-in-ram '' "$1: THE RAM LEG IS THE ONLY GOOD COPY: \
no disk leg has all of it, so what is written from now on is lost by a power cut. \
$(transitions_remedy)"
	else
		notify notice only-copy-over '' "$1: the disk legs have all that the RAM leg has; \
it is no longer the only good copy"
	fi
}

transitions_say_ram_() { # NAME WORD
	case $2 in
	in_sync) notify notice ram-in-sync "/dev/${F[ram.node]}" "$1: the RAM leg is in sync" ;;
	recovering)
		notify notice ram-rebuilding "/dev/${F[ram.node]}" \
			"$1: the RAM leg is being rebuilt from the disks, as after every boot"
		;;
	detached)
		notify notice ram-detached '' \
			"$1: the RAM leg has been taken out; to put it back: ramraid attach $1"
		;;
	short)
		notify warning ram-given-up '' "$1: memory is short, \
so the RAM leg has been given up, and reads are as slow as the disks; \
it is rebuilt when there is room (MEMORY_FLOOR=${CONF[MEMORY_FLOOR]-0})"
		;;
	full)
		notify warning ram-full '' "$1: the RAM leg has been given up, and reads are as \
slow as the disks: ${F[ram.full]}. After giving it more memory (RAM_LIMIT), or choosing another \
kind of RAM: ramraid attach $1"
		;;
	none) notify notice ram-detached '' "$1: there is no RAM leg, as its configuration says" ;;
	lost)
		[[ ${old[only]-} != yes || ${F[disks.lack]-} != yes ]] ||
			notify alert data-lost '' "$1: the RAM leg has failed, and only it had the \
blocks that md could not write to the disk legs: these are LOST, and can't be read. To see which \
disks: ramraid check $1. Restore what was there from a backup"
		if [[ ${CONF[HOTPLUG]} == yes && -z ${F[kernel.flaw]} ]] &&
			ramdisk_may_try "$1" && ! hotplug_was_tried "$1"; then
			notify warning ram-lost '' "$1: the RAM leg has failed, \
and reads are as slow as the disks; it is rebuilt"
		else
			notify warning ram-lost '' "$1: the RAM leg has failed, \
and reads are as slow as the disks; to rebuild it: ramraid attach $1"
		fi
		;;
	esac
}

transitions_say_blank_() { # NAME I
	local no dev=${F[leg.$2.dev]} auto=${CONF[HOTPLUG]} why='HOTPLUG=no, so'
	no=$(md_state_leg_why_not "${F[array.md]}" "${F[leg.$2.node]}" | paste -sd ' ') ||
		no=$TEXT_UNKNOWN
	[[ -n $no ]] && notify warning disk-refused "$dev" \
		"$1: the disk at $dev is not added: $no" && return
	[[ -n ${F[leg.$2.alien]-} ]] &&
		notify warning disk-blank "$dev" "$1: there is a blank disk at $dev; it is not \
added automatically, since it may be somebody else's: ${F[leg.$2.moved]}. To add it: ramraid apply \
--force $1" && return
	[[ $auto == yes && ${CONF[AUTO_REPLACE]} == yes ]] &&
		notify notice disk-blank "$dev" "$1: there is a blank disk at $dev" && return
	[[ $auto != yes ]] || why='AUTO_REPLACE=no, so'
	notify warning disk-blank "$dev" "$1: there is a blank disk at $dev; $why it is not added. \
To add it: ramraid apply $1"
}

transitions_say_leg_() { # NAME I WORD
	local dev=${F[leg.$2.dev]} auto=${CONF[HOTPLUG]} back="type: ramraid attach $1"
	local leg="$1: disk leg $dev" whole
	transitions_whole_ "$1" "$dev"
	whose_leg "$2"
	not_ours "$2" "$3" && notify warning disk-refused "$dev" \
		"$1: the disk at $dev $NOT_OURS. ${NOT_OURS_DO^}" && return
	case $3 in
	in_sync) notify notice disk-in-sync "$dev" "$leg is in sync" ;;
	recovering) notify notice disk-rebuilding "$dev" "$leg is being rebuilt" ;;
	faulty)
		notify warning disk-failed "$dev" "$leg: md has given it up; \
the array goes on without it. See the kernel's messages (journalctl -k); when it is good again: \
ramraid attach $1"
		;;
	missing)
		[[ $auto != yes ]] || back='it is put back by itself'
		notify warning disk-lost "$dev" "$leg is gone: there is no such disk any more; \
the array goes on without it. When it is back, $back; if it is broken: ramraid replace $1 $dev NEW"
		;;
	returned)
		[[ $auto == yes ]] && notify notice disk-returned "$dev" "$leg is back" && return
		notify warning disk-returned "$dev" \
			"$leg is back; to put it back into the array: ramraid attach $1"
		;;
	removed)
		notify notice disk-removed "$dev" \
			"$leg has been taken out by hand; the next start puts it back. \
To put it back now: ramraid attach $1; to keep it out: delete its MEMBER line \
($(conf_where "$1" MEMBER "$dev")), then: ramraid apply $1"
		;;
	bouncing)
		notify warning disk-returned "$dev" "$leg has come back ${F[leg.$2.returns]} times \
within an hour, so ramraid no longer puts it back. Check its cable and the disk (journalctl -k), \
then: ramraid attach $1"
		;;
	begun)
		[[ $auto == yes ]] &&
			notify notice disk-returned "$dev" "$leg is back; it was lost while being \
put back, so all of it is rebuilt" && return
		notify warning disk-returned "$dev" \
			"$leg is back; it was lost while being put back; $whole"
		;;
	blank) transitions_say_blank_ "$1" "$2" ;;
	*) transitions_say_refused_ "$1" "$2" "$3" ;;
	esac
}

# Sets the caller's whole to what to type to have the disk rebuilt as a whole.
transitions_whole_() { # NAME DEVICE
	whole="to rebuild all of it: mdadm --zero-superblock $2; ramraid apply $1"
}

# Reports a disk that is there and is not taken.
transitions_say_refused_() { # NAME I WORD
	local dev=${F[leg.$2.dev]} whole text
	local leg="$1: disk leg $dev" disk="$1: the disk at $dev"
	transitions_whole_ "$1" "$dev"
	case $3 in
	used) text="$disk is in use by something else" ;;
	silent)
		text="$leg is there, but does not answer; see what it waits for (journalctl -k), \
and when it answers: ramraid attach $1"
		;;
	unreadable)
		text="$leg is there, but can't be read; see what is wrong with it (journalctl -k; \
smartctl -a), then: ramraid attach $1; or, if it is broken: ramraid replace $1 $dev NEW"
		;;
	damaged)
		text="$leg is there, but its superblock is ${F[leg.$2.sb]}; \
if it is the right disk, and nothing on it is needed, $whole"
		;;
	copy)
		readd_is_copy "$2"
		text="$disk has the device UUID of $ORIGINAL, which is in the array: \
one of the two is a copy of the other, and it is left alone. \
Take it out of the machine; or, if nothing on it is needed, $whole"
		;;
	given)
		text="$leg is there, but has been given up by a start without it. \
If nothing on it is needed, $whole"
		;;
	fresh)
		text="$leg is there, but was never in sync: its first rebuild was interrupted; to \
rebuild it: ramraid apply $1"
		;;
	ahead | holding) leg_kept_why "$2" && text="$1: $KEPT" ;;
	separate)
		text="$leg is back, but was used without the others, or is too old: \
it is not put back. If nothing on it is needed, $whole"
		[[ -z ${F[leg.$2.alien]-} ]] ||
			text="$1: the disk at $dev may be a copy: ${F[leg.$2.moved]}; \
it is not put back. If you have moved it there yourself: rm $STATE/$1.hardware; ramraid attach $1"
		;;
	*) return 0 ;;
	esac
	notify warning disk-refused "$dev" "$text"
}

# transitions_of_start NAME CODE: notifies the administrator when a start has not ended as it
# should. The journal has that already.
transitions_of_start() {
	local LOST
	if (($2 == EX_REFUSED)); then
		refusal_is_reported "$1" "$WHY" || {
			notify_others warning start-refused '' "$1: not started: $WHY"
			refusal_report "$1" "$WHY" ||
				log_notice "$1: $RUN can't be written, so it will be reported again"
		}
	elif (($2 != 0)); then
		notify_others warning start-failed '' "$1: ${GATE_WHY:-it could not be started}"
	else
		health_lost
		[[ -z $LOST ]] ||
			notify_others warning start-degraded "${LOST##* }" \
				"$1: started, but not all disk legs are in sync:$LOST"
		[[ ${F[ram.state]} == in_sync || ${F[conf.ram]} == none ]] ||
			notify_others warning start-without-ram '' "$1: runs on its disk legs \
only, and reads are as slow as the disks: $WHY"
	fi
}

# transitions_remedy: called while the RAM leg is the only good copy: prints, for the console, what
# would change that. Once md has stopped writing, no disk can be rebuilt from it.
transitions_remedy() {
	if [[ ${F[array.state]} == broken && -n ${F[rescue.why_not]} ]]; then
		printf '%s\n' "md has stopped writing, so no disk can take what it has, and a \
shutdown can't save it (${F[rescue.why_not]}): copy what is on /dev/${F[array.md]} elsewhere; it \
can still be read"
	elif [[ ${F[array.state]} == broken ]]; then
		printf 'md has stopped writing, so no disk can take what it has; a shutdown %s\n' \
			'saves it to a file (RESCUE in ramraid.conf(5))'
	elif [[ ${F[array.sync]} == recover ]]; then
		printf 'A disk leg is being rebuilt from it: %s\n' \
			"$(quantity_show_progress "${F[array.done]}" "${F[array.total]}" \
				"${F[array.rate]}")"
	elif health_disk_in_sync; then
		printf 'md could not write some blocks of the disk legs; see: ramraid check %s\n' \
			"${F[name]}"
	else
		printf 'Bring a disk leg back (%s)\n' "${F[leg.0.dev]}${F[leg.1.dev]:+ or another}"
	fi
}
