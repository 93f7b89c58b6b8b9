# Writes the MEMBER lines of an array's own file. Every other line, comment and blank stays as it
# is.
# shellcheck shell=bash

need core/act core/paths

# conf_edit_value LINE: sets VALUE to the disk that LINE names as MEMBER, as conf_lines_ reads it;
# returns 1 when LINE is no MEMBER line.
conf_edit_value() {
	[[ $1 =~ ^[[:space:]]*MEMBER[[:space:]]*=[[:space:]]*(.*)$ ]] || return 1
	VALUE=${BASH_REMATCH[1]}
	VALUE=${VALUE%"${VALUE##*[![:space:]]}"}
	[[ $VALUE != \"*\" && $VALUE != \'*\' ]] || VALUE=${VALUE:1:-1}
}

# conf_edit_elsewhere NAME DISK: prints the drop-in that names the disk; returns 1 when none does.
conf_edit_elsewhere() { conf_edit_among_ "$2" "$ETC/$1.conf.d"/*.conf; }

# conf_edit_file NAME DISK: prints the file that names the disk, which may be a drop-in; returns 1
# when none does.
conf_edit_file() { conf_edit_among_ "$2" "$ETC/$1.conf" "$ETC/$1.conf.d"/*.conf; }

conf_edit_among_() { # DISK FILE…
	local file line lines VALUE
	for file in "${@:2}"; do
		[[ -f $file && -r $file ]] || continue
		mapfile -t lines <"$file"
		for line in "${lines[@]}"; do
			if ! conf_edit_value "$line" || [[ $VALUE != "$1" ]]; then continue; fi
			printf '%s\n' "$file"
			return
		done
	done
	return 1
}

# conf_edit_text NAME DISK…: prints the file with these members and no others. It drops the lines of
# other disks. Disks that no file names yet are added after the last MEMBER line, or where it was.
conf_edit_text() {
	local name=$1 line lines VALUE disk text=() at=-1 new=() known=' '
	shift
	mapfile -t lines <"$ETC/$name.conf"
	for line in "${lines[@]}"; do
		if conf_edit_value "$line"; then
			at=${#text[@]}
			known+="$VALUE "
			[[ " $* " == *" $VALUE "* ]] || continue
			at=$((at + 1))
		fi
		text+=("$line")
	done
	((at >= 0)) || at=${#text[@]}
	for disk; do
		[[ $known == *" $disk "* ]] || conf_edit_elsewhere "$name" "$disk" >/dev/null ||
			new+=("MEMBER=$disk")
	done
	text=("${text[@]:0:at}" "${new[@]}" "${text[@]:at}")
	printf '%s\n' "${text[@]}"
}

# conf_edit_members NAME DISK…: makes these the members in the array's own file. The file keeps its
# mode, and if it is a link, it stays one. This can't take away a member that a drop-in names: the
# caller looks first. Does nothing when they are the members already. Returns 1 when the file could
# not be written.
conf_edit_members() {
	local file text mode before
	file=$(readlink -e -- "$ETC/$1.conf") || return
	text=$(conf_edit_text "$@" && printf .) || return
	text=${text%.}
	before=$(cat -- "$file" && printf .) || return
	[[ $text != "${before%.}" ]] || return 0
	mode=$(stat -c %a -- "$file") || return
	act_text "$file" "$text" "$mode"
}
