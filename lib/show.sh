# What "status" shows of an array, as text: from the facts alone, one line for each thing, however long. terminal.sh makes it fit for a terminal.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh and look.sh list the keys

# show_array STATUS-WORD: adds to SHOWN. advice.sh is needed for an array that is not whole, or in which something goes on.
show_array() {
	local SHARE SHARE_LEAST DISK_READS=0 line
	SHOWN+="${F[name]}: $1${F[array.md]:+ (/dev/${F[array.md]})}"$'\n'
	[[ $1 == misconfigured ]] || {
		lately_words
		show_legs_
		show_share
		[[ -z $SHARE || $SHARE_LEAST$SHARE == 'at least 0' ]] || SHOWN+="  reads served by RAM: $SHARE_LEAST$SHARE %"$'\n'
		if [[ $1 != whole ]]; then
			advice_show_whole
		elif ((LATELY_SINCE > 0)); then
			printf -v line '  whole since: %(%F %T)T\n' "$LATELY_SINCE"
			SHOWN+=$line
		fi
		((LATELY_REBUILT == 0)) || {
			printf -v line '  last rebuild: %(%F %T)T, by %s, %s s, %s MiB/s\n' "$LATELY_REBUILT" "$LATELY_ENGINE" "$LATELY_SECONDS" $((LATELY_RATE / 1024))
			SHOWN+=$line
		}
	}
	[[ $1 == whole && ${F[array.sync]} == idle && -z ${F[conf.warning.0]-} ]] || advice_show "$1"
}

show_legs_() {
	local i=-1 key state name reads writes outside=outside
	# Outside of what?
	[[ ${F[array.state]} != absent ]] || outside=present
	SHOWN+='                         reads writes errors'$'\n'
	[[ ${F[conf.ram]} != none ]] || i=0
	for (( ; i < F[members]; i++)); do
		if ((i < 0)); then key=ram; else key=leg.$i; fi
		# shellcheck disable=SC2086 # words
		set -- ${F[$key.stat]}
		state=${F[$key.state]:-$outside} name=${F[$key.node]} reads=${1:--} writes=${5:--}
		if ((i < 0)); then
			name="RAM leg${name:+ /dev/$name}" state=${state/none/missing}
			# rapiddisk and brd count nothing.
			[[ $reads$writes != 00 ]] || reads=- writes=-
		else
			[[ -n $name ]] || state=missing
			name=${F[$key.dev]}${name:+ ($name)} DISK_READS=$((DISK_READS + ${3-0}))
		fi
		((${#reads} < 7 && ${#writes} < 7)) || show_short_
		printf -v line '  slot %-4s %-11s %6s %6s %6s  %s\n' "${F[$key.slot]:--}" "$state" "$reads" "$writes" "${F[$key.errors]:--}" "$name"
		SHOWN+=$line
	done
	[[ -z ${F[array.strangers]} ]] || SHOWN+="  not in the configuration: ${F[array.strangers]}"$'\n'
}

# The caller's reads and writes in six characters at most.
show_short_() {
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
