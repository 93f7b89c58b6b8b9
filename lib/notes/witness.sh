# The witness: what the superblocks of the disks that happen to be present cannot say. It is one
# small file per array, on the root file system, rewritten whenever we change the membership. It
# says which array it is about, which disk legs were in sync last, at which event count, and the RAM
# leg's slot. No leg at all means that the RAM leg was the only good copy. A void witness vouches
# for no leg and says nothing about the last run, but holds what must not be forgotten (left, given,
# seen, doubted). A second copy is on a file system other than the root: when a snapshot puts the
# root file system back to an older state, its witness is older too, and would vouch for a disk that
# has been left behind since.
# shellcheck shell=bash

need config/conf core/act core/lock core/log core/paths core/trust notes/witness-copy
need notes/witness-merge notes/witness-text

declare -gA CONF # of config/conf.sh
declare -gA WITNESS=()
readonly WITNESS_PATIENCE=30 # seconds for another one that writes it
# the highest generation that is written, or believed of a copy
readonly WITNESS_GENERATIONS=999999999999999
# legs that are remembered: as many as md numbers (init_super1() in mdadm's super1.c)
readonly WITNESS_SEEN=384

# witness_read NAME UUID: fills WITNESS (uuid legs events filled ram_slot ram_number generation life
# left given seen doubted departed). Returns 1, with WITNESS_WHY, when there is none to trust: then
# WITNESS is empty or, for a void one, has uuid void was generation life left given seen doubted.
# legs: device UUIDs of the disk legs that were in sync, separated by blanks; empty when only the
# RAM leg was. ram_slot, ram_number: the RAM leg's slot and device number, or empty. filled: the
# event count at which every slot was last seen filled. Version 0.1.0 wrote only legs, events,
# ram_slot and generation. left: with no legs, those that were in sync last. given: legs that a
# person has given up by starting without them. seen: all disk legs that were ever in sync, the
# latest last. doubted: what was in sync, too, but may not have been a disk leg: the device of RAM=,
# and what only a copy has seen. departed: legs that have left ("UUID:EVENTS"), and the most events
# that each can have had by then; with a "+", it may have had more. life: a UUID that a record keeps
# from its beginning; a record that is begun anew has another. Sets WITNESS_KNOWN to the disk legs
# that the record on the root file system names, whatever a copy says.
# Where there is a second copy (notes/witness-copy.sh), the one with the later generation counts:
# WITNESS_COUNTS is own or copy, and WITNESS_SPLIT is yes when the two differ. Generations of two
# lives can't be compared: then neither vouches for a leg. Nor does a copy alone.
witness_read() {
	local -A own=()
	local key why code=0 code_of_copy=0
	WITNESS_COUNTS=own WITNESS_SPLIT=''
	witness_text_read "$STATE/$1.witness" "$2" || code=$?
	witness_known_
	witness_copy_find "$2"
	[[ -n $WITNESS_COPY ]] || return "$code"
	why=$WITNESS_WHY
	for key in "${!WITNESS[@]}"; do own[$key]=${WITNESS[$key]}; done
	witness_text_read "$WITNESS_COPY" "$2" || code_of_copy=$?
	((${WITNESS[generation]-0} <= WITNESS_GENERATIONS)) ||
		witness_text_none "$WITNESS_COPY is damaged" || code_of_copy=$?
	[[ ${WITNESS[generation]-0} == "${own[generation]-0}" ]] || WITNESS_SPLIT=yes
	if witness_merge_is_of_another_life; then
		witness_merge_two_lives "$code" "$code_of_copy" || return
		return 0
	fi
	if ((${WITNESS[generation]-0} > ${own[generation]-0})); then
		WITNESS_COUNTS=copy
		witness_merge_doubt seen doubted
		[[ -n ${own[uuid]-} || $code_of_copy != 0 || -z ${WITNESS[legs]} ]] || {
			witness_merge_copy_alone
			return 1
		}
		return "$code_of_copy"
	fi
	WITNESS=() WITNESS_WHY=$why
	for key in "${!own[@]}"; do WITNESS[$key]=${own[$key]}; done
	return "$code"
}

# witness_known_: sets WITNESS_KNOWN, from the record of the root file system in WITNESS. A record
# from before "doubted" has the device of RAM= among the legs that were seen; then only those that
# were in sync last are known, and the others are doubted.
WITNESS_KNOWN=''
witness_known_() {
	local leg seen='' legs="${WITNESS[legs]-} ${WITNESS[was]-} ${WITNESS[left]-}"
	WITNESS_KNOWN=''
	[[ -n ${WITNESS[uuid]-} ]] || return 0
	[[ -n ${WITNESS[doubted]+noted} || ${CONF[RAM]-} != /dev/* ]] ||
		for leg in ${WITNESS[seen]-}; do
			if [[ " $legs " == *" $leg "* ]]; then
				seen+=${seen:+ }$leg
			else
				WITNESS[doubted]+=${WITNESS[doubted]:+ }$leg
			fi
			WITNESS[seen]=$seen
		done
	for leg in $legs ${WITNESS[seen]-}; do
		[[ " ${WITNESS[doubted]-} $WITNESS_KNOWN " == *" $leg "* ]] ||
			WITNESS_KNOWN+=${WITNESS_KNOWN:+ }$leg
	done
}

# witness_write NAME UUID GENERATION EVENTS RAM_SLOT[:RAM_NUMBER] FILLED ALSO GIVE_UP [LEG…]
# [LEG:[EVENTS]…]: writes the record. LEG: device UUIDs of the disk legs in sync, none when only the
# RAM leg is. LEG:EVENTS: one that has left, when it had no more events than that; if the record has
# a count for it, that stays. LEG: with no count is one that md writes to. GENERATION: that of the
# record that was there when the caller began to look (0: none); if there is another one now,
# nothing is written; empty: any. FILLED=yes: every slot is filled, or may have been. ALSO is in
# sync too, but is not a disk leg. GIVE_UP: legs, separated by blanks, that are given up from now
# on, unless they are in sync. Sets WITNESS_FILLED to the event count at which every slot was last
# filled, and WITNESS_GENERATION and WITNESS_DEPARTED to those of the record that is there
# afterwards. Returns 1 when it can't be made durable, 2 when another one is there.
WITNESS_FILLED='' WITNESS_GENERATION=0 WITNESS_DEPARTED=''
witness_write() { witness_alone_ witness_write_ "$@"; }

# witness_return NAME UUID LEG: notes that md writes to this leg again, so that its event count when
# it left no longer applies. Sets WITNESS_GENERATION and WITNESS_DEPARTED. Returns 1 when it can't
# be made durable.
witness_return() { witness_alone_ witness_return_ "$@"; }

# witness_void NAME UUID: makes the record vouch for no leg from now on. If it says that only the
# RAM leg was good, that stays, because then nothing is started that lacks anything. Legs that are
# to be given up wait for a record that can be made. Returns 1 when it can't be made durable.
witness_void() { witness_alone_ witness_void_ "$@"; }

# witness_leave NAME UUID: as witness_void, for an array that ramraid no longer looks after: from
# here on, nobody writes down what becomes of it. So not even "was" is kept, and void is 2, so that
# no look of a monitor makes the record vouch again. witness_take_up NAME UUID: ramraid looks after
# the array again, and the next look may make the record vouch.
witness_leave() { witness_alone_ witness_void_ "$1" "$2" leave; }
witness_take_up() { witness_alone_ witness_take_up_ "$@"; }

# The monitor of the array may write the record at the same moment, and neither writer may lose what
# the other adds.
witness_alone_() { # FUNCTION NAME…
	local lock code=0 TEXT
	if [[ -z $DRY_RUN ]] && ! {
		paths_run &&
			lock_take lock "$LOCKS/witness.$2" --timeout "$WITNESS_PATIENCE"
	} 2>/dev/null; then
		log_warning "$2: its record is written without the lock $LOCKS/witness.$2"
	fi
	witness_text_raw "$STATE/$2.witness"
	"$@" || code=$?
	[[ -z ${lock-} ]] || exec {lock}>&-
	return "$code"
}

witness_write_() {
	local name=$1 uuid=$2 seen_generation=$3 events=$4 slot=${5%%:*} ram_number='' left='' \
		full=$6 also=$7 give_up=$8 filled given seen=() doubted=() generation life \
		legs=() departed=() leg
	[[ $5 != *:* ]] || ram_number=${5#*:}
	for leg in "${@:9}"; do
		if [[ $leg == *:* ]]; then departed+=("$leg"); else legs+=("$leg"); fi
	done
	set -- "${legs[@]}"
	witness_read "$name" "$uuid" || : # none yet: this is the first generation
	WITNESS_GENERATION=${WITNESS[generation]:-0} WITNESS_DEPARTED=${WITNESS[departed]-}
	[[ ${seen_generation:-$WITNESS_GENERATION} == "$WITNESS_GENERATION" ]] || return 2
	(($# > 0)) || left=${WITNESS[legs]:-${WITNESS[left]-}}
	# If no count is recorded, the current one is the latest that it can have been.
	filled=${WITNESS[filled]:-$events}
	[[ -z $full ]] || filled=$events
	WITNESS_FILLED=$filled
	# Nobody looks after the array (witness_leave), so nothing is written, with two exceptions:
	# that only the RAM leg is good, which vouches for no disk, and that legs are given up,
	# since then a person starts the array.
	[[ ${WITNESS[void]-} != 2 || -n ${give_up// /} ]] || (($# == 0)) || return 0
	witness_remembered_ "$also" "$give_up" "$@"
	WITNESS_DEPARTED=${departed[*]}
	# Nothing has changed, so spare the root file system a write at every look.
	[[ $WITNESS_COUNTS != own || ${WITNESS[legs]-none} != "$*" ||
		${WITNESS[left]-} != "$left" || ${WITNESS[given]-} != "$given" ||
		${WITNESS[seen]-}:${WITNESS[doubted]-} != "${seen[*]}:${doubted[*]}" ||
		${WITNESS[departed]-} != "${departed[*]}" ||
		${WITNESS[life]-} != "$life" ||
		${WITNESS[events]-}:${WITNESS[filled]-} != "$events:$filled" ||
		${WITNESS[ram_slot]-}:${WITNESS[ram_number]-} != "$slot:$ram_number" ]] || {
		[[ -z $WITNESS_SPLIT ]] || witness_copy_put "$(<"$STATE/$name.witness")"
		return 0
	}
	witness_lines_ "$name" "uuid=$uuid" "legs=$*" "events=$events" "filled=$filled" \
		"ram_slot=$slot" ${ram_number:+"ram_number=$ram_number"} "generation=$generation"
}

witness_return_() { # NAME UUID LEG
	local left given seen=() doubted=() departed=("$3:") generation life void=''
	witness_read "$1" "$2" || void=yes # it has no counts
	WITNESS_GENERATION=${WITNESS[generation]:-0} WITNESS_DEPARTED=${WITNESS[departed]-}
	[[ -z $void && " $WITNESS_DEPARTED " == *" $3:"* ]] || return 0
	left=${WITNESS[left]-}
	# shellcheck disable=SC2086 # UUIDs
	witness_remembered_ '' '' ${WITNESS[legs]}
	WITNESS_DEPARTED=${departed[*]}
	witness_same_lines_ "$1" "$2"
}

# witness_same_lines_ NAME UUID: writes the record in WITNESS again, with what the caller remembers.
witness_same_lines_() {
	witness_lines_ "$1" "uuid=$2" "legs=${WITNESS[legs]}" "events=${WITNESS[events]}" \
		"filled=${WITNESS[filled]-}" "ram_slot=${WITNESS[ram_slot]-}" \
		${WITNESS[ram_number]:+"ram_number=${WITNESS[ram_number]}"} \
		"generation=$generation"
}

# The legs do not become "left": one of them may have gone since, long before the last. "was" has
# them for one question only: whether what something else has started is even older
# (foreign_start_judge).
witness_void_() { # NAME UUID [leave]
	local void was
	if witness_read "$1" "$2" && [[ -z ${WITNESS[legs]} ]]; then
		WITNESS_GENERATION=${WITNESS[generation]}
		[[ $WITNESS_COUNTS == own ]] || witness_void_own_ "$@"
		return
	fi
	WITNESS_GENERATION=${WITNESS[generation]:-0}
	[[ -z ${WITNESS[void]-} || -n $WITNESS_SPLIT ||
		(-n ${3-} && ${WITNESS[void]-} != 2) ]] || return 0
	void=${WITNESS[void]:-1} was=${WITNESS[legs]-}
	[[ -z ${3-} ]] || void=2 was=''
	witness_void_lines_ "$1" "$2" "$void" "$was"
}

witness_take_up_() { # NAME UUID
	witness_read "$1" "$2" || :
	WITNESS_GENERATION=${WITNESS[generation]:-0}
	[[ ${WITNESS[void]-} != 2 ]] || witness_void_lines_ "$1" "$2" 1 '' || {
		log_error "$1: its record $STATE/$1.witness could not be written, and still \
vouches for no disk; when that is fixed: ramraid claim $1"
		return 1
	}
}

witness_void_lines_() { # NAME UUID VOID WAS
	local left=${WITNESS[left]-} given seen=() doubted=() departed=() generation life
	# Nobody may have recorded what became of the legs since.
	WITNESS[departed]=''
	witness_remembered_ '' ''
	WITNESS_DEPARTED=''
	witness_lines_ "$1" "uuid=$2" "void=$3" "generation=$generation" "was=$4"
}

# witness_void_own_ NAME UUID: what counts, and is in WITNESS, is a copy that says that only the RAM
# leg was good. The copy may be away at the next read, so the record on the root file system has to
# say so, too. If that can't be written, a record that says the contrary is deleted. Returns 1 when
# a power cut might bring that back.
witness_void_own_() {
	local left=${WITNESS[left]-} given seen=() doubted=() departed=() generation life
	witness_remembered_ '' ''
	witness_same_lines_ "$1" "$2" && return
	WITNESS_GENERATION=$generation # the copy's
	! witness_text_read "$STATE/$1.witness" "$2" || [[ -z ${WITNESS[legs]} ]] ||
		act_put_away "$STATE/$1.witness"
}

# witness_remembered_ ALSO GIVE_UP LEG…: sets the caller's given, seen, doubted, generation and
# life, with these legs in sync; and completes departed (LEG:EVENTS, LEG:).
witness_remembered_() {
	local leg also=$1 give_up=$2
	shift 2
	given='' generation=$((${WITNESS[generation]:-0} + 1)) life=${WITNESS[life]-}
	# No copy beyond that is believed, so the record begins anew.
	((generation <= WITNESS_GENERATIONS)) || generation=1 life=''
	[[ -n $life ]] || { read -r life <"$PROC/sys/kernel/random/uuid"; } 2>/dev/null || :
	for leg in ${WITNESS[given]-} $give_up; do
		[[ " $* $also $given " == *" $leg "* ]] || given+=${given:+ }$leg
	done
	# Version 0.1.0 did not write down which legs had been seen.
	for leg in ${WITNESS[seen]-${WITNESS[legs]-}} "$@"; do
		[[ " ${seen[*]} $also " == *" $leg "* ]] || seen+=("$leg")
	done
	for leg in ${WITNESS[doubted]-} $also; do
		[[ " ${doubted[*]} $* " == *" $leg "* ]] || doubted+=("$leg")
	done
	((${#seen[@]} <= WITNESS_SEEN)) || seen=("${seen[@]: -WITNESS_SEEN}")
	((${#doubted[@]} <= WITNESS_SEEN)) || doubted=("${doubted[@]: -WITNESS_SEEN}")
	witness_departed_ "$@"
}

# witness_departed_ LEG…: completes the caller's departed (LEG:EVENTS, LEG:) with what the record
# has, and takes out of it the legs that are not remembered, that are in sync, or that md writes to.
witness_departed_() {
	local entry here=" $* " new=() known=" ${seen[*]} "
	for entry in "${departed[@]}"; do [[ $entry != *: ]] || here+="${entry%:} "; done
	for entry in ${WITNESS[departed]-} "${departed[@]}"; do
		[[ $here == *" ${entry%:*} "* || $known != *" ${entry%:*} "* ||
			" ${new[*]}" == *" ${entry%:*}:"* ]] || new+=("$entry")
	done
	departed=("${new[@]}")
}

# witness_lines_ NAME LINE…: writes these lines, and the caller's life, left, given, seen, departed
# and doubted, to the record and its copy; doubted even when empty (witness_known_). Then sets
# WITNESS_GENERATION to the caller's generation. Returns 1 when it can't be made durable, and 2 when
# somebody who did not wait for the lock has written the record since (the caller's TEXT).
witness_lines_() {
	local text code=0
	printf -v text '%s\n' "${@:2}" ${life:+"life=$life"} ${left:+"left=$left"} \
		${given:+"given=$given"} ${seen:+"seen=${seen[*]}"} \
		${departed:+"departed=${departed[*]}"} "doubted=${doubted[*]}"
	# Write the copy even so: otherwise an old one would vouch, like the old record, for legs
	# that have left.
	act_text_anyhow "$STATE/$1.witness" "$text" 600 \
		witness_text_is "$STATE/$1.witness" "$TEXT" "$text" || code=$?
	((code < 2)) || return "$code"
	[[ -n $DRY_RUN ]] || ((code != 0)) || WITNESS_GENERATION=$generation
	# The copy comes after the record, because a copy of a later generation says that the root
	# file system has been put back to an older state.
	witness_copy_put "${text%$'\n'}"
	return "$code"
}

# witness_forget NAME: deletes the record and its copy. Called after witness_read. Returns 1 when
# one of them stays: the copy does when the record does, because it may contradict that.
witness_forget() {
	act_put_away "$STATE/$1.witness" && witness_copy_drop || return
	WITNESS_GENERATION=0
}
