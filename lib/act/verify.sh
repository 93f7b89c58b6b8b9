# A look at the RAM leg after it has been rebuilt: md itself compares it with the disk legs
# (VERIFY=).
# shellcheck shell=bash

need act/notify config/conf core/log world/md world/md-check world/systemd

declare -gA F # the facts: decide/facts.list

# how many places "sample" looks at, and how much at each (4 MiB)
readonly VERIFY_SAMPLES=16 VERIFY_SECTORS=8192

# verify_ram_leg NAME: after the gate has opened, and without the array's lock: it may take long,
# and disturbs nobody (md compares in what time the disks have left). Does nothing if the RAM leg
# was not rebuilt in this start. Returns 0; what it finds it says.
verify_ram_leg() {
	local size from i VALUE MISMATCHES differ=0
	[[ ${CONF[VERIFY]} != no && -n ${LOOP_REBUILT-} && ${F[ram.state]} == in_sync ]] || return 0
	size=$(md_bytes "${F[array.md]}") || return 0 # it has been stopped
	size=$((size / 512))
	VERIFY_MD=${F[array.md]}
	if [[ ${CONF[VERIFY]} == yes ]] || ((size <= VERIFY_SAMPLES * VERIFY_SECTORS)); then
		verify_part_ "$1" 0 "$size" || return 0
		differ=$MISMATCHES
	else
		for ((i = 0; i < VERIFY_SAMPLES; i++)); do
			from=$(((RANDOM * 32768 + RANDOM) % (size / \
				VERIFY_SECTORS - 1) * VERIFY_SECTORS))
			verify_part_ "$1" "$from" $((from + VERIFY_SECTORS)) || return 0
			differ=$((differ + MISMATCHES))
		done
	fi
	VERIFY_MD=''
	if ((differ == 0)); then
		log_info "$1: md has compared the legs, and found no difference \
(VERIFY=${CONF[VERIFY]})"
	else
		notify alert mismatch '' "$1: $differ SECTORS DIFFER between the legs \
(VERIFY=${CONF[VERIFY]}). Harmless only if they are in use by swap, or were discarded. \
To rebuild the RAM leg: ramraid detach $1; ramraid attach $1"
	fi
}

verify_part_() { # NAME FROM TO (sectors): sets MISMATCHES. Returns 1 when md could not be asked.
	systemd_status "whole; comparing the legs"
	md_check "$VERIFY_MD" "$2" "$3" && return
	log_warning "$1: md could not compare the legs: something else is at work on $VERIFY_MD"
	VERIFY_MD=''
	return 1
}

# verify_stop: ends a comparison that goes on, when the program is ended.
verify_stop() { [[ -z ${VERIFY_MD-} ]] || md_check_end "$VERIFY_MD"; }
