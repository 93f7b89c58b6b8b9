# What speaks against taking an array over: said where it is found, and counted.
# shellcheck shell=bash

need core/log

adoptable_wrong() { # TEXT…
	ADOPT_WRONG=yes
	log_error "$NAME: $*"
}
