# Numbers that stand in files of ours.
# shellcheck shell=bash

# number_or VARIABLE DEFAULT: what a file of ours has given stays when it is a number (decimal, 18
# digits at most); else it becomes DEFAULT. Before anything is calculated with it: bash evaluates
# what stands in a variable, and the index of an array in it runs a program.
number_or() {
	local -n number_or_=$1
	if [[ ${number_or_-} =~ ^0*([0-9]{1,18})$ ]]; then
		number_or_=${BASH_REMATCH[1]} number_or_=$((10#$number_or_))
	else number_or_=$2; fi
}
# number_in FILE DEFAULT: sets NUMBER to the first word of a file, likewise.
number_in() {
	NUMBER=''
	{ read -r NUMBER _ <"$1"; } 2>/dev/null || :
	number_or NUMBER "$2"
}
