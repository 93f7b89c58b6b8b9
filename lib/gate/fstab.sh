# What fstab says, in the form that findmnt gives it.
# shellcheck shell=bash

need core/log core/paths

# fstab_lines: prints the lines of fstab: source, mount point, type, number of the check at boot (0:
# none) and options, with \xNN for a blank or a backslash in them, as findmnt prints it. --fstab,
# because findmnt otherwise guesses the format: a first line that begins with two numbers would make
# the file a mountinfo. The findmnt of util-linux 2.41 (Debian 13) crashes on a line that it can't
# parse, before it has printed any other (tests/unit/gate.bats); then this does without findmnt. A
# caller that asks for many arrays keeps the answer in FSTAB_LINES.
fstab_lines() {
	local file=$ROOT/etc/fstab text code=0
	[[ ! -v FSTAB_LINES ]] || {
		printf '%s' "${FSTAB_LINES:+$FSTAB_LINES$'\n'}"
		return
	}
	[[ -f $file && -r $file ]] || return 0
	text=$(findmnt --fstab --tab-file "$file" --raw --noheadings \
		--output SOURCE,TARGET,FSTYPE,PASSNO,OPTIONS) || code=$?
	if ((code > 1)); then
		log_warning "$file: findmnt crashed on a line that is not as fstab(5) says; the \
other lines are still ordered"
		fstab_plain_ <"$file"
	elif [[ -n $text ]]; then
		printf '%s\n' "$text"
	fi
}

# Prints the same from the fstab on standard input, without findmnt. A line of one word does not
# count.
fstab_plain_() {
	local source target type options check line
	while read -r source target type options _ check _ || [[ -n $source ]]; do
		[[ -n $target && $source != \#* ]] || continue
		[[ $check == +([0-9]) ]] || check=0
		line="$source $target ${type:-auto} $check ${options:-defaults}"
		# fstab(5) has these four escapes; any other backslash stands for itself.
		line=${line//\\/\\x5c} line=${line//\\x5c040/\\x20} line=${line//\\x5c011/\\x09} \
			line=${line//\\x5c012/\\x0a}
		printf '%s\n' "${line//\\x5c134/\\x5c}"
	done
}
