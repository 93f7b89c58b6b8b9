# Checks that files and folders are root's alone.
# shellcheck shell=bash

need core/mounts core/paths core/text

readonly TRUST_UNSEEN="can't be checked"

# trust_why_not PATH [UID]: prints why somebody other than root, or than the user UID, could change
# what is found at PATH: a part of the path does not belong to root (in tests: to us), or others may
# write to it. A sticky bit does not help: whoever may write to the folder may have made what is in
# it. What a user's FUSE file system says about itself does not count, nor what the disk says that a
# user plugged in; a part that can't be looked at is a reason, too. Prints nothing when every part
# that exists is root's (or UID's).
trust_why_not() {
	local rest=${1#"$ROOT"} at=$ROOT part target links=0 parts=("$ROOT/")
	# This comes before anything looks at the path: a FUSE server need not answer.
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

# trust_into VARIABLE PATH [UID]: sets VARIABLE to what trust_why_not prints. If that ended early
# because no process could be made, it has printed nothing, which is no answer: TRUST_FAILED is yes
# then.
trust_into() {
	local -n trust_into_=$1
	TRUST_FAILED=''
	trust_into_=$(trust_why_not "${@:2}") || trust_into_="$2 $TRUST_UNSEEN" TRUST_FAILED=yes
}

# trust_here_why_not FOLDER: checks only FOLDER, which the caller has entered, so that it does not
# matter who may change what is above it.
trust_here_why_not() {
	local why
	trust_served_ "$1" && trust_brought_ "$1" || return 0
	why=$(trust_parts_ "$EUID" .) || why=". $TRUST_UNSEEN"
	[[ -z $why ]] || printf '%s\n' "$1${why#.}"
}

# trust_is_absent_ PATH: does the kernel say that there is nothing? Bash takes every error to mean
# that; a user's FUSE file system, for one, denies root the look (EACCES).
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
			printf '%s is writable by others than root (mode %s)\n' \
				"${parts[i]}" "$mode"
		else
			continue
		fi
		return
	done
}

# trust_served_ PATH…: prints why and returns 1 when one of these is in a FUSE file system that
# somebody other than root serves: the owners and modes there are whatever the server likes to say.
# user_id= comes from the kernel, and last in the line (fuse_show_options() in linux
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

# trust_brought_ PATH…: prints why and returns 1 when one of these is in a file system that a user
# mounted, through udisks or as fstab allows. Its owners and modes are what the disk says, and
# anybody may bring a disk. For udisks, and for "user" in fstab, libmount notes who it was (in utab,
# where blanks are \040 as above); mounts by root and by systemd have no such note.
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
			printf "%s has been mounted for a user (%s), and anybody can plug in such \
a disk\n" \
				"$target" "$who"
			return 1
		done
	done
}

# trust_lent_ PATH…: prints why and returns 1 when one of these is at or below a folder that fstab
# lets users mount with "users", "owner" or "group". libmount does not note who that was, and with
# "users" anybody may unmount what root mounted (mount(8)).
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
				"$target" "$options" 'anybody can plug in such a disk'
			return 1
		done
	done
}
