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

# rescue_way_broken: prints what to do where md has stopped writing and only the RAM leg is good. No
# disk can be rebuilt from it then, so a shutdown is the way out only if it can save an image.
rescue_way_broken() {
	if [[ -n ${F[rescue.why_not]} ]]; then
		printf '%s\n' "do NOT reboot: a shutdown can't save what the RAM leg has \
(${F[rescue.why_not]}). Copy what is on /dev/${F[array.md]} elsewhere, since it can still be read; \
or write RESCUE=FOLDER, a folder of root's with room for it (ramraid.conf(5)), then: systemctl \
daemon-reload; ramraid status ${F[name]} says whether a shutdown can save it now"
	else
		printf '%s\n' "reboot, so that the shutdown saves what the RAM leg has, if it can \
be read${F[rescue.tight]:+ and if it fits: ${F[rescue.tight]}, without blocks of zeros}; then: \
$(rescue_way_later)"
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
