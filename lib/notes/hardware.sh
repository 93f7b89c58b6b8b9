# The hardware that each leg was seen on: what a device UUID stands for, beside the UUID itself,
# which whoever can read the disk can copy.
# shellcheck shell=bash
#
# /etc/ramraid/state/NAME.hardware has a line for each leg that was ever in sync, or was seen being
# rebuilt: DEVICE_UUID BUS PATH SERIAL. Of the device that RAM= names, which gets a new UUID
# whenever it is filled, "ram=" and that name are there instead of DEVICE_UUID. BUS is ata, nvme,
# virtio, usb, loop (also ublk), removable (also memory cards, FireWire, and what hangs on an
# external PCI port), iscsi, network (also NVMe over fabrics, Fibre Channel, and DRBD) or other,
# with "+" between those of the disks that a leg is on; PATH and SERIAL are udev's ID_PATH and
# ID_SERIAL, "-" for none. The latest line is the last.

need config/conf core/act core/log core/paths core/text world/disk

declare -gA F # the facts: decide/facts.list

readonly HARDWARE_MAX=400
# lines that are remembered: more than legs that a record has seen (WITNESS_SEEN), so that none of
# those that it knows has lost its line
readonly HARDWARE_LOOSE='usb|loop|removable|unknown'
# buses that anybody can plug something into, or make something up on
readonly HARDWARE_FAR='iscsi|network'
# what comes over a network: made up elsewhere, but the same as before if it was there before
declare -gA HARDWARE_OF=()

# hardware_of NODE: sets HARDWARE to "BUS PATH SERIAL". A device does not change them as long as its
# number (diskseq) stays, so they are looked up once. The bus is "unknown" when the look has failed.
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

# Sets the caller's one: from where the kernel sees the disk, not from what the disk says of itself.
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
	# A memory card, unlike the chip that is soldered in, calls itself SD.
	[[ $1 != mmcblk* ]] || ! grep -qsx SD "$SYS/class/block/$1/device/type" || one=removable
	[[ $one == @(loop|usb) ]] || {
		[[ $removable != 1 ]] && ! hardware_is_external_ "$place"
	} || one=removable
}

# hardware_is_external_ PLACE: does one of the ports that lead there say that it is outside of the
# machine? An NVMe disk to which there may be several paths is below none of them, but beside the
# links to its controllers, and each of these is asked; where there is none, nobody knows.
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

# hardware_is_behind_ PLACE: is there a port on the way that calls itself outside (Thunderbolt;
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

# hardware_note NAME "DEVICE_UUID NODE"…: these legs (of the RAM leg: "ram=DEVICE NODE") are in the
# array, on the hardware that they are on now. After the witness, whenever other legs are in sync.
hardware_note() {
	local file=$STATE/$1.hardware lines=() kept=() leg HARDWARE LINE uuids=' ' text
	[[ -z $DRY_RUN ]] && (($# > 1)) || return 0
	{ mapfile -t lines <"$file"; } 2>/dev/null || :
	for leg in "${@:2}"; do uuids+="${leg%% *} "; done
	for leg in "${lines[@]}"; do [[ $uuids == *" ${leg%% *} "* ]] || kept+=("$leg"); done
	for leg in "${@:2}"; do
		hardware_of "${leg#* }"
		[[ +${HARDWARE%% *}+ != *+unknown+* ]] || {
			# What it was on before is known.
			hardware_line_ "${leg%% *}"
			HARDWARE=${LINE#* }
			[[ -n $LINE ]] || continue
		}
		kept+=("${leg%% *} $HARDWARE")
	done
	hardware_drop_ "$uuids"
	[[ $(printf '%s\n' "${lines[@]}" | sort) != "$(printf '%s\n' "${kept[@]}" | sort)" ]] ||
		return 0
	printf -v text '%s\n' "${kept[@]}"
	printf '%s' "$text" | act_file "$file" 600 ||
		log_warning "$1: $file could not be written; \
that a leg has come to other hardware is not noticed"
}

# hardware_line_ KEY: sets LINE to that of the caller's lines which has this first word, or to
# nothing.
hardware_line_() {
	local line
	LINE=''
	for line in "${lines[@]}"; do [[ ${line%% *} != "$1" ]] || LINE=$line; done
}

# hardware_drop_ UUIDS: of the caller's kept, whose last lines are the latest, the oldest go that
# are too many; not those of UUIDS, of the legs that were in sync last, nor of the device of RAM=.
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

# hardware_is_made_up NODE: is it a loop device, and has the array lines of its legs, none of which
# is on one? It is no leg then, and udisks makes loop devices for users that are no more than that.
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

# hardware_judge I|ram: of that leg, which is outside: sets leg.I.moved and leg.I.alien, as
# hardware_compare has it. A blank disk that may be taken without being asked (AUTO_REPLACE) is no
# leg yet, and must not come by such a bus either.
hardware_judge() {
	local leg=leg.$1 key HARDWARE_MOVED='' HARDWARE_ALIEN=''
	! hardware_key_ "$1" || hardware_compare "$key" "${F[$leg.node]}"
	F[$leg.moved]=$HARDWARE_MOVED F[$leg.alien]=$HARDWARE_ALIEN
}

# hardware_compare KEY NODE: the leg of that key (the first word of its line) with what was written
# down of it: sets HARDWARE_MOVED to what has changed, in words, and HARDWARE_ALIEN to the bus, if
# it is one that anybody can plug something into, and the leg was recorded on another, or by another
# serial number. One whose device UUID nobody knows may be made up: whoever can read the array's
# UUID can write such a superblock. It must not come by such a bus, unless a leg of the array was on
# one of that kind.
hardware_compare() {
	local key=$1 lines=() line buses=' ' before='' HARDWARE was now
	HARDWARE_MOVED='' HARDWARE_ALIEN=''
	[[ -r $STATE/${F[name]}.hardware ]] || return 0
	mapfile -t lines <"$STATE/${F[name]}.hardware"
	for line in "${lines[@]}"; do
		[[ $line == *' '*' '*' '* ]] || continue
		text_split was "$line"
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

# hardware_is_line_ LINE NODE: is that the device in HARDWARE and the caller's now? An old line
# calls NVMe over fabrics nvme, and Fibre Channel and DRBD other.
hardware_is_line_() {
	[[ $1 == "$HARDWARE" || $1 == "${now[0]//network/nvme} ${now[*]:1}" ||
		($2 == @(sd|drbd)* && $1 == "${now[0]//network/other} ${now[*]:1}") ]]
}

# hardware_key_ I|ram: sets the caller's key to the first word of its line; "blank" for a disk that
# is no leg yet. Returns 1 when there is nothing to judge.
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

# hardware_is_known_ KEY: is it a leg without a line that need not be doubted: the device that RAM=
# names, or a disk leg that was in sync as the witness on the root file system says? It was away
# when the first line was written: 0.1.0 wrote none, and a person may delete the file.
hardware_is_known_() { [[ $1 == ram=* || " ${F[witness.known]-} " == *" $1 "* ]]; }

hardware_words_() { # BUS PATH SERIAL
	local text=$1
	[[ $1 != unknown ]] || text='a bus that could not be found out'
	[[ $2 == - ]] || text+=" ($2)"
	[[ $3 == - ]] || text+=", serial number $3"
	printf '%s\n' "$text"
}

# hardware_new NODE MEMBER…: of a disk that a person wants to be a leg: sets HARDWARE to what it is
# on, and HARDWARE_WHY to why it may be somebody else's, in words: anybody can plug something into
# such a bus, or make something up there, no disk leg was recorded on one, and none of these members
# is on one now. Empty when that need not be asked.
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
