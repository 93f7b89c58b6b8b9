# What a sample says of the whole.
# shellcheck shell=bash

# spread_of WHOLE COUNT SUM SQUARES [complete]: the sum of a quantity over WHOLE things, of which
# COUNT were looked at: the sum of theirs is SUM, that of their squares SQUARES. Sets SPREAD_TOTAL
# to it, and SPREAD_MARGIN to how far the truth may be from that, in 95 of 100 cases: twice the
# standard error, and no less than what would have been missed in 5 of 100 (three things of COUNT
# that are SPREAD_MOST each). 0 when all were looked at. With WHOLE up to 10^12.
readonly SPREAD_MOST=4096
spread_of() {
	local variance root floor
	SPREAD_TOTAL=$(($1 * $3 / $2)) SPREAD_MARGIN=0
	[[ -z ${5-} ]] || return 0
	variance=$((($4 - $3 * $3 / $2) / $2))
	# In thousandths, for what is small beside the root.
	root=$(spread_root $((variance * 1000000 / $2)))
	SPREAD_MARGIN=$((2 * $1 * root / 1000)) floor=$((3 * SPREAD_MOST * $1 / $2))
	((SPREAD_MARGIN >= floor)) || SPREAD_MARGIN=$floor
}

# spread_root NUMBER: prints its square root, rounded down (Newton).
spread_root() {
	local x=$1 y=$((($1 + 1) / 2))
	while ((y < x)); do x=$y y=$(((x + $1 / x) / 2)); done
	printf '%s\n' "$x"
}
