# What a leg is by itself, whatever the others are: one of the words in decide/leg.sh. It uses only
# the facts, as decide/action.sh does.
# shellcheck shell=bash

declare -gA F # the facts: decide/facts.list

# leg_alone I: sets LEG to what leg I (a number, or "ram") is by itself, judged by its device and
# its superblock.
leg_alone() {
	local leg=leg.$1
	if [[ -z ${F[$leg.node]} ]]; then
		LEG=missing
	elif [[ -n ${F[$leg.in]} ]]; then
		LEG=used
	elif [[ ${F[$leg.sb]} == unreadable ]]; then
		LEG=unreadable
		[[ -z ${F[$leg.silent]} ]] || LEG=silent
	elif [[ ${F[$leg.sb]} == none ]]; then
		LEG=blank
	elif [[ ${F[$leg.sb]} != ok ]]; then
		LEG=damaged
	elif [[ ${F[$leg.uuid]} != "${F[uuid]}" ]]; then
		LEG=foreign
	elif [[ ${F[conf.layout]}:${F[$leg.level]:-1} != @(mirror:1|far2:10) ]]; then
		LEG=level
	elif [[ -n ${F[$leg.sectors]} ]] &&
		((${F[$leg.data_offset]} + ${F[$leg.data_size]} > ${F[$leg.sectors]})); then
		LEG=shrunk
	elif [[ ! ${F[$leg.role]} =~ ^[0-9]+$ ]]; then
		LEG=slotless
	elif [[ -n ${F[$leg.recovery]} ]]; then
		LEG=partial
	else
		LEG=good
	fi
}
