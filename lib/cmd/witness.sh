# ramraid witness: writes down who is in the running arrays.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly WITNESS_USAGE='usage: ramraid witness

Records, for every running array, which disk legs are in sync and at which event count (/etc/ramraid/state/NAME.witness): what a start
with a disk leg missing goes by. Done at every start and stop, and by ramraid-monitor@MD.path whenever the array changes.'

cmd_witness() {
	local name file code=0
	cli_parse "$WITNESS_USAGE" '' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$WITNESS_USAGE" 'takes no operands'
	need_work
	cli_root
	# Also of arrays whose file has been broken or deleted since they were started.
	while IFS= read -r name; do
		# One array's broken file must not cost the others their record.
		(witness_one "$name") || code=$EX_FAILED
	done < <({
		conf_names
		for file in "$RUN"/*.started; do [[ ! -e $file ]] || printf '%s\n' "$(basename "$file" .started)"; done
	} | sort -u)
	mend_ask
	return "$code"
}

# witness_one NAME: returns 1 when what it saw last could not be written.
witness_one() {
	local before code
	[[ -r $RUN/$1.started ]] || conf_load "$1" || return 0
	conf_need_started "$1"
	facts_configured "$1"
	facts_observe
	while :; do
		code=0
		record_write || code=$EX_FAILED
		# Once, when it comes to that.
		! guard_only_copy || [[ -n ${F[witness.events]} && -z ${F[witness.legs]} ]] ||
			log_alert "$1: THE RAM LEG IS THE ONLY GOOD COPY: no disk leg is in sync, so what is written from now on is lost by a power cut. $(guard_hope_)"
		# What has changed meanwhile is told by nobody.
		before=$(witness_members)
		facts_witness
		facts_observe
		[[ $(witness_members) != "$before" ]] || break
	done
	# Who is at work on it notes that at the end.
	! cli_is_free "$1" || lately_note
	return "$code"
}

witness_members() {
	local i
	printf '%s' "${F[array.md]} ${F[ram.state]}"
	for ((i = 0; i < ${F[members]}; i++)); do printf ' %s' "${F[leg.$i.state]:--}"; done
}
