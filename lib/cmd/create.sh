# ramraid create: makes blank disks into a whole mirror that comes back at every boot.
# shellcheck shell=bash

need act/array-lock act/block-size act/notify cmd/wait config/conf config/conf-faults
need config/conf-keys config/conf-need config/conf-new config/conf-whose core/act core/cli
need core/clock core/log core/paths core/quantity core/text core/uninterrupted notes/claim
need notes/legs-seen notes/memory-floor observe/outside world/disk world/disk-find world/md
need world/md-blocks world/ramdisk world/ramdisk-zram world/stable-name world/superblock
need world/systemd

readonly CREATE_USAGE='usage: ramraid create [--ram=KIND] [--layout=far2] [--force] [--no-wait] [--yes] [--dry-run]
       NAME DISK…

Make a mirror: a RAID1 of the disks (write-mostly, v1.2, with a bitmap) and one slot for the RAM
leg. ramraid writes /etc/ramraid/NAME.conf, keeps other programs from assembling the array,
enables ramraid@NAME.service, and attaches the RAM leg. If a step fails before the unit has
started, ramraid takes everything back, except what --force has overwritten.
  --ram=KIND     auto (the default), rapiddisk, brd, zram, none, or a fast device, which is
                 overwritten too
  --layout=far2  one disk leg: a RAID10 of two disks, NAME-far2, which reads from both at once
  --force        overwrite disks that hold something
  --no-wait      do not wait until the mirror is whole
  -y, --yes      do not ask
  -n, --dry-run  print every command, change nothing
Example: ramraid create data /dev/disk/by-id/ata-FIRST-part1 /dev/disk/by-id/ata-SECOND-part1'

readonly CREATE_MIN_BYTES=$((16 * 1024 * 1024))

cmd_create() {
	cli_parse "$CREATE_USAGE" 'dry-run yes force no-wait ram= layout=' "$@"
	((${#ARGS[@]} >= 2)) || cli_usage "$CREATE_USAGE" 'expected a name and at least one disk'
	cli_root
	NAME=${ARGS[0]}
	CREATE_RAM=${OPT[ram]-} CREATE_INNER=''
	create_check_layout "$((${#ARGS[@]} - 1))"
	create_check_name
	create_check_dropins
	CREATE_DISKS=() CREATE_NODES=()
	create_check_disks "${ARGS[@]:1}"
	create_check_device
	create_check_memory
	create_ask
	if [[ -z $DRY_RUN ]]; then
		array_lock "$NAME" 1
		# Things may have changed while a person thought about the answer.
		create_check_name
		create_check_dropins
		CREATE_DISKS=() CREATE_NODES=()
		create_check_disks "${ARGS[@]:1}"
		create_check_device
	fi
	create_all
}

# Sets CREATE_INNER to the name of the array that is to be the disk leg, if the layout has one.
create_check_layout() { # DISKS
	[[ ${OPT[layout]-mirror} != mirror ]] || return 0
	[[ ${OPT[layout]} == far2 ]] ||
		die "--layout=${OPT[layout]}: write ${CONF_EXPECTED[LAYOUT]}" "$EX_USAGE"
	(($1 == 2)) || die "--layout=far2 takes two disks, not $1" "$EX_USAGE"
	CREATE_INNER=$NAME-far2
}

create_check_name() {
	local name
	for name in "$NAME" ${CREATE_INNER:+"$CREATE_INNER"}; do
		conf_new_name "$name"
		[[ ! -e $ETC/$name.conf ]] ||
			die "$name: $ETC/$name.conf exists already; choose another name, or see: \
ramraid status $name" "$EX_REFUSED"
		[[ ! -e $DEV/md/$name ]] ||
			die "$name: there is an array /dev/md/$name already; choose another name" \
				"$EX_REFUSED"
	done
	[[ -z $CREATE_RAM || $CREATE_RAM =~ ${CONF_FORM[RAM]} ]] ||
		die "--ram=$CREATE_RAM: write ${CONF_EXPECTED[RAM]}" "$EX_USAGE"
}

# Sets CONF to what holds for the mirror.
create_check_dropins() {
	if [[ -n $CREATE_INNER ]]; then conf_new_load "$CREATE_INNER" none; fi
	conf_new_load "$NAME" "$CREATE_RAM" ', or give --ram=KIND'
}

# Reports everything that is wrong with the disks, not just the first thing.
create_check_disks() { # DISK…
	local disk node stable wrong=''
	for disk; do
		create_is_free_ "$disk" disk_why_not_free "$disk" || {
			wrong=yes
			continue
		}
		node=$(disk_find_node "$disk")
		stable_name_tell_shared "$disk" || {
			wrong=yes
			continue
		}
		stable=$(stable_name_of "$disk") || {
			wrong=yes &&
				log_error "$disk: has no stable name of its own below /dev/disk \
(no serial number, or the same as another disk?); use a partition, which has one by its PARTUUID"
			continue
		}
		[[ " ${CREATE_NODES[*]} " != *" $node "* ]] || {
			wrong=yes && log_error "$disk: is named twice (it is /dev/$node)"
			continue
		}
		(($(disk_bytes "$node") >= CREATE_MIN_BYTES)) || {
			wrong=yes &&
				log_error "$disk: is smaller than \
$(quantity_show_bytes "$CREATE_MIN_BYTES")"
			continue
		}
		CREATE_DISKS+=("$stable") CREATE_NODES+=("$node")
	done
	[[ -z $wrong ]] || die "$NAME: nothing was changed" "$EX_REFUSED"
	! create_is_4096 || conf_new_agrees "$NAME" BLOCK 4096
}

# create_is_free_ DISK COMMAND…: may DISK be overwritten? COMMAND prints why not; --force overrules
# what it prints about the contents, but not that another array is configured with the disk. Says
# why not, and returns 1.
create_is_free_() {
	local why line NODE
	why=$("${@:2}") || why=$TEXT_UNKNOWN
	[[ -z ${OPT[force]-} ]] || why=$(grep -v '^signature: ' < <(printf '%s\n' "$why")) || why=''
	line=''
	! disk_find "$1" || line=$(conf_whose "$NODE") || line=$TEXT_UNKNOWN
	why=${line/$'\n'/. }${why:+${line:+$'\n'}$why}
	[[ -n $why ]] || return 0
	while IFS= read -r line; do log_error "$1: $line"; done < <(printf '%s\n' "$why")
	[[ $why != signature:* ]] ||
		log_error "$1: if nothing on it is needed any more, add --force"
	return 1
}

# create_size: sets CREATE_BYTES to the size of the smallest disk, which is also that of the array
# and of the RAM leg; and CREATE_BLOCK to the largest block size of the disks.
create_size() {
	local node bytes
	CREATE_BYTES=0 CREATE_BLOCK=512
	for node in "${CREATE_NODES[@]}"; do
		bytes=$(disk_bytes "$node")
		((CREATE_BYTES > 0 && CREATE_BYTES <= bytes)) || CREATE_BYTES=$bytes
		bytes=$(disk_block "$node")
		((bytes <= CREATE_BLOCK)) || CREATE_BLOCK=$bytes
	done
}

# Checks a device that is to be the RAM leg like a disk. Sets CREATE_RAM to its stable name, and
# CREATE_DEVICE to the kernel's name of it.
create_check_device() {
	local stable
	CREATE_DEVICE=''
	create_size
	[[ $CREATE_RAM == /* ]] || return 0
	create_is_free_ "$CREATE_RAM" ramdisk_device_why_not "$CREATE_RAM" "$CREATE_BYTES" \
		"$CREATE_BLOCK" || die "$NAME: nothing was changed" "$EX_REFUSED"
	CREATE_DEVICE=$(disk_find_node "$CREATE_RAM")
	[[ " ${CREATE_NODES[*]} " != *" $CREATE_DEVICE "* ]] ||
		die "$NAME: $CREATE_RAM is one of the disks (/dev/$CREATE_DEVICE); \
nothing was changed" "$EX_REFUSED"
	stable=$(stable_name_fast "$CREATE_RAM") ||
		die "$NAME: $CREATE_RAM: has no stable name below /dev/disk (no serial number?); \
use a partition, which has one by its PARTUUID" "$EX_REFUSED"
	CREATE_RAM=$stable
}

create_is_zram() { [[ ${CREATE_RAM:-${CONF[RAM]}} == zram* ]]; }

# Has the array blocks of 4096 bytes from its first start on, whatever disks it has: because of a
# RAM leg of zram, or because a drop-in says so?
create_grows() { create_is_zram || [[ ${CONF[BLOCK]} == 4096 ]]; }

# Will the configuration of the mirror have BLOCK=4096?
create_is_4096() {
	create_grows || { [[ -z $CREATE_INNER ]] && block_size_is_mixed "${CREATE_NODES[@]}"; }
}

create_check_memory() {
	local why MEMORY_RESERVE MEMORY_RESERVE_BY
	CREATE_TAKES=''
	[[ ${CREATE_RAM:-${CONF[RAM]}} != @(none|/*) ]] || return 0
	! create_is_zram || ramdisk_zram_is_there ||
		die "$NAME: the kernel module zram is not available for $(uname -r); \
take another kind, such as --ram=auto; nothing was changed" "$EX_REFUSED"
	memory_floor_reserve
	CREATE_TAKES=$(ramdisk_need "${CREATE_RAM:-${CONF[RAM]}}" "$CREATE_BYTES" \
		"${CONF[RAM_LIMIT]}")
	why=$(ramdisk_why_not "$CREATE_TAKES" "$MEMORY_RESERVE") || why=$TEXT_UNKNOWN
	[[ -z $why ]] ||
		die "$NAME: $why. Use smaller partitions; nothing was changed" "$EX_REFUSED"
}

create_ask() {
	local disk head
	head="A mirror \"$NAME\" of $(quantity_show_bytes "$CREATE_BYTES"), one leg in RAM."
	PLAN=()
	for disk in "${CREATE_DISKS[@]}" ${CREATE_DEVICE:+"$CREATE_RAM"}; do
		PLAN+=("$disk ($(disk_find_node "$disk"))")
	done
	[[ -z $CREATE_TAKES ]] ||
		head+=" The RAM leg is \
$(ramdisk_plan "${CREATE_RAM:-${CONF[RAM]}}" "$CREATE_TAKES")."
	cli_confirm "$NAME" "$head Everything on these disks is lost:"
}

# Each step first notes how it is taken back. A power cut or a kill takes nothing back, hence this
# order. The configuration is written before the RAM leg is added: an array that once had a RAM leg,
# and is then forgotten, would not start by itself. The unit is enabled, which only makes a link,
# before there is a configuration: a configuration that no boot uses would look as if it were in
# force. The claim comes after both: nobody starts an array that is claimed and not configured. So
# what is left is a plain array without a configuration, or one that the next boot brings up whole.
create_all() {
	local chunk
	chunk=$(md_bitmap_chunk "${CREATE_NODES[@]}")
	trap 'create_end $?' EXIT
	trap 'exit 130' INT TERM HUP
	if [[ -n $CREATE_INNER ]]; then create_level "$CREATE_INNER" far2; fi
	create_level "$NAME" mirror
	[[ -n $DRY_RUN ]] ||
		log_info "telling the initramfs of every kernel to leave this array to ramraid; \
this takes a while"
	claim_initramfs
	systemd_reload
	if [[ -n $CREATE_INNER ]]; then create_start "$CREATE_INNER"; fi
	create_start "$NAME"
	UNDO=()
	create_wait
}

# create_level NAME LAYOUT: creates one array of CREATE_DISKS. If it is the disk leg of a nested
# mirror, CREATE_DISKS and CREATE_NODES are set to it, because the mirror is made on it.
create_level() {
	local name=$1 layout=$2 uuid
	uuid=$(<"$PROC/sys/kernel/random/uuid")
	create_array "$name" "$layout" "$uuid"
	act_undo_push systemd_disable "$name"
	systemd_enable "$name"
	act_undo_push act rm -f -- "$ETC/$name.conf"
	act_file "$ETC/$name.conf" 644 create_conf "$layout" "$uuid"
	act_undo_push create_unclaim "$name"
	claim_write "$name" "$uuid"
	[[ $layout != mirror ]] || {
		! create_grows || create_stop
		return 0
	}
	CREATE_DISKS=("/dev/md/$name")
	# /dev/md/NAME may also be the name of an older array.
	if [[ -n $DRY_RUN ]]; then
		CREATE_NODES=("md/$name")
	else
		CREATE_NODES=("$(md_of_leg "${CREATE_NODES[0]}")")
	fi
}

# md creates the array with the block size of its disks; its unit starts it again with larger
# blocks. Call this only when the array is claimed, or udev would start it.
create_stop() {
	local md
	[[ -z $DRY_RUN ]] || {
		md_stop "md/$NAME"
		return
	}
	md=$(md_of_leg "${CREATE_NODES[0]}")
	md_blocks_round "$md" ||
		die "$NAME: md did not give it a size that is a multiple of 4096 bytes"
	clock_until 5 1 md_stop "$md" ||
		die "$NAME: $md could not be stopped, and only a new start gives it blocks of 4096 \
bytes"
}

create_end() { # EXIT-CODE
	uninterrupted_begin
	((${#UNDO[@]} == 0)) || {
		log_error "$NAME: failed; undoing what was done"
		act_apart act_undo_all
	}
	exit "$1"
}

create_array() { # NAME LAYOUT UUID
	local node paths=()
	for node in "${CREATE_NODES[@]}"; do
		paths+=("/dev/$node")
		# Old contents of the disks that show through a new array are of no use, and may be
		# mistaken for contents of the array.
		[[ -z ${OPT[force]-} && ($2 != mirror || -z $CREATE_INNER) ]] ||
			act wipefs --all --quiet -- "/dev/$node"
	done
	# Wipe the device whatever it holds: the unit only takes one that holds nothing.
	[[ $2 != mirror || -z $CREATE_DEVICE || -z ${OPT[force]-} ]] ||
		act wipefs --all --quiet -- "/dev/$CREATE_DEVICE"
	act_undo_push create_dismantle "$3" "${CREATE_NODES[@]}"
	md_create "$1" "$3" "$2" "$chunk" "${paths[@]}"
	# On a machine that has just started, udev may have much to do.
	[[ -n $DRY_RUN ]] || md_wait_link "$(md_of_leg "${CREATE_NODES[0]}")" "$1" 90 ||
		die "$1: /dev/md/$1 did not appear"
}

# Leaves disks with another UUID alone: another run of create, with another name, may have been
# faster on the same disks, and would lose its array.
create_dismantle() { # UUID NODE…
	local node md facts ours=()
	for node in "${@:2}"; do
		facts=$(superblock_facts "$DEV/$node") || facts=''
		[[ $facts == sb=ok$'\n'uuid=* && $facts != sb=ok$'\n'uuid="$1"$'\n'* ]] ||
			ours+=("$node")
	done
	((${#ours[@]} > 0)) || return 0
	! md=$(md_of_leg "${ours[0]}") || md_stop "$md"
	for node in "${ours[@]}"; do md_zero "$node"; done
}

create_unclaim() { # NAME
	claim_remove "$1" || return
	claim_initramfs
	systemd_reload
}

create_conf() { # LAYOUT UUID
	local disk text='Mirror with one leg in RAM'
	[[ $1 == mirror ]] || text="Disk leg of the mirror $NAME"
	printf '# %s, made by "ramraid create". Every key: ramraid.conf(5).\nUUID=%s\n' "$text" "$2"
	[[ $1 == mirror ]] || printf 'LAYOUT=%s\nRAM=none\n' "$1"
	for disk in "${CREATE_DISKS[@]}"; do printf 'MEMBER=%s\n' "$disk"; done
	[[ $1 != mirror || -z $CREATE_RAM ]] || printf 'RAM=%s\n' "$CREATE_RAM"
	[[ $1 != mirror ]] || ! create_is_4096 || printf 'BLOCK=4096\n'
}

create_start() { # NAME
	act_undo_push systemd_stop "$1"
	# The unit takes the lock.
	[[ -z ${ARRAY_LOCK-} ]] || {
		exec {ARRAY_LOCK}>&-
		ARRAY_LOCK=''
	}
	# An earlier array of that name may have left its unit up.
	systemd_settle "$1"
	systemd_start "$1"
}

# Nothing is taken back from here on: the mirror exists, and its unit is at work on it.
create_wait() {
	[[ -z $DRY_RUN ]] || {
		log_notice "$NAME: nothing was changed (--dry-run)"
		return 0
	}
	if [[ -z ${OPT[no_wait]-} ]]; then
		log_info "$NAME: made; the RAM leg is being filled"
		conf_need "$NAME"
		wait_whole "$NAME" infinity
		log_info "$NAME: whole"
	fi
	notify_said notice "$NAME: made. Next: mkfs.ext4 /dev/md/$NAME, then a line in /etc/fstab"
}
