# The witness: what the superblocks of the disks that happen to be present cannot say. One small file an array, on the root file system,
# rewritten whenever we change the membership: which array, which disk legs were in sync last, at which event count, and the RAM leg's slot.
# No leg at all means: the RAM leg was the only good copy.
# shellcheck shell=bash

declare -gA WITNESS=()
readonly WITNESS_MAX=16384 # bytes

# witness_read NAME UUID: fills WITNESS (uuid legs events ram_slot generation); returns 1, with WITNESS_WHY, when there is none to trust.
# legs: device UUIDs of the disk legs that were in sync, separated by blanks; empty when only the RAM leg was. ram_slot: number or empty.
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
		[[ $line =~ ^(uuid|legs|events|ram_slot|generation)=([0-9a-f\ -]*)$ && -z ${WITNESS[${BASH_REMATCH[1]}]+twice} ]] || {
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

# witness_write NAME UUID EVENTS RAM_SLOT [LEG…]: LEG = device UUIDs of the disk legs in sync, none when only the RAM leg is. Returns 1 when it can't be made durable.
witness_write() {
	local name=$1 uuid=$2 events=$3 slot=$4 file generation
	shift 4
	file=$STATE/$name.witness
	witness_read "$name" "$uuid" || : # none yet: this is the first generation
	# Nothing changed but time: sparing the root file system a write at every look.
	[[ ${WITNESS[legs]-none} != "$*" || ${WITNESS[events]-} != "$events" || ${WITNESS[ram_slot]-} != "$slot" ]] || return 0
	generation=$((${WITNESS[generation]:-0} + 1))
	printf '%s\n' "uuid=$uuid" "legs=$*" "events=$events" "ram_slot=$slot" "generation=$generation" | act_file "$file" 644
}
