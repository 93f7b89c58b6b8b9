# The one word for the state of a leg. Code that judges a leg calls this or, when only the running
# array matters, health_leg. It uses only the facts, as decide/action.sh does.
# shellcheck shell=bash
#
# The words. In the running array, md's own: in_sync recovering faulty. For the device, whether or
# not the array runs:
#   missing     there is no such device
#   silent      it is there, but does not answer
#   unreadable  it is there, but its superblock can't be read
#   used        something else holds it
#   blank       it has no superblock. Callers that look further call one that holds data occupied
#   damaged     its superblock is not a valid one
#   foreign     it belongs to another array
# For a leg of this array, outside it while it runs:
#   copy        it has the device UUID of a disk leg in sync
#   given       a start without it gave it up
#   ahead       it is complete, and has more events than the array
#   holding     it may have blocks that no member in sync has
#   removed     a person has taken it out
#   bouncing    it has come back too often to be put back automatically, and others have all it has
#   begun       it was lost while it was being put back, so all of it has to be rebuilt
#   returned    it can be put back as it is
#   fresh       it was never in sync: its first rebuild was interrupted
#   separate    it was used without the others, or is too old
# For a leg of this array, while the array does not run:
#   level       its RAID level is not the configured one
#   shrunk      its superblock counts on more sectors than the device has
#   slotless    it holds no slot
#   partial     it was still being rebuilt
#   good        none of these: it can be compared with the others
# For the RAM leg (leg_ram): in_sync; recovering, by md or by a copy; none: RAM=none; short: it was
# given up because memory was short; detached: by a person or a release; full: its data did not fit;
# lost: none of these.

need decide/give-up decide/health decide/leg-alone decide/readd

declare -gA F # the facts: decide/facts.list

# leg_classify I: sets LEG to one of these words for disk leg I.
leg_classify() {
	health_leg "leg.$1"
	[[ $LEG == outside ]] || return 0
	leg_alone "$1"
	[[ ${F[array.state]} == active && $LEG == @(level|shrunk|slotless|partial|good) ]] ||
		return 0
	if readd_is_copy "$1"; then
		LEG=copy
	elif give_up_is_given "$1"; then
		LEG=given
	elif leg_is_ahead_ "$1"; then
		LEG=ahead
	elif [[ ${F[leg.$1.holds]} == yes ]]; then
		LEG=holding
	elif [[ -n ${F[leg.$1.removed]} ]]; then
		LEG=removed
	elif [[ -n ${F[leg.$1.returns]} ]] && ! health_only_copy; then
		LEG=bouncing
	elif readd_is_begun "$1"; then
		LEG=begun
	elif readd_may "$1" whatever; then
		LEG=returned
	elif leg_is_fresh "$1"; then
		LEG=fresh
	else
		LEG=separate
	fi
}

# leg_ram: sets LEG to one of these words for the RAM leg of a running array.
leg_ram() {
	case ${F[ram.state]}:${F[copy.state]} in
	in_sync:*) LEG=in_sync ;;
	recovering:* | attached:running) LEG=recovering ;;
	*)
		case ${F[conf.ram]}:${F[ram.out]} in
		none:*) LEG=none ;;
		*:memory | *:room) LEG=short ;;
		*:person | *:release) LEG=detached ;;
		*:full) LEG=full ;;
		*) LEG=lost ;;
		esac
		;;
	esac
}

# leg_is_absent I: is it not there, or there but not readable yet, like a disk that is spinning up
# or a target that is logging in?
leg_is_absent() {
	local LEG
	leg_alone "$1"
	[[ $LEG == @(missing|silent|unreadable) ]]
}

# leg_is_ahead_ I: is leg I, which is outside, complete, and does it have more events than the array
# that runs without it (readd_is_ahead)? Returns 1 while the event count of the array is not known.
leg_is_ahead_() {
	[[ ${F[leg.$1.role]} =~ ^[0-9]+$ && -z ${F[leg.$1.recovery]} ]] || return 1
	((${F[array.events]} > 0)) && readd_is_ahead "$1"
}

# leg_kept_why I [THEN]: sets KEPT to what to say about a leg that is ahead or holding. THEN is how
# to go on when it has been given up.
leg_kept_why() {
	local dev=${F[leg.$1.dev]} then=${2:-"; ramraid apply ${F[name]}"}
	if leg_is_ahead_ "$1"; then
		KEPT="$dev is at ${F[leg.$1.events]} events, and the array only at \
${F[array.events]}: it may hold writes that the array lacks, so it is neither put back nor \
overwritten. Look at it (mdadm --examine $dev)"
	else
		KEPT="$dev may have blocks that no member in sync has, since md could not write \
them there, so it is neither put back nor overwritten. To see which disks: ramraid check ${F[name]}"
	fi
	KEPT+=". To go on from it: ramraid stop ${F[name]} && ramraid start --force-leg=$dev \
${F[name]}. To give up what it has: mdadm --zero-superblock $dev$then"
}

# leg_is_fresh I: does leg I, which is outside, belong to this array, and was it never in sync,
# because its first rebuild was interrupted? Everything on it is elsewhere too.
leg_is_fresh() {
	local seen=" ${F[witness.seen]} ${F[witness.doubted]} "
	[[ ${F[leg.$1.sb]} == ok && ${F[leg.$1.uuid]} == "${F[uuid]}" ]] || return 1
	[[ ${F[leg.$1.role]} == spare || -n ${F[leg.$1.recovery]} ]] || return 1
	! give_up_is_given "$1" &&
		[[ $seen != *" ${F[leg.$1.device_uuid]:-none} "* ]]
}

# leg_kind I: sets KIND to what a configured leg is good for: absent, good, or words that
# end the sentence "DEVICE …".
leg_kind() {
	local leg=leg.$1 LEG
	leg_alone "$1"
	case $LEG in
	missing | silent | unreadable) KIND=absent ;;
	used) KIND="is in use by ${F[$leg.holder]:-${F[$leg.in]}}" ;;
	blank | damaged) KIND="has no md superblock that can be read (${F[$leg.sb]})" ;;
	foreign) KIND="belongs to another array (${F[$leg.uuid]})" ;;
	level)
		KIND="belongs to an array of RAID level ${F[$leg.level]:-1}, \
which is not a ${F[conf.layout]}"
		;;
	shrunk)
		KIND="has ${F[$leg.sectors]} sectors, but its superblock expects \
$((${F[$leg.data_offset]} + ${F[$leg.data_size]})): it has been shrunk or copied to a smaller disk"
		;;
	slotless) KIND="holds no slot of the array (it is ${F[$leg.role]})" ;;
	partial) KIND="was still being rebuilt (complete up to sector ${F[$leg.recovery]})" ;;
	good) KIND=good ;;
	esac
}

# leg_absent_names: sets ABSENT to the legs that are absent, each preceded by a blank.
leg_absent_names() {
	local i
	ABSENT=''
	for ((i = 0; i < ${F[members]}; i++)); do
		leg_is_absent "$i" || continue
		ABSENT+=" ${F[leg.$i.dev]}"
		[[ -z ${F[leg.$i.node]} ]] || leg_absent_why_ "leg.$i"
	done
}

# leg_absent_why_ leg.I: adds to ABSENT why a device that is there counts as absent. A DRBD device
# is there, but can't be read, on a machine that is not its primary.
leg_absent_why_() {
	local resource=${F[$1.dev]#/dev/drbd/by-res/}
	if [[ -n ${F[$1.silent]} ]]; then
		ABSENT+=" (/dev/${F[$1.node]} does not answer)"
	elif [[ ${F[$1.dev]} == /dev/drbd/* ]]; then
		ABSENT+=" (/dev/${F[$1.node]} can't be read here: DRBD lets only the primary read \
it; see: drbdadm role ${resource%%/*})"
	else
		ABSENT+=" (/dev/${F[$1.node]} can't be read)"
	fi
}
