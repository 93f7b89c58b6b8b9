# Which configured array a name of a device means, whether or not the array runs.
# shellcheck shell=bash

need config/conf core/paths

# conf_device_array PATH: sets ARRAY to the name of the configured array whose device, or a
# partition of it, PATH names; to nothing if there is none.
conf_device_array() {
	local name=${1##*/} hex other
	ARRAY=''
	[[ $1 != /dev/disk/by-id/* ]] || name=${name%-part[0-9]*}
	case $1 in
	/dev/md/*)
		conf_device_is_ "$name" ||
			! [[ $name =~ ^(.*[0-9])p[0-9]+$ || $name =~ ^(.*[^0-9])[0-9]+$ ]] ||
			conf_device_is_ "${BASH_REMATCH[1]}" || :
		;;
	/dev/disk/by-id/md-name-*)
		name=${name#md-name-}
		conf_device_is_ "${name##*:}" || :
		;;
	/dev/disk/by-id/md-uuid-*)
		hex=${name#md-uuid-} hex=${hex//[-:]/} hex=${hex,,}
		other=$(conf_same '' "${hex:0:8}-${hex:8:4}-${hex:12:4}-${hex:16:4}-${hex:20}")
		ARRAY=${other%%$'\n'*}
		;;
	esac
}

conf_device_is_() { # NAME
	conf_name_ok "$1" && [[ -e $ETC/$1.conf ]] && ARRAY=$1
}
