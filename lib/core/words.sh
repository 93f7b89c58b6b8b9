# Words of a text.
# shellcheck shell=bash

# words_split ARRAY TEXT: its words, as "read -ra" takes them from a line; words_into TEXT NAME…:
# each into a variable of its own, what is left over into none, and "_" for none. Not by a
# here-string: what is longer than a pipe takes (64 KiB) bash puts into a temporary file, which is
# lost without a word where no folder can be written: in the generator, and in the sandbox of our
# units. Words are those of IFS; no pattern is looked for among files.
words_split() {
	local -
	local -n words_split_=$1
	set -f
	# shellcheck disable=SC2206
	words_split_=($2)
}
words_into() {
	local split_=() split_name_
	words_split split_ "$1"
	shift
	for split_name_; do
		[[ $split_name_ == _ ]] || printf -v "$split_name_" '%s' "${split_[0]-}"
		split_=("${split_[@]:1}")
	done
}
