# Tells people what has happened: in the journal, and through the administrator's program (NOTIFY=)
# or by mail. act/transitions.sh finds out what has happened. ramraid.conf(5) lists the names of the
# events, under EVENTS; these names never change.
# shellcheck shell=bash

need config/conf core/act core/log core/paths core/text core/trust notes/claim world/systemd

declare -gA F # the facts: decide/facts.list

# notify SEVERITY EVENT DEVICE TEXT: says TEXT in the journal, and notifies the administrator.
# SEVERITY is notice (all is as it should be, or was done on purpose), warning (somebody has to
# act), or alert (somebody has to act at once). DEVICE is the disk or ramdisk that the event is
# about; empty when it is about the array. F[name] is the array's name. Always returns 0: a
# notification that fails must not keep the work from being done.
notify() {
	notify_said "$1" "$4"
	notify_others "$@"
}

# notify_said SEVERITY TEXT: says TEXT, which begins with the array's name, here and in the journal,
# where "ramraid events" finds it. Notifies nobody, so it is enough by itself for what somebody has
# asked for.
notify_said() {
	"log_$1" "$2"
	[[ -n ${LOG_JOURNAL-} || -n $DRY_RUN ]] || notify_journal_ "$1" "$2"
}

# When a person runs the program, it writes to the terminal. It may be the first to see an event,
# and others look for that in the journal, so this writes the event there as well.
notify_journal_() { # SEVERITY TEXT
	local text=$2
	systemd_is_running || return 0
	log_printable text
	logger --tag ramraid --priority "daemon.${1/alert/emerg}" -- "$text" ||
		log_notice "${2%%:*}: the message above could not be written to the journal"
}

# notify_others SEVERITY EVENT DEVICE TEXT: notifies the administrator of what is in the journal
# already. Sets NOTIFY_WAY to the program that was given the message; empty when none was.
notify_others() {
	local program=${CONF[NOTIFY]-none} why=''
	NOTIFY_WAY=''
	[[ -z $DRY_RUN ]] || return 0
	# The owner of the program is checked first: nothing is asked of the FUSE file system of a
	# user, which need not answer.
	[[ $program == none ]] || why=$(notify_why_not "$program") || why=$TEXT_UNKNOWN
	if [[ $program == none ]]; then
		[[ $1 == notice ]] || notify_mail_ "$@"
	elif [[ -n $why ]]; then
		log_warning "${F[name]}: nobody was notified of $2: NOTIFY=$program is not run: \
$why"
	elif [[ ! -f $program || ! -x $program ]]; then
		log_warning "${F[name]}: nobody was notified of $2: NOTIFY=$program does not \
exist, or is not executable"
	else
		notify_run_ "$program" "$@"
	fi
}

# notify_why_not PROGRAM: prints why PROGRAM must not be run as root; nothing when it may. As with
# the configuration that names it, nobody but root may be able to change it.
notify_why_not() {
	trust_why_not "$1"
}

# notify_run_ PROGRAM SEVERITY EVENT DEVICE TEXT [VARIABLE=VALUE]: calls PROGRAM as mdadm --monitor
# calls its program (mdadm.conf(5), PROGRAM): with EVENT, the array, and the device, if there is
# one. PROGRAM runs in its own unit, so that it is not in our sandbox, nobody waits for it, and it
# does not end when we do.
notify_run_() {
	local text=${5//[[:cntrl:]]/ } device=$4 name=${F[name]}
	log_printable text device
	systemd_is_running || {
		log_notice "$name: $3 was not reported to $1, because systemd is not running here"
		return 0
	}
	NOTIFY_WAY=$1
	systemd_run_apart "ramraid-notify-$name-${EPOCHREALTIME//[!0-9]/}" \
		"Report $3 of the array $name to $1" "RAMRAID_NAME=$name" "RAMRAID_SEVERITY=$2" \
		"RAMRAID_MESSAGE=$text" "${@:6}" -- "$1" "$3" "/dev/md/$name" \
		${device:+"$device"} && return
	NOTIFY_WAY=''
	log_warning "$name: $3 was not reported to $1: systemd did not start it"
}

# The sandbox for sending a mail. It can't be tighter: mail systems have programs that are
# set-user-ID, and may deliver at once, to the recipient's home.
readonly NOTIFY_CAGE=('--property=ProtectSystem=full' '--property=ProtectKernelModules=yes'
	'--property=ProtectKernelTunables=yes' '--property=ProtectKernelLogs=yes'
	'--property=ProtectControlGroups=yes' '--property=RestrictNamespaces=yes'
	'--property=RestrictRealtime=yes' '--property=LockPersonality=yes'
	'--property=SystemCallArchitectures=native')

# Without a program, sends a mail if mdadm.conf says to whom and there is a sendmail. mdadm itself
# does the same, but knows less.
notify_mail_() { # SEVERITY EVENT DEVICE TEXT
	local NOTIFY_ADDRESS
	notify_has_sendmail || return 0
	notify_address
	[[ -z $NOTIFY_ADDRESS ]] ||
		notify_run_ "${lib-}/mail" "$@" "RAMRAID_MAILADDR=$NOTIFY_ADDRESS" \
			"${NOTIFY_CAGE[@]}"
}

notify_has_sendmail() { [[ -x $ROOT/usr/sbin/sendmail || -x $ROOT/usr/lib/sendmail ]]; }

# notify_address: sets NOTIFY_ADDRESS to the first MAILADDR in the files in which mdadm looks for it
# (mdadm.conf(5)); empty when there is none. A keyword may be cut down to three letters, in upper or
# lower case (match_keyword() in mdadm's config.c).
notify_address() {
	local file line key='^(mai|mail|maila|mailad|mailadd|mailaddr)[[:blank:]]+[^[:blank:]#]'
	NOTIFY_ADDRESS=''
	while IFS= read -r file; do
		[[ -r $file ]] || continue
		while IFS= read -r line; do
			[[ -z $NOTIFY_ADDRESS && ${line,,} =~ $key ]] || continue
			text_into "$line" _ NOTIFY_ADDRESS
		done <"$file"
	done < <(claim_others)
}
