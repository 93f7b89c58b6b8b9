# The observing ring, for verbs that only show: what an array is, what its legs have done, and which
# verb has begun and has not ended. For an array that is not whole, it also finds one word for what
# is wrong, and what takes longer to find out. The look that every verb takes is in
# observe/facts.sh.
# shellcheck shell=bash

need config/conf core/lock core/log core/paths decide/health notes/adopted notes/ram-out
need notes/removals notes/watched observe/facts world/md-state

declare -gA F # the facts: decide/facts.list

# summary_array NAME: fills F, sets STATUS_WORD. Returns 3 when there is no such array.
summary_array() {
	local code=0
	conf_load "$1" || code=$?
	((code != 3)) || return "$EX_INACTIVE"
	if ((code == 0)); then
		facts_of_conf "$1"
		facts_observe
		facts_served
		summary_unfinished "$1"
		STATUS_WORD=whole
		health_is_whole || STATUS_WORD=''
		[[ -z $STATUS_WORD || ${#CONF_WARNINGS[@]} -gt 0 ]] || return 0
	fi
	summary_conf_ "$1" "$code"
	((code == 0)) || summary_unfinished "$1"
	summary_word
}

# summary_unfinished NAME: sets F[unfinished], and what belongs to it. After conf_load. It starts no
# process unless there is such a verb, because "status" calls it for every array.
summary_unfinished() {
	local RELEASING code=0
	F[unfinished.undone]='' F[unfinished.leaving]='' F[unfinished.new]=''
	adopted_releasing_read "$1"
	F[unfinished]=$RELEASING
	if adopted_read "$1" &&
		[[ ${ADOPTED[done]-} == no && ${ADOPTED[uuid]-} == "${CONF[UUID]-none}" ]]; then
		F[unfinished.undone]=yes
		F[unfinished]=${RELEASING:-adopt}
	fi
	[[ -n ${F[unfinished]} ]] || summary_leaving_ "$1"
	[[ -n ${F[unfinished]} ]] || return 0
	lock_is_free "$LOCKS/work.$1" || code=$?
	((code != 1)) || F[unfinished]='' # only root can tell
}

summary_leaving_() { # NAME
	local LEAVING REMOVALS_KEPT
	local -A REMOVALS_FOR
	removals_read "$1" "${CONF[UUID]-none}"
	((${#LEAVING[@]} > 0)) || return 0
	removals_settle "${MEMBERS[@]}"
	((${#LEAVING[@]} > 0)) || return 0
	F[unfinished]=apply
	F[unfinished.leaving]=${LEAVING[*]}
	((${#LEAVING[@]} > 1)) || F[unfinished.new]=${REMOVALS_FOR[${LEAVING[0]}]-}
}

# summary_conf_ NAME CODE: sets the facts on what is wrong with the configuration. After conf_load,
# which returned CODE.
summary_conf_() {
	local i
	(($2 == 0)) || F=()
	for i in "${!CONF_ERRORS[@]}"; do F[conf.error.$i]=${CONF_ERRORS[i]}; done
	for i in "${!CONF_WARNINGS[@]}"; do F[conf.warning.$i]=${CONF_WARNINGS[i]}; done
	(($2 == 0)) || summary_misconfigured "$1"
}

# summary_word: sets STATUS_WORD to one of the words in report/states.sh, from the facts alone.
summary_word() {
	local LOST LACKING
	STATUS_WORD=whole
	if [[ -n ${F[conf.error.0]-} ]]; then
		STATUS_WORD=misconfigured
	elif ! health_is_whole; then
		case ${F[array.state]}:${F[array.sync]}:${LOST:+yes}$LACKING${F[ram.lacks]} in
		absent:*) STATUS_WORD=stopped ;;
		inactive:*) STATUS_WORD=half-assembled ;;
		broken:*) STATUS_WORD=broken ;;
		active:resync:*) STATUS_WORD=resyncing ;;
		active:recover:* | active:copy:*) STATUS_WORD=rebuilding ;;
		active:*:?*) STATUS_WORD=degraded ;;
		*) STATUS_WORD=disks-only ;;
		esac
	fi
}

# summary_is_all: is there nothing to say of a whole array except that it is whole? After
# summary_array.
summary_is_all() {
	[[ -z ${F[conf.warning.0]-}${F[unfinished]-}${F[array.strangers]-}${F[rescue.image]-} &&
		${F[array.known]-} == @(|yes) ]]
}

# summary_misconfigured NAME: sets the facts that health_only_copy uses, and what belongs to them,
# for an array whose configuration has errors, so that no disk leg of it is known by name. A stop
# goes by what the array was started with: for that, it loads CONF. After conf_load, whose errors
# are gone then.
summary_misconfigured() {
	local RAM_PROVIDER RAM_NODE RAM_BYTES NODE
	need config/conf-need notes/claim
	F[name]=$1 F[members]=0 F[conf.root]=no F[array.link]=no F[array.md]='' F[ram.state]=none
	F[array.state]=absent F[array.unconfigured]='' F[disks.lack]=''
	F[rescue.why_not]='' F[rescue.tight]=''
	! claim_is_of_root "$1" || F[conf.root]=yes
	[[ -e $DEV/md/$1 ]] || return 0
	F[array.link]=yes
	need world/disk-find world/ramdisk-note
	disk_find "/dev/md/$1" || return 0
	F[array.md]=$NODE
	ramdisk_note_read "$1"
	[[ -z $RAM_NODE ]] || summary_members_ "$NODE" "$RAM_NODE"
	health_only_copy && conf_need_kept "$1" || return 0
	need observe/rescue-place
	rescue_place_look
}

summary_members_() { # MD RAM_NODE
	local ARRAY_STATE READAUTO LEGS line
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

# summary_monitor: if nothing watches the running array although a start of ours has judged this
# run, sets F[monitor.state] to the state of the unit that should. After summary_array.
summary_monitor() {
	local MONITOR
	[[ ${F[array.state]-} == active && -e $RUN/${F[name]}.watched ]] || return 0
	need world/systemd
	systemd_is_running || return 0
	systemd_monitor "${F[array.md]}"
	[[ $MONITOR != @(inactive|failed|deactivating) ]] || F[monitor.state]=$MONITOR
}

# summary_past: sets what is remembered of earlier runs, and whether something else has started the
# running array, and from which legs (foreign_start_look). Does nothing for an array that is whole,
# if a start of ours has judged this run, or if the kernel does not tell one run from the next: then
# it starts no process. After summary_array.
summary_past() {
	local MD_RUN
	[[ $STATUS_WORD != misconfigured ]] || return 0
	[[ $STATUS_WORD != whole ]] || {
		md_state_run "${F[array.md]}"
		[[ -n $MD_RUN ]] && ! watched_is "${F[array.md]}" || return 0
	}
	need observe/before-look observe/foreign-start
	before_look_remembered
	foreign_start_look
}

# summary_detail: sets what summary_past sets; what is remembered of the disk legs that have left in
# this boot; F[unit.text], the last status line of the array's unit; F[root]; and who has taken the
# RAM leg out of the running array (ram_out_facts). After summary_array.
summary_detail() {
	need notes/legs-seen notes/memory-floor observe/before-look observe/whose world/systemd
	ram_out_facts
	F[root]=yes F[unit.text]=''
	((EUID == 0)) || F[root]=no
	[[ $STATUS_WORD != misconfigured ]] || return 0
	summary_past
	legs_seen_look
	whose_look
	! health_only_copy || {
		need observe/rescue-place
		rescue_place_look
	}
	! systemd_is_running || F[unit.text]=$(systemd_status_text "${F[name]}") || F[unit.text]=''
}
