# Checks whether a name is fit for an array that is to be created or adopted, before that has a
# configuration.
# shellcheck shell=bash

need config/conf config/conf-faults config/conf-files core/log core/paths

# conf_new_name NAME: ends the program when no array can have this name, or no new one: mdadm reads
# "d7" as the number of a device, and fails when there is an md7 (create_mddev() in its mdopen.c).
conf_new_name() {
	conf_name_ok "$1" || die "$(conf_faults_name "$1")" "$EX_USAGE"
	[[ ! $1 =~ ^d[0-9]+$ ]] ||
		die "\"$1\" can't be an array's name: mdadm reads it as the number of a device; \
choose another" "$EX_USAGE"
}

# conf_new_load NAME [RAM [OR]]: loads into CONF and REQUIRED_BY what holds for an array that has no
# file of its own yet: the defaults, RAM= as that file will have it, and the drop-ins, which may be
# there before their array, perhaps from an earlier one of that name. Ends the program when the
# drop-ins have errors, keys that only belong to one array, or another RAM=, and when the first
# start would refuse what holds; OR is what else to do about another RAM= than to delete the line,
# with KIND for what the drop-in says.
conf_new_load() {
	local line
	conf_defaults || {
		[[ -n ${CONF_NEW_SAID-} ]] ||
			for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
		CONF_NEW_SAID+=' '
	}
	CONF[RAM]=${2:-${CONF[RAM]}}
	conf_new_dropins_ "$1"
	[[ -z ${2-} ]] || conf_new_agrees "$1" RAM "$2" "${3-}"
	conf_new_sound_ "$1"
}

# Ends the program when the first start would refuse what holds.
conf_new_sound_() { # NAME
	local CONF_ERRORS=()
	conf_check_data_loss "${CONF_NEW_AT[WRITE_BEHIND]-$ETC/ramraid.conf}"
	((${#CONF_ERRORS[@]} == 0)) || die "$1: ${CONF_ERRORS[0]}; nothing was changed" \
		"$EX_REFUSED"
}

# Reads the drop-ins of NAME over CONF, and says once that they hold. Sets CONF_NEW_SET to the
# values that they set (KEY → value), and CONF_NEW_AT to the lines (KEY → FILE:LINE).
declare -gA CONF_NEW_SET=() CONF_NEW_AT=()
conf_new_dropins_() { # NAME
	local file files=() line CONF_ERRORS=()
	local CONF_ORIGINS=yes CONFIG_MEMBERS=() CONFIG_REQUIRED_BY=()
	local -A CONFIG_ORIGIN=()
	CONF_NEW_SET=() CONF_NEW_AT=()
	for file in "$ETC/$1.conf.d"/*.conf; do
		[[ ! -e $file && ! -L $file ]] || files+=("$file")
	done
	((${#files[@]} > 0)) || return 0
	conf_files_look "${files[@]}"
	for file in "${files[@]}"; do conf_read "$file" array; done
	for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
	for line in "${!CONFIG_ORIGIN[@]}"; do
		CONF_NEW_SET[$line]=${CONF[$line]} CONF_NEW_AT[$line]=${CONFIG_ORIGIN[$line]}
	done
	[[ -z ${CONF[UUID]} && ${CONF[LAYOUT]} == mirror && ${CONF_NEW_SET[RAM]-} != /* &&
		${#MEMBERS[@]} == 0 && ${#CONF_ERRORS[@]} == 0 ]] ||
		die "$1: there are drop-ins already that would apply to it but belong to another \
array: ${files[*]}. Remove them first: rm -r $ETC/$1.conf.d; nothing was changed" "$EX_REFUSED"
	[[ ${CONF_NEW_SAID-} != *" $1 "* ]] || return 0
	log_notice "$1: these drop-ins apply to it as well: ${files[*]}"
	CONF_NEW_SAID+=" $1 "
}

# conf_new_agrees NAME KEY VALUE [OR]: after conf_new_load. The array's own file will have
# KEY=VALUE. Ends the program when a drop-in overrides that; OR: see conf_new_load.
conf_new_agrees() {
	local value=${CONF_NEW_SET[$2]-$3} or=${4-}
	[[ $value != "$3" ]] || return 0
	die "$1: ${CONF_NEW_AT[$2]}: $2=$value would override the $2=$3 that $ETC/$1.conf gets. \
Delete that line${or//KIND/"$value"}; nothing was changed" "$EX_REFUSED"
}
