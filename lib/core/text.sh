# Texts: takes them apart into words, checks the numbers in our own files, and finds the word that a
# mistyped one may have meant.
# shellcheck shell=bash

# The reason against something when the look for reasons has failed, perhaps because no process
# could be made: it has printed nothing, but that does not mean that there are no reasons.
readonly TEXT_UNKNOWN='the check itself failed'

# Stands for whoever uses a device when the look for users did not finish.
readonly TEXT_SOMEBODY='something unknown'

# text_split ARRAY TEXT: sets ARRAY to the words of TEXT, as "read -ra" takes them from a line;
# text_into TEXT NAME…: puts each word into a variable of its own, a word for "_" into none; words
# that are left over are dropped. Neither uses a here-string: bash puts one that is longer than a
# pipe holds (64 KiB) into a temporary file, and where no folder is writable, as in the generator
# and in the sandbox of our units, it is lost without a message. IFS separates the words; patterns
# are not expanded to file names.
text_split() {
	local -
	local -n text_split_=$1
	set -f
	# shellcheck disable=SC2206
	text_split_=($2)
}
text_into() {
	local split_=() split_name_
	text_split split_ "$1"
	shift
	for split_name_; do
		[[ $split_name_ == _ ]] || printf -v "$split_name_" '%s' "${split_[0]-}"
		split_=("${split_[@]:1}")
	done
}

# text_unmangle VARIABLE TEXT: sets VARIABLE to TEXT as it was before the kernel, or libmount, wrote
# it into a table of mounts or swaps, where each backslash begins three octal digits (seq_escape()
# in linux fs/proc_namespace.c). %b alone would read "\0401" as one character.
text_unmangle() { printf -v "$1" '%b' "${2//\\/\\0}"; }

# text_encode TEXT: prints TEXT as udev writes labels into link names (encode_devnode_name in
# systemd's source): \xNN for characters that may be special.
text_encode() {
	local i char
	for ((i = 0; i < ${#1}; i++)); do
		char=${1:i:1}
		if [[ $char == [A-Za-z0-9#+.:=@_-] || ! $char == [[:ascii:]] ]]; then
			printf '%s' "$char"
		else
			printf '\\x%02x' "'$char"
		fi
	done
}

# text_number_or VARIABLE DEFAULT: keeps what VARIABLE got from one of our files if it is a number
# (decimal, 18 digits at most); otherwise sets it to DEFAULT. Call this before any arithmetic: bash
# evaluates what a variable holds, and an array index in it can run a program.
text_number_or() {
	local -n text_number_or_=$1
	if [[ ${text_number_or_-} =~ ^0*([0-9]{1,18})$ ]]; then
		text_number_or_=${BASH_REMATCH[1]} text_number_or_=$((10#$text_number_or_))
	else text_number_or_=$2; fi
}
# text_number_in FILE DEFAULT: sets NUMBER to the first word of FILE, checked the same way.
text_number_in() {
	NUMBER=''
	{ read -r NUMBER _ <"$1"; } 2>/dev/null || :
	text_number_or NUMBER "$2"
}

readonly TEXT_SUGGEST_MOST=32 # characters; a longer word is compared with nothing

# text_suggest WORD CANDIDATE…: sets SUGGESTION to the candidate that is the fewest slips away: a
# letter too many, one too few, a wrong one, or two that changed places. SUGGESTION is empty when
# that takes more than one slip for every three letters.
text_suggest() {
	local word=$1 candidate best SLIPS
	SUGGESTION=''
	shift
	((${#word} > 0 && ${#word} <= TEXT_SUGGEST_MOST)) || return 0
	best=$(((${#word} + 2) / 3 + 1))
	for candidate; do
		((${#candidate} > 0 && ${#candidate} <= TEXT_SUGGEST_MOST)) || continue
		text_slips_ "${word,,}" "${candidate,,}"
		((SLIPS >= best)) || { best=$SLIPS && SUGGESTION=$candidate; }
	done
}

# text_slips_ A B: sets SLIPS to how many slips lead from A to B.
text_slips_() {
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
