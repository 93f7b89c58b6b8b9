# The check, who uses what is on the array: services that do not wait for a mount, and hibernation.
# cmd/check/dependents.sh calls this, and it uses the variables of that file.
# shellcheck shell=bash disable=SC2154 # variables of cmd/check/dependents.sh

need cmd/check/findings config/conf config/conf-where core/mounts core/paths core/quantity core/text
need observe/facts report/read-share world/disk world/openers world/systemd

declare -gA F # the facts: decide/facts.list

# check_who_uses_services MOUNT…: each MOUNT is one that the boot does not wait for (nofail). A
# service that uses it and does not depend on it starts without it, and may write below the mount
# point; nor is it stopped together with the mount.
check_who_uses_services() {
	local mount unit text requires units=()
	[[ ${F[array.state]} == active ]] || return 0
	for mount; do
		[[ -n $(disk_carries "${F[array.md]}" "$mount") ]] || continue
		findings_is_root || {
			findings_unseen services "to see which services use $mount, \
for which the boot does not wait (nofail)" 'no right to see what others have open'
			return
		}
		unit=$(systemd_escape --path --suffix=mount -- "$mount")
		mapfile -t units < <(check_who_uses_below_ "$mount")
		text=$(systemd_show Id,Requires,Requisite,BindsTo "${units[@]}") || continue
		systemd_unquote text
		while IFS= read -r requires; do
			[[ " ${requires#* } " == *" $unit "* ]] ||
				findings_problem service-ungated "${requires%% *} to start after \
$mount, for which the boot does not wait (nofail), and not without it" \
					'that it uses the mount without depending on it' \
					"systemctl edit ${requires%% *}, \
and write there: [Unit] RequiresMountsFor=$mount"
		done < <(check_who_uses_lines_ < <(printf '%s\n' "$text"))
	done
}

# Prints the services that use MOUNT; the mounts below it do not count.
check_who_uses_below_() { # MOUNT
	local line other below=() MOUNTS
	mounts_read || : # then only the mount itself is asked about
	for line in "${MOUNTS[@]}"; do
		text_into "$line" _ _ _ _ other
		text_unmangle other "$other"
		[[ $other != "$1"/* ]] || below+=("$other")
	done
	openers_services "$1" "${below[@]}" | grep -v '^ramraid' | sort -u
}

# check_who_uses_lines_ <TEXT: TEXT is what systemd_show prints of Id and the dependencies; prints
# it as lines "UNIT DEPENDENCY…".
check_who_uses_lines_() {
	local line id='' all=''
	while IFS= read -r line; do
		case $line in
		Id=*) id=${line#*=} ;;
		*=*) all+=" ${line#*=}" ;;
		'')
			[[ -z $id ]] || printf '%s%s\n' "$id" "$all"
			id='' all=''
			;;
		esac
	done
	[[ -z $id ]] || printf '%s%s\n' "$id" "$all"
}

# check_who_uses_hibernation: a machine that wakes from hibernation looks for its image before the
# array has been started. If the initramfs has started the array (ROOT=yes), what is in the image no
# longer fits the legs.
check_who_uses_hibernation() {
	local unit states='' swaps=()
	for unit in "${WAITING[@]}" "${LIVE[@]}"; do [[ $unit != *.swap ]] || swaps+=("$unit"); done
	((${#swaps[@]} > 0)) || return 0
	{ read -r states <"$SYS/power/state"; } 2>/dev/null || :
	[[ " $states " == *' disk '* &&
		$(systemd_show LoadState hibernate.target) != *LoadState=masked* ]] || return 0
	findings_problem hibernation 'that the machine can not hibernate to swap on the array' \
		"that it can, to ${swaps[*]}: the next boot does not find the image, \
and what was in memory is lost, as in a power cut" \
		"systemctl mask hibernate.target hybrid-sleep.target \
suspend-then-hibernate.target; or put swap elsewhere"
}

# check_who_uses_timeouts "TIMESPAN PATH"…: x-systemd.device-timeout= in fstab comes from the
# administrator, and overrides the time that the generator gives the device. If the last rebuild
# took longer than that, the mount fails at the next boot.
check_who_uses_timeouts() {
	local line value path seconds rebuilt=0 text most=0
	(($# > 0)) || return 0
	text=$(quantity_seconds "${CONF[WAIT_TIMEOUT]}" "${CONF[MEMBER_TIMEOUT]}") || return 0
	facts_served
	read_share_history
	if [[ ${F[conf.wait]} != no && ${CONF[RAM]} != none ]]; then
		rebuilt=$HISTORY_SECONDS most=${text%%$'\n'*}
	fi
	if [[ $most$text == *infinity* ]]; then
		most=infinity
	else most=$((most + ${text##*$'\n'})); fi
	for line; do
		value=${line%% *} path=${line#* }
		seconds=$(quantity_seconds "$value" 2>/dev/null) || continue
		[[ $seconds != @(0|infinity) ]] || continue
		if ((seconds < rebuilt)); then
			findings_problem device-timeout "x-systemd.device-timeout= of $path in \
/etc/fstab to be longer than a rebuild, for which it waits" \
				"$value, and the last rebuild took $rebuilt s: \
the next boot gives up that mount before the array is whole" "$(check_who_uses_untimed_)"
		elif [[ $most == infinity ]] || ((seconds < most)); then
			findings_note device-timeout "x-systemd.device-timeout= of $path in \
/etc/fstab to be as long as a start may take" \
				"$value, and WAIT_TIMEOUT and MEMBER_TIMEOUT together are $most s" \
				"$(check_who_uses_untimed_)"
		fi
	done
}
check_who_uses_untimed_() {
	printf "remove x-systemd.device-timeout= from that line, or lower WAIT_TIMEOUT= in %s; \
then: systemctl daemon-reload\n" "$(conf_where "$CHECK_ARRAY" WAIT_TIMEOUT)"
}
