# ramraid remember: notes what lies on the running arrays, so that the next boot knows what has to wait for them.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

readonly REMEMBER_USAGE='usage: ramraid remember

Notes the file systems, containers and volumes that lie on the running arrays in /etc/ramraid/state. Done at every start and stop,
and by ramraid-remember.path whenever /etc/fstab or /etc/crypttab changes.'

cmd_remember() {
	local name code=0
	cli_parse "$REMEMBER_USAGE" '' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$REMEMBER_USAGE" 'takes no operands'
	need_look
	need contents
	cli_root
	while IFS= read -r name; do
		conf_load "$name" || continue
		facts_configured "$name"
		facts_observe
		[[ ${F[array.state]} == active ]] || continue
		contents_remember "$name" "${F[array.md]}" || {
			log_error "$name: could not write $(contents_file "$name")"
			code=$EX_FAILED
		}
	done < <(conf_names)
	return "$code"
}
