# The history of an array, for people who ask: since when it has been whole, or until when it was,
# and how its RAM leg was rebuilt. No decision depends on it.
# shellcheck shell=bash
#
# /etc/ramraid/state/NAME.lately is one line of words, 0 for what is not known; times are seconds
# since the epoch. read_share_history in report/read-share.sh reads these words into:
#   (the array's UUID)
#   HISTORY_LIFE           which run of the array: the kernel's boot_id (also HISTORY_BOOT), the
#                          array's kernel name, and its number in that boot
#   HISTORY_ENGINE         what has rebuilt its RAM leg last: copy, kernel, none
#   HISTORY_SINCE _UNTIL    when it was found whole, and when no longer
#   HISTORY_REBUILT _SECONDS _RATE
#                          when its RAM leg was rebuilt, how long that took, and how fast it was
#                          (KiB a second)
#   HISTORY_READS _DISK_READS
#                          what had been read by then from the array, and from all disk legs
#                          together (sectors of 512, as /sys/block/*/stat counts)
# The file is beside the witness, so it is still known after a boot that went wrong.

need act/witness-update core/act core/clock core/log core/paths core/text decide/health
need observe/facts report/read-share world/md-state

declare -gA F # the facts: decide/facts.list

# whole_since_update [ended]: writes the history down, after a look at the running array; "ended":
# before the array is stopped. When the RAM leg has just been filled, LOOP_ENGINE says by what, and
# LOOP_FILLING since when (clock). If the file can't be written, says so and goes on.
whole_since_update() {
	local life now=$EPOCHSECONDS changed=''
	[[ -z $DRY_RUN && -n ${F[array.md]} ]] || return 0
	facts_served
	read_share_history
	whole_since_life_
	whole_since_note_ "${1-}"
	whole_since_rebuilt_
	[[ -n $changed ]] || return 0
	act_text "$STATE/${F[name]}.lately" \
		"${F[uuid]} $life $HISTORY_ENGINE $HISTORY_SINCE $HISTORY_UNTIL $HISTORY_REBUILT \
$HISTORY_SECONDS $HISTORY_RATE $HISTORY_READS $HISTORY_DISK_READS"$'\n' ||
		log_notice "${F[name]}: $STATE/${F[name]}.lately could not be written; \
\"ramraid status\" will not know when it was whole"
}

# whole_since_look: looks again after something was done to the running array, and writes down what
# has changed.
whole_since_look() {
	facts_observe
	witness_update_or_go_on
	whole_since_update ''
}

# whole_since_tell_unclean: called before the array is started: says so when the boot in which it
# was last whole ended without a stop of it. A stop writes until when it was whole.
whole_since_tell_unclean() {
	local since
	facts_served
	read_share_history
	((HISTORY_SINCE > 0 && HISTORY_UNTIL == 0)) && [[ $HISTORY_BOOT != "${F[boot]}" ]] ||
		return 0
	printf -v since '%(%F %T)T' "$HISTORY_SINCE"
	log_notice "${F[name]}: was whole since $since, in a run that ended without a stop: \
a power cut, or a crash of the system"
}

# Sets the caller's life to the HISTORY_LIFE of the array that runs now.
whole_since_life_() {
	local MD_RUN
	md_state_run "${F[array.md]}"
	life="${F[boot]:--} ${MD_RUN:-${F[array.md]} 0}"
}

# Sets the caller's changed when the array has become whole, or no longer is. If it was whole in an
# earlier run, that entry is left alone: nobody knows until when.
whole_since_note_() { # ended|""
	local LOST LACKING open=no
	[[ $HISTORY_LIFE != "$life" ]] || ((HISTORY_SINCE == 0 || HISTORY_UNTIL != 0)) || open=yes
	if [[ -z $1 ]] && health_is_whole; then
		[[ $open == no ]] || return 0
		HISTORY_SINCE=$now HISTORY_UNTIL=0 changed=yes
		whole_since_count_
	elif [[ $open == yes ]]; then
		HISTORY_UNTIL=$now changed=yes
	fi
}

whole_since_rebuilt_() {
	local VALUE seconds
	[[ -n ${LOOP_ENGINE-} && ${F[ram.state]} == in_sync ]] || return 0
	clock
	seconds=$((NOW - LOOP_FILLING))
	md_state_read "${F[array.md]}" component_size # KiB
	HISTORY_REBUILT=$now HISTORY_ENGINE=$LOOP_ENGINE HISTORY_SECONDS=$seconds \
		HISTORY_RATE=$((${VALUE:-0} / (seconds > 0 ? seconds : 1)))
	LOOP_ENGINE='' changed=yes
	whole_since_count_
}

# From here on only the reads of the array's users count, not what the rebuild has read from the
# disks.
whole_since_count_() {
	local i sectors
	text_into "${F[array.stat]}" _ _ sectors
	HISTORY_READS=${sectors:-0} HISTORY_DISK_READS=0
	for ((i = 0; i < F[members]; i++)); do
		text_into "${F[leg.$i.stat]}" _ _ sectors
		HISTORY_DISK_READS=$((HISTORY_DISK_READS + ${sectors:-0}))
	done
}
