# Part of the gate: keeps the mount that a rescue image would be written to, and what that mount
# comes after, until the array has stopped. Not if one of them waits for the array itself, or for
# another array that waits for this one. Called by gate/dependents.sh, whose variables this uses.
# shellcheck shell=bash disable=SC2154 # variables of gate/dependents.sh

need config/conf core/act core/log core/paths core/text gate/rescue-dropin gate/spec

# rescue_mount_other: for the caller's line of fstab, which is not on the array: adds the mount to
# holders if a rescue image would be written there, and to copies if the second copy of the witness
# may be there. A rescue image is never written to another machine.
rescue_mount_other() {
	! spec_is_beside "$source" || besides+=("$(spec_device "$source")")
	if [[ $type != swap && $rescue/ == "$target"/* ]] &&
		! rescue_mount_is_remote_ "$type" "$options"; then
		if rescue_mount_has_no_end_ "$options"; then
			rescue_mount_warn_no_end_ "$target"
		else
			holders+=("$target")
			[[ ,$options, != *,x-systemd.automount,* ]] ||
				rescue_mount_warn_access_ "$target"
		fi
	fi
	! rescue_mount_is_copy_place_ || copies+=("$target")
}

# rescue_mount_has_no_end_ OPTIONS: does systemd wait for its device without end? Then nothing may
# wait for the mount.
rescue_mount_has_no_end_() { [[ ,$1, == *,x-systemd.device-timeout=@(0|infinity),* ]]; }

rescue_mount_warn_no_end_() { # MOUNT
	[[ -n ${RESCUE_MOUNT_QUIET-} ]] ||
		log_warning "$GATE_NAME: $1, which RESCUE is on, has no time limit \
(x-systemd.device-timeout in fstab), so the array does not wait for it: a shutdown may unmount it \
first, and the RAM leg can't be saved there"
}

# A shutdown ends what mounts at an access, before it stops the array.
rescue_mount_warn_access_() { # MOUNT
	[[ -n ${RESCUE_MOUNT_QUIET-} ]] ||
		log_warning "$GATE_NAME: $1, which RESCUE is on, is mounted only when something \
uses it (x-systemd.automount in fstab). While it is not, a shutdown can't save the RAM leg there"
}

# rescue_mount_is_copy_place_: may the second copy of the witness be on the caller's line of fstab?
# Then that is mounted before the start, which has to read the copy. Not a mount that no boot makes,
# or that only an access makes, and not one whose device is waited for without end.
rescue_mount_is_copy_place_() {
	local want=${CONF[WITNESS_COPY]-auto}
	[[ ,$options, != *,noauto,* && ,$options, != *,x-systemd.automount,* ]] &&
		! rescue_mount_has_no_end_ "$options" || return 1
	spec_resolve want
	[[ $type != swap && $target != / ]] && ! rescue_mount_is_remote_ "$type" "$options" ||
		return 1
	if [[ $want == auto ]]; then
		[[ $target == @(/boot|/efi|/boot/efi) ]]
	else
		[[ $want != none && $want/ == "$target"/* ]]
	fi
}

# rescue_mount_copies: sets copied to the mounts that may hold the copy, and to what they come
# after. A mount is left out, with what it comes after, if one of these waits for the array. The
# order is all: the start does not depend on these mounts, and does not wait for one that this boot
# does not mount.
rescue_mount_copies() {
	local target saves=() RESCUE_MOUNT_QUIET=yes
	for target in "${copies[@]}"; do rescue_mount_saves "$target"; done
	copied=("${saves[@]}")
}

# rescue_mount_is_remote_ TYPE OPTIONS: does systemd treat this as a mount over the network
# (fstype_is_network() in its source)? We treat 9p as one, too.
rescue_mount_is_remote_() {
	[[ ,$2, == *,_netdev,* ||
		${1#fuse.} == @(9p|afs|ceph|cifs|davfs|gfs|gfs2|glusterfs|lustre|ncp|ncpfs) ||
		${1#fuse.} == @(nfs|nfs4|ocfs2|orangefs|pvfs2|smb3|smbfs|sshfs) ]]
}

# Notes the order of units: later[i] comes after sooner[i], and so does what is mounted below
# later[i]. Both are paths, also for mount and device units, or names of other units, or sources as
# fstab has them. The root file system is there before us, whatever it comes after.
rescue_mount_after() { # LATER SOONER
	local spec tag
	[[ -n $1 ]] || return 0
	later+=("$1") sooner+=("$2")
	# Another name of a container or a volume, which crypttab may say more about.
	spec_tag "$2"
	[[ $tag != /dev/mapper/* ]] || later+=("$1") sooner+=("$tag")
}

# rescue_mount_place NAME: sets the caller's place to the path that a mount or device unit stands
# for, or that NAME is; to NAME if it is another unit.
rescue_mount_place() {
	place=$1
	if [[ $1 == [!/]*.@(mount|device) ]]; then
		place=${1%.*} place=/${place//-//}
		spec_decode place
	fi
	spec_simplify place
}

# Units that are there before the local file systems. Any other service, target or socket comes
# after them: it has the order of sysinit.target, unless it sets DefaultDependencies= itself
# (systemd.service(5)).
RESCUE_MOUNT_EARLY='(local-fs-pre|((crypt|verity|integrity)setup)(-pre)?|swap)\.target'
RESCUE_MOUNT_EARLY+='|(systemd-|modprobe@|kmod-|lvm2-|dm-event|multipathd|zfs-|stratis|ramraid@).*'
readonly RESCUE_MOUNT_EARLY

# rescue_mount_comes_late_ UNIT: does a mount that comes after UNIT, and that local-fs.target does
# not wait for, come after the local file systems?
rescue_mount_comes_late_() {
	[[ $1 == *.@(service|target|socket) && ! $1 =~ ^($RESCUE_MOUNT_EARLY)$ &&
		,$options, == *,@(nofail|noauto),* ]]
}

# rescue_mount_local_fs: notes that the local file systems, and what comes after them, come after
# the array, unless nobody waits for what is on it.
rescue_mount_local_fs() {
	((${#mounts[@]} == ${#optional[@]} && ${#swaps[@]} + ${#crypts[@]} == 0)) ||
		rescue_mount_after local-fs.target "/dev/md/$GATE_NAME"
}

# rescue_mount_crypttab: notes that a container comes after its disk, its key and its header.
rescue_mount_crypttab() {
	local name source key options path paths=()
	[[ -f $ROOT/etc/crypttab && -r $ROOT/etc/crypttab ]] || return 0
	while read -r name source key options _ || [[ -n $name ]]; do
		[[ -n $source && $name != '#'* && $name != */* ]] || continue
		rescue_mount_crypt_paths
		for path in "${paths[@]}"; do
			rescue_mount_after "/dev/mapper/$name" "$path"
			rescue_mount_after "systemd-cryptsetup@$name.service" "$path"
		done
		# For this one, systemd lifts the time-out (create_disk() in its
		# cryptsetup-generator.c).
		spec_option noauto auto || spec_option nofail fail ||
			timeless["at /dev/mapper/$name"]=boot
	done <"$ROOT/etc/crypttab"
}

# rescue_mount_crypt_paths: sets paths to what opens the container of a line of crypttab, by the
# caller's source, key and options: its disk, its key and its header. "none" and "-" stand for no
# key.
rescue_mount_crypt_paths() {
	local path
	paths=()
	for path in "$source" "${key%%:*}" "${key#*:}"; do
		[[ -z $path || $path == @(none|-) ]] || paths+=("$path")
	done
	[[ ! ,$options, =~ ,header=([^,]+), ]] ||
		paths+=("${BASH_REMATCH[1]%%:*}" "${BASH_REMATCH[1]#*:}")
}

readonly RESCUE_MOUNT_ORDER='^(.*,)?x-systemd\.(before|after|(requires|wants)(-mounts-for)?)=([^,]+)(,.*)?$'
# rescue_mount_order: notes what the caller's line of fstab comes after (systemd.mount(5)): its
# source, even if that is a file or a folder, and what its options name. If it comes over the
# network, it comes after the array instead of its source, because the network waits for the local
# mounts, which wait for the array. A tmpfs is unmounted before swap is switched off.
rescue_mount_order() {
	local unit=$target rest=$options place
	[[ $type != swap ]] || unit=swap.target
	rescue_mount_check_
	[[ $type != tmpfs ]] || rescue_mount_after "$unit" swap.target
	if rescue_mount_is_remote_ "$type" "$options"; then
		rescue_mount_after "$unit" "/dev/md/$GATE_NAME"
	else
		rescue_mount_after "$unit" "$source"
	fi
	while [[ $rest =~ $RESCUE_MOUNT_ORDER ]]; do
		rest=${BASH_REMATCH[1]}
		rescue_mount_place "${BASH_REMATCH[5]}"
		if [[ ${BASH_REMATCH[2]} == before ]]; then
			rescue_mount_after "$place" "$unit"
		else
			rescue_mount_after "$unit" "$place"
			! rescue_mount_comes_late_ "$place" ||
				rescue_mount_after "$unit" local-fs.target
		fi
	done
}

# rescue_mount_saves MOUNT: a rescue image would be written to MOUNT, so it and the mounts that it
# comes after have to stay until the array has stopped: adds them to the caller's saves. Warns
# instead if one of them comes after the array: then it is unmounted before the array can be
# stopped.
rescue_mount_saves() {
	local found=() waits=''
	if rescue_mount_comes_after "$1"; then
		rescue_mount_warn_rescue_ "$GATE_NAME" "$1"
	else
		saves+=("${found[@]}")
		[[ -z $waits ]] || endless+=("$1")
		[[ $waits != *nobody* ]] || unawaited+=("$1")
	fi
}

# rescue_mount_check_: notes that the mount of the caller's line of fstab may take any time, because
# its file system is checked before (TimeoutSec= of systemd-fsck@.service), and whether the boot
# waits then. The file systems of a boot loader are too small to take long.
rescue_mount_check_() {
	[[ $check == [1-9]* && $target != @(/boot|/efi|/boot/efi) &&
		,$options, != *,x-systemd.automount,* ]] && ! spec_option noauto auto || return 0
	timeless["at $target"]=boot
	! spec_option nofail fail || timeless["at $target"]=nobody
}

# rescue_mount_comes_after PATH…: does one of these, or of what they come after, come after the
# array? If not, the caller's found has all mount points among them, and its waits says who waits
# if one of these, or a container, takes any time: "boot", or "nobody".
rescue_mount_comes_after() {
	local ahead=("$@") left=("${later[@]}") i n
	for ((n = 0; n < ${#ahead[@]}; n++)); do
		! spec_matches "${ahead[n]}" && ! spec_is_beside "${ahead[n]}" ||
			return 0
		for i in "${!left[@]}"; do
			[[ ${ahead[n]}/ == "${left[i]}"/* ]] || continue
			ahead+=("${sooner[i]}")
			waits+=${timeless["at ${left[i]}"]-}
			[[ ${left[i]} != /* || ${left[i]} == /dev/* ]] || found+=("${left[i]}")
			# Each counts once, so that a cycle in fstab is no endless loop.
			unset "left[i]"
		done
	done
	return 1
}

rescue_mount_warn_rescue_() { # NAME MOUNT
	[[ -z ${RESCUE_MOUNT_QUIET-} ]] || return 0
	log_warning "$1: $2, which RESCUE is on, waits for $1 itself: a shutdown unmounts it \
first, and the RAM leg can't be saved there"
}

# rescue_mount_write_saves FOLDER: writes what dropins_write has left to it in these, "NAME UNIT…"
# for each array. Called last of all, because only then can it see which array waits for which.
# Returns 1 if a drop-in could not be written.
RESCUE_MOUNT_SAVES=() RESCUE_MOUNT_COPIES=()
rescue_mount_write_saves() {
	local line words code=0
	for line in "${RESCUE_MOUNT_SAVES[@]}"; do
		text_split words "$line"
		rescue_mount_write_saves_ "$1" "${words[@]}" || code=1
	done
	for line in "${RESCUE_MOUNT_COPIES[@]}"; do
		text_split words "$line"
		rescue_mount_write_copies_ "$1" "${words[@]}" || code=1
	done
	return "$code"
}

# rescue_mount_write_saves_ FOLDER NAME UNIT…: orders the array to stop before these mounts, unless
# one of them waits for the array itself, by way of other arrays of ours.
rescue_mount_write_saves_() {
	local unit
	for unit in "${@:3}"; do
		! rescue_mount_leads_to_ "$1" "$unit" "$2" || {
			rescue_mount_warn_rescue_ "$2" "$unit"
			return 0
		}
	done
	for unit in "${@:3}"; do rescue_dropin "$1" "$2" "[Unit]" "After=$unit" || return; done
}

# rescue_mount_write_copies_ FOLDER NAME UNIT…: orders the array to start after these mounts, and to
# stop before them, unless one of them waits for it by way of another array.
rescue_mount_write_copies_() {
	local unit file=$1/ramraid@$2.service.d/50-witness.conf folder=$1 name=$2
	shift 2
	for unit; do ! rescue_mount_leads_to_ "$folder" "$unit" "$name" || return 0; done
	act_put_folder "${file%/*}" && act_put "$file" "# The second copy of the record of the \
last run may be there (WITNESS_COPY in ramraid.conf(5))." '[Unit]' "${@/#/After=}"
}

# rescue_mount_write_writable FOLDER PATH…: lets the services that write the record write its second
# copy.
rescue_mount_write_writable() {
	local unit folder=$1 paths=()
	shift
	paths=("${@/#/-}")
	for unit in ramraid@ ramraid-monitor@ ramraid-mend@ ramraid-memory@ ramraid-hotplug; do
		act_put_folder "$folder/$unit.service.d" &&
			act_put "$folder/$unit.service.d/50-ramraid-witness.conf" \
				"# The second copy of the record of the last run \
(WITNESS_COPY in ramraid.conf(5))." '[Service]' "ReadWritePaths=${paths[*]}" || return
	done
}

# rescue_mount_leads_to_ FOLDER UNIT NAME: does a mount or a container wait for the array NAME, by
# what has been written so far?
rescue_mount_leads_to_() {
	local file
	for file in "$1/$2.d"/50-ramraid-*.conf; do
		[[ -e $file ]] || continue
		file=${file##*/50-ramraid-}
		! rescue_mount_array_leads_to_ "$1" "${file%.conf}" "$3" || return 0
	done
	[[ $2 == systemd-cryptsetup@*.service ]] || return 1
	rescue_mount_crypt_leads_to_ "$@"
}

# rescue_mount_crypt_leads_to_ FOLDER UNIT NAME: the same for a container, whose key may be on a
# mount of another array.
rescue_mount_crypt_leads_to_() {
	local wanted=${2#systemd-cryptsetup@} name source key options path place folder paths=()
	wanted=${wanted%.service}
	spec_decode wanted
	[[ -f $ROOT/etc/crypttab && -r $ROOT/etc/crypttab ]] || return 1
	while read -r name source key options _ || [[ -n $name ]]; do
		[[ $name == "$wanted" ]] || continue
		rescue_mount_crypt_paths
		for folder in "$1"/*.mount.d; do
			[[ -e $folder ]] || continue
			folder=${folder##*/}
			rescue_mount_place "${folder%.d}"
			for path in "${paths[@]}"; do
				[[ $path/ != "$place"/* ]] ||
					! rescue_mount_leads_to_ "$1" "${folder%.d}" "$3" ||
					return 0
			done
		done
	done <"$ROOT/etc/crypttab"
	return 1
}

# rescue_mount_array_leads_to_ FOLDER ARRAY NAME: the same for an array, by way of the mounts of its
# rescue image and of the second copy of its record, of a disk leg that is an array, or of a
# container that a disk leg is in. Only a person can have written a cycle of these; in one, no array
# is asked twice.
rescue_mount_array_leads_to_() {
	local unit seen="${RESCUE_MOUNT_SEEN-} $2 "
	[[ $2 != "$3" ]] || return 0
	[[ "${RESCUE_MOUNT_SEEN-}" != *" $2 "* ]] || return 1
	local RESCUE_MOUNT_SEEN=$seen
	while IFS= read -r unit; do
		case $unit in
		ramraid@*.service)
			unit=${unit#ramraid@}
			! rescue_mount_array_leads_to_ "$1" "${unit%.service}" "$3" || return 0
			;;
		*) ! rescue_mount_leads_to_ "$1" "$unit" "$3" || return 0 ;;
		esac
	done < <(cat "$1/ramraid@$2.service.d"/50-{rescue,nested,crypt,witness}.conf 2>/dev/null |
		sed -n 's/^After=//p')
	return 1
}
