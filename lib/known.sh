# The observing ring, what is known before the first look at an array: the witness of its last run, a rescue image, this kernel's flaws.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# facts_configured NAME: what does not change during a start. After conf_load.
facts_configured() {
	facts_of_conf "$1"
	facts_remembered
	facts_kernel_
}

# facts_remembered: what was written down about earlier runs of it. After facts_of_conf.
facts_remembered() {
	facts_witness
	rescue_read "${F[name]}" "${F[uuid]}"
	F[rescue.image]=${RESCUE[image]-}
}

facts_kernel_() {
	local KERNEL_FLAW='' COPY_WHY_NOT release=''
	{ read -r release <"$PROC/sys/kernel/osrelease"; } 2>/dev/null || :
	[[ ${CONF[ACCEPT_KERNEL_FLAW]} == yes ]] || md_kernel_flaw "$release"
	F[kernel.flaw]=$KERNEL_FLAW
	copy_why_not "$release" "${CONF[REBUILD]}"
	F[copy.why_not]=$COPY_WHY_NOT
}

# facts_times: the time spans, in seconds; apart, because only a start needs them and they cost a process. Returns 1 when one is no span.
facts_times() {
	local text seconds
	text=$(time_seconds "${CONF[WAIT_TIMEOUT]}" "${CONF[MEMBER_TIMEOUT]}") || return 1
	mapfile -t seconds <<<"$text"
	F[conf.wait_timeout]=${seconds[0]} F[conf.member_timeout]=${seconds[1]}
}

facts_witness() {
	F[witness.why]='' F[witness.legs]='' F[witness.events]='' F[witness.ram_slot]='' F[witness.left]='' F[witness.given]='' F[witness.seen]='' F[witness.was]=''
	if witness_read "${F[name]}" "${F[uuid]}"; then
		F[witness.legs]=${WITNESS[legs]} F[witness.events]=${WITNESS[events]} F[witness.ram_slot]=${WITNESS[ram_slot]-}
	else
		F[witness.why]=$WITNESS_WHY
	fi
	# Also of one that vouches for nothing.
	F[witness.left]=${WITNESS[left]-} F[witness.given]=${WITNESS[given]-} F[witness.seen]=${WITNESS[seen]-} F[witness.was]=${WITNESS[was]-}
}
