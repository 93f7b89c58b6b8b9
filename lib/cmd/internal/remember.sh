# ramraid remember: notes what is on the running arrays, so that the next boot knows what has to
# wait for them.
# shellcheck shell=bash

need config/conf core/cli core/log notes/contents observe/before-look observe/facts

declare -gA F # the facts: decide/facts.list

readonly REMEMBER_USAGE='usage: ramraid remember

Record in /etc/ramraid/state which file systems, containers and volumes are on the running arrays.
Every start and stop runs this, and ramraid-remember.path does whenever /etc/fstab or
/etc/crypttab changes.'

cmd_remember() {
	local name code=0
	cli_parse "$REMEMBER_USAGE" '' "$@"
	((${#ARGS[@]} == 0)) || cli_usage "$REMEMBER_USAGE" 'takes no operands'
	cli_root
	while IFS= read -r name; do
		conf_load "$name" || continue
		before_look_configured "$name"
		facts_observe
		[[ ${F[array.state]} == active ]] || continue
		contents_remember "$name" "${F[array.md]}" || {
			log_error "$name: could not write $(contents_file "$name")"
			code=$EX_FAILED
		}
	done < <(conf_names)
	return "$code"
}
