# The gate: finds which units wait for an array, from fstab, crypttab and REQUIRED_BY=. The
# generator uses this, so it is quick, and never fatal.
# shellcheck shell=bash

need config/conf core/log core/paths core/text gate/crypttab gate/fstab gate/rescue-mount gate/spec
need notes/old-name world/disk-find world/systemd

declare -gA F # the facts: decide/facts.list

# dependents_aliases NAME UUID: prints the names that refer to the array whatever is on it, those
# that are remembered, and those in DEPENDENTS_MORE, one a line.
dependents_aliases() {
	local hex=${2//-/} file=$STATE/$1.contents
	printf '/dev/md/%s\n/dev/disk/by-id/md-uuid-%s:%s:%s:%s\n' "$1" "${hex:0:8}" "${hex:8:8}" \
		"${hex:16:8}" "${hex:24:8}"
	[[ ! -f $file || ! -r $file ]] || cat "$file"
	dependents_renamed_ "$1" "$2"
	[[ -z ${DEPENDENTS_MORE-} ]] || printf '%s\n' "$DEPENDENTS_MORE"
}

# dependents_renamed_ NAME UUID: prints what is remembered under the name that the configuration had
# until it was renamed.
dependents_renamed_() {
	local other RENAMED
	old_name_list "$1" "$2"
	for other in "${RENAMED[@]}"; do
		[[ $other == =* || -e $ETC/$other.conf || ! -f $STATE/$other.contents ||
			! -r $STATE/$other.contents ]] || cat "$STATE/$other.contents"
	done
}

# dependents_numbered NAME MD: prints the names in fstab and crypttab that lead to the array MD, or
# to one of its partitions, now, but will not once the array is /dev/md/NAME: numbers are given out
# anew at each boot. "FILE LINE NODE SOURCE", one a line: NODE is what the name leads to (md127p1),
# SOURCE is the name as it is written there.
dependents_numbered() {
	local file number source name NODE GATE_NAME=$1
	while read -r file number source; do
		printf -v name '%b' "$source"
		disk_find "$name" || continue
		if [[ $NODE != "$2"?(p+([0-9])) ]] || spec_is_array "$name"; then continue; fi
		printf '%s %s %s %s\n' "$file" "$number" "$NODE" "$source"
	done < <(dependents_md_lines_ /etc/fstab && dependents_md_lines_ /etc/crypttab)
}

# dependents_gone NAME: prints the names of arrays in fstab and crypttab that lead to nothing now,
# and belong neither to a configured array nor to the one that will be NAME: "FILE LINE SOURCE", one
# a line.
dependents_gone() {
	local file number source name GATE_NAME=$1
	while read -r file number source; do
		printf -v name '%b' "$source"
		[[ -e $ROOT$name || -e $ETC/${name##*/}.conf ]] || spec_is_array "$name" ||
			printf '%s %s %s\n' "$file" "$number" "$source"
	done < <(dependents_md_lines_ /etc/fstab && dependents_md_lines_ /etc/crypttab)
}

# dependents_md_lines_ FILE: prints its lines about a /dev/md…, as "FILE LINE SOURCE".
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
# whose time-out has to be lifted, and "opened UNIT" for each that a passphrase may open (a person
# may take any time, and a container that fails fails its device by itself). "rescue UNIT" is a
# mount that a rescue image would be written to, or one that this mount comes after: they have to
# stay until the array has stopped. "copy UNIT" is the same for the second copy of the witness, and
# "writable PATH" is where that copy is mounted. "endless UNIT" is one of these mounts that may take
# any time, and "unawaited UNIT" one for which the boot does not wait then. "beside UNIT" is a
# device that LVM activates with the array. If fstab and crypttab say _netdev of all that is on the
# array, prints "network only"; if they say it of some, "network mixed". "optional PATH" is a mount
# that neither the boot waits for, nor anybody who accesses it. "timeout TIMESPAN PATH" is for each
# line of fstab that has x-systemd.device-timeout=; PATH is "swap" for swap. For disk legs in
# containers: gate/crypttab.sh.
dependents_units() {
	local GATE_NAME=$1 alias rescue=${CONF[RESCUE]} netdev=0 local=0 patient=''
	local -A ALIASES=() timeless=()
	local -a besides=() endless=() unawaited=()
	local -a devices=() mounts=() swaps=() fscks=() crypts=() opened=() saves=() optional=() \
	later=() sooner=() legs=() byhand=() copies=() copied=() timeouts=() makefs=() mkswap=()
	[[ ${CONF[LAYOUT]} != far2 ]] || rescue=none # it has nothing in memory
	spec_simplify rescue
	spec_resolve rescue
	while IFS= read -r alias || [[ -n $alias ]]; do
		[[ -z $alias ]] || ALIASES[$alias]=1
	done < <(dependents_aliases "$1" "$2")
	# Twice, to find a container inside another one in whatever order crypttab lists them.
	dependents_crypttab_
	dependents_crypttab_
	dependents_fstab_
	crypttab
	{ dependents_print_ && crypttab_print_legs; } | sort -u
}

# Adds the containers on the array, and their names as aliases.
dependents_crypttab_() {
	local name source options alias
	[[ -f $ROOT/etc/crypttab && -r $ROOT/etc/crypttab ]] || return 0
	while read -r name source _ options _ || [[ -n $name ]]; do
		# systemd refuses a name with a slash, too.
		[[ -n $source && $name != '#'* && $name != */* && $name != . && $name != .. ]] ||
			continue
		spec_matches "$source" || continue
		alias=/dev/mapper/$name
		dependents_count_netdev_ "${options-}"
		crypts+=("$name") ALIASES[$alias]=1
		devices+=("$(spec_device "$source")") opened+=("$alias")
	done <"$ROOT/etc/crypttab"
}

# The root file system is there before us: the initramfs starts its array, and an order would make a
# cycle. Nobody mounts what is no path at all ("none").
dependents_is_mount_point() { [[ $1 == /* && $1 == *[!/.]* ]]; }

# Sorts fstab's lines into mounts, swaps, and the devices under them. fstab has \040 for a blank in
# a field, and findmnt prints it as \x20.
dependents_fstab_() {
	local source target type check options device place holders=()
	while read -r source target type check options; do
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
		dependents_blank_ "$options" "$device"
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

# A mount that comes before the network can't wait for an array that waits for the network
# (systemd.mount(5), _netdev).
dependents_count_netdev_() { # OPTIONS
	if [[ ,$1, == *,_netdev,* ]]; then netdev=$((netdev + 1)); else local=$((local + 1)); fi
}

# Notes how long the administrator lets the device take, which overrides our drop-in.
dependents_timeout_() { # OPTIONS TARGET
	[[ ,$1 =~ .*,x-systemd\.device-timeout=([^,]*) ]] || return 0
	[[ $type != swap ]] || set -- "$1" swap
	timeouts+=("${BASH_REMATCH[1]// /} $2")
}

# Notes the device that systemd formats if it is blank (systemd-makefs@.service(8)).
dependents_blank_() { # OPTIONS DEVICE
	[[ ,$1, == *,x-systemd.makefs[,=]* ]] || return 0
	if [[ $type == swap ]]; then mkswap+=("$2"); else makefs+=("$2"); fi
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
	((${#besides[@]} == 0)) ||
		systemd_escaped beside --path --suffix=device -- "${besides[@]}"
	systemd_escaped opened --path --suffix=device -- "${opened[@]}"
	systemd_escaped unit --path --template=systemd-fsck@.service -- "${fscks[@]}"
	systemd_escaped unit --path --template=systemd-makefs@.service -- "${makefs[@]}"
	systemd_escaped unit --path --template=systemd-mkswap@.service -- "${mkswap[@]}"
	systemd_escaped unit --template=systemd-cryptsetup@.service -- "${crypts[@]}"
	systemd_escaped rescue --path --suffix=mount -- "${saves[@]}"
	systemd_escaped copy --path --suffix=mount -- "${copied[@]}"
	((${#endless[@]} == 0)) ||
		systemd_escaped endless --path --suffix=mount -- "${endless[@]}"
	((${#unawaited[@]} == 0)) ||
		systemd_escaped unawaited --path --suffix=mount -- "${unawaited[@]}"
	((${#optional[@]} == 0)) || printf 'optional %s\n' "${optional[@]}"
	((${#timeouts[@]} == 0)) || printf 'timeout %s\n' "${timeouts[@]}"
	((${#copied[@]} == 0)) || printf 'writable %s\n' "${copies[@]}"
	for name in "${REQUIRED_BY[@]}"; do [[ $name == /* ]] || printf 'unit %s\n' "$name"; done
	return 0
}

# dependents_lines NAME UUID: prints the lines of fstab and crypttab that are about the array, or
# about what is on it: "FILE: SOURCE MOUNT-POINT" or "FILE: NAME SOURCE", one a line.
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
