# The check, what is no single array's: the defaults, leftovers of arrays that are not configured, the memory of all ramdisks, who is told of a failure.
# shellcheck shell=bash

# check_system ALL: about the system; the first question concerns each array, the others only those who ask about all.
check_system() {
	local CHECK_ARRAY=''
	check_defaults
	[[ -n $1 ]] || return 0
	check_claims_left
	check_half_done_unconfigured
	check_memory_of_all
	check_boot_folder
	check_mail
}

check_defaults() {
	conf_defaults || check_configuration
}

# Claimed and not configured: nobody starts it.
check_claims_left() {
	local file name
	for file in "$CLAIMS"/ramraid-*.conf; do
		name=${file##*/ramraid-} name=${name%.conf}
		[[ ! -e $file || -e $ETC/$name.conf || -L $ETC/$name.conf ]] || check_problem claim-left \
			"no claim of an array that is not configured ($name), since nobody would start it" "$file" 'ramraid claim'
	done
}

# An adoption has noted what it found before it wrote a configuration, and a release deletes its notes after it. Where somebody has deleted the
# configuration of one that had ended, "release" goes by what the array was started with, and after a boot by nothing.
check_half_done_unconfigured() {
	local file name back
	for file in "$STATE"/*.releasing "$STATE"/*.adopted; do
		name=${file##*/} name=${name%.*}
		[[ -e $file && ! -e $ETC/$name.conf && ! -L $ETC/$name.conf ]] || continue
		if [[ $file == *.releasing ]]; then
			check_problem release-unfinished "the release of $name to be complete" "its notes, such as $file" "ramraid release $name"
		elif [[ ! -e $STATE/$name.releasing ]]; then
			back="back: ramraid release $name"
			! adopted_read "$name" || [[ ${ADOPTED[done]-} != yes || -e $RUN/$name.started ]] || back="rm $file, if it is to stay a plain array"
			check_problem adopt-unfinished "the adoption of $name to be complete" "its notes, such as $file, and no configuration" \
				"ramraid adopt $name ARRAY; or $back"
		fi
	done
}

# Each fits, but not all of them together. After check_memory of each array.
check_memory_of_all() {
	local total
	[[ -z $CHECK_RAM_SAID ]] && ((CHECK_RAM_BYTES > 0)) || return 0
	total=$(ram_total)
	((CHECK_RAM_BYTES + CHECK_RAM_RESERVE > total)) || return 0
	check_problem memory "memory for all ramdisks ($(human_bytes "$CHECK_RAM_BYTES")) and for RAM_RESERVE ($(human_bytes "$CHECK_RAM_RESERVE"))" \
		"$(human_bytes "$total") in all, so that an array will have no RAM leg" 'lower RAM_RESERVE, or write RAM=none for one of them'
}

check_boot_folder() {
	[[ ! -e $BOOT ]] || check_can_read "$BOOT" || check_unseen kernels 'to see which kernels are installed' "no right to read $BOOT"
}

# check_notify: is the program there that is to be run? Sets CHECK_UNTOLD=yes for an array that has none. After conf_load.
check_notify() {
	local program=${CONF[NOTIFY]}
	if [[ $program == none ]]; then
		CHECK_UNTOLD=yes
	elif [[ ! -f $program || ! -x $program ]]; then
		check_note notify 'the program that NOTIFY names, so that somebody is told of a failed disk' "no program at $program" \
			"make it executable (chmod 755 $program), or mend NOTIFY= in $ETC/$CHECK_ARRAY.conf"
	fi
}

# mdadm tells of a failed disk by a program or by mail, if its configuration names one (mdadm.conf(5)) and there is something to send mail with.
# Keywords may be cut down to three letters, in any case (match_keyword() in mdadm's config.c).
check_mail() {
	local file TELL_ADDRESS
	((${#ARGS[@]} > 0)) && [[ -n ${CHECK_UNTOLD-} ]] || return 0
	while IFS= read -r file; do
		check_can_read "$file" || {
			check_unseen mail 'to see whom mdadm tells of a failed disk' "no right to read $file"
			return
		}
		! grep -qiE '^pro(g(r(am?)?)?)?[[:blank:]]+[^[:blank:]]' "$file" || return 0
	done < <(claim_others)
	tell_address
	if [[ -z $TELL_ADDRESS ]]; then
		check_note no-mail 'NOTIFY, or MAILADDR or PROGRAM in mdadm.conf, so that somebody is told of a failed disk' 'none of them' \
			"write NOTIFY=PROGRAM in $ETC/ramraid.conf; or \"MAILADDR root\" in /etc/mdadm/mdadm.conf"
	elif ! tell_has_sendmail; then
		check_note no-mail "something that sends mail to $TELL_ADDRESS (MAILADDR in mdadm.conf), so that somebody is told of a failed disk" \
			'neither /usr/sbin/sendmail nor /usr/lib/sendmail' "install a mail system that has it, such as exim4, postfix or msmtp-mta; or write NOTIFY=PROGRAM in $ETC/ramraid.conf"
	fi
}
