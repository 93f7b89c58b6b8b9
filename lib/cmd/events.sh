# ramraid events: what has happened to an array, from the journal.
# shellcheck shell=bash

need config/conf config/conf-faults core/cli core/json core/log core/paths world/systemd

readonly EVENTS_USAGE='usage: ramraid events [--since=TIME] [--json] NAME

Print what has happened to the array, from the journal, the newest last: its notices, warnings and
alerts, and when its unit has started, stopped or failed. NAME need not be configured any more.
You need the right to read the journal of the system (root, or the group systemd-journal).
  --since=TIME  print nothing older, such as "2026-11-20 10:00", yesterday or -2h (systemd.time(7))
  --json        print the same for programs
Exit code 0: printed; 1: the journal could not be read; 2: wrong usage; 3: neither configured nor
in the journal.'

readonly EVENTS_SEVERITY=(alert alert alert error warning notice info debug)

cmd_events() {
	local lines=() count=0
	cli_parse "$EVENTS_USAGE" 'since= json' "$@"
	cli_one_name "$EVENTS_USAGE"
	conf_names_fit "$NAME"
	[[ ! -v OPT[since] ]] || systemd_time_ok "${OPT[since]}" ||
		die "--since=${OPT[since]}: write a point in time such as \"2026-11-20 10:00\", \
yesterday or -2h; see systemd.time(7)" "$EX_USAGE"
	mapfile -t lines < <(systemd_journal "$NAME" "${OPT[since]-}")
	wait "$!" || die "$NAME: the journal could not be read"
	[[ -z ${OPT[json]-} ]] || events_json_open_
	events_each_
	[[ -z ${OPT[json]-} ]] || events_json_close_
	((count == 0)) || return 0
	[[ -e $ETC/$NAME.conf || -L $ETC/$NAME.conf ]] ||
		die "$(conf_no_array "$NAME")" "$EX_INACTIVE"
	log_notice "$NAME: the journal has nothing about it${OPT[since]+ since then}"
}

# Shows each record of the caller's lines, which are fields of the journal ("KEY=value") with an
# empty line after each record. Sets the caller's count.
events_each_() {
	local line time='' text='' level='' by=''
	for line in "${lines[@]}" ''; do
		case $line in
		__REALTIME_TIMESTAMP=*) time=${line#*=} ;;
		MESSAGE=*) text=${line#*=} ;;
		PRIORITY=[0-7]) level=${line#*=} ;;
		_PID=*) by=${line#*=} ;;
		'')
			[[ $time != *[!0-9]* && ${#time} -gt 6 && -n $level ]] || text=''
			# A message of systemd's about the unit is about this array; a message of
			# ours begins with the array's name.
			text=${text#ramraid: }
			[[ $by == 1 || $text == "$NAME: "* ]] || text=''
			[[ -z $text ]] || events_show_ "${time::-6}" "$level" "${text#"$NAME: "}"
			time='' text='' level='' by=''
			;;
		esac
	done
}

events_show_() { # SECONDS LEVEL TEXT
	local time text=$3
	count=$((count + 1))
	log_printable text
	if [[ -n ${OPT[json]-} ]]; then
		TZ=UTC printf -v time '%(%FT%TZ)T' "$1"
		json_open '' object
		json_text time "$time"
		json_text severity "${EVENTS_SEVERITY[$2]}"
		json_text text "$text"
		json_close
	else
		printf -v time '%(%F %T)T %-7s ' "$1" "${EVENTS_SEVERITY[$2]}"
		cli_print "$time $text"$'\n'
	fi
}

events_json_open_() {
	json_document
	json_text name "$NAME"
	json_open events list
}
events_json_close_() {
	json_close
	json_close
	cli_print "$JSON_TEXT"$'\n'
}
