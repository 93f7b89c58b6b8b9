# Reasons not to adopt an array: each is reported where it is found, and ADOPT_WRONG notes that.
# shellcheck shell=bash

need core/log world/md-state

adoptable_wrong() { # TEXT…
	ADOPT_WRONG=yes
	log_error "$NAME: $*"
}

# adoptable_wrong_metadata MD: prints why a running array with this metadata can't be adopted;
# nothing if it can.
adoptable_wrong_metadata() {
	local VALUE
	md_state_read "$1" metadata_version
	[[ $VALUE == 1.2 ]] ||
		printf '%s\n' "expected metadata of version 1.2, found ${VALUE:-nothing}; the \
place of the superblock can not be changed online"
}
