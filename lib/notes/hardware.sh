# The hardware that each leg was seen on. A device UUID alone does not identify a leg, because
# anybody who can read the disk can copy it.
# shellcheck shell=bash
#
# /etc/ramraid/state/NAME.hardware has a line for each leg that was ever in sync, or was seen being
# rebuilt: DEVICE_UUID BUS PATH SERIAL. For the device that RAM= names, which gets a new UUID
# whenever it is filled, the line begins with "ram=" and that name instead of DEVICE_UUID. BUS is
# ata, nvme, virtio, usb, loop (also ublk), removable (also memory cards, FireWire, and what is on
# an external PCI port), iscsi, network (also NVMe over fabrics, Fibre Channel, and DRBD) or other;
# if a leg is on several disks, their buses have "+" between them. PATH and SERIAL are udev's
# ID_PATH and ID_SERIAL, "-" for none. The latest line comes last.

need config/conf core/act core/log core/paths core/text world/disk

declare -gA F # the facts: decide/facts.list

# lines that are kept at most: more than the legs that a record remembers (WITNESS_SEEN), so that
# each of those keeps its line
readonly HARDWARE_MAX=400
# buses where anybody can plug in a device, or make one up
readonly HARDWARE_LOOSE='usb|loop|removable|unknown'
# buses over a network: a device there may be made up elsewhere, but one that was there before
# counts as the same
readonly HARDWARE_FAR='iscsi|network'
declare -gA HARDWARE_OF=()

# hardware_of NODE: sets HARDWARE to "BUS PATH SERIAL". A device keeps these as long as it keeps its
# number (diskseq), so they are looked up once. The bus is "unknown" when the lookup has failed.
hardware_of() {
	local number='' key disk bus='' path='' serial='' one
	{
		read -r number <"$SYS/class/block/$1/diskseq" ||
			read -r number <"$SYS/class/block/$1/../diskseq"
	} 2>/dev/null || :
	key="$1 $number"
	HARDWARE=${HARDWARE_OF[$key]-}
	[[ -z $HARDWARE || -z $number ]] || return 0
	while IFS= read -r disk; do
		hardware_bus_ "$disk"
		[[ +$bus+ == *"+$one+"* ]] || bus+=${bus:+\+}$one
		[[ -n $path$serial ]] || hardware_udev_ "$disk"
	done < <(disk_physical "$1" | sort -u)
	path=${path//[^A-Za-z0-9._:+-]/_} serial=${serial//[^A-Za-z0-9._:+-]/_}
	HARDWARE="${bus:-unknown} ${path:--} ${serial:--}"
	[[ +${bus:-unknown}+ == *+unknown+* ]] || HARDWARE_OF[$key]=$HARDWARE
}

# Sets the caller's one to the bus, from where the kernel sees the disk, not from what the disk says
# about itself.
hardware_bus_() { # DISK
	local place removable=0
	one=unknown
	place=$(readlink -f "$SYS/class/block/$1") || return 0
	{ read -r removable <"$SYS/class/block/$1/removable"; } 2>/dev/null || :
	case $1:$place in
	loop* | ublkb*) one=loop ;;
	*/usb[0-9]*) one=usb ;;
	*/session[0-9]*) one=iscsi ;;
	nbd* | rbd* | rnbd* | drbd* | etherd* | */rport-[0-9]*) one=network ;;
	*/fw[0-9]* | ms*) one=removable ;;
	nvme*)
		one=nvme
		! disk_is_remote "$1" || one=network
		;;
	*/ata[0-9]*) one=ata ;;
	*/virtio[0-9]*) one=virtio ;;
	*) one=other ;;
	esac
	# A memory card calls itself SD, unlike a chip that is soldered in.
	[[ $1 != mmcblk* ]] || ! grep -qsx SD "$SYS/class/block/$1/device/type" || one=removable
	[[ $one == @(loop|usb) ]] || {
		[[ $removable != 1 ]] && ! hardware_is_external_ "$place"
	} || one=removable
}

# hardware_is_external_ PLACE: does a port on the way to PLACE say that it is outside the machine?
# An NVMe disk that may have several paths is not below any of them in sysfs, but beside the links
# to its controllers, so each of these is checked. Without a controller that is not known, and the
# disk counts as external.
hardware_is_external_() {
	local controller found=no
	[[ $1 == */virtual/nvme-subsystem/* ]] || {
		hardware_is_behind_ "$1"
		return
	}
	for controller in "${1%/*}"/nvme*; do
		[[ -L $controller ]] || continue
		found=yes
		! hardware_is_behind_ "$(readlink -f "$controller")" || return 0
	done
	[[ $found == no ]]
}

# hardware_is_behind_ PLACE: does a port on the way to PLACE say that it is outside (Thunderbolt;
# linux Documentation/ABI/testing/sysfs-devices-removable)?
hardware_is_behind_() {
	local place=$1 word
	while [[ $place == "$SYS"/* ]]; do
		word=''
		{ read -r word <"$place/removable"; } 2>/dev/null || :
		[[ $word != removable ]] || return 0
		place=${place%/*}
	done
	return 1
}

# Sets the caller's path and serial.
hardware_udev_() { # DISK
	local number line lines=()
	{
		read -r number <"$SYS/class/block/$1/dev" &&
			mapfile -t lines <"$ROOT/run/udev/data/b$number"
	} 2>/dev/null || return 0
	for line in "${lines[@]}"; do
		case $line in
		E:ID_PATH=*) path=${line#*=} ;;
		E:ID_SERIAL=*) serial=${line#*=} ;;
		esac
	done
}

# hardware_note NAME "DEVICE_UUID NODE"…: writes down that these legs (for the RAM leg: "ram=DEVICE
# NODE") are in the array, on the hardware that they are on now. Called after the witness is
# written, whenever the legs in sync have changed.
hardware_note() {
	local file=$STATE/$1.hardware lines=() kept=() leg HARDWARE LINE uuids=' ' text
	[[ -z $DRY_RUN ]] && (($# > 1)) || return 0
	{ mapfile -t lines <"$file"; } 2>/dev/null || :
	for leg in "${@:2}"; do uuids+="${leg%% *} "; done
	for leg in "${lines[@]}"; do [[ $uuids == *" ${leg%% *} "* ]] || kept+=("$leg"); done
	for leg in "${@:2}"; do
		hardware_of "${leg#* }"
		[[ +${HARDWARE%% *}+ != *+unknown+* ]] || {
			# Keep what it was on before.
			hardware_line_ "${leg%% *}"
			HARDWARE=${LINE#* }
			[[ -n $LINE ]] || continue
		}
		kept+=("${leg%% *} $HARDWARE")
	done
	hardware_drop_ "$uuids"
	! hardware_is_noted_ || return 0
	printf -v text '%s\n' "${kept[@]}"
	act_text "$file" "$text" 600 ||
		log_warning "$1: $file could not be written, so a leg that moves to other hardware \
is not noticed"
}

# hardware_is_noted_: are the caller's kept and its lines the same, in whatever order? It starts no
# process: the monitor asks at each look.
hardware_is_noted_() {
	local line rest=$'\n'
	((${#lines[@]} == ${#kept[@]})) || return 1
	((${#lines[@]} == 0)) || printf -v rest '\n%s' "${lines[@]}"
	rest+=$'\n'
	for line in "${kept[@]}"; do
		[[ $rest == *$'\n'"$line"$'\n'* ]] || return 1
		rest=${rest/$'\n'"$line"$'\n'/$'\n'}
	done
}

# hardware_line_ KEY: sets LINE to the one of the caller's lines that has this first word, or to
# nothing.
hardware_line_() {
	local line
	LINE=''
	for line in "${lines[@]}"; do [[ ${line%% *} != "$1" ]] || LINE=$line; done
}

# hardware_drop_ UUIDS: drops the oldest of the caller's kept, whose last lines are the latest, if
# there are too many; but not those of UUIDS, of the legs that were in sync last, or of the device
# that RAM= names.
hardware_drop_() {
	local line these=("${kept[@]}") many=$((${#kept[@]} - HARDWARE_MAX))
	local stay=" $1 ram=${F[leg.ram.dev]-} ${F[witness.legs]-} ${F[witness.was]-} "
	stay+="${F[witness.left]-} "
	kept=()
	for line in "${these[@]}"; do
		if ((many > 0)) && [[ $stay != *" ${line%% *} "* ]]; then
			many=$((many - 1))
		else
			kept+=("$line")
		fi
	done
}

# hardware_is_made_up NODE: is it a loop device, while the array has lines for its legs and none of
# them is on one? Then it is not a leg; udisks makes loop devices for ordinary users.
hardware_is_made_up() {
	local lines=() was HARDWARE
	hardware_of "$1"
	[[ ${HARDWARE%% *} == loop && -s $STATE/${F[name]}.hardware ]] || return 1
	mapfile -t lines <"$STATE/${F[name]}.hardware"
	for was in "${lines[@]}"; do
		was=${was#* } was=${was%% *}
		[[ +$was+ != *+loop+* ]] || return 1
	done
}

# hardware_judge I|ram: sets leg.I.moved and leg.I.alien of that leg, which is outside, from
# hardware_compare. A blank disk that ramraid may take without being asked (AUTO_REPLACE) is not a
# leg yet, and must not come by such a bus either.
hardware_judge() {
	local leg=leg.$1 key HARDWARE_MOVED='' HARDWARE_ALIEN=''
	! hardware_key_ "$1" || hardware_compare "$key" "${F[$leg.node]}"
	F[$leg.moved]=$HARDWARE_MOVED F[$leg.alien]=$HARDWARE_ALIEN
}

# hardware_compare KEY NODE: compares the leg of that key (the first word of its line) with what was
# written down about it. Sets HARDWARE_MOVED to what has changed, in words, and HARDWARE_ALIEN to
# the bus, if anybody can plug in a device there and the leg was recorded on another bus, or with
# another serial number. A leg whose device UUID is not on record may be made up, because anybody
# who can read the array's UUID can write such a superblock. It must not come by such a bus, unless
# a leg of the array was on one of that kind.
hardware_compare() {
	local key=$1 lines=() line buses=' ' before='' HARDWARE was now
	HARDWARE_MOVED='' HARDWARE_ALIEN=''
	[[ -r $STATE/${F[name]}.hardware ]] || return 0
	mapfile -t lines <"$STATE/${F[name]}.hardware"
	for line in "${lines[@]}"; do
		text_split was "$line"
		((${#was[@]} >= 4)) || continue
		[[ ${was[0]} == ram=* ]] || buses+="${was[1]} "
		[[ ${was[0]} != "$key" ]] || before=${line#* }
	done
	hardware_of "$2"
	text_split now "$HARDWARE"
	if [[ -z $before ]]; then
		hardware_is_known_ "$key" || [[ $buses == ' ' || $buses == *" ${now[0]} "* ||
			! +${now[0]}+ =~ \+($HARDWARE_LOOSE|$HARDWARE_FAR)\+ ]] || {
			HARDWARE_MOVED="no disk leg was ever on \
$(hardware_words_ "${now[0]}" - -), and it is on $(hardware_words_ "${now[@]}")"
			HARDWARE_ALIEN=${now[0]}
		}
	elif ! hardware_is_line_ "$before" "$2"; then
		text_split was "$before"
		HARDWARE_MOVED="it was on $(hardware_words_ "${was[@]}"), \
and is on $(hardware_words_ "${now[@]}")"
		if [[ ${was[0]} != "${now[0]}" ]]; then
			[[ ! +${now[0]}+ =~ \+($HARDWARE_LOOSE|$HARDWARE_FAR)\+ ]] ||
				HARDWARE_ALIEN=${now[0]}
		elif [[ +${now[0]}+ =~ \+($HARDWARE_LOOSE)\+ ]]; then
			[[ ${was[2]} == @(-|"${now[2]}") ]] || HARDWARE_ALIEN=${now[0]}
		fi
	fi
}

# hardware_is_line_ LINE NODE: does LINE describe the device in HARDWARE and in the caller's now? An
# old line calls NVMe over fabrics nvme, and Fibre Channel and DRBD other.
hardware_is_line_() {
	[[ $1 == "$HARDWARE" || $1 == "${now[0]//network/nvme} ${now[*]:1}" ||
		($2 == @(sd|drbd)* && $1 == "${now[0]//network/other} ${now[*]:1}") ]]
}

# hardware_key_ I|ram: sets the caller's key to the first word of its line; to "blank" for a disk
# that is not a leg yet. Returns 1 when there is nothing to judge.
hardware_key_() {
	local leg=leg.$1
	if [[ $1 == ram ]]; then
		key=ram=${F[leg.ram.dev]}
	elif [[ ${F[$leg.sb]} == ok && ${F[$leg.uuid]} == "${F[uuid]}" ]]; then
		key=${F[$leg.device_uuid]:-none}
	elif [[ ${F[$leg.sb]} == none && ${CONF[AUTO_REPLACE]-no} == yes ]]; then
		key=blank
	else
		return 1
	fi
}

# hardware_is_known_ KEY: can a leg without a line be trusted? It can if it is the device that RAM=
# names, or a disk leg that was in sync according to the witness on the root file system. It was
# away when the first line was written: 0.1.0 wrote none, and a person may delete the file.
hardware_is_known_() { [[ $1 == ram=* || " ${F[witness.known]-} " == *" $1 "* ]]; }

hardware_words_() { # BUS PATH SERIAL
	local text=$1
	[[ $1 != unknown ]] || text='an unknown bus'
	[[ $2 == - ]] || text+=" ($2)"
	[[ $3 == - ]] || text+=", serial number $3"
	printf '%s\n' "$text"
}

# hardware_new NODE MEMBER…: for a disk that a person wants to be a leg, sets HARDWARE to what it is
# on, and HARDWARE_WHY to why it may be somebody else's, in words: anybody can plug in a device on
# such a bus, or make one up there, no disk leg was recorded on one, and none of these members is on
# one now. HARDWARE_WHY is empty when there is no such doubt.
hardware_new() {
	local line bus was buses=' ' file=$STATE/${F[name]}.hardware lines=()
	HARDWARE_WHY=''
	{ mapfile -t lines <"$file"; } 2>/dev/null || :
	for line in "${lines[@]}"; do
		text_split was "$line"
		[[ ${was[0]-} == ram=* ]] || buses+="${was[1]-} "
	done
	for line in "${@:2}"; do
		hardware_of "$line"
		buses+="${HARDWARE%% *} "
	done
	hardware_of "$1"
	bus=${HARDWARE%% *}
	[[ $buses == *" $bus "* || ! +$bus+ =~ \+($HARDWARE_LOOSE|$HARDWARE_FAR)\+ ]] ||
		HARDWARE_WHY="no disk leg was ever on $(hardware_words_ "$bus" - -)"
}
