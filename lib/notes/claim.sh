# The claim: lines that keep mdadm's own udev rules from assembling our arrays, in the real root
# and, through our hook, in the initramfs. Without them, arrays appear half assembled, which a start
# has to take apart again, or something starts them that does not judge the legs as we do. For an
# array with ROOT=yes, the line gives the name under which the initramfs starts it, since nothing
# else can.
# shellcheck shell=bash

need config/conf core/act core/lock core/log core/paths world/initramfs

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

# claim_is_of_root NAME: does the claim that is written say that / is on the array? It says so even
# while the configuration has errors. It starts no process, because the generator calls it.
claim_is_of_root() {
	local line file
	file=$CLAIMS/ramraid-$1.conf
	[[ -f $file && -r $file ]] || return 1
	while IFS= read -r line; do
		[[ $line != "ARRAY /dev/md/$1 "* ]] || return 0
	done <"$file"
	return 1
}

# claim_write NAME UUID: writes the claim, and then turns other ARRAY lines about this array into
# comments. The order matters: between the two, mdadm finds two lines for the array and assembles it
# by neither (conf_match() in mdadm's config.c). The other way round it would find none, and start
# the array under any name. Returns 1 when that can't be done.
claim_write() { claim_alone_ claim_write_ "$@"; }
claim_write_() {
	act_file "$(claim_file "$1")" 644 claim_wanted "$1" "$2" || return
	claim_hide_ "$1" "$2"
}

# claim_remove NAME: undoes claim_write, again with no moment in which mdadm finds no line. Returns
# 1 when that can't be done, with the claim still there, or when a power cut may bring it back.
claim_remove() { claim_alone_ claim_remove_ "$1"; }
claim_remove_() {
	claim_show_ "$1" && act rm -f -- "$(claim_file "$1")" || return
	[[ -n $DRY_RUN || ! -d $CLAIMS ]] || sync -- "$CLAIMS"
}

# claim_alone_ FUNCTION ARG…: calls it with the lock on the files of all arrays: they are read,
# changed and written, and two verbs that did so at once would undo each other. Returns 1 when
# another ramraid has it for CLAIM_PATIENCE.
# The order of the locks: a verb has that of its array, and takes this one or that of the initramfs
# (world/initramfs.sh), never both. Whoever has one of these two waits for no other lock.
readonly CLAIM_PATIENCE=60 # seconds
CLAIM_LOCK=''
claim_alone_() {
	lock_alone CLAIM_LOCK claims "$CLAIM_PATIENCE" "changes mdadm's configuration" "$@"
}

# claim_is_made NAME UUID: is there nothing for claim_write to do?
claim_is_made() {
	local file
	[[ $(claim_wanted "$1" "$2") == "$(cat "$(claim_file "$1")" 2>/dev/null)" ]] || return 1
	while IFS= read -r file; do
		[[ -z $(claim_lines_ "$file" "$2") ]] || return 1
	done < <(claim_others)
}

# claim_names NAME UUID: is there a line, not ours, that names the array, in force, or kept as a
# comment until claim_remove? claim_names_now UUID: one that is in force?
claim_names() { claim_keeps_ "$1" || claim_names_now "$2"; }
claim_names_now() {
	local file
	while IFS= read -r file; do
		[[ -z $(claim_lines_ "$file" "$1") ]] || return 0
	done < <(claim_others)
	return 1
}

# claim_is_left NAME: is there anything for claim_remove to do?
claim_is_left() { [[ -e $(claim_file "$1") ]] || claim_keeps_ "$1"; }

# claim_keeps_ NAME: is a line kept as a comment for this array?
claim_keeps_() {
	local file mark
	mark=$(claim_mark_ "$1")
	while IFS= read -r file; do
		! grep -qF -- "$mark" "$file" || return 0
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
	local file
	while IFS= read -r file; do
		claim_edit_ "$file" claim_hiding_ "$1" "$2" || return
	done < <(claim_others)
}
claim_hiding_() { # NAME UUID TEXT: prints what sed has to do
	local number
	while IFS= read -r number; do
		printf '%ss|^|%s|\n' "$number" "$(claim_mark_ "$1")"
	done < <(claim_lines_ <(printf '%s' "$3") "$2")
}

claim_show_() { # NAME
	local file
	while IFS= read -r file; do
		claim_edit_ "$file" claim_showing_ "$1" || return
	done < <(claim_others)
}
claim_showing_() { # NAME: prints what sed has to do
	local mark
	mark=$(claim_mark_ "$1")
	printf 's|^%s||\n' "${mark//./\\.}"
}

# claim_edit_ FILE FUNCTION ARG…: edits FILE with the script for sed that "FUNCTION ARG… TEXT"
# prints. Every other byte of the file, its mode, and a link that leads to it stay as they are. The
# whole text is read before any is written, because a part of it would pass for the whole. An editor
# takes no lock of ours: if FILE is another when the new one is about to replace it, the edit starts
# over. Returns 1 when FILE can't be changed, or changes CLAIM_TRIES times.
readonly CLAIM_TRIES=5
claim_edit_() {
	local file claim_was text try
	for ((try = 0; try < CLAIM_TRIES; try++)); do
		file=$(readlink -e -- "$1") && claim_was=$(claim_read_ "$file") || return
		text=$(printf '%s' "${claim_was%.}" |
			sed -e "$("${@:2}" "${claim_was%.}")" && printf .) || return
		[[ $text != "$claim_was" ]] || return 0
		act_text "$file" "${text%.}" "$(stat -c %a -- "$file")" '' \
			claim_is_as_it_was_ "$file" && return
		[[ $(claim_read_ "$file") != @("$claim_was"|"$text") ]] || return 1
	done
	log_error "ramraid: $1 was changed each time that ramraid was about to change it; find out \
what writes to it, and type this again"
	return 1
}
# claim_read_ FILE: prints it and a dot, so that $() keeps the line ends before that.
claim_read_() { cat -- "$1" 2>/dev/null && printf .; }
claim_is_as_it_was_() { [[ $(claim_read_ "$1") == "$claim_was" ]]; }

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
	local INITRAMFS_BY_HAND parts
	parts=$(initramfs_parts) || parts='' # before the images: an upgrade may come meanwhile
	initramfs_make || return
	[[ -z $INITRAMFS_BY_HAND ]] || log_warning \
		"no update-initramfs and no dracut here: make sure that your initramfs leaves this \
array alone, and rebuild it yourself, with $INITRAMFS_BY_HAND (INITRAMFS in ramraid-concepts(7))"
	claim_note_parts_ "$parts"
}

# claim_note_parts_ CHECKSUM: notes of which of our files the images have been made; the file has
# this one line. Without claims there is nothing of ours in the images, and no note. If the note
# can't be written, the next "ramraid claim" makes the images again.
claim_note_parts_() {
	[[ -z $DRY_RUN ]] || return 0
	if [[ -n $1 ]] && claim_any; then
		{ act_put_folder "$STATE" && act_put "$STATE/initramfs-parts" "$1"; } || :
	else
		rm -f -- "$STATE/initramfs-parts"
	fi
}

# claim_any: is any array claimed? Names begin with a letter; that of a self-test does not.
claim_any() {
	local file
	for file in "$CLAIMS"/ramraid-[A-Za-z]*.conf; do [[ ! -e $file ]] || return 0; done
	return 1
}

# claim_parts_differ: were the images made with other files of ours than those that are installed
# now, as before an upgrade, or is that not known? Always no where ramraid has no such files.
claim_parts_differ() {
	local parts noted=''
	parts=$(initramfs_parts) && [[ -n $parts ]] || return 1
	{ read -r noted <"$STATE/initramfs-parts"; } 2>/dev/null || :
	[[ $noted != "$parts" ]]
}
