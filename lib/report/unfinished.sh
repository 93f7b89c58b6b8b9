# The words for a verb that has begun and has not ended, for "status" and "check". From the facts
# alone.
# shellcheck shell=bash

need core/paths notes/adopted

declare -gA F # the facts: decide/facts.list

# unfinished_words: sets UNFINISHED to the word of "check" for it (adopt-unfinished,
# release-unfinished), UNFINISHED_EXPECTED, UNFINISHED_FOUND and UNFINISHED_ACTION; UNFINISHED is
# empty when nothing is.
unfinished_words() {
	local name=${F[name]} md=${F[array.md]-}
	UNFINISHED='' UNFINISHED_FOUND='one that has begun' UNFINISHED_ACTION=''
	case ${F[unfinished]-} in
	adopt)
		UNFINISHED=adopt-unfinished UNFINISHED_EXPECTED='an adoption to be complete'
		[[ -n $md ]] && md=/dev/$md || md=ARRAY
		UNFINISHED_ACTION="ramraid adopt $name $md; or back: ramraid release $name"
		;;
	release | destroy)
		UNFINISHED=release-unfinished UNFINISHED_EXPECTED="a ${F[unfinished]} to be complete"
		UNFINISHED_ACTION="ramraid ${F[unfinished]} $name"
		[[ ${F[array.state]-} != active ]] || unfinished_keep_
		;;
	esac
}

# How to keep a mirror that runs: the note may have come back with a backup of /etc. A release first
# notes that what "adopt" or "create" has done is not done any more, and a destroy ends with an
# array that does not run; so without that the note is an old one, and goes.
unfinished_keep_() {
	local keep
	keep="rm $(adopted_releasing_file "${F[name]}")"
	if [[ ${F[unfinished]} == destroy ]]; then
		UNFINISHED_ACTION="to keep the array, which runs: $keep; \
else, and all on it is lost: $UNFINISHED_ACTION"
	elif [[ ${F[unfinished.undone]-} == yes ]]; then
		UNFINISHED_ACTION+="; or, to keep the mirror: ramraid adopt ${F[name]} /dev/${F[array.md]}"
	else
		UNFINISHED_ACTION+="; or, to keep the mirror, if an old backup of /etc has brought the \
note back: $keep"
	fi
}
