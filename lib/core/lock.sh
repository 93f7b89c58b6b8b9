# Locks (flock(2)) that only ramraid holds, not the programs that it runs: one that hangs in the
# kernel outlives whoever has started it, and would keep the others away for ever.
# shellcheck shell=bash

need core/bounded core/text

# lock_take VARIABLE FILE [FLOCK-OPTION…]: sets VARIABLE to a descriptor that holds a lock on FILE
# until it is closed. Returns 1 when flock(1) does not get it, and 2 when FILE can't be opened.
# flock(1) has to inherit the descriptor that it locks, and nothing in bash says of one that
# programs do not; but what bash puts aside while a function runs with a descriptor closed they
# don't, and neither a copy of that. Where bash does otherwise, they inherit it.
lock_take() {
	local -n lock_taken=$1
	local file=$2
	lock_taken=''
	{ exec 9<>"$file"; } 2>/dev/null || return 2
	shift 2
	flock "$@" 9 || {
		exec 9>&-
		return 1
	}
	lock_copy_ 9>&-
	[[ -n $lock_taken ]] || exec {lock_taken}>&9
	exec 9>&-
}

# Sets lock_taken to a copy of what bash has put aside of the caller's descriptor 9.
lock_copy_() {
	local fd
	for fd in /proc/"$BASHPID"/fd/*; do
		[[ $fd -ef $file ]] || continue
		exec {lock_taken}>&"${fd##*/}"
		return
	done
}

# lock_sign FILE WORK: the holder of the lock writes into it who that is, and what it does.
# lock_holder FILE: sets HOLDER to its process and HOLDER_WORK to what it does; HOLDER is empty when
# nobody has signed, when who has is no more, or has become this very process, whoever has the lock
# then.
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
