# What "ramraid status" has to say about an array that isn't whole, or in which something goes on.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# advice STATUS-WORD: what the next start will go by, what goes on, why, and what to do.
advice() {
	[[ $1 == whole ]] || advice_witness_
	[[ ${F[array.sync]} == idle ]] || advice_progress_
	[[ $1 == whole ]] || advice_do_ "$1"
}

# What the next start will go by.
advice_witness_() {
	local legs
	need_look
	facts_remembered
	read -ra legs <<<"${F[witness.legs]}"
	if [[ -z ${F[witness.events]} ]]; then
		printf '  last run: %s\n' "${F[witness.why]}"
	elif ((${#legs[@]} == 0)); then
		printf '  last run: only the RAM leg in sync, at %s events\n' "${F[witness.events]}"
	else
		printf '  last run: %s of %s disk legs in sync, at %s events\n' "${#legs[@]}" "${F[members]}" "${F[witness.events]}"
	fi
	[[ -z ${F[rescue.image]} ]] || printf '  rescue image: %s\n' "${F[rescue.image]}"
}

advice_progress_() {
	need units
	printf '  %s: %s %s\n' "${F[array.sync]}" "$(progress_bar "${F[array.done]}" "${F[array.total]}")" \
		"$(progress_text "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}")"
}

# What the last start had to say, and the next thing to type.
advice_do_() { # STATUS-WORD
	local text=''
	need systemd
	! systemd_is_running || text=$(systemd_status_text "${F[name]}")
	[[ -z $text ]] || printf '  why: %s\n' "$text"
	case $1 in
	stopped | half-assembled) printf '  do:  ramraid start %s\n' "${F[name]}" ;;
	disks-only) printf '  do:  ramraid attach %s\n' "${F[name]}" ;;
	degraded)
		[[ ${F[ram.state]} != in_sync ]] || decide_disk_in_sync || printf '  THE RAM LEG IS THE ONLY GOOD COPY: do not cut the power\n'
		printf '  do:  bring the missing disk leg back, then: ramraid attach %s\n' "${F[name]}"
		;;
	broken) printf '  do:  journalctl -b -u ramraid@%s -k\n' "${F[name]}" ;;
	esac
}
