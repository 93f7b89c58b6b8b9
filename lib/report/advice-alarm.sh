# What "status" says when what was written last is in memory only: a part of report/advice.sh, which
# has the variables. It uses only the facts.
# shellcheck shell=bash

need decide/rescue-way

declare -gA F # the facts: decide/facts.list

# advice_alarm_only_copy: for a running array whose RAM leg is the only good copy. Sets ADVICE_ALARM
# and ADVICE_IMPACT; and ADVICE_ACTION, which ADVICE_WHY need not repeat, where md has stopped
# writing.
advice_alarm_only_copy() {
	local only="is in memory only: a power cut loses it, a shutdown saves it if it can \
(SHUTDOWN in ramraid-concepts(7))"
	[[ ${F[array.state]} == @(active|broken) ]] || return 0
	ADVICE_ALARM='THE RAM LEG IS THE ONLY GOOD COPY: do not cut the power'
	[[ -z ${F[rescue.tight]} ]] || only+="; that may not fit: ${F[rescue.tight]}"
	[[ -z ${F[rescue.why_not]} ]] || {
		ADVICE_ALARM+=', and do NOT reboot'
		only="is in memory only: a power cut loses it, and so does a shutdown, which can't \
save it (${F[rescue.why_not]})"
	}
	ADVICE_IMPACT="what is written $only"
	[[ ${F[array.state]} == broken ]] || return 0
	ADVICE_IMPACT="every write fails; what was written last $only"
	ADVICE_ACTION=$(rescue_way_broken)
	ADVICE_WHY=${ADVICE_WHY%": $ADVICE_ACTION"}
}

# advice_alarm_ramdisk: the same for something that has stopped the array, and may have started it
# without the ramdisk.
advice_alarm_ramdisk() {
	local stop='' without=''
	[[ -z ${F[array.md]} ]] || stop="mdadm --stop /dev/${F[array.md]}; "
	[[ ${F[array.state]} != active ]] ||
		without="; what is written to ${F[array.md]} now is not in it"
	ADVICE_ALARM="THE RAMDISK ${F[ram.node]} HAS THE ONLY GOOD COPY: do not cut the power"
	ADVICE_IMPACT="what was written last is in that ramdisk only, which is in no array: a \
power cut loses it$without"
	ADVICE_ACTION="to go on with the ramdisk: ${stop}mdadm --assemble --run /dev/md/${F[name]} \
/dev/${F[ram.node]}; ramraid start ${F[name]}"
}
