# ramraid witness: writes down who is in the running arrays.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly WITNESS_USAGE='usage: ramraid witness

Records, for every running array, which disk legs are in sync and at which event count (/etc/ramraid/state/NAME.witness): what a start
with a disk leg missing goes by. Done at every start and stop, and by ramraid-monitor@MD.path whenever the array changes.'

cmd_witness() {
	local name code=0
	cli_parse "$WITNESS_USAGE" '' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$WITNESS_USAGE" 'takes no operands'
	need conf disk superblock witness rescue md ram facts decide systemd drive guard
	cli_root
	while IFS= read -r name; do
		conf_load "$name" || continue
		facts_configured "$name"
		facts_observe
		drive_witness_ || code=$EX_FAILED
		# Once, when it comes to that.
		! guard_only_copy || [[ -n ${F[witness.events]} && -z ${F[witness.legs]} ]] ||
			log_alert "$name: THE RAM LEG IS THE ONLY GOOD COPY: no disk leg is in sync, so what is written from now on is lost by a power cut. $(guard_hope_)"
	done < <(conf_names)
	return "$code"
}
