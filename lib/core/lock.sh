# Locks (flock(2)) that only ramraid holds, and none of the programs that it runs: a program that
# hangs in the kernel outlives the ramraid that started it, and would hold the lock for ever.
# shellcheck shell=bash

need core/bounded core/text

# lock_take VARIABLE FILE [FLOCK-OPTION…]: sets VARIABLE to a descriptor that holds a lock on FILE
# until it is closed. Returns 1 when flock(1) does not get the lock, and 2 when FILE can't be
# opened.
# flock(1) has to inherit the descriptor that it locks, and bash has no command that makes one
# close-on-exec. But while a function runs with a descriptor closed, bash keeps a saved copy of it,
# which programs do not inherit; nor do they inherit a copy of that copy. If bash behaves
# differently, they inherit the lock.
lock_take() {
	local -n lock_taken=$1
	local file=$2 variable=$1
	lock_taken=''
	{ exec 9<>"$file"; } 2>/dev/null || return 2
	shift 2
	flock "$@" 9 || {
		exec 9>&-
		return 1
	}
	# A shutdown takes the file away from those who do not end; who takes the lock then has a
	# new one.
	[[ /proc/self/fd/9 -ef $file ]] || {
		exec 9>&-
		lock_take "$variable" "$file" "$@"
		return
	}
	lock_copy_ 9>&-
	[[ -n $lock_taken ]] || exec {lock_taken}>&9
	exec 9>&-
}

# Sets lock_taken to a copy of the descriptor in which bash saves the caller's descriptor 9.
lock_copy_() {
	local fd
	for fd in /proc/"$BASHPID"/fd/*; do
		[[ $fd -ef $file ]] || continue
		exec {lock_taken}>&"${fd##*/}"
		return
	done
}

# lock_is_free FILE: does nobody hold the lock? Returns 2 when that can't be told.
lock_is_free() {
	local code=0
	[[ ! -d ${1%/*} || -x ${1%/*} ]] || return 2
	[[ ! -e $1 ]] || flock --shared --nonblock "$1" true || code=$?
	((code < 2)) || return 2
	return "$code"
}

# lock_sign FILE WORK: the holder of the lock writes into FILE which process it is, and what it
# does.
# lock_holder FILE: sets HOLDER to the process that has signed, and HOLDER_WORK to what it does.
# HOLDER is empty when nobody has signed, when that process has ended, or when it is this very
# process; somebody may hold the lock all the same.
lock_sign() {
	local BEGAN=-
	bounded_process_began "$BASHPID" || :
	printf '%s %s %s\n' "$BASHPID" "$BEGAN" "$2" >"$1"
}
lock_holder() {
	local began BEGAN
	HOLDER='' HOLDER_WORK=''
	{ read -r HOLDER began HOLDER_WORK <"$1"; } 2>/dev/null || :
	text_number_or HOLDER ''
	[[ -n $HOLDER && $HOLDER != "$$" ]] && bounded_process_began "$HOLDER" &&
		[[ $BEGAN == "$began" ]] || HOLDER=''
}
