# "adopt --fix-fstab": in /etc/fstab and /etc/crypttab, names of the array that do not last become
# UUIDs (observe/lasting-names.sh).
# shellcheck shell=bash

need core/act core/log core/paths observe/lasting-names world/systemd

# lasting_names_write: what is in LASTING. A copy of each file is kept, and every other byte stays.
# Killed at any point, a file is the old one or the new one, and the copy is there before that.
lasting_names_write() {
	local file
	((${#LASTING[@]} > 0)) || return 0
	for file in /etc/fstab /etc/crypttab; do
		[[ " ${LASTING[*]}" == *" $file "* ]] || continue
		lasting_names_write_file_ "$file" ||
			die "$NAME: $file could not be changed; it is as it was"
	done
	systemd_reload
}

lasting_names_write_file_() { # FILE
	local LC_ALL=C line number target text lines=()
	target=$(readlink -e -- "$ROOT$1") || return
	mapfile lines <"$target"
	printf -v text '%s' "${lines[@]}"
	# bash can't hold a NUL byte.
	((${#text} == $(stat -c %s -- "$target"))) || return
	for line in "${LASTING[@]}"; do
		[[ $line == "$1 "* ]] || continue
		line=${line#"$1 "} number=${line%% *} line=${line#* }
		lasting_names_write_line_ "$1" $((number - 1)) "${line% *}" "${line##* }" || return
	done
	lasting_names_write_copy_ "$1" "$target" "$text" || return
	printf -v text '%s' "${lines[@]}"
	lasting_names_write_text_ "$target" "$text" "$target"
}

# In the caller's lines. Returns 1 when OLD is not there any more: somebody has changed the file.
lasting_names_write_line_() { # FILE INDEX OLD NEW
	local line=${lines[$2]-} before rest
	before=${line%%"$3"*}
	[[ $before != "$line" ]] || return 1
	rest=${line#"$before$3"}
	case $1 in
	/etc/fstab) [[ $before =~ ^[[:blank:]]*$ ]] ;;
	*) [[ $before =~ ^[[:blank:]]*[^[:blank:]]+[[:blank:]]+$ ]] ;;
	esac && [[ $rest == @(|[[:space:]]*) ]] || return 1
	lines[$2]=$before$4$rest
}

# The copy of an earlier time stays: then this one has a number. One that says the same is enough.
lasting_names_write_copy_() { # FILE TARGET TEXT
	local copy=$ROOT$1.ramraid-old number=1
	while [[ -e $copy || -L $copy ]]; do
		! cmp -s -- "$copy" "$2" || return 0
		number=$((number + 1))
		copy=$ROOT$1.ramraid-old.$number
	done
	if [[ -n $DRY_RUN ]]; then
		act cp -p -- "$2" "$copy"
	else lasting_names_write_text_ "$copy" "$3" "$2"; fi
}

# With the mode and the owner of LIKE.
lasting_names_write_text_() { # PATH TEXT LIKE
	local mode
	mode=$(stat -c '%a %u:%g' -- "$3") || return
	act_text "$1" "$2" "${mode% *}" "${mode#* }"
}
