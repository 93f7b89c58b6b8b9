# A mistyped word, and what it may have been meant for.
# shellcheck shell=bash

readonly SUGGEST_MOST=32 # characters; a longer word is compared with nothing

# suggest WORD CANDIDATE…: sets SUGGESTION to the candidate that the fewest slips lead to: a
# letter too many, too few, wrong, or changed places with the next. Empty when that takes more than
# a slip for every three letters.
suggest() {
	local word=$1 candidate best SLIPS
	SUGGESTION=''
	shift
	((${#word} > 0 && ${#word} <= SUGGEST_MOST)) || return 0
	best=$(((${#word} + 2) / 3 + 1))
	for candidate; do
		((${#candidate} > 0 && ${#candidate} <= SUGGEST_MOST)) || continue
		suggest_slips_ "${word,,}" "${candidate,,}"
		((SLIPS >= best)) || { best=$SLIPS && SUGGESTION=$candidate; }
	done
}

# suggest_slips_ A B: sets SLIPS to how many lead from the one to the other.
suggest_slips_() {
	local a=$1 b=$2 i j cost least
	local -a row=() last=() before=()
	for ((j = 0; j <= ${#b}; j++)); do last[j]=$j; done
	for ((i = 1; i <= ${#a}; i++)); do
		row=("$i")
		for ((j = 1; j <= ${#b}; j++)); do
			cost=1
			[[ ${a:i-1:1} != "${b:j-1:1}" ]] || cost=0
			least=$((last[j - 1] + cost))
			((last[j] + 1 >= least)) || least=$((last[j] + 1))
			((row[j - 1] + 1 >= least)) || least=$((row[j - 1] + 1))
			if ((i > 1 && j > 1)) && [[ ${a:i-2:2} == "${b:j-1:1}${b:j-2:1}" ]]; then
				((before[j - 2] + 1 >= least)) || least=$((before[j - 2] + 1))
			fi
			row[j]=$least
		done
		before=("${last[@]}") last=("${row[@]}")
	done
	SLIPS=${last[${#b}]}
}
