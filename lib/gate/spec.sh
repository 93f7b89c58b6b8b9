# Part of the gate: what the first field of fstab (fs_spec in fstab(5)), the second of crypttab, a
# mount point and opposite options mean to systemd.
# shellcheck shell=bash

need core/paths core/text

# spec_decode VARIABLE: decodes each \xNN in it, as udev writes them in the name of a link, and
# systemd in the name of a unit. Any other backslash comes from neither; then nothing is decoded.
spec_decode() {
	local rest=${!1//\\x[0-9a-f][0-9a-f]/}
	[[ $rest == *\\* ]] || printf -v "$1" '%b' "${!1}"
}

# spec_tag SPEC: sets the caller's spec to an fstab or crypttab source without quotes, and tag to
# what notes/contents.sh calls the same, UUID=… or /dev/mapper/…; to nothing if it has no such name.
spec_tag() {
	spec=${1//\"/} tag=''
	if [[ $spec =~ ^/dev/disk/by-(uuid|label|partuuid|partlabel)/(.+)$ ]]; then
		tag=${BASH_REMATCH[1]^^}=${BASH_REMATCH[2]}
		spec_decode tag
	elif [[ $spec == /dev/disk/by-id/dm-name-* ]]; then
		tag=/dev/mapper/${spec#/dev/disk/by-id/dm-name-}
	# cryptsetup gives a container a UUID that ends with its name.
	elif [[ $spec =~ ^/dev/disk/by-id/dm-uuid-CRYPT-[A-Z0-9]+-([0-9a-f]{32}-)?(.+)$ ]]; then
		tag=/dev/mapper/${BASH_REMATCH[2]}
	fi
}

# spec_is_beside SPEC: is it on another volume of a volume group that is partly on the array
# (notes/contents.sh)? LVM activates that volume with the array, and not before.
spec_is_beside() {
	local spec tag
	spec_tag "$1"
	[[ -n $spec ]] && [[ -n ${ALIASES["beside $spec"]-} || -n ${ALIASES["beside $tag"]-} ]]
}

# spec_matches SPEC: does an fstab or crypttab source refer to one of ALIASES (an associative
# array), or to the array GATE_NAME?
spec_matches() {
	local spec tag
	spec_tag "$1"
	# An empty index would be an error.
	[[ -n $spec ]] || return 1
	[[ -n ${ALIASES[$spec]-} || -n ${ALIASES[${tag:--}]-} ||
		$spec == /dev/disk/by-id/md-uuid-* && -n ${ALIASES[${spec%-part[0-9]*}]-} ]] ||
		spec_is_array "$spec"
}

# spec_is_array SPEC: is it the array's own name, with or without the prefix of another host, or one
# of its partitions? What looks like a partition may be another array ("data2" beside "data").
spec_is_array() {
	local tail digits='p?[0-9]+'
	[[ $1 =~ ^/dev/(md/|disk/by-id/md-name-)([^/:]*:)?([^/:]+)$ ]] || return 1
	tail=${BASH_REMATCH[3]}
	[[ ! $1 =~ ^/dev/disk/.*(-part[0-9]+)$ ]] || tail=${tail%"${BASH_REMATCH[1]}"}
	[[ $tail != "$GATE_NAME" ]] || return 0
	[[ $GATE_NAME != *[0-9] ]] || digits='p[0-9]+'
	[[ $tail == "$GATE_NAME"* && ${tail#"$GATE_NAME"} =~ ^$digits$ && ! -e $ETC/$tail.conf ]]
}

# spec_device SPEC: prints the path of the device unit that systemd makes of SPEC
# (fstab_node_to_udev_node in systemd's source).
spec_device() {
	local key=${1%%=*} value=${1#*=}
	value=$(text_encode "${value//\"/}")
	case $key in
	UUID | LABEL | PARTUUID | PARTLABEL) printf '/dev/disk/by-%s/%s\n' "${key,,}" "$value" ;;
	*) printf '%s\n' "$1" ;;
	esac
}

# spec_simplify VARIABLE: simplifies the path in it as systemd does: no doubled slash, none at the
# end, no ".". The root becomes empty.
spec_simplify() {
	local text=${!1}
	[[ $text == /* ]] || return 0
	while [[ $text == *//* || $text == */./* ]]; do
		text=${text//\/\///} text=${text//\/.\///}
	done
	text=${text%/.}
	printf -v "$1" '%s' "${text%/}"
}

# spec_resolve VARIABLE: resolves the symbolic links of the path in it, as systemd does to name the
# unit of a mount point (canonicalize_mount_path() in its source), whether or not the path exists.
spec_resolve() {
	local step=${!1} resolved
	[[ $step == /* ]] || return 0
	# This needs no process unless one of its folders is a link.
	while [[ -n $step ]]; do
		[[ ! -L $ROOT$step ]] || {
			resolved=$(readlink -m -- "$ROOT${!1}")
			printf -v "$1" '%s' "${resolved#"$ROOT"}"
			return
		}
		step=${step%/*}
	done
}

# spec_option NO YES: of these two opposite options, do the caller's options have any, and is NO the
# last one? (fstab_test_yes_no_option() in systemd's source)
spec_option() { [[ ,${options-}, =~ ^.*,($1|$2), && ${BASH_REMATCH[1]} == "$1" ]]; }
