# The drop-ins of the gate: what the generator writes for the units that wait for an array
# (gate/dependents.sh). Quick, and never fatal.
# shellcheck shell=bash

need config/conf core/act core/log core/paths gate/crypttab gate/dependents gate/limit
need gate/rescue-dropin notes/claim

declare -gA F # the facts: decide/facts.list

readonly DROPINS_WRITABLE=/var/lib/ramraid # what units/sandbox.conf lets the services write anyway
# dropins_write FOLDER NAME: writes the drop-ins for one array below a generator's output folder.
# Called after conf_load. Returns 1 if one could not be written. Adds "NAME UNIT…" to
# RESCUE_MOUNT_SAVES and RESCUE_MOUNT_COPIES, for rescue_mount_write_saves, which comes after all
# arrays, as limit_write does.
DROPINS_WRITABLES=()
dropins_write() {
	local folder=$1 name=$2 kind unit units code=0 saves=() copies=()
	[[ ${CONF[RESCUE]} == @(none|"$DROPINS_WRITABLE") ]] ||
		rescue_dropin "$folder" "$name" "[Service]" "ReadWritePaths=-${CONF[RESCUE]}" ||
		code=1
	dropins_nested_ "$folder" "$name" || code=1
	units=$(dependents_units "$name" "${CONF[UUID]}") || code=1
	limit_array "$name"
	[[ -n $units ]] || return "$code"
	while read -r kind unit; do
		case $kind in
		rescue) saves+=("$unit") ;;
		copy) copies+=("$unit") ;;
		writable) dropins_writable_ "$unit" ;;
		network) dropins_network_ "$folder" "$name" "$unit" || code=1 ;;
		leg | byhand) crypttab_write_leg "$folder" "$name" "$kind" "$unit" || code=1 ;;&
		leg | patient) limit_leg "$name" "$kind" ;;
		device | opened | beside) limit_device "$name" "$kind" "$unit" ;;
		endless | unawaited) limit_mount "$kind" "$unit" ;;
		unit) dropins_unit_ "$folder" "$name" "$unit" || code=1 ;;
		esac
	done < <(printf '%s\n' "$units")
	((${#saves[@]} == 0)) || RESCUE_MOUNT_SAVES+=("$name ${saves[*]}")
	((${#copies[@]} == 0)) || RESCUE_MOUNT_COPIES+=("$name ${copies[*]}")
	return "$code"
}

# Notes a folder that the services may write to as well.
dropins_writable_() { # PATH
	[[ $1 == *[!A-Za-z0-9._/-]* || " ${DROPINS_WRITABLES[*]} " == *" $1 "* ]] ||
		DROPINS_WRITABLES+=("$1")
}

# dropins_unit_ FOLDER NAME UNIT: writes the drop-in of a unit that waits for the array.
dropins_unit_() {
	act_put_folder "$1/$3.d" && dropins_unit_put_ "$1/$3.d/50-ramraid-$2.conf" "$2"
}

# dropins_nested_ FOLDER NAME: a disk leg that is itself an array of ours starts before this array,
# and stops after it. Wants, not Requires: if the disk leg comes later, hot-plug starts both.
dropins_nested_() {
	local file=$1/ramraid@$2.service.d/50-nested.conf member inner
	for member in "${MEMBERS[@]}"; do
		inner=$(dropins_inner_ "$member")
		[[ -n $inner && $inner != "$2" ]] || continue
		act_put_folder "${file%/*}" || return
		[[ -e $file ]] ||
			act_put "$file" "# A disk leg that is an array itself comes first \
(MEMBER in ramraid.conf(5))." '[Unit]' || return
		act_put_more "$file" "Wants=ramraid@$inner.service" \
			"After=ramraid@$inner.service" || return
	done
}

# dropins_inner_ MEMBER: prints which configured array it is, by its name or its UUID; nothing when
# it is none.
dropins_inner_() {
	local name hex
	if [[ $1 == /dev/md/* ]]; then
		[[ ! -e $ETC/${1##*/}.conf ]] || printf '%s\n' "${1##*/}"
	elif [[ $1 == /dev/disk/by-id/md-uuid-* ]]; then
		hex=${1##*/md-uuid-} hex=${hex//[-:]/}
		while IFS= read -r name; do
			[[ -f $ETC/$name.conf ]] || continue # a FIFO would be waited for
			! tr -d ' \t:"-' <"$ETC/$name.conf" | grep -qxF "UUID=$hex" ||
				printf '%s\n' "$name"
		done < <(conf_names)
	fi
}

# dropins_network_ FOLDER NAME only|mixed: orders the array after the network, and after what
# connects remote disks (systemd.special(7), remote-fs-pre.target); so it also stops before them.
# The targets are wanted as well: not every unit that comes before one wants it (nbd@.service does
# not), and a target that nobody wants orders nothing.
dropins_network_() {
	local file=$1/ramraid@$2.service.d/50-network.conf
	[[ $3 == only ]] || {
		log_warning "$2: /etc/fstab and /etc/crypttab mark only some of what is on it as \
_netdev: it does not wait for the network. Add that option to all of these lines, or to none"
		return 0
	}
	act_put_folder "${file%/*}" &&
		act_put "$file" "# All that is on it is marked _netdev in fstab and crypttab: \
its disks come over the network." \
			'[Unit]' 'Wants=network-online.target remote-fs-pre.target' \
			'After=network-online.target remote-fs-pre.target'
}

# dropins_shutdown FOLDER: gives the targets of a shutdown more time. They would force their end 30
# minutes after they begin, but a shutdown that saves the only good copy must not be cut off before
# the unit's own TimeoutStopSec=.
dropins_shutdown() {
	local target
	for target in poweroff reboot halt kexec soft-reboot; do
		act_put_folder "$1/$target.target.d" || return
		act_put "$1/$target.target.d/50-ramraid.conf" "# An array may have to be saved \
from memory first: SHUTDOWN in ramraid-concepts(7)." '[Unit]' JobTimeoutSec=4h
	done
}

# dropins_watcher FOLDER NAME…: orders mdadm's monitor, which mails about an array that it first
# sees without its RAM leg, and about a RAM leg that is taken out (check_running() in mdadm's
# mdmonitor.c). So it begins after the start of these arrays, and ends before their stop. It has no
# default dependencies, so nothing else ends it at a shutdown.
dropins_watcher() {
	local folder=$1/mdmonitor.service.d units=()
	shift
	act_put_folder "$folder" || return
	units=("${@/#/After=ramraid@}")
	act_put "$folder/50-ramraid.conf" "# Mirrors that have no RAM leg yet, or no longer, are \
no reason for a mail: EVENTS in ramraid.conf(5)." \
		'[Unit]' Conflicts=shutdown.target Before=shutdown.target "${units[@]/%/.service}"
}

# dropins_deactivator FOLDER NAME…: at a shutdown, blk-availability.service of lvm2 unmounts what is
# on md arrays and stops them (blkdeactivate(8)), at the same time as our units, and before these
# have seen to the RAM leg. It can't wait for our units: it ends before iSCSI does, iSCSI before the
# network, and the network before the local mounts, which our units wait for. So the RAM legs are
# released before it begins. Where one is the only good copy, it does not begin: when one ExecStop=
# fails, systemd runs no further one. mdadm's monitor ends before that, or it would mail about the
# RAM legs.
dropins_deactivator() {
	local folder=$1 file line stops=() unit=blk-availability.service
	shift
	for file in "$ROOT"/{etc,run,usr/local/lib,usr/lib,lib}/systemd/system/"$unit"; do
		[[ ! -e $file ]] || break
	done
	[[ -s $file ]] || return 0 # it is not there, or masked
	while IFS= read -r line; do [[ $line != ExecStop=?* ]] || stops+=("$line"); done <"$file"
	((${#stops[@]} > 0)) || return 0
	act_put_folder "$folder/blk-availability.service.d" &&
		act_put_folder "$folder/mdmonitor.service.d" || return
	act_put "$folder/blk-availability.service.d/50-ramraid.conf" \
		"# Arrays with a leg in RAM release it before: SHUTDOWN in ramraid-concepts(7). \
The other lines are those of $file." \
		'[Service]' ExecStop= "ExecStop=ramraid yield -- $*" "${stops[@]}"
	act_put "$folder/mdmonitor.service.d/50-ramraid-lvm.conf" \
		'# The RAM legs that it releases are no reason for a mail.' '[Unit]' \
		After=blk-availability.service
}

dropins_unit_put_() { # FILE NAME
	# The system runs from the array, whatever the unit says to it. Where the configuration has
	# errors, or has lost its ROOT=yes, the claim still says so.
	if [[ ${CONF[ROOT]-no} == yes ]] || claim_is_of_root "$2"; then
		act_put "$1" "# It is on the array $2, from which the system runs. Wants, because \
the unit may fail although the array is there." \
			'[Unit]' "Wants=ramraid@$2.service" "After=ramraid@$2.service"
		return
	fi
	act_put "$1" "# It is on the array $2. Requires, \
because without the array it can only wait in vain; whether a missing RAM leg lets" \
		"# it start is decided by WAIT and ON_TIMEOUT: \
ramraid@$2.service fails only if it must not start." \
		'[Unit]' "Requires=ramraid@$2.service" "After=ramraid@$2.service"
}
