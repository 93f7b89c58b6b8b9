# Whose a device is that the configuration names, and that is outside the running array: the facts
# from which decide/not-ours.sh says what to do with it. To find out takes processes for each array
# that is configured, so only those ask that show or change something about such a device.
# shellcheck shell=bash

need config/conf-edit config/conf-whose core/text world/disk

declare -gA F # the facts: decide/facts.list

# whose_look: does so for each disk leg that is outside, and for the device that RAM= names.
whose_look() {
	local i
	[[ ${F[array.state]} == active ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do whose_leg "$i"; done
	[[ ${F[ram.state]} != none ]] || whose_other ram
}

# whose_leg I: sets leg.I.whose, leg.I.line and leg.I.content of disk leg I.
whose_leg() {
	whose_other "$1"
	whose_line "$1"
	whose_content "$1"
}

# whose_other I: sets leg.I.whose of a device outside the array to the other array that is
# configured with it.
whose_other() {
	F[leg.$1.whose]=''
	[[ -z ${F[leg.$1.node]} || -n ${F[leg.$1.state]} ]] ||
		F[leg.$1.whose]=$(conf_whose "${F[leg.$1.node]}" "${F[name]}") ||
		F[leg.$1.whose]=$TEXT_UNKNOWN
}

# whose_line I: sets leg.I.line of a device outside the array to where the configuration names it.
whose_line() {
	local file
	F[leg.$1.line]=''
	[[ -n ${F[leg.$1.node]} && -z ${F[leg.$1.state]} ]] || return 0
	! file=$(conf_edit_file "${F[name]}" "${F[leg.$1.dev]}") ||
		F[leg.$1.line]="MEMBER=${F[leg.$1.dev]} in $file"
}

# whose_content I: sets leg.I.content of a device outside that has no superblock of md to why it
# must not be taken.
whose_content() {
	local why=''
	F[leg.$1.content]=''
	[[ -n ${F[leg.$1.node]} && -z ${F[leg.$1.in]} && ${F[leg.$1.sb]} == none ]] || return 0
	why=$(disk_why_not_free "${F[leg.$1.dev]}") || why=$TEXT_UNKNOWN
	F[leg.$1.content]=${why//$'\n'/ }
}
