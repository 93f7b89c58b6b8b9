# What "status" shows of an array, as text, from the facts alone: one line for each thing, however
# long. report/terminal.sh makes it fit a terminal.
# shellcheck shell=bash

need core/log decide/health observe/summary report/read-share world/stable-name

declare -gA F # the facts: decide/facts.list

# status_text STATUS-WORD: adds to SHOWN. For an array that is whole and has nothing going on, it
# does without report/advice-show.sh, which then need not be read.
status_text() {
	local SHARE SHARE_LEAST DISK_READS=0 line
	SHOWN+="${F[name]}: $1${F[array.md]:+ (/dev/${F[array.md]})}"$'\n'
	[[ $1 == misconfigured ]] || {
		read_share_history
		status_text_legs_
		read_share
		[[ -z $SHARE || $SHARE_LEAST$SHARE == 'at least 0' ]] ||
			SHOWN+="  reads served by RAM: $SHARE_LEAST$SHARE %"$'\n'
		if [[ $1 != whole ]]; then
			need report/advice-show
			advice_show_whole
		elif ((HISTORY_SINCE > 0 && HISTORY_UNTIL == 0)); then
			printf -v line '  whole since: %(%F %T)T\n' "$HISTORY_SINCE"
			SHOWN+=$line
		fi
		((HISTORY_REBUILT == 0)) || {
			printf -v line '  last rebuild: %(%F %T)T, by %s, %s s, %s MiB/s\n' \
				"$HISTORY_REBUILT" "$HISTORY_ENGINE" "$HISTORY_SECONDS" \
				$((HISTORY_RATE / 1024))
			SHOWN+=$line
		}
		[[ -z ${F[monitor.state]-} ]] ||
			SHOWN+="  monitor: nothing watches it \
(ramraid-monitor@${F[array.md]}.path is ${F[monitor.state]}); see: ramraid check ${F[name]}"$'\n'
	}
	if [[ $1 != whole || ${F[array.sync]} != idle ]] || ! summary_is_all; then
		need report/advice-show
		advice_show "$1"
	fi
}

status_text_legs_() {
	local i=-1 key LEG name reads writes
	SHOWN+='                         reads writes errors'$'\n'
	[[ ${F[conf.ram]} != none ]] || i=0
	for (( ; i < F[members]; i++)); do
		if ((i < 0)); then key=ram; else key=leg.$i; fi
		health_leg "$key"
		# A disk can't be outside an array that does not exist.
		[[ $LEG != outside || ${F[array.state]} != absent ]] || LEG=present
		# shellcheck disable=SC2086 # words
		set -- ${F[$key.stat]}
		name=${F[$key.node]} reads=${1:--} writes=${5:--}
		if ((i < 0)); then
			name="RAM leg${name:+ /dev/$name}"
			[[ -z ${F[ram.data]} ]] || status_text_zram_
			# rapiddisk and brd count nothing.
			[[ $reads$writes != 00 ]] || reads=- writes=-
		else
			name=${F[$key.dev]}${name:+ ($name)} DISK_READS=$((DISK_READS + ${3-0}))
		fi
		((${#reads} < 7 && ${#writes} < 7)) || status_text_short_
		log_printable name
		printf -v line '  slot %-4s %-11s %6s %6s %6s  %s\n' "${F[$key.slot]:--}" "$LEG" \
			"$reads" "$writes" "${F[$key.errors]:--}" "$name"
		SHOWN+=$line
	done
	for i in ${F[array.strangers]}; do status_text_stranger_ "$i"; done
}

# Adds to the caller's name what a zram RAM leg holds, how much memory that takes, and its limit.
status_text_zram_() {
	local sizes ratio=''
	mapfile -t sizes < \
		<(numfmt --to=iec-i --suffix=B "${F[ram.data]}" "${F[ram.taken]}" "${F[ram.limit]}")
	((${F[ram.taken]} == 0 || ${F[ram.data]} == 0)) ||
		printf -v ratio ', %d.%dx' $((${F[ram.data]} / ${F[ram.taken]})) \
			$((${F[ram.data]} * 10 / ${F[ram.taken]} % 10))
	name+=", ${sizes[0]} in ${sizes[1]} of memory (${F[ram.algorithm]}$ratio)"
	((${F[ram.limit]} == 0)) || name+=", limit ${sizes[2]}"
}

# status_text_stranger_ NODE: shows a member whose name has changed, or that somebody added by hand.
status_text_stranger_() {
	local name BELOW
	need decide/below
	SHOWN+="  member $1 has no MEMBER line in the configuration"
	! below_absent it || {
		SHOWN+="; ramraid check ${F[name]} says what to do"$'\n'
		return
	}
	name=$(stable_name_of "/dev/$1") || name=''
	SHOWN+="${name:+; write this line: MEMBER=$name}"$'\n'
}

# Shortens the caller's reads and writes to six characters at most.
status_text_short_() {
	local -n count_
	local unit
	for count_ in reads writes; do
		for unit in '' K M G T P; do
			((${#count_} + ${#unit} > 6)) || break
			count_=${count_%???}
		done
		count_+=$unit
	done
}
