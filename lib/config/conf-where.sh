# Where a key of an array is set: for messages that say which line to change. A drop-in is read
# after NAME.conf, so what somebody writes there has no effect while a drop-in sets the same key.
# shellcheck shell=bash

need config/conf core/paths

# conf_where NAME KEY [VALUE|ramraid]: prints the FILE:LINE that sets KEY for the array; of a list,
# the line with VALUE. If none of the array's own files does, prints its NAME.conf, where a line
# overrides the defaults. With "ramraid", for a key that is best set for all arrays: prints the line
# that sets it anywhere in /etc/ramraid, or else ramraid.conf.
conf_where() {
	(
		local where=''
		conf_where_find_ "$1" "$2" "${3-}" >/dev/null 2>&1 || :
		if [[ ${3-} == ramraid ]]; then
			[[ $where == "$ETC"/* ]] || where=$ETC/ramraid.conf
		else
			[[ $where == @("$ETC/$1.conf:"|"$ETC/$1.conf.d/")* ]] || where=$ETC/$1.conf
		fi
		printf '%s\n' "$where"
	)
}

# Sets the caller's where, which stays empty when no line sets the key. It runs in a process of its
# own, because it reads the configuration again.
conf_where_find_() { # NAME KEY VALUE
	local i CONF_ORIGINS=yes
	local -A CONFIG_ORIGIN=()
	local CONFIG_MEMBERS=() CONFIG_REQUIRED_BY=()
	conf_load "$1" || :
	case $2 in
	MEMBER) for i in "${!MEMBERS[@]}"; do
		[[ ${MEMBERS[i]} != "$3" ]] || where=${CONFIG_MEMBERS[i]}
	done ;;
	REQUIRED_BY) for i in "${!REQUIRED_BY[@]}"; do
		[[ ${REQUIRED_BY[i]} != "$3" ]] || where=${CONFIG_REQUIRED_BY[i]}
	done ;;
	*) where=${CONFIG_ORIGIN[$2]-} ;;
	esac
}
