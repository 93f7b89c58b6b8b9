# Telling people what has happened: in the journal, and through the administrator's program (NOTIFY=) or by mail. What has happened is found out by
# changes.sh. The names of the events are listed in ramraid.conf(5), under EVENTS, and stay as they are.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# tell SEVERITY EVENT DEVICE TEXT: says TEXT in the journal, and tells it to whom else it concerns. SEVERITY is notice (as it should be, or done on
# purpose), warning (somebody has to do something), or alert (at once). DEVICE: the disk or ramdisk that it is about; empty: the array. F[name] is the
# array's. Returns 0 always: whatever is wrong with the telling must not keep the work from being done.
tell() {
	"log_$1" "$4"
	[[ -n ${LOG_JOURNAL-} || -n $DRY_RUN ]] || tell_journal_ "$1" "$4"
	tell_others "$@"
}

# Typed by a person, the program writes to the terminal; what it is the first to see, others look for in the journal.
tell_journal_() { # SEVERITY TEXT
	systemd_is_running || return 0
	logger --tag ramraid --priority "daemon.${1/alert/emerg}" -- "$2" || log_notice "${F[name]}: the journal does not take what was said"
}

# tell_others SEVERITY EVENT DEVICE TEXT: the same for what stands in the journal already.
tell_others() {
	local program=${CONF[NOTIFY]-none}
	[[ -z $DRY_RUN ]] || return 0
	if [[ $program == none ]]; then
		[[ $1 == notice ]] || tell_mail_ "$@"
	elif [[ ! -f $program || ! -x $program ]]; then
		log_warning "${F[name]}: nobody was told of $2: NOTIFY=$program is not there, or is no program"
	else
		tell_run_ "$program" "$@"
	fi
}

# tell_run_ PROGRAM SEVERITY EVENT DEVICE TEXT [VARIABLE=VALUE]: called as mdadm --monitor calls its program (mdadm.conf(5), PROGRAM): EVENT,
# the array, and the device, if there is one. In a unit of its own, so that it is neither in our sandbox, nor waited for, nor ended with us.
tell_run_() {
	local text=${5//[[:cntrl:]]/ } name=${F[name]}
	systemd_is_running || {
		log_notice "$name: systemd does not run here, so $1 was not told of $3"
		return 0
	}
	systemd_run_apart "ramraid-notify-$name-${EPOCHREALTIME//[!0-9]/}" "Tell $1 of $3 of the array $name" "RAMRAID_NAME=$name" "RAMRAID_SEVERITY=$2" \
		"RAMRAID_MESSAGE=$text" "${@:6}" -- "$1" "$3" "/dev/md/$name" ${4:+"$4"} || log_warning "$name: $1 was not told of $3: systemd did not start it"
}

# Without a program, a mail, if mdadm.conf says to whom, and there is something to send it with; as mdadm itself does, which knows less.
tell_mail_() { # SEVERITY EVENT DEVICE TEXT
	local TELL_ADDRESS
	tell_has_sendmail || return 0
	tell_address
	[[ -z $TELL_ADDRESS ]] || tell_run_ "${lib-}/mail" "$@" "RAMRAID_MAILADDR=$TELL_ADDRESS"
}

tell_has_sendmail() { [[ -x $ROOT/usr/sbin/sendmail || -x $ROOT/usr/lib/sendmail ]]; }

# tell_address: sets TELL_ADDRESS to the first MAILADDR of mdadm.conf(5), where mdadm takes it from; empty when there is none. Keywords may be cut
# down to three letters, in any case (match_keyword() in mdadm's config.c).
tell_address() {
	local file line
	TELL_ADDRESS=''
	need claim
	while IFS= read -r file; do
		[[ -r $file ]] || continue
		while IFS= read -r line; do
			[[ -z $TELL_ADDRESS && ${line,,} =~ ^(mai|mail|maila|mailad|mailadd|mailaddr)[[:blank:]]+[^[:blank:]#] ]] || continue
			read -r _ TELL_ADDRESS _ <<<"$line"
		done <"$file"
	done < <(claim_others)
}
