# The note that a "release" or a "destroy" has begun to take away what is ours of an array: by the
# time that it ends there may be no configuration any more. Written by act/forget.sh.
# shellcheck shell=bash

need core/paths

releasing_file() { printf '%s/%s.releasing\n' "$STATE" "$1"; } # NAME

# releasing_read NAME: sets RELEASING to the verb that has begun and not ended, release or destroy;
# empty when none has.
releasing_read() {
	local text='' file=$STATE/$1.releasing
	RELEASING=''
	[[ -e $file ]] || return 0
	RELEASING=release
	{ IFS= read -r text <"$file"; } 2>/dev/null || :
	[[ $text != *'"ramraid destroy"'* ]] || RELEASING=destroy
}
