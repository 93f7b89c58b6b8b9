# The words for the states of an array and of a leg, in the order in which they are listed, and the
# colour of each at a terminal; man/ramraid-status.8.adoc says what they mean. Also the words that
# "status" and "check" use for a verb that has begun and not ended, from the facts alone.
# shellcheck shell=bash

need core/paths notes/adopted notes/removals

declare -gA F # the facts: decide/facts.list

readonly STATES_ARRAY='whole rebuilding resyncing degraded disks-only stopped half-assembled broken misconfigured'
readonly STATES_LEG='in_sync recovering faulty attached outside missing' # health_leg
declare -grA STATES_COLOUR=(
	[whole]=32 [rebuilding]=33 [resyncing]=33 [degraded]='1;31' ['disks-only']=33
	[stopped]='1;31'
	['half-assembled']='1;31' [broken]='1;31' [misconfigured]='1;31'
	[recovering]=33 [faulty]='1;31' [attached]=33 [outside]='1;31' [missing]='1;31'
)

# states_unfinished: sets UNFINISHED to the word of "check" for a verb that has not ended
# (adopt-unfinished, apply-unfinished, release-unfinished), UNFINISHED_EXPECTED, UNFINISHED_FOUND
# and UNFINISHED_ACTION. UNFINISHED is empty when there is none.
states_unfinished() {
	local name=${F[name]} md=${F[array.md]-}
	UNFINISHED='' UNFINISHED_FOUND='an unfinished one' UNFINISHED_ACTION=''
	case ${F[unfinished]-} in
	adopt)
		UNFINISHED=adopt-unfinished UNFINISHED_EXPECTED='an adoption to be complete'
		[[ -n $md ]] && md=/dev/$md || md=ARRAY
		UNFINISHED_ACTION="ramraid adopt $name $md; or back: ramraid release $name"
		;;
	release | destroy)
		UNFINISHED=release-unfinished
		UNFINISHED_EXPECTED="a ${F[unfinished]} to be complete"
		UNFINISHED_ACTION="ramraid ${F[unfinished]} $name"
		[[ ${F[array.state]-} != active ]] || states_unfinished_keep_
		;;
	apply) states_unfinished_leaving_ ;;
	esac
}

states_unfinished_leaving_() {
	local name=${F[name]} disks=${F[unfinished.leaving]-}
	UNFINISHED=apply-unfinished UNFINISHED_EXPECTED='a change of the disks to be complete'
	UNFINISHED_FOUND="an unfinished one, in which $disks will leave"
	UNFINISHED_ACTION="ramraid apply $name; or, to keep $disks: "
	if [[ -n ${F[unfinished.new]-} ]]; then
		UNFINISHED_ACTION+="ramraid replace $name ${F[unfinished.new]} $disks"
	else
		UNFINISHED_ACTION+="rm $(removals_file "$name")"
	fi
}

# Says how to keep a mirror that runs: the note may have come back with a backup of /etc. A release
# first notes that what "adopt" or "create" did is undone; without that, the note is an old one, and
# goes. So does the note of a destroy: the array runs, and a destroy ends with one that does not.
states_unfinished_keep_() {
	local keep
	keep="rm $(adopted_releasing_file "${F[name]}")"
	if [[ ${F[unfinished]} == destroy ]]; then
		UNFINISHED_ACTION="to keep the array, which runs: $keep; \
else, and all on it is lost: $UNFINISHED_ACTION"
	elif [[ ${F[unfinished.undone]-} == yes ]]; then
		UNFINISHED_ACTION+="; or, to keep the mirror: \
ramraid adopt ${F[name]} /dev/${F[array.md]}"
	else
		UNFINISHED_ACTION+="; or, to keep the mirror, if an old backup of /etc has brought \
the note back: $keep"
	fi
}
