# Records under another name. When a configuration is renamed, what was written down about its array
# keeps the old name. The next start finds it by the array's UUID, and takes it over when it is
# clear whose it is. Everything that matters for safety has that UUID in it.
# shellcheck shell=bash

need config/conf core/act core/log core/paths notes/witness notes/witness-text world/md-state

declare -gA F # the facts: decide/facts.list

# They are moved in this order, so that after a power cut between two of them the next start takes
# over the rest. A witness that was moved before the rescue record would conflict with it
# (old_name_conflicts_).
readonly RENAMED_KINDS=(rescue witness adopted leaving releasing hardware contents lately)

# old_name_list NAME UUID: sets RENAMED to the other names under which something about this array
# was written down; a name that is (or may be) configured for this array has "=" before it.
old_name_list() {
	local file other
	RENAMED=()
	for file in "$STATE"/*.{rescue,witness,adopted,leaving}; do
		other=${file##*/} other=${other%.*}
		[[ $other != "$1" && " ${RENAMED[*]} " != *" $other "* &&
			" ${RENAMED[*]} " != *" =$other "* ]] || continue
		old_name_is_about_ "$file" "$2" || continue
		if old_name_is_configured_ "$other" "$2"; then
			RENAMED+=("=$other")
		else RENAMED+=("$other"); fi
	done
}

old_name_is_about_() { # FILE UUID
	local lines=()
	[[ -f $1 && -r $1 && ! -L $1 ]] || return 1
	mapfile -n 4 -t lines 2>/dev/null <"$1"
	[[ " ${lines[*]} " == *" uuid=$2 "* ]]
}

old_name_is_configured_() { # NAME UUID
	local uuid
	[[ -e $ETC/$1.conf || -L $ETC/$1.conf ]] || return 1
	uuid=$(conf_load "$1" >/dev/null 2>&1 || : && printf '%s' "${CONF[UUID]-}")
	[[ -z $uuid || $uuid == "$2" ]]
}

# old_name_is_copy NAME UUID: does another configuration of this array have the record of its last
# run, and this one none? Then this one is a copy, and old_name_look refuses its start. Sets
# RENAMED_OF to the other's name.
old_name_is_copy() {
	local other RENAMED
	! old_name_is_about_ "$STATE/$1.witness" "$2" || return 1
	old_name_list "$1" "$2"
	for other in "${RENAMED[@]}"; do
		if [[ $other == =* ]] && old_name_is_about_ "$STATE/${other#=}.witness" "$2"; then
			RENAMED_OF=${other#=}
			return
		fi
	done
	return 1
}

# old_name_look: sets record.from to the other name whose records of this array are to be taken over
# (old_name_take), or record.why to why it is not known which records count, and what to type. Both
# are empty when nothing under another name says more than what is under this one.
old_name_look() {
	local name=${F[name]} uuid=${F[uuid]} other says=() taken=() RENAMED
	F[record.from]='' F[record.why]=''
	old_name_list "$name" "$uuid"
	for other in "${RENAMED[@]}"; do
		old_name_says_more_ "${other#=}" || continue
		says+=("${other#=}")
		[[ $other != =* ]] || taken+=("${other#=}")
	done
	((${#says[@]} > 0)) || return 0
	other=${says[0]}
	if ((${#taken[@]} > 0)); then
		F[record.why]="$ETC/${taken[0]}.conf is about the same array (UUID=$uuid), and the \
records of its last run are kept under that name ($STATE/${taken[0]}.*). Delete the file that is \
not the right one, or rename it to something that does not end in .conf; then: ramraid start \
$name, or: ramraid start ${taken[0]}"
	elif old_name_runs_ "$other"; then
		F[record.why]="the array is running as $other, \
which its configuration was called when it was started. Stop it by that name, \
then start it by this one: ramraid stop $other; ramraid start $name"
	elif ((${#says[@]} > 1)) || old_name_conflicts_ "$other"; then
		F[record.why]="the records of the array exist under more than one name, and \
differ: $(old_name_files_ "$name" "${says[@]}"). Look at them, and delete those that are not of \
its last run, or rename the right ones to $name.*; then: ramraid start $name"
	else
		F[record.from]=$other
	fi
}

# old_name_says_more_ OTHER: does a record under that name say something that those under this name
# do not? A witness that can't be later than this name's does not.
old_name_says_more_() {
	local kind
	for kind in rescue adopted leaving; do
		! old_name_is_about_ "$STATE/$1.$kind" "$uuid" || [[ $kind != rescue &&
			-e $STATE/$name.$kind ]] || return 0
	done
	old_name_is_about_ "$STATE/$1.witness" "$uuid" || return 1
	! old_name_is_about_ "$STATE/$name.witness" "$uuid" || old_name_later_ "$1"
}

# old_name_conflicts_ OTHER: do both names have a record of the last run? A rescue image that is
# older than that run would be restored over it.
old_name_conflicts_() {
	local own=no
	old_name_is_about_ "$STATE/$name.witness" "$uuid" && own=yes
	if old_name_is_about_ "$STATE/$1.rescue" "$uuid"; then
		[[ $own == yes ]] || old_name_is_about_ "$STATE/$name.rescue" "$uuid"
	else
		[[ $own == yes ]] && old_name_later_ "$1"
	fi
}

# old_name_later_ OTHER: may its witness be later than that of this name? Of one life, the one with
# the higher generation is later: a forced start may have left fewer events, and a void one has
# none. Nothing can be said of two lives, so a record of another life may be; one that has none, of
# version 0.1.0, is if it has more events.
old_name_later_() {
	local generation life events
	witness_text_read "$STATE/$name.witness" "$uuid" || :
	generation=${WITNESS[generation]:-0} life=${WITNESS[life]-} events=${WITNESS[events]:--1}
	witness_text_read "$STATE/$1.witness" "$uuid" || [[ -n ${WITNESS[void]-} ]] || return 1
	if [[ -z ${WITNESS[life]-} ]]; then
		((${WITNESS[events]:--1} > events))
	elif [[ ${WITNESS[life]} == "$life" ]]; then
		((WITNESS[generation] > generation))
	fi
}

# old_name_has_witness: is there a witness about the array under its own name?
old_name_has_witness() { old_name_is_about_ "$STATE/${F[name]}.witness" "${F[uuid]}"; }

old_name_files_() { # NAME OTHER…
	local other file text=''
	for other; do
		for file in "$STATE/$other".{rescue,witness}; do
			! old_name_is_about_ "$file" "$uuid" || text+="${text:+, }$file"
		done
	done
	printf '%s\n' "$text"
}

# old_name_runs_ OTHER: has a start under that name judged the array's current run?
old_name_runs_() {
	local watched MD_RUN
	{ read -r watched <"$RUN/$1.watched"; } 2>/dev/null || return 1
	md_state_run "${watched%% *}"
	[[ $watched == "${MD_RUN:-none}" ]] && grep -qsx "UUID=$uuid" "$RUN/$1.started"
}

# old_name_take: moves what is under the name in record.from to this name. The caller holds the
# array's lock, or is its monitor. What this name has about another array is kept for that one.
# Returns 1 when something could not be moved.
old_name_take() {
	local kind name=${F[name]} uuid=${F[uuid]} from=${F[record.from]-}
	old_name_keep_
	[[ -n $from ]] || return 0
	for kind in "${RENAMED_KINDS[@]}"; do
		[[ -f $STATE/$from.$kind ]] || continue
		if [[ $kind == @(rescue|witness|adopted|leaving) ]]; then
			old_name_is_about_ "$STATE/$from.$kind" "$uuid" || continue
			! old_name_is_about_ "$STATE/$name.$kind" "$uuid" || continue
		else
			# What has no UUID in it goes with the rest, unless that name now belongs to
			# another array.
			[[ ! -e $ETC/$from.conf && ! -e $STATE/$name.$kind ]] || continue
		fi
		act mv -f -T -- "$STATE/$from.$kind" "$STATE/$name.$kind" || return
	done
	[[ -n $DRY_RUN ]] || sync "$STATE" || return
	old_name_take_run_
	log_notice "$name: the records of its array under the name $from are taken over \
($STATE/$name.*)"
	F[record.from]=''
}

# Moves the notes of this boot: on the ramdisk that is there, and on what a person has decided about
# it.
old_name_take_run_() {
	local kind
	[[ -z $DRY_RUN && ! -e $ETC/$from.conf ]] && grep -qsx "UUID=$uuid" "$RUN/$from.started" ||
		return 0
	for kind in ram block detached failures; do
		[[ ! -e $RUN/$from.$kind || -e $RUN/$name.$kind ]] ||
			mv -f -T -- "$RUN/$from.$kind" "$RUN/$name.$kind" || return
	done
	rm -f \
		"$RUN/$from".{started,watched,taken,joined,members,told,tried,refused,unstarted} \
		"$RUN/$from".{restarts,returns,memory}
}

# Moves the record of another array aside, to a name with "~", which no array can have. That array
# is configured under another name now, or had this name before somebody mistyped UUID=. Its next
# start finds the record by its UUID.
old_name_keep_() {
	local kind other
	for kind in rescue witness; do
		[[ -f $STATE/$name.$kind && ! -L $STATE/$name.$kind ]] || continue
		! old_name_is_about_ "$STATE/$name.$kind" "$uuid" || continue
		other=$(grep -sxm 1 'uuid=[0-9a-f-]*' "$STATE/$name.$kind") || continue
		other=${other#uuid=}
		act mv -f -T -- "$STATE/$name.$kind" "$STATE/$name~${other:0:8}.$kind" || return
	done
}
