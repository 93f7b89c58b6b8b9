# Configuration: read, checked, never executed. The keys, their defaults and their forms stand in one table here.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# Key → default. UUID and MEMBER have none: they must be given. MEMBER, MOUNT may be repeated.
declare -grA CONF_DEFAULTS=(
	[UUID]='' [RAM]=auto [RAM_RESERVE]=10% [WAIT]=yes [WAIT_TIMEOUT]=30min [ON_TIMEOUT]=degraded [MEMBER_TIMEOUT]=30s
	[START_DEGRADED]=witness [REBUILD]=auto [WRITE_BEHIND]=0 [ACCEPT_DATA_LOSS]=no
	[ACCEPT_KERNEL_FLAW]=no [RESCUE]=/var/lib/ramraid
)
# Key → the extended regular expression that its value has to match, and what to write, for the message.
declare -grA CONF_FORM=(
	[UUID]='^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$|^([0-9a-f]{8}:){3}[0-9a-f]{8}$' [MEMBER]='^/dev/.' [RAM]='^(auto|rapiddisk|brd|none)$'
	[RAM_RESERVE]=$RE_SIZE [WAIT]='^(yes|no)$' [WAIT_TIMEOUT]=$RE_TIME [ON_TIMEOUT]='^(degraded|fail)$' [MEMBER_TIMEOUT]=$RE_TIME
	[START_DEGRADED]='^(witness|always|never)$' [REBUILD]='^(auto|kernel)$' [WRITE_BEHIND]='^(0|[1-9][0-9]{0,3}|1[0-5][0-9]{3}|16[0-2][0-9]{2}|163[0-7][0-9]|1638[0-3])$' [ACCEPT_DATA_LOSS]='^(yes|no)$'
	[ACCEPT_KERNEL_FLAW]='^(yes|no)$' [RESCUE]='^(none|/[A-Za-z0-9._/-]*)$'
	[MOUNT]='^(/.*|[^/]+\.(mount|swap|service|target))$'
)
declare -grA CONF_EXPECTED=(
	[UUID]='the array UUID as "mdadm --detail" prints it' [MEMBER]='a device path' [RAM]='auto, rapiddisk, brd or none'
	[RAM_RESERVE]='a size such as 512M or 10%' [WAIT]='yes or no' [WAIT_TIMEOUT]='a time span such as 90s, 10min or infinity'
	[ON_TIMEOUT]='degraded or fail' [MEMBER_TIMEOUT]='a time span such as 30s' [START_DEGRADED]='witness, always or never'
	[REBUILD]='auto or kernel' [WRITE_BEHIND]='a number of writes from 0 to 16383' [ACCEPT_DATA_LOSS]='yes or no'
	[ACCEPT_KERNEL_FLAW]='yes or no' [RESCUE]='a folder, or none'
	[MOUNT]='a mount point or the name of a unit'
)
readonly CONF_MAX_BYTES=65536 CONF_MAX_LINE=4096
# md names: what mdadm 4.4 accepts below /dev/md and what fits the superblock's 32 bytes; "ramraid" is the file of the defaults.
readonly RE_NAME='^[A-Za-z][A-Za-z0-9._-]{0,30}$'

declare -gA CONF=()
declare -ga MEMBERS=() MOUNTS=() CONF_ERRORS=() CONF_WARNINGS=()

conf_name_ok() { [[ $1 =~ $RE_NAME && $1 != ramraid && $1 != *.conf ]]; }

# conf_bad_name NAME: the complaint about what can't be an array's name, fit for a terminal and one line of the journal.
conf_bad_name() {
	local shown=${1//[[:cntrl:]]/?}
	printf '"%s" can'"'"'t be an array'"'"'s name; use up to 31 letters, digits, "-", "_" and ".", a letter first' "${shown:0:60}"
}

# conf_names: the names of all configured arrays, one a line, broken ones included.
conf_names() {
	local file name
	for file in "$ETC"/*.conf; do
		# A line break would make two names of one.
		name=${file##*/} name=${name%.conf} name=${name//[[:cntrl:]]/?}
		[[ (-e $file || -L $file) && $name != ramraid ]] || continue
		printf '%s\n' "$name"
	done
}

# conf_defaults: CONF for an array that has no file of its own yet; faults of ramraid.conf in CONF_ERRORS, returns 1.
conf_defaults() {
	local key
	CONF=() MEMBERS=() MOUNTS=() CONF_ERRORS=()
	for key in "${!CONF_DEFAULTS[@]}"; do CONF[$key]=${CONF_DEFAULTS[$key]}; done
	conf_read_ "$ETC/ramraid.conf" defaults
	((${#CONF_ERRORS[@]} == 0))
}

# conf_load NAME: fills CONF, MEMBERS and MOUNTS from the defaults, ramraid.conf, NAME.conf and NAME.conf.d/*.conf, in this order.
# Returns 1 with every fault in CONF_ERRORS ("FILE:LINE: what is wrong; what to write"), 3 when there is no NAME.conf. Faults of
# ramraid.conf are CONF_WARNINGS.
conf_load() {
	local name=$1 file shown
	CONF=() MEMBERS=() MOUNTS=() CONF_ERRORS=() CONF_WARNINGS=()
	conf_name_ok "$name" || {
		shown=${name//[[:cntrl:]]/?}
		CONF_ERRORS=("$ETC/${shown:0:60}.conf: $(conf_bad_name "$name")")
		return 1
	}
	[[ -e $ETC/$name.conf || -L $ETC/$name.conf ]] || return 3
	# A fault in the file of all must not stop them all: it is said, and the built-in value holds.
	conf_defaults || CONF_WARNINGS=("${CONF_ERRORS[@]}")
	CONF_ERRORS=()
	conf_read_ "$ETC/$name.conf" array
	for file in "$ETC/$name.conf.d"/*.conf; do conf_read_ "$file" array; done
	conf_check_whole_ "$ETC/$name.conf"
	((${#CONF_ERRORS[@]} == 0))
}

# conf_need NAME: conf_load, or the end of the program with its errors.
conf_need() {
	local code=0 line
	conf_load "$1" || code=$?
	for line in "${CONF_WARNINGS[@]}" "${CONF_ERRORS[@]}"; do log_error "$line"; done
	((code != 3)) || die "there is no array \"$1\": $ETC/$1.conf does not exist. \"ramraid status\" lists what is configured" "$EX_INACTIVE"
	conf_name_ok "$1" || exit "$EX_USAGE" # said
	((code == 0)) || die "$1: the configuration has ${#CONF_ERRORS[@]} error(s); nothing was done" "$EX_USAGE"
}

# conf_keep NAME: remembers, for this boot, what the array was started with.
conf_keep() {
	mkdir -p "$RUN"
	{
		printf 'UUID=%s\nRAM=%s\nRESCUE=%s\n' "${CONF[UUID]}" "${CONF[RAM]}" "${CONF[RESCUE]}"
		printf 'MEMBER=%s\n' "${MEMBERS[@]}"
	} >"$RUN/$1.started"
}

# conf_need_started NAME: conf_need; but if the file has been broken or deleted since the start, what it was started with, so that letting
# go of the RAM leg never fails for a typing error.
conf_need_started() {
	local line
	if ! conf_name_ok "$1" || [[ ! -r $RUN/$1.started ]] || conf_load "$1"; then
		conf_need "$1"
		return
	fi
	for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
	log_warning "$1: its configuration is broken or gone; going by what it was started with"
	conf_defaults || : # said at the start
	CONF_ERRORS=()
	conf_read_ "$RUN/$1.started" array
	((${#CONF_ERRORS[@]} == 0)) || die "$1: $RUN/$1.started is damaged"
}

conf_error_() { CONF_ERRORS+=("$1"); }

# CONF_GLANCE=yes, for "status", spares the processes that these checks cost: it only shows, and changes nothing.
# Only a plain file of root's (in tests: our own) that nobody else can write is read.
conf_file_ok_() { # FILE
	local type owner mode bytes
	IFS=: read -r type owner mode bytes < <(stat -c '%F:%u:%a:%s' -- "$1" 2>/dev/null)
	case $type in
	'regular file' | 'regular empty file') ;;
	'') conf_error_ "$1: cannot be read" && return 1 ;;
	*) conf_error_ "$1: is a $type; it must be a regular file" && return 1 ;;
	esac
	((owner == EUID || owner == 0)) || conf_error_ "$1: belongs to user $owner; type: chown root $1"
	(((8#$mode & 8#022) == 0)) || conf_error_ "$1: others than its owner can write it (mode $mode); type: chmod 644 $1"
	((bytes <= CONF_MAX_BYTES)) || conf_error_ "$1: has $bytes bytes; more than $CONF_MAX_BYTES can't be a configuration"
	((owner == EUID || owner == 0)) && (((8#$mode & 8#022) == 0 && bytes <= CONF_MAX_BYTES))
}

conf_read_() { # FILE defaults|array
	local file=$1 kind=$2 line number=0
	[[ -e $file || -L $file ]] || return 0
	[[ -n ${CONF_GLANCE-} && -f $file ]] || conf_file_ok_ "$file" || return 0
	[[ -r $file ]] || {
		conf_error_ "$file: cannot be read"
		return 0
	}
	# A glance has not asked for the size: to the first NUL byte, or as far as a configuration can reach.
	if [[ -n ${CONF_GLANCE-} ]] && IFS= read -r -d '' -n $((CONF_MAX_BYTES + 1)) line <"$file"; then
		conf_error_ "$file: has a NUL byte or more than $CONF_MAX_BYTES bytes; that can't be a configuration"
		return 0
	fi
	if [[ -z ${CONF_GLANCE-} ]] && LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$file"; then
		conf_error_ "$file: holds control characters; it must be plain text with Unix line ends"
		return 0
	fi
	while IFS= read -r line || [[ -n $line ]]; do
		number=$((number + 1))
		conf_line_ "$file:$number" "$kind" "$line"
	done <"$file"
}

conf_line_() { # FILE:LINE defaults|array TEXT
	local where=$1 kind=$2 line=$3 key value
	((${#line} <= CONF_MAX_LINE)) || {
		conf_error_ "$where: has ${#line} characters; more than $CONF_MAX_LINE can't be KEY=value"
		return 0
	}
	line=${line#"${line%%[![:space:]]*}"} line=${line%"${line##*[![:space:]]}"}
	[[ -n $line && $line != [#\;]* ]] || return 0
	[[ $line =~ ^([A-Z_]+)[[:space:]]*=[[:space:]]*(.*)$ ]] || {
		conf_error_ "$where: \"${line:0:60}\" is not of the form KEY=value"
		return 0
	}
	key=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
	if [[ $value =~ ^\"(.*)\"$ || $value =~ ^\'(.*)\'$ ]]; then value=${BASH_REMATCH[1]}; fi
	[[ -n ${CONF_FORM[$key]-} ]] || {
		conf_error_ "$where: unknown key \"${key:0:60}\"; ramraid.conf(5) lists all keys"
		return 0
	}
	[[ $value =~ ${CONF_FORM[$key]} ]] || {
		conf_error_ "$where: $key=${value:0:80}: write ${CONF_EXPECTED[$key]}"
		return 0
	}
	case $key:$kind in
	UUID:defaults | MEMBER:defaults | MOUNT:defaults) conf_error_ "$where: $key belongs to one array; write it in that array's own file" ;;
	MEMBER:*) conf_member_ "$where" "$value" ;;
	MOUNT:*) MOUNTS+=("$value") ;;
	UUID:*) conf_uuid_ "$value" ;;
	*) CONF[$key]=$value ;;
	esac
}

# Both ways of writing an md UUID become the one that md/uuid in sysfs uses.
conf_uuid_() {
	local hex=${1//[-:]/}
	CONF[UUID]=${hex:0:8}-${hex:8:4}-${hex:12:4}-${hex:16:4}-${hex:20:12}
}

conf_member_() { # FILE:LINE PATH
	local where=$1 path=$2 member better
	if ! disk_name_is_stable "$path"; then
		better=$(disk_stable_name "$path") || better='a name below /dev/disk/by-id (see: lsblk -o NAME,SIZE,SERIAL,MODEL)'
		conf_error_ "$where: MEMBER=${path:0:80}: this name can mean another disk after the next boot; write $better"
		return 0
	fi
	for member in "${MEMBERS[@]}"; do
		[[ $member != "$path" ]] || {
			conf_error_ "$where: MEMBER=$path stands there already; delete one of the two lines"
			return 0
		}
	done
	MEMBERS+=("$path")
}

conf_check_whole_() { # FILE
	[[ -n ${CONF[UUID]} ]] || conf_error_ "$1: UUID= is missing; write the array UUID (see: mdadm --examine DISK)"
	((${#MEMBERS[@]} > 0)) || conf_error_ "$1: there is no MEMBER= line; write one for each disk leg"
	[[ ${CONF[WRITE_BEHIND]} == 0 || ${CONF[ACCEPT_DATA_LOSS]} == yes ]] ||
		conf_error_ "$1: WRITE_BEHIND=${CONF[WRITE_BEHIND]} lets fsync return before a disk has the data; delete it, or also write ACCEPT_DATA_LOSS=yes"
}
