# The observing ring, for those who show an array that is not whole: what is wrong with it in a
# word, and what takes longer to find out.
# shellcheck shell=bash

need core/paths decide/health observe/static world/md-state

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

# detail_word: sets STATUS_WORD, to one of those in report/states.sh. From the facts alone.
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

# detail_members MD RAM_NODE: of an array whose configuration has errors, so that no disk leg of it
# is known by name: what health_only_copy goes by.
detail_members() {
	local ARRAY_STATE READAUTO LEGS line
	F[members]=0 F[array.unconfigured]='' F[disks.lack]='' F[ram.state]=none
	md_state "$1"
	F[array.state]=$ARRAY_STATE
	md_state_members "$1"
	for line in "${LEGS[@]}"; do
		case $line in
		"$2 in_sync "*) F[ram.state]=in_sync ;;
		*' in_sync '*) F[array.unconfigured]+="${F[array.unconfigured]:+ }${line%% *}" ;;
		esac
	done
}

# detail_look: after summary_array. Beside what is remembered of earlier runs, and of the disk legs
# that have left in this boot, sets F[unit.text], the last word of the array's unit, F[root], and
# F[ram.out]: who has taken the RAM leg out of the running array (memory_floor_note).
detail_look() {
	local MEMORY_NOTE MEMORY_WHY
	need notes/legs-seen notes/memory-floor world/systemd
	memory_floor_note "${F[name]}"
	F[root]=yes F[unit.text]='' F[ram.out]=$MEMORY_NOTE
	[[ -z $MEMORY_WHY ]] || F[ram.full]=$MEMORY_WHY
	((EUID == 0)) || F[root]=no
	[[ $STATUS_WORD != misconfigured ]] || return 0
	static_remembered
	legs_seen_look
	! systemd_is_running || F[unit.text]=$(systemd_status_text "${F[name]}") || F[unit.text]=''
}
