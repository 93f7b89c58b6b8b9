# What happens to the record when no new one can be written.
# shellcheck shell=bash

need core/log core/paths notes/witness notes/witness-copy

declare -gA F # the facts: decide/facts.list

# witness_take_back: makes the old record vouch for no leg, or deletes it, because some of its legs
# may have left since. Says what is left of it. Returns 1.
witness_take_back() {
	if witness_void "${F[name]}" "${F[uuid]}"; then
		F[witness.generation]=$WITNESS_GENERATION
		log_error "${F[name]}: the record $STATE/${F[name]}.witness vouches for no disk \
leg now; a start may be refused until it can be written"
	elif witness_forget "${F[name]}" 2>/dev/null; then
		F[witness.generation]=$WITNESS_GENERATION
		log_error "${F[name]}: could not write $STATE/${F[name]}.witness; \
a start with a disk leg missing will be refused until it can be written"
	elif witness_take_back_copy_tells_; then
		log_error "${F[name]}: can neither write nor delete $STATE/${F[name]}.witness; its \
second copy $WITNESS_COPY vouches for no disk leg: as long as that can be read, a start may be \
refused, and no disk leg that has left is taken for a good one"
	else
		log_error "${F[name]}: can neither write nor delete $STATE/${F[name]}.witness: \
until that is fixed, do not start this array with a disk leg missing"
	fi
	return 1
}

# witness_take_back_copy_tells_: is the second copy of the record later than the first one, which
# could not be written, and does it vouch for no disk leg?
witness_take_back_copy_tells_() {
	witness_read "${F[name]}" "${F[uuid]}" || :
	[[ $WITNESS_COUNTS == copy && -z ${WITNESS[legs]-} ]]
}
