# The claim: lines that keep mdadm's own udev rules from assembling our arrays, in the real root
# and, through our hook, in the initramfs. Without them, arrays appear half assembled, which a start
# has to take apart again, or something starts them that does not judge the legs as we do. For an
# array with ROOT=yes, the line gives the name under which the initramfs starts it, since nothing
# else can.
# shellcheck shell=bash

need config/conf core/act core/log core/paths world/initramfs

claim_file() { printf '%s/ramraid-%s.conf\n' "$CLAIMS" "$1"; } # NAME

# claim_text UUID [NAME]: prints the claim. ARRAY <ignore> tells mdadm not to assemble this array
# automatically (mdadm.conf(5)). With NAME, the line gives the array that name instead.
claim_text() {
	local hex=${1//-/} what='<ignore>'
	if [[ -z ${2-} ]]; then
		printf "# Written by ramraid, which starts this array itself; \
taken away by removing the package.\n"
	else
		what=/dev/md/$2
		printf "# Written by ramraid. The root file system is on this array, \
so the initramfs starts it.\n"
	fi
	printf 'ARRAY %s UUID=%s:%s:%s:%s\n' "$what" "${hex:0:8}" "${hex:8:8}" "${hex:16:8}" \
		"${hex:24:8}"
}

# claim_wanted NAME UUID: prints the claim for the array whose configuration has been loaded.
claim_wanted() {
	if [[ ${CONF[ROOT]} == yes ]]; then claim_text "$2" "$1"; else claim_text "$2"; fi
}

# claim_write NAME UUID: writes the claim, and then turns other ARRAY lines about this array into
# comments. The order matters: between the two, mdadm finds two lines for the array and assembles it
# by neither (conf_match() in mdadm's config.c). The other way round it would find none, and start
# the array under any name.
claim_write() {
	act_file "$(claim_file "$1")" 644 claim_wanted "$1" "$2"
	claim_hide_ "$1" "$2"
}

# claim_remove NAME: undoes claim_write, again with no moment in which mdadm finds no line. Returns
# 1, with the claim still there, when that can't be done.
claim_remove() { claim_show_ "$1" && act rm -f -- "$(claim_file "$1")"; }

# claim_is_made NAME UUID: is there nothing for claim_write to do?
claim_is_made() {
	local file
	[[ $(claim_wanted "$1" "$2") == "$(cat "$(claim_file "$1")" 2>/dev/null)" ]] || return 1
	while IFS= read -r file; do
		[[ -z $(claim_lines_ "$file" "$2") ]] || return 1
	done < <(claim_others)
}

# claim_names NAME UUID: is there a line, not ours, that names the array, in force, or kept as a
# comment until claim_remove?
claim_names() {
	local file mark
	mark=$(claim_mark_ "$1")
	while IFS= read -r file; do
		[[ -z $(claim_lines_ "$file" "$2") ]] && ! grep -qF -- "$mark" "$file" || return 0
	done < <(claim_others)
	return 1
}

# claim_mark_ NAME: prints what such a line begins with while it is kept as a comment.
claim_mark_() {
	printf "# Not in force while ramraid starts this array; \
\"ramraid release %s\" puts it back: " "$1"
}

# claim_others: prints the files in which mdadm looks for ARRAY lines (mdadm.conf(5)), except ours,
# one per line.
claim_others() {
	local file
	for file in "$ROOT"/etc/mdadm/mdadm.conf "$ROOT"/etc/mdadm.conf "$CLAIMS"/*.conf \
		"$ROOT"/etc/mdadm.conf.d/*.conf; do
		[[ ! -f $file || ${file##*/} == ramraid-*.conf ]] || printf '%s\n' "$file"
	done
}

claim_hide_() { # NAME UUID
	local file number script
	while IFS= read -r file; do
		script=''
		while IFS= read -r number; do
			script+=${number:+"${number}s|^|$(claim_mark_ "$1")|;"}
		done < <(claim_lines_ "$file" "$2")
		[[ -z $script ]] || claim_edit_ "$file" "$script"
	done < <(claim_others)
}

claim_show_() { # NAME
	local file mark
	mark=$(claim_mark_ "$1")
	while IFS= read -r file; do
		! grep -qF -- "$mark" "$file" || claim_edit_ "$file" "s|^${mark//./\\.}||" || return
	done < <(claim_others)
}

# claim_edit_ FILE SCRIPT: edits FILE with sed. Every other byte of the file, its mode, and a link
# that leads to it stay as they are. The whole text is read before any is written, because a part of
# it would pass for the whole.
claim_edit_() {
	local file text
	file=$(readlink -e -- "$1") || return
	text=$(sed -e "$2" -- "$file" && printf .) || return
	act_text "$file" "${text%.}" "$(stat -c %a -- "$file")"
}

# claim_lines_ FILE UUID [ignoring]: prints the numbers of the lines that make up the ARRAY entries
# about UUID: with "ignoring", the entries that make mdadm ignore the array; without, all others,
# since an entry that says the same as ours may stay. A line that begins with a blank continues the
# entry before it, and a comment between the two does not end that entry (conf_word() in mdadm's
# config.c).
claim_lines_() {
	local line number=0 text='' numbers=()
	while IFS= read -r line || [[ -n $line ]]; do
		number=$((number + 1))
		[[ $line != '#'* ]] || continue
		if [[ $line != [[:blank:]]* ]]; then
			! claim_is_one_ "$text" "$2" "${3-}" || printf '%s\n' "${numbers[@]}"
			text='' numbers=()
		fi
		text+="$line " numbers+=("$number")
	done <"$1"
	! claim_is_one_ "$text" "$2" "${3-}" || printf '%s\n' "${numbers[@]}"
}
claim_is_one_() {
	claim_is_about_ "$1" "$2" && if claim_ignores_ "$1"; then
		[[ $3 == ignoring ]]
	else
		[[ -z $3 ]]
	fi
}

# claim_stands FILE UUID: is there a claim about UUID in FILE, whatever else is in it (for that, see
# initramfs/hook)? For an array with ROOT=yes: does FILE name it, and not have it ignored?
claim_stands() {
	if [[ ${CONF[ROOT]} == yes ]]; then
		[[ -n $(claim_lines_ "$1" "$2") && -z $(claim_lines_ "$1" "$2" ignoring) ]]
	else
		[[ -n $(claim_lines_ "$1" "$2" ignoring) ]]
	fi
}

# claim_is_about_ ENTRY UUID: keywords may be shortened to three letters, in upper or lower case,
# and UUIDs grouped in any way (match_keyword() and parse_uuid() in mdadm).
claim_is_about_() {
	local text=${1,,}
	[[ $text =~ ^(arr|arra|array)[[:blank:]] &&
		$text =~ [[:blank:]]\"?uuid=\"?([0-9a-f:.-]+) ]] || return 1
	[[ ${BASH_REMATCH[1]//[:.-]/} == "${2//-/}" ]]
}
claim_ignores_() { [[ ${1,,} =~ ^[a-z]+[[:blank:]]+\"?'<ignore>' ]]; } # ENTRY

# Rebuilds the initramfs of every installed kernel, which has to hold the claim. Takes seconds to
# minutes for each.
claim_initramfs() {
	local INITRAMFS_BY_HAND
	initramfs_make || return
	[[ -z $INITRAMFS_BY_HAND ]] || log_warning \
		"no update-initramfs and no dracut here: make sure that your initramfs leaves this \
array alone, and rebuild it yourself, with $INITRAMFS_BY_HAND (INITRAMFS in ramraid-concepts(7))"
}
