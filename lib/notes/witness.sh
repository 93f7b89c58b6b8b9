# The witness: what the superblocks of the disks that happen to be present cannot say. One small
# file an array, on the root file system, rewritten whenever we change the membership: which array,
# which disk legs were in sync last, at which event count, and the RAM leg's slot. No leg at all
# means: the RAM leg was the only good copy. A void one vouches for no leg and says nothing of the
# last run, but holds what must not be forgotten all the same (left, given, seen, doubted). A second
# copy is on a file system other than the root: one that is put back to an older state, by a
# snapshot, has an older witness, and that would vouch for a disk that was left behind since.
# shellcheck shell=bash

need config/conf core/act core/lock core/log core/paths core/trust notes/witness-copy
need notes/witness-text

declare -gA CONF # of config/conf.sh
declare -gA WITNESS=()
readonly WITNESS_PATIENCE=30 # seconds for another one that writes it
readonly WITNESS_GENERATIONS=999999999999999
# the highest generation that is written, and that is believed of a copy
readonly WITNESS_SEEN=384
# legs that are remembered: as many as md numbers (super1.c, init_super1, of mdadm)

# witness_read NAME UUID: fills WITNESS (uuid legs events filled ram_slot ram_number generation life
# left given seen doubted); returns 1, with WITNESS_WHY, when there is none to trust: then WITNESS
# is empty, or, of a void one, has uuid void was generation life left given seen doubted. legs:
# device UUIDs of the disk legs that were in sync, separated by blanks; empty when only the RAM leg
# was. ram_slot, ram_number: the RAM leg's slot and device number, or empty. filled: the event count
# at which every slot was last seen filled. Version 0.1.0 wrote no more than legs, events, ram_slot
# and generation. left: with no legs, those that were in sync last. given: legs that a person has
# given up by starting without them. seen: all disk legs that were ever in sync, the latest last.
# doubted: what was in sync, too, but need not have been a disk leg: the device of RAM=, and what
# only a copy has seen. life: a number that a record has from its beginning on; one that begins anew
# has another. WITNESS_KNOWN: the disk legs that the record on the root file system names, whatever
# a copy says.
# Where there is a second copy (notes/witness-copy.sh), the one of the later generation counts:
# WITNESS_COUNTS is own or copy, and WITNESS_SPLIT yes when they differ. Generations of two lives
# can't be compared: then neither vouches for a leg.
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
	if witness_is_of_another_life_; then
		witness_of_two_lives_ "$code" "$code_of_copy" || return
		return 0
	fi
	if ((${WITNESS[generation]-0} > ${own[generation]-0})); then
		WITNESS_COUNTS=copy
		witness_doubt_ seen doubted
		return "$code_of_copy"
	fi
	WITNESS=() WITNESS_WHY=$why
	for key in "${!own[@]}"; do WITNESS[$key]=${own[$key]}; done
	return "$code"
}

# witness_known_: sets WITNESS_KNOWN, from the record of the root file system in WITNESS. What was
# written before "doubted" has the device of RAM= among the legs that were seen: then those that
# were in sync last are known, and no others.
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

# witness_is_of_another_life_: has the copy in WITNESS nothing to do with the caller's own? One
# without a life may be what an earlier version has left behind, but not if it is the later one.
witness_is_of_another_life_() {
	[[ -n ${own[life]-} && ${own[life]} != "${WITNESS[life]-}" ]] &&
		{ [[ -n ${WITNESS[life]-} ]] || ((${WITNESS[generation]-0} > own[generation])); }
}

# witness_doubt_ KEY…: sets seen, and doubted, of the copy in WITNESS: whoever can put a file there
# can name any disk in it, so what the copy has under these keys is remembered, and makes no disk
# known that the caller's own does not know.
witness_doubt_() {
	local leg key seen=${own[seen]-} doubted=${own[doubted]-}
	for key; do
		for leg in ${WITNESS[$key]-}; do
			[[ " $seen $doubted " != *" $leg "* ]] || continue
			if [[ " $WITNESS_KNOWN " == *" $leg "* ]]; then
				seen+=${seen:+ }$leg
			else
				doubted+=${doubted:+ }$leg
			fi
		done
	done
	WITNESS[seen]=$seen WITNESS[doubted]=$doubted
}

# witness_of_two_lives_ CODE-OF-OWN CODE-OF-COPY: the caller's own, and the copy in WITNESS, become
# one that is void: one of them has begun while the other was out of sight, and which was written
# last is not known. But if one says that only the RAM leg was good, that stays (witness_void); of
# what the copy says of that, no more than the event count, by which nothing is started.
witness_of_two_lives_() {
	local key events=''
	WITNESS_SPLIT=yes
	(($2 != 0)) || [[ -n ${WITNESS[legs]} ]] || events=${WITNESS[events]}
	witness_doubt_ seen doubted legs was left
	# A leg that was given up in either of them is.
	own[given]="${own[given]-}${WITNESS[given]:+ ${WITNESS[given]}}"
	own[given]=${own[given]# } own[seen]=${WITNESS[seen]} own[doubted]=${WITNESS[doubted]}
	if (($1 == 0)) && [[ -z ${own[legs]} ]]; then
		WITNESS=()
		for key in "${!own[@]}"; do WITNESS[$key]=${own[$key]}; done
		return 0
	fi
	WITNESS=([uuid]=${own[uuid]} [generation]=${own[generation]} [life]=${own[life]}
		[left]=${own[left]-} [given]=${own[given]} [seen]=${own[seen]}
		[doubted]=${own[doubted]})
	[[ -z $events ]] || {
		WITNESS_COUNTS=copy
		WITNESS[legs]='' WITNESS[events]=$events
		return 0
	}
	WITNESS[void]=${own[void]:-1} WITNESS[was]=${own[legs]:-${own[was]-}}
	WITNESS_WHY="its two copies have nothing to do with each other: one was begun anew while \
the other could not be seen"
	return 1
}

# witness_write NAME UUID GENERATION EVENTS RAM_SLOT[:RAM_NUMBER] FILLED ALSO GIVE_UP [LEG…]: LEG
# = device UUIDs of the disk legs in sync, none when only the RAM leg is. GENERATION: of the record
# that was there when the caller began to look (0: none); if another one is there now, nothing
# is written; empty: whichever. FILLED=yes: every slot is filled, or may have been. ALSO is in sync
# too, and no disk leg. Those in GIVE_UP, separated by blanks, are given up from now on, unless they
# are in sync. Sets WITNESS_FILLED to the count at which every slot was last filled, and
# WITNESS_GENERATION to that of the record that is there afterwards. Returns 1 when it can't be
# made durable, 2 when another one is there.
WITNESS_FILLED='' WITNESS_GENERATION=0
witness_write() { witness_alone_ witness_write_ "$@"; }

# witness_void NAME UUID: what is written down vouches for no leg from now on. That only the RAM leg
# was good stays: nothing is started by that which lacks anything. Who is to be given up waits for a
# record that can be made. Returns 1 when it can't be made durable.
witness_void() { witness_alone_ witness_void_ "$@"; }

# witness_leave NAME UUID: as witness_void, of an array that ramraid no longer looks after: what
# becomes of it from here on, nobody writes down. So not even "was" is kept, and void is 2: no look
# of a monitor makes the record vouch again. witness_take_up NAME UUID: from now on it is looked
# after again, and the next look may.
witness_leave() { witness_alone_ witness_void_ "$1" "$2" leave; }
witness_take_up() { witness_alone_ witness_take_up_ "$@"; }

# The monitor of the array may write it at the same moment: what the one adds must not be lost in
# the other's text.
witness_alone_() { # FUNCTION NAME…
	local lock code=0
	if [[ -z $DRY_RUN ]] && ! {
		paths_run &&
			lock_take lock "$LOCKS/witness.$2" --timeout "$WITNESS_PATIENCE"
	} 2>/dev/null; then
		log_warning "$2: its record is written without the lock $LOCKS/witness.$2"
	fi
	"$@" || code=$?
	[[ -z ${lock-} ]] || exec {lock}>&-
	return "$code"
}

witness_write_() {
	local name=$1 uuid=$2 seen_generation=$3 events=$4 slot=${5%%:*} ram_number='' left='' \
		full=$6 also=$7 give_up=$8 filled given seen=() doubted=() generation life
	[[ $5 != *:* ]] || ram_number=${5#*:}
	shift 8
	witness_read "$name" "$uuid" || : # none yet: this is the first generation
	WITNESS_GENERATION=${WITNESS[generation]:-0}
	[[ ${seen_generation:-$WITNESS_GENERATION} == "$WITNESS_GENERATION" ]] || return 2
	(($# > 0)) || left=${WITNESS[legs]:-${WITNESS[left]-}}
	# Not known what was before: now is the latest that it can have been.
	filled=${WITNESS[filled]:-$events}
	[[ -z $full ]] || filled=$events
	WITNESS_FILLED=$filled
	# Nobody looks after it (witness_leave). That only the RAM leg is good vouches for no disk,
	# and who gives legs up is a person who starts it.
	[[ ${WITNESS[void]-} != 2 || -n ${give_up// /} ]] || (($# == 0)) || return 0
	witness_remembered_ "$also" "$give_up" "$@"
	# Nothing changed but time: sparing the root file system a write at every look.
	[[ $WITNESS_COUNTS != own || ${WITNESS[legs]-none} != "$*" ||
		${WITNESS[left]-} != "$left" || ${WITNESS[given]-} != "$given" ||
		${WITNESS[seen]-}:${WITNESS[doubted]-} != "${seen[*]}:${doubted[*]}" ||
		${WITNESS[life]-} != "$life" ||
		${WITNESS[events]-}:${WITNESS[filled]-} != "$events:$filled" ||
		${WITNESS[ram_slot]-}:${WITNESS[ram_number]-} != "$slot:$ram_number" ]] || {
		[[ -z $WITNESS_SPLIT ]] || witness_copy_put "$(<"$STATE/$name.witness")"
		return 0
	}
	witness_lines_ "$name" "uuid=$uuid" "legs=$*" "events=$events" "filled=$filled" \
		"ram_slot=$slot" ${ram_number:+"ram_number=$ram_number"} "generation=$generation"
}

# Its legs do not become left: one of them may have gone since, long before the last. "was" has them
# for one question alone, whether what something else has started is older still
# (witness_update_foreign_start).
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
		log_error "$1: its record $STATE/$1.witness could not be written, and goes on \
vouching for no disk; when that is mended: ramraid claim $1"
		return 1
	}
}

witness_void_lines_() { # NAME UUID VOID WAS
	local left=${WITNESS[left]-} given seen=() doubted=() generation life
	witness_remembered_ '' ''
	witness_lines_ "$1" "uuid=$2" "void=$3" "generation=$generation" "was=$4"
}

# witness_void_own_ NAME UUID: what counts, in WITNESS, is a copy by which only the RAM leg was
# good. The copy may be away when somebody reads the next time, so the record says it, too; if that
# can't be written, what says the contrary is deleted.
witness_void_own_() {
	local left=${WITNESS[left]-} given seen=() doubted=() generation life
	witness_remembered_ '' ''
	witness_lines_ "$1" "uuid=$2" legs= "events=${WITNESS[events]}" \
		"filled=${WITNESS[filled]-}" "ram_slot=${WITNESS[ram_slot]-}" \
		${WITNESS[ram_number]:+"ram_number=${WITNESS[ram_number]}"} \
		"generation=$generation" && return
	WITNESS_GENERATION=$generation # the copy's
	! witness_text_read "$STATE/$1.witness" "$2" || [[ -z ${WITNESS[legs]} ]] ||
		rm -f -- "$STATE/$1.witness"
}

# witness_remembered_ ALSO GIVE_UP LEG…: sets the caller's given, seen, doubted, generation and
# life, with these legs in sync.
witness_remembered_() {
	local leg also=$1 give_up=$2
	shift 2
	given='' generation=$((${WITNESS[generation]:-0} + 1)) life=${WITNESS[life]-}
	# Beyond that no copy is read: the record begins anew.
	((generation <= WITNESS_GENERATIONS)) || generation=1 life=''
	[[ -n $life ]] || { read -r life <"$PROC/sys/kernel/random/uuid"; } 2>/dev/null || :
	for leg in ${WITNESS[given]-} $give_up; do
		[[ " $* $also $given " == *" $leg "* ]] || given+=${given:+ }$leg
	done
	for leg in ${WITNESS[seen]-} "$@"; do
		[[ " ${seen[*]} $also " == *" $leg "* ]] || seen+=("$leg")
	done
	for leg in ${WITNESS[doubted]-} $also; do
		[[ " ${doubted[*]} $* " == *" $leg "* ]] || doubted+=("$leg")
	done
	((${#seen[@]} <= WITNESS_SEEN)) || seen=("${seen[@]: -WITNESS_SEEN}")
	((${#doubted[@]} <= WITNESS_SEEN)) || doubted=("${doubted[@]: -WITNESS_SEEN}")
}

# witness_lines_ NAME LINE…: these, and the caller's life, left, given, seen and doubted, which is
# there also when it is empty (witness_known_); the caller's generation is there from then on.
witness_lines_() {
	local text code=0
	printf -v text '%s\n' "${@:2}" ${life:+"life=$life"} ${left:+"left=$left"} \
		${given:+"given=$given"} ${seen:+"seen=${seen[*]}"} "doubted=${doubted[*]}"
	# The copy all the same: else an old one would vouch, like the old record, for what has
	# left.
	act_text_anyhow "$STATE/$1.witness" "${text%$'\n'}"$'\n' 600 || code=1
	[[ -n $DRY_RUN ]] || ((code != 0)) || WITNESS_GENERATION=$generation
	# After it: a copy of a later generation says that the root file system has been put back to
	# an older state.
	witness_copy_put "${text%$'\n'}"
	return "$code"
}

# witness_forget NAME: there is none any more, nor a copy of it. After witness_read. Returns 1 when
# one of them stays: the copy does when the first one does, which it may contradict.
witness_forget() {
	rm -f -- "$STATE/$1.witness" && witness_copy_drop || return
	WITNESS_GENERATION=0
}
