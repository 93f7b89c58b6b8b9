# ramraid claim: makes the claims agree with the configuration. For hand-written configurations and
# the package's own scripts.
# shellcheck shell=bash

need config/conf config/conf-faults core/act core/cli core/log core/paths notes/claim
need notes/selftest-record notes/witness

declare -gA F # the facts: decide/facts.list

readonly CLAIM_USAGE='usage: ramraid claim [--remove] [--all] [--no-initramfs] [--dry-run] [NAME…]

Keep other programs from assembling the arrays (without NAME: all that are configured). For each,
ramraid writes a line to /etc/mdadm/mdadm.conf.d/ramraid-NAME.conf. It drops the lines of arrays
that are not configured any more, and brings the initramfs up to date if anything has changed.
  --remove        drop the lines of the named arrays: from the next boot on, mdadm and udev start
                  these arrays as any others. The record of which disks were in sync vouches for
                  none any more
  --all           with --remove: drop the lines of all arrays
  --no-initramfs  leave the initramfs as it is
  -n, --dry-run   print every command, change nothing'

cmd_claim() {
	local changed='' failed='' due
	cli_parse "$CLAIM_USAGE" 'remove all no-initramfs dry-run' "$@"
	cmd_claim_check
	cli_root
	due=$STATE/initramfs-due
	[[ ! -e $due ]] || changed=yes # an earlier run was interrupted, or could not make it
	cmd_claim_drop_old
	[[ -z ${OPT[remove]-} ]] || cmd_claim_leave
	[[ -n ${OPT[remove]-} ]] || cmd_claim_write_new
	if [[ -n $changed && -z ${OPT[no_initramfs]-} ]]; then
		if ! claim_initramfs; then
			failed=yes
		elif [[ -z $DRY_RUN ]]; then
			rm -f "$due"
		fi
		# The initramfs has taken long. Meanwhile, the disks of an array whose RAM leg alone
		# was good may have come back, and the monitor may have written that into the
		# record.
		[[ -z ${OPT[remove]-} ]] || cmd_claim_leave
	fi
	[[ -z $failed ]] || return "$EX_FAILED"
}

# Until 0.2.0, "--remove" alone dropped every claim: too much for an option that is easily typed.
cmd_claim_check() {
	local name
	conf_names_fit "${ARGS[@]}"
	for name in "${ARGS[@]}"; do
		[[ -e $ETC/$name.conf || -L $ETC/$name.conf || -e $(claim_file "$name") ]] ||
			die "$(conf_no_array "$name")" "$EX_INACTIVE"
	done
	if [[ -n ${OPT[all]-} ]]; then
		[[ -n ${OPT[remove]-} ]] ||
			cli_usage "$CLAIM_USAGE" \
				'--all needs --remove; without it, claim handles every array anyway'
		((${#ARGS[@]} == 0)) || cli_usage "$CLAIM_USAGE" "expected --all or names, not both"
	elif [[ -n ${OPT[remove]-} ]]; then
		((${#ARGS[@]} > 0)) ||
			cli_usage "$CLAIM_USAGE" "expected the names of arrays after --remove, \
or --all for every claim"
	fi
}

# cmd_claim_means NAME: returns 0 if NAME is among the operands, or if there are none.
cmd_claim_means() { ((${#ARGS[@]} == 0)) || [[ " ${ARGS[*]} " == *" $1 "* ]]; }

# Sets the caller's changed. It is noted before the first change; otherwise a second run would find
# nothing to do, and leave the initramfs as it was.
cmd_claim_changes_() {
	[[ -z $changed ]] || return 0
	changed=yes
	[[ -n $DRY_RUN || -n ${OPT[no_initramfs]-} ]] || {
		act_put_folder "$STATE" && act_put "$due"
	}
}

cmd_claim_drop_old() {
	local file name
	for file in "$CLAIMS"/ramraid-*.conf; do
		[[ -e $file ]] || continue
		name=${file##*/ramraid-} name=${name%.conf}
		cmd_claim_means "$name" || continue
		[[ -n ${OPT[remove]-} || ! -e $ETC/$name.conf ]] || continue
		# This is no array's claim: "selftest --clean" removes what a test has left.
		[[ $name != "$SELFTEST_NAME" ]] || continue
		cmd_claim_changes_
		# A claim that can't be removed must not keep the others from being removed.
		claim_remove "$name" || {
			log_error "$name: its claim $file is still there: the claim, or the ARRAY \
lines that it disables, could not be changed"
			failed=yes
		}
	done
}

# Nobody watches an array that anybody may start: its old record would go on vouching for a disk
# that has left since. This includes arrays without a claim, such as one with the root file system.
cmd_claim_leave() {
	local name
	[[ -z $DRY_RUN ]] || return 0
	while IFS= read -r name; do
		cmd_claim_means "$name" || continue
		cmd_claim_leave_one_ "$name" || {
			log_error "$name: its record $STATE/$name.witness could not be written, \
and still vouches for the disks that were in sync; delete it"
			failed=yes
		}
	done < <(cmd_claim_recorded_)
}

# Prints the names of arrays that have a record, with or without a configuration.
cmd_claim_recorded_() {
	local file
	for file in "$STATE"/*.witness; do
		file=${file##*/}
		[[ $file == '*.witness' ]] || printf '%s\n' "${file%.witness}"
	done
}

# If the configuration is gone or has errors, the record itself says which array it is about.
cmd_claim_leave_one_() { # NAME
	local line uuid=''
	local -A CONF=([WITNESS_COPY]=auto)
	while IFS= read -r line; do
		[[ $line != uuid=* ]] || uuid=${line#uuid=}
	done <"$STATE/$1.witness"
	conf_load "$1" 2>/dev/null || CONF[WITNESS_COPY]=auto
	witness_leave "$1" "$uuid" 2>/dev/null
}

cmd_claim_write_new() {
	local name line
	while IFS= read -r name; do
		cmd_claim_means "$name" || continue
		conf_load "$name" || {
			for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
			log_error "$name: not claimed, because of these errors"
			continue
		}
		[[ ! -e $STATE/$name.witness ]] ||
			witness_take_up "$name" "${CONF[UUID]}" || failed=yes
		! claim_is_made "$name" "${CONF[UUID]}" || continue
		cmd_claim_changes_
		claim_write "$name" "${CONF[UUID]}"
	done < <(conf_names)
}
