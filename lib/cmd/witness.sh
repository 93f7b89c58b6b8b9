# ramraid witness: writes down who is in the running arrays.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly WITNESS_USAGE='usage: ramraid witness

Records, for every running array, which disk legs are in sync and at which event count (/etc/ramraid/state/NAME.witness): what a start
with a disk leg missing goes by. Then tells what has become of each leg since that was last told. Done at every start and stop, and by
ramraid-monitor@MD.path whenever the array changes.'

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
		before=$(witness_members)
		# At once, when it comes to that.
		! guard_only_copy || {
			changes_tell "$1"
			systemd_hold "$1"
		}
		# What has changed meanwhile is told by nobody.
		facts_witness
		facts_observe
		[[ $(witness_members) != "$before" ]] || break
	done
	# Who is at work on it notes that at the end.
	! cli_is_free "$1" || lately_note
	changes_tell "$1"
	return "$code"
}

witness_members() {
	local i
	printf '%s' "${F[array.md]} ${F[ram.state]}"
	for ((i = 0; i < ${F[members]}; i++)); do printf ' %s' "${F[leg.$i.state]:--}"; done
}
