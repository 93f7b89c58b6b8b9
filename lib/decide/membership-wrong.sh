# What speaks against a change of the disks. Each function adds to WRONG what is wrong, and what to
# do; membership-plan.sh asks them. They use only the facts and their arguments.
# shellcheck shell=bash

need core/paths decide/action decide/health decide/histories decide/leg decide/not-ours decide/readd
need decide/rescue-way

declare -gA F # the facts: decide/facts.list

membership_wrong_array() {
	local ACTION ARGUMENTS WHY OUTCOME BELOW
	if [[ -n ${F[array.twin]} ]]; then
		WRONG+=("its legs have been started as two arrays, \
${F[array.md]} and ${F[array.twin]}; see: ramraid status ${F[name]}")
	elif [[ -n ${F[rescue.image]} ]]; then
		rescue_way
		WRONG+=("what only the RAM leg had is in ${F[rescue.image]}. Put it back first: \
$RESCUE_WAY")
	elif action_running_refused; then
		WRONG+=("$WHY")
	fi
}

# membership_wrong_disk I DEV COPIES: COPIES is how many of the disks that are to leave are in sync.
membership_wrong_disk() {
	local why=${F[leg.$1.why]} again='then type the same again (or "replace" with --force)'
	not_ours "$1" "${F[leg.$1.kind]}" ", $again" || :
	case ${F[leg.$1.kind]} in
	missing)
		# A disk that is still missing makes nothing worse; but then no copy may leave.
		(($3 == 0)) || membership_wrong_missing_ "$1" "$2"
		;;
	used) WRONG+=("$2: is in use by something else; see: lsblk $2") ;;
	occupied) WRONG+=("$2: ${why:-it holds something}. ${NOT_OURS_DO^}") ;;
	damaged)
		WRONG+=("$2: its superblock is ${F[leg.$1.sb]}. \
If nothing on it is needed any more: wipefs --all $2, $again")
		;;
	silent)
		WRONG+=("$2: does not answer; see what it waits for (journalctl -k), \
or take another disk")
		;;
	unreadable)
		WRONG+=("$2: can't be read; see what is wrong with it (journalctl -k; \
smartctl -a), or take another disk")
		;;
	foreign) WRONG+=("$2: $NOT_OURS. ${NOT_OURS_DO^}") ;;
	copy)
		readd_is_copy "$1"
		WRONG+=("$2: has the device UUID of $ORIGINAL, which is in the array: \
one of the two is a copy of the other. If nothing on it is needed any more: \
mdadm --zero-superblock $2, $again")
		;;
	ahead | holding)
		leg_kept_why "$1"
		WRONG+=("$KEPT")
		;;
	given | separate)
		WRONG+=("$2: was used without the others, is too old, or has been given up. \
If nothing on it is needed any more: mdadm --zero-superblock $2, $again")
		;;
	*) [[ -z $why ]] || WRONG+=("$2: $why; take another disk") ;;
	esac
}

# membership_wrong_leaving I: sets KEPT to why disk I, which is to leave, must not lose its
# superblock. Returns 1 when nothing speaks against that: the disk is in the array, or is gone, or
# does not answer, or the array has all that it holds.
membership_wrong_leaving() {
	local dev=${F[leg.$1.dev]} ORIGINAL
	case ${F[leg.$1.kind]} in
	ahead | holding) leg_kept_why "$1" ', then type this again' && return ;;
	copy)
		readd_is_copy "$1" || :
		KEPT="$dev: has the device UUID of $ORIGINAL, which is in the array: one of the \
two is a copy of the other"
		;;
	separate)
		! membership_wrong_is_old_ "$1" || return 1
		KEPT="$dev: may have been used without the others, and hold writes that the array \
lacks. Look at it (mdadm --examine $dev)"
		;;
	*) return 1 ;;
	esac
	KEPT+=". If nothing on it is needed any more: mdadm --zero-superblock $dev, then type this \
again"
}

# Has a disk that is separate merely fallen behind? What is incomplete has nothing of its own.
# Otherwise it calls a disk in sync active, so that it never ran without that one; or the record saw
# it leave, and it has no more events than it had then.
membership_wrong_is_old_() { # I
	local j left=" ${F[witness.departed]}" uuid=${F[leg.$1.device_uuid]:-none}
	[[ ${F[leg.$1.role]} =~ ^[0-9]+$ && -z ${F[leg.$1.recovery]} ]] || return 0
	[[ ${F[leg.$1.elsewhere]} != yes ]] && ! readd_is_ahead "$1" || return 1
	for ((j = 0; j < ${F[members]}; j++)); do
		[[ ${F[leg.$j.state]} == in_sync ]] || continue
		! readd_has_been_with "$1" "leg.$j" || return 0
	done
	[[ $left == *" $uuid:"* ]] && ! histories_used_since "$1"
}

membership_wrong_missing_() { # I DEV
	local old=${F[leg.$1.replaces]}
	if [[ -z $old ]]; then
		WRONG+=("$2: there is no such disk, and until it is in sync, no disk is taken out. \
Connect it, or delete its MEMBER line as well; then: ramraid apply ${F[name]}")
	else
		WRONG+=("$2: there is no such disk, and $old leaves only when it is in sync. \
Connect it, then: ramraid apply ${F[name]}; or take another disk: \
ramraid replace ${F[name]} $2 NEW; or, to keep $old, delete the MEMBER line of $2, then: \
ramraid apply ${F[name]}")
	fi
}

# membership_wrong_loose I DEVICE: the disk is on a bus where anybody can plug in a device, or make
# one up. DEVICE is its name, and what that leads to.
membership_wrong_loose() {
	[[ -z ${F[leg.$1.loose]} ]] || WRONG+=("$2: may be somebody else's, \
who would get a copy of all that is on the array: ${F[leg.$1.loose]}. If it is yours: \
ramraid apply --force ${F[name]} (or \"replace\" with --force)")
}

# membership_wrong_building DISKS: a disk has to be rebuilt: md must be able to take it, and nothing
# may read from it too early. DISKS is how many disks are in sync, or are in the array and are to
# leave.
membership_wrong_building() {
	local i way dev
	[[ ${F[conf.layout]} != far2 ]] || membership_wrong_full_
	[[ -z ${F[kernel.flaw]} || -z ${F[change.used]} ]] ||
		WRONG+=("it is in use (${F[change.used]}), and on this kernel no leg may be \
rebuilt while it is: ${F[kernel.flaw]}. Unmount it first")
	(($1 > 0)) || [[ ${F[ram.state]} == in_sync ]] ||
		WRONG+=('no leg is in sync, so there is nothing to rebuild a disk from')
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.badblocks]} == yes ]] || continue
		dev=${F[leg.$i.dev]}
		way="But do not take it out: no other disk has all that is on the array. Copy \
that to another disk now"
		! health_may_leave "${F[leg.$i.node]}" ||
			way="Take it out first, which leaves one copy fewer until the new one is \
rebuilt: mdadm /dev/${F[array.md]} --fail $dev --remove $dev; then type this again"
		WRONG+=("$dev: has bad blocks, and mdadm adds no new member while it has. $way")
	done
}

# membership_wrong_slots GOAL JOINS: some kernels must not change the number of slots. GOAL is how
# many disks are to be in the array; JOINS is empty when none is to join it. One that joins needs a
# slot of its own while one that is to leave is still there, unless md has given that one up: then
# it goes first.
membership_wrong_slots() {
	local i beside=''
	[[ -n ${F[kernel.slots]} && ${F[conf.layout]} != far2 ]] || return 0
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.leaving]} == yes && ${F[leg.$i.in]} == "${F[array.md]}" &&
			${F[leg.$i.state]} != faulty ]] || continue
		beside=$2
	done
	[[ -z $beside ]] && ((${F[array.slots]} == $1 + 1)) || WRONG+=("${F[kernel.slots]}")
}

# A far2 gets no further slot.
membership_wrong_full_() {
	local i way dev
	for ((i = 0; i < F[members]; i++)); do
		[[ ${F[leg.$i.leaving]} == yes && ${F[leg.$i.in]} == "${F[array.md]}" ]] || continue
		dev=${F[leg.$i.dev]}
		way="Do not take out $dev, which is in the array: no other disk has all that is \
on it. Name it as MEMBER instead of one that is not in sync, then: ramraid apply ${F[name]}"
		! health_may_leave "${F[leg.$i.node]}" ||
			way="Take $dev out first, which leaves one copy on disk until the new one \
is rebuilt: mdadm /dev/${F[array.md]} --fail $dev --remove $dev; then type this again"
		WRONG+=("a far2 has no slot for a third disk. $way")
	done
}

# membership_wrong_last STAY GOOD LEAVE: in any case, one disk that has everything must remain. STAY
# is how many disks are to be in the array, GOOD how many of these are in sync or will be, and LEAVE
# how many are to leave.
membership_wrong_last() {
	if (($1 == 0)); then
		WRONG+=("this would leave no disk at all. Name one to keep or to add as MEMBER in \
$ETC/${F[name]}.conf, then: ramraid apply ${F[name]}")
	elif (($3 > 0 && $2 == 0)); then
		WRONG+=("this would leave no disk in sync. Name one to keep, or a new one that is \
there, as MEMBER in $ETC/${F[name]}.conf, then: ramraid apply ${F[name]}")
	fi
}

# A start gives the array the largest blocks of its disk legs. With smaller ones, what is on it may
# not be readable. A disk that is gone is assumed to have had blocks as large as the array's, except
# where they may come from a device that is the RAM leg.
membership_wrong_blocks() {
	local i most=0 before=0 block=${F[change.block]:-0} who=''
	for ((i = 0; i < F[members]; i++)); do
		if [[ ${F[leg.$i.leaving]} != yes ]]; then
			((${F[leg.$i.block]:-0} <= most)) || most=${F[leg.$i.block]}
		elif [[ -n ${F[leg.$i.block]} ]]; then
			((${F[leg.$i.block]} <= before)) ||
				before=${F[leg.$i.block]} who=${F[leg.$i.dev]}
		elif ((before == 0)) && [[ -z ${F[leg.ram.dev]} ]]; then
			before=$block who=${F[leg.$i.dev]}
		fi
	done
	((most > 0 && most < block && before >= block)) || return 0
	WRONG+=("its logical blocks have $block bytes now, \
and without $who they would have $most after the next start: a partition table on it, \
and a file system made for larger blocks, could not be read. \
Take a disk with blocks of $block bytes (lsblk -o NAME,LOG-SEC), or one that can be set to that")
}
