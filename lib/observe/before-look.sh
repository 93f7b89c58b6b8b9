# The observing ring: what is known of an array before ramraid looks at it (observe/facts.sh). That
# is its configuration, the witness of its last run, a rescue image, and this kernel's flaws.
# shellcheck shell=bash

need config/conf core/log core/paths core/quantity core/text notes/adopted notes/old-name
need notes/rescue-record notes/selftest-record notes/witness notes/witness-copy observe/facts
need world/kernels

declare -gA F # the facts: decide/facts.list

# before_look_configured NAME: sets the facts that do not change during a start. After conf_load.
before_look_configured() {
	facts_of_conf "$1"
	before_look_remembered
	before_look_kernel_
}

# before_look_remembered: sets the facts that were written down about earlier runs of the array.
# After facts_of_conf.
before_look_remembered() {
	old_name_look
	before_look_witness
	rescue_record_read "${F[name]}" "${F[uuid]}"
	[[ -z ${F[record.from]} || -n ${RESCUE[image]-} ]] ||
		rescue_record_read "${F[record.from]}" "${F[uuid]}"
	F[rescue.image]=${RESCUE[image]-} F[rescue.file]=${RESCUE[file]-} \
		F[rescue.disk]=${RESCUE[disk]-} F[rescue.lost]=''
	[[ -z ${RESCUE[lost]-} ]] || before_look_lost_
}

before_look_lost_() {
	local ranges LOST_TEXT
	text_split ranges "${RESCUE[lost]}"
	rescue_record_lost "${ranges[@]}"
	F[rescue.lost]=$LOST_TEXT
}

before_look_kernel_() {
	local KERNEL_FLAW='' KERNEL_FLAW_COPY='' KERNEL_FLAW_SLOTS='' COPY_WHY_NOT SELFTEST_WORD \
		release=''
	{ read -r release <"$PROC/sys/kernel/osrelease"; } 2>/dev/null || :
	[[ ${CONF[ACCEPT_KERNEL_FLAW]} == yes ]] || {
		kernels_flaw "$release"
		kernels_flaw_copy "$release"
		kernels_flaw_slots "$release"
	}
	F[kernel.flaw]=$KERNEL_FLAW F[kernel.slots]=$KERNEL_FLAW_SLOTS
	kernels_why_no_copy "$release" "${CONF[REBUILD]}"
	F[copy.why_not]=$COPY_WHY_NOT
	selftest_record_word "$release"
	F[kernel.selftest]=$SELFTEST_WORD
	# A self-test may have passed by luck. Only a person who has written REBUILD=copy takes the
	# risk.
	[[ -n $KERNEL_FLAW_COPY && ${CONF[REBUILD]} != copy ]] || return 0
	F[copy.why_not]=$KERNEL_FLAW_COPY
	[[ $SELFTEST_WORD != passed ]] || F[kernel.selftest]=''
}

# before_look_times: sets the time spans, in seconds. They are separate because only a start needs
# them, and they cost a process. Returns 1 when one is not a time span.
before_look_times() {
	local text seconds
	text=$(quantity_seconds "${CONF[WAIT_TIMEOUT]}" "${CONF[MEMBER_TIMEOUT]}") || return 1
	mapfile -t seconds < <(printf '%s\n' "$text")
	F[conf.wait_timeout]=${seconds[0]} F[conf.member_timeout]=${seconds[1]}
}

# before_look_record: reads the array's record with witness_read, under whatever name it was
# written.
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
	# These come from a witness that vouches for nothing as well.
	F[witness.left]=${WITNESS[left]-} F[witness.given]=${WITNESS[given]-} \
		F[witness.seen]=${WITNESS[seen]-} F[witness.was]=${WITNESS[was]-} \
		F[witness.doubted]=${WITNESS[doubted]-} F[witness.known]=$WITNESS_KNOWN \
		F[witness.departed]=${WITNESS[departed]-}
	before_look_refill_
}

# Sets ram.refill to the device UUID of the device that stays as the RAM leg, if an "adopt" that has
# not ended has found it to differ from the disk legs.
before_look_refill_() {
	local -A ADOPTED=()
	local -a ADOPTED_WRITEMOSTLY=()
	F[ram.refill]=''
	adopted_read "${F[name]}" && [[ ${ADOPTED[uuid]-} == "${F[uuid]}" ]] || return 0
	F[ram.refill]=${ADOPTED[refill]-}
}
