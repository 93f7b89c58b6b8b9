# The check, what concerns no single array: the defaults, leftovers of arrays that are not
# configured, the memory of all ramdisks, who else makes ramdisks, who is notified of a failure.
# Two programs that make ramdisks would fight over those of an array.
# shellcheck shell=bash

need act/array-lock act/notify act/rescue-beside cmd/check/findings config/conf config/conf-faults
need config/conf-where core/cli core/lock core/mounts core/paths core/quantity core/text core/trust
need notes/adopted notes/claim notes/hardware notes/selftest-record observe/ramdisk-makers
need observe/rescue-place world/disk world/disk-find world/ramdisk world/ramdisk-memory

# check_machine ALL: checks the system. The first two questions concern each array; the others are
# only asked when the check is about all arrays.
check_machine() {
	local CHECK_ARRAY=''
	check_machine_defaults
	check_machine_mail
	[[ -n $1 ]] || return 0
	check_machine_claims_left
	check_machine_initramfs_due
	check_machine_selftest_left
	check_machine_half_done_unconfigured
	check_machine_memory_of_all
	check_machine_boot_folder
	((${#ARGS[@]} == 0)) || check_machine_makers
}

check_machine_defaults() {
	conf_defaults || findings_configuration
	check_machine_dropins ramraid
}

# check_machine_dropins NAME: reports files that were meant to be drop-ins of NAME and are not in
# force. "ramraid" stands for the defaults.
check_machine_dropins() {
	local file
	local -a CONF_UNREAD_MEANT CONF_UNREAD_KEPT
	conf_faults_unread "$1"
	for file in "${CONF_UNREAD_MEANT[@]}"; do
		findings_note dropin-unread \
			"names that end in .conf in $ETC/$1.conf.d, as no other file there is \
read" "$file" "mv $file $file.conf, if it should apply; otherwise: mv $file $file.disabled"
	done
}

# Nobody starts an array that is claimed and not configured.
check_machine_claims_left() {
	local file name
	for file in "$CLAIMS"/ramraid-*.conf; do
		name=${file##*/ramraid-} name=${name%.conf}
		[[ ! -e $file || -e $ETC/$name.conf || -L $ETC/$name.conf ||
			$name == "$SELFTEST_NAME" ]] ||
			findings_problem claim-left \
				"no claim of an array that is not configured ($name), \
since nobody would start it" "$file" 'ramraid claim'
	done
}

# A claim that could not make the initramfs anew has noted that (cmd/claim.sh).
check_machine_initramfs_due() {
	[[ -e $STATE/initramfs-due ]] && lock_is_free "$LOCKS/initramfs" || return 0
	findings_problem initramfs-due 'every initramfs to have the claims of now' \
		'that the last claim could not make it, or was interrupted' 'ramraid claim'
}

# What a self-test that was killed has left takes memory; the next self-test removes it.
check_machine_selftest_left() {
	local SELFTEST_LEFT
	selftest_record_left
	[[ -n $SELFTEST_LEFT ]] || SELFTEST_LEFT=$(claim_file "$SELFTEST_NAME")
	[[ -e $SELFTEST_LEFT ]] && array_lock_is_free "$SELFTEST_NAME" || return 0
	findings_note selftest-left 'nothing of a self-test that has ended' "$SELFTEST_LEFT" \
		'ramraid selftest --clean'
}

# An adoption notes what it finds before it writes a configuration, and a release deletes its notes
# after the configuration. If somebody has deleted the configuration after a finished adoption,
# "release" uses what the array was started with; after a boot, not even that is left.
check_machine_half_done_unconfigured() {
	local file name back RELEASING
	for file in "$STATE"/*.releasing "$STATE"/*.adopted; do
		name=${file##*/} name=${name%.*}
		[[ -e $file && ! -e $ETC/$name.conf && ! -L $ETC/$name.conf ]] || continue
		if [[ $file == *.releasing ]]; then
			adopted_releasing_read "$name"
			findings_problem release-unfinished \
				"the $RELEASING of $name to be complete" \
				"its notes, such as $file" "ramraid $RELEASING $name"
		elif [[ ! -e $STATE/$name.releasing ]]; then
			back="back: ramraid release $name"
			! adopted_read "$name" || [[ ${ADOPTED[done]-} != yes ||
				-e $RUN/$name.started ]] ||
				back="rm $file, if it is to stay a plain array"
			findings_problem adopt-unfinished "the adoption of $name to be complete" \
				"its notes, such as $file, and no configuration" \
				"ramraid adopt $name ARRAY; or $back"
		fi
	done
}

# Each ramdisk fits, but not all of them together. After check_next_boot_memory of each array.
check_machine_memory_of_all() {
	local total
	[[ -z $CHECK_RAM_SAID ]] && ((CHECK_RAM_BYTES > 0)) || return 0
	total=$(ramdisk_memory_total)
	((CHECK_RAM_BYTES + CHECK_RAM_RESERVE > total)) || return 0
	findings_problem memory "memory for all ramdisks \
($(quantity_show_bytes "$CHECK_RAM_BYTES")) and for RAM_RESERVE \
($(quantity_show_bytes "$CHECK_RAM_RESERVE"))" \
		"$(quantity_show_bytes "$total") in all, so that an array will have no RAM leg" \
		'lower RAM_RESERVE, or write RAM=none for one of them'
}

check_machine_boot_folder() {
	[[ ! -e $BOOT ]] || findings_can_read "$BOOT" ||
		findings_unseen kernels 'to see which kernels are installed' \
			"no right to read $BOOT"
}

# check_machine_notify: is the program there that NOTIFY names? Sets CHECK_UNTOLD=yes for an array
# that has none. After conf_load.
check_machine_notify() {
	local program=${CONF[NOTIFY]} why
	if [[ $program == none ]]; then
		CHECK_UNTOLD=yes
	elif [[ ! -f $program || ! -x $program ]]; then
		findings_note notify "the program that NOTIFY names, so that somebody is notified \
of a failed disk" "no program at $program" \
			"make it executable (chmod 755 $program), \
or correct NOTIFY= (ramraid config show $CHECK_ARRAY names the file)"
	else
		why=$(notify_why_not "$program") || why=$TEXT_UNKNOWN
		[[ -z $why ]] ||
			findings_note notify "that only root can change the program that NOTIFY \
names, which runs as root" "$why; it is not run" \
				"chown root and chmod go-w what is named there (or, where it says \
that a user has mounted it, name that disk in /etc/fstab), \
or correct NOTIFY= (ramraid config show $CHECK_ARRAY names the file)"
	fi
}

# check_machine_rescue: would an image of the RAM leg be root's alone, and as secret as the legs
# are? After facts_observe.
check_machine_rescue() {
	local i WHY TODO why source memory NODE folder=${CONF[RESCUE]}
	[[ ${F[conf.ram]} != none && $folder != none ]] || return 0
	trust_into why "$folder/$CHECK_ARRAY"
	[[ -z $why ]] ||
		findings_problem rescue-folder "that RESCUE=$folder can be changed by root alone, \
so that a shutdown can save the RAM leg there" "$why" \
			"chown root and chmod go-w what is named there (or, where it says that a \
user has mounted it, name that disk in /etc/fstab), \
or write another RESCUE= in $(conf_where "$CHECK_ARRAY" RESCUE)"
	[[ -n $why ]] || ! rescue_place_barred "$CHECK_ARRAY" "$folder" ||
		findings_problem rescue-folder "that a shutdown can write to RESCUE=$folder" \
			"that $WHY" "$TODO"
	# A shutdown makes what is not there yet.
	while [[ $folder == */* && ! -e $folder ]]; do folder=${folder%/*}; done
	folder=${folder:-/}
	memory=$(rescue_place_memory "$folder") || memory=''
	[[ -z $memory ]] ||
		findings_problem rescue-folder "a RESCUE= that outlasts a power-off" \
			"that ${CONF[RESCUE]} is in memory ($memory)" \
			"write a RESCUE= on a disk in $(conf_where "$CHECK_ARRAY" RESCUE)"
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -n $(disk_containers "${F[leg.$i.node]:-none}") ]] || continue
		source=$(mounts_of SOURCE "$folder") || return 0
		disk_find "$source" && [[ -z $(disk_containers "$NODE") ]] || return 0
		findings_note rescue-plain "a saved image of the RAM leg to be encrypted, \
as the disk leg ${F[leg.$i.dev]} is" \
			"that RESCUE=${CONF[RESCUE]} is on $source, \
which is not" "write a RESCUE= on an encrypted file system, or RESCUE=none, \
in $(conf_where "$CHECK_ARRAY" RESCUE); what was saved: ramraid restore --delete $CHECK_ARRAY"
		return 0
	done
}

# check_machine_rescue_beside: is there an image that no start knows of? And is this an array of
# which a start never does, because the record is on the array itself? After facts_observe.
check_machine_rescue_beside() {
	local folder found NODE RESCUE_BESIDE RESCUE_CUT_OFF
	rescue_beside_find "$CHECK_ARRAY" "${F[uuid]}"
	for folder in "${RESCUE_BESIDE[@]}"; do
		findings_problem rescue-unrecorded "a record in $STATE of every rescue image, so \
that a start refuses the disks, which may lack what the image has" \
			"none of $folder/image" "$(rescue_beside_todo "$folder")"
	done
	for folder in "${RESCUE_CUT_OFF[@]}"; do
		findings_problem rescue-cut-off "every image in ${CONF[RESCUE]} to be whole" \
			"$folder/image, which a shutdown could not finish, and which takes room \
that the next one may need" "if nothing in it is needed: rm -r $folder"
	done
	[[ ${F[conf.root]} == yes && ${F[conf.ram]} != none && ${CONF[RESCUE]} != none &&
		-n ${F[array.md]} ]] && rescue_beside_state_on "${F[array.md]}" || return 0
	found="that $STATE is on the array itself: a shutdown can save the RAM leg to \
${CONF[RESCUE]}, but not keep the next boot from starting the old disks"
	! disk_below "${CONF[RESCUE]}" || ! disk_is_partly_on "$NODE" "${F[array.md]}" ||
		found="that RESCUE=${CONF[RESCUE]} is on the array itself: a shutdown can't save \
the RAM leg there, and could not keep the next boot from starting the old disks"
	findings_note rescue-root "that a start knows when only the RAM leg had all data" "$found" \
		"if no disk leg is in sync, do not reboot before one is (ramraid status \
$CHECK_ARRAY); have RESCUE= on another file system, and after such a shutdown use a rescue system \
(ROOT FILE SYSTEM in ramraid-restore(8))"
}

# check_machine_removable: what RESCUE, NOTIFY and WITNESS_COPY name counts as root's because the
# disk says so, and tomorrow another disk may have the name that is in fstab. Not reported if the
# root file system is on the same disk. After conf_load.
check_machine_removable() {
	local key path why root='' NODE HARDWARE
	! disk_below / || {
		hardware_of "$NODE"
		root=$HARDWARE
	}
	for key in RESCUE NOTIFY WITNESS_COPY; do
		path=${CONF[$key]}
		[[ $path == /* ]] || continue
		trust_into why "$ROOT$path"
		[[ -z $why ]] || continue
		disk_below "$path" || continue
		hardware_of "$NODE"
		[[ $HARDWARE != "$root" && +${HARDWARE%% *}+ =~ \+(usb|removable)\+ ]] || continue
		findings_note removable "$key=$path on a disk that nobody but root can replace" \
			"that it is on /dev/$NODE (${HARDWARE%% *}): whoever plugs in another disk \
with that name is trusted as root is" \
			"keep others from that port, or write another $key= in \
$(conf_where "$CHECK_ARRAY" "$key")"
	done
}

# mdadm reports a failed disk through a program or by mail, if its configuration names one
# (mdadm.conf(5)) and there is something to send mail with. Keywords may be cut down to three
# letters, in any case (match_keyword() in mdadm's config.c).
check_machine_mail() {
	local file NOTIFY_ADDRESS
	((${#ARGS[@]} > 0)) && [[ -n ${CHECK_UNTOLD-} ]] || return 0
	while IFS= read -r file; do
		findings_can_read "$file" || {
			findings_unseen mail 'to see whom mdadm notifies of a failed disk' \
				"no right to read $file"
			return
		}
		! grep -qiE '^pro(g(r(am?)?)?)?[[:blank:]]+[^[:blank:]]' "$file" || return 0
	done < <(claim_others)
	notify_address
	if [[ -z $NOTIFY_ADDRESS ]]; then
		findings_note no-mail "NOTIFY, or MAILADDR or PROGRAM in mdadm.conf, so that \
somebody is notified of a failed disk" 'none of them' \
			"write NOTIFY=PROGRAM in $ETC/ramraid.conf; \
or \"MAILADDR root\" in /etc/mdadm/mdadm.conf"
	elif ! notify_has_sendmail; then
		findings_note no-mail "something that sends mail to $NOTIFY_ADDRESS (MAILADDR in \
mdadm.conf), so that somebody is notified of a failed disk" \
			'neither /usr/sbin/sendmail nor /usr/lib/sendmail' "install a mail system \
that has it, such as exim4, postfix or msmtp-mta; or write NOTIFY=PROGRAM in $ETC/ramraid.conf"
	fi
}

check_machine_makers() {
	local i
	ramdisk_makers_find
	for ((i = 0; i < ${#RAMDISK_MAKERS[@]}; i++)); do
		case ${RAMDISK_MAKERS[i]} in
		daemon)
			findings_problem rapiddiskd 'nothing else that removes ramdisks' \
				"${RAMDISK_MAKERS_FOUND[i]}" "${RAMDISK_MAKERS_DO[i]}"
			;;
		array)
			findings_problem ramdisk-maker \
				'nothing else that gives a ramdisk to an array' \
				"${RAMDISK_MAKERS_FOUND[i]}" "${RAMDISK_MAKERS_DO[i]}"
			;;
		*)
			findings_note ramdisk-maker 'nothing else that makes ramdisks at boot' \
				"${RAMDISK_MAKERS_FOUND[i]}" "${RAMDISK_MAKERS_DO[i]}"
			;;
		esac
	done
	((${#RAMDISK_MAKERS_UNSEEN[@]} == 0)) ||
		findings_unseen makers 'to see what else makes ramdisks' \
			"no right to read ${RAMDISK_MAKERS_UNSEEN[*]}"
}
