# The check, who else makes ramdisks: two would fight over those of an array.
# shellcheck shell=bash

need cmd/check/findings observe/ramdisk-makers

check_makers() {
	local i
	ramdisk_makers_find
	for ((i = 0; i < ${#RAMDISK_MAKERS[@]}; i++)); do
		case ${RAMDISK_MAKERS[i]} in
		daemon)
			findings_problem rapiddiskd 'nobody else who removes ramdisks' \
				"${RAMDISK_MAKERS_FOUND[i]}" "${RAMDISK_MAKERS_DO[i]}"
			;;
		array)
			findings_problem ramdisk-maker \
				'nobody else who gives a ramdisk to an array' \
				"${RAMDISK_MAKERS_FOUND[i]}" "${RAMDISK_MAKERS_DO[i]}"
			;;
		*)
			findings_note ramdisk-maker 'nobody else who makes ramdisks at boot' \
				"${RAMDISK_MAKERS_FOUND[i]}" "${RAMDISK_MAKERS_DO[i]}"
			;;
		esac
	done
	((${#RAMDISK_MAKERS_UNSEEN[@]} == 0)) ||
		findings_unseen makers 'to see who else makes ramdisks' \
			"no right to read ${RAMDISK_MAKERS_UNSEEN[*]}"
}
