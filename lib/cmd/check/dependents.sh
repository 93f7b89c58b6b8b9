# The check, what is on the array: will it wait for the array at the next boot, and does it in this
# one? Compares what the generator finds with what systemd has, and with what is mounted, opened or
# swapped to. After facts_observe.
# shellcheck shell=bash

need act/notify cmd/check/findings cmd/check/legs cmd/check/who-uses config/conf config/conf-where
need core/paths core/text gate/dependents gate/limit gate/spec notes/contents world/disk
need world/disk-find world/systemd

declare -gA F # the facts: decide/facts.list

# The functions below share: WAITING (units that the generator finds), MISSED (those that it does
# not find, and that have been reported), LIVE and LIVE_WHAT (units of what is in use, and what a
# person calls that), LOAD, AFTER, FROM (unit → its load state, what it comes after, its file), and
# WAITS (units that come after the array).
check_dependents() {
	local WAITING=() MISSED='' LIVE=() LIVE_WHAT=() GATE_LEGS=() optional=() wanted=() \
	byhand=() timeouts=() unit network
	local -A LOAD=() AFTER=() FROM=() WAITS=()
	check_dependents_can_see_ || return 0
	network=$(dependents_units "$CHECK_ARRAY" "${CONF[UUID]}")
	mapfile -t WAITING < <(sed -n 's/^unit //p' < <(printf '%s\n' "$network"))
	mapfile -t GATE_LEGS < <(sed -n 's/^\(leg\|byhand\) //p' < <(printf '%s\n' "$network"))
	mapfile -t wanted < <(sed -n 's/^leg //p' < <(printf '%s\n' "$network"))
	mapfile -t byhand < <(sed -n 's/^byhand //p' < <(printf '%s\n' "$network"))
	mapfile -t timeouts < <(sed -n 's/^timeout //p' < <(printf '%s\n' "$network"))
	mapfile -t optional < <(sed -n 's/^optional //p' < <(printf '%s\n' "$network"))
	network=$(sed -n 's/^network //p' < <(printf '%s\n' "$network"))
	[[ ${F[array.state]} != active ]] || {
		check_dependents_numbered
		check_dependents_remembered
		check_dependents_in_use_
	}
	check_dependents_ask_ "${WAITING[@]}" "${LIVE[@]}" \
		${GATE_LEGS:+"$(systemd_unit "$CHECK_ARRAY")"} || {
		findings_note unseen-gate 'to see what waits for the array' \
			'that systemd does not say' \
			"systemctl status $(systemd_unit "$CHECK_ARRAY")"
		return
	}
	for unit in "${WAITING[@]}"; do check_dependents_unit "$unit"; done
	check_dependents_network_ "$network"
	check_dependents_legs_
	check_legs_containers "${wanted[*]}" "${byhand[*]}"
	check_dependents_memory_
	check_who_uses_hibernation
	check_who_uses_services "${optional[@]}"
	check_who_uses_timeouts "${timeouts[@]}"
	check_dependents_spread_
	check_dependents_live
}

check_dependents_units_() {
	dependents_units "$CHECK_ARRAY" "${CONF[UUID]}" | sed -n 's/^unit //p'
}

# A disk on the network is not there before the network is; and a single line without _netdev keeps
# the array from waiting for the network.
check_dependents_network_() { # ONLY|MIXED|NOTHING: what dependents_units says
	local i found=$1 remote=''
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ -z ${F[leg.$i.node]} ]] || ! disk_is_remote "${F[leg.$i.node]}" ||
			remote=${F[leg.$i.dev]}
	done
	case ${remote:+remote}:$found in
	*:mixed) found='it on some of them only, so that the array does not wait for the network' ;;
	remote:) found="none, though $remote comes over the network" ;;
	*) return 0 ;;
	esac
	((${#WAITING[@]} == 0)) ||
		findings_problem not-netdev "_netdev on all lines of /etc/fstab and /etc/crypttab \
about what is on the array" "$found" \
			'write _netdev among the options of each, then: systemctl daemon-reload'
}

check_dependents_can_see_() {
	local file
	systemd_is_running || {
		findings_note unseen-gate 'to see what waits for the array' \
			'that systemd does not run here' "ramraid check $CHECK_ARRAY, once it does"
		return 1
	}
	for file in "$ROOT"/etc/{fstab,crypttab} "$(contents_file "$CHECK_ARRAY")" \
		"$PROC/1/mountinfo"; do
		[[ ! -e $file ]] || findings_can_read "$file" || {
			findings_unseen gate 'to see what waits for the array' \
				"no right to read $file"
			return 1
		}
	done
}

check_dependents_ask_() { # UNIT…
	local text line id='' load='' after='' from=''
	text=$(systemd_show Id,LoadState,After,FragmentPath "$@") || return 1
	while IFS= read -r line; do
		case $line in
		Id=*) id=${line#*=} ;;
		LoadState=*) load=${line#*=} ;;
		After=*)
			after=${line#*=}
			systemd_unquote after
			;;
		FragmentPath=*) from=${line#*=} ;;
		'')
			[[ -z $id ]] || LOAD[$id]=$load AFTER[$id]=" $after " FROM[$id]=$from
			id='' load='' after='' from=''
			;;
		esac
	done < <(printf '%s\n\n' "$text")
}

# What the generator finds now, it finds at the next boot, too; but systemd may not have run it
# since fstab, or the configuration, was changed.
check_dependents_unit() { # UNIT
	local state=${LOAD["$1"]-not-found}
	[[ $state != masked && ${AFTER["$1"]-} != *" $(systemd_unit "$CHECK_ARRAY") "* ]] ||
		return 0
	if [[ $state != not-found ]]; then
		findings_problem gate-not-loaded "$1 to wait for the array" "that systemd does not \
know of it, so that a shutdown does not stop it first" 'systemctl daemon-reload'
	elif check_dependents_is_named_ "$1"; then
		findings_note unknown-unit "$1, which REQUIRED_BY names" 'no such unit' "see: \
systemctl list-unit-files; correct REQUIRED_BY= in $(conf_where "$CHECK_ARRAY" REQUIRED_BY "$1")"
	elif [[ $1 == *.@(mount|swap) ]]; then
		findings_problem gate-not-loaded "$1, from /etc/fstab, to wait for the array" \
			'that systemd does not know of it yet' 'systemctl daemon-reload'
	fi
}

check_dependents_is_named_() { # UNIT
	local name
	for name in "${REQUIRED_BY[@]}"; do
		spec_resolve name
		[[ $name != /* ]] || name=$(systemd_escape --path --suffix=mount -- "$name")
		[[ $name != "$1" ]] || return 0
	done
	return 1
}

# The kernel writes to swap in order to free memory; but a ramdisk takes memory for each page that
# was zero until then.
check_dependents_memory_() {
	local unit swaps=()
	[[ ${F[conf.ram]} != @(none|/*) ]] || return 0
	for unit in "${WAITING[@]}" "${LIVE[@]}"; do [[ $unit != *.swap ]] || swaps+=("$unit"); done
	((${#swaps[@]} == 0)) ||
		findings_note swap-in-memory 'no swap on an array with a ramdisk' "${swaps[*]}: \
what is swapped out to free memory takes memory in the RAM leg" \
			"put swap on the disks themselves, or on an array with RAM=none; \
then: systemctl daemon-reload"
}

# If a disk leg is in a container and systemd knows that, the container stays open at a shutdown
# until the array has stopped.
check_dependents_legs_() {
	local unit
	for unit in "${GATE_LEGS[@]}"; do
		[[ ${AFTER["$(systemd_unit "$CHECK_ARRAY")"]-} == *" $unit "* ]] ||
			findings_problem gate-not-loaded \
				"the array to come after $unit, in which a disk leg is" \
				"that systemd does not know of it, so that a shutdown may close it \
first" 'systemctl daemon-reload'
	done
}

# Reports names that may mean another device after the next boot, so that the generator can't use
# them.
check_dependents_numbered() {
	local file number source
	while read -r file number _ source; do
		MISSED+=" $source "
		findings_problem not-gated "the array by a name that stays, in $file" \
			"$source in line $number, which may be another array after the next boot" \
			"write UUID= or /dev/md/$CHECK_ARRAY there, then: systemctl daemon-reload"
	done < <(dependents_numbered "$CHECK_ARRAY" "${F[array.md]}")
}

# Reports a file system in fstab that was made, or found, after the last note of what is on the
# array was written.
check_dependents_remembered() {
	local unit DEPENDENTS_MORE known=" ${WAITING[*]} "
	DEPENDENTS_MORE=$(contents_of "${F[array.md]}") || return 0
	while IFS= read -r unit; do
		[[ $unit == *.@(mount|swap) && $known != *" $unit "* ]] || continue
		MISSED+=" $unit "
		findings_problem not-gated \
			"$(contents_file "$CHECK_ARRAY") to name all that is on the array" \
			"that $unit is not known to be on it, and will not wait for it" \
			'ramraid remember; systemctl daemon-reload'
	done < <(check_dependents_units_)
}

# Collects what is in use now: file systems, containers, swap.
check_dependents_in_use_() {
	local target node name type stack NODE
	while IFS= read -r target; do
		text_unmangle target "$target"
		[[ $target != / ]] || {
			check_dependents_root_
			continue
		}
		check_dependents_lives_ \
			"$(systemd_escape --path --suffix=mount -- "$target")" "$target"
	done < <(disk_mounts "${F[array.md]}" | sort -u)
	stack=" $(disk_stack "${F[array.md]}" | tr '\n' ' ')"
	for node in $stack; do
		type=$(cat "$SYS/class/block/$node/dm/uuid" 2>/dev/null) || continue
		[[ $type == CRYPT-* ]] || continue
		name=$(<"$SYS/class/block/$node/dm/name")
		check_dependents_lives_ \
			"$(systemd_escape --template=systemd-cryptsetup@.service -- "$name")" \
			"/dev/mapper/$name"
	done
	while read -r name _; do
		! disk_find "$name" || [[ $stack != *" $NODE "* ]] ||
			check_dependents_swap_ "$name" "$NODE"
	done <"$PROC/swaps"
}

# The root file system can't wait: the initramfs has started its array, or there would be none.
check_dependents_root_() {
	[[ ${CONF[ROOT]} == yes ]] ||
		findings_problem root-not-named \
			"ROOT=yes in $(conf_where "$CHECK_ARRAY" ROOT), since / is on the array" \
			"that it does not say so, so that nothing starts the array \
before / is needed" \
			"write ROOT=yes there, then: ramraid claim"
}

check_dependents_lives_() { # UNIT WHAT
	[[ -z $1 || " ${LIVE[*]} " == *" $1 "* ]] || LIVE+=("$1") LIVE_WHAT+=("$2")
}

# The kernel lists swap by the device's name, systemd by the name in fstab: is it a unit that waits?
check_dependents_swap_() { # DEVICE NODE
	local unit path NODE
	for unit in "${WAITING[@]}"; do
		[[ $unit == *.swap ]] || continue
		path=$(systemd_escape --unescape --path -- "${unit%.swap}")
		disk_find "$path" || NODE=''
		[[ $NODE != "$2" ]] || return 0
	done
	check_dependents_lives_ "$(systemd_escape --path --suffix=swap -- "$1")" "swap on $1"
}

# A unit that comes after one that waits for the array waits for it, too, such as a mount below
# another one.
check_dependents_spread_() {
	local unit other more=yes
	WAITS["$(systemd_unit "$CHECK_ARRAY")"]=yes
	while [[ -n $more ]]; do
		more=''
		for unit in "${!AFTER[@]}"; do
			[[ -z ${WAITS["$unit"]-} ]] || continue
			for other in "${!WAITS[@]}"; do
				[[ ${AFTER["$unit"]} == *" $other "* ]] || continue
				WAITS["$unit"]=yes more=yes
				break
			done
		done
	done
}

# A unit with a file comes again at the next boot. What was mounted without one may have been
# mounted by hand, or by a service that opens the device itself: nobody can tell which.
check_dependents_live() {
	local i unit hands=''
	for ((i = 0; i < ${#LIVE[@]}; i++)); do
		unit=${LIVE[i]}
		[[ -z ${WAITS["$unit"]-} && " ${WAITING[*]} $MISSED" != *" $unit "* ]] || continue
		case ${FROM["$unit"]-} in
		*/systemd/generator*)
			# If MISSED has a device name, that line has most likely been reported.
			[[ $MISSED == *' /dev/'* ]] ||
				findings_problem not-gated "${LIVE_WHAT[i]} to wait for the array" \
					"that its line in /etc/fstab does not show that it is on \
the array" \
					"write UUID= there, or REQUIRED_BY=$unit in \
$ETC/$CHECK_ARRAY.conf, then: systemctl daemon-reload"
			;;
		*/systemd/system/*.mount | */systemd/system/*.swap)
			findings_problem not-gated "${LIVE_WHAT[i]} to wait for the array" \
				"that $unit (${FROM["$unit"]}) does not" \
				"write REQUIRED_BY=$unit in $ETC/$CHECK_ARRAY.conf, then: \
systemctl daemon-reload"
			;;
		*) hands+=${hands:+, }${LIVE_WHAT[i]} ;;
		esac
	done
	[[ -z $hands ]] ||
		findings_note used-ungated 'nothing on the array but what waits for it' \
			"$hands, which systemd does not know of" \
			"if a service uses it, name that in REQUIRED_BY= in \
$ETC/$CHECK_ARRAY.conf; what was done by hand: undo it before a shutdown"
}

# mdadm --monitor --scan skips ARRAY <ignore> lines, and then watches all that is in /proc/mdstat
# (add_new_arrays() in mdadm's mdmonitor.c): to it, an array that lacks its RAM leg is degraded.
# Only reported if such mail would really go out. After facts_of_conf.
check_dependents_boot_mail() {
	local NOTIFY_ADDRESS unit expected='no false alarm at every boot' found
	[[ ${CONF[RAM]} != none ]] && notify_has_sendmail && systemd_is_running || return 0
	notify_address
	[[ -n $NOTIFY_ADDRESS ]] &&
		unit=$(systemd_show LoadState,ExecStart,Environment,After mdmonitor.service) ||
		return 0
	[[ $unit == *LoadState=loaded* && $unit == *--scan* ]] || return 0
	found="that mdmonitor.service mails DegradedArray to $NOTIFY_ADDRESS \
before the RAM leg is there"
	if [[ ${F[conf.wait]} == no ]] || limit_is_alone "$CHECK_ARRAY"; then
		findings_note boot-mail "$expected" "$found" \
			"systemctl mask --now mdmonitor.service, if ramraid looks after all arrays \
of this machine; else see EVENTS in ramraid.conf(5)"
	elif [[ $unit != *[=\ ]"$(systemd_unit "$CHECK_ARRAY")"* ]]; then
		findings_note boot-mail "$expected" "$found: \
systemd does not know yet that it comes after this array" 'systemctl daemon-reload'
	fi
}
