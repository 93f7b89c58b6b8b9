# From the facts to one action: the pure ring. It reads no file, runs no command and asks no
# clock: all that it knows is in F.
# shellcheck shell=bash
#
# facts.list beside this file says what each fact is, and which file sets it. decide/safe-start.sh
# judges the disk legs before a start, and decide/readd.sh puts them back.
#
# action_choose sets ACTION, ARGUMENTS, WHY and OUTCOME; GIVING_UP, to yes when the start gives up
# the legs that it leaves out; and STRANGERS and STRANGERS_MADE (decide/strangers.sh). action_gate
# sets GATE and GATE_WHY.

need core/paths decide/below decide/choice decide/foreign-run decide/health decide/lacking-ram
need decide/leg decide/ram-device decide/readd decide/rescue-way decide/safe-start decide/unbuilt

declare -gA F # the facts; not emptied: this file may be loaded after a look

# action_choose [eventually]: decides what to do next; with "eventually", what it would be if the
# start no longer waited for missing disks. OUTCOME tells programs how it ended when ACTION is done:
# whole, short (a disk leg that should be in sync is not), or empty; WHY tells people.
#   assemble NODE…    start the array from exactly these disk legs
#   wait-members      a disk leg is missing, and there is still time
#   stop-inactive     something else left the array half assembled
#   refuse            it must not be started; WHY says why
#   make-writable     let md write, once the witness is written
#   set-backlog N     set write-behind as configured
#   write-mostly I    keep reads off disk leg I
#   readd I           put a returned disk leg back, by bitmap
#   wait-sync         md is resyncing or recovering
#   remove-leg I      take out a disk leg that md has given up, or does not rebuild
#   remove-gone NODE  take out a member whose device is gone
#   add-leg I         have md build a disk leg as a whole
#   drop-ram          take out a RAM leg that has failed, or that md does not rebuild
#   make-ram, add-ram
#   copy-ram          begin to fill the ramdisk from all disk legs
#   wait-copy         wait for that to finish
#   return-ram        put the device that is the RAM leg back, by bitmap
#   wipe-ram          erase the superblock that makes it a stale leg of ours
#   readd-ram         have md take the filled ramdisk back, by bitmap
#   done              nothing left to do
action_choose() {
	ACTION='' ARGUMENTS=() WHY='' GIVING_UP='' ACTION_EVENTUALLY=${1-}
	case ${F[array.state]} in
	active) action_running_ ;;
	broken) action_broken_ ;;
	inactive) action_inactive_ ;;
	*) safe_start ;;
	esac
}

# When the last good leg fails, md keeps it in the array and stops writing (raid1_error() in linux
# drivers/md/raid1.c).
action_broken_() {
	if [[ ${F[ram.state]} == in_sync ]] && ! health_disk_in_sync; then
		choice_is refuse "md has stopped writing to ${F[array.md]}: \
the RAM leg failed when it was the only good copy. Do not stop it: $(rescue_way_broken)"
	else
		choice_is refuse "md has stopped writing to ${F[array.md]}: its last good leg \
failed. Stop it (mdadm --stop /dev/${F[array.md]}), check the disks, then: ramraid start ${F[name]}"
	fi
}

# Something else (udev without our claim, in an initramfs that does not know it) has assembled legs
# without starting the array.
action_inactive_() {
	if [[ -n ${F[array.strangers]} ]]; then
		choice_is refuse "${F[array.md]} is half assembled and holds \
${F[array.strangers]}, which the configuration does not name. If these are its legs, write \
MEMBER lines for them; then: mdadm --stop /dev/${F[array.md]} && ramraid start ${F[name]}"
	elif choice_barred stop-inactive; then
		choice_is refuse "${F[array.md]} is half assembled and could not be stopped: \
$BARRED"
	else
		choice_is stop-inactive "${F[array.md]} is half assembled"
	fi
}

# For a running array: first what protects data, then the disk legs, then the RAM leg. The order
# matters, because md would rewrite in full a disk leg that it re-adds by bitmap while a blank RAM
# leg recovers (conf->fullsync in linux drivers/md/raid1.c belongs to the array, not to the leg).
action_running_() {
	local i
	! action_running_refused || return 0
	if [[ ${F[array.readauto]} == yes ]] && ! choice_barred make-writable; then
		choice_is make-writable \
			'md has started it read-only for now, and so neither resyncs nor rebuilds'
		return
	fi
	if [[ ${F[array.backlog]} != "${F[conf.write_behind]}" ]] &&
		! choice_barred set-backlog; then
		choice_is set-backlog "write-behind is ${F[array.backlog]}, \
configured is ${F[conf.write_behind]}" "${F[conf.write_behind]}"
		return
	fi
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.in]} == "${F[array.md]}" && ${F[leg.$i.writemostly]} == no ]] ||
			continue
		! choice_barred "write-mostly.$i" || continue
		choice_is write-mostly "${F[leg.$i.dev]} is not marked write-mostly" "$i"
		return
	done
	unbuilt_next || return 0
	if [[ ${F[array.sync]} == resync || ${F[array.pending]} == yes ]]; then
		choice_is wait-sync 'the disk legs are being made equal after an unclean stop'
		! choice_barred rebuild ||
			choice_is 'done' "the disk legs are not equal, \
so no RAM leg may join them: $BARRED"
		return
	fi
	readd_disk_legs || return 0
	action_ram_
}

# action_running_refused: sets the refusal and returns 0 if nothing may be done to the running
# array.
action_running_refused() {
	if [[ -n ${F[record.why]} ]]; then
		choice_is refuse "${F[record.why]}"
	elif [[ -n ${F[rescue.image]} ]]; then
		rescue_way
		choice_is refuse "${F[array.md]} runs on disks that lack what only the RAM leg \
had. That is saved in ${F[rescue.image]}${F[rescue.lost]:+ (${F[rescue.lost]})}; to put it back: \
$RESCUE_WAY"
	elif [[ -n ${F[array.copy]} ]]; then
		below_or 'one of them' "Take the copy out of the machine or make it blank (mdadm \
--zero-superblock)"
		choice_refuse "something else has started ${F[array.md]} from \
/dev/${F[array.copy]% *}, and /dev/${F[array.copy]#* } carries the same device UUID: \
one of them is a copy of the other" "Stop it (mdadm --stop /dev/${F[array.md]}). $BELOW; then: \
ramraid start ${F[name]}"
	elif [[ ${F[array.known]} == unread ]]; then
		choice_refuse "something else has started ${F[array.md]}, and no disk leg in it \
can be read, so it is not known whether one of them was in sync when the array last ran" \
			"See the kernel's messages (journalctl -k); when a disk answers again: \
ramraid start ${F[name]}"
	elif [[ ${F[array.known]} == no ]]; then
		foreign_run_refused
	elif [[ -n ${F[array.twin]} ]]; then
		choice_refuse "its legs have been started as two arrays, ${F[array.md]} and \
${F[array.twin]}" "Stop both (mdadm --stop) and let ramraid judge them: ramraid start ${F[name]}"
	else
		return 1
	fi
}

action_ram_() {
	! action_full_ && ! lacking_ram || return 0
	case ${F[ram.state]} in
	in_sync) action_whole_ ;;
	recovering)
		choice_barred rebuild &&
			choice_is 'done' "the RAM leg is not in sync: $BARRED" && return
		action_flawed_ && return
		choice_is wait-sync 'the RAM leg is being rebuilt'
		;;
	faulty)
		[[ -n ${F[leg.ram.dev]} && ${F[retry]} != yes ]] &&
			choice_is 'done' "the RAM leg is not in sync: \
md has given up ${F[leg.ram.dev]}; see the kernel's messages (journalctl -k); \
when it is good again: ramraid attach ${F[name]}" && return
		choice_barred drop-ram &&
			choice_is 'done' "the RAM leg failed and cannot be taken out: $BARRED" &&
			return
		choice_is drop-ram 'the ramdisk failed'
		;;
	*) action_no_ram ;;
	esac
}

# action_full_: a RAM leg that has reached its limit lacks what it could not take, so it is taken
# out as long as the disk legs have everything. Returns 1 when no action was decided.
action_full_() {
	[[ -n ${F[ram.full]} ]] && ! health_only_copy || return 1
	if ! choice_barred drop-ram; then
		choice_is drop-ram "the RAM leg is given up: ${F[ram.full]}"
	elif [[ ${F[ram.state]} == in_sync ]]; then
		return 1
	else
		choice_is 'done' "the RAM leg has to be taken out, but can't be ($BARRED): \
${F[ram.full]}"
	fi
}

# action_flawed_: some kernels may read from the part of a new leg that is not rebuilt yet. On
# these, nothing may read during the rebuild: either the RAM leg is in sync before the gate opens,
# or it is dropped. Returns 1 when no action was decided.
action_flawed_() {
	[[ -n ${F[kernel.flaw]} ]] && choice_time_is_up conf.wait_timeout &&
		[[ ${F[conf.on_timeout]} != fail ]] || return 1
	choice_is drop-ram "the RAM leg was not in sync within ${F[conf.wait_timeout]} s, \
and on this kernel nothing may be read until it is: ${F[kernel.flaw]}"
}

action_whole_() {
	local TODO
	health_lost
	choice_is 'done' whole
	[[ -n $LACKING$LOST${F[ram.lacks]} ]] || OUTCOME=whole
	[[ -z ${F[ram.lacks]} ]] || WHY='md could not write some blocks of the RAM leg'
	[[ -z $LACKING ]] || WHY="md could not write some blocks of the disk leg$LACKING"
	[[ -z $LOST ]] || WHY="the RAM leg is in sync, but not the disk leg$LOST"
	action_ahead_
	readd_slot_todo
	! readd_lacks_slot || WHY+="; $TODO"
}

# Adds to WHY each disk leg that is there but ahead of the array, and so is not put back; "status"
# says what to do.
action_ahead_() {
	local i LEG
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_classify "$i"
		[[ $LEG != ahead ]] || WHY+="; ${F[leg.$i.dev]} has more events than the array, \
and is not put back"
	done
}

action_no_ram() {
	local action
	[[ ${F[conf.ram]} != none ]] || {
		choice_is 'done' 'RAM=none: it runs on its disk legs'
		return
	}
	for action in make-ram add-ram rebuild wipe-ram; do
		choice_barred "$action" || continue
		choice_is 'done' "there is no RAM leg: $BARRED"
		return
	done
	if [[ ${F[conf.root]} == yes && -n ${F[kernel.flaw]} ]]; then
		choice_is 'done' "there is no RAM leg: the root file system is in use, \
and on this kernel nothing may be read while one is rebuilt: ${F[kernel.flaw]}"
	elif [[ -n ${F[kernel.flaw]} && ${F[conf.on_timeout]} != fail ]] &&
		choice_time_is_up conf.wait_timeout; then
		choice_is 'done' "there is no RAM leg: ${F[conf.wait_timeout]} s (WAIT_TIMEOUT) \
have passed, and on this kernel nothing may be read while one is rebuilt: ${F[kernel.flaw]}"
	elif [[ ${F[array.level]} != raid1 || ${F[array.degraded]} == 0 ]]; then
		choice_is 'done' "there is no RAM leg: ${F[array.md]} is ${F[array.level]} and \
has no free slot for one"
	elif health_is_too_small; then
		action_too_small_
	elif [[ ${F[ram.state]} == attached ]]; then
		action_fill_
	elif [[ -n ${F[leg.ram.dev]} ]]; then
		ram_device_none
	else
		choice_is make-ram 'its ramdisk is made next'
	fi
}

# zram would enlarge the array's blocks while it is in use. Only a start can do that.
action_too_small_() {
	local todo="ramraid check ${F[name]} says whether what is on it can be used with larger \
ones, and what to write"
	[[ ${F[conf.block]} != 4096 ]] ||
		todo="a start by ramraid gives it larger ones: \
ramraid stop ${F[name]}; ramraid start ${F[name]}"
	[[ ${F[conf.root]} != yes ]] ||
		todo="the initramfs, which starts it, gives it no larger ones: \
take another kind, such as RAM=auto"
	choice_is 'done' "there is no RAM leg: zram has blocks of 4096 bytes, and those of \
${F[array.md]} have ${F[array.block]}; $todo"
}

# Decides who fills the attached ramdisk: the copy, at the speed of all disk legs together, or md's
# own recovery, which is always possible. The result of a self-test on this very kernel overrides
# any list, and a failed one also overrides REBUILD=copy.
action_fill_() {
	local why=${F[copy.why_not]} action
	case ${F[kernel.selftest]} in
	passed) why='' ;;
	failed)
		why="the self-test of the copy has failed on this kernel; \
to repeat it: ramraid selftest"
		;;
	esac
	[[ ${F[conf.rebuild]} != kernel ]] || why='REBUILD=kernel'
	# On such a kernel, a start must be able to end the rebuild when its time is up.
	[[ -z ${F[kernel.flaw]} ]] || why=${F[kernel.flaw]}
	# Write-behind may have writes under way that are not on any disk yet. md does not wait for
	# them when the copy asks it to (mddev_suspend() in linux drivers/md/md.c), but does before
	# its own recovery (raise_barrier() in raid1.c).
	((${F[array.behind]} == 0)) || why='write-behind has been on since the array was started'
	((${F[array.backlog]} == 0)) || why='write-behind is on'
	for action in copy-ram readd-ram; do ! choice_barred "$action" || why=$BARRED; done
	[[ ${F[copy.state]} != failed ]] || why=${F[copy.why]}
	if [[ -n $why ]]; then
		choice_is add-ram "md rebuilds the RAM leg from one disk: $why"
	elif [[ ${F[copy.state]} == running ]]; then
		choice_is wait-copy 'the RAM leg is being copied from the disk legs'
	elif [[ ${F[copy.state]} == 'done' ]]; then
		choice_is readd-ram 'all is copied; md adds what was written meanwhile'
	else
		choice_is copy-ram 'the ramdisk is ready'
	fi
}

# action_gate: may the mounts and services that wait for the array start? Sets GATE to hold, open or
# fail, and GATE_WHY. Called after action_choose.
action_gate() {
	GATE=hold GATE_WHY=$WHY
	if [[ $ACTION == refuse ]]; then
		GATE=fail
	elif [[ ${F[array.state]} != active ]]; then
		:
	elif [[ $ACTION == 'done' ]]; then
		GATE=open
	elif [[ $ACTION == make-writable || $ACTION == set-backlog ||
		$ACTION == write-mostly ]]; then
		: # at once, and before anything is written
	elif [[ ${F[conf.ram]} == none && -z ${F[kernel.flaw]} ]]; then
		GATE=open GATE_WHY="RAM=none: there is no RAM leg to wait for"
	elif [[ ${F[conf.wait]} == no && -z ${F[kernel.flaw]} ]]; then
		GATE=open GATE_WHY="WAIT=no: not waiting for the RAM leg"
	elif [[ -n ${F[kernel.flaw]} && ${F[conf.on_timeout]} != fail ]]; then
		action_gate_flawed_
	elif choice_time_is_up conf.wait_timeout; then
		GATE=open GATE_WHY="the RAM leg was not in sync within \
${F[conf.wait_timeout]} s (WAIT_TIMEOUT)"
		[[ ${F[conf.on_timeout]} != fail ]] || GATE=fail
	fi
}

# On a kernel that reads from the part of a leg that is not rebuilt yet, the gate stays shut until
# the RAM leg is in sync, or out again. md would also read from a disk leg that is still being
# rebuilt when the time is up, so the gate fails then. A resync leaves no leg incomplete, so the
# gate opens.
action_gate_flawed_() {
	choice_time_is_up conf.wait_timeout && [[ $ACTION == wait-sync &&
		${F[ram.state]} != recovering ]] || return 0
	if [[ ${F[array.sync]} == resync ]]; then
		GATE=open GATE_WHY="the disk legs were not equal within \
${F[conf.wait_timeout]} s (WAIT_TIMEOUT)"
	else
		GATE=fail GATE_WHY="a disk leg was not rebuilt within ${F[conf.wait_timeout]} s \
(WAIT_TIMEOUT), and on this kernel nothing may be read until it is: ${F[kernel.flaw]}"
	fi
}
