# Checks whether a name is fit for an array that is to be created or adopted, before that has a
# configuration.
# shellcheck shell=bash

need config/conf config/conf-faults config/conf-files config/conf-keys core/log core/paths

# conf_new_name NAME: ends the program when no array can have this name, or no new one: mdadm reads
# "d7" as the number of a device, and fails when there is an md7 (create_mddev() in its mdopen.c).
conf_new_name() {
	conf_name_ok "$1" || die "$(conf_faults_name "$1")" "$EX_USAGE"
	[[ ! $1 =~ ^d[0-9]+$ ]] ||
		die "\"$1\" can't be an array's name: mdadm reads it as the number of a device; \
choose another" "$EX_USAGE"
}

# conf_new_dropins NAME: drop-ins may be there before their array, perhaps from an earlier one of
# that name. They hold for the new array as soon as it has a configuration. Ends the program when
# they have errors, or keys that only belong to one array; otherwise says that they hold.
conf_new_dropins() {
	local file files=() line MEMBERS=() REQUIRED_BY=() CONF_ERRORS=()
	local -A CONF=()
	for file in "$ETC/$1.conf.d"/*.conf; do
		[[ ! -e $file && ! -L $file ]] || files+=("$file")
	done
	((${#files[@]} > 0)) || return 0
	conf_keys_builtin
	conf_files_look "${files[@]}"
	for file in "${files[@]}"; do conf_read "$file" array; done
	for line in "${CONF_ERRORS[@]}"; do log_error "$line"; done
	[[ -z ${CONF[UUID]} && ${CONF[LAYOUT]} == mirror && ${CONF[RAM]} != /* &&
		${#MEMBERS[@]} == 0 && ${#CONF_ERRORS[@]} == 0 ]] ||
		die "$1: there are drop-ins already that would apply to it but belong to another \
array: ${files[*]}. Remove them first: rm -r $ETC/$1.conf.d; nothing was changed" "$EX_REFUSED"
	log_notice "$1: these drop-ins apply to it as well: ${files[*]}"
}
