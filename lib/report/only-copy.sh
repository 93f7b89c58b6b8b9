# The RAM leg is the only good copy: what there is to hope for, in words for the console. In a file
# of its own, because the looks after each change of an array need it, and nothing of what acts.
# shellcheck shell=bash

need core/quantity decide/health

declare -gA F # the facts: decide/facts.list

# only_copy_remedy: prints what would end that state.
only_copy_remedy() {
	if [[ ${F[array.sync]} == recover ]]; then
		printf 'A disk leg is being rebuilt from it: %s\n' \
			"$(quantity_show_progress "${F[array.done]}" "${F[array.total]}" "${F[array.rate]}")"
	elif health_disk_in_sync; then
		printf 'md could not write some blocks of the disk legs; see: ramraid check %s\n' \
			"${F[name]}"
	else
		printf 'Bring a disk leg back (%s)\n' "${F[leg.0.dev]}${F[leg.1.dev]:+ or another}"
	fi
}
