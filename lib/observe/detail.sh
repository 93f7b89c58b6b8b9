# The observing ring, for those who show an array that is not whole: what is wrong with it in a
# word, and what takes longer to find out.
# shellcheck shell=bash

need core/paths decide/health observe/static

declare -gA F # the facts: decide/facts.list

# detail_conf NAME CODE: what is wrong with the configuration, after conf_load, which ended with
# CODE.
detail_conf() {
	local i
	(($2 == 0)) || {
		F=([name]=$1 [array.link]=no)
		[[ ! -e $DEV/md/$1 ]] || F[array.link]=yes
	}
	for i in "${!CONF_ERRORS[@]}"; do F[conf.error.$i]=${CONF_ERRORS[i]}; done
	for i in "${!CONF_WARNINGS[@]}"; do F[conf.warning.$i]=${CONF_WARNINGS[i]}; done
}

# detail_word: sets STATUS_WORD: whole, rebuilding, resyncing, degraded, disks-only, stopped,
# half-assembled, broken, misconfigured. From the facts alone.
detail_word() {
	local LOST LACKING
	STATUS_WORD=whole
	if [[ -n ${F[conf.error.0]-} ]]; then
		STATUS_WORD=misconfigured
	elif ! health_is_whole; then
		case ${F[array.state]}:${F[array.sync]}:${LOST:+yes}${LACKING:+yes} in
		absent:*) STATUS_WORD=stopped ;;
		inactive:*) STATUS_WORD=half-assembled ;;
		broken:*) STATUS_WORD=broken ;;
		active:resync:*) STATUS_WORD=resyncing ;;
		active:recover:* | active:copy:*) STATUS_WORD=rebuilding ;;
		*:yes*) STATUS_WORD=degraded ;;
		*) STATUS_WORD=disks-only ;;
		esac
	fi
}

# detail_look: after summary_array. Beside what is remembered of earlier runs, sets F[unit.text],
# the last word of the array's unit, F[root], and F[ram.out]: who has taken the RAM leg out of the
# running array (memory_floor_note).
detail_look() {
	local MEMORY_NOTE
	need world/systemd notes/memory-floor
	memory_floor_note "${F[name]}"
	F[root]=yes F[unit.text]='' F[ram.out]=$MEMORY_NOTE
	((EUID == 0)) || F[root]=no
	[[ $STATUS_WORD != misconfigured ]] || return 0
	static_remembered
	! systemd_is_running || F[unit.text]=$(systemd_status_text "${F[name]}") || F[unit.text]=''
}
