# The way out of a rescue image while its array runs, in words for a message. It uses only the
# facts. An array with the root file system can't be stopped by the system that runs from it.
# shellcheck shell=bash

need core/paths

declare -gA F # the facts: decide/facts.list

# rescue_way: sets RESCUE_WAY to how the image is put back, for "to put it back: …", and
# RESCUE_ACTION to the same as a thing to do.
rescue_way() {
	local files=${F[rescue.file]}
	RESCUE_WAY="ramraid stop ${F[name]} && ramraid restore ${F[name]}" RESCUE_ACTION=''
	# A rescue system has stopped the array.
	if [[ ${F[conf.root]} == yes && ${F[array.state]} == @(active|broken) ]]; then
		# A damaged record stands for its image.
		[[ ${F[rescue.image]} == "$files" ]] || files="${F[rescue.image]} $files"
		RESCUE_WAY="use a rescue system, because / is on this array (ROOT FILE SYSTEM in \
ramraid-restore(8)); or, if nothing in the image is needed, give it up: rm $files; ramraid start \
${F[name]}"
		RESCUE_ACTION='to put the rescue image back: '
	fi
	RESCUE_ACTION+=$RESCUE_WAY
}

# rescue_way_later: prints how an image is put back that the next shutdown will make.
rescue_way_later() {
	if [[ ${F[conf.root]} == yes ]]; then
		printf '%s\n' "restore what it has saved from a rescue system, since the disks \
start without it (ROOT FILE SYSTEM in ramraid-restore(8))"
	else
		printf 'ramraid restore %s\n' "${F[name]}"
	fi
}

# rescue_way_first WORD: prints what has to come before a command that needs the array stopped.
rescue_way_first() {
	if [[ ${F[conf.root]} != yes ]]; then
		printf '%s: ramraid stop %s\n' "$1" "${F[name]}"
	elif [[ -n ${F[rescue.image]} ]]; then
		rescue_way
		printf 'to put the rescue image back, %s\n' "$RESCUE_WAY"
	else
		printf '%s\n' "/ is on it, so this needs a rescue system (ROOT FILE SYSTEM in \
ramraid-restore(8))"
	fi
}
