# Verbs: "ramraid VERB …" is lib/cmd/VERB.sh, or lib/cmd/internal/VERB.sh if only our units and
# the package's scripts call it.
# shellcheck shell=bash
# shellcheck disable=SC2154 # lib is the program's

# verb_find VERB: sets VERB_FILE to what has to be needed for it. Returns 1 when there is no such
# verb.
verb_find() {
	for VERB_FILE in "cmd/$1" "cmd/internal/$1"; do
		[[ -z $1 || $1 == *[!a-z]* || ! -r $lib/$VERB_FILE.sh ]] || return 0
	done
	VERB_FILE=''
	return 1
}

# verb_unknown VERB: prints the complaint about it.
verb_unknown() {
	local SUGGESTION file verbs=()
	need core/suggest
	for file in "$lib"/cmd/*.sh; do
		file=${file##*/}
		verbs+=("${file%.sh}")
	done
	suggest "$1" "${verbs[@]}"
	printf 'unknown verb "%s"; %s"ramraid --help" lists them\n' "$1" \
		"${SUGGESTION:+did you mean \"$SUGGESTION\"? }"
}
