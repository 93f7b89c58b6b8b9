# The memory that a RAM leg must leave free (MEMORY_FLOOR=): when the leg is given up, and when it
# is made again. This file counts; lib/cmd/internal/memory.sh looks and acts. For ramdisks only: a
# device takes no memory.
# shellcheck shell=bash

need config/conf core/act core/log core/paths core/quantity world/ramdisk world/ramdisk-memory
need world/systemd

readonly MEMORY_LOOK=2 # seconds between two looks
# Looks in a row with too little memory before the leg is given up: a short peak does not count.
readonly MEMORY_SHORT=3
# Seconds in a row with room before it is rebuilt: at first, and at most.
readonly MEMORY_CALM=60 MEMORY_CALM_MOST=3600
# Looks before the next attempt when the leg could not be given up.
readonly MEMORY_AGAIN=30

# memory_floor_is_off FLOOR: is it "0", in any form that config/conf.sh allows?
memory_floor_is_off() { [[ $1 =~ ^0+[KMGT%]?$ ]]; }

# memory_floor_reserve: sets MEMORY_RESERVE to how many bytes must stay available beside a full
# ramdisk: RAM_RESERVE, but no less than the floor, or the leg would be given up at once. Sets
# MEMORY_RESERVE_BY to which of the two it is.
memory_floor_reserve() {
	local floor total
	total=$(ramdisk_memory_total)
	MEMORY_RESERVE=$(quantity_bytes "${CONF[RAM_RESERVE]}" "$total") \
	MEMORY_RESERVE_BY=RAM_RESERVE
	floor=$(quantity_bytes "${CONF[MEMORY_FLOOR]}" "$total")
	((MEMORY_RESERVE >= floor)) || MEMORY_RESERVE=$floor MEMORY_RESERVE_BY=MEMORY_FLOOR
}

# memory_floor_begin: resets the counts: nothing has been seen yet.
memory_floor_begin() { MEMORY_LOW=0 MEMORY_HIGH=0 MEMORY_WAITS=$MEMORY_CALM; }

# memory_floor_count leg|given|none YES-OR-NO: counts one look. leg: there is a RAM leg; is memory
# short? given: it has been given up because memory was short; is there room now? none: neither is
# so. Sets MEMORY_ACT to give, take, or nothing.
memory_floor_count() {
	MEMORY_ACT=''
	case $1:$2 in
	leg:yes)
		MEMORY_LOW=$((MEMORY_LOW + 1))
		((MEMORY_LOW < MEMORY_SHORT)) || MEMORY_ACT=give
		;;
	given:yes)
		MEMORY_HIGH=$((MEMORY_HIGH + 1))
		((MEMORY_HIGH * MEMORY_LOOK < MEMORY_WAITS)) || MEMORY_ACT=take
		;;
	*) MEMORY_LOW=$((MEMORY_LOW < 0 ? MEMORY_LOW + 1 : 0)) MEMORY_HIGH=0 ;;
	esac
}

# memory_floor_kept: the leg could not be given up. memory_floor_given: it was given up.
# memory_floor_taken: it is made again, and next time there has to be room for longer.
memory_floor_kept() { MEMORY_LOW=-$MEMORY_AGAIN; }
memory_floor_given() { MEMORY_LOW=0 MEMORY_HIGH=0; }
memory_floor_taken() {
	MEMORY_HIGH=0
	MEMORY_WAITS=$((MEMORY_WAITS * 2 < MEMORY_CALM_MOST ? MEMORY_WAITS * 2 : MEMORY_CALM_MOST))
}

# memory_floor_arm NAME: starts or restarts the service that watches the memory, if MEMORY_FLOOR
# asks for that; otherwise stops it.
memory_floor_arm() {
	systemd_is_running || return 0
	if [[ ${CONF[RAM]} != @(none|/*) ]] && ! memory_floor_is_off "${CONF[MEMORY_FLOOR]}"; then
		act_put "$RUN/$1.memory"
		systemd_start_memory "$1" ||
			log_warning "$1: MEMORY_FLOOR=${CONF[MEMORY_FLOOR]} is not watched: \
systemd did not start ramraid-memory@$1.service"
	elif [[ -e $RUN/$1.memory ]]; then
		rm -f "$RUN/$1.memory"
		systemd_stop_memory "$1" ||
			log_warning "$1: MEMORY_FLOOR is still watched: systemd did not stop \
ramraid-memory@$1.service"
	fi
}
