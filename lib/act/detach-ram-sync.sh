# While the RAM leg is the only good copy, a disk leg is rebuilt from it: what may keep md from
# that, and whether it ends before systemd ends the shutdown.
# shellcheck shell=bash

need core/log core/quantity world/md-check

declare -gA F # the facts: decide/facts.list

# A shutdown has 4 hours (JobTimeoutSec= of gate/dropins.sh). A rebuild may need this much of it, in
# seconds, so that an image can be made in the rest; its rate counts after as many seconds.
readonly DETACH_RAM_SYNC_MOST=7200 DETACH_RAM_SYNC_SURE=60

# detach_ram_sync_clear: ends a check that md makes, or that has been left paused: md gives a disk
# that has come back no slot before it has ended (md_check_recovery() in linux drivers/md/md.c).
detach_ram_sync_clear() {
	[[ ${F[array.sync]} == check && -z $DRY_RUN ]] || return 0
	log_notice "${F[name]}: ending md's check of ${F[array.md]}, which keeps a disk leg from \
being rebuilt"
	md_check_end "${F[array.md]}"
}

# detach_ram_sync_is_in_time: does what md does now end in time, at the rate of now? F[waited] says
# how many seconds the guard has waited. Says so once when it does not.
DETACH_RAM_SYNC_SAID=''
detach_ram_sync_is_in_time() {
	local rate=${F[array.rate]} left
	((rate > 0 && F[waited] >= DETACH_RAM_SYNC_SURE)) || return 0
	left=$(((${F[array.total]} - ${F[array.done]}) / 2 / rate))
	((F[waited] + left > DETACH_RAM_SYNC_MOST)) || return 0
	[[ -n $DETACH_RAM_SYNC_SAID ]] ||
		log_notice "${F[name]}: md would work on it for another \
$(quantity_show_seconds "$left"), which is too long for a shutdown: saving the RAM leg before that"
	DETACH_RAM_SYNC_SAID=yes
	return 1
}
