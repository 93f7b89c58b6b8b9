# Of the gate: the mount that a rescue image would be written to, and what that comes after, stay until the array has stopped; unless one of them waits for the
# array itself, or for another one that waits for this one. Called by gate.sh, whose variables it takes.
# shellcheck shell=bash disable=SC2154 # variables of gate.sh

# gate_other_: a line of fstab, the caller's, that is not on the array. Would a rescue image be written there? Not to another machine.
gate_other_() {
	! gate_is_beside_ "$source" || devices+=("$(gate_device "$source")")
	[[ $type == swap || $rescue/ != "$target"/* ]] || gate_is_remote_ "$type" "$options" || holders+=("$target")
}

# gate_is_remote_ TYPE OPTIONS: does systemd take it for a mount over the network (fstype_is_network() in its source)? So do we 9p.
gate_is_remote_() {
	[[ ,$2, == *,_netdev,* ]] ||
		[[ ${1#fuse.} == @(9p|afs|ceph|cifs|davfs|gfs|gfs2|glusterfs|lustre|ncp|ncpfs|nfs|nfs4|ocfs2|orangefs|pvfs2|smb3|smbfs|sshfs) ]]
}

# What is to be known of the order of units: later[i] comes after sooner[i], and so does what is mounted below it. Both are paths, also for mount and
# device units, or names of other units, or sources as fstab has them. The root file system is there before us, whatever it comes after.
gate_after_() { [[ -z $1 ]] || later+=("$1") sooner+=("$2"); } # LATER SOONER

# gate_place_ NAME: sets the caller's place to the path that a mount or device unit stands for, or that NAME is; to NAME if it is another unit.
gate_place_() {
	place=$1
	if [[ $1 == [!/]*.@(mount|device) ]]; then
		place=${1%.*} place=/${place//-//}
		gate_decode_ place
	fi
	gate_simplify_ place
}

readonly GATE_ORDER='^(.*,)?x-systemd\.(before|after|(requires|wants)(-mounts-for)?)=([^,]+)(,.*)?$'
# gate_order_: what a line of fstab, the caller's, comes after (systemd.mount(5)): its source, even if that is a file or a folder; what its options name;
# and if it comes over the network, the array, because the network waits for the local mounts, which wait for the array. A tmpfs is unmounted
# before swap is switched off.
gate_order_() {
	local unit=$target options=$options place
	[[ $type != swap ]] || unit=swap.target
	[[ $type != tmpfs ]] || gate_after_ "$unit" swap.target
	if gate_is_remote_ "$type" "$options"; then gate_after_ "$unit" "/dev/md/$GATE_NAME"; else gate_after_ "$unit" "$source"; fi
	while [[ $options =~ $GATE_ORDER ]]; do
		options=${BASH_REMATCH[1]}
		gate_place_ "${BASH_REMATCH[5]}"
		if [[ ${BASH_REMATCH[2]} == before ]]; then gate_after_ "$place" "$unit"; else gate_after_ "$unit" "$place"; fi
	done
}

# gate_saves_ MOUNT: a rescue image would be written there: it has to stay until the array has stopped, and so have the mounts that it comes after. Not if
# one of these comes after the array: then it is unmounted before the array can be stopped.
gate_saves_() {
	local ahead=("$1") left=("${later[@]}") found=() i n
	for ((n = 0; n < ${#ahead[@]}; n++)); do
		if gate_matches "${ahead[n]}" || gate_is_beside_ "${ahead[n]}"; then
			gate_warn_rescue_ "$GATE_NAME" "$1"
			return
		fi
		for i in "${!left[@]}"; do
			[[ ${ahead[n]}/ == "${left[i]}"/* ]] || continue
			ahead+=("${sooner[i]}")
			[[ ${left[i]} != /* ]] || found+=("${left[i]}")
			# Each once, for a circle in fstab not to be an endless loop.
			unset "left[i]"
		done
	done
	saves+=("${found[@]}")
}

gate_warn_rescue_() { # NAME MOUNT
	log_warning "$1: $2, where RESCUE lies, waits for $1 itself: at a shutdown it is unmounted first, and the RAM leg can't be saved there"
}

# gate_write_saves FOLDER: what GATE_SAVES has. Last of all: only then it can be seen who waits for whom. Returns 1 if one is missing.
gate_write_saves() {
	local line words code=0
	for line in "${GATE_SAVES[@]}"; do
		read -ra words <<<"$line"
		gate_write_saves_ "$1" "${words[@]}" || code=1
	done
	return "$code"
}

# gate_write_saves_ FOLDER NAME UNIT…: the array is stopped before these mounts, unless one of them waits for the array itself, by way of others of ours.
gate_write_saves_() {
	local unit
	for unit in "${@:3}"; do
		! gate_leads_to_ "$1" "$unit" "$2" || {
			gate_warn_rescue_ "$2" "$unit"
			return 0
		}
	done
	for unit in "${@:3}"; do gate_dropin_ "$1" "$2" "[Unit]" "After=$unit" || return; done
}

# gate_leads_to_ FOLDER UNIT NAME: does a mount wait for the array NAME, by what has been written until now?
gate_leads_to_() {
	local file
	for file in "$1/$2.d"/50-ramraid-*.conf; do
		[[ -e $file ]] || continue
		file=${file##*/50-ramraid-}
		! gate_array_leads_to_ "$1" "${file%.conf}" "$3" || return 0
	done
	return 1
}

# gate_array_leads_to_ FOLDER ARRAY NAME: the same of an array, by way of where it is saved, or of a disk leg that is an array. In a circle of those, which only
# a person can have written, nobody is asked twice.
gate_array_leads_to_() {
	local unit seen="${GATE_SEEN-} $2 "
	[[ $2 != "$3" ]] || return 0
	[[ "${GATE_SEEN-}" != *" $2 "* ]] || return 1
	local GATE_SEEN=$seen
	while IFS= read -r unit; do
		case $unit in
		ramraid@*.service)
			unit=${unit#ramraid@}
			! gate_array_leads_to_ "$1" "${unit%.service}" "$3" || return 0
			;;
		*) ! gate_leads_to_ "$1" "$unit" "$3" || return 0 ;;
		esac
	done < <(cat "$1/ramraid@$2.service.d"/50-{rescue,nested}.conf 2>/dev/null | sed -n 's/^After=//p')
	return 1
}
