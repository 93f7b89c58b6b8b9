# ramraid claim: makes the claims agree with the configuration. For hand-written configurations and
# the package's own scripts.
# shellcheck shell=bash

need config/conf config/conf-faults core/act core/cli core/log core/paths notes/claim
need notes/selftest-record notes/witness world/disk world/disk-find world/md-state

declare -gA F # the facts: decide/facts.list

readonly CLAIM_USAGE='usage: ramraid claim [--remove] [--all] [--no-initramfs] [--dry-run] [NAME…]

Keep other programs from assembling the arrays (without NAME: all that are configured). For each,
ramraid writes a line to /etc/mdadm/mdadm.conf.d/ramraid-NAME.conf. It drops the lines of arrays
that are not configured any more, whose records then vouch for no disk, and brings the initramfs up
to date if anything has changed, or if the installed ramraid makes it in another way.
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
	# Before the claim goes: if this is cut off in between, the array is still claimed.
	cmd_claim_leave
	cmd_claim_drop_old
	[[ -n ${OPT[remove]-} ]] || {
		cmd_claim_write_new
		cmd_claim_upgrade_
	}
	if [[ -n $changed && -z ${OPT[no_initramfs]-} ]]; then
		if ! claim_initramfs; then
			failed=yes
		elif [[ -z $DRY_RUN ]]; then
			rm -f "$due"
		fi
		# The initramfs has taken long. Meanwhile, the disks of an array whose RAM leg alone
		# was good may have come back, and the monitor may have written that into the
		# record.
		cmd_claim_leave
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

# After an upgrade, every initramfs still has what the old version put there.
cmd_claim_upgrade_() {
	[[ -z $changed && -z ${OPT[no_initramfs]-} ]] && claim_any && claim_parts_differ || return 0
	log_info "the files of ramraid that go into the initramfs are not those with which it was \
made, as after an upgrade: it is made again, which takes seconds to minutes for each kernel"
	cmd_claim_changes_
}

cmd_claim_drop_old() {
	local file name
	for file in "$CLAIMS"/ramraid-*.conf; do
		[[ -e $file ]] || continue
		name=${file##*/ramraid-} name=${name%.conf}
		cmd_claim_means "$name" || continue
		# This is no array's claim: "selftest --clean" removes what a test has left.
		[[ $name != "$SELFTEST_NAME" ]] || continue
		[[ -n ${OPT[remove]-} ]] || cmd_claim_is_old_ "$name" || continue
		cmd_claim_changes_
		# A claim that can't be removed must not keep the others from being removed.
		claim_remove "$name" || {
			log_error "$name: its claim $file is still there: the claim, or the ARRAY \
lines that it disables, could not be changed"
			failed=yes
		}
	done
}

# cmd_claim_is_old_ NAME: has the configuration gone to which this claim belongs? If it was renamed,
# its claim stays until it is claimed under the other name: without one, anybody may start the
# array.
cmd_claim_is_old_() {
	local uuid HEIR HEIR_CLAIMED
	[[ ! -e $ETC/$1.conf && ! -L $ETC/$1.conf ]] || return 1
	uuid=$(cmd_claim_about_ "$1")
	! cmd_claim_heir_ "$1" "$uuid" || [[ -n $HEIR_CLAIMED ]] || {
		log_warning "$1: its claim stays, because $ETC/$HEIR.conf may be about the same \
array, and is not claimed. Correct what is wrong with that file, if anything is; then: ramraid \
claim"
		((${#ARGS[@]} == 0)) || failed=yes
		return 1
	}
}

# cmd_claim_about_ NAME: prints the UUID of the array that the claim is about; nothing if there is
# no claim.
cmd_claim_about_() {
	local line hex
	while IFS= read -r line; do
		[[ $line =~ ^ARRAY' '.*' UUID='([0-9a-f:]{35})$ ]] || continue
		hex=${BASH_REMATCH[1]//:/}
		printf '%s-%s-%s-%s-%s\n' "${hex:0:8}" "${hex:8:4}" "${hex:12:4}" "${hex:16:4}" \
			"${hex:20}"
	done < <(cat -- "$(claim_file "$1")" 2>/dev/null)
}

# cmd_claim_heir_ NAME UUID: is there a configuration of this array, about which something was
# written down under NAME? Sets HEIR to its name, and HEIR_CLAIMED to yes if it is claimed when this
# run ends. One with errors may be about the array if it has that NAME, or if its UUID= can't be
# read and it is not known what it has claimed.
cmd_claim_heir_() {
	local other broken
	HEIR='' HEIR_CLAIMED=''
	while IFS= read -r other; do
		broken=''
		conf_load "$other" 2>/dev/null || broken=yes
		[[ ${CONF[UUID]-} == "$2" ]] || [[ -n $broken && ($other == "$1" ||
			(-z ${CONF[UUID]-} && ! -e $(claim_file "$other"))) ]] || continue
		HEIR=$other
		[[ $(cmd_claim_about_ "$other") != "$2" ]] || HEIR_CLAIMED=yes
		[[ -n $broken ]] || ! cmd_claim_means "$other" || HEIR_CLAIMED=yes
	done < <(conf_names)
	[[ -n $HEIR ]]
}

# Nobody watches an array that anybody may start: its old record would go on vouching for a disk
# that has left since. This includes arrays without a claim, such as one whose claim an earlier
# version has dropped.
cmd_claim_leave() {
	local name uuid
	[[ -z $DRY_RUN ]] || return 0
	while IFS= read -r name; do
		uuid=$(cmd_claim_recorded_about_ "$name")
		cmd_claim_is_left_ "$name" "$uuid" || continue
		cmd_claim_leave_one_ "$name" "$uuid" || {
			log_error "$name: its record $STATE/$name.witness could not be written, \
and still vouches for the disks that were in sync; delete it"
			failed=yes
		}
	done < <(cmd_claim_recorded_)
}

# cmd_claim_is_left_ NAME UUID: does nobody look after the array any more that is recorded under
# NAME? What a start has put aside belongs to the NAME before the "~" (old_name_take).
cmd_claim_is_left_() {
	local HEIR HEIR_CLAIMED
	if [[ -n ${OPT[remove]-} ]]; then
		cmd_claim_means "$1"
	elif [[ -e $ETC/$1.conf ]] && conf_load "$1" 2>/dev/null &&
		[[ ${CONF[UUID]-} == "$2" ]]; then
		return 1 # as for nearly every array: the others' need not be read
	else
		cmd_claim_means "${1%%\~*}" && [[ -n $2 ]] && ! cmd_claim_heir_ "$1" "$2"
	fi
}

# Prints the names of arrays that have a record, with or without a configuration.
cmd_claim_recorded_() {
	local file
	for file in "$STATE"/*.witness; do
		file=${file##*/}
		[[ $file == '*.witness' ]] || printf '%s\n' "${file%.witness}"
	done
}

# cmd_claim_recorded_about_ NAME: prints the UUID of the array that the record is about. If it is
# damaged, its copy may vouch instead, and the claim says of which array.
cmd_claim_recorded_about_() {
	local line
	while IFS= read -r line; do
		[[ $line != uuid=?* ]] || {
			printf '%s\n' "${line#uuid=}"
			return
		}
	done < <(cat -- "$STATE/$1.witness" 2>/dev/null)
	cmd_claim_about_ "$1"
}

# The configuration says where the copy is; if it is gone or has errors, the defaults do.
cmd_claim_leave_one_() { # NAME UUID
	local -A CONF=()
	conf_load "$1" 2>/dev/null || conf_defaults 2>/dev/null || :
	witness_leave "$1" "$2" 2>/dev/null
}

cmd_claim_write_new() {
	local name line
	while IFS= read -r name; do
		cmd_claim_means "$name" || continue
		conf_load "$name" || {
			for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
			log_error "$name: not claimed, because of these errors"
			# The package's scripts name none, and must not fail.
			((${#ARGS[@]} == 0)) || failed=yes
			continue
		}
		[[ ! -e $STATE/$name.witness ]] ||
			witness_take_up "$name" "${CONF[UUID]}" || failed=yes
		! claim_is_made "$name" "${CONF[UUID]}" || continue
		[[ ${CONF[ROOT]} == yes ]] || ! cmd_claim_is_of_root_ "$name" "${CONF[UUID]}" || {
			log_error "$name: its claim stays as it is, because / is on this array, \
and its configuration does not say so: no initramfs would start the array. Write ROOT=yes in \
$ETC/$name.conf, then: ramraid claim $name; or, if / is not on it any more: ramraid claim --remove \
$name; ramraid claim $name"
			((${#ARGS[@]} == 0)) || failed=yes
			continue
		}
		cmd_claim_changes_
		claim_write "$name" "${CONF[UUID]}"
	done < <(conf_names)
}

# cmd_claim_is_of_root_ NAME UUID: is / on the array? Where no array of that UUID runs under its
# name, or the kernel does not say whose it is, the claim that is written is believed.
cmd_claim_is_of_root_() {
	local NODE VALUE=''
	if disk_find "/dev/md/$1"; then
		[[ -z $(disk_carries "$NODE" /) ]] || return 0
		md_state_read "$NODE" uuid
		[[ $VALUE != "$2" ]] || return 1
	fi
	claim_is_of_root "$1"
}
