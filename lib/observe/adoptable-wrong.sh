# Reasons not to adopt an array: each is reported where it is found, and ADOPT_WRONG notes that.
# shellcheck shell=bash

need core/log

adoptable_wrong() { # TEXT…
	ADOPT_WRONG=yes
	log_error "$NAME: $*"
}
