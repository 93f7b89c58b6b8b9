# What "ramraid adopt --find" prints: the RAID1 arrays of this machine that are not configured.
# shellcheck shell=bash

need config/conf core/log core/paths notes/selftest-record observe/adoptable-wrong world/md-state
need world/ramdisk-note world/superblock

# unadopted_table: prints a line for each of these arrays: ARRAY, STATE (running or inactive; with
# the number of free slots), MEMBERS, and the command that adopts it, or why it can't be adopted.
unadopted_table() {
	local folder md row rows=()
	for folder in "$SYS"/block/md*/md; do
		[[ -e $folder/array_state ]] || continue
		folder=${folder%/md} md=${folder##*/}
		unadopted_row_ "$md" || continue
		rows+=("$row")
	done
	if ((${#rows[@]} == 0)); then
		printf 'there is no RAID1 array that is not configured; see: ramraid list\n'
		return
	fi
	printf '%-12s %-22s %-28s %s\n' ARRAY STATE MEMBERS 'TO ADOPT IT'
	printf '%s\n' "${rows[@]}"
}

# Sets the caller's row. Returns 1 when MD is no RAID1, is stopped, or is configured.
unadopted_row_() { # MD
	local ARRAY_STATE READAUTO LEGS line leg members='' disks=0 uuid='' level='' slots='' \
		state='' why='' SELFTEST_UUID
	md_state "$1"
	md_state_members "$1"
	for line in "${LEGS[@]}"; do
		leg=${line%% *}
		members+="${members:+ }$leg"
		ramdisk_note_is_node "$leg" || disks=$((disks + 1))
		[[ -n $uuid ]] || unadopted_superblock_ "$leg"
	done
	case $ARRAY_STATE in
	active) unadopted_running_ "$1" ;;
	inactive) state=inactive ;;
	*) return 1 ;;
	esac
	[[ $level == 1 ]] || return 1
	# With other metadata, no configuration can name it, and what was read is none of its.
	[[ -n $why || (-n $uuid && -z $(conf_same '' "$uuid")) ]] || return 1
	selftest_record_uuid
	[[ -n $why || $uuid != "$SELFTEST_UUID" ]] || return 1
	((slots <= ${#LEGS[@]})) || state+=", $((slots - ${#LEGS[@]})) of $slots away"
	((disks > 0)) || return 1
	# With "CREATE names=yes" in mdadm.conf, an array has the name that its disks say.
	printf -v line 'ramraid adopt NAME /dev/%q' "$1"
	[[ -z $why ]] || line="can't be adopted: $why"
	printf -v row '%-12s %-22s %-28s %s' "/dev/$1" "$state" "$members" "$line"
	log_printable row
}

# Sets the caller's state, level, slots and why for a running array, which says these itself with
# any metadata; and uuid, if no member has said it.
unadopted_running_() { # MD
	local VALUE SLOTS
	state=running level=''
	md_state_read "$1" level
	[[ $VALUE != raid1 ]] || level=1
	md_state_read_slots "$1"
	slots=$SLOTS
	[[ -n $uuid ]] || {
		md_state_read "$1" uuid
		uuid=$VALUE
	}
	why=$(adoptable_wrong_metadata "$1")
}

# Sets the caller's uuid, level and slots from the superblock of a member.
unadopted_superblock_() { # LEG
	local key value
	while IFS='=' read -r key value; do
		case $key in
		uuid) uuid=$value ;;
		level) level=$value ;;
		raid_disks) slots=$value ;;
		esac
	done < <(superblock_facts "$DEV/$1")
}
