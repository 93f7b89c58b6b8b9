# Reads and checks the configuration, and never executes it. Keys, defaults and forms are in
# config/conf-keys.sh; config/conf-files.sh says whether a file may be read, config/conf-faults.sh
# what is wrong.
# shellcheck shell=bash

need config/conf-files config/conf-keys core/log core/paths core/text world/stable-name

declare -gA F # the facts: decide/facts.list

declare -gA CONF=()
declare -ga MEMBERS=() REQUIRED_BY=() CONF_ERRORS=() CONF_WARNINGS=() CONF_NOTES=()

readonly CONF_CONTROL=$'[\x01-\x08\x0b-\x1f\x7f]' # all control characters but tab and line end
readonly CONF_MAX_BYTES=65536 CONF_MAX_LINE=4096

# md names: what mdadm 4.4 accepts below /dev/md and what fits the superblock's 32 bytes; "ramraid"
# is taken by the file of the defaults.
conf_name_ok() {
	[[ $1 == [A-Za-z]* && $1 != *[!A-Za-z0-9._-]* && $1 != ramraid && $1 != *.conf ]] &&
		((${#1} <= 31))
}

# conf_names_fit NAME…: ends the program unless each can be an array's name.
conf_names_fit() {
	local name
	for name; do conf_name_ok "$name" || {
		need config/conf-faults
		die "$(conf_faults_name "$name")" "$EX_USAGE"
	}; done
}

# conf_find_names: sets CONF_NAMES to the names of all configured arrays, broken ones included.
# conf_names prints them, one a line.
conf_find_names() {
	local file name
	CONF_NAMES=()
	for file in "$ETC"/*.conf; do
		# A line break would turn one name into two.
		name=${file##*/} name=${name%.conf} name=${name//[[:cntrl:]]/?}
		[[ (! -e $file && ! -L $file) || $name == ramraid ]] || CONF_NAMES+=("$name")
	done
}
conf_names() {
	local CONF_NAMES
	conf_find_names
	((${#CONF_NAMES[@]} == 0)) || printf '%s\n' "${CONF_NAMES[@]}"
}

# conf_no_array NAME: prints the complaint that no array has this name.
conf_no_array() {
	local CONF_NAMES SUGGESTION
	conf_find_names
	text_suggest "$1" "${CONF_NAMES[@]}"
	printf 'there is no array "%s": %s does not exist; configured: %s%s\n' "$1" "$ETC/$1.conf" \
		"${CONF_NAMES[*]:-none}" "${SUGGESTION:+; did you mean \"$SUGGESTION\"?}"
}

# conf_defaults: sets CONF for an array that has no file of its own yet, from the vendor's drop-ins,
# ramraid.conf, and its drop-ins. A vendor's drop-in is left out if the administrator has one of the
# same name. Puts faults into CONF_ERRORS, and returns 1 if there are any.
conf_defaults() {
	local file
	MEMBERS=() REQUIRED_BY=() CONF_ERRORS=()
	conf_keys_builtin
	[[ ! -d $VENDOR ]] || for file in "$VENDOR"/*.conf; do
		[[ -e $ETC/ramraid.conf.d/${file##*/} ]] || conf_read "$file" defaults
	done
	conf_read "$ETC/ramraid.conf" defaults
	[[ ! -d $ETC/ramraid.conf.d ]] ||
		for file in "$ETC/ramraid.conf.d"/*.conf; do
			conf_read "$file" defaults
		done
	((${#CONF_ERRORS[@]} == 0))
}

# conf_load NAME: fills CONF, MEMBERS and REQUIRED_BY from the defaults, ramraid.conf, NAME.conf and
# NAME.conf.d/*.conf, in this order. Returns 1 with every fault in CONF_ERRORS ("FILE:LINE: what is
# wrong; what to write"), 3 when there is no NAME.conf. Faults in ramraid.conf go to CONF_WARNINGS.
# Keys with an old name are read, and reported in CONF_NOTES.
conf_load() {
	local name=$1 file
	CONF=() MEMBERS=() REQUIRED_BY=() CONF_ERRORS=() CONF_WARNINGS=() CONF_NOTES=()
	conf_name_ok "$name" || {
		conf_fault_ name "$name"
		return 1
	}
	[[ -e $ETC/$name.conf || -L $ETC/$name.conf ]] || return 3
	conf_files_look "$ETC/ramraid.conf" "$ETC/$name.conf" "$ETC/$name.conf.d"/*.conf
	# A fault in ramraid.conf must not stop every array: it is reported, and the built-in value
	# holds. But hot-plug is off then, because ramraid.conf may have switched it off.
	conf_defaults || CONF_WARNINGS=("${CONF_ERRORS[@]}") CONF[HOTPLUG]=no
	CONF_ERRORS=() CONF_UNREAD=''
	conf_read "$ETC/$name.conf" array
	[[ ! -e $ETC/$name.conf.d ]] ||
		for file in "$ETC/$name.conf.d"/*.conf; do
			conf_read "$file" array
		done
	conf_check_whole_ "$ETC/$name.conf"
	((${#CONF_ERRORS[@]} == 0))
}

# conf_fault_ FAULT WHERE [WORD…]: adds to CONF_ERRORS what is wrong at WHERE.
conf_fault_() {
	need config/conf-faults
	conf_faults_say "$@"
}

conf_read() { # FILE defaults|array
	local file=$1 text lines=() fault=''
	[[ -e $file || -L $file ]] || return 0
	conf_files_is_ok "$file" || {
		CONF_UNREAD=yes
		return 0
	}
	# mapfile is buffered. "read" is not, if it has a length or another delimiter than the line
	# end: it then makes a system call for every byte.
	mapfile -d '' -n 2 lines <"$file"
	text=${lines[0]-}
	if ((${#lines[@]} > 1 || ${#text} > CONF_MAX_BYTES)); then
		fault=bytes
	# This is a regular expression, because bash searches for it six times as fast as for a
	# pattern.
	elif [[ $text =~ $CONF_CONTROL ]]; then
		fault=control
		[[ ${text//$'\r\n'/} =~ $CONF_CONTROL ]] || fault=dos
	elif [[ $text == $'\xef\xbb\xbf'* ]]; then
		fault=mark
	fi
	[[ -z $fault ]] || {
		CONF_UNREAD=yes
		conf_fault_ "$fault" "$file"
		return 0
	}
	# The file has nothing but comments, like ramraid.conf when it is installed.
	[[ $'\n'$text == *$'\n'[!#$'\n']* ]] || return 0
	mapfile -t lines <"$file"
	conf_lines_ "$file" "$2" "${lines[@]}"
}

# conf_misplaced_ KEY VALUE: may such a line only stand in the file of one array?
conf_misplaced_() {
	case $1 in
	UUID | MEMBER | REQUIRED_BY | LAYOUT | ROOT | BLOCK) ;;
	RAM) [[ $2 == /* ]] ;;
	*) return 1 ;;
	esac
}

# conf_origin_ KEY FILE:LINE: notes where a value comes from, for every line whose value has the
# form of its key. If such a line is refused later, the program ends.
conf_origin_() {
	case $1 in
	MEMBER) CONFIG_MEMBERS+=("$2") ;;
	REQUIRED_BY) CONFIG_REQUIRED_BY+=("$2") ;;
	*) CONFIG_ORIGIN[$1]=$2 ;;
	esac
}

# conf_lines_ FILE defaults|array LINE…: reads all lines of a file in one go, because bash copies a
# function each time it is called.
conf_lines_() {
	local file=$1 kind=$2 number=0 where line key value
	shift 2
	for line; do
		where=$file:$((number += 1))
		[[ -n $line && $line != \#* ]] || continue
		((${#line} <= CONF_MAX_LINE)) || {
			conf_fault_ long "$where" "${#line}"
			continue
		}
		key=${line%%=*} value=${line#*=}
		[[ $line != *[[:space:]]* ]] || conf_trim_
		[[ -n $line && $line != [#\;]* ]] || continue
		[[ $line == *=* && -n $key && $key != *[!A-Z_]* ]] || {
			conf_fault_ form "$where" "$line"
			continue
		}
		[[ $value != \"*\" && $value != \'*\' ]] || value=${value:1:-1}
		[[ -n ${CONF_FORM[$key]-} ]] || conf_renamed_ "$where" || {
			conf_fault_ key "$where" "$key"
			continue
		}
		[[ $value =~ ${CONF_FORM[$key]} ]] || conf_boolean_ "$key" || {
			conf_fault_ value "$where" "$key" "$value"
			continue
		}
		[[ $kind != defaults ]] || ! conf_misplaced_ "$key" "$value" || {
			[[ $key != RAM ]] || key=RAM=DEVICE
			conf_fault_ place "$where" "$key"
			continue
		}
		[[ -z ${CONF_ORIGINS-} ]] || conf_origin_ "$key" "$where"
		case $key in
		MEMBER) conf_member_ "$where" "$value" ;;
		REQUIRED_BY) REQUIRED_BY+=("$value") ;;
		UUID) conf_uuid_ "$where" "$value" ;;
		RAM) conf_ram_ "$where" "$value" ;;
		*) CONF[$key]=$value ;;
		esac
	done
}

# Sets the caller's line, key and value, without the blanks around them.
conf_trim_() {
	line=${line#"${line%%[![:space:]]*}"} line=${line%"${line##*[![:space:]]}"}
	key=${line%%=*} value=${line#*=}
	key=${key%"${key##*[![:space:]]}"} value=${value#"${value%%[![:space:]]*}"}
}

# conf_renamed_ FILE:LINE: if the caller's key is the name that an earlier release had for a key,
# sets it to the present name, and says so in CONF_NOTES. Returns 1 if no release had it.
conf_renamed_() {
	[[ -n ${CONF_RENAMED[$key]-} ]] || return 1
	conf_fault_ renamed "$1" "$key" "${CONF_RENAMED[$key]}"
	key=${CONF_RENAMED[$key]}
}

# conf_boolean_ KEY: if KEY takes yes and no, and the caller's value is another of the words that
# systemd takes for these, sets value to yes or no. Returns 1 if it is not.
conf_boolean_() {
	local word=''
	case ${value,,} in
	yes | true | on | 1) word=yes ;;
	no | false | off | 0) word=no ;;
	esac
	[[ -n $word && $word =~ ${CONF_FORM[$1]} ]] && value=$word
}

# An md UUID may be written in two ways; both become the form of md/uuid in sysfs.
conf_uuid_() { # FILE:LINE UUID
	local hex=${2//[-:]/} colons dashes
	dashes=${hex:0:8}-${hex:8:4}-${hex:12:4}-${hex:16:4}-${hex:20}
	colons=${hex:0:8}:${hex:8:8}:${hex:16:8}:${hex:24}
	if [[ ${#hex} == 32 && $2 == @("$dashes"|"$colons") ]]; then
		CONF[UUID]=$dashes
	else
		conf_fault_ value "$1" UUID "$2"
	fi
}

conf_member_() { # FILE:LINE PATH
	local where=$1 path=$2 member
	stable_name_is "$path" || {
		conf_fault_ unstable "$where" "$path"
		return 0
	}
	for member in "${MEMBERS[@]}"; do
		[[ $member != "$path" ]] || {
			conf_fault_ twice "$where" "$path"
			return 0
		}
	done
	MEMBERS+=("$path")
}

conf_ram_() { # FILE:LINE VALUE
	if [[ $2 == /* ]] && ! stable_name_is_fast "$2"; then
		conf_fault_ unstable "$1" "$2" RAM
	else
		CONF[RAM]=$2
	fi
}

conf_check_whole_() { # FILE
	# Nobody knows what is in a file that could not be read, so nothing counts as missing from
	# it.
	[[ -n ${CONF[UUID]}${CONF_UNREAD-} ]] || conf_fault_ no-uuid "$1"
	[[ ${CONF[RAM]} != /* || " ${MEMBERS[*]} " != *" ${CONF[RAM]} "* ]] || conf_fault_ both "$1"
	[[ ${#MEMBERS[@]} -gt 0 || -n ${CONF_UNREAD-} ]] || conf_fault_ no-member "$1"
	# There is a third one while it replaces another ("replace", "apply").
	[[ ${CONF[LAYOUT]} == mirror || ${CONF[RAM]}:${#MEMBERS[@]} == none:[23] ]] ||
		conf_fault_ far2 "$1"
	conf_check_data_loss "$1"
	conf_check_run_ "$1"
}

# conf_check_data_loss WHERE: reports a fault when CONF lets writes be lost, and nobody has said
# that they may be.
conf_check_data_loss() {
	[[ ${CONF[WRITE_BEHIND]} == 0 || ${CONF[ACCEPT_DATA_LOSS]} == yes ]] ||
		conf_fault_ data-loss "$1"
}

# Reports a fault when the array that a start under this name has judged still runs, and its UUID is
# not the one in the configuration: whatever is done to the running array, and every note about it,
# would count as the configured array's. Its legs are also found by their names, and its RAM leg by
# this boot's note.
conf_check_run_() { # FILE
	local name=${1##*/} was='' watched='' MD_RUN VALUE
	name=${name%.conf}
	{
		read -r watched <"$RUN/$name.watched" && read -r was <"$RUN/$name.started"
	} 2>/dev/null || return 0
	[[ -n ${CONF[UUID]} && $was == UUID=?* && $was != "UUID=${CONF[UUID]}" ]] || return 0
	need world/md-state
	md_state_run "${watched%% *}"
	md_state_read "${watched%% *}" array_state
	[[ $watched != "$MD_RUN" || $VALUE == @(|clear|inactive) ]] ||
		conf_fault_ runs "$1" "${was#UUID=}" "$name"
}

# conf_same NAME UUID: prints the names of the other configurations of the array with this UUID, one
# a line. These are copies, each of which has a unit of its own, and none knows of the others.
conf_same() {
	local other uuid
	while IFS= read -r other; do
		[[ $other != "$1" ]] || continue
		uuid=$(conf_load "$other" >/dev/null 2>&1 || : && printf '%s' "${CONF[UUID]-}")
		[[ $uuid != "$2" ]] || printf '%s\n' "$other"
	done < <(conf_names)
}

# conf_naming PATH…: prints the names of the configured arrays that have one of these paths as a
# disk leg, one a line.
conf_naming() {
	local other member
	while IFS= read -r other; do
		while IFS= read -r member; do
			[[ -z $member || " $* " != *" $member "* ]] || printf '%s\n' "$other"
		done < <(conf_load "$other" >/dev/null 2>&1 || : && printf '%s\n' "${MEMBERS[@]}")
	done < <(conf_names)
}
