# Searches all disks of the machine for superblocks of one array: to say where its legs are, and
# never to start from them. This reads every disk of the machine, so it happens only once before a
# start, or when a start was refused.
# shellcheck shell=bash

need core/log core/paths core/text decide/action decide/below notes/disks-read notes/hardware
need notes/watched observe/facts observe/members observe/outside observe/rescue-place world/disk
need world/ramdisk-note world/stable-name world/superblock

declare -gA F # the facts: decide/facts.list

# devices that are read side by side; each that does not answer takes BOUNDED seconds
readonly ALL_DISKS_AT_ONCE=32

# all_disks_of_array UUID: prints "NODE DEVICE_UUID EVENTS" for each block device that carries a
# superblock of this array, sorted by NODE. These include the RAM leg, and devices below another
# one, such as a path of a multipath map.
all_disks_of_array() {
	local node uuid device events
	while read -r node uuid device events; do
		[[ $uuid != "$1" ]] || printf '%s %s %s\n' "$node" "$device" "$events"
	done < <(all_disks_each_)
}

# all_disks_each_ [SKIP]: prints "NODE UUID DEVICE_UUID EVENTS" for each block device, or "NODE - -
# -" where there is no superblock, sorted by NODE. It leaves out a device for which "SKIP NODE"
# succeeds, does not read a known one again (disks_read_begin), and prints no line for one that
# can't be read. The last line is ALL_DISKS_END; without it the search has failed, and there may be
# more.
readonly ALL_DISKS_END='. - - -'
all_disks_each_() {
	local -
	set -o pipefail
	all_disks_unsorted_ "$@" | sort && printf '%s\n' "$ALL_DISKS_END"
}

all_disks_unsorted_() { # [SKIP]
	local entry node sectors running=0 failed='' pids=() KNOWN
	for entry in "$SYS"/class/block/*; do
		node=${entry##*/}
		# Floppies and optical drives take long to say that they are empty, and can't be
		# legs.
		sectors=0
		[[ $node == @(fd|sr)[0-9]* ]] || {
			read -r sectors <"$entry/size"
		} 2>/dev/null || :
		[[ $sectors != 0 ]] || continue
		! ${1-false} "$node" || continue
		! disks_read_known "$node" || {
			printf '%s %s\n' "$node" "$KNOWN"
			continue
		}
		# The code of "wait -n" does not matter (127: all have ended). The loop below checks
		# each.
		((running++ < ALL_DISKS_AT_ONCE)) || wait -n || :
		all_disks_device_ "$node" &
		pids+=("$!")
	done
	for node in "${pids[@]}"; do wait "$node" || failed=yes; done
	[[ -z $failed ]]
}

# all_disks_device_ NODE: prints its line, in one write to the pipe.
all_disks_device_() {
	local line state='' uuid=- device=- events=-
	while IFS= read -r line; do
		case $line in
		sb=*) state=${line#*=} ;;
		unseen=*) state='' ;;
		uuid=*) uuid=${line#*=} ;;
		device_uuid=*) device=${line#*=} ;;
		events=*) events=${line#*=} ;;
		esac
	done < <(superblock_facts "$DEV/${1//!//}")
	# In any other state nothing is known of the device. Disks may give an array a kernel name
	# with blanks in it (mdadm.conf(5), CREATE names=yes).
	[[ $state != @(ok|none|corrupt) ]] ||
		printf '%s %s %s %s\n' "${1//[[:space:][:cntrl:]]/?}" "$uuid" "$device" "$events"
	[[ -n $state ]]
}

# all_disks_clones: sets the fact clones to "NODE:DEVICE_UUID:EVENTS" for each device that carries a
# superblock of the array and is no MEMBER, separated by blanks; and clones.loop to the same for
# loop devices, if no leg of the array ever was one. Ramdisks are left out, and so is a device with
# something stacked on it, because that has the superblock as well. A search that fails is tried
# once more.
all_disks_clones() {
	all_disks_clones_
	[[ ${F[clones_known]} == yes ]] || all_disks_clones_
	[[ ${F[clones_known]} == yes ]] || log_warning "${F[name]}: examining all disks of the \
machine has failed twice; is memory short, or are there too many processes?"
}

all_disks_clones_() {
	local i known=" ${F[ram.node]} " node uuid device events key
	F[clones]='' F[clones.loop]='' F[clones_known]=no
	for ((i = 0; i < F[members]; i++)); do known+="${F[leg.$i.node]:-none} "; done
	disks_read_begin "${F[waited]:-0}"
	while read -r node uuid device events; do
		[[ "$node $uuid $device $events" != "$ALL_DISKS_END" ]] || {
			F[clones_known]=yes
			break
		}
		disks_read_note "$node" "$uuid $device $events"
		[[ $uuid == "${F[uuid]}" ]] || continue
		key=clones
		! hardware_is_made_up "$node" || key=clones.loop
		F[$key]+="${F[$key]:+ }$node:$device:$events"
	done < <(all_disks_each_ all_disks_is_no_clone_)
	disks_read_end
}

# all_disks_is_no_clone_ NODE: does all_disks_clones leave it out, whatever it carries? This is
# checked before the device is read, because with many arrays most disks of the machine are in use
# by others.
all_disks_is_no_clone_() {
	[[ $known == *" $1 "* || -n $(disk_holders "$1") ]] || ramdisk_note_is_node "$1" ||
		all_disks_is_path_ "$1"
}

# all_disks_is_path_ NODE: is it another path to a disk that is a MEMBER? Its world-wide name says
# so, which is trusted only where a disk can have several paths.
all_disks_is_path_() {
	local i WWID WAY wwid way
	all_disks_wwid_ "$1"
	wwid=$WWID
	[[ -n $wwid ]] || return 1
	all_disks_way_ "$1"
	way=$WAY
	[[ -n $way ]] || return 1
	for ((i = 0; i < F[members]; i++)); do
		all_disks_wwid_ "${F[leg.$i.node]:-none}"
		[[ $wwid == "$WWID" ]] || continue
		all_disks_way_ "${F[leg.$i.node]}"
		[[ $way != "$WAY" ]] || return 0
	done
	return 1
}

# all_disks_wwid_ NODE: sets WWID to its world-wide name; to empty if it has none.
all_disks_wwid_() {
	WWID=''
	{
		read -r WWID <"$SYS/class/block/$1/device/wwid" ||
			read -r WWID <"$SYS/class/block/$1/wwid"
	} 2>/dev/null || :
}

# all_disks_way_ NODE: sets WAY to what two paths to one disk have in common besides its world-wide
# name: "sas"; "fc"; the iSCSI target and the unit in it, but not the portal, because each target
# makes up its own world-wide names; or the NVMe subsystem. It is empty where a second disk of that
# name must be a copy, whatever it says: a SATA disk has one cable, and nothing is trusted on a bus
# that anybody can plug something into.
all_disks_way_() {
	local HARDWARE
	WAY=''
	hardware_of "$1"
	case ${HARDWARE%% *}:$1 in
	other:sd*) WAY='sas' ;;
	network:sd*) WAY='fc' ;;
	iscsi:sd*)
		[[ $HARDWARE != *-iscsi-* ]] || WAY=${HARDWARE#*-iscsi-} WAY=${WAY% *}
		;;
	nvme:nvme* | network:nvme*) all_disks_subsystem_ "$1" ;;
	esac
}

# all_disks_subsystem_ NODE: sets WAY to the NVMe subsystem of the controller that has the disk.
all_disks_subsystem_() {
	local controller place
	place=$(readlink -f "$SYS/class/block/$1") || return 0
	controller=${place%/*} controller=${controller##*/}
	for place in "$SYS/class/nvme-subsystem"/*/"$controller"; do
		[[ ! -e $place ]] || WAY=${place%/*} WAY=${WAY##*/}
	done
}

# all_disks_running: for an array that something else has started, before anything is done to it.
# Sets array.copy to "MEMBER DEVICE" when a device outside the array carries the device UUID of a
# member in sync. One of the two is then a copy, whether or not it has the name of a leg.
all_disks_running() {
	local i node clone uuid NODES outside run=${F[array.judged]:-yes}
	[[ ${F[array.copy_known]} != "$run" ]] || return 0
	F[array.copy]='' F[array.copy_known]=$run
	! watched_is "${F[array.md]}" || return 0
	all_disks_clones
	[[ ${F[clones_known]} == yes ]] || F[array.copy_known]=''
	outside=${F[clones]}
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.in]} || ${F[leg.$i.sb]} != ok ||
			${F[leg.$i.uuid]} != "${F[uuid]}" ]] ||
			outside+=" ${F[leg.$i.node]}:${F[leg.$i.device_uuid]}:"
	done
	[[ -n $outside ]] || return 0
	members_in_sync
	for node in "${NODES[@]}"; do
		uuid=$(superblock_facts_patiently "$node") uuid=${uuid#*device_uuid=} \
		uuid=${uuid%%$'\n'*}
		for clone in $outside; do
			[[ $clone != *":$uuid:"* ]] || F[array.copy]="$node ${clone%%:*}"
		done
	done
}

# all_disks_decide [eventually]: calls action_choose. Before an array that does not run is started
# or refused, it searches all devices and calls action_choose again. Logs what people have to know
# about those devices, once.
all_disks_decide() {
	local i node name BELOW
	[[ ${F[array.state]} != active ]] || all_disks_running
	[[ ${F[array.state]} != broken ]] || rescue_place_look
	action_choose "$@"
	[[ ${F[array.state]} != active && $ACTION == @(assemble|refuse) &&
		-z ${F[clones_known]}${F[forced]} ]] || return 0
	all_disks_clones
	STRANGERS='' STRANGERS_MADE=''
	action_choose "$@"
	for node in $STRANGERS; do
		# The administrator may type this later, when /dev/sdX may be another disk.
		name=$(stable_name_of "/dev/$node") || name=/dev/$node
		name="If nothing on it is needed: mdadm --zero-superblock $name"
		[[ $ACTION != refuse ]] || name='Keep it until the array runs'
		below_or it "$name"
		log_warning "${F[name]}: /dev/$node carries the array's UUID, \
is older than its legs, and is no MEMBER: it is left alone. $BELOW"
	done
	for node in $STRANGERS_MADE; do
		log_warning "${F[name]}: /dev/$node carries the array's UUID, and is a loop \
device, which no leg of it ever was: it is left alone. See what it is for (losetup --list \
/dev/$node), and remove it: losetup --detach /dev/$node"
	done
	for ((i = 0; i < F[members]; i++)); do
		[[ -z ${F[leg.$i.moved]-} ]] ||
			log_warning "${F[name]}: disk leg ${F[leg.$i.dev]}: ${F[leg.$i.moved]}"
	done
}

# all_disks_tell_moved: if disk legs are missing, logs which devices carry a superblock of the array
# and are no MEMBER, and which line to write for each.
all_disks_tell_moved() {
	local i missing=() found=() line node uuid events name text BELOW
	for ((i = 0; i < F[members]; i++)); do
		[[ -n ${F[leg.$i.node]} ]] || missing+=("${F[leg.$i.dev]}")
	done
	((${#missing[@]} > 0)) || return 0
	[[ -n ${F[clones_known]} ]] || all_disks_clones
	for line in ${F[clones]}; do found+=("${line//:/ }"); done
	((${#found[@]} > 0)) || return 0
	for line in "${found[@]}"; do
		text_into "$line" node uuid events
		text="/dev/$node carries a leg of it (events $events, \
device UUID $uuid) and is no MEMBER"
		if below_absent it; then
			text+=". $BELOW"
		elif [[ "${found[*]/"$line"/}" == *" $uuid "* ]]; then
			text+=", and another such device has the same: one is a copy of the other. \
Find out which one is right (lsblk), and take the other one away"
		elif name=$(stable_name_of "/dev/$node"); then
			text+=". If it is the missing disk ${missing[*]/%/,} \
write in its place (ramraid config show ${F[name]} says where that is): MEMBER=$name"
		else
			text+=', but has no stable name below /dev/disk'
		fi
		log_error "${F[name]}: $text"
	done
	log_error "${F[name]}: nothing is started from a disk that no MEMBER names. \
When the lines are right: ramraid start ${F[name]}"
}
