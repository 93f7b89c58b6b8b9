# What has lately become of an array, for people who ask: since when it is whole or until when it was, and how its RAM leg was rebuilt. Nothing is
# decided by it.
# shellcheck shell=bash
#
# /etc/ramraid/state/NAME.lately is one line of words, 0 for what is not known; times are seconds since the epoch. lately_words in served.sh makes of it:
#   (the array's UUID)
#   LATELY_LIFE            which life of it: the kernel's boot_id (also LATELY_BOOT), its name, and its number in that boot
#   LATELY_ENGINE          what has rebuilt its RAM leg last: copy, kernel, none
#   LATELY_SINCE _UNTIL    when it was found whole, and when no longer
#   LATELY_REBUILT _SECONDS _RATE   when its RAM leg was rebuilt, how long that took, and how fast it was (KiB a second)
#   LATELY_READS _DISK_READS   what had been read by then from the array, and from all disk legs together (sectors of 512, as
#                          /sys/block/*/stat counts)
# It lies beside the witness, so that it is still known after a boot that went wrong.

declare -gA F # the facts: decide.sh and look.sh list the keys

# lately_note [ended]: after a look at the running array; "ended": before it is stopped. When the RAM leg has just been filled, DRIVE_ENGINE says by
# what, DRIVE_FILLING since when (clock). That it can't be written is said, and changes nothing.
lately_note() {
	local life now=$EPOCHSECONDS changed=''
	[[ -z $DRY_RUN && -n ${F[array.md]} ]] || return 0
	facts_served
	lately_words
	lately_life_
	lately_whole_ "${1-}"
	lately_rebuilt_
	[[ -n $changed ]] || return 0
	act_file "$STATE/${F[name]}.lately" <<<"${F[uuid]} $life $LATELY_ENGINE $LATELY_SINCE $LATELY_UNTIL $LATELY_REBUILT $LATELY_SECONDS $LATELY_RATE $LATELY_READS $LATELY_DISK_READS" ||
		log_notice "${F[name]}: $STATE/${F[name]}.lately could not be written; \"ramraid status\" will not know when it was whole"
}

# Sets the caller's life to what LATELY_LIFE is of the array that is running.
lately_life_() {
	local MD_RUN
	md_run "${F[array.md]}"
	life="${F[boot]:--} ${MD_RUN:-${F[array.md]} 0}"
}

# Sets the caller's changed when it has become whole, or no longer is. What was whole in an earlier life is left alone: until when, nobody knows.
lately_whole_() { # ended|""
	local LOST LACKING open=no
	[[ $LATELY_LIFE != "$life" ]] || ((LATELY_SINCE == 0 || LATELY_UNTIL != 0)) || open=yes
	if [[ -z $1 ]] && decide_is_whole; then
		[[ $open == no ]] || return 0
		LATELY_SINCE=$now LATELY_UNTIL=0 changed=yes
		lately_count_
	elif [[ $open == yes ]]; then
		LATELY_UNTIL=$now changed=yes
	fi
}

lately_rebuilt_() {
	local VALUE seconds
	[[ -n ${DRIVE_ENGINE-} && ${F[ram.state]} == in_sync ]] || return 0
	clock
	seconds=$((NOW - DRIVE_FILLING))
	md_read "${F[array.md]}" component_size # KiB
	LATELY_REBUILT=$now LATELY_ENGINE=$DRIVE_ENGINE LATELY_SECONDS=$seconds LATELY_RATE=$((${VALUE:-0} / (seconds > 0 ? seconds : 1)))
	DRIVE_ENGINE='' changed=yes
	lately_count_
}

# What is read from here on is the array's users'; what the rebuild has read of the disks is not.
lately_count_() {
	local i sectors
	read -r _ _ sectors _ <<<"${F[array.stat]}"
	LATELY_READS=${sectors:-0} LATELY_DISK_READS=0
	for ((i = 0; i < F[members]; i++)); do
		read -r _ _ sectors _ <<<"${F[leg.$i.stat]}"
		LATELY_DISK_READS=$((LATELY_DISK_READS + ${sectors:-0}))
	done
}
