# Which files and folders are root's alone.
# shellcheck shell=bash

need core/paths

# trust_why_not PATH: prints why somebody else than root could change what is found there: a part of
# the path that is not root's (in tests: our own), or that others may write to. A sticky bit does
# not help: whoever may write to the folder may have made what is in it. Nothing when all that there
# is of it is root's.
trust_why_not() {
	local rest=${1#"$ROOT"} at=$ROOT part links=0 owner mode name parts=("$ROOT/")
	while [[ -n ${rest//\//} ]]; do
		rest=${rest#"${rest%%[!/]*}"} part=${rest%%/*} rest=${rest#"${rest%%/*}"}
		if [[ $part == .. ]]; then
			at=${at%/*}
		elif [[ -L $at/$part ]]; then
			((links += 1, links <= 40)) || {
				printf '%s leads nowhere\n' "$1"
				return
			}
			rest=$(readlink -- "$at/$part")$rest
			if [[ $rest == "$ROOT"/* ]]; then
				at=$ROOT rest=${rest#"$ROOT"}
			elif [[ $rest == /* ]]; then
				at=''
			fi
		elif [[ $part != . ]]; then
			at+=/$part
			[[ -e $at ]] || break
			parts+=("$at")
		fi
	done
	while IFS=: read -r owner mode name; do
		if ((owner != 0 && owner != EUID)); then
			printf '%s belongs to user %s, not to root\n' "$name" "$owner"
		elif ((8#$mode & 8#022)); then
			printf '%s can be written by others than root (mode %s)\n' "$name" "$mode"
		else
			continue
		fi
		return
	done < <(stat --printf='%u:%a:%n\n' -- "${parts[@]}")
}
