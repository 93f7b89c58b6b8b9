# Locks (flock(2)) that only ramraid holds, and none of the programs that it runs: a program that
# hangs in the kernel outlives the ramraid that started it, and would hold the lock for ever.
# shellcheck shell=bash

need core/bounded core/clock core/log core/paths core/quantity core/text

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

# lock_alone VARIABLE NAME SECONDS WORK COMMAND [ARG…]: runs COMMAND, a program or a function, while
# no other ramraid has the lock NAME in $LOCKS; waits SECONDS at most for one that has. WORK says in
# messages what its holder does ("makes the initramfs"). VARIABLE, a global one, holds the
# descriptor meanwhile: a trap may call this again while this process already has the lock. A dry
# run takes no lock. Returns COMMAND's exit code, or 1 when it can't get the lock.
lock_alone() {
	local -n lock_held=$1
	local code=0
	[[ -z $DRY_RUN && -z $lock_held ]] || {
		"${@:5}"
		return
	}
	lock_alone_begin_ "${@:1:4}" || return
	"${@:5}" || code=$?
	exec {lock_held}>&-
	lock_held=''
	return "$code"
}

# It looks once a second, because a signal does not end a wait of flock(1).
lock_alone_begin_() {
	local code=0 file=$LOCKS/$2 limit HOLDER HOLDER_WORK
	paths_run || code=2
	((code > 0)) || lock_take "$1" "$file" --nonblock || code=$?
	if ((code == 1)); then
		limit=$(quantity_show_seconds "$3")
		lock_holder "$file"
		log_notice "ramraid: another ramraid${HOLDER:+ ($HOLDER_WORK, process $HOLDER)} \
$4; waiting until it has ended, for $limit at most"
		! clock_until "$3" 1 lock_take "$1" "$file" --nonblock || code=0
	fi
	case $code in
	0) lock_sign "$file" "${VERB-}" 2>/dev/null || : ;; # only for that message
	1) log_error "ramraid: another ramraid $4, and has not ended within $limit; see: \
ps -C ramraid" ;;
	*) log_error "ramraid: $file can't be opened; is $RUN writable?" ;;
	esac
	((code == 0))
}
