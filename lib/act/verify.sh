# Has md compare the legs of a running array; used by VERIFY= after a start, and by "scrub".
# shellcheck shell=bash

need act/array-lock act/notify config/conf core/log world/md world/md-check world/systemd

declare -gA F # the facts: decide/facts.list

# looks in a row: other processes hold the lock for a moment just to see whether it is free
readonly VERIFY_GIVE_WAY=4

# verify_gives_way NAME: for md_check, at each look, with VERIFY_BUSY=0 at first. Returns 1 when
# another ramraid wants to work on the array: md takes no leg back during a check, so that one goes
# first.
verify_gives_way() {
	if array_lock_is_free "$1"; then VERIFY_BUSY=0; else VERIFY_BUSY=$((VERIFY_BUSY + 1)); fi
	((VERIFY_BUSY < VERIFY_GIVE_WAY))
}

# how many places "sample" looks at, and how much at each (4 MiB)
readonly VERIFY_SAMPLES=16 VERIFY_SECTORS=8192

# verify_legs NAME: has md compare the legs, if the RAM leg was rebuilt in this start. It runs
# after the gate has opened and without the array's lock: it may take long, and disturbs nobody (md
# only uses time that the disks have left). Returns 0, and reports what it finds.
verify_legs() {
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

# Compares the legs of NAME from FROM to TO (sectors), and sets MISMATCHES. Returns 1 if md could
# not do it.
verify_part_() {
	systemd_status "whole; comparing the legs"
	VERIFY_BUSY=0
	md_check "$VERIFY_MD" "$2" "$3" verify_gives_way "$1" && return
	log_warning "$1: md has not compared the legs to the end, because something else is at \
work on $VERIFY_MD. To repeat: ramraid scrub $1"
	VERIFY_MD=''
	return 1
}

# verify_stop: ends a comparison that is still going on when the program is ended.
verify_stop() { [[ -z ${VERIFY_MD-} ]] || md_check_end "$VERIFY_MD"; }
