# Part of the gate: disk legs in containers that crypttab lists. The array's unit comes after the
# container's, so that no time-out runs while somebody types a passphrase, and so that at a shutdown
# the container stays until the array has stopped. Called by gate/dependents.sh, whose variables
# this uses.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of gate/dependents.sh

need config/conf core/act core/log core/paths gate/rescue-mount gate/spec world/systemd

# crypttab: sorts the containers that disk legs are in into legs (systemd opens them at boot) and
# byhand (noauto), and sets patient if the rest of the boot does not wait for one of them (nofail).
# Reads crypttab as systemd-cryptsetup-generator does; "none" and "-" stand for no key, and for no
# option.
crypttab() {
	local name source key options
	[[ -f $ROOT/etc/crypttab && -r $ROOT/etc/crypttab ]] || return 0
	while read -r name source key options _ || [[ -n $name ]]; do
		[[ -n $source && $name != '#'* && $name != */* && $name != . && $name != .. ]] ||
			continue
		crypttab_is_leg_ "$name" || continue
		crypttab_leg_may_wait_ || continue
		if spec_option noauto auto; then
			byhand+=("$name")
		else
			legs+=("$name")
			! spec_option nofail fail || patient=yes
		fi
	done <"$ROOT/etc/crypttab"
}

# crypttab_is_leg_ NAME: is a disk leg in the container NAME? Goes by the names that device-mapper
# and udev make of NAME, or by what was seen (notes/contents.sh).
crypttab_is_leg_() {
	local member spec tag
	[[ -z ${ALIASES["below /dev/mapper/$1"]-} ]] || return 0
	for member in "${MEMBERS[@]}"; do
		spec_tag "$member"
		spec_decode spec
		spec_decode tag
		[[ $spec != "/dev/mapper/$1" && $tag != "/dev/mapper/$1" ]] || return 0
	done
	return 1
}

# crypttab_leg_may_wait_: may the array come after the container of the caller's line? Not if the
# container comes after the array itself, by its disk, its key or its header. Not if the container
# comes over the network and the array does not wait for the network: the network comes after the
# local mounts, and these come after the array.
crypttab_leg_may_wait_() {
	local found=() waits='' paths=() why=''
	rescue_mount_crypt_paths
	if rescue_mount_comes_after "${paths[@]}"; then
		why='its disk, key or header is on the array itself'
	elif [[ ,$options, == *,_netdev,* ]] && ((netdev == 0 || local > 0)); then
		why="/etc/crypttab marks it as _netdev, but not all lines for what is on the array \
have that option. Add it to all, or to none"
	fi
	[[ -n $why ]] || return 0
	log_warning "$GATE_NAME: a disk leg is in the container $name, \
and the array does not wait for that: $why"
	return 1
}

crypttab_print_legs() {
	systemd_escaped leg --template=systemd-cryptsetup@.service -- "${legs[@]}"
	systemd_escaped byhand --template=systemd-cryptsetup@.service -- "${byhand[@]}"
	[[ -z $patient ]] || printf 'patient yes\n'
}

# crypttab_write_leg FOLDER NAME leg|byhand UNIT
crypttab_write_leg() {
	local file=$1/ramraid@$2.service.d/50-crypt.conf
	act_put_folder "${file%/*}" || return
	[[ -e $file ]] ||
		act_put "$file" "# A disk leg is in it (MEMBER in ramraid.conf(5)). What \
/etc/crypttab says noauto of is opened by a person, or not at all." '[Unit]' || return
	[[ $3 == byhand ]] || act_put_more "$file" "Wants=$4" || return
	act_put_more "$file" "After=$4"
}
