# Which verb has begun to make an array ours, or no longer ours, and has not ended: for those who
# show it (report/unfinished.sh has the words).
# shellcheck shell=bash

need config/conf notes/adopted

declare -gA F # the facts: decide/facts.list

# unfinished_look NAME: sets F[unfinished] and F[unfinished.undone]. After conf_load. Without a
# process: "status" asks it of every array.
unfinished_look() {
	local RELEASING
	F[unfinished.undone]='' F[unfinished]=''
	adopted_releasing_read "$1"
	F[unfinished]=$RELEASING
	adopted_read "$1" || return 0
	[[ ${ADOPTED[done]-} == no && ${ADOPTED[uuid]-} == "${CONF[UUID]-none}" ]] || return 0
	F[unfinished.undone]=yes
	[[ -n $RELEASING ]] || F[unfinished]=adopt
}
