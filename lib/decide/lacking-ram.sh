# What becomes of a RAM leg that md could not write some blocks to. It uses only the facts, as
# decide/action.sh does.
# shellcheck shell=bash

need decide/choice decide/health

declare -gA F # the facts: decide/facts.list

# lacking_ram: such a leg is taken out and rebuilt, as long as the disk legs have everything, and
# another one can be made. A device may have the same bad block again, so it stays until a person
# asks for it. Returns 1 when no action was decided.
lacking_ram() {
	[[ ${F[ram.lacks]} == yes && -z ${F[kernel.flaw]} && ${F[conf.ram]} != none ]] &&
		[[ -z ${F[leg.ram.dev]} || ${F[retry]} == yes ]] && ! health_only_copy &&
		! choice_barred drop-ram && ! choice_barred make-ram || return 1
	choice_is drop-ram 'md could not write some blocks of the RAM leg, so it is rebuilt'
}
