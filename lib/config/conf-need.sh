# Loads the configuration for verbs that act on it, or ends the program; and remembers what a
# running array was started with.
# shellcheck shell=bash

need config/conf core/act core/log core/paths

# conf_need NAME: does conf_load; if that fails, prints the errors and ends the program.
conf_need() {
	local code=0 line
	conf_load "$1" || code=$?
	for line in "${CONF_WARNINGS[@]}" "${CONF_ERRORS[@]}"; do log_error "$line"; done
	conf_need_notes_
	((code != 3)) || die "$(conf_no_array "$1")" "$EX_INACTIVE"
	conf_name_ok "$1" || exit "$EX_USAGE" # said
	((code == 0)) ||
		die "$1: the configuration has ${#CONF_ERRORS[@]} error(s); nothing was done" \
			"$EX_USAGE"
}

# The verb loads the configuration again once it holds the lock; the notes are printed once.
conf_need_notes_() {
	local line
	[[ ${CONF_NOTED-} != "${CONF_NOTES[*]-}" ]] || return 0
	for line in "${CONF_NOTES[@]}"; do log_warning "$line"; done
	CONF_NOTED=${CONF_NOTES[*]-}
}

# conf_need_keep NAME: remembers, for this boot, what the array was started with. From now on the
# array is ours, even if it had been released before.
conf_need_keep() {
	paths_run
	[[ ! -e $RUN/$1.released ]] || rm -f "$RUN/$1.released"
	act_put "$RUN/$1.started" "UUID=${CONF[UUID]}" "RAM=${CONF[RAM]}" \
		"RESCUE=${CONF[RESCUE]}" \
		"NOTIFY=${CONF[NOTIFY]}" "WITNESS_COPY=${CONF[WITNESS_COPY]}" \
		"MEMORY_FLOOR=${CONF[MEMORY_FLOOR]}" \
		"${MEMBERS[@]/#/MEMBER=}"
}

# conf_need_started NAME: does conf_need; but if the file has been broken or deleted since the
# start, it loads what the array was started with, so that a typing error never keeps ramraid from
# detaching the RAM leg.
conf_need_started() {
	local line
	if ! conf_name_ok "$1" || [[ ! -r $RUN/$1.started ]] || conf_load "$1"; then
		conf_need "$1"
		return
	fi
	# The verb loads the configuration again once it holds the lock; the errors are printed
	# once.
	[[ ${CONF_TOLD-} == "${CONF_ERRORS[*]-}+" ]] || {
		for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
		log_warning "$1: its configuration is broken or missing; using the one that it was \
started with"
	}
	CONF_TOLD="${CONF_ERRORS[*]-}+"
	conf_need_kept "$1" || die "$1: $RUN/$1.started is damaged"
}

# conf_need_kept NAME: loads what conf_need_keep has remembered. Returns 1 when there is nothing, or
# when it is damaged.
conf_need_kept() {
	[[ -r $RUN/$1.started ]] || return 1
	conf_defaults || : # said at the start
	CONF[HOTPLUG]=no   # "ramraid hotplug" leaves one alone that has errors
	CONF_ERRORS=()
	conf_read "$RUN/$1.started" array
	((${#CONF_ERRORS[@]} == 0))
}
