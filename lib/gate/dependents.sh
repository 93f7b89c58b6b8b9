# The gate: which units wait for an array, from fstab, crypttab and REQUIRED_BY=. Used by the
# generator, so: quick, and never fatal.
# shellcheck shell=bash

need config/conf core/log core/paths core/text gate/crypttab gate/fstab gate/rescue-mount gate/spec
need notes/old-name world/disk world/systemd

declare -gA F # the facts: decide/facts.list

# dependents_aliases NAME UUID: names that refer to the array whatever is on it, and those
# remembered; and those in GATE_MORE, one a line.
dependents_aliases() {
	local hex=${2//-/} file=$STATE/$1.contents
	printf '/dev/md/%s\n/dev/disk/by-id/md-uuid-%s:%s:%s:%s\n' "$1" "${hex:0:8}" "${hex:8:8}" \
		"${hex:16:8}" "${hex:24:8}"
	[[ ! -f $file || ! -r $file ]] || cat "$file"
	dependents_renamed_ "$1" "$2"
	[[ -z ${GATE_MORE-} ]] || printf '%s\n' "$GATE_MORE"
}

# dependents_renamed_ NAME UUID: what is remembered under the name that the configuration had until
# now.
dependents_renamed_() {
	local other RENAMED
	old_name_list "$1" "$2"
	for other in "${RENAMED[@]}"; do
		[[ $other == =* || -e $ETC/$other.conf || ! -f $STATE/$other.contents ||
			! -r $STATE/$other.contents ]] || cat "$STATE/$other.contents"
	done
}

# dependents_numbered NAME MD: what fstab and crypttab call the array, or one of its partitions,
# that leads to it now and will not when it is /dev/md/NAME: a number is given out again at each
# boot. "FILE LINE NODE SOURCE" one a line: NODE is what it leads to (md127p1), SOURCE is as it is
# written there.
dependents_numbered() {
	local file number source name NODE GATE_NAME=$1
	while read -r file number source; do
		printf -v name '%b' "$source"
		disk_find "$name" || continue
		if [[ $NODE != "$2"?(p+([0-9])) ]] || spec_is_array "$name"; then continue; fi
		printf '%s %s %s %s\n' "$file" "$number" "$NODE" "$source"
	done < <(dependents_md_lines_ /etc/fstab && dependents_md_lines_ /etc/crypttab)
}

# dependents_gone NAME: the names of arrays there that lead to nothing now, and are not those of an
# array that is configured, or will be as NAME: "FILE LINE SOURCE".
dependents_gone() {
	local file number source name GATE_NAME=$1
	while read -r file number source; do
		printf -v name '%b' "$source"
		[[ -e $ROOT$name || -e $ETC/${name##*/}.conf ]] || spec_is_array "$name" ||
			printf '%s %s %s\n' "$file" "$number" "$source"
	done < <(dependents_md_lines_ /etc/fstab && dependents_md_lines_ /etc/crypttab)
}

# dependents_md_lines_ FILE: its lines about a /dev/md…, "FILE LINE SOURCE".
dependents_md_lines_() {
	local first source number=0
	[[ -f $ROOT$1 && -r $ROOT$1 ]] || return 0
	while read -r first source _ || [[ -n $first ]]; do
		number=$((number + 1))
		[[ $1 == /etc/crypttab && $first != '#'* ]] || source=$first
		[[ $source != /dev/md* ]] || printf '%s %s %s\n' "$1" "$number" "$source"
	done <"$ROOT$1"
}

# dependents_units NAME UUID: prints "unit UNIT" for each that has to wait, "device UNIT" for each
# whose time-out has to be lifted, "opened UNIT" for each that a passphrase may open (a person may
# take any time, and a container that fails fails its device by itself), and "rescue UNIT" for a
# mount that a rescue image would be written to, and for what that comes after: they have to stay
# until the array has stopped; "copy UNIT" likewise of the second copy of the witness, and "writable
# PATH" where that is mounted. Where fstab and crypttab say _netdev, "network only" if they say it
# of all that is on the array, else "network mixed". "optional PATH" for each mount for which
# neither the boot waits, nor whoever looks there. "timeout TIMESPAN PATH" for each line of fstab
# that has x-systemd.device-timeout=; PATH is "swap" for swap. For disk legs in containers:
# gate/crypttab.sh.
dependents_units() {
	local GATE_NAME=$1 alias rescue=${CONF[RESCUE]} netdev=0 local=0 patient=''
	local -A ALIASES=()
	local -a devices=() mounts=() swaps=() fscks=() crypts=() opened=() saves=() optional=() \
	later=() sooner=() legs=() byhand=() copies=() copied=() timeouts=()
	[[ ${CONF[LAYOUT]} != far2 ]] || rescue=none # it has nothing in memory
	spec_simplify rescue
	spec_resolve rescue
	while IFS= read -r alias || [[ -n $alias ]]; do
		[[ -z $alias ]] || ALIASES[$alias]=1
	done < <(dependents_aliases "$1" "$2")
	# Twice, so that one container inside another is found in any order.
	dependents_crypttab_
	dependents_crypttab_
	dependents_fstab_
	crypttab
	{ dependents_print_ && crypttab_print_legs; } | sort -u
}

# The containers on the array, and their names as aliases.
dependents_crypttab_() {
	local name source options alias
	[[ -f $ROOT/etc/crypttab && -r $ROOT/etc/crypttab ]] || return 0
	while read -r name source _ options _ || [[ -n $name ]]; do
		# A name with a slash is refused by systemd, too.
		[[ -n $source && $name != '#'* && $name != */* && $name != . && $name != .. ]] ||
			continue
		spec_matches "$source" || continue
		alias=/dev/mapper/$name
		dependents_count_netdev_ "${options-}"
		crypts+=("$name") ALIASES[$alias]=1
		devices+=("$(spec_device "$source")") opened+=("$alias")
	done <"$ROOT/etc/crypttab"
}

# The root file system is there before us: its array is started by the initramfs, and an order would
# be a circle. What is no path at all ("none") is mounted by nobody.
dependents_is_mount_point() { [[ $1 == /* && $1 == *[!/.]* ]]; }

# Sorts fstab's lines into mounts, swaps, and the devices under them. Fields with blanks are written
# \040 there, as findmnt prints \x20.
dependents_fstab_() {
	local source target type options device place holders=()
	while read -r source target type options; do
		printf -v source '%b' "$source"
		printf -v target '%b' "$target"
		printf -v options '%b' "$options"
		spec_simplify source
		spec_simplify target
		spec_resolve target
		[[ $type == swap ]] || dependents_is_mount_point "$target" || continue
		rescue_mount_order
		spec_matches "$source" || {
			rescue_mount_other
			continue
		}
		dependents_count_netdev_ "$options"
		dependents_timeout_ "$options" "$target"
		device=$(spec_device "$source")
		[[ " ${opened[*]} " == *" $device "* ]] || devices+=("$device")
		if [[ $type == swap ]]; then
			swaps+=("$device")
		else
			mounts+=("$target") fscks+=("$device")
			[[ ,$options, != *,nofail,* || ,$options, == *,x-systemd.automount,* ]] ||
				optional+=("$target")
		fi
	done < <(fstab_lines)
	rescue_mount_crypttab
	for target in "${REQUIRED_BY[@]}"; do
		spec_resolve target
		rescue_mount_place "$target"
		rescue_mount_after "$place" "/dev/md/$GATE_NAME"
		! dependents_is_mount_point "$target" || mounts+=("$target")
	done
	rescue_mount_local_fs
	rescue_mount_after "ramraid@$GATE_NAME.service" "/dev/md/$GATE_NAME"
	for target in "${holders[@]}"; do rescue_mount_saves "$target"; done
	rescue_mount_copies
}

# One that is mounted before the network can be there can't wait for an array that waits for the
# network (systemd.mount(5), _netdev).
dependents_count_netdev_() { # OPTIONS
	if [[ ,$1, == *,_netdev,* ]]; then netdev=$((netdev + 1)); else local=$((local + 1)); fi
}

# How long the administrator lets the device take, which goes before the drop-in of ours.
dependents_timeout_() { # OPTIONS TARGET
	[[ ,$1 =~ .*,x-systemd\.device-timeout=([^,]*) ]] || return 0
	[[ $type != swap ]] || set -- "$1" swap
	timeouts+=("${BASH_REMATCH[1]// /} $2")
}

dependents_print_() {
	local name
	((netdev == 0)) || if ((local == 0)); then
		printf 'network only\n'
	else
		printf 'network mixed\n'
	fi
	systemd_escaped unit --path --suffix=mount -- "${mounts[@]}"
	systemd_escaped unit --path --suffix=swap -- "${swaps[@]}"
	systemd_escaped device --path --suffix=device -- "${devices[@]}"
	systemd_escaped opened --path --suffix=device -- "${opened[@]}"
	systemd_escaped unit --path --template=systemd-fsck@.service -- "${fscks[@]}"
	systemd_escaped unit --template=systemd-cryptsetup@.service -- "${crypts[@]}"
	systemd_escaped rescue --path --suffix=mount -- "${saves[@]}"
	systemd_escaped copy --path --suffix=mount -- "${copied[@]}"
	((${#optional[@]} == 0)) || printf 'optional %s\n' "${optional[@]}"
	((${#timeouts[@]} == 0)) || printf 'timeout %s\n' "${timeouts[@]}"
	((${#copied[@]} == 0)) || printf 'writable %s\n' "${copies[@]}"
	for name in "${REQUIRED_BY[@]}"; do [[ $name == /* ]] || printf 'unit %s\n' "$name"; done
	return 0
}

# dependents_lines NAME UUID: which lines of fstab and crypttab are about the array, or about what
# is on it: "FILE: SOURCE MOUNT-POINT" or "FILE: NAME SOURCE", one a line.
dependents_lines() {
	local GATE_NAME=$1 alias name source target netdev=0 local=0
	local -A ALIASES=()
	local -a crypts=() devices=() opened=()
	while IFS= read -r alias || [[ -n $alias ]]; do
		[[ -z $alias ]] || ALIASES[$alias]=1
	done < <(dependents_aliases "$1" "$2")
	dependents_crypttab_
	dependents_crypttab_
	[[ ! -r $ROOT/etc/crypttab ]] || while read -r name source _; do
		[[ $name == '#'* || " ${crypts[*]} " != *" $name "* ]] ||
			printf '/etc/crypttab: %s %s\n' "$name" "$source"
	done <"$ROOT/etc/crypttab"
	while read -r source target _; do
		printf -v source '%b' "$source"
		printf -v target '%b' "$target"
		! spec_matches "$source" || printf '/etc/fstab: %s %s\n' "$source" "$target"
	done < <(fstab_lines)
}
