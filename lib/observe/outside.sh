# The observing ring: what sysfs does not show of an array. That is: legs outside it; the array
# itself, when no configured disk is in it; whose array it is, on kernels that do not say; and our
# own copy. It is also the device that RAM=/dev/… names, while that is in no array of ours: the
# facts leg.ram.* are like those of a disk leg (decide/facts.list).
# shellcheck shell=bash

need config/conf-device core/paths core/text notes/copy-state notes/hardware notes/legs-seen
need notes/watched observe/facts observe/members world/disk-find world/md-state world/ramdisk-note
need world/superblock

declare -gA F # the facts: decide/facts.list

# outside_find_array: when no configured disk is in any array, sets the caller's md to the array
# with our UUID that is ours. If all disks are gone, the RAM leg is the array; and an array that a
# start of ours has judged stays ours when its disks get other names. Any other array whose members
# are there may be a copy, and goes to array.foreign. An array with the RAM leg comes first, because
# it may be the only copy.
outside_find_array() {
	local folder md_ found=() ours=() device='' RAM_PROVIDER RAM_NODE RAM_BYTES
	for folder in "$SYS"/block/md*/md; do
		[[ -e $folder/array_state ]] || continue
		folder=${folder%/md}
		! members_are_ours "${folder##*/}" '' || found+=("${folder##*/}")
	done
	ramdisk_note_read "${F[name]}"
	for folder in "$SYS/class/block/${RAM_NODE:-none}"/holders/md*; do
		[[ ! -e $folder || " ${found[*]} " == *" ${folder##*/} "* ]] ||
			found+=("${folder##*/}")
	done
	outside_find_by_device_
	for md_ in "${found[@]}"; do
		if outside_holds_ram_ "$md_"; then
			ours=("$md_" "${ours[@]}")
		elif watched_is "$md_" || ! outside_has_members_ "$md_"; then
			ours+=("$md_")
		else
			F[array.foreign]+="${F[array.foreign]:+ }$md_=$MEMBERS_"
		fi
	done
	md=${ours[0]-} F[array.twin]=${ours[1]-}
	[[ -z $md || -n ${F[array.twin]} || -z ${F[array.foreign]} ]] ||
		watched_is "$md" || F[array.twin]=${F[array.foreign]%%=*}
}

# With RAM=/dev/…: sets the caller's device to what that name leads to, and adds the arrays that it
# is in to the caller's found, if they are ours: the device may be in anybody's array.
outside_find_by_device_() {
	local NODE holder
	[[ ${F[conf.ram]} == /* ]] && disk_find "${F[conf.ram]}" || return 0
	device=$NODE
	for holder in "$SYS/class/block/$NODE"/holders/md*; do
		[[ ! -e $holder || " ${found[*]} " == *" ${holder##*/} "* ]] ||
			! members_are_ours "${holder##*/}" "$NODE" || found+=("${holder##*/}")
	done
}

# outside_holds_ram_ MD: does it contain a ramdisk, or the device in its place: the one in this
# boot's note (the caller's RAM_NODE), or the one that has the name now (the caller's device)?
outside_holds_ram_() {
	local leg
	for leg in "$SYS/block/$1/$MD_LEG"*; do
		leg=${leg##*/dev-}
		[[ ! -e $SYS/class/block/$leg ]] || { ! ramdisk_note_is_node "$leg" &&
			[[ $leg != "$RAM_NODE" && $leg != "$device" ]]; } || return 0
	done
	return 1
}

# outside_has_members_ MD: sets MEMBERS_ to the members whose devices are there, separated by ",".
# Returns 1 when there are none.
outside_has_members_() {
	local leg
	MEMBERS_=''
	for leg in "$SYS/block/$1/$MD_LEG"*; do
		leg=${leg##*/dev-}
		[[ ! -e $SYS/class/block/$leg ]] || MEMBERS_+=${MEMBERS_:+,}$leg
	done
	[[ -n $MEMBERS_ ]]
}

# outside_leg_array I: sets leg.I.array of a leg that is absent.
outside_leg_array() {
	local ARRAY
	conf_device_array "${F[leg.$1.dev]}"
	F[leg.$1.array]=$ARRAY
}

outside_leg_superblock() { # I
	local i=$1 key value
	F[leg.$i.silent]=''
	while IFS='=' read -r key value; do
		F[leg.$i.$key]=$value
	done < <(superblock_facts "$DEV/${F[leg.$i.node]}")
	{ read -r "F[leg.$i.sectors]" <"$SYS/class/block/${F[leg.$i.node]}/size"; } 2>/dev/null || :
}

# outside_numbers: sets the device numbers of the members in sync, by which the superblock of a leg
# outside names them. A member keeps its number, so each is read once.
declare -gA FACTS_NUMBER=()
outside_numbers() {
	local i
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.state]} != in_sync ]] || outside_number_ "leg.$i" "${F[leg.$i.node]}"
	done
	[[ ${F[ram.state]} != in_sync ]] || outside_number_ ram "${F[ram.node]}"
}

outside_number_() { # leg.I|ram NODE
	local key value member="${F[array.md]} $2"
	local number='' uuid=''
	[[ -n ${FACTS_NUMBER[$member]-} ]] || {
		while IFS='=' read -r key value; do
			case $key in
			number) number=$value ;;
			device_uuid) uuid=$value ;;
			esac
		done < <(superblock_facts "$DEV/$2")
		[[ -z $number ]] || FACTS_NUMBER[$member]="$number $uuid"
	}
	text_into "${FACTS_NUMBER[$member]-}" number uuid
	F[$1.number]=$number F[$1.member_uuid]=$uuid
}

# outside_copy: sets the facts of our own copy. While md itself rebuilds nothing, a running copy is
# what array.sync says.
outside_copy() {
	local COPY_STATE COPY_WHY='' DONE=0 TOTAL=0 RATE=0
	copy_state "${F[name]}"
	F[copy.state]=$COPY_STATE F[copy.why]=$COPY_WHY
	[[ $COPY_STATE != running || ${F[array.sync]} != idle ]] ||
		F[array.sync]=copy F[array.done]=$DONE F[array.total]=$TOTAL F[array.rate]=$RATE
}

# outside_device_facts NODE: called before the members are looked at. NODE is the device in the RAM
# leg's note, or empty. Sets RAM_NODE to the device that is the RAM leg, and DEVICE_TAKEN to yes if
# it was made or found blank for the array in this boot. A noted device that is in the array (the
# caller's md) stays the RAM leg, whatever its name leads to: a name leads to the device that came
# last, which may be a copy, or a loop device that somebody has given this name.
outside_device_facts() {
	local NODE
	disk_find "${F[conf.ram]}" || NODE=''
	[[ $RAM_PROVIDER != device || -z $md || ! -e $SYS/block/$md/$MD_LEG$1 ]] || NODE=$1
	DEVICE_TAKEN=no
	[[ -z $NODE || $NODE != "$1" ]] || DEVICE_TAKEN=yes
	RAM_NODE=${NODE:-$1}
	F[ram.node]=$NODE F[ram.state]=none F[leg.ram.dev]=${F[conf.ram]} F[leg.ram.moved]='' \
		F[leg.ram.alien]=''
}

# outside_device_look TAKEN: called after the members were looked at, for a device that is none of
# them. TAKEN is DEVICE_TAKEN, as outside_device_facts has set it. The superblock is read at every
# look, because a person may have wiped it between two looks.
outside_device_look() {
	local i holder
	[[ -n ${F[ram.node]} && ${F[ram.state]} == none ]] || return 0
	for ((i = 0; i < ${F[members]}; i++)); do
		[[ ${F[leg.$i.node]} != "${F[ram.node]}" ]] || F[leg.ram.in]=${F[leg.$i.dev]}
	done
	for holder in "$SYS/class/block/${F[ram.node]}"/holders/* \
		"$SYS/class/block/${F[ram.node]}/${F[ram.node]}"*/holders/*; do
		[[ ! -e $holder || -n ${F[leg.ram.in]} ]] || F[leg.ram.in]=${holder##*/}
	done
	[[ -z ${F[leg.ram.in]} ]] || return 0
	outside_leg_superblock ram
	hardware_judge ram
	# A device that was taken and has a superblock again has been filled, by us or by others, so
	# it is judged like any other.
	[[ $1 == no || ${F[leg.ram.sb]} == ok ]] || F[ram.state]=attached
}

# outside_events: sets array.events, to compare a leg outside with: the event count of the first
# member in sync that can be read; 0 when none can. It is read at every look, because an array that
# was stopped and started from an older leg has gone back.
outside_events() {
	local node key value NODES
	[[ ${F[array.state]} == active ]] || return 0
	members_in_sync
	[[ ${F[ram.state]} != in_sync ]] || NODES+=("${F[ram.node]}")
	for node in "${NODES[@]}"; do
		while IFS='=' read -r key value; do
			[[ $key != events ]] || F[array.events]=$value
		done < <(superblock_facts "$DEV/$node")
		((${F[array.events]} == 0)) || return 0
	done
}

# outside_holds: sets leg.I.holds for each disk leg outside the running array, and for the device
# that RAM= names, if it may have blocks which no member in sync has: md lists these blocks as bad
# on every member, and that leg has no such list, or one without them. Not for a leg that never was
# complete; and not while no disk leg is in sync: then the RAM leg is the only good copy, and its
# other blocks go before these.
outside_holds() {
	local i NODES RANGES none
	members_in_sync
	((${#NODES[@]} > 0)) || return 0
	[[ ${F[ram.state]} != in_sync ]] || NODES+=("${F[ram.node]}")
	[[ ${F[conf.layout]} != far2 ]] &&
		md_state_bad_on_all "${F[array.md]}" "${NODES[@]}" || return 0
	none=("${RANGES[@]}")
	for ((i = 0; i < ${F[members]}; i++)); do outside_holds_leg_ "$i" "${none[@]}"; done
	outside_holds_leg_ ram "${none[@]}"
}

# outside_holds_leg_ I RANGE…: sets leg.I.holds, if that leg may have one of these blocks.
outside_holds_leg_() {
	local i=$1 own RANGES=()
	shift
	[[ -z ${F[leg.$i.in]} && ${F[leg.$i.sb]} == ok &&
		${F[leg.$i.uuid]} == "${F[uuid]}" && -z ${F[leg.$i.recovery]} &&
		${F[leg.$i.role]} =~ ^[0-9]+$ ]] || return 0
	own=$(superblock_bad_ranges "$DEV/${F[leg.$i.node]}") || own=''
	[[ -z $own ]] || mapfile -t RANGES < <(printf '%s\n' "$own")
	md_state_ranges_subtract "$@"
	((${#RANGES[@]} == 0)) || F[leg.$i.holds]=yes
}
