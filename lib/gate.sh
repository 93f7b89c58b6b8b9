# The gate: which units wait for an array, from fstab, crypttab and MOUNT=. Used by the generator, so: quick, and never fatal.
# shellcheck shell=bash

declare -gA F # the facts: decide.sh lists the keys

# gate_aliases NAME UUID: names that refer to the array whatever lies on it, and those remembered; and those in GATE_MORE, one a line.
gate_aliases() {
	local hex=${2//-/} file=$STATE/$1.contents
	printf '/dev/md/%s\n/dev/disk/by-id/md-uuid-%s:%s:%s:%s\n' "$1" "${hex:0:8}" "${hex:8:8}" "${hex:16:8}" "${hex:24:8}"
	[[ ! -f $file || ! -r $file ]] || cat "$file"
	[[ -z ${GATE_MORE-} ]] || printf '%s\n' "$GATE_MORE"
}

# gate_decode_ VARIABLE: the \xNN in it, which udev writes in a link's name and systemd in a unit's. Any other backslash is of neither, and then none is decoded.
gate_decode_() {
	local rest=${!1//\\x[0-9a-f][0-9a-f]/}
	[[ $rest == *\\* ]] || printf -v "$1" '%b' "${!1}"
}

# gate_simplify_ VARIABLE: a path in it as systemd takes it: no slash doubled or at the end, no ".". The root is empty then.
gate_simplify_() {
	local text=${!1}
	[[ $text == /* ]] || return 0
	while [[ $text == *//* || $text == */./* ]]; do text=${text//\/\///} text=${text//\/.\///}; done
	text=${text%/.}
	printf -v "$1" '%s' "${text%/}"
}

# gate_tag_ SPEC: sets the caller's spec to an fstab or crypttab source without quotes, and tag to what contents.sh calls the same, UUID=… or
# /dev/mapper/…, if that can be said.
gate_tag_() {
	spec=${1//\"/} tag=''
	if [[ $spec =~ ^/dev/disk/by-(uuid|label|partuuid|partlabel)/(.+)$ ]]; then
		tag=${BASH_REMATCH[1]^^}=${BASH_REMATCH[2]}
		gate_decode_ tag
	elif [[ $spec == /dev/disk/by-id/dm-name-* ]]; then
		tag=/dev/mapper/${spec#/dev/disk/by-id/dm-name-}
	fi
}

# gate_is_beside_ SPEC: is it on another volume of a volume group that reaches onto the array? (contents.sh) LVM activates that with the array, and not before.
gate_is_beside_() {
	local spec tag
	gate_tag_ "$1"
	[[ -n $spec ]] && [[ -n ${ALIASES["beside $spec"]-} || -n ${ALIASES["beside $tag"]-} ]]
}

# gate_matches SPEC: does an fstab or crypttab source refer to one of ALIASES (an associative array), or to the array GATE_NAME?
gate_matches() {
	local spec tag
	gate_tag_ "$1"
	# An empty index would be an error.
	[[ -n $spec ]] || return 1
	[[ -n ${ALIASES[$spec]-} || -n ${ALIASES[${tag:--}]-} || $spec == /dev/disk/by-id/md-uuid-* && -n ${ALIASES[${spec%-part[0-9]*}]-} ]] ||
		gate_is_array "$spec"
}

# gate_is_array SPEC: is it the array's own name, also with the prefix of a foreign host, or one of its partitions? What looks like a
# partition may be another array ("data2" beside "data").
gate_is_array() {
	local tail digits='p?[0-9]+'
	[[ $1 =~ ^/dev/(md/|disk/by-id/md-name-)([^/:]*:)?([^/:]+)$ ]] || return 1
	tail=${BASH_REMATCH[3]}
	[[ ! $1 =~ ^/dev/disk/.*(-part[0-9]+)$ ]] || tail=${tail%"${BASH_REMATCH[1]}"}
	[[ $tail != "$GATE_NAME" ]] || return 0
	[[ $GATE_NAME != *[0-9] ]] || digits='p[0-9]+'
	[[ $tail == "$GATE_NAME"* && ${tail#"$GATE_NAME"} =~ ^$digits$ && ! -e $ETC/$tail.conf ]]
}

# gate_numbered NAME MD: what fstab and crypttab call the array, or one of its partitions, that leads to it now and will not when it is
# /dev/md/NAME: a number is given out anew at each boot. One a line.
gate_numbered() {
	local source NODE GATE_NAME=$1
	while IFS= read -r source; do
		printf -v source '%b' "$source"
		disk_find "$source" || continue
		if [[ $NODE != "$2"?(p+([0-9])) ]] || gate_is_array "$source"; then continue; fi
		printf '%s\n' "$source"
	done < <({
		[[ ! -r $ROOT/etc/fstab ]] || while read -r source _; do printf '%s\n' "$source"; done <"$ROOT/etc/fstab"
		[[ ! -r $ROOT/etc/crypttab ]] || while read -r _ source _; do printf '%s\n' "$source"; done <"$ROOT/etc/crypttab"
	} | grep '^/dev/md' || :)
}

# gate_encode TEXT: as udev writes labels into link names (encode_devnode_name in systemd's source): \xNN for what may be special.
gate_encode() {
	local text=${1//\"/} i char
	for ((i = 0; i < ${#text}; i++)); do
		char=${text:i:1}
		if [[ $char == [A-Za-z0-9#+.:=@_-] || ! $char == [[:ascii:]] ]]; then
			printf '%s' "$char"
		else
			printf '\\x%02x' "'$char"
		fi
	done
}

# gate_device SPEC: the path of the device unit that systemd makes of it (fstab_node_to_udev_node in systemd's source).
gate_device() {
	local key=${1%%=*} value
	value=$(gate_encode "${1#*=}")
	case $key in
	UUID | LABEL | PARTUUID | PARTLABEL) printf '/dev/disk/by-%s/%s\n' "${key,,}" "$value" ;;
	*) printf '%s\n' "$1" ;;
	esac
}

# gate_units NAME UUID: prints "unit UNIT" for each that has to wait, "device UNIT" for each whose time-out has to be lifted, "opened UNIT"
# for each that a passphrase may open (a person may take any time, and a container that fails fails its device by itself), and "rescue UNIT"
# for a mount that a rescue image would be written to, and for what that comes after: they have to stay until the array has stopped. Where fstab and crypttab say _netdev, "network only"
# if they say it of all that lies on the array, else "network mixed".
gate_units() {
	local GATE_NAME=$1 alias rescue=${CONF[RESCUE]} netdev=0 local=0
	local -A ALIASES=()
	local -a devices=() mounts=() swaps=() fscks=() crypts=() opened=() saves=() later=() sooner=()
	[[ ${CONF[LAYOUT]} != far2 ]] || rescue=none # it has nothing in memory
	gate_simplify_ rescue
	while IFS= read -r alias || [[ -n $alias ]]; do [[ -z $alias ]] || ALIASES[$alias]=1; done < <(gate_aliases "$1" "$2")
	# Twice, so that one container inside another is found in any order.
	gate_crypttab_
	gate_crypttab_
	gate_fstab_
	gate_print_ | sort -u
}

# The containers on the array, and their names as aliases.
gate_crypttab_() {
	local name source options alias
	[[ -f $ROOT/etc/crypttab && -r $ROOT/etc/crypttab ]] || return 0
	while read -r name source _ options _ || [[ -n $name ]]; do
		# A name with a slash is refused by systemd, too.
		[[ -n $source && $name != '#'* && $name != */* && $name != . && $name != .. ]] || continue
		gate_matches "$source" || continue
		alias=/dev/mapper/$name
		gate_count_netdev_ "${options-}"
		crypts+=("$name") ALIASES[$alias]=1
		devices+=("$(gate_device "$source")") opened+=("$alias")
	done <"$ROOT/etc/crypttab"
}

# The root file system is there before us: its array is started by the initramfs, and an order would be a circle. What is no path at
# all ("none") is mounted by nobody.
gate_is_mount_point() { [[ $1 == /* && $1 == *[!/.]* ]]; }

# gate_fstab_lines_: what fstab says, a line each: source, mount point, type, options, and in them \xNN for a blank or a backslash, as findmnt prints it.
# --fstab, because findmnt guesses the format otherwise: a first line that begins with two numbers would make it a mountinfo. The findmnt of util-linux 2.41
# (Debian 13) crashes over a line that it can't parse, and has then said nothing of the others (tests/unit/gate.bats); so there it is done without.
gate_fstab_lines_() {
	local file=$ROOT/etc/fstab text code=0
	[[ -f $file && -r $file ]] || return 0
	text=$(findmnt --fstab --tab-file "$file" --raw --noheadings --output SOURCE,TARGET,FSTYPE,OPTIONS) || code=$?
	if ((code > 1)); then
		log_warning "$file: findmnt has crashed over it, because of a line that is none of fstab(5); what else stands there is ordered all the same"
		gate_fstab_plain_ <"$file"
	elif [[ -n $text ]]; then
		printf '%s\n' "$text"
	fi
}

# The same of fstab on standard input, without findmnt. A line of one word is none.
gate_fstab_plain_() {
	local source target type options line
	while read -r source target type options _ || [[ -n $source ]]; do
		[[ -n $target && $source != \#* ]] || continue
		line="$source $target ${type:-auto} ${options:-defaults}"
		# fstab(5) has the four of them; any other backslash is one.
		line=${line//\\/\\x5c} line=${line//\\x5c040/\\x20} line=${line//\\x5c011/\\x09} line=${line//\\x5c012/\\x0a}
		printf '%s\n' "${line//\\x5c134/\\x5c}"
	done
}

# Sorts fstab's lines into mounts, swaps, and the devices under them. Fields with blanks are written \040 there, as findmnt prints \x20.
gate_fstab_() {
	local source target type options device place holders=()
	while read -r source target type options; do
		printf -v source '%b' "$source"
		printf -v target '%b' "$target"
		printf -v options '%b' "$options"
		gate_simplify_ source
		gate_simplify_ target
		[[ $type == swap ]] || gate_is_mount_point "$target" || continue
		gate_order_
		gate_matches "$source" || {
			gate_other_
			continue
		}
		gate_count_netdev_ "$options"
		device=$(gate_device "$source")
		[[ " ${opened[*]} " == *" $device "* ]] || devices+=("$device")
		if [[ $type == swap ]]; then
			swaps+=("$device")
		else
			mounts+=("$target") fscks+=("$device")
		fi
	done < <(gate_fstab_lines_)
	for target in "${MOUNTS[@]}"; do
		gate_place_ "$target"
		gate_after_ "$place" "/dev/md/$GATE_NAME"
		! gate_is_mount_point "$target" || mounts+=("$target")
	done
	gate_after_ "ramraid@$GATE_NAME.service" "/dev/md/$GATE_NAME"
	for target in "${holders[@]}"; do gate_saves_ "$target"; done
}

# One that is mounted before the network can be there can't wait for an array that waits for the network (systemd.mount(5), _netdev).
gate_count_netdev_() { # OPTIONS
	if [[ ,$1, == *,_netdev,* ]]; then netdev=$((netdev + 1)); else local=$((local + 1)); fi
}

gate_print_() {
	local name
	((netdev == 0)) || if ((local == 0)); then printf 'network only\n'; else printf 'network mixed\n'; fi
	systemd_escape --path --suffix=mount -- "${mounts[@]}" | sed 's/^/unit /'
	systemd_escape --path --suffix=swap -- "${swaps[@]}" | sed 's/^/unit /'
	systemd_escape --path --suffix=device -- "${devices[@]}" | sed 's/^/device /'
	systemd_escape --path --suffix=device -- "${opened[@]}" | sed 's/^/opened /'
	systemd_escape --path --template=systemd-fsck@.service -- "${fscks[@]}" | sed 's/^/unit /'
	systemd_escape --template=systemd-cryptsetup@.service -- "${crypts[@]}" | sed 's/^/unit /'
	systemd_escape --path --suffix=mount -- "${saves[@]}" | sed 's/^/rescue /'
	for name in "${MOUNTS[@]}"; do [[ $name == /* ]] || printf 'unit %s\n' "$name"; done
}

# gate_seconds: how long a device may take to appear: all our bounds together and the usual 90 s; "infinity" when one of them is.
gate_seconds() {
	local seconds=() text
	text=$(time_seconds "${CONF[WAIT_TIMEOUT]}" "${CONF[MEMBER_TIMEOUT]}") || text=$'1800\n30'
	mapfile -t seconds <<<"$text"
	if [[ "${seconds[*]}" == *infinity* ]]; then
		printf 'infinity\n'
	else
		printf '%s\n' $((seconds[0] + seconds[1] + 90))
	fi
}

readonly GATE_WRITABLE=/var/lib/ramraid # what units/sandbox.conf lets the services write anyway
# gate_write FOLDER NAME: the drop-ins for one array, below a generator's output folder. After conf_load. Returns 1 if one is missing. For gate_write_saves,
# after all of them, GATE_SAVES holds "NAME UNIT…".
GATE_SAVES=()
gate_write() {
	local folder=$1 name=$2 kind unit seconds units code=0 saves=()
	[[ ${CONF[RESCUE]} == @(none|"$GATE_WRITABLE") ]] || gate_dropin_ "$folder" "$name" "[Service]" "ReadWritePaths=-${CONF[RESCUE]}" || code=1
	gate_write_nested_ "$folder" "$name" || code=1
	units=$(gate_units "$name" "${CONF[UUID]}")
	[[ -n $units ]] || return "$code"
	seconds=$(gate_seconds)
	while read -r kind unit; do
		if [[ $kind == rescue ]]; then
			saves+=("$unit")
			continue
		elif [[ $kind == network ]]; then
			gate_write_network_ "$folder" "$name" "$unit" || code=1
			continue
		fi
		mkdir -p "$folder/$unit.d" || {
			code=1
			continue
		}
		if [[ $kind == opened ]]; then
			gate_device_text_ "$name" infinity >"$folder/$unit.d/40-ramraid-$name.conf" || code=1
		elif [[ $kind == device ]]; then
			# Sorts before fstab-generator's 50-device-timeout.conf, so that x-systemd.device-timeout= stays the user's word.
			gate_device_text_ "$name" "$seconds" >"$folder/$unit.d/40-ramraid-$name.conf" || code=1
		else
			gate_unit_text_ "$name" >"$folder/$unit.d/50-ramraid-$name.conf" || code=1
		fi
	done <<<"$units"
	((${#saves[@]} == 0)) || GATE_SAVES+=("$name ${saves[*]}")
	return "$code"
}

# gate_dropin_ FOLDER NAME SECTION LINE: one more line for the array's own unit.
gate_dropin_() {
	local file=$1/ramraid@$2.service.d/50-rescue.conf
	mkdir -p "${file%/*}"
	[[ -e $file ]] || printf '# Where the last resort of a shutdown saves the RAM leg (RESCUE in ramraid.conf(5)).\n' >"$file"
	printf '%s\n%s\n' "$3" "$4" >>"$file"
}

# gate_write_nested_ FOLDER NAME: a disk leg that is an array of ours itself is started before, and stopped after. Wants, not Requires: when it comes
# later, hot-plug starts both.
gate_write_nested_() {
	local file=$1/ramraid@$2.service.d/50-nested.conf member inner
	for member in "${MEMBERS[@]}"; do
		inner=$(gate_inner_ "$member")
		[[ -n $inner && $inner != "$2" ]] || continue
		mkdir -p "${file%/*}" || return
		[[ -e $file ]] || printf '# A disk leg that is an array itself comes first (MEMBER in ramraid.conf(5)).\n[Unit]\n' >"$file" || return
		printf 'Wants=ramraid@%s.service\nAfter=ramraid@%s.service\n' "$inner" "$inner" >>"$file" || return
	done
}

# gate_inner_ MEMBER: prints which configured array it is, by its name or its UUID; nothing when it is none.
gate_inner_() {
	local name hex
	if [[ $1 == /dev/md/* ]]; then
		[[ ! -e $ETC/${1##*/}.conf ]] || printf '%s\n' "${1##*/}"
	elif [[ $1 == /dev/disk/by-id/md-uuid-* ]]; then
		hex=${1##*/md-uuid-} hex=${hex//[-:]/}
		while IFS= read -r name; do
			! tr -d ' \t:"-' <"$ETC/$name.conf" | grep -qxF "UUID=$hex" || printf '%s\n' "$name"
		done < <(conf_names)
	fi
}

# gate_write_network_ FOLDER NAME only|mixed: the array comes after the network, and after what connects remote disks (systemd.special(7),
# remote-fs-pre.target); and goes before them. The target is wanted as well: not all who come before it do so (nbd@.service does not), and a target that
# nobody wants orders nothing.
gate_write_network_() {
	local file=$1/ramraid@$2.service.d/50-network.conf
	[[ $3 == only ]] || {
		log_warning "$2: of what lies on it, /etc/fstab and /etc/crypttab say _netdev of some and not of others: it does not wait for the network. Write it for all, or for none"
		return 0
	}
	mkdir -p "${file%/*}" &&
		printf '# All that lies on it is marked _netdev in fstab and crypttab: its disks come over the network.\n[Unit]\n%s\n%s\n' \
			'Wants=network-online.target remote-fs-pre.target' 'After=network-online.target remote-fs-pre.target' >"$file"
}

# gate_write_shutdown FOLDER: these targets force their end after 30 minutes, counted from their beginning; a shutdown that saves the only
# good copy must not be cut off before the unit's own TimeoutStopSec=.
gate_write_shutdown() {
	local target
	for target in poweroff reboot halt kexec; do
		mkdir -p "$1/$target.target.d"
		printf '# An array may have to be saved from memory first: ramraid(8), SHUTDOWN.\n[Unit]\nJobTimeoutSec=4h\n' >"$1/$target.target.d/50-ramraid.conf"
	done
}

# gate_holds_watcher: does mdadm's own watcher wait until this array's start is over? Not for one without a bound: it looks after other arrays too.
# After conf_load.
gate_holds_watcher() { [[ ${CONF[RAM]} != none && $(gate_seconds) != infinity ]]; }

# gate_write_watcher FOLDER NAME…: it mails of an array that it first sees without its RAM leg, and of a RAM leg that is taken out (check_array() in mdadm's
# mdmonitor.c). So it begins after their start, and ends before their stop; without default dependencies nothing else ends it at a shutdown.
gate_write_watcher() {
	local folder=$1/mdmonitor.service.d
	shift
	mkdir -p "$folder"
	{
		printf '# Mirrors that have no RAM leg yet, or no more, are nothing to mail of: EVENTS in ramraid.conf(5).\n'
		printf '[Unit]\nConflicts=shutdown.target\nBefore=shutdown.target\n'
		printf 'After=ramraid@%s.service\n' "$@"
	} >"$folder/50-ramraid.conf"
}

# gate_write_deactivator FOLDER NAME…: at a shutdown blk-availability.service, of lvm2, unmounts what lies on md arrays and stops them (blkdeactivate(8)): beside
# our units, and before these have seen to the RAM leg. It can't wait for them: it ends before iSCSI does, which ends before the network does, which ends
# before the local mounts, which are what our units wait for. So the RAM legs are let go before it begins, and where one is the only good copy, it does
# not begin: when one ExecStop= fails, systemd runs no further one. mdadm's watcher ends before, or it would mail of the RAM legs.
gate_write_deactivator() {
	local folder=$1 file line stops=()
	shift
	for file in "$ROOT"/{etc,run,usr/local/lib,usr/lib,lib}/systemd/system/blk-availability.service; do [[ ! -e $file ]] || break; done
	[[ -s $file ]] || return 0 # it is not there, or masked
	while IFS= read -r line; do [[ $line != ExecStop=?* ]] || stops+=("$line"); done <"$file"
	((${#stops[@]} > 0)) || return 0
	mkdir -p "$folder/blk-availability.service.d" "$folder/mdmonitor.service.d"
	{
		printf '# Of arrays with a leg in RAM, that is taken out before: SHUTDOWN in ramraid(8). The other lines are those of %s.\n' "$file"
		printf '[Service]\nExecStop=\nExecStop=ramraid yield --%s\n' "$(printf ' %s' "$@")"
		printf '%s\n' "${stops[@]}"
	} >"$folder/blk-availability.service.d/50-ramraid.conf"
	printf '# The RAM legs that it lets go are nothing to mail of.\n[Unit]\nAfter=blk-availability.service\n' >"$folder/mdmonitor.service.d/50-ramraid-lvm.conf"
}

gate_unit_text_() {
	printf '# It lies on the array %s. Requires, because without the array it can only wait in vain; whether a missing RAM leg lets\n' "$1"
	printf '# it start is decided by WAIT and ON_TIMEOUT: ramraid@%s.service fails only if it must not start.\n' "$1"
	printf '[Unit]\nRequires=ramraid@%s.service\nAfter=ramraid@%s.service\n' "$1" "$1"
}

gate_device_text_() {
	printf '# It appears when ramraid@%s.service has started the array, which may take as long as its own time-outs allow.\n' "$1"
	printf '[Unit]\nJobRunningTimeoutSec=%s\n' "$2"
}
