# ramraid stop: leaves superblocks behind that tell the truth, so that the next start, by us or by a
# rescue system, is immediate.
# shellcheck shell=bash

need act/array-lock act/array-users act/copy act/detach-ram act/whole-since act/witness-update
need config/conf-need core/act core/cli core/clock core/lock core/log core/paths core/text
need decide/health notes/contents notes/refusal observe/before-look observe/facts world/disk
need world/md world/openers world/ramdisk world/systemd

declare -gA F # the facts: decide/facts.list

readonly STOP_USAGE='usage: ramraid stop [--dry-run] NAME

Take the RAM leg out of the array while a disk leg is in sync, stop the array, and free the memory
of the RAM leg. systemd first unmounts what is mounted from the array, if systemd knows that it
depends on the array. If something else uses the array, ramraid leaves it as it is and names the
users.
  -n, --dry-run  print every command, change nothing'

cmd_stop() {
	cli_parse "$STOP_USAGE" 'dry-run' "$@"
	cli_one_name "$STOP_USAGE"
	[[ ! -e $RUN/$NAME.released ]] || stop_released "$NAME"
	conf_need_started "$NAME"
	cli_root
	# otherwise hot-plug would start it again when a disk comes
	[[ -n $DRY_RUN ]] || refusal_forget "$NAME"
	if [[ -n $DRY_RUN ]] || systemd_is_unit || ! systemd_is_running; then
		stop_here "$NAME"
	else
		stop_by_systemd "$NAME"
	fi
}

# "ramraid release" ends our part in an array while it is in use, and then has systemd stop our
# unit. This stop must not touch the array. "release" holds the lock.
stop_released() { # NAME
	systemd_is_unit ||
		die "$1: a release of it has begun; to finish that: ramraid release $1" \
			"$EX_REFUSED"
	log_notice "$1: released; the array stays as it is"
	exit "$EX_OK"
}

stop_by_systemd() { # NAME
	local users code=$EX_FAILED again='systemctl start local-fs.target mounts it again'
	if systemd_unit_is_up "$1"; then
		systemd_stop "$1" ||
			log_error "$1: systemd could not stop it; see: \
systemctl status $(systemd_unit "$1")"
	else
		stop_here "$1" # started by something else, or its unit has failed
		systemd_reset "$1"
	fi
	before_look_configured "$1"
	facts_observe
	! detach_ram_is_beside || {
		detach_ram_keeps_beside "$1"
		systemd_reset "$1"
		return "$EX_REFUSED"
	}
	[[ ${F[array.state]} != absent ]] || return 0
	# The unit releases the RAM leg at a shutdown, so a running array must not be without its
	# unit.
	users=$(array_users_or_md)
	if [[ -n $users ]]; then
		log_error "$1: is still running, in use by: $users. \
What systemd had mounted from it is unmounted ($again)"
	elif health_only_copy; then
		detach_ram_keeps "$1"
		log_error "$1: what systemd had mounted from it is unmounted ($again)"
		code=$EX_REFUSED
	else
		log_error "$1: is still running, though nobody uses it any more; type again: \
ramraid stop $1"
	fi
	systemd_reset "$1"
	systemd_start "$1"
	return "$code"
}

stop_here() { # NAME
	[[ -n $DRY_RUN ]] || stop_end_start_ TERM
	stop_lock_ "$1"
	stop_array "$1"
}

# stop_array NAME: stops the array, for a caller that holds its lock.
stop_array() {
	local ram md going='' code=0
	conf_need_started "$1" # who had the lock may have changed the disks
	before_look_configured "$1"
	facts_observe
	# Something else has gathered the legs and not started them, so nobody has written to the
	# array. If md does not stop it, detach_ram says what that means.
	if [[ ${F[array.state]} == inactive ]] && health_only_copy_beside &&
		md_stop "${F[array.md]}"; then facts_observe; fi
	if [[ ${F[array.state]} == absent ]]; then
		stop_absent_ "$1" || return
		[[ ${F[array.state]} != absent ]] || return 0
	fi
	[[ ${F[array.state]} != active ]] || contents_remember "$1" "${F[array.md]}" ||
		log_warning "$1: could not record what is on it"
	stop_check_users "$1"
	ram=${F[ram.state]} md=${F[array.md]}
	! stop_going_down || going='going-down'
	detach_ram "$1" "$going" || code=$?
	if ((code != 0)); then
		# A shutdown may have begun since we asked: it saves what a stop refuses.
		{ [[ -z $going ]] && stop_going_down; } || stop_refused_ "$code" "$1"
		stop_array "$1"
		return
	fi
	facts_observe
	[[ ${F[array.state]} == absent ]] || witness_update_or_go_on
	whole_since_update ended
	systemd_stop_monitor "$md" ||
		log_notice "$1: its monitor could not be stopped; it has nothing left to watch"
	# At a shutdown, other programs stop arrays as well, such as lvm2's blkdeactivate.
	if [[ ${F[array.state]} == absent ]]; then
		[[ -n $DETACH_RAM_RESCUED ]] || stop_absent_ "$1"
		[[ ${F[array.state]} == absent ]] || {
			stop_array "$1"
			return
		}
	else
		md_stop "$md" || stop_came_in_between_ "$1" "$ram"
	fi
	[[ -n $DRY_RUN ]] || rm -f "$RUN/$1.watched"
	[[ -z $DETACH_RAM_RESCUED ]] || ramdisk_drop "$1"
}

# stop_absent_ NAME: does what is left to do when the array does not run. If the ramdisk is the last
# copy, the array runs afterwards, from the ramdisk alone, and the stop goes on with it as with any
# array whose RAM leg is the only good copy. Otherwise the ramdisk would end with the machine.
stop_absent_() {
	[[ -n $DRY_RUN ]] || copy_stop "$1" ||
		die "$1: $COPY_WHY; its ramdisk stays" "$EX_TRY_AGAIN"
	LAST_COPY_UNSEEN=''
	witness_update_foreign_start
	health_only_copy_beside || {
		[[ -z $LAST_COPY_UNSEEN ]] ||
			die "$1: its ramdisk ${F[ram.node]} can't be looked at just now, and may \
have what no disk has; it stays. Try again" "$EX_TRY_AGAIN"
		ramdisk_drop "$1"
		return
	}
	[[ -z $DRY_RUN ]] || stop_last_copy_stays_ "$1"
	detach_ram_revive "$1" || stop_last_copy_stays_ "$1"
}

# stop_last_copy_stays_ NAME: says that the only good copy is kept, and ends the program with 4.
stop_last_copy_stays_() {
	detach_ram_keeps_beside "$1"
	[[ -n $DRY_RUN ]] || stop_refused_ "$EX_REFUSED" "$1"
	exit "$EX_REFUSED"
}

# stop_end_start_ SIGNAL: sends SIGNAL to the program that our unit has started and that still runs.
# systemd says which one that is (MAINPID, systemd.exec(5)); in anybody else's environment, MAINPID
# could be any process. A process of that number that is not in our unit came later.
stop_end_start_() {
	local pid=${MAINPID-} ours=() theirs=()
	systemd_is_unit || return 0
	text_number_or pid 0
	((pid > 1 && pid != $$)) || return 0
	{
		mapfile -t theirs <"$PROC/$pid/cgroup" && mapfile -t ours <"$PROC/self/cgroup"
	} 2>/dev/null || :
	[[ ${#theirs[@]} -gt 0 && ${theirs[*]} == "${ours[*]}" ]] || return 0
	kill -s "$1" "$pid" 2>/dev/null || : # it has just ended by itself
}

readonly STOP_PATIENCE=60   # seconds for others to release the array
readonly STOP_LOOK=5        # seconds between two looks at them
readonly STOP_LAST_WORDS=30 # seconds that one has to end in good order
# seconds after which a killed process takes no further step, whatever it waits for in the kernel
readonly STOP_AFTER_KILL=10

# stop_lock_ NAME: takes the array's lock. Whoever is at work on the array has STOP_PATIENCE; after
# that, a person has to try again. A machine that goes down has no other time, so it goes on.
stop_lock_() {
	local NOW begin told killed='' HOLDER HOLDER_WORK code
	clock
	begin=$NOW told=$NOW
	while :; do
		code=0
		array_lock_try "$1" "$STOP_LOOK" || code=$?
		((code != 0)) || return 0
		clock
		if ((code == 2)) && stop_going_down; then
			log_warning "$1: going down, and $LOCKS/work.$1 can't be opened: going on \
without a lock"
			return 0
		elif ((code == 2)); then
			stop_tries_lock_ "$1"
			continue
		elif ! stop_going_down; then
			((NOW - begin < STOP_PATIENCE)) || stop_tries_lock_ "$1"
			continue
		fi
		lock_holder "$LOCKS/work.$1"
		systemd_go_on
		systemd_status "going down; waiting for $(stop_who_) to release the array"
		((NOW - told < DETACH_RAM_TELL)) || {
			log_alert "$1: going down, and $(stop_who_) is still at work on it: \
waiting for that. Do not cut the power"
			told=$NOW
		}
		stop_end_others_ "$1" $((NOW - begin)) || return 0
	done
}

# Says why the lock can't be had, and ends the program; returns when it can be had after all. The
# subshell gives it back at once, so that the caller takes it as at any other time.
stop_tries_lock_() { # NAME
	local code=0
	(array_lock "$1" 0) || code=$?
	((code == 0)) || stop_refused_ "$code" "$1"
}

# Prints who holds the lock, in words, from the caller's HOLDER.
stop_who_() {
	if [[ -n $HOLDER ]]; then
		printf 'ramraid %s (PID %s)\n' "$HOLDER_WORK" "$HOLDER"
	else
		printf 'a program that another ramraid has left behind\n'
	fi
}

# stop_end_others_ NAME SECONDS: does what is due after that many seconds: it asks the others to
# end, then kills them. A killed process takes no further step, even if the kernel has not ended it
# yet; and systemd has already ended hot-plug's worker and a start, or ends them now. So the stop
# then goes on, with a new lock that replaces the old one; whoever comes later finds it taken.
# Returns 1 then.
stop_end_others_() {
	local signal='' due=$((STOP_PATIENCE + STOP_LAST_WORDS))
	(($2 >= STOP_PATIENCE)) || return 0
	if [[ -z $HOLDER && -z ${MAINPID-} ]]; then
		due=$STOP_PATIENCE
	elif (($2 >= due)); then
		signal=KILL
	else
		signal=TERM
	fi
	if [[ -n $signal ]]; then
		# it has just ended by itself
		[[ -z $HOLDER ]] || kill -s "$signal" "$HOLDER" 2>/dev/null || :
		stop_end_start_ "$signal"
	fi
	[[ $signal != KILL ]] || : "${killed:=$2}"
	(($2 >= ${killed:-$due} + STOP_AFTER_KILL)) || return 0
	log_alert "$1: going down, and $(stop_who_) does not release the array: going on anyway"
	rm -f "$LOCKS/work.$1"
	! array_lock_try "$1" 0
}

# stop_came_in_between_ NAME RAM-STATE: for when nobody had the array open as the RAM leg, which was
# in RAM-STATE, left it, and md still does not stop it. A start makes a new RAM leg. When the
# machine goes down, the array is left to systemd-shutdown.
stop_came_in_between_() {
	local text
	text=$(array_users)
	text="${F[array.md]} could not be stopped; it is in use by: ${text:-something unknown}"
	if stop_going_down; then
		log_warning "$1: $text. Leaving it to systemd-shutdown"
		[[ -z $DETACH_RAM_RESCUED ]] ||
			log_alert "$1: what is written to it from now on is lost"
		exit "$EX_OK"
	fi
	[[ $2 != @(in_sync|recovering) ]] ||
		text+=", since a moment ago. The RAM leg is out already, and the next start \
rebuilds it"
	log_error "$1: $text. Unmount or stop that, then: ramraid stop $1; or keep the array: \
ramraid start $1"
	stop_refused_ "$EX_FAILED" "$1"
}

# stop_going_down: returns 0 if the machine is going down. If systemd stops the unit and does not
# say whether it is, this assumes that it is: to do too much costs time, to do too little could cost
# the only copy. For a stop that a person typed, it does not assume that.
stop_going_down() {
	local code=0
	systemd_is_running || return 1
	systemd_is_stopping || code=$?
	[[ $code == 0 ]] || { ((code != 1)) && systemd_is_unit; }
}

# systemd regards a unit whose stop has failed as failed, and would not stop it again at shutdown.
# So the unit is started again, which changes nothing.
stop_refused_() { # CODE NAME
	if systemd_is_unit && ! stop_going_down; then systemd_start "$2"; fi
	exit "$1"
}

# This comes before anything is changed: an array in use stays whole. At a shutdown the RAM leg goes
# all the same, because its contents end anyway and the superblocks had better say so; systemd stops
# the array itself after the last file system is gone.
stop_check_users() { # NAME
	local users
	users=$(stop_in_use_ "$1") || users=$TEXT_SOMEBODY
	[[ -n $users ]] || return 0
	if stop_going_down; then
		[[ -z $DRY_RUN ]] || return 0
		{ ! health_only_copy && ! detach_ram_is_beside; } || stop_wait_for_users_ "$1" ||
			return 0
		log_warning "$1: still in use by $users; taking the RAM leg out and leaving the \
array to systemd-shutdown"
		detach_ram "$1" going-down
		whole_since_look
		exit "$EX_OK"
	fi
	if [[ -n $DRY_RUN ]] && systemd_is_running && systemd_unit_is_up "$1"; then
		log_notice "$1: in use by $users. What systemd knows to be on it is unmounted \
first; if it is in use after that, it stays as it is"
		return
	fi
	log_error "$1: is in use by $users. Unmount or stop that, then: ramraid stop $1"
	stop_refused_ "$EX_FAILED" "$1"
}

# An image of an array that is being written to is torn. Mounts that systemd does not know to be on
# the array are unmounted while this runs, so it waits for them. Volumes that nobody uses write
# nothing, and end with the machine. Returns 1 when nobody uses the array any more.
stop_wait_for_users_() { # NAME
	local NOW end users
	clock
	end=$((NOW + 90))
	while ((NOW < end)); do
		users=$(array_users_or_md) || users=$TEXT_SOMEBODY
		[[ -n $users ]] || return 1
		! disk_is_idle "${F[array.md]}" || [[ -n $(openers_of "${F[array.md]}") ]] ||
			return 0
		systemd_status "the RAM leg is the only good copy; \
waiting for those who use the array: $users"
		sleep 1
		clock
	done
	log_alert "$1: still in use by $users: what they write from now on is lost"
}

# stop_in_use_ NAME: prints the users before anything is changed. An array that has lost its RAM leg
# and then can't be stopped is worse off than before, so md is asked first whether anybody has it
# open; at a shutdown the RAM leg goes anyhow, unless it is the only good copy.
stop_in_use_() {
	local users
	users=$(disk_users "${F[array.md]}") || users=$TEXT_SOMEBODY
	if [[ -n $users ]]; then
		printf '%s\n' "${users//$'\n'/, }"
	elif [[ -n $DRY_RUN ]] || { stop_going_down && ! health_only_copy; }; then
		array_users
	elif stop_going_down; then
		array_users_or_md
	elif ! md_is_unused "${F[array.md]}"; then
		array_users_or_md open
	fi
}
