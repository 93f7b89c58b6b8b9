# The observing ring, what is known of an array before the look at it (observe/facts.sh): what its
# configuration says, the witness of its last run, a rescue image, this kernel's flaws.
# shellcheck shell=bash

need config/conf config/conf-need core/log core/paths core/quantity notes/adopted notes/old-name
need notes/rescue-record notes/selftest-record notes/witness notes/witness-copy observe/facts
need world/kernels

declare -gA F # the facts: decide/facts.list

# before_look_configured NAME: what does not change during a start. After conf_load.
before_look_configured() {
	facts_of_conf "$1"
	before_look_remembered
	before_look_kernel_
}

# before_look_running NAME: before_look_configured, and the first look at an array that has to run:
# ends the program when it does not.
before_look_running() {
	before_look_configured "$1"
	facts_observe
	[[ ${F[array.state]} == active ]] ||
		die "$1: is not running; type: ramraid start $1" "$EX_INACTIVE"
}

# before_look_again NAME: a look at an array that was looked at before: at md, at its record, and at
# its configuration, from which another program may have taken a disk meanwhile (replace, apply, a
# person). By the members of before, a disk that was replaced would be lost.
before_look_again() {
	local try
	for try in 1 2 3; do
		before_look_witness
		facts_observe
		before_look_has_other_members_ "$1" || return 0
		conf_need_started "$1"
		before_look_configured "$1"
	done
	facts_observe
}

# Does the configuration name other members than those that the facts are about? One that can't be
# read says nothing of them.
before_look_has_other_members_() { # NAME
	local i before=''
	local -A CONF=()
	local -a MEMBERS=() REQUIRED_BY=() CONF_ERRORS=() CONF_WARNINGS=() CONF_NOTES=()
	for ((i = 0; i < ${F[members]}; i++)); do before+=" ${F[leg.$i.dev]}"; done
	conf_load "$1" && [[ " ${MEMBERS[*]}" != "$before" ]]
}

# before_look_remembered: what was written down about earlier runs of it. After facts_of_conf.
before_look_remembered() {
	old_name_look
	before_look_witness
	rescue_record_read "${F[name]}" "${F[uuid]}"
	[[ -z ${F[record.from]} || -n ${RESCUE[image]-} ]] ||
		rescue_record_read "${F[record.from]}" "${F[uuid]}"
	F[rescue.image]=${RESCUE[image]-} F[rescue.disk]=${RESCUE[disk]-}
}

before_look_kernel_() {
	local KERNEL_FLAW='' COPY_WHY_NOT SELFTEST_WORD release=''
	{ read -r release <"$PROC/sys/kernel/osrelease"; } 2>/dev/null || :
	[[ ${CONF[ACCEPT_KERNEL_FLAW]} == yes ]] || kernels_flaw "$release"
	F[kernel.flaw]=$KERNEL_FLAW
	kernels_why_no_copy "$release" "${CONF[REBUILD]}"
	F[copy.why_not]=$COPY_WHY_NOT
	selftest_record_word "$release"
	F[kernel.selftest]=$SELFTEST_WORD
}

# before_look_times: the time spans, in seconds; apart, because only a start needs them and they
# cost a process. Returns 1 when one is no span.
before_look_times() {
	local text seconds
	text=$(quantity_seconds "${CONF[WAIT_TIMEOUT]}" "${CONF[MEMBER_TIMEOUT]}") || return 1
	mapfile -t seconds < <(printf '%s\n' "$text")
	F[conf.wait_timeout]=${seconds[0]} F[conf.member_timeout]=${seconds[1]}
}

# before_look_record: witness_read of the record of the array, under whatever name it is.
before_look_record() {
	local name=${F[name]}
	[[ -z ${F[record.from]-} ]] || old_name_has_witness || name=${F[record.from]}
	witness_read "$name" "${F[uuid]}"
}

before_look_witness() {
	F[witness.why]='' F[witness.legs]='' F[witness.events]='' F[witness.ram_slot]='' \
		F[witness.ram_number]='' F[witness.left]='' F[witness.given]='' F[witness.seen]='' \
		F[witness.was]='' F[witness.filled]='' F[witness.doubted]='' F[witness.known]=''
	if before_look_record; then
		F[witness.legs]=${WITNESS[legs]} F[witness.events]=${WITNESS[events]} \
			F[witness.ram_slot]=${WITNESS[ram_slot]-} \
			F[witness.ram_number]=${WITNESS[ram_number]-} \
			F[witness.filled]=${WITNESS[filled]-}
	else
		F[witness.why]=$WITNESS_WHY
	fi
	F[witness.copy]=$WITNESS_COPY F[witness.counts]=$WITNESS_COUNTS \
		F[witness.generation]=${WITNESS[generation]:-0}
	# Also of one that vouches for nothing.
	F[witness.left]=${WITNESS[left]-} F[witness.given]=${WITNESS[given]-} \
		F[witness.seen]=${WITNESS[seen]-} F[witness.was]=${WITNESS[was]-} \
		F[witness.doubted]=${WITNESS[doubted]-} F[witness.known]=$WITNESS_KNOWN
	before_look_refill_
}

# An "adopt" that has not ended has found that the device which stays as the RAM leg differs from
# the disk legs: sets ram.refill to its device UUID.
before_look_refill_() {
	local -A ADOPTED=()
	local -a ADOPTED_WRITEMOSTLY=()
	F[ram.refill]=''
	adopted_read "${F[name]}" && [[ ${ADOPTED[uuid]-} == "${F[uuid]}" ]] || return 0
	F[ram.refill]=${ADOPTED[refill]-}
}
