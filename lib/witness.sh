# The witness: what the superblocks of the disks that happen to be present cannot say. One small file an array, on the root file system,
# rewritten whenever we change the membership: which array, which disk legs were in sync last, at which event count, and the RAM leg's slot.
# No leg at all means: the RAM leg was the only good copy.
# shellcheck shell=bash

declare -gA WITNESS=()
readonly WITNESS_MAX=16384 # bytes

# witness_read NAME UUID: fills WITNESS (uuid legs events ram_slot generation left given); returns 1, with WITNESS_WHY, when there is none to
# trust. legs: device UUIDs of the disk legs that were in sync, separated by blanks; empty when only the RAM leg was. ram_slot: number or
# empty. left: with no legs, those that were in sync last. given: legs that a person has given up by starting without them.
witness_read() {
	local file text line key
	file=$STATE/$1.witness
	WITNESS=() WITNESS_WHY=''
	[[ -f $file && ! -L $file ]] || {
		WITNESS_WHY='there is no record of the last start'
		return 1
	}
	[[ -r $file ]] || {
		WITNESS_WHY="$file cannot be read"
		return 1
	}
	# All of it, but not beyond a NUL byte or what a witness can hold: either is damage.
	if IFS= read -r -d '' -n "$WITNESS_MAX" text <"$file" || [[ $text != *$'\n' ]]; then
		WITNESS_WHY="$file is damaged"
		return 1
	fi
	while IFS= read -r line; do
		[[ $line =~ ^(uuid|legs|events|ram_slot|generation|left|given)=([0-9a-f\ -]*)$ && -z ${WITNESS[${BASH_REMATCH[1]}]+twice} ]] || {
			WITNESS=() WITNESS_WHY="$file is damaged"
			return 1
		}
		key=${BASH_REMATCH[1]}
		WITNESS[$key]=${BASH_REMATCH[2]}
	done <<<"${text%$'\n'}"
	[[ ${WITNESS[uuid]-} == "$2" ]] || {
		WITNESS=() WITNESS_WHY="$file is about another array"
		return 1
	}
	[[ ${WITNESS[events]-} =~ ^(0|[1-9][0-9]{0,17})$ && ${WITNESS[generation]-} =~ ^[1-9][0-9]{0,17}$ && ${WITNESS[ram_slot]-} =~ ^(0|[1-9][0-9]{0,3})?$ && -n ${WITNESS[legs]+there} ]] || {
		WITNESS=() WITNESS_WHY="$file is damaged"
		return 1
	}
}

# witness_write NAME UUID EVENTS RAM_SLOT [LEG…]: LEG = device UUIDs of the disk legs in sync, none when only the RAM leg is. Those in
# WITNESS_GIVE_UP are given up from now on, unless they are in sync. Returns 1 when it can't be made durable.
WITNESS_GIVE_UP=''
witness_write() {
	local name=$1 uuid=$2 events=$3 slot=$4 file generation left='' given='' leg
	shift 4
	file=$STATE/$name.witness
	witness_read "$name" "$uuid" || : # none yet: this is the first generation
	(($# > 0)) || left=${WITNESS[legs]:-${WITNESS[left]-}}
	for leg in ${WITNESS[given]-} $WITNESS_GIVE_UP; do
		[[ " $* $given " == *" $leg "* ]] || given+=${given:+ }$leg
	done
	# Nothing changed but time: sparing the root file system a write at every look.
	[[ ${WITNESS[legs]-none} != "$*" || ${WITNESS[left]-} != "$left" || ${WITNESS[given]-} != "$given" || ${WITNESS[events]-} != "$events" || ${WITNESS[ram_slot]-} != "$slot" ]] || return 0
	generation=$((${WITNESS[generation]:-0} + 1))
	printf '%s\n' "uuid=$uuid" "legs=$*" "events=$events" "ram_slot=$slot" "generation=$generation" ${left:+"left=$left"} ${given:+"given=$given"} | witness_put_ "$file"
}

# witness_put_ FILE: makes it from stdin, atomically. On a full file system it is overwritten in its place, which takes no room: a power cut in
# that moment leaves a damaged one, which is as if there were none.
witness_put_() {
	local text
	text=$(cat)
	act_file "$1" <<<"$text" && return
	[[ -z $DRY_RUN && -f $1 && ! -L $1 ]] || return 1
	printf '%s\n' "$text" | dd of="$1" conv=notrunc,fsync status=none && truncate -s $((${#text} + 1)) -- "$1" && sync "$1"
}
