# What "estimate" prints. ESTIMATE has the facts: kind (folder, file, device, array), target, bytes,
# files, pieces, looked, missed, all, cut, unseen (yes or nothing), room, reserved, by; rows (the
# kinds of RAM leg), and for each: "KIND takes", "KIND margin", "KIND needs" (bytes; empty when
# nobody knows), "KIND fits" (yes, no, unsure, unknown), "KIND why"; next, the command to type.
# shellcheck shell=bash

need core/json core/log core/quantity

declare -gA ESTIMATE

# estimate_text: sets SHOWN.
estimate_text() {
	local target=${ESTIMATE[target]} row kind takes needs
	log_printable target
	printf -v SHOWN '%s: %s\n' "$target" "$(estimate_head_)"
	SHOWN+=$(estimate_looked_)$'\n\n'
	printf -v row '  %-10s %-20s %-13s %s\n' 'RAM=' 'TAKES' 'MUST BE FREE' 'FITS'
	SHOWN+=$row
	for kind in ${ESTIMATE[rows]}; do
		takes=- needs=-
		# Shows neither if the data could not be compressed: what must be free at first says
		# nothing about them.
		[[ -z ${ESTIMATE["$kind takes"]} ]] || {
			takes=$(quantity_show_bytes "${ESTIMATE["$kind takes"]}")
			((ESTIMATE["$kind margin"] == 0)) ||
				takes+=" +- $(quantity_show_bytes "${ESTIMATE["$kind margin"]}")"
			needs=$(quantity_show_bytes "${ESTIMATE["$kind needs"]}")
		}
		printf -v row "  %-10s %-20s %-13s %s\n" "$kind" "$takes" "$needs" \
			"${ESTIMATE["$kind fits"]}"
		SHOWN+=$row
	done
	printf -v row '\n%s of memory are available, and %s keeps %s of them free.\n' \
		"$(quantity_show_bytes "${ESTIMATE[room]}")" "${ESTIMATE[by]}" \
		"$(quantity_show_bytes "${ESTIMATE[reserved]}")"
	SHOWN+=$row$(estimate_why_)
	[[ -z ${ESTIMATE[next]} ]] || SHOWN+=$'\n'"Next: ${ESTIMATE[next]}"
	SHOWN+=$'\n'
}

estimate_why_() {
	local kind
	for kind in ${ESTIMATE[rows]}; do
		[[ -z ${ESTIMATE["$kind why"]} ]] ||
			printf '\n%s: %s' "$kind" "${ESTIMATE["$kind why"]}"
	done
}

estimate_head_() {
	local bytes
	bytes=$(quantity_show_bytes "${ESTIMATE[bytes]}")
	case ${ESTIMATE[kind]} in
	folder) printf '%s in %s files; only the data of this file system, not its free space\n' \
		"$bytes" "${ESTIMATE[files]}" ;;
	*) printf '%s, all of the %s\n' "$bytes" "${ESTIMATE[kind]}" ;;
	esac
}

estimate_looked_() {
	local text="${ESTIMATE[looked]} of ${ESTIMATE[pieces]} pages of 4 KiB were looked at"
	[[ -z ${ESTIMATE[all]} ]] || text="all ${ESTIMATE[pieces]} pages of 4 KiB were looked at"
	((ESTIMATE[missed] == 0)) || text+="; ${ESTIMATE[missed]} could not be read"
	[[ -z ${ESTIMATE[cut]} ]] || text+='; the time was up before the rest'
	[[ -z ${ESTIMATE[unseen]} ]] || text+='; some folders could not be read'
	printf '%s\n' "$text"
}

# estimate_json: sets JSON_TEXT.
estimate_json() {
	local kind
	json_document
	json_text of "${ESTIMATE[kind]}"
	json_text target "${ESTIMATE[target]}"
	json_number bytes "${ESTIMATE[bytes]}"
	if [[ ${ESTIMATE[kind]} == folder ]]; then
		json_number files "${ESTIMATE[files]}"
	else
		json_null files
	fi
	json_number pages "${ESTIMATE[pieces]}"
	json_number pages_looked_at "${ESTIMATE[looked]}"
	json_number pages_unread "${ESTIMATE[missed]}"
	json_bool all_looked_at "${ESTIMATE[all]}"
	json_bool time_was_up "${ESTIMATE[cut]}"
	json_bool folders_unread "${ESTIMATE[unseen]}"
	json_number available_bytes "${ESTIMATE[room]}"
	json_number reserve_bytes "${ESTIMATE[reserved]}"
	json_open kinds list
	for kind in ${ESTIMATE[rows]}; do
		json_open '' object
		json_text ram "$kind"
		json_number takes_bytes "${ESTIMATE["$kind takes"]}"
		json_number margin_bytes "${ESTIMATE["$kind margin"]}"
		json_number needs_bytes "${ESTIMATE["$kind needs"]}"
		json_text fits "${ESTIMATE["$kind fits"]}"
		if [[ -n ${ESTIMATE["$kind why"]} ]]; then
			json_text why "${ESTIMATE["$kind why"]}"
		else
			json_null why
		fi
		json_close
	done
	json_close
	if [[ -n ${ESTIMATE[next]} ]]; then
		json_text next "${ESTIMATE[next]}"
	else
		json_null next
	fi
	json_close
}
