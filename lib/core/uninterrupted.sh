# Sections that nothing may end in the middle, because what they have begun only makes sense once
# they have finished it.
# shellcheck shell=bash

# uninterrupted_begin: from here on, no signal ends this program or those that it starts: neither a
# person, a terminal that closes, or a stop of the unit, nor a reader of the messages that is gone
# ("2>&1 | tee log", where ^C ends tee). Writing a message fails then, which core/log passes over.
uninterrupted_begin() { trap '' INT TERM HUP PIPE; }

# uninterrupted_put_off VARIABLE: the same, but VARIABLE gets the name of the last of the first
# three that comes.
uninterrupted_put_off() {
	# shellcheck disable=SC2064 # VARIABLE as it is now
	trap "$1=INT" INT
	# shellcheck disable=SC2064
	trap "$1=TERM" TERM
	# shellcheck disable=SC2064
	trap "$1=HUP" HUP
	trap '' PIPE
}

# uninterrupted_end [COMMAND]: from here on, these signals end the program again; the first three by
# COMMAND, if there is one.
uninterrupted_end() {
	# shellcheck disable=SC2064 # COMMAND as it is now
	trap "${1:--}" INT TERM HUP
	trap - PIPE
}
