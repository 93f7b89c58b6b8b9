# Which files and folders are root's alone.
# shellcheck shell=bash

need core/mounts core/paths core/text

readonly TRUST_UNSEEN="can't be looked at"

# trust_why_not PATH [UID]: prints why somebody else than root, or the user UID, could change what
# is found there: a part of the path that is not root's (in tests: our own), or that others may
# write to. A sticky bit does not help: whoever may write to the folder may have made what is in it.
# Nor does what the FUSE file system of a user says of itself, or that of a disk that a user has
# plugged in; nor what can't be looked at. Nothing when all that there is of it is root's (or
# UID's).
trust_why_not() {
	local rest=${1#"$ROOT"} at=$ROOT part target links=0 parts=("$ROOT/")
	# Before it is asked anything: its server need not answer.
	trust_served_ "$1" || return 0
	while [[ -n ${rest//\//} ]]; do
		rest=${rest#"${rest%%[!/]*}"} part=${rest%%/*} rest=${rest#"${rest%%/*}"}
		if [[ $part == .. ]]; then
			at=${at%/*}
		elif [[ -L $at/$part ]]; then
			if ((++links > 40)) || ! target=$(readlink -- "$at/$part"); then
				printf '%s leads nowhere\n' "$1"
				return
			fi
			rest=$target$rest
			if [[ $rest == "$ROOT"/* ]]; then
				at=$ROOT rest=${rest#"$ROOT"}
			elif [[ $rest == /* ]]; then
				at=''
			fi
		elif [[ $part != . ]]; then
			at+=/$part
			[[ -e $at ]] || {
				trust_is_absent_ "$at" && break
				printf '%s %s\n' "$at" "$TRUST_UNSEEN"
				return
			}
			parts+=("$at")
		fi
	done
	trust_served_ "${parts[@]}" && trust_brought_ "${parts[@]}" || return 0
	trust_parts_ "${2-$EUID}" "${parts[@]}"
}

# trust_into VARIABLE PATH [UID]: sets it to what trust_why_not prints. A look that has ended early,
# because no process could be made, has printed nothing; that is no answer, and TRUST_FAILED is yes
# then.
trust_into() {
	local -n trust_into_=$1
	TRUST_FAILED=''
	trust_into_=$(trust_why_not "${@:2}") || trust_into_="$2 $TRUST_UNSEEN" TRUST_FAILED=yes
}

# trust_here_why_not FOLDER: the same of FOLDER alone, which the caller has entered: whoever may
# change what is above it.
trust_here_why_not() {
	local why
	trust_served_ "$1" && trust_brought_ "$1" || return 0
	why=$(trust_parts_ "$EUID" .) || why=". $TRUST_UNSEEN"
	[[ -z $why ]] || printf '%s\n' "$1${why#.}"
}

# trust_is_absent_ PATH: is there nothing, as the kernel says? Bash takes each error for that: the
# FUSE file system of a user, for one, denies root the look (EACCES).
trust_is_absent_() {
	local said
	! said=$(stat -- "$1" 2>&1) && [[ $said == *': No such file or directory' ]]
}

trust_parts_() { # UID PART…
	local owner mode i lines=() parts=("${@:2}")
	mapfile -t lines < <(stat --printf='%u:%a\n' -- "${parts[@]}")
	((${#lines[@]} == ${#parts[@]})) || {
		printf '%s %s\n' "${parts[-1]}" "$TRUST_UNSEEN"
		return
	}
	for i in "${!parts[@]}"; do
		owner=${lines[i]%:*} mode=${lines[i]#*:}
		if ((owner != 0 && owner != $1)); then
			printf '%s belongs to user %s, not to root\n' "${parts[i]}" "$owner"
		elif ((8#$mode & 8#022)); then
			printf '%s can be written by others than root (mode %s)\n' \
				"${parts[i]}" "$mode"
		else
			continue
		fi
		return
	done
}

# trust_served_ PATH…: returns 1, having printed why, when one of these is in a FUSE file system
# that somebody else than root serves: what that says of owners and modes is what the server likes.
# user_id= is the word of the kernel, and comes last in the line (fuse_show_options() in linux
# fs/fuse/inode.c); blanks in names that a user chooses are \040 there.
trust_served_() {
	local line user target path MOUNTS
	mounts_read || {
		printf '%s %s\n' "$1" "$TRUST_UNSEEN"
		return 1
	}
	for line in "${MOUNTS[@]}"; do
		[[ $line =~ \ -\ fuse(blk)?(\.[^ ]*)?\ .*[\ ,]user_id=([0-9]{1,10}) ]] || continue
		user=${BASH_REMATCH[3]}
		((user != 0)) || continue
		text_into "$line" _ _ _ _ target
		text_unmangle target "$target"
		for path; do
			[[ $path/ == "$ROOT$target"/* ]] || continue
			printf '%s is a FUSE file system of user %s\n' "$target" "$user"
			return 1
		done
	done
}

# trust_brought_ PATH…: returns 1, having printed why, when one of these is in a file system that
# a user has had mounted: by udisks, or as fstab lets users. Owners and modes are those that the
# disk says, and anybody may bring one. Of udisks, and of "user" in fstab, libmount writes down who
# it was (utab; in it blanks are \040 as above); mounts by root and by systemd do not have that.
trust_brought_() {
	local line lines=() who target path
	trust_lent_ "$@" || return
	{ mapfile -t lines <"$ROOT/run/mount/utab"; } 2>/dev/null || :
	for line in "${lines[@]}"; do
		[[ " $line" =~ \ OPTS=([^ ]*,)?(uhelper=udisks[0-9]*|user=[^ ,]+)(,|\ |$) ]] ||
			continue
		who=${BASH_REMATCH[2]}
		[[ " $line" =~ \ TARGET=([^ ]+) ]] || continue
		text_unmangle target "${BASH_REMATCH[1]}"
		for path; do
			[[ $path/ == "$ROOT$target"/* ]] || continue
			printf "%s has been mounted for a user (%s), \
and anybody can bring such a disk\n" \
				"$target" "$who"
			return 1
		done
	done
}

# trust_lent_ PATH…: returns 1, having printed why, when one of these is at, or below, what fstab
# lets users mount by "users", "owner" or "group". libmount does not write down who it was, and with
# "users" anybody may unmount what root has mounted (mount(8)).
trust_lent_() {
	local line lines=() target options path
	{ mapfile -t lines <"$ROOT/etc/fstab"; } 2>/dev/null || :
	for line in "${lines[@]}"; do
		text_into "$line" _ target _ options
		[[ $line != *([[:blank:]])'#'* && $options =~ (^|,)(users|owner|group)(,|$) ]] ||
			continue
		options=${BASH_REMATCH[2]}
		text_unmangle target "$target"
		[[ $target == /* ]] || continue
		for path; do
			[[ $path/ == "$ROOT${target%/}"/* ]] || continue
			printf '%s can be mounted by users ("%s" in fstab), and %s\n' \
				"$target" "$options" 'anybody can bring such a disk'
			return 1
		done
	done
}
