# ramraid check: finds what would go wrong at the next boot.
# shellcheck shell=bash

need act/notify cmd/check/array cmd/check/findings cmd/check/machine config/conf config/conf-faults
need core/cli core/json core/log core/paths observe/facts world/initramfs world/kernels

readonly CHECK_USAGE='usage: ramraid check [--json] [--kernel=RELEASE] [--notify-test] [NAME…]

Find out what would go wrong at the next boot, and how to fix it. check changes nothing.
Without NAME it looks at all configured arrays, and at the system.
  --kernel=RELEASE  report only what concerns that kernel
  --notify-test     also send a test message to whoever is notified of a failed disk
  --json            print the findings for programs
Exit code 0: nothing, or only notes; 1: at least one problem, or nobody gets the test message;
2: wrong usage, such as a kernel that is not installed; 3: an array is not configured.'

cmd_check() {
	local name code=0 text all='' names=() KERNELS=() CHECK_RAM_BYTES=0 CHECK_RAM_RESERVE=0 \
	CHECK_RAM_SAID=''
	cli_parse "$CHECK_USAGE" 'json kernel= notify-test' "$@"
	[[ -z ${OPT[notify_test]-} ]] || cli_root
	for name in "${ARGS[@]}"; do
		conf_name_ok "$name" || die "$(conf_faults_name "$name")" "$EX_USAGE"
	done
	((${#ARGS[@]} > 0)) || {
		all=yes
		mapfile -t ARGS < <(conf_names)
	}
	cmd_check_choose_kernels
	trap initramfs_close EXIT
	for name in "${ARGS[@]}"; do
		[[ " ${names[*]} " != *" $name "* ]] || continue
		[[ -e $ETC/$name.conf || -L $ETC/$name.conf || -n $all ]] || {
			log_error "$(conf_no_array "$name")"
			code=$EX_INACTIVE
			continue
		}
		names+=("$name")
		check_array "$name" "${OPT[kernel]-}"
	done
	[[ -n ${OPT[kernel]-} ]] || check_machine "$all"
	text=$(cmd_check_show "${names[@]}")
	cli_print "$text${text:+$'\n'}"
	[[ -z ${OPT[notify_test]-} ]] || cmd_check_notify_test_ "${names[@]}" || code=$EX_FAILED
	((code != 0)) || ! findings_has_problem || code=$EX_FAILED
	return "$code"
}

# Sends a test message for each array, in the way that a failed disk would be reported. Returns 1 if
# that is not possible for one of them.
cmd_check_notify_test_() { # NAME…
	local name to code=0 NOTIFY_ADDRESS NOTIFY_WAY
	notify_address
	for name; do
		conf_load "$name" || continue # check has said why
		facts_of_conf "$name"
		to=NOTIFY=${CONF[NOTIFY]}
		if [[ ${CONF[NOTIFY]} == none ]]; then
			to="mail to $NOTIFY_ADDRESS"
			if [[ -z $NOTIFY_ADDRESS ]] || ! notify_has_sendmail; then
				log_warning "$name: nobody is notified, so there is no test message"
				code=1
				continue
			fi
		fi
		notify_others warning test '' "$name: this is a test message; \
ramraid check --notify-test has sent it, and nothing has happened to the array"
		if [[ -z $NOTIFY_WAY ]]; then
			code=1 # why not has been said
		else
			log_notice "$name: the test message goes out by $to; if it does not \
arrive: journalctl -u 'ramraid-notify-$name-*'"
		fi
	done
	return "$code"
}

# Sets KERNELS to the installed ones, or to the one that the user asks about.
cmd_check_choose_kernels() {
	[[ -n ${OPT[kernel]+given} ]] || {
		kernels_find
		return
	}
	[[ ${OPT[kernel]} == [A-Za-z0-9]* && ${OPT[kernel]} != *[!A-Za-z0-9._+~-]* ]] ||
		die "--kernel=${OPT[kernel]//[[:cntrl:]]/?} is not a kernel release; see: ls \
$MODULES" "$EX_USAGE"
	[[ -d $MODULES/${OPT[kernel]} ]] ||
		die "there is no kernel ${OPT[kernel]}: $MODULES has no such folder" "$EX_USAGE"
	KERNELS=("${OPT[kernel]}")
}

cmd_check_show() { # NAME…
	local name
	if [[ -n ${OPT[json]-} ]]; then
		cmd_check_show_json "$@"
		return
	fi
	(($# > 0 || ${#ARGS[@]} > 0)) ||
		printf 'no arrays are configured in %s; see: ramraid create --help\n' "$ETC"
	for name; do cmd_check_show_group "$name" "$name"; done
	[[ $(findings_count '') == 0 ]] || cmd_check_show_group '' 'the system'
}

# The installation of a kernel (--kernel=) shows only what there is to say about that kernel.
cmd_check_show_group() { # ARRAY TITLE
	local i problems notes text
	problems=$(findings_count "$1" problem) notes=$(findings_count "$1" note)
	if ((problems + notes == 0)); then
		[[ -n ${OPT[kernel]-} ]] || printf '%s: nothing to report\n' "$2"
		return
	fi
	text=$(cmd_check_plural "$problems" problem)$(cmd_check_plural "$notes" note)
	printf '%s: %s\n' "$2" "${text%, }"
	for ((i = 0; i < FINDINGS; i++)); do
		[[ ${FINDING["$i.array"]} == "$1" ]] || continue
		printf '  %s %s: expected %s, found %s\n' "${FINDING["$i.severity"]}" \
			"${FINDING["$i.code"]}" "${FINDING["$i.expected"]}" "${FINDING["$i.found"]}"
		printf '    action: %s\n' "${FINDING["$i.action"]}"
	done
}

cmd_check_plural() { # NUMBER WORD
	case $1 in
	0) ;;
	1) printf '1 %s, ' "$2" ;;
	*) printf '%s %ss, ' "$1" "$2" ;;
	esac
}

cmd_check_show_json() { # NAME…
	local i key name
	json_document
	json_open arrays list
	for name; do
		json_open '' object
		json_text name "$name"
		json_number problems "$(findings_count "$name" problem)"
		json_number notes "$(findings_count "$name" note)"
		json_close
	done
	json_close
	json_open findings list
	for ((i = 0; i < FINDINGS; i++)); do
		json_open '' object
		for key in array severity code kernel expected found action; do
			if [[ -n ${FINDING["$i.$key"]} ]]; then
				json_text "$key" "${FINDING["$i.$key"]}"
			else json_null "$key"; fi
		done
		json_close
	done
	json_close
	json_close
	printf '%s\n' "$JSON_TEXT"
}
